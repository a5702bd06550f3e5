//! A worker's thread between blocks.

pub(crate) mod start;
pub(crate) mod life;
pub(crate) mod seat;
