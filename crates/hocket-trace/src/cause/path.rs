//! What the output waited for: the way back through a block's trace from the finished output to its planned
//! start.
//!
//! A trace has no edges between units, so this module infers the way from times. Before a unit ran, there are
//! three cases:
//!
//! - Its worker ran another unit. That one is next on the way.
//! - Its worker was not awake.
//! - Its worker waited. Then it probably waited for the last unit that another worker finished before.
//!
//! This is exact for units in sequence on one worker, and at barriers. If several units end close together,
//! it is the most probable guess.

use std::ops::Range;

use super::sane;
use crate::{BlockTrace, Doing};

/// An end and a start closer than this belong together, because workers take stamps a little after the work.
pub(super) const SEAM_NS: i64 = 2_000;

/// A piece of the way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leg {
    /// The index of the lane.
    pub lane: usize,
    pub what: What,
    pub span: Range<i64>,
}

/// What the output waited for during a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The device had not signaled yet.
    Signal,
    /// Nobody had woken up the leader yet.
    Call,
    /// The leader was not awake yet.
    LeaderWake,
    /// A worker did not run, although its next unit could have started.
    Wake,
    /// A unit was running.
    Unit(u32),
}

/// One unit on one lane.
#[derive(Debug, Clone, Copy)]
struct Run {
    lane: usize,
    unit: u32,
    start: i64,
    end: i64,
}

/// The way, last leg first. Its legs do not overlap. `woken_ns`: when the leader was woken up, if that is known.
pub(crate) fn way(trace: &BlockTrace, signaled_ns: i64, woken_ns: Option<i64>) -> Vec<Leg> {
    let runs = runs(trace);
    let awake = sane(trace.awake_ns).max(0);
    let finished = sane(trace.finished_ns);
    let mut way = Way { runs: &runs, trace, awake, legs: Vec::new() };
    match way.last(finished) {
        Some(run) => way.from(run, finished),
        None => way.push(0, What::Wake, awake..finished),
    }
    let signaled = sane(signaled_ns).clamp(0, awake);
    let woken = woken_ns.map_or(signaled, |ns| sane(ns).clamp(signaled, awake));
    way.push(0, What::LeaderWake, woken..awake.min(finished));
    way.push(0, What::Call, signaled..woken.min(finished));
    way.push(0, What::Signal, 0..signaled.min(finished));
    way.legs
}

fn runs(trace: &BlockTrace) -> Vec<Run> {
    let lanes = trace.lanes.iter().enumerate();
    let spans = lanes.flat_map(|(lane, l)| l.spans.iter().map(move |span| (lane, span)));
    let run = |(lane, span): (usize, &crate::Span)| match span.doing {
        Doing::Unit(unit) => {
            let (start, end) = (sane(span.start_ns), sane(span.end_ns));
            (start < end).then_some(Run { lane, unit, start, end })
        }
        _ => None,
    };
    spans.filter_map(run).collect()
}

struct Way<'a> {
    runs: &'a [Run],
    trace: &'a BlockTrace,
    awake: i64,
    legs: Vec<Leg>,
}

impl Way<'_> {
    fn push(&mut self, lane: usize, what: What, span: Range<i64>) {
        if !span.is_empty() {
            self.legs.push(Leg { lane, what, span });
        }
    }

    /// Of the runs that began before `time`, the one that ends last.
    fn last(&self, time: i64) -> Option<Run> {
        self.runs.iter().filter(|run| run.start < time).max_by_key(|run| run.end).copied()
    }

    /// Follows the way from `run`, whose output was needed at `until`, back to the leader's awakening. Each
    /// step begins earlier than the one before, so the loop ends.
    fn from(&mut self, mut run: Run, mut until: i64) {
        let mut lane = 0;
        loop {
            self.push(lane, What::Wake, run.end.max(self.awake)..until);
            self.push(
                run.lane,
                What::Unit(run.unit),
                run.start.max(self.awake)..run.end.min(until),
            );
            (lane, until) = (run.lane, run.start);
            match self.before(run) {
                Some(next) if until > self.awake => run = next,
                _ => break,
            }
        }
        self.push(lane, What::Wake, self.awake..until);
    }

    /// What had to end before `run` could begin. `None`: only its worker had to wake.
    fn before(&self, run: Run) -> Option<Run> {
        let same = |other: &&Run| other.lane == run.lane && other.end <= run.start;
        let own = self.runs.iter().filter(same).max_by_key(|other| other.end);
        let in_a_row = own.filter(|own| run.start - own.end <= SEAM_NS);
        if in_a_row.is_some() {
            return in_a_row.copied();
        }
        let woken = sane(self.trace.lanes[run.lane].awake_ns);
        if own.is_none() && run.start - woken <= SEAM_NS {
            return None;
        }
        let ready = |other: &&Run| other.end <= run.start + SEAM_NS && other.start < run.start;
        self.runs.iter().filter(ready).max_by_key(|other| other.end).copied()
    }
}
