//! What is to be played and in which order: session -> graph -> [`VerifiedSchedule`].
//!
//! This crate plans and never runs. It has no threads, no clocks, no CPU numbers, no I/O and no
//! unsafe code: it speaks of abstract *seats* and *pairs*, so a policy can be planned and tested
//! for a machine that nobody in the room has.
//!
//! Reading order: a [`Session`] says what is played; [`graph`] turns it into nodes and edges;
//! [`compile`] fuses chains of nodes into units and orders them; [`schedule`] deals the units out
//! to workers; [`VerifiedSchedule`] checks the result against the rules R1 to R9 and is the only
//! thing an engine accepts; [`place`] says which seats the workers take.
#![forbid(unsafe_code)]

pub mod compile;
mod cost_table;
pub mod effect;
pub mod graph;
pub mod place;
pub mod schedule;
pub mod session;

pub use compile::{Fusing, Unit, UnitGraph, UnitId};
pub use cost_table::{ChainCost, CostTable};
pub use effect::{Effect, EffectCatalogue, ParamSpec};
pub use graph::{Edge, Graph, GraphError, Node, NodeId, NodeKind};
pub use place::{CookieShape, Placement, Seat, SeatId, Seats, SiblingPolicy};
pub use schedule::{Rule, Schedule, ScheduleKind, Step, VerifiedSchedule, Violation};
pub use session::Session;
