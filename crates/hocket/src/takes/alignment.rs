//! How a take is put where it belongs in the song, and which of the frames that pass it records.
//!
//! Somebody hears a frame of the song later than the engine has put it out, and what they play to it comes in later again. So what
//! comes in at a frame belongs to an earlier one. A take of an input leaves so many frames out at its start, and goes on as
//! much longer behind the song's end:
//!
//! ```text
//! engine's frames   0 ............ D ................. N ............ N + D
//! the song          |--------------------------------->|
//! what comes in                    |--------------------------------->|
//! D = effects before the ears + out + in + effects behind the input
//! ```

use std::ops::Range;

use hocket_devices::Latency;
use hocket_plan::session::{Alignment, TakeFrom};
use serde_json::{Value, json};

use super::Wanted;

/// A latency of more seconds is a number that some server makes up.
const LONGEST_S: u64 = 10;

/// The ways out and in, at the engine's rate, and what the effects of the session add to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// From the engine to the ears. `None`: nothing is connected.
    out_frames: Option<u64>,
    /// From the microphone to the engine. `None`: nothing is connected.
    in_frames: Option<u64>,
    /// From the song's frame to the main output.
    session_frames: u64,
    rate_hz: u32,
}

impl RoundTrip {
    /// Of a device with this latency.
    pub(crate) fn new(latency: &Latency, session_frames: u32, rate_hz: u32) -> RoundTrip {
        let device_hz = u64::from(latency.rate_hz.max(1));
        let here =
            |frames: u32| (u64::from(frames) * u64::from(rate_hz) + device_hz / 2) / device_hz;
        let (out_frames, in_frames) = (latency.out_frames.map(here), latency.in_frames.map(here));
        RoundTrip { out_frames, in_frames, session_frames: session_frames.into(), rate_hz }
    }

    /// Notes come in as late as sound does; where no sound comes in, how late is not known, and not counted.
    fn way(&self, is_notes: bool) -> Way {
        let (out_frames, in_frames) = match (self.out_frames, self.in_frames) {
            (None, _) => return Way::Unknown("nothing is connected to the outputs"),
            (Some(_), None) if !is_notes => {
                return Way::Unknown("nothing is connected to the inputs");
            }
            (Some(out), of_input) => (out, of_input.unwrap_or(0)),
        };
        match out_frames.saturating_add(in_frames) > LONGEST_S * u64::from(self.rate_hz) {
            true => Way::Unknown("the device states more than 10 s"),
            false => Way::Known { out_frames, in_frames },
        }
    }
}

/// How what is recorded goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It does not: nobody plays it to what they hear.
    None,
    Known {
        out_frames: u64,
        in_frames: u64,
    },
    /// And why.
    Unknown(&'static str),
}

/// What the alignment of a take does, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Aligned {
    to: Alignment,
    /// Frames of sound that are left out at the start. Notes are written so much earlier.
    pub(super) frames: u64,
    /// How much later than it belongs the first frame of the file is all the same.
    pub(super) late_frames: u64,
    way: Way,
    /// What effects of the session delay.
    session_frames: u64,
    offset_frames: i32,
    is_notes: bool,
    /// Somebody plays it, where a device brings it.
    is_of_input: bool,
    /// The session states how late the input is.
    is_stated: bool,
}

impl Aligned {
    /// `node_frames`: how late what is recorded is in the engine. `trip`: `None` where nothing sounds.
    pub(super) fn new(take: &Wanted, node_frames: u64, trip: Option<&RoundTrip>) -> Aligned {
        let Wanted { align: to, offset_frames, .. } = *take;
        let (is_notes, is_of_input) = (take.is_notes(), take.input.is_some());
        let is_stated = !is_of_input && matches!(take.from, TakeFrom::Input(_));
        let trip = trip.filter(|_| take.is_played_along);
        let way = trip.map_or(Way::None, |trip| trip.way(is_notes));
        let heard_late = trip.map_or(0, |trip| trip.session_frames);
        let (session_frames, round) = match way {
            Way::None | Way::Unknown(_) => (node_frames, 0),
            Way::Known { out_frames, in_frames } => {
                (node_frames + heard_late, out_frames + in_frames)
            }
        };
        let late = session_frames + round;
        let frames = match (to, way) {
            (Alignment::Song, Way::Unknown(_)) if !is_notes => 0,
            (Alignment::Song, _) => late.saturating_add_signed(offset_frames.into()),
            (Alignment::Arrival, _) => u64::try_from(offset_frames).unwrap_or(0),
        };
        let late_frames = match (to, way) {
            // The offset is a part of how late it is.
            (Alignment::Song, Way::None | Way::Known { .. }) => 0,
            _ => late.saturating_sub(frames),
        };
        Aligned {
            to,
            frames,
            late_frames,
            way,
            session_frames,
            offset_frames,
            is_notes,
            is_of_input,
            is_stated,
        }
    }

