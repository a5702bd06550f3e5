//! Folders that last as long as a command.
//!
//! Beside a folder lies a file with its name and `.lock`, which its owner holds locked. Locks of files work between
//! hosts that share a folder, those of folders do not. The file says what it is, so a folder that only has such a name
//! belongs to somebody else.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the file beside a folder says, from when it is locked.
const MARK: &str = "hocket scratch folder\n";
const ENDING: &str = ".lock";

/// A new folder with a name of its own, which goes with this value and all that is in it.
///
/// What a killed process left is found by its free lock: [`remove_dead_folders`].
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    /// Whether it stays, under this name or another.
    kept: bool,
    /// Held, and gone with this.
    _lock: Lock,
}

/// The locked file beside a folder. It goes with this value.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
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
            let made = Lock::new(&path).and_then(|lock| {
                DirBuilder::new().mode(0o700).create(&path)?;
                Ok(lock)
            });
            match made {
                Ok(lock) => return Ok(Self { path, kept: false, _lock: lock }),
                // A process with this number left it, or lives on another host.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
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

impl Lock {
    /// Of a folder that is not there yet.
    fn new(folder: &Path) -> io::Result<Lock> {
        let mut name = folder.as_os_str().to_owned();
        name.push(ENDING);
        let path = PathBuf::from(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        // Without the mark nobody takes it for a dead one, so it comes after the lock. A file system without locks gets
        // none, and what is killed there stays.
        let locked = match file.lock() {
            Ok(()) => file.write_all(MARK.as_bytes()),
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
            Err(error) => Err(error),
        };
        let lock = Lock { path, _file: file };
        locked.map(|()| lock)
    }

    /// That of a dead folder: nobody holds it, and it is this user's and says what it is.
    fn of_dead(path: &Path) -> Option<Lock> {
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        file.try_lock().ok()?;
        let (open, there) = (file.metadata().ok()?, path.symlink_metadata().ok()?);
        let user = std::fs::metadata("/proc/self").ok()?.uid();
        let same = (open.dev(), open.ino()) == (there.dev(), there.ino());
        let mut text = String::new();
        (&file).take(2 * MARK.len() as u64).read_to_string(&mut text).ok()?;
        let ours = same && open.is_file() && open.uid() == user && text == MARK;
        ours.then(|| Lock { path: path.into(), _file: file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The folder has gone before. The lock is held until here, so nobody else removes the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes the folders of this `prefix` that killed processes of this user left in `below`; returns which.
pub fn remove_dead_folders(below: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let folder_of = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let folder = name.to_str()?.strip_suffix(ENDING)?;
        let is_ours = folder.strip_prefix(prefix).is_some_and(crate::output::are_numbers);
        (is_ours && entry.file_type().is_ok_and(|what| what.is_file()))
            .then(|| (entry.path(), below.join(folder)))
    };
    let found = entries.filter_map(folder_of);
    found.filter(|(lock, folder)| remove_dead(lock, folder)).map(|(_, folder)| folder).collect()
}

/// Whether the folder belonged to nobody, and is gone.
fn remove_dead(lock: &Path, folder: &Path) -> bool {
    let Some(lock) = Lock::of_dead(lock) else { return false };
    match std::fs::remove_dir_all(folder) {
        Ok(()) => true,
        // Its owner was killed before it made the folder, or after it gave it another name.
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(_) => {
            // The next one tries again.
            std::mem::forget(lock);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_without_an_owner_are_removed() {
        let below = tempfile::tempdir().unwrap();
        let alive = ScratchFolder::create(below.path(), "hocket-test-").unwrap();
        std::fs::write(alive.path().join("audio"), "sound").unwrap();
        let at = |name: &str| below.path().join(name);
        let dead = at("hocket-test-1234-0");
        let others =
            ["hocket-test-2026-08", "hocket-test-2026-09", "hocket-test-mine", "other-1234-0"];
        for name in others.iter().copied().chain(["hocket-test-1234-0/deep"]) {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("hocket-test-1234-0.lock"), MARK).unwrap();
        // Somebody else's file, and a link to a mark.
        std::fs::write(at("hocket-test-2026-08.lock"), "mine").unwrap();
        let link = at("hocket-test-2026-09.lock");
        std::os::unix::fs::symlink(at("hocket-test-1234-0.lock"), &link).unwrap();
        assert_eq!(remove_dead_folders(below.path(), "hocket-test-"), [dead]);
        assert!(!at("hocket-test-1234-0.lock").exists());
        assert!(alive.path().join("audio").exists() && link.symlink_metadata().is_ok());
        assert!(others.iter().all(|name| at(name).exists()));
        assert_eq!(std::fs::read_to_string(at("hocket-test-2026-08.lock")).unwrap(), "mine");
        let (path, lock) = (alive.path().to_owned(), alive._lock.path.clone());
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), MARK);
        drop(alive);
        assert!(!path.exists() && !lock.exists());
    }

    #[test]
    fn a_folder_that_is_kept_stays() {
        let below = tempfile::tempdir().unwrap();
        let folder = ScratchFolder::create(below.path(), "x-").unwrap();
        std::fs::rename(folder.path(), below.path().join("named")).unwrap();
        folder.keep();
        assert!(below.path().join("named").is_dir());
        assert_eq!(std::fs::read_dir(below.path()).unwrap().count(), 1, "without its lock");
        assert!(ScratchFolder::create(&below.path().join("none"), "x-").is_err());
    }
}
