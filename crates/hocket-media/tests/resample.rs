//! Sample-rate conversion against theory (sines, impulses) and against another converter.

mod common;

use std::f64::consts::TAU;

use hocket_media::{Audio, decode, resample};
use proptest::prelude::*;

fn mono(sample_rate_hz: u32, samples: Vec<f32>) -> Audio {
    Audio { sample_rate_hz, channels: vec![samples], warnings: Vec::new() }
}

fn sine(rate_hz: u32, freq_hz: f64, frames: usize) -> Vec<f32> {
    let step = TAU * freq_hz / f64::from(rate_hz);
    (0..frames).map(|n| (0.5 * (step * n as f64).sin()) as f32).collect()
}

/// Without the filter's run-in and run-out.
fn middle(samples: &[f32]) -> &[f32] {
    &samples[2_000..samples.len() - 2_000]
}

/// A sine of any frequency in the pass band is the same sine at the other rate, at the same
/// moment: amplitude, phase and noise at once. 120 dB is 20 bits.
#[test]
fn sines_keep_level_and_phase() {
    let pairs =
        [(44_100, 48_000), (48_000, 44_100), (22_050, 48_000), (96_000, 48_000), (44_100, 96_000)];
    for (from, to) in pairs {
        let limit = 0.93 * f64::from(from.min(to)) / 2.0;
        for share in [0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 1.0] {
            let freq = limit * share;
            let input = mono(from, sine(from, freq, from as usize));
            let output = resample(&input, to);
            let expected = sine(to, freq, output.frames());
            let snr = common::snr_db(middle(&expected), middle(&output.channels[0]));
            assert!(snr > 120.0, "{from} to {to}, {freq:.0} Hz: {snr:.1} dB");
        }
    }
}

/// Rates without a common divisor take the interpolating way; that costs some dB, not alignment.
#[test]
fn odd_ratios_are_accurate_too() {
    for (from, to) in [(44_101, 48_000), (12_345, 48_000), (48_000, 44_101)] {
        let freq = 0.4 * f64::from(from.min(to));
        let input = mono(from, sine(from, freq, 30_000));
        let output = resample(&input, to);
        let expected = sine(to, freq, output.frames());
        let snr = common::snr_db(middle(&expected), middle(&output.channels[0]));
        assert!(snr > 60.0, "{from} to {to}: {snr:.1} dB");
    }
}

/// What the lower rate cannot carry must vanish instead of folding back.
#[test]
fn frequencies_above_the_new_limit_vanish() {
    for (from, to) in [(48_000, 44_100), (96_000, 48_000), (192_000, 48_000), (96_000, 44_100)] {
        for above in [1.0, 1.02, 1.3, 1.8] {
            let freq = above * f64::from(to) / 2.0;
            if freq > 0.49 * f64::from(from) {
                continue;
            }
            let output = resample(&mono(from, sine(from, freq, from as usize)), to);
            let peak = middle(&output.channels[0]).iter().fold(0f32, |m, x| m.max(x.abs()));
            assert!(peak < 1e-5, "{from} to {to}, {freq:.0} Hz: peak {peak}");
        }
    }
}

/// An impulse stays where it was.
#[test]
fn an_impulse_does_not_move() {
    for (from, to) in [(44_100u32, 88_200u32), (48_000, 96_000), (24_000, 96_000), (96_000, 48_000)]
    {
        let mut samples = vec![0.0; 8_000];
        samples[4_000] = 1.0;
        let output = resample(&mono(from, samples), to);
        let expected = 4_000 * to as usize / from as usize;
        let row = &output.channels[0];
        let peak = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        assert_eq!(peak, expected, "{from} to {to}");
        // A linear-phase response is symmetric about it.
        for k in 1..200 {
            assert!((row[peak - k] - row[peak + k]).abs() < 1e-6, "{from} to {to}, {k} beside");
        }
    }
}

