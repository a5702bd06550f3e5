//! Time: ticks for stamps, their rate, monotonic nanoseconds, absolute sleep, and their costs.
//!
//! Ticks are the processor's cycle counter if it runs at one rate on all cores and through sleep. Else they are the
//! system's monotonic clock. The first use decides, by what the processor *and* the kernel report: a kernel that found
//! the counters of the cores out of step does not offer them as a clock source.
//!
//! Ticks are integers without a unit until a [`TickRate`] gives them one; stamps from different cores may be compared.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::arch;
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field, plain};
use crate::sys;

/// Where ticks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TickSource {
    /// The processor's counter: TSC, CNTVCT.
    Counter,
    /// CLOCK_MONOTONIC: one tick is one nanosecond.
    Monotonic,
}

const UNDECIDED: u8 = 0;
const COUNTER: u8 = 1;
const MONOTONIC: u8 = 2;

/// The first caller writes it once (all callers find the same answer), and all read it. It publishes nothing but itself,
/// so all accesses are relaxed.
static SOURCE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// The tick count now.
///
/// Thread: any, inside a block as well. Cost: some nanoseconds; no system call (the very first call reads a few files).
/// Not ordered with the memory accesses around it, by some tens of cycles.
#[inline]
pub fn ticks() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        COUNTER => arch::raw_ticks(),
        MONOTONIC => sys::monotonic_ns(),
        _ => first_ticks(),
    }
}

#[cold]
fn first_ticks() -> u64 {
    match tick_source() {
        TickSource::Counter => arch::raw_ticks(),
        TickSource::Monotonic => sys::monotonic_ns(),
    }
}

/// Where [`ticks`] come from here.
pub fn tick_source() -> TickSource {
    let source = match SOURCE.load(Ordering::Relaxed) {
        UNDECIDED => decide().0,
        COUNTER => TickSource::Counter,
        _ => TickSource::Monotonic,
    };
    SOURCE
        .store(if source == TickSource::Counter { COUNTER } else { MONOTONIC }, Ordering::Relaxed);
    source
}

/// The source and the reason for it.
fn decide() -> (TickSource, String) {
    let flags = arch::tick_flags();
    if !flags.present {
        return (TickSource::Monotonic, "this processor has no counter that is known here".into());
    }
    if !flags.invariant {
        let why = format!(
            "the processor does not promise that its {} runs at one rate and through sleep",
            flags.name
        );
        return (TickSource::Monotonic, why);
    }
    if kernel_distrusts(&clock_source(), &available_clock_sources()) {
        let why = format!(
            "the kernel does not offer the {} as a clock source: it found it unfit",
            flags.name
        );
        return (TickSource::Monotonic, why);
    }
    (
        TickSource::Counter,
        format!("the {} runs at one rate and through sleep, and the kernel uses it", flags.name),
    )
}

/// Clock sources that are the time-stamp counter behind a hypervisor's scale.
const BUILT_ON_COUNTER: [&str; 4] = ["kvm-clock", "hyperv_clocksource_tsc_page", "xen", "vmware"];

/// Only x86 kernels take the counter out of the list when its copies in the cores drift.
fn kernel_distrusts(current: &Fact<String>, available: &Fact<String>) -> bool {
    let Some(available) = available.value().filter(|_| cfg!(target_arch = "x86_64")) else {
        return false;
    };
    let offers_counter = available.split_whitespace().any(|name| name == "tsc");
    let built_on_it = current.value().is_some_and(|name| BUILT_ON_COUNTER.contains(&name.as_str()));
    !offers_counter && !built_on_it
}

