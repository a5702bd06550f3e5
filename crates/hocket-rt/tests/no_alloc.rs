//! A binary of its own, because it counts the allocations of the whole process: after they are
//! made, the meeting places allocate nothing.
#![cfg(not(loom))]

use hocket_rt::{Barrier, Countdown, ReadySet, Ring, Signal, SpinCost, Strategy, Turnstile, Wait};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as promised by our caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as promised by our caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct All {
    signal: Signal,
    answer: Signal,
    barrier: Barrier,
    countdown: Countdown,
    turnstile: Turnstile,
    set: ReadySet,
}

/// What two threads do to all parts, one of them as the leader. Returns its allocations.
fn meet(all: &All, worker: usize, wait: &Wait) -> u64 {
    let before = ALLOCATIONS.get();
    for round in 0..200 {
        all.barrier.wait(wait);
        if worker == 0 {
            all.set.load(0, &[0b101, 0]);
            all.turnstile.open();
            all.signal.advance();
            all.answer.wait_past(round, wait);
            while all.set.steal(1).is_some() {}
            all.turnstile.close_and_wait();
        } else {
            all.signal.wait_past(round, wait);
            let inside = all.turnstile.enter();
            all.set.push(1, 100);
            if all.set.pop(1).is_some() {
                all.countdown.arrive();
            }
            all.countdown.reset();
            drop(inside);
            all.answer.advance();
        }
    }
    ALLOCATIONS.get() - before
}

fn check(strategy: Strategy) {
    let cost = SpinCost::measure();
    let spin = Duration::from_micros(5);
    let wait = Wait::new(strategy, &cost, spin).yielding_after(spin);
    let all = Arc::new(All {
        signal: Signal::new(),
        answer: Signal::new(),
        barrier: Barrier::new(2),
        countdown: Countdown::new(3),
        turnstile: Turnstile::new(),
        set: ReadySet::new(2, 128),
    });
    let worker = {
        let all = Arc::clone(&all);
        std::thread::spawn(move || meet(&all, 1, &wait))
    };
    let leader = meet(&all, 0, &wait);
    assert_eq!((leader, worker.join().unwrap()), (0, 0), "{strategy}");
}

#[test]
fn nothing_allocates_after_construction() {
    Strategy::ALL.into_iter().for_each(check);
    let (mut writer, mut reader) = Ring::new(4);
    let before = ALLOCATIONS.get();
    while writer.push(1u64).is_ok() {}
    while reader.pop().is_some() {}
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
