//! Stereo balance at constant power.

use crate::block::{StereoMut, StereoRef};
use crate::fader::Fader;
use crate::kinds::Param;
use crate::segment::SegmentEffect;

const PAN: usize = 0;

/// Weighs left and right by the pan law of [`crate::level::pan_gains`], smoothed.
#[derive(Debug, Clone)]
pub struct Pan {
    fader: Fader,
}

impl SegmentEffect for Pan {
    const PARAMS: &'static [Param] = &[Param::new(
        "pan",
        "Position: -1 left, 0 centre (0 dB on both sides), +1 right.",
        -1.0,
        1.0,
        0.0,
    )];

    fn new(values: &[f32], sample_rate_hz: u32) -> Pan {
        Pan { fader: Fader::new(1.0, values[PAN], false, sample_rate_hz) }
    }

    fn set(&mut self, _index: usize, value: f32) {
        self.fader.set_pan(value);
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, mut rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        self.fader.apply(&mut rows);
    }

    fn reset(&mut self) {
        self.fader.snap();
    }
}

/// One multiplication a side.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    Fader::FLOPS_PER_FRAME
}
