//! Computing kernels on CPUs: the work of experiments that ask what a seat can do.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_kernels::contention::AluIndependent;
use hocket_kernels::smt::{DblMem, IntDbl, IntMem};
use hocket_kernels::{Biquads, Correlation, Kernel};
use hocket_machine::counters::{Work, WorkCounters};

use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Design, Fault, Host};

/// A kernel with its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// M1 of the thesis of 2009.
    IntMem32,
    /// M2.
    IntMem4,
    /// M3.
    DblMem32,
    /// M4.
    IntDbl,
    /// A chain of filters: latencies, as in an audio channel.
    Biquads,
    /// The correlation of two channels: it waits for nothing, as the prototype of the thesis.
    Correlation,
    /// Integer additions that fill the arithmetic units.
    AluIndependent,
}

impl Job {
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::IntMem32 => "int_mem-32",
            Job::IntMem4 => "int_mem-4",
            Job::DblMem32 => "dbl_mem-32",
            Job::IntDbl => "int_dbl",
            Job::Biquads => "biquads",
            Job::Correlation => "correlation",
            Job::AluIndependent => "alu-independent",
        }
    }

    fn kernel(self, seed: u32) -> Box<dyn Kernel> {
        match self {
            Job::IntMem32 => Box::new(IntMem::new(32, seed.into())),
            Job::IntMem4 => Box::new(IntMem::new(4, seed.into())),
            Job::DblMem32 => Box::new(DblMem::new(32, seed.into())),
            Job::IntDbl => Box::new(IntDbl::new(seed)),
            Job::Biquads => Box::new(Biquads::new(seed.into())),
            Job::Correlation => Box::new(Correlation::new(seed.into())),
            Job::AluIndependent => Box::new(AluIndependent::new()),
        }
    }
}

/// The kernels of one job, one for each thread that will ever run it.
pub(super) struct Bench {
    kernels: Vec<Box<dyn Kernel>>,
}

/// What a thread is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Where.
    pub cpu: u32,
    /// How often.
    pub passes: u64,
}

/// What came of it.
pub(super) struct Done {
    /// From the first start to the last end.
    pub wall_ns: u64,
    /// Of each thread, from its start to its end.
    pub each_ns: Vec<u64>,
    /// What the hardware counted for all threads together, where it counts.
    pub work: Option<Work>,
    /// All kernels computed what they should have.
    pub check: Check,
}

impl Bench {
    pub(super) fn new(job: Job, threads: usize) -> Bench {
        Bench { kernels: (1..=threads as u32).map(|seed| job.kernel(seed)).collect() }
    }

    /// Loads of the kernel's data in a pass, by its own declaration.
    pub(super) fn loads_of_a_pass(&self) -> u64 {
        self.kernels.first().map_or(0, |kernel| kernel.ops().loads)
    }

    /// Each load on a thread of its own, all beginning together; there are at most as many as kernels.
    pub(super) fn run(&mut self, loads: &[Load]) -> Result<Done, Fault> {
        let mut done = self.run_unchecked(loads)?;
        let checks = self.kernels.iter().take(loads.len()).map(|kernel| Check::of(kernel.check()));
        done.check = checks.fold(Check::Passed, Check::and);
        Ok(done)
    }

    /// The same without the check, which reads a kernel's whole buffer: for calibration.
    pub(super) fn run_unchecked(&mut self, loads: &[Load]) -> Result<Done, Fault> {
        let team =
            self.kernels.iter_mut().zip(loads).fold(TurnThreads::new(), |team, (kernel, load)| {
                team.with(Place::on(load.cpu), move || counted(&mut **kernel, load.passes))
            });
        let run = team.run()?;
        let wall_ns = run.wall_ns();
        let each_ns = run.members.iter().map(|member| member.wall_ns()).collect();
        let work = run.into_results().into_iter().reduce(sum).flatten();
        Ok(Done { wall_ns, each_ns, work, check: Check::None("calibration".into()) })
    }

