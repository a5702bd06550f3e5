//! Floating-point multiplications and additions.

use std::f64::consts::TAU;
use std::hint::black_box;

use crate::kernel::{Kernel, Ops, Wrong};

/// Steps in a pass.
const STEPS: u64 = 64;
/// Pointers that turn beside each other: enough to hide the latency of the units.
const POINTERS: usize = 8;
/// By how much each turns in a step, in radians: a fraction of the circle that no number of steps
/// makes whole.
const ANGLE: f64 = 0.618_033_988_749_895;

/// Eight pointers on a circle, turned by the same angle in every step: four multiplications and two
/// additions each.
///
/// A pass is 64 steps. Where the pointers must be follows from the number of steps alone.
#[derive(Debug)]
pub struct Fp {
    x: [f64; POINTERS],
    y: [f64; POINTERS],
    steps: u64,
}

impl Fp {
    /// The pointers begin spread over the circle.
    pub fn new() -> Fp {
        Fp {
            x: std::array::from_fn(|pointer| start(pointer).cos()),
            y: std::array::from_fn(|pointer| start(pointer).sin()),
            steps: 0,
        }
    }

    fn turn(&mut self, cos: f64, sin: f64) {
        for (x, y) in self.x.iter_mut().zip(&mut self.y) {
            (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
        }
    }
}

impl Default for Fp {
    fn default() -> Fp {
        Fp::new()
    }
}

impl Kernel for Fp {
    fn name(&self) -> &'static str {
        "fp"
    }

    fn ops(&self) -> Ops {
        Ops { float: 6 * STEPS * POINTERS as u64, ..Ops::default() }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let (cos, sin) = black_box((ANGLE.cos(), ANGLE.sin()));
        for _ in 0..passes * STEPS {
            self.turn(cos, sin);
        }
        self.steps += passes * STEPS;
        black_box(&self.x).iter().fold(0, |sum, x| sum ^ x.to_bits())
    }

    fn check(&self) -> Result<(), Wrong> {
        let steps = self.steps as f64;
        // Every step rounds six times by at most half of 2^-52, in the worst case all one way; the
        // angle itself is rounded once a step.
        let tolerance = 1e-12 + steps * 8.0 * f64::EPSILON;
        for pointer in 0..POINTERS {
            let angle = start(pointer) + (steps * ANGLE) % TAU;
            Wrong::unless_near("a pointer's x", self.x[pointer], angle.cos(), tolerance)?;
            Wrong::unless_near("a pointer's y", self.y[pointer], angle.sin(), tolerance)?;
        }
        Ok(())
    }
}

fn start(pointer: usize) -> f64 {
    TAU * pointer as f64 / POINTERS as f64
}
