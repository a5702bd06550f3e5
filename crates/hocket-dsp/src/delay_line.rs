//! A ring of past samples, read at whole and fractional distances.

use crate::ramp::Ramp;

/// Past samples of one channel.
///
/// Memory is allocated once, in [`DelayLine::new`]. Distances count from the last pushed sample:
/// distance 1 is the last one, so reading at distance `d` and then pushing delays by `d` frames.
#[derive(Debug, Clone)]
pub struct DelayLine {
    ring: Vec<f32>,
    mask: usize,
    next: usize,
}

impl DelayLine {
    /// Room for distances up to `max_frames` with interpolation around them.
    pub fn new(max_frames: usize) -> DelayLine {
        let length = (max_frames + 4).next_power_of_two();
        DelayLine { ring: vec![0.0; length], mask: length - 1, next: 0 }
    }

    /// Appends a sample, which drops the oldest.
    #[inline(always)]
    pub fn push(&mut self, sample: f32) {
        self.ring[self.next & self.mask] = sample;
        self.next = self.next.wrapping_add(1);
    }

    /// The sample pushed `distance` pushes ago; 1 is the last. Distances beyond the ring wrap.
    #[inline(always)]
    pub fn read(&self, distance: usize) -> f32 {
        self.ring[self.next.wrapping_sub(distance) & self.mask]
    }

    /// The signal between samples, by [`cubic`] interpolation.
    #[inline(always)]
    pub fn read_at(&self, distance: Distance) -> f32 {
        if distance.part == 0.0 {
            return self.read(distance.whole);
        }
        let around = [
            self.read(distance.whole - 1),
            self.read(distance.whole),
            self.read(distance.whole + 1),
            self.read(distance.whole + 2),
        ];
        cubic(around, distance.part)
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.ring.fill(0.0);
    }
}

/// A distance in frames, kept in two parts: one `f32` cannot hold long times to a small part of a
/// frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Whole frames, at least 2.
    pub whole: usize,
    /// Part of a frame, from 0 up to but not including 1.
    pub part: f32,
}

impl Distance {
    /// The distance nearest to `frames`, between 2 and `max_frames`.
    ///
    /// Within a fiftieth of a whole frame it is that whole frame: parameters in milliseconds are
    /// `f32`, and 2 s at 192 kHz are known to just about that.
    pub fn from_frames(frames: f64, max_frames: usize) -> Distance {
        let frames = frames.clamp(2.0, max_frames as f64);
        let nearest = frames.round();
        if (frames - nearest).abs() < 0.02 {
            return Distance { whole: nearest as usize, part: 0.0 };
        }
        let whole = frames.floor();
        Distance { whole: whole as usize, part: (frames - whole) as f32 }
    }
}

/// The third-degree polynomial through four samples (newest first), `part` of a frame behind the
/// second one. Exactly the second sample at 0; never louder than the input in the middle interval.
/// 22 operations.
#[inline(always)]
pub fn cubic(newest_first: [f32; 4], part: f32) -> f32 {
    let [a, b, c, d] = newest_first;
    let (minus_one, minus_two, plus_one) = (part - 1.0, part - 2.0, part + 1.0);
    let outer = part * minus_one * (1.0 / 6.0);
    let inner = plus_one * minus_two * 0.5;
    (d * (outer * plus_one) - a * (outer * minus_two))
        + (b * (inner * minus_one) - c * (inner * part))
}

/// Where a delay line is read: a distance that changes by cross-fading from the old place to the
/// new one, so that a jump neither clicks nor bends the pitch.
///
/// A change that comes during a fade waits for its end; of several the last one counts.
#[derive(Debug, Clone)]
pub struct Tap {
    from: Distance,
    to: Distance,
    waiting: Option<Distance>,
    fade: Ramp,
    fade_frames: u32,
}

impl Tap {
    /// A tap at rest; later changes take `fade_frames`.
    pub fn new(distance: Distance, fade_frames: u32) -> Tap {
        Tap {
            from: distance,
            to: distance,
            waiting: None,
            fade: Ramp::new(1.0, fade_frames),
            fade_frames,
        }
    }

    /// Moves to another distance.
    pub fn set(&mut self, distance: Distance) {
        if self.fade.is_still() {
            self.start(distance);
        } else {
            self.waiting = Some(distance);
        }
    }

    /// Reads the line for one frame and moves on.
    #[inline]
    pub fn read(&mut self, line: &DelayLine) -> f32 {
        if self.fade.is_still() {
            return line.read_at(self.to);
        }
        let (old, new) = (line.read_at(self.from), line.read_at(self.to));
        let part = self.fade.advance();
        if self.fade.is_still() {
            self.start_waiting();
        }
        old + (new - old) * part
    }

    /// Jumps to the last distance that was set.
    pub fn snap(&mut self) {
        self.to = self.waiting.take().unwrap_or(self.to);
        self.fade.snap();
    }

    fn start_waiting(&mut self) {
        if let Some(distance) = self.waiting.take() {
            self.start(distance);
        }
    }

    fn start(&mut self, distance: Distance) {
        if distance == self.to {
            return;
        }
        self.from = self.to;
        self.to = distance;
        self.fade = Ramp::new(0.0, self.fade_frames);
        self.fade.set(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(frame: f64) -> f32 {
        (frame * 0.05).sin() as f32
    }

    #[test]
    fn whole_distances_are_exact() {
        let mut line = DelayLine::new(100);
        for frame in 0..1000 {
            let expected = if frame >= 37 { (frame - 37) as f32 } else { 0.0 };
            assert_eq!(line.read(37), expected);
            line.push(frame as f32);
        }
    }

    #[test]
    fn fractions_lie_on_the_signal() {
        let mut line = DelayLine::new(100);
        let distance = Distance::from_frames(20.37, 100);
        for frame in 0..1000 {
            let got = line.read_at(distance);
            line.push(sine(f64::from(frame)));
            if frame > 50 {
                let expected = sine(f64::from(frame) - 20.37);
                assert!((got - expected).abs() < 1e-5, "{got} {expected}");
            }
        }
    }

    #[test]
    fn nearly_whole_is_whole() {
        let whole = Distance { whole: 480, part: 0.0 };
        assert_eq!(Distance::from_frames(480.00003, 1000), whole);
        assert_eq!(Distance::from_frames(479.99998, 1000), whole);
        assert_eq!(Distance::from_frames(0.0, 1000).whole, 2);
        assert_eq!(Distance::from_frames(1e9, 1000).whole, 1000);
        assert_eq!(cubic([3.0, 5.0, 7.0, 9.0], 0.0), 5.0);
    }

    #[test]
    fn a_moved_tap_fades_and_the_last_of_several_moves_counts() {
        let mut line = DelayLine::new(1000);
        let at = |frames| Distance::from_frames(frames, 1000);
        let mut tap = Tap::new(at(10.0), 100);
        let mut last = 0.0f32;
        for frame in 0..1000 {
            match frame {
                300 => tap.set(at(500.0)),
                320 => tap.set(at(50.0)),
                340 => tap.set(at(25.0)),
                _ => {}
            }
            let got = tap.read(&line);
            assert!((got - last).abs() < 0.08, "jump at {frame}");
            last = got;
            line.push(sine(f64::from(frame)));
        }
        assert_eq!(last, sine(999.0 - 25.0));
    }
}
