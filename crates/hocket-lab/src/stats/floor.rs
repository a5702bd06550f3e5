//! What this machine cannot show today, and the judgement that respects it.
//!
//! Beside everything that is compared, the reference is measured against itself (an A/A run) with the
//! same design. Any difference it shows is false; what is not larger cannot be told from it,
//! however narrow an interval claims to be.

use super::StartComparison;

/// The smallest difference that may be called shown, on the logarithmic scale (0.01 is about 1 %): the farther
/// end of the interval of the same thing measured twice. `None` where the interval does not cover how starts
/// differ.
pub fn floor(twins: &StartComparison) -> Option<f64> {
    let interval = twins.interval()?;
    Some(interval.low.ln().abs().max(interval.high.ln().abs()))
}

/// What may be said about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The interval lies below one and the difference is larger than the floor.
    ShownFaster,
    /// The interval lies above one and the difference is larger than the floor.
    ShownSlower,
    /// The interval excludes one, but the same code differs from itself as much.
    BelowFloor,
    /// The interval holds one: a difference may exist, but this run does not show it.
    NotShown,
    /// Too few rounds for an interval, of the candidate or of the A/A run.
    TooFew,
    /// Fewer than [`super::MIN_STARTS`] process starts: a difference may be that of their memory layout.
    TooFewStarts,
}

impl Judgement {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::ShownFaster => "faster",
            Judgement::ShownSlower => "slower",
            Judgement::BelowFloor => "within the noise",
            Judgement::NotShown => "no difference shown",
            Judgement::TooFew => "too few rounds",
            Judgement::TooFewStarts => "too few starts",
        }
    }

    /// Whether a difference was shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Judgement::ShownFaster | Judgement::ShownSlower)
    }
}

/// What a comparison shows on a machine with this [`floor`]; nothing without one. Below one is faster, as
/// in [`super::Comparison::ratio`]: the figures are times.
pub fn judge(compared: &StartComparison, floor: Option<f64>) -> Judgement {
    let StartComparison { comparison, covers_starts, .. } = compared;
    if !covers_starts {
        return Judgement::TooFewStarts;
    }
    let (Some(interval), Some(floor)) = (comparison.interval, floor) else {
        return Judgement::TooFew;
    };
    let size = comparison.ratio.ln().abs();
    match (interval.contains(1.0), size > floor) {
        (true, _) => Judgement::NotShown,
        (false, false) => Judgement::BelowFloor,
        (false, true) if comparison.ratio < 1.0 => Judgement::ShownFaster,
        (false, true) => Judgement::ShownSlower,
    }
}
