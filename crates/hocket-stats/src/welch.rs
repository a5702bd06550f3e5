//! Two groups of starts that have nothing in common.

use super::special::student_critical;
use super::{Class, Evidence, Interval, Judgement, MIN_STARTS, all_at_once, judge, median, steady};

/// Levels of a start's figures that differ by less count as one.
const LEVELS_ALIKE: f64 = 0.02;

/// A figure of each process start of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    /// The median of each start's rounds, from the round on at which it came to its last level.
    pub figures: Vec<f64>,
    /// Whether most starts came to none.
    pub unsteady: bool,
}

impl Starts {
    /// Of the rounds of each start, `[start][round]`, in their order. A start that came to no level stays whole, as one of
    /// too few rounds to tell does; one without rounds is left out.
    pub fn of(starts: &[Vec<f64>]) -> Starts {
        let (mut figures, mut restless) = (Vec::new(), 0);
        for rounds in starts {
            let series = steady(rounds, LEVELS_ALIKE);
            restless += usize::from(series.class == Class::NoSteadyState);
            figures.extend(median(&rounds[series.steady_from().unwrap_or(0)..]));
        }
        Starts { figures, unsteady: restless * 2 > starts.len() }
    }

    /// The geometric mean; `None` without a start.
    pub fn mean(&self) -> Option<f64> {
        Some(mean(&logs(&self.figures))?.exp())
    }
}

/// How much runs of the same program differ, on the logarithmic scale; `None` for fewer than two. Each run counts once, by
/// the mean of its starts: clock, heat and neighbours may be the same for all starts of a run, and then no start tells
/// what the next run would.
///
/// It is the largest difference between two of them. From [`MIN_STARTS`] runs on it is at least as much as the next run may
/// be from their mean: Student's prediction interval, which holds at `critical`.
pub fn between_runs(runs: &[f64], critical: f64) -> Option<f64> {
    if runs.len() < 2 {
        return None;
    }
    let logs = logs(runs);
    if !logs.iter().all(|log| log.is_finite()) {
        return Some(f64::INFINITY);
    }
    let end = |far: fn(f64, f64) -> f64| logs.iter().copied().reduce(far).unwrap_or(0.0);
    let largest = end(f64::max) - end(f64::min);
    let next = Group::of(&logs).map(|it| {
        // The mean's own variance, and that of one run more.
        let variance = it.variance * (it.freedom + 2.0);
        student_critical(critical, it.freedom) * variance.sqrt()
    });
    Some(largest.max(next.unwrap_or(0.0)))
}

/// A figure of one run against the same figure of another.
///
/// Rounds of different runs have nothing in common, so nothing is paired and nothing that differs between the runs
/// (load, clock, kernel, machine) cancels. What varies most is the process start, so each start counts once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpaired {
    /// The first: the geometric mean over its process starts of their figures.
    pub before: f64,
    /// The second.
    pub after: f64,
    /// Second divided by first.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than [`MIN_STARTS`] process starts in either, with figures that are not
    /// above zero and finite, or where all starts agree to the last digit with each other but not with the other run.
    pub interval: Option<Interval>,
    /// Process starts of the run that has fewer.
    pub starts: usize,
    /// Whether most starts of a run came to no level ([`Starts`]). The figures of starts alone do not show it.
    pub unsteady: bool,
}

impl Unpaired {
    /// Compares a figure of each process start of two runs, as one of `of` comparisons whose intervals hold all at
    /// once. `None` where either has none.
    pub fn of(before: &[f64], after: &[f64], of: usize) -> Option<Unpaired> {
        let starts = before.len().min(after.len());
        let whole = |before: f64, after: f64, interval| Unpaired {
            before,
            after,
            ratio: after / before,
            interval,
            starts,
            unsteady: false,
        };
        let is_known = |figure: &f64| figure.is_finite() && *figure > 0.0;
        if !before.iter().chain(after).all(is_known) {
            return Some(whole(median(before)?, median(after)?, None));
        }
        let (a, b) = (logs(before), logs(after));
        let interval = welch(&a, &b, all_at_once(of))
            .map(|apart| Interval { low: apart.low.exp(), high: apart.high.exp() });
        Some(whole(mean(&a)?.exp(), mean(&b)?.exp(), interval))
    }

    /// What it shows on machines where the same differs from itself by up to `floor` on the logarithmic scale, if a
    /// verdict needs `enough` process starts.
    pub fn judged(&self, floor: Option<f64>, enough: usize) -> Judgement {
        self.judged_beyond(1.0, floor, enough)
    }

    /// The same against a ratio of `bound` instead of one: whether it is shown to be more than that, or less.
    pub fn judged_beyond(&self, bound: f64, floor: Option<f64>, enough: usize) -> Judgement {
        let Unpaired { ratio, interval, starts, unsteady, .. } = *self;
        let interval = interval.map(|it| Interval { low: it.low / bound, high: it.high / bound });
        let evidence = Evidence { floor, starts, enough, unsteady, wrong: false };
        judge(ratio / bound, interval, evidence)
    }
}

