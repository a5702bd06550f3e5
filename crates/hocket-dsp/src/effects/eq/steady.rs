//! Bands that do not move: all frames up to the next event at once.
//!
//! All that control points do meanwhile is to flush tails, so that is done here, at their frames.
//!
//! # A wave
//! If all bands are on, each is a frame behind the one before it, so they do not wait for each other: in turn `n` band `k` has
//! frame `n - k`. A band waits for what it put out itself, and that is what a frame takes. Every band gets the operations that
//! it would get one after the other, in the same order, so the bits are the same.
//!
//! What is carried from turn to turn fits into sixteen registers of two numbers, but not beside all coefficients. Those and the
//! samples are in cells: the compiler must assume that a sample that goes back changes a coefficient. So it reads coefficients
//! where they are multiplied. Otherwise it moves what is carried to the stack and back in each turn. Fewer bands fit as they are.
//!
//! # Pieces
//! A piece is what lies between two control points. Each band flushes before its own frame there, so in the first turns
//! of a piece. If fewer frames than bands lie before the first control point or after the last one, they go frame by frame.
//!
//! A wave takes time to begin and to end, so short blocks go frame by frame as a whole.

use std::cell::Cell;
use std::ops::Range;

use super::{BANDS, Eq};
use crate::biquad::{BothSides, flush_sides, step_both};
use crate::block::StereoMut;
use crate::math;
use crate::segment::CONTROL_FRAMES;

/// From how many frames on a wave is faster. By the benchmark `effects`, 64 are too few and 96 are enough.
const WAVE_FRAMES: usize = 96;

/// How many frames the last band is behind the input.
const LAG: usize = BANDS - 1;

/// Left and right.
type Sides = [f64; 2];

/// `b0 b1 b2 a1 a2` of each band, once for each side. Aligned, so that they need no instruction of their own.
#[repr(align(16))]
struct Coefficients([[Cell<Sides>; 5]; BANDS]);

/// Samples of both sides.
type Samples<'a> = [&'a [Cell<f32>]; 2];

impl Eq {
    /// What [`SegmentEffect::run`](crate::segment::SegmentEffect::run) and control points would do until the next event. `phase`
    /// frames have passed since the last control point.
    pub(super) fn pass_steadily(&mut self, rows: StereoMut<'_>, phase: usize) {
        match self.active_count {
            0 => {}
            1 => self.frame_by_frame::<1>(rows, phase),
            2 => self.frame_by_frame::<2>(rows, phase),
            3 => self.frame_by_frame::<3>(rows, phase),
            _ if rows.left.len() < WAVE_FRAMES => self.frame_by_frame::<BANDS>(rows, phase),
            _ => self.wave(rows, phase),
        }
    }

    fn frame_by_frame<const N: usize>(&mut self, rows: StereoMut<'_>, phase: usize) {
        let active: [usize; N] = std::array::from_fn(|n| self.active[n]);
        // One band at a time: as a whole the arrays would be copied by the C library (`rows`).
        let (mut c, mut states) = ([[0.0; 5]; N], [[[0.0; 2]; 2]; N]);
        for (i, n) in active.into_iter().enumerate() {
            (c[i], states[i]) = (self.bands[n].morph.current, self.bands[n].state);
        }
        let frames = rows.left.len();
        let mut at = 0;
        while at < frames {
            if is_control_point(phase, at) {
                states.iter_mut().for_each(flush_sides);
            }
            let end = piece_end(phase, at).min(frames);
            for (left, right) in rows.left[at..end].iter_mut().zip(&mut rows.right[at..end]) {
                let mut y = [*left, *right].map(f64::from);
                for (c, state) in c.iter().zip(&mut states) {
                    step_both(c, state, &mut y);
                }
                [*left, *right] = math::narrow_both(y);
            }
            at = end;
        }
        for (n, state) in active.into_iter().zip(states) {
            self.bands[n].state = state;
        }
    }

