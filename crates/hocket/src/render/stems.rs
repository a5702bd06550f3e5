//! `--stems`: a file for each strip beside the master, as long as the mix and in time with it.

use std::path::Path;

use hocket_engine::Engine;
use hocket_media::FileFormat;
use hocket_plan::Session;
use hocket_plan::session::{StripId, TakeFrom, Tap};

use super::writing::Piece;
use crate::failure::Failure;
use crate::files::Files;
use crate::stem_files::{NewFolder, StemFiles};

/// The stems of a render; without `--stems` there are none.
#[derive(Debug, Default)]
pub(super) struct Stems {
    files: StemFiles,
    /// One for each file.
    strips: Vec<StripId>,
}

impl Stems {
    /// One for each track, group and return.
    pub fn of(folder: Option<&Path>, session: &Session, format: FileFormat) -> Stems {
        let Some(folder) = folder else { return Stems::default() };
        let strips = session.strip_ids().into_iter().filter(|id| *id != StripId::Master);
        let strips: Vec<StripId> = strips.collect();
        let names = strips.iter().map(|id| session.strip(*id).name.as_str());
        Stems { files: StemFiles::of(folder, names, format), strips }
    }

    /// As [`StemFiles::check`].
    pub fn check(&self, files: &mut Files) -> Result<(), Failure> {
        self.files.check(files)
    }

    /// As [`StemFiles::make_folder`].
    pub fn make_folder(&self) -> Result<NewFolder, Failure> {
        self.files.make_folder()
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.paths()
    }

    /// What the files hold.
    pub fn taps(&self) -> impl Iterator<Item = TakeFrom> {
        self.strips.iter().map(|strip| TakeFrom::Strip(*strip, Tap::PostFader))
    }

    /// For people, after they were written; `None` without any.
    pub fn line(&self) -> Option<String> {
        self.files.line()
    }
}

/// Where the rows of each file come from: the master first, then the stems.
pub(super) struct Sources(Vec<Aligned>);

/// An output of the engine that arrives early waits for the master.
struct Aligned {
    output: usize,
    lines: [Line; 2],
}

impl Sources {
    /// `first`: the engine's output of the first stem.
    pub fn new(engine: &Engine, first: usize, stems: &Stems) -> Sources {
        let latencies = engine.output_latencies();
        let of = |output: usize| latencies.get(output).copied().unwrap_or(0);
        let aligned = |output| {
            let early = of(0).saturating_sub(of(output)) as usize;
            Aligned { output, lines: [Line::of(early), Line::of(early)] }
        };
        Sources(std::iter::once(0).chain(first..first + stems.strips.len()).map(aligned).collect())
    }

    /// Appends the last block to a piece, without its first `skipped` frames.
    pub fn take(&mut self, engine: &Engine, frames: usize, skipped: usize, piece: &mut Piece) {
        for (source, file) in self.0.iter_mut().zip(&mut piece.files) {
            let Some(rows) = engine.output_rows(source.output, frames) else { continue };
            for (channel, (line, out)) in source.lines.iter_mut().zip(file).enumerate() {
                let begun = out.len();
                match rows.len() {
                    0 => out.resize(begun + frames, 0.0),
                    count => line.pass(rows.row(channel.min(count - 1)), out),
                }
                out.drain(begun..begun + skipped);
            }
        }
    }
}

/// A delay of some frames.
struct Line {
    waiting: Vec<f32>,
    /// The oldest frame.
    oldest: usize,
}

impl Line {
    fn of(frames: usize) -> Line {
        Line { waiting: vec![0.0; frames], oldest: 0 }
    }

    /// Appends as many frames to `out` as `row` brings.
    fn pass(&mut self, row: &[f32], out: &mut Vec<f32>) {
        if self.waiting.is_empty() {
            return out.extend_from_slice(row);
        }
        for &sample in row {
            out.push(std::mem::replace(&mut self.waiting[self.oldest], sample));
            self.oldest = (self.oldest + 1) % self.waiting.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_early_waits() {
        let (mut line, mut out) = (Line::of(3), Vec::new());
        line.pass(&[1.0, 2.0], &mut out);
        line.pass(&[3.0, 4.0, 5.0, 6.0], &mut out);
        assert_eq!(out, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    }
}
