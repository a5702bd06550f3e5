//! Records of the benchmarks of the repository, exports of runs of the lab, and pages of traces.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::bench_entry::program;
use super::entry::{Detail, Entry, Figure, Lab, page_name};
use super::frame;
use super::identity::Machine;
use super::lab_entry::{CAPACITY, CHANNELS, curve, frames, subject};
use super::search::Candidate;
use crate::foreign::plain;
use crate::harness::{Estimate, TWIN};
use crate::numbers::{capital, count, counted, digits, estimate};
use crate::page_parts::policy_first;
use crate::table::Table;

/// What an export of a run of the lab counts as: it names no format.
const EXPORT: &str = "an export of the lab";

/// Whether a file of JSON is of Hocket, whole or not.
pub(super) fn is_ours(text: &[u8]) -> bool {
    let has = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
    has(b"\"hocket-") || (has(b"\"uuid\"") && has(b"\"experiments\""))
}

/// The parts that say what a record is.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    uuid: Option<String>,
    experiments: Option<Vec<serde::de::IgnoredAny>>,
}

/// The format; `None` where it has none, or the file is no whole JSON.
pub(super) fn format_of(text: &[u8]) -> Option<String> {
    let head: Head = serde_json::from_slice(text).ok()?;
    let is_export = head.uuid.is_some() && head.experiments.is_some();
    head.format.or_else(|| is_export.then(|| EXPORT.into()))
}

/// The id of the run that is exported.
pub(super) fn run_of(record: &Value) -> Option<String> {
    record.get("experiments")?;
    Some(record.get("uuid")?.as_str()?.into())
}

/// What the site knows of it, and its page.
pub(super) fn of(record: &Value, format: &str, file: &Candidate, digest: &str) -> (Entry, String) {
    match run_of(record) {
        Some(_) => of_export(record, file, digest),
        None => of_benchmark(record, format, file, digest),
    }
}

fn text<'v>(record: &'v Value, pointer: &str) -> Option<&'v str> {
    record.pointer(pointer).and_then(Value::as_str)
}

fn list<'v>(record: &'v Value, pointer: &str) -> &'v [Value] {
    record.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn program_of(build: Option<&Value>) -> String {
    let Some(build) = build else { return "not known".into() };
    let edited = build.get("dirty").and_then(Value::as_bool) == Some(true);
    program(text(build, "/version").unwrap_or("unknown"), text(build, "/commit"), edited)
}

fn of_benchmark(record: &Value, format: &str, file: &Candidate, digest: &str) -> (Entry, String) {
    let name = format.strip_prefix("hocket-").unwrap_or(format);
    let name = plain(name.split('/').next().unwrap_or(name));
    let machine = Machine::of(record.get("machine").unwrap_or(&Value::Null));
    let holds = holds(record);
    let finding = summary(record, &name).unwrap_or_else(|| match holds.is_empty() {
        true => "The record holds single figures only.".into(),
        false => format!("The record holds {}.", holds.join(", ")),
    });
    let entry = Entry {
        path: file.path.clone(),
        shown: file.shown.clone(),
        kind: "benchmark".into(),
        begun: text(record, "/started_at").map(String::from),
        machine,
        subject: name.clone(),
        program: program_of(record.get("hocket")),
        finding,
        remarks: Vec::new(),
        page: page_name("benchmark", &name, digest),
        figures: Vec::new(),
        detail: Detail::Other,
    };
    let page = frame::record_page(&entry, &settings(record, format));
    (entry, page)
}

/// How much of what a record has: `graphs (5)`.
fn holds(record: &Value) -> Vec<String> {
    let all = record.as_object().into_iter().flatten();
    let of = |(name, value): (&String, &Value)| {
        let entries = value.as_array()?;
        let counts = entries.iter().any(Value::is_object) && name != "grants";
        counts.then(|| {
            format!("{} ({})", plain(&name.replace('_', " ")), count(entries.len() as u64))
        })
    };
    all.filter_map(of).collect()
}

/// What the record shows, in a sentence; `None` where this version has none for it.
fn summary(record: &Value, name: &str) -> Option<String> {
    match name {
        "executors-contest" => of_contest(record),
        "executors" => of_executors(record),
        "comparison" => of_comparison(record),
        "cross-check" => of_cross_check(record),
        "voices" => of_voices(record),
        _ => None,
    }
}

fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64)
}

/// The smallest and the largest of some figures.
fn range(figures: impl Iterator<Item = f64>) -> Option<String> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    Some(format!("{} to {}", digits(*figures.first()?), digits(*figures.last()?)))
}

fn of_contest(record: &Value) -> Option<String> {
    let of = |name: &str| number(record, &format!("/summary/{name}"));
    let graphs = counted(of("graphs")? as usize, "graph");
    let [serial, best] = [of("median_auto_by_serial")?, of("median_auto_by_best")?].map(digits);
    Some(format!(
        "Over {graphs}: the block time of auto is {serial} times that of the serial walk and {best} times that of the best \
         executor (medians over the graphs)."
    ))
}

