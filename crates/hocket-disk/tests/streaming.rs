//! What streams is, bit for bit, what is decoded in memory.

mod common;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{Disk, GoesOn, OnDisk, Random, bits, noise, preloader, wait_for, written};
use hocket_disk::{
    OpenError, PreloadError, Preloader, SeekCost, Settings, StreamReader, WavFormat,
};
use hocket_media::{Audio, WavLayout, Written, decode};

/// What should sound at `position`: silence behind the end.
fn expected(audio: &Audio, position: u64, frames: usize) -> Vec<Vec<u32>> {
    let sample = |row: &[f32], at: u64| row.get(at as usize).copied().unwrap_or(0.0).to_bits();
    let row = |row: &Vec<f32>| (0..frames as u64).map(|i| sample(row, position + i)).collect();
    audio.channels.iter().map(row).collect()
}

fn read(
    reader: &mut StreamReader,
    waits: bool,
    position: u64,
    frames: usize,
) -> (usize, Vec<Vec<f32>>) {
    let mut rows = vec![vec![f32::NAN; frames]; reader.channels()];
    let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    let ready = match waits {
        true => reader.read_waiting(position, &mut slices),
        false => reader.read(position, &mut slices),
    };
    (ready, rows)
}

/// Plays with random block lengths, jumps and loops, as an offline renderer does.
fn check(preloader: &Preloader, path: &Path, seed: u64) {
    let audio = decode(path).unwrap();
    let frames = audio.frames() as u64;
    let (stream, mut reader) = preloader.open(path, 48_000, 3).unwrap();
    assert_eq!((stream.info().frames, stream.info().channels), (frames, audio.channels.len()));
    let mut random = Random(seed);
    let mut lap: Option<Range<u64>> = None;
    let mut position = 0;
    for _ in 0..400 {
        match random.below(12) {
            0 => position = random.below(frames + 100),
            1 => {
                position = random.below(frames);
                reader.locate(position);
            }
            2 => {
                let start = random.below(frames);
                let length =
                    1 + if random.below(2) == 0 { random.below(300) } else { random.below(frames) };
                lap = Some(start..(start + length).min(frames + 50));
                reader.set_loop(lap.clone());
            }
            3 => {
                lap = None;
                reader.set_loop(None);
            }
            4 => stream.preload(random.below(frames), Duration::from_secs(600)).unwrap_or_default(),
            _ => {}
        }
        let mut wanted = 1 + random.below(700) as usize;
        // A block ends at the end of the loop.
        if let Some(lap) = lap.as_ref().filter(|lap| position < lap.end) {
            wanted = wanted.min((lap.end - position) as usize);
        }
        let (ready, rows) = read(&mut reader, true, position, wanted);
        assert_eq!(ready, wanted);
        for (row, expected) in rows.iter().zip(expected(&audio, position, wanted)) {
            assert!(
                bits(row) == expected,
                "{} at {position}, {wanted} frames, {lap:?}",
                path.display()
            );
        }
        position += wanted as u64;
        if let Some(lap) = lap.as_ref().filter(|lap| lap.end == position) {
            position = lap.start;
        }
    }
    assert_eq!((reader.not_ready_frames(), stream.report().gaps.len()), (0, 0));
}

#[test]
fn offline_every_format_gives_the_bits_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let preloader = preloader(512);
    for (seed, (name, samples)) in [
        ("a16.wav", WavFormat::Pcm16),
        ("a24.wav", WavFormat::Pcm24),
        ("a32.wav", WavFormat::Float32),
        ("a16.flac", WavFormat::Pcm16),
        ("a24.flac", WavFormat::Pcm24),
    ]
    .into_iter()
    .enumerate()
    {
        let path = written(folder.path(), name, samples, 20_011);
        for round in 0..5 {
            check(&preloader, &path, 10 * seed as u64 + round);
        }
    }
    let adpcm = folder.path().join("adpcm.wav");
    std::fs::write(&adpcm, common::ima_adpcm(30)).unwrap();
    let integers = folder.path().join("i32.wav");
    std::fs::write(&integers, integers_of_32_bits(9_999)).unwrap();
    for round in 0..5 {
        check(&preloader, &adpcm, 70 + round);
        check(&preloader, &integers, 80 + round);
    }
}

/// Mono, which Hocket does not write itself.
fn integers_of_32_bits(frames: usize) -> Vec<u8> {
    let layout = WavLayout { samples: WavFormat::Float32, sample_rate_hz: 48_000, channels: 1 };
    let mut bytes = layout.header(frames as u64);
    let fmt = bytes.windows(4).position(|part| part == b"fmt ").unwrap();
    bytes[fmt + 8] = 1;
    layout.encode(noise(frames, 3), &mut bytes, &mut Written::default());
    bytes
}

