//! A file that is whole when it gets its name, and takes nobody else's.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::StoreError;

/// A file that is being written beside its place. Dropped unfinished, it is gone.
#[derive(Debug)]
pub struct NewFile {
    out: PathBuf,
    temporary: NamedTempFile,
}

impl NewFile {
    /// Begins a file that is to be named `out`; makes the folder where there is none.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or why nothing can be written there.
    pub fn beside(out: &Path) -> Result<NewFile, StoreError> {
        if out.symlink_metadata().is_ok() {
            return Err(StoreError::Exists { path: out.into() });
        }
        super::make_folder(out)?;
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let temporary = tempfile::Builder::new()
            .prefix(".hocket-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|cause| failed(out, cause))?;
        Ok(NewFile { out: out.into(), temporary })
    }

    /// Where it is until it is finished.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// The file, to be written from its beginning.
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Writes `text` and nothing else.
    ///
    /// # Errors
    /// [`StoreError`]; there is no file then.
    pub fn finish_with(self, text: &str) -> Result<(), StoreError> {
        self.file().write_all(text.as_bytes()).map_err(|cause| failed(&self.out, cause))?;
        self.finish()
    }

    /// Gives it its name once all of it is on the disk.
    ///
    /// # Errors
    /// [`StoreError`], also where somebody else took the name meanwhile; there is no file then.
    pub fn finish(self) -> Result<(), StoreError> {
        let NewFile { out, temporary } = self;
        temporary.as_file().sync_all().map_err(|cause| failed(&out, cause))?;
        let named = temporary.persist_noclobber(&out);
        named.map(drop::<File>).map_err(|error| failed(&out, error.error))
    }
}

/// What the system said about writing `out`.
pub(super) fn failed(out: &Path, cause: std::io::Error) -> StoreError {
    match cause.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Exists { path: out.into() },
        std::io::ErrorKind::StorageFull => StoreError::Full { path: out.into() },
        _ => StoreError::Write { path: out.into(), cause: cause.to_string() },
    }
}
