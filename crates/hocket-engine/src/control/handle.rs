//! The handle that control threads hold on a running engine.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_dsp::Change;
use hocket_plan::schedule::Team;
use hocket_plan::{
    CostTable, NodeId, NodeKind, ScheduleKind, SiblingPolicy, VerifiedSchedule, Violation,
};
use hocket_rt::Strategy;
use hocket_time::{LaneError, MAX_PENDING, TempoMap, TimedCommand};

use super::automation::{FirstLanes, LaneChange, ThinnedOut};
use super::background::LostWork;
use super::edit::EditError;
use super::lost_events::LostEvents;
use super::main_thread::{Held, Notice, Services, StateFailure};
use super::measured_costs::{Adopted, Expectations, UnitCost};
use super::orders::Outbox;
use super::output_delays::OutputDelay;
use super::planner::{Planner, Shared};
use super::prepare::Prepared;
use super::protect::Protection;
use super::protector::Protector;
use super::settings::{Settings, Steer};
use super::states::Loaded;
use super::transition::RefusedFades;
use crate::block::joined::Side;
use crate::block::node::{Contained, NodeCell};
use crate::block::plan::Plan;
use crate::leader::choose_walk::Reason;
use crate::leader::order::Order;

/// What an engine does at present, and what was expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The schedule's kind.
    pub kind: ScheduleKind,
    /// What may run on the other seats of the workers' cores.
    pub sibling: SiblingPolicy,
    /// Whether it stays, follows costs, or is chosen.
    pub steer: Steer,
    /// How threads wait.
    pub wait: Strategy,
    /// Workers that the plan needs.
    pub workers: usize,
    /// Units of the plan.
    pub units: usize,
    /// How many frames the output lags behind the inputs, on the longest path.
    pub latency_frames: u32,
    /// What a block of full length was expected to take; `None` where nothing had been measured.
    pub expected_ns: Option<f64>,
    /// What it takes; `None` before that is known. Where a host asks for shorter blocks, the times of those are scaled.
    pub measured_ns: Option<f64>,
    /// What the serial walk takes or took; `None` where it never ran.
    pub serial_ns: Option<f64>,
    /// Whether the leader walks this plan alone, without its workers ([`crate::Steer::Auto`]).
    pub walks_alone: bool,
    /// What a block with the plan's workers takes or took; `None` before that is known.
    pub workers_ns: Option<f64>,
    /// How many times blocks with workers were compared with the serial blocks between them, at most 255.
    /// `serial_ns` and `workers_ns` come from these comparisons; without any, they are running estimates.
    pub compared: u32,
    /// Why the plan is walked in this way.
    pub reason: Reason,
}

/// Why a plan or another order cannot be handed over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// Nobody runs blocks, so nobody takes orders.
    #[error("256 orders are on their way already: the engine runs no blocks; try again later")]
    Full,
    /// As many transport commands as there is room for wait for their frame.
    #[error(
        "{most} transport commands wait for their frame already: send this one after one of them has had its frame",
        most = MAX_PENDING
    )]
    TooManyCommands,
    /// The routing cannot be scheduled.
    #[error("the new routing breaks rule {0}")]
    Rule(#[from] Violation),
    /// Costs have not been measured yet.
    #[error("no costs have been measured yet: let the engine run some blocks first")]
    NothingMeasured,
    /// A tempo map that counts frames of another length.
    #[error(
        "the tempo map is made for {map_hz} Hz, and the engine runs at {engine_hz} Hz: make it for that rate"
    )]
    Rate {
        /// The map's sample rate.
        map_hz: u32,
        /// The engine's.
        engine_hz: u32,
    },
    /// A choice that needs an engine which began with it.
    #[error(
        "the engine began with a schedule of its own, so its leader has measured nothing to choose from: start it with \
         Steer::Auto"
    )]
    NeverChose,
    /// A way of waiting that this CPU does not have.
    #[error("wait '{0}' is not possible here: {1}")]
    Wait(Strategy, &'static str),
    /// A sibling policy that the engine did not start threads for.
    #[error(
        "sibling policy {} needs other threads than this engine has: name it in Settings::sibling_policies",
        .0.name()
    )]
    SiblingPolicy(SiblingPolicy),
    /// A largest block out of range.
    #[error(
        "blocks of up to {0} frames are not possible: choose {min} to {max} frames",
        min = Settings::FRAMES.start(),
        max = Settings::FRAMES.end()
    )]
    Frames(u32),
    /// The caller is not the engine's main thread.
    #[error(
        "this engine's main thread is the one that started it: call this there, or start the engine with \
         MainThread::Own"
    )]
    NotMainThread,
    /// The engine's main thread cannot be started.
    #[error("the engine's main thread cannot be started: {0}; close other programs")]
    Thread(String),
    /// A processor's main side panicked, or asks for a call of itself.
    #[error("the processor's main side panicked and is not called again, or it is inside a call")]
    Panicked,
    /// An automation lane cannot be made.
    #[error("the lane of parameter {param} of node '{node}' cannot be made: {why}")]
    Lane {
        /// The node's name.
        node: String,
        /// The parameter.
        param: u16,
        /// What is wrong with the lane.
        why: LaneError,
    },
}

