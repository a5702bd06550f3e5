//! Blocks that become longer while the engine plays.

use hocket_engine::time::{Event, EventKind, LanePoint, Note, Pushed, Shape, Source, TimeBase};
use hocket_engine::{ControlError, EventPorts, LaneChange, LaneSpec, Ports, Steer};

use super::*;

const GROWN: usize = 100;

/// A saw of frames, loud as parameter 0 says.
struct Saw {
    frame: u32,
    gain: f32,
}

impl Processor for Saw {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.events.iter().peekable();
        for at in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= at) {
                let Change::Param { value, .. } = event.change;
                self.gain = value;
            }
            let sample = self.gain * (self.frame % 97) as f32 * 0.01;
            (block.main.left[at], block.main.right[at]) = (sample, -sample);
            self.frame += 1;
        }
    }
    fn reset(&mut self) {
        self.frame = 0;
    }
}

/// Plays a step for each event that it gets.
struct Steps(f32);

impl Processor for Steps {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.received().iter().peekable();
        for at in 0..block.frames() {
            while events.next_if(|event| event.frame as usize <= at).is_some() {
                self.0 += 0.125;
            }
            block.main.left[at] += self.0;
            block.main.right[at] += self.0;
        }
    }
    fn reset(&mut self) {
        self.0 = 0.0;
    }
}

/// An input of the host with keys, a saw behind `late` frames, another saw, and what hears all of them; `gain` of one of
/// the edges.
fn graph(late: u32, gain: f32) -> Graph {
    let mut graph = Graph::default();
    let keys = Ports::STEREO.with_events(EventPorts::OUTPUT);
    let input = NodeKind::Input(0);
    graph.add(Node { ports: keys, ..Node::new("input", input) }).unwrap();
    graph.add(Node { latency_frames: late, ..node("late", &[]) }).unwrap();
    graph.add(Node { latency_frames: 0, ..node("saw", &[]) }).unwrap();
    let inputs = vec![edge(0, 1.0), edge(1, 0.5), edge(2, gain), Edge::events(NodeId(0))];
    let ports = Ports::STEREO.with_events(EventPorts::INPUT);
    graph.add(Node { inputs, ports, ..node("steps", &[]) }).unwrap();
    graph.add(node("out", &[(3, 0.7)])).unwrap();
    graph
}

fn processors() -> Vec<Option<Box<dyn Processor>>> {
    let saw = |frame| Some(Box::new(Saw { frame, gain: 1.0 }) as Box<dyn Processor>);
    vec![None, saw(0), saw(40), Some(Box::new(Steps(0.0))), None]
}

fn kept() -> Vec<NodeSource> {
    (0..5).map(|id| NodeSource::Kept(NodeId(id))).collect()
}

/// A lane that ramps the gain of the second saw for a while.
fn lane() -> LaneChange {
    let point = |(frame, value)| LanePoint { at: frame / 48_000.0, value, shape: Shape::Linear };
    let points = [(0.0, 1.0), (300.0, 0.2), (2000.0, 0.9)].map(point);
    let lane = LaneSpec::new(TimeBase::Seconds, points.to_vec());
    LaneChange { node: NodeId(2), param: 0, lane: Some(lane) }
}

/// Plays, with edits on the way, one of them while blocks grow. `begins`: the largest block at first; `late`: the delay then, and
/// the one that fades in as blocks grow.
fn play((kind, workers): (ScheduleKind, usize), begins: usize, late: [u32; 2]) -> Vec<u32> {
    let settings = Settings { frames: begins as u32, steer: Steer::Fixed, ..settings(kind) };
    let (mut engine, mut editor) =
        GraphEditor::start(&graph(late[0], 1.0), processors(), settings, seating(workers)).unwrap();
    editor.automate([lane()]).unwrap();
    let mut bits = Vec::new();
    for number in 0..120usize {
        match number {
            // Another delay and another gain; both still fade when blocks grow.
            20 => _ = editor.replace(&graph(late[1], 0.3), kept()).unwrap(),
            30 => _ = editor.control().set_largest_block(GROWN as u32).unwrap(),
            // One that grows again has to wait for its frames.
            33 => _ = editor.replace(&graph(700, 0.3), kept()).unwrap(),
            60 => _ = editor.replace(&graph(10, 0.9), kept()).unwrap(),
            _ => {}
        }
        let grown = number >= 30;
        let frames = if grown { [GROWN, 7, 64, 33][number % 4] } else { [FRAMES, 5][number % 2] };
        let mut input = engine.input_mut(0, frames).unwrap();
        for row in input.iter_mut() {
            assert_eq!(row.len(), frames, "block {number}");
            row.iter_mut().zip(1..).for_each(|(sample, i)| *sample = (number * i % 13) as f32);
        }
        let note = EventKind::Note(Note::on(-1, 0, 60, 1.0));
        let event = Event::new(frames as u32 - 1, Source::LIVE, note);
        assert_eq!(engine.events_mut(0).unwrap().push(event), Pushed::Stored);
        let times = engine.process(frames);
        assert_eq!(times.frames, frames, "block {number}");
        let rows = engine.output(frames);
        bits.extend(rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()));
    }
    assert_eq!(engine.largest_block(), GROWN);
    assert_eq!(editor.take_applied().len(), 4);
    bits
}

