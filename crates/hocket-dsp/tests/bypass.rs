//! What an effect in a [`Bypass`] gets: the same changes and the same song time as without it.

mod common;

use common::{event, run_with, stereo_noise};
use hocket_dsp::{Block, Bypass, Change, EventsOut, Processor, StereoMut, TimedChange};
use hocket_time::{
    BlockTime, Event, EventBuffer, EventKind, Note, Pushed, Source, TempoMap, TimedCommand,
    Transport, TransportCommand,
};

/// More than a piece of a block has room for otherwise.
const PARAMS: usize = 700;

/// Adds all its parameters to the input.
struct Many(Vec<f32>);

impl Processor for Many {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= frame) {
                let Change::Param { index, value } = event.change;
                self.0[usize::from(index)] = value;
            }
            block.main.left[frame] = self.0.iter().sum();
        }
    }

    fn reset(&mut self) {}
}

/// Adds the changes that belong to its frames. Others are lost, as in a CLAP plug-in.
#[derive(Default)]
struct Strict(f32);

impl Processor for Strict {
    fn process(&mut self, block: &mut Block<'_>) {
        for frame in 0..block.frames() {
            let due = block.events.iter().filter(|event| event.frame as usize == frame);
            self.0 += due
                .map(|event| {
                    let Change::Param { value, .. } = event.change;
                    value
                })
                .sum::<f32>();
            block.main.left[frame] = self.0;
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn changes_that_find_no_room_come_with_the_next_piece() {
    let at = |frame: u32| (0..200).map(move |n| event(frame, n, 1.0));
    let switch = event(100, Bypass::PARAM, 0.0);
    let events: Vec<_> =
        at(10).chain([switch]).chain(at(100)).chain(at(101)).chain(at(255)).collect();
    let input = stereo_noise(512, 1);
    let mut wrapped = Bypass::new(Box::<Strict>::default(), 48_000, false).with_params(200);
    let got = run_with(&mut wrapped, &input, None, &[512], &events);
    let bare = run_with(&mut Strict::default(), &input, None, &[512], &events);
    assert_eq!(bare.left[511], 800.0);
    assert_eq!(got.left, bare.left);
}

#[test]
fn as_many_changes_as_there_are_parameters_arrive_at_one_frame() {
    let many = || Box::new(Many(vec![0.0; PARAMS]));
    let at = |frame: u32, value: f32| (0..PARAMS as u16).map(move |n| event(frame, n, value));
    // Each of them twice at one frame, where the last one counts, and then at the last frame of a block.
    let events: Vec<_> = at(300, 9.0).chain(at(300, 1.0)).chain(at(1023, 2.0)).collect();
    let input = stereo_noise(2048, 1);
    let mut wrapped = Bypass::new(many(), 48_000, false).with_params(PARAMS);
    let got = run_with(&mut wrapped, &input, None, &[1024], &events);
    assert_eq!((got.left[299], got.left[300]), (0.0, PARAMS as f32));
    assert_eq!((got.left[1022], got.left[1023]), (PARAMS as f32, 2.0 * PARAMS as f32));
    assert_eq!(got.bits(), run_with(&mut *many(), &input, None, &[1024], &events).bits());
}

/// Plays where the song is, how long the engine has run, and where it jumped.
struct Clock;

impl Processor for Clock {
    fn process(&mut self, block: &mut Block<'_>) {
        let time = block.time.expect("it keeps time");
        assert_eq!(time.frames() as usize, block.frames());
        for frame in 0..block.frames() {
            let segment = time.segment_at(frame as u32);
            let jumps = segment.jumped && segment.offset as usize == frame;
            block.main.left[frame] = time.beats_at(frame as u32) as f32;
            block.main.right[frame] =
                (time.steady_frame + frame as u64) as f32 + if jumps { 0.5 } else { 0.0 };
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

#[test]
fn song_time_is_that_of_the_block() {
    let play = |clock: &mut dyn Processor| {
        assert!(clock.keeps_time());
        let map = TempoMap::constant(48_000, 133.0).unwrap();
        let mut transport = Transport::new();
        for (at_steady, command) in
            [(100, TransportCommand::Play), (700, TransportCommand::Locate(7))]
        {
            transport.schedule(TimedCommand { at_steady, command }).unwrap();
        }
        let (mut steady_frame, mut rows) = (0, [Vec::new(), Vec::new()]);
        for frames in [1024, 300, 1, 513] {
            let segments = transport.next_block(frames);
            let time = BlockTime { steady_frame, segments: &segments, map: &map };
            let mut block = [vec![0.0; frames as usize], vec![0.0; frames as usize]];
            let [left, right] = &mut block;
            let main = StereoMut { left, right };
            clock.process(&mut Block { time: Some(&time), ..Block::new(main) });
            rows.iter_mut().zip(&block).for_each(|(row, block)| row.extend_from_slice(block));
            steady_frame += u64::from(frames);
        }
        rows
    };
    let bare = play(&mut Clock);
    assert_eq!(bare[1].iter().filter(|at| at.fract() != 0.0).count(), 1, "one jump");
    assert_eq!(play(&mut Bypass::new(Box::new(Clock), 48_000, false)), bare);
}

/// Sends each note that it receives an octave higher, so many frames later.
struct Octave {
    late: u32,
    waiting: EventBuffer,
}

fn octave(late: u32) -> Box<Octave> {
    Box::new(Octave { late, waiting: EventBuffer::new(64, 0) })
}

impl Processor for Octave {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.received() {
            if let EventKind::Note(note) = event.kind {
                let kind = EventKind::Note(Note { key: note.key + 12, ..note });
                let due = Event::new(event.frame + self.late, Source::edge(0), kind);
                assert_ne!(self.waiting.push(due), Pushed::Refused);
            }
        }
        let frames = block.frames() as u32;
        for event in self.waiting.block(frames) {
            _ = block.send(event.frame, event.kind);
        }
        self.waiting.advance(frames);
    }

    fn reset(&mut self) {
        self.waiting.clear();
    }

    fn latency_frames(&self) -> u32 {
        self.late
    }
}

/// Runs an effect with event ports in blocks of so many frames. Returns what it sent, at frames of all.
fn sent(
    effect: &mut dyn Processor,
    notes: &[(u32, EventKind)],
    changes: &[TimedChange],
    frames: usize,
) -> Vec<(u32, EventKind)> {
    let mut all = Vec::new();
    let mut buffer = EventBuffer::new(1024, 0);
    for at in (0..2_000).step_by(frames) {
        let within = |frame: u32| (at..at + frames).contains(&(frame as usize));
        let mut received = EventBuffer::new(64, 0);
        for (frame, kind) in notes.iter().filter(|(frame, _)| within(*frame)) {
            _ = received.push(Event::new(frame - at as u32, Source::edge(0), *kind));
        }
        let changes: Vec<TimedChange> = changes
            .iter()
            .filter(|change| within(change.frame))
            .map(|change| TimedChange { frame: change.frame - at as u32, ..*change })
            .collect();
        let (mut left, mut right) = (vec![0.0; frames], vec![0.0; frames]);
        buffer.clear();
        effect.process(&mut Block {
            events: &changes,
            events_in: Some(&received),
            events_out: Some(EventsOut::new(&mut buffer, frames)),
            ..Block::new(StereoMut { left: &mut left, right: &mut right })
        });
        all.extend(buffer.all().iter().map(|event| (event.frame + at as u32, event.kind)));
    }
    all
}

#[test]
fn a_bypassed_effect_passes_events_and_leaves_no_note_behind() {
    let on = |key| EventKind::Note(Note::on(-1, 0, key, 0.5));
    let off = |key| EventKind::Note(Note::off(-1, 0, key, 0.0));
    // It is bypassed from frame 300 to 700: the first note ends there, and so does the second one.
    let notes = [
        (100, on(60)),
        (299, on(61)),
        (299, EventKind::param(1, 0.5)),
        (300, on(62)),
        (310, EventKind::param(1, 0.7)),
        (650, on(63)),
        (660, off(63)),
        (700, on(64)),
        (900, off(64)),
    ];
    let changes = [
        event(0, Bypass::PARAM, 0.0),
        event(300, Bypass::PARAM, 1.0),
        event(400, Bypass::PARAM, 1.0),
        event(700, Bypass::PARAM, 0.0),
    ];
    let expected = [
        (100, on(72)),
        (299, on(73)),
        (300, off(72)),
        (300, off(73)),
        (300, on(62)),
        (650, on(63)),
        (660, off(63)),
        (700, off(62)),
        (700, on(76)),
        (900, off(76)),
    ];
    for frames in [1, 50, 250, 1_000, 2_000] {
        let mut effect =
            Bypass::new(octave(0), 48_000, false).with_event_input().with_event_output();
        assert_eq!(sent(&mut effect, &notes, &changes, frames), expected, "{frames}");
        // A reset begins anew: no ends of what was before.
        effect.reset();
        assert_eq!(sent(&mut effect, &notes, &changes, frames), expected, "{frames}, again");
    }
}

#[test]
fn events_pass_a_bypassed_effect_as_late_as_its_sound() {
    let on = |key| EventKind::Note(Note::on(-1, 0, key, 0.5));
    let notes = [(100, on(60)), (290, on(61)), (1_990, on(62))];
    for frames in [1, 50, 250, 2_000] {
        let mut effect =
            Bypass::new(octave(64), 48_000, true).with_event_input().with_event_output();
        let passed = sent(&mut effect, &notes, &[], frames);
        assert_eq!(passed, [(164, on(60)), (354, on(61))], "{frames}");
        // What waits is that of the time before.
        effect.reset();
        let changes = [event(0, Bypass::PARAM, 0.0)];
        let made = sent(&mut effect, &notes, &changes, frames);
        assert_eq!(made, [(164, on(72)), (354, on(73))], "{frames}");
    }
}