#[test]
fn a_preloaded_position_is_ready_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Float32, 100_000);
    let audio = decode(&path).unwrap();
    let preloader = preloader(1024);
    let (stream, mut reader) = preloader.open(&path, 48_000, 4).unwrap();
    let mut random = Random(1);
    for _ in 0..30 {
        let position = random.below(90_000);
        stream.preload(position, Duration::from_secs(600)).unwrap();
        reader.locate(position);
        // Two chunks are in memory, whatever the disk does.
        for block in 0..16 {
            let at = position + 128 * block;
            let (ready, rows) = read(&mut reader, false, at, 128);
            assert_eq!(ready, 128);
            assert_eq!(
                rows.iter().map(|row| bits(row)).collect::<Vec<_>>(),
                expected(&audio, at, 128)
            );
        }
    }
    assert_eq!(stream.report().not_ready_frames, 0);
}

#[test]
fn many_streams_are_preloaded_at_once_and_those_that_fail_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 60_000);
    let disk = common::Disk::new(&path, 7);
    let preloader = preloader(1024);
    let mut opened: Vec<_> = (0..20).map(|_| preloader.open(&path, 48_000, 2).unwrap()).collect();
    let failing = std::sync::Arc::new(common::OnDisk(std::sync::Arc::clone(&disk)));
    opened.push(preloader.open_storage(failing, 48_000, 2).unwrap());
    disk.change(|state| state.fails = Some(std::io::ErrorKind::NotFound));
    let wanted: Vec<_> =
        (30_000..).zip(&opened).map(|(position, (stream, _))| (stream, position)).collect();
    assert_eq!(hocket_disk::Stream::preload_all(&wanted[..20], Duration::from_secs(600)), Ok(()));
    let errors = hocket_disk::Stream::preload_all(&wanted, Duration::from_millis(100)).unwrap_err();
    assert!(matches!(&errors[..], [PreloadError::Failing { position: 30_020, .. }]), "{errors:?}");
    for (position, (_, reader)) in (30_000..).zip(&mut opened[..20]) {
        assert_eq!(read(reader, false, position, 2048).0, 2048);
    }
}

#[test]
fn positions_for_a_reader_that_does_nothing_wait_until_it_services() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 50_000);
    let preloader = preloader(1024);
    let (stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
    for position in [5_000, 10_000, 20_000, 30_000] {
        stream.preload(position, Duration::from_secs(600)).unwrap();
    }
    let fifth = stream.preload(40_000, Duration::from_millis(50)).unwrap_err();
    assert!(matches!(fifth, PreloadError::TooSlow { position: 40_000, .. }), "{fifth}");
    reader.service();
    stream.preload(40_000, Duration::from_secs(600)).unwrap();
    for (position, frames) in [(30_000, 2048), (40_000, 2048)] {
        assert_eq!(read(&mut reader, false, position, frames).0, frames, "the latest two are kept");
    }
}

#[test]
fn a_position_that_is_wanted_again_is_one_of_the_latest_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 60_000);
    let disk = Disk::new(&path, 1);
    let preloader = preloader(256);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (stream, mut reader) = preloader.open_storage(storage, 48_000, 2).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    for position in [10_000, 20_000, 10_000, 30_000] {
        stream.preload(position, Duration::from_secs(600)).unwrap();
        reader.service();
    }
    disk.change(|state| state.stalls = true);
    for position in [10_000, 30_000] {
        assert_eq!(read(&mut reader, false, position, 512).0, 512, "{position}");
    }
}

#[test]
fn what_is_not_ready_is_silent_and_what_is_ready_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 60_000);
    let audio = decode(&path).unwrap();
    let preloader = preloader(256);
    let (stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
    let mut random = Random(9);
    let (mut position, mut silent) = (0, 0);
    // As fast as possible, so that much is not ready.
    for _ in 0..20_000 {
        if random.below(50) == 0 {
            position = random.below(60_000);
        }
        let (ready, rows) = read(&mut reader, false, position, 64);
        let expected = expected(&audio, position, 64);
        let mut missing = 0;
        for frame in 0..64 {
            let at: Vec<u32> = rows.iter().map(|row| row[frame].to_bits()).collect();
            let right: Vec<u32> = expected.iter().map(|row| row[frame]).collect();
            if at != right {
                assert_eq!(
                    at,
                    [0, 0],
                    "frame {} is neither right nor silent",
                    position + frame as u64
                );
                missing += 1;
            }
        }
        assert_eq!(64 - ready, missing);
        silent += missing as u64;
        position += 64;
    }
    assert_eq!(reader.not_ready_frames(), silent);
    assert!(stream.report().not_ready_frames <= silent);
}

