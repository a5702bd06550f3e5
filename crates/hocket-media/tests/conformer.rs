//! A file that is converted piece by piece has the bits, the length and the warnings of one that is decoded whole.

mod common;

use std::path::{Path, PathBuf};

use hocket_media::{
    Audio, AudioWriter, Conformer, FileFormat, MediaError, WavFormat, decode, resample,
};

/// A piece never has more frames.
const MOST_FRAMES: usize = 1 << 19;

/// In the place of `decode` and `resample`, of the first two channels.
fn conformed(path: &Path, to_hz: u32) -> Result<(Audio, u64), MediaError> {
    let mut conformer = Conformer::open(path, to_hz, 2)?;
    let mut channels = vec![Vec::new(); conformer.channels()];
    while let Some(piece) = conformer.next_piece()? {
        assert!((1..=MOST_FRAMES).contains(&piece[0].len()), "{}", piece[0].len());
        for (row, piece) in channels.iter_mut().zip(piece) {
            row.extend_from_slice(piece);
        }
    }
    assert_eq!(conformer.frames(), channels[0].len() as u64, "{}", path.display());
    let warnings = conformer.warnings();
    Ok((Audio { sample_rate_hz: to_hz, channels, warnings }, conformer.frames_of_file()))
}

fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|sample| sample.to_bits()).collect()
}

/// At its own rate, at 48 kHz or 44.1 kHz, and at one with which it has hardly a common divisor. Whether it could be decoded.
fn check(path: &Path) -> bool {
    let name = path.display();
    let whole = match decode(path) {
        Ok(whole) => whole,
        Err(error) => {
            assert_eq!(conformed(path, 48_000).unwrap_err().to_string(), error.to_string());
            return false;
        }
    };
    let own = whole.sample_rate_hz;
    let usual = if own == 48_000 { 44_100 } else { 48_000 };
    for to_hz in [own, usual, 47_111] {
        let expected = resample(&whole, to_hz);
        let (found, frames) = conformed(path, to_hz).unwrap();
        assert_eq!(found.warnings, whole.warnings, "{name}");
        assert_eq!(frames, whole.frames() as u64, "{name}");
        assert_eq!(found.channels.len(), whole.channels.len().min(2), "{name}");
        for (found, expected) in found.channels.iter().zip(&expected.channels) {
            assert!(bits(found) == bits(expected), "{name} at {to_hz} Hz");
        }
    }
    true
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/audio")
}

#[test]
fn every_format_has_the_bits_of_the_whole_file() {
    let decoded = files_in(&corpus()).iter().filter(|path| check(path)).count();
    assert!(decoded >= 20, "{decoded}");
}

#[test]
fn recorded_and_damaged_files_have_the_bits_and_warnings_of_the_whole_file() {
    let name = "recorded_and_damaged_files_have_the_bits_and_warnings_of_the_whole_file";
    let Some(data) = common::shared(name) else { return };
    let folders = ["formats", "damaged", "odd-real"].map(|folder| data.join("audio").join(folder));
    let files = folders.iter().flat_map(|folder| files_in(folder));
    let small = files.filter(|path| path.metadata().unwrap().len() < 1 << 20);
    let decoded = small.filter(|path| check(path)).count();
    println!("{decoded} files");
    assert!(decoded >= 20, "{decoded}");
}

#[test]
fn files_of_many_pieces_have_the_bits_of_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("adpcm.wav"), common::ima_adpcm(700, 11)).unwrap();
    let noise = |seed: u32| -> Vec<f32> {
        let sample = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32;
        (0..200_001).map(|i| sample(i) / (1 << 24) as f32 - 0.5).collect()
    };
    let (left, right) = (noise(1), noise(77_777));
    let formats = [("a.flac", WavFormat::Pcm24), ("a.wav", WavFormat::Float32)];
    for (name, samples) in formats {
        let format = FileFormat::of(&at(name)).unwrap();
        let mut writer = AudioWriter::create(&at(name), format, 44_100, samples, 200_001).unwrap();
        writer.write(&left, &right).unwrap();
        writer.finish().unwrap();
    }
    // Two MP3 files in one: the sound goes on behind the announced end.
    let mp3 = std::fs::read(corpus().join("mp3-vbr-id3v2-cover.mp3")).unwrap();
    std::fs::write(at("joined.mp3"), mp3.repeat(3)).unwrap();
    assert!(["adpcm.wav", "a.flac", "a.wav", "joined.mp3"].iter().all(|name| check(&at(name))));
}

/// An edit list that names a place behind the end is of no use, and everything is heard.
#[test]
fn a_part_that_is_not_there_leaves_the_whole_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.m4a");
    let mut bytes = std::fs::read(corpus().join("aac-44k1-stereo.m4a")).unwrap();
    let list = bytes.windows(4).position(|part| part == b"elst").unwrap();
    let heard = decode(&corpus().join("aac-44k1-stereo.m4a")).unwrap().frames();
    bytes[list + 16..list + 20].copy_from_slice(&0x7000_0000u32.to_be_bytes());
    // A tag would go before the edit list.
    if let Some(tag) = bytes.windows(8).position(|part| part == b"iTunSMPB") {
        bytes[tag] = b'j';
    }
    std::fs::write(&path, bytes).unwrap();
    assert!(decode(&path).unwrap().frames() > heard);
    assert!(check(&path));
}

#[test]
fn the_rest_can_be_skipped_and_counts_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adpcm.wav");
    std::fs::write(&path, common::ima_adpcm(300, 3)).unwrap();
    let whole = resample(&decode(&path).unwrap(), 44_100);
    let mut conformer = Conformer::open(&path, 44_100, 2).unwrap();
    let first = conformer.next_piece().unwrap().unwrap()[0].to_vec();
    assert!(
        first.len() < whole.frames() && bits(&first) == bits(&whole.channels[0][..first.len()])
    );
    conformer.skip_rest().unwrap();
    assert_eq!(conformer.frames(), whole.frames() as u64);
    assert!(conformer.next_piece().unwrap().is_none());
}

#[test]
fn what_a_conversion_makes_infinite_is_silent_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("enormous.wav");
    let samples: Vec<f32> =
        (0..3_000).map(|i| if i / 7 % 2 == 0 { f32::MAX } else { f32::MIN }).collect();
    let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0".to_vec();
    wav.extend(44_100u32.to_le_bytes());
    wav.extend(176_400u32.to_le_bytes());
    wav.extend(b"\x04\0\x20\0data");
    wav.extend((4 * samples.len() as u32).to_le_bytes());
    wav.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    let riff = (wav.len() as u32 - 8).to_le_bytes();
    wav[4..8].copy_from_slice(&riff);
    std::fs::write(&path, wav).unwrap();
    let whole = resample(&decode(&path).unwrap(), 48_000);
    let strange = whole.channels[0].iter().filter(|sample| !sample.is_finite()).count();
    assert!(strange > 0, "the filter does not overshoot");
    let mut conformer = Conformer::open(&path, 48_000, 2).unwrap();
    let mut found = Vec::new();
    while let Some(piece) = conformer.next_piece().unwrap() {
        found.extend_from_slice(&piece[0]);
    }
    assert_eq!(conformer.not_finite(), strange as u64);
    let silenced = |sample: &f32| if sample.is_finite() { *sample } else { 0.0 };
    let expected: Vec<f32> = whole.channels[0].iter().map(silenced).collect();
    assert!(bits(&found) == bits(&expected));
}
