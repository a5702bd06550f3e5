//! Writing stereo WAV files.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;

use crate::WriteError;
use crate::sample::{finite, integer};

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

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Length in frames.
    pub frames: u64,
    /// Samples beyond full scale that were set to full scale (integer formats only).
    pub clipped: u64,
    /// Samples that were NaN or infinite and were written as silence.
    pub not_finite: u64,
}

/// Writes a stereo WAV file, a block at a time.
///
/// The file is written under a temporary name in the target's folder. Only [`WavWriter::finish`]
/// gives it its name; a writer that fails or is dropped before leaves nothing behind, and a file
/// that had the name before stays as it was.
///
/// Integers: `sample * 2^(bits - 1)`, rounded to the nearest integer with halves to even, without
/// dither, clamped to the range. So integers that were decoded are written back unchanged, and a
/// sample of exactly +1.0 counts as clipped, since the largest integer lies one step below.
///
/// A file over 4 GiB is written as RF64 (EBU Tech 3306): the header reserves the room, and only
/// a file that needs it becomes RF64. A `LIST` chunk names the software.
///
/// Into a pipe or a device the samples go directly. Its header states the length that [`WavWriter::expecting`] was
/// given, or zero, which readers take for a header that was never completed.
///
/// Thread: control. Cost: one buffered write a block.
#[derive(Debug)]
pub struct WavWriter {
    path: PathBuf,
    file: OutputFile,
    format: WavFormat,
    /// Encoded frames that are not yet given to the system.
    buffer: Vec<u8>,
    written: Written,
    /// The largest RIFF size that a plain header may state.
    riff_limit: u64,
}

const CHANNELS: u64 = 2;
const BUFFER_BYTES: usize = 1 << 16;
/// `RIFF` header and form (12), `JUNK` or `ds64` (8 + 28).
const FMT_AT: usize = 48;

impl WavFormat {
    /// Bytes a sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::Pcm16 => 2,
            Self::Pcm24 => 3,
            Self::Float32 => 4,
        }
    }

    /// The format chunk's body: plain for 16 bits, extensible for 24, with an empty extension for
    /// floats, as the format asks for.
    fn fmt_body(self, sample_rate_hz: u32) -> Vec<u8> {
        let tag: u16 = match self {
            Self::Pcm16 => 1,
            Self::Pcm24 => 0xfffe,
            Self::Float32 => 3,
        };
        let block = (CHANNELS as usize * self.bytes()) as u16;
        let mut body = Vec::with_capacity(40);
        body.extend(tag.to_le_bytes());
        body.extend((CHANNELS as u16).to_le_bytes());
        body.extend(sample_rate_hz.to_le_bytes());
        body.extend((sample_rate_hz.saturating_mul(u32::from(block))).to_le_bytes());
        body.extend(block.to_le_bytes());
        body.extend((8 * self.bytes() as u16).to_le_bytes());
        match self {
            Self::Pcm16 => {}
            Self::Float32 => body.extend([0, 0]),
            Self::Pcm24 => body.extend(EXTENSION_PCM24),
        }
        body
    }

    pub(crate) fn full_scale(self) -> f32 {
        match self {
            Self::Pcm16 => 32_768.0,
            Self::Pcm24 => 8_388_608.0,
            Self::Float32 => 1.0,
        }
    }
}

