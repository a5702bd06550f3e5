//! Decoded sound in memory.

use crate::sample::silence_not_finite;

/// Decoded sound, one row a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Audio {
    /// Frames a second.
    pub sample_rate_hz: u32,
    /// `[channels][frames]`, all rows of equal length; linear, 1.0 = full scale, always finite.
    pub channels: Vec<Vec<f32>>,
    /// What was wrong with the file without making it useless, one sentence each.
    pub warnings: Vec<String>,
}

/// What a file says about its sound, read without decoding all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioFacts {
    /// Frames per second.
    pub sample_rate_hz: u32,
    /// At least one.
    pub channels: usize,
    /// `None` where the file does not say. A compressed file may say a little more than it holds.
    pub frames: Option<u64>,
}

impl Audio {
    /// How warnings begin that say that audio is missing at the end.
    pub(crate) const CUT_SHORT: [&'static str; 2] = ["the file ends early", "the stream ends"];

    /// The warning that audio is missing at the end, where it is: what is there can be played, but
    /// it is not what was recorded.
    pub fn cut_short(&self) -> Option<&str> {
        let says_so = |warning: &&String| Self::CUT_SHORT.iter().any(|p| warning.starts_with(p));
        self.warnings.iter().find(says_so).map(String::as_str)
    }

    /// Length in frames.
    pub fn frames(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Length in seconds.
    pub fn length_s(&self) -> f64 {
        self.frames() as f64 / f64::from(self.sample_rate_hz)
    }

    /// The largest absolute sample of all channels, linear.
    pub fn peak(&self) -> f32 {
        self.channels.iter().flatten().fold(0.0, |peak, x| peak.max(x.abs()))
    }

    /// Root of the mean square over all samples of all channels, linear.
    pub fn rms(&self) -> f64 {
        let samples = (self.frames() * self.channels.len()).max(1) as f64;
        let sum: f64 = self.channels.iter().flatten().map(|&x| f64::from(x).powi(2)).sum();
        (sum / samples).sqrt()
    }

    /// Sets samples that are not numbers to silence, so that one bad sample cannot spread
    /// through filters and sums, and warns with their count.
    pub(crate) fn silence_not_finite(&mut self) {
        let count: u64 = self.channels.iter_mut().map(|row| silence_not_finite(row)).sum();
        self.warnings.extend(not_finite(count));
    }
}

/// The warning of samples that are not numbers, where there are any.
pub(crate) fn not_finite(count: u64) -> Option<String> {
    (count > 0).then(|| format!("{count} samples were NaN or infinite and are silent now"))
}
