//! The places where real-time threads meet.
//!
//! # The idea
//!
//! A few threads compute a block of audio and meet a few hundred times within a millisecond. Two prices
//! decide whether that pays:
//!
//! - *Notifying* another thread moves one cache line, which takes 20 to 200 ns.
//! - *Waiting* takes a core or time. A spin uses the core that a sibling could use. A system call gives
//!   the core away, and the way back costs microseconds. Some CPUs have instructions between the two.
//!
//! This crate holds the meeting places, each as small as its task allows. A meeting place says what a
//! thread waits for. A [`Wait`] says how.
//!
//! # The parts
//!
//! | part | who meets there |
//! |---|---|
//! | [`Strategy`], [`Wait`], [`SpinCost`] | nobody: nine ways to wait, bounded in time |
//! | [`Signal`] | a thread that notifies, any number that wait; an event count, with or without a wake tree |
//! | [`Countdown`] | the predecessors of a unit; the last one knows that it is the last |
//! | [`Claim`] | threads of which only one can have a thing: a list's owner and its stand-in |
//! | [`Barrier`] | all workers, between two levels |
//! | [`Turnstile`] | workers that enter a block, the leader that closes it |
//! | [`SharedLoop`] | a thread with a loop, others that take passes of it |
//! | [`ReadySet`] | threads that make units ready, threads that run them |
//! | [`Deque`] | the owner of units, threads that steal from it |
//! | [`Ring`] | one writer, one reader: spans, edits |
//! | [`Flag`] | a thread that asks for something, another one that does it |
//!
//! [`fetch_line`] prefetches memory.
//!
//! # The limits
//!
//! Nothing here allocates after its construction, takes a lock or logs. The only system calls are
//! these:
//!
//! - A [`Wait`] that blocks or yields. If its [`Signal`] has a fan-out, the woken thread wakes others.
//! - The wake-up in [`Signal::advance`], only if a thread sleeps there.
//! - The sleep of a leader that has closed a [`Turnstile`] and waits for long, and the wake-up by the last
//!   worker that leaves. The same at the end of a [`SharedLoop`].
//!
//! `PROTOCOL.md` in this crate's folder lists the steps of each protocol, the interleaving that would break
//! it, and why that cannot happen. In the code, every ordering stronger than `Relaxed` cites one of its edges
//! (`E1`, `E2`, ...) and the side of the access. loom checks models of the protocols, and ThreadSanitizer
//! watches them on threads: `check-loom.sh`, `check-tsan.sh`, `check-weakened.sh`.

mod spin_cost;
mod wait;

mod signal;

mod countdown;

mod claim;

mod barrier;

mod turnstile;

mod shared_loop;

mod ready;

mod deque;

mod ring;

mod flag;

mod fetch;
mod pad;
mod park;
mod sync;

pub use barrier::{Arrival, Barrier, Round};
pub use claim::Claim;
pub use countdown::Countdown;
pub use deque::{Deque, Steal};
pub use fetch::fetch_line;
pub use flag::Flag;
pub use pad::Padded;
pub use park::monotonic_ns;
pub use ready::ReadySet;
pub use ring::{Ring, RingReader, RingWriter};
pub use shared_loop::SharedLoop;
pub use signal::Signal;
pub use spin_cost::{SpinCost, spin_pass};
pub use turnstile::{Inside, Turnstile};
pub use wait::{ParseStrategyError, Strategy, Wait, Waited};
