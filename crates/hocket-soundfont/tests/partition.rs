//! The same notes give the same bits however the time is cut into blocks, bare and with a bypass around the instrument.

mod common;

use common::generator::*;
use common::{Font, RATE_HZ, Sample, build, change, midi, off, on, range, run};
use hocket_dsp::Bypass;
use hocket_time::EventKind;
use proptest::prelude::*;

const FRAMES: usize = 6000;

/// Loops, releases, filters and both envelopes, on two channels.
fn font() -> Font {
    let shaped = vec![
        (LOOP_MODE, 3),
        (CUTOFF, 8000),
        (9, 120),
        (11, 3000),
        (7, 100),
        (6, 30),
        (13, 40),
        (24, 2000),
        (22, 1500),
        (26, -4000),
        (28, -3000),
        (29, 500),
        (ATTACK, -6000),
        (DECAY, -2000),
        (SUSTAIN, 100),
        (RELEASE, -3000),
    ];
    let drum = vec![(EXCLUSIVE, 3), (RELEASE, -2000), (KEYS, range(60, 127)), (PAN, 200)];
    Font {
        samples: vec![Sample::sine(37, 5), Sample { looped: (100, 101), ..Sample::sine(191, 2) }],
        instruments: vec![vec![(shaped, Some(0)), (drum, Some(1))]],
        presets: vec![
            (0, 0, vec![(vec![], Some(0))]),
            (128, 0, vec![(vec![(PAN, -300)], Some(0))]),
        ],
        names: Vec::new(),
    }
}

fn heard() -> Vec<(u32, EventKind)> {
    vec![
        (0, on(60)),
        (33, midi(&[0x99, 62, 90])),
        (64, midi(&[0xb0, 7, 80])),
        (65, midi(&[0xe0, 5, 90])),
        (65, on(67)),
        (700, midi(&[0xb0, 1, 127])),
        (1001, midi(&[0x99, 63, 127])),
        (1001, off(60)),
        (1500, midi(&[0xb0, 64, 127])),
        (1700, off(67)),
        // In a pause, too.
        (1750, change("gain_db", -30.0)),
        (2222, on(48)),
        (2400, change("gain_db", 3.0)),
        (2500, change("program", 3.0)),
        (3000, midi(&[0xb0, 64, 0])),
        (3333, midi(&[0xb0, 10, 3])),
        (4000, midi(&[0xb0, 121, 0])),
        (4800, off(48)),
        (5700, change("gain_db", -12.5)),
    ]
}

fn bits(rows: &[Vec<f32>; 2]) -> Vec<u32> {
    rows.iter().flatten().map(|sample| sample.to_bits()).collect()
}

fn check(lengths: &[usize], voices: f32) {
    let font = font().read();
    let settings = [("voices", voices)];
    let whole = run(&mut *build(&font, &settings), FRAMES, &[FRAMES], &heard());
    assert!(whole[0].iter().any(|sample| sample.abs() > 0.01));
    let parts = run(&mut *build(&font, &settings), FRAMES, lengths, &heard());
    assert!(bits(&whole) == bits(&parts), "{lengths:?}");
    let mut bypassable = Bypass::new(build(&font, &settings), RATE_HZ, false).with_event_input();
    let around = run(&mut bypassable, FRAMES, lengths, &heard());
    assert!(bits(&whole) == bits(&around), "{lengths:?} with a bypass");
}

#[test]
fn bits_do_not_depend_on_blocks() {
    for lengths in [
        &[1][..],
        &[7],
        &[31, 32, 33],
        &[64],
        &[441],
        &[1024],
        &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89],
    ] {
        check(lengths, 64.0);
        check(lengths, 2.0);
    }
}

#[test]
fn a_pause_leaves_a_moving_gain_as_it_is() {
    let font = Font::of(Sample::sine(96, 5), &[(RELEASE, -12_000)]).read();
    let lane = (0..70).map(|n: u32| (77 * n, change("gain_db", f64::from(n) / 3.0 - 20.0)));
    let notes = (0..5).flat_map(|n: u32| [(1201 * n, on(60)), (1201 * n + 90, off(60))]);
    let mut heard: Vec<_> = lane.chain(notes).collect();
    heard.sort_by_key(|(frame, _)| *frame);
    let of = |lengths: &[usize]| bits(&run(&mut *build(&font, &[]), FRAMES, lengths, &heard));
    let whole = of(&[FRAMES]);
    for length in [1, 7, 37, 64, 441] {
        assert!(of(&[length]) == whole, "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn nor_on_any_blocks(lengths in prop::collection::vec(1usize..300, 1..12)) {
        check(&lengths, 3.0);
    }
}
