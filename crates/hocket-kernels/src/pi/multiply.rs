//! Products by Fourier transform.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::fixed::{BASE, Fixed};
use crate::kernel::Wrong;

/// Shorter numbers are multiplied limb by limb: about where the transform begins to be faster.
const SHORT: usize = 48;
/// A limb further than this from a whole number cannot be trusted to be rounded to the right one.
const ROUNDING_MAX: f64 = 0.25;

/// Multiplies, and keeps the plans of the transforms.
///
/// Limbs are balanced around zero before they are transformed (-5000 to 5000 in place of 0 to 9999), which makes the
/// sums of a product random walks: with 2^18 limbs they stay near 10^10, and doubles, exact up to 10^16, leave a
/// rounding error of some thousandths.
pub(super) struct Multiplier {
    planner: RealFftPlanner<f64>,
    /// The largest distance of a limb from a whole number so far.
    pub(super) rounding: f64,
}

impl Multiplier {
    pub(super) fn new() -> Multiplier {
        Multiplier { planner: RealFftPlanner::new(), rounding: 0.0 }
    }

    /// Fails once a limb was too far from a whole number.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let what = "the largest rounding in a product";
        Wrong::unless_near(what, self.rounding, 0.0, ROUNDING_MAX)
    }

    /// The product to `length` limbs. It must be below [`BASE`].
    pub(super) fn product(&mut self, a: &Fixed, b: &Fixed, length: usize) -> Fixed {
        if a.limbs.len().min(b.limbs.len()) < SHORT {
            return carried(&by_limbs(a, b), length);
        }
        let mut transform = self.transform(a.limbs.len() + b.limbs.len());
        let mut spectrum = transform.forward(a);
        for (value, factor) in spectrum.iter_mut().zip(transform.forward(b)) {
            *value *= factor;
        }
        self.back(transform, spectrum, length)
    }

    /// The square to `length` limbs. It must be below [`BASE`].
    pub(super) fn square(&mut self, a: &Fixed, length: usize) -> Fixed {
        if a.limbs.len() < SHORT {
            return carried(&by_limbs(a, a), length);
        }
        let mut transform = self.transform(2 * a.limbs.len());
        let mut spectrum = transform.forward(a);
        for value in &mut spectrum {
            *value *= *value;
        }
        self.back(transform, spectrum, length)
    }

    fn transform(&mut self, length: usize) -> Transform {
        let length = smooth_from(length);
        Transform {
            forward: self.planner.plan_fft_forward(length),
            backward: self.planner.plan_fft_inverse(length),
        }
    }

    fn back(&mut self, transform: Transform, spectrum: Vec<Complex<f64>>, length: usize) -> Fixed {
        let sums = transform.backward(spectrum);
        let scale = 1.0 / sums.len() as f64;
        let whole: Vec<i64> = sums.iter().map(|sum| self.rounded(sum * scale)).collect();
        carried(&whole, length)
    }

    fn rounded(&mut self, sum: f64) -> i64 {
        let whole = sum.round();
        self.rounding = self.rounding.max((sum - whole).abs());
        whole as i64
    }
}

struct Transform {
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
}

impl Transform {
    fn forward(&mut self, number: &Fixed) -> Vec<Complex<f64>> {
        let mut limbs = self.forward.make_input_vec();
        balance(number, &mut limbs);
        let mut spectrum = self.forward.make_output_vec();
        let done = self.forward.process(&mut limbs, &mut spectrum);
        debug_assert!(done.is_ok(), "lengths come from the plan");
        spectrum
    }

    fn backward(&self, mut spectrum: Vec<Complex<f64>>) -> Vec<f64> {
        let mut sums = self.backward.make_output_vec();
        let done = self.backward.process(&mut spectrum, &mut sums);
        debug_assert!(done.is_ok(), "the spectrum is that of real numbers");
        sums
    }
}

/// Writes the limbs as numbers from -5000 to 5000: the first is one more if the second was large, and so on.
fn balance(number: &Fixed, out: &mut [f64]) {
    let mut carry = 0;
    for (limb, out) in number.limbs.iter().zip(out).rev() {
        let value = *limb as i32 + carry;
        carry = i32::from(value > BASE as i32 / 2);
        *out = f64::from(value - carry * BASE as i32);
    }
    // A carry out of the first limb would be lost: numbers here are far below 5000.
    debug_assert_eq!(carry, 0);
}

/// The sums of a product, limb by limb.
fn by_limbs(a: &Fixed, b: &Fixed) -> Vec<i64> {
    let mut sums = vec![0; a.limbs.len() + b.limbs.len()];
    for (i, a) in a.limbs.iter().enumerate() {
        for (j, b) in b.limbs.iter().enumerate() {
            sums[i + j] += i64::from(*a) * i64::from(*b);
        }
    }
    sums
}

/// Makes limbs of sums, the least significant first, and cuts them to `length`.
fn carried(sums: &[i64], length: usize) -> Fixed {
    let mut limbs = vec![0; length];
    let mut carry = 0;
    for (at, sum) in sums.iter().enumerate().rev() {
        let value = sum + carry;
        carry = value.div_euclid(i64::from(BASE));
        if let Some(limb) = limbs.get_mut(at) {
            *limb = value.rem_euclid(i64::from(BASE)) as u32;
        }
    }
    Fixed { limbs }
}

/// The smallest even number of at least `length` without other prime divisors than 2, 3 and 5: transforms of such
/// lengths are fast.
fn smooth_from(length: usize) -> usize {
    let mut best = length.next_power_of_two();
    let mut fives = 2;
    while fives < best {
        let mut odd = fives;
        while odd < best {
            let factor = length.div_ceil(odd).next_power_of_two();
            best = best.min(odd * factor);
            odd *= 3;
        }
        fives *= 5;
    }
    best.max(2)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::random::Random;

    fn random(length: usize, seed: u64) -> Fixed {
        let mut random = Random::new(seed);
        let mut limbs: Vec<u32> = (0..length).map(|_| random.below(BASE)).collect();
        limbs[0] %= 50;
        Fixed { limbs }
    }

    #[test]
    fn the_transform_gives_the_product_of_limbs() {
        let mut multiplier = Multiplier::new();
        for (a, b, length) in [(50, 50, 100), (200, 75, 275), (1_000, 999, 600), (64, 64, 64)] {
            let (a, b) = (random(a, 1), random(b, 2));
            let product = carried(&by_limbs(&a, &b), length);
            assert_eq!(multiplier.product(&a, &b, length), product);
            let square = carried(&by_limbs(&a, &a), length);
            assert_eq!(multiplier.square(&a, length), square);
        }
        assert_eq!(multiplier.check(), Ok(()));
        assert!(multiplier.rounding < 1e-3);
    }

    #[test]
    fn nines_are_the_worst_case_of_carrying() {
        let mut nines = Fixed { limbs: vec![BASE - 1; 300] };
        nines.limbs[0] = 9;
        let product = Multiplier::new().square(&nines, 600);
        assert_eq!(product, carried(&by_limbs(&nines, &nines), 600));
    }

    #[test]
    fn lengths_are_smooth_and_close() {
        for length in [1, 2, 3, 97, 1_000, 524_300] {
            let smooth = smooth_from(length);
            let mut rest = smooth;
            for prime in [2, 3, 5] {
                while rest.is_multiple_of(prime) {
                    rest /= prime;
                }
            }
            assert!(rest == 1 && smooth.is_multiple_of(2) && smooth >= length, "{length} {smooth}");
            assert!(smooth <= length + length / 8 + 2, "{length} {smooth}");
        }
    }
}
