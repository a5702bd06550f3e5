//! Events between nodes: what a chain receives and sends in a block, and where the events of an edge wait.
//!
//! A node that writes events has a buffer, which is handed over as its bus is: the readers look into it when its unit has
//! finished. A node that reads them has another one, into which its edges are merged: by frame, then in the order of the
//! edges, then in the order of sending. Plans own both, because they hold events of one block only.
//!
//! An edge has a *line*, which goes on under the next plan, as a delay line does (`delay.rs`). It delays events with their
//! frames, and knows which notes of the edge sound. If the edge goes, the leader hands these over to the node that read it
//! ([`Move`]), which gets their ends at the first frame of its next block. So nothing hangs.
//!
//! Nothing here depends on how time is cut into blocks: a line counts in frames. Only a full buffer does.

use std::cell::UnsafeCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hocket_dsp::EventsOut;
use hocket_plan::compile::{EventLine, EventLineId, UnitInput};
use hocket_plan::{NodeId, UnitGraph};
use hocket_time::{
    BlockTime, Event, EventBuffer, EventKind, HeldNotes, MIN_LOOP_FRAMES, Segments, Source,
};

use super::before::Before;
use super::node::NodeCell;
use super::now::Now;
use super::sum::Bus;

/// Events that a port takes per block, besides note ends ([`hocket_time::END_ROOM`]).
pub(crate) const EVENTS: usize = 1024;
/// The most that a port takes with what a processor chases: some 700 kilobytes.
const MOST_EVENTS: usize = 16 * EVENTS;
/// Bytes of system-exclusive messages that a port takes per block.
const SYSEX_BYTES: usize = 4096;
/// A node with more edges has room for as many edges as this that are full.
const FULL_EDGES: usize = 8;
/// A line with a longer delay has room for as many blocks as this that are full.
const FULL_BLOCKS: usize = 16;

/// How many events the port of a node takes in blocks of up to `frames` frames, besides note ends. A loop may be so short that
/// a block has many passes, and what is chased comes again in each. `None`: an input of the host.
fn room_of(cell: Option<&Arc<NodeCell>>, frames: usize) -> usize {
    let per_jump = cell.map_or(0, |cell| cell.events_per_jump);
    // The first pass begins before the block, or with a jump of another kind.
    let jumps = frames / MIN_LOOP_FRAMES as usize + 2;
    EVENTS.saturating_add(per_jump.saturating_mul(jumps)).min(MOST_EVENTS)
}

/// Something of events that several plans may share.
///
/// A unit accesses only those of its own inputs (ONE-WRITER: rule R1 gives an event line to one input), in the leader's
/// plan (ONE-PLAN). Those of the host are the leader's (FILLED). Between blocks all are the leader's (CLOSED).
#[repr(align(64))]
pub(crate) struct EventCell<T>(UnsafeCell<T>);

// SAFETY: what is inside is `Send`. ONE-WRITER, CLOSED, ONE-PLAN and FILLED, at the top of `bus.rs`, govern the sharing.
unsafe impl<T: Send> Sync for EventCell<T> {}

impl<T> EventCell<T> {
    fn new(inside: T) -> EventCell<T> {
        EventCell(UnsafeCell::new(inside))
    }

    /// # Safety
    /// FILLED: a block is open, and this is a buffer of the host.
    #[inline]
    unsafe fn get(&self) -> &T {
        // SAFETY: the caller's obligation.
        unsafe { &*self.0.get() }
    }

    /// # Safety
    /// The caller is the worker that runs the unit with the input (ONE-WRITER) in the leader's plan (ONE-PLAN), or the
    /// leader while CLOSED holds. It uses one reference at a time.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(crate) unsafe fn get_mut(&self) -> &mut T {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.0.get() }
    }
}

/// The line of an edge.
pub(crate) struct LineCell {
    line: EventCell<Line>,
    /// Where the song was for what is late at the reader, as in `NodeState`.
    late: EventCell<Segments>,
    /// Events that find room, for control threads.
    room: usize,
}

/// What is inside a [`LineCell`].
struct Line {
    /// Events that are not due yet. Empty where the edge does not delay.
    queue: EventBuffer,
    /// When the latest of them is due, in frames from the next block on. None overtakes another when the delay changes.
    latest: u32,
    /// What the reader has got and what has not ended.
    held: HeldNotes,
    /// Whether the song played in the last frame.
    played: bool,
}

