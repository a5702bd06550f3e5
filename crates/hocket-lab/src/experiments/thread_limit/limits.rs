//! What limits the number of threads, read from the system.

use std::fs;
use std::path::{Path, PathBuf};

use hocket_machine::pin::{current_thread, is_own_thread};

/// One limit.
pub(super) struct Limit {
    /// The metric that holds it.
    pub metric: &'static str,
    /// With whom it is shared.
    pub shared: &'static str,
    /// What the system says, or why there is none.
    pub read: fn() -> Result<u64, String>,
}

/// All that are known.
pub(super) const LIMITS: &[Limit] = &[
    Limit { metric: "threads-max", shared: "for the whole system", read: threads_max },
    Limit { metric: "pid-max", shared: "for the whole system", read: pid_max },
    Limit { metric: "user-processes", shared: "for all processes of this user", read: user },
    Limit { metric: "group-pids", shared: "for a control group", read: group },
    Limit { metric: "maps", shared: "for one process", read: maps },
];

fn threads_max() -> Result<u64, String> {
    number("/proc/sys/kernel/threads-max")
}

fn pid_max() -> Result<u64, String> {
    number("/proc/sys/kernel/pid_max")
}

fn maps() -> Result<u64, String> {
    number("/proc/sys/vm/max_map_count").map(|maps| maps / 2)
}

fn user() -> Result<u64, String> {
    let path = "/proc/self/limits";
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max processes"));
    match line.and_then(|rest| rest.split_whitespace().next()) {
        Some("unlimited") => Err("unlimited".into()),
        Some(soft) => soft.parse().map_err(|_| format!("{path}: '{soft}' is no number")),
        None => Err(format!("{path} does not name it")),
    }
}

/// The smallest of this process' group and those above it, in either hierarchy.
fn group() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/self/cgroup")
        .map_err(|error| format!("/proc/self/cgroup: {error}"))?;
    let limits = text.lines().filter_map(folder).flat_map(|(root, path)| up(&root, &path));
    limits.min().ok_or_else(|| "no control group of this process limits it".into())
}

/// The folder of a line of /proc/self/cgroup, if it may limit numbers of processes.
fn folder(line: &str) -> Option<(PathBuf, PathBuf)> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let root = match controllers {
        "" => Path::new("/sys/fs/cgroup").to_path_buf(),
        names if names.split(',').any(|name| name == "pids") => {
            Path::new("/sys/fs/cgroup").join(names)
        }
        _ => return None,
    };
    Some((root.clone(), root.join(path.trim_start_matches('/'))))
}

/// The limits from `path` up to `root`.
fn up(root: &Path, path: &Path) -> Vec<u64> {
    let folders = path.ancestors().take_while(|folder| folder.starts_with(root));
    let limit = |folder: &Path| number(folder.join("pids.max")).ok();
    folders.filter_map(limit).collect()
}

/// That the kernel tells of this process' threads.
pub(super) fn threads_are_told() -> Result<(), String> {
    let told = is_own_thread(current_thread());
    told.then_some(()).ok_or_else(|| "/proc/self/task does not have this thread".into())
}

fn number(path: impl AsRef<Path>) -> Result<u64, String> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.trim().parse().map_err(|_| format!("{}: no number", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_hierarchies_are_understood() {
        let root = |line: &str| folder(line).map(|(_, path)| path.display().to_string());
        assert_eq!(root("0::/user/a"), Some("/sys/fs/cgroup/user/a".into()));
        assert_eq!(root("8:pids:/x"), Some("/sys/fs/cgroup/pids/x".into()));
        assert_eq!(root("4:memory:/x"), None);
        assert_eq!(root("nonsense"), None);
    }
}
