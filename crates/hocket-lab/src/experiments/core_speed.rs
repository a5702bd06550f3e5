//! `core-speed`: how fast each seat is, alone and beside a busy one.

use std::time::Duration;

use super::jobs::{Bench, Job, Load, note_missing};
use crate::harness::timed::{calibrate, per_op};
use crate::harness::{
    About, Contrast, ContrastResult, Design, Experiment, Host, Metric, NotMeasurable, Opened,
    Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    contrast_sentences,
};
use crate::numbers;

/// See [`About`].
pub struct CoreSpeed;

static ABOUT: About = About {
    id: "core-speed",
    section: Section::Topology,
    question: "How fast is each seat alone and with a busy sibling?",
    origin: "the cost model of the planner: speeds of seats, and what a busy sibling takes from them",
    method: "A thread pinned to the seat computes one of two kernels: biquads, a chain of 32 filters over blocks of 64 \
             frames, which waits for its own results as audio effects do, and alu-independent, which fills the \
             arithmetic units. The rest of the machine is left alone; or a thread pinned to the sibling does the same \
             until the first is done; or a thread on another core does. Both kernels' results are checked.",
    limits: "The speed of a seat depends on the kernel, and on clocks that change with the number of busy cores: a seat \
             beside one busy core is not one beside many. A quick run takes at most sixteen seats.",
    metrics: &[Metric::less("time", "ns")
        .means("Time of one pass of the kernel on the seat, from the thread's start to its end: a block of 64 frames \
                through 32 filters, or 256 steps of eight chains.")],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("kernels", &JOBS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(20)];
/// The first is the one of the table for the cost model.
const JOBS: [Job; 2] = [Job::Biquads, Job::AluIndependent];

/// What the rest of the machine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    BusySibling,
    BusyCore,
}

impl Beside {
    const ALL: [Beside; 3] = [Beside::Nothing, Beside::BusySibling, Beside::BusyCore];

    fn name(self) -> &'static str {
        match self {
            Beside::Nothing => "alone",
            Beside::BusySibling => "busy-sibling",
            Beside::BusyCore => "busy-core",
        }
    }

    /// Where the other thread is; `None` where there is no such CPU.
    fn cpu(self, host: &Host, cpu: u32) -> Option<u32> {
        let related = |relations: &[Relation]| {
            let mut others = host.cpus.iter().copied();
            others.find(|other| relations.contains(&host.relation(cpu, *other)))
        };
        match self {
            Beside::Nothing => None,
            Beside::BusySibling => related(&[Relation::Siblings]),
            Beside::BusyCore => {
                related(&[Relation::SameCache]).or_else(|| related(&[Relation::Far]))
            }
        }
    }
}

