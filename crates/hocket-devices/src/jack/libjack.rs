//! libjack as safe Rust: with libasound and `library.rs`, the only unsafe code of this crate.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Types.** Each function has the type that jack.h gives it, and each struct has room for what libjack writes.
//!   `functions.rs` is the only place that names one, but for [`LatencyRange`](crate::LatencyRange).
//! - **Open.** A client's handle is open from `jack_client_open` to the drop of its [`Client`], which closes it once.
//!   [`Requests`] of other threads go through a door that the drop shuts first.
//! - **Outlives.** What callbacks get outlives the client: it is freed after `jack_client_close`, and leaked if that
//!   fails or a callback hangs.
//! - **Cancelled.** `jack_deactivate` may cancel the process thread at any instruction. A client leaves only after its
//!   callback has come to rest, and a callback holds off a cancellation until its end. So a cancellation unwinds frames
//!   without anything to drop: those of `on_process`, `on_sync` and `cancel.rs`.
//! - **One cycle.** libjack calls the process callback from one thread at a time. A port's buffer is valid until the
//!   callback returns, as jack.h promises. PipeWire's library (seen in 0.3.65) breaks that where a device changes its rate
//!   or goes, so audio ports are read and written right after their buffer was fetched. An audio port's holds one `f32` per frame of the
//!   cycle; no two ports share an output buffer. A MIDI port's holds messages, whose bytes are valid for as long. That of a
//!   MIDI output has room for as many as libjack takes.
//! - **Before activation** no callback of the process thread runs.
//!
//! - **One library.** A client calls the functions of the library that opened it, and gives its handles to no other. Where
//!   PipeWire's library is loaded beside JACK's, the loader keeps their names apart (`RTLD_LOCAL`), and only one has a client.
//!
//! libjack stays loaded until the process ends, because it has threads of its own.

mod cancel;
mod client;
mod functions;
mod ports;
mod port_latency;
mod reason;
mod strings;
mod transport;

pub(super) use client::{Client, Cycle, Events, longest_client_name};
pub(super) use functions::{Functions, load, load_pipewire};
pub(super) use ports::{Direction, Kind, OpenPorts, Side};
pub(super) use transport::Requests;
pub use transport::{Place, TransportAt, TransportState};
