//! Turns of all engines on one graph.

use std::sync::Arc;

use hocket_engine::{Engine, Settings, Steer, ThreadReport};
use hocket_machine::clock::{TickRate, monotonic_ns, ticks};
use hocket_plan::ScheduleKind;
use serde_json::Value;

use super::Setup;
use super::subject::Subject;
use crate::executors::hostile::Crossing;
use crate::executors::measure::{Pace, blocks_by_worker};
use crate::stats::Rng;

/// Blocks of a turn that count.
pub(super) const COUNTED: usize = 5;
/// Blocks before them: they find other engines' memory in the caches, and workers that are asleep.
const UNCOUNTED: usize = 1;
/// Rounds that are thrown away.
const WARM_UP: usize = 2;
/// Blocks from fresh memory whose bits all must agree, before anything is measured and afterwards.
const CHECKED: usize = 16;
/// How long a schedule that follows costs, but does not choose, runs alone: one new plan.
const PRICED_NS: u64 = 250_000_000;

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The serial walk.
    Serial,
    /// The same once more, on memory of its own: the A/A pair.
    SerialAgain,
    /// A schedule for several workers that stays.
    Fixed(ScheduleKind),
    /// Kind and workers as the engine chooses.
    Auto,
}

impl Who {
    /// Everybody, in the order of tables.
    pub(super) fn all() -> Vec<Who> {
        let several = ScheduleKind::ALL.into_iter().filter(|kind| *kind != ScheduleKind::Serial);
        let first = [Who::Serial, Who::SerialAgain];
        first.into_iter().chain(several.map(Who::Fixed)).chain([Who::Auto]).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Who::Serial => "serial",
            Who::SerialAgain => "serial again",
            Who::Fixed(kind) => kind.name(),
            Who::Auto => "auto",
        }
    }

    fn settings(self, setup: &Setup) -> Settings {
        let settings = match self {
            Who::Serial | Who::SerialAgain => setup.settings(ScheduleKind::Serial),
            Who::Fixed(kind) => setup.settings(kind),
            Who::Auto => Settings { steer: Steer::Auto, ..setup.settings(ScheduleKind::Critical) },
        };
        Settings { priority: setup.priority, ..settings }
    }
}

/// One graph, with all samples.
#[derive(Debug, Clone)]
pub(super) struct Played {
    pub graph: String,
    /// The graph in a few words, and in full.
    pub words: String,
    pub about: Value,
    /// In the order of [`Who::all`].
    pub runs: Vec<Run>,
    /// What the leader and `auto`'s workers asked for and got.
    pub threads: Vec<ThreadReport>,
}

/// One engine's part.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub who: Who,
    /// Block times in order, [`COUNTED`] a turn.
    pub block_ns: Vec<f64>,
    /// Share of these blocks to which each worker came, the leader first.
    pub came: Vec<f64>,
    /// What the plan was in the end: kind and workers.
    pub plan: (ScheduleKind, usize),
}

/// Lets everybody play `subject` in turns.
///
/// Thread: control; the leader while it plays.
///
/// # Errors
/// What could not be had here; engines that do not compute the same.
pub(super) fn play(
    subject: &Subject,
    setup: &Setup,
    crossing: Option<&Arc<Crossing>>,
) -> Result<Played, String> {
    let mut seated = Vec::new();
    for who in Who::all() {
        let engine =
            Engine::start(subject.prepare(crossing)?, who.settings(setup), setup.seating.clone());
        seated.push(Seated::new(who, engine.map_err(|error| error.to_string())?));
    }
    // All threads sit; now the leader may become a real-time one.
    let auto = seated.last().ok_or("nobody takes part")?;
    let entered = auto.engine.enter();
    let mut threads = vec![entered.report.clone()];
    threads.extend(auto.engine.reports().iter().cloned());
    let frames = setup.frames as usize;
    agree(subject, &mut seated, frames)?;
    let mut stage = Stage::new(setup);
    stage.settle(&mut seated, setup.settle_ns);
    stage.rounds(&mut seated, setup.rounds);
    agree(subject, &mut seated, frames)?;
    drop(entered);
    Ok(Played {
        graph: subject.name.clone(),
        words: subject.words(),
        about: subject.about(),
        runs: seated.into_iter().map(Seated::into_run).collect(),
        threads,
    })
}

