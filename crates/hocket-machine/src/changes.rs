//! Settings of the whole machine that are changed for a while: frequency governors, the CPUs that handle interrupts, and the
//! kernel's preemption mode.
//!
//! They concern every program on the machine. So each one is put back when [`Changed`] is dropped, when the program ends
//! or panics, and when it is killed: a small process of its own waits for the end of this one and writes the old values
//! back ([`crate::smt`] does the same). If that process is killed too, a note remains, which the next start finds with
//! [`left_behind`].
//!
//! - The way back is tried first: a setting whose present value cannot be written to it is not changed.
//! - Each change and each way back is read back.
//! - The old values are those of the moment when [`Root::keep`] ran. What another program sets meanwhile is lost.
//! - Some interrupts cannot be moved. They stay where they are, and the others go.
//!
//! Rights: those to write the files, so in general root. Source: the kernel's `Documentation/admin-guide/pm/cpufreq.rst`,
//! `Documentation/core-api/irq/irq-affinity.rst`, and `kernel/sched/debug.c` for the preemption mode.

mod note;
mod setting;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::kernel_files::{KernelFiles, plain};
use crate::note_files::{self, Owner};
use crate::sys::{self, Caretaker, Deed};

pub use note::LeftBehind;
use note::Note;
pub use setting::{Change, Setting};

/// Between two looks at a note that is to go.
const LOOK: Duration = Duration::from_millis(20);

