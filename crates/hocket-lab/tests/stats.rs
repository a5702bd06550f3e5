//! Statistics against theory and simulation. Every seed is fixed, so nothing here can flicker.

use hocket_lab::stats::{
    Comparison, MIN_ROUNDS, Proportion, Rng, Summary, compare, median, quantile_sorted, wilson,
};

#[test]
fn generator_gives_the_published_numbers() {
    // First outputs for the seed state that SplitMix64 makes of zero, computed independently.
    let mut rng = Rng::new(0);
    let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
    assert_eq!(first, [0x5317_5d61_490b_23df, 0x61da_6f3d_c380_d507, 0x5c0f_df91_ec9a_7bfc]);
}

#[test]
fn bounded_draws_are_uniform_and_in_range() {
    let mut rng = Rng::new(7);
    let mut counts = [0u32; 6];
    for _ in 0..60_000 {
        counts[rng.below(6)] += 1;
    }
    // Six standard deviations of a binomial count around 10,000.
    assert!(counts.iter().all(|n| (9_450..=10_550).contains(n)), "{counts:?}");
    assert_eq!(rng.below(0), 0);
}

#[test]
fn shuffle_keeps_every_item_and_reaches_every_order() {
    let mut rng = Rng::new(1);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..500 {
        let mut items = [1, 2, 3, 4];
        rng.shuffle(&mut items);
        seen.insert(items);
    }
    assert_eq!(seen.len(), 24);
}

#[test]
fn quantiles_are_type_7() {
    let values = [1.0, 2.0, 3.0, 4.0, 10.0];
    assert_eq!(quantile_sorted(&values, 0.0), Some(1.0));
    assert_eq!(quantile_sorted(&values, 0.5), Some(3.0));
    assert_eq!(quantile_sorted(&values, 1.0), Some(10.0));
    // R: quantile(c(1,2,3,4,10), 0.9, type = 7) is 7.6.
    assert!((quantile_sorted(&values, 0.9).unwrap() - 7.6).abs() < 1e-12);
    assert_eq!(quantile_sorted(&[], 0.5), None);
}

#[test]
fn summary_of_a_known_row() {
    let row = Summary::of((1..=1001).rev()).unwrap();
    assert_eq!((row.n, row.min, row.mean, row.max), (1001, 1.0, 501.0, 1001.0));
    assert_eq!((row.p50, row.p99, row.p999), (501.0, 991.0, 1000.0));
    assert_eq!(Summary::of([]), None);
}

#[test]
fn p999_of_few_blocks_admits_what_it_is() {
    let few = Summary::of(1..=300).unwrap();
    assert_eq!(
        few.p999_meaning(),
        "p99.9 of fewer than 1000 blocks is hardly less than the maximum, and not shown"
    );
    let one = Summary::of(1..=1000).unwrap();
    assert_eq!(one.p999_meaning(), "p99.9 of 1000 blocks rests on the slowest one");
    let usual = Summary::of(1..=3000).unwrap();
    assert_eq!(usual.beyond_p999(), 3);
    assert_eq!(usual.p999_meaning(), "p99.9 of 3000 blocks rests on the 3 slowest");
}

#[test]
fn quantiles_of_too_few_values_are_not_shown() {
    let shown = |n: i64| {
        let it = Summary::of(1..=n).unwrap();
        (it.shown_p99().is_some(), it.shown_p999().is_some())
    };
    assert_eq!(
        [99, 100, 999, 1000].map(shown),
        [(false, false), (true, false), (true, false), (true, true)]
    );
    let few = Summary::of(1..=99).unwrap().p999_meaning();
    assert!(
        few.contains("p99 of fewer than 100") && few.contains("p99.9 of fewer than 1000"),
        "{few}"
    );
}

#[test]
fn wilson_matches_published_values() {
    // Newcombe 1998, table I, score method: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for (count, of, low, high) in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ] {
        let got = wilson(count, of);
        assert!(
            (got.low - low).abs() < 6e-5 && (got.high - high).abs() < 6e-5,
            "{count}/{of}: {got:?}"
        );
    }
}

#[test]
fn wilson_of_nothing_and_of_everything() {
    assert_eq!((wilson(0, 0).low, wilson(0, 0).high), (0.0, 1.0));
    assert_eq!((wilson(5, 5).high, wilson(0, 5).low), (1.0, 0.0));
    assert_eq!(Proportion { count: 0, of: 0 }.share(), 0.0);
}

#[test]
fn wilson_covers_the_true_share() {
    let (mut rng, mut inside) = (Rng::new(3), 0);
    for _ in 0..2000 {
        let hits = (0..3000).filter(|_| rng.unit() < 0.002).count() as u64;
        inside += u32::from(wilson(hits, 3000).contains(0.002));
    }
    assert!((1840..=1980).contains(&inside), "{inside} of 2000");
}

