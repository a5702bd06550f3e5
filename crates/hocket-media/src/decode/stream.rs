//! An audio file, decoded piece by piece from any position.
//!
//! The bits are those of [`decode`](super::decode), because the same code makes them. Where a format has no
//! independent blocks (everything lossy), a position is reached by decoding from the beginning: the decoder's state
//! would differ otherwise, and with it the bits.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use symphonia::core::formats::{SeekMode, SeekTo};

use super::compressed::{Stream, panicked};
use super::header::Header;
use super::mp4::{Edits, Heard};
use super::sniff;
use super::{FrameDecoder, MAX_CHANNELS, PcmLayout, Source, pcm};
use crate::MediaError;
use crate::bytes::{LastFailure, ReadAt, read_full};
use crate::sample::silence_not_finite;

/// About how many bytes of an uncompressed file are read at a time.
const PIECE_BYTES: usize = 1 << 16;
/// A position in a FLAC file that is this far ahead is looked for, not decoded up to.
const SEEK_AHEAD_FRAMES: u64 = 1 << 15;

/// What a jump to another position costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekCost {
    /// The same everywhere: uncompressed files, and FLAC files that state their length.
    Direct,
    /// Backwards: everything from the beginning of the file is decoded again. A file with loops or many jumps is
    /// better decoded into memory.
    FromTheStart,
}

/// What a stream holds.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// Frames per second.
    pub sample_rate_hz: u32,
    /// 1 to [`MAX_CHANNELS`].
    pub channels: usize,
    /// Length in frames: that of [`decode`](super::decode), except for a FLAC file that is cut short or damaged at
    /// its end. Its length here is the one that its header states.
    pub frames: u64,
    /// What a jump costs.
    pub seek: SeekCost,
    /// Whether the length is only what a FLAC header states: decoding may show that the file is cut short.
    pub is_length_stated: bool,
    /// As [`Audio::warnings`](crate::Audio::warnings), as far as they are known without decoding.
    pub warnings: Vec<String>,
}

/// Decodes an audio file piece by piece.
///
/// Thread: any one at a time; never the audio thread, since it reads and allocates. Memory: a few blocks of a
/// compressed file, about 64 KiB of an uncompressed one.
pub struct StreamDecoder {
    path: PathBuf,
    info: StreamInfo,
    kind: Kind,
    not_finite: u64,
}

enum Kind {
    Pcm { bytes: Arc<dyn ReadAt>, layout: PcmLayout, decoder: FrameDecoder, piece: Vec<u8> },
    Compressed(Box<Compressed>),
}

impl Kind {
    /// Whether what is decoded needs no look for NaN and infinities.
    fn is_always_finite(&self) -> bool {
        matches!(self, Kind::Pcm { layout, .. } if layout.is_always_finite())
    }
}

struct Compressed {
    bytes: Arc<dyn ReadAt>,
    len: u64,
    format: String,
    failure: LastFailure,
    stream: Stream,
    /// The first frame that is heard.
    start: u64,
    /// Blocks are independent, and their stamps count frames.
    can_seek: bool,
}

impl fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("StreamDecoder");
        debug.field("path", &self.path).field("info", &self.info).finish_non_exhaustive()
    }
}

impl StreamDecoder {
    /// Opens what [`decode`](super::decode) reads. `path` names the bytes in messages.
    ///
    /// Cost: a header. A compressed file other than FLAC is decoded once to learn its length. A file whose samples
    /// are smaller than their containers is read once.
    ///
    /// # Errors
    /// As [`decode`](super::decode); no file is too large.
    pub fn open(path: &Path, bytes: Arc<dyn ReadAt>) -> Result<Self, MediaError> {
        let mut source = Source::new(path, bytes)?;
        match source.any_header()? {
            Header::Pcm(layout) => Self::pcm(source, layout),
            Header::Compressed(format) => {
                let opened = caught(source, format, Compressed::open)?;
                Ok(Self::compressed(path, opened))
            }
        }
    }

