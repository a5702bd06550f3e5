//! A chain of filters, as effects are.

use std::f64::consts::TAU;
use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};
use crate::random::Random;

/// Frames of a block.
pub const FRAMES: usize = 64;
/// Filters in the chain.
pub const FILTERS: usize = 32;
/// Blocks after which the filters have forgotten how they began: the slowest pole has a radius of
/// 0.97, and 0.97^2048 is far below the last bit of a 32-bit float.
const SETTLING_BLOCKS: u64 = 32;

/// 32 biquads one after the other over blocks of 64 frames of 32-bit floats (transposed direct
/// form II).
///
/// Each filter's frame needs the filter's frame before and the filter before: a chain of latencies,
/// as in an audio channel with many effects. A pass is one block.
///
/// Every block gets the same noise. The output is then periodic, and what it must be follows from
/// the filters' frequency response.
#[derive(Debug)]
pub struct Biquads {
    filters: [Biquad; FILTERS],
    input: [f32; FRAMES],
    output: [f32; FRAMES],
}

impl Biquads {
    /// Settled filters with frequencies from low to high, input from `seed`.
    pub fn new(seed: u64) -> Biquads {
        let mut random = Random::new(seed);
        let noise = |_| (random.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        let mut kernel = Biquads {
            filters: std::array::from_fn(Biquad::nth),
            input: std::array::from_fn(noise),
            output: [0.0; FRAMES],
        };
        kernel.run(SETTLING_BLOCKS);
        kernel
    }

    /// The periodic output in doubles, by way of the spectrum.
    fn expected(&self) -> [f64; FRAMES] {
        let spectrum: [Complex; FRAMES] = std::array::from_fn(|bin| self.bin(bin));
        std::array::from_fn(|frame| {
            let bins = spectrum.iter().enumerate();
            let sum: f64 = bins.map(|(bin, value)| value.times(unit(bin * frame)).re).sum();
            sum / FRAMES as f64
        })
    }

    /// One bin of the input's spectrum, as the chain passes it on.
    fn bin(&self, bin: usize) -> Complex {
        let mut sum = Complex { re: 0.0, im: 0.0 };
        for (frame, &sample) in self.input.iter().enumerate() {
            let turn = unit(FRAMES * bin - (bin * frame) % FRAMES);
            sum = sum.plus(turn.scaled(f64::from(sample)));
        }
        self.filters.iter().fold(sum, |value, filter| value.times(filter.response(bin)))
    }
}

impl Kernel for Biquads {
    fn name(&self) -> &'static str {
        "biquads"
    }

    fn ops(&self) -> Ops {
        let steps = (FRAMES * FILTERS) as u64;
        // For each frame of a filter: five multiplications, four additions.
        Ops { int: 0, float: 9 * steps, loads: steps, stores: steps }
    }

    fn run(&mut self, passes: u64) -> u64 {
        for _ in 0..passes {
            self.output = *black_box(&self.input);
            for filter in &mut self.filters {
                filter.process(&mut self.output);
            }
        }
        let output = black_box(&self.output);
        output.iter().fold(0, |sum, sample| sum ^ u64::from(sample.to_bits()))
    }

    fn check(&self) -> Result<(), Wrong> {
        let expected = self.expected();
        for (found, should) in self.output.iter().zip(expected) {
            Wrong::unless_near("a sample", f64::from(*found), should, 1e-3)?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Biquad {
    b: [f32; 3],
    a: [f32; 2],
    state: [f32; 2],
}

impl Biquad {
    /// Poles and zeros at the same frequency, the zeros a little further in: a gentle resonance.
    fn nth(number: usize) -> Biquad {
        let cos = (TAU * 0.45 * (number + 1) as f64 / (FILTERS + 1) as f64).cos() as f32;
        let (pole, zero) = (0.97f32, 0.95f32);
        Biquad {
            b: [1.0, -2.0 * zero * cos, zero * zero],
            a: [-2.0 * pole * cos, pole * pole],
            state: [0.0; 2],
        }
    }

    fn process(&mut self, block: &mut [f32; FRAMES]) {
        let ([b0, b1, b2], [a1, a2], [mut s1, mut s2]) = (self.b, self.a, self.state);
        for sample in block {
            let input = *sample;
            let output = b0 * input + s1;
            s1 = b1 * input - a1 * output + s2;
            s2 = b2 * input - a2 * output;
            *sample = output;
        }
        self.state = [s1, s2];
    }

    /// The frequency response at a bin of the block's spectrum.
    fn response(&self, bin: usize) -> Complex {
        let z1 = unit(FRAMES * bin - bin % FRAMES);
        let z2 = z1.times(z1);
        let [b0, b1, b2] = self.b.map(f64::from);
        let [a1, a2] = self.a.map(f64::from);
        let over = z1.scaled(b1).plus(z2.scaled(b2)).plus(Complex { re: b0, im: 0.0 });
        let under = z1.scaled(a1).plus(z2.scaled(a2)).plus(Complex { re: 1.0, im: 0.0 });
        over.over(under)
    }
}

#[derive(Clone, Copy, Debug)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn plus(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }

    fn scaled(self, by: f64) -> Complex {
        Complex { re: self.re * by, im: self.im * by }
    }

    fn times(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }

    fn over(self, other: Complex) -> Complex {
        let size = other.re * other.re + other.im * other.im;
        self.times(Complex { re: other.re / size, im: -other.im / size })
    }
}

/// The point that `turns` parts of [`FRAMES`] make on the circle.
fn unit(turns: usize) -> Complex {
    let angle = TAU * (turns % FRAMES) as f64 / FRAMES as f64;
    Complex { re: angle.cos(), im: angle.sin() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_what_the_frequency_response_says() {
        for seed in [1, 2, 3] {
            let mut kernel = Biquads::new(seed);
            assert_eq!(kernel.check(), Ok(()));
            kernel.run(10);
            assert_eq!(kernel.check(), Ok(()));
        }
    }

    #[test]
    fn a_filter_that_is_left_out_is_noticed() {
        let mut kernel = Biquads::new(1);
        kernel.filters[17].b = [1.0, 0.0, 0.0];
        assert!(kernel.check().is_err());
    }

    #[test]
    fn the_output_is_not_silent() {
        let kernel = Biquads::new(1);
        let peak = kernel.output.iter().fold(0.0f32, |peak, sample| peak.max(sample.abs()));
        assert!((0.1..100.0).contains(&peak), "{peak}");
    }
}
