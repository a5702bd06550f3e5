//! What a report of `hocket bench` calls shown, on simulated machines and on the records of real ones. The record goes
//! through [`Analysis`], as every report does.

mod fixture;
mod noisy_bench;

use std::path::Path;

use hocket_lab::record::BenchRecord;
use hocket_lab::report::{Analysis, Baseline, Judgement, MAX_SLOWER, html};
use hocket_lab::stats;

use noisy_bench::{
    ENGINES, EQUAL, HEAVY, NOISES, Noise, PLACES, ROUNDS_ONLY, STARTS, Truth, record, run_of,
    simulated, tolerated,
};

/// What is said of the variants that may differ.
fn judged(record: &BenchRecord) -> Vec<stats::Judgement> {
    let analysis = Analysis::of(record);
    assert_eq!(analysis.starts, STARTS);
    let rows = analysis.rows.iter().filter_map(|row| analysis.judgement(row));
    rows.filter_map(|it| if let Judgement::Judged(it) = it { Some(it) } else { None }).collect()
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
    for noise in [PLACES, ROUNDS_ONLY] {
        let found =
            (0..RUNS).filter(|seed| judged(&simulated(noise, 1.05, *seed))[0].is_more()).count();
        println!("{:15} found in {found} of {RUNS}", noise.name);
        assert!(found as f64 > 0.7 * RUNS as f64, "{}: {found}", noise.name);
    }
}

/// Every way in which a report calls variants different, besides the table's verdict on p50.
const KINDS: [&str; 4] = ["findings on speed", "p99", "undisturbed rounds", "neighbours"];

/// Which of [`KINDS`] call some variant different, in the words of the page.
fn called_different(record: &BenchRecord) -> [bool; 4] {
    let findings = Analysis::of(record).headline().findings;
    let found = |words: &[&str]| {
        findings.iter().any(|it| words.iter().any(|begins| it.starts_with(begins)))
    };
    let page = html(record);
    let told = |begins: &str| {
        let sentence = page.split(begins).nth(1).and_then(|rest| rest.split("</p>").next());
        sentence.is_some_and(|words| words.contains("faster") || words.contains("slower"))
    };
    [
        found(&["Fastest", "Shorter", "Slowest", "Longer"]),
        told("What the changes of p99 show: "),
        told("The changes without the rounds in which "),
        found(&["The disturber"]),
    ]
}

/// Long enough turns for a tail.
const WITH_TAIL: Truth = Truth { blocks_per_turn: 100, ..EQUAL };

#[test]
fn every_verdict_on_equal_variants_is_wrong_in_at_most_five_per_cent_of_runs() {
    const RUNS: u64 = 30;
    let mut all = [0.0; KINDS.len()];
    for noise in NOISES {
        let mut own = [0.0; KINDS.len()];
        for seed in 0..RUNS {
            let called = called_different(&record(noise, WITH_TAIL, seed));
            own.iter_mut().zip(called).for_each(|(count, is)| *count += f64::from(u8::from(is)));
        }
        println!("{:15} {KINDS:?} {own:?} of {RUNS}", noise.name);
        for (kind, count) in KINDS.iter().zip(own) {
            assert!(count <= tolerated(RUNS as f64), "{kind}, {}: {count}", noise.name);
        }
        all.iter_mut().zip(own).for_each(|(all, own)| *all += own);
    }
    let runs = (RUNS * NOISES.len() as u64) as f64;
    for (kind, count) in KINDS.iter().zip(all) {
        assert!(count <= tolerated(runs), "{kind}: {count} of {runs}");
    }
}

#[test]
fn every_verdict_finds_what_is_there_in_most_runs() {
    const RUNS: u64 = 15;
    let mut truth = WITH_TAIL;
    truth.blocks[1] = 1.08;
    truth.tails[2] = 1.6;
    truth.neighbours[3] = 0.7;
    let mut found = [0.0; KINDS.len()];
    for seed in 0..RUNS {
        let called = called_different(&record(PLACES, truth, seed));
        found.iter_mut().zip(called).for_each(|(count, is)| *count += f64::from(u8::from(is)));
    }
    println!("{KINDS:?} found in {found:?} of {RUNS}");
    for (kind, count) in KINDS.iter().zip(found) {
        assert!(count > 0.7 * RUNS as f64, "{kind}: {count} of {RUNS}");
    }
    let mut tail = WITH_TAIL;
    tail.tails[2] = 1.6;
    let called = called_different(&record(PLACES, tail, 1));
    assert!(called[1] && !called[0], "a longer tail is no longer median: {called:?}");
}

/// Findings on speed of a run in which these are true.
fn first_of_all(noise: Noise, truth: Truth, seed: u64) -> Option<String> {
    let findings = Analysis::of(&record(noise, truth, seed)).headline().findings;
    findings.into_iter().find(|it| it.starts_with("Fastest"))
}