#[test]
fn medians_of_odd_even_and_none() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

/// Per-round medians of two variants on a machine that drifts by 30 %, steps its clock by 4 % and
/// stalls now and then; `effect` is the true ratio, `memory` the correlation between neighbours.
fn rounds(rng: &mut Rng, n: usize, effect: f64, memory: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut wander, mut own) = (0.0, 0.0);
    let fresh = (1.0 - memory * memory).sqrt();
    (0..n)
        .map(|round| {
            wander = 0.9 * wander + 0.1 * rng.normal();
            own = memory * own + fresh * rng.normal();
            let step = if round % 11 < 4 { 1.04 } else { 1.0 };
            let stall = if rng.unit() < 0.05 { 1.3 } else { 1.0 };
            let machine = 400_000.0 * step * f64::exp(wander);
            (machine, machine * effect * stall * (0.01 * own).exp())
        })
        .unzip()
}

fn simulate(runs: u64, n: usize, effect: f64, memory: f64) -> Vec<Comparison> {
    (0..runs)
        .map(|run| {
            let mut rng = Rng::new(run * 7919 + n as u64);
            let (before, after) = rounds(&mut rng, n, effect, memory);
            compare(&before, &after, run).expect("rounds were given")
        })
        .collect()
}

fn is_below_one(comparison: &Comparison) -> bool {
    comparison.interval.is_some_and(|interval| interval.high < 1.0)
}

fn is_above_one(comparison: &Comparison) -> bool {
    comparison.interval.is_some_and(|interval| interval.low > 1.0)
}

fn share(of: &[Comparison], holds: impl Fn(&Comparison) -> bool) -> f64 {
    of.iter().filter(|c| holds(c)).count() as f64 / of.len() as f64
}

#[test]
fn interval_covers_the_truth_on_autocorrelated_noise() {
    for (n, memory) in [(30, 0.3), (30, 0.5), (60, 0.3)] {
        let got = simulate(110, n, 1.0, memory);
        let covered = share(&got, |c| c.interval.unwrap().contains(1.0));
        assert!(covered >= 0.90, "{n} rounds, correlation {memory}: {covered}");
    }
}

#[test]
fn two_per_cent_are_found_and_named_right() {
    let slower = simulate(60, 30, 1.02, 0.0);
    assert!(share(&slower, is_above_one) >= 0.95);
    assert_eq!(share(&slower, is_below_one), 0.0);
    let faster = simulate(60, 30, 1.0 / 1.02, 0.0);
    assert!(share(&faster, is_below_one) >= 0.90);
}

#[test]
fn equal_variants_are_rarely_told_apart() {
    let got = simulate(150, 30, 1.0, 0.0);
    let wrong = share(&got, |c| is_below_one(c) || is_above_one(c));
    assert!(wrong <= 0.07, "{wrong}");
}

#[test]
fn drift_common_to_both_cancels_exactly() {
    let before: Vec<f64> = (1..=20).map(|round| 100.0 * round as f64).collect();
    let after: Vec<f64> = before.iter().map(|x| 1.5 * x).collect();
    let got = compare(&before, &after, 0).unwrap();
    let interval = got.interval.unwrap();
    assert!((got.ratio - 1.5).abs() < 1e-12);
    assert!((interval.low - 1.5).abs() < 1e-9 && (interval.high - 1.5).abs() < 1e-9);
    assert!(is_above_one(&got));
}

#[test]
fn same_seed_same_interval() {
    let (before, after) = rounds(&mut Rng::new(5), 30, 1.01, 0.2);
    assert_eq!(compare(&before, &after, 9), compare(&before, &after, 9));
}

#[test]
fn rounds_with_memory_are_drawn_in_longer_blocks() {
    let typical = |memory: f64| {
        let lengths: Vec<f64> =
            simulate(25, 60, 1.0, memory).iter().map(|c| c.block_length as f64).collect();
        lengths.iter().sum::<f64>() / lengths.len() as f64
    };
    assert!(typical(0.8) > 1.3 * typical(0.0), "{} {}", typical(0.8), typical(0.0));
}

#[test]
fn too_few_rounds_give_a_ratio_but_no_interval() {
    let few = vec![2.0; MIN_ROUNDS - 1];
    let got = compare(&few, &few, 0).unwrap();
    assert_eq!((got.interval, got.ratio), (None, 1.0));
    assert_eq!(compare(&[], &[], 0), None);
}

#[test]
fn rounds_without_a_figure_are_left_out() {
    let got = compare(&[1.0, 0.0, f64::NAN, 2.0], &[2.0, 3.0, 4.0, 0.0], 0).unwrap();
    assert_eq!((got.rounds, got.ratio), (1, 2.0));
}
