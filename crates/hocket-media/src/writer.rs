//! An audio file in the format that its name ends with.

use std::path::Path;

use crate::flac::FlacWriter;
use crate::{Dither, WavFormat, WavWriter, WriteError, Written};

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// WAV; RF64 over 4 GiB.
    Wav,
    /// FLAC, 16 or 24 bits, up to 96 kHz.
    Flac,
}

impl FileFormat {
    /// The endings, for messages.
    pub const ENDINGS: &str = ".wav (or .wave) and .flac";

    /// By the ending of the name, upper or lower case; `None` for another ending or none.
    pub fn of(path: &Path) -> Option<FileFormat> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "wav" | "wave" => Some(FileFormat::Wav),
            "flac" => Some(FileFormat::Flac),
            _ => None,
        }
    }

    /// Whether a file of this format can hold such samples.
    ///
    /// # Errors
    /// Why not, and what to choose.
    pub fn check(
        self,
        path: &Path,
        sample_rate_hz: u32,
        samples: WavFormat,
    ) -> Result<(), WriteError> {
        match self {
            FileFormat::Wav => Ok(()),
            FileFormat::Flac => FlacWriter::check(path, sample_rate_hz, samples),
        }
    }
}

/// Writes a stereo audio file, a block at a time. See [`WavWriter`] for what holds of every format.
pub struct AudioWriter {
    kind: Kind,
    samples: WavFormat,
    /// Frames so far.
    frames: u64,
    dither: Option<Dither>,
    /// Rows with their noise.
    dithered: [Vec<f32>; 2],
}

enum Kind {
    Wav(Box<WavWriter>),
    Flac(Box<FlacWriter>),
}

impl AudioWriter {
    /// Begins a file of `frames` frames.
    ///
    /// # Errors
    /// Where the folder is missing or not writable, `path` is a folder, or `format` cannot hold such samples.
    pub fn create(
        path: &Path,
        format: FileFormat,
        sample_rate_hz: u32,
        samples: WavFormat,
        frames: u64,
    ) -> Result<Self, WriteError> {
        let kind = match format {
            FileFormat::Wav => {
                let writer = WavWriter::create(path, sample_rate_hz, samples)?;
                Kind::Wav(Box::new(writer.expecting(frames)))
            }
            FileFormat::Flac => {
                Kind::Flac(Box::new(FlacWriter::create(path, sample_rate_hz, samples)?))
            }
        };
        let dithered = [Vec::new(), Vec::new()];
        Ok(Self { kind, samples, frames: 0, dither: None, dithered })
    }

    /// Adds noise before it rounds to 16 bits; other formats have steps so small that they need none. Call it before
    /// the first block. Without it samples are rounded as they are.
    #[must_use]
    pub fn with_dither(mut self, dither: Option<Dither>) -> Self {
        self.dither = dither.filter(|_| self.samples == WavFormat::Pcm16);
        self
    }

    /// As [`WavWriter::write`].
    ///
    /// # Errors
    /// As for [`WavWriter::write`].
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        let frames = left.len().min(right.len());
        let mut rows = [&left[..frames], &right[..frames]];
        if let Some(dither) = self.dither {
            for (channel, row) in (0..).zip(rows) {
                let noisy = |(frame, &sample): (u64, &f32)| {
                    dither.add(sample, (frame, channel), self.samples.full_scale())
                };
                let into = &mut self.dithered[channel as usize];
                into.clear();
                into.extend((self.frames..).zip(row).map(noisy));
            }
            rows = self.dithered.each_ref().map(Vec::as_slice);
        }
        self.frames += frames as u64;
        match &mut self.kind {
            Kind::Wav(writer) => writer.write(rows[0], rows[1]),
            Kind::Flac(writer) => writer.write(rows[0], rows[1]),
        }
    }

    /// As [`WavWriter::finish`].
    ///
    /// # Errors
    /// As for [`WavWriter::finish`].
    pub fn finish(self) -> Result<Written, WriteError> {
        match self.kind {
            Kind::Wav(writer) => writer.finish(),
            Kind::Flac(writer) => writer.finish(),
        }
    }
}
