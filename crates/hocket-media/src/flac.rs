//! Writing FLAC files, through the crate `flacenc`.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;

use crate::flac_encoder::{FlacEncoder, encoder_failed};
use crate::wav::Written;
use crate::{WavFormat, WavLayout, WriteError};

/// Writes a stereo FLAC file, a block at a time. As for [`crate::WavWriter`]: only [`FlacWriter::finish`] gives the
/// file its name, and integers are rounded in the same way.
///
/// Thread: control. Cost: encodes 4096 frames at a time.
pub(crate) struct FlacWriter {
    path: PathBuf,
    file: OutputFile,
    encoder: FlacEncoder,
    /// Encoded frames that are not yet given to the system.
    bytes: Vec<u8>,
    written: Written,
}

impl FlacWriter {
    /// Whether FLAC can hold such samples, and this encoder write them.
    pub fn check(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<(), WriteError> {
        FlacEncoder::check(path, WavLayout { samples: format, sample_rate_hz, channels: 2 })
    }

    /// Begins a file.
    pub fn create(path: &Path, sample_rate_hz: u32, format: WavFormat) -> Result<Self, WriteError> {
        let layout = WavLayout { samples: format, sample_rate_hz, channels: 2 };
        FlacEncoder::check(path, layout)?;
        let encoder = FlacEncoder::new(layout).map_err(|error| encoder_failed(path, &error))?;
        let bytes = encoder.head().map_err(|error| encoder_failed(path, &error))?;
        let file = OutputFile::create(path).map_err(|error| WriteError::io(path, error))?;
        let mut writer =
            Self { path: path.into(), file, encoder, bytes, written: Written::default() };
        writer.put()?;
        Ok(writer)
    }

    /// As [`crate::WavWriter::write`].
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        for (&left, &right) in left.iter().zip(right) {
            let encoded = self.encoder.push([left, right], &mut self.bytes, &mut self.written);
            encoded.map_err(|error| encoder_failed(&self.path, &error))?;
        }
        self.written.frames += left.len().min(right.len()) as u64;
        self.put()
    }

    /// As [`crate::WavWriter::finish`].
    pub fn finish(mut self) -> Result<Written, WriteError> {
        let ended = self.encoder.end(&mut self.bytes).and_then(|()| self.encoder.head());
        let head = ended.map_err(|error| encoder_failed(&self.path, &error))?;
        self.put()?;
        let path = std::mem::take(&mut self.path);
        if !self.file.is_stream() {
            let file = self.file.file();
            let rewritten = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&head));
            rewritten.map_err(|error| WriteError::io(&path, error))?;
        }
        self.file.commit().map_err(|error| WriteError::io(&path, error))?;
        Ok(self.written)
    }

    fn put(&mut self) -> Result<(), WriteError> {
        let put = self.file.file().write_all(&self.bytes);
        self.bytes.clear();
        put.map_err(|error| WriteError::io(&self.path, error))
    }
}
