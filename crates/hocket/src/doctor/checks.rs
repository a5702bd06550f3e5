//! What is looked at, and what each thing means for audio threads. One function for each check.

use hocket_machine::facts::MachineFacts;
use hocket_machine::grants::{Grant, GrantName};
use hocket_machine::kernel_settings::KernelSettings;
use hocket_machine::{Fact, clock::ClockCheck};
use serde::Serialize;

use super::timers;
use super::wakeups::{Lateness, WakeUps};

/// What was read and measured.
pub(super) struct Examined {
    pub facts: MachineFacts,
    pub settings: KernelSettings,
    pub grants: Vec<Grant>,
    pub clock: ClockCheck,
    /// Kinds of core with counters, or why there are none.
    pub cores: Result<String, String>,
    pub wake_ups: Option<WakeUps>,
}

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Good,
    /// Makes audio late on many machines.
    Problem,
    /// May make it late, or costs something else.
    Advice,
    /// Cannot be seen here.
    Unknown,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at.
    pub check: &'static str,
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// Why it matters; none for what is good or unknown.
    pub why: Option<String>,
    /// What to do.
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn good(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, verdict: Verdict::Good, found: found.into(), why: None, remedy: None }
    }

    pub(super) fn unknown(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Unknown, ..Finding::good(check, found) }
    }

    pub(super) fn advice(
        check: &'static str,
        found: impl Into<String>,
        why: &str,
        remedy: &str,
    ) -> Finding {
        let (why, remedy) = (Some(why.into()), Some(remedy.into()));
        Finding { verdict: Verdict::Advice, why, remedy, ..Finding::good(check, found) }
    }

    pub(super) fn problem(
        check: &'static str,
        found: impl Into<String>,
        why: &str,
        remedy: &str,
    ) -> Finding {
        Finding { verdict: Verdict::Problem, ..Finding::advice(check, found, why, remedy) }
    }
}

/// All checks, the most important first.
pub(super) fn findings(examined: &Examined) -> Vec<Finding> {
    let Examined { facts, settings, grants, clock, cores, wake_ups } = examined;
    vec![
        real_time(grants),
        memory_lock(grants),
        wake_up(wake_ups.as_ref()),
        governor(facts),
        idle_states(settings, grants),
        smt(facts),
        clock_source(facts, clock),
        timers::check(settings, clock, wake_ups.as_ref()),
        virtual_machine(facts),
        preemption(facts),
        sound_interrupts(settings),
        throttle(facts),
        swap(facts, settings),
        numa_balancing(settings),
        huge_pages(settings),
        load(facts),
        counters(grants, cores),
    ]
}

fn grant(grants: &[Grant], name: GrantName) -> Option<&Grant> {
    grants.iter().find(|grant| grant.name == name)
}

fn real_time(grants: &[Grant]) -> Finding {
    let check = "real-time priority";
    let ways = [
        (GrantName::RealTimePriority, "SCHED_FIFO"),
        (GrantName::RealTimePortal, "the desktop's portal"),
        (GrantName::Rtkit, "RealtimeKit"),
    ];
    let granted = ways.iter().find_map(|(name, way)| {
        grant(grants, *name).filter(|grant| grant.granted).map(|grant| (way, &grant.detail))
    });
    if let Some((way, detail)) = granted {
        return Finding::good(check, format!("granted by {way}: {detail}"));
    }
    let why_not = grant(grants, GrantName::RealTimePriority).map_or("", |grant| &grant.detail);
    Finding::problem(
        check,
        format!("not granted: {why_not}"),
        "every other program can then run before the audio",
        "as root: usermod -aG audio NAME, with a line `@audio - rtprio 95` in /etc/security/limits.d (Hocket's Debian \
         package brings one); then log in again. On a desktop, the package rtkit does as well",
    )
}

fn memory_lock(grants: &[Grant]) -> Finding {
    let check = "locked memory";
    match grant(grants, GrantName::MemoryLock) {
        Some(grant) if grant.granted => Finding::good(check, &*grant.detail),
        Some(grant) => Finding::problem(
            check,
            &*grant.detail,
            "memory that is swapped out takes milliseconds to come back, in the middle of a block",
            grant.remedy.as_deref().unwrap_or("raise RLIMIT_MEMLOCK"),
        ),
        None => Finding::unknown(check, "not looked at"),
    }
}

fn wake_up(wake_ups: Option<&WakeUps>) -> Finding {
    let check = "wake-ups";
    let Some(wake_ups) = wake_ups else { return Finding::unknown(check, "not measured") };
    let (late, ordinary) = (wake_ups.real_time.as_ref(), &wake_ups.ordinary);
    let found = match late {
        Some(late) => format!(
            "measured now: a thread with the audio class ({}) {}; an ordinary thread {}",
            wake_ups.way.label(),
            lateness(late),
            lateness(ordinary)
        ),
        None => format!("measured now: an ordinary thread {}", lateness(ordinary)),
    };
    let late = late.unwrap_or(ordinary);
    match late.periods_missed {
        0 => Finding::good(check, found),
        missed => Finding::problem(
            check,
            found,
            &format!(
                "{missed} of {} wake-ups came a whole period of 64 frames at 48 kHz late. No audio program can play \
                 such blocks in time",
                late.count
            ),
            "use longer blocks, or look for the cause below; `hocket lab run priority` measures longer",
        ),
    }
}

