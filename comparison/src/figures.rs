//! What the samples of a cell show.

use hocket_lab::stats::{Comparison, Summary, compare, median};

use crate::executor::Who;
use crate::measure::{Cell, Samples};

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
    /// Hocket's time / this one's; `None` where it is no rival.
    pub hocket_ratio: Option<Comparison>,
    /// The same of `auto`; for everybody else, the serial walks among them.
    pub auto_ratio: Option<Comparison>,
}

impl Cell {
    /// The figures of everybody, in the order of [`Who::ALL`].
    pub fn figures(&self) -> Vec<Figures> {
        self.runs.iter().map(|run| self.figures_of(run)).collect()
    }

    fn figures_of(&self, run: &Samples) -> Figures {
        let who = run.who;
        let own = stretches(run);
        let share = |ns: f64| ns / self.workers as f64;
        let serial = || Some(self.stretches(Who::Serial)?.into_iter().map(share).collect());
        let serial: Option<Vec<f64>> = (who != Who::Serial).then(serial).flatten();
        let hocket = who.is_rival().then(|| self.stretches(Who::Hocket)).flatten();
        let auto = (who != Who::HocketAuto).then(|| self.stretches(Who::HocketAuto)).flatten();
        let of_own = |other: Vec<f64>| compare(&own, &other, SEED);
        Figures {
            who,
            times_ns: Summary::of(run.block_ns.iter().map(|ns| *ns as i64)),
            efficiency: serial.and_then(of_own),
            hocket_ratio: hocket.and_then(of_own),
            auto_ratio: auto.and_then(of_own),
        }
    }

    fn stretches(&self, who: Who) -> Option<Vec<f64>> {
        self.runs.iter().find(|run| run.who == who).map(stretches)
    }
}

/// Medians of stretches; those of all executors cover the same groups of the run.
fn stretches(run: &Samples) -> Vec<f64> {
    run.block_ns.chunks(STRETCH).filter_map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idle::Looks;
    use crate::measure::Mode;

    /// 400 blocks of these times, with a slow drift that all share.
    fn cell(times_ns: [(Who, f64); 4]) -> Cell {
        let drift = |block: usize| 1.0 + block as f64 / 400.0;
        let samples = |(who, ns): (Who, f64)| Samples {
            who,
            block_ns: (0..400).map(|block| ns * drift(block)).collect(),
            came: Vec::new(),
            chose: None,
            between: Looks::default(),
            periods: 1,
        };
        Cell {
            graph: "made up",
            mode: Mode::Paced,
            workers: 2,
            runs: times_ns.map(samples).to_vec(),
            threads: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_taken_where_the_drift_cancels() {
        let times_ns = [
            (Who::Serial, 400_000.0),
            (Who::TbbFlow, 250_000.0),
            (Who::Hocket, 200_000.0),
            (Who::HocketAuto, 300_000.0),
        ];
        let [serial, tbb, hocket, auto] = cell(times_ns).figures().try_into().unwrap();
        let near = |c: Option<Comparison>, expected: f64| {
            let c = c.unwrap();
            let interval = c.interval.unwrap();
            assert!((c.ratio - expected).abs() < 1e-9, "{c:?}");
            assert!(interval.high - interval.low < 1e-9, "{c:?}");
        };
        near(tbb.efficiency, 0.8);
        near(tbb.hocket_ratio, 0.8);
        near(hocket.efficiency, 1.0);
        near(serial.auto_ratio, 0.75);
        near(tbb.auto_ratio, 1.2);
        assert!(hocket.hocket_ratio.is_none() && serial.efficiency.is_none());
        assert!(auto.hocket_ratio.is_none() && auto.auto_ratio.is_none());
    }
}
