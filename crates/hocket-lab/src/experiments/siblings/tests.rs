//! One turn of each pair of this machine, and the verdicts of made-up rows.

use super::*;
use crate::harness::{Check, ExperimentRun, Quantiles, Row, Sample, Standing, Variant};

#[test]
fn turns_pass_their_checks() {
    let host = Host::discover().unwrap();
    let Ok(design) = Siblings.design(&host, Size::Quick) else {
        println!("SKIPPED turns_pass_their_checks: two CPUs are needed");
        return;
    };
    let mut pairs = Pairs::new(pairs_of(&design), Size::Quick).unwrap();
    // The plan asks for latencies first, then for contention of the nearest.
    let samples: Vec<Sample> = (0..2).flat_map(|_| pairs.turn(0).unwrap()).collect();
    assert!(samples.iter().all(|s| s.check == Check::Passed && s.value > 0.0), "{samples:?}");
    assert!(design.variants.len() > 1 || samples.len() == 6, "{samples:?}");
}

/// Four CPUs, of which 0 and 2 as well as 1 and 3 are siblings; the system says `says` of those.
fn rows_of_two_cores(says: &str) -> Results {
    let mut variants = Vec::new();
    let mut rows = Vec::new();
    for (a, b) in [(0, 2), (0, 1), (0, 3), (2, 1), (2, 3), (1, 3)] {
        let siblings = (a, b) == (0, 2) || (a, b) == (1, 3);
        let said = if siblings { says } else { "apart" };
        let name = format!("cpus {a} {b}");
        variants
            .push(Variant::new(&name).with(pairs::SAID, said).with(UNDER, "KVM").on(&[a, b], None));
        let (latency, slowdown) = if siblings { (7.0, 1.6) } else { (40.0, 1.0) };
        for round in 0..3 {
            rows.push(row(&name, [a, b], round, HAND_OVER, latency));
            for (_, metric) in contend::METRICS {
                rows.push(row(&name, [a, b], round, metric, slowdown));
            }
        }
    }
    let design = Some(Design::facts(variants, Rounds::usual(Size::Quick)));
    let run = ExperimentRun { design, ..ExperimentRun::new(ABOUT.id, Size::Quick) };
    Results { run, rows, seed: 1, historic: Vec::new() }
}

fn row(variant: &str, cpus: [u32; 2], round: u32, metric: &str, value: f64) -> Row {
    let spread: Vec<f64> = [0.99, 1.0, 1.01].iter().map(|factor| factor * value).collect();
    let mut sample = Sample::new(metric, value, 3, Check::Passed);
    sample.distribution = Quantiles::of(&spread);
    let started_ns = u64::from(round) * 1_000_000_000;
    Row { cpus: cpus.to_vec(), started_ns, ..Row::new(variant, 0, round, sample) }
}

#[test]
fn pairs_are_found_from_rows_alone_and_agree_with_the_system() {
    let told = Siblings.verdicts(&rows_of_two_cores("siblings"));
    assert!(told[0].text.contains("0 and 2; 1 and 3"), "{told:?}");
    assert!(told[1].text.contains("agree on 6 pairs"), "{told:?}");
    assert!(told[..2].iter().all(|sentence| sentence.standing == Standing::Shown), "{told:?}");
}

#[test]
fn hidden_siblings_are_told() {
    let results = rows_of_two_cores("apart");
    let told = Siblings.verdicts(&results);
    assert!(told[1].text.contains("(KVM) hides siblings"), "{told:?}");
    let told = crate::experiments::vcpu::Vcpu.verdicts(&results);
    assert!(told[0].text.contains("hides its topology"), "{told:?}");
}

#[test]
fn the_heat_map_is_ordered_by_topology_with_lines_after_cores() {
    let plots = Siblings.plots(&rows_of_two_cores("siblings"));
    let Plot::Heat { rows, cells, borders, .. } = &plots[0] else { panic!("{plots:?}") };
    assert_eq!(rows, &["CPU 0", "CPU 2", "CPU 1", "CPU 3"]);
    assert_eq!(borders, &[1]);
    assert_eq!((cells[0][0], cells[0][1], cells[3][0]), (None, Some(7.0), Some(40.0)));
}