/// Why settings are not as they were asked to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeError {
    /// Another process of Hocket, which is alive, changes settings.
    Busy(i32),
    /// An earlier process of Hocket changed settings and was killed before it could put them back.
    LeftBehind(i32),
    /// The means to put them back could not be prepared, so nothing was changed.
    NoWayBack(String),
    /// The system refuses, or reports another value afterwards; what was changed before is put back.
    Refused {
        /// The setting.
        setting: Setting,
        /// Why.
        why: String,
    },
    /// These settings could not be put back: what each one is to say, and why it does not.
    NotPutBack(Vec<(Change, String)>),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(process) => {
                write!(
                    f,
                    "process {process} changes settings of the machine; wait until it is done"
                )
            }
            Self::LeftBehind(process) => write!(
                f,
                "process {process} changed settings of the machine and was killed before it could put them back; restore \
                 them first (`hocket machine --restore`)"
            ),
            Self::NoWayBack(why) => write!(
                f,
                "nothing was changed, since putting it back could not be made certain: {why}; make /run/hocket or \
                 $XDG_RUNTIME_DIR/hocket writable"
            ),
            Self::Refused { setting, why } => write!(f, "{setting}: {why}"),
            Self::NotPutBack(failures) => {
                let one = |(change, why): &(Change, String)| {
                    let Change { setting, value } = change;
                    format!("{setting} could not be put back ({why}); write `{value}` to it")
                };
                f.write_str(&failures.iter().map(one).collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl std::error::Error for ChangeError {}

/// Where the settings and the note are: below a root, so that tests can use another one.
#[derive(Debug, Clone)]
pub struct Root {
    files: KernelFiles,
    notes: Vec<PathBuf>,
}

impl Root {
    /// The running system. The note goes to `/run/hocket`, or to `$XDG_RUNTIME_DIR/hocket` if that cannot be written.
    pub fn live() -> Self {
        Self { files: KernelFiles::live(), notes: note_files::folders() }
    }

    /// A tree with the folders `sys`, `proc` and `run` below `root`.
    pub fn at(root: &Path) -> Self {
        Self { files: KernelFiles::at(root), notes: vec![root.join("run/hocket")] }
    }

    /// What gives every one of `cpus` this governor. Cost: a small file for each.
    ///
    /// # Errors
    /// Why there is nothing to change: no cpufreq, or all have it.
    pub fn governors(&self, cpus: &[u32], governor: &str) -> Result<Vec<Change>, String> {
        setting::governors(&self.files, cpus, governor)
    }

    /// What keeps interrupts off `cpu`, by leaving them to others of `cpus`. Cost: a small file for each interrupt.
    ///
    /// # Errors
    /// Why there is nothing to change: no other CPU, or no interrupt that comes there.
    pub fn interrupts_away_from(&self, cpu: u32, cpus: &[u32]) -> Result<Vec<Change>, String> {
        setting::interrupts_away(&self.files, cpu, cpus)
    }

    /// What gives the kernel this preemption mode. Cost: a small file.
    ///
    /// # Errors
    /// Why there is nothing to change: the kernel offers no choice, does not know the mode, or has it.
    pub fn preemption(&self, mode: &str) -> Result<Vec<Change>, String> {
        setting::preemption(&self.files, mode)
    }

    /// Prepares the way back for the settings of `changes`, and changes none: a note for the next start, and a process
    /// that waits. Call it before a measurement begins, since the process starts as a copy of this one and the first
    /// write to each page costs a page fault afterwards.
    ///
    /// Thread: control. Cost: a process, and two small files for each setting.
    ///
    /// # Errors
    /// All but [`ChangeError::NotPutBack`]; after each of them nothing has changed.
    pub fn keep(&self, changes: &[Change]) -> Result<Keeper, ChangeError> {
        self.refuse_a_second()?;
        let (mut before, mut fixed) = (Vec::<Change>::new(), Vec::new());
        for Change { setting, .. } in changes {
            if before.iter().any(|known| known.setting == *setting) {
                continue;
            }
            let value = setting.read(&self.files);
            let way_back = |value: String| {
                let change = Change { setting: *setting, value };
                self.write(&change).map(|()| change)
            };
            match (value.and_then(way_back), setting) {
                (Ok(change), _) => before.push(change),
                (Err(why), Setting::Interrupt { .. }) => fixed.push((*setting, why)),
                (Err(why), _) => return Err(ChangeError::Refused { setting: *setting, why }),
            }
        }
        match (before.is_empty(), fixed.into_iter().next()) {
            (true, Some((setting, why))) => Err(ChangeError::Refused { setting, why }),
            _ => self.watch_over(before),
        }
    }

    /// What a killed process of Hocket has left changed. See [`left_behind`].
    pub fn left_behind(&self) -> Option<LeftBehind> {
        self.notes.iter().find_map(|folder| LeftBehind::find(self, folder))
    }

    /// Waits until what this process, or one that has ended, changed is put back; at once where nothing is left. For programs
    /// that let other processes change settings.
    ///
    /// Thread: control; it sleeps. Cost: a small file for each look, 50 a second.
    ///
    /// # Errors
    /// [`ChangeError::NotPutBack`] if a setting says something else after `patience`; [`ChangeError::LeftBehind`] if only
    /// the note is still there.
    pub fn wait_until_put_back(&self, patience: Duration) -> Result<(), ChangeError> {
        let is_left = |note: &Note| note.owner == Owner::me() || !note.owner.is_alive();
        let left = || self.notes.iter().find_map(|folder| Note::read(folder)).filter(is_left);
        let until = Instant::now() + patience;
        while let Some(note) = left() {
            if Instant::now() >= until {
                self.stands(&note.before)?;
                return Err(ChangeError::LeftBehind(note.owner.process));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn refuse_a_second(&self) -> Result<(), ChangeError> {
        let notes = || self.notes.iter().filter_map(|folder| Note::read(folder));
        if let Some(note) = notes().find(|note| note.owner.is_alive()) {
            return Err(ChangeError::Busy(note.owner.process));
        }
        notes().next().map_or(Ok(()), |note| Err(ChangeError::LeftBehind(note.owner.process)))
    }

    fn watch_over(&self, before: Vec<Change>) -> Result<Keeper, ChangeError> {
        let note = Note::new(before);
        let path = note.write(&self.notes).map_err(ChangeError::NoWayBack)?;
        let start = || Caretaker::start(self.deeds(&note.before, &path)?);
        let caretaker = start().map_err(|e| {
            let _ = std::fs::remove_file(&path);
            ChangeError::NoWayBack(format!("no process could be started to wait: {}", plain(&e)))
        })?;
        let Note { before, .. } = note;
        Ok(Keeper { root: self.clone(), before, note: path, caretaker: Some(caretaker) })
    }

    /// The steps back. The first row tries every setting, whatever becomes of the others. The second one ends at the first
    /// that cannot be written, so that the note stays.
    fn deeds(&self, before: &[Change], note: &Path) -> std::io::Result<Vec<Deed>> {
        let path = |change: &Change| self.files.path(&change.setting.path());
        let attempts = before.iter().map(|it| Deed::try_to_write(&path(it), &it.value));
        let writes = before.iter().map(|it| Deed::write(&path(it), &it.value));
        attempts.chain(writes).chain([Deed::remove_file(note)]).collect()
    }

    /// Writes a setting and reads it back.
    fn write(&self, change: &Change) -> Result<(), String> {
        let Change { setting, value } = change;
        let path = self.files.path(&setting.path());
        let write = || sys::perform(&[Deed::write(&path, value)?]);
        write().map_err(|e| plain(&e))?;
        self.says(change)
    }

    fn says(&self, change: &Change) -> Result<(), String> {
        let Change { setting, value } = change;
        let now = setting.read(&self.files)?;
        match setting.is_same(&now, value) {
            true => Ok(()),
            false => Err(format!("`{value}` was written, and it says `{now}`")),
        }
    }

    /// Puts back as many as can be.
    fn put_back(&self, before: &[Change]) -> Result<(), ChangeError> {
        self.each(before, |change| self.write(change))
    }

    /// Whether every setting says this.
    fn stands(&self, before: &[Change]) -> Result<(), ChangeError> {
        self.each(before, |change| self.says(change))
    }

    /// An interrupt that is gone has nothing to put back.
    fn each(
        &self,
        before: &[Change],
        deed: impl Fn(&Change) -> Result<(), String>,
    ) -> Result<(), ChangeError> {
        let is_gone = |change: &Change| {
            matches!(change.setting, Setting::Interrupt { .. })
                && !self.files.exists(&change.setting.path())
        };
        let failure = |change: &Change| Some((change.clone(), deed(change).err()?));
        let there = before.iter().filter(|change| !is_gone(change));
        let failures: Vec<(Change, String)> = there.filter_map(failure).collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(ChangeError::NotPutBack(failures)),
        }
    }
}

/// What a killed process of Hocket left changed; call it at every start. Cost: one small file.
pub fn left_behind() -> Option<LeftBehind> {
    Root::live().left_behind()
}

fn remove(note: &Path) -> Result<(), ChangeError> {
    match std::fs::remove_file(note) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(ChangeError::NoWayBack(format!("{}: {}", note.display(), plain(&e))))
        }
        _ => Ok(()),
    }
}

/// Knows what settings said before, and sees to it that they say so again when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it puts the settings back at once"]
pub struct Keeper {
    root: Root,
    before: Vec<Change>,
    note: PathBuf,
    caretaker: Option<Caretaker>,
}

impl Keeper {
    /// What the settings said before.
    pub fn before(&self) -> &[Change] {
        &self.before
    }

    /// Makes `changes`, until the answer is put back or dropped. Those whose settings cannot be put back are left out.
    ///
    /// Thread: control. Cost: two small files for each; a preemption mode stops every CPU for a moment.
    ///
    /// # Errors
    /// [`ChangeError::Refused`]; then nothing is changed. Interrupts that cannot be moved are refused only if none can.
    pub fn change(&self, changes: &[Change]) -> Result<Changed<'_>, ChangeError> {
        let mut changed = Changed { keeper: self, before: Vec::new() };
        let mut refused = None;
        for change in changes {
            let setting = change.setting;
            let Some(before) = self.before.iter().find(|it| it.setting == setting) else {
                continue;
            };
            changed.before.push(before.clone());
            let Err(why) = self.root.write(change) else { continue };
            let error = ChangeError::Refused { setting, why };
            if !matches!(setting, Setting::Interrupt { .. }) {
                return Err(error);
            }
            // Whatever it says now, it is left to itself.
            let _ = changed.before.pop();
            let _ = self.root.write(before);
            refused.get_or_insert(error);
        }
        match (changed.before.is_empty(), refused, changes.first()) {
            (true, Some(error), _) => Err(error),
            (true, None, Some(Change { setting, .. })) => Err(ChangeError::Refused {
                setting: *setting,
                why: "what it says now cannot be written to it".into(),
            }),
            _ => Ok(changed),
        }
    }

    /// Puts every setting back, reads it back, and removes the note.
    ///
    /// # Errors
    /// [`ChangeError::NotPutBack`]; then the note stays, and [`left_behind`] finds it when this process has ended.
    pub fn finish(mut self) -> Result<(), ChangeError> {
        let Some(caretaker) = self.caretaker.take() else { return Ok(()) };
        if caretaker.finish().is_ok() {
            return self.root.stands(&self.before);
        }
        self.root.put_back(&self.before)?;
        remove(&self.note)
    }
}

/// Settings are changed, until this is dropped or [`Changed::put_back`].
#[derive(Debug)]
#[must_use = "dropping it puts the settings back at once"]
pub struct Changed<'a> {
    keeper: &'a Keeper,
    before: Vec<Change>,
}

impl Changed<'_> {
    /// How many settings are changed.
    pub fn count(&self) -> usize {
        self.before.len()
    }

    /// Puts the settings back and reads them back.
    ///
    /// # Errors
    /// [`ChangeError::NotPutBack`]; the keeper tries again at its end.
    pub fn put_back(mut self) -> Result<(), ChangeError> {
        self.keeper.root.put_back(&std::mem::take(&mut self.before))
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        let _ = self.keeper.root.put_back(&self.before);
    }
}
