//! What a header says, checked against what the file holds.

use super::{MAX_CHANNELS, MAX_SAMPLE_RATE_HZ, MIN_SAMPLE_RATE_HZ, Source};
use crate::{AudioFacts, MediaError};

/// The result of reading an uncompressed container's header.
pub(crate) enum Header {
    /// Samples that are read here.
    Pcm(PcmLayout),
    /// A compressed codec inside such a container, by name.
    Compressed(String),
}

/// How one sample is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Two's complement, left-justified in its bytes.
    Signed,
    /// Offset binary, as in 8-bit WAV.
    Unsigned,
    /// IEEE 754 of 4 or 8 bytes.
    Float,
    /// G.711 A-law.
    ALaw,
    /// G.711 mu-law.
    MuLaw,
}

/// Where the samples are and how to read them; every field is checked.
#[derive(Debug, Clone)]
pub(crate) struct PcmLayout {
    pub sample_rate_hz: u32,
    /// 1 to [`MAX_CHANNELS`].
    pub channels: usize,
    pub coding: Coding,
    pub big_endian: bool,
    /// 1 to 8.
    pub bytes_per_sample: usize,
    /// At most 8 times `bytes_per_sample`.
    pub valid_bits: usize,
    pub data_start: u64,
    /// Bytes of whole frames that the file really holds.
    pub data_len: u64,
    pub warnings: Vec<String>,
}

impl PcmLayout {
    pub(super) fn facts(&self) -> AudioFacts {
        let frame = (self.channels * self.bytes_per_sample) as u64;
        AudioFacts {
            sample_rate_hz: self.sample_rate_hz,
            channels: self.channels,
            frames: Some(self.data_len / frame),
        }
    }

    /// Whether no sample can be NaN or infinite, because all are integers.
    pub fn is_always_finite(&self) -> bool {
        self.coding != Coding::Float
    }

    /// Whether samples are written in the same way and at the same place; the length may differ.
    pub fn is_like(&self, other: &PcmLayout) -> bool {
        let shape = |it: &PcmLayout| {
            let sample = (it.coding, it.big_endian, it.bytes_per_sample, it.valid_bits);
            (it.sample_rate_hz, it.channels, sample, it.data_start)
        };
        shape(self) == shape(other)
    }
}

/// The sample format as a header gives it, unchecked.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawFormat {
    pub format: &'static str,
    pub coding: Coding,
    pub big_endian: bool,
    pub channels: u32,
    pub sample_rate_hz: f64,
    pub bits: u32,
    pub bytes_per_sample: usize,
}

/// How long the audio is by the header.
#[derive(Debug, Clone, Copy)]
pub(super) enum Declared {
    Bytes(u64),
    /// Written to a pipe: the writer could not know.
    ToTheEnd,
    /// Zero where the header was never completed.
    NeverFilledIn,
}

impl RawFormat {
    /// Checks the format and bounds the data by the file.
    pub fn layout(
        self,
        source: &Source,
        data_start: u64,
        declared: Declared,
        mut warnings: Vec<String>,
    ) -> Result<Header, MediaError> {
        self.check(source)?;
        let frame = self.channels as u64 * self.bytes_per_sample as u64;
        let present = source.len.saturating_sub(data_start);
        let rate_hz = self.sample_rate_hz.round() as u32;
        let data_len = bounded(declared, present, frame, rate_hz, &mut warnings);
        Ok(Header::Pcm(PcmLayout {
            sample_rate_hz: rate_hz,
            channels: self.channels as usize,
            coding: self.coding,
            big_endian: self.big_endian,
            bytes_per_sample: self.bytes_per_sample,
            valid_bits: self.bits as usize,
            data_start,
            data_len,
            warnings,
        }))
    }

    fn check(&self, source: &Source) -> Result<(), MediaError> {
        let fail = |cause: String| Err(source.malformed(self.format, cause));
        if !(1..=MAX_CHANNELS as u32).contains(&self.channels) {
            return fail(format!("{} channels (1 to {MAX_CHANNELS} are possible)", self.channels));
        }
        let rate = self.sample_rate_hz;
        let range = f64::from(MIN_SAMPLE_RATE_HZ)..=f64::from(MAX_SAMPLE_RATE_HZ);
        if !range.contains(&rate) {
            return fail(format!(
                "a sample rate of {rate} Hz ({MIN_SAMPLE_RATE_HZ} to {MAX_SAMPLE_RATE_HZ} are possible)"
            ));
        }
        let bytes_ok = match self.coding {
            Coding::Float => matches!(self.bytes_per_sample, 4 | 8),
            Coding::ALaw | Coding::MuLaw => self.bytes_per_sample == 1,
            Coding::Signed | Coding::Unsigned => (1..=8).contains(&self.bytes_per_sample),
        };
        if self.bits == 0 || !bytes_ok || self.bits as usize > 8 * self.bytes_per_sample {
            return fail(format!("{} bits a sample", self.bits));
        }
        Ok(())
    }
}

/// A place in the decoded sound, in words.
pub(crate) fn position(frames: u64, rate_hz: u32) -> String {
    format!("after {:.3} s (frame {frames})", frames as f64 / f64::from(rate_hz.max(1)))
}

/// Bytes of whole frames to read, with a warning where the header promised something else.
fn bounded(
    declared: Declared,
    present: u64,
    frame: u64,
    rate_hz: u32,
    warnings: &mut Vec<String>,
) -> u64 {
    let len = match declared {
        Declared::Bytes(bytes) if bytes > present => {
            let here = position(present / frame, rate_hz);
            warnings.push(format!(
                "the file ends early, {here}: the header announces {bytes} bytes of audio, {present} are there"
            ));
            present
        }
        Declared::Bytes(bytes) => bytes,
        Declared::ToTheEnd => present,
        Declared::NeverFilledIn => {
            warnings.push("the header was never completed; reading to the end of the file".into());
            present
        }
    };
    if len % frame != 0 {
        warnings
            .push(format!("the last frame is incomplete; its {} bytes are dropped", len % frame));
    }
    if len < frame {
        warnings.push("the file holds no audio".into());
    }
    len - len % frame
}
