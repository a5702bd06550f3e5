//! Whether other machines may write a file, too.
//!
//! SQLite keeps writers apart by locks of files. Those of network file systems are known to fail, and then two runs damage
//! the file (sqlite.org: "SQLite Over a Network", "How To Corrupt An SQLite Database File"). Besides, Linux turns flock(2)
//! into the locks of fcntl(2) there, which SQLite needs: a run that holds the first kind keeps itself from the second.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// File systems that are on another machine, as the kernel calls them.
const REMOTE: [&str; 12] = [
    "9p", "afs", "ceph", "cifs", "davfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "vboxsf",
    "virtiofs",
];

/// Programs behind FUSE that show a disk of this machine. Of others nobody knows.
const LOCAL_FUSE: [&str; 3] = ["fuse.exfat", "fuse.fuse-overlayfs", "fuse.ntfs-3g"];

/// The file system on which a file lies, or would lie, if other machines may write there: `nfs4`, `fuse.sshfs`.
///
/// Thread: control; does file I/O.
pub fn shared_on(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find_map(|at| at.metadata().ok())?;
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let mounts = String::from_utf8_lossy(&mounts);
    kind_of(&mounts, there.dev()).filter(|kind| is_shared(kind)).map(Into::into)
}

/// The kind of the file system with this device number (proc(5), mountinfo).
fn kind_of(mounts: &str, device: u64) -> Option<&str> {
    let kind = |line| {
        let (mount, source): (&str, &str) = str::split_once(line, " - ")?;
        let (major, minor) = mount.split(' ').nth(2)?.split_once(':')?;
        let found = number(major.parse().ok()?, minor.parse().ok()?);
        source.split(' ').next().filter(|_| found == device)
    };
    mounts.lines().find_map(kind)
}

/// As stat(2) tells a device (makedev(3)).
fn number(major: u64, minor: u64) -> u64 {
    let (low, high) = ((major & 0xfff) << 8 | minor & 0xff, (major & !0xfff) << 32);
    high | (minor & !0xff) << 12 | low
}

/// `fuseblk`, which has a disk of this machine, is not.
fn is_shared(kind: &str) -> bool {
    let by_fuse = kind == "fuse" || kind.starts_with("fuse.");
    REMOTE.contains(&kind) || by_fuse && !LOCAL_FUSE.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
28 27 0:291 / /home rw,relatime shared:3 master:2 - nfs4 files:/home rw,vers=4.2
a line that is broken
29 27 0:45 / /mnt/with\\040space rw - fuse.sshfs me@there: rw
";

    #[test]
    fn a_device_is_found_among_the_mounts() {
        let kind = |major, minor| kind_of(MOUNTS, number(major, minor));
        assert_eq!(kind(254, 0), Some("ext4"));
        assert_eq!(kind(0, 291), Some("nfs4"));
        assert_eq!(kind(0, 45), Some("fuse.sshfs"));
        assert_eq!(kind(8, 1), None);
        // As the C library computes them.
        assert_eq!(
            [number(254, 0), number(0, 291), number(4096, 1)],
            [65024, 0x100023, 1 << 44 | 1]
        );
    }

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        for kind in ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "fuse.sshfs"] {
            assert!(is_shared(kind), "{kind}");
        }
        for kind in [
            "ext4",
            "btrfs",
            "xfs",
            "tmpfs",
            "overlay",
            "fuseblk",
            "fusectl",
            "fuse.fuse-overlayfs",
        ] {
            assert!(!is_shared(kind), "{kind}");
        }
    }

    #[test]
    fn what_is_not_there_yet_lies_on_the_file_system_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("none/deep/lab.sqlite");
        assert_eq!(shared_on(&new), shared_on(folder.path()));
        assert_eq!(shared_on(Path::new("/proc/none")), None);
    }
}
