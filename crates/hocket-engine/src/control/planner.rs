//! Makes plans from measured costs and sends them to the leader.
//!
//! Workers measure what every unit costs (`block/costs.rs`), the leader how long whole blocks take
//! (`leader/block_estimates.rs`). The planner makes a new plan from both on a control thread. The leader
//! takes it over at the start of a block. Plans share their processors, so each processor keeps its state
//! and the output does not change by a bit.

use std::collections::VecDeque;
use std::sync::Arc;

use hocket_dsp::Change;
use hocket_machine::clock::TickRate;
use hocket_plan::compile::{PartSize, Prices, UnitGraph};
use hocket_plan::schedule::{Overheads, Schedule, Team, best};
use hocket_plan::{NodeId, ScheduleKind, VerifiedSchedule};

use super::choose_schedule::ChooseSchedule;
use super::handle::{ContainedNode, ControlError, Standing};
use super::orders::{Order, Outbox};
use super::prepare::Prepared;
use super::settings::{Settings, Steer};
use crate::block::costs::Costs;
use crate::block::node::NodeCell;
use crate::block::plan::Plan;
use crate::leader::block_estimates::BlockEstimates;
use crate::leader::choose_walk::{Finding, Reason};

/// Units that cost less than this together with their reader become one with it. Four times what a
/// hand-over costs, so that what is lost by not sharing out is less than what a hand-over would take.
const FOLD_BELOW_NS: f64 = 1000.0;
/// A plan is made anew where costs have moved by more than this part of their sum.
pub(super) const MOVED: f64 = 0.15;

/// Blocks before a plan is made anew.
const ENOUGH: u32 = 64;
/// Orders whose end is remembered until somebody asks; the editor does at every edit.
const REMEMBERED: usize = 4096;
/// Plans that are remembered after they have gone.
const PAST_PLANS: usize = 8;

pub(crate) struct Planner {
    pub(super) outbox: Outbox,
    /// Units with nothing folded, in the measure of whoever prepared them until they are priced.
    pub(crate) base: UnitGraph,
    pub(super) nodes: Vec<Option<Arc<NodeCell>>>,
    pub(super) prices: Prices,
    pub(super) team: Team,
    /// Kind of each worker's seat.
    pub(super) kinds: Vec<usize>,
    pub(super) kind: ScheduleKind,
    pub(super) steer: Steer,
    pub(super) frames: usize,
    pub(super) rate_hz: u32,
    pub(super) present: Present,
    /// Plans before, newest last: a block that is looked at afterwards may be one of theirs.
    pub(super) past: VecDeque<Present>,
    pub(super) progress: Arc<BlockEstimates>,
    pub(super) rate: TickRate,
    /// What working together costs.
    pub(super) overheads: Overheads,
    /// What `auto` has found out.
    pub(super) auto: ChooseSchedule,
    pub(super) done: VecDeque<(u64, u64)>,
}

/// Nodes that take the place of others.
pub(crate) struct Installation {
    /// Units with nothing folded.
    pub base: UnitGraph,
    /// By node; those that stay are the same cells.
    pub nodes: Vec<Option<Arc<NodeCell>>>,
    /// Those that were not there before.
    pub fresh: Vec<Arc<NodeCell>>,
    /// To be made along with it.
    pub changes: Vec<(Arc<NodeCell>, Change)>,
}

/// The plan that was sent last, or one before.
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
        self.schedule.units().units()[self.schedule.output().index()].latency_frames
    }
}

