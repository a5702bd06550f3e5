//! What is looked at, and what each thing means for audio threads. One function for each check.

use hocket_machine::facts::MachineFacts;
use hocket_machine::grants::{Grant, GrantName};
use hocket_machine::kernel_settings::KernelSettings;
use hocket_machine::rtkit::RtkitFiles;
use hocket_machine::{Fact, clock::ClockCheck};

use super::finding::{Check, Finding};
use super::wakeups::{Lateness, WakeUps};
use super::{figures, memory, rtkit, sound_card, timers};

/// What was read and measured.
pub(super) struct Examined {
    pub facts: MachineFacts,
    pub settings: KernelSettings,
    pub grants: Vec<Grant>,
    pub rtkit: RtkitFiles,
    pub clock: ClockCheck,
    /// Kinds of core with counters, or why there are none.
    pub cores: Result<String, String>,
    pub wake_ups: Option<WakeUps>,
}

/// All checks, the most important first.
pub(super) fn findings(examined: &Examined) -> Vec<Finding> {
    let Examined { facts, settings, grants, rtkit, clock, cores, wake_ups } = examined;
    vec![
        real_time(grants),
        rtkit::check(rtkit, grants),
        memory::lock(grants),
        wake_up(wake_ups.as_ref()),
        governor(facts),
        idle_states(settings, grants),
        smt(facts),
        clock_source(facts, clock),
        timers::check(settings, clock, wake_ups.as_ref()),
        virtual_machine(facts),
        preemption(facts),
        sound_card::check(settings),
        throttle(facts),
        memory::swap(facts, settings),
        memory::numa_balancing(settings),
        memory::huge_pages(settings),
        load(facts),
        counters(grants, cores),
    ]
}

pub(super) fn grant(grants: &[Grant], name: GrantName) -> Option<&Grant> {
    grants.iter().find(|grant| grant.name == name)
}

fn real_time(grants: &[Grant]) -> Finding {
    const CHECK: Check = Check {
        name: "real-time priority",
        why: "without it, every other program can run before the audio",
        measured: Some(figures::CLASSES),
    };
    let ways = [
        (GrantName::RealTimePriority, "SCHED_FIFO"),
        (GrantName::RealTimePortal, "the desktop's portal"),
        (GrantName::Rtkit, "RealtimeKit"),
    ];
    let granted = ways.iter().find_map(|(name, way)| {
        grant(grants, *name).filter(|grant| grant.granted).map(|grant| (way, &grant.detail))
    });
    if let Some((way, detail)) = granted {
        return CHECK.good(format!("granted by {way}: {detail}"));
    }
    let why_not = grant(grants, GrantName::RealTimePriority).map_or("", |grant| &grant.detail);
    CHECK.problem(
        format!("not granted: {why_not}"),
        "as root: usermod -aG audio NAME, with a line `@audio - rtprio 95` in /etc/security/limits.d (Hocket's Debian \
         package brings one); then log in again. On a desktop, the package rtkit does as well",
    )
}

