//! Why a block was late: it takes evidence and returns a sentence. It has no clock, no system calls and no state.
//!
//! [`explain`] walks back from the finished output to the planned start ([the way](#the-way)). For every piece of
//! the way it computes how much longer it took than expected, and looks for an explanation.
//!
//! # The way
//! At any time the output waits for exactly one thing: the device's signal, a wake-up of the leader, the leader's
//! awakening, a worker that does not run, or a unit. Only what is on this way can have made the block late. So a stranger beside a worker for
//! which nobody waited is not a cause. Traces have no edges between units, so this module infers the way from times.
//! If several units end together, it guesses.
//!
//! # The rules
//! The rules explain the lost time on the way in this order. Each rule uses only what the ones before have left, so
//! that nothing counts twice. Events with a time come before those that were only counted around the block.
//! 1. `seat-taken`: a stranger ran on the CPU of the worker. All of that time is lost. This leaves out a worker that had
//!    yet to wake up and outranks the stranger ([`Seat::outranked`]): the stranger got the CPU because nothing woke the
//!    worker, so rules 5 and 7 apply.
//! 2. `sibling-busy`: a stranger ran on the core's other seat while a unit took too long. Two busy seats share a core
//!    about evenly, so half of that time explains the unit's delay, at most all of the delay.
//! 3. `cpu-lost`: the thread's own clock stood still during a unit ([`Span::away_ns`](crate::Span::away_ns)), for longer
//!    than strangers were seen there. All of that time is lost. It needs no rights, and does not say who ran.
//! 4. `page-fault`: a fault that needed the disk explains what is left of that worker's units. Another fault explains
//!    [`MINOR_FAULT_NS`] of it.
//! 5. `host-steal`: the steal time of the worker's CPU, at most what is left. Kernels count it in steps of 10 ms, so
//!    it may have happened outside the block.
//! 6. `migration`: [`MIGRATION_NS`] each, at most what is left of that worker's units.
//! 7. The rest belongs to the piece itself: `signaled-late`, `called-late`, `leader-woke-late`, `worker-woke-late`,
//!    `unit-slow`. Where nobody recorded when the leader was woken up, `leader-woke-late` is both.
//!
//! There may be more expected work on the way than the expected duration of the block. Then other workers did not do
//! their part. Workers that woke late, did not come, or lost their seats explain the surplus (`worker-woke-late`,
//! `seat-taken`). If the work is still longer than the period, or the expected duration is, the cause is `overload`.
//!
//! # The verdict
//! A share is how much earlier the block would have been without the cause, at most its lateness behind the deadline.
//! The sum of the shares may be larger: if each of two delays was enough, each gets all. The verdict names the largest
//! share if it is at least half of the lateness. Otherwise the cause is `unknown`, and the shares say what is known.
//!
//! A verdict is not a proof. It says what the records show, and it knows only what was watched.

mod evidence;
mod fault;
mod losses;
pub(crate) mod path;
mod tally;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use evidence::{Evidence, Seat};
pub use fault::{Caller, Party};
use losses::{Entry, us};
pub use losses::{MIGRATION_NS, MINOR_FAULT_NS};
pub use tally::Tally;

/// Why a block was late. The names are stable: records and tallies use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The device signaled after the planned start.
    SignaledLate,
    /// A timer, a sound server, or a client before this one woke the leader late.
    CalledLate,
    /// The leader ran too long after the signal, or after it was woken up, where that was recorded.
    LeaderWokeLate,
    /// A worker did not run although it had work.
    WorkerWokeLate,
    /// A unit took longer than expected, and no watched event explains it.
    UnitSlow,
    /// A thread outside the engine ran on a worker's seat.
    SeatTaken,
    /// A thread outside the engine ran on the other seat of a worker's core.
    SiblingBusy,
    /// A worker had no CPU while it computed, and nobody saw who had it.
    CpuLost,
    /// The used memory was not mapped yet, or was on disk.
    PageFault,
    /// The system moved a worker to another CPU.
    Migration,
    /// The host of a virtual machine took the CPU away.
    HostSteal,
    /// The plan does not fit into the period.
    Overload,
    /// No known cause explains at least half.
    Unknown,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 13] = [
        Self::SignaledLate,
        Self::CalledLate,
        Self::LeaderWokeLate,
        Self::WorkerWokeLate,
        Self::UnitSlow,
        Self::SeatTaken,
        Self::SiblingBusy,
        Self::CpuLost,
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
            Self::CalledLate => "called-late",
            Self::LeaderWokeLate => "leader-woke-late",
            Self::WorkerWokeLate => "worker-woke-late",
            Self::UnitSlow => "unit-slow",
            Self::SeatTaken => "seat-taken",
            Self::SiblingBusy => "sibling-busy",
            Self::CpuLost => "cpu-lost",
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
    /// How much earlier the block would have been without it, at most its lateness behind the deadline.
    pub share_ns: i64,
    /// What it concerns most: a unit, a thread or a worker.
    pub subject: String,
    /// A sentence about it, without a full stop.
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
    /// How much it explains. For the unknown cause, how much no other cause explains.
    pub share_ns: i64,
    /// What it concerns most. Empty if the cause is unknown.
    pub subject: String,
    /// The whole explanation in one sentence.
    pub text: String,
    /// Other causes that explain more than a hundredth, largest first.
    pub others: Vec<Share>,
}

/// Finds the cause of a block's lateness. `None` if the block was not late.
///
/// Cost: quadratic in the units of the trace. It is for reports, not for the block.
pub fn explain(evidence: &Evidence) -> Option<Verdict> {
    let trace = &evidence.trace;
    let late_ns = sane(trace.finished_ns) - sane(trace.deadline_ns);
    let came = format!("block {} came {} too late", trace.block, us(late_ns));
    judge(evidence, late_ns, &came, |_| true)
}

/// Finds why a block that was in time took longer than [`Evidence::expected_ns`]. `None` if it did not, or if
/// that is unknown. The verdict's `late_ns` is how much longer it took.
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
    // A plan that is too long for its period does not make one block longer than the others.
    judge(evidence, over_ns, &took, |cause| cause != Cause::Overload)
}

/// Explains `late_ns`. `what` names in words what it is.
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
    let way = path::way(trace, evidence.signaled_ns, evidence.leader_woken_ns());
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

/// One share for each cause, largest first, without tiny ones.
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
    let and = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    match cause {
        Cause::SignaledLate => format!("{subject} signaled {time} after the planned start"),
        Cause::CalledLate => format!("{subject} was woken up only {time} after the signal"),
        Cause::LeaderWokeLate => format!("{subject} ran only {time} after {detail}"),
        Cause::WorkerWokeLate => {
            format!("{subject} did not run for {time} when it was needed{and}")
        }
        Cause::UnitSlow => format!("{subject} took {detail}"),
        Cause::SeatTaken => format!("{subject} ran for {time} on {detail}"),
        Cause::SiblingBusy => format!("{subject} ran on {detail}: about {time} lost"),
        Cause::CpuLost => format!("{subject} had no CPU for {time} {detail}"),
        Cause::PageFault => format!("{subject} met page faults ({detail}): up to {time} lost"),
        Cause::Migration => format!("{subject} was moved {detail} times: up to {time} lost"),
        Cause::HostSteal => format!("the host took the CPU of {subject} away for up to {time}"),
        Cause::Overload => format!("{subject} needs {detail}"),
        Cause::Unknown => "nothing known explains it".into(),
    }
}

/// Limits times to 36 years, so that sums and differences do not overflow. Longer times are nonsense.
fn sane(ns: i64) -> i64 {
    ns.clamp(-(1 << 60), 1 << 60)
}
