//! The `hocket` command: arguments, wiring, exit codes.
//!
//! Everything that can be said in a library is said in the other crates; here a command line
//! becomes a plan, a plan is run, and what comes out is printed or written.
#![forbid(unsafe_code)]
// Only `output` prints: it makes text from elsewhere fit to be shown.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod cli;
pub mod failure;
pub mod load;
mod lost_events;
mod restarts;
pub mod check;
pub mod machine;
pub mod bench;
pub mod capacity;
pub mod demo;
pub mod devices;
pub mod doctor;
pub mod play;
pub mod plugin;
pub mod render;
pub mod recover;
pub mod report;
pub mod session;
pub mod split;
pub mod lab;
pub mod trace;
pub mod tune;
pub mod profile;
pub mod generate;
mod files;
mod stem_files;
mod keep;
mod pipe;
mod written;
mod notes;
mod leftovers;
mod interrupt;
mod http;
mod disk_silence;
mod takes;
pub mod output;

/// What reads bytes from the network, for the fuzzers of `fuzz/` alone.
#[doc(hidden)]
pub mod fuzzed {
    pub use crate::http::{
        Answer, LARGEST_BODY, LARGEST_HEAD, Refused, Request, Status, own_pages, read,
    };
    pub use crate::play::fuzzed::*;
}

pub use failure::{Exit, Failure};
