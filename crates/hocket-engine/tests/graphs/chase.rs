//! What notes leave behind where a song starts, jumps, loops, or gets other tempos: after every frame an instrument has the
//! notes and the values that the song has there, however blocks are cut.

use std::collections::BTreeMap;

use hocket_engine::session::{ClipMessage, ClipNote, MidiFile, NoteClip, NoteSource};
use hocket_engine::time::{
    EventKind, LoopRange, Midi1, Note, NoteAction, TempoMap, TempoPoint, TimeBase, TimedCommand,
    Transport, TransportCommand,
};
use hocket_engine::{GraphEditor, LostEvents, NodeSource, NotePlayer, ScheduleKind, Settings};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::events::{Heard, hears, pair, start, taken};
use super::model::Random;
use super::{FRAMES, seating, settings};

/// Frames between two commands.
const PERIOD: usize = 96;
/// The song's events are before this frame, at the first tempo.
const SONG: usize = 1500;
/// Tempos of the song, in beats per minute. A beat has 480 frames at the first one.
const TEMPOS: [f64; 3] = [6000.0, 8000.0, 5000.0];
/// MIDI channels of files in each base: of notes, and of controllers where tempos change. That moves events in beats past
/// those in seconds, and nobody goes back to what would have been the last one.
const OWN: [u8; 2] = [5, 6];
const APART: [u8; 2] = [2, 3];
/// Of controllers in both bases, where tempos stay.
const SHARED: [u8; 2] = [2, 2];

/// What happens before a period.
#[derive(Debug, Clone, Copy)]
enum Step {
    Nothing,
    /// At a frame of the period.
    Command(usize, TransportCommand),
    Tempo(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = 0..SONG as i64 + 200;
    let command = prop_oneof![
        2 => Just(TransportCommand::Play),
        1 => Just(TransportCommand::Stop),
        4 => place.clone().prop_map(TransportCommand::Locate),
        3 => (place, 256..600i64).prop_map(|(from, length)| {
            TransportCommand::Loop(LoopRange::from_frames(from, from + length).unwrap())
        }),
        1 => Just(TransportCommand::LoopOff),
    ];
    let step = prop_oneof![
        2 => Just(Step::Nothing),
        5 => (0..PERIOD, command).prop_map(|(at, command)| Step::Command(at, command)),
        1 => (0..TEMPOS.len()).prop_map(Step::Tempo),
    ];
    prop::collection::vec(step, 4..40)
}

fn map(tempo: usize) -> TempoMap {
    TempoMap::new(48_000, &[TempoPoint::step(0.0, TEMPOS[tempo])], &[]).unwrap()
}

/// Clips with notes that overlap, also of one key, and messages of all kinds.
fn clips(seed: u64, steps: &[Step]) -> Vec<NoteClip> {
    let mut random = Random::new(seed);
    let clip = |_| clip(&mut random, controls(steps));
    (0..1 + seed as usize % 5).map(clip).collect()
}

fn controls(steps: &[Step]) -> [u8; 2] {
    if steps.iter().any(|step| matches!(step, Step::Tempo(_))) { APART } else { SHARED }
}

fn clip(random: &mut Random, controls: [u8; 2]) -> NoteClip {
    let base = if random.one_in(2) { TimeBase::Seconds } else { TimeBase::Beats };
    let unit = if base == TimeBase::Seconds { 48_000.0 } else { 480.0 };
    let mut frames = |most: usize| (random.below(most * 64) as f64 / 64.0 + 0.01) / unit;
    let (start, length) = (frames(500), frames(1000));
    let mut ats: Vec<f64> = (0..40).map(|_| frames(1000)).collect();
    let lengths: Vec<f64> = (0..40).map(|_| frames(400)).collect();
    let source = if random.one_in(2) {
        let note = |(at, length): (&f64, &f64)| ClipNote {
            at: *at,
            length: *length,
            key: 60 + random.below(4) as u8,
            velocity: 0.5,
            channel: 0,
        };
        NoteSource::Written(ats.iter().zip(&lengths).take(12).map(note).collect())
    } else {
        ats.sort_by(f64::total_cmp);
        let [own, controls] = [OWN, controls].map(|it| it[usize::from(base == TimeBase::Beats)]);
        let message = |at| ClipMessage { at, message: message(own, controls, random) };
        let messages = ats.into_iter().map(message).collect();
        NoteSource::File(MidiFile { path: "a.mid".into(), track: None, channel: None, messages })
    };
    let length = random.one_in(2).then_some(length);
    NoteClip { base, start, length, chase: !random.one_in(4), source }
}

fn message(own: u8, controls: u8, random: &mut Random) -> Midi1 {
    let value = random.below(128) as u8;
    let key = 60 + random.below(4) as u8;
    let mut one = |of: &[u8]| of[random.below(of.len())];
    let bytes: &[u8] = match one(&[0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 7, 7, 7]) {
        0 => &[0x90 | own, key, value],
        1 => &[0x80 | own, key, value],
        2 => &[0xa0 | own, key, value],
        3 => &[0xb0 | controls, one(&[1, 7, 11, 64, 66]), value],
        4 => &[0xe0 | controls, one(&[0, 5]), value],
        5 => &[0xb0 | own, one(&[120, 121, 123, 126, 127]), 0],
        6 => &[0xd0 | controls, value],
        // Programs with banks, and parameters, whose order counts.
        _ => match one(&[0, 1, 2, 3]) {
            0 => &[0xc0 | own, value],
            1 => &[0xb0 | own, one(&[0, 32]), one(&[0, 1, 2])],
            2 => &[0xb0 | own, one(&[98, 99, 100, 101]), one(&[0, 1, 127])],
            _ => &[0xb0 | own, one(&[6, 38]), value],
        },
    };
    Midi1::new(bytes).unwrap()
}

/// An instrument that only remembers.
#[derive(Debug, Clone, Default, PartialEq)]
struct Instrument {
    /// Ids and keys of notes.
    notes: BTreeMap<i32, i8>,
    /// By channel and key: the pressure.
    keys: BTreeMap<(u8, u8), u8>,
    /// By channel and what it is of.
    values: BTreeMap<(u8, String), Vec<u8>>,
    /// By channel: whether the parameter that was chosen is a registered one.
    registered: BTreeMap<u8, bool>,
}

impl Instrument {
    fn get(&self, channel: u8, controller: u8) -> u8 {
        let rest = if controller >= 98 { 127 } else { 0 };
        let value = self.values.get(&(channel, format!("controller {controller}")));
        value.map_or(rest, |value| value[0])
    }

