//! Song time: what a processor learns of it in a block, and the map between frames, seconds, beats and bars.

use std::slice::from_raw_parts;

use hocket_engine::time::{
    BarPosition, BlockTime, Glide, MeterPoint, Position as SongPosition, Segment as TimeSegment,
    TempoMap as Map, TempoPoint as Point, TimeSignature as Signature,
};

use crate::border::{done, made, quiet, seen};
use crate::failure::Failure;
use crate::status::{Error, Status};

/// A place in the song, in every unit. A beat is a quarter note, whatever the time signature.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Position {
    /// Frames since the start of the song. Negative before it.
    pub frame: i64,
    /// Seconds since the start of the song.
    pub seconds: f64,
    /// Quarter notes since the start of the song.
    pub beats: f64,
    /// Quarter notes per minute.
    pub bpm: f64,
    /// The bar, counted from 0. Negative before the start of the song.
    pub bar: i64,
    /// The beat in the bar, counted from 0 in notes of `denominator`.
    pub beat: u16,
    /// The tick in the beat, 960 per quarter note, counted from 0.
    pub tick: u16,
    /// Upper number of the time signature.
    pub numerator: u16,
    /// Lower number of the time signature.
    pub denominator: u16,
}

/// Where the song is at a frame of a block.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// Frames since the engine's start. It never goes back, whatever the song does.
    pub steady_frame: u64,
    /// The place in the song.
    pub song: Position,
    /// Whether the song plays. If not, every frame has the same position.
    pub playing: bool,
}

/// A stretch of a block in which the song plays without a jump, or stands still.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Song position of its first frame. If the song plays, each further frame is one further.
    pub position: i64,
    /// Its first frame, counted from the start of the block.
    pub offset: u32,
    /// Its length in frames, at least 1.
    pub frames: u32,
    /// Whether the song plays.
    pub playing: bool,
    /// Whether it begins with a jump: a locate, or the next pass of a loop.
    pub jumped: bool,
}

/// The time of one block, for `hocket_time_at`. It ends with the callback that gets it.
pub struct Clock {
    _opaque: [u8; 0],
}

/// Writes where the song is at a frame of the block into `time`. A frame past the block counts on.
///
/// Thread: the worker, inside the callback that got `clock` in its block. Cost: a search in the tempo map for each
/// unit; no allocation.
///
/// # Safety
/// P (`clock` is the one of the running callback's block).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_time_at(
    clock: *const Clock,
    frame: u32,
    time: *mut Time,
) -> Status {
    // SAFETY: P: `Clock::of` made it from this type, and its callback still runs.
    let clock = unsafe { clock.cast::<BlockTime<'_>>().as_ref() };
    // SAFETY: P.
    let (Some(clock), Some(time)) = (clock, unsafe { time.as_mut() }) else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || {
        *time = Time::at(clock, frame);
        Status::Ok
    })
}

/// A tempo from a beat on.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TempoPoint {
    /// Quarter notes since the start of the song, 0 to 10,000,000.
    pub beats: f64,
    /// Quarter notes per minute, 1 to 10,000.
    pub bpm: f64,
    /// Whether the tempo moves in a straight line to that of the next point. If not, it stays until there.
    pub glides: bool,
}

/// A time signature from a beat on. It begins a bar there.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TimeSignature {
    /// Quarter notes since the start of the song, 0 to 10,000,000.
    pub beats: f64,
    /// Beats per bar, 1 to 255.
    pub numerator: u16,
    /// The note that counts as a beat: 1, 2, 4, 8, 16, 32 or 64.
    pub denominator: u16,
}

/// Tempos and time signatures of a song at one sample rate. It never changes, so several threads may read it.
pub struct TempoMap {
    pub(crate) map: Map,
}

/// Makes a tempo map of points and time signatures, each list sorted by beats. Returns NULL on failure. The first
/// tempo also holds before its point, and 4/4 before the first time signature. There must be a tempo.
///
/// Thread: any but the leader. Cost: allocates.
///
/// # Safety
/// P (`tempos` and `signatures` have as many values as their counts).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_new(
    rate_hz: u32,
    tempos: *const TempoPoint,
    tempo_count: usize,
    signatures: *const TimeSignature,
    signature_count: usize,
    error: *mut *mut Error,
) -> *mut TempoMap {
    // SAFETY: P.
    unsafe {
        made(error, || {
            let tempos = listed(tempos, tempo_count, "tempos")?.iter().map(Point::from);
            let signatures = listed(signatures, signature_count, "signatures")?.iter();
            let signatures: Vec<_> = signatures.map(MeterPoint::from).collect();
            let map = Map::new(rate_hz, &tempos.collect::<Vec<_>>(), &signatures);
            Ok(TempoMap { map: map.map_err(Failure::bad_input)? })
        })
    }
}

