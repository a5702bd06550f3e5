//! Digits of pi: the long serial computation with which overclockers have compared machines since 1995.
//!
//! The same algorithm as SuperPi: Gauss and Legendre's arithmetic-geometric mean (in the form that Salamin and Brent
//! found in 1976), numbers of four decimal digits a limb, multiplied by a Fourier transform in doubles. "1M" is 2^20
//! digits there. One thread.

mod fixed;

mod multiply;

mod newton;

mod gauss_legendre;

use crate::kernel::Wrong;
use crate::random::digest;

/// Digits behind the point that SuperPi calls 1M.
pub const ONE_M: usize = 1 << 20;

/// Digits of pi.
#[derive(Clone, PartialEq)]
pub struct Digits {
    /// "3" and the digits behind the point, without the point; ASCII.
    text: Vec<u8>,
    /// The largest distance of a product's limb from a whole number.
    rounding: f64,
}

/// The digits that end at a known place: how many behind the point, and what they are.
const KNOWN_ENDS: [(usize, &str); 6] = [
    (50, "14159265358979323846264338327950288419716939937510"),
    (100, "58209749445923078164062862089986280348253421170679"),
    (1_000, "2164201989"),
    (10_000, "5256375678"),
    (100_000, "5493624646"),
    (1_000_000, "5779458151"),
];

/// Computes pi to `digits` places behind the point; cut off, not rounded.
///
/// Cost: for 2^20 digits 6.7 s of CPU time on a virtual core of 2.5 GHz, and about 60 MB; a little more than in
/// proportion to the digits.
///
/// # Errors
/// [`Wrong`], if the limbs of a product were too far from whole numbers to be rounded (0.25; SuperPi's "not exact in
/// round"): the processor miscalculates.
pub fn pi(digits: usize) -> Result<Digits, Wrong> {
    gauss_legendre::pi(digits)
}

impl Digits {
    /// How many behind the point.
    pub fn places(&self) -> usize {
        self.text.len() - 1
    }

    /// "3.14159..." without the point.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// The `count` digits that end `end` places behind the point.
    pub fn ending_at(&self, end: usize, count: usize) -> Option<&str> {
        let begin = (end + 1).checked_sub(count)?;
        self.as_str().get(begin..end + 1)
    }

    /// One number for all digits.
    pub fn checksum(&self) -> u64 {
        digest(self.text.iter().map(|digit| u64::from(*digit)))
    }

    /// The largest distance of a product's limb from a whole number; half is the worst.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Compares with digits that are known: the first 100 (as two fifties), and ten each that end 1,000, 10,000, 100,000 and 1,000,000
    /// places behind the point, as far as there are so many. A wrong digit anywhere makes all behind it wrong.
    ///
    /// # Errors
    /// [`Wrong`], with the first place that differs.
    pub fn check(&self) -> Result<(), Wrong> {
        for (end, known) in KNOWN_ENDS {
            if let Some(found) = self.ending_at(end, known.len()) {
                Wrong::unless_equal(&format!("what ends at digit {end}"), found, known)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = self.ending_at(self.places(), self.places().min(10)).unwrap_or_default();
        write!(f, "{} digits of pi, ending in {last}", self.places())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
