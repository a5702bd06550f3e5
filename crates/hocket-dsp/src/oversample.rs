//! Doubling, quadrupling and octupling of the sample rate and back, by half-band filters.
//!
//! A half-band filter lets the lower half of the spectrum pass; every second of its coefficients
//! is zero, so of its two phases one is a plain delay and the other a short FIR filter that runs
//! at the lower rate. Stages double one after the other; the first must be steep, the later ones
//! have room for gentle slopes and are short. All stages have linear phase: up and down again is
//! exactly a delay of whole frames for everything in the pass band.
//!
//! | stage | taps of the FIR phase | pass band | stop band |
//! |---|---|---|---|
//! | 1 to 2 | 48 | 0.44 of the lowest rate | 80 dB |
//! | 2 to 4 | 12 | 0.5 | 80 dB |
//! | 4 to 8 | 8 | 0.5 | 80 dB |

use std::f64::consts::PI;

use crate::{math, rows};

/// Longest piece that is processed at once, in frames of the lowest rate.
pub const MAX_FRAMES: usize = 32;

/// Half the number of FIR taps of each stage; the first must be even or odd as
/// [`Oversampler::latency_frames`] explains, so do not change one without reading there.
const HALF_TAPS: [usize; 3] = [24, 6, 4];

/// Shape of the Kaiser window: 80 dB.
const KAISER_BETA: f64 = 7.86;

/// The FIR phase of a half-band filter of `4 half - 1` taps; the taps sum to 1.
fn half_band_phase(half: usize) -> Vec<f32> {
    let reach = (2 * half) as f64;
    let tap = |index: usize| {
        let offset = 2.0 * index as f64 - (2.0 * half as f64 - 1.0);
        let (sinc, _) = math::sin_cos(PI * offset / 2.0);
        let edge = offset / reach;
        let window = math::bessel_i0(KAISER_BETA * (1.0 - edge * edge).sqrt());
        sinc / (PI * offset) * window
    };
    let taps: Vec<f64> = (0..2 * half).map(tap).collect();
    let sum: f64 = taps.iter().sum();
    taps.iter().map(|tap| (tap / sum) as f32).collect()
}

/// A symmetric FIR filter over pieces, with its history in front of the piece.
#[derive(Debug, Clone)]
struct Fir {
    taps: Vec<f32>,
    buffer: Vec<f32>,
}

impl Fir {
    fn new(taps: Vec<f32>, max_frames: usize) -> Fir {
        let history = taps.len() - 1;
        Fir { taps, buffer: vec![0.0; history + max_frames] }
    }

    fn history(&self) -> usize {
        self.taps.len() - 1
    }

    /// Where the next `frames` input samples go.
    #[inline(always)]
    fn input(&mut self, frames: usize) -> &mut [f32] {
        let history = self.history();
        &mut self.buffer[history..history + frames]
    }

    /// Filters the samples put into [`Fir::input`]; then the caller reads what it needs of the
    /// buffer and calls [`Fir::keep_history`].
    fn run(&self, out: &mut [f32]) {
        self.run_here(out);
    }

    /// The same with the instructions of the function that it is written into.
    #[inline(always)]
    fn run_here(&self, out: &mut [f32]) {
        // As many sums as do not wait for each other's additions, in rows as wide as a wide register.
        const WIDTH: usize = 8;
        const TILE: usize = 4 * WIDTH;
        let mut at = 0;
        let mut tiles = out.chunks_exact_mut(TILE);
        for tile in &mut tiles {
            let mut sums = [[0.0f32; WIDTH]; TILE / WIDTH];
            for (k, tap) in self.taps.iter().enumerate() {
                let window = &self.buffer[at + k..at + k + TILE];
                for (sums, samples) in sums.iter_mut().zip(window.as_chunks::<WIDTH>().0) {
                    for lane in 0..WIDTH {
                        sums[lane] += tap * samples[lane];
                    }
                }
            }
            // Array by array: who copies fewer samples at a time gets sums as narrow as that.
            for (samples, sums) in tile.as_chunks_mut::<WIDTH>().0.iter_mut().zip(sums) {
                *samples = sums;
            }
            at += TILE;
        }
        for sample in tiles.into_remainder() {
            // Same order of sums as in a tile, hence the same bits.
            let window = &self.buffer[at..at + self.taps.len()];
            let products = self.taps.iter().zip(window);
            *sample = products.fold(0.0, |sum, (tap, sample)| sum + tap * sample);
            at += 1;
        }
    }

