//! Files that appear whole or not at all.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::WriteError;

/// A file that is written under a temporary name beside its target and takes the target's name
/// on [`AtomicFile::commit`]. Dropped before that, it removes itself.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    /// `None` once committed.
    file: Option<File>,
}

/// Makes temporary names unique within the process. Relaxed: only uniqueness matters, nothing is
/// published with it.
static SERIAL: AtomicU32 = AtomicU32::new(0);

impl AtomicFile {
    /// Creates the temporary file. Refuses targets that a rename could not or should not replace.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let target = resolve(path)?;
        let Some(name) = target.file_name() else {
            return Err(WriteError::refused(path, "it has no file name", "add a file name"));
        };
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{serial}.part", std::process::id()));
        let temporary = target.with_file_name(hidden);
        let file = OpenOptions::new().write(true).read(true).create_new(true).open(&temporary);
        let file = file.map_err(|error| WriteError::io(path, error))?;
        Ok(Self { target, temporary, file: Some(file) })
    }

    /// The open file.
    pub fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }

    /// Puts the content on the disk and then under its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file()?.sync_all()?;
        std::fs::rename(&self.temporary, &self.target)?;
        self.file = None;
        sync_folder(&self.target);
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nobody is left to tell: the error that led here has been reported already.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Follows links, so that a link's target is replaced and not the link itself.
fn resolve(path: &Path) -> Result<PathBuf, WriteError> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(path.into());
    };
    if metadata.is_dir() {
        let cause = "a folder has this name";
        return Err(WriteError::refused(path, cause, "choose another file name"));
    }
    if !metadata.is_file() {
        let cause = "it is a pipe, socket or device";
        return Err(WriteError::refused(path, cause, "write to a regular file and copy it there"));
    }
    path.canonicalize().map_err(|error| WriteError::io(path, error))
}

/// Makes the new name itself survive a power cut. Not every file system can; the content is
/// safe in either case, so a failure is no error.
fn sync_folder(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}
