//! Two equalisers side by side, see [`mod@crate::abreast`].
//!
//! Rows stand in the order left, right of the first one, left, right of the second one. A segment begins with copies of
//! coefficients and states, row by row, and ends with copies of the states: some hundred numbers beside the thousands of
//! operations of a segment.

use super::{BANDS, Band, Eq};
use crate::abreast::ABREAST;
use crate::block::StereoMut;
use crate::math;

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
            Some(1) => avx2::still::<1>(pair, rows),
            Some(2) => avx2::still::<2>(pair, rows),
            Some(3) => avx2::still::<3>(pair, rows),
            Some(_) => avx2::still::<BANDS>(pair, rows),
        }
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
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_setr_ps, _mm256_add_pd, _mm256_cvtps_pd, _mm256_mul_pd, _mm256_setr_pd,
        _mm256_setzero_pd, _mm256_sub_pd,
    };

    use super::{ABREAST, Eq, ROWS, StereoMut};
    use crate::abreast::avx2::{narrow, pair, samples};

    /// One step of all bands, of which each is a frame behind the one before it: so they do not wait for each other. Turn `n`
    /// begins frame `n` and ends frame `n - (N - 1)`. `WHOLE`: there is a frame for every band.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn<const N: usize, const WHOLE: bool>(
        coefficients: &[[__m256d; 5]; N],
        states: &mut [[__m256d; 2]; N],
        outs: &mut [__m256d; N],
        rows: &mut [&mut [f32]; ROWS],
        n: usize,
    ) {
        let frames = rows[0].len();
        for k in (0..N).rev() {
            if !WHOLE && (n < k || n - k >= frames) {
                continue;
            }
            let x = match k {
                0 => _mm256_cvtps_pd(_mm_setr_ps(rows[0][n], rows[1][n], rows[2][n], rows[3][n])),
                _ => outs[k - 1],
            };
            let (c, [first, second]) = (&coefficients[k], &mut states[k]);
            let y = _mm256_add_pd(_mm256_mul_pd(c[0], x), *first);
            let sum = _mm256_add_pd(_mm256_mul_pd(c[1], x), *second);
            *first = _mm256_sub_pd(sum, _mm256_mul_pd(c[3], y));
            *second = _mm256_sub_pd(_mm256_mul_pd(c[2], x), _mm256_mul_pd(c[4], y));
            outs[k] = y;
        }
        if WHOLE || (n + 1 >= N && n + 1 - N < frames) {
            let done = n + 1 - N;
            let [a, b, c, d] = samples(narrow(outs[N - 1]));
            (rows[0][done], rows[1][done], rows[2][done], rows[3][done]) = (a, b, c, d);
        }
    }

    /// As [`super::still`].
    #[target_feature(enable = "avx2")]
    pub(super) fn still<const N: usize>(
        [one, other]: [&mut Eq; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
    ) {
        // Made in place: the compiler would call the C library to fill arrays of this size with zeros first.
        let coefficients: [[__m256d; 5]; N] = std::array::from_fn(|n| {
            let (one, other) = (&one.active(n).morph.current, &other.active(n).morph.current);
            std::array::from_fn(|k| _mm256_setr_pd(one[k], one[k], other[k], other[k]))
        });
        let mut states: [[__m256d; 2]; N] = std::array::from_fn(|n| {
            let (one, other) = (&one.active(n).state, &other.active(n).state);
            std::array::from_fn(|k| _mm256_setr_pd(one[k][0], one[k][1], other[k][0], other[k][1]))
        });
        let frames = first.left.len();
        let mut rows = [first.left, first.right, second.left, second.right];
        let mut outs = [_mm256_setzero_pd(); N];
        let whole = N - 1..frames.max(N - 1);
        for n in 0..whole.start {
            turn::<N, false>(&coefficients, &mut states, &mut outs, &mut rows, n);
        }
        for n in whole.clone() {
            turn::<N, true>(&coefficients, &mut states, &mut outs, &mut rows, n);
        }
        for n in whole.end..frames + N - 1 {
            turn::<N, false>(&coefficients, &mut states, &mut outs, &mut rows, n);
        }
        for (n, state) in states.into_iter().enumerate() {
            for (k, rows) in state.into_iter().enumerate() {
                let [first, second] = pair(rows);
                one.bands[one.active[n]].state[k] = first;
                other.bands[other.active[n]].state[k] = second;
            }
        }
    }
}
