//! Sums, copies and fades of rows.
//!
//! All loops are element by element in frame order, so they vectorise and their bits do not
//! depend on how rows are cut into blocks. Where rows differ in length the shorter one counts.

use crate::rows;

/// Adds `input` times `gain` into `out`.
///
/// Shape: one row each. Unit: linear. Cost: 2 operations a frame; no allocation.
/// `out` keeps what it held: callers that want a fresh row clear it first.
pub fn add_scaled(out: &mut [f32], input: &[f32], gain: f32) {
    for (out, input) in out.iter_mut().zip(input) {
        *out += input * gain;
    }
}

/// Writes `input` times `gain` to `out`. Cost: 1 operation a frame.
pub fn copy_scaled(out: &mut [f32], input: &[f32], gain: f32) {
    for (out, input) in out.iter_mut().zip(input) {
        *out = input * gain;
    }
}

/// A row and what its samples are multiplied by, linear.
pub type Scaled<'a> = (&'a [f32], f32);

/// What an [`accumulate`] begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// The first input: what the row held is gone.
    Anew,
    /// What the row holds.
    Onward,
}

/// Inputs that [`accumulate`] takes with one pass over the row: more need more registers than there are.
pub const AT_ONCE: usize = 4;

/// Sums rows, each times its gain, in their order.
///
/// The same bits as [`copy_scaled`] of the first (with [`Begin::Anew`]) and [`add_scaled`] of each of the others, but the
/// row is read and written once per [`AT_ONCE`] inputs. Without inputs [`Begin::Anew`] gives silence.
/// Shape: one row each; the shorter one counts. Unit: linear. Cost: 2 operations per frame and input; no allocation.
pub fn accumulate(out: &mut [f32], inputs: &[Scaled<'_>], mut begin: Begin) {
    let (groups, rest) = inputs.as_chunks::<AT_ONCE>();
    if inputs.is_empty() && begin == Begin::Anew {
        clear(out);
    }
    for group in groups {
        match std::mem::replace(&mut begin, Begin::Onward) {
            Begin::Anew => four::<false>(out, group),
            Begin::Onward => four::<true>(out, group),
        }
    }
    for pair in rest.chunks(2) {
        match (std::mem::replace(&mut begin, Begin::Onward), pair) {
            (Begin::Anew, [a, b]) => two::<false>(out, *a, *b),
            (Begin::Onward, [a, b]) => two::<true>(out, *a, *b),
            (Begin::Anew, [(a, gain), ..]) => copy_scaled(out, a, *gain),
            (Begin::Onward, [(a, gain), ..]) => add_scaled(out, a, *gain),
            (_, []) => {}
        }
    }
}

/// `KEEP`: onward from what `out` holds.
fn four<const KEEP: bool>(out: &mut [f32], inputs: &[Scaled<'_>; AT_ONCE]) {
    let [(a, gain_a), (b, gain_b), (c, gain_c), (d, gain_d)] = *inputs;
    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let first = if KEEP { *out + a * gain_a } else { a * gain_a };
        *out = ((first + b * gain_b) + c * gain_c) + d * gain_d;
    }
}

fn two<const KEEP: bool>(out: &mut [f32], (a, gain_a): Scaled<'_>, (b, gain_b): Scaled<'_>) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        let first = if KEEP { *out + a * gain_a } else { a * gain_a };
        *out = first + b * gain_b;
    }
}

/// Multiplies `row` by `gain`. Cost: 1 operation a frame.
pub fn scale(row: &mut [f32], gain: f32) {
    for sample in row {
        *sample *= gain;
    }
}

/// Writes silence.
pub fn clear(row: &mut [f32]) {
    rows::fill(row, 0.0);
}

/// Multiplies frame by frame: `row[i] *= gains[i]`. Cost: 1 operation a frame.
pub fn scale_by(row: &mut [f32], gains: &[f32]) {
    for (sample, gain) in row.iter_mut().zip(gains) {
        *sample *= gain;
    }
}

/// Adds `input[i] * gains[i]` into `out[i]`. Cost: 2 operations a frame.
pub fn add_scaled_by(out: &mut [f32], input: &[f32], gains: &[f32]) {
    for ((out, input), gain) in out.iter_mut().zip(input).zip(gains) {
        *out += input * gain;
    }
}

