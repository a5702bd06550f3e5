//! What every kind must stand: reset, silence, values that are no numbers, any parameter in range
//! at any sample rate, and changes without clicks.

mod common;

use common::{Stereo, event, known, run, run_with, stereo_noise, values};
use hocket_dsp::{Bypass, Kind, Processor, TimedChange, finite, kinds};
use proptest::prelude::*;

fn default_of(kind: &Kind, rate_hz: u32) -> Box<dyn Processor> {
    (kind.build)(&kind.defaults(), rate_hz)
}

fn assert_finite(name: &str, signal: &Stereo) {
    assert!(signal.rows().iter().all(|row| finite::all_finite(row)), "{name} is not finite");
}

#[test]
fn reset_equals_fresh() {
    let input = stereo_noise(9000, 3);
    for kind in kinds() {
        let fresh = run(&mut *default_of(kind, 44_100), &input);
        let mut used = default_of(kind, 44_100);
        run(&mut *used, &stereo_noise(7777, 8));
        used.reset();
        assert_eq!(run(&mut *used, &input).bits(), fresh.bits(), "{}", kind.name);
    }
}

#[test]
fn reset_keeps_parameters_and_ends_their_ramps() {
    let input = stereo_noise(5000, 4);
    for kind in kinds() {
        let moved: Vec<f32> = kind
            .params
            .iter()
            .map(
                |param| {
                    if param.fixed { param.default } else { 0.25 * param.min + 0.75 * param.max }
                },
            )
            .collect();
        let mut used = default_of(kind, 48_000);
        let events: Vec<TimedChange> =
            moved.iter().enumerate().map(|(n, value)| event(3, n as u16, *value)).collect();
        run_with(&mut *used, &stereo_noise(10, 8), None, &[10], &events);
        used.reset();
        let fresh = run(&mut *(kind.build)(&moved, 48_000), &input);
        assert_eq!(run(&mut *used, &input).bits(), fresh.bits(), "{}", kind.name);
    }
}

#[test]
fn silence_in_gives_silence_out() {
    for kind in kinds() {
        for ends in [|param: &hocket_dsp::Param| param.min, |param: &hocket_dsp::Param| param.max] {
            let extreme: Vec<f32> = kind.params.iter().map(ends).collect();
            let out = run(&mut *(kind.build)(&extreme, 48_000), &Stereo::silence(5000));
            assert_eq!(out.max(), 0.0, "{}", kind.name);
        }
    }
}

#[test]
fn tails_end_in_exact_zeros_without_subnormal_numbers() {
    let tail_settings: &[(&str, &[(&str, f32)])] = &[
        ("delay", &[("time_left_ms", 5.0), ("time_right_ms", 7.3), ("feedback", 0.9)]),
        ("freeverb", &[("room", 0.0)]),
        ("fdn", &[("t60_low_s", 0.5), ("t60_high_s", 0.3), ("modulation_ms", 0.3)]),
        ("eq", &[("band1_type", 7.0), ("band1_q", 10.0)]),
        ("amp", &[("drive_db", 20.0)]),
    ];
    for kind in kinds() {
        let found = tail_settings.iter().find(|(name, _)| *name == kind.name);
        let settings = found.map_or(&[] as &[_], |(_, settings)| settings);
        let mut processor = (kind.build)(&values(kind, settings), 48_000);
        run(&mut *processor, &stereo_noise(2000, 5));
        let mut last = 1.0;
        for _ in 0..30 {
            let out = run(&mut *processor, &Stereo::silence(48_000));
            let subnormal = |sample: &&f32| sample.is_subnormal();
            let count = out.rows().iter().flat_map(|row| row.iter()).filter(subnormal).count();
            assert_eq!(count, 0, "{}: subnormal samples", kind.name);
            last = out.max();
        }
        assert_eq!(last, 0.0, "{}", kind.name);
    }
}

#[test]
fn bad_samples_do_not_outlive_a_reset() {
    let input = stereo_noise(4000, 6);
    for kind in kinds() {
        let fresh = run(&mut *default_of(kind, 48_000), &input);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut processor = default_of(kind, 48_000);
            let mut poison = stereo_noise(600, 7);
            poison.left[100] = bad;
            poison.right[300] = bad;
            run(&mut *processor, &poison);
            processor.reset();
            assert_eq!(run(&mut *processor, &input).bits(), fresh.bits(), "{} {bad}", kind.name);
        }
    }
}

