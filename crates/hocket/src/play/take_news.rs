//! Takes while they are recorded: how each stands, and which of them has begun to fail.

use std::time::Duration;

use hocket_lab::foreign;

use super::shown::TakeShown;
use crate::takes::Recording;

/// A write that takes longer is named. Hocket writes some times a second, and a disk that is well answers in milliseconds.
const STALLED: Duration = Duration::from_secs(1);

/// How a take stands.
pub(super) fn shown(take: &Recording) -> TakeShown {
    let status = take.watch.status();
    let writing = status.writing_since.map(|since| since.elapsed());
    TakeShown {
        name: foreign::plain(&take.name),
        file: foreign::plain(&take.file.display().to_string()),
        frames: status.frames,
        // The file learns of lost frames when the disk answers, and the input at once.
        lost_frames: status.lost_frames.max(status.silent_frames),
        lost_events: status.lost_events,
        missing_frames: status.missing_frames,
        missing_at: status.missing_at,
        stalled_s: writing.filter(|time| *time >= STALLED).map(|time| time.as_secs_f64()),
        error: status.error.map(|error| foreign::plain(&error)),
    }
}

/// What a take fails at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Failing {
    /// Frames or events find no room.
    loses: bool,
    /// Frames of its input never arrived.
    misses: bool,
    has_ended: bool,
}

impl Failing {
    fn of(take: &TakeShown) -> Failing {
        Failing {
            loses: take.lost_frames > 0 || take.lost_events > 0,
            misses: take.missing_frames > 0,
            has_ended: take.error.is_some(),
        }
    }

    /// Whether it has anything that this has not.
    fn is_more_than(self, told: Failing) -> bool {
        // What an ended take has lost is no news.
        !told.has_ended
            && (self.has_ended && !told.has_ended
                || self.loses && !told.loses
                || self.misses && !told.misses)
    }
}

/// Reports each take when it begins to lose frames, when frames of its input never arrived, and when it ends early.
pub(super) struct TakeNews {
    takes: Vec<Recording>,
    /// What was reported of each.
    told: Vec<Failing>,
}

impl TakeNews {
    /// Of takes that have begun.
    pub(super) fn new(takes: Vec<Recording>) -> TakeNews {
        let told = vec![Failing::default(); takes.len()];
        TakeNews { takes, told }
    }

    /// Calls `report` for what is new. Thread: control; never waits for the disk.
    pub(super) fn look(&mut self, mut report: impl FnMut(&TakeShown)) {
        for (take, told) in self.takes.iter().zip(&mut self.told) {
            let now = shown(take);
            let failing = Failing::of(&now);
            if failing.is_more_than(*told) {
                *told = failing;
                report(&now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hocket_disk::{Recorder, RecorderSettings, Take, TakeInput, TakeSettings};

    use super::*;

    /// A recorder that looks so rarely that it is a disk which does not answer.
    fn stalled(folder: &std::path::Path) -> (Recorder, TakeInput, Take, Recording) {
        let poll = Duration::from_secs(600);
        let recorder = Recorder::start(RecorderSettings { poll, ..RecorderSettings::default() });
        let file = folder.join("take.wav");
        let settings = TakeSettings { ring_frames: 4_096, ..TakeSettings::new(&file, 48_000, 1) };
        let (input, take) = recorder.begin(&settings).unwrap();
        let recording = Recording { name: "master".into(), file, watch: take.watch() };
        (recorder, input, take, recording)
    }

    #[test]
    fn lost_frames_are_reported_once_and_before_the_disk_answers() {
        let folder = tempfile::tempdir().unwrap();
        let (recorder, mut input, _take, recording) = stalled(folder.path());
        let (mut news, mut reported) = (TakeNews::new(vec![recording]), Vec::new());
        input.write(&[&[0.5; 100]]);
        news.look(|take| reported.push(take.clone()));
        assert_eq!(reported, []);
        for _ in 0..2 {
            input.write(&[&[0.5; 48_000]]);
            news.look(|take| reported.push(take.clone()));
        }
        let [take] = &reported[..] else { panic!("{reported:?}") };
        assert!(take.lost_frames > 30_000 && take.error.is_none(), "{take:?}");
        let trouble = take.trouble().unwrap();
        assert!(trouble.contains("take.wav") && trouble.contains("frames lost"), "{trouble}");
        drop(input);
        recorder.stop();
    }

    #[test]
    fn an_end_is_news_after_a_loss_and_no_loss_is_after_an_end() {
        let [good, loses] =
            [0, 5].map(|lost_frames| TakeShown { lost_frames, ..TakeShown::default() });
        let ended = TakeShown { error: Some("full".into()), ..good.clone() };
        let misses = TakeShown { missing_frames: 64, missing_at: Some(9), ..loses.clone() };
        let trouble = misses.trouble().unwrap();
        assert!(trouble.contains("64 frames") && trouble.contains("before frame 9"), "{trouble}");
        let all = [good, loses, misses, ended].map(|take| Failing::of(&take));
        for (place, now) in all.iter().enumerate() {
            for (before, told) in all.iter().enumerate() {
                assert_eq!(now.is_more_than(*told), place > before, "{now:?} {told:?}");
            }
        }
    }
}
