//! The plan: what a block needs and what changes with the session. It holds the schedule, the units with
//! their buses, and the data through which workers meet.
//!
//! A control thread builds a plan and sends it to the leader. When the next plan replaces it, the leader
//! sends it back. Plans share nodes, so each processor keeps its state. The control thread frees a node
//! with the last plan that has it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_plan::compile::{DelayLine, Port};
use hocket_plan::{
    NodeId, Ports, ScheduleKind, SiblingPolicy, Step, UnitGraph, UnitId, VerifiedSchedule,
};
use hocket_rt::{Barrier, Claim, Countdown, Deque, Padded, ReadySet};

use super::before::Before;
use super::bus::{ChainNode, ChainState, UnitState, Units};
use super::costs::Costs;
use super::delay::{DelayCell, LineSetting, Set};
use super::events::{ChainEvents, EventCells};
use super::fade::Gains;
use super::memory::Memory;
use super::node::NodeCell;
use super::port::PortCell;
use super::sum::silent_parts;

/// A schedule, ready to run.
pub(crate) struct Plan {
    /// Unique in this process.
    pub number: u64,
    /// The most frames of a block. Costs refer to blocks of this length.
    pub frames: usize,
    pub schedule: VerifiedSchedule,
    pub units: Units,
    pub countdowns: Box<[Countdown]>,
    /// For each unit, the units at whose countdown it arrives.
    pub successors: Successors,
    /// Units whose countdown starts above zero.
    waiting: Box<[u32]>,
    /// The unit with which the block ends.
    pub last: u32,
    /// By output of the graph: the unit whose bus it is, and its ports.
    pub outputs: Box<[(u32, Ports)]>,
    /// By port: the number of the engine input that it is, and its channels.
    pub inputs: Box<[Option<(u16, u16)>]>,
    /// By port: the unit that feeds back into it.
    pub fed_by: Box<[Option<u32>]>,
    pub offered: Offered,
    pub barrier: Barrier,
    /// How many barriers each worker of this plan has reached. A hint for partners that publishes nothing.
    pub phases: Box<[Padded<AtomicU32>]>,
    pub costs: Arc<Costs>,
    /// What the host hands over, and what the leader moves when it takes the plan over.
    pub events: EventCells,
    /// Whether `auto` tries its workers immediately (`leader/choose_walk.rs`).
    pub trial: bool,
    /// Whether all of its processors allow that blocks are left out ([`Processor::rests`](hocket_dsp::Processor::rests)).
    pub rests: bool,
    /// Whether the leader walks it as it stands, although it could choose: a control thread has fixed the schedule.
    pub is_fixed: bool,
    /// Whether guards keep their seats busy in its blocks (policy `idle-thread`).
    pub guarded: bool,
    /// Whether of two workers on a core, the one that is done first keeps its seat busy (policy `pair-barrier`).
    pub paired: bool,
}

/// What plans share: it stays when a plan goes.
#[derive(Clone, Default)]
pub(crate) struct Cells {
    /// By node; `None` for a node that only sums.
    pub nodes: Vec<Option<Arc<NodeCell>>>,
    /// By line.
    pub lines: Vec<Arc<DelayCell>>,
    /// By port.
    pub ports: Vec<Arc<PortCell>>,
    pub events: EventCells,
}

impl Cells {
    /// Of the first plan.
    ///
    /// Thread: control; allocates.
    pub(crate) fn first(
        units: &UnitGraph,
        nodes: Vec<Option<Arc<NodeCell>>>,
        frames: usize,
    ) -> Cells {
        let line =
            |line: &DelayLine| Arc::new(DelayCell::new(line.span.count, waits(line), frames));
        let port = |port: &Port| Arc::new(new_port(port, frames));
        let lines = units.lines().iter().map(line).collect();
        let events = EventCells::first(units, &nodes, frames);
        Cells { nodes, lines, ports: units.ports().iter().map(port).collect(), events }
    }

