//! Edges E9 and E10 with real threads: units run once a block, by owner or thief, with their rows.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, without_hanging};
use hocket_rt::{Deque, Steal, Turnstile};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<Deque>();
    shared::<Steal>();
};

const WORKERS: usize = 3;
const UNITS: usize = 256;
/// Units that are loaded; unit `n` makes `2n + 1` and `2n + 2` ready, like a heap.
const ROOTS: [u32; 1] = [0];
/// At least so many, and more until something was stolen.
const BLOCKS: u64 = 300;

/// A tree of units over a deque a worker. Rows are plain.
struct Engine {
    turnstile: Turnstile,
    deques: Vec<Deque>,
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
            turnstile: Turnstile::new(),
            deques: (0..WORKERS).map(|_| Deque::new(UNITS)).collect(),
            rows: (0..UNITS).map(|_| Plain::new(0)).collect(),
            block: Plain::new(0),
            left: AtomicU64::new(0),
            stolen: AtomicU64::new(0),
            quit: AtomicBool::new(false),
        }
    }

    /// Adds a mark to the unit's row: run twice, or on the row of its parent of another block, and
    /// the sums are wrong.
    fn run(&self, worker: usize, unit: usize) {
        if unit % 16 == 15 {
            // A chance for thieves where there are fewer CPUs than workers.
            std::thread::yield_now();
        }
        let parent = if unit == 0 { self.block.get() } else { self.rows[(unit - 1) / 2].get() };
        self.rows[unit].set(self.rows[unit].get() + parent);
        for child in [2 * unit + 1, 2 * unit + 2] {
            if child < UNITS {
                self.deques[worker].push(child as u32);
            }
        }
        self.left.fetch_sub(1, Relaxed);
    }

    fn take(&self, worker: usize) -> Option<u32> {
        self.deques[worker]
            .pop()
            .or_else(|| (1..WORKERS).find_map(|distance| self.rob((worker + distance) % WORKERS)))
    }

    fn rob(&self, victim: usize) -> Option<u32> {
        loop {
            match self.deques[victim].steal() {
                Steal::Stolen(unit) => {
                    self.stolen.fetch_add(1, Relaxed);
                    return Some(unit);
                }
                Steal::Empty => return None,
                Steal::Retry => std::hint::spin_loop(),
            }
        }
    }

    fn work_inside(&self, worker: usize) {
        while self.left.load(Relaxed) > 0 {
            match self.take(worker) {
                Some(unit) => self.run(worker, unit as usize),
                None => std::thread::yield_now(),
            }
        }
    }

    fn follow(&self, worker: usize) {
        while !self.quit.load(Relaxed) {
            match self.turnstile.enter() {
                Some(_inside) => self.work_inside(worker),
                None => std::thread::yield_now(),
            }
        }
    }

    fn lead(&self) {
        let mut block = 0;
        while block < BLOCKS || self.stolen.load(Relaxed) == 0 {
            block += 1;
            self.lead_block(block);
        }
        self.quit.store(true, Relaxed);
    }

    fn lead_block(&self, block: u64) {
        self.block.set(block);
        self.rows.iter().for_each(|row| row.set(0));
        self.deques.iter().for_each(|deque| deque.load(&[]));
        self.deques[0].load(&ROOTS);
        self.left.store(UNITS as u64, Relaxed);
        self.turnstile.open();
        self.work_inside(0);
        self.turnstile.close_and_wait();
        assert!(self.rows.iter().all(|row| row.get() == block));
        assert!(self.deques.iter().all(Deque::is_empty_hint));
    }
}

#[test]
fn each_unit_is_run_once_by_its_owner_or_a_thief() {
    without_hanging(|| {
        let running = Engine::new();
        together(WORKERS, move |worker| match worker {
            0 => running.lead(),
            _ => running.follow(worker),
        });
    });
}

/// A push and a theft, with nothing else between the two threads that could order the row.
#[test]
fn a_push_alone_gives_its_row_to_the_thief() {
    for _ in 0..500 {
        let deque = Deque::new(1);
        let row = Plain::new(0);
        together(2, move |thread| {
            if thread == 0 {
                row.set(7);
                deque.push(150);
                return;
            }
            while deque.steal() != Steal::Stolen(150) {
                std::thread::yield_now();
            }
            assert_eq!(row.get(), 7);
        });
    }
}

/// Two values, an owner that pops and a thief that does not give up: the place where the ends meet,
/// over and over on real hardware, whose store buffers E10 is about.
#[test]
fn the_ends_meet_often_and_nothing_is_taken_twice() {
    const ROUNDS: usize = 20_000;
    let deque = Deque::new(2 * ROUNDS);
    let taken: Vec<AtomicU64> = (0..2 * ROUNDS).map(|_| AtomicU64::new(0)).collect();
    let shared = Arc::new((deque, taken, AtomicBool::new(false)));
    let seen = Arc::clone(&shared);
    together(2, move |thread| {
        let (deque, taken, done) = &*seen;
        let take = |value: u32| taken[value as usize].fetch_add(1, Relaxed);
        if thread == 1 {
            while !done.load(Relaxed) {
                if let Steal::Stolen(value) = deque.steal() {
                    take(value);
                }
            }
            return;
        }
        for round in 0..ROUNDS as u32 {
            deque.push(2 * round);
            deque.push(2 * round + 1);
            while let Some(value) = deque.pop() {
                take(value);
            }
        }
        done.store(true, Relaxed);
    });
    assert!(shared.1.iter().all(|count| count.load(Relaxed) == 1));
}
