//! The whole judgement on a simulated machine: A/A run, floor, looks, interval, verdict.
//!
//! The simulated machine has what a real one was seen to have: drift, a clock that moves between
//! bins 4 and 7.4 % apart, stalls of 20 ms in a turn of 50 ms, turns that resemble the one before,
//! starts that favour one variant. Every seed is fixed, so nothing here can flicker.

use hocket_lab::stats::{
    Class, Floor, Judgement, Looks, Rng, StartComparison, Stop, Verdict, compare_starts, floor,
    judge, steady, stop,
};

/// What disturbs a simulated machine. Relative figures: 0.01 is one per cent.
#[derive(Debug, Clone, Copy)]
struct Noise {
    name: &'static str,
    /// Deviation of one turn of one variant.
    own: f64,
    /// Its correlation with the variant's turn before.
    memory: f64,
    /// How much slower the machine becomes over a start, and a random walk's step a turn.
    drift: f64,
    walk: f64,
    /// The chance a turn that the clock moves to one of its bins.
    step: f64,
    /// The chance a turn of a stall.
    stall: f64,
    /// Deviation of a start's own advantage for one variant.
    start: f64,
}

const WHITE: Noise = Noise {
    name: "white",
    own: 0.01,
    memory: 0.0,
    drift: 0.0,
    walk: 0.0,
    step: 0.0,
    stall: 0.0,
    start: 0.0,
};

const NOISES: [Noise; 8] = [
    WHITE,
    Noise { name: "drift", drift: 0.3, walk: 0.003, ..WHITE },
    Noise { name: "clock steps", step: 0.1, ..WHITE },
    Noise { name: "stalls", stall: 0.1, ..WHITE },
    Noise { name: "AR(1) 0.5", memory: 0.5, ..WHITE },
    LONG_MEMORY,
    Noise { name: "starts", own: 0.005, start: 0.005, ..WHITE },
    Noise {
        name: "all",
        own: 0.006,
        memory: 0.4,
        drift: 0.1,
        walk: 0.002,
        step: 0.05,
        stall: 0.05,
        start: 0.003,
    },
];

/// Rounds that hardly renew themselves: 16 of them are worth fewer than two.
const LONG_MEMORY: Noise = Noise { name: "AR(1) 0.9", memory: 0.9, ..WHITE };

/// Places of the clock: slowness by bin.
const BINS: [f64; 3] = [1.0, 1.04, 1.074];

/// How much is measured: rounds a start, and the starts after which it is looked at.
#[derive(Debug, Clone, Copy)]
struct Size {
    rounds: usize,
    looks: [usize; 2],
    /// The half-width at which to stop.
    target: f64,
}

/// What `hocket lab run --quick` needs for a difference of 2 %: 5 starts of 16 rounds.
const QUICK: Size = Size { rounds: 16, looks: [3, 5], target: 0.007 };
/// What long memory needs.
const FULL: Size = Size { rounds: 32, looks: [6, 12], target: 0.005 };

/// A machine during one start.
struct Host {
    noise: Noise,
    rng: Rng,
    turns: f64,
    turn: f64,
    walk: f64,
    bin: usize,
}

impl Host {
    fn open(noise: Noise, rounds: usize, seed: u64) -> Self {
        let turns = 2.0 * rounds as f64;
        Host { noise, rng: Rng::new(seed), turns, turn: 0.0, walk: 0.0, bin: 0 }
    }

    /// How slow the machine is in the next turn.
    fn slowness(&mut self) -> f64 {
        self.turn += 1.0;
        self.walk += self.noise.walk * self.rng.normal();
        if self.rng.unit() < self.noise.step {
            self.bin = self.rng.below(BINS.len());
        }
        let stall = if self.rng.unit() < self.noise.stall { 1.4 } else { 1.0 };
        BINS[self.bin] * (self.walk + self.noise.drift * self.turn / self.turns).exp() * stall
    }

