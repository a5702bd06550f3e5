//! Linux: signals to the own process, and what they are caught by.
//!
//! Handlers belong to the whole process, so all of this is for a process that was forked for one measurement and ends
//! after it. Invariants: those of `calls.rs`, and
//! - **HANDLER**: a handler here changes atomics and calls functions that POSIX calls async-signal-safe, or plain
//!   system calls.

use std::io;
use std::mem::zeroed;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::calls::check;

/// Signals that were caught.
static CAUGHT: AtomicU64 = AtomicU64::new(0);
/// After so many faults the page is opened.
static WANTED: AtomicU64 = AtomicU64::new(0);
/// The page's address and length.
static PAGE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// More faults than wanted: the page cannot be opened.
const STUCK: libc::c_int = 98;

extern "C" fn count(_: libc::c_int) {
    // Relaxed: a handler and what it interrupts are one thread.
    CAUGHT.fetch_add(1, Relaxed);
}

extern "C" fn count_fault(_: libc::c_int) {
    // Relaxed, here and below: as in `count`.
    let caught = CAUGHT.fetch_add(1, Relaxed) + 1;
    let wanted = WANTED.load(Relaxed);
    if caught < wanted {
        return;
    }
    let [at, bytes] = &PAGE;
    let open = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: HANDLER. The address is that of a page that is closed for the sake of this handler.
    let opened = unsafe { libc::mprotect(at.load(Relaxed) as *mut _, bytes.load(Relaxed), open) };
    if opened != 0 || caught > wanted {
        // SAFETY: HANDLER. A fault elsewhere, or one without end.
        unsafe { libc::_exit(STUCK) };
    }
}

/// Counts SIGUSR1 from now on.
#[inline]
pub(crate) fn install_counter() -> io::Result<()> {
    install(libc::SIGUSR1, count)
}

/// Counts SIGSEGV; at the `wanted`th the page at this place is opened.
pub(crate) fn install_fault_counter(place: (usize, usize), wanted: u64) -> io::Result<()> {
    // Relaxed: the handler runs in this thread, and only from the end of this on.
    PAGE[0].store(place.0, Relaxed);
    PAGE[1].store(place.1, Relaxed);
    WANTED.store(wanted, Relaxed);
    install(libc::SIGSEGV, count_fault)
}

fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: all-zero is a valid sigaction without flags and with an empty mask; HANDLER.
    check(unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    })
    .map(drop)
}

/// Sends SIGUSR1 to a process; whether it was sent.
#[inline]
pub(crate) fn send(process: libc::pid_t) -> bool {
    // SAFETY: kernel-checks.
    unsafe { libc::kill(process, libc::SIGUSR1) == 0 }
}

/// Asks whether a signal could be sent, and sends none.
#[inline]
pub(crate) fn send_none(process: libc::pid_t) -> bool {
    // SAFETY: kernel-checks.
    unsafe { libc::kill(process, 0) == 0 }
}

/// How many were caught since the last time.
pub(crate) fn take_caught() -> u64 {
    // Relaxed: as in `count`.
    CAUGHT.swap(0, Relaxed)
}
