//! One cell: a graph, a mode, a policy.

use hocket_engine::{Engine, Seating, Settings, Steer, period_ns, seats_of};
use hocket_machine::Topology;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_plan::Fusing;

use super::options::{Options, Variant};
use crate::awake::KeepAwake;
use crate::graphs::GraphSpec;
use crate::stats::{self, Comparison};

/// How blocks are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A block each period.
    Paced,
    /// Block after block.
    Hot,
}

impl Mode {
    /// For tables and the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Paced => "paced",
            Mode::Hot => "hot",
        }
    }

    /// Blocks of one walk before the other's turn. Paced blocks alternate one by one. Hot ones take
    /// turns of ten: after a serial block the workers sleep, so every other block would not be hot.
    fn turn(self) -> usize {
        match self {
            Mode::Paced => 1,
            Mode::Hot => 10,
        }
    }

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Mode> {
        [Mode::Paced, Mode::Hot].into_iter().find(|mode| mode.name() == name)
    }
}

/// What was measured, with all samples.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The graph.
    pub graph: &'static str,
    /// How blocks were asked for.
    pub mode: Mode,
    /// How it was run.
    pub variant: Variant,
    /// Workers that the plan used in the end.
    pub used: usize,
    /// Units that the plan had in the end.
    pub units: usize,
    /// Workers, the leader included.
    pub workers: usize,
    /// Block times of the serial walk, in order.
    pub serial_ns: Vec<f64>,
    /// Block times of the parallel walk, in order.
    pub parallel_ns: Vec<f64>,
    /// (serial / workers) / parallel, over the stretches of the run.
    pub efficiency: Option<Comparison>,
    /// Share of the parallel blocks in which every worker of the plan took part.
    pub all_came: f64,
    /// Share of the parallel blocks to which each worker came, the leader first.
    pub came: Vec<f64>,
    /// What the threads asked for and got.
    pub threads: Vec<hocket_engine::ThreadReport>,
    /// The least possible time by the critical path, as a share of serial / workers.
    pub cap: f64,
}

/// Blocks run before anything counts.
const WARM_UP: usize = 200;
/// Consecutive blocks whose median is one observation for the interval.
const STRETCH: usize = 50;

/// Measures one cell.
///
/// # Errors
/// What could not be had here.
pub fn measure(
    spec: &GraphSpec,
    mode: Mode,
    variant: Variant,
    options: &Options,
) -> Result<Cell, String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let seating = Seating::here(&topology, variant.policy.sibling, options.workers);
    let seating = seating.map_err(|error| error.to_string())?;
    let settings = Settings::new(options.frames, options.rate_hz, variant.policy);
    let settings = Settings { steer: variant.steer, ..settings };
    let prepared = spec.prepare(Fusing::Chains).map_err(|error| error.to_string())?;
    let workers = seating.placement().workers.len();
    let cap = cap(&prepared.units, workers);
    let mut engine =
        Engine::start(prepared, settings, seating).map_err(|error| error.to_string())?;
    let cpus: Vec<u32> = if options.keep_awake { seats_of(&topology).1 } else { Vec::new() };
    let awake = KeepAwake::on(&cpus);
    let entered = engine.enter();
    let samples = alternate(&mut engine, mode, options);
    let mut threads = vec![entered.report.clone()];
    threads.extend(engine.reports().iter().cloned());
    drop(entered);
    drop(awake);
    samples.check(spec.name)?;
    let stretches = |samples: &[f64]| -> Vec<f64> {
        samples.chunks(STRETCH).filter_map(stats::median).collect()
    };
    let serial: Vec<f64> =
        stretches(&samples.serial_ns).into_iter().map(|ns| ns / workers as f64).collect();
    let parallel = stretches(&samples.parallel_ns);
    Ok(Cell {
        graph: spec.name,
        mode,
        variant,
        used: engine.schedule().workers(),
        units: engine.schedule().units().units().len(),
        workers,
        efficiency: stats::compare(&parallel, &serial, 1),
        all_came: samples.all_came as f64 / samples.parallel_ns.len() as f64,
        came: samples.came,
        serial_ns: samples.serial_ns,
        parallel_ns: samples.parallel_ns,
        threads,
        cap,
    })
}

/// What the critical path allows, by declared operations.
fn cap(units: &hocket_plan::UnitGraph, workers: usize) -> f64 {
    let share = units.total_cost() / workers as f64;
    share / share.max(units.critical_path_cost())
}

struct Samples {
    serial_ns: Vec<f64>,
    parallel_ns: Vec<f64>,
    all_came: usize,
    came: Vec<f64>,
    serial_end: Vec<f32>,
    parallel_end: Vec<f32>,
}

