//! Convolution: a recorded impulse response as an effect, such as a cabinet, a room or a hall.
//!
//! [`Impulse::new`] prepares a response once. [`effect`] makes a [`Processor`] that plays it. Any number of effects share one
//! response.
//!
//! # Reading order
//! 1. [`impulse`]: a response, cut into parts.
//! 2. `fourier`: the transform of real rows.
//! 3. `spectra`: rows of bins, and the one sum over them.
//! 4. `stage`: parts of one length, by overlap-save.
//! 5. [`convolver`]: the head and both stages, as an effect.
//!
//! # How it comes without latency
//! The response is cut into three (W. G. Gardner, *Efficient convolution without input-output delay*, 1995):
//! - the first [`SMALL`](impulse::SMALL) frames: multiplied and added frame by frame
//! - up to frame 2 [`LARGE`](impulse::LARGE): parts of [`SMALL`](impulse::SMALL) frames, computed whenever so many have come in
//! - the rest: parts of [`LARGE`](impulse::LARGE) frames. They are due one part later, so that their work is spread evenly over
//!   the small parts until then.
//!
//! # What holds
//! - Blocks allocate nothing. What a block costs depends on how many small parts end in it, never on the sound.
//! - The output has the same bits for every cut into blocks: parts are counted in frames since the start, and sums have one order.
//! - Transforms are those of rustfft without instructions that only some CPUs have, so another CPU gives the same bits if its C library
//!   has the same sines.
#![forbid(unsafe_code)]

use std::sync::Arc;

use hocket_dsp::segment::Segmented;
use hocket_dsp::{Param, Processor};

pub mod impulse;
mod fourier;
mod spectra;
mod stage;
pub mod convolver;

use convolver::Convolver;
pub use impulse::{Impulse, ImpulseError, MAX_FRAMES};

/// What the effect is called in sessions.
pub const KIND: &str = "convolution";

/// One sentence.
pub const SUMMARY: &str =
    "Plays the sound through an impulse response from an audio file: a cabinet, a room, a hall.";

/// The parameters of the effect.
pub const PARAMS: &[Param] = convolver::PARAMS;

/// Makes an effect. `values` has one entry per parameter; one that is missing or not a number becomes the default. The rate of
/// `impulse` is taken to be `sample_rate_hz`.
///
/// Thread: control. Cost: allocates memory as long as the response, 16 bytes per frame.
pub fn effect(impulse: &Arc<Impulse>, values: &[f32], sample_rate_hz: u32) -> Box<dyn Processor> {
    let make = |values: &[f32], rate_hz| Convolver::of(Arc::clone(impulse), values, rate_hz);
    Box::new(Segmented::with(values, sample_rate_hz, make))
}

/// Declared floating-point operations per stereo frame.
pub fn flops_per_frame(impulse: &Impulse) -> f64 {
    impulse.flops_per_frame() + convolver::MIX_FLOPS
}
