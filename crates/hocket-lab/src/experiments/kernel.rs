//! `kernel`: what the primitives of the system cost.

pub(super) mod company;
mod primitive;
mod sockets;
mod told;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hocket_files::ScratchFolder;
use hocket_kernels::system::{Operation, Ran, run_here, run_in_processes};

use super::jobs::{NO_SMT, ONE_CORE};
use crate::harness::timed::calibrate;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Historic, Host, Metric, Nearest, NotMeasurable,
    Opened, Parameter, Plot, Prepared, Relation, Results, Rounds, Sample, Section, Sentence, Size,
    Variant,
};
use company::{Company, MOST_SEATS};
use primitive::{Primitive, Site};

/// How the folders begin in which files are made and removed, among the temporary files.
pub const KERNEL_FILES_PREFIX: &str = primitive::PREFIX;

/// See [`About`].
pub struct Kernel;

static ABOUT: About = About {
    id: "kernel",
    section: Section::System,
    question: "What do the primitives of the system cost?",
    origin: "Vianney, \"Hyper-Threading speeds Linux\", 2003, table 1, which used LMbench; operations from the definitions \
             of McVoy and Staelin, \"lmbench: Portable tools for performance analysis\", 1996, and of lmbench 3, written \
             anew. The figures are not LMbench results: another program measured them, in another way",
    method: "One primitive many times in a row, in a process that is forked for the turn, put on its CPU, and has done it \
             some times before the clock starts. System calls: `null` asks for the parent's number (lmbench 3), \
             `null-write` writes 4 bytes to /dev/null (1996); `read` a byte of /dev/zero, `write` one to /dev/null; \
             `stat`, `fstat` and `open-close` of /etc/passwd. `select-N` and `epoll-N`, without waiting, on N ends of \
             pipes, one of which can be read. SIGUSR1: `signal-install` a handler, `signal-sent` to the own process \
             and caught, `signal-none` the same call without a signal; `signal-fault`: a write to a page that is read \
             only, caught. A byte to another process and back: by `pipe`, `unix`, `tcp` and `udp` on loopback. \
             Processes that are waited for: `fork-exit` (fork), `clone3-exit` (clone3 without flags), `fork-exec`, \
             `vfork-exec` (clone with CLONE_VM and CLONE_VFORK) and `posix-spawn` of `true`, `fork-sh` of `sh -c true`; \
             without an environment. `ring-N-K`: N processes on one CPU, each with K KiB that it sums, pass a token \
             round. `map-K`: K KiB of private memory, untouched, and unmapped; `map-file-K`: K KiB of a file \
             that is among the temporary files, of which the first byte of each page is read; `page-fault`: the first \
             write to a private page. `file-make-B` and \
             `file-remove-B`: files of B bytes, up to 100 in a folder among the temporary files. `read-K`, `write-K`, \
             `copy-K`: memory of K KiB in words of 8 bytes. `load-K-random` and `load-K-S`: loads, each from where \
             the one before points, in K KiB, in random order of lines or forward with a stride of S bytes; a full run \
             has every stride over many sizes. \
             `alone`: on one CPU, partners too, nothing of ours beside; `both-seats`: the same processes on both \
             seats of the core; `two-cores`: on two cores; `busy-sibling`: the sibling computes filters; \
             `every-seat`: a process on each seat, on at most eight, does the same. Every operation's result is checked: bytes, lengths, \
             counts, exit codes, the kernel's count of faults, sums, the place where a chain ends.",
    limits: "Loops of one call: caches and predictors know it, so real programs pay more. The measuring process is a fork of \
             this program, and forking costs more with more memory. Which program `true` is, and how it is linked, is a \
             part of `fork-exec`; many shells replace themselves by the last command. `posix-spawn` is measured in a \
             thread of this program, not in a fork of it, because it may not be called there. TCP and UDP never leave \
             the machine, small packets are sent at once, and files never wait for a disk. What other programs take \
             from the measuring processes is counted for the machine as a whole, not for each of them. SMT is not \
             switched off: the second seat stays empty instead.",
    metrics: &[
        Metric::less("time", "ns")
            .means("Time of one operation: from before the first to after the last, divided by their number; the mean \
                    over the processes that do it at once. A round trip has both ways; `ring`: one hand-over \
                    with its sum; memory: a pass, or a load."),
        Metric::less("switch", "ns")
            .means("`time` of a ring without what the same calls and sums take in one process over as many pipes, in the \
                    same turn: one switch of processes. Left out where that is not above 0."),
        Metric::more("bandwidth", "MB/s")
            .means("Bytes that were read, written or copied, in 10^6, divided by the time; a copy counts each byte once; \
                    the sum over the processes that do it at once."),
    ],
    parameters: &[
        Parameter::new("turn", &TURN),
        Parameter::new("descriptors", &primitive::DESCRIPTORS),
        Parameter::new("rings", &primitive::RINGS),
        Parameter::new("file-bytes", &primitive::FILE_BYTES),
        Parameter::new("memory-kib", &primitive::MEMORY_KIB),
        Parameter::new("load-kib", &primitive::LOAD_KIB),
        Parameter::new("strides", &primitive::STRIDES),
        Parameter::new("forward-kib", &primitive::FORWARD_KIB),
        Parameter::new("mapped-kib", &primitive::MAPPED_KIB),
        Parameter::new("most-seats", &MOST_SEATS),
    ],
};

