//! Steering a running engine from control threads: costs that were measured, plans that follow them.
//!
//! The engine's workers measure what every unit costs (`block/costs.rs`). From that, and from how
//! long whole blocks take, a new plan is made here, away from the audio path, and handed to the leader,
//! who goes on with it at the start of a block. Processors are shared between plans, so each continues
//! with the very state that it had, and the sound does not change by a bit.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_dsp::Change;
use hocket_machine::clock::TickRate;
use hocket_plan::compile::{Prices, UnitGraph};
use hocket_plan::schedule::{Overheads, Schedule, Team, best};
use hocket_plan::{CostTable, NodeId, ScheduleKind, VerifiedSchedule, Violation};

use super::auto::Auto;
use super::learning::{Adopted, SeatSpeeds, circumstances};
use super::orders::{Order, Outbox};
use super::prepare::Prepared;
use super::settings::{Settings, Steer};
use crate::block::bus::NodeCell;
use crate::block::costs::{Circumstance, Costs, towards};
use crate::block::plan::Plan;

/// Units that cost less than this together with their reader become one with it. Four times what a
/// hand-over costs, so that what is lost by not sharing out is less than what a hand-over would take.
const FOLD_BELOW_NS: f64 = 1000.0;
/// A plan is made anew where costs have moved by more than this part of their sum.
pub(super) const MOVED: f64 = 0.15;

/// Orders whose end is remembered until somebody asks; the editor does at every edit.
const REMEMBERED: usize = 4096;
/// Plans that are remembered after they have gone.
const PAST_PLANS: usize = 8;

/// What a block was computed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The plan; `alone`: one for the leader alone, which is the serial walk too.
    Plan { alone: bool },
    /// The serial walk instead of the plan.
    SerialWalk,
}

/// How far an engine is and how long its blocks take. Written by the leader, read by anybody; all
/// accesses are relaxed, because each number stands for itself.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    blocks: AtomicU64,
    since_order: AtomicU32,
    /// Running estimates in ticks, as the bits of `f32`: of the serial walk, and of the present plan.
    serial: AtomicU32,
    present: AtomicU32,
}

impl Progress {
    /// Notes a block; `ticks` for one of full length.
    ///
    /// Thread: leader, after the deadline-critical part.
    pub(crate) fn note(&self, of: Of, orders: u32, ticks: Option<u64>) {
        self.blocks.store(self.blocks.load(Relaxed) + 1, Relaxed);
        let since = match (orders, of) {
            (0, Of::SerialWalk) => self.since_order.load(Relaxed),
            (0, Of::Plan { .. }) => self.since_order.load(Relaxed).saturating_add(1),
            _ => 0,
        };
        self.since_order.store(since, Relaxed);
        if orders > 0 {
            self.present.store(0, Relaxed);
        }
        // The first blocks of a plan find cold caches and workers that are still on their way.
        let Some(ticks) = ticks.filter(|_| since >= SETTLING) else { return };
        if of != Of::SerialWalk {
            follow(&self.present, ticks);
        }
        if of != (Of::Plan { alone: false }) {
            follow(&self.serial, ticks);
        }
    }

    fn ticks(estimate: &AtomicU32) -> Option<f64> {
        let ticks = f32::from_bits(estimate.load(Relaxed));
        (ticks > 0.0).then_some(f64::from(ticks))
    }
}

/// Blocks after an order that are not looked at.
const SETTLING: u32 = 16;
/// Blocks before a plan is made anew.
const ENOUGH: u32 = 64;

/// The estimate of `block/costs.rs`, for whole blocks.
fn follow(estimate: &AtomicU32, ticks: u64) {
    let old = f32::from_bits(estimate.load(Relaxed));
    estimate.store(towards(old, ticks as f32).to_bits(), Relaxed);
}

/// What a unit was measured to cost.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCost {
    /// The unit, as in traces.
    pub unit: String,
    /// Kind of the seat it ran on, 0 for the fastest.
    pub kind: usize,
    /// Whether another worker of the engine was at work on the same core.
    pub sibling_busy: bool,
    /// Running estimate for a block of the engine's length.
    pub ns: f64,
}

/// What an engine does at present, and what was expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The schedule's kind.
    pub kind: ScheduleKind,
    /// Workers that the plan needs.
    pub workers: usize,
    /// Units of the plan.
    pub units: usize,
    /// How many frames the output lags behind the inputs, on the longest path.
    pub latency_frames: u32,
    /// What a block of full length was expected to take; `None` where nothing had been measured.
    pub expected_ns: Option<f64>,
    /// What it takes, as a running estimate; `None` before there is one.
    pub measured_ns: Option<f64>,
    /// What the serial walk takes or took; `None` where it never ran.
    pub serial_ns: Option<f64>,
}

