//! Uncompressed samples to `f32`.

use super::Source;
use super::header::{Coding, PcmLayout};
use crate::{Audio, MediaError};

/// About how many bytes are read at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// Decodes everything that `layout` describes, unless it is more than so many samples.
pub(super) fn decode(
    source: &mut Source,
    layout: &PcmLayout,
    limit_samples: usize,
) -> Result<Audio, MediaError> {
    if layout.data_len / layout.bytes_per_sample as u64 > limit_samples as u64 {
        return Err(MediaError::TooLarge { path: source.path.into(), limit_samples });
    }
    let (decoder, warnings) = frame_decoder(source, layout)?;
    let frames = layout.data_len as usize / (layout.channels * layout.bytes_per_sample);
    let mut channels = vec![Vec::with_capacity(frames); layout.channels];
    for_each_chunk(source, layout, |bytes| decoder.decode(bytes, &mut channels))?;
    let mut audio = Audio { sample_rate_hz: layout.sample_rate_hz, channels, warnings };
    if !layout.is_always_finite() {
        audio.silence_not_finite();
    }
    Ok(audio)
}

/// The decoder that fits the samples, and the warnings so far. Reads the whole file where samples are smaller than
/// their containers.
pub(super) fn frame_decoder(
    source: &mut Source,
    layout: &PcmLayout,
) -> Result<(FrameDecoder, Vec<String>), MediaError> {
    let mut decoder = FrameDecoder::new(layout);
    let mut warnings = layout.warnings.clone();
    if decoder.spare_bits() > 0 && is_right_justified(source, layout)? {
        decoder.right_justified = true;
        warnings.push(format!(
            "the {}-bit samples lie at the wrong end of their {} bytes; moved to the right one",
            layout.valid_bits, layout.bytes_per_sample
        ));
    }
    Ok((decoder, warnings))
}

/// Reads the audio in pieces of whole frames.
fn for_each_chunk(
    source: &mut Source,
    layout: &PcmLayout,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), MediaError> {
    let frame = layout.channels * layout.bytes_per_sample;
    let mut buffer = vec![0; (CHUNK_BYTES / frame).max(1) * frame];
    let mut at = layout.data_start;
    let mut left = layout.data_len;
    while left > 0 {
        let wanted = left.min(buffer.len() as u64) as usize;
        let got = source.read_at(at, &mut buffer[..wanted])?;
        visit(&buffer[..got - got % frame]);
        // The file may shrink while it is read.
        left = if got < wanted { 0 } else { left - got as u64 };
        at += got as u64;
    }
    Ok(())
}

/// A sample smaller than its container belongs at the container's top, with zeros below. Some
/// writers put it at the bottom instead: then the zeros are missing, and every sample fits into
/// the bottom bits. Only all samples together can tell, so this reads them all.
fn is_right_justified(source: &mut Source, layout: &PcmLayout) -> Result<bool, MediaError> {
    let decoder = FrameDecoder::new(layout);
    let (mut low_bits_used, mut high_bits_used) = (false, false);
    for_each_chunk(source, layout, |bytes| {
        for sample in bytes.chunks_exact(layout.bytes_per_sample) {
            let (low, high) = decoder.bits_used(sample);
            low_bits_used |= low;
            high_bits_used |= high;
        }
    })?;
    Ok(low_bits_used && !high_bits_used)
}

/// Turns interleaved bytes into planar samples.
#[derive(Debug, Clone)]
pub(crate) struct FrameDecoder {
    channels: usize,
    bytes: usize,
    coding: Coding,
    big_endian: bool,
    valid_bits: usize,
    right_justified: bool,
}

impl FrameDecoder {
    pub fn new(layout: &PcmLayout) -> Self {
        Self {
            channels: layout.channels,
            bytes: layout.bytes_per_sample,
            coding: layout.coding,
            big_endian: layout.big_endian,
            valid_bits: layout.valid_bits,
            right_justified: false,
        }
    }

    /// Bits of the container that hold no part of the sample.
    fn spare_bits(&self) -> usize {
        if self.coding == Coding::Signed { 8 * self.bytes - self.valid_bits } else { 0 }
    }

