//! Recordings: what the calls refuse, and what is in the files.

use super::*;
use hocket_c::event_takes::*;
use hocket_c::events::*;
use hocket_c::graph_ports::*;
use hocket_c::takes::*;

const FRAMES: usize = 64;

fn settings_of(path: &CStr) -> TakeSettings {
    TakeSettings {
        path: path.as_ptr(),
        format: HOCKET_TAKE_WAV_FLOAT,
        rate_hz: 48_000,
        channels: 2,
        start_frame: 0,
        latency_frames: 0,
        ring_frames: 0,
    }
}

/// A path in a folder of the test's own.
fn path(folder: &tempfile::TempDir, name: &str) -> CString {
    CString::new(folder.path().join(name).to_str().unwrap()).unwrap()
}

fn begin(recorder: *const Recorder, settings: *const TakeSettings) -> (*mut Take, String) {
    // SAFETY: told.
    told(|error| unsafe { hocket_take_begin(recorder, settings, error) })
}

/// What a report said: frames, messages, silent frames, silences, clipped, and why it failed.
#[derive(Debug, Default, PartialEq)]
struct Told {
    frames: u64,
    messages: u64,
    silent: u64,
    silences: Vec<(u64, u64)>,
    clipped: u64,
    why: Option<String>,
}

unsafe extern "C" fn keep(user: *mut c_void, report: *const TakeReport) {
    // SAFETY: told.
    unsafe {
        let report = &*report;
        assert!(!CStr::from_ptr(report.path).is_empty());
        let silences = match report.silence_count {
            0 => &[],
            count => std::slice::from_raw_parts(report.silences, count),
        };
        let why = (!report.why.is_null()).then(|| CStr::from_ptr(report.why));
        *user.cast() = Told {
            frames: report.frames,
            messages: report.messages,
            silent: report.silent_frames,
            silences: silences.iter().map(|it| (it.at_frame, it.frames)).collect(),
            clipped: report.clipped,
            why: why.map(|why| why.to_str().unwrap().to_owned()),
        };
    }
}

/// Finishes a take, however long the disk takes.
fn finish(take: *mut Take) -> Told {
    let mut report = Told::default();
    let user = (&raw mut report).cast();
    loop {
        // SAFETY: told.
        let (status, text) =
            told(|error| unsafe { hocket_take_finish(take, 1000, Some(keep), user, error) });
        match status {
            Status::Ok => return report,
            Status::Busy => continue,
            _ => panic!("{status:?}: {text}"),
        }
    }
}

fn sound(path: &CStr) -> Vec<Vec<f32>> {
    hocket_media::decode(std::path::Path::new(path.to_str().unwrap())).unwrap().channels
}

#[test]
fn takes_that_cannot_be_are_refused_with_a_reason() {
    let folder = tempfile::TempDir::new().unwrap();
    let (free, taken) = (path(&folder, "free.wav"), path(&folder, "taken.wav"));
    std::fs::write(taken.to_str().unwrap(), "mine").unwrap();
    // SAFETY: told.
    let recorder = unsafe { hocket_recorder_new(null_mut()) };
    let good = settings_of(&free);
    let far = path(&folder, "no folder/take.wav");
    for (wrong, words) in [
        (TakeSettings { path: null(), ..good }, "settings.path is NULL"),
        (TakeSettings { format: 5, ..good }, "settings.format of 5"),
        (TakeSettings { channels: 0, ..good }, "channels of 0"),
        (TakeSettings { channels: 65, ..good }, "channels of 65"),
        (TakeSettings { rate_hz: 3, ..good }, "rate_hz of 3"),
        (TakeSettings { ring_frames: u64::MAX, ..good }, "ring_frames"),
        (TakeSettings { format: HOCKET_TAKE_FLAC_24, channels: 9, ..good }, ""),
        (settings_of(&taken), "exists"),
        (settings_of(&far), "no folder"),
    ] {
        let (take, text) = begin(recorder, &wrong);
        assert!(take.is_null() && text.contains(words), "{words}: {text}");
    }
    assert!(begin(null(), &good).1.contains("recorder is NULL"));
    assert!(begin(recorder, null()).1.contains("settings is NULL"));
    assert_eq!(std::fs::read_to_string(taken.to_str().unwrap()).unwrap(), "mine");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left behind: {left:?}");
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_take_write(null(), null(), 0, 1), Status::BadInput);
        assert_eq!(hocket_take_skip(null(), 1), Status::BadInput);
        assert_eq!(hocket_engine_record(null(), 0, null(), 1), Status::BadInput);
        let text = told(|error| hocket_take_progress(null(), null_mut(), error)).1;
        assert!(text.contains("progress is NULL"), "{text}");
        hocket_take_free(null_mut());
        hocket_recorder_free(null_mut());
        hocket_recorder_free(recorder);
    }
}

