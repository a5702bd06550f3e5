//! The JACK device in this process, on a real jackd. A test binary of its own, because threads, files and shared memory
//! are counted.

#[allow(dead_code)]
#[path = "../jackd/mod.rs"]
mod jackd;
mod freewheel;
mod periods;
mod port_latency;
mod sentry;
mod transport;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_devices::{
    BlockObserver, Bundle, Channels, Connect, Device, DeviceError, End, Jack, JackError,
    JackOptions, NoteEnds,
};
use hocket_engine::time::EventKind;
use hocket_engine::{
    Block, BlockTimes, Edge, Engine, EventPorts, Fusing, Graph, Node, NodeKind, Policy, Ports,
    Prepared, Processor, ScheduleKind, Seat, Seating, Seats, Settings, SiblingPolicy, Strategy,
};
use jackd::sentry::{COUNTS, counter};
use jackd::{Mode, Server, wait_until};

const RATE_HZ: u32 = 48_000;

fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts blocks, and has had enough after some frames.
struct Counts {
    left: u64,
    blocks: Arc<AtomicU64>,
}

impl BlockObserver for Counts {
    fn block(&mut self, times: &BlockTimes, _: &Engine) -> bool {
        // The first block of a thread starts its thread-local values.
        sentry::watch();
        self.blocks.fetch_add(1, SeqCst);
        self.left = self.left.saturating_sub(times.frames as u64);
        self.left > 0
    }
}

/// Plays the engine input 0 and adds nothing.
struct Pass;

impl Processor for Pass {
    fn process(&mut self, _: &mut Block<'_>) {}
    fn reset(&mut self) {}
}

/// An engine that puts out its input.
fn engine(frames: u32) -> Engine {
    let mut graph = Graph::default();
    let ports = Ports::default();
    let input = graph.add(Node { ports, ..Node::new("input", NodeKind::Input(0)) }).unwrap();
    let inputs = vec![Edge::new(input, 1.0)];
    graph.add(Node { inputs, ..Node::new("pass", NodeKind::Custom(0)) }).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> = vec![None, Some(Box::new(Pass))];
    start(Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap(), frames)
}

/// With two workers on seats that nobody pins.
fn start(prepared: Prepared, frames: u32) -> Engine {
    let (schedule, sibling) = (ScheduleKind::Dataflow, SiblingPolicy::All);
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, sibling, Some(2)).unwrap();
    let settings = Settings { priority: None, ..Settings::new(frames, RATE_HZ, policy) };
    Engine::start(prepared, settings, seating).unwrap()
}

fn channels() -> Channels {
    let bundle = |name: &str| vec![Bundle { name: name.into(), channels: 2, events: false }];
    Channels { outputs: bundle("main"), inputs: bundle("voice"), ..Channels::default() }
}

fn open(server: &str, connect: Connect) -> Result<Jack<Counts>, JackError> {
    Jack::open(JackOptions { server: Some(server.into()), client_name: "hocket".into(), connect })
}

/// Turns its input's sign where a note comes.
struct Turns;

impl Processor for Turns {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.received() {
            assert!(matches!(event.kind, EventKind::Midi(note) if note.bytes() == [0x90, 60, 100]));
            for row in [&mut *block.main.left, &mut *block.main.right] {
                row[event.frame as usize] *= -1.0;
            }
        }
    }

    fn reset(&mut self) {}
}

/// An engine that puts out its input, with another sign where a note comes.
fn engine_with_notes(frames: u32) -> Engine {
    let mut graph = Graph::default();
    let ports = |events| Ports::default().with_events(events);
    let (sends, takes) = (ports(EventPorts::OUTPUT), ports(EventPorts::INPUT));
    let input = graph.add(Node { ports: sends, ..Node::new("input", NodeKind::Input(0)) }).unwrap();
    let inputs = vec![Edge::new(input, 1.0), Edge::events(input)];
    let turns = Node { ports: takes, inputs, ..Node::new("turns", NodeKind::Custom(0)) };
    graph.add(turns).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> = vec![None, Some(Box::new(Turns))];
    start(Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap(), frames)
}

/// Plays so many frames; returns the blocks.
fn play(device: &mut Jack<Counts>, engine: Engine, length: u64) -> u64 {
    let blocks = Arc::new(AtomicU64::new(0));
    let observer = Counts { left: length, blocks: Arc::clone(&blocks) };
    let played = device.play(engine, observer, &AtomicBool::new(false)).unwrap();
    assert_eq!(played.end, End::Finished);
    assert_eq!(played.threads[0].name, "leader");
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
    blocks.load(SeqCst)
}

