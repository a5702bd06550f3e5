//! Ranks, looks, starts and change points against published tables and worked examples.

use hocket_lab::stats::{
    Class, Looks, MIN_STARTS, Rng, Z_95, compare, compare_starts, compare_steady, nemenyi_critical,
    poisson_most, ranks, steady,
};

#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "got {got}, expected {expected}");
}

#[test]
fn nemenyi_values_are_those_of_the_tables() {
    // Demsar 2006, table 5 (a), for 2 to 10; beyond, the studentized range of Harter 1960 (3.633,
    // 4.796, 5.012 are q for 4, 15 and 20) by the root of two.
    let table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164];
    for (variants, expected) in (2..).zip(table) {
        close(nemenyi_critical(variants).unwrap(), expected, 8e-4);
    }
    for (variants, q) in [(4, 3.633), (15, 4.796), (20, 5.012)] {
        close(nemenyi_critical(variants).unwrap(), q / 2f64.sqrt(), 6e-4);
    }
    assert_eq!(nemenyi_critical(1), None);
}

/// Upper limits of a Poisson mean, one-sided: Garwood 1936, table 1, of which half the two-sided 90 and 95 % are these.
#[test]
fn poisson_limits_are_those_of_the_tables() {
    let at_5_percent =
        [2.996, 4.744, 6.296, 7.754, 9.154, 10.513, 11.842, 13.148, 14.435, 15.705, 16.962];
    let at_2_5_percent =
        [3.689, 5.572, 7.225, 8.767, 10.242, 11.668, 13.059, 14.423, 15.763, 17.085, 18.390];
    for (count, (five, two)) in (0..).zip(at_5_percent.into_iter().zip(at_2_5_percent)) {
        close(poisson_most(count, 0.05), five, 6e-4);
        close(poisson_most(count, 0.025), two, 6e-4);
    }
    // The limit of none is a logarithm.
    for outside in [0.5, 0.04, 0.008, 1e-4, 1e-9] {
        close(poisson_most(0, outside), -f64::ln(outside), 1e-6);
    }
    // The two formulas meet where the exact one has too many terms.
    let (exact, rough) = (poisson_most(1_999, 0.04), poisson_most(2_000, 0.04));
    close(rough - exact, 1.02, 0.02);
}

/// With the limit as its mean, so few events or fewer are as rare as was asked for: the sum of the distribution itself.
#[test]
fn poisson_limits_leave_outside_what_was_asked_for() {
    for (count, outside) in [(0, 0.04), (3, 0.008), (17, 0.05), (120, 0.0016)] {
        let mean = poisson_most(count, outside);
        let mut term = f64::exp(-mean);
        let mut sum = term;
        for k in 1..=count {
            term *= mean / k as f64;
            sum += term;
        }
        close(sum / outside, 1.0, 1e-6);
    }
}

/// Demsar 2006, table 6: the AUC of four variants of C4.5 on 14 data sets.
const DEMSAR: [[f64; 4]; 14] = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.975, 0.973],
    [0.957, 0.978, 0.946, 0.970],
];

#[test]
fn ranks_of_the_worked_example() {
    let cases: Vec<Vec<f64>> = DEMSAR.iter().map(|row| row.map(|auc| -auc).to_vec()).collect();
    let got = ranks(&cases).unwrap();
    for (mean, expected) in got.mean.iter().zip([3.143, 2.000, 2.893, 1.964]) {
        close(*mean, expected, 6e-4);
    }
    // The paper's 9.28 is without the correction for ties, here 1 - 78 / 840.
    close(got.chi_square * (1.0 - 78.0 / 840.0), 9.28, 6e-3);
    assert!(got.p < got.p_friedman && got.p_friedman < 0.05, "{got:?}");
    close(got.critical_difference, 1.25, 5e-3);
    // 3.143 - 1.964 is less than 1.25: no two variants are told apart, as the paper finds.
    assert_eq!(got.groups, [[3, 1, 2, 0]]);
}