    fn set(&mut self, channel: u8, of: impl Into<String>, value: &[u8]) {
        self.values.insert((channel, of.into()), value.to_vec());
    }

    fn take(&mut self, event: &EventKind) {
        match event {
            EventKind::Note(Note { action: NoteAction::On, id, key, .. }) => {
                assert_eq!(self.notes.insert(*id, *key), None, "note {id} begins twice");
            }
            EventKind::Note(Note { id, key, .. }) => {
                self.notes.retain(|own, of| (*id >= 0 && own != id) || of != key);
            }
            EventKind::Midi(message) => self.message(*message),
            other => panic!("nobody sends {other:?}"),
        }
    }

    fn message(&mut self, message: Midi1) {
        let [status, first, second] = message.bytes();
        let channel = status & 0xf;
        match status & 0xf0 {
            0x90 if second > 0 => _ = self.keys.insert((channel, first), 0),
            0x80 | 0x90 => _ = self.keys.remove(&(channel, first)),
            0xa0 => {
                if let Some(pressure) = self.keys.get_mut(&(channel, first)) {
                    *pressure = second;
                }
            }
            0xb0 => self.controller(channel, first, second),
            0xc0 => {
                let bank = [0, 32].map(|part| self.get(channel, part));
                self.set(channel, "program", &[bank[0], bank[1], first]);
            }
            0xd0 => self.set(channel, "pressure", &[first]),
            0xe0 => self.set(channel, "bend", &[first, second]),
            _ => panic!("nobody sends {status:x}"),
        }
    }

