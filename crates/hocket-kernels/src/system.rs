//! Linux: primitives of the system, one operation each, in processes that are made for it.
//!
//! # The idea
//!
//! An [`Operation`] is one thing that the system does: a call, a byte to another process and back, a new process, a page.
//! It knows how to do it so many times in a row, how long that took, and how often the system did what it was asked for.
//! [`run_in_processes`] does it in one process or in several at once, each forked for the purpose, put on its CPUs, and
//! gone afterwards. So handlers, descriptors and children of an operation never meet the process that asks.
//!
//! All operations are written from the definitions of well-known ones, none from another program's source. Each says
//! which it resembles.
//!
//! # The parts
//!
//! | part | operations |
//! |---|---|
//! | `files.rs` | null call, read, write, stat, fstat, open and close; files made and removed |
//! | `descriptors.rs` | select and epoll |
//! | `signals.rs` | a signal's handler installed, a signal caught, a protection fault caught |
//! | `round_trip.rs` | a byte to another process and back |
//! | `ring.rs` | a token round a ring of processes |
//! | `starts.rs` | fork, clone3, vfork, posix_spawn, with an end, a program, or a shell |
//! | `disk.rs` | blocks of a file, with and without waiting for the disk |
//! | `pipe_copy.rs` | bytes through a pipe in one process |
//! | `computing.rs` | a computing kernel in such a process |
//! | `memory.rs` | mapping, page fault, reading, writing, copying, and the latency of loads |
//! | `process.rs` | the processes that all of this runs in |
//!
//! # The limits
//!
//! A forked process of a program with threads may call little: no allocation, no lock (CHILD in `sys/processes.rs`). So
//! operations allocate when they are made, and [`Operation`] cannot be implemented elsewhere.

mod computing;
mod descriptors;
mod disk;
mod files;
mod memory;
mod pipe_copy;
mod process;
mod ring;
mod round_trip;
mod signals;
mod starts;

pub use computing::Computing;
pub use descriptors::{Epoll, Select};
pub use disk::{BLOCK, BlockTest, DiskBlocks};
pub use files::{Call, CreatedFiles};
pub use memory::{
    Bandwidth, FileMapping, Latency, Mapping, PageFault, Transfer, UntouchedPages, WalkOrder,
};
pub use pipe_copy::PipeCopy;
pub use process::{run_here, run_in_processes};
pub use ring::Ring;
pub use round_trip::{End, RoundTrip};
pub use signals::{Caught, SignalOperation};
pub use starts::{Start, Starts};

use std::io;

/// What came of an operation in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ran {
    /// How long all of it took.
    pub ns: u64,
    /// How many operations that were, which may be more than were asked for.
    pub times: u64,
    /// How many of them did what they must.
    pub right: u64,
    /// How long the part took that is no switch of processes, where there is such a part (a ring).
    pub without_switches_ns: u64,
}

mod sealed {
    /// For what this crate says is an operation.
    pub trait Sealed {}
}

/// One primitive of the system. See the module for what may be one.
///
/// Thread: one at a time.
pub trait Operation: sealed::Sealed + Send {
    /// Gets ready in the process that will do it: partners, descriptors, handlers.
    ///
    /// # Errors
    /// What the system refuses.
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether processes that are forked from now on have the memory that it goes over. At first they have not: every
    /// mapping makes a fork slower, and other operations measure forks.
    ///
    /// # Errors
    /// What the system refuses.
    fn is_for_forks(&mut self, _is: bool) -> io::Result<()> {
        Ok(())
    }

    /// Does it at least so many times.
    ///
    /// # Errors
    /// What the system refuses, and what a partner does not answer.
    fn run(&mut self, times: u64) -> io::Result<Ran>;

    /// Ends partners and waits for them.
    fn end(&mut self) {}

    /// Whether it may be done in a process that was forked of one with threads.
    fn may_be_forked(&self) -> bool {
        true
    }
}

/// `times` calls of `one`, which says whether it did what it must.
#[inline]
fn repeated(times: u64, mut one: impl FnMut() -> bool) -> Ran {
    let start_ns = crate::sys::calls::now_ns();
    let mut right = 0;
    for _ in 0..times {
        right += u64::from(one());
    }
    Ran { ns: crate::sys::calls::now_ns() - start_ns, times, right, without_switches_ns: 0 }
}

/// The same for calls that end at the first error.
#[inline]
fn repeated_while_ok(times: u64, mut one: impl FnMut() -> io::Result<bool>) -> io::Result<Ran> {
    let start_ns = crate::sys::calls::now_ns();
    let mut right = 0;
    for _ in 0..times {
        right += u64::from(one()?);
    }
    let ns = crate::sys::calls::now_ns() - start_ns;
    Ok(Ran { ns, times, right, without_switches_ns: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs it twice, as the lab does, and expects that all of it was right.
    pub(super) fn all_right(operation: impl Operation + 'static, times: u64) {
        let mut operation: Vec<Box<dyn Operation>> = vec![Box::new(operation)];
        for _ in 0..2 {
            let ran = run_in_processes(&mut operation, &[&[]], None, times).unwrap();
            let [ran] = ran.as_slice() else { panic!("one process") };
            assert!(ran.times >= times, "{ran:?}");
            assert_eq!(ran.right, ran.times, "{ran:?}");
        }
    }
}
