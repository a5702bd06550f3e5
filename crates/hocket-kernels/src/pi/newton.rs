//! Roots and quotients, by Newton's method: every step doubles the number of right limbs, so it is done with as many
//! limbs as it makes right.

use super::fixed::Fixed;
use super::multiply::Multiplier;

/// Limbs that a double makes right.
const FROM_DOUBLE: usize = 3;
/// Limbs that are computed beyond those that a step makes right.
const GUARD: usize = 2;

/// The square root of a number of about 0.1 to 10, as long as the number; its last limb may be off by a little.
pub(super) fn square_root(number: &Fixed, multiplier: &mut Multiplier) -> Fixed {
    let length = number.limbs.len();
    let half = length / 2 + GUARD;
    let inverse = inverse_root(&number.cut(length.min(half)), multiplier);
    // The last step for the root itself (Karp and Markstein): s + r (x - s s) / 2 with s = x r.
    let root = multiplier.product(&number.cut(half), &inverse, half).cut(length);
    let square = multiplier.square(&root, length);
    let (error, too_large) = number.distance(&square);
    let step = multiplier.product(&error, &inverse, length).divided_by(2);
    root.moved(&step, too_large)
}

/// One over the square root, as long as the number: r + r (1 - x r r) / 2.
fn inverse_root(number: &Fixed, multiplier: &mut Multiplier) -> Fixed {
    let guess = 1.0 / number.to_f64().sqrt();
    refined(number, guess, |number, r, length| {
        let square = multiplier.square(r, length);
        let one = multiplier.product(number, &square, length);
        let (error, too_large) = Fixed::fraction(1, 1, length).distance(&one);
        let step = multiplier.product(&error, r, length).divided_by(2);
        r.cut(length).moved(&step, too_large)
    })
}

/// The quotient of two numbers of about 0.1 to 10, as long as the divisor.
pub(super) fn quotient(dividend: &Fixed, divisor: &Fixed, multiplier: &mut Multiplier) -> Fixed {
    let inverse = refined(divisor, 1.0 / divisor.to_f64(), |divisor, r, length| {
        let one = multiplier.product(divisor, r, length);
        let (error, too_large) = Fixed::fraction(1, 1, length).distance(&one);
        let step = multiplier.product(&error, r, length);
        r.cut(length).moved(&step, too_large)
    });
    multiplier.product(dividend, &inverse, divisor.limbs.len())
}

/// From `guess` to a number as long as `number`, each `step` with twice the limbs.
fn refined(
    number: &Fixed,
    guess: f64,
    mut step: impl FnMut(&Fixed, &Fixed, usize) -> Fixed,
) -> Fixed {
    let full = number.limbs.len();
    let mut right = FROM_DOUBLE;
    let mut refined = Fixed::about(guess, FROM_DOUBLE + GUARD);
    loop {
        let length = (2 * right + GUARD).min(full);
        refined = step(&number.cut(length), &refined, length);
        if length == full {
            return refined;
        }
        // The last limb may be off, and the guard limbs are not counted.
        right = length - GUARD - 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Whether two numbers agree but for the last limbs.
    fn check(found: &Fixed, expected: &Fixed) {
        let (error, _) = found.distance(expected);
        assert!(error.leading_zeros() + 2 >= expected.limbs.len(), "{error:?}");
    }

    #[test]
    fn roots_squared_are_the_number_again() {
        let mut multiplier = Multiplier::new();
        for length in [8, 9, 10, 33, 100, 777] {
            for (numerator, denominator) in [(1, 2), (2, 1), (1, 1), (9, 7)] {
                let number = Fixed::fraction(numerator, denominator, length);
                let root = square_root(&number, &mut multiplier);
                check(&multiplier.square(&root, length), &number);
            }
        }
    }

    #[test]
    fn quotients_are_those_of_short_division() {
        let mut multiplier = Multiplier::new();
        for length in [8, 20, 101, 500] {
            let (dividend, divisor) =
                (Fixed::fraction(5, 1, length), Fixed::fraction(7, 1, length));
            let found = quotient(&dividend, &divisor, &mut multiplier);
            check(&found, &Fixed::fraction(5, 7, length));
        }
    }
}
