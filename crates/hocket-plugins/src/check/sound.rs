//! Sounds that go in, and what is seen of those that come out.

use hocket_dsp::{Change, TimedChange};

use crate::Param;

/// Rows of equal length: left and right, and behind them those of extra outputs. What goes in has two.
pub type Sound = Vec<Vec<f32>>;

/// Random numbers (SplitMix64): the same for the same seed, on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not including 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Below a number that is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A value for each parameter, one in four of them at an end of its range.
    pub fn values(&mut self, params: &[Param]) -> Vec<f32> {
        params.iter().map(|param| self.value(param)).collect()
    }

    pub fn value(&mut self, param: &Param) -> f32 {
        let (min, max) = param.range();
        match self.below(8) {
            0 => min,
            1 => max,
            _ => min + (max - min) * self.unit(),
        }
    }

    /// Changes of random parameters at random frames, in their order.
    pub fn changes(&mut self, params: &[Param], count: usize, frames: usize) -> Vec<TimedChange> {
        if params.is_empty() {
            return Vec::new();
        }
        let mut changes: Vec<TimedChange> = (0..count)
            .map(|_| {
                let index = self.below(params.len().min(usize::from(u16::MAX)));
                let value = self.value(&params[index]);
                let change = Change::Param { index: index as u16, value };
                TimedChange { frame: self.below(frames) as u32, change }
            })
            .collect();
        changes.sort_by_key(|change| change.frame);
        changes
    }
}

/// White noise at half of full scale.
pub fn noise(frames: usize, seed: u64) -> Sound {
    let mut random = Random::new(seed);
    let mut row = || (0..frames).map(|_| random.unit() - 0.5).collect();
    vec![row(), row()]
}

/// One value everywhere.
pub fn constant(value: f32, frames: usize) -> Sound {
    vec![vec![value; frames]; 2]
}

/// Sounds of two rows, one after the other.
pub fn joined(parts: &[Sound]) -> Sound {
    let row = |side: usize| parts.iter().flat_map(|part| part[side].iter().copied()).collect();
    (0..2).map(row).collect()
}

/// The part of a sound from a frame on.
pub fn from(sound: &Sound, frame: usize) -> Sound {
    sound.iter().map(|row| row[frame.min(row.len())..].to_vec()).collect()
}

/// Where something was found: the row, and how much, or at which frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found<T> {
    pub row: usize,
    pub what: T,
}

/// The first frame with a value that is no finite number.
pub fn not_finite(sound: &Sound) -> Option<Found<usize>> {
    let of = |(row, samples): (usize, &Vec<f32>)| {
        let what = samples.iter().position(|sample| !sample.is_finite())?;
        Some(Found { row, what })
    };
    sound.iter().enumerate().filter_map(of).min_by_key(|found| found.what)
}

/// The largest sample.
pub fn loudest(sound: &Sound) -> Found<f32> {
    largest(sound.iter().map(|row| row.iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()))))
}

/// The largest sample, wherever it is.
pub fn peak(sound: &Sound) -> f32 {
    loudest(sound).what
}

/// Whether no sample is above a level. What is no number is no silence.
pub fn is_silent(sound: &Sound, level: f32) -> bool {
    sound.iter().flatten().all(|sample| sample.abs() <= level)
}

/// Whether every bit is the same.
pub fn same(one: &Sound, other: &Sound) -> bool {
    let bits = |sound: &Sound| -> Vec<u32> {
        sound.iter().flatten().map(|sample| sample.to_bits()).collect()
    };
    bits(one) == bits(other)
}

/// The largest difference of a sample.
pub fn difference(one: &Sound, other: &Sound) -> Found<f32> {
    largest(one.iter().zip(other).map(|(one, other)| {
        let pairs = one.iter().zip(other);
        pairs.fold(0.0_f32, |largest, (one, other)| largest.max((one - other).abs()))
    }))
}

/// The first one of the largest values, of which there is one for each row.
fn largest(rows: impl Iterator<Item = f32>) -> Found<f32> {
    rows.enumerate().fold(Found { row: 0, what: 0.0 }, |found, (row, what)| {
        if what > found.what { Found { row, what } } else { found }
    })
}

/// How many samples are subnormal numbers.
pub fn subnormal(sound: &Sound) -> usize {
    sound.iter().flatten().filter(|sample| sample.is_subnormal()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_sound() {
        assert!(same(&noise(64, 7), &noise(64, 7)));
        assert!(!same(&noise(64, 7), &noise(64, 8)));
        assert!(peak(&noise(4096, 1)) > 0.4 && peak(&noise(4096, 1)) <= 0.5);
    }

    #[test]
    fn what_is_odd_is_found() {
        let mut sound = constant(0.0, 8);
        assert_eq!((not_finite(&sound), subnormal(&sound)), (None, 0));
        sound[1][3] = f32::NAN;
        assert!(is_silent(&constant(0.0, 8), 0.0) && !is_silent(&sound, 1.0));
        sound[0][5] = 1e-40;
        let found = Some(Found { row: 1, what: 3 });
        assert_eq!((not_finite(&sound), subnormal(&sound)), (found, 1));
    }

    #[test]
    fn what_is_largest_is_found_in_its_row() {
        let quiet = constant(0.5, 8);
        assert_eq!(difference(&quiet, &quiet), Found { row: 0, what: 0.0 });
        let mut wide = quiet.clone();
        wide.push(vec![0.5; 8]);
        let mut loud = wide.clone();
        loud[2][7] = -2.0;
        assert_eq!(difference(&wide, &loud), Found { row: 2, what: 2.5 });
        assert_eq!(loudest(&loud), Found { row: 2, what: 2.0 });
        assert_eq!(peak(&wide), 0.5);
    }
}