#[test]
fn what_comes_in_goes_out_one_cycle_later_at_most() {
    let _alone = alone();
    const NAME: &str = "what_comes_in_goes_out_one_cycle_later_at_most";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::WaitsForClients) else { return };
    let other = server.client("other", (2, 2), 1 << 20);
    let mut device = open(&server.name, Connect::Client("other".into())).unwrap();
    let ready = device.prepare(&channels()).unwrap();
    assert_eq!(ready.connected.len(), 4, "{ready:?}");
    let client = device.client_name();
    assert!(ready.connected.contains(&(format!("{client}:main_1"), "other:in_1".into())));
    assert!(ready.connected.contains(&("other:out_2".into(), format!("{client}:voice_2"))));
    play(&mut device, engine(64), 6_400);
    // The engine's blocks are shorter than the cycles.
    play(&mut device, engine(48), 6_400);
    drop(device);
    for row in other.end() {
        let runs = runs_of_the_counter(&row);
        // One run where no cycle came between the two.
        let whole: usize = runs.iter().map(|run| run / 6_400).sum();
        assert_eq!(whole, 2, "{runs:?}");
    }
}

/// Has had enough after a block of so many frames.
struct UntilLong {
    frames: usize,
    blocks: Arc<AtomicU64>,
}

impl BlockObserver for UntilLong {
    fn block(&mut self, times: &BlockTimes, _: &Engine) -> bool {
        self.blocks.fetch_add(1, SeqCst);
        times.frames < self.frames
    }
}

#[test]
fn a_cycle_that_is_longer_than_all_before_becomes_one_block() {
    let _alone = alone();
    const NAME: &str = "a_cycle_that_is_longer_than_all_before_becomes_one_block";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let (server_name, client_name) = (Some(server.name.clone()), "hocket".into());
    let options = JackOptions { server: server_name, client_name, connect: Connect::No };
    let mut device = Jack::open(options).unwrap();
    device.prepare(&channels()).unwrap();
    let (blocks, stop) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(false));
    let observer = UntilLong { frames: 512, blocks: Arc::clone(&blocks) };
    let played = std::thread::scope(|scope| {
        let playing = scope.spawn(|| device.play(engine(64), observer, &stop).unwrap());
        wait_until("a block", || blocks.load(SeqCst) > 0);
        match server.tool("jack_bufsize", &["512"]) {
            Some(done) => assert!(done),
            None => {
                println!("SKIPPED {NAME}: no jack_bufsize");
                stop.store(true, SeqCst);
            }
        }
        playing.join().unwrap()
    });
    assert!(stop.into_inner() || played.end == End::Finished);
    assert!(played.end == End::Stopped || played.engine.largest_block() == 512);
}

#[test]
fn notes_come_in_at_their_frames() {
    let _alone = alone();
    const NAME: &str = "notes_come_in_at_their_frames";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::WaitsForClients) else { return };
    let other = server.client("other", (2, 2), 1 << 20);
    let mut device = open(&server.name, Connect::Client("other".into())).unwrap();
    let mut channels = channels();
    channels.inputs[0].events = true;
    let ready = device.prepare(&channels).unwrap();
    let client = device.client_name();
    assert!(ready.connected.contains(&("other:notes".into(), format!("{client}:voice_midi"))));
    play(&mut device, engine_with_notes(64), 6_400);
    // A cycle of several blocks: later ones find their notes.
    play(&mut device, engine_with_notes(48), 6_400);
    drop(device);
    let (rows, notes) = other.end_with_notes();
    let notes: Vec<u64> = notes.into_iter().map(|frame| frame % COUNTS).collect();
    for row in rows {
        let heard = row.iter().filter(|sample| **sample != 0.0);
        let turned = heard.map(|sample| {
            let number = (f64::from(sample.abs()) * 1_048_576.0) as u64 - 1;
            assert_eq!(sample.is_sign_negative(), notes.contains(&number), "{number}");
            u64::from(sample.is_sign_negative())
        });
        assert!(turned.sum::<u64>() >= 190, "a note in each cycle of 64 frames");
    }
}

/// Counts what it receives: starts of notes, and ends of all.
struct Hears {
    starts: Arc<AtomicU64>,
    ends: Arc<AtomicU64>,
}

impl Processor for Hears {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.received() {
            let count =
                if event.kind == EventKind::EndAllNotes { &self.ends } else { &self.starts };
            count.fetch_add(1, SeqCst);
        }
    }

    fn reset(&mut self) {}
}

