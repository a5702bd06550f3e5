//! Edge E11 with real threads: plain rows handed over by a countdown that somebody looks at.
#![cfg(not(loom))]

mod common;

use common::{Plain, together};
use hocket_rt::{Barrier, Claim, Countdown, Strategy};
use std::sync::Arc;

const ROUNDS: u64 = 5_000;

struct Block {
    countdown: Countdown,
    claim: Claim,
    rows: [Plain; 2],
    runs: Plain,
    round: Barrier,
}

/// Two predecessors write and arrive; two others look and claim what waits for both.
#[test]
fn rows_are_handed_over_by_a_look() {
    let block = Arc::new(Block {
        countdown: Countdown::new(2),
        claim: Claim::new(),
        rows: std::array::from_fn(|_| Plain::new(0)),
        runs: Plain::new(0),
        round: Barrier::new(4),
    });
    let shared = Arc::clone(&block);
    together(4, move |index| {
        let wait = common::wait(Strategy::Hybrid);
        for round in 1..=ROUNDS {
            if index < 2 {
                shared.rows[index].set(round);
                shared.countdown.arrive();
            } else {
                while !shared.countdown.is_down() {
                    std::thread::yield_now();
                }
                if shared.claim.take() {
                    assert_eq!(shared.rows.iter().map(Plain::get).sum::<u64>(), 2 * round);
                    shared.runs.set(shared.runs.get() + 1);
                }
            }
            shared.round.wait(&wait);
            if index == 0 {
                shared.countdown.reset();
                shared.claim.release();
            }
            shared.round.wait(&wait);
        }
    });
    assert_eq!(block.runs.get(), ROUNDS);
}
