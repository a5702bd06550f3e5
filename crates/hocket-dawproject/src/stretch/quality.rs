//! How notes, chords and hits sound whose pitch stays, in figures. `docs/dawproject.md` has them.

use std::f64::consts::TAU;
use std::sync::atomic::AtomicBool;

use hocket_media::Audio;
use rustfft::FftPlannerScalar;
use rustfft::num_complex::Complex;

use super::{Knot, Pitch, stretched};

const RATE: u32 = 48_000;
/// Six seconds.
const FRAMES: usize = 288_000;
const SPEEDS: [f64; 6] = [0.5, 0.8, 0.97, 1.05, 1.25, 2.0];
/// A major chord around 275 Hz.
const CHORD: [f64; 3] = [220.0, 277.18, 329.63];
/// Five notes from the bass on, the lowest 26 Hz apart.
const WIDE_CHORD: [f64; 5] = [110.0, 138.59, 164.81, 880.0, 1318.5];

fn audio(rows: Vec<Vec<f32>>) -> Audio {
    Audio { sample_rate_hz: RATE, channels: rows, warnings: Vec::new() }
}

fn made(audio: &Audio, knots: &[Knot]) -> Audio {
    stretched(audio, knots, Pitch::Stays, &AtomicBool::new(false)).expect("nobody stops it")
}

/// What a function of the time in seconds gives.
fn row(sound: impl Fn(f64) -> f64) -> Vec<f32> {
    (0..FRAMES).map(|at| sound(at as f64 / f64::from(RATE)) as f32).collect()
}

fn tones(hz: &[f64]) -> Vec<f32> {
    row(|at_s| hz.iter().map(|hz| 0.2 * (TAU * hz * at_s).sin()).sum())
}

/// Four per second, of half a millisecond, that are loud in the highest octave.
fn clicks() -> Vec<f32> {
    let sign = |at: usize| 1.0 - 2.0 * (at % 2) as f32;
    (0..FRAMES).map(|at| if at % 12_000 < 24 { 0.8 * sign(at) } else { 0.0 }).collect()
}

fn noise() -> impl FnMut() -> f32 {
    let mut state = 1_u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    }
}

fn at_speed(row: &[f32], speed: f64, pitch: Pitch) -> Vec<f32> {
    let length_s = row.len() as f64 / f64::from(RATE);
    let knots = [(0.0, 0.0), (length_s / speed, length_s)];
    let made = stretched(&audio(vec![row.to_vec()]), &knots, pitch, &AtomicBool::new(false));
    made.expect("nobody stops it").channels.remove(0)
}

/// The second in the middle.
fn middle(row: &[f32]) -> &[f32] {
    let from = row.len() / 2 - 24_000;
    &row[from..from + 48_000]
}

fn level_db(row: &[f32]) -> f64 {
    let square = |sample: &f32| f64::from(*sample).powi(2);
    10.0 * (row.iter().map(square).sum::<f64>() / row.len() as f64).log10()
}

/// The phase of a sine in a row, as a part of a turn. The row has a whole number of its waves.
fn phase(row: &[f32], hz: f64) -> f64 {
    let wave = |(at, sample): (usize, &f32)| {
        Complex::from_polar(f64::from(*sample), -TAU * hz * at as f64 / f64::from(RATE))
    };
    row.iter().enumerate().map(wave).sum::<Complex<f64>>().arg() / TAU
}

/// What is further than 12 Hz from all of these frequencies, below what is there at all, in dB.
fn spurs_db(row: &[f32], hz: &[f64]) -> f64 {
    let length = row.len();
    // A window whose sides are 92 dB down.
    let weight = |at: usize| {
        let turn = TAU * at as f64 / length as f64;
        0.35875 - 0.48829 * turn.cos() + 0.14128 * (2.0 * turn).cos() - 0.01168 * (3.0 * turn).cos()
    };
    let weighted = row.iter().enumerate().map(|(at, sample)| f64::from(*sample) * weight(at));
    let mut spectrum: Vec<Complex<f64>> = weighted.map(Complex::from).collect();
    FftPlannerScalar::new().plan_fft_forward(length).process(&mut spectrum);
    let (mut all, mut apart) = (0.0, 0.0);
    for (bin, value) in spectrum[..length / 2].iter().enumerate() {
        let at_hz = bin as f64 * f64::from(RATE) / length as f64;
        all += value.norm_sqr();
        if hz.iter().all(|hz| (hz - at_hz).abs() > 12.0) {
            apart += value.norm_sqr();
        }
    }
    10.0 * (apart / all).log10()
}

