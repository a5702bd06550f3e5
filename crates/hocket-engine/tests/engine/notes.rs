//! Notes of a session: heard at their frames under every schedule, ended where the song stops or jumps, and edited.

use hocket_engine::session::{
    ClipMessage, ClipNote, Destination, Group, LoopPoints, MidiFile, NoteClip, NoteSource, Strip,
    StripId, Track,
};
use hocket_engine::time::{Midi1, TempoPoint, TimeBase, TimedCommand, TransportCommand};
use hocket_engine::{
    Edit, EditError, Editor, Engine, Fusing, GraphError, MediaPool, PrepareError, prepare_session,
    session_end_frames,
};
use hocket_plan::{Effect, ScheduleKind, Session};

use crate::stage::{self, FRAMES, RATE_HZ, policy};

/// A sine that begins and ends within a few frames.
fn synth() -> Effect {
    let kind = hocket_dsp::kind("synth").unwrap();
    let mut values = kind.defaults();
    for (name, value) in [("wave", 0.0), ("attack_ms", 0.1), ("sustain", 1.0), ("release_ms", 1.0)]
    {
        values[kind.index_of(name).unwrap()] = value;
    }
    Effect::new("synth", values)
}

/// Notes of key 69 from a frame to another.
fn notes(frames: &[(usize, usize)]) -> NoteClip {
    let seconds = |frame: usize| frame as f64 / f64::from(RATE_HZ);
    let note = |(from, to): &(usize, usize)| ClipNote {
        at: seconds(*from),
        length: seconds(to - from),
        key: 69,
        velocity: 1.0,
        channel: 0,
    };
    let written: Vec<ClipNote> = frames.iter().map(note).collect();
    let source = NoteSource::Written(written.into());
    NoteClip { base: TimeBase::Seconds, start: 0.0, length: None, chase: true, source }
}

fn track(name: &str, chain: Vec<Effect>, notes: Vec<NoteClip>) -> Track {
    let strip = Strip { chain, ..Strip::new(name) };
    Track { strip, output: Destination::Master, clips: Vec::new(), input: None, from: None, notes }
}

fn session(tracks: Vec<Track>) -> Session {
    Session { tracks, sample_rate_hz: RATE_HZ, ..Session::default() }
}

fn engine(session: &Session, kind: ScheduleKind) -> Engine {
    let prepared =
        prepare_session(session, &MediaPool::default(), RATE_HZ, Fusing::Chains).unwrap();
    stage::engine(prepared, policy(kind), if kind == ScheduleKind::Serial { 1 } else { 2 })
}

fn heard(engine: &mut Engine, blocks: usize) -> Vec<f32> {
    let mut heard = Vec::new();
    for _ in 0..blocks {
        engine.process(FRAMES);
        heard.extend_from_slice(engine.output(FRAMES).left);
    }
    heard
}

/// The first frame that sounds.
fn begin(row: &[f32]) -> Option<usize> {
    row.iter().position(|sample| *sample != 0.0)
}

#[test]
fn notes_sound_from_frame_to_frame_under_every_schedule() {
    let _alone = stage::alone();
    let session = session(vec![track("a", vec![synth()], vec![notes(&[(100, 1000)])])]);
    for kind in ScheduleKind::ALL {
        let mut engine = engine(&session, kind);
        let row = heard(&mut engine, 40);
        // A sine begins with a zero.
        assert_eq!(begin(&row), Some(101), "{kind:?}");
        assert!(row[900..1000].iter().any(|sample| sample.abs() > 0.1), "{kind:?}");
        assert!(row[1200..].iter().all(|sample| *sample == 0.0), "{kind:?}");
        engine.reset();
        assert_eq!(heard(&mut engine, 40), row, "{kind:?}");
    }
    assert_eq!(session_end_frames(&session, &MediaPool::default(), RATE_HZ), Some(1000));
}

