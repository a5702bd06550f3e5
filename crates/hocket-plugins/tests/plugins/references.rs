//! LV2 plug-ins against what another host made of them.

use std::path::{Path, PathBuf};

use hocket_plugins::{Catalog, Wanted};
use serde_json::Value;

use crate::common::{Stereo, played, skipped};

const TEST: &str = "plugins_sound_as_in_another_host";
/// glibc fills new memory with the complement of this number.
const FILL: &str = "MALLOC_PERTURB_";
/// The largest difference of a sample.
const TOLERANCE: f32 = 1e-6;

fn references() -> PathBuf {
    let given = std::env::var_os("HOCKET_SHARED").map(PathBuf::from);
    let shared =
        given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    shared.join("data/references")
}

fn sound(path: &Path) -> Stereo {
    let reader = hound::WavReader::open(path).unwrap();
    let channels = usize::from(reader.spec().channels);
    assert_eq!(reader.spec().sample_format, hound::SampleFormat::Float, "{}", path.display());
    let samples: Vec<f32> = reader.into_samples().map(Result::unwrap).collect();
    let row = |channel| samples.iter().skip(channel).step_by(channels).copied().collect();
    [row(0), row(channels - 1)]
}

/// Every bundle of the system, without instances.
fn bundle_of(uri: &str) -> Option<PathBuf> {
    let bundles = std::fs::read_dir("/usr/lib/lv2").ok()?.flatten().map(|entry| entry.path());
    bundles.filter(|path| holds(path, uri)).min()
}

/// Whether a manifest names the plug-in, so that few bundles are read whole.
fn holds(bundle: &Path, uri: &str) -> bool {
    let manifest = std::fs::read_to_string(bundle.join("manifest.ttl")).unwrap_or_default();
    let last = uri.rsplit(['/', '#']).next().unwrap_or(uri);
    manifest.contains(last)
        && hocket_plugins::lv2::plugins(bundle).unwrap().iter().any(|known| known == uri)
}

#[test]
fn plugins_sound_as_in_another_host() {
    let folder = references();
    let Ok(text) = std::fs::read(folder.join("manifest.json")) else {
        return skipped(TEST, "no references (set HOCKET_SHARED)");
    };
    if let Err(why) = hocket_plugins::lv2::available() {
        return skipped(TEST, &why);
    }
    if std::env::var_os(FILL).is_none() {
        return assert!(with_zeros().unwrap().success());
    }
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    let mut wrong = Vec::new();
    for case in manifest["cases"].as_array().unwrap() {
        if case["compare"] == "lv2-host" {
            wrong.extend(check(case, &folder));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same test in a process whose new memory is zero: the `valve` of swh reads memory that it never wrote.
fn with_zeros() -> std::io::Result<std::process::ExitStatus> {
    let test = format!("references::{TEST}");
    std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", &test, "--nocapture"])
        .env(FILL, "255")
        .status()
}

/// What is wrong with a case.
fn check(case: &Value, folder: &Path) -> Option<String> {
    let (id, uri) = (case["id"].as_str().unwrap(), case["plugin_uri"].as_str().unwrap());
    let Some(bundle) = bundle_of(uri) else {
        skipped(&format!("{TEST} {id}"), &format!("{uri} is not installed"));
        return None;
    };
    let plugin = hocket_plugins::lv2::describe(&bundle, uri).unwrap();
    assert_eq!(plugin.refusal, None, "{id}");
    let given = |name: &str| case["all_control_inputs"][name].as_f64().map(|value| value as f32);
    let values: Vec<f32> = plugin
        .params
        .iter()
        .map(|param| given(&param.name).unwrap_or_else(|| param.default_value()))
        .collect();
    let rate_hz = case["rate"].as_u64().unwrap() as u32;
    let wanted = Wanted { kind: &plugin.kind, values: &values, rate_hz, state: None };
    let mut processor = Catalog::new(vec![plugin.clone()]).build(&wanted).unwrap();
    let input = sound(&folder.join(case["inputs"][0].as_str().unwrap()));
    let expected = sound(&folder.join(case["output"].as_str().unwrap()));
    let made = played(&mut *processor, &input, &[512], &[]);
    let pairs = made.iter().flatten().zip(expected.iter().flatten());
    let largest = pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    println!("{id}: largest difference {largest:e}");
    let same_length = made[0].len() == expected[0].len();
    let fits = same_length && largest <= TOLERANCE;
    (!fits).then(|| format!("{id}: differs by {largest:e}"))
}
