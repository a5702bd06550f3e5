//! Plays blocks under one policy and notes when units ran, and where.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_dsp::{Block, Processor};
use hocket_engine::{
    Engine, Entered, Policy, Prepared, Seating, Settings, Strategy, ThreadReport, VirtualDevice,
};
use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin;
use hocket_machine::topology::Topology;
use hocket_plan::{Edge, Fusing, Graph, Node, NodeKind, ScheduleKind, SiblingPolicy};

use crate::strangers::Strangers;
use crate::stretch::Stretch;

/// Long, because an emulated machine on a busy host wakes and reschedules slowly: a period of 43 ms.
const FRAMES: u32 = 2048;
const RATE_HZ: u32 = 48_000;
/// Ten units of this length fill half a period for two workers.
const UNIT_NS: u64 = 4_000_000;
const UNITS: usize = 10;
const BLOCKS: u64 = 12;

/// Blocks under another policy before a change.
const BLOCKS_BEFORE: u64 = 3;

/// When the policy begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// With the leader.
    TheStart,
    /// A control thread changes to it while the leader plays.
    AChange,
}

/// The policy before a change to this one: with the other workers, so that threads go to sleep or wake.
pub fn before(policy: SiblingPolicy) -> SiblingPolicy {
    if policy.uses_siblings() { SiblingPolicy::Off } else { SiblingPolicy::All }
}

/// What a run showed.
pub struct Played {
    /// When units ran.
    pub units: Vec<Stretch>,
    /// What engine and leader were refused, and units that ran where no worker sits.
    pub refused: Vec<String>,
}

/// Plays some blocks with as many workers as named, or as the policy can place, while `strangers` are busy. The blocks
/// before a change of the policy are not among the results.
///
/// # Errors
/// Where no engine can be started, in words; what the busy threads say.
pub fn play(
    topology: &Topology,
    (sibling, since): (SiblingPolicy, Since),
    workers: Option<usize>,
    strangers: &mut Strangers,
) -> Result<Played, String> {
    let notes = Notes::default();
    let (first, others) = match since {
        Since::TheStart => (sibling, Vec::new()),
        Since::AChange => (before(sibling), vec![sibling]),
    };
    let policy =
        Policy { schedule: ScheduleKind::Dataflow, sibling: first, wait: Strategy::Hybrid };
    let seating = Seating::here(topology, first, workers).map_err(|error| error.to_string())?;
    let settings = Settings { sibling_policies: others, ..Settings::new(FRAMES, RATE_HZ, policy) };
    let mut engine =
        Engine::start(graph(&notes)?, settings, seating).map_err(|error| error.to_string())?;
    let mut changer = Changer::start(&engine);
    let entered = engine.enter();
    if since == Since::AChange {
        VirtualDevice::new(FRAMES, RATE_HZ).run(&mut engine, BLOCKS_BEFORE, |_, _| true);
        changer.change(sibling)?;
        notes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    strangers.go()?;
    VirtualDevice::new(FRAMES, RATE_HZ).run(&mut engine, BLOCKS, |_, _| true);
    strangers.rest()?;
    let mut refused = refusals(&engine, &entered);
    drop(entered);
    let units = notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    refused.extend(astray(&engine, &units));
    Ok(Played { units, refused })
}

/// A control thread, which has neither the leader's class nor its CPU.
struct Changer {
    policies: Sender<SiblingPolicy>,
    results: Receiver<Result<(), String>>,
}

impl Changer {
    fn start(engine: &Engine) -> Changer {
        let ((policies, asked), (done, results)) = (channel(), channel());
        let control = engine.control();
        std::thread::spawn(move || {
            let change = |policy| {
                let changed = control.set_sibling_policy(policy).map(drop);
                let _ = done.send(changed.map_err(|error| error.to_string()));
            };
            asked.iter().for_each(change);
        });
        Changer { policies, results }
    }

    fn change(&mut self, policy: SiblingPolicy) -> Result<(), String> {
        let gone = |_| "the control thread has ended".to_string();
        self.policies.send(policy).map_err(|_| gone(()))?;
        self.results.recv().map_err(|_| gone(()))?
    }
}

/// A policy whose threads lack what they asked for shows nothing.
fn refusals(engine: &Engine, entered: &Entered) -> Vec<String> {
    let threads = engine.reports().iter().chain([&entered.report]);
    let of_thread =
        |thread: &ThreadReport| Some(format!("{}: {}", thread.name, thread.why.as_ref()?));
    threads.filter_map(of_thread).chain(entered.others().refused.iter().cloned()).collect()
}

/// Whether units ran on other CPUs than those of the workers' seats, in words.
fn astray(engine: &Engine, units: &[Stretch]) -> Option<String> {
    let seats: Vec<_> = engine.reports().iter().filter_map(|thread| thread.cpu_asked).collect();
    let leader = engine.seating().worker_cpu(0);
    let seated = |unit: &&Stretch| Some(unit.cpu) == leader || seats.contains(&unit.cpu);
    let astray = units.len() - units.iter().filter(seated).count();
    (astray > 0).then(|| format!("{astray} of {} units ran where no worker sits", units.len()))
}

type Notes = Arc<Mutex<Vec<Stretch>>>;

/// Units that need nothing of each other, and one that sums them.
fn graph(notes: &Notes) -> Result<Prepared, String> {
    let mut graph = Graph::default();
    let mut node = |name: String, inputs: Vec<Edge>, cost| {
        let kind = NodeKind::Custom(0);
        let node = Node { name, kind, inputs, cost, latency_frames: 0, ports: Default::default() };
        graph.add(node).map_err(|error| error.to_string())
    };
    let mut inputs = Vec::new();
    for unit in 0..UNITS {
        let from = node(format!("busy {unit}"), Vec::new(), 10.0)?;
        inputs.push(Edge::new(from, 1.0));
    }
    node("sum".into(), inputs, 0.1)?;
    let busy = || -> Option<Box<dyn Processor>> { Some(Box::new(Busy(Arc::clone(notes)))) };
    let processors = (0..UNITS).map(|_| busy()).chain([None]).collect();
    Prepared::from_graph(&graph, processors, Fusing::None).map_err(|error| error.to_string())
}

/// Takes its time and notes where and when.
struct Busy(Notes);

impl Processor for Busy {
    fn process(&mut self, _: &mut Block<'_>) {
        let stretch = spin(UNIT_NS);
        // A lock has no place in a block; here a few microseconds in milliseconds do no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(stretch);
    }

    fn reset(&mut self) {}
}

/// Keeps the CPU busy for a time; `None` where the system does not say which CPU.
pub fn spin(length_ns: u64) -> Option<Stretch> {
    let (cpu, from_ns) = (pin::current_cpu()?, monotonic_ns());
    let mut to_ns = from_ns;
    while to_ns < from_ns + length_ns {
        std::hint::spin_loop();
        to_ns = monotonic_ns();
    }
    Some(Stretch { cpu, from_ns, to_ns })
}