impl Planner {
    /// The first plan, and the planner that has sent it.
    pub(crate) fn new(
        prepared: Prepared,
        schedule: VerifiedSchedule,
        settings: &Settings,
        (team, kinds): (Team, Vec<usize>),
        outbox: Outbox,
        progress: &Arc<BlockEstimates>,
    ) -> (Plan, Planner) {
        let named = prepared.processors.into_iter().zip(prepared.node_names);
        let cell = |(processor, name): (Option<_>, String)| {
            Some(Arc::new(NodeCell::new(name, processor?)))
        };
        let nodes: Vec<_> = named.map(cell).collect();
        let frames = settings.frames as usize;
        let plan = Plan::new(schedule, &nodes, Vec::new(), frames);
        let inner = Planner {
            outbox,
            base: prepared.units,
            nodes,
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

    /// What the leader found out about the present plan.
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

    pub(super) fn contained(&self) -> Vec<ContainedNode> {
        let nodes = self.nodes.iter().flatten().map(|node| (node, node.shown()));
        let happened = nodes.filter(|(_, (blocks, panicked))| *blocks > 0 || *panicked);
        let named = happened.map(|(node, (not_finite, panicked))| ContainedNode {
            node: node.name.clone(),
            not_finite,
            panicked,
        });
        named.collect()
    }

    pub(super) fn collect(&mut self) {
        while let Some(done) = self.outbox.next_done() {
            // Without an editor nobody asks for them.
            if self.done.len() == REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(done);
        }
    }

    /// The units with what they cost, in the form that suits this kind of schedule.
    pub(super) fn priced_units(&self, kind: ScheduleKind) -> UnitGraph {
        self.folded_and_cut(&self.base, &self.prices, kind)
    }

    /// The kind of the next plan, as far as it is known.
    pub(super) fn next_kind(&self) -> ScheduleKind {
        match self.steer {
            Steer::Auto => self.auto.found().unwrap_or(ScheduleKind::Critical),
            Steer::Fixed | Steer::Costs => self.kind,
        }
    }

    /// `units` with these prices, cheap ones folded and, where several workers share them, wide sums in parts.
    fn folded_and_cut(&self, units: &UnitGraph, prices: &Prices, kind: ScheduleKind) -> UnitGraph {
        let folded = units.clone().priced(prices).fold(FOLD_BELOW_NS);
        let size = PartSize { cost: FOLD_BELOW_NS, ..PartSize::UNPRICED };
        cut_for(kind, self.team.workers(), folded, prices, size)
    }

    pub(super) fn replan(&mut self) -> Result<(), ControlError> {
        // A plan that nobody has run yet has measured nothing; what was known before it still holds.
        if self.learn().is_none() && self.prices.is_empty() {
            return Err(ControlError::NothingMeasured);
        }
        let units = self.priced_units(self.next_kind());
        let (schedule, expected) = self.schedule_for(&units);
        self.auto.end_trial();
        self.send_plan(units, schedule, Some(expected), true)
    }

    /// As the settings steer, with what it is expected to take.
    pub(super) fn schedule_for(&self, units: &UnitGraph) -> (Schedule, f64) {
        match self.steer {
            Steer::Auto => self.best_known(units),
            Steer::Fixed | Steer::Costs => {
                let overheads = match self.prices.is_empty() {
                    true => Overheads::NONE,
                    false => self.overheads,
                };
                let schedule = Schedule::plan_with(self.kind, units, &self.team, overheads);
                let expected = best(units, &self.team, self.overheads).expected;
                (schedule, expected)
            }
        }
    }

    /// `trial`: `auto` tries its workers at once, whatever it knows of earlier plans.
    pub(super) fn send_plan(
        &mut self,
        units: UnitGraph,
        schedule: Schedule,
        expected_ns: Option<f64>,
        trial: bool,
    ) -> Result<(), ControlError> {
        let verified = VerifiedSchedule::verify(units, schedule)?;
        let mut plan = Plan::new(verified, &self.nodes, Vec::new(), self.frames);
        plan.trial = trial;
        let present = Present::of(&plan, expected_ns);
        self.send(Order { plan: Some(Box::new(plan)), changes: Vec::new() })?;
        self.go_on_with(present);
        Ok(())
    }

    /// Goes on with other nodes: `head_before` tells which node of the old units each new one was.
    /// Returns the number of the order.
    pub(crate) fn install(
        &mut self,
        new: Installation,
        head_before: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Result<u64, ControlError> {
        // What is known so far moves along with the nodes.
        self.learn();
        self.auto.end_trial();
        let mut prices = Prices::new();
        for head in (0..new.nodes.len()).map(|i| NodeId(i as u32)) {
            let price = head_before(head).and_then(|before| self.prices.get(before));
            price.into_iter().for_each(|price| prices.set(head, price));
        }
        let units = match prices.is_empty() {
            true => new.base.clone(),
            false => self.folded_and_cut(&new.base, &prices, self.next_kind()),
        };
        let schedule = match (self.steer, prices.is_empty()) {
            (Steer::Auto, true) => Schedule::plan(ScheduleKind::Serial, &units, 1),
            _ => self.schedule_for(&units).0,
        };
        let verified = VerifiedSchedule::verify(units, schedule)?;
        let plan = Plan::new(verified, &new.nodes, new.fresh, self.frames);
        let present = Present::of(&plan, None);
        let order = Order { plan: Some(Box::new(plan)), changes: new.changes };
        let number = self.send(order)?;
        (self.base, self.nodes, self.prices) = (new.base, new.nodes, prices);
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

    /// By node of the newest plan.
    pub(crate) fn nodes(&self) -> &[Option<Arc<NodeCell>>] {
        &self.nodes
    }

    /// Orders that were carried out since the last call: number and frame of each.
    pub(crate) fn take_done(&mut self) -> VecDeque<(u64, u64)> {
        self.collect();
        std::mem::take(&mut self.done)
    }

    /// Looks at what was measured and makes a new plan where that is worth it.
    pub(crate) fn steer(&mut self) {
        self.collect();
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

/// Wide sums in parts where that helps: one worker has nothing to overlap with, and in `lists` each part would be a
/// level with a barrier.
pub(super) fn cut_for(
    kind: ScheduleKind,
    workers: usize,
    units: UnitGraph,
    prices: &Prices,
    size: PartSize,
) -> UnitGraph {
    if workers > 1 && kind.counts_down() { units.cut_sums(prices, size) } else { units }
}
