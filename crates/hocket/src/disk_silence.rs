//! What was silent because a disk was too slow or failed, or because a file holds no numbers there: where, and why.

use hocket_engine::{NotReady, StreamGap};
use serde_json::{Value, json};

use crate::output::warn;

/// Hocket prints at most so many gaps, and counts all.
const GAPS_TOLD: usize = 5;

/// The silence of a run, by clip.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiskSilence {
    /// Only clips with silence.
    pub streams: Vec<Silent>,
    /// Only clips with samples that were NaN or infinite.
    pub not_finite: Vec<NotFinite>,
}

/// Samples of a clip that were NaN or infinite, and are silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotFinite {
    pub file: String,
    pub samples: u64,
}

/// The silence of a clip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silent {
    pub file: String,
    pub frames: u64,
    /// Why it is silent from there on, if Hocket itself has failed.
    pub ended: Option<String>,
    gaps: Vec<StreamGap>,
}

impl DiskSilence {
    /// What came after `before`, an earlier answer for the same streams; of all, since the session's engines started. Ask before the
    /// engine is dropped.
    pub(crate) fn since(before: &[NotReady], now: Vec<NotReady>) -> DiskSilence {
        let (mut streams, mut not_finite) = (Vec::new(), Vec::new());
        for (index, mut now) in now.into_iter().enumerate() {
            let old = before.get(index).filter(|old| old.file == now.file);
            let samples = now.not_finite - old.map_or(0, |old| old.not_finite.min(now.not_finite));
            if samples > 0 {
                not_finite.push(NotFinite { file: now.file.clone(), samples });
            }
            let frames = now.frames - old.map_or(0, |old| old.frames.min(now.frames));
            if let Some(old) = old {
                now.gaps.retain(|gap| !old.gaps.contains(gap));
            }
            if frames > 0 {
                let NotReady { file, gaps, ended, .. } = now;
                streams.push(Silent { file, frames, gaps, ended });
            }
        }
        DiskSilence { streams, not_finite }
    }

    /// All frames of silence.
    pub(crate) fn frames(&self) -> u64 {
        self.streams.iter().map(|stream| stream.frames).sum()
    }

    /// Why a clip is silent from some frame on, if Hocket itself has failed.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.streams.iter().find_map(|stream| stream.ended.as_deref())
    }

    /// Why a render is not what was asked for, if it is not: Hocket has a fault, or the user is strict.
    pub(crate) fn refusal(&self, strict: bool) -> Option<String> {
        let by_fault = self.fault().map(|fault| format!("it is not whole: {fault}"));
        by_fault.or_else(|| match self.streams.len() + self.not_finite.len() {
            lost @ 1.. if strict => Some(format!(
                "parts of {lost} {} silent, as said above; make the files whole, or leave out --strict",
                if lost == 1 { "clip are" } else { "clips are" }
            )),
            _ => None,
        })
    }

    /// Warns of each stream.
    pub(crate) fn tell(&self) {
        self.streams.iter().for_each(|lost| warn(lost.line()));
        self.not_finite.iter().for_each(|clip| warn(clip.line()));
    }

    /// For people; empty without silence.
    pub(crate) fn text(&self) -> String {
        let mut text = self.late_text();
        for clip in self.not_finite.iter().take(GAPS_TOLD) {
            text += &format!("disk: {}\n", clip.line());
        }
        if self.not_finite.len() > GAPS_TOLD {
            let more = self.not_finite.len() - GAPS_TOLD;
            text += &format!("disk: the same in {more} more clips; --json names all\n");
        }
        text
    }

    fn late_text(&self) -> String {
        if self.streams.is_empty() {
            return String::new();
        }
        let (clips, frames) = (self.streams.len(), self.frames());
        let clips = if clips == 1 { "1 clip".into() } else { format!("{clips} clips") };
        let mut text = format!(
            "disk: {clips} silent for {frames} frames in all, because {}; these are no misses\n",
            match self.fault() {
                Some(_) => "reading ahead has failed",
                None => "the disk did not answer in time",
            }
        );
        for stream in self.streams.iter().take(GAPS_TOLD) {
            text += &format!("  {}\n", stream.line());
        }
        if self.streams.len() > GAPS_TOLD {
            text +=
                &format!("  and {} more clips; --json names all\n", self.streams.len() - GAPS_TOLD);
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let gap = |gap: &StreamGap| json!({ "position": gap.position, "frames": gap.frames, "cause": gap.cause });
        let stream = |stream: &Silent| {
            let gaps: Vec<Value> = stream.gaps.iter().map(gap).collect();
            json!({ "file": stream.file, "silent_frames": stream.frames, "gaps": gaps, "ended": stream.ended })
        };
        let streams: Vec<Value> = self.streams.iter().map(stream).collect();
        let samples = |clip: &NotFinite| json!({ "file": clip.file, "samples": clip.samples });
        let not_finite: Vec<Value> = self.not_finite.iter().map(samples).collect();
        json!({ "silent_frames": self.frames(), "streams": streams, "not_finite": not_finite })
    }
}

