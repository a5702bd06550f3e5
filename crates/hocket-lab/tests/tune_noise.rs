//! How often `hocket tune` writes a difference into a profile that is not there, on simulated machines.

mod noise;

use hocket_lab::experiments::find;
use hocket_lab::harness::{Design, Results, Rounds, Size, Variant};
use hocket_lab::tune::{Evidence, Profile, derive};
use hocket_machine::facts::{self, MachineFacts};
use hocket_plan::{ScheduleKind, SiblingPolicy};

use noise::{NOISES, Noise, ROUGH, WHITE, count, measured, only, tolerated, two_cores_with_smt};

const ROUNDS: Rounds = Rounds { processes: 5, per_process: 8, warm_up: 0 };

/// What may differ in rows.
type Effect = fn(&str) -> f64;

fn equal(_: &str) -> f64 {
    1.0
}

/// What a profile is derived from: the designs of a machine with SMT.
struct Tuned {
    facts: MachineFacts,
    experiments: Vec<(&'static str, &'static str, Design)>,
}

impl Tuned {
    fn of(experiments: Vec<(&'static str, &'static str, Design)>) -> Tuned {
        for (id, _, design) in &experiments {
            assert_eq!(design.fault(), None, "{id}");
        }
        Tuned { facts: facts::read(), experiments }
    }

    /// The profile of a run in which the rows of each experiment have such an effect.
    fn profile(&self, noise: Noise, effect: Effect, seed: u64) -> Profile {
        let rows = |(at, (id, metric, design)): (usize, &(&str, &str, Design))| -> Results {
            let truth = |variant: &Variant| 1e5 * effect(&variant.name);
            measured(noise, id, design, &[*metric], truth, 100 * seed + at as u64)
        };
        let all = self.experiments.iter().enumerate().map(rows).collect();
        let topology = two_cores_with_smt().topology;
        let (from, made) = ("run 1".into(), "2026-01-01T00:00:00Z".into());
        derive(&Evidence::new(all), &self.facts, &topology, from, made).expect("a profile")
    }

    /// In at most 5 % of runs a profile has it.
    fn check_rare(&self, what: &str, effect: Effect, has: impl Fn(&Profile) -> bool) {
        const RUNS: u64 = 14;
        let mut all = 0.0;
        let noises = || NOISES.into_iter().chain(ROUGH);
        for noise in noises() {
            let own = count(RUNS, |seed| has(&self.profile(noise, effect, seed)));
            println!("{what}: {:16} {own} of {RUNS}", noise.name);
            assert!(own <= tolerated(RUNS as f64), "{what}, {}: {own}", noise.name);
            all += own;
        }
        let runs = RUNS as f64 * noises().count() as f64;
        assert!(all <= tolerated(runs), "{what}: {all} of {runs}");
    }

    /// In most runs a profile has it.
    fn check_usual(&self, what: &str, effect: Effect, has: impl Fn(&Profile) -> bool) {
        const RUNS: u64 = 20;
        let found = count(RUNS, |seed| has(&self.profile(WHITE, effect, seed)));
        println!("{what}: {found} of {RUNS}");
        assert!(found >= 0.85 * RUNS as f64, "{what}: {found}");
    }
}

fn design_of(id: &str, keep: impl Fn(&Variant) -> bool) -> Design {
    let design = find(id).expect(id).design(&two_cores_with_smt(), Size::Quick).expect(id);
    only(design, ROUNDS, keep)
}

/// The ways of playing 64 frames that every machine has.
fn schedules() -> (&'static str, &'static str, Design) {
    let keep = |variant: &Variant| {
        let [frames, wait] = ["frames", "wait"].map(|factor| variant.level(factor));
        frames == "64" && ["hybrid", "futex", "pause"].contains(&wait)
    };
    ("schedules", "duration", design_of("schedules", keep))
}

fn has_workers(profile: &Profile) -> bool {
    profile.blocks.iter().any(|block| block.schedule != ScheduleKind::Serial)
}

fn is_serial(profile: &Profile) -> bool {
    profile.blocks.iter().any(|block| block.schedule == ScheduleKind::Serial)
}

#[test]
fn workers_are_recommended_for_equal_ways_in_at_most_five_per_cent_of_runs() {
    let tuned = Tuned::of(vec![schedules()]);
    tuned.check_rare("workers", equal, has_workers);
    let shorter: Effect = |name| if name == "64 steal off hybrid" { 0.85 } else { 1.0 };
    tuned.check_usual("the way that is shorter", shorter, |profile| {
        profile.blocks.iter().any(|block| block.schedule == ScheduleKind::Steal)
    });
}

