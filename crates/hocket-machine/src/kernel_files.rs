//! The small text files of the kernel (`/proc`, `/sys`) below a root that tests may move.
//!
//! Every reader returns the reason when there is nothing to read, so that a caller can pass it on.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::cpuset::CpuSet;
use crate::fact::Fact;

/// No file read here is longer; `/proc/stat` of the largest machines stays below it.
const LONGEST: u64 = 8 << 20;

/// The place where `/proc` and `/sys` are found: `/` on a running system, a folder for a saved one.
#[derive(Debug, Clone)]
pub(crate) struct KernelFiles {
    root: PathBuf,
}

impl KernelFiles {
    /// The files of the running system.
    pub fn live() -> Self {
        Self::at(Path::new("/"))
    }

    /// The files below `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The full path of `path`, which is relative to the root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file without trailing blanks.
    pub fn text(&self, path: &str) -> Result<String, String> {
        let full = self.path(path);
        let why = |e: std::io::Error| format!("/{path}: {}", plain(&e));
        let file = File::open(&full).map_err(why)?;
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(why)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.truncate(text.trim_end_matches(['\n', ' ', '\0']).len());
        Ok(text)
    }

    /// The text of a file as a fact; an empty file is unknown.
    pub fn fact(&self, path: &str) -> Fact<String> {
        match self.text(path) {
            Ok(text) if text.is_empty() => Fact::Unknown(format!("/{path} is empty")),
            other => other.into(),
        }
    }

    /// A number in a file.
    pub fn number<T: FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.text(path)?;
        text.trim()
            .parse()
            .map_err(|_| format!("/{path}: `{text}` is not a number of the expected range"))
    }

    /// A CPU list (`0-3,8`) in a file.
    pub fn cpu_list(&self, path: &str) -> Result<CpuSet, String> {
        self.text(path)?.parse().map_err(|why| format!("/{path}: {why}"))
    }

    /// A CPU mask (`ff,00000001`) in a file.
    pub fn cpu_mask(&self, path: &str) -> Result<CpuSet, String> {
        CpuSet::parse_mask(&self.text(path)?).map_err(|why| format!("/{path}: {why}"))
    }

    /// The CPUs that a pair of files gives as a list (newer kernels) or as a mask (every kernel).
    pub fn cpus(&self, list: &str, mask: &str) -> Result<CpuSet, String> {
        self.cpu_list(list).or_else(|_| self.cpu_mask(mask))
    }

    /// The numbers N of the entries `<prefix>N` of a folder, ascending; empty if the folder cannot be read.
    pub fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let number = |name: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = self.names(folder).iter().filter_map(|n| number(n)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The names in a folder; empty if it cannot be read.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().into_string().ok()).collect()
    }

    /// Whether there is something at `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

/// An I/O error in words, without the number that only programmers read.
pub(crate) fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}

/// The value after `key` and a colon in text of the form of `/proc/self/status` or `/proc/cpuinfo`, first hit.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value = |line: &'a str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\nmodel name : A : B\n";
        assert_eq!(field(text, "Cpus_allowed_list"), Some("0-1"));
        assert_eq!(field(text, "model name"), Some("A : B"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn a_missing_file_says_which_and_why() {
        let why = KernelFiles::live().text("proc/no-such-file").expect_err("absent");
        assert!(why.contains("/proc/no-such-file") && why.contains("no such file"), "{why}");
    }
}