    /// Whether the bits below a left-justified sample are set, and whether those above a
    /// right-justified one are anything but zero or its sign.
    fn bits_used(&self, bytes: &[u8]) -> (bool, bool) {
        let container = self.left_justified(bytes) >> (64 - 8 * self.bytes);
        let low = container & ((1 << self.spare_bits()) - 1) != 0;
        let above = container >> (self.valid_bits - 1);
        // Zero-extended: nothing above the valid bits, whatever the sample's own top bit is.
        (low, !matches!(above, -1..=1))
    }

    /// Appends whole frames to one row a channel.
    /// Shape: `bytes` is a multiple of a frame, `rows` has one row a channel.
    pub fn decode(&self, bytes: &[u8], rows: &mut [Vec<f32>]) {
        let at = rows.first().map_or(0, Vec::len);
        let frames = bytes.len() / (self.channels * self.bytes);
        rows.iter_mut().for_each(|row| row.resize(at + frames, 0.0));
        let mut rows: Vec<&mut [f32]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
        self.decode_into(bytes, &mut rows, at);
    }

    /// Writes whole frames into one row a channel, from frame `at` on. The usual sample formats have loops of their
    /// own with the same bits, since the general one looks at every byte.
    pub fn decode_into(&self, bytes: &[u8], rows: &mut [&mut [f32]], at: usize) {
        if self.big_endian || self.right_justified {
            return self.any(bytes, rows, at);
        }
        match (self.coding, self.bytes, &mut *rows) {
            (Coding::Signed, 2, [left, right]) if self.channels == 2 => {
                stereo_of_16_bits(bytes, &mut left[at..], &mut right[at..]);
            }
            (Coding::Signed, 2, _) => self
                .each(bytes, rows, at, |sample| f32::from(i16::from_le_bytes(*sample)) / 32_768.0),
            (Coding::Signed, 3, _) => self.each(bytes, rows, at, |&[low, middle, high]| {
                (i32::from_le_bytes([0, low, middle, high]) >> 8) as f32 / 8_388_608.0
            }),
            (Coding::Signed, 4, _) => self.each(bytes, rows, at, |sample| {
                i32::from_le_bytes(*sample) as f32 / 2_147_483_648.0
            }),
            (Coding::Float, 4, _) => {
                self.each(bytes, rows, at, |sample| f32::from_le_bytes(*sample));
            }
            _ => self.any(bytes, rows, at),
        }
    }

    /// Samples of a width that the compiler knows; one pass for mono and stereo.
    fn each<const WIDTH: usize>(
        &self,
        bytes: &[u8],
        rows: &mut [&mut [f32]],
        at: usize,
        sample: impl Fn(&[u8; WIDTH]) -> f32,
    ) {
        let (samples, _) = bytes.as_chunks::<WIDTH>();
        match (self.channels, &mut *rows) {
            (1, [row]) => {
                row[at..].iter_mut().zip(samples).for_each(|(out, bytes)| *out = sample(bytes));
            }
            (2, [left, right]) => {
                let (frames, _) = samples.as_chunks::<2>();
                let out = left[at..].iter_mut().zip(&mut right[at..]);
                for ((left, right), [one, other]) in out.zip(frames) {
                    (*left, *right) = (sample(one), sample(other));
                }
            }
            (channels, rows) => {
                for (channel, row) in rows.iter_mut().enumerate().take(channels) {
                    let frames = samples.chunks_exact(channels);
                    row[at..]
                        .iter_mut()
                        .zip(frames)
                        .for_each(|(out, frame)| *out = sample(&frame[channel]));
                }
            }
        }
    }

    /// Samples of any format.
    fn any(&self, bytes: &[u8], rows: &mut [&mut [f32]], at: usize) {
        let frame = self.channels * self.bytes;
        for (channel, row) in rows.iter_mut().enumerate().take(self.channels) {
            let from = channel * self.bytes;
            for (out, frame) in row[at..].iter_mut().zip(bytes.chunks_exact(frame)) {
                *out = self.sample(&frame[from..from + self.bytes]);
            }
        }
    }

