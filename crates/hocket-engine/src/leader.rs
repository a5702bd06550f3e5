//! The leader between blocks: no allocation, no lock, nothing freed. Two things are different, and say so:
//!
//! - Blocks without a deadline (`Engine::set_offline`): before those the leader also runs background work and main sides.
//! - Accounts that allocate (`accounts.rs`, `part_counts.rs`). Nobody asks for them in a live run.

pub(crate) mod process;
pub(crate) mod order;
pub(crate) mod inbox;
pub(crate) mod sighting;
pub(crate) mod block_estimates;
pub(crate) mod choose_walk;
pub(crate) mod rest;
mod accounts;
pub mod part_counts;
mod offline_work;
