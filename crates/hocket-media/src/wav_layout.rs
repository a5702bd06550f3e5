//! What a WAV file holds before its samples, and how they are encoded.

use crate::Written;
use crate::own::{FMT_AT, SOFTWARE, TAKE_SOFTWARE, software_chunk};
use crate::sample::{integers, silence_not_finite};

/// How samples are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WavFormat {
    /// 16-bit integers.
    Pcm16,
    /// 24-bit integers.
    Pcm24,
    /// 32-bit floats: exactly the rendered samples.
    Float32,
}

/// Everything that a WAV file's header says, except how long it is.
///
/// The header has the same length whatever it states, so it can be rewritten in one piece while samples follow it. It
/// reserves the room of a `ds64` chunk: a file over 4 GiB becomes RF64 (EBU Tech 3306). A `LIST` chunk names the
/// software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WavLayout {
    /// How samples are stored.
    pub samples: WavFormat,
    /// Frames per second.
    pub sample_rate_hz: u32,
    /// How many channels a frame has, at least 1.
    pub channels: u16,
}

/// The largest RIFF size that a plain header may state.
pub(crate) const RIFF_LIMIT: u64 = u32::MAX as u64 - 1;
/// The fixed part of a sub-format's GUID, behind its format tag.
const GUID_REST: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
/// Samples that are encoded at once: they stay in the nearest cache on all their ways.
const AT_ONCE: usize = 512;

impl WavFormat {
    /// Bytes per sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::Pcm16 => 2,
            Self::Pcm24 => 3,
            Self::Float32 => 4,
        }
    }

    fn tag(self) -> u16 {
        if self == Self::Float32 { 3 } else { 1 }
    }

    pub(crate) fn full_scale(self) -> f32 {
        match self {
            Self::Pcm16 => 32_768.0,
            Self::Pcm24 => 8_388_608.0,
            Self::Float32 => 1.0,
        }
    }
}

impl WavLayout {
    /// Bytes per frame.
    pub fn frame_bytes(self) -> u64 {
        u64::from(self.channels) * self.samples.bytes() as u64
    }

    /// How many bytes the header has; the samples follow it.
    pub fn header_bytes(self) -> u64 {
        self.blank().len() as u64
    }

    /// The whole header of a file of `frames` frames.
    pub fn header(self, frames: u64) -> Vec<u8> {
        self.header_up_to(frames, RIFF_LIMIT)
    }

    /// As [`WavLayout::header`], of a take: it says so, and is longer.
    pub fn take_header(self, frames: u64) -> Vec<u8> {
        completed(self, self.blank_by(TAKE_SOFTWARE), frames, RIFF_LIMIT)
    }

    /// Appends samples to `out`, channel after channel and frame after frame. Counts in `written` what was clipped
    /// and what was not finite, but not the frames.
    ///
    /// Integers: `sample * 2^(bits - 1)`, rounded to the nearest integer with halves to even, without dither.
    pub fn encode(
        self,
        samples: impl IntoIterator<Item = f32>,
        out: &mut Vec<u8>,
        written: &mut Written,
    ) {
        let (mut samples, mut block) = (samples.into_iter(), [0.0; AT_ONCE]);
        loop {
            let mut count = 0;
            for (place, sample) in block.iter_mut().zip(&mut samples) {
                *place = sample;
                count += 1;
            }
            self.encode_block(&mut block[..count], out, written);
            if count < AT_ONCE {
                return;
            }
        }
    }

    /// As [`WavLayout::encode`], for a left and a right row; the shorter one's length counts.
    pub(crate) fn encode_stereo(
        self,
        left: &[f32],
        right: &[f32],
        out: &mut Vec<u8>,
        written: &mut Written,
    ) {
        let mut block = [0.0; AT_ONCE];
        for (left, right) in left.chunks(AT_ONCE / 2).zip(right.chunks(AT_ONCE / 2)) {
            let (frames, _) = block.as_chunks_mut::<2>();
            for ((frame, left), right) in frames.iter_mut().zip(left).zip(right) {
                *frame = [*left, *right];
            }
            let count = 2 * left.len().min(right.len());
            self.encode_block(&mut block[..count], out, written);
        }
    }