    /// Of a plan that follows the one of these. Between two nodes that stay, a new delay fades in. Also returns, by line, what
    /// those that stay have to do when the plan begins.
    ///
    /// Thread: control; allocates. Cost: O(lines + ports).
    pub(crate) fn following<F: Fn(NodeId) -> Option<NodeId>>(
        &self,
        before: &Before<'_, F>,
        units: &UnitGraph,
        nodes: Vec<Option<Arc<NodeCell>>>,
        frames: usize,
    ) -> (Cells, Vec<Option<Set>>) {
        let late = units.ports().iter().map(|port| port.feedback_frames() as usize);
        let late = late.fold(frames, usize::max);
        let key = |line: &DelayLine| ((line.reader, line.edge), line.part);
        let old = before.units.lines().iter().zip(&self.lines);
        let old: HashMap<_, _> =
            old.map(|(line, cell)| (key(line), (waits(line), line.span.count, cell))).collect();
        let line = |line: &DelayLine| {
            let (rows, now) = (line.span.count, waits(line));
            let edge = before.edges.get(&(line.reader, line.edge));
            // A node that stays may have other channels, and then its edges have other rows.
            let was = edge.and_then(|edge| old.get(&(*edge, line.part)));
            let was =
                was.filter(|(_, before, _)| *before == rows).map(|(was, _, cell)| (was, *cell));
            let set = Some(Set { waits: now, gains: before.gains, curve: line.curve });
            match was {
                Some((was, cell)) if cell.holds(now.delay, frames) => {
                    let jumps = before.gains == Gains::Jump && !cell.is_settled();
                    (Arc::clone(cell), set.filter(|_| *was != now || jumps))
                }
                Some((_, cell)) => (Arc::new(DelayCell::longer(cell, rows, now, frames)), set),
                None => {
                    // What a new edge brings is late from its first frame on.
                    let delay = if edge.is_some() { 0 } else { now.delay };
                    let was = LineSetting { delay, gain_lin: line.gain_before };
                    let wait = if edge.is_some() { 0 } else { before.silent_frames(line, late) };
                    let now = (now, line.curve);
                    (Arc::new(DelayCell::joining(rows, was, now, wait, frames)), None)
                }
            }
        };
        let (lines, sets) = units.lines().iter().map(line).unzip();
        let ports = units.ports().iter().map(|port| self.port(before, port, frames)).collect();
        let events = self.events.following(before, units, &nodes, frames);
        (Cells { nodes, lines, ports, events }, sets)
    }

    /// The port's cell, or a new one.
    ///
    /// Thread: control; allocates.
    fn port<F: Fn(NodeId) -> Option<NodeId>>(
        &self,
        before: &Before<'_, F>,
        port: &Port,
        frames: usize,
    ) -> Arc<PortCell> {
        let is_same = |old: &Port| match (*old, *port) {
            // Its cell has room for any width, so that what the host wrote is not lost.
            (Port::Input { number: old, .. }, Port::Input { number, .. }) => old == number,
            (
                Port::Feedback { from: old, rows: was, frames: were },
                Port::Feedback { from, rows, frames },
            ) => (before.same)(from) == Some(old) && (rows, frames) == (was, were),
            _ => false,
        };
        let is_same = |old: &Port| is_same(old) && !before.ends.contains(old);
        let old = before.units.ports().iter().position(is_same);
        match old.map(|place| &self.ports[place]) {
            Some(same) if same.holds(frames) => Arc::clone(same),
            Some(shorter) => Arc::new(new_port(port, frames).instead_of(shorter)),
            None => Arc::new(new_port(port, frames)),
        }
    }
}

/// Thread: control; allocates.
fn new_port(port: &Port, frames: usize) -> PortCell {
    match *port {
        Port::Input { .. } => PortCell::input(Ports::MOST, frames),
        Port::Feedback { rows, frames: least, .. } => {
            PortCell::feedback(rows, least as usize, frames)
        }
    }
}

fn waits(line: &DelayLine) -> LineSetting {
    LineSetting { delay: line.frames as usize, gain_lin: line.gain_lin }
}

/// Where units wait for a worker, for each kind of schedule.
pub(crate) enum Offered {
    /// `serial`, `lists`: the order is fixed, and no unit waits here.
    Nowhere,
    /// `dataflow`: ready sets, and their content at the start of a block.
    Sets { sets: ReadySet, initial: Box<[Box<[u64]>]> },
    /// `steal`: deques, and their content at the start of a block, most urgent last.
    Deques { deques: Box<[Deque]>, initial: Box<[Box<[u32]>]> },
    /// `critical`: lists. The thread that claims a list walks it: its worker, or a stand-in if that
    /// worker has not come.
    Lists {
        lists: Box<[Box<[u32]>]>,
        claims: Box<[Padded<Claim>]>,
        /// The next position in each list.
        places: Box<[Padded<AtomicU32>]>,
    },
}

impl Plan {
    /// Thread: control; allocates all memory that blocks will need.
    pub(crate) fn new(schedule: VerifiedSchedule, cells: &Cells, frames: usize) -> Plan {
        Plan::exchanging(schedule, cells, &[], frames)
    }

