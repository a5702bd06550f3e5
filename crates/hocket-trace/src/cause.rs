//! Why a block was late: evidence in, a sentence out. No clock, no system, no state.
//!
//! [`explain`] walks back from the finished output to the planned start ([the way](#the-way)), asks of every piece of it
//! how much longer it took than expected, and looks for what explains the difference.
//!
//! # The way
//! The output waits for exactly one thing at any time: the device's signal, the leader's awakening, a worker that does
//! not run, or a unit. Only what lies on this way can have made the block late, so a stranger beside a worker that
//! nobody waited for is not accused. Traces hold no edges between units: the way is inferred from times, which is a
//! guess where several units end together.
//!
//! # The rules
//! What was lost on the way is explained in this order, each rule from what the one before has left, so that nothing is
//! counted twice. What was seen at its time goes before what was only counted around the block.
//! 1. `seat-taken`: a stranger ran on the CPU of the worker. All of that time is lost.
//! 2. `sibling-busy`: a stranger ran on the core's other seat while a unit took too long. Two busy seats share a core
//!    about evenly, so half of that time explains the unit's delay, at most all of the delay.
//! 3. `page-fault`: a fault that went to the disk explains what is left of that worker's units; one that did not,
//!    [`MINOR_FAULT_NS`] of it.
//! 4. `host-steal`: the steal time of the worker's CPU, at most what is left. Kernels count it in steps of 10 ms, so it
//!    may have happened beside the block.
//! 5. `migration`: [`MIGRATION_NS`] each, at most what is left of that worker's units.
//! 6. What is left is the piece's own: `signaled-late`, `leader-woke-late`, `worker-woke-late`, `unit-slow`.
//!
//! Beside the way: where more expected work lies on it than the block was expected to take, others did not do their
//! part. Workers that woke up late, did not come, or had lost their seats explain that surplus (`worker-woke-late`,
//! `seat-taken`). Work that is still longer than the period, or an expected duration that is, is `overload`.
//!
//! # The verdict
//! A share is what the block would have won without the cause, at most its lateness behind the deadline. Shares may sum
//! to more than that: of two delays that each would have been enough, each gets all. The largest is named, if it is at
//! least half of the lateness; else the cause is `unknown`, and the shares say what is known nevertheless.
//!
//! A verdict is no proof. It says what the records show, and it can only know what was watched.

mod evidence;
mod losses;
mod path;
mod tally;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use evidence::{Evidence, Seat};
use losses::{Entry, us};
pub use losses::{MIGRATION_NS, MINOR_FAULT_NS};
pub use tally::Tally;

/// Why a block was late. The names are stable: records and tallies use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The device signaled after the planned start.
    SignaledLate,
    /// The leader ran too long after the signal.
    LeaderWokeLate,
    /// A worker did not run although it had something to do.
    WorkerWokeLate,
    /// A unit took longer than expected, and nothing that was watched says why.
    UnitSlow,
    /// A thread that is not the engine's ran on a worker's seat.
    SeatTaken,
    /// A thread that is not the engine's ran on the other seat of a worker's core.
    SiblingBusy,
    /// Memory was not there when it was used.
    PageFault,
    /// A worker was moved to another CPU.
    Migration,
    /// The host of a virtual machine took the CPU away.
    HostSteal,
    /// The plan does not fit into the period.
    Overload,
    /// Nothing that is known explains at least half.
    Unknown,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 11] = [
        Self::SignaledLate,
        Self::LeaderWokeLate,
        Self::WorkerWokeLate,
        Self::UnitSlow,
        Self::SeatTaken,
        Self::SiblingBusy,
        Self::PageFault,
        Self::Migration,
        Self::HostSteal,
        Self::Overload,
        Self::Unknown,
    ];

    /// The stable name, such as `seat-taken`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignaledLate => "signaled-late",
            Self::LeaderWokeLate => "leader-woke-late",
            Self::WorkerWokeLate => "worker-woke-late",
            Self::UnitSlow => "unit-slow",
            Self::SeatTaken => "seat-taken",
            Self::SiblingBusy => "sibling-busy",
            Self::PageFault => "page-fault",
            Self::Migration => "migration",
            Self::HostSteal => "host-steal",
            Self::Overload => "overload",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How much one cause explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The cause.
    pub cause: Cause,
    /// What the block would have won without it; at most its lateness behind the deadline.
    pub share_ns: i64,
    /// Whom it concerns most: a unit, a thread, a worker.
    pub subject: String,
    /// A sentence about that one, without a full stop.
    pub text: String,
}

/// Why one block was late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The block.
    pub block: u64,
    /// By how much it missed its deadline.
    pub late_ns: i64,
    /// The cause that explains most, or [`Cause::Unknown`].
    pub cause: Cause,
    /// What it explains; of the unknown cause, what none of the others explains.
    pub share_ns: i64,
    /// Whom it concerns most; empty where the cause is unknown.
    pub subject: String,
    /// The whole in one sentence.
    pub text: String,
    /// What else explains more than a hundredth, largest first.
    pub others: Vec<Share>,
}

