//! Dynamics compressor.
//!
//! Feed-forward, in decibels, after Giannoulis, Massberg and Reiss (JAES 60, 2012): the level is
//! the larger of both sides' magnitudes; the static curve with its quadratic knee turns the excess
//! over the threshold into a reduction; the reduction is smoothed by a branching one-pole with
//! attack and release times (time to 63 %); both sides get the same gain, so the image stays.
//!
//! Where a side chain is connected, the level is taken from it instead of the signal.

mod abreast;

use crate::abreast::{Abreast, AbreastKey, Lane};
use crate::block::{StereoMut, StereoRef};
use crate::effects::{Row, row_of};
use crate::kinds::Param;
use crate::level::DB_PER_OCTAVE;
use crate::math::{self, exp2_f32, flush, log2_f32};
use crate::mix;
use crate::ramp::Ramp;
use crate::segment::{CONTROL_FRAMES, SegmentEffect, Segmented};

const THRESHOLD_DB: usize = 0;
const RATIO: usize = 1;
const KNEE_DB: usize = 2;
const ATTACK_MS: usize = 3;
const RELEASE_MS: usize = 4;
const MAKEUP_DB: usize = 5;

/// -120 dB: below this all levels are alike.
const FLOOR: f32 = 1e-6;
/// A knee of no width would divide by zero.
const MIN_KNEE_DB: f32 = 0.01;

/// The compressor.
#[derive(Debug, Clone)]
pub struct Compressor {
    rate_hz: f64,
    threshold_db: Ramp,
    slope: Ramp,
    knee_db: Ramp,
    makeup_db: Ramp,
    attack: f32,
    release: f32,
    reduction_db: f32,
}

/// What the excess is multiplied with above the knee.
fn slope(ratio: f32) -> f32 {
    1.0 - 1.0 / ratio
}

/// The coefficient of a one-pole that covers 63 % of the way in `time_ms`.
fn one_pole(time_ms: f32, rate_hz: f64) -> f32 {
    math::exp(-1000.0 / (f64::from(time_ms) * rate_hz)) as f32
}

/// The reduction in decibels of a level `over_db` above the threshold, without a branch: the
/// quadratic grows through the knee and stays at half its width, the straight line starts there.
/// 9 operations.
#[inline(always)]
pub fn static_reduction_db(over_db: f32, slope: f32, knee_db: f32) -> f32 {
    let half = 0.5 * knee_db;
    let bent = (over_db + half).max(0.0).min(knee_db);
    slope * (bent * bent / (2.0 * knee_db) + (over_db - half).max(0.0))
}

/// Frames that are computed at once. Loops of fixed length fill vectors to the end. Frames behind a segment's end are computed
/// and not used.
const TILE: usize = 8;

/// As many tiles as have some of `frames`.
#[inline(always)]
fn tiles(row: &mut Row, frames: usize) -> impl Iterator<Item = &mut [f32; TILE]> {
    let (tiles, _) = row.as_chunks_mut::<TILE>();
    tiles.iter_mut().take(frames.div_ceil(TILE))
}

/// The smoothing, out of the memory of the compressor: a loop keeps it in registers.
struct Follower {
    attack: f32,
    release: f32,
    reduction_db: f32,
}

impl Follower {
    /// The reduction of the next frame, whose curve wants this one.
    #[inline(always)]
    fn follow(&mut self, wanted: f32) -> f32 {
        let falling = wanted > self.reduction_db;
        let pole = if falling { self.attack } else { self.release };
        self.reduction_db = flush(wanted + (self.reduction_db - wanted) * pole);
        self.reduction_db
    }
}

impl Compressor {
    /// Levels in decibels; values that are not numbers count as the floor.
    #[inline(always)]
    fn levels(left: &[f32], right: &[f32]) -> Row {
        let mut levels = [FLOOR; CONTROL_FRAMES];
        for ((level, left), right) in levels.iter_mut().zip(left).zip(right) {
            *level = left.abs().max(right.abs()).max(FLOOR);
        }
        for tile in tiles(&mut levels, left.len()) {
            for level in tile {
                *level = log2_f32(*level) * DB_PER_OCTAVE;
            }
        }
        levels
    }

