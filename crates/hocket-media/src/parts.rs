//! Parts of a long file at another sample rate, without the rest of the file.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use rubato::Async;

use crate::MediaError;
use crate::audio::not_finite;
use crate::decode::{Source, StreamDecoder, StreamInfo, position};
use crate::resample::Plan;

/// Frames that are decoded at a time.
const PIECE_FRAMES: usize = 1 << 14;

/// Decodes and converts parts of an audio file. They have the bits that these frames have where the whole file is decoded
/// ([`decode`](crate::decode())) and converted ([`resample`](crate::resample)).
///
/// A part takes the time and memory of itself. Only between two rates with hardly a common divisor, such as 44,101 and
/// 48,000 Hz, everything before it is decoded and converted, too.
///
/// Thread: control; reads the file.
pub struct PartDecoder {
    decoder: StreamDecoder,
    plan: Plan,
    /// `None`: nothing was converted yet. Its table takes memory, and time.
    resampler: Option<Async<f64>>,
    faults: Vec<String>,
}

impl fmt::Debug for PartDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartDecoder").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

impl PartDecoder {
    /// Opens a file that is to be converted. `None`: it cannot be read from any position at once
    /// ([`SeekCost::Direct`](crate::SeekCost)), or has the rate `to_hz`.
    ///
    /// # Errors
    /// As [`decode`](crate::decode()).
    pub fn open(path: &Path, to_hz: u32) -> Result<Option<PartDecoder>, MediaError> {
        let source = Source::open(path)?;
        let Some(decoder) = StreamDecoder::open_direct(path, source.bytes)? else {
            return Ok(None);
        };
        let from_hz = decoder.info().sample_rate_hz;
        if from_hz == to_hz || to_hz == 0 {
            return Ok(None);
        }
        let plan = Plan::new(from_hz, to_hz);
        Ok(Some(PartDecoder { decoder, plan, resampler: None, faults: Vec::new() }))
    }

    /// What the file holds, at its own rate.
    pub fn info(&self) -> &StreamInfo {
        self.decoder.info()
    }

    /// How many frames the whole file has when it is converted.
    pub fn frames(&self) -> u64 {
        self.plan.output_frames(self.info().frames)
    }

    /// Whether a part takes nothing of what comes before it; false between two rates with hardly a common divisor.
    pub fn is_independent(&self) -> bool {
        self.plan.is_exact()
    }

    /// How many frames of the file are decoded for a part: a little more than it lasts.
    pub fn decoded_frames(&self, part: &Range<u64>) -> u64 {
        let reach = self.reach(part);
        reach.end - reach.start
    }

    fn reach(&self, part: &Range<u64>) -> Range<u64> {
        let (reach, frames) = (self.plan.reach(part), self.info().frames);
        reach.start.min(frames)..reach.end.min(frames)
    }

    /// Some frames of the converted file; `channels` are the first ones of the file, or all.
    ///
    /// Shape of the result: `[channels][frames]`. What lies behind the file's end is left out, and what a file that is cut
    /// short lacks is silent. Memory: 20 bytes a frame besides the result.
    ///
    /// # Errors
    /// As [`StreamDecoder::read`].
    pub fn part(&mut self, part: Range<u64>, channels: usize) -> Result<Vec<Vec<f32>>, MediaError> {
        let end = part.end.min(self.frames());
        let part = part.start.min(end)..end;
        let rows = self.decoded(self.reach(&part), channels.min(self.info().channels))?;
        let PartDecoder { plan, resampler, .. } = self;
        let resampler = resampler.get_or_insert_with(|| plan.resampler());
        Ok(rows.iter().map(|row| plan.convert_part(resampler, row, &part)).collect())
    }

    /// Frames of the file at its own rate; fewer where it is cut short.
    fn decoded(
        &mut self,
        frames: Range<u64>,
        channels: usize,
    ) -> Result<Vec<Vec<f32>>, MediaError> {
        let wanted = (frames.end - frames.start) as usize;
        let mut rows = vec![vec![0.0; wanted]; channels];
        let mut done = 0;
        while done < wanted {
            let to = wanted.min(done + PIECE_FRAMES);
            let mut piece: Vec<&mut [f32]> =
                rows.iter_mut().map(|row| &mut row[done..to]).collect();
            let read = self.decoder.read(frames.start + done as u64, &mut piece)?;
            done += read;
            if done < to {
                break;
            }
        }
        rows.iter_mut().for_each(|row| row.truncate(done));
        self.note_faults(frames.start + done as u64, done < wanted);
        Ok(rows)
    }

    fn note_faults(&mut self, end: u64, is_short: bool) {
        let StreamInfo { sample_rate_hz, frames, .. } = *self.info();
        let mut found = self.decoder.faults();
        if is_short && found.is_empty() {
            let here = position(end, sample_rate_hz);
            found.push(format!("the file ends early, {here}: {frames} frames are announced"));
        }
        found.retain(|fault| !self.faults.contains(fault));
        self.faults.extend(found);
    }

    /// What is wrong with the file as far as it was decoded, as [`Audio::warnings`](crate::Audio::warnings).
    pub fn warnings(&self) -> Vec<String> {
        let of_header = self.info().warnings.iter().chain(&self.faults).cloned();
        of_header.chain(not_finite(self.decoder.not_finite())).collect()
    }
}