/// Names the cause of a block's lateness; `None` if it was not late.
///
/// Cost: quadratic in the units of the trace; for reports, not for the block.
pub fn explain(evidence: &Evidence) -> Option<Verdict> {
    let trace = &evidence.trace;
    let late_ns = sane(trace.finished_ns) - sane(trace.deadline_ns);
    let came = format!("block {} came {} too late", trace.block, us(late_ns));
    judge(evidence, late_ns, &came, |_| true)
}

/// Names the cause for which a block that was in time took longer than [`Evidence::expected_ns`]; `None` if it did not,
/// or if that is unknown. The verdict's `late_ns` is how much longer.
///
/// Cost: as [`explain`].
pub fn explain_unusual(evidence: &Evidence) -> Option<Verdict> {
    let trace = &evidence.trace;
    let expected = evidence.expected_ns;
    if !expected.is_finite() {
        return None;
    }
    let over_ns = sane(trace.finished_ns) - sane(expected as i64);
    let of = format!("{} of {}", us(sane(trace.finished_ns)), us(sane(trace.deadline_ns)));
    let took = format!("block {} took {of}, {} more than usual", trace.block, us(over_ns));
    // That the plan is too long for its period is no reason for one block to be longer than the others.
    judge(evidence, over_ns, &took, |cause| cause != Cause::Overload)
}

/// Explains `late_ns`; `what` says in words what there is to explain.
fn judge(
    evidence: &Evidence,
    late_ns: i64,
    what: &str,
    counts: impl Fn(Cause) -> bool,
) -> Option<Verdict> {
    if late_ns <= 0 {
        return None;
    }
    let trace = &evidence.trace;
    let way = path::way(trace, evidence.signaled_ns);
    let mut entries = losses::entries(evidence, &way);
    entries.retain(|entry| counts(entry.cause));
    let mut shares = shares(entries, late_ns);
    let half = late_ns - late_ns / 2;
    let named = match shares.first() {
        Some(first) if first.share_ns >= half => shares.remove(0),
        _ => unknown(&shares, late_ns),
    };
    let text = format!("{what}: {}", named.text);
    let Share { cause, share_ns, subject, .. } = named;
    Some(Verdict { block: trace.block, late_ns, cause, share_ns, subject, text, others: shares })
}

fn unknown(shares: &[Share], late_ns: i64) -> Share {
    let known = shares.iter().map(|share| share.share_ns).fold(0, i64::saturating_add);
    let text = match shares.first() {
        Some(most) => {
            format!("nothing known explains half of it; the most that is known: {}", most.text)
        }
        None => "nothing known explains it".into(),
    };
    let share_ns = late_ns.saturating_sub(known).max(0);
    Share { cause: Cause::Unknown, share_ns, subject: String::new(), text }
}

/// One share for each cause, largest first, without trifles.
fn shares(entries: Vec<Entry>, late_ns: i64) -> Vec<Share> {
    let of_cause = |cause| {
        let mut entries: Vec<&Entry> = entries.iter().filter(|e| e.cause == cause).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.ns));
        let ns = entries.iter().map(|entry| entry.ns).fold(0, i64::saturating_add);
        let first = entries.first().filter(|_| ns > late_ns / 100)?;
        let more = match entries.len() {
            1 => String::new(),
            n => format!(" ({} in all, with {} more)", us(ns), n - 1),
        };
        let text = sentence(first) + &more;
        Some((ns, Share { cause, share_ns: ns.min(late_ns), subject: first.subject.clone(), text }))
    };
    let mut shares: Vec<(i64, Share)> = Cause::ALL.into_iter().filter_map(of_cause).collect();
    shares.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    shares.into_iter().map(|(_, share)| share).collect()
}

fn sentence(entry: &Entry) -> String {
    let Entry { cause, ns, subject, detail } = entry;
    let time = us(*ns);
    match cause {
        Cause::SignaledLate => format!("{subject} signaled {time} after the planned start"),
        Cause::LeaderWokeLate => format!("{subject} ran only {time} after the signal"),
        Cause::WorkerWokeLate => format!("{subject} did not run for {time} when it was needed"),
        Cause::UnitSlow => format!("{subject} took {detail}"),
        Cause::SeatTaken => format!("{subject} ran for {time} on {detail}"),
        Cause::SiblingBusy => format!("{subject} ran on {detail}: about {time} lost"),
        Cause::PageFault => format!("{subject} met page faults ({detail}): up to {time} lost"),
        Cause::Migration => format!("{subject} was moved {detail} times: up to {time} lost"),
        Cause::HostSteal => format!("the host took the CPU of {subject} away for up to {time}"),
        Cause::Overload => format!("{subject} needs {detail}"),
        Cause::Unknown => "nothing known explains it".into(),
    }
}

/// Times beyond 36 years are nonsense; cut off there, sums and differences of them stay numbers.
fn sane(ns: i64) -> i64 {
    ns.clamp(-(1 << 60), 1 << 60)
}
