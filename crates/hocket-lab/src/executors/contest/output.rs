//! Table and record of a contest.

use serde_json::{Value, json};

use hocket_machine::Topology;

use super::figures::{Figures, Promise, Ratio, Summary};
use super::play::{COUNTED, Played, Run, Who};
use super::{Outcome, Setup};
use crate::executors::options::Options;
use crate::executors::output::{self, comes};
use crate::executors::rows::{self, Begun};
use crate::harness::Variant;
use crate::store::{BenchSeries, is_store};

/// What a record calls itself.
const FORMAT: &str = "hocket-executors-contest/1";

pub(super) fn head(options: &Options, setup: &Setup) {
    println!(
        "executors: {} rounds of {COUNTED} blocks of {} frames at {} Hz each, in turns; {}; before that {:.1} s of auto alone{}",
        setup.rounds,
        setup.frames,
        setup.rate_hz,
        match options.random {
            Some(count) => format!("{count} random graphs of seed {}", setup.seed),
            None => "named graphs".into(),
        },
        setup.settle_ns as f64 / 1e9,
        options.hostile.map_or(String::new(), |hostile| format!("; hostile: {}", hostile.words()))
    );
    println!("{}", crate::stats::ONE_START);
    println!(
        "{:<7} {:<32} {:>9} {:<20}  {:>6} {:>8} {:>6} {:>8}  {:<20} {:>6}  {:<20} {:<18} auto ends with",
        "graph",
        "",
        "serial µs",
        "serial again",
        "lists",
        "dataflow",
        "steal",
        "critical",
        "auto by serial",
        "mean",
        "auto by best fixed",
        "best",
    );
}

pub(super) fn row(played: &Played, figures: &Figures) {
    let fixed: Vec<f64> = figures.fixed.iter().map(|(_, ratio)| ratio.ratio).collect();
    let [lists, dataflow, steal, critical] = fixed[..] else { return };
    let [one, other] = figures.best;
    println!(
        "{:<7} {:<32} {:>9.1} {:<20}  {lists:>6.2} {dataflow:>8.2} {steal:>6.2} {critical:>8.2}  {:<20} {:>6.3}  {:<20} {:<18} {}",
        played.graph,
        played.words,
        figures.serial_ns / 1000.0,
        words(&figures.again),
        words(&figures.auto_by_serial),
        figures.auto_by_serial_mean,
        words(&figures.auto_by_best),
        if one == other { one.to_owned() } else { format!("{one}, {other}") },
        played.runs.iter().find(|run| run.who == Who::Auto).map_or(String::new(), plan),
    );
}

fn words(ratio: &Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", ratio.ratio, ratio.interval.low, ratio.interval.high)
}

/// `critical x 2, came 1.00 0.97`.
fn plan(run: &Run) -> String {
    let (kind, workers) = run.plan;
    format!("{} x {workers}, came {}", kind.name(), comes(&run.came))
}

pub(super) fn summary(summary: &Summary) {
    println!(
        "{} graphs; several workers are best on {}; the A/A pair differs on {}; median graph: auto by serial {:.3}, auto by best fixed {:.3}",
        summary.graphs,
        summary.parallel_pays,
        summary.again_differs,
        summary.typical[0],
        summary.typical[1]
    );
    for Promise { words, exceeded, broken, worst } in &summary.promises {
        let worst: Vec<String> =
            worst.iter().map(|(name, ratio)| format!("{name} {ratio:.3}")).collect();
        println!(
            "  {words}: {exceeded} graphs, on {broken} of them with the whole interval; largest: {}",
            worst.join(", ")
        );
    }
}

pub(super) fn save(
    options: &Options,
    setup: &Setup,
    topology: &Topology,
    results: &[Outcome],
    summary: &Summary,
    begun: &Begun,
) -> Result<(), String> {
    let Some(path) = &options.record else { return Ok(()) };
    if is_store(path) {
        let series: Vec<BenchSeries> = results.iter().flat_map(|one| series(&one.played)).collect();
        return rows::add(path, options, (begun, FORMAT), topology, &series);
    }
    let graphs: Vec<_> = results.iter().map(|one| graph_json(&one.played, &one.figures)).collect();
    let threads = results.first().map(|one| output::threads_json(&one.played.threads));
    let record = json!({
        "format": FORMAT,
        "hocket": crate::about::build(),
        "command": output::command(),
        "started_at": begun.at,
        "finished_at": crate::about::now(),
        "machine": crate::about::machine(topology),
        "frames": setup.frames,
        "rate_hz": setup.rate_hz,
        "rounds": setup.rounds,
        "blocks_a_turn": COUNTED,
        "settle_ns": setup.settle_ns,
        "seed": setup.seed,
        "random": options.random,
        "hostile": options.hostile.map(|hostile| hostile.words()),
        "threads": threads,
        "summary": summary_json(summary),
        "graphs": graphs,
    });
    crate::provenance::write(path, &record)
}

/// Block times of each engine, a turn's [`COUNTED`] after the other's.
fn series(played: &Played) -> impl Iterator<Item = BenchSeries> + '_ {
    played.runs.iter().map(|run| {
        let variant = Variant::new(format!("{} {}", played.graph, run.who.name()))
            .with("graph", &played.graph)
            .with("executor", run.who.name())
            .with("blocks-a-turn", COUNTED);
        rows::block_times(variant, &run.block_ns)
    })
}

fn summary_json(summary: &Summary) -> Value {
    let promise = |promise: &Promise| {
        json!({
            "what": promise.words,
            "exceeded": promise.exceeded,
            "broken": promise.broken,
            "largest": promise.worst,
        })
    };
    json!({
        "graphs": summary.graphs,
        "parallel_pays": summary.parallel_pays,
        "again_differs": summary.again_differs,
        "median_auto_by_serial": summary.typical[0],
        "median_auto_by_best": summary.typical[1],
        "promises": summary.promises.iter().map(promise).collect::<Vec<_>>(),
    })
}

/// One graph, with all samples.
pub(super) fn graph_json(played: &Played, figures: &Figures) -> Value {
    json!({
        "graph": played.graph,
        "about": played.about,
        "serial_ns": figures.serial_ns,
        "serial_again": ratio_json(&figures.again),
        "auto_by_serial": ratio_json(&figures.auto_by_serial),
        "auto_by_serial_mean": figures.auto_by_serial_mean,
        "auto_by_best": ratio_json(&figures.auto_by_best),
        "best": figures.best,
        "against_serial": figures.against_serial.name(),
        "against_best": figures.against_best.name(),
        "executors": played.runs.iter().map(|run| run_json(run, figures)).collect::<Vec<_>>(),
    })
}

fn run_json(run: &Run, figures: &Figures) -> Value {
    let by_serial = figures.fixed.iter().find(|(kind, _)| run.who == Who::Fixed(*kind));
    let (kind, workers) = run.plan;
    json!({
        "name": run.who.name(),
        "by_serial": by_serial.map(|(_, ratio)| ratio_json(ratio)),
        "ends_with": kind.name(),
        "workers": workers,
        "came": run.came,
        "block_ns": run.block_ns.iter().map(|ns| *ns as u64).collect::<Vec<_>>(),
    })
}

fn ratio_json(ratio: &Ratio) -> Value {
    json!({ "ratio": ratio.ratio, "interval_95": [ratio.interval.low, ratio.interval.high] })
}
