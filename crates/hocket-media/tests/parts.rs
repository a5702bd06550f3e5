//! Parts of a file at another rate have the bits of the whole.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hocket_media::{Audio, AudioWriter, FileFormat, PartDecoder, WavFormat, decode, resample};
use tempfile::TempDir;

/// With and without a common divisor, up and down.
const RATES_HZ: [(u32, u32); 6] = [
    (44_100, 48_000),
    (48_000, 44_100),
    (8_000, 48_000),
    (96_000, 44_100),
    (44_101, 48_000),
    (11_025, 192_000),
];

fn noise(frames: usize, seed: u32) -> Vec<f32> {
    let sample = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32;
    (0..frames as u32).map(|i| sample(i) / (1 << 24) as f32 - 0.5).collect()
}

fn write(path: &Path, (format, samples): (FileFormat, WavFormat), rate_hz: u32, frames: usize) {
    let mut writer = AudioWriter::create(path, format, rate_hz, samples, frames as u64).unwrap();
    writer.write(&noise(frames, 1), &noise(frames, 77_777)).unwrap();
    writer.finish().unwrap();
}

/// Three channels of 32-bit floats, one sample of which is no number.
fn write_three(path: &Path, rate_hz: u32, frames: usize) {
    let rows = [1, 2, 3].map(|seed| noise(frames, seed * 1_000_003));
    let mut data: Vec<u8> = (0..frames)
        .flat_map(|i| rows.each_ref().map(|row| row[i].to_le_bytes()))
        .flatten()
        .collect();
    data[12 * 600..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + data.len() as u32).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x03\0\x03\0");
    bytes.extend(rate_hz.to_le_bytes());
    bytes.extend((rate_hz * 12).to_le_bytes());
    bytes.extend(b"\x0c\0\x20\0data");
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
    std::fs::write(path, bytes).unwrap();
}

/// In any order, at the start, at the end, beyond it, long and short.
fn parts(frames: u64) -> Vec<Range<u64>> {
    let middle = frames / 2;
    vec![
        0..frames,
        middle..middle + 1_000,
        0..1,
        0..777,
        frames - 1..frames,
        frames - 3_000..frames + 9,
        frames / 3..middle,
        1..2,
        middle + 13..middle + 14,
        middle..middle,
        frames..frames + 5,
        frames + 7..frames + 8,
    ]
}

fn check(path: &Path, to_hz: u32) {
    let whole: Audio = resample(&decode(path).unwrap(), to_hz);
    let mut decoder =
        PartDecoder::open(path, to_hz).unwrap().expect("it can be read from anywhere");
    let frames = whole.frames() as u64;
    assert_eq!(decoder.frames(), frames);
    for (part, channels) in parts(frames).into_iter().zip([9, 9, 2, 1].into_iter().cycle()) {
        let found = decoder.part(part.clone(), channels).unwrap();
        assert_eq!(found.len(), channels.min(whole.channels.len()));
        let range = part.start.min(frames) as usize..part.end.min(frames) as usize;
        for (found, row) in found.iter().zip(&whole.channels) {
            let is_same = found
                .iter()
                .map(|x| x.to_bits())
                .eq(row[range.clone()].iter().map(|x| x.to_bits()));
            assert!(is_same, "{} to {to_hz}, {part:?}", path.display());
        }
    }
}

fn file(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

#[test]
fn parts_have_the_bits_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (from_hz, to_hz) in RATES_HZ {
        let path = file(&folder, &format!("{from_hz}.wav"));
        write(&path, (FileFormat::Wav, WavFormat::Pcm16), from_hz, 9_000);
        check(&path, to_hz);
        let path = file(&folder, &format!("{from_hz}-3.wav"));
        write_three(&path, from_hz, 9_000);
        check(&path, to_hz);
    }
}

#[test]
fn parts_of_flac_files_have_the_bits_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.flac");
    // So long that a jump looks for its place.
    write(&path, (FileFormat::Flac, WavFormat::Pcm24), 44_100, 150_000);
    check(&path, 48_000);
}

