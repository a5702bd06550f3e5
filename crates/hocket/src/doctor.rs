//! `hocket doctor`: whether this machine is fit for real-time audio; what was found, why it matters, what to do.

mod checks;
mod figures;
mod finding;
mod memory;
mod rtkit;
mod sound_card;
mod timers;
mod wakeups;

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use hocket_machine::counters::CoreEvents;
use hocket_machine::{clock, facts, grants, kernel_settings};
use serde_json::json;

use crate::cli::DoctorArgs;
use crate::failure::{Exit, Failure};
use crate::{interrupt, output};
use checks::{Examined, findings};
use finding::{Finding, Verdict};

/// Runs the command.
///
/// # Errors
/// Ctrl-C cannot be caught: exit code 3.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    // Relaxed: the flag publishes nothing.
    let stops = || interrupted.load(Relaxed);
    let examined = examine(args, &stops);
    let findings = findings(&examined);
    match args.json {
        true => output::print_json(&format!("{:#}\n", json_of(&examined, &findings))),
        false => output::print(&text(&findings)),
    }
    let has_problem = findings.iter().any(|finding| finding.verdict == Verdict::Problem);
    Ok(match () {
        () if stops() => Exit::Interrupted,
        () if args.check && has_problem => Exit::Missed,
        () => Exit::Done,
    })
}

fn examine(args: &DoctorArgs, stops: &dyn Fn() -> bool) -> Examined {
    // Load and wake-ups first: what follows is work of its own.
    let facts = facts::read();
    let wake_ups = match args.seconds {
        0 => None,
        _ => wakeups::measure(args.length(), stops),
    };
    Examined {
        facts,
        wake_ups,
        settings: kernel_settings::read(),
        grants: grants::probe(),
        // The question for grants may have started it.
        rtkit: hocket_machine::rtkit::read(),
        clock: clock::check(),
        cores: cores(),
    }
}

/// The kinds of core whose events can be counted, as a sentence names them.
fn cores() -> Result<String, String> {
    let here = CoreEvents::here()?;
    let names: Vec<String> =
        here.cores().map(|(unit, core)| format!("{} ({unit})", core.name)).collect();
    Ok(names.join(", "))
}

/// Problems first, then advice, then what is good or unknown: each with why it matters.
fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for verdict in [Verdict::Problem, Verdict::Advice, Verdict::Good, Verdict::Unknown] {
        let those = findings.iter().filter(|finding| finding.verdict == verdict);
        those.for_each(|finding| write_finding(&mut out, finding));
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (problems, advice) = (count(Verdict::Problem), count(Verdict::Advice));
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let _ = match (problems, advice) {
        (0, 0) => writeln!(out, "\nNo problem found."),
        (0, _) => {
            writeln!(out, "\nNo problem, {advice} thing{} that may cost you blocks.", s(advice))
        }
        _ => writeln!(
            out,
            "\n{problems} problem{}, {advice} thing{} that may cost you blocks.",
            s(problems),
            s(advice)
        ),
    };
    out
}

fn write_finding(out: &mut String, finding: &Finding) {
    let mark = match finding.verdict {
        Verdict::Good => "ok",
        Verdict::Problem => "PROBLEM",
        Verdict::Advice => "advice",
        Verdict::Unknown => "unknown",
    };
    let _ = writeln!(out, "{mark:<9}{}: {}", finding.check, finding.found);
    let _ = writeln!(out, "{:<9}why: {}", "", finding.why);
    if let Some(figure) = &finding.measured {
        let _ = writeln!(out, "{:<9}measured: {figure}", "");
    }
    if let Some(remedy) = &finding.remedy {
        let _ = writeln!(out, "{:<9}do: {remedy}", "");
    }
}

fn json_of(examined: &Examined, findings: &[Finding]) -> serde_json::Value {
    json!({ "format": "hocket-doctor/1", "findings": findings, "wake_ups": examined.wake_ups })
}
