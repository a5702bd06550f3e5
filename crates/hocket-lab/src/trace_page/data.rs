//! The numbers of a trace for the script of its page.
//!
//! One JSON object; the script names its parts. Times are nanoseconds since the planned start of the first block. Spans
//! are flat lists of numbers, because a hundred thousand objects would take the browser a second.

use std::collections::BTreeMap;
use std::fmt::Write;

use hocket_trace::run::{RunBlock, RunTrace, Thread};
use hocket_trace::system::{DEFERRED, interrupt_name};
use hocket_trace::{Doing, Span};

use crate::foreign::plain;
use crate::page_parts::palette::STRIPS;

/// The object. It is fit to stand in a `script` element: it has no `<`.
pub(super) fn json(run: &RunTrace) -> String {
    let order = run.by_seat();
    let parts = [
        ("strips", list(STRIPS.iter().map(|colour| quoted(colour)))),
        ("names", list(run.unit_names.iter().map(|of_plan| names(of_plan)))),
        ("threads", list(order.iter().map(|index| thread(&run.threads[*index])))),
        ("blocks", list(run.blocks.iter().map(|block| numbers(run, block)))),
        ("why", list(run.blocks.iter().map(why))),
        ("ways", list(run.blocks.iter().map(|block| way(run, block, &order)))),
        ("spans", list(order.iter().map(|index| spans(run, *index)))),
        ("away", list(order.iter().map(|index| away(run, *index)))),
        ("others", others(run)),
        ("beside", beside(run)),
    ];
    let parts = parts.map(|(name, json)| format!("\"{name}\":{json}"));
    format!("{{{}}}", parts.join(","))
}

fn names(names: &[String]) -> String {
    list(names.iter().map(|name| quoted(name)))
}

/// Its name and its seat.
fn thread(thread: &Thread) -> String {
    let seat = thread.cpu.map_or(String::new(), |cpu| format!("CPU {cpu}"));
    list([quoted(&thread.name), quoted(&seat)].into_iter())
}

/// Number, start, awake, finished, deadline, skipped periods, and which list of names.
fn numbers(run: &RunTrace, block: &RunBlock) -> String {
    let numbers = [
        block.number as i64,
        start_ns(run, block),
        block.awake_ns,
        block.finished_ns,
        block.deadline_ns,
        block.skipped as i64,
        block.names as i64,
    ];
    list(numbers.iter().map(ToString::to_string))
}

fn why(block: &RunBlock) -> String {
    quoted(block.verdict.as_ref().map_or("", |verdict| &verdict.text))
}

/// What the output waited for, four numbers per part: the lane, start and end since the planned start, and which unit
/// or -1.
fn way(run: &RunTrace, block: &RunBlock, order: &[usize]) -> String {
    let lane = |thread| order.iter().position(|drawn| *drawn == thread).unwrap_or(0);
    let numbers = run.awaited(block).into_iter().flat_map(|part| {
        let unit = part.unit.map_or(-1, i64::from);
        [lane(part.thread) as i64, part.start_ns, part.end_ns, unit]
    });
    list(numbers.map(|number| number.to_string()))
}

fn start_ns(run: &RunTrace, block: &RunBlock) -> i64 {
    block.start_ns.saturating_sub(run.origin_ns()) as i64
}

/// Of one thread, four numbers per span: start, length, what, and the index of the block.
fn spans(run: &RunTrace, thread: usize) -> String {
    let mut out = String::from("[");
    for (index, block) in run.blocks.iter().enumerate() {
        let start_ns = start_ns(run, block);
        for lane in block.lanes.iter().filter(|lane| lane.thread == thread) {
            for span in &lane.spans {
                let length_ns = span.end_ns.saturating_sub(span.start_ns).max(0);
                let start_ns = start_ns.saturating_add(span.start_ns);
                let comma = if out.len() > 1 { "," } else { "" };
                let _ = write!(out, "{comma}{start_ns},{length_ns},{},{index}", what(span));
            }
        }
    }
    out + "]"
}

