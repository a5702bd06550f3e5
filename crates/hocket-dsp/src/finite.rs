//! Finding values that are not numbers before they spread.

/// Whether no value of `row` is infinite or not a number.
///
/// Branch-free, so that it vectorises: it looks at the whole row however early a bad value comes,
/// and costs the same for good and for bad rows. Subnormal numbers are finite.
pub fn all_finite(row: &[f32]) -> bool {
    let traces = row.iter().fold(0, |traces, sample| traces | trace(*sample));
    traces & !SIGN == 0
}

const SIGN: u32 = 0x8000_0000;

/// What is left of a sample without itself: for a finite one a zero, whose sign follows the way of rounding; else NaN, of
/// which the exponent's bits are set. It takes one operation where a look at the bits takes two or three.
#[inline(always)]
#[allow(clippy::eq_op)]
fn trace(sample: f32) -> u32 {
    (sample - sample).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_value_is_found_anywhere() {
        let good = [0.0, -0.0, 1e-45, -1e-45, f32::MAX, f32::MIN, 1.0, -1.0];
        assert!(all_finite(&good) && all_finite(&[]));
        let signalling = [0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff].map(f32::from_bits);
        let plain = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN];
        for bad in plain.into_iter().chain(signalling) {
            for place in 0..67 {
                let mut row = [0.5; 67];
                row[place] = bad;
                assert!(!all_finite(&row), "{bad} at {place}");
            }
        }
    }
}
