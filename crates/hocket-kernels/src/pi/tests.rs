use super::*;

/// By Machin's formula of 1706, pi = 16 arctan(1/5) - 4 arctan(1/239): no product of long numbers, no
/// root, no transform, whole numbers throughout. O(n^2).
fn by_machin(digits: usize) -> String {
    const LIMB: u64 = 1_000_000_000;
    let limbs = digits / 9 + 3;
    let divide = |number: &mut [u64], by: u64| {
        number.iter_mut().fold(0, |rest, limb| {
            let dividend = rest * LIMB + *limb;
            *limb = dividend / by;
            dividend % by
        })
    };
    let mut sum = vec![0i64; limbs];
    let mut arctan = |factor: i64, x: u64| {
        let mut power = vec![0; limbs];
        power[0] = 1;
        divide(&mut power, x);
        let mut sign = factor;
        for odd in (1..).step_by(2) {
            if power.iter().all(|limb| *limb == 0) {
                break;
            }
            let mut term = power.clone();
            divide(&mut term, odd);
            sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum += sign * *term as i64);
            carry(&mut sum);
            divide(&mut power, x * x);
            sign = -sign;
        }
    };
    arctan(16, 5);
    arctan(-4, 239);
    let text: String = sum[1..].iter().map(|limb| format!("{limb:09}")).collect();
    format!("{}{}", sum[0], &text[..digits])
}

fn carry(sum: &mut [i64]) {
    const LIMB: i64 = 1_000_000_000;
    for at in (1..sum.len()).rev() {
        sum[at - 1] += sum[at].div_euclid(LIMB);
        sum[at] = sum[at].rem_euclid(LIMB);
    }
}

#[test]
fn every_digit_is_that_of_another_algorithm() {
    let machin = by_machin(6_000);
    for digits in [6_000, 4_097, 1_000, 511, 100, 50, 10, 5, 4, 1, 0] {
        let found = pi(digits).unwrap();
        assert_eq!(found.as_str(), &machin[..=digits], "{digits} digits");
        assert_eq!(found.check(), Ok(()));
        assert_eq!(found.places(), digits);
    }
}

#[test]
fn a_million_digits_end_as_is_known() {
    let found = pi(ONE_M).unwrap();
    assert_eq!(found.check(), Ok(()));
    assert_eq!(found.ending_at(1_000_000, 10), Some("5779458151"));
    assert!(found.rounding() < 0.05, "{}", found.rounding());
}

#[test]
fn a_wrong_digit_is_noticed() {
    let mut found = pi(2_000).unwrap();
    found.text[995] ^= 1;
    assert!(found.check().is_err());
}
