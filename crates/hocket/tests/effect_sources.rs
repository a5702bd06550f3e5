//! Effects that are not built in: from a session file to the same bits under every schedule, moved by automation, edited
//! while they play, and refused with a text where they cannot be made.

use std::sync::Arc;

use hocket_dsp::{Block, Change, Processor};
use hocket_engine::session::{Destination, OutputAt, Strip, StripId, Track};
use hocket_engine::time::{
    Event, EventBuffer, EventKind, NoteAction, Source, TimedCommand, TransportCommand,
};
use hocket_engine::{
    Edit, EditError, Editor, EffectAt, EffectSource, Effects, Engine, Fusing, MediaPool, Policy,
    PrepareError, ScheduleKind, Seat, Seating, Seats, Session, Settings, SiblingPolicy,
    StereoAudio, Strategy, prepare_session,
};
use hocket_plan::{Effect, EventOutput, ExtraOutput, GraphError, ParamSpec};
use hocket_session::{LoadOptions, load};

const RATE_HZ: u32 = 48_000;
const FRAMES: usize = 64;
const LEVEL: f32 = 0.25;
/// The latency of `LATE`.
const LATENCY: usize = 100;

const GAIN: &str = "lv2:urn:test:gain";
const LATE: &str = "clap:test.late";
const TONE: &str = "clap:test.tone";
const BROKEN: &str = "lv2:urn:test:broken";
const CLOCK: &str = "clap:test.clock";
const SPLIT: &str = "clap:test.split";
const ECHO: &str = "clap:test.echo";
const HOLD: &str = "clap:test.hold";

/// A gain that multiplies with its state, a delay, a tone that sounds while a note does, one that never starts, one that
/// plays where the song is, a delay with two extra outputs, a delay of sound and notes, and one that ends no note.
struct Kinds;

impl EffectSource for Kinds {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        let gain = ParamSpec {
            name: "Gain (linear)".into(),
            summary: String::from("How loud.").into(),
            min: 0.0,
            max: 4.0,
            default: 1.0,
            fixed: false,
        };
        let params = if [GAIN, SPLIT].contains(&kind) { vec![gain] } else { Vec::new() };
        [GAIN, LATE, TONE, BROKEN, CLOCK, SPLIT, ECHO, HOLD].contains(&kind).then_some(params)
    }

    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        let output = |name: &str, channels| ExtraOutput { name: name.into(), channels };
        match kind == SPLIT {
            true => vec![output("Kick", 2), output("Click", 1)],
            false => Vec::new(),
        }
    }

    fn has_side_chain(&self, _: &str) -> bool {
        false
    }

    fn has_event_input(&self, kind: &str) -> bool {
        [TONE, ECHO, HOLD].contains(&kind)
    }

    fn event_output(&self, kind: &str) -> EventOutput {
        match kind {
            ECHO => EventOutput::BesideSound,
            HOLD => EventOutput::Alone,
            _ => EventOutput::None,
        }
    }

    fn cost(&self, _: &Effect, _: u32) -> f64 {
        50.0
    }

    fn latency_frames(&self, effect: &Effect, _: u32) -> u32 {
        if [LATE, SPLIT, ECHO].contains(&effect.kind.as_str()) { LATENCY as u32 } else { 0 }
    }

    fn build(&self, effect: &Effect, _: u32) -> Result<Box<dyn Processor>, String> {
        match effect.kind.as_str() {
            GAIN => {
                let state = effect.state.as_deref().map_or(Ok([1]), <[u8; 1]>::try_from);
                let [factor] = state.map_err(|_| "its state has not one byte".to_owned())?;
                Ok(Box::new(Gain { gain: effect.values[0], factor: f32::from(factor) }))
            }
            LATE => Ok(Box::new(Late { rows: [[0.0; LATENCY]; 2], at: 0 })),
            TONE => Ok(Box::new(Tone { sounds: false })),
            CLOCK => Ok(Box::new(Clock)),
            ECHO => {
                let late = Late { rows: [[0.0; LATENCY]; 2], at: 0 };
                Ok(Box::new(Echo { late, waiting: EventBuffer::new(64, 0) }))
            }
            HOLD => Ok(Box::new(Hold)),
            SPLIT => {
                let late = Late { rows: [[0.0; LATENCY]; 2], at: 0 };
                Ok(Box::new(Split { late, gain: effect.values[0] }))
            }
            _ => Err("its library has no entry point; install it again".into()),
        }
    }
}

