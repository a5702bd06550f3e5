//! The leader between blocks: no allocation, no lock, nothing freed. Only blocks without a deadline are different
//! (`Engine::set_offline`): before those the leader also runs background work and main sides.

pub(crate) mod process;
pub(crate) mod inbox;
pub(crate) mod sighting;
pub(crate) mod block_estimates;
pub(crate) mod choose_walk;
