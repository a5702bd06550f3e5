//! `hocket lab list`.

use std::time::Duration;

use hocket_lab::experiments::ALL;
use hocket_lab::harness::{Experiment, Host, Section, Size};
use serde_json::{Value, json};

use super::args::ListArgs;
use super::run::{FULL_EACH, QUICK_ALL, QUICK_EACH, QUICK_ONE};
use crate::failure::{Exit, Failure};
use crate::output::{print, print_json};

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let host = Host::discover().map_err(Failure::not_possible)?;
    match args.json {
        true => {
            let all: Vec<Value> =
                ALL.iter().map(|experiment| as_json(*experiment, &host)).collect();
            print_json(&format!("{:#}\n", Value::from(all)));
        }
        false => print(&text(&host)),
    }
    Ok(Exit::Done)
}

fn as_json(experiment: &dyn Experiment, host: &Host) -> Value {
    let about = experiment.about();
    let (variants, why) = match experiment.design(host, Size::Full) {
        Ok(design) => (design.turns(), None),
        Err(why) => (0, Some(why.0)),
    };
    json!({
        "id": about.id,
        "section": about.section.title(),
        "question": about.question,
        "variants": variants,
        "not_measurable": why,
        "quick_s": why.is_none().then(|| quick_each().as_secs_f64()),
        "full_s": why.is_none().then(|| FULL_EACH.as_secs_f64()),
    })
}

/// The time that each experiment has in a quick run of all.
fn quick_each() -> Duration {
    QUICK_EACH.min(QUICK_ALL / ALL.len() as u32)
}

/// How long runs take: an experiment ends before its time where its intervals are narrow enough.
fn durations(host: &Host) -> String {
    let can_run = |experiment: &&&dyn Experiment| experiment.design(host, Size::Full).is_ok();
    let here = ALL.iter().filter(can_run).count() as u32;
    let row = |command: &str, each: Duration, all: Duration| {
        format!("  {command:24}{:>10}{:>10}\n", time(each), time(all))
    };
    format!(
        "Longest times, for the {here} experiments that this machine can run:\n  {:24}{:>10}{:>10}\n",
        "", "each", "together"
    ) + &row("hocket lab run", quick_each(), quick_each() * here)
        + &row("hocket lab run --full", FULL_EACH, FULL_EACH * here)
        + &row("hocket lab run ID", QUICK_ONE, QUICK_ONE * 2)
        + "One experiment runs together with aa. Starting processes comes on top.\n"
}

/// `9 s`, `4.5 min`.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds < 90.0 {
        true => format!("{seconds:.0} s"),
        false => format!("{:.0} min", seconds / 60.0),
    }
}

fn text(host: &Host) -> String {
    let width = ALL.iter().map(|experiment| experiment.about().id.len()).max().unwrap_or(0);
    let mut text = durations(host);
    let mut section: Option<Section> = None;
    for experiment in ALL {
        let about = experiment.about();
        if section.replace(about.section) != Some(about.section) {
            text += &format!("\n{}\n", about.section.title());
        }
        text += &format!("  {:width$}  {}\n", about.id, about.question);
        let note = match experiment.design(host, Size::Full) {
            Err(why) => Some(format!("not measurable here: {why}")),
            Ok(design) if !design.missing.is_empty() => {
                let names: Vec<_> = design.missing.iter().map(|(name, _)| name.as_str()).collect();
                Some(format!("without {} here", names.join(", ")))
            }
            Ok(_) => None,
        };
        text += &note.map(|note| format!("  {:width$}  ({note})\n", "")).unwrap_or_default();
    }
    text
}