#[test]
fn notes_wait_for_what_is_late_in_their_chain() {
    let _alone = stage::alone();
    let limiter = stage::effect("limiter");
    let kind = hocket_dsp::kind("limiter").unwrap();
    let latency = (kind.build)(&kind.defaults(), RATE_HZ).latency_frames() as usize;
    assert!(latency > 0);
    let session = session(vec![track("a", vec![limiter, synth()], vec![notes(&[(100, 1000)])])]);
    let row = heard(&mut engine(&session, ScheduleKind::Dataflow), 40);
    assert_eq!(begin(&row), Some(101 + latency));
}

#[test]
fn beats_follow_the_tempo_and_a_loop_plays_notes_again() {
    let _alone = stage::alone();
    // A beat of 480 frames.
    let source = NoteSource::Written(
        [(1.0, 0.25)]
            .map(|(at, length)| ClipNote { at, length, key: 69, velocity: 1.0, channel: 0 })
            .into(),
    );
    let clip = NoteClip { base: TimeBase::Beats, start: 1.0, length: None, chase: true, source };
    let mut session = session(vec![track("a", vec![synth()], vec![clip])]);
    session.time.tempos = vec![TempoPoint::step(0.0, 6000.0)];
    session.time.repeat = Some(LoopPoints { base: TimeBase::Beats, from: 2.0, to: 4.0 });
    let row = heard(&mut engine(&session, ScheduleKind::Serial), 60);
    assert_eq!(begin(&row), Some(961));
    for again in [1921, 2881] {
        assert_eq!(begin(&row[again - 500..]), Some(500), "the loop begins with the note");
    }
}

#[test]
fn what_sounds_ends_where_the_song_stops_or_jumps() {
    let _alone = stage::alone();
    let session = session(vec![track("a", vec![synth()], vec![notes(&[(100, 100_000)])])]);
    for command in [TransportCommand::Stop, TransportCommand::Locate(200_000)] {
        let mut engine = engine(&session, ScheduleKind::Serial);
        assert!(begin(&heard(&mut engine, 20)).is_some());
        engine.command(TimedCommand { at_steady: 0, command }).unwrap();
        let row = heard(&mut engine, 20);
        assert!(begin(&row).is_some(), "the release");
        assert!(row[400..].iter().all(|sample| *sample == 0.0), "{command:?}");
    }
}

#[test]
fn a_note_under_way_sounds_again_at_each_pass_of_a_loop_and_after_a_locate() {
    let _alone = stage::alone();
    let mut session = session(vec![track("a", vec![synth()], vec![notes(&[(100, 1200)])])]);
    let points = |from: usize, to: usize| LoopPoints {
        base: TimeBase::Seconds,
        from: from as f64 / f64::from(RATE_HZ),
        to: to as f64 / f64::from(RATE_HZ),
    };
    session.time.repeat = Some(points(500, 1500));
    let mut rows = Vec::new();
    for kind in ScheduleKind::ALL {
        let row = heard(&mut engine(&session, kind), 80);
        let sounds = |frame: usize| row[frame..frame + 100].iter().any(|x| x.abs() > 0.1);
        for pass in [0, 1, 2] {
            // The song is at 500 in frame 1500, at 1200 in frame 2200.
            assert!(sounds(1510 + 1000 * pass), "{kind:?}: pass {pass} begins with the note");
            assert!(sounds(2050 + 1000 * pass), "{kind:?}: it sounds in pass {pass}");
            let end = 2300 + 1000 * pass;
            assert!(row[end..end + 190].iter().all(|x| *x == 0.0), "{kind:?}: it ends there");
        }
        assert_eq!(row[1500..2500], row[2500..3500], "{kind:?}: every pass sounds the same");
        rows.push(row);
    }
    assert!(rows.iter().all(|row| *row == rows[0]));
    session.tracks[0].notes[0].chase = false;
    let row = heard(&mut engine(&session, ScheduleKind::Serial), 80);
    assert!(row[1600..].iter().all(|x| *x == 0.0), "it stays silent");
}

