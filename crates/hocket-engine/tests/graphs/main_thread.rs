//! The main thread of processors: where they are freed, where their main sides are called, and what these do.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use hocket_engine::host::{
    BackgroundWork, Host, MainRequests, MainSide, StateError, WorkAnswers, WorkRequests, WorkRoom,
};
use hocket_engine::{ControlError, LostEvents, MainThread, Notice, StateFailure};

use super::*;

/// What happened, and on which thread.
type Log = Arc<Mutex<Vec<(&'static str, String)>>>;

fn note(log: &Log, what: &'static str) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("nameless").to_owned();
    log.lock().unwrap().push((what, name));
}

fn noted(log: &Log) -> Vec<(&'static str, String)> {
    log.lock().unwrap().clone()
}

/// Notes when it is freed.
struct Freed(Log, &'static str);

impl Drop for Freed {
    fn drop(&mut self) {
        note(&self.0, self.1);
    }
}

/// A processor with all three halves, each of which notes its end. It plays its gain.
struct Whole {
    _freed: Freed,
    log: Log,
    work: Option<Work>,
    requests: Option<Box<dyn WorkRequests>>,
    main: Option<Box<dyn MainRequests>>,
    asks: Asks,
    state: Arc<Mutex<f32>>,
    gain: f32,
    room: usize,
}

/// What it asks for in its next block.
#[derive(Clone, Default)]
struct Asks {
    call: Arc<AtomicBool>,
    latency: Arc<Mutex<Option<u32>>>,
    others: Arc<AtomicBool>,
}

struct Work {
    _freed: Freed,
    log: Log,
    begun: Sender<()>,
}

impl BackgroundWork for Work {
    /// Works until it is told to end.
    fn work(&mut self, _: &[u8], answers: &mut dyn WorkAnswers) {
        self.begun.send(()).unwrap();
        while !answers.is_ending() {
            thread::yield_now();
        }
        note(&self.log, "work ends");
    }
}

struct Side {
    _freed: Freed,
    log: Log,
    state: Arc<Mutex<f32>>,
}

/// What a main side makes for more frames.
struct Room(usize);

impl MainSide for Side {
    fn called(&mut self) {
        note(&self.log, "called");
    }

    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        note(&self.log, "save");
        Ok(self.state.lock().unwrap().to_le_bytes().to_vec())
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        note(&self.log, "load");
        let bytes = state.try_into().map_err(|_| "four bytes are needed")?;
        Ok(Box::new(f32::from_le_bytes(bytes)))
    }

    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        note(&self.log, "grow");
        Some(Box::new(Room(frames)))
    }
}

impl Processor for Whole {
    fn join(&mut self, host: &mut dyn Host) {
        self.room = host.largest_block();
        if let Some(work) = self.work.take() {
            let room = WorkRoom { messages: 4, bytes: 1, outlives_reset: false };
            self.requests = Some(host.background(Box::new(work), room));
        }
        let (log, state) = (Arc::clone(&self.log), Arc::clone(&self.state));
        let freed = Freed(Arc::clone(&log), "side");
        self.main = Some(host.main_side(Box::new(Side { _freed: freed, log, state })));
    }

    fn process(&mut self, block: &mut Block<'_>) {
        assert!(block.frames() <= self.room, "{} frames in {}", block.frames(), self.room);
        if let Some(requests) = &mut self.requests {
            let _ = requests.request(&[1]);
        }
        let main = self.main.as_mut().unwrap();
        if self.asks.call.swap(false, Relaxed) {
            main.call();
        }
        if let Some(frames) = self.asks.latency.lock().unwrap().take() {
            main.latency_changed(frames);
        }
        if self.asks.others.swap(false, Relaxed) {
            main.tail_changed(5);
            main.tail_changed(u64::MAX);
            main.restart();
        }
        block.main.left.fill(self.gain);
        block.main.right.fill(self.gain);
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        if let Some(Room(frames)) = new.downcast_mut() {
            self.room = self.room.max(*frames);
        } else if let Some(gain) = new.downcast_mut::<f32>() {
            std::mem::swap(&mut self.gain, gain);
            *self.state.lock().unwrap() = self.gain;
        }
    }

    fn reset(&mut self) {}
}

