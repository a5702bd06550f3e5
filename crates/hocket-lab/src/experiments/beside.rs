//! Observed threads that do a fixed amount of work while others keep CPUs busy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hocket_kernels::{Biquads, Kernel};
use hocket_machine::class::{self, Class};
use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin;

use crate::harness::timed::calibrate;
use crate::harness::turn_threads::{MemberRun, Place, TurnThreads};
use crate::harness::{Check, Fault, Host};

/// Passes (blocks of 64 frames through 32 filters) between two looks at the CPU and the clock.
const PIECE: u64 = 8;

/// Who works and who disturbs.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    /// Where the observed threads are; each does `passes` passes.
    pub observed: Vec<Place>,
    /// Where the others are; they compute until the observed are done.
    pub load: Vec<Place>,
    /// Work of each observed thread.
    pub passes: u64,
    /// The others end after this even where the observed are not done, so that a thread that gets no
    /// CPU beside them gets one then.
    pub most: Duration,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// From the first observed thread's start to the last one's end.
    pub time_ns: u64,
    /// How often observed threads were found on another CPU than before.
    pub moves: u64,
    /// CPU time of the others, as a part of the observed time; `None` where it is not counted.
    pub load_share: Option<f64>,
    /// Whether every filter's output is right.
    pub check: Check,
}

struct Done {
    observed: bool,
    moves: u64,
    check: Check,
}

impl Scene {
    /// How many passes one thread at `place` does in about `target` when nobody is beside it.
    pub(super) fn passes_for(target: Duration, place: &Place) -> Result<u64, Fault> {
        let alone = |passes| Scene {
            observed: vec![place.clone()],
            passes,
            most: target,
            ..Scene::default()
        };
        calibrate(target, |passes| Ok(alone(passes).run()?.time_ns))
    }

    /// One turn.
    pub(super) fn run(&self) -> Result<Outcome, Fault> {
        let left = AtomicUsize::new(self.observed.len());
        let mut team = TurnThreads::new();
        for (number, place) in self.observed.iter().enumerate() {
            let (kernel, left) = (Biquads::new(number as u64), &left);
            team = team.with(place.clone(), move || observed(kernel, self.passes, left));
        }
        for (number, place) in self.load.iter().enumerate() {
            let (kernel, left) = (Biquads::new(1_000 + number as u64), &left);
            team = team.with(place.clone(), move || beside(kernel, self.most, left));
        }
        Ok(outcome(&team.run()?.members))
    }
}

fn observed(mut kernel: Biquads, passes: u64, left: &AtomicUsize) -> Done {
    let (mut moves, mut on) = (0, pin::current_cpu());
    let mut done = 0;
    while done < passes {
        let piece = PIECE.min(passes - done);
        std::hint::black_box(kernel.run(piece));
        done += piece;
        let now = pin::current_cpu();
        moves += u64::from(now != on);
        on = now;
    }
    // Relaxed: tells the others to end, and publishes nothing.
    left.fetch_sub(1, Relaxed);
    Done { observed: true, moves, check: Check::of(kernel.check()) }
}

fn beside(mut kernel: Biquads, most: Duration, left: &AtomicUsize) -> Done {
    let until_ns = monotonic_ns() + most.as_nanos() as u64;
    while left.load(Relaxed) > 0 && monotonic_ns() < until_ns {
        std::hint::black_box(kernel.run(PIECE));
    }
    Done { observed: false, moves: 0, check: Check::of(kernel.check()) }
}

fn outcome(members: &[MemberRun<Done>]) -> Outcome {
    let observed = || members.iter().filter(|member| member.result.observed);
    let first = observed().map(|member| member.started_ns).min().unwrap_or(0);
    let last = observed().map(|member| member.finished_ns).max().unwrap_or(0);
    let time_ns = last.saturating_sub(first).max(1);
    let others = members.iter().filter(|member| !member.result.observed);
    let cpu: Option<u64> = others.map(|member| Some(member.counters.as_ref()?.cpu_ns)).sum();
    Outcome {
        time_ns,
        moves: observed().map(|member| member.result.moves).sum(),
        load_share: cpu.map(|ns| ns as f64 / time_ns as f64),
        check: members
            .iter()
            .map(|member| member.result.check.clone())
            .fold(Check::Passed, Check::and),
    }
}

/// A thread on `cpu`, in the real-time class where that is granted, so that what else runs does not put it
/// aside.
pub(super) fn undisturbed(host: &Host, cpu: u32) -> Place {
    match host.fifo(20) {
        Ok(class) => Place::on(cpu).class(class),
        Err(_) => Place::on(cpu),
    }
}

/// Whether a thread of this process may have `class`; asked by a thread that ends afterwards.
pub(super) fn granted(class: Class) -> Result<Class, String> {
    let asked = std::thread::Builder::new().spawn(move || class::request(class));
    match asked.map(std::thread::JoinHandle::join) {
        Ok(Ok(report)) if report.granted => Ok(class),
        Ok(Ok(report)) => Err(report.why.unwrap_or_else(|| "the system refuses".into())),
        _ => Err("no thread could be started to ask for it".into()),
    }
}

/// Keeps the calling thread's CPU busy until the thread that is observed is done.
pub(super) fn keep_busy(over: &AtomicBool) {
    let mut x = 1u64;
    // Relaxed: the flag publishes nothing.
    while !over.load(Relaxed) {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// Why a variant could not be measured where the system has taken one of its CPUs away since `host` was
/// found, as a partition of another process does; `None` where it may still use all of them.
#[cfg(test)]
pub(super) fn cpu_taken_away(cpus: &[u32]) -> Option<String> {
    let allowed = pin::current_affinity().ok()?;
    let taken = cpus.iter().find(|cpu| !allowed.contains(**cpu))?;
    Some(format!("the system has taken CPU {taken} away since"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_observed_do_their_work_and_the_others_end_with_them() {
        let cpu = pin::current_affinity().unwrap().first().unwrap();
        let scene = Scene {
            observed: vec![Place::on(cpu); 2],
            load: vec![Place::anywhere()],
            passes: 20,
            most: Duration::from_millis(50),
        };
        let outcome = scene.run().unwrap();
        assert_eq!((outcome.check, outcome.moves), (Check::Passed, 0));
        assert!(outcome.time_ns > 1);
    }

    #[test]
    fn everybody_may_be_nicer() {
        assert_eq!(granted(Class::Other { nice: 19 }), Ok(Class::Other { nice: 19 }));
    }
}
