//! What was drawn.

use crate::random::digest;

/// Iterations of every pixel, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// `width` numbers for each row, from the top.
    pub pixels: Vec<u32>,
}

impl Picture {
    /// One number for all pixels: equal for equal pictures.
    pub fn checksum(&self) -> u64 {
        let size = [self.width as u64, self.height as u64];
        digest(size.into_iter().chain(self.pixels.iter().map(|pixel| u64::from(*pixel))))
    }

    /// Shades of grey: black for points in the set of `limit` iterations, otherwise the brighter the later they
    /// leave, on a logarithmic scale.
    pub fn grey(&self, limit: u32) -> Vec<u8> {
        let scale = 255.0 / f64::from(limit.max(1)).ln_1p();
        let shade = |pixel: &u32| {
            if *pixel >= limit { 0 } else { (f64::from(*pixel).ln_1p() * scale) as u8 }
        };
        self.pixels.iter().map(shade).collect()
    }
}
