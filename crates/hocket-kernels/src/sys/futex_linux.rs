//! Linux: a word that threads can sleep on.

use crate::sync::AtomicU32;

/// The word; its address is the name of the kernel's queue.
#[derive(Debug)]
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
}

impl Futex {
    pub(crate) fn new(value: u32) -> Futex {
        Futex { word: AtomicU32::new(value) }
    }

    /// Sleeps while the word holds `expected`. May return early, so the caller looks again.
    pub(crate) fn sleep_while(&self, expected: u32) {
        let no_timeout = std::ptr::null::<libc::timespec>();
        // SAFETY:
        // - The address is that of a live, aligned u32: `self` outlives the call.
        // - The kernel only reads the word, atomically; a null timeout means none.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                no_timeout,
            )
        };
    }

    /// Wakes at most `count` of those who sleep.
    pub(crate) fn wake(&self, count: i32) {
        // SAFETY: the address is only the name of the queue; the kernel does not access the word.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                count,
            )
        };
    }
}
