//! Edges E1, E2 and E5 to E9: a plain number under each lock. Why E3 and E4 are not here: PROTOCOL.md.
#![cfg(loom)]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, model};
use hocket_kernels::locks::{Lock, Mcs, SpinThenBlock, Ticket};
use loom::sync::Arc;
use loom::thread;

/// Two threads, each under the lock twice.
fn check<L: Lock + 'static>(preemptions: usize, make: impl Fn() -> L + Send + Sync + 'static) {
    model(preemptions, move || {
        let shared = Arc::new((make(), Plain::new(0)));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || twice(&shared))
        };
        twice(&shared);
        other.join().unwrap();
        assert_eq!(shared.0.with(|| shared.1.get()), 4);
    });
}

fn twice<L: Lock>((lock, number): &(L, Plain)) {
    for _ in 0..2 {
        lock.with(|| number.set(number.get() + 1));
    }
}

#[test]
fn spin_then_block_without_spins() {
    check(3, || SpinThenBlock::new(0));
}

#[test]
fn spin_then_block_with_spins() {
    check(3, || SpinThenBlock::new(1));
}

/// Three: a wake-up for one must not be lost on another.
#[test]
fn three_sleepers_all_get_the_lock() {
    model(2, || {
        let shared = Arc::new((SpinThenBlock::new(0), Plain::new(0)));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.0.with(|| shared.1.set(shared.1.get() + 1)))
            })
            .collect();
        shared.0.with(|| shared.1.set(shared.1.get() + 1));
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(shared.0.with(|| shared.1.get()), 3);
    });
}

#[test]
fn ticket() {
    check(3, Ticket::new);
}

#[test]
fn mcs() {
    check(3, Mcs::new);
}
