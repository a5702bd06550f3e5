//! Unit memory: the one place where workers reach into shared, mutable data.
//!
//! Invariants, named for the SAFETY comments that rely on them:
//!
//! - **ONE-WRITER**: a unit's cell is written only by the worker that runs the unit, and the unit
//!   is run once a block. Rules R2 and R3 of [`hocket_plan::VerifiedSchedule`], whose constructor
//!   is the only one; `hocket-plan/tests/rules.rs` breaks each and sees it refused.
//! - **READ-AFTER-WRITE**: a unit reads only cells of its predecessors (R4), and they have finished
//!   before it starts (R5): in a list by place or barrier (edge of the barrier in hocket-rt's
//!   PROTOCOL.md), in dataflow by the countdown's edge.
//! - **CLOSED**: outside a block nobody is inside: the turnstile's `close_and_wait` has returned,
//!   so the leader may touch everything.
//! - **IN-RANGE**: unit indices in schedules, inputs and lists are below the number of units (R1),
//!   and `frames` is at most the length of the rows (checked before the block opens).

use std::cell::UnsafeCell;

use hocket_dsp::{Block, Processor, StereoMut, StereoRef, finite, mix};
use hocket_plan::compile::UnitInput;

/// One step of a unit's chain.
pub(crate) struct ChainStep {
    /// What processes the bus in place.
    pub processor: Box<dyn Processor>,
    /// Index of the node, for reports.
    pub node: u32,
    /// How many blocks came out with samples that are not finite.
    pub contained: u64,
}

/// A unit: its inputs, its chain and its bus.
pub(crate) struct UnitState {
    inputs: Box<[UnitInput]>,
    chain: Box<[ChainStep]>,
    left: Box<[f32]>,
    right: Box<[f32]>,
}

impl UnitState {
    pub(crate) fn new(inputs: &[UnitInput], chain: Vec<ChainStep>, frames: usize) -> UnitState {
        UnitState {
            inputs: inputs.into(),
            chain: chain.into_boxed_slice(),
            left: vec![0.0; frames].into_boxed_slice(),
            right: vec![0.0; frames].into_boxed_slice(),
        }
    }

    pub(crate) fn chain(&self) -> &[ChainStep] {
        &self.chain
    }

    pub(crate) fn rows(&self, frames: usize) -> StereoRef<'_> {
        StereoRef { left: &self.left[..frames], right: &self.right[..frames] }
    }

    /// Forgets all history, as if the session began anew.
    pub(crate) fn reset(&mut self) {
        self.left.fill(0.0);
        self.right.fill(0.0);
        for step in &mut self.chain {
            step.processor.reset();
            step.contained = 0;
        }
    }

    fn process_chain(&mut self, frames: usize) {
        let (left, right) = (&mut self.left[..frames], &mut self.right[..frames]);
        for step in &mut self.chain {
            let main = StereoMut { left: &mut *left, right: &mut *right };
            step.processor.process(&mut Block { main, side_chain: None, events: &[] });
            if !(finite::all_finite(left) && finite::all_finite(right)) {
                contain(step, left, right);
            }
        }
    }
}

/// A processor that produced NaN or infinity starts afresh, and the block is silent from there on:
/// one bad block on one strip, instead of a mix that stays broken.
#[cold]
fn contain(step: &mut ChainStep, left: &mut [f32], right: &mut [f32]) {
    step.contained += 1;
    step.processor.reset();
    left.fill(0.0);
    right.fill(0.0);
}

/// A unit that workers share. Padded, so that neighbours do not share a cache line (128 bytes:
/// x86 prefetches lines in pairs, as crossbeam's `CachePadded` documents with sources).
#[repr(align(128))]
struct UnitCell(UnsafeCell<UnitState>);

/// All units of a schedule.
pub(crate) struct Units {
    cells: Box<[UnitCell]>,
}

// SAFETY: `UnitState` is `Send` (processors are, by their trait). Sharing is governed by the
// invariants ONE-WRITER, READ-AFTER-WRITE and CLOSED at the top of this file.
unsafe impl Sync for Units {}

impl Units {
    pub(crate) fn new(units: Vec<UnitState>) -> Units {
        Units { cells: units.into_iter().map(|unit| UnitCell(UnsafeCell::new(unit))).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Runs one unit: sums its inputs into its bus, then processes the chain in place.
    ///
    /// Shape: `frames` of both rows. Thread: worker, inside a block. No allocation, lock or system
    /// call.
    ///
    /// # Safety
    /// The caller follows a `VerifiedSchedule` for these units, so that ONE-WRITER,
    /// READ-AFTER-WRITE and IN-RANGE hold for `unit`.
    pub(crate) unsafe fn run(&self, unit: usize, frames: usize) {
        // SAFETY:
        // - IN-RANGE: `unit` comes from a verified schedule.
        // - Not aliased: ONE-WRITER; readers are successors and have not started (READ-AFTER-WRITE).
        let state = unsafe { &mut *self.cells[unit].0.get() };
        let (left, right) = (&mut state.left[..frames], &mut state.right[..frames]);
        match state.inputs.split_first() {
            None => {
                left.fill(0.0);
                right.fill(0.0);
            }
            Some((first, rest)) => {
                // SAFETY: READ-AFTER-WRITE for every input of `unit`.
                let input = unsafe { self.read(first, frames) };
                mix::copy_scaled(left, input.left, first.gain_lin);
                mix::copy_scaled(right, input.right, first.gain_lin);
                for edge in rest {
                    // SAFETY: as above.
                    let input = unsafe { self.read(edge, frames) };
                    mix::add_scaled(left, input.left, edge.gain_lin);
                    mix::add_scaled(right, input.right, edge.gain_lin);
                }
            }
        }
        state.process_chain(frames);
    }

    /// The finished bus of an input.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for the input.
    unsafe fn read(&self, input: &UnitInput, frames: usize) -> StereoRef<'_> {
        // SAFETY: READ-AFTER-WRITE: the writer has finished, and nobody writes again in this block
        // (ONE-WRITER). Other readers share.
        unsafe { &*self.cells[input.from.index()].0.get() }.rows(frames)
    }

    /// All units, outside a block.
    ///
    /// # Safety
    /// CLOSED holds for as long as the reference lives.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get_mut(&self, unit: usize) -> &mut UnitState {
        // SAFETY: CLOSED: the caller is the only one who touches units.
        unsafe { &mut *self.cells[unit].0.get() }
    }
}