    /// At most [`AT_ONCE`] samples.
    fn encode_block(self, block: &mut [f32], out: &mut Vec<u8>, written: &mut Written) {
        written.not_finite += silence_not_finite(block);
        if self.samples == WavFormat::Float32 {
            return put(block, out, |sample| sample.to_le_bytes());
        }
        // Bytes come in a pass of their own: three of them per sample fit into no vector, and would keep the rounding
        // out of it.
        let mut rounded = [0; AT_ONCE];
        let rounded = &mut rounded[..block.len()];
        integers(block, self.samples.full_scale(), rounded, written);
        match self.samples {
            WavFormat::Pcm16 => put(rounded, out, |integer| (integer as i16).to_le_bytes()),
            _ => put(rounded, out, |integer| {
                let [low, middle, high, _] = integer.to_le_bytes();
                [low, middle, high]
            }),
        }
    }

    /// As [`WavLayout::header`]; RF64 where the RIFF size would exceed `riff_limit`.
    pub(crate) fn header_up_to(self, frames: u64, riff_limit: u64) -> Vec<u8> {
        completed(self, self.blank(), frames, riff_limit)
    }

    /// Everything before the samples, with room for a `ds64` chunk and all sizes zero.
    pub(crate) fn blank(self) -> Vec<u8> {
        self.blank_by(SOFTWARE)
    }

    fn blank_by(self, software: &str) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVEJUNK\x1c\0\0\0".to_vec();
        bytes.resize(FMT_AT, 0);
        let fmt = self.fmt_body();
        bytes.extend(b"fmt ");
        bytes.extend((fmt.len() as u32).to_le_bytes());
        bytes.extend(fmt);
        bytes.extend(software_chunk(software));
        if self.samples == WavFormat::Float32 {
            bytes.extend(b"fact\x04\0\0\0\0\0\0\0");
        }
        bytes.extend(b"data\0\0\0\0");
        bytes
    }

    /// The format chunk's body: extensible for 24 bits and for more than two channels, as the format asks for; else
    /// plain, with an empty extension for floats.
    fn fmt_body(self) -> Vec<u8> {
        let extensible = self.samples == WavFormat::Pcm24 || self.channels > 2;
        let tag = if extensible { 0xfffe } else { self.samples.tag() };
        let (block, bits) = (self.frame_bytes() as u16, 8 * self.samples.bytes() as u16);
        let mut body = Vec::with_capacity(40);
        body.extend(tag.to_le_bytes());
        body.extend(self.channels.to_le_bytes());
        body.extend(self.sample_rate_hz.to_le_bytes());
        body.extend(self.sample_rate_hz.saturating_mul(u32::from(block)).to_le_bytes());
        body.extend(block.to_le_bytes());
        body.extend(bits.to_le_bytes());
        if extensible {
            body.extend(22u16.to_le_bytes());
            body.extend(bits.to_le_bytes());
            body.extend(self.speakers().to_le_bytes());
            body.extend(self.samples.tag().to_le_bytes());
            body.extend(GUID_REST);
        } else if self.samples == WavFormat::Float32 {
            body.extend([0, 0]);
        }
        body
    }

    /// Front centre, or front left and right; of more channels nothing is known.
    fn speakers(self) -> u32 {
        match self.channels {
            1 => 4,
            2 => 3,
            _ => 0,
        }
    }
}

/// Appends the bytes of each sample, as many as the compiler knows.
fn put<T: Copy, const WIDTH: usize>(
    samples: &[T],
    out: &mut Vec<u8>,
    bytes: impl Fn(T) -> [u8; WIDTH],
) {
    let at = out.len();
    out.resize(at + WIDTH * samples.len(), 0);
    let (places, _) = out[at..].as_chunks_mut::<WIDTH>();
    places.iter_mut().zip(samples).for_each(|(place, sample)| *place = bytes(*sample));
}

/// A blank header with all its sizes.
fn completed(layout: WavLayout, mut header: Vec<u8>, frames: u64, riff_limit: u64) -> Vec<u8> {
    let data_at = header.len();
    let data_bytes = frames * layout.frame_bytes();
    let riff = data_at as u64 + data_bytes + data_bytes % 2 - 8;
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    if layout.samples == WavFormat::Float32 {
        put(data_at - 12, &u32::try_from(frames).unwrap_or(u32::MAX).to_le_bytes());
    }
    if riff <= riff_limit {
        put(4, &(riff as u32).to_le_bytes());
        put(data_at - 4, &(data_bytes as u32).to_le_bytes());
    } else {
        put(0, b"RF64\xff\xff\xff\xff");
        put(12, &ds64(riff, data_bytes, frames));
        put(data_at - 4, &[0xff; 4]);
    }
    header
}

