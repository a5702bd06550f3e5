//! All that a block needs and that changes with the session: the schedule, the units with their buses,
//! and the places where its workers meet.
//!
//! A plan is built on a control thread, handed to the leader whole, and handed back whole when the next
//! one has taken its place. Nodes are shared between plans, so a processor keeps its state; a node
//! that no plan has any more is freed with the last plan that had it, on the control thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_plan::{ScheduleKind, Step, UnitId, VerifiedSchedule};
use hocket_rt::{Barrier, Claim, Countdown, Deque, Padded, ReadySet};

use super::bus::{ChainState, UnitState, Units};
use super::costs::Costs;
use super::node::NodeCell;

/// A schedule, ready to be run.
pub(crate) struct Plan {
    /// No two plans of the process have the same.
    pub number: u64,
    pub schedule: VerifiedSchedule,
    pub units: Units,
    pub countdowns: Box<[Countdown]>,
    /// Of each unit, those at whose countdown it arrives.
    pub successors: Successors,
    /// Units whose countdown does not begin at zero.
    waiting: Box<[u32]>,
    pub output: u32,
    pub offered: Offered,
    pub barrier: Barrier,
    /// How many barriers each worker of this plan has reached; hints for partners, publish nothing.
    pub phases: Box<[Padded<AtomicU32>]>,
    pub costs: Arc<Costs>,
    /// Nodes that were in no plan before; the leader tells them where the session is.
    pub fresh: Box<[Arc<NodeCell>]>,
    /// Whether `auto` tries its workers at once (`leader/choose_walk.rs`).
    pub trial: bool,
}

/// Where units wait for a worker, one form a kind of schedule.
pub(crate) enum Offered {
    /// `serial`, `lists`: units wait in lists.
    Nowhere,
    /// `dataflow`: ready sets, and what is in them when the block begins.
    Sets { sets: ReadySet, initial: Box<[Box<[u64]>]> },
    /// `steal`: deques, and what is in them when the block begins, most urgent last.
    Deques { deques: Box<[Deque]>, initial: Box<[Box<[u32]>]> },
    /// `critical`: lists, each walked by whoever claims it: its worker, or a stand-in if that one has
    /// not come.
    Lists {
        lists: Box<[Box<[u32]>]>,
        claims: Box<[Padded<Claim>]>,
        /// How far each list has been walked.
        places: Box<[Padded<AtomicU32>]>,
    },
}

impl Plan {
    /// `nodes`: by node id; `None` for a node that only sums.
    ///
    /// Thread: control; allocates everything that blocks will need.
    pub(crate) fn new(
        schedule: VerifiedSchedule,
        nodes: &[Option<Arc<NodeCell>>],
        fresh: Vec<Arc<NodeCell>>,
        frames: usize,
    ) -> Plan {
        let all = schedule.units().units();
        let units = schedule.units();
        let chain = |inputs: &[_], ids: &[hocket_plan::NodeId]| {
            let cells = ids.iter().filter_map(|id| nodes[id.index()].clone());
            let count = ids.first().map_or(0, |head| units.side_chain(*head));
            let (inputs, side) = inputs.split_at(inputs.len() - count);
            // A node that only sums has nobody who would listen to a side chain.
            let listens = ids.first().is_some_and(|head| nodes[head.index()].is_some());
            let side = if listens { side } else { &[] };
            ChainState::new(inputs, side, cells.collect(), frames)
        };
        let unit = |unit: &hocket_plan::Unit| {
            let folded = unit.folded.iter().map(|folded| chain(&folded.inputs, &folded.nodes));
            UnitState::new(folded.collect(), chain(&unit.inputs, &unit.nodes))
        };
        let successors = Successors::of(&schedule);
        let counts = successors.arrivals();
        let waiting = (0..counts.len() as u32).filter(|unit| counts[*unit as usize] > 0);
        Plan {
            number: next_number(),
            units: Units::new(all.iter().map(unit).collect()),
            waiting: waiting.collect(),
            countdowns: counts.into_iter().map(Countdown::new).collect(),
            successors,
            output: schedule.output().0,
            offered: Offered::new(&schedule),
            barrier: Barrier::new(schedule.workers() as u32),
            phases: (0..schedule.workers()).map(|_| Padded(AtomicU32::new(0))).collect(),
            costs: Arc::new(Costs::new(all.len())),
            fresh: fresh.into_boxed_slice(),
            trial: false,
            schedule,
        }
    }