    /// One thread computes on `cpu` while another keeps `beside` busy with the same, where there is such a CPU.
    /// Returns the time of the first and the check of both.
    pub(super) fn run_beside(
        &mut self,
        load: Load,
        beside: Option<u32>,
    ) -> Result<(u64, Check), Fault> {
        let done = AtomicBool::new(false);
        let little = (load.passes / 64).max(1);
        let [first, second] = self.kernels.as_mut_slice() else {
            return Err(Fault::new("two kernels are needed"));
        };
        let mut team = TurnThreads::new().with(Place::on(load.cpu), || {
            first.run(load.passes);
            // Relaxed: a request that publishes nothing.
            done.store(true, Relaxed);
        });
        if let Some(cpu) = beside {
            team = team.with(Place::on(cpu), || {
                while !done.load(Relaxed) {
                    second.run(little);
                }
            });
        }
        let ns = team.run()?.members[0].wall_ns();
        let checks = self.kernels.iter().map(|kernel| Check::of(kernel.check()));
        Ok((ns, checks.fold(Check::Passed, Check::and)))
    }
}

/// Runs a kernel and counts, where this thread may.
fn counted(kernel: &mut dyn Kernel, passes: u64) -> Option<Work> {
    let mut counters = WorkCounters::open().ok();
    let before = counters.as_mut().and_then(|counters| counters.read().ok());
    std::hint::black_box(kernel.run(passes));
    let after = counters.as_mut().and_then(|counters| counters.read().ok());
    Some(after?.since(before?))
}

fn sum(a: Option<Work>, b: Option<Work>) -> Option<Work> {
    let (a, b) = (a?, b?);
    Some(Work {
        cycles: a.cycles + b.cycles,
        instructions: a.instructions + b.instructions,
        l1d_misses: a.l1d_misses.zip(b.l1d_misses).map(|(a, b)| a + b),
    })
}

/// Two usable seats of each core that has them, cores in order; at most `most` cores.
pub(super) fn shared_cores(host: &Host, most: usize) -> Vec<[u32; 2]> {
    let mut found: Vec<[u32; 2]> = Vec::new();
    for (a, b) in host.sibling_pairs() {
        // More than two seats of a core make several pairs.
        let known = found.iter().flatten().any(|cpu| *cpu == a || *cpu == b);
        if !known && found.len() < most {
            found.push([a, b]);
        }
    }
    found
}

/// Why there is nothing to say about SMT.
pub(super) const NO_SMT: &str =
    "no two usable CPUs share a core; two threads on one CPU take turns, which is not SMT";

/// Why there is nothing to say about two cores.
pub(super) const ONE_CORE: &str = "there is one usable core";

/// Notes what this machine lacks of what is called `siblings` and `cores` in a design.
pub(super) fn note_missing(design: &mut Design, host: &Host, [siblings, cores]: [&str; 2]) {
    if host.sibling_pairs().is_empty() {
        design.missing.push((siblings.into(), NO_SMT.into()));
    }
    if host.one_per_core().len() < 2 {
        design.missing.push((cores.into(), ONE_CORE.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_and_is_checked() {
        let host = Host::discover().unwrap();
        let cpus = host.spread(2);
        for job in [Job::IntDbl, Job::Biquads, Job::Correlation, Job::AluIndependent] {
            let mut bench = Bench::new(job, 2);
            let loads = [Load { cpu: cpus[0], passes: 900 }, Load { cpu: cpus[1], passes: 500 }];
            let done = bench.run(&loads).unwrap();
            assert_eq!((done.check, done.each_ns.len()), (Check::Passed, 2));
            let beside = (cpus[1] != cpus[0]).then_some(cpus[1]);
            assert_eq!(bench.run_beside(loads[0], beside).unwrap().1, Check::Passed);
        }
    }

    #[test]
    fn cores_with_two_seats_are_found() {
        let host = Host::described_with_smt();
        assert_eq!(shared_cores(&host, 8), [[0, 2], [1, 3]]);
        assert_eq!(shared_cores(&host, 1), [[0, 2]]);
    }
}
