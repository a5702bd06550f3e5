//! The built-in effects, one file each, in the order of [`mod@crate::kinds`], and [`Bypass`].
//!
//! Each file holds the parameter table, the effect, and its declared cost beside the loop that
//! the cost counts. Parameter indices are constants named after the parameters.

pub mod gain;
pub mod pan;
pub mod tremolo;

pub mod eq;

pub mod delay;
pub mod fdn;
pub mod freeverb;

pub mod compressor;
pub mod gate;
pub mod limiter;

pub mod amp;

pub mod correlation;

pub mod synth;

mod bypass;

pub use bypass::Bypass;

use crate::ramp::Ramp;
use crate::segment::CONTROL_FRAMES;

/// One value a frame of a segment.
pub(crate) type Row = [f32; CONTROL_FRAMES];

/// The next `frames` values of a ramp; what lies behind them is 0.
pub(crate) fn row_of(ramp: &mut Ramp, frames: usize) -> Row {
    let mut row = [0.0; CONTROL_FRAMES];
    ramp.fill(&mut row[..frames]);
    row
}

/// Whether a switch parameter is on.
pub(crate) fn is_on(value: f32) -> bool {
    value >= 0.5
}
