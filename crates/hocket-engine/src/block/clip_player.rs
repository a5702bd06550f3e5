//! Plays a track's clips: the processor at the head of a track's chain.

use std::sync::Arc;

use hocket_dsp::{Block, Processor, mix};
use hocket_plan::session::Clip;

use crate::control::media::StereoAudio;

/// One clip in frames.
struct Playing {
    audio: Arc<StereoAudio>,
    start: u64,
    end: u64,
    offset: usize,
    looped: bool,
    gain_lin: f32,
    fade_in: u64,
    fade_out: u64,
}

/// Plays clips where the song is. While it stands still, they are silent.
///
/// Shape: overwrites the block. Thread: worker, inside a block. Cost: O(segments * clips + frames).
pub struct ClipPlayer {
    clips: Vec<Playing>,
}

impl ClipPlayer {
    /// Makes a player for clips, each with its audio.
    ///
    /// Thread: control; allocates.
    pub fn new(clips: &[(Clip, Arc<StereoAudio>)], rate_hz: u32) -> ClipPlayer {
        let clips = clips.iter().map(|(clip, audio)| Playing::new(clip, audio, rate_hz)).collect();
        ClipPlayer { clips }
    }

    /// The frame after the last audible one. `None` if a clip loops for ever.
    pub fn end(&self) -> Option<u64> {
        let ends = self.clips.iter().map(|clip| clip.end);
        ends.max().filter(|end| *end != u64::MAX).or(self.clips.is_empty().then_some(0))
    }
}

impl Playing {
    fn new(clip: &Clip, audio: &Arc<StereoAudio>, rate_hz: u32) -> Playing {
        let start = frames(clip.start_s, rate_hz);
        let offset = (frames(clip.offset_s, rate_hz) as usize).min(audio.frames());
        let natural = if clip.looped && offset < audio.frames() {
            u64::MAX
        } else {
            start.saturating_add((audio.frames() - offset) as u64)
        };
        let asked = clip.length_s.map(|length| start.saturating_add(frames(length, rate_hz)));
        Playing {
            audio: Arc::clone(audio),
            start,
            end: asked.map_or(natural, |asked| asked.min(natural)),
            offset,
            looped: clip.looped,
            gain_lin: hocket_dsp::level::db_to_lin(clip.gain_db),
            fade_in: frames(clip.fade_in_s, rate_hz),
            fade_out: frames(clip.fade_out_s, rate_hz),
        }
    }

    /// Adds the part of the clip that is in these frames, of which the first is at `position`.
    fn add_to(&self, left: &mut [f32], right: &mut [f32], position: i64) {
        let end = position.saturating_add(left.len() as i64);
        // What lies before the song's start has no clips.
        let Ok(end) = u64::try_from(end) else { return };
        let from = self.start.max(u64::try_from(position).unwrap_or(0));
        let to = self.end.min(end);
        let mut at = from;
        while at < to {
            let source = self.source_frame(at - self.start);
            let run = (to - at).min((self.audio.frames() - source) as u64) as usize;
            let out = (at as i64 - position) as usize;
            for i in 0..run {
                let gain = self.gain_at(at + i as u64);
                left[out + i] += self.audio.left()[source + i] * gain;
                right[out + i] += self.audio.right()[source + i] * gain;
            }
            at += run as u64;
        }
    }

    fn source_frame(&self, played: u64) -> usize {
        let length = (self.audio.frames() - self.offset) as u64;
        let inside = if self.looped { played % length } else { played };
        self.offset + inside as usize
    }

    fn gain_at(&self, at: u64) -> f32 {
        let played = at - self.start;
        let mut gain = self.gain_lin;
        if played < self.fade_in {
            gain *= played as f32 / self.fade_in as f32;
        }
        if self.end != u64::MAX && self.end - at < self.fade_out {
            gain *= (self.end - at) as f32 / self.fade_out as f32;
        }
        gain
    }
}

fn frames(seconds: f64, rate_hz: u32) -> u64 {
    (seconds * f64::from(rate_hz)).round() as u64
}

impl Processor for ClipPlayer {
    fn process(&mut self, block: &mut Block<'_>) {
        mix::clear(block.main.left);
        mix::clear(block.main.right);
        let Some(time) = block.time else { return };
        for segment in time.segments.into_iter().filter(|segment| segment.playing) {
            let frames = segment.offset as usize..segment.end() as usize;
            let left = &mut block.main.left[frames.clone()];
            let right = &mut block.main.right[frames];
            self.clips.iter().for_each(|clip| clip.add_to(left, right, segment.position));
        }
    }

    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}