    fn wave(&mut self, rows: StereoMut<'_>, phase: usize) {
        let rows = [rows.left, rows.right].map(|row| Cell::from_mut(row).as_slice_of_cells());
        let both = |value: f64| Cell::new([value; 2]);
        let coefficients =
            Coefficients(std::array::from_fn(|n| self.active(n).morph.current.map(both)));
        let sums = std::array::from_fn(|n| self.active(n).state);
        let mut wave = Wave { sums };
        let frames = rows[0].len();
        let Range { start, end } = waved(phase, frames);
        wave.one_by_one(&coefficients, rows, phase, 0..start);
        if start < end {
            wave.pass(&coefficients, rows, phase, start..end);
        }
        wave.one_by_one(&coefficients, rows, phase, end..frames);
        for (n, sums) in wave.sums.into_iter().enumerate() {
            self.bands[self.active[n]].state = sums;
        }
    }
}

/// The frames that a wave takes: whole pieces of at least as many frames as there are bands.
pub(super) fn waved(phase: usize, frames: usize) -> Range<usize> {
    let before = piece_end(phase, 0);
    let start = if before < BANDS { before.min(frames) } else { 0 };
    let after = ((phase + frames) % CONTROL_FRAMES).min(frames);
    let end = if after < BANDS { frames - after } else { frames };
    start..end.max(start)
}

/// Whether a control point lies between frame `n` and the frame before it.
pub(super) fn is_control_point(phase: usize, n: usize) -> bool {
    n > 0 && (phase + n).is_multiple_of(CONTROL_FRAMES)
}

/// Where the piece ends that has frame `n`: the first frame behind the next control point.
fn piece_end(phase: usize, n: usize) -> usize {
    n + CONTROL_FRAMES - (phase + n) % CONTROL_FRAMES
}

/// The two delayed sums of each band. Bands are taken by their names: if one were chosen by a number, all would be kept in
/// memory.
type Sums = (BothSides, BothSides, BothSides, BothSides);

/// What each band but the last one has put out.
type Outs = (Sides, Sides, Sides);

/// The two delayed sums of each band, between passes.
struct Wave {
    sums: [BothSides; BANDS],
}

impl Wave {
    fn one_by_one(
        &mut self,
        coefficients: &Coefficients,
        rows: Samples<'_>,
        phase: usize,
        range: Range<usize>,
    ) {
        for n in range {
            if is_control_point(phase, n) {
                self.sums.iter_mut().for_each(flush_sides);
            }
            let mut y = frame(rows.map(|row| &row[n]));
            for (band, sums) in coefficients.0.iter().zip(&mut self.sums) {
                y = step(band, sums, y);
            }
            put(rows.map(|row| &row[n]), y);
        }
    }

    /// Pieces, from the first band's first frame to the last band's last one.
    #[inline(never)]
    fn pass(
        &mut self,
        coefficients: &Coefficients,
        rows: Samples<'_>,
        phase: usize,
        range: Range<usize>,
    ) {
        if is_control_point(phase, range.start) {
            self.sums.iter_mut().for_each(flush_sides);
        }
        // Band by band: as a whole the arrays would be copied by the C library.
        let [a, b, c, d] = &mut self.sums;
        let mut sums = (*a, *b, *c, *d);
        let start = range.start + LAG;
        let mut outs = begin(coefficients, &mut sums, rows.map(|row| &row[range.start..start]));
        let mut at = piece_end(phase, range.start).min(range.end);
        turns(coefficients, &mut sums, &mut outs, (rows, start..at));
        while at < range.end {
            let next = piece_end(phase, at).min(range.end);
            let ways = |n: usize| (rows.map(|row| &row[n]), rows.map(|row| &row[n - LAG]));
            sums.0 = flushed(sums.0);
            turn(coefficients, &mut sums, &mut outs, ways(at));
            sums.1 = flushed(sums.1);
            turn(coefficients, &mut sums, &mut outs, ways(at + 1));
            sums.2 = flushed(sums.2);
            turn(coefficients, &mut sums, &mut outs, ways(at + 2));
            sums.3 = flushed(sums.3);
            turn(coefficients, &mut sums, &mut outs, ways(at + 3));
            turns(coefficients, &mut sums, &mut outs, (rows, at + BANDS..next));
            at = next;
        }
        end(coefficients, &mut sums, outs, rows.map(|row| &row[range.end - LAG..range.end]));
        (*a, *b, *c, *d) = sums;
    }
}

