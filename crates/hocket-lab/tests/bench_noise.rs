//! What a report of `hocket bench` calls shown, on simulated machines and on the records of real ones.
//!
//! The simulated machine has what makes real benches wrong: every engine of a process start is a little faster or
//! slower than its equals for the whole start (its place in memory), rounds resemble their neighbours, some are
//! disturbed, and the clock drifts. The record goes through [`Analysis::of`], as every report does.

mod fixture;

use std::path::Path;

use hocket_lab::record::{BenchRecord, Round};
use hocket_lab::report::{Analysis, Baseline, Judgement, MAX_SLOWER};
use hocket_lab::stats::{self, Rng};

/// What a simulated machine does. Relative figures: 0.01 is one per cent.
#[derive(Clone, Copy)]
struct Noise {
    name: &'static str,
    /// Of one engine in one start, normal.
    place: f64,
    /// How often such a place is four times as far off.
    far: f64,
    /// Of one engine in one round, and how much of it the next round keeps.
    own: f64,
    memory: f64,
    /// Of all engines in one round, kept as much.
    common: f64,
    /// How often a turn is disturbed and takes 1.5 times as long.
    stall: f64,
    /// From the first to the last round.
    drift: f64,
    /// Of all engines in all rounds of one run: clock, heat, neighbours.
    run: f64,
}

const PLACES: Noise = Noise {
    name: "places",
    place: 0.01,
    far: 0.0,
    own: 0.005,
    memory: 0.0,
    common: 0.02,
    stall: 0.02,
    drift: 0.0,
    run: 0.01,
};
const NOISES: [Noise; 4] = [
    PLACES,
    Noise { name: "heavy tails", far: 0.1, stall: 0.1, ..PLACES },
    Noise { name: "memory, drift", place: 0.008, own: 0.01, memory: 0.8, drift: 0.2, ..PLACES },
    Noise { name: "rounds only", place: 0.0, own: 0.02, memory: 0.5, ..PLACES },
];

const STARTS: usize = 5;
const ROUNDS: usize = 4;
/// The reference, four others, and the twin.
const ENGINES: usize = 6;

/// Rounds of one engine after the other, in one start.
struct Engine {
    place: f64,
    own: f64,
}

/// A record of as many starts and rounds as `hocket bench` takes by default; `effect` is the true ratio of the
/// first variant after the reference.
fn simulated(noise: Noise, effect: f64, seed: u64) -> BenchRecord {
    let mut rng = Rng::new(seed);
    let rounds = STARTS * ROUNDS;
    let shape = fixture::Shape { seed, pairs: true, rounds, blocks_per_round: 1, load: 0.3 };
    let mut record = shape.record();
    record.variants.remove(5);
    let run = noise.run * Rng::new(!seed).normal();
    for start in 0..STARTS {
        let mut engines: Vec<Engine> =
            (0..ENGINES).map(|_| Engine { place: place(noise, &mut rng), own: 0.0 }).collect();
        let mut common = 0.0;
        for round in start * ROUNDS..(start + 1) * ROUNDS {
            common = next(common, noise.common, noise.memory, &mut rng);
            let drift = noise.drift * round as f64 / rounds as f64;
            for (index, engine) in engines.iter_mut().enumerate() {
                engine.own = next(engine.own, noise.own, noise.memory, &mut rng);
                let stall = if rng.unit() < noise.stall { 1.5 } else { 1.0 };
                let true_ratio = if index == 1 { effect } else { 1.0 };
                let slow = (run + common + drift + engine.place + engine.own).exp() * stall;
                set(&mut record.variants[index].rounds[round], 400_000.0 * true_ratio * slow);
            }
        }
    }
    record
}

fn place(noise: Noise, rng: &mut Rng) -> f64 {
    let far = if rng.unit() < noise.far { 4.0 } else { 1.0 };
    noise.place * far * rng.normal()
}

fn next(before: f64, size: f64, memory: f64, rng: &mut Rng) -> f64 {
    memory * before + (1.0 - memory * memory).sqrt() * size * rng.normal()
}

fn set(round: &mut Round, ns: f64) {
    round.duration_ns = vec![ns as i64];
}

/// What is said of the variants that may differ.
fn judged(record: &BenchRecord) -> Vec<stats::Judgement> {
    let analysis = Analysis::of(record);
    assert_eq!(analysis.starts, STARTS);
    let rows = analysis.rows.iter().filter_map(|row| analysis.judgement(row));
    rows.filter_map(|it| if let Judgement::Judged(it) = it { Some(it) } else { None }).collect()
}

/// So many of `n` are the most that 5 % give in all but one of 1000 cases.
fn tolerated(n: f64) -> f64 {
    0.05 * n + 3.09 * (n * 0.05 * 0.95).sqrt()
}

