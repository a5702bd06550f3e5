//! Takes of events: what is in the MIDI file, where, and what is there after an interruption.

use std::path::Path;
use std::time::Duration;

use hocket_disk::{
    EventTakeInput, EventTakeSettings, EventsReport, Recorder, RecorderSettings, Recovery, Take,
    TakeReport, recover,
};
use hocket_time::{
    Event, EventBuffer, EventKind, Midi1, Note, NoteAction, Pushed, Source, TempoMap, TempoPoint,
};
use midly::live::LiveEvent;
use midly::{MetaMessage, Smf, Timing, TrackEventKind};

const RATE_HZ: u32 = 48_000;
const LONG: Duration = Duration::from_secs(120);

fn recorder() -> Recorder {
    Recorder::start(RecorderSettings::default())
}

fn midi(bytes: &[u8]) -> EventKind {
    EventKind::Midi(Midi1::new(bytes).unwrap())
}

fn buffer(events: &[(u32, EventKind)]) -> EventBuffer {
    let mut buffer = EventBuffer::new(1024, 4096);
    for (frame, kind) in events {
        assert_eq!(buffer.push(Event::new(*frame, Source::LIVE, *kind)), Pushed::Stored);
    }
    buffer
}

fn end(input: EventTakeInput, take: Take) -> TakeReport {
    drop(input);
    let report = take.finish(LONG).expect("the disk answers");
    assert!(report.error.is_none(), "{:?}", report.error);
    report
}

/// The messages of the second track with their places in quarter notes; the track's name; where it ends.
struct Read {
    messages: Vec<(f64, Vec<u8>)>,
    name: String,
    end: f64,
}

fn read(path: &Path) -> Read {
    let bytes = std::fs::read(path).unwrap();
    let file = Smf::parse(&bytes).unwrap();
    let Timing::Metrical(ticks) = file.header.timing else { panic!("it counts beats") };
    let ticks = f64::from(ticks.as_int());
    let (mut tick, mut messages, mut name, mut end) = (0_u64, Vec::new(), String::new(), None);
    for event in &file.tracks[1] {
        tick += u64::from(event.delta.as_int());
        let at = tick as f64 / ticks;
        match event.kind {
            TrackEventKind::Midi { channel, message } => {
                let mut bytes = Vec::new();
                LiveEvent::Midi { channel, message }.write(&mut bytes).unwrap();
                messages.push((at, bytes));
            }
            TrackEventKind::SysEx(data) => messages.push((at, [&[0xf0], data].concat())),
            TrackEventKind::Meta(MetaMessage::TrackName(text)) => {
                name = String::from_utf8(text.into()).unwrap();
            }
            TrackEventKind::Meta(MetaMessage::EndOfTrack) => end = Some(at),
            _ => {}
        }
    }
    Read { messages, name, end: end.expect("the track ends") }
}

#[test]
fn frames_of_the_input_that_never_arrived_are_counted_and_nothing_takes_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    let recorder = recorder();
    let settings = EventTakeSettings::new(&path, "keys", RATE_HZ);
    let (mut input, take) = recorder.begin_events(&settings).unwrap();
    input.write(&buffer(&[(0, midi(&[0x90, 60, 100]))]), 0..480, 0);
    input.miss(0);
    input.miss(960);
    input.write(&buffer(&[(0, midi(&[0x80, 60, 0]))]), 0..480, 480);
    input.miss(64);
    let status = take.status();
    assert_eq!((status.missing_frames, status.missing_at), (1_024, Some(480)));
    let report = end(input, take);
    assert_eq!((report.frames, report.missing_frames, report.missing_places), (960, 1_024, 2));
    let places = report.missing.iter().map(|place| (place.at_frame, place.frames));
    assert_eq!(places.collect::<Vec<_>>(), [(480, 960), (960, 64)]);
    // 48000 Hz at 120 quarter notes per minute: 24000 frames each.
    let places = read(&path).messages.iter().map(|(at, _)| *at * 24_000.0).collect::<Vec<_>>();
    assert!((places[1] - places[0] - 480.0).abs() < 30.0, "{places:?}");
}

