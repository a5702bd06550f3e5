//! The ratios of hardware counters by kind of node: a table for each variant.
//!
//! A reading of the counters counts itself, too. So what a reading counts is measured beside, and subtracted. Where it is
//! more than what is left, nothing is left that a figure could be made of.

use hocket_machine::counters::{Core, Measure, Ratio};

use super::analysis::{Analysis, Row};
use super::counters::cell;
use super::tables::name;
use crate::foreign::plain;
use crate::numbers::{NONE, count, digits, us};
use crate::record::{Counted, CountedKind};
use crate::table::Table;

/// The ratios of the thesis; the others have a table of their own.
const OF_THE_THESIS: usize = 6;

/// For each variant that was counted by kind: a title, and its tables.
pub(super) fn sections(analysis: &Analysis) -> Vec<(String, Vec<Table>)> {
    let rows = counted(analysis).filter(|(_, counted)| !counted.kinds.is_empty());
    rows.map(|(row, counted)| (title(row), tables(counted))).collect()
}

fn title(row: &Row) -> String {
    format!("Counted by kind of node, {}, without the waits", name(row))
}

fn counted<'a>(analysis: &'a Analysis<'a>) -> impl Iterator<Item = (&'a Row<'a>, &'a Counted)> {
    let counted = |row: &'a Row<'a>| Some((row, row.variant.counted.as_ref()?));
    analysis.rows.iter().filter_map(counted).filter(|(_, counted)| counted.per_kind)
}

fn tables(counted: &Counted) -> Vec<Table> {
    let (thesis, others) = Measure::ALL.split_at(OF_THE_THESIS);
    let of_cores = [thesis, others].into_iter().filter_map(|measures| ratios(counted, measures));
    of_cores.chain(of_the_kernel(counted)).collect()
}

/// A kind on cores of one kind, with the counts of all groups.
struct Line<'a> {
    kind: &'a str,
    core: &'a str,
    nodes: u64,
    /// Each with what a reading counts.
    groups: Vec<(&'a CountedKind, &'a CountedKind)>,
}

/// Those with the most counts first: what the block consists of.
fn lines<'a>(counted: &'a Counted, wanted: impl Fn(&str) -> bool) -> Vec<Line<'a>> {
    let mut all: Vec<Line> = Vec::new();
    for it in counted.kinds.iter().filter(|it| wanted(&it.core)) {
        let is_its = |reading: &&CountedKind| {
            let same = (&reading.core, &reading.group) == (&it.core, &it.group);
            same && reading.readings > 0 && reading.counts.keys().eq(it.counts.keys())
        };
        let Some(reading) = counted.readings.iter().find(is_its) else { continue };
        match all.iter_mut().find(|line| (line.kind, line.core) == (&it.kind, &it.core)) {
            Some(line) => {
                line.nodes += it.nodes;
                line.groups.push((it, reading));
            }
            None => {
                let (kind, core, groups) = (&*it.kind, &*it.core, vec![(it, reading)]);
                all.push(Line { kind, core, nodes: it.nodes, groups });
            }
        }
    }
    let most =
        |line: &Line| line.groups.first().and_then(|(it, _)| it.counts.values().max().copied());
    all.sort_by_key(|line| std::cmp::Reverse(most(line)));
    all
}

/// A count without what its readings counted, and that.
fn net((it, reading): (&CountedKind, &CountedKind), event: &str) -> Option<(f64, f64)> {
    let of_readings = *reading.counts.get(event)? as f64 / reading.readings as f64;
    let of_readings = of_readings * it.readings as f64;
    let left = *it.counts.get(event)? as f64 - of_readings;
    Some((left.max(0.0), of_readings))
}

impl Line<'_> {
    /// `None`: not counted, or no more than the readings themselves counted.
    fn value(&self, measure: Measure) -> Option<f64> {
        let of_core = Core::of_name(self.core)?;
        let is_it = |ratio: &&Ratio| ratio.measure == measure;
        let mut found = of_core.groups.iter().filter_map(|group| {
            let ratio = group.ratios.iter().find(is_it)?;
            Some((group.name, ratio))
        });
        let (group, ratio) = found.next()?;
        let has_all = |it: &CountedKind| ratio.events().all(|event| it.counts.contains_key(event));
        let pair = self.groups.iter().find(|(it, _)| it.group == group && has_all(it))?;
        let is_more = |(_, event): &(f64, &str)| {
            net(*pair, event).is_some_and(|(left, of_readings)| left >= of_readings)
        };
        if !ratio.below.iter().all(|part| is_more(part) || part.0 < 0.0) {
            return None;
        }
        ratio.value(|event| net(*pair, event).map(|(left, _)| left.round() as u64))
    }
}