/// Such a processor; without `works` it has no background work.
fn whole(log: &Log, works: bool) -> (Box<dyn Processor>, Asks, Receiver<()>) {
    let (begun, begins) = channel();
    let freed = |what| Freed(Arc::clone(log), what);
    let work = works.then(|| Work { _freed: freed("work"), log: Arc::clone(log), begun });
    let (asks, state) = (Asks::default(), Arc::new(Mutex::new(1.0)));
    let (requests, main, room) = (None, None, 0);
    let log = Arc::clone(log);
    let _freed = freed("processor");
    let whole =
        Whole { _freed, log, work, requests, main, asks: asks.clone(), state, gain: 1.0, room };
    (Box::new(whole), asks, begins)
}

fn one(gain: f32) -> Graph {
    let mut graph = Graph::default();
    graph.add(node("whole", &[])).unwrap();
    graph.add(node("out", &[(0, gain)])).unwrap();
    graph
}

fn engine(processor: Box<dyn Processor>, main_thread: MainThread) -> (Engine, GraphEditor) {
    let settings = Settings { main_thread, ..settings(ScheduleKind::Dataflow) };
    GraphEditor::start(&one(1.0), vec![Some(processor), None], settings, seating(2)).unwrap()
}

fn silence() -> (Graph, Vec<NodeSource>) {
    let mut graph = Graph::default();
    graph.add(node("out", &[])).unwrap();
    (graph, vec![NodeSource::Sum])
}

/// What is freed, in which order.
const ENDS: [&str; 4] = ["work ends", "processor", "work", "side"];

#[test]
fn a_processor_that_is_removed_while_it_works_is_freed_on_the_main_thread() {
    let log = Log::default();
    let (processor, _, begins) = whole(&log, true);
    let (mut engine, mut editor) = engine(processor, MainThread::Own);
    block(&mut engine);
    begins.recv().unwrap();
    let (graph, sources) = silence();
    editor.replace_at_once(&graph, sources).unwrap();
    block(&mut engine);
    assert_eq!(noted(&log), [], "nobody has taken the old plan back");
    while noted(&log).len() < 4 {
        block(&mut engine);
        editor.take_applied();
        thread::yield_now();
    }
    let threads = ["background", "processors", "processors", "processors"];
    let expected = ENDS.into_iter().zip(threads.map(String::from));
    assert!(noted(&log).into_iter().eq(expected), "{:?}", noted(&log));
}

#[test]
fn everything_is_freed_when_the_last_handle_goes() {
    for engine_last in [false, true] {
        let log = Log::default();
        let (processor, _, begins) = whole(&log, true);
        let (mut engine, editor) = engine(processor, MainThread::Own);
        block(&mut engine);
        begins.recv().unwrap();
        if engine_last {
            drop(editor);
            drop(engine);
        } else {
            drop(engine);
            assert_eq!(noted(&log), [], "the editor has it");
            drop(editor);
        }
        let noted = noted(&log);
        assert_eq!(noted.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ENDS);
        assert!(noted[1..].iter().all(|(_, thread)| thread == "processors"), "{noted:?}");
    }
}

#[test]
fn a_host_whose_thread_is_the_main_thread_calls_and_frees_there() {
    let log = Log::default();
    let (processor, asks, _) = whole(&log, false);
    let (mut engine, mut editor) = engine(processor, MainThread::Starting);
    let control = editor.control().clone();
    let elsewhere = thread::scope(|scope| {
        let other = scope.spawn(|| {
            (control.service(), control.save_state(NodeId(0)), control.set_largest_block(64))
        });
        other.join().unwrap()
    });
    let not_here = ControlError::NotMainThread;
    let refused = (Err(not_here.clone()), Err(not_here.clone().into()), Err(not_here));
    assert_eq!(elsewhere, refused);
    asks.call.store(true, Relaxed);
    block(&mut engine);
    assert_eq!(noted(&log), [], "nobody has served");
    control.service().unwrap();
    control.service().unwrap();
    let here = thread::current().name().unwrap().to_owned();
    assert_eq!(noted(&log), [("called", here.clone())]);
    let (graph, sources) = silence();
    editor.replace_at_once(&graph, sources).unwrap();
    block(&mut engine);
    thread::scope(|scope| _ = scope.spawn(|| editor.take_applied()));
    assert_eq!(noted(&log).len(), 1, "another thread frees nothing");
    control.service().unwrap();
    let ends = ["processor", "side"].map(|what| (what, here.clone()));
    assert_eq!(noted(&log)[1..], ends);
}

