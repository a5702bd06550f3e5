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