/// A handle on a running engine for control threads. Clones steer the same engine.
///
/// Thread: any but the leader's and the workers': methods take a lock and allocate.
#[derive(Clone)]
pub struct Control {
    inner: Arc<Mutex<Planner>>,
    services: Arc<Services>,
    protector: Arc<Protector>,
    /// Last: everything else that a handle has goes before it.
    _held: Arc<Held>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// What threads note of a block, for traces and for the causes of late blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spans {
    /// Nothing. Lanes of a trace are empty, and late blocks have no cause in the block.
    Off,
    /// What each thread did from when to when. A span costs some 20 ns.
    Times,
    /// Also for how much of a long span its thread had no CPU: whether a unit was preempted, or dear. It needs no rights.
    ///
    /// Cost: a system call (`clock_gettime`) for each thread at the begin of each block, and at the end of each span of 20 µs
    /// or more. Time that the host of a virtual machine took away counts as time with a CPU, because the clock goes on.
    CpuTime,
}

impl Control {
    /// The first plan, and the handle.
    pub(crate) fn new(
        (prepared, lanes): (Prepared, FirstLanes),
        schedule: VerifiedSchedule,
        settings: &Settings,
        seats: (Team, Vec<usize>),
        (outbox, protector): (Outbox, &Arc<Protector>),
        shared: Shared<'_>,
    ) -> std::io::Result<(Plan, Control)> {
        let prepared = (prepared, lanes);
        let (plan, inner) = Planner::new(prepared, schedule, settings, seats, outbox, shared)?;
        let (services, inner) = (Arc::clone(shared.services), Arc::new(Mutex::new(inner)));
        services.know(&inner);
        let _held = Held::new(&services);
        Ok((plan, Control { inner, services, protector: Arc::clone(protector), _held }))
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Planner> {
        // A thread that panicked left plain data, and at worst an order that was never sent.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every unit of the present plan was measured to cost, by seat kind and sibling state.
    pub fn costs(&self) -> Vec<UnitCost> {
        self.lock().unit_costs()
    }

    /// The same by chain, to be kept: see [`Control::adopt_costs`]. `machine`: the processor's model.
    pub fn cost_table(&self, machine: &str) -> CostTable {
        let inner = self.lock();
        let (frames, rate_hz) = (inner.frames as u32, inner.rate_hz);
        CostTable { frames, rate_hz, machine: machine.into(), rows: inner.chain_costs() }
    }

    /// Takes costs over that were measured before, and hands over the plan that follows from them
    /// where the settings let plans follow costs.
    ///
    /// Times for another block length are scaled. Chains that the table does not know keep their
    /// estimates; what it knows of others is ignored.
    ///
    /// # Errors
    /// [`ControlError::Full`], [`ControlError::Rule`]: the costs are known all the same.
    pub fn adopt_costs(&self, table: &CostTable) -> Result<Adopted, ControlError> {
        self.lock().adopt(table)
    }

    /// Nodes of the newest plan whose output the engine silenced, since they joined or were reset. As
    /// [`Engine::contained`](super::engine::Engine::contained), for threads other than the leader, and without
    /// the message of a panic.
    pub fn contained(&self) -> Vec<Contained> {
        self.lock().contained()
    }

    /// What edits that were to fade changed from one block to the next, since the start, and why.
    pub fn refused_fades(&self) -> RefusedFades {
        self.lock().refused_fades
    }

    /// How late each output is, and which inputs it hears, by output. It is that of the newest plan: an edit and a processor that
    /// reports another latency change it, some blocks before it is heard.
    ///
    /// Thread: control. Cost: O(inputs * edges), under the lock of the control side.
    pub fn output_delays(&self) -> Vec<OutputDelay> {
        self.lock().output_delays()
    }

    /// What the engine does at present.
    pub fn standing(&self) -> Standing {
        self.lock().standing()
    }

    /// What was expected of a plan by its number; `None`: gone too long ago.
    pub(crate) fn expectations(&self, plan: u64) -> Option<Expectations> {
        self.lock().expectations(plan)
    }

    /// Plays, stops, locates or loops: before the next block, or before a later frame. Returns the order's number.
    ///
    /// Locating reads nothing on the leader: what plays by position finds its place itself.
    ///
    /// At most [`MAX_PENDING`] commands for a frame may be on their way or wait, with those of
    /// [`Engine::command`](super::engine::Engine::command). A command for frame 0, which means at once, does not count.
    ///
    /// # Errors
    /// [`ControlError::Full`], [`ControlError::TooManyCommands`]: the command is not sent.
    pub fn transport(&self, command: TimedCommand) -> Result<u64, ControlError> {
        let mut inner = self.lock();
        let places = usize::from(command.at_steady > 0);
        if places > 0 && !inner.outbox.places.take() {
            return Err(ControlError::TooManyCommands);
        }
        let sent = inner.send(Order { transport: Some(command), ..Order::default() });
        if sent.is_err() {
            inner.outbox.places.give_back(places);
        }
        sent
    }

    /// Goes on with other tempos and time signatures from the next block on. The song stays at its frame, and lanes in
    /// beats are made anew.
    ///
    /// # Errors
    /// [`ControlError::Full`]; [`ControlError::Rate`]; [`ControlError::Lane`] where a point would be too far. Nothing has
    /// changed then.
    pub fn set_tempo_map(&self, map: TempoMap) -> Result<u64, ControlError> {
        self.lock().set_tempo_map(map)
    }

    /// Gives parameters automation lanes or removes them, all before the next block. Returns the order's number.
    ///
    /// The values of a lane come as events at their frames. A node behind a latency hears them later by it, as it hears
    /// the sound. A new lane begins with the value where the song is. At one frame an edit wins over the lane, and the
    /// next value of the lane wins over the edit.
    ///
    /// Cost: O(points), for which it holds the lock. Call it before the first block for lanes that play from the start.
    ///
    /// # Errors
    /// [`EditError::NoNode`], [`ControlError::Lane`], [`ControlError::Full`]: nothing has changed then.
    pub fn automate(
        &self,
        changes: impl IntoIterator<Item = LaneChange>,
    ) -> Result<u64, EditError> {
        let mut inner = self.lock();
        let change = |LaneChange { node, param, lane }| Ok((inner.cell(node)?, param, lane));
        let changes: Result<Vec<_>, EditError> = changes.into_iter().map(change).collect();
        Ok(inner.automate(changes?)?)
    }

    /// The node of this kind in the newest graph that somebody asked for; `None`: it has none.
    ///
    /// Cost: O(nodes), for which it holds the lock.
    pub fn node(&self, kind: NodeKind) -> Option<NodeId> {
        self.lock().node(kind)
    }

    /// Changes parameters of nodes, all before the same block. Returns the order's number. `node`: in the newest graph.
    ///
    /// A change comes as an event at the start of the block. A lane of the parameter goes on from its next value. An
    /// [`Editor`](crate::Editor) does not learn of it: use either for a session, not both.
    ///
    /// # Errors
    /// [`EditError::NoNode`], [`EditError::NotANumber`] for NaN, [`ControlError::Full`]: nothing has changed then.
    pub fn change(
        &self,
        changes: impl IntoIterator<Item = (NodeId, Change)>,
    ) -> Result<u64, EditError> {
        self.lock().change(changes.into_iter().map(|(node, change)| (Ok(node), change)))
    }

    /// The same for nodes of these kinds in the newest graph, found and changed under one lock. So no edit comes between that
    /// gives their numbers to other nodes.
    ///
    /// Cost: O(nodes) for each change, for which it holds the lock.
    ///
    /// # Errors
    /// [`EditError::NoKind`]; otherwise as [`Control::change`]. Nothing has changed then.
    pub fn change_kinds(
        &self,
        changes: impl IntoIterator<Item = (NodeKind, Change)>,
    ) -> Result<u64, EditError> {
        let mut inner = self.lock();
        let found = |(kind, change)| (inner.node(kind).ok_or(EditError::NoKind(kind)), change);
        let changes: Vec<_> = changes.into_iter().map(found).collect();
        inner.change(changes)
    }

    /// The most frames of a block: [`Settings::frames`], or what [`Control::set_largest_block`] was last asked for. The leader
    /// may have to carry that order out still.
    pub fn largest_block(&self) -> u32 {
        self.lock().frames as u32
    }

    /// Nodes of the newest plan whose lanes gave more values than they have room for, since they joined or were reset.
    ///
    /// A node with `n` lanes has room for one value per lane and frame, as long as that is at most 4096, or else for
    /// `n * (frames / 16 + 16)` values per block of `frames` frames if that is more. Beyond it, every second value on a
    /// ramp goes. If only points and the ends of ramps are left, a new one takes the place of the last one of its lane.
    /// The first and the last value of a lane in a block always stay.
    pub fn thinned_out(&self) -> Vec<ThinnedOut> {
        self.lock().thinned_out()
    }

    /// Nodes of the newest plan that events did not reach or leave, because they found no room, since they joined or were
    /// reset.
    ///
    /// A port takes 1024 events per block, and note ends besides. A node with several event edges has room for as many
    /// from each of 8. What is chased has room besides, 15 times as much at most
    /// ([`Processor::events_per_jump`](hocket_dsp::Processor::events_per_jump)). Of changes of parameters on a ramp every
    /// second one goes before an event is lost. Note ends are never lost.
    ///
    /// What a processor itself had no room for counts too, such as what a plug-in's buffers did not hold
    /// ([`MainRequests::events_lost`](hocket_dsp::host::MainRequests::events_lost)).
    pub fn lost_events(&self) -> Vec<LostEvents> {
        self.lock().lost_events()
    }

    /// Nodes of the newest plan whose background work was refused a request or an answer, or panicked, since they joined
    /// ([`hocket_dsp::host`]).
    pub fn lost_work(&self) -> Vec<LostWork> {
        self.lock().lost_work()
    }

    /// Does what waits for the main thread, if that is the one which started the engine
    /// ([`MainThread::Starting`](super::settings::MainThread)): calls main sides that were asked for, and frees processors
    /// that were removed. Call it regularly, such as every 20 ms.
    ///
    /// Thread: main. Cost: that of what it calls.
    ///
    /// # Errors
    /// [`ControlError::NotMainThread`].
    pub fn service(&self) -> Result<(), ControlError> {
        // What orders replaced comes back first, and what has faded out.
        let mut inner = self.lock();
        inner.collect();
        inner.tidy();
        drop(inner);
        self.services.serve()
    }

    /// Does what processors asked their main sides for, before a block without a deadline.
    ///
    /// Thread: leader, between blocks.
    pub(crate) fn serve_offline(&self) {
        self.services.serve_offline();
    }

    /// What processors said about themselves since the last call, in the order of nodes: see [`Notice`].
    pub fn take_notices(&self) -> Vec<Notice> {
        self.lock().take_notices()
    }

    /// Goes on with blocks of up to so many frames, while it plays; for a sound server that changes its block. A number that
    /// is not larger changes nothing, because blocks may be shorter at any time. Returns the order's number.
    ///
    /// The leader takes it over before the next block, or in [`Engine::input_mut`](crate::Engine::input_mut) with more
    /// frames than before; [`Engine::largest_block`](crate::Engine::largest_block) says so. All state goes on, and the
    /// output has the same bits as if the engine had begun with this length. Only feedback waits for the largest block: it
    /// becomes later by the difference, with silence in between that fades at both ends.
    ///
    /// Processors with memory for blocks make it on the main thread first
    /// ([`MainSide::grow`](hocket_dsp::host::MainSide::grow)).
    ///
    /// Cost: builds a plan.
    ///
    /// # Errors
    /// [`ControlError::Frames`], [`ControlError::Full`]; with main sides also [`ControlError::NotMainThread`],
    /// [`ControlError::Thread`], and [`ControlError::Panicked`] where the main side of a processor that plays cannot be called.
    /// Nothing has changed then.
    pub fn set_largest_block(&self, frames: u32) -> Result<u64, ControlError> {
        if !Settings::FRAMES.contains(&frames) {
            return Err(ControlError::Frames(frames));
        }
        if let Some(number) = self.lock().is_large_enough(frames)? {
            return Ok(number);
        }
        loop {
            let grown = self.services.grow(frames)?;
            if let Some(number) = self.lock().grow(frames, grown)? {
                return Ok(number);
            }
        }
    }

    /// The state of a node's processor as bytes ([`MainSide::save`](hocket_dsp::host::MainSide::save)), while it plays.
    /// `node`: in the newest graph.
    ///
    /// The call runs on the main thread and may overlap blocks; what it saves is consistent as far as the processor's main
    /// side makes it so.
    ///
    /// # Errors
    /// [`StateFailure`].
    pub fn save_state(&self, node: NodeId) -> Result<Vec<u8>, StateFailure> {
        let (cell, side) = self.side(node)?;
        let save = move || side.call(|side| side.save().map_err(|why| why.to_string()));
        let saved = self.services.on_main(save)?.ok_or(ControlError::Panicked)?;
        saved.map_err(|why| StateFailure::Refused { node: cell.name.clone(), why })
    }

    /// Has a node's processor go on with a state that was saved. Its main side makes what is needed on the main thread
    /// ([`MainSide::load`](hocket_dsp::host::MainSide::load)); the processor takes it over before one block. Returns the
    /// order's number.
    ///
    /// # Errors
    /// [`StateFailure`]: nothing has changed then.
    pub fn load_state(&self, node: NodeId, state: &[u8]) -> Result<u64, StateFailure> {
        let (cell, side) = self.side(node)?;
        self.load_into(node, &cell, &side, state)
    }

    /// The same for a cell. `node`: for errors.
    pub(super) fn load_into(
        &self,
        node: NodeId,
        cell: &Arc<NodeCell>,
        side: &Arc<Side>,
        state: &[u8],
    ) -> Result<u64, StateFailure> {
        loop {
            let (bytes, loads) = (state.to_vec(), Arc::clone(side));
            let load = move || loads.make(|side| side.load(&bytes).map_err(|why| why.to_string()));
            let (turn, made) = self.services.on_main(load)?.ok_or(ControlError::Panicked)?;
            let refused = |why| StateFailure::Refused { node: cell.name.clone(), why };
            let loaded = Loaded::new(cell, side, turn, made.map_err(refused)?);
            let mut inner = self.lock();
            // Edits may have given the node another number since, or removed it.
            if !inner.has(cell) {
                return Err(StateFailure::NoNode(node));
            }
            if let Some(number) = inner.hand_over(vec![loaded])? {
                return Ok(number);
            }
        }
    }

    /// A node and its main side.
    fn side(&self, node: NodeId) -> Result<(Arc<NodeCell>, Arc<Side>), StateFailure> {
        let cell = self.lock().cell(node).map_err(|_| StateFailure::NoNode(node))?;
        let side = cell.side().cloned().ok_or_else(|| StateFailure::NoState(cell.name.clone()))?;
        Ok((cell, side))
    }

    /// Makes a plan from what was measured and hands it over, whatever the settings say of steering.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn replan(&self) -> Result<(), ControlError> {
        self.lock().replan()
    }

    /// Goes on with a schedule of this kind, or, with `None`, with the kind and the workers that `auto` chooses. The output
    /// stays the same bit for bit.
    ///
    /// A kind keeps to the workers with which the engine began: with [`Steer::Auto`] and [`Steer::Costs`] one for each seat,
    /// with [`Steer::Fixed`] those of its first schedule. `critical` follows measured costs from then on, unless the engine
    /// began with [`Steer::Fixed`].
    ///
    /// Cost: builds a plan.
    ///
    /// # Errors
    /// [`ControlError::NeverChose`] for `None`, where the engine did not begin with [`Steer::Auto`];
    /// [`ControlError::Full`], [`ControlError::Rule`]. Nothing has changed then.
    pub fn set_schedule(&self, kind: Option<ScheduleKind>) -> Result<(), ControlError> {
        self.lock().set_schedule(kind)
    }

    /// Goes on under another sibling policy: the first one, or one of
    /// [`Settings::sibling_policies`]. Returns what came of the policy's requests to the
    /// system, if a leader plays; a refusal is no error. The output stays the same bit for bit.
    ///
    /// A new plan has the workers of that policy; the other threads go to sleep. `auto` begins to compare anew. What the
    /// earlier policy asked of other threads of the process is given back first, so for a moment neither holds.
    ///
    /// Cost: builds a plan, and waits until the leader has taken it over, 250 ms at most. A policy that moves or marks threads
    /// makes some system calls for each of them. Threads that are inside a block may be among them, so a block or two may
    /// take longer.
    ///
    /// # Errors
    /// [`ControlError::SiblingPolicy`], [`ControlError::Full`], [`ControlError::Rule`]. Nothing has changed then.
    pub fn set_sibling_policy(&self, policy: SiblingPolicy) -> Result<Protection, ControlError> {
        let plan = |seats| self.lock().set_sibling_policy(policy, seats);
        let changed = self.protector.change(policy, plan, || self.is_settled())?;
        changed.ok_or(ControlError::SiblingPolicy(policy))
    }

    /// What came of the sibling policy's requests to the system. It is empty while no leader plays.
    ///
    /// Thread: as the others; waits while a policy is changed.
    pub fn protection(&self) -> Protection {
        self.protector.protection()
    }

    /// Why the present sibling policy changes nothing here; `None`: it does.
    pub fn policy_has_no_effect(&self) -> Option<String> {
        self.protector.no_effect()
    }

    /// Has threads wait in another way, inside blocks and between them. The output stays the same bit for bit.
    ///
    /// A wait that has begun goes on as it began, so a worker that sleeps changes with the next block. What occupies seats
    /// ([`Settings::seat_wait`]) stays. What blocks take may change by it: `auto` learns that from its next comparisons.
    ///
    /// # Errors
    /// [`ControlError::Wait`]: nothing has changed.
    pub fn set_wait(&self, wait: Strategy) -> Result<(), ControlError> {
        if let Some(why) = wait.missing() {
            return Err(ControlError::Wait(wait, why));
        }
        self.lock().wait.set(wait);
        Ok(())
    }

    /// What threads note of each block, from the next one on. The output stays the same bit for bit.
    pub fn set_spans(&self, spans: Spans) {
        let noting = &self.lock().noting;
        noting.spans.store(spans != Spans::Off, Relaxed);
        noting.cpu_time.store(spans == Spans::CpuTime, Relaxed);
    }

    /// What threads note of each block.
    pub fn spans(&self) -> Spans {
        let noted = self.lock().noting.now();
        match (noted.spans, noted.cpu_time) {
            (false, _) => Spans::Off,
            (true, false) => Spans::Times,
            (true, true) => Spans::CpuTime,
        }
    }

    /// Whether everything that was sent has been carried out.
    pub fn is_settled(&self) -> bool {
        let mut inner = self.lock();
        inner.collect();
        inner.outbox.is_settled()
    }
}