    fn controller(&mut self, channel: u8, number: u8, value: u8) {
        if matches!(number, 120 | 123..) {
            self.keys.retain(|(of, _), _| *of != channel);
        }
        match number {
            120 | 123.. => {}
            121 => {
                for (of, rest) in at_rest() {
                    self.set(channel, of, &rest);
                }
            }
            6 | 38 => {
                let Some(registered) = self.registered.get(&channel) else { return };
                let parts = if *registered { [101, 100] } else { [99, 98] };
                let parameter = parts.map(|part| self.get(channel, part));
                if parameter != [127, 127] {
                    let of = format!("data {number} of {registered} {parameter:?}");
                    self.set(channel, of, &[value]);
                }
            }
            98..=101 => {
                self.registered.insert(channel, number >= 100);
                self.set(channel, format!("controller {number}"), &[value]);
            }
            _ => self.set(channel, format!("controller {number}"), &[value]),
        }
    }

    /// Whether values are those of another one. What that has no value for is at rest, or anything.
    fn agrees(&self, with: &Instrument) -> bool {
        let bank = [0, 32].map(|part| (format!("controller {part}"), vec![0]));
        let rest: BTreeMap<String, Vec<u8>> = at_rest().chain(bank).collect();
        let mut places = self.values.keys().chain(with.values.keys());
        places.all(|place| match (self.values.get(place), with.values.get(place)) {
            (own, None) => rest.get(&place.1).is_none_or(|rest| own == Some(rest)),
            (own, Some(value)) => own.or(rest.get(&place.1)) == Some(value),
        })
    }
}

fn at_rest() -> impl Iterator<Item = (String, Vec<u8>)> {
    let controllers =
        [(1, 0), (11, 127), (64, 0), (66, 0), (98, 127), (99, 127), (100, 127), (101, 127)];
    let controllers =
        controllers.into_iter().map(|(number, rest)| (format!("controller {number}"), vec![rest]));
    controllers.chain([("pressure".into(), vec![0]), ("bend".into(), vec![0, 64])])
}

/// An event of a clip, as the test reads it.
struct Written {
    at: f64,
    base: TimeBase,
    /// The note it belongs to, and whether that follows a jump.
    note: Option<(usize, bool)>,
    kind: EventKind,
}

/// All events of a song.
fn song(clips: &[NoteClip], controls: [u8; 2]) -> Vec<Written> {
    let mut song = Vec::new();
    for NoteClip { base, start, length, chase, source } in clips {
        let limit = length.unwrap_or(f64::INFINITY);
        let event = |at: f64, note, kind| Written { at: at + start, base: *base, note, kind };
        match source {
            NoteSource::Written(notes) => {
                for note in notes.iter().filter(|note| note.at < limit) {
                    let (id, key) = (song.len(), note.key as i8);
                    let of = Some((id, *chase));
                    let [on, off] = [Note::on(-1, 0, key, 0.5), Note::off(-1, 0, key, 0.0)];
                    song.push(event(note.at, of, EventKind::Note(on)));
                    let end = (note.at + note.length).min(limit);
                    song.push(event(end, of, EventKind::Note(off)));
                }
            }
            NoteSource::File(file) => {
                let played = file.messages.iter().take_while(|message| message.at < limit);
                let mut held = Instrument::default();
                for ClipMessage { at, message } in played {
                    held.message(*message);
                    song.push(event(*at, None, EventKind::Midi(*message)));
                }
                if length.is_some() {
                    let off = |(channel, key): (u8, u8)| [0x80 | channel, key, 0];
                    let controls = controls[usize::from(*base == TimeBase::Beats)];
                    let up = |pedal| [0xb0 | controls, pedal, 0];
                    let pedals =
                        [64, 66].into_iter().filter(|pedal| held.get(controls, *pedal) >= 64);
                    for bytes in held.keys.keys().copied().map(off).chain(pedals.map(up)) {
                        let kind = EventKind::Midi(Midi1::new(&bytes).unwrap());
                        song.push(event(limit, None, kind));
                    }
                }
            }
        }
    }
    song
}

/// What an instrument has, frame by frame, by looking at the whole song again at each frame.
struct Expected {
    song: Vec<Written>,
    /// By event, in the order of their frames.
    frames: Vec<(i64, usize)>,
    /// Written notes that sound.
    notes: Vec<usize>,
    transport: Transport,
    played: bool,
    /// Whether notes of files are those of clips that are chased.
    files_chase: bool,
}

impl Expected {
    fn new(seed: u64, steps: &[Step]) -> Expected {
        let clips = clips(seed, steps);
        let is_file = |clip: &&NoteClip| matches!(clip.source, NoteSource::File(_));
        let files_chase = clips.iter().filter(is_file).all(|clip| clip.chase);
        let mut transport = Transport::new();
        transport.apply(TransportCommand::Play);
        let (frames, notes) = (Vec::new(), Vec::new());
        let song = song(&clips, controls(steps));
        let mut it = Expected { song, frames, notes, transport, played: false, files_chase };
        it.follow(&map(0));
        it
    }

