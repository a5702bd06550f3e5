//! How many files the process may open. Systems usually allow 1024, and a program may raise that up to a hard limit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::DiskError;

/// Files that are open besides streams, at most.
const OTHER_FILES: u64 = 256;
/// The streams of all buffers. The limit is the process's, so it is read and raised under this lock.
static STREAMS: Mutex<u64> = Mutex::new(0);

/// The files that a buffer's streams keep open, within the limit. They count until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenFiles(u64);

impl OpenFiles {
    /// Raises the limit if that is necessary.
    ///
    /// Thread: control; one or two system calls.
    pub fn allow(streams: usize) -> Result<OpenFiles, DiskError> {
        let mut all = lock();
        let wanted = *all + streams as u64 + OTHER_FILES;
        raise_to(wanted).map_err(|allowed| DiskError::OpenFiles { streams, wanted, allowed })?;
        *all += streams as u64;
        Ok(OpenFiles(streams as u64))
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        *lock() -= self.0;
    }
}

fn lock() -> MutexGuard<'static, u64> {
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Otherwise how many files the system allows.
fn raise_to(wanted: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if is_enough(current) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(wanted), maximum };
    if is_enough(maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(maximum.or(current).unwrap_or(0))
}