    fn sample(&self, bytes: &[u8]) -> f32 {
        match self.coding {
            Coding::Signed if self.right_justified => {
                to_unit(self.left_justified(bytes) << self.spare_bits())
            }
            Coding::Signed => to_unit(self.left_justified(bytes)),
            Coding::Unsigned => to_unit(self.left_justified(bytes) ^ i64::MIN),
            Coding::Float => self.float(bytes),
            Coding::ALaw => f32::from(a_law(bytes[0])) / 32768.0,
            Coding::MuLaw => f32::from(mu_law(bytes[0])) / 32768.0,
        }
    }

    /// The bytes as the top of a 64-bit integer.
    fn left_justified(&self, bytes: &[u8]) -> i64 {
        let mut raw = [0; 8];
        for (index, &byte) in bytes.iter().enumerate() {
            let from_top = if self.big_endian { index } else { bytes.len() - 1 - index };
            raw[from_top] = byte;
        }
        i64::from_be_bytes(raw)
    }

    fn float(&self, bytes: &[u8]) -> f32 {
        let bits = self.left_justified(bytes) as u64;
        match self.bytes {
            4 => f32::from_bits((bits >> 32) as u32),
            _ => f64::from_bits(bits) as f32,
        }
    }
}

/// A frame is one word, from which shifts take both samples. So a vector of frames needs no shuffle.
fn stereo_of_16_bits(bytes: &[u8], left: &mut [f32], right: &mut [f32]) {
    let (frames, _) = bytes.as_chunks::<4>();
    for ((left, right), frame) in left.iter_mut().zip(right).zip(frames) {
        let frame = i32::from_le_bytes(*frame);
        *left = ((frame << 16) >> 16) as f32 / 32_768.0;
        *right = (frame >> 16) as f32 / 32_768.0;
    }
}

/// Scales so that the most negative integer is -1.0.
fn to_unit(value: i64) -> f32 {
    const SCALE: f64 = 1.0 / 9_223_372_036_854_775_808.0;
    (value as f64 * SCALE) as f32
}

/// G.711 A-law: even bits inverted, then sign, 3-bit exponent, 4-bit mantissa.
fn a_law(code: u8) -> i16 {
    let code = code ^ 0x55;
    let (exponent, mantissa) = (code >> 4 & 7, i16::from(code & 15));
    let magnitude = match exponent {
        0 => (mantissa << 4) + 8,
        _ => ((mantissa << 4) + 0x108) << (exponent - 1),
    };
    if code & 0x80 == 0 { -magnitude } else { magnitude }
}

