//! Decides which plan `auto` gives the leader: the kind of schedule, and the number of workers.
//!
//! The leader itself decides from block to block whether a plan's workers pay at all
//! (`leader/choose_walk.rs`), and measures the plan against the serial walk for that. So the planner only has
//! to find the best plan for several workers:
//!
//! 1. **How many workers** follows from the units' costs. Where the costs leave a doubt the workers are tried,
//!    because the leader finds out.
//! 2. **Which kind of schedule** depends on how late this system lets threads run, which no cost shows. So
//!    the kinds take turns while the session plays. Each turn lasts until the leader has compared the plan
//!    with the serial walk. Kinds that are close to the best one take a second, longer turn. The kind whose
//!    blocks are the smallest part of serial blocks stays: turns that lie seconds apart compare, because each
//!    has its own serial blocks beside it.
//! 3. **Later** one of the other kinds challenges the one in use, ever more rarely while that one wins.
//!
//! Every schedule computes the same output, so a trial changes no sample. The leader leaves a kind at its second block that
//! takes longer than the period.

use hocket_plan::ScheduleKind;
use hocket_plan::compile::{Prices, UnitGraph};
use hocket_plan::schedule::{Choice, Overheads, Schedule, best, best_with_workers};

use super::planner::{MOVED, Nodes, Planned, Planner};
use crate::leader::choose_walk::{ENOUGH_WINDOWS, Finding, Reason};

/// Whether workers are worth a try is judged by the units as this kind gets them. It must not depend on the kind in
/// use, which may leave wide sums whole: then nothing would ever be tried again.
const WORTH: ScheduleKind = ScheduleKind::Critical;
/// Kinds that are tried: all that use several workers.
const KINDS: [ScheduleKind; 4] =
    [ScheduleKind::Critical, ScheduleKind::Steal, ScheduleKind::Dataflow, ScheduleKind::Lists];
/// Windows of a kind's first and second turn in the first trial, which should be over within a second.
const FIRST_TURN: u32 = 2;
const SECOND_TURN: u32 = 3;
/// Kinds whose blocks take at most this many times as long as the best kind's take a second turn.
const CLOSE: f64 = 1.15;
/// Windows of a turn in a challenge.
const LONG_TURN: u32 = 5;
/// A challenger has to take less than this part of the time of the kind in use.
const BETTER: f64 = 0.98;
/// The result of a kind whose first blocks took longer than the period.
const MISSED: f64 = 4.0;
/// Blocks until the first challenge, and between later ones: 2 seconds to 3 minutes at 64 frames and 48 kHz.
const CHALLENGES: (u32, u32) = (1500, 128 * 1024);
/// Blocks of a plan before costs that have moved make another one, and before it gives way to one worker.
const REPLAN: u32 = 750;
const GIVE_UP: u32 = 3000;
/// Workers are tried where a block is expected to take less than this part of the serial walk: what working
/// together costs differs from host to host.
const DOUBT: f64 = 1.25;
/// A session is worth several workers at all if, without any costs of working together, a block would take
/// less than this part of the serial walk.
const PARALLEL: f64 = 0.97;

/// What the planner sees when it looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// What the leader found out about the plan in use.
    pub finding: Finding,
    /// Blocks of that plan.
    pub blocks: u32,
    /// By which part costs have moved since it was made.
    pub moved: f64,
    /// Whether several workers are worth a try, by these costs.
    pub worth_trying: bool,
}

/// What the planner is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Keep,
    /// A plan of this kind whose workers are tried at once.
    Try(ScheduleKind),
    /// A plan of this kind; the leader walks it as it did the one before.
    Use(ScheduleKind),
    /// A plan for one worker.
    OneWorker,
}

/// What has been found out so far.
#[derive(Debug)]
pub(crate) struct ChooseSchedule {
    /// The trial that is under way.
    trial: Option<Trial>,
    /// The kind that won the last one.
    found: Option<ScheduleKind>,
    /// The kind that won before this engine was there, until it has been taken over.
    found_before: Option<ScheduleKind>,
    /// Blocks of the plan in use before it is challenged.
    wait: u32,
    /// All kinds in the order of challenges: the best ones of the first trial first.
    order: [ScheduleKind; KINDS.len()],
    /// Challenges so far.
    challenges: usize,
}

impl ChooseSchedule {
    /// `found_before`: the kind that is known to be the shortest here.
    pub(crate) fn knowing(found_before: Option<ScheduleKind>) -> ChooseSchedule {
        let found_before = found_before.filter(|kind| *kind != ScheduleKind::Serial);
        let (trial, found, wait) = (None, None, CHALLENGES.0);
        ChooseSchedule { trial, found, found_before, wait, order: KINDS, challenges: 0 }
    }

    /// The kind to plan with, as far as one is known.
    pub(crate) fn found(&self) -> Option<ScheduleKind> {
        self.found.or(self.found_before)
    }

