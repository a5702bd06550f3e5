//! Unit memory: the one place where workers access shared, mutable data.
//!
//! SAFETY comments cite these invariants by name. R1 to R5 are rules of
//! [`hocket_plan::VerifiedSchedule`]. It has one constructor, which checks them.
//! `hocket-plan/tests/rules` breaks each rule and sees the schedule refused.
//!
//! - **ONCE**: a worker walks a block at most once, even if it enters several times (`Runner::begins`).
//! - **ONE-WRITER**: only the worker that runs a unit writes the unit's cell and the cells of its
//!   nodes and delay lines. A line belongs to one input (R1). Each unit runs once per block (ONCE, R2, R3).
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
//! - **FILLED**: only the leader writes a port, the host's events and the block's time, between blocks (CLOSED). Inside a
//!   block nobody does.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::abreast::{Kernel, process_abreast};
use super::delay::{DelayCell, Set};
use super::events::{ChainEvents, NodeEvents};
use super::fetch::{Stretch, Touched};
use super::heard::Heard;
use super::memory::{Memory, Slice};
use super::node::{NodeCell, NodeState};
use super::now::Now;
use super::port::PortCell;
use super::probe::{self, Probe};
use super::rows::Rows;
use super::sum::{Bus, Input, Sum, Terms, Waiting, sums, waiting};
use hocket_dsp::mix::{self, Begin, Scaled};
use hocket_dsp::{
    AbreastKey, Block, Helpers, MoreRows, Processor, RowsMut, RowsRef, StereoMut, StereoRef,
    TimedChange,
};
use hocket_plan::Ports;
use hocket_plan::compile::UnitInput;
use hocket_time::{BlockTime, EventBuffer};

/// How many delay lines ahead of the one that runs the memory is prefetched.
const LINES_AHEAD: usize = 2;

/// A chain of nodes, with its inputs and its bus.
pub(crate) struct ChainState {
    /// Nearly all chains have none.
    waiting: Slice<Waiting>,
    sums: Slice<Sum>,
    pub(super) nodes: Slice<ChainNode>,
    pub(super) rows: Rows,
    /// Whether the sums took nothing in the present block. Only readers of a part look.
    silent: bool,
    /// Nearly all chains have none.
    events: Option<Box<ChainEvents>>,
}

/// A node in its place. Another plan may give it another one.
pub(crate) struct ChainNode {
    pub cell: Arc<NodeCell>,
    pub ports: Ports,
    /// How many frames what it hears is late. Nodes that keep time look.
    pub late: u32,
    /// What another node needs to have in common with it to run abreast.
    pub abreast_key: Option<AbreastKey>,
}

impl ChainState {
    /// A chain whose bus has so many rows. `lines`: by line of the plan, with what they have to do when it begins.
    /// `silent`: by unit, see [`silent_parts`](super::sum::silent_parts).
    ///
    /// Thread: control; allocates.
    pub(super) fn within(
        memory: &Memory,
        inputs: &[UnitInput],
        nodes: Vec<ChainNode>,
        (lines, sets): (&[Arc<DelayCell>], &[Option<Set>]),
        silent: &[bool],
        (rows, frames): (u16, usize),
        events: Option<Box<ChainEvents>>,
    ) -> ChainState {
        ChainState {
            waiting: waiting(memory, inputs, lines, sets),
            sums: sums(memory, inputs, rows, silent),
            nodes: memory.keep(nodes.into_iter()),
            rows: Rows::within(memory, rows, frames),
            silent: false,
            events,
        }
    }

    /// The memory that a block accesses.
    fn touched(&self) -> impl Iterator<Item = Stretch> {
        let sums = self.sums.iter().map(|sum| Stretch::of(&*sum.inputs));
        let own = [Stretch::of(&*self.sums), Stretch::of(&*self.nodes)];
        let cells = self.nodes.iter().map(|node| &node.cell);
        let nodes = cells.flat_map(|cell| [Stretch::of(&cell.state), cell.processor]);
        own.into_iter().chain(sums).flatten().chain(self.rows.stretches()).chain(nodes.flatten())
    }

