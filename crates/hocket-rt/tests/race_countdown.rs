//! Edge E3 with real threads: the last of several predecessors uses what all of them wrote.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, wait};
use hocket_rt::{Countdown, Signal, Strategy};

const ROUNDS: u32 = 5_000;
const PREDECESSORS: usize = 3;

#[test]
fn the_last_arrival_may_touch_every_row() {
    let countdown = Countdown::new(PREDECESSORS as u32);
    let rows: [Plain; PREDECESSORS] = std::array::from_fn(|_| Plain::new(0));
    let next = Signal::new();
    let sum = Plain::new(0);
    together(PREDECESSORS, move |predecessor| {
        for round in 0..ROUNDS {
            rows[predecessor].set(rows[predecessor].get() + 1);
            if countdown.arrive() {
                sum.set(rows.iter().map(Plain::get).sum());
                assert_eq!(sum.get(), PREDECESSORS as u64 * u64::from(round + 1));
                countdown.reset();
                next.advance();
            } else {
                next.wait_past(round, &wait(Strategy::Pause));
            }
        }
    });
}

/// The arrivals alone, with nothing else between the threads that could order them.
#[test]
fn arrivals_alone_order_the_rows() {
    for _ in 0..500 {
        let countdown = Countdown::new(PREDECESSORS as u32);
        let rows: [Plain; PREDECESSORS] = std::array::from_fn(|_| Plain::new(0));
        together(PREDECESSORS, move |predecessor| {
            rows[predecessor].set(1);
            if countdown.arrive() {
                assert_eq!(rows.iter().map(Plain::get).sum::<u64>(), PREDECESSORS as u64);
            }
        });
    }
}