    #[inline(always)]
    fn keep_history(&mut self, frames: usize) {
        let history = self.history();
        rows::shift_down(&mut self.buffer[..frames + history], frames);
    }

    fn reset(&mut self) {
        self.buffer.fill(0.0);
    }
}

/// One doubling and its way back, for one channel.
#[derive(Debug, Clone)]
struct Stage {
    half: usize,
    up: Fir,
    down: Fir,
    /// Odd samples on the way down, delayed by `half` frames in front of the piece.
    odd: Vec<f32>,
    /// Delays the way down by one frame of the stage's lower rate.
    pad: Option<f32>,
    scratch: Vec<f32>,
}

impl Stage {
    fn new(half: usize, max_frames: usize, padded: bool) -> Stage {
        let taps = half_band_phase(half);
        Stage {
            half,
            up: Fir::new(taps.clone(), max_frames),
            down: Fir::new(taps, max_frames),
            odd: vec![0.0; half + max_frames],
            pad: padded.then_some(0.0),
            scratch: vec![0.0; max_frames],
        }
    }

    /// Doubles `low` into `high`, which is twice as long.
    #[inline(always)]
    fn up<const HERE: bool>(&mut self, low: &[f32], high: &mut [f32]) {
        let frames = low.len();
        rows::copy(self.up.input(frames), low);
        let even = &mut self.scratch[..frames];
        if HERE {
            self.up.run_here(even)
        } else {
            self.up.run(even)
        }
        let delayed = &self.up.buffer[self.half..self.half + frames];
        for ((pair, even), odd) in high.chunks_exact_mut(2).zip(even).zip(delayed) {
            pair[0] = *even;
            pair[1] = *odd;
        }
        self.up.keep_history(frames);
    }

    /// Halves `high` into `low`.
    #[inline(always)]
    fn down<const HERE: bool>(&mut self, high: &[f32], low: &mut [f32]) {
        let frames = low.len();
        let odd = &mut self.odd[self.half..self.half + frames];
        let pairs = high.chunks_exact(2);
        for ((pair, even), odd) in pairs.zip(self.down.input(frames)).zip(odd) {
            *even = pair[0];
            *odd = pair[1];
        }
        if HERE {
            self.down.run_here(low)
        } else {
            self.down.run(low)
        }
        for (sample, odd) in low.iter_mut().zip(&self.odd) {
            *sample = 0.5 * (*sample + odd);
        }
        self.down.keep_history(frames);
        rows::shift_down(&mut self.odd[..frames + self.half], frames);
        self.delay_by_one(low);
    }

    #[inline(always)]
    fn delay_by_one(&mut self, low: &mut [f32]) {
        if let Some(kept) = &mut self.pad {
            for sample in low {
                std::mem::swap(sample, kept);
            }
        }
    }

    fn reset(&mut self) {
        self.up.reset();
        self.down.reset();
        self.odd.fill(0.0);
        if let Some(kept) = &mut self.pad {
            *kept = 0.0;
        }
    }

    /// Operations a frame of the stage's lower rate, up and down.
    fn flops(half: usize) -> f64 {
        let fir = 2.0 * (2 * half) as f64;
        2.0 * fir + 2.0
    }
}

