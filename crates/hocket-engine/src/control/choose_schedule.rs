//! `auto`: from the serial walk to several workers, and back where that was wrong.
//!
//! How many workers a session is worth follows from its costs (`hocket_plan::schedule::best`). Whether
//! they had better keep to lists or share a pool does not: it depends on how late this system lets
//! threads run, which no cost tells. So the kinds of schedule take turns while the session plays, each for
//! as long as its estimate needs to settle, and the one with the shortest blocks stays. The output is the
//! same whoever computes it, so nothing is heard of a trial.

use hocket_plan::ScheduleKind;
use hocket_plan::compile::UnitGraph;
use hocket_plan::schedule::{Schedule, best};

use super::planner::{MOVED, Planner};

/// Kinds that take turns, in this order and then in the opposite one: what drifts in one direction
/// falls on all of them alike. `lists` is left out: it waits for every worker at every level.
const TURNS: [ScheduleKind; 6] = [
    ScheduleKind::Critical,
    ScheduleKind::Steal,
    ScheduleKind::Dataflow,
    ScheduleKind::Dataflow,
    ScheduleKind::Steal,
    ScheduleKind::Critical,
];

/// Looks in a row, 40 ms apart, before several workers are given up: a system that was busy elsewhere for
/// a moment says nothing about them.
const PATIENCE: u32 = 5;

/// What has been found out so far.
#[derive(Debug, Default)]
pub(crate) struct Auto {
    /// Time of the serial walk when several workers were found to be slower.
    gave_up_at: Option<f64>,
    /// The trial that is under way.
    trial: Option<Trial>,
    /// The kind that won the last one.
    found: Option<ScheduleKind>,
    /// The kind that won before this engine was there, until it has been taken over.
    found_before: Option<ScheduleKind>,
    /// Looks in a row at which several workers were slower than one would be.
    slower: u32,
    /// What all chains together cost when the serial walk ran last.
    serial_cost: Option<f64>,
}

impl Auto {
    /// Where a kind for several workers is known to be the shortest here.
    pub(super) fn knowing(found_before: Option<ScheduleKind>) -> Auto {
        let parallel = |kind: &ScheduleKind| *kind != ScheduleKind::Serial;
        Auto { found_before: found_before.filter(parallel), ..Auto::default() }
    }

    /// Other units are to be played: what a trial has found so far was about the old ones.
    pub(super) fn end_trial(&mut self) {
        self.trial = None;
    }
}

/// Kinds of schedule that take turns.
#[derive(Debug)]
struct Trial {
    workers: usize,
    /// What a block took in each turn that is over.
    took_ns: Vec<f64>,
}

impl Trial {
    /// The kind whose turn it is; `None`: all had theirs.
    fn turn(&self) -> Option<ScheduleKind> {
        TURNS.get(self.took_ns.len()).copied()
    }

    /// The kind with the shortest blocks, over its turns together.
    fn winner(&self) -> Option<ScheduleKind> {
        let sum = |kind: ScheduleKind| -> f64 {
            let own = TURNS.iter().zip(&self.took_ns).filter(|(turn, _)| **turn == kind);
            own.map(|(_, took)| took).sum()
        };
        TURNS.into_iter().min_by(|a, b| sum(*a).total_cmp(&sum(*b)))
    }
}

/// Choosing.
impl Planner {
    /// Looks at what a block takes, and makes another plan where that is worth it.
    pub(super) fn choose(&mut self, moved: f64) {
        let standing = self.standing();
        let Some(measured) = standing.measured_ns else { return };
        let serial = self.serial_now(standing.serial_ns);
        if self.auto.trial.is_some() {
            return self.next_turn(measured);
        }
        if self.present.schedule.workers() > 1 {
            return self.choose_again(serial, measured, moved);
        }
        // What did not pay before is tried again when the session has changed.
        let changed = |then: f64| (serial - then).abs() > MOVED * then;
        if self.auto.gave_up_at.is_none_or(changed) {
            self.begin_trial();
        }
    }

    /// What the serial walk would take now. It was measured when it ran; since then clips may have begun
    /// or clocks slowed down, so the figure is taken in proportion to what the chains cost then and now.
    fn serial_now(&mut self, measured: Option<f64>) -> f64 {
        let cost = self.prices.total();
        if self.present.schedule.workers() == 1 {
            self.auto.serial_cost = Some(cost);
        }
        match (measured, self.auto.serial_cost) {
            (Some(ns), Some(then)) if then > 0.0 => ns * cost / then,
            // With costs that were known before, it may never have run.
            _ => cost,
        }
    }

