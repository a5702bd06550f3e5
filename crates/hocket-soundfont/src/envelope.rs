//! What happens to level and tone over the time of a note: two envelopes and the slow oscillations.

use hocket_dsp::math::{exp, ln};

use crate::generators::{Generators, number};

/// A voice ends below this level, -100 dB.
pub(crate) const SILENT: f64 = 1e-5;
/// How often an exponential falls by e within 100 dB: ln(10) * 5.
const FALLS: f64 = 11.512_925_464_970_229;
/// No release is shorter, so that none clicks.
const SHORTEST_RELEASE_S: f64 = 0.01;
/// The release of a voice that has to stop at once.
const CHOKE_S: f64 = 0.005;
/// From here down a time counts as none: a millisecond, the shortest that files say.
const NO_TIME: i16 = -12_000;
/// The frequency of key 0, from which absolute cents count.
pub(crate) const KEY_0_HZ: f64 = 8.175_798_915_643_707;

/// The factor that cents stand for.
pub(crate) fn factor(cents: f64) -> f64 {
    exp(cents / 1200.0 * std::f64::consts::LN_2)
}

/// Seconds of a time in cents.
fn seconds(cents: f64) -> f64 {
    if cents <= f64::from(NO_TIME) { 0.0 } else { factor(cents) }
}

/// What is left after a frame of something that falls by 100 dB in so many seconds.
fn falling(seconds: f64, rate_hz: f64) -> f64 {
    exp(-FALLS / (seconds * rate_hz).max(1.0))
}

/// The times of an envelope, whose generators begin at `first`, for a key.
struct Times {
    delay: f64,
    attack: f64,
    hold: f64,
    decay: f64,
    release: f64,
}

impl Times {
    fn of(generators: &Generators, first: usize, key: u8) -> Times {
        let value = |at: usize| f64::from(generators.get(first + at));
        let keys = 60.0 - f64::from(key);
        Times {
            delay: seconds(value(0)),
            attack: seconds(value(1)),
            hold: seconds(value(2) + keys * value(6)),
            decay: seconds(value(3) + keys * value(7)),
            release: seconds(value(5)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    #[default]
    Off,
    Delay,
    Attack,
    Hold,
    Decay,
    Release,
    Choke,
}

/// The level of a voice, frame by frame: a straight attack, then exponential decay and release.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Volume {
    pub(crate) stage: Stage,
    /// In double precision: a step of a long attack is small beside the level.
    pub(crate) level: f64,
    /// Frames that are left of the delay or the hold.
    left: u64,
    hold: u64,
    attack_step: f64,
    decay: f64,
    sustain: f64,
    release: f64,
    choke: f64,
}

impl Volume {
    pub(crate) fn start(&mut self, generators: &Generators, key: u8, rate_hz: f64) {
        let times = Times::of(generators, number::VOLUME, key);
        let frames = |seconds: f64| (seconds * rate_hz) as u64;
        self.stage = Stage::Delay;
        self.level = 0.0;
        self.left = frames(times.delay);
        self.hold = frames(times.hold);
        self.attack_step = 1.0 / (times.attack * rate_hz).max(1.0);
        self.decay = falling(times.decay, rate_hz);
        let fall_cb = f64::from(generators.get(number::VOLUME + 4));
        self.sustain = if fall_cb >= 1000.0 { 0.0 } else { lin(-fall_cb) };
        self.release = falling(times.release.max(SHORTEST_RELEASE_S), rate_hz);
        self.choke = falling(CHOKE_S, rate_hz);
    }

    /// Heads for the end. A voice that ends already may end faster, never slower.
    pub(crate) fn end(&mut self, stage: Stage) {
        match self.stage {
            Stage::Off | Stage::Choke => {}
            Stage::Release if stage == Stage::Release => {}
            _ => self.stage = stage,
        }
    }

    /// The level of the next frame; 0 while it is delayed, and when it is off.
    #[inline]
    pub(crate) fn advance(&mut self) -> f32 {
        match self.stage {
            Stage::Off => return 0.0,
            Stage::Delay if self.left > 0 => {
                self.left -= 1;
                return 0.0;
            }
            Stage::Delay | Stage::Attack => {
                self.stage = Stage::Attack;
                self.level += self.attack_step;
                if self.level >= 1.0 {
                    (self.level, self.stage, self.left) = (1.0, Stage::Hold, self.hold);
                }
            }
            Stage::Hold if self.left > 0 => self.left -= 1,
            Stage::Hold | Stage::Decay => {
                self.stage = Stage::Decay;
                self.level = (self.level * self.decay).max(self.sustain);
            }
            Stage::Release => self.level *= self.release,
            Stage::Choke => self.level *= self.choke,
        }
        let falls = matches!(self.stage, Stage::Decay | Stage::Release | Stage::Choke);
        if falls && self.level < SILENT {
            (self.level, self.stage) = (0.0, Stage::Off);
        }
        self.level as f32
    }
}

/// Linear gain of tenths of a decibel.
pub(crate) fn lin(centibels: f64) -> f64 {
    exp(centibels * (std::f64::consts::LN_10 / 200.0))
}

/// The curve along which the second envelope rises: fast at first (section 9.5.3 of the specification), so that the cutoff
/// that it moves rises evenly.
fn convex(part: f64) -> f64 {
    (1.0 + 40.0 / 96.0 * ln(part) / std::f64::consts::LN_10).max(0.0)
}

/// The second envelope, which moves pitch and cutoff: from 0 to 1, and down in straight lines. Times are in frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Contour {
    delay: f64,
    attack: f64,
    hold: f64,
    decay: f64,
    sustain: f64,
    release: f64,
    /// The level and the age at which the release began.
    released: Option<(f64, f64)>,
}

impl Contour {
    pub(crate) fn start(&mut self, generators: &Generators, key: u8, rate_hz: f64) {
        let times = Times::of(generators, number::CONTOUR, key);
        self.delay = times.delay * rate_hz;
        self.attack = times.attack * rate_hz;
        self.hold = times.hold * rate_hz;
        self.decay = times.decay * rate_hz;
        self.release = times.release * rate_hz;
        self.sustain = 1.0 - f64::from(generators.get(number::CONTOUR + 4)) / 1000.0;
        self.released = None;
    }

