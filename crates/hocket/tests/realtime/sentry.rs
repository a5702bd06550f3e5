//! What needs unsafe code: the allocator of this test binary, the system's, which counts what a block asks of it.

#[cfg(feature = "sentry")]
#[allow(dead_code)]
#[path = "../../../hocket-engine/tests/realtime/sentry/moves.rs"]
pub mod moves;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Relaxed: numbers that stand for themselves, read when no block runs.
static CALLS: AtomicU64 = AtomicU64::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// Calls of the allocator inside of blocks since the last question, and the largest size in bytes.
#[cfg(feature = "sentry")]
pub fn take_allocations() -> (u64, usize) {
    (CALLS.swap(0, Relaxed), LARGEST.swap(0, Relaxed))
}

fn count(size: usize) {
    if super::watching::in_block() {
        CALLS.fetch_add(1, Relaxed);
        LARGEST.fetch_max(size, Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's obligations, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size());
        // SAFETY: the caller's obligations, passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}