    fn follow(&mut self, map: &TempoMap) {
        let frame = |it: &Written| map.song_frame(it.base.position(it.at)).unwrap();
        let mut order: Vec<usize> = (0..self.song.len()).collect();
        order.sort_by(|a, b| self.song[*a].at.total_cmp(&self.song[*b].at));
        self.frames = order.into_iter().map(|event| (frame(&self.song[event]), event)).collect();
        self.frames.sort_by_key(|(frame, _)| *frame);
        if self.played {
            let position = self.transport.position();
            let sounds = self.sounding(position, position);
            let stays = |note: &usize| {
                let ends = self.sounding(position, position - 1);
                ends.iter().any(|(other, _)| other == note)
            };
            let mut notes: Vec<usize> = self.notes.iter().copied().filter(stays).collect();
            let new = sounds.iter().filter(|(note, chases)| *chases && !notes.contains(note));
            notes.extend(new.map(|(note, _)| *note).collect::<Vec<_>>());
            self.notes = notes;
        }
    }

    /// Notes that begin before a frame and end behind another one, and whether they follow jumps.
    fn sounding(&self, before: i64, behind: i64) -> Vec<(usize, bool)> {
        let mut notes = Vec::new();
        for (frame, event) in &self.frames {
            let Written { note: Some(note), kind, .. } = self.song[*event] else { continue };
            if kind.ends_notes() && *frame <= behind {
                notes.retain(|other| *other != note);
            } else if !kind.ends_notes() && *frame < before {
                notes.push(note);
            }
        }
        notes
    }

