//! Locks by name.

use std::fmt;
use std::io;
use std::str::FromStr;

use super::{
    AtomicCounter, Counter, LockedCounter, Mcs, ParkingLot, SpinThenBlock, StdMutex, TestAndSet,
    TestAndTestAndSet, Ticket,
};

/// A way to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// [`AtomicCounter`]: no lock.
    Atomic,
    /// [`StdMutex`].
    StdMutex,
    /// [`ParkingLot`].
    ParkingLot,
    /// `Pthread::normal`.
    PthreadNormal,
    /// `Pthread::adaptive`.
    PthreadAdaptive,
    /// `KernelLock`: two system calls a pass.
    Kernel,
    /// [`SpinThenBlock`] with so many looks.
    SpinThenBlock(u32),
    /// [`TestAndSet`].
    TestAndSet,
    /// [`TestAndTestAndSet`].
    TestAndTestAndSet,
    /// [`Ticket`].
    Ticket,
    /// [`Mcs`].
    Mcs,
}

impl LockKind {
    /// All, with the spin counts between which the article of 2003 found no difference.
    pub const ALL: [LockKind; 13] = [
        LockKind::Atomic,
        LockKind::StdMutex,
        LockKind::ParkingLot,
        LockKind::PthreadNormal,
        LockKind::PthreadAdaptive,
        LockKind::Kernel,
        LockKind::SpinThenBlock(300),
        LockKind::SpinThenBlock(3_000),
        LockKind::SpinThenBlock(30_000),
        LockKind::TestAndSet,
        LockKind::TestAndTestAndSet,
        LockKind::Ticket,
        LockKind::Mcs,
    ];

    /// A counter of this kind, at 0.
    ///
    /// # Errors
    /// What the system says where it has no such lock: `PthreadAdaptive` needs glibc, `Kernel` needs Linux.
    pub fn counter(self) -> io::Result<Box<dyn Counter>> {
        Ok(match self {
            LockKind::Atomic => Box::new(AtomicCounter::default()),
            LockKind::StdMutex => Box::new(LockedCounter::new(StdMutex::default())),
            LockKind::ParkingLot => Box::new(LockedCounter::new(ParkingLot::default())),
            LockKind::PthreadNormal => of_the_system::normal()?,
            LockKind::PthreadAdaptive => of_the_system::adaptive()?,
            LockKind::Kernel => of_the_system::kernel()?,
            LockKind::SpinThenBlock(spins) => {
                Box::new(LockedCounter::new(SpinThenBlock::new(spins)))
            }
            LockKind::TestAndSet => Box::new(LockedCounter::new(TestAndSet::new())),
            LockKind::TestAndTestAndSet => Box::new(LockedCounter::new(TestAndTestAndSet::new())),
            LockKind::Ticket => Box::new(LockedCounter::new(Ticket::new())),
            LockKind::Mcs => Box::new(LockedCounter::new(Mcs::new())),
        })
    }
}

#[cfg(unix)]
mod of_the_system {
    use super::{Counter, LockedCounter, io};
    use crate::locks::{KernelLock, Pthread};

    pub(super) fn normal() -> io::Result<Box<dyn Counter>> {
        Ok(Box::new(LockedCounter::new(Pthread::normal()?)))
    }

    pub(super) fn adaptive() -> io::Result<Box<dyn Counter>> {
        Ok(Box::new(LockedCounter::new(Pthread::adaptive()?)))
    }

    pub(super) fn kernel() -> io::Result<Box<dyn Counter>> {
        Ok(Box::new(LockedCounter::new(KernelLock::new()?)))
    }
}

#[cfg(not(unix))]
mod of_the_system {
    use super::{Counter, io};

    pub(super) fn normal() -> io::Result<Box<dyn Counter>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system is not UNIX"))
    }

    pub(super) use {normal as adaptive, normal as kernel};
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            LockKind::Atomic => "atomic",
            LockKind::StdMutex => "std-mutex",
            LockKind::ParkingLot => "parking-lot",
            LockKind::PthreadNormal => "pthread-normal",
            LockKind::PthreadAdaptive => "pthread-adaptive",
            LockKind::Kernel => "kernel",
            LockKind::SpinThenBlock(spins) => return f.pad(&format!("spin-{spins}-then-block")),
            LockKind::TestAndSet => "test-and-set",
            LockKind::TestAndTestAndSet => "test-and-test-and-set",
            LockKind::Ticket => "ticket",
            LockKind::Mcs => "mcs",
        };
        f.pad(name)
    }
}

impl FromStr for LockKind {
    type Err = ParseLockKindError;

    fn from_str(text: &str) -> Result<LockKind, ParseLockKindError> {
        let spins = text.strip_prefix("spin-").and_then(|text| text.strip_suffix("-then-block"));
        if let Some(spins) = spins.and_then(|spins| spins.parse().ok()) {
            return Ok(LockKind::SpinThenBlock(spins));
        }
        let named = LockKind::ALL.into_iter().find(|kind| kind.to_string() == text);
        named.ok_or_else(|| ParseLockKindError { text: text.into() })
    }
}

/// Text that is not the name of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseLockKindError {
    text: String,
}

impl fmt::Display for ParseLockKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = LockKind::ALL.map(|kind| kind.to_string()).join(", ");
        write!(f, "unknown lock '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseLockKindError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in LockKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("spin-7-then-block".parse(), Ok(LockKind::SpinThenBlock(7)));
        assert!("spin--then-block".parse::<LockKind>().is_err());
    }
}
