//! Equal effects of several strips, side by side: the same filter on two stereo signals is one vector of four rows.
//!
//! A recursive filter waits for its own output, so most of a vector stays empty with one signal. The equaliser and the
//! amplifier fill half of it with left and right. Two signals fill it, and they do not depend on each other. A compressor's
//! smoothing and a correlation meter's sums wait for themselves as well: of two, one works while the other one waits. What waits for nothing gets
//! wider registers. Every row gets the operations that it would get alone, in the same order, so the bits are the same.
//! Nothing here multiplies and adds in one step: that rounds once where the processor alone rounds twice.
//!
//! # Which effects
//! Those that run at least 1.5 times as fast abreast: equalisers of four bands, compressors, amplifiers, correlation meters
//! (`cargo bench --bench abreast`). The others:
//!
//! - An equaliser of fewer bands spends too much of its time on beginning segments.
//! - Most of a limiter's work is looking up past frames. Wider registers made it 1.1 to 1.4 times as fast.
//! - Gain, pan and faders only move memory.
//! - Reverbs and delays wait for memory, not for themselves. In a reverb, lines fill the registers already.
//! - A noise gate was not tried.
//!
//! # Nobody owns anything
//! The processors keep their state. [`process`] borrows two of them for a block, and copies what a segment needs into
//! vectors and back. So an edit, a bypass, a reset or another plan finds each processor as if it had run alone, and
//! whether it ran abreast is decided anew in each block.
//!
//! # When they differ
//! Events and control points keep their frames. A segment ends where it ends for either of them, and a segment's end changes no
//! bit ([`crate::segment`]). If a parameter glides, or one of them has other active bands than the other one, both
//! run by themselves in this segment.
//!
//! # Instructions
//! [`process`] is for every CPU. `process_avx2` (x86-64 only) has one register for all four rows. Its caller knows
//! that the CPU has AVX2. With registers of two rows little is gained, because left and right fill them already.

use crate::block::{Block, Processor};
use crate::delay_line::DelayLine;
use crate::effects::amp::Amp;
use crate::effects::compressor::Compressor;
use crate::effects::correlation::Correlation;
use crate::effects::eq::Eq;
use crate::segment::{Ahead, Segmented};

/// How many stereo signals run side by side.
pub const ABREAST: usize = 2;

/// What two processors have in common that can run abreast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbreastKey(u16);

impl AbreastKey {
    /// Equalisers of which no band is off.
    pub(crate) const EQ: AbreastKey = AbreastKey(0);
    /// Compressors.
    pub(crate) const COMPRESSOR: AbreastKey = AbreastKey(0x100);

    /// Amplifiers that distort at so many times the sample rate.
    pub(crate) fn amp(oversampling: usize) -> AbreastKey {
        AbreastKey(0x200 + oversampling as u16)
    }

    /// Correlation meters with so many groups of windows.
    pub(crate) fn correlation(groups: usize) -> AbreastKey {
        AbreastKey(0x300 + groups as u16)
    }

    /// Another number for each key.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// A processor that can run abreast of another one.
#[derive(Debug)]
pub struct Abreast<'a> {
    effect: Lane<'a>,
    /// Where the signal before the effect is kept as well, for a bypass that comes later.
    dry: Option<&'a mut [DelayLine; 2]>,
}

