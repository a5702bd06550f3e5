//! The places where real-time threads meet.
//!
//! # The idea
//!
//! A block of audio is computed by a few threads that meet a few hundred times within a
//! millisecond. Whether that pays is decided by two prices: what it costs to *tell* another thread
//! something (one cache line that moves, 20 to 200 ns), and what it costs to *wait* until somebody
//! tells (a spin burns the core that a sibling could use; a system call gives the core away, and
//! the way back costs microseconds; what some CPUs offer lies between the two). This crate holds the
//! meeting places, each as small as its task allows, and keeps the way of waiting out of them: a
//! [`Wait`] says how, a meeting place says for what.
//!
//! # The parts
//!
//! | part | who meets there |
//! |---|---|
//! | [`Strategy`], [`Wait`], [`SpinCost`] | nobody: nine ways to wait, bounded in time |
//! | [`Signal`] | one who tells, any number who wait; an event count, with or without a wake tree |
//! | [`Countdown`] | the predecessors of a unit; the last one knows it is the last |
//! | [`Claim`] | those who want what one can have: a list's owner, and who takes over for it |
//! | [`Barrier`] | all workers, between two levels |
//! | [`Turnstile`] | workers that enter a block, the leader that closes it |
//! | [`ReadySet`] | those who make units ready, those who run them |
//! | [`Deque`] | the owner of units, those who steal from it |
//! | [`Ring`] | one writer, one reader: spans, edits |
//!
//! Beside them stands [`fetch_line`], which asks for memory ahead of its use.
//!
//! # The limits
//!
//! Nothing here allocates after its construction, takes a lock or logs. The only system calls are
//! those of a [`Wait`] that blocks or yields (which passes a wake-up on where a [`Signal`] has a
//! fan-out), and the wake-up in [`Signal::advance`], which is left out when nobody sleeps. The only
//! other one is the yield of a [`Turnstile`] that has been closing for long.
//!
//! `PROTOCOL.md` beside this crate's manifest tells each protocol step by step, the interleaving
//! that would break it, and why it cannot happen. Every ordering stronger than `Relaxed` in the
//! code cites one of its edges (`E1`, `E2`, ...) and says on which side of it the access stands.
//! The protocols are model-checked with loom and watched by ThreadSanitizer: `check-loom.sh`,
//! `check-tsan.sh`, `check-weakened.sh`.

mod spin;
mod wait;

mod signal;

mod countdown;

mod claim;

mod barrier;

mod turnstile;

mod ready;

mod deque;

mod ring;

mod fetch;
mod pad;
mod park;
mod sync;

pub use barrier::{Arrival, Barrier};
pub use claim::Claim;
pub use countdown::Countdown;
pub use deque::{Deque, Steal};
pub use fetch::fetch_line;
pub use pad::Padded;
pub use ready::ReadySet;
pub use ring::{Ring, RingReader, RingWriter};
pub use signal::Signal;
pub use spin::{SpinCost, spin_pass};
pub use turnstile::{Inside, Turnstile};
pub use wait::{ParseStrategyError, Strategy, Wait, Waited};
