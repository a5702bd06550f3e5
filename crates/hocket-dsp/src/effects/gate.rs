//! Noise gate.
//!
//! Open or closed, after the noise gate with two thresholds, attack, hold and release of U. Zolzer (ed.), *DAFX: Digital
//! Audio Effects* (2002). In each frame:
//! 1. The level is the larger of both sides' magnitudes.
//! 2. A closed gate opens at the threshold. An open one stays open down to the lower threshold, and for the hold behind the
//!    last frame that reaches it.
//! 3. The gain moves along a straight line in decibels: to 0 dB in the attack while it is open, to the range in the
//!    release while it is closed. Both sides get the same gain.
//!
//! The place on that line is a whole number, so each way takes exactly as many frames as its time has. An open gate
//! changes no bit.
//!
//! Where a side chain is connected, the level is taken from it instead of the signal.

use crate::block::{StereoMut, StereoRef};
use crate::effects::{Row, row_of};
use crate::kinds::Param;
use crate::level::{DB_PER_OCTAVE, db_to_lin};
use crate::math::exp2_f32;
use crate::mix;
use crate::ramp::Ramp;
use crate::segment::{CONTROL_FRAMES, SegmentEffect};

const THRESHOLD_DB: usize = 0;
const RANGE_DB: usize = 1;
const ATTACK_MS: usize = 2;
const HOLD_MS: usize = 3;
const RELEASE_MS: usize = 4;

/// Closed with this range, it is silent.
const SILENCE_DB: f32 = -96.0;

/// The place of an open gate; that of a closed one is 0. A way of up to four million frames has exactly its frames: the
/// steps are rounded up by less than one each, which is less than one step in all.
const OPEN: i64 = 1 << 44;

/// How far from open a place is: 1 for a closed gate.
#[inline(always)]
fn closed_part(place: i64) -> f32 {
    (OPEN - place) as f32 * (1.0 / OPEN as f32)
}

/// The gate.
#[derive(Debug, Clone)]
pub struct Gate {
    rate_hz: f64,
    range_db: Ramp,
    threshold_db: f32,
    hysteresis_db: f32,
    /// The level that opens it, linear.
    opens_lin: f32,
    /// The level that keeps it open, linear.
    keeps_lin: f32,
    /// Frames for which it stays open behind the last one that keeps it open.
    hold: u32,
    /// How far the place moves in a frame while it is open.
    rise: i64,
    /// The same while it is closed.
    fall: i64,
    /// For how many frames it is open, with the last one; 0 for a closed gate.
    open_for: u32,
    place: i64,
}

fn frames(time_ms: f32, rate_hz: f64) -> u32 {
    (f64::from(time_ms) * rate_hz / 1000.0).round() as u32
}

/// The whole way takes this time, and at least a frame.
fn step(time_ms: f32, rate_hz: f64) -> i64 {
    OPEN / i64::from(frames(time_ms, rate_hz).max(1)) + 1
}

/// Levels, linear. Values that are not numbers count as silence.
#[inline(always)]
fn levels(left: &[f32], right: &[f32]) -> Row {
    let mut levels = [0.0; CONTROL_FRAMES];
    for ((level, left), right) in levels.iter_mut().zip(left).zip(right) {
        *level = left.abs().max(right.abs());
    }
    levels
}

impl Gate {
    fn set_thresholds(&mut self) {
        self.opens_lin = db_to_lin(self.threshold_db);
        self.keeps_lin = db_to_lin(self.threshold_db - self.hysteresis_db);
    }

    /// Replaces each level by how far the gate is closed.
    fn follow(&mut self, levels: &mut [f32]) {
        let Gate { opens_lin, keeps_lin, hold, rise, fall, mut open_for, mut place, .. } = *self;
        for level in levels {
            let least = if open_for > 0 { keeps_lin } else { opens_lin };
            open_for = if *level >= least { hold + 1 } else { open_for.saturating_sub(1) };
            place = if open_for > 0 { (place + rise).min(OPEN) } else { (place - fall).max(0) };
            *level = closed_part(place);
        }
        (self.open_for, self.place) = (open_for, place);
    }

    /// What both sides are multiplied by.
    #[inline(always)]
    fn gains(&mut self, mut closed: Row, frames: usize) -> Row {
        let range = row_of(&mut self.range_db, frames);
        for (gain, range) in closed.iter_mut().zip(&range).take(frames) {
            let gain_db = *gain * range;
            let lin = exp2_f32(gain_db * (1.0 / DB_PER_OCTAVE));
            *gain = if gain_db <= SILENCE_DB { 0.0 } else { lin };
        }
        closed
    }
}

impl SegmentEffect for Gate {
    const PARAMS: &'static [Param] = &[
        Param::new("threshold_db", "It opens at this level.", -80.0, 0.0, -40.0),
        Param::new(
            "range_db",
            "Level change while it is closed; the lowest value is silence.",
            SILENCE_DB,
            0.0,
            -60.0,
        ),
        Param::new("attack_ms", "Time from closed to open.", 0.05, 500.0, 1.0),
        Param::new("hold_ms", "Time for which it stays open at lower levels.", 0.0, 5000.0, 20.0),
        Param::new("release_ms", "Time from open to closed.", 1.0, 5000.0, 100.0),
        Param::new(
            "hysteresis_db",
            "An open gate stays open this far below the threshold.",
            0.0,
            24.0,
            4.0,
        ),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Gate {
        let rate_hz = f64::from(sample_rate_hz);
        let [threshold_db, range_db, attack_ms, hold_ms, release_ms, hysteresis_db] =
            std::array::from_fn(|index| values[index]);
        let mut gate = Gate {
            rate_hz,
            range_db: Ramp::smoothing(range_db, rate_hz),
            threshold_db,
            hysteresis_db,
            opens_lin: 0.0,
            keeps_lin: 0.0,
            hold: frames(hold_ms, rate_hz),
            rise: step(attack_ms, rate_hz),
            fall: step(release_ms, rate_hz),
            open_for: 0,
            place: 0,
        };
        gate.set_thresholds();
        gate
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            THRESHOLD_DB => self.threshold_db = value,
            RANGE_DB => self.range_db.set(value),
            ATTACK_MS => self.rise = step(value, self.rate_hz),
            HOLD_MS => {
                self.hold = frames(value, self.rate_hz);
                self.open_for = self.open_for.min(self.hold + 1);
            }
            RELEASE_MS => self.fall = step(value, self.rate_hz),
            _ => self.hysteresis_db = value,
        }
        self.set_thresholds();
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let mut row = match key {
            Some(key) => levels(key.left, key.right),
            None => levels(rows.left, rows.right),
        };
        self.follow(&mut row[..frames]);
        let gains = self.gains(row, frames);
        mix::scale_by(rows.left, &gains);
        mix::scale_by(rows.right, &gains);
    }

    fn reset(&mut self) {
        self.range_db.snap();
        self.open_for = 0;
        self.place = 0;
    }

    fn reading(&self) -> Option<f32> {
        Some((closed_part(self.place) * self.range_db.current()).abs())
    }
}

/// Level 3, thresholds 2, gain 2 + 1 + 17 + 1, both sides 2. The place is integer work and counts nothing.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    3.0 + 2.0 + 21.0 + 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_takes_exactly_its_frames() {
        for frames in [1, 2, 3, 48, 4799, 240_000, 1_920_000, 4_000_000] {
            let step = OPEN / frames + 1;
            assert!((frames - 1) * step < OPEN && frames * step >= OPEN, "{frames}");
        }
    }
}