struct Gain {
    gain: f32,
    factor: f32,
}

impl Processor for Gain {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= frame) {
                self.preset(event.change);
            }
            block.main.left[frame] *= self.gain * self.factor;
            block.main.right[frame] *= self.gain * self.factor;
        }
    }

    fn reset(&mut self) {}

    fn preset(&mut self, Change::Param { index, value }: Change) {
        if index == 0 {
            self.gain = value.clamp(0.0, 4.0);
        }
    }
}

struct Late {
    rows: [[f32; LATENCY]; 2],
    at: usize,
}

impl Processor for Late {
    fn process(&mut self, block: &mut Block<'_>) {
        for frame in 0..block.frames() {
            std::mem::swap(&mut self.rows[0][self.at], &mut block.main.left[frame]);
            std::mem::swap(&mut self.rows[1][self.at], &mut block.main.right[frame]);
            self.at = (self.at + 1) % LATENCY;
        }
    }

    fn reset(&mut self) {
        self.rows = [[0.0; LATENCY]; 2];
    }

    fn latency_frames(&self) -> u32 {
        LATENCY as u32
    }
}

struct Tone {
    sounds: bool,
}

impl Processor for Tone {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.received().iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= frame) {
                if let EventKind::Note(note) = event.kind {
                    self.sounds = note.action == NoteAction::On;
                }
            }
            if self.sounds {
                block.main.left[frame] += 1.0;
            }
        }
    }

    fn reset(&mut self) {
        self.sounds = false;
    }
}

/// Delays sound and notes alike.
struct Echo {
    late: Late,
    waiting: EventBuffer,
}

impl Processor for Echo {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.received() {
            let due = Event::new(event.frame + LATENCY as u32, Source::edge(0), event.kind);
            _ = self.waiting.push(due);
        }
        let frames = block.frames() as u32;
        for event in self.waiting.block(frames) {
            _ = block.send(event.frame, event.kind);
        }
        self.waiting.advance(frames);
        self.late.process(block);
    }

    fn reset(&mut self) {
        self.waiting.clear();
        self.late.reset();
    }

    fn latency_frames(&self) -> u32 {
        LATENCY as u32
    }
}

/// Sends the starts of notes alone.
struct Hold;