#[test]
fn a_take_holds_what_was_written_and_reports_the_rest() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = path(&folder, "take.wav");
    // SAFETY: told.
    unsafe {
        let recorder = hocket_recorder_new(null_mut());
        let settings = TakeSettings { format: HOCKET_TAKE_WAV_16, ..settings_of(&path) };
        let (take, text) = begin(recorder, &settings);
        assert!(!take.is_null(), "{text}");
        let rows = [[0.5_f32; 100], [2.0; 100], [0.0; 100]];
        let channels = [rows[0].as_ptr(), rows[1].as_ptr(), rows[2].as_ptr()];
        assert_eq!(hocket_take_write(take, channels.as_ptr(), 3, 100), Status::BadInput);
        assert_eq!(hocket_take_write(take, channels.as_ptr(), 2, 100), Status::Ok);
        assert_eq!(hocket_take_skip(take, 50), Status::Ok);
        assert_eq!(hocket_take_write(take, channels.as_ptr(), 1, 100), Status::Ok);
        assert_eq!(hocket_take_write(take, null(), 0, 7), Status::Ok);
        let mut progress = std::mem::zeroed::<TakeProgress>();
        assert_eq!(hocket_take_progress(take, &mut progress, null_mut()), Status::Ok);
        assert!(!progress.failed && progress.frames <= 257);
        let text = told(|error| hocket_take_finish(take, 0, None, null_mut(), error)).1;
        assert!(text.contains("tell is NULL"), "{text}");
        let expected = Told {
            frames: 257,
            messages: 0,
            silent: 57,
            silences: vec![(100, 50), (250, 7)],
            clipped: 100,
            why: None,
        };
        assert_eq!(finish(take), expected);
        let sound = sound(&path);
        assert!(sound[0][..100].iter().all(|sample| *sample == 0.5));
        assert!(sound[0][100..150].iter().all(|sample| *sample == 0.0));
        assert!(sound[0][150..250].iter().all(|sample| *sample == 0.5));
        assert!(sound[1][..100].iter().all(|sample| *sample > 0.99));
        assert!(sound[1][100..].iter().all(|sample| *sample == 0.0));
        assert_eq!((sound.len(), sound[0].len()), (2, 257));
        hocket_recorder_free(recorder);
    }
}

/// Counts up on each channel, from a number of its own.
unsafe extern "C" fn ramps(user: *mut c_void, block: *const Block) {
    // SAFETY: told: `user` is a counter that outlives the engine.
    unsafe {
        let (next, block) = (&mut *user.cast::<u32>(), &*block);
        for i in 0..block.frames {
            for (channel, row) in (0..block.main_count).map(|c| (c, *block.main.add(c as usize))) {
                *row.add(i as usize) = (channel * 100_000 + *next) as f32;
            }
            *next += 1;
        }
    }
}

#[test]
fn an_output_is_recorded_while_it_plays() {
    const BLOCKS: usize = 300;
    let folder = tempfile::TempDir::new().unwrap();
    let path = path(&folder, "output.wav");
    let mut next = 0_u32;
    let processor = Processor {
        user: (&raw mut next).cast(),
        process: Some(ramps),
        cost: 1.0,
        ..Processor::default()
    };
    // SAFETY: told: `next` outlives the engine.
    unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        let node = hocket_graph_add_node(graph, c"ramps".as_ptr(), &processor, none);
        let ports = Ports { main: 3, side_chain: 2, extra: 1 };
        assert_eq!(hocket_graph_set_ports(graph, node, &ports, none), Status::Ok);
        let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings(), error));
        assert!(!engine.is_null(), "{text}");
        let recorder = hocket_recorder_new(none);
        let four = TakeSettings { channels: 4, ..settings_of(&path) };
        let take = begin(recorder, &four).0;
        assert!(!take.is_null());
        for _ in 0..BLOCKS {
            let run = hocket_engine_run(engine, FRAMES as u32, hocket_now_ns(), null_mut());
            assert_eq!(run, Status::Ok);
            assert_eq!(hocket_engine_record(engine, 0, take, FRAMES as u32), Status::Ok);
        }
        assert_eq!(hocket_engine_record(engine, 1, take, FRAMES as u32), Status::BadInput);
        assert_eq!(hocket_engine_record(engine, 0, take, 9000), Status::BadInput);
        assert_eq!(hocket_engine_record(engine, 0, null(), FRAMES as u32), Status::BadInput);
        // The recorder goes first; the take is on the disk then, and its handle stays.
        hocket_recorder_free(recorder);
        let report = finish(take);
        assert_eq!((report.frames, report.silent), ((BLOCKS * FRAMES) as u64, 0));
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
    let sound = sound(&path);
    assert_eq!((sound.len(), sound[0].len()), (4, BLOCKS * FRAMES));
    for (channel, row) in sound.iter().enumerate() {
        for (frame, sample) in row.iter().enumerate() {
            let expected = if channel < 3 { (channel * 100_000 + frame) as f32 } else { 0.0 };
            assert_eq!(*sample, expected, "channel {channel}, frame {frame}");
        }
    }
}

