//! Decibels, linear gains and the pan law.

use std::f64::consts::{FRAC_PI_4, LN_10, LOG2_10, SQRT_2};

use crate::math;

/// Decibels in a factor of two.
pub(crate) const DB_PER_OCTAVE: f32 = (20.0 / LOG2_10) as f32;

/// The linear gain of `db` decibels: 1 at 0 dB, 0 at minus infinity.
///
/// Same bits on every machine. Cost: some twenty operations; not for every sample.
pub fn db_to_lin(db: f32) -> f32 {
    math::exp(f64::from(db) * (LN_10 / 20.0)) as f32
}

/// Decibels of the linear gain `lin` (its magnitude): minus infinity for 0.
pub fn lin_to_db(lin: f32) -> f32 {
    (math::ln(f64::from(lin.abs())) * (20.0 / LN_10)) as f32
}

/// Left and right gain of a pan position: -1 left, 0 centre, +1 right; outside is clamped.
///
/// Constant power with 0 dB at the centre: `left = sqrt(2) cos a`, `right = sqrt(2) sin a` with
/// `a = (pan + 1) pi / 4`. The sum of squares is 2 everywhere; a side reaches +3 dB when the pan
/// is hard on it. At the centre both gains are exactly 1, so a centred strip changes no bit.
pub fn pan_gains(pan: f32) -> (f32, f32) {
    if pan <= -1.0 {
        return (SQRT_2 as f32, 0.0);
    }
    if pan >= 1.0 {
        return (0.0, SQRT_2 as f32);
    }
    let (sin, cos) = math::sin_cos((f64::from(pan) + 1.0) * FRAC_PI_4);
    ((SQRT_2 * cos) as f32, (SQRT_2 * sin) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decibels_and_gains_are_inverse() {
        assert_eq!(db_to_lin(0.0), 1.0);
        assert_eq!(db_to_lin(f32::NEG_INFINITY), 0.0);
        assert!((db_to_lin(20.0) - 10.0).abs() < 1e-5);
        for n in -120..=24 {
            let db = n as f32;
            assert!((lin_to_db(db_to_lin(db)) - db).abs() < 1e-4, "{db}");
        }
        assert_eq!(lin_to_db(0.0), f32::NEG_INFINITY);
    }

    #[test]
    fn pan_keeps_the_power_and_the_centre() {
        assert_eq!(pan_gains(0.0), (1.0, 1.0));
        assert_eq!(pan_gains(-1.0).1, 0.0);
        assert_eq!(pan_gains(7.0).0, 0.0);
        for n in -100..=100 {
            let (left, right) = pan_gains(n as f32 / 100.0);
            assert!((left * left + right * right - 2.0).abs() < 1e-6, "{n}");
            let mirrored = pan_gains(-n as f32 / 100.0);
            assert!((mirrored.0 - right).abs() < 1e-6 && (mirrored.1 - left).abs() < 1e-6);
        }
    }
}
