//! Chains that run abreast: node by node, with equal effects of both as one vector.
//!
//! The processors keep their state (`hocket-dsp/src/abreast.rs`), so nothing outside of a block knows of couples: edits,
//! states, bypass and new plans find each node as ever. The answers, lanes and changes of each node come before its processor
//! runs, and the check for samples that are not finite comes behind it, as in any chain.
//!
//! Invariant THERE, which SAFETY comments here cite: an [`Avx2`] exists only where the CPU has AVX2, because
//! [`Avx2::here`], which looks, is its only constructor.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hocket_dsp::abreast::{self, ABREAST};
use hocket_dsp::{Abreast, Block, StereoMut};

use super::bus::{ChainNode, ChainState, silence, split};
use super::now::Now;
use super::rows::Rows;

/// Which instructions run effects abreast. Chosen when a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Those of every CPU.
    Portable,
    /// One register for all rows of a couple.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// A CPU with AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    fn here() -> Option<Avx2> {
        std::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

impl Kernel {
    /// The best one for this CPU.
    ///
    /// Thread: control.
    pub(crate) fn here() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::here() {
            return Kernel::Avx2(avx2);
        }
        Kernel::Portable
    }

    /// Whether two effects abreast take less time than one after the other, by a half at least. Narrow registers do not
    /// reach that: left and right fill them already.
    pub(crate) fn pays(self) -> bool {
        self != Kernel::Portable
    }

    /// Both blocks of two processors.
    ///
    /// Thread: worker, inside a block.
    #[inline]
    fn process(self, both: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
        match self {
            Kernel::Portable => abreast::process(both, blocks),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: THERE: this CPU has AVX2.
            Kernel::Avx2(Avx2(())) => unsafe { abreast::process_avx2(both, blocks) },
        }
    }
}

/// Runs the nodes of both chains on their buses, those at the same place one after the other or as one.
///
/// # Safety
/// ONE-WRITER and ONE-PLAN hold for the unit of both chains (`bus.rs`).
pub(super) unsafe fn process_abreast(
    kernel: Kernel,
    [one, other]: [&mut ChainState; ABREAST],
    frames: usize,
    now: &Now,
) {
    let places = one.nodes.len().max(other.nodes.len());
    let alike = |one: &ChainState, other: &ChainState, place: usize| {
        let nodes = one.nodes.get(place).zip(other.nodes.get(place));
        nodes.is_some_and(|(one, other)| one.is_like(other))
    };
    let mut place = 0;
    while place < places {
        let first = alike(one, other, place);
        let end = (place..places).find(|place| alike(one, other, *place) != first);
        let stretch = place..end.unwrap_or(places);
        place = stretch.end;
        // SAFETY: the caller's obligation.
        unsafe {
            if first {
                process_as_one(kernel, [one, other], stretch, frames, now);
            } else {
                one.process_nodes(stretch.clone(), frames, now);
                other.process_nodes(stretch, frames, now);
            }
        }
    }
}

impl ChainNode {
    /// Whether both may run as one.
    #[inline]
    fn is_like(&self, other: &ChainNode) -> bool {
        let alike = self.abreast_key.is_some() && self.abreast_key == other.abreast_key;
        alike && self.ports.is_stereo() && other.ports.is_stereo()
    }
}

/// Runs nodes of both chains that are alike. If their code panics, nobody knows for whom: both stay silent.
///
/// # Safety
/// As [`process_abreast`].
unsafe fn process_as_one(
    kernel: Kernel,
    [one, other]: [&mut ChainState; ABREAST],
    places: std::ops::Range<usize>,
    frames: usize,
    now: &Now,
) {
    let mut place = places.start;
    while place < places.end {
        // Unwind safety: as in `ChainState::process_nodes`.
        let ran = catch_unwind(AssertUnwindSafe(|| {
            while place < places.end {
                let nodes = [&one.nodes[place], &other.nodes[place]];
                // SAFETY: the caller's obligation. The plan has each node once (R3).
                unsafe {
                    process_both(kernel, nodes, [&mut one.rows, &mut other.rows], frames, now)
                };
                place += 1;
            }
        }));
        if let Err(payload) = ran {
            // block-path: a box of an empty type allocates nothing.
            let payloads = [payload, Box::new(())];
            for (chain, payload) in [&mut *one, &mut *other].into_iter().zip(payloads) {
                let node = &chain.nodes[place];
                // SAFETY: as above. The panic ended the other reference.
                let state = unsafe { node.cell.get_mut() };
                state.silence(payload);
                node.cell.show(state);
                silence(node.ports, &mut chain.rows, frames);
            }
            place += 1;
        }
    }
}

/// One node of each chain.
///
/// # Safety
/// ONE-WRITER and ONE-PLAN hold for both nodes, which differ.
#[inline]
unsafe fn process_both(
    kernel: Kernel,
    [one, other]: [&ChainNode; ABREAST],
    [rows, beside]: [&mut Rows; ABREAST],
    frames: usize,
    now: &Now,
) {
    // SAFETY: the caller's obligation.
    let (state, second) = unsafe { (one.cell.get_mut(), other.cell.get_mut()) };
    one.begin(state, now);
    other.begin(second, now);
    let both = (state.processor.abreast(&state.events), second.processor.abreast(&second.events));
    if let (Some(first), Some(second_one)) = both {
        let mut block = Block { events: &state.events, ..Block::new(stereo(rows, frames)) };
        let mut block_beside =
            Block { events: &second.events, ..Block::new(stereo(beside, frames)) };
        kernel.process([first, second_one], [&mut block, &mut block_beside]);
    } else {
        one.run(state, rows, frames, now, Default::default());
        other.run(second, beside, frames, now, Default::default());
    }
    one.end(state, rows, frames);
    other.end(second, beside, frames);
}

#[inline]
fn stereo(rows: &mut Rows, frames: usize) -> StereoMut<'_> {
    let (left, right) = split(rows);
    StereoMut { left: &mut left[..frames], right: &mut right[..frames] }
}
