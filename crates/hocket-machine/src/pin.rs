//! Which CPUs threads may run on: requested, then read back.
//!
//! Linux silently drops CPUs outside the caller's cpuset from a request. So every request here reads the result back
//! before it trusts it.

use std::collections::BTreeMap;
use std::fmt;

pub use crate::cpuset::CpuSet;
use crate::sys::{self, ThreadNumber};

/// Why a thread is not on the requested CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// The request named no CPU. Nothing was changed.
    #[error("the request names no CPU; name at least one")]
    Empty,
    /// The system refused. Nothing was changed.
    #[error(
        "the system refuses to run this thread on CPUs {asked} ({why}); it may use CPUs {allowed}"
    )]
    Refused {
        /// What was asked.
        asked: CpuSet,
        /// The system's reason, in words.
        why: String,
        /// What the thread may use.
        allowed: CpuSet,
    },
    /// The system agreed and did something else. The thread now has `got`.
    #[error(
        "asked for CPUs {asked}, got only CPUs {got}: the others are off line or outside this process's cpuset"
    )]
    Partly {
        /// What was asked.
        asked: CpuSet,
        /// What the system now reports.
        got: CpuSet,
    },
    /// The CPUs cannot be read.
    #[error("the CPUs of the thread cannot be read: {why}")]
    Unreadable {
        /// The system's reason, in words.
        why: String,
    },
}

/// The number of a thread as the system counts it, to name threads to [`confine_process`], [`crate::cookie`] and
/// [`crate::rights`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ThreadId(pub(crate) ThreadNumber);

impl ThreadId {
    /// The number itself, to compare with what the system's records say.
    pub fn number(self) -> i32 {
        self.0
    }

    /// The thread of this number, if there is one.
    pub fn from_number(number: i32) -> ThreadId {
        ThreadId(number)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The calling thread's number. Cost: one system call.
pub fn current_thread() -> ThreadId {
    ThreadId(sys::current_thread())
}

/// Tells living threads of this process apart. A later thread may have the mark of one that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadMark(usize);

/// The calling thread's mark. Cost: some nanoseconds, no system call.
pub fn thread_mark() -> ThreadMark {
    ThreadMark(sys::thread_mark())
}

/// Whether `thread` is a living thread of this process. Cost: one system call, and an allocation.
pub fn is_own_thread(thread: ThreadId) -> bool {
    sys::is_own_thread(thread.0)
}

/// The CPU the calling thread is on at this moment; it may be another one before the caller looks, unless it is pinned.
///
/// Cost: some nanoseconds, no system call on the common architectures.
pub fn current_cpu() -> Option<u32> {
    sys::current_cpu()
}

/// The CPUs the calling thread may use.
///
/// # Errors
/// [`PinError::Unreadable`] only.
pub fn current_affinity() -> Result<CpuSet, PinError> {
    affinity_of(0)
}

/// Restricts the calling thread to `cpus` and returns what the system then reports: always `cpus`.
///
/// Any thread may narrow or widen its own set within its cpuset without special rights. When this returns `Ok`, the
/// thread is already on one of `cpus`. Cost: two system calls, and a move.
///
/// # Errors
/// See [`PinError`]; asking again helps only after the cpuset of the process or the on-line CPUs have changed.
pub fn pin_current_thread(cpus: &CpuSet) -> Result<CpuSet, PinError> {
    pin(0, cpus)
}

/// Like [`pin_current_thread`], for another thread.
///
/// # Errors
/// See [`PinError`]; a thread that has ended is refused too.
pub fn pin_thread(thread: ThreadId, cpus: &CpuSet) -> Result<CpuSet, PinError> {
    pin(thread.0, cpus)
}

/// The CPUs another thread may use.
///
/// # Errors
/// [`PinError::Unreadable`], for example if it has ended.
pub fn affinity_of_thread(thread: ThreadId) -> Result<CpuSet, PinError> {
    affinity_of(thread.0)
}

fn pin(thread: ThreadNumber, cpus: &CpuSet) -> Result<CpuSet, PinError> {
    if cpus.is_empty() {
        return Err(PinError::Empty);
    }
    if let Err(e) = sys::set_affinity(thread, cpus) {
        let why = match e.raw_os_error() {
            Some(libc::EINVAL) => {
                "none of them is on line and in the cpuset of this process".to_string()
            }
            _ => crate::kernel_files::plain(&e),
        };
        return Err(PinError::Refused { asked: cpus.clone(), why, allowed: affinity_of(thread)? });
    }
    let got = affinity_of(thread)?;
    if got == *cpus { Ok(got) } else { Err(PinError::Partly { asked: cpus.clone(), got }) }
}

fn affinity_of(thread: ThreadNumber) -> Result<CpuSet, PinError> {
    sys::affinity(thread).map_err(|e| PinError::Unreadable { why: crate::kernel_files::plain(&e) })
}

/// Keeps the threads of this process on some CPUs until it is dropped or [`ConfinedProcess::release`]d.
#[derive(Debug)]
#[must_use = "dropping it gives the threads their CPUs back at once"]
pub struct ConfinedProcess {
    cpus: CpuSet,
    before: BTreeMap<ThreadId, CpuSet>,
    except: Vec<ThreadId>,
    refused: Vec<(ThreadId, PinError)>,
    fallback: CpuSet,
    released: bool,
}

/// Which threads have their CPUs back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Released {
    /// Threads that have what they had before.
    pub restored: usize,
    /// Threads that started while the process was confined. They now have the caller's earlier CPUs.
    pub born_since: usize,
    /// Threads whose CPUs could not be restored, and why. Threads that have ended are not counted.
    pub failed: Vec<(ThreadId, PinError)>,
}

/// Restricts every thread of this process, except some, to `cpus`.
///
/// For the policies that keep the whole process on one seat per core, or everything but the audio threads on one
/// reserved core. Later threads inherit the CPUs of the thread that starts them. This function looks for new threads
/// until a whole pass finds none, and reads every thread back. Thread: control. Cost: some system calls per thread.
///
/// # Errors
/// [`PinError::Empty`], or the calling thread's own error if it is not in `except`, or [`PinError::Unreadable`] if the
/// threads cannot be listed; then nothing stays changed. Other threads that refuse are listed in
/// [`ConfinedProcess::refused`]: they may have ended meanwhile, or belong to a stricter cpuset.
pub fn confine_process(cpus: &CpuSet, except: &[ThreadId]) -> Result<ConfinedProcess, PinError> {
    let fallback = current_affinity()?;
    let mut confined = ConfinedProcess {
        cpus: cpus.clone(),
        before: BTreeMap::new(),
        except: except.to_vec(),
        refused: Vec::new(),
        fallback,
        released: false,
    };
    let me = current_thread();
    if !except.contains(&me) {
        confined.confine(me)?;
    }
    confined.confine_all()?;
    Ok(confined)
}

impl ConfinedProcess {
    /// The CPUs of the confined threads.
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Number of moved threads.
    pub fn threads(&self) -> usize {
        self.before.len()
    }

