//! The machine: its seats as a drawing, what the system said, what it allowed.
//!
//! The record holds these as the machine crate serialised them, possibly by another version, so
//! everything here is looked up by name and left out where it is not there.

use maud::{Markup, html};
use serde_json::{Map, Number, Value};

use crate::foreign::plain;
use crate::numbers::listed;
use crate::once::each_once;
use crate::record::{BenchRecord, ThreadGrant};

/// What fits into a column.
const SHORT: usize = 34;
/// Facts beyond these many lines are left to the record.
const MOST_FACTS: usize = 48;

/// Packages, cores and seats; nothing where the record holds no topology.
pub(super) fn topology(record: &BenchRecord) -> Markup {
    let threads =
        record.variants.iter().map(|v| v.threads.as_slice()).find(|t| !t.is_empty()).unwrap_or(&[]);
    drawn(&record.machine, threads)
}

/// The same where nobody sits on the seats.
pub(crate) fn seats(machine: &Value) -> Markup {
    drawn(machine, &[])
}

fn drawn(machine: &Value, threads: &[ThreadGrant]) -> Markup {
    let topology = machine.get("topology").unwrap_or(machine);
    let cores = list(topology, "cores");
    html! {
        @for (at, package) in list(topology, "packages").iter().enumerate() {
            div.package {
                p.package-name { "Package " (number(package, "os_index").unwrap_or(at as u64)) @if let Some(model) = text(package, "model") { ": " (model) } }
                div.cores {
                    @for core in numbers(package, "cores") { (drawing(topology, cores.get(core), core, threads)) }
                }
            }
        }
        @if !cores.is_empty() {
            p.small { (in_words(topology)) @if !threads.is_empty() { " Filled seats hold the workers of the first variant." } }
        }
    }
}

fn in_words(topology: &Value) -> String {
    let count = |key: &str| list(topology, key).len();
    let pairs = match count("pairs") {
        0 => "no pairs: no two seats share a core".into(),
        1 => "1 pair".into(),
        n => format!("{n} pairs"),
    };
    format!("{} cores, {} seats, {pairs}.", count("cores"), count("seats"))
}

/// Width and height of a seat, and the space around it.
const SEAT: (usize, usize) = (58, 40);
const GAP: usize = 5;

