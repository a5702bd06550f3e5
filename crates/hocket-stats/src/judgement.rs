//! Whether a difference is shown: nothing else says so.
//!
//! Beside everything that is compared, the reference is measured against itself (an A/A run) with the
//! same design. Any difference it shows is false; what is not larger cannot be told from it,
//! however narrow an interval claims to be.

use super::{Interval, MIN_STARTS, StartComparison};

/// The smallest difference that may be called shown, on the logarithmic scale (0.01 is about 1 %): the farther
/// end of the interval of the same thing measured twice. `None` where the interval does not cover how starts
/// differ, or has an end that is no number.
pub fn floor(twins: &StartComparison) -> Option<f64> {
    let interval = twins.interval()?;
    let ends = [interval.low, interval.high].map(|end| end.ln().abs());
    ends.iter().all(|end| end.is_finite()).then(|| ends[0].max(ends[1]))
}

/// What commands say that have one process start by design.
pub const ONE_START: &str = "one process start: ratios and their 95 % intervals are those of this run; no difference is shown by them";

/// What may be said about a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The interval leaves one out, and the difference is larger than the floor.
    Shown(Direction),
    /// The interval excludes one, but the same code differs from itself as much.
    BelowFloor,
    /// The interval holds one: a difference may exist, but this run does not show it.
    NotShown,
    /// The level of the ratio changes to the end of most process starts.
    Unsteady,
    /// Too few rounds for an interval, of the candidate or of the A/A run, or figures that are no numbers.
    TooFew,
    /// Too few process starts: a difference may be that of their memory layout.
    TooFewStarts,
    /// Something was computed wrongly, so no figure is to be believed.
    Wrong,
}

/// Which way a difference goes. Only [`judge`] makes one, so a value of this type is proof that the difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    is_less: bool,
}

impl Judgement {
    /// In words, for tables; figures are times.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::Shown(Direction { is_less: true }) => "faster",
            Judgement::Shown(Direction { is_less: false }) => "slower",
            Judgement::BelowFloor => "within the noise",
            Judgement::NotShown => "no difference shown",
            Judgement::Unsteady => "no steady state",
            Judgement::TooFew => "too few rounds",
            Judgement::TooFewStarts => "too few starts",
            Judgement::Wrong => "wrong result",
        }
    }

    /// Whether a difference was shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Judgement::Shown(_))
    }

    /// Whether the candidate's figure is shown to be smaller: for times, that it is faster.
    pub fn is_less(self) -> bool {
        matches!(self, Judgement::Shown(Direction { is_less: true }))
    }

    /// Whether the candidate's figure is shown to be larger.
    pub fn is_more(self) -> bool {
        matches!(self, Judgement::Shown(Direction { is_less: false }))
    }

    /// Whether the run was long enough to judge at all.
    pub fn is_decided(self) -> bool {
        !matches!(self, Judgement::TooFew | Judgement::TooFewStarts)
    }
}

/// What is known of a ratio besides its interval.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// The machine's [`floor`]; `None` where nothing was measured twice.
    pub floor: Option<f64>,
    /// Process starts that have rounds of both sides.
    pub starts: usize,
    /// How many of them a verdict needs; never fewer than [`MIN_STARTS`].
    pub enough: usize,
    /// Whether most starts came to no steady ratio.
    pub unsteady: bool,
    /// Whether something was computed wrongly.
    pub wrong: bool,
}

/// What a ratio with this interval shows. Below one the candidate's figure is smaller.
pub fn judge(ratio: f64, interval: Option<Interval>, evidence: Evidence) -> Judgement {
    let Evidence { floor, starts, enough, unsteady, wrong } = evidence;
    // Every comparison with what is not a number is false, and would end in the last arm.
    let is_known = |(interval, floor): &(Interval, f64)| {
        ratio > 0.0 && [ratio, interval.low, interval.high, *floor].into_iter().all(f64::is_finite)
    };
    match interval.zip(floor).filter(is_known) {
        _ if wrong => Judgement::Wrong,
        _ if starts < enough.max(MIN_STARTS) => Judgement::TooFewStarts,
        None => Judgement::TooFew,
        _ if unsteady => Judgement::Unsteady,
        Some((interval, _)) if interval.contains(1.0) => Judgement::NotShown,
        Some((_, floor)) if ratio.ln().abs() <= floor => Judgement::BelowFloor,
        Some(_) => Judgement::Shown(Direction { is_less: ratio < 1.0 }),
    }
}

impl StartComparison {
    /// What it shows on a machine with this floor; see [`Evidence`].
    pub fn judged(&self, floor: Option<f64>, enough: usize, wrong: bool) -> Judgement {
        let StartComparison { comparison, starts, unsteady, .. } = *self;
        let evidence = Evidence { floor, starts, enough, unsteady, wrong };
        judge(comparison.ratio, comparison.interval, evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIDENCE: Evidence =
        Evidence { floor: Some(0.01), starts: 5, enough: 5, unsteady: false, wrong: false };

    fn check(ratio: f64, (low, high): (f64, f64), floor: f64, expected: Judgement) {
        let evidence = Evidence { floor: Some(floor), ..EVIDENCE };
        let judged = judge(ratio, Some(Interval { low, high }), evidence);
        assert_eq!(judged, expected, "{ratio} [{low}, {high}], floor {floor}");
    }

    #[test]
    fn what_is_not_a_finite_number_shows_nothing() {
        const NONE: f64 = f64::NAN;
        const ENDLESS: f64 = f64::INFINITY;
        check(1.1, (1.05, 1.15), 0.01, Judgement::Shown(Direction { is_less: false }));
        for (ratio, ends, floor) in [
            (NONE, (1.05, 1.15), 0.01),
            (ENDLESS, (1.05, 1.15), 0.01),
            (0.0, (1.05, 1.15), 0.01),
            (-1.1, (1.05, 1.15), 0.01),
            (1.1, (NONE, 1.15), 0.01),
            (1.1, (1.05, NONE), 0.01),
            (1.1, (1.05, ENDLESS), 0.01),
            (1.1, (1.05, 1.15), NONE),
            (1.1, (1.05, 1.15), ENDLESS),
        ] {
            check(ratio, ends, floor, Judgement::TooFew);
        }
    }
}