#[test]
fn what_plays_while_blocks_grow_has_the_bits_of_an_engine_that_began_with_long_ones() {
    // A delay that becomes longer, and one that becomes shorter: the old line is needed until the fade is over.
    for late in [[40, 250], [250, 40]] {
        let expected = play((ScheduleKind::Serial, 1), GROWN, late);
        assert!(expected.iter().any(|bits| *bits != 0));
        for kind in ScheduleKind::ALL {
            for workers in 1..=if kind == ScheduleKind::Serial { 1 } else { 3 } {
                let grown = play((kind, workers), FRAMES, late);
                let differ = grown.iter().zip(&expected).position(|(a, b)| a != b);
                assert_eq!(differ, None, "{kind:?} {workers} {late:?}");
                assert_eq!(grown.len(), expected.len());
            }
        }
    }
}

#[test]
fn an_input_that_was_written_before_blocks_grow_is_heard() {
    let settings = settings(ScheduleKind::Dataflow);
    let (mut engine, editor) =
        GraphEditor::start(&graph(0, 0.0), processors(), settings, seating(2)).unwrap();
    let write = |engine: &mut Engine| {
        let mut input = engine.input_mut(0, FRAMES).unwrap();
        input.iter_mut().for_each(|row| row.fill(50.0));
    };
    write(&mut engine);
    engine.process(FRAMES);
    assert!(engine.output(FRAMES).left[0] > 30.0);
    write(&mut engine);
    editor.control().set_largest_block(GROWN as u32).unwrap();
    engine.process(GROWN);
    let left = engine.output(GROWN).left;
    assert!(left[..FRAMES].iter().all(|sample| *sample > 30.0), "{left:?}");
    assert!(left[FRAMES..].iter().all(|sample| *sample < 5.0), "{left:?}");
}

#[test]
fn a_length_that_is_not_larger_changes_nothing_and_one_that_is_too_large_is_refused() {
    let (mut engine, editor) = start(&graph(0, 0.0), processors(), (ScheduleKind::Serial, 1));
    let control = editor.control();
    assert_eq!(control.set_largest_block(0), Err(ControlError::Frames(0)));
    assert_eq!(control.set_largest_block(8193), Err(ControlError::Frames(8193)));
    for frames in [1, FRAMES as u32] {
        control.set_largest_block(frames).unwrap();
        assert_eq!(engine.process(GROWN).frames, FRAMES, "a longer block is still cut");
    }
    // Until the leader has taken it over.
    control.set_largest_block(8192).unwrap();
    assert_eq!(engine.largest_block(), FRAMES);
    assert_eq!(engine.process(0).frames, 0);
    assert_eq!(engine.largest_block(), FRAMES);
    assert_eq!(engine.input_mut(0, 8192).unwrap().frames(), 8192);
    assert_eq!(engine.largest_block(), 8192);
    let times = engine.process(8192);
    assert_eq!((times.frames, times.orders), (8192, 1));
    assert!(control.is_settled());
}

#[test]
fn under_auto_blocks_may_grow_too() {
    let expected = play_auto(GROWN);
    assert_eq!(play_auto(FRAMES), expected);
}

fn play_auto(begins: usize) -> Vec<u32> {
    let settings = settings(ScheduleKind::Dataflow);
    let settings = Settings { frames: begins as u32, steer: Steer::Auto, ..settings };
    let (mut engine, editor) =
        GraphEditor::start(&graph(40, 1.0), processors(), settings, seating(3)).unwrap();
    let mut bits = Vec::new();
    for number in 0..400 {
        if number == 200 {
            editor.control().set_largest_block(GROWN as u32).unwrap();
        }
        let frames = if number < 200 { FRAMES } else { GROWN };
        assert_eq!(engine.process(frames).frames, frames);
        bits.extend(engine.output(frames).left.iter().map(|sample| sample.to_bits()));
    }
    bits
}

/// An impulse every 40 frames, 50 times.
struct Clicks(usize);

impl Processor for Clicks {
    fn process(&mut self, block: &mut Block<'_>) {
        for at in 0..block.frames() {
            let sample = f32::from(self.0.is_multiple_of(40));
            (block.main.left[at], block.main.right[at]) = (sample, sample);
            self.0 += 1;
        }
    }
    fn reset(&mut self) {
        self.0 = 0;
    }
}

#[test]
fn feedback_becomes_later_and_what_it_held_still_comes() {
    let mut graph = Graph::default();
    graph.add(node("clicks", &[])).unwrap();
    graph.add(node("echo", &[])).unwrap();
    graph.feed_back(edge(0, 1.0), NodeId(1)).unwrap();
    graph.set_outputs(vec![NodeId(1)]).unwrap();
    let processors = vec![Some(Box::new(Clicks(0)) as _), None];
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    let mut heard = Vec::new();
    let mut play = |engine: &mut Engine, frames| {
        engine.process(frames);
        heard.extend_from_slice(engine.output(frames).left);
    };
    (0..6).for_each(|_| play(&mut engine, FRAMES));
    editor.control().set_largest_block(1000).unwrap();
    for frames in [1000, 300, 1000, 1, 999] {
        play(&mut engine, frames);
    }
    // Clicks at 0, 40 and 80 come 16 frames later. That at 80 has not come yet when blocks grow.
    let clicks: Vec<usize> = (0..heard.len()).filter(|at| heard[*at] != 0.0).collect();
    assert_eq!(clicks[..3], [16, 56, 96]);
    // From then on they come 1000 frames later, fading in.
    let later: Vec<usize> = clicks.iter().copied().filter(|at| *at > 96).collect();
    assert!(later.iter().copied().eq((1120..heard.len()).step_by(40)), "{later:?}");
    let levels: Vec<f32> = later.iter().map(|at| heard[*at]).collect();
    assert!(levels.is_sorted() && levels[0] < 0.1 && levels[20] == 1.0, "{levels:?}");
}
