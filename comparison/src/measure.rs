//! One cell: a graph in a mode, all executors block by block in one run.
//!
//! A run is made of groups. In each of them every executor has one turn, in an order drawn anew, so
//! whatever drifts (frequency, neighbours, load) drifts through all alike.

use hocket_engine::ThreadReport;
use hocket_lab::graphs::GraphSpec;
use hocket_lab::stats::Rng;
use hocket_machine::clock::{TickRate, monotonic_ns, sleep_until_ns, ticks};
use hocket_machine::float_mode::FlushDenormals;

use crate::executor::{self, Engines, Executor, Seated, Who};
use crate::idle::Looks;
use crate::network::FRAMES;
use crate::rivals::Rivals;
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
    /// Everybody who took part, in the order of [`Who::ALL`].
    pub runs: Vec<Samples>,
    /// What the leader and Hocket's workers asked for and got.
    pub threads: Vec<ThreadReport>,
}

/// One executor's part of a cell.
#[derive(Debug, Clone)]
pub struct Samples {
    /// Whose.
    pub who: Who,
    /// Block times, in order.
    pub block_ns: Vec<f64>,
    /// Share of the executor's blocks to which each worker came, the leader first; empty for rivals. A hot turn's
    /// blocks that do not count are among them.
    pub came: Vec<f64>,
    /// How `auto` walked in the end, and why.
    pub chose: Option<String>,
    /// Whether threads were awake between blocks, looked at before anything counted; paced only.
    pub between: Looks,
    /// How many periods a turn takes: always 1 in hot mode, more where blocks take over half a period.
    pub periods: u64,
}

/// Why a cell is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Something could not be had here.
    NotHere(String),
    /// Two executors computed different things.
    Differs(String),
}

/// Blocks from fresh memory on whose bits all must agree: the filters' whole transient.
const CHECKED: usize = 32;
/// Groups, after those in which threads are looked at, in which `auto` finds its form. It does so among the others,
/// because caches that others have used make its blocks longer.
const SETTLING: usize = 600;
/// Groups that are run and thrown away.
const WARM_UP: usize = 20;
/// Blocks at the start of a hot turn that are run and thrown away: the first one finds all threads
/// asleep.
const HOT_WARM_UP: usize = 3;
/// Between hot turns. Hocket's and OpenMP's threads spin for 50 us after a block before they sleep,
/// rayon's and oneTBB's for some rounds of yielding; nobody's turn may begin beside another's
/// spinning threads.
const HOT_REST_NS: u64 = 500_000;
/// Of paced blocks.
const PERIOD_NS: u64 = FRAMES as u64 * 1_000_000_000 / RATE_HZ as u64;

/// At least so long after a block the next executor's turn begins.
const REST_NS: u64 = PERIOD_NS / 2;
/// The most periods of a turn.
const MOST_PERIODS: u64 = 8;

/// When, before a paced block, threads are looked at: the block before is long done, and Hocket's
/// workers do not wake themselves yet.
const LOOK_AHEAD_NS: u64 = 400_000;

/// Measures one cell of `blocks` blocks an executor.
///
/// Thread: the one that started `rivals`; it becomes the leader of all.
///
/// # Errors
/// [`Failure`].
pub fn measure(
    spec: &GraphSpec,
    mode: Mode,
    blocks: usize,
    setup: &Setup,
    rivals: &Rivals,
    seed: u64,
) -> Result<Cell, Failure> {
    let mut engines = Engines::start(spec, setup).map_err(Failure::NotHere)?;
    let workers = engines.told.schedule().workers();
    // All threads sit; now the leader may become a real-time one.
    let entered = engines.told.enter();
    let mut threads = vec![entered.report.clone()];
    threads.extend(engines.told.reports().iter().cloned());
    let seated = executor::seat(spec, setup, rivals, &mut engines);
    let mut all = seated.map_err(Failure::NotHere)?;
    if mode == Mode::Hot {
        // Hot blocks are not planned, so there is nothing to tell or not to tell.
        all.retain(|(who, _)| *who != Who::HocketUntold);
    }
    for _ in 0..CHECKED {
        all.iter_mut().for_each(|(_, executor)| in_float_mode(executor.as_mut()));
        agree(spec, &all)?;
    }
    let mut run = Run::new(mode, seed, all.len());
    let runs = run.groups(&mut all, blocks);
    agree(spec, &all)?;
    Ok(Cell { graph: spec.name, mode, workers, runs, threads })
}