    /// A plan with whose first block lines change what they do. `sets`: by line.
    ///
    /// Thread: control; allocates all memory that blocks will need.
    pub(crate) fn exchanging(
        schedule: VerifiedSchedule,
        cells: &Cells,
        sets: &[Option<Set>],
        frames: usize,
    ) -> Plan {
        let units = schedule.units();
        let all = units.units();
        let silent = silent_parts(units);
        let memory = Memory::of(bytes_of(units, frames));
        let node = |id: &NodeId| {
            let cell = cells.nodes[id.index()].clone()?;
            let (ports, late) = (units.node_ports()[id.index()], units.heard_frames(*id));
            let abreast_key = cell.abreast_key;
            Some(ChainNode { cell, ports, late, abreast_key })
        };
        let chain = |inputs: &[_], ids: &[NodeId], rows| {
            let nodes = ids.iter().filter_map(node).collect();
            let events =
                ChainEvents::new(units, (&cells.nodes, &cells.events), inputs, ids, frames);
            let lines = (&cells.lines[..], sets);
            ChainState::within(&memory, inputs, nodes, lines, &silent, (rows, frames), events)
        };
        let unit = |unit: &hocket_plan::Unit| {
            let folded = unit.folded.iter();
            let folded = folded.map(|folded| chain(&folded.inputs, &folded.nodes, folded.rows));
            let folded = folded.collect();
            let own = chain(&unit.inputs, &unit.nodes, unit.rows);
            UnitState::within(&memory, folded, own, &unit.couples)
        };
        let unit_of = |node: NodeId| units.unit_of(node).map_or(0, |unit| unit.0);
        let output = |node: &NodeId| (unit_of(*node), units.node_ports()[node.index()]);
        let input = |port: &Port| match port {
            Port::Input { number, rows } => Some((*number, *rows)),
            Port::Feedback { .. } => None,
        };
        let fed_by = |port: &Port| match port {
            Port::Input { .. } => None,
            Port::Feedback { from, .. } => Some(unit_of(*from)),
        };
        let successors = Successors::of(&schedule);
        let counts = successors.arrivals();
        let waiting = (0..counts.len() as u32).filter(|unit| counts[*unit as usize] > 0);
        Plan {
            number: next_number(),
            frames,
            units: Units::new(all.iter().map(unit).collect(), &cells.ports),
            waiting: waiting.collect(),
            countdowns: counts.into_iter().map(Countdown::new).collect(),
            successors,
            last: schedule.last().0,
            outputs: units.outputs().iter().map(output).collect(),
            inputs: units.ports().iter().map(input).collect(),
            fed_by: units.ports().iter().map(fed_by).collect(),
            offered: Offered::new(&schedule),
            barrier: Barrier::new(schedule.workers() as u32),
            phases: (0..schedule.workers()).map(|_| Padded(AtomicU32::new(0))).collect(),
            costs: Arc::new(Costs::new(all.len())),
            events: cells.events.clone(),
            trial: false,
            is_fixed: false,
            guarded: false,
            paired: false,
            rests: cells.nodes.iter().flatten().all(|node| node.rests),
            schedule,
        }
    }

    /// Has its blocks follow a sibling policy. A new plan follows `off`.
    ///
    /// Thread: control.
    pub(crate) fn follow(&mut self, policy: SiblingPolicy) {
        self.guarded = policy == SiblingPolicy::IdleThread;
        self.paired = policy == SiblingPolicy::PairBarrier;
    }

    /// The number of workers in the schedule.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        self.schedule.workers()
    }

    /// Resets everything for the next block.
    ///
    /// Thread: leader, while nobody is inside.
    pub(crate) fn wind_up(&self) {
        match &self.offered {
            Offered::Nowhere => {}
            Offered::Sets { sets, initial } => {
                for (home, words) in initial.iter().enumerate() {
                    sets.load(home, words);
                }
            }
            Offered::Deques { deques, initial } => {
                for (deque, units) in deques.iter().zip(initial) {
                    deque.load(units);
                }
            }
            Offered::Lists { claims, places, .. } => {
                // Relaxed: nobody is inside, and E4 publishes it to every thread that enters.
                places.iter().for_each(|place| place.0.store(0, Relaxed));
                claims.iter().for_each(|claim| claim.0.release());
                // `critical` resets no countdown inside the block: its waiting threads only look.
                for unit in &self.waiting {
                    self.countdowns[*unit as usize].reset();
                }
            }
        }
    }
}

