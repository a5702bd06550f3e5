//! Samples as cards have them, and as the engine has them.

/// A format of samples, interleaved and little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleFormat {
    Float,
    S32,
    /// 24 bits in three bytes.
    S24In3,
    S16,
}

impl SampleFormat {
    /// The best first: what loses nothing, then what loses least.
    pub(super) const ALL: [SampleFormat; 4] =
        [SampleFormat::Float, SampleFormat::S32, SampleFormat::S24In3, SampleFormat::S16];

    /// Bytes of a sample.
    pub(super) fn bytes(self) -> usize {
        match self {
            SampleFormat::Float | SampleFormat::S32 => 4,
            SampleFormat::S24In3 => 3,
            SampleFormat::S16 => 2,
        }
    }

    /// Writes a row into a channel of interleaved frames.
    ///
    /// Thread: leader. Allocates nothing.
    pub(super) fn encode(self, row: &[f32], to: &mut [u8], (channel, channels): (usize, usize)) {
        let samples = places(self.bytes(), to, channel, channels);
        match self {
            SampleFormat::Float => {
                row.iter().zip(samples).for_each(|(x, to)| to.copy_from_slice(&x.to_le_bytes()));
            }
            SampleFormat::S32 => row.iter().zip(samples).for_each(|(x, to)| {
                to.copy_from_slice(&(scaled(*x, 31) as i32).to_le_bytes());
            }),
            SampleFormat::S24In3 => row.iter().zip(samples).for_each(|(x, to)| {
                to.copy_from_slice(&(scaled(*x, 23) as i32).to_le_bytes()[..3]);
            }),
            SampleFormat::S16 => row.iter().zip(samples).for_each(|(x, to)| {
                to.copy_from_slice(&(scaled(*x, 15) as i16).to_le_bytes());
            }),
        }
    }

    /// Reads a channel of interleaved frames into a row.
    ///
    /// Thread: leader. Allocates nothing.
    pub(super) fn decode(self, from: &[u8], row: &mut [f32], (channel, channels): (usize, usize)) {
        let frames = from.chunks_exact(self.bytes() * channels);
        for (to, frame) in row.iter_mut().zip(frames) {
            *to = self.sample(&frame[channel * self.bytes()..][..self.bytes()]);
        }
    }

    fn sample(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (SampleFormat::Float, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (SampleFormat::S32, &[a, b, c, d]) => {
                (f64::from(i32::from_le_bytes([a, b, c, d])) / 2147483648.0) as f32
            }
            // The sign is in the highest byte.
            (SampleFormat::S24In3, &[a, b, c]) => {
                (i32::from_le_bytes([0, a, b, c]) >> 8) as f32 / 8388608.0
            }
            (SampleFormat::S16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])) / 32768.0,
            _ => 0.0,
        }
    }
}

/// The places of a channel's samples.
fn places(
    bytes: usize,
    all: &mut [u8],
    channel: usize,
    channels: usize,
) -> impl Iterator<Item = &mut [u8]> {
    all.chunks_exact_mut(bytes * channels).map(move |frame| &mut frame[channel * bytes..][..bytes])
}

/// Full scale is 2 to the power of `bits`. Rounds halves to even and clips, as audio files do; what is no number is
/// silent.
fn scaled(sample: f32, bits: u32) -> i64 {
    let full = f64::from(2.0f32.powi(bits as i32));
    (f64::from(sample) * full).round_ties_even().clamp(-full, full - 1.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row in the second of three channels, and back.
    fn round_trip(format: SampleFormat, row: &[f32]) -> Vec<f32> {
        let mut bytes = vec![0xAA; row.len() * 3 * format.bytes()];
        format.encode(row, &mut bytes, (1, 3));
        let untouched = bytes.chunks(format.bytes()).enumerate().filter(|(n, _)| n % 3 != 1);
        assert!(untouched.flat_map(|(_, sample)| sample).all(|byte| *byte == 0xAA), "{format:?}");
        let mut back = vec![0.0; row.len()];
        format.decode(&bytes, &mut back, (1, 3));
        back
    }

    #[test]
    fn floats_keep_every_bit() {
        let row = [0.1, -0.0, 1e-40, 3.5, f32::MIN_POSITIVE, -7.25];
        let back = round_trip(SampleFormat::Float, &row);
        assert!(row.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn integers_are_exact_where_they_can_be_and_else_within_half_a_step() {
        for (format, bits) in
            [(SampleFormat::S16, 15), (SampleFormat::S24In3, 23), (SampleFormat::S32, 31)]
        {
            let step = 0.5f32.powi(bits);
            let exact = [0.0, 0.5, -0.5, -1.0, 0.25, 3.0 / 32768.0, -3.0 / 32768.0];
            assert_eq!(round_trip(format, &exact), exact, "{format:?}");
            for (n, back) in round_trip(format, &[0.1, -0.7, 0.333]).iter().enumerate() {
                // Half a step of the integer, and of the float that it becomes again.
                let off = (back - [0.1, -0.7, 0.333][n]).abs();
                assert!(off <= step / 2.0 + f32::EPSILON / 4.0, "{format:?}: {off}");
            }
        }
    }

    #[test]
    fn what_is_too_loud_is_clipped_and_what_is_no_number_is_silent() {
        let bytes = |format: SampleFormat, sample| {
            let mut bytes = vec![0; format.bytes()];
            format.encode(&[sample], &mut bytes, (0, 1));
            bytes
        };
        for loud in [1.0, 1.5, f32::INFINITY] {
            assert_eq!(bytes(SampleFormat::S16, loud), [0xFF, 0x7F]);
            assert_eq!(bytes(SampleFormat::S24In3, loud), [0xFF, 0xFF, 0x7F]);
            assert_eq!(bytes(SampleFormat::S32, loud), [0xFF, 0xFF, 0xFF, 0x7F]);
        }
        for low in [-1.0, -9.0, f32::NEG_INFINITY] {
            assert_eq!(bytes(SampleFormat::S16, low), [0, 0x80]);
            assert_eq!(bytes(SampleFormat::S24In3, low), [0, 0, 0x80]);
            assert_eq!(bytes(SampleFormat::S32, low), [0, 0, 0, 0x80]);
        }
        for format in [SampleFormat::S16, SampleFormat::S24In3, SampleFormat::S32] {
            assert!(bytes(format, f32::NAN).iter().all(|byte| *byte == 0), "{format:?}");
        }
    }

    #[test]
    fn halves_are_rounded_to_even() {
        let half = |n: f32| (n + 0.5) / 32768.0;
        let back = round_trip(SampleFormat::S16, &[half(0.0), half(1.0), half(-1.0), half(-2.0)]);
        assert_eq!(back, [0.0, 2.0 / 32768.0, 0.0, -2.0 / 32768.0]);
    }
}
