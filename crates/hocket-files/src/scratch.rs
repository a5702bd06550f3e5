//! Folders that last as long as a command.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder with a name of its own, which goes with this value and all that is in it.
///
/// It is locked for so long, so a folder without a lock belongs to nobody: [`remove_dead_folders`].
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    /// Whether it stays, under this name or another.
    kept: bool,
    _lock: File,
}

/// Makes names unique within the process. Relaxed: only uniqueness matters, nothing is published with it.
static SERIAL: AtomicU32 = AtomicU32::new(0);

impl ScratchFolder {
    /// Makes one in the folder `below`, for this user only. Its name begins with `prefix`.
    ///
    /// # Errors
    /// The folder is missing or may not be written to.
    pub fn create(below: &Path, prefix: &str) -> io::Result<Self> {
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let path = below.join(format!("{prefix}{}-{serial}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                // A killed process with this number left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            // Before it is locked, another process may take it for dead and remove it.
            let Ok(lock) = File::open(&path) else { continue };
            // Not every file system has locks; without one nobody takes this folder for a dead one either.
            let _ = lock.lock();
            if is_at(&lock, &path) {
                return Ok(Self { path, kept: false, _lock: lock });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It stays: it has another name now.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody is left who could be told.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Whether the open file has this name.
fn is_at(open: &File, path: &Path) -> bool {
    let same = || {
        let (open, there) = (open.metadata().ok()?, path.symlink_metadata().ok()?);
        Some((open.dev(), open.ino()) == (there.dev(), there.ino()))
    };
    same() == Some(true)
}

/// Removes the folders of this `prefix` that killed processes left in `below`; returns which.
pub fn remove_dead_folders(below: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        rest.is_some_and(crate::output::are_numbers)
            && entry.file_type().is_ok_and(|what| what.is_dir())
    });
    ours.map(|entry| entry.path()).filter(|path| remove_dead(path)).collect()
}

/// Whether nobody held its lock, and it is gone. The lock is held until then, so nobody can take the folder meanwhile.
fn remove_dead(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder) else { return false };
    lock.try_lock().is_ok() && is_at(&lock, folder) && std::fs::remove_dir_all(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_without_an_owner_are_removed() {
        let below = tempfile::tempdir().unwrap();
        let alive = ScratchFolder::create(below.path(), "hocket-test-").unwrap();
        std::fs::write(alive.path().join("audio"), "sound").unwrap();
        let dead = below.path().join("hocket-test-1234-0");
        let others = ["hocket-test-mine", "hocket-test-1-", "other-1234-0"];
        for name in others.iter().copied().chain(["hocket-test-1234-0/deep"]) {
            std::fs::create_dir_all(below.path().join(name)).unwrap();
        }
        let link = below.path().join("hocket-test-1-1");
        std::os::unix::fs::symlink(below.path().join("other-1234-0"), &link).unwrap();
        assert_eq!(remove_dead_folders(below.path(), "hocket-test-"), [dead]);
        assert!(alive.path().join("audio").exists() && link.symlink_metadata().is_ok());
        assert!(others.iter().all(|name| below.path().join(name).exists()));
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_kept_stays() {
        let below = tempfile::tempdir().unwrap();
        let folder = ScratchFolder::create(below.path(), "x-").unwrap();
        std::fs::rename(folder.path(), below.path().join("named")).unwrap();
        folder.keep();
        assert!(below.path().join("named").is_dir());
        assert!(ScratchFolder::create(&below.path().join("none"), "x-").is_err());
    }
}
