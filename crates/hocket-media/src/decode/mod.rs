//! Any audio file to planar `f32`.
//!
//! Two ways, chosen by content and never by name:
//!
//! 1. Uncompressed containers (WAV with its RF64, BW64, RIFX and W64 kin, AIFF, AU) are read
//!    here, sample format by sample format, because their headers lie most often and the right
//!    answer to each lie is to play what is really there.
//! 2. Everything compressed goes through Symphonia, which is trusted for sound but not for
//!    sizes: output is counted while it is produced, and a panic inside is caught.

mod sniff;
mod header;
mod riff;
mod aiff;
mod au;
mod pcm;
mod mp4;
mod mp3;
mod sink;
mod compressed;
mod stream;
mod pieces;
mod faults;

use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

use crate::bytes::{ReadAt, read_full};
use crate::{Audio, AudioFacts, MediaError};
pub use faults::examine;
use header::Header;
pub(crate) use header::{PcmLayout, position};
pub(crate) use pcm::FrameDecoder;
pub(crate) use pieces::PieceDecoder;
use sniff::{Container, Content};
pub use stream::{SeekCost, StreamDecoder, StreamInfo};

/// The most samples (frames times channels) that one file may hold: 2 GiB of `f32`.
pub const MAX_SAMPLES: usize = (2 << 30) / size_of::<f32>();
/// The most channels one file may have.
pub const MAX_CHANNELS: usize = 256;
/// The lowest sample rate that is believed: a lower one is a damaged header, and converting it
/// to the engine's rate would fill the memory.
pub const MIN_SAMPLE_RATE_HZ: u32 = 1_000;
/// The highest sample rate that is believed, 32 times 48 kHz.
pub const MAX_SAMPLE_RATE_HZ: u32 = 1_536_000;

/// Decodes a whole audio file into memory.
///
/// Reads WAV, RF64, BW64, RIFX, W64, AIFF, AIFF-C and AU with integers of 1 to 64 bits, 32 and 64
/// bit floats, A-law and mu-law; ADPCM in WAV; CAF; FLAC; MP3; Vorbis and FLAC in Ogg; AAC and
/// ALAC in MP4. Integers are scaled so that the most negative one is -1.0.
///
/// Truncated and damaged files give the intact part, with [`Audio::warnings`] saying what is
/// missing. A damaged block inside a FLAC file becomes silence of the same length. A WAV file
/// whose sizes were never filled in (a recorder that crashed) is read to its end.
///
/// MP3 files that were joined are played to their end, whatever the header of the first one says; that is a warning, too.
///
/// The delay and padding that MP3, Vorbis and AAC encoders add are removed. For MP4 they stand in the
/// edit list or in the tag `iTunSMPB`; bare AAC (ADTS) does not say them and begins late, usually by
/// 1024 frames.
///
/// Memory: never more than what the file really holds, and at most [`MAX_SAMPLES`] samples.
///
/// # Errors
/// One [`MediaError`] with path, cause and remedy; this never panics.
pub fn decode(path: &Path) -> Result<Audio, MediaError> {
    decode_within(path, MAX_SAMPLES)
}

/// As [`decode`], of a file that holds at most `limit_samples` samples, and no more than [`MAX_SAMPLES`].
///
/// Memory: never more than these samples, and a block of a compressed file. What an encoder adds at both ends counts, too.
///
/// # Errors
/// As [`decode`]; [`MediaError::TooLarge`] of a file that holds more.
pub fn decode_within(path: &Path, limit_samples: usize) -> Result<Audio, MediaError> {
    let limit = limit_samples.min(MAX_SAMPLES);
    let mut source = Source::open(path)?;
    match source.any_header()? {
        Header::Pcm(layout) => pcm::decode(&mut source, &layout, limit),
        Header::Compressed(format) => {
            let mut audio = compressed::decode(source, format, limit)?;
            audio.silence_not_finite();
            Ok(audio)
        }
    }
}