    fn silence(&mut self) {
        self.rows.silence();
    }

    /// The delay lines of its inputs.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &DelayCell> {
        self.waiting.iter().map(|waiting| &*waiting.cell)
    }

    /// Does for its delay lines what its plan's first block would have done.
    ///
    /// # Safety
    /// CLOSED and ONE-PLAN hold.
    unsafe fn set_lines(&mut self) {
        for waiting in self.waiting.iter_mut() {
            // SAFETY: the caller's obligation.
            unsafe { waiting.set() };
        }
    }

    /// Runs the nodes on the bus.
    ///
    /// # Safety
    /// ONE-WRITER and ONE-PLAN hold for the chain's unit.
    #[inline]
    unsafe fn process(&mut self, frames: usize, now: &Now, probe: &mut impl Probe) {
        // SAFETY: the caller's obligation.
        unsafe { self.process_nodes(0..self.nodes.len(), frames, now, probe) };
        let ChainState { nodes, events, .. } = self;
        if let (Some(events), Some(last)) = (events, nodes.last()) {
            last.cell.lose_events(events.refused());
        }
    }

    /// Runs the nodes at these places, as far as they exist. A processor that panics stays silent from then on, and the
    /// nodes after it still run.
    ///
    /// # Safety
    /// As [`ChainState::process`].
    #[inline]
    pub(super) unsafe fn process_nodes(
        &mut self,
        places: Range<usize>,
        frames: usize,
        now: &Now,
        probe: &mut impl Probe,
    ) {
        let ChainState { nodes, rows, events, .. } = self;
        let (mut place, end) = (places.start, places.end.min(nodes.len()));
        while place < end {
            // One catch frame serves all of them. Without a panic it costs about one call.
            // Unwind safety: the code below clears the rows and never calls the processor again.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                while place < end {
                    let node = &nodes[place];
                    let own = events.as_mut().map(|events| events.of(place, nodes.len(), frames));
                    // SAFETY: the caller's obligation. The plan has the node once (R3).
                    unsafe { process_node(node, rows, frames, now, own.unwrap_or_default()) };
                    probe.ran(node.cell.kind, 1);
                    place += 1;
                }
            }));
            if let Err(payload) = ran {
                // SAFETY: as above. The panic ended the other reference.
                let state = unsafe { nodes[place].cell.get_mut() };
                state.silence(payload);
                nodes[place].cell.show(state);
                silence(nodes[place].ports, rows, frames);
                probe.lost();
                place += 1;
                if let Some(events) = events.as_mut().filter(|_| place == nodes.len()) {
                    events.end_what_was_sent();
                }
            }
        }
    }
}

/// # Safety
/// ONE-WRITER and ONE-PLAN hold for the node.
#[inline]
unsafe fn process_node(
    node: &ChainNode,
    rows: &mut Rows,
    frames: usize,
    now: &Now,
    events: NodeEvents<'_>,
) {
    // SAFETY: the caller's obligation.
    let state = unsafe { node.cell.get_mut() };
    node.begin(state, now);
    node.run(state, rows, frames, now, events);
    node.end(state, rows, frames);
}

/// A node's part of a block, in three steps.
impl ChainNode {
    /// Its processor gets its answers, and its lanes say what changes.
    #[inline]
    pub(super) fn begin(&self, state: &mut NodeState, now: &Now) {
        if state.has_more {
            state.deliver();
            self.cell.play_lanes(state, now, self.late);
        }
    }

    /// Its processor runs by itself.
    #[inline]
    pub(super) fn run(
        &self,
        state: &mut NodeState,
        rows: &mut Rows,
        frames: usize,
        now: &Now,
        events: NodeEvents<'_>,
    ) {
        if state.has_more {
            process_in_time(state, (self.ports, self.late), rows, frames, now, events);
        } else {
            let called = (&mut *state.processor, &state.events[..]);
            process_ports(called, self.ports, rows, frames, (None, now), events);
        }
    }

