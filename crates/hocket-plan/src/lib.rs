//! Plans what to play and in which order: session -> graph -> [`VerifiedSchedule`].
//!
//! This crate plans and never runs. It has no threads, no clocks, no CPU numbers, no I/O and no
//! unsafe code. It knows abstract *seats* and *pairs*, so you can plan and test a policy for a
//! machine that you do not have.
//!
//! Reading order:
//!
//! 1. [`Session`] says what plays.
//! 2. [`graph`] turns it into nodes and edges.
//! 3. [`compile`] fuses chains of nodes into units and orders them.
//! 4. [`schedule`] assigns the units to workers.
//! 5. [`VerifiedSchedule`] checks the result against the rules R1 to R9. An engine accepts nothing
//!    else.
//! 6. [`place`] says which seats the workers take.
#![forbid(unsafe_code)]

pub mod compile;
mod cost_table;
pub mod effect;
pub mod graph;
pub mod place;
mod places;
pub mod schedule;
pub mod session;
pub mod split;

pub use compile::{Fusing, Unit, UnitGraph, UnitId};
pub use cost_table::{ChainCost, CostTable};
pub use effect::{
    EFFECT_KEYS, Effect, EffectCatalogue, EventOutput, ExtraOutput, FileRefusal, Key,
    PLUGIN_PREFIXES, ParamLabel, ParamSpec, Preset, is_plugin,
};
pub use graph::{
    ChannelMap, Edge, EventPorts, Feedback, Graph, GraphError, InputPort, LiveCause, Liveness,
    Node, NodeId, NodeKind, Ports, Span, shortest_path,
};
pub use place::{CookieShape, Placement, Seat, SeatId, Seats, SiblingPolicy};
pub use schedule::{Rule, Schedule, ScheduleKind, Step, VerifiedSchedule, Violation};
pub use session::Session;
