//! Samples that are no finite numbers, and samples as integers.

use crate::Written;

/// Sets what is NaN or infinite to silence; returns how many samples that were.
///
/// Thread: any. Cost: one pass over the row, and a second one where it found some; allocates nothing.
// Nearly always there are none. So the first pass only looks, without a branch for each sample, and fits into vectors.
pub fn silence_not_finite(row: &mut [f32]) -> u64 {
    let found = row.iter().fold(0, |found, sample| found | u32::from(!sample.is_finite()));
    if found == 0 {
        return 0;
    }
    let mut count = 0;
    for sample in row.iter_mut().filter(|sample| !sample.is_finite()) {
        *sample = 0.0;
        count += 1;
    }
    count
}

/// The sample, or silence where it is not a finite number.
pub(crate) fn finite(sample: f32, written: &mut Written) -> f32 {
    if sample.is_finite() {
        return sample;
    }
    written.not_finite += 1;
    0.0
}

/// A finite sample as an integer from `-full_scale` to `full_scale - 1`, halves rounded to even.
pub(crate) fn integer(sample: f32, full_scale: f32, written: &mut Written) -> i32 {
    let (integer, is_clipped) = clamped(sample, full_scale);
    written.clipped += u64::from(is_clipped);
    integer
}

/// As [`integer`], for as many samples as `integers` has room for.
pub(crate) fn integers(
    samples: &[f32],
    full_scale: f32,
    integers: &mut [i32],
    written: &mut Written,
) {
    // A count that lies in no memory, so that the loop fits into vectors.
    let mut clipped = 0;
    for (integer, sample) in integers.iter_mut().zip(samples) {
        let (rounded, is_clipped) = clamped(*sample, full_scale);
        *integer = rounded;
        clipped += u32::from(is_clipped);
    }
    written.clipped += u64::from(clipped);
}

/// The integer, and whether it was clipped.
fn clamped(sample: f32, full_scale: f32) -> (i32, bool) {
    // Beyond twice full scale a sample is clipped, however large it is. Within, `nearest` can round it.
    let bound = 2.0 * full_scale;
    let rounded = nearest((sample * full_scale).clamp(-bound, bound));
    let most = full_scale as i32;
    let clamped = rounded.clamp(-most, most - 1);
    (clamped, clamped != rounded)
}

/// The nearest integer, halves to even; at most 2^31 in size.
///
/// [`f32::round_ties_even`] is a call of the C library on processors without SSE 4.1, so no vector can hold it. Doubles
/// from 2^52 to 2^53 have steps of 1, so an addition that ends there rounds. The lower half of the sum's bits is
/// the integer, as two's complement.
fn nearest(sample: f32) -> i32 {
    const AMONG_STEPS_OF_ONE: f64 = 1.5 * (1u64 << 52) as f64;
    (f64::from(sample) + AMONG_STEPS_OF_ONE).to_bits() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL_SCALES: [f32; 2] = [32_768.0, 8_388_608.0];

    /// What [`clamped`] stands for, by the standard library.
    fn by_the_library(sample: f32, full_scale: f32) -> (i32, bool) {
        let rounded = (sample * full_scale).round_ties_even();
        let clamped = rounded.clamp(-full_scale, full_scale - 1.0);
        (clamped as i32, rounded != clamped)
    }

    fn check(sample: f32, full_scale: f32) {
        for sample in [sample, -sample] {
            let found = clamped(sample, full_scale);
            let expected = by_the_library(sample, full_scale);
            assert_eq!(found, expected, "{sample:e} ({:#x})", sample.to_bits());
        }
    }

    #[test]
    fn every_exponent_rounds_as_the_library_does() {
        for exponent in 0..255u32 {
            for high in 0..1 << 11 {
                // Both ends and the middle of each stretch of mantissas.
                for low in [0, 1, 0x7ff, 0x800, 0x801, 0xfff] {
                    let sample = f32::from_bits(exponent << 23 | high << 12 | low);
                    FULL_SCALES.iter().for_each(|full_scale| check(sample, *full_scale));
                }
            }
        }
    }

    #[test]
    fn every_half_and_its_neighbours_round_as_the_library_does() {
        for full_scale in FULL_SCALES {
            // Each integer and each half up to what is clipped, and beyond.
            let halves = 2 * (full_scale as u32 + 4);
            for half in 0..=halves {
                let sample = half as f32 / 2.0 / full_scale;
                for sample in [sample.next_down(), sample, sample.next_up()] {
                    check(sample, full_scale);
                }
            }
        }
    }

    #[test]
    fn clipping_begins_where_rounding_leaves_the_range() {
        let mut written = Written::default();
        let mut of = |integer: f64| integer_of(integer, &mut written);
        assert_eq!([of(32_767.0), of(32_767.498), of(-32_768.5)], [32_767, 32_767, -32_768]);
        assert_eq!(written.clipped, 0);
        let mut of = |integer: f64| integer_of(integer, &mut written);
        assert_eq!([of(32_767.5), of(-32_768.504), of(1e30)], [32_767, -32_768, 32_767]);
        assert_eq!(written.clipped, 3);
    }

    fn integer_of(integer: f64, written: &mut Written) -> i32 {
        super::integer((integer / 32_768.0) as f32, 32_768.0, written)
    }

    #[test]
    fn many_at_once_are_each_by_itself() {
        let samples: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.77).sin() * 1.2).collect();
        for full_scale in FULL_SCALES {
            let (mut all, mut written) = (vec![0; samples.len()], Written::default());
            integers(&samples, full_scale, &mut all, &mut written);
            let mut each = Written::default();
            let expected = samples.iter().map(|sample| integer(*sample, full_scale, &mut each));
            assert!(all.iter().copied().eq(expected));
            assert!(each.clipped > 0);
            assert_eq!(written, each);
        }
    }

    #[test]
    fn what_is_not_finite_is_silenced_and_counted() {
        let not_finite = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let finite = [0.0, -0.0, 1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -1e-45];
        for length in 0..40 {
            let clean: Vec<f32> = finite.iter().copied().cycle().take(length).collect();
            let mut row = clean.clone();
            assert_eq!(silence_not_finite(&mut row), 0);
            assert!(row.iter().zip(&clean).all(|(a, b)| a.to_bits() == b.to_bits()));
            for (place, bad) in (0..length).zip(not_finite.iter().cycle()) {
                row.copy_from_slice(&clean);
                row[place] = *bad;
                assert_eq!((silence_not_finite(&mut row), row[place].to_bits()), (1, 0));
            }
        }
        let mut row = [1.0, f32::NAN, f32::INFINITY];
        assert_eq!((silence_not_finite(&mut row), row), (2, [1.0, 0.0, 0.0]));
    }
}
