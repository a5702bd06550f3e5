//! Sees what a plug-in calls in the C library while it processes: memory, locks, waits, files, threads.
//!
//! The loader keeps, for each library, a table of the functions that the library calls elsewhere. In the process of a check,
//! [`watch`] puts functions of Hocket there, for the plug-in's library and those that came with it. Each counts and goes
//! on to the real one. So this needs no other build of the plug-in.
//!
//! It does not see calls within one library, calls that a library makes through `dlsym`, locks that make no call of the C library,
//! and system calls made directly. The last ones are seen by builds that watch system calls (`SystemCalls`).

#[allow(unsafe_code)]
mod ffi;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use ffi::{loaded, watch};

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Memory,
    Lock,
    Wait,
    File,
    Thread,
}

/// Calls of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub name: &'static str,
    pub purpose: Purpose,
    pub count: u64,
}

thread_local! {
    // Constant and without a destructor: the first access neither allocates nor registers.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Relaxed: numbers that stand for themselves. Written by the thread that checks, read by it between blocks.
static COUNTS: [AtomicU64; ffi::WATCHED.len()] = [const { AtomicU64::new(0) }; ffi::WATCHED.len()];

/// Counts what the calling thread calls meanwhile.
pub fn within<R>(call: impl FnOnce() -> R) -> R {
    WITHIN.set(true);
    let result = call();
    WITHIN.set(false);
    result
}

/// A function was called.
fn note(index: usize) {
    if WITHIN.get() {
        COUNTS[index].fetch_add(1, Relaxed);
    }
}

/// What was counted since the last question.
pub fn take() -> Vec<Called> {
    let counts = ffi::WATCHED.iter().zip(&COUNTS);
    let called = counts.map(|((name, purpose), count)| Called {
        name,
        purpose: *purpose,
        count: count.swap(0, Relaxed),
    });
    called.filter(|called| called.count > 0).collect()
}
