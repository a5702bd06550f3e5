//! `hocket lab compare`: two runs beside each other.

use std::path::Path;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use hocket_lab::harness::{ExperimentPair, FigurePair, Results, experiments_in_both};
use hocket_lab::numbers::{change_with, digits};
use hocket_lab::stats::MIN_STARTS;
use hocket_lab::store::{RunRecord, Store};
use serde_json::{Value, json};

use super::args::CompareArgs;
use super::condition::Change;
use super::{failure, historic, open};
use crate::failure::{Exit, Failure};
use crate::output::{note, print, print_json, tell};

/// Runs the command.
pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    args.fail_if.iter().try_for_each(|change| change.check())?;
    let a = Side::find(&args.a, &args.records.records)?;
    if args.b == "historic" {
        if !args.fail_if.is_empty() {
            return Err(Failure::bad_input(
                "--fail-if: figures of other machines are no measure for this one; name a run instead of `historic`",
            ));
        }
        return historic::compare(&a.name(), &a.results()?, args.json);
    }
    let b = Side::find(&args.b, &args.records.records)?;
    let (first, second) = (a.results()?, b.results()?);
    let pairs = pairs((&a, &first), (&b, &second))?;
    match args.json {
        true => print_json(&format!("{:#}\n", json_of(&a, &b, &pairs))),
        false => print(&text_of(&a, &b, &pairs)),
    }
    if let Some(why) = a.is_other_machine(&b).filter(|_| !args.fail_if.is_empty()) {
        return Err(Failure::bad_input(format!("--fail-if: not comparable: {why}")));
    }
    let held = Change::holding(&args.fail_if, &first, &second)?;
    held.iter().for_each(tell);
    Ok(if held.is_empty() { Exit::Done } else { Exit::Missed })
}

/// One of two runs.
struct Side {
    store: Store,
    record: RunRecord,
}

impl Side {
    fn find(asked: &str, records: &Path) -> Result<Side, Failure> {
        let (path, run) = match asked.rsplit_once(':') {
            Some((file, run)) if Path::new(file).is_file() => (Path::new(file), run),
            _ if Path::new(asked).is_file() => (Path::new(asked), "last"),
            _ => (records, asked),
        };
        let store = open(path)?;
        let record = store.choose(run).map_err(failure)?;
        Ok(Side { store, record })
    }

    fn name(&self) -> String {
        let RunRecord { run, started_at, .. } = &self.record;
        format!(
            "run {run} of {}, begun {started_at}, {}",
            self.store.path().display(),
            self.record.machine()
        )
    }

    fn results(&self) -> Result<Vec<Results>, Failure> {
        let all = self.record.experiments.iter().map(|e| self.store.results(&self.record, e));
        all.collect::<Result<_, _>>().map_err(failure)
    }

    /// Why a change between the two is no change of the program, if they are from different machines.
    fn is_other_machine(&self, other: &Side) -> Option<String> {
        (self.record.host != other.record.host).then(|| {
            format!(
                "the two runs are from different machines ({} and {}); measure both on one",
                self.record.machine(),
                other.record.machine()
            )
        })
    }

    fn load(&self) -> String {
        let load = self.record.meta.pointer("/load_before/value/0").and_then(Value::as_f64);
        load.map_or("unknown".into(), |load| format!("{load:.1}"))
    }
}

/// The experiments that both runs have.
fn pairs(
    (a, first): (&Side, &[Results]),
    (b, second): (&Side, &[Results]),
) -> Result<Vec<ExperimentPair>, Failure> {
    let pairs = experiments_in_both(first, second);
    if pairs.is_empty() {
        return Err(Failure::bad_input(format!(
            "the two runs have no experiment in common: {} has {}, {} has {}; run the same ones with `hocket lab run ID`",
            a.name(),
            ids(first),
            b.name(),
            ids(second)
        )));
    }
    if let Some(why) =
        pairs.iter().map(|pair| pair.figures.as_ref().err()).collect::<Option<Vec<_>>>()
    {
        return Err(Failure::bad_input(format!("{} cannot be compared: {}", pairs[0].id, why[0])));
    }
    tell_alone(a, first, second);
    tell_alone(b, second, first);
    Ok(pairs)
}

