//! SMT for the whole machine: whether it is on, switching it off, and putting it back in any case.
//!
//! Switching SMT off takes every sibling off line. It concerns every program on the machine, so it is undone when
//! [`SmtOff`] is dropped, when the program ends or panics, and when it is killed: a small process of its own waits for
//! the end of this one and writes the old value back. If that process is killed too (a service manager that kills
//! a whole control group), a note remains, which the next start finds with [`left_behind`]. The note lies in a folder
//! that the system empties when it starts, as it also starts with its own setting for SMT.
//!
//! - Switch before playing: taking CPUs off line stops every CPU for moments and takes up to seconds.
//! - Switch before pinning: a thread that was pinned to a sibling alone loses that, and gets every CPU of its cpuset.
//! - Lock memory afterwards: the small process begins as a copy of this one, so the first write to each page costs
//!   a page fault here; [`crate::memory::lock`] takes them all at once.
//! - The topology changes: read it again.
//!
//! Rights: root (the file `control` is the system's). Source: the kernel's
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`, `/sys/devices/system/cpu/smt`.

mod note;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cpuset::CpuSet;
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, plain};
use crate::note_files;
use crate::sys::{self, Caretaker, Deed};

pub use note::LeftBehind;
use note::Note;

const CONTROL: &str = "sys/devices/system/cpu/smt/control";
const ACTIVE: &str = "sys/devices/system/cpu/smt/active";
const ON_LINE: &str = "sys/devices/system/cpu/online";
const CPU: &str = "sys/devices/system/cpu";

/// What the kernel's switch for SMT says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtControl {
    /// All hardware threads of every core may be on line.
    On,
    /// One hardware thread per core.
    Off,
    /// At most this many hardware threads per core (processors with more than two).
    AtMost(u32),
    /// Off since the start of the machine; it cannot be switched.
    ForcedOff,
    /// The processor has no SMT, or the firmware or the hypervisor hides it.
    NotSupported,
    /// The kernel cannot switch SMT on this architecture.
    NotImplemented,
    /// A word this version of Hocket does not know.
    Other(String),
}

impl SmtControl {
    /// From the kernel's word.
    pub fn of(word: &str) -> Self {
        match word {
            "on" => Self::On,
            "off" => Self::Off,
            "forceoff" => Self::ForcedOff,
            "notsupported" => Self::NotSupported,
            "notimplemented" => Self::NotImplemented,
            _ => word.parse().map_or_else(|_| Self::Other(word.into()), Self::AtMost),
        }
    }

    /// Whether siblings may be on line now, so that switching off would change something.
    pub fn is_on(&self) -> bool {
        matches!(self, Self::On | Self::AtMost(2..))
    }

    /// Whether every core has one hardware thread by order of the switch.
    pub fn is_off(&self) -> bool {
        matches!(self, Self::Off | Self::AtMost(1) | Self::ForcedOff)
    }
}

impl fmt::Display for SmtControl {
    /// The kernel's word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off => f.write_str("off"),
            Self::AtMost(threads) => threads.fmt(f),
            Self::ForcedOff => f.write_str("forceoff"),
            Self::NotSupported => f.write_str("notsupported"),
            Self::NotImplemented => f.write_str("notimplemented"),
            Self::Other(word) => f.write_str(word),
        }
    }
}

/// SMT as the system reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SmtState {
    /// The switch.
    pub control: SmtControl,
    /// Whether some core has more than one hardware thread on line now.
    pub active: Fact<bool>,
    /// The CPUs that are on line now.
    pub on_line: Fact<CpuSet>,
}

/// Why SMT is not in the requested state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmtError {
    /// The kernel offers no switch.
    NoSwitch(String),
    /// The processor shows no SMT, or the kernel cannot switch it: there is nothing to switch off.
    NothingToSwitch(SmtControl),
    /// This process may not write the switch.
    NotAllowed(String),
    /// Another process of Hocket, which is alive, has switched SMT off.
    Busy(i32),
    /// An earlier process of Hocket switched SMT off and was killed before it could switch it back.
    LeftBehind(i32),
    /// The means to restore SMT could not be prepared, so nothing was switched.
    NoWayBack(String),
    /// The kernel refused.
    Refused(String),
    /// The kernel agreed, but the state is another one.
    NotKept {
        /// The request.
        asked: SmtControl,
        /// The switch's state.
        got: SmtControl,
    },
}

impl SmtError {
    /// What happened, without the remedy.
    pub fn why(&self) -> String {
        match self {
            Self::NoSwitch(why) => format!("the kernel offers no SMT switch ({why})"),
            Self::NothingToSwitch(SmtControl::NotSupported) => {
                "the kernel sees no SMT on this machine (notsupported)".into()
            }
            Self::NothingToSwitch(SmtControl::NotImplemented) => {
                "this kernel cannot switch SMT (notimplemented)".into()
            }
            Self::NothingToSwitch(state) => format!("the SMT switch says `{state}`"),
            Self::NotAllowed(why) => format!("SMT may not be switched: {why}"),
            Self::Busy(process) => format!("process {process} has switched SMT off and is alive"),
            Self::LeftBehind(process) => {
                format!(
                    "process {process} switched SMT off and was killed before it could switch it back"
                )
            }
            Self::NoWayBack(why) => {
                format!(
                    "SMT was left as it is, since switching it back could not be made certain: {why}"
                )
            }
            Self::Refused(why) => format!("the kernel refuses to switch SMT: {why}"),
            Self::NotKept { asked, got } => {
                format!("the SMT switch was to say `{asked}` and says `{got}`")
            }
        }
    }

    /// What would help, if anything would.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoSwitch(_) => Some("use a kernel of version 4.19 or later with CONFIG_SMP"),
            Self::NothingToSwitch(SmtControl::NotSupported) => {
                Some("where the processor has SMT, switch it on in the firmware")
            }
            Self::NothingToSwitch(_) => Some("switch SMT off in the firmware"),
            Self::NotAllowed(_) => Some("run as root"),
            Self::Busy(_) => Some("wait until it is done"),
            Self::LeftBehind(_) => Some(
                "restore that first (`smt::left_behind`), or write `on` to \
                /sys/devices/system/cpu/smt/control and remove /run/hocket/smt-restore",
            ),
            Self::NoWayBack(_) => Some("make /run/hocket or $XDG_RUNTIME_DIR/hocket writable"),
            Self::Refused(_) => Some("try again; the kernel's log says more"),
            Self::NotKept { .. } => {
                Some("write the word to /sys/devices/system/cpu/smt/control as root")
            }
        }
    }
}

impl fmt::Display for SmtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why())?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for SmtError {}

/// Where the switch and the note are: below a root, so that tests can use another one.
#[derive(Debug, Clone)]
pub struct Root {
    files: KernelFiles,
    notes: Vec<PathBuf>,
}

impl Root {
    /// The running system. The note goes to `/run/hocket`, or to `$XDG_RUNTIME_DIR/hocket` if
    /// that cannot be written.
    pub fn live() -> Self {
        Self { files: KernelFiles::live(), notes: note_files::folders() }
    }

    /// The switch alone, to read it.
    pub(crate) fn of(files: &KernelFiles) -> Self {
        Self { files: files.clone(), notes: Vec::new() }
    }

    /// A tree with the folders `sys` and `run` below `root`.
    pub fn at(root: &Path) -> Self {
        Self { files: KernelFiles::at(root), notes: vec![root.join("run/hocket")] }
    }

    /// SMT now. Thread: any. Cost: three small files.
    ///
    /// # Errors
    /// [`SmtError::NoSwitch`] only.
    pub fn state(&self) -> Result<SmtState, SmtError> {
        let active = self.files.number::<u8>(ACTIVE).map(|active| active != 0);
        let on_line = self.files.cpu_list(ON_LINE);
        Ok(SmtState { control: self.control()?, active: active.into(), on_line: on_line.into() })
    }

    /// Whether this process could switch SMT: what the switch says, or why not. Nothing is changed.
    ///
    /// # Errors
    /// [`SmtError::NoSwitch`], [`SmtError::NothingToSwitch`], [`SmtError::NotAllowed`].
    pub fn may_switch(&self) -> Result<SmtControl, SmtError> {
        let control = self.control()?;
        if matches!(control, SmtControl::ForcedOff) || !(control.is_on() || control.is_off()) {
            return Err(SmtError::NothingToSwitch(control));
        }
        let not_allowed = |e| SmtError::NotAllowed(format!("/{CONTROL}: {}", plain(&e)));
        sys::may_write(&self.files.path(CONTROL)).map_err(not_allowed)?;
        Ok(control)
    }

    /// Switches SMT off until the answer is dropped. See [`switch_off`].
    ///
    /// # Errors
    /// See [`SmtError`]; after each of them SMT is as it was.
    pub fn switch_off(&self) -> Result<SmtOff, SmtError> {
        self.refuse_a_second()?;
        let before = self.state()?;
        if before.control.is_off() {
            let now = before.clone();
            return Ok(SmtOff { root: self.clone(), before, now, caretaker: None });
        }
        self.may_switch()?;
        let mut off = self.prepare(before)?;
        self.write(&SmtControl::Off)?;
        off.now = self.state()?;
        match &off.now.control {
            SmtControl::Off => Ok(off),
            got => Err(SmtError::NotKept { asked: SmtControl::Off, got: got.clone() }),
        }
    }

    /// What a killed process of Hocket has left switched off. See [`left_behind`].
    pub fn left_behind(&self) -> Option<LeftBehind> {
        self.notes.iter().find_map(|folder| LeftBehind::find(self, folder))
    }

    fn control(&self) -> Result<SmtControl, SmtError> {
        self.files.text(CONTROL).map(|word| SmtControl::of(&word)).map_err(SmtError::NoSwitch)
    }

    fn refuse_a_second(&self) -> Result<(), SmtError> {
        let notes = || self.notes.iter().filter_map(|folder| Note::read(folder));
        if let Some(note) = notes().find(|note| note.owner.is_alive()) {
            return Err(SmtError::Busy(note.owner.process));
        }
        notes().next().map_or(Ok(()), |note| Err(SmtError::LeftBehind(note.owner.process)))
    }

    /// Prepares the way back before switching: the note for the next start, then the process that waits.
    fn prepare(&self, before: SmtState) -> Result<SmtOff, SmtError> {
        let off_line = before.on_line.value().map(|on| self.off_line(on)).unwrap_or_default();
        let note = Note::new(&before, off_line);
        let path = note.write(&self.notes).map_err(SmtError::NoWayBack)?;
        let start = || Caretaker::start(self.deeds(&note, &path)?);
        let caretaker = start().map_err(|e| {
            let _ = std::fs::remove_file(&path);
            SmtError::NoWayBack(format!("no process could be started to wait: {}", plain(&e)))
        })?;
        Ok(SmtOff { root: self.clone(), now: before.clone(), before, caretaker: Some(caretaker) })
    }

    /// The steps back for `note`, in order: the switch; the CPUs that were off line before, which switching on also
    /// brings on line; then the note is removed.
    fn deeds(&self, note: &Note, path: &Path) -> std::io::Result<Vec<Deed>> {
        let mut deeds = vec![Deed::write(&self.files.path(CONTROL), &note.control.to_string())?];
        for cpu in note.off_line.iter() {
            let switch = self.files.path(&format!("{CPU}/cpu{cpu}/online"));
            deeds.push(Deed::write(&switch, "0")?);
        }
        deeds.push(Deed::remove_file(path)?);
        Ok(deeds)
    }

    /// The CPUs that could be on line and are not.
    fn off_line(&self, on_line: &CpuSet) -> CpuSet {
        let present = self.files.cpu_list("sys/devices/system/cpu/present").unwrap_or_default();
        let has_switch = |cpu: &u32| self.files.exists(&format!("{CPU}/cpu{cpu}/online"));
        present.difference(on_line).iter().filter(has_switch).collect()
    }

    fn write(&self, word: &SmtControl) -> Result<(), SmtError> {
        let write = || sys::perform(&[Deed::write(&self.files.path(CONTROL), &word.to_string())?]);
        write().map_err(|e| match e.kind() {
            std::io::ErrorKind::PermissionDenied => SmtError::NotAllowed(plain(&e)),
            _ => SmtError::Refused(plain(&e)),
        })
    }

    /// Reads back whether the switch says `asked`.
    fn kept(&self, asked: &SmtControl) -> Result<SmtState, SmtError> {
        let state = self.state()?;
        let got = state.control.clone();
        let asked = asked.clone();
        if got == asked { Ok(state) } else { Err(SmtError::NotKept { asked, got }) }
    }
}

/// SMT of the running machine. Thread: any. Cost: three small files.
///
/// # Errors
/// [`SmtError::NoSwitch`] only.
pub fn state() -> Result<SmtState, SmtError> {
    Root::live().state()
}

/// Switches SMT off on the running machine until the answer is dropped, and returns what the system then reports.
///
/// If SMT is off already, this changes nothing, and nothing is undone later. Thread: control, before playing. Cost:
/// milliseconds to seconds, for the whole machine; a process that waits.
///
/// # Errors
/// See [`SmtError`]; after each of them SMT is as it was.
pub fn switch_off() -> Result<SmtOff, SmtError> {
    Root::live().switch_off()
}

/// What a killed process of Hocket left switched off; call it at every start. Cost: one small file.
pub fn left_behind() -> Option<LeftBehind> {
    Root::live().left_behind()
}

/// SMT is off, until this is dropped or [`SmtOff::restore`]d.
#[derive(Debug)]
#[must_use = "dropping it switches SMT back at once"]
pub struct SmtOff {
    root: Root,
    before: SmtState,
    now: SmtState,
    caretaker: Option<Caretaker>,
}

impl SmtOff {
    /// What the system reported before.
    pub fn before(&self) -> &SmtState {
        &self.before
    }

    /// What the system reported after switching.
    pub fn now(&self) -> &SmtState {
        &self.now
    }

    /// Puts the switch back and returns what the system then reports. Cost: like switching off.
    ///
    /// # Errors
    /// [`SmtError::Refused`] and [`SmtError::NotKept`]; then the note stays, and [`left_behind`] finds it when this
    /// process has ended.
    pub fn restore(mut self) -> Result<SmtState, SmtError> {
        let Some(caretaker) = self.caretaker.take() else {
            return self.root.state();
        };
        caretaker.finish().map_err(|e| SmtError::Refused(plain(&e)))?;
        self.root.kept(&self.before.control)
    }
}
