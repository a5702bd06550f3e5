//! Logarithm and exponential near their zeros, with the same bits on every machine.
//!
//! They use IEEE additions, multiplications, divisions and integer shifts only. The functions of the system's
//! library differ in the last bit between versions and between CPUs, so a render would depend on the machine.
//! (`hocket_dsp::math` follows the same rule for filters. It cannot serve here, because hocket-dsp may use this
//! crate.)

use std::f64::consts::{LN_2, LOG2_E};

/// Adding and taking away this rounds an `f64` of magnitude below 2^51 to a whole number.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 cut to 33 significant bits: a product with an exponent is exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
/// What [`LN2_HIGH`] lacks.
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// ln(1 + x) for x from -0.9999 to 9999, within 4e-16 of the result's magnitude (relative).
pub(crate) fn ln_1p(x: f64) -> f64 {
    // Near zero 1 + x would lose the low bits of x.
    if x > -0.29 && x < 0.41 {
        return double_atanh(x / (2.0 + x));
    }
    // The bits of sqrt(1/2): the mantissa then lies around one, where the series is short.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = (1.0 + x).to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i64 >> 52) as f64;
    let mantissa = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    let rest = double_atanh((mantissa - 1.0) / (mantissa + 1.0));
    exponent * LN2_HIGH + (rest + exponent * LN2_LOW)
}

/// Twice the inverse hyperbolic tangent of s, for magnitudes below 0.18.
fn double_atanh(s: f64) -> f64 {
    /// 1/3, 1/5, ... 1/23.
    const ODD: [f64; 11] = {
        let mut parts = [0.0; 11];
        let mut n = 0;
        while n < parts.len() {
            parts[n] = 1.0 / (2 * n + 3) as f64;
            n += 1;
        }
        parts
    };
    let square = s * s;
    let sum = ODD.iter().rev().fold(0.0, |sum, part| (sum + part) * square);
    2.0 * (s + s * sum)
}

/// e to the power of y, minus one, for magnitudes below 40, within 1e-15 of the result's magnitude (relative).
pub(crate) fn exp_m1(y: f64) -> f64 {
    if y.abs() < 0.5 * LN_2 {
        return series_m1(y);
    }
    let k = (y * LOG2_E + ROUND) - ROUND;
    let r = (y - k * LN2_HIGH) - k * LN2_LOW;
    let power = f64::from_bits(((k as i64 + 1023) as u64) << 52);
    power * series_m1(r) + (power - 1.0)
}

/// The series of e to the power of r, minus one, for magnitudes up to half of ln 2.
fn series_m1(r: f64) -> f64 {
    /// 1/2!, 1/3!, ... 1/14!.
    const FACTORIALS: [f64; 13] = {
        let (mut parts, mut product) = ([0.0; 13], 1.0);
        let mut n = 0;
        while n < parts.len() {
            product *= (n + 2) as f64;
            parts[n] = 1.0 / product;
            n += 1;
        }
        parts
    };
    let sum = FACTORIALS.iter().rev().fold(0.0, |sum, part| (sum + part) * r);
    r + r * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, at: f64, got: f64, expected: f64, tolerance: f64) {
        let error = (got - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
        assert!(error <= tolerance, "{name}({at}): {got}, expected {expected}, off by {error}");
    }

    #[test]
    fn both_agree_with_the_system_near_zero_and_far_away() {
        for n in -4000..=4000 {
            let y = f64::from(n) * 0.0023;
            check("exp_m1", y, exp_m1(y), y.exp_m1(), 1e-15);
            let x = y.exp_m1();
            check("ln_1p", x, ln_1p(x), x.ln_1p(), 6e-16);
            let tiny = f64::from(n) * 1e-12;
            check("exp_m1", tiny, exp_m1(tiny), tiny.exp_m1(), 4e-16);
            check("ln_1p", tiny, ln_1p(tiny), tiny.ln_1p(), 4e-16);
        }
        assert_eq!((ln_1p(0.0), exp_m1(0.0)), (0.0, 0.0));
        for y in [-39.9, -20.0, 20.0, 39.9] {
            check("exp_m1", y, exp_m1(y), y.exp_m1(), 1e-15);
        }
    }
}
