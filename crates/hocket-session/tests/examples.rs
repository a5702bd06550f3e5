//! The sessions that come with Hocket load without warnings, with the effects of docs/effects.md.

mod common;

use std::path::{Path, PathBuf};

use common::Documented;
use hocket_session::{LoadOptions, load};

fn sessions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    paths.sort();
    paths
}

#[test]
fn every_example_loads_on_small_and_large_machines() {
    let paths = sessions();
    if paths.is_empty() {
        println!("SKIPPED every_example_loads_on_small_and_large_machines: no sessions/*.toml");
        return;
    }
    let catalogue = Documented::read();
    for path in paths {
        for seats in [1, 2, 16, 256] {
            let loaded = load(&path, &catalogue, &LoadOptions::for_seats(seats));
            let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(loaded.warnings, Vec::<String>::new(), "{}", path.display());
        }
    }
}