/// The body of a `ds64` chunk with its header, as long as the `JUNK` chunk that it replaces.
pub(crate) fn ds64(riff: u64, data: u64, frames: u64) -> Vec<u8> {
    let mut bytes = b"ds64\x1c\0\0\0".to_vec();
    for size in [riff, data, frames] {
        bytes.extend(size.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_is_as_long_as_the_blank_one_and_says_what_it_holds() {
        for samples in [WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float32] {
            for channels in [1, 2, 6, 64] {
                let layout = WavLayout { samples, sample_rate_hz: 96_000, channels };
                for frames in [0, 1000, 1 << 33] {
                    let header = layout.header(frames);
                    assert_eq!(header.len() as u64, layout.header_bytes());
                    let is_rf64 = frames * layout.frame_bytes() > u64::from(u32::MAX);
                    assert_eq!(&header[..4], if is_rf64 { b"RF64" } else { b"RIFF" });
                }
            }
        }
    }

    /// Samples of every size, some of which are clipped or not finite.
    fn any_samples(count: usize) -> Vec<f32> {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0, -1.5, f32::MAX];
        let sample = |i: usize| match i % 97 {
            13 => bad[i / 97 % bad.len()],
            _ => (i as f32 * 0.7).sin() * 0.5f32.powi(i as i32 % 30),
        };
        (0..count).map(sample).collect()
    }

    /// Sample by sample, by the standard library's rounding.
    fn encoded_one_by_one(layout: WavLayout, samples: &[f32]) -> (Vec<u8>, Written) {
        let (mut out, mut written) = (Vec::new(), Written::default());
        for sample in samples {
            written.not_finite += u64::from(!sample.is_finite());
            let sample = if sample.is_finite() { *sample } else { 0.0 };
            if layout.samples == WavFormat::Float32 {
                out.extend(sample.to_le_bytes());
                continue;
            }
            let full_scale = layout.samples.full_scale();
            let rounded = (sample * full_scale).round_ties_even();
            let integer = rounded.clamp(-full_scale, full_scale - 1.0);
            written.clipped += u64::from(rounded != integer);
            out.extend(&(integer as i32).to_le_bytes()[..layout.samples.bytes()]);
        }
        (out, written)
    }

    #[test]
    fn blocks_have_the_bytes_and_counts_of_single_samples() {
        for samples in [WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float32] {
            let layout = WavLayout { samples, sample_rate_hz: 48_000, channels: 2 };
            for frames in [0, 1, 7, AT_ONCE / 2, AT_ONCE / 2 + 1, AT_ONCE, 5 * AT_ONCE + 3] {
                let all = any_samples(2 * frames);
                let expected = encoded_one_by_one(layout, &all);
                let (mut bytes, mut written) = (Vec::new(), Written::default());
                layout.encode(all.iter().copied(), &mut bytes, &mut written);
                assert!((bytes, written) == expected, "{samples:?}, {frames} frames");
                let row = |side: usize| all.iter().skip(side).step_by(2).copied();
                let (left, right): (Vec<f32>, Vec<f32>) = (row(0).collect(), row(1).collect());
                let (mut bytes, mut written) = (Vec::new(), Written::default());
                let longer = [&left[..], &[0.5; 700]].concat();
                layout.encode_stereo(&longer, &right, &mut bytes, &mut written);
                assert!((bytes, written) == expected, "{samples:?}, {frames} stereo frames");
            }
        }
    }

    #[test]
    fn what_is_encoded_reads_back_for_every_channel_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        for channels in [1u16, 2, 3, 8, 64] {
            let layout =
                WavLayout { samples: WavFormat::Float32, sample_rate_hz: 48_000, channels };
            let samples: Vec<f32> =
                (0..100 * i32::from(channels)).map(|i| i as f32 / 7e3).collect();
            let mut bytes = layout.header(100);
            layout.encode(samples.iter().copied(), &mut bytes, &mut Written::default());
            std::fs::write(&path, bytes).unwrap();
            let audio = crate::decode(&path).unwrap();
            assert_eq!((audio.channels.len(), audio.warnings.len()), (channels.into(), 0));
            for (i, &sample) in samples.iter().enumerate() {
                assert_eq!(
                    audio.channels[i % usize::from(channels)][i / usize::from(channels)],
                    sample
                );
            }
        }
    }
}