    /// Which of the frames that pass are recorded, of a take of so many frames. Notes that are written earlier are not left
    /// out: those before the start are put there.
    pub(super) fn span(&self, frames: Option<u64>) -> Span {
        let before = if self.is_notes { 0 } else { self.frames };
        Span { before, left: frames.map(|frames| frames + self.more_frames()), kept: 0 }
    }

    /// How many frames more than the song has are recorded.
    pub(super) fn more_frames(&self) -> u64 {
        match self.way {
            Way::Known { .. } if self.is_notes => self.frames,
            _ => 0,
        }
    }

    /// Whether a change of the device's latency means anything to it.
    pub(super) fn follows_device(&self) -> bool {
        self.to == Alignment::Song && self.way != Way::None
    }

    /// Why it is not where it belongs. `None`: it is, or is not to be.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        match self.way {
            Way::Unknown(why) if self.to == Alignment::Song => Some(why),
            _ => None,
        }
    }

    /// For people, behind the length. Empty: there is nothing to tell.
    pub(super) fn text(&self) -> String {
        if let Some(why) = self.unknown() {
            return format!(", nothing left out for latency, because {why}");
        }
        match (self.to, self.way) {
            // That notes are earlier by what effects delay goes without saying.
            (Alignment::Song, Way::None) if self.is_notes && self.offset_frames == 0 => {
                String::new()
            }
            (Alignment::Song, Way::None) if self.is_of_input && self.frames == 0 => {
                ", nothing left out for latency, because no device brought it".into()
            }
            _ if self.frames == 0 => String::new(),
            (to, _) => {
                let what = match self.is_notes {
                    true => format!("written {} frames earlier", self.frames),
                    false => format!("{} frames left out at its start", self.frames),
                };
                let song = match to {
                    Alignment::Song => " to be in time with the song",
                    Alignment::Arrival => "",
                };
                format!(", {what}{song} ({})", self.parts())
            }
        }
    }

    /// `out 512, in 512, effects 96`.
    fn parts(&self) -> String {
        let offset = ("offset", i64::from(self.offset_frames));
        let (out_frames, in_frames) = match self.way {
            Way::Known { out_frames, in_frames } => (out_frames as i64, in_frames as i64),
            Way::None | Way::Unknown(_) => (0, 0),
        };
        let session = if self.is_stated { "latency_frames" } else { "effects" };
        let session = (session, self.session_frames as i64);
        let all = match self.to {
            Alignment::Song => vec![("out", out_frames), ("in", in_frames), session, offset],
            Alignment::Arrival => vec![offset],
        };
        let told = all.into_iter().filter(|(_, frames)| *frames != 0);
        told.map(|(what, frames)| format!("{what} {frames}")).collect::<Vec<_>>().join(", ")
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let (out_frames, in_frames) = match self.way {
            Way::Known { out_frames, in_frames } => (Some(out_frames), Some(in_frames)),
            Way::None | Way::Unknown(_) => (None, None),
        };
        json!({
            "to": if self.to == Alignment::Song { "song" } else { "none" },
            "frames": self.frames,
            "out_frames": out_frames,
            "in_frames": in_frames,
            "session_frames": self.session_frames,
            "offset_frames": self.offset_frames,
            "unknown": self.unknown(),
        })
    }
}

/// Which of the frames that pass a take records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Frames before the first one.
    pub(super) before: u64,
    /// Frames that are still to record; `None`: no end.
    left: Option<u64>,
    /// Frames that were.
    pub(super) kept: u64,
}

impl Span {
    /// Which of the next frames are recorded. Thread: leader, between blocks.
    pub(super) fn next(&mut self, frames: usize) -> Range<usize> {
        let skipped = self.before.min(frames as u64) as usize;
        self.before -= skipped as u64;
        let rest = frames - skipped;
        let kept = self.left.map_or(rest, |left| left.min(rest as u64) as usize);
        self.left = self.left.map(|left| left - kept as u64);
        self.kept += kept as u64;
        skipped..skipped + kept
    }

    /// Whether the next frame is recorded.
    pub(super) fn is_open(&self) -> bool {
        self.before == 0 && self.left != Some(0)
    }

    /// It ends when it has so many frames, unless its end is known.
    pub(super) fn end_at(&mut self, frames: u64) {
        self.left.get_or_insert(frames.saturating_sub(self.kept));
    }

    /// How many frames have to pass until it has all of its own.
    pub(super) fn remaining(&self) -> u64 {
        self.left.map_or(0, |left| if left == 0 { 0 } else { self.before + left })
    }
}

#[cfg(test)]
mod tests {
    use hocket_plan::session::{EventsOf, InputId, StripId, Tap};

    use super::*;

    const INPUT: TakeFrom = TakeFrom::Input(InputId(0));
    const STRIP: TakeFrom = TakeFrom::Strip(StripId::Track(0), Tap::PostFader);
    const NOTES: TakeFrom = TakeFrom::Events(EventsOf::Input(InputId(0)));

