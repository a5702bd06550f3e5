//! The engine for programs in C and whatever can call C.
//!
//! cbindgen generates the header `include/hocket.h` from these sources (`cargo run -p xtask -- header`), so
//! a C programmer reads there what is written here. `docs/embedding.md` describes the life of an engine and
//! the threads.
//!
//! Reading order: [`status`] and [`settings`]; [`session`] and [`graph`] are the two things that can be
//! played, made of [`effects`] and [`processor`]s; [`engine`] starts and stops, [`block`] is
//! the audio thread. Every other thread edits ([`strip_edit`], [`routing_edit`], [`node_edit`], with
//! [`editing`] behind all three) and looks on ([`control`], [`explain`]).
//!
//! # Invariants
//!
//! What every function asks of its caller, cited by name in the SAFETY comments:
//!
//! - **P, pointers**: a pointer is null where the function says that it may be, and otherwise points to
//!   what its type says, aligned, for as long as the call lasts. Text ends in a zero byte. Rows have as
//!   many samples as frames are asked for, and no two of them overlap.
//! - **H, handles**: a handle came from the function that makes it, and was not yet given to the one
//!   that takes it back.
//! - **X, exclusive end**: while a handle is given back, no other call with it is running.
//! - **G, one builder**: a graph is used by one thread at a time.
//! - **C, callbacks**: they come back the ordinary way (no exception, no `longjmp`); `process` may be
//!   called on any thread, never twice at once for one node, and what `user` points to is good for that
//!   until `free`.
//!
//! In return it promises:
//!
//! - No panic leaves a function: it becomes `HOCKET_STATUS_FAULT`.
//! - A null handle is an error and not a crash.
//! - Of two leaders at a time one gets `HOCKET_STATUS_BUSY`.

pub mod status;
pub mod settings;
pub mod session;
pub mod effects;
pub mod processor;
pub mod graph;
pub mod engine;
pub mod block;
pub mod misses;
pub mod editing;
pub mod strip_edit;
pub mod routing_edit;
pub mod node_edit;
pub mod control;
pub mod explain;
mod border;
mod failure;
mod load;

use std::ffi::c_char;

/// Number of this interface. It grows when a function or a structure changes so that programs have to be
/// recompiled. `hocket_abi()` returns the number of the library.
pub const HOCKET_ABI: u32 = 2;

/// The interface's number in the library that is running; compare it with `HOCKET_ABI`.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_abi() -> u32 {
    HOCKET_ABI
}

/// Hocket's version, such as "0.1.0"; the library's own text, never to be freed.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
