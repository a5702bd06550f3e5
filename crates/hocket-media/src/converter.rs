//! Sample-rate conversion of what comes piece by piece.
//!
//! A whole file is converted in chunks, too, so the same chunks give the same bits. Here each is converted as soon as its
//! input is there.

use rubato::audioadapter_buffers::direct::SequentialSliceOfVecs;
use rubato::{Async, Indexing, Resampler};

use crate::resample::Plan;

/// Converts a stream of frames from its first one on, with the bits of [`resample`](crate::resample()).
///
/// Memory: a piece, a chunk of the resampler, and its table of filters.
pub(crate) struct Converter {
    plan: Plan,
    resampler: Async<f64>,
    /// Input that is not converted yet, one row a channel.
    waiting: Vec<Vec<f64>>,
    /// Frames that the filter still delays.
    delay: usize,
    given: u64,
}

impl Converter {
    pub fn new(from_hz: u32, to_hz: u32, channels: usize) -> Converter {
        let plan = Plan::new(from_hz, to_hz);
        let resampler = plan.resampler_of(channels);
        let (zeros, delay) = plan.delay();
        let waiting = vec![vec![0.0; zeros]; channels];
        Converter { plan, resampler, waiting, delay, given: 0 }
    }

    /// How many frames become of so many.
    pub fn output_frames(&self, frames: u64) -> u64 {
        self.plan.output_frames(frames)
    }

    /// Takes frames in, and appends to `out` what can be converted now. Shape: rows of one length, as many as there are
    /// channels, on both sides.
    pub fn convert(&mut self, rows: &[Vec<f32>], out: &mut [Vec<f32>]) {
        for (waiting, row) in self.waiting.iter_mut().zip(rows) {
            waiting.extend(row.iter().map(|&sample| f64::from(sample)));
        }
        while self.waiting[0].len() >= self.resampler.input_frames_next() {
            self.chunk(u64::MAX, out);
        }
    }

    /// Appends the rest of a stream of which so many frames were taken in.
    pub fn finish(&mut self, taken: u64, out: &mut [Vec<f32>]) {
        let all = self.plan.output_frames(taken);
        while self.given < all {
            self.chunk(all, out);
        }
    }

    /// Converts one chunk, of which frames up to `end` are wanted. Where input is missing, zeros stand in for it.
    fn chunk(&mut self, end: u64, out: &mut [Vec<f32>]) {
        let (there, next) = (self.waiting[0].len(), self.resampler.input_frames_next());
        let channels = self.waiting.len();
        let adapter = SequentialSliceOfVecs::new(&self.waiting, channels, there)
            .expect("all rows have exactly this many frames");
        let partial_len = (there < next).then_some(there);
        let indexing = Indexing { partial_len, ..Indexing::new() };
        let converted = self
            .resampler
            .process(&adapter, Some(&indexing))
            .expect("the buffers are made to the resampler's own sizes")
            .take_data();
        self.waiting.iter_mut().for_each(|row| drop(row.drain(..next.min(there))));
        let frames = converted.len() / channels;
        let skipped = self.delay.min(frames);
        self.delay -= skipped;
        let wanted = ((frames - skipped) as u64).min(end.saturating_sub(self.given)) as usize;
        self.given += wanted as u64;
        for (channel, row) in out.iter_mut().enumerate() {
            let samples = converted.iter().skip(skipped * channels + channel).step_by(channels);
            row.extend(samples.take(wanted).map(|&sample| sample as f32));
        }
    }
}
