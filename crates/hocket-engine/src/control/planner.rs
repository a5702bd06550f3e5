//! Makes plans from measured costs and sends them to the leader.
//!
//! Workers measure the cost of each unit (`block/costs.rs`). The leader measures how long blocks take
//! (`leader/block_estimates.rs`). From both, the planner makes a new plan on a control thread. The leader
//! exchanges the plans at the start of a block. Plans share processors, so each processor keeps its state,
//! and the output stays the same bit for bit.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hocket_dsp::Change;
use hocket_machine::clock::TickRate;
use hocket_plan::compile::{DelayLine, Fades, PartSize, Prices, UnitGraph};
use hocket_plan::schedule::{Overheads, Schedule, Team, best};
use hocket_plan::{Fusing, Graph, GraphError, NodeId, ScheduleKind, VerifiedSchedule};
use hocket_time::TempoMap;

use super::automation::FirstLanes;
use super::choose_schedule::ChooseSchedule;
use super::edit::EditError;
use super::handle::{ControlError, Standing};
use super::orders::{Order, Outbox};
use super::prepare::Prepared;
use super::settings::{Settings, Steer};
use super::transition::{Old, Transition, at_once, transition};
use crate::block::costs::Costs;
use crate::block::node::Contained;
use crate::block::node::NodeCell;
use crate::block::plan::{Before, Cells, Plan};
use crate::leader::block_estimates::BlockEstimates;
use crate::leader::choose_walk::{Finding, Reason};

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

/// How often the planner looks. Estimates settle within some 50 blocks, 70 ms at 64 frames and 48 kHz.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(40);

