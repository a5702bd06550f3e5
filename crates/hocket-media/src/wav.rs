//! Writing stereo WAV files.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;

use crate::wav_layout::RIFF_LIMIT;
use crate::{WavFormat, WavLayout, WriteError};

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
    layout: WavLayout,
    /// Encoded frames that are not yet given to the system.
    buffer: Vec<u8>,
    written: Written,
    /// The largest RIFF size that a plain header may state.
    riff_limit: u64,
}

const BUFFER_BYTES: usize = 1 << 16;
/// Frames that are encoded before the buffer is looked at.
const FRAMES_AT_ONCE: usize = 1 << 12;

impl WavWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// Where the folder is missing or not writable, or `path` is a folder.
    pub fn create(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<Self, WriteError> {
        let file = OutputFile::create(path).map_err(|error| WriteError::io(path, error))?;
        let layout = WavLayout { samples: format, sample_rate_hz, channels: 2 };
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 8 * FRAMES_AT_ONCE);
        buffer.extend(layout.blank());
        let (written, riff_limit) = (Written::default(), RIFF_LIMIT);
        Ok(Self { path: path.into(), file, layout, buffer, written, riff_limit })
    }

    /// The header of a stream states this length, since nothing can be corrected later; a file's states what was
    /// written. Call it before the first block. Over 4 GiB: RF64.
    pub fn expecting(mut self, frames: u64) -> Self {
        if self.file.is_stream() {
            let header = self.layout.header_up_to(frames, self.riff_limit);
            self.buffer[..header.len()].copy_from_slice(&header);
        }
        self
    }

    /// Appends frames. Shape: `left` and `right` are equally long; of unequal rows the shorter
    /// one's length counts. Unit: linear, 1.0 = full scale.
    ///
    /// # Errors
    /// Where the disk is full or fails; the writer is of no use afterwards and should be dropped.
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        for (left, right) in left.chunks(FRAMES_AT_ONCE).zip(right.chunks(FRAMES_AT_ONCE)) {
            self.layout.encode_stereo(left, right, &mut self.buffer, &mut self.written);
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
        if !(self.written.frames * self.layout.frame_bytes()).is_multiple_of(2) {
            self.buffer.push(0);
        }
        self.flush()?;
        let path = std::mem::take(&mut self.path);
        if !self.file.is_stream() {
            let header = self.layout.header_up_to(self.written.frames, self.riff_limit);
            let file = self.file.file();
            let completed = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&header));
            completed.map_err(|error| WriteError::io(&path, error))?;
        }
        self.file.commit().map_err(|error| WriteError::io(&path, error))?;
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let written = self.file.file().write_all(&self.buffer);
        written.map_err(|error| WriteError::io(&self.path, error))?;
        self.buffer.clear();
        Ok(())
    }
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
