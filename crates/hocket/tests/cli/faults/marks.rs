//! Fault 1: by what Hocket knows the files that it wrote.

use super::record;
use crate::support::{check_refused, one_track, run};

/// A WAV file without sound that has this title, as other programs write it.
fn titled_wav(title: &str) -> Vec<u8> {
    let text = title.len().next_multiple_of(2);
    let mut list = b"LIST".to_vec();
    list.extend((4 + 8 + text as u32).to_le_bytes());
    list.extend(b"INFOINAM");
    list.extend((text as u32).to_le_bytes());
    list.extend(title.as_bytes());
    list.resize(list.len() + text - title.len(), 0);
    let mut wav = b"RIFF".to_vec();
    wav.extend((4 + 24 + list.len() as u32 + 8).to_le_bytes());
    wav.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0");
    wav.extend(list);
    wav.extend(b"data\0\0\0\0");
    wav
}

/// What is about Hocket need not be by Hocket.
#[test]
fn fault_01_a_file_that_only_mentions_hocket_is_not_replaced() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let record = record().to_str().unwrap();
    let mut flac = std::fs::read(at("loop.flac")).unwrap();
    // In place of its first frames; no more than the beginning is looked at.
    flac[1000..1006].copy_from_slice(b"Hocket");
    let page = "<!DOCTYPE html><html lang=\"en\"><body>my notes on <code>name=\"generator\" content=\"Hocket\"</code>";
    let picture =
        "<svg xmlns=\"http://www.w3.org/2000/svg\"><text>data-from=\"hocket lab\"</text></svg>";
    let render = ["render", &file, "-o"];
    let bench = ["bench", &file, "--record"];
    let report = ["report", record, "-o"];
    for (name, bytes, args) in [
        ("a.wav", titled_wav("Hocket in C minor"), render),
        ("a.flac", flac, render),
        ("a.json", br#"{"mine": {"format": "hocket-bench/2"}}"#.to_vec(), bench),
        ("b.json", br#"{"format": "mine", "like": "hocket-bench/2"}"#.to_vec(), bench),
        ("a.html", page.into(), report),
        ("a.svg", picture.into(), ["report", record, "--svg"]),
    ] {
        std::fs::write(at(name), &bytes).unwrap();
        check_refused(&[&args[..], &[&at(name)]].concat(), 2, &[name, "did not write", "--force"]);
        assert!(std::fs::read(at(name)).unwrap() == bytes, "{name}");
    }
}

/// A take has no other copy. Its notes do not follow when it is moved, so the file itself says what it is.
#[test]
fn fault_01_a_take_that_was_moved_is_not_replaced() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(at("archive")).unwrap();
    for name in ["take.wav", "take.flac"] {
        let (take, moved) = (at(name), at(&format!("archive/{name}")));
        let ran = run(&["play", &file, "--length", "0.2", "--take", &format!("master={take}")]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        std::fs::rename(&take, &moved).unwrap();
        let before = std::fs::read(&moved).unwrap();
        check_refused(&["render", &file, "-o", &moved], 2, &[name, "did not write", "--force"]);
        let recovered = run(&["recover", &moved]);
        assert!(
            recovered.out.contains("the header is right"),
            "{}{}",
            recovered.out,
            recovered.err
        );
        assert!(std::fs::read(&moved).unwrap() == before, "{name}");
    }
    // Takes by earlier versions name the same software as a render, and have their notes beside them.
    let old = at("old.wav");
    assert_eq!(run(&["render", &file, "-o", &old, "--length", "0.2"]).code, Some(0));
    std::fs::write(at("old.wav.take.toml"), "# notes").unwrap();
    std::os::unix::fs::symlink(&old, at("archive/link.wav")).unwrap();
    for path in [old, at("archive/link.wav")] {
        check_refused(&["render", &file, "-o", &path], 2, &["did not write", "--force"]);
    }
}