/// Raises one channel to 1, 2, 4 or 8 times its rate, lets a function work there, and returns.
///
/// Thread: built on a control thread, run by one worker. No allocation after `new`.
#[derive(Debug, Clone)]
pub struct Oversampler {
    stages: Vec<Stage>,
    /// Signals at 1, 2, 4 and 8 times the rate, as many as there are stages and one more.
    rows: Vec<Vec<f32>>,
}

impl Oversampler {
    /// `factor` is 1, 2, 4 or 8; anything between is rounded down to one of these.
    pub fn new(factor: u32) -> Oversampler {
        let count = factor.clamp(1, 8).ilog2() as usize;
        let stage = |n: usize| Stage::new(HALF_TAPS[n], MAX_FRAMES << n, n > 0);
        Oversampler {
            stages: (0..count).map(stage).collect(),
            rows: (0..=count).map(|n| vec![0.0; MAX_FRAMES << n]).collect(),
        }
    }

    /// 1, 2, 4 or 8.
    pub fn factor(&self) -> usize {
        1 << self.stages.len()
    }

    /// Frames of the lowest rate from input to output: 0, 47, 53 or 55.
    ///
    /// A stage with `h` half taps delays by `2 h - 1` frames of its own lower rate on the way up
    /// and down. That is odd; from the second stage on one frame of padding makes it `2 h`, which
    /// is a whole number of lowest frames when `h` is even (fourth rate: a multiple of 2).
    pub fn latency_frames(&self) -> u32 {
        let delays = self.stages.iter().enumerate().map(|(n, stage)| {
            let frames = 2 * stage.half - usize::from(n == 0);
            frames >> n
        });
        delays.sum::<usize>() as u32
    }

    /// Replaces `row` (at most [`MAX_FRAMES`] long) by what `work` makes of it at the high rate.
    pub fn process(&mut self, row: &mut [f32], work: impl FnOnce(&mut [f32])) {
        let high = self.raise(row);
        work(high);
        self.lower(row);
    }

    /// First half of [`Oversampler::process`]: the piece at the high rate, to be worked on in
    /// place before [`Oversampler::lower`].
    pub fn raise(&mut self, row: &[f32]) -> &mut [f32] {
        self.raise_with::<false>(row)
    }

    /// [`Oversampler::raise`]. `HERE`: with the instructions of the function that it is written into.
    #[inline(always)]
    pub(crate) fn raise_with<const HERE: bool>(&mut self, row: &[f32]) -> &mut [f32] {
        let frames = row.len();
        rows::copy(&mut self.rows[0][..frames], row);
        for (n, stage) in self.stages.iter_mut().enumerate() {
            let (low, high) = self.rows.split_at_mut(n + 1);
            stage.up::<HERE>(&low[n][..frames << n], &mut high[0][..frames << (n + 1)]);
        }
        let top = self.stages.len();
        &mut self.rows[top][..frames << top]
    }

    /// Second half of [`Oversampler::process`]; `row` is as long as the one that was raised.
    pub fn lower(&mut self, row: &mut [f32]) {
        self.lower_with::<false>(row);
    }

    /// [`Oversampler::lower`]. `HERE`: with the instructions of the function that it is written into.
    #[inline(always)]
    pub(crate) fn lower_with<const HERE: bool>(&mut self, row: &mut [f32]) {
        let frames = row.len();
        for (n, stage) in self.stages.iter_mut().enumerate().rev() {
            let (low, high) = self.rows.split_at_mut(n + 1);
            stage.down::<HERE>(&high[0][..frames << (n + 1)], &mut low[n][..frames << n]);
        }
        rows::copy(row, &self.rows[0][..frames]);
    }

    /// Forgets the past.
    pub fn reset(&mut self) {
        self.stages.iter_mut().for_each(Stage::reset);
    }