/// What only one side has is not compared, and not passed over in silence.
fn tell_alone(side: &Side, own: &[Results], other: &[Results]) {
    let alone = own.iter().filter(|one| other.iter().all(|two| two.run.id != one.run.id));
    let alone: Vec<&str> = alone.map(|results| results.run.id.as_str()).collect();
    if !alone.is_empty() {
        note(format_args!("not compared, only in {}: {}", side.name(), alone.join(", ")));
    }
}

fn ids(all: &[Results]) -> String {
    let ids: Vec<&str> = all.iter().map(|results| results.run.id.as_str()).collect();
    if ids.is_empty() { "none".into() } else { ids.join(", ") }
}

fn text_of(a: &Side, b: &Side, pairs: &[ExperimentPair]) -> String {
    let same = a.record.host == b.record.host;
    let place = if same { "The same machine at two times" } else { "Two machines" };
    let mut text = format!(
        "A: {}, load {}\nB: {}, load {}\n{place}: rounds are not paired, so whatever changed between the runs (load, \
         clock, kernel{}) is in the ratios.\nIntervals: 95 %, Welch's over the medians of the process starts; none with \
         fewer than {MIN_STARTS} process starts. A difference is shown where the interval leaves 0 % out and the change is beyond \
         what both runs show between two equal variants; `alone`, if not all figures of the two runs hold it at once. \
         One run of each does not tell it from what a second run of the same program would differ by.\n",
        a.name(),
        a.load(),
        b.name(),
        b.load(),
        if same { "" } else { ", machine" }
    );
    for pair in pairs {
        text += &format!("\n{}\n", pair.id);
        text += &pair.note.as_ref().map(|note| format!("  note: {note}\n")).unwrap_or_default();
        text += &match &pair.figures {
            Err(why) => format!("  not compared: {why}\n"),
            Ok(figures) => table(figures),
        };
    }
    text
}

fn table(figures: &[FigurePair]) -> String {
    let mut table = plain(&["variant", "metric", "A", "B", "B against A", "verdict"]);
    for figure in figures {
        let FigurePair { variant, metric, unit, compared, .. } = figure;
        let changed = change_with(compared.ratio, compared.interval);
        let cells = [digits(compared.before), digits(compared.after), changed];
        let names = [variant.clone(), format!("{metric} [{unit}]")].map(Cell::new);
        let verdict = Cell::new(figure.verdict());
        table.add_row(names.into_iter().chain(cells.map(right)).chain([verdict]));
    }
    drawn(&table)
}

pub(super) fn plain(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads);
    table
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

pub(super) fn drawn(table: &Table) -> String {
    table.lines().map(|line| format!(" {}\n", line.trim_end())).collect()
}

fn json_of(a: &Side, b: &Side, pairs: &[ExperimentPair]) -> Value {
    let figure = |f: &FigurePair| {
        json!({
            "variant": f.variant,
            "metric": f.metric,
            "unit": f.unit,
            "a": f.compared.before,
            "b": f.compared.after,
            "ratio": Some(f.compared.ratio).filter(|ratio| ratio.is_finite()),
            "low": f.compared.interval.map(|i| i.low),
            "high": f.compared.interval.map(|i| i.high),
            "floor": f.floor.map(f64::exp_m1),
            "verdict": f.verdict(),
        })
    };
    let pair = |pair: &ExperimentPair| {
        json!({
            "id": pair.id,
            "note": pair.note,
            "not_compared": pair.figures.as_ref().err(),
            "figures": pair.figures.as_ref().ok().map(|all| all.iter().map(figure).collect::<Vec<_>>()),
        })
    };
    json!({
        "a": a.record.uuid,
        "b": b.record.uuid,
        "same_machine": a.record.host == b.record.host,
        "paired": false,
        "experiments": pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}
