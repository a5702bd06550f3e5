//! SoundFont files as instruments: they play notes without any plug-in.
//!
//! [`SoundFont::open`] reads a file of the format SoundFont 2. [`instrument`] makes a [`Processor`] that plays it. Any number
//! of instruments share one file.
//!
//! # Reading order
//! 1. [`error`]: what is wrong with a file, where, and what to do.
//! 2. `chunks`, `lists`: the parts of a file and its tables of records.
//! 3. `generators`: the numbers that say how a sample sounds.
//! 4. `zones`: tables to presets, each a list of regions: a region is a piece of a sample, and for which notes it sounds.
//! 5. [`font`]: the file in memory.
//! 6. `channel`: what MIDI says of a channel.
//! 7. `oscillator`, `envelope`, `filter`, `voice`: a region that sounds.
//! 8. [`player`]: which voices sound.
//!
//! # Why a reader of its own
//! The crates that read SoundFonts (rustysynth, soundfont, oxisynth) trust a file: a wrong index in it ends the program, and a
//! wrong length takes as much memory as it says. Here a file may come from anywhere, and its mistake has a place.
//!
//! # What holds
//! - A file is read on a control thread. Blocks allocate nothing and read samples that are in memory.
//! - The output has the same bits for every cut into blocks and on every machine ([`hocket_dsp::segment`],
//!   [`hocket_dsp::math`]).
//! - Memory: two bytes per sample, at most [`MAX_SAMPLE_BYTES`](font::MAX_SAMPLE_BYTES), and at most
//!   [`MAX_REGIONS`](font::MAX_REGIONS) regions.
//!
//! # What it leaves out
//! - modulators of the file; those that every SoundFont has by default are there, but for velocity to cutoff
//! - sends to reverb and chorus
//! - the lower 8 bits of samples of 24
//! - samples in the ROM of a sound card, and compressed ones (SF3): refused
#![forbid(unsafe_code)]

use std::sync::Arc;

use hocket_dsp::segment::Segmented;
use hocket_dsp::{Param, Processor};

pub mod error;
mod chunks;
mod lists;
mod generators;
mod zones;
pub mod font;
mod channel;
mod oscillator;
mod envelope;
mod filter;
mod voice;
pub mod player;

pub use error::FontError;
pub use font::{Preset, SoundFont};
use player::Player;

/// What the instrument is called in sessions.
pub const KIND: &str = "soundfont";

/// The parameters of the instrument.
pub const PARAMS: &[Param] = player::PARAMS;

/// Declared floating-point operations per stereo frame, with as many voices as usually sound.
pub const FLOPS_PER_FRAME: f64 = player::USUAL_VOICES * voice::FLOPS_PER_FRAME;

/// Makes an instrument. `values` has one entry per parameter; one that is missing or not a number becomes the default.
///
/// Thread: control. Cost: allocates its voices.
pub fn instrument(
    font: &Arc<SoundFont>,
    values: &[f32],
    sample_rate_hz: u32,
) -> Box<dyn Processor> {
    let make = |values: &[f32], rate_hz| Player::of(Arc::clone(font), values, rate_hz);
    Box::new(Segmented::with(values, sample_rate_hz, make))
}
