//! Events between nodes: when they arrive, what a full port does, and that no note hangs.

use std::sync::{Arc, Mutex};

use hocket_engine::time::{
    Event, EventKind, Midi1, Note, Pushed, Source, TimedCommand, TransportCommand, Ump,
};
use hocket_engine::{
    Block, Edge, Engine, EventPorts, Graph, GraphEditor, LostEvents, Node, NodeId, NodeKind,
    NodeSource, Ports, Processor, ScheduleKind,
};

use super::{FRAMES, seating, settings};

fn on(key: i8) -> EventKind {
    EventKind::Note(Note::on(-1, 0, key, 0.5))
}

fn off(key: i8) -> EventKind {
    EventKind::Note(Note::off(-1, 0, key, 0.0))
}

/// Sends events at frames since its beginning.
struct Sends {
    list: Vec<(u64, EventKind)>,
    frame: u64,
    keeps_time: bool,
}

impl Processor for Sends {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames() as u64;
        for (at, kind) in &self.list {
            if let Some(frame) = at.checked_sub(self.frame).filter(|frame| *frame < frames) {
                _ = block.send(frame as u32, *kind);
            }
        }
        self.frame += frames;
    }

    fn reset(&mut self) {
        self.frame = 0;
    }

    fn keeps_time(&self) -> bool {
        self.keeps_time
    }
}

fn sends(list: &[(u64, EventKind)]) -> NodeSource {
    NodeSource::New(Box::new(Sends { list: list.to_vec(), frame: 0, keeps_time: false }))
}

/// What a node received, with frames since its beginning.
pub type Heard = Arc<Mutex<Vec<(u64, EventKind)>>>;

/// Notes what it receives, and the frames at which its audio begins to be 1.
#[derive(Default)]
struct Hears {
    heard: Heard,
    impulses: Arc<Mutex<Vec<u64>>>,
    frame: u64,
}

impl Processor for Hears {
    fn process(&mut self, block: &mut Block<'_>) {
        let heard = block.received().iter();
        let heard = heard.map(|event| (self.frame + u64::from(event.frame), event.kind));
        self.heard.lock().unwrap().extend(heard);
        let ones = (self.frame..).zip(&*block.main.left).filter(|(_, sample)| **sample == 1.0);
        self.impulses.lock().unwrap().extend(ones.map(|(frame, _)| frame));
        self.frame += block.frames() as u64;
    }

    fn reset(&mut self) {
        self.frame = 0;
    }
}

/// A node that hears, and what it will have heard.
pub fn hears() -> (NodeSource, Heard) {
    let hears = Hears::default();
    let heard = Arc::clone(&hears.heard);
    (NodeSource::New(Box::new(hears)), heard)
}

fn node(name: &str, events: EventPorts) -> Node {
    let ports = Ports::STEREO.with_events(events);
    Node { ports, ..Node::new(name, NodeKind::Custom(0)) }
}

/// Node 0 writes, node 1 reads.
pub fn pair(connected: bool) -> Graph {
    let mut graph = Graph::default();
    let writer = graph.add(node("writer", EventPorts::OUTPUT)).unwrap();
    let reader = graph.add(node("reader", EventPorts::INPUT)).unwrap();
    if connected {
        graph.connect_events(writer, reader).unwrap();
    }
    graph
}

/// An engine whose processors come from `sources`.
pub fn start(graph: &Graph, sources: Vec<NodeSource>, kind: ScheduleKind) -> (Engine, GraphEditor) {
    let processor = |source| match source {
        NodeSource::New(processor) => Some(processor),
        _ => None,
    };
    let workers = if kind == ScheduleKind::Serial { 1 } else { 2 };
    let processors = sources.into_iter().map(processor).collect();
    GraphEditor::start(graph, processors, settings(kind), seating(workers)).unwrap()
}

/// Plays so many frames in blocks of at most `longest`.
fn play(engine: &mut Engine, frames: usize, longest: usize) {
    let mut frame = 0;
    while frame < frames {
        frame += engine.process(longest.min(frames - frame)).frames;
    }
}

fn kept(ids: impl IntoIterator<Item = u32>) -> Vec<NodeSource> {
    ids.into_iter().map(|id| NodeSource::Kept(NodeId(id))).collect()
}

