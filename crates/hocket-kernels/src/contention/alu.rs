//! Integer arithmetic: one chain in which each step needs the one before, or several beside each
//! other.

use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};

/// Steps of every chain in a pass.
const STEPS: u64 = 256;
/// Chains of [`AluIndependent`]: more than a core has arithmetic units.
const CHAINS: usize = 8;
const FACTOR: u64 = 5;
/// Odd: together with the factor the chain visits all 2^64 numbers.
const SUMMAND: u64 = 0x2545_f491_4f6c_dd1d;

/// One step: a factor of 5, which compilers make of a shift and an addition, and a summand. Without
/// a multiplication, so that every arithmetic unit can do it.
#[inline(always)]
fn step(x: u64, summand: u64) -> u64 {
    x.wrapping_mul(FACTOR).wrapping_add(summand)
}

/// Where a chain is after `steps`, by squaring the step itself: two steps of `a x + c` are one of
/// `a a x + (a + 1) c`.
fn after(start: u64, mut steps: u64) -> u64 {
    let (mut factor, mut summand, mut x) = (FACTOR, SUMMAND, start);
    while steps > 0 {
        if steps & 1 == 1 {
            x = x.wrapping_mul(factor).wrapping_add(summand);
        }
        summand = factor.wrapping_add(1).wrapping_mul(summand);
        factor = factor.wrapping_mul(factor);
        steps >>= 1;
    }
    x
}

/// A chain of dependent integer operations: a sibling finds most arithmetic units free.
///
/// A pass is 256 steps of a shift and two additions.
#[derive(Debug, Default)]
pub struct AluChain {
    x: u64,
    passes: u64,
}

impl AluChain {
    /// Begins at 0.
    pub fn new() -> AluChain {
        AluChain::default()
    }
}

impl Kernel for AluChain {
    fn name(&self) -> &'static str {
        "alu-chain"
    }

    fn ops(&self) -> Ops {
        Ops { int: 3 * STEPS, ..Ops::default() }
    }

    fn run(&mut self, passes: u64) -> u64 {
        // Unknown to the compiler, so that it cannot make one step of several.
        let summand = black_box(SUMMAND);
        let mut x = self.x;
        for _ in 0..passes * STEPS {
            x = step(x, summand);
        }
        self.x = black_box(x);
        self.passes += passes;
        self.x
    }

    fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("the chain", self.x, after(0, self.passes * STEPS))
    }
}

/// Eight chains of integer operations beside each other: they fill the arithmetic units.
///
/// A pass is 256 steps of every chain.
#[derive(Debug)]
pub struct AluIndependent {
    chains: [u64; CHAINS],
    passes: u64,
}

impl AluIndependent {
    /// Chain number i begins at i.
    pub fn new() -> AluIndependent {
        AluIndependent { chains: std::array::from_fn(|chain| chain as u64), passes: 0 }
    }
}

impl Default for AluIndependent {
    fn default() -> AluIndependent {
        AluIndependent::new()
    }
}

impl Kernel for AluIndependent {
    fn name(&self) -> &'static str {
        "alu-independent"
    }

    fn ops(&self) -> Ops {
        Ops { int: 3 * STEPS * CHAINS as u64, ..Ops::default() }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let summand = black_box(SUMMAND);
        let mut chains = self.chains;
        for _ in 0..passes * STEPS {
            for x in &mut chains {
                *x = step(*x, summand);
            }
        }
        self.chains = black_box(chains);
        self.passes += passes;
        self.chains.iter().fold(0, |sum, x| sum ^ x)
    }

    fn check(&self) -> Result<(), Wrong> {
        let should = std::array::from_fn(|chain| after(chain as u64, self.passes * STEPS));
        Wrong::unless_equal("the chains", self.chains, should)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn squared_steps_are_the_same_as_single_ones() {
        let mut x = 9;
        for steps in 0..100 {
            assert_eq!(after(9, steps), x, "{steps}");
            x = step(x, SUMMAND);
        }
    }
}
