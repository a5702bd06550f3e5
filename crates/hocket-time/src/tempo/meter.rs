//! Bars and beats: where they begin under changing time signatures.

use std::fmt;

use super::point::{MeterPoint, TimeSignature};

/// Ticks per quarter note. A beat of 6/8 has half as many.
pub const TICKS_PER_QUARTER: u32 = 960;

/// Beyond this many beats, bars are not counted further.
const MOST_BEATS: f64 = 1e9;

/// A place by bar, beat and tick, each counted from 0. Before the start of the song, bars are negative.
///
/// `Display` counts bars and beats from 1, as people do: the start is `1.1.000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BarPosition {
    /// The bar; 0 is the first.
    pub bar: i64,
    /// The beat in the bar, in notes of the signature's denominator.
    pub beat: u16,
    /// The tick in the beat: 1/[`TICKS_PER_QUARTER`] of a quarter note.
    pub tick: u16,
}

impl fmt::Display for BarPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = self.bar + i64::from(self.bar >= 0);
        write!(f, "{bar}.{}.{:03}", self.beat + 1, self.tick)
    }
}

/// A time signature from a bar on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    /// Where it begins, in quarter notes.
    pub beats: f64,
    /// The number of its first bar.
    pub bar: i64,
    /// What holds.
    pub signature: TimeSignature,
}

impl Meter {
    /// The meters of checked points. 4/4 holds before the first one.
    ///
    /// Thread: control; allocates.
    pub fn all(points: &[MeterPoint]) -> Box<[Meter]> {
        let mut meters = Vec::with_capacity(points.len() + 1);
        if points.first().is_none_or(|first| first.beats > 0.0) {
            meters.push(Meter { beats: 0.0, bar: 0, signature: TimeSignature::COMMON });
        }
        for point in points {
            let bar = meters.last().map_or(0, |meter| meter.bar + meter.bars_until(point.beats));
            meters.push(Meter { beats: point.beats, bar, signature: point.signature });
        }
        meters.into()
    }

    /// How many bars begin from here on before `beats`.
    fn bars_until(&self, beats: f64) -> i64 {
        let whole = self.bars_before(beats);
        whole + i64::from(self.grid(whole, 0) < beats)
    }

    /// How many whole bars lie between here and `beats`; negative before it.
    fn bars_before(&self, beats: f64) -> i64 {
        let mut bars = ((beats - self.beats) / self.signature.bar_beats()).floor() as i64;
        // The division rounds. What counts is the grid, in both directions.
        while self.grid(bars, 0) > beats {
            bars -= 1;
        }
        while self.grid(bars + 1, 0) <= beats {
            bars += 1;
        }
        bars
    }

    /// Where tick `tick` of a bar is, in quarter notes. `bars` counts from here.
    fn grid(&self, bars: i64, tick: i64) -> f64 {
        let ticks = tick as f64 / f64::from(TICKS_PER_QUARTER);
        self.beats + (bars as f64 * self.signature.bar_beats() + ticks)
    }

    fn ticks_per_beat(&self) -> i64 {
        i64::from(4 * TICKS_PER_QUARTER / u32::from(self.signature.denominator))
    }

    /// The last tick that begins at or before `beats`.
    pub fn position(&self, beats: f64) -> BarPosition {
        let beats = if beats.is_nan() { 0.0 } else { beats.clamp(-MOST_BEATS, MOST_BEATS) };
        let bars = self.bars_before(beats);
        let in_bar = beats - self.grid(bars, 0);
        let mut ticks = (in_bar * f64::from(TICKS_PER_QUARTER)).floor().max(0.0) as i64;
        let last = i64::from(self.signature.numerator) * self.ticks_per_beat() - 1;
        while ticks > 0 && self.grid(bars, ticks) > beats {
            ticks -= 1;
        }
        while ticks < last && self.grid(bars, ticks + 1) <= beats {
            ticks += 1;
        }
        let (ticks, per_beat) = (ticks.min(last), self.ticks_per_beat());
        let (beat, tick) = ((ticks / per_beat) as u16, (ticks % per_beat) as u16);
        BarPosition { bar: self.bar + bars, beat, tick }
    }

    /// Where a place is, in quarter notes.
    pub fn beats_at(&self, place: BarPosition) -> f64 {
        let ticks = i64::from(place.beat) * self.ticks_per_beat() + i64::from(place.tick);
        self.grid(place.bar.saturating_sub(self.bar), ticks)
    }
}
