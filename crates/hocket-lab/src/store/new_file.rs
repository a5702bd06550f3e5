//! A file that is whole when it gets its name, and takes nobody else's.

use std::io::Write;
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;

use super::StoreError;

/// A file that is being written beside its place. Dropped unfinished, it is gone.
#[derive(Debug)]
pub struct NewFile {
    out: PathBuf,
    file: OutputFile,
}

impl NewFile {
    /// Refuses a name that something has.
    ///
    /// # Errors
    /// [`StoreError::Exists`].
    pub fn check(out: &Path) -> Result<(), StoreError> {
        match out.symlink_metadata() {
            Ok(_) => Err(StoreError::Exists { path: out.into() }),
            Err(_) => Ok(()),
        }
    }

    /// Begins a file that is to be named `out`; makes the folder where there is none.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or why nothing can be written there.
    pub fn beside(out: &Path) -> Result<NewFile, StoreError> {
        NewFile::check(out)?;
        super::make_folder(out)?;
        let file = OutputFile::create(out).map_err(|cause| failed(out, cause))?;
        Ok(NewFile { out: out.into(), file })
    }

    /// Where it is until it is finished.
    pub fn path(&self) -> &Path {
        self.file.part().unwrap_or(&self.out)
    }

    /// Adds `text`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn add(&mut self, text: &str) -> Result<(), StoreError> {
        self.file.file().write_all(text.as_bytes()).map_err(|cause| failed(&self.out, cause))
    }

    /// Gives it its name once all of it is on the disk.
    ///
    /// # Errors
    /// [`StoreError`], also where somebody else took the name meanwhile; there is no file then.
    pub fn finish(self) -> Result<(), StoreError> {
        let NewFile { out, file } = self;
        file.commit_new().map_err(|error| failed(&out, error))
    }
}

/// What the system said about writing `out`.
fn failed(out: &Path, cause: std::io::Error) -> StoreError {
    match cause.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Exists { path: out.into() },
        std::io::ErrorKind::StorageFull => StoreError::Full { path: out.into() },
        _ => StoreError::Write { path: out.into(), cause: cause.to_string() },
    }
}
