//! Two amplifiers side by side, see [`mod@crate::abreast`].
//!
//! Rows stand in the order left, right of the first one, left, right of the second one. The filters and the coupling, whose
//! frames wait for each other, take all four as one vector. What only looks at other samples of the input, as the way to the
//! high rate and back, goes row by row in the widest registers.

use super::Amp;
use crate::abreast::ABREAST;
use crate::block::StereoMut;
use crate::segment::SegmentEffect;

impl Amp {
    /// What [`SegmentEffect::run`] of both would do with their rows, which have the same length.
    pub(crate) fn run_abreast(
        [one, other]: [&mut Amp; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
    ) {
        one.run(first, None);
        other.run(second, None);
    }

    /// The same on CPUs that have AVX2. Both have the same oversampling.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_abreast_avx2(pair: [&mut Amp; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
        let moves = |amp: &Amp| amp.high_pass.is_moving() || amp.tone_stack.is_moving();
        let [one, other] = &pair;
        let alike = one.over[0].factor() == other.over[0].factor();
        if alike && !moves(one) && !moves(other) {
            avx2::both(pair, rows);
        } else {
            Amp::run_abreast(pair, rows);
        }
    }
}

/// One register for four rows. No instruction here multiplies and adds in one step.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_mul_ps, _mm_setr_ps, _mm256_add_pd, _mm256_cvtps_pd, _mm256_mul_pd,
        _mm256_setr_pd, _mm256_sub_pd,
    };

    use super::{ABREAST, Amp, StereoMut};
    use crate::abreast::avx2::{each_frame, narrow, pair};
    use crate::effects::amp::Stages;
    use crate::effects::{Row, row_of};

    type Rows<'a> = [StereoMut<'a>; ABREAST];

    #[target_feature(enable = "avx2")]
    pub(super) fn both([one, other]: [&mut Amp; ABREAST], [mut first, mut second]: Rows<'_>) {
        let frames = first.left.len();
        let drives = [row_of(&mut one.drive, frames), row_of(&mut other.drive, frames)];
        high_pass_and_drive([one, other], [&mut first, &mut second], &drives);
        distort([one, other], [&mut first, &mut second]);
        tone_cabinet_level([one, other], [first, second]);
    }

    /// A setting of each amplifier, for its two rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn each(one: f64, other: f64) -> __m256d {
        _mm256_setr_pd(one, one, other, other)
    }

    /// A filter of each.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn filters<const N: usize>(one: &[f64; N], other: &[f64; N]) -> [__m256d; N] {
        std::array::from_fn(|k| each(one[k], other[k]))
    }

    /// The states of a filter of both.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn states<const N: usize>(one: &[[f64; 2]; N], other: &[[f64; 2]; N]) -> [__m256d; N] {
        std::array::from_fn(|k| _mm256_setr_pd(one[k][0], one[k][1], other[k][0], other[k][1]))
    }

    /// Brings the states back.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn keep<const N: usize>(
        states: [__m256d; N],
        one: &mut [[f64; 2]; N],
        other: &mut [[f64; 2]; N],
    ) {
        for (k, state) in states.into_iter().enumerate() {
            [one[k], other[k]] = pair(state);
        }
    }

    /// [`crate::biquad::step`] for all rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn section(c: &[__m256d; 5], state: &mut [__m256d; 2], x: __m256d) -> __m256d {
        let y = _mm256_add_pd(_mm256_mul_pd(c[0], x), state[0]);
        let sum = _mm256_add_pd(_mm256_mul_pd(c[1], x), state[1]);
        state[0] = _mm256_sub_pd(sum, _mm256_mul_pd(c[3], y));
        state[1] = _mm256_sub_pd(_mm256_mul_pd(c[2], x), _mm256_mul_pd(c[4], y));
        y
    }

    /// [`super::super::tone_step`] for all rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn tone(c: &[__m256d; 7], state: &mut [__m256d; 3], x: __m256d) -> __m256d {
        let y = _mm256_add_pd(_mm256_mul_pd(c[0], x), state[0]);
        let sum = _mm256_add_pd(_mm256_mul_pd(c[1], x), state[1]);
        state[0] = _mm256_sub_pd(sum, _mm256_mul_pd(c[4], y));
        let sum = _mm256_add_pd(_mm256_mul_pd(c[2], x), state[2]);
        state[1] = _mm256_sub_pd(sum, _mm256_mul_pd(c[5], y));
        state[2] = _mm256_sub_pd(_mm256_mul_pd(c[3], x), _mm256_mul_pd(c[6], y));
        y
    }

    #[target_feature(enable = "avx2")]
    fn high_pass_and_drive(
        [one, other]: [&mut Amp; ABREAST],
        [first, second]: [&mut StereoMut<'_>; ABREAST],
        drives: &[Row; ABREAST],
    ) {
        let c = filters(&one.high_pass.current, &other.high_pass.current);
        let mut state = states(&one.high_pass_state, &other.high_pass_state);
        let rows = [&mut *first.left, &mut *first.right, &mut *second.left, &mut *second.right];
        each_frame(rows, |n, x| {
            let y = narrow(section(&c, &mut state, _mm256_cvtps_pd(x)));
            let [drive, beside] = [drives[0][n], drives[1][n]];
            _mm_mul_ps(y, _mm_setr_ps(drive, drive, beside, beside))
        });
        keep(state, &mut one.high_pass_state, &mut other.high_pass_state);
    }

    #[target_feature(enable = "avx2")]
    fn distort([one, other]: [&mut Amp; ABREAST], [first, second]: [&mut StereoMut<'_>; ABREAST]) {
        let (stages, beside) = (&mut one.stages, &mut other.stages);
        let [over_a, over_b] = &mut one.over;
        let [over_c, over_d] = &mut other.over;
        let frames = first.left.len();
        let (still, still_beside) = (one.bias.is_still(), other.bias.is_still());
        let bias = row_of(&mut one.bias, frames);
        let bias_beside = row_of(&mut other.bias, frames);
        let a = over_a.raise_with::<true>(first.left);
        let b = over_b.raise_with::<true>(first.right);
        let c = over_c.raise_with::<true>(second.left);
        let d = over_d.raise_with::<true>(second.right);
        stages.first_stage(a, &bias, still);
        stages.first_stage(b, &bias, still);
        beside.first_stage(c, &bias_beside, still_beside);
        beside.first_stage(d, &bias_beside, still_beside);
        couple([stages, beside], [&mut *a, &mut *b, &mut *c, &mut *d]);
        Stages::second(a);
        Stages::second(b);
        Stages::second(c);
        Stages::second(d);
        over_a.lower_with::<true>(first.left);
        over_b.lower_with::<true>(first.right);
        over_c.lower_with::<true>(second.left);
        over_d.lower_with::<true>(second.right);
    }

    #[target_feature(enable = "avx2")]
    fn couple([one, other]: [&mut Stages; ABREAST], rows: [&mut [f32]; 2 * ABREAST]) {
        let k = each(one.coupling, other.coupling);
        let keep = each(1.0 - one.coupling, 1.0 - other.coupling);
        let mut slow = _mm256_setr_pd(one.slow[0], one.slow[1], other.slow[0], other.slow[1]);
        each_frame(rows, |_, x| {
            let x = _mm256_cvtps_pd(x);
            let y = narrow(_mm256_sub_pd(x, slow));
            slow = _mm256_add_pd(_mm256_mul_pd(slow, keep), _mm256_mul_pd(x, k));
            y
        });
        [one.slow, other.slow] = pair(slow);
    }

    #[target_feature(enable = "avx2")]
    fn tone_cabinet_level([one, other]: [&mut Amp; ABREAST], [first, second]: Rows<'_>) {
        let frames = first.left.len();
        let parts =
            [row_of(&mut one.cabinet_part, frames), row_of(&mut other.cabinet_part, frames)];
        let levels = [row_of(&mut one.level, frames), row_of(&mut other.level, frames)];
        let tone_c = filters(&one.tone_stack.current, &other.tone_stack.current);
        let mut tone_state = states(&one.tone_state, &other.tone_state);
        let cabinet: [_; 6] = std::array::from_fn(|n| filters(&one.cabinet[n], &other.cabinet[n]));
        let mut boxes: [_; 6] =
            std::array::from_fn(|n| states(&one.cabinet_states[n], &other.cabinet_states[n]));
        each_frame([first.left, first.right, second.left, second.right], |n, x| {
            let plain = tone(&tone_c, &mut tone_state, _mm256_cvtps_pd(x));
            let mut boxed = plain;
            for (c, state) in cabinet.iter().zip(&mut boxes) {
                boxed = section(c, state, boxed);
            }
            let part = each(f64::from(parts[0][n]), f64::from(parts[1][n]));
            let y = _mm256_add_pd(plain, _mm256_mul_pd(_mm256_sub_pd(boxed, plain), part));
            let [level, beside] = [levels[0][n], levels[1][n]];
            _mm_mul_ps(narrow(y), _mm_setr_ps(level, level, beside, beside))
        });
        keep(tone_state, &mut one.tone_state, &mut other.tone_state);
        for (n, state) in boxes.into_iter().enumerate() {
            keep(state, &mut one.cabinet_states[n], &mut other.cabinet_states[n]);
        }
    }
}
