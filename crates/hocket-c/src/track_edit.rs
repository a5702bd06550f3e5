//! New tracks of a session, and what they play: clips of audio, notes, an engine input.

use std::sync::Arc;

use hocket_engine::Edit;
use hocket_engine::session::{
    Clip, ClipFade, ClipNote as Note, InputId, MediaId, NoteClip as Notes, NoteSource, Track,
};

use crate::automation::time_base;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::routing_edit::{NewStrip, add};
use crate::status::{Error, Status};
use crate::time::listed;

/// A piece of an audio file on the time line. Times are in seconds.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NewClip {
    /// The number of the file, as in `hocket_session_media`.
    pub media: u32,
    /// When it starts on the session's time line.
    pub start_s: f64,
    /// Where in the file it starts.
    pub offset_s: f64,
    /// How long it plays. NaN: to the end of the file, or for ever if it loops.
    pub length_s: f64,
    /// Whether it starts again at `offset_s` when the file ends.
    pub looped: bool,
    /// Level in decibels.
    pub gain_db: f32,
    /// Length of the fade at the start.
    pub fade_in_s: f64,
    /// Length of the fade at the end.
    pub fade_out_s: f64,
    /// How both go: one of `HOCKET_FADE_LINEAR` (0), `HOCKET_FADE_EQUAL_POWER` and so on.
    pub fade_curve: u32,
}

/// The level goes in a straight line: for clips of the same sound that cross.
pub const HOCKET_FADE_LINEAR: u32 = 0;
/// The power goes along a quarter of a sine, -3 dB in the middle: for clips of different sounds that cross.
pub const HOCKET_FADE_EQUAL_POWER: u32 = 1;
/// The level goes along half a cosine, which has no corners: for clips of the same sound that cross.
pub const HOCKET_FADE_S_CURVE: u32 = 2;
/// The level in decibels goes in a straight line, from -100 dB: for clips that come out of silence or end in it.
pub const HOCKET_FADE_LOGARITHMIC: u32 = 3;

/// A note of a clip.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ClipNote {
    /// When it starts, counted from the start of the clip, in the clip's unit.
    pub at: f64,
    /// How long it is held; more than 0.
    pub length: f64,
    /// The key, 0 to 127. 60 is middle C.
    pub key: u32,
    /// The velocity, 0 to 1.
    pub velocity: f64,
    /// The MIDI channel, 0 to 15.
    pub channel: u32,
}

/// Notes on the time line of a track. Effects of the track with an event input play them, such as "synth".
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NoteClip {
    /// The unit of all its times: `HOCKET_LANE_BEATS` or `HOCKET_LANE_SECONDS`.
    pub unit: u32,
    /// When it starts in the song.
    pub start: f64,
    /// How long it plays. Notes that begin later are left out, and those that sound then end. NaN: to its last note.
    pub length: f64,
    /// The notes, in any order. The call that gets them copies them.
    pub notes: *const ClipNote,
    /// Number of `notes`.
    pub count: usize,
}

/// A track that plays no engine input.
pub const HOCKET_NO_INPUT: u32 = u32::MAX;

/// What a new track plays, all at once.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TrackSources {
    /// Clips of audio. They add up in this order.
    pub clips: *const NewClip,
    /// Number of `clips`.
    pub clip_count: usize,
    /// Clips of notes.
    pub note_clips: *const NoteClip,
    /// Number of `note_clips`.
    pub note_clip_count: usize,
    /// An input of the session, counted from 0 in the order of the file. `HOCKET_NO_INPUT`: none.
    pub input: u32,
}

/// Adds a track at the end of the list. Its clips play from the session's position.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P (`clips` has `count` clips), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_add_track(
    engine: *const Engine,
    strip: *const NewStrip,
    clips: *const NewClip,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    let sources = TrackSources {
        clips,
        clip_count: count,
        note_clips: std::ptr::null(),
        note_clip_count: 0,
        input: HOCKET_NO_INPUT,
    };
    // SAFETY: the caller's obligation.
    unsafe { hocket_engine_add_track_with(engine, strip, &sources, error) }
}