/// That no way is much shorter is a verdict, too: where nothing is known, nothing is recommended.
#[test]
fn the_serial_walk_is_recommended_where_a_way_is_shorter_in_at_most_five_per_cent_of_runs() {
    let tuned = Tuned::of(vec![schedules()]);
    let shorter: Effect = |name| if name == "64 steal off hybrid" { 0.85 } else { 1.0 };
    tuned.check_rare("the serial walk", shorter, is_serial);
    let longer: Effect = |name| if name == "64 serial" { 1.0 } else { 1.2 };
    tuned.check_usual("the serial walk", longer, is_serial);
}

#[test]
fn a_sibling_policy_that_does_not_help_is_recommended_in_at_most_five_per_cent_of_runs() {
    const POLICIES: [&str; 4] = ["off", "process-affinity", "reserve-core", "idle-thread"];
    let keep = |variant: &Variant| {
        variant.level("load") == "disturbed" && POLICIES.contains(&variant.level("policy"))
    };
    let protection = design_of("protection", keep);
    assert_eq!(protection.variants.len(), POLICIES.len());
    let tuned = Tuned::of(vec![schedules(), ("protection", "duration-p99", protection)]);
    // The serial walk is far the shortest, so that there is a recommendation.
    let serial: Effect = |name| match name.strip_prefix("64 ") {
        Some("serial") | None => 1.0,
        Some(_) => 2.0,
    };
    let helps =
        |profile: &Profile| profile.blocks.iter().any(|block| block.policy != SiblingPolicy::Off);
    tuned.check_rare("a policy", serial, helps);
    let idle: Effect = |name| match name {
        "64 serial" => 1.0,
        "idle-thread disturbed" => 0.85,
        _ if name.starts_with("64 ") => 2.0,
        _ => 1.0,
    };
    tuned.check_usual("the policy that helps", idle, |profile| {
        profile.blocks.iter().any(|block| block.policy == SiblingPolicy::IdleThread)
    });
}

/// Of schedules as little as makes a profile, so that it costs nothing.
fn one_way() -> (&'static str, &'static str, Design) {
    ("schedules", "duration", design_of("schedules", |variant| variant.name == "64 serial"))
}

#[test]
fn equal_seats_get_other_speeds_in_at_most_five_per_cent_of_runs() {
    let keep = |variant: &Variant| variant.name.starts_with("biquads ");
    let tuned = Tuned::of(vec![one_way(), ("core-speed", "time", design_of("core-speed", keep))]);
    let differ = |profile: &Profile| {
        assert_eq!(profile.seats.len(), 4);
        profile.seats.iter().any(|seat| seat.measured != 1.0)
    };
    tuned.check_rare("speeds of seats", equal, differ);
    let has_loss = |profile: &Profile| profile.together.pair_speed.is_some();
    tuned.check_rare("a loss beside a sibling", equal, has_loss);
    let slow: Effect = |name| match name {
        "biquads cpu3 alone" => 1.3,
        _ if name.ends_with("busy-sibling") => 1.5,
        _ => 1.0,
    };
    tuned.check_usual("a slow seat", slow, |profile| {
        profile.seats.iter().any(|seat| seat.cpu == 3 && seat.speed < 0.9)
    });
    tuned.check_usual("a loss beside a sibling", slow, has_loss);
}

#[test]
fn waits_that_cost_a_sibling_nothing_get_a_price_in_at_most_five_per_cent_of_runs() {
    const WAITS: [&str; 4] = ["spin", "pause", "futex", "hybrid"];
    let wakes = WAITS.map(|wait| Variant::new(format!("{wait} ordinary idle")));
    let wakes = Design::facts(wakes.to_vec(), ROUNDS).twinned();
    let beside = WAITS.map(|wait| Variant::new(format!("{wait} siblings")));
    let beside = [vec![Variant::new("empty siblings")], beside.to_vec()].concat();
    let beside = Design::against_first(beside, "time", ROUNDS);
    let tuned =
        Tuned::of(vec![one_way(), ("wake", "lateness", wakes), ("idle-cost", "time", beside)]);
    let costs = |profile: &Profile| {
        assert_eq!(profile.waits.len(), WAITS.len());
        profile.waits.iter().any(|wait| wait.sibling_cost_percent != Some(0.0))
    };
    tuned.check_rare("a price", equal, costs);
    let spins: Effect = |name| if name == "spin siblings" { 1.2 } else { 1.0 };
    tuned.check_usual("a price", spins, costs);
}
