//! The inputs that the fuzzers keep, fed to the same functions: what was repaired stays repaired, on every toolchain.

#[path = "../../../fuzz/src/program/mod.rs"]
mod program;
#[path = "../../../fuzz/src/targets/mod.rs"]
mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use targets::Target;

/// More than this is too much for a repository.
const MOST_CORPUS_BYTES: u64 = 1 << 20;

/// Those of the program, too.
fn targets() -> impl Iterator<Item = Target> {
    targets::TARGETS.into_iter().chain(program::TARGETS)
}

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
        let start = |target: Target| {
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
        };
        // All run before the first is waited for.
        let threads: Vec<_> = targets().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no input shows a fault")).sum()
    })
}

#[test]
fn every_kept_input_is_read_as_promised() {
    assert!(feed("corpus") >= targets().count());
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
    let targets: BTreeSet<String> = targets().map(|target| target.name.into()).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    assert!(names("regressions").is_subset(&targets));
}

#[test]
fn the_fuzzers_of_the_program_alone_build_it() {
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).expect("readable");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let bins = manifest["bin"].as_array().expect("a list").iter().map(|bin| {
        let text = |key: &str| bin[key].as_str().expect("a text").to_owned();
        (text("name"), text("path"), bin.get("required-features").cloned())
    });
    let expected = |target: Target| {
        let is_of_program = program::TARGETS.iter().any(|other| other.name == target.name);
        let features = is_of_program.then(|| toml::Value::from(vec!["program"]));
        (target.name.to_owned(), format!("fuzz_targets/{}.rs", target.name), features)
    };
    let mut expected: Vec<_> = targets().map(expected).collect();
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(bins.collect::<Vec<_>>(), expected);
}

#[test]
fn the_corpus_is_small() {
    let size = |path: &PathBuf| path.metadata().expect("readable").len();
    let in_all = |target: Target| -> u64 {
        files(&folder("corpus").join(target.name)).iter().map(size).sum()
    };
    let sizes: Vec<u64> = targets().map(in_all).collect();
    assert!(sizes.iter().sum::<u64>() <= MOST_CORPUS_BYTES, "{sizes:?}");
}
