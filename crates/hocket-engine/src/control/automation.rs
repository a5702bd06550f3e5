//! Automation on the control side: lanes are made and checked here, and go to the leader as an order.
//!
//! A lane belongs to a parameter of a node, and stays with the node over new plans. Where several say something of a
//! parameter, this holds: at one frame a lane comes first, then edits, so an edit wins. The next value of the lane wins
//! over the edit. Edits take effect at the first frame of a block.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use hocket_plan::NodeId;
use hocket_time::{LaneError, TempoMap, TimeBase};

use super::edit::EditError;
use super::handle::ControlError;
use super::planner::Planner;
use crate::block::lanes::{Automated, MappedLane};
use crate::block::node::{LaneExchange, NodeCell};
use crate::leader::order::Order;
pub use hocket_plan::session::LaneSpec;

/// Gives a parameter of a node a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneChange {
    /// The node, in the newest graph.
    pub node: NodeId,
    /// Index of the parameter, as in [`Change::Param`](hocket_dsp::Change::Param).
    pub param: u16,
    /// `None`: removes the lane. The parameter stays as it is.
    pub lane: Option<LaneSpec>,
}

/// A node whose lanes gave more values than it has room for in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinnedOut {
    /// The node's name.
    pub node: String,
    /// How many values went since the node joined or was reset. See [`Control::thinned_out`].
    ///
    /// [`Control::thinned_out`]: super::handle::Control::thinned_out
    pub values: u64,
}

/// A change of a lane of a node that is known.
pub(crate) type CellChange = (Arc<NodeCell>, u16, Option<LaneSpec>);

/// Nodes and the lanes that they get.
type NewLanes = Vec<(Arc<NodeCell>, Automated)>;

/// The lanes with which an engine starts, by node.
pub(crate) type FirstLanes = BTreeMap<NodeId, Automated>;

/// Makes the lanes with which an engine starts.
///
/// # Errors
/// The parameter of a node, and what is wrong with its lane.
pub(super) fn first_lanes(
    changes: &[LaneChange],
    map: &Arc<TempoMap>,
) -> Result<FirstLanes, (NodeId, u16, LaneError)> {
    let mut first = FirstLanes::new();
    for LaneChange { node, param, lane } in changes {
        let Some(spec) = lane else { continue };
        let lane = mapped(spec, map).map_err(|why| (*node, *param, why))?;
        first.entry(*node).or_default().insert(*param, (spec.clone(), lane));
    }
    Ok(first)
}

impl NodeCell {
    /// Gives a node lanes before it has run: it begins with their first values.
    ///
    /// Thread: control; allocates. Blocks have up to `frames` frames.
    pub(super) fn with_lanes(mut self, lanes: Automated, frames: usize) -> NodeCell {
        let each = lanes.iter().map(|(param, (_, lane))| (*param, Arc::clone(lane)));
        self.begin_with(LaneExchange::new(each.collect(), frames));
        self.automated = lanes.into();
        self
    }
}

impl Planner {
    /// Gives nodes of the newest plan other lanes, all before one block. Returns the number of the order.
    pub(crate) fn automate(&mut self, changes: Vec<CellChange>) -> Result<u64, ControlError> {
        let mut places: BTreeMap<*const NodeCell, usize> = BTreeMap::new();
        let mut new: NewLanes = Vec::new();
        for (cell, param, spec) in changes {
            let place = *places.entry(Arc::as_ptr(&cell)).or_insert_with(|| {
                let lanes = automated(&cell).clone();
                new.push((Arc::clone(&cell), lanes));
                new.len() - 1
            });
            let lanes = &mut new[place].1;
            match spec {
                Some(spec) => {
                    let lane = made(&spec, &self.map, &cell, param)?;
                    lanes.insert(param, (spec, lane));
                }
                None => _ = lanes.remove(&param),
            }
        }
        self.exchange_lanes(new, Order::default())
    }

    /// Goes on with other tempos. Lanes in beats follow them.
    pub(crate) fn set_tempo_map(&mut self, map: TempoMap) -> Result<u64, ControlError> {
        let (map_hz, engine_hz) = (map.rate_hz(), self.rate_hz);
        if map_hz != engine_hz {
            return Err(ControlError::Rate { map_hz, engine_hz });
        }
        let map = Arc::new(map);
        let mut new = Vec::new();
        for cell in self.nodes().iter().flatten() {
            let mut lanes = automated(cell).clone();
            let in_beats = lanes.iter_mut().filter(|(_, (spec, _))| spec.base == TimeBase::Beats);
            let mut any = false;
            for (param, (spec, lane)) in in_beats {
                *lane = made(spec, &map, cell, *param)?;
                any = true;
            }
            if any {
                new.push((Arc::clone(cell), lanes));
            }
        }
        let order = Order { map: Some(Arc::clone(&map)), ..Order::default() };
        let number = self.exchange_lanes(new, order)?;
        self.map = map;
        Ok(number)
    }

    /// The lanes of all nodes, with room for blocks of up to `frames` frames. They go on where they are.
    pub(super) fn lanes_for(&self, frames: usize) -> Box<[(Arc<NodeCell>, LaneExchange)]> {
        let exchange = |cell: &Arc<NodeCell>| {
            let lanes = automated(cell);
            let each = lanes.iter().map(|(param, (_, lane))| (*param, Arc::clone(lane)));
            let each: Vec<_> = each.collect();
            (!each.is_empty()).then(|| (Arc::clone(cell), LaneExchange::new(each, frames)))
        };
        self.nodes().iter().flatten().filter_map(exchange).collect()
    }

    fn exchange_lanes(&mut self, new: NewLanes, order: Order) -> Result<u64, ControlError> {
        let frames = self.frames;
        let exchange = |(cell, lanes): &(Arc<NodeCell>, Automated)| {
            let lanes = lanes.iter().map(|(param, (_, lane))| (*param, Arc::clone(lane)));
            (Arc::clone(cell), LaneExchange::new(lanes.collect(), frames))
        };
        let number = self.send(Order { lanes: new.iter().map(exchange).collect(), ..order })?;
        for (cell, lanes) in new {
            *automated(&cell) = lanes;
        }
        Ok(number)
    }

    /// The cell of a node of the newest graph that somebody asked for, if it has a processor.
    pub(crate) fn cell(&self, node: NodeId) -> Result<Arc<NodeCell>, EditError> {
        let place = self.places.get(node.index());
        let cell = place.and_then(|place| self.nodes()[place.index()].clone());
        cell.ok_or(EditError::NoNode(node))
    }

    pub(super) fn thinned_out(&self) -> Vec<ThinnedOut> {
        let nodes = self.nodes().iter().flatten();
        let counts =
            nodes.map(|node| ThinnedOut { node: node.name.clone(), values: node.thinned() });
        counts.filter(|count| count.values > 0).collect()
    }
}

fn made(
    spec: &LaneSpec,
    map: &Arc<TempoMap>,
    cell: &NodeCell,
    param: u16,
) -> Result<Arc<MappedLane>, ControlError> {
    mapped(spec, map).map_err(|why| ControlError::Lane { node: cell.name.clone(), param, why })
}

fn mapped(spec: &LaneSpec, map: &Arc<TempoMap>) -> Result<Arc<MappedLane>, LaneError> {
    Ok(Arc::new(MappedLane { lane: spec.lane(map)?, map: Arc::clone(map) }))
}

fn automated(cell: &NodeCell) -> MutexGuard<'_, Automated> {
    // A thread that panicked left plain data.
    cell.automated.lock().unwrap_or_else(PoisonError::into_inner)
}
