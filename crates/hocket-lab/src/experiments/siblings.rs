//! `siblings`: who shares a core, by measurement.

mod measured_cpus;
mod contend;
mod evidence;
mod hand_over;
mod pairs;
mod told;
mod verify;

pub(crate) use evidence::{Evidence, figure};
pub(crate) use hand_over::hand_over;
pub(crate) use measured_cpus::cpus;
pub(crate) use pairs::{BARE, Pairs, UNDER, hypervisor, pairs_of, variants};
pub use verify::{Verification, verify};

use crate::harness::{
    About, Design, Experiment, Host, Metric, NotMeasurable, Opened, Parameter, Plot, Results,
    Rounds, Section, Sentence, Size,
};

/// See [`About`].
pub struct Siblings;

/// The metric of latency.
pub(crate) const HAND_OVER: &str = "hand-over";

/// What the figures of pairs are; `vcpu` measures the same.
pub(crate) const METRICS: [Metric; 5] = [
    Metric::less(HAND_OVER, "ns")
        .means("One-way hand-over of a cache line between two pinned threads that increment one counter in \
                turn by compare-and-exchange: half of a round trip, median over stretches of 100 round trips."),
    slowdown(
        "slowdown-integer",
        "Independent integer additions and shifts, side by side against apart: the quotient of the \
         times of the CPU that slows down more, median over the repeats of a trial. Time: median over pieces of 40 µs.",
    ),
    slowdown("slowdown-float", "The same for floating-point multiplications and additions."),
    slowdown("slowdown-cache", "The same for reads of 16 KiB in the first-level data cache."),
    slowdown("slowdown-load-store", "The same for loads and stores within 16 KiB."),
];

const fn slowdown(name: &'static str, definition: &'static str) -> Metric {
    Metric::less(name, "").means(definition)
}

static ABOUT: About = About {
    id: "siblings",
    section: Section::Topology,
    question: "Who shares a core?",
    origin: "section 7.2.4 and figure 41 of the 2009 thesis on SMT in audio engines",
    method: "Two kinds of evidence, which must agree. Latency: every pair of CPUs hands a cache line to and fro. \
             Contention: pairs run integer, floating-point, cache and load/store kernels side by side, and each CPU \
             beside one that is far away (alone, where there is no third CPU). Latencies of all pairs come first; \
             contention is tried where they leave a choice: nearest neighbours, a random sample, the edges of each \
             group found, until the plan has enough; then it begins again. A pair is `siblings` if it contends in \
             most kernels and is nearer to each other than to anybody else, `apart` if it does not contend, and \
             `unknown` where the two disagree or vary too much. The answer is set beside what the system says.",
    limits: "On two CPUs a clock that falls when both are busy cannot be told from contention, and latency is held \
             against that of known processors. Other programs make pairs unknown, not wrong. Of very many CPUs a \
             quick run takes 32, a full one 160: the most likely siblings.",
    metrics: &METRICS,
    parameters: &[
        Parameter::new("stretches", &hand_over::STRETCHES),
        Parameter::new("window-ns", &contend::WINDOW_NS),
        Parameter::new("repeats", &contend::REPEATS),
        Parameter::new("piece", &contend::PIECE),
    ],
};

/// From so many pairs on a round is long, and all the time goes to one process start.
const MANY_PAIRS: usize = 200;

impl Experiment for Siblings {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let cpus = cpus(host, size.pick(32, 160));
        if cpus.len() < 2 {
            return Err(NotMeasurable::new("a pair needs two CPUs, and this process may use one"));
        }
        let variants = variants(host, &cpus);
        let processes = if variants.len() > MANY_PAIRS { 1 } else { size.pick(3, 6) };
        let rounds = Rounds { processes, per_process: size.pick(16, 60), warm_up: 0 };
        let design = Design::facts(variants, rounds);
        Ok(match host.cpus.len() - cpus.len() {
            0 => design,
            left => design
                .missing(format!("{left} more CPUs"), "they are too many for this size of run"),
        })
    }

    fn turn_ms(&self) -> f64 {
        67.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let mut pairs = Pairs::new(pairs_of(design), size).map_err(NotMeasurable::new)?;
        Ok(Box::new(move |variant: usize| pairs.turn(variant)))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let evidence = Evidence::of(results).filter(|_| !results.is_wrong());
        evidence.as_ref().map_or_else(Vec::new, told::sentences)
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        Evidence::of(results).as_ref().map_or_else(Vec::new, told::plots)
    }
}

/// The CPUs of each core of which two or more were found to be siblings in these rows.
pub fn found_cores(results: &Results) -> Vec<Vec<u32>> {
    evidence::Evidence::of(results).map(|all| all.inference.cores).unwrap_or_default()
}

#[cfg(test)]
mod tests;