impl NotFinite {
    /// `FILE: 3 samples were NaN or infinite and are silent`
    pub(crate) fn line(&self) -> String {
        format!("{}: {} samples were NaN or infinite and are silent", self.file, self.samples)
    }
}

impl Silent {
    /// `FILE: 300 frames of silence; the first 100 at frame 8192: the disk was too slow`
    pub(crate) fn line(&self) -> String {
        let first = self.gaps.first().map(|gap| {
            format!("; the first {} at frame {}: {}", gap.frames, gap.position, gap.cause)
        });
        format!("{}: {} frames of silence{}", self.file, self.frames, first.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_ready(file: &str, frames: u64, gaps: &[(u64, u64)]) -> NotReady {
        let gap = |(position, frames): &(u64, u64)| StreamGap {
            position: *position,
            frames: *frames,
            cause: "the disk was too slow".into(),
        };
        let gaps = gaps.iter().map(gap).collect();
        NotReady { file: file.into(), frames, gaps, not_finite: 0, ended: None }
    }

    #[test]
    fn silence_before_the_start_does_not_count() {
        let before = [not_ready("a", 64, &[(0, 64)]), not_ready("b", 10, &[(5, 10)])];
        let now = vec![not_ready("a", 164, &[(0, 64), (900, 100)]), not_ready("b", 10, &[(5, 10)])];
        let silence = DiskSilence::since(&before, now);
        assert_eq!((silence.frames(), silence.streams.len()), (100, 1));
        let text = silence.text();
        for part in ["1 clip silent for 100 frames", "a: 100 frames", "at frame 900", "too slow"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_stream_that_ended_because_of_a_fault_is_no_slow_disk() {
        let cause = "a: the thread that reads ahead panicked";
        let now = NotReady { ended: Some(cause.into()), ..not_ready("a", 64, &[(0, 64)]) };
        let silence = DiskSilence::since(&[], vec![now]);
        assert!(silence.refusal(false).unwrap().contains(cause));
        assert!(silence.text().contains("reading ahead has failed"), "{}", silence.text());
        assert_eq!(silence.json()["streams"][0]["ended"], cause);
    }

    #[test]
    fn samples_that_are_no_numbers_count_and_are_named() {
        let with = |not_finite| NotReady { not_finite, ..not_ready("a", 0, &[]) };
        let silence = DiskSilence::since(&[with(3)], vec![with(10)]);
        assert_eq!(silence.text(), "disk: a: 7 samples were NaN or infinite and are silent\n");
        assert_eq!(silence.json()["not_finite"][0]["samples"], 7);
        assert_eq!(silence.refusal(false), None);
        assert!(silence.refusal(true).unwrap().contains("1 clip are silent"));
        assert_eq!(DiskSilence::since(&[with(3)], vec![with(3)]), DiskSilence::default());
    }

    #[test]
    fn without_silence_nothing_is_said() {
        let silence = DiskSilence::since(&[], vec![not_ready("a", 0, &[])]);
        assert_eq!((silence.text(), silence.frames()), (String::new(), 0));
    }
}
