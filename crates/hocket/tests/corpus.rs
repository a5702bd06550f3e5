//! The inputs that the fuzzers keep, fed to the same functions: what was repaired stays repaired, on every toolchain.

#[path = "../../../fuzz/src/targets/mod.rs"]
mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use targets::TARGETS;

/// More than this is too much for a repository.
const MOST_CORPUS_BYTES: u64 = 1 << 20;

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind)
}

/// Files in alphabetical order; none where there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

/// Feeds all inputs of `kind` to their targets, each target in a thread of its own; returns how many there were.
fn feed(kind: &str) -> usize {
    std::thread::scope(|scope| {
        let threads = TARGETS.map(|target| {
            let inputs = files(&folder(kind).join(target.name));
            let feed = move || {
                for input in &inputs {
                    let bytes = std::fs::read(input).expect("readable");
                    let checked = std::panic::catch_unwind(|| (target.check)(&bytes));
                    assert!(checked.is_ok(), "{} shows a fault", input.display());
                }
                inputs.len()
            };
            scope.spawn(feed)
        });
        threads.map(|thread| thread.join().expect("no input shows a fault")).iter().sum()
    })
}

#[test]
fn every_kept_input_is_read_as_promised() {
    assert!(feed("corpus") >= TARGETS.len());
}

#[test]
fn every_repaired_fault_stays_repaired() {
    assert!(feed("regressions") > 0);
}

#[test]
fn every_target_has_a_fuzzer_and_a_corpus_and_no_corpus_is_lost() {
    let names = |kind: &str| -> BTreeSet<String> {
        let stem = |path: &PathBuf| path.file_stem().map(|name| name.to_string_lossy().into());
        files(&folder(kind)).iter().filter_map(stem).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.into()).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    assert!(names("regressions").is_subset(&targets));
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).expect("readable");
    for name in &targets {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

#[test]
fn the_corpus_is_small() {
    let size = |path: &PathBuf| path.metadata().expect("readable").len();
    let sizes = TARGETS
        .map(|target| files(&folder("corpus").join(target.name)).iter().map(size).sum::<u64>());
    assert!(sizes.iter().sum::<u64>() <= MOST_CORPUS_BYTES, "{sizes:?}");
}
