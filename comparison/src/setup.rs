//! What all cells of a run share: seats, class, who fuses chains.

use hocket_engine::{Policy, Seating, Settings, Strategy};
use hocket_machine::Topology;
use hocket_plan::place::Seats;
use hocket_plan::{Fusing, ScheduleKind, Seat, SiblingPolicy};

use crate::network::FRAMES;

/// Sample rate; with [`FRAMES`] it gives the period of paced blocks, 1333 us.
pub const RATE_HZ: u32 = 48_000;

/// How Hocket runs, but for the schedule.
pub const POLICY: Policy = Policy {
    schedule: ScheduleKind::Dataflow,
    sibling: SiblingPolicy::Off,
    wait: Strategy::Hybrid,
};

/// Who makes one task of a chain of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Fuse {
    /// Hocket does, as it always does; the others get a task a node.
    Hocket,
    /// Hocket's plan does, for all.
    All,
    /// Nobody: a task a node for all.
    Nobody,
}

impl Fuse {
    /// For Hocket's engine.
    pub fn hocket(self) -> Fusing {
        if self == Fuse::Nobody { Fusing::None } else { Fusing::Chains }
    }

    /// For everybody else.
    pub fn others(self) -> Fusing {
        if self == Fuse::All { Fusing::Chains } else { Fusing::None }
    }
}

/// Seats, class and fusing.
#[derive(Debug, Clone)]
pub struct Setup {
    /// One seat a worker, the leader's first; for Hocket and all others.
    pub seating: Seating,
    /// SCHED_FIFO priority that all ask for; `None`: ordinary threads.
    pub priority: Option<u8>,
    /// Who fuses.
    pub fuse: Fuse,
    /// How Hocket runs.
    pub policy: Policy,
}

impl Setup {
    /// On this machine: one worker a core, pinned, in Hocket's usual real-time class.
    ///
    /// # Errors
    /// More workers than cores.
    pub fn here(
        topology: &Topology,
        workers: Option<usize>,
        fuse: Fuse,
        schedule: ScheduleKind,
    ) -> Result<Setup, String> {
        let seating = Seating::here(topology, POLICY.sibling, workers)
            .map_err(|error| format!("{error}; ask for fewer with --workers"))?;
        let policy = Policy { schedule, ..POLICY };
        Ok(Setup { seating, priority: settings(policy).priority, fuse, policy })
    }

    /// Anywhere: threads of the ordinary class that nobody pins. For what is computed, not for how
    /// long it takes.
    ///
    /// # Errors
    /// No worker asked for.
    pub fn unpinned(workers: usize, fuse: Fuse) -> Result<Setup, String> {
        let seats = (0..workers).map(|core| Seat { core, speed: 1.0 }).collect();
        let seating = Seating::described(&Seats { seats }, POLICY.sibling, Some(workers))
            .map_err(|error| error.to_string())?;
        Ok(Setup { seating, priority: None, fuse, policy: POLICY })
    }

    /// Workers, the leader included.
    pub fn workers(&self) -> usize {
        self.seating.placement().workers.len()
    }

    /// For Hocket's engine.
    pub fn settings(&self) -> Settings {
        Settings { priority: self.priority, ..settings(self.policy) }
    }
}

fn settings(policy: Policy) -> Settings {
    Settings::new(FRAMES as u32, RATE_HZ, policy)
}