fn ratios(counted: &Counted, measures: &[Measure]) -> Option<Table> {
    let lines = lines(counted, |core| core != Core::SOFTWARE.name);
    let any = |measure: &&Measure| lines.iter().any(|line| line.value(**measure).is_some());
    let measures: Vec<Measure> = measures.iter().filter(any).copied().collect();
    let mut cores: Vec<&str> = lines.iter().map(|line| line.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let row = |line: &Line| {
        let name = match cores.len() {
            1 => plain(line.kind).to_string(),
            _ => format!("{}, {}", plain(line.kind), plain(line.core)),
        };
        let cells = measures.iter().map(|measure| cell(*measure, line.value(*measure)));
        [name, count(line.nodes)].into_iter().chain(cells).collect()
    };
    let heads = ["kind", "nodes"].into_iter().chain(measures.iter().map(|it| it.name()));
    (!measures.is_empty()).then(|| Table::new(heads, lines.iter().map(row).collect()))
}

const CLOCK: &str = "task-clock";
/// Events that are rare enough to be printed per thousand nodes.
const RARE: [(&str, &str); 3] = [
    ("page-faults", "page faults/1000"),
    ("context-switches", "switches/1000"),
    ("cpu-migrations", "moves/1000"),
];

/// CPU time, faults and switches, which every machine counts.
fn of_the_kernel(counted: &Counted) -> Option<Table> {
    let lines = lines(counted, |core| core == Core::SOFTWARE.name);
    let row = |line: &Line| {
        let nodes = line.nodes as f64;
        let pair = line.groups[0];
        let time = match net(pair, CLOCK) {
            Some((left, of_readings)) if left >= of_readings => us(left / nodes),
            Some((_, of_readings)) => format!("under {}", us(of_readings / nodes)),
            None => NONE.into(),
        };
        let rare = RARE.map(|(event, _)| {
            net(pair, event).map_or_else(|| NONE.into(), |(left, _)| digits(1000.0 * left / nodes))
        });
        [plain(line.kind).to_string(), count(line.nodes), time].into_iter().chain(rare).collect()
    };
    let rows: Vec<Vec<String>> = lines.iter().filter(|line| line.nodes > 0).map(row).collect();
    let heads = ["kind", "nodes", "CPU time (µs)"].into_iter().chain(RARE.map(|(_, head)| head));
    (!rows.is_empty()).then(|| Table::new(heads, rows))
}

/// What the tables contain, and what a reading cost.
pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut all = Vec::new();
    let Some(readings) = merged(counted(analysis).map(|(_, counted)| counted)) else { return all };
    for reading in &readings.readings {
        let of = |event: &str| {
            reading.counts.get(event).map(|sum| *sum as f64 / reading.readings.max(1) as f64)
        };
        if let Some(ns) = of(CLOCK) {
            all.push(format!(
                "A reading of the counters took {} µs of CPU time here. This is subtracted; where less than that is left, the \
                 table says only `under`.",
                us(ns)
            ));
        } else if let Some((event, each)) =
            reading.counts.keys().find_map(|event| Some((event, of(event)?)))
        {
            all.push(format!(
                "A reading of the group {} counted {} {} of its own. This is subtracted; a kind with less than that left has no \
                 ratio.",
                plain(&reading.group),
                digits(each),
                plain(event)
            ));
        }
    }
    if readings.refused > 0 {
        all.push(format!(
            "{} readings are left out, because others had the counters for a part of the time.",
            count(readings.refused)
        ));
    }
    all
}

fn merged<'a>(all: impl Iterator<Item = &'a Counted>) -> Option<Counted> {
    all.cloned().reduce(|mut sum, more| {
        sum.add(more);
        sum
    })
}
