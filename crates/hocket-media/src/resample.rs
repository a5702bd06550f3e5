//! Sample-rate conversion of whole files, on loading.
//!
//! A windowed sinc with one filter phase for every position that occurs (`to / gcd` of them), so
//! nothing is interpolated and the result is exactly a polyphase filter. Where that would need
//! too large a table, as between rates without a common divisor, cubic interpolation between
//! 512 phases takes its place.
//!
//! The filter delays; here the delay is removed exactly and not to the nearest frame: zeros are
//! put before the input and frames dropped from the output, in such numbers that output frame 0
//! falls on input frame 0.

use std::ops::Range;

use rubato::audioadapter_buffers::direct::SequentialSliceOfVecs;
use rubato::{
    Async, FixedAsync, Resampler, SincInterpolationParameters, SincInterpolationType,
    WindowFunction, calculate_cutoff,
};

use crate::Audio;

/// Taps at the lower of the two rates: flat to 0.94 of its Nyquist frequency, images and aliases
/// more than 150 dB down.
const SINC_TAPS: usize = 512;
/// Taps at most, where the rate falls by a large factor; the filter then gets less steep.
const MAX_TAPS: usize = 16_384;
const WINDOW: WindowFunction = WindowFunction::BlackmanHarris2;
/// Filter phases at most for the exact method (a table of 4 MiB at 512 taps).
const MAX_EXACT_PHASES: usize = 1024;
const INTERPOLATED_PHASES: usize = 512;
/// Frames that are converted at a time, counted at the higher of the two rates.
const CHUNK_FRAMES: usize = 4096;

/// Converts to another sample rate.
///
/// Length: `round(frames * to_hz / rate)`, without delay: output frame 0 is input frame 0.
/// The same input gives the same bytes every time on the same kind of CPU. Warnings are kept.
/// Thread: control; cost: about 512 multiplications a sample; memory: 16 bytes a frame besides
/// the result, one channel after the other.
///
/// `to_hz` must not be zero; audio without frames, and audio at `to_hz` already, is returned
/// unchanged.
pub fn resample(audio: &Audio, to_hz: u32) -> Audio {
    resample_beginning(audio, to_hz, usize::MAX)
}

/// As [`resample`], but of the result only the first `frames` frames, bit for bit; it takes the time and memory of
/// these alone.
pub fn resample_beginning(audio: &Audio, to_hz: u32, frames: usize) -> Audio {
    let from_hz = audio.sample_rate_hz;
    if from_hz == to_hz || audio.frames() == 0 || to_hz == 0 || from_hz == 0 {
        return Audio { sample_rate_hz: to_hz, ..audio.clone() };
    }
    let plan = Plan::new(from_hz, to_hz);
    let wanted = (plan.output_frames(audio.frames() as u64) as usize).min(frames);
    let mut resampler = plan.resampler();
    let rows = audio.channels.iter();
    let channels = rows.map(|row| plan.convert(&mut resampler, row, wanted)).collect();
    Audio { sample_rate_hz: to_hz, channels, warnings: audio.warnings.clone() }
}

/// Everything that depends on the two rates only.
pub(crate) struct Plan {
    from: usize,
    to: usize,
    params: SincInterpolationParameters,
    alignment: Alignment,
}

/// What removes the filter's delay.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Alignment {
    zeros_before: usize,
    frames_dropped: usize,
}

impl Plan {
    pub fn new(from_hz: u32, to_hz: u32) -> Self {
        let divisor = gcd(from_hz, to_hz);
        let (from, to) = ((from_hz / divisor) as usize, (to_hz / divisor) as usize);
        // Going down, the filter is stretched so that its slope keeps its share of the output band.
        let stretch = (from as f64 / to as f64).max(1.0);
        let taps = ((SINC_TAPS as f64 * stretch) as usize).next_multiple_of(8).min(MAX_TAPS);
        let exact = to <= MAX_EXACT_PHASES && taps * to <= SINC_TAPS * MAX_EXACT_PHASES;
        let (phases, interpolation) = if exact {
            (to, SincInterpolationType::Nearest)
        } else {
            (INTERPOLATED_PHASES, SincInterpolationType::Cubic)
        };
        let cutoff = calculate_cutoff((taps as f64 / stretch) as usize, WINDOW);
        let params = SincInterpolationParameters::new(taps, WINDOW)
            .f_cutoff(cutoff)
            .oversampling_factor(phases)
            .interpolation(interpolation);
        Self { from, to, params, alignment: Alignment::new(from, to, taps, phases) }
    }

    /// Frames out for `frames` in, rounded.
    pub fn output_frames(&self, frames: u64) -> u64 {
        let (frames, from, to) = (u128::from(frames), self.from as u128, self.to as u128);
        ((2 * frames * to + from) / (2 * from)) as u64
    }

    /// Of one channel. Its table of filters takes some milliseconds, so one serves many conversions.
    pub fn resampler(&self) -> Async<f64> {
        self.resampler_of(1)
    }

