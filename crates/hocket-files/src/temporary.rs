//! The folder for temporary files that may be large.

use std::path::{Path, PathBuf};

/// Where large temporary files are made if the usual folder is held in memory.
pub const ON_DISK: &str = "/var/tmp";

/// File systems that are held in memory, by the numbers that the system's kernel has for them (statfs(2)): tmpfs and ramfs.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// The folder for temporary files ([`std::env::temp_dir`]), or [`ON_DISK`] where that folder is held in memory and this one is not.
///
/// Thread: control. Cost: one or two system calls.
pub fn folder_on_disk() -> PathBuf {
    let (temporary, on_disk) = (std::env::temp_dir(), Path::new(ON_DISK));
    match (is_in_memory(&temporary), is_in_memory(on_disk)) {
        (Some(true), Some(false)) => on_disk.to_path_buf(),
        _ => temporary,
    }
}

/// Whether nothing of a folder reaches a disk; `None` where the system does not say.
fn is_in_memory(folder: &Path) -> Option<bool> {
    let found = rustix::fs::statfs(folder).ok()?;
    // The number has 32 bits, in a field that is longer on most machines, and signed on some.
    Some(IN_MEMORY.contains(&(found.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_memory_are_known() {
        // Linux has it on every machine that has shared memory.
        let shared = Path::new("/dev/shm");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let is_tmpfs = mounts.lines().any(|line| {
            let mut words = line.split(' ').skip(1);
            words.next() == Some("/dev/shm") && words.next() == Some("tmpfs")
        });
        if is_tmpfs {
            assert_eq!(is_in_memory(shared), Some(true));
        }
        assert_eq!(is_in_memory(Path::new("/proc")), Some(false));
        assert_eq!(is_in_memory(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn there_is_a_folder() {
        let folder = folder_on_disk();
        assert!(folder == std::env::temp_dir() || folder == Path::new(ON_DISK));
    }
}