    /// Its changes are over, and what is not finite is silenced.
    #[inline]
    pub(super) fn end(&self, state: &mut NodeState, rows: &mut Rows, frames: usize) {
        // Write only if needed: a write takes the cache line away from the next thread that reads it.
        if !state.events.is_empty() {
            state.events.clear();
        }
        if !is_finite(self.ports, rows, frames) {
            state.not_finite += 1;
            state.processor.reset();
            silence(self.ports, rows, frames);
            self.cell.show(state);
        }
    }
}

/// Processes a node that keeps time, has lanes or gets answers.
fn process_in_time(
    node: &mut NodeState,
    (ports, late): (Ports, u32),
    rows: &mut Rows,
    frames: usize,
    now: &Now,
    events: NodeEvents<'_>,
) {
    let NodeState { processor, events: changes, late: room, .. } = node;
    let time = room.as_deref_mut().map(|room| now.time_in(late, room));
    process_ports((&mut **processor, changes), ports, rows, frames, (time.as_ref(), now), events);
}

/// A processor, and the changes of its parameters.
type Called<'a> = (&'a mut (dyn Processor + 'static), &'a [TimedChange]);

#[inline]
fn process_ports(
    called: Called<'_>,
    ports: Ports,
    rows: &mut Rows,
    frames: usize,
    (time, now): (Option<&BlockTime<'_>>, &Now),
    events: NodeEvents<'_>,
) {
    if !ports.is_stereo() {
        return process_wide(called, ports, rows, frames, (time, now), events);
    }
    let (left, right) = split(rows);
    let main = StereoMut { left: &mut left[..frames], right: &mut right[..frames] };
    let helpers: Option<&dyn Helpers> = Some(&now.spread);
    let NodeEvents { received: events_in, sends: events_out } = events;
    let (processor, events) = called;
    processor.process(&mut Block {
        events,
        events_in,
        events_out,
        time,
        helpers,
        ..Block::new(main)
    });
}

/// The first row, and those after it.
#[inline]
pub(super) fn split(rows: &mut Rows) -> (&mut [f32], &mut [f32]) {
    let room = rows.room();
    rows.samples_mut().split_at_mut(room)
}

/// Processes a bus that is not simply stereo.
fn process_wide(
    (processor, events): Called<'_>,
    ports: Ports,
    rows: &mut Rows,
    frames: usize,
    (time, now): (Option<&BlockTime<'_>>, &Now),
    NodeEvents { received: events_in, sends: events_out }: NodeEvents<'_>,
) {
    let room = rows.room();
    // What a processor leaves alone there is silence.
    rows.clear(ports.main + ports.side_chain..ports.rows(), frames);
    let of = |count: u16| usize::from(count) * room;
    let (main, others) = rows.samples_mut().split_at_mut(of(ports.main));
    let (side, others) = others.split_at_mut(of(ports.side_chain));
    let extra = &mut others[..of(ports.extra)];
    let (left, rest) = main.split_at_mut(room);
    let (right, rest) = rest.split_at_mut(if ports.main > 1 { room } else { 0 });
    let right_frames = if ports.main > 1 { frames } else { 0 };
    let side = RowsRef::new(side, room, frames);
    let key = |right: usize| StereoRef { left: side.row(0), right: side.row(right) };
    let mut more = MoreRows {
        main: RowsMut::new(rest, room, frames),
        side_chain: side,
        extra: RowsMut::new(extra, room, frames),
    };
    processor.process(&mut Block {
        main: StereoMut { left: &mut left[..frames], right: &mut right[..right_frames] },
        // A mono key steers both sides.
        side_chain: (ports.side_chain > 0).then(|| key(usize::from(ports.side_chain > 1))),
        events,
        events_in,
        events_out,
        more: Some(&mut more),
        time,
        helpers: Some(&now.spread),
    });
}

/// The rows that a node writes: the main ones and the extra ones.
fn written(ports: Ports) -> [Range<u16>; 2] {
    [0..ports.main, ports.main + ports.side_chain..ports.rows()]
}

/// Whether what a node put out is neither NaN nor infinity.
#[inline]
fn is_finite(ports: Ports, rows: &Rows, frames: usize) -> bool {
    let [main, extra] = written(ports);
    rows.are_finite(main, frames) && (extra.is_empty() || rows.are_finite(extra, frames))
}

/// Silences what a node put out. So one strip has one bad block, and the mix does not stay broken.
#[cold]
pub(super) fn silence(ports: Ports, rows: &mut Rows, frames: usize) {
    written(ports).into_iter().for_each(|written| rows.clear(written, frames));
}

/// A unit: its own chain, and the folded chains that run before it.
pub(crate) struct UnitState {
    folded: Slice<ChainState>,
    own: ChainState,
    /// Places of chains that run abreast of the next one, ascending; the own chain is the last.
    couples: Slice<u32>,
}

impl UnitState {
    /// A unit of these chains.
    ///
    /// Thread: control; allocates.
    pub(super) fn within(
        memory: &Memory,
        folded: Vec<ChainState>,
        own: ChainState,
        couples: &[u32],
    ) -> UnitState {
        // A chain with events runs as a whole.
        let has_events = |place: usize| folded.get(place).unwrap_or(&own).events.is_some();
        let both = |place: &u32| [*place, place + 1].map(|place| place as usize);
        let plain = couples.iter().filter(|place| !both(place).into_iter().any(has_events));
        let couples: Vec<u32> = plain.copied().collect();
        let folded = memory.keep(folded.into_iter());
        UnitState { folded, own, couples: memory.keep(couples.into_iter()) }
    }

    /// All nodes, in the order in which they run.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<NodeCell>> {
        let chains = self.folded.iter().chain([&self.own]);
        chains.flat_map(|chain| chain.nodes.iter()).map(|node| &node.cell)
    }

    /// The first two rows of the bus that other units read.
    pub(crate) fn stereo(&self, frames: usize) -> StereoRef<'_> {
        self.own.rows.stereo(frames)
    }

    /// All rows of the bus that other units read.
    pub(crate) fn rows(&self, frames: usize) -> RowsRef<'_> {
        self.own.rows.all(frames)
    }

    /// The events that the unit's last node sent in the last block. `None`: it sends none of its own.
    pub(crate) fn sent(&self) -> Option<&EventBuffer> {
        self.own.events.as_ref()?.own_sent()
    }

    /// The delay lines of all inputs.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &DelayCell> {
        self.folded.iter().chain([&self.own]).flat_map(ChainState::lines)
    }

    /// Does for all delay lines what the first block of a plan does, if it never came.
    ///
    /// # Safety
    /// CLOSED and ONE-PLAN hold.
    pub(crate) unsafe fn set_lines(&mut self) {
        for chain in self.folded.iter_mut().chain([&mut self.own]) {
            // SAFETY: the caller's obligation.
            unsafe { chain.set_lines() };
        }
    }

    /// The events of all chains.
    pub(super) fn events(&mut self) -> impl Iterator<Item = &mut ChainEvents> {
        let chains = self.folded.iter_mut().chain([&mut self.own]);
        chains.filter_map(|chain| chain.events.as_deref_mut())
    }

    /// Silences every bus, as at the start of the session.
    pub(crate) fn silence(&mut self) {
        self.folded.iter_mut().chain([&mut self.own]).for_each(ChainState::silence);
    }
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
    /// How chains run abreast.
    kernel: Kernel,
    /// What comes from outside. An index is a port of the plan.
    pub(super) ports: Box<[Arc<PortCell>]>,
    touched: Touched,
}

