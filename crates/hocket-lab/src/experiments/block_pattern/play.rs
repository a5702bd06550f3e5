//! Threads that walk a pattern of steps once a millisecond.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use hocket_machine::class::Class;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_rt::{Barrier, SpinCost, Strategy, Wait};

use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};
use crate::patterns::{Step, StepPattern, StepThread};

/// Between two triggers.
const PERIOD_NS: u64 = 1_000_000;
/// From the start to the first trigger, so that nobody misses it.
const LEAD_NS: u64 = 1_000_000;
/// Dependent steps of a pass.
const STEPS: u32 = 64;

/// A pattern with its threads' places.
pub(super) struct Playing {
    pattern: StepPattern,
    places: Vec<Place>,
    sleeping: Wait,
    spinning: Wait,
    /// What a unit of so many passes must come to.
    expected: BTreeMap<u32, u64>,
}

/// What came of it.
pub(super) struct Played {
    /// Time of each block.
    pub block_ms: Vec<f64>,
    /// Blocks that ended too late.
    pub late: u64,
    /// All blocks together.
    pub wall_ns: u64,
    /// Whether every unit's result is right.
    pub check: Check,
}

/// What one thread noted.
struct Noted {
    /// When the thread was awake for each block; empty for all but the first.
    awake_ns: Vec<u64>,
    planned_ns: Vec<u64>,
    ended_ns: Vec<u64>,
    wrong: u64,
}

impl Playing {
    pub(super) fn new(
        pattern: StepPattern,
        cpus: &[u32],
        class: Option<Class>,
        shared: bool,
    ) -> Playing {
        let cost = SpinCost::measure();
        let spinning = Wait::new(Strategy::Pause, &cost, Duration::ZERO);
        let steps = pattern.threads.iter().flat_map(|thread| &thread.steps);
        let expected = steps
            .filter_map(|step| match step {
                Step::Process(passes) => Some((*passes, process(*passes))),
                _ => None,
            })
            .collect();
        let place = |cpu: &u32| match class {
            Some(class) => Place::on(*cpu).class(class),
            None => Place::on(*cpu),
        };
        Playing {
            pattern,
            places: cpus.iter().map(place).collect(),
            sleeping: Wait::new(Strategy::Futex, &cost, Duration::ZERO),
            spinning: if shared { spinning.yielding_after(Strategy::USUAL_SPIN) } else { spinning },
            expected,
        }
    }

    /// So many blocks.
    pub(super) fn play(&self, blocks: usize) -> Result<Played, Fault> {
        let barrier = Barrier::new(self.pattern.threads.len() as u32);
        let mut team = TurnThreads::new();
        for (number, thread) in self.pattern.threads.iter().enumerate() {
            let place = self.places[number % self.places.len()].clone();
            let barrier = &barrier;
            team = team.with(place, move || self.walk(thread, number == 0, barrier, blocks));
        }
        let run = team.run()?;
        let wall_ns = run.wall_ns();
        Ok(played(&run.into_results(), wall_ns))
    }

    /// One thread's part of all blocks. The first one is triggered; the others sleep at the first barrier.
    fn walk(&self, thread: &StepThread, first: bool, barrier: &Barrier, blocks: usize) -> Noted {
        let column = || Vec::with_capacity(blocks);
        let mut noted =
            Noted { awake_ns: column(), planned_ns: column(), ended_ns: column(), wrong: 0 };
        let start_ns = monotonic_ns() + LEAD_NS;
        for block in 0..blocks as u64 {
            if first {
                let planned_ns = start_ns + block * PERIOD_NS;
                sleep_until_ns(planned_ns);
                noted.planned_ns.push(planned_ns);
                noted.awake_ns.push(monotonic_ns());
            }
            for step in &thread.steps {
                noted.wrong += u64::from(!self.step(*step, barrier));
            }
            noted.ended_ns.push(monotonic_ns());
        }
        noted
    }

    /// One step; whether what it computed is right.
    fn step(&self, step: Step, barrier: &Barrier) -> bool {
        match step {
            Step::Barrier => barrier.wait(&self.sleeping),
            Step::SpinBarrier => barrier.wait(&self.spinning),
            Step::Process(passes) => return Some(&process(passes)) == self.expected.get(&passes),
        };
        true
    }
}

/// So many passes of a chain of multiplications and additions; the bits of its end.
fn process(passes: u32) -> u64 {
    let (factor, summand) = black_box((0.999_9, 0.000_3));
    let mut y = black_box(1.0f64);
    for _ in 0..passes {
        for _ in 0..STEPS {
            y = y * factor + summand;
        }
    }
    black_box(y).to_bits()
}

fn played(threads: &[Noted], wall_ns: u64) -> Played {
    let wrong: u64 = threads.iter().map(|thread| thread.wrong).sum();
    let first = &threads[0];
    let end = |block: usize| threads.iter().map(|thread| thread.ended_ns[block]).max().unwrap_or(0);
    let late = |block: &usize| end(*block) > first.planned_ns[*block] + PERIOD_NS;
    let time = |(block, awake): (usize, &u64)| end(block).saturating_sub(*awake) as f64 / 1e6;
    Played {
        block_ms: first.awake_ns.iter().enumerate().map(time).collect(),
        late: (0..first.planned_ns.len()).filter(late).count() as u64,
        wall_ns,
        check: Check::equal("units with a wrong result", wrong, 0),
    }
}
