//! A region that sounds.

use std::f64::consts::FRAC_PI_2;

use hocket_dsp::math::{flush, sin_cos};

use crate::channel::Channel;
use crate::envelope::{Contour, Slow, Stage, Volume, factor, lin};
use crate::filter::{LowPass, OPEN_CENTS};
use crate::generators::number;
use crate::oscillator::Oscillator;
use crate::zones::Region;

/// Envelope 2, cubic 18, filter 15, gains 6, sums 4.
pub(crate) const FLOPS_PER_FRAME: f64 = 45.0;
/// What of a file's attenuation is obeyed. The sound cards that the format was made for had this factor, so files are made for
/// it, and other players have it too.
const ATTENUATION: f64 = 0.4;
/// No pitch is further from that of the sample.
const FURTHEST_CENTS: f64 = 14_400.0;

/// The note for which a voice sounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sounding {
    pub(crate) id: i32,
    pub(crate) channel: u8,
    pub(crate) key: u8,
    /// The number of the note among all: its age. All voices of a note have the same.
    pub(crate) born: u64,
}

/// One region that sounds for a note.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Voice {
    pub(crate) note: Sounding,
    /// The note has ended, and the pedal holds it.
    pub(crate) held: bool,
    pub(crate) exclusive: i16,
    pub(crate) volume: Volume,
    oscillator: Oscillator,
    filter: LowPass,
    /// Cutoff in absolute cents; `None`: the filter is open and left out.
    cutoff: Option<f64>,
    contour: Contour,
    vibrato: Slow,
    tremolo: Slow,
    /// How far each moves pitch and cutoff, in cents, and the level, in tenths of a decibel.
    contour_cents: [f64; 2],
    vibrato_cents: f64,
    tremolo_cents: [f64; 2],
    tremolo_cb: f64,
    /// Frames since the start.
    age: u64,
    /// Samples per frame at the pitch of the sample, and how far the note is from it.
    ratio: f64,
    cents: f64,
    amplitude: f64,
    /// From -500 (left) to 500.
    pan: f64,
    /// Left and right: now, and where they head for.
    gains: [f32; 2],
    targets: [f32; 2],
    is_new: bool,
}

impl Voice {
    /// Begins a region. `velocity` is from 0 to 1.
    pub(crate) fn start(&mut self, region: &Region, note: Sounding, velocity: f64, rate_hz: f64) {
        let (generators, sample) = (&region.generators, &region.sample);
        let value = |number: usize| f64::from(generators.get(number));
        let key = u8::try_from(generators.get(number::FIXED_KEY)).unwrap_or(note.key).min(127);
        let fixed = generators.get(number::FIXED_VELOCITY);
        let velocity = if fixed >= 0 { f64::from(fixed.min(127)) / 127.0 } else { velocity };
        self.note = note;
        self.held = false;
        self.exclusive = generators.get(number::EXCLUSIVE_CLASS);
        self.volume.start(generators, key, rate_hz);
        self.oscillator.start(sample);
        self.contour.start(generators, key, rate_hz);
        let slow = |delay, rate| (generators.get(delay), generators.get(rate));
        let (delay, rate) = slow(number::VIBRATO_DELAY, number::VIBRATO_RATE);
        self.vibrato.start(delay, rate, rate_hz);
        let (delay, rate) = slow(number::TREMOLO_DELAY, number::TREMOLO_RATE);
        self.tremolo.start(delay, rate, rate_hz);
        self.contour_cents = [number::CONTOUR_TO_PITCH, number::CONTOUR_TO_CUTOFF].map(value);
        self.vibrato_cents = value(number::VIBRATO_TO_PITCH);
        self.tremolo_cents = [number::TREMOLO_TO_PITCH, number::TREMOLO_TO_CUTOFF].map(value);
        self.tremolo_cb = value(number::TREMOLO_TO_VOLUME);
        self.age = 0;
        self.ratio = f64::from(sample.rate_hz) / rate_hz;
        self.cents = (f64::from(key) - f64::from(sample.root)) * value(number::SCALE_TUNING)
            + 100.0 * value(number::COARSE_TUNE)
            + value(number::FINE_TUNE)
            + f64::from(sample.correction_cents);
        let resonance = value(number::RESONANCE);
        let moves = self.contour_cents[1] != 0.0 || self.tremolo_cents[1] != 0.0;
        let is_open = generators.get(number::CUTOFF) >= OPEN_CENTS && resonance == 0.0 && !moves;
        self.cutoff = (!is_open).then_some(value(number::CUTOFF));
        self.filter.start(resonance);
        // A peak is half in the level: the filter lets pass as much with it as without.
        let attenuation = ATTENUATION * value(number::ATTENUATION) + 0.5 * resonance;
        self.amplitude = velocity * velocity * lin(-attenuation);
        self.pan = value(number::PAN);
        self.is_new = true;
    }

