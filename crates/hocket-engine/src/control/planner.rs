//! Makes plans from measured costs and sends them to the leader.
//!
//! Workers measure the cost of each unit (`block/costs.rs`). The leader measures how long blocks take
//! (`leader/block_estimates.rs`). From both, the planner makes a new plan on a control thread. The leader
//! exchanges the plans at the start of a block. Plans share processors, so each processor keeps its state,
//! and the output stays the same bit for bit.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hocket_dsp::Change;
use hocket_machine::clock::TickRate;
use hocket_plan::compile::{DelayLine, EventLine, PartSize, Prices, UnitGraph};
use hocket_plan::schedule::{Overheads, Schedule, Team, best};
use hocket_plan::{
    Fusing, Graph, GraphError, NodeId, NodeKind, ScheduleKind, SiblingPolicy, VerifiedSchedule,
};
use hocket_time::TempoMap;

use super::admission::Load;
use super::automation::FirstLanes;
use super::choose_schedule::ChooseSchedule;
use super::edit::EditError;
use super::handle::{ControlError, Standing};
use super::main_thread::{Grown, Services};
use super::orders::Outbox;
use super::output_delays::{OutputDelay, output_delays};
use super::prepare::Prepared;
use super::settings::{Settings, Steer};
use super::transition::{Leaving, Old, RefusedFades, Transition, at_once, transition};
use crate::block::before::{Before, PortsOf};
use crate::block::costs::Costs;
use crate::block::fade::Gains;
use crate::block::joined::Side;
use crate::block::node::{Contained, Exchange, NodeCell};
use crate::block::plan::{Cells, Plan};
use crate::block::stamps::Noting;
use crate::block::waits::ChosenWait;
use crate::leader::block_estimates::BlockEstimates;
use crate::leader::choose_walk::{Finding, Reason};
use crate::leader::order::Order;

/// A unit is folded into its reader if both together cost less than this.
///
/// It is four times the cost of a hand-over. So running both on one worker loses less than the hand-over
/// would cost.
const FOLD_BELOW_NS: f64 = 1000.0;
/// The planner makes a new plan when costs have moved by more than this fraction of their sum.
pub(super) const MOVED: f64 = 0.15;

/// How many blocks must run between two plans.
const ENOUGH: u32 = 64;
/// How many finished orders the planner remembers until a caller asks. The editor asks at every edit.
const REMEMBERED: usize = 4096;
/// How many earlier plans the planner remembers.
const PAST_PLANS: usize = 8;

/// The cells of a graph, by node.
pub(super) type Nodes = [Option<Arc<NodeCell>>];

pub(crate) struct Planner {
    pub(super) outbox: Outbox,
    /// Units before folding. Until they are priced, their costs are the declared ones.
    pub(crate) base: UnitGraph,
    /// What the units were made of.
    pub(crate) graph: Graph,
    /// Where the nodes of the newest graph that somebody asked for are in `graph`.
    pub(super) places: Vec<NodeId>,
    /// The newest graph that somebody asked for.
    pub(super) requested: Graph,
    /// Edges of `graph` that are only there until they have faded out.
    leaving: Leaving,
    /// What follows when all edges have faded.
    follows: Option<Graph>,
    /// How many graphs were installed.
    installed: u64,
    /// What could not fade.
    pub(super) refused_fades: RefusedFades,
    pub(crate) cells: Cells,
    pub(super) prices: Prices,
    pub(super) team: Team,
    /// The kind of each worker's seat.
    pub(super) kinds: Vec<usize>,
    pub(super) kind: ScheduleKind,
    /// The sibling policy of the newest plan.
    pub(super) sibling: SiblingPolicy,
    pub(super) steer: Steer,
    /// Whether the leader can choose: it began with [`Steer::Auto`].
    can_choose: bool,
    pub(super) frames: usize,
    pub(super) rate_hz: u32,
    pub(super) present: Present,
    /// Earlier plans, newest last. A block that is explained later may belong to one of them.
    pub(super) past: VecDeque<Present>,
    pub(super) progress: Arc<BlockEstimates>,
    /// Blocks since the last order when costs were judged last.
    judged_at: Option<u32>,
    /// What edits that are tried out are compared with.
    pub(super) load: Load,
    pub(super) rate: TickRate,
    /// What the cooperation of workers costs.
    pub(super) overheads: Overheads,
    /// What `auto` has found so far.
    pub(super) auto: ChooseSchedule,
    pub(super) done: VecDeque<(u64, u64)>,
    /// The tempo map that was sent last.
    pub(super) map: Arc<TempoMap>,
    pub(crate) services: Arc<Services>,
    /// How threads wait.
    pub(super) wait: Arc<ChosenWait>,
    pub(super) noting: Arc<Noting>,
    /// Whether plans have couples.
    pub(super) couples: bool,
}