    /// Of so many channels, each of which is converted as if it were alone.
    pub fn resampler_of(&self, channels: usize) -> Async<f64> {
        let ratio = self.to as f64 / self.from as f64;
        let chunk = (CHUNK_FRAMES * self.to / self.from).clamp(1, CHUNK_FRAMES);
        Async::new_sinc(ratio, 1.0, &self.params, chunk, channels, FixedAsync::Output)
            .expect("the ratio is finite and positive and the chunk is not empty")
    }

    /// How many zeros come before the input, and how many frames are dropped from the output.
    pub fn delay(&self) -> (usize, usize) {
        (self.alignment.zeros_before, self.alignment.frames_dropped)
    }

    /// The frames of the input that decide these frames of the output, beyond its end where the filter reaches there. A
    /// conversion that begins at the first of them gives the same bits.
    ///
    /// The phases of the exact method repeat after `from` frames, so it may begin at any multiple of these. Interpolation
    /// between phases depends on sums that were rounded since the first frame, so it begins there.
    pub fn reach(&self, wanted: &Range<u64>) -> Range<u64> {
        let (from, to) = (self.from as u64, self.to as u64);
        let taps = self.params.sinc_len as u64;
        let start = (wanted.start * from / to).saturating_sub(taps) / from * from;
        let start = if self.is_exact() { start } else { 0 };
        let last = wanted.end - start / from * to + self.alignment.frames_dropped as u64;
        start..start + last * from / to + 1 + taps
    }

    /// Frames of the output out of the part of the input that decides them: what the input has of [`Plan::reach`].
    pub fn convert_part(
        &self,
        resampler: &mut Async<f64>,
        input: &[f32],
        wanted: &Range<u64>,
    ) -> Vec<f32> {
        let first = self.reach(wanted).start / self.from as u64 * self.to as u64;
        let mut part = self.convert(resampler, input, (wanted.end - first) as usize);
        part.drain(..(wanted.start - first) as usize);
        part
    }

    /// Whether a part can be converted without what comes before it.
    pub fn is_exact(&self) -> bool {
        self.params.interpolation == SincInterpolationType::Nearest
    }

    /// The first `wanted` frames of one channel. `f64` inside, so that the sums round once, at the end. Nothing stays in
    /// `resampler`.
    fn convert(&self, resampler: &mut Async<f64>, input: &[f32], wanted: usize) -> Vec<f32> {
        let Alignment { zeros_before, frames_dropped } = self.alignment;
        let needed_input = (wanted + frames_dropped) * self.from / self.to + 1;
        // The filter reaches that far beyond the last frame that is wanted.
        let input = &input[..input.len().min(needed_input + self.params.sinc_len)];
        let frames = needed_input.max(zeros_before + input.len());
        let mut padded = vec![0.0; zeros_before];
        padded.extend(input.iter().map(|&x| f64::from(x)));
        padded.resize(frames, 0.0);
        let rows = [padded];
        let adapter = SequentialSliceOfVecs::new(&rows, 1, frames)
            .expect("the row has exactly this many frames");
        // `process_all` begins anew each time. It has already dropped the whole frames of the delay.
        let skip = frames_dropped - resampler.output_delay();
        let output = resampler
            .process_all(&adapter, frames, None)
            .expect("the buffers are made to the resampler's own sizes")
            .take_data();
        output[skip..skip + wanted].iter().map(|&x| x as f32).collect()
    }
}

impl Alignment {
    /// Output frame `n` of the resampler lies at `(n + 1) * from / to + 1 / phases - taps / 2` on
    /// the input's time line. Finds the first `n` past the filter's delay for which that is a
    /// whole number (or nearest to one), and puts as many zeros before the input.
    fn new(from: usize, to: usize, taps: usize, phases: usize) -> Self {
        let position = |n: usize| (n + 1) as f64 * from as f64 / to as f64 + 1.0 / phases as f64;
        let half = (taps / 2) as f64;
        let first = (taps * to).div_ceil(2 * from);
        let distance = |n: usize| (position(n) - position(n).round()).abs();
        let best = (first..first + to.min(2 * MAX_EXACT_PHASES))
            .filter(|&n| position(n) >= half)
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(first);
        let zeros_before = (position(best) - half).round().max(0.0) as usize;
        Self { zeros_before, frames_dropped: best }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_phases_align_exactly() {
        for (from, to) in [(147usize, 160usize), (160, 147), (1, 2), (2, 1), (147, 640), (4, 1)] {
            let taps = 512 * from.div_ceil(to);
            let alignment = Alignment::new(from, to, taps, to);
            let numerator = (alignment.frames_dropped + 1) * from + 1;
            assert_eq!(numerator, to * (taps / 2 + alignment.zeros_before), "{from}:{to}");
        }
    }

    #[test]
    fn common_rates_use_the_exact_method() {
        for (from, to) in [(44_100, 48_000), (48_000, 44_100), (22_050, 48_000), (96_000, 48_000)] {
            let plan = Plan::new(from, to);
            assert_eq!(plan.params.interpolation, SincInterpolationType::Nearest);
        }
        assert_eq!(Plan::new(44_101, 48_000).params.interpolation, SincInterpolationType::Cubic);
    }
}
