//! The folder of the new files, in which only Hocket's own are replaced.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;

use crate::failure::Failure;

/// How each file begins that this command has written.
pub(super) const MARK: &str = "# Written by hocket split";
/// How a script begins, before [`MARK`].
pub(super) const SHELL: &str = "#!/bin/sh\n";

pub(super) struct Folder {
    path: PathBuf,
    whole: PathBuf,
    /// What an earlier run has written.
    own: Vec<PathBuf>,
}

impl Folder {
    /// Makes the folder, or looks at what is in it.
    ///
    /// # Errors
    /// It cannot be made or read; it has a file that this command has not written.
    pub(super) fn open(path: &Path) -> Result<Folder, Failure> {
        let failed = |error: std::io::Error| {
            Failure::not_possible(format!(
                "--output {}: {error}; name another folder",
                path.display()
            ))
        };
        if path.exists() && !path.is_dir() {
            return Err(Failure::bad_input(format!(
                "--output {}: this is no folder, and nothing was changed; name a folder",
                path.display()
            )));
        }
        std::fs::create_dir_all(path).map_err(failed)?;
        let mut own = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if !is_own(&file) {
                return Err(Failure::bad_input(format!(
                    "--output {}: the folder has {}, which hocket split has not written, and nothing was changed; name \
                     a new folder",
                    path.display(),
                    file.file_name().unwrap_or_default().display()
                )));
            }
            own.push(file);
        }
        let whole = path.canonicalize().map_err(failed)?;
        Ok(Folder { path: path.to_owned(), whole, own })
    }

    /// Its path without links.
    pub(super) fn whole(&self) -> &Path {
        &self.whole
    }

    /// Writes all files, each whole or not at all, and then removes those of an earlier run that have no successor.
    ///
    /// # Errors
    /// The disk is full, or the folder is gone.
    pub(super) fn write(&self, files: &[(String, String)]) -> Result<(), Failure> {
        for (name, text) in files {
            let path = self.path.join(name);
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
            // What cannot be removed is no harm: connections.txt says which parts there are.
            let _ = std::fs::remove_file(old);
        }
        Ok(())
    }
}

fn is_own(file: &Path) -> bool {
    let mut begin = String::new();
    let read = std::fs::File::open(file)
        .and_then(|it| it.take((SHELL.len() + MARK.len()) as u64).read_to_string(&mut begin));
    file.is_file() && read.is_ok() && begin.strip_prefix(SHELL).unwrap_or(&begin).starts_with(MARK)
}
