//! The threads of a pattern on this machine.

use hocket_kernels::Kernel;
use hocket_machine::class::Class;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};

use crate::experiments::beside::granted;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault, Host, Relation};
use crate::patterns::{LoadPattern, LoadThread, Seat, Work};

/// Passes between two looks at the clock.
const PIECE: u64 = 16;

/// A pattern whose seats and classes exist here.
pub(super) struct Performance {
    threads: Vec<(LoadThread, Place)>,
}

/// What one thread noted.
pub(super) struct Performed {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub passes: u64,
    pub check: Check,
}

impl Performance {
    /// On this machine, or why not.
    pub(super) fn possible(pattern: &LoadPattern, host: &Host) -> Result<Performance, String> {
        let threads = pattern.threads.iter().map(|thread| {
            let place =
                place(thread.seat, host).map_err(|why| format!("{}: {why}", thread.name))?;
            let class = granted(thread.priority.0);
            let class = class.map_err(|why| format!("{}: {why}", thread.name))?;
            let ordinary = class == Class::Other { nice: 0 };
            Ok((thread.clone(), if ordinary { place } else { place.class(class) }))
        });
        Ok(Performance { threads: threads.collect::<Result<_, String>>()? })
    }

    /// Once, all together.
    pub(super) fn perform(&self) -> Result<Vec<Performed>, Fault> {
        let mut team = TurnThreads::new();
        for (thread, place) in &self.threads {
            let kernel =
                thread.kernel().ok_or_else(|| Fault::new("a kernel of another version"))?;
            team = team.with(place.clone(), move || one(thread, kernel));
        }
        Ok(team.run()?.into_results())
    }
}

fn one(thread: &LoadThread, mut kernel: Box<dyn Kernel>) -> Performed {
    if thread.from_ns > 0 {
        sleep_until_ns(monotonic_ns() + thread.from_ns);
    }
    let begin_ns = monotonic_ns();
    let (mut passes, mut end_ns) = (0, begin_ns);
    while !over(thread.work, passes, end_ns - begin_ns) {
        let piece = match thread.work {
            Work::Passes(all) => PIECE.min(all - passes),
            Work::Time(_) => PIECE,
        };
        std::hint::black_box(kernel.run(piece));
        passes += piece;
        end_ns = monotonic_ns();
    }
    Performed { begin_ns, end_ns, passes, check: Check::of(kernel.check()) }
}

fn over(work: Work, passes: u64, ns: u64) -> bool {
    match work {
        Work::Passes(all) => passes >= all,
        Work::Time(all) => ns >= all,
    }
}

fn place(seat: Seat, host: &Host) -> Result<Place, String> {
    let firsts = host.one_per_core();
    let first = |core: usize| {
        let n = firsts.len();
        firsts.get(core).copied().ok_or(format!("core {core} is not there; there are {n} cores"))
    };
    match seat {
        Seat::Anywhere => Ok(Place::anywhere()),
        Seat::Cpu(cpu) if host.cpus.contains(&cpu) => Ok(Place::on(cpu)),
        Seat::Cpu(cpu) => Err(format!("CPU {cpu} is not there or may not be used")),
        Seat::Core(core) => Ok(Place::on(first(core)?)),
        Seat::Sibling(core) => {
            let own = first(core)?;
            let beside = |cpu: &&u32| host.relation(own, **cpu) == Relation::Siblings;
            let sibling = host.cpus.iter().find(beside);
            sibling.map(|cpu| Place::on(*cpu)).ok_or(format!("core {core} has one seat"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine may be as slow as it likes: nobody begins early or ends early.
    #[test]
    fn a_thread_begins_after_its_time_and_does_all_its_work() {
        let run = |line: &str| {
            let pattern = LoadPattern::parse(line).unwrap();
            let thread = &pattern.threads[0];
            let released_ns = monotonic_ns();
            (released_ns, one(thread, thread.kernel().unwrap()))
        };
        let (released_ns, timed) = run("B: biquads for 1 ms from 2 ms");
        assert!(timed.begin_ns >= released_ns + 2_000_000);
        assert!(timed.end_ns >= timed.begin_ns + 1_000_000 && timed.passes > 0);
        let (_, counted) = run("A: fp for 50 passes");
        assert_eq!((counted.passes, &counted.check), (50, &Check::Passed));
        assert!(counted.end_ns >= counted.begin_ns);
    }
}
