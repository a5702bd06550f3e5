//! Play, pause, locate, loop and tempo: what the calls refuse, and what a processor learns.

use super::*;
use hocket_c::time::*;
use hocket_c::transport::*;

fn command(action: u32, frame: i64, end: i64) -> Command {
    Command { action, at_steady_frame: 0, frame, end }
}

fn state(engine: *const Engine) -> TransportState {
    let mut state = TransportState {
        steady_frame: 0,
        position: 0,
        loop_start: 0,
        loop_end: 0,
        playing: false,
        loops: false,
    };
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_transport_state(engine, &mut state) }, Status::Ok);
    state
}

fn tempo_map(
    rate_hz: u32,
    tempos: &[TempoPoint],
    signatures: &[TimeSignature],
) -> (*mut TempoMap, String) {
    let (first, count) = (tempos.as_ptr(), tempos.len());
    let (signature, signature_count) = (signatures.as_ptr(), signatures.len());
    // SAFETY: told.
    told(|error| unsafe {
        hocket_tempo_map_new(rate_hz, first, count, signature, signature_count, error)
    })
}

fn step(beats: f64, bpm: f64) -> TempoPoint {
    TempoPoint { beats, bpm, glides: false }
}

#[test]
fn commands_that_no_song_can_follow_are_refused_with_a_reason() {
    let engine = engine(Some(ones), null_mut());
    for (wrong, words) in [
        (command(0, 0, 0), "command.action of 0"),
        (command(HOCKET_LOOP_OFF + 1, 0, 0), "HOCKET_LOCATE"),
        (command(HOCKET_LOCATE, i64::MAX, 0), "nearer"),
        (command(HOCKET_LOCATE, i64::MIN, 0), "nearer"),
        (command(HOCKET_LOOP, 0, 255), "256 frames"),
        (command(HOCKET_LOOP, 300, 0), "256 frames"),
        (command(HOCKET_LOOP, i64::MIN, i64::MAX), "start"),
    ] {
        // SAFETY: told.
        unsafe {
            let (status, text) = told(|error| hocket_engine_transport(engine, &wrong, error));
            assert!(status == Status::BadInput && text.contains(words), "{wrong:?}: {text}");
            assert_eq!(hocket_engine_command(engine, &wrong), Status::BadInput);
        }
    }
    // SAFETY: told.
    unsafe {
        let play = command(HOCKET_PLAY, 0, 0);
        assert_eq!(hocket_engine_command(null(), &play), Status::BadInput);
        assert_eq!(hocket_engine_command(engine, null()), Status::BadInput);
        assert_eq!(hocket_engine_transport(null(), &play, null_mut()), Status::BadInput);
        assert_eq!(hocket_engine_transport(engine, null(), null_mut()), Status::BadInput);
        assert_eq!(hocket_engine_transport_state(engine, null_mut()), Status::BadInput);
        assert_eq!(hocket_engine_set_tempo_map(engine, null(), null_mut()), Status::BadInput);
        let now = state(engine);
        assert!((now.position, now.playing, now.loops) == (0, true, false), "nothing has changed");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

#[test]
fn the_song_stops_jumps_and_loops_from_both_sides() {
    let engine = engine(Some(ones), null_mut());
    let from_the_leader = |command: Command| {
        // SAFETY: told.
        assert_eq!(unsafe { hocket_engine_command(engine, &command) }, Status::Ok);
    };
    let from_elsewhere = |command: Command| {
        // SAFETY: told.
        let status = unsafe { hocket_engine_transport(engine, &command, null_mut()) };
        assert_eq!(status, Status::Ok);
    };
    from_elsewhere(command(HOCKET_LOCATE, -100, 0));
    // SAFETY: told.
    assert!(unsafe { !hocket_engine_is_settled(engine) }, "a command is on its way");
    process(engine, 64);
    // SAFETY: told.
    assert!(unsafe { hocket_engine_is_settled(engine) });
    assert_eq!(state(engine).position, -36);
    from_the_leader(command(HOCKET_LOOP, 1_000, 1_256));
    from_the_leader(command(HOCKET_LOCATE, 1_240, 0));
    process(engine, 64);
    let now = state(engine);
    assert_eq!((now.position, now.loop_start, now.loop_end), (1_048, 1_000, 1_256));
    from_elsewhere(command(HOCKET_LOOP_OFF, 0, 0));
    from_elsewhere(Command { at_steady_frame: 138, ..command(HOCKET_PAUSE, 0, 0) });
    process(engine, 64);
    let now = state(engine);
    let expected = (1_058, false, false, 0, 192);
    let heard = (now.position, now.playing, now.loops, now.loop_end, now.steady_frame);
    assert_eq!(heard, expected);
    from_the_leader(command(HOCKET_PLAY, 0, 0));
    assert!(state(engine).playing);
    // 16 commands can wait for their frame.
    let later = Command { at_steady_frame: 1 << 40, ..command(HOCKET_PLAY, 0, 0) };
    // SAFETY: told.
    let sent = (0..20).map(|_| unsafe { hocket_engine_command(engine, &later) });
    assert_eq!(sent.filter(|status| *status == Status::Busy).count(), 4);
    // They leave no room for one of another thread, and hold up no other command.
    // SAFETY: told.
    let (status, text) = told(|error| unsafe { hocket_engine_transport(engine, &later, error) });
    assert!(status == Status::Busy && text.contains("16 transport commands wait"), "{text}");
    from_elsewhere(command(HOCKET_LOCATE, 7, 0));
    process(engine, 64);
    assert_eq!(state(engine).position, 71);
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_stop(engine) }, Status::Ok);
}

