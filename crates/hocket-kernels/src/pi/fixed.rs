//! Numbers with a point at a fixed place.

use std::cmp::Ordering;

/// What a limb counts to.
pub(super) const BASE: u32 = 10_000;
/// Decimal digits of a limb.
pub(super) const LIMB_DIGITS: usize = 4;

/// A number from 0 to below [`BASE`]: `limbs[0]` before the point, the others behind it, the most significant first.
///
/// Operands may differ in length; what is missing is zero. Results are as long as their method says, cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) limbs: Vec<u32>,
}

impl Fixed {
    /// A small whole number, divided by another; `length` limbs.
    pub(super) fn fraction(numerator: u32, denominator: u32, length: usize) -> Fixed {
        let mut number = Fixed { limbs: vec![0; length] };
        number.limbs[0] = numerator;
        number.divided_by(denominator)
    }

    /// `value`, as exactly as three limbs behind the point can say.
    pub(super) fn about(value: f64, length: usize) -> Fixed {
        let base = f64::from(BASE);
        let mut rest = value;
        let mut limbs = vec![0; length];
        for limb in limbs.iter_mut().take(4) {
            *limb = rest as u32;
            rest = (rest - f64::from(*limb)) * base;
        }
        Fixed { limbs }
    }

    /// As a double, from the first limbs.
    pub(super) fn to_f64(&self) -> f64 {
        let base = f64::from(BASE);
        self.limbs.iter().take(6).rev().fold(0.0, |sum, limb| sum / base + f64::from(*limb))
    }

    pub(super) fn limb(&self, at: usize) -> u32 {
        self.limbs.get(at).copied().unwrap_or(0)
    }

    /// The same to `length` limbs.
    pub(super) fn cut(&self, length: usize) -> Fixed {
        let mut limbs = self.limbs[..length.min(self.limbs.len())].to_vec();
        limbs.resize(length, 0);
        Fixed { limbs }
    }

    /// As long as the longer of the two. The sum must be below [`BASE`].
    pub(super) fn plus(&self, other: &Fixed) -> Fixed {
        let mut carry = 0;
        self.merged(other, |a, b| {
            let sum = a + b + carry;
            carry = u32::from(sum >= BASE);
            sum - carry * BASE
        })
    }

    /// As long as the longer of the two. `other` must not be larger.
    pub(super) fn minus(&self, other: &Fixed) -> Fixed {
        let mut borrow = 0;
        self.merged(other, |a, b| {
            let b = b + borrow;
            borrow = u32::from(a < b);
            a + borrow * BASE - b
        })
    }

    /// The distance of the two, and whether `other` is the larger one.
    pub(super) fn distance(&self, other: &Fixed) -> (Fixed, bool) {
        match self.compare(other) {
            Ordering::Less => (other.minus(self), true),
            _ => (self.minus(other), false),
        }
    }

    /// `other` added, or taken away if `negative`.
    pub(super) fn moved(&self, other: &Fixed, negative: bool) -> Fixed {
        if negative { self.minus(other) } else { self.plus(other) }
    }

    /// Times a small number. The product must be below [`BASE`].
    pub(super) fn times(&self, factor: u32) -> Fixed {
        let mut carry = 0u64;
        let mut limbs = self.limbs.clone();
        for limb in limbs.iter_mut().rev() {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = (product % u64::from(BASE)) as u32;
            carry = product / u64::from(BASE);
        }
        Fixed { limbs }
    }

    /// Divided by a small number.
    pub(super) fn divided_by(&self, divisor: u32) -> Fixed {
        let mut rest = 0u64;
        let mut limbs = self.limbs.clone();
        for limb in &mut limbs {
            let dividend = rest * u64::from(BASE) + u64::from(*limb);
            *limb = (dividend / u64::from(divisor)) as u32;
            rest = dividend % u64::from(divisor);
        }
        Fixed { limbs }
    }

    /// Limbs that are zero before the first that is not.
    pub(super) fn leading_zeros(&self) -> usize {
        self.limbs.iter().take_while(|limb| **limb == 0).count()
    }

    fn compare(&self, other: &Fixed) -> Ordering {
        let length = self.limbs.len().max(other.limbs.len());
        let limbs = (0..length).map(|at| self.limb(at).cmp(&other.limb(at)));
        limbs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Limb by limb from the least significant one.
    fn merged(&self, other: &Fixed, mut with: impl FnMut(u32, u32) -> u32) -> Fixed {
        let length = self.limbs.len().max(other.limbs.len());
        let mut limbs = vec![0; length];
        for at in (0..length).rev() {
            limbs[at] = with(self.limb(at), other.limb(at));
        }
        Fixed { limbs }
    }
}
