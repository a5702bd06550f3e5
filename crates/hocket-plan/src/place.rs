//! Which seats the workers take, and what a sibling policy requires of the other seats.

use crate::place::order::by_preference;

mod order;

/// Index into [`Seats::seats`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeatId(pub usize);

/// A place for a worker: one hardware thread, without a CPU number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seat {
    /// Seats with the same core number share a core.
    pub core: usize,
    /// Relative speed of the core when its other seats are idle; 1.0 is the fastest kind.
    pub speed: f32,
}

/// The seats that workers may use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seats {
    /// In any order.
    pub seats: Vec<Seat>,
}

impl Seats {
    /// The other seats of a seat's core.
    pub fn siblings(&self, seat: SeatId) -> Vec<SeatId> {
        let core = self.seats[seat.0].core;
        let same = |i: &usize| self.seats[*i].core == core && *i != seat.0;
        (0..self.seats.len()).filter(same).map(SeatId).collect()
    }

    /// Whether any two seats share a core.
    pub fn has_pairs(&self) -> bool {
        (0..self.seats.len()).any(|i| !self.siblings(SeatId(i)).is_empty())
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        let mut cores: Vec<usize> = self.seats.iter().map(|seat| seat.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }
}

/// What may run on the other seats of a core during a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SiblingPolicy {
    /// Workers on one seat per core; anybody may use the siblings.
    Off,
    /// Workers on every seat.
    All,
    /// Like `off`, and the whole process stays on one seat per core (thesis 8.1.1).
    ProcessAffinity,
    /// Like `off`, and waiting threads of high priority occupy the siblings during the block (8.1.3).
    IdleThread,
    /// Like `off`, on all cores but one; every other thread of the process stays on that one (8.1.2).
    ReserveCore,
    /// Like `all`. Of two workers on a core, the one that is done first keeps its seat busy until the
    /// other is done too (8.3.2, the thesis' htBarriers).
    PairBarrier,
    /// The kernel keeps strangers off the siblings: Linux core scheduling (PR_SCHED_CORE).
    Cookie(CookieShape),
    /// Like `off`, on cores that a cgroup v2 cpuset partition reserves for the process. One core
    /// remains for the rest of the system.
    Partition,
    /// The system's SMT is off while the session plays (smt/control).
    Offline,
}

/// Which workers share a core-scheduling cookie. Only threads with the same cookie run on a core
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CookieShape {
    /// All workers share one; they sit on every seat.
    Engine,
    /// Each worker has one; they sit on one seat per core, and the siblings idle.
    Worker,
    /// The workers of a core share one; they sit on every seat.
    Pair,
}