#[test]
fn memoryless_kinds_recover_from_bad_samples_by_themselves() {
    for name in ["gain", "pan", "compressor", "limiter", "gate"] {
        let mut processor = default_of(known(name), 48_000);
        let mut poison = stereo_noise(600, 7);
        poison.left[100] = f32::NAN;
        poison.right[101] = f32::INFINITY;
        run(&mut *processor, &poison);
        assert_finite(name, &run(&mut *processor, &stereo_noise(5000, 6)));
    }
}

/// The largest second difference of a slow sine, compared with what the resting effect shows: a
/// click is a jump in value or slope.
fn roughness(signal: &Stereo) -> f32 {
    let bend = |window: &[f32]| (window[0] - 2.0 * window[1] + window[2]).abs();
    let worst = |row: &[f32]| row.windows(3).map(bend).fold(0.0, f32::max);
    worst(&signal.left).max(worst(&signal.right))
}

#[test]
fn moved_parameters_do_not_click() {
    let rate_hz = 48_000;
    let input = Stereo::mono(common::sine(24_000, 100.0 / 48_000.0, 0.5));
    let moves: &[(&str, &str, f32)] = &[
        ("gain", "gain_db", -96.0),
        ("pan", "pan", 1.0),
        ("eq", "band2_gain_db", 12.0),
        ("eq", "band2_type", 0.0),
        ("eq", "band1_type", 4.0),
        ("eq", "band1_freq_hz", 1000.0),
        ("delay", "time_left_ms", 11.0),
        ("delay", "feedback", 0.9),
        ("delay", "ping_pong", 1.0),
        ("delay", "mix", 1.0),
        ("freeverb", "mix", 1.0),
        ("freeverb", "width", 0.0),
        ("fdn", "mix", 1.0),
        ("fdn", "t60_low_s", 0.1),
        ("fdn", "pre_delay_ms", 100.0),
        ("compressor", "threshold_db", -50.0),
        ("compressor", "makeup_db", 12.0),
        ("limiter", "ceiling_db", -20.0),
        ("gate", "threshold_db", 0.0),
        ("limiter", "input_db", 12.0),
        ("amp", "level_db", 0.0),
        ("amp", "treble", 0.0),
        ("amp", "cabinet", 0.0),
    ];
    for (name, param, value) in moves {
        let mut processor = common::build(name, rate_hz, &[]);
        let change = event(12_345, common::index(name, param), *value);
        let out = run_with(&mut *processor, &input, None, &[256], &[change]);
        let part = |range: std::ops::Range<usize>| Stereo {
            left: out.left[range.clone()].to_vec(),
            right: out.right[range].to_vec(),
        };
        let moving = roughness(&part(12_300..13_500));
        let resting = roughness(&part(11_000..12_300)).max(roughness(&part(20_000..24_000)));
        // A hard switch of half scale would show as 0.5.
        assert!(moving < 2.0 * resting + 2e-3, "{name} {param}: {moving} against {resting}");
    }
}

#[test]
fn a_bypass_is_the_delayed_input_and_fades_without_a_click() {
    let rate_hz = 48_000;
    let input = Stereo::mono(common::sine(12_000, 220.0 / 48_000.0, 0.5));
    for name in ["limiter", "amp", "fdn", "gain"] {
        let inner = common::build(name, rate_hz, &[]);
        let latency = inner.latency_frames() as usize;
        let mut bypass = Bypass::new(inner, rate_hz, true);
        assert_eq!(bypass.latency_frames() as usize, latency);
        let events = [event(4000, Bypass::PARAM, 0.0), event(8000, Bypass::PARAM, 1.0)];
        let out = run_with(&mut bypass, &input, None, &[300], &events);
        assert_eq!(out.left[latency..4000], input.left[..4000 - latency], "{name}");
        assert_eq!(out.left[8300..], input.left[8300 - latency..12_000 - latency], "{name}");
        let part =
            |range: std::ops::Range<usize>| roughness(&Stereo::mono(out.left[range].to_vec()));
        let resting = part(5000..7900).max(part(2000..3900));
        let fading = part(3900..5000).max(part(7900..9000));
        assert!(fading < 1.5 * resting + 1e-3, "{name}: {fading} against {resting}");
        assert!(bypass.is_bypassed());
        let bare = run(&mut *common::build(name, rate_hz, &[]), &input);
        assert_eq!(out.left[4300..8000], bare.left[4300..8000], "{name}");
    }
}

