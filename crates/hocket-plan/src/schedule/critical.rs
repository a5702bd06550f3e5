//! `critical`: fixed lists by cost, the longest path first.
//!
//! Units come in the order of their rank, the cost of the longest path behind them. Each goes to the
//! worker that finishes it first. This is HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002) without its
//! insertion step: a list that is walked in order of urgency never waits for something less urgent.
//!
//! Seats differ in speed, and two busy seats of a pair run at a measured fraction each. So if workers
//! share cores, the lists are simulated for several numbers of workers. The siblings work only if that
//! shortens the block.

use super::predict::{Overheads, makespan};
use super::{Step, Team};
use crate::compile::{UnitGraph, UnitId};

/// Lists for the first workers of the team. The others are better left out, and are not even woken.
pub(super) struct Plan {
    pub lists: Vec<Vec<Step>>,
}

/// The shortest plan for the team, by prediction.
pub(super) fn plan(units: &UnitGraph, team: &Team, overheads: Overheads) -> Plan {
    let (lists, _) = shortest(units, team, overheads);
    let steps = |list: Vec<UnitId>| list.into_iter().map(Step::Run).collect();
    Plan { lists: lists.into_iter().map(steps).collect() }
}

/// The numbers of workers worth a try, and the shortest of their plans with its predicted time.
///
/// A plan with siblings counts only if it is shorter than all plans without.
pub(super) fn shortest(
    units: &UnitGraph,
    team: &Team,
    overheads: Overheads,
) -> (Vec<Vec<UnitId>>, f64) {
    let alone = team.without_sharing();
    let mut counts = vec![alone];
    if alone < team.workers() {
        counts.extend([alone + (team.workers() - alone).div_ceil(2), team.workers()]);
        counts.dedup();
    }
    let planned = counts.into_iter().map(|count| for_workers(units, &team.first(count), overheads));
    planned.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
}

/// How much longer the prediction may be for a plan that keeps related units on one worker. The
/// prediction does not know caches: a sum of eight buses takes some 2 µs longer if four of them are in
/// another core's cache. That is 3 % of a block of 70 µs.
const TOGETHER: f64 = 1.03;

/// The better of two assignments for exactly this team.
pub(super) fn for_workers(
    units: &UnitGraph,
    team: &Team,
    overheads: Overheads,
) -> (Vec<Vec<UnitId>>, f64) {
    let plans = [Assign::together(units, team, overheads), Assign::new(units, team, overheads)];
    let timed = plans.map(|assign| {
        let (lists, time) = assign.earliest_finish();
        // With a core each, the times of the assignment are the times at which units end.
        let shared = team.without_sharing() < team.workers();
        let time = if shared { makespan(units, &lists, team, overheads) } else { time };
        (lists, time)
    });
    let [together, level] = timed;
    if together.1 <= level.1 * TOGETHER { together } else { level }
}

struct Assign<'a> {
    units: &'a UnitGraph,
    team: &'a Team,
    /// Units that have their worker already.
    fixed: Vec<Option<usize>>,
    free_at: Vec<f64>,
    ended: Vec<(usize, f64)>,
    overheads: Overheads,
}

impl<'a> Assign<'a> {
    /// Every unit goes to the worker that finishes it first.
    fn new(units: &'a UnitGraph, team: &'a Team, overheads: Overheads) -> Assign<'a> {
        let start = |worker| if worker == 0 { 0.0 } else { overheads.start };
        Assign {
            units,
            team,
            fixed: vec![None; units.units().len()],
            free_at: (0..team.workers()).map(start).collect(),
            ended: vec![(0, 0.0); units.units().len()],
            overheads,
        }
    }

    /// Units without predecessors that feed the same unit go to one worker: what they write is then in
    /// the cache of the core that reads it.
    fn together(units: &'a UnitGraph, team: &'a Team, overheads: Overheads) -> Assign<'a> {
        let ids = (0..units.units().len()).map(|i| UnitId(i as u32));
        let first = ids.filter(|id| units.units()[id.index()].predecessors.is_empty()).collect();
        let mut assign = Assign::new(units, team, overheads);
        for (worker, dealt) in
            super::by_successor(units, first, &shares(units, team, overheads)).iter().enumerate()
        {
            dealt.iter().for_each(|id| assign.fixed[id.index()] = Some(worker));
        }
        assign
    }

    /// The lists, and when the last unit ends if siblings do not slow each other down.
    fn earliest_finish(mut self) -> (Vec<Vec<UnitId>>, f64) {
        let mut lists = vec![Vec::new(); self.team.workers()];
        for i in 0..self.units.units().len() {
            let finish = |worker: usize| (worker, self.finish_on(i, worker));
            let (worker, end) = match self.fixed[i] {
                Some(worker) => finish(worker),
                None => (0..self.team.workers())
                    .map(finish)
                    .min_by(|a, b| a.1.total_cmp(&b.1))
                    .unwrap_or((0, 0.0)),
            };
            lists[worker].push(UnitId(i as u32));
            self.free_at[worker] = end;
            self.ended[i] = (worker, end);
        }
        (lists, self.free_at.into_iter().fold(0.0, f64::max))
    }

    /// When unit `i` would end on a worker. Siblings count as busy, at pair speed, if any of them works
    /// beyond this unit's start.
    fn finish_on(&self, i: usize, worker: usize) -> f64 {
        let overheads = self.overheads;
        let unit = &self.units.units()[i];
        let mut start = self.free_at[worker];
        for before in &unit.predecessors {
            let (by, end) = self.ended[before.index()];
            start = start.max(end + if by == worker { 0.0 } else { overheads.hand_over });
        }
        let shared = self.team.siblings(worker).any(|other| self.free_at[other] > start);
        let speed = self.team.speed(worker) * if shared { self.team.pair_speed } else { 1.0 };
        start + (unit.cost + overheads.unit) / speed
    }
}

/// What each worker can do in a block of the mean length, with its seat's speed and the later start of
/// all but the leader.
fn shares(units: &UnitGraph, team: &Team, overheads: Overheads) -> Vec<f64> {
    let speeds = || (0..team.workers()).map(|worker| team.speed(worker));
    let late = |worker: usize| if worker == 0 { 0.0 } else { overheads.start };
    let lost: f64 = speeds().enumerate().map(|(worker, speed)| speed * late(worker)).sum();
    let length = (units.total_cost() + lost) / speeds().sum::<f64>();
    speeds().enumerate().map(|(w, speed)| speed * (length - late(w)).max(0.0)).collect()
}