    /// Other units are to be played, or the plan was made by hand: the turn that is under way says nothing.
    pub(crate) fn end_trial(&mut self) {
        self.trial = None;
    }

    /// Decides from what has been measured. `kind`: of the plan in use.
    pub(crate) fn look(&mut self, kind: ScheduleKind, look: &Look) -> Next {
        if !look.worth_trying {
            self.trial = None;
            let stays = kind == ScheduleKind::Serial || look.blocks < GIVE_UP;
            return if stays { Next::Keep } else { Next::OneWorker };
        }
        if let Some(trial) = &mut self.trial {
            return match trial.turn_result(&look.finding, look.blocks) {
                Some(ratio) => {
                    trial.end_turn(ratio);
                    self.next_turn(kind)
                }
                None => Next::Keep,
            };
        }
        match self.found {
            None => self.begin(),
            // The plan was made while no kind was known, or for one worker.
            Some(found) if found != kind => Next::Try(found),
            Some(found) if look.moved > MOVED && look.blocks > REPLAN => Next::Use(found),
            Some(found) if look.blocks > self.wait => self.challenge(found, &look.finding),
            Some(_) => Next::Keep,
        }
    }

    /// What is known of this machine saves the first trial.
    fn begin(&mut self) -> Next {
        if let Some(found) = self.found_before.take() {
            self.found = Some(found);
            return Next::Try(found);
        }
        self.begin_trial(Trial::first())
    }

    /// Where workers lose, the kind in use has nothing to show: a challenger has to win against the serial
    /// walk.
    fn challenge(&mut self, found: ScheduleKind, finding: &Finding) -> Next {
        let others: Vec<_> = self.order.into_iter().filter(|kind| *kind != found).collect();
        let other = others[self.challenges % others.len()];
        self.challenges += 1;
        self.wait = (2 * self.wait).min(CHALLENGES.1);
        self.begin_trial(match finding.reason {
            Reason::SerialIsShorter => Trial::of(vec![other], ENOUGH_WINDOWS),
            _ => Trial::of(vec![other, found, found, other], LONG_TURN),
        })
    }

    fn begin_trial(&mut self, trial: Trial) -> Next {
        let first = trial.turns[0];
        self.trial = Some(trial);
        Next::Try(first)
    }

    /// A turn is over.
    fn next_turn(&mut self, kind: ScheduleKind) -> Next {
        let Some(trial) = &self.trial else { return Next::Keep };
        if let Some(turn) = trial.turns.get(trial.ratios.len()) {
            return Next::Try(*turn);
        }
        let winner = trial.winner(self.found);
        if self.found.is_none() {
            self.order.sort_by(|a, b| trial.ratio(*a).total_cmp(&trial.ratio(*b)));
        }
        if self.found != Some(winner) {
            self.wait = CHALLENGES.0;
        }
        let pays = trial.ratio(winner) < 1.0;
        self.found = Some(winner);
        self.trial = None;
        match pays {
            _ if winner == kind => Next::Keep,
            true => Next::Try(winner),
            false => Next::Use(winner),
        }
    }
}

/// Kinds of schedule that take turns.
#[derive(Debug)]
struct Trial {
    turns: Vec<ScheduleKind>,
    /// What a block took as a part of a serial one, in each turn that is over.
    ratios: Vec<f64>,
    /// Windows that make a turn.
    windows: u32,
    /// Whether those that are close to the best one take a second turn.
    second_turn: bool,
}

impl Trial {
    /// Every kind, then the best ones again in reverse: what drifts in one direction falls on all of them alike.
    fn first() -> Trial {
        Trial { second_turn: true, ..Trial::of(KINDS.to_vec(), FIRST_TURN) }
    }

    fn of(turns: Vec<ScheduleKind>, windows: u32) -> Trial {
        Trial { turns, ratios: Vec::new(), windows, second_turn: false }
    }

    /// The part of serial blocks that the plan's blocks take, once enough of them have been compared.
    fn turn_result(&self, finding: &Finding, blocks: u32) -> Option<f64> {
        let left = finding.reason == Reason::SerialIsShorter;
        match finding.ratio {
            Some(ratio) if left || finding.windows >= self.windows => Some(ratio),
            // Its blocks took longer than the period before anything could be compared.
            None if left => Some(MISSED),
            // Where no serial block may be tried, nothing can be compared: all kinds are alike.
            None if finding.reason == Reason::SerialIsTooLong => Some(1.0),
            _ if blocks > REPLAN => Some(1.0),
            _ => None,
        }
    }

    /// Takes a turn's result, and plans second turns after the first ones.
    fn end_turn(&mut self, ratio: f64) {
        self.ratios.push(ratio);
        if self.second_turn && self.ratios.len() == self.turns.len() {
            self.second_turn = false;
            let close = self.close_to_best();
            // One alone has won already. Where all lose, the leader walks alone with any of them.
            if close.len() > 1 && self.best() < 1.0 {
                self.turns.extend(close.into_iter().rev());
                self.windows = SECOND_TURN;
            }
        }
    }