/// An engine with a MIDI input, and how many starts and ends it has heard.
fn engine_that_hears(frames: u32) -> (Engine, [Arc<AtomicU64>; 2]) {
    let counts: [Arc<AtomicU64>; 2] = Default::default();
    let [starts, ends] = counts.clone();
    let mut graph = Graph::default();
    let ports = |events| Ports::default().with_events(events);
    let (sends, takes) = (ports(EventPorts::OUTPUT), ports(EventPorts::INPUT));
    let input = graph.add(Node { ports: sends, ..Node::new("input", NodeKind::Input(0)) }).unwrap();
    let inputs = vec![Edge::new(input, 1.0), Edge::events(input)];
    graph.add(Node { ports: takes, inputs, ..Node::new("hears", NodeKind::Custom(0)) }).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> =
        vec![None, Some(Box::new(Hears { starts, ends }))];
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap();
    (start(prepared, frames), counts)
}

/// Does something once with the notes of another client, which begin and never end.
fn notes_end_when(
    test: &str,
    mode: Mode,
    observer: impl BlockObserver,
    then: impl FnOnce(&mut Option<jackd::sentry::OtherClient>, &NoteEnds),
) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, 64, mode) else { return };
    let mut other = Some(server.client("other", (0, 2), 0));
    let options = JackOptions {
        server: Some(server.name.clone()),
        client_name: "hocket".into(),
        connect: Connect::Client("other".into()),
    };
    let mut device = Jack::open(options).unwrap();
    let mut channels = channels();
    channels.inputs[0].events = true;
    device.prepare(&channels).unwrap();
    let (engine, [starts, ends]) = engine_that_hears(64);
    let note_ends = device.note_ends();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| device.play(engine, observer, &stop).unwrap());
        wait_until("notes", || starts.load(SeqCst) > 0);
        then(&mut other, &note_ends);
        wait_until("the end of all notes", || ends.load(SeqCst) > 0);
        stop.store(true, SeqCst);
        playing.join().unwrap();
    });
}

#[test]
fn notes_end_when_what_plays_them_leaves_with_keys_held() {
    const NAME: &str = "notes_end_when_what_plays_them_leaves_with_keys_held";
    let observer = Counts { left: u64::MAX, blocks: Arc::default() };
    // Nothing is missed, so nothing else ends them.
    notes_end_when(NAME, Mode::WaitsForClients, observer, |other, _| drop(other.take()));
}

#[test]
fn notes_end_when_somebody_asks_for_it() {
    const NAME: &str = "notes_end_when_somebody_asks_for_it";
    let observer = Counts { left: u64::MAX, blocks: Arc::default() };
    notes_end_when(NAME, Mode::WaitsForClients, observer, |_, ends| ends.ask_all());
}

/// Blocks the callback for some periods once the flag is set.
struct Pauses(Arc<AtomicBool>);

impl BlockObserver for Pauses {
    fn block(&mut self, _: &BlockTimes, _: &Engine) -> bool {
        if self.0.swap(false, SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        true
    }
}

#[test]
fn notes_end_when_periods_were_missed_in_which_their_ends_may_have_been() {
    const NAME: &str = "notes_end_when_periods_were_missed_in_which_their_ends_may_have_been";
    let pauses = Arc::new(AtomicBool::new(false));
    let pause = Arc::clone(&pauses);
    notes_end_when(NAME, Mode::Usual, Pauses(pauses), move |_, _| pause.store(true, SeqCst));
}

/// The lengths of stretches that count up.
fn runs_of_the_counter(row: &[f32]) -> Vec<usize> {
    let mut runs = vec![0];
    let mut expected = None;
    for sample in row {
        let number = (f64::from(*sample) * 1_048_576.0) as u64;
        if number == 0 {
            expected = None;
            continue;
        }
        assert_eq!(counter(number - 1).to_bits(), sample.to_bits(), "no value of the counter");
        if expected != Some(number) {
            runs.push(0);
        }
        *runs.last_mut().unwrap() += 1;
        expected = Some(number + 1);
    }
    runs
}

/// Threads and open files of this process, and shared memory of JACK.
fn held(server: &str) -> [usize; 3] {
    let count = |folder: &str, is: &dyn Fn(&str) -> bool| {
        let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| is(&name.to_string_lossy())).count()
    };
    let of_server = |name: &str| name.contains(server);
    [
        count("/proc/self/task", &|_| true),
        count("/proc/self/fd", &|_| true),
        count("/dev/shm", &of_server),
    ]
}

