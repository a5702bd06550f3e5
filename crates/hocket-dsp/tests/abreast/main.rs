//! Two processors abreast give the bits that each gives by itself: for every signal, setting, glide, bypass and block
//! length, with every kernel that this CPU has.
//!
//! Here cases are chosen. The engine's own tests (`hocket-engine/src/block/abreast.rs`) run random blocks with each of its
//! kernels, and compare what processors keep.

#[path = "../common/mod.rs"]
mod common;
mod bits;
mod kernel;
mod sides;

use std::collections::HashSet;

use common::{Stereo, event, index, noise, stereo_noise};
use hocket_dsp::effects::correlation::Correlation;
use hocket_dsp::segment::Segmented;
use hocket_dsp::{AbreastKey, Bypass, Processor, TimedChange, kind};
use kernel::Kernel;
use sides::{
    FRAMES, OTHERS, Playing, RATE_HZ, Side, anywhere, assert_same, block, changes, check, eq,
    out_of, together,
};

const INFINITE: [f32; 4] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX];
const TINY: [f32; 6] = [-0.0, 0.0, 1e-40, -1e-44, f32::MIN_POSITIVE, -f32::MIN_POSITIVE];

/// Noise whose samples from 500 on are such that a filter may stumble over them.
fn hostile(seed: u32, samples: &[f32]) -> Stereo {
    let mut input = stereo_noise(FRAMES, seed);
    for (place, sample) in samples.iter().enumerate() {
        input.left[500 + 37 * place] = *sample;
        input.right[500 + 41 * place] = *sample;
    }
    input
}

#[test]
fn every_number_of_bands_and_every_shape() {
    for bands in 0..=4 {
        for seed in 0..8 {
            let one = Side::new(eq(bands, seed), stereo_noise(FRAMES, 1));
            let other = Side::new(eq(bands, seed + 3), stereo_noise(FRAMES, 2));
            let together = check(&one, &other, &format!("{bands} bands, seed {seed}"));
            assert_eq!(together, FRAMES.div_ceil(64));
        }
    }
}

#[test]
fn other_effects_with_any_settings_and_with_changes_on_one_side_and_on_both() {
    for name in OTHERS {
        for seed in 0..24 {
            let side = |seed: u32| Side::of(name, anywhere(name, seed), stereo_noise(FRAMES, seed));
            let what = format!("{name}, seed {seed}");
            let together = check(&side(seed), &side(seed + 50), &what);
            assert_eq!(together, FRAMES.div_ceil(64), "{what}");
            let moving = || side(seed).with(changes(name, seed));
            check(&moving(), &side(seed + 50), &format!("{what}, one glides"));
            check(&side(seed + 50), &moving(), &format!("{what}, the other glides"));
            let beside = side(seed + 50).with(changes(name, seed + 9));
            check(&moving(), &beside, &format!("{what}, both glide"));
        }
    }
}

#[test]
fn other_effects_with_numbers_that_are_none_or_hardly_any() {
    for name in OTHERS {
        for samples in [&INFINITE[..1], &INFINITE[1..2], &INFINITE[2..], &TINY[..]] {
            let one = Side::of(name, anywhere(name, 3), hostile(3, samples));
            let other = Side::of(name, anywhere(name, 4), stereo_noise(FRAMES, 4));
            check(&one, &other, &format!("{name}, {samples:?}"));
            check(&other, &one, &format!("{name}, {samples:?} on the other side"));
        }
        for one in &quiet() {
            for other in &quiet() {
                let one = Side::of(name, anywhere(name, 5), one.clone());
                let other = Side::of(name, anywhere(name, 6), other.clone());
                check(&one, &other, &format!("{name}, silence and tails"));
            }
        }
    }
}

#[test]
fn other_effects_with_a_bypass_that_is_switched() {
    for name in OTHERS {
        let side = |seed: u32| Side::of(name, anywhere(name, seed), stereo_noise(FRAMES, seed));
        let one = || side(1).bypassed(false).with(switches(0));
        let together = check(&one(), &side(3), &format!("{name}, one can be bypassed"));
        assert!((1..FRAMES / 64).contains(&together), "{name}: {together} blocks abreast");
        let other = side(2).bypassed(true).with(switches(40));
        check(&one(), &other, &format!("{name}, both can be bypassed"));
    }
}

/// Switches and changes come in the same blocks, and at the same frames where both have one.
#[test]
fn other_effects_with_a_bypass_and_parameters_that_move() {
    for name in OTHERS {
        for seed in 0..4 {
            let side = |seed: u32| {
                let mut events = [switches(7 * seed), changes(name, seed)].concat();
                events.sort_by_key(|event| event.frame);
                let side = Side::of(name, anywhere(name, seed), stereo_noise(FRAMES, seed));
                side.bypassed(seed.is_multiple_of(2)).with(events)
            };
            check(&side(seed), &side(seed + 1), &format!("{name}, seed {seed}"));
        }
    }
}

