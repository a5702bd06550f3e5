//! Parametric equaliser.
//!
//! Four second-order sections in a row, designed by R. Bristow-Johnson's audio EQ cookbook and run
//! as transposed direct form II in `f64` (see [`crate::biquad`] for why not `f32`). Left and right
//! share coefficients and form the two lanes of a vector.
//!
//! A moved frequency, quality or gain glides; at each control point the coefficients for the next
//! one are designed and in between they move in a straight line, frame by frame. A changed shape
//! is blended in from the coefficients in force.

mod abreast;
mod steady;

use std::f64::consts::LN_2;

use crate::abreast::{Abreast, AbreastKey, Lane};
use crate::biquad::{Biquad, BothSides, Coefficients, Shape, flush_sides, step_both};
use crate::block::{StereoMut, StereoRef};
use crate::kinds::{Param, value};
use crate::math;
use crate::ramp::{Morph, Ramp};
use crate::segment::{CONTROL_FRAMES, SegmentEffect, Segmented};

/// Bands in series.
pub const BANDS: usize = 4;

const PARAMS_PER_BAND: usize = 4;
const TYPE: usize = 0;
const FREQ_HZ: usize = 1;
const Q: usize = 2;
const GAIN_DB: usize = 3;

/// The shape of a type code; 0 and unknown codes are off.
fn shape(code: f32) -> Option<Shape> {
    const SHAPES: [Shape; 8] = [
        Shape::Peaking,
        Shape::LowShelf,
        Shape::HighShelf,
        Shape::LowPass,
        Shape::HighPass,
        Shape::Notch,
        Shape::BandPass,
        Shape::AllPass,
    ];
    let code = code.round().max(0.0) as usize;
    SHAPES.get(code.wrapping_sub(1)).copied()
}

fn log2(x: f32) -> f32 {
    (math::ln(f64::from(x)) / LN_2) as f32
}

/// One section with its gliding parameters.
#[derive(Debug, Clone)]
struct Band {
    shape: Option<Shape>,
    octave: Ramp,
    q_octave: Ramp,
    gain_db: Ramp,
    /// From the coefficients before the last change of shape (0) to the new shape (1).
    blend: Ramp,
    before: [f64; 5],
    /// The exact settings, so that a band at rest does not see the rounding of its glides.
    freq_hz: f64,
    q: f64,
    rate_hz: f64,
    morph: Morph<5>,
    state: BothSides,
}

impl Band {
    fn new(values: &[f32], rate_hz: f64) -> Band {
        let mut band = Band {
            shape: shape(values[TYPE]),
            octave: Ramp::smoothing(log2(values[FREQ_HZ]), rate_hz),
            q_octave: Ramp::smoothing(log2(values[Q]), rate_hz),
            gain_db: Ramp::smoothing(values[GAIN_DB], rate_hz),
            blend: Ramp::smoothing(1.0, rate_hz),
            before: Coefficients::IDENTITY.to_array(),
            freq_hz: f64::from(values[FREQ_HZ]),
            q: f64::from(values[Q]),
            rate_hz,
            morph: Morph::at(Coefficients::IDENTITY.to_array()),
            state: [[0.0; 2]; 2],
        };
        band.morph = Morph::at(band.design(0));
        band
    }

    fn set(&mut self, param: usize, value: f32) {
        match param {
            TYPE => self.set_shape(shape(value)),
            FREQ_HZ => {
                self.octave.set(log2(value));
                self.freq_hz = f64::from(value);
            }
            Q => {
                self.q_octave.set(log2(value));
                self.q = f64::from(value);
            }
            _ => self.gain_db.set(value),
        }
    }

    fn set_shape(&mut self, shape: Option<Shape>) {
        if shape == self.shape {
            return;
        }
        self.shape = shape;
        self.before = self.morph.current;
        self.blend.set(0.0);
        self.blend.snap();
        self.blend.set(1.0);
    }

    fn ramps(&mut self) -> [&mut Ramp; 4] {
        [&mut self.octave, &mut self.q_octave, &mut self.gain_db, &mut self.blend]
    }

    fn is_gliding(&mut self) -> bool {
        self.ramps().iter().any(|ramp| !ramp.is_still())
    }

    /// The coefficients `frames` from now.
    fn design(&self, frames: usize) -> [f64; 5] {
        let Some(shape) = self.shape else {
            return self.blended(Coefficients::IDENTITY.to_array(), frames);
        };
        let power = |ramp: &Ramp| math::exp(f64::from(ramp.ahead(frames)) * LN_2);
        let (mut freq_hz, mut q) = (self.freq_hz, self.q);
        if !self.octave.is_still() {
            freq_hz = power(&self.octave);
        }
        if !self.q_octave.is_still() {
            q = power(&self.q_octave);
        }
        let gain_db = f64::from(self.gain_db.ahead(frames));
        let designed = Coefficients::design(shape, freq_hz, q, gain_db, self.rate_hz);
        self.blended(designed.to_array(), frames)
    }

    fn blended(&self, designed: [f64; 5], frames: usize) -> [f64; 5] {
        let part = f64::from(self.blend.ahead(frames));
        if part == 1.0 {
            return designed;
        }
        std::array::from_fn(|n| self.before[n] + (designed[n] - self.before[n]) * part)
    }

