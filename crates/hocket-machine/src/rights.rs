//! The best class that the system grants a thread, directly or through a service of the desktop: requested, then read
//! back.
//!
//! An ordinary desktop user may rarely set SCHED_FIFO, but the desktop has services that can. [`obtain`] tries these
//! ways in order and stops at the first that the kernel confirms:
//!
//! 1. **direct**: SCHED_FIFO by `sched_setattr`, with the requested priority, else the one that RLIMIT_RTPRIO allows
//!    (sched(7)). It limits nothing, so it comes first; RealtimeKit's README advises the same.
//! 2. **portal**: `org.freedesktop.portal.Realtime` on the session bus. It passes the request on to RealtimeKit and
//!    translates thread numbers, so it also works from inside a sandbox (portal documentation, "Realtime").
//! 3. **RealtimeKit**: `org.freedesktop.RealtimeKit1` on the system bus. It sets SCHED_RR, unless its administrator
//!    chose SCHED_FIFO, with SCHED_RESET_ON_FORK (RealtimeKit's README, sections NOTES and CLIENTS). For services
//!    without `MakeThreadRealtimeWithPID`, `obtain` calls `MakeThreadRealtime`.
//! 4. **slice**: a short slice in the ordinary class, which needs no rights ([`class::request_slice`]).
//!
//! # The price of a service
//!
//! Both services refuse a process that could hold a CPU for ever: its *hard* RLIMIT_RTTIME must be no more than their
//! `RTTimeUSecMax` (200 ms as shipped). As soon as a service offers a priority, `obtain` lowers the limit for the whole
//! process. An ordinary process cannot raise it again ([`RightsGuard`] tries).
//!
//! A real-time thread that computes that long without blocking gets SIGXCPU, which ends the process unless it is
//! handled. At the hard limit it gets SIGKILL (setrlimit(2)). If the services refuse in the end, there is no real-time
//! thread to which the limit could apply. The limit in force is in [`Obtained::rttime_us`].
//!
//! # What it does not do
//!
//! It never waits longer than [`PATIENCE`] for a bus, keeps no connection and leaves no thread behind. The calling thread
//! opens a connection, uses it for all the threads of one request, and closes it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::class::{self, Class, ClassNow};
use crate::fact::Fact;
use crate::kernel_files::plain;
use crate::pin::{self, ThreadId};
use crate::sys::{self, Resource};

mod ask;
mod budget;
mod guard;
mod probe;
mod service;

#[cfg(feature = "dbus")]
mod bus;
#[cfg(not(feature = "dbus"))]
#[path = "rights/no_bus.rs"]
mod bus;

pub use guard::RightsGuard;
pub use probe::{Offer, probe};

/// How long one service may take for all answers to one request.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The slice to request if no real-time class is granted: the shortest that kernels accept.
pub const SLICE: Duration = Duration::from_micros(100);

/// A way to a better class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// SCHED_FIFO, set by this process itself.
    Fifo,
    /// The realtime portal, on the session bus.
    Portal,
    /// RealtimeKit, on the system bus.
    Rtkit,
    /// A short slice in the ordinary class.
    Slice,
    /// None of them was granted.
    None,
}

impl Way {
    /// Every way, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Fifo, Self::Portal, Self::Rtkit, Self::Slice];

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Fifo => "SCHED_FIFO directly",
            Self::Portal => "realtime portal",
            Self::Rtkit => "RealtimeKit",
            Self::Slice => "short slice",
            Self::None => "none",
        }
    }
}

/// One way that was tried: the request and the system's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Which.
    pub way: Way,
    /// The answer in words, with the request.
    pub outcome: String,
}

/// What a thread obtained, and which ways were tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obtained {
    /// The thread.
    pub thread: ThreadId,
    /// The way that was granted and confirmed by the kernel.
    pub way: Way,
    /// What the system reports about the thread, read back after the last request.
    pub class: Fact<ClassNow>,
    /// CPU time in microseconds that a real-time thread of this process may use without blocking (soft RLIMIT_RTTIME),
    /// read back; none is unlimited.
    pub rttime_us: Option<u64>,
    /// Every way tried, in order; the last is the granted one.
    pub tried: Vec<Tried>,
}

/// Obtains the best class for the calling thread: `priority` (1 to 99), or the highest below it that is granted.
///
/// Thread: any, for itself; not for the block. Cost: a system call if the kernel grants it; else up to [`PATIENCE`] for
/// each service that does not answer. A refusal is in the answer, never an error.
pub fn obtain(priority: u8) -> Obtained {
    let mut one = obtain_for(&[pin::current_thread()], priority);
    one.remove(0)
}

/// Like [`obtain`], for several threads of this process: one answer each, in their order. It connects to a service once.
pub fn obtain_for(threads: &[ThreadId], priority: u8) -> Vec<Obtained> {
    obtain_by(&Way::ALL, threads, priority)
}

/// Like [`obtain_for`], by `ways` alone, in their order. The answer is [`Way::None`] if all of them refused.
pub fn obtain_by(ways: &[Way], threads: &[ThreadId], priority: u8) -> Vec<Obtained> {
    let mut all: Vec<Obtained> = threads.iter().copied().map(Obtained::nothing_yet).collect();
    for &way in ways {
        let mut open: Vec<&mut Obtained> = all.iter_mut().filter(|o| o.way == Way::None).collect();
        if !open.is_empty() {
            let names: Vec<ThreadId> = open.iter().map(|o| o.thread).collect();
            let answers = ask::ask(way, &names, priority);
            open.iter_mut().zip(answers).for_each(|(o, answer)| o.add(way, answer));
        }
    }
    all.iter_mut().for_each(Obtained::read_back);
    all
}

/// An answer to one request: in words, and whether the kernel confirms it.
#[derive(Debug, Clone)]
struct Answer {
    granted: bool,
    outcome: String,
}

impl Answer {
    fn no(outcome: impl Into<String>) -> Self {
        Self { granted: false, outcome: outcome.into() }
    }
}

impl Obtained {
    fn nothing_yet(thread: ThreadId) -> Self {
        let class = Fact::Unknown("not read yet".into());
        Self { thread, way: Way::None, class, rttime_us: None, tried: Vec::new() }
    }

    fn add(&mut self, way: Way, answer: Answer) {
        if answer.granted {
            self.way = way;
        }
        self.tried.push(Tried { way, outcome: answer.outcome });
    }

    fn read_back(&mut self) {
        self.class = class::now_of(self.thread);
        self.rttime_us = class::budget().value().and_then(|budget| budget.soft_us);
    }
}

impl fmt::Display for Obtained {
    /// One line: what the thread has, by which way, and why the better ways were not granted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class, self.way.label())?;
        for tried in self.tried.iter().filter(|tried| tried.way != self.way) {
            write!(f, "; {}: {}", tried.way.label(), tried.outcome)?;
        }
        Ok(())
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests;
