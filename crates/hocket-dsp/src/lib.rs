//! Processors over slices.
//!
//! Everything here is arithmetic on `f32` rows: no threads, no files, no clocks. A processor gets
//! one block at a time and keeps its own state; given the same blocks it gives the same bits,
//! whichever thread runs it.
#![forbid(unsafe_code)]

pub mod block;
pub mod kinds;

pub use block::{Block, Change, Event, Processor, StereoMut, StereoRef};
pub use kinds::{Kind, Param, kind, kinds};