#[test]
fn five_equal_variants_are_called_different_in_at_most_five_per_cent_of_runs() {
    const RUNS: u64 = 100;
    let (mut shown, mut apart) = (0.0, 0.0);
    for noise in NOISES {
        let (before, far) = (shown, apart);
        for seed in 0..RUNS {
            let record = simulated(noise, 1.0, seed);
            let judged = judged(&record);
            assert_eq!(judged.len(), ENGINES - 2);
            shown += f64::from(u8::from(judged.iter().any(|it| it.is_shown())));
            let said = |it: &stats::Judgement| *it != stats::Judgement::NotShown;
            apart += f64::from(u8::from(judged.iter().any(said)));
        }
        println!(
            "{:15} shown in {}, an interval apart in {}",
            noise.name,
            shown - before,
            apart - far
        );
    }
    let all = (RUNS * NOISES.len() as u64) as f64;
    // The verdict holds 5 % outright; the intervals alone, all of a run together, within chance.
    assert!(shown <= 0.05 * all, "{shown} of {all}");
    assert!(apart <= tolerated(all), "{apart} of {all}");
}

#[test]
fn five_per_cent_are_found_in_most_runs() {
    const RUNS: u64 = 60;
    for noise in [PLACES, NOISES[3]] {
        let found =
            (0..RUNS).filter(|seed| judged(&simulated(noise, 1.05, *seed))[0].is_more()).count();
        println!("{:15} found in {found} of {RUNS}", noise.name);
        assert!(found as f64 > 0.7 * RUNS as f64, "{}: {found}", noise.name);
    }
}

/// The gate's runs: the reference and its twin, measured at a time of its own.
fn run_of(noise: Noise, slowdown: f64, seed: u64) -> BenchRecord {
    let mut record = simulated(noise, 1.0, seed);
    record.variants.drain(1..ENGINES - 1);
    record.started_at = format!("run {seed}");
    for round in record.variants.iter_mut().flat_map(|variant| &mut variant.rounds) {
        let ns = round.duration_ns[0] as f64 * slowdown;
        set(round, ns);
    }
    record
}

/// In how many of `gates` pipelines so many baselines call the present program slower, which is so many times as slow.
fn gate_fails(noise: Noise, (baselines, percent): (u64, f64), slowdown: f64, gates: u64) -> u64 {
    let fails = |seed: &u64| {
        let first = seed * (baselines + 1);
        let before: Vec<BenchRecord> =
            (first..first + baselines).map(|seed| run_of(noise, 1.0, seed)).collect();
        let now = run_of(noise, slowdown, first + baselines);
        let gate = Baseline::of(&before, &now).expect("comparable");
        assert_eq!(gate.undecided(), None);
        !gate.slower(percent).is_empty()
    };
    (0..gates).filter(fails).count() as u64
}

/// With one baseline the bound has to be as large as runs differ; three say what that is.
fn check_equal_programs_pass(noise: Noise, gates: u64) {
    let one = gate_fails(noise, (1, MAX_SLOWER), 1.0, gates);
    let three = gate_fails(noise, (3, 0.0), 1.0, gates);
    println!("{:15} one baseline fails {one}, three fail {three} of {gates}", noise.name);
    assert!(one <= gates / 50, "{}: {one}", noise.name);
    assert!(three as f64 <= tolerated(gates as f64), "{}: {three}", noise.name);
}

#[test]
fn equal_programs_pass_the_gate() {
    for noise in NOISES {
        check_equal_programs_pass(noise, 12);
    }
    // One start is like the next and one run is not: what runs differ by is in no interval of starts.
    let place = 0.003;
    let runs = Noise { name: "runs", place, own: 0.002, common: 0.002, stall: 0.0, ..PLACES };
    check_equal_programs_pass(runs, 60);
}

#[test]
fn slower_programs_fail_the_gate() {
    const GATES: u64 = 20;
    for noise in [PLACES, NOISES[3]] {
        for gate in [(1, MAX_SLOWER), (3, 0.0)] {
            let found = gate_fails(noise, gate, 1.15, GATES);
            println!("{:15} {gate:?} finds 15 % in {found} of {GATES}", noise.name);
            assert!(found as f64 > 0.7 * GATES as f64, "{}, {gate:?}: {found}", noise.name);
        }
    }
}

/// The same noise in one start, however many rounds it has, shows nothing.
#[test]
fn one_start_shows_nothing() {
    let mut record = simulated(PLACES, 1.5, 1);
    for variant in &mut record.variants {
        variant.rounds.iter_mut().for_each(|round| round.start = 0);
    }
    let analysis = Analysis::of(&record);
    for row in &analysis.rows[1..5] {
        let judgement = Judgement::Judged(stats::Judgement::TooFewStarts);
        assert_eq!(analysis.judgement(row), Some(judgement));
        assert!(row.measured.as_ref().unwrap().typical.unwrap().interval().is_none());
    }
    let findings = analysis.headline().findings.join("\n");
    assert!(findings.contains("1 process start, and a verdict needs 5"), "{findings}");
    assert!(!findings.contains("Slowest") && !findings.contains("are noise here"), "{findings}");
}

/// Four of these called policies faster or slower that are one and the same on their machine.
#[test]
fn the_committed_records_of_one_start_show_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("bench-") || !name.ends_with(".json") {
            continue;
        }
        let record = BenchRecord::read(&path).unwrap();
        if record.settings.starts > 1 {
            continue;
        }
        seen += 1;
        let analysis = Analysis::of(&record);
        let shown = |row| analysis.judgement(row).is_some_and(Judgement::is_shown);
        assert!(!analysis.rows.iter().any(shown), "{name}");
        let findings = analysis.headline().findings;
        assert!(!findings.iter().any(|it| it.starts_with("Fastest")), "{name}: {findings:?}");
    }
    println!("{seen} records of one start");
}