impl Processor for Hold {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.received() {
            if matches!(event.kind, EventKind::Note(note) if note.action == NoteAction::On) {
                _ = block.send(event.frame, event.kind);
            }
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

struct Clock;

impl Processor for Clock {
    fn process(&mut self, block: &mut Block<'_>) {
        let time = block.time.expect("it keeps time");
        for frame in 0..block.frames() {
            block.main.left[frame] = time.beats_at(frame as u32) as f32;
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

/// Puts out its delayed input upside down, times its gain, as the kick, and the sum of both sides as the click. With a gain of
/// 4, the click is not finite.
struct Split {
    late: Late,
    gain: f32,
}

impl Processor for Split {
    fn process(&mut self, block: &mut Block<'_>) {
        block.events.iter().for_each(|event| self.preset(event.change));
        self.late.process(block);
        let more = block.more.as_mut().expect("its node has rows for its outputs");
        assert_eq!(more.extra.len(), 3);
        for frame in 0..block.main.left.len() {
            let (left, right) = (block.main.left[frame], block.main.right[frame]);
            more.extra.row_mut(0)[frame] = -left * self.gain;
            more.extra.row_mut(1)[frame] = -right * self.gain;
            more.extra.row_mut(2)[frame] = if self.gain == 4.0 { f32::NAN } else { left + right };
        }
    }

    fn reset(&mut self) {
        self.late.reset();
    }

    fn preset(&mut self, Change::Param { index, value }: Change) {
        if index == 0 {
            self.gain = value.clamp(0.0, 4.0);
        }
    }

    fn latency_frames(&self) -> u32 {
        LATENCY as u32
    }
}

/// A gain of 0.5 with a state of 3, whose lane goes to 2 at frame 480; a delay; and a note from frame 960 to 1920.
const SESSION: &str = r#"
[[track]]
name = "gain"
[[track.clip]]
file = "a.wav"
loop = true
[[track.effect]]
kind = "lv2:urn:test:gain"
"Gain (linear)" = 0.5
state = "gain.state"
[[track.automation]]
effect = 1
parameter = "Gain (linear)"
points = [[0, 0.5, "hold"], [0.01, 2]]

[[track]]
name = "late"
[[track.clip]]
file = "a.wav"
loop = true
[[track.effect]]
kind = "clap:test.late"

[[track]]
name = "tone"
[[track.effect]]
kind = "clap:test.tone"
[[track.notes]]
time = "seconds"
notes = [[0.02, 0.02, 60]]
"#;

fn effects() -> Effects {
    Effects::with(Arc::new(Kinds))
}

fn read(text: &str) -> Session {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.wav"), b"RIFF").unwrap();
    std::fs::write(folder.path().join("gain.state"), [3]).unwrap();
    let path = folder.path().join("live.toml");
    std::fs::write(&path, text).unwrap();
    let loaded = load(&path, &effects(), &LoadOptions::for_seats(2));
    loaded.unwrap_or_else(|errors| panic!("{errors}")).session
}

fn media() -> MediaPool {
    let audio = StereoAudio::from_planar(&[vec![LEVEL; 64]]);
    MediaPool::new(vec![Arc::new(audio)]).with_effects(effects())
}

fn settings(schedule: ScheduleKind) -> (Settings, Seating) {
    let sibling = SiblingPolicy::All;
    let policy = Policy { schedule, sibling, wait: Strategy::Futex };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let workers = if schedule == ScheduleKind::Serial { 1 } else { 2 };
    let seating = Seating::described(&seats, sibling, Some(workers)).unwrap();
    (Settings { priority: None, ..Settings::new(FRAMES as u32, RATE_HZ, policy) }, seating)
}

/// The left row of so many blocks.
fn play(engine: &mut Engine, blocks: usize) -> Vec<f32> {
    let mut row = Vec::new();
    for _ in 0..blocks {
        engine.process(FRAMES);
        row.extend_from_slice(engine.output(FRAMES).left);
    }
    row
}

fn engine(session: &Session, schedule: ScheduleKind) -> Engine {
    let prepared = prepare_session(session, &media(), RATE_HZ, Fusing::Chains).unwrap();
    let (settings, seating) = settings(schedule);
    Engine::start(prepared, settings, seating).unwrap()
}

fn at(index: usize) -> EffectAt {
    EffectAt { strip: StripId::Track(0), index }
}

fn gain(gain_lin: f32, state: Option<u8>) -> Effect {
    let state = state.map(|state| Arc::from([state]));
    Effect { state, ..Effect::new(GAIN, vec![gain_lin]) }
}

#[test]
fn a_session_file_plays_them_with_the_same_bits_under_every_schedule() {
    let session = read(SESSION);
    // Everything arrives together, 100 frames late; the lane is that of the song.
    let expected = |frame: usize| -> f32 {
        let Some(song) = frame.checked_sub(LATENCY) else { return 0.0 };
        let gain = if song < 480 { 0.5 } else { 2.0 };
        let tone = if (960..1920).contains(&song) { 1.0 } else { 0.0 };
        LEVEL * gain * 3.0 + LEVEL + tone
    };
    for schedule in ScheduleKind::ALL {
        let row = play(&mut engine(&session, schedule), 40);
        let wrong = (0..row.len()).find(|frame| row[*frame] != expected(*frame));
        assert_eq!(wrong.map(|frame| (frame, row[frame], expected(frame))), None, "{schedule:?}");
    }
}

#[test]
fn what_an_effect_sends_arrives_with_its_sound_under_every_schedule() {
    // Sound, notes and other tracks arrive together, 100 frames late.
    let sender = "[[track.effect]]\nkind = \"clap:test.echo\"\nsend_events = true\n";
    let tone = "[[track.effect]]\nkind = \"clap:test.tone\"\n";
    let text = SESSION.replace(tone, &format!("{sender}{tone}"));
    let direct = play(&mut engine(&read(SESSION), ScheduleKind::Serial), 40);
    assert_ne!(text, SESSION);
    for schedule in ScheduleKind::ALL {
        assert_eq!(play(&mut engine(&read(&text), schedule), 40), direct, "{schedule:?}");
        let (settings, seating) = settings(schedule);
        let (mut edited, _editor) = Editor::start(read(&text), media(), settings, seating).unwrap();
        assert_eq!(play(&mut edited, 40), direct, "{schedule:?}, edited");
    }
    // One that makes sound, too, sends where the session says so: else the notes reach the tone before it plays them.
    let silent = read(&text.replace("send_events = true\n", ""));
    let early = play(&mut engine(&silent, ScheduleKind::Serial), 40);
    assert_eq!(early, direct, "the notes of the track wait for the delay, too");
}

/// A note from frame 960 to 1920, whose end is not sent on.
const HELD: &str = r#"
[[track]]
name = "tone"
[[track.effect]]
kind = "clap:test.hold"
[[track.effect]]
kind = "clap:test.tone"
[[track.notes]]
time = "seconds"
notes = [[0.02, 0.02, 60]]
"#;

/// From where to where a tone sounds in so many blocks; it sounds once.
fn sounding(row: &[f32]) -> (usize, usize) {
    let start = row.iter().position(|sample| *sample != 0.0).unwrap();
    let end = start + row[start..].iter().position(|sample| *sample == 0.0).unwrap();
    assert!(row[end..].iter().all(|sample| *sample == 0.0));
    (start, end)
}

#[test]
fn notes_that_an_effect_sends_end_where_it_is_bypassed_and_where_the_song_stops_or_jumps() {
    let bypass = "[[track.automation]]\neffect = 1\nparameter = \"bypass\"\n";
    let lane = |points: &str| format!("{HELD}{bypass}points = {points}\n");
    for schedule in ScheduleKind::ALL {
        let forever = play(&mut engine(&read(HELD), schedule), 60);
        assert!(forever[960..].iter().all(|sample| *sample == 1.0), "nothing ends it here");
        // Bypassed at frame 1200, which is in the middle of a block.
        let text = lane(r#"[[0, 0, "hold"], [0.025, 1, "hold"]]"#);
        let row = play(&mut engine(&read(&text), schedule), 60);
        assert_eq!(sounding(&row), (960, 1_200), "{schedule:?}");
        // Bypassed when the note begins, so it passes, and back at frame 1200.
        let text = lane(r#"[[0, 1, "hold"], [0.025, 0, "hold"]]"#);
        let row = play(&mut engine(&read(&text), schedule), 60);
        assert_eq!(sounding(&row), (960, 1_200), "{schedule:?}");
        let text = lane(r#"[[0, 1, "hold"]]"#);
        let row = play(&mut engine(&read(&text), schedule), 60);
        assert_eq!(sounding(&row), (960, 1_920), "{schedule:?}: the end passes, too");
        for command in [TransportCommand::Stop, TransportCommand::Locate(48_000)] {
            let mut engine = engine(&read(HELD), schedule);
            engine.command(TimedCommand { at_steady: 1_111, command }).unwrap();
            assert_eq!(sounding(&play(&mut engine, 60)), (960, 1_111), "{schedule:?}");
        }
    }
}

#[test]
fn edits_end_the_notes_of_an_effect_that_goes_or_is_bypassed() {
    for edit in [Edit::RemoveEffect(at(0)), Edit::Bypass(at(0), true)] {
        let (settings, seating) = settings(ScheduleKind::Dataflow);
        let (mut engine, mut editor) =
            Editor::start(read(HELD), media(), settings, seating).unwrap();
        let before = play(&mut engine, 20);
        assert!(before[960..].iter().all(|sample| *sample == 1.0));
        editor.apply(edit).unwrap();
        let after = play(&mut engine, 60);
        assert_eq!(after[after.len() - 1], 0.0, "its note ends");
    }
}

#[test]
fn edits_add_move_bypass_and_remove_them_while_they_play() {
    let text = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"a.wav\"\nloop = true\n";
    let (settings, seating) = settings(ScheduleKind::Dataflow);
    let (mut engine, mut editor) = Editor::start(read(text), media(), settings, seating).unwrap();
    // After what fades.
    let mut settled = |editor: &mut Editor, edit: Edit| {
        editor.apply(edit).unwrap();
        let row = play(&mut engine, 40);
        row[row.len() - 1] / LEVEL
    };
    assert_eq!(settled(&mut editor, Edit::InsertEffect(at(0), gain(2.0, Some(3)))), 6.0);
    assert_eq!(settled(&mut editor, Edit::Param(at(0), 0, 1.5)), 4.5);
    assert_eq!(settled(&mut editor, Edit::Param(at(0), 0, 99.0)), 12.0);
    // Held within the range that the source declares.
    assert_eq!(editor.session().tracks[0].strip.chain[0].values, [4.0]);
    assert_eq!(settled(&mut editor, Edit::Bypass(at(0), true)), 1.0);
    assert_eq!(settled(&mut editor, Edit::Bypass(at(0), false)), 12.0);
    assert_eq!(settled(&mut editor, Edit::InsertEffect(at(1), Effect::new(LATE, vec![]))), 12.0);
    assert_eq!(settled(&mut editor, Edit::RemoveEffect(at(0))), 1.0);
    assert_eq!(editor.session().tracks[0].strip.chain, [Effect::new(LATE, vec![])]);
}

#[test]
fn an_edit_whose_effect_cannot_be_built_changes_nothing() {
    let session = read(SESSION);
    let (settings, seating) = settings(ScheduleKind::Dataflow);
    let (mut engine, mut editor) =
        Editor::start(session.clone(), media(), settings, seating).unwrap();
    let mut rows = play(&mut engine, 10);
    for (effect, text) in [
        (Effect::new(BROKEN, vec![]), "its library has no entry point; install it again"),
        (Effect { state: Some(Arc::from([1, 2])), ..gain(1.0, None) }, "not one byte"),
    ] {
        let kind = effect.kind.clone();
        let refused = editor.apply(Edit::InsertEffect(at(1), effect)).unwrap_err();
        let EditError::Prepare(PrepareError::Effect { strip, kind: of, why }) = &refused else {
            panic!("{refused}");
        };
        assert_eq!((strip.as_str(), of), ("gain", &kind));
        assert!(why.contains(text) && refused.to_string().contains(text), "{refused}");
        rows.extend(play(&mut engine, 10));
    }
    let unknown = editor.apply(Edit::InsertEffect(at(0), Effect::new("lv2:none", vec![])));
    assert!(matches!(unknown, Err(EditError::Prepare(PrepareError::UnknownEffect { .. }))));
    let no_param = editor.apply(Edit::Param(at(0), 1, 0.0));
    assert!(matches!(no_param, Err(EditError::NoParam { .. })));
    assert_eq!(editor.session(), &session);
    rows.extend(play(&mut engine, 10));
    let alone = play(&mut self::engine(&session, ScheduleKind::Serial), 40);
    assert_eq!(rows, alone);
}

#[test]
fn a_session_whose_effect_cannot_be_built_is_refused() {
    let mut session = read(SESSION);
    session.tracks[1].strip.chain.push(Effect::new(BROKEN, vec![]));
    let refused = prepare_session(&session, &media(), RATE_HZ, Fusing::Chains).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "strip 'late': effect 'lv2:urn:test:broken' cannot be built: its library has no entry point; install it again"
    );
    // Built-in effects alone do not have it.
    let none = media().with_effects(Effects::builtin());
    let refused = prepare_session(&session, &none, RATE_HZ, Fusing::Chains).unwrap_err();
    assert!(matches!(refused, PrepareError::UnknownEffect { .. }), "{refused}");
}

#[test]
fn an_effect_that_can_be_bypassed_has_the_songs_time_too() {
    let text = r#"
[[track]]
name = "clock"
[[track.effect]]
kind = "clap:test.clock"
"#;
    let lane =
        "[[track.automation]]\neffect = 1\nparameter = \"bypass\"\npoints = [[0, 0, \"hold\"]]\n";
    let bare = play(&mut engine(&read(text), ScheduleKind::Serial), 20);
    assert!(bare.windows(2).all(|pair| pair[0] < pair[1]), "the song plays");
    for schedule in ScheduleKind::ALL {
        let automated = read(&format!("{text}{lane}"));
        assert_eq!(play(&mut engine(&automated, schedule), 20), bare, "{schedule:?}");
        let (settings, seating) = settings(schedule);
        let (mut edited, _editor) = Editor::start(read(text), media(), settings, seating).unwrap();
        assert_eq!(play(&mut edited, 20), bare, "{schedule:?}, edited");
    }
}

/// A track with clips and an effect with extra outputs, two tracks that play them, and one that has nothing to do with it.
const OUTPUTS: &str = r#"
[[track]]
name = "click"
from = "drums"
from_output = "Click"
[[track]]
name = "drums"
[[track.clip]]
file = "a.wav"
loop = true
[[track.effect]]
kind = "clap:test.split"
"Gain (linear)" = 3
[[track]]
name = "kick"
from = "drums"
from_output = "Kick"
[[track.clip]]
file = "a.wav"
loop = true
[[track]]
name = "dry"
[[track.clip]]
file = "a.wav"
loop = true
[[output]]
name = "the click"
from = "click"
[[output]]
name = "the drums"
from = "drums"
[[output]]
name = "the kick"
from = "kick"
"#;

/// The left and right rows of the master and of the three outputs, in so many blocks.
fn play_outputs(engine: &mut Engine, blocks: usize) -> [[Vec<f32>; 2]; 4] {
    let mut all: [[Vec<f32>; 2]; 4] = Default::default();
    for _ in 0..blocks {
        engine.process(FRAMES);
        for (number, rows) in all.iter_mut().enumerate() {
            let output = engine.output_rows(number, FRAMES).unwrap();
            rows.iter_mut().enumerate().for_each(|(side, row)| row.extend(output.row(side)));
        }
    }
    all
}

#[test]
fn tracks_play_extra_outputs_in_time_and_with_the_same_bits_under_every_schedule() {
    let session = read(OUTPUTS);
    for schedule in ScheduleKind::ALL {
        let [master, click, drums, kick] = play_outputs(&mut engine(&session, schedule), 10);
        for frame in 0..10 * FRAMES {
            let is_late = frame < LATENCY;
            let late = |value: f32| if is_late { 0.0 } else { value * LEVEL };
            for side in [0, 1] {
                assert_eq!(drums[side][frame], late(1.0), "{schedule:?} {frame}");
                assert_eq!(click[side][frame], late(2.0), "{schedule:?} {frame}");
                // With its own clip, which waits for the effect.
                assert_eq!(kick[side][frame], late(-3.0 + 1.0), "{schedule:?} {frame}");
                assert_eq!(
                    master[side][frame],
                    late(2.0 + 1.0 - 2.0 + 1.0),
                    "{schedule:?} {frame}"
                );
            }
        }
    }
}

#[test]
fn extra_outputs_are_silent_while_their_effect_is_bypassed_or_not_finite() {
    let (settings, seating) = settings(ScheduleKind::Dataflow);
    let (mut engine, mut editor) =
        Editor::start(read(OUTPUTS), media(), settings, seating).unwrap();
    let drums = EffectAt { strip: StripId::Track(1), index: 0 };
    // What comes out of click, drums and kick after what fades.
    let mut settled = |editor: &mut Editor, edit: Option<Edit>| -> [f32; 3] {
        edit.into_iter().for_each(|edit| editor.apply(edit).unwrap());
        let rows = play_outputs(&mut engine, 40);
        [1, 2, 3].map(|output| rows[output][0][40 * FRAMES - 1] / LEVEL)
    };
    assert_eq!(settled(&mut editor, None), [2.0, 1.0, -2.0]);
    let bypass = |on| Some(Edit::Bypass(drums, on));
    assert_eq!(settled(&mut editor, bypass(true)), [0.0, 1.0, 1.0]);
    assert_eq!(settled(&mut editor, bypass(false)), [2.0, 1.0, -2.0]);
    // One bad sample at one output: the engine silences all of them.
    let gain = |value| Some(Edit::Param(drums, 0, value));
    assert_eq!(settled(&mut editor, gain(4.0)), [0.0, 0.0, 1.0]);
    assert_eq!(settled(&mut editor, gain(2.0)), [2.0, 1.0, -1.0]);
    let contained = editor.control().contained();
    assert_eq!(contained.len(), 1, "{contained:?}");
    assert_eq!(
        (contained[0].node.as_str(), contained[0].not_finite),
        ("drums: clap:test.split", 40)
    );
}

#[test]
fn tracks_with_extra_outputs_come_and_go_while_they_play() {
    let (settings, seating) = settings(ScheduleKind::Dataflow);
    // A track that an output plays could not go.
    let mut session = read(OUTPUTS);
    session.outputs.clear();
    let (mut engine, mut editor) = Editor::start(session, media(), settings, seating).unwrap();
    let drums = EffectAt { strip: StripId::Track(1), index: 0 };
    let refused = |result: Result<(), EditError>| result.unwrap_err().to_string();
    let removed = refused(editor.apply(Edit::RemoveEffect(drums)));
    assert!(removed.contains("'drums: clap:test.split' is still used by 'click'"), "{removed}");
    let removed = refused(editor.apply(Edit::RemoveTrack(1)));
    assert!(removed.contains("'drums' is still used by 'click'"), "{removed}");
    let track = |index| Track {
        strip: Strip::new("more"),
        output: Destination::Master,
        clips: Vec::new(),
        input: None,
        from: Some(OutputAt { effect: drums, index }),
        notes: Vec::new(),
    };
    let missing = editor.apply(Edit::AddTrack(Box::new(track(2))));
    assert!(matches!(missing, Err(EditError::Graph(GraphError::NoOutput { .. }))), "{missing:?}");
    // After what fades, the master.
    let mut settled = |editor: &mut Editor, edit: Edit| -> f32 {
        editor.apply(edit).unwrap();
        play(&mut engine, 40)[40 * FRAMES - 1] / LEVEL
    };
    // Click, drums, kick with a clip, dry: 2 + 1 - 2 + 1.
    assert_eq!(settled(&mut editor, Edit::AddTrack(Box::new(track(1)))), 4.0);
    assert_eq!(settled(&mut editor, Edit::RemoveTrack(4)), 2.0);
    // An effect in front of it moves it on.
    let first = EffectAt { index: 0, ..drums };
    assert_eq!(settled(&mut editor, Edit::InsertEffect(first, gain(1.0, None))), 2.0);
    let from = editor.session().tracks[0].from.unwrap();
    assert_eq!(from.effect.index, 1);
    assert_eq!(settled(&mut editor, Edit::RemoveEffect(first)), 2.0);
    // A track before it, too.
    assert_eq!(settled(&mut editor, Edit::RemoveTrack(0)), 0.0);
    assert_eq!(editor.session().tracks[1].from.unwrap().effect.strip, StripId::Track(0));
    assert_eq!(settled(&mut editor, Edit::RemoveTrack(1)), 2.0);
    let alone = EffectAt { strip: StripId::Track(0), index: 0 };
    assert_eq!(settled(&mut editor, Edit::RemoveEffect(alone)), 2.0);
}