#[test]
fn mono_plays_in_every_row_and_missing_channels_are_silent() {
    let folder = tempfile::tempdir().unwrap();
    let preloader = preloader(512);
    let mono = folder.path().join("mono.wav");
    std::fs::write(&mono, integers_of_32_bits(1000)).unwrap();
    let stereo = written(folder.path(), "stereo.wav", WavFormat::Float32, 1000);
    for (path, same) in [(mono, true), (stereo, false)] {
        let (_stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
        let mut rows = vec![vec![f32::NAN; 200]; 3];
        let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
        assert_eq!(reader.read_waiting(100, &mut slices), 200);
        assert_eq!(rows[0] == rows[1], same);
        assert_eq!(rows[2] == vec![0.0; 200], !same);
    }
}

#[test]
fn the_budget_is_kept_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 5000);
    let settings = Settings { chunk_frames: 1024, ..Settings::new(12 * 2 * 1024 * 4 * 4) };
    assert_eq!(settings.ring_chunks_for(&[2, 2, 2, 2]), Some(4));
    assert_eq!(settings.ring_chunks_for(&[2; 8]), None, "fewer than two chunks each");
    let preloader = Preloader::start(settings.clone()).unwrap();
    let all = preloader.left_bytes();
    let streams: Vec<_> = (0..4).map(|_| preloader.open(&path, 48_000, 4).unwrap()).collect();
    assert_eq!(preloader.left_bytes(), 0);
    let locked: usize =
        streams.iter().flat_map(|(_, reader)| reader.memory()).map(|range| range.bytes).sum();
    assert_eq!(locked, all, "all of the budget is memory that can be locked");
    let refused = preloader.open(&path, 48_000, 2).unwrap_err();
    assert!(matches!(refused, OpenError::OverBudget { left_bytes: 0, .. }), "{refused}");
    assert!(refused.to_string().contains("enlarge the disk buffer"), "{refused}");
    drop(streams);
    assert_eq!(preloader.left_bytes(), all);
}

#[test]
fn what_cannot_stream_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 5000);
    let preloader = preloader(1024);
    let refused = preloader.open(&path, 44_100, 4).unwrap_err();
    assert!(matches!(refused, OpenError::OtherRate { has_hz: 48_000, wants_hz: 44_100, .. }));
    assert!(refused.to_string().contains("decode and convert it in memory"), "{refused}");
    for (name, content) in [("empty.wav", &b""[..]), ("text.wav", b"hello, this is some text")] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        assert!(matches!(preloader.open(&path, 48_000, 4), Err(OpenError::Media(_))), "{name}");
    }
    assert!(
        preloader.open(folder.path(), 48_000, 4).unwrap_err().to_string().contains("regular file")
    );
    assert!(preloader.open(&folder.path().join("none.wav"), 48_000, 4).is_err());
    let adpcm = folder.path().join("adpcm.wav");
    std::fs::write(&adpcm, common::ima_adpcm(3)).unwrap();
    let (stream, _reader) = preloader.open(&adpcm, 48_000, 4).unwrap();
    assert_eq!(
        stream.info().seek,
        SeekCost::FromTheStart,
        "a caller finds out that jumps are dear"
    );
}

#[test]
fn a_reader_outlives_its_preloader_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 50_000);
    let preloader = preloader(256);
    let (_stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
    preloader.stop();
    let (ready, rows) = read(&mut reader, true, 40_000, 1000);
    assert_eq!((ready, rows[0] == vec![0.0; 1000]), (0, true));
    assert_eq!(reader.not_ready_frames(), 1000);
}

/// The ends that real-time threads have can move there; handles can be shared by control threads.
#[test]
fn ends_may_go_to_other_threads() {
    fn moves<T: Send>() {}
    fn shares<T: Send + Sync>() {}
    moves::<StreamReader>();
    moves::<hocket_disk::TakeInput>();
    shares::<hocket_disk::Stream>();
    shares::<hocket_disk::Take>();
    shares::<Preloader>();
    shares::<hocket_disk::Recorder>();
}

