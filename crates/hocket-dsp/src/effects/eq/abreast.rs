//! Two equalisers side by side, see [`mod@crate::abreast`].
//!
//! Rows stand in the order left, right of the first one, left, right of the second one. A segment begins with copies of
//! coefficients and states, row by row, and ends with copies of the states: some hundred numbers beside the thousands of
//! operations of a segment. Where nothing moves, all that a control point does is to flush tails. So while both equalisers have
//! theirs at the same frames, a stretch up to the next event is one segment, and the kernel flushes in it.

use super::{BANDS, Band, Eq};
use crate::abreast::ABREAST;
#[cfg(target_arch = "x86_64")]
use crate::block::Block;
use crate::block::StereoMut;
use crate::math;
#[cfg(target_arch = "x86_64")]
use crate::segment::{Ahead, Segmented};

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
            Some(1) => avx2::still::<1>(pair, rows, 0),
            Some(2) => avx2::still::<2>(pair, rows, 0),
            Some(3) => avx2::still::<3>(pair, rows, 0),
            Some(_) => avx2::still::<BANDS>(pair, rows, 0),
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
            let is_long = phase == other.elapsed() && one.effect().rests_until_told();
            let is_long = is_long && other.effect().rests_until_told();
            if is_long {
                end = ahead.next().min(ahead_beside.next());
            }
            let rows = [block.main.part(at, end), beside.main.part(at, end)];
            let pair = [one.effect_mut(), other.effect_mut()];
            match is_long {
                true => avx2::still::<BANDS>(pair, rows, phase),
                false => Eq::run_abreast_avx2(pair, rows),
            }
            one.pass(end - at);
            other.pass(end - at);
            at = end;
        }
        one.end(&ahead);
        other.end(&ahead_beside);
    }

    /// Whether control points only flush tails until the next event: all bands are on, so none becomes idle, and none glides.
    #[cfg(target_arch = "x86_64")]
    fn rests_until_told(&self) -> bool {
        !self.moving
            && self.active_count == BANDS
            && self.bands.iter().all(|band| band.shape.is_some())
    }

    /// The `n`th active band.
    #[inline(always)]
    fn active(&self, n: usize) -> &Band {
        &self.bands[self.active[n]]
    }
}

/// How many active bands each of them has, if both have as many and nothing glides.
fn still_alike([one, other]: &[&mut Eq; ABREAST]) -> Option<usize> {
    let alike = one.active_count == other.active_count && !one.moving && !other.moving;
    alike.then_some(one.active_count)
}