#[test]
fn messages_are_at_the_beats_of_the_song_and_come_back_at_their_frames() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    let tempos = vec![TempoPoint::linear(0.0, 100.0), TempoPoint::step(8.0, 170.0)];
    let map = TempoMap::new(RATE_HZ, &tempos, &[]).unwrap();
    let (start, latency_frames) = (30_000_i64, 500);
    let settings = EventTakeSettings {
        tempos,
        latency_frames,
        ..EventTakeSettings::new(&path, "keys", RATE_HZ)
    };
    let (mut input, take) = recorder_begin(&settings);
    let mut frames = Vec::new();
    for block in 0..400_u32 {
        let (first, key) = (block * 64, (block % 128) as u8);
        let frame = block * 7 % 64;
        let events = buffer(&[(frame, midi(&[0x90, key, 1])), (63, midi(&[0x80, key, 2]))]);
        // The first 20 frames of the first block are not recorded.
        let from = if block == 0 { 20 } else { 0 };
        let song = start + i64::from(first + from);
        let stored = input.write(&events, from..64, song);
        assert_eq!(stored, if frame < from { 1 } else { 2 });
        frames.extend((frame >= from).then_some(first + frame));
        frames.push(first + 63);
    }
    let report = end(input, take);
    assert_eq!(report.frames, 400 * 64 - 20);
    let written = frames.len() as u64;
    assert_eq!(report.events, Some(EventsReport { written, left_out: 0, lost: 0 }));
    let read = read(&path);
    assert_eq!(read.name, "keys");
    let heard: Vec<i64> = read.messages.iter().map(|(at, _)| map.frame_at_beats(*at)).collect();
    let late = latency_frames as i64;
    let expected: Vec<i64> = frames.iter().map(|frame| start + i64::from(*frame) - late).collect();
    assert_eq!(heard, expected);
    assert_eq!(map.frame_at_beats(read.end), start + 400 * 64 - late);
}

fn recorder_begin(settings: &EventTakeSettings) -> (EventTakeInput, Take) {
    // Its threads go on without it until the input is gone; it is kept for the length of the test program.
    let recorder = Box::leak(Box::new(recorder()));
    recorder.begin_events(settings).unwrap()
}

#[test]
fn every_kind_of_event_becomes_what_a_midi_file_can_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    let (mut input, take) = recorder_begin(&EventTakeSettings::new(&path, "all", RATE_HZ));
    let off = |channel, key| EventKind::Note(Note::off(-1, channel, key, 0.0));
    let mut events = buffer(&[
        (0, EventKind::Note(Note::on(7, 1, 60, 1.0))),
        (1, EventKind::Note(Note::on(8, 1, 64, 0.5))),
        (2, EventKind::Note(Note::on(9, 2, 64, 0.5))),
        // All notes of channel 1, and then that key of every channel.
        (3, off(1, -1)),
        (4, off(-1, 64)),
        (5, EventKind::Note(Note { action: NoteAction::End, ..Note::on(7, 1, 60, 0.0) })),
        (6, EventKind::param(3, 0.5)),
        (7, midi(&[0xf8])),
        (8, midi(&[0xb0, 64, 127])),
        (9, midi(&[0x90, 70, 99])),
        (10, EventKind::EndAllNotes),
        (12, midi(&[0xe3, 0, 80])),
        (13, midi(&[0x95, 1, 1])),
    ]);
    let bytes: Vec<u8> =
        [0xf0].into_iter().chain((0..100).map(|n| n % 128)).chain([0xf7]).collect();
    assert_eq!(events.push_sysex(11, Source::LIVE, &bytes), Pushed::Stored);
    input.write(&events, 0..64, 0);
    let report = end(input, take);
    assert_eq!(report.events, Some(EventsReport { written: 14, left_out: 2, lost: 0 }));
    let read = read(&path);
    let frames = |at: f64| (at * 0.5 * f64::from(RATE_HZ)).round();
    let messages: Vec<(f64, &[u8])> =
        read.messages.iter().map(|(at, bytes)| (frames(*at), &bytes[..])).collect();
    let expected: [(f64, &[u8]); 13] = [
        (0.0, &[0x91, 60, 127]),
        (1.0, &[0x91, 64, 64]),
        (2.0, &[0x92, 64, 64]),
        (3.0, &[0x81, 60, 64]),
        (3.0, &[0x81, 64, 64]),
        (4.0, &[0x82, 64, 64]),
        (8.0, &[0xb0, 64, 127]),
        (9.0, &[0x90, 70, 99]),
        (10.0, &[0x80, 70, 64]),
        (10.0, &[0xb0, 64, 0]),
        (11.0, &bytes),
        (12.0, &[0xe3, 0, 80]),
        (13.0, &[0x95, 1, 1]),
    ];
    assert_eq!(messages[..13], expected);
    // The note that still sounds ends with the take.
    assert_eq!(messages[13..], [(64.0, &[0x85, 1, 64][..])]);
}

