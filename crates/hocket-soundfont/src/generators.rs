//! The numbers that say how a sample sounds: which there are, their ranges, and how those of a preset and of an instrument
//! come together.

/// Numbers of generators, as the SoundFont 2.04 specification has them in section 8.1.2.
pub(crate) mod number {
    pub(crate) const START: usize = 0;
    pub(crate) const END: usize = 1;
    pub(crate) const LOOP_START: usize = 2;
    pub(crate) const LOOP_END: usize = 3;
    pub(crate) const START_COARSE: usize = 4;
    pub(crate) const TREMOLO_TO_PITCH: usize = 5;
    pub(crate) const VIBRATO_TO_PITCH: usize = 6;
    pub(crate) const CONTOUR_TO_PITCH: usize = 7;
    pub(crate) const CUTOFF: usize = 8;
    pub(crate) const RESONANCE: usize = 9;
    pub(crate) const TREMOLO_TO_CUTOFF: usize = 10;
    pub(crate) const CONTOUR_TO_CUTOFF: usize = 11;
    pub(crate) const END_COARSE: usize = 12;
    pub(crate) const TREMOLO_TO_VOLUME: usize = 13;
    pub(crate) const PAN: usize = 17;
    pub(crate) const TREMOLO_DELAY: usize = 21;
    pub(crate) const TREMOLO_RATE: usize = 22;
    pub(crate) const VIBRATO_DELAY: usize = 23;
    pub(crate) const VIBRATO_RATE: usize = 24;
    /// The first of eight of the contour, the second envelope: delay, attack, hold, decay, sustain, release, and how hold
    /// and decay depend on the key.
    pub(crate) const CONTOUR: usize = 25;
    /// The same of the volume.
    pub(crate) const VOLUME: usize = 33;
    pub(crate) const INSTRUMENT: usize = 41;
    pub(crate) const KEYS: usize = 43;
    pub(crate) const VELOCITIES: usize = 44;
    pub(crate) const LOOP_START_COARSE: usize = 45;
    pub(crate) const FIXED_KEY: usize = 46;
    pub(crate) const FIXED_VELOCITY: usize = 47;
    pub(crate) const ATTENUATION: usize = 48;
    pub(crate) const LOOP_END_COARSE: usize = 50;
    pub(crate) const COARSE_TUNE: usize = 51;
    pub(crate) const FINE_TUNE: usize = 52;
    pub(crate) const SAMPLE: usize = 53;
    pub(crate) const LOOP_MODE: usize = 54;
    pub(crate) const SCALE_TUNING: usize = 56;
    pub(crate) const EXCLUSIVE_CLASS: usize = 57;
    pub(crate) const ROOT_KEY: usize = 58;
}

use number::*;

/// As many as are kept; the specification reserves all others.
pub(crate) const COUNT: usize = 59;
/// Every key or velocity, as a range.
const ALL: i16 = 0x7f00;

/// One value for each generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Generators([i16; COUNT]);

impl Generators {
    /// What holds in an instrument where the file says nothing.
    pub(crate) const DEFAULTS: Generators = {
        let mut values = [0; COUNT];
        values[CUTOFF] = 13_500;
        values[TREMOLO_DELAY] = -12_000;
        values[VIBRATO_DELAY] = -12_000;
        let mut n = 0;
        while n < 6 {
            // All but the sustain, which is no time.
            if n != 4 {
                values[CONTOUR + n] = -12_000;
                values[VOLUME + n] = -12_000;
            }
            n += 1;
        }
        values[KEYS] = ALL;
        values[VELOCITIES] = ALL;
        values[FIXED_KEY] = -1;
        values[FIXED_VELOCITY] = -1;
        values[SCALE_TUNING] = 100;
        values[ROOT_KEY] = -1;
        Generators(values)
    };

    /// What a preset adds where the file says nothing.
    pub(crate) const NOTHING: Generators = {
        let mut values = [0; COUNT];
        values[KEYS] = ALL;
        values[VELOCITIES] = ALL;
        Generators(values)
    };

    /// The value of a generator of [`number`].
    pub(crate) fn get(&self, number: usize) -> i16 {
        self.0[number]
    }

