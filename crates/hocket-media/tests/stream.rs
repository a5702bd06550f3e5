//! A stream gives the bits of the whole file, from any position and in pieces of any length.

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hocket_media::{
    AudioWriter, FileFormat, SeekCost, StreamDecoder, WavFormat, WavLayout, Written, decode,
};

/// A linear congruential generator: the same pieces every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

fn noise(frames: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..frames).map(|_| random.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// Reads pieces of random length, most of them one behind the other, and compares each with the whole file.
fn check(path: &Path) -> SeekCost {
    let whole = decode(path).unwrap();
    let mut stream = StreamDecoder::open(path, Arc::new(File::open(path).unwrap())).unwrap();
    let info = stream.info().clone();
    assert_eq!((info.sample_rate_hz, info.channels), (whole.sample_rate_hz, whole.channels.len()));
    assert_eq!(info.frames, whole.frames() as u64, "{}", path.display());
    let mut random = Random(whole.frames() as u64);
    let mut position = 0;
    for _ in 0..200 {
        let wanted = 1 + random.below(9000) as usize;
        let mut rows = vec![vec![f32::NAN; wanted]; info.channels];
        let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
        let got = stream.read(position, &mut slices).unwrap();
        let expected = wanted.min((info.frames.saturating_sub(position)) as usize);
        assert_eq!(got, expected, "{}: {position}", path.display());
        for (row, channel) in rows.iter().zip(&whole.channels) {
            let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let from = position.min(info.frames) as usize;
            assert!(
                bits(&row[..got]) == bits(&channel[from..from + got]),
                "{}: {position}",
                path.display()
            );
        }
        position += got as u64;
        if got < wanted || random.below(8) == 0 {
            position = random.below(info.frames + 10);
        }
    }
    info.seek
}

fn written(folder: &Path, name: &str, samples: WavFormat, frames: usize) -> PathBuf {
    let path = folder.join(name);
    let (left, right) = (noise(frames, 1), noise(frames, 2));
    let format = FileFormat::of(&path).unwrap();
    let mut writer = AudioWriter::create(&path, format, 48_000, samples, frames as u64).unwrap();
    writer.write(&left, &right).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn uncompressed_files_and_flac_give_the_same_bits_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    for (name, samples) in [
        ("a16.wav", WavFormat::Pcm16),
        ("a24.wav", WavFormat::Pcm24),
        ("a32.wav", WavFormat::Float32),
        ("a16.flac", WavFormat::Pcm16),
        ("a24.flac", WavFormat::Pcm24),
    ] {
        assert_eq!(
            check(&written(folder.path(), name, samples, 150_001)),
            SeekCost::Direct,
            "{name}"
        );
    }
}

/// 32-bit integers, which Hocket does not write.
#[test]
fn integers_of_32_bits_give_the_same_bits_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let layout = WavLayout { samples: WavFormat::Float32, sample_rate_hz: 96_000, channels: 2 };
    let mut bytes = layout.header(50_000);
    let fmt = bytes.windows(4).position(|part| part == b"fmt ").unwrap();
    bytes[fmt + 8] = 1;
    layout.encode(noise(100_000, 3), &mut bytes, &mut Written::default());
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(check(&path), SeekCost::Direct);
}

/// A compressed format that keeps a state from block to block, with random content.
#[test]
fn compressed_files_give_the_same_bits_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adpcm.wav");
    std::fs::write(&path, common::ima_adpcm(100, 7)).unwrap();
    assert_eq!(check(&path), SeekCost::FromTheStart);
}

#[test]
fn recorded_files_give_the_same_bits_from_anywhere() {
    let Some(data) = common::shared("recorded_files_give_the_same_bits_from_anywhere") else {
        return;
    };
    let mut compared = std::collections::BTreeMap::new();
    let mut folders = vec![data.join("audio")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let ending =
                path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
            // A FLAC file that is cut short has the length here that its header states.
            let is_whole =
                |audio: &hocket_media::Audio| audio.warnings.is_empty() && audio.frames() > 0;
            let few = compared.get(&ending).is_none_or(|count| *count < 3);
            if few
                && entry.metadata().unwrap().len() < 1 << 21
                && decode(&path).is_ok_and(|audio| is_whole(&audio))
            {
                check(&path);
                *compared.entry(ending).or_insert(0) += 1;
            }
        }
    }
    println!("compared: {compared:?}");
    assert!(compared.len() >= 3, "{compared:?}");
}

#[test]
fn samples_that_are_no_numbers_are_silent_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.wav");
    let samples = [0.5, f32::NAN, f32::INFINITY, -0.25];
    let data: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let mut wav = b"RIFF\x34\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0".to_vec();
    wav.extend(48_000u32.to_le_bytes());
    wav.extend(192_000u32.to_le_bytes());
    wav.extend(b"\x04\0\x20\0data\x10\0\0\0");
    wav.extend(data);
    std::fs::write(&path, wav).unwrap();
    let mut stream = StreamDecoder::open(&path, Arc::new(File::open(&path).unwrap())).unwrap();
    let mut row = [1.0; 4];
    assert_eq!(stream.read(0, &mut [&mut row]).unwrap(), 4);
    assert_eq!((row, stream.not_finite()), ([0.5, 0.0, 0.0, -0.25], 2));
    let mut again = stream.reopened(Arc::new(File::open(&path).unwrap())).unwrap();
    assert_eq!(again.read(2, &mut [&mut row[..1]]).unwrap(), 1);
    assert_eq!(again.not_finite(), 3, "one that is read again counts again");
}
