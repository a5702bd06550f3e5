//! Two equalisers side by side, see [`mod@crate::abreast`].
//!
//! Rows stand in the order left, right of the first one, left, right of the second one. A segment begins with copies of
//! coefficients and states, row by row, and ends with copies of the states: some hundred numbers beside the thousands of
//! operations of a segment. Where nothing moves, all that a control point does is to flush tails. So while both equalisers have
//! theirs at the same frames, a stretch up to the next event is one segment, and the kernel flushes in it.

use super::{BANDS, Eq};
use crate::abreast::ABREAST;
#[cfg(target_arch = "x86_64")]
use crate::block::Block;
use crate::block::StereoMut;
use crate::math;
#[cfg(target_arch = "x86_64")]
use crate::segment::{Ahead, SegmentEffect, Segmented};

/// Rows of two stereo signals.
const ROWS: usize = 2 * ABREAST;

impl Eq {
    /// What [`SegmentEffect::run`](crate::segment::SegmentEffect::run) of both would do with their rows, which have the same length.
    pub(crate) fn run_abreast(pair: [&mut Eq; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
        match still_alike(&pair) {
            None => run_apart(pair, rows),
            Some(0) => {}
            Some(1) => still::<1>(pair, rows),
            Some(2) => still::<2>(pair, rows),
            Some(3) => still::<3>(pair, rows),
            Some(_) => still::<BANDS>(pair, rows),
        }
    }

    /// The same on CPUs that have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_abreast_avx2(pair: [&mut Eq; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
        match still_alike(&pair) {
            None => run_apart(pair, rows),
            Some(0) => {}
            Some(1) => still::<1>(pair, rows),
            Some(2) => still::<2>(pair, rows),
            Some(3) => still::<3>(pair, rows),
            Some(_) => avx2::still(pair, rows, 0),
        }
    }

    /// What both processors would do in a block.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn process_abreast_avx2(
        [one, other]: [&mut Segmented<Eq>; ABREAST],
        [block, beside]: [&mut Block<'_>; ABREAST],
    ) {
        let frames = block.frames();
        let (mut ahead, mut ahead_beside) = (Ahead::of(block), Ahead::of(beside));
        let mut at = 0;
        while at < frames {
            let mut end = one.begin(at, &mut ahead).min(other.begin(at, &mut ahead_beside));
            let phase = one.elapsed();
            let is_long = phase == other.elapsed() && one.effect().is_steady_with_all_bands();
            let is_long = is_long && other.effect().is_steady_with_all_bands();
            if is_long {
                end = ahead.next().min(ahead_beside.next());
            }
            let rows = [block.main.part(at, end), beside.main.part(at, end)];
            let pair = [one.effect_mut(), other.effect_mut()];
            match is_long {
                true => avx2::still(pair, rows, phase),
                false => Eq::run_abreast_avx2(pair, rows),
            }
            one.pass(end - at);
            other.pass(end - at);
            at = end;
        }
        one.end(&ahead);
        other.end(&ahead_beside);
    }

    /// Whether the kernel can go on until the next event.
    #[cfg(target_arch = "x86_64")]
    fn is_steady_with_all_bands(&self) -> bool {
        self.active_count == BANDS && self.is_steady()
    }
}

/// How many active bands each of them has, if both have as many and nothing glides.
fn still_alike([one, other]: &[&mut Eq; ABREAST]) -> Option<usize> {
    let alike = one.active_count == other.active_count && !one.moving && !other.moving;
    alike.then_some(one.active_count)
}