/// An effect that has a kernel.
#[derive(Debug)]
pub(crate) enum Lane<'a> {
    Eq(&'a mut Segmented<Eq>),
    /// Without a key.
    Compressor(&'a mut Segmented<Compressor>),
    Amp(&'a mut Segmented<Amp>),
    Correlation(&'a mut Segmented<Correlation>),
}

impl<'a> From<Lane<'a>> for Abreast<'a> {
    fn from(effect: Lane<'a>) -> Abreast<'a> {
        Abreast { effect, dry: None }
    }
}

impl<'a> Abreast<'a> {
    /// The same, and `dry` gets the signal before the effect. `None` if another bypass has asked for that already.
    pub(crate) fn keeping(self, dry: &'a mut [DelayLine; 2]) -> Option<Abreast<'a>> {
        self.dry.is_none().then_some(Abreast { dry: Some(dry), ..self })
    }

    /// Begins a block.
    fn begin(self, block: &Block<'_>) -> Lane<'a> {
        for (dry, row) in
            self.dry.into_iter().flatten().zip([&*block.main.left, &*block.main.right])
        {
            row.iter().for_each(|sample| dry.push(*sample));
        }
        self.effect
    }
}

impl Lane<'_> {
    fn alone(self, block: &mut Block<'_>) {
        match self {
            Lane::Eq(eq) => eq.process(block),
            Lane::Compressor(compressor) => compressor.process(block),
            Lane::Amp(amp) => amp.process(block),
            Lane::Correlation(meter) => meter.process(block),
        }
    }
}

/// Both blocks, segment by segment; `$run` is what two effects do side by side. A macro, because a function takes the
/// instructions of its caller only if it is written there.
macro_rules! segments {
    ([$one:expr, $other:expr], [$block:expr, $beside:expr], $run:path) => {{
        let frames = $block.frames();
        let (mut ahead, mut ahead_beside) = (Ahead::of($block), Ahead::of($beside));
        let mut at = 0;
        while at < frames {
            let end = $one.begin(at, &mut ahead).min($other.begin(at, &mut ahead_beside));
            let rows = [$block.main.part(at, end), $beside.main.part(at, end)];
            $run([$one.effect_mut(), $other.effect_mut()], rows);
            $one.pass(end - at);
            $other.pass(end - at);
            at = end;
        }
        $one.end(&ahead);
        $other.end(&ahead_beside);
    }};
}

/// Two equalisers.
fn eqs([one, other]: [&mut Segmented<Eq>; ABREAST], [block, beside]: [&mut Block<'_>; ABREAST]) {
    segments!([one, other], [block, beside], Eq::run_abreast);
}

/// What both do in a block; `$run` names the function of each effect, `$eqs` that of two equalisers.
macro_rules! blocks {
    ($pair:expr, $blocks:expr, $run:ident, $eqs:path) => {{
        let ([one, other], [block, beside]) = ($pair, $blocks);
        match [one.begin(block), other.begin(beside)] {
            [Lane::Eq(one), Lane::Eq(other)] => $eqs([one, other], [block, beside]),
            [Lane::Compressor(one), Lane::Compressor(other)] => {
                segments!([one, other], [block, beside], Compressor::$run)
            }
            [Lane::Amp(one), Lane::Amp(other)] => {
                segments!([one, other], [block, beside], Amp::$run)
            }
            [Lane::Correlation(one), Lane::Correlation(other)] => {
                segments!([one, other], [block, beside], Correlation::$run)
            }
            [one, other] => {
                one.alone(block);
                other.alone(beside);
            }
        }
    }};
}

/// Processes a block of each: what both [`Processor::process`] would do, with the same bits.
/// Effects of different kinds run one after the other.
///
/// Shape: both blocks are stereo, have the same length, and no side chain. Thread: worker, inside a block. No allocation,
/// lock or system call. Cost: about that of both by themselves. For tests, and where another CPU shows more.
pub fn process(pair: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
    blocks!(pair, blocks, run_abreast, eqs);
}

/// As [`process`]. Cost: about two thirds of both by themselves, or less.
///
/// # Safety
/// The CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub fn process_avx2(pair: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
    blocks!(pair, blocks, run_abreast_avx2, Eq::process_abreast_avx2);
}

/// What kernels with one register for four rows share.
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2 {
    use std::arch::x86_64::{
        __m128, __m128d, __m256d, _MM_TRANSPOSE4_PS, _mm_andnot_ps, _mm_cmplt_ps, _mm_cvtsd_f64,
        _mm_cvtss_f32, _mm_set1_ps, _mm_setr_ps, _mm_shuffle_ps, _mm_unpackhi_pd,
        _mm256_castpd256_pd128, _mm256_cvtpd_ps, _mm256_extractf128_pd,
    };

    use super::ABREAST;
    use crate::math;

    /// Of two stereo signals.
    const ROWS: usize = 2 * ABREAST;

    /// [`math::narrow`] of all rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn narrow(y: __m256d) -> __m128 {
        let y = _mm256_cvtpd_ps(y);
        let size = _mm_andnot_ps(_mm_set1_ps(-0.0), y);
        // What is no number is not small, so it stays.
        _mm_andnot_ps(_mm_cmplt_ps(size, _mm_set1_ps(math::NOTHING)), y)
    }

    /// One sample of each row.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn samples(y: __m128) -> [f32; 4] {
        let [b, c, d]: [__m128; 3] =
            [_mm_shuffle_ps::<1>(y, y), _mm_shuffle_ps::<2>(y, y), _mm_shuffle_ps::<3>(y, y)];
        [_mm_cvtss_f32(y), _mm_cvtss_f32(b), _mm_cvtss_f32(c), _mm_cvtss_f32(d)]
    }

    /// Frames that are read together.
    pub(crate) const GROUP: usize = 4;

    /// Four frames from frame `n` on: what lies side by side in a row becomes one register for each frame.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn frames_at(rows: &[&mut [f32]; ROWS], n: usize) -> [__m128; GROUP] {
        turned(std::array::from_fn(|row| {
            let four: &[f32; GROUP] = rows[row][n..].first_chunk().expect("a whole group");
            _mm_setr_ps(four[0], four[1], four[2], four[3])
        }))
    }

    /// The way back of [`frames_at`].
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn put_frames(rows: &mut [&mut [f32]; ROWS], n: usize, frames: [__m128; GROUP]) {
        for (row, four) in rows.iter_mut().zip(turned(frames)) {
            *row[n..].first_chunk_mut().expect("a whole group") = samples(four);
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn turned([mut a, mut b, mut c, mut d]: [__m128; GROUP]) -> [__m128; GROUP] {
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        [a, b, c, d]
    }

    /// Replaces each frame of four rows of the same length by what `work` makes of it.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn each_frame(
        mut rows: [&mut [f32]; ROWS],
        mut work: impl FnMut(usize, __m128) -> __m128,
    ) {
        let frames = rows[0].len();
        let mut n = 0;
        while n + GROUP <= frames {
            let [a, b, c, d] = frames_at(&rows, n);
            let done = [work(n, a), work(n + 1, b), work(n + 2, c), work(n + 3, d)];
            put_frames(&mut rows, n, done);
            n += GROUP;
        }
        while n < frames {
            let [a, b, c, d] = &mut rows;
            let x = _mm_setr_ps(a[n], b[n], c[n], d[n]);
            [a[n], b[n], c[n], d[n]] = samples(work(n, x));
            n += 1;
        }
    }

    /// Left and right of the first signal, left and right of the second one.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn pair(rows: __m256d) -> [[f64; 2]; 2] {
        [sides(_mm256_castpd256_pd128(rows)), sides(_mm256_extractf128_pd::<1>(rows))]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sides(rows: __m128d) -> [f64; 2] {
        [_mm_cvtsd_f64(rows), _mm_cvtsd_f64(_mm_unpackhi_pd(rows, rows))]
    }
}