#[test]
fn ranks_tell_apart_what_is_ordered_and_nothing_else() {
    let mut rng = Rng::new(1);
    let noise = |rng: &mut Rng| (0..5).map(|_| rng.unit()).collect::<Vec<f64>>();
    let equal: Vec<Vec<f64>> = (0..30).map(|_| noise(&mut rng)).collect();
    assert_eq!(ranks(&equal).unwrap().groups.len(), 1);
    let ordered: Vec<Vec<f64>> = (0..30).map(|_| vec![1.0, 2.0, 3.0]).collect();
    let got = ranks(&ordered).unwrap();
    assert_eq!((got.groups, got.p), (vec![vec![0], vec![1], vec![2]], 0.0));
    let ties = ranks(&[vec![1.0, 1.0], vec![2.0, 2.0]]).unwrap();
    assert_eq!((ties.mean, ties.groups.len()), (vec![1.5, 1.5], 1));
    assert_eq!(ranks(&[vec![1.0, 2.0]]), None);
    assert_eq!(ranks(&[vec![1.0], vec![2.0]]), None);
}

#[test]
fn equal_variants_are_told_apart_in_one_of_twenty_tables() {
    let mut rng = Rng::new(2);
    let mut table =
        || -> Vec<Vec<f64>> { (0..15).map(|_| (0..4).map(|_| rng.unit()).collect()).collect() };
    let apart = (0..300).filter(|_| ranks(&table()).is_some_and(|r| r.p <= 0.05)).count();
    // Three standard deviations of a binomial count around 15.
    assert!((4..=26).contains(&apart), "{apart}");
}

#[test]
fn critical_values_of_repeated_looks_are_pococks() {
    // Jennison and Turnbull 1999, table 2.1, two-sided 5 %.
    let table = [(1, 1.960), (2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413), (10, 2.555)];
    for (looks, expected) in table {
        let at: Vec<usize> = (1..=looks).collect();
        close(Looks::new(&at).unwrap().critical(), expected, 1e-3);
    }
}

/// How often a random walk without drift leaves `critical` standard deviations at one of five looks.
fn crossed(critical: f64) -> f64 {
    let mut rng = Rng::new(11);
    let crosses = |rng: &mut Rng| {
        let mut sum = 0.0;
        (1..=5).any(|look| {
            sum += rng.normal();
            sum.abs() > critical * f64::from(look).sqrt()
        })
    };
    (0..40_000).filter(|_| crosses(&mut rng)).count() as f64 / 40_000.0
}

#[test]
fn five_looks_stay_at_five_per_cent_only_when_widened() {
    let looks = Looks::new(&[1, 2, 3, 4, 5]).unwrap();
    // Four standard deviations: 0.0044.
    close(crossed(looks.critical()), 0.05, 0.0044);
    assert!(crossed(Z_95) > 0.13);
}

#[test]
fn looks_are_planned_and_refused() {
    assert_eq!(Looks::spread(3, 10, 3).unwrap().at(), [3, 7, 10]);
    assert_eq!(Looks::spread(4, 4, 3).unwrap().at(), [4]);
    assert_eq!(Looks::spread(3, 4, 5).unwrap().at(), [3, 4]);
    assert_eq!(Looks::spread(5, 3, 2), None);
    for refused in [&[] as &[usize], &[0, 1], &[2, 2], &[3, 1], &[1; 11]] {
        assert_eq!(Looks::new(refused), None);
    }
}

/// Starts whose rounds do not vary, so that only the spread between them counts.
fn starts(advantages: &[f64]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let rounds = |advantage: f64| vec![1000.0 * f64::exp(advantage); 8];
    (vec![rounds(0.0); advantages.len()], advantages.iter().map(|a| rounds(*a)).collect())
}

#[test]
fn the_interval_between_starts_is_students() {
    // Two-sided 5 % of Student's distribution with 2, 4 and 9 degrees of freedom.
    for (count, student) in [(3, 4.303), (5, 2.776), (10, 2.262)] {
        let advantages: Vec<f64> = (0..count).map(|start| 0.01 * f64::from(start)).collect();
        let (before, after) = starts(&advantages);
        let got = compare_starts(&before, &after, Z_95, 0).unwrap();
        let n = f64::from(count);
        let error = 0.01 * (n * (n + 1.0) / 12.0 / n).sqrt();
        close(got.comparison.ratio.ln(), 0.01 * (n - 1.0) / 2.0, 1e-12);
        close(got.comparison.interval.unwrap().half_width() / error, student, 6e-4);
        assert!(got.covers_starts, "{got:?}");
    }
}

