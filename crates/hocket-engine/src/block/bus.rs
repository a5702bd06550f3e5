//! Unit memory: the one place where workers access shared, mutable data.
//!
//! SAFETY comments cite these invariants by name. R1 to R5 are rules of
//! [`hocket_plan::VerifiedSchedule`]. It has one constructor, which checks them.
//! `hocket-plan/tests/rules` breaks each rule and sees the schedule refused.
//!
//! - **ONCE**: a worker walks a block at most once, even if it enters several times (`Runner::begins`).
//! - **ONE-WRITER**: only the worker that runs a unit writes the unit's cell and the cells of its
//!   nodes. Each unit runs once per block (ONCE, R2, R3).
//! - **READ-AFTER-WRITE**: a unit reads only cells of its predecessors (R4). They have finished before
//!   it starts (R5). Within a list, the order ensures this. Between threads, the edge of the barrier or
//!   of the countdown does (hocket-rt's PROTOCOL.md).
//! - **CLOSED**: between blocks no worker is inside, because the turnstile's `close_and_wait` has
//!   returned. So the leader may access everything.
//! - **ONE-PLAN**: several plans may share a node's cell, but the leader holds one of them at most. The
//!   others travel to the leader or back, and nobody accesses their nodes. Within a plan each node
//!   belongs to one unit (R3).
//! - **IN-RANGE**: unit indices in schedules, inputs and lists are below the number of units (R1), and
//!   `frames` is at most the length of the rows. The leader checks `frames` before the block opens.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::fetch::{Stretch, Touched};
use super::node::{NodeCell, NodeState};
use hocket_dsp::mix::{self, Begin, Scaled};
use hocket_dsp::{Block, StereoMut, StereoRef, finite};
use hocket_plan::compile::{Source, UnitInput};

/// A cache line of samples.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// Samples in a line.
const LINE: usize = 16;

/// Two rows of samples, in cache lines that hold nothing else.
///
/// When a worker on another core takes the unit over, it moves only the lines that it needs. No other
/// worker writes to these lines.
struct Rows {
    /// Left row, then right row: half of the lines each (invariant HALVES).
    lines: Box<[Line]>,
}

impl Rows {
    /// Silent rows.
    ///
    /// Thread: control; allocates.
    fn new(frames: usize) -> Rows {
        let lines = vec![Line([0.0; LINE]); 2 * frames.div_ceil(LINE)];
        Rows { lines: lines.into_boxed_slice() }
    }

    /// The memory of both rows.
    fn stretches(&self) -> [Option<Stretch>; 2] {
        let (left, right) = self.lines.split_at(self.lines.len() / 2);
        [Stretch::of(left), Stretch::of(right)]
    }

    /// Capacity of a row, in samples.
    fn room(&self) -> usize {
        self.lines.len() / 2 * LINE
    }

    /// Both rows, the right one after the left one.
    #[inline]
    fn samples(&self) -> &[f32] {
        let samples = self.lines.as_ptr().cast::<f32>();
        // SAFETY: HALVES: a `Line` is `LINE` samples without padding. So the lines are `2 * room`
        // samples in sequence.
        unsafe { std::slice::from_raw_parts(samples, 2 * self.room()) }
    }

    /// Like [`Rows::samples`], for writing.
    #[inline]
    fn samples_mut(&mut self) -> &mut [f32] {
        let (samples, room) = (self.lines.as_mut_ptr().cast::<f32>(), self.room());
        // SAFETY: HALVES, as above. The borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(samples, 2 * room) }
    }

