//! What the samples of a cell show.

use hocket_lab::stats::{Comparison, Summary, compare, median};

use crate::executor::Who;
use crate::measure::Cell;

/// Consecutive blocks whose median is one observation of a ratio.
const STRETCH: usize = 50;
/// Of the bootstrap: same samples, same interval.
const SEED: u64 = 1;

/// What one executor's samples show.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Who.
    pub who: Who,
    /// Block times in nanoseconds.
    pub times_ns: Option<Summary>,
    /// (serial / workers) / time, from stretch to stretch; `None` for the serial walk.
    pub efficiency: Option<Comparison>,
    /// Hocket's time / this one's; `None` for Hocket itself and the serial walk.
    pub hocket_ratio: Option<Comparison>,
}

impl Cell {
    /// The figures of one executor.
    pub fn figures(&self, who: Who) -> Figures {
        let own = self.stretches(who);
        let share: Vec<f64> =
            self.stretches(Who::Serial).iter().map(|ns| ns / self.workers as f64).collect();
        let is_rayon = matches!(who, Who::Levels | Who::Scope);
        Figures {
            who,
            times_ns: Summary::of(self.samples_ns[who as usize].iter().map(|ns| *ns as i64)),
            efficiency: (who != Who::Serial).then(|| compare(&own, &share, SEED)).flatten(),
            hocket_ratio: is_rayon
                .then(|| compare(&own, &self.stretches(Who::Hocket), SEED))
                .flatten(),
        }
    }

    /// Medians of stretches; those of all executors cover the same groups of the run.
    fn stretches(&self, who: Who) -> Vec<f64> {
        self.samples_ns[who as usize].chunks(STRETCH).filter_map(median).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Mode;

    /// 400 blocks of these times, with a slow drift that all share.
    fn cell(times_ns: [f64; 4]) -> Cell {
        let drift = |block: usize| 1.0 + block as f64 / 400.0;
        Cell {
            graph: "made up",
            mode: Mode::Paced,
            workers: 2,
            samples_ns: times_ns.map(|ns| (0..400).map(|block| ns * drift(block)).collect()),
            threads: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_taken_where_the_drift_cancels() {
        let cell = cell([400_000.0, 250_000.0, 320_000.0, 200_000.0]);
        let near = |c: Option<Comparison>, expected: f64| {
            let c = c.unwrap();
            let interval = c.interval.unwrap();
            assert!((c.ratio - expected).abs() < 1e-9, "{c:?}");
            assert!(interval.high - interval.low < 1e-9, "{c:?}");
        };
        near(cell.figures(Who::Levels).efficiency, 0.8);
        near(cell.figures(Who::Levels).hocket_ratio, 0.8);
        near(cell.figures(Who::Scope).hocket_ratio, 0.625);
        near(cell.figures(Who::Hocket).efficiency, 1.0);
        assert!(cell.figures(Who::Hocket).hocket_ratio.is_none());
        assert!(cell.figures(Who::Serial).efficiency.is_none());
    }
}
