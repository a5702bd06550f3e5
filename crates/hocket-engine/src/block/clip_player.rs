//! Plays a track's clips: the processor at the head of a track's chain.

use std::ops::Range;
use std::sync::Arc;

use hocket_dsp::{Block, Processor, StereoMut, StereoRef, mix};
use hocket_plan::session::Clip;

use super::audio_parts::{AudioParts, InParts};
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

    /// Of a file of which parts are in memory. Thread: control; allocates.
    pub(crate) fn in_parts(times: ClipTimes, audio: &Arc<AudioParts>) -> PlayingClip {
        PlayingClip { times, source: Box::new(InParts(Arc::clone(audio))), cue: None }
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
            let rows = StereoRef { left: &rows.left[..run], right: &rows.right[..run] };
            add_run(times, at, StereoMut { left, right }, rows);
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

/// Adds a run of the clip that begins at frame `at` of the song. Shape: all rows are equally long.
///
/// Between the fades the gain is one number, so that this loop fits into vectors.
fn add_run(times: &ClipTimes, at: u64, out: StereoMut<'_>, rows: StereoRef<'_>) {
    let end = at + rows.left.len() as u64;
    let plain = times.between_fades();
    let from = plain.start.clamp(at, end);
    let to = plain.end.clamp(from, end);
    add_faded(times, at..from, at, (&mut *out.left, &mut *out.right), rows);
    let frames = (from - at) as usize..(to - at) as usize;
    mix::add_scaled(&mut out.left[frames.clone()], &rows.left[frames.clone()], times.gain());
    mix::add_scaled(&mut out.right[frames.clone()], &rows.right[frames], times.gain());
    add_faded(times, to..end, at, (out.left, out.right), rows);
}

/// Adds these frames of the song, each with its own gain, out of rows that begin at frame `at`.
fn add_faded(
    times: &ClipTimes,
    frames: Range<u64>,
    at: u64,
    (left, right): (&mut [f32], &mut [f32]),
    rows: StereoRef<'_>,
) {
    for frame in frames {
        let (gain, place) = (times.gain_at(frame), (frame - at) as usize);
        left[place] += rows.left[place] * gain;
        right[place] += rows.right[place] * gain;
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

#[cfg(test)]
mod tests {
    use hocket_plan::session::{ClipFade, MediaId};

    use super::*;

    const RATE_HZ: u32 = 1000;
    const FRAMES: usize = 700;

    fn clip() -> Clip {
        Clip {
            media: MediaId(0),
            start_s: 0.1,
            offset_s: 0.05,
            length_s: None,
            looped: false,
            gain_db: -3.0,
            fade_in_s: 0.0,
            fade_out_s: 0.0,
            fade_curve: ClipFade::Linear,
        }
    }

    /// With fades that are apart, meet, overlap, cover all, or last longer than all that is before them.
    fn clips() -> Vec<Clip> {
        let fades = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.1, 0.2), (0.3, 0.3), (2.0, 2.0)];
        let lengths = [(None, false), (Some(0.35), false), (Some(0.5), true), (None, true)];
        let all = fades.iter().flat_map(|fades| lengths.iter().map(move |length| (fades, length)));
        let faded = all.map(|((fade_in_s, fade_out_s), (length_s, looped))| Clip {
            fade_in_s: *fade_in_s,
            fade_out_s: *fade_out_s,
            length_s: *length_s,
            looped: *looped,
            ..clip()
        });
        let curved =
            |clip: Clip| ClipFade::ALL.map(move |fade_curve| Clip { fade_curve, ..clip.clone() });
        faded.flat_map(curved).collect()
    }

    /// Frame by frame, as a clip is defined.
    fn one_by_one(times: &ClipTimes, row: &[f32]) -> Vec<u32> {
        let frame = |at: u64| match (times.start..times.end).contains(&at) {
            true => 0.0 + row[times.source_frame(at - times.start) as usize] * times.gain_at(at),
            false => 0.0,
        };
        (0..FRAMES as u64).map(|at| frame(at).to_bits()).collect()
    }

    #[test]
    fn runs_have_the_bits_of_single_frames() {
        // Among them zeros of both signs, which a sum with zero tells apart.
        let row = |seed: u32| -> Vec<f32> {
            let sample = |i: u32| ((i * seed) as f32 * 0.37).sin() * ((i % 5) as f32 - 1.0);
            (0..300).map(sample).collect()
        };
        let (left, right) = (row(3), row(7));
        assert!(left.iter().any(|sample| sample.to_bits() == (-0.0f32).to_bits()));
        let audio = Arc::new(StereoAudio::from_planar(&[left.clone(), right.clone()]));
        for clip in clips() {
            let times = ClipTimes::new(&clip, 300, RATE_HZ);
            let expected = [one_by_one(&times, &left), one_by_one(&times, &right)];
            for block in [1, 33, 64, FRAMES] {
                let mut playing = PlayingClip::in_memory(times.clone(), &audio);
                let mut rows = [vec![0.0; FRAMES], vec![0.0; FRAMES]];
                let [left, right] = &mut rows;
                let blocks = left.chunks_mut(block).zip(right.chunks_mut(block));
                for (number, (left, right)) in blocks.enumerate() {
                    playing.add_to(left, right, (number * block) as i64);
                }
                let found = rows.map(|row| row.iter().map(|x| x.to_bits()).collect::<Vec<u32>>());
                assert!(found == expected, "{clip:?}, blocks of {block}");
            }
        }
    }

    #[test]
    fn between_the_fades_the_gain_is_one_number() {
        for clip in clips() {
            let times = ClipTimes::new(&clip, 300, RATE_HZ);
            let (plain, end) = (times.between_fades(), times.end.min(FRAMES as u64));
            for at in times.start..end {
                let is_plain = times.gain_at(at).to_bits() == times.gain().to_bits();
                assert!(is_plain || !plain.contains(&at), "{clip:?} at {at}");
            }
            let fades = clip.fade_in_s > 0.0 || clip.fade_out_s > 0.0;
            assert!(fades || (times.start..end).all(|at| plain.contains(&at)), "{clip:?}");
        }
    }
}
