//! Siblings by chance on a simulated virtual machine whose host moves its CPUs, on the way that every report takes: rows,
//! and the findings of `smt-kernels`.

mod noise;

use hocket_lab::experiments::find;
use hocket_lab::harness::{
    Check, Design, Results, Rounds, Row, Sample, Sentence, Size as Thorough, Standing, Variant,
};
use hocket_lab::stats::Rng;

use noise::{NOISES, Noise, WHITE, count, measured, only, two_cores_with_smt};

/// Hand-overs of the classes, as one host showed them.
const TIMES_NS: [f64; 3] = [10.0, 26.0, 155.0];

/// How the host places the two CPUs.
#[derive(Clone, Copy)]
struct Placing {
    /// The chance that the next turn begins elsewhere, and that a CPU is moved during a turn.
    moves: f64,
    moves_within: f64,
    /// How often each class is chosen.
    weights: [f64; 3],
    /// Siblings only in so many rounds at the beginning of a process start.
    first_rounds: Option<u32>,
}

const MOVING: Placing =
    Placing { moves: 0.3, moves_within: 0.05, weights: [0.3, 0.5, 0.2], first_rounds: None };

impl Placing {
    fn draw(self, round: u32, rng: &mut Rng) -> usize {
        let at = rng.unit() * self.weights.iter().sum::<f64>();
        let [siblings, near, _] = self.weights;
        match self.first_rounds {
            Some(first) => usize::from(round >= first),
            None if at < siblings => 0,
            None if at < siblings + near => 1,
            None => 2,
        }
    }
}

/// The kernels alone and on two cores.
fn design(rounds: u32) -> Design {
    let all = find("smt-kernels").unwrap().design(&two_cores_with_smt(), Thorough::Quick).unwrap();
    let rounds = Rounds { processes: 5, per_process: rounds, warm_up: 0 };
    only(all, rounds, |variant: &Variant| ["alone", "two-cores"].contains(&variant.level("seats")))
}

/// A run in which a turn of siblings takes `effect` times as long.
fn run(noise: Noise, placing: Placing, effect: f64, seed: u64) -> Results {
    let mut results = measured(noise, "smt-kernels", &design(40), &["time"], |_| 5e7, seed);
    let mut rng = Rng::new(seed ^ 0x5EED);
    let mut place = 1;
    let mut probes = Vec::new();
    for row in results.rows.iter_mut().filter(|row| row.variant.ends_with(" two-cores")) {
        if rng.unit() < placing.moves || placing.first_rounds.is_some() {
            place = placing.draw(row.round, &mut rng);
        }
        probes.push(probe(row, "hand-over-before", place, &mut rng));
        row.sample.value *= if place == 0 { effect } else { 1.0 };
        if rng.unit() < placing.moves_within {
            place = placing.draw(row.round, &mut rng);
        }
        probes.push(probe(row, "hand-over-after", place, &mut rng));
    }
    results.rows.extend(probes);
    results
}

/// What a probe measures: one in twenty is disturbed as a whole. In one stretch of eight the host takes a CPU away.
fn probe(turn: &Row, metric: &str, place: usize, rng: &mut Rng) -> Row {
    let disturbed = if rng.unit() < 0.05 { 1.0 + 4.0 * rng.unit() } else { 1.0 };
    let typical_ns = TIMES_NS[place] * (0.02 * rng.normal()).exp() * disturbed;
    let stretch = |_| {
        let taken = if rng.unit() < 0.125 { 40.0 } else { 1.0 };
        typical_ns * (0.03 * rng.normal()).exp() * taken
    };
    let values: Vec<f64> = (0..22).map(stretch).collect();
    Row { sample: Sample::median_of(metric, &values, Check::Passed).unwrap(), ..turn.clone() }
}

fn findings(results: &Results) -> Vec<Sentence> {
    find("smt-kernels").unwrap().findings(results)
}

fn of<'a>(sentences: &'a [Sentence], what: &str) -> Option<&'a Sentence> {
    sentences.iter().find(|sentence| sentence.text.contains(what))
}