    /// As [`StreamDecoder::open`], but only what can be read from any position at once ([`SeekCost::Direct`]).
    /// `None` for other files, which are not decoded.
    ///
    /// # Errors
    /// As [`StreamDecoder::open`].
    pub fn open_direct(path: &Path, bytes: Arc<dyn ReadAt>) -> Result<Option<Self>, MediaError> {
        let mut source = Source::new(path, bytes)?;
        match source.any_header()? {
            Header::Pcm(layout) => Self::pcm(source, layout).map(Some),
            Header::Compressed(format) => {
                let opened = caught(source, format, Compressed::open_direct)?;
                Ok(opened.map(|opened| Self::compressed(path, opened)))
            }
        }
    }

    /// An uncompressed file.
    pub(super) fn pcm(mut source: Source, layout: PcmLayout) -> Result<Self, MediaError> {
        let (decoder, warnings) = pcm::frame_decoder(&mut source, &layout)?;
        let frame = (layout.channels * layout.bytes_per_sample) as u64;
        let info = StreamInfo {
            sample_rate_hz: layout.sample_rate_hz,
            channels: layout.channels,
            frames: layout.data_len / frame,
            seek: SeekCost::Direct,
            is_length_stated: false,
            warnings,
        };
        let kind = Kind::Pcm { bytes: source.bytes, layout, decoder, piece: Vec::new() };
        Ok(Self { path: source.path.into(), info, kind, not_finite: 0 })
    }

    fn compressed(path: &Path, (compressed, info): (Compressed, StreamInfo)) -> Self {
        let kind = Kind::Compressed(Box::new(compressed));
        Self { path: path.into(), info, kind, not_finite: 0 }
    }

    /// What the stream holds.
    pub fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// The same stream over other bytes, after a disk has come back: nothing is counted again.
    ///
    /// # Errors
    /// As [`StreamDecoder::open`]. [`MediaError::Malformed`] where these bytes are another stream.
    pub fn reopened(&self, bytes: Arc<dyn ReadAt>) -> Result<Self, MediaError> {
        let path = &self.path;
        let kind = match &self.kind {
            Kind::Pcm { layout, decoder, .. } => {
                let mut source = Source::new(path, Arc::clone(&bytes))?;
                let now = source.pcm_layout()?;
                if !now.is_like(layout) {
                    return Err(source.malformed("audio", CHANGED));
                }
                let (layout, decoder) = (layout.clone(), decoder.clone());
                Kind::Pcm { bytes, layout, decoder, piece: Vec::new() }
            }
            Kind::Compressed(old) => {
                let again =
                    catch_unwind(AssertUnwindSafe(|| old.reopened(path, bytes, &self.info)));
                let again = again.unwrap_or_else(|_| Err(panicked(path, old.format.clone())))?;
                Kind::Compressed(Box::new(again))
            }
        };
        let (info, not_finite) = (self.info.clone(), self.not_finite);
        Ok(Self { path: path.clone(), info, kind, not_finite })
    }

    /// Samples read so far that were NaN or infinite, and are silent. One that is read again counts again.
    pub fn not_finite(&self) -> u64 {
        self.not_finite
    }

    /// What was damaged since the latest jump, as [`Audio::warnings`](crate::Audio::warnings). Only compressed files show it.
    pub fn faults(&self) -> Vec<String> {
        match &self.kind {
            Kind::Pcm { .. } => Vec::new(),
            Kind::Compressed(compressed) => compressed.stream.sink.faults(),
        }
    }