const TURN: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];
/// Fewer than usual in a quick run: each has to find out first how often to do every primitive.
const STARTS: [u32; 2] = [3, 10];

impl Experiment for Kernel {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds = Rounds { processes: size.of(STARTS), ..Rounds::usual(size) };
        let mut design = Design::facts(Vec::new(), rounds);
        let site = Site::default();
        let caches = told::caches(host);
        for primitive in Primitive::all(size) {
            if let Some(why) = refused_here(primitive, &site) {
                note_missing(&mut design, primitive.family(), why);
                continue;
            }
            let companies = Company::of(primitive, size).into_iter();
            let here = companies.filter_map(|company| Some((company, company.cpus(host)?)));
            design.group(
                "time",
                here.map(|(company, cpus)| {
                    Variant::new(variant(primitive, company))
                        .with("primitive", primitive.name())
                        .with("company", company.name())
                        .with("caches", &caches)
                        .on(&cpus, company.relation())
                        // The figures are of other processes than this one's threads, which only wait.
                        .crowded()
                }),
            );
        }
        if design.variants.is_empty() {
            let why = design.missing.first().map_or("there is none", |(_, why)| why.as_str());
            return Err(NotMeasurable(format!("no primitive can be had here: {why}")));
        }
        for company in Company::ALL {
            if company.cpus(host).is_none() {
                let why = match company.relation() {
                    Some(Relation::Siblings) => NO_SMT,
                    _ => ONE_CORE,
                };
                note_missing(&mut design, company.name(), why.into());
            }
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        3.5
    }

    /// A process start is killed where the run is interrupted, and can take no folder away.
    fn prepare(&self, _: &dyn Fn() -> bool) -> Prepared {
        // Without one, the design says which primitives are missing.
        Ok(ScratchFolder::create(&std::env::temp_dir(), KERNEL_FILES_PREFIX).ok())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        self.open_in(host, size, design, None)
    }

    fn open_in(&self, _: &Host, size: Size, design: &Design, prepared: Option<&Path>) -> Opened {
        let turns = design.each(Turn::of)?;
        let mut bench = Bench::at(prepared.map_or_else(Site::default, Site::below));
        turns.iter().for_each(|turn| bench.calibrate(turn, size.of(TURN)));
        Ok(Box::new(move |variant: usize| {
            let turn = &turns[variant];
            let times = bench.times[&turn.primitive.name()].clone()?;
            let ran = bench.run(turn, times)?;
            Ok(samples(turn.primitive, &ran))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        told::findings(results)
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        told::plots(results)
    }

    fn historic(&self) -> Vec<Historic> {
        told::HISTORIC.to_vec()
    }

    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        told::nearest(old)
    }
}

/// Why this machine lacks a primitive. Each is tried once in the life of this process: several commands ask for the design
/// more than once.
fn refused_here(primitive: Primitive, site: &Site) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(primitive.name()).or_insert_with(|| primitive.refusal(site)).clone()
}

/// Once for each reason.
fn note_missing(design: &mut Design, what: &str, why: String) {
    if !design.missing.iter().any(|known| known.0 == what && known.1 == why) {
        design.missing.push((what.into(), why));
    }
}

fn variant(primitive: Primitive, company: Company) -> String {
    format!("{} {}", primitive.name(), company.name())
}

/// One variant, ready to be measured.
#[derive(Debug, Clone)]
struct Turn {
    primitive: Primitive,
    company: Company,
    cpus: Vec<u32>,
}

impl Turn {
    fn of(variant: &Variant) -> Option<Turn> {
        let primitive = Primitive::named(variant.level("primitive"))?;
        let company = Company::named(variant.level("company"))?;
        Some(Turn { primitive, company, cpus: variant.cpus.clone() })
    }
}

/// Operations that were made, and how often each is to be done.
struct Bench {
    site: Site,
    /// By primitive; one for each process that does it at once.
    operations: BTreeMap<String, Vec<Box<dyn Operation>>>,
    times: BTreeMap<String, Result<u64, Fault>>,
}

impl Bench {
    fn at(site: Site) -> Bench {
        Bench { site, operations: BTreeMap::new(), times: BTreeMap::new() }
    }