    /// The next frame. Returns what has to hold in it if the song plays.
    fn next(&mut self) -> Option<Instrument> {
        let segments = self.transport.next_block(1);
        let segment = segments.as_slice()[0];
        let arrives = segment.jumped || !self.played;
        self.played = segment.playing;
        if !segment.playing {
            self.notes.clear();
            return None;
        }
        let now = segment.position;
        if arrives {
            let chased = self.sounding(now, now).into_iter().filter(|(_, chases)| *chases);
            self.notes = chased.map(|(note, _)| note).collect();
        }
        let mut all = Instrument::default();
        for (frame, event) in self.frames.iter().take_while(|(frame, _)| *frame <= now) {
            let Written { note, kind, .. } = self.song[*event];
            match note {
                None => all.take(&kind),
                Some((note, _)) if *frame == now && kind.ends_notes() => {
                    self.notes.retain(|other| *other != note);
                }
                Some((note, _)) if *frame == now => self.notes.push(note),
                Some(_) => {}
            }
        }
        all.notes = BTreeMap::new();
        for note in &self.notes {
            let EventKind::Note(on) = self.song[*note].kind else { continue };
            all.notes.insert(*note as i32, on.key);
        }
        Some(all)
    }
}

/// What an instrument receives.
fn play(seed: u64, steps: &[Step], kind: ScheduleKind, cuts: u64) -> Vec<(u64, EventKind)> {
    let player = NodeSource::New(Box::new(NotePlayer::new(&clips(seed, steps))));
    let (reader, heard): (NodeSource, Heard) = hears();
    let (mut engine, editor) = start(&pair(true), vec![player, reader], kind);
    editor.control().set_tempo_map(map(0)).unwrap();
    let mut random = Random::new(cuts);
    for (period, step) in steps.iter().enumerate() {
        match step {
            Step::Nothing => {}
            Step::Command(at, command) => {
                let at_steady = (period * PERIOD + at) as u64;
                engine.command(TimedCommand { at_steady, command: *command }).unwrap();
            }
            Step::Tempo(tempo) => _ = editor.control().set_tempo_map(map(*tempo)).unwrap(),
        }
        let mut done = 0;
        while done < PERIOD {
            let part = if cuts == 0 { FRAMES } else { 1 + random.below(FRAMES) };
            done += engine.process(part.min(PERIOD - done)).frames;
        }
    }
    assert_eq!(editor.control().lost_events(), []);
    taken(&heard)
}

fn check(seed: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let heard = play(seed, steps, ScheduleKind::Serial, 0);
    for kind in [ScheduleKind::Serial, ScheduleKind::Dataflow, ScheduleKind::Lists] {
        let cut = play(seed, steps, kind, seed + 1);
        prop_assert_eq!(&cut, &heard, "{:?}", kind);
    }
    let mut expected = Expected::new(seed, steps);
    let mut instrument = Instrument::default();
    let mut heard = heard.into_iter().peekable();
    for frame in 0..(steps.len() * PERIOD) as u64 {
        let (period, offset) = (frame as usize / PERIOD, frame as usize % PERIOD);
        match steps[period] {
            Step::Command(at, command) if offset == 0 => {
                let at_steady = frame + at as u64;
                expected.transport.schedule(TimedCommand { at_steady, command }).unwrap();
            }
            Step::Tempo(tempo) if offset == 0 => expected.follow(&map(tempo)),
            _ => {}
        }
        while let Some((_, event)) = heard.next_if(|(at, _)| *at == frame) {
            instrument.take(&event);
        }
        let sorted = |instrument: &Instrument| {
            let mut keys: Vec<i8> = instrument.notes.values().copied().collect();
            keys.sort();
            keys
        };
        let Some(all) = expected.next() else {
            let sounds = (sorted(&instrument), instrument.keys.clone());
            prop_assert_eq!(sounds, (Vec::new(), BTreeMap::new()), "frame {}", frame);
            continue;
        };
        prop_assert_eq!(sorted(&instrument), sorted(&all), "frame {}", frame);
        if expected.files_chase {
            prop_assert_eq!(&instrument.keys, &all.keys, "frame {}", frame);
        }
        prop_assert!(instrument.agrees(&all), "frame {}: {:?}, not {:?}", frame, instrument, all);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/proptest-regressions/graphs-chase.txt"
        )))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_instrument_has_what_the_song_has_at_each_frame(seed in any::<u64>(), steps in steps()) {
        check(seed, &steps)?;
    }
}

/// Plays these messages with blocks of up to so many frames, from a jump on: a locate, or a loop of 256 frames.
fn chased(messages: Vec<ClipMessage>, most: usize, steps: &[TransportCommand]) -> Chased {
    let messages = messages.into();
    let file = MidiFile { path: "a.mid".into(), track: None, channel: None, messages };
    let source = NoteSource::File(file);
    let clip = NoteClip { base: TimeBase::Seconds, start: 0.0, length: None, chase: true, source };
    let (reader, heard) = hears();
    let player = NodeSource::New(Box::new(NotePlayer::new(&[clip])));
    let settings = Settings { frames: most as u32, ..settings(ScheduleKind::Dataflow) };
    let processors = [player, reader].map(|source| match source {
        NodeSource::New(processor) => Some(processor),
        _ => None,
    });
    let graph = pair(true);
    let started = GraphEditor::start(&graph, processors.into(), settings, seating(2));
    let (mut engine, editor) = started.unwrap();
    for command in steps {
        editor.control().transport(TimedCommand { at_steady: 0, command: *command }).unwrap();
    }
    engine.process(most);
    Chased { heard: taken(&heard), lost: editor.control().lost_events() }
}

struct Chased {
    heard: Vec<(u64, EventKind)>,
    lost: Vec<LostEvents>,
}

/// So many controllers that hold, one frame after the other, on as many channels as they need.
fn controllers(count: usize) -> Vec<ClipMessage> {
    // Controllers 0 to 63 but for those that choose something, or have no value of their own.
    let numbers: Vec<u8> = (1..64).filter(|number| ![6, 32, 38].contains(number)).collect();
    let message = |n: usize| {
        let (channel, number) = (n / numbers.len(), numbers[n % numbers.len()]);
        let message = Midi1::new(&[0xb0 | channel as u8, number, 100]).unwrap();
        ClipMessage { at: n as f64 / 48_000.0, message }
    };
    assert!(count <= 16 * numbers.len());
    (0..count).map(message).collect()
}