    /// The first `frames` of both rows.
    #[inline]
    fn get(&self, frames: usize) -> StereoRef<'_> {
        let (left, right) = self.samples().split_at(self.room());
        StereoRef { left: &left[..frames], right: &right[..frames] }
    }

    /// Like [`Rows::get`], for writing.
    #[inline]
    fn get_mut(&mut self, frames: usize) -> StereoMut<'_> {
        let room = self.room();
        let (left, right) = self.samples_mut().split_at_mut(room);
        StereoMut { left: &mut left[..frames], right: &mut right[..frames] }
    }

    /// The ranges of [`Rows::samples`] that hold the first `frames` of both rows, for loops that treat
    /// both rows alike.
    ///
    /// If the frames fill the rows, as they usually do, one range covers both and the other is empty.
    /// Otherwise there is one range for each row.
    #[inline]
    fn cuts(&self, frames: usize) -> [Range<usize>; 2] {
        let room = self.room();
        if frames == room { [0..2 * room, 0..0] } else { [0..frames, room..room + frames] }
    }

    /// Whether the first `frames` hold neither NaN nor infinity.
    #[inline]
    fn are_finite(&self, frames: usize) -> bool {
        self.cuts(frames)
            .into_iter()
            .all(|cut| cut.is_empty() || finite::all_finite(&self.samples()[cut]))
    }

    /// Silences the first `frames`.
    #[inline]
    fn clear(&mut self, frames: usize) {
        for cut in self.cuts(frames).into_iter().filter(|cut| !cut.is_empty()) {
            mix::clear(&mut self.samples_mut()[cut]);
        }
    }
}

/// A chain of nodes, with its inputs and its bus.
pub(crate) struct ChainState {
    inputs: Box<[UnitInput]>,
    nodes: Box<[Arc<NodeCell>]>,
    rows: Rows,
    /// The side chain of the first node. Nearly all chains have none.
    side: Option<Box<SideChain>>,
}

/// A second input for the first node of a chain.
struct SideChain {
    inputs: Box<[UnitInput]>,
    rows: Rows,
}

impl ChainState {
    /// `side` holds the inputs of the side chain, which belongs to the first of `nodes`.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(
        inputs: &[UnitInput],
        side: &[UnitInput],
        nodes: Vec<Arc<NodeCell>>,
        frames: usize,
    ) -> ChainState {
        let side = (!side.is_empty())
            .then(|| Box::new(SideChain { inputs: side.into(), rows: Rows::new(frames) }));
        ChainState {
            inputs: inputs.into(),
            nodes: nodes.into_boxed_slice(),
            rows: Rows::new(frames),
            side,
        }
    }

    /// The memory that a block accesses.
    fn touched(&self) -> impl Iterator<Item = Stretch> {
        let [left, right] = self.rows.stretches();
        let own = [Stretch::of(&*self.inputs), Stretch::of(&*self.nodes), left, right];
        let side = self.side.iter().flat_map(|side| {
            let [left, right] = side.rows.stretches();
            [Stretch::of(&**side), Stretch::of(&*side.inputs), left, right]
        });
        let nodes = self.nodes.iter().flat_map(|node| [Stretch::of(&node.state), node.processor]);
        own.into_iter().chain(side).chain(nodes).flatten()
    }

    fn silence(&mut self) {
        let side = self.side.iter_mut().map(|side| &mut side.rows);
        side.chain([&mut self.rows]).for_each(|rows| rows.lines.fill(Line([0.0; LINE])));
    }

    /// Runs the nodes on the bus. A processor that panics stays silent from then on, and the nodes after
    /// it still run.
    ///
    /// # Safety
    /// ONE-WRITER and ONE-PLAN hold for the chain's unit.
    #[inline]
    unsafe fn process(&mut self, frames: usize) {
        let ChainState { nodes, rows, side, .. } = self;
        let side = side.as_ref().map(|side| &side.rows);
        let mut place = 0;
        while place < nodes.len() {
            // One catch frame serves the whole chain. Without a panic it costs about one call.
            // Unwind safety: the code below clears the rows and never calls the processor again.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                while let Some(node) = nodes.get(place) {
                    // Only the first node has the side chain.
                    let side = side.filter(|_| place == 0).map(|rows| rows.get(frames));
                    // SAFETY: the caller's obligation. The plan has the node once (R3).
                    unsafe { process_node(node, rows, frames, side) };
                    place += 1;
                }
            }));
            if let Err(payload) = ran {
                // SAFETY: as above. The panic ended the other reference.
                let state = unsafe { nodes[place].get_mut() };
                state.silence(payload);
                nodes[place].show(state);
                rows.clear(frames);
                place += 1;
            }
        }
    }
}

