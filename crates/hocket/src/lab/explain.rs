//! `hocket lab explain`.

use hocket_lab::harness::{Better, Experiment, Host, Size};
use hocket_lab::numbers::printed;
use serde_json::json;

use super::args::ExplainArgs;
use super::names;
use crate::failure::{Exit, Failure};
use crate::output::{print, print_json};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let experiment = names::experiment(&args.id)?;
    if args.json {
        let about = experiment.about();
        let text = json!({
            "about": about,
            "definition": about.definition_digest(),
            "historic": experiment.historic(),
        });
        print_json(&format!("{text:#}\n"));
    } else {
        print(&text(experiment));
    }
    Ok(Exit::Done)
}

fn text(experiment: &dyn Experiment) -> String {
    let about = experiment.about();
    let mut text = format!("{}: {}\n", about.id, about.question);
    text += &paragraph("Origin", about.origin);
    text += &paragraph("Method", about.method);
    for metric in about.metrics {
        let unit = if metric.unit.is_empty() { "no unit" } else { printed(metric.unit) };
        let better = match metric.better {
            Better::Less => ", less is better",
            Better::More => ", more is better",
            Better::Neither => "",
        };
        text += &paragraph(&format!("Figure {} ({unit}{better})", metric.name), metric.definition);
    }
    text += &paragraph("Limits", about.limits);
    let constants: Vec<String> = about.parameters.iter().map(ToString::to_string).collect();
    text += &paragraph("Constants", &constants.join("; "));
    for old in experiment.historic() {
        let differs = old.differs.map_or(String::new(), |what| format!(" Not compared: {what}"));
        let line = format!(
            "{}: {} {}: {}{differs} ({})",
            old.label,
            old.value,
            printed(old.unit),
            old.definition,
            old.source
        );
        text += &paragraph("Historic figure", &line);
    }
    text += &here(experiment);
    text + &paragraph("Definition", &about.definition_digest())
}

fn here(experiment: &dyn Experiment) -> String {
    let design = Host::discover().and_then(|host| experiment.design(&host, Size::Full));
    match design {
        Err(why) => paragraph("Here", &format!("not measurable: {why}")),
        Ok(design) => {
            let names: Vec<_> =
                design.variants.iter().map(|variant| variant.name.as_str()).collect();
            let missing = design
                .missing
                .iter()
                .map(|(variant, why)| paragraph(&format!("Not here: {variant}"), why));
            paragraph("Variants here", &names.join(", ")) + &missing.collect::<String>()
        }
    }
}

/// A heading and a text below it, both indented and broken at 96 columns.
pub(super) fn paragraph(heading: &str, text: &str) -> String {
    let mut lines = format!("\n{heading}\n ");
    let mut width = 1;
    for word in text.split_whitespace() {
        if width + 1 + word.len() > 96 {
            lines += "\n ";
            width = 1;
        }
        lines += " ";
        lines += word;
        width += 1 + word.len();
    }
    lines + "\n"
}
