//! What is recorded is what was given, with silence of equal length where frames found no room.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{bits, noise};
use hocket_disk::{
    Missing, Recorder, RecorderSettings, Recovery, Silence, TakeFormat, TakeReport, TakeSettings,
    WavFormat, recover,
};
use hocket_media::{FlacEncoder, WavLayout, Written, decode};

const PATIENCE: Duration = Duration::from_secs(600);

fn recorder() -> Recorder {
    let settings = RecorderSettings { chunk_frames: 256, ..RecorderSettings::default() };
    Recorder::start(RecorderSettings { poll: Duration::from_millis(1), ..settings })
}

/// Records the rows in blocks of changing length, with room for all of it.
fn record(path: &Path, format: TakeFormat, rows: &[Vec<f32>]) -> TakeReport {
    let recorder = recorder();
    let ring_frames = rows[0].len();
    let settings =
        TakeSettings { format, ring_frames, ..TakeSettings::new(path, 48_000, rows.len()) };
    let (mut input, take) = recorder.begin(&settings).unwrap();
    let mut at = 0;
    for length in (1..700).cycle() {
        let length = length.min(rows[0].len() - at);
        if length == 0 {
            break;
        }
        let block: Vec<&[f32]> = rows.iter().map(|row| &row[at..at + length]).collect();
        assert_eq!(input.write(&block), length);
        at += length;
    }
    drop(input);
    take.finish(PATIENCE).unwrap()
}

/// As a file of integers holds it.
fn rounded(row: &[f32], full_scale: f32) -> Vec<f32> {
    row.iter().map(|x| (x * full_scale).round_ties_even() / full_scale).collect()
}

#[test]
fn every_format_and_channel_count_holds_what_was_given() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (format, full_scale, channels)) in [
        (TakeFormat::Wav(WavFormat::Float32), None, 2),
        (TakeFormat::Wav(WavFormat::Float32), None, 64),
        (TakeFormat::Wav(WavFormat::Pcm24), Some(8_388_608.0), 1),
        (TakeFormat::Wav(WavFormat::Pcm24), Some(8_388_608.0), 5),
        (TakeFormat::Wav(WavFormat::Pcm16), Some(32_768.0), 2),
        (TakeFormat::Flac16, Some(32_768.0), 1),
        (TakeFormat::Flac24, Some(8_388_608.0), 2),
        (TakeFormat::Flac24, Some(8_388_608.0), 8),
    ]
    .into_iter()
    .enumerate()
    {
        let rows: Vec<Vec<f32>> = (0..channels).map(|seed| noise(9_001, seed)).collect();
        let path = folder.path().join(format!("{index}"));
        let report = record(&path, format, &rows);
        assert_eq!((report.frames, report.silent_frames), (9_001, 0));
        assert!(report.error.is_none(), "{report:?}");
        let audio = decode(&path).unwrap();
        assert_eq!(
            (audio.channels.len(), &audio.warnings[..]),
            (rows.len(), &[][..]),
            "{format:?}"
        );
        for (row, channel) in rows.iter().zip(&audio.channels) {
            let row = full_scale.map_or(row.clone(), |full_scale| rounded(row, full_scale));
            assert!(bits(&row) == bits(channel), "{format:?}, {channels} channels");
        }
        assert_eq!(recover(&path).unwrap(), Recovery::Intact { frames: 9_001 });
    }
}

