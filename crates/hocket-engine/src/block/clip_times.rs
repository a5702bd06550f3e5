//! When a clip sounds, and which frames of its file it plays then.

use std::ops::Range;

use hocket_plan::session::{Clip, ClipFade};

/// When a clip sounds, and which frames of its file it plays. All in frames.
#[derive(Debug, Clone)]
pub(crate) struct ClipTimes {
    pub(super) start: u64,
    /// `u64::MAX`: never.
    pub(super) end: u64,
    offset: u64,
    pub(super) file_frames: u64,
    looped: bool,
    gain_lin: f32,
    fade_in: u64,
    fade_out: u64,
    fade_curve: ClipFade,
}

/// The frame after the last audible one of all clips; 0 without any. `None` if one loops for ever.
pub(crate) fn last_end<'a>(clips: impl Iterator<Item = &'a ClipTimes>) -> Option<u64> {
    Some(clips.map(|clip| clip.end).max().unwrap_or(0)).filter(|end| *end != u64::MAX)
}

impl ClipTimes {
    /// Of a clip that plays a file of `file_frames` frames.
    pub(crate) fn new(clip: &Clip, file_frames: u64, rate_hz: u32) -> ClipTimes {
        let start = frames(clip.start_s, rate_hz);
        let offset = frames(clip.offset_s, rate_hz).min(file_frames);
        let natural = if clip.looped && offset < file_frames {
            u64::MAX
        } else {
            start.saturating_add(file_frames - offset)
        };
        let asked = clip.length_s.map(|length| start.saturating_add(frames(length, rate_hz)));
        ClipTimes {
            start,
            end: asked.map_or(natural, |asked| asked.min(natural)),
            offset,
            file_frames,
            looped: clip.looped,
            gain_lin: hocket_dsp::level::db_to_lin(clip.gain_db),
            fade_in: frames(clip.fade_in_s, rate_hz),
            fade_out: frames(clip.fade_out_s, rate_hz),
            fade_curve: clip.fade_curve,
        }
    }

    /// The frames of the file that follow each other for ever; `None` if the clip does not loop.
    pub(crate) fn lap(&self) -> Option<Range<u64>> {
        (self.looped && self.offset < self.file_frames).then_some(self.offset..self.file_frames)
    }

    /// The frames of the file that are played at all.
    pub(crate) fn played(&self) -> Range<u64> {
        let most = self.offset.saturating_add(self.end - self.start).min(self.file_frames);
        self.offset..most
    }

    /// The frame of the file that is read next when the song goes on at `song`. `None`: the clip is over by then.
    pub(crate) fn next_read(&self, song: i64) -> Option<u64> {
        let song = u64::try_from(song).unwrap_or(0).max(self.start);
        (song < self.end).then(|| self.source_frame(song - self.start))
    }

    /// Whether the clip begins in these frames of the song, or sounds before.
    pub(crate) fn is_due(&self, song: Range<i64>) -> bool {
        let until = u64::try_from(song.end).unwrap_or(0);
        self.start < until && self.next_read(song.start).is_some()
    }

    pub(super) fn source_frame(&self, played: u64) -> u64 {
        let length = self.file_frames - self.offset;
        let inside = if self.looped { played % length } else { played };
        self.offset + inside
    }

    /// The frames of the song in which the gain is [`ClipTimes::gain`], because both fades are over or to come. Empty, or
    /// with its end before its start, where the fades meet.
    pub(super) fn between_fades(&self) -> Range<u64> {
        let from = self.start.saturating_add(self.fade_in);
        let to = match self.end {
            u64::MAX => u64::MAX,
            end => (end + 1).saturating_sub(self.fade_out),
        };
        from..to
    }

    /// The gain between the fades.
    pub(super) fn gain(&self) -> f32 {
        self.gain_lin
    }

    pub(super) fn gain_at(&self, at: u64) -> f32 {
        let played = at - self.start;
        let mut gain = self.gain_lin;
        if played < self.fade_in {
            gain *= self.faded(played, self.fade_in);
        }
        if self.end != u64::MAX && self.end - at < self.fade_out {
            gain *= self.faded(self.end - at, self.fade_out);
        }
        gain
    }

