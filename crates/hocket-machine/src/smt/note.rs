//! The note that says what SMT was before, for the case that nobody was left to put it back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cpuset::CpuSet;
use crate::kernel_files::plain;
use crate::note_files::{self, Owner, value};
use crate::sys;

use super::{Root, SmtControl, SmtError, SmtState};

const NAME: &str = "smt-restore";

/// What the switch said before, and who has changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub control: SmtControl,
    pub off_line: CpuSet,
    pub owner: Owner,
}

impl Note {
    pub fn new(before: &SmtState, off_line: CpuSet) -> Self {
        Self { control: before.control.clone(), off_line, owner: Owner::me() }
    }

    /// Writes the note to the first of `folders` that takes it, whole or not at all.
    pub fn write(&self, folders: &[PathBuf]) -> Result<PathBuf, String> {
        note_files::write(folders, NAME, &self.text())
    }

    fn text(&self) -> String {
        let Self { control, off_line, owner } = self;
        let off_line = if off_line.is_empty() { String::new() } else { off_line.to_string() };
        format!("control={control}\noff_line={off_line}\n{}", owner.text())
    }

    pub fn read(folder: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(folder.join(NAME)).ok()?)
    }

    /// Only words that a switch can have had are believed: what is written here is later written to the switch.
    fn parse(text: &str) -> Option<Self> {
        let control = SmtControl::of(value(text, "control")?);
        control.is_on().then_some(Self {
            control,
            off_line: value(text, "off_line")?.parse().ok()?,
            owner: Owner::parse(text)?,
        })
    }
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
        let note = Note::read(folder).filter(|note| !note.owner.is_alive())?;
        Some(Self { root: root.clone(), note, path: folder.join(NAME) })
    }

    /// What the switch said before.
    pub fn before(&self) -> &SmtControl {
        &self.note.control
    }

    /// The process that switched.
    pub fn process(&self) -> i32 {
        self.note.owner.process
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
        Note { control: SmtControl::On, off_line, owner: Owner { process: 12, started: Some(345) } }
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
}