// SAFETY: `UnitState` is `Send`. The invariants ONE-WRITER, READ-AFTER-WRITE and CLOSED, at the top of
// this file, govern the sharing.
unsafe impl Sync for Units {}

impl Units {
    /// Moves the units into cells.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(units: Vec<UnitState>, ports: &[Arc<PortCell>]) -> Units {
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
        Units { cells, kernel: Kernel::here(), ports: ports.into(), touched }
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
    pub(crate) unsafe fn run(&self, unit: usize, frames: usize, now: &Now, probe: &mut impl Probe) {
        // SAFETY:
        // - IN-RANGE: `unit` comes from a verified schedule.
        // - No alias: nobody else writes (ONE-WRITER), and only successors read. They have not started
        //   (READ-AFTER-WRITE).
        let state = unsafe { &mut *self.cells[unit].0.get() };
        let UnitState { folded, own, couples } = state;
        if !couples.is_empty() {
            // SAFETY: the same obligation as this function's.
            return unsafe { self.run_with_couples((folded, own), couples, frames, now, probe) };
        }
        for place in 0..folded.len() {
            let (before, rest) = folded.split_at_mut(place);
            // SAFETY: the same obligation as this function's.
            unsafe { self.run_chain(&mut rest[0], before, frames, now, probe) };
        }
        // SAFETY: the same obligation as this function's.
        unsafe { self.run_chain(own, folded, frames, now, probe) };
    }