#[test]
fn few_starts_say_what_they_do_not_cover() {
    let (before, after) = starts(&[0.0, 0.02]);
    let got = compare_starts(&before, &after, Z_95, 0).unwrap();
    assert!(!got.covers_starts && got.starts < MIN_STARTS);
    let interval = got.comparison.interval.unwrap();
    assert!(interval.low <= 1.0 + 1e-12 && interval.high >= f64::exp(0.02) - 1e-12);
    assert_eq!(compare_starts(&[vec![], vec![0.0]], &[vec![], vec![1.0]], Z_95, 0), None);
}

/// Six rounds are the fewest of which anybody can tell whether they settled.
#[test]
fn starts_with_few_rounds_are_unknown_and_neither_steady_nor_unsteady() {
    let alike = |rounds: usize| vec![vec![1000.0; rounds]; 5];
    let got = compare_steady(alike(5), alike(5), Z_95, 0).unwrap();
    assert!(got.settling_unknown && !got.unsteady && got.comparison.rounds == 25, "{got:?}");
    let got = compare_steady(alike(6), alike(6), Z_95, 0).unwrap();
    assert!(!got.settling_unknown && !got.unsteady, "{got:?}");
    // The ratio of most starts jumps at their end.
    let mut jumping = alike(12);
    jumping.iter_mut().take(3).for_each(|start| start[9..].fill(1300.0));
    let got = compare_steady(alike(12), jumping, Z_95, 0).unwrap();
    assert!(got.unsteady && !got.settling_unknown, "{got:?}");
}

#[test]
fn one_start_is_compared_as_before() {
    let mut rng = Rng::new(4);
    let mut rounds = || (0..30).map(|_| f64::exp(0.01 * rng.normal())).collect::<Vec<f64>>();
    let (before, after) = (rounds(), rounds());
    let alone = compare(&before, &after, 7).unwrap();
    let got = compare_starts(&[before], &[after], Z_95, 7).unwrap();
    assert_eq!((got.comparison.ratio, got.comparison.rounds), (alone.ratio, alone.rounds));
    close(got.comparison.interval.unwrap().low, alone.interval.unwrap().low, 1e-9);
    assert!(got.comparison.interval.unwrap().contains(1.0));
}

/// `level` repeated, each with one per mille of noise and every ninth round disturbed.
fn series(parts: &[(usize, f64)]) -> Vec<f64> {
    let mut rng = Rng::new(3);
    let all = parts.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
    let noisy = all.enumerate().map(|(round, level)| {
        level * f64::exp(0.001 * rng.normal()) * if round % 9 == 4 { 1.5 } else { 1.0 }
    });
    noisy.collect()
}

#[test]
fn series_are_cut_where_their_level_changes() {
    let class = |parts: &[(usize, f64)]| steady(&series(parts), 0.01).class;
    assert_eq!(class(&[(30, 1.0)]), Class::Flat);
    assert_eq!(class(&[(10, 1.1), (30, 1.0)]), Class::WarmUp);
    assert_eq!(class(&[(10, 1.0), (30, 1.04)]), Class::SlowDown);
    assert_eq!(class(&[(30, 1.0), (10, 1.04)]), Class::NoSteadyState);
    assert_eq!(class(&[(8, 1.1), (8, 1.0), (8, 1.1), (8, 1.0)]), Class::NoSteadyState);
    assert_eq!(class(&[(20, 1.0), (20, 1.004)]), Class::Flat, "below the tolerance");
    assert_eq!(class(&[(5, 1.0)]), Class::TooFew);
    assert_eq!(class(&[(150, 1.1), (450, 1.0)]), Class::WarmUp, "more rounds than points");
    let warm = steady(&series(&[(10, 1.1), (30, 1.0)]), 0.01);
    assert_eq!(warm.steady_from(), Some(10));
    close(warm.segments[0].level, 1.1, 0.002);
    assert_eq!(steady(&[], 0.01).class, Class::TooFew);
    assert_eq!(steady(&[f64::NAN, 0.0], 0.01).class, Class::TooFew);
    assert_eq!(steady(&[2.0; 9], 0.01).class, Class::Flat);
}
