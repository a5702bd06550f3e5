//! Notes of sessions leave no trace of the system either: written ones and those of MIDI files, chased where the song is
//! located and loops, and coming and going with their tracks.

use hocket_engine::session::{ClipMessage, ClipNote, MidiFile, NoteClip, NoteSource};
use hocket_engine::time::{
    LoopRange, Midi1, TempoMap, TempoPoint, TimeBase, TimedCommand, TransportCommand,
};
use hocket_engine::{Edit, Editor, Engine, MediaPool, Seating};
use hocket_plan::session::{Destination, Strip, StripId, Track};
use hocket_plan::{Effect, ScheduleKind, Session, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::{self, Watch};

const BLOCKS: usize = 260;
/// Frames of a beat at the first tempo.
const BEAT: f64 = 480.0;
/// In the midst of the long notes, where nothing begins.
const MIDDLE: i64 = 5_100;

/// A clip whose notes and messages are in frames of the first tempo.
fn clip(base: TimeBase, source: NoteSource) -> NoteClip {
    NoteClip { base, start: 0.0, length: None, chase: true, source }
}

fn seconds(frames: usize) -> f64 {
    frames as f64 / f64::from(RATE_HZ)
}

/// A long chord, and a short note every 700 frames.
fn written() -> NoteClip {
    let note = |at: usize, length: usize, key: u8| ClipNote {
        at: seconds(at),
        length: seconds(length),
        key,
        velocity: 0.8,
        channel: 0,
    };
    let chord = [60, 64, 67].map(|key| note(100, 9_000, key));
    let short = (0..20).map(|n| note(n * 700, 200, 72 + n as u8 % 5));
    let mut all: Vec<ClipNote> = chord.into_iter().chain(short).collect();
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    clip(TimeBase::Seconds, NoteSource::Written(all.into()))
}

/// Everything that is chased: notes, the bend, controllers, a pedal, a program; and many messages at one frame.
fn file() -> NoteClip {
    let message = |frame: usize, bytes: &[u8]| ClipMessage {
        at: frame as f64 / BEAT,
        message: Midi1::new(bytes).unwrap(),
    };
    let mut all = vec![
        message(0, &[0xe0, 0, 100]),
        message(0, &[0xc0, 5]),
        message(10, &[0x90, 48, 100]),
        message(20, &[0xb0, 64, 127]),
        message(30, &[0x90, 55, 100]),
    ];
    all.extend((0..100).map(|n| message(40 + n * 90, &[0xb0, 1, n as u8])));
    all.extend((0..60).map(|n| message(9_400, &[0xb0, 20 + n as u8, 3])));
    all.push(message(9_500, &[0xb0, 64, 0]));
    all.extend([48, 55].map(|key| message(9_600, &[0x80, key, 0])));
    let messages = all.into();
    let file = MidiFile { path: "a.mid".into(), track: None, channel: None, messages };
    clip(TimeBase::Beats, NoteSource::File(file))
}

fn track(name: &str, chain: Vec<Effect>, notes: Vec<NoteClip>) -> Track {
    let strip = Strip { chain, gain_db: -12.0, ..Strip::new(name) };
    Track { strip, output: Destination::Master, clips: Vec::new(), input: None, from: None, notes }
}

/// Notes begin and end within some blocks.
fn synth() -> Effect {
    let (mut effect, kind) = (stage::default_effect("synth"), hocket_dsp::kind("synth").unwrap());
    for (name, value) in [("attack_ms", 1.0), ("release_ms", 5.0)] {
        effect.values[kind.index_of(name).unwrap()] = value;
    }
    effect
}

/// Written notes, a file behind an effect that is late, both in one track, and one that hears the notes of the first.
fn session() -> Session {
    let borrowed = Effect { events: Some(StripId::Track(0)), ..synth() };
    let late = vec![stage::default_effect("limiter"), synth()];
    let mut session = Session {
        tracks: vec![
            track("written", vec![synth()], vec![written()]),
            track("file", late, vec![file()]),
            track("both", vec![synth()], vec![file(), written()]),
            track("borrowed", vec![borrowed], Vec::new()),
        ],
        sample_rate_hz: RATE_HZ,
        ..Session::default()
    };
    session.time.tempos = vec![TempoPoint::step(0.0, tempo(BEAT))];
    session
}

/// Beats per minute, by the frames of a beat.
fn tempo(beat: f64) -> f64 {
    60.0 * f64::from(RATE_HZ) / beat
}

/// What control threads do before a block.
fn edit(editor: &mut Editor, block: usize) {
    match block {
        120 => {
            let more = track("more", vec![synth()], vec![file(), written()]);
            editor.apply(Edit::AddTrack(Box::new(more))).unwrap();
        }
        150 => {
            let faster = [TempoPoint::step(0.0, tempo(BEAT / 1.5))];
            let map = TempoMap::new(RATE_HZ, &faster, &[]).unwrap();
            editor.control().set_tempo_map(map).unwrap();
        }
        180 => editor.apply(Edit::RemoveTrack(4)).unwrap(),
        _ => {}
    }
}

/// What the leader is told before a block.
fn command(block: usize) -> Option<TransportCommand> {
    let range = |from, to| TransportCommand::Loop(LoopRange::from_frames(from, to).unwrap());
    match block {
        20 | 130 | 190 => Some(TransportCommand::Locate(MIDDLE)),
        // Five passes of 300 frames, a little ahead; later one of several blocks around the end of the chord.
        30 => Some(range(MIDDLE + 700, MIDDLE + 1_000)),
        55 | 230 => Some(TransportCommand::LoopOff),
        60 => Some(TransportCommand::Locate(20_000)),
        70 => Some(TransportCommand::Stop),
        80 => Some(TransportCommand::Locate(8_900)),
        90 => Some(TransportCommand::Play),
        200 => Some(range(8_900, 9_700)),
        _ => None,
    }
}

/// The peak of each block, and all bits.
struct Heard {
    peaks: Vec<f32>,
    bits: Vec<u32>,
}

fn play(engine: &mut Engine, editor: &mut Editor) -> Heard {
    let mut heard = Heard { peaks: Vec::new(), bits: Vec::new() };
    for block in 0..BLOCKS {
        edit(editor, block);
        {
            let _watch = Watch::begin();
            if let Some(command) = command(block) {
                // In the midst of the block.
                let at_steady = (block * FRAMES as usize + 17) as u64;
                engine.command(TimedCommand { at_steady, command }).unwrap();
            }
            engine.process(FRAMES as usize);
        }
        let rows = engine.output(FRAMES as usize);
        let samples = || rows.left.iter().chain(rows.right);
        heard.peaks.push(samples().fold(0.0, |peak, sample| sample.abs().max(peak)));
        heard.bits.extend(samples().map(|sample| sample.to_bits()));
    }
    heard
}

#[test]
fn notes_of_sessions_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("notes_of_sessions_leave_no_trace_of_the_system");
    let mut expected: Option<Vec<u32>> = None;
    for schedule in ScheduleKind::ALL {
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
        let workers = if schedule == ScheduleKind::Serial { 1 } else { 3 };
        let seats = stage::paired_cores(2);
        let seating = Seating::described(&seats, policy.sibling, Some(workers)).unwrap();
        let (settings, media) = (stage::ordinary(policy), MediaPool::default());
        let (mut engine, mut editor) = Editor::start(session(), media, settings, seating).unwrap();
        watching::forget();
        let heard = play(&mut engine, &mut editor);
        let what = format!("{policy}");
        watching::check_clean(&what);
        assert_eq!(engine.contained(), [], "{what}");
        assert_eq!(editor.control().lost_events(), [], "{what}");
        for block in [22, 35, 40, 45, 50, 92, 132, 192, 210, 225] {
            assert!(heard.peaks[block] > 0.01, "{what}: chased notes are not heard in {block}");
        }
        assert!(heard.peaks[79] < heard.peaks[50] / 10.0, "{what}: behind the end, stopped");
        let expected = expected.get_or_insert_with(|| heard.bits.clone());
        assert!(*expected == heard.bits, "{what}: other bits");
    }
}
