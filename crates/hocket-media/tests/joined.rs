//! MP3 files whose sound does not end where their header says.

mod common;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hocket_media::{Audio, StreamDecoder, decode, examine};

const FRAME: usize = 1_152;
const RATES_HZ: [u32; 3] = [44_100, 48_000, 32_000];
const KBIT: [usize; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];

/// A frame of silence, MPEG-1 layer 3 in stereo, by the places of bit rate and sample rate in their lists.
fn frame(bit_rate: usize, rate: usize) -> Vec<u8> {
    let mut frame = vec![0; 144_000 * KBIT[bit_rate] / RATES_HZ[rate] as usize];
    frame[..4].copy_from_slice(&[0xff, 0xfb, (bit_rate << 4 | rate << 2) as u8, 0]);
    frame
}

/// A file with a header that announces so many frames; `mark` names the header.
fn file(mark: &[u8; 4], announced: u32, frames: usize, rate: usize) -> Vec<u8> {
    let mut header = frame(9, rate);
    header[36..40].copy_from_slice(mark);
    header[40..44].copy_from_slice(&[0, 0, 0, 1]);
    header[44..48].copy_from_slice(&announced.to_be_bytes());
    [header, frame(9, rate).repeat(frames)].concat()
}

/// Decodes it in every way, with one result.
fn decoded(bytes: &[u8]) -> Audio {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mp3");
    std::fs::write(&path, bytes).unwrap();
    let audio = decode(&path).unwrap();
    let stream = StreamDecoder::open(&path, Arc::new(File::open(&path).unwrap())).unwrap();
    assert_eq!(stream.info().frames, audio.frames() as u64);
    assert_eq!(stream.info().warnings, audio.warnings);
    let faults = examine(&path, &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(faults, audio.warnings);
    audio
}

#[test]
fn joined_files_play_to_the_end_and_say_where_the_first_one_ends() {
    for mark in [b"Xing", b"Info"] {
        let one = file(mark, 20, 20, 0);
        assert_eq!(decoded(&one).frames(), 20 * FRAME);
        assert!(decoded(&one).warnings.is_empty());
        let two = decoded(&[&one[..], &one].concat());
        assert_eq!(two.frames(), 40 * FRAME);
        assert_eq!(
            two.warnings,
            [
                "the sound goes on behind the announced end, after 0.522 s (frame 23040): 23040 frames more, as where files \
              were joined"
            ]
        );
        // With a tag and some bytes between them.
        let tag = b"ID3\x04\0\0\0\0\0\x0aTPE1\0\0\0\0\0\0junk";
        let three = decoded(&[&one[..], tag, &one, &one].concat());
        assert_eq!((three.frames(), three.warnings.len()), (60 * FRAME, 1));
        // A header that counts too many frames is another fault.
        let short = decoded(&file(mark, 30, 20, 0));
        assert_eq!(short.frames(), 20 * FRAME);
        assert!(short.warnings[0].starts_with("the file ends early"), "{:?}", short.warnings);
    }
}

#[test]
fn what_only_looks_like_sound_behind_the_end_is_left_out() {
    let one = file(b"Xing", 20, 20, 0);
    let few = [one.clone(), frame(9, 0).repeat(7)].concat();
    let of_all_kinds: Vec<u8> = (0..30).flat_map(|i| frame(1 + i % 14, i % 3)).collect();
    for bytes in [few, [one, of_all_kinds].concat()] {
        let audio = decoded(&bytes);
        assert_eq!((audio.frames(), &audio.warnings[..]), (20 * FRAME, &[][..]));
    }
}

#[test]
fn a_joined_file_of_another_rate_is_not_lost_without_a_word() {
    let bytes = [file(b"Xing", 20, 20, 0), file(b"Xing", 20, 20, 1)].concat();
    let audio = decoded(&bytes);
    assert_eq!(audio.frames(), 20 * FRAME);
    let words = "damaged blocks: 20 (the first after 0.522 s (frame 23040): ";
    assert!(audio.warnings[0].starts_with(words), "{:?}", audio.warnings);
}

#[test]
fn without_a_header_a_guess_of_the_length_cuts_nothing_off_and_misses_nothing() {
    let (large, small) = (frame(14, 0), frame(1, 0));
    for frames in [[&large, &small], [&small, &large]] {
        let bytes = [frames[0].repeat(20), frames[1].repeat(200)].concat();
        let audio = decoded(&bytes);
        assert_eq!((audio.frames(), &audio.warnings[..]), (220 * FRAME, &[][..]));
    }
}

#[test]
fn real_files_that_were_joined_have_the_sound_of_both() {
    let Some(data) = common::shared("real_files_that_were_joined_have_the_sound_of_both") else {
        return;
    };
    // The third one has no header that says its length.
    for (name, warns) in [
        ("mp3-cbr128-44k1-stereo.mp3", true),
        ("mp3-vbr-id3v2-cover.mp3", true),
        ("house_lo.mp3", false),
    ] {
        let path = data.join("audio/formats").join(name);
        let (bytes, one) = (std::fs::read(&path).unwrap(), decode(&path).unwrap());
        let two = decoded(&[&bytes[..], &bytes].concat());
        let (first, again) = (&one.channels[0], &two.channels[0][one.frames()..]);
        assert!(two.channels[0][..one.frames()] == first[..], "{name}");
        // The second one comes with what its encoder added at its beginning.
        let gap = again.len().checked_sub(first.len()).expect("all of the second file");
        assert!(gap <= 4 * FRAME, "{name}: {gap}");
        let distance = |at: usize| -> f32 {
            let sound = first[20_000..30_000].iter().zip(&again[20_000 + at..]);
            sound.map(|(one, other)| (one - other).abs()).sum()
        };
        let nearest = (0..=gap).map(distance).fold(f32::MAX, f32::min);
        let loud: f32 = first[20_000..30_000].iter().map(|x| x.abs()).sum();
        assert!(nearest < 0.01 * loud, "{name}: {nearest} of {loud}");
        let said = two.warnings.iter().any(|warning| warning.contains("goes on behind"));
        assert_eq!((said, two.warnings.len()), (warns, usize::from(warns)), "{name}");
    }
}
