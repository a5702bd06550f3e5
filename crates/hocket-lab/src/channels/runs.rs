//! What probes and runs show, and how often blocks may be late by it.

use hocket_trace::cause::Tally;
use serde::{Deserialize, Serialize};

use crate::stats::poisson_most;

/// The most long runs of a block length.
pub const MOST_RUNS: usize = 5;

/// How often the bound of the first run may be wrong, and what part of it is left for each further one. All together may be
/// wrong in 5 %: 0.04 + 0.008 + 0.0016 and so on is 0.05.
const FIRST_OUTSIDE: f64 = 0.04;
const FURTHER: f64 = 0.2;

/// A run that has so many misses beside those that were asked for ends early.
const HOPELESS: u64 = 20;

const HOUR_S: f64 = 3600.0;

/// How often the bound of the run with this number, from 0, may be wrong. So the bounds of all runs of a block length hold at
/// once in 95 % of cases, whichever of them is chosen.
pub fn outside(attempt: usize) -> f64 {
    FIRST_OUTSIDE * FURTHER.powi(attempt.min(MOST_RUNS) as i32)
}

/// What is asked of the long runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// How long each plays, at least.
    pub least_s: f64,
    /// Whether it plays no longer, even if the wish for late blocks would need it.
    pub is_exact: bool,
    /// Late blocks an hour that are still good enough. `None`: a run holds if none of its blocks is late.
    pub late_per_hour: Option<f64>,
}

impl Wish {
    /// How long a run plays whose bound may be wrong so often: without a miss it can show what is asked for.
    pub fn time_s(&self, outside: f64) -> f64 {
        let needed_s =
            self.late_per_hour.map_or(0.0, |wanted| HOUR_S * poisson_most(0, outside) / wanted);
        if self.is_exact { self.least_s } else { self.least_s.max(needed_s) }
    }

    /// With so many misses a run has failed, however long it goes on.
    pub fn hopeless(&self, outside: f64) -> u64 {
        let wanted = self.late_per_hour.unwrap_or(0.0) * self.time_s(outside) / HOUR_S;
        HOPELESS + (2.0 * wanted) as u64
    }
}

/// A moment with so many channels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Probe {
    /// How many.
    pub channels: usize,
    /// Measured blocks.
    pub blocks: u64,
    /// Late ones.
    pub late: u64,
    /// Periods that passed without a block.
    pub skipped: u64,
    /// Blocks that were ready in the last tenth of their period, or late.
    pub tight: u64,
    /// When the block in the middle was ready, as a part of the period.
    pub load: f64,
}

impl Probe {
    /// Whether so many may be played for long: no miss, and 99 of 100 blocks ready in nine tenths of the period.
    pub fn holds(&self) -> bool {
        self.late + self.skipped == 0 && self.tight * 100 <= self.blocks && self.blocks > 0
    }

    /// Whether half of the blocks are late or more.
    pub fn is_overload(&self) -> bool {
        self.load >= 1.0
    }
}

/// What a long run came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Played {
    /// How many channels.
    pub channels: usize,
    /// Measured blocks.
    pub blocks: u64,
    /// Measured blocks and skipped periods times the period.
    pub played_s: f64,
    /// Whether it was played to its end.
    pub is_whole: bool,
    /// Late blocks.
    pub late: u64,
    /// Periods that passed without a block.
    pub skipped: u64,
    /// Those of both in turns in which the host took time. They count.
    pub beside_steal: u64,
    /// Turns in which the host took time.
    pub turns_with_steal: u64,
    /// All turns.
    pub turns: u64,
    /// Why blocks were late, where that is known.
    #[serde(default)]
    pub causes: Tally,
    /// Late blocks that nobody looked at.
    #[serde(default)]
    pub unexplained: u64,
    /// When 99 of 100 blocks were ready, from their planned start.
    pub ready_p99_ns: f64,
    /// The same of the last one.
    pub ready_max_ns: f64,
}

impl Played {
    /// Late blocks and skipped periods.
    pub fn misses(&self) -> u64 {
        self.late.saturating_add(self.skipped)
    }
}

/// A long run with what it shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What happened.
    pub played: Played,
    /// How often the bound may be wrong ([`outside`]).
    pub outside: f64,
    /// At most so many misses an hour. `None`: the run ended early, and then its length depends on what happened in it.
    pub at_most_an_hour: Option<f64>,
    /// Whether it is good enough.
    pub held: bool,
}

impl Run {
    /// Judges a run.
    pub fn of(played: Played, outside: f64, wish: &Wish) -> Run {
        let is_known = played.is_whole && played.played_s > 0.0;
        let most = || HOUR_S * poisson_most(played.misses(), outside) / played.played_s;
        let at_most_an_hour = is_known.then(most);
        let is_wanted =
            |most: f64| wish.late_per_hour.is_some_and(|wanted| is_within(most, wanted));
        let held = at_most_an_hour.is_some_and(|most| played.misses() == 0 || is_wanted(most));
        Run { played, outside, at_most_an_hour, held }
    }