fn logs(figures: &[f64]) -> Vec<f64> {
    figures.iter().map(|figure| figure.ln()).collect()
}

fn mean(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// How far two means are apart, second less first: the interval of Welch (1947). The groups may differ in spread and
/// number. `None` with fewer than [`MIN_STARTS`] figures in either group, or where no group has a spread although they
/// are apart: what is so exact is a count or a coarse clock, and says nothing about the next start.
///
/// A bootstrap of three starts has ten different outcomes, none of which knows that three points say little about a
/// spread: it misses the truth in more than one of ten cases.
fn welch(first: &[f64], second: &[f64], critical: f64) -> Option<Interval> {
    let (a, b) = (Group::of(first)?, Group::of(second)?);
    let variance = a.variance + b.variance;
    let apart = b.mean - a.mean;
    if variance <= 0.0 {
        return (apart == 0.0).then_some(Interval { low: apart, high: apart });
    }
    // Satterthwaite's degrees of freedom.
    let freedom =
        variance.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    let half = student_critical(critical, freedom) * variance.sqrt();
    Some(Interval { low: apart - half, high: apart + half })
}

/// A mean with its variance.
struct Group {
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl Group {
    fn of(figures: &[f64]) -> Option<Group> {
        let (n, first) = (figures.len() as f64, *figures.first()?);
        // The mean of equal figures may be off by a rounding, which is no spread.
        let alike = figures.iter().all(|figure| *figure == first);
        let mean = if alike { first } else { mean(figures)? };
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let enough = figures.len() >= MIN_STARTS;
        enough.then_some(Group { mean, variance: squares / (n - 1.0) / n, freedom: n - 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Z_95;

    fn check(before: &[f64], after: &[f64], expected: Judgement) {
        let compared = Unpaired::of(before, after, 1).expect("both have starts");
        assert_eq!(compared.judged(Some(0.001), 5), expected, "{before:?} {after:?}");
    }

    #[test]
    fn figures_that_are_no_numbers_are_not_judged() {
        let before = [1.00, 1.01, 0.99, 1.02, 0.98];
        let after = before.map(|figure| figure * 1.5);
        assert!(Unpaired::of(&before, &after, 1).unwrap().judged(Some(0.001), 5).is_more());
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let mut after = after;
            after[2] = bad;
            check(&before, &after, Judgement::TooFew);
            check(&after, &before, Judgement::TooFew);
        }
    }

    #[test]
    fn starts_without_any_spread_are_too_few_to_tell() {
        check(&[3.0; 5], &[3.0; 5], Judgement::NotShown);
        check(&[3.0; 5], &[4.0; 5], Judgement::TooFew);
    }

    #[test]
    fn a_bound_is_judged_and_not_only_passed() {
        let before = [1.00, 1.01, 0.99, 1.02, 0.98];
        // 6 % more, known to some 2 %: shown to be more, and not shown to be more than 5 %.
        let compared = Unpaired::of(&before, &before.map(|figure| figure * 1.06), 1).unwrap();
        assert!(compared.judged(Some(0.001), 5).is_more());
        assert!(!compared.judged_beyond(1.05, Some(0.001), 5).is_shown());
        assert!(compared.judged_beyond(1.01, Some(0.001), 5).is_more());
        assert!(compared.judged_beyond(1.20, Some(0.001), 5).is_less());
        assert!(!compared.judged_beyond(0.0, Some(0.001), 5).is_shown());
    }

    #[test]
    fn a_start_counts_from_its_last_level_on() {
        let series = |tail: usize| {
            let level = |round: usize| if round < 20 - tail { 150.0 } else { 100.0 };
            (0..20).map(|round| level(round) + (round % 3) as f64 * 0.1).collect::<Vec<f64>>()
        };
        let settled = Starts::of(&[series(12), series(12), series(8)]);
        assert!((settled.figures[0] - 100.0).abs() < 0.5, "{settled:?}");
        assert_eq!((settled.figures.len(), settled.unsteady), (3, false));
        assert!(Starts::of(&[series(8), series(8), series(12)]).unsteady);
        let short = Starts::of(&[vec![1.0, 9.0, 2.0], Vec::new()]);
        assert_eq!(short, Starts { figures: vec![2.0], unsteady: false });
    }

    #[test]
    fn runs_of_one_program_differ_by_what_the_next_may() {
        let of = |runs: &[f64]| between_runs(runs, Z_95);
        assert_eq!(of(&[1.0]), None);
        assert!((of(&[1.0, 1.02]).unwrap() - 1.02f64.ln()).abs() < 1e-12);
        // 4.303 is Student's factor of two degrees of freedom; the deviation of these three is 0.01.
        let three = [-0.01f64, 0.0, 0.01].map(f64::exp);
        assert!((of(&three).unwrap() - 4.303 * 0.01 * (4.0f64 / 3.0).sqrt()).abs() < 1e-4);
        assert_eq!(of(&[1.0, f64::NAN]), Some(f64::INFINITY));
    }
}
