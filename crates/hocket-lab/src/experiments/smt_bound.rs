//! `smt-bound`: the most that SMT can give to a kernel.

use std::time::Duration;

use super::jobs::{Bench, Done, Job, Load, NO_SMT, shared_cores};
use super::words::then_and_now;
use crate::harness::timed::{calibrate, per_op};
use crate::harness::{
    About, ContrastResult, Design, Experiment, Historic, Host, Metric, NotMeasurable, Opened,
    Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence, Size, Variant,
};
use crate::numbers;

/// See [`About`].
pub struct SmtBound;

static ABOUT: About = About {
    id: "smt-bound",
    section: Section::Smt,
    question: "What is the most SMT can give to this DSP?",
    origin: "thesis of 2009, section 7.2.6, figure 44",
    method: "Of the cores with two seats, half run one job and the others two, one on each seat, all at the same time and \
             all jobs alike. Jobs that share a core take longer; if they took twice as long, SMT would give nothing. \
             Then the halves change roles, so that faster cores count on both sides. Jobs are the chain of filters \
             of audio effects, the correlation of two channels as in the thesis, random points for pi, and additions that fill the arithmetic units; each must compute \
             what it should.",
    limits: "How many frames the thesis correlated is not known; here they are 256. A bound for this kernel beside itself. What an engine gains is less: its threads wait for each other, and \
             threads of other programs come to the siblings.",
    metrics: &[
        Metric::more("speed-up", "times")
            .means("Work a time of a core with two jobs divided by that of a core with one: twice the mean time of the \
                    jobs that have a core for themselves, divided by the mean time of those that share one."),
        Metric::less("single", "ns")
            .means("Time of one pass of the jobs that have a core for themselves, mean."),
        Metric::less("double", "ns").means("Time of one pass of the jobs that share a core, mean."),
    ],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("kernels", &JOBS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(20)];
const JOBS: [Job; 4] = [Job::Biquads, Job::Correlation, Job::IntDbl, Job::AluIndependent];
/// As many cores as the machine of 2009 had in a quick run.
const MOST_CORES: (usize, usize) = (4, 16);

impl Experiment for SmtBound {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let cores = shared_cores(host, size.pick(MOST_CORES.0, MOST_CORES.1));
        if cores.is_empty() {
            return Err(NotMeasurable::new(NO_SMT));
        }
        if cores.len() < 2 {
            return Err(NotMeasurable::new(
                "only one core has two usable seats, and one core cannot run one job and two at a time",
            ));
        }
        let (first, second) = cores.split_at(cores.len() / 2);
        let second = &second[..first.len()];
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for job in JOBS {
            design.variants.push(variant(job, "second-half-shares", first, second));
            design.variants.push(variant(job, "first-half-shares", second, first));
        }
        // Both halves of the cores are compared with each other, so each job's first has a twin.
        design.twins = (0..JOBS.len()).map(|job| 2 * job).collect();
        Ok(design)
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let target = size.of(TURN);
        let threads = design.variants.iter().map(|v| v.cpus.len()).max().unwrap_or(0);
        let cpu = design.variants.first().map_or(0, |variant| variant.cpus[0]);
        let mut benches = Vec::new();
        for job in JOBS {
            let mut bench = Bench::new(job, threads);
            let passes = calibrate(target, |passes| {
                Ok(bench.run_unchecked(&[Load { cpu, passes }])?.wall_ns)
            })
            .map_err(NotMeasurable::new)?;
            benches.push((bench, passes));
        }
        let variants = design.variants.clone();
        Ok(Box::new(move |variant: usize| {
            let variant = &variants[variant];
            let at = JOBS.iter().position(|job| job.name() == variant.level("kernel"));
            let (bench, passes) = &mut benches[at.unwrap_or(0)];
            let load = |cpu: &u32| Load { cpu: *cpu, passes: *passes };
            let loads: Vec<Load> = variant.cpus.iter().map(load).collect();
            Ok(samples(&bench.run(&loads)?, *passes))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        JOBS.iter().filter_map(|job| bound(results, *job)).collect()
    }

    fn advice(&self, results: &Results) -> Option<Sentence> {
        if let Some(why) = &results.run.not_measurable {
            return Some(Sentence::not_measurable(format!("Whether SMT pays: {why}.")));
        }
        let gain = gain(results, Job::Biquads);
        let told = numbers::estimated_change(&gain.estimate()?);
        let todo = match (gain.is_shown(), gain.judgement.is_less()) {
            (true, true) => "Use one thread of each core",
            (true, false) => "Leave SMT on",
            _ => "Leave SMT as it is, no difference shown",
        };
        let text =
            format!("{todo}: work of two threads on a core against one (audio filters) {told}.");
        Some(Sentence::about(text, &[gain]))
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let title = "Most that SMT can give, 2009 and now";
        then_and_now(results, title, "times").into_iter().collect()
    }

    fn historic(&self) -> Vec<Historic> {
        let label = "correlation by the thesis' prototype, 2009";
        let figure = Historic::new(label, OF_2009, "times", "speed-up")
            .beside("correlation second-half-shares")
            .means("Two cores run one correlation each and two cores two each: twice the time of those that have a core for \
                    themselves, divided by that of those that share one. The gain is nearly 13 %.");
        let source =
            "thesis of 2009, section 7.2.6, figure 44 (Core i7 Extreme 965, 4 cores, 8 threads)";
        vec![figure.printed_in(source)]
    }
}

/// What two correlations a core did in 2009, against one.
const OF_2009: f64 = 1.13;

/// One job on each core of `single`, then two on each core of `double`: the last two thirds of the threads share.
fn variant(job: Job, name: &str, single: &[[u32; 2]], double: &[[u32; 2]]) -> Variant {
    let cpus: Vec<u32> =
        single.iter().map(|core| core[0]).chain(double.iter().flatten().copied()).collect();
    Variant::new(format!("{} {name}", job.name()))
        .with("kernel", job.name())
        .with("halves", name)
        .on(&cpus, Some(Relation::Siblings))
}

fn samples(done: &Done, passes: u64) -> Vec<Sample> {
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
    let (single, double) = done.each_ns.split_at(done.each_ns.len() / 3);
    let (single, double) = (mean(single), mean(double));
    let all = passes * done.each_ns.len() as u64;
    let sample = |metric, value| Sample::new(metric, value, all, done.check.clone());
    vec![
        sample("speed-up", 2.0 * single / double.max(1.0)),
        sample("single", per_op(single as u64, passes)),
        sample("double", per_op(double as u64, passes)),
    ]
}

/// Of both distributions of roles together, round by round.
fn bound(results: &Results, job: Job) -> Option<Sentence> {
    let judged = gain(results, job);
    // The thesis measured a correlation and nothing else.
    let then = match job {
        Job::Correlation => format!(" (2009: nearly {})", numbers::change(OF_2009)),
        _ => String::new(),
    };
    let text = format!(
        "{}: work of a core with two jobs, against one with one: {}; SMT cannot give more{then}",
        job.name(),
        numbers::estimated_change(&judged.estimate()?)
    );
    Some(Sentence::about(text, &[judged]))
}

fn gain(results: &Results, job: Job) -> ContrastResult {
    let name = |halves: &str| format!("{} {halves}", job.name());
    let (first, second) = (name("second-half-shares"), name("first-half-shares"));
    results.judged_ratio([&first, &second], "speed-up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn half_of_the_cores_run_two_jobs_and_then_the_other_half() {
        let design = SmtBound.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!((design.fault(), design.variants.len()), (None, 8));
        assert_eq!(design.variants[0].cpus, [0, 1, 3]);
        assert_eq!(design.variants[1].cpus, [1, 0, 2]);
    }

    #[test]
    fn without_siblings_it_is_not_measurable() {
        let mut host = Host::described_with_smt();
        host.cpus = vec![0, 1];
        assert!(SmtBound.design(&host, Size::Quick).unwrap_err().0.contains("not SMT"));
        host.cpus = vec![0, 1, 2];
        assert!(SmtBound.design(&host, Size::Quick).unwrap_err().0.contains("one core"));
    }

    #[test]
    fn the_gain_is_that_of_the_thesis() {
        // Shared jobs take 1.77 times as long: 2 / 1.77 = 1.13.
        let done = Done {
            wall_ns: 1_770,
            each_ns: vec![1_000, 1_000, 1_770, 1_770, 1_770, 1_770],
            work: None,
            check: Check::Passed,
        };
        let found = samples(&done, 10);
        assert!((found[0].value - 1.13).abs() < 0.001);
        assert_eq!((found[1].value, found[2].value), (100.0, 177.0));
    }
}
