//! An audio file from its beginning to its end, decoded once and piece by piece.
//!
//! The frames and the warnings are those of [`decode`](super::decode), because the same code makes them. A
//! [`StreamDecoder`] reaches any position, and decodes most compressed files once more to learn their length.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::Source;
use super::compressed::{Stream, panicked};
use super::header::Header;
use super::mp4::{Edits, Heard};
use super::sniff;
use super::stream::StreamDecoder;
use crate::MediaError;
use crate::audio::not_finite;
use crate::bytes::{LastFailure, ReadAt};
use crate::sample::silence_not_finite;

/// About how many samples of an uncompressed file, and of silence, are in a piece.
const PIECE_SAMPLES: usize = 1 << 16;

/// Decodes an audio file from its beginning to its end.
pub(crate) struct PieceDecoder {
    path: PathBuf,
    kind: Kind,
    sample_rate_hz: u32,
    channels: usize,
    piece: Vec<Vec<f32>>,
    frames: u64,
    not_finite: u64,
}

enum Kind {
    Uncompressed(Box<StreamDecoder>),
    Compressed(Box<Compressed>),
}

/// A compressed stream, and how far it is.
struct Compressed {
    bytes: Arc<dyn ReadAt>,
    len: u64,
    format: String,
    failure: LastFailure,
    stream: Stream,
    /// The part that is heard; `None`: all of it.
    heard: Option<Heard>,
    /// Frames that were damaged before anything could be decoded. They are silent.
    silent: u64,
    /// The first frame of the next piece.
    at: u64,
    ended: bool,
}

impl PieceDecoder {
    /// Opens what [`decode`](super::decode) reads, and decodes the first block.
    pub fn open(path: &Path) -> Result<PieceDecoder, MediaError> {
        let mut source = Source::open(path)?;
        let (kind, sample_rate_hz, channels) = match source.any_header()? {
            Header::Pcm(layout) => {
                let decoder = StreamDecoder::pcm(source, layout)?;
                let (rate, channels) = (decoder.info().sample_rate_hz, decoder.info().channels);
                (Kind::Uncompressed(Box::new(decoder)), rate, channels)
            }
            Header::Compressed(format) => {
                let opened = caught(path, &format, || Compressed::open(source, format.clone()))?;
                let sink = &opened.stream.sink;
                let (rate, channels) = (sink.sample_rate_hz, sink.channels.len());
                (Kind::Compressed(Box::new(opened)), rate, channels)
            }
        };
        let (path, piece) = (path.into(), vec![Vec::new(); channels]);
        let (frames, not_finite) = (0, 0);
        Ok(PieceDecoder { path, kind, sample_rate_hz, channels, piece, frames, not_finite })
    }

    /// Frames per second.
    pub fn sample_rate_hz(&self) -> u32 {
        self.sample_rate_hz
    }

    /// How many rows a piece has.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// How many frames were decoded so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Decodes what comes next; `None` at the end. A piece has one frame at least, all of them finite.
    pub fn next_piece(&mut self) -> Result<Option<&[Vec<f32>]>, MediaError> {
        let (path, piece) = (&self.path, &mut self.piece);
        let is_there = match &mut self.kind {
            Kind::Uncompressed(decoder) => read(decoder, self.frames, piece)?,
            Kind::Compressed(compressed) => {
                let format = compressed.format.clone();
                let found = caught(path, &format, || compressed.next(path, piece))?;
                let silenced = piece.iter_mut().map(|row| silence_not_finite(row));
                self.not_finite += silenced.sum::<u64>();
                found
            }
        };
        self.frames += piece.first().map_or(0, Vec::len) as u64;
        Ok(is_there.then_some(&self.piece[..]))
    }

    /// What is wrong with the file, as [`Audio::warnings`](crate::Audio::warnings). All of it is known at the end.
    pub fn warnings(&self) -> Vec<String> {
        let (mut warnings, strange) = match &self.kind {
            Kind::Uncompressed(decoder) => (decoder.info().warnings.clone(), decoder.not_finite()),
            Kind::Compressed(compressed) => (compressed.stream.sink.warnings(), self.not_finite),
        };
        warnings.extend(not_finite(strange));
        warnings
    }
}

