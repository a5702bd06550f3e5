//! From measured times to what plans need: costs of chains on the fastest seat, speeds of the others.

use std::collections::HashMap;
use std::sync::Arc;

use hocket_plan::schedule::Team;
use hocket_plan::{ChainCost, CostTable, Unit};

use super::handle::ControlError;
use super::planner::{Planned, Planner};
use super::settings::Steer;
use crate::block::costs::{Circumstance, Costs, KINDS};

/// What a cost table had to say to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Chains of the session whose cost the table knows.
    pub known: usize,
    /// Chains of the session that it does not know.
    pub unknown: usize,
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

/// How fast kinds of seats are beside the fastest one, and a pair's seats beside each other.
pub(super) struct MeasuredSpeeds {
    kinds: [f64; KINDS],
    pair: f64,
}

impl MeasuredSpeeds {
    /// From `count` things whose time is known on more than one kind of seat, or alone and beside a
    /// busy sibling; as the team has it where nothing is known.
    pub(super) fn of(
        count: usize,
        ns: impl Fn(usize, usize, bool) -> Option<f64>,
        team: &Team,
        kinds: &[usize],
    ) -> MeasuredSpeeds {
        let ratio = |a: (usize, bool), b: (usize, bool)| {
            let of = |i| Some(ns(i, a.0, a.1)? / ns(i, b.0, b.1)?);
            median((0..count).filter_map(of))
        };
        let assumed = |kind: usize| {
            let seat = kinds.iter().position(|own| *own == kind);
            seat.map_or(1.0, |seat| f64::from(team.seats[seat].speed))
        };
        let of_kind = |kind| match kind {
            0 => 1.0,
            _ => ratio((0, false), (kind, false)).unwrap_or_else(|| assumed(kind)),
        };
        let pair = ratio((0, false), (0, true)).map(|pair| pair.clamp(0.2, 1.0));
        MeasuredSpeeds {
            kinds: std::array::from_fn(of_kind),
            pair: pair.unwrap_or(team.pair_speed),
        }
    }

    /// Puts the speeds in their places.
    pub(super) fn apply(&self, team: &mut Team, kinds: &[usize]) {
        team.pair_speed = self.pair;
        for (seat, kind) in team.seats.iter_mut().zip(kinds) {
            seat.speed = self.kinds[*kind] as f32;
        }
    }

    /// What something costs on the fastest seat with an idle sibling, from whatever is known.
    pub(super) fn plain_ns(&self, ns: impl Fn(usize, bool) -> Option<f64>) -> Option<f64> {
        circumstances().find_map(|(kind, shared)| {
            let slowed = if shared { self.pair } else { 1.0 };
            Some(ns(kind, shared)? * self.kinds[kind] * slowed)
        })
    }
}