    /// Whether it sounds, or will.
    pub(crate) fn is_on(&self) -> bool {
        self.volume.stage != Stage::Off
    }

    /// Whether its note has not ended. The pedal may hold it.
    pub(crate) fn is_held_down(&self) -> bool {
        !self.held && !matches!(self.volume.stage, Stage::Off | Stage::Release | Stage::Choke)
    }

    /// Heads for the end.
    pub(crate) fn end(&mut self, stage: Stage) {
        self.held = false;
        self.volume.end(stage);
        self.contour.end(self.age as f64);
        self.oscillator.release();
    }

    /// Silent and free at once.
    pub(crate) fn stop(&mut self) {
        self.volume.stage = Stage::Off;
    }

    /// At a control point: pitch, cutoff and gains.
    pub(crate) fn control(&mut self, channel: &Channel, rate_hz: f64) {
        let age = self.age as f64;
        let contour = self.contour.value(age);
        let tremolo = self.tremolo.value(age);
        let vibrato = self.vibrato.value(age);
        let cents = self.cents
            + channel.cents()
            + vibrato * (self.vibrato_cents + channel.vibrato_cents())
            + tremolo * self.tremolo_cents[0]
            + contour * self.contour_cents[0];
        self.oscillator.step = self.ratio * factor(cents.clamp(-FURTHEST_CENTS, FURTHEST_CENTS));
        if let Some(cutoff) = self.cutoff {
            let moved = contour * self.contour_cents[1] + tremolo * self.tremolo_cents[1];
            self.filter.set((cutoff + moved).clamp(1500.0, f64::from(OPEN_CENTS)), rate_hz);
        }
        let level = self.amplitude * channel.gain_lin() * lin(tremolo * self.tremolo_cb);
        let pan = (self.pan + channel.pan()).clamp(-500.0, 500.0);
        // Constant power.
        let (sin, cos) = sin_cos((pan + 500.0) / 1000.0 * FRAC_PI_2);
        self.targets = [(level * cos) as f32, (level * sin) as f32];
        if self.is_new {
            (self.gains, self.is_new) = (self.targets, false);
        }
    }

    /// Adds its sound to the rows. `approach`: what part of the way to their targets the gains go in a frame.
    pub(crate) fn add(&mut self, samples: &[i16], rows: [&mut [f32]; 2], approach: f32) {
        let [left, right] = rows;
        for (left, right) in left.iter_mut().zip(right) {
            self.age += 1;
            let level = self.volume.advance();
            match self.volume.stage {
                Stage::Off => return,
                // The sample waits.
                Stage::Delay => continue,
                _ => {}
            }
            let Some(raw) = self.oscillator.next(samples) else { return self.stop() };
            let shaped =
                if self.cutoff.is_some() { self.filter.run(raw * level) } else { raw * level };
            for side in 0..2 {
                let moved = (self.targets[side] - self.gains[side]) * approach;
                self.gains[side] = flush(self.gains[side] + moved);
            }
            *left += shaped * self.gains[0];
            *right += shaped * self.gains[1];
        }
    }
}