    /// The rounds of one start: both variants a round, in random order.
    fn rounds(&mut self, rounds: usize, effect: f64) -> [Vec<f64>; 2] {
        let (memory, fresh) = (self.noise.memory, (1.0 - self.noise.memory.powi(2)).sqrt());
        let effects = [1.0, effect * (self.noise.start * self.rng.normal()).exp()];
        let mut own = [self.rng.normal(), self.rng.normal()];
        let mut figures = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let first = self.rng.below(2);
            for variant in [first, 1 - first] {
                own[variant] = memory * own[variant] + fresh * self.rng.normal();
                let noise = (self.noise.own * own[variant]).exp();
                figures[variant].push(50e6 * self.slowness() * effects[variant] * noise);
            }
        }
        figures
    }
}

/// Figures `[start][round]` of two variants whose true ratio is `effect`.
fn measure(noise: Noise, size: Size, effect: f64, seed: u64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut rng = Rng::new(seed);
    let starts = (0..size.looks[1]).map(|_| {
        let [before, after] =
            Host::open(noise, size.rounds, rng.next_u64()).rounds(size.rounds, effect);
        (before, after)
    });
    starts.unzip()
}

/// One run as the harness does it.
struct Run {
    judgement: Judgement,
    /// Whether the interval of some look, the floor aside, leaves out the truth.
    missed: bool,
    early: bool,
}

fn run(noise: Noise, size: Size, looks: &Looks, effect: f64, seed: u64) -> Run {
    let (first, second) = measure(noise, size, 1.0, 2 * seed);
    let floor = floor(&first, &second, looks.critical(), seed).expect("enough rounds");
    judged(measure(noise, size, effect, 2 * seed + 1), size, looks, &floor, effect)
}

fn judged(
    (before, after): (Vec<Vec<f64>>, Vec<Vec<f64>>),
    size: Size,
    looks: &Looks,
    floor: &Floor,
    effect: f64,
) -> Run {
    let mut missed = false;
    for done in looks.at() {
        let compared =
            compare_starts(&before[..*done], &after[..*done], looks.critical(), 1).expect("rounds");
        let StartComparison { comparison, .. } = compared;
        missed |= !comparison.interval.is_some_and(|interval| interval.contains(effect));
        let stop = stop(looks, *done, comparison.interval, size.target);
        if !matches!(stop, Stop::GoOn(_)) {
            let early = stop == Stop::WidthReached;
            return Run { judgement: judge(&compared, Some(floor)), missed, early };
        }
    }
    unreachable!("the last look stops")
}

fn runs(noise: Noise, size: Size, effect: f64, count: u64) -> Vec<Run> {
    let looks = Looks::new(&size.looks).expect("two looks");
    (0..count).map(|seed| run(noise, size, &looks, effect, seed)).collect()
}

fn count(runs: &[Run], holds: impl Fn(&Run) -> bool) -> f64 {
    runs.iter().filter(|run| holds(run)).count() as f64
}

/// So many of `n` are the most that 5 % give in all but one of 1000 cases.
fn tolerated(n: f64) -> f64 {
    0.05 * n + 3.09 * (n * 0.05 * 0.95).sqrt()
}

#[test]
fn equal_variants_are_called_different_in_at_most_five_per_cent() {
    const RUNS: u64 = 250;
    let (mut false_ones, mut missed, n) = (0.0, 0.0, RUNS as f64);
    println!("noise          shown falsely  interval misses the truth at some look");
    for noise in NOISES {
        let got = runs(noise, QUICK, 1.0, RUNS);
        let (shown, miss) = (count(&got, |r| r.judgement.is_shown()), count(&got, |r| r.missed));
        println!("{:12} {:11.1} % {:11.1} %", noise.name, 100.0 * shown / n, 100.0 * miss / n);
        assert!(shown <= 0.05 * n && miss <= tolerated(n), "{}: {shown} {miss}", noise.name);
        false_ones += shown;
        missed += miss;
    }
    let all = n * NOISES.len() as f64;
    // The judgement, floor included, holds 5 % outright; the interval alone within chance.
    assert!(false_ones <= 0.05 * all, "{false_ones} of {all}");
    assert!(missed <= tolerated(all), "{missed} of {all}");
}