pub fn taken(heard: &Heard) -> Vec<(u64, EventKind)> {
    std::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn notes_arrive_at_their_frames_under_every_schedule_and_cut() {
    let list: Vec<(u64, EventKind)> =
        (0..40).map(|n| (3 * n, if n % 2 == 0 { on(60) } else { off(60) })).collect();
    for kind in ScheduleKind::ALL {
        for longest in [1, 5, FRAMES] {
            let (reader, heard) = hears();
            let (mut engine, _editor) = start(&pair(true), vec![sends(&list), reader], kind);
            play(&mut engine, 200, longest);
            assert_eq!(taken(&heard), list, "{kind:?}, blocks of {longest}");
        }
    }
}

#[test]
fn a_host_reads_the_events_of_an_output_under_every_schedule_and_cut() {
    let list: Vec<(u64, EventKind)> =
        (0..40).map(|n| (3 * n, if n % 2 == 0 { on(60) } else { off(60) })).collect();
    for kind in ScheduleKind::ALL {
        for longest in [1, 5, FRAMES] {
            let mut graph = pair(true);
            graph.set_outputs(vec![NodeId(1), NodeId(0)]).unwrap();
            let (reader, heard) = hears();
            let (mut engine, _editor) = start(&graph, vec![sends(&list), reader], kind);
            assert!(engine.output_events(0).is_none(), "the reader sends nothing");
            assert!(engine.output_events(2).is_none(), "there is no such output");
            let (mut read, mut frame) = (Vec::new(), 0);
            while frame < 200 {
                let frames = engine.process(longest.min(200 - frame)).frames;
                let sent = engine.output_events(1).unwrap().all().iter();
                read.extend(sent.map(|sent| (frame as u64 + u64::from(sent.frame), sent.kind)));
                frame += frames;
            }
            assert_eq!(read, list, "{kind:?}, blocks of {longest}");
            assert_eq!(taken(&heard), list, "others read them too");
        }
    }
}

#[test]
fn an_output_without_readers_has_its_events_and_an_engine_input_has_none() {
    let mut graph = Graph::default();
    let ports = Ports::of(1).with_events(EventPorts::OUTPUT);
    let keyboard = Node { ports, ..Node::new("keyboard", NodeKind::Input(0)) };
    let keyboard = graph.add(keyboard).unwrap();
    let writer = graph.add(node("writer", EventPorts::OUTPUT)).unwrap();
    graph.set_outputs(vec![writer, keyboard]).unwrap();
    let sources = vec![NodeSource::Sum, sends(&[(7, on(60))])];
    let (mut engine, _editor) = start(&graph, sources, ScheduleKind::Dataflow);
    engine.process(FRAMES);
    let sent = engine.output_events(0).unwrap().all();
    assert_eq!(sent.iter().map(|sent| (sent.frame, sent.kind)).collect::<Vec<_>>(), [(7, on(60))]);
    assert!(engine.output_events(1).is_none());
    engine.process(FRAMES);
    assert_eq!(engine.output_events(0).unwrap().all(), []);
}

/// Two impulses of a source whose output lags by 40 frames.
struct LateImpulses(u64);

impl Processor for LateImpulses {
    fn process(&mut self, block: &mut Block<'_>) {
        for (frame, sample) in (self.0..).zip(&mut *block.main.left) {
            *sample = if frame == 50 || frame == 141 { 1.0 } else { 0.0 };
        }
        self.0 += block.frames() as u64;
    }

    fn reset(&mut self) {
        self.0 = 0;
    }

    fn latency_frames(&self) -> u32 {
        40
    }
}

#[test]
fn notes_and_audio_of_one_instant_meet() {
    for kind in ScheduleKind::ALL {
        let mut graph = Graph::default();
        let late = Node { latency_frames: 40, ..node("late", EventPorts::NONE) };
        let late = graph.add(late).unwrap();
        let writer = graph.add(node("writer", EventPorts::OUTPUT)).unwrap();
        let inputs = vec![Edge::events(writer), Edge::new(late, 1.0)];
        graph.add(Node { inputs, ..node("reader", EventPorts::INPUT) }).unwrap();
        let hears = Hears::default();
        let (heard, impulses) = (Arc::clone(&hears.heard), Arc::clone(&hears.impulses));
        let late = NodeSource::New(Box::new(LateImpulses(0)));
        let sources =
            vec![late, sends(&[(10, on(1)), (101, off(1))]), NodeSource::New(Box::new(hears))];
        let (mut engine, _editor) = start(&graph, sources, kind);
        play(&mut engine, 300, FRAMES);
        assert_eq!(*impulses.lock().unwrap(), [50, 141], "{kind:?}");
        assert_eq!(taken(&heard), [(50, on(1)), (141, off(1))], "{kind:?}");
    }
}

/// Sends many notes in its first block, and then an end for each.
struct Floods(bool);

impl Processor for Floods {
    fn process(&mut self, block: &mut Block<'_>) {
        if std::mem::take(&mut self.0) {
            let started =
                (0..3000).filter(|n| block.send(0, on((n % 128) as i8)) == Pushed::Stored);
            assert_eq!(started.count(), 1024);
            for key in 0..127 {
                assert_ne!(block.send(1, off(key)), Pushed::Refused, "an end");
            }
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn a_full_port_counts_what_it_refuses_and_ends_every_note() {
    let (reader, heard) = hears();
    let floods = NodeSource::New(Box::new(Floods(true)));
    let (mut engine, editor) = start(&pair(true), vec![floods, reader], ScheduleKind::Serial);
    play(&mut engine, 100, FRAMES);
    let heard = taken(&heard);
    assert_eq!(heard.iter().filter(|(_, kind)| !kind.ends_notes()).count(), 1024);
    assert!(heard.contains(&(1, EventKind::EndAllNotes)), "for the ends without room");
    assert!(heard.iter().position(|(_, kind)| *kind == off(0)).unwrap() >= 1024);
    let lost = LostEvents { node: "writer".into(), events: 3000 - 1024 };
    assert_eq!(editor.control().lost_events(), [lost]);
    engine.reset();
    assert_eq!(editor.control().lost_events(), []);
}

/// An engine input whose events a node hears, and a second input for events of its own.
fn keyboard() -> (Graph, Vec<NodeSource>, Heard) {
    let mut graph = Graph::default();
    let keyboard = |number| Node {
        ports: Ports::of(1).with_events(EventPorts::OUTPUT),
        ..Node::new("keyboard", NodeKind::Input(number))
    };
    let inputs = [3, 7].map(|number| Edge::events(graph.add(keyboard(number)).unwrap()));
    graph.add(Node { inputs: inputs.into(), ..node("reader", EventPorts::INPUT) }).unwrap();
    let (reader, heard) = hears();
    (graph, vec![NodeSource::Sum, NodeSource::Sum, reader], heard)
}

#[test]
fn a_host_hands_events_over_in_any_order_and_ahead() {
    for longest in [1, 7, FRAMES] {
        let (graph, sources, heard) = keyboard();
        let (mut engine, _editor) = start(&graph, sources, ScheduleKind::Dataflow);
        assert!(engine.events_mut(0).is_none(), "no such input");
        let hand_over = |engine: &mut Engine, number, frame, kind| {
            let events = engine.events_mut(number).unwrap();
            assert_eq!(events.push(Event::new(frame, Source::LIVE, kind)), Pushed::Stored);
        };
        hand_over(&mut engine, 7, 40, on(2));
        hand_over(&mut engine, 3, 90, off(1));
        hand_over(&mut engine, 3, 40, on(1));
        hand_over(&mut engine, 7, 41, off(2));
        hand_over(&mut engine, 3, 0, on(9));
        play(&mut engine, 60, longest);
        hand_over(&mut engine, 3, 0, off(9));
        play(&mut engine, 60, longest);
        let expected =
            [(0, on(9)), (40, on(1)), (40, on(2)), (41, off(2)), (60, off(9)), (90, off(1))];
        assert_eq!(taken(&heard), expected, "edge 0 first at one frame; blocks of {longest}");
    }
}

#[test]
fn a_host_that_hands_over_too_much_keeps_what_is_refused_and_loses_no_end() {
    let (graph, sources, heard) = keyboard();
    let (mut engine, _editor) = start(&graph, sources, ScheduleKind::Serial);
    let events = engine.events_mut(3).unwrap();
    let push = |kind| Event::new(5, Source::LIVE, kind);
    let stored = (0..2000).filter(|_| events.push(push(on(60))) == Pushed::Stored).count();
    assert_eq!((stored, events.counts().refused), (1024, 976));
    assert_eq!(events.push(push(off(60))), Pushed::Stored);
    play(&mut engine, FRAMES, FRAMES);
    let heard = taken(&heard);
    assert_eq!((heard.len(), heard[1024]), (1025, (5, off(60))));
    assert!(engine.events_mut(3).unwrap().all().is_empty(), "there is room again");
}

/// The ends of two held notes and a pedal, in the kinds in which they began.
fn held() -> ([(u64, EventKind); 5], Vec<EventKind>) {
    let midi = |bytes| EventKind::Midi(Midi1::new(bytes).unwrap());
    let packet = |bytes| EventKind::Ump(Ump::from_midi1(3, Midi1::new(bytes).unwrap()));
    let begins = [
        (3, on(60)),
        (3, on(61)),
        (4, midi(&[0x92, 40, 90])),
        (5, packet(&[0xb0, 64, 127])),
        (9, off(61)),
    ];
    (begins, vec![off(60), midi(&[0x82, 40, 0]), packet(&[0xb0, 64, 0])])
}

#[test]
fn no_note_hangs_when_its_edge_or_its_writer_goes() {
    let (begins, ends) = held();
    for (softly, case) in
        [false, true].into_iter().flat_map(|softly| (0..4).map(move |c| (softly, c)))
    {
        let (reader, heard) = hears();
        let (mut engine, mut editor) =
            start(&pair(true), vec![sends(&begins), reader], ScheduleKind::Dataflow);
        play(&mut engine, 35, FRAMES);
        assert_eq!(taken(&heard), begins);
        let mut alone = Graph::default();
        alone.add(node("reader", EventPorts::INPUT)).unwrap();
        let steps: Vec<(Graph, Vec<NodeSource>)> = match case {
            0 => vec![(pair(false), kept([0, 1]))],
            1 => vec![(alone, kept([1]))],
            // Another writer in the place of the first one.
            2 => vec![(pair(true), vec![sends(&[]), NodeSource::Kept(NodeId(1))])],
            // Away and back before the next block.
            _ => vec![(pair(false), kept([0, 1])), (pair(true), kept([0, 1]))],
        };
        for (graph, sources) in steps {
            match softly {
                true => editor.replace(&graph, sources).unwrap(),
                false => editor.replace_at_once(&graph, sources).unwrap(),
            };
        }
        for _ in 0..80 {
            play(&mut engine, 5, 5);
            _ = editor.take_applied();
        }
        let expected: Vec<(u64, EventKind)> = ends.iter().map(|end| (35, *end)).collect();
        assert_eq!(taken(&heard), expected, "case {case}, softly: {softly}");
    }
}

/// A keyboard that is played ahead, removed, and added again while what it fed still fades out: what was played ahead is
/// gone, whether a control thread has tidied up in between or not.
#[test]
fn an_input_that_comes_again_plays_nothing_of_before() {
    let without = || {
        let mut graph = Graph::default();
        graph.add(node("master", EventPorts::NONE)).unwrap();
        graph
    };
    let with = || {
        let mut graph = Graph::default();
        let ports = Ports::of(1).with_events(EventPorts::OUTPUT);
        let keys = Node { ports, ..Node::new("keyboard", NodeKind::Input(3)) };
        let inputs = vec![Edge::events(graph.add(keys).unwrap())];
        let reader = Node { inputs, ..node("reader", EventPorts::INPUT) };
        let inputs = vec![Edge::new(graph.add(reader).unwrap(), 1.0)];
        graph.add(Node { inputs, ..node("master", EventPorts::NONE) }).unwrap();
        graph
    };
    for tidies in [false, true] {
        let ((reader, _), master) = (hears(), NodeSource::Sum);
        let (mut engine, mut editor) =
            start(&with(), vec![NodeSource::Sum, reader, master], ScheduleKind::Dataflow);
        let ahead = Event::new(1500, Source::LIVE, on(1));
        assert_eq!(engine.events_mut(3).unwrap().push(ahead), Pushed::Stored);
        play(&mut engine, FRAMES, FRAMES);
        editor.replace(&without(), kept([2])).unwrap();
        play(&mut engine, 800, FRAMES);
        if tidies {
            editor.take_applied();
            assert!(editor.is_settled());
            play(&mut engine, FRAMES, FRAMES);
            editor.take_applied();
        } else {
            play(&mut engine, FRAMES, FRAMES);
        }
        let (again, heard) = hears();
        editor.replace(&with(), vec![NodeSource::Sum, again, NodeSource::Kept(NodeId(0))]).unwrap();
        play(&mut engine, 1500, FRAMES);
        assert_eq!(taken(&heard), [], "tidied up: {tidies}");
    }
}

#[test]
fn nothing_ends_when_a_graph_is_replaced_by_itself() {
    let (begins, _) = held();
    let (reader, heard) = hears();
    let (mut engine, mut editor) =
        start(&pair(true), vec![sends(&begins), reader], ScheduleKind::Critical);
    for frame in 0..20 {
        play(&mut engine, 1, 1);
        match frame % 2 {
            0 => editor.replace_at_once(&pair(true), kept([0, 1])).unwrap(),
            _ => editor.replace(&pair(true), kept([0, 1])).unwrap(),
        };
    }
    assert_eq!(taken(&heard), begins);
}

/// Node 0 writes and node 2 reads it, and node 1, which is so many frames late.
fn waiting(late: u32) -> Graph {
    let mut graph = Graph::default();
    let writer = graph.add(node("writer", EventPorts::OUTPUT)).unwrap();
    let late = Node { latency_frames: late, ..node("late", EventPorts::NONE) };
    let inputs = vec![Edge::new(graph.add(late).unwrap(), 1.0), Edge::events(writer)];
    graph.add(Node { inputs, ..node("reader", EventPorts::INPUT) }).unwrap();
    graph
}

#[test]
fn a_delay_that_changes_loses_nothing_and_lets_nothing_overtake() {
    let list: Vec<(u64, EventKind)> = (0..100).map(|n| (n, on(n as i8))).collect();
    let kinds = list.iter().map(|(_, kind)| *kind).collect::<Vec<_>>();
    for delays in [[40, 0, 40], [0, 40, 3000], [3000, 40, 0], [8, 9, 7]] {
        let (reader, heard) = hears();
        let sources = vec![sends(&list), NodeSource::Sum, reader];
        let (mut engine, mut editor) = start(&waiting(delays[0]), sources, ScheduleKind::Dataflow);
        play(&mut engine, 30, 7);
        editor.replace(&waiting(delays[1]), kept(0..3)).unwrap();
        play(&mut engine, 30, 7);
        editor.replace(&waiting(delays[2]), kept(0..3)).unwrap();
        play(&mut engine, 4000, 7);
        let heard = taken(&heard);
        assert_eq!(heard.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), kinds, "{delays:?}");
        assert_eq!(heard[0].0, u64::from(delays[0]), "sent before the first change: {delays:?}");
        let last = 99 + u64::from(delays[2]);
        let longest = 99 + u64::from(*delays.iter().max().unwrap());
        assert!((last..=longest).contains(&heard[99].0), "{delays:?}: {:?}", heard[99]);
    }
}

#[test]
fn what_waits_and_what_sounds_is_forgotten_by_a_reset() {
    let (reader, heard) = hears();
    let sources = vec![sends(&[(2, on(5)), (30, on(6))]), NodeSource::Sum, reader];
    let (mut engine, mut editor) = start(&waiting(20), sources, ScheduleKind::Serial);
    play(&mut engine, 45, FRAMES);
    assert_eq!(taken(&heard), [(22, on(5))]);
    engine.reset();
    play(&mut engine, 45, FRAMES);
    assert_eq!(taken(&heard), [(22, on(5))], "and not the one that waited");
    engine.reset();
    editor
        .replace(&waiting(0), vec![sends(&[]), NodeSource::Sum, NodeSource::Kept(NodeId(2))])
        .unwrap();
    play(&mut engine, 45, FRAMES);
    assert_eq!(taken(&heard), [], "nothing sounds that could end");
}

#[test]
fn what_follows_the_song_is_ended_where_the_song_stops_or_jumps() {
    for (late, keeps_time) in [(0, true), (100, true), (0, false)] {
        for longest in [3, FRAMES] {
            let list = vec![(10, on(1)), (60, on(2)), (85, on(3))];
            let writer = Sends { list, frame: 0, keeps_time };
            let (reader, heard) = hears();
            let sources = vec![NodeSource::New(Box::new(writer)), NodeSource::Sum, reader];
            let (mut engine, _editor) = start(&waiting(late), sources, ScheduleKind::Dataflow);
            for (at_steady, command) in [
                (50, TransportCommand::Locate(0)),
                (60, TransportCommand::Locate(7)),
                (80, TransportCommand::Stop),
                (120, TransportCommand::Play),
            ] {
                engine.command(TimedCommand { at_steady, command }).unwrap();
            }
            play(&mut engine, 300, longest);
            let late = u64::from(late);
            let ends = [(50, off(1)), (80, off(2))].into_iter().filter(|_| keeps_time);
            let mut expected: Vec<_> = [(10, on(1)), (60, on(2)), (85, on(3))].into();
            expected.extend(ends);
            expected.sort_by_key(|(frame, _)| *frame);
            let expected: Vec<_> =
                expected.into_iter().map(|(frame, kind)| (frame + late, kind)).collect();
            assert_eq!(taken(&heard), expected, "late by {late}, blocks of {longest}");
        }
    }
}

/// Starts a note, and panics in its third block.
struct Panics(u32);

impl Processor for Panics {
    fn process(&mut self, block: &mut Block<'_>) {
        self.0 += 1;
        if self.0 == 1 {
            _ = block.send(0, on(60));
        }
        if self.0 == 3 {
            _ = block.send(0, on(61));
            panic!("as the test asked");
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn the_notes_of_a_node_that_panics_end() {
    let (reader, heard) = hears();
    let writer = NodeSource::New(Box::new(Panics(0)));
    let (mut engine, _editor) = start(&pair(true), vec![writer, reader], ScheduleKind::Dataflow);
    play(&mut engine, 6 * FRAMES, FRAMES);
    let third = 2 * FRAMES as u64;
    assert_eq!(taken(&heard), [(0, on(60)), (third, EventKind::EndAllNotes)]);
}

/// Sends behind its block.
struct SendsLate;

impl Processor for SendsLate {
    fn process(&mut self, block: &mut Block<'_>) {
        _ = block.send(block.frames() as u32 + 100, off(1));
    }

    fn reset(&mut self) {}
}

#[test]
fn an_event_behind_the_block_comes_at_its_last_frame() {
    let (reader, heard) = hears();
    let writer = NodeSource::New(Box::new(SendsLate));
    let (mut engine, _editor) = start(&pair(true), vec![writer, reader], ScheduleKind::Serial);
    play(&mut engine, FRAMES, FRAMES);
    assert_eq!(taken(&heard), [(FRAMES as u64 - 1, off(1))]);
}

#[test]
fn event_edges_need_ports_and_an_order() {
    let mut graph = pair(false);
    let (writer, reader) = (NodeId(0), NodeId(1));
    let refused = |result: Result<(), hocket_engine::GraphError>| result.unwrap_err().to_string();
    let back = refused(graph.connect_events(reader, writer));
    assert!(back.contains("goes back: add 'writer' behind 'reader'"), "{back}");
    let own = refused(graph.connect_events(writer, writer));
    assert!(own.contains("closes a cycle: writer -> writer; remove"), "{own}");
    assert!(refused(graph.feed_back(Edge::events(writer), writer)).contains("feeds events back"));
    assert!(refused(graph.connect_events(writer, NodeId(9))).contains("no node 9"));
    let plain = graph.add(node("plain", EventPorts::NONE)).unwrap();
    let no_input = refused(graph.connect_events(writer, plain));
    assert!(no_input.contains("'plain'") && no_input.contains("no event input"), "{no_input}");
    let last = graph.add(node("last", EventPorts::INPUT)).unwrap();
    assert!(refused(graph.connect_events(plain, last)).contains("no event output"));
    assert_eq!(graph.connect_events(writer, last), Ok(()));
}
