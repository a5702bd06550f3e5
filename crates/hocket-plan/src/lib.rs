//! What is to be played and in which order: session -> graph -> [`VerifiedSchedule`].
//!
//! This crate plans and never runs. It has no threads, no clocks, no CPU numbers, no I/O and no
//! unsafe code: it speaks of abstract *seats* and *pairs*, so a policy can be planned and tested
//! for a machine that nobody in the room has.
#![forbid(unsafe_code)]

pub mod session;
pub mod effect;

pub use effect::{Effect, EffectCatalogue, ParamSpec};
pub use session::Session;
