//! Why switches cannot be watched, and what would help.

use std::io;

use crate::kernel_files::{KernelFiles, plain};
use crate::sys::{RingError, Watched};

/// Why a watch could not be started. Nothing is being recorded then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub enum SwitchError {
    /// No CPU or thread was named.
    Nobody,
    /// The ring was asked to be longer than the longest, [`super::MAX_RING_BYTES`].
    RingTooLong {
        /// What was asked.
        bytes: usize,
    },
    /// The system does not let this process watch `what`. Asking again helps after rights or settings have changed.
    NotAllowed {
        /// `all threads on CPU 3`, `thread 4711`.
        what: String,
        /// The kernel's setting, in words.
        setting: String,
    },
    /// The CPU is not on line.
    NoSuchCpu {
        /// Its number.
        cpu: u32,
    },
    /// The thread has ended.
    NoSuchThread {
        /// Its number.
        tid: i32,
    },
    /// This kernel has no performance events, or none that record switches (before 4.3).
    NotBuilt,
    /// The memory for the ring was refused. A shorter ring may be granted.
    NoMemory {
        /// What was asked, for each CPU or thread.
        bytes: usize,
        /// The system's reason, in words.
        why: String,
    },
    /// Anything else.
    Refused {
        /// What was to be watched.
        what: String,
        /// The system's reason, in words.
        why: String,
    },
}

impl SwitchError {
    /// What is the matter, in words.
    pub fn why(&self) -> String {
        match self {
            Self::Nobody => "no CPU or thread was named to be watched".into(),
            Self::RingTooLong { bytes } => format!(
                "a ring of {bytes} bytes is longer than the longest, {}",
                super::MAX_RING_BYTES
            ),
            Self::NotAllowed { what, setting } => {
                format!("{what} may not be watched: {setting}, and the process has no CAP_PERFMON")
            }
            Self::NoSuchCpu { cpu } => format!("CPU {cpu} is not on line"),
            Self::NoSuchThread { tid } => format!("there is no thread {tid}"),
            Self::NotBuilt => "this kernel cannot record thread switches".into(),
            Self::NoMemory { bytes, why } => {
                format!("no memory for a ring of {bytes} bytes: {why}")
            }
            Self::Refused { what, why } => format!("{what} cannot be watched: {why}"),
        }
    }

    /// What would help, where something would.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Nobody => Some("name at least one"),
            Self::RingTooLong { .. } => Some("ask for a shorter one"),
            Self::NotAllowed { .. } => Some(
                "sysctl kernel.perf_event_paranoid=-1 as root, or give the program CAP_PERFMON",
            ),
            Self::NotBuilt => Some("use a kernel with CONFIG_PERF_EVENTS=y (4.3 or later)"),
            Self::NoMemory { .. } => {
                Some("ask for shorter rings, or raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK")
            }
            Self::NoSuchCpu { .. } | Self::NoSuchThread { .. } | Self::Refused { .. } => None,
        }
    }

    fn text(&self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{}; {remedy}", self.why()),
            None => self.why(),
        }
    }

    /// What an error of the system means for `watched`.
    pub(super) fn of(error: &RingError, watched: Watched, bytes: usize) -> Self {
        match error {
            RingError::Open(e) => Self::of_open(e, watched),
            RingError::Map(e) => Self::NoMemory { bytes, why: plain(e) },
        }
    }

    fn of_open(error: &io::Error, watched: Watched) -> Self {
        let what = match watched {
            Watched::Cpu(cpu) => format!("all threads on CPU {cpu}"),
            Watched::Thread(tid) => format!("thread {tid}"),
        };
        match (error.raw_os_error(), watched) {
            (Some(libc::EACCES | libc::EPERM), _) => Self::NotAllowed { what, setting: paranoia() },
            (Some(libc::ENODEV | libc::ENXIO), Watched::Cpu(cpu)) => Self::NoSuchCpu { cpu },
            // A number that no CPU of this kernel can have; other fields are the same in every request.
            (Some(libc::EINVAL), Watched::Cpu(cpu)) if !possible(cpu) => Self::NoSuchCpu { cpu },
            (Some(libc::ESRCH), Watched::Thread(tid)) => Self::NoSuchThread { tid },
            (Some(libc::ENOSYS | libc::EINVAL | libc::E2BIG), _) => Self::NotBuilt,
            _ => Self::Refused { what, why: refusal(error) },
        }
    }
}

/// Why no file could be opened, and what would help.
pub(super) fn refusal(error: &io::Error) -> String {
    let why = plain(error);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("{why} ({}); give the program CAP_PERFMON", paranoia())
        }
        Some(libc::EMFILE) => format!("{why}; raise the limit of open files (ulimit -n)"),
        _ => why,
    }
}

fn possible(cpu: u32) -> bool {
    let possible = KernelFiles::live().cpu_list("sys/devices/system/cpu/possible");
    possible.is_ok_and(|cpus| cpus.contains(cpu))
}

/// How much of performance events the kernel leaves to ordinary programs.
pub(crate) fn paranoia() -> String {
    let level = KernelFiles::live().number::<i32>("proc/sys/kernel/perf_event_paranoid");
    level.map_or_else(|why| why, |level| format!("kernel.perf_event_paranoid is {level}"))
}
