//! Computing of one thread that AIM9 (AIM Independent Resource Benchmark, Suite IX) names: arithmetic, strings, sorting.
//!
//! Written from what the names say. AIM9's own routines do more or other things, so the rates are ours. Every pass leaves
//! a number that is known beforehand ([`Known::each`]), computed in another way.

use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};

/// A kernel of which every pass leaves the same number.
pub trait Known: Kernel {
    /// What one pass leaves, computed in another way. Not for the timed part.
    fn each(&self) -> u64;

    /// Operations of one pass, as rates count them.
    fn operations(&self) -> u64;
}

/// What the arithmetic does again and again, each operation with the result of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// 64-bit integers.
    AddInt,
    /// 64-bit floating-point numbers.
    AddDouble,
    /// 64-bit integers.
    MultiplyInt,
    /// 64-bit floating-point numbers.
    MultiplyDouble,
    /// 64-bit integers.
    DivideInt,
    /// 64-bit floating-point numbers.
    DivideDouble,
}

/// Operations of a pass; even, because two of some undo each other.
const CHAIN: u64 = 1000;
/// Two primes; their product is divided by the one and then by the other.
const DIVISORS: [u64; 2] = [65_537, 7_919];
/// Odd, so that no power of it is 0.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// What is added.
const STEP: f64 = 3.0;

impl Arithmetic {
    /// All of them.
    pub const ALL: [Arithmetic; 6] = [
        Arithmetic::AddInt,
        Arithmetic::AddDouble,
        Arithmetic::MultiplyInt,
        Arithmetic::MultiplyDouble,
        Arithmetic::DivideInt,
        Arithmetic::DivideDouble,
    ];

    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::AddInt => "add-int",
            Arithmetic::AddDouble => "add-double",
            Arithmetic::MultiplyInt => "multiply-int",
            Arithmetic::MultiplyDouble => "multiply-double",
            Arithmetic::DivideInt => "divide-int",
            Arithmetic::DivideDouble => "divide-double",
        }
    }
}

/// Fibonacci's numbers: a sum of the two before has no shorter form that a compiler would find.
fn added() -> u64 {
    let (mut before, mut now) = (black_box(0_u64), black_box(1_u64));
    for _ in 0..CHAIN {
        (before, now) = (now, before.wrapping_add(now));
    }
    before
}

/// The same with products: a compiler may put equal factors together, and these are all different.
fn multiplied() -> u64 {
    let (mut before, mut now) = (black_box(1_u64), black_box(FACTOR));
    for _ in 0..CHAIN {
        (before, now) = (now, before.wrapping_mul(now));
    }
    before
}

fn divided() -> u64 {
    let product = black_box(DIVISORS[0] * DIVISORS[1]);
    (0..CHAIN).fold(black_box(DIVISORS[0]), |quotient, _| product / quotient.max(1))
}

fn added_doubles() -> f64 {
    let step = black_box(STEP);
    (0..CHAIN).fold(black_box(0.0), |sum, _| sum + step)
}

fn multiplied_doubles() -> f64 {
    let factors = black_box([2.0, 0.5]);
    (0..CHAIN / 2).fold(black_box(3.0), |product, _| product * factors[0] * factors[1])
}

fn divided_doubles() -> f64 {
    let product = black_box((DIVISORS[0] * DIVISORS[1]) as f64);
    (0..CHAIN).fold(black_box(DIVISORS[0] as f64), |quotient, _| product / quotient)
}

/// [`Arithmetic`], pass by pass.
#[derive(Debug)]
pub struct Chain {
    arithmetic: Arithmetic,
    passes: u64,
    left: u64,
}

impl Chain {
    /// Of one kind.
    pub fn of(arithmetic: Arithmetic) -> Chain {
        Chain { arithmetic, passes: 0, left: 0 }
    }

    fn pass(&self) -> u64 {
        match self.arithmetic {
            Arithmetic::AddInt => added(),
            Arithmetic::MultiplyInt => multiplied(),
            Arithmetic::DivideInt => divided(),
            Arithmetic::AddDouble => added_doubles().to_bits(),
            Arithmetic::MultiplyDouble => multiplied_doubles().to_bits(),
            Arithmetic::DivideDouble => divided_doubles().to_bits(),
        }
    }
}

