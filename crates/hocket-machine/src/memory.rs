//! Memory that is never paged out: requested, read back, undone. And what a program does that gets none.

use serde::Serialize;

use crate::class::{CAP_IPC_LOCK, has_capability};
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field, plain};
pub use crate::sys::EndWithoutMemory;
use crate::sys::{self, Resource};

/// How much to lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockScope {
    /// The pages the process has now.
    Present,
    /// Those and all later ones; allocations beyond the limit then fail.
    PresentAndFuture,
}

/// A request and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockReport {
    /// The request.
    pub asked: LockScope,
    /// Whether the system accepted it.
    pub granted: bool,
    /// The bytes of this process that are locked now, read back.
    pub locked_bytes: Fact<u64>,
    /// The limit (RLIMIT_MEMLOCK) in bytes; none is unlimited.
    pub limit_bytes: Fact<Option<u64>>,
    /// Why not, if it was not granted.
    pub why: Option<String>,
    /// What would help.
    pub remedy: Option<String>,
}

/// Locked memory; unlocked on drop.
///
/// Unlocking is for the whole process: it also ends locks that other code in it has made.
#[derive(Debug)]
#[must_use = "dropping it unlocks the memory at once"]
pub struct MemoryLock {
    report: LockReport,
}

impl MemoryLock {
    /// The result of the request.
    pub fn report(&self) -> &LockReport {
        &self.report
    }

    /// Unlocks and returns the bytes that are still locked, read back.
    pub fn unlock(self) -> Fact<u64> {
        drop(self);
        locked_bytes()
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        if self.report.granted {
            let _ = sys::unlock_memory();
        }
    }
}

/// Locks the memory of the process. A refusal is in the report; then there is nothing to undo.
///
/// Thread: control. Cost: touches every page of the process, so milliseconds to seconds.
pub fn lock(scope: LockScope) -> MemoryLock {
    let result = sys::lock_memory(scope == LockScope::PresentAndFuture);
    let limit_bytes =
        Fact::from(sys::limit(Resource::LockedBytes).map(|l| l.soft).map_err(|e| plain(&e)));
    let (why, remedy) = match &result {
        Ok(()) => (None, None),
        Err(e) => (Some(reason(e, &limit_bytes)), Some(remedy())),
    };
    let report = LockReport {
        asked: scope,
        granted: result.is_ok(),
        locked_bytes: locked_bytes(),
        limit_bytes,
        why,
        remedy,
    };
    MemoryLock { report }
}

/// The bytes of this process that are locked.
pub fn locked_bytes() -> Fact<u64> {
    let read = || {
        let status = KernelFiles::live().text("proc/self/status")?;
        let kib = field(&status, "VmLck")
            .and_then(|v| v.strip_suffix("kB"))
            .and_then(|v| v.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| "/proc/self/status has no VmLck".to_string())
    };
    read().into()
}

pub(crate) fn reason(error: &std::io::Error, limit: &Fact<Option<u64>>) -> String {
    let limit = match limit.value() {
        Some(Some(bytes)) => {
            format!("the limit on locked memory (RLIMIT_MEMLOCK) is {} KiB", bytes / 1024)
        }
        Some(None) => "the limit on locked memory (RLIMIT_MEMLOCK) is none".into(),
        None => "the limit on locked memory is unknown".into(),
    };
    let capable = match has_capability(CAP_IPC_LOCK) {
        Some(true) => "the process has CAP_IPC_LOCK",
        Some(false) => "the process has no CAP_IPC_LOCK",
        None => "its capabilities are unknown",
    };
    format!("{}: {limit}, and {capable}", plain(error))
}

pub(crate) fn remedy() -> String {
    "put the line `@audio - memlock unlimited` in /etc/security/limits.d/audio.conf, join the group `audio` and log in \
     again; a service needs LimitMEMLOCK=infinity"
        .into()
}