pub(crate) struct Planner {
    pub(super) outbox: Outbox,
    /// Units before folding. Until they are priced, their costs are the declared ones.
    pub(crate) base: UnitGraph,
    /// What the units were made of.
    pub(crate) graph: Graph,
    /// Where the nodes of the newest graph that somebody asked for are in `graph`.
    pub(super) places: Vec<NodeId>,
    /// How its edges fade or faded.
    present_fades: Fades,
    /// What follows when all edges have faded out.
    follows: Option<Graph>,
    /// Edges that could not fade out.
    pub(super) refused_fades: usize,
    pub(crate) cells: Cells,
    pub(super) prices: Prices,
    pub(super) team: Team,
    /// The kind of each worker's seat.
    pub(super) kinds: Vec<usize>,
    pub(super) kind: ScheduleKind,
    pub(super) steer: Steer,
    pub(super) frames: usize,
    pub(super) rate_hz: u32,
    pub(super) present: Present,
    /// Earlier plans, newest last. A block that is explained later may belong to one of them.
    pub(super) past: VecDeque<Present>,
    pub(super) progress: Arc<BlockEstimates>,
    pub(super) rate: TickRate,
    /// What the cooperation of workers costs.
    pub(super) overheads: Overheads,
    /// What `auto` has found so far.
    pub(super) auto: ChooseSchedule,
    pub(super) done: VecDeque<(u64, u64)>,
    /// The tempo map that was sent last.
    pub(super) map: Arc<TempoMap>,
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

impl Planner {
    /// Makes the first plan, and the planner.
    pub(crate) fn new(
        (prepared, mut lanes): (Prepared, FirstLanes),
        schedule: VerifiedSchedule,
        settings: &Settings,
        (team, kinds): (Team, Vec<usize>),
        outbox: Outbox,
        (progress, map): (&Arc<BlockEstimates>, &Arc<TempoMap>),
    ) -> (Plan, Planner) {
        let frames = settings.frames as usize;
        let named = prepared.processors.into_iter().zip(prepared.node_names);
        let cell = |(node, (processor, name)): (u32, (Option<_>, String))| {
            let cell = NodeCell::new(name, processor?);
            let lanes = lanes.remove(&NodeId(node));
            Some(Arc::new(match lanes {
                Some(lanes) => cell.with_lanes(lanes, frames),
                None => cell,
            }))
        };
        let nodes: Vec<_> = (0..).zip(named).map(cell).collect();
        let cells = Cells::first(&prepared.units, nodes, frames);
        let plan = Plan::new(schedule, &cells, frames);
        let inner = Planner {
            outbox,
            places: (0..prepared.graph.nodes().len()).map(|id| NodeId(id as u32)).collect(),
            base: prepared.units,
            graph: prepared.graph,
            present_fades: Fades::new(),
            follows: None,
            refused_fades: 0,
            cells,
            prices: Prices::new(),
            team,
            kinds,
            kind: settings.policy.schedule,
            steer: settings.steer,
            frames,
            rate_hz: settings.rate_hz,
            present: Present::of(&plan, None),
            past: VecDeque::new(),
            progress: Arc::clone(progress),
            rate: TickRate::get(),
            overheads: settings.overheads,
            auto: ChooseSchedule::knowing(settings.found_before),
            done: VecDeque::new(),
            map: Arc::clone(map),
        };
        (plan, inner)
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

    pub(super) fn contained(&self) -> Vec<Contained> {
        let nodes = self.cells.nodes.iter().flatten().map(|node| (node, node.shown()));
        let happened = nodes.filter(|(_, (blocks, panicked))| *blocks > 0 || *panicked);
        let named = happened.map(|(node, (not_finite, panicked))| Contained {
            node: node.name.clone(),
            not_finite,
            panicked,
            message: None,
        });
        named.collect()
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
        let size = PartSize { cost: FOLD_BELOW_NS, ..PartSize::UNPRICED };
        cut_for(kind, self.team.workers(), folded, prices, size)
    }

    pub(super) fn replan(&mut self) -> Result<(), ControlError> {
        // If the present plan has no measured costs yet, earlier ones still hold.
        if self.learn().is_none() && self.prices.is_empty() {
            return Err(ControlError::NothingMeasured);
        }
        let Planned { units, schedule, expected } = self.planned(&self.base, &self.prices);
        self.auto.end_trial();
        self.send_plan(units, schedule, Some(expected), true)
    }

    /// Makes a schedule for these units as the settings require.
    pub(super) fn planned(&self, base: &UnitGraph, prices: &Prices) -> Planned {
        let (units, overheads) = match (self.steer, prices.is_empty()) {
            (Steer::Auto, true) => {
                let schedule = Schedule::plan(ScheduleKind::Serial, base, 1);
                return Planned { units: base.clone(), schedule, expected: 0.0 };
            }
            (Steer::Auto, false) => return self.best_known(base, prices),
            (_, true) => (base.clone(), Overheads::NONE),
            (_, false) => (self.folded_and_cut(base, prices, self.kind), self.overheads),
        };
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
        self.send(Order { plan: Some(Box::new(plan)), ..Order::default() })?;
        self.go_on_with(present);
        Ok(())
    }

    /// Replaces the nodes. `before` returns the node of the last installation that a new one is. Returns the number
    /// of the order.
    pub(crate) fn install(
        &mut self,
        new: Installation,
        before: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Result<u64, EditError> {
        let was = |id: NodeId| Some(self.places[before(id)?.index()]);
        let between = self.transition(&new.graph, new.fades, &was)?;
        let mut nodes = vec![None; between.graph.nodes().len()];
        for (cell, id) in nodes.iter_mut().zip(&between.origins) {
            // What is only left over keeps its cell; the others get theirs below.
            *cell = id.and_then(|id| self.cells.nodes[id.index()].clone());
        }
        for (cell, place) in new.nodes.into_iter().zip(&between.places) {
            nodes[place.index()] = cell;
        }
        let follows = between.leaves.then_some(new.graph);
        let refused = between.refused;
        let places = between.places.clone();
        let number = self.exchange(between, nodes, new.changes)?;
        (self.places, self.follows) = (places, follows);
        self.refused_fades += refused;
        Ok(number)
    }

    /// How to get from the present graph to another.
    fn transition(
        &self,
        new: &Graph,
        fades: bool,
        was: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Result<Transition, GraphError> {
        let edge = |line: &DelayLine| (line.reader, line.edge);
        let lines = || self.base.lines().iter().zip(&self.cells.lines);
        let fading = lines().filter(|(_, cell)| !cell.is_settled());
        let fading: HashSet<_> = fading.map(|(line, _)| edge(line)).collect();
        let late = lines().filter(|(line, _)| line.frames > 0);
        let late: HashSet<_> = late.map(|(line, _)| edge(line)).collect();
        let old = Old {
            graph: &self.graph,
            fades: &|reader, place| fading.contains(&(reader, place)),
            waits: &|reader, place| late.contains(&(reader, place)),
            leaves: &|reader, place| {
                self.present_fades.get(&(reader, place)).is_some_and(|fade| fade.leaves)
            },
        };
        if fades { transition(&old, new, was) } else { Ok(at_once(&old, new, was)) }
    }

    /// Goes on without what has faded out. Does nothing as long as something fades.
    pub(crate) fn tidy(&mut self) {
        let fades = self.cells.lines.iter().any(|line| !line.is_settled());
        if self.follows.is_none() || !self.outbox.is_settled() || fades {
            return;
        }
        let Some(graph) = self.follows.take() else { return };
        let was = |id: NodeId| self.places.get(id.index()).copied();
        let Ok(plain) = self.transition(&graph, false, &was) else { return };
        let cells = self.places.iter().map(|place| self.cells.nodes[place.index()].clone());
        let cells = cells.collect();
        match self.exchange(plain, cells, Vec::new()) {
            Ok(_) => self.places = (0..graph.nodes().len()).map(|id| NodeId(id as u32)).collect(),
            // The next look tries again.
            Err(_) => self.follows = Some(graph),
        }
    }

    /// Sends a plan for a graph whose nodes have these cells.
    fn exchange(
        &mut self,
        next: Transition,
        nodes: Vec<Option<Arc<NodeCell>>>,
        changes: Vec<(Arc<NodeCell>, Change)>,
    ) -> Result<u64, EditError> {
        let base = UnitGraph::compile_fading(&next.graph, Fusing::Chains, &next.fades)?;
        // Known prices stay with their nodes.
        self.learn();
        self.auto.end_trial();
        let mut prices = Prices::new();
        for (head, origin) in next.origins.iter().enumerate() {
            let price = origin.and_then(|origin| self.prices.get(origin));
            price.into_iter().for_each(|price| prices.set(NodeId(head as u32), price));
        }
        let Planned { units, schedule, .. } = self.planned(&base, &prices);
        let verified = VerifiedSchedule::verify(units, schedule).map_err(ControlError::from)?;
        let same = |id: NodeId| next.origins[id.index()];
        let silent = silent_frames(&next, &base);
        let (units, cells, edges) = (&self.base, &self.cells, &next.edges);
        let before = Before { units, cells, same, edges, silent: &silent };
        let (cells, delays) = Cells::following(&before, &base, nodes, self.frames);
        let mut plan = Plan::new(verified, &cells, self.frames);
        let changed: Vec<_> = delays.iter().map(|(line, _)| Arc::clone(line)).collect();
        plan.delays = delays;
        let present = Present::of(&plan, None);
        let order = Order { plan: Some(Box::new(plan)), changes, ..Order::default() };
        let number = self.send(order)?;
        changed.iter().for_each(|line| line.ask());
        (self.base, self.cells, self.prices) = (base, cells, prices);
        (self.graph, self.present_fades) = (next.graph, next.fades);
        self.go_on_with(present);
        Ok(number)
    }

    fn go_on_with(&mut self, present: Present) {
        let before = std::mem::replace(&mut self.present, present);
        self.past.push_back(before);
        if self.past.len() > PAST_PLANS {
            self.past.pop_front();
        }
    }

    pub(crate) fn send(&mut self, order: Order) -> Result<u64, ControlError> {
        self.collect();
        self.outbox.send(order).map_err(|_| ControlError::Full)
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
        if !settled || self.progress.blocks_since_order() < ENOUGH {
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

/// How long each node puts out silence because it is new: its latency, and what its inputs wait for.
fn silent_frames(next: &Transition, units: &UnitGraph) -> Vec<u32> {
    let mut silent: Vec<u32> = Vec::with_capacity(next.origins.len());
    for (id, node) in (0..).map(NodeId).zip(next.graph.nodes()) {
        let waits =
            |from: NodeId| units.heard_frames(id).saturating_sub(units.arrival_frames(from));
        let heard = node
            .inputs
            .iter()
            .map(|edge| waits(edge.from).saturating_add(silent[edge.from.index()]));
        let frames = heard.max().unwrap_or(0).saturating_add(node.latency_frames);
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
