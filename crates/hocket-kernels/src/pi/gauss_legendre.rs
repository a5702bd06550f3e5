//! The arithmetic-geometric mean.

use super::Digits;
use super::fixed::{Fixed, LIMB_DIGITS};
use super::multiply::Multiplier;
use super::newton::{quotient, square_root};
use crate::kernel::Wrong;

/// Limbs beyond the wanted digits: the last step multiplies errors by the number of digits, and each of the twenty
/// steps adds some.
const GUARD: usize = 6;

/// The state between two steps, with the squares of the two means, so that their product needs no multiplication
/// (Schönhage, Grotefeld and Vetter 1994).
struct Means {
    /// The arithmetic mean.
    a: Fixed,
    /// Its square.
    aa: Fixed,
    /// The square of the geometric mean.
    bb: Fixed,
    /// A quarter, less what the means' squares differ by in step k, times 2^k.
    sum: Fixed,
    /// 2^k.
    weight: u32,
}

/// Pi to so many digits behind the point.
pub(super) fn pi(digits: usize) -> Result<Digits, Wrong> {
    let length = 1 + digits.div_ceil(LIMB_DIGITS) + GUARD;
    let mut multiplier = Multiplier::new();
    let mut means = Means::first(length);
    loop {
        // The number of zeros doubles with each step; the step after the one that fills half of the limbs is
        // the last that changes anything.
        let last = means.difference().leading_zeros() > length / 2;
        means = means.next(&mut multiplier);
        multiplier.check()?;
        if last {
            let pi = quotient(&means.aa, &means.sum, &mut multiplier);
            multiplier.check()?;
            return Ok(Digits { text: decimal(&pi, digits), rounding: multiplier.rounding });
        }
    }
}

impl Means {
    /// 1 and the root of a half.
    fn first(length: usize) -> Means {
        Means {
            a: Fixed::fraction(1, 1, length),
            aa: Fixed::fraction(1, 1, length),
            bb: Fixed::fraction(1, 2, length),
            sum: Fixed::fraction(1, 4, length),
            weight: 1,
        }
    }

    /// The squared arithmetic mean is never the smaller one, but for rounding.
    fn difference(&self) -> Fixed {
        self.aa.distance(&self.bb).0
    }

    fn next(&self, multiplier: &mut Multiplier) -> Means {
        let quarter = self.aa.plus(&self.bb).divided_by(4);
        let b = square_root(&self.bb, multiplier);
        let a = self.a.plus(&b).divided_by(2);
        let aa = multiplier.square(&a, a.limbs.len());
        let bb = aa.minus(&quarter).times(2);
        let (difference, negative) = aa.distance(&bb);
        let sum = self.sum.moved(&difference.times(self.weight), !negative);
        Means { a, aa, bb, sum, weight: self.weight * 2 }
    }
}

/// "3" and the digits behind the point.
fn decimal(pi: &Fixed, digits: usize) -> Vec<u8> {
    let mut text = vec![b'0' + pi.limb(0) as u8];
    for limb in &pi.limbs[1..] {
        text.extend([1_000, 100, 10, 1].map(|unit| b'0' + (limb / unit % 10) as u8));
    }
    text.truncate(1 + digits);
    text
}
