//! The files of `--stems`: one for each of several names, in a folder.

use std::path::{Path, PathBuf};

use hocket_files::target_of;
use hocket_lab::foreign::is_hidden;
use hocket_lab::numbers::counted;
use hocket_media::FileFormat;

use crate::failure::Failure;
use crate::files::{Files, Kind, check_writable};

/// Bytes of a name, so that the names of parts fit, too.
const LONGEST_NAME: usize = 120;
/// What file systems or other systems give a meaning.
const SPECIAL: &str = "/\\:*?\"<>|";

/// A file for each name; without `--stems` there is none.
#[derive(Debug, Default)]
pub(crate) struct StemFiles {
    /// Where they lie.
    folder: Option<PathBuf>,
    paths: Vec<PathBuf>,
}

impl StemFiles {
    /// One for each name.
    pub fn of<'a>(
        folder: &Path,
        names: impl Iterator<Item = &'a str>,
        format: FileFormat,
    ) -> StemFiles {
        let ending = if format == FileFormat::Flac { "flac" } else { "wav" };
        let path = |name: String| folder.join(format!("{name}.{ending}"));
        let paths = file_names(names).into_iter().map(path).collect();
        StemFiles { folder: Some(folder.into()), paths }
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
        // A link that leads nowhere names the folder that is made.
        let made =
            target_of(folder).and_then(|target| std::fs::create_dir(&target).map(|()| target));
        let made = made.map_err(|error| {
            let folder = folder.display();
            Failure::not_possible(format!("--stems {folder}: the folder cannot be made: {error}"))
        })?;
        Ok(NewFolder(Some(made)))
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// For people, after they were written; `None` without any.
    pub fn line(&self) -> Option<String> {
        let stems = counted(self.paths.len(), "stem");
        Some(format!("wrote {stems} to {}", self.folder.as_ref()?.display()))
    }
}

/// A folder that was made for stems. If nothing is in it in the end, it goes again.
pub(crate) struct NewFolder(Option<PathBuf>);

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
}
