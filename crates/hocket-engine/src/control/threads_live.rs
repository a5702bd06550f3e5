//! Whether an engine's workers and guards exist: for those who move threads by their numbers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether an engine's threads exist, so that nobody else gets what is meant for them: the system reuses numbers.
#[derive(Debug, Clone)]
pub(crate) struct ThreadsLive(Arc<Mutex<bool>>);

impl ThreadsLive {
    pub(crate) fn new() -> ThreadsLive {
        ThreadsLive(Arc::new(Mutex::new(true)))
    }

    /// The threads are about to end. Waits for a deed that is under way.
    pub(crate) fn end(&self) {
        *self.flag() = false;
    }

    /// Does it if the threads exist, and keeps them for that time.
    pub(super) fn while_live(&self, deed: impl FnOnce()) {
        let live = self.flag();
        if *live {
            deed();
        }
    }

    fn flag(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
