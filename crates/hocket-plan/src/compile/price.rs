//! Measured costs in place of estimated ones.

use std::collections::HashMap;

use super::{MIN_COST, Unit, UnitGraph, ranked};
use crate::graph::NodeId;

/// Measured costs of chains, by their first node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    by_head: HashMap<NodeId, f64>,
}

impl Prices {
    /// Nothing is known yet.
    pub fn new() -> Prices {
        Prices::default()
    }

    /// The chain that begins with `head` costs `cost`. NaN and negative costs are ignored.
    pub fn set(&mut self, head: NodeId, cost: f64) {
        if cost >= 0.0 && cost.is_finite() {
            self.by_head.insert(head, cost);
        }
    }

    /// What the chain that begins with `head` costs, if that was measured.
    pub fn get(&self, head: NodeId) -> Option<f64> {
        self.by_head.get(&head).copied()
    }

    /// Notes the cost of a whole unit: its chains share it in the ratio of their expected costs.
    pub fn set_unit(&mut self, unit: &Unit, cost: f64) {
        let own = unit.cost - unit.folded.iter().map(|chain| chain.cost).sum::<f64>();
        let scale = cost / unit.cost;
        for chain in &unit.folded {
            chain.nodes.first().into_iter().for_each(|head| self.set(*head, chain.cost * scale));
        }
        unit.nodes.first().into_iter().for_each(|head| self.set(*head, own * scale));
    }

    /// Sum of all known costs.
    pub fn total(&self) -> f64 {
        // In the order of the nodes: a map's own order would give other last digits each time.
        let mut priced: Vec<_> = self.by_head.iter().collect();
        priced.sort_unstable_by_key(|(head, _)| head.0);
        priced.into_iter().map(|(_, cost)| cost).sum()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.by_head.is_empty()
    }
}

impl UnitGraph {
    /// The same units with measured costs, ordered anew. For units that are not folded yet.
    ///
    /// A unit without a price keeps its estimate, scaled by the ratio of prices to estimates of the
    /// others. So a new node gets a sensible place.
    ///
    /// Cost: O(n log n).
    pub fn priced(mut self, prices: &Prices) -> UnitGraph {
        let price = |unit: &Unit| unit.nodes.first().and_then(|head| prices.get(*head));
        let known = self.units.iter().filter_map(|unit| Some((unit.cost, price(unit)?)));
        let (estimated, measured) = known.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let scale = if estimated > 0.0 { measured / estimated } else { 1.0 };
        for unit in &mut self.units {
            unit.cost = price(unit).unwrap_or(unit.cost * scale).max(MIN_COST);
        }
        UnitGraph { units: ranked(self.units), ..self }
    }
}