fn lateness(late: &Lateness) -> String {
    format!(
        "woke {:.0} µs late in the median, {:.0} µs at p99, {:.0} µs at most ({} wake-ups)",
        late.median_us, late.p99_us, late.max_us, late.count
    )
}

fn governor(facts: &MachineFacts) -> Finding {
    let check = "frequency governor";
    let governors = facts.clocks.values().filter_map(|clock| clock.governor.value());
    let mut governors: Vec<&str> = governors.map(String::as_str).collect();
    governors.sort_unstable();
    governors.dedup();
    match governors.as_slice() {
        [] => Finding::unknown(check, "the kernel does not control the clocks here"),
        ["performance"] => Finding::good(check, "performance"),
        some => Finding::advice(
            check,
            some.join(", "),
            "a CPU that was idle begins a block with a slow clock",
            "as root, before you play: cpupower frequency-set -g performance",
        ),
    }
}

/// A state with a longer way back than this takes a noticeable part of a short block.
const LONG_WAY_BACK_US: u64 = 100;

fn idle_states(settings: &KernelSettings, grants: &[Grant]) -> Finding {
    let check = "idle states";
    let states = match &settings.idle_states {
        Fact::Value(states) => states,
        Fact::Unknown(why) => return Finding::unknown(check, &**why),
    };
    let Some(deepest) = states.iter().max_by_key(|state| state.exit_latency_us) else {
        return Finding::good(check, "all are switched off");
    };
    let found = format!("the deepest is {}: {} µs to wake", deepest.name, deepest.exit_latency_us);
    if deepest.exit_latency_us <= LONG_WAY_BACK_US {
        return Finding::good(check, found);
    }
    let may = grant(grants, GrantName::SleepLimit).is_some_and(|grant| grant.granted);
    let remedy = match may {
        true => {
            "hold /dev/cpu_dma_latency open with a small value while you play, as `tuned` does (as root: tuned-adm profile \
             latency-performance)"
        }
        false => {
            "as root: cpupower idle-set -D 50; or let the group audio open /dev/cpu_dma_latency with a udev rule"
        }
    };
    Finding::advice(
        check,
        found,
        "a block that begins on a sleeping CPU begins that much later",
        remedy,
    )
}

fn smt(facts: &MachineFacts) -> Finding {
    let check = "SMT";
    match facts.smt.value().map(String::as_str) {
        Some("on") => Finding::advice(
            check,
            "on: two hardware threads share each core",
            "a program on the other half of a core slows the audio thread down, and no priority helps",
            "`hocket tune` measures here which sibling policy pays; leave SMT on until it says otherwise",
        ),
        Some(state) => {
            Finding::good(check, format!("{state}: no sibling can slow an audio thread"))
        }
        None => Finding::unknown(check, facts.smt.why().unwrap_or("unknown")),
    }
}

fn clock_source(facts: &MachineFacts, clock: &ClockCheck) -> Finding {
    let check = "clock";
    let cost = format!("reading it takes {:.0} ns (measured now)", clock.monotonic_cost_ns);
    match facts.clocksource.value() {
        Some(source) if matches!(&**source, "hpet" | "acpi_pm" | "jiffies") => Finding::problem(
            check,
            format!("{source}; {cost}"),
            "programs read the clock several times per block, and this one is slow or coarse",
            "boot without `clocksource=` and `notsc`; if the kernel log calls the TSC unstable, update the firmware",
        ),
        Some(source) => Finding::good(check, format!("{source}; {cost}")),
        None => Finding::unknown(check, facts.clocksource.why().unwrap_or("unknown")),
    }
}

fn virtual_machine(facts: &MachineFacts) -> Finding {
    let check = "virtual machine";
    match facts.hypervisor.value().map(String::as_str) {
        Some("none") => Finding::good(check, "no"),
        Some(name) => Finding::advice(
            check,
            format!("yes: {name}"),
            "the host takes CPUs away when it likes, and nothing in here can prevent it",
            "play on the machine itself; for tests, expect late blocks whose cause is steal",
        ),
        None => Finding::unknown(check, facts.hypervisor.why().unwrap_or("unknown")),
    }
}

fn preemption(facts: &MachineFacts) -> Finding {
    let check = "kernel preemption";
    match facts.preemption.value().map(String::as_str) {
        Some(mode @ ("full" | "lazy" | "rt")) => Finding::good(check, mode),
        Some(mode) => Finding::advice(
            check,
            mode,
            "the kernel then finishes long system calls of others before it wakes the audio",
            "boot with preempt=full, or use a real-time kernel",
        ),
        None => Finding::unknown(check, facts.preemption.why().unwrap_or("unknown")),
    }
}

