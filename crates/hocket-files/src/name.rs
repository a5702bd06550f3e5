//! Giving a file a name that nobody has.
//!
//! No call does it on every file system, so there are three ways. The first one that the file system knows is taken:
//!
//! 1. `renameat2` with `RENAME_NOREPLACE`: one step. Most local file systems have it.
//! 2. A hard link, then the first name goes. NFS knows this and not 1. A process that is killed between the two leaves
//!    the whole file under both names.
//! 3. An empty file takes the name, and the file replaces it. Some FUSE file systems know neither 1 nor 2.
//!    What is left of the risk: if another program writes to the empty file, or puts one of its own in its place, between
//!    our last look and the rename, then its file is lost. These are two calls, one after the other. A process that is
//!    killed between them leaves an empty file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};

type Way = fn(&Path, &Path) -> io::Result<()>;

const WAYS: [Way; 3] = [in_one_step, by_link, over_an_empty_file];

/// Renames `from` to `to` in the same folder, unless something has that name: a file, a folder, or a link, also one that
/// leads nowhere.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`]: what has the name stays. Otherwise what the system says; then `from` stays, and nothing
/// has the new name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    first_of(&WAYS, from, to)
}

/// A taken name ends the search. Any other error leads to the next way, because file systems report by many different
/// errors what they do not support. The caller gets the error of the last way.
fn first_of(ways: &[Way], from: &Path, to: &Path) -> io::Result<()> {
    let mut result = Err(ErrorKind::Unsupported.into());
    for way in ways {
        result = way(from, to);
        match &result {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {}
            _ => break,
        }
    }
    result
}

fn in_one_step(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

fn by_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    // The file has its name. A first name that stays is a part without an owner, which the next run removes.
    let _ = fs::remove_file(from);
    Ok(())
}

fn over_an_empty_file(from: &Path, to: &Path) -> io::Result<()> {
    let empty = File::create_new(to)?;
    if !is_untouched(&empty, to) {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let renamed = fs::rename(from, to);
    if renamed.is_err() && is_untouched(&empty, to) {
        let _ = fs::remove_file(to);
    }
    renamed
}

/// Whether `path` still names this file, and nobody wrote to it.
fn is_untouched(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (open.dev(), open.ino(), 0) == (there.dev(), there.ino(), there.len())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn unknown(_: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::InvalidInput.into())
    }

    /// The ways of file systems that know less and less.
    const FILE_SYSTEMS: [[Way; 3]; 3] =
        [WAYS, [unknown, by_link, over_an_empty_file], [unknown, unknown, over_an_empty_file]];

    fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "new").unwrap();
        (folder, from, to)
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_free_name_is_taken_on_every_file_system() {
        for ways in &FILE_SYSTEMS {
            let (folder, from, to) = folder();
            first_of(ways, &from, &to).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), "new");
            assert_eq!(names(folder.path()), 1);
        }
    }

    #[test]
    fn what_has_the_name_stays_on_every_file_system() {
        let taken: [fn(&Path) -> io::Result<()>; 4] = [
            |to| fs::write(to, "theirs"),
            |to| fs::write(to, ""),
            |to| fs::create_dir(to),
            |to| symlink("nowhere", to),
        ];
        for ways in &FILE_SYSTEMS {
            for take in taken {
                let (folder, from, to) = folder();
                take(&to).unwrap();
                let before = to.symlink_metadata().unwrap();
                let refused = first_of(ways, &from, &to).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
                let after = to.symlink_metadata().unwrap();
                assert_eq!((before.ino(), before.len()), (after.ino(), after.len()));
                assert_eq!(fs::read_to_string(&from).unwrap(), "new");
                assert_eq!(names(folder.path()), 2);
            }
        }
    }

    #[test]
    fn a_rename_that_fails_leaves_nothing_under_the_name() {
        for ways in &FILE_SYSTEMS {
            let (folder, from, to) = folder();
            fs::remove_file(&from).unwrap();
            assert_eq!(first_of(ways, &from, &to).unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(names(folder.path()), 0);
        }
    }

    #[test]
    fn a_file_that_another_program_put_in_the_place_is_not_ours() {
        let (_folder, from, to) = folder();
        let empty = File::create_new(&to).unwrap();
        assert!(is_untouched(&empty, &to));
        fs::write(&to, "theirs").unwrap();
        assert!(!is_untouched(&empty, &to), "it was written to");
        fs::rename(&from, &to).unwrap();
        assert!(!is_untouched(&empty, &to), "it was replaced");
    }
}
