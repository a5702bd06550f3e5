//! Processors over slices.
//!
//! Everything here is arithmetic on `f32` rows: no threads, no files, no clocks. A processor gets
//! one block at a time and keeps its own state; given the same input it gives the same bits,
//! whichever thread runs it, however the input is cut into blocks, and on whichever machine.
//!
//! # Reading order
//! 1. [`block`]: what one block of audio is and what a [`Processor`] promises.
//!    [`host`]: what a processor may ask for besides blocks.
//! 2. [`mod@kinds`]: the table of built-in effects, their parameters and declared costs.
//! 3. [`math`], [`level`], [`mix`], [`finite`]: plain functions over numbers and rows;
//!    [`rows`]: filling and copying without the C library, and why.
//! 4. [`ramp`] and [`fader`]: how a change is smoothed frame by frame.
//! 5. [`biquad`]: second-order filters, alone and in cascades.
//! 6. [`delay_line`] and [`oversample`]: the two other building blocks of effects.
//! 7. [`segment`]: what cuts a block at events and control points, and thereby makes the output
//!    independent of block sizes. Read this before any effect.
//! 8. [`event_switch`]: what leaves the event output of an effect that can be bypassed.
//! 9. [`effects`]: one file an effect; `docs/effects.md` lists parameters and sources.
//!    [`mod@abreast`]: equal effects of several strips, side by side in one vector.
//!
//! # How bits stay the same
//! - Every sum has one fixed order; loops vectorise across frames or lines, never within a sum.
//! - Elementary functions are the crate's own ([`math`]), not the system library's.
//! - State that changes less often than every frame changes at control points, which are counted
//!   in frames since the last event and not in blocks.
//! - Feedback paths and filter outputs are brought to exact zero below 1e-20 (-400 dB), so tails
//!   never become subnormal and a thread that flushes subnormal numbers agrees with one that does
//!   not.
//!
//! # What an operation is
//! Declared costs count additions, subtractions, multiplications, divisions, square roots and
//! minimum or maximum selections of floating-point numbers as one operation each, at rest (no
//! parameter moving). Integer work, loads and stores are not counted.
//!
//! # Example
//! ```
//! use hocket_dsp::{Block, StereoMut, kind};
//!
//! let gain = kind("gain").unwrap();
//! let mut processor = (gain.build)(&[-6.0], 48_000);
//! let (mut left, mut right) = ([1.0; 64], [1.0; 64]);
//! processor.process(&mut Block::new(StereoMut { left: &mut left, right: &mut right }));
//! assert!((left[63] - 0.501).abs() < 1e-3);
//! ```
#![forbid(unsafe_code)]

pub mod block;
pub mod host;
pub mod kinds;

pub mod finite;
pub mod level;
pub mod math;
pub mod mix;
pub mod rows;

pub mod fader;
pub mod ramp;

pub mod biquad;

pub mod delay_line;
pub mod oversample;

pub mod segment;

pub mod abreast;
pub mod event_switch;
pub mod effects;

pub use abreast::{Abreast, AbreastKey};
pub use biquad::{Biquad, BiquadCascade, CascadeKernel, Coefficients, Shape};
pub use block::{
    Block, Change, EventsOut, Helpers, MoreRows, Processor, RowsMut, RowsRef, StereoMut, StereoRef,
    TimedChange,
};
pub use effects::Bypass;
pub use event_switch::EventSwitch;
pub use fader::Fader;
pub use kinds::{Kind, Param, kind, kinds};
