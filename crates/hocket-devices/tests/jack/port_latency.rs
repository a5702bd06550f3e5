//! How late the client's ports are, as another client reads it from the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use hocket_devices::{Bundle, Channels, Connect, Device, Jack, JackOptions, LatencyRange};
use hocket_engine::host::{Host, MainRequests, MainSide};
use hocket_engine::{
    Block, Edge, Engine, Fusing, Graph, Node, NodeKind, Ports, Prepared, Processor,
};

use super::jackd::sentry::{CAPTURE, OtherClient, PLAYBACK};
use super::jackd::{Mode, Server, wait_until};
use super::{Counts, RATE_HZ, alone, sentry, start};

const FRAMES: u32 = 64;
/// By how much the engine delays its two outputs, and the first one later.
const MAIN: u32 = 100;
const SONG: u32 = 40;
const LATER: u32 = 700;

/// Says that it delays by this number.
struct Late {
    frames: Arc<AtomicU32>,
    main: Option<Box<dyn MainRequests>>,
}

struct Side;

impl MainSide for Side {}

impl Processor for Late {
    fn join(&mut self, host: &mut dyn Host) {
        self.main = Some(host.main_side(Box::new(Side)));
    }

    fn process(&mut self, _: &mut Block<'_>) {
        self.main.as_mut().unwrap().latency_changed(self.frames.load(SeqCst));
    }

    fn reset(&mut self) {}
}

/// An engine with a stereo output that delays its input, if it has one, and a mono one that hears none.
fn engine(frames: &Arc<AtomicU32>, has_input: bool) -> Engine {
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    let late = |frames: &Arc<AtomicU32>| Late { frames: Arc::clone(frames), main: None };
    let mut inputs = Vec::new();
    if has_input {
        let node = Node { ports: Ports::default(), ..Node::new("input", NodeKind::Input(0)) };
        inputs.push(Edge::new(graph.add(node).unwrap(), 1.0));
        processors.push(None);
    }
    let of = |name, ports, latency_frames, inputs| Node {
        ports,
        latency_frames,
        inputs,
        ..Node::new(name, NodeKind::Custom(0))
    };
    let main = graph.add(of("main", Ports::default(), MAIN, inputs)).unwrap();
    processors.push(Some(Box::new(late(frames))));
    let song = graph.add(of("song", Ports::of(1), SONG, Vec::new())).unwrap();
    processors.push(Some(Box::new(late(&Arc::new(AtomicU32::new(SONG))))));
    graph.set_outputs(vec![main, song]).unwrap();
    start(Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap(), FRAMES)
}

fn channels(engine: &Engine, has_input: bool) -> Channels {
    let bundle = |name: &str, channels| Bundle { name: name.into(), channels, events: false };
    let inputs = if has_input { vec![bundle("voice", 2)] } else { Vec::new() };
    let outputs = vec![bundle("main", 2), bundle("song", 1)];
    Channels { outputs, inputs, delays: engine.control().output_delays() }
}

/// Plays on a server of its own while another client reads latencies.
fn play(
    test: &str,
    (connect, has_input): (Connect, bool),
    reads: impl FnOnce(&OtherClient, &AtomicU32),
) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, FRAMES, Mode::Usual) else { return };
    let other = server.client("other", (2, 0), 0);
    let (client_name, server) = ("hocket".into(), Some(server.name.clone()));
    let mut device = Jack::open(JackOptions { server, client_name, connect }).unwrap();
    let frames = Arc::new(AtomicU32::new(MAIN));
    let engine = engine(&frames, has_input);
    let ready = device.prepare(&channels(&engine, has_input)).unwrap();
    // It is told before anything plays, as the server has it.
    let latency = ready.latency.unwrap();
    let [min, max] = other.latency("hocket:main_1", CAPTURE);
    assert_eq!(latency.port_frames, Some(LatencyRange { min, max }));
    assert_eq!(latency.session_frames, Some(MAIN));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let blocks = Arc::new(AtomicU64::new(0));
        let observer = Counts { left: u64::MAX, blocks: Arc::clone(&blocks) };
        let playing = scope.spawn(|| device.play(engine, observer, &stop).unwrap());
        let ending = Ending(&stop);
        wait_until("blocks", || blocks.load(SeqCst) > 0);
        reads(&other, &frames);
        drop(ending);
        playing.join().unwrap();
    });
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
}

/// Ends the play, also where a check fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn later([min, max]: [u32; 2], frames: u32) -> [u32; 2] {
    [min + frames, max + frames]
}

#[test]
fn who_records_an_output_reads_how_late_it_is_also_when_that_changes() {
    const NAME: &str = "who_records_an_output_reads_how_late_it_is_also_when_that_changes";
    play(NAME, (Connect::Physical, true), |other, frames| {
        let (came_in, out) = (
            other.latency("system:capture_1", CAPTURE),
            other.latency("system:playback_1", PLAYBACK),
        );
        assert!(came_in[0] > 0 && out[0] > 0, "{came_in:?} {out:?}");
        other.connect("hocket:main_1", "other:in_1");
        other.connect("hocket:song_1", "other:in_2");
        for delay in [MAIN, LATER, MAIN] {
            frames.store(delay, SeqCst);
            let expected = later(came_in, delay);
            wait_until(&format!("an input that is {delay} frames later"), || {
                other.latency("other:in_1", CAPTURE) == expected
            });
            assert_eq!(other.latency("hocket:main_2", CAPTURE), expected);
            // It hears no input.
            wait_until("the song alone", || other.latency("other:in_2", CAPTURE) == [SONG; 2]);
            // One way ends at the other client, and the other one at the card.
            let expected = [delay, out[1] + delay];
            wait_until(&format!("an output that is {delay} frames later"), || {
                other.latency("hocket:voice_1", PLAYBACK) == expected
            });
            assert_eq!(other.latency("hocket:voice_2", PLAYBACK), expected);
        }
    });
}

#[test]
fn without_inputs_an_output_is_as_late_as_the_session() {
    const NAME: &str = "without_inputs_an_output_is_as_late_as_the_session";
    play(NAME, (Connect::Client("other".into()), false), |other, frames| {
        assert_eq!(other.latency("other:in_1", CAPTURE), [MAIN; 2]);
        assert_eq!(other.latency("hocket:song_1", CAPTURE), [SONG; 2]);
        frames.store(LATER, SeqCst);
        wait_until("the new latency", || other.latency("other:in_1", CAPTURE) == [LATER; 2]);
    });
}
