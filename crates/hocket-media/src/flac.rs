//! Writing stereo FLAC files, through the crate `flacenc`.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flacenc::bitsink::ByteSink;
use flacenc::component::{BitRepr, StreamInfo};
use flacenc::config::Encoder;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Context, Fill, FrameBuf};
use hocket_files::OutputFile;

use crate::sample::{finite, integer};
use crate::wav::{WavFormat, Written};
use crate::{SOFTWARE, WriteError};

const CHANNELS: usize = 2;
/// Frames a FLAC frame, the usual number at these rates.
const BLOCK_FRAMES: usize = 4096;
/// The encoder's limit.
const MAX_RATE_HZ: u32 = 96_000;

/// Writes a stereo FLAC file, a block at a time. As for [`crate::WavWriter`]: only [`FlacWriter::finish`] gives the
/// file its name, and integers are rounded in the same way.
///
/// Thread: control. Cost: encodes 4096 frames at a time.
pub(crate) struct FlacWriter {
    path: PathBuf,
    file: OutputFile,
    full_scale: f32,
    encoder: Verified<Encoder>,
    info: StreamInfo,
    digest: Context,
    encoded: FrameBuf,
    frames_encoded: usize,
    /// Interleaved samples that are not yet encoded.
    block: Vec<i32>,
    written: Written,
}

impl FlacWriter {
    /// Whether FLAC can hold such samples, and this encoder write them.
    pub fn check(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<(), WriteError> {
        if format == WavFormat::Float32 {
            let remedy = "choose 16 or 24 bits, or write WAV (.wav)";
            return Err(WriteError::refused(path, "FLAC holds integers, not floats", remedy));
        }
        if sample_rate_hz > MAX_RATE_HZ {
            let cause = format!("FLAC is written up to {MAX_RATE_HZ} Hz, not at {sample_rate_hz}");
            return Err(WriteError::refused(
                path,
                cause,
                "choose a lower rate, or write WAV (.wav)",
            ));
        }
        Ok(())
    }

    /// Begins a file.
    pub fn create(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<Self, WriteError> {
        Self::check(path, sample_rate_hz, format)?;
        let bits = 8 * format.bytes();
        let internal = |error: flacenc::error::VerifyError| encoder_failed(path, &error);
        let info = StreamInfo::new(sample_rate_hz as usize, CHANNELS, bits).map_err(internal)?;
        let encoded = FrameBuf::with_size(CHANNELS, BLOCK_FRAMES).map_err(internal)?;
        let encoder = Encoder::default()
            .into_verified()
            .map_err(|(_, error)| encoder_failed(path, &error))?;
        let file = OutputFile::create(path).map_err(|error| WriteError::io(path, error))?;
        let mut writer = Self {
            path: path.into(),
            file,
            full_scale: format.full_scale(),
            encoder,
            info,
            digest: Context::new(bits, CHANNELS),
            encoded,
            frames_encoded: 0,
            block: Vec::with_capacity(CHANNELS * BLOCK_FRAMES),
            written: Written::default(),
        };
        let head = writer.head()?;
        writer.put(&head)?;
        Ok(writer)
    }

    /// As [`crate::WavWriter::write`].
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        for (&left, &right) in left.iter().zip(right) {
            for sample in [left, right] {
                let sample = finite(sample, &mut self.written);
                self.block.push(integer(sample, self.full_scale, &mut self.written));
            }
            if self.block.len() == CHANNELS * BLOCK_FRAMES {
                self.encode()?;
            }
        }
        self.written.frames += left.len().min(right.len()) as u64;
        Ok(())
    }

    /// As [`crate::WavWriter::finish`].
    pub fn finish(mut self) -> Result<Written, WriteError> {
        if !self.block.is_empty() {
            self.encode()?;
        }
        self.info.set_md5_digest(&self.digest.md5_digest());
        let head = self.head()?;
        let path = std::mem::take(&mut self.path);
        if !self.file.is_stream() {
            let file = self.file.file();
            let rewritten = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&head));
            rewritten.map_err(|error| WriteError::io(&path, error))?;
        }
        self.file.commit().map_err(|error| WriteError::io(&path, error))?;
        Ok(self.written)
    }

    fn encode(&mut self) -> Result<(), WriteError> {
        let failed = |error: &dyn std::fmt::Display| encoder_failed(&self.path, error);
        let filled = (&mut self.encoded, &mut self.digest).fill_interleaved(&self.block);
        filled.map_err(|error| failed(&error))?;
        let (encoder, number) = (&self.encoder, self.frames_encoded);
        let frame = flacenc::encode_fixed_size_frame(encoder, &self.encoded, number, &self.info)
            .map_err(|error| failed(&error))?;
        let mut bytes = ByteSink::new();
        frame.write(&mut bytes).map_err(|error| failed(&error))?;
        self.info.update_frame_info(&frame);
        self.frames_encoded += 1;
        self.block.clear();
        self.put(bytes.as_slice())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.file().write_all(bytes).map_err(|error| WriteError::io(&self.path, error))
    }

    /// The marker, STREAMINFO, and a comment that names the software. Its length is always the same.
    fn head(&self) -> Result<Vec<u8>, WriteError> {
        let mut info = self.info.clone();
        // The last block may be shorter; the format asks for the length of the others.
        info.set_block_sizes(BLOCK_FRAMES, BLOCK_FRAMES)
            .map_err(|error| encoder_failed(&self.path, &error))?;
        if self.frames_encoded == 0 {
            let unknown = info.set_frame_sizes(0, 0);
            unknown.map_err(|error| encoder_failed(&self.path, &error))?;
        }
        let mut body = ByteSink::new();
        info.write(&mut body).map_err(|error| encoder_failed(&self.path, &error))?;
        let mut head = b"fLaC\x00\x00\x00\x22".to_vec();
        head.extend_from_slice(body.as_slice());
        // The last block of metadata, a Vorbis comment without fields.
        let comment_bytes = (4 + SOFTWARE.len() + 4) as u32;
        head.push(0x84);
        head.extend_from_slice(&comment_bytes.to_be_bytes()[1..]);
        head.extend_from_slice(&(SOFTWARE.len() as u32).to_le_bytes());
        head.extend_from_slice(SOFTWARE.as_bytes());
        head.extend_from_slice(&[0; 4]);
        Ok(head)
    }
}

fn encoder_failed(path: &Path, error: &dyn std::fmt::Display) -> WriteError {
    let cause = format!("the FLAC encoder failed: {error}");
    WriteError::refused(path, cause, "write WAV (.wav) instead")
}