#[test]
fn a_sine_keeps_its_frequency_and_its_level() {
    for hz in [110.0, 440.0, 2000.0] {
        let before = tones(&[hz]);
        for speed in SPEEDS {
            let row = at_speed(&before, speed, Pitch::Stays);
            let row = middle(&row);
            // Two phases, half a second apart, and what no whole turn between them hides.
            let turned = phase(&row[24_000..28_800], hz) - phase(&row[..4800], hz);
            let off_hz = (turned - turned.round()) / 0.5;
            let cents = 1200.0 * (1.0 + off_hz / hz).log2();
            assert!(cents.abs() < 0.05, "{hz} Hz at {speed}: {cents} cents");
            let spurs = spurs_db(row, &[hz]);
            assert!(spurs < -90.0, "{hz} Hz at {speed}: {spurs} dB");
            for part in row.chunks_exact(4800) {
                let off_db = level_db(part) - level_db(&before[..48_000]);
                assert!(off_db.abs() < 0.1, "{hz} Hz at {speed}: {off_db} dB");
            }
        }
    }
}

#[test]
fn chords_are_cleaner_than_from_waves() {
    // The most is that at half the speed. At others it is less than -55 dB.
    for (chord, most_db) in [(&CHORD[..], -46.0), (&WIDE_CHORD[..], -20.0)] {
        let before = tones(chord);
        for speed in SPEEDS {
            let of = |pitch| {
                let row = at_speed(&before, speed, pitch);
                (spurs_db(middle(&row), chord), level_db(middle(&row)))
            };
            let ((spurs, level), (waves, _)) = (of(Pitch::Stays), of(Pitch::StaysOfOneVoice));
            let most_db = if speed == 0.5 { most_db } else { -55.0 };
            assert!(spurs < most_db, "{chord:?} at {speed}: {spurs} dB");
            assert!(spurs < waves - 10.0, "{chord:?} at {speed}: {spurs} dB, waves {waves} dB");
            let off_db = level - level_db(middle(&before));
            assert!(off_db.abs() < 0.3, "{chord:?} at {speed}: {off_db} dB");
        }
    }
}

/// What is in the highest octaves: 330 Hz are 80 dB softer in it.
fn high(row: &[f32]) -> Vec<f32> {
    let difference = |row: Vec<f32>| row.windows(2).map(|pair| pair[1] - pair[0]).collect();
    (0..3).fold(row.to_vec(), |row, _| difference(row))
}

/// The middle of the energy around a place, how long it lasts (one deviation), both in milliseconds, and the energy.
fn click(row: &[f32], at: f64, reach: f64) -> (f64, f64, f64) {
    let range = (at - reach) as usize..(at + reach) as usize;
    let energy = |at: usize| f64::from(row[at]).powi(2);
    let all: f64 = range.clone().map(energy).sum();
    let middle = range.clone().map(|at| energy(at) * at as f64).sum::<f64>() / all;
    let spread = range.map(|at| energy(at) * (at as f64 - middle).powi(2)).sum::<f64>() / all;
    ((middle - at) / 48.0, spread.sqrt() / 48.0, all)
}

#[test]
fn clicks_stay_short_and_sound_where_they_belong_also_in_a_chord() {
    let clicks = clicks();
    let mix: Vec<f32> = tones(&CHORD).iter().zip(&clicks).map(|(a, b)| a + b).collect();
    for (before, speed) in [&clicks, &mix].into_iter().flat_map(|it| SPEEDS.map(|at| (it, at))) {
        let row = high(&at_speed(before, speed, Pitch::Stays));
        for index in 3..20 {
            let at = f64::from(index) * 12_000.0 + 12.0;
            let (_, spread_before_ms, energy) = click(&high(before), at, 5500.0);
            let (off_ms, spread_ms, now) = click(&row, at / speed, 5500.0 / speed);
            assert!(off_ms.abs() < 0.5, "click {index} at {speed}: {off_ms} ms");
            assert!((spread_ms - spread_before_ms).abs() < 0.1, "{index} at {speed}: {spread_ms}");
            let off_db = 10.0 * (now / energy).log10();
            assert!(off_db.abs() < 0.2, "click {index} at {speed}: {off_db} dB");
        }
    }
}

/// Two per second, as a drum whose pitch falls to 50 Hz.
fn kicks() -> Vec<f32> {
    row(|at_s| {
        let at_s = at_s % 0.5;
        let turns = 50.0 * at_s + 2.0 * (1.0 - (-at_s / 0.02).exp());
        0.6 * (TAU * turns).sin() * (-at_s / 0.1).exp()
    })
}

