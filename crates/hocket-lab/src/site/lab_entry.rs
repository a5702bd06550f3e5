//! A run of the lab, from its record file.

use serde_json::Value;

use super::bench_entry::program;
use super::entry::{Capacity, Detail, Entry, Figure, Lab, page_name};
use super::frame;
use super::identity::Machine;
use super::search::Candidate;
use crate::foreign::plain;
use crate::harness::{Estimate, Results, TWIN};
use crate::numbers::capital;
use crate::pages;
use crate::store::{RunRecord, Store, StoreError};

/// The experiment whose curves of all machines are on one plot.
pub(super) const CAPACITY: &str = "capacity";

/// What the site knows of a run, and its page.
pub(super) fn of(
    store: &Store,
    run: &RunRecord,
    file: &Candidate,
) -> Result<(Entry, String), StoreError> {
    let all = results(store, run)?;
    let lab = pages::Lab::of(run, &all);
    let day = run.started_at.split('T').next().unwrap_or_default();
    let ids: Vec<String> = all.iter().map(|it| plain(&it.run.id)).collect();
    let text = |pointer: &str| run.meta.pointer(pointer).and_then(Value::as_str);
    let edited = run.meta.pointer("/build/dirty").and_then(Value::as_bool) == Some(true);
    let entry = Entry {
        path: file.path.clone(),
        shown: file.shown.clone(),
        kind: "lab run".into(),
        begun: Some(run.started_at.clone()),
        machine: Machine::of(run.meta.get("machine").unwrap_or(&Value::Null)),
        subject: subject(&ids, text("/size")),
        program: program(
            text("/build/version").unwrap_or("unknown"),
            text("/build/commit"),
            edited,
        ),
        finding: format!("{}.", capital(lab.title().trim_end_matches('.'))),
        remarks: ending(run),
        page: page_name("lab", &format!("{day} run {}", run.run), &run.uuid),
        figures: all.iter().flat_map(figures).collect(),
        detail: Detail::Lab(Lab {
            run: Some(run.run),
            host: run.host.clone(),
            experiments: ids,
            capacity: all.iter().find(|it| it.run.id == CAPACITY).and_then(capacity),
        }),
    };
    let page = pages::html_with(&lab, &frame::way_back());
    Ok((entry, page))
}

/// The rows of all experiments.
pub(super) fn results(store: &Store, run: &RunRecord) -> Result<Vec<Results>, StoreError> {
    run.experiments.iter().map(|experiment| store.results(run, experiment)).collect()
}

/// More names of experiments than this are counted.
const MOST_NAMES: usize = 4;

/// `quick: pi, wake`, or how many there are.
pub(super) fn subject(experiments: &[String], size: Option<&str>) -> String {
    let named = match experiments.len() {
        0 => "no experiment".into(),
        1..=MOST_NAMES => experiments.join(", "),
        n => format!("{n} experiments"),
    };
    size.map_or_else(|| named.clone(), |size| format!("{named}, {}", plain(size)))
}

fn ending(run: &RunRecord) -> Vec<String> {
    let is_whole = run.end().starts_with("ended");
    (!is_whole).then(|| format!("{}.", capital(&plain(&run.end())))).into_iter().collect()
}

fn figures(results: &Results) -> Vec<Figure> {
    let id = plain(&results.run.id);
    let metrics = results.metrics();
    let of = |variant: &String| {
        let figure = |(metric, unit): &(String, String)| {
            Some(Figure {
                name: format!("{id}: {}, {}", plain(variant), plain(metric)),
                unit: unit.clone(),
                estimate: results.estimate(variant, metric)?,
            })
        };
        metrics.iter().filter_map(figure).collect::<Vec<Figure>>()
    };
    let variants = results.variants();
    variants.iter().filter(|name| !name.ends_with(TWIN)).flat_map(of).collect()
}

fn capacity(results: &Results) -> Option<Capacity> {
    let of = |variant: &String| Some((frames(variant)?, results.estimate(variant, CHANNELS)?));
    curve(
        results.variants().iter().filter_map(of),
        &results.run.definition,
        results.run.size.name(),
    )
}

/// The metric of that experiment.
pub(super) const CHANNELS: &str = "channels";

/// The frames per block that a variant of that experiment is named after.
pub(super) fn frames(variant: &str) -> Option<f64> {
    variant.strip_suffix("-frames")?.parse::<u32>().ok().map(f64::from)
}

/// The curve, by rising length of the block; `None` where nothing was measured.
pub(super) fn curve(
    points: impl Iterator<Item = (f64, Estimate)>,
    definition: &str,
    size: &str,
) -> Option<Capacity> {
    let mut points: Vec<(f64, Estimate)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (definition, size) = (plain(definition), plain(size));
    (!points.is_empty()).then_some(Capacity { definition, size, points })
}
