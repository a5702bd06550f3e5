//! Parts of one length, convolved by overlap-save.
//!
//! Whenever so many frames have come in as a part is long, the spectrum of the last two lengths joins a ring. The sum of all
//! spectra in the ring, each times that of its part, is what the parts add to the frames that follow. It may be worked out at
//! once, or in several steps while the next frames come in. Then it is due one length later.

use std::sync::Arc;

use hocket_dsp::rows;

use crate::fourier::Scratch;
use crate::impulse::Parts;
use crate::spectra::Spectra;

/// Both sides of a stage of parts.
#[derive(Debug)]
pub(crate) struct Stage {
    parts: Arc<Parts>,
    /// In how many steps a sum is worked out.
    steps: usize,
    step: usize,
    /// Frames that have come in since the last full length.
    filled: usize,
    /// Row of the ring with the newest spectrum.
    newest: usize,
    /// Rows of the ring that hold what came in since the last reset, or zeros. The others count as zeros: a reset need not
    /// write tens of megabytes in the middle of a block.
    valid: usize,
    sides: [Side; 2],
    scratch: Scratch,
}

#[derive(Debug)]
struct Side {
    /// The length before, and the one that comes in.
    window: Vec<f32>,
    /// The window that is being worked on.
    taken: Vec<f32>,
    ring: Spectra,
    sum: Spectra,
    /// What the parts add to the frames of the length that comes in.
    out: Vec<f32>,
}

impl Stage {
    /// A stage at rest that gets ready in `steps` steps: 1, or as many as fit into a part, 4 at least.
    /// Thread: control; allocates.
    pub(crate) fn new(parts: &Arc<Parts>, steps: usize) -> Stage {
        let (length, bins) = (parts.length, parts.fourier.bins());
        let side = || Side {
            window: vec![0.0; 2 * length],
            taken: vec![0.0; 2 * length],
            ring: Spectra::new(parts.count, bins),
            sum: Spectra::new(1, bins),
            out: vec![0.0; length],
        };
        Stage {
            parts: Arc::clone(parts),
            steps,
            step: 0,
            filled: 0,
            newest: 0,
            // Zeros, which cost what other rows cost: so a try tells what blocks will cost.
            valid: parts.count,
            sides: [side(), side()],
            scratch: parts.fourier.scratch(),
        }
    }

    /// Adds what the parts say to the next frames, and takes what comes in. They stay within the length that comes in.
    pub(crate) fn pass(&mut self, input: [&[f32]; 2], mut out: [&mut [f32]; 2]) {
        let (from, to) = (self.filled, self.filled + input[0].len());
        let length = self.parts.length;
        for ((side, input), out) in self.sides.iter_mut().zip(input).zip(&mut out) {
            out.iter_mut().zip(&side.out[from..to]).for_each(|(out, add)| *out += add);
            rows::copy(&mut side.window[length + from..length + to], input);
        }
        self.filled = to;
    }

    /// The next step. It is due whenever the `steps`th part of a length has come in.
    pub(crate) fn advance(&mut self) {
        let is_full = self.filled == self.parts.length;
        // With one step, what has just come in is worked on at once. With several, it waits until the sum before is ready.
        if is_full && self.steps == 1 {
            self.take_window();
        }
        self.work();
        if is_full && self.steps > 1 {
            self.take_window();
        }
    }

    fn take_window(&mut self) {
        let length = self.parts.length;
        for side in &mut self.sides {
            rows::copy(&mut side.taken, &side.window);
            rows::shift_down(&mut side.window, length);
        }
        self.filled = 0;
    }

    fn work(&mut self) {
        if self.step == 0 {
            self.transform();
        }
        self.add_products();
        self.step += 1;
        if self.step == self.steps {
            self.step = 0;
            let Stage { parts, sides, scratch, .. } = self;
            for side in sides {
                parts.fourier.second_half(side.sum.row(0), &mut side.out, scratch);
            }
        }
    }

