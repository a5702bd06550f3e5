//! The control side: evidence completed and judged.

use std::ops::Range;

use hocket_machine::clock::TickRate;
use hocket_machine::pin::ThreadId;
use hocket_trace::BlockTrace;
use hocket_trace::cause::{self, Evidence, Verdict};
use hocket_trace::run::Thread;

use super::recorder::{Ends, Event};
use super::scene::Scene;
use super::threads::Member;
use super::{BlockNotes, EngineThreads, HandOver};
use crate::block::times::BlockTimes;
use crate::control::engine::Engine;
use crate::control::handle::Control;
use crate::control::measured_costs::Expectations;

/// A block that was late, or the worst until then, with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Flight {
    /// Its times; [`BlockTimes::is_late`] says whether it was late.
    pub times: BlockTimes,
    /// What is known of it. Of a block that was in time, [`HandOver::Every`] gives the trace alone.
    pub evidence: Evidence,
    /// The block before, where it belongs to the same run.
    pub before: Option<Neighbour>,
    /// The block after, where it belongs to the same run.
    pub after: Option<Neighbour>,
    /// Why it was late, or took longer than usual. `None`: it was in time and nothing unusual, or it is
    /// not known what is usual.
    pub verdict: Option<Verdict>,
}

/// A block next to one that is explained.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Its times.
    pub times: BlockTimes,
    /// What its threads did.
    pub trace: BlockTrace,
}

/// Collects what a [`FlightRecorder`](super::FlightRecorder) hands over, and finds the causes.
///
/// Thread: any but the leader's and the workers' while blocks are played; the leader's between turns.
pub struct FlightDrain {
    ends: Ends,
    crew: EngineThreads,
    control: Control,
    rate: TickRate,
    scene: Option<Scene>,
    which: HandOver,
}

impl FlightDrain {
    pub(super) fn new(engine: &Engine, ends: Ends, which: HandOver) -> FlightDrain {
        let (crew, control) = (EngineThreads::of(engine), engine.control());
        FlightDrain { ends, crew, control, rate: TickRate::get(), scene: None, which }
    }

    /// The engine's threads under the names that their lanes have, workers first.
    pub fn threads(&self) -> Vec<Thread> {
        let thread = |member: &Member| Thread {
            name: member.name.clone(),
            cpu: member.cpu,
            beside: member.beside.clone(),
        };
        self.crew.members.iter().map(thread).collect()
    }

    /// The system's numbers of the engine's threads, as far as they are known.
    pub fn tids(&self) -> Vec<i32> {
        self.crew.tids().map(ThreadId::number).collect()
    }

    /// Begins to watch the seats. `ring_bytes`: room for the thread switches of one CPU between two
    /// calls of [`collect`](Self::collect), 80 bytes each. Returns what cannot be seen here, a sentence
    /// each, for people.
    ///
    /// A leader that is not held to its seat may run on any of its CPUs, so all of them are watched. Call it when the leader has
    /// [entered](Engine::enter).
    ///
    /// Cost: five system calls and locked memory for each CPU; some files for each worker.
    pub fn watch(&mut self, leader: ThreadId, ring_bytes: usize) -> Vec<String> {
        self.crew.members[0].tid = Some(leader);
        let scene = Scene::watch(&self.crew, ring_bytes);
        let limits = scene.limits().to_vec();
        self.scene = Some(scene);
        limits
    }

    /// Ends watching; what is collected afterwards is judged by traces alone.
    pub fn unwatch(&mut self) {
        self.scene = None;
    }

    /// Takes over what was handed over since, completes the evidence and names the causes.
    ///
    /// Counters tell what happened between this call and the one before, so calls should be frequent: some
    /// ten a second. Cost: some files for each worker, and milliseconds for each event.
    pub fn collect(&mut self) -> Vec<Flight> {
        let events: Vec<_> = std::iter::from_fn(|| self.ends.full.pop()).collect();
        // After the events are out, so that the records of their time are complete.
        if let Some(scene) = &mut self.scene {
            scene.look(&self.crew);
        }
        events.into_iter().map(|event| self.take(event)).collect()
    }