    /// Operations a frame of one channel for the ways up and down.
    pub fn flops_per_frame(factor: u32) -> f64 {
        let count = factor.clamp(1, 8).ilog2() as usize;
        let stages = HALF_TAPS.iter().take(count).enumerate();
        stages.map(|(n, half)| Stage::flops(*half) * f64::from(1u32 << n)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(factor: u32, input: &[f32], piece: usize) -> Vec<f32> {
        let mut oversampler = Oversampler::new(factor);
        let mut row = input.to_vec();
        for part in row.chunks_mut(piece) {
            oversampler.process(part, |_| {});
        }
        row
    }

    #[test]
    fn latency_is_exact_for_an_impulse() {
        for (factor, latency) in [(1, 0), (2, 47), (4, 53), (8, 55)] {
            assert_eq!(Oversampler::new(factor).latency_frames(), latency);
            let mut input = vec![0.0; 200];
            input[10] = 1.0;
            let out = through(factor, &input, MAX_FRAMES);
            let peak = out.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            assert_eq!(peak.map(|(at, _)| at), Some(10 + latency as usize));
            for n in 1..40 {
                let centre = 10 + latency as usize;
                if centre >= n {
                    let difference = out[centre - n] - out[centre + n];
                    assert!(difference.abs() < 1e-6, "not symmetric at {n}");
                }
            }
        }
    }

    #[test]
    fn the_pass_band_comes_through_as_a_pure_delay() {
        for factor in [2, 4, 8] {
            for freq in [0.001, 0.1, 0.3, 0.43] {
                let sine = |n: i32| (std::f64::consts::TAU * freq * f64::from(n)).sin() as f32;
                let input: Vec<f32> = (0..1000).map(sine).collect();
                let out = through(factor, &input, MAX_FRAMES);
                let latency = Oversampler::new(factor).latency_frames() as i32;
                for n in 300..1000 {
                    let error = out[n as usize] - sine(n - latency);
                    // Up to six filters with a ripple of 1e-4 each.
                    assert!(error.abs() < 1e-3, "factor {factor} freq {freq}: {error}");
                }
            }
        }
    }

    #[test]
    fn images_are_80_db_down_and_the_high_rate_signal_is_the_input() {
        let mut oversampler = Oversampler::new(8);
        let freq = 0.05;
        let mut high = Vec::new();
        for piece in 0..40 {
            let row: Vec<f32> = (0..MAX_FRAMES)
                .map(|n| {
                    (std::f64::consts::TAU * freq * (piece * MAX_FRAMES + n) as f64).sin() as f32
                })
                .collect();
            high.extend_from_slice(oversampler.raise(&row));
        }
        let settled = &high[high.len() - 4000..];
        let energy_at = |freq: f64| {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, sample) in settled.iter().enumerate() {
                let angle = std::f64::consts::TAU * freq * n as f64;
                re += f64::from(*sample) * angle.cos();
                im += f64::from(*sample) * angle.sin();
            }
            (re * re + im * im).sqrt() * 2.0 / settled.len() as f64
        };
        assert!((energy_at(freq / 8.0) - 1.0).abs() < 1e-3);
        for n in 1..4 {
            for side in [-1.0, 1.0] {
                let image = (f64::from(n) + side * freq) / 8.0;
                assert!(energy_at(image) < 1e-4, "image {n} {side}");
            }
        }
    }

    #[test]
    fn pieces_of_any_length_give_the_same_bits() {
        let input: Vec<f32> = (0..997).map(|n| ((n * n) % 101) as f32 / 50.0 - 1.0).collect();
        for factor in [2, 4, 8] {
            let whole = through(factor, &input, MAX_FRAMES);
            for piece in [1, 2, 7, 31] {
                assert_eq!(through(factor, &input, piece), whole);
            }
        }
    }

    #[test]
    fn work_grows_with_the_factor() {
        let flops: Vec<f64> = [1, 2, 4, 8].map(Oversampler::flops_per_frame).into();
        assert_eq!(flops[0], 0.0);
        assert!(flops.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
