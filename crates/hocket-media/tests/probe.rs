//! What the header says is what the decoder finds.

mod common;

use std::path::{Path, PathBuf};

use hocket_media::{AudioFacts, MediaError, decode, decode_within, probe};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/audio").join(name)
}

/// The facts are those of the decoded file; where it cannot be decoded, there may be none.
fn check(path: &Path) -> Result<(), String> {
    let name = path.display();
    match (decode(path), probe(path)) {
        (Ok(audio), Ok(facts)) => {
            let found = (audio.sample_rate_hz, audio.channels.len());
            let said = (facts.sample_rate_hz, facts.channels);
            (found == said).then_some(()).ok_or(format!("{name}: {said:?}, decoded {found:?}"))
        }
        (Ok(_), Err(error)) => Err(format!("{name}: it can be decoded, but: {error}")),
        (Err(_), _) => Ok(()),
    }
}

#[test]
fn the_facts_of_the_example_audio_are_those_of_the_decoder() {
    let entries = std::fs::read_dir(example("")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext != "md")).collect();
    assert!(files.len() > 10);
    for path in files {
        let audio = decode(&path).unwrap();
        let facts = AudioFacts {
            sample_rate_hz: audio.sample_rate_hz,
            channels: audio.channels.len(),
            frames: Some(audio.frames() as u64),
        };
        assert_eq!(probe(&path).unwrap(), facts, "{}", path.display());
    }
}

#[test]
fn a_limit_is_exact_and_refuses_what_is_longer() {
    for name in ["drum_snare_hard.flac", "29800__stomachache__3.wav"] {
        let path = example(name);
        let audio = decode(&path).unwrap();
        let samples = audio.frames() * audio.channels.len();
        assert_eq!(decode_within(&path, samples).unwrap(), audio);
        for limit in [0, 1, samples - 1] {
            let refused = decode_within(&path, limit).unwrap_err();
            let is_too_large = matches!(refused, MediaError::TooLarge { limit_samples, .. } if limit_samples == limit);
            assert!(is_too_large, "{name}, {limit}: {refused}");
        }
    }
}

#[test]
fn the_facts_of_recorded_files_are_those_of_the_decoder() {
    let name = "the_facts_of_recorded_files_are_those_of_the_decoder";
    let Some(data) = common::shared(name) else { return };
    let folder = data.join("audio");
    let mut folders = vec![folder];
    let mut failures = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => failures.extend(check(&path).err()),
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_file_that_ends_in_its_header_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["124101__connersaw8__crash.wav", "drum_snare_hard.flac"] {
        let whole = std::fs::read(example(name)).unwrap();
        let path = folder.path().join(name);
        for length in [1, 3, 12, 20, 30] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(probe(&path).is_err(), "{length} bytes of {name}");
        }
    }
    let text = folder.path().join("text.wav");
    std::fs::write(&text, "not audio at all").unwrap();
    assert!(probe(&text).unwrap_err().to_string().contains("not an audio file"));
    assert!(probe(folder.path()).unwrap_err().to_string().contains("a folder"));
}
