//! What the effect must stand: any cut into blocks, reset, silence, bad samples, and what no response may be.

mod common;

use common::{Rows, bits, build, change, impulse, noise, response, run};
use hocket_convolution::{Impulse, flops_per_frame};
use hocket_dsp::Bypass;
use proptest::prelude::*;

const FRAMES: usize = 9000;

fn input() -> Rows {
    let mut rows = [noise(FRAMES, 1), noise(FRAMES, 2)];
    rows.iter_mut().for_each(|row| row[2500..4000].fill(0.0));
    rows
}

/// With large parts, on four paths, while level and mix move.
fn check(lengths: &[usize]) {
    let rows: Vec<Vec<f32>> = (0..4).map(|seed| response(7000, seed)).collect();
    let impulse = impulse(&rows);
    let events = [
        change(5, "gain_db", -20.0),
        change(1000, "mix", 0.3),
        change(1003, "gain_db", 6.0),
        change(6001, "mix", 1.0),
    ];
    let whole = run(&mut *build(&impulse, &[]), &input(), &[FRAMES], &events);
    let parts = run(&mut *build(&impulse, &[]), &input(), lengths, &events);
    assert!(bits(&whole) == bits(&parts), "{lengths:?}");
    let mut around = Bypass::new(build(&impulse, &[]), common::RATE_HZ, false);
    let parts = run(&mut around, &input(), lengths, &events);
    assert!(bits(&whole) == bits(&parts), "{lengths:?} with a bypass");
}

#[test]
fn bits_do_not_depend_on_blocks() {
    for lengths in [&[1][..], &[7], &[31, 32, 33], &[64], &[441], &[1024], &[4096], &[500, 1]] {
        check(lengths);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn nor_on_any_blocks(lengths in prop::collection::vec(1usize..300, 1..12)) {
        check(&lengths);
    }
}

#[test]
fn reset_equals_fresh() {
    let impulse = impulse(&[response(7000, 9)]);
    let fresh = run(&mut *build(&impulse, &[]), &input(), &[64], &[]);
    for used_frames in [1, 700, 5001, 12_000] {
        for bad in [0.25, f32::NAN, f32::INFINITY] {
            let mut used = build(&impulse, &[]);
            let mut before = [noise(used_frames, 5), noise(used_frames, 6)];
            before[0][used_frames / 2] = bad;
            run(&mut *used, &before, &[33], &[]);
            used.reset();
            assert!(bits(&run(&mut *used, &input(), &[64], &[])) == bits(&fresh), "{bad}");
        }
    }
}

#[test]
fn silence_gives_silence_and_tails_end() {
    let impulse = impulse(&[response(7000, 9)]);
    let mut processor = build(&impulse, &[]);
    let silence = [vec![0.0; 30_000], vec![0.0; 30_000]];
    assert_eq!(run(&mut *processor, &silence, &[64], &[]), silence);
    run(&mut *processor, &input(), &[64], &[]);
    let tail = run(&mut *processor, &silence, &[64], &[]);
    assert!(tail[0][..5000].iter().any(|sample| sample.abs() > 1e-3));
    assert!(tail.iter().flatten().all(|sample| !sample.is_subnormal()));
    // As long as the response, and what the large parts hold besides.
    assert!(tail.iter().all(|row| row[7000 + 3 * 1024..].iter().all(|sample| *sample == 0.0)));
}

#[test]
fn normalized_noise_keeps_its_level() {
    let long = 200_000;
    let input = [noise(long, 1), noise(long, 2)];
    let power = |row: &[f32]| row.iter().map(|x| f64::from(x * x)).sum::<f64>() / row.len() as f64;
    for level in [1e-4, 1.0, 30.0] {
        let row: Vec<f32> = response(3000, 8).iter().map(|x| x * level).collect();
        let mut processor = build(&impulse(&[row]), &[("normalize", 1.0)]);
        let out = run(&mut *processor, &input, &[512], &[]);
        let ratio_db = 10.0 * (power(&out[0]) / power(&input[0])).log10();
        assert!(ratio_db.abs() < 0.5, "{level}: {ratio_db} dB");
    }
}

#[test]
fn it_has_no_latency_and_rests_only_behind_short_responses() {
    let short = build(&impulse(&[response(7000, 9)]), &[]);
    assert_eq!((short.latency_frames(), short.rests(), short.is_stereo()), (0, true, true));
    let mut late = vec![0.0; 12 * common::RATE_HZ as usize];
    late.push(1.0);
    assert!(!build(&impulse(&[late]), &[]).rests());
}

#[test]
fn longer_responses_cost_more_but_not_in_proportion() {
    let flops = |frames| flops_per_frame(&Impulse::new(&[response(frames, 3)]).unwrap());
    let (short, long) = (flops(4096), flops(96_000));
    assert!(short > flops(64) && long > short && long < 4.0 * short, "{short}, {long}");
}

#[test]
fn memory_is_known_before_it_is_taken() {
    for frames in [1, 64, 65, 2048, 2049, 9000] {
        for channels in [1, 2, 4] {
            let impulse = Impulse::new(&vec![vec![0.5; frames]; channels]).unwrap();
            let most = Impulse::most_memory_bytes(frames, channels);
            assert_eq!(impulse.memory_bytes(), most, "{frames} frames, {channels} channels");
        }
    }
}

#[test]
fn what_is_no_response_is_refused() {
    for (rows, words) in [
        (vec![], "has 1, 2 or 4 channels, and this has 0"),
        (vec![vec![1.0]; 3], "and this has 3"),
        (vec![vec![]], "it is silent"),
        (vec![vec![0.0; 100]; 2], "it is silent"),
        (vec![vec![1.0, f32::NAN]], "no numbers"),
        (vec![vec![1.0; hocket_convolution::MAX_FRAMES + 1]], "more than 16777216 frames"),
    ] {
        let refused = Impulse::new(&rows).unwrap_err();
        assert!(refused.cause.contains(words), "{refused}");
        assert!(!refused.remedy.is_empty());
    }
    for channels in 0..6 {
        let is_fine = Impulse::check_channels(channels).is_ok();
        assert_eq!(is_fine, [1, 2, 4].contains(&channels), "{channels}");
    }
    // Silence at the end costs nothing.
    let trailing = Impulse::new(&[[vec![0.5; 10], vec![0.0; 1000]].concat()]).unwrap();
    assert_eq!((trailing.frames(), trailing.memory_bytes()), (10, 0));
}
