//! The integer sieve of AIM9 (AIM Independent Resource Benchmark, Suite IX).

use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};

/// Numbers of the original's table, 0 to 999,999: one byte each.
pub const AIM9_NUMBERS: usize = 1_000_000;
/// Sieves of one of the original's operations ("Integer Sieves/second" counts these).
pub const AIM9_SIEVES: u64 = 5;
/// The numbers that are left below a million: 78,498 primes, and 0 and 1, which it does not strike out.
pub const AIM9_LEFT: u64 = 78_500;

/// The sieve of Eratosthenes over a table of bytes: every number that is left strikes out its multiples,
/// without stopping at the root, as in AIM9.
///
/// A pass is five sieves.
#[derive(Debug)]
pub struct Sieve {
    table: Vec<u8>,
    passes: u64,
    left: u64,
}

impl Sieve {
    /// The table of AIM9.
    pub fn new() -> Sieve {
        Sieve::below(AIM9_NUMBERS)
    }

    /// The numbers below `numbers`.
    pub fn below(numbers: usize) -> Sieve {
        Sieve { table: vec![0; numbers], passes: 0, left: 0 }
    }

    /// How many numbers one sieve leaves; 0 and 1 are among them.
    fn sieve(&mut self) -> u64 {
        let table = black_box(&mut self.table[..]);
        table.fill(1);
        let mut left = table.len().min(2) as u64;
        for number in 2..table.len() {
            if table[number] == 1 {
                left += 1;
                strike_out(table, number);
            }
        }
        left
    }
}

#[inline(always)]
fn strike_out(table: &mut [u8], number: usize) {
    let mut multiple = 2 * number;
    while multiple < table.len() {
        table[multiple] = 0;
        multiple += number;
    }
}

impl Default for Sieve {
    fn default() -> Sieve {
        Sieve::new()
    }
}

impl Kernel for Sieve {
    fn name(&self) -> &'static str {
        "sieve"
    }

    fn ops(&self) -> Ops {
        let numbers = self.table.len() as u64;
        // A number is struck out once by each of its prime divisors but itself. Their reciprocals below n sum
        // up to about ln ln n + 0.2615 (Mertens).
        let struck = numbers as f64 * ((numbers.max(3) as f64).ln().ln() + 0.2615);
        let struck = (struck as u64).saturating_sub(prime_count_estimate(numbers));
        Ops {
            int: AIM9_SIEVES * struck,
            float: 0,
            loads: AIM9_SIEVES * numbers,
            stores: AIM9_SIEVES * (numbers + struck),
        }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..passes * AIM9_SIEVES {
            sum += self.sieve();
        }
        self.passes += passes;
        self.left += sum;
        sum
    }

    /// By a different way to count primes than to sieve them (Legendre, as Lucy's variant), below the number
    /// for which the kernel was made.
    fn check(&self) -> Result<(), Wrong> {
        let numbers = self.table.len() as u64;
        let each = numbers.min(2) + primes_up_to(numbers.saturating_sub(1));
        let sieves = self.passes * AIM9_SIEVES;
        Wrong::unless_equal("the sum of the numbers left", self.left, sieves * each)
    }
}

/// x / ln x, good enough for counting operations.
fn prime_count_estimate(x: u64) -> u64 {
    let x = x.max(3) as f64;
    (x / x.ln()) as u64
}

/// The number of primes up to `n`, without finding them: how many numbers up to each n/k remain when the
/// multiples of one prime after the other are taken out. O(n^(3/4)).
fn primes_up_to(n: u64) -> u64 {
    let root = n.isqrt();
    let mut quotients: Vec<u64> = (1..=root).map(|k| n / k).collect();
    let smallest = quotients.last().copied().unwrap_or(0);
    quotients.extend((1..smallest).rev());
    let at = |v: u64| if v <= root { quotients.len() - v as usize } else { (n / v - 1) as usize };
    let mut counts: Vec<u64> = quotients.iter().map(|v| v - 1).collect();
    for prime in 2..=root {
        let before = counts[at(prime - 1)];
        if counts[at(prime)] == before {
            continue;
        }
        let reached = quotients.iter().take_while(|v| **v >= prime * prime);
        for (index, v) in reached.enumerate() {
            counts[index] -= counts[at(v / prime)] - before;
        }
    }
    counts.first().copied().unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_left_as_in_aim9() {
        let mut sieve = Sieve::new();
        assert_eq!(sieve.run(1), AIM9_SIEVES * AIM9_LEFT);
        assert_eq!(sieve.check(), Ok(()));
    }

    #[test]
    fn small_tables_are_counted_right() {
        for (numbers, left) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (6, 5), (30, 12)] {
            let mut sieve = Sieve::below(numbers);
            assert_eq!(sieve.run(1), AIM9_SIEVES * left, "{numbers}");
            assert_eq!(sieve.check(), Ok(()), "{numbers}");
        }
    }

    #[test]
    fn primes_are_counted_without_a_sieve() {
        let known = [(10, 4), (100, 25), (1_000, 168), (10_000, 1_229), (1_000_000, 78_498)];
        for (n, primes) in known {
            assert_eq!(primes_up_to(n), primes, "{n}");
        }
    }

    #[test]
    fn declared_operations_are_nearly_those_done() {
        let numbers = 100_000u64;
        let divisors = |number: &u64| {
            let (mut left, mut found) = (*number, 0);
            for prime in 2..=*number {
                if prime * prime > left {
                    break;
                }
                found += u64::from(left.is_multiple_of(prime));
                while left.is_multiple_of(prime) {
                    left /= prime;
                }
            }
            found + u64::from(left > 1 && left != *number)
        };
        let struck: u64 = (2..numbers).map(|number| divisors(&number)).sum();
        let declared = Sieve::below(numbers as usize).ops().int / AIM9_SIEVES;
        assert!(declared.abs_diff(struck) < struck / 20, "{declared} {struck}");
    }
}
