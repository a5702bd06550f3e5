//! Files on real file systems that know no hard links, where this user may mount one.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_files::OutputFile;
use tempfile::TempDir;

/// A file system in a file.
struct Mounted {
    folder: TempDir,
    /// The file as a disk.
    disk: PathBuf,
}

impl Mounted {
    /// `Err` says why there is none here.
    fn new(make: &str, mount: &[&str]) -> Result<Mounted, String> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        ran(&[make], &[&image])?;
        let disk = ran(&["losetup", "--find", "--show"], &[&image])?;
        let mounted = Mounted { folder, disk: disk.into() };
        std::fs::create_dir(mounted.path()).unwrap();
        ran(mount, &[&mounted.disk, &mounted.path()])?;
        Ok(mounted)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = ran(&["umount"], &[&self.path()]);
        let _ = ran(&["losetup", "--detach"], &[&self.disk]);
    }
}

fn ran(command: &[&str], paths: &[&Path]) -> Result<String, String> {
    let output = Command::new(command[0]).args(&command[1..]).args(paths).output();
    let output = output.map_err(|error| format!("{}: {error}", command[0]))?;
    let text = |bytes| String::from_utf8_lossy(bytes).trim().replace('\n', " ");
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{}: {}", command[0], text(&output.stderr))),
    }
}

fn written(path: &Path, text: &str) -> OutputFile {
    let mut file = OutputFile::create(path).unwrap();
    file.file().write_all(text.as_bytes()).unwrap();
    file
}

#[track_caller]
fn takes_a_free_name_and_no_other(folder: &Path) {
    let target = folder.join("out.wav");
    written(&target, "first").commit_new().unwrap();
    let linked = std::fs::hard_link(&target, folder.join("link"));
    assert!(linked.is_err(), "this file system has hard links");
    let late = written(&target, "second").commit_new().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "first");
    written(&target, "third").commit().unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "third");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_new_file_takes_nobodys_name_on_file_systems_without_links() {
    for (name, make, mount) in [
        ("vfat", "mkfs.vfat", &["mount", "-t", "vfat"][..]),
        ("exfat", "mkfs.exfat", &["mount", "-t", "exfat"]),
        // It does not know `RENAME_NOREPLACE` either.
        ("exfat by FUSE", "mkfs.exfat", &["mount.exfat-fuse"]),
    ] {
        match Mounted::new(make, mount) {
            Ok(mounted) => takes_a_free_name_and_no_other(&mounted.path()),
            Err(why) => println!("SKIPPED commit_new on {name}: {why}"),
        }
    }
}