/// The frames of an uncompressed file from `at` on; whether there are any.
fn read(decoder: &mut StreamDecoder, at: u64, piece: &mut [Vec<f32>]) -> Result<bool, MediaError> {
    let frames = frames_of_piece(piece.len());
    piece.iter_mut().for_each(|row| row.resize(frames, 0.0));
    let mut rows: Vec<&mut [f32]> = piece.iter_mut().map(Vec::as_mut_slice).collect();
    let done = decoder.read(at, &mut rows)?;
    piece.iter_mut().for_each(|row| row.truncate(done));
    Ok(done > 0)
}

fn frames_of_piece(channels: usize) -> usize {
    (PIECE_SAMPLES / channels.max(1)).max(1)
}

/// A panic of a decoder becomes an error.
fn caught<T>(
    path: &Path,
    format: &str,
    run: impl FnOnce() -> Result<T, MediaError>,
) -> Result<T, MediaError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(panicked(path, format.into())))
}

impl Compressed {
    fn open(mut source: Source, format: String) -> Result<Compressed, MediaError> {
        let edits = if format == sniff::MP4 { Edits::read(&mut source) } else { Edits::default() };
        let (path, bytes, len) = (source.path, Arc::clone(&source.bytes), source.len);
        let failure = LastFailure::default();
        let stream = Stream::open(source, Arc::clone(&failure), format.clone())?;
        let heard = edits.heard(stream.track.id, stream.sink.sample_rate_hz);
        let (silent, at, ended) = (0, 0, false);
        let mut this = Compressed { bytes, len, format, failure, stream, heard, silent, at, ended };
        this.begin(path)?;
        Ok(this)
    }

    /// Up to the first block that can be decoded: only that knows rate and channels for certain. It stays in the sink.
    fn begin(&mut self, path: &Path) -> Result<(), MediaError> {
        while !self.stream.sink.started && !self.ended {
            self.stream.sink.clear();
            self.silent = self.stream.sink.frames();
            self.ended = !self.step(path)?;
        }
        self.stream.check_started()
    }

    /// The next piece, as far as it is heard; whether there is one.
    fn next(&mut self, path: &Path, piece: &mut Vec<Vec<f32>>) -> Result<bool, MediaError> {
        while self.fill(path, piece)? {
            let frames = piece[0].len() as u64;
            self.cut(piece);
            self.at += frames;
            if !piece[0].is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What comes next, heard or not; false at the end.
    fn fill(&mut self, path: &Path, piece: &mut Vec<Vec<f32>>) -> Result<bool, MediaError> {
        piece.iter_mut().for_each(Vec::clear);
        if self.silent > 0 {
            let frames = self.silent.min(frames_of_piece(piece.len()) as u64);
            piece.iter_mut().for_each(|row| row.resize(frames as usize, 0.0));
            self.silent -= frames;
            return Ok(true);
        }
        if self.stream.sink.samples() == 0 {
            if self.ended {
                if !self.is_all_unheard() {
                    return Ok(false);
                }
                self.restart(path)?;
                return self.fill(path, piece);
            }
            self.ended = !self.step(path)?;
        }
        self.stream.sink.take(piece);
        Ok(true)
    }

    /// Leaves what is heard of a piece that begins at [`Compressed::at`].
    fn cut(&self, piece: &mut [Vec<f32>]) {
        let Some(Heard { start, end }) = self.heard else { return };
        for row in piece {
            let frames = row.len() as u64;
            let inside = |frame: u64| frame.saturating_sub(self.at).min(frames) as usize;
            row.truncate(inside(end));
            row.drain(..inside(start).min(row.len()));
        }
    }

    /// Whether the part that is said to be heard lies behind the end. Then all of the stream is.
    fn is_all_unheard(&self) -> bool {
        self.heard.is_some_and(|heard| heard.start >= self.at)
    }

    /// From the beginning again, all of it heard.
    fn restart(&mut self, path: &Path) -> Result<(), MediaError> {
        let source = Source { path, bytes: Arc::clone(&self.bytes), len: self.len };
        self.failure = LastFailure::default();
        self.stream = Stream::open(source, Arc::clone(&self.failure), self.format.clone())?;
        (self.heard, self.silent, self.at, self.ended) = (None, 0, 0, false);
        self.begin(path)
    }

    /// One packet; whether there may be another.
    fn step(&mut self, path: &Path) -> Result<bool, MediaError> {
        let more = self.stream.step();
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(source) => Err(MediaError::io(path, source)),
            None => Ok(more),
        }
    }
}
