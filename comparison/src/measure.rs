//! One cell: a graph in a mode, the four executors block by block in one run.
//!
//! A run is made of groups. In each of them every executor has one turn, in an order drawn anew, so
//! whatever drifts (frequency, neighbours, load) drifts through all four alike.

use hocket_engine::ThreadReport;
use hocket_lab::graphs::GraphSpec;
use hocket_lab::stats::Rng;
use hocket_machine::clock::{TickRate, monotonic_ns, sleep_until_ns, ticks};
use hocket_machine::float_mode::FlushDenormals;

use crate::executor::{self, Executor, Four, Who};
use crate::network::FRAMES;
use crate::pool::Pool;
use crate::setup::{RATE_HZ, Setup};

/// How blocks are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// A block each period: everybody's threads sleep in between.
    Paced,
    /// Block after block: everybody's threads are awake.
    Hot,
}

impl Mode {
    /// For tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Paced => "paced",
            Mode::Hot => "hot",
        }
    }

    /// Blocks of a turn.
    fn turn(self) -> usize {
        match self {
            Mode::Paced => 1,
            Mode::Hot => 10,
        }
    }
}

/// What was measured, with all samples.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The graph.
    pub graph: &'static str,
    /// How blocks were asked for.
    pub mode: Mode,
    /// Workers, the leader included.
    pub workers: usize,
    /// Block times of each of [`Who::ALL`], in order.
    pub samples_ns: [Vec<f64>; 4],
    /// What the leader and Hocket's workers asked for and got.
    pub threads: Vec<ThreadReport>,
}

/// Why a cell is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Something could not be had here.
    NotHere(String),
    /// Two executors computed different things.
    Differs(String),
}

/// Blocks from fresh memory on whose bits all four must agree: the filters' whole transient.
const CHECKED: usize = 32;
/// Groups that are run and thrown away.
const WARM_UP: usize = 20;
/// Blocks at the start of a hot turn that are run and thrown away: the first one finds all threads
/// asleep.
const HOT_WARM_UP: usize = 3;
/// Between hot turns. Hocket's workers spin for 50 us after a block before they sleep, rayon's
/// threads for 32 rounds of yielding; nobody's turn may begin beside another's spinning threads.
const HOT_REST_NS: u64 = 500_000;
/// Of paced blocks.
const PERIOD_NS: u64 = FRAMES as u64 * 1_000_000_000 / RATE_HZ as u64;

/// Measures one cell of `blocks` blocks an executor.
///
/// Thread: the one that started `pool`; it becomes the leader of all four.
///
/// # Errors
/// [`Failure`].
pub fn measure(
    spec: &GraphSpec,
    mode: Mode,
    blocks: usize,
    setup: &Setup,
    pool: &Pool,
    seed: u64,
) -> Result<Cell, Failure> {
    let mut engine = executor::engine(spec, setup).map_err(Failure::NotHere)?;
    let workers = engine.schedule().workers();
    // All threads sit; now the leader may become a real-time one.
    let entered = engine.enter();
    let mut threads = vec![entered.report.clone()];
    threads.extend(engine.reports().iter().cloned());
    let mut four = executor::four(spec, setup, pool, &mut engine).map_err(Failure::NotHere)?;
    for _ in 0..CHECKED {
        four.iter_mut().for_each(|executor| in_float_mode(executor.as_mut()));
        agree(spec, &four)?;
    }
    let samples_ns = Run::new(mode, seed).groups(&mut four, blocks);
    agree(spec, &four)?;
    Ok(Cell { graph: spec.name, mode, workers, samples_ns, threads })
}

/// Whether all four left the same bits as the serial walk.
///
/// # Errors
/// [`Failure::Differs`].
pub fn agree(spec: &GraphSpec, four: &Four<'_>) -> Result<(), Failure> {
    let bits =
        |executor: &dyn Executor| executor.output().iter().map(|s| s.to_bits()).collect::<Vec<_>>();
    let expected = bits(four[Who::Serial as usize].as_ref());
    let differs = |who: &&Who| bits(four[**who as usize].as_ref()) != expected;
    match Who::ALL.iter().find(differs) {
        None if expected.len() == FRAMES => Ok(()),
        None => Err(Failure::Differs(format!("{}: no output", spec.name))),
        Some(who) => Err(Failure::Differs(format!(
            "{}: {} computes something else than the serial walk; its times mean nothing",
            spec.name,
            who.name()
        ))),
    }
}

/// One block with tiny numbers as zero, as every worker computes.
fn in_float_mode(executor: &mut dyn Executor) {
    let _float = FlushDenormals::enter();
    executor.block();
}

/// Where a run stands.
struct Run {
    mode: Mode,
    rate: TickRate,
    rng: Rng,
    next_ns: u64,
}

impl Run {
    fn new(mode: Mode, seed: u64) -> Run {
        Run { mode, rate: TickRate::get(), rng: Rng::new(seed), next_ns: 0 }
    }

    fn groups(&mut self, four: &mut Four<'_>, blocks: usize) -> [Vec<f64>; 4] {
        let mut thrown_away = [const { Vec::new() }; 4];
        for _ in 0..WARM_UP {
            self.group(four, self.mode.turn(), &mut thrown_away);
        }
        let mut samples: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::with_capacity(blocks));
        while samples[0].len() < blocks {
            let turn = self.mode.turn().min(blocks - samples[0].len());
            self.group(four, turn, &mut samples);
        }
        samples
    }

    /// One turn each, in random order.
    fn group(&mut self, four: &mut Four<'_>, turn: usize, samples: &mut [Vec<f64>; 4]) {
        let mut order = [0, 1, 2, 3];
        self.rng.shuffle(&mut order);
        for who in order {
            self.begin_turn(four[who].as_mut());
            for _ in 0..turn {
                let ns = self.timed(four[who].as_mut());
                samples[who].push(ns);
            }
        }
    }

    fn begin_turn(&mut self, executor: &mut dyn Executor) {
        let now = monotonic_ns();
        match self.mode {
            Mode::Paced => {
                // After a stall the next block lies ahead, so that blocks never come in a burst.
                self.next_ns = (self.next_ns + PERIOD_NS).max(now + PERIOD_NS / 2);
                sleep_until_ns(self.next_ns);
            }
            Mode::Hot => {
                sleep_until_ns(now + HOT_REST_NS);
                (0..HOT_WARM_UP).for_each(|_| in_float_mode(executor));
            }
        }
    }

    /// The time around the call, by the same clock for everybody.
    fn timed(&self, executor: &mut dyn Executor) -> f64 {
        let called = ticks();
        in_float_mode(executor);
        let returned = ticks();
        self.rate.ticks_to_ns(returned.wrapping_sub(called)) as f64
    }
}