impl LineCell {
    /// With room for so many events.
    ///
    /// Thread: control; allocates.
    fn new(room: usize) -> LineCell {
        let queue = EventBuffer::new(room, if room > 0 { SYSEX_BYTES } else { 0 });
        let line = Line { queue, latest: 0, held: HeldNotes::new(), played: false };
        LineCell { line: EventCell::new(line), late: EventCell::new(Segments::EMPTY), room }
    }

    /// For events that wait for so many frames. The writer sends up to `events` per block.
    fn room(delay: u32, events: usize, block: usize) -> usize {
        let blocks = (delay as usize).div_ceil(block.max(1));
        if delay == 0 { 0 } else { events * (blocks + 1).min(FULL_BLOCKS) }
    }
}

impl Line {
    /// What the reader gets in a block of what was `sent` in it. `time`: as the reader hears it, if the writer follows the
    /// song. Returns how many events were lost.
    fn run(
        &mut self,
        sent: Option<&EventBuffer>,
        edge: &EventInput,
        time: Option<&BlockTime<'_>>,
        frames: u32,
        received: &mut EventBuffer,
    ) -> u32 {
        let waits = edge.delay > 0 || !self.queue.all().is_empty();
        let late = if waits { self.wait(sent, edge.delay, frames) } else { 0 };
        let now = if waits { Some(&self.queue) } else { sent };
        let Some(now) = now else { return 0 };
        let lost = late + received.merge(now, frames, edge.source);
        watch(&mut self.held, &mut self.played, now.block(frames), time, received);
        if waits {
            self.queue.advance(frames);
            self.latest = self.latest.saturating_sub(frames);
        }
        lost
    }

    /// Puts what was sent into the queue. Returns how much found no room.
    fn wait(&mut self, sent: Option<&EventBuffer>, delay: u32, frames: u32) -> u32 {
        let before = self.queue.counts().refused;
        let Some(sent) = sent else { return 0 };
        for event in sent.block(frames) {
            self.latest = self.latest.max(event.frame + delay);
            // One source for all, so that events of one frame stay in their order.
            let due = Event { frame: self.latest, source: Source::LANE, ..*event };
            push(&mut self.queue, due, sent);
        }
        (self.queue.counts().refused - before) as u32
    }

    fn forget(&mut self) {
        self.queue.clear();
        self.held.clear();
        (self.latest, self.played) = (0, false);
    }

    /// Goes on where a line with less room ended.
    fn go_on_from(&mut self, before: &mut Line) {
        for event in before.queue.all() {
            push(&mut self.queue, *event, &before.queue);
        }
        self.held.take_over(&mut before.held);
        (self.latest, self.played) = (before.latest, before.played);
        before.forget();
    }
}

/// Adds an event of the buffer `from`. What finds no room is counted there.
fn push(to: &mut EventBuffer, event: Event, from: &EventBuffer) {
    _ = match event.kind {
        EventKind::SysEx(message) => to.push_sysex(event.frame, event.source, from.sysex(message)),
        _ => to.push(event),
    };
}

/// Takes note of the events of a block, and ends what sounds where the song stops or jumps.
fn watch(
    held: &mut HeldNotes,
    played: &mut bool,
    events: &[Event],
    time: Option<&BlockTime<'_>>,
    received: &mut EventBuffer,
) {
    let mut events = events.iter().peekable();
    for segment in time.into_iter().flat_map(|time| time.segments) {
        let stops = std::mem::replace(played, segment.playing) && !segment.playing;
        if stops || segment.jumped {
            while let Some(event) = events.next_if(|event| event.frame < segment.offset) {
                held.watch(&event.kind);
            }
            // The first source: what the edge brings at this frame comes behind it, and may start notes.
            held.end_all(segment.offset, Source::LANE, |end| _ = received.push(end));
        }
    }
    events.for_each(|event| held.watch(&event.kind));
}

/// An event edge in its place. Another plan may give its line another one.
struct EventInput {
    bus: Bus,
    line: Arc<LineCell>,
    /// In frames.
    delay: u32,
    source: Source,
    /// Whether the writer follows the song.
    keeps_time: bool,
}

/// What a chain receives.
struct Receives {
    /// In the order of the edges.
    inputs: Box<[EventInput]>,
    /// Notes of edges that are gone.
    ends: Arc<EventCell<HeldNotes>>,
    /// What the first node gets in the present block.
    received: EventBuffer,
}

/// What a chain sends.
enum Sends {
    Nothing,
    /// What its last node writes, and how much of it found no room since the plan began.
    Own(EventBuffer, u64),
    /// What the host handed over.
    Host(Arc<EventCell<EventBuffer>>),
}

/// The events of a chain that has event ports. Nearly all chains have none.
pub(crate) struct ChainEvents {
    receives: Option<Receives>,
    sends: Sends,
}