/// # Safety
/// ONE-WRITER and ONE-PLAN hold for the node.
#[inline]
unsafe fn process_node(
    cell: &NodeCell,
    rows: &mut Rows,
    frames: usize,
    side_chain: Option<StereoRef<'_>>,
) {
    // SAFETY: the caller's obligation.
    let node = unsafe { cell.get_mut() };
    let main = rows.get_mut(frames);
    node.processor.process(&mut Block { main, side_chain, events: &node.events });
    // Write only if needed: a write takes the cache line away from the next thread that reads it.
    if !node.events.is_empty() {
        node.events.clear();
    }
    if !rows.are_finite(frames) {
        contain(node, rows, frames);
        cell.show(node);
    }
}

/// A unit: its own chain, and the folded chains that run before it.
pub(crate) struct UnitState {
    folded: Box<[ChainState]>,
    own: ChainState,
}

impl UnitState {
    /// A unit of these chains.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(folded: Vec<ChainState>, own: ChainState) -> UnitState {
        UnitState { folded: folded.into_boxed_slice(), own }
    }

    /// All nodes, in the order in which they run.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<NodeCell>> {
        self.folded.iter().chain([&self.own]).flat_map(|chain| &chain.nodes)
    }

    /// The bus that other units read.
    pub(crate) fn rows(&self, frames: usize) -> StereoRef<'_> {
        self.own.rows.get(frames)
    }

    /// Silences every bus, as at the start of the session.
    pub(crate) fn silence(&mut self) {
        self.folded.iter_mut().chain([&mut self.own]).for_each(ChainState::silence);
    }
}

/// Resets a processor that produced NaN or infinity, and silences the block from there on.
///
/// So one strip has one bad block, and the mix does not stay broken.
#[cold]
fn contain(node: &mut NodeState, rows: &mut Rows, frames: usize) {
    node.not_finite += 1;
    node.processor.reset();
    rows.clear(frames);
}

/// A unit that workers share.
///
/// Cells have a multiple of 128 bytes, so that two units never share a cache line. 128 is two lines:
/// x86 prefetches lines in pairs. The docs of crossbeam's `CachePadded` give sources.
#[repr(align(128))]
struct UnitCell(UnsafeCell<UnitState>);

/// All units of a schedule.
pub(crate) struct Units {
    cells: Box<[UnitCell]>,
    touched: Touched,
}

// SAFETY: `UnitState` is `Send`. The invariants ONE-WRITER, READ-AFTER-WRITE and CLOSED, at the top of
// this file, govern the sharing.
unsafe impl Sync for Units {}

