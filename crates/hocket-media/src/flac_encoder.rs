//! FLAC, frame by frame, through the crate `flacenc`.

use std::fmt;
use std::path::Path;

use flacenc::bitsink::ByteSink;
use flacenc::component::{BitRepr, Frame, StreamInfo};
use flacenc::config::Encoder;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Context, Fill, FrameBuf};

use crate::own::{SOFTWARE, TAKE_SOFTWARE, flac_comment};
use crate::sample::{finite, integer};
use crate::{WavFormat, WavLayout, WriteError, Written};

/// Frames a FLAC frame, the usual number at these rates.
const BLOCK_FRAMES: usize = 4096;
/// About what a frame has besides its samples.
const FRAME_HEADER_BITS: usize = 8 * 64;
/// The encoder's limit.
const MAX_RATE_HZ: u32 = 96_000;
/// The format's limit.
const MAX_CHANNELS: u16 = 8;

/// Encodes samples, 4096 frames at a time, into bytes that a caller writes.
///
/// Thread: any that may wait. Errors are those of the encoder, in words.
pub struct FlacEncoder {
    layout: WavLayout,
    /// What the head names.
    software: &'static str,
    encoder: Verified<Encoder>,
    /// Stores samples as they are. The encoder has no code for large residuals of 24 bits (it writes them in unary), so
    /// a block of noise can become larger than its samples, without limit.
    verbatim: Verified<Encoder>,
    info: StreamInfo,
    digest: Context,
    encoded: FrameBuf,
    frames_encoded: usize,
    /// Interleaved samples that are not yet encoded.
    block: Vec<i32>,
    /// Nothing follows, so sizes and digest are final.
    is_whole: bool,
}

