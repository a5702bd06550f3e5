//! `hocket lab report`: what a run shows, on the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use hocket_lab::experiments::find;
use hocket_lab::harness::{
    ContrastResult, Estimate, Results, Sentence, Standing, standard_plots, standard_verdicts,
};
use hocket_lab::store::{RunRecord, Store};
use serde_json::{Value, json};

use super::args::ReportArgs;
use super::condition::Condition;
use super::{failure, open};
use crate::failure::{Exit, Failure};
use crate::output::print;

/// Runs the command.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    args.fail_if.iter().try_for_each(|condition| condition.check())?;
    let store = open(&args.records.records)?;
    let record = store.choose(&args.run).map_err(failure)?;
    show(&store, &record, args.json, &args.fail_if)
}

/// Prints a run and decides how the command ends.
pub(super) fn show(
    store: &Store,
    record: &RunRecord,
    as_json: bool,
    conditions: &[Condition],
) -> Result<Exit, Failure> {
    let all = record.experiments.iter().map(|experiment| store.results(record, experiment));
    let all: Vec<Results> = all.collect::<Result<_, _>>().map_err(failure)?;
    match as_json {
        true => print(&format!("{:#}\n", json_of(record, &all))),
        false => print(&text_of(store, record, &all)),
    }
    judge(&all, conditions)
}

/// A wrong result or a condition that holds is a failure.
fn judge(all: &[Results], conditions: &[Condition]) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for results in all {
        for wrong in results.failed_checks() {
            eprintln!("hocket: {}: wrong result: {wrong}", results.run.id);
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
            eprintln!("hocket: {held}");
            exit = Exit::Missed;
        }
    }
    Ok(exit)
}

fn text_of(store: &Store, record: &RunRecord, all: &[Results]) -> String {
    let mut text = format!(
        "Run {} of {}, begun {}, {}\n",
        record.run,
        store.path().display(),
        record.started_at,
        record.machine()
    );
    text += &clock_line(&record.meta);
    all.iter().for_each(|results| text += &experiment(results));
    text
}

fn clock_line(meta: &Value) -> String {
    let number = |pointer: &str| meta.pointer(pointer).and_then(Value::as_f64);
    let source =
        meta.pointer("/clock/check/clocksource/value").and_then(Value::as_str).unwrap_or("unknown");
    let told = |value: Option<f64>, unit: f64| {
        value.map_or("?".into(), |value| format!("{:.0}", value / unit))
    };
    format!(
        "Clock {source}: {} ns a reading, steps of {} ns, longest gap in 100 ms {} us\n",
        told(number("/clock/check/monotonic_cost_ns"), 1.0),
        told(number("/clock/check/resolution_ns/value"), 1.0),
        told(number("/clock/longest_gap_ns_in_100_ms"), 1000.0)
    )
}

fn experiment(results: &Results) -> String {
    let run = &results.run;
    let about = find(&run.id).map(|experiment| experiment.about());
    let mut text =
        format!("\n{}: {}\n", run.id, about.map_or("(not known to this version)", |a| a.question));
    if let Some(why) = &run.not_measurable {
        return text + &format!("  not measurable here: {why}\n");
    }
    for sentence in verdicts(results) {
        text += &format!("  {}{}\n", mark(sentence.standing), sentence.text);
    }
    text += &table(results);
    let (rounds, flagged) = results.flagged_rounds();
    let end = if run.end.is_empty() { "killed" } else { &run.end };
    text += &format!("  {rounds} rounds, {flagged} of them disturbed; ended: {end}\n");
    run.faults.iter().take(5).for_each(|fault| text += &format!("  fault: {fault}\n"));
    if run.faults.len() > 5 {
        text += &format!("  and {} faults more\n", run.faults.len() - 5);
    }
    text
}

/// What the experiment says of its rows; the standard sentences where this version does not know it or
/// knows another one under its name.
fn verdicts(results: &Results) -> Vec<Sentence> {
    match find(&results.run.id) {
        Some(known) if known.about().definition_digest() == results.run.definition => {
            known.verdicts(results)
        }
        _ => standard_verdicts(results),
    }
}

fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Shown => "* ",
        Standing::NotShown => "  ",
        Standing::NotMeasurable => "- ",
        Standing::Failed => "! ",
    }
}

/// Medians, one line a variant, one column a metric.
fn table(results: &Results) -> String {
    let metrics = results.metrics();
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let heads = metrics.iter().map(|(metric, unit)| right(format!("{metric} [{unit}]")));
    table.set_header(std::iter::once(Cell::new(" variant")).chain(heads));
    for variant in results.variants() {
        let figures =
            metrics.iter().map(|(metric, _)| right(figure(results.estimate(&variant, metric))));
        table.add_row(std::iter::once(Cell::new(format!(" {variant}"))).chain(figures));
    }
    table.lines().map(|line| format!(" {}\n", line.trim_end())).collect()
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn figure(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "-".into(),
        Some(Estimate { value, low: Some(low), high: Some(high) }) => {
            format!("{} [{}, {}]", digits(value), digits(low), digits(high))
        }
        Some(Estimate { value, .. }) => digits(value),
    }
}

/// Four digits that count.
pub(super) fn digits(value: f64) -> String {
    let whole = value.abs().log10().floor().max(0.0);
    let places = if whole.is_finite() { (3.0 - whole).max(0.0) as usize } else { 0 };
    format!("{value:.places$}")
}

fn json_of(record: &RunRecord, all: &[Results]) -> Value {
    json!({
        "run": record.run,
        "uuid": record.uuid,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "host": record.host,
        "seed": record.seed,
        "meta": record.meta,
        "experiments": all.iter().map(experiment_json).collect::<Vec<_>>(),
    })
}

fn experiment_json(results: &Results) -> Value {
    let known = find(&results.run.id);
    let (rounds, flagged) = results.flagged_rounds();
    let plots = known.map_or_else(|| standard_plots(results), |known| known.plots(results));
    json!({
        "run": results.run,
        "rounds": rounds,
        "disturbed_rounds": flagged,
        "failed_checks": results.failed_checks(),
        "verdicts": verdicts(results),
        "contrasts": results.contrasts().iter().map(contrast_json).collect::<Vec<_>>(),
        "figures": figures_json(results),
        "plots": plots,
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
