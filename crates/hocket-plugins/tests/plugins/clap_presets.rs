//! Presets of CLAP plug-ins: those of the tests' own. The process that asks the plug-in is this test program, started for
//! `the_asked` alone.

use std::path::Path;
use std::time::Duration;

use hocket_plugins::clap::{build, describe};
use hocket_plugins::presets::{PresetScanner, answer};
use hocket_plugins::{Catalog, PresetValues};

use crate::common::{bits, noise, played, test_clap};

const ID: &str = "test.hocket.gain";
const KIND: &str = "clap:test.hocket.gain";

/// The child. Its last two arguments say what to do; without them it has nothing to do.
#[test]
#[ignore = "only in the process that asks for presets"]
fn the_asked() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some([question, into]) = arguments.last_chunk() else { return };
    if question.starts_with('{') {
        answer(question, Path::new(into)).unwrap();
    }
}

fn scanner() -> PresetScanner {
    let arguments = ["--exact", "clap_presets::the_asked", "--ignored", "--nocapture"];
    PresetScanner {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).into(),
        limit: Duration::from_secs(20),
    }
}

/// A catalogue with the plug-in under this name, and its folder.
fn catalog(test: &str, name: &str) -> Option<(tempfile::TempDir, Catalog)> {
    let file = test_clap(test)?;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(name);
    std::fs::copy(&file, &library).unwrap();
    let plugin = hocket_plugins::Description { library, ..describe(&file, ID).unwrap() };
    Some((folder, Catalog::new(vec![plugin]).with_preset_scanner(scanner())))
}

#[test]
fn presets_in_the_plug_in_and_in_files_are_listed_and_loaded() {
    let test = "presets_in_the_plug_in_and_in_files_are_listed_and_loaded";
    let Some((folder, catalog)) = catalog(test, "presets.clap") else { return };
    let gains = folder.path().join("gains/deep");
    std::fs::create_dir_all(&gains).unwrap();
    std::fs::write(gains.join("Half.gain"), "0.5\n").unwrap();
    std::fs::write(gains.join("Huge.gain"), "40").unwrap();
    std::fs::write(gains.join("Text.gain"), "much").unwrap();
    std::fs::write(gains.join("Other.text"), "1").unwrap();
    let found = catalog.presets(KIND).unwrap();
    let labels: Vec<&str> = found.iter().map(|preset| preset.label.as_str()).collect();
    assert_eq!(labels, ["Broken", "Fatal", "Half", "Huge", "Loud", "Quiet", "Text"]);
    let half = gains.join("Half.gain").display().to_string();
    assert_eq!((found[2].uri.as_str(), found[4].uri.as_str()), (half.as_str(), "#loud"));
    let state = |gain: f32| Some([gain, 10.0 * gain].map(f32::to_le_bytes).concat());
    let check = |name: &str, gain: f32, kept: f32| {
        let values = PresetValues { values: vec![kept, 10.0 * gain], state: state(gain) };
        assert_eq!(catalog.preset(KIND, name), Ok(values), "{name}");
    };
    check("Loud", 2.0, 2.0);
    check("#quiet", 0.25, 0.25);
    check(&half, 0.5, 0.5);
    // A value is held within its range.
    check("Huge", 40.0, 4.0);
    // What is set is heard.
    let PresetValues { values, state } = catalog.preset(KIND, "Half").unwrap();
    let library = &catalog.find(KIND).unwrap().library;
    let mut processor = build(library, ID, &values, 48_000, state.as_deref()).unwrap();
    assert_eq!(processor.latency_frames(), 5);
    let sound = noise(1_000);
    let made = played(&mut *processor, &sound, &[64], &[]);
    let expected = [0, 1].map(|side: usize| -> Vec<f32> {
        let late = sound[side].iter().take(995).map(|sample| sample * 0.5);
        std::iter::repeat_n(0.0, 5).chain(late).collect()
    });
    assert_eq!(bits(&made), bits(&expected));
}

#[test]
fn presets_that_do_not_load_or_crash_are_refused_with_what_is_wrong() {
    let test = "presets_that_do_not_load_or_crash_are_refused_with_what_is_wrong";
    let Some((folder, catalog)) = catalog(test, "presets.clap") else { return };
    std::fs::create_dir(folder.path().join("gains")).unwrap();
    std::fs::write(folder.path().join("gains/Quiet.gain"), "much").unwrap();
    let refused = |name: &str| catalog.preset(KIND, name).unwrap_err();
    let says = |name: &str, what: &str| {
        let why = refused(name);
        assert!(why.contains(what), "{name}: {why}");
    };
    says("Broken", "does not load the preset 'Broken': nobody can load it");
    says("Fatal", "the plug-in crashed (signal 6) when it was asked for presets");
    says("Foreign", "there is no preset 'Foreign'; there are 'Broken', 'Fatal', 'Loud', 'Quiet'");
    let file = folder.path().join("gains/Quiet.gain").display().to_string();
    says("Quiet", "several presets are called 'Quiet'; name one by its place: #quiet, ");
    says("Quiet", &file);
    says(&file, "the file holds no number");
}

#[test]
fn a_plug_in_may_have_no_presets_or_not_say() {
    let test = "a_plug_in_may_have_no_presets_or_not_say";
    let Some((_folder, plain)) = catalog(test, "plain.clap") else { return };
    assert_eq!(plain.presets(KIND), Ok(Vec::new()));
    assert!(plain.preset(KIND, "Loud").unwrap_err().contains("has no presets"));
    let Some((_folder, crashes)) = catalog(test, "crashes.clap") else { return };
    assert!(crashes.presets(KIND).unwrap_err().contains("crashed (signal 6)"));
    // Without a process of its own, nobody asks.
    let plugin = plain.find(KIND).unwrap().clone();
    let unasked = Catalog::new(vec![plugin]);
    assert_eq!(unasked.presets(KIND), Ok(Vec::new()));
    assert!(unasked.preset(KIND, "Loud").unwrap_err().contains("load a state instead"));
    let nowhere = PresetScanner { program: "/nowhere".into(), ..scanner() };
    let lost = unasked.with_preset_scanner(nowhere).presets(KIND).unwrap_err();
    assert!(lost.starts_with("no process can ask for its presets"), "{lost}");
}