#[test]
fn a_stream_is_filled_when_all_that_finds_room_is_read_from_where_its_reader_will_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 20_000);
    let disk = Disk::new(&path, 1);
    let preloader = preloader(256);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (stream, mut reader) = preloader.open_storage(storage, 48_000, 4).unwrap();
    wait_for("it is filled from the start", || stream.is_filled());
    disk.change(|state| state.stalls = true);
    reader.locate(7_000);
    assert!(!stream.is_filled(), "the disk stalls");
    disk.change(|state| state.stalls = false);
    wait_for("it is filled from the new place", || stream.is_filled());
    let mut rows = [vec![0.0; 1_024], vec![0.0; 1_024]];
    let [left, right] = &mut rows;
    assert_eq!(reader.read(7_000, &mut [left, right]), 1_024);
    // Less than the ring holds is left of the file.
    reader.locate(19_900);
    wait_for("the rest is there", || stream.is_filled());
    assert_eq!(reader.read(19_900, &mut [&mut rows[0][..100]]), 100);
}

#[test]
fn a_position_can_be_wanted_before_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 20_000);
    let preloader = preloader(256);
    let (stream, mut reader) = preloader.open(&path, 48_000, 4).unwrap();
    let wanted = stream.want(9_000);
    stream.wait(wanted, Duration::from_secs(600)).unwrap();
    assert_eq!(reader.read(9_000, &mut [&mut [0.0; 512]]), 512);
}

#[test]
fn a_caller_who_gives_up_ends_no_wait_of_another_one_for_the_same_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 20_000);
    let disk = Disk::new(&path, 1);
    let preloader = preloader(256);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (stream, mut reader) = preloader.open_storage(storage, 48_000, 4).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    disk.change(|state| state.stalls = true);
    let [patient, hasty] = [9_000, 9_000].map(|position| stream.want(position));
    assert!(stream.wait(hasty, Duration::ZERO).is_err());
    assert!(stream.wait(patient, Duration::ZERO).is_err(), "nobody has read it");
    let patient = stream.want(9_000);
    assert!(stream.preload(9_000, Duration::ZERO).is_err());
    disk.change(|state| state.stalls = false);
    stream.wait(patient, Duration::from_secs(600)).unwrap();
    disk.change(|state| state.stalls = true);
    assert_eq!(reader.read(9_000, &mut [&mut [0.0; 512]]), 512);
}

#[test]
fn a_position_that_is_in_memory_is_there_although_no_thread_can_look() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 20_000);
    let disk = Disk::new(&path, 1);
    let preloader = preloader(256);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (stream, mut reader) = preloader.open_storage(storage, 48_000, 4).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    let [first, second] = [9_000, 12_000].map(|position| stream.want(position));
    // Positions come in their order.
    stream.wait(second, Duration::from_secs(600)).unwrap();
    disk.change(|state| state.stalls = true);
    reader.locate(16_000);
    wait_for("a thread waits for it", || disk.see(|state| state.waiting) > 0);
    stream.wait(first, Duration::ZERO).unwrap();
}

#[test]
fn a_reader_that_waited_does_not_wait_any_more_when_it_plays_live() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 20_000);
    let disk = Disk::new(&path, 1);
    let preloader = preloader(256);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (stream, mut reader) = preloader.open_storage(storage, 48_000, 4).unwrap();
    let mut row = [0.0; 512];
    assert_eq!(reader.read_waiting(0, &mut [&mut row]), 512);
    disk.change(|state| state.stalls = true);
    // Far behind what is read ahead.
    assert_eq!(reader.read(15_000, &mut [&mut row]), 0);
    disk.change(|state| state.stalls = false);
    wait_for("it is counted", || stream.report().not_ready_frames == 512);
}

/// No thread looks within a test because of this time.
const NEVER: Duration = Duration::from_secs(3600);

#[test]
fn a_jump_that_was_expected_is_found_although_the_usual_look_is_far_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 60_000);
    let disk = Disk::new(&path, 1);
    let settings = Settings { chunk_frames: 1024, poll: NEVER, ..Settings::new(64 << 20) };
    let preloader = Preloader::start(settings).unwrap();
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let (_stream, mut reader) = preloader.open_storage(storage, 48_000, 4).unwrap();
    // Four bytes for each frame.
    let is_read_up_to = |frame: u64| disk.see(|state| state.read_up_to) >= 4 * frame;
    wait_for("the ring is full", || is_read_up_to(4 * 1024));
    preloader.expect_jumps(NEVER);
    for place in [20_000, 40_000] {
        // By now the threads rest.
        std::thread::sleep(Duration::from_millis(20));
        reader.locate(place);
        wait_for("the place is read", || is_read_up_to(place + 1024));
    }
}
