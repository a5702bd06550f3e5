//! Linux: the futex of this process.

use super::Sleep;
use crate::sync::AtomicU32;

/// The kernel keeps the queue and finds it by the word's address, so there is nothing to hold.
#[derive(Debug)]
pub(crate) struct Lot;

/// The clock of deadlines, in nanoseconds: `CLOCK_MONOTONIC`.
///
/// Thread: any. Cost: one read of the clock, usually 20 to 50 ns.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into a local variable, and every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

const NS_PER_S: u64 = 1_000_000_000;

impl Lot {
    pub(crate) fn new() -> Self {
        Lot
    }

    /// Blocks while `word` holds `expected`, at most until [`monotonic_ns`] reads `deadline_ns`. A
    /// signal handler may end the sleep early, so the caller looks at the word again.
    pub(crate) fn sleep_while(
        &self,
        word: &AtomicU32,
        expected: u32,
        deadline_ns: Option<u64>,
    ) -> Sleep {
        let until = deadline_ns.map(timespec);
        let until = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // Only this operation takes an absolute time. Its default clock is CLOCK_MONOTONIC.
        let operation = if until.is_null() { libc::FUTEX_WAIT } else { libc::FUTEX_WAIT_BITSET };
        // SAFETY:
        // - The address is that of a live, aligned u32: it comes from a reference that outlives
        //   the call.
        // - The kernel only reads the word, atomically.
        // - The timeout is null, which means none, or points at a local variable that outlives the
        //   call. Only FUTEX_WAIT_BITSET reads the last two arguments, and it ignores the pointer.
        let status = unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation | libc::FUTEX_PRIVATE_FLAG,
                expected,
                until,
                std::ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            )
        };
        if status == 0 { Sleep::Ended } else { why_not() }
    }

    /// Wakes at most `at_most` of the threads that sleep on `word`: by priority, then in the order of arrival.
    pub(crate) fn wake(&self, word: &AtomicU32, at_most: u32) {
        let at_most = i32::try_from(at_most).unwrap_or(i32::MAX);
        // SAFETY: the address only names the queue. The kernel does not access the word.
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

fn timespec(ns: u64) -> libc::timespec {
    // Both parts fit: 2^64 ns are 585 years.
    libc::timespec { tv_sec: (ns / NS_PER_S) as _, tv_nsec: (ns % NS_PER_S) as _ }
}

/// The remaining failure is `EAGAIN`: the word had changed.
fn why_not() -> Sleep {
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EINTR) => Sleep::Ended,
        Some(libc::ETIMEDOUT) => Sleep::TimedOut,
        _ => Sleep::Refused,
    }
}
