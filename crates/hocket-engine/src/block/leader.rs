//! The leader's access to blocks. Only the leader opens blocks, so only it may look inside while none is open.

use std::sync::Arc;

use hocket_dsp::RowsMut;
use hocket_time::{
    EventBuffer, Full, LoopRange, Segments, TempoMap, TimedCommand, Transport, TransportCommand,
};

use super::bus::UnitState;
use super::command_places::CommandPlaces;
use super::events::EventCell;
use super::node::{Contained, NodeCell, NodeState};
use super::part_counts::PartCounts;
use super::plan::Plan;
use super::port::{PortCell, is_silent};
use super::runner::Runner;
use super::stamps::Stamps;

/// Opens blocks, and reads their results.
///
/// Its type ensures the invariant CLOSED. Each runner has one `Leader`, which is not `Clone`. [`Leader::lead`]
/// borrows it exclusively, and returns when all threads have left. Everything that looks inside borrows it.
pub(crate) struct Leader {
    runner: Arc<Runner>,
    transport: Transport,
    /// One is taken for each command that waits in `transport`.
    places: CommandPlaces,
    /// Whether the plan has not run a block yet.
    plan_is_new: bool,
    /// The song's own loop, from the start on.
    repeat: Option<LoopRange>,
}

impl Leader {
    /// Becomes the leader of a runner whose workers have run no block yet. `repeat`: the song's loop.
    pub(crate) fn new(
        runner: Arc<Runner>,
        repeat: Option<LoopRange>,
        places: CommandPlaces,
    ) -> Leader {
        Leader { runner, transport: from_the_start(repeat), places, plan_is_new: true, repeat }
    }

    /// What plays, and where.
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The pieces of the last block; none before the first one.
    pub(crate) fn segments(&self) -> &Segments {
        &self.runner.now().segments
    }

    /// Carries a command out before the next block, or later if it says so.
    ///
    /// # Errors
    /// It gives the command back if too many wait for their frame, or are on their way from control threads.
    pub(crate) fn command(&mut self, command: TimedCommand) -> Result<(), Full> {
        if command.at_steady <= self.transport.steady_frame() {
            self.transport.apply(command.command);
            return Ok(());
        }
        if !self.places.take() {
            return Err(Full(command));
        }
        self.transport.schedule(command)
    }

    /// The same for a command of a control thread, which took a place for it unless it is for frame 0.
    pub(crate) fn command_with_place(&mut self, command: TimedCommand) {
        if command.at_steady <= self.transport.steady_frame() {
            self.transport.apply(command.command);
            self.places.give_back(usize::from(command.at_steady > 0));
            return;
        }
        let scheduled = self.transport.schedule(command);
        debug_assert!(scheduled.is_ok(), "there is a place for each command that waits");
    }

    /// Uses other tempos from the next block on. Returns the old ones, which the caller frees elsewhere.
    pub(crate) fn exchange_map(&mut self, map: Arc<TempoMap>) -> Arc<TempoMap> {
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        std::mem::replace(&mut unsafe { self.runner.now_mut() }.map, map)
    }

    /// Moves the song on by the block that is to come, and notes where the song is for all threads of the block.
    pub(crate) fn move_on(&mut self, frames: usize) {
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        let now = unsafe { self.runner.now_mut() };
        now.steady_frame = self.transport.steady_frame();
        let waiting = self.transport.waiting();
        self.transport.next_block_into(frames as u32, &mut now.segments);
        self.places.give_back(waiting - self.transport.waiting());
        now.history.push(&now.segments);
    }

    /// The part that every thread may use.
    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// Runs one block, see [`Runner::lead`].
    pub(crate) fn lead(&mut self, frames: usize, block: u64, next_ns: u64) {
        self.runner.lead(frames, block, next_ns);
        self.plan_is_new = false;
    }

    /// Runs one block alone, see [`Runner::lead_serial`].
    pub(crate) fn lead_serial(&mut self, frames: usize, block: u64) {
        self.runner.lead_serial(frames, block);
        self.plan_is_new = false;
    }

    /// Runs one block without the plan's workers, see [`Runner::lead_without_workers`].
    pub(crate) fn lead_without_workers(&mut self, frames: usize, block: u64) {
        self.runner.lead_without_workers(frames, block);
        self.plan_is_new = false;
    }