    /// How many workers it is for.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        self.schedule.workers()
    }

    /// Puts everything back to where a block begins.
    ///
    /// Thread: leader, while nobody is inside.
    pub(crate) fn wind_up(&self) {
        match &self.offered {
            Offered::Nowhere => {}
            Offered::Sets { sets, initial } => {
                for (home, words) in initial.iter().enumerate() {
                    sets.load(home, words);
                }
            }
            Offered::Deques { deques, initial } => {
                for (deque, units) in deques.iter().zip(initial) {
                    deque.load(units);
                }
            }
            Offered::Lists { claims, places, .. } => {
                // Relaxed: nobody is inside, and E4 carries it to whoever enters.
                places.iter().for_each(|place| place.0.store(0, Relaxed));
                claims.iter().for_each(|claim| claim.0.release());
                // Here they stay at zero for the rest of the block: who waits only looks.
                for unit in &self.waiting {
                    self.countdowns[*unit as usize].reset();
                }
            }
        }
    }
}

/// The successors of every unit, one after the other: units themselves are large, and a block needs
/// nothing else of them.
pub(crate) struct Successors {
    /// Where each unit's begin; one more at the end.
    starts: Box<[u32]>,
    ids: Box<[u32]>,
}

impl Successors {
    /// In `critical` without those in the unit's own list, which come after it anyway.
    ///
    /// Thread: control; allocates.
    fn of(schedule: &VerifiedSchedule) -> Successors {
        let units = schedule.units().units();
        let list_of = match schedule.kind() {
            ScheduleKind::Critical => list_of_each(schedule),
            _ => (0..units.len() as u32).collect(),
        };
        let (mut starts, mut ids) = (vec![0], Vec::new());
        for (i, unit) in units.iter().enumerate() {
            let apart = |id: &&UnitId| list_of[id.index()] != list_of[i];
            ids.extend(unit.successors.iter().filter(apart).map(|id| id.0));
            starts.push(ids.len() as u32);
        }
        Successors { starts: starts.into_boxed_slice(), ids: ids.into_boxed_slice() }
    }

    /// How many arrive at each unit's countdown.
    ///
    /// Thread: control; allocates.
    fn arrivals(&self) -> Vec<u32> {
        let mut counts = vec![0; self.starts.len() - 1];
        self.ids.iter().for_each(|unit| counts[*unit as usize] += 1);
        counts
    }

    #[inline]
    pub(crate) fn get(&self, unit: usize) -> &[u32] {
        &self.ids[self.starts[unit] as usize..self.starts[unit + 1] as usize]
    }
}

/// Tells plans apart after they have gone.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: a number stands for itself.
    NEXT.fetch_add(1, Relaxed)
}

impl Offered {
    /// What a block begins with.
    ///
    /// Thread: control; allocates.
    fn new(schedule: &VerifiedSchedule) -> Offered {
        let lists = || (0..schedule.workers()).map(|worker| runs(schedule, worker));
        let count = schedule.units().units().len();
        match schedule.kind() {
            ScheduleKind::Serial | ScheduleKind::Lists => Offered::Nowhere,
            ScheduleKind::Dataflow => {
                let sets = ReadySet::new(schedule.workers(), count);
                let words = |list: Box<[u32]>| bits(&list, sets.words());
                Offered::Sets { initial: lists().map(words).collect(), sets }
            }
            ScheduleKind::Steal => {
                let last_first = |list: Box<[u32]>| list.iter().rev().copied().collect();
                Offered::Deques {
                    deques: lists().map(|_| Deque::new(count)).collect(),
                    initial: lists().map(last_first).collect(),
                }
            }
            ScheduleKind::Critical => Offered::Lists {
                lists: lists().collect(),
                claims: lists().map(|_| Padded(Claim::new())).collect(),
                places: lists().map(|_| Padded(AtomicU32::new(0))).collect(),
            },
        }
    }
}

/// The list of each unit.
///
/// Thread: control; allocates.
fn list_of_each(schedule: &VerifiedSchedule) -> Vec<u32> {
    let mut list_of = vec![0; schedule.units().units().len()];
    for worker in 0..schedule.workers() {
        runs(schedule, worker).iter().for_each(|unit| list_of[*unit as usize] = worker as u32);
    }
    list_of
}

/// The units of a worker's list.
///
/// Thread: control; allocates.
fn runs(schedule: &VerifiedSchedule, worker: usize) -> Box<[u32]> {
    let unit = |step: &Step| match step {
        Step::Run(UnitId(unit)) => Some(*unit),
        Step::Barrier => None,
    };
    schedule.list(worker).iter().filter_map(unit).collect()
}

/// One bit a unit.
///
/// Thread: control; allocates.
fn bits(units: &[u32], words: usize) -> Box<[u64]> {
    let mut bits = vec![0u64; words];
    units.iter().for_each(|unit| bits[*unit as usize / 64] |= 1 << (unit % 64));
    bits.into_boxed_slice()
}