    #[inline(always)]
    fn static_curve(&mut self, levels: &mut Row, frames: usize) {
        let settings = [&self.threshold_db, &self.slope, &self.knee_db];
        if settings.iter().all(|ramp| ramp.is_still()) {
            let [threshold, slope, knee] = settings.map(Ramp::current);
            for tile in tiles(levels, frames) {
                for level in tile {
                    *level = static_reduction_db(*level - threshold, slope, knee);
                }
            }
            return;
        }
        let threshold = row_of(&mut self.threshold_db, frames);
        let slope = row_of(&mut self.slope, frames);
        let knee = row_of(&mut self.knee_db, frames);
        for i in 0..frames {
            levels[i] = static_reduction_db(levels[i] - threshold[i], slope[i], knee[i]);
        }
    }

    /// The one loop whose frames wait for each other.
    fn smooth(&mut self, reductions: &mut [f32]) {
        let mut follower = self.follower();
        for reduction in reductions {
            *reduction = follower.follow(*reduction);
        }
        self.reduction_db = follower.reduction_db;
    }

    #[inline(always)]
    fn follower(&self) -> Follower {
        let Compressor { attack, release, reduction_db, .. } = *self;
        Follower { attack, release, reduction_db }
    }

    /// What both sides are multiplied by.
    #[inline(always)]
    fn gains(&mut self, mut reductions: Row, frames: usize) -> Row {
        let makeup = row_of(&mut self.makeup_db, frames);
        for (reduction, makeup) in reductions.iter_mut().zip(&makeup).take(frames) {
            *reduction = makeup - *reduction;
        }
        for tile in tiles(&mut reductions, frames) {
            for gain in tile {
                *gain = exp2_f32(*gain * (1.0 / DB_PER_OCTAVE));
            }
        }
        reductions
    }

    /// Both sides with the same gains.
    #[inline(always)]
    fn scale(&mut self, rows: StereoMut<'_>, reductions: Row) {
        let gains = self.gains(reductions, rows.left.len());
        mix::scale_by(rows.left, &gains);
        mix::scale_by(rows.right, &gains);
    }
}

impl SegmentEffect for Compressor {
    const PARAMS: &'static [Param] = &[
        Param::new("threshold_db", "It reduces levels above this one.", -60.0, 0.0, -18.0),
        Param::new("ratio", "Input decibels for one more output decibel.", 1.0, 100.0, 4.0),
        Param::new("knee_db", "Width of the bend around the threshold.", 0.0, 24.0, 6.0),
        Param::new("attack_ms", "Time to follow a rise by 63 %.", 0.05, 500.0, 10.0),
        Param::new("release_ms", "Time to recover by 63 %.", 1.0, 5000.0, 120.0),
        Param::new("makeup_db", "Level change after it.", -24.0, 24.0, 0.0),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Compressor {
        let rate = f64::from(sample_rate_hz);
        Compressor {
            rate_hz: rate,
            threshold_db: Ramp::smoothing(values[THRESHOLD_DB], rate),
            slope: Ramp::smoothing(slope(values[RATIO]), rate),
            knee_db: Ramp::smoothing(values[KNEE_DB].max(MIN_KNEE_DB), rate),
            makeup_db: Ramp::smoothing(values[MAKEUP_DB], rate),
            attack: one_pole(values[ATTACK_MS], rate),
            release: one_pole(values[RELEASE_MS], rate),
            reduction_db: 0.0,
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            THRESHOLD_DB => self.threshold_db.set(value),
            RATIO => self.slope.set(slope(value)),
            KNEE_DB => self.knee_db.set(value.max(MIN_KNEE_DB)),
            ATTACK_MS => self.attack = one_pole(value, self.rate_hz),
            RELEASE_MS => self.release = one_pole(value, self.rate_hz),
            _ => self.makeup_db.set(value),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let mut row = match key {
            Some(key) => Compressor::levels(key.left, key.right),
            None => Compressor::levels(rows.left, rows.right),
        };
        self.static_curve(&mut row, frames);
        self.smooth(&mut row[..frames]);
        self.scale(rows, row);
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        Some(AbreastKey::COMPRESSOR)
    }

    fn abreast(this: &mut Segmented<Compressor>) -> Option<Abreast<'_>> {
        Some(Lane::Compressor(this).into())
    }

    fn reset(&mut self) {
        self.reduction_db = 0.0;
        for ramp in
            [&mut self.threshold_db, &mut self.slope, &mut self.knee_db, &mut self.makeup_db]
        {
            ramp.snap();
        }
    }

    fn reading(&self) -> Option<f32> {
        Some(self.reduction_db)
    }
}

/// Level 5 + 16, curve 11, smoothing 6, gain 2 + 19, both sides 2.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    21.0 + 11.0 + 6.0 + 21.0 + 2.0
}
