//! Equal effects of several strips, side by side: the same filter on two stereo signals is one vector of four rows.
//!
//! A recursive filter waits for its own output, so most of a vector stays empty with one signal. The equaliser fills half
//! of it with left and right. Two signals fill it, and they do not depend on each other. Every row gets the operations
//! that it would get alone, in the same order, so the bits are the same. Nothing here multiplies and adds in one step: that
//! rounds once where the processor alone rounds twice.
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
//! that the CPU has AVX2. With registers of two rows nothing is gained, because left and right fill them already.

use crate::block::{Block, Processor};
use crate::effects::compressor::Compressor;
use crate::effects::eq::Eq;
use crate::segment::{Ahead, Segmented};

/// How many stereo signals run side by side.
pub const ABREAST: usize = 2;

/// What two processors have in common that can run abreast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbreastKey(u16);

impl AbreastKey {
    /// Compressors.
    pub(crate) const COMPRESSOR: AbreastKey = AbreastKey(0x100);

    /// Equalisers with so many bands that are not off.
    pub(crate) fn eq(bands: usize) -> AbreastKey {
        AbreastKey(bands as u16)
    }

    /// Another number for each key.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// A processor that can run abreast of another one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Abreast<'a> {
    /// The equaliser.
    Eq(&'a mut Segmented<Eq>),
    /// The compressor without a key.
    Compressor(&'a mut Segmented<Compressor>),
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

/// What both do in a block; `$run` names the function of each effect.
macro_rules! blocks {
    ($pair:expr, $blocks:expr, $run:ident) => {{
        let [block, beside] = $blocks;
        match $pair {
            [Abreast::Eq(one), Abreast::Eq(other)] => {
                segments!([one, other], [block, beside], Eq::$run)
            }
            [Abreast::Compressor(one), Abreast::Compressor(other)] => {
                segments!([one, other], [block, beside], Compressor::$run)
            }
            [one, other] => {
                one.alone(block);
                other.alone(beside);
            }
        }
    }};
}

impl Abreast<'_> {
    fn alone(self, block: &mut Block<'_>) {
        match self {
            Abreast::Eq(eq) => eq.process(block),
            Abreast::Compressor(compressor) => compressor.process(block),
        }
    }
}

/// Processes a block of each: what both [`Processor::process`](crate::Processor::process) would do, with the same bits.
/// Effects of different kinds run one after the other.
///
/// Shape: both blocks are stereo, have the same length, and no side chain. Thread: worker, inside a block. No allocation,
/// lock or system call. Cost: about that of both by themselves. For tests, and where another CPU shows more.
pub fn process(pair: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
    blocks!(pair, blocks, run_abreast);
}

/// As [`process`]. Cost: about half of both by themselves.
///
/// # Safety
/// The CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub fn process_avx2(pair: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
    blocks!(pair, blocks, run_abreast_avx2);
}