#[test]
fn a_tempo_map_is_checked_and_converts_both_ways() {
    let wrong = |tempos: &[TempoPoint], words: &str| {
        let (map, text) = tempo_map(48_000, tempos, &[]);
        assert!(map.is_null() && text.contains(words), "{text}");
    };
    wrong(&[], "empty");
    wrong(&[step(0.0, 0.0)], "beats per minute");
    wrong(&[step(0.0, f64::NAN)], "beats per minute");
    wrong(&[step(f64::NAN, 100.0)], "between 0 and");
    wrong(&[step(4.0, 100.0), step(0.0, 100.0)], "sort them");
    assert!(tempo_map(1, &[step(0.0, 100.0)], &[]).1.contains("1 Hz"));
    let signature = TimeSignature { beats: 0.0, numerator: 4, denominator: 3 };
    assert!(tempo_map(48_000, &[step(0.0, 100.0)], &[signature]).1.contains("4/3"));
    // SAFETY: told.
    unsafe {
        let (map, text) = told(|error| hocket_tempo_map_new(48_000, null(), 1, null(), 0, error));
        assert!(map.is_null() && text.contains("tempos is NULL"), "{text}");
        hocket_tempo_map_free(null_mut());
        let waltz = TimeSignature { beats: 4.0, numerator: 3, denominator: 4 };
        let tempos = [step(0.0, 120.0), TempoPoint { glides: true, ..step(4.0, 60.0) }];
        let (map, text) = tempo_map(48_000, &tempos, &[waltz]);
        assert_eq!(text, "");
        let mut place = 0;
        assert_eq!(hocket_tempo_map_frame_at_beats(map, 5.0, &mut place, null_mut()), Status::Ok);
        assert_eq!(place, 2 * 48_000 + 48_000);
        assert_eq!(hocket_tempo_map_frame_at_bar(map, 2, 1, &mut place, null_mut()), Status::Ok);
        assert_eq!(place, 2 * 48_000 + 4 * 48_000);
        let mut position = zeroed();
        assert_eq!(hocket_tempo_map_at(map, place, &mut position), Status::Ok);
        let Position { frame, seconds, beats, bpm, bar, beat, tick, .. } = position;
        assert_eq!((frame, seconds, beats, bpm), (place, 6.0, 8.0, 60.0));
        assert_eq!((bar, beat, tick), (2, 1, 0));
        assert_eq!((position.numerator, position.denominator), (3, 4));
        let status = hocket_tempo_map_frame_at_seconds(map, 0.5, &mut place, null_mut());
        assert_eq!((status, place), (Status::Ok, 24_000));
        for bad in [f64::NAN, f64::INFINITY, 1e300] {
            let (status, text) =
                told(|error| hocket_tempo_map_frame_at_beats(map, bad, &mut place, error));
            assert!(status == Status::BadInput && !text.is_empty(), "{bad}");
            let status = hocket_tempo_map_frame_at_seconds(map, bad, &mut place, null_mut());
            assert_eq!((status, place), (Status::BadInput, 24_000), "nothing is written");
        }
        let status = hocket_tempo_map_frame_at_bar(map, i64::MAX, 0, &mut place, null_mut());
        assert_eq!(status, Status::BadInput);
        assert_eq!(
            hocket_tempo_map_frame_at_beats(null(), 1.0, &mut place, null_mut()),
            Status::BadInput
        );
        assert_eq!(
            hocket_tempo_map_frame_at_beats(map, 1.0, null_mut(), null_mut()),
            Status::BadInput
        );
        assert_eq!(hocket_tempo_map_at(null(), 0, &mut position), Status::BadInput);
        assert_eq!(hocket_tempo_map_at(map, 0, null_mut()), Status::BadInput);
        assert_eq!(hocket_time_at(null(), 0, null_mut()), Status::BadInput);
        hocket_tempo_map_free(map);
    }
}