#[test]
fn files_shorter_than_the_filter_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for frames in [5, 300, 700] {
        let path = file(&folder, "short.wav");
        write(&path, (FileFormat::Wav, WavFormat::Float32), 44_100, frames);
        let whole = resample(&decode(&path).unwrap(), 48_000);
        let mut decoder = PartDecoder::open(&path, 48_000).unwrap().unwrap();
        let all = decoder.part(0..u64::MAX, 2).unwrap();
        assert_eq!(all, whole.channels);
        assert_eq!(decoder.part(2..3, 1).unwrap()[0], whole.channels[0][2..3]);
    }
}

#[test]
fn a_part_decodes_itself_and_what_the_filter_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "long.wav");
    write(&path, (FileFormat::Wav, WavFormat::Pcm16), 44_100, 2_000_000);
    let decoder = PartDecoder::open(&path, 48_000).unwrap().unwrap();
    for start in [0, 1_000_000, decoder.frames() - 48_000] {
        let decoded = decoder.decoded_frames(&(start..start + 48_000));
        assert!((44_100..46_500).contains(&decoded), "{start}: {decoded}");
    }
    // Nothing repeats between these rates, so all before is decoded.
    let odd = PartDecoder::open(&path, 48_001).unwrap().unwrap();
    assert!(odd.decoded_frames(&(1_000_000..1_000_001)) > 900_000);
}

#[test]
fn files_that_have_the_rate_or_cannot_jump_are_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a.flac");
    write(&path, (FileFormat::Flac, WavFormat::Pcm16), 48_000, 100_000);
    assert!(PartDecoder::open(&path, 48_000).unwrap().is_none());
    let mut bytes = std::fs::read(&path).unwrap();
    // The lower 36 bits of these 8 bytes are the length.
    bytes[21] &= 0xf0;
    bytes[22..26].fill(0);
    std::fs::write(&path, bytes).unwrap();
    assert!(PartDecoder::open(&path, 44_100).unwrap().is_none());
    assert!(PartDecoder::open(&file(&folder, "none"), 44_100).is_err());
}

#[test]
fn what_is_wrong_with_a_part_is_told_and_the_rest_is_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "three.wav");
    write_three(&path, 44_100, 30_000);
    let mut decoder = PartDecoder::open(&path, 48_000).unwrap().unwrap();
    decoder.part(20_000..21_000, 2).unwrap();
    assert!(decoder.warnings().is_empty());
    decoder.part(0..1_000, 2).unwrap();
    assert_eq!(decoder.warnings(), ["1 samples were NaN or infinite and are silent now"]);

    let flac = file(&folder, "a.flac");
    write(&flac, (FileFormat::Flac, WavFormat::Pcm16), 44_100, 400_000);
    let mut bytes = std::fs::read(&flac).unwrap();
    let quarter = bytes.len() / 4;
    bytes[quarter..quarter + 40].fill(0x55);
    bytes.truncate(3 * quarter);
    std::fs::write(&flac, bytes).unwrap();
    let mut decoder = PartDecoder::open(&flac, 48_000).unwrap().unwrap();
    decoder.part(0..30_000, 2).unwrap();
    assert_eq!(decoder.warnings(), [""; 0]);
    decoder.part(90_000..130_000, 2).unwrap();
    let warnings = decoder.warnings();
    assert!(warnings.len() == 1 && warnings[0].starts_with("damaged blocks: "), "{warnings:?}");
    let end = decoder.frames() - 48_000;
    let rows = decoder.part(end..end + 48_000, 2).unwrap();
    assert!(rows.iter().all(|row| row.len() == 48_000 && row.iter().all(|x| *x == 0.0)));
    let warnings = decoder.warnings();
    assert!(warnings.len() == 2 && warnings[1].contains("ends"), "{warnings:?}");
}
