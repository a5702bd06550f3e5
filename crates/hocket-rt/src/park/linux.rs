//! Linux: the futex of this process.

use crate::sync::AtomicU32;

/// The kernel keeps the queue; the word's address is its name, so there is nothing to hold.
#[derive(Debug)]
pub(crate) struct Lot;

impl Lot {
    pub(crate) fn new() -> Self {
        Lot
    }

    /// Blocks while `word` holds `expected`; `true` if the thread was really queued. May return
    /// early (a signal handler ran), so the caller looks at the word again.
    pub(crate) fn sleep_while(&self, word: &AtomicU32, expected: u32) -> bool {
        let no_timeout = std::ptr::null::<libc::timespec>();
        // SAFETY:
        // - The address is that of a live, aligned u32: it comes from a reference that outlives
        //   the call.
        // - The kernel only reads the word, atomically; a null timeout means none.
        let status = unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                no_timeout,
            )
        };
        status == 0 || interrupted()
    }

    /// Wakes `at_most` so many of those that sleep on `word`: by priority, then first come.
    pub(crate) fn wake(&self, word: &AtomicU32, at_most: u32) {
        let at_most = i32::try_from(at_most).unwrap_or(i32::MAX);
        // SAFETY: the address is only the name of the queue; the kernel does not access the word.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                at_most,
            )
        };
    }
}

/// A signal ended the sleep; the other failure (`EAGAIN`) means that the word had changed.
fn interrupted() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}
