//! The audio that comes with the example sessions: listed with origin, licence and checksum,
//! unchanged, small, and sound.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hocket_media::decode;
use sha2::{Digest, Sha256};

/// Only these let the files be handed on without conditions.
const FREE: &[&str] = &["CC0-1.0"];
const MAX_TOTAL_BYTES: u64 = 8_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/audio")
}

/// Licence and checksum by file name, from the table.
fn provenance() -> BTreeMap<String, (String, String)> {
    let text = std::fs::read_to_string(folder().join("PROVENANCE.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let entry = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [file, author, package, licence, sum] = cells[..] else { panic!("{line}") };
        assert!(!author.is_empty() && !package.is_empty(), "{line}");
        (file.to_owned(), (licence.to_owned(), sum.trim_matches('`').to_owned()))
    };
    rows.map(entry).collect()
}

fn audio_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ext| ext != "md")).collect()
}

#[test]
fn every_file_is_listed_with_licence_and_checksum() {
    let listed = provenance();
    let files = audio_files();
    assert_eq!(listed.len(), files.len(), "the table and the folder have different files");
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (licence, sum) = listed.get(&name).unwrap_or_else(|| panic!("{name} is not listed"));
        let digest = Sha256::digest(std::fs::read(&file).unwrap());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(&hex, sum, "{name} was changed");
        assert!(FREE.contains(&licence.as_str()), "{name}: {licence}");
    }
}

#[test]
fn the_files_are_few_and_sound() {
    let files = audio_files();
    let total: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(total <= MAX_TOTAL_BYTES, "{total} bytes");
    for file in files {
        let audio = decode(&file).unwrap();
        assert_eq!(audio.warnings, Vec::<String>::new(), "{}", file.display());
        assert!(audio.peak() > 0.01, "{} is silent", file.display());
    }
}

/// Where the originals are at hand, the copies are the same bytes.
#[test]
fn copies_are_unchanged() {
    let Some(data) = common::shared("copies_are_unchanged") else { return };
    for file in audio_files() {
        let name = file.file_name().unwrap();
        let folders = ["loops", "oneshots", "drumkit/audiophob"];
        let original = folders.iter().map(|folder| data.join("audio").join(folder).join(name));
        let original = original.into_iter().find(|path| path.exists()).unwrap();
        assert!(std::fs::read(&file).unwrap() == std::fs::read(original).unwrap(), "{name:?}");
    }
}
