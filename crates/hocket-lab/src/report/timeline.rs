//! One block as lanes: who ran which unit when, who waited, where the deadline was.

use hocket_trace::{BlockTrace, Doing, Lane, Span};

use crate::foreign::plain;
use crate::numbers::{OF_BLOCKS, block_time, count};
use crate::page_parts::palette::STRIPS;
use crate::page_parts::plots::{Drawn, Key, Stretch, Timeline};

/// Which strip has which colour, in all timelines of a page.
///
/// No two strips that have a colour share it: where there are more strips than colours, those that take most time
/// have one, and all others are grey.
pub(super) struct Strips {
    coloured: Vec<String>,
    others: usize,
}

/// The grey of [`STRIPS`], for all strips without a colour of their own.
const OTHERS: usize = STRIPS.len() - 1;

impl Strips {
    /// The strips of these blocks, in order of their first unit.
    pub fn of<'t>(traces: impl IntoIterator<Item = &'t BlockTrace>) -> Strips {
        let mut strips: Vec<(String, i64)> = Vec::new();
        for trace in traces {
            let times = unit_times(trace);
            for (name, time) in trace.unit_names.iter().zip(times) {
                let name = plain(name);
                let strip = strip_of(&name);
                match strips.iter_mut().find(|(known, _)| known == strip) {
                    Some((_, sum)) => *sum = sum.saturating_add(time),
                    None => strips.push((strip.into(), time)),
                }
            }
        }
        let all = strips.len();
        if all > STRIPS.len() {
            strips.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
            strips.truncate(OTHERS);
        }
        let coloured: Vec<String> = strips.into_iter().map(|(strip, _)| strip).collect();
        Strips { others: all - coloured.len(), coloured }
    }

    fn class(&self, unit: &str) -> String {
        let strip = strip_of(unit);
        let colour = self.coloured.iter().position(|known| known == strip);
        format!("fill s{}", colour.unwrap_or(OTHERS))
    }
}

/// The time of each unit in a block, in nanoseconds.
fn unit_times(trace: &BlockTrace) -> Vec<i64> {
    let mut times = vec![0_i64; trace.unit_names.len()];
    for span in trace.lanes.iter().flat_map(|lane| &lane.spans) {
        if let Doing::Unit(index) = span.doing
            && let Some(time) = times.get_mut(index as usize)
        {
            *time = time.saturating_add(span.end_ns.saturating_sub(span.start_ns));
        }
    }
    times
}

/// `kick` of `kick: play, eq`.
fn strip_of(name: &str) -> &str {
    name.split_once(": ").map_or(name, |(strip, _)| strip)
}

/// The timeline of a block; `what` says which block of which variant it is.
pub(super) fn timeline(trace: &BlockTrace, what: &str, strips: &Strips) -> Drawn {
    let stretches = trace.lanes.iter().enumerate();
    let timeline = Timeline {
        title: summary(trace, what),
        lanes: trace.lanes.iter().map(named).collect(),
        stretches: stretches.flat_map(|(at, lane)| on_lane(at, lane, trace, strips)).collect(),
        deadline: Some(trace.deadline_ns as f64),
        unit: OF_BLOCKS,
        legend: legend(strips, trace),
    };
    timeline.drawn()
}

fn summary(trace: &BlockTrace, what: &str) -> String {
    // Saturating, because a record may come from anywhere.
    let slack = trace.deadline_ns.saturating_sub(trace.finished_ns);
    let end = if slack < 0 { "late by" } else { "ready with a slack of" };
    format!(
        "{what}: block {}, awake after {}, {} of processing, {end} {}",
        count(trace.block),
        block_time(trace.awake_ns as f64),
        block_time(trace.finished_ns.saturating_sub(trace.awake_ns) as f64),
        block_time(slack.unsigned_abs() as f64)
    )
}

fn named(lane: &Lane) -> String {
    let cpu = lane.cpu.map_or(String::new(), |cpu| format!(", CPU {cpu}"));
    format!("{}{cpu}", lane.name)
}

/// From the planned start until the thread was awake, then what it did.
fn on_lane(at: usize, lane: &Lane, trace: &BlockTrace, strips: &Strips) -> Vec<Stretch> {
    let stretch = |(from, to): (i64, i64), label: String, class: String| Stretch {
        lane: at,
        from: from as f64,
        to: to as f64,
        label,
        class,
    };
    let asleep = (lane.awake_ns > 0)
        .then(|| stretch((0, lane.awake_ns), "asleep".into(), "way asleep".into()));
    let done = |span: &Span| {
        let label = name(&span.doing, trace);
        let class = match kind(&span.doing) {
            Some(kind) => format!("way {kind}"),
            None => strips.class(&label),
        };
        stretch((span.start_ns, span.end_ns), label, class)
    };
    asleep.into_iter().chain(lane.spans.iter().map(done)).collect()
}

/// What is no unit.
fn kind(doing: &Doing) -> Option<&'static str> {
    match doing {
        Doing::Unit(_) => None,
        Doing::Barrier => Some("barrier"),
        Doing::Wait => Some("wait"),
        Doing::Help => Some("help"),
        Doing::Guard => Some("guard"),
    }
}

fn name(doing: &Doing, trace: &BlockTrace) -> String {
    match doing {
        Doing::Unit(index) => {
            let known = trace.unit_names.get(*index as usize);
            known.map_or_else(|| format!("unit {index}"), |name| plain(name))
        }
        Doing::Barrier => "barrier".into(),
        Doing::Wait => "wait: nothing was ready".into(),
        Doing::Help => "help: passes of work that another worker has spread".into(),
        Doing::Guard => "guard: keeps the seat from strangers".into(),
    }
}

fn legend(strips: &Strips, trace: &BlockTrace) -> Vec<Key> {
    let strip = |(at, name): (usize, &String)| Key::mark(&format!("fill s{at}"), 1, name);
    let mut keys: Vec<Key> = strips.coloured.iter().enumerate().map(strip).collect();
    if strips.others > 0 {
        let words = format!("{} others, which take less time", strips.others);
        keys.push(Key::mark(&format!("fill s{OTHERS}"), 1, &words));
    }
    let seen = |wanted: &str| {
        let spans = trace.lanes.iter().flat_map(|lane| &lane.spans);
        spans.into_iter().any(|span| kind(&span.doing) == Some(wanted))
    };
    let kinds = ["barrier", "wait", "help", "guard"].into_iter().filter(|kind| seen(kind));
    keys.extend(kinds.map(|kind| Key::mark(&format!("way {kind}"), 1, kind)));
    keys
}
