//! The effects against renders by other programs (SoX, SciPy, FFmpeg, Csound, ecasound) whose
//! algorithms are fully defined. Tolerances are the manifest's.
//!
//! Whole sessions are compared in `hocket/tests/cli/references.rs`, a convolution in `hocket-convolution/tests/reference.rs`.

mod common;

use std::path::Path;

use common::{Stereo, build, run, shared};
use hocket_dsp::mix::{self, Line};
use hocket_dsp::{BiquadCascade, Coefficients};

/// Channels of a WAV file of floats.
fn wav(path: &Path) -> Vec<Vec<f32>> {
    let mut reader = hound::WavReader::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let channels = usize::from(reader.spec().channels);
    let samples: Vec<f32> = reader.samples().map(|s| s.expect("a sample")).collect();
    (0..channels).map(|n| samples.iter().skip(n).step_by(channels).copied().collect()).collect()
}

/// One case of the manifest with its files read.
struct Case {
    inputs: Vec<Vec<Vec<f32>>>,
    output: Vec<Vec<f32>>,
    rate_hz: u32,
    tolerance: f64,
    sections: Vec<Coefficients>,
}

impl Case {
    fn read(id: &str) -> Option<Case> {
        let folder = shared(id)?;
        let text = std::fs::read_to_string(folder.join("manifest.json")).expect("the manifest");
        let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let cases = manifest["cases"].as_array().expect("cases");
        let case = cases.iter().find(|case| case["id"] == id).expect("the case");
        let file = |name: &serde_json::Value| wav(&folder.join(name.as_str().expect("a name")));
        Some(Case {
            inputs: case["inputs"].as_array().expect("inputs").iter().map(file).collect(),
            output: file(&case["output"]),
            rate_hz: case["rate"].as_u64().expect("a rate") as u32,
            tolerance: case["tolerance"].as_f64().expect("a tolerance"),
            sections: case["sos"].as_array().into_iter().flatten().map(section).collect(),
        })
    }

    /// The first input on both sides, as long as the output.
    fn input(&self) -> Stereo {
        let channels = &self.inputs[0];
        let row = |n: usize| {
            let mut row = channels[n.min(channels.len() - 1)].clone();
            row.resize(self.output[0].len(), 0.0);
            row
        };
        Stereo { left: row(0), right: row(1) }
    }

    fn compare(&self, id: &str, got: &Stereo) {
        for (side, (got, expected)) in got.rows().into_iter().zip(&self.output).enumerate() {
            assert_eq!(got.len(), expected.len(), "{id}");
            let error = |(a, b): (&f32, &f32)| f64::from((a - b).abs());
            let worst = got.iter().zip(expected).map(error).fold(0.0, f64::max);
            println!("{id}: largest difference {worst:e} (side {side})");
            assert!(worst <= self.tolerance, "{id}: side {side} is off by {worst}");
        }
    }
}

fn section(numbers: &serde_json::Value) -> Coefficients {
    let at = |n: usize| numbers[n].as_f64().expect("a number");
    coefficients([at(0), at(1), at(2), at(4), at(5)])
}

fn coefficients([b0, b1, b2, a1, a2]: [f64; 5]) -> Coefficients {
    Coefficients { b0, b1, b2, a1, a2 }
}