#[test]
fn effects_of_different_kinds_run_one_after_the_other() {
    let eq = Side::new(eq(3, 1), stereo_noise(FRAMES, 1)).with(glides(0));
    for name in OTHERS {
        let other =
            Side::of(name, anywhere(name, 2), stereo_noise(FRAMES, 2)).with(changes(name, 2));
        check(&eq, &other, name);
        check(&other, &eq, name);
    }
}

#[test]
fn bands_that_differ_in_number() {
    for (bands, beside) in [(0, 4), (1, 3), (4, 2)] {
        let one = Side::new(eq(bands, 1), stereo_noise(FRAMES, 1));
        let other = Side::new(eq(beside, 2), stereo_noise(FRAMES, 2));
        check(&one, &other, &format!("{bands} and {beside} bands"));
    }
}

#[test]
fn numbers_that_are_none_or_hardly_any_stay_on_their_side() {
    for samples in [&INFINITE[..1], &INFINITE[1..2], &INFINITE[2..], &TINY[..], &[]] {
        for bands in 1..=4 {
            let one = Side::new(eq(bands, 5), hostile(3, samples));
            let other = Side::new(eq(bands, 6), stereo_noise(FRAMES, 4));
            check(&one, &other, &format!("{samples:?}"));
            check(&other, &one, &format!("{samples:?} on the other side"));
        }
    }
}

/// Silence, and signals that end or are hardly there.
fn quiet() -> [Stereo; 4] {
    let mut tail = Stereo::impulse(FRAMES, 3);
    tail.right.iter_mut().for_each(|sample| *sample *= 1e-19);
    let minus = Stereo::mono(vec![-0.0; FRAMES]);
    let subnormal = Stereo::mono(noise(FRAMES, 9).iter().map(|sample| sample * 1e-39).collect());
    [tail, minus, subnormal, Stereo::silence(FRAMES)]
}

#[test]
fn silence_of_either_sign_and_tails() {
    for one in &quiet() {
        for other in &quiet() {
            let one = Side::new(eq(4, 1), one.clone());
            let other = Side::new(eq(4, 2), other.clone());
            check(&one, &other, "silence and tails");
        }
    }
}

/// Every parameter of a band moves, at frames that meet no border.
fn glides(seed: u32) -> Vec<TimedChange> {
    let at = |name| index("eq", name);
    let mut events = vec![
        event(100 + seed, at("band1_freq_hz"), 3000.0),
        event(101 + seed, at("band1_q"), 4.0),
        event(700 + 3 * seed, at("band2_gain_db"), -12.0),
        event(707, at("band2_gain_db"), 9.0),
        event(1500 + seed, at("band3_type"), 0.0),
        event(2100 + seed, at("band3_type"), 5.0),
        event(2500, at("band4_freq_hz"), 11_000.0),
        event(2500, at("band4_gain_db"), f32::NAN),
        event(3999, at("band4_gain_db"), 3.0),
    ];
    events.sort_by_key(|event| event.frame);
    events
}

#[test]
fn glides_and_changes_of_shape_on_one_side_and_on_both() {
    let still = Side::new(eq(4, 2), stereo_noise(FRAMES, 2));
    let moving = Side::new(eq(4, 1), stereo_noise(FRAMES, 1)).with(glides(0));
    let beside = Side::new(eq(4, 3), stereo_noise(FRAMES, 3)).with(glides(17));
    check(&moving, &still, "one glides");
    check(&still, &moving, "the other glides");
    check(&moving, &beside, "both glide");
}

/// Switches of a bypass.
fn switches(seed: u32) -> Vec<TimedChange> {
    let switch = |(frame, value)| event(frame + seed, Bypass::PARAM, value);
    [(200, 1.0), (210, 0.0), (1000, 1.0), (3333, 0.0)].map(switch).to_vec()
}

#[test]
fn a_bypass_that_is_switched() {
    let one = Side::new(eq(3, 1), stereo_noise(FRAMES, 1)).bypassed(false).with(switches(0));
    let other = Side::new(eq(3, 2), stereo_noise(FRAMES, 2)).bypassed(true).with(switches(40));
    let bare = Side::new(eq(3, 3), stereo_noise(FRAMES, 3));
    let together = check(&one, &bare, "one can be bypassed");
    assert!((1..FRAMES / 64).contains(&together), "{together} blocks abreast");
    check(&one, &other, "both can be bypassed");
}

/// An event may be the bypass's own or the effect's, so a block with one is no common run. Without a bypass it is.
#[test]
fn behind_a_bypass_blocks_with_events_run_one_after_the_other() {
    let side = |seed| Side::new(eq(4, seed), stereo_noise(FRAMES, seed));
    let louder = || side(1).with(vec![event(100, index("eq", "band2_gain_db"), 9.0)]);
    let all = FRAMES.div_ceil(64);
    assert_eq!(check(&louder(), &side(2), "no bypass"), all);
    assert_eq!(check(&louder().bypassed(false), &side(2), "a bypass"), all - 1);
    assert_eq!(check(&side(2).bypassed(false), &louder(), "a bypass beside it"), all);
}

