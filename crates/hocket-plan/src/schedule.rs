//! Which worker runs which unit when.

mod best;
mod critical;
mod dataflow;
mod lists;
mod predict;
mod team;
mod verify;

use std::collections::BTreeMap;

pub use best::{Choice, best, best_with_workers};
pub use predict::Overheads;
pub use team::Team;
pub use verify::{Rule, VerifiedSchedule, Violation};

use crate::compile::{UnitGraph, UnitId};

/// How units are assigned to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScheduleKind {
    /// One worker walks all units in order: the reference.
    Serial,
    /// A fixed list per worker, level by level with barriers between, as in the 2009 thesis.
    Lists,
    /// A countdown per unit. The worker that takes it to zero runs the unit or offers it to all, the
    /// most urgent first.
    Dataflow,
    /// A countdown per unit and a deque per worker. The owner takes the newest unit, an idle worker
    /// the oldest of another.
    Steal,
    /// A fixed list per worker by expected cost and seat speed, the longest path first. A unit starts
    /// when its countdown is at zero, without barriers.
    Critical,
}

impl ScheduleKind {
    /// All kinds.
    pub const ALL: [ScheduleKind; 5] = [
        ScheduleKind::Serial,
        ScheduleKind::Lists,
        ScheduleKind::Dataflow,
        ScheduleKind::Steal,
        ScheduleKind::Critical,
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            ScheduleKind::Serial => "serial",
            ScheduleKind::Lists => "lists",
            ScheduleKind::Dataflow => "dataflow",
            ScheduleKind::Steal => "steal",
            ScheduleKind::Critical => "critical",
        }
    }

    /// Whether a unit with predecessors goes to the worker that finishes the last of them. Then only
    /// units without predecessors are in the lists.
    pub fn follows_readiness(self) -> bool {
        matches!(self, ScheduleKind::Dataflow | ScheduleKind::Steal)
    }

    /// Whether countdowns say when a unit may start.
    pub fn counts_down(self) -> bool {
        self.follows_readiness() || self == ScheduleKind::Critical
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<ScheduleKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One entry of a worker's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Run this unit.
    Run(UnitId),
    /// Wait until every worker is here.
    Barrier,
}

/// A schedule that is not checked yet; [`VerifiedSchedule::verify`] does that.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// How it was made and how it runs.
    pub kind: ScheduleKind,
    /// One list per worker. For `serial`, `lists` and `critical`: all that the worker does. For
    /// `dataflow` and `steal`: the units that are ready when the block begins, at their home worker,
    /// the most urgent first.
    pub lists: Vec<Vec<Step>>,
}

impl Schedule {
    /// Plans `units` for `workers` equal workers (at least 1), each alone on its core.
    ///
    /// Cost: O(n log n) in units.
    pub fn plan(kind: ScheduleKind, units: &UnitGraph, workers: usize) -> Schedule {
        Self::plan_for(kind, units, &Team::alike(workers.max(1)))
    }

    /// Plans `units` for these workers. Only `critical` uses their speeds and cores.
    ///
    /// Cost: O(n log n) in units; `critical` O(n * workers), several times if workers share cores.
    pub fn plan_for(kind: ScheduleKind, units: &UnitGraph, team: &Team) -> Schedule {
        Self::plan_with(kind, units, team, Overheads::NONE)
    }

    /// Like [`Schedule::plan_for`], with overheads of working together, in the measure of the costs.
    pub fn plan_with(
        kind: ScheduleKind,
        units: &UnitGraph,
        team: &Team,
        overheads: Overheads,
    ) -> Schedule {
        let lists = match kind {
            ScheduleKind::Serial => vec![serial(units)],
            ScheduleKind::Lists => lists::plan(units, team.workers()),
            ScheduleKind::Dataflow | ScheduleKind::Steal => dataflow::plan(units, team.workers()),
            ScheduleKind::Critical => critical::plan(units, team, overheads).lists,
        };
        Schedule { kind, lists }
    }
}

fn serial(units: &UnitGraph) -> Vec<Step> {
    (0..units.units().len()).map(|i| Step::Run(UnitId(i as u32))).collect()
}