/// A number of `/proc/self/status`, in KiB.
fn status_kib(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

/// Of each client and engine. Less than this is lost between blocks of the allocator, not leaked.
const KEPT_KIB: u64 = 32;

#[test]
fn a_hundred_times_in_and_out_leave_nothing_behind() {
    let _alone = alone();
    const NAME: &str = "a_hundred_times_in_and_out_leave_nothing_behind";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let once = || {
        let mut device = open(&server.name, Connect::Physical).unwrap();
        let ready = device.prepare(&channels()).unwrap();
        let latency = ready.latency.unwrap();
        assert!(latency.out_frames.unwrap() >= 64 && latency.in_frames.unwrap() >= 64);
        assert_eq!(play(&mut device, engine(64), 640), 10);
    };
    // The first time loads what stays loaded.
    once();
    let mut before = [0; 3];
    wait_until("the first client's end", || {
        std::mem::replace(&mut before, held(&server.name)) == held(&server.name)
    });
    (0..20).for_each(|_| once());
    // By now the allocator has what it needs for one client.
    let memory = ["RssAnon", "VmLck"].map(|key| (key, status_kib(key)));
    (0..80).for_each(|_| once());
    for (key, before) in memory {
        let now = status_kib(key);
        assert!(now < before + 80 * KEPT_KIB, "{key}: {before} KiB, then {now} KiB");
    }
    let mut after = [0; 3];
    // Threads are gone some moments after they were joined.
    wait_until(&format!("threads, files, shared memory: {before:?}"), || {
        after = held(&server.name);
        after.iter().zip(before).all(|(after, before)| *after <= before)
    });
}

#[test]
fn an_engine_of_another_rate_is_refused() {
    let _alone = alone();
    const NAME: &str = "an_engine_of_another_rate_is_refused";
    let Some(server) = Server::start(NAME, 44_100, 64, Mode::Usual) else { return };
    let mut device = open(&server.name, Connect::No).unwrap();
    device.prepare(&channels()).unwrap();
    let observer = Counts { left: 64, blocks: Arc::default() };
    let refused = device.play(engine(64), observer, &AtomicBool::new(false)).err().unwrap();
    let told = refused.to_string();
    assert!(told.contains("now runs at 44100 Hz") && told.contains("48000 Hz"), "{told}");
}

/// Holds the server's thread in its first block until it is let go.
struct Hangs {
    inside: Arc<AtomicBool>,
    let_go: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl BlockObserver for Hangs {
    fn block(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        self.inside.store(true, SeqCst);
        wait_until("the end of the hang", || self.let_go.load(SeqCst));
        // What a client that has left must not have taken away.
        assert_eq!(engine.settings().rate_hz, RATE_HZ);
        self.over.store(times.frames > 0, SeqCst);
        true
    }
}

#[test]
fn a_thread_that_hangs_keeps_what_it_uses() {
    let _alone = alone();
    const NAME: &str = "a_thread_that_hangs_keeps_what_it_uses";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let options = JackOptions {
        server: Some(server.name.clone()),
        client_name: "hangs".into(),
        connect: Connect::No,
    };
    let mut device = Jack::open(options).unwrap();
    device.prepare(&channels()).unwrap();
    let [inside, let_go, over] = std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
    let flags = [&inside, &let_go, &over].map(Arc::clone);
    let stop = Arc::new(AtomicBool::new(false));
    let playing = std::thread::spawn({
        let stop = Arc::clone(&stop);
        let [inside, let_go, over] = flags;
        move || {
            let played = device.play(engine(64), Hangs { inside, let_go, over }, &stop);
            // The client leaves while its callback hangs.
            drop(device);
            played.err().map(|error| error.to_string())
        }
    });
    wait_until("the first block", || inside.load(SeqCst));
    stop.store(true, SeqCst);
    let told = playing.join().unwrap().expect("an error");
    assert!(told.contains("hangs"), "{told}");
    assert!(!over.load(SeqCst));
    let_go.store(true, SeqCst);
    wait_until("the end of the block", || over.load(SeqCst));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let _alone = alone();
    match open("hocket-nobody", Connect::No) {
        Err(JackError::NoServer(name)) => assert_eq!(name, "hocket-nobody"),
        Err(JackError::Library(why)) => {
            println!("SKIPPED a_server_that_is_not_there_is_named: {why}")
        }
        other => panic!("{other:?}"),
    }
}

/// A server that does not call would hold up the beginning for half a minute.
#[test]
fn a_wait_for_the_server_ends_when_it_is_asked_to() {
    let _alone = alone();
    const NAME: &str = "a_wait_for_the_server_ends_when_it_is_asked_to";
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let mut device = open(&server.name, Connect::No).unwrap();
    device.stop_with(Arc::new(AtomicBool::new(true)));
    let stopped = device.prepare(&channels()).unwrap_err();
    assert!(matches!(stopped, DeviceError::Jack(JackError::Stopped)), "{stopped}");
}

#[test]
fn names_that_jack_cannot_have_are_refused() {
    let _alone = alone();
    for name in ["", "a:b", &"x".repeat(500)] {
        let options = JackOptions { server: None, client_name: name.into(), connect: Connect::No };
        match Jack::<Counts>::open(options) {
            Err(JackError::Name(refused, longest)) => {
                assert!(refused == name && (2..500).contains(&longest));
            }
            Err(JackError::Library(why)) => {
                return println!("SKIPPED names_that_jack_cannot_have_are_refused: {why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
