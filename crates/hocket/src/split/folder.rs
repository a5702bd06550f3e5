//! The folder of the new files, in which only Hocket's own are replaced.

use std::fs::DirEntry;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use hocket_files::{OutputFile, dead_parts_in};

use crate::failure::Failure;
use crate::files::{Files, remove_dead_parts_of};
use crate::output::{note, tell};

/// How each file begins that this command has written.
pub(super) const MARK: &str = "# Written by hocket split";
/// How a script begins, before [`MARK`].
pub(super) const SHELL: &str = "#!/bin/sh\n";
/// The name of the table of connections.
pub(super) const CONNECTIONS: &str = "connections.txt";

pub(super) struct Folder {
    path: PathBuf,
    /// What an earlier run has written.
    own: Vec<PathBuf>,
}

impl Folder {
    /// Looks at what is in the folder, if it is there. What an earlier run has written counts as an output of `files`,
    /// because it is replaced or removed.
    ///
    /// # Errors
    /// It cannot be read; it has a file that this command has not written, or that is an input: nothing is changed.
    pub(super) fn look(path: &Path, files: &mut Files) -> Result<Folder, Failure> {
        let mut folder = Folder { path: path.to_owned(), own: Vec::new() };
        if !path.exists() {
            return Ok(folder);
        }
        if !path.is_dir() {
            return Err(Failure::bad_input(format!(
                "--output {}: this is no folder, and nothing was changed; name a folder",
                path.display()
            )));
        }
        // What a killed cut left is nobody's, and would keep this one out.
        let dead = dead_parts_in(path).into_iter().map(|part| part.target);
        dead.filter(|target| has_own_name(target)).for_each(|target| remove_dead_parts_of(&target));
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<_>>);
        let entries: Vec<DirEntry> = entries.map_err(|error| folder.failed(&error))?;
        folder.own = entries.iter().map(DirEntry::path).collect();
        // First of all, because an input is somebody's work even with the mark.
        let named = folder.own.iter().filter(|file| has_own_name(file));
        named.into_iter().try_for_each(|file| files.adds_to("--output", file))?;
        match folder.own.iter().find(|file| !has_own_name(file) || !is_marked(file)) {
            None => Ok(folder),
            Some(foreign) => Err(Failure::bad_input(format!(
                "--output {}: the folder has {}, which hocket split has not written, and nothing was changed; name \
                 a new folder",
                path.display(),
                foreign.file_name().unwrap_or_default().display()
            ))),
        }
    }

    /// Makes the folder, if it is not there. Its path without links.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn make(&self) -> Result<PathBuf, Failure> {
        let made = std::fs::create_dir_all(&self.path).and_then(|()| self.path.canonicalize());
        made.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        let path = self.path.display();
        Failure::not_possible(format!("--output {path}: {error}; name another folder"))
    }

    /// Writes all files, each whole or not at all, and then removes those of an earlier run that have no successor,
    /// and says which.
    ///
    /// # Errors
    /// The disk is full, or the folder is gone.
    pub(super) fn write(&self, files: &[(String, String)]) -> Result<(), Failure> {
        for (name, text) in files {
            let path = self.path.join(name);
            remove_dead_parts_of(&path);
            let written = OutputFile::create(&path).and_then(|mut file| {
                file.file().write_all(text.as_bytes())?;
                file.commit()
            });
            written.map_err(|error| {
                Failure::not_possible(format!(
                    "{}: {error}; free some space, or name another folder",
                    path.display()
                ))
            })?;
            crate::written::wrote(&path);
        }
        let has_successor = |old: &PathBuf| files.iter().any(|(name, _)| old.ends_with(name));
        for old in self.own.iter().filter(|old| !has_successor(old)) {
            match std::fs::remove_file(old) {
                Ok(()) => note(format_args!("removed {}, of an earlier cut", old.display())),
                // It does no harm: connections.txt says which parts there are.
                Err(error) => tell(format_args!(
                    "warning: {}: {error}; it is of an earlier cut, so remove it by hand",
                    old.display()
                )),
            }
        }
        Ok(())
    }
}

/// Whether this command writes files of this name: `part-N.toml`, `host-N.sh`, `connections.txt`. A copy under another name
/// is somebody's work, although it has the mark.
fn has_own_name(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let part = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".toml"));
    let script = name.strip_prefix("host-").and_then(|rest| rest.strip_suffix(".sh"));
    let is_number = |text: &str| text.parse().is_ok_and(|host: usize| host.to_string() == text);
    name == CONNECTIONS || part.or(script).is_some_and(is_number)
}

/// Whether a regular file begins with [`MARK`]. A link does not count, nor what it leads to.
pub(super) fn is_marked(file: &Path) -> bool {
    // A pipe must not be opened: that waits for its writer.
    if !std::fs::symlink_metadata(file).is_ok_and(|there| there.is_file()) {
        return false;
    }
    let mut begin = Vec::new();
    let most = (SHELL.len() + MARK.len()) as u64;
    let read = std::fs::File::open(file).and_then(|it| it.take(most).read_to_end(&mut begin));
    let text = begin.strip_prefix(SHELL.as_bytes()).unwrap_or(&begin);
    read.is_ok() && text.starts_with(MARK.as_bytes())
}