#[test]
fn frames_that_never_arrived_are_told_with_their_places_and_nothing_takes_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let recorder = Recorder::start(RecorderSettings::default());
    let (mut input, take) = recorder.begin(&TakeSettings::new(&path, 48_000, 1)).unwrap();
    let watch = take.watch();
    let sound = noise(30_000, 1);
    // More places than are told.
    for frame in &sound {
        input.miss(2);
        input.write(&[std::slice::from_ref(frame)]);
    }
    input.miss(0);
    let status = watch.status();
    assert_eq!((status.missing_frames, status.missing_at), (60_000, Some(0)), "told at once");
    drop(input);
    let report = take.finish(PATIENCE).unwrap();
    assert_eq!((report.frames, report.silent_frames), (30_000, 0));
    assert_eq!((report.missing_frames, report.missing_places), (60_000, 30_000));
    let first: Vec<Missing> = (0..1_000).map(|at_frame| Missing { at_frame, frames: 2 }).collect();
    assert!(report.missing == first);
    assert!(bits(&sound) == bits(&decode(&path).unwrap().channels[0]));
    let manifest = std::fs::read_to_string(folder.path().join("a.wav.take.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    assert_eq!(manifest["missing"].as_array().unwrap().len(), 1_000);
    assert_eq!(manifest["missing"][7]["at_frame"].as_integer(), Some(7));
    assert_eq!(manifest["end"]["missing_frames"].as_integer(), Some(60_000));
}

#[test]
fn frames_without_room_become_silence_of_equal_length_and_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in
        [("a.wav", TakeFormat::Wav(WavFormat::Float32)), ("a.flac", TakeFormat::Flac16)]
    {
        let path = folder.path().join(name);
        let recorder =
            Recorder::start(RecorderSettings { chunk_frames: 64, ..RecorderSettings::default() });
        let settings =
            TakeSettings { format, ring_frames: 128, ..TakeSettings::new(&path, 48_000, 2) };
        let (mut input, take) = recorder.begin(&settings).unwrap();
        let (left, right) = (noise(100_000, 1), noise(100_000, 2));
        // Faster than any disk, then with pauses, in which there is room again.
        for (block, (left, right)) in left.chunks(100).zip(right.chunks(100)).enumerate() {
            input.write(&[left, right]);
            if block % 50 == 0 {
                std::thread::sleep(Duration::from_millis(15));
            }
        }
        input.skip(777);
        input.write(&[&[0.25; 10], &[0.25; 10]]);
        let (frames, lost) = (input.frames(), input.lost_frames());
        drop(input);
        let report = take.finish(PATIENCE).unwrap();
        assert_eq!(frames, 100_787);
        assert_eq!((report.frames, report.silent_frames), (frames, lost + 777), "never shorter");
        assert_eq!(report.silences.iter().map(|silence| silence.frames).sum::<u64>(), lost + 777);
        let audio = decode(&path).unwrap();
        let full_scale = if name == "a.flac" { 32_768.0 } else { 8_388_608.0 * 4.0 };
        let mut expected = [rounded(&left, full_scale), rounded(&right, full_scale)];
        for row in &mut expected {
            row.resize(100_777, 0.0);
            row.resize(100_787, 0.25);
            for Silence { at_frame, frames } in &report.silences {
                row[*at_frame as usize..(at_frame + frames) as usize].fill(0.0);
            }
        }
        assert!(bits(&expected[0]) == bits(&audio.channels[0]), "{name}");
        assert!(bits(&expected[1]) == bits(&audio.channels[1]), "{name}");
        let manifest =
            std::fs::read_to_string(folder.path().join(format!("{name}.take.toml"))).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        assert_eq!(manifest["silence"].as_array().unwrap().len(), report.silences.len());
        assert_eq!(manifest["end"]["frames"].as_integer(), Some(frames as i64));
    }
}

#[test]
fn beyond_4_gib_a_wav_file_is_rf64_and_can_be_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let recorder = recorder();
    let (mut input, take) = recorder.begin(&TakeSettings::new(&path, 96_000, 64)).unwrap();
    let block = noise(1000, 1);
    let rows = vec![&block[..]; 64];
    input.write(&rows);
    // Silence is a hole, so this needs no disk.
    input.skip(1 << 24);
    input.write(&rows);
    drop(input);
    let report = take.finish(PATIENCE).unwrap();
    assert!(report.error.is_none(), "{report:?}");
    assert_eq!(report.frames, (1 << 24) + 2000);
    let check = || {
        let file = std::fs::File::open(&path).unwrap();
        let mut stream =
            hocket_media::StreamDecoder::open(&path, std::sync::Arc::new(file)).unwrap();
        assert_eq!((stream.info().frames, stream.info().warnings.len()), (report.frames, 0));
        let mut rows = vec![vec![0.0; 1000]; 64];
        let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
        assert_eq!(stream.read((1 << 24) + 1000, &mut slices).unwrap(), 1000);
        assert!(rows.iter().all(|row| bits(row) == bits(&block)));
    };
    check();
    // As after the first sync: a plain header that states little.
    let layout = WavLayout { samples: WavFormat::Float32, sample_rate_hz: 96_000, channels: 64 };
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &layout.take_header(1000), 0).unwrap();
    std::fs::remove_file(folder.path().join("long.wav.take.toml")).unwrap();
    let all = report.frames;
    assert_eq!(recover(&path).unwrap(), Recovery::Repaired { stated: Some(1000), frames: all });
    check();
    assert_eq!(recover(&path).unwrap(), Recovery::Intact { frames: all });
}