/// What was known of a plan while its blocks ran.
pub(crate) struct Expectations {
    /// Names of the units.
    pub names: Vec<String>,
    costs: Arc<Costs>,
    ns_per_tick: f64,
    /// What a block of full length takes, or else was expected to take.
    pub block_ns: Option<f64>,
}

impl Expectations {
    /// What a unit costs on a seat of this kind, beside a busy sibling or not; where it never ran so,
    /// what it costs the other way. `None`: it never ran.
    pub(crate) fn unit_ns(&self, unit: usize, kind: usize, sibling_busy: bool) -> Option<f64> {
        let of = |sibling_busy| self.costs.get(unit, Circumstance { kind, sibling_busy });
        Some(of(sibling_busy).or_else(|| of(!sibling_busy))? * self.ns_per_tick)
    }
}

/// Why a plan cannot be handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// Nobody runs blocks, so nobody takes orders.
    #[error("256 orders are on their way already: the engine runs no blocks; try again later")]
    Full,
    /// The routing cannot be scheduled.
    #[error("the new routing breaks rule {0}")]
    Rule(#[from] Violation),
    /// Costs have not been measured yet.
    #[error("no costs have been measured yet: let the engine run some blocks first")]
    NothingMeasured,
}

/// A handle on a running engine for control threads. Clones steer the same engine.
///
/// Thread: any but the leader's and the workers': methods take a lock and allocate.
#[derive(Clone)]
pub struct Control {
    inner: Arc<Mutex<Inner>>,
}

