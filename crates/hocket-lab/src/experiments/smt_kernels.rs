//! `smt-kernels`: how much faster two threads a core are than one.

use std::time::Duration;

use hocket_machine::counters::WorkCounters;

use super::chance::{self, Work};
use super::jobs::{Bench, Done, Job, Load, note_missing, shared_cores};
use super::words::then_and_now;
use crate::harness::timed::{calibrate, per_op};
use crate::harness::{
    About, ContrastResult, Design, Estimate, Experiment, Fault, Historic, Host, Metric,
    NotMeasurable, Opened, Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence,
    Size, Variant,
};
use crate::numbers;

/// See [`About`].
pub struct SmtKernels;

static ABOUT: About = About {
    id: "smt-kernels",
    section: Section::Smt,
    question: "How much faster are two threads a core than one?",
    origin: "thesis of 2009, sections 6.2 to 6.4, prototypes M1 to M4, after Magro, Petersen and Shah 2002",
    method: "int_mem increments the eight 32-bit integers of random rows of a 32 MB buffer, 32 or 4 times each; dbl_mem \
             adds to the four doubles of a row 32 times; int_dbl takes pi by random points. Where cores have two \
             seats: on up to four such cores (two in a quick run) one pinned thread a core does twice the passes of \
             two threads a core, so the work is the same. Everywhere: one thread alone, and one on each of two \
             cores. On a virtual machine the hand-over between these two is probed before and after each turn: its host may \
             have put both on one core. Every thread has a buffer of its own, and its content must be exact after every turn.",
    limits: "SMT is not switched off: the second seat stays empty instead, and on processors that divide some buffers \
             between seats for good the single thread then has less than with SMT off. Siblings by chance are told by the hand-over \
             alone, and a move between two probes that ends where it began is not seen. Cycles per micro-operation, \
             share of floating-point operations and stalls need events that differ between processors and are not \
             counted. The last-level caches of some servers hold the 32 MB.",
    metrics: &[
        Metric::less("time", "ns")
            .means("From the first thread's start to the last one's end, divided by the passes of all threads."),
        Metric::fact("cycles-per-instruction", "")
            .means("Cycles of all threads divided by their instructions, user code, by hardware counters."),
        Metric::fact("l1d-misses", "%")
            .means("Loads that missed the first-level data cache, of all threads, in percent of the loads that the \
                    kernel declares."),
        Metric::more("speed-up", "times")
            .means("Time with one seat of each core divided by time with both, round by round; computed from `time`."),
        chance::METRICS[0],
        chance::METRICS[1],
    ],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("kernels", &JOBS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(8), Duration::from_millis(80)];
/// With the names that the thesis gives them.
const JOBS: [(Job, &str); 4] =
    [(Job::IntMem32, "M1"), (Job::IntMem4, "M2"), (Job::DblMem32, "M3"), (Job::IntDbl, "M4")];

const ONE_SEAT: &str = "one-seat";
const BOTH_SEATS: &str = "both-seats";
const ALONE: &str = "alone";
const TWO_CORES: &str = "two-cores";

impl Experiment for SmtKernels {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let shared = shared_cores(host, size.pick(2, 4));
        for (job, _) in JOBS {
            if !shared.is_empty() {
                add_pair(&mut design, job, &seats_of(&shared));
            }
            add_pair(&mut design, job, &cores_of(host));
        }
        note_missing(&mut design, host, [BOTH_SEATS, TWO_CORES]);
        if let Err(why) = WorkCounters::open().and_then(|mut counters| counters.read()) {
            let what = "cycles-per-instruction and l1d-misses";
            design.missing.push((what.into(), why));
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        56.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let mut turns = Vec::new();
        let mut benches = Vec::new();
        for (at, (job, _)) in JOBS.into_iter().enumerate() {
            let of_job = design.variants.iter().filter(|v| v.level("kernel") == job.name());
            let threads = of_job.map(|v| v.cpus.len()).max().unwrap_or(1);
            let mut bench = Bench::new(job, threads);
            let cpu = design.variants.first().map_or(0, |variant| variant.cpus[0]);
            let passes = passes(&mut bench, cpu, size).map_err(NotMeasurable::new)?;
            benches.push((bench, passes));
            let indices = (0..design.variants.len()).zip(&design.variants);
            turns.extend(
                indices
                    .filter(|(_, v)| v.level("kernel") == job.name())
                    .map(|(index, v)| (index, at, v.clone(), pair_by_chance(v))),
            );
        }
        turns.sort_by_key(|(index, ..)| *index);
        Ok(Box::new(move |variant: usize| {
            let (_, at, variant, pair) = &turns[variant];
            let (bench, passes) = &mut benches[*at];
            let loads = loads(variant, *passes);
            chance::probed(*pair, size, || {
                bench.run(&loads).map(|done| samples(&done, &loads, bench.loads_of_a_pass()))
            })
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let smt = JOBS.iter().filter_map(|(job, code)| smt_sentence(results, *job, code));
        let cores = JOBS.iter().filter_map(|(job, _)| cores_sentence(results, *job));
        let counts = JOBS.iter().filter_map(|(job, _)| counter_sentence(results, *job));
        let by_chance = chance::sentences(results, "time", &JOBS.map(|(job, _)| by_chance(job)));
        smt.chain(cores).chain(by_chance).chain(counts).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let counted = then_and_now(results, "Cycles per instruction, 2009 and now", "");
        counted.into_iter().chain(crate::harness::standard_plots(results)).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }
}

/// Two sets of CPUs that are compared, with names and the relation of the second one's threads.
struct Pair {
    reference: (&'static str, Vec<u32>),
    candidate: Option<(&'static str, Vec<u32>)>,
    relation: Option<Relation>,
}

fn seats_of(shared: &[[u32; 2]]) -> Pair {
    Pair {
        reference: (ONE_SEAT, shared.iter().map(|core| core[0]).collect()),
        candidate: Some((BOTH_SEATS, shared.concat())),
        relation: Some(Relation::Siblings),
    }
}

fn cores_of(host: &Host) -> Pair {
    let cores = host.one_per_core();
    Pair {
        reference: (ALONE, cores[..1].to_vec()),
        candidate: (cores.len() > 1).then(|| (TWO_CORES, cores[..2].to_vec())),
        relation: None,
    }
}

fn add_pair(design: &mut Design, job: Job, pair: &Pair) {
    let sets = std::iter::once(&pair.reference).chain(&pair.candidate);
    let variant = |(name, cpus): &(&str, Vec<u32>)| {
        Variant::new(variant(job, name))
            .with("kernel", job.name())
            .with("seats", name)
            .with("threads", cpus.len())
            .on(cpus, pair.relation)
    };
    design.group("time", sets.map(variant));
}

/// The two threads that the system calls those of two cores.
fn pair_by_chance(variant: &Variant) -> Option<[u32; 2]> {
    chance::pair(&variant.cpus).filter(|_| variant.level("seats") == TWO_CORES)
}

fn by_chance(job: Job) -> Work {
    Work { name: job.name(), alone: variant(job, ALONE), both: variant(job, TWO_CORES) }
}

/// Passes of one thread with one thread a seat.
fn passes(bench: &mut Bench, cpu: u32, size: Size) -> Result<u64, Fault> {
    let target = size.of(TURN);
    calibrate(target, |passes| Ok(bench.run_unchecked(&[Load { cpu, passes }])?.wall_ns))
}

/// What each thread does: alone on its core twice as much as one of two.
fn loads(variant: &Variant, passes: u64) -> Vec<Load> {
    let passes = if variant.level("seats") == ONE_SEAT { 2 * passes } else { passes };
    variant.cpus.iter().map(|cpu| Load { cpu: *cpu, passes }).collect()
}

fn samples(done: &Done, loads: &[Load], loads_of_a_pass: u64) -> Vec<Sample> {
    let passes: u64 = loads.iter().map(|load| load.passes).sum();
    let sample = |metric, value| Sample::new(metric, value, passes, done.check.clone());
    let mut samples = vec![sample("time", per_op(done.wall_ns, passes))];
    if let Some(work) = done.work {
        let cpi = work.cycles as f64 / work.instructions.max(1) as f64;
        samples.push(sample("cycles-per-instruction", cpi));
        let misses = work.l1d_misses.filter(|_| loads_of_a_pass > 0);
        let percent = |misses: u64| 100.0 * misses as f64 / (passes * loads_of_a_pass) as f64;
        samples.extend(misses.map(|misses| sample("l1d-misses", percent(misses))));
    }
    samples
}

fn variant(job: Job, seats: &str) -> String {
    format!("{} {seats}", job.name())
}

/// How many times as fast the candidate is, and the ratio of times that says so.
fn speed_up(results: &Results, job: Job, seats: [&str; 2]) -> Option<(Estimate, ContrastResult)> {
    let judged = results.judged(&variant(job, seats[0]), &variant(job, seats[1]), "time");
    let Estimate { value, low, high } = judged.estimate()?;
    let of = |end: Option<f64>| end.map(|end| 1.0 / end);
    Some((Estimate { value: 1.0 / value, low: of(high), high: of(low) }, judged))
}

fn smt_sentence(results: &Results, job: Job, code: &str) -> Option<Sentence> {
    let (estimate, judged) = speed_up(results, job, [ONE_SEAT, BOTH_SEATS])?;
    let printed = |year: &str| {
        let is = |old: &&Historic| {
            old.metric == "speed-up" && old.label.starts_with(code) && old.label.ends_with(year)
        };
        numbers::change(HISTORIC.iter().find(is).map_or(f64::NAN, |old| old.value))
    };
    let text = format!(
        "{}: speed of the same work with two threads a core, against one: {} (against SMT switched off: Xeon of 2002 {}, Core i7 of 2009 {})",
        job.name(),
        numbers::estimated_change(&estimate),
        printed("2002"),
        printed("2009")
    );
    Some(Sentence::about(text, &[judged]))
}

fn cores_sentence(results: &Results, job: Job) -> Option<Sentence> {
    let alone = results.estimate(&variant(job, ALONE), "time")?;
    let head = format!("{}: a pass takes {} alone", job.name(), numbers::estimate(&alone, "ns"));
    let Some((estimate, judged)) = speed_up(results, job, [ALONE, TWO_CORES]) else {
        return Some(Sentence::fact(head));
    };
    let text = format!(
        "{head}; speed of two cores together, against one: {}",
        numbers::estimated_change(&estimate)
    );
    Some(Sentence::about(text, &[judged]))
}

fn counter_sentence(results: &Results, job: Job) -> Option<Sentence> {
    let of = |seats: &str| results.median(&variant(job, seats), "cycles-per-instruction");
    let alone = of(ALONE)?;
    let text = match of(ONE_SEAT).zip(of(BOTH_SEATS)) {
        Some((one, both)) => format!(
            "{}: {one:.2} cycles per instruction with one thread a core, {both:.2} with two",
            job.name()
        ),
        None => format!("{}: {alone:.2} cycles per instruction", job.name()),
    };
    Some(Sentence::fact(text))
}

const THESIS: &str =
    "thesis of 2009, section 6.3, table 2 (Core i7 Extreme 965, 4 cores, 8 threads, 3.2 GHz)";
const INTEL: &str =
    "Magro, Petersen and Shah 2002 (Xeon), as printed in the thesis of 2009, section 6.3, table 1";

const fn of_2002(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "times", "speed-up")
        .beside(variant)
        .means("Speed-up by Hyper-Threading. The thesis does not say what was divided by what.")
        .differs(SWITCHED_OFF)
        .printed_in(INTEL)
}

const fn of_2009(label: &'static str, value: f64, variant: &'static str) -> Historic {
    of_2002(label, value, variant)
        .means(
            "Execution time without SMT divided by execution time with SMT, the same total work.",
        )
        .printed_in(THESIS)
}

const SWITCHED_OFF: &str =
    "SMT was switched off for the comparison; here the second seat stays empty.";

const fn in_ms(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "ms", "time")
        .beside(variant)
        .means("Execution time: 8 threads, one pinned to each logical CPU, or 4 threads with twice the work each.")
        .differs("Time of a whole run; `time` is that of one pass.")
        .printed_in(THESIS)
}

const fn cpi(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "", "cycles-per-instruction")
        .beside(variant)
        .means("Cycles per instruction, by hardware counters.")
        .printed_in(THESIS)
}

const fn misses(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "%", "l1d-misses")
        .beside(variant)
        .means("Loads that were not found in the first-level data cache, in percent of all loads, by hardware counters.")
        .differs("In percent of all loads; here of those that the kernel declares.")
        .printed_in(THESIS)
}

static HISTORIC: [Historic; 32] = [
    of_2002("M1 int_mem-32, 2002", 1.08, "int_mem-32 both-seats"),
    of_2002("M2 int_mem-4, 2002", 1.36, "int_mem-4 both-seats"),
    of_2002("M3 dbl_mem-32, 2002", 1.90, "dbl_mem-32 both-seats"),
    of_2002("M4 int_dbl, 2002", 1.76, "int_dbl both-seats"),
    of_2009("M1 int_mem-32, 2009", 1.03, "int_mem-32 both-seats"),
    of_2009("M2 int_mem-4, 2009", 1.06, "int_mem-4 both-seats"),
    of_2009("M3 dbl_mem-32, 2009", 1.05, "dbl_mem-32 both-seats"),
    of_2009("M4 int_dbl, 2009", 1.29, "int_dbl both-seats"),
    in_ms("M1 int_mem-32 without SMT, 2009", 2073.0, "int_mem-32 one-seat"),
    in_ms("M1 int_mem-32 with SMT, 2009", 2009.0, "int_mem-32 both-seats"),
    in_ms("M2 int_mem-4 without SMT, 2009", 2184.0, "int_mem-4 one-seat"),
    in_ms("M2 int_mem-4 with SMT, 2009", 2065.0, "int_mem-4 both-seats"),
    in_ms("M3 dbl_mem-32 without SMT, 2009", 2053.0, "dbl_mem-32 one-seat"),
    in_ms("M3 dbl_mem-32 with SMT, 2009", 1961.0, "dbl_mem-32 both-seats"),
    in_ms("M4 int_dbl without SMT, 2009", 2062.0, "int_dbl one-seat"),
    in_ms("M4 int_dbl with SMT, 2009", 1594.0, "int_dbl both-seats"),
    cpi("M1 int_mem-32 without SMT, 2009", 0.68, "int_mem-32 one-seat").differs(SWITCHED_OFF),
    cpi("M1 int_mem-32 with SMT, 2009", 1.18, "int_mem-32 both-seats"),
    cpi("M2 int_mem-4 without SMT, 2009", 0.73, "int_mem-4 one-seat").differs(SWITCHED_OFF),
    cpi("M2 int_mem-4 with SMT, 2009", 1.27, "int_mem-4 both-seats"),
    cpi("M3 dbl_mem-32 without SMT, 2009", 0.69, "dbl_mem-32 one-seat").differs(SWITCHED_OFF),
    cpi("M3 dbl_mem-32 with SMT, 2009", 1.19, "dbl_mem-32 both-seats"),
    cpi("M4 int_dbl without SMT, 2009", 0.76, "int_dbl one-seat").differs(SWITCHED_OFF),
    cpi("M4 int_dbl with SMT, 2009", 1.42, "int_dbl both-seats"),
    misses("M1 int_mem-32 without SMT, 2009", 1.0, "int_mem-32 one-seat"),
    misses("M1 int_mem-32 with SMT, 2009", 1.0, "int_mem-32 both-seats"),
    misses("M2 int_mem-4 without SMT, 2009", 8.0, "int_mem-4 one-seat"),
    misses("M2 int_mem-4 with SMT, 2009", 5.0, "int_mem-4 both-seats"),
    misses("M3 dbl_mem-32 without SMT, 2009", 1.0, "dbl_mem-32 one-seat"),
    misses("M3 dbl_mem-32 with SMT, 2009", 1.0, "dbl_mem-32 both-seats"),
    misses("M4 int_dbl without SMT, 2009", 0.0, "int_dbl one-seat"),
    misses("M4 int_dbl with SMT, 2009", 0.0, "int_dbl both-seats"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_siblings_the_work_is_the_same_on_one_seat_and_on_both() {
        let design = SmtKernels.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!((design.fault(), design.variants.len()), (None, 16));
        assert!(design.missing.iter().all(|(what, _)| what != BOTH_SEATS));
        for (job, _) in JOBS {
            let of = |seats| &design.variants[design.index(&variant(job, seats)).unwrap()];
            assert_eq!(of(ONE_SEAT).cpus, [0, 1]);
            assert_eq!(of(BOTH_SEATS).cpus, [0, 2, 1, 3]);
            let total = |seats| loads(of(seats), 100).iter().map(|load| load.passes).sum::<u64>();
            assert_eq!((total(ONE_SEAT), total(BOTH_SEATS)), (400, 400));
        }
        let known = |old: &Historic| design.index(old.variant.unwrap()).is_some();
        assert!(HISTORIC.iter().all(known));
    }

    #[test]
    fn one_turn_of_the_smallest_kernel_passes_its_check() {
        let host = Host::discover().unwrap();
        let mut bench = Bench::new(Job::IntDbl, 1);
        let loads = [Load { cpu: host.cpus[0], passes: 1000 }];
        let samples = samples(&bench.run(&loads).unwrap(), &loads, bench.loads_of_a_pass());
        assert_eq!(samples[0].check, crate::harness::Check::Passed);
        assert_eq!(samples[0].ops, 1000);
    }
}