/// One bin of a windowed Fourier transform, at any frequency.
fn bin(samples: &[f32], rate_hz: u32, freq_hz: f64) -> f64 {
    let step = TAU * freq_hz / f64::from(rate_hz);
    let (mut re, mut im) = (0.0, 0.0);
    for (n, &sample) in samples.iter().enumerate() {
        let window = 0.5 - 0.5 * (TAU * n as f64 / samples.len() as f64).cos();
        let phase = step * n as f64;
        re += f64::from(sample) * window * phase.cos();
        im += f64::from(sample) * window * phase.sin();
    }
    re.hypot(im)
}

/// Against SoX at its very high quality: the difference of the two, bin by bin, is small against
/// the signal up to 20 kHz, where both filters are flat.
#[test]
fn agrees_with_another_converter() {
    let Some(data) = common::shared("agrees_with_another_converter") else { return };
    let references = data.join("references");
    let input = decode(&references.join("inputs/guitar-44k1-st.wav")).unwrap();
    let expected = decode(&references.join("outputs/sox-rate-44k1-to-48k-v.wav")).unwrap();
    let output = resample(&input, 48_000);
    assert_eq!(output.frames(), expected.frames());
    for (row, reference) in output.channels.iter().zip(&expected.channels) {
        let (row, reference) = (&middle(row)[..16_384], &middle(reference)[..16_384]);
        let error: Vec<f32> = row.iter().zip(reference).map(|(a, b)| a - b).collect();
        let bins = (1..400).map(|k| f64::from(k) * 50.0);
        let (signal, noise) = bins.fold((0.0, 0.0), |(signal, noise), freq| {
            let power = |xs: &[f32]| bin(xs, 48_000, freq).powi(2);
            (signal + power(reference), noise + power(&error))
        });
        let snr = 10.0 * (signal / noise).log10();
        assert!(snr > 110.0, "{snr:.1} dB below 20 kHz");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let input = mono(44_100, sine(44_100, 997.0, 10_000));
    assert!(resample(&input, 48_000) == resample(&input, 48_000));
}

#[test]
fn equal_rates_change_nothing() {
    let input = mono(48_000, sine(48_000, 997.0, 1_000));
    assert!(resample(&input, 48_000) == input);
}

#[test]
fn extreme_rates_are_survived() {
    let cases = [
        (1_000, 192_000, 50),
        (48_000, 1, 1_000),
        (1_536_000, 8_000, 5_000),
        (1_535_999, 48_000, 5_000),
    ];
    for (from, to, frames) in cases {
        let output = resample(&mono(from, sine(from, f64::from(from) / 10.0, frames)), to);
        let expected = (frames as f64 * f64::from(to) / f64::from(from)).round() as usize;
        assert_eq!(output.frames(), expected, "{from} to {to}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn lengths_are_rounded(frames in 1usize..2_000, from in 4_000u32..100_000, to in 4_000u32..100_000) {
        let output = resample(&mono(from, vec![0.25; frames]), to);
        let expected = (frames as f64 * f64::from(to) / f64::from(from) + 0.5).floor() as usize;
        prop_assert_eq!(output.frames(), expected);
        prop_assert!(output.channels[0].iter().all(|x| x.is_finite()));
    }
}

#[test]
fn the_beginning_is_that_of_the_whole_to_the_bit() {
    let noise: Vec<f32> = (0..20_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5)
        .collect();
    for (from, to) in [(44_100, 48_000), (48_000, 44_100), (1_000, 48_000), (44_101, 48_000)] {
        let audio =
            Audio { sample_rate_hz: from, channels: vec![noise.clone()], warnings: Vec::new() };
        let whole = hocket_media::resample(&audio, to);
        for frames in [0, 1, 777, 9_000, whole.frames() - 1, whole.frames(), usize::MAX] {
            let part = hocket_media::resample_beginning(&audio, to, frames);
            let wanted = frames.min(whole.frames());
            assert_eq!(part.channels[0], whole.channels[0][..wanted], "{from} to {to}, {frames}");
        }
    }
}
