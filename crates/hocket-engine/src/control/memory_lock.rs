//! Locks the memory of the process while an engine plays.
//!
//! A page that the system put aside costs a block some microseconds (if it is still in memory) or
//! milliseconds (if not). Locking and unlocking concern the whole process, so all engines share one lock.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hocket_machine::memory::{self, LockReport, LockScope, MemoryLock};

static SHARED: Mutex<Weak<MemoryLock>> = Mutex::new(Weak::new());

/// Memory is locked, as far as the system grants it, while any engine has one of these.
#[derive(Debug, Clone)]
pub(crate) struct SharedMemoryLock(Arc<MemoryLock>);

impl SharedMemoryLock {
    /// Requests the lock, unless another engine has.
    ///
    /// Thread: control. Cost: touches every page of the process, the first time.
    pub(crate) fn claim() -> SharedMemoryLock {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = shared.upgrade().unwrap_or_else(|| {
            let lock = Arc::new(lock());
            *shared = Arc::downgrade(&lock);
            lock
        });
        SharedMemoryLock(lock)
    }

    /// Requests it again. A new process makes pages shared; this gives them back to this process before a
    /// block writes to them.
    ///
    /// Thread: control. Cost: looks at every page of the process, and copies those that are shared; after each
    /// copy the kernel calls the CPUs that run other threads of the process, and waits for them.
    pub(crate) fn renew(&self) {
        let again = memory::lock(self.0.report().asked);
        // Its drop would unlock what the first one has locked.
        std::mem::forget(again);
    }

    /// What was requested and granted.
    pub(crate) fn report(&self) -> &LockReport {
        self.0.report()
    }
}

/// All pages now. Also later ones, such as the buses of later plans, unless there is a limit: beyond it
/// every further allocation would fail.
fn lock() -> MemoryLock {
    let present = memory::lock(LockScope::Present);
    let report = present.report();
    let unlimited = match (report.limit_bytes.value(), report.locked_bytes.value()) {
        (Some(None), _) => true,
        // More is locked than the limit allows: it does not apply to this process.
        (Some(Some(limit)), Some(locked)) => locked > limit,
        _ => false,
    };
    if !(report.granted && unlimited) {
        return present;
    }
    let future = memory::lock(LockScope::PresentAndFuture);
    if future.report().granted {
        // Its drop would unlock what the other one has locked.
        std::mem::forget(present);
        return future;
    }
    present
}