impl Samples {
    /// The input is constant, so after the warm-up both walks give the same settled block.
    fn check(&self, graph: &str) -> Result<(), String> {
        let bits = |row: &[f32]| row.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
        if bits(&self.serial_end) == bits(&self.parallel_end) && !self.serial_end.is_empty() {
            return Ok(());
        }
        Err(format!("{graph}: the parallel walk computes something else than the serial one"))
    }
}

/// Until caches are warm and, where the schedule follows measured costs, the plan has found its form.
fn warm_up(engine: &mut Engine, pace: &mut Pace, options: &Options) {
    let frames = options.frames as usize;
    let steered = engine.settings().steer != Steer::Fixed;
    // The planner looks every 40 ms and wants 64 blocks of each plan.
    let until = monotonic_ns() + if steered { options.settle_ns } else { 0 };
    let mut done = 0;
    while done < WARM_UP || monotonic_ns() < until {
        pace.wait();
        if let Some(next_ns) = pace.next_ns() {
            engine.expect_next(next_ns);
        }
        engine.process(frames);
        engine.process_serial(frames);
        done += 1;
    }
}

fn alternate(engine: &mut Engine, mode: Mode, options: &Options) -> Samples {
    let frames = options.frames as usize;
    let mut pace = Pace::new(mode, options);
    warm_up(engine, &mut pace, options);
    let mut samples = Samples {
        serial_ns: Vec::with_capacity(options.blocks),
        parallel_ns: Vec::with_capacity(options.blocks),
        all_came: 0,
        came: Vec::new(),
        serial_end: Vec::new(),
        parallel_end: Vec::new(),
    };
    let before = blocks_by_worker(engine);
    while samples.parallel_ns.len() < options.blocks {
        for _ in 0..mode.turn() {
            pace.wait();
            samples.serial_ns.push(engine.process_serial(frames).duration_ns as f64);
        }
        for _ in 0..mode.turn() {
            pace.wait();
            if let Some(next_ns) = pace.next_parallel_ns() {
                engine.expect_next(next_ns);
            }
            let times = engine.process(frames);
            samples.parallel_ns.push(times.duration_ns as f64);
            samples.all_came += usize::from(times.workers as usize == engine.schedule().workers());
        }
    }
    samples.came = shares(&before, &blocks_by_worker(engine), samples.parallel_ns.len());
    engine.process_serial(frames);
    samples.serial_end = engine.output(frames).left.to_vec();
    engine.process(frames);
    samples.parallel_end = engine.output(frames).left.to_vec();
    samples
}

/// Share of `blocks` to which each worker came between two counts. The leader's count holds the serial
/// blocks too; it came to all.
fn shares(before: &[u64], after: &[u64], blocks: usize) -> Vec<f64> {
    let share = |(before, after): (&u64, &u64)| (after - before) as f64 / blocks.max(1) as f64;
    before.iter().zip(after).map(share).map(|share| share.min(1.0)).collect()
}

/// Blocks in which each worker took part since the engine started, the leader first.
pub(super) fn blocks_by_worker(engine: &Engine) -> Vec<u64> {
    engine.totals().iter().map(|totals| totals.blocks).collect()
}

/// Waits for the next period, on absolute time.
pub(super) struct Pace {
    period_ns: Option<u64>,
    next_ns: u64,
}

impl Pace {
    fn new(mode: Mode, options: &Options) -> Pace {
        match mode {
            Mode::Paced => Pace::paced(options.frames, options.rate_hz),
            Mode::Hot => Pace { period_ns: None, next_ns: 0 },
        }
    }

    /// A block of so many frames each time that it would be played.
    pub(super) fn paced(frames: u32, rate_hz: u32) -> Pace {
        Pace { period_ns: Some(period_ns(frames.into(), rate_hz)), next_ns: 0 }
    }

    /// When the next block is due.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.period_ns.map(|period| self.next_ns + period)
    }

    /// When the next parallel block is due: there is a serial one between.
    fn next_parallel_ns(&self) -> Option<u64> {
        self.period_ns.map(|period| self.next_ns + 2 * period)
    }

    pub(super) fn wait(&mut self) {
        let Some(period) = self.period_ns else { return };
        let now = monotonic_ns();
        // After a stall the next tick lies ahead, so that blocks never come in a burst.
        self.next_ns = (self.next_ns + period).max(now + period / 2);
        sleep_until_ns(self.next_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_came_to_half_the_blocks_has_half_the_share() {
        assert_eq!(shares(&[10, 5], &[210, 55], 100), [1.0, 0.5]);
        assert_eq!(shares(&[0, 0, 0], &[20, 0, 10], 10), [1.0, 0.0, 1.0]);
    }
}