fn wake_up(wake_ups: Option<&WakeUps>) -> Finding {
    const CHECK: Check = Check {
        name: "wake-ups",
        why: "a thread that wakes up a whole period late loses that block, whatever the program does",
        measured: Some(figures::WAKE_UPS),
    };
    let Some(wake_ups) = wake_ups else { return CHECK.unknown("not measured") };
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
        0 => CHECK.good(found),
        missed => CHECK.problem(
            format!(
                "{found}. {missed} of {} wake-ups came a whole period of 64 frames at 48 kHz late",
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
    const CHECK: Check = Check {
        name: "frequency governor",
        why: "with another one than `performance`, a CPU that was idle begins a block with a slow clock",
        measured: None,
    };
    let governors = facts.clocks.values().filter_map(|clock| clock.governor.value());
    let mut governors: Vec<&str> = governors.map(String::as_str).collect();
    governors.sort_unstable();
    governors.dedup();
    match governors.as_slice() {
        [] => CHECK.unknown("the kernel does not control the clocks here"),
        ["performance"] => CHECK.good("performance"),
        some => CHECK.advice(
            some.join(", "),
            "as root, before you play: cpupower frequency-set -g performance",
        ),
    }
}

/// A state with a longer way back than this takes a noticeable part of a short block.
const LONG_WAY_BACK_US: u64 = 100;

fn idle_states(settings: &KernelSettings, grants: &[Grant]) -> Finding {
    const CHECK: Check = Check {
        name: "idle states",
        why: "a block that begins on a sleeping CPU begins later by the time that it takes to wake",
        measured: None,
    };
    let states = match &settings.idle_states {
        Fact::Value(states) => states,
        Fact::Unknown(why) => return CHECK.unknown(&**why),
    };
    let Some(deepest) = states.iter().max_by_key(|state| state.exit_latency_us) else {
        return CHECK.good("all are switched off");
    };
    let found = format!("the deepest is {}: {} µs to wake", deepest.name, deepest.exit_latency_us);
    if deepest.exit_latency_us <= LONG_WAY_BACK_US {
        return CHECK.good(found);
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
    CHECK.advice(found, remedy)
}

fn smt(facts: &MachineFacts) -> Finding {
    const CHECK: Check = Check {
        name: "SMT",
        why: "a program on the other half of a core slows the audio thread down, and no priority helps",
        measured: Some(figures::SIBLINGS),
    };
    match facts.smt.value().map(String::as_str) {
        Some("on") => CHECK.advice(
            "on: two hardware threads share each core",
            "`hocket tune` measures here which sibling policy pays; leave SMT on until it says otherwise",
        ),
        Some(state) => CHECK.good(format!("{state}: no sibling can slow an audio thread")),
        None => CHECK.unknown(facts.smt.why().unwrap_or("unknown")),
    }
}

fn clock_source(facts: &MachineFacts, clock: &ClockCheck) -> Finding {
    const CHECK: Check = Check {
        name: "clock",
        why: "programs read the clock several times per block, and some clocks are slow or coarse",
        measured: Some(figures::CLOCK),
    };
    let cost = format!("reading it takes {:.0} ns (measured now)", clock.monotonic_cost_ns);
    match facts.clocksource.value() {
        Some(source) if matches!(&**source, "hpet" | "acpi_pm" | "jiffies") => CHECK.problem(
            format!("{source}; {cost}"),
            "boot without `clocksource=` and `notsc`; if the kernel log calls the TSC unstable, update the firmware",
        ),
        Some(source) => CHECK.good(format!("{source}; {cost}")),
        None => CHECK.unknown(facts.clocksource.why().unwrap_or("unknown")),
    }
}

fn virtual_machine(facts: &MachineFacts) -> Finding {
    const CHECK: Check = Check {
        name: "virtual machine",
        why: "a host takes CPUs away when it likes, and nothing inside the machine can prevent it",
        measured: Some(figures::HOST),
    };
    match facts.hypervisor.value().map(String::as_str) {
        Some("none") => CHECK.good("no"),
        Some(name) => CHECK.advice(
            format!("yes: {name}"),
            "play on the machine itself; for tests, expect late blocks whose cause is steal",
        ),
        None => CHECK.unknown(facts.hypervisor.why().unwrap_or("unknown")),
    }
}

fn preemption(facts: &MachineFacts) -> Finding {
    const CHECK: Check = Check {
        name: "kernel preemption",
        why: "without it, the kernel finishes long system calls of others before it wakes the audio",
        measured: None,
    };
    match facts.preemption.value().map(String::as_str) {
        Some(mode @ ("full" | "lazy" | "rt")) => CHECK.good(mode),
        Some(mode) => CHECK.advice(mode, "boot with preempt=full, or use a real-time kernel"),
        None => CHECK.unknown(facts.preemption.why().unwrap_or("unknown")),
    }
}

fn throttle(facts: &MachineFacts) -> Finding {
    const CHECK: Check = Check {
        name: "real-time throttle",
        why: "without it, a real-time thread that runs wild stops the machine; Hocket's workers stay below it because they sleep",
        measured: None,
    };
    match facts.real_time_throttle.value() {
        Some(limit) if limit == "unlimited" => {
            CHECK.advice("off", "as root: sysctl kernel.sched_rt_runtime_us=950000")
        }
        Some(limit) => CHECK.good(&**limit),
        None => CHECK.unknown(facts.real_time_throttle.why().unwrap_or("unknown")),
    }
}

fn load(facts: &MachineFacts) -> Finding {
    const CHECK: Check = Check {
        name: "load",
        why: "threads without real-time priority wait for each other, those that read your disks included",
        measured: Some(figures::CLASSES),
    };
    let cpus = facts.clocks.len().max(1);
    match &facts.load {
        Fact::Value([one, ..]) if *one > cpus as f64 => CHECK.advice(
            format!("{one:.1} threads want to run on {cpus} CPUs"),
            "close what you do not need while you play",
        ),
        Fact::Value([one, ..]) => CHECK.good(format!("{one:.1} threads on {cpus} CPUs")),
        Fact::Unknown(why) => CHECK.unknown(&**why),
    }
}

fn counters(grants: &[Grant], cores: &Result<String, String>) -> Finding {
    const CHECK: Check = Check {
        name: "hardware counters",
        why: "audio does not need them; `hocket bench --counters` says with them why a block takes as long as it does",
        measured: None,
    };
    let grant = grant(grants, GrantName::HardwareCounters);
    match (cores, grant) {
        (Ok(cores), Some(grant)) if grant.granted => {
            CHECK.good(format!("events of {cores} can be counted"))
        }
        (Err(why), _) => CHECK.unknown(&**why),
        (Ok(_), Some(grant)) => {
            let remedy = grant.remedy.as_deref().map_or(String::new(), |it| format!("; {it}"));
            CHECK.unknown(format!("{}{remedy}", grant.detail))
        }
        (Ok(_), None) => CHECK.unknown("not looked at"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hocket_machine::facts::CpuClock;
    use hocket_machine::kernel_settings::IdleState;
    use hocket_machine::{clock, facts, kernel_settings};

    use super::super::finding::Verdict::{self, Advice, Good, Problem, Unknown};
    use super::*;

    /// This machine, but for what a test sets.
    fn with(set: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
        let mut facts = facts::read();
        set(&mut facts);
        facts
    }

    fn known(text: &str) -> Fact<String> {
        Fact::Value(text.into())
    }

    fn unknown<T>() -> Fact<T> {
        Fact::Unknown("not here".into())
    }

    /// As many CPUs, with these governors.
    fn clocks(governors: &[&str]) -> BTreeMap<u32, CpuClock> {
        let clock = |governor: &&str| CpuClock {
            governor: known(governor),
            min_khz: unknown(),
            max_khz: unknown(),
            now_khz: unknown(),
        };
        (0..).zip(governors.iter().map(clock)).collect()
    }

    #[track_caller]
    fn check(finding: &Finding, verdict: Verdict, words: &[&str]) {
        assert_eq!(finding.verdict, verdict, "{finding:?}");
        let text = format!("{} {}", finding.found, finding.remedy.as_deref().unwrap_or_default());
        for word in words {
            assert!(text.contains(word), "nothing about '{word}': {finding:?}");
        }
    }

    #[test]
    fn every_governor_but_performance_is_named_with_the_command() {
        let of = |governors: &[&str]| governor(&with(|it| it.clocks = clocks(governors)));
        check(&of(&["performance"; 2]), Good, &["performance"]);
        let some = of(&["powersave", "performance", "powersave"]);
        check(&some, Advice, &["performance, powersave", "cpupower frequency-set -g performance"]);
        check(&of(&[]), Unknown, &[]);
    }

    #[test]
    fn idle_states_are_judged_by_the_longest_way_back() {
        let of = |states: Fact<&[u64]>, may_limit| {
            let state = |us: &u64| IdleState { name: format!("way of {us}"), exit_latency_us: *us };
            let idle_states = states.map(|states| states.iter().map(state).collect());
            let settings = KernelSettings { idle_states, ..kernel_settings::read() };
            let (name, detail) = (GrantName::SleepLimit, String::new());
            let grant = Grant { name, granted: may_limit, detail, remedy: None };
            super::idle_states(&settings, &[grant])
        };
        check(&of(Fact::Value(&[1, 100]), false), Good, &["way of 100"]);
        check(&of(Fact::Value(&[101, 1]), false), Advice, &["way of 101", "cpupower idle-set"]);
        check(&of(Fact::Value(&[890]), true), Advice, &["hold /dev/cpu_dma_latency open"]);
        check(&of(Fact::Value(&[]), false), Good, &["switched off"]);
        check(&of(unknown(), false), Unknown, &["not here"]);
    }

    #[test]
    fn what_the_kernel_says_of_itself_is_judged() {
        let of = |value: Fact<String>| smt(&with(|it| it.smt = value));
        check(&of(known("on")), Advice, &["hocket tune"]);
        check(&of(known("notsupported")), Good, &["no sibling"]);
        check(&of(unknown()), Unknown, &["not here"]);

        let of = |value: Fact<String>| virtual_machine(&with(|it| it.hypervisor = value));
        check(&of(known("none")), Good, &["no"]);
        check(&of(known("KVM")), Advice, &["KVM", "steal"]);
        check(&of(unknown()), Unknown, &["not here"]);

        let of = |value: Fact<String>| preemption(&with(|it| it.preemption = value));
        for mode in ["full", "lazy", "rt"] {
            check(&of(known(mode)), Good, &[mode]);
        }
        check(&of(known("voluntary")), Advice, &["voluntary", "preempt=full"]);
        check(&of(unknown()), Unknown, &["not here"]);

        let of = |value: Fact<String>| throttle(&with(|it| it.real_time_throttle = value));
        check(&of(known("950000 of 1000000 µs")), Good, &["950000"]);
        check(&of(known("unlimited")), Advice, &["kernel.sched_rt_runtime_us=950000"]);
        check(&of(unknown()), Unknown, &["not here"]);
    }

    #[test]
    fn slow_clock_sources_are_problems() {
        let measured = clock::check();
        let of = |value| clock_source(&with(|it| it.clocksource = value), &measured);
        check(&of(known("tsc")), Good, &["tsc", "measured now"]);
        for source in ["hpet", "acpi_pm", "jiffies"] {
            check(&of(known(source)), Problem, &[source, "notsc"]);
        }
        check(&of(unknown()), Unknown, &["not here"]);
    }

    #[test]
    fn a_load_is_too_much_where_more_threads_want_to_run_than_there_are_cpus() {
        let of =
            |value| load(&with(|it| (it.load, it.clocks) = (value, clocks(&["performance"; 2]))));
        check(&of(Fact::Value([2.0, 9.0, 9.0])), Good, &["2.0 threads on 2 CPUs"]);
        check(&of(Fact::Value([2.1, 0.0, 0.0])), Advice, &["2.1 threads", "close"]);
        check(&of(unknown()), Unknown, &["not here"]);
    }
}
