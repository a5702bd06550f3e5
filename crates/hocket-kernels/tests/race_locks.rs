//! Edges E1 to E9 with real threads: a plain number under each lock. And for every lock, own or not:
//! no increment is lost.
#![cfg(not(loom))]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, together, without_hanging};
use hocket_kernels::locks::{
    Lock, LockKind, Mcs, SpinThenBlock, TestAndSet, TestAndTestAndSet, Ticket,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const TIMES: u64 = 3_000;

fn excludes<L: Lock + 'static>(threads: usize, lock: L) {
    without_hanging(move || {
        let shared = Arc::new((lock, Plain::new(0)));
        let theirs = Arc::clone(&shared);
        together(threads, move |_| {
            for _ in 0..TIMES {
                theirs.0.with(|| theirs.1.set(theirs.1.get() + 1));
            }
        });
        assert_eq!(shared.1.get(), threads as u64 * TIMES);
    });
}

#[test]
fn spin_then_block_excludes() {
    excludes(3, SpinThenBlock::new(0));
    excludes(3, SpinThenBlock::new(300));
}

#[test]
fn test_and_set_excludes() {
    excludes(2, TestAndSet::new());
}

#[test]
fn test_and_test_and_set_excludes() {
    excludes(2, TestAndTestAndSet::new());
}

#[test]
fn ticket_excludes() {
    excludes(2, Ticket::new());
}

#[test]
fn mcs_excludes() {
    excludes(3, Mcs::new());
}

#[test]
fn a_panic_under_a_lock_frees_it() {
    fn check(lock: impl Lock) {
        let panics = || lock.with(|| std::panic::resume_unwind(Box::new(())));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(lock.with(|| 7), 7);
    }
    check(SpinThenBlock::new(0));
    check(TestAndSet::new());
    check(TestAndTestAndSet::new());
    check(Ticket::new());
    check(Mcs::new());
}

#[test]
fn every_lock_counts_every_increment() {
    for kind in LockKind::ALL {
        let Ok(counter) = kind.counter() else {
            println!("SKIPPED every_lock_counts_every_increment with {kind}: not on this system");
            continue;
        };
        let counter = Arc::new(counter);
        let theirs = Arc::clone(&counter);
        without_hanging(move || {
            together(2, move |_| theirs.add(TIMES));
        });
        assert_eq!(counter.value(), 2 * TIMES, "{kind}");
    }
}

#[test]
fn counting_until_a_stop_says_how_often() {
    let stop = AtomicBool::new(false);
    let counter = LockKind::Ticket.counter().unwrap();
    let added = std::thread::scope(|scope| {
        let adder = scope.spawn(|| counter.add_until(&stop));
        // Relaxed: a request.
        stop.store(true, Relaxed);
        adder.join().unwrap()
    });
    assert_eq!(added, counter.value());
}
