//! What the lab's experiments run.
//!
//! # The idea
//!
//! An experiment needs work of a known kind, and it needs to know afterwards that the work was done.
//! Everything here therefore says how many operations it does and leaves a result that can be held
//! against an independent computation: a digest of a buffer, a closed form, known digits of pi, the
//! total of all increments. What is measured about it, how often and on which seats, is the
//! experiment's affair.
//!
//! # The parts
//!
//! | part | what it is for |
//! |---|---|
//! | [`Kernel`], [`smt`], [`contention`], [`Biquads`], [`Correlation`] | one thread's work, pass by pass |
//! | [`locks`] | eleven ways to let one thread at a time increment a counter |
//! | [`turns`] | ways for two threads to hand a counter to and fro |
//! | [`barriers`] | where n threads wait for all |
//! | [`lost_updates`](mod@lost_updates) | counting without a lock: what gets lost |
//! | [`mandelbrot`], [`filters`] | pictures that several threads compute |
//! | `system` (Linux) | system calls, processes, signals, pages, memory: one primitive of the system each |
//! | [`aim9`] | arithmetic, strings, sorting: what one thread does, each pass with a known result |
//! | [`pi`](mod@pi), [`sieve`], [`pauses`] | long serial work, and work that blocks a part of the time |
//!
//! # The limits
//!
//! No statistics, no records, no pinning: whoever starts threads here ([`ThreadGroup`]) lets the caller
//! settle each of them first. Nothing runs for longer than it was asked to.
//!
//! Own protocols between threads (locks, turns) are told in `PROTOCOL.md` beside this crate's manifest,
//! by the rules of hocket-rt, and are checked with its scripts under loom and ThreadSanitizer.
#![deny(unsafe_code)]

mod kernel;

pub mod smt;

pub mod contention;

mod biquads;

mod correlation;

mod thread_group;

pub mod locks;

pub mod turns;

pub mod barriers;

pub mod lost_updates;

pub mod mandelbrot;

pub mod filters;

pub mod pi;

pub mod sieve;

pub mod aim9;

pub mod pauses;

#[cfg(target_os = "linux")]
pub mod system;

mod random;
mod sync;
mod sys;

pub use biquads::{Biquads, FILTERS, FRAMES};
pub use correlation::Correlation;
pub use kernel::{Kernel, Ops, Wrong};
pub use thread_group::{Finished, ThreadGroup};
