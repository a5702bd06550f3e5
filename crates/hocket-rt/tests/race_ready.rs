//! Edge E6 with real threads: units run once per block, after their predecessors, with their rows.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, wait, without_hanging};
use hocket_rt::{Countdown, ReadySet, Signal, Strategy, Turnstile};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const WORKERS: usize = 3;
const LANES: usize = 48;
const STEPS: usize = 4;
const UNITS: usize = LANES * STEPS;
const BLOCKS: u64 = 300;

/// A small engine: units in `STEPS` layers of `LANES`; each needs two neighbours of the layer
/// before it. Rows are plain.
struct Engine {
    gate: Signal,
    turnstile: Turnstile,
    set: ReadySet,
    work: Signal,
    countdowns: Vec<Countdown>,
    rows: Vec<Plain>,
    /// Number of the block: the leader's while closed, read inside.
    block: Plain,
    left: AtomicU64,
    stolen: AtomicU64,
    quit: AtomicBool,
}

impl Engine {
    fn new() -> Engine {
        Engine {
            gate: Signal::new(),
            turnstile: Turnstile::new(),
            set: ReadySet::new(WORKERS, UNITS),
            work: Signal::new(),
            countdowns: (0..UNITS).map(|_| Countdown::new(2)).collect(),
            rows: (0..UNITS).map(|_| Plain::new(0)).collect(),
            block: Plain::new(0),
            left: AtomicU64::new(0),
            stolen: AtomicU64::new(0),
            quit: AtomicBool::new(false),
        }
    }

    /// What unit `lane` of layer `step` computes from the rows of its predecessors.
    fn run(&self, worker: usize, unit: usize) {
        let (step, lane) = (unit / LANES, unit % LANES);
        let value = match step {
            0 => self.block.get(),
            _ => self.predecessors(step, lane).map(|from| self.rows[from].get()).iter().sum(),
        };
        self.rows[unit].set(value);
        if step + 1 < STEPS {
            self.finish(worker, step + 1, lane);
            self.finish(worker, step + 1, (lane + 1) % LANES);
        }
    }

    fn predecessors(&self, step: usize, lane: usize) -> [usize; 2] {
        let before = (step - 1) * LANES;
        [before + lane, before + (lane + LANES - 1) % LANES]
    }

    fn finish(&self, worker: usize, step: usize, lane: usize) {
        let unit = step * LANES + lane;
        if self.countdowns[unit].arrive() {
            self.countdowns[unit].reset();
            self.set.push(worker, unit as u32);
            self.work.advance();
        }
    }

    /// Until no unit is left in the block. A waiting worker sleeps for real.
    fn work_inside(&self, worker: usize) {
        loop {
            let seen = self.work.value();
            let stolen = || self.set.steal(worker).inspect(|_| self.count_stolen());
            if let Some(unit) = self.set.pop(worker).or_else(stolen) {
                self.run(worker, unit as usize);
                if self.left.fetch_sub(1, Relaxed) == 1 {
                    self.work.advance();
                }
            } else if self.left.load(Relaxed) == 0 {
                return;
            } else {
                self.work.wait_past(seen, &wait(Strategy::Futex));
            }
        }
    }

    fn count_stolen(&self) {
        self.stolen.fetch_add(1, Relaxed);
    }

    fn follow(&self, worker: usize) {
        let mut seen = 0;
        while !self.quit.load(Relaxed) {
            (seen, _) = self.gate.wait_past(seen, &wait(Strategy::Hybrid));
            if let Some(_inside) = self.turnstile.enter() {
                self.work_inside(worker);
            }
        }
    }

    fn lead(&self) {
        let words = 0..self.set.words();
        let first_layer: Vec<u64> = words.map(|word| bits_below(word, LANES)).collect();
        for block in 1..=BLOCKS {
            self.lead_block(&first_layer, block);
        }
        self.quit.store(true, Relaxed);
        self.gate.advance();
    }

    fn lead_block(&self, first_layer: &[u64], block: u64) {
        self.block.set(block);
        self.set.load(0, first_layer);
        self.left.store(UNITS as u64, Relaxed);
        self.turnstile.open();
        self.gate.advance();
        self.work_inside(0);
        self.turnstile.close_and_wait();
        assert!(self.set.is_empty_hint());
        for row in &self.rows[UNITS - LANES..] {
            assert_eq!(row.get(), block << (STEPS - 1));
        }
    }
}

/// The bits of `0..count` that fall into this word.
fn bits_below(word: usize, count: usize) -> u64 {
    let inside = |bit: &usize| word * 64 + bit < count;
    (0..64).filter(inside).map(|bit| 1u64 << bit).sum()
}

#[test]
fn each_unit_runs_once_per_block_with_its_inputs() {
    without_hanging(|| {
        // Whether anybody gets to steal is the system's choice: on a quiet machine one worker may do it
        // all. Then once more.
        let thefts = || {
            let engine = Arc::new(Engine::new());
            let running = Arc::clone(&engine);
            together(WORKERS, move |worker| match worker {
                0 => running.lead(),
                _ => running.follow(worker),
            });
            engine.stolen.load(Relaxed)
        };
        if !(0..20).any(|_| thefts() > 0) {
            println!(
                "SKIPPED the thefts of each_unit_runs_once_per_block_with_its_inputs: in 20 runs nobody came to steal"
            );
        }
    });
}

/// A push and a theft, with nothing else between the two threads that could order the row.
#[test]
fn a_push_alone_hands_the_row_over() {
    for _ in 0..500 {
        let set = ReadySet::new(2, 200);
        let row = Plain::new(0);
        together(2, move |thread| {
            if thread == 0 {
                row.set(7);
                set.push(0, 150);
                return;
            }
            while set.steal(1).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(row.get(), 7);
        });
    }
}