    /// The same for a unit with chains that run abreast.
    ///
    /// # Safety
    /// As [`Units::run`].
    unsafe fn run_with_couples(
        &self,
        (folded, own): (&mut [ChainState], &mut ChainState),
        couples: &[u32],
        frames: usize,
        now: &Now,
        probe: &mut impl Probe,
    ) {
        let (mut place, mut couples) = (0, couples.iter().peekable());
        while place <= folded.len() {
            let (before, rest) = folded.split_at_mut(place);
            let is_couple = couples.next_if(|couple| **couple as usize == place).is_some();
            // SAFETY: the same obligation as this function's. Neither chain of a couple reads the other (R4), so both find
            // what they read among the chains before.
            unsafe {
                match (is_couple, rest) {
                    (true, [one, other, ..]) => {
                        self.run_couple([one, other], before, frames, now, probe);
                        place += 2;
                    }
                    (true, [one]) => {
                        self.run_couple([one, &mut *own], before, frames, now, probe);
                        place += 2;
                    }
                    (_, [one, ..]) => {
                        self.run_chain(one, before, frames, now, probe);
                        place += 1;
                    }
                    (_, []) => {
                        self.run_chain(own, before, frames, now, probe);
                        place += 1;
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`Units::run_chain`], for both.
    unsafe fn run_couple(
        &self,
        [one, other]: [&mut ChainState; 2],
        before: &[ChainState],
        frames: usize,
        now: &Now,
        probe: &mut impl Probe,
    ) {
        // SAFETY: the caller's obligation.
        unsafe {
            self.sum_inputs(one, before, frames, now);
            self.sum_inputs(other, before, frames, now);
            probe.ran(probe::SUMS, 2);
            process_abreast(self.kernel, [one, other], frames, now, probe);
        }
    }

    /// # Safety
    /// READ-AFTER-WRITE holds for every input of the chain. ONE-WRITER and ONE-PLAN hold for its unit.
    #[inline]
    unsafe fn run_chain(
        &self,
        chain: &mut ChainState,
        before: &[ChainState],
        frames: usize,
        now: &Now,
        probe: &mut impl Probe,
    ) {
        // SAFETY: the caller's obligation.
        unsafe {
            self.sum_inputs(chain, before, frames, now);
            probe.ran(probe::SUMS, 1);
            chain.process(frames, now, probe);
        }
    }

    /// What comes before a chain's nodes: its events, its delay lines, its sums.
    ///
    /// # Safety
    /// As [`Units::run_chain`].
    #[inline]
    unsafe fn sum_inputs(
        &self,
        chain: &mut ChainState,
        before: &[ChainState],
        frames: usize,
        now: &Now,
    ) {
        let ChainState { waiting, sums, rows, events, nodes, silent } = chain;
        if let Some(events) = events {
            // SAFETY: the caller's obligation.
            unsafe { self.receive(events, nodes, before, frames, now) };
        }
        for place in 0..waiting.len() {
            if let Some(next) = waiting.get(place + LINES_AHEAD) {
                // SAFETY: the caller's obligation.
                unsafe { next.cell.fetch(frames) };
            }
            let waiting = &mut waiting[place];
            // SAFETY: the caller's obligation. No input waits twice, so it reads none of these lines.
            unsafe {
                waiting.set();
                let source = self.read(waiting.bus, before);
                waiting.cell.run(source.all(frames), usize::from(waiting.row));
            }
        }
        let mut nothing = true;
        for sum in sums.iter() {
            if sum.may_lack {
                // SAFETY: the caller's obligation.
                let took = unsafe { self.sum_what_is_heard(sum, waiting, before, rows, frames) };
                nothing &= took == Begin::Anew;
                continue;
            }
            for piece in rows.pieces(sum.rows.clone(), frames) {
                let first = usize::from(sum.rows.start) * rows.room();
                let out = &mut rows.samples_mut()[piece.clone()];
                // SAFETY: the caller's obligation.
                let took = unsafe { self.sum_piece(sum, before, out, piece, first) };
                nothing &= took == Begin::Anew;
            }
        }
        // Write only if needed: a write takes the cache line away from those that read the bus.
        if *silent != nothing {
            *silent = nothing;
        }
    }

    /// Merges the events that the edges of a chain bring, in their order, so that every worker finds the same ones.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for every input of the chain. ONE-WRITER and ONE-PLAN hold for its unit.
    unsafe fn receive(
        &self,
        events: &mut ChainEvents,
        nodes: &[ChainNode],
        before: &[ChainState],
        frames: usize,
        now: &Now,
    ) {
        // SAFETY: the caller's obligation.
        unsafe { events.begin() };
        // A chain that receives events has a processor in its first place.
        let Some(first) = nodes.first() else { return };
        let (mut place, mut lost) = (0, 0);
        while let Some(bus) = events.bus(place) {
            // SAFETY: the caller's obligation.
            unsafe {
                let sent = self.sent(bus, before);
                lost += u64::from(events.merge(place, sent, frames, (now, first.late)));
            }
            place += 1;
        }
        first.cell.lose_events(lost);
    }

    /// What the chain of a bus sent in this block.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for the input.
    unsafe fn sent<'a>(&'a self, bus: Bus, before: &'a [ChainState]) -> Option<&'a EventBuffer> {
        let chain = match bus {
            // SAFETY: the writer has finished (READ-AFTER-WRITE), and nobody writes again in this
            // block (ONE-WRITER). Other threads only read.
            Bus::Unit(from) => &unsafe { &*self.cells[from as usize].0.get() }.own,
            Bus::Folded(chain) => &before[chain as usize],
            // No event edge begins there (R1).
            Bus::Part(_) | Bus::Coupled(..) | Bus::Port(_) | Bus::Line(_) => return None,
        };
        // SAFETY: as above. FILLED: the block is open.
        unsafe { chain.events.as_ref()?.sent() }
    }

    /// Sums the inputs in their order, so that every worker computes the same bits. `piece`: the samples of
    /// the chain's bus that `out` is; `first`: the first sample of the sum's rows. Returns [`Begin::Anew`] if there was
    /// nothing to sum.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for every input.
    #[inline]
    unsafe fn sum_piece(
        &self,
        sum: &Sum,
        before: &[ChainState],
        out: &mut [f32],
        piece: Range<usize>,
        first: usize,
    ) -> Begin {
        if sum.inputs.is_empty() {
            mix::clear(out);
            return Begin::Anew;
        }
        let mut begin = Begin::Anew;
        for group in sum.inputs.chunks(mix::AT_ONCE) {
            let mut scaled: [Scaled<'_>; mix::AT_ONCE] = [(&[], 0.0); _];
            for (scaled, Input { bus, gain_lin, row }) in scaled.iter_mut().zip(group) {
                // SAFETY: the caller's obligation.
                let rows = unsafe { self.read(*bus, before) };
                let at = usize::from(*row) * rows.room() + (piece.start - first);
                *scaled = (&rows.samples()[at..at + piece.len()], *gain_lin);
            }
            mix::accumulate(out, &scaled[..group.len()], begin);
            begin = Begin::Onward;
        }
        begin
    }

    /// As [`Units::sum_piece`], for sums of which some inputs may be left out: one that has faded out, as if its edge were
    /// gone, and a part that left out all of its inputs.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for every input.
    unsafe fn sum_what_is_heard(
        &self,
        sum: &Sum,
        waiting: &[Waiting],
        before: &[ChainState],
        rows: &mut Rows,
        frames: usize,
    ) -> Begin {
        let mut begin = Begin::Anew;
        // While a few terms are summed, the memory of the next ones comes. They stay in their place: a move would be a copy
        // by the C library.
        let (mut terms, mut open) = ([Terms::new(), Terms::new()], 0);
        for input in sum.inputs.iter() {
            // SAFETY: the caller's obligation.
            let Some(heard) = (unsafe { self.heard(input, waiting, before, frames) }) else {
                continue;
            };
            heard.fetch(input.row.into()..usize::from(input.row) + sum.rows.len(), frames);
            terms[open].push(heard, input.row.into());
            if terms[open].are_full() {
                open = 1 - open;
                begin = terms[open].sum_into(rows, sum.rows.clone(), frames, begin);
            }
        }
        for last in [1 - open, open] {
            begin = terms[last].sum_into(rows, sum.rows.clone(), frames, begin);
        }
        if begin == Begin::Anew {
            rows.clear(sum.rows.clone(), frames);
        }
        begin
    }

    /// What is heard of an input; `None`: nothing.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for the input.
    #[inline]
    unsafe fn heard<'a>(
        &'a self,
        input: &Input,
        waiting: &'a [Waiting],
        before: &'a [ChainState],
        frames: usize,
    ) -> Option<Heard<'a>> {
        let Input { bus, gain_lin, .. } = *input;
        match bus {
            // SAFETY: the line is this unit's (ONE-WRITER), and it has run. It has the gain of its edge.
            Bus::Line(line) => unsafe { waiting[line as usize].cell.heard(frames) },
            // SAFETY: as in `read`.
            Bus::Part(from) if unsafe { &*self.cells[from as usize].0.get() }.own.silent => None,
            // SAFETY: the caller's obligation.
            bus => Some(Heard::of(unsafe { self.read(bus, before) }, gain_lin)),
        }
    }

    /// The finished rows of an input.
    ///
    /// # Safety
    /// READ-AFTER-WRITE holds for the input; the caller holds no reference into the lines that it reads.
    #[inline]
    unsafe fn read<'a>(&'a self, bus: Bus, before: &'a [ChainState]) -> &'a Rows {
        match bus {
            Bus::Unit(from) | Bus::Part(from) => {
                // SAFETY: the writer has finished (READ-AFTER-WRITE), and nobody writes again in this
                // block (ONE-WRITER). Other threads only read.
                let unit = unsafe { &*self.cells[from as usize].0.get() };
                &unit.own.rows
            }
            Bus::Folded(chain) => &before[chain as usize].rows,
            Bus::Coupled(from, chain) => {
                // SAFETY: as above: the chain is the same unit's.
                let unit = unsafe { &*self.cells[from as usize].0.get() };
                &unit.folded[usize::from(chain)].rows
            }
            // SAFETY: FILLED: the block is open.
            Bus::Port(port) => unsafe { self.ports[port as usize].rows() },
            // No line waits for another one, and `heard` reads those that a sum takes.
            Bus::Line(_) => unreachable!("a line has no rows of its own"),
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
