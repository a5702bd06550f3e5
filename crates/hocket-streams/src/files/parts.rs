//! Long audio files of another rate: only what clips play of them is decoded and converted, into memory if it is not much.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hocket_engine::session::{Clip, MediaId};
use hocket_engine::{AudioParts, StereoAudio, clip_frames};
use hocket_media::{MAX_SAMPLES, MediaError, PartDecoder};

use super::audio::{check_memory, tell_faults, unreadable};
use super::{LoadError, SessionAudio, Told, limits};
use crate::{Conform, LONGEST_IN_MEMORY_S};

/// Clips play two channels. Of more, the first ones play.
pub(super) const CHANNELS: usize = 2;
/// Parts with less between them are one part: each decodes some frames more, on both sides.
const JOINED_WITHIN_S: u64 = 1;

/// What a clip plays of a file of so many frames, if the song never comes to the frame `until`.
fn frames_of(clip: &Clip, file_frames: u64, rate_hz: u32, until: u64) -> Range<u64> {
    let start = (clip.start_s * f64::from(rate_hz)).floor() as u64;
    let frames = clip_frames(clip, file_frames, rate_hz);
    let left = until.saturating_sub(start);
    frames.start..frames.end.min(frames.start.saturating_add(left))
}

/// A file that is decoded in parts.
pub(super) struct PartialFile {
    decoder: PartDecoder,
    /// In the order of the file, at the session's rate.
    parts: Vec<Range<u64>>,
}

impl PartialFile {
    /// A file that is long, is converted, and can be read from any position at once. `None`: it is decoded as a whole, also
    /// where it cannot be opened, because decoding says what is wrong.
    pub fn open(audio: &SessionAudio<'_>, id: MediaId) -> Option<PartialFile> {
        let (session, rate_hz) = (&audio.loaded.session, audio.rate_hz);
        let media = &session.media[id.0];
        // What its header said before.
        let facts = audio.facts.get(&media.path);
        let facts = facts.filter(|facts| facts.sample_rate_hz != rate_hz)?;
        let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(facts.sample_rate_hz);
        facts.frames.filter(|frames| *frames > longest)?;
        // The preview is read as a whole.
        if !media.resample || session.preview == Some(id) {
            return None;
        }
        let decoder = PartDecoder::open(&media.path, rate_hz).ok()??;
        let parts = played(audio, id, decoder.frames());
        Some(PartialFile { decoder, parts })
    }

    /// What clips play of it, at the session's rate, and how many bytes that is where it is conformed.
    pub fn into_parts(self) -> (Vec<Range<u64>>, u64) {
        let bytes = Conform::bytes(&self.parts, self.decoder.frames(), self.channels());
        (self.parts, bytes)
    }

    /// How many frames clips play of it, at the session's rate.
    pub fn played_frames(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }

    /// How many frames are in memory at once while it is decoded: what is played, and what has to be decoded before that.
    pub fn frames_at_once(&self) -> u64 {
        match self.decoder.is_independent() {
            true => self.played_frames(),
            false => self.played_frames().max(self.decoded_frames()),
        }
    }

    /// Whether clips play more of it than can be in memory.
    pub fn is_too_long(&self) -> bool {
        self.decoded_frames() * self.channels() as u64 > MAX_SAMPLES as u64
    }

    pub fn channels(&self) -> usize {
        self.decoder.info().channels.min(CHANNELS)
    }

    fn decoded_frames(&self) -> u64 {
        self.parts.iter().map(|part| self.decoder.decoded_frames(part)).sum()
    }