#[test]
fn events_without_room_are_counted_and_no_note_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    // A recorder that looks so rarely that it is a disk which does not answer.
    let poll = Duration::from_secs(600);
    let recorder = Recorder::start(RecorderSettings { poll, ..RecorderSettings::default() });
    let settings = EventTakeSettings { room: 4, ..EventTakeSettings::new(&path, "keys", RATE_HZ) };
    let (mut input, take) = recorder.begin_events(&settings).unwrap();
    let watch = take.watch();
    let on = |key: u8| midi(&[0x90, key, 100]);
    assert_eq!(
        input.write(&buffer(&[(0, on(1)), (1, on(2)), (2, on(3)), (3, on(4))]), 0..64, 0),
        3
    );
    assert_eq!(input.write(&buffer(&[(0, midi(&[0x80, 1, 0]))]), 0..64, 64), 0);
    assert_eq!((input.lost_events(), watch.status().lost_events), (2, 2));
    drop(input);
    recorder.stop();
    let report = take.finish(LONG).unwrap();
    assert_eq!(report.events, Some(EventsReport { written: 6, left_out: 0, lost: 2 }));
    let read = read(&path);
    let (begun, ended): (Vec<_>, Vec<_>) =
        read.messages.iter().partition(|(_, bytes)| bytes[0] == 0x90);
    assert_eq!((begun.len(), ended.len()), (3, 3));
    assert!(ended.iter().all(|(at, _)| *at == read.end), "with the take");
}