/// About how many bytes the chains of these units take, rather too many than too few.
///
/// Thread: control.
fn bytes_of(units: &UnitGraph, frames: usize) -> usize {
    // Of a chain, and of one of its inputs or nodes.
    const EACH: (usize, usize) = (320, 64);
    let chain = |rows: u16, parts: usize| {
        let samples = usize::from(rows) * frames.next_multiple_of(16);
        EACH.0 + EACH.1 * parts + samples * size_of::<f32>()
    };
    let unit = |unit: &hocket_plan::Unit| {
        let folded = unit.folded.iter();
        let folded =
            folded.map(|folded| chain(folded.rows, folded.inputs.len() + folded.nodes.len()));
        folded.sum::<usize>() + chain(unit.rows, unit.inputs.len() + unit.nodes.len())
    };
    units.units().iter().map(unit).sum()
}

/// The successors of every unit, in one dense array.
///
/// A unit's other data is large, and a block does not need it here.
pub(crate) struct Successors {
    /// For each unit, where its successors start in `ids`. The last entry is the end.
    starts: Box<[u32]>,
    ids: Box<[u32]>,
}

impl Successors {
    /// For `critical`, leaves out successors in the unit's own list: the list's order already puts them
    /// later.
    ///
    /// Thread: control; allocates.
    fn of(schedule: &VerifiedSchedule) -> Successors {
        let units = schedule.units().units();
        let list_of = match schedule.kind() {
            ScheduleKind::Critical => list_of_each(schedule),
            _ => (0..units.len() as u32).collect(),
        };
        let (mut starts, mut ids) = (vec![0], Vec::new());
        for (i, unit) in units.iter().enumerate() {
            let apart = |id: &&UnitId| list_of[id.index()] != list_of[i];
            ids.extend(unit.successors.iter().filter(apart).map(|id| id.0));
            starts.push(ids.len() as u32);
        }
        Successors { starts: starts.into_boxed_slice(), ids: ids.into_boxed_slice() }
    }

    /// How many predecessors arrive at each unit's countdown.
    ///
    /// Thread: control; allocates.
    fn arrivals(&self) -> Vec<u32> {
        let mut counts = vec![0; self.starts.len() - 1];
        self.ids.iter().for_each(|unit| counts[*unit as usize] += 1);
        counts
    }

    #[inline]
    pub(crate) fn get(&self, unit: usize) -> &[u32] {
        &self.ids[self.starts[unit] as usize..self.starts[unit + 1] as usize]
    }
}

/// A number that identifies a plan even after the plan is freed.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the number publishes nothing.
    NEXT.fetch_add(1, Relaxed)
}

impl Offered {
    /// The content at the start of a block.
    ///
    /// Thread: control; allocates.
    fn new(schedule: &VerifiedSchedule) -> Offered {
        let lists = || (0..schedule.workers()).map(|worker| runs(schedule, worker));
        let count = schedule.units().units().len();
        match schedule.kind() {
            ScheduleKind::Serial | ScheduleKind::Lists => Offered::Nowhere,
            ScheduleKind::Dataflow => {
                let sets = ReadySet::new(schedule.workers(), count);
                let words = |list: Box<[u32]>| bits(&list, sets.words());
                Offered::Sets { initial: lists().map(words).collect(), sets }
            }
            ScheduleKind::Steal => {
                let last_first = |list: Box<[u32]>| list.iter().rev().copied().collect();
                Offered::Deques {
                    deques: lists().map(|_| Deque::new(count)).collect(),
                    initial: lists().map(last_first).collect(),
                }
            }
            ScheduleKind::Critical => Offered::Lists {
                lists: lists().collect(),
                claims: lists().map(|_| Padded(Claim::new())).collect(),
                places: lists().map(|_| Padded(AtomicU32::new(0))).collect(),
            },
        }
    }
}

/// For each unit, the index of the list that holds it.
///
/// Thread: control; allocates.
fn list_of_each(schedule: &VerifiedSchedule) -> Vec<u32> {
    let mut list_of = vec![0; schedule.units().units().len()];
    for worker in 0..schedule.workers() {
        runs(schedule, worker).iter().for_each(|unit| list_of[*unit as usize] = worker as u32);
    }
    list_of
}

/// The units of a worker's list.
///
/// Thread: control; allocates.
fn runs(schedule: &VerifiedSchedule, worker: usize) -> Box<[u32]> {
    let unit = |step: &Step| match step {
        Step::Run(UnitId(unit)) => Some(*unit),
        Step::Barrier => None,
    };
    schedule.list(worker).iter().filter_map(unit).collect()
}

/// A bit set with one bit per unit.
///
/// Thread: control; allocates.
fn bits(units: &[u32], words: usize) -> Box<[u64]> {
    let mut bits = vec![0u64; words];
    units.iter().for_each(|unit| bits[*unit as usize / 64] |= 1 << (unit % 64));
    bits.into_boxed_slice()
}
