//! Times of periods, counted in memory that does not grow with the length of the run.

use hocket_engine::{BlockTimes, Misses};

/// What a run of periods took. A period is one block, unless the device asks for more than a block holds.
///
/// Thread: the leader's, between blocks; allocates when made only.
pub(super) struct Meter {
    /// Blocks of all periods, and those without a deadline.
    pub blocks: u64,
    /// Blocks without a deadline, because the server freewheeled.
    pub freewheeled: u64,
    /// Output complete, after the planned start.
    pub ready: Histogram,
    /// Its blocks themselves.
    pub duration: Histogram,
    /// The leader awake, after the planned start.
    pub lateness: Histogram,
    /// Periods for which the device had nothing new to play.
    pub misses: Misses,
    /// Frames of all blocks.
    pub frames: u64,
    /// Deadlines of all periods together.
    pub deadlines_ns: u64,
    /// The highest load of a period: its time by its deadline.
    pub most_load: f64,
}

impl Meter {
    pub(super) fn new() -> Meter {
        let [ready, duration, lateness] = std::array::from_fn(|_| Histogram::new());
        let misses = Misses::default();
        Meter {
            blocks: 0,
            freewheeled: 0,
            ready,
            duration,
            lateness,
            misses,
            frames: 0,
            deadlines_ns: 0,
            most_load: 0.0,
        }
    }

    pub(super) fn note(&mut self, times: &BlockTimes) {
        self.ready.note(times.lateness_ns + times.duration_ns);
        self.duration.note(times.duration_ns);
        self.lateness.note(times.lateness_ns);
        self.misses += times.misses();
        self.frames += times.frames as u64;
        self.deadlines_ns = self.deadlines_ns.saturating_add(times.deadline_ns);
        let load = times.duration_ns as f64 / times.deadline_ns.max(1) as f64;
        self.most_load = self.most_load.max(load);
    }

    /// A block without a deadline is over.
    pub(super) fn note_freewheeled(&mut self, frames: usize) {
        self.blocks += 1;
        self.freewheeled += 1;
        self.frames += frames as u64;
    }

    /// The mean load of all periods.
    pub(super) fn mean_load(&self) -> f64 {
        let took = self.duration.mean() * self.duration.count() as f64;
        took / self.deadlines_ns.max(1) as f64
    }
}

/// Bits of a number that are kept: a class is at most a 64th of its values wide.
const KEPT_BITS: u32 = 6;
const CLASSES: usize = (64 - KEPT_BITS as usize + 1) << KEPT_BITS;

/// How often which number, in classes that grow with the number.
pub(super) struct Histogram {
    classes: Box<[u64]>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Histogram {
    fn new() -> Histogram {
        Histogram { classes: vec![0; CLASSES].into_boxed_slice(), count: 0, sum: 0, max: 0 }
    }

    fn note(&mut self, value: u64) {
        self.classes[class(value)] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The number that a `part` of all are at most; too high by a 64th at most. 0 where there is none.
    pub(super) fn quantile(&self, part: f64) -> u64 {
        let wanted = (part * self.count as f64).ceil().max(1.0) as u64;
        let mut so_far = 0;
        let class = self.classes.iter().position(|count| {
            so_far += count;
            so_far >= wanted
        });
        class.map_or(0, |class| highest(class).min(self.max))
    }
}

/// The first numbers have a class each; then every power of two has 64 classes.
fn class(value: u64) -> usize {
    let magnitude = value.checked_ilog2().unwrap_or(0).saturating_sub(KEPT_BITS);
    ((magnitude as usize) << KEPT_BITS) + (value >> magnitude) as usize
}

/// The highest number of a class.
fn highest(index: usize) -> u64 {
    let magnitude = (index >> KEPT_BITS).saturating_sub(1);
    let first = (index - (magnitude << KEPT_BITS)) as u64;
    (first << magnitude) + ((1 << magnitude) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_highest_number_and_not_the_next() {
        assert_eq!((class(0), class(u64::MAX)), (0, CLASSES - 1));
        for index in 0..CLASSES - 1 {
            assert_eq!((class(highest(index)), class(highest(index) + 1)), (index, index + 1));
        }
        for value in [1, 63, 64, 1000, 1_333_333, u64::MAX / 3] {
            let over = highest(class(value)) - value;
            assert!(over as f64 <= value as f64 / 64.0, "{value}: {over}");
        }
    }

    #[test]
    fn quantiles_are_at_most_a_class_too_high() {
        let mut all = Histogram::new();
        assert_eq!((all.quantile(0.5), all.max()), (0, 0));
        (1..=10_000).for_each(|value| all.note(value));
        for (part, exact) in [(0.5, 5_000), (0.99, 9_900), (1.0, 10_000)] {
            let found = all.quantile(part);
            assert!((exact..=exact + exact / 64).contains(&found), "{part}: {found}");
        }
        assert_eq!((all.count(), all.max(), all.mean()), (10_000, 10_000, 5000.5));
    }
}
