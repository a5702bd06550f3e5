//! Where a voice is in its sample, and what sounds there.

use crate::zones::{LoopMode, Piece};

/// One step of a sample of 16 bits.
const STEP: f32 = 1.0 / 32_768.0;

/// Reads a piece of a sample at any speed. Places count from `base`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Oscillator {
    /// The first sample of the file that it may read.
    base: usize,
    /// Behind the last one, without a loop.
    end: usize,
    loop_from: usize,
    loop_to: usize,
    loops: bool,
    ends_at_release: bool,
    /// Whether it has been through the loop: what lies before it is then the loop's end.
    looped: bool,
    at: f64,
    /// Samples per frame.
    pub(crate) step: f64,
}

impl Oscillator {
    pub(crate) fn start(&mut self, piece: &Piece) {
        let base = piece.start.min(piece.looped.from);
        let place = |sample: u32| (sample - base) as usize;
        self.base = base as usize;
        self.end = place(piece.end.max(piece.start));
        self.loop_from = place(piece.looped.from);
        self.loop_to = place(piece.looped.to);
        self.loops = piece.mode != LoopMode::Once;
        self.ends_at_release = piece.mode == LoopMode::UntilRelease;
        self.looped = false;
        self.at = place(piece.start) as f64;
        self.step = 0.0;
    }

    pub(crate) fn release(&mut self) {
        if self.ends_at_release {
            self.loops = false;
        }
    }

    /// The sample of the next frame; `None` behind the end.
    ///
    /// Between two samples: a cubic through both, with the slopes that their neighbours give (Catmull and Rom, 1974). On a
    /// sample it is that sample.
    #[inline]
    pub(crate) fn next(&mut self, samples: &[i16]) -> Option<f32> {
        let bound = if self.loops { self.loop_to } else { self.end };
        if self.at >= bound as f64 {
            if !self.loops {
                return None;
            }
            self.wrap();
        }
        let place = self.at as usize;
        let part = (self.at - place as f64) as f32;
        let first = if self.looped { self.loop_from + 1 } else { 1 };
        let [a, b, c, d] = if place >= first && place + 2 < bound {
            self.inside(samples, place)
        } else {
            [-1, 0, 1, 2].map(|offset| self.tap(samples, place as isize + offset))
        };
        self.at += self.step;
        let slope = 0.5 * (c - a);
        let square = a - 2.5 * b + 2.0 * c - 0.5 * d;
        let cube = 0.5 * (d - a) + 1.5 * (b - c);
        Some((((cube * part + square) * part + slope) * part + b) * STEP)
    }

    /// Back into the loop. A step may be longer than the loop.
    fn wrap(&mut self) {
        let (from, length) = (self.loop_from as f64, (self.loop_to - self.loop_from) as f64);
        self.at -= length;
        if self.at >= self.loop_to as f64 {
            self.at = from + (self.at - from) % length;
        }
        self.looped = true;
    }

    /// Four samples in a row that lie inside.
    #[inline]
    fn inside(&self, samples: &[i16], place: usize) -> [f32; 4] {
        let first = self.base + place - 1;
        match samples.get(first..first + 4) {
            Some(four) => [0, 1, 2, 3].map(|index| f32::from(four[index])),
            None => [0.0; 4],
        }
    }

    /// One sample; around a loop, that of the loop's other end. Silence outside.
    fn tap(&self, samples: &[i16], place: isize) -> f32 {
        let (from, to) = (self.loop_from as isize, self.loop_to as isize);
        let place = match self.loops {
            true if place >= to => from + (place - from) % (to - from),
            true if self.looped && place < from => place + (to - from),
            false if place >= self.end as isize => return 0.0,
            _ => place,
        };
        let place = usize::try_from(place).ok().map(|place| self.base + place);
        place.and_then(|place| samples.get(place)).map_or(0.0, |sample| f32::from(*sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::Span;

    fn run(piece: Piece, step: f64, count: usize, samples: &[i16]) -> Vec<Option<f32>> {
        let mut oscillator = Oscillator::default();
        oscillator.start(&piece);
        oscillator.step = step;
        (0..count).map(|_| oscillator.next(samples).map(|sample| sample / STEP)).collect()
    }

    fn piece(start: u32, end: u32, (from, to): (u32, u32), mode: LoopMode) -> Piece {
        let looped = Span { from, to };
        Piece { start, end, looped, mode, rate_hz: 1, root: 60, correction_cents: 0 }
    }

    #[test]
    fn at_its_own_speed_it_gives_the_samples_and_ends() {
        let samples: Vec<i16> = (0..20).map(|n| 100 * n).collect();
        let row = run(piece(5, 9, (5, 9), LoopMode::Once), 1.0, 6, &samples);
        assert_eq!(row, [Some(500.0), Some(600.0), Some(700.0), Some(800.0), None, None]);
        // Between samples of a straight line lies the line, away from its ends.
        let row = run(piece(5, 15, (5, 15), LoopMode::Once), 1.5, 3, &samples);
        assert_eq!(row[1..], [Some(650.0), Some(800.0)]);
    }

    #[test]
    fn a_loop_repeats_even_if_it_is_short_or_outside_of_the_piece() {
        let samples: Vec<i16> = (0..20).map(|n| 100 * n).collect();
        let row = run(piece(5, 9, (6, 8), LoopMode::Always), 1.0, 6, &samples);
        assert_eq!(row, [500.0, 600.0, 700.0, 600.0, 700.0, 600.0].map(Some));
        let row = run(piece(5, 9, (7, 8), LoopMode::Always), 0.25, 40, &samples);
        assert!(
            row[12..].iter().all(|sample| *sample == Some(700.0)),
            "a loop of one sample is still"
        );
        let row = run(piece(5, 9, (2, 4), LoopMode::Always), 1.0, 3, &samples);
        assert!(row.iter().all(|sample| matches!(sample, Some(200.0 | 300.0))), "{row:?}");
        let row = run(piece(5, 9, (6, 8), LoopMode::Always), 1e9 + 1.0, 50, &samples);
        assert!(row.iter().all(Option::is_some));
    }

    #[test]
    fn a_loop_until_the_release_then_goes_on_to_the_end() {
        let samples: Vec<i16> = (0..20).map(|n| 100 * n).collect();
        let mut oscillator = Oscillator::default();
        oscillator.start(&piece(0, 6, (1, 3), LoopMode::UntilRelease));
        oscillator.step = 1.0;
        let next = |oscillator: &mut Oscillator| oscillator.next(&samples).map(|s| s / STEP);
        let held: Vec<_> = (0..4).map(|_| next(&mut oscillator)).collect();
        assert_eq!(held, [0.0, 100.0, 200.0, 100.0].map(Some));
        oscillator.release();
        let rest: Vec<_> = (0..5).map(|_| next(&mut oscillator)).collect();
        assert_eq!(rest, [Some(200.0), Some(300.0), Some(400.0), Some(500.0), None]);
    }
}
