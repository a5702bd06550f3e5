//! What several test files need.
#![allow(dead_code)]

use std::path::PathBuf;

/// The folder with recorded input data, or `None` after printing why the test is skipped.
pub fn shared(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HOCKET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let data = folder.join("data");
    if data.is_dir() {
        return Some(data);
    }
    println!("SKIPPED {test}: no input data in {} (set HOCKET_SHARED)", folder.display());
    None
}

/// Signal to error ratio in dB of `result` against `reference`.
pub fn snr_db(reference: &[f32], result: &[f32]) -> f64 {
    let power = |xs: &mut dyn Iterator<Item = f64>| xs.map(|x| x * x).sum::<f64>();
    let signal = power(&mut reference.iter().map(|&x| f64::from(x)));
    let error =
        power(&mut reference.iter().zip(result).map(|(&a, &b)| f64::from(a) - f64::from(b)));
    10.0 * (signal / error.max(1e-300)).log10()
}

/// A mono WAV file with IMA ADPCM: so many blocks of random codes. Every code is valid, and each sample depends on all
/// before it in its block.
pub fn ima_adpcm(blocks: u32, seed: u32) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 256;
    const BLOCK_FRAMES: u32 = (BLOCK_BYTES - 4) * 2 + 1;
    let data_bytes = blocks * BLOCK_BYTES;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((4 + 28 + 12 + 8 + data_bytes).to_le_bytes());
    bytes.extend(b"WAVEfmt \x14\0\0\0\x11\0\x01\0");
    bytes.extend(48_000u32.to_le_bytes());
    bytes.extend((48_000 * BLOCK_BYTES / BLOCK_FRAMES).to_le_bytes());
    bytes.extend((BLOCK_BYTES as u16).to_le_bytes());
    bytes.extend(b"\x04\0\x02\0");
    bytes.extend((BLOCK_FRAMES as u16).to_le_bytes());
    bytes.extend(b"fact\x04\0\0\0");
    bytes.extend((blocks * BLOCK_FRAMES).to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data_bytes.to_le_bytes());
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for _ in 0..blocks {
        // The first sample, the step index (0 to 88), and a byte that is always zero.
        bytes.extend([random(), random(), random() % 89, 0]);
        bytes.extend((0..BLOCK_BYTES - 4).map(|_| random()));
    }
    bytes
}
