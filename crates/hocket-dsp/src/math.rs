//! Elementary functions with the same bits on every machine.
//!
//! The functions of the system's mathematics library differ in the last bit between versions and
//! between CPUs (many pick a fused variant at run time). Coefficients made with them would make a
//! render depend on the machine. These use only IEEE additions, multiplications, divisions and
//! integer shifts, so they cannot. The `f64` ones are meant for coefficients and are within a few
//! units in the last place; the `f32` ones are meant for every sample and vectorise.

use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E};

use crate::rows;

/// Adding and taking away this rounds an `f64` of magnitude below 2^51 to a whole number.
const ROUND_F64: f64 = 6_755_399_441_055_744.0;
/// The same for an `f32` below 2^22.
const ROUND_F32: f32 = 12_582_912.0;
/// ln 2 cut to 33 significant bits: a product with an exponent is exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
/// What [`LN2_HIGH`] lacks.
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Half of pi cut to 33 significant bits.
const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
/// What [`HALF_PI_HIGH`] lacks.
const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;

/// e to the power of `x`. Infinity above 709.7, zero below -745.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() || x > 709.7 {
        return if x.is_nan() { x } else { f64::INFINITY };
    }
    if x < -745.0 {
        return 0.0;
    }
    let k = (x * LOG2_E + ROUND_F64) - ROUND_F64;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut sum = 1.0;
    for n in (1..=13).rev() {
        sum = 1.0 + sum * r / f64::from(n);
    }
    // Two factors: one alone cannot reach the subnormal numbers.
    let half = (k as i64) / 2;
    sum * power_of_two(half) * power_of_two(k as i64 - half)
}

/// 2 to the power of `k`, for `k` of a normal number.
fn power_of_two(k: i64) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// The natural logarithm of `x`: minus infinity at zero, not a number below.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    if x < f64::MIN_POSITIVE {
        return ln(x * power_of_two(54)) - 54.0 * LN_2;
    }
    // The bits of sqrt(1/2): the mantissa then lies around one, where the series is short.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i64 >> 52) as f64;
    let mantissa = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for n in (0..12).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    exponent * LN2_HIGH + (2.0 * s * sum + exponent * LN2_LOW)
}

/// Sine and cosine of `x` in radians, for magnitudes below a million.
pub fn sin_cos(x: f64) -> (f64, f64) {
    let quadrant = (x * FRAC_2_PI + ROUND_F64) - ROUND_F64;
    let r = (x - quadrant * HALF_PI_HIGH) - quadrant * HALF_PI_LOW;
    let square = r * r;
    let (mut sin, mut cos) = (1.0, 1.0);
    for n in (1..=9).rev() {
        let n = f64::from(2 * n);
        sin = 1.0 - sin * square / (n * (n + 1.0));
        cos = 1.0 - cos * square / (n * (n - 1.0));
    }
    let sin = sin * r;
    match (quadrant as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// The tangent of `x` in radians.
pub fn tan(x: f64) -> f64 {
    let (sin, cos) = sin_cos(x);
    sin / cos
}

/// The modified Bessel function of the first kind and order zero (for the Kaiser window).
pub fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut sum, mut term, mut n) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (n * n);
        sum += term;
        n += 1.0;
    }
    sum
}

/// The binary logarithm of a normal positive `x`, within 2e-7. 15 operations.
#[inline(always)]
pub fn log2_f32(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32 >> 23) as f32;
    let mantissa = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    // 2 / ln 2 times the series of the inverse hyperbolic tangent.
    let sum = 0.320_598_9_f32;
    let sum = sum * square + 0.412_198_6;
    let sum = sum * square + 0.577_078;
    let sum = sum * square + 0.961_796_7;
    let sum = sum * square + 2.885_39;
    exponent + s * sum
}

