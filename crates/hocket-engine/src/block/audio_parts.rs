//! Parts of a file in memory: what its clips play of it.

use std::sync::Arc;

use hocket_dsp::StereoRef;

use super::clip_source::ClipSource;
use super::stereo_audio::StereoAudio;

/// Frames of silence that are read at once.
const SILENT_FRAMES: usize = 1024;
static SILENCE: [f32; SILENT_FRAMES] = [0.0; SILENT_FRAMES];

/// A file at the engine's sample rate of which only parts are in memory. Between them it is silent.
///
/// [`clip_frames`](crate::clip_frames) says what a clip plays.
#[derive(Debug, Clone, PartialEq)]
pub struct AudioParts {
    frames: u64,
    /// In the file's order; none is empty, and none overlaps another.
    parts: Vec<(u64, StereoAudio)>,
}

impl AudioParts {
    /// Of a file with `frames` frames: parts with the frame at which each begins, in any order. What a part shares with one
    /// that begins before it, and what lies behind the file's end, is never read.
    ///
    /// Thread: control.
    pub fn new(frames: u64, mut parts: Vec<(u64, StereoAudio)>) -> AudioParts {
        parts.retain(|(_, audio)| audio.frames() > 0);
        parts.sort_by_key(|(start, _)| *start);
        AudioParts { frames, parts }
    }

    /// Length of the whole file in frames.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// How many samples were not finite.
    pub fn contained(&self) -> usize {
        self.parts.iter().map(|(_, audio)| audio.contained()).sum()
    }

    /// Frames from `position` on: at most so many, and none at the file's end. Cost: O(log parts).
    fn read(&self, position: u64, frames: usize) -> StereoRef<'_> {
        let left = usize::try_from(self.frames.saturating_sub(position)).unwrap_or(usize::MAX);
        let frames = frames.min(left);
        let next = self.parts.partition_point(|(start, _)| *start <= position);
        if let Some((start, audio)) = next.checked_sub(1).map(|index| &self.parts[index]) {
            let from = (position - start) as usize;
            if from < audio.frames() {
                let to = audio.frames().min(from.saturating_add(frames));
                return StereoRef {
                    left: &audio.left()[from..to],
                    right: &audio.right()[from..to],
                };
            }
        }
        let until = self.parts.get(next).map_or(u64::MAX, |(start, _)| *start);
        let silent = usize::try_from(until - position).unwrap_or(usize::MAX);
        let row = &SILENCE[..frames.min(silent).min(SILENT_FRAMES)];
        StereoRef { left: row, right: row }
    }
}

/// The parts of a file, for one clip.
pub(crate) struct InParts(pub Arc<AudioParts>);

impl ClipSource for InParts {
    fn read(&mut self, position: u64, frames: usize) -> StereoRef<'_> {
        self.0.read(position, frames)
    }

    fn rest(&mut self, _: Option<u64>) {}
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn of(frames: u64, parts: &[Range<u64>]) -> AudioParts {
        let part = |range: &Range<u64>| {
            let row = |sign: f32| range.clone().map(|frame| sign * frame as f32).collect();
            (range.start, StereoAudio::from_planar(&[row(1.0), row(-1.0)]))
        };
        AudioParts::new(frames, parts.iter().map(part).collect())
    }

    /// Reads all in pieces of so many frames.
    fn all(audio: &AudioParts, piece: usize) -> Vec<f32> {
        let mut found = Vec::new();
        loop {
            let rows = audio.read(found.len() as u64, piece);
            assert!(rows.left.iter().zip(rows.right).all(|(left, right)| *left == -right));
            assert!(rows.left.len() == rows.right.len() && rows.left.len() <= piece);
            if rows.left.is_empty() {
                return found;
            }
            found.extend_from_slice(rows.left);
        }
    }

    #[test]
    fn parts_are_where_they_were_and_silence_between_them() {
        let apart = vec![7_000..9_000, 5..6, 10..3_000, 3_000..3_100, 50..50];
        for parts in [vec![], vec![0..4_000, 4_000..9_000], apart] {
            let audio = of(9_000, &parts);
            let is_there = |frame: u64| parts.iter().any(|part| part.contains(&frame));
            let expected: Vec<f32> =
                (0..9_000).map(|frame| if is_there(frame) { frame as f32 } else { 0.0 }).collect();
            for piece in [1, 64, 1_000, 20_000] {
                assert_eq!(all(&audio, piece), expected, "{parts:?} {piece}");
            }
        }
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        let audio = of(100, &[10..20, 90..120]);
        assert_eq!(all(&audio, 64).len(), 100);
        assert!(audio.read(100, 5).left.is_empty() && audio.read(u64::MAX, 5).left.is_empty());
    }
}
