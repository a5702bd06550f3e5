//! The tables of the report, for the page and the terminal.

use super::analysis::{Analysis, Judgement, Measured, Row, Wake};
use crate::foreign::plain;
use crate::historic::{HistoricTable, SessionKind, for_session_kind};
use crate::lines::shortened;
use crate::numbers::{NONE, change_with, counted, of, percent, percent_range, us};
use crate::once::each_once;
use crate::record::{Disturber, Variant};
use crate::stats::{self, FOR_STEADY, StartComparison, Summary};
use crate::table::Table;

/// Names of variants that are longer are shortened.
const NAME: usize = 32;

pub(super) fn name(row: &Row) -> String {
    shortened(&row.label, NAME)
}

/// The first row and, below all others, the bare loop look different.
fn looks(rows: usize, has_loop: bool) -> Vec<&'static str> {
    let mut looks = vec!["first"];
    looks.resize(rows, "");
    looks.extend(has_loop.then_some("reference"));
    looks
}

/// Over [`ready`].
pub(super) const READY: &str = "Output ready after the planned start, in µs";

/// Whether the deadline is met. What the page is about stands first: a phone shows no more without scrolling.
pub(super) fn ready(analysis: &Analysis) -> Table {
    let heads = [
        "variant",
        "late",
        "95 % of late",
        "p50",
        "p99",
        "p99.9",
        "max",
        "misses = late + skipped",
    ];
    let mut rows: Vec<Vec<String>> = analysis.rows.iter().map(ready_row).collect();
    rows.extend(analysis.wake.as_ref().map(wake_row));
    let is_bad = |measured: &Measured| {
        let times = times(&measured.ready).map(|ns| ns.is_some_and(|ns| ns > analysis.period_ns));
        [measured.late.count > 0, false, times[0], times[1], times[2], times[3]]
            .into_iter()
            .chain([measured.misses.total() > 0])
    };
    let measured = analysis.rows.iter().enumerate().filter_map(|(at, row)| {
        let bad = is_bad(row.measured.as_ref()?).enumerate().filter(|(_, bad)| *bad);
        Some(bad.map(move |(column, _)| (at, column + 1)))
    });
    let bad = measured.flatten().collect();
    let looks = looks(analysis.rows.len(), analysis.wake.is_some());
    Table { looks, bad, ..Table::new(heads, rows) }
}

/// p50, p99, p99.9 and the maximum; `None`: not shown of so few blocks.
fn times(it: &Summary) -> [Option<f64>; 4] {
    [Some(it.p50), it.shown_p99(), it.shown_p999(), Some(it.max)]
}

fn time(ns: Option<f64>) -> String {
    ns.map_or(NONE.into(), us)
}

fn ready_row(row: &Row) -> Vec<String> {
    let Some(m) = &row.measured else {
        let why = row.variant.refused.as_deref().map_or("no blocks were measured".into(), plain);
        return vec![name(row), format!("not measurable here: {why}")];
    };
    let shares = [of(m.late), percent_range(m.late.interval())];
    let cells = [name(row)].into_iter().chain(shares).chain(times(&m.ready).map(time));
    cells.chain([m.misses_words()]).collect()
}

fn wake_row(wake: &Wake) -> Vec<String> {
    let shares = [of(wake.late), percent_range(wake.late.interval())];
    let cells = ["bare wake-up loop (lateness)".to_string()].into_iter().chain(shares);
    cells.chain(times(&wake.lateness).map(time)).chain([String::new()]).collect()
}

/// Over [`took`].
pub(super) const TOOK: &str =
    "Block time, in µs from the leader's awakening to the complete output";

/// What [`took`] compares.
pub(super) const CHANGES: &str = "Changes against the first variant: one round's figure divided by the first variant's in \
    the same round; the median over the rounds of a process start, and the mean of that over the starts. The 95 % \
    intervals cover how starts differ, and hold for all variants at once.";

/// Which variant is faster.
pub(super) fn took(analysis: &Analysis) -> Table {
    let heads = ["variant", "mean", "p50", "change of p50", "change of p99", "verdict on p50"];
    let row = |(row, m): (&Row, &Measured)| {
        let [typical, tail] = [m.typical, shown_tail(m)].map(|it| it.map_or(NONE.into(), told));
        let verdict = analysis.judgement(row).map_or("reference", Judgement::words).to_string();
        vec![name(row), us(m.took.mean), us(m.took.p50), typical, tail, verdict]
    };
    let rows: Vec<Vec<String>> = analysis.measured().map(row).collect();
    Table { looks: looks(rows.len(), false), ..Table::new(heads, rows) }
}

/// The change of p99, where there is a p99.
fn shown_tail(measured: &Measured) -> Option<StartComparison> {
    measured.tail.filter(|_| measured.took.shown_p99().is_some())
}

/// With the interval where it covers how starts differ.
fn told(compared: StartComparison) -> String {
    change_with(compared.comparison.ratio, compared.interval())
}

/// What the changes of p99 show, verdict by verdict: the table has no room for it.
pub(super) fn tails(analysis: &Analysis) -> Option<String> {
    let mut verdicts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (row, measured) in analysis.measured() {
        let Some(tail) = shown_tail(measured) else { continue };
        let verdict = verdict(analysis, row, &tail, |measured| measured.tail);
        match verdicts.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, labels)) => labels.push(&row.label),
            None => verdicts.push((verdict, vec![&row.label])),
        }
    }
    let words =
        verdicts.iter().map(|(verdict, labels)| format!("{verdict}: {}", labels.join(", ")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("What the changes of p99 show: {}.", words.join("; ")))
}