/// Data entries of as many parameters. Each is chased with two controllers before it.
fn data_entries(count: usize) -> Vec<ClipMessage> {
    let message = |n: usize| {
        let parameter = n / 3;
        let (high, low) = ((parameter / 128) as u8, (parameter % 128) as u8);
        let bytes = match n % 3 {
            0 => [0xb0, 99, high],
            1 => [0xb0, 98, low],
            _ => [0xb0, 6, 1 + (parameter % 100) as u8],
        };
        ClipMessage { at: n as f64 / 48_000.0, message: Midi1::new(&bytes).unwrap() }
    };
    (0..3 * count).map(message).collect()
}

const PLAY: TransportCommand = TransportCommand::Play;

#[test]
fn more_controllers_than_a_port_usually_takes_are_chased_at_one_frame() {
    for frames in [FRAMES, 8192] {
        let steps = [TransportCommand::Locate(100_000), PLAY];
        let Chased { heard, lost } = chased(data_entries(700), frames, &steps);
        // Each parameter with the two controllers that choose it, and those two by themselves.
        assert_eq!(heard.len(), 3 * 700 + 2);
        assert!(heard.iter().all(|(frame, _)| *frame == 0));
        assert_eq!(lost, []);
    }
}

#[test]
fn a_short_loop_in_a_long_block_chases_at_each_pass() {
    let range = LoopRange::from_frames(10_000, 10_256).unwrap();
    let steps = [TransportCommand::Loop(range), TransportCommand::Locate(10_000), PLAY];
    let Chased { heard, lost } = chased(controllers(400), 8192, &steps);
    assert_eq!(lost, []);
    let expected = (0..8192).step_by(256).flat_map(|frame| std::iter::repeat_n(frame, 400));
    assert!(heard.iter().map(|(frame, _)| *frame).eq(expected));
}

#[test]
fn what_is_chased_beyond_all_bounds_is_counted_with_the_name_of_its_node() {
    const PARAMETERS: usize = 6000;
    let steps = [TransportCommand::Locate(100_000), PLAY];
    let Chased { heard, lost } = chased(data_entries(PARAMETERS), 64, &steps);
    let all = 3 * PARAMETERS + 2;
    assert_eq!(heard.len(), 16_384);
    let events = (all - heard.len()) as u64;
    assert_eq!(lost, [LostEvents { node: "writer".into(), events }]);
}

#[test]
fn a_note_that_finds_no_room_gets_no_end() {
    const FULL: usize = 16_384;
    let note = |n: usize| ClipNote {
        // All start together, and end one after the other.
        at: 0.0,
        length: (1000 + n % 7) as f64 / 48_000.0,
        key: (n % 128) as u8,
        velocity: 0.5,
        channel: 0,
    };
    let source = NoteSource::Written((0..FULL + 100).map(note).collect());
    let clip = NoteClip { base: TimeBase::Seconds, start: 0.0, length: None, chase: true, source };
    let (reader, heard) = hears();
    let player = NodeSource::New(Box::new(NotePlayer::new(&[clip])));
    let (mut engine, editor) = start(&pair(true), vec![player, reader], ScheduleKind::Serial);
    for command in [TransportCommand::Locate(500), PLAY] {
        editor.control().transport(TimedCommand { at_steady: 0, command }).unwrap();
    }
    engine.process(FRAMES);
    let ids = |wanted: NoteAction| {
        let id = move |(_, event)| match event {
            EventKind::Note(Note { id, action, .. }) if action == wanted => Some(id),
            _ => None,
        };
        taken(&heard).into_iter().filter_map(id).collect::<Vec<i32>>()
    };
    assert_eq!(ids(NoteAction::On), (0..FULL as i32).collect::<Vec<_>>());
    let lost = vec![LostEvents { node: "writer".into(), events: 100 }];
    assert_eq!(editor.control().lost_events(), lost);
    (0..520 / FRAMES).for_each(|_| _ = engine.process(FRAMES));
    assert_eq!(ids(NoteAction::Off).into_iter().max(), Some(FULL as i32 - 1));
}