#[test]
fn two_per_cent_are_found_at_the_quick_size() {
    for noise in NOISES.iter().filter(|noise| noise.name != LONG_MEMORY.name) {
        check_found(*noise, QUICK, 100);
    }
    // Where rounds hardly renew themselves only more starts help.
    check_found(LONG_MEMORY, FULL, 60);
}

fn check_found(noise: Noise, size: Size, count_of_runs: u64) {
    let got = runs(noise, size, 1.02, count_of_runs);
    let n = got.len() as f64;
    let found = count(&got, |r| r.judgement == Judgement::ShownSlower) / n;
    let early = count(&got, |r| r.early) / n;
    println!("{:12} found {:5.1} %, early {:5.1} %", noise.name, 100.0 * found, 100.0 * early);
    assert!(found >= 0.90, "{}: {found}", noise.name);
    assert_eq!(count(&got, |r| r.judgement == Judgement::ShownFaster), 0.0);
}

#[test]
fn the_floor_hides_what_the_same_code_shows() {
    let (first, second) = measure(WHITE, QUICK, 1.015, 1);
    let looks = Looks::new(&QUICK.looks).expect("two looks");
    let biased = floor(&first, &second, looks.critical(), 0).expect("enough rounds");
    assert!(biased.smallest > 0.015 && biased.offset > 0.01 && biased.typical_false > 0.01);
    let (before, after) = measure(WHITE, QUICK, 1.013, 2);
    let got = |starts: usize, rounds: usize| {
        let cut = |of: &[Vec<f64>]| of[..starts].iter().map(|it| it[..rounds].to_vec()).collect();
        let (before, after): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (cut(&before), cut(&after));
        compare_starts(&before, &after, looks.critical(), 0).expect("rounds")
    };
    let all = got(before.len(), before[0].len());
    assert_eq!(all.comparison.verdict(), Verdict::Slower);
    assert_eq!(judge(&all, Some(&biased)), Judgement::BelowFloor);
    assert_eq!(judge(&all, None), Judgement::TooFew);
    assert_eq!(judge(&got(3, 1), Some(&biased)), Judgement::TooFew);
    assert_eq!(judge(&got(2, before[0].len()), Some(&biased)), Judgement::TooFewStarts);
}

#[test]
fn the_typical_false_difference_is_that_of_half_the_rounds() {
    let (first, second) = measure(WHITE, QUICK, 1.0, 3);
    let got = floor(&first, &second, 1.96, 0).expect("enough rounds");
    // Theory: the median of n normal figures deviates by 1.25 / sqrt(n), a quotient by 1.41 times
    // that; typical is 0.67 of a deviation, of halves that are drawn from one sample.
    assert!((0.0002..0.004).contains(&got.typical_false), "{got:?}");
    assert!(got.half_width < 0.01 && got.starts == 5);
}

/// How many of 100 series of quotients, one start each, are cut although nothing changes.
fn cut_series(noise: Noise) -> usize {
    let flat = |seed: &u64| {
        let (before, after) = measure(noise, Size { rounds: 60, ..QUICK }, 1.0, *seed);
        let quotients: Vec<f64> = before[0].iter().zip(&after[0]).map(|(a, b)| b / a).collect();
        steady(&quotients, 0.01).class == Class::Flat
    };
    100 - (0..100).filter(flat).count()
}

#[test]
fn quotients_are_flat_unless_they_change() {
    for noise in NOISES.iter().filter(|noise| noise.name != LONG_MEMORY.name) {
        let cut = cut_series(*noise);
        assert!(cut <= 10, "{}: {cut} of 100 cut", noise.name);
    }
    // One cannot tell long memory from change; refusing is right, since the interval of one
    // start would be too narrow.
    assert!(cut_series(LONG_MEMORY) >= 30);
}
