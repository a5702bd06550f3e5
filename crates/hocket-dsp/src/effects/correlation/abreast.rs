//! Two correlation meters side by side, see [`mod@crate::abreast`].
//!
//! The sums of a frame wait for those of the frame before. One loop for both meters lets one work while the other one waits.

use super::Correlation;
use crate::abreast::ABREAST;
use crate::block::StereoMut;
use crate::segment::SegmentEffect;

impl Correlation {
    /// What [`SegmentEffect::run`] of both would do with their rows, which have the same length.
    pub(crate) fn run_abreast(
        [one, other]: [&mut Correlation; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
    ) {
        one.run(first, None);
        other.run(second, None);
    }

    /// The same on CPUs that have AVX2. Meters with other numbers of groups run one after the other.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_abreast_avx2(
        [one, other]: [&mut Correlation; ABREAST],
        [first, second]: [StereoMut<'_>; ABREAST],
    ) {
        if one.groups.len() != other.groups.len() {
            return Correlation::run_abreast([one, other], [first, second]);
        }
        for (group, beside) in one.groups.iter_mut().zip(&mut other.groups) {
            avx2::both([group, beside], [&first, &second]);
        }
    }
}

/// One register for the windows of a group. Four frames at a time are multiplied in one step.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_setr_ps, _mm256_add_pd, _mm256_cvtps_pd, _mm256_mul_pd, _mm256_permute4x64_pd,
        _mm256_set1_pd, _mm256_setr_pd, _mm256_sub_pd,
    };

    use super::{ABREAST, StereoMut};
    use crate::abreast::avx2::pair;
    use crate::effects::correlation::{GROUP, Sums};

    /// Frames that are read together.
    const FOUR: usize = 4;

    /// A group of windows: weights, and the sums of left, right and cross.
    struct Windows {
        weight: __m256d,
        sums: [__m256d; 3],
    }

    impl Windows {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn of(group: &Sums) -> Windows {
            Windows {
                weight: all(&group.weight),
                sums: [all(&group.left), all(&group.right), all(&group.cross)],
            }
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn give_back(self, group: &mut Sums) {
            let rows = [&mut group.left, &mut group.right, &mut group.cross];
            for (row, sum) in rows.into_iter().zip(self.sums) {
                let [[a, b], [c, d]] = pair(sum);
                *row = [a, b, c, d];
            }
        }

        /// [`Sums::frame`] with its products, the same for every window.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn add(&mut self, products: [__m256d; 3]) {
            for (sum, product) in self.sums.iter_mut().zip(products) {
                let step = _mm256_mul_pd(_mm256_sub_pd(product, *sum), self.weight);
                *sum = _mm256_add_pd(*sum, step);
            }
        }
    }

    /// One of four frames.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn frame<const LANES: i32>(products: &[__m256d; 3]) -> [__m256d; 3] {
        let [left, right, cross] = *products;
        [
            _mm256_permute4x64_pd::<LANES>(left),
            _mm256_permute4x64_pd::<LANES>(right),
            _mm256_permute4x64_pd::<LANES>(cross),
        ]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn all(windows: &[f64; GROUP]) -> __m256d {
        _mm256_setr_pd(windows[0], windows[1], windows[2], windows[3])
    }

    /// The products of four frames.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn products(left: &[f32; FOUR], right: &[f32; FOUR]) -> [__m256d; 3] {
        let [left, right] =
            [left, right].map(|row| _mm256_cvtps_pd(_mm_setr_ps(row[0], row[1], row[2], row[3])));
        [_mm256_mul_pd(left, left), _mm256_mul_pd(right, right), _mm256_mul_pd(left, right)]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn product(left: f32, right: f32) -> [__m256d; 3] {
        let (left, right) = (f64::from(left), f64::from(right));
        [left * left, right * right, left * right].map(|product| _mm256_set1_pd(product))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn both(
        [group, beside]: [&mut Sums; ABREAST],
        [first, second]: [&StereoMut<'_>; ABREAST],
    ) {
        let (mut windows, mut windows_beside) = (Windows::of(group), Windows::of(beside));
        let (a, a_rest) = first.left.as_chunks();
        let (b, b_rest) = first.right.as_chunks();
        let (c, c_rest) = second.left.as_chunks();
        let (d, d_rest) = second.right.as_chunks();
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            let (one, other) = (products(a, b), products(c, d));
            windows.add(frame::<0b00_00_00_00>(&one));
            windows_beside.add(frame::<0b00_00_00_00>(&other));
            windows.add(frame::<0b01_01_01_01>(&one));
            windows_beside.add(frame::<0b01_01_01_01>(&other));
            windows.add(frame::<0b10_10_10_10>(&one));
            windows_beside.add(frame::<0b10_10_10_10>(&other));
            windows.add(frame::<0b11_11_11_11>(&one));
            windows_beside.add(frame::<0b11_11_11_11>(&other));
        }
        for (((a, b), c), d) in a_rest.iter().zip(b_rest).zip(c_rest).zip(d_rest) {
            windows.add(product(*a, *b));
            windows_beside.add(product(*c, *d));
        }
        windows.give_back(group);
        windows_beside.give_back(beside);
    }
}