/// The turns before the last band has its first frame. Nothing comes out.
#[inline(always)]
fn begin(
    Coefficients([c0, c1, c2, _]): &Coefficients,
    (a, b, c, _): &mut Sums,
    ahead: Samples<'_>,
) -> Outs {
    let x = |n: usize| frame(ahead.map(|row| &row[n]));
    let out_a = step(c0, a, x(0));
    let out_b = step(c1, b, out_a);
    let out_a = step(c0, a, x(1));
    let out_c = step(c2, c, out_b);
    let out_b = step(c1, b, out_a);
    (step(c0, a, x(2)), out_b, out_c)
}

/// The turns after the first band's last frame. Nothing goes in.
#[inline(always)]
fn end(
    Coefficients([_, c1, c2, c3]): &Coefficients,
    (_, b, c, d): &mut Sums,
    (out_a, out_b, out_c): Outs,
    late: Samples<'_>,
) {
    let put = |n: usize, y: Sides| put(late.map(|row| &row[n]), y);
    put(0, step(c3, d, out_c));
    let out_c = step(c2, c, out_b);
    let out_b = step(c1, b, out_a);
    put(1, step(c3, d, out_c));
    let out_c = step(c2, c, out_b);
    put(2, step(c3, d, out_c));
}

/// Turns in which all bands have a frame; the first band has those of `range`.
#[inline(always)]
fn turns(
    coefficients: &Coefficients,
    sums: &mut Sums,
    outs: &mut Outs,
    (rows, range): (Samples<'_>, Range<usize>),
) {
    let [left, right] = rows.map(|row| row[range.clone()].iter());
    let [late_left, late_right] = rows.map(|row| row[range.start - LAG..range.end - LAG].iter());
    for ((left, right), (late_left, late_right)) in left.zip(right).zip(late_left.zip(late_right)) {
        turn(coefficients, sums, outs, ([left, right], [late_left, late_right]));
    }
}

/// The first band gets a frame, and that of the last band is done.
#[inline(always)]
fn turn(
    Coefficients([c0, c1, c2, c3]): &Coefficients,
    (a, b, c, d): &mut Sums,
    (out_a, out_b, out_c): &mut Outs,
    (first, last): ([&Cell<f32>; 2], [&Cell<f32>; 2]),
) {
    let x = frame(first);
    // The last one first, so that each finds what the one before it put out in the turn before.
    let y = step(c3, d, *out_c);
    *out_c = step(c2, c, *out_b);
    *out_b = step(c1, b, *out_a);
    *out_a = step(c0, a, x);
    put(last, y);
}

/// [`flush_sides`], by value: what is in registers stays there unless there is something to flush. Zeros are flushed already;
/// a band of 0 dB has no other sums.
#[inline(always)]
fn flushed(sums: BothSides) -> BothSides {
    let is_small = sums.as_flattened().iter().any(|sum| sum.abs() < math::NO_STATE);
    if is_small && sums.as_flattened().iter().any(|sum| sum.to_bits() != 0) {
        flush_now(sums)
    } else {
        sums
    }
}

#[cold]
#[inline(never)]
fn flush_now(mut sums: BothSides) -> BothSides {
    flush_sides(&mut sums);
    sums
}

#[inline(always)]
fn frame(sides: [&Cell<f32>; 2]) -> Sides {
    sides.map(|sample| f64::from(sample.get()))
}

#[inline(always)]
fn put([left, right]: [&Cell<f32>; 2], y: Sides) {
    let [one, other] = math::narrow_both(y);
    left.set(one);
    right.set(other);
}

/// [`step_both`] with coefficients that are read where they are multiplied.
#[inline(always)]
fn step(band: &[Cell<Sides>; 5], [first, second]: &mut BothSides, x: Sides) -> Sides {
    let [b0, b1, b2, a1, a2] = band.each_ref().map(Cell::get);
    let mut y = [0.0; 2];
    for side in 0..2 {
        y[side] = b0[side] * x[side] + first[side];
    }
    for side in 0..2 {
        first[side] = (b1[side] * x[side] + second[side]) - a1[side] * y[side];
    }
    for side in 0..2 {
        second[side] = b2[side] * x[side] - a2[side] * y[side];
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Change, Processor, StereoRef, TimedChange};
    use crate::segment::{Ahead, SegmentEffect, Segmented};

    /// Peaking bands at several frequencies; the others are off.
    fn values(on: [bool; BANDS]) -> Vec<f32> {
        let mut values = Vec::new();
        for (n, on) in on.into_iter().enumerate() {
            let freq_hz = 80.0 * 5f32.powi(n as i32);
            values.extend([f32::from(u8::from(on)), freq_hz, 0.7 + n as f32, 9.0 - 5.0 * n as f32]);
        }
        values
    }

    /// What [`Segmented`] does with an effect that is never steady.
    fn process_in_segments(eq: &mut Segmented<Eq>, block: &mut Block<'_>) {
        let mut ahead = Ahead::of(block);
        let mut at = 0;
        while at < block.frames() {
            let end = eq.begin(at, &mut ahead);
            eq.effect_mut().run(block.main.part(at, end), None::<StereoRef<'_>>);
            eq.pass(end - at);
            at = end;
        }
        eq.end(&ahead);
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((self.0 >> 33) as usize) % limit
        }

        fn noise(&mut self) -> f32 {
            self.below(2001) as f32 / 1000.0 - 1.0
        }

        /// Noise, and now and then what is no ordinary sample.
        fn bad(&mut self) -> f32 {
            match self.below(200) {
                0 => f32::INFINITY,
                1 => f32::NAN,
                2 => -0.0,
                3 => 1e-42,
                _ => self.noise(),
            }
        }
    }

    /// The sign of what is no number depends on the instructions.
    fn bits(row: &[f32]) -> Vec<u32> {
        let sample = |sample: &f32| if sample.is_nan() { f32::NAN } else { *sample };
        row.iter().map(|it| sample(it).to_bits()).collect()
    }

    /// Blocks of many lengths, at rest, with events, in silence and with bad samples: the bits of segment after segment.
    fn check(on: [bool; BANDS], seed: u64) {
        let mut random = Random(seed);
        let mut steady = Segmented::<Eq>::new(&values(on), 48_000);
        let mut segments = steady.clone();
        for number in 0..300 {
            let frames = 1 + random.below(200);
            let mut rows = [vec![0.0; frames], vec![0.0; frames]];
            for sample in rows.iter_mut().flatten() {
                match number {
                    0..80 => *sample = random.noise(),
                    // Silence for so long that tails are flushed. What is no number would stay, so it comes last.
                    80..220 => {}
                    _ => *sample = random.bad(),
                }
            }
            let change =
                Change::Param { index: random.below(16) as u16, value: random.below(9) as f32 };
            let frame = random.below(frames) as u32;
            let events = [TimedChange { frame, change }];
            let events = if number % 25 == 24 { &events[..] } else { &[] };
            let mut others = rows.clone();
            for (which, rows) in [&mut rows, &mut others].into_iter().enumerate() {
                let [left, right] = rows;
                let mut block = Block::new(StereoMut { left, right });
                block.events = events;
                match which {
                    0 => steady.process(&mut block),
                    _ => process_in_segments(&mut segments, &mut block),
                }
            }
            assert_eq!(rows.map(|row| bits(&row)), others.map(|row| bits(&row)), "block {number}");
        }
    }

    #[test]
    fn many_frames_at_once_have_the_bits_of_segments() {
        for (seed, on) in (0..16u64).map(|set| (set, std::array::from_fn(|n| set >> n & 1 == 1))) {
            check(on, seed);
        }
    }

    #[test]
    fn an_equaliser_is_steady_unless_a_band_glides_or_rings_out() {
        let mut eq = Segmented::<Eq>::new(&values([true, false, true, false]), 48_000);
        let pass = |eq: &mut Segmented<Eq>, sample: f32, events: &[TimedChange]| {
            let (mut left, mut right) = ([sample; 64], [sample; 64]);
            let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
            block.events = events;
            eq.process(&mut block);
            eq.effect().is_steady()
        };
        assert!(pass(&mut eq, 0.5, &[]));
        let off = Change::Param { index: 0, value: 0.0 };
        let events = [TimedChange { frame: 3, change: off }];
        assert!(!pass(&mut eq, 0.5, &events));
        // The blend takes 960 frames, and then the band rings out.
        let rings: Vec<bool> = (0..200).map(|_| pass(&mut eq, 0.0, &[])).collect();
        assert!(!rings[0] && rings[199]);
    }
}