/// Nodes that replace those of the present plan.
pub(crate) struct Installation {
    pub graph: Graph,
    /// Indexed by node. A node that stays keeps its cell.
    pub nodes: Vec<Option<Arc<NodeCell>>>,
    /// Changes that take effect together with the plan.
    pub changes: Vec<(Arc<NodeCell>, Change)>,
    /// Whether edges fade; otherwise they change from one block to the next.
    pub fades: bool,
}

/// What a plan is made of.
pub(super) struct Planned {
    pub(super) units: UnitGraph,
    pub(super) schedule: Schedule,
    /// What a block is expected to take, in nanoseconds.
    pub(super) expected: f64,
}

/// What the planner remembers of a plan that it sent.
pub(super) struct Present {
    pub(super) number: u64,
    pub(super) schedule: VerifiedSchedule,
    pub(super) costs: Arc<Costs>,
    pub(super) expected_ns: Option<f64>,
}

impl Present {
    fn of(plan: &Plan, expected_ns: Option<f64>) -> Present {
        let (schedule, costs) = (plan.schedule.clone(), Arc::clone(&plan.costs));
        Present { number: plan.number, schedule, costs, expected_ns }
    }

    fn latency_frames(&self) -> u32 {
        self.schedule.units().units()[self.schedule.last().index()].latency_frames
    }
}

/// What the control side has in common with the leader and the threads.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub progress: &'a Arc<BlockEstimates>,
    pub map: &'a Arc<TempoMap>,
    pub services: &'a Arc<Services>,
    pub wait: &'a Arc<ChosenWait>,
    pub noting: &'a Arc<Noting>,
}

impl Planner {
    /// Makes the first plan, and the planner.
    pub(crate) fn new(
        (prepared, mut lanes): (Prepared, FirstLanes),
        schedule: VerifiedSchedule,
        settings: &Settings,
        (team, kinds): (Team, Vec<usize>),
        outbox: Outbox,
        Shared { progress, map, services, wait, noting }: Shared<'_>,
    ) -> std::io::Result<(Plan, Planner)> {
        let frames = settings.frames as usize;
        let named = prepared.processors.into_iter().zip(prepared.node_names);
        let cell = |(node, (processor, name)): (u32, (Option<_>, String))| {
            let Some(processor) = processor else { return Ok(None) };
            let cell = NodeCell::joining(name, processor, services)?;
            let lanes = lanes.remove(&NodeId(node));
            Ok(Some(Arc::new(match lanes {
                Some(lanes) => cell.with_lanes(lanes, frames),
                None => cell,
            })))
        };
        let nodes: std::io::Result<Vec<_>> = (0..).zip(named).map(cell).collect();
        let nodes = nodes?;
        let cells = Cells::first(&prepared.units, nodes, frames);
        let mut plan = Plan::new(schedule, &cells, frames);
        plan.follow(settings.policy.sibling);
        let inner = Planner {
            outbox,
            places: (0..prepared.graph.nodes().len()).map(|id| NodeId(id as u32)).collect(),
            base: prepared.units,
            requested: prepared.graph.clone(),
            graph: prepared.graph,
            leaving: Leaving::new(),
            follows: None,
            installed: 0,
            refused_fades: RefusedFades::default(),
            cells,
            prices: Prices::new(),
            team,
            kinds,
            kind: settings.policy.schedule,
            sibling: settings.policy.sibling,
            steer: settings.steer,
            can_choose: settings.steer == Steer::Auto,
            frames,
            rate_hz: settings.rate_hz,
            present: Present::of(&plan, None),
            past: VecDeque::new(),
            progress: Arc::clone(progress),
            judged_at: None,
            load: Load::default(),
            rate: TickRate::get(),
            overheads: settings.overheads,
            auto: ChooseSchedule::knowing(settings.found_before),
            done: VecDeque::new(),
            map: Arc::clone(map),
            services: Arc::clone(services),
            wait: Arc::clone(wait),
            noting: Arc::clone(noting),
            couples: settings.couples.are_made(),
        };
        Ok((plan, inner))
    }