    fn take(&mut self, event: Box<Event>) -> Flight {
        let flight = self.flight(&event);
        // There is room for all events that exist.
        let _ = self.ends.empty.push(event);
        flight
    }

    fn flight(&self, event: &Event) -> Flight {
        let neighbour = |frame: &BlockNotes, there: bool| {
            there.then(|| Neighbour { times: frame.times, trace: self.trace(frame) })
        };
        let (evidence, verdict) = match (event.block.times.is_late(), self.which) {
            (true, _) => judged(self.evidence(&event.block), cause::explain),
            (false, HandOver::LateOrWorst) => {
                judged(self.evidence(&event.block), cause::explain_unusual)
            }
            // There are many of these, and a judgement takes milliseconds.
            (false, HandOver::Every) => (self.trace_alone(&event.block), None),
        };
        Flight {
            times: event.block.times,
            before: neighbour(&event.before, event.has[0]),
            after: neighbour(&event.after, event.has[1]),
            evidence,
            verdict,
        }
    }

    fn trace_alone(&self, frame: &BlockNotes) -> Evidence {
        Evidence {
            trace: self.trace(frame),
            estimates_ns: Vec::new(),
            expected_ns: f64::NAN,
            signaled_ns: frame.signaled_ns as i64,
            engine_tids: Vec::new(),
            seats: Vec::new(),
        }
    }

    fn trace(&self, frame: &BlockNotes) -> BlockTrace {
        let expected = self.control.expectations(frame.plan);
        frame.trace(&self.crew, expected.map_or_else(Vec::new, |e| e.names), &self.rate)
    }

    fn evidence(&self, frame: &BlockNotes) -> Evidence {
        let expected = self.control.expectations(frame.plan);
        let estimates = expected.as_ref().map(|expected| self.estimates_ns(frame, expected));
        let block_ns = expected.as_ref().and_then(|expected| expected.block_ns);
        let names = expected.map_or_else(Vec::new, |expected| expected.names);
        let times = &frame.times;
        let start = times.signaled_ns;
        let awake_ns = start + times.lateness_ns;
        let window = start..awake_ns + times.duration_ns;
        Evidence {
            trace: frame.trace(&self.crew, names, &self.rate),
            estimates_ns: estimates.unwrap_or_default(),
            expected_ns: block_ns.unwrap_or(f64::NAN),
            signaled_ns: frame.signaled_ns as i64,
            engine_tids: self.crew.tids().map(ThreadId::number).collect(),
            seats: self.seats((&window, awake_ns)),
        }
    }

    /// By unit, under the circumstances in which it ran.
    fn estimates_ns(&self, frame: &BlockNotes, expected: &Expectations) -> Vec<f64> {
        let mut estimates = vec![f64::NAN; expected.names.len()];
        for (desk, unit, sibling_busy) in frame.runs(&self.crew) {
            let kind = self.crew.members[desk].kind;
            let ns = expected.unit_ns(unit as usize, kind, sibling_busy);
            if let (Some(slot), Some(ns)) = (estimates.get_mut(unit as usize), ns) {
                *slot = ns;
            }
        }
        estimates
    }

    fn seats(&self, block: (&Range<u64>, u64)) -> Vec<hocket_trace::cause::Seat> {
        let Some(scene) = &self.scene else { return Vec::new() };
        let workers = 0..self.crew.workers().len();
        workers.map(|index| scene.seat(index, &self.crew, block)).collect()
    }
}

fn judged(
    evidence: Evidence,
    judge: impl Fn(&Evidence) -> Option<Verdict>,
) -> (Evidence, Option<Verdict>) {
    let verdict = judge(&evidence);
    (evidence, verdict)
}
