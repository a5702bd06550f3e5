//! Rows of frequency bins, real and imaginary parts apart, so that loops over them fit into vectors.

use std::ops::Range;

use hocket_dsp::rows;

/// Rows of the same number of bins.
#[derive(Debug, Clone)]
pub(crate) struct Spectra {
    re: Vec<f32>,
    im: Vec<f32>,
    bins: usize,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spectrum<'a> {
    pub(crate) re: &'a [f32],
    pub(crate) im: &'a [f32],
}

/// One row, for writing.
#[derive(Debug)]
pub(crate) struct SpectrumMut<'a> {
    pub(crate) re: &'a mut [f32],
    pub(crate) im: &'a mut [f32],
}

impl Spectra {
    /// The memory of a bin.
    pub(crate) const BIN_BYTES: u64 = 2 * size_of::<f32>() as u64;

    /// Zeros. Thread: control; allocates, and touches all of the memory, so that no block is the first that does.
    pub(crate) fn new(rows: usize, bins: usize) -> Spectra {
        let mut spectra = Spectra { re: vec![0.0; rows * bins], im: vec![0.0; rows * bins], bins };
        // Otherwise the compiler would know that the memory has zeros, and not write them.
        std::hint::black_box(&mut spectra).clear();
        spectra
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.re.len() as u64 * Spectra::BIN_BYTES
    }

    fn range(&self, row: usize) -> Range<usize> {
        row * self.bins..(row + 1) * self.bins
    }

    pub(crate) fn row(&self, row: usize) -> Spectrum<'_> {
        let bins = self.range(row);
        Spectrum { re: &self.re[bins.clone()], im: &self.im[bins] }
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> SpectrumMut<'_> {
        let bins = self.range(row);
        SpectrumMut { re: &mut self.re[bins.clone()], im: &mut self.im[bins] }
    }

    pub(crate) fn clear(&mut self) {
        rows::fill(&mut self.re, 0.0);
        rows::fill(&mut self.im, 0.0);
    }
}

/// Operations of [`SpectrumMut::add_product`] per bin.
pub(crate) const PRODUCT_FLOPS: f64 = 8.0;

impl SpectrumMut<'_> {
    /// Adds the product of two rows, bin by bin.
    pub(crate) fn add_product(&mut self, a: Spectrum<'_>, b: Spectrum<'_>) {
        let sums = self.re.iter_mut().zip(self.im.iter_mut());
        let a = a.re.iter().zip(a.im);
        let b = b.re.iter().zip(b.im);
        for ((sum, a), b) in sums.zip(a).zip(b) {
            *sum.0 += a.0 * b.0 - a.1 * b.1;
            *sum.1 += a.0 * b.1 + a.1 * b.0;
        }
    }
}
