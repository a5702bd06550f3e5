//! Sound from disks and to disks while it plays.
//!
//! # The idea
//!
//! A disk answers after microseconds or after ten seconds. A real-time thread cannot wait for it, so other threads
//! do. Between the two are rings ([`hocket_rt::Ring`]), without unsafe code. The end of a take needs one thing more: what
//! a [`TakeInput`] has in hand is behind a lock that both sides only try, so that a recorder that stops can take it.
//!
//! - A *stream* is an audio file that plays from the disk. The [`Preloader`] reads ahead of it. The [`StreamReader`]
//!   gives its frames to a real-time thread. What has not arrived in time is silence that is counted and named.
//! - A *take* is a recording. The [`TakeInput`] accepts frames from a real-time thread. The [`Recorder`] writes them.
//!   What finds no room becomes silence of equal length, counted and listed.
//!
//! # The parts
//!
//! | part | thread | what it does |
//! |---|---|---|
//! | [`Preloader`] | control | starts and stops the threads that read; opens streams within a budget of memory |
//! | [`Stream`] | control | brings a position into memory before a jump; reports what was not ready, and why |
//! | [`StreamReader`] | real-time, or offline rendering | frames of the file from any position; loops |
//! | [`Storage`] | preloader | where bytes come from: a file, or a stand-in that stalls and fails |
//! | [`Recorder`] | control | starts and stops the threads that write; begins takes |
//! | [`TakeInput`] | real-time | takes frames |
//! | [`EventTakeInput`] | real-time | takes notes and messages, for a MIDI file |
//! | [`Take`] | control | progress, and the report at the end |
//! | [`recover`] | control | completes the header of a recording whose program was killed |
//!
//! # Memory
//!
//! All frames that are read ahead are in chunks of one size. They exist from the opening of a stream to its end and
//! only change hands. [`Settings::disk_buffer_bytes`] bounds their sum; what would exceed it is refused.
//! [`StreamReader::memory`] and [`TakeInput::memory`] say where they are, so that a caller can lock them. Besides
//! these a stream needs about 64 KiB to decode.
//!
//! # The limits
//!
//! - Files at another rate than the engine's are not converted while they stream: the converter's state depends on
//!   everything before, so a jump would change bits. [`Preloader::open`] refuses them with
//!   [`OpenError::OtherRate`]. Decode and convert such files in memory.
//! - Formats without independent blocks (all lossy ones) start from the beginning of the file after a jump backwards.
//!   [`Stream::info`] says so ([`SeekCost::FromTheStart`]). Decode them in memory if they loop.
//! - A read that the disk does not answer holds its thread, also when the preloader stops. One device never holds
//!   more than half of the threads.
#![forbid(unsafe_code)]

mod chunk;
mod storage;
mod error;
mod settings;
mod gaps;
mod gap_counter;
mod reader;
mod feeder;
mod stream;
mod devices;
mod preloader;
mod record;
mod recover;

pub use chunk::MemoryRange;
pub use error::{OpenError, PreloadError, RecoverError};
pub use gaps::{Gap, StreamReport};
pub use hocket_media::{ReadAt, SeekCost, StreamInfo, WavFormat, WriteError};
pub use preloader::Preloader;
pub use reader::StreamReader;
pub use record::{
    EventTakeInput, EventTakeSettings, EventsReport, Missing, Recorder, RecorderSettings, Silence,
    Take, TakeFormat, TakeInput, TakeReport, TakeSettings, TakeStatus, TakeWatch,
};
pub use recover::{Recovery, recover};
pub use settings::Settings;
pub use storage::{FileStorage, Storage};
pub use stream::{Stream, WantedPosition};