    /// Leaves one block out, see [`Runner::leave_out`]. The host's silence has been heard.
    pub(crate) fn leave_out(&mut self, block: u64) {
        self.runner.leave_out(block);
        let plan = self.runner.plan();
        for (port, fed_by) in plan.units.ports.iter().zip(&plan.fed_by) {
            if fed_by.is_none() {
                // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
                unsafe { port.get_mut() }.forget();
            }
        }
    }

    /// Whether the song stands still, and neither a command waits nor anything comes in for a block of so many frames.
    pub(crate) fn nothing_comes(&mut self, frames: usize) -> bool {
        if self.transport.is_playing() || self.transport.waiting() > 0 {
            return false;
        }
        let plan = self.runner.plan();
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        let is_empty = |host: &EventCell<EventBuffer>| unsafe { host.get_mut() }.all().is_empty();
        // SAFETY: as above.
        let is_quiet = |port: &PortCell| unsafe { port.get_mut() }.is_silent(frames);
        plan.events.hosts.iter().all(|(_, host)| is_empty(host))
            && plan.units.ports.iter().all(|port| is_quiet(port))
    }

    /// Whether what the host can read of the last block, which had so many frames, is silence.
    pub(crate) fn nothing_came_out(&self, frames: usize) -> bool {
        self.runner.plan().outputs.iter().all(|(unit, ports)| {
            let unit = self.unit(*unit as usize);
            let rows = unit.rows(frames).first(usize::from(ports.rows()));
            let mut rows = (0..rows.len()).map(|row| rows.row(row));
            unit.sent().is_none_or(|sent| sent.all().is_empty()) && rows.all(is_silent)
        })
    }

    /// Whether all processors of the plan allow that blocks are left out.
    pub(crate) fn plan_rests(&self) -> bool {
        self.runner.plan().rests
    }

    /// The notes of a worker or guard.
    pub(crate) fn stamps(&self, desk: usize) -> &Stamps {
        // SAFETY: CLOSED, by the type's invariant. All other references are for reading too.
        unsafe { self.runner.stamps(desk) }
    }

    /// Gives a thread other counters for its units, or none; returns those that it had.
    ///
    /// Thread: leader, between blocks.
    pub(crate) fn exchange_counts(
        &mut self,
        desk: usize,
        counts: Option<Box<PartCounts>>,
    ) -> Option<Box<PartCounts>> {
        // SAFETY: CLOSED, by the type's invariant. `&mut self`: no other reference is left.
        let stamps = unsafe { self.runner.stamps_mut(desk) };
        std::mem::replace(&mut stamps.counts, counts)
    }

    /// How often a worker slept at the end of the loops that it spread.
    pub(crate) fn slept_in_loops(&self, desk: usize) -> u64 {
        self.runner.now().spread.slept(desk)
    }

    /// A unit and its bus.
    pub(crate) fn unit(&self, unit: usize) -> &UnitState {
        // SAFETY: CLOSED, by the type's invariant. All other references are for reading too.
        unsafe { self.runner.plan().units.get(unit) }
    }

    /// The nodes that the engine silenced, and why. Allocates.
    pub(crate) fn contained(&self) -> impl Iterator<Item = Contained> {
        let nodes = (0..self.runner.plan().units.len()).flat_map(|unit| self.unit(unit).nodes());
        nodes.filter_map(|node| {
            // SAFETY: CLOSED and ONE-PLAN, by the type's invariant. All other references are for reading too.
            let state = unsafe { node.get() };
            node.contained_in(state)
        })
    }

    /// A node, for changes.
    pub(crate) fn node_mut<'a>(&'a mut self, node: &'a NodeCell) -> &'a mut NodeState {
        // SAFETY: CLOSED, by the type's invariant. Only the node's worker, inside a block, and the leader
        // access a node, in every plan that has it (ONE-PLAN). The leader is borrowed exclusively.
        unsafe { node.get_mut() }
    }

