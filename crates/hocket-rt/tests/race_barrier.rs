//! Edges E3 and E1 with real threads: rows written before a barrier are read after it.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, wait, without_hanging};
use hocket_rt::{Arrival, Barrier, Strategy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ROUNDS: u64 = 3_000;

fn rows_turn_round(workers: usize, strategy: Strategy) {
    without_hanging(move || {
        let barrier = Barrier::new(workers as u32);
        let rows: Vec<Plain> = (0..workers).map(|_| Plain::new(0)).collect();
        let last = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&last);
        together(workers, move |worker| {
            let meet = || {
                let (arrival, _) = barrier.wait(&wait(strategy));
                last.fetch_add(u64::from(arrival == Arrival::Last), Relaxed);
            };
            for round in 1..=ROUNDS {
                rows[worker].set(round);
                meet();
                assert_eq!(rows[(worker + 1) % workers].get(), round);
                meet();
            }
        });
        assert_eq!(counted.load(Relaxed), 2 * ROUNDS, "one last arrival per meeting");
    });
}

#[test]
fn alone_nobody_waits() {
    let barrier = Barrier::new(1);
    assert_eq!(barrier.wait(&wait(Strategy::Futex)).0, Arrival::Last);
    assert_eq!(barrier.wait(&wait(Strategy::Futex)).0, Arrival::Last);
}

#[test]
fn a_barrier_says_for_how_many_it_is() {
    assert_eq!([1, 2, 32].map(|parties| Barrier::new(parties).parties()), [1, 2, 32]);
}

#[test]
fn two_by_pause() {
    rows_turn_round(2, Strategy::Pause);
}

#[test]
fn two_by_futex() {
    rows_turn_round(2, Strategy::Futex);
}

#[test]
fn four_by_pause() {
    rows_turn_round(4, Strategy::Pause);
}

#[test]
fn four_by_futex() {
    rows_turn_round(4, Strategy::Futex);
}

#[test]
fn four_by_hybrid() {
    rows_turn_round(4, Strategy::Hybrid);
}