fn clock_source() -> Fact<String> {
    KernelFiles::live().fact("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

fn available_clock_sources() -> Fact<String> {
    KernelFiles::live().fact("sys/devices/system/clocksource/clocksource0/available_clocksource")
}

/// CLOCK_MONOTONIC in nanoseconds. Cost: some tens of nanoseconds, no system call on the common machines.
#[inline]
pub fn monotonic_ns() -> u64 {
    sys::monotonic_ns()
}

/// Sleeps until [`monotonic_ns`] reads at least `deadline_ns`. A signal does not end the sleep; a past deadline does, at
/// once.
///
/// Thread: any; this blocks. How late it wakes up depends on class, timer slack and load: read the clock afterwards.
pub fn sleep_until_ns(deadline_ns: u64) {
    sys::sleep_until_ns(deadline_ns);
}

/// Requests that the kernel end the calling thread's sleeps at most `ns` late to batch wake-ups, and returns what it then
/// reports. 50 us is the default of the ordinary class; real-time threads have no slack. It ends with the thread.
///
/// Thread: any, for itself. Cost: two system calls. 0 restores the thread's default.
pub fn request_timer_slack(ns: u64) -> Fact<u64> {
    let asked = || {
        sys::set_timer_slack_ns(ns)?;
        sys::timer_slack_ns()
    };
    asked().map_err(|e: std::io::Error| format!("prctl: {}", plain(&e))).into()
}

/// How long a tick is, measured against CLOCK_MONOTONIC.
///
/// Conversions saturate and are exact to one unit for times up to days; a rate holds for the process's life, but
/// CLOCK_MONOTONIC itself is slewed by time synchronisation, by at most 500 parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TickRate {
    /// Where the ticks come from.
    pub source: TickSource,
    /// Ticks in a second.
    pub ticks_per_second: f64,
    /// Possible error of the rate, in parts per million, by how closely the two clocks could be read together.
    pub uncertainty_ppm: f64,
    /// Length of the measurement, in nanoseconds; 0 if none was needed.
    pub window_ns: u64,
    /// Nanoseconds per tick in units of 2^-[`SHIFT`].
    #[serde(skip)]
    scale: u64,
}

/// The fixed point of [`TickRate::ticks_to_ns`]: 40 bits keep a part in 10^11 and leave room for ticks of 16 ms.
const SHIFT: u32 = 40;
const NS_PER_S: f64 = 1e9;

impl TickRate {
    /// The rate of this process: measured over 50 ms at the first call, remembered afterwards.
    pub fn get() -> Self {
        static RATE: OnceLock<TickRate> = OnceLock::new();
        *RATE.get_or_init(|| Self::calibrate(Duration::from_millis(50)))
    }

    /// Measures the rate over `window`; longer is better. Thread: control; it sleeps for the window.
    pub fn calibrate(window: Duration) -> Self {
        let source = tick_source();
        if source == TickSource::Monotonic {
            return Self::from_rate(source, NS_PER_S, 0.0, 0);
        }
        let start = Meeting::closest();
        sleep_until_ns(
            start.ns.saturating_add(u64::try_from(window.as_nanos()).unwrap_or(u64::MAX)),
        );
        let end = Meeting::closest();
        let window_ns = end.ns.saturating_sub(start.ns).max(1);
        let ticks = end.ticks.saturating_sub(start.ticks);
        let rate = ticks as f64 * NS_PER_S / window_ns as f64;
        let uncertainty_ppm =
            (start.spread_ns + end.spread_ns) as f64 / 2.0 / window_ns as f64 * 1e6;
        if ticks == 0 {
            // A counter that stands still is none.
            SOURCE.store(MONOTONIC, Ordering::Relaxed);
            return Self::from_rate(TickSource::Monotonic, NS_PER_S, 0.0, 0);
        }
        Self::from_rate(source, rate, uncertainty_ppm, window_ns)
    }

    fn from_rate(
        source: TickSource,
        ticks_per_second: f64,
        uncertainty_ppm: f64,
        window_ns: u64,
    ) -> Self {
        let scale = (NS_PER_S / ticks_per_second * (1_u64 << SHIFT) as f64).round() as u64;
        Self { source, ticks_per_second, uncertainty_ppm, window_ns, scale: scale.max(1) }
    }

    /// Nanoseconds for a number of ticks; saturates.
    #[inline]
    pub fn ticks_to_ns(&self, ticks: u64) -> u64 {
        let ns = (u128::from(ticks) * u128::from(self.scale)) >> SHIFT;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Ticks for a number of nanoseconds; saturates.
    #[inline]
    pub fn ns_to_ticks(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << SHIFT) / u128::from(self.scale);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// The duration of a number of ticks; saturates at 584 years.
    pub fn to_duration(&self, ticks: u64) -> Duration {
        Duration::from_nanos(self.ticks_to_ns(ticks))
    }

    /// Ticks for a duration; saturates.
    pub fn from_duration(&self, duration: Duration) -> u64 {
        self.ns_to_ticks(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A moment at which both clocks were read.
#[derive(Clone, Copy)]
struct Meeting {
    ns: u64,
    ticks: u64,
    /// How far apart the two readings of CLOCK_MONOTONIC around the ticks were.
    spread_ns: u64,
}

impl Meeting {
    /// The closest of several tries: an interrupt between the readings spoils one.
    fn closest() -> Self {
        let tries = (0..64).map(|_| Self::read());
        tries.min_by_key(|m| m.spread_ns).expect("a fixed number of tries")
    }

    fn read() -> Self {
        let before = monotonic_ns();
        let ticks = ticks();
        let after = monotonic_ns();
        let spread_ns = after.saturating_sub(before);
        Self { ns: before + spread_ns / 2, ticks, spread_ns }
    }
}

/// Quality of this machine's clocks, for records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockCheck {
    /// The kernel's clock source.
    pub clocksource: Fact<String>,
    /// The clock sources it could use.
    pub available: Fact<String>,
    /// Where ticks come from.
    pub tick_source: TickSource,
    /// Why they come from there.
    pub tick_source_why: String,
    /// The counter runs at one rate (the kernel's flag `constant_tsc`).
    pub tsc_constant: Fact<bool>,
    /// The counter runs through sleep (the kernel's flag `nonstop_tsc`).
    pub tsc_nonstop: Fact<bool>,
    /// Nanoseconds for reading the ticks once, median.
    pub tick_cost_ns: f64,
    /// Nanoseconds for reading CLOCK_MONOTONIC once, median.
    pub monotonic_cost_ns: f64,
    /// The smallest step seen between two readings of CLOCK_MONOTONIC.
    pub resolution_ns: Fact<u64>,
    /// The step that the kernel claims.
    pub claimed_resolution_ns: Fact<u64>,
    /// Readings of CLOCK_MONOTONIC or of the ticks that were smaller than the one before. Anything but 0 makes the clocks
    /// unfit.
    pub backward_steps: u64,
    /// The rate of the ticks.
    pub rate: TickRate,
}

/// Examines the clocks. Thread: control. Cost: about 60 ms at first, some milliseconds later.
pub fn check() -> ClockCheck {
    let (tick_source, tick_source_why) = decide();
    let (resolution_ns, backward_steps) = steps();
    let claimed = sys::monotonic_step_ns().map_err(|e| format!("clock_getres: {}", plain(&e)));
    ClockCheck {
        clocksource: clock_source(),
        available: available_clock_sources(),
        tick_source,
        tick_source_why,
        tsc_constant: cpu_flag("constant_tsc"),
        tsc_nonstop: cpu_flag("nonstop_tsc"),
        tick_cost_ns: cost_ns(ticks),
        monotonic_cost_ns: cost_ns(monotonic_ns),
        resolution_ns,
        claimed_resolution_ns: claimed.into(),
        backward_steps,
        rate: TickRate::get(),
    }
}

fn cpu_flag(flag: &str) -> Fact<bool> {
    KernelFiles::live().fact("proc/cpuinfo").and_then(|text| match field(&text, "flags") {
        Some(flags) => Fact::Value(flags.split_whitespace().any(|f| f == flag)),
        None => Fact::Unknown("this processor's /proc/cpuinfo has no flags line".into()),
    })
}

/// The median over batches of the time for one call.
fn cost_ns(read: impl Fn() -> u64) -> f64 {
    const BATCH: u32 = 256;
    let batch = || {
        let before = monotonic_ns();
        for _ in 0..BATCH {
            std::hint::black_box(read());
        }
        (monotonic_ns() - before) as f64 / f64::from(BATCH)
    };
    let mut costs: Vec<f64> = (0..33).map(|_| batch()).collect();
    costs.sort_unstable_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// The smallest forward step of CLOCK_MONOTONIC and the number of backward steps of either clock.
fn steps() -> (Fact<u64>, u64) {
    let (mut smallest, mut backward) = (u64::MAX, 0);
    let (mut last_ns, mut last_ticks) = (monotonic_ns(), ticks());
    for _ in 0..20_000 {
        let (ns, now_ticks) = (monotonic_ns(), ticks());
        backward += u64::from(ns < last_ns) + u64::from(now_ticks < last_ticks);
        if ns > last_ns {
            smallest = smallest.min(ns - last_ns);
        }
        (last_ns, last_ticks) = (ns, now_ticks);
    }
    match smallest {
        u64::MAX => (Fact::Unknown("the clock did not move during the check".into()), backward),
        step => (Fact::Value(step), backward),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_inverse_and_saturate() {
        for rate in [1e6, 19.2e6, 1e9, 2.499_998e9, 5.7e9] {
            let rate = TickRate::from_rate(TickSource::Counter, rate, 0.0, 1);
            for ns in [0, 1, 999, 1_333_333, 1_000_000_000, 86_400_000_000_000_u64] {
                let back = rate.ticks_to_ns(rate.ns_to_ticks(ns));
                let one_tick = (1e9 / rate.ticks_per_second).ceil() as u64 + 1;
                assert!(
                    ns.abs_diff(back) <= one_tick + ns / 100_000_000,
                    "{ns} -> {back} at {rate:?}"
                );
            }
            assert!(rate.ticks_to_ns(u64::MAX) > 0);
            assert!(rate.ns_to_ticks(u64::MAX) > 0);
        }
        let slow = TickRate::from_rate(TickSource::Counter, 100.0, 0.0, 1);
        assert_eq!(slow.ticks_to_ns(u64::MAX), u64::MAX);
        assert_eq!(slow.from_duration(Duration::MAX), slow.ns_to_ticks(u64::MAX));
    }

    #[test]
    fn a_monotonic_tick_is_a_nanosecond() {
        let rate = TickRate::from_rate(TickSource::Monotonic, NS_PER_S, 0.0, 0);
        for ns in [0, 1, 12_345_678_901, u64::MAX] {
            assert_eq!((rate.ticks_to_ns(ns), rate.ns_to_ticks(ns)), (ns, ns));
        }
    }

    #[test]
    fn ticks_never_run_backwards_on_one_thread() {
        let mut last = ticks();
        for _ in 0..10_000 {
            let now = ticks();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn a_sleep_never_ends_early() {
        for us in [0, 50, 700] {
            let deadline = monotonic_ns() + us * 1000;
            sleep_until_ns(deadline);
            assert!(monotonic_ns() >= deadline);
        }
        sleep_until_ns(0);
    }

    #[test]
    fn kernel_distrust_needs_a_list_without_the_counter() {
        let list = |text: &str| Fact::Value(text.to_string());
        if cfg!(target_arch = "x86_64") {
            assert!(kernel_distrusts(&list("hpet"), &list("hpet acpi_pm")));
            assert!(!kernel_distrusts(&list("hpet"), &list("tsc hpet acpi_pm")));
            assert!(!kernel_distrusts(&list("kvm-clock"), &list("kvm-clock acpi_pm")));
        }
        assert!(!kernel_distrusts(&list("hpet"), &Fact::Unknown("no sysfs".into())));
    }
}
