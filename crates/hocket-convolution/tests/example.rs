//! The impulse response of `sessions/room.toml` is the one that is made here, out of noise. It is free (CC0). To write it anew:
//! `HOCKET_RENEW_IMPULSE=1 cargo test -p hocket-convolution --test example`

use std::io::Cursor;
use std::path::Path;

use hocket_convolution::Impulse;
use hocket_dsp::math::exp;

const RENEW: &str = "HOCKET_RENEW_IMPULSE=1 cargo test -p hocket-convolution --test example";
const RATE_HZ: u32 = 44_100;
const SECONDS: f64 = 0.6;

/// The first echoes: milliseconds left, milliseconds right, level.
const ECHOES: [(f64, f64, f64); 5] =
    [(4.1, 5.3, 0.6), (7.9, 7.2, -0.45), (11.7, 13.1, 0.4), (17.3, 15.9, 0.3), (23.9, 25.7, -0.25)];

/// A tail that loses its treble as it decays, by 60 dB over its length.
fn tail(seed: u32) -> Vec<f64> {
    let mut seed = seed;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(seed >> 8) / 8_388_608.0 - 1.0
    };
    let frames = (SECONDS * f64::from(RATE_HZ)) as usize;
    let mut low = 0.0;
    let mut at = |n: usize| {
        let part = n as f64 / frames as f64;
        // Nothing comes straight back: the tail grows over the first 12 ms.
        let onset = (n as f64 / (0.012 * f64::from(RATE_HZ))).min(1.0);
        low += (noise() - low) * (0.75 - 0.6 * part);
        low * onset * exp(-6.9 * part)
    };
    (0..frames).map(&mut at).collect()
}

fn rows() -> [Vec<f64>; 2] {
    let mut rows = [tail(1), tail(2)];
    for (left, right, level) in ECHOES {
        for (row, ms) in rows.iter_mut().zip([left, right]) {
            row[(ms / 1000.0 * f64::from(RATE_HZ)) as usize] += level;
        }
    }
    rows
}

fn bytes() -> Vec<u8> {
    let spec = hound::WavSpec {
        channels: 2,
        sample_rate: RATE_HZ,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let [left, right] = rows();
    let peak = left.iter().chain(&right).fold(0.0, |peak: f64, x| peak.max(x.abs()));
    let mut bytes = Vec::new();
    let mut writer = hound::WavWriter::new(Cursor::new(&mut bytes), spec).expect("a writer");
    for sample in left.iter().zip(&right).flat_map(|(left, right)| [left, right]) {
        writer.write_sample((sample / peak * 26_000.0).round() as i16).expect("memory");
    }
    writer.finalize().expect("memory");
    bytes
}

#[test]
fn the_file_is_the_one_made_here_and_small() {
    let bytes = bytes();
    assert!(bytes.len() < 120_000, "{} bytes", bytes.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/impulses/small-room.wav");
    if std::env::var_os("HOCKET_RENEW_IMPULSE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        return std::fs::write(&path, bytes).expect("a file");
    }
    let there = std::fs::read(&path).unwrap_or_default();
    assert!(there == bytes, "it is not what this test makes; renew it with\n    {RENEW}");
    let reader = hound::WavReader::new(Cursor::new(&bytes)).expect("a WAV file");
    let samples: Vec<f32> =
        reader.into_samples::<i16>().map(|s| f32::from(s.expect("a sample")) / 32_768.0).collect();
    let row = |side: usize| samples.iter().skip(side).step_by(2).copied().collect::<Vec<f32>>();
    Impulse::new(&[row(0), row(1)]).expect("a response");
}
