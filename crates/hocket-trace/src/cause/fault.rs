//! Whose fault a late block was: a verdict's cause, summed up for those who ask what to repair.
//!
//! | party | what to repair |
//! |---|---|
//! | ours | the session, the plan, or Hocket: the block itself took too long |
//! | the server's | the sound server, or a client that comes before this one |
//! | the machine's | the host, a foreign thread on a seat or beside it, interrupts, late wake-ups |
//! | unknown | more has to be watched first: rights are missing, or records were lost |
//!
//! What nothing seen blames on others is ours. So the count of ours is too high rather than too low.

use serde::{Deserialize, Serialize};

use super::{Cause, Evidence, Verdict};

/// Whose fault it was.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// The engine's, or that of the session which it plays.
    Ours,
    /// The sound server's, or another client's.
    Server,
    /// The machine's: its host, its other programs, its kernel.
    Machine,
    /// Nothing that is known says so.
    #[default]
    Unknown,
}

/// Who calls the leader when a block is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A timer or a sound card: the leader waits for it itself.
    Clock,
    /// A sound server, after other clients.
    Server,
}

impl Party {
    /// Every party.
    pub const ALL: [Party; 4] = [Party::Ours, Party::Server, Party::Machine, Party::Unknown];

    /// The stable name, such as `machine`.
    pub fn name(self) -> &'static str {
        match self {
            Party::Ours => "ours",
            Party::Server => "server",
            Party::Machine => "machine",
            Party::Unknown => "unknown",
        }
    }

    /// Whose fault a late block was. `before`: whose fault the block before it was, if that one was late, too.
    ///
    /// If no cause explains half of the lateness, the causes of one party together may.
    pub fn of(
        verdict: &Verdict,
        evidence: &Evidence,
        caller: Caller,
        before: Option<Party>,
    ) -> Party {
        let of_cause = |cause| Party::of_cause(cause, evidence, caller, before);
        if verdict.cause != Cause::Unknown {
            return of_cause(verdict.cause);
        }
        let share_ns = |party: Party| {
            let its = verdict.others.iter().filter(|share| of_cause(share.cause) == party);
            its.map(|share| share.share_ns).fold(0, i64::saturating_add)
        };
        let half = verdict.late_ns - verdict.late_ns / 2;
        let known = [Party::Ours, Party::Server, Party::Machine];
        let most = known.into_iter().max_by_key(|party| share_ns(*party));
        most.filter(|party| share_ns(*party) >= half).unwrap_or_default()
    }

    fn of_cause(cause: Cause, evidence: &Evidence, caller: Caller, before: Option<Party>) -> Party {
        match cause {
            // The block before was not done.
            Cause::SignaledLate => before.unwrap_or_default(),
            Cause::CalledLate => match caller {
                Caller::Clock => Party::Machine,
                Caller::Server => Party::Server,
            },
            Cause::LeaderWokeLate => woke_late(evidence, caller),
            Cause::WorkerWokeLate
            | Cause::SeatTaken
            | Cause::SiblingBusy
            | Cause::CpuLost
            | Cause::Migration
            | Cause::HostSteal => Party::Machine,
            Cause::UnitSlow | Cause::PageFault | Cause::Overload => Party::Ours,
            Cause::Unknown => Party::Unknown,
        }
    }
}

/// Where it was recorded when the leader was woken up, this is the time after that, and it is the machine's. Otherwise a
/// leader that waits for a clock was woken late by the machine, too. One that a server calls may have waited for its CPU,
/// and if nobody watched that, the server cannot be blamed.
fn woke_late(evidence: &Evidence, caller: Caller) -> Party {
    if evidence.leader_woken_ns().is_some() {
        return Party::Machine;
    }
    let is_watched = evidence.seats.first().is_some_and(|leader| leader.own.is_some());
    match caller {
        Caller::Clock => Party::Machine,
        Caller::Server if is_watched => Party::Server,
        Caller::Server => Party::Unknown,
    }
}
