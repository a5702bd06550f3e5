//! The engine for programs in C, and in every language that can call C.
//!
//! cbindgen generates the header `include/hocket.h` from these sources (`cargo run -p xtask -- header`). So the
//! comments here are also the header's. `docs/embedding.md` describes the life of an engine and the threads.
//!
//! Reading order:
//!
//! - [`status`] and [`settings`].
//! - [`session`] and [`graph`]: the two things that an engine can play, made of [`effects`] and
//!   [`processor`]s, which may have background work and a main side ([`host`]). [`streams`] has sessions whose long files
//!   play from the disk. [`graph_ports`] has what only graphs with more than stereo and edges need, [`events`] what
//!   travels on event edges, [`liveness`] what depends on live input, and [`spread`] a loop that several workers share.
//! - [`engine`] starts and stops, and [`follow`] is for leaders of sound servers. [`process`] is for the audio thread, and so are [`ports`] (inputs and outputs) and a
//!   part of [`transport`] and of [`takes`] (recordings). [`time`] has the units of song time.
//! - Every other thread may edit ([`strip_edit`], [`routing_edit`], [`track_edit`], [`node_edit`], all based on
//!   [`editing`]), give parameters lanes ([`automation`]) and inspect ([`control`], [`explain`]). [`services`]
//!   has notices and states of processors, and blocks that become longer; [`states`] has the states of all processors.
//!
//! # Invariants
//!
//! Every function requires these of its caller. The SAFETY comments cite them by name:
//!
//! - **P, pointers**: a pointer is null only if the function allows it. Otherwise it points to a value of its
//!   type, aligned and valid during the call. Text ends in a zero byte. Each row has as many samples as the
//!   call has frames, and rows do not overlap.
//! - **H, handles**: a handle comes from the function that makes it, and no call has taken it back yet.
//! - **X, exclusive end**: while a call takes a handle back, no other call with that handle runs.
//! - **G, one builder**: only one thread at a time uses a graph.
//! - **C, callbacks**: they return normally (no exception, no `longjmp`). Any thread may call `process`, but
//!   never two threads at once for one node. What `user` points to allows this until `free`.
//! - **O, own calls**: what a processor got in its `join` is used only inside the processor's own callbacks, by one thread
//!   at a time. No pass of a spread loop uses it.
//! - **S, spread passes**: several threads may call the body of a spread loop at the same time, with different passes.
//!   It writes only what belongs to its pass.
//!
//! In return the library promises:
//!
//! - No panic leaves a function: it becomes `HOCKET_STATUS_FAULT`.
//! - A null handle is an error and not a crash.
//! - If two threads try to lead at the same time, one gets `HOCKET_STATUS_BUSY`.

pub mod status;
pub mod settings;
pub mod session;
pub mod streams;
pub mod effects;
pub mod time;
pub mod processor;
pub mod host;
pub mod graph;
pub mod graph_ports;
pub mod events;
pub mod liveness;
pub mod spread;
pub mod engine;
pub mod follow;
pub mod process;
pub mod ports;
pub mod transport;
pub mod takes;
pub mod event_takes;
pub mod misses;
pub mod editing;
pub mod strip_edit;
pub mod routing_edit;
pub mod track_edit;
pub mod node_edit;
pub mod automation;
pub mod control;
pub mod explain;
pub mod services;
pub mod states;
mod border;
mod event_room;
mod failure;
mod load;

use std::ffi::c_char;

/// The number of this interface. It grows when a function or structure changes so that programs have to be
/// recompiled. `hocket_abi()` returns the library's number.
pub const HOCKET_ABI: u32 = 7;

/// The interface number of the running library. Compare it with `HOCKET_ABI`.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_abi() -> u32 {
    HOCKET_ABI
}

/// Hocket's version, such as "0.1.0". The text belongs to the library: do not free it.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
