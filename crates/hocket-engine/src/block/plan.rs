//! All that a block needs and that changes with the session: the schedule, the units with their buses,
//! and the places where its workers meet.
//!
//! A plan is built on a control thread, handed to the leader whole, and handed back whole when the next
//! one has taken its place. Nodes are shared between plans, so a processor keeps its state; a node
//! that no plan has any more is freed with the last plan that had it, on the control thread.

use std::sync::Arc;

use hocket_plan::{ScheduleKind, Step, UnitId, VerifiedSchedule};
use hocket_rt::{Barrier, Countdown, Deque, Head, Padded, ReadySet};

use super::bus::{ChainState, NodeCell, UnitState, Units};
use super::costs::Costs;

/// A schedule, ready to be run.
pub(crate) struct Plan {
    pub schedule: VerifiedSchedule,
    pub units: Units,
    pub countdowns: Box<[Countdown]>,
    pub successors: Successors,
    pub output: u32,
    pub offered: Offered,
    pub barrier: Barrier,
    pub costs: Arc<Costs>,
    /// Nodes that were in no plan before; the leader tells them where the session is.
    pub fresh: Box<[Arc<NodeCell>]>,
}

/// Where units wait for a worker, one form a kind of schedule.
pub(crate) enum Offered {
    /// `serial`, `lists`: units wait in lists.
    Nowhere,
    /// `dataflow`: ready sets, and what is in them when the block begins.
    Sets { sets: ReadySet, initial: Box<[Box<[u64]>]> },
    /// `steal`: deques, and what is in them when the block begins, most urgent last.
    Deques { deques: Box<[Deque]>, initial: Box<[Box<[u32]>]> },
    /// `critical`: lists whose heads are claimed, so that somebody else can take over for a worker who
    /// has not come.
    Heads { lists: Box<[Box<[u32]>]>, heads: Box<[Padded<Head>]>, owner: Box<[u32]> },
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
        let chain = |inputs: &[_], ids: &[hocket_plan::NodeId]| {
            let cells = ids.iter().filter_map(|id| nodes[id.index()].clone());
            ChainState::new(inputs, cells.collect(), frames)
        };
        let unit = |unit: &hocket_plan::Unit| {
            let folded = unit.folded.iter().map(|folded| chain(&folded.inputs, &folded.nodes));
            UnitState::new(folded.collect(), chain(&unit.inputs, &unit.nodes))
        };
        Plan {
            units: Units::new(all.iter().map(unit).collect()),
            countdowns: all.iter().map(|u| Countdown::new(u.predecessors.len() as u32)).collect(),
            successors: Successors::of(all),
            output: schedule.output().0,
            offered: Offered::new(&schedule),
            barrier: Barrier::new(schedule.workers() as u32),
            costs: Arc::new(Costs::new(all.len())),
            fresh: fresh.into_boxed_slice(),
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
            Offered::Heads { heads, .. } => {
                heads.iter().for_each(|head| head.0.rewind());
                // Here they stay at zero for the rest of the block, because somebody may look at a unit's
                // that another worker has claimed meanwhile.
                self.countdowns.iter().for_each(Countdown::reset);
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
    fn of(units: &[hocket_plan::Unit]) -> Successors {
        let ids: Box<[u32]> = units.iter().flat_map(|u| &u.successors).map(|id| id.0).collect();
        let mut starts = vec![0];
        for unit in units {
            starts.push(starts[starts.len() - 1] + unit.successors.len() as u32);
        }
        Successors { starts: starts.into_boxed_slice(), ids }
    }

    #[inline]
    pub(crate) fn get(&self, unit: usize) -> &[u32] {
        &self.ids[self.starts[unit] as usize..self.starts[unit + 1] as usize]
    }
}

impl Offered {
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
            ScheduleKind::Critical => Offered::heads(lists().collect(), count),
        }
    }

    fn heads(lists: Box<[Box<[u32]>]>, units: usize) -> Offered {
        let mut owner = vec![0; units].into_boxed_slice();
        for (worker, list) in lists.iter().enumerate() {
            list.iter().for_each(|unit| owner[*unit as usize] = worker as u32);
        }
        let heads = lists.iter().map(|_| Padded(Head::new())).collect();
        Offered::Heads { lists, heads, owner }
    }
}

/// The units of a worker's list.
fn runs(schedule: &VerifiedSchedule, worker: usize) -> Box<[u32]> {
    let unit = |step: &Step| match step {
        Step::Run(UnitId(unit)) => Some(*unit),
        Step::Barrier => None,
    };
    schedule.list(worker).iter().filter_map(unit).collect()
}

/// One bit a unit.
fn bits(units: &[u32], words: usize) -> Box<[u64]> {
    let mut bits = vec![0u64; words];
    units.iter().for_each(|unit| bits[*unit as usize / 64] |= 1 << (unit % 64));
    bits.into_boxed_slice()
}
