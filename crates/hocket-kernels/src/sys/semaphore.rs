//! The semaphore of POSIX.

use std::cell::UnsafeCell;
use std::io;

/// A semaphore of this process, at first 0. It stays where it was made: the system may know its
/// address.
pub(crate) struct Semaphore {
    raw: Box<UnsafeCell<libc::sem_t>>,
}

// SAFETY: the functions of POSIX that are used below may be called by any thread at any time.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// Fails where the system has no unnamed semaphores (macOS).
    pub(crate) fn new() -> io::Result<Semaphore> {
        // SAFETY: a `sem_t` is plain memory; `sem_init` gives it its value.
        let raw = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        // SAFETY: the address is that of a live `sem_t` which is not in use yet.
        if unsafe { libc::sem_init(raw.get(), 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Semaphore { raw })
    }

    /// One up.
    pub(crate) fn post(&self) {
        // SAFETY: initialised by `new`, the only constructor, and destroyed by `drop` alone.
        unsafe { libc::sem_post(self.raw.get()) };
    }

    /// Waits until it is above 0, and one down.
    pub(crate) fn wait(&self) {
        // SAFETY: as in `post`. Only a signal handler makes it fail; then it is tried again.
        while unsafe { libc::sem_wait(self.raw.get()) } != 0 {}
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: as in `post`; nobody waits, as nobody has a reference any more.
        unsafe { libc::sem_destroy(self.raw.get()) };
    }
}