/// Adds a track at the end of the list, with clips of audio, clips of notes or an input. Add the effect that plays the notes
/// afterwards (`hocket_engine_insert_effect`).
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P (`sources` has as many clips as it says), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_add_track_with(
    engine: *const Engine,
    strip: *const NewStrip,
    sources: *const TrackSources,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        add(engine, strip, error, |strip, output| {
            let sources = sources.as_ref().ok_or_else(|| Failure::null("sources"))?;
            let clips = listed(sources.clips, sources.clip_count, "clips")?.iter();
            let clips = clips.map(NewClip::clip).collect::<Result<_, _>>()?;
            let notes = listed(sources.note_clips, sources.note_clip_count, "note_clips")?.iter();
            let notes = notes.map(|clip| clip.read()).collect::<Result<_, _>>()?;
            let input = (sources.input != HOCKET_NO_INPUT).then_some(sources.input as usize);
            let input = input.map(InputId);
            let track = Track { strip, output, clips, input, from: None, notes };
            Ok(Edit::AddTrack(Box::new(track)))
        })
    }
}

impl NewClip {
    fn clip(&self) -> Result<Clip, Failure> {
        let times = [self.start_s, self.offset_s, self.fade_in_s, self.fade_out_s];
        let length_s = (!self.length_s.is_nan()).then_some(self.length_s);
        let bad = times.into_iter().chain(length_s).find(|s| !(s.is_finite() && *s >= 0.0));
        if let Some(seconds) = bad {
            let text = format!("{seconds} s is no time of a clip: choose 0 or more");
            return Err(Failure::bad_input(text));
        }
        if !(self.gain_db.is_finite() || self.gain_db == f32::NEG_INFINITY) {
            return Err(Failure::bad_input(format!("{} dB is no level", self.gain_db)));
        }
        let fade_curve = match self.fade_curve {
            HOCKET_FADE_LINEAR => ClipFade::Linear,
            HOCKET_FADE_EQUAL_POWER => ClipFade::EqualPower,
            HOCKET_FADE_S_CURVE => ClipFade::SCurve,
            HOCKET_FADE_LOGARITHMIC => ClipFade::Logarithmic,
            other => {
                let text = format!(
                    "{other} is no curve of a fade: choose HOCKET_FADE_LINEAR (0), _EQUAL_POWER (1), _S_CURVE (2) or \
                     _LOGARITHMIC (3)"
                );
                return Err(Failure::bad_input(text));
            }
        };
        Ok(Clip {
            media: MediaId(self.media as usize),
            start_s: self.start_s,
            offset_s: self.offset_s,
            length_s,
            looped: self.looped,
            gain_db: self.gain_db,
            fade_in_s: self.fade_in_s,
            fade_out_s: self.fade_out_s,
            fade_curve,
        })
    }
}

impl NoteClip {
    /// # Safety
    /// P.
    unsafe fn read(&self) -> Result<Notes, Failure> {
        let length = (!self.length.is_nan()).then_some(self.length);
        let times = [self.start].into_iter().chain(length);
        if let Some(bad) = times.into_iter().find(|time| !(time.is_finite() && *time >= 0.0)) {
            let text = format!("{bad} is no time of a clip of notes: choose 0 or more");
            return Err(Failure::bad_input(text));
        }
        // SAFETY: the caller's obligation.
        let notes = unsafe { listed(self.notes, self.count, "note_clip.notes") }?;
        let notes = notes.iter().enumerate().map(|(index, note)| note.read(index));
        let notes: Arc<[Note]> = notes.collect::<Result<_, _>>()?;
        let base = time_base(self.unit, "note_clip.unit")?;
        let source = NoteSource::Written(notes);
        Ok(Notes { base, start: self.start, length, chase: true, source })
    }
}

impl ClipNote {
    fn read(&self, index: usize) -> Result<Note, Failure> {
        let ClipNote { at, length, key, velocity, channel } = *self;
        let key = u8::try_from(key).ok().filter(|key| *key < 128);
        let channel = u8::try_from(channel).ok().filter(|channel| *channel < 16);
        let fits = at.is_finite()
            && at >= 0.0
            && length.is_finite()
            && length > 0.0
            && (0.0..=1.0).contains(&velocity);
        let (key, channel) = key.zip(channel).filter(|_| fits).ok_or_else(|| {
            Failure::bad_input(format!(
                "note {index} is not possible: it starts at 0 or later, is longer than 0, has a key of 0 to 127, \
                 a velocity of 0 to 1 and a channel of 0 to 15"
            ))
        })?;
        Ok(Note { at, length, key, velocity, channel })
    }
}
