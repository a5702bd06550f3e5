//! What is kept of plug-ins: the results of a scan, and the states of LV2 and VST3 plug-ins.

use std::time::Duration;

use hocket_plugins::lv2::State;
use hocket_plugins::scan::{Library, Scanner};
use hocket_plugins::{Catalog, Description, Format, vst3};

use super::scratch;

/// The library in the seeds. As nothing is there, its stamp is always the same one.
const LIBRARY: &str = "/nowhere/a.clap";
/// What stands in the seeds for the key of this build ([`Scanner::cache_key`]), under which alone a result is read.
const KEY: &str = "hocket-plugins/KEY";
/// A result of a scan that is read.
const SCAN: &[u8] = include_bytes!("../../corpus/plugins/scan.json");

pub fn check(bytes: &[u8]) {
    state(bytes);
    scan(bytes);
}

fn state(bytes: &[u8]) {
    match State::from_bytes(bytes) {
        Ok(state) => assert_eq!(State::from_bytes(&state.to_bytes()), Ok(state)),
        Err(error) => assert!(!error.is_empty()),
    }
    match vst3::State::from_bytes(bytes) {
        Ok(state) => assert_eq!(vst3::State::from_bytes(&state.to_bytes()), Ok(state)),
        Err(error) => assert!(!error.is_empty()),
    }
}

/// No process is started: it would share the files of other inputs for a moment, and their locks.
fn scan(bytes: &[u8]) {
    let (program, arguments) = ("/nowhere/hocket".into(), Vec::new());
    let mut scanner = Scanner { program, arguments, limit: Duration::from_secs(1), cache: None };
    let kept = with_key(bytes, &scanner.cache_key());
    scanner.cache = Some(scratch::file("plugins.json", &kept));
    let libraries = [Library { format: Format::Clap, path: LIBRARY.into() }];
    let found = scanner.kept(&libraries);
    assert_eq!(scanner.kept(&libraries), found);
    assert!(bytes != SCAN || found.plugins.len() == 2, "the seed is none any more");
    let catalog = Catalog::new(found.plugins);
    catalog.plugins().iter().for_each(|plugin| check_plugin(&catalog, plugin));
}

fn with_key(bytes: &[u8], key: &str) -> Vec<u8> {
    match bytes.windows(KEY.len()).position(|part| part == KEY.as_bytes()) {
        Some(at) => [&bytes[..at], key.as_bytes(), &bytes[at + KEY.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

fn check_plugin(catalog: &Catalog, plugin: &Description) {
    assert_eq!(catalog.usable(&plugin.kind).is_err(), plugin.refusal.is_some());
    for param in &plugin.params {
        let (min, max) = param.range();
        assert!(min <= max, "{param:?}");
        for value in [f32::MIN, -1.0, 0.5, f32::MAX, f32::INFINITY] {
            assert!(!param.fit(value, 48_000).is_nan(), "{param:?}");
        }
    }
}
