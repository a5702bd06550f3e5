//! Edges E4 and E5: into a block and out of it, with workers that come late or not at all.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::Turnstile;
use loom::sync::Arc;
use loom::thread;

struct Shared {
    turnstile: Turnstile,
    /// Written by the leader while the block is closed, read inside.
    input: Plain,
    /// One per worker: written inside, read by the leader after the closing.
    outputs: Vec<Plain>,
}

/// One attempt to enter: whichever block it gets into, input and output belong together.
fn try_block(shared: &Shared, worker: usize) {
    if let Some(_inside) = shared.turnstile.enter() {
        shared.outputs[worker].set(10 * shared.input.get());
    }
}

/// One block of the leader; the plain accesses around it race with anybody who is still inside.
fn lead(shared: &Shared, block: u64) {
    shared.input.set(block);
    shared.turnstile.open();
    shared.turnstile.close_and_wait();
    for output in &shared.outputs {
        let of_a_block = |value: u64| value % 10 == 0 && value <= 10 * block;
        assert!(of_a_block(output.get()));
    }
}

fn check(workers: usize, attempts: usize, blocks: u64, preemptions: usize) {
    model(preemptions, move || {
        let shared = Arc::new(Shared {
            turnstile: Turnstile::new(),
            input: Plain::new(0),
            outputs: (0..workers).map(|_| Plain::new(0)).collect(),
        });
        let others: Vec<_> = (0..workers)
            .map(|worker| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || (0..attempts).for_each(|_| try_block(&shared, worker)))
            })
            .collect();
        (1..=blocks).for_each(|block| lead(&shared, block));
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn a_worker_that_may_be_late_over_two_blocks() {
    check(1, 2, 2, 5);
}

#[test]
fn two_workers_over_two_blocks() {
    check(2, 1, 2, 3);
}

/// The leader sleeps in the kernel after one look. Loom reports a lost wake-up as a deadlock.
#[test]
fn a_sleeping_leader_is_woken_by_the_last_to_leave() {
    check(2, 1, 1, 4);
}

/// A wake-up that comes late belongs to no block any more: it must not do harm in the next one.
#[test]
fn a_leader_sleeps_in_two_blocks() {
    check(1, 2, 3, 4);
}

#[test]
fn nobody_enters_a_closed_block() {
    model(3, || {
        let turnstile = Turnstile::new();
        assert!(turnstile.enter().is_none());
        turnstile.open();
        assert!(turnstile.enter().is_some());
        turnstile.close_and_wait();
        assert!(turnstile.enter().is_none());
    });
}
