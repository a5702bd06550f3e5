//! What models (loom) and races (real threads, ThreadSanitizer) share: plain data that nothing
//! protects but the edge under test, and a way of waiting for each strategy.
#![allow(dead_code)]

use hocket_rt::{SpinCost, Strategy, Wait};
use std::time::Duration;

#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A plain number. Unordered access is a data race, which loom and ThreadSanitizer report.
#[cfg(loom)]
pub struct Plain(UnsafeCell<u64>);

#[cfg(loom)]
impl Plain {
    pub fn new(value: u64) -> Plain {
        Plain(UnsafeCell::new(value))
    }

    pub fn set(&self, value: u64) {
        // SAFETY: loom fails the test if anybody else can have access now.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    pub fn get(&self) -> u64 {
        // SAFETY: as in `set`.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// A plain number. Unordered access is a data race, which loom and ThreadSanitizer report.
#[cfg(not(loom))]
pub struct Plain(std::cell::UnsafeCell<u64>);

#[cfg(not(loom))]
impl Plain {
    pub fn new(value: u64) -> Plain {
        Plain(std::cell::UnsafeCell::new(value))
    }

    pub fn set(&self, value: u64) {
        // SAFETY: the protocol under test gives the caller the cell alone; ThreadSanitizer objects
        // if it does not. Volatile, so that the compiler keeps every access.
        unsafe { self.0.get().write_volatile(value) };
    }

    pub fn get(&self) -> u64 {
        // SAFETY: as in `set`.
        unsafe { self.0.get().read_volatile() }
    }
}

// SAFETY: each test hands the cell over by the edge it checks.
unsafe impl Sync for Plain {}
// SAFETY: a number.
unsafe impl Send for Plain {}

/// A wait with times that do not depend on a clock: one pass in a model, 16 passes otherwise.
/// Spinning ones yield afterwards, as the tests have more threads than CPUs.
pub fn wait(strategy: Strategy) -> Wait {
    let passes = if cfg!(loom) { 1 } else { 16 };
    let cost = SpinCost::assumed(Duration::from_nanos(100));
    let spin = Duration::from_nanos(100 * passes);
    Wait::new(strategy, &cost, spin).yielding_after(spin)
}

/// Runs a model. The bound on preemptions is the model's own; `LOOM_MAX_PREEMPTIONS` overrides it.
#[cfg(loom)]
pub fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(body);
}

/// Runs `body(0)`, `body(1)`, ... on threads of their own, joins them all and returns what they did.
///
/// Plain spawn and join, so that the start and the end of a thread are all that orders the bodies.
#[cfg(not(loom))]
pub fn together<R: Send + 'static>(
    threads: usize,
    body: impl Fn(usize) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let body = std::sync::Arc::new(body);
    let handles: Vec<_> = (0..threads)
        .map(|index| {
            let body = std::sync::Arc::clone(&body);
            std::thread::spawn(move || body(index))
        })
        .collect();
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}

/// Fails the test if `body` does not end in time. Only a hang detector: nothing is timed. Beside other programs a
/// thread that yields may wait milliseconds for its next turn, and a rally has tens of thousands of them.
#[cfg(not(loom))]
pub fn without_hanging(body: impl FnOnce() + Send + 'static) {
    let (done, ended) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    let waited = ended.recv_timeout(Duration::from_secs(1200));
    if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("hangs: a wake-up was lost");
    }
    thread.join().unwrap();
}