/// What another comparison than that of the medians shows. It has to be larger than what the twin shows in the same
/// figure, and than what it shows in the medians.
fn verdict(
    analysis: &Analysis,
    row: &Row,
    compared: &StartComparison,
    figure: fn(&Measured) -> Option<StartComparison>,
) -> &'static str {
    if let Some(other @ (Judgement::Twin | Judgement::SameHere)) = analysis.judgement(row) {
        return other.words();
    }
    let mut all = analysis.measured();
    let twin = all.find(|(row, _)| row.variant.twin).and_then(|(_, measured)| figure(measured));
    let own = twin.and_then(|twin| stats::floor(&twin));
    let floor = analysis.floor.map(|floor| own.map_or(floor, |own| own.max(floor)));
    analysis.judged(compared, floor).words()
}

/// That nobody can tell whether the changes settled within a start, where so few rounds are in one.
pub(super) fn settling(analysis: &Analysis) -> Option<String> {
    let is_unknown =
        |m: &Measured| m.typical.is_some_and(|it| it.covers_starts && it.settling_unknown);
    analysis.measured().any(|(_, measured)| is_unknown(measured)).then(|| {
        format!(
            "Whether a change settles within a process start is not known: with fewer than {FOR_STEADY} rounds per start \
             nothing shows it, so all rounds count. Measure with more --blocks or fewer --blocks-per-round."
        )
    })
}

/// The comparison again without the rounds that saw foreign work, where that is possible.
pub(super) fn without_disturbed(analysis: &Analysis) -> Option<String> {
    let words = analysis.measured().filter_map(|(row, m)| {
        let left = m.undisturbed?;
        let rounds = counted(left.comparison.rounds, "round");
        let verdict = verdict(analysis, row, &left, |measured| measured.undisturbed);
        Some(format!("{} {} ({rounds}: {verdict})", row.label, told(left)))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| {
        format!(
            "The changes without the rounds in which either was disturbed by foreign work: {}.",
            words.join("; ")
        )
    })
}

/// Over [`progress`].
pub(super) const PROGRESS: &str = "What the disturbers got done, mean of the rounds";

/// What each disturber got done beside each variant; `None` where none ran.
pub(super) fn progress(analysis: &Analysis) -> Option<Table> {
    let heads = ["beside", "disturber", "done", "of the first", "on siblings"];
    let disturbers = disturbers(analysis);
    let row = |disturber: &str, row: &Row| {
        let named = [name(row), shortened(disturber, NAME / 2)];
        named.into_iter().chain(done(row.variant, disturber, analysis)).collect()
    };
    let rows = disturbers
        .iter()
        .flat_map(|disturber| analysis.measured().map(move |(variant, _)| row(disturber, variant)));
    let table = Table::new(heads, rows.collect());
    (!disturbers.is_empty()).then_some(table)
}

/// Names and units of the disturbers of all variants, each once.
fn disturbers(analysis: &Analysis) -> Vec<String> {
    each_once(analysis.rows.iter().flat_map(|row| &row.variant.disturbers).map(named))
}

fn named(disturber: &Disturber) -> String {
    plain(&format!("{}, {}", disturber.name, disturber.unit))
}

/// The mean, the share of what was done beside the first variant, and the share that ran on the workers'
/// siblings, which is what sibling policies are about.
fn done(variant: &Variant, name: &str, analysis: &Analysis) -> [String; 3] {
    let of = |variant: &Variant| {
        let disturber = variant.disturbers.iter().find(|it| named(it) == name)?;
        Some((disturber.mean_progress()?, disturber.ran_on))
    };
    let first = analysis.rows.first().and_then(|row| of(row.variant));
    let base = first.map(|(done, _)| done).filter(|base| *base > 0.0);
    let Some((done, ran_on)) = of(variant) else { return [NONE; 3].map(String::from) };
    let share = base.map_or(NONE.into(), |base| percent(done / base));
    [format!("{done:.1}"), share, ran_on.map_or("not known".into(), |it| percent(it.sibling))]
}

/// The table of 2009 for sessions of this kind, if there is one.
pub(super) fn historic(analysis: &Analysis) -> Option<HistoricTable> {
    let session = &analysis.record.session;
    let kind = SessionKind::of_name(&session.name).or_else(|| SessionKind::of_name(&session.file));
    kind.and_then(for_session_kind)
}

/// What was printed then.
pub(super) fn then(table: &HistoricTable) -> Table {
    let row = |row: &crate::historic::BlockTime| {
        let name = format!("{}, {}", row.os, row.configuration);
        vec![name, us(row.mean_ms * 1e6), us(row.max_ms * 1e6)]
    };
    Table::new(["configuration", "mean, µs", "max, µs"], table.rows.iter().map(row).collect())
}

/// This run in the same terms.
pub(super) fn now(analysis: &Analysis) -> Table {
    let row = |(row, m): (&Row, &Measured)| vec![name(row), us(m.took.mean), us(m.took.max)];
    Table::new(["configuration", "mean, µs", "max, µs"], analysis.measured().map(row).collect())
}
