//! What can go wrong on control threads. Real-time threads degrade and count instead.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hocket_media::MediaError;

/// Why a stream did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read or decoded. No retry helps unless the file changes.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The file has another rate than the caller plays at.
    #[error(
        "{}: the file is at {has_hz} Hz and plays at {wants_hz} Hz; it cannot stream: decode and convert it in memory, \
         or convert the file",
        path.display()
    )]
    OtherRate {
        /// The file.
        path: PathBuf,
        /// The file's rate.
        has_hz: u32,
        /// The caller's rate.
        wants_hz: u32,
    },
    /// The stream's chunks do not fit into what is left of the budget. Close other streams, or ask for fewer chunks.
    #[error(
        "{}: reading ahead needs {needs_bytes} bytes, {left_bytes} of the disk buffer are left; enlarge the disk \
         buffer, or stream fewer files",
        path.display()
    )]
    OverBudget {
        /// The file.
        path: PathBuf,
        /// What its chunks need.
        needs_bytes: usize,
        /// What is left.
        left_bytes: usize,
    },
    /// [`Preloader::stop`](crate::Preloader::stop) was called.
    #[error("{}: the preloader has stopped; start another one", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
}

/// Why a position did not get into memory in time. Playing there is possible; it may begin with silence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreloadError {
    /// The disk is slow, or the reader has not taken the positions before: see
    /// [`StreamReader::service`](crate::StreamReader::service).
    #[error("{name}: frame {position} was not read within {} ms; is the disk busy?", waited.as_millis())]
    TooSlow {
        /// The stream.
        name: String,
        /// The position.
        position: u64,
        /// How long the call waited.
        waited: Duration,
    },
    /// Reading fails.
    #[error("{name}: frame {position} cannot be read: {cause}")]
    Failing {
        /// The stream.
        name: String,
        /// The position.
        position: u64,
        /// Why.
        cause: String,
    },
}

/// Why a file was not recovered. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// What the system said.
    #[error("{}: cannot be recovered: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A recorder holds the file's lock.
    #[error("{}: is being recorded; stop the recording first", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It is no WAV, RF64 or FLAC file and no MIDI file of Hocket, or its format is not stated.
    #[error("{}: cannot be recovered: {cause}; recover works on WAV, RF64 and FLAC files, and on MIDI files that Hocket recorded", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
        /// What was found.
        cause: String,
    },
    /// More than 4 GiB behind a header without room for sizes of 64 bits.
    #[error(
        "{}: holds more than 4 GiB and its header has no room to say so; import it as raw samples from byte {data_at}",
        path.display()
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Where the samples begin.
        data_at: u64,
    },
}
