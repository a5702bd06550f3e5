//! Shades of grey.

use crate::random::{Random, digest};

/// Rows of pixels, 0 to 255.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// `width` numbers for each row, from the top.
    pub pixels: Vec<u8>,
}

impl Image {
    /// An image of noise.
    pub fn noise(width: usize, height: usize, seed: u64) -> Image {
        let mut random = Random::new(seed);
        let pixels = (0..width * height).map(|_| (random.next() >> 56) as u8).collect();
        Image { width, height, pixels }
    }

    /// One number for all pixels: equal for equal images.
    pub fn checksum(&self) -> u64 {
        let size = [self.width as u64, self.height as u64];
        digest(size.into_iter().chain(self.pixels.iter().map(|pixel| u64::from(*pixel))))
    }
}
