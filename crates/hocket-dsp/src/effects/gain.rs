//! Level change.

use crate::block::{StereoMut, StereoRef};
use crate::fader::Fader;
use crate::kinds::Param;
use crate::level;
use crate::segment::SegmentEffect;

const GAIN_DB: usize = 0;

/// Below this the gain is exactly zero.
const SILENCE_DB: f32 = -96.0;

/// Multiplies both sides by one smoothed gain.
#[derive(Debug, Clone)]
pub struct Gain {
    fader: Fader,
}

fn linear(gain_db: f32) -> f32 {
    if gain_db <= SILENCE_DB { 0.0 } else { level::db_to_lin(gain_db) }
}

impl SegmentEffect for Gain {
    const PARAMS: &'static [Param] = &[Param::new(
        "gain_db",
        "Level change; the lowest value is silence.",
        SILENCE_DB,
        24.0,
        0.0,
    )];

    fn new(values: &[f32], sample_rate_hz: u32) -> Gain {
        Gain { fader: Fader::new(linear(values[GAIN_DB]), 0.0, false, sample_rate_hz) }
    }

    fn set(&mut self, _index: usize, value: f32) {
        self.fader.set_gain_lin(linear(value));
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
