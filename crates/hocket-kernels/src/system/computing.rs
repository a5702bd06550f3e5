//! A computing kernel in a process of its own.

use std::io;

use super::{Operation, Ran, sealed::Sealed};
use crate::Kernel;
use crate::aim9::Known;
use crate::sieve::{AIM9_LEFT, AIM9_SIEVES, Sieve};
use crate::sys::calls;

/// Passes of a kernel, each of which leaves the same known number. A kernel that allocated when it was made allocates nothing
/// now, so it may run between a fork and its end.
pub struct Computing {
    kernel: Box<dyn Kernel>,
    each: u64,
}

impl Computing {
    /// Of a kernel that knows what it leaves.
    pub fn of(kernel: impl Known + 'static) -> Computing {
        let each = kernel.each();
        Computing { kernel: Box::new(kernel), each }
    }

    /// AIM9's sieve: a pass is five sieves.
    pub fn sieve() -> Computing {
        Computing { kernel: Box::new(Sieve::new()), each: AIM9_SIEVES * AIM9_LEFT }
    }
}

impl Sealed for Computing {}

impl Operation for Computing {
    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let start_ns = calls::now_ns();
        let left = self.kernel.run(times);
        let ns = calls::now_ns() - start_ns;
        let right = if left == times.wrapping_mul(self.each) { times } else { 0 };
        Ok(Ran { ns, times, right, without_switches_ns: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;
    use crate::aim9::{Arithmetic, Chain, Sorting, Strings};

    #[test]
    fn passes_leave_what_they_must() {
        all_right(Computing::of(Chain::of(Arithmetic::DivideInt)), 3);
        all_right(Computing::of(Strings::new()), 2);
        all_right(Computing::of(Sorting::new()), 2);
        all_right(Computing::sieve(), 1);
    }

    #[test]
    fn a_pass_that_leaves_something_else_is_wrong() {
        let mut wrong = Computing { each: 1, ..Computing::of(Sorting::new()) };
        assert_eq!(wrong.run(2).unwrap().right, 0);
    }
}
