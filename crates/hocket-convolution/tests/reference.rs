//! The effect against a convolution by SciPy, and against the definition.

mod common;

use std::path::{Path, PathBuf};

use common::{Rows, build, convolved, impulse, noise, response, run};

fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let data = std::env::var_os("HOCKET_SHARED").map_or(beside, PathBuf::from);
    let folder = data.join("data/references");
    if !folder.join("manifest.json").is_file() {
        println!("SKIPPED: no references in {} (set HOCKET_SHARED)", folder.display());
        return None;
    }
    Some(folder)
}

fn wav(path: &Path) -> Vec<Vec<f32>> {
    let mut reader = hound::WavReader::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let channels = usize::from(reader.spec().channels);
    let samples: Vec<f32> = reader.samples().map(|s| s.expect("a sample")).collect();
    (0..channels).map(|n| samples.iter().skip(n).step_by(channels).copied().collect()).collect()
}

#[test]
fn a_response_of_4096_taps_is_that_of_scipy() {
    let id = "scipy-convolve-4096";
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("manifest.json")).expect("the manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cases = manifest["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["id"] == id).expect("the case");
    let file = |name: &serde_json::Value| wav(&folder.join(name.as_str().expect("a name")));
    let expected = file(&case["output"]);
    let tolerance = case["tolerance"].as_f64().expect("a tolerance");
    let sound = file(&case["inputs"][0]);
    // The first 4,096 frames of the other input, times 0.05: the level is the effect's.
    let taps: Vec<Vec<f32>> =
        file(&case["inputs"][1]).iter().map(|row| row[..4096].to_vec()).collect();
    let gain_db = hocket_dsp::level::lin_to_db(0.05);
    let input: Rows = [0, 1].map(|side| {
        let mut row = sound[side].clone();
        row.resize(expected[0].len(), 0.0);
        row
    });
    let got = run(&mut *build(&impulse(&taps), &[("gain_db", gain_db)]), &input, &[64], &[]);
    for (side, (got, expected)) in got.iter().zip(&expected).enumerate() {
        let pairs = got.iter().zip(expected);
        let worst = pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
        println!("{id}: largest difference {worst:e}");
        assert!(worst <= tolerance, "{id}: side {side} is off by {worst}");
    }
}

/// Compares some frames with the definition: all first ones, then one in 97.
fn check(rows: &[Vec<f32>]) {
    let frames = rows[0].len() + 3000;
    let input = [noise(frames, 1), noise(frames, 2)];
    let got = run(&mut *build(&impulse(rows), &[]), &input, &[64], &[]);
    let paths: &[(usize, usize, usize)] = match rows.len() {
        1 => &[(0, 0, 0), (1, 1, 0)],
        2 => &[(0, 0, 0), (1, 1, 1)],
        _ => &[(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 3)],
    };
    let near = (0..frames).filter(|n| *n < 200 || n % 97 == 0 || frames - n < 5);
    for n in near {
        for (side, out) in got.iter().enumerate() {
            let here = paths.iter().filter(|(_, to, _)| *to == side);
            let expected: f64 =
                here.map(|(from, _, row)| convolved(&input[*from], &rows[*row], n)).sum();
            let error = (f64::from(out[n]) - expected).abs();
            assert!(error < 1e-6, "{} frames, side {side}, frame {n}: {error}", rows[0].len());
        }
    }
}

#[test]
fn responses_of_all_lengths_are_the_definition() {
    // Around the ends of the head and of parts, and with many large parts.
    for frames in [1, 2, 63, 64, 65, 127, 128, 129, 2047, 2048, 2049, 3071, 3073, 20_000] {
        check(&[response(frames, 7)]);
    }
}

#[test]
fn responses_of_two_and_four_channels_are_the_definition() {
    check(&[response(5000, 3), response(5000, 4)]);
    check(&[response(4500, 3), response(4500, 4), response(4500, 5), response(4500, 6)]);
}

#[test]
fn an_impulse_passes_to_the_bit() {
    let input = [noise(5000, 1), noise(5000, 2)];
    assert_eq!(run(&mut *build(&impulse(&[vec![1.0]]), &[]), &input, &[64], &[]), input);
    // Dry, whatever the response.
    let mut dry = build(&impulse(&[response(9000, 3)]), &[("mix", 0.0)]);
    assert_eq!(run(&mut *dry, &input, &[64], &[]), input);
}
