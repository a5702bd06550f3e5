//! What control threads have of a clip that streams. The clip owns it, so it goes with the clip.

use std::sync::Arc;
use std::time::Instant;

use super::clip_times::ClipTimes;

/// A stream, for control threads.
pub trait StreamHandle: Send + Sync {
    /// Asks for the frames from `position` on. Does not wait.
    fn want(&self, position: u64);

    /// Waits until a position that was wanted is in memory, at most until `until`.
    ///
    /// # Errors
    /// Why it is not, with the file's name.
    fn wait(&self, position: u64, until: Instant) -> Result<(), String>;

    /// Whether everything is in memory that finds room, from the position on that is read next.
    fn is_filled(&self) -> bool;

    /// What was silent so far because it was not in memory in time.
    fn not_ready(&self) -> NotReady;
}

/// What a file did not have in memory in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// The file.
    pub file: String,
    /// All frames of silence.
    pub frames: u64,
    /// Where and why: the latest ones.
    pub gaps: Vec<StreamGap>,
    /// Samples read ahead that were NaN or infinite, and are silent. One that is read again counts again.
    pub not_finite: u64,
    /// Why nothing more of it is read, if reading has ended because of a fault: what follows is silent.
    pub ended: Option<String>,
}

/// Frames in a row that were silent because they were not in memory in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamGap {
    /// The first one, as a frame of the file.
    pub position: u64,
    /// How many.
    pub frames: u64,
    /// What the disk said, or that it was too slow.
    pub cause: String,
}

/// What a pool notes of a clip that streams.
pub(crate) struct Cue {
    pub times: ClipTimes,
    pub rate_hz: u32,
    pub handle: Arc<dyn StreamHandle>,
}

impl Cue {
    pub(crate) fn new(times: ClipTimes, rate_hz: u32, handle: Arc<dyn StreamHandle>) -> Cue {
        Cue { times, rate_hz, handle }
    }
}