fn zeroed() -> Position {
    Position {
        frame: 0,
        seconds: 0.0,
        beats: 0.0,
        bpm: 0.0,
        bar: 0,
        beat: 0,
        tick: 0,
        numerator: 0,
        denominator: 0,
    }
}

/// What a processor saw at a frame: song position, beats, tempo, whether it plays, whether a jump begins there.
type Seen = (i64, f64, f64, bool, bool);

unsafe extern "C" fn notes_time(user: *mut c_void, block: *const Block) {
    // SAFETY: told; the lists have as many values as their counts.
    unsafe {
        let (seen, block) = (&mut *user.cast::<Vec<Seen>>(), &*block);
        let segments = std::slice::from_raw_parts(block.segments, block.segment_count);
        let first = &*block.time;
        assert_eq!(first.song.frame, segments[0].position);
        for frame in 0..block.frames {
            let mut time = *first;
            assert_eq!(hocket_time_at(block.clock, frame, &mut time), Status::Ok);
            assert_eq!(time.steady_frame, seen.len() as u64);
            let own = segments.iter().find(|own| frame < own.offset + own.frames).unwrap();
            assert_eq!(own.playing, time.playing);
            let jumped = own.jumped && own.offset == frame;
            seen.push((time.song.frame, time.song.beats, time.song.bpm, time.playing, jumped));
        }
        assert_eq!(hocket_time_at(block.clock, 0, null_mut()), Status::BadInput);
    }
}

#[test]
fn a_processor_that_keeps_time_knows_where_the_song_is_at_each_frame() {
    let mut seen: Vec<Seen> = Vec::new();
    let processor = Processor {
        user: (&raw mut seen).cast(),
        process: Some(notes_time),
        cost: 1.0,
        keeps_time: true,
        ..Processor::default()
    };
    // SAFETY: told.
    unsafe {
        let graph = hocket_graph_new();
        assert_eq!(hocket_graph_add_node(graph, c"one".as_ptr(), &processor, null_mut()), 0);
        let engine = hocket_engine_start_graph(graph, &settings(), null_mut());
        assert!(!engine.is_null());
        let (other_rate, _) = tempo_map(44_100, &[step(0.0, 90.0)], &[]);
        let (status, text) = told(|error| hocket_engine_set_tempo_map(engine, other_rate, error));
        assert!(status == Status::BadInput && text.contains("44100 Hz"), "{text}");
        let (map, _) = tempo_map(48_000, &[step(0.0, 90.0)], &[]);
        assert_eq!(hocket_engine_set_tempo_map(engine, map, null_mut()), Status::Ok);
        hocket_tempo_map_free(map);
        hocket_tempo_map_free(other_rate);
        let jump = Command { at_steady_frame: 70, ..command(HOCKET_LOCATE, 32_000, 0) };
        let pause = Command { at_steady_frame: 80, ..command(HOCKET_PAUSE, 0, 0) };
        assert_eq!(hocket_engine_command(engine, &jump), Status::Ok);
        assert_eq!(hocket_engine_command(engine, &pause), Status::Ok);
        (0..2).for_each(|_| _ = hocket_engine_run(engine, 64, hocket_now_ns(), null_mut()));
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
    assert_eq!(seen.len(), 128);
    assert_eq!((seen[69].0, seen[69].2, seen[69].3), (69, 90.0, true));
    assert_eq!(seen[70], (32_000, 1.0, 90.0, true, true));
    assert_eq!(seen[79].0, 32_009);
    assert_eq!((seen[80].0, seen[80].3), (32_010, false));
    assert_eq!((seen[127].0, seen[127].3), (32_010, false));
}
