//! The waveform overview of a file, computed piece by piece.
//!
//! A sequencer that opens a long recording reads the whole file once to draw it. That reading is
//! the classic disturber of an audio engine: it is busy, it never stops, and nobody listens to
//! it. [`Preview`] does that work in steps, so that a thread can be stopped between two.
//!
//! # The overview file
//! Little-endian. A header of 32 bytes: the magic `HKTOVERV`, version (u32, 1), sample rate in Hz
//! (u32), channels (u32), frames a point (u32, 256), number of points (u64). Then the points, for
//! each the channels in order, for each channel minimum, maximum and RMS (f32 each, linear). The
//! last point covers what is left of the file.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes::{ReadAt, read_full};
use crate::decode::{FrameDecoder, MAX_CHANNELS, PcmLayout, Source};
use hocket_files::OutputFile;

use crate::{MediaError, WriteError};

/// The size of the pieces in which the thesis of 2009 read the file whose overview was drawn.
pub const THESIS_PIECE_BYTES: usize = 1600;

/// Frames that one point of the overview covers.
const FRAMES_PER_POINT: usize = 256;
const MAGIC: &[u8; 8] = b"HKTOVERV";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
const POINT_BYTES: usize = 12;
/// The longest overview that is read: of more than two days of stereo at 96 kHz.
const MAX_BYTES: u64 = 2 << 30;

/// One channel of one point: what `FRAMES_PER_POINT` samples reach. Linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The lowest sample.
    pub min: f32,
    /// The highest sample.
    pub max: f32,
    /// Root of the mean square.
    pub rms: f32,
}

impl Point {
    fn of(samples: &[f32]) -> Self {
        let mut point = Self { min: f32::INFINITY, max: f32::NEG_INFINITY, rms: 0.0 };
        let mut squares = 0.0;
        for sample in samples.iter().map(|&x| if x.is_finite() { x } else { 0.0 }) {
            point.min = point.min.min(sample);
            point.max = point.max.max(sample);
            squares += f64::from(sample) * f64::from(sample);
        }
        point.rms = (squares / samples.len() as f64).sqrt() as f32;
        point
    }
}

/// How far a [`Preview`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of audio read since the start or the last restart.
    pub bytes: u64,
    /// The overview file is written; further steps do nothing.
    pub done: bool,
}

/// Computes the overview of an uncompressed audio file, one piece a step.
///
/// Thread: any one at a time (it is `Send`); never the audio thread, since every step reads from
/// the disk. Stopping between two steps and dropping it leaves no trace on the disk.
pub struct Preview {
    out_path: PathBuf,
    bytes: Arc<dyn ReadAt>,
    layout: PcmLayout,
    piece: Vec<u8>,
    /// Bytes of the last piece that were no whole frame.
    rest: Vec<u8>,
    /// Decoded frames that are not yet a whole point, one row a channel.
    rows: Vec<Vec<f32>>,
    points: Vec<Point>,
    progress: Progress,
}

impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out_path = &self.out_path;
        f.debug_struct("Preview")
            .field("out_path", out_path)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl Preview {
    /// Opens the file at `path`; the overview will be written to `out_path`. Every step will
    /// read `piece_bytes` (at least 1; [`THESIS_PIECE_BYTES`] for the classic case).
    ///
    /// # Errors
    /// As [`decode`](crate::decode); compressed files are unsupported here.
    pub fn open(path: &Path, out_path: &Path, piece_bytes: usize) -> Result<Self, MediaError> {
        let mut source = Source::open(path)?;
        let layout = source.pcm_layout()?;
        let rows = vec![Vec::new(); layout.channels];
        Ok(Self {
            out_path: out_path.into(),
            bytes: source.bytes,
            layout,
            piece: vec![0; piece_bytes.max(1)],
            rest: Vec::new(),
            rows,
            points: Vec::new(),
            progress: Progress { bytes: 0, done: false },
        })
    }

    /// Bytes of audio in the whole file.
    pub fn total_bytes(&self) -> u64 {
        self.layout.data_len
    }

    /// Reads and digests the next piece; after the last one, writes the overview file.
    ///
    /// # Errors
    /// Where reading fails, or the overview file cannot be written (the message names it).
    pub fn step(&mut self) -> io::Result<Progress> {
        if self.progress.done {
            return Ok(self.progress);
        }
        let left = self.layout.data_len - self.progress.bytes;
        let wanted = left.min(self.piece.len() as u64) as usize;
        let at = self.layout.data_start + self.progress.bytes;
        let got = read_full(&*self.bytes, at, &mut self.piece[..wanted])?;
        self.progress.bytes += got as u64;
        self.digest(got);
        if got < wanted || self.progress.bytes == self.layout.data_len {
            self.finish()?;
        }
        Ok(self.progress)
    }

    /// Begins again at the start of the file; the finished overview stays until the next one
    /// replaces it.
    ///
    /// # Errors
    /// Where the file cannot be repositioned.
    pub fn restart(&mut self) -> io::Result<()> {
        self.rest.clear();
        self.rows.iter_mut().for_each(Vec::clear);
        self.points.clear();
        self.progress = Progress { bytes: 0, done: false };
        Ok(())
    }

    fn digest(&mut self, got: usize) {
        let frame = self.layout.channels * self.layout.bytes_per_sample;
        self.rest.extend_from_slice(&self.piece[..got]);
        let whole = self.rest.len() - self.rest.len() % frame;
        FrameDecoder::new(&self.layout).decode(&self.rest[..whole], &mut self.rows);
        self.rest.drain(..whole);
        while self.rows[0].len() >= FRAMES_PER_POINT {
            self.take_point(FRAMES_PER_POINT);
        }
    }

    fn take_point(&mut self, frames: usize) {
        for row in &mut self.rows {
            self.points.push(Point::of(&row[..frames]));
            row.drain(..frames);
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let left = self.rows[0].len();
        if left > 0 {
            self.take_point(left);
        }
        let bytes = self.encode();
        store(&self.out_path, &bytes).map_err(|error| {
            let kind = error.source.as_ref().map_or(io::ErrorKind::Other, io::Error::kind);
            io::Error::new(kind, error.to_string())
        })?;
        self.progress.done = true;
        Ok(())
    }

    fn encode(&self) -> Vec<u8> {
        let channels = self.layout.channels;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + POINT_BYTES * self.points.len());
        bytes.extend(MAGIC);
        let words = [VERSION, self.layout.sample_rate_hz, channels as u32, FRAMES_PER_POINT as u32];
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(((self.points.len() / channels) as u64).to_le_bytes());
        for point in &self.points {
            [point.min, point.max, point.rms].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        }
        bytes
    }
}

fn store(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let failed = |error| WriteError::io(path, error);
    let mut file = OutputFile::create(path).map_err(failed)?;
    file.file().write_all(bytes).and_then(|()| file.commit()).map_err(failed)
}

/// An overview file in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The rate of the audio.
    pub sample_rate_hz: u32,
    /// Frames that each point covers.
    pub frames_per_point: u32,
    /// `[channels][points]`.
    pub channels: Vec<Vec<Point>>,
}

impl Overview {
    /// Reads a file that [`Preview`] wrote.
    ///
    /// # Errors
    /// Where the file cannot be read or is no such file.
    pub fn read(path: &Path) -> Result<Self, MediaError> {
        let read = hocket_files::read_bytes(path, MAX_BYTES);
        let bytes = read.map_err(|error| MediaError::io(path, error.into()))?;
        Self::parse(&bytes).map_err(|cause| MediaError::Malformed {
            path: path.into(),
            format: "overview".into(),
            cause: cause.into(),
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is cut short")?;
        if &header[..8] != MAGIC {
            return Err("it does not begin with HKTOVERV");
        }
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        if word(8) != VERSION {
            return Err("it has another version");
        }
        let channels = word(16) as usize;
        let points = u64::from(word(24)) | u64::from(word(28)) << 32;
        let stated =
            points.checked_mul(POINT_BYTES as u64).and_then(|n| n.checked_mul(channels as u64));
        if stated != Some(body.len() as u64) {
            return Err("its size is not what its header says");
        }
        // Without points, any number of channels has the right size.
        if !(1..=MAX_CHANNELS).contains(&channels) {
            return Err("it has no channels, or more than any audio file");
        }
        let mut rows = vec![Vec::with_capacity(points as usize); channels];
        for (index, raw) in body.chunks_exact(POINT_BYTES).enumerate() {
            rows[index % channels].push(point(raw));
        }
        Ok(Self { sample_rate_hz: word(12), frames_per_point: word(20), channels: rows })
    }
}

fn point(raw: &[u8]) -> Point {
    let value = |at: usize| f32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
    Point { min: value(0), max: value(4), rms: value(8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overviews_of_the_wrong_size_are_refused() {
        assert!(Overview::parse(b"HKTOVERV").is_err());
        let mut bytes = MAGIC.to_vec();
        for word in [VERSION, 48_000, u32::MAX, 256, u32::MAX, u32::MAX] {
            bytes.extend(word.to_le_bytes());
        }
        assert!(Overview::parse(&bytes).is_err());
    }

    #[test]
    fn channels_without_points_take_no_memory() {
        let mut bytes = MAGIC.to_vec();
        for word in [VERSION, 48_000, u32::MAX, 256, 0, 0] {
            bytes.extend(word.to_le_bytes());
        }
        assert!(Overview::parse(&bytes).is_err());
    }
}