impl SiblingPolicy {
    /// All policies.
    pub const ALL: [SiblingPolicy; 11] = [
        SiblingPolicy::Off,
        SiblingPolicy::All,
        SiblingPolicy::ProcessAffinity,
        SiblingPolicy::ReserveCore,
        SiblingPolicy::IdleThread,
        SiblingPolicy::PairBarrier,
        SiblingPolicy::Cookie(CookieShape::Engine),
        SiblingPolicy::Cookie(CookieShape::Worker),
        SiblingPolicy::Cookie(CookieShape::Pair),
        SiblingPolicy::Partition,
        SiblingPolicy::Offline,
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            SiblingPolicy::Off => "off",
            SiblingPolicy::All => "all",
            SiblingPolicy::ProcessAffinity => "process-affinity",
            SiblingPolicy::ReserveCore => "reserve-core",
            SiblingPolicy::IdleThread => "idle-thread",
            SiblingPolicy::PairBarrier => "pair-barrier",
            SiblingPolicy::Cookie(CookieShape::Engine) => "cookie",
            SiblingPolicy::Cookie(CookieShape::Worker) => "cookie-worker",
            SiblingPolicy::Cookie(CookieShape::Pair) => "cookie-pair",
            SiblingPolicy::Partition => "partition",
            SiblingPolicy::Offline => "offline",
        }
    }

    /// What it does, in a line of help.
    pub fn summary(self) -> &'static str {
        match self {
            SiblingPolicy::Off => "Workers on one seat per core; anybody may use the siblings",
            SiblingPolicy::All => "Workers on every seat",
            SiblingPolicy::ProcessAffinity => {
                "Like off, and the whole process stays on one seat per core"
            }
            SiblingPolicy::ReserveCore => {
                "Like off, on all cores but one; all other threads of the process stay on that one"
            }
            SiblingPolicy::IdleThread => {
                "Like off, and waiting threads occupy the siblings during the block"
            }
            SiblingPolicy::PairBarrier => {
                "Like all; of two workers on a core, the first that is done waits on its seat"
            }
            SiblingPolicy::Cookie(CookieShape::Engine) => {
                "Workers on every seat; the kernel keeps strangers off their cores (core scheduling)"
            }
            SiblingPolicy::Cookie(CookieShape::Worker) => {
                "Workers on one seat per core; the kernel keeps everybody off the siblings"
            }
            SiblingPolicy::Cookie(CookieShape::Pair) => "Like cookie, with one cookie per core",
            SiblingPolicy::Partition => {
                "Like off, on cores that a cgroup partition reserves; one core remains for others"
            }
            SiblingPolicy::Offline => "Switches SMT off while the session plays",
        }
    }

    /// The policy of this name.
    pub fn from_name(name: &str) -> Option<SiblingPolicy> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Whether workers sit on siblings too.
    pub fn uses_siblings(self) -> bool {
        use CookieShape::{Engine, Pair};
        matches!(
            self,
            SiblingPolicy::All | SiblingPolicy::PairBarrier | SiblingPolicy::Cookie(Engine | Pair)
        )
    }

    /// Whether it moves or marks threads of the process, so that a leader whose thread is not the process's own must not
    /// be among them.
    pub fn is_for_own_leader(self) -> bool {
        matches!(
            self,
            SiblingPolicy::ProcessAffinity
                | SiblingPolicy::ReserveCore
                | SiblingPolicy::Cookie(_)
                | SiblingPolicy::Partition
        )
    }

    /// Whether it may begin and end while a session plays. The others change the system itself, and stop threads for longer
    /// than a block.
    pub fn changes_live(self) -> bool {
        !matches!(self, SiblingPolicy::Partition | SiblingPolicy::Offline)
    }

    /// Whether one core remains for everybody else, if there are two or more.
    pub fn spares_a_core(self) -> bool {
        matches!(self, SiblingPolicy::ReserveCore | SiblingPolicy::Partition)
    }
}

/// Which worker sits where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The policy that this placement serves.
    pub policy: SiblingPolicy,
    /// The seat of each worker, the leader's first.
    pub workers: Vec<SeatId>,
    /// Seats that a guard occupies during a block, each with the worker it protects.
    pub guards: Vec<Guard>,
    /// For each worker: the workers on the same core for which it waits at the end of its work.
    pub partners: Vec<Vec<usize>>,
    /// The seats for every other thread of the process; `None`: anywhere.
    pub others: Option<Vec<SeatId>>,
    /// Workers that share a core-scheduling cookie, one group per cookie.
    pub cookies: Vec<Vec<usize>>,
    /// The seats of the workers' cores, if a partition reserves them for the process.
    pub partition: Option<Vec<SeatId>>,
    /// Why the policy changes nothing here; `None`: it does.
    pub no_effect: Option<String>,
}

/// A seat that a guard occupies during a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The seat.
    pub seat: SeatId,
    /// The worker on the same core.
    pub worker: usize,
}

/// Why a placement is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// More workers than the policy has seats for.
    #[error(
        "{workers} workers do not fit: sibling policy '{}' can use {seats} seats here; choose at most \
         {seats}",
        .policy.name()
    )]
    TooManyWorkers {
        /// Requested.
        workers: usize,
        /// Available.
        seats: usize,
        /// The policy.
        policy: SiblingPolicy,
    },
    /// Zero workers requested, or no seat available.
    #[error("no worker can be placed: {workers} requested, {seats} seats available")]
    Nobody {
        /// Requested.
        workers: usize,
        /// Available.
        seats: usize,
    },
}

/// The largest number of workers that `policy` can place.
pub fn capacity(seats: &Seats, policy: SiblingPolicy) -> usize {
    let spared = usize::from(policy.spares_a_core() && seats.cores() > 1);
    if policy.uses_siblings() { seats.seats.len() } else { seats.cores() - spared }
}

