//! Finding values that are not numbers before they spread.

/// Whether no value of `row` is infinite or not a number.
///
/// Branch-free, so that it vectorises: it looks at the whole row however early a bad value comes,
/// and costs the same for good and for bad rows. Subnormal numbers are finite.
pub fn all_finite(row: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let bad = row
        .iter()
        .fold(0u32, |bad, sample| bad | u32::from(sample.to_bits() & EXPONENT == EXPONENT));
    bad == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_value_is_found_anywhere() {
        let good = [0.0, -0.0, 1e-45, f32::MAX, f32::MIN, 1.0, -1.0];
        assert!(all_finite(&good) && all_finite(&[]));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN] {
            for place in 0..67 {
                let mut row = [0.5; 67];
                row[place] = bad;
                assert!(!all_finite(&row), "{bad} at {place}");
            }
        }
    }
}
