//! `hocket lab compare RUN historic`: a run beside what was printed long ago.

use hocket_lab::experiments::find;
use hocket_lab::harness::{Estimate, Historic, Results};
use hocket_lab::numbers::digits;
use hocket_lab::pages::{ThenNow, Today, beside};
use serde_json::{Value, json};

use super::compare::{drawn, plain};
use super::explain::paragraph;
use crate::failure::{Exit, Failure};
use crate::output::{print, print_json};

/// A figure of the sources, and what the run has beside it.
struct Quoted {
    id: String,
    then: Historic,
    /// `None`: the figure is defined otherwise, or the run has none.
    now: Option<Estimate>,
    /// Where it is defined otherwise.
    nearest: Vec<Today>,
}

impl Quoted {
    /// The words in which a figure is named: its variant, if it has one.
    fn variant(&self) -> &'static str {
        self.then.variant.unwrap_or("-")
    }

    /// The old figure.
    fn value(&self) -> String {
        format!("{} {}", digits(self.then.value), self.then.unit).trim_end().to_string()
    }

    /// Why nothing stands beside it.
    fn why_alone(&self) -> String {
        let none = || format!("the run has no {} of `{}`", self.then.metric, self.variant());
        self.then.differs.map_or_else(none, str::to_string)
    }
}

/// Prints the figures that the sources have for the experiments of a run, with those of the run where both mean the same.
///
/// # Errors
/// The sources have none for these experiments.
pub(super) fn compare(run: &str, all: &[Results], as_json: bool) -> Result<Exit, Failure> {
    let quoted: Vec<Quoted> = all.iter().flat_map(quoted).collect();
    if quoted.is_empty() {
        return Err(Failure::bad_input(format!(
            "{run}: the sources of 2002 to 2009 have no figures for its experiments; `hocket lab explain ID` says of each what \
             they have"
        )));
    }
    match as_json {
        true => print_json(&format!("{:#}\n", json_of(&quoted))),
        false => print(&text_of(run, &quoted)),
    }
    Ok(Exit::Done)
}

fn quoted(results: &Results) -> Vec<Quoted> {
    let id = &results.run.id;
    let all = find(id).map(|known| known.historic()).unwrap_or_default();
    let quote = |then| {
        let ThenNow { then, now, nearest, .. } = beside(results, then);
        Quoted { id: id.clone(), then, now, nearest }
    };
    all.into_iter().map(quote).collect()
}

fn json_of(quoted: &[Quoted]) -> Value {
    let row = |it: &Quoted| {
        let why_alone = it.now.is_none().then(|| it.why_alone());
        json!({ "id": it.id, "variant": it.variant(), "then": it.then, "now": it.now, "why_alone": why_alone, "nearest": it.nearest })
    };
    quoted.iter().map(row).collect()
}

fn text_of(run: &str, quoted: &[Quoted]) -> String {
    let mut text =
        format!("{run}\nOther machines, other software, other questions: quoted, not compared.\n");
    let mut table = plain(&["experiment", "variant", "metric", "then", "now", "then on", "source"]);
    for it in quoted {
        let Some(now) = it.now else { continue };
        let now = format!("{} {}", digits(now.value), it.then.unit);
        let (label, metric) = (it.then.label.into(), it.then.metric.into());
        let variant = it.variant().into();
        table.add_row([
            it.id.clone(),
            variant,
            metric,
            it.value(),
            now,
            label,
            it.then.source.into(),
        ]);
    }
    if table.row_count() > 0 {
        text += &format!("\n{}", drawn(&table));
    }
    let alone: Vec<&Quoted> = quoted.iter().filter(|it| it.now.is_none()).collect();
    if !alone.is_empty() {
        text += "\nWith no figure of this run beside them:\n";
    }
    for it in alone {
        let Historic { metric, label, definition, source, .. } = it.then;
        let heading = format!("{} {metric} [{}]: {}", it.id, it.variant(), it.value());
        let nearest = it
            .nearest
            .iter()
            .map(|it| format!(" Nearest of today: {}, {}.", it.told(), it.which()));
        let line = format!(
            "{label}: {definition} ({source}). Not compared: {}{}",
            it.why_alone(),
            nearest.collect::<String>()
        );
        text += &paragraph(&heading, &line);
    }
    text
}