fn of_executors(record: &Value) -> Option<String> {
    let cells = list(record, "/cells");
    let range = range(cells.iter().filter_map(|cell| number(cell, "/efficiency")))?;
    let cells = counted(cells.len(), "cell");
    Some(format!("Efficiency of the executors in {cells} (graph, mode, policy): {range}."))
}

fn of_comparison(record: &Value) -> Option<String> {
    let cells = list(record, "/cells");
    let executors = list(cells.first()?, "/executors").len();
    let rivals = list(record, "/rivals").iter().filter_map(Value::as_str).map(plain);
    Some(format!(
        "Block times of {} in {} (graph, mode). Rivals: {}.",
        counted(executors, "executor"),
        counted(cells.len(), "cell"),
        rivals.collect::<Vec<_>>().join("; ")
    ))
}

fn of_cross_check(record: &Value) -> Option<String> {
    let checks = list(record, "/checks");
    let range = range(checks.iter().filter_map(|check| number(check, "/ratio")))?;
    let agrees = |check: &&Value| {
        let end = |at: usize| number(check, &format!("/interval_95/{at}"));
        end(0).zip(end(1)).is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
    };
    Some(format!(
        "{} of the lab divided by those of other programs: {range}. The interval of {} of them holds 1.",
        counted(checks.len(), "figure"),
        checks.iter().filter(agrees).count()
    ))
}

fn of_voices(record: &Value) -> Option<String> {
    let told = |it: &Value| {
        let voices = number(it, "/capacity/median")?;
        Some(format!("{} {voices}", plain(text(it, "/engine")?)))
    };
    let told: Vec<String> = list(record, "/engines").iter().filter_map(told).collect();
    let is_known = !told.is_empty();
    is_known.then(|| format!("Voices that hold their deadlines, median: {}.", told.join("; ")))
}

/// Single values of the record, as facts.
fn settings(record: &Value, format: &str) -> Markup {
    let all = record.as_object().into_iter().flatten();
    let single = all.filter_map(|(name, value)| {
        let told = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(is) => if *is { "yes" } else { "no" }.into(),
            Value::Array(words) if name == "command" => {
                words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            _ => return None,
        };
        Some((plain(&name.replace('_', " ")), plain(&told)))
    });
    html! {
        section {
            h2 { "What the record says of itself" }
            dl.facts.long {
                div { dt { "format" } dd { (plain(format)) } }
                @for (name, told) in single.filter(|(name, _)| name != "format") { div { dt { (name) } dd { (told) } } }
                @for held in holds(record) { div { dt { "holds" } dd { (held) } } }
            }
            p.note { "The program that measured this printed its tables. Hocket has no other page for them: the figures are in the file." }
        }
    }
}

fn of_export(record: &Value, file: &Candidate, digest: &str) -> (Entry, String) {
    let id = |experiment: &Value| text(experiment, "/run/id").map(plain);
    let experiments: Vec<String> = list(record, "/experiments").iter().filter_map(id).collect();
    let all: Vec<Exported> = list(record, "/experiments").iter().filter_map(Exported::of).collect();
    let first = all.iter().find(|it| it.id != "aa").or(all.first());
    let finding = first.and_then(|it| it.verdicts.first());
    let more = all.len().saturating_sub(1);
    let finding = match (finding, more) {
        (Some(finding), 0) => format!("{}.", capital(finding.trim_end_matches('.'))),
        (Some(finding), more) => {
            let others = counted(more, "other experiment");
            format!("{}; and {others}.", capital(finding.trim_end_matches('.')))
        }
        (None, _) => "The run has no verdict.".into(),
    };
    let entry = Entry {
        path: file.path.clone(),
        shown: file.shown.clone(),
        kind: "lab run, exported".into(),
        begun: text(record, "/started_at").map(String::from),
        machine: Machine::of(record.pointer("/meta/machine").unwrap_or(&Value::Null)),
        subject: subject(&experiments, text(record, "/meta/size")),
        program: program_of(record.pointer("/meta/build")),
        finding,
        remarks: vec!["An export: the file has the figures and not the single rounds.".into()],
        page: page_name("lab-export", "", digest),
        figures: all.iter().flat_map(Exported::figures).collect(),
        detail: Detail::Lab(Lab {
            run: None,
            host: text(record, "/host").unwrap_or_default().into(),
            experiments,
            capacity: all.iter().find(|it| it.id == CAPACITY).and_then(|it| it.capacity()),
        }),
    };
    let page = frame::record_page(&entry, &html! { @for one in &all { (one.section()) } });
    (entry, page)
}

/// An experiment of an export.
struct Exported<'v> {
    id: String,
    verdicts: Vec<String>,
    value: &'v Value,
}

