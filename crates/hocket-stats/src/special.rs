//! The distributions that intervals and tests are read from, computed rather than tabulated.
//!
//! Accuracy: about 1e-12 for probabilities, 1e-9 for quantiles; tests/stats_tables.rs compares with
//! published tables. Formulas: Abramowitz and Stegun (1964), chapters 6 and 26.

use std::f64::consts::{PI, SQRT_2};

/// Terms of a series or fraction after which it has converged for every argument used here.
const TERMS: usize = 500;

/// How exactly a quantile is found.
const EXACT: f64 = 1e-10;

/// A number that stands for zero in a denominator (Lentz's method).
const TINY: f64 = 1e-300;

/// Logarithm of the gamma function for positive `x`: Stirling's series after moving `x` above 12.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut moved) = (x, 0.0);
    while x < 12.0 {
        moved += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let tail =
        1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + tail / x - moved
}

/// The share of the gamma distribution of shape `a` that lies above `x`.
pub(super) fn gamma_above(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 { 1.0 - front * gamma_series(a, x) } else { front * gamma_fraction(a, x) }
}

fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..TERMS {
        term *= x / (a + n as f64);
        sum += term;
        if term < sum * 1e-16 {
            break;
        }
    }
    sum
}

fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(x + 1.0 - a);
    for n in 1..TERMS {
        let n = n as f64;
        if fraction.push(-n * (n - a), x + 1.0 - a + 2.0 * n) {
            break;
        }
    }
    1.0 / fraction.value
}

/// A continued fraction `b0 + a1 / (b1 + a2 / (b2 + ..` from the front (Lentz 1976).
struct Fraction {
    value: f64,
    c: f64,
    d: f64,
}

impl Fraction {
    fn new(b0: f64) -> Self {
        let b0 = if b0 == 0.0 { TINY } else { b0 };
        Fraction { value: b0, c: b0, d: 0.0 }
    }

    /// Appends one term; true once it changed nothing.
    fn push(&mut self, a: f64, b: f64) -> bool {
        let nonzero = |x: f64| if x.abs() < TINY { TINY } else { x };
        self.d = 1.0 / nonzero(b + a * self.d);
        self.c = nonzero(b + a / self.c);
        let change = self.c * self.d;
        self.value *= change;
        (change - 1.0).abs() < 1e-15
    }
}

/// The share of the beta distribution with shapes `a` and `b` that lies below `x`.
pub(super) fn beta_below(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges fast only on this side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_below(b, a, 1.0 - x);
    }
    let front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() / (a * beta_fraction(a, b, x))
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(1.0);
    for n in 0..TERMS {
        let m = n as f64;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let m = m + 1.0;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        fraction.push(odd, 1.0);
        if fraction.push(even, 1.0) {
            break;
        }
    }
    fraction.value
}

/// The share of the standard normal distribution below `z`.
pub(super) fn normal_below(z: f64) -> f64 {
    let outside = 0.5 * gamma_above(0.5, z * z / 2.0);
    if z < 0.0 { outside } else { 1.0 - outside }
}

/// The density of the standard normal distribution.
pub(super) fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (SQRT_2 * PI.sqrt())
}

/// The share of Student's distribution that lies further from zero than `t`, both sides together.
pub(super) fn student_outside(t: f64, freedom: f64) -> f64 {
    beta_below(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// How far from zero Student's distribution leaves as much outside as the normal one does at
/// `critical`: 1.96 and 4 degrees of freedom give 2.776.
pub(super) fn student_critical(critical: f64, freedom: f64) -> f64 {
    let outside = 2.0 * normal_below(-critical.abs());
    rising(0.0, 1e6, |t| student_outside(t, freedom) <= outside)
}

/// The share of the chi-square distribution above `x`.
pub(super) fn chi_square_above(x: f64, freedom: f64) -> f64 {
    gamma_above(freedom / 2.0, x / 2.0)
}

/// The share of Fisher's F distribution above `x`.
pub(super) fn fisher_above(x: f64, above: f64, below: f64) -> f64 {
    beta_below(below / 2.0, above / 2.0, below / (below + above * x))
}

/// The share below `q` of the range of `k` standard normal figures: the studentized range with
/// infinite degrees of freedom. Simpson's rule over the smallest figure's place.
fn range_below(q: f64, k: usize) -> f64 {
    const STEPS: usize = 240;
    let width = 16.0 / STEPS as f64;
    let at = |step: usize| {
        let z = -8.0 + step as f64 * width;
        normal_density(z) * (normal_below(z + q) - normal_below(z)).powi(k as i32 - 1)
    };
    let sum: f64 = (0..=STEPS).map(|step| simpson(step, STEPS) * at(step)).sum();
    k as f64 * sum * width / 3.0
}

/// The weight of point `step` of `0..=steps` (even) in Simpson's rule.
pub(super) fn simpson(step: usize, steps: usize) -> f64 {
    match (step == 0 || step == steps, step % 2) {
        (true, _) => 1.0,
        (false, 1) => 4.0,
        (false, _) => 2.0,
    }
}

/// The quantile of the studentized range with infinite degrees of freedom that leaves `outside`
/// above it, for `k` of at least 2.
pub(super) fn range_critical(outside: f64, k: usize) -> f64 {
    rising(0.0, 50.0, |q| range_below(q, k) >= 1.0 - outside)
}

/// The place between `low` and `high` from which `reached` holds, to [`EXACT`].
pub(super) fn rising(mut low: f64, mut high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    while high - low > EXACT * (1.0 + low.abs()) {
        let middle = 0.5 * (low + high);
        if reached(middle) { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}
