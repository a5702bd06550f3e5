//! From measured times to what plans need: costs of chains on the fastest seat, speeds of the others.

use std::collections::HashMap;

use hocket_plan::schedule::Team;
use hocket_plan::{ChainCost, CostTable, Unit};

use super::settings::Steer;
use super::steering::{ControlError, Inner};
use crate::block::costs::KINDS;

/// What a cost table had to say to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Chains of the session whose cost the table knows.
    pub known: usize,
    /// Chains of the session that it does not know.
    pub unknown: usize,
}

/// How fast kinds of seats are beside the fastest one, and a pair's seats beside each other.
pub(super) struct SeatSpeeds {
    kinds: [f64; KINDS],
    pair: f64,
}

impl SeatSpeeds {
    /// From `count` things whose time is known on more than one kind of seat, or alone and beside a
    /// busy sibling; as the team has it where nothing is known.
    pub(super) fn of(
        count: usize,
        ns: impl Fn(usize, usize, bool) -> Option<f64>,
        team: &Team,
        kinds: &[usize],
    ) -> SeatSpeeds {
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
        SeatSpeeds { kinds: std::array::from_fn(of_kind), pair: pair.unwrap_or(team.pair_speed) }
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

/// Cost tables.
impl Inner {
    /// What every chain was measured to cost, by name.
    pub(super) fn chain_costs(&self) -> Vec<ChainCost> {
        let units = self.present.schedule.units().units();
        let mut rows = Vec::new();
        for (i, unit) in units.iter().enumerate() {
            for kind in 0..KINDS {
                let ns = |shared| self.get_ns(i, kind, shared);
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

    pub(super) fn adopt(&mut self, table: &CostTable) -> Result<Adopted, ControlError> {
        let scale = self.frames as f64 / f64::from(table.frames);
        let by_name: HashMap<_, _> =
            table.rows.iter().map(|row| ((row.chain.as_str(), row.kind), row)).collect();
        let units = self.base.units();
        let ns = |unit: usize, kind: usize, shared: bool| {
            let row = by_name.get(&(units[unit].name.as_str(), kind))?;
            Some(row.ns(shared)? * scale)
        };
        let seats = SeatSpeeds::of(units.len(), ns, &self.team, &self.kinds);
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
            let units = self.priced_units();
            let (schedule, expected) = self.schedule_for(&units);
            self.send_plan(units, schedule, Some(expected))?;
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