/// Frees a tempo map. NULL does nothing. Engines that use it go on.
///
/// Thread: any but the leader. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_free(map: *mut TempoMap) {
    if !map.is_null() {
        // SAFETY: H (made by `border::made`), X.
        let map = unsafe { Box::from_raw(map) };
        quiet((), || drop(map));
    }
}

/// Writes the place at a frame of the song into `position`. A frame further than 2^40 from the start counts as the
/// furthest one.
///
/// Thread: any. Cost: a search in the map for each unit; no allocation.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_at(
    map: *const TempoMap,
    frame: i64,
    position: *mut Position,
) -> Status {
    // SAFETY: P, H.
    let (Some(map), Some(position)) = (unsafe { map.as_ref() }, unsafe { position.as_mut() })
    else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || {
        *position = Position::at(&map.map, frame);
        Status::Ok
    })
}

/// Writes the frame nearest to a beat (quarter notes since the start of the song) into `frame`. It refuses a beat
/// that is not finite, and one further than 2^40 frames from the start.
///
/// Thread: any but the leader. Cost: a search in the map.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_frame_at_beats(
    map: *const TempoMap,
    beats: f64,
    frame: *mut i64,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { frame_of(map, |_| SongPosition::Beats(beats), frame, error) }
}

/// Like `hocket_tempo_map_frame_at_beats`, for seconds since the start of the song.
///
/// Thread: any but the leader. Cost: a multiplication.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_frame_at_seconds(
    map: *const TempoMap,
    seconds: f64,
    frame: *mut i64,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { frame_of(map, |_| SongPosition::Seconds(seconds), frame, error) }
}

/// Like `hocket_tempo_map_frame_at_beats`, for a bar and a beat in it, both counted from 0. A beat is a note of the
/// time signature's denominator. A beat past the end of the bar counts on.
///
/// Thread: any but the leader. Cost: two searches in the map.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_tempo_map_frame_at_bar(
    map: *const TempoMap,
    bar: i64,
    beat: u16,
    frame: *mut i64,
    error: *mut *mut Error,
) -> Status {
    let place = BarPosition { bar, beat, tick: 0 };
    // SAFETY: P, H.
    unsafe { frame_of(map, |map| SongPosition::Beats(map.beats_at_bar(place)), frame, error) }
}

/// # Safety
/// P, H.
unsafe fn frame_of(
    map: *const TempoMap,
    position: impl FnOnce(&Map) -> SongPosition,
    frame: *mut i64,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe {
        done(error, || {
            let map = &seen(map, "map")?.map;
            let place = frame.as_mut().ok_or_else(|| Failure::null("frame"))?;
            *place = map.song_frame(position(map)).map_err(Failure::bad_input)?;
            Ok(())
        })
    }
}

/// A list of a caller. Without elements the pointer may be null.
///
/// # Safety
/// P. The lifetime is that of the call.
pub(crate) unsafe fn listed<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Failure::null(what)),
        // SAFETY: P, and not null.
        (_, false) => Ok(unsafe { from_raw_parts(pointer, count) }),
    }
}

impl Position {
    fn at(map: &Map, frame: i64) -> Position {
        let (bar, signature) = (map.bar_at_frame(frame), map.signature_at_frame(frame));
        Position {
            frame,
            seconds: map.seconds_at_frame(frame),
            beats: map.beats_at_frame(frame),
            bpm: map.bpm_at_frame(frame),
            bar: bar.bar,
            beat: bar.beat,
            tick: bar.tick,
            numerator: signature.numerator,
            denominator: signature.denominator,
        }
    }
}

impl Time {
    pub(crate) fn at(time: &BlockTime<'_>, frame: u32) -> Time {
        Time {
            steady_frame: time.steady_frame + u64::from(frame),
            song: Position::at(time.map, time.position_at(frame)),
            playing: time.is_playing_at(frame),
        }
    }
}

impl Clock {
    pub(crate) fn of(time: &BlockTime<'_>) -> *const Clock {
        std::ptr::from_ref(time).cast()
    }
}

impl From<&TimeSegment> for Segment {
    fn from(segment: &TimeSegment) -> Segment {
        let TimeSegment { offset, frames, position, playing, jumped } = *segment;
        Segment { position, offset, frames, playing, jumped }
    }
}

impl From<&TempoPoint> for Point {
    fn from(point: &TempoPoint) -> Point {
        let glide = if point.glides { Glide::Linear } else { Glide::Step };
        Point { beats: point.beats, bpm: point.bpm, glide }
    }
}

impl From<&TimeSignature> for MeterPoint {
    fn from(point: &TimeSignature) -> MeterPoint {
        let TimeSignature { beats, numerator, denominator } = *point;
        MeterPoint { beats, signature: Signature { numerator, denominator } }
    }
}
