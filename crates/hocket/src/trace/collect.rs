//! The two threads of a trace: the leader takes notes, the other one collects them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_devices::{BlockObserver, End, Played};
use hocket_engine::{BlockTimes, Engine, Flight, FlightDrain, FlightRecorder, Misses};
use hocket_trace::run::{Kept, RunTrace};

use super::system::Beside;

/// How often the collector looks. Counters are read as often, so this is how closely they enclose a late block.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Room for 3200 thread switches of a CPU between two looks.
pub(super) const SWITCH_RING_BYTES: usize = 1 << 18;
/// Spans that are kept. As trace events they are some 200 MB, which viewers hardly load.
const MOST_SPANS: usize = 2_000_000;

/// Blocks on their way to the collector: those of a second, so that it may be late ten times.
pub(super) fn events(rate_hz: u32, frames: u32) -> usize {
    ((rate_hz / frames.max(1)) as usize).clamp(64, 4096)
}

/// Takes notes of each block. Thread: leader.
pub(super) struct Notes {
    recorder: FlightRecorder,
    left: u64,
    played: u64,
    misses: Misses,
}

impl Notes {
    /// For so many blocks.
    pub(super) fn new(recorder: FlightRecorder, blocks: u64) -> Notes {
        Notes { recorder, left: blocks, played: 0, misses: Misses::default() }
    }
}

impl BlockObserver for Notes {
    fn block(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        self.recorder.note(engine, times);
        self.played += 1;
        self.left -= 1;
        self.left > 0
    }

    fn period(&mut self, times: &BlockTimes) {
        self.misses += times.misses();
    }
}

/// Whether the leader has played its last block. Relaxed everywhere: what it recorded last is collected after the
/// collector has been joined.
#[derive(Default)]
pub(super) struct Ended(AtomicBool);

/// Ends the collector, also where the leader panics.
pub(super) struct Ending<'a>(pub(super) &'a Ended);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}

/// Collects what was recorded. Thread: its own while blocks are played.
pub(super) struct Collector {
    drain: FlightDrain,
    run: RunTrace,
    spans: usize,
    /// The block with the least slack, in case that none is late.
    worst: Option<Flight>,
    /// What the rest of the machine does, if it is asked for.
    system: Option<Beside>,
}

impl Collector {
    pub(super) fn new(drain: FlightDrain, run: RunTrace, system: Option<Beside>) -> Collector {
        Collector { drain, run, spans: 0, worst: None, system }
    }

    /// Looks until the run has ended.
    pub(super) fn collect(mut self, ended: &Ended) -> Collector {
        let has_ended = || ended.0.load(Relaxed);
        while !has_ended() {
            for _ in 0..10 {
                if !has_ended() {
                    std::thread::sleep(LOOK_EVERY / 10);
                }
            }
            self.take();
        }
        self
    }

    /// The whole run, of which `played` is left.
    pub(super) fn finish(mut self, played: Played<Notes>) -> RunTrace {
        self.run.remarks = remarks(&played);
        let Played { engine, observer: mut notes, end, .. } = played;
        notes.recorder.end_run();
        self.take();
        if self.run.blocks.is_empty()
            && let Some(worst) = self.worst.take()
        {
            self.keep(&worst);
        }
        let dropped: u64 = engine.totals().iter().map(|worker| worker.spans_dropped).sum();
        let mut run = self.run;
        run.lost_blocks += notes.recorder.dropped();
        run.lost_spans = notes.recorder.spans_left_out() + dropped;
        (run.played, run.misses) = (notes.played, notes.misses);
        run.interrupted = end == End::Stopped;
        run
    }

    fn take(&mut self) {
        let flights = self.drain.collect();
        // After the blocks are out, so that the records of their time are complete.
        if let Some(system) = &mut self.system {
            system.look();
        }
        for flight in flights {
            if self.run.about.kept == Kept::Every || flight.times.is_late() {
                self.keep(&flight);
                continue;
            }
            let slack = |flight: &Flight| flight.times.slack_ns();
            if self.worst.as_ref().is_none_or(|worst| slack(&flight) < slack(worst)) {
                self.worst = Some(flight);
            }
        }
    }

    fn keep(&mut self, flight: &Flight) {
        let trace = &flight.evidence.trace;
        if self.spans > MOST_SPANS {
            self.run.lost_blocks += 1;
            return;
        }
        let neighbours = flight.before.iter().chain(&flight.after).map(|it| (&it.times, &it.trace));
        for (times, trace) in neighbours.chain([(&flight.times, trace)]) {
            self.spans += trace.lanes.iter().map(|lane| lane.spans.len()).sum::<usize>();
            self.run.add(times.signaled_ns, times.skipped, trace);
        }
        if !flight.evidence.seats.is_empty() || flight.verdict.is_some() {
            self.run.explain(&flight.evidence, flight.verdict.as_ref());
        }
        self.stand_beside(flight);
    }

    /// Adds what the rest of the machine did during a block and its neighbours.
    fn stand_beside(&mut self, flight: &Flight) {
        let Some(system) = &self.system else { return };
        let tids = self.drain.tids();
        let neighbours = flight.before.iter().chain(&flight.after).map(|it| (&it.times, &it.trace));
        for (times, trace) in neighbours.chain([(&flight.times, &flight.evidence.trace)]) {
            let surroundings = system.during(times.signaled_ns, trace, &tids);
            self.spans += surroundings.pieces();
            self.run.surround(trace.block, surroundings);
        }
    }
}

/// What the system granted and refused, and what has no effect on this machine.
fn remarks(played: &Played<Notes>) -> Vec<String> {
    let engine = &played.engine;
    let policy = engine.settings().policy.sibling.name();
    let refused = played
        .threads
        .iter()
        .filter_map(|thread| thread.why.as_ref().map(|why| format!("{}: {why}", thread.name)));
    let no_effect = engine.seating().placement().no_effect.as_ref();
    let of_policy = played.protection.iter().chain(no_effect);
    let of_policy = of_policy.map(|what| format!("policy {policy}: {what}"));
    let memory = engine.memory().and_then(|memory| memory.why.as_ref());
    let memory = memory.map(|why| format!("memory: not locked: {why}"));
    refused.chain(of_policy).chain(memory).collect()
}
