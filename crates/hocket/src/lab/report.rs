//! `hocket lab report`: what a run shows, on the terminal, as a page or as JSON.

use std::path::Path;

use hocket_lab::harness::{ContrastResult, Results};
use hocket_lab::pages::{self, Chapter, Lab};
use hocket_lab::store::{RunRecord, Store};
use serde_json::{Value, json};

use super::args::{Form, ReportArgs};
use super::condition::Condition;
use super::pictures::Pictures;
use super::{failure, open};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::output::{print, print_json, tell};

/// Where a page goes if no place is named.
const PAGE: &str = "out/lab.html";

/// Runs the command.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    args.fail_if.iter().try_for_each(|condition| condition.check())?;
    let mut files = Files::new(args.force);
    files.reads("--records", &args.records.records);
    let page = args.output.as_deref().or(args.html.then(|| Path::new(PAGE)));
    if let Some(path) = page {
        files.writes(if args.html { "--html" } else { "--output" }, path, Kind::Page)?;
    }
    let store = open(&args.records.records)?;
    let record = store.choose(&args.run).map_err(failure)?;
    let all = results(&store, &record)?;
    let lab = Lab::of(&record, &all);
    let pictures = args.pictures.as_deref();
    let pictures = pictures.map(|folder| Pictures::of(&lab, folder, &mut files)).transpose()?;
    files.make_folders()?;
    if let Some(pictures) = &pictures {
        print(&pictures.write()?);
    }
    match page {
        Some(path) => write_page(&lab, path)?,
        None if pictures.is_some() => {}
        None => show_lab(&lab, args.form()),
    }
    judge(&all, &args.fail_if)
}

/// Prints a run and decides how the command ends.
pub(super) fn show(
    store: &Store,
    record: &RunRecord,
    form: Form,
    conditions: &[Condition],
) -> Result<Exit, Failure> {
    let all = results(store, record)?;
    let lab = Lab::of(record, &all);
    show_lab(&lab, form);
    match judge(&all, conditions)? {
        Exit::Done => Ok(measured(&lab)),
        exit => Ok(exit),
    }
}

/// A run in which rounds failed and no experiment gave a figure was not possible here.
fn measured(lab: &Lab<'_>) -> Exit {
    let failed: Vec<&str> = lab.failed().map(Chapter::id).collect();
    if lab.has_figures() || failed.is_empty() {
        return Exit::Done;
    }
    tell(format_args!(
        "no experiment gave a figure: every round of {} failed; `hocket lab report --all` prints the causes",
        failed.join(", ")
    ));
    Exit::NotPossible
}

fn results(store: &Store, record: &RunRecord) -> Result<Vec<Results>, Failure> {
    let all = record.experiments.iter().map(|experiment| store.results(record, experiment));
    all.collect::<Result<_, _>>().map_err(failure)
}

fn show_lab(lab: &Lab<'_>, form: Form) {
    match form {
        Form::Short => print(&pages::short(lab)),
        Form::All => print(&pages::text(lab)),
        Form::Json => print_json(&format!("{:#}\n", json_of(lab))),
    }
}

/// Under its final name only when complete.
fn write_page(lab: &Lab<'_>, path: &Path) -> Result<(), Failure> {
    hocket_lab::record::write_text_atomic(path, &pages::html(lab)).map_err(Failure::not_written)?;
    crate::written::wrote(path);
    Ok(())
}

/// A wrong result or a condition that holds is a failure.
fn judge(all: &[Results], conditions: &[Condition]) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for results in all {
        for wrong in results.failed_checks() {
            tell(format_args!("{}: wrong result: {wrong}", results.run.id));
            exit = Exit::Missed;
        }
    }
    for condition in conditions {
        let results = all.iter().find(|results| results.run.id == condition.id());
        let results = results.ok_or_else(|| {
            Failure::bad_input(format!(
                "--fail-if \"{condition}\": the run has no experiment '{}'",
                condition.id()
            ))
        })?;
        for held in condition.holding(results)? {
            tell(held);
            exit = Exit::Missed;
        }
    }
    Ok(exit)
}

fn json_of(lab: &Lab<'_>) -> Value {
    let record = lab.record;
    json!({
        "run": record.run,
        "uuid": record.uuid,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "host": record.host,
        "seed": record.seed,
        "meta": record.meta,
        "experiments": lab.chapters.iter().map(experiment_json).collect::<Vec<_>>(),
    })
}

fn experiment_json(chapter: &Chapter<'_>) -> Value {
    let results = chapter.results;
    let (rounds, flagged) = results.flagged_rounds();
    json!({
        "run": results.run,
        "rounds": rounds,
        "disturbed_rounds": flagged,
        "failed_checks": results.failed_checks(),
        "verdicts": chapter.sentences,
        "contrasts": chapter.contrasts.iter().map(contrast_json).collect::<Vec<_>>(),
        "figures": figures_json(results),
        "plots": chapter.plots,
    })
}

fn figures_json(results: &Results) -> Vec<Value> {
    let metrics = results.metrics();
    let of = |variant: &String| {
        let figure = |(metric, unit): &(String, String)| {
            json!({
                "variant": variant,
                "metric": metric,
                "unit": unit,
                "estimate": results.estimate(variant, metric),
                "distribution": results.distribution(variant, metric),
            })
        };
        metrics.iter().map(figure).collect::<Vec<_>>()
    };
    results.variants().iter().flat_map(of).collect()
}

fn contrast_json(contrast: &ContrastResult) -> Value {
    let comparison = |c: Option<hocket_lab::stats::Comparison>| {
        c.map(|c| {
            json!({
                "ratio": c.ratio,
                "low": c.interval.map(|i| i.low),
                "high": c.interval.map(|i| i.high),
                "rounds": c.rounds,
            })
        })
    };
    json!({
        "reference": contrast.reference,
        "candidate": contrast.candidate,
        "metric": contrast.metric,
        "all_rounds": comparison(contrast.all),
        "undisturbed_rounds": comparison(contrast.quiet),
        "floor": contrast.floor,
        "standing": contrast.standing,
    })
}
