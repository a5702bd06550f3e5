//! Edges E10 and E11: a plain number that belongs to whose turn it is.
#![cfg(loom)]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, model};
use hocket_kernels::turns::{FutexTable, Side, SpinTable, Table};
use loom::sync::Arc;
use loom::thread;

const TURNS: u64 = 2;

fn check<T: Table + Send + 'static>(make: impl Fn() -> T + Send + Sync + 'static) {
    model(3, move || {
        let shared = Arc::new((make(), Plain::new(0)));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || play(&shared, Side::B))
        };
        play(&shared, Side::A);
        other.join().unwrap();
    });
}

fn play<T: Table>((table, number): &(T, Plain), side: Side) {
    for turn in 0..TURNS {
        assert!(table.await_turn(side));
        assert_eq!(number.get(), 2 * turn + u64::from(side == Side::B));
        number.set(number.get() + 1);
        table.hand_over(side);
    }
}

#[test]
fn spinning_turns() {
    check(|| SpinTable::new(thread::yield_now));
}

#[test]
fn futex_turns() {
    check(FutexTable::new);
}

#[test]
fn nobody_sleeps_past_the_end() {
    model(3, || {
        let table = Arc::new(FutexTable::new());
        let waiter = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.await_turn(Side::B))
        };
        table.stop();
        assert!(!waiter.join().unwrap());
    });
}
