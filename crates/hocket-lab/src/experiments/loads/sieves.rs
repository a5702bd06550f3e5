//! The integer sieve of AIM9, by several threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_kernels::Kernel;
use hocket_kernels::sieve::{AIM9_LEFT, AIM9_NUMBERS, AIM9_SIEVES, Sieve};

use super::{Load, Turn};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};

/// Threads with a table each.
pub(in crate::experiments) struct Sieves {
    tables: Vec<Sieve>,
    /// Of all threads together, in a turn.
    passes: u64,
}

impl Sieves {
    /// So many passes for each thread to begin with; who is done sooner takes more.
    pub(in crate::experiments) fn new(threads: usize, passes: u64) -> Sieves {
        let tables = (0..threads).map(|_| Sieve::new()).collect();
        Sieves { tables, passes: passes * threads as u64 }
    }
}

impl Load for Sieves {
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault> {
        let taken = AtomicU64::new(0);
        let passes = self.passes;
        let team = self.tables.iter_mut().fold(TurnThreads::new(), |team, table| {
            let taken = &taken;
            team.with(Place::among(cpus), move || {
                let mut left = 0;
                // Relaxed: the numbers are only dealt, nothing is published by them.
                while taken.fetch_add(1, Relaxed) < passes {
                    left += table.run(1);
                }
                left
            })
        });
        let run = team.run()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let kernels = self.tables.iter().map(|table| match table.check() {
            Ok(()) => Check::Passed,
            Err(wrong) => Check::Failed(wrong.to_string()),
        });
        let check = kernels.fold(check(passes, run.into_results().into_iter().sum()), Check::and);
        let ops = passes * AIM9_SIEVES * AIM9_NUMBERS as u64;
        Ok(Turn { wall_ns, cpu_ns, ops, bytes: 0, check, took: Vec::new() })
    }
}

/// The 78,498 primes below a million, and 0 and 1, which AIM9 counts with them.
fn check(passes: u64, left: u64) -> Check {
    Check::equal("the sum of the numbers left", left, passes * AIM9_SIEVES * AIM9_LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_passes_are_done_by_somebody() {
        let turn = Sieves::new(2, 1).turn(&[]).unwrap();
        assert_eq!((turn.check, turn.ops), (Check::Passed, 10_000_000));
    }

    #[test]
    fn a_prime_too_few_is_found() {
        assert_eq!(check(2, 785_000), Check::Passed);
        assert!(matches!(check(2, 784_999), Check::Failed(_)));
    }
}
