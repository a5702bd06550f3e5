//! What needs unsafe code: the allocator of this test binary, the system's, which counts what a
//! watched thread asks of it; the C library's fills and copies; a signal out of the blue; and calls of libjack.

pub mod libjack;

#[cfg(feature = "sentry")]
pub mod moves;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Relaxed: numbers that stand for themselves, read when no block runs.
static CALLS: AtomicU64 = AtomicU64::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// Prepares the process for [`trap`].
#[cfg(all(feature = "sentry", target_os = "linux", target_arch = "x86_64"))]
pub fn expect_traps() {
    extern "C" fn do_nothing(_: std::ffi::c_int) {}
    let handler = do_nothing as extern "C" fn(std::ffi::c_int);
    // SAFETY: a handler that does nothing may run anywhere.
    let before = unsafe { libc::signal(libc::SIGTRAP, handler as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

/// A breakpoint: a signal to the calling thread, handled by doing nothing.
#[cfg(all(feature = "sentry", target_os = "linux", target_arch = "x86_64"))]
pub fn trap() {
    // SAFETY: the handler is installed, and execution goes on behind the breakpoint.
    unsafe { std::arch::asm!("int3") };
}

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

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's obligations, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's obligations, passed on.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size());
        // SAFETY: the caller's obligations, passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}
