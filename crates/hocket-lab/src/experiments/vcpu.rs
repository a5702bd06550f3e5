//! `vcpu`: what a virtual machine does to those who pin threads.

mod lost;
mod told;

use std::time::Duration;

use super::siblings::{self, BARE, Pairs, UNDER, hypervisor, pairs_of, variants};
use crate::harness::{
    About, Design, Experiment, Host, Metric, NotMeasurable, Opened, Parameter, Plot, Results,
    Rounds, Section, Sentence, Size, Variant, standard_plots,
};

/// See [`About`].
pub struct Vcpu;

/// The longest stretch that a busy thread lost.
const GAP: &str = "gap";
/// The share of time that it lost.
const LOST: &str = "lost";
/// Of a thread that spins.
const TURN: [Duration; 2] = [Duration::from_millis(25), Duration::from_millis(50)];

static ABOUT: About = About {
    id: "vcpu",
    section: Section::Topology,
    question: "Does this virtual machine hide its topology?",
    origin: "new; a virtual CPU may share a core with another, or move, and the guest is not told",
    method: "Pairs of CPUs are measured as in `siblings` and held against what the system says. The hand-over of each pair \
             is followed over the run: another level means that the host has moved a CPU or lends its core. One \
             thread spins on each CPU and reads the clock: a gap above 50 µs in a turn in which the guest's kernel did \
             not put the thread aside was taken by the host, or by interrupts. Beside it stands the steal time that \
             the guest's kernel counts.",
    limits: "A move between equally near host CPUs is invisible, as is one that happens between runs. Long interrupts of \
             the guest are taken for gaps of the host. A host that is idle now shows little.",
    metrics: &[
        siblings::METRICS[0],
        siblings::METRICS[1],
        siblings::METRICS[2],
        siblings::METRICS[3],
        siblings::METRICS[4],
        Metric::less(GAP, "us")
            .means("The longest time between two readings of the clock by a thread that does nothing else, in a turn."),
        Metric::less(LOST, "%")
            .means("The share of the turn that lies in gaps above 50 µs between two readings."),
    ],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("gap-ns", &lost::LEAST_GAP_NS)],
};

impl Experiment for Vcpu {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let under = hypervisor().ok_or_else(|| {
            NotMeasurable::new("the processor names no hypervisor: this is no virtual machine")
        })?;
        let cpus = siblings::cpus(host, size.pick(6, 12));
        let spin =
            |cpu: &u32| Variant::new(format!("cpu {cpu}")).with(UNDER, &under).on(&[*cpu], None);
        let mut all = variants(host, &cpus);
        all.extend(cpus.iter().map(spin));
        let rounds =
            Rounds { processes: size.pick(3, 6), per_process: size.pick(24, 200), warm_up: 0 };
        Ok(Design::facts(all, rounds))
    }

    fn turn_ms(&self) -> f64 {
        47.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let pairs = pairs_of(design);
        let count = pairs.len();
        let mut pairs = match count {
            0 => None,
            _ => Some(Pairs::new(pairs, size).map_err(NotMeasurable::new)?),
        };
        let cpus: Vec<u32> =
            design.variants.iter().filter_map(|v| v.cpus.first().copied()).collect();
        let length = size.of(TURN);
        Ok(Box::new(move |variant: usize| match &mut pairs {
            // Pairs come first in the design.
            Some(pairs) if variant < count => pairs.turn(variant),
            _ => lost::turn(cpus[variant], length),
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        if results.is_wrong() { Vec::new() } else { told::sentences(results) }
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let mut plots = standard_plots(results);
        plots.extend(told::over_time(results));
        plots
    }
}

/// The hypervisor of the machine that the rows are of.
fn under(results: &Results) -> &str {
    let first = results.design().and_then(|design| design.variants.first());
    first.map_or(BARE, |variant| variant.level(UNDER))
}
