//! Files that clips play from the disk, as control threads see them.
//!
//! The engine knows no files. A host gives it a [`StreamedFile`] for each file that is to stream. Every clip opens one
//! stream of its own: a [`ClipSource`] for the worker and a [`StreamHandle`] for control threads. The pool keeps a
//! note of each handle, so that it can bring positions into memory before the song jumps there.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::block::clip_cue::Cue;
pub use crate::block::clip_cue::{NotReady, StreamGap, StreamHandle};
use crate::block::clip_source::ClipSource;

/// How far ahead of a position clips are brought into memory that begin there. Later ones have the time until they
/// begin.
const PREROLL_S: i64 = 2;
/// How often a control thread looks whether streams are filled.
const LOOK: Duration = Duration::from_millis(2);

/// A file that plays from the disk, at the engine's rate.
///
/// Thread: control.
pub trait StreamedFile: fmt::Debug + Send + Sync {
    /// Length in frames.
    fn frames(&self) -> u64;

    /// Opens a stream for one clip.
    ///
    /// It is read ahead from frame `first` on. Behind the last frame of `lap` its first one follows; without a lap
    /// the file ends.
    ///
    /// # Errors
    /// Why it cannot be opened, with the file's name.
    fn open(&self, first: u64, lap: Option<Range<u64>>) -> Result<ClipStream, String>;
}

/// An open stream.
pub struct ClipStream {
    /// For the clip's worker.
    pub source: Box<dyn ClipSource>,
    /// For control threads.
    pub handle: Arc<dyn StreamHandle>,
}

impl fmt::Debug for ClipStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClipStream").finish_non_exhaustive()
    }
}

/// Why positions are not in memory. Playing there is possible; it may begin with silence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", causes.join("\n"))]
pub struct PrerollError {
    /// One for each clip, with its file.
    pub causes: Vec<String>,
}

impl Cue {
    /// The file's frame with which the clip goes on when the song does so at `song`, after the start of its loop if that
    /// follows soon. None: there is time enough, or the clip is over.
    fn due(&self, song: i64) -> Vec<u64> {
        let ahead = PREROLL_S * i64::from(self.rate_hz);
        let is_due = self.times.is_due(song..song.saturating_add(ahead));
        let Some(position) = self.times.next_read(song).filter(|_| is_due) else {
            return Vec::new();
        };
        let follows = |lap: &Range<u64>| lap.end - position < ahead as u64 && lap.start != position;
        let start = self.times.lap().filter(follows).map(|lap| lap.start);
        start.into_iter().chain([position]).collect()
    }
}

/// The clips that stream. The players own them, so those of an engine that has ended are gone.
#[derive(Clone, Default)]
pub(crate) struct Cues(Arc<Mutex<CueList>>);

#[derive(Default)]
struct CueList {
    /// In the order in which they came.
    cues: Vec<Weak<Cue>>,
    /// How many there may be before those that are gone are taken out.
    full: usize,
}

impl CueList {
    /// Cost: O(1) on average, because it looks at all of them only when there are twice as many as the last time.
    fn add(&mut self, cue: Weak<Cue>) {
        if self.cues.len() >= self.full {
            self.cues.retain(|cue| cue.strong_count() > 0);
            self.full = 2 * self.cues.len() + 1;
        }
        self.cues.push(cue);
    }
}

impl Cues {
    pub(crate) fn add(&self, cue: &Arc<Cue>) {
        self.lock().add(Arc::downgrade(cue));
    }

    fn all(&self) -> Vec<Arc<Cue>> {
        self.lock().cues.iter().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, CueList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn preroll(&self, song: i64, patience: Duration) -> Result<(), PrerollError> {
        let until = Instant::now() + patience;
        let cues = self.all();
        let due_of = |cue: &Arc<Cue>| -> Vec<_> {
            cue.due(song).into_iter().map(|position| (position, Arc::clone(cue))).collect()
        };
        let due: Vec<_> = cues.iter().flat_map(due_of).collect();
        // All are asked for before the first answer.
        due.iter().for_each(|(position, cue)| cue.handle.want(*position));
        let waited = due.iter().map(|(position, cue)| cue.handle.wait(*position, until));
        let causes: Vec<String> = waited.filter_map(Result::err).collect();
        if causes.is_empty() { Ok(()) } else { Err(PrerollError { causes }) }
    }

    pub(crate) fn fill(&self, patience: Duration) -> Result<(), PrerollError> {
        let until = Instant::now() + patience;
        let mut waiting = self.all();
        loop {
            waiting.retain(|cue| !cue.handle.is_filled());
            if waiting.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                let slow = waiting.iter().map(|cue| too_slow(&cue.handle.not_ready().file));
                return Err(PrerollError { causes: slow.collect() });
            }
            std::thread::sleep(LOOK);
        }
    }

    pub(crate) fn not_ready(&self) -> Vec<NotReady> {
        self.all().iter().map(|cue| cue.handle.not_ready()).collect()
    }
}

impl fmt::Debug for Cues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cues({})", self.all().len())
    }
}

fn too_slow(file: &str) -> String {
    format!("{file}: the disk is too slow to fill the stream before the start")
}

#[cfg(test)]
mod tests {
    use hocket_plan::session::{Clip, ClipFade, MediaId};

    use super::*;
    use crate::block::clip_times::ClipTimes;

    /// A stream that only has a number.
    struct Numbered(u64);

    impl StreamHandle for Numbered {
        fn want(&self, _: u64) {}

        fn wait(&self, _: u64, _: Instant) -> Result<(), String> {
            Ok(())
        }

        fn is_filled(&self) -> bool {
            true
        }

        fn not_ready(&self) -> NotReady {
            NotReady {
                file: String::new(),
                frames: self.0,
                gaps: Vec::new(),
                not_finite: 0,
                ended: None,
            }
        }
    }

    #[test]
    fn many_clips_keep_their_order_and_those_that_are_gone_take_no_memory() {
        let clip = Clip {
            media: MediaId(0),
            start_s: 0.0,
            offset_s: 0.0,
            length_s: None,
            looped: false,
            gain_db: 0.0,
            fade_in_s: 0.0,
            fade_out_s: 0.0,
            fade_curve: ClipFade::default(),
        };
        let times = ClipTimes::new(&clip, 100, 48_000);
        let cues = Cues::default();
        let add = |number| {
            let cue = Arc::new(Cue::new(times.clone(), 48_000, Arc::new(Numbered(number))));
            cues.add(&cue);
            cue
        };
        let numbers = || cues.not_ready().into_iter().map(|it| it.frames).collect::<Vec<u64>>();
        // A quadratic search would take minutes.
        let mut clips: Vec<Arc<Cue>> = (0..300_000).map(&add).collect();
        assert!(numbers().into_iter().eq(0..300_000));
        clips.retain(|cue| cue.handle.not_ready().frames % 100_000 == 7);
        assert_eq!(numbers(), [7, 100_007, 200_007]);
        (0..1_000_000).for_each(|number| drop(add(number)));
        assert!(cues.lock().cues.len() < 600_001, "what is gone goes");
        assert_eq!(numbers(), [7, 100_007, 200_007]);
    }
}
