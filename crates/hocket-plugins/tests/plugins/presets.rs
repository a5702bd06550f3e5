//! Presets of LV2 plug-ins: those of the system, and bundles that the tests write.

use std::path::{Path, PathBuf};

use hocket_plugins::lv2::{build, describe, plugins, preset, presets};
use hocket_plugins::{Catalog, PresetValues};

use crate::common::{bits, bundle, noise, played};
use crate::worker;

const LESLIE: &str = "http://drobilla.net/plugins/mda/Leslie";

/// A bundle of presets alone, as a user keeps them.
fn user_bundle(folder: &Path, plugin: &str, presets: &[(&str, &str)]) -> PathBuf {
    let bundle = folder.join("user.preset.lv2");
    std::fs::create_dir(&bundle).unwrap();
    let mut manifest = String::from(
        "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n\
         @prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n\
         @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
         @prefix state: <http://lv2plug.in/ns/ext/state#> .\n\
         @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n",
    );
    for (name, body) in presets {
        manifest += &format!(
            "<urn:test:{name}> a pset:Preset ; lv2:appliesTo <{plugin}> ; rdfs:seeAlso <{name}.ttl> .\n"
        );
        let prefixes: String = manifest
            .lines()
            .filter(|line| line.starts_with("@prefix"))
            .collect::<Vec<_>>()
            .join("\n");
        let text = format!("{prefixes}\n<urn:test:{name}> a pset:Preset ; {body} .\n");
        std::fs::write(bundle.join(format!("{name}.ttl")), text).unwrap();
    }
    std::fs::write(bundle.join("manifest.ttl"), manifest).unwrap();
    bundle
}

#[test]
fn presets_of_the_system_have_labels_and_values() {
    let Some(mda) = bundle("presets_of_the_system_have_labels_and_values", "mda.lv2") else {
        return;
    };
    let found = presets(&mda, &[], LESLIE).unwrap();
    let labels: Vec<&str> = found.iter().map(|preset| preset.label.as_str()).collect();
    assert_eq!(labels, ["Default", "Fast", "Slow"]);
    let [fast, slow] = ["Fast", "Slow"].map(|name| preset(&mda, &[], LESLIE, name).unwrap());
    assert_eq!((&fast.state, fast.ports.len(), slow.ports.len()), (&None, 9, 9));
    assert_ne!(fast.ports, slow.ports);
    let by_uri = preset(&mda, &[], LESLIE, &found[1].uri).unwrap();
    assert_eq!(by_uri, fast);
    // Each plug-in has its own.
    let refused = preset(&mda, &[], "http://drobilla.net/plugins/mda/EPiano", "Fast").unwrap_err();
    assert!(refused.contains("no preset 'Fast'; there are 'Autopan', 'Bright'"), "{refused}");
    // What is set is heard.
    let catalog = Catalog::new(vec![describe(&mda, LESLIE).unwrap()]);
    let sound = noise(20_000);
    let heard = |values: &[f32]| {
        let mut processor = build(&mda, LESLIE, values, 48_000, None).unwrap();
        bits(&played(&mut *processor, &sound, &[512], &[]))
    };
    let of = |name: &str| catalog.preset(&format!("lv2:{LESLIE}"), name).unwrap().values;
    assert_ne!(heard(&of("Fast")), heard(&of("Slow")));
}