    /// Alone, once for each primitive. What fails here fails in its own turns; the others are measured.
    fn calibrate(&mut self, turn: &Turn, target: Duration) {
        let name = turn.primitive.name();
        if let Some(Ok(_)) = self.times.get(&name) {
            return;
        }
        let alone = Turn { company: Company::Alone, cpus: turn.cpus[..1].to_vec(), ..turn.clone() };
        let ns = |ran: Vec<Ran>| ran.first().map_or(1, |ran| ran.ns);
        let times = calibrate(target, |times| self.run(&alone, times).map(ns));
        self.times.insert(name, times);
    }

    /// What came of each process. After a failure the operations are made anew: something may be left in their pipes.
    fn run(&mut self, turn: &Turn, times: u64) -> Result<Vec<Ran>, Fault> {
        let (places, busy) = turn.company.places(&turn.cpus);
        let name = turn.primitive.name();
        let mut operations = self.operations.remove(&name).unwrap_or_default();
        while operations.len() < places.len() {
            operations.push(turn.primitive.operation(&self.site, operations.len())?);
        }
        let used = &mut operations[..places.len()];
        let ran = match turn.primitive.runs_here() {
            true => run_on_thread(used, &turn.cpus, times)?,
            false => run_in_processes(used, &places, busy, times).map_err(|why| {
                Fault(format!("{name}: {}", turn.primitive.hint(&self.site, &why)))
            })?,
        };
        if turn.primitive.is_memory() {
            // Its memory is full: those of other seats are made anew when they are needed.
            operations.truncate(1);
        }
        self.operations.insert(name, operations);
        Ok(ran)
    }
}

/// In a thread of this process, where the operation may not be done in a fork of it.
fn run_on_thread(
    operations: &mut [Box<dyn Operation>],
    cpus: &[u32],
    times: u64,
) -> Result<Vec<Ran>, Fault> {
    let mut ran = Vec::new();
    for operation in operations {
        let work = || run_here(&mut **operation, times);
        let run = TurnThreads::new().with(Place::among(cpus), work).run()?;
        for result in run.into_results() {
            ran.push(result.map_err(Fault::new)?);
        }
    }
    Ok(ran)
}

fn samples(primitive: Primitive, ran: &[Ran]) -> Vec<Sample> {
    let times: u64 = ran.iter().map(|ran| ran.times).sum();
    let right: u64 = ran.iter().map(|ran| ran.right).sum();
    let what = format!("{}: the number of right operations", primitive.name());
    let check = Check::equal(&what, right, times);
    let mean = |of: &dyn Fn(&Ran) -> f64| ran.iter().map(of).sum::<f64>() / ran.len().max(1) as f64;
    let each = |ns: u64, ran: &Ran| ns as f64 / ran.times.max(1) as f64;
    let sample = |metric, value| Sample::new(metric, value, times, check.clone());
    let time = mean(&|ran: &Ran| each(ran.ns, ran));
    let mut samples = vec![sample("time", time)];
    if primitive.is_ring() {
        let switch = time - mean(&|ran: &Ran| each(ran.without_switches_ns, ran));
        samples.extend((switch > 0.0).then(|| sample("switch", switch)));
    }
    if let Some(bytes) = primitive.bytes_of_a_pass() {
        let of = |ran: &Ran| bytes as f64 * ran.times as f64 * 1e3 / ran.ns.max(1) as f64;
        samples.push(sample("bandwidth", ran.iter().map(of).sum()));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_siblings_every_company_is_designed_and_old_figures_name_variants() {
        let host = Host::described_with_smt();
        for size in [Size::Quick, Size::Full] {
            let design = Kernel.design(&host, size).unwrap();
            assert_eq!(design.fault(), None);
            assert_eq!(design.each(Turn::of).unwrap().len(), design.variants.len());
            for company in Company::ALL {
                let has = design.variants.iter().any(|v| v.level("company") == company.name());
                assert!(has, "{}", company.name());
            }
            let probed = |name: &str| design.missing.iter().all(|(what, _)| what != name);
            for old in Kernel.historic() {
                let variant = old.variant.unwrap_or_default();
                let family = variant.split(' ').next().unwrap_or_default();
                assert!(design.index(variant).is_some() || !probed(family), "{variant}");
            }
        }
    }

    #[test]
    fn without_siblings_that_is_said() {
        let mut host = Host::described_with_smt();
        host.cpus = vec![0, 1];
        let design = Kernel.design(&host, Size::Quick).unwrap();
        let missing = |what: &str| design.missing.iter().any(|(known, _)| known == what);
        assert!(missing("busy-sibling") && missing("both-seats") && !missing("two-cores"));
        assert!(design.index("pipe two-cores").is_some());
        host.cpus = vec![0];
        let design = Kernel.design(&host, Size::Quick).unwrap();
        assert!(design.contrasts.is_empty() && design.index("null alone").is_some());
    }

    #[test]
    fn one_small_turn_of_each_variant_here_passes_its_check() {
        let host = Host::discover().unwrap();
        let design = Kernel.design(&host, Size::Quick).unwrap();
        let mut bench = Bench::at(Site::default());
        for variant in &design.variants {
            let turn = Turn::of(variant).unwrap();
            let ran = match bench.run(&turn, 3) {
                Ok(ran) => ran,
                Err(fault) => match super::super::beside::cpu_taken_away(&turn.cpus) {
                    Some(why) => {
                        println!("SKIPPED {}: {why}", variant.name);
                        continue;
                    }
                    None => panic!("{}: {fault}", variant.name),
                },
            };
            for sample in samples(turn.primitive, &ran) {
                assert_eq!(sample.check, Check::Passed, "{}", variant.name);
                // A coarse clock may see no time.
                assert!(sample.value >= 0.0 && sample.ops >= 3, "{}: {sample:?}", variant.name);
            }
        }
    }

    #[test]
    fn figures_follow_from_what_ran() {
        let ran = |ns, right| Ran { ns, times: 10, right, without_switches_ns: ns / 2 };
        let found = |primitive: &str, ran: &[Ran]| -> Vec<(String, f64)> {
            let primitive = Primitive::named(primitive).unwrap();
            samples(primitive, ran).into_iter().map(|it| (it.metric, it.value)).collect()
        };
        let named = |pairs: &[(&str, f64)]| -> Vec<(String, f64)> {
            pairs.iter().map(|(name, value)| (name.to_string(), *value)).collect()
        };
        let two = [ran(1000, 10), ran(3000, 10)];
        assert_eq!(found("null", &two), named(&[("time", 200.0)]));
        let ring = Primitive::all(Size::Quick).into_iter().find(|it| it.is_ring()).unwrap();
        assert_eq!(found(&ring.name(), &two), named(&[("time", 200.0), ("switch", 100.0)]));
        // 16 KiB ten times in a microsecond, and in three.
        let [(_, time), (_, bandwidth)] = &found("copy-16", &two)[..] else { panic!() };
        assert_eq!(*time, 200.0);
        assert!((bandwidth - (163_840.0 + 163_840.0 / 3.0)).abs() < 1e-6, "{bandwidth}");
        let wrong = samples(Primitive::named("null").unwrap(), &[ran(1000, 9)]);
        assert!(matches!(&wrong[0].check, Check::Failed(why) if why.contains("null")));
    }
}
