//! LV2 plug-ins that require runs of one length: a test's own, built from C, which ends the program in any other run.

use std::path::PathBuf;

use hocket_dsp::{Block, Change, Processor, StereoMut, StereoRef, TimedChange};
use hocket_plugins::lv2::{build, describe, latency, plugins};
use hocket_time::{Event, EventBuffer, EventKind, Note, Source};

use crate::common::{Stereo, bits, compiled, noise};

const FIXED: &str = "urn:hocket:test:fixed";
const POWER: &str = "urn:hocket:test:power";
/// Crosses its two channels.
const WIDE: &str = "urn:hocket:test:wide";
/// Frames of a run, and so the latency.
const RUN: usize = 256;
const FRAMES: usize = 3_000;

fn bundle(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    compiled(test, "fixed")
}

/// Frames at which notes begin: in the middle of runs, at their first and at their last frame.
const NOTES: [usize; 5] = [0, 255, 256, 700, 2_000];
/// Frames at which the gain changes, and to what.
const GAINS: [(usize, f32); 4] = [(256, 2.0), (300, 0.5), (511, 0.25), (1_000, 3.0)];

/// What a processor makes of a sound, a key, notes and changes, in blocks of these lengths in turn.
fn played(
    processor: &mut dyn Processor,
    [left, right]: &Stereo,
    key: &[f32],
    lengths: &[usize],
) -> Stereo {
    let mut out = [left.clone(), right.clone()];
    let (mut at, mut turn) = (0, 0);
    while at < FRAMES {
        let end = FRAMES.min(at + lengths[turn % lengths.len()]);
        let mut received = EventBuffer::new(64, 0);
        for frame in NOTES.iter().filter(|frame| (at..end).contains(frame)) {
            let on = EventKind::Note(Note::on(-1, 0, 60, 0.8));
            let _ = received.push(Event::new((frame - at) as u32, Source::LIVE, on));
        }
        let within = GAINS.iter().filter(|(frame, _)| (at..end).contains(frame));
        let changes: Vec<TimedChange> = within
            .map(|(frame, value)| TimedChange {
                frame: (frame - at) as u32,
                change: Change::Param { index: 0, value: *value },
            })
            .collect();
        let [left, right] = &mut out;
        let main = StereoMut { left: &mut left[at..end], right: &mut right[at..end] };
        let mut block = Block::new(main);
        block.events = &changes;
        block.events_in = Some(&received);
        block.side_chain = Some(StereoRef { left: &key[at..end], right: &key[at..end] });
        processor.process(&mut block);
        (at, turn) = (end, turn + 1);
    }
    out
}

/// The same by the definition: a run late, and a gain per run, the last one that was there when the run began.
fn expected(row: &[f32], key: &[f32]) -> Vec<f32> {
    let frame = |n: usize| {
        let begin = n - n % RUN;
        let gain = GAINS.iter().rev().find(|(at, _)| *at <= begin).map_or(1.0, |(_, gain)| *gain);
        let note = if NOTES.contains(&n) { 1.0 } else { 0.0 };
        row[n] * gain + key[n] + note
    };
    std::iter::repeat_n(0.0, RUN).chain((0..FRAMES - RUN).map(frame)).collect()
}

#[test]
fn runs_have_one_length_and_one_run_of_latency_whatever_the_blocks() {
    let test = "runs_have_one_length_and_one_run_of_latency_whatever_the_blocks";
    let Some((_folder, bundle)) = bundle(test) else { return };
    assert_eq!(plugins(&bundle).unwrap(), [FIXED, POWER, WIDE]);
    let (sound, key) = (noise(FRAMES), noise(FRAMES)[1].clone());
    let expected = [expected(&sound[0], &key), expected(&sound[1], &key)];
    for uri in [FIXED, POWER] {
        let found = describe(&bundle, uri).unwrap();
        assert_eq!((found.refusal, found.latency_frames), (None, RUN as u32), "{uri}");
        assert_eq!(latency(&bundle, uri, &[], 44_100, None), Ok(RUN as u32));
        for lengths in [&[256][..], &[1], &[64], &[100, 1, 333], &[3_000], &[255, 257]] {
            let mut processor = build(&bundle, uri, &[1.0], 48_000, None).unwrap();
            assert_eq!(processor.latency_frames(), RUN as u32);
            let made = played(&mut *processor, &sound, &key, lengths);
            assert_eq!(bits(&made), bits(&expected), "{uri}, blocks of {lengths:?}");
        }
    }
}

/// What a processor makes of a mono sound and a mono key, in blocks of these lengths in turn.
fn played_mono(
    processor: &mut dyn Processor,
    sound: &[f32],
    key: &[f32],
    lengths: &[usize],
) -> Vec<f32> {
    let mut out = sound.to_vec();
    let (mut at, mut turn) = (0, 0);
    while at < FRAMES {
        let end = FRAMES.min(at + lengths[turn % lengths.len()]);
        let mut block = Block::new(StereoMut { left: &mut out[at..end], right: &mut [] });
        block.side_chain = Some(StereoRef { left: &key[at..end], right: &[] });
        processor.process(&mut block);
        (at, turn) = (end, turn + 1);
    }
    out
}

#[test]
fn both_sides_of_a_mono_node_are_its_one_row() {
    let Some((_folder, bundle)) = bundle("both_sides_of_a_mono_node_are_its_one_row") else {
        return;
    };
    let [sound, key] = noise(FRAMES);
    let sums = sound.iter().zip(&key).map(|(sample, key)| sample + key);
    let expected: Vec<f32> = std::iter::repeat_n(0.0, RUN).chain(sums).take(FRAMES).collect();
    for uri in [FIXED, WIDE] {
        for lengths in [&[256][..], &[64], &[100, 1, 333]] {
            let mut processor = build(&bundle, uri, &[], 48_000, None).unwrap();
            let made = played_mono(&mut *processor, &sound, &key, lengths);
            assert!(made == expected, "{uri}, blocks of {lengths:?}");
        }
    }
}

#[test]
fn a_reset_forgets_what_waits() {
    let Some((_folder, bundle)) = bundle("a_reset_forgets_what_waits") else { return };
    let (sound, key) = (noise(FRAMES), noise(FRAMES)[1].clone());
    let mut processor = build(&bundle, FIXED, &[1.0], 48_000, None).unwrap();
    let fresh = played(&mut *processor, &sound, &key, &[64]);
    processor.reset();
    // The gain stays as it was moved last.
    processor.preset(Change::Param { index: 0, value: 1.0 });
    let again = played(&mut *processor, &sound, &key, &[100]);
    assert_eq!(bits(&again), bits(&fresh));
}
