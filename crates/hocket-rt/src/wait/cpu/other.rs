//! An unknown kind of CPU: the system's clock, and no instruction for a rest.

use crate::sync::AtomicU32;
use std::sync::OnceLock;
use std::time::Instant;

const UNKNOWN: &str = "the CPU is neither an x86-64 nor an arm64";

/// The clock: nanoseconds since the first call.
pub(crate) fn ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// An instruction for a rest. There is none, so no value of this type exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {}

impl Quiet {
    pub(crate) fn tpause() -> Result<Quiet, &'static str> {
        Err(UNKNOWN)
    }

    pub(crate) fn umwait() -> Result<Quiet, &'static str> {
        Err(UNKNOWN)
    }

    pub(crate) fn mwaitx() -> Result<Quiet, &'static str> {
        Err(UNKNOWN)
    }

    pub(crate) fn wfe() -> Result<Quiet, &'static str> {
        Err(UNKNOWN)
    }

    pub(crate) fn step_ticks(self) -> u64 {
        match self {}
    }

    pub(crate) fn rest<T>(
        self,
        _word: &AtomicU32,
        _ticks: u64,
        _look: &mut impl FnMut() -> Option<T>,
    ) -> Option<T> {
        match self {}
    }
}
