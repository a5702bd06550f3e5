//! The effect: head, both stages, level and mix.

use std::sync::Arc;

use hocket_dsp::level::db_to_lin;
use hocket_dsp::math::flush;
use hocket_dsp::ramp::Ramp;
use hocket_dsp::segment::{CONTROL_FRAMES, SegmentEffect};
use hocket_dsp::{Param, StereoMut, StereoRef, rows};

use crate::impulse::{Impulse, LARGE, SMALL};
use crate::stage::Stage;

const GAIN_DB: usize = 0;
const MIX: usize = 1;
const NORMALIZE: usize = 2;

/// See [`crate::PARAMS`].
pub const PARAMS: &[Param] = &[
    Param::new(
        "gain_db",
        "Level of the convolved sound; the lowest value is silence.",
        SILENCE_DB,
        24.0,
        0.0,
    ),
    Param::new("mix", "0 dry, 1 convolved only.", 0.0, 1.0, 1.0),
    Param::new(
        "normalize",
        "1: noise comes out as loud as it goes in, whatever the level of the file.",
        0.0,
        1.0,
        0.0,
    )
    .fixed(),
];

/// Below this the gain is exactly zero.
const SILENCE_DB: f32 = -96.0;

/// Operations per stereo frame for level and mix.
pub(crate) const MIX_FLOPS: f64 = 2.0 * 6.0 + 1.0;

/// A silence that is longer may have sound behind it, which an engine must not leave out.
const REST_S: usize = 10;

type Row = [f32; CONTROL_FRAMES];

/// Plays sound through a response. See the crate.
#[derive(Debug)]
pub struct Convolver {
    impulse: Arc<Impulse>,
    /// The last frames that came in, for the head, and then those of the segment.
    recent: [[f32; SMALL + CONTROL_FRAMES]; 2],
    small: Option<Stage>,
    large: Option<Stage>,
    /// Frames since the last small part was full.
    filled: usize,
    gain: Ramp,
    mix: Ramp,
    /// What `normalize` multiplies with.
    level: f32,
    rests: bool,
}

fn linear(gain_db: f32) -> f32 {
    if gain_db <= SILENCE_DB { 0.0 } else { db_to_lin(gain_db) }
}

impl Convolver {
    /// At rest; `values` has one value per parameter, each in range. Thread: control; allocates.
    pub(crate) fn of(impulse: Arc<Impulse>, values: &[f32], sample_rate_hz: u32) -> Convolver {
        let rate = f64::from(sample_rate_hz);
        let level = if values[NORMALIZE] >= 0.5 { impulse.level() } else { 1.0 };
        Convolver {
            recent: [[0.0; SMALL + CONTROL_FRAMES]; 2],
            small: impulse.small.as_ref().map(|parts| Stage::new(parts, 1)),
            large: impulse.large.as_ref().map(|parts| Stage::new(parts, LARGE / SMALL)),
            filled: 0,
            gain: Ramp::smoothing(linear(values[GAIN_DB]), rate),
            mix: Ramp::smoothing(values[MIX], rate),
            level,
            rests: impulse.frames() < REST_S * sample_rate_hz as usize,
            impulse,
        }
    }

    /// Convolves frames that stay within a small part. Shape: both rows are equally long, and replaced.
    fn convolve(&mut self, left: &mut [f32], right: &mut [f32]) {
        let frames = left.len();
        let mut input = [[0.0; CONTROL_FRAMES]; 2];
        for (input, row) in input.iter_mut().zip([&*left, &*right]) {
            // Nothing that only differs in subnormal numbers may differ.
            input.iter_mut().zip(row).for_each(|(input, sample)| *input = flush(*sample));
        }
        let mut out = [[0.0; CONTROL_FRAMES]; 2];
        self.add_head(&input, &mut out, frames);
        let [input_left, input_right] = &input;
        let [out_left, out_right] = &mut out;
        for stage in [&mut self.small, &mut self.large].into_iter().flatten() {
            stage.pass(
                [&input_left[..frames], &input_right[..frames]],
                [&mut out_left[..frames], &mut out_right[..frames]],
            );
        }
        rows::copy(left, &out_left[..frames]);
        rows::copy(right, &out_right[..frames]);
        self.filled += frames;
        if self.filled == SMALL {
            self.filled = 0;
            for stage in [&mut self.small, &mut self.large].into_iter().flatten() {
                stage.advance();
            }
        }
    }

    /// The first frames of the response. Each frame's sum begins with the newest frame, so that its bits do not depend on the
    /// segment; the loop inside runs over frames and fits into vectors.
    fn add_head(&mut self, input: &[Row; 2], out: &mut [Row; 2], frames: usize) {
        for (recent, input) in self.recent.iter_mut().zip(input) {
            rows::copy(&mut recent[SMALL..SMALL + frames], &input[..frames]);
        }
        for path in self.impulse.paths() {
            let (recent, out) = (&self.recent[path.from], &mut out[path.to]);
            for (tap, factor) in path.head.iter().enumerate() {
                let past = &recent[SMALL - tap..][..frames];
                out[..frames].iter_mut().zip(past).for_each(|(out, x)| *out += factor * x);
            }
        }
        for recent in &mut self.recent {
            rows::shift_down(&mut recent[..SMALL + frames], frames);
        }
    }
}

impl SegmentEffect for Convolver {
    const PARAMS: &'static [Param] = PARAMS;

    /// Without a response it changes nothing.
    fn new(values: &[f32], sample_rate_hz: u32) -> Convolver {
        Convolver::of(Arc::new(Impulse::unit()), values, sample_rate_hz)
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            GAIN_DB => self.gain.set(linear(value)),
            MIX => self.mix.set(value),
            _ => {}
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, main: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = main.left.len();
        let (mut left, mut right): (Row, Row) = ([0.0; CONTROL_FRAMES], [0.0; CONTROL_FRAMES]);
        rows::copy(&mut left[..frames], main.left);
        rows::copy(&mut right[..frames], main.right);
        let first = frames.min(SMALL - self.filled);
        self.convolve(&mut left[..first], &mut right[..first]);
        if first < frames {
            self.convolve(&mut left[first..frames], &mut right[first..frames]);
        }
        for (frame, (dry_left, dry_right)) in main.left.iter_mut().zip(main.right).enumerate() {
            let mix = self.mix.advance();
            let wet = mix * (self.gain.advance() * self.level);
            *dry_left = flush(*dry_left * (1.0 - mix) + left[frame] * wet);
            *dry_right = flush(*dry_right * (1.0 - mix) + right[frame] * wet);
        }
    }

    fn reset(&mut self) {
        self.recent = [[0.0; SMALL + CONTROL_FRAMES]; 2];
        self.filled = 0;
        [&mut self.small, &mut self.large].into_iter().flatten().for_each(Stage::reset);
        self.gain.snap();
        self.mix.snap();
    }

    fn rests(&self) -> bool {
        self.rests
    }
}
