//! Noise that is added before samples are rounded, so that the rounding error does not depend on the sound.

/// Dither with a triangular distribution (TPDF) from -1 to 1 step of the integers that follow.
///
/// Without it the error of rounding follows the sound: quiet tones get harmonics and fade out in steps. With it the error
/// is noise of one level, 4.8 dB above the error without dither.
///
/// The noise of a sample depends on the seed, its frame and its channel alone. So a render has the same bytes each time,
/// and a part of it has the bytes of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dither {
    /// Files that are added to each other later need different ones: equal noise would add up.
    pub seed: u64,
    /// The number of the first frame that is written.
    pub first_frame: u64,
}

impl Dither {
    /// The sample with its noise; unchanged if it is over full scale or not finite, which others count.
    /// Unit: linear, 1.0 = full scale. `full_scale`: how many steps that are.
    pub(crate) fn add(self, sample: f32, (frame, channel): (u64, u64), full_scale: f32) -> f32 {
        let full_scale = f64::from(full_scale);
        let scaled = f64::from(sample) * full_scale;
        if !(-full_scale - 0.5..full_scale - 0.5).contains(&scaled) {
            return sample;
        }
        // The noise alone clips nothing.
        let noisy = (scaled + self.noise(frame, channel)).clamp(-full_scale, full_scale - 1.0);
        (noisy / full_scale) as f32
    }

    /// The difference of two equal distributions: triangular, between -1 and 1.
    fn noise(self, frame: u64, channel: u64) -> f64 {
        let place = self.first_frame.wrapping_add(frame).wrapping_mul(2).wrapping_add(channel);
        let bits = mixed(mixed(self.seed).wrapping_add(place));
        ((bits >> 32) as f64 - (bits & 0xffff_ffff) as f64) / 4_294_967_296.0
    }
}

/// SplitMix64: neighbours become numbers without relation.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DITHER: Dither = Dither { seed: 1, first_frame: 0 };

    #[test]
    fn the_noise_is_triangular_and_white() {
        const COUNT: u64 = 200_000;
        let noise: Vec<f64> = (0..COUNT).map(|frame| DITHER.noise(frame, 0)).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / COUNT as f64;
        assert!(noise.iter().all(|x| x.abs() < 1.0));
        assert!(mean(&mut noise.iter().copied()).abs() < 0.01);
        let power = mean(&mut noise.iter().map(|x| x * x));
        assert!((power - 1.0 / 6.0).abs() < 0.003, "{power}");
        // Half of it lies within 1 - sqrt(1/2) of the middle.
        let near = mean(&mut noise.iter().map(|x| f64::from(x.abs() < 1.0 - 0.5f64.sqrt())));
        assert!((near - 0.5).abs() < 0.01, "{near}");
        let right: Vec<f64> = (0..COUNT).map(|frame| DITHER.noise(frame, 1)).collect();
        let other = Dither { seed: 2, ..DITHER };
        let other: Vec<f64> = (0..COUNT).map(|frame| other.noise(frame, 0)).collect();
        let later = &noise[1..];
        for unrelated in [&right[..], &other, later] {
            let both = mean(&mut noise.iter().zip(unrelated).map(|(a, b)| a * b));
            assert!(both.abs() < 0.003, "{both}");
        }
    }

    #[test]
    fn noise_belongs_to_frames_and_clips_nothing() {
        let later = Dither { first_frame: 1000, ..DITHER };
        for frame in 0..100 {
            assert_eq!(later.noise(frame, 1), DITHER.noise(1000 + frame, 1));
            for edge in [-1.0, 32_767.0 / 32_768.0] {
                let dithered = DITHER.add(edge, (frame, 0), 32_768.0);
                assert!((-1.0..=32_767.0 / 32_768.0).contains(&dithered), "{dithered}");
            }
        }
        for over in [1.0, -1.1, f32::INFINITY] {
            assert_eq!(DITHER.add(over, (0, 0), 32_768.0), over);
        }
        assert!(DITHER.add(f32::NAN, (0, 0), 32_768.0).is_nan());
    }
}
