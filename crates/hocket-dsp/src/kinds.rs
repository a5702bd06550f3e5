//! The table of built-in effects: names, parameters, how to build one, what one costs.

use crate::Processor;
use crate::effects;
use crate::segment::{SegmentEffect, Segmented};

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
    /// Set when the effect is built; events on it are ignored (it decides memory or latency).
    pub fixed: bool,
}

impl Param {
    /// A parameter that events may change.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        min: f32,
        max: f32,
        default: f32,
    ) -> Param {
        Param { name, summary, min, max, default, fixed: false }
    }

    /// The same, set only when the effect is built.
    pub const fn fixed(self) -> Param {
        Param { fixed: true, ..self }
    }

    /// `value` held within the range.
    pub fn clamp(&self, value: f32) -> f32 {
        value.clamp(self.min, self.max)
    }
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
    /// Whether it listens to a side chain where one is connected.
    pub side_chain: bool,
    /// Whether it has an event input: notes, MIDI and changes of parameters reach it.
    pub event_input: bool,
}

impl Kind {
    /// The default of each parameter.
    pub fn defaults(&self) -> Vec<f32> {
        self.params.iter().map(|param| param.default).collect()
    }

    /// The place of the parameter of this name.
    pub fn index_of(&self, param: &str) -> Option<usize> {
        self.params.iter().position(|known| known.name == param)
    }

    const fn of<E: SegmentEffect>(
        name: &'static str,
        summary: &'static str,
        flops_per_frame: fn(&[f32], u32) -> f64,
    ) -> Kind {
        let params = E::PARAMS;
        let (side_chain, event_input) = (false, false);
        Kind { name, summary, params, build: build::<E>, flops_per_frame, side_chain, event_input }
    }

    /// The same kind, which listens to a side chain.
    const fn with_side_chain(self) -> Kind {
        Kind { side_chain: true, ..self }
    }

    /// The same kind, which receives events.
    const fn with_event_input(self) -> Kind {
        Kind { event_input: true, ..self }
    }
}

fn build<E: SegmentEffect>(values: &[f32], sample_rate_hz: u32) -> Box<dyn Processor> {
    Box::new(Segmented::<E>::new(values, sample_rate_hz))
}

/// The value at `index`, or 0 where there is none: costs are declared for whatever is given.
pub(crate) fn value(values: &[f32], index: usize) -> f32 {
    values.get(index).copied().unwrap_or(0.0)
}

static KINDS: &[Kind] = &[
    Kind::of::<effects::gain::Gain>("gain", "Changes the level.", effects::gain::flops),
    Kind::of::<effects::pan::Pan>(
        "pan",
        "Moves the signal between left and right at constant power.",
        effects::pan::flops,
    ),
    Kind::of::<effects::tremolo::Tremolo>(
        "tremolo",
        "Lets the level swing, on both sides together or between them.",
        effects::tremolo::flops,
    ),
    Kind::of::<effects::eq::Eq>(
        "eq",
        "Parametric equaliser with four bands of nine shapes each.",
        effects::eq::flops,
    ),
    Kind::of::<effects::delay::Delay>(
        "delay",
        "Echoes with feedback, damping and ping-pong.",
        effects::delay::flops,
    ),
    Kind::of::<effects::freeverb::Freeverb>(
        "freeverb",
        "Room of eight parallel combs and four serial all-passes per side.",
        effects::freeverb::flops,
    ),
    Kind::of::<effects::fdn::Fdn>(
        "fdn",
        "Hall of 8 or 16 delay lines in one lossless feedback matrix, with decay times for low and high.",
        effects::fdn::flops,
    ),
    Kind::of::<effects::compressor::Compressor>(
        "compressor",
        "Reduces the level above a threshold; listens to the side chain where one is connected.",
        effects::compressor::flops,
    )
    .with_side_chain(),
    Kind::of::<effects::limiter::Limiter>(
        "limiter",
        "Looks ahead and lets no sample pass the ceiling.",
        effects::limiter::flops,
    ),
    Kind::of::<effects::gate::Gate>(
        "gate",
        "Noise gate: makes quieter what is below a threshold; listens to the side chain where one is connected.",
        effects::gate::flops,
    )
    .with_side_chain(),
    Kind::of::<effects::amp::Amp>(
        "amp",
        "Guitar amplifier: two driven stages at a multiple of the sample rate, tone stack and cabinet.",
        effects::amp::flops,
    ),
    Kind::of::<effects::correlation::Correlation>(
        "correlation",
        "Meter of how alike left and right are; passes the sound on unchanged.",
        effects::correlation::flops,
    ),
    Kind::of::<effects::synth::Synth>(
        "synth",
        "Subtractive synthesizer of 16 voices: plays the notes that it receives, and adds them to its input.",
        effects::synth::flops,
    )
    .with_event_input(),
];

/// All kinds, in the order in which they are documented.
pub fn kinds() -> &'static [Kind] {
    KINDS
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    kinds().iter().find(|kind| kind.name == name)
}
