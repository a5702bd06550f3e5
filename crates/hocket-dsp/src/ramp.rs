//! Smoothing of parameters, frame by frame.

use crate::rows;

/// Seconds a parameter takes to reach a new value where a jump would click.
pub const SMOOTHING_S: f64 = 0.02;

/// A value that moves to its target in a straight line of fixed length.
///
/// It counts its own frames, so its values do not depend on how time is cut into blocks. A new
/// target starts a new line of full length from wherever the value is. The first value comes
/// without a ramp.
#[derive(Debug, Clone, Copy)]
pub struct Ramp {
    current: f32,
    target: f32,
    step: f32,
    left: u32,
    length: u32,
}

impl Ramp {
    /// Rests at `value`; later changes take `length_frames` (at least one).
    pub fn new(value: f32, length_frames: u32) -> Ramp {
        Ramp { current: value, target: value, step: 0.0, left: 0, length: length_frames.max(1) }
    }

    /// Rests at `value`; later changes take [`SMOOTHING_S`].
    pub fn smoothing(value: f32, rate_hz: f64) -> Ramp {
        Ramp::new(value, (SMOOTHING_S * rate_hz).round() as u32)
    }

    /// Starts a line to `target`; the next frame is its first step.
    pub fn set(&mut self, target: f32) {
        if target == self.target {
            return;
        }
        self.target = target;
        self.step = (target - self.current) / self.length as f32;
        self.left = self.length;
    }

    /// Where the line ends.
    pub fn target(&self) -> f32 {
        self.target
    }

    /// The value of the last frame.
    pub fn current(&self) -> f32 {
        self.current
    }

    /// Whether the target is reached.
    pub fn is_still(&self) -> bool {
        self.left == 0
    }

    /// Jumps to the target.
    pub fn snap(&mut self) {
        self.current = self.target;
        self.left = 0;
    }

    /// The next frame's value.
    #[inline]
    pub fn advance(&mut self) -> f32 {
        if self.left > 0 {
            self.left -= 1;
            self.current = if self.left == 0 { self.target } else { self.current + self.step };
        }
        self.current
    }

    /// The next values, one a frame.
    pub fn fill(&mut self, values: &mut [f32]) {
        if self.is_still() {
            rows::fill(values, self.current);
            return;
        }
        for value in values {
            *value = self.advance();
        }
    }

    /// Moves on by `frames` at once.
    pub fn skip(&mut self, frames: usize) {
        if frames as u64 >= u64::from(self.left) {
            self.snap();
        } else {
            self.left -= frames as u32;
            self.current += self.step * frames as f32;
        }
    }

    /// The value `frames` from now.
    pub fn ahead(&self, frames: usize) -> f32 {
        let mut later = *self;
        later.skip(frames);
        later.current
    }
}

/// Filter coefficients that move to new values in equal steps over one control interval.
///
/// Coefficients of stable second-order filters form a triangle, so every mixture of two stable
/// sets on the way is stable too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Morph<const N: usize> {
    /// In force now.
    pub(crate) current: [f64; N],
    step: [f64; N],
    moving: bool,
}

impl<const N: usize> Morph<N> {
    /// Rests.
    pub(crate) fn at(values: [f64; N]) -> Morph<N> {
        Morph { current: values, step: [0.0; N], moving: false }
    }

    /// Moves to `target` over `frames`.
    pub(crate) fn head_for(&mut self, target: [f64; N], frames: usize) {
        for ((step, target), current) in self.step.iter_mut().zip(target).zip(self.current) {
            *step = (target - current) / frames as f64;
        }
        self.moving = true;
    }

    /// Whether the coefficients change from frame to frame.
    pub(crate) fn is_moving(&self) -> bool {
        self.moving
    }

    /// The next frame.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        for (current, step) in self.current.iter_mut().zip(self.step) {
            *current += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_reaches_its_target_exactly_and_stays() {
        let mut ramp = Ramp::new(0.0, 10);
        assert!(ramp.is_still());
        ramp.set(1.0);
        let values: Vec<f32> = (0..12).map(|_| ramp.advance()).collect();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(values[9..], [1.0; 3]);
        assert!((values[0] - 0.1).abs() < 1e-6);
    }

    #[test]
    fn filling_in_parts_gives_the_same_bits() {
        let (mut one, mut two) = (Ramp::new(0.3, 100), Ramp::new(0.3, 100));
        one.set(0.9);
        two.set(0.9);
        let mut whole = [0.0; 150];
        one.fill(&mut whole);
        let mut parts = [0.0; 150];
        parts.chunks_mut(7).for_each(|part| two.fill(part));
        assert_eq!(whole, parts);
    }

    #[test]
    fn looking_ahead_does_not_move() {
        let mut ramp = Ramp::new(0.0, 100);
        ramp.set(1.0);
        assert!((ramp.ahead(50) - 0.5).abs() < 1e-6);
        assert_eq!(ramp.ahead(100), 1.0);
        assert_eq!(ramp.current(), 0.0);
    }
}
