//! The note that says what settings said before, for the case that nobody was left to put them back.

use std::fs;
use std::path::{Path, PathBuf};

use super::setting::{Change, Setting};
use super::{ChangeError, Root};
use crate::note_files::{self, Owner};

const NAME: &str = "settings-restore";

/// What settings said before, and who changes them: a line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub before: Vec<Change>,
    pub owner: Owner,
}

impl Note {
    pub fn new(before: Vec<Change>) -> Self {
        Self { before, owner: Owner::me() }
    }

    /// Writes the note to the first of `folders` that takes it, whole or not at all.
    pub fn write(&self, folders: &[PathBuf]) -> Result<PathBuf, String> {
        note_files::write(folders, NAME, &self.text())
    }

    fn text(&self) -> String {
        let line = |change: &Change| format!("{}={}\n", change.setting.name(), change.value);
        self.before.iter().map(line).fold(self.owner.text(), |text, line| text + &line)
    }

    pub fn read(folder: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(folder.join(NAME)).ok()?)
    }

    /// Only settings and values that can have been changed are believed.
    fn parse(text: &str) -> Option<Self> {
        let change = |line: &str| {
            let (name, value) = line.split_once('=')?;
            let setting = Setting::named(name)?;
            setting.accepts(value).then(|| Change { setting, value: value.to_string() })
        };
        let is_of_owner =
            |line: &&str| line.starts_with("process=") || line.starts_with("started=");
        let lines = text.lines().filter(|line| !is_of_owner(line));
        let before: Vec<Change> = lines.map(change).collect::<Option<_>>()?;
        (!before.is_empty()).then_some(Self { before, owner: Owner::parse(text)? })
    }
}

/// Settings that a process of Hocket changed, which was killed together with the one that would have put them back.
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

    /// What the settings said before.
    pub fn before(&self) -> &[Change] {
        &self.note.before
    }

    /// The process that changed them.
    pub fn process(&self) -> i32 {
        self.note.owner.process
    }

    /// Where the note is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the settings back, reads them back and removes the note.
    ///
    /// Thread: control. Cost: two small files for each.
    ///
    /// # Errors
    /// [`ChangeError::NotPutBack`]; then the note stays.
    pub fn restore(self) -> Result<(), ChangeError> {
        self.root.put_back(&self.note.before)?;
        super::remove(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Note {
        let change = |setting, value: &str| Change { setting, value: value.into() };
        let before = vec![
            change(Setting::Governor { cpu: 1 }, "powersave"),
            change(Setting::Interrupt { number: 24 }, "0-1"),
            change(Setting::Preemption, "voluntary"),
        ];
        Note { before, owner: Owner { process: 12, started: Some(345) } }
    }

    #[test]
    fn a_note_says_what_was_written() {
        assert_eq!(Note::parse(&note().text()), Some(note()));
    }

    #[test]
    fn a_note_with_anything_else_in_it_is_not_believed() {
        for (from, to) in [
            ("powersave", "../x"),
            ("governor-1", "governor-x"),
            ("interrupt", "proc/sys"),
            ("0-1", ""),
            ("process=12", "process=x"),
        ] {
            assert_eq!(Note::parse(&note().text().replace(from, to)), None, "{to}");
        }
        assert_eq!(Note::parse("process=12\nstarted=345\n"), None);
    }
}