    /// Whether it shows that at most so many blocks an hour are late.
    pub fn shows(&self, late_per_hour: f64) -> bool {
        self.at_most_an_hour.is_some_and(|most| is_within(most, late_per_hour))
    }
}

/// Beside the rounding of a run to whole blocks.
fn is_within(most: f64, wanted: f64) -> bool {
    most <= wanted * (1.0 + 1e-6)
}

/// What the runs of a block length show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict<'a> {
    /// This one is good enough.
    Holds(&'a Run),
    /// None is, and this one has the lowest bound.
    Nearest(&'a Run),
    /// None was played to its end.
    Hopeless,
}

impl Verdict<'_> {
    /// Of all runs, in order.
    pub fn of(runs: &[Run]) -> Verdict<'_> {
        if let Some(held) = runs.iter().find(|run| run.held) {
            return Verdict::Holds(held);
        }
        let bound = |run: &&Run| run.at_most_an_hour.unwrap_or(f64::INFINITY);
        let known = runs.iter().filter(|run| run.at_most_an_hour.is_some());
        known
            .min_by(|a, b| bound(a).total_cmp(&bound(b)))
            .map_or(Verdict::Hopeless, Verdict::Nearest)
    }
}

impl<'a> Verdict<'a> {
    /// The run on which it rests.
    pub fn run(self) -> Option<&'a Run> {
        match self {
            Verdict::Holds(run) | Verdict::Nearest(run) => Some(run),
            Verdict::Hopeless => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_MINUTES: Wish = Wish { least_s: 120.0, is_exact: false, late_per_hour: None };

    fn played(channels: usize, late: u64, skipped: u64) -> Played {
        Played { channels, late, skipped, played_s: 120.0, is_whole: true, ..Played::default() }
    }

    #[test]
    fn all_runs_together_are_wrong_in_five_of_a_hundred() {
        let all: f64 = (0..MOST_RUNS).map(outside).sum();
        assert!((0.0499..=0.05).contains(&all), "{all}");
    }

    #[test]
    fn late_blocks_and_skipped_periods_both_count() {
        let bound = |late, skipped| {
            Run::of(played(1, late, skipped), 0.05, &TWO_MINUTES).at_most_an_hour.unwrap()
        };
        assert!((bound(0, 0) - 3600.0 * 2.995_732 / 120.0).abs() < 1e-3, "{}", bound(0, 0));
        assert!((bound(1, 1) - 3600.0 * 6.295_794 / 120.0).abs() < 1e-3, "{}", bound(1, 1));
        assert_eq!(bound(2, 0), bound(0, 2));
        assert!(!Run::of(played(1, 0, 1), 0.05, &TWO_MINUTES).held);
    }

    #[test]
    fn a_wish_lets_some_blocks_be_late_if_the_run_is_long_enough() {
        let wish = Wish { late_per_hour: Some(200.0), ..TWO_MINUTES };
        let held = |late| Run::of(played(1, late, 0), outside(0), &wish).held;
        // At 4 %, a count of one leaves means up to 5.01 possible, two 6.60, three 8.08: 150, 198 and 242 an hour.
        assert_eq!([0, 1, 2, 3].map(held), [true, true, true, false]);
        assert!(wish.hopeless(outside(0)) > HOPELESS);
        let short = Wish { late_per_hour: Some(1.0), is_exact: true, ..TWO_MINUTES };
        let run = Run::of(played(1, 0, 0), outside(0), &short);
        assert!(
            run.held && !run.shows(1.0),
            "nothing was late, but two minutes do not show one an hour"
        );
        let long = Wish { is_exact: false, ..short };
        let played_s = long.time_s(outside(2));
        let run = Run::of(Played { played_s, ..played(1, 0, 0) }, outside(2), &long);
        assert!(run.shows(1.0), "{run:?}");
    }

    #[test]
    fn the_nearest_run_is_the_one_with_the_lowest_bound() {
        let run = |channels, late, attempt| {
            Run::of(played(channels, late, 0), outside(attempt), &TWO_MINUTES)
        };
        let runs = [run(100, 9, 0), run(95, 2, 1), run(85, 2, 2)];
        assert_eq!(Verdict::of(&runs), Verdict::Nearest(&runs[1]), "a later run has a wider bound");
        let early = Run::of(Played { is_whole: false, ..played(9, 0, 0) }, 0.04, &TWO_MINUTES);
        assert_eq!(early.at_most_an_hour, None);
        assert_eq!(Verdict::of(std::slice::from_ref(&early)), Verdict::Hopeless);
        let runs = [early, run(4, 0, 1)];
        assert_eq!(Verdict::of(&runs), Verdict::Holds(&runs[1]));
    }

    #[test]
    fn a_probe_holds_if_hardly_any_block_is_tight() {
        let probe =
            |late, skipped, tight| Probe { blocks: 300, late, skipped, tight, ..Probe::default() };
        let held =
            [(0, 0, 3), (0, 0, 4), (1, 0, 1), (0, 1, 0)].map(|(a, b, c)| probe(a, b, c).holds());
        assert_eq!(held, [true, false, false, false]);
        assert!(!Probe::default().holds(), "no block shows nothing");
    }
}