impl Known for Chain {
    fn each(&self) -> u64 {
        match self.arithmetic {
            Arithmetic::AddInt => fibonacci(CHAIN).0,
            // The order of an odd number is a power of 2 below 2^64, so the exponent may be taken modulo 2^64.
            Arithmetic::MultiplyInt => power(FACTOR, fibonacci(CHAIN).0),
            // Twice, and the quotient is what it was.
            Arithmetic::DivideInt => DIVISORS[0],
            Arithmetic::AddDouble => (STEP * CHAIN as f64).to_bits(),
            Arithmetic::MultiplyDouble => 3.0_f64.to_bits(),
            Arithmetic::DivideDouble => (DIVISORS[0] as f64).to_bits(),
        }
    }

    fn operations(&self) -> u64 {
        CHAIN
    }
}

impl Kernel for Chain {
    fn name(&self) -> &'static str {
        self.arithmetic.name()
    }

    fn ops(&self) -> Ops {
        let is_int = [Arithmetic::AddInt, Arithmetic::MultiplyInt, Arithmetic::DivideInt];
        match is_int.contains(&self.arithmetic) {
            true => Ops { int: CHAIN, ..Ops::default() },
            false => Ops { float: CHAIN, ..Ops::default() },
        }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let left = (0..passes).fold(0_u64, |sum, _| sum.wrapping_add(self.pass()));
        self.passes += passes;
        self.left = self.left.wrapping_add(left);
        left
    }

    fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("the sum", self.left, self.passes.wrapping_mul(self.each()))
    }
}

/// The `n`th number and the one after it, modulo 2^64, by doubling.
fn fibonacci(n: u64) -> (u64, u64) {
    if n == 0 {
        return (0, 1);
    }
    let (a, b) = fibonacci(n / 2);
    let even = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
    let odd = a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b));
    if n.is_multiple_of(2) { (even, odd) } else { (odd, even.wrapping_add(odd)) }
}

/// By squaring, modulo 2^64.
fn power(base: u64, exponent: u64) -> u64 {
    match exponent {
        0 => 1,
        _ => {
            let half = power(base, exponent / 2);
            let square = half.wrapping_mul(half);
            if exponent.is_multiple_of(2) { square } else { square.wrapping_mul(base) }
        }
    }
}

/// Words are joined, compared, searched and turned round, byte by byte.
#[derive(Debug)]
pub struct Strings {
    line: Vec<u8>,
    copy: Vec<u8>,
    passes: u64,
    left: u64,
}

/// Words of a line: `w00 w01 ...`, each with a blank after it.
const WORDS: usize = 64;
const WORD: usize = 4;

impl Strings {
    /// Allocates the two lines.
    pub fn new() -> Strings {
        Strings { line: vec![0; WORDS * WORD], copy: vec![0; WORDS * WORD], passes: 0, left: 0 }
    }

    /// Joins the words, copies the line, turns the copy round twice; what is left counts blanks, equal bytes and the places
    /// where each word is found.
    fn pass(&mut self) -> u64 {
        let line = black_box(&mut self.line[..]);
        for (number, word) in line.chunks_exact_mut(WORD).enumerate() {
            word.copy_from_slice(&word_of(number));
        }
        self.copy.copy_from_slice(line);
        self.copy.reverse();
        self.copy.reverse();
        let copy = black_box(&self.copy[..]);
        let blanks = copy.iter().filter(|byte| **byte == b' ').count();
        let equal = line.iter().zip(copy).filter(|(a, b)| a == b).count();
        let places: usize = (0..WORDS).map(|number| place_of(copy, &word_of(number))).sum();
        (blanks + equal + places) as u64
    }
}

fn word_of(number: usize) -> [u8; WORD] {
    [b'w', b'0' + (number / 10) as u8, b'0' + (number % 10) as u8, b' ']
}

/// The length of the line where it is not found.
fn place_of(line: &[u8], word: &[u8; WORD]) -> usize {
    line.windows(WORD).position(|at| at == word).unwrap_or(line.len())
}

impl Default for Strings {
    fn default() -> Strings {
        Strings::new()
    }
}