impl<'v> Exported<'v> {
    fn of(value: &'v Value) -> Option<Exported<'v>> {
        let id = plain(text(value, "/run/id")?);
        let told = |verdict: &Value| text(verdict, "/text").map(plain);
        let verdicts = list(value, "/verdicts").iter().filter_map(told).collect();
        Some(Exported { id, verdicts, value })
    }

    /// Variant, metric, unit and figure.
    fn all(&self) -> impl Iterator<Item = (String, String, String, Estimate)> {
        let of = |it: &Value| {
            let number = |name: &str| it.pointer(&format!("/estimate/{name}"))?.as_f64();
            let estimate =
                Estimate { value: number("value")?, low: number("low"), high: number("high") };
            let word = |name: &str| Some(plain(it.get(name)?.as_str()?));
            Some((word("variant")?, word("metric")?, word("unit")?, estimate))
        };
        list(self.value, "/figures").iter().filter_map(of)
    }

    fn figures(&self) -> Vec<Figure> {
        let own = self.all().filter(|(variant, ..)| !variant.ends_with(TWIN));
        own.map(|(variant, metric, unit, estimate)| Figure {
            name: format!("{}: {variant}, {metric}", self.id),
            unit,
            estimate,
        })
        .collect()
    }

    fn capacity(&self) -> Option<super::entry::Capacity> {
        let points = self.all().filter(|(_, metric, ..)| metric == CHANNELS);
        let points =
            points.filter_map(|(variant, _, _, estimate)| Some((frames(&variant)?, estimate)));
        let of_run = |name: &str| text(self.value, &format!("/run/{name}")).unwrap_or("unknown");
        curve(points, of_run("definition"), of_run("size"))
    }

    fn section(&self) -> Markup {
        let row = |(variant, metric, unit, figure): (String, String, String, Estimate)| {
            vec![variant, metric, estimate(&figure, &unit)]
        };
        let rows: Vec<Vec<String>> = self.all().map(row).collect();
        html! {
            section {
                h2 { (self.id) }
                ul.plain { @for verdict in &self.verdicts { li { (capital(verdict)) "." } } }
                @if !rows.is_empty() {
                    (Table::new(["variant", "metric", "median [95 %]"], rows).html(&format!("Figures of {}", self.id)))
                }
            }
        }
    }
}

/// What the title of the page of a trace ends with.
const TRACE: &str = " \u{2013} hocket trace</title>";

/// A page that `hocket trace` wrote, and its text; or why it is not copied.
pub(super) fn trace<'t>(
    page: &'t [u8],
    file: &Candidate,
) -> Option<Result<(Entry, &'t str), &'static str>> {
    let page = whole_characters(page)?;
    let is_ours = page.starts_with("<!DOCTYPE html>");
    let (head, _) = page.split_once("<style>").filter(|_| is_ours)?;
    let is_ours = head.contains("name=\"generator\" content=\"Hocket\"");
    let (before, _) = head.split_once(TRACE).filter(|_| is_ours)?;
    let (_, name) = before.rsplit_once("<title>")?;
    if !has_known_scripts(page) {
        return Some(Err(UNKNOWN_SCRIPTS));
    }
    let name = plain(&unescaped(name));
    let digest = crate::about::digest_of(page);
    let entry = Entry {
        path: file.path.clone(),
        shown: file.shown.clone(),
        kind: "trace".into(),
        begun: None,
        machine: Machine::unknown(),
        subject: name.clone(),
        program: String::new(),
        finding: "What every thread did in each block.".into(),
        remarks: cut_off(page).into_iter().collect(),
        page: page_name("trace", &name, &digest),
        figures: Vec::new(),
        detail: Detail::Trace,
    };
    Some(Ok((entry, page)))
}

/// Why a page of a trace is not copied.
const UNKNOWN_SCRIPTS: &str = "not copied: its scripts are not those of this version. It was changed, or another version of Hocket \
    wrote it. Write it again with hocket trace";

/// Whether the browser runs no script of the page but that of this version's pages. A copy belongs to the site, so a script
/// in it could read all other pages. The policy against that is the page's own, and holds for what comes after it.
fn has_known_scripts(page: &str) -> bool {
    page.starts_with(&policy_first(&crate::trace_page::scripts()))
}

/// The text; of one that was cut off within its last character, what comes before that.
fn whole_characters(page: &[u8]) -> Option<&str> {
    let whole = match std::str::from_utf8(page) {
        Err(error) if error.error_len().is_none() => &page[..error.valid_up_to()],
        _ => page,
    };
    std::str::from_utf8(whole).ok()
}

/// What there is to say of a page that does not reach its end: the timeline is drawn by what stands there.
fn cut_off(page: &str) -> Option<String> {
    let is_whole = page.trim_end().ends_with("</html>");
    (!is_whole).then(|| {
        "Incomplete: the file was cut off, so its timeline is missing or empty. Write it again with `hocket trace`.".into()
    })
}

/// The text that maud escaped.
fn unescaped(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}