/// Three sides with the same effect, each for a while alone or beside another one, as plans come and go. A change that one of
/// them gets puts its control points out of step with those of the others.
fn check_joins_and_splits(name: &str, kernel: Kernel) {
    let side = |seed: u32| {
        let values = if name == "eq" { eq(4, seed) } else { anywhere(name, seed) };
        let change = event(13 * seed, 0, values[0]);
        Side::of(name, values, stereo_noise(FRAMES, seed)).with(vec![change])
    };
    let sides = [1, 2, 3].map(side);
    let mut all = sides.each_ref().map(Playing::of);
    let mut count = 0;
    for (place, start) in (0..FRAMES).step_by(100).enumerate() {
        let pair = [[0, 1], [0, 2], [1, 2], [2, 0]][place % 4];
        if place % 5 == 1 {
            pair.iter().for_each(|side| all[*side].alone(start, start + 100));
        } else {
            let both = all.get_disjoint_mut(pair).unwrap();
            count += usize::from(together(kernel, both, start, start + 100));
        }
        let third = 3 - pair[0] - pair[1];
        all[third].alone(start, start + 37);
        all[third].alone(start + 37, start + 100);
    }
    assert_eq!(count, 4 * FRAMES / 500, "{name}, {kernel:?}");
    for (playing, side) in all.into_iter().zip(&sides) {
        assert_same(&playing.end(), &out_of(side), &format!("{name}, {kernel:?}"));
    }
}

#[test]
fn processors_that_run_alone_then_abreast_and_then_beside_another_one() {
    for kernel in Kernel::all() {
        ["eq"].into_iter().chain(OTHERS).for_each(|name| check_joins_and_splits(name, kernel));
    }
}

#[test]
fn only_effects_that_compute_the_same_have_the_same_key() {
    let key = |bands, seed| (kind("eq").unwrap().build)(&eq(bands, seed), RATE_HZ).abreast_key();
    assert!(key(4, 1).is_some());
    assert_eq!(key(4, 1), key(4, 2));
    assert_eq!([key(0, 1), key(1, 1), key(2, 1), key(3, 1)], [None; 4]);
    let bypass = Bypass::new((kind("eq").unwrap().build)(&eq(4, 1), RATE_HZ), RATE_HZ, true);
    assert_eq!(bypass.abreast_key(), key(4, 1));
    let built = |name, settings: &[(&str, f32)]| common::build(name, RATE_HZ, settings);
    let amp = |times| built("amp", &[("oversampling", times)]).abreast_key();
    assert_eq!(amp(4.0), amp(5.0));
    assert_ne!(amp(4.0), amp(8.0));
    let compressor = built("compressor", &[]).abreast_key();
    assert_eq!(compressor, built("compressor", &[("ratio", 9.0)]).abreast_key());
    let meter = |windows| built("correlation", &[("windows", windows)]).abreast_key();
    assert_eq!(meter(1.0), meter(4.0));
    let keys = [meter(4.0), meter(5.0), key(4, 1), compressor, amp(1.0), amp(4.0)];
    let numbers: HashSet<u16> = keys.into_iter().flatten().map(AbreastKey::number).collect();
    assert_eq!(numbers.len(), keys.len());
    assert_eq!(built("limiter", &[]).abreast_key(), None);
}

/// The engine never pairs such meters, because their keys differ. A caller of the kernel may not have compared the keys.
#[test]
fn meters_with_other_numbers_of_windows_keep_all_of_them() {
    let meter = |windows: f32| Segmented::<Correlation>::new(&[20.0, windows], RATE_HZ);
    for kernel in Kernel::all() {
        for windows in [[12.0, 4.0], [3.0, 16.0]] {
            let mut both = windows.map(meter);
            let mut alone = both.clone();
            let mut inputs = [stereo_noise(FRAMES, 1), stereo_noise(FRAMES, 2)];
            let [first, second] = &mut inputs;
            let mut blocks = [block(first, 0, FRAMES, &[]), block(second, 0, FRAMES, &[])];
            // The sound passes unchanged, so both get the same.
            alone.iter_mut().zip(&mut blocks).for_each(|(meter, block)| meter.process(block));
            let [one, other] = &mut both;
            let pair = [one.abreast(&[]).unwrap(), other.abreast(&[]).unwrap()];
            kernel.process(pair, blocks.each_mut());
            assert_eq!(format!("{both:?}"), format!("{alone:?}"), "{kernel:?}, {windows:?}");
        }
    }
}

#[test]
fn a_bypass_inside_another_one_runs_alone_if_both_keep_the_dry_signal() {
    let amp = || Side::of("amp", anywhere("amp", 1), stereo_noise(FRAMES, 1));
    let twice = || amp().bypassed(false).bypassed(false).with(switches(0));
    assert_eq!(check(&twice(), &amp(), "bypassed twice"), 0);
}