/// Whether all left the same bits as the serial walk.
///
/// # Errors
/// [`Failure::Differs`].
pub fn agree(spec: &GraphSpec, all: &[Seated<'_>]) -> Result<(), Failure> {
    let bits =
        |executor: &dyn Executor| executor.output().iter().map(|s| s.to_bits()).collect::<Vec<_>>();
    let expected = all.first().map(|(_, serial)| bits(serial.as_ref())).unwrap_or_default();
    match all.iter().find(|(_, executor)| bits(executor.as_ref()) != expected) {
        None if expected.len() == FRAMES => Ok(()),
        None => Err(Failure::Differs(format!("{}: no output", spec.name))),
        Some((who, _)) => Err(Failure::Differs(format!(
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
    /// When the last paced block was planned.
    planned_ns: u64,
    /// When the next one is planned.
    next_ns: u64,
    /// How many periods a turn of each executor takes. Hocket is told when its next block begins. These numbers make
    /// that time true even if another executor's block takes longer than a period.
    periods: Vec<u64>,
    /// The order of turns in this group, and in the next.
    orders: [Vec<usize>; 2],
}

impl Run {
    fn new(mode: Mode, seed: u64, count: usize) -> Run {
        let mut rng = Rng::new(seed);
        let orders = [order(count, &mut rng), order(count, &mut rng)];
        let rate = TickRate::get();
        let periods = vec![1; count];
        Run { mode, rate, rng, planned_ns: 0, next_ns: 0, periods, orders }
    }

    fn groups(&mut self, all: &mut [Seated<'_>], blocks: usize) -> Vec<Samples> {
        let samples = |who| Samples {
            who,
            block_ns: Vec::with_capacity(blocks.max((WARM_UP + SETTLING) * self.mode.turn())),
            came: Vec::new(),
            chose: None,
            between: Looks::default(),
            periods: 1,
        };
        let mut runs: Vec<Samples> = all.iter().map(|(who, _)| samples(*who)).collect();
        for _ in 0..WARM_UP {
            self.group(all, self.mode.turn(), &mut runs, true);
        }
        self.give_room(&mut runs);
        for _ in 0..SETTLING.min(blocks) {
            self.group(all, self.mode.turn(), &mut runs, false);
        }
        runs.iter_mut().for_each(|run| run.block_ns.clear());
        let before: Vec<_> = all.iter().map(|(_, executor)| executor.blocks_by_worker()).collect();
        let mut left = blocks;
        while left > 0 {
            let turn = self.mode.turn().min(left);
            self.group(all, turn, &mut runs, false);
            left -= turn;
        }
        for ((run, before), (_, executor)) in runs.iter_mut().zip(before).zip(all) {
            run.came = shares(&before, &executor.blocks_by_worker());
            run.chose = executor.chose();
        }
        runs
    }

    /// One turn each, in random order.
    fn group(&mut self, all: &mut [Seated<'_>], turn: usize, runs: &mut [Samples], looking: bool) {
        for place in 0..all.len() {
            let who = self.orders[0][place];
            let executor = all[who].1.as_mut();
            self.begin_turn(who, place, executor);
            for _ in 0..turn {
                let ns = self.timed(executor);
                runs[who].block_ns.push(ns);
            }
            if looking && self.mode == Mode::Paced {
                sleep_until_ns(self.next_ns - LOOK_AHEAD_NS);
                runs[who].between.look();
            }
        }
        self.orders.swap(0, 1);
        self.orders[1] = order(all.len(), &mut self.rng);
    }

    /// Makes turns as long as the blocks of the warm-up ask for.
    fn give_room(&mut self, runs: &mut [Samples]) {
        if self.mode == Mode::Paced {
            self.periods = runs.iter().map(|run| periods_of(&run.block_ns)).collect();
        }
        runs.iter_mut().zip(&self.periods).for_each(|(run, periods)| run.periods = *periods);
    }

    /// From the turn at `place` of this group to the same executor's turn in the next group.
    fn periods_until_next(&self, place: usize) -> u64 {
        let [this, next] = &self.orders;
        let then = next.iter().position(|who| *who == this[place]).unwrap_or(0);
        this[place..].iter().chain(&next[..then]).map(|who| self.periods[*who]).sum()
    }

    fn begin_turn(&mut self, who: usize, place: usize, executor: &mut dyn Executor) {
        let now = monotonic_ns();
        match self.mode {
            Mode::Paced => {
                // After a stall the next block lies ahead, so that blocks never come in a burst.
                self.planned_ns = self.next_ns.max(now + REST_NS);
                self.next_ns = self.planned_ns + self.periods[who] * PERIOD_NS;
                sleep_until_ns(self.planned_ns);
                executor.expect_next(self.planned_ns + self.periods_until_next(place) * PERIOD_NS);
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

/// Share of the blocks between two counts to which each worker came; the leader, who is the first, came to all.
fn shares(before: &[u64], after: &[u64]) -> Vec<f64> {
    let blocks: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let all = blocks.first().copied().unwrap_or(0).max(1);
    blocks.into_iter().map(|came| came as f64 / all as f64).collect()
}

/// Periods into which nine of ten of these blocks fit, with a rest behind them. A stall of the host is the tenth.
fn periods_of(block_ns: &[f64]) -> u64 {
    let mut sorted = block_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted.get(sorted.len().saturating_sub(1) * 9 / 10).map_or(0, |ns| *ns as u64);
    (usual + REST_NS).div_ceil(PERIOD_NS).clamp(1, MOST_PERIODS)
}

fn order(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    rng.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_is_told_by_the_leaders_blocks() {
        assert_eq!(shares(&[10, 4], &[110, 54]), [1.0, 0.5]);
        assert_eq!(shares(&[], &[]), [0.0; 0]);
    }

    fn a_run(periods: &[u64], orders: [&[usize]; 2]) -> Run {
        let mut run = Run::new(Mode::Paced, 1, periods.len());
        run.periods = periods.to_vec();
        run.orders = orders.map(<[usize]>::to_vec);
        run
    }

    #[test]
    fn the_next_turn_counts_the_periods_of_all_turns_until_then() {
        let run = a_run(&[1, 3, 1], [&[0, 1, 2], &[2, 0, 1]]);
        // Its own turn, the two others of this group, and the one before it in the next group.
        assert_eq!(run.periods_until_next(0), 1 + 3 + 1 + 1);
        assert_eq!(run.periods_until_next(1), 3 + 1 + 1 + 1);
        assert_eq!(run.periods_until_next(2), 1);
    }

    #[test]
    fn a_turn_is_as_long_as_most_of_its_blocks_and_a_rest() {
        let usual = vec![PERIOD_NS as f64 / 4.0; 20];
        assert_eq!(periods_of(&usual), 1);
        let mut one_stall = usual.clone();
        one_stall[3] = 20.0 * PERIOD_NS as f64;
        assert_eq!(periods_of(&one_stall), 1, "a stall of the host is not the executor's");
        assert_eq!(periods_of(&[0.7 * PERIOD_NS as f64; 20]), 2, "the rest has to fit in as well");
        assert_eq!(periods_of(&[1.2 * PERIOD_NS as f64; 20]), 2);
        assert_eq!(periods_of(&[1e12; 20]), MOST_PERIODS);
        assert_eq!(periods_of(&[]), 1);
    }
}