impl Experiment for CoreSpeed {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let most = size.pick(16, host.cpus.len());
        for job in JOBS {
            for cpu in host.cpus.iter().take(most) {
                add_seat(&mut design, host, job, *cpu);
            }
        }
        if host.cpus.len() > most {
            let why = format!("a quick run takes {most} of {} seats", host.cpus.len());
            design.missing.push(("the other seats".into(), why));
        }
        let missing = [Beside::BusySibling.name(), Beside::BusyCore.name()];
        note_missing(&mut design, host, missing);
        Ok(design.twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let cpu = design.variants.first().map_or(0, |variant| variant.cpus[0]);
        let target = size.of(TURN);
        let mut benches = Vec::new();
        for job in JOBS {
            let mut bench = Bench::new(job, 2);
            let passes =
                calibrate(target, |passes| Ok(bench.run_beside(Load { cpu, passes }, None)?.0))
                    .map_err(NotMeasurable::new)?;
            benches.push((bench, passes));
        }
        let variants = design.variants.clone();
        Ok(Box::new(move |variant: usize| {
            let variant = &variants[variant];
            let at = JOBS.iter().position(|job| job.name() == variant.level("kernel"));
            let (bench, passes) = &mut benches[at.unwrap_or(0)];
            let load = Load { cpu: variant.cpus[0], passes: *passes };
            let (ns, check) = bench.run_beside(load, variant.cpus.get(1).copied())?;
            Ok(vec![Sample::new("time", per_op(ns, *passes), *passes, check)])
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let tables = JOBS.iter().filter_map(|job| {
            let text = told(&table(results, *job)?)?;
            Some(Sentence::about(text, &contrasts_of(results, *job)))
        });
        tables.chain(contrast_sentences(results)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        JOBS.iter().filter_map(|job| Some(heat(&table(results, *job)?))).collect()
    }
}

fn name(job: Job, cpu: u32, beside: Beside) -> String {
    format!("{} cpu{cpu} {}", job.name(), beside.name())
}

/// Every two seats, and each alone and beside something, in one job.
fn contrasts_of(results: &Results, job: Job) -> Vec<ContrastResult> {
    let Some(design) = results.design() else { return Vec::new() };
    let name = |index: usize| design.variants[index].name.as_str();
    let of_job = |c: &&Contrast| name(c.candidate).starts_with(job.name());
    let own: Vec<&Contrast> = design.contrasts.iter().filter(of_job).collect();
    let judged = |c: &&Contrast| {
        results.judged_of(name(c.reference), name(c.candidate), &c.metric, own.len())
    };
    own.iter().map(judged).collect()
}

/// One seat beside everything that it can be beside, and against the first seat.
fn add_seat(design: &mut Design, host: &Host, job: Job, cpu: u32) {
    let alone = design.variants.len();
    for beside in Beside::ALL {
        let other = beside.cpu(host, cpu);
        if other.is_none() && beside != Beside::Nothing {
            continue;
        }
        let cpus: Vec<u32> = std::iter::once(cpu).chain(other).collect();
        let variant = Variant::new(name(job, cpu, beside))
            .with("kernel", job.name())
            .with("seat", cpu)
            .with("beside", beside.name())
            .on(&cpus, other.map(|other| host.relation(cpu, other)));
        design.variants.push(variant);
    }
    let besides = alone + 1..design.variants.len();
    design.contrasts.extend(besides.map(|beside| Contrast::new(alone, beside, "time")));
    let first = design.index(&name(job, host.cpus[0], Beside::Nothing));
    let first = first.filter(|first| *first != alone);
    design.contrasts.extend(first.map(|first| Contrast::new(first, alone, "time")));
}

/// Speeds of seats, 1 for the fastest one alone.
struct Table {
    job: Job,
    cpus: Vec<u32>,
    /// By [`Beside::ALL`], then by seat.
    speeds: Vec<Vec<Option<f64>>>,
    /// What a speed of 1 is.
    fastest: String,
}

/// `None` where nothing was measured alone.
fn table(results: &Results, job: Job) -> Option<Table> {
    let of_job = |v: &&Variant| v.level("kernel") == job.name() && v.level("beside") == "alone";
    let cpus: Vec<u32> = results
        .design()?
        .variants
        .iter()
        .filter(of_job)
        .filter_map(|v| v.cpus.first().copied())
        .collect();
    let time = |cpu: u32, beside| results.median(&name(job, cpu, beside), "time");
    let fastest = cpus
        .iter()
        .filter_map(|cpu| results.estimate(&name(job, *cpu, Beside::Nothing), "time"))
        .min_by(|a, b| a.value.total_cmp(&b.value))?;
    let speed = |cpu: &u32, beside| Some(fastest.value / time(*cpu, beside)?);
    let row = |beside| cpus.iter().map(|cpu| speed(cpu, beside)).collect();
    let speeds = Beside::ALL.into_iter().map(row).collect();
    Some(Table { job, fastest: numbers::estimate(&fastest, "ns"), cpus, speeds })
}

fn told(table: &Table) -> Option<String> {
    let row = |(beside, speeds): (Beside, &Vec<Option<f64>>)| {
        let found: Vec<String> =
            speeds.iter().flatten().map(|speed| format!("{speed:.2}")).collect();
        (!found.is_empty()).then(|| format!("{} {}", beside.name(), found.join(" ")))
    };
    let rows: Vec<String> = Beside::ALL.into_iter().zip(&table.speeds).filter_map(row).collect();
    let cpus: Vec<String> = table.cpus.iter().map(u32::to_string).collect();
    (!rows.is_empty()).then(|| {
        format!(
            "speeds of the seats with {} (1 is {} a pass), CPUs {}: {}",
            table.job.name(),
            table.fastest,
            cpus.join(" "),
            rows.join("; ")
        )
    })
}

fn heat(table: &Table) -> Plot {
    let measured = |row: &&(Beside, Vec<Option<f64>>)| row.1.iter().any(Option::is_some);
    let rows: Vec<_> = Beside::ALL.into_iter().zip(table.speeds.iter().cloned()).collect();
    let rows: Vec<_> = rows.iter().filter(measured).collect();
    Plot::Heat {
        title: format!("Speeds of the seats with {}, 1 for the fastest alone", table.job.name()),
        unit: String::new(),
        rows: rows.iter().map(|(beside, _)| beside.name().to_string()).collect(),
        columns: table.cpus.iter().map(|cpu| format!("CPU {cpu}")).collect(),
        cells: rows.iter().map(|(_, speeds)| speeds.clone()).collect(),
        borders: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seat_is_measured_beside_its_sibling_and_beside_another_core() {
        let host = Host::described_with_smt();
        let design = CoreSpeed.design(&host, Size::Quick).unwrap();
        assert_eq!((design.fault(), design.variants.len()), (None, 2 * 4 * 3));
        assert!(design.missing.is_empty());
        let cpus = |name: &str| design.variants[design.index(name).unwrap()].cpus.clone();
        assert_eq!(cpus("biquads cpu0 alone"), [0]);
        assert_eq!(cpus("biquads cpu0 busy-sibling"), [0, 2]);
        assert_eq!(cpus("biquads cpu3 busy-sibling"), [3, 1]);
        assert_eq!(cpus("biquads cpu3 busy-core"), [3, 0]);
    }
}
