//! `--stems`: a file for each strip beside the master, as long as the mix and in time with it.

use std::path::{Path, PathBuf};

use hocket_engine::Engine;
use hocket_lab::foreign::is_hidden;
use hocket_media::FileFormat;
use hocket_plan::Session;
use hocket_plan::session::{StripId, TakeFrom, Tap};

use super::writing::Piece;
use crate::failure::Failure;
use crate::files::{Files, Kind, check_writable};

/// Bytes of a name, so that the names of parts fit, too.
const LONGEST_NAME: usize = 120;
/// What file systems or other systems give a meaning.
const SPECIAL: &str = "/\\:*?\"<>|";

/// The stems of a render; without `--stems` there are none.
#[derive(Debug, Default)]
pub(super) struct Stems {
    /// Where they lie.
    folder: Option<PathBuf>,
    all: Vec<Stem>,
}

#[derive(Debug)]
struct Stem {
    strip: StripId,
    path: PathBuf,
}

impl Stems {
    /// One for each track, group and return.
    pub fn of(folder: Option<&Path>, session: &Session, format: FileFormat) -> Stems {
        let Some(folder) = folder else { return Stems::default() };
        let ending = if format == FileFormat::Flac { "flac" } else { "wav" };
        let strips = session.strip_ids().into_iter().filter(|id| *id != StripId::Master);
        let strips: Vec<StripId> = strips.collect();
        let names = file_names(strips.iter().map(|id| session.strip(*id).name.as_str()));
        let stem = |(strip, name)| Stem { strip, path: folder.join(format!("{name}.{ending}")) };
        let all = strips.into_iter().zip(names).map(stem).collect();
        Stems { folder: Some(folder.into()), all }
    }

    /// Sees that every file can be written.
    ///
    /// # Errors
    /// As [`Files::writes`]; the folder is a file, or cannot be made.
    pub fn check(&self, files: &mut Files) -> Result<(), Failure> {
        let Some(folder) = &self.folder else { return Ok(()) };
        match std::fs::metadata(folder) {
            Ok(there) if there.is_dir() => {
                self.paths().try_for_each(|path| files.writes("--stems", path, Kind::Audio))
            }
            Ok(_) => Err(Failure::bad_input(format!(
                "--stems {}: this is a file; name a folder",
                folder.display()
            ))),
            // It is made when the render begins; nothing can be in it by then.
            Err(_) => check_writable(folder),
        }
    }

    /// Makes the folder, if there is none.
    ///
    /// # Errors
    /// The system refuses: exit code 3.
    pub fn make_folder(&self) -> Result<NewFolder, Failure> {
        let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_dir()) else {
            return Ok(NewFolder(None));
        };
        let made = std::fs::create_dir(folder);
        made.map_err(|error| {
            let folder = folder.display();
            Failure::not_possible(format!("--stems {folder}: the folder cannot be made: {error}"))
        })?;
        Ok(NewFolder(Some(folder.clone())))
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|stem| stem.path.as_path())
    }

    /// What the files hold.
    pub fn taps(&self) -> impl Iterator<Item = TakeFrom> {
        self.all.iter().map(|stem| TakeFrom::Strip(stem.strip, Tap::PostFader))
    }

    /// For people, after they were written; `None` without any.
    pub fn line(&self) -> Option<String> {
        let (folder, count) = (self.folder.as_ref()?.display(), self.all.len());
        let stems = if count == 1 { "1 stem".to_owned() } else { format!("{count} stems") };
        Some(format!("wrote {stems} to {folder}"))
    }
}

/// A folder that was made for stems. If nothing is in it in the end, it goes again.
pub(super) struct NewFolder(Option<PathBuf>);

impl Drop for NewFolder {
    fn drop(&mut self) {
        // The system removes no folder that holds something.
        self.0.iter().for_each(|folder| _ = std::fs::remove_dir(folder));
    }
}

/// A file name for each strip: safe on every system, inside of any folder, and no two alike, in capitals or not.
fn file_names<'a>(strips: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for strip in strips {
        let name = safe(strip);
        let numbered = (1..).map(|number| match number {
            1 => name.clone(),
            _ => format!("{name} {number}"),
        });
        let is_new = |name: &String| !names.iter().any(|other| alike(other, name));
        names.extend(numbered.into_iter().find(is_new));
    }
    names
}

fn alike(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn safe(name: &str) -> String {
    let plain = |c: char| if is_hidden(c) || SPECIAL.contains(c) { '_' } else { c };
    let name: String = name.chars().map(plain).collect();
    let mut name = name.trim().to_owned();
    // Names that begin with a dot are hidden, and `..` is another folder.
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    let end = (0..=LONGEST_NAME.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    name.truncate(end.unwrap_or(0));
    name.trim_end_matches(['.', ' ']).to_owned()
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
        Sources(std::iter::once(0).chain(first..first + stems.all.len()).map(aligned).collect())
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

    fn check(strips: &[&str], names: &[&str]) {
        assert_eq!(file_names(strips.iter().copied()), names);
    }

    #[test]
    fn names_of_files_are_safe_and_different() {
        check(&["Kick", "kick", "KICK 2", "Snare"], &["Kick", "kick 2", "KICK 2 2", "Snare"]);
        check(
            &["..", "../../etc/passwd", "", ".", " a ", "a\0b\n"],
            &["_", "_.._.._etc_passwd", "_ 2", "_ 3", "a", "a_b_"],
        );
        check(&["txt\u{202e}vaw.exe", "\u{1b}[31m"], &["txt_vaw.exe", "_[31m"]);
        check(&["Gitarre/Bass: \"laut\"?"], &["Gitarre_Bass_ _laut__"]);
        let long = "é".repeat(200);
        assert_eq!(file_names([long.as_str()].into_iter()), ["é".repeat(LONGEST_NAME / 2)]);
    }

    #[test]
    fn what_is_early_waits() {
        let (mut line, mut out) = (Line::of(3), Vec::new());
        line.pass(&[1.0, 2.0], &mut out);
        line.pass(&[3.0, 4.0, 5.0, 6.0], &mut out);
        assert_eq!(out, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    }
}
