//! What every computing kernel says of itself.

use std::fmt;

/// A piece of computing that can be repeated, counted and checked.
///
/// Thread: one at a time; a kernel holds its own data and shares none.
pub trait Kernel: Send {
    /// The name, as in `lab explain` and in records.
    fn name(&self) -> &'static str;

    /// What one pass does, counted in its source.
    fn ops(&self) -> Ops;

    /// Does `passes` passes and returns a number that depends on all that was computed, so that the
    /// compiler cannot leave anything out. Allocates nothing and does not call the system.
    fn run(&mut self, passes: u64) -> u64;

    /// Compares what all passes since the kernel was made have left with an independent computation
    /// of it. Not for the timed part: it may touch all of the kernel's data.
    ///
    /// # Errors
    /// [`Wrong`], if a pass was left out or computed something else.
    fn check(&self) -> Result<(), Wrong>;
}

/// Operations of one pass, as its source states them. The compiler may join some in one vector
/// instruction; it leaves none out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ops {
    /// Additions, shifts, multiplications of integers; without those that only count the loop.
    pub int: u64,
    /// Additions, multiplications, comparisons and roots of floating-point numbers.
    pub float: u64,
    /// Reads of the kernel's data.
    pub loads: u64,
    /// Writes of the kernel's data.
    pub stores: u64,
}

impl Ops {
    /// All of them.
    pub fn total(self) -> u64 {
        self.int + self.float + self.loads + self.stores
    }
}

/// A kernel did not compute what it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    what: String,
}

impl Wrong {
    pub(crate) fn new(what: impl Into<String>) -> Wrong {
        Wrong { what: what.into() }
    }

    /// `Ok` if `found` is `expected`; otherwise says what is not.
    pub(crate) fn unless_equal<T: PartialEq + fmt::Debug>(
        what: &str,
        found: T,
        expected: T,
    ) -> Result<(), Wrong> {
        if found == expected {
            return Ok(());
        }
        Err(Wrong::new(format!("{what} is {found:?} and should be {expected:?}")))
    }

    /// `Ok` if `found` is within `tolerance` of `expected`; otherwise says what is not.
    pub(crate) fn unless_near(
        what: &str,
        found: f64,
        expected: f64,
        tolerance: f64,
    ) -> Result<(), Wrong> {
        if (found - expected).abs() <= tolerance {
            return Ok(());
        }
        Err(Wrong::new(format!("{what} is {found} and should be within {tolerance} of {expected}")))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "wrong result: {}", self.what)
    }
}

impl std::error::Error for Wrong {}