    /// Decodes the parts; also the file's length in seconds. With `--strict` it reads the rest, too, to see whether it is whole.
    pub fn load(
        mut self,
        audio: &SessionAudio<'_>,
        id: MediaId,
        told: &mut Told,
    ) -> Result<(AudioParts, f64), LoadError> {
        let path = &audio.loaded.session.media[id.0].path;
        let info = self.decoder.info();
        let (of_file, channels) = (info.sample_rate_hz, info.channels);
        let length_s = info.frames as f64 / f64::from(of_file);
        if self.is_too_long() {
            return Err(limits::refused(audio, id, &limits::plays_too_much(audio, of_file)));
        }
        let frames = self.played_frames();
        // Beside the parts, what is decoded of one of them at a time.
        let longest = self.parts.iter().map(|part| self.decoder.decoded_frames(part)).max();
        let decoded = longest.unwrap_or(0) / 4;
        check_memory(audio, id, (frames + decoded) as usize, self.channels())?;
        let (name, played_s) = (audio.name_of(id), frames as f64 / f64::from(audio.rate_hz));
        told.details.push(format!(
            "{name}: in memory: {of_file} Hz, channels: {channels}, {played_s:.2} s of {length_s:.2} s"
        ));
        let refused = |error: MediaError| unreadable(audio, id, &error);
        let (all, count) = (std::mem::take(&mut self.parts), self.channels());
        let decoder = &mut self.decoder;
        let mut decoded = |part: Range<u64>| -> Result<(u64, StereoAudio), MediaError> {
            Ok((part.start, StereoAudio::from_planar(&decoder.part(part, count)?)))
        };
        let parts = all.into_iter().map(&mut decoded).collect::<Result<_, MediaError>>();
        let parts = AudioParts::new(self.decoder.frames(), parts.map_err(refused)?);
        let faults = if audio.disk.strict { all_faults(path) } else { Ok(self.decoder.warnings()) };
        tell_faults(audio, id, &faults.map_err(refused)?, told);
        Ok((parts, length_s))
    }
}

/// What clips play of a file of so many frames, at the session's rate and in the file's order.
pub(super) fn played(audio: &SessionAudio<'_>, id: MediaId, frames: u64) -> Vec<Range<u64>> {
    let SessionAudio { rate_hz, until, .. } = *audio;
    let clips = audio.loaded.session.tracks.iter().flat_map(|track| &track.clips);
    let of_file = clips.filter(|clip| clip.media == id);
    let played = of_file.map(|clip| frames_of(clip, frames, rate_hz, until));
    joined(played.collect(), JOINED_WITHIN_S * u64::from(rate_hz))
}

pub(super) fn all_faults(path: &Path) -> Result<Vec<String>, MediaError> {
    let never = AtomicBool::new(false);
    Ok(hocket_media::examine(path, &never)?.unwrap_or_default())
}

/// The same frames in the file's order, those that are near each other as one part. Empty ones are left out.
fn joined(mut parts: Vec<Range<u64>>, within: u64) -> Vec<Range<u64>> {
    parts.retain(|part| part.start < part.end);
    parts.sort_by_key(|part| part.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match all.last_mut() {
            Some(last) if part.start <= last.end.saturating_add(within) => {
                last.end = last.end.max(part.end);
            }
            _ => all.push(part),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use hocket_engine::session::ClipFade;

    use super::*;

    #[test]
    fn what_comes_behind_the_end_of_a_render_is_not_played() {
        let clip = Clip {
            media: MediaId(0),
            start_s: 2.0,
            offset_s: 1.0,
            length_s: Some(5.0),
            looped: false,
            gain_db: 0.0,
            fade_in_s: 0.0,
            fade_out_s: 0.0,
            fade_curve: ClipFade::Linear,
        };
        let check = |clip: &Clip, until, expected: Range<u64>| {
            let found = frames_of(clip, 1000, 100, until);
            assert!(found == expected || found.is_empty() && expected.is_empty(), "{found:?}");
        };
        check(&clip, u64::MAX, 100..600);
        check(&clip, 300, 100..200);
        check(&clip, 200, 0..0);
        check(&clip, 0, 0..0);
        let looped = Clip { looped: true, length_s: None, ..clip };
        check(&looped, u64::MAX, 100..1000);
        check(&looped, 210, 100..110);
        check(&looped, 9000, 100..1000);
    }

    #[test]
    fn parts_that_are_near_each_other_are_one() {
        let check = |parts: &[Range<u64>], expected: &[Range<u64>]| {
            assert_eq!(joined(parts.to_vec(), 10), expected, "{parts:?}");
        };
        check(&[], &[]);
        check(&[7..7, 20..30, 0..5], &[0..5, 20..30]);
        check(&[0..5, 15..20, 16..17, 40..41], &[0..20, 40..41]);
        check(&[0..5, 16..20, 0..5], &[0..5, 16..20]);
        check(&[0..50, 3..9, 70..u64::MAX, 90..91], &[0..50, 70..u64::MAX]);
    }
}
