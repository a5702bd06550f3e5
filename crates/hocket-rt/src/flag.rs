//! Something that was asked for.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Raised by a thread that asks for something, taken by the one that does it.
///
/// Who takes it sees what was done before it was raised (edge E13). Several raises before a take count as one. It wakes
/// nobody. See `PROTOCOL.md`, section Flag.
#[derive(Debug, Default)]
pub struct Flag(AtomicU32);

impl Flag {
    /// One that is not raised.
    pub fn new() -> Flag {
        Flag(AtomicU32::new(0))
    }

    /// Asks for it.
    ///
    /// Thread: one at a time. Cost: a store.
    #[inline]
    pub fn raise(&self) {
        self.0.store(1, Release); // E13 (store)
    }

    /// Whether it was asked for since the last time.
    ///
    /// Thread: any. Cost: one atomic exchange.
    #[inline]
    pub fn take(&self) -> bool {
        self.0.swap(0, Acquire) == 1 // E13 (load)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_once_for_all_raises_before() {
        let flag = Flag::new();
        assert!(!flag.take());
        flag.raise();
        flag.raise();
        assert_eq!((flag.take(), flag.take()), (true, false));
    }
}