    /// The level after `frame` of so many frames of a fade in.
    fn faded(&self, frame: u64, frames: u64) -> f32 {
        let part = frame as f64 / frames as f64;
        match self.fade_curve {
            ClipFade::Linear => frame as f32 / frames as f32,
            ClipFade::EqualPower => quarter_sine(part) as f32,
            ClipFade::SCurve => half_cosine(part) as f32,
            ClipFade::Logarithmic => line_in_db(part) as f32,
        }
    }
}

fn frames(seconds: f64, rate_hz: u32) -> u64 {
    (seconds * f64::from(rate_hz)).round() as u64
}

/// The sine of `part` of a quarter turn, from 0 to 1, within 1e-11. It has the same bits on every machine, which a sine of a
/// library need not have.
fn quarter_sine(part: f64) -> f64 {
    let angle = part * std::f64::consts::FRAC_PI_2;
    let square = angle * angle;
    angle * SINE.iter().rev().fold(0.0, |sum, factor| sum * square + factor)
}

/// The series of the sine: 1, -1/3!, 1/5! and so on. The first one left out, 1/17!, adds less than 1e-11 here.
const SINE: [f64; 8] = {
    let (mut factors, mut term) = ([0.0; 8], 0);
    while term < 8 {
        factors[term] = match term {
            0 => 1.0,
            _ => -factors[term - 1] / ((2 * term) as f64 * (2 * term + 1) as f64),
        };
        term += 1;
    }
    factors
};

/// From 0 to 1 along half a cosine: the square of a quarter of a sine.
fn half_cosine(part: f64) -> f64 {
    let sine = quarter_sine(part);
    sine * sine
}

/// From -100 dB to 0 dB in a straight line: 10 to the power of `-5 (1 - part)`, within 1e-10 of itself. It has the same bits on
/// every machine.
fn line_in_db(part: f64) -> f64 {
    // The series needs few terms for a sixteenth of the exponent; four squares make the whole of it.
    let exponent = -5.0 / 16.0 * std::f64::consts::LN_10 * (1.0 - part);
    let root = EXPONENTIAL.iter().rev().fold(0.0, |sum, factor| sum * exponent + factor);
    (0..4).fold(root, |power, _| power * power)
}

/// The series of the exponential: 1, 1, 1/2!, 1/3! and so on. The first one left out, 1/13!, adds less than 3e-12 here.
const EXPONENTIAL: [f64; 13] = {
    let (mut factors, mut term) = ([1.0; 13], 1);
    while term < 13 {
        factors[term] = factors[term - 1] / term as f64;
        term += 1;
    }
    factors
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_played_is_what_is_read() {
        let lengths = [None, Some(0.0), Some(0.0334), Some(0.2), Some(5.0)];
        let offsets = [0.0, 0.0127, 0.29, 0.3, 4.0];
        for (length_s, offset_s) in lengths.iter().flat_map(|one| offsets.map(|two| (*one, two))) {
            for looped in [false, true] {
                let clip = Clip {
                    media: hocket_plan::session::MediaId(0),
                    start_s: 0.0333,
                    offset_s,
                    length_s,
                    looped,
                    gain_db: 0.0,
                    fade_in_s: 0.0,
                    fade_out_s: 0.0,
                    fade_curve: ClipFade::Linear,
                };
                let times = ClipTimes::new(&clip, 300, 1000);
                let read = (times.start..times.end.min(9_000))
                    .map(|at| times.source_frame(at - times.start));
                let read: std::collections::BTreeSet<u64> = read.collect();
                assert!(read.into_iter().eq(times.played()), "{clip:?}");
            }
        }
    }

    #[test]
    fn the_other_curves_are_what_they_say() {
        assert_eq!((half_cosine(0.0), line_in_db(1.0)), (0.0, 1.0));
        for part in (0..=1000).map(|i| f64::from(i) / 1000.0) {
            let cosine = 0.5 - 0.5 * (part * std::f64::consts::PI).cos();
            assert!((half_cosine(part) - cosine).abs() < 1e-10, "{part}");
            let expected = 10f64.powf(-5.0 * (1.0 - part));
            assert!((line_in_db(part) / expected - 1.0).abs() < 1e-10, "{part}");
        }
    }

    #[test]
    fn a_quarter_sine_is_one() {
        assert_eq!(quarter_sine(0.0), 0.0);
        for part in (0..=1000).map(|i| f64::from(i) / 1000.0) {
            let expected = (part * std::f64::consts::FRAC_PI_2).sin();
            assert!((quarter_sine(part) - expected).abs() < 1e-11, "{part}");
        }
    }
}