    /// Decodes frames from `position` on into the rows.
    ///
    /// Shape: one row for each channel, or for each of the first ones, all of one length. Unit: linear, 1.0 = full scale, always finite.
    /// Returns how many frames there were; fewer than the rows hold where the stream, or the file, ends.
    ///
    /// # Errors
    /// [`MediaError::Io`] where the bytes cannot be read, [`MediaError::Decoder`] where the decoder fails. Use
    /// [`StreamDecoder::reopened`] then; this one is in no state to go on.
    pub fn read(&mut self, position: u64, rows: &mut [&mut [f32]]) -> Result<usize, MediaError> {
        let left = self.info.frames.saturating_sub(position);
        let wanted = rows
            .first()
            .map_or(0, |row| row.len())
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut rows: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..wanted]).collect();
        let path = &self.path;
        let done = match &mut self.kind {
            Kind::Pcm { bytes, layout, decoder, piece } => {
                read_pcm(&**bytes, layout, decoder, piece, position, &mut rows)
                    .map_err(|source| MediaError::io(path, source))
            }
            Kind::Compressed(compressed) => {
                let read =
                    catch_unwind(AssertUnwindSafe(|| compressed.read(path, position, &mut rows)));
                read.unwrap_or_else(|_| Err(panicked(path, compressed.format.clone())))
            }
        }?;
        if !self.kind.is_always_finite() {
            let silenced = rows.iter_mut().map(|row| silence_not_finite(&mut row[..done]));
            self.not_finite += silenced.sum::<u64>();
        }
        Ok(done)
    }
}

/// Opens a compressed stream; a panic becomes an error.
fn caught<T>(
    source: Source,
    format: String,
    open: impl FnOnce(Source, String) -> Result<T, MediaError>,
) -> Result<T, MediaError> {
    let (path, name) = (source.path, format.clone());
    let opened = catch_unwind(AssertUnwindSafe(|| open(source, format)));
    opened.unwrap_or_else(|_| Err(panicked(path, name)))
}

const CHANGED: &str = "it is another file than the one that was opened";

fn read_pcm(
    bytes: &dyn ReadAt,
    layout: &PcmLayout,
    decoder: &FrameDecoder,
    piece: &mut Vec<u8>,
    position: u64,
    rows: &mut [&mut [f32]],
) -> std::io::Result<usize> {
    let frame = layout.channels * layout.bytes_per_sample;
    let wanted = rows.first().map_or(0, |row| row.len());
    let piece_frames = (PIECE_BYTES / frame).max(1);
    piece.resize(piece_frames.min(wanted) * frame, 0);
    let mut done = 0;
    while done < wanted {
        let count = (wanted - done).min(piece_frames);
        let at = layout.data_start + (position + done as u64) * frame as u64;
        let got = read_full(bytes, at, &mut piece[..count * frame])?;
        decoder.decode_into(&piece[..got - got % frame], rows, done);
        done += got / frame;
        if got < count * frame {
            break;
        }
    }
    Ok(done)
}

impl Compressed {
    fn open(source: Source, format: String) -> Result<(Self, StreamInfo), MediaError> {
        let path = source.path;
        let (mut this, heard) = Self::begun(source, format)?;
        let info = if this.can_seek { this.stated() } else { this.counted(path, heard)? };
        Ok((this, info))
    }

    /// `None`: what lies before a position has to be decoded first.
    fn open_direct(
        source: Source,
        format: String,
    ) -> Result<Option<(Self, StreamInfo)>, MediaError> {
        let (this, _) = Self::begun(source, format)?;
        let info = this.stated();
        Ok(this.can_seek.then_some((this, info)))
    }

    /// At the start, and which part is heard.
    fn begun(mut source: Source, format: String) -> Result<(Self, Option<Heard>), MediaError> {
        let edits = if format == sniff::MP4 { Edits::read(&mut source) } else { Edits::default() };
        let mut this = Self::at_the_start(source.path, source.bytes, source.len, format)?;
        let sink = &this.stream.sink;
        let heard = edits.heard(this.stream.track.id, sink.sample_rate_hz);
        let stated = sink.announced > 0 && (1..=MAX_CHANNELS).contains(&sink.channels.len());
        this.can_seek = this.format == sniff::FLAC && stated && this.stream.frame_stamps;
        Ok((this, heard))
    }

    fn at_the_start(
        path: &Path,
        bytes: Arc<dyn ReadAt>,
        len: u64,
        format: String,
    ) -> Result<Self, MediaError> {
        let failure = LastFailure::default();
        let source = Source { path, bytes: Arc::clone(&bytes), len };
        let stream = Stream::open(source, Arc::clone(&failure), format.clone())?;
        Ok(Self { bytes, len, format, failure, stream, start: 0, can_seek: false })
    }