    fn trip(out_frames: Option<u32>, in_frames: Option<u32>) -> RoundTrip {
        RoundTrip::new(
            &Latency { out_frames, in_frames, rate_hz: 48_000, ..Latency::default() },
            96,
            48_000,
        )
    }

    /// A take of something that somebody plays to what they hear.
    fn played(from: TakeFrom) -> Wanted {
        let input = Some(InputId(0));
        Wanted { input, is_live: true, is_played_along: true, ..Wanted::of_nothing(from) }
    }

    /// Frames that are left out, or by which notes are earlier.
    fn frames(take: &Wanted, node_frames: u64) -> u64 {
        Aligned::new(take, node_frames, Some(&trip(Some(512), Some(128)))).frames
    }

    #[test]
    fn what_somebody_plays_along_is_late_by_both_ways_and_all_effects() {
        let input = played(INPUT);
        assert_eq!(frames(&input, 0), 512 + 128 + 96);
        assert_eq!(frames(&played(NOTES), 0), 512 + 128 + 96);
        let more = Wanted { offset_frames: 30, ..input.clone() };
        assert_eq!(frames(&more, 0), 512 + 128 + 96 + 30);
        let less = Wanted { offset_frames: -60_000, ..input.clone() };
        assert_eq!(frames(&less, 0), 0, "no frames come before the first one");
        // A track that plays nothing but the input: its effects come on top.
        let strip = Wanted { align: Alignment::Song, ..played(STRIP) };
        assert_eq!(frames(&strip, 53), 512 + 128 + 96 + 53);
        let as_it_comes = Wanted { align: Alignment::Arrival, ..input };
        let aligned = Aligned::new(&as_it_comes, 0, Some(&trip(Some(512), Some(128))));
        assert_eq!((aligned.frames, aligned.late_frames), (0, 512 + 128 + 96));
    }

    #[test]
    fn a_strip_is_late_by_its_own_effects_alone() {
        let strip = Wanted::of_nothing(STRIP);
        let aligned = Aligned::new(&strip, 53, Some(&trip(Some(512), Some(128))));
        assert_eq!((aligned.frames, aligned.late_frames, &*aligned.text()), (0, 53, ""));
        let to_song = Wanted { align: Alignment::Song, ..strip };
        let aligned = Aligned::new(&to_song, 53, Some(&trip(Some(512), Some(128))));
        assert_eq!((aligned.frames, aligned.late_frames), (53, 0));
        assert!(
            aligned.text().contains("53 frames left out")
                && aligned.text().contains("(effects 53)")
        );
        assert!(!aligned.follows_device());
    }

    #[test]
    fn an_unknown_latency_leaves_nothing_out_and_is_told() {
        let input = played(INPUT);
        for (trip, why) in [
            (trip(None, Some(128)), "to the outputs"),
            (trip(Some(512), None), "to the inputs"),
            (trip(Some(u32::MAX), Some(128)), "more than 10 s"),
        ] {
            let aligned = Aligned::new(&input, 0, Some(&trip));
            assert_eq!((aligned.frames, aligned.span(Some(9)).before), (0, 0));
            assert!(aligned.text().contains(why), "{}", aligned.text());
            assert!(aligned.json()["unknown"].as_str().unwrap().contains(why));
        }
        // Notes come in elsewhere than sound.
        let aligned = Aligned::new(&played(NOTES), 0, Some(&trip(Some(512), None)));
        assert_eq!(aligned.frames, 512 + 96);
        // Files, and a device without sound.
        let fed = Wanted { is_live: false, is_played_along: false, ..input };
        let aligned = Aligned::new(&fed, 0, None);
        assert!(aligned.frames == 0 && aligned.text().contains("no device brought it"));
    }

    #[test]
    fn latency_counts_at_the_rate_of_the_engine() {
        let latency = Latency {
            out_frames: Some(441),
            in_frames: Some(0),
            rate_hz: 44_100,
            ..Latency::default()
        };
        let there = RoundTrip::new(&latency, 0, 48_000);
        assert_eq!(there.way(false), Way::Known { out_frames: 480, in_frames: 0 });
    }

    /// What is left out at the start comes behind the end, whatever the blocks.
    #[test]
    fn a_span_has_as_many_frames_as_the_song_some_frames_later() {
        for block in [1, 7, 64, 1024] {
            let aligned = Aligned::new(&played(INPUT), 0, Some(&trip(Some(300), Some(4))));
            let mut known = aligned.span(Some(1000));
            let mut open = aligned.span(None);
            let (mut passed, mut kept) = (0, Vec::new());
            while known.remaining() > 0 {
                let range = known.next(block);
                kept.extend(range.map(|frame| passed + frame));
                open.next(block);
                passed += block;
            }
            assert_eq!(kept, (400..1400).collect::<Vec<usize>>(), "blocks of {block}");
            // Somebody ends the song after 1400 frames or some more.
            open.end_at(passed as u64);
            assert_eq!(open.remaining(), 400);
        }
    }
}