/// An engine and what it has shown.
struct Seated {
    who: Who,
    engine: Engine,
    block_ns: Vec<f64>,
    /// Blocks to which each worker came, of those that counted.
    came: Vec<u64>,
}

impl Seated {
    fn new(who: Who, engine: Engine) -> Seated {
        let came = vec![0; 1 + engine.reports().len()];
        Seated { who, engine, block_ns: Vec::new(), came }
    }

    /// Adds the blocks in which each worker took part since it had taken part in `before`.
    fn note_who_came(&mut self, before: &[u64]) {
        let now = blocks_by_worker(&self.engine);
        for (came, (now, before)) in self.came.iter_mut().zip(now.iter().zip(before)) {
            *came += now - before;
        }
    }

    fn into_run(self) -> Run {
        let schedule = self.engine.schedule();
        let share = |came: &u64| *came as f64 / self.block_ns.len().max(1) as f64;
        Run {
            who: self.who,
            came: self.came.iter().map(share).collect(),
            plan: (schedule.kind(), schedule.workers()),
            block_ns: self.block_ns,
        }
    }
}

/// Whether all leave the same bits from fresh memory on.
fn agree(subject: &Subject, seated: &mut [Seated], frames: usize) -> Result<(), String> {
    seated.iter_mut().for_each(|one| one.engine.reset());
    for block in 0..CHECKED {
        let mut expected: Option<Vec<u32>> = None;
        for Seated { who, engine, .. } in seated.iter_mut() {
            engine.process(frames);
            let bits: Vec<u32> = engine.output(frames).left.iter().map(|s| s.to_bits()).collect();
            if *expected.get_or_insert_with(|| bits.clone()) != bits {
                return Err(format!(
                    "{}: block {block} by {} differs from the serial walk's; its times mean nothing",
                    subject.name,
                    who.name()
                ));
            }
        }
    }
    Ok(())
}

/// Where a run stands.
struct Stage {
    pace: Pace,
    rate: TickRate,
    rng: Rng,
    frames: usize,
}

impl Stage {
    fn new(setup: &Setup) -> Stage {
        Stage {
            pace: Pace::paced(setup.frames, setup.rate_hz),
            rate: TickRate::get(),
            rng: Rng::new(setup.seed),
            frames: setup.frames as usize,
        }
    }

    /// Lets each schedule that follows costs find its form, alone as in real use.
    fn settle(&mut self, seated: &mut [Seated], settle_ns: u64) {
        for one in seated {
            let alone_ns = match one.engine.settings().steer {
                Steer::Fixed => 0,
                Steer::Costs => settle_ns.min(PRICED_NS),
                Steer::Auto => settle_ns,
            };
            let until = monotonic_ns() + alone_ns;
            while monotonic_ns() < until {
                self.block(&mut one.engine, true);
            }
        }
    }

    fn rounds(&mut self, seated: &mut [Seated], rounds: usize) {
        for round in 0..WARM_UP + rounds {
            self.round(seated, round >= WARM_UP);
        }
    }

    /// One turn each, in random order.
    fn round(&mut self, seated: &mut [Seated], counts: bool) {
        let mut order: Vec<usize> = (0..seated.len()).collect();
        self.rng.shuffle(&mut order);
        for place in order {
            let took_ns = self.turn(&mut seated[place], counts);
            if counts {
                seated[place].block_ns.extend(took_ns);
            }
        }
    }

    /// Some blocks, a period apart.
    fn turn(&mut self, one: &mut Seated, counts: bool) -> [f64; COUNTED] {
        (0..UNCOUNTED).for_each(|_| _ = self.block(&mut one.engine, true));
        let before = blocks_by_worker(&one.engine);
        let took_ns = std::array::from_fn(|block| {
            // Nobody knows when the next turn comes.
            self.block(&mut one.engine, block + 1 < COUNTED)
        });
        if counts {
            one.note_who_came(&before);
        }
        took_ns
    }

    /// One block; the time around the call, by the same clock for everybody.
    fn block(&mut self, engine: &mut Engine, goes_on: bool) -> f64 {
        self.pace.wait();
        if let Some(next_ns) = self.pace.next_ns().filter(|_| goes_on) {
            engine.expect_next(next_ns);
        }
        let called = ticks();
        engine.process(self.frames);
        let returned = ticks();
        self.rate.ticks_to_ns(returned.wrapping_sub(called)) as f64
    }
}