#[test]
fn what_the_system_had_is_recovered_and_a_whole_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    // It never syncs by itself.
    let sync_every = Duration::from_secs(3600);
    let recorder = Recorder::start(RecorderSettings { sync_every, ..RecorderSettings::default() });
    let (mut input, take) =
        recorder.begin_events(&EventTakeSettings::new(&path, "keys", RATE_HZ)).unwrap();
    let empty = std::fs::metadata(&path).unwrap().len();
    input.write(&buffer(&[(0, midi(&[0x90, 60, 100])), (10, midi(&[0x91, 61, 100]))]), 0..64, 0);
    // Each message with its time and status has four bytes or more.
    let begun = std::time::Instant::now();
    while std::fs::metadata(&path).unwrap().len() < empty + 8 {
        assert!(begun.elapsed() < LONG, "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(recover(&path).is_err(), "it is being recorded");
    // As the end of the process would leave it, with a message of which only a part is there, and with the zeros that a power
    // cut may leave.
    for (name, rest) in [
        ("killed.mid", &[][..]),
        ("part.mid", &[5, 0x90][..]),
        ("time.mid", &[0x85][..]),
        ("sysex.mid", &[5, 0xf0, 20, 1, 2, 3][..]),
        ("cut.mid", &[0; 40][..]),
    ] {
        let copy = folder.path().join(name);
        let bytes = [&std::fs::read(&path).unwrap()[..], rest].concat();
        std::fs::write(&copy, bytes).unwrap();
        assert!(read(&copy).messages.is_empty(), "{name}: nothing is stated");
        assert_eq!(recover(&copy).unwrap(), Recovery::RepairedEvents { stated: 0, events: 4 });
        let read = read(&copy);
        let bytes: Vec<&[u8]> = read.messages.iter().map(|(_, bytes)| &bytes[..]).collect();
        let expected: [&[u8]; 4] =
            [&[0x90, 60, 100], &[0x91, 61, 100], &[0x80, 60, 64], &[0x81, 61, 64]];
        assert_eq!(bytes, expected, "{name}");
        assert_eq!(recover(&copy).unwrap(), Recovery::IntactEvents { events: 4 }, "{name}");
    }
    end(input, take);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(recover(&path).unwrap(), Recovery::IntactEvents { events: 4 });
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    assert_eq!(read(&path).messages.len(), 4);
    // A file of another program is none of ours.
    let other = folder.path().join("other.mid");
    let mut bytes = whole;
    let mark = bytes.windows(11).position(|part| part == b"Hocket take").unwrap();
    bytes[mark] = b'P';
    std::fs::write(&other, &bytes).unwrap();
    let refused = recover(&other).unwrap_err().to_string();
    assert!(refused.contains("no take of Hocket"), "{refused}");
}

/// What `recover` finds of a file with these bytes, which it leaves as they are.
fn left(path: &Path, bytes: &[u8]) -> Recovery {
    std::fs::write(path, bytes).unwrap();
    let found = recover(path).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), bytes, "{found}");
    found
}

/// Whether it is left alone, and says so.
fn is_left(path: &Path, bytes: &[u8], why: &str) {
    let found = left(path, bytes);
    assert!(matches!(found, Recovery::LeftAlone { .. }), "{found}");
    assert!(found.to_string().contains(why), "{found}");
}

#[test]
fn a_chord_that_a_sync_states_ends_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    let sync_every = Duration::from_millis(1);
    let recorder = Recorder::start(RecorderSettings { sync_every, ..RecorderSettings::default() });
    let (mut input, take) =
        recorder.begin_events(&EventTakeSettings::new(&path, "keys", RATE_HZ)).unwrap();
    let chord =
        [(0, midi(&[0x90, 60, 100])), (0, midi(&[0x93, 64, 100])), (5, midi(&[0xb0, 64, 127]))];
    input.write(&buffer(&chord), 0..64, 0);
    let copy = folder.path().join("killed.mid");
    let begun = std::time::Instant::now();
    // Up to the last step of the sync, the track has an end before its last one. Nothing is written after that step.
    while {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&copy, &bytes).unwrap();
        let ends = bytes.windows(3).filter(|it| *it == [0xff, 0x2f, 0]).count();
        read(&copy).messages.len() < 3 || ends > 2
    } {
        assert!(begun.elapsed() < LONG, "nothing is stated");
        std::thread::sleep(Duration::from_millis(1));
    }
    let synced = std::fs::read(&copy).unwrap();
    let expected: [&[u8]; 6] = [
        &[0x90, 60, 100],
        &[0x93, 64, 100],
        &[0xb0, 64, 127],
        &[0x80, 60, 64],
        &[0xb0, 64, 0],
        &[0x83, 64, 64],
    ];
    for rest in [&[][..], &[0; 9][..], &[5, 0x80][..]] {
        std::fs::write(&copy, [&synced[..], rest].concat()).unwrap();
        assert_eq!(recover(&copy).unwrap(), Recovery::RepairedEvents { stated: 3, events: 6 });
        let bytes: Vec<Vec<u8>> = read(&copy).messages.into_iter().map(|it| it.1).collect();
        assert_eq!(bytes, expected, "{rest:?}");
        assert_eq!(recover(&copy).unwrap(), Recovery::IntactEvents { events: 6 });
    }
    end(input, take);
}