#[test]
fn a_drum_begins_where_it_belongs_with_its_level() {
    let before = kicks();
    let first = |row: &[f32], at: usize| level_db(&row[at..at + 960]);
    for (speed, most_off_db) in [(0.5, 4.0), (0.97, 0.5), (1.05, 0.5), (2.0, 4.0)] {
        let row = at_speed(&before, speed, Pitch::Stays);
        for index in 3..10 {
            let at = (f64::from(index) * 24_000.0 / speed) as usize;
            let expected_db = first(&before, index as usize * 24_000);
            let off_db = first(&row, at) - expected_db;
            assert!(off_db.abs() < most_off_db, "drum {index} at {speed}: {off_db} dB");
            let before_db = level_db(&row[at - 1920..at - 96]) - expected_db;
            assert!(before_db < -18.0, "before drum {index} at {speed}: {before_db} dB");
        }
    }
}

#[test]
fn a_vibrato_keeps_its_level() {
    // By 50 cents, 5.5 times a second, around 880 Hz.
    let before = row(|at_s| 0.3 * (TAU * 880.0 * at_s - 4.68 * (TAU * 5.5 * at_s).cos()).sin());
    for speed in [0.8, 0.97, 1.05, 1.25] {
        let row = at_speed(&before, speed, Pitch::Stays);
        for part in middle(&row).chunks_exact(480) {
            let off_db = level_db(part) - level_db(&before);
            assert!(off_db.abs() < 1.5, "at {speed}: {off_db} dB");
        }
    }
}

#[test]
fn noise_stays_about_as_loud() {
    let mut noise = noise();
    let before: Vec<f32> = (0..FRAMES).map(|_| noise()).collect();
    for speed in SPEEDS {
        let row = at_speed(&before, speed, Pitch::Stays);
        let off_db = level_db(middle(&row)) - level_db(&before);
        assert!((-3.0..0.5).contains(&off_db), "at {speed}: {off_db} dB");
    }
}

#[test]
fn at_its_own_speed_a_file_stays_as_it_is() {
    let mut noise = noise();
    let left = tones(&[220.0]).iter().map(|sample| sample + 0.2 * noise()).collect();
    let file = audio(vec![left, clicks()]);
    let whole = made(&file, &[(0.0, 0.0), (6.0, 6.0)]);
    for (row, expected) in whole.channels.iter().zip(&file.channels) {
        assert_eq!(row.len(), expected.len());
        let off = row.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-5, "{off}");
    }
}

#[test]
fn both_sides_turn_alike() {
    let left = tones(&CHORD);
    let right = left.iter().map(|sample| -0.5 * sample).collect();
    let stretched = made(&audio(vec![left, right]), &[(0.0, 0.0), (7.5, 6.0)]);
    let [left, right] = &stretched.channels[..] else { panic!("two sides") };
    let off = left.iter().zip(right).map(|(l, r)| (l * 0.5 + r).abs()).fold(0.0, f32::max);
    assert!(off < 1e-4, "{off}");
}

#[test]
fn loud_and_soft_files_sound_alike_but_for_their_level() {
    let row = tones(&[220.0, 3000.0]);
    let at_level = |by: f32| {
        let scaled: Vec<f32> = row.iter().map(|sample| sample * by).collect();
        at_speed(&scaled, 1.25, Pitch::Stays)
    };
    let usual = at_level(1.0);
    for by in [1e-4, 1e6] {
        let off = |(a, b): (&f32, &f32)| (a * by - b).abs() / by;
        let off = usual.iter().zip(&at_level(by)).map(off).fold(0.0, f32::max);
        assert!(off < 1e-3, "{by}: {off}");
    }
}

#[test]
fn any_rate_and_any_change_of_speed_is_possible() {
    let mut noise = noise();
    for rate_hz in [1, 100, 8000, 32_000, 44_100, 192_000] {
        let length = rate_hz as usize / 2;
        let click = |at: usize| if at % 2000 < 10 { 0.9 } else { 0.0 };
        let row = (0..length).map(|at| click(at) + 0.1 * noise()).collect();
        let file = Audio { sample_rate_hz: rate_hz, channels: vec![row], warnings: Vec::new() };
        // The last piece goes on behind the file's end, and the first before its beginning.
        for knots in [
            [(0.0, -0.2), (0.1, 0.2), (0.9, 0.4), (1.0, 0.8)],
            [(0.0, 0.4), (0.4, 0.5), (0.5, 0.9), (1.3, 1.1)],
        ] {
            let row = made(&file, &knots).channels.remove(0);
            assert_eq!(row.len(), (knots[3].0 * f64::from(rate_hz)).round() as usize);
            assert!(row.iter().all(|sample| sample.abs() < 3.0), "{rate_hz} Hz");
        }
    }
}