fn sound_interrupts(settings: &KernelSettings) -> Finding {
    let check = "sound card";
    let cards = match &settings.sound_cards {
        Fact::Value(cards) if !cards.is_empty() => cards.join(", "),
        Fact::Value(_) => return Finding::unknown(check, "the kernel knows no sound card"),
        Fact::Unknown(_) => return Finding::unknown(check, "this kernel has no sound cards"),
    };
    match (settings.threaded_interrupts.value(), settings.sound_interrupts.as_slice()) {
        (Some(true), []) => {
            Finding::good(check, format!("{cards}; its interrupt has no thread of its own (USB?)"))
        }
        (Some(true), threads) => {
            let each =
                threads.iter().map(|thread| format!("{} at {}", thread.name, thread.priority));
            Finding::good(check, format!("{cards}; {}", each.collect::<Vec<_>>().join(", ")))
        }
        _ => Finding::advice(
            check,
            format!("{cards}; interrupts have no threads"),
            "the interrupts of disks and networks then come before the audio, whatever its priority",
            "boot with threadirqs, and give the card's interrupt a priority above 70 (package rtirq-init)",
        ),
    }
}

fn throttle(facts: &MachineFacts) -> Finding {
    let check = "real-time throttle";
    match facts.real_time_throttle.value() {
        Some(limit) if limit == "unlimited" => Finding::advice(
            check,
            "off",
            "a real-time thread that runs wild then stops the machine",
            "as root: sysctl kernel.sched_rt_runtime_us=950000",
        ),
        Some(limit) => Finding::good(
            check,
            format!("{limit}; Hocket's workers stay below it because they sleep"),
        ),
        None => Finding::unknown(check, facts.real_time_throttle.why().unwrap_or("unknown")),
    }
}

/// Kernel's default is 60. At 10, the kernel swaps only when memory is short.
const HIGH_SWAPPINESS: u32 = 10;

fn swap(facts: &MachineFacts, settings: &KernelSettings) -> Finding {
    let check = "swap";
    let used = match &facts.swap_used_bytes {
        Fact::Value(used) => *used,
        Fact::Unknown(why) => return Finding::unknown(check, &**why),
    };
    let swappiness = settings.swappiness.value().copied();
    let found = match swappiness {
        Some(number) => format!("{} MiB in use, swappiness {number}", used >> 20),
        None => format!("{} MiB in use", used >> 20),
    };
    match used > 0 && swappiness.is_none_or(|number| number > HIGH_SWAPPINESS) {
        false => Finding::good(check, found),
        true => Finding::advice(
            check,
            found,
            "Hocket locks what its blocks touch, but its other threads and your desktop wait for the disk",
            "close programs, and as root: sysctl vm.swappiness=10",
        ),
    }
}

fn numa_balancing(settings: &KernelSettings) -> Finding {
    let check = "NUMA balancing";
    match settings.numa_balancing {
        Fact::Value(true) => Finding::advice(
            check,
            "on",
            "the kernel takes pages away from threads to see who uses them, and each costs a page fault in a block",
            "as root: sysctl kernel.numa_balancing=0",
        ),
        Fact::Value(false) => Finding::good(check, "off"),
        Fact::Unknown(_) => Finding::good(check, "not in this kernel"),
    }
}

fn huge_pages(settings: &KernelSettings) -> Finding {
    let check = "huge pages";
    match settings.huge_page_defrag.value().map(String::as_str) {
        Some("always") => Finding::advice(
            check,
            "defrag is `always`",
            "a program that asks for memory may wait for the kernel to move pages",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
        ),
        Some(mode) => Finding::good(check, format!("defrag is `{mode}`")),
        None => Finding::unknown(check, settings.huge_page_defrag.why().unwrap_or("unknown")),
    }
}

fn load(facts: &MachineFacts) -> Finding {
    let check = "load";
    let cpus = facts.clocks.len().max(1);
    match &facts.load {
        Fact::Value([one, ..]) if *one > cpus as f64 => Finding::advice(
            check,
            format!("{one:.1} threads want to run on {cpus} CPUs"),
            "threads without real-time priority wait for each other, those that read your disks included",
            "close what you do not need while you play",
        ),
        Fact::Value([one, ..]) => Finding::good(check, format!("{one:.1} threads on {cpus} CPUs")),
        Fact::Unknown(why) => Finding::unknown(check, &**why),
    }
}

/// Audio does not need them; `hocket bench --counters` does.
fn counters(grants: &[Grant], cores: &Result<String, String>) -> Finding {
    let check = "hardware counters";
    let grant = grant(grants, GrantName::HardwareCounters);
    match (cores, grant) {
        (Ok(cores), Some(grant)) if grant.granted => {
            Finding::good(check, format!("events of {cores} can be counted"))
        }
        (Err(why), _) => Finding::unknown(check, &**why),
        (Ok(_), Some(grant)) => {
            let remedy = grant.remedy.as_deref().map_or(String::new(), |it| format!("; {it}"));
            Finding::unknown(check, format!("{}{remedy}", grant.detail))
        }
        (Ok(_), None) => Finding::unknown(check, "not looked at"),
    }
}
