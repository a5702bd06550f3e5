//! The same input gives the same bits however it is cut into blocks, for every kind, with and
//! without events, bare and with a bypass around it.

mod common;

use common::{Stereo, event, run_with, stereo_noise};
use hocket_dsp::{Bypass, Fader, Kind, Processor, TimedChange, kinds};

const FRAMES: usize = 6000;
const RATES_HZ: [u32; 3] = [8000, 44_100, 96_000];
const LENGTHS: [&[usize]; 9] = [
    &[1],
    &[7],
    &[31, 32, 33],
    &[64],
    &[441],
    &[1024],
    &[4096],
    &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144],
    &[500, 1],
];

/// Loud noise, a pause, quiet noise: envelopes, tails and flushing all get work.
fn input() -> Stereo {
    let mut input = stereo_noise(FRAMES, 11);
    for row in [&mut input.left, &mut input.right] {
        row[2500..4000].fill(0.0);
        row[4000..].iter_mut().for_each(|sample| *sample *= 0.01);
    }
    input
}

/// Each parameter goes to its ends and back, at frames that meet no common block border; some at
/// one frame, some in the middle of another's ramp.
fn moves(kind: &Kind) -> Vec<TimedChange> {
    let mut events = Vec::new();
    for (index, param) in kind.params.iter().enumerate() {
        let index = index as u16;
        let start = 101 + 37 * u32::from(index);
        let middle = 0.37 * param.max + 0.63 * param.min;
        events.push(event(start, index, param.max));
        events.push(event(start + 50, index, param.min));
        events.push(event(1500, index, middle));
        events.push(event(3000 + u32::from(index), index, param.default));
    }
    events.sort_by_key(|event| event.frame);
    events
}

fn check(
    name: &str,
    build: impl Fn() -> Box<dyn Processor>,
    key: Option<&Stereo>,
    events: &[TimedChange],
) {
    let input = input();
    let whole = run_with(&mut *build(), &input, key, &[FRAMES], events);
    for lengths in LENGTHS {
        let parts = run_with(&mut *build(), &input, key, lengths, events);
        let differs = whole.bits().iter().zip(parts.bits()).position(|(a, b)| *a != b);
        assert_eq!(differs, None, "{name}: blocks of {lengths:?}");
    }
}

fn each(test: impl Fn(&Kind, u32)) {
    for kind in kinds() {
        RATES_HZ.iter().for_each(|rate_hz| test(kind, *rate_hz));
    }
}

#[test]
fn every_kind_at_rest() {
    each(|kind, rate_hz| check(kind.name, || (kind.build)(&kind.defaults(), rate_hz), None, &[]));
}

#[test]
fn every_kind_while_all_parameters_move() {
    each(|kind, rate_hz| {
        check(kind.name, || (kind.build)(&kind.defaults(), rate_hz), None, &moves(kind));
    });
}

#[test]
fn every_kind_at_the_heavy_end() {
    each(|kind, rate_hz| {
        let heavy: Vec<f32> = kind.params.iter().map(|param| param.max).collect();
        check(kind.name, || (kind.build)(&heavy, rate_hz), None, &moves(kind));
    });
}

#[test]
fn every_kind_behind_a_bypass_that_is_switched() {
    each(|kind, rate_hz| {
        let mut events = moves(kind);
        for (frame, value) in [(200, 1.0), (210, 0.0), (1000, 1.0), (3333, 0.0)] {
            events.push(event(frame, Bypass::PARAM, value));
        }
        events.sort_by_key(|event| event.frame);
        let build = || -> Box<dyn Processor> {
            let inner = (kind.build)(&kind.defaults(), rate_hz);
            Box::new(Bypass::new(inner, rate_hz, false))
        };
        check(kind.name, build, None, &events);
    });
}

#[test]
fn every_kind_that_listens_to_a_key() {
    let mut key = stereo_noise(FRAMES, 99);
    key.left[1000..4500].fill(0.0);
    key.right[1000..4500].fill(0.0);
    let listen: Vec<&Kind> = kinds().iter().filter(|kind| kind.side_chain).collect();
    assert_eq!(listen.iter().map(|kind| kind.name).collect::<Vec<_>>(), ["compressor", "gate"]);
    for kind in listen {
        check(kind.name, || (kind.build)(&kind.defaults(), 48_000), Some(&key), &moves(kind));
        let build = || -> Box<dyn Processor> {
            let inner = (kind.build)(&kind.defaults(), 48_000);
            Box::new(Bypass::new(inner, 48_000, false))
        };
        let switches = [event(1200, Bypass::PARAM, 1.0), event(3100, Bypass::PARAM, 0.0)];
        check(kind.name, build, Some(&key), &switches);
    }
}

#[test]
fn a_fader_as_a_processor() {
    let events = [
        event(5, Fader::GAIN_DB, -20.0),
        event(5, Fader::PAN, 0.7),
        event(600, Fader::MUTE, 1.0),
        event(1300, Fader::MUTE, 0.0),
    ];
    check("fader", || Box::new(Fader::new(1.0, 0.0, false, 48_000)), None, &events);
}

#[test]
fn an_event_behind_the_block_counts_from_the_next_block_on() {
    let kind = common::known("gain");
    let input = Stereo::mono(vec![1.0; 100]);
    let mut late = (kind.build)(&[0.0], 48_000);
    let first = late_block(&mut *late, &[event(100, 0, -96.0)]);
    assert_eq!(first, input.left);
    let mut early = (kind.build)(&[0.0], 48_000);
    late_block(&mut *early, &[]);
    let expected = late_block(&mut *early, &[event(0, 0, -96.0)]);
    assert_eq!(late_block(&mut *late, &[]), expected);
    assert!(expected[99] < 1.0);
}

fn late_block(processor: &mut dyn Processor, events: &[TimedChange]) -> Vec<f32> {
    let (mut left, mut right) = (vec![1.0; 100], vec![1.0; 100]);
    let main = hocket_dsp::StereoMut { left: &mut left, right: &mut right };
    processor.process(&mut hocket_dsp::Block { events, ..hocket_dsp::Block::new(main) });
    left
}
