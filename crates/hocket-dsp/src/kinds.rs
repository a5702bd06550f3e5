//! The table of built-in effects: names, parameters, how to build one, what one costs.

use crate::Processor;

/// One parameter of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Name with unit, as in session files.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Smallest value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// Value when not given.
    pub default: f32,
}

/// A kind of effect.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in session files.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Parameters, in the order in which values are given.
    pub params: &'static [Param],
    /// Builds one for a sample rate; `values` has one entry a parameter, already in range.
    pub build: fn(values: &[f32], sample_rate_hz: u32) -> Box<dyn Processor>,
    /// Declared floating-point operations a stereo frame, for the first cost estimate.
    pub flops_per_frame: fn(values: &[f32], sample_rate_hz: u32) -> f64,
}

/// All kinds, in the order in which they are documented.
pub fn kinds() -> &'static [Kind] {
    &[]
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    kinds().iter().find(|kind| kind.name == name)
}
