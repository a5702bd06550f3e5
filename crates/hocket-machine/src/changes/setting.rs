//! The settings that can be changed for a while: where each one is, and what it says.

use std::fmt;

use crate::cpuset::CpuSet;
use crate::kernel_files::KernelFiles;

/// A setting of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// What chooses the frequency of a CPU (cpufreq).
    Governor {
        /// The CPU.
        cpu: u32,
    },
    /// The CPUs that may handle an interrupt.
    Interrupt {
        /// Its number in `/proc/interrupts`.
        number: u32,
    },
    /// Where the kernel lets a waking thread interrupt its own work (PREEMPT_DYNAMIC).
    Preemption,
}

impl Setting {
    /// Its file, relative to the root.
    pub(super) fn path(self) -> String {
        match self {
            Self::Governor { cpu } => {
                format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
            }
            Self::Interrupt { number } => format!("proc/irq/{number}/smp_affinity_list"),
            Self::Preemption => "sys/kernel/debug/sched/preempt".into(),
        }
    }

    /// What it says now.
    pub(super) fn read(self, files: &KernelFiles) -> Result<String, String> {
        let text = files.text(&self.path())?;
        match self {
            Self::Preemption => chosen(&text).ok_or_else(|| format!("{self}: no mode is marked")),
            _ => Ok(text),
        }
    }

    /// Whether a value has the form of this setting's values. What a note says is written to the setting, so nothing else is
    /// believed.
    pub(super) fn accepts(self, value: &str) -> bool {
        match self {
            Self::Interrupt { .. } => value.parse().is_ok_and(|cpus: CpuSet| !cpus.is_empty()),
            _ => !value.is_empty() && value.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
        }
    }

    /// Whether two values mean the same: the kernel writes lists of CPUs in a form of its own.
    pub(super) fn is_same(self, one: &str, other: &str) -> bool {
        let cpus = |value: &str| value.parse::<CpuSet>().ok();
        one == other || matches!(self, Self::Interrupt { .. }) && cpus(one) == cpus(other)
    }

    /// Its name in a note.
    pub(super) fn name(self) -> String {
        match self {
            Self::Governor { cpu } => format!("governor-{cpu}"),
            Self::Interrupt { number } => format!("interrupt-{number}"),
            Self::Preemption => "preemption".into(),
        }
    }

    /// From its name in a note.
    pub(super) fn named(name: &str) -> Option<Self> {
        let number = |kind: &str| name.strip_prefix(kind)?.parse().ok();
        let governor = || number("governor-").map(|cpu| Self::Governor { cpu });
        let interrupt = || number("interrupt-").map(|number| Self::Interrupt { number });
        governor().or_else(interrupt).or((name == "preemption").then_some(Self::Preemption))
    }
}

/// The full path of its file.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.path())
    }
}

/// `none voluntary (full)`: the word in brackets, or the only one.
fn chosen(text: &str) -> Option<String> {
    let marked = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let only = || Some(text.trim()).filter(|word| !word.is_empty() && !word.contains(' '));
    marked.map(|(word, _)| word).or_else(only).map(str::to_string)
}

/// A value for a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// What it is to say.
    pub value: String,
}

/// This governor for every one of `cpus` that has another one; `Err`: why there is none.
pub(super) fn governors(
    files: &KernelFiles,
    cpus: &[u32],
    governor: &str,
) -> Result<Vec<Change>, String> {
    let settings = cpus.iter().map(|&cpu| Setting::Governor { cpu });
    let there: Vec<Setting> = settings.filter(|setting| files.exists(&setting.path())).collect();
    if there.is_empty() {
        return Err(
            "the kernel does not control the clocks here (no cpufreq driver; a virtual machine?)"
                .into(),
        );
    }
    let differs = |setting: &Setting| setting.read(files).as_deref() != Ok(governor);
    let change = |setting| Change { setting, value: governor.to_string() };
    let changes: Vec<Change> = there.into_iter().filter(differs).map(change).collect();
    match changes.is_empty() {
        true => Err(format!("the governor is `{governor}` already")),
        false => Ok(changes),
    }
}

/// Every interrupt that may come to `cpu` goes to others of `cpus`; `Err`: why there is none.
pub(super) fn interrupts_away(
    files: &KernelFiles,
    cpu: u32,
    cpus: &[u32],
) -> Result<Vec<Change>, String> {
    let others: CpuSet = cpus.iter().copied().filter(|other| *other != cpu).collect();
    if others.is_empty() {
        return Err("there is no other CPU to handle interrupts".into());
    }
    let change = |number: u32| {
        let setting = Setting::Interrupt { number };
        let now: CpuSet = setting.read(files).ok()?.parse().ok()?;
        let rest = now.intersection(&others);
        let value = if rest.is_empty() { &others } else { &rest }.to_string();
        now.contains(cpu).then_some(Change { setting, value })
    };
    let changes: Vec<Change> =
        files.numbered("proc/irq", "").into_iter().filter_map(change).collect();
    match changes.is_empty() {
        true => Err(format!("/proc/irq names no interrupt that may come to CPU {cpu}")),
        false => Ok(changes),
    }
}

/// The kernel's preemption mode; `Err`: why it cannot be another one.
pub(super) fn preemption(files: &KernelFiles, mode: &str) -> Result<Vec<Change>, String> {
    let setting = Setting::Preemption;
    let text = files.text(&setting.path()).map_err(|why| {
        format!(
            "{why}; it takes a kernel with PREEMPT_DYNAMIC, root, and debugfs (mount -t debugfs none /sys/kernel/debug)"
        )
    })?;
    let now = setting.read(files)?;
    if now == mode {
        return Err(format!("the preemption mode is `{mode}` already"));
    }
    let knows = text.split([' ', '(', ')']).any(|word| word == mode);
    // A saved tree has the mode alone.
    match knows || now == text.trim() {
        true => Ok(vec![Change { setting, value: mode.to_string() }]),
        false => Err(format!("this kernel has no preemption mode `{mode}` (it has: {text})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_in_brackets_is_the_one_in_force() {
        assert_eq!(chosen("none (voluntary) full").as_deref(), Some("voluntary"));
        assert_eq!(chosen("full").as_deref(), Some("full"));
        assert_eq!((chosen("none full"), chosen("")), (None, None));
    }

    #[test]
    fn names_in_notes_are_read_back() {
        for setting in
            [Setting::Governor { cpu: 3 }, Setting::Interrupt { number: 24 }, Setting::Preemption]
        {
            assert_eq!(Setting::named(&setting.name()), Some(setting));
        }
        assert_eq!(Setting::named("governor-../../x"), None);
    }

    #[test]
    fn only_values_of_a_settings_form_are_accepted() {
        let interrupt = Setting::Interrupt { number: 1 };
        assert!(interrupt.accepts("0-3,8") && !interrupt.accepts("") && !interrupt.accepts("x"));
        assert!(Setting::Preemption.accepts("voluntary") && !Setting::Preemption.accepts("a b"));
        assert!(interrupt.is_same("0,1,2", "0-2") && !interrupt.is_same("0-1", "0-2"));
        assert!(!Setting::Preemption.is_same("0-2", "0,1,2"));
    }
}