impl Units {
    /// Moves the units into cells.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(units: Vec<UnitState>) -> Units {
        // A move into a cell does not move what the unit owns on the heap.
        let chains = |unit: &UnitState| -> Vec<Stretch> {
            let folded = unit.folded.iter().flat_map(ChainState::touched);
            Stretch::of(&*unit.folded).into_iter().chain(folded).chain(unit.own.touched()).collect()
        };
        let chains: Vec<_> = units.iter().map(chains).collect();
        let cells: Box<[_]> =
            units.into_iter().map(|unit| UnitCell(UnsafeCell::new(unit))).collect();
        let with_cell = |(cell, chains): (&UnitCell, Vec<_>)| {
            // Only the state: the rest of the cell is padding.
            Stretch::of(&cell.0).into_iter().chain(chains).collect()
        };
        let touched = Touched::new(cells.iter().zip(chains).map(with_cell));
        Units { cells, touched }
    }

    /// Prefetches the memory of `unit` into the cache of the calling core.
    ///
    /// Thread: worker, inside a block. This is a hint and reads nothing.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        self.touched.fetch(unit);
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Runs one unit. For each chain it sums the inputs into the bus, then processes in place.
    ///
    /// Shape: `frames` of both rows. Thread: worker, inside a block. No allocation, lock or system
    /// call.
    ///
    /// # Safety
    /// The caller follows a `VerifiedSchedule` for these units, so that ONE-WRITER,
    /// READ-AFTER-WRITE, ONE-PLAN and IN-RANGE hold for `unit`.
    #[inline]
    pub(crate) unsafe fn run(&self, unit: usize, frames: usize) {
        // SAFETY:
        // - IN-RANGE: `unit` comes from a verified schedule.
        // - No alias: nobody else writes (ONE-WRITER), and only successors read. They have not started
        //   (READ-AFTER-WRITE).
        let state = unsafe { &mut *self.cells[unit].0.get() };
        let UnitState { folded, own } = state;
        for place in 0..folded.len() {
            let (before, rest) = folded.split_at_mut(place);
            // SAFETY: the same obligation as this function's.
            unsafe { self.run_chain(&mut rest[0], before, frames) };
        }
        // SAFETY: the same obligation as this function's.
        unsafe { self.run_chain(own, folded, frames) };
    }

    /// # Safety
    /// READ-AFTER-WRITE holds for every input of the chain. ONE-WRITER and ONE-PLAN hold for its unit.
    #[inline]
    unsafe fn run_chain(&self, chain: &mut ChainState, before: &[ChainState], frames: usize) {
        // SAFETY: the caller's obligation.
        unsafe { self.sum(&chain.inputs, &mut chain.rows, before, frames) };
        if let Some(side) = &mut chain.side {
            // SAFETY: the caller's obligation.
            unsafe { self.sum(&side.inputs, &mut side.rows, before, frames) };
        }
        // SAFETY: the caller's obligation.
        unsafe { chain.process(frames) };
    }

    /// Sums the inputs in their order, so that every worker computes the same bits.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for every input.
    #[inline]
    unsafe fn sum(
        &self,
        inputs: &[UnitInput],
        rows: &mut Rows,
        before: &[ChainState],
        frames: usize,
    ) {
        if inputs.is_empty() {
            return rows.clear(frames);
        }
        for cut in rows.cuts(frames).into_iter().filter(|cut| !cut.is_empty()) {
            let out = &mut rows.samples_mut()[cut.clone()];
            // SAFETY: the caller's obligation.
            unsafe { self.sum_piece(inputs, out, before, cut) };
        }
    }

    /// Sums the samples at `cut` of each input.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for every input.
    #[inline]
    unsafe fn sum_piece(
        &self,
        inputs: &[UnitInput],
        out: &mut [f32],
        before: &[ChainState],
        cut: Range<usize>,
    ) {
        let mut begin = Begin::Anew;
        for group in inputs.chunks(mix::AT_ONCE) {
            let mut scaled: [Scaled<'_>; mix::AT_ONCE] = [(&[], 0.0); _];
            for (scaled, input) in scaled.iter_mut().zip(group) {
                // SAFETY: the caller's obligation.
                let rows = unsafe { self.read(input, before) };
                *scaled = (&rows.samples()[cut.clone()], input.gain_lin);
            }
            mix::accumulate(out, &scaled[..group.len()], begin);
            begin = Begin::Onward;
        }
    }

    /// The finished bus of an input.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for the input.
    #[inline]
    unsafe fn read<'a>(&'a self, input: &UnitInput, before: &'a [ChainState]) -> &'a Rows {
        match input.from {
            // SAFETY: the writer has finished (READ-AFTER-WRITE), and nobody writes again in this
            // block (ONE-WRITER). Other threads only read.
            Source::Unit(from) => &unsafe { &*self.cells[from.index()].0.get() }.own.rows,
            Source::Folded(chain) => &before[chain as usize].rows,
        }
    }

    /// Reads a unit between two blocks.
    ///
    /// # Safety
    /// CLOSED holds as long as the reference lives, and the leader changes no unit in that time.
    pub(crate) unsafe fn get(&self, unit: usize) -> &UnitState {
        // SAFETY: CLOSED: only the leader accesses units.
        unsafe { &*self.cells[unit].0.get() }
    }

    /// Changes a unit between two blocks.
    ///
    /// # Safety
    /// CLOSED holds as long as the reference lives.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get_mut(&self, unit: usize) -> &mut UnitState {
        // SAFETY: CLOSED: only the caller accesses units.
        unsafe { &mut *self.cells[unit].0.get() }
    }
}