    /// Generators that the specification reserves change nothing.
    pub(crate) fn set(&mut self, number: u16, amount: u16) {
        if let Some(value) = self.0.get_mut(usize::from(number)) {
            *value = amount as i16;
        }
    }

    /// The lowest and the highest key or velocity.
    pub(crate) fn range(&self, number: usize) -> (u8, u8) {
        let [low, high] = self.0[number].to_le_bytes();
        (low, high)
    }

    /// These of an instrument with those of a preset, which are added. Places in a sample, ranges, modes and the like are the
    /// instrument's own; of ranges the common part holds.
    pub(crate) fn with(&self, preset: &Generators) -> Generators {
        let mut sum = *self;
        for (number, low, high) in ADDED {
            let both = sum.0[number].saturating_add(preset.0[number]);
            sum.0[number] = both.clamp(low, high);
        }
        for number in [KEYS, VELOCITIES] {
            let (own, other) = (self.range(number), preset.range(number));
            let common = [own.0.max(other.0), own.1.min(other.1)];
            sum.0[number] = i16::from_le_bytes(common);
        }
        sum
    }
}

/// Those that a preset may change, each with its smallest and its largest value.
const ADDED: [(usize, i16, i16); 33] = [
    (TREMOLO_TO_PITCH, -12_000, 12_000),
    (VIBRATO_TO_PITCH, -12_000, 12_000),
    (CONTOUR_TO_PITCH, -12_000, 12_000),
    (CUTOFF, 1500, 13_500),
    (RESONANCE, 0, 960),
    (TREMOLO_TO_CUTOFF, -12_000, 12_000),
    (CONTOUR_TO_CUTOFF, -12_000, 12_000),
    (TREMOLO_TO_VOLUME, -960, 960),
    (PAN, -500, 500),
    (TREMOLO_DELAY, -12_000, 5000),
    (TREMOLO_RATE, -16_000, 4500),
    (VIBRATO_DELAY, -12_000, 5000),
    (VIBRATO_RATE, -16_000, 4500),
    (CONTOUR, -12_000, 5000),
    (CONTOUR + 1, -12_000, 8000),
    (CONTOUR + 2, -12_000, 5000),
    (CONTOUR + 3, -12_000, 8000),
    (CONTOUR + 4, 0, 1000),
    (CONTOUR + 5, -12_000, 8000),
    (CONTOUR + 6, -1200, 1200),
    (CONTOUR + 7, -1200, 1200),
    (VOLUME, -12_000, 5000),
    (VOLUME + 1, -12_000, 8000),
    (VOLUME + 2, -12_000, 5000),
    (VOLUME + 3, -12_000, 8000),
    (VOLUME + 4, 0, 1440),
    (VOLUME + 5, -12_000, 8000),
    (VOLUME + 6, -1200, 1200),
    (VOLUME + 7, -1200, 1200),
    (ATTENUATION, 0, 1440),
    (COARSE_TUNE, -120, 120),
    (FINE_TUNE, -99, 99),
    (SCALE_TUNING, 0, 1200),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_adds_and_cuts_ranges_and_nothing_leaves_its_range() {
        let mut own = Generators::DEFAULTS;
        let mut preset = Generators::NOTHING;
        own.set(PAN as u16, 300);
        preset.set(PAN as u16, 300);
        own.set(FINE_TUNE as u16, 20);
        preset.set(FINE_TUNE as u16, (-5i16) as u16);
        own.set(KEYS as u16, u16::from_le_bytes([10, 60]));
        preset.set(KEYS as u16, u16::from_le_bytes([50, 100]));
        // A preset may not move the root key.
        preset.set(ROOT_KEY as u16, 7);
        own.set(9999, 1);
        let both = own.with(&preset);
        assert_eq!((both.get(PAN), both.get(FINE_TUNE), both.get(ROOT_KEY)), (500, 15, -1));
        assert_eq!((both.range(KEYS), both.range(VELOCITIES)), ((50, 60), (0, 127)));
        assert_eq!((both.get(CUTOFF), both.get(SCALE_TUNING)), (13_500, 100));
        assert_eq!(Generators::DEFAULTS.with(&Generators::NOTHING), Generators::DEFAULTS);
    }
}
