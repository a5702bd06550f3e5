//! Notes for the next start: what a process has changed about the whole machine, and which process that was.
//!
//! A note is a small file of lines `name=value`. It lies in a folder that the system empties when it starts, since the
//! changes end then, too.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::kernel_files::{KernelFiles, plain};

/// Where notes of the running system go: `/run/hocket`, or `$XDG_RUNTIME_DIR/hocket` if that cannot be written.
pub(crate) fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(|folder| Path::new(&folder).join("hocket"));
    [Some(PathBuf::from("/run/hocket")), own].into_iter().flatten().collect()
}

/// Writes a note to the first of `folders` that takes it, whole or not at all; where it is.
pub(crate) fn write(folders: &[PathBuf], name: &str, text: &str) -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for folder in folders {
        match write_to(folder, name, text) {
            Ok(path) => return Ok(path),
            Err(e) => reasons.push(format!("{}: {}", folder.display(), plain(&e))),
        }
    }
    Err(reasons.join(", "))
}

fn write_to(folder: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    // A file that is new cannot be somebody else's link to another place.
    fs::File::create_new(&draft)?.write_all(text.as_bytes())?;
    fs::rename(&draft, &path)?;
    Ok(path)
}

/// The value after `name` and an equals sign, first hit.
pub(crate) fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// The process that wrote a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub process: i32,
    /// When the process started, in the kernel's ticks: another process with its number started at another time.
    pub started: Option<u64>,
}

impl Owner {
    /// This process.
    pub fn me() -> Self {
        let process = std::process::id() as i32;
        Self { process, started: start_of(process) }
    }

    /// Two lines of a note.
    pub fn text(&self) -> String {
        format!("process={}\nstarted={}\n", self.process, self.started.unwrap_or(0))
    }

    /// From the two lines.
    pub fn parse(text: &str) -> Option<Self> {
        let started = value(text, "started")?.parse().ok()?;
        let process = value(text, "process")?.parse().ok()?;
        Some(Self { process, started: Some(started).filter(|&ticks| ticks != 0) })
    }

    /// Whether the process is still there.
    pub fn is_alive(&self) -> bool {
        let now = start_of(self.process);
        now.is_some() && (self.started.is_none() || self.started == now)
    }
}

/// When a process started (field 22 of proc(5)'s `stat`, counted after the name, which may hold blanks and brackets);
/// none if there is no such process, or if it has ended and only waits to be noticed.
fn start_of(process: i32) -> Option<u64> {
    let stat = KernelFiles::live().text(&format!("proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let me = Owner::me();
        assert!(me.started.is_some() && me.is_alive());
        assert!(!Owner { started: me.started.map(|ticks| ticks + 1), ..me }.is_alive());
        assert_eq!(Owner::parse(&me.text()), Some(me));
    }
}