#[test]
fn presets_of_a_user_lie_in_bundles_of_their_own() {
    let Some(amp) = bundle("presets_of_a_user_lie_in_bundles_of_their_own", "eg-amp.lv2") else {
        return;
    };
    let uri = plugins(&amp).unwrap().swap_remove(0);
    let folder = tempfile::tempdir().unwrap();
    let gain = |label: &str, value: &str| {
        format!("rdfs:label \"{label}\" ; lv2:port [ lv2:symbol \"gain\" ; pset:value {value} ]")
    };
    let bodies = [
        ("decimal", gain("Softer", "-12.5")),
        ("whole", gain("Loud", "6")),
        ("double", gain("Loudest", "\"9.25\"^^xsd:double")),
        ("over", gain("Over", "1000.0")),
        ("twin", gain("Loud", "7")),
        (
            "other",
            "rdfs:label \"Other\" ; lv2:port [ lv2:symbol \"none\" ; pset:value 1.0 ]".into(),
        ),
        ("text", gain("Text", "\"much\"")),
    ];
    let bodies: Vec<(&str, &str)> = bodies.iter().map(|(name, body)| (*name, &**body)).collect();
    let user = user_bundle(folder.path(), &uri, &bodies);
    let kind = format!("lv2:{uri}");
    let catalog = Catalog::new(vec![describe(&amp, &uri).unwrap()]);
    assert!(catalog.presets(&kind).unwrap().is_empty());
    let refused = catalog.preset(&kind, "Softer").unwrap_err();
    assert!(refused.contains("the plug-in has no presets"), "{refused}");
    let catalog = catalog.with_bundles(vec![amp.clone(), user]);
    assert_eq!(catalog.presets(&kind).unwrap().len(), 7);
    let check = |name: &str, gain: f32| {
        let values = PresetValues { values: vec![gain], state: None };
        assert_eq!(catalog.preset(&kind, name), Ok(values), "{name}");
    };
    check("Softer", -12.5);
    check("urn:test:whole", 6.0);
    check("Loudest", 9.25);
    // The end of the range, and where the preset says nothing of use, the default.
    check("Over", 24.0);
    check("Other", 0.0);
    check("Text", 0.0);
    let refused = catalog.preset(&kind, "Loud").unwrap_err();
    let twins = ["several presets are called 'Loud'", "urn:test:whole", "urn:test:twin"];
    assert!(twins.iter().all(|word| refused.contains(word)), "{refused}");
}

#[test]
fn a_preset_may_have_a_state() {
    let Some((folder, bundle)) = worker::bundle("a_preset_may_have_a_state") else { return };
    let state =
        "rdfs:label \"Eighth\" ; state:state [ <urn:hocket:test#gain> \"0.125\"^^xsd:float ]";
    let user = user_bundle(folder.path(), worker::URI, &[("eighth", state)]);
    let kind = format!("lv2:{}", worker::URI);
    let catalog = Catalog::new(vec![describe(&bundle, worker::URI).unwrap()]);
    let catalog = catalog.with_bundles(vec![user]);
    let PresetValues { values, state } = catalog.preset(&kind, "Eighth").unwrap();
    assert!(values.is_empty());
    let mut processor = build(&bundle, worker::URI, &[], 48_000, state.as_deref()).unwrap();
    assert_eq!(worker::frame(&mut *processor, 0.5).0, 0.0625);
}

#[test]
fn damaged_presets_are_no_crash() {
    let Some(amp) = bundle("damaged_presets_are_no_crash", "eg-amp.lv2") else { return };
    let uri = plugins(&amp).unwrap().swap_remove(0);
    let folder = tempfile::tempdir().unwrap();
    let user = user_bundle(folder.path(), &uri, &[("empty", ""), ("gone", ""), ("broken", "")]);
    std::fs::write(user.join("empty.ttl"), "").unwrap();
    std::fs::remove_file(user.join("gone.ttl")).unwrap();
    std::fs::write(user.join("broken.ttl"), "<urn:test:broken> lv2:port [[[ \u{0}").unwrap();
    let kind = format!("lv2:{uri}");
    let catalog = Catalog::new(vec![describe(&amp, &uri).unwrap()]).with_bundles(vec![user]);
    let found = catalog.presets(&kind).unwrap();
    assert!(found.iter().all(|preset| preset.label == preset.uri), "{found:?}");
    for preset in found {
        if let Ok(read) = catalog.preset(&kind, &preset.uri) {
            assert_eq!((read.values.as_slice(), read.state), (&[0.0][..], None));
        }
    }
}