/// G.711 mu-law: all bits inverted, then sign, 3-bit exponent, 4-bit mantissa, bias 132.
fn mu_law(code: u8) -> i16 {
    let code = !code;
    let (exponent, mantissa) = (code >> 4 & 7, i16::from(code & 15));
    let magnitude = (((mantissa << 3) + 0x84) << exponent) - 0x84;
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(coding: Coding, bytes: usize, valid_bits: usize, big_endian: bool) -> FrameDecoder {
        FrameDecoder { channels: 1, bytes, coding, big_endian, valid_bits, right_justified: false }
    }

    #[test]
    fn integers_of_every_width_span_minus_one_to_one() {
        for bytes in 1..=8usize {
            let decoder = decoder(Coding::Signed, bytes, 8 * bytes, true);
            let mut lowest = vec![0; bytes];
            lowest[0] = 0x80;
            let mut half = vec![0; bytes];
            half[0] = 0x40;
            assert_eq!(decoder.sample(&lowest), -1.0);
            assert_eq!(decoder.sample(&half), 0.5);
            assert_eq!(decoder.sample(&vec![0; bytes]), 0.0);
        }
    }

    #[test]
    fn unsigned_bytes_are_centred_on_128() {
        let decoder = decoder(Coding::Unsigned, 1, 8, false);
        assert_eq!(decoder.sample(&[128]), 0.0);
        assert_eq!(decoder.sample(&[0]), -1.0);
        assert_eq!(decoder.sample(&[255]), 127.0 / 128.0);
    }

    #[test]
    fn sixteen_bit_values_are_exact() {
        let decoder = decoder(Coding::Signed, 2, 16, false);
        for value in i16::MIN..=i16::MAX {
            assert_eq!(decoder.sample(&value.to_le_bytes()), f32::from(value) / 32768.0);
        }
    }

    #[test]
    fn the_loops_for_usual_formats_give_the_bits_of_the_general_one() {
        let bytes: Vec<u8> =
            (0..24_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let integers = (1..=8).map(|width| (Coding::Signed, width));
        let formats = integers.chain([(Coding::Float, 4), (Coding::Float, 8), (Coding::ALaw, 1)]);
        for ((coding, width), channels) in
            formats.flat_map(|format| (1..=3).map(move |n| (format, n)))
        {
            for big_endian in [false, true] {
                let decoder =
                    FrameDecoder { channels, ..decoder(coding, width, 8 * width, big_endian) };
                // So that rows end within a vector, too.
                let frames = bytes.len() / (channels * width) - 3;
                let bytes = &bytes[..frames * channels * width];
                let mut rows = vec![vec![0.0; 5]; channels];
                decoder.decode(bytes, &mut rows);
                for (channel, row) in rows.iter().enumerate() {
                    assert_eq!((row.len(), &row[..5]), (5 + frames, &[0.0; 5][..]));
                    let samples = bytes.chunks_exact(width).skip(channel).step_by(channels);
                    let expected = samples.map(|sample| decoder.sample(sample).to_bits());
                    assert!(
                        row[5..].iter().map(|sample| sample.to_bits()).eq(expected),
                        "{coding:?} of {width} bytes, big-endian {big_endian}, channel {channel} of {channels}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_stereo_frame_of_16_bits_is_exact() {
        // Each value on both sides, beside values of either sign.
        for other in [0, 1, -1, i16::MAX, i16::MIN] {
            let values: Vec<[i16; 2]> =
                (i16::MIN..=i16::MAX).flat_map(|value| [[value, other], [other, value]]).collect();
            let bytes: Vec<u8> =
                values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
            let (mut left, mut right) = (vec![0.0; values.len()], vec![0.0; values.len()]);
            stereo_of_16_bits(&bytes, &mut left, &mut right);
            for ((left, right), values) in left.iter().zip(&right).zip(&values) {
                assert_eq!([*left, *right], values.map(|value| f32::from(value) / 32_768.0));
            }
        }
    }

    #[test]
    fn right_justified_samples_take_no_loop_for_usual_formats() {
        let decoder =
            FrameDecoder { right_justified: true, ..decoder(Coding::Signed, 2, 12, false) };
        let mut rows = vec![Vec::new()];
        decoder.decode(&0x0400i16.to_le_bytes(), &mut rows);
        assert_eq!(rows, [[0.5]]);
    }

    #[test]
    fn companded_codes_are_odd_symmetric() {
        for code in 0..128 {
            assert_eq!(a_law(code), -a_law(code | 0x80));
            assert_eq!(mu_law(code), -mu_law(code | 0x80));
        }
        assert_eq!(mu_law(0x80), 32124);
        assert_eq!(a_law(0xaa), 32256);
    }

    #[test]
    fn samples_at_the_wrong_end_are_told_from_those_at_the_right_one() {
        let decoder = decoder(Coding::Signed, 4, 24, false);
        let used = |value: i32| decoder.bits_used(&value.to_le_bytes());
        assert_eq!(used(0x0012_3456), (true, false), "small and positive");
        assert_eq!(used(-5), (true, false), "negative, sign-extended");
        assert_eq!(used(0x00ff_fffb), (true, false), "negative, zero-extended");
        assert_eq!(used(0x1234_5600), (false, true), "left-justified");
        assert_eq!(used(0x1234_5678), (true, true), "more bits than stated");
        assert_eq!(used(0), (false, false), "silence tells nothing");
    }

    #[test]
    fn right_justified_samples_are_moved() {
        let decoder =
            FrameDecoder { right_justified: true, ..decoder(Coding::Signed, 4, 24, false) };
        assert_eq!(decoder.sample(&0x0040_0000i32.to_le_bytes()), 0.5);
        assert_eq!(decoder.sample(&0x00c0_0000i32.to_le_bytes()), -0.5);
        assert_eq!(decoder.sample(&(-0x0040_0000i32).to_le_bytes()), -0.5);
    }
}
