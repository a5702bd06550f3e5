//! liblilv and LV2 plug-ins as safe Rust: the only unsafe code for LV2.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Types.** Each function and struct has the type that lilv's and LV2's headers give it. `lilv.rs` and `abi.rs` are
//!   the only places that name one.
//! - **One lilv.** lilv has no locks. Every call of it is made while `library::LILV` is locked; so are instantiation and cleanup,
//!   which LV2 forbids beside the discovery of the same library.
//! - **Worlds stay.** A world and what it holds (plug-ins, ports, libraries) live until the process ends.
//! - **Nodes.** A node that lilv hands over is freed once, by the drop of its `library::Node`.
//! - **Alive.** A plug-in's handle is valid from instantiation to the drop of the last share of it (`Shared`), which cleans
//!   up once. Features, context and interfaces live as long.
//! - **Connected.** Each port is connected once, before the first run, to memory that the instance owns and that does not
//!   move: a [`row::Row`], as large as the port demands of a run of the longest length. It is freed after the cleanup.
//! - **One audio thread.** `run`, `activate`, `deactivate` and `work_response` are called through `&mut Instance`, so never
//!   two at once. Only then does the plug-in touch its memory and call `schedule_work`.
//! - **Work beside.** LV2 allows `work` and `save` beside `run`, and no two calls of either. One thread works; `save` is
//!   called with the instance's state lock held.
//! - **Alone.** `activate`, `deactivate` and `cleanup` run beside no other call of the instance. `work` and `save` hold
//!   `Shared::calls` to read. A reset takes it to write or comes later; the end of an instance waits for it, and nobody
//!   works or saves afterwards. The first `activate` is before, and `cleanup` after all shares.
//!
//! A plug-in is foreign code. It can break all of this; a scan in a process of its own finds those that crash at once.

pub mod abi;
mod instance;
mod library;
pub mod row;
mod urid;

pub use instance::{Instance, Memory, Shared, Terms, Wires};
pub use library::{Bundle, PortFacts, PresetName, check as check_lilv};
pub use urid::urid;