impl Known for Strings {
    fn each(&self) -> u64 {
        // A blank after each word, all bytes equal, and word n at 4 n.
        (WORDS + WORDS * WORD + WORD * WORDS * (WORDS - 1) / 2) as u64
    }

    /// Joined, copied, turned round twice, counted, compared, and a search for each word.
    fn operations(&self) -> u64 {
        6 + WORDS as u64
    }
}

impl Kernel for Strings {
    fn name(&self) -> &'static str {
        "strings"
    }

    fn ops(&self) -> Ops {
        let bytes = (WORDS * WORD) as u64;
        let searched = (WORD * WORDS * (WORDS - 1) / 2) as u64;
        Ops { int: 2 * bytes + searched, float: 0, loads: 6 * bytes + searched, stores: 4 * bytes }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let left = (0..passes).map(|_| self.pass()).sum();
        self.passes += passes;
        self.left += left;
        left
    }

    fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("what is left of the words", self.left, self.passes * self.each())
    }
}

/// Numbers in a mixed order are sorted by the standard library, which keeps no order among equal ones.
#[derive(Debug)]
pub struct Sorting {
    numbers: Vec<u32>,
    passes: u64,
    left: u64,
}

/// A prime, so that its multiples modulo it are all numbers below it.
const SORTED: u32 = 1009;
const STRIDE: u32 = 617;

impl Sorting {
    /// Allocates the numbers.
    pub fn new() -> Sorting {
        Sorting { numbers: vec![0; SORTED as usize], passes: 0, left: 0 }
    }

    fn pass(&mut self) -> u64 {
        for (place, number) in (0..).zip(self.numbers.iter_mut()) {
            *number = place * STRIDE % SORTED;
        }
        let numbers = black_box(&mut self.numbers[..]);
        numbers.sort_unstable();
        (0_u64..).zip(&*numbers).map(|(place, number)| place * u64::from(*number)).sum()
    }
}

impl Default for Sorting {
    fn default() -> Sorting {
        Sorting::new()
    }
}

impl Known for Sorting {
    fn each(&self) -> u64 {
        // In order, number n stands at place n: the sum of squares.
        let n = u64::from(SORTED);
        (n - 1) * n * (2 * n - 1) / 6
    }

    fn operations(&self) -> u64 {
        1
    }
}

impl Kernel for Sorting {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn ops(&self) -> Ops {
        // Comparisons of a sort of n numbers: about n log2 n.
        let n = u64::from(SORTED);
        let compared = n * u64::from(SORTED.ilog2());
        Ops { int: compared + n, float: 0, loads: compared + n, stores: compared / 2 + n }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let left = (0..passes).map(|_| self.pass()).sum();
        self.passes += passes;
        self.left += left;
        left
    }

    fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("the weighted sum", self.left, self.passes * self.each())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn check(mut kernel: impl Known) {
        let name = kernel.name();
        assert_eq!(kernel.run(1), kernel.each(), "{name}");
        assert_eq!(kernel.run(3), kernel.each().wrapping_mul(3), "{name}");
        assert_eq!(kernel.check(), Ok(()), "{name}");
        assert!(kernel.operations() > 0 && kernel.ops().total() > 0, "{name}");
    }

    #[test]
    fn every_pass_leaves_what_is_known_beforehand() {
        Arithmetic::ALL.map(Chain::of).into_iter().for_each(check);
        check(Strings::new());
        check(Sorting::new());
    }

    #[test]
    fn a_wrong_pass_is_found() {
        let mut chain = Chain::of(Arithmetic::MultiplyInt);
        chain.run(2);
        chain.left += 1;
        assert!(chain.check().is_err());
        let mut sorting = Sorting::new();
        sorting.run(1);
        sorting.passes += 1;
        assert!(sorting.check().is_err());
        let mut strings = Strings::new();
        strings.run(1);
        strings.left -= 1;
        assert!(strings.check().is_err());
    }

    #[test]
    fn the_shorter_ways_are_right() {
        assert_eq!(
            [0, 1, 2, 10, 90].map(|n| fibonacci(n).0),
            [0, 1, 1, 55, 2_880_067_194_370_816_120]
        );
        assert_eq!((power(3, 0), power(3, 5), power(2, 64)), (1, 243, 0));
    }
}
