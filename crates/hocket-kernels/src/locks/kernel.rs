//! A lock that always enters the kernel.

use std::io;

use super::Lock;
use crate::sys::Channel;

/// A descriptor with one token: the thread that takes it holds the lock. Every pass is two system calls, whether anybody
/// waits or not, as with the mutex of Windows in the article of 2003.
#[derive(Debug)]
pub struct KernelLock {
    token: Channel,
}

impl KernelLock {
    /// A free lock.
    ///
    /// # Errors
    /// Where the system has no eventfd, or no descriptor to give.
    pub fn new() -> io::Result<KernelLock> {
        let token = Channel::eventfd()?;
        token.put();
        Ok(KernelLock { token })
    }
}

impl Lock for KernelLock {
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.token.take();
        let _held = Held(self);
        work()
    }
}

struct Held<'a>(&'a KernelLock);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.token.put();
    }
}