/// Of one thread, two numbers for each span of which it is known: which span, and for how long the thread had no CPU.
fn away(run: &RunTrace, thread: usize) -> String {
    let lanes = run.blocks.iter().flat_map(|block| &block.lanes);
    let spans = lanes.filter(|lane| lane.thread == thread).flat_map(|lane| &lane.spans);
    let known = spans.enumerate().filter_map(|(at, span)| Some((at as i64, span.away_ns?)));
    list(known.flat_map(|(at, ns)| [at.to_string(), ns.to_string()]))
}

/// A unit's index, or a negative number for all else.
fn what(span: &Span) -> i64 {
    match span.doing {
        Doing::Unit(unit) => unit.into(),
        Doing::Barrier => -1,
        Doing::Wait => -2,
        Doing::Help => -3,
        Doing::Guard => -4,
    }
}

/// Per CPU: its number, the names, and four numbers per time that a thread ran: start, length, which name, and the
/// index of the block.
fn others(run: &RunTrace) -> String {
    let mut cpus: Vec<u32> =
        run.blocks.iter().flat_map(|block| &block.others).map(|others| others.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    list(cpus.into_iter().map(|cpu| {
        let (mut names, mut numbers): (Vec<String>, Vec<i64>) = (Vec::new(), Vec::new());
        for (index, block) in run.blocks.iter().enumerate() {
            let start_ns = start_ns(run, block);
            let of_cpu = block.others.iter().filter(|others| others.cpu == cpu);
            for ran in of_cpu.flat_map(|others| &others.intervals) {
                let name = format!("{} ({})", ran.name, ran.tid);
                let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                });
                let length_ns = ran.end_ns.saturating_sub(ran.start_ns).max(0);
                let start_ns = start_ns.saturating_add(ran.start_ns);
                numbers.extend([start_ns, length_ns, at as i64, index as i64]);
            }
        }
        let numbers = list(numbers.iter().map(ToString::to_string));
        list([cpu.to_string(), self::names(&names), numbers].into_iter())
    }))
}

/// Lanes of CPUs beside those of threads: the title, the CPU, the names, and four numbers per event as for `others`. One for
/// wake-ups, which take no time, and one for interrupts and one for what they put off.
fn beside(run: &RunTrace) -> String {
    /// Names and numbers.
    type Flat = (Vec<String>, Vec<i64>);
    let mut lanes: BTreeMap<(u32, &str), Flat> = BTreeMap::new();
    let mut add = |(cpu, title), (start_ns, length_ns): (i64, i64), name: String, block: usize| {
        let (names, numbers) = lanes.entry((cpu, title)).or_default();
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        numbers.extend([start_ns, length_ns, at as i64, block as i64]);
    };
    for (index, block) in run.blocks.iter().enumerate() {
        let begin_ns = start_ns(run, block);
        for wake in &block.wakes {
            let by = wake.by.as_deref().unwrap_or("an interrupt");
            let name = format!("{} woken by {by}", wake.woken);
            add((wake.cpu, "wake-ups"), (begin_ns.saturating_add(wake.at_ns), 0), name, index);
        }
        for one in &block.interrupts {
            let title = match one.number & DEFERRED {
                0 => "interrupts",
                _ => "put off by interrupts",
            };
            let length_ns = one.end_ns.saturating_sub(one.start_ns).max(0);
            let times = (begin_ns.saturating_add(one.start_ns), length_ns);
            add((one.cpu, title), times, interrupt_name(one.number), index);
        }
    }
    list(lanes.into_iter().map(|((cpu, title), (names, numbers))| {
        let numbers = list(numbers.iter().map(ToString::to_string));
        list([quoted(title), cpu.to_string(), self::names(&names), numbers].into_iter())
    }))
}

pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    let mut out = String::from("[");
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out += &item;
    }
    out + "]"
}

/// Text from elsewhere as a JSON string that ends no element.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(plain(text)).to_string().replace('<', "\\u003c")
}
