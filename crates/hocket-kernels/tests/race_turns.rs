//! Edges E10 and E11 with real threads: a plain number that belongs to whose turn it is.
#![cfg(not(loom))]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, together, without_hanging};
use hocket_kernels::turns::{FutexTable, Side, SpinTable, Table};

const TURNS: u64 = 2_000;

fn alternate<T: Table + Send + 'static>(table: T) {
    without_hanging(move || {
        let number = Plain::new(0);
        together(2, move |thread| {
            let side = Side::of(thread);
            for turn in 0..TURNS {
                assert!(table.await_turn(side));
                assert_eq!(number.get(), 2 * turn + thread as u64);
                number.set(number.get() + 1);
                table.hand_over(side);
            }
        });
    });
}

#[test]
fn spinning_turns_alternate() {
    // Yields, as there may be one CPU for both.
    alternate(SpinTable::new(std::thread::yield_now));
}

#[test]
fn futex_turns_alternate() {
    alternate(FutexTable::new());
}
