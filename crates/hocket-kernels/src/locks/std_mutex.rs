//! The standard library's.

use std::sync::{Mutex, PoisonError};

use super::Lock;

/// `std::sync::Mutex`: on Linux a futex; a waiter spins a hundred times and then sleeps.
#[derive(Debug, Default)]
pub struct StdMutex(Mutex<()>);

impl Lock for StdMutex {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        // There is nothing in it that a panic could have left half done.
        let _held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }
}