    pub(super) fn standing(&self) -> Standing {
        let ns = |ticks: Option<f64>| ticks.map(|ticks| ticks * self.ns_per_tick());
        let finding = self.finding();
        let compared = finding.serial.zip(finding.ratio);
        let workers_ns = match compared {
            Some((serial, ratio)) => ns(Some(serial * ratio)),
            None => ns(self.progress.present_ticks()),
        };
        let serial_ns = ns(compared.map(|(serial, _)| serial).or(self.progress.serial_ticks()));
        let walks_alone = finding.reason == Reason::SerialIsShorter;
        Standing {
            kind: self.present.schedule.kind(),
            sibling: self.sibling,
            steer: self.steer,
            wait: self.wait.get(),
            workers: self.present.schedule.workers(),
            units: self.present.schedule.units().units().len(),
            latency_frames: self.present.latency_frames(),
            expected_ns: self.present.expected_ns,
            measured_ns: if walks_alone { serial_ns } else { workers_ns },
            serial_ns,
            walks_alone,
            workers_ns,
            compared: finding.windows,
            reason: finding.reason,
        }
    }

    /// What the leader found for the present plan.
    fn finding(&self) -> Finding {
        match (self.steer, self.progress.finding(self.present.number)) {
            (Steer::Auto, Some(finding)) => finding,
            (Steer::Auto, None) if self.present.schedule.workers() > 1 => {
                Finding { reason: Reason::Comparing, ..Finding::default() }
            }
            (Steer::Auto, None) => Finding::default(),
            _ => Finding { reason: Reason::AsSettingsSay, ..Finding::default() },
        }
    }

    pub(super) fn output_delays(&self) -> Vec<OutputDelay> {
        output_delays(&self.graph, &self.base)
    }

    pub(super) fn contained(&self) -> Vec<Contained> {
        self.cells.nodes.iter().flatten().filter_map(|node| node.contained()).collect()
    }

    pub(super) fn collect(&mut self) {
        while let Some(done) = self.outbox.next_done() {
            // Without an editor nobody asks, so the oldest one goes.
            if self.done.len() == REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(done);
        }
    }

    /// The units with their measured costs, folded and cut for this kind of schedule.
    pub(super) fn priced_units(&self, kind: ScheduleKind) -> UnitGraph {
        self.folded_and_cut(&self.base, &self.prices, kind)
    }

    /// Prices `units` and folds the cheap ones. Cuts wide sums into parts if that can help in this kind of
    /// schedule.
    pub(super) fn folded_and_cut(
        &self,
        units: &UnitGraph,
        prices: &Prices,
        kind: ScheduleKind,
    ) -> UnitGraph {
        let folded = units.clone().priced(prices).fold(FOLD_BELOW_NS);
        let size = PartSize { cost: FOLD_BELOW_NS, ..PartSize::unpriced(self.frames as u32) };
        cut_for(kind, self.team.workers(), folded, prices, size)
    }

    /// Couples chains for so many workers, if plans have couples. `nodes`: their cells, by node.
    pub(super) fn coupled(&self, units: UnitGraph, nodes: &Nodes, workers: usize) -> UnitGraph {
        let key = |node: NodeId| nodes[node.index()].as_ref()?.abreast_key.map(|key| key.number());
        if self.couples { units.couple(&key, workers) } else { units }
    }

    pub(super) fn replan(&mut self) -> Result<(), ControlError> {
        // If the present plan has no measured costs yet, earlier ones still hold.
        if self.learn().is_none() && self.prices.is_empty() {
            return Err(ControlError::NothingMeasured);
        }
        let Planned { units, schedule, expected } = self.planned_anew();
        self.auto.end_trial();
        self.send_plan(units, schedule, Some(expected), true)
    }

