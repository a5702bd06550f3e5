//! Takes of events: MIDI files of what leaves an engine, and of what a host hands over.

use std::ffi::c_char;
use std::path::Path;

use hocket_disk::EventTakeSettings as DiskSettings;
use hocket_engine::time::{MeterPoint, TempoPoint as Point};

use crate::border::{made, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::process::lead;
use crate::status::{Error, Status};
use crate::takes::{Handed, Recorder, Take};
use crate::time::{TempoPoint, TimeSignature, listed};

/// The most events for which a take has room.
const MOST_ROOM: u64 = 1 << 24;

/// What to record of events, and where to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EventTakeSettings {
    /// The MIDI file. It must not exist: a recording never replaces anything.
    pub path: *const c_char,
    /// The name of its track.
    pub name: *const c_char,
    /// Frames per second.
    pub rate_hz: u32,
    /// The song's tempos, sorted by beats. The file has them, and its ticks follow them.
    pub tempos: *const TempoPoint,
    /// Number of `tempos`. 0: 120 quarter notes per minute.
    pub tempo_count: usize,
    /// The song's time signatures, sorted by beats.
    pub signatures: *const TimeSignature,
    /// Number of `signatures`. 0: 4/4.
    pub signature_count: usize,
    /// How many frames later than they belong the events arrive (`hocket_output`). They are written so much earlier.
    pub latency_frames: u64,
    /// How many events find room while the disk does not answer, at most 16,777,216. 0 means 32,768.
    pub room: u64,
}

/// Begins a take of notes and messages: creates a MIDI file that is valid at every moment (docs/disks.md). The handle is one as
/// `hocket_take_begin` returns, for `hocket_take_progress`, `_finish` and `_free`. Returns NULL on failure, and leaves nothing
/// behind then.
///
/// Thread: control. Cost: waits for the disk; memory for `room` events of 48 bytes.
///
/// # Safety
/// P (`tempos` and `signatures` have as many values as their counts), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_begin_events(
    recorder: *const Recorder,
    settings: *const EventTakeSettings,
    error: *mut *mut Error,
) -> *mut Take {
    // SAFETY: P, H.
    unsafe {
        made(error, || {
            let recorder = seen(recorder, "recorder")?;
            recorder.begin_events(&seen(settings, "settings")?.read()?)
        })
    }
}

/// Records the events that an output's node sent in the last block of so many frames. The take's first block says where in the
/// song it begins; from there on it goes in a straight line, also where the song jumps. It refuses what
/// `hocket_engine_read_messages` refuses, and a take of audio. `HOCKET_STATUS_BUSY`: some events found no room, because the disk
/// is too slow. They are counted, and all notes that sound end at that place in the file.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_record_events(
    engine: *const Engine,
    output: u32,
    take: *const Take,
    frames: u32,
) -> Status {
    // SAFETY: P, H.
    let Some(take) = (unsafe { take.as_ref() }) else { return Status::BadInput };
    let mut recorded = Status::BadInput;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(events) = leading.output_events(output as usize) else { return };
            let song_frame = leading.segments().first().map_or(0, |first| first.position);
            let Some(mut input) = take.input() else { return recorded = Status::Busy };
            let Some(Handed::Events(input)) = input.as_mut() else { return };
            let stored = input.write(events, 0..frames, song_frame);
            let all = events.block(frames).len();
            recorded = if stored == all { Status::Ok } else { Status::Busy };
        })
    };
    if status == Status::Ok { recorded } else { status }
}

impl EventTakeSettings {
    /// # Safety
    /// P.
    unsafe fn read(&self) -> Result<DiskSettings, Failure> {
        let rates = hocket_engine::Settings::RATES_HZ;
        if !rates.contains(&self.rate_hz) {
            let (own, min, max) = (self.rate_hz, rates.start(), rates.end());
            let text = format!("settings.rate_hz of {own} is not possible: choose {min} to {max}");
            return Err(Failure::bad_input(text));
        }
        // SAFETY: the caller's obligation, for all four.
        let (path, name, tempos, signatures) = unsafe {
            (
                Path::new(text(self.path, "settings.path")?),
                text(self.name, "settings.name")?,
                listed(self.tempos, self.tempo_count, "settings.tempos")?,
                listed(self.signatures, self.signature_count, "settings.signatures")?,
            )
        };
        if path.exists() {
            let path = path.display();
            let text =
                format!("{path} exists: choose another name, since a recording replaces nothing");
            return Err(Failure::bad_input(text));
        }
        if self.room > MOST_ROOM {
            let text = format!("settings.room is too large: choose at most {MOST_ROOM}");
            return Err(Failure::bad_input(text));
        }
        let usual = DiskSettings::new(path, name, self.rate_hz);
        let room = if self.room == 0 { usual.room } else { self.room as usize };
        Ok(DiskSettings {
            tempos: tempos.iter().map(Point::from).collect(),
            meters: signatures.iter().map(MeterPoint::from).collect(),
            latency_frames: self.latency_frames,
            room,
            ..usual
        })
    }
}