pub(crate) struct Inner {
    outbox: Outbox,
    /// Units with nothing folded, in the measure of whoever prepared them until they are priced.
    pub(super) base: UnitGraph,
    nodes: Vec<Option<Arc<NodeCell>>>,
    pub(super) prices: Prices,
    pub(super) team: Team,
    /// Kind of each worker's seat.
    pub(super) kinds: Vec<usize>,
    kind: ScheduleKind,
    pub(super) steer: Steer,
    pub(super) frames: usize,
    rate_hz: u32,
    pub(super) present: Present,
    /// Plans before, newest last: a block that is looked at afterwards may be one of theirs.
    past: VecDeque<Present>,
    pub(super) progress: Arc<Progress>,
    rate: TickRate,
    /// What working together costs.
    pub(super) overheads: Overheads,
    /// What `auto` has found out.
    pub(super) auto: Auto,
    done: VecDeque<(u64, u64)>,
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
    number: u64,
    pub(super) schedule: VerifiedSchedule,
    costs: Arc<Costs>,
    expected_ns: Option<f64>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl Control {
    /// The first plan, and the handle.
    pub(crate) fn new(
        prepared: Prepared,
        schedule: VerifiedSchedule,
        settings: &Settings,
        (team, kinds): (Team, Vec<usize>),
        outbox: Outbox,
        progress: &Arc<Progress>,
    ) -> (Plan, Control) {
        let named = prepared.processors.into_iter().zip(prepared.node_names);
        let cell = |(processor, name): (Option<_>, String)| {
            Some(Arc::new(NodeCell::new(name, processor?)))
        };
        let nodes: Vec<_> = named.map(cell).collect();
        let frames = settings.frames as usize;
        let plan = Plan::new(schedule, &nodes, Vec::new(), frames);
        let inner = Inner {
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
            auto: Auto::knowing(settings.found_before),
            done: VecDeque::new(),
        };
        (plan, Control { inner: Arc::new(Mutex::new(inner)) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whoever panicked left plain data, and at worst an order that was never sent.
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

    /// Nodes of the newest plan whose output was not finite, with the number of blocks in which that
    /// happened since they joined or were reset. As [`Engine::contained`](super::engine::Engine::contained),
    /// for threads other than the leader.
    pub fn contained(&self) -> Vec<(String, u64)> {
        let inner = self.lock();
        // Relaxed: counts that stand for themselves.
        let nodes = inner.nodes.iter().flatten().map(|node| (node, node.contained.load(Relaxed)));
        nodes.filter(|(_, blocks)| *blocks > 0).map(|(node, n)| (node.name.clone(), n)).collect()
    }

    /// What the engine does at present.
    pub fn standing(&self) -> Standing {
        self.lock().standing()
    }

    /// What was expected of a plan by its number; `None`: gone too long ago.
    pub(crate) fn expectations(&self, plan: u64) -> Option<Expectations> {
        self.lock().expectations(plan)
    }

    /// Makes a plan from what was measured and hands it over, whatever the settings say of steering.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn replan(&self) -> Result<(), ControlError> {
        self.lock().replan()
    }

    /// Whether everything that was sent has been carried out.
    pub fn is_settled(&self) -> bool {
        let mut inner = self.lock();
        inner.collect();
        inner.outbox.is_settled()
    }
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

/// Costs.
impl Inner {
    pub(super) fn get_ns(&self, unit: usize, kind: usize, sibling_busy: bool) -> Option<f64> {
        let ticks = self.present.costs.get(unit, Circumstance { kind, sibling_busy })?;
        Some(ticks * self.ns_per_tick())
    }

    fn ns_per_tick(&self) -> f64 {
        self.rate.ticks_to_ns(1 << 30) as f64 / (1u64 << 30) as f64
    }

    fn unit_costs(&self) -> Vec<UnitCost> {
        let units = self.present.schedule.units().units();
        let mut found = Vec::new();
        for (i, unit) in units.iter().enumerate() {
            for (kind, sibling_busy) in circumstances() {
                if let Some(ns) = self.get_ns(i, kind, sibling_busy) {
                    found.push(UnitCost { unit: unit.name.clone(), kind, sibling_busy, ns });
                }
            }
        }
        found
    }

    fn expectations(&self, number: u64) -> Option<Expectations> {
        let current = self.present.number == number;
        let mut all = std::iter::once(&self.present).chain(&self.past);
        let plan = all.find(|plan| plan.number == number)?;
        let measured = Progress::ticks(&self.progress.present).filter(|_| current);
        Some(Expectations {
            names: plan.schedule.units().units().iter().map(|unit| unit.name.clone()).collect(),
            costs: Arc::clone(&plan.costs),
            ns_per_tick: self.ns_per_tick(),
            block_ns: measured.map(|ticks| ticks * self.ns_per_tick()).or(plan.expected_ns),
        })
    }

    /// Takes over what was measured since: prices, speeds of seats, what siblings cost each other.
    /// Returns by which part the costs have moved, or `None` as long as a unit has not run.
    fn learn(&mut self) -> Option<f64> {
        let units = self.present.schedule.units().units();
        let known = |unit: usize, kind, shared| self.get_ns(unit, kind, shared);
        let seats = SeatSpeeds::of(units.len(), known, &self.team, &self.kinds);
        let plain = |unit| seats.plain_ns(|kind, shared| known(unit, kind, shared));
        let plain: Option<Vec<f64>> = (0..units.len()).map(plain).collect();
        seats.apply(&mut self.team, &self.kinds);
        let plain = plain?;
        let moved = units.iter().zip(&plain).map(|(unit, ns)| (unit.cost - ns).abs()).sum::<f64>();
        for (unit, ns) in units.iter().zip(&plain) {
            self.prices.set_unit(unit, *ns);
        }
        Some(moved / plain.iter().sum::<f64>().max(1.0))
    }
}

/// Plans.
impl Inner {
    pub(super) fn standing(&self) -> Standing {
        let ns = |estimate| Progress::ticks(estimate).map(|ticks| ticks * self.ns_per_tick());
        Standing {
            kind: self.present.schedule.kind(),
            workers: self.present.schedule.workers(),
            units: self.present.schedule.units().units().len(),
            latency_frames: self.present.latency_frames(),
            expected_ns: self.present.expected_ns,
            measured_ns: ns(&self.progress.present),
            serial_ns: ns(&self.progress.serial),
        }
    }

    fn collect(&mut self) {
        while let Some(done) = self.outbox.next_done() {
            // Without an editor nobody asks for them.
            if self.done.len() == REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(done);
        }
    }

    pub(super) fn priced_units(&self) -> UnitGraph {
        self.base.clone().priced(&self.prices).fold(FOLD_BELOW_NS)
    }

    fn replan(&mut self) -> Result<(), ControlError> {
        // A plan that nobody has run yet has measured nothing; what was known before it still holds.
        if self.learn().is_none() && self.prices.is_empty() {
            return Err(ControlError::NothingMeasured);
        }
        let units = self.priced_units();
        let (schedule, expected) = self.schedule_for(&units);
        self.send_plan(units, schedule, Some(expected))
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

    pub(super) fn send_plan(
        &mut self,
        units: UnitGraph,
        schedule: Schedule,
        expected_ns: Option<f64>,
    ) -> Result<(), ControlError> {
        let verified = VerifiedSchedule::verify(units, schedule)?;
        let plan = Plan::new(verified, &self.nodes, Vec::new(), self.frames);
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
            false => new.base.clone().priced(&prices).fold(FOLD_BELOW_NS),
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
        if !settled || self.progress.since_order.load(Relaxed) < ENOUGH {
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