#[test]
fn the_main_thread_of_the_engine_calls_what_was_asked_for() {
    let log = Log::default();
    let (processor, asks, _) = whole(&log, false);
    let (mut engine, _editor) = engine(processor, MainThread::Own);
    for round in 1..=20 {
        asks.call.store(true, Relaxed);
        block(&mut engine);
        // No further block is needed.
        while noted(&log).len() < round {
            thread::yield_now();
        }
    }
    block(&mut engine);
    assert_eq!(noted(&log), vec![("called", String::from("processors")); 20]);
}

#[test]
fn another_latency_leads_to_another_plan_and_the_host_hears_of_it() {
    let log = Log::default();
    let (processor, asks, _) = whole(&log, false);
    // A way beside it has to wait for it.
    let beside = |gain| {
        let mut graph = Graph::default();
        graph.add(node("whole", &[])).unwrap();
        graph.add(node("beside", &[])).unwrap();
        graph.add(node("out", &[(0, gain), (1, 1.0)])).unwrap();
        graph
    };
    let processors = vec![Some(processor), Some(level(1.0)), None];
    let (mut engine, mut editor) = start(&beside(1.0), processors, (ScheduleKind::Dataflow, 2));
    block(&mut engine);
    // Each node declares 3 frames.
    assert_eq!(editor.control().standing().latency_frames, 6);
    let tell = |engine: &mut Engine, editor: &GraphEditor, frames: u32| {
        *asks.latency.lock().unwrap() = Some(frames);
        let mut notices = Vec::new();
        while notices.is_empty() {
            engine.process(FRAMES);
            notices = editor.control().take_notices();
            thread::yield_now();
        }
        notices
    };
    let latency = |frames, possible| Notice::Latency { node: NodeId(0), frames, possible };
    assert_eq!(tell(&mut engine, &editor, 100), [latency(100, true)]);
    assert_eq!(editor.control().standing().latency_frames, 103);
    // An edit with an old number does not undo it.
    let kept = || (0..3).map(|id| NodeSource::Kept(NodeId(id))).collect();
    editor.replace(&beside(0.5), kept()).unwrap();
    assert_eq!(editor.control().standing().latency_frames, 103);
    assert_eq!(tell(&mut engine, &editor, 200_000_000), [latency(200_000_000, false)]);
    editor.replace(&beside(0.25), kept()).unwrap();
    assert_eq!(editor.control().standing().latency_frames, 103, "the last one that was possible");
    assert_eq!(tell(&mut engine, &editor, 0), [latency(0, true)]);
    // The other way is the longer one now: 3 and 3.
    assert_eq!(editor.control().standing().latency_frames, 6);
    asks.others.store(true, Relaxed);
    engine.process(FRAMES);
    let node = NodeId(0);
    let others = [Notice::Tail { node, frames: u64::MAX }, Notice::Restart { node }];
    assert_eq!(editor.control().take_notices(), others);
    assert_eq!(editor.control().take_notices(), []);
}

/// It has another number by then, and its old one belongs to another.
#[test]
fn a_processor_that_asks_to_be_made_anew_keeps_its_request_through_edits() {
    let log = Log::default();
    let (processor, asks, _) = whole(&log, false);
    let graph = |names: &[&str]| {
        let mut graph = Graph::default();
        names.iter().for_each(|name| _ = graph.add(node(name, &[])).unwrap());
        graph
    };
    let processors = vec![Some(processor)];
    let (mut engine, mut editor) = start(&graph(&["whole"]), processors, (ScheduleKind::Serial, 1));
    asks.others.store(true, Relaxed);
    block(&mut engine);
    let asked = editor.control().take_renewals();
    assert_eq!(asked.iter().map(|asked| asked.name()).collect::<Vec<_>>(), ["whole"]);
    assert_eq!(editor.control().take_renewals(), []);
    let others_log = Log::default();
    let (other, _, _) = whole(&others_log, false);
    let sources = vec![NodeSource::New(other), NodeSource::Kept(NodeId(0))];
    editor.replace(&graph(&["whole", "whole"]), sources).unwrap();
    editor.control().renew(&asked[0]).unwrap();
    let called = |log| noted(log).into_iter().map(|(what, _)| what).collect::<Vec<_>>();
    assert_eq!((called(&log), called(&others_log)), (vec!["save", "load"], vec![]));
    block(&mut engine);
    asks.others.store(true, Relaxed);
    block(&mut engine);
    assert!(editor.control().take_renewals() == asked, "the same processor");
    editor.replace(&graph(&["whole"]), vec![NodeSource::Kept(NodeId(0))]).unwrap();
    let gone = editor.control().renew(&asked[0]);
    assert_eq!(gone, Err(StateFailure::NoNode(NodeId(0))));
}

