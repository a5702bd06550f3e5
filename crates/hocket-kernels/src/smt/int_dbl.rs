//! M4: integers and floating-point numbers.

use std::f64::consts::FRAC_PI_4;
use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};

/// The largest number that the C library of the thesis' system returned from `rand`.
const RAND_MAX: u32 = 32_767;

/// `int_dbl`: pi by Monte Carlo. A pass is one point of the square from -1 to 1; it is inside the
/// circle or not.
///
/// The points come from the linear congruential generator behind that system's `rand` (factor
/// 214013, summand 2531011, bits 16 to 30), as 32-bit floats, and the distance is taken in doubles.
#[derive(Debug)]
pub struct IntDbl {
    state: u32,
    points: u64,
    inside: u64,
}

impl IntDbl {
    /// Begins at `seed`.
    pub fn new(seed: u32) -> IntDbl {
        IntDbl { state: seed, points: 0, inside: 0 }
    }

    /// What the points so far say pi is; 0 before the first.
    pub fn pi(&self) -> f64 {
        4.0 * self.inside as f64 / self.points.max(1) as f64
    }

    #[inline(always)]
    fn coordinate(&mut self) -> f64 {
        let random = rand(&mut self.state);
        f64::from(random as f32 / RAND_MAX as f32 * 2.0 - 1.0)
    }
}

impl Kernel for IntDbl {
    fn name(&self) -> &'static str {
        "int_dbl"
    }

    fn ops(&self) -> Ops {
        // For each coordinate: factor, summand, shift, mask; division, factor, difference. For the
        // point: two squares, their sum, root and comparison; the count.
        Ops { int: 9, float: 11, loads: 0, stores: 0 }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let mut inside = 0;
        for _ in 0..passes {
            let (x, y) = (self.coordinate(), self.coordinate());
            inside += u64::from((x * x + y * y).sqrt() <= 1.0);
        }
        self.inside += black_box(inside);
        self.points += passes;
        self.inside
    }

    fn check(&self) -> Result<(), Wrong> {
        let points = self.points as f64;
        let share = self.inside as f64 / points.max(1.0);
        // Five standard deviations of so many points, and the width of the generator's grid.
        let sigma = (FRAC_PI_4 * (1.0 - FRAC_PI_4) / points.max(1.0)).sqrt();
        let grid = 4.0 / f64::from(RAND_MAX);
        Wrong::unless_near("the share of points inside", share, FRAC_PI_4, 5.0 * sigma + grid)
    }
}

#[inline(always)]
fn rand(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(214_013).wrapping_add(2_531_011);
    (*state >> 16) & RAND_MAX
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The same in whole numbers: both sides times (RAND_MAX / 2)^2.
    fn is_inside(state: &mut u32) -> bool {
        let centred = |r: u32| 2 * i64::from(r) - i64::from(RAND_MAX);
        let (x, y) = (centred(rand(state)), centred(rand(state)));
        x * x + y * y <= i64::from(RAND_MAX) * i64::from(RAND_MAX)
    }

    #[test]
    fn points_are_counted_as_in_whole_numbers() {
        const POINTS: u64 = 200_000;
        let mut kernel = IntDbl::new(1);
        let inside = kernel.run(POINTS);
        let mut state = 1;
        let exact = (0..POINTS).filter(|_| is_inside(&mut state)).count() as u64;
        // A float may put a point that is nearly on the circle on its other side.
        assert!(inside.abs_diff(exact) <= 2, "{inside} {exact}");
        assert_eq!(kernel.check(), Ok(()));
    }

    #[test]
    fn the_generator_is_that_of_the_c_library() {
        let mut state = 1;
        let first: Vec<u32> = (0..5).map(|_| rand(&mut state)).collect();
        assert_eq!(first, [41, 18_467, 6_334, 26_500, 19_169]);
    }
}
