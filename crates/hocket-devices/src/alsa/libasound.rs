//! libasound as safe Rust: with libjack and `library.rs`, the only unsafe code of this crate.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Types.** Each function has the type that asoundlib.h gives it. `functions.rs` is the only place that names one.
//!   Some have two versions; the loader gives the default one, whose type the header has.
//! - **Open.** A PCM's handle is open from `snd_pcm_open` to the close of its [`Pcm`], which then forgets it. Calls
//!   without a handle are refused before they reach the library.
//! - **One at a time.** A PCM is used through `&mut`, so by one thread at a time, which is all that libasound asks for.
//! - **Parameters.** A container of parameters exists from its `malloc` to its `free`, within one function.
//! - **Room.** The memory of a transfer holds the frames of the transfer, with the channels and the format that the PCM
//!   was configured with.
//!
//! libasound stays loaded until the process ends, because plug-ins of it may have threads of their own.

mod cards;
mod functions;
mod pcm;

pub use cards::CardFacts;
pub(super) use cards::cards;
pub(super) use functions::load;
pub(super) use pcm::{Config, Pcm, Stream, Trouble};

// Linux has these numbers on every architecture that Hocket runs on.
pub(super) const EPERM: i32 = 1;
pub(super) const EINTR: i32 = 4;
pub(super) const EAGAIN: i32 = 11;
pub(super) const EACCES: i32 = 13;
pub(super) const EBUSY: i32 = 16;
pub(super) const EPIPE: i32 = 32;
pub(super) const ESTRPIPE: i32 = 86;

/// What the library says of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error {
    /// Negative.
    pub(super) code: i32,
    pub(super) text: String,
}
