//! A header that promises gigabytes must not make the reader ask for them, and damaged input of
//! any kind must end in audio or an error.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_media::decode;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all_files(&path, found) } else { found.push(path) }
    }
}

/// The part that runs in a child with an address space of its own.
#[test]
fn child_decodes_everything() {
    let Some(folder) = std::env::var_os("HOCKET_TEST_DECODE_ALL") else { return };
    let mut files = Vec::new();
    all_files(Path::new(&folder), &mut files);
    for file in &files {
        let _ = decode(file);
    }
    println!("DECODED {}", files.len());
}

/// 128 MiB of address space hold the program and the largest honest file, but no lie.
#[test]
fn no_file_makes_the_reader_allocate_by_its_header() {
    let name = "no_file_makes_the_reader_allocate_by_its_header";
    let Some(data) = common::shared(name) else { return };
    let script = "ulimit -v 131072 && exec \"$0\" --exact child_decodes_everything --nocapture \
                  --test-threads=1";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("HOCKET_TEST_DECODE_ALL", data.join("audio"))
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("ulimit") {
        println!("SKIPPED {name}: no ulimit here: {error}");
        return;
    }
    assert!(text.contains("DECODED"), "{text}\n{error}");
}

/// Small files of every format, to be damaged.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let Some(data) = common::shared("damaged_bytes_never_panic") else { return Vec::new() };
    let mut files = Vec::new();
    for folder in ["audio/formats", "audio/odd-real", "audio/damaged"] {
        all_files(&data.join(folder), &mut files);
    }
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.truncate(20_000);
            (name, bytes)
        })
        .collect()
}

/// Deterministic mutations: byte flips in the head, where the sizes are, and anywhere; cuts.
#[test]
fn damaged_bytes_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mutation = (0usize..10_000, any::<u8>(), 0usize..200, any::<u8>(), 0.0f64..1.0);
    for (name, bytes) in seeds() {
        for _ in 0..12 {
            let (at, value, head, head_value, cut) =
                mutation.new_tree(&mut runner).unwrap().current();
            let mut bytes = bytes.clone();
            if bytes.is_empty() {
                continue;
            }
            let len = bytes.len();
            bytes[at % len] = value;
            bytes[head % len] = head_value;
            bytes.truncate(((len as f64) * (1.0 - 0.3 * cut)) as usize);
            let path = folder.path().join(&name);
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = decode(&path) {
                assert!(!error.to_string().contains("panicked"), "{name}: {error}");
            }
        }
    }
}
