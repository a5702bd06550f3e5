//! How a thread gives its CPU away until somebody wakes it: one file per system, the same names.
//!
//! A [`Lot`] belongs to one atomic word. [`Lot::sleep_while`] blocks the caller if the word still
//! holds the expected value *at the moment it is queued*, and [`Lot::wake_all`] wakes all that are
//! queued. The two are atomic towards each other; that is all the caller relies on. In particular
//! neither publishes anything: after it wakes, the caller reads the word again with `Acquire`.

#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
mod linux;
#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
pub(crate) use linux::Lot;

#[cfg(all(not(loom), not(all(target_os = "linux", target_pointer_width = "64"))))]
mod other;
#[cfg(all(not(loom), not(all(target_os = "linux", target_pointer_width = "64"))))]
pub(crate) use other::Lot;

#[cfg(loom)]
mod model;
#[cfg(loom)]
pub(crate) use model::Lot;