    /// Begins the release, so many frames after the start.
    pub(crate) fn end(&mut self, age: f64) {
        if self.released.is_none() {
            self.released = Some((self.value(age), age));
        }
    }

    /// Its value so many frames after the start.
    pub(crate) fn value(&self, age: f64) -> f64 {
        if let Some((level, at)) = self.released {
            return (level - (age - at) / self.release.max(1.0)).max(0.0);
        }
        let mut left = age - self.delay;
        if left < 0.0 {
            return 0.0;
        }
        if left < self.attack {
            return convex(left / self.attack);
        }
        left -= self.attack;
        if left < self.hold {
            return 1.0;
        }
        // The decay's time is that of the whole way down.
        (1.0 - (left - self.hold) / self.decay.max(1.0)).max(self.sustain)
    }
}

/// A slow oscillation: a triangle from -1 to 1 that begins at 0 and rises. Times are in frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slow {
    delay: f64,
    per_frame: f64,
}

impl Slow {
    pub(crate) fn start(&mut self, delay: i16, rate: i16, rate_hz: f64) {
        self.delay = seconds(f64::from(delay)) * rate_hz;
        self.per_frame = KEY_0_HZ * factor(f64::from(rate)) / rate_hz;
    }

    pub(crate) fn value(&self, age: f64) -> f64 {
        let cycles = (age - self.delay).max(0.0) * self.per_frame + 0.25;
        let phase = cycles - cycles.floor();
        1.0 - 4.0 * (phase - 0.5).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE_HZ: f64 = 1000.0;

    fn with(values: &[(usize, i16)]) -> Generators {
        let mut generators = Generators::DEFAULTS;
        for (number, value) in values {
            generators.set(*number as u16, *value as u16);
        }
        generators
    }

    #[test]
    fn the_level_follows_its_times() {
        // 1 s of delay, 2 s of attack, 1 s of hold, 100 dB in 4 s down to -10 dB.
        let first = number::VOLUME;
        let times =
            [(first, 0), (first + 1, 1200), (first + 2, 0), (first + 3, 2400), (first + 4, 100)];
        let mut volume = Volume::default();
        volume.start(&with(&times), 60, RATE_HZ);
        let row: Vec<f32> = (0..6000).map(|_| volume.advance()).collect();
        assert!(row[..1000].iter().all(|level| *level == 0.0));
        assert!((row[1999] - 0.5).abs() < 1e-3 && (row[3005] - 1.0).abs() < 1e-6);
        // 100 ms into the decay it has fallen by 2.5 dB.
        assert!((row[4100] - 10f32.powf(-2.5 / 20.0)).abs() < 5e-3, "{}", row[4100]);
        assert!((row[5999] - 10f32.powf(-0.5)).abs() < 1e-6);
        volume.end(Stage::Release);
        assert_ne!(volume.advance(), 0.0);
        assert!((0..50).map(|_| volume.advance()).any(|level| level == 0.0));
        assert_eq!(volume.stage, Stage::Off);
    }

    #[test]
    fn the_contour_and_the_oscillation_have_their_curves() {
        let first = number::CONTOUR;
        let mut contour = Contour::default();
        contour.start(&with(&[(first + 1, 0), (first + 3, 0), (first + 4, 400)]), 60, RATE_HZ);
        let levels = [0.0, 500.0, 1000.0, 1200.0, 3000.0].map(|age| contour.value(age));
        assert!((levels[1] - (1.0 + 40.0 / 96.0 * 0.5f64.log10())).abs() < 1e-12);
        assert_eq!((levels[0], &levels[2..]), (0.0, &[1.0, 0.8, 0.6][..]));
        contour.end(3000.0);
        assert!(contour.value(3001.0) < 0.6 && contour.value(9000.0) == 0.0);
        let mut slow = Slow::default();
        // An octave below key 0, after a second.
        slow.start(0, -1200, RATE_HZ);
        let cycle = RATE_HZ / (KEY_0_HZ / 2.0);
        let values = [0.0, 1000.0, 1000.0 + cycle / 4.0, 1000.0 + 0.75 * cycle];
        let expected = [0.0, 0.0, 1.0, -1.0];
        for (age, expected) in values.into_iter().zip(expected) {
            assert!((slow.value(age) - expected).abs() < 1e-9, "{age}");
        }
    }
}
