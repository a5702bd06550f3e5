//! Two compressors side by side, see [`mod@crate::abreast`].
//!
//! Levels, curve and gains are loops over frames: each compressor has its own, in the widest registers. The smoothing is the
//! one loop whose frames wait for each other. It runs for both at once, so that one waits while the other one works.

use super::Compressor;
use crate::abreast::ABREAST;
use crate::block::StereoMut;

impl Compressor {
    /// What [`SegmentEffect::run`](crate::segment::SegmentEffect::run) of both would do with their rows, which have the same length.
    /// Neither has a key.
    pub(crate) fn run_abreast(pair: [&mut Compressor; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
        both(pair, rows);
    }

    /// The same on CPUs that have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_abreast_avx2(
        pair: [&mut Compressor; ABREAST],
        rows: [StereoMut<'_>; ABREAST],
    ) {
        both(pair, rows);
    }
}

/// Takes the instructions of the function that it is written into.
#[inline(always)]
fn both(pair: [&mut Compressor; ABREAST], rows: [StereoMut<'_>; ABREAST]) {
    let [one, other] = pair;
    let [first, second] = rows;
    let frames = first.left.len();
    let mut reductions = Compressor::levels(first.left, first.right);
    one.static_curve(&mut reductions, frames);
    let mut reductions_beside = Compressor::levels(second.left, second.right);
    other.static_curve(&mut reductions_beside, frames);
    let (mut follower, mut follower_beside) = (one.follower(), other.follower());
    for (wanted, beside) in reductions[..frames].iter_mut().zip(&mut reductions_beside[..frames]) {
        *wanted = follower.follow(*wanted);
        *beside = follower_beside.follow(*beside);
    }
    one.reduction_db = follower.reduction_db;
    other.reduction_db = follower_beside.reduction_db;
    one.scale(first, reductions);
    other.scale(second, reductions_beside);
}
