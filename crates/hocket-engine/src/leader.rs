//! The leader between blocks: no allocation, no lock, nothing freed.

pub(crate) mod process;
pub(crate) mod inbox;
pub(crate) mod sighting;
pub(crate) mod block_estimates;
pub(crate) mod choose_walk;