/// Sends the same two messages in each block.
unsafe extern "C" fn sends(_user: *mut c_void, block: *const Block) {
    for (frame, status, velocity) in [(5, 0x90, 100), (40, 0x80, 0)] {
        let data = [status, 60, velocity, 0];
        let message = Message { frame, kind: HOCKET_MESSAGE_MIDI, data, value: 0.0 };
        // SAFETY: told: the block of the running callback.
        assert_eq!(unsafe { hocket_message_send(block, &message) }, Status::Ok);
    }
}

fn event_settings(path: &CStr) -> EventTakeSettings {
    EventTakeSettings {
        path: path.as_ptr(),
        name: c"keys".as_ptr(),
        rate_hz: 48_000,
        tempos: null(),
        tempo_count: 0,
        signatures: null(),
        signature_count: 0,
        latency_frames: 0,
        room: 0,
    }
}

#[test]
fn notes_are_recorded_to_a_midi_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let (file, taken) = (path(&folder, "keys.mid"), path(&folder, "taken.mid"));
    std::fs::write(taken.to_str().unwrap(), "mine").unwrap();
    // SAFETY: told, for this test.
    unsafe {
        let recorder = hocket_recorder_new(null_mut());
        let begin = |settings: &EventTakeSettings| {
            told(|error| hocket_take_begin_events(recorder, settings, error))
        };
        let good = event_settings(&file);
        let fast = hocket_c::time::TempoPoint { beats: 0.0, bpm: 1e9, glides: false };
        for (wrong, words) in [
            (EventTakeSettings { path: null(), ..good }, "settings.path is NULL"),
            (EventTakeSettings { name: null(), ..good }, "settings.name is NULL"),
            (EventTakeSettings { rate_hz: 3, ..good }, "rate_hz of 3"),
            (EventTakeSettings { room: u64::MAX, ..good }, "settings.room"),
            (EventTakeSettings { tempo_count: 1, ..good }, "settings.tempos"),
            (EventTakeSettings { tempos: &fast, tempo_count: 1, ..good }, "tempo"),
            (event_settings(&taken), "exists"),
        ] {
            let (take, text) = begin(&wrong);
            assert!(take.is_null() && text.contains(words), "{words}: {text}");
        }
        let processor = Processor { process: Some(sends), cost: 1.0, ..Processor::default() };
        let graph = hocket_graph_new();
        assert_eq!(hocket_graph_add_node(graph, c"keys".as_ptr(), &processor, null_mut()), 0);
        let ports = hocket_graph_set_event_ports(graph, 0, false, true, null_mut());
        assert_eq!(ports, Status::Ok);
        let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings(), error));
        assert!(!engine.is_null(), "{text}");
        let (take, text) = begin(&good);
        assert!(!take.is_null(), "{text}");
        for _ in 0..10 {
            assert_eq!(
                hocket_engine_run(engine, FRAMES as u32, hocket_now_ns(), null_mut()),
                Status::Ok
            );
            let recorded = hocket_engine_record_events(engine, 0, take, FRAMES as u32);
            assert_eq!(recorded, Status::Ok);
        }
        let sound = path(&folder, "sound.wav");
        let (audio, text) = super::takes::begin(recorder, &settings_of(&sound));
        assert!(!audio.is_null(), "{text}");
        for (output, take) in [(9, take.cast_const()), (0, audio.cast_const()), (0, null())] {
            let refused = hocket_engine_record_events(engine, output, take, FRAMES as u32);
            assert_eq!(refused, Status::BadInput);
        }
        assert_eq!(hocket_take_write(take, null(), 0, 64), Status::BadInput, "it takes no sound");
        assert_eq!(hocket_engine_record(engine, 0, take, FRAMES as u32), Status::BadInput);
        let expected = Told { frames: 640, messages: 20, ..Told::default() };
        assert_eq!(finish(take), expected);
        assert_eq!(finish(audio), Told::default());
        assert!(std::fs::read(file.to_str().unwrap()).unwrap().starts_with(b"MThd"));
        hocket_recorder_free(recorder);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}
