//! LV2, CLAP and VST3 plug-ins as processors.
//!
//! Start at [`Catalog`]: it knows which plug-ins there are and builds them. A plug-in becomes a
//! [`hocket_dsp::Processor`] like the built-in effects.
//!
//! # Reading order
//! 1. [`description`]: what is known of a plug-in, and what its *kind* is called in sessions.
//! 2. [`layout`](mod@layout): how a plug-in's ports fit the two channels of a strip; [`extra`]: its outputs beside the first.
//! 3. [`scan`] and [`catalog`]: how plug-ins are found, in processes of their own, and remembered.
//!    [`presets`]: those of plug-ins, and how a session names one.
//! 4. [`changes`](mod@changes): when changes of parameters take effect. `sent`: what plug-ins send.
//! 5. [`check`]: the stress test of a plug-in.
//! 6. [`isolate`]: plug-ins in processes of their own.
//! 7. [`watch`]: those that spoil the sound again and again.
//! 8. [`lv2`], [`clap`] and [`vst3`]: the formats. Their `ffi` modules hold the unsafe code, with what `check` and `isolate` say.
//!
//! # What holds for all formats
//! - A plug-in runs at most [`LONGEST_RUN`] frames at once, whatever the engine's blocks are. So it never has to be made
//!   anew for longer blocks, and it computes the same in every engine.
//! - It reads and writes rows of its own. So plug-ins that cannot work in place run like the others.
//! - Its bits depend on its input alone as far as the plug-in itself does not look at the length of its runs.
#![deny(unsafe_code)]

pub mod description;
pub mod layout;
pub mod extra;
pub mod changes;
mod sent;
pub mod catalog;
mod child;
mod names;
pub mod heard;
pub mod scan;
pub mod check;
pub mod presets;
mod song;
pub mod isolate;
pub mod watch;
pub mod lv2;
pub mod clap;
pub mod vst3;

pub use catalog::{Catalog, PresetValues, Wanted, is_named};
pub use description::{Description, Format, Param, Steps};
pub use extra::ExtraOutput;

/// The most frames that a plug-in processes at once. Longer blocks are several runs.
pub const LONGEST_RUN: usize = 4096;
/// The length of most runs: what a plug-in learns that asks for it.
const NOMINAL_RUN: usize = 256;
/// The last room for events of a run: for what a port of the engine holds of note ends at least, one of which may be the end
/// of all notes, as MIDI has it.
const END_EVENTS: usize = hocket_time::END_ROOM + END_ALL_EVENTS;
/// Pedal up and all notes off, on each channel.
const END_ALL_EVENTS: usize = 2 * 16;
