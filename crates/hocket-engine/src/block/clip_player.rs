//! Plays a track's clips: the processor at the head of a track's chain.

use std::sync::Arc;

use hocket_dsp::{Block, Processor, mix};
use hocket_plan::session::Clip;

use super::clip_cue::Cue;
use super::clip_source::{ClipSource, InMemory};
use super::clip_times::{ClipTimes, last_end};
use super::stereo_audio::StereoAudio;

/// One clip with its source.
pub(crate) struct PlayingClip {
    times: ClipTimes,
    source: Box<dyn ClipSource>,
    /// `None`: the file is in memory.
    cue: Option<Arc<Cue>>,
}

/// Plays clips where the song is. While it stands still, they are silent.
///
/// Shape: overwrites the block. Thread: worker, inside a block. Cost: O(segments * clips + frames).
pub struct ClipPlayer {
    clips: Vec<PlayingClip>,
}

impl ClipPlayer {
    /// Makes a player for clips, each with its audio in memory.
    ///
    /// Thread: control; allocates.
    pub fn new(clips: &[(Clip, Arc<StereoAudio>)], rate_hz: u32) -> ClipPlayer {
        let playing = |(clip, audio): &(Clip, Arc<StereoAudio>)| {
            PlayingClip::in_memory(ClipTimes::new(clip, audio.frames() as u64, rate_hz), audio)
        };
        ClipPlayer { clips: clips.iter().map(playing).collect() }
    }

    pub(crate) fn of(clips: Vec<PlayingClip>) -> ClipPlayer {
        ClipPlayer { clips }
    }

    /// The frame after the last audible one. `None` if a clip loops for ever.
    pub fn end(&self) -> Option<u64> {
        last_end(self.clips.iter().map(|clip| &clip.times))
    }
}

impl PlayingClip {
    /// Of a file in memory. Thread: control; allocates.
    pub(crate) fn in_memory(times: ClipTimes, audio: &Arc<StereoAudio>) -> PlayingClip {
        PlayingClip { times, source: Box::new(InMemory(Arc::clone(audio))), cue: None }
    }

    /// Of a file that streams.
    pub(crate) fn streamed(
        times: ClipTimes,
        source: Box<dyn ClipSource>,
        cue: Arc<Cue>,
    ) -> PlayingClip {
        PlayingClip { times, source, cue: Some(cue) }
    }

    /// Adds the part of the clip that is in these frames, of which the first is at `position`; whether there was any.
    fn add_to(&mut self, left: &mut [f32], right: &mut [f32], position: i64) -> bool {
        let PlayingClip { times, source, .. } = self;
        let end = position.saturating_add(left.len() as i64);
        // What lies before the song's start has no clips.
        let Ok(end) = u64::try_from(end) else { return false };
        let from = times.start.max(u64::try_from(position).unwrap_or(0));
        let to = times.end.min(end);
        let mut at = from;
        while at < to {
            let frame = times.source_frame(at - times.start);
            let run = (to - at).min(times.file_frames - frame) as usize;
            let rows = source.read(frame, run);
            let run = run.min(rows.left.len()).min(rows.right.len());
            if run == 0 {
                break;
            }
            let out = (at as i64 - position) as usize;
            let (left, right) = (&mut left[out..out + run], &mut right[out..out + run]);
            let (from_left, from_right) = (&rows.left[..run], &rows.right[..run]);
            for i in 0..run {
                let gain = times.gain_at(at + i as u64);
                left[i] += from_left[i] * gain;
                right[i] += from_right[i] * gain;
            }
            at += run as u64;
        }
        from < to
    }

    /// Says where the next read will be when the song goes on at `song`.
    fn rest(&mut self, song: i64) {
        if self.cue.is_some() {
            self.source.rest(self.times.next_read(song));
        }
    }
}

impl Processor for ClipPlayer {
    fn process(&mut self, block: &mut Block<'_>) {
        mix::clear(block.main.left);
        mix::clear(block.main.right);
        let Some(time) = block.time else { return };
        let song = time.position_at(time.frames());
        for clip in &mut self.clips {
            let mut sounded = false;
            for segment in time.segments.into_iter().filter(|segment| segment.playing) {
                let frames = segment.offset as usize..segment.end() as usize;
                let left = &mut block.main.left[frames.clone()];
                let right = &mut block.main.right[frames];
                sounded |= clip.add_to(left, right, segment.position);
            }
            if !sounded {
                clip.rest(song);
            }
        }
    }

    /// The next block is the session's first: files that stream are read from there at once.
    fn reset(&mut self) {
        self.clips.iter_mut().for_each(|clip| clip.rest(0));
    }

    fn rests(&self) -> bool {
        true
    }

    fn keeps_time(&self) -> bool {
        true
    }
}
