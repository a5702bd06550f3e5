//! How loud audio is: loudness as EBU R 128 defines it, peaks and RMS.

use std::fmt;

use ebur128::{EbuR128, Mode};

/// The length of the block that loudness needs at least (ITU-R BS.1770).
const BLOCK_MS: u64 = 400;
/// The length of the block that the range needs at least (EBU Tech 3342).
const LONG_BLOCK_MS: u64 = 3000;

/// Measures stereo sound, a piece at a time, as it is: before integers clip it. Samples that are NaN or infinite count as
/// silence.
///
/// Thread: control. Cost: about 100 operations per sample, and 8 bytes of memory for each 0.1 s.
#[derive(Debug)]
pub struct LevelMeter {
    meter: EbuR128,
    sample_rate_hz: u32,
    frames: u64,
    /// The sum of all squares of both channels.
    squares: f64,
    /// Rows without what is not finite.
    cleaned: [Vec<f32>; 2],
}

/// What a [`LevelMeter`] found, each value with why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Integrated loudness in LUFS (ITU-R BS.1770, with both gates).
    pub loudness_lufs: Result<f64, NotMeasurable>,
    /// Loudness range in LU (EBU Tech 3342).
    pub range_lu: Result<f64, NotMeasurable>,
    /// The highest peak between the samples, too, in dB above full scale: oversampled 4 times, from 96 kHz on twice, from
    /// 192 kHz on not at all.
    pub true_peak_dbtp: Result<f64, NotMeasurable>,
    /// The largest sample, in dB above full scale.
    pub sample_peak_dbfs: Result<f64, NotMeasurable>,
    /// The root of the mean square of both channels, in dB: a sine of full scale has -3.01.
    pub rms_dbfs: Result<f64, NotMeasurable>,
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMeasurable {
    /// All samples are zero.
    Silent,
    /// There is less sound than the shortest block, in milliseconds.
    ShorterThan(u64),
    /// Nothing of it reaches the gate of -70 LUFS.
    Quiet,
}

impl fmt::Display for NotMeasurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotMeasurable::Silent => f.write_str("silent"),
            NotMeasurable::ShorterThan(ms) => {
                write!(f, "shorter than {} s", *ms as f64 / 1000.0)
            }
            NotMeasurable::Quiet => f.write_str("quieter than -70 LUFS"),
        }
    }
}

impl LevelMeter {
    /// For sound of this rate; `None` below 16 Hz and over 2,822,400 Hz.
    pub fn new(sample_rate_hz: u32) -> Option<LevelMeter> {
        let mode = Mode::I | Mode::LRA | Mode::TRUE_PEAK;
        let meter = EbuR128::new(2, sample_rate_hz, mode).ok()?;
        let cleaned = [Vec::new(), Vec::new()];
        Some(LevelMeter { meter, sample_rate_hz, frames: 0, squares: 0.0, cleaned })
    }

    /// Goes on with these frames. Shape: equally long; of unequal rows the shorter one's length counts. Unit: linear,
    /// 1.0 = full scale. The cuts between pieces make no difference.
    pub fn add(&mut self, left: &[f32], right: &[f32]) {
        let frames = left.len().min(right.len());
        let rows = [&left[..frames], &right[..frames]];
        if rows.iter().all(|row| row.iter().all(|sample| sample.is_finite())) {
            return self.measure(rows);
        }
        let mut cleaned = std::mem::take(&mut self.cleaned);
        for (clean, row) in cleaned.iter_mut().zip(rows) {
            clean.clear();
            clean.extend(row.iter().map(|x| if x.is_finite() { *x } else { 0.0 }));
        }
        self.measure([&cleaned[0], &cleaned[1]]);
        self.cleaned = cleaned;
    }

    fn measure(&mut self, rows: [&[f32]; 2]) {
        self.frames += rows[0].len() as u64;
        // Frame after frame, so that the sum does not depend on the pieces.
        for (left, right) in rows[0].iter().zip(rows[1]) {
            self.squares += f64::from(*left) * f64::from(*left);
            self.squares += f64::from(*right) * f64::from(*right);
        }
        // It refuses only rows of unequal length.
        let _ = self.meter.add_frames_planar_f32(&rows);
    }

    /// The levels of everything so far.
    pub fn levels(&self) -> Levels {
        let largest = |peak: fn(&EbuR128, u32) -> Result<f64, ebur128::Error>| {
            (0..2).filter_map(|channel| peak(&self.meter, channel).ok()).fold(0.0, f64::max)
        };
        let mean_square = self.squares / (2 * self.frames.max(1)) as f64;
        let loudness = self.meter.loudness_global().ok();
        let heard = loudness.filter(|lufs| lufs.is_finite()).ok_or(NotMeasurable::Quiet);
        let range = self.meter.loudness_range().map_err(|_| NotMeasurable::Quiet);
        Levels {
            loudness_lufs: self.lasts(BLOCK_MS).and(heard),
            range_lu: self.lasts(LONG_BLOCK_MS).and(heard).and(range),
            true_peak_dbtp: decibels(largest(EbuR128::true_peak)),
            sample_peak_dbfs: decibels(largest(EbuR128::sample_peak)),
            rms_dbfs: decibels(mean_square.sqrt()),
        }
    }

    fn lasts(&self, ms: u64) -> Result<(), NotMeasurable> {
        if self.squares == 0.0 {
            return Err(NotMeasurable::Silent);
        }
        // As the meter counts: a tenth of a second is a whole number of frames.
        let tenth = (u64::from(self.sample_rate_hz) + 5) / 10;
        match self.frames < tenth * ms / 100 {
            true => Err(NotMeasurable::ShorterThan(ms)),
            false => Ok(()),
        }
    }
}

fn decibels(linear: f64) -> Result<f64, NotMeasurable> {
    if linear > 0.0 { Ok(20.0 * linear.log10()) } else { Err(NotMeasurable::Silent) }
}
