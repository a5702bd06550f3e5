//! The tempo map: frames, seconds, beats and bars of one song, each from each.

mod check;
mod error;
mod meter;
mod point;
mod segment;

pub use error::{PointKind, TempoError};
pub use meter::{BarPosition, TICKS_PER_QUARTER};
pub use point::{
    Glide, MAX_POINT_BEATS, MAX_POINTS, MeterPoint, RATES_HZ, TEMPO_BPM, TempoPoint, TimeSignature,
};

use crate::position::{MAX_FRAME, Position, PositionError};
use meter::Meter;
use segment::Segment;

/// Tempos and time signatures of a song at one sample rate.
///
/// Frame 0, second 0 and beat 0 are one place, the start of the song. Before it the first tempo and the first time
/// signature hold. A beat is a quarter note, whatever the time signature.
///
/// # Promises
/// - Later frames have later beats, and `frame_at_beats(beats_at_frame(f)) == f`, for every frame up to
///   [`MAX_FRAME`] on both sides.
/// - Later beats never have earlier frames: [`frame_at_beats`](TempoMap::frame_at_beats) is monotonic for all
///   numbers. So are the conversions between frames and seconds, and those between seconds and beats as far as
///   the tempo is constant. On a line of tempos the latter are monotonic in steps of a nanosecond.
/// - The same input gives the same bits on every machine.
///
/// No lookup panics: NaN counts as 0, and what is too large counts as the largest.
///
/// Thread: any; a map never changes. Cost of a lookup: O(log points), and a hundred operations on a line; no
/// allocation. Memory: 48 bytes per tempo point, 24 per time signature.
#[derive(Debug, Clone)]
pub struct TempoMap {
    rate_hz: u32,
    /// Sorted; the first begins at 0.
    segments: Box<[Segment]>,
    /// Sorted; the first begins at 0.
    meters: Box<[Meter]>,
}

/// Making one.
impl TempoMap {
    /// A map of tempo points and time signatures, each list sorted by beats.
    ///
    /// The first tempo also holds before its point, and 4/4 before the first time signature. Of two tempo points at
    /// one beat, a line behind them heads for the first, and the second one holds from there on.
    ///
    /// # Errors
    /// [`TempoError`] names the first wrong point, what is wrong with it, and the remedy.
    ///
    /// Thread: control; allocates. Cost: O(points).
    pub fn new(
        rate_hz: u32,
        tempos: &[TempoPoint],
        signatures: &[MeterPoint],
    ) -> Result<TempoMap, TempoError> {
        check::check(rate_hz, tempos, signatures)?;
        let segments = segments(rate_hz, tempos)?;
        Ok(TempoMap { rate_hz, segments, meters: Meter::all(signatures) })
    }

    /// A map of one tempo in 4/4.
    ///
    /// # Errors
    /// As [`TempoMap::new`]. Thread: control; allocates.
    pub fn constant(rate_hz: u32, bpm: f64) -> Result<TempoMap, TempoError> {
        TempoMap::new(rate_hz, &[TempoPoint::step(0.0, bpm)], &[])
    }
}

/// Adds up the lengths of all segments. The sum is compensated (Neumaier), so a million points lose no more than
/// one.
fn segments(rate_hz: u32, points: &[TempoPoint]) -> Result<Box<[Segment]>, TempoError> {
    let mut segments = Vec::with_capacity(points.len() + 1);
    let (mut sum, mut lost) = (0.0, 0.0);
    let mut add = |segment: Segment| {
        let length = segment.length_s();
        let next: f64 = sum + length;
        lost += if sum >= length { (sum - next) + length } else { (length - next) + sum };
        sum = next;
        segments.push(segment);
        sum + lost
    };
    let mut seconds = 0.0;
    let first = &points[0];
    if first.beats > 0.0 {
        seconds = add(Segment::constant(0.0, 0.0, first.beats, first.bpm));
    }
    for (index, pair) in points.windows(2).enumerate() {
        check_seconds(rate_hz, seconds, index, &pair[0])?;
        if pair[1].beats > pair[0].beats {
            seconds = add(Segment::between(&pair[0], &pair[1], seconds));
        }
    }
    let last = &points[points.len() - 1];
    check_seconds(rate_hz, seconds, points.len() - 1, last)?;
    segments.push(Segment::constant(last.beats, seconds, f64::INFINITY, last.bpm));
    Ok(segments.into())
}