    /// Goes on with this kind of schedule; `None`: as `auto` chooses.
    pub(super) fn set_schedule(&mut self, kind: Option<ScheduleKind>) -> Result<(), ControlError> {
        if kind.is_none() && !self.can_choose {
            return Err(ControlError::NeverChose);
        }
        self.learn();
        let before = (self.kind, self.steer);
        self.kind = kind.unwrap_or(self.kind);
        self.steer = match kind {
            None => Steer::Auto,
            Some(ScheduleKind::Critical) => Steer::Costs,
            Some(_) => Steer::Fixed,
        };
        let Planned { units, schedule, expected } = self.planned_anew();
        let expected = (!self.prices.is_empty()).then_some(expected);
        let sent = self.send_plan(units, schedule, expected, true);
        match &sent {
            Ok(()) => self.auto.end_trial(),
            Err(_) => (self.kind, self.steer) = before,
        }
        sent
    }

    /// Goes on under another sibling policy, with the workers of this team. `kinds`: of their seats.
    pub(super) fn set_sibling_policy(
        &mut self,
        policy: SiblingPolicy,
        (team, kinds): (Team, Vec<usize>),
    ) -> Result<(), ControlError> {
        self.learn();
        let mut team = Team { pair_speed: self.team.pair_speed, ..team };
        self.measured_speeds(&team, &kinds).apply(&mut team, &kinds);
        let team = std::mem::replace(&mut self.team, team);
        let before = (self.sibling, team, std::mem::replace(&mut self.kinds, kinds));
        self.sibling = policy;
        let Planned { units, schedule, expected } = self.planned_anew();
        let expected = (!self.prices.is_empty()).then_some(expected);
        let sent = self.send_plan(units, schedule, expected, true);
        match &sent {
            // Another kind may be the best for these workers.
            Ok(()) => self.auto = ChooseSchedule::knowing(None),
            Err(_) => (self.sibling, self.team, self.kinds) = before,
        }
        sent
    }

    /// Makes a schedule for the nodes of the newest plan, with what is known now.
    pub(super) fn planned_anew(&self) -> Planned {
        self.planned(&self.base, &self.prices, &self.cells.nodes)
    }

    /// Makes a schedule for these units as the settings require.
    fn planned(&self, base: &UnitGraph, prices: &Prices, nodes: &Nodes) -> Planned {
        let (units, overheads) = match (self.steer, prices.is_empty()) {
            (Steer::Auto, true) => {
                let units = self.coupled(base.clone(), nodes, 1);
                let schedule = Schedule::plan(ScheduleKind::Serial, &units, 1);
                return Planned { units, schedule, expected: 0.0 };
            }
            (Steer::Auto, false) => return self.best_known(base, prices, nodes),
            (_, true) => (base.clone(), Overheads::NONE),
            (_, false) => (self.folded_and_cut(base, prices, self.kind), self.overheads),
        };
        let workers = if self.kind == ScheduleKind::Serial { 1 } else { self.team.workers() };
        let units = self.coupled(units, nodes, workers);
        let schedule = Schedule::plan_with(self.kind, &units, &self.team, overheads);
        let expected = best(&units, &self.team, self.overheads).expected;
        Planned { units, schedule, expected }
    }

    /// Sends a plan to the leader. With `trial`, `auto` tries its workers immediately and ignores what it
    /// knows of earlier plans.
    pub(super) fn send_plan(
        &mut self,
        units: UnitGraph,
        schedule: Schedule,
        expected_ns: Option<f64>,
        trial: bool,
    ) -> Result<(), ControlError> {
        let verified = VerifiedSchedule::verify(units, schedule)?;
        let mut plan = Plan::new(verified, &self.cells, self.frames);
        plan.trial = trial;
        let present = Present::of(&plan, expected_ns);
        let plan = Some(Box::new(plan));
        self.send(Order { plan, is_unheard: true, ..Order::default() })?;
        self.go_on_with(present);
        Ok(())
    }