/// A straight line from one gain to another over a number of frames.
///
/// Each frame's gain is computed from its position, not from its predecessor: any part of the
/// line can be applied on its own, and parts fit together to the bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Gain at position 0.
    pub from: f32,
    /// Gain at position `frames`, which is the first frame after the line.
    pub to: f32,
    /// Length.
    pub frames: u32,
}

impl Line {
    /// The gain at a position; `to` from the end on.
    pub fn gain_at(&self, position: u64) -> f32 {
        if position >= u64::from(self.frames) {
            return self.to;
        }
        let part = position as f64 / f64::from(self.frames);
        (f64::from(self.from) + (f64::from(self.to) - f64::from(self.from)) * part) as f32
    }
}

/// Multiplies `row` by a line, of which the row's first frame is at `position`.
/// Cost: 5 operations a frame.
pub fn scale_line(row: &mut [f32], line: Line, position: u64) {
    for (offset, sample) in row.iter_mut().enumerate() {
        *sample *= line.gain_at(position + offset as u64);
    }
}

/// Adds `input` times a line into `out`; the first frame is at `position` of the line.
/// Cost: 6 operations a frame.
pub fn add_line(out: &mut [f32], input: &[f32], line: Line, position: u64) {
    for (offset, (out, input)) in out.iter_mut().zip(input).enumerate() {
        *out += input * line.gain_at(position + offset as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_summed_and_copied() {
        let mut out = [1.0, 2.0, 3.0];
        add_scaled(&mut out, &[1.0, 1.0], 0.5);
        assert_eq!(out, [1.5, 2.5, 3.0]);
        copy_scaled(&mut out, &[4.0, 4.0, 4.0], 0.25);
        assert_eq!(out, [1.0; 3]);
        add_scaled_by(&mut out, &[1.0; 3], &[0.0, 1.0, 2.0]);
        scale_by(&mut out, &[1.0, 0.5, 0.0]);
        assert_eq!(out, [1.0, 1.0, 0.0]);
        scale(&mut out, 3.0);
        assert_eq!(out, [3.0, 3.0, 0.0]);
        clear(&mut out);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn a_sum_at_once_has_the_bits_of_one_input_after_the_other() {
        for (frames, count) in
            [0, 1, 3, 4, 17, 64].into_iter().flat_map(|f| (0..10).map(move |n| (f, n)))
        {
            let row = |seed: usize| -> Vec<f32> {
                let sample = |i| ((seed * 31 + i) as f32 * 1.7).sin() * 10f32.powi(seed as i32 % 5);
                (0..frames).map(sample).collect()
            };
            let rows: Vec<Vec<f32>> = (0..count).map(row).collect();
            let inputs: Vec<Scaled<'_>> =
                rows.iter().zip(1..).map(|(row, i)| (&row[..], 0.3 * i as f32)).collect();
            let (mut expected, mut sum) = (vec![0.0; frames], vec![7.0; frames]);
            if let [(first, gain), ..] = inputs[..] {
                copy_scaled(&mut expected, first, gain);
            }
            inputs.iter().skip(1).for_each(|(row, gain)| add_scaled(&mut expected, row, *gain));
            accumulate(&mut sum, &inputs, Begin::Anew);
            assert_eq!(bits(&sum), bits(&expected), "{frames} frames, {count} inputs");
            inputs.iter().for_each(|(row, gain)| add_scaled(&mut expected, row, *gain));
            accumulate(&mut sum, &inputs, Begin::Onward);
            assert_eq!(bits(&sum), bits(&expected), "{frames} frames, {count} inputs more");
        }
    }

    fn bits(row: &[f32]) -> Vec<u32> {
        row.iter().map(|sample| sample.to_bits()).collect()
    }

    #[test]
    fn a_line_in_parts_is_the_line() {
        let line = Line { from: 0.2, to: 1.0, frames: 333 };
        let mut whole = [0.7; 500];
        scale_line(&mut whole, line, 0);
        let mut parts = [0.7; 500];
        for (index, part) in parts.chunks_mut(7).enumerate() {
            scale_line(part, line, index as u64 * 7);
        }
        assert_eq!(whole, parts);
        assert_eq!(whole[0], 0.7 * 0.2);
        assert_eq!(whole[499], 0.7);
    }
}
