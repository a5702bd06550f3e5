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

/// A value that moves to its target in a fixed number of frames, along a curve without corners: a cubic Hermite segment,
/// which begins with the slope that the value has and ends with slope 0.
///
/// As with [`Ramp`], its values do not depend on how time is cut into blocks, and a new target starts a new segment of full
/// length. Where that turns it round, the value may overshoot, by less than a sixth of its slope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmoothRamp {
    from: f32,
    target: f32,
    /// At the start, per length.
    slope: f32,
    /// Frames of the segment that are over.
    over: u32,
    length: u32,
}

impl SmoothRamp {
    /// Rests at `value`; later changes take `length_frames` (at least one).
    pub(crate) fn new(value: f32, length_frames: u32) -> SmoothRamp {
        let length = length_frames.max(1);
        SmoothRamp { from: value, target: value, slope: 0.0, over: length, length }
    }

    /// Starts a segment to `target`; the next frame is its first step.
    pub(crate) fn set(&mut self, target: f32) {
        if target != self.target {
            let (from, slope) = (self.current(), self.slope_now());
            *self = SmoothRamp { from, target, slope, over: 0, ..*self };
        }
    }

    /// Where the segment ends.
    pub(crate) fn target(&self) -> f32 {
        self.target
    }

    /// The value of the last frame.
    fn current(&self) -> f32 {
        if self.is_still() {
            return self.target;
        }
        let part = self.part();
        let faded = part * part * (3.0 - 2.0 * part);
        let turning = part * (1.0 - part) * (1.0 - part);
        self.from + (self.target - self.from) * faded + self.slope * turning
    }

    /// The derivative of [`SmoothRamp::current`].
    fn slope_now(&self) -> f32 {
        let part = self.part();
        let faded = 6.0 * part * (1.0 - part);
        (self.target - self.from) * faded + self.slope * (1.0 - part) * (1.0 - 3.0 * part)
    }

    /// How much of the segment is over, 0 to 1.
    fn part(&self) -> f32 {
        self.over as f32 / self.length as f32
    }

    /// Whether the target is reached.
    pub(crate) fn is_still(&self) -> bool {
        self.over == self.length
    }

    /// Jumps to the target.
    pub(crate) fn snap(&mut self) {
        self.over = self.length;
    }

    /// The next values, one a frame.
    pub(crate) fn fill(&mut self, values: &mut [f32]) {
        let (moving, still) =
            values.split_at_mut(values.len().min((self.length - self.over) as usize));
        for value in moving {
            self.over += 1;
            *value = self.current();
        }
        rows::fill(still, self.target);
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
    fn a_smooth_ramp_has_no_corner_where_it_begins_ends_or_is_turned_round() {
        let bend = |turns: &[usize]| {
            let mut ramp = SmoothRamp::new(0.0, 240);
            let mut values = vec![0.0; 2];
            for (number, frames) in turns.iter().enumerate() {
                ramp.set(if number % 2 == 0 { 1.0 } else { 0.0 });
                let mut row = vec![0.0; *frames];
                row.chunks_mut(7).for_each(|part| ramp.fill(part));
                values.extend(row);
            }
            assert_eq!(values[values.len() - 1], ramp.target());
            assert!(values.iter().all(|value| (-0.05..=1.05).contains(value)), "{turns:?}");
            let bends = values.windows(3).map(|three| three[0] - 2.0 * three[1] + three[2]);
            bends.fold(0.0f32, |most, bend| most.max(bend.abs()))
        };
        let plain = bend(&[300]);
        assert!(plain < 6.1 / (240.0 * 240.0), "{plain}");
        for turn in [1, 30, 60, 120, 180, 239, 240] {
            assert!(bend(&[turn, 300]) < 1.7 * plain, "{turn}");
            assert!(bend(&[turn, 64, 64, turn, 300]) < 1.7 * plain, "{turn}, often");
        }
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
