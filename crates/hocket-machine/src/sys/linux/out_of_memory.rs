//! A program without memory ends with a line and an exit code instead of an abort.
//!
//! # Invariants
//! - **passed-on**: every call goes to [`System`] with the arguments that came, so what the caller promised holds
//!   there, and what `System` promises holds for the caller. A null pointer never comes back, which `GlobalAlloc`
//!   allows.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator for a program. Where the system grants no memory, the program prints `line` on standard
/// error and ends with exit code `code`: nothing is unwound, no destructor runs, no core is written.
///
/// A request that may fail (`try_reserve`) ends the program, too. Thread: any. Cost: a comparison a call.
#[derive(Debug)]
pub struct EndWithoutMemory {
    /// What is printed, line break included.
    pub line: &'static str,
    /// The exit code.
    pub code: i32,
}

impl EndWithoutMemory {
    fn granted(&self, memory: *mut u8) -> *mut u8 {
        if memory.is_null() { self.end() } else { memory }
    }

    /// Neither call allocates.
    #[cold]
    fn end(&self) -> ! {
        // SAFETY: own-buffer (`sys`): the line lives for ever; kernel-checks (`sys`).
        unsafe { libc::write(2, self.line.as_ptr().cast(), self.line.len()) };
        // SAFETY: kernel-checks (`sys`); handlers that `exit` would run may need memory.
        unsafe { libc::_exit(self.code) }
    }
}

// SAFETY: passed-on.
unsafe impl GlobalAlloc for EndWithoutMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed-on.
        self.granted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed-on.
        self.granted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: passed-on.
        self.granted(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed-on.
        unsafe { System.dealloc(memory, layout) }
    }
}