fn check_seconds(
    rate_hz: u32,
    seconds: f64,
    index: usize,
    point: &TempoPoint,
) -> Result<(), TempoError> {
    if seconds * f64::from(rate_hz) > MAX_FRAME as f64 {
        return Err(TempoError::TooLate { index, beats: point.beats });
    }
    Ok(())
}

/// From frames.
impl TempoMap {
    /// Frames per second.
    pub fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// Seconds from the start to a frame.
    pub fn seconds_at_frame(&self, frame: i64) -> f64 {
        bounded(frame) as f64 / f64::from(self.rate_hz)
    }

    /// Quarter notes from the start to a frame.
    pub fn beats_at_frame(&self, frame: i64) -> f64 {
        self.beats_at_place(bounded(frame) as f64)
    }

    /// Quarter notes per minute at a frame. A step of the tempo counts from the frame nearest to it.
    pub fn bpm_at_frame(&self, frame: i64) -> f64 {
        let until = (bounded(frame) as f64 + 0.5) / f64::from(self.rate_hz);
        let begun = self.segments.partition_point(|segment| segment.seconds < until);
        self.segments[begun.saturating_sub(1)].bpm_at(self.beats_at_frame(frame))
    }

    /// Bar, beat and tick at a frame: the last tick that begins at it or before, when each tick begins at the frame
    /// nearest to it. So `bar_at_frame(frame_at_beats(beats_at_bar(place))) == place`, if a tick is longer than a
    /// frame and the bar has that beat.
    pub fn bar_at_frame(&self, frame: i64) -> BarPosition {
        self.bar_at_beats(self.last_beats_of(frame))
    }

    /// The time signature at a frame, counted from the frame nearest to its beginning.
    pub fn signature_at_frame(&self, frame: i64) -> TimeSignature {
        self.signature_at_beats(self.last_beats_of(frame))
    }

    /// The last beat to which this is the nearest frame.
    fn last_beats_of(&self, frame: i64) -> f64 {
        self.beats_at_place(bounded(frame) as f64 + 0.5).next_down()
    }

    /// `frames` may lie between two frames.
    fn beats_at_place(&self, frames: f64) -> f64 {
        self.beats_at_seconds(frames / f64::from(self.rate_hz))
    }
}

/// From seconds.
impl TempoMap {
    /// The nearest frame to a time; the later one of two.
    pub fn frame_at_seconds(&self, seconds: f64) -> i64 {
        nearest(seconds * f64::from(self.rate_hz))
    }

    /// Quarter notes from the start to a time.
    pub fn beats_at_seconds(&self, seconds: f64) -> f64 {
        let seconds = if seconds.is_nan() { 0.0 } else { seconds };
        let behind = self.segments.partition_point(|segment| segment.seconds <= seconds);
        self.segments[behind.saturating_sub(1)].beats_at(seconds)
    }
}

/// From beats.
impl TempoMap {
    /// The nearest frame to a beat: `f`, if the beat lies between the middles of the frames around `f`.
    pub fn frame_at_beats(&self, beats: f64) -> i64 {
        let beats = if beats.is_nan() { 0.0 } else { beats };
        let mut frame = nearest(self.seconds_at_beats(beats) * f64::from(self.rate_hz));
        // The logarithm of a line is not monotonic in its last bits. The middles are: they are half a frame apart,
        // which is far more than any rounding. So they decide.
        while frame > -MAX_FRAME && self.beats_at_place(frame as f64 - 0.5) > beats {
            frame -= 1;
        }
        while frame < MAX_FRAME && self.beats_at_place(frame as f64 + 0.5) <= beats {
            frame += 1;
        }
        frame
    }

