//! Two correlation meters side by side, see [`mod@crate::abreast`].
//!
//! The sums of a frame wait for those of the frame before. One loop for both meters lets one work while the other one waits.

use super::Correlation;
use crate::abreast::ABREAST;
use crate::block::StereoMut;

impl Correlation {
    /// What [`SegmentEffect::run`](crate::segment::SegmentEffect::run) of both would do with their rows, which have the same length.
    pub(crate) fn run_abreast(pair: [&mut Correlation; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
        both(pair, rows);
    }

    /// The same on CPUs that have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_abreast_avx2(
        pair: [&mut Correlation; ABREAST],
        rows: [StereoMut<'_>; ABREAST],
    ) {
        both(pair, rows);
    }
}

/// Takes the instructions of the function that it is written into. Meters with as many groups of windows.
#[inline(always)]
fn both([one, other]: [&mut Correlation; ABREAST], [first, second]: [StereoMut<'_>; ABREAST]) {
    for (group, beside) in one.groups.iter_mut().zip(&mut other.groups) {
        let (mut sums, mut sums_beside) = (group.clone(), beside.clone());
        let rows = first.left.iter().zip(&*first.right).zip(&*second.left).zip(&*second.right);
        for (((a, b), c), d) in rows {
            sums.frame(f64::from(*a), f64::from(*b));
            sums_beside.frame(f64::from(*c), f64::from(*d));
        }
        *group = sums;
        *beside = sums_beside;
    }
}