/// A chain of effects, each a kind with its settings.
type Chain<'a> = &'a [(&'a str, &'a [(&'a str, f32)])];

fn check(id: &str, chain: Chain<'_>) {
    let Some(case) = Case::read(id) else { return };
    let mut signal = case.input();
    for (kind, settings) in chain {
        signal = run(&mut *build(kind, case.rate_hz, settings), &signal);
    }
    case.compare(id, &signal);
}

/// An equaliser with one band in use.
fn check_band(id: &str, code: f32, freq_hz: f32, q: f32, gain_db: f32) {
    let settings = band(code, freq_hz, q, gain_db);
    check(id, &[("eq", &settings)]);
}

fn band(code: f32, freq_hz: f32, q: f32, gain_db: f32) -> [(&'static str, f32); 7] {
    [
        ("band1_type", 0.0),
        ("band2_type", code),
        ("band2_freq_hz", freq_hz),
        ("band2_q", q),
        ("band2_gain_db", gain_db),
        ("band3_type", 0.0),
        ("band4_type", 0.0),
    ]
}

const BUTTERWORTH: f32 = std::f32::consts::FRAC_1_SQRT_2;

#[test]
fn gains() {
    check("sox-gain-m6dB", &[("gain", &[("gain_db", -6.0)])]);
    check("ffmpeg-volume-m12dB", &[("gain", &[("gain_db", -12.0)])]);
}

#[test]
fn every_equaliser_shape() {
    check_band("sox-lowpass2-1000-q0.7071", 4.0, 1000.0, BUTTERWORTH, 0.0);
    check_band("sox-highpass2-250-q0.7071", 5.0, 250.0, BUTTERWORTH, 0.0);
    check_band("sox-bandpass-1000-q2", 7.0, 1000.0, 2.0, 0.0);
    check_band("sox-bandreject-1000-q4", 6.0, 1000.0, 4.0, 0.0);
    check_band("sox-allpass-700-q0.7071", 8.0, 700.0, BUTTERWORTH, 0.0);
    check_band("sox-peak-1000-q1-p6dB", 1.0, 1000.0, 1.0, 6.0);
    check_band("sox-peak-900-q1-m9dB-impulse", 1.0, 900.0, 1.0, -9.0);
    check_band("sox-highshelf-6000-q0.7-m6dB", 3.0, 6000.0, 0.7, -6.0);
    check_band("ffmpeg-lowpass-1000", 4.0, 1000.0, BUTTERWORTH, 0.0);
    check_band("csound-butterlp-1000", 4.0, 1000.0, BUTTERWORTH, 0.0);
    let shelf = band(2.0, 120.0, 0.7, 6.0);
    check("sox-lowshelf-120-q0.7-p6dB", &[("gain", &[("gain_db", -6.0)]), ("eq", &shelf)]);
}

#[test]
fn a_channel_strip() {
    let strip = [
        ("band1_type", 5.0),
        ("band1_freq_hz", 80.0),
        ("band2_type", 1.0),
        ("band2_freq_hz", 3000.0),
        ("band2_q", 1.0),
        ("band2_gain_db", 4.0),
        ("band3_type", 3.0),
        ("band3_freq_hz", 9000.0),
        ("band3_gain_db", -3.0),
        ("band4_type", 4.0),
        ("band4_freq_hz", 15_000.0),
    ];
    check("sox-chain-channel-strip", &[("gain", &[("gain_db", -3.0)]), ("eq", &strip)]);
}

fn check_cascade(id: &str, sections: impl FnOnce(&Case) -> Vec<Coefficients>) {
    let Some(case) = Case::read(id) else { return };
    let mut signal = case.input();
    let mut cascade = BiquadCascade::new(&sections(&case));
    cascade.process_stereo(&mut signal.left, &mut signal.right);
    case.compare(id, &signal);
}

#[test]
fn sections_with_given_coefficients() {
    check_cascade("scipy-butter4-lp-1k", |case| case.sections.clone());
    check_cascade("scipy-butter8-hp-240", |case| case.sections.clone());
    check_cascade("sox-biquad-raw", |_| vec![coefficients([0.2, 0.3, 0.2, -0.5, 0.25])]);
    check_cascade("sox-lowpass1-1000", |case| {
        let pole = (-std::f64::consts::TAU * 1000.0 / f64::from(case.rate_hz)).exp();
        vec![coefficients([1.0 - pole, 0.0, 0.0, -pole, 0.0])]
    });
    check_cascade("csound-tone-500", |case| {
        let cos = (std::f64::consts::TAU * 500.0 / f64::from(case.rate_hz)).cos();
        let b = 2.0 - cos;
        let pole = b - (b * b - 1.0).sqrt();
        vec![coefficients([1.0 - pole, 0.0, 0.0, -pole, 0.0])]
    });
}

#[test]
fn delays() {
    let frames_ms = |frames: f32| frames * 1000.0 / 44_100.0;
    let delay = [
        ("time_left_ms", frames_ms(480.0)),
        ("time_right_ms", frames_ms(960.0)),
        ("feedback", 0.0),
        ("damping", 0.0),
        ("mix", 1.0),
    ];
    check("sox-delay-480-960-samples", &[("delay", &delay)]);
    // (0.8 x + 0.4 late x) 0.9, as a third of echo and a level.
    let echo = [
        ("time_left_ms", 100.0),
        ("time_right_ms", 100.0),
        ("feedback", 0.0),
        ("damping", 0.0),
        ("mix", 1.0 / 3.0),
    ];
    let level = [("gain_db", hocket_dsp::level::lin_to_db(1.08))];
    check("sox-echo-100ms-0.4", &[("delay", &echo), ("gain", &level)]);
}

#[test]
fn tremolo() {
    check("sox-tremolo-5-60", &[("tremolo", &[("rate_hz", 5.0), ("depth", 0.6)])]);
}

#[test]
fn pan() {
    // 30 degrees of 90 from the left; our law has 0 dB at the centre, theirs -3.01 dB.
    let lower = [("gain_db", hocket_dsp::level::lin_to_db(std::f32::consts::FRAC_1_SQRT_2))];
    let pan = [("pan", -1.0 / 3.0)];
    check("sox-mono-to-stereo-pan-sqrt", &[("pan", &pan), ("gain", &lower)]);
}

/// Sums the inputs with a gain each; a mono input goes to both sides.
fn check_sum(id: &str, gains: &[f32]) {
    let Some(case) = Case::read(id) else { return };
    let mut out = Stereo::silence(case.output[0].len());
    for (channels, gain) in case.inputs.iter().zip(gains) {
        mix::add_scaled(&mut out.left, &channels[0], *gain);
        mix::add_scaled(&mut out.right, &channels[channels.len() - 1], *gain);
    }
    case.compare(id, &out);
}

#[test]
fn mixes() {
    check_sum("sox-mix-2-tracks", &[0.5, 0.6]);
    check_sum("ecasound-mix-3-tracks-gain", &[0.6, 0.45, 0.3]);
}

/// Each side is a sum of both sides.
fn check_matrix(id: &str, [ll, lr, rl, rr]: [f32; 4]) {
    let Some(case) = Case::read(id) else { return };
    let (input, mut out) = (case.input(), Stereo::silence(case.output[0].len()));
    mix::copy_scaled(&mut out.left, &input.left, ll);
    mix::add_scaled(&mut out.left, &input.right, lr);
    mix::copy_scaled(&mut out.right, &input.left, rl);
    mix::add_scaled(&mut out.right, &input.right, rr);
    case.compare(id, &out);
}

#[test]
fn matrices() {
    check_matrix("ffmpeg-pan-balance", [0.8, 0.2, 0.2, 0.8]);
    check_matrix("sox-remix-swap", [0.0, 1.0, 1.0, 0.0]);
    check_matrix("ecasound-pan-epp-25", [1.0, 0.0, 0.0, 0.5]);
}

/// Lines one after the other, the last one's end held.
fn check_lines(id: &str, lines: impl FnOnce(&Case) -> Vec<(usize, Line)>) {
    let Some(case) = Case::read(id) else { return };
    let mut signal = case.input();
    let lines = lines(&case);
    for row in [&mut signal.left, &mut signal.right] {
        let starts = lines.iter().map(|(start, _)| *start);
        let ends: Vec<usize> = starts.skip(1).chain([row.len()]).collect();
        for ((start, line), end) in lines.iter().zip(ends) {
            mix::scale_line(&mut row[*start..end], *line, 0);
        }
    }
    case.compare(id, &signal);
}

fn line(from: f32, to: f32, frames: u32) -> Line {
    Line { from, to, frames }
}

#[test]
fn straight_fades() {
    check_lines("ffmpeg-afade-in-tri", |_| vec![(0, line(0.0, 1.0, 22_050))]);
    check_lines("sox-fade-linear-0.2-0.3", |_| {
        vec![(0, line(0.0, 1.0, 8820)), (44_100 - 13_230, line(1.0, 0.0, 13_230))]
    });
}