    /// Replaces the nodes. `before` returns the node of the last installation that a new one is. Returns the number
    /// of the order.
    pub(crate) fn install(
        &mut self,
        mut new: Installation,
        before: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Result<u64, EditError> {
        Planner::told_latencies(&mut new.graph, &new.nodes);
        new.graph.check_delays()?;
        let is_ready = |side: &Arc<Side>| side.largest.load(Relaxed) as usize >= self.frames;
        if !new.nodes.iter().flatten().filter_map(|cell| cell.side()).all(is_ready) {
            return Err(EditError::Grew);
        }
        let was = |id: NodeId| Some(self.places[before(id)?.index()]);
        // If both graphs together are too large, the new one alone may still be possible.
        let softly = new.fades.then(|| self.way_to(&new.graph, true, &was)).and_then(Result::ok);
        let way = softly.map_or_else(|| self.way_to(&new.graph, false, &was), Ok)?;
        let mut nodes = vec![None; way.next.graph.nodes().len()];
        for (cell, id) in nodes.iter_mut().zip(&way.next.origins) {
            // What is only left over keeps its cell; the others get theirs below.
            *cell = id.and_then(|id| self.cells.nodes[id.index()].clone());
        }
        for (cell, place) in new.nodes.into_iter().zip(&way.next.places) {
            nodes[place.index()] = cell;
        }
        let requested = new.graph.clone();
        let follows = way.is_passing().then_some(new.graph);
        let (refused, places) = (way.next.refused, way.next.places.clone());
        let gains = if new.fades { Gains::Fade } else { Gains::Jump };
        let number = self.exchange(way, nodes, Some(new.changes), gains)?;
        (self.places, self.follows, self.requested) = (places, follows, requested);
        if new.fades {
            self.refused_fades.add(refused);
        }
        self.installed += 1;
        Ok(number)
    }

    /// What blocks are expected to take with another graph, and what if its new nodes cost nothing, in nanoseconds. The present
    /// graph is no measure: while an edit fades in, it has units that have no price yet. `before` as in [`Planner::install`];
    /// `costs`: what new nodes were measured to cost, by node.
    ///
    /// Where the leader works alone now, both are times of the serial walk: workers that it does not use shorten nothing.
    pub(super) fn compared(
        &mut self,
        mut graph: Graph,
        nodes: &Nodes,
        before: impl Fn(NodeId) -> Option<NodeId>,
        costs: &[Option<f64>],
    ) -> Result<(f64, f64), EditError> {
        // If the present plan has no measured costs yet, earlier ones still hold.
        if self.learn().is_none() && self.prices.is_empty() {
            return Err(ControlError::NothingMeasured.into());
        }
        Planner::told_latencies(&mut graph, nodes);
        graph.check_delays()?;
        let base = UnitGraph::compile(&graph, Fusing::Chains)?;
        let mut prices = Prices::new();
        for id in (0..graph.nodes().len()).map(|id| NodeId(id as u32)) {
            let price = before(id).and_then(|id| self.prices.get(self.places[id.index()]));
            price.into_iter().for_each(|price| prices.set(id, price));
        }
        let unlearned = |id: NodeId| self.load.unlearned_ns(&nodes[id.index()]);
        let cost = |id: NodeId| costs[id.index()].or_else(|| unlearned(id));
        let with = with_added(&base, prices.clone(), cost);
        let cost = |id: NodeId| costs[id.index()].map(|_| 0.0).or_else(|| unlearned(id));
        let without = with_added(&base, prices, cost);
        Ok((self.makespan(&base, &with), self.makespan(&base, &without)))
    }

    /// What a block of these units is expected to take.
    fn makespan(&self, base: &UnitGraph, prices: &Prices) -> f64 {
        let kind = if self.steer == Steer::Auto { ScheduleKind::Critical } else { self.kind };
        let choice = best(&self.folded_and_cut(base, prices, kind), &self.team, self.overheads);
        let standing = self.standing();
        let alone = standing.walks_alone || standing.workers == 1;
        if alone { choice.serial } else { choice.expected }
    }

    /// How to get from the present graph to another.
    fn way_to(
        &self,
        new: &Graph,
        fades: bool,
        was: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Result<Way, GraphError> {
        let lines = || self.base.lines().iter().zip(&self.cells.lines);
        let at = |(line, _): (&DelayLine, _)| (line.reader, line.edge);
        let old = Old {
            graph: &self.graph,
            places: &self.places,
            fading: lines().filter(|(_, cell)| !cell.is_settled()).map(at).collect(),
            late: lines().filter(|(line, _)| line.frames > 0).map(at).collect(),
            leaving: &self.leaving,
        };
        let next = match fades {
            true => transition(&old, new, was, self.installed)?,
            false => at_once(&old, new, was),
        };
        let base = UnitGraph::compile_fading(&next.graph, Fusing::Chains, &next.fades)?;
        Ok(Way { next, base })
    }

    /// Goes on without what has faded. Does nothing as long as something fades.
    pub(crate) fn tidy(&mut self) {
        let fades = self.cells.lines.iter().any(|line| !line.is_settled());
        if self.follows.is_none() || !self.outbox.is_settled() || fades {
            return;
        }
        let Some(graph) = self.follows.take() else { return };
        let was = |id: NodeId| self.places.get(id.index()).copied();
        let Ok(plain) = self.way_to(&graph, false, &was) else { return };
        let cells = self.places.iter().map(|place| self.cells.nodes[place.index()].clone());
        let cells = cells.collect();
        match self.exchange(plain, cells, None, Gains::Jump) {
            Ok(_) => self.places = (0..graph.nodes().len()).map(|id| NodeId(id as u32)).collect(),
            // The next look tries again.
            Err(_) => self.follows = Some(graph),
        }
    }

    /// Sends a plan for a graph whose nodes have these cells. `changes`: of nodes, together with the plan; none if nobody
    /// hears the exchange.
    fn exchange(
        &mut self,
        Way { next, base }: Way,
        nodes: Vec<Option<Arc<NodeCell>>>,
        changes: Option<Vec<(Arc<NodeCell>, Change)>>,
        gains: Gains,
    ) -> Result<u64, EditError> {
        // Known prices stay with their nodes.
        self.learn();
        self.auto.end_trial();
        let mut prices = Prices::new();
        for (head, origin) in next.origins.iter().enumerate() {
            let price = origin.and_then(|origin| self.prices.get(origin));
            price.into_iter().for_each(|price| prices.set(NodeId(head as u32), price));
        }
        let Planned { units, schedule, .. } = self.planned(&base, &prices, &nodes);
        let verified = VerifiedSchedule::verify(units, schedule).map_err(ControlError::from)?;
        let before = Before {
            units: &self.base,
            same: |id: NodeId| next.origins[id.index()],
            edges: &next.edges,
            ends: &next.ends,
            silent: &silent_frames(&next, &base, self.frames),
            gains,
        };
        let (cells, sets) = self.cells.following(&before, &base, nodes, self.frames);
        let plan = Plan::exchanging(verified, &cells, &sets, self.frames);
        let present = Present::of(&plan, None);
        let (plan, is_unheard) = (Some(Box::new(plan)), changes.is_none());
        let changes = changes.unwrap_or_default();
        let order = Order { plan, changes, is_unheard, ..Order::default() };
        let number = self.send(order)?;
        let set = cells.lines.iter().zip(&sets).filter(|(_, set)| set.is_some());
        set.for_each(|(line, _)| line.ask());
        (self.base, self.cells, self.prices) = (base, cells, prices);
        (self.graph, self.leaving) = (next.graph, next.leaving);
        self.go_on_with(present);
        Ok(number)
    }

    /// The number of an order that changes nothing, if blocks may have so many frames already.
    pub(super) fn is_large_enough(&mut self, frames: u32) -> Result<Option<u64>, ControlError> {
        let is_large_enough = frames as usize <= self.frames;
        is_large_enough.then(|| self.send(Order::default())).transpose()
    }

    /// Goes on with blocks of up to so many frames, under the same schedule. `grown`: main sides that are ready, and what
    /// they made. `None`: make it anew. A processor has joined that is not ready yet, or gets something newer.
    pub(super) fn grow(
        &mut self,
        frames: u32,
        grown: Vec<Grown>,
    ) -> Result<Option<u64>, ControlError> {
        // Somebody was faster: what was made is too small.
        if let Some(number) = self.is_large_enough(frames)? {
            return Ok(Some(number));
        }
        let mut made: HashMap<*const Side, Grown> =
            grown.into_iter().map(|grown| (Arc::as_ptr(&grown.side), grown)).collect();
        let (mut exchanges, mut turns) = (Vec::new(), Vec::new());
        for cell in self.cells.nodes.iter().flatten() {
            let Some(side) = cell.side() else { continue };
            match made.remove(&Arc::as_ptr(side)) {
                // One that is silent needs no room.
                Some(grown) if grown.turn.is_none() && !cell.shown().1 => {
                    return Err(ControlError::Panicked);
                }
                // It knows nothing of a state that the processor gets before.
                Some(grown) if grown.turn.is_some_and(|turn| side.is_outdated(turn)) => {
                    return Ok(None);
                }
                Some(mut grown) => {
                    turns.extend(grown.turn.map(|turn| (Arc::clone(side), turn)));
                    let node = Arc::clone(cell);
                    let made = grown.made.take();
                    exchanges.extend(made.map(|made| Exchange { node, made: Some(made) }));
                }
                // Relaxed: this lock orders it.
                None if side.largest.load(Relaxed) < frames => return Ok(None),
                None => {}
            }
        }
        let exchanges = exchanges.into_boxed_slice();
        // Of processors that have gone or wait for an edit that will be refused.
        drop(made);
        self.learn();
        let edges = |line: &DelayLine| (line.reader, line.edge);
        let events = |line: &EventLine| (line.reader, line.edge);
        let lines = self.base.lines().iter().map(edges);
        let lines = lines.chain(self.base.event_lines().iter().map(events));
        let before = Before {
            units: &self.base,
            same: Some,
            edges: &lines.map(|at| (at, at)).collect(),
            ends: &PortsOf::default(),
            silent: &vec![0; self.graph.nodes().len()],
            gains: Gains::Fade,
        };
        let nodes = self.cells.nodes.clone();
        let (cells, sets) = self.cells.following(&before, &self.base, nodes, frames as usize);
        let schedule = self.present.schedule.clone();
        let plan = Plan::exchanging(schedule, &cells, &sets, frames as usize);
        let present = Present::of(&plan, None);
        let lanes = self.lanes_for(frames as usize);
        let order = Order { plan: Some(Box::new(plan)), lanes, exchanges, ..Order::default() };
        let number = self.send(order)?;
        turns.into_iter().for_each(|(side, turn)| side.is_handed_over(turn));
        let set = cells.lines.iter().zip(&sets).filter(|(_, set)| set.is_some());
        set.for_each(|(line, _)| line.ask());
        let sides = cells.nodes.iter().flatten().filter_map(|cell| cell.side());
        sides.for_each(|side| side.largest.store(frames, Relaxed));
        let scale = f64::from(frames) / self.frames as f64;
        self.prices = self.scaled_prices(scale);
        self.load.scale(scale);
        (self.cells, self.frames) = (cells, frames as usize);
        self.go_on_with(present);
        Ok(Some(number))
    }

    /// What blocks of another length cost.
    fn scaled_prices(&self, scale: f64) -> Prices {
        let mut prices = Prices::new();
        for node in (0..self.graph.nodes().len()).map(|id| NodeId(id as u32)) {
            let price = self.prices.get(node);
            price.into_iter().for_each(|price| prices.set(node, price * scale));
        }
        prices
    }

    fn go_on_with(&mut self, present: Present) {
        let before = std::mem::replace(&mut self.present, present);
        self.past.push_back(before);
        if self.past.len() > PAST_PLANS {
            self.past.pop_front();
        }
    }

    pub(crate) fn send(&mut self, mut order: Order) -> Result<u64, ControlError> {
        // The count of blocks begins anew.
        self.judged_at = None;
        self.collect();
        if order.plan.is_some() {
            // The leader forgets it with the exchange.
            self.follow_load();
        }
        if let Some(plan) = &mut order.plan {
            plan.is_fixed = self.steer != Steer::Auto;
            plan.follow(self.sibling);
        }
        self.outbox.send(order).map_err(|_| ControlError::Full)
    }

    /// Changes parameters of nodes, all before the same block.
    pub(super) fn change(
        &mut self,
        changes: impl IntoIterator<Item = (Result<NodeId, EditError>, Change)>,
    ) -> Result<u64, EditError> {
        let cell = |(node, change): (Result<NodeId, EditError>, Change)| {
            let Change::Param { value, .. } = change;
            match value.is_nan() {
                true => Err(EditError::NotANumber(value)),
                false => Ok((self.cell(node?)?, change)),
            }
        };
        let changes: Result<Vec<_>, EditError> = changes.into_iter().map(cell).collect();
        let changes = changes?;
        Ok(self.send(Order { changes, ..Order::default() })?)
    }

    /// The node of this kind in the newest graph that somebody asked for.
    pub(super) fn node(&self, kind: NodeKind) -> Option<NodeId> {
        let place = self.requested.nodes().iter().position(|node| node.kind == kind)?;
        Some(NodeId(place as u32))
    }

    /// The cells of the newest plan, indexed by node.
    pub(crate) fn nodes(&self) -> &[Option<Arc<NodeCell>>] {
        &self.cells.nodes
    }

    /// Orders that the leader carried out since the last call: the number and frame of each.
    pub(crate) fn take_done(&mut self) -> VecDeque<(u64, u64)> {
        self.collect();
        self.tidy();
        std::mem::take(&mut self.done)
    }

    /// Reads what was measured, and makes a new plan if it is worth it.
    pub(crate) fn steer(&mut self) {
        self.collect();
        self.tidy();
        let settled = self.outbox.is_settled();
        let blocks = self.progress.blocks_since_order();
        if !settled || blocks < ENOUGH {
            return;
        }
        // An engine that rests computes nothing, so there is nothing new. A count that has come to its end says nothing.
        if self.judged_at.replace(blocks) == Some(blocks) && blocks < u32::MAX {
            return;
        }
        let Some(moved) = self.learn() else { return };
        match self.steer {
            Steer::Fixed => {}
            Steer::Costs => {
                if moved > MOVED {
                    let _ = self.replan();
                }
            }
            Steer::Auto => self.choose(moved),
        }
    }
}

/// Prices of units with what nodes of them cost besides.
fn with_added(
    units: &UnitGraph,
    mut prices: Prices,
    cost: impl Fn(NodeId) -> Option<f64>,
) -> Prices {
    for unit in units.units() {
        let added = unit.nodes.iter().filter_map(|node| cost(*node)).reduce(|a, b| a + b);
        if let (Some(head), Some(added)) = (unit.nodes.first(), added) {
            prices.set(*head, prices.get(*head).unwrap_or(0.0) + added);
        }
    }
    prices
}

/// A graph to go on with.
struct Way {
    next: Transition,
    /// Its units before folding.
    base: UnitGraph,
}

impl Way {
    /// Whether it is only for a time: an edge leaves, or has a line only to fade.
    fn is_passing(&self) -> bool {
        self.base.lines().iter().any(|line| line.frames == 0) || !self.next.leaving.is_empty()
    }
}

/// How long each node puts out silence because it is new: its latency, and what its inputs wait for. The host writes to a
/// new engine input after the first block.
fn silent_frames(next: &Transition, units: &UnitGraph, block: usize) -> Vec<u32> {
    let mut silent: Vec<u32> = Vec::with_capacity(next.origins.len());
    for (id, node) in (0..).map(NodeId).zip(next.graph.nodes()) {
        let waits =
            |from: NodeId| units.heard_frames(id).saturating_sub(units.arrival_frames(from));
        let heard = node
            .inputs
            .iter()
            .map(|edge| waits(edge.from).saturating_add(silent[edge.from.index()]));
        let input = if matches!(node.kind, NodeKind::Input(_)) { block as u32 } else { 0 };
        let frames = heard.max().unwrap_or(input).saturating_add(node.latency_frames);
        silent.push(if next.origins[id.index()].is_some() { 0 } else { frames });
    }
    silent
}

/// Cuts wide sums into parts if that can help.
///
/// It does not help one worker, which has nothing to overlap them with. It does not help `lists`, where each
/// part would be a level with a barrier.
pub(super) fn cut_for(
    kind: ScheduleKind,
    workers: usize,
    units: UnitGraph,
    prices: &Prices,
    size: PartSize,
) -> UnitGraph {
    if workers > 1 && kind.counts_down() { units.cut_sums(prices, size) } else { units }
}