const COST: [&str; 2] = ["siblings, against near:", "siblings, against far:"];

#[test]
fn what_siblings_cost_is_found_with_its_size() {
    let found = findings(&run(WHITE, MOVING, 1.6, 1));
    let counts = of(&found, "siblings by chance: of 800 turns").expect("the counts");
    for class in ["siblings in ", "(10 ns)", "near in ", "(26 ns)", "far in ", "(15"] {
        assert!(counts.text.contains(class), "{counts:?}");
    }
    for cost in COST {
        let cost = of(&found, cost).expect("a verdict");
        assert_eq!(cost.standing, Standing::Shown, "{cost:?}");
        assert!(
            cost.text.contains("int_dbl +60.") || cost.text.contains("int_dbl +59."),
            "{cost:?}"
        );
    }
    let speed = of(&found, "siblings, against one alone").expect("the speed-up");
    assert_eq!(speed.standing, Standing::Shown, "{speed:?}");
}

#[test]
fn few_turns_of_siblings_give_no_verdict_and_say_why() {
    // In one process start alone, in two starts, and never.
    let starts_with_siblings = |starts: u32, rounds: u32| {
        let placing = Placing { first_rounds: Some(rounds), moves_within: 0.0, ..MOVING };
        let mut results = run(WHITE, placing, 3.0, 2);
        let has = |row: &Row| row.process >= starts && row.round < rounds;
        results.rows.retain(|row| !has(row));
        results
    };
    for (starts, rounds) in [(1, 10), (2, 10), (5, 0)] {
        let found = findings(&starts_with_siblings(starts, rounds));
        let why = of(&found, "is not measurable here").expect("a reason");
        assert_eq!(why.standing, Standing::NotMeasurable, "{why:?}");
        assert!(why.text.contains("siblings in ") && why.text.contains("near in "), "{why:?}");
        assert!(COST.iter().all(|cost| of(&found, cost).is_none()), "{found:?}");
    }
    let enough = findings(&starts_with_siblings(5, 10));
    assert_eq!(of(&enough, COST[0]).expect("a verdict").standing, Standing::Shown, "{enough:?}");
}

#[test]
fn a_machine_without_probes_says_nothing_of_chance() {
    let results = measured(WHITE, "smt-kernels", &design(8), &["time"], |_| 5e7, 3);
    let found = findings(&results);
    assert!(!found.is_empty() && found.iter().all(|it| !it.text.contains("siblings")), "{found:?}");
}

/// Where being siblings costs nothing, it is called a cost in at most 5 % of the sentences: placed at random, for long
/// stretches, or always at the beginning of a process start while the machine drifts.
#[test]
fn noise_is_called_a_cost_in_at_most_five_per_cent() {
    const RUNS: u64 = 8;
    let stretches = Placing { moves: 0.03, ..MOVING };
    let beginnings = Placing { first_rounds: Some(12), ..MOVING };
    let (mut all, mut shown) = (0.0, 0.0);
    for (name, placing) in [("often", MOVING), ("stretches", stretches), ("beginnings", beginnings)]
    {
        let (before, shown_before) = (all, shown);
        for noise in NOISES {
            let is_told = |seed: u64, is: &dyn Fn(&Sentence) -> bool| {
                let found = findings(&run(noise, placing, 1.0, seed));
                COST.iter().filter_map(|cost| of(&found, cost)).filter(|it| is(it)).count() as f64
            };
            for seed in 0..RUNS {
                all += is_told(seed, &|_| true);
                shown += is_told(seed, &|it| it.standing == Standing::Shown);
            }
        }
        println!("{name}: {} of {} shown falsely", shown - shown_before, all - before);
        assert!(all - before >= 50.0, "{name}: so few verdicts test nothing");
    }
    let most = 0.05 * all;
    assert!(shown <= most, "{shown} of {all}");
    // The same judgement finds what is there.
    let found = count(10, |seed| {
        let found = findings(&run(WHITE, MOVING, 1.05, seed));
        of(&found, COST[0]).is_some_and(|it| it.standing == Standing::Shown)
    });
    assert!(found >= 9.0, "{found} of 10");
}
