//! How often `hocket lab compare A B --fail-if ...` fails two runs of the same program, on simulated machines.

#[path = "../../../hocket-lab/tests/noise/mod.rs"]
mod noise;

use hocket_lab::harness::{Design, Results, Variant};

use super::condition::Change;
use noise::{NOISES, Noise, QUICK, WHITE, count, results, tolerated};

/// Three ways of waiting beside the one that they are compared with.
fn design() -> Design {
    let variants = ["futex", "spin", "pause", "hybrid"].map(Variant::new).to_vec();
    Design::against_first(variants, "lateness", QUICK.design_rounds())
}

fn run(noise: Noise, seed: u64, effect: impl Fn(&Variant) -> f64) -> Vec<Results> {
    vec![results(noise, "wake", &design(), effect, seed)]
}

fn changes(texts: &[&str]) -> Vec<Change> {
    texts.iter().map(|text| Change::parse(text).expect("a condition")).collect()
}

/// Whether the command ends with exit code 1 for this pair of runs.
fn fails(gate: &[Change], noise: Noise, pair: u64, effect: impl Fn(&Variant) -> f64) -> bool {
    let (before, after) = (run(noise, 2 * pair, |_| 1.0), run(noise, 2 * pair + 1, effect));
    !Change::holding(gate, &before, &after).expect("comparable").is_empty()
}

/// In whatever number of conditions a gate has: any of them fails it.
#[test]
fn equal_programs_fail_the_gate_in_at_most_five_per_cent() {
    const PAIRS: u64 = 25;
    let one = changes(&["wake.lateness > 0%"]);
    let several = changes(&[
        "wake.lateness > 0%",
        "wake.lateness < 0%",
        "wake.lateness[spin] > 0%",
        "wake.lateness[hybrid] < 0%",
    ]);
    for gate in [one, several] {
        let mut failed = 0.0;
        for noise in NOISES {
            let own = count(PAIRS, |pair| fails(&gate, noise, pair, |_| 1.0));
            let conditions = gate.len();
            assert!(
                own <= tolerated(PAIRS as f64),
                "{}, {conditions} conditions: {own}",
                noise.name
            );
            failed += own;
        }
        let all = (PAIRS * NOISES.len() as u64) as f64;
        assert!(failed <= tolerated(all), "{failed} of {all}");
    }
}

#[test]
fn a_variant_that_became_slower_fails_the_gate() {
    const PAIRS: u64 = 20;
    let slower = |variant: &Variant| if variant.name == "pause" { 1.15 } else { 1.0 };
    let failed = |gate: &[&str]| {
        let gate = changes(gate);
        count(PAIRS, |pair| fails(&gate, WHITE, pair, slower))
    };
    assert!(failed(&["wake.lateness > 5%"]) >= 0.8 * PAIRS as f64);
    assert!(failed(&["wake.lateness > 5%", "wake.lateness < -5%"]) >= 0.8 * PAIRS as f64);
    assert_eq!(failed(&["wake.lateness < -5%"]), 0.0);
    assert_eq!(failed(&["wake.lateness[spin] > 5%"]), 0.0);
}
