//! The system's timers: what wakes a thread at a set time, how fine it is, and how late sleeps end here.

use hocket_machine::Fact;
use hocket_machine::clock::ClockCheck;
use hocket_machine::kernel_settings::KernelSettings;

use super::figures;
use super::finding::{Check, Finding};
use super::wakeups::{Lateness, WakeUps};

const CHECK: Check = Check {
    name: "timers",
    why: "Hocket's threads sleep until a block is due; a sleep that ends late, or at the kernel's next tick, leaves less time to \
          compute it",
    measured: Some(figures::SLEEPS),
};
/// A kernel with high-resolution timers states a step of 1 ns, one without them that of its tick: 1 to 10 ms.
const FINE_STEP_NS: u64 = 1_000;
/// A sleep that ends later than this in the median takes a noticeable part of a short block. With high-resolution timers
/// it is some tens of microseconds.
const LATE_SLEEP_US: f64 = 200.0;

/// The finding. What was not measured is never good.
pub(super) fn check(
    settings: &KernelSettings,
    clock: &ClockCheck,
    wake_ups: Option<&WakeUps>,
) -> Finding {
    let late = wake_ups.map(|all| all.real_time.as_ref().unwrap_or(&all.ordinary));
    let step_ns = match &clock.claimed_resolution_ns {
        Fact::Value(step_ns) => *step_ns,
        Fact::Unknown(why) => return CHECK.unknown(&**why),
    };
    let parts = [Some(step(step_ns)), device(settings), source(clock), slack(settings)];
    let parts = parts.into_iter().flatten().chain([late.map_or("not measured".into(), sleeps)]);
    judged(step_ns, late, parts.collect::<Vec<_>>().join("; "))
}

fn judged(step_ns: u64, late: Option<&Lateness>, found: String) -> Finding {
    match late {
        _ if step_ns > FINE_STEP_NS => CHECK.problem(
            format!("{found}; a block of 64 frames lasts 1.3 ms"),
            "boot without `highres=off` and `nohz=off`; else use a kernel with CONFIG_HIGH_RES_TIMERS",
        ),
        Some(late) if late.median_us > LATE_SLEEP_US => CHECK.advice(
            found,
            "see idle states and governor; in a virtual machine, play on the machine itself; `hocket lab run wake` \
             measures longer",
        ),
        Some(_) => CHECK.good(found),
        None => CHECK.unknown(found),
    }
}

fn step(step_ns: u64) -> String {
    match step_ns > FINE_STEP_NS {
        false => format!("high resolution ({step_ns} ns)"),
        true => format!("no high resolution: steps of {:.1} ms", step_ns as f64 / 1e6),
    }
}

fn device(settings: &KernelSettings) -> Option<String> {
    settings.timer_device.value().map(|name| format!("device {name}"))
}

fn source(clock: &ClockCheck) -> Option<String> {
    clock.clocksource.value().map(|name| format!("clock source {name}"))
}

fn slack(settings: &KernelSettings) -> Option<String> {
    let ns = settings.timer_slack_ns.value()?;
    Some(format!("ordinary threads may wake {:.0} µs late", *ns as f64 / 1e3))
}

fn sleeps(late: &Lateness) -> String {
    format!(
        "{} sleeps, measured now, ended {:.0} µs late at p50, {:.0} µs at p99",
        late.count, late.median_us, late.p99_us
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    fn late(median_us: f64) -> Lateness {
        let p99_us = 2.0 * median_us;
        Lateness { count: 700, median_us, p99_us, max_us: p99_us, periods_missed: 0 }
    }

    fn verdict(step_ns: u64, late: Option<&Lateness>) -> Verdict {
        judged(step_ns, late, String::new()).verdict
    }

    #[test]
    fn timers_that_count_the_kernels_ticks_are_a_problem_however_early_sleeps_end() {
        assert_eq!(verdict(4_000_000, Some(&late(10.0))), Verdict::Problem);
        assert_eq!(verdict(4_000_000, None), Verdict::Problem);
        assert_eq!(step(4_000_000), "no high resolution: steps of 4.0 ms");
    }

    #[test]
    fn fine_timers_are_judged_by_how_late_sleeps_end() {
        assert_eq!(verdict(1, Some(&late(60.0))), Verdict::Good);
        let advice = judged(1, Some(&late(900.0)), "found".into());
        assert_eq!(advice.verdict, Verdict::Advice);
        assert!(!advice.why.is_empty() && advice.remedy.is_some());
        assert_eq!(verdict(1, None), Verdict::Unknown);
    }

    #[test]
    fn what_was_measured_has_its_unit() {
        let text = sleeps(&late(61.2));
        assert_eq!(text, "700 sleeps, measured now, ended 61 µs late at p50, 122 µs at p99");
    }
}
