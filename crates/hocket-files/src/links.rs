//! Where links lead.

use std::io;
use std::path::{Path, PathBuf};

/// The most links from a name to a file, as in the system.
pub(crate) const MOST_LINKS: usize = 40;

/// The file that a path means, also where none is yet: a link that leads nowhere names a file that can be made.
///
/// # Errors
/// The links lead round and round.
pub fn target_of(path: &Path) -> io::Result<PathBuf> {
    if let Ok(there) = path.canonicalize() {
        return Ok(there);
    }
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match next(&path) {
            Some(next) => path = next,
            None => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// What a link names; `None` where there is no link.
pub(crate) fn next(path: &Path) -> Option<PathBuf> {
    let next = std::fs::read_link(path).ok()?;
    Some(path.parent().unwrap_or(Path::new("")).join(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_means_its_target_whether_that_is_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        std::fs::write(at("there"), "text").unwrap();
        link("there", "a");
        link("new", "b");
        link("b", "c");
        link("round", "round");
        for (name, target) in [("a", "there"), ("b", "new"), ("c", "new"), ("new", "new")] {
            assert_eq!(target_of(&at(name)).unwrap(), at(target), "{name}");
        }
        assert!(target_of(&at("round")).is_err());
    }
}