/// A core with its seats, two in a row.
fn drawing(
    topology: &Value,
    core: Option<&Value>,
    index: usize,
    threads: &[ThreadGrant],
) -> Markup {
    let seats: Vec<&Value> = core
        .map(|core| numbers(core, "seats"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|seat| list(topology, "seats").get(seat))
        .collect();
    let columns = seats.len().clamp(1, 2);
    let width = columns * (SEAT.0 + GAP) + GAP;
    let height = seats.len().div_ceil(2).max(1) * (SEAT.1 + GAP) + GAP + 14;
    let cpus: Vec<String> =
        seats.iter().filter_map(|seat| Some(number(seat, "cpu")?.to_string())).collect();
    html! {
        svg.core width=(width) height=(height) role="img" aria-label={ "core " (index) " with CPU " (cpus.join(" and ")) } {
            rect.core-box x="0.5" y="0.5" width=(width - 1) height=(height - 1) rx="6" {}
            text.core-name x=(GAP + 1) y="13" { "core " (index) }
            @for (at, seat) in seats.iter().enumerate() {
                (seat_drawing(seat, GAP + at % 2 * (SEAT.0 + GAP), 18 + at / 2 * (SEAT.1 + GAP), threads))
            }
        }
    }
}

fn seat_drawing(seat: &Value, x: usize, y: usize, threads: &[ThreadGrant]) -> Markup {
    let cpu = number(seat, "cpu");
    let thread =
        threads.iter().find(|thread| thread.cpu_got.map(u64::from) == cpu && cpu.is_some());
    let usable = ["allowed", "online"].iter().all(|key| seat.get(key) != Some(&Value::Bool(false)));
    let class = match (thread.is_some(), usable) {
        (true, _) => "seat worker",
        (_, true) => "seat",
        _ => "seat barred",
    };
    html! {
        g class=(class) {
            rect x=(x) y=(y) width=(SEAT.0) height=(SEAT.1) rx="4" {}
            text x=(x + SEAT.0 / 2) y=(y + 17) text-anchor="middle" { "CPU " (cpu.map_or("?".into(), |cpu| cpu.to_string())) }
            text.seat-holds x=(x + SEAT.0 / 2) y=(y + 32) text-anchor="middle" {
                @match (thread, usable) {
                    (Some(thread), _) => (short(&thread.thread)),
                    (None, true) => "free",
                    (None, false) => "barred",
                }
            }
        }
    }
}

/// `worker 0` of `worker 0 (leader)`, and no more than fits.
fn short(thread: &str) -> String {
    plain(thread.split(" (").next().unwrap_or(thread)).chars().take(10).collect()
}

/// Everything else that is known of the machine, as terms and what the system said: short facts
/// in a grid, long ones and what is not known behind a fold.
pub(crate) fn facts(machine: &Value) -> Markup {
    let mut lines = Vec::new();
    flatten("", machine, &mut lines);
    let is_short = |line: &Line| line.known && line.says.chars().count() <= SHORT;
    let (mut short, mut long): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(is_short);
    short.truncate(MOST_FACTS);
    long.truncate(MOST_FACTS);
    html! {
        @if !short.is_empty() { (terms(&short, "facts")) }
        @if !long.is_empty() {
            details {
                summary { "More about the machine " span { "· long texts and what could not be found out" } }
                (terms(&long, "facts long"))
            }
        }
    }
}

fn terms(lines: &[Line], class: &str) -> Markup {
    html! {
        dl class=(class) {
            @for line in lines { div { dt { (line.name) } dd.unknown[!line.known] { (line.says) } } }
        }
    }
}

struct Line {
    name: String,
    says: String,
    known: bool,
}

fn flatten(name: &str, value: &Value, out: &mut Vec<Line>) {
    if let Some((says, known)) = said(name, value) {
        out.push(Line { name: term(name), says, known });
        return;
    }
    let Value::Object(fields) = value else { return };
    if fields.keys().all(|key| key.parse::<u32>().is_ok()) {
        return per_cpu(name, fields, out);
    }
    for (key, field) in fields.iter().filter(|(key, _)| *key != "topology") {
        let name =
            if name.is_empty() || name == "facts" { key.clone() } else { format!("{name}, {key}") };
        flatten(&name, field, out);
    }
}

/// One line for a fact of all CPUs: what they have in common, or the first of the different ones.
fn per_cpu(name: &str, cpus: &Map<String, Value>, out: &mut Vec<Line>) {
    let keys = cpus.values().filter_map(Value::as_object).flat_map(Map::keys);
    for key in each_once(keys) {
        let mut distinct = each_once(cpus.values().filter_map(|cpu| said(key, cpu.get(key)?)));
        let known = distinct.iter().any(|(_, known)| *known);
        // One reason is enough; they differ in the number of the CPU only.
        distinct.truncate(if known { distinct.len() } else { 1 });
        let words: Vec<&str> = distinct.iter().map(|(says, _)| says.as_str()).collect();
        out.push(Line { name: term(&format!("{name}, {key}")), says: listed(&words), known });
    }
}

/// A fact in words and whether it is known: a plain value, `{"value": ...}` or
/// `{"unknown": "why"}`. `None`: not a single fact. `name` tells the unit by its ending.
fn said(name: &str, value: &Value) -> Option<(String, bool)> {
    match value {
        Value::Null => Some(("unknown".into(), false)),
        Value::Bool(yes) => Some((if *yes { "yes" } else { "no" }.into(), true)),
        Value::Number(number) => Some((measured(name, number), true)),
        Value::String(text) => Some((plain(text), true)),
        Value::Array(items) => {
            let parts: Option<Vec<String>> =
                items.iter().map(|item| said(name, item).map(|(says, _)| says)).collect();
            let parts = parts.filter(|parts| !parts.is_empty());
            Some((parts.map_or("none".into(), |parts| parts.join(", ")), true))
        }
        Value::Object(fields) if fields.len() == 1 => match fields.iter().next() {
            Some((key, inner)) if key == "value" => said(name, inner),
            Some((key, why)) if key == "unknown" => {
                Some((format!("unknown: {}", plain(why.as_str()?)), false))
            }
            _ => None,
        },
        Value::Object(_) => None,
    }
}

/// A number with the unit its name ends in.
fn measured(name: &str, number: &Number) -> String {
    let unit = name.rsplit('_').next().unwrap_or_default();
    match (unit, number.as_f64()) {
        ("bytes", Some(bytes)) if bytes >= 1e9 => format!("{:.1} GiB", bytes / f64::from(1 << 30)),
        ("bytes", Some(bytes)) => format!("{:.0} MiB", bytes / f64::from(1 << 20)),
        ("khz", Some(khz)) => format!("{:.0} MHz", khz / 1e3),
        ("s", Some(seconds)) => format!("{:.1} h", seconds / 3600.0),
        _ => number.to_string(),
    }
}

/// The name of a fact without its unit.
fn term(name: &str) -> String {
    let bare = ["_bytes", "_khz", "_s"].iter().find_map(|unit| name.strip_suffix(unit));
    humane(bare.unwrap_or(name))
}

/// What the system allows, as a table of yes, no, why and what would help.
pub(crate) fn grants(grants: &Value) -> Markup {
    let all = grants.as_array().map_or(&[] as &[Value], Vec::as_slice);
    html! {
        table.grants {
            thead { tr {
                th scope="col" { "Right" }
                @for head in ["Granted", "Why", "What would help"] { th.left scope="col" { (head) } }
            } }
            tbody {
                @for grant in all {
                    tr {
                        th scope="row" { (humane(&text(grant, "name").unwrap_or_default())) }
                        td { @match grant.get("granted").and_then(Value::as_bool) {
                            Some(true) => span.yes { "yes" },
                            Some(false) => span.no { "no" },
                            None => "–",
                        } }
                        td.why { (text(grant, "detail").unwrap_or_default()) }
                        td.why { (text(grant, "remedy").unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

/// `smt, cpu_model` as `SMT, CPU model`.
fn humane(name: &str) -> String {
    let word = |word: &str| match word.trim_end_matches(',') {
        known @ ("cpu" | "cpus" | "smt") => {
            word.replace(known, &known.replace("cpu", "CPU").replace("smt", "SMT"))
        }
        _ => plain(word),
    };
    name.replace(['_', '-'], " ").split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn numbers(value: &Value, key: &str) -> Vec<usize> {
    list(value, key).iter().filter_map(|number| usize::try_from(number.as_u64()?).ok()).collect()
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn facts_are_told_from_groups_of_facts() {
        let mut lines = Vec::new();
        let machine = json!({"topology": {"x": 1}, "facts": {"kernel": {"value": "Linux"}, "smt": {"control": {"unknown": "no file"}}}, "cpus": [1, 2]});
        flatten("", &machine, &mut lines);
        let said: Vec<String> =
            lines.iter().map(|line| format!("{}={}", line.name, line.says)).collect();
        assert_eq!(said, ["CPUs=1, 2", "kernel=Linux", "SMT, control=unknown: no file"]);
    }

    #[test]
    fn numbers_carry_the_unit_of_their_name() {
        let says = |name: &str, value: Value| said(name, &value).map(|(says, _)| says);
        assert_eq!(says("memory_bytes", json!(17_179_869_184_u64)), Some("16.0 GiB".into()));
        assert_eq!(says("max_khz", json!({"value": 3_200_000})), Some("3200 MHz".into()));
        assert_eq!(says("steps", json!(3)), Some("3".into()));
        assert_eq!((term("memory_bytes"), term("uptime_s")), ("memory".into(), "uptime".into()));
    }

    #[test]
    fn cpus_that_agree_share_a_line() {
        let cpu = |governor: &str| json!({"governor": {"value": governor}});
        let mut lines = Vec::new();
        flatten("clocks", &json!({"0": cpu("a"), "1": cpu("a"), "2": cpu("b")}), &mut lines);
        let said: Vec<String> = lines.iter().map(|l| format!("{}={}", l.name, l.says)).collect();
        assert_eq!(said, ["clocks, governor=a and b"]);
    }
}