/// Fails in every third block.
struct Fails {
    main: Option<Box<dyn MainRequests>>,
    blocks: usize,
}

struct Silent;

impl MainSide for Silent {}

impl Processor for Fails {
    fn join(&mut self, host: &mut dyn Host) {
        self.main = Some(host.main_side(Box::new(Silent)));
    }

    fn process(&mut self, _: &mut Block<'_>) {
        self.blocks += 1;
        if self.blocks.is_multiple_of(3) {
            self.main.iter_mut().for_each(|main| main.failed());
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn blocks_in_which_a_processor_failed_are_counted_with_its_name() {
    let mut graph = Graph::default();
    graph.add(node("fails", &[])).unwrap();
    graph.add(node("good", &[(0, 1.0)])).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> =
        vec![Some(Box::new(Fails { main: None, blocks: 0 })), Some(level(1.0))];
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    (0..2).for_each(|_| _ = block(&mut engine));
    assert_eq!(engine.contained(), []);
    (0..5).for_each(|_| _ = block(&mut engine));
    for contained in [engine.contained(), editor.control().contained()] {
        let [contained] = &contained[..] else { panic!("{contained:?}") };
        let told = contained.to_string();
        assert_eq!(told, "node 'fails' failed to process 2 blocks, in which it is silent");
    }
    engine.reset();
    assert_eq!((engine.contained(), editor.control().contained()), (vec![], vec![]));
}

/// Has no room for two events in every third block.
struct Overflows {
    main: Option<Box<dyn MainRequests>>,
    blocks: usize,
}

impl Processor for Overflows {
    fn join(&mut self, host: &mut dyn Host) {
        self.main = Some(host.main_side(Box::new(Silent)));
    }

    fn process(&mut self, _: &mut Block<'_>) {
        self.blocks += 1;
        if self.blocks.is_multiple_of(3) {
            self.main.iter_mut().for_each(|main| main.events_lost(2));
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn events_that_a_processor_has_no_room_for_are_counted_with_its_name() {
    let mut graph = Graph::default();
    graph.add(node("overflows", &[])).unwrap();
    graph.add(node("good", &[(0, 1.0)])).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> =
        vec![Some(Box::new(Overflows { main: None, blocks: 0 })), Some(level(1.0))];
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    (0..2).for_each(|_| _ = block(&mut engine));
    assert_eq!(editor.control().lost_events(), []);
    (0..5).for_each(|_| _ = block(&mut engine));
    let lost = LostEvents { node: "overflows".into(), events: 4 };
    assert_eq!(editor.control().lost_events(), [lost]);
    assert_eq!(editor.control().contained(), [], "it has not failed");
    engine.reset();
    assert_eq!(editor.control().lost_events(), []);
}

#[test]
fn state_is_saved_while_it_plays_and_goes_in_at_a_frame() {
    let log = Log::default();
    let (processor, ..) = whole(&log, false);
    let (mut engine, mut editor) = engine(processor, MainThread::Own);
    let node = NodeId(0);
    assert_eq!(block(&mut engine).1, 1.0);
    let saved = editor.control().save_state(node).unwrap();
    assert_eq!(saved, 1.0f32.to_le_bytes());
    let number = editor.load_state(node, &0.25f32.to_le_bytes()).unwrap();
    assert_eq!(block(&mut engine).1, 0.25);
    assert_eq!(editor.take_applied(), [AppliedAt { number, frame: FRAMES as u64 }]);
    assert_eq!(editor.control().save_state(node).unwrap(), 0.25f32.to_le_bytes());
    editor.load_state(node, &saved).unwrap();
    assert_eq!(block(&mut engine).1, 1.0);
    let refused = editor.load_state(node, &[1, 2]);
    let why = String::from("four bytes are needed");
    assert_eq!(refused, Err(StateFailure::Refused { node: "whole".into(), why }));
    assert_eq!(block(&mut engine).1, 1.0);
    let sum = editor.control().save_state(NodeId(1));
    assert_eq!(sum, Err(StateFailure::NoNode(NodeId(1))));
    let main = noted(&log).into_iter().all(|(_, thread)| thread == "processors");
    assert!(main, "{:?}", noted(&log));
}

#[test]
fn a_node_without_a_main_side_has_no_state() {
    let (_engine, editor) = engine(level(1.0), MainThread::Own);
    let failure = StateFailure::NoState("whole".into());
    assert_eq!(editor.control().save_state(NodeId(0)), Err(failure.clone()));
    assert_eq!(editor.control().load_state(NodeId(0), &[]), Err(failure));
}

#[test]
fn processors_are_ready_when_blocks_grow() {
    let log = Log::default();
    let (processor, ..) = whole(&log, false);
    let (mut engine, mut editor) = engine(processor, MainThread::Own);
    block(&mut engine);
    editor.control().set_largest_block(4 * FRAMES as u32).unwrap();
    assert_eq!(engine.process(4 * FRAMES).frames, 4 * FRAMES);
    assert_eq!(engine.contained(), [], "its room has grown");
    assert_eq!(engine.output(4 * FRAMES).right, [1.0; 4 * FRAMES]);
    // One that joins later has the room from the start.
    let (second, ..) = whole(&log, false);
    let sources = vec![NodeSource::New(second), NodeSource::Sum];
    editor.replace_at_once(&one(1.0), sources).unwrap();
    assert_eq!(engine.process(4 * FRAMES).frames, 4 * FRAMES);
    assert_eq!(engine.contained(), []);
}

/// A main side that panics when it is called.
struct Panics;

impl MainSide for Panics {
    fn called(&mut self) {
        panic!("as the test asked");
    }
}

struct HasPanics(Option<Box<dyn MainRequests>>);

impl Processor for HasPanics {
    fn join(&mut self, host: &mut dyn Host) {
        self.0 = Some(host.main_side(Box::new(Panics)));
    }
    fn process(&mut self, block: &mut Block<'_>) {
        self.0.as_mut().unwrap().call();
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }
    fn reset(&mut self) {}
}

#[test]
fn a_main_side_that_panics_is_not_called_again_and_the_sound_goes_on() {
    let (mut engine, editor) = engine(Box::new(HasPanics(None)), MainThread::Starting);
    for _ in 0..3 {
        assert_eq!(block(&mut engine).1, 1.0);
        editor.control().service().unwrap();
    }
    let failure = StateFailure::Control(ControlError::Panicked);
    assert_eq!(editor.control().save_state(NodeId(0)), Err(failure));
}

/// A main side that waits inside its calls until the test lets it go on.
struct Waits {
    begun: Sender<()>,
    goes_on: Receiver<()>,
    /// The sizes that it was asked for.
    grown: Arc<Mutex<Vec<usize>>>,
    panics: Arc<AtomicBool>,
}

impl MainSide for Waits {
    fn load(&mut self, _: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        self.begun.send(()).unwrap();
        self.goes_on.recv().unwrap();
        Ok(Box::new(0.25f32))
    }
    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        assert!(!self.panics.load(Relaxed), "as the test asked");
        self.grown.lock().unwrap().push(frames);
        Some(Box::new(frames))
    }
}

/// Plays its gain, which a state sets. It keeps how many frames it has room for.
struct HasWaits {
    side: Option<Waits>,
    gain: f32,
    room: Arc<Mutex<usize>>,
}

impl Processor for HasWaits {
    fn join(&mut self, host: &mut dyn Host) {
        _ = host.main_side(Box::new(self.side.take().unwrap()));
        *self.room.lock().unwrap() = host.largest_block();
    }
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(self.gain);
        block.main.right.fill(self.gain);
    }
    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        match new.downcast_ref::<usize>() {
            Some(frames) => *self.room.lock().unwrap() = *frames,
            None => self.gain = *new.downcast_ref::<f32>().unwrap(),
        }
    }
    fn reset(&mut self) {}
}

/// What the test has of such a processor.
struct Held {
    begins: Receiver<()>,
    go_on: Sender<()>,
    grown: Arc<Mutex<Vec<usize>>>,
    panics: Arc<AtomicBool>,
    room: Arc<Mutex<usize>>,
}

fn waits() -> (Box<dyn Processor>, Held) {
    let ((begun, begins), (go_on, goes_on)) = (channel(), channel());
    let (grown, panics, room) = (Arc::default(), Arc::default(), Arc::default());
    let side = Waits { begun, goes_on, grown: Arc::clone(&grown), panics: Arc::clone(&panics) };
    let processor = HasWaits { side: Some(side), gain: 1.0, room: Arc::clone(&room) };
    (Box::new(processor), Held { begins, go_on, grown, panics, room })
}

#[test]
fn a_state_goes_to_the_processor_that_it_was_made_for_whatever_its_number_is_then() {
    let (processor, held) = waits();
    let (mut engine, mut editor) = engine(processor, MainThread::Own);
    block(&mut engine);
    let control = editor.control().clone();
    let loads = thread::spawn(move || control.load_state(NodeId(0), &[]));
    held.begins.recv().unwrap();
    // Another node gets its number.
    let mut graph = Graph::default();
    graph.add(node("first", &[])).unwrap();
    graph.add(node("whole", &[])).unwrap();
    graph.add(node("out", &[(0, 16.0), (1, 1.0)])).unwrap();
    let (first, _) = waits();
    let sources = vec![NodeSource::New(first), NodeSource::Kept(NodeId(0)), NodeSource::Sum];
    editor.replace_at_once(&graph, sources).unwrap();
    held.go_on.send(()).unwrap();
    loads.join().unwrap().unwrap();
    (0..3).for_each(|_| _ = block(&mut engine));
    assert_eq!(engine.output(FRAMES).right, [16.25; FRAMES]);
    // One that has gone gets nothing.
    let control = editor.control().clone();
    let loads = thread::spawn(move || control.load_state(NodeId(1), &[]));
    held.begins.recv().unwrap();
    let (graph, sources) = silence();
    editor.replace_at_once(&graph, sources).unwrap();
    held.go_on.send(()).unwrap();
    assert_eq!(loads.join().unwrap(), Err(StateFailure::NoNode(NodeId(1))));
}

#[test]
fn processors_never_get_less_room_than_they_have() {
    let (processor, held) = waits();
    let (mut engine, editor) = engine(processor, MainThread::Own);
    let frames = FRAMES as u32;
    for frames in [4 * frames, 2 * frames, frames, 4 * frames] {
        editor.control().set_largest_block(frames).unwrap();
    }
    block(&mut engine);
    assert_eq!(*held.room.lock().unwrap(), 4 * FRAMES);
    assert_eq!(*held.grown.lock().unwrap(), [4 * FRAMES], "it is asked no more");
    assert_eq!(engine.largest_block(), 4 * FRAMES);
}

#[test]
fn blocks_do_not_grow_beyond_what_a_main_side_failed_to_make() {
    let (processor, held) = waits();
    let (mut engine, editor) = engine(processor, MainThread::Own);
    held.panics.store(true, Relaxed);
    // The second time it is not called any more.
    for _ in 0..2 {
        let refused = editor.control().set_largest_block(4 * FRAMES as u32);
        assert_eq!(refused, Err(ControlError::Panicked));
        assert_eq!(engine.process(4 * FRAMES).frames, FRAMES);
    }
    assert_eq!(engine.contained(), []);
}

#[test]
fn offline_a_latency_is_planned_before_the_next_block() {
    for main_thread in [MainThread::Own, MainThread::Starting] {
        let log = Log::default();
        let (processor, asks, _) = whole(&log, false);
        let (mut engine, editor) = engine(processor, main_thread);
        engine.set_offline(true);
        for frames in [100, 7, 300] {
            *asks.latency.lock().unwrap() = Some(frames);
            asks.call.store(true, Relaxed);
            block(&mut engine);
            // What the sum declares comes on top.
            block(&mut engine);
            assert_eq!(editor.control().standing().latency_frames, frames + 3);
            let expected = Notice::Latency { node: NodeId(0), frames, possible: true };
            assert_eq!(editor.control().take_notices(), [expected]);
        }
        assert_eq!(noted(&log).len(), 3, "called as often");
    }
}