/// Switched, and switched back at every point of the cross-fade: a sine is bent by less than -80 dBFS.
#[test]
fn a_bypass_bends_a_sine_by_less_than_can_be_heard() {
    let (rate_hz, step) = (48_000, 120.0 / 48_000.0);
    let input = Stereo::mono(common::sine(12_000, step, 0.25));
    let bend = 2.0 * (std::f32::consts::TAU * step as f32).cos();
    for turned_after in [1, 20, 60, 100, 120, 150, 180, 220, 239, 1000] {
        for (kind, param, value) in [("gain", "gain_db", -12.0), ("limiter", "input_db", 6.0)] {
            let inner = common::build(kind, rate_hz, &[(param, value)]);
            let mut bypass = Bypass::new(inner, rate_hz, false);
            let switches =
                [(4000, 1.0), (4000 + turned_after, 0.0), (4000 + 2 * turned_after, 1.0)];
            let events = switches.map(|(frame, value)| event(frame, Bypass::PARAM, value));
            let out = run_with(&mut bypass, &input, None, &[300], &events);
            let bends = out.left[3900..].windows(3).map(|at| (at[0] - bend * at[1] + at[2]).abs());
            let most = bends.fold(0.0, f32::max);
            assert!(most < 1e-4, "{kind}, turned after {turned_after} frames: {most}");
            let level = |range: std::ops::Range<usize>| {
                out.left[range].iter().fold(0.0f32, |most, sample| most.max(sample.abs()))
            };
            assert!((level(11_000..12_000) - level(3000..4000)).abs() > 0.1, "{kind} is heard");
        }
    }
}

#[test]
fn a_bypass_hides_values_that_are_no_numbers() {
    let mut bypass = Bypass::new(common::build("eq", 48_000, &[]), 48_000, true);
    let mut poison = Stereo::silence(1000);
    poison.left[10] = f32::NAN;
    run(&mut bypass, &poison);
    let input = stereo_noise(1000, 1);
    assert_eq!(run(&mut bypass, &input), input);
}

#[test]
fn a_flood_of_events_ends_at_the_last_one() {
    let flood: Vec<TimedChange> = (0..2000).map(|n| event(n / 4, 0, -((n % 90) as f32))).collect();
    let input = stereo_noise(4000, 1);
    let mut bare = common::build("gain", 48_000, &[]);
    let mut wrapped = Bypass::new(common::build("gain", 48_000, &[]), 48_000, false);
    let expected = run_with(&mut *bare, &input, None, &[1024], &flood);
    let got = run_with(&mut wrapped, &input, None, &[1024], &flood);
    assert_eq!(got.bits(), expected.bits());
}

/// Frame, parameter, place in its range.
type Moves = Vec<(u32, u16, f32)>;

/// Kind, values, moves, sample rate, seed of the signal.
fn any_setting() -> impl Strategy<Value = (usize, Vec<f32>, Moves, u32, u32)> {
    (0..kinds().len()).prop_flat_map(|kind| {
        let params = kinds()[kind].params;
        let values: Vec<_> = params.iter().map(|param| param.min..=param.max).collect();
        let count = params.len() as u16;
        let moves = proptest::collection::vec((0..3000u32, 0..count + 2, 0.0f32..=1.0), 0..12);
        (Just(kind), values, moves, 8000..=192_000u32, any::<u32>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_parameters_at_any_rate_keep_finite_input_finite(
        (kind, values, moves, rate_hz, seed) in any_setting()
    ) {
        let kind = &kinds()[kind];
        let scaled = |(frame, index, part): (u32, u16, f32)| {
            let range = kind.params.get(usize::from(index)).map_or((0.0, 1.0), |p| (p.min, p.max));
            event(frame, index, range.0 + (range.1 - range.0) * part)
        };
        let mut events: Vec<TimedChange> = moves.into_iter().map(scaled).collect();
        events.sort_by_key(|event| event.frame);
        let mut processor = (kind.build)(&values, rate_hz);
        let out = run_with(&mut *processor, &stereo_noise(4000, seed), None, &[480, 1, 33], &events);
        prop_assert!(out.rows().iter().all(|row| finite::all_finite(row)), "{}", kind.name);
        prop_assert!(out.max() < 1e7, "{}: {}", kind.name, out.max());
        if let Some(reading) = processor.reading() {
            prop_assert!(reading.is_finite());
        }
        let flops = (kind.flops_per_frame)(&values, rate_hz);
        prop_assert!((0.0..10_000.0).contains(&flops));
    }
}