    /// Resets all processors and silences all buses.
    pub(crate) fn reset(&mut self) {
        self.places.give_back(self.transport.waiting());
        self.transport = from_the_start(self.repeat);
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        unsafe { self.runner.now_mut() }.history.clear();
        for unit in 0..self.runner.plan().units.len() {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            let unit = unsafe { self.runner.plan().units.get_mut(unit) };
            unit.silence();
            for cell in unit.nodes() {
                // SAFETY: as above, and ONE-PLAN.
                let node = unsafe { cell.get_mut() };
                node.reset();
                cell.start_again(node);
            }
            for line in unit.lines() {
                // SAFETY: as above.
                unsafe { line.get_mut() }.silence();
            }
            // SAFETY: as above.
            unit.events().for_each(|events| unsafe { events.forget() });
        }
        for (_, host) in &self.runner.plan().events.hosts {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            unsafe { host.get_mut() }.clear();
        }
        for port in &self.runner.plan().units.ports {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            unsafe { port.get_mut() }.silence();
        }
    }

    /// An engine input, for the host to write.
    pub(crate) fn input_mut(&mut self, number: u16, frames: usize) -> Option<RowsMut<'_>> {
        let plan = self.runner.plan();
        let is = |(port, input): (usize, &Option<(u16, u16)>)| {
            input.filter(|(own, _)| *own == number).map(|(_, rows)| (port, rows))
        };
        let (port, rows) = plan.inputs.iter().enumerate().find_map(is)?;
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        Some(unsafe { plan.units.ports[port].get_mut() }.input_mut(rows, frames))
    }

    /// The events of an engine input, for the host to hand over.
    pub(crate) fn events_mut(&mut self, number: u16) -> Option<&mut EventBuffer> {
        let (_, host) = self.runner.plan().events.hosts.iter().find(|(own, _)| *own == number)?;
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
        Some(unsafe { host.get_mut() })
    }

    /// Before a block: feedback arrives. Nearly no graph has any.
    pub(crate) fn fill_ports(&mut self, frames: usize) {
        let plan = self.runner.plan();
        for (port, fed_by) in plan.units.ports.iter().zip(&plan.fed_by) {
            if fed_by.is_some() {
                // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
                unsafe { port.get_mut() }.arrive(frames);
            }
        }
    }

    /// After a block: what feeds back is kept for the next one, and what the host played is over.
    pub(crate) fn drain_ports(&mut self, frames: usize) {
        let plan = self.runner.plan();
        for (_, host) in &plan.events.hosts {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            unsafe { host.get_mut() }.advance(frames as u32);
        }
        for (port, fed_by) in plan.units.ports.iter().zip(&plan.fed_by) {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            let port = unsafe { port.get_mut() };
            match fed_by {
                Some(unit) => port.keep(self.unit(*unit as usize).rows(frames)),
                None => port.forget(),
            }
        }
    }

    /// Uses another plan from the next block on. Returns the old one, which the caller frees elsewhere.
    ///
    /// Cost: that of a pointer. The workers that run delay lines change them in the first block of the new plan. If several
    /// plans take effect before one block, that block never came. The leader then changes the lines here, so that no change is
    /// lost and all stay in order. That costs some 50 ns for each line that changes (hocket's benchmark `graph`,
    /// docs/results/README.md).
    pub(crate) fn exchange(&mut self, plan: Box<Plan>) -> Box<Plan> {
        if std::mem::replace(&mut self.plan_is_new, true) {
            for unit in 0..self.runner.plan().units.len() {
                // SAFETY: CLOSED and ONE-PLAN, by the type's invariant. The leader is borrowed exclusively.
                unsafe { self.runner.plan().units.get_mut(unit).set_lines() };
            }
        }
        for port in &plan.units.ports {
            // SAFETY: CLOSED and ONE-PLAN, by the type's invariant. The leader is borrowed exclusively.
            unsafe { port.inherit() };
        }
        for moved in &plan.events.moves {
            // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively.
            unsafe { moved.carry_out() };
        }
        // SAFETY: CLOSED, by the type's invariant. The leader is borrowed exclusively, so nobody looks inside.
        unsafe { self.runner.exchange(plan) }
    }
}

/// An engine plays from its first block on, unless somebody says otherwise.
fn from_the_start(repeat: Option<LoopRange>) -> Transport {
    let mut transport = Transport::new();
    if let Some(range) = repeat {
        transport.apply(TransportCommand::Loop(range));
    }
    transport.apply(TransportCommand::Play);
    transport
}