    /// What the header states.
    fn stated(&self) -> StreamInfo {
        let sink = &self.stream.sink;
        StreamInfo {
            sample_rate_hz: sink.sample_rate_hz,
            channels: sink.channels.len(),
            frames: sink.announced,
            seek: SeekCost::Direct,
            is_length_stated: true,
            warnings: Vec::new(),
        }
    }

    /// What decoding everything shows; back at the start afterwards.
    fn counted(&mut self, path: &Path, heard: Option<Heard>) -> Result<StreamInfo, MediaError> {
        while self.step(path)? {
            self.stream.sink.clear();
        }
        self.stream.check_started()?;
        let sink = &self.stream.sink;
        let all = sink.frames();
        let heard = heard.filter(|heard| heard.start < all);
        let (start, end) = heard.map_or((0, all), |heard| (heard.start, heard.end.min(all)));
        let info = StreamInfo {
            sample_rate_hz: sink.sample_rate_hz,
            channels: sink.channels.len(),
            frames: end.saturating_sub(start),
            seek: SeekCost::FromTheStart,
            is_length_stated: false,
            warnings: sink.warnings(),
        };
        self.restart(path)?;
        self.start = start;
        Ok(info)
    }

    fn reopened(
        &self,
        path: &Path,
        bytes: Arc<dyn ReadAt>,
        info: &StreamInfo,
    ) -> Result<Self, MediaError> {
        let source = Source::new(path, bytes)?;
        let mut again = Self::at_the_start(path, source.bytes, source.len, self.format.clone())?;
        let sink = &again.stream.sink;
        if self.can_seek && (sink.announced, sink.channels.len()) != (info.frames, info.channels) {
            return Err(MediaError::Malformed {
                path: path.into(),
                format: self.format.clone(),
                cause: CHANGED.into(),
            });
        }
        (again.start, again.can_seek) = (self.start, self.can_seek);
        Ok(again)
    }

    fn restart(&mut self, path: &Path) -> Result<(), MediaError> {
        let again =
            Self::at_the_start(path, Arc::clone(&self.bytes), self.len, self.format.clone())?;
        (self.failure, self.stream) = (again.failure, again.stream);
        Ok(())
    }

    fn read(
        &mut self,
        path: &Path,
        position: u64,
        rows: &mut [&mut [f32]],
    ) -> Result<usize, MediaError> {
        let position = position + self.start;
        let wanted = rows.first().map_or(0, |row| row.len());
        self.go_to(path, position)?;
        let mut done = 0;
        loop {
            done += self.stream.sink.copy(position + done as u64, rows, done);
            if done == wanted {
                return Ok(done);
            }
            self.stream.sink.clear();
            if !self.step(path)? {
                // The last packet may have been decoded by the step that ended the stream.
                return Ok(done + self.stream.sink.copy(position + done as u64, rows, done));
            }
        }
    }

    /// Decodes until `position` is in memory, or is what comes next.
    fn go_to(&mut self, path: &Path, position: u64) -> Result<(), MediaError> {
        let (base, next) = (self.stream.sink.base(), self.stream.sink.frames());
        let is_far = position > next + SEEK_AHEAD_FRAMES;
        if position < base || (self.can_seek && is_far) {
            self.restart(path)?;
            if self.can_seek && !self.seek(position) {
                self.restart(path)?;
            }
        }
        while self.stream.sink.frames() <= position {
            self.stream.sink.clear();
            if !self.step(path)? {
                break;
            }
        }
        Ok(())
    }

    /// Looks for the block that holds `position`; whether it, or an earlier one, was found. Only for a stream that is
    /// at its start: Symphonia's reader keeps parts of old blocks where the search happens to begin at a block.
    fn seek(&mut self, position: u64) -> bool {
        let Ok(ts) = i64::try_from(position) else { return false };
        let to = SeekTo::Timestamp { ts: ts.into(), track_id: self.stream.track.id };
        let Ok(at) = self.stream.reader.seek(SeekMode::Accurate, to) else { return false };
        let Ok(frame) = u64::try_from(at.actual_ts.get()) else { return false };
        self.stream.decoder.reset();
        self.stream.sink.damage = Default::default();
        self.stream.sink.go_on_at(frame);
        frame <= position
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
