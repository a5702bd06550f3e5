//! What the tests share: noise, blocks, and convolution by its definition.
#![allow(dead_code)]

use std::sync::Arc;

use hocket_convolution::{Impulse, PARAMS, effect};
use hocket_dsp::{Block, Change, Processor, StereoMut, TimedChange};

pub const RATE_HZ: u32 = 48_000;

pub type Rows = [Vec<f32>; 2];

/// Noise between -0.5 and 0.5.
pub fn noise(frames: usize, seed: u32) -> Vec<f32> {
    let mut seed = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0 - 0.5
    };
    (0..frames).map(|_| next()).collect()
}

/// A response of noise that decays, about as loud as a room's.
pub fn response(frames: usize, seed: u32) -> Vec<f32> {
    let at = |(n, x): (usize, f32)| 0.1 * x * (-5.0 * n as f32 / frames as f32).exp();
    noise(frames, seed).into_iter().enumerate().map(at).collect()
}

pub fn impulse(rows: &[Vec<f32>]) -> Arc<Impulse> {
    Arc::new(Impulse::new(rows).expect("a response"))
}

pub fn build(impulse: &Arc<Impulse>, settings: &[(&str, f32)]) -> Box<dyn Processor> {
    let value = |name: &str| settings.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
    let values: Vec<f32> = PARAMS.iter().map(|p| value(p.name).unwrap_or(p.default)).collect();
    effect(impulse, &values, RATE_HZ)
}

pub fn index(name: &str) -> u16 {
    PARAMS.iter().position(|param| param.name == name).expect("a parameter") as u16
}

pub fn change(frame: u32, name: &str, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index: index(name), value } }
}

/// Runs a processor in blocks of `lengths`, over and over.
pub fn run(
    processor: &mut dyn Processor,
    input: &Rows,
    lengths: &[usize],
    events: &[TimedChange],
) -> Rows {
    let mut out = input.clone();
    let (total, mut at) = (input[0].len(), 0);
    for length in lengths.iter().cycle() {
        let to = total.min(at + length);
        if at == to {
            break;
        }
        let inside = events.iter().filter(|e| (at..to).contains(&(e.frame as usize)));
        let events: Vec<TimedChange> =
            inside.map(|e| TimedChange { frame: e.frame - at as u32, ..*e }).collect();
        let [left, right] = &mut out;
        let main = StereoMut { left: &mut left[at..to], right: &mut right[at..to] };
        processor.process(&mut Block { events: &events, ..Block::new(main) });
        at = to;
    }
    out
}

pub fn bits(rows: &Rows) -> Vec<u32> {
    rows.iter().flatten().map(|sample| sample.to_bits()).collect()
}

/// Frame `n` of `x` convolved with `h`, in double precision.
pub fn convolved(x: &[f32], h: &[f32], n: usize) -> f64 {
    let taps = h.iter().take(n + 1).enumerate();
    taps.map(|(k, h)| f64::from(*h) * x.get(n - k).map_or(0.0, |x| f64::from(*x))).sum()
}
