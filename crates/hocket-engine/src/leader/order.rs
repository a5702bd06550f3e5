//! What goes through the ring from a control thread to the leader, and what comes back.

use std::sync::Arc;

use hocket_dsp::Change;
use hocket_time::{TempoMap, TimedCommand};

use crate::block::node::{Exchange, LaneExchange, NodeCell};
use crate::block::plan::Plan;

/// What the leader does before one block, all of it or nothing.
#[derive(Default)]
pub(crate) struct Order {
    /// Go on with another plan.
    pub plan: Option<Box<Plan>>,
    /// Change parameters of nodes, in this order.
    pub changes: Vec<(Arc<NodeCell>, Change)>,
    /// Give nodes other lanes.
    pub lanes: Box<[(Arc<NodeCell>, LaneExchange)]>,
    /// Give processors what their main sides made.
    pub exchanges: Box<[Exchange]>,
    /// Play, stop, locate or loop. For a frame other than 0 it has one of [`crate::control::orders::Outbox::places`].
    pub transport: Option<TimedCommand>,
    /// Go on with other tempos.
    pub map: Option<Arc<TempoMap>>,
    /// Whether the planner sends it by itself, without an edit. It takes no place from edits, or these would take effect in
    /// other blocks when they are replayed.
    pub is_unheard: bool,
}

/// An order under way.
pub(crate) struct Sent {
    pub number: u64,
    pub order: Order,
}

/// A completed order.
pub(crate) struct Done {
    pub number: u64,
    /// Frames since the start at which it took effect.
    pub frame: u64,
    /// What it replaced. The control thread that takes this out of the ring frees it.
    pub _retired: Order,
}
