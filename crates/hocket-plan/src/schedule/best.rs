//! `auto`: how many workers pay.

use super::predict::Overheads;
use super::{Schedule, ScheduleKind, Step, Team, critical, serial};
use crate::compile::UnitGraph;

/// The choice, and its expected time, in the measure of the costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The schedule.
    pub schedule: Schedule,
    /// How long a block is expected to take.
    pub expected: f64,
    /// How long the serial walk is expected to take.
    pub serial: f64,
}

/// A plan for several workers must be shorter than the serial walk by this part. A smaller
/// difference is within the error of the estimates, and the serial walk wakes nobody.
const WORTHWHILE: f64 = 0.03;

/// Chooses among the serial walk and fixed lists for 2, 3, ... workers of the team.
///
/// It never chooses a plan that is expected to be slower than the serial walk. Of two plans that are
/// expected to be equally long, it chooses the one with fewer workers.
///
/// Cost: O(units * workers) for each number of workers tried; at most 8 are.
pub fn best(units: &UnitGraph, team: &Team, overheads: Overheads) -> Choice {
    let serial = serial_walk(units, team, overheads);
    let alone = Choice { schedule: one(units), expected: serial, serial };
    match best_with_workers(units, team, overheads) {
        Some(choice) if choice.expected < serial * (1.0 - WORTHWHILE) => choice,
        _ => alone,
    }
}

/// As [`best`], without the serial walk: the shortest static lists for 2, 3, ... workers, even if they are
/// expected to take longer. `None`: the team has one worker.
pub fn best_with_workers(units: &UnitGraph, team: &Team, overheads: Overheads) -> Option<Choice> {
    let serial = serial_walk(units, team, overheads);
    let mut choice: Option<Choice> = None;
    for workers in candidates(team) {
        let (lists, time) = critical::for_workers(units, &team.first(workers), overheads);
        let time = time + overheads.open;
        let limit = choice.as_ref().map_or(f64::INFINITY, |c| c.expected * (1.0 - WORTHWHILE));
        if time < limit {
            let steps = |list: Vec<_>| list.into_iter().map(Step::Run).collect();
            let lists = lists.into_iter().map(steps).collect();
            let schedule = Schedule { kind: ScheduleKind::Critical, lists };
            choice = Some(Choice { schedule, expected: time, serial });
        }
    }
    choice
}

fn serial_walk(units: &UnitGraph, team: &Team, overheads: Overheads) -> f64 {
    let alone = units.total_cost() + overheads.unit * units.units().len() as f64;
    alone / team.speed(0)
}

fn one(units: &UnitGraph) -> Schedule {
    Schedule { kind: ScheduleKind::Serial, lists: vec![serial(units)] }
}

/// Numbers of workers to try, rising: all small ones, then one per core, then all.
fn candidates(team: &Team) -> Vec<usize> {
    let (all, alone) = (team.workers(), team.without_sharing());
    let mut counts = vec![2, 3, 4, 6, 8, alone / 2, alone, all];
    counts.retain(|count| (2..=all).contains(count));
    counts.sort_unstable();
    counts.dedup();
    counts
}
