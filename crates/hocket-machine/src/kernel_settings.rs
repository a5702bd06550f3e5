//! What an administrator can set, and what makes audio threads late when it is set badly: memory, idle states, interrupts.
//!
//! This module reads the system's own files. It measures nothing and changes nothing. A setting that cannot be read says
//! why.

use serde::Serialize;

use crate::fact::Fact;
use crate::kernel_files::KernelFiles;

/// The settings of one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelSettings {
    /// How readily the kernel moves memory of programs to swap space, 0 to 200 (`vm.swappiness`).
    pub swappiness: Fact<u32>,
    /// Swap space that is switched on; empty where none is (`/proc/swaps`).
    pub swaps: Fact<Vec<SwapArea>>,
    /// Whether the kernel takes pages away from programs to see on which memory node they belong (`kernel.numa_balancing`).
    pub numa_balancing: Fact<bool>,
    /// When the kernel stops a thread to put huge pages together (`transparent_hugepage/defrag`): `always`, `defer`,
    /// `defer+madvise`, `madvise`, `never`.
    pub huge_page_defrag: Fact<String>,
    /// Whether interrupts are handled by threads, which have priorities (`threadirqs`, or a real-time kernel).
    pub threaded_interrupts: Fact<bool>,
    /// The idle states that the first CPU may enter, shallowest first.
    pub idle_states: Fact<Vec<IdleState>>,
    /// The sound cards that the kernel knows, by their names.
    pub sound_cards: Fact<Vec<String>>,
    /// The threads that handle interrupts of sound cards.
    pub sound_interrupts: Vec<InterruptThread>,
    /// The device that wakes threads of the first CPU at a set time, such as `lapic-deadline` or `hpet`.
    pub timer_device: Fact<String>,
    /// By how much the kernel may wake an ordinary thread of this process late, to join wake-ups.
    pub timer_slack_ns: Fact<u64>,
}

/// A piece of swap space that is switched on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwapArea {
    /// The device or file.
    pub name: String,
    /// How large it is, in bytes.
    pub bytes: u64,
    /// How much of it is in use, in bytes.
    pub used_bytes: u64,
}

impl SwapArea {
    /// Whether it is compressed memory (zram), and no disk.
    pub fn is_in_memory(&self) -> bool {
        self.name.starts_with("/dev/zram")
    }
}

/// A state in which an idle CPU waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdleState {
    /// The name, such as `C6`.
    pub name: String,
    /// How long the CPU takes to come back, as the driver says, in microseconds.
    pub exit_latency_us: u64,
}

/// A thread of the kernel that handles an interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterruptThread {
    /// The name, such as `irq/128-snd_hda_intel`.
    pub name: String,
    /// Its real-time priority, 0 if it has none.
    pub priority: u8,
}

/// Reads the settings. Thread: control. Cost: a few files, and one for each process.
pub fn read() -> KernelSettings {
    Settings { files: KernelFiles::live() }.read()
}

const CPU_IDLE: &str = "sys/devices/system/cpu/cpu0/cpuidle";
const TIMER_DEVICE: &str = "sys/devices/system/clockevents/clockevent0/current_device";

struct Settings {
    files: KernelFiles,
}

impl Settings {
    fn read(&self) -> KernelSettings {
        let number = |path: &str| self.files.number::<u32>(path);
        KernelSettings {
            swappiness: number("proc/sys/vm/swappiness").into(),
            swaps: self.swaps(),
            numa_balancing: number("proc/sys/kernel/numa_balancing").map(|mode| mode != 0).into(),
            huge_page_defrag: self.chosen("sys/kernel/mm/transparent_hugepage/defrag"),
            threaded_interrupts: self.threaded_interrupts(),
            idle_states: self.idle_states(),
            sound_cards: self.sound_cards(),
            sound_interrupts: self.sound_interrupts(),
            timer_device: self.files.fact(TIMER_DEVICE),
            timer_slack_ns: self.files.number::<u64>("proc/self/timerslack_ns").into(),
        }
    }