/// Kinds of seats, alone and beside a busy sibling.
pub(super) fn circumstances() -> impl Iterator<Item = (usize, bool)> {
    (0..KINDS).flat_map(|kind| [(kind, false), (kind, true)])
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Costs.
impl Planner {
    pub(super) fn get_ns(&self, unit: usize, kind: usize, sibling_busy: bool) -> Option<f64> {
        let ticks = self.present.costs.get(unit, Circumstance { kind, sibling_busy })?;
        Some(ticks * self.ns_per_tick())
    }

    pub(super) fn ns_per_tick(&self) -> f64 {
        self.rate.ticks_to_ns(1 << 30) as f64 / (1u64 << 30) as f64
    }

    pub(super) fn unit_costs(&self) -> Vec<UnitCost> {
        let units = self.present.schedule.units().units();
        let mut found = Vec::new();
        for (i, unit) in units.iter().enumerate() {
            for (kind, sibling_busy) in circumstances() {
                if let Some(ns) = self.get_ns(i, kind, sibling_busy) {
                    found.push(UnitCost { unit: unit.title(), kind, sibling_busy, ns });
                }
            }
        }
        found
    }

    pub(super) fn expectations(&self, number: u64) -> Option<Expectations> {
        let current = self.present.number == number;
        let mut all = std::iter::once(&self.present).chain(&self.past);
        let plan = all.find(|plan| plan.number == number)?;
        let measured_ns = self.standing().measured_ns.filter(|_| current);
        Some(Expectations {
            names: plan.schedule.units().units().iter().map(Unit::title).collect(),
            costs: Arc::clone(&plan.costs),
            ns_per_tick: self.ns_per_tick(),
            block_ns: measured_ns.or(plan.expected_ns),
        })
    }

    /// Takes over what was measured since: prices, speeds of seats, what siblings cost each other.
    /// Returns by which part the costs have moved, or `None` as long as a unit has not run.
    pub(super) fn learn(&mut self) -> Option<f64> {
        let graph = self.present.schedule.units();
        let units = graph.units();
        let known = |unit: usize, kind, shared| self.get_ns(unit, kind, shared);
        let seats = self.measured_speeds(&self.team, &self.kinds);
        let plain = |unit| seats.plain_ns(|kind, shared| known(unit, kind, shared));
        let plain: Option<Vec<f64>> = (0..units.len()).map(plain).collect();
        seats.apply(&mut self.team, &self.kinds);
        let plain = plain?;
        let moved = units.iter().zip(&plain).map(|(unit, ns)| (unit.cost - ns).abs()).sum::<f64>();
        self.prices.set_all(graph, &plain);
        Some(moved / plain.iter().sum::<f64>().max(1.0))
    }
}

/// Speeds of other workers.
impl Planner {
    /// What is known of the seats of a team.
    pub(super) fn measured_speeds(&self, team: &Team, kinds: &[usize]) -> MeasuredSpeeds {
        let units = self.present.schedule.units().units().len();
        MeasuredSpeeds::of(units, |unit, kind, shared| self.get_ns(unit, kind, shared), team, kinds)
    }
}

/// Cost tables.
impl Planner {
    /// What every chain was measured to cost, by name.
    pub(super) fn chain_costs(&self) -> Vec<ChainCost> {
        let units = self.present.schedule.units().units();
        let mut rows = Vec::new();
        for (i, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.is_part()) {
            for kind in 0..KINDS {
                let ns = |shared| self.whole_ns(i, kind, shared);
                let (alone, shared) = (ns(false), ns(true));
                if alone.is_none() && shared.is_none() {
                    continue;
                }
                let row = |(chain, part): (&str, f64)| ChainCost {
                    chain: chain.to_owned(),
                    kind,
                    alone_ns: alone.map(|ns| ns * part),
                    shared_ns: shared.map(|ns| ns * part),
                };
                rows.extend(parts(unit).map(row));
            }
        }
        rows.sort_by(|a, b| (&a.chain, a.kind).cmp(&(&b.chain, b.kind)));
        rows
    }

    /// What a unit costs with the parts of its sum. Parts that never ran so are taken to cost as expected.
    fn whole_ns(&self, unit: usize, kind: usize, shared: bool) -> Option<f64> {
        let units = self.present.schedule.units().units();
        let part = |i: &usize| {
            units[*i].predecessors.iter().map(|id| id.index()).find(|id| units[*id].is_part())
        };
        let (mut ns, mut known, mut all) = (0.0, 0.0, 0.0);
        for i in std::iter::successors(Some(unit), part) {
            all += units[i].cost;
            if let Some(own) = self.get_ns(i, kind, shared) {
                (ns, known) = (ns + own, known + units[i].cost);
            }
        }
        (known > 0.0).then(|| ns * all / known)
    }

    pub(super) fn adopt(&mut self, table: &CostTable) -> Result<Adopted, ControlError> {
        let scale = self.frames as f64 / f64::from(table.frames);
        let by_name: HashMap<_, _> =
            table.rows.iter().map(|row| ((row.chain.as_str(), row.kind), row)).collect();
        let units = self.base.units();
        let ns = |unit: usize, kind: usize, shared: bool| {
            let row = by_name.get(&(units[unit].name.as_str(), kind))?;
            Some(row.ns(shared)? * scale)
        };
        let seats = MeasuredSpeeds::of(units.len(), ns, &self.team, &self.kinds);
        let mut adopted = Adopted { known: 0, unknown: 0 };
        for (i, unit) in units.iter().enumerate() {
            match seats.plain_ns(|kind, shared| ns(i, kind, shared)) {
                Some(ns) => {
                    adopted.known += 1;
                    self.prices.set_unit(unit, ns);
                }
                None => adopted.unknown += 1,
            }
        }
        seats.apply(&mut self.team, &self.kinds);
        if adopted.known > 0 && self.steer != Steer::Fixed {
            let Planned { units, schedule, expected } = self.planned_anew();
            self.auto.end_trial();
            self.send_plan(units, schedule, Some(expected), true)?;
        }
        Ok(adopted)
    }
}

/// The chains of a unit by name, each with its part of the unit's cost.
fn parts(unit: &Unit) -> impl Iterator<Item = (&str, f64)> {
    let folded: f64 = unit.folded.iter().map(|chain| chain.cost).sum();
    let own = [(unit.name.as_str(), unit.cost - folded)];
    let chains = unit.folded.iter().map(|chain| (chain.name.as_str(), chain.cost));
    chains.chain(own).map(|(name, cost)| (name, cost / unit.cost))
}
