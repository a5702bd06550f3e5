//! `hocket lab list`.

use hocket_lab::experiments::ALL;
use hocket_lab::harness::{Experiment, Host, Section, Size};
use serde_json::{Value, json};

use super::args::ListArgs;
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
    })
}

fn text(host: &Host) -> String {
    let width = ALL.iter().map(|experiment| experiment.about().id.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut section: Option<Section> = None;
    for experiment in ALL {
        let about = experiment.about();
        if section.replace(about.section) != Some(about.section) {
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}\n", about.section.title());
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