#[test]
fn nothing_is_ever_overwritten_and_bad_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder();
    let there = folder.path().join("there.wav");
    std::fs::write(&there, "mine").unwrap();
    let refused = recorder.begin(&TakeSettings::new(&there, 48_000, 2)).unwrap_err().to_string();
    assert!(refused.contains("there.wav") && refused.contains("choose another name"), "{refused}");
    let manifest = folder.path().join("b.wav.take.toml");
    std::fs::write(&manifest, "mine too").unwrap();
    assert!(recorder.begin(&TakeSettings::new(&folder.path().join("b.wav"), 48_000, 2)).is_err());
    let bad = |channels, rate, format, name: &str| {
        let new = TakeSettings::new(&folder.path().join(name), rate, channels);
        recorder.begin(&TakeSettings { format, ..new }).unwrap_err().to_string()
    };
    let float = TakeFormat::Wav(WavFormat::Float32);
    assert!(bad(0, 48_000, float, "c.wav").contains("1 to 64 channels"));
    assert!(bad(1000, 48_000, float, "c.wav").contains("1 to 64 channels"));
    assert!(bad(2, 0, float, "c.wav").contains("0 Hz"));
    assert!(bad(9, 48_000, TakeFormat::Flac16, "c.flac").contains("1 to 8 channels"));
    assert!(bad(2, 192_000, TakeFormat::Flac24, "c.flac").contains("96000 Hz"));
    assert!(bad(2, 48_000, float, "none/c.wav").contains("create the folder first"));
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert_eq!(std::fs::read(&manifest).unwrap(), b"mine too");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn a_recording_that_goes_on_is_not_recovered_and_a_stop_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let recorder = recorder();
    let (mut input, take) = recorder.begin(&TakeSettings::new(&path, 48_000, 1)).unwrap();
    input.write(&[&[0.5; 512]]);
    let refused = recover(&path).unwrap_err().to_string();
    assert!(refused.contains("stop the recording first"), "{refused}");
    let watch = take.watch();
    let take = take.finish(Duration::ZERO).unwrap_err();
    recorder.stop();
    let report = take.finish(Duration::ZERO).unwrap();
    assert_eq!(report.frames, 512);
    // It outlives its recorder, and says that there is no room.
    for _ in 0..2000 {
        input.write(&[&[0.5; 512]]);
    }
    assert!(input.lost_frames() > 0);
    assert_eq!(watch.status().lost_frames, input.lost_frames());
    assert_eq!(decode(&path).unwrap().channels, [vec![0.5; 512]]);
}

/// Blocks of 100 frames fill no piece of 256: what is in the hands of the input when the recorder stops is written too.
#[test]
fn a_stop_writes_every_frame_that_was_given_also_of_a_piece_that_is_not_full() {
    let folder = tempfile::tempdir().unwrap();
    for (name, blocks) in [("a.wav", 1), ("b.wav", 2), ("c.wav", 7)] {
        let path = folder.path().join(name);
        let recorder = recorder();
        let (mut input, take) = recorder.begin(&TakeSettings::new(&path, 48_000, 1)).unwrap();
        let row = noise(100 * blocks, 1);
        row.chunks(100).for_each(|block| assert_eq!(input.write(&[block]), 100));
        recorder.stop();
        let report = take.finish(Duration::ZERO).unwrap();
        assert_eq!(report.frames, input.frames());
        assert!(bits(&decode(&path).unwrap().channels[0]) == bits(&row));
        assert_eq!((input.write(&[&[0.5; 9]]), input.lost_frames()), (0, 9), "after the stop");
        assert_eq!(input.write_waiting(&[&[0.5; 9]], PATIENCE), 0, "nobody waits for room");
    }
}

/// A thread gives frames while another one stops the recorder: what found room is in the file, and nothing else.
#[test]
fn a_stop_beside_a_thread_that_writes_loses_nothing_that_found_room() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let path = folder.path().join(format!("{round}.wav"));
        let recorder = recorder();
        let settings = TakeSettings { ring_frames: 1 << 20, ..TakeSettings::new(&path, 48_000, 1) };
        let (mut input, take) = recorder.begin(&settings).unwrap();
        let row = noise(60, 1);
        let writer = std::thread::spawn(move || {
            let mut found_room = 0;
            while input.lost_frames() == 0 {
                found_room += input.write(&[&row]) as u64;
            }
            found_room
        });
        std::thread::sleep(Duration::from_micros(200 * round));
        recorder.stop();
        let report = take.finish(Duration::ZERO).unwrap();
        let found_room = writer.join().unwrap();
        assert_eq!(report.frames - report.silent_frames, found_room, "round {round}");
    }
}

