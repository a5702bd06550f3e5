//! Whole sessions against renders by another program: mixes and the places of clips. Effects alone are in
//! `hocket-dsp/tests/references.rs`, with what no test compares.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{run, session};

/// The references beside the repository, and one case of them.
fn case(id: &str) -> Option<(PathBuf, Value)> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let data = std::env::var_os("HOCKET_SHARED").map_or(beside, PathBuf::from);
    let folder = data.join("data/references");
    let Ok(text) = std::fs::read_to_string(folder.join("manifest.json")) else {
        println!("SKIPPED {id}: no references in {} (set HOCKET_SHARED)", folder.display());
        return None;
    };
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["id"] == id).unwrap().clone();
    assert_eq!(case["compare"], "formula");
    Some((folder, case))
}

fn channels(path: &Path) -> Vec<Vec<f32>> {
    hocket_media::decode(path).unwrap().channels
}

/// Renders tracks at 48 kHz, as floats and as long as the reference is.
fn rendered(tracks: &str, frames: usize) -> Vec<Vec<f32>> {
    rendered_at(48_000, tracks, frames)
}

fn rendered_at(rate_hz: u32, tracks: &str, frames: usize) -> Vec<Vec<f32>> {
    let head = format!("[session]\nname = \"try\"\nsample_rate_hz = {rate_hz}\n\n");
    let (folder, file) = session(&format!("{head}{tracks}"));
    let out = folder.path().join("out.wav");
    let length = (frames as f64 / f64::from(rate_hz)).to_string();
    let ran = run(&[
        "render",
        &file,
        "-o",
        out.to_str().unwrap(),
        "--format",
        "32f",
        "--length",
        &length,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    channels(&out)
}

fn check(id: &str, case: &Value, got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len(), "{id}");
    let pairs = got.iter().zip(wanted);
    let difference = pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
    println!("{id}: largest difference {difference:e}");
    assert!(difference <= case["tolerance"].as_f64().unwrap(), "{id}: {difference:e}");
}

#[test]
fn five_stems_mix_as_elsewhere() {
    let id = "sox-stems-k525-mix";
    let Some((folder, case)) = case(id) else { return };
    let files = case["inputs"].as_array().unwrap();
    let gains = case["params"]["gains_linear"].as_array().unwrap();
    let track = |(number, (file, gain)): (usize, (&Value, &Value))| {
        let file = folder.join(file.as_str().unwrap());
        let gain_db = 20.0 * gain.as_f64().unwrap().log10();
        format!(
            "[[track]]\nname = \"{number}\"\ngain_db = {gain_db}\nclip = [{{ file = \"{}\" }}]\n",
            file.display()
        )
    };
    let tracks: String = files.iter().zip(gains).enumerate().map(track).collect();
    let wanted = channels(&folder.join(case["output"].as_str().unwrap()));
    let got = rendered(&tracks, wanted[0].len());
    (0..2).for_each(|side| check(id, &case, &got[side], &wanted[side]));
}

/// The other program also turns the sound round, which Hocket does not. So the reference is read from its end.
#[test]
fn a_clip_lies_where_it_lies_elsewhere() {
    let id = "sox-trim-pad-reverse";
    let Some((folder, case)) = case(id) else { return };
    let seconds = |key: &str| case["params"][key].as_f64().unwrap() / 48e3;
    let track = format!(
        "[[track]]\nname = \"a\"\nclip = [{{ file = \"{}\", start_s = {}, offset_s = {}, length_s = {} }}]\n",
        folder.join(case["inputs"][0].as_str().unwrap()).display(),
        seconds("pad_before"),
        seconds("trim_start"),
        seconds("length"),
    );
    let mut wanted = channels(&folder.join(case["output"].as_str().unwrap())).remove(0);
    wanted.reverse();
    let got = rendered(&track, wanted.len());
    (0..2).for_each(|side| check(id, &case, &got[side], &wanted));
}

/// Fades that are no straight lines, at both ends of a clip and at its start alone.
#[test]
fn clips_fade_along_curves_as_elsewhere() {
    let both = "fade_in_s = 0.2, fade_out_s = 0.3";
    for (id, curve, fades) in [
        ("sox-fade-quarter-sine-0.2-0.3", "equal-power", both),
        ("ffmpeg-afade-in-qsin", "equal-power", "fade_in_s = 0.5"),
        ("sox-fade-logarithmic-0.2-0.3", "logarithmic", both),
    ] {
        let Some((folder, case)) = case(id) else { return };
        let file = folder.join(case["inputs"][0].as_str().unwrap());
        let track = format!(
            "[[track]]\nname = \"a\"\nclip = [{{ file = \"{}\", {fades}, fade_curve = \"{curve}\" }}]\n",
            file.display()
        );
        let wanted = channels(&folder.join(case["output"].as_str().unwrap()));
        let got = rendered_at(44_100, &track, wanted[0].len());
        (0..wanted.len()).for_each(|side| check(id, &case, &got[side], &wanted[side]));
    }
}