    /// Several workers are at work: back to one where they are slower, another trial where costs have
    /// moved.
    fn choose_again(&mut self, serial: f64, measured: f64, moved: f64) {
        self.auto.slower = if measured > serial { self.auto.slower + 1 } else { 0 };
        if self.auto.found.is_none() {
            self.begin_trial();
        } else if self.auto.slower >= PATIENCE {
            self.auto.gave_up_at = Some(serial);
            let units = self.priced_units();
            let schedule = Schedule::plan(ScheduleKind::Serial, &units, 1);
            let _ = self.send_plan(units, schedule, Some(serial));
        } else if moved > MOVED {
            self.begin_trial();
        }
    }

    /// Lets the kinds take turns if several workers are expected to pay; else it stays or becomes
    /// serial.
    fn begin_trial(&mut self) {
        let choice = best(&self.priced_units(), &self.team, self.overheads);
        let workers = choice.schedule.lists.len();
        if workers > 1 {
            self.begin_with(workers);
        } else if self.present.schedule.workers() > 1 {
            let _ = self.send_plan(self.priced_units(), choice.schedule, Some(choice.expected));
        }
    }

    /// What is known of this machine saves the first trial; costs that move later begin another.
    fn begin_with(&mut self, workers: usize) {
        if let Some(kind) = self.auto.found_before.take() {
            self.auto.found = Some(kind);
            return self.go_on_with_kind(kind, workers);
        }
        self.auto.trial = Some(Trial { workers, took_ns: Vec::new() });
        self.take_turn(TURNS[0]);
    }

    /// A turn is over.
    fn next_turn(&mut self, measured: f64) {
        let Some(trial) = &mut self.auto.trial else { return };
        trial.took_ns.push(measured);
        if let Some(kind) = trial.turn() {
            return self.take_turn(kind);
        }
        self.auto.found = trial.winner();
        let stays = Some(self.present.schedule.kind());
        if let Some(kind) = self.auto.found.filter(|kind| Some(*kind) != stays) {
            self.take_turn(kind);
        }
        self.auto.trial = None;
    }

    /// Goes on with a plan of this kind for the workers of the trial.
    fn take_turn(&mut self, kind: ScheduleKind) {
        if let Some(trial) = &self.auto.trial {
            self.go_on_with_kind(kind, trial.workers);
        }
    }

    fn go_on_with_kind(&mut self, kind: ScheduleKind, workers: usize) {
        let units = self.priced_units();
        let team = self.team.first(workers);
        let schedule = Schedule::plan_with(kind, &units, &team, self.overheads);
        let expected = best(&units, &team, self.overheads).expected;
        // A plan that cannot be handed over ends the trial; costs that move begin another.
        if self.send_plan(units, schedule, Some(expected)).is_err() {
            self.auto.trial = None;
        }
    }

    /// The schedule for these units from what is known, with what it is expected to take: as many
    /// workers as pay, and the kind that won last time.
    pub(super) fn best_known(&self, units: &UnitGraph) -> (Schedule, f64) {
        let choice = best(units, &self.team, self.overheads);
        let workers = choice.schedule.lists.len();
        let found = self.auto.found.or(self.auto.found_before).filter(|_| workers > 1);
        let again = |kind| {
            let team = self.team.first(workers);
            Schedule::plan_with(kind, units, &team, self.overheads)
        };
        (found.map_or(choice.schedule, again), choice.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn winner_of(took_ns: [f64; 6]) -> Option<ScheduleKind> {
        let trial = Trial { workers: 2, took_ns: took_ns.to_vec() };
        assert_eq!(trial.turn(), None);
        trial.winner()
    }

    #[test]
    fn the_kind_with_the_shortest_blocks_wins() {
        assert_eq!(winner_of([3., 1., 2., 2., 1., 3.]), Some(ScheduleKind::Steal));
        assert_eq!(winner_of([1., 3., 2., 2., 3., 1.]), Some(ScheduleKind::Critical));
        assert_eq!(winner_of([2., 3., 1., 1., 3., 2.]), Some(ScheduleKind::Dataflow));
    }

    #[test]
    fn a_drift_in_one_direction_favours_nobody() {
        // Each turn 10 % slower than the one before: the sums differ by the curvature only, and a
        // kind that is 5 % shorter wins.
        let drift: Vec<f64> = (0..6).map(|turn| 100.0 + 10.0 * f64::from(turn)).collect();
        for (i, kind) in TURNS.into_iter().enumerate().take(3) {
            let mut took = drift.clone();
            took[i] *= 0.95;
            took[5 - i] *= 0.95;
            assert_eq!(Trial { workers: 2, took_ns: took }.winner(), Some(kind));
        }
    }
}
