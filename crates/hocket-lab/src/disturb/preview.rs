//! The waveform preview of a large file, over and over.

use std::path::{Path, PathBuf};

use hocket_media::{Preview, THESIS_PIECE_BYTES, WavFormat, WavWriter};

use super::Work;

/// The audio from which a large file is made.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewSource {
    /// Left row.
    pub left: Vec<f32>,
    /// Right row.
    pub right: Vec<f32>,
    /// Sample rate.
    pub rate_hz: u32,
    /// How large the file is to be.
    pub bytes: u64,
}

impl PreviewSource {
    /// Larger than the last-level cache of most machines; the thesis used files of 8 GB, but what
    /// is not in the page cache would measure the disk.
    pub const BYTES: u64 = 64 << 20;

    /// A tone in both rows, one second of it again and again.
    pub fn tone(rate_hz: u32, bytes: u64) -> PreviewSource {
        let sample = |i: usize| (i as f32 * 0.05).sin() * 0.5;
        let row: Vec<f32> = (0..rate_hz as usize).map(sample).collect();
        PreviewSource { left: row.clone(), right: row, rate_hz, bytes }
    }

    /// Writes the audio again and again until the file is large.
    fn write(&self, path: &Path) -> Result<(), String> {
        if self.left.is_empty() {
            return Err("the preview's file holds no audio".into());
        }
        let mut writer = WavWriter::create(path, self.rate_hz, WavFormat::Pcm16)
            .map_err(|error| error.to_string())?;
        let pass = (self.left.len() * 4) as u64;
        for _ in 0..self.bytes.div_ceil(pass) {
            writer.write(&self.left, &self.right).map_err(|error| error.to_string())?;
        }
        writer.finish().map(|_| ()).map_err(|error| error.to_string())
    }
}

pub(super) struct Worker {
    preview: Preview,
}

impl Worker {
    pub(super) fn open(
        source: &PreviewSource,
        folder: &Path,
        number: usize,
    ) -> Result<Worker, String> {
        let large: PathBuf = folder.join("large.wav");
        if !large.exists() {
            source.write(&large)?;
        }
        let overview = folder.join(format!("overview-{number}"));
        Preview::open(&large, &overview, THESIS_PIECE_BYTES)
            .map(|preview| Worker { preview })
            .map_err(|error| error.to_string())
    }
}

impl Work for Worker {
    fn piece(&mut self) -> Result<(), String> {
        let progress = self.preview.step().map_err(|error| error.to_string())?;
        if progress.done {
            self.preview.restart().map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
