//! What a circumstance costs that changes by itself from round to round.
//!
//! No round has a variant under both circumstances, so rounds are matched: each one under the rarer circumstance with the
//! nearest one of the same process start under the other. A figure counts as its ratio to that of a yardstick in the same
//! round, so that what changes for both drops out. The judgement is that of every other ratio ([`super::Results::judged`]).

use std::collections::{BTreeMap, BTreeSet};

use super::results::{ContrastResult, Paired, Results, Row};
use super::twin_of;
use crate::stats;

/// Rounds: process start and number.
pub type RoundSet = BTreeSet<(u32, u32)>;

/// Pairs of rounds of one process start.
type Matches = BTreeMap<u32, Vec<[u32; 2]>>;

/// A variant, and what it is measured by in the same round.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// A variant to which the circumstance makes no difference, with a twin.
    pub yardstick: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// In which metric.
    pub metric: &'a str,
}

/// Rounds under one circumstance, the reference, and under another.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// What the others are compared with.
    pub reference: (&'a str, &'a RoundSet),
    /// What is compared.
    pub candidate: (&'a str, &'a RoundSet),
}

/// Figures of one variant, round by round.
type Figures = BTreeMap<(u32, u32), f64>;

impl Results {
    /// What a variant's figure in rounds under the one circumstance is to that in rounds under the other, as one of `of`
    /// ratios that hold at once. The floor is the larger one of the yardstick's and that of the same pairs of rounds with the
    /// yardstick's twin in the variant's place: so rounds that are matched badly show nothing.
    pub fn judged_by_circumstance(
        &self,
        subject: Subject<'_>,
        under: Circumstances<'_>,
        of: usize,
    ) -> ContrastResult {
        let Subject { yardstick, variant, metric } = subject;
        let named = |circumstance: &str| format!("{variant}, {circumstance}");
        let names = [named(under.reference.0), named(under.candidate.0)];
        let measure = self.by_round(yardstick, metric);
        let relative = |name: &str| relative(self.by_round(name, metric), &measure);
        let figures = relative(variant);
        let matches = matched(&figures, [under.reference.1, under.candidate.1]);
        let judged = |figures: &Figures| {
            let (before, after) = paired(figures, &matches);
            self.compared(before, after, of)
        };
        let placebo = judged(&relative(&twin_of(yardstick)));
        let matching = placebo.and_then(|it| stats::floor(&it)).map(f64::exp_m1);
        // Without a placebo nobody knows what the matching alone makes.
        let floor = matching.zip(self.floor(yardstick, metric)).map(|(a, b)| a.max(b));
        let compared = judged(&figures);
        self.result_above([&names[0], &names[1]], metric, [compared, compared], floor)
    }

    /// As [`Results::judged_of`] in some rounds alone.
    pub fn judged_in(
        &self,
        rounds: &RoundSet,
        [reference, candidate]: [&str; 2],
        metric: &str,
        of: usize,
    ) -> ContrastResult {
        let [before, mut after] = [reference, candidate].map(|name| self.by_round(name, metric));
        let mut starts: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (at, value) in before.into_iter().filter(|(at, _)| rounds.contains(at)) {
            if let Some(other) = after.remove(&at) {
                let (all, own) = starts.entry(at.0).or_default();
                all.push(value);
                own.push(other);
            }
        }
        let (before, after) = starts.into_values().unzip();
        let compared = self.compared(before, after, of);
        // Of all rounds: the twin is the same whatever the circumstance.
        let floor = self.floor_between([reference, candidate], metric);
        self.result_above([reference, candidate], metric, [compared, compared], floor)
    }

    fn by_round(&self, variant: &str, metric: &str) -> Figures {
        let at = |row: &Row| ((row.process, row.round), row.sample.value);
        self.rows_of(variant, metric).map(at).collect()
    }
}

/// Each figure divided by that of the same round, where both are.
fn relative(figures: Figures, by: &Figures) -> Figures {
    let one = |(at, value): ((u32, u32), f64)| Some((at, value / by.get(&at)?));
    figures.into_iter().filter_map(one).collect()
}

/// The pairs of rounds, in time's order; each round is in one at most.
fn matched(figures: &Figures, circumstances: [&RoundSet; 2]) -> Matches {
    let mut starts: BTreeMap<u32, [Vec<u32>; 2]> = BTreeMap::new();
    for (process, round) in figures.keys() {
        for (side, rounds) in circumstances.iter().enumerate() {
            if rounds.contains(&(*process, *round)) {
                starts.entry(*process).or_default()[side].push(*round);
            }
        }
    }
    starts.into_iter().map(|(process, sides)| (process, nearest(sides))).collect()
}

fn nearest([reference, candidate]: [Vec<u32>; 2]) -> Vec<[u32; 2]> {
    let turned = candidate.len() > reference.len();
    let (rare, mut other) = if turned { (reference, candidate) } else { (candidate, reference) };
    let pair = |round: u32| {
        let at = (0..other.len()).min_by_key(|at| other[*at].abs_diff(round))?;
        let found = other.remove(at);
        Some(if turned { [round, found] } else { [found, round] })
    };
    rare.into_iter().filter_map(pair).collect()
}

/// The figures of both sides, `[start][pair]`, where the figures have both rounds.
fn paired(figures: &Figures, matches: &Matches) -> Paired {
    let of_start = |(process, pairs): (&u32, &Vec<[u32; 2]>)| -> (Vec<f64>, Vec<f64>) {
        let both = |[a, b]: &[u32; 2]| {
            Some((*figures.get(&(*process, *a))?, *figures.get(&(*process, *b))?))
        };
        pairs.iter().filter_map(both).unzip()
    };
    let starts = matches.iter().map(of_start).filter(|(before, _)| !before.is_empty());
    starts.unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rare_round_is_matched_with_the_nearest_and_no_round_twice() {
        let pairs = nearest([vec![0, 1, 2, 6, 7, 8], vec![3, 5]]);
        assert_eq!(pairs, [[2, 3], [6, 5]]);
        assert_eq!(nearest([vec![3, 5], vec![0, 1, 2, 6]]), [[3, 2], [5, 6]]);
        assert!(nearest([vec![], vec![1]]).is_empty());
    }

    #[test]
    fn rounds_of_different_starts_are_never_matched() {
        let figures: Figures = [((0, 0), 1.0), ((0, 1), 2.0), ((1, 0), 3.0)].into();
        let (one, other) = (RoundSet::from([(0, 0)]), RoundSet::from([(0, 1), (1, 0)]));
        let matches = matched(&figures, [&one, &other]);
        assert_eq!(paired(&figures, &matches), (vec![vec![1.0]], vec![vec![2.0]]));
    }
}