impl fmt::Debug for FlacEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlacEncoder").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl FlacEncoder {
    /// Whether FLAC can hold such samples, and this encoder write them. `path` names the file in the refusal.
    ///
    /// # Errors
    /// Why not, and what to choose.
    pub fn check(path: &Path, layout: WavLayout) -> Result<(), WriteError> {
        let WavLayout { samples, sample_rate_hz, channels } = layout;
        let refused = |cause: String, remedy| Err(WriteError::refused(path, cause, remedy));
        if samples == WavFormat::Float32 {
            let remedy = "choose 16 or 24 bits, or write WAV (.wav)";
            return refused("FLAC holds integers, not floats".into(), remedy);
        }
        if sample_rate_hz > MAX_RATE_HZ {
            let cause = format!("FLAC is written up to {MAX_RATE_HZ} Hz, not at {sample_rate_hz}");
            return refused(cause, "choose a lower rate, or write WAV (.wav)");
        }
        if !(1..=MAX_CHANNELS).contains(&channels) {
            let cause = format!("FLAC holds 1 to {MAX_CHANNELS} channels, not {channels}");
            return refused(cause, "write WAV (.wav)");
        }
        Ok(())
    }

    /// An encoder for what [`FlacEncoder::check`] allows.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn new(layout: WavLayout) -> Result<Self, String> {
        let (channels, bits) = (usize::from(layout.channels), 8 * layout.samples.bytes());
        let rate = layout.sample_rate_hz as usize;
        Ok(Self {
            layout,
            software: SOFTWARE,
            encoder: Encoder::default().into_verified().map_err(|(_, error)| words(&error))?,
            verbatim: verbatim()?,
            info: StreamInfo::new(rate, channels, bits).map_err(|error| words(&error))?,
            digest: Context::new(bits, channels),
            encoded: FrameBuf::with_size(channels, BLOCK_FRAMES).map_err(|error| words(&error))?,
            frames_encoded: 0,
            block: Vec::with_capacity(channels * BLOCK_FRAMES),
            is_whole: false,
        })
    }

    /// As [`FlacEncoder::new`], of a take: its head says so.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn for_take(layout: WavLayout) -> Result<Self, String> {
        Ok(Self { software: TAKE_SOFTWARE, ..Self::new(layout)? })
    }

    /// Takes samples, channel after channel and frame after frame, and appends what is complete to `out`. Counts in
    /// `written` what was clipped and what was not finite, but not the frames.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn push(
        &mut self,
        samples: impl IntoIterator<Item = f32>,
        out: &mut Vec<u8>,
        written: &mut Written,
    ) -> Result<(), String> {
        let full_scale = self.layout.samples.full_scale();
        for sample in samples {
            let sample = finite(sample, written);
            self.block.push(integer(sample, full_scale, written));
            if self.block.len() == usize::from(self.layout.channels) * BLOCK_FRAMES {
                self.encode(out)?;
            }
        }
        Ok(())
    }

    /// Encodes the last, shorter block. Afterwards [`FlacEncoder::head`] is that of the whole file.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if !self.block.is_empty() {
            self.encode(out)?;
        }
        self.info.set_md5_digest(&self.digest.md5_digest());
        self.is_whole = true;
        Ok(())
    }

    /// How many frames the bytes hold that were handed out so far.
    pub fn frames(&self) -> u64 {
        self.info.total_samples() as u64
    }

    /// What stands before the first frame: the marker, STREAMINFO with the frames so far, and a comment that names
    /// the software. Its length is always the same.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn head(&self) -> Result<Vec<u8>, String> {
        self.head_of(self.frames())
    }

    /// As [`FlacEncoder::head`], of a file that holds only the first `frames` frames.
    ///
    /// # Errors
    /// What the encoder said.
    pub fn head_of(&self, frames: u64) -> Result<Vec<u8>, String> {
        let mut info = self.info.clone();
        info.set_total_samples(frames as usize);
        // The last block may be shorter; the format asks for the length of the others.
        info.set_block_sizes(BLOCK_FRAMES, BLOCK_FRAMES).map_err(|error| words(&error))?;
        // A later frame may be larger; a reader may rely on the sizes.
        if self.frames_encoded == 0 || !self.is_whole {
            info.set_frame_sizes(0, 0).map_err(|error| words(&error))?;
        }
        let mut body = ByteSink::new();
        info.write(&mut body).map_err(|error| words(&error))?;
        let mut head = b"fLaC\x00\x00\x00\x22".to_vec();
        head.extend_from_slice(body.as_slice());
        head.extend(flac_comment(self.software));
        Ok(head)
    }

    fn frame(&self, encoder: &Verified<Encoder>) -> Result<Frame, String> {
        let number = self.frames_encoded;
        flacenc::encode_fixed_size_frame(encoder, &self.encoded, number, &self.info)
            .map_err(|error| words(&error))
    }

    fn encode(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let filled = (&mut self.encoded, &mut self.digest).fill_interleaved(&self.block);
        filled.map_err(|error| words(&error))?;
        let samples_bits = self.block.len() * 8 * self.layout.samples.bytes();
        let mut frame = self.frame(&self.encoder)?;
        if frame.count_bits() > samples_bits + FRAME_HEADER_BITS {
            frame = self.frame(&self.verbatim)?;
        }
        let mut bytes = ByteSink::new();
        frame.write(&mut bytes).map_err(|error| words(&error))?;
        self.info.update_frame_info(&frame);
        self.frames_encoded += 1;
        self.block.clear();
        out.extend_from_slice(bytes.as_slice());
        Ok(())
    }
}

fn verbatim() -> Result<Verified<Encoder>, String> {
    let mut config = Encoder::default();
    config.subframe_coding.use_constant = false;
    config.subframe_coding.use_fixed = false;
    config.subframe_coding.use_lpc = false;
    config.into_verified().map_err(|(_, error)| words(&error))
}

fn words(error: &dyn fmt::Display) -> String {
    error.to_string()
}

pub(crate) fn encoder_failed(path: &Path, error: &str) -> WriteError {
    let cause = format!("the FLAC encoder failed: {error}");
    WriteError::refused(path, cause, "write WAV (.wav) instead")
}