    /// A heading, then lines of name, kind, size and use in KiB, and priority.
    fn swaps(&self) -> Fact<Vec<SwapArea>> {
        let area = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, _, kib, used_kib, ..] = words[..] else { return None };
            let bytes = |kib: &str| Some(kib.parse::<u64>().ok()?.saturating_mul(1024));
            Some(SwapArea { name: name.into(), bytes: bytes(kib)?, used_bytes: bytes(used_kib)? })
        };
        self.files.fact("proc/swaps").map(|text| text.lines().skip(1).filter_map(area).collect())
    }

    /// The word in brackets of a file that lists choices.
    fn chosen(&self, path: &str) -> Fact<String> {
        self.files.fact(path).and_then(|text| {
            let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            let none = || Fact::Unknown(format!("/{path}: no choice is marked"));
            word.map_or_else(none, |(word, _)| Fact::Value(word.to_string()))
        })
    }

    fn threaded_interrupts(&self) -> Fact<bool> {
        if self.files.number::<u8>("sys/kernel/realtime") == Ok(1) {
            return Fact::Value(true);
        }
        let line = self.files.fact("proc/cmdline");
        line.map(|line| line.split_whitespace().any(|word| word == "threadirqs"))
    }

    /// States that are switched off do not count.
    fn idle_states(&self) -> Fact<Vec<IdleState>> {
        let numbers = self.files.numbered(CPU_IDLE, "state");
        if numbers.is_empty() {
            let why = "the kernel has no idle states here (no cpuidle driver; a virtual machine?)";
            return Fact::Unknown(why.into());
        }
        let state = |number: &u32| {
            let path = |name: &str| format!("{CPU_IDLE}/state{number}/{name}");
            let is_off = self.files.number::<u8>(&path("disable")).is_ok_and(|off| off != 0);
            let exit_latency_us = self.files.number(&path("latency")).ok().filter(|_| !is_off)?;
            Some(IdleState { name: self.files.text(&path("name")).ok()?, exit_latency_us })
        };
        Fact::Value(numbers.iter().filter_map(state).collect())
    }

    /// Lines such as ` 0 [PCH            ]: HDA-Intel - HDA Intel PCH`; the lines between say where a card sits.
    fn sound_cards(&self) -> Fact<Vec<String>> {
        self.files.fact("proc/asound/cards").map(|text| {
            let name = |line: &str| Some(line.split_once("]: ")?.1.trim().to_string());
            text.lines().filter_map(name).collect()
        })
    }

    fn sound_interrupts(&self) -> Vec<InterruptThread> {
        let processes = self.files.numbered("proc", "");
        processes.into_iter().filter_map(|process| self.sound_interrupt(process)).collect()
    }

    fn sound_interrupt(&self, process: u32) -> Option<InterruptThread> {
        let stat = self.files.text(&format!("proc/{process}/stat")).ok()?;
        let (before, rest) = stat.rsplit_once(')')?;
        let name = before.split_once('(')?.1;
        if !(name.starts_with("irq/") && name.contains("snd")) {
            return None;
        }
        // Field 40 of proc_pid_stat(5); `rest` begins with field 3.
        let priority = rest.split_whitespace().nth(40 - 3)?.parse().ok()?;
        Some(InterruptThread { name: name.to_string(), priority })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> KernelSettings {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Settings { files: KernelFiles::at(root.path()) }.read()
    }

    #[test]
    fn a_machine_without_files_is_unknown_and_never_zero() {
        let settings = machine(&[]);
        assert!(settings.swappiness.why().is_some() && settings.numa_balancing.why().is_some());
        assert!(settings.swaps.why().is_some_and(|why| why.contains("/proc/swaps")));
        assert!(settings.idle_states.why().is_some() && settings.sound_cards.why().is_some());
        assert!(settings.threaded_interrupts.why().is_some());
        assert!(settings.timer_device.why().is_some() && settings.timer_slack_ns.why().is_some());
    }

    #[test]
    fn the_timer_of_the_first_cpu_and_the_slack_are_read() {
        let settings =
            machine(&[(TIMER_DEVICE, "lapic-deadline\n"), ("proc/self/timerslack_ns", "50000\n")]);
        assert_eq!(settings.timer_device, Fact::Value("lapic-deadline".into()));
        assert_eq!(settings.timer_slack_ns, Fact::Value(50_000));
    }

    #[test]
    fn swap_that_is_switched_on_is_told_from_none() {
        let heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        let none = machine(&[("proc/swaps", heading)]).swaps;
        assert_eq!(none, Fact::Value(Vec::new()));
        let lines = format!(
            "{heading}/dev/dm-1                               partition\t8388604\t\t12\t\t-2\n\
             /dev/zram0                              partition\t1024\t\t0\t\t100\n"
        );
        let swaps = machine(&[("proc/swaps", &lines)]).swaps.value().cloned().expect("two");
        let names: Vec<(&str, bool)> =
            swaps.iter().map(|area| (&*area.name, area.is_in_memory())).collect();
        assert_eq!(names, [("/dev/dm-1", false), ("/dev/zram0", true)]);
        assert_eq!((swaps[0].bytes, swaps[0].used_bytes), (8_388_604 << 10, 12 << 10));
    }

    #[test]
    fn a_real_time_kernel_handles_interrupts_in_threads_without_being_asked() {
        let asked = machine(&[("proc/cmdline", "quiet threadirqs")]);
        let real_time = machine(&[("proc/cmdline", "quiet"), ("sys/kernel/realtime", "1\n")]);
        let neither = machine(&[("proc/cmdline", "quiet nothreadirqs")]);
        assert_eq!(asked.threaded_interrupts, Fact::Value(true));
        assert_eq!(real_time.threaded_interrupts, Fact::Value(true));
        assert_eq!(neither.threaded_interrupts, Fact::Value(false));
    }

    #[test]
    fn idle_states_that_are_switched_off_do_not_count() {
        let state = |number: u32, file: &str| format!("{CPU_IDLE}/state{number}/{file}");
        let all: Vec<(String, &str)> = vec![
            (state(0, "name"), "POLL"),
            (state(0, "latency"), "0"),
            (state(1, "name"), "C1"),
            (state(1, "latency"), "2"),
            (state(2, "name"), "C6"),
            (state(2, "latency"), "133"),
            (state(2, "disable"), "1"),
        ];
        let files: Vec<(&str, &str)> = all.iter().map(|(path, text)| (&**path, *text)).collect();
        let states = machine(&files).idle_states.value().cloned().expect("states");
        let names: Vec<&str> = states.iter().map(|state| &*state.name).collect();
        assert_eq!(names, ["POLL", "C1"]);
    }

    #[test]
    fn cards_and_the_threads_of_their_interrupts_are_found() {
        let cards = " 0 [PCH            ]: HDA-Intel - HDA Intel PCH\n                      at 0xa1 irq 128\n";
        // Fields 3 to 41 of proc_pid_stat(5), numbered, but for the priority.
        let fields: Vec<String> =
            (3..=41).map(|n| if n == 40 { "50".into() } else { n.to_string() }).collect();
        let stat = format!("77 (irq/128-snd_hda (x)) {}", fields.join(" "));
        let settings = machine(&[
            ("proc/asound/cards", cards),
            ("proc/77/stat", &stat),
            ("proc/78/stat", "78 (irq/9-acpi) S"),
        ]);
        assert_eq!(settings.sound_cards, Fact::Value(vec!["HDA-Intel - HDA Intel PCH".into()]));
        let thread = InterruptThread { name: "irq/128-snd_hda (x)".into(), priority: 50 };
        assert_eq!(settings.sound_interrupts, [thread]);
    }

    #[test]
    fn the_marked_choice_is_the_one_in_force() {
        let path = "sys/kernel/mm/transparent_hugepage/defrag";
        let settings = machine(&[(path, "always defer [madvise] never")]);
        assert_eq!(settings.huge_page_defrag, Fact::Value("madvise".into()));
        assert!(machine(&[(path, "always never")]).huge_page_defrag.why().is_some());
    }
}