/// Places `workers` workers (`None`: as many as the policy can).
///
/// Order: fastest cores first, one seat per core; siblings only after every core has a worker.
///
/// # Errors
/// [`PlaceError`].
pub fn place(
    seats: &Seats,
    policy: SiblingPolicy,
    workers: Option<usize>,
) -> Result<Placement, PlaceError> {
    let capacity = capacity(seats, policy);
    let workers = workers.unwrap_or(capacity);
    if workers == 0 || capacity == 0 {
        return Err(PlaceError::Nobody { workers, seats: capacity });
    }
    if workers > capacity {
        return Err(PlaceError::TooManyWorkers { workers, seats: capacity, policy });
    }
    let taken: Vec<SeatId> = by_preference(seats).into_iter().take(workers).collect();
    Ok(Placement {
        policy,
        guards: guards(seats, policy, &taken),
        partners: partners(seats, policy, &taken),
        others: others(seats, policy, &taken),
        cookies: cookies(seats, policy, &taken),
        partition: partition(seats, policy, &taken),
        no_effect: no_effect(seats, policy, &taken),
        workers: taken,
    })
}

/// The free seats beside each worker.
fn guards(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Vec<Guard> {
    if policy != SiblingPolicy::IdleThread {
        return Vec::new();
    }
    let beside = |(worker, seat): (usize, &SeatId)| {
        let free = seats.siblings(*seat).into_iter().filter(|seat| !taken.contains(seat));
        free.map(move |seat| Guard { seat, worker }).collect::<Vec<_>>()
    };
    taken.iter().enumerate().flat_map(beside).collect()
}

fn partners(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Vec<Vec<usize>> {
    let on_core = |seat: &SeatId| {
        let siblings = seats.siblings(*seat);
        (0..taken.len()).filter(|worker| siblings.contains(&taken[*worker])).collect()
    };
    match policy {
        SiblingPolicy::PairBarrier => taken.iter().map(on_core).collect(),
        _ => vec![Vec::new(); taken.len()],
    }
}

/// Process affinity: one seat per core, on workers' cores and others alike. Reserved core: the least
/// preferred core, which no worker has.
fn others(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Option<Vec<SeatId>> {
    let mut one_each = by_preference(seats).into_iter().take(seats.cores());
    match policy {
        SiblingPolicy::ProcessAffinity => Some(one_each.collect()),
        SiblingPolicy::ReserveCore => {
            let last = one_each.next_back().filter(|seat| !taken.contains(seat))?;
            Some(whole_cores(seats, &[last]))
        }
        _ => None,
    }
}

/// All seats of the cores on which `of` are, in order.
fn whole_cores(seats: &Seats, of: &[SeatId]) -> Vec<SeatId> {
    let core = |i: usize| seats.seats[i].core;
    let on = |i: &usize| of.iter().any(|seat| core(seat.0) == core(*i));
    (0..seats.seats.len()).filter(on).map(SeatId).collect()
}

fn cookies(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Vec<Vec<usize>> {
    let core = |worker: usize| seats.seats[taken[worker].0].core;
    let all = 0..taken.len();
    match policy {
        SiblingPolicy::Cookie(CookieShape::Engine) => vec![all.collect()],
        SiblingPolicy::Cookie(CookieShape::Worker) => all.map(|worker| vec![worker]).collect(),
        SiblingPolicy::Cookie(CookieShape::Pair) => {
            let first = |worker: &usize| !(0..*worker).any(|other| core(other) == core(*worker));
            let of_core =
                |worker: usize| all.clone().filter(|w| core(*w) == core(worker)).collect();
            all.clone().filter(first).map(of_core).collect()
        }
        _ => Vec::new(),
    }
}

fn partition(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Option<Vec<SeatId>> {
    (policy == SiblingPolicy::Partition).then(|| whole_cores(seats, taken))
}

fn no_effect(seats: &Seats, policy: SiblingPolicy, taken: &[SeatId]) -> Option<String> {
    let beside = |of: &dyn Fn(&SeatId) -> bool| {
        taken.iter().any(|seat| seats.siblings(*seat).iter().any(of))
    };
    let workers = taken.len();
    match policy {
        SiblingPolicy::Off => None,
        _ if policy.spares_a_core() => (seats.cores() < 2).then(|| {
            "there is one core only, so none can be left to others; this is the same as 'off'"
                .into()
        }),
        _ if !seats.has_pairs() => {
            Some("no two seats share a core here, so this is the same as 'off'".into())
        }
        SiblingPolicy::ProcessAffinity | SiblingPolicy::Offline => None,
        SiblingPolicy::Cookie(_) => None,
        SiblingPolicy::IdleThread if beside(&|other| !taken.contains(other)) => None,
        SiblingPolicy::IdleThread => {
            Some(format!("no seat is free beside any of the workers ({workers})"))
        }
        _ if beside(&|other| taken.contains(other)) => None,
        _ => Some(format!("every worker ({workers}) has its own core, so no sibling is used")),
    }
}