    /// Seconds from the start to a beat.
    pub fn seconds_at_beats(&self, beats: f64) -> f64 {
        let beats = if beats.is_nan() { 0.0 } else { beats };
        let behind = self.segments.partition_point(|segment| segment.beats <= beats);
        let seconds = self.segments[behind.saturating_sub(1)].seconds_at(beats);
        self.segments.get(behind).map_or(seconds, |next| seconds.min(next.seconds))
    }

    /// Quarter notes per minute at a beat.
    pub fn bpm_at_beats(&self, beats: f64) -> f64 {
        let behind = self.segments.partition_point(|segment| segment.beats <= beats);
        self.segments[behind.saturating_sub(1)].bpm_at(beats)
    }

    /// Bar, beat and tick at a beat: the last tick that has begun.
    pub fn bar_at_beats(&self, beats: f64) -> BarPosition {
        self.meter_at_beats(beats).position(beats)
    }

    /// The time signature at a beat.
    pub fn signature_at_beats(&self, beats: f64) -> TimeSignature {
        self.meter_at_beats(beats).signature
    }

    fn meter_at_beats(&self, beats: f64) -> &Meter {
        let behind = self.meters.partition_point(|meter| meter.beats <= beats);
        &self.meters[behind.saturating_sub(1)]
    }
}

/// From bars, and from all of them.
impl TempoMap {
    /// Where a bar, beat and tick is, in quarter notes. `bar_at_beats` gives the same place back, if the bar has
    /// that beat.
    pub fn beats_at_bar(&self, place: BarPosition) -> f64 {
        let behind = self.meters.partition_point(|meter| meter.bar <= place.bar);
        self.meters[behind.saturating_sub(1)].beats_at(place)
    }

    /// The frame of a position.
    ///
    /// # Errors
    /// [`PositionError`] if it is not finite, or further than [`MAX_FRAME`] from the start.
    pub fn song_frame(&self, position: Position) -> Result<i64, PositionError> {
        let (finite, frame) = match position {
            Position::Frame(frame) => (true, frame),
            Position::Seconds(seconds) => (seconds.is_finite(), self.frame_at_seconds(seconds)),
            Position::Beats(beats) => (beats.is_finite(), self.frame_at_beats(beats)),
        };
        if !finite {
            return Err(PositionError::NotFinite(position));
        }
        // Conversions stop at the bound, so a frame there may stand for a later one.
        if frame.unsigned_abs() >= MAX_FRAME as u64 {
            return Err(PositionError::TooFar(position));
        }
        Ok(frame)
    }

    /// Whether the tempo is the same from one frame to another. In such a stretch, beats are in proportion to
    /// frames.
    pub fn is_steady(&self, from: i64, to: i64) -> bool {
        let from = self.seconds_at_frame(from);
        let to = self.seconds_at_frame(to);
        let begun = |seconds| self.segments.partition_point(|segment| segment.seconds <= seconds);
        let (first, last) = (begun(from).saturating_sub(1), begun(to).saturating_sub(1));
        // A point exactly at the end changes nothing before it.
        let reaches_in = self.segments[last].seconds < to;
        (first == last || (first + 1 == last && !reaches_in)) && self.segments[first].is_constant()
    }
}

/// The nearest whole frame; the later one of two.
fn nearest(frames: f64) -> i64 {
    // A NaN becomes 0 and the rest is bounded, so the conversion is exact.
    bounded((frames + 0.5).floor() as i64)
}

fn bounded(frame: i64) -> i64 {
    frame.clamp(-MAX_FRAME, MAX_FRAME)
}
