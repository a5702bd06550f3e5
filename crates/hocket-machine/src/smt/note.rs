//! The note that says what SMT was before, for the case that nobody was left to put it back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cpuset::CpuSet;
use crate::kernel_files::{KernelFiles, plain};
use crate::sys;

use super::{Root, SmtControl, SmtError, SmtState};

const NAME: &str = "smt-restore";

/// What the switch said before, and who has changed it: three lines of `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub control: SmtControl,
    pub off_line: CpuSet,
    pub process: i32,
    /// When the process started, in the kernel's ticks: another process with its number started at another time.
    started: Option<u64>,
}

impl Note {
    pub fn new(before: &SmtState, off_line: CpuSet) -> Self {
        let process = std::process::id() as i32;
        Self { control: before.control.clone(), off_line, process, started: start_of(process) }
    }

    /// Writes the note to the first of `folders` that takes it, whole or not at all.
    pub fn write(&self, folders: &[PathBuf]) -> Result<PathBuf, String> {
        let mut reasons = Vec::new();
        for folder in folders {
            match self.write_to(folder) {
                Ok(path) => return Ok(path),
                Err(e) => reasons.push(format!("{}: {}", folder.display(), plain(&e))),
            }
        }
        Err(reasons.join(", "))
    }

    fn write_to(&self, folder: &Path) -> std::io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let path = folder.join(NAME);
        let draft = folder.join(format!("{NAME}.{}", self.process));
        let _ = fs::remove_file(&draft);
        // A file that is new cannot be somebody else's link to another place.
        fs::File::create_new(&draft)?.write_all(self.text().as_bytes())?;
        fs::rename(&draft, &path)?;
        Ok(path)
    }

    fn text(&self) -> String {
        let Self { control, off_line, process, started } = self;
        let started = started.unwrap_or(0);
        let off_line = if off_line.is_empty() { String::new() } else { off_line.to_string() };
        format!("control={control}\noff_line={off_line}\nprocess={process}\nstarted={started}\n")
    }

    pub fn read(folder: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(folder.join(NAME)).ok()?)
    }

    /// Only words that a switch can have had are believed: what is written here is later written to the switch.
    fn parse(text: &str) -> Option<Self> {
        let value = |name| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let control = SmtControl::of(value("control")?);
        let started = value("started")?.parse().ok().filter(|&ticks| ticks != 0);
        control.is_on().then_some(Self {
            control,
            off_line: value("off_line")?.parse().ok()?,
            process: value("process")?.parse().ok()?,
            started,
        })
    }

    /// Whether the process that wrote the note is still there.
    pub fn is_owner_alive(&self) -> bool {
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

/// SMT is off because a process of Hocket was killed together with the one that would have put it back.
#[derive(Debug, Clone)]
pub struct LeftBehind {
    root: Root,
    note: Note,
    path: PathBuf,
}

impl LeftBehind {
    pub(super) fn find(root: &Root, folder: &Path) -> Option<Self> {
        let note = Note::read(folder).filter(|note| !note.is_owner_alive())?;
        Some(Self { root: root.clone(), note, path: folder.join(NAME) })
    }

    /// What the switch said before.
    pub fn before(&self) -> &SmtControl {
        &self.note.control
    }

    /// The process that switched.
    pub fn process(&self) -> i32 {
        self.note.process
    }

    /// Where the note is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the switch back, removes the note and returns what the system then reports.
    ///
    /// Thread: control. Cost: milliseconds to seconds, for the whole machine.
    ///
    /// # Errors
    /// [`SmtError::NotAllowed`], [`SmtError::Refused`], [`SmtError::NotKept`]; then the note stays.
    pub fn restore(self) -> Result<SmtState, SmtError> {
        self.root.write(&self.note.control)?;
        let put_back = || sys::perform(&self.root.deeds(&self.note, &self.path)?);
        put_back().map_err(|e| SmtError::Refused(plain(&e)))?;
        self.root.kept(&self.note.control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Note {
        let off_line = "2-3,7".parse().expect("a list");
        Note { control: SmtControl::On, off_line, process: 12, started: Some(345) }
    }

    #[test]
    fn a_note_says_what_was_written() {
        assert_eq!(Note::parse(&note().text()), Some(note()));
        let none = Note { off_line: CpuSet::new(), ..note() };
        assert_eq!(Note::parse(&none.text()), Some(none));
    }

    #[test]
    fn a_note_with_other_words_is_not_believed() {
        for (from, to) in [("=on", "=reboot"), ("=on", "=off"), ("12", "x"), ("2-3", "3-2")] {
            assert_eq!(Note::parse(&note().text().replace(from, to)), None, "{to}");
        }
        assert_eq!(Note::parse(""), None);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let me = std::process::id() as i32;
        let mine = Note { process: me, started: start_of(me), ..note() };
        assert!(mine.started.is_some() && mine.is_owner_alive());
        assert!(!Note { started: mine.started.map(|t| t + 1), ..mine }.is_owner_alive());
    }
}