    fn control(&mut self, elapsed: usize) {
        flush_sides(&mut self.state);
        if !self.is_gliding() && !self.morph.is_moving() {
            return;
        }
        for ramp in self.ramps() {
            ramp.skip(elapsed);
        }
        if self.is_gliding() {
            let target = self.design(CONTROL_FRAMES);
            self.morph.head_for(target, CONTROL_FRAMES);
        } else if self.morph.is_moving() {
            self.morph = Morph::at(self.design(0));
        }
    }

    /// Whether the band lets everything through as it is.
    fn is_idle(&self) -> bool {
        self.shape.is_none() && !self.morph.is_moving() && self.state == [[0.0; 2]; 2]
    }

    fn reset(&mut self) {
        for ramp in self.ramps() {
            ramp.snap();
        }
        self.morph = Morph::at(self.design(0));
        self.state = [[0.0; 2]; 2];
    }
}

/// The equaliser.
#[derive(Debug, Clone)]
pub struct Eq {
    bands: [Band; BANDS],
    moving: bool,
    /// The bands that are not idle, in order, as decided at the last control point.
    active: [usize; BANDS],
    active_count: usize,
}

macro_rules! band_params {
    ($($type:literal $freq:literal $q:literal $gain:literal $code:literal $hz:literal;)*) => {
        &[$(
            Param::new(
                $type,
                "Shape: 0 off, 1 peaking, 2 low shelf, 3 high shelf, 4 low pass, 5 high pass, 6 notch, 7 band pass, 8 all pass.",
                0.0, 8.0, $code,
            ),
            Param::new($freq, "Centre or corner; held below half the sample rate.", 10.0, 24_000.0, $hz),
            Param::new($q, "Quality; 0.7071 is the flattest pass.", 0.1, 40.0, 0.707_106_77),
            Param::new($gain, "Lift or cut of peaking and shelves.", -24.0, 24.0, 0.0),
        )*]
    };
}

impl Eq {
    /// The `n`th active band.
    #[inline(always)]
    fn active(&self, n: usize) -> &Band {
        &self.bands[self.active[n]]
    }

    fn run_segment(&mut self, rows: StereoMut<'_>) {
        if self.moving {
            self.run_moving(rows);
        } else {
            // No control point lies inside a segment, as none lies inside a first piece.
            self.pass_steadily(rows, 0);
        }
    }

    fn run_moving(&mut self, rows: StereoMut<'_>) {
        for (left, right) in rows.left.iter_mut().zip(rows.right) {
            let mut y = [f64::from(*left), f64::from(*right)];
            for band in &mut self.bands {
                if band.morph.is_moving() {
                    band.morph.advance();
                }
                step_both(&band.morph.current, &mut band.state, &mut y);
            }
            *left = math::narrow(y[0]);
            *right = math::narrow(y[1]);
        }
    }
}

impl SegmentEffect for Eq {
    const PARAMS: &'static [Param] = band_params! {
        "band1_type" "band1_freq_hz" "band1_q" "band1_gain_db" 2.0 100.0;
        "band2_type" "band2_freq_hz" "band2_q" "band2_gain_db" 1.0 400.0;
        "band3_type" "band3_freq_hz" "band3_q" "band3_gain_db" 1.0 2500.0;
        "band4_type" "band4_freq_hz" "band4_q" "band4_gain_db" 3.0 8000.0;
    };

    fn new(values: &[f32], sample_rate_hz: u32) -> Eq {
        let rate = f64::from(sample_rate_hz);
        Eq {
            bands: std::array::from_fn(|n| Band::new(&values[n * PARAMS_PER_BAND..], rate)),
            moving: false,
            active: [0; BANDS],
            active_count: 0,
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        self.bands[index / PARAMS_PER_BAND].set(index % PARAMS_PER_BAND, value);
    }

    fn control(&mut self, elapsed: usize) {
        self.active_count = 0;
        self.moving = false;
        for (n, band) in self.bands.iter_mut().enumerate() {
            band.control(elapsed);
            self.moving |= band.morph.is_moving();
            if !band.is_idle() {
                self.active[self.active_count] = n;
                self.active_count += 1;
            }
        }
    }

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        self.run_segment(rows);
    }

    /// No band glides, and none becomes idle: those that are off are idle already.
    fn is_steady(&self) -> bool {
        !self.moving && self.bands.iter().all(|band| band.shape.is_some() || band.is_idle())
    }

    fn run_steadily(&mut self, rows: StereoMut<'_>, phase: usize) {
        self.pass_steadily(rows, phase);
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        let count = self.bands.iter().filter(|band| band.shape.is_some()).count();
        // With fewer bands, two abreast save too little.
        (count == BANDS).then_some(AbreastKey::EQ)
    }

    fn abreast(this: &mut Segmented<Eq>) -> Option<Abreast<'_>> {
        Some(Lane::Eq(this).into())
    }

    fn reset(&mut self) {
        self.bands.iter_mut().for_each(Band::reset);
    }
}

/// Nine operations a side and band that is not off, and 2 to flush the output.
pub fn flops(values: &[f32], _sample_rate_hz: u32) -> f64 {
    let types = (0..BANDS).map(|n| value(values, n * PARAMS_PER_BAND + TYPE));
    let active = types.filter(|code| shape(*code).is_some()).count();
    let flush = if active > 0 { 2.0 } else { 0.0 };
    2.0 * (Biquad::FLOPS * active as f64 + flush)
}