    fn transform(&mut self) {
        self.newest = (self.newest + 1) % self.parts.count;
        self.valid = self.parts.count.min(self.valid + 1);
        let Stage { parts, sides, scratch, newest, .. } = self;
        for side in sides {
            parts.fourier.forward(&side.taken, side.ring.row_mut(*newest), scratch);
            side.sum.clear();
        }
    }

    /// The parts of this step. The first and the last step have the transforms, so they get none if there are others.
    fn add_products(&mut self) {
        let count = self.parts.count;
        let (from, to) = match (self.step, self.steps) {
            (_, 1) => (0, count),
            (0, _) => (0, 0),
            (step, steps) => {
                let share = |step: usize| count * step.min(steps - 2) / (steps - 2);
                (share(step - 1), share(step))
            }
        };
        // A row of zeros would add zeros, which change no bit of a sum that began with zeros.
        for part in from..to.min(self.valid) {
            let row = (self.newest + count - part) % count;
            for (source, target, first) in &self.parts.paths {
                let spectrum = self.parts.spectra.row(first + part);
                let [left, right] = &mut self.sides;
                let (ring, sum) = match (source, target) {
                    (0, 0) => (&left.ring, &mut left.sum),
                    (0, _) => (&left.ring, &mut right.sum),
                    (_, 0) => (&right.ring, &mut left.sum),
                    _ => (&right.ring, &mut right.sum),
                };
                sum.row_mut(0).add_product(ring.row(row), spectrum);
            }
        }
    }

    /// Cost: that of a few parts, however long the response is.
    pub(crate) fn reset(&mut self) {
        for side in &mut self.sides {
            for row in [&mut side.window, &mut side.taken, &mut side.out] {
                rows::fill(row, 0.0);
            }
            side.sum.clear();
        }
        (self.step, self.filled, self.newest, self.valid) = (0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impulse::{Impulse, LARGE, SMALL};

    fn row(frames: usize, factor: f32) -> Vec<f32> {
        (0..frames).map(|n| ((n * n % 10_007) as f32 * factor).sin() * 0.1).collect()
    }

    /// What a stage makes of a sound, as bits.
    fn made(stage: &mut Stage, sound: &[f32]) -> Vec<u32> {
        let mut out = [vec![0.0; sound.len()], vec![0.0; sound.len()]];
        for at in (0..sound.len()).step_by(SMALL) {
            let [left, right] = &mut out;
            let (left, right) = (&mut left[at..at + SMALL], &mut right[at..at + SMALL]);
            stage.pass([&sound[at..at + SMALL]; 2], [left, right]);
            stage.advance();
        }
        out.iter().flatten().map(|sample| sample.to_bits()).collect()
    }

    #[test]
    fn a_reset_leaves_the_ring_as_it_is_and_nothing_reads_it() {
        let impulse = Impulse::new(&[row(9000, 0.3), row(9000, 0.7)]).unwrap();
        let sound = row(20 * LARGE, 0.9);
        for (parts, steps) in [(&impulse.small, 1), (&impulse.large, LARGE / SMALL)] {
            let parts = parts.as_ref().unwrap();
            let fresh = made(&mut Stage::new(parts, steps), &sound);
            for before in [0, SMALL, 3 * LARGE + SMALL, 20 * LARGE] {
                let mut stage = Stage::new(parts, steps);
                made(&mut stage, &sound[..before]);
                for (side, row) in
                    (0..2).flat_map(|side| (0..parts.count).map(move |row| (side, row)))
                {
                    stage.sides[side].ring.row_mut(row).re.fill(f32::NAN);
                }
                stage.reset();
                let rows = (0..parts.count).map(|row| stage.sides[0].ring.row(row));
                assert!(rows.flat_map(|row| row.re).all(|bin| bin.is_nan()), "{before}");
                assert!(made(&mut stage, &sound) == fresh, "{before}");
            }
        }
    }
}