fn run_apart([one, other]: [&mut Eq; ABREAST], [mut first, mut second]: [StereoMut<'_>; ABREAST]) {
    one.run_segment(&mut first);
    other.run_segment(&mut second);
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
/// Each band is a frame behind the one before it, so they do not wait for each other: turn `n` begins frame `n` of the segment
/// and ends frame `n - (N - 1)`. Four turns at a time read four frames of each row as one register and turn them.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _CMP_LT_OQ, _mm_setr_ps, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_pd,
        _mm256_cmp_pd, _mm256_cvtps_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_setr_pd,
        _mm256_setzero_pd, _mm256_sub_pd,
    };

    use super::{ABREAST, Eq, ROWS, StereoMut};
    use crate::abreast::avx2::{GROUP, frames_at, narrow, pair, put_frames, samples};
    use crate::math;
    use crate::segment::CONTROL_FRAMES;

    const _: () = assert!(CONTROL_FRAMES.is_multiple_of(GROUP), "a control point begins a group");

    /// `N` bands of two equalisers. One array for each coefficient: for one array of all of them, the compiler would call the C
    /// library to move it.
    struct Bands<const N: usize> {
        b: [[__m256d; N]; 3],
        a: [[__m256d; N]; 2],
        states: [[__m256d; 2]; N],
        /// What each band has put out last.
        outs: [__m256d; N],
    }

    impl<const N: usize> Bands<N> {
        // Made in place: the compiler would call the C library to fill arrays of this size with zeros first.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn of([one, other]: &[&mut Eq; ABREAST]) -> Bands<N> {
            let coefficient = |k: usize| {
                std::array::from_fn(|n| {
                    let (one, other) =
                        (one.active(n).morph.current[k], other.active(n).morph.current[k]);
                    _mm256_setr_pd(one, one, other, other)
                })
            };
            Bands {
                b: [coefficient(0), coefficient(1), coefficient(2)],
                a: [coefficient(3), coefficient(4)],
                states: std::array::from_fn(|n| {
                    let (one, other) = (&one.active(n).state, &other.active(n).state);
                    std::array::from_fn(|k| {
                        _mm256_setr_pd(one[k][0], one[k][1], other[k][0], other[k][1])
                    })
                }),
                outs: [_mm256_setzero_pd(); N],
            }
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn give_back(self, [one, other]: [&mut Eq; ABREAST]) {
            for (n, state) in self.states.into_iter().enumerate() {
                for (k, rows) in state.into_iter().enumerate() {
                    let [first, second] = pair(rows);
                    one.bands[one.active[n]].state[k] = first;
                    other.bands[other.active[n]].state[k] = second;
                }
            }
        }

        /// What band `k` puts out for a frame, and its states behind it.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn stepped(
            &self,
            k: usize,
            [first, second]: [__m256d; 2],
            x: __m256d,
        ) -> (__m256d, [__m256d; 2]) {
            let ([b0, b1, b2], [a1, a2]) = (&self.b, &self.a);
            let y = _mm256_add_pd(_mm256_mul_pd(b0[k], x), first);
            let sum = _mm256_add_pd(_mm256_mul_pd(b1[k], x), second);
            let first = _mm256_sub_pd(sum, _mm256_mul_pd(a1[k], y));
            let second = _mm256_sub_pd(_mm256_mul_pd(b2[k], x), _mm256_mul_pd(a2[k], y));
            (y, [first, second])
        }

        /// Turn `n`, in which not every band need have a frame.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn turn(&mut self, rows: &mut [&mut [f32]; ROWS], n: usize, phase: usize) {
            let frames = rows[0].len();
            for k in (0..N).rev() {
                if n < k || n - k >= frames {
                    continue;
                }
                if n > k && (phase + n - k).is_multiple_of(CONTROL_FRAMES) {
                    self.states[k] = flushed(self.states[k]);
                }
                let x = match k {
                    0 => {
                        _mm256_cvtps_pd(_mm_setr_ps(rows[0][n], rows[1][n], rows[2][n], rows[3][n]))
                    }
                    _ => self.outs[k - 1],
                };
                (self.outs[k], self.states[k]) = self.stepped(k, self.states[k], x);
            }
            if n + 1 >= N && n + 1 - N < frames {
                let done = n + 1 - N;
                let [a, b, c, d] = samples(narrow(self.outs[N - 1]));
                (rows[0][done], rows[1][done], rows[2][done], rows[3][done]) = (a, b, c, d);
            }
        }

        /// Turns `n` to `n + 3`, in which every band has a frame. `flushes`: a control point lies before frame `n`.
        ///
        /// On copies of what changes, and with fixed indices only, so that it stays in registers from frame to frame.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn group(&mut self, rows: &mut [&mut [f32]; ROWS], n: usize, flushes: bool) {
            let ins = frames_at(rows, n);
            let mut done = ins;
            let (mut states, mut outs) = (self.states, self.outs);
            for (turn, (x, done)) in ins.into_iter().zip(&mut done).enumerate() {
                for k in (0..N).rev() {
                    if flushes && turn == k {
                        states[k] = flushed(states[k]);
                    }
                    let x = if k == 0 { _mm256_cvtps_pd(x) } else { outs[k - 1] };
                    (outs[k], states[k]) = self.stepped(k, states[k], x);
                }
                *done = narrow(outs[N - 1]);
            }
            (self.states, self.outs) = (states, outs);
            put_frames(rows, n + 1 - N, done);
        }
    }

    /// [`crate::biquad::flush_sides`] of all rows of a band.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn flushed([first, second]: [__m256d; 2]) -> [__m256d; 2] {
        let small = |sum: __m256d| {
            let size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), sum);
            _mm256_cmp_pd::<_CMP_LT_OQ>(size, _mm256_set1_pd(math::NO_STATE))
        };
        let both = _mm256_and_pd(small(first), small(second));
        [_mm256_andnot_pd(both, first), _mm256_andnot_pd(both, second)]
    }

    /// Has the compiler align the stack of a function that keeps one in memory.
    #[repr(align(32))]
    struct Aligned(#[expect(dead_code, reason = "it has to lie somewhere")] u8);

    /// As [`super::still`], and longer: `phase` frames have passed since the last control point, which both equalisers had at the
    /// same frame, and the control points on the way flush.
    #[target_feature(enable = "avx2")]
    pub(super) fn still<const N: usize>(
        pair: [&mut Eq; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
        phase: usize,
    ) {
        // Registers that do not fit go to the stack. Without this, half of all process starts begin with a stack where many of
        // them cross a cache line, and the kernel takes a fifth longer.
        std::hint::black_box(&Aligned(0));
        let mut bands = Bands::<N>::of(&pair);
        let frames = first.left.len();
        let mut rows = [first.left, first.right, second.left, second.right];
        let mut n = 0;
        // One loop for both: a block that begins with cold caches pays for each line of code that it runs.
        while n < frames + N - 1 {
            // Every band has a frame in all of its turns, and a control point can only come before it.
            let is_group = n >= N - 1 && n + GROUP <= frames && (phase + n).is_multiple_of(GROUP);
            if is_group {
                bands.group(&mut rows, n, (phase + n).is_multiple_of(CONTROL_FRAMES));
                n += GROUP;
            } else {
                bands.turn(&mut rows, n, phase);
                n += 1;
            }
        }
        bands.give_back(pair);
    }
}