#[test]
fn a_song_that_begins_in_the_middle_of_a_note_begins_with_it_and_with_its_bend() {
    let _alone = stage::alone();
    let message = |frame: usize, bytes: [u8; 3]| ClipMessage {
        at: frame as f64 / f64::from(RATE_HZ),
        message: Midi1::new(&bytes).unwrap(),
    };
    let file = |messages: &[ClipMessage]| NoteClip {
        source: NoteSource::File(MidiFile {
            path: "a.mid".into(),
            track: None,
            channel: None,
            messages: messages.into(),
        }),
        ..notes(&[])
    };
    let off = message(5000, [0x80, 69, 0]);
    let bent = [message(0, [0xe0, 0, 100]), message(50, [0x90, 69, 127]), off];
    let at_once = [message(1000, [0xe0, 0, 100]), message(1000, [0x90, 69, 127]), off];
    let play = |messages: &[ClipMessage]| {
        let session = session(vec![track("a", vec![synth()], vec![file(messages)])]);
        let mut engine = engine(&session, ScheduleKind::Serial);
        let locate = TransportCommand::Locate(1000);
        engine.command(TimedCommand { at_steady: 0, command: locate }).unwrap();
        heard(&mut engine, 40)
    };
    let chased = play(&bent);
    assert_eq!(begin(&chased), Some(1));
    assert_eq!(chased, play(&at_once), "as if both came where the song begins");
}

#[test]
fn a_strip_elsewhere_receives_the_notes_of_a_track() {
    let _alone = stage::alone();
    let mut session = session(vec![track("silent", vec![], vec![notes(&[(100, 1000)])])]);
    let own = Effect { events: Some(StripId::Track(0)), ..synth() };
    let strip = Strip { chain: vec![own], ..Strip::new("g") };
    session.groups.push(Group { strip, output: Destination::Master });
    assert_eq!(begin(&heard(&mut engine(&session, ScheduleKind::Dataflow), 20)), Some(101));
    session.groups[0].strip.chain[0].events = None;
    assert_eq!(begin(&heard(&mut engine(&session, ScheduleKind::Dataflow), 20)), None);
    session.groups[0].strip.chain[0].events = Some(StripId::Track(7));
    let refused = prepare_session(&session, &MediaPool::default(), RATE_HZ, Fusing::Chains);
    assert!(matches!(refused, Err(PrepareError::Graph(GraphError::NoEvents { .. }))));
}

#[test]
fn tracks_with_notes_come_and_go() {
    let _alone = stage::alone();
    let first = track("a", vec![synth()], vec![notes(&[(100, 1000)])]);
    let session = session(vec![first]);
    let policy = policy(ScheduleKind::Serial);
    let (settings, seating) = (stage::settings(policy), stage::seating(policy.sibling, 1));
    let (mut engine, mut editor) =
        Editor::start(session, MediaPool::default(), settings, seating).unwrap();
    heard(&mut engine, 40);
    let borrowed = Effect { events: Some(StripId::Track(0)), ..synth() };
    let late = track("b", vec![synth()], vec![notes(&[(4000, 5000)])]);
    editor.apply(Edit::AddTrack(Box::new(late))).unwrap();
    editor.apply(Edit::AddTrack(Box::new(track("c", vec![borrowed], vec![])))).unwrap();
    let row = heard(&mut engine, 60);
    assert_eq!(begin(&row), Some(4001 - 40 * FRAMES));
    let refused = editor.apply(Edit::RemoveTrack(0)).unwrap_err();
    assert!(matches!(refused, EditError::InUse { .. }), "{refused}");
    editor.apply(Edit::RemoveTrack(2)).unwrap();
    editor.apply(Edit::RemoveTrack(0)).unwrap();
    heard(&mut engine, 20);
    assert_eq!(editor.session().tracks.len(), 1);
}
