//! The correlation of two channels, as the prototype of the 2009 thesis computed.

use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};
use crate::random::Random;

/// Frames of each channel.
const FRAMES: usize = 256;
/// Lags by which the second channel is moved, one pass each, round and round.
const LAGS: usize = 64;
/// Sums that are kept side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;

/// The cross-correlation of two channels of 32-bit floats: a pass is one lag, 256 multiplications and additions that
/// stream through both channels. Unlike [`crate::Biquads`] it does not wait for its own results.
///
/// The thesis says that its kernel correlated audio channels, and neither how long nor how far apart they were.
#[derive(Debug)]
pub struct Correlation {
    first: [f32; FRAMES],
    second: [f32; FRAMES + LAGS],
    /// Of each lag, over all passes.
    sums: [f64; LAGS],
    passes: u64,
}

impl Correlation {
    /// Two channels of noise with something in common, from `seed`.
    pub fn new(seed: u64) -> Correlation {
        let mut random = Random::new(seed);
        let mut noise = || (random.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        let second: [f32; FRAMES + LAGS] = std::array::from_fn(|_| noise());
        let first = std::array::from_fn(|frame| second[frame + LAGS / 2] + 0.5 * noise());
        Correlation { first, second, sums: [0.0; LAGS], passes: 0 }
    }

    fn at(&self, lag: usize) -> f32 {
        let moved = &self.second[lag..lag + FRAMES];
        let mut lanes = [0.0f32; LANES];
        for (a, b) in self.first.chunks_exact(LANES).zip(moved.chunks_exact(LANES)) {
            for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
                *lane += a * b;
            }
        }
        lanes.iter().sum()
    }
}

impl Kernel for Correlation {
    fn name(&self) -> &'static str {
        "correlation"
    }

    fn ops(&self) -> Ops {
        let frames = FRAMES as u64;
        Ops { int: 0, float: 2 * frames + LANES as u64, loads: 2 * frames + 1, stores: 1 }
    }

    fn run(&mut self, passes: u64) -> u64 {
        for _ in 0..passes {
            let lag = (self.passes % LAGS as u64) as usize;
            self.sums[lag] += f64::from(black_box(&*self).at(lag));
            self.passes += 1;
        }
        self.sums.iter().fold(0, |all, sum| all ^ sum.to_bits())
    }

    fn check(&self) -> Result<(), Wrong> {
        for (lag, sum) in self.sums.iter().enumerate() {
            let moved = self.second[lag..].iter();
            let products = self.first.iter().zip(moved).map(|(a, b)| f64::from(*a) * f64::from(*b));
            let one: f64 = products.sum();
            let times =
                self.passes / LAGS as u64 + u64::from((lag as u64) < self.passes % LAGS as u64);
            let expected = one * times as f64;
            let tolerance = 1e-4 * times.max(1) as f64;
            Wrong::unless_near("the correlation at a lag", *sum, expected, tolerance)?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn channels_correlate_where_they_have_something_in_common() {
        let mut kernel = Correlation::new(3);
        kernel.run(LAGS as u64);
        assert_eq!(kernel.check(), Ok(()));
        let common = kernel.sums[LAGS / 2];
        assert!(kernel.sums.iter().enumerate().all(|(lag, sum)| lag == LAGS / 2 || *sum < common));
    }

    #[test]
    fn a_pass_that_is_left_out_is_noticed() {
        let mut kernel = Correlation::new(1);
        kernel.run(1_000);
        assert_eq!(kernel.check(), Ok(()));
        kernel.passes += 1;
        assert!(kernel.check().is_err());
    }
}