/// The event ports of a node in a block.
#[derive(Default)]
pub(super) struct NodeEvents<'a> {
    pub received: Option<&'a EventBuffer>,
    pub sends: Option<EventsOut<'a>>,
}

impl ChainEvents {
    /// Of a chain with these inputs and nodes; `None` if it has no event ports.
    ///
    /// Thread: control; allocates.
    pub(super) fn new(
        units: &UnitGraph,
        (cells, events): (&[Option<Arc<NodeCell>>], &EventCells),
        inputs: &[UnitInput],
        nodes: &[NodeId],
        frames: usize,
    ) -> Option<Box<ChainEvents>> {
        let (first, last) = (*nodes.first()?, *nodes.last()?);
        let processor = |node: NodeId| cells[node.index()].as_ref();
        let input = |input: &UnitInput| {
            let EventLineId(id) = input.events?;
            let EventLine { from, edge, frames, .. } = units.event_lines()[id as usize];
            let keeps_time = processor(from).is_some_and(|cell| cell.keeps_time);
            let (bus, line) = (Bus::of(input.from, &[]), Arc::clone(&events.lines[id as usize]));
            let source = Source::edge(edge);
            Some(EventInput { bus, line, delay: frames, source, keeps_time })
        };
        let ends = events.ends[first.index()].clone().filter(|_| processor(first).is_some());
        let receives = ends.map(|ends| {
            // What is chased comes on top of what full edges bring.
            let lines = inputs.iter().filter_map(|input| input.events);
            let writers = lines.map(|EventLineId(id)| units.event_lines()[id as usize].from);
            let chased = writers.map(|from| room_of(processor(from), frames) - EVENTS);
            let chased = chased.sum::<usize>().min(MOST_EVENTS);
            let inputs: Box<[EventInput]> = inputs.iter().filter_map(input).collect();
            let edges = inputs.len().clamp(1, FULL_EDGES);
            let received = EventBuffer::new(EVENTS * edges + chased, SYSEX_BYTES * edges);
            Receives { inputs, ends, received }
        });
        let host = units.event_inputs().iter().find(|(node, _)| *node == last);
        let sends = match host {
            Some((_, number)) => events.host(*number).map_or(Sends::Nothing, Sends::Host),
            None if writes(units, last) && processor(last).is_some() => {
                Sends::Own(EventBuffer::new(room_of(processor(last), frames), SYSEX_BYTES), 0)
            }
            None => Sends::Nothing,
        };
        let has_ports = receives.is_some() || !matches!(sends, Sends::Nothing);
        has_ports.then(|| Box::new(ChainEvents { receives, sends }))
    }

    /// Before the edges are merged: the ends of notes whose edge is gone.
    ///
    /// # Safety
    /// ONE-WRITER and ONE-PLAN hold for the chain's unit.
    pub(super) unsafe fn begin(&mut self) {
        if let Sends::Own(buffer, _) = &mut self.sends {
            buffer.clear();
        }
        let Some(Receives { ends, received, .. }) = &mut self.receives else { return };
        received.clear();
        // SAFETY: the caller's obligation.
        let ends = unsafe { ends.get_mut() };
        ends.end_all(0, Source::LANE, |end| _ = received.push(end));
    }

    /// The bus whose events edge `place` brings; `None` behind the last edge.
    pub(super) fn bus(&self, place: usize) -> Option<Bus> {
        Some(self.receives.as_ref()?.inputs.get(place)?.bus)
    }

    /// Merges what edge `place` brings of what was sent. `late`: how many frames what the chain hears is late. Returns how
    /// many events were lost.
    ///
    /// # Safety
    /// ONE-WRITER and ONE-PLAN hold for the chain's unit.
    pub(super) unsafe fn merge(
        &mut self,
        place: usize,
        sent: Option<&EventBuffer>,
        frames: usize,
        (now, late): (&Now, u32),
    ) -> u32 {
        let Some(Receives { inputs, received, .. }) = &mut self.receives else { return 0 };
        let edge = &inputs[place];
        // SAFETY: the caller's obligation. The line is of this input alone (R1).
        let line = unsafe { edge.line.line.get_mut() };
        let frames = frames as u32;
        if !edge.keeps_time {
            return line.run(sent, edge, None, frames, received);
        }
        // SAFETY: as for the line.
        let room = unsafe { edge.line.late.get_mut() };
        line.run(sent, edge, Some(&now.time_in(late, room)), frames, received)
    }