/// A whole take with some notes; where its track of events begins.
fn whole_take(path: &Path) -> (Vec<u8>, usize) {
    let (mut input, take) = recorder_begin(&EventTakeSettings::new(path, "keys", RATE_HZ));
    for key in [60, 62, 64] {
        let events = buffer(&[(0, midi(&[0x90, key, 100])), (9, midi(&[0x90, key, 0]))]);
        input.write(&events, 0..64, i64::from(key - 60) * 64);
    }
    end(input, take);
    let bytes = std::fs::read(path).unwrap();
    let mut tracks = bytes.windows(4).enumerate().filter(|(_, name)| name == b"MTrk");
    let begin = tracks.next_back().unwrap().0 + 8;
    (bytes, begin)
}

/// The same events as other programs save them: a status byte only where it is another one. Readers find the same.
fn with_running_status(bytes: &[u8], begin: usize) -> Vec<u8> {
    let file = Smf::parse(bytes).unwrap();
    let mut saved = Vec::new();
    file.write(&mut saved).unwrap();
    assert!(saved.len() < bytes.len() && saved[..begin - 4] == bytes[..begin - 4]);
    saved
}

#[test]
fn what_another_program_has_saved_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, begin) = whole_take(&folder.path().join("take.mid"));
    let other = folder.path().join("other.mid");
    let whole = Recovery::IntactEvents { events: 6 };
    assert_eq!(left(&other, &bytes), whole);
    let saved = with_running_status(&bytes, begin);
    assert_eq!(left(&other, &saved), whole);
    // A track more, with and without its number in the header; another chunk.
    let track = b"MTrk\x00\x00\x00\x04\x00\xff\x2f\x00";
    for two in [&bytes, &saved] {
        let three = [&two[..], track].concat();
        is_left(&other, &three, "follows");
        is_left(&other, &[&two[..], b"XFIH\x00\x00\x00\x01\x05"].concat(), "follows");
        let mut counted = three;
        counted[11] = 3;
        is_left(&other, &counted, "another program has saved it");
    }
    // Saved with the last note on, which ends nowhere.
    let mut hangs = saved.clone();
    let velocity = saved.len() - 5;
    assert_eq!(hangs[velocity], 0, "of the last note off, before the end");
    hangs[velocity] = 100;
    is_left(&other, &hangs, "do not end");
    // A byte of the track that is damaged, before whole events and their end.
    let status = bytes[begin..].windows(2).position(|it| it == [0x90, 62]).unwrap() + begin;
    let mut damaged = bytes.clone();
    damaged[status] = 0xf5;
    is_left(&other, &damaged, "begins no event");
    // The track ends behind its last event, and not with an End of Track.
    let mut endless = bytes.clone();
    let kind = bytes.len() - 2;
    endless[kind] = 0x7f;
    assert!(matches!(left(&other, &endless), Recovery::LeftAlone { .. }));
}

/// A take that was killed between two syncs: some of its events are stated, and all that follow a sync are not.
fn killed_take(path: &Path) -> (Vec<u8>, usize) {
    let (whole, begin) = whole_take(path);
    let stated = whole.windows(3).position(|it| it == [0xff, 0x7f, 0]).unwrap() + 3;
    let mut bytes = whole;
    bytes[stated - 2] = 0x2f;
    let length = ((stated - begin) as u32).to_be_bytes();
    bytes[begin - 4..begin].copy_from_slice(&length);
    bytes.extend([0, 0xf0, 3, 1, 2, 0xf7, 0, 0x95, 50, 100, 0, 0xff, 0x2f, 0]);
    (bytes, begin)
}

