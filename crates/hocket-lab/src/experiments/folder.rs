//! The folder for files of experiments, and the file system on which it is.
//!
//! The user chooses it (`hocket lab run --folder`); else it is that for temporary files, or `/var/tmp` where that one is held
//! in memory. Each run makes a folder of its own in it, which goes with the run.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hocket_files::{ScratchFolder, folder_on_disk, remove_dead_folders};

use crate::harness::Fault;

/// What the names of the folders begin with.
pub const FILES_PREFIX: &str = "hocket-lab-files-";

/// The experiments that make files here.
pub const USED_BY: [&str; 3] = ["aim9", "fileserver", "smt-load"];

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// From now on files are made in this folder; once a process. Removes folders that killed runs left there, and returns which.
///
/// # Errors
/// It is no folder, or nothing can be made in it.
pub fn ask_for(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let removed = remove_dead_folders(folder, FILES_PREFIX);
    make_in(folder)?;
    // A second one in the same process is not asked for by anybody.
    let _ = CHOSEN.set(folder.to_path_buf());
    Ok(removed)
}

/// Where folders are made.
pub fn below() -> PathBuf {
    CHOSEN.get().cloned().unwrap_or_else(folder_on_disk)
}

/// A new folder for this run.
///
/// # Errors
/// With what helps.
pub(super) fn make() -> Result<ScratchFolder, Fault> {
    make_in(&below())
}

pub(super) fn make_in(below: &Path) -> Result<ScratchFolder, Fault> {
    ScratchFolder::create(below, FILES_PREFIX).map_err(|error| refused(below, &error))
}

/// What a file's error says, with what helps.
pub(super) fn refused(path: &Path, why: &dyn std::fmt::Display) -> Fault {
    Fault(format!(
        "{}: {why}; files need some MB that can be written; --folder or TMPDIR names another folder",
        path.display()
    ))
}

/// A file system, as the system's kernel tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSystem {
    /// `ext4`.
    pub kind: String,
    /// `/dev/vda1`.
    pub device: String,
    /// `rw,relatime`.
    pub options: String,
}

impl FileSystem {
    /// On which this folder is; `None` where the system does not say.
    pub(super) fn of(folder: &Path) -> Option<FileSystem> {
        let device = std::fs::metadata(folder).ok()?.dev();
        let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
        FileSystem::in_mounts(&String::from_utf8_lossy(&mounts), device, folder)
    }

    /// By the number of the device; where the kernel hides it behind another (btrfs), by the longest path.
    fn in_mounts(mounts: &str, device: u64, folder: &Path) -> Option<FileSystem> {
        let lines = || mounts.lines().filter_map(Mount::parse);
        let same = lines().find(|mount| mount.device == device);
        let above = lines().filter(|mount| folder.starts_with(mount.point));
        let longest = || above.max_by_key(|mount| mount.point.len());
        same.or_else(longest).map(|mount| mount.file_system)
    }

    /// Whether nothing of it reaches a disk.
    pub(super) fn is_in_memory(&self) -> bool {
        ["tmpfs", "ramfs"].contains(&self.kind.as_str())
    }
}

/// `ext4 on /dev/vda1 (rw,relatime)`.
impl std::fmt::Display for FileSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ({})", self.kind, self.device, self.options)
    }
}

/// The name of the file system for a record.
pub(super) fn file_system_told(folder: &Path) -> String {
    FileSystem::of(folder)
        .map_or_else(|| "a file system without a name".into(), |it| it.to_string())
}

/// A line of /proc/self/mountinfo (proc(5)).
struct Mount<'a> {
    device: u64,
    point: &'a str,
    file_system: FileSystem,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (mount, source) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let (major, minor) = mount.next()?.split_once(':')?;
        let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        let (_root, point, options) = (mount.next()?, mount.next()?, mount.next()?);
        let mut source = source.split(' ');
        let (kind, from) = (source.next()?, source.next()?);
        let file_system =
            FileSystem { kind: kind.into(), device: from.into(), options: options.into() };
        Some(Mount { device, point, file_system })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 0:30 / /tmp rw,nosuid - tmpfs tmpfs rw
31 27 0:44 / /data rw,noatime - btrfs /dev/vdb rw";

    fn told(device: u64, folder: &str) -> Option<String> {
        FileSystem::in_mounts(MOUNTS, device, Path::new(folder)).map(|it| it.to_string())
    }

    #[test]
    fn file_systems_are_named_by_device_or_by_path() {
        let number = rustix::fs::makedev;
        assert_eq!(told(number(254, 0), "/srv").unwrap(), "ext4 on /dev/vda (rw,relatime)");
        assert_eq!(told(number(0, 30), "/tmp").unwrap(), "tmpfs on tmpfs (rw,nosuid)");
        // A device of its own for each subvolume.
        assert_eq!(told(number(0, 99), "/data/a").unwrap(), "btrfs on /dev/vdb (rw,noatime)");
        let memory = |device| FileSystem::in_mounts(MOUNTS, device, Path::new("/")).unwrap();
        assert!(memory(number(0, 30)).is_in_memory() && !memory(number(254, 0)).is_in_memory());
        assert_eq!(FileSystem::in_mounts("", 1, Path::new("/")), None);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_refused_with_what_helps() {
        let chosen = tempfile::tempdir().unwrap();
        let nowhere = ask_for(&chosen.path().join("nowhere")).unwrap_err();
        assert!(nowhere.0.contains("nowhere") && nowhere.0.contains("--folder"), "{nowhere}");
        let file = chosen.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(ask_for(&file).is_err());
        assert!(make_in(chosen.path()).is_ok());
        assert!(below().is_dir());
    }
}