/// 22 more bytes, 24 valid bits, front left and right, the PCM sub-format.
const EXTENSION_PCM24: [u8; 24] =
    [22, 0, 24, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

impl WavWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// Where the folder is missing or not writable, or `path` is a folder.
    pub fn create(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<Self, WriteError> {
        let file = OutputFile::create(path).map_err(|error| WriteError::io(path, error))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 64);
        buffer.extend(header(format, sample_rate_hz));
        let riff_limit = u64::from(u32::MAX) - 1;
        let written = Written::default();
        Ok(Self { path: path.into(), file, format, buffer, written, riff_limit })
    }

    /// The header of a stream states this length, since nothing can be corrected later; a file's states what was
    /// written. Call it before the first block. Over 4 GiB: RF64.
    pub fn expecting(mut self, frames: u64) -> Self {
        if self.file.is_stream() {
            for (at, bytes) in self.patches(frames) {
                let at = at as usize;
                self.buffer[at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
        self
    }

    /// Appends frames. Shape: `left` and `right` are equally long; of unequal rows the shorter
    /// one's length counts. Unit: linear, 1.0 = full scale.
    ///
    /// # Errors
    /// Where the disk is full or fails; the writer is of no use afterwards and should be dropped.
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        for (&left, &right) in left.iter().zip(right) {
            self.encode(left);
            self.encode(right);
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        self.written.frames += left.len().min(right.len()) as u64;
        Ok(())
    }

    /// Completes the header, puts the file on the disk and gives it its name.
    ///
    /// # Errors
    /// As for [`WavWriter::write`]; nothing is left behind.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        if self.data_bytes(self.written.frames) % 2 == 1 {
            self.buffer.push(0);
        }
        self.flush()?;
        let path = std::mem::take(&mut self.path);
        let patches = self.patches(self.written.frames);
        let patches = if self.file.is_stream() { Vec::new() } else { patches };
        let file = self.file.file();
        for (at, bytes) in patches {
            let patched = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&bytes));
            patched.map_err(|error| WriteError::io(&path, error))?;
        }
        self.file.commit().map_err(|error| WriteError::io(&path, error))?;
        Ok(self.written)
    }

    fn data_bytes(&self, frames: u64) -> u64 {
        frames * CHANNELS * self.format.bytes() as u64
    }

    fn encode(&mut self, sample: f32) {
        let sample = finite(sample, &mut self.written);
        if self.format == WavFormat::Float32 {
            return self.buffer.extend(sample.to_le_bytes());
        }
        let bytes = integer(sample, self.format.full_scale(), &mut self.written).to_le_bytes();
        self.buffer.extend_from_slice(&bytes[..self.format.bytes()]);
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let written = self.file.file().write_all(&self.buffer);
        written.map_err(|error| WriteError::io(&self.path, error))?;
        self.buffer.clear();
        Ok(())
    }

    /// What the header states of a length, by offset.
    fn patches(&self, frames: u64) -> Vec<(u64, Vec<u8>)> {
        let data_bytes = self.data_bytes(frames);
        let data_at = header(self.format, 0).len() as u64;
        let riff = data_at + data_bytes + data_bytes % 2 - 8;
        let fact = (self.format == WavFormat::Float32).then(|| data_at - 12);
        let few = u32::try_from(frames).unwrap_or(u32::MAX);
        let mut patches: Vec<_> =
            fact.map(|at| (at, few.to_le_bytes().to_vec())).into_iter().collect();
        if riff <= self.riff_limit {
            patches.push((4, (riff as u32).to_le_bytes().to_vec()));
            patches.push((data_at - 4, (data_bytes as u32).to_le_bytes().to_vec()));
        } else {
            patches.push((0, b"RF64\xff\xff\xff\xff".to_vec()));
            patches.push((12, ds64(riff, data_bytes, frames)));
            patches.push((data_at - 4, vec![0xff; 4]));
        }
        patches
    }
}

/// Names the software; `SOFTWARE` with zeros to an even length.
const SOFTWARE_CHUNK: &[u8; 28] = b"LIST\x14\0\0\0INFOISFT\x08\0\0\0Hocket\0\0";

/// Everything before the samples, with room for a `ds64` chunk and all sizes zero.
fn header(format: WavFormat, sample_rate_hz: u32) -> Vec<u8> {
    let mut bytes = b"RIFF\0\0\0\0WAVEJUNK\x1c\0\0\0".to_vec();
    bytes.resize(FMT_AT, 0);
    let fmt = format.fmt_body(sample_rate_hz);
    bytes.extend(b"fmt ");
    bytes.extend((fmt.len() as u32).to_le_bytes());
    bytes.extend(fmt);
    bytes.extend(SOFTWARE_CHUNK);
    if format == WavFormat::Float32 {
        bytes.extend(b"fact\x04\0\0\0\0\0\0\0");
    }
    bytes.extend(b"data\0\0\0\0");
    bytes
}

fn ds64(riff: u64, data: u64, frames: u64) -> Vec<u8> {
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
    fn a_file_over_the_limit_becomes_rf64_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.wav");
        let ramp: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
        for format in [WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float32] {
            let mut writer = WavWriter::create(&path, 48_000, format).unwrap();
            writer.riff_limit = 1000;
            writer.write(&ramp, &ramp).unwrap();
            writer.finish().unwrap();
            assert_eq!(&std::fs::read(&path).unwrap()[..4], b"RF64");
            let audio = crate::decode(&path).unwrap();
            assert_eq!((audio.frames(), audio.warnings.len()), (1000, 0), "{format:?}");
        }
    }
}