/// Nothing that the track states is changed but its length and the kind of an end. `begin`: of the track.
fn check_repair(path: &Path, before: &[u8], begin: usize) {
    std::fs::write(path, before).unwrap();
    let found = recover(path);
    let after = std::fs::read(path).unwrap();
    let Ok(Recovery::RepairedEvents { events, .. }) = found else {
        assert_eq!(after, before, "{found:?}");
        return;
    };
    let length = u32::from_be_bytes(before[begin - 4..begin].try_into().unwrap());
    let stated = begin + length as usize;
    assert!(after.len() >= stated);
    for at in (0..stated).filter(|at| !(begin - 4..begin).contains(at)) {
        let is_end = (before[at], after[at]) == (0x2f, 0x7f) && before[at - 1] == 0xff;
        assert!(before[at] == after[at] || is_end, "byte {at} of {before:x?}");
    }
    assert_eq!(recover(path).unwrap(), Recovery::IntactEvents { events }, "{before:x?}");
}

#[test]
fn whatever_is_damaged_nothing_that_is_stated_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, begin) = killed_take(&folder.path().join("take.mid"));
    let path = folder.path().join("damaged.mid");
    check_repair(&path, &bytes, begin);
    assert!(matches!(recover(&path).unwrap(), Recovery::IntactEvents { .. }), "it was repaired");
    for at in begin - 4..bytes.len() {
        check_repair(&path, &bytes[..at], begin);
        for other in [0, 1, 0x2f, 0x40, 0x90, 0xf0, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = other;
            check_repair(&path, &damaged, begin);
        }
    }
}

#[test]
fn a_take_whose_file_is_gone_or_replaced_has_failed() {
    for replaced in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("take.mid");
        let (mut input, take) = recorder_begin(&EventTakeSettings::new(&path, "keys", RATE_HZ));
        input.write(&buffer(&[(0, midi(&[0x90, 60, 100]))]), 0..64, 0);
        std::fs::rename(&path, folder.path().join("elsewhere.mid")).unwrap();
        if replaced {
            std::fs::write(&path, "another one").unwrap();
        }
        drop(input);
        let error = take.finish(LONG).unwrap().error.expect("it has no file").to_string();
        assert!(error.contains("removed, renamed or replaced"), "{error}");
    }
}

#[test]
fn an_end_by_an_id_ends_that_note_and_a_reset_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    let (mut input, take) = recorder_begin(&EventTakeSettings::new(&path, "ids", RATE_HZ));
    let on = |id, channel, key| EventKind::Note(Note::on(id, channel, key, 1.0));
    let off = |id| EventKind::Note(Note::off(id, -1, -1, 0.0));
    let events = buffer(&[
        (0, on(7, 0, 60)),
        (0, on(8, 0, 64)),
        (0, on(9, 1, 60)),
        (0, midi(&[0xb2, 64, 127])),
        (10, off(7)),
        (11, off(7)),
        (12, EventKind::Note(Note::off(9, 1, -1, 0.0))),
        (20, midi(&[0xff])),
        (21, off(8)),
    ]);
    input.write(&events, 0..64, 0);
    let report = end(input, take);
    assert_eq!(report.events, Some(EventsReport { written: 8, left_out: 1, lost: 0 }));
    let frames = |at: f64| (at * 0.5 * f64::from(RATE_HZ)).round();
    let read = read(&path);
    let ends: Vec<(f64, &[u8])> =
        read.messages[4..].iter().map(|(at, bytes)| (frames(*at), &bytes[..])).collect();
    let expected: [(f64, &[u8]); 4] = [
        (10.0, &[0x80, 60, 64]),
        (12.0, &[0x81, 60, 64]),
        (20.0, &[0x80, 64, 64]),
        (20.0, &[0xb2, 64, 0]),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn a_take_of_events_replaces_nothing_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.mid");
    std::fs::write(&path, "somebody's").unwrap();
    let recorder = recorder();
    let begin = |settings: &EventTakeSettings| recorder.begin_events(settings).map(|_| ());
    assert!(begin(&EventTakeSettings::new(&path, "a", RATE_HZ)).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
    let fast = EventTakeSettings {
        tempos: vec![TempoPoint::step(0.0, 0.0)],
        ..EventTakeSettings::new(&folder.path().join("b.mid"), "b", RATE_HZ)
    };
    assert!(begin(&fast).unwrap_err().to_string().contains("tempo"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
