//! When to stop: at a width, at a limit, and without fooling oneself by looking often.
//!
//! Whoever looks after every round and stops once a difference shows will find one where there is
//! none: with ten looks at 95 % in one of five runs. Here the number of looks is fixed beforehand
//! and every interval is widened so that all of them together hold the truth in 95 % of runs.
//! These are the repeated confidence intervals of Jennison and Turnbull (1989) with the equal
//! boundaries of Pocock (1977): they hold whatever makes one stop, the difference itself included.
//! The price is 23 % of width for five looks.
//!
//! The critical value is computed for the planned looks by the recursion of Armitage, McPherson
//! and Rowe (1969), so the looks need not be evenly spaced. Limit: it is exact for a normal
//! estimate with known variance; few starts are allowed for by [`super::compare_starts`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Z_95;
use super::special::{normal_below, normal_density, rising, simpson};

/// More looks cost width and win little time.
pub const MAX_LOOKS: usize = 10;

/// Points on which the recursion holds a density; 0.0005 exact in the critical value.
const GRID: usize = 120;

/// After how many starts (or rounds) the figures are looked at, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    at: Vec<usize>,
    critical: f64,
}

impl Looks {
    /// Looks after so many starts or rounds. `None` unless there are 1 to [`MAX_LOOKS`] of them,
    /// rising, from 1 on. Cost: up to 0.1 s, so once an experiment.
    pub fn new(at: &[usize]) -> Option<Looks> {
        let rising = at.windows(2).all(|pair| pair[0] < pair[1]) && at.first() > Some(&0);
        let fits = (1..=MAX_LOOKS).contains(&at.len()) && rising;
        fits.then(|| Looks { at: at.to_vec(), critical: critical(at) })
    }

    /// At most `looks` of them from `first` to `last`, as evenly as whole numbers allow.
    pub fn spread(first: usize, last: usize, looks: usize) -> Option<Looks> {
        let gaps = looks.clamp(1, MAX_LOOKS) - 1;
        let range = last.checked_sub(first)?;
        if gaps == 0 || range == 0 {
            return Looks::new(&[last]);
        }
        let place = |look: usize| first + (range * look + gaps / 2) / gaps;
        let mut at: Vec<usize> = (0..=gaps).map(place).collect();
        at.dedup();
        Looks::new(&at)
    }

    /// After how many starts or rounds each look is taken.
    pub fn at(&self) -> &[usize] {
        &self.at
    }

    /// The normal quantile that every look's interval is made with: 1.96 for one look, 2.41 for
    /// five that are evenly spaced.
    pub fn critical(&self) -> f64 {
        self.critical
    }
}

/// What was computed already: a report asks for every ratio anew.
static KNOWN: Mutex<BTreeMap<Vec<usize>, f64>> = Mutex::new(BTreeMap::new());

fn critical(at: &[usize]) -> f64 {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(at.to_vec()).or_insert_with(|| boundary(at))
}

/// The boundary that a random walk crosses at one of the looks in 5 % of cases.
fn boundary(at: &[usize]) -> f64 {
    if at.len() == 1 {
        return Z_95;
    }
    // Two certain ends: one look needs 1.96, and ten independent ones 2.80.
    rising(1.9, 2.9, |bound| stays_inside(at, bound) >= 0.95)
}

/// The chance that the walk is inside `bound` standard deviations at every look.
fn stays_inside(at: &[usize], bound: f64) -> f64 {
    let (first, rest) = (at[0] as f64, &at[1..]);
    let mut density = Density::first(first, bound);
    let mut before = first;
    for (index, look) in rest.iter().enumerate() {
        let (now, step) = (*look as f64, *look as f64 - before);
        if index + 1 == rest.len() {
            return density.chance_inside(bound * now.sqrt(), step);
        }
        density = density.after(bound * now.sqrt(), step);
        before = now;
    }
    density.chance_inside(f64::INFINITY, 1.0)
}

/// Where the walk is, if it has stayed inside so far: values on a grid from `-reach` to `reach`.
struct Density {
    reach: f64,
    values: Vec<f64>,
}

impl Density {
    fn first(variance: f64, bound: f64) -> Self {
        let deviation = variance.sqrt();
        let reach = bound * deviation;
        let value = |place: usize| normal_density(at(place, reach) / deviation) / deviation;
        Density { reach, values: (0..=GRID).map(value).collect() }
    }

    /// After one more step of variance `step`, inside `reach` again.
    fn after(&self, reach: f64, step: f64) -> Self {
        let deviation = step.sqrt();
        let value = |place: usize| {
            let here = at(place, reach);
            self.integral(|there| normal_density((here - there) / deviation) / deviation)
        };
        Density { reach, values: (0..=GRID).map(value).collect() }
    }

    /// The chance to be inside `reach` after one more step.
    fn chance_inside(&self, reach: f64, step: f64) -> f64 {
        let deviation = step.sqrt();
        self.integral(|there| {
            normal_below((reach - there) / deviation) - normal_below((-reach - there) / deviation)
        })
    }

    /// Simpson's rule over the density times `factor`.
    fn integral(&self, factor: impl Fn(f64) -> f64) -> f64 {
        let term = |(place, value): (usize, &f64)| {
            simpson(place, GRID) * value * factor(at(place, self.reach))
        };
        let width = 2.0 * self.reach / GRID as f64;
        self.values.iter().enumerate().map(term).sum::<f64>() * width / 3.0
    }
}

fn at(place: usize, reach: f64) -> f64 {
    reach * (2.0 * place as f64 / GRID as f64 - 1.0)
}
