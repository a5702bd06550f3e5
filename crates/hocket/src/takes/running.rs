//! A take that is recorded, of audio or of events.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use hocket_disk::{
    EventTakeInput, EventTakeSettings, Recorder, Take, TakeFormat, TakeInput, TakeSettings,
};
use hocket_engine::Engine;
use hocket_media::{FileFormat, WavFormat};
use hocket_plan::Ports;

use super::alignment::{Aligned, Span};
use super::{PATIENCE, Recorded, Wanted, manifest};
use crate::failure::Failure;

/// What a block brings to takes.
pub(super) struct Block<'a> {
    pub(super) engine: &'a Engine,
    /// Those of the block that are recorded.
    pub(super) frames: Range<usize>,
    /// How long a take may wait for its disk.
    pub(super) patience: Duration,
}

pub(super) struct Running {
    pub(super) take_of: Wanted,
    pub(super) aligned: Aligned,
    pub(super) span: Span,
    /// Of the engine's outputs.
    output: usize,
    pub(super) input: Input,
    pub(super) take: Take,
}

/// The real-time end.
pub(super) enum Input {
    Audio(TakeInput),
    Events(EventTakeInput),
}

impl Running {
    /// Creates the file. `output`: that of the engine, and its rate.
    pub(super) fn begin(
        recorder: &Recorder,
        take_of: &Wanted,
        (output, rate_hz): (usize, u32),
        (aligned, recorded): (Aligned, &Recorded),
    ) -> Result<Running, Failure> {
        let Wanted { file, name, time, .. } = take_of;
        let begun = if take_of.is_notes() {
            let (tempos, meters) = (time.tempos.clone(), time.meters.clone());
            let settings = EventTakeSettings::new(file, name, rate_hz);
            let latency_frames = aligned.frames;
            let settings = EventTakeSettings { tempos, meters, latency_frames, ..settings };
            recorder.begin_events(&settings).map(|(input, take)| (Input::Events(input), take))
        } else {
            let settings = TakeSettings {
                format: format_of(file),
                start_frame: recorded.start_frame,
                latency_frames: aligned.late_frames,
                dropped_frames: aligned.frames,
                ..TakeSettings::new(file, rate_hz, usize::from(take_of.channels))
            };
            recorder.begin(&settings).map(|(input, take)| (Input::Audio(input), take))
        };
        let (input, take) = begun.map_err(Failure::not_possible)?;
        let (take_of, span) = (take_of.clone(), aligned.span(recorded.frames));
        Ok(Running { take_of, aligned, span, output, input, take })
    }

    /// Ends a take that has got nothing, and removes its files.
    pub(super) fn discard(self) {
        let Running { take_of, input, take, .. } = self;
        // The end of the input is the end of the take.
        drop(input);
        let Ok(report) = take.finish(PATIENCE) else { return };
        // One that somebody has moved or replaced stays.
        if report.frames > 0 || report.error.is_some() {
            return;
        }
        let _ = std::fs::remove_file(&report.path);
        if !take_of.is_notes() {
            let _ = std::fs::remove_file(manifest(&report.path));
        }
    }

    /// The song has ended, and had so many frames.
    pub(super) fn end_song(&mut self, frames: u64) {
        self.span.end_at(frames + self.aligned.more_frames());
    }

    /// So many frames never came from the device. Thread: leader, between blocks.
    pub(super) fn miss(&mut self, frames: u64) {
        match &mut self.input {
            _ if !self.take_of.is_live || !self.span.is_open() => {}
            Input::Audio(input) => input.miss(frames),
            Input::Events(input) => input.miss(frames),
        }
    }

    /// Thread: leader, between blocks. No allocation, lock or system call, unless the take may wait.
    pub(super) fn note(&mut self, block: &Block<'_>) {
        let (engine, frames) = (block.engine, block.frames.clone());
        match &mut self.input {
            Input::Events(input) => {
                let Some(events) = engine.output_events(self.output) else { return };
                let song_frame = song_frame(engine, frames.start as u32);
                let frames = frames.start as u32..frames.end as u32;
                input.write_waiting(events, frames, song_frame, block.patience);
            }
            Input::Audio(input) => {
                let rows = engine.output_rows(self.output, frames.end);
                let Some(rows) = rows else { return };
                let mut all: [&[f32]; Ports::MOST as usize] = [&[]; _];
                // Rows of the node's side chain lie behind the main ones, and are not what it puts out.
                let main = usize::from(self.take_of.channels.min(Ports::MOST));
                let all = &mut all[..rows.len().min(main)];
                let from = frames.start;
                all.iter_mut().enumerate().for_each(|(row, all)| *all = &rows.row(row)[from..]);
                if all.is_empty() {
                    return;
                }
                if block.patience.is_zero() {
                    input.write(all);
                } else {
                    input.write_waiting(all, block.patience);
                }
            }
        }
    }
}

/// Where the song was at a frame of the last block.
fn song_frame(engine: &Engine, frame: u32) -> i64 {
    let segment = engine.segments().iter().rfind(|segment| segment.offset <= frame);
    segment.map_or(0, |segment| {
        let further = if segment.playing { i64::from(frame - segment.offset) } else { 0 };
        segment.position + further
    })
}

fn format_of(path: &Path) -> TakeFormat {
    match FileFormat::of(path) {
        Some(FileFormat::Flac) => TakeFormat::Flac24,
        _ => TakeFormat::Wav(WavFormat::Float32),
    }
}