/// 2 to the power of `x`, held within -126..=126, within 3e-7 of the result. 17 operations.
#[inline(always)]
pub fn exp2_f32(x: f32) -> f32 {
    let x = x.clamp(-126.0, 126.0);
    let shifted = x + ROUND_F32;
    let r = x - (shifted - ROUND_F32);
    let sum = 1.525_273_4e-5_f32;
    let sum = sum * r + 1.540_353e-4;
    let sum = sum * r + 1.333_355_8e-3;
    let sum = sum * r + 9.618_129e-3;
    let sum = sum * r + 5.550_411e-2;
    let sum = sum * r + 2.402_265e-1;
    let sum = sum * r + 6.931_472e-1;
    let sum = sum * r + 1.0;
    // The low bits of `shifted` hold the whole part; the shift drops the rest of them.
    sum * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// Brings a magnitude below 1e-20 (-400 dB) to exactly zero and leaves all others as they are.
///
/// Every feedback path passes through it: tails end in zeros instead of subnormal numbers, which
/// are slow, and which a thread that flushes them would round to other bits than one that does
/// not. (Adding and taking away a small number looks cheaper, but rounds to nearest: a loop gain
/// above one half then keeps one unit alive for ever.) A selection, no branch. 2 operations.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    if x.abs() < NOTHING { 0.0 } else { x }
}

/// Below this [`flush`] leaves nothing.
pub(crate) const NOTHING: f32 = 1e-20;

/// Rounds what an `f64` filter puts out to a sample, and [`flush`]es it.
#[inline(always)]
pub fn narrow(y: f64) -> f32 {
    flush(y as f32)
}

/// [`narrow`] for left and right at once, without a branch: the compiler makes one vector of both.
#[inline(always)]
pub(crate) fn narrow_both(y: [f64; 2]) -> [f32; 2] {
    let narrowed = y.map(|y| y as f32);
    // A number that is none is not below, and stays.
    let kept = narrowed.map(|sample| if sample.abs() < NOTHING { 0 } else { u32::MAX });
    [0, 1].map(|side| f32::from_bits(narrowed[side].to_bits() & kept[side]))
}

/// A state below this is as good as none.
pub(crate) const NO_STATE: f64 = 1e-30;

/// Sets all of `state` to zero once all of it is below 1e-30.
///
/// For `f64` filters, whose tails would need minutes to reach zero. Called at control points.
pub fn flush_together(state: &mut [f64]) {
    if state.iter().all(|value| value.abs() < NO_STATE) {
        rows::fill(state, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, x: f64, got: f64, expected: f64, tolerance: f64) {
        let scale = expected.abs().max(1e-300);
        let error = (got - expected).abs();
        assert!(
            error <= tolerance * scale || error < 1e-16,
            "{name}({x}) = {got}, expected {expected}"
        );
    }

    #[test]
    fn exponential_and_logarithm_agree_with_the_system() {
        for n in -2000..=2000 {
            let x = f64::from(n) * 0.35;
            check("exp", x, exp(x), x.exp(), 2e-15);
            let y = x.exp();
            if y.is_normal() {
                check("ln", y, ln(y), y.ln(), 2e-15);
            }
            let near_one = 1.0 + f64::from(n) * 1e-4;
            check("ln", near_one, ln(near_one), near_one.ln(), 4e-15);
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan() && exp(f64::NAN).is_nan());
    }

    #[test]
    fn circle_functions_agree_with_the_system() {
        for n in -5000..=5000 {
            let x = f64::from(n) * 0.0137;
            let (sin, cos) = sin_cos(x);
            assert!((sin - x.sin()).abs() < 4e-16, "sin({x})");
            assert!((cos - x.cos()).abs() < 4e-16, "cos({x})");
        }
        check("tan", 1.2, tan(1.2), 1.2f64.tan(), 1e-15);
        check("i0", 8.0, bessel_i0(8.0), 427.564_115_721_804_74, 1e-14);
    }

    #[test]
    fn sample_functions_keep_single_precision() {
        for n in -6000..=6000 {
            let x = n as f32 * 0.02;
            let exact = f64::from(x).exp2();
            assert!((f64::from(exp2_f32(x)) / exact - 1.0).abs() < 3e-7, "{x}");
            let y = exact as f32;
            let error = (f64::from(log2_f32(y)) - f64::from(y).log2()).abs();
            assert!(error < 2e-7 + 1e-7 * f64::from(x).abs(), "{y}: {error}");
        }
    }

    #[test]
    fn flush_ends_tails_and_spares_audio() {
        assert_eq!(flush(9e-21), 0.0);
        assert_eq!(flush(-1e-40), 0.0);
        assert!(flush(f32::NAN).is_nan());
        for x in [1.0, 1e-5, -3.25e-9, 1.1e-20, f32::NEG_INFINITY] {
            assert_eq!(flush(x), x);
        }
    }
}