/// Reads the header of an audio file, and of a compressed one as much as its decoder needs to begin.
///
/// Cost: opens the file and reads some kilobytes; of an MP3 file without a header of its length, the length is a guess.
///
/// # Errors
/// As [`decode`], for whatever is wrong up to the first sound; this never panics.
pub fn probe(path: &Path) -> Result<AudioFacts, MediaError> {
    let mut source = Source::open(path)?;
    match source.any_header()? {
        Header::Pcm(layout) => Ok(layout.facts()),
        Header::Compressed(format) => compressed::probe(source, format),
    }
}

/// Bytes that are known not to be empty.
pub(crate) struct Source<'p> {
    pub path: &'p Path,
    pub bytes: Arc<dyn ReadAt>,
    pub len: u64,
}

impl<'p> Source<'p> {
    /// Opens a regular file. Anything else is refused before opening, since opening a pipe
    /// without a writer would wait for ever.
    pub fn open(path: &'p Path) -> Result<Self, MediaError> {
        let io = |source| MediaError::io(path, source);
        let metadata = std::fs::metadata(path).map_err(io)?;
        if let Some(what) = other_than_file(&metadata) {
            return Err(MediaError::NotAFile { path: path.into(), what });
        }
        Self::new(path, Arc::new(File::open(path).map_err(io)?))
    }

    /// Bytes that are open already; `path` names them in messages.
    pub fn new(path: &'p Path, bytes: Arc<dyn ReadAt>) -> Result<Self, MediaError> {
        let len = bytes.byte_len().map_err(|source| MediaError::io(path, source))?;
        if len == 0 {
            return Err(MediaError::Empty { path: path.into() });
        }
        Ok(Self { path, bytes, len })
    }

    /// What the content is, by its first bytes.
    fn identify(&mut self) -> Result<Content, MediaError> {
        let mut head = [0; sniff::HEAD_BYTES];
        let len = self.read_at(0, &mut head)?;
        let named_mp3 = self.path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("mp3"));
        sniff::identify(&head[..len], named_mp3)
            .map_err(|found| MediaError::Unrecognised { path: self.path.into(), found })
    }

    /// What the first bytes say, and the header of an uncompressed container.
    fn any_header(&mut self) -> Result<Header, MediaError> {
        match self.identify()? {
            Content::Unsupported(format) => {
                Err(MediaError::Unsupported { path: self.path.into(), format: format.into() })
            }
            Content::Pcm(container) => self.header(container),
            Content::Compressed(format) => Ok(Header::Compressed(format.into())),
        }
    }

    /// The header of an uncompressed container.
    fn header(&mut self, container: Container) -> Result<Header, MediaError> {
        match container {
            Container::Riff => riff::read_header(self),
            Container::Aiff => aiff::read_header(self),
            Container::Au => au::read_header(self),
        }
    }

    /// Where the samples of an uncompressed file are; anything else is unsupported.
    pub fn pcm_layout(&mut self) -> Result<PcmLayout, MediaError> {
        let format = match self.identify()? {
            Content::Pcm(container) => match self.header(container)? {
                Header::Pcm(layout) => return Ok(layout),
                Header::Compressed(format) => format,
            },
            Content::Compressed(format) | Content::Unsupported(format) => format.into(),
        };
        Err(MediaError::Unsupported { path: self.path.into(), format })
    }

    /// Fills as much of `buffer` as the file has from `position` on; returns how much that is.
    pub fn read_at(&mut self, position: u64, buffer: &mut [u8]) -> Result<usize, MediaError> {
        let read = read_full(&*self.bytes, position, buffer);
        read.map_err(|source| MediaError::io(self.path, source))
    }

    pub fn malformed(&self, format: &str, cause: impl Into<String>) -> MediaError {
        MediaError::Malformed { path: self.path.into(), format: format.into(), cause: cause.into() }
    }
}

fn other_than_file(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_file() {
        None
    } else if metadata.is_dir() {
        Some("a folder")
    } else {
        Some("a pipe, socket or device")
    }
}
