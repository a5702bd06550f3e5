//! Dither: a sine of one step of 16 bits, with and without.

use std::f64::consts::TAU;
use std::path::Path;

use hocket_media::{AudioWriter, Dither, FileFormat, WavFormat, decode};

/// About four seconds at 48 kHz.
const FRAMES: usize = 200_000;
/// Whole periods, and no simple part of the length.
const PERIODS: f64 = 1837.0;
const STEP: f64 = 1.0 / 32_768.0;
const DITHER: Dither = Dither { seed: 0, first_frame: 0 };

/// A sine at -90 dBFS: its peak is about one step of 16 bits.
fn sine() -> Vec<f32> {
    let gain = 10f64.powf(-90.0 / 20.0);
    (0..FRAMES).map(|n| (gain * (TAU * PERIODS * n as f64 / FRAMES as f64).sin()) as f32).collect()
}

fn written(path: &Path, row: &[f32], dither: Option<Dither>) -> Vec<f32> {
    let format = FileFormat::of(path).unwrap();
    let writer = AudioWriter::create(path, format, 48_000, WavFormat::Pcm16, FRAMES as u64);
    let mut writer = writer.unwrap().with_dither(dither);
    // Pieces of a length of their own: noise belongs to frames.
    for piece in row.chunks(777) {
        writer.write(piece, piece).unwrap();
    }
    assert_eq!(writer.finish().unwrap().clipped, 0);
    decode(path).unwrap().channels.swap_remove(0)
}

/// The part of a row at `number` times the sine's frequency, as an amplitude in steps.
fn harmonic(row: &[f64], number: f64) -> f64 {
    let turn = |n: usize| TAU * number * PERIODS * n as f64 / FRAMES as f64;
    let along =
        |f: fn(f64) -> f64| row.iter().enumerate().map(|(n, x)| x * f(turn(n))).sum::<f64>();
    2.0 * along(f64::cos).hypot(along(f64::sin)) / (FRAMES as f64 * STEP)
}

/// What rounding did, in full scales.
fn error(input: &[f32], output: &[f32]) -> Vec<f64> {
    input.iter().zip(output).map(|(input, output)| f64::from(*output) - f64::from(*input)).collect()
}

/// Power of a part of the error, in squares of a step.
fn power(error: &[f64], which: impl Fn(usize) -> bool) -> f64 {
    let part: Vec<f64> = (0..error.len()).filter(|n| which(*n)).map(|n| error[n] / STEP).collect();
    part.iter().map(|x| x * x).sum::<f64>() / part.len() as f64
}

#[test]
fn dither_makes_the_error_noise_that_does_not_depend_on_the_sound() {
    let folder = tempfile::tempdir().unwrap();
    let input = sine();
    let plain = error(&input, &written(&folder.path().join("plain.wav"), &input, None));
    let noisy = error(&input, &written(&folder.path().join("noisy.wav"), &input, Some(DITHER)));
    // White noise of the power p has an amplitude of about sqrt(4p / FRAMES) in a line: 0.0022 steps here.
    let loudest = |error: &[f64]| (1..8).map(|n| harmonic(error, f64::from(n))).fold(0.0, f64::max);
    assert!(loudest(&plain) > 0.1, "without dither there are no harmonics: {}", loudest(&plain));
    assert!(loudest(&noisy) < 0.012, "the dithered error has harmonics: {}", loudest(&noisy));
    // The power of the error is 1/12 of rounding and 2/12 of the noise, wherever the sine is.
    let near_zero = |n: usize| f64::from(input[n].abs()) < 0.3 * STEP;
    for (error, low, high) in [(&noisy, 0.24, 0.26), (&plain, 0.0, 0.13)] {
        let all = power(error, |_| true);
        assert!((low..high).contains(&all), "{all}");
    }
    let differ = |error: &[f64]| power(error, near_zero) / power(error, |n| !near_zero(n));
    assert!((0.95..1.05).contains(&differ(&noisy)), "{}", differ(&noisy));
    assert!(differ(&plain) < 0.5, "{}", differ(&plain));
}

#[test]
fn dither_keeps_a_sine_that_rounding_removes() {
    let folder = tempfile::tempdir().unwrap();
    let input: Vec<f32> = sine().iter().map(|x| 0.4 * x).collect();
    let at = |name: &str| folder.path().join(name);
    let plain = written(&at("plain.wav"), &input, None);
    assert!(plain.iter().all(|x| *x == 0.0));
    let noisy: Vec<f64> =
        written(&at("noisy.wav"), &input, Some(DITHER)).iter().map(|x| f64::from(*x)).collect();
    let expected = 0.4 * 10f64.powf(-90.0 / 20.0) / STEP;
    let found = harmonic(&noisy, 1.0);
    assert!((found - expected).abs() < 0.012, "{found}, not {expected}");
}

#[test]
fn the_same_noise_goes_into_every_format_and_only_16_bits_get_any() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let input = sine();
    let wav = written(&at("a.wav"), &input, Some(DITHER));
    assert_eq!(written(&at("a.flac"), &input, Some(DITHER)), wav);
    assert_ne!(written(&at("b.wav"), &input, Some(Dither { seed: 1, ..DITHER })), wav);
    let from = 100_000;
    let part = Dither { first_frame: from as u64, ..DITHER };
    assert_eq!(written(&at("c.wav"), &input[from..], Some(part)), wav[from..]);
    let bytes = |name: &str, dither| {
        let path = at(name);
        let writer = AudioWriter::create(&path, FileFormat::Wav, 48_000, WavFormat::Pcm24, 0);
        let mut writer = writer.unwrap().with_dither(dither);
        writer.write(&input, &input).unwrap();
        writer.finish().unwrap();
        std::fs::read(path).unwrap()
    };
    assert!(bytes("d.wav", None) == bytes("e.wav", Some(DITHER)));
}
