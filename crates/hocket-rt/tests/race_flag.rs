//! Edge E13 with real threads: plain data behind a flag.
#![cfg(not(loom))]

mod common;

use common::{Plain, together};
use hocket_rt::Flag;
use std::sync::Arc;

const ROUNDS: u64 = 5_000;

/// One asks, the other does it and asks back.
#[test]
fn a_flag_alone_hands_the_data_over() {
    let shared = Arc::new(([Flag::new(), Flag::new()], Plain::new(0)));
    let both = Arc::clone(&shared);
    both.0[0].raise();
    together(2, move |index| {
        for round in 0..ROUNDS {
            while !shared.0[index].take() {
                std::thread::yield_now();
            }
            assert_eq!(shared.1.get(), 2 * round + index as u64);
            shared.1.set(shared.1.get() + 1);
            shared.0[1 - index].raise();
        }
    });
    assert_eq!(both.1.get(), 2 * ROUNDS);
}