    fn best(&self) -> f64 {
        self.ratios.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn close_to_best(&self) -> Vec<ScheduleKind> {
        let most = CLOSE * self.best();
        let turns = self.turns.iter().zip(&self.ratios);
        turns.filter(|(_, ratio)| **ratio <= most).map(|(kind, _)| *kind).collect()
    }

    /// A kind's mean over its turns; 1 for a kind that had none.
    fn ratio(&self, kind: ScheduleKind) -> f64 {
        let ratios = self.ratios_of(kind);
        let (count, sum) = ratios.fold((0, 0.0), |(n, sum), ratio| (n + 1, sum + ratio));
        if count > 0 { sum / f64::from(count) } else { 1.0 }
    }

    fn ratios_of(&self, kind: ScheduleKind) -> impl Iterator<Item = f64> {
        let turns = self.turns.iter().zip(&self.ratios);
        turns.filter(move |(turn, _)| **turn == kind).map(|(_, ratio)| *ratio)
    }

    /// The kind with the smallest part; `holder` stays unless another one is clearly better. A kind that was
    /// not worth a second turn does not win.
    fn winner(&self, holder: Option<ScheduleKind>) -> ScheduleKind {
        let most = KINDS.iter().map(|kind| self.ratios_of(*kind).count()).max();
        let rank = |kind: ScheduleKind| {
            let handicap = if Some(kind) == holder { BETTER } else { 1.0 };
            self.ratio(kind) * handicap
        };
        // The holder first: of equal ones the first is taken.
        let others = KINDS.into_iter().filter(|kind| Some(self.ratios_of(*kind).count()) == most);
        let kinds = holder.into_iter().chain(others);
        kinds.min_by(|a, b| rank(*a).total_cmp(&rank(*b))).unwrap_or(KINDS[0])
    }
}

/// Choosing.
impl Planner {
    /// Looks at what was measured, and makes another plan where that is worth it.
    pub(super) fn choose(&mut self, moved: f64) {
        let Some(finding) = self.progress.finding(self.present.number) else { return };
        let workers = self.workers_worth_trying(WORTH);
        let blocks = self.progress.blocks_since_order();
        let look = Look { finding, blocks, moved, worth_trying: workers.is_some() };
        let next = self.auto.look(self.present.schedule.kind(), &look);
        let sent = match (next, workers) {
            (Next::Try(kind), Some(choice)) => self.send_kind(kind, &choice, true),
            (Next::Use(kind), Some(choice)) => self.send_kind(kind, &choice, false),
            (Next::OneWorker, _) => {
                let units = self.coupled(self.priced_units(WORTH), &self.cells.nodes, 1);
                let choice = best(&units, &self.team.first(1), self.overheads);
                self.send_plan(units, choice.schedule, Some(choice.expected), false)
            }
            _ => Ok(()),
        };
        // A plan that cannot be handed over ends the trial; another one begins later.
        if sent.is_err() {
            self.auto.end_trial();
        }
    }

    /// The number of workers with the shortest blocks, by the costs of the units as a kind of schedule gets them;
    /// `None`: not worth a try.
    fn workers_worth_trying(&self, kind: ScheduleKind) -> Option<Choice> {
        let units = self.priced_units(kind);
        let at_best = best_with_workers(&units, &self.team, Overheads::NONE)?;
        let choice = best_with_workers(&units, &self.team, self.overheads)?;
        let worth =
            at_best.expected < PARALLEL * at_best.serial && choice.expected < DOUBT * choice.serial;
        worth.then_some(choice)
    }

    fn send_kind(
        &mut self,
        kind: ScheduleKind,
        choice: &Choice,
        trial: bool,
    ) -> Result<(), super::handle::ControlError> {
        let team = self.team.first(choice.schedule.lists.len());
        let units = self.coupled(self.priced_units(kind), &self.cells.nodes, team.workers());
        let schedule = Schedule::plan_with(kind, &units, &team, self.overheads);
        self.send_plan(units, schedule, Some(choice.expected), trial)
    }

    /// A schedule for these units from what is known: as many workers as pay, and the kind that won last time.
    pub(super) fn best_known(&self, base: &UnitGraph, prices: &Prices, nodes: &Nodes) -> Planned {
        let units = self.folded_and_cut(base, prices, WORTH);
        let Choice { schedule, expected, .. } = best(&units, &self.team, self.overheads);
        let workers = schedule.lists.len();
        let found = self.auto.found().filter(|_| workers > 1);
        let (units, kind) = match found {
            Some(kind) => (self.folded_and_cut(base, prices, kind), kind),
            None if self.couples => (units, schedule.kind),
            None => return Planned { units, schedule, expected },
        };
        let units = self.coupled(units, nodes, workers);
        let team = self.team.first(workers);
        let schedule = Schedule::plan_with(kind, &units, &team, self.overheads);
        Planned { units, schedule, expected }
    }
}

#[cfg(test)]
mod tests;
