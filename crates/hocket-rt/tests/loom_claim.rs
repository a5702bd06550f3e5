//! Edge E11 and the protocol Claim: a list is walked once, each unit after its predecessors.
#![cfg(loom)]

mod common;

use common::{Plain, model, wait};
use hocket_rt::{Claim, Countdown, Signal, Strategy};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use loom::thread;

struct Shared {
    countdown: Countdown,
    rows: [Plain; 2],
}

#[test]
fn whoever_finds_it_down_sees_every_row() {
    model(3, || {
        let shared = Arc::new(Shared {
            countdown: Countdown::new(2),
            rows: std::array::from_fn(|_| Plain::new(0)),
        });
        let predecessors: Vec<_> = (0..2)
            .map(|predecessor| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.rows[predecessor].set(1);
                    shared.countdown.arrive();
                })
            })
            .collect();
        if shared.countdown.is_down() {
            assert_eq!(shared.rows.iter().map(Plain::get).sum::<u64>(), 2);
        }
        predecessors.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(shared.countdown.is_down());
    });
}

/// The walk of a block of the kind `critical`, as the engine walks it: two lists, whose units wait for
/// each other in turn, so that neither list can be walked to its end at once.
///
/// ```text
/// list 0:  0     2
///           \   / \
/// list 1:    1     3 = output
/// ```
struct Block {
    claims: [Claim; 2],
    /// How far each list has been walked. Relaxed: only the list's taker looks.
    places: [AtomicU32; 2],
    countdowns: [Countdown; UNITS],
    rows: [Plain; UNITS],
    /// Advances when units became ready.
    progress: Signal,
    /// Advances when the output has run.
    finished: Signal,
    /// Whether a worker that has not come is late by now. Relaxed: a clock orders nothing.
    overdue: AtomicBool,
}

const UNITS: usize = 4;
const OUTPUT: usize = 3;
const LISTS: [[usize; 2]; 2] = [[0, 2], [1, 3]];

impl Block {
    fn new(overdue: bool) -> Block {
        Block {
            claims: [Claim::new(), Claim::new()],
            places: [AtomicU32::new(0), AtomicU32::new(0)],
            // The first unit waits for none, each of the others for one of the other list.
            countdowns: std::array::from_fn(|unit| Countdown::new(u32::from(unit > 0))),
            rows: std::array::from_fn(|_| Plain::new(0)),
            progress: Signal::new(),
            finished: Signal::new(),
            overdue: AtomicBool::new(overdue),
        }
    }

    /// A worker's own list, and that of a worker who has not come, until the output has run.
    fn walk(&self, worker: usize) {
        let mut held = [false; 2];
        held[worker] = self.claims[worker].take();
        loop {
            // Read, look, wait.
            let seen = self.progress.value();
            let ran = (0..2).fold(false, |ran, list| (held[list] && self.go_on(list)) | ran);
            if self.finished.value() == 1 {
                return;
            }
            if !ran && !self.stand_in(&mut held) {
                self.await_progress(seen);
            }
        }
    }

    /// Runs a list as far as it goes now.
    fn go_on(&self, list: usize) -> bool {
        let first = self.places[list].load(Relaxed) as usize;
        let mut place = first;
        while let Some(unit) = LISTS[list].get(place) {
            if !self.countdowns[*unit].is_down() {
                break;
            }
            self.run(*unit);
            place += 1;
            self.tell(*unit);
        }
        self.places[list].store(place as u32, Relaxed);
        place > first
    }

    /// Each unit reads the rows of all before it and writes its own: a second run, or one that comes too
    /// early, is a wrong number or a race.
    fn run(&self, unit: usize) {
        assert!(self.rows[..unit].iter().all(|row| row.get() == 1), "unit {unit} came too early");
        self.rows[unit].set(self.rows[unit].get() + 1);
    }

    fn tell(&self, unit: usize) {
        if unit == OUTPUT {
            self.finished.advance();
            self.progress.advance();
        } else if self.countdowns[unit + 1].arrive() {
            self.progress.advance();
        }
    }

    fn free_list(&self) -> Option<usize> {
        self.claims.iter().position(Claim::is_free)
    }

    fn stand_in(&self, held: &mut [bool; 2]) -> bool {
        let overdue = self.overdue.load(Relaxed);
        let Some(list) = self.free_list().filter(|_| overdue) else { return false };
        held[list] |= self.claims[list].take();
        held[list]
    }

    fn await_progress(&self, seen: u32) {
        if self.free_list().is_none() {
            self.progress.wait_past(seen, &wait(Strategy::Futex));
            return;
        }
        let until = || self.free_list().is_none() || self.overdue.load(Relaxed);
        self.progress.wait_until(seen, &wait(Strategy::Pause), until);
    }

    fn check(&self) {
        assert_eq!(self.rows.each_ref().map(Plain::get), [1; UNITS], "how often each unit ran");
    }
}

/// Both workers come, in any order and at any distance; a stand-in is possible at any time.
#[test]
fn two_workers_walk_two_lists_that_wait_for_each_other() {
    model(2, || {
        let block = Arc::new(Block::new(true));
        let other = {
            let block = Arc::clone(&block);
            thread::spawn(move || block.walk(0))
        };
        block.walk(1);
        block.finished.wait_past(0, &wait(Strategy::Futex));
        other.join().unwrap();
        block.check();
    });
}

/// The other worker never comes. Its list is taken when the time is over, and not before.
#[test]
fn a_stand_in_walks_the_list_of_a_worker_that_never_comes() {
    model(3, || {
        let block = Arc::new(Block::new(false));
        let clock = {
            let block = Arc::clone(&block);
            thread::spawn(move || block.overdue.store(true, Relaxed))
        };
        block.walk(1);
        clock.join().unwrap();
        block.check();
    });
}

/// The other worker comes while its list is being taken.
#[test]
fn a_late_owner_and_a_stand_in_walk_each_list_once() {
    model(2, || {
        let block = Arc::new(Block::new(false));
        let late = {
            let block = Arc::clone(&block);
            thread::spawn(move || {
                block.overdue.store(true, Relaxed);
                block.walk(0);
            })
        };
        block.walk(1);
        late.join().unwrap();
        block.check();
    });
}
