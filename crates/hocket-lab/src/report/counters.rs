//! The ratios of hardware counters, by variant and kind of core.

use std::collections::BTreeSet;

use hocket_machine::counters::{Core, Measure, Ratio, Unit};

use super::analysis::{Analysis, Row};
use super::tables::name;
use crate::foreign::plain;
use crate::lines::shortened;
use crate::numbers::{NONE, digits, percent};
use crate::once::each_once;
use crate::record::{Counted, CountedGroup};
use crate::table::Table;

/// Over the tables.
pub(super) const COUNTERS: &str =
    "Hardware counters of the leader and the workers, in user code, waiting included";

/// The ratios of the thesis; the others have a table of their own, because a terminal is not wide enough for all.
const OF_THE_THESIS: usize = 6;

/// What was counted; `None` where nobody asked.
pub(super) struct Counters<'a> {
    rows: Vec<(&'a Row<'a>, &'a Counted)>,
}

impl<'a> Counters<'a> {
    pub(super) fn of(analysis: &'a Analysis<'a>) -> Option<Counters<'a>> {
        let counted = |row: &'a Row<'a>| Some((row, row.variant.counted.as_ref()?));
        let rows: Vec<_> = analysis.rows.iter().filter_map(counted).collect();
        (!rows.is_empty()).then_some(Counters { rows })
    }

    /// The ratios that have a value, in two tables at most.
    pub(super) fn tables(&self) -> Vec<Table> {
        let (thesis, others) = Measure::ALL.split_at(OF_THE_THESIS);
        [thesis, others].into_iter().filter_map(|measures| self.table(measures)).collect()
    }

    fn table(&self, measures: &[Measure]) -> Option<Table> {
        let cores = self.cores();
        let lines = self.rows.iter().flat_map(|line| cores.iter().map(move |core| (line, *core)));
        let lines: Vec<_> = lines.filter(|((_, counted), core)| has(counted, core)).collect();
        let any = |measure: &&Measure| {
            lines.iter().any(|((_, counted), core)| value(counted, core, **measure).is_some())
        };
        let measures: Vec<Measure> = measures.iter().filter(any).copied().collect();
        let heads = measures.iter().map(|measure| measure.name());
        let row = |((row, counted), core): &(&(&Row, &Counted), &str)| {
            let name = match cores.len() {
                1 => name(row),
                _ => format!("{}, {core}", name(row)),
            };
            let cells =
                measures.iter().map(|measure| cell(*measure, value(counted, core, *measure)));
            std::iter::once(name).chain(cells).collect()
        };
        let rows = lines.iter().map(row).collect();
        let heads = std::iter::once("variant").chain(heads);
        (!measures.is_empty()).then(|| Table::new(heads, rows))
    }

    /// What the tables contain, what their names do not say, and what could not be measured.
    pub(super) fn sentences(&self) -> Vec<String> {
        let known = self.cores().into_iter().filter_map(Core::of_name);
        let mut all: Vec<String> = known.flat_map(|core| self.of_core(core)).collect();
        let limits = self.rows.iter().flat_map(|(_, counted)| &counted.limits);
        let limits: BTreeSet<&String> = limits.collect();
        all.extend(limits.into_iter().map(|why| format!("Not measurable here: {}.", plain(why))));
        all
    }

    fn of_core(&self, core: &'static Core) -> Vec<String> {
        let counted = |measure| {
            self.rows.iter().any(|(_, counted)| value(counted, core.name, measure).is_some())
        };
        let mut all = Vec::new();
        for ratio in core.groups.iter().flat_map(|group| group.ratios) {
            if let Some(note) = ratio.note.filter(|_| counted(ratio.measure)) {
                all.push(format!("{} on {}: {note}.", ratio.measure, core.name));
            }
        }
        let missing = self.rows.iter().flat_map(|(_, counted)| &counted.missing);
        let missing: Vec<_> = missing.filter(|missing| missing.core == core.name).collect();
        let why = |measure: Measure| {
            missing
                .iter()
                .find(|missing| missing.measure == measure.name())
                .map(|it| it.why.as_str())
        };
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for measure in Measure::ALL.into_iter().filter(|measure| !counted(*measure)) {
            let why = why(measure).unwrap_or(TOO_FEW_TURNS);
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, measures)) => measures.push(measure.name()),
                None => reasons.push((why, vec![measure.name()])),
            }
        }
        let told = reasons.into_iter().map(|(why, measures)| {
            let (measures, why) = (measures.join(", "), plain(why));
            format!("Not measurable here, on {}: {measures}: {why}.", core.name)
        });
        all.extend(told);
        all
    }

    /// Kinds of core with counts or with reasons, each once.
    fn cores(&self) -> Vec<&'a str> {
        each_once(self.rows.iter().flat_map(|(_, counted)| {
            let groups = counted.groups.iter().map(|group| &*group.core);
            groups.chain(counted.missing.iter().map(|it| &*it.core))
        }))
    }
}

const TOO_FEW_TURNS: &str =
    "no whole turn of the run counted its events; measure with more --blocks";

fn has(counted: &Counted, core: &str) -> bool {
    counted.groups.iter().any(|group| group.core == core)
}

/// The ratio over all threads on cores of one kind: of the sums of their counts, so that busy threads weigh more.
fn value(counted: &Counted, core: &str, measure: Measure) -> Option<f64> {
    let groups = Core::of_name(core)?.groups.iter();
    let found = |ratio: &&Ratio| ratio.measure == measure;
    let (group, ratio) =
        groups.filter_map(|group| Some((group.name, group.ratios.iter().find(found)?))).next()?;
    let is_whole = |it: &&CountedGroup| {
        let is_one = it.core == core && it.group == group;
        is_one && ratio.events().all(|event| it.counts.contains_key(event))
    };
    let parts: Vec<&CountedGroup> = counted.groups.iter().filter(is_whole).collect();
    if parts.is_empty() {
        return None;
    }
    ratio.value(|event| parts.iter().map(|part| part.counts.get(event).copied()).sum())
}

pub(super) fn cell(measure: Measure, value: Option<f64>) -> String {
    match (value, measure.unit()) {
        (None, _) => NONE.into(),
        (Some(cycles), Unit::Cycles) => digits(cycles),
        (Some(share), Unit::Share) => shortened(&percent(share), 16),
    }
}
