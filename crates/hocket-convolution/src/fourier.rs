//! The Fourier transform of real rows, out of a complex one of half their length.

use std::f64::consts::PI;
use std::sync::Arc;

use hocket_dsp::math::sin_cos;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlannerScalar};

use crate::spectra::{Spectrum, SpectrumMut};

/// Transforms rows of one length, there and back. Shared by all that do so.
pub(crate) struct Fourier {
    there: Arc<dyn Fft<f32>>,
    back: Arc<dyn Fft<f32>>,
    /// `e^(-2 pi i k / length)` for each bin.
    turns: Vec<Complex<f32>>,
    /// Half the row's length.
    half: usize,
}

/// What a transform needs besides, one per thread that transforms.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    row: Vec<Complex<f32>>,
    /// What a transform makes of it. In place it would copy the result back through the C library.
    out: Vec<Complex<f32>>,
    more: Vec<Complex<f32>>,
}

impl std::fmt::Debug for Fourier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fourier").field("half", &self.half).finish_non_exhaustive()
    }
}

impl Fourier {
    /// For rows of `2 * half` samples; `half` is even. Thread: control; allocates.
    pub(crate) fn new(half: usize) -> Fourier {
        // Without vectors that only some CPUs have: their order of sums, and so their bits, are others.
        let mut planner = FftPlannerScalar::new();
        let turn = |k: usize| {
            let (sin, cos) = sin_cos(PI * k as f64 / half as f64);
            Complex::new(cos as f32, -sin as f32)
        };
        Fourier {
            there: planner.plan_fft_forward(half),
            back: planner.plan_fft_inverse(half),
            turns: (0..=half).map(turn).collect(),
            half,
        }
    }

    /// How many bins a row has.
    pub(crate) fn bins(&self) -> usize {
        self.half + 1
    }

    /// Thread: control; allocates.
    pub(crate) fn scratch(&self) -> Scratch {
        let both = [&self.there, &self.back];
        let more = both.map(|way| way.get_outofplace_scratch_len()).into_iter().max();
        let [row, out, more] = [self.half, self.half, more.unwrap_or(0)]
            .map(|length| vec![Complex::default(); length]);
        Scratch { row, out, more }
    }

    /// The bins of `row`, `2 * half` samples. Thread: worker; no allocation.
    pub(crate) fn forward(&self, row: &[f32], bins: SpectrumMut<'_>, scratch: &mut Scratch) {
        let pairs = row.as_chunks::<2>().0;
        for (value, [even, odd]) in scratch.row.iter_mut().zip(pairs) {
            *value = Complex::new(*even, *odd);
        }
        let Scratch { row: given, out, more } = scratch;
        self.there.process_outofplace_with_scratch(given, out, more);
        for k in 0..=self.half {
            let (one, other) = self.pair(out, k);
            let (even, odd) = ((one + other) * 0.5, (one - other) * 0.5);
            // The odd samples: divided by i, and turned by half a frame.
            let odd = Complex::new(odd.im, -odd.re) * self.turns[k];
            bins.re[k] = even.re + odd.re;
            bins.im[k] = even.im + odd.im;
        }
    }

    /// The bin `k` of a complex row, and the conjugate of its mirror image.
    fn pair(&self, row: &[Complex<f32>], k: usize) -> (Complex<f32>, Complex<f32>) {
        (row[k % self.half], row[(self.half - k) % self.half].conj())
    }

    /// The second half of the row with these bins, times the row's length. Thread: worker; no allocation.
    pub(crate) fn second_half(&self, bins: Spectrum<'_>, row: &mut [f32], scratch: &mut Scratch) {
        for (k, value) in scratch.row.iter_mut().enumerate() {
            let mirror = self.half - k;
            let one = Complex::new(bins.re[k], bins.im[k]);
            let other = Complex::new(bins.re[mirror], -bins.im[mirror]);
            let odd = (one - other) * self.turns[k].conj();
            *value = one + other + Complex::new(-odd.im, odd.re);
        }
        let Scratch { row: given, out, more } = scratch;
        self.back.process_outofplace_with_scratch(given, out, more);
        let second = &out[self.half / 2..];
        for (pair, value) in row.as_chunks_mut::<2>().0.iter_mut().zip(second) {
            *pair = [value.re, value.im];
        }
    }

    /// Operations of one transform: the usual count of the complex one, and what makes it real.
    pub(crate) fn flops(&self) -> f64 {
        let half = self.half as f64;
        half * (5.0 * half.log2() + 16.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectra::Spectra;

    fn row(length: usize) -> Vec<f32> {
        (0..length).map(|n| ((n * n) as f32 * 0.37).sin() * 0.5).collect()
    }

    #[test]
    fn bins_are_those_of_the_definition() {
        for half in [2, 4, 64, 1024] {
            let fourier = Fourier::new(half);
            let row = row(2 * half);
            let mut bins = Spectra::new(1, fourier.bins());
            fourier.forward(&row, bins.row_mut(0), &mut fourier.scratch());
            for k in [0, 1, half / 2, half - 1, half] {
                let turn = |n: usize| PI * ((n * k) % (2 * half)) as f64 / half as f64;
                let terms = row.iter().enumerate();
                let (re, im) = terms.fold((0.0, 0.0), |(re, im), (n, x)| {
                    (re + f64::from(*x) * turn(n).cos(), im - f64::from(*x) * turn(n).sin())
                });
                let got = bins.row(0);
                let error = (f64::from(got.re[k]) - re).hypot(f64::from(got.im[k]) - im);
                assert!(error < 1e-5 * (half as f64).sqrt(), "{half}, bin {k}: {error}");
            }
        }
    }

    #[test]
    fn the_way_back_gives_the_row() {
        for half in [2, 4, 64, 1024] {
            let fourier = Fourier::new(half);
            let (row, mut scratch) = (row(2 * half), fourier.scratch());
            let mut bins = Spectra::new(1, fourier.bins());
            fourier.forward(&row, bins.row_mut(0), &mut scratch);
            let mut second = vec![0.0; half];
            fourier.second_half(bins.row(0), &mut second, &mut scratch);
            for (got, expected) in second.iter().zip(&row[half..]) {
                let got = got / (2 * half) as f32;
                assert!((got - expected).abs() < 1e-6, "{half}: {got} for {expected}");
            }
        }
    }
}