/// Assigns units to workers so that the expected loads stay level.
///
/// Units that feed the same successor go to the same worker if that costs nothing: the successor
/// then reads what its own core wrote. Otherwise the most expensive go first, each to the worker
/// with the least so far.
fn deal(units: &UnitGraph, ids: Vec<UnitId>, workers: usize) -> Vec<Vec<UnitId>> {
    let level = dearest_first(units, ids.clone(), workers);
    let together = by_successor(units, ids, &vec![1.0; workers]);
    let mut dealt =
        if heaviest(units, &together) <= heaviest(units, &level) { together } else { level };
    dealt.iter_mut().for_each(|list| list.sort_unstable());
    dealt
}

/// The largest load of any worker.
fn heaviest(units: &UnitGraph, dealt: &[Vec<UnitId>]) -> f64 {
    let load = |list: &Vec<UnitId>| list.iter().map(|id| units.units()[id.index()].cost).sum();
    dealt.iter().map(load).fold(0.0, f64::max)
}

/// Graham's LPT rule (1969); ties go to the lower worker.
fn dearest_first(units: &UnitGraph, mut ids: Vec<UnitId>, workers: usize) -> Vec<Vec<UnitId>> {
    ids.sort_by(|a, b| {
        let (a, b) = (&units.units()[a.index()], &units.units()[b.index()]);
        b.cost.total_cmp(&a.cost)
    });
    let mut loads = vec![0.0f64; workers];
    let mut dealt = vec![Vec::new(); workers];
    for id in ids {
        let least = (0..workers).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        loads[least] += units.units()[id.index()].cost;
        dealt[least].push(id);
    }
    dealt
}

/// Deals the units so that those which feed the same unit sit together, in the ratio of `shares`.
///
/// What feeds one part of a sum is dealt to all workers: with one part's inputs here and the next one's there, the parts
/// would wait for the worker with the first ones, and the sum would be left to the end again.
fn by_successor(units: &UnitGraph, ids: Vec<UnitId>, shares: &[f64]) -> Vec<Vec<UnitId>> {
    let part_of = |id: &UnitId| {
        let first = units.units()[id.index()].successors.first().copied();
        first.filter(|to| units.sums_in_parts(*to))
    };
    let mut groups: BTreeMap<Option<UnitId>, Vec<UnitId>> = BTreeMap::new();
    ids.iter().for_each(|id| groups.entry(part_of(id)).or_default().push(*id));
    let cost = |ids: &[UnitId]| ids.iter().map(|id| units.units()[id.index()].cost).sum::<f64>();
    let mut dealt = vec![Vec::new(); shares.len()];
    let (mut loads, mut so_far) = (vec![0.0; shares.len()], 0.0);
    for group in groups.into_values() {
        so_far += cost(&group);
        // What each lacks of its share of all that is dealt by now.
        let part = so_far / shares.iter().sum::<f64>();
        let lacks = loads.iter().zip(shares).map(|(own, share)| (share * part - own).max(0.0));
        let lacks: Vec<f64> = lacks.collect();
        for (worker, more) in stretches(units, group, &lacks).into_iter().enumerate() {
            loads[worker] += cost(&more);
            dealt[worker].extend(more);
        }
    }
    dealt
}

/// Cuts the units, in the order of what they feed, into one stretch per worker, in the ratio of `shares`;
/// a unit goes where its middle falls.
fn stretches(units: &UnitGraph, mut ids: Vec<UnitId>, shares: &[f64]) -> Vec<Vec<UnitId>> {
    let unit = |id: &UnitId| &units.units()[id.index()];
    ids.sort_by_key(|id| (unit(id).successors.first().copied(), *id));
    let scale = ids.iter().map(|id| unit(id).cost).sum::<f64>() / shares.iter().sum::<f64>();
    let mut dealt = vec![Vec::new(); shares.len()];
    let (mut before, mut worker, mut end) = (0.0, 0, shares[0] * scale);
    for id in ids {
        let middle = before + unit(&id).cost / 2.0;
        // Never if costs or shares are infinite or zero: then the first worker gets all.
        while middle > end && worker + 1 < shares.len() {
            worker += 1;
            end += shares[worker] * scale;
        }
        dealt[worker].push(id);
        before += unit(&id).cost;
    }
    dealt
}
