//! More than two variants over many cases: which are better in general?
//!
//! Every case ranks the variants; Friedman's test (1937) says whether the mean ranks differ more
//! than chance, in the sharper form of Iman and Davenport (1980); the critical difference of Nemenyi
//! (1963) says which of them do. The procedure of Demsar, "Statistical comparisons of classifiers
//! over multiple data sets", JMLR 7 (2006). Limits: cases count alike, whatever the size of their
//! differences; and with few cases nothing can be told apart.

use std::f64::consts::SQRT_2;

use super::special::{chi_square_above, fisher_above, range_critical};

/// Variants ranked over cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    /// The mean rank of each variant, in their order; 1 is the smallest figure, the best.
    pub mean: Vec<f64>,
    /// How many cases had a figure for every variant.
    pub cases: usize,
    /// Friedman's chi-square, corrected for ties.
    pub chi_square: f64,
    /// The chance of such ranks among equal variants, by Friedman.
    pub p_friedman: f64,
    /// The same by Iman and Davenport, which decides here.
    pub p: f64,
    /// Mean ranks that are closer than this are not told apart at 5 %.
    pub critical_difference: f64,
    /// The largest sets of neighbours that are not told apart, best first; each holds variants in
    /// the order of their ranks. A variant that differs from all others is a set of one.
    pub groups: Vec<Vec<usize>>,
}

/// Ranks the figures `[case][variant]`, smaller is better (negate those where more is).
///
/// Equal figures share the mean of their ranks. Cases with another number of variants or a figure
/// that is not a number are left out. `None` for fewer than two variants or cases. Where `p` is
/// above 5 % all variants are one group, whatever the critical difference says.
pub fn ranks(figures: &[Vec<f64>]) -> Option<Ranks> {
    let variants = figures.first()?.len();
    let whole = |case: &&Vec<f64>| case.len() == variants && case.iter().all(|f| !f.is_nan());
    let ranked: Vec<(Vec<f64>, f64)> = figures.iter().filter(whole).map(|c| rank(c)).collect();
    let (k, n) = (variants as f64, ranked.len() as f64);
    if variants < 2 || ranked.len() < 2 {
        return None;
    }
    let mean: Vec<f64> =
        (0..variants).map(|v| ranked.iter().map(|(ranks, _)| ranks[v]).sum::<f64>() / n).collect();
    let ties: f64 = ranked.iter().map(|(_, ties)| ties).sum();
    let chi_square = friedman(&mean, n, ties);
    let p = iman_davenport(chi_square, k, n);
    let critical_difference = nemenyi_critical(variants)? * (k * (k + 1.0) / (6.0 * n)).sqrt();
    let reach = if p > 0.05 { f64::INFINITY } else { critical_difference };
    Some(Ranks {
        groups: groups(&mean, reach),
        mean,
        cases: ranked.len(),
        chi_square,
        p_friedman: chi_square_above(chi_square, k - 1.0),
        p,
        critical_difference,
    })
}

/// The ranks of one case, and the sum of t^3 - t over its sets of t equal figures.
fn rank(case: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..case.len()).collect();
    order.sort_by(|a, b| case[*a].total_cmp(&case[*b]));
    let (mut ranks, mut ties) = (vec![0.0; case.len()], 0.0);
    let mut before = 0.0;
    for equal in order.chunk_by(|a, b| case[*a] == case[*b]) {
        let t = equal.len() as f64;
        equal.iter().for_each(|variant| ranks[*variant] = before + (t + 1.0) / 2.0);
        before += t;
        ties += t * t * t - t;
    }
    (ranks, ties)
}

/// Friedman's chi-square; zero where every case is one tie.
fn friedman(mean: &[f64], n: f64, ties: f64) -> f64 {
    let k = mean.len() as f64;
    let middle = (k + 1.0) / 2.0;
    let spread: f64 = mean.iter().map(|rank| (rank - middle).powi(2)).sum();
    let correction = 1.0 - ties / (n * k * (k * k - 1.0));
    if correction > 0.0 { 12.0 * n * spread / (k * (k + 1.0)) / correction } else { 0.0 }
}

/// The chance by Iman and Davenport; zero where every case has the same order.
fn iman_davenport(chi_square: f64, k: f64, n: f64) -> f64 {
    let rest = n * (k - 1.0) - chi_square;
    if rest <= 1e-9 {
        return 0.0;
    }
    fisher_above((n - 1.0) * chi_square / rest, k - 1.0, (k - 1.0) * (n - 1.0))
}

/// Nemenyi's critical value at 5 % for `variants`: the studentized range with infinite degrees of
/// freedom by the root of two. 1.960 for 2, 2.343 for 3, 3.164 for 10. `None` below 2.
pub fn nemenyi_critical(variants: usize) -> Option<f64> {
    (variants >= 2).then(|| range_critical(0.05, variants) / SQRT_2)
}

/// The largest sets of neighbours by rank that are closer together than `reach`.
fn groups(mean: &[f64], reach: f64) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..mean.len()).collect();
    order.sort_by(|a, b| mean[*a].total_cmp(&mean[*b]));
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut covered = 0;
    for first in 0..order.len() {
        let near = |variant: &&usize| mean[**variant] - mean[order[first]] < reach;
        let end = first + order[first..].iter().take_while(near).count();
        // One that ends where an earlier one did is part of it.
        if end > covered {
            found.push(order[first..end].to_vec());
            covered = end;
        }
    }
    found
}
