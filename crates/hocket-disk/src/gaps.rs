//! What was not ready, when, and why.

use std::path::PathBuf;
use std::time::Instant;

use hocket_rt::RingReader;

use crate::chunk::Notice;

/// The latest gaps are kept one by one, older ones only in the total.
const GAPS_KEPT: usize = 1000;

/// Frames in a row that were not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The file's frame at which it begins.
    pub position: u64,
    /// How long it is, so far.
    pub frames: u64,
    /// When the preloader learned of it, a few milliseconds after its start.
    pub since: Instant,
    /// Whether frames arrive again.
    pub is_over: bool,
    /// What the disk said, or that it was too slow.
    pub cause: String,
}

/// What a stream's reader did not get in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReport {
    /// The file.
    pub path: PathBuf,
    /// All frames that were silence because they were not ready.
    pub not_ready_frames: u64,
    /// The latest gaps, oldest first, at most 1000.
    pub gaps: Vec<Gap>,
    /// Samples read ahead so far that were NaN or infinite, and are silent. One that is read again counts again.
    pub not_finite: u64,
    /// Why reading fails now, if it does, or where the file ends if it is shorter than it states.
    pub failure: Option<String>,
    /// Why nothing more is read, if Hocket itself has failed: all that follows is silence.
    pub ended: Option<String>,
    /// Since when the disk has not answered, while a read is going on.
    pub reading_since: Option<Instant>,
}

/// What the preloader does for a stream just now.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub failure: Option<String>,
    /// Frames before it are read in spite of the failure.
    fails_from: u64,
    /// As [`StreamReport::ended`].
    pub ended: Option<String>,
    pub reading_since: Option<Instant>,
    /// As [`StreamReport::not_finite`].
    pub not_finite: u64,
}

impl Status {
    /// Nothing can be read from this frame on.
    pub fn fail(&mut self, from: u64, cause: String) {
        (self.failure, self.fails_from) = (Some(cause), from);
    }

    /// Why nothing can be read now.
    pub fn known_cause(&self) -> Option<&String> {
        self.ended.as_ref().or(self.failure.as_ref())
    }

    /// Why these frames could not be read, if it is known.
    fn cause_of(&self, notice: &Notice) -> Option<&String> {
        let end = notice.position.saturating_add(notice.frames);
        let failure = self.failure.as_ref().filter(|_| self.fails_from < end);
        self.ended.as_ref().or(failure)
    }
}

/// The notices of one reader, gathered.
#[derive(Debug)]
pub(crate) struct GapLog {
    notices: RingReader<Notice>,
    pub total_frames: u64,
    pub gaps: Vec<Gap>,
}

impl GapLog {
    pub fn new(notices: RingReader<Notice>) -> GapLog {
        GapLog { notices, total_frames: 0, gaps: Vec::new() }
    }

    pub fn gather(&mut self, status: &Status) {
        while let Some(notice) = self.notices.pop() {
            self.total_frames = notice.total_frames;
            let going_on =
                self.gaps.last().is_some_and(|gap| !gap.is_over && gap.position == notice.position);
            if !going_on {
                self.begin(notice);
            }
            let Some(gap) = self.gaps.last_mut() else { continue };
            (gap.frames, gap.is_over) = (notice.frames, notice.is_over);
            if let Some(cause) = status.cause_of(&notice) {
                gap.cause.clone_from(cause);
            }
        }
    }

    fn begin(&mut self, notice: Notice) {
        if self.gaps.len() == GAPS_KEPT {
            self.gaps.remove(0);
        }
        self.gaps.push(Gap {
            position: notice.position,
            frames: 0,
            since: Instant::now(),
            is_over: false,
            cause: "the disk was too slow".into(),
        });
    }
}
