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
        stalled_s: writing.filter(|time| *time >= STALLED).map(|time| time.as_secs_f64()),
        error: status.error.map(|error| foreign::plain(&error)),
    }
}

/// How far a take has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Failing {
    /// Every frame has found room.
    #[default]
    No,
    LosesFrames,
    HasEnded,
}

impl Failing {
    fn of(take: &TakeShown) -> Failing {
        match (&take.error, take.lost_frames.saturating_add(take.lost_events)) {
            (Some(_), _) => Failing::HasEnded,
            (None, 1..) => Failing::LosesFrames,
            (None, 0) => Failing::No,
        }
    }
}

/// Reports each take when it begins to lose frames, and when it ends early.
pub(super) struct TakeNews {
    takes: Vec<Recording>,
    /// What was reported of each.
    told: Vec<Failing>,
}

impl TakeNews {
    /// Of takes that have begun.
    pub(super) fn new(takes: Vec<Recording>) -> TakeNews {
        let told = vec![Failing::No; takes.len()];
        TakeNews { takes, told }
    }

    /// Calls `report` for what is new. Thread: control; never waits for the disk.
    pub(super) fn look(&mut self, mut report: impl FnMut(&TakeShown)) {
        for (take, told) in self.takes.iter().zip(&mut self.told) {
            let now = shown(take);
            let failing = Failing::of(&now);
            if failing > *told {
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
        let [good, loses, ended] = [good, loses, ended].map(|take| Failing::of(&take));
        assert!(good < loses && loses < ended);
    }
}
