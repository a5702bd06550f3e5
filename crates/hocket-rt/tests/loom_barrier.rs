//! Edges E3 and E1 together: a barrier, round after round.
#![cfg(loom)]

mod common;

use common::{Plain, model, wait};
use hocket_rt::{Arrival, Barrier, Strategy};
use loom::sync::Arc;
use loom::thread;

const ROUNDS: u64 = 2;

struct Shared {
    barrier: Barrier,
    rows: Vec<Plain>,
}

/// Writes its row in even steps and reads everybody's in odd ones. Returns how often it was last.
fn work(shared: &Shared, worker: usize, strategy: Strategy) -> u64 {
    let mut last = 0;
    for round in 1..=ROUNDS {
        shared.rows[worker].set(round);
        last += meet(shared, strategy);
        for row in &shared.rows {
            assert_eq!(row.get(), round);
        }
        if round < ROUNDS {
            last += meet(shared, strategy);
        }
    }
    last
}

fn meet(shared: &Shared, strategy: Strategy) -> u64 {
    let (arrival, _) = shared.barrier.wait(&wait(strategy));
    u64::from(arrival == Arrival::Last)
}

/// One worker per strategy.
fn check(strategies: &'static [Strategy], preemptions: usize) {
    model(preemptions, move || {
        let workers = strategies.len();
        let shared = Arc::new(Shared {
            barrier: Barrier::new(workers as u32),
            rows: (0..workers).map(|_| Plain::new(0)).collect(),
        });
        let others: Vec<_> = (1..workers)
            .map(|worker| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || work(&shared, worker, strategies[worker]))
            })
            .collect();
        let mut last = work(&shared, 0, strategies[0]);
        for other in others {
            last += other.join().unwrap();
        }
        assert_eq!(last, 2 * ROUNDS - 1, "one last arrival per meeting");
    });
}

#[test]
fn two_spinning_workers() {
    check(&[Strategy::Pause, Strategy::Pause], 5);
}

#[test]
fn two_sleeping_workers() {
    check(&[Strategy::Futex, Strategy::Futex], 5);
}

#[test]
fn two_workers_that_wait_differently() {
    check(&[Strategy::Hybrid, Strategy::Pause], 5);
}

#[test]
fn three_sleeping_workers() {
    check(&[Strategy::Futex, Strategy::Futex, Strategy::Futex], 2);
}

// Three spinners would be a model without an end: two of them may hand the CPU to each other for
// ever. One spinner among sleepers cannot, and tests/race_barrier.rs has any number of them.
#[test]
fn a_spinner_among_three() {
    check(&[Strategy::Futex, Strategy::Pause, Strategy::Futex], 2);
}
