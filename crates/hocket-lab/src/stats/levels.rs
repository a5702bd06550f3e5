//! Where the variance comes from: iterations, rounds or process starts.
//!
//! Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013: the variance of the
//! means at each level holds, divided by the number of repetitions, that of the level below; taking
//! that off leaves what the level itself adds, and tells what to repeat more often.

/// Variance by level of repetition, in squares of the figures' unit (relative, if the figures are
/// logarithms).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// What one iteration adds.
    pub iteration: f64,
    /// What one round adds beyond its iterations.
    pub round: f64,
    /// What one process start adds beyond its rounds.
    pub start: f64,
}

impl Levels {
    /// The shares of iteration, round and start; they sum to one, or are zero where nothing varied.
    pub fn shares(&self) -> [f64; 3] {
        let all = self.iteration + self.round + self.start;
        [self.iteration, self.round, self.start]
            .map(|part| if all > 0.0 { part / all } else { 0.0 })
    }

    /// How many iterations a round and rounds a start give the narrowest interval for a given
    /// time, where one round costs `round_cost` iterations to set up and one start `start_cost`
    /// rounds (equation 3 of the paper). `None` for a level that adds nothing: it need not be
    /// repeated for its own sake, so as many of the level below as fit do best.
    pub fn repetitions(&self, round_cost: f64, start_cost: f64) -> (Option<usize>, Option<usize>) {
        let best = |cost: f64, below: f64, own: f64| {
            (own > 0.0).then(|| ((cost * below / own).sqrt().ceil() as usize).max(1))
        };
        (best(round_cost, self.iteration, self.round), best(start_cost, self.round, self.start))
    }
}

/// The parts of the variance of `figures[start][round][iteration]`.
///
/// A part that comes out negative, which chance does where a level adds little, is zero. Uneven
/// numbers of repetitions are allowed. `None` unless some round has two figures, some start two
/// rounds, and there are two starts. O(figures).
pub fn levels(figures: &[Vec<Vec<f64>>]) -> Option<Levels> {
    let starts: Vec<Group> = figures.iter().filter_map(|start| Group::of_rounds(start)).collect();
    let iteration = average(starts.iter().filter_map(|start| start.iteration))?;
    let rounds = average(starts.iter().filter_map(|start| start.variance))?;
    let all = variance(&starts.iter().map(|start| start.mean).collect::<Vec<_>>())?;
    let below_rounds = average(starts.iter().map(|start| iteration * start.inverse))?;
    let below_starts = average(starts.iter().map(|start| rounds / start.count))?;
    Some(Levels {
        iteration,
        round: (rounds - below_rounds).max(0.0),
        start: (all - below_starts).max(0.0),
    })
}

/// One start.
struct Group {
    /// The mean of its rounds' means.
    mean: f64,
    /// The variance of its rounds' means, if it has two.
    variance: Option<f64>,
    /// The mean variance within its rounds, if one has two iterations.
    iteration: Option<f64>,
    /// How many rounds.
    count: f64,
    /// The mean over the rounds of one by their number of iterations.
    inverse: f64,
}

impl Group {
    fn of_rounds(rounds: &[Vec<f64>]) -> Option<Group> {
        let rounds: Vec<&Vec<f64>> = rounds.iter().filter(|round| !round.is_empty()).collect();
        let means: Vec<f64> =
            rounds.iter().filter_map(|round| average(round.iter().copied())).collect();
        Some(Group {
            mean: average(means.iter().copied())?,
            variance: variance(&means),
            iteration: average(rounds.iter().filter_map(|round| variance(round))),
            count: rounds.len() as f64,
            inverse: average(rounds.iter().map(|round| 1.0 / round.len() as f64))?,
        })
    }
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The unbiased variance of two or more figures.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = average(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}