fn run_apart([one, other]: [&mut Eq; ABREAST], [first, second]: [StereoMut<'_>; ABREAST]) {
    one.run_segment(first);
    other.run_segment(second);
}

/// `N` active bands of each at rest, maybe other ones.
fn still<const N: usize>(pair: [&mut Eq; ABREAST], [first, second]: [StereoMut<'_>; ABREAST]) {
    let [one, other] = pair;
    let bands: [_; N] = std::array::from_fn(|n| (one.active(n), other.active(n)));
    let coefficients = bands.map(|(one, other)| {
        let (one, other) = (&one.morph.current, &other.morph.current);
        std::array::from_fn(|k| [one[k], one[k], other[k], other[k]])
    });
    let mut states = bands.map(|(one, other)| {
        let of =
            |k: usize| [one.state[k][0], one.state[k][1], other.state[k][0], other.state[k][1]];
        [of(0), of(1)]
    });
    let rows = first.left.iter_mut().zip(first.right).zip(second.left).zip(second.right);
    for (((a, b), c), d) in rows {
        let mut y = [f64::from(*a), f64::from(*b), f64::from(*c), f64::from(*d)];
        for (c, state) in coefficients.iter().zip(&mut states) {
            step(c, state, &mut y);
        }
        [*a, *b, *c, *d] = y.map(math::narrow);
    }
    for (n, state) in states.into_iter().enumerate() {
        for (k, [a, b, c, d]) in state.into_iter().enumerate() {
            one.bands[one.active[n]].state[k] = [a, b];
            other.bands[other.active[n]].state[k] = [c, d];
        }
    }
}

/// [`crate::biquad::step_both`] for all rows at once, each with its own coefficients.
#[inline(always)]
fn step(c: &[[f64; ROWS]; 5], [first, second]: &mut [[f64; ROWS]; 2], y: &mut [f64; ROWS]) {
    let x = *y;
    for row in 0..ROWS {
        y[row] = c[0][row] * x[row] + first[row];
    }
    for row in 0..ROWS {
        first[row] = (c[1][row] * x[row] + second[row]) - c[3][row] * y[row];
    }
    for row in 0..ROWS {
        second[row] = c[2][row] * x[row] - c[4][row] * y[row];
    }
}

/// One register for four rows.
///
/// By name and not as loops over arrays: the compiler looks through the copies at a segment's ends, pairs what lies side by
/// side there, and shuffles in every frame. That is as slow as no vectors at all. No instruction here multiplies and adds in
/// one step.
///
/// # A wave
/// Each band is a frame behind the one before it, so they do not wait for each other: in turn `n` band `k` has frame `n - k`.
/// What they carry from turn to turn fills eleven of the sixteen registers, and a turn needs most of the others. So
/// coefficients are read anew in each turn, and frames come from a small buffer and go back to it. Both are in cells: the
/// compiler must assume that a frame that goes back changes a coefficient. Otherwise it keeps coefficients in registers and
/// spills what is carried to the stack, and a turn takes twice as long.
///
/// # Pieces
/// A piece is what lies between two control points. Each band flushes before its own frame there, so in the first four turns
/// of a piece. Fewer than four frames before the first control point or after the last one go frame by frame.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128, __m256d, _CMP_LT_OQ, _mm_setr_ps, _mm_setzero_ps, _mm256_add_pd, _mm256_and_pd,
        _mm256_andnot_pd, _mm256_cmp_pd, _mm256_cvtps_pd, _mm256_mul_pd, _mm256_set1_pd,
        _mm256_setr_pd, _mm256_setzero_pd, _mm256_sub_pd,
    };
    use std::cell::Cell;
    use std::ops::Range;

    use super::super::steady::{is_control_point, waved};
    use super::{ABREAST, BANDS, Eq, ROWS, StereoMut};
    use crate::abreast::avx2::{GROUP, narrow, pair, samples, turned};
    use crate::math;
    use crate::rows::keep_apart;
    use crate::segment::CONTROL_FRAMES;

    /// How many frames the last band is behind the input.
    const LAG: usize = BANDS - 1;

    type Rows<'a> = [&'a mut [f32]; ROWS];

    /// Samples of one frame.
    type Frame = __m128;

    /// As [`super::still`] for all bands, and longer: `phase` frames have passed since the last control point, which both
    /// equalisers had at the same frame, and the control points on the way flush.
    #[target_feature(enable = "avx2")]
    pub(super) fn still(
        pair: [&mut Eq; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
        phase: usize,
    ) {
        let mut rows = [first.left, first.right, second.left, second.right];
        let frames = rows[0].len();
        let coefficients = Coefficients::of(&pair);
        let mut wave = Wave::of(&pair);
        let Range { start, end } = waved(phase, frames);
        one_by_one(&mut wave, &coefficients, &mut rows, phase, 0..start);
        if start < end {
            pass(&mut wave, &coefficients, &mut rows, phase, start..end);
        }
        one_by_one(&mut wave, &coefficients, &mut rows, phase, end..frames);
        wave.give_back(pair);
    }

    #[target_feature(enable = "avx2")]
    fn one_by_one(
        wave: &mut Wave,
        coefficients: &Coefficients,
        rows: &mut Rows<'_>,
        phase: usize,
        range: Range<usize>,
    ) {
        for n in range {
            if is_control_point(phase, n) {
                wave.flush();
            }
            let frame = vector(&rows.each_ref().map(|row| row[n]));
            let done = wave.frame(coefficients, frame);
            for (row, sample) in rows.iter_mut().zip(samples(done)) {
                row[n] = sample;
            }
        }
    }

    /// Pieces, from the first band's first frame to the last band's last one.
    #[target_feature(enable = "avx2")]
    fn pass(
        wave: &mut Wave,
        coefficients: &Coefficients,
        rows: &mut Rows<'_>,
        phase: usize,
        range: Range<usize>,
    ) {
        let frames = Frames::silence();
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + CONTROL_FRAMES - (phase + at) % CONTROL_FRAMES);
            let piece = &frames.0[..end - at];
            take(rows, at, piece);
            if at == range.start {
                if is_control_point(phase, at) {
                    wave.flush();
                }
                let (ahead, full) = piece.split_at(LAG);
                wave.begin(coefficients, ahead);
                wave.turns::<false>(coefficients, full);
                put(rows, at, full);
            } else {
                let (flushing, full) = piece.split_at(BANDS);
                wave.turns::<true>(coefficients, flushing);
                wave.turns::<false>(coefficients, full);
                put(rows, at - LAG, piece);
            }
            at = end;
        }
        let late = &frames.0[..LAG];
        wave.end(coefficients, late);
        put(rows, range.end - LAG, late);
    }

    /// Frames from `at` on go from the rows to `piece`.
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn take(rows: &Rows<'_>, at: usize, piece: &[Cell<Frame>]) {
        let [a, b, c, d] =
            rows.each_ref().map(|row| row[at..at + piece.len()].as_chunks::<GROUP>());
        let (groups, rest) = piece.as_chunks::<GROUP>();
        for ((((cells, a), b), c), d) in groups.iter().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
            let frames = turned([vector(a), vector(b), vector(c), vector(d)]);
            for (cell, frame) in cells.iter().zip(frames) {
                cell.set(frame);
            }
            keep_apart();
        }
        for ((((cell, a), b), c), d) in rest.iter().zip(a.1).zip(b.1).zip(c.1).zip(d.1) {
            cell.set(_mm_setr_ps(*a, *b, *c, *d));
        }
    }

    /// The way back of [`take`].
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn put(rows: &mut Rows<'_>, at: usize, piece: &[Cell<Frame>]) {
        let [a, b, c, d] =
            rows.each_mut().map(|row| row[at..at + piece.len()].as_chunks_mut::<GROUP>());
        let (groups, rest) = piece.as_chunks::<GROUP>();
        for ((((cells, a), b), c), d) in groups.iter().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
            let [one, two, three, four] = cells.each_ref().map(Cell::get);
            [*a, *b, *c, *d] = turned([one, two, three, four]).map(|row| samples(row));
            keep_apart();
        }
        for ((((cell, a), b), c), d) in rest.iter().zip(a.1).zip(b.1).zip(c.1).zip(d.1) {
            [*a, *b, *c, *d] = samples(cell.get());
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn vector(&[a, b, c, d]: &[f32; ROWS]) -> Frame {
        _mm_setr_ps(a, b, c, d)
    }

    /// Frames of all rows.
    struct Frames([Cell<Frame>; CONTROL_FRAMES]);

    impl Frames {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn silence() -> Frames {
            Frames(std::array::from_fn(|_| Cell::new(_mm_setzero_ps())))
        }
    }

    /// `b0 b1 b2 a1 a2` of each band, a number for each row. Aligned as [`Frames`].
    #[repr(align(32))]
    struct Coefficients([[Cell<[f64; ROWS]>; 5]; BANDS]);

    impl Coefficients {
        #[inline]
        fn of([one, other]: &[&mut Eq; ABREAST]) -> Coefficients {
            Coefficients(std::array::from_fn(|n| {
                let (one, other) = (&one.active(n).morph.current, &other.active(n).morph.current);
                std::array::from_fn(|k| Cell::new([one[k], one[k], other[k], other[k]]))
            }))
        }
    }

    /// What is carried from turn to turn. Bands are taken by their names: if one were chosen by a number that changes, all would
    /// be kept in memory.
    #[derive(Clone, Copy)]
    struct Wave {
        /// The two delayed sums of each band.
        sums: [[__m256d; 2]; BANDS],
        /// What each band but the last one has put out.
        outs: [__m256d; LAG],
    }

    impl Wave {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn of([one, other]: &[&mut Eq; ABREAST]) -> Wave {
            let sums = std::array::from_fn(|n| {
                let (one, other) = (&one.active(n).state, &other.active(n).state);
                std::array::from_fn(|k| {
                    _mm256_setr_pd(one[k][0], one[k][1], other[k][0], other[k][1])
                })
            });
            Wave { sums, outs: [_mm256_setzero_pd(); LAG] }
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn give_back(self, [one, other]: [&mut Eq; ABREAST]) {
            for (n, sums) in self.sums.into_iter().enumerate() {
                for (k, rows) in sums.into_iter().enumerate() {
                    let [first, second] = pair(rows);
                    one.bands[one.active[n]].state[k] = first;
                    other.bands[other.active[n]].state[k] = second;
                }
            }
        }

        #[target_feature(enable = "avx2")]
        fn flush(&mut self) {
            self.sums.iter_mut().for_each(|sums| flush(sums));
        }

        /// A frame through all bands, which are at the same frame before and after.
        #[target_feature(enable = "avx2")]
        fn frame(&mut self, coefficients: &Coefficients, frame: Frame) -> Frame {
            let mut y = _mm256_cvtps_pd(frame);
            for (band, sums) in coefficients.0.iter().zip(&mut self.sums) {
                y = step(band, sums, y);
            }
            narrow(y)
        }

        /// The turns before the last band has its first frame. Nothing comes out.
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        fn begin(&mut self, Coefficients([c0, c1, c2, _]): &Coefficients, ahead: &[Cell<Frame>]) {
            let [a, b, c, _] = &mut self.sums;
            let [out_a, out_b, out_c] = &mut self.outs;
            *out_a = step(c0, a, input(&ahead[0]));
            *out_b = step(c1, b, *out_a);
            *out_a = step(c0, a, input(&ahead[1]));
            *out_c = step(c2, c, *out_b);
            *out_b = step(c1, b, *out_a);
            *out_a = step(c0, a, input(&ahead[2]));
        }

        /// The turns after the first band's last frame. Nothing goes in.
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        fn end(&mut self, Coefficients([_, c1, c2, c3]): &Coefficients, late: &[Cell<Frame>]) {
            let [_, b, c, d] = &mut self.sums;
            let [out_a, out_b, out_c] = self.outs;
            late[0].set(narrow(step(c3, d, out_c)));
            let out_c = step(c2, c, out_b);
            let out_b = step(c1, b, out_a);
            late[1].set(narrow(step(c3, d, out_c)));
            let out_c = step(c2, c, out_b);
            late[2].set(narrow(step(c3, d, out_c)));
        }

        /// Turns in which all bands have a frame. `FLUSHES`: these are the first ones after a control point.
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        fn turns<const FLUSHES: bool>(
            &mut self,
            coefficients: &Coefficients,
            piece: &[Cell<Frame>],
        ) {
            let mut wave = *self;
            for (n, frame) in piece.iter().enumerate() {
                if FLUSHES {
                    let [a, b, c, d] = &mut wave.sums;
                    match n {
                        0 => flush(a),
                        1 => flush(b),
                        2 => flush(c),
                        _ => flush(d),
                    }
                }
                wave.turn::<FLUSHES>(coefficients, frame);
            }
            *self = wave;
        }

        /// `FLUSHES`: of which loop it is a part. A function that is called in one place only becomes a part of it.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn turn<const FLUSHES: bool>(
            &mut self,
            Coefficients([c0, c1, c2, c3]): &Coefficients,
            frame: &Cell<Frame>,
        ) {
            let [a, b, c, d] = &mut self.sums;
            let [out_a, out_b, out_c] = &mut self.outs;
            let x = input(frame);
            // The last one first, so that each finds what the one before it put out in the turn before.
            let y = step(c3, d, *out_c);
            *out_c = step(c2, c, *out_b);
            *out_b = step(c1, b, *out_a);
            *out_a = step(c0, a, x);
            frame.set(narrow(y));
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn input(frame: &Cell<Frame>) -> __m256d {
        _mm256_cvtps_pd(frame.get())
    }

    /// [`crate::biquad::step_both`] for all rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn step(
        band: &[Cell<[f64; ROWS]>; 5],
        [first, second]: &mut [__m256d; 2],
        x: __m256d,
    ) -> __m256d {
        let [b0, b1, b2, a1, a2] = band.each_ref().map(|cell| {
            let [a, b, c, d] = cell.get();
            _mm256_setr_pd(a, b, c, d)
        });
        let y = _mm256_add_pd(_mm256_mul_pd(b0, x), *first);
        let sum = _mm256_add_pd(_mm256_mul_pd(b1, x), *second);
        *first = _mm256_sub_pd(sum, _mm256_mul_pd(a1, y));
        *second = _mm256_sub_pd(_mm256_mul_pd(b2, x), _mm256_mul_pd(a2, y));
        y
    }

    /// [`crate::biquad::flush_sides`] of all rows of a band.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn flush(sums: &mut [__m256d; 2]) {
        let small = |sum: __m256d| {
            let size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), sum);
            _mm256_cmp_pd::<_CMP_LT_OQ>(size, _mm256_set1_pd(math::NO_STATE))
        };
        let both = _mm256_and_pd(small(sums[0]), small(sums[1]));
        *sums = sums.map(|sum| _mm256_andnot_pd(both, sum));
    }
}
