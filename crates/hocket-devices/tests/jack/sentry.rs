//! Counts what the server's thread allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted on watched threads.
struct Counting;

#[global_allocator]
static MEMORY: Counting = Counting;

fn count() {
    if WATCHED.try_with(Cell::get).unwrap_or(false) {
        COUNT.fetch_add(1, SeqCst);
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's obligation.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's obligation.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// From now on the calling thread is watched.
pub fn watch() {
    WATCHED.set(true);
}

/// How often watched threads have allocated or freed.
pub fn allocations() -> usize {
    COUNT.load(SeqCst)
}
