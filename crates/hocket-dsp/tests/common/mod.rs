//! What the tests share: signals, running a processor over blocks, measuring.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use hocket_dsp::{Block, Change, Kind, Processor, StereoMut, StereoRef, TimedChange, kind};

/// Two rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Stereo {
    pub left: Vec<f32>,
    pub right: Vec<f32>,
}

impl Stereo {
    pub fn mono(row: Vec<f32>) -> Stereo {
        Stereo { left: row.clone(), right: row }
    }

    pub fn silence(frames: usize) -> Stereo {
        Stereo::mono(vec![0.0; frames])
    }

    pub fn impulse(frames: usize, at: usize) -> Stereo {
        let mut signal = Stereo::silence(frames);
        signal.left[at] = 1.0;
        signal.right[at] = 1.0;
        signal
    }

    pub fn frames(&self) -> usize {
        self.left.len()
    }

    pub fn rows(&self) -> [&[f32]; 2] {
        [&self.left, &self.right]
    }

    /// Bit patterns: equal zeros of different sign differ, equal not-a-numbers do not.
    pub fn bits(&self) -> Vec<u32> {
        self.rows().iter().flat_map(|row| row.iter().map(|sample| sample.to_bits())).collect()
    }

    pub fn max(&self) -> f32 {
        self.rows().iter().flat_map(|row| row.iter()).fold(0.0, |max, sample| max.max(sample.abs()))
    }
}

/// A deterministic row of white noise between -1 and 1.
pub fn noise(frames: usize, mut seed: u32) -> Vec<f32> {
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..frames).map(|_| next()).collect()
}

pub fn stereo_noise(frames: usize, seed: u32) -> Stereo {
    Stereo { left: noise(frames, seed), right: noise(frames, seed ^ 0x5bd1_e995) }
}

/// `freq` in cycles a frame.
pub fn sine(frames: usize, freq: f64, amplitude: f64) -> Vec<f32> {
    let value = |n: usize| (std::f64::consts::TAU * freq * n as f64).sin() * amplitude;
    (0..frames).map(|n| value(n) as f32).collect()
}

/// An event at an absolute frame.
pub fn event(frame: u32, index: u16, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index, value } }
}

/// Runs over blocks of the given lengths, again and again, with events at absolute frames and an
/// optional key, and returns the output.
pub fn run_with(
    processor: &mut dyn Processor,
    input: &Stereo,
    key: Option<&Stereo>,
    lengths: &[usize],
    events: &[TimedChange],
) -> Stereo {
    let mut out = input.clone();
    let mut start = 0;
    for length in lengths.iter().cycle() {
        let end = (start + length).min(out.frames());
        let inside = |event: &&TimedChange| (start..end).contains(&(event.frame as usize));
        let shift =
            |event: &TimedChange| TimedChange { frame: event.frame - start as u32, ..*event };
        let events: Vec<TimedChange> = events.iter().filter(inside).map(shift).collect();
        let main = StereoMut { left: &mut out.left[start..end], right: &mut out.right[start..end] };
        processor.process(&mut Block {
            side_chain: key.map(|key| StereoRef {
                left: &key.left[start..end],
                right: &key.right[start..end],
            }),
            events: &events,
            ..Block::new(main)
        });
        start = end;
        if start == out.frames() {
            return out;
        }
    }
    out
}

pub fn run(processor: &mut dyn Processor, input: &Stereo) -> Stereo {
    run_with(processor, input, None, &[512], &[])
}

pub fn known(name: &str) -> &'static Kind {
    kind(name).unwrap_or_else(|| panic!("no kind {name}"))
}

/// Builds a kind with some parameters set by name and the others at their defaults.
pub fn build(name: &str, rate_hz: u32, settings: &[(&str, f32)]) -> Box<dyn Processor> {
    let kind = known(name);
    (kind.build)(&values(kind, settings), rate_hz)
}

pub fn values(kind: &Kind, settings: &[(&str, f32)]) -> Vec<f32> {
    let mut values = kind.defaults();
    for (param, value) in settings {
        let index = kind.index_of(param).unwrap_or_else(|| panic!("no parameter {param}"));
        values[index] = *value;
    }
    values
}

pub fn index(name: &str, param: &str) -> u16 {
    known(name).index_of(param).unwrap_or_else(|| panic!("no parameter {param}")) as u16
}

/// Amplitude of one frequency (cycles a frame) in a row.
pub fn amplitude_at(row: &[f32], freq: f64) -> f64 {
    let (re, im) = spectrum_at(row, freq);
    2.0 * (re * re + im * im).sqrt() / row.len() as f64
}

/// The Fourier sum of a row at one frequency (cycles a frame).
pub fn spectrum_at(row: &[f32], freq: f64) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for (n, sample) in row.iter().enumerate() {
        let (sin, cos) = (std::f64::consts::TAU * (freq * n as f64).fract()).sin_cos();
        sum.0 += f64::from(*sample) * cos;
        sum.1 -= f64::from(*sample) * sin;
    }
    sum
}

pub fn db(ratio: f64) -> f64 {
    20.0 * ratio.max(1e-30).log10()
}

pub fn energy(row: &[f32]) -> f64 {
    row.iter().map(|sample| f64::from(*sample).powi(2)).sum()
}

/// Seconds to decay by 60 dB, from the slope between -5 and -35 dB of the backward integral of
/// the energy (Schroeder).
pub fn t60_s(row: &[f32], rate_hz: f64) -> f64 {
    let mut left = 0.0;
    let mut curve: Vec<f64> = row
        .iter()
        .rev()
        .map(|sample| {
            left += f64::from(*sample).powi(2);
            left
        })
        .collect();
    curve.reverse();
    let below = |db: f64| {
        let level = curve[0] * 10f64.powf(db / 10.0);
        curve.iter().position(|energy| *energy < level).unwrap_or(curve.len()) as f64
    };
    (below(-35.0) - below(-5.0)) / rate_hz * 2.0
}

/// The folder with shared data, or `None` after printing why the test is skipped.
pub fn shared(test: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HOCKET_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let data = root.join("data/references");
    if data.join("manifest.json").is_file() {
        return Some(data);
    }
    println!("SKIPPED {test}: no manifest.json in {}; set HOCKET_SHARED", data.display());
    None
}
