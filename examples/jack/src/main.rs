//! Plays sixteen detuned saws through JACK for some seconds: `cargo run -- 10`
//!
//! The engine runs in the process callback, in the server's real-time thread. That thread keeps its class, priority and
//! CPUs; the workers sit beside it (`Engine::follow_leader`). JACK's environment variables choose the server, for
//! example `JACK_DEFAULT_SERVER=studio`.
#![forbid(unsafe_code)]
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hocket_engine::{
    Block, Edge, Engine, Fusing, Graph, Node, NodeKind, Policy, Prepared, Processor, ScheduleKind,
    Seating, Settings, SiblingPolicy, Strategy, Topology, monotonic_ns,
};
use jack::{AudioOut, Client, ClientOptions, Control, Port, ProcessHandler, ProcessScope};

const SAWS: usize = 16;

struct Saw {
    step: f32,
    phase: f32,
}

impl Processor for Saw {
    fn process(&mut self, block: &mut Block<'_>) {
        for (left, right) in block.main.left.iter_mut().zip(block.main.right.iter_mut()) {
            self.phase = (self.phase + self.step).fract();
            (*left, *right) = (self.phase - 0.5, 0.5 - self.phase);
        }
    }
    fn reset(&mut self) {
        self.phase = 0.0;
    }
}

/// What the process callback owns.
struct Host {
    engine: Engine,
    ports: [Port<AudioOut>; 2],
    end: Arc<End>,
}

/// How both threads agree that the callback does not touch the engine any more.
#[derive(Default)]
struct End {
    asked: AtomicBool,
    done: AtomicBool,
}

impl ProcessHandler for Host {
    fn process(&mut self, _: &Client, cycle: &ProcessScope) -> Control {
        let [left, right] = self.ports.each_mut().map(|port| port.as_mut_slice(cycle));
        if self.end.asked.load(Ordering::Acquire) {
            left.fill(0.0);
            right.fill(0.0);
            // Release: whoever sees it, sees the engine as the last block left it.
            self.end.done.store(true, Ordering::Release);
            return Control::Continue;
        }
        // A cycle may be longer than the engine's blocks, if the server's period has changed.
        let mut from = 0;
        while from < left.len() {
            let frames = self.engine.process_planned(left.len() - from, monotonic_ns()).frames;
            let rows = self.engine.output(frames);
            left[from..from + frames].copy_from_slice(rows.left);
            right[from..from + frames].copy_from_slice(rows.right);
            from += frames;
        }
        Control::Continue
    }
}

fn engine(client: &Client) -> Result<Engine, Box<dyn Error>> {
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    let mut edges = Vec::new();
    for index in 0..SAWS {
        let saw = graph.add(Node::new(format!("saw {index}"), NodeKind::Custom(0)))?;
        edges.push(Edge::new(saw, 0.1));
        let hz = 110.0 * (1.0 + index as f32 * 0.001);
        processors.push(Some(Box::new(Saw { step: hz / client.sample_rate() as f32, phase: 0.0 })));
    }
    graph.add(Node { inputs: edges, ..Node::new("sum", NodeKind::Custom(1)) })?;
    processors.push(None);
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains)?;

    let (schedule, sibling) = (ScheduleKind::Dataflow, SiblingPolicy::Off);
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let settings = Settings::new(client.buffer_size(), client.sample_rate(), policy);
    let seating = Seating::here(&Topology::discover()?, sibling, None)?;
    Ok(Engine::start(prepared, settings, seating)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let (client, _) = Client::new("hocket", ClientOptions::NO_START_SERVER)?;
    let ports = [
        client.register_port("left", AudioOut::default())?,
        client.register_port("right", AudioOut::default())?,
    ];
    let engine = engine(&client)?;
    let following = engine.follow_leader()?;
    let end = Arc::new(End::default());
    let active = client.activate_async((), Host { engine, ports, end: Arc::clone(&end) })?;

    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        let report = following.report();
        if let Some(leader) = &report.leader {
            println!("leader: {} on CPU {} of {}", leader.class, leader.cpu, leader.cpus);
        }
        for worker in &report.threads {
            println!("{}: {} on CPU {}", worker.name, worker.class_got, worker.cpus_got);
        }
    }

    // First the callback leaves the engine: `deactivate` may cancel the thread in the midst of a cycle.
    end.asked.store(true, Ordering::Release);
    // A server that has ended calls no more, so this does not wait for ever.
    for _ in (0..1000).take_while(|_| !end.done.load(Ordering::Acquire)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (_client, _, host) = active.deactivate()?;
    println!("totals: {:?}", host.engine.totals());
    Ok(())
}