    /// Threads that are not on the requested CPUs, and why.
    pub fn refused(&self) -> &[(ThreadId, PinError)] {
        &self.refused
    }

    /// Confines threads that have started since and use other CPUs, and returns how many. One that pinned itself to some of
    /// [`ConfinedProcess::cpus`] keeps them.
    ///
    /// A thread starts with the CPUs of the thread that starts it. Those that one of the excepted threads started, and those
    /// that chose CPUs for themselves, are the ones that are found here. Thread: control. Cost: some system calls, and one or
    /// two for each thread that started since.
    ///
    /// # Errors
    /// [`PinError::Unreadable`] if the threads cannot be listed. Those that refuse are in [`ConfinedProcess::refused`].
    pub fn confine_newcomers(&mut self) -> Result<usize, PinError> {
        let confined = self.before.len();
        for thread in self.unseen()? {
            // One that has ended in the meantime is no longer of interest.
            if affinity_of(thread.0).is_ok_and(|now| !now.is_subset(&self.cpus)) {
                self.confine_or_note(thread);
            }
        }
        Ok(self.before.len() - confined)
    }

    /// Restores every thread's CPUs and returns the result.
    pub fn release(mut self) -> Released {
        self.restore()
    }

    fn confine_all(&mut self) -> Result<(), PinError> {
        // A thread that is born between listing and moving has the old CPUs of its parent: list again until none is new.
        // The bound ends a race with a program that starts threads faster than they are listed.
        for _ in 0..64 {
            let new = self.unseen()?;
            if new.is_empty() {
                break;
            }
            new.into_iter().for_each(|thread| self.confine_or_note(thread));
        }
        Ok(())
    }

    fn confine_or_note(&mut self, thread: ThreadId) {
        if let Err(error) = self.confine(thread)
            && sys::is_own_thread(thread.0)
        {
            self.refused.push((thread, error));
        }
    }

    fn unseen(&self) -> Result<Vec<ThreadId>, PinError> {
        let threads = sys::threads()
            .map_err(|e| PinError::Unreadable { why: crate::kernel_files::plain(&e) })?;
        let is_new = |t: &ThreadId| {
            !self.before.contains_key(t) && !self.except.contains(t) && !self.is_refused(*t)
        };
        Ok(threads.into_iter().map(ThreadId).filter(is_new).collect())
    }

    fn is_refused(&self, thread: ThreadId) -> bool {
        self.refused.iter().any(|(t, _)| *t == thread)
    }

    fn confine(&mut self, thread: ThreadId) -> Result<(), PinError> {
        let before = affinity_of(thread.0)?;
        let result = pin(thread.0, &self.cpus);
        if matches!(result, Ok(_) | Err(PinError::Partly { .. })) {
            self.before.insert(thread, before);
        }
        result.map(drop)
    }

    fn restore(&mut self) -> Released {
        let mut outcome = Released::default();
        if std::mem::replace(&mut self.released, true) {
            return outcome;
        }
        for thread in sys::threads().unwrap_or_default().into_iter().map(ThreadId) {
            self.restore_thread(thread, &mut outcome);
        }
        outcome
    }

    fn restore_thread(&self, thread: ThreadId, outcome: &mut Released) {
        if self.except.contains(&thread) {
            return;
        }
        // A thread that nobody moved but that is on our CPUs was born there; one that is elsewhere pinned itself.
        let known = self.before.get(&thread);
        if known.is_none() && affinity_of(thread.0).as_ref() != Ok(&self.cpus) {
            return;
        }
        match pin(thread.0, known.unwrap_or(&self.fallback)) {
            Ok(_) if known.is_some() => outcome.restored += 1,
            Ok(_) => outcome.born_since += 1,
            Err(error) if sys::is_own_thread(thread.0) => outcome.failed.push((thread, error)),
            Err(_) => {}
        }
    }
}

impl Drop for ConfinedProcess {
    fn drop(&mut self) {
        self.restore();
    }
}