    /// What the chain sent in the present block.
    ///
    /// # Safety
    /// READ-AFTER-WRITE and FILLED hold: the chain has run.
    pub(super) unsafe fn sent(&self) -> Option<&EventBuffer> {
        match &self.sends {
            Sends::Nothing => None,
            Sends::Own(buffer, _) => Some(buffer),
            // SAFETY: the caller's obligation.
            Sends::Host(cell) => Some(unsafe { cell.get() }),
        }
    }

    /// What the chain's last node sent in the last block that it ran. `None`: it sends nothing, or what the host hands over.
    pub(super) fn own_sent(&self) -> Option<&EventBuffer> {
        match &self.sends {
            Sends::Own(buffer, _) => Some(buffer),
            Sends::Nothing | Sends::Host(_) => None,
        }
    }

    /// The ports of the node at `place` of so many.
    pub(super) fn of(&mut self, place: usize, nodes: usize, frames: usize) -> NodeEvents<'_> {
        let received = self.receives.as_ref().filter(|_| place == 0).map(|it| &it.received);
        let sends = match &mut self.sends {
            Sends::Own(buffer, _) if place + 1 == nodes => Some(EventsOut::new(buffer, frames)),
            _ => None,
        };
        NodeEvents { received, sends }
    }

    /// The last node has panicked: what it started ends.
    #[cold]
    pub(super) fn end_what_was_sent(&mut self) {
        if let Sends::Own(buffer, _) = &mut self.sends {
            buffer.clear();
            _ = buffer.push(Event::new(0, Source::edge(0), EventKind::EndAllNotes));
        }
    }

    /// How many events of the last node found no room in this block.
    pub(super) fn refused(&mut self) -> u64 {
        let Sends::Own(buffer, before) = &mut self.sends else { return 0 };
        let all = buffer.counts().refused;
        all - std::mem::replace(before, all)
    }

    /// Forgets what waits and what sounds.
    ///
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold.
    pub(super) unsafe fn forget(&mut self) {
        let Some(Receives { inputs, ends, .. }) = &mut self.receives else { return };
        // SAFETY: the caller's obligation.
        unsafe {
            inputs.iter().for_each(|edge| edge.line.line.get_mut().forget());
            ends.get_mut().clear();
        }
    }
}

fn reads(units: &UnitGraph, node: NodeId) -> bool {
    units.node_ports()[node.index()].events.input
}

fn writes(units: &UnitGraph, node: NodeId) -> bool {
    units.node_ports()[node.index()].events.output
}

/// What of events plans share: it stays when a plan goes.
#[derive(Clone, Default)]
pub(crate) struct EventCells {
    /// By event line.
    lines: Vec<Arc<LineCell>>,
    /// By node: notes of edges that are gone, for nodes that read events.
    ends: Vec<Option<Arc<EventCell<HeldNotes>>>>,
    /// What the host hands over, by number of the input.
    pub hosts: Vec<(u16, Arc<EventCell<EventBuffer>>)>,
    /// What the leader does when it takes the plan over. A second time does nothing.
    pub moves: Vec<Move>,
}

/// What a line holds goes elsewhere, because the next plan lacks the line.
#[derive(Clone)]
pub(crate) struct Move {
    from: Arc<LineCell>,
    to: To,
}

#[derive(Clone)]
enum To {
    /// The edge has another line, with more room.
    Line(Arc<LineCell>),
    /// The edge is gone: its notes end.
    Ends(Arc<EventCell<HeldNotes>>),
}

impl Move {
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold.
    pub(super) unsafe fn carry_out(&self) {
        // SAFETY: the caller's obligation. The cells differ.
        let from = unsafe { self.from.line.get_mut() };
        match &self.to {
            // SAFETY: as above.
            To::Line(to) if !from.is_empty() => unsafe { to.line.get_mut() }.go_on_from(from),
            To::Line(_) => {}
            To::Ends(ends) => {
                // SAFETY: as above.
                unsafe { ends.get_mut() }.take_over(&mut from.held);
                from.forget();
            }
        }
    }
}

impl Line {
    fn is_empty(&self) -> bool {
        self.queue.all().is_empty() && self.held.is_empty()
    }
}

impl EventCells {
    /// Of the first plan. Blocks have up to `frames` frames.
    ///
    /// Thread: control; allocates.
    pub(crate) fn first(
        units: &UnitGraph,
        cells: &[Option<Arc<NodeCell>>],
        frames: usize,
    ) -> EventCells {
        let line = |line: &EventLine| Arc::new(LineCell::new(room_for(line, cells, frames)));
        let lines = units.event_lines().iter().map(line).collect();
        let nodes = (0..units.node_count()).map(|id| NodeId(id as u32));
        let ends = nodes.map(|node| reads(units, node).then(|| Arc::new(new_ends())));
        let mut cells = EventCells { lines, ends: ends.collect(), ..EventCells::default() };
        cells.add_hosts(units, &[], &HashSet::new());
        cells
    }