/// That one of two equal variants is the fastest of all is another claim than that both are shorter.
#[test]
fn the_first_of_two_equal_variants_is_named_in_at_most_five_per_cent_of_runs() {
    const RUNS: u64 = 40;
    let mut two = EQUAL;
    (two.blocks[1], two.blocks[3]) = (0.88, 0.88);
    let mut one = EQUAL;
    one.blocks[1] = 0.88;
    let mut named = 0;
    for noise in NOISES {
        let own = (0..RUNS).filter(|seed| first_of_all(noise, two, *seed).is_some()).count();
        println!("{:15} one of two is named in {own} of {RUNS}", noise.name);
        assert!(own as f64 <= tolerated(RUNS as f64), "{}: {own}", noise.name);
        named += own;
    }
    assert!(named as f64 <= tolerated((RUNS * NOISES.len() as u64) as f64), "{named}");
    for noise in [PLACES, ROUNDS_ONLY] {
        let own = (0..RUNS).filter(|seed| first_of_all(noise, one, *seed).is_some()).count();
        println!("{:15} the first is named in {own} of {RUNS}", noise.name);
        assert!(own as f64 > 0.7 * RUNS as f64, "{}: {own}", noise.name);
    }
}

/// Whether the headline says that some variants hold and others do not.
fn tells_holding_apart(noise: Noise, truth: Truth, seed: u64) -> bool {
    let verdict = Analysis::of(&record(noise, truth, seed)).headline().verdict;
    verdict.contains("late blocks with ")
}

/// Near the deadline an engine that is a few per cent slower for a whole start is late in all turns of that start.
#[test]
fn equal_variants_are_told_apart_by_late_blocks_in_at_most_five_per_cent_of_runs() {
    const RUNS: u64 = 40;
    let calm = |noise: Noise| Noise { common: 0.003, stall: 0.0, run: 0.0, ..noise };
    let mut all = 0;
    let mut runs = 0;
    for noise in [PLACES, HEAVY] {
        for load in [0.95, 0.97, 0.985] {
            let truth = Truth { load, ..EQUAL };
            let told = |seed: &u64| tells_holding_apart(calm(noise), truth, *seed);
            let own = (0..RUNS).filter(told).count();
            println!("{:15} load {load}: told apart in {own} of {RUNS}", noise.name);
            assert!(own as f64 <= tolerated(RUNS as f64), "{}, {load}: {own}", noise.name);
            (all, runs) = (all + own, runs + RUNS);
        }
    }
    assert!(all as f64 <= tolerated(runs as f64), "{all} of {runs}");
    let mut late = Truth { load: 0.85, ..EQUAL };
    late.blocks[2] = 1.25;
    let told = (0..20).filter(|seed| tells_holding_apart(calm(PLACES), late, *seed)).count();
    assert!(told >= 18, "{told} of 20");
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

/// The verdict that the table prints for the one variant of a gate.
fn printed(noise: Noise, baselines: u64, slowdown: f64, seed: u64) -> String {
    let first = seed * (baselines + 1);
    let before: Vec<BenchRecord> =
        (first..first + baselines).map(|seed| run_of(noise, 1.0, seed)).collect();
    let now = run_of(noise, slowdown, first + baselines);
    let text = Baseline::of(&before, &now).expect("comparable").text();
    let row = text.lines().find(|line| line.contains(" % [")).expect("a row");
    row.rsplit(']').next().unwrap_or_default().trim().to_string()
}

/// Whatever a gate's bound is, the table says that a program changed only where it did.
#[test]
fn the_table_of_a_baseline_calls_equal_programs_different_in_at_most_five_per_cent() {
    const TABLES: u64 = 30;
    for baselines in [1, 2, 3, 5] {
        let differs = |noise: Noise, slowdown| {
            let is = |seed: &u64| {
                let verdict = printed(noise, baselines, slowdown, *seed);
                ["differs", "slower", "faster"].contains(&verdict.as_str())
            };
            (0..TABLES).filter(is).count() as f64
        };
        let mut all = 0.0;
        for noise in NOISES {
            let own = differs(noise, 1.0);
            println!("{:15} {baselines} baselines: {own} of {TABLES}", noise.name);
            assert!(own <= tolerated(TABLES as f64), "{}, {baselines}: {own}", noise.name);
            all += own;
        }
        assert!(all <= tolerated((TABLES * NOISES.len() as u64) as f64), "{baselines}: {all}");
        // Two baselines may be far apart by chance, and then nothing is shown.
        let found = differs(PLACES, 1.2);
        println!("{baselines} baselines find 20 % in {found} of {TABLES}");
        assert!(found > 0.7 * TABLES as f64, "{baselines}: {found}");
    }
}

#[test]
fn slower_programs_fail_the_gate() {
    const GATES: u64 = 20;
    for noise in [PLACES, ROUNDS_ONLY] {
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
