//! Fades at an edge: from one gain to another, and from one delay to another.
//!
//! What a fade does at a frame follows from how many frames of it are over, so the cut into blocks is not heard.

use std::ops::Range;

use hocket_dsp::mix;

use super::delay::{Ring, pull_all};
use super::rows::Rows;

/// How long a delay or a gain fades into another: 11 ms at 48 kHz.
pub(crate) const FADE_FRAMES: u32 = 512;

const FRAMES: usize = FADE_FRAMES as usize;

/// By frame of a fade: how much of it is over, 0 to 1. A curve without corners (3 t^2 - 2 t^3), so that a fade has none
/// either. What one side lacks the other side has, so two ways of the same sound stay as loud as one.
static FADED: [f32; FRAMES] = faded();

const fn faded() -> [f32; FRAMES] {
    let (mut table, mut frame) = ([0.0; FRAMES], 0);
    while frame < FRAMES {
        let part = frame as f64 / FRAMES as f64;
        table[frame] = (part * part * (3.0 - 2.0 * part)) as f32;
        frame += 1;
    }
    table
}

/// How much is over of a fade of so many frames, at most [`FADE_FRAMES`]: 0 to 1.
pub(super) fn faded_at(frame: usize, frames: usize) -> f32 {
    FADED[frame * FRAMES / frames]
}

/// From one gain to another.
#[derive(Clone, Copy)]
pub(super) struct Ramp {
    from: f32,
    /// Frames until it begins.
    wait: u64,
    /// Frames that are over.
    over: u32,
}

impl Ramp {
    /// `wait`: frames until it begins.
    pub(super) fn from(from: f32, wait: u64) -> Ramp {
        Ramp { from, wait, over: 0 }
    }

    /// The gain at the next frame.
    pub(super) fn gain(self, to: f32) -> f32 {
        match FADED.get(self.over as usize) {
            Some(part) => self.from + (to - self.from) * part,
            None => to,
        }
    }

    /// Multiplies the row of a block. Cost: 4 operations per frame.
    pub(super) fn scale(self, row: &mut [f32], to: f32) {
        let (still, fading) = self.cut(row.len());
        let (begin, rest) = row.split_at_mut(still);
        let (middle, end) = rest.split_at_mut(fading);
        // Nothing is exactly that, whatever came in.
        if self.from == 0.0 {
            mix::clear(begin)
        } else {
            mix::scale(begin, self.from)
        }
        for (sample, part) in middle.iter_mut().zip(&FADED[self.over as usize..]) {
            *sample *= self.from + (to - self.from) * part;
        }
        mix::scale(end, to);
    }

    /// The ramp behind a block of so many frames; `None`: it is over.
    pub(super) fn after(self, frames: usize) -> Option<Ramp> {
        let (still, fading) = self.cut(frames);
        let (wait, over) = (self.wait - still as u64, self.over + fading as u32);
        (over < FADE_FRAMES).then_some(Ramp { wait, over, ..self })
    }

    /// Of so many frames: those before it begins, and those of the fade.
    fn cut(self, frames: usize) -> (usize, usize) {
        let still = frames.min(usize::try_from(self.wait).unwrap_or(usize::MAX));
        (still, (frames - still).min((FADE_FRAMES - self.over) as usize))
    }
}

/// From one delay to another.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) from: usize,
    /// Frames until the ring holds what the new delay needs; the fade begins then.
    wait: u64,
    /// Frames of the fade that are over.
    over: u32,
}

impl Change {
    /// `wait`: frames until it begins.
    pub(super) fn from(from: usize, wait: u64) -> Change {
        Change { from, wait, over: 0 }
    }

    /// Whether something of the new delay has been heard.
    pub(super) fn has_begun(self) -> bool {
        self.over > 0
    }

    pub(super) fn is_over(self) -> bool {
        self.over == FADE_FRAMES
    }

    /// The frames at `range` of a block, as far as the change goes. Returns where it ended.
    pub(super) fn run(
        &mut self,
        ring: &Ring,
        to: usize,
        out: &mut Rows,
        range: Range<usize>,
        frames: usize,
    ) -> usize {
        let still = range.len().min(usize::try_from(self.wait).unwrap_or(usize::MAX));
        let fading = (range.len() - still).min((FADE_FRAMES - self.over) as usize);
        let (begin, end) = (range.start + still, range.start + still + fading);
        pull_all(ring, self.from, out, range.start..end, frames);
        let parts = &FADED[self.over as usize..][..fading];
        let mut out = out.all_mut(frames);
        for row in 0..out.len() {
            let (mut new, mut at) = ([0.0; 64], begin);
            let pieces = out.row_mut(row)[begin..end].chunks_mut(new.len());
            for (piece, parts) in pieces.zip(parts.chunks(new.len())) {
                ring.pull(row, to + frames - at, &mut new[..piece.len()]);
                for ((sample, new), part) in piece.iter_mut().zip(&new).zip(parts) {
                    *sample += (new - *sample) * part;
                }
                at += piece.len();
            }
        }
        self.wait -= still as u64;
        self.over += fading as u32;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fade_has_no_corners_and_both_sides_together_stay_as_loud() {
        assert_eq!((FADED[0], FADED[FRAMES / 2]), (0.0, 0.5));
        for frame in 1..FRAMES {
            assert!(FADED[frame] > FADED[frame - 1]);
            assert!((FADED[frame] + FADED[FRAMES - frame] - 1.0).abs() < 1e-6);
        }
        assert!(FADED[1] < 2e-5 && FADED[FRAMES - 1] > 1.0 - 2e-5);
    }

    #[test]
    fn a_ramp_in_blocks_of_any_length_is_the_ramp() {
        let whole = |ramp: Ramp, to| {
            let mut row = [0.75; 700];
            ramp.scale(&mut row, to);
            row
        };
        for (ramp, to) in [(Ramp::from(0.0, 100), 0.7), (Ramp::from(1.0, 0), 0.0)] {
            let mut row = [0.75; 700];
            for (i, length) in [1, 7, 64, 3].iter().cycle().enumerate() {
                let (at, ramp) = walked(ramp, i);
                let Some(ramp) = ramp else { break };
                let end = (at + length).min(row.len());
                ramp.scale(&mut row[at..end], to);
            }
            let over = 512 + if to == 0.7 { 100 } else { 0 };
            assert_eq!(row[..over], whole(ramp, to)[..over]);
        }
    }

    /// Where the block of this number begins, and the ramp there.
    fn walked(ramp: Ramp, number: usize) -> (usize, Option<Ramp>) {
        let lengths = [1, 7, 64, 3].iter().cycle().take(number);
        lengths.fold((0, Some(ramp)), |(at, ramp), length| {
            (at + length, ramp.and_then(|ramp| ramp.after(*length)))
        })
    }
}