    /// Of a plan that follows the one of these. The lines of edges that stay go on, and the notes of those that go end.
    ///
    /// Thread: control; allocates. Cost: O(event lines + nodes).
    pub(crate) fn following<F: Fn(NodeId) -> Option<NodeId>>(
        &self,
        before: &Before<'_, F>,
        units: &UnitGraph,
        nodes: &[Option<Arc<NodeCell>>],
        frames: usize,
    ) -> EventCells {
        let mut cells = EventCells::default();
        for node in (0..units.node_count()).map(|id| NodeId(id as u32)) {
            let same = (before.same)(node).and_then(|was| self.ends[was.index()].clone());
            let ends = reads(units, node).then(|| same.unwrap_or_else(|| Arc::new(new_ends())));
            cells.ends.push(ends);
        }
        let mut stays: HashSet<usize> = HashSet::new();
        let key = |line: &EventLine| (line.reader, line.edge);
        let places = before.units.event_lines().iter().map(key).zip(0..);
        let places: HashMap<(NodeId, usize), usize> = places.collect();
        for line in units.event_lines() {
            let was = before.edges.get(&key(line)).and_then(|edge| places.get(edge));
            stays.extend(was);
            let room = room_for(line, nodes, frames);
            cells.add_line(was.map(|was| &self.lines[*was]), room);
        }
        let gone = (0..self.lines.len()).filter(|line| !stays.contains(line));
        cells.end_lines(before, &self.lines, gone);
        cells.add_hosts(units, &self.hosts, &before.ends.inputs);
        cells
    }

    /// Thread: control; allocates.
    fn add_line(&mut self, before: Option<&Arc<LineCell>>, room: usize) {
        let fits = |cell: &&Arc<LineCell>| cell.room >= room;
        if let Some(same) = before.filter(fits) {
            return self.lines.push(Arc::clone(same));
        }
        let line = Arc::new(LineCell::new(room));
        if let Some(before) = before {
            let (from, to) = (Arc::clone(before), To::Line(Arc::clone(&line)));
            self.moves.push(Move { from, to });
        }
        self.lines.push(line);
    }

    /// Thread: control; allocates. `lines` and `gone`: by event line of the plan before.
    fn end_lines<F: Fn(NodeId) -> Option<NodeId>>(
        &mut self,
        before: &Before<'_, F>,
        lines: &[Arc<LineCell>],
        gone: impl Iterator<Item = usize>,
    ) {
        let ids = (0..self.ends.len()).map(|id| NodeId(id as u32));
        let now: HashMap<NodeId, NodeId> =
            ids.filter_map(|id| Some(((before.same)(id)?, id))).collect();
        for line in gone {
            let reader = before.units.event_lines()[line].reader;
            let ends = now.get(&reader).and_then(|reader| self.ends[reader.index()].clone());
            let from = Arc::clone(&lines[line]);
            let to = ends.map(To::Ends);
            self.moves.extend(to.map(|to| Move { from, to }));
        }
    }

    /// `ends`: inputs of the plan before that only sound out. One of the same number that begins now hears nothing of
    /// what they still hold.
    ///
    /// Thread: control; allocates.
    fn add_hosts(
        &mut self,
        units: &UnitGraph,
        before: &[(u16, Arc<EventCell<EventBuffer>>)],
        ends: &HashSet<u16>,
    ) {
        for (_, number) in units.event_inputs() {
            if self.host(*number).is_none() {
                let goes_on = !ends.contains(number);
                let same = before.iter().find(|(own, _)| own == number && goes_on);
                let new = || Arc::new(EventCell::new(EventBuffer::new(EVENTS, SYSEX_BYTES)));
                let cell = same.map_or_else(new, |(_, cell)| Arc::clone(cell));
                self.hosts.push((*number, cell));
            }
        }
    }

    fn host(&self, number: u16) -> Option<Arc<EventCell<EventBuffer>>> {
        let found = self.hosts.iter().find(|(own, _)| *own == number);
        found.map(|(_, cell)| Arc::clone(cell))
    }
}

/// How many events a line has room for.
fn room_for(line: &EventLine, cells: &[Option<Arc<NodeCell>>], frames: usize) -> usize {
    LineCell::room(line.frames, room_of(cells[line.from.index()].as_ref(), frames), frames)
}

fn new_ends() -> EventCell<HeldNotes> {
    EventCell::new(HeldNotes::new())
}