/// A header as other programs leave it, and what is to become of it.
#[test]
fn only_headers_that_state_too_little_are_repaired_and_the_time_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: 48_000, channels: 2 };
    let data_at = layout.header_bytes() as usize;
    let file = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = layout.header(1000);
        layout.encode(noise(2000, 1), &mut bytes, &mut Written::default());
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        let before = std::fs::read(&path).unwrap();
        let recovery = recover(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), old, "{recovery}");
        let after = std::fs::read(&path).unwrap();
        assert_eq!(before.len(), after.len());
        assert_eq!(before == after, !matches!(recovery, Recovery::Repaired { .. }), "{recovery}");
        recovery
    };
    let size = |bytes: &mut Vec<u8>, size: u32| {
        bytes[data_at - 4..data_at].copy_from_slice(&size.to_le_bytes())
    };
    assert_eq!(file(&|_| {}), Recovery::Intact { frames: 1000 });
    assert_eq!(file(&|bytes| size(bytes, 0)), Recovery::Repaired { stated: None, frames: 1000 });
    assert_eq!(
        file(&|bytes| size(bytes, u32::MAX)),
        Recovery::Repaired { stated: None, frames: 1000 }
    );
    assert!(decode(&path).unwrap().warnings.is_empty());
    let short = file(&|bytes| bytes[..data_at].copy_from_slice(&layout.header(10)));
    // Noise may look like a chunk's name; then it is left alone.
    assert!(matches!(short, Recovery::Repaired { stated: Some(10), frames: 1000 }), "{short}");
    assert!(matches!(file(&|bytes| size(bytes, 8000)), Recovery::LeftAlone { .. }), "cut short");
    for tail in [&b"LIST\x04\0\0\0INFO"[..], b"ID3\x04\0\0\0\0", b"TAGname"] {
        let left = file(&|bytes| bytes.extend(tail));
        assert!(matches!(left, Recovery::LeftAlone { .. }), "{left}");
    }
    // A title behind the samples that the file states, as programs write it, also behind no samples and in a take that
    // was recovered before.
    let riff = |bytes: &mut Vec<u8>| {
        let size = (bytes.len() as u32 - 8).to_le_bytes();
        bytes[4..8].copy_from_slice(&size);
    };
    let title = &b"LIST\x04\0\0\0INFO"[..];
    let titled = |bytes: &mut Vec<u8>| {
        bytes.extend(title);
        riff(bytes);
    };
    assert_eq!(file(&titled), Recovery::Intact { frames: 1000 });
    let empty = |bytes: &mut Vec<u8>| {
        bytes.truncate(data_at);
        size(bytes, 0);
        titled(bytes);
    };
    assert_eq!(file(&empty), Recovery::Intact { frames: 0 });
    let manifest = folder.path().join("a.wav.take.toml");
    std::fs::write(&manifest, "# It does not say how the take ended.\n").unwrap();
    assert_eq!(file(&titled), Recovery::Intact { frames: 1000 });
    std::fs::remove_file(manifest).unwrap();
    for content in [&b""[..], b"hello", b"RIFF\0\0\0\0WAVE", b"fLaC"] {
        std::fs::write(&path, content).unwrap();
        assert!(recover(&path).is_err(), "{content:?}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_flac_file_whose_header_states_too_little_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.flac");
    let rows = [noise(20_000, 1), noise(20_000, 2)];
    record(&path, TakeFormat::Flac16, &rows);
    let whole = std::fs::read(&path).unwrap();
    for (frames, stated) in [(0, None), (4096, Some(4096))] {
        let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: 48_000, channels: 2 };
        let head = FlacEncoder::for_take(layout).unwrap().head_of(frames).unwrap();
        let mut bytes = whole.clone();
        bytes[..head.len()].copy_from_slice(&head);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(recover(&path).unwrap(), Recovery::Repaired { stated, frames: 20_000 });
        let audio = decode(&path).unwrap();
        assert_eq!(audio.frames(), 20_000);
        assert!(audio.warnings.is_empty(), "{:?}", audio.warnings);
        assert_eq!(recover(&path).unwrap(), Recovery::Intact { frames: 20_000 });
    }
}

/// So it may be moved, and the space of one that is removed is free at once.
#[test]
fn a_take_that_has_reported_holds_no_file_open() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..50 {
        let path = folder.path().join(format!("{number}.wav"));
        record(&path, TakeFormat::Wav(WavFormat::Float32), &[vec![0.5; 300]]);
        let open: Vec<_> = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .filter(|file| file.starts_with(&path))
            .collect();
        assert!(open.is_empty(), "{open:?}");
    }
}

#[test]
fn a_take_whose_file_went_away_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (path, recorder) = (folder.path().join("a.wav"), recorder());
    let (mut input, take) = recorder.begin(&TakeSettings::new(&path, 48_000, 1)).unwrap();
    assert_eq!(input.write(&[&[0.5; 300]]), 300);
    std::fs::remove_file(&path).unwrap();
    drop(input);
    let error = take.finish(PATIENCE).unwrap().error.unwrap().to_string();
    assert!(error.contains("a.wav") && error.contains("removed"), "{error}");
}
