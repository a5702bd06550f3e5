//! A run as trace events in the JSON that Chrome writes.
//!
//! ui.perfetto.dev and profiler.firefox.com both open it. Each track is a thread of one process. Firefox shows an
//! event's `args.detail`, Perfetto shows all arguments. [`crate::read`] makes a run of it again, so blocks and threads have
//! their numbers as arguments, too.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::events::{Drawn, Event, Exact, Track};
use crate::numbers::BlockNumbers;
use crate::run::RunTrace;
use crate::system::SystemTrace;

/// The process to which all threads belong. A trace has only one.
const PROCESS: u32 = 1;

/// One event. Times are microseconds.
#[derive(Serialize)]
struct ChromeEvent<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// How far an instant reaches: over the whole process, so that a deadline is a line through all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

/// The whole run as one JSON object. Its events are in `traceEvents`, facts about the run in `otherData`. Time 0 is
/// the planned start of the first block, or the start of a span that began before it.
pub fn chrome_json(run: &RunTrace) -> Vec<u8> {
    all(run)
}

/// The same of what a system did. Time 0 is the begin of the watch.
pub fn chrome_json_of_system(system: &SystemTrace) -> Vec<u8> {
    all(system)
}

fn all(run: &impl Drawn) -> Vec<u8> {
    let tracks = run.tracks();
    let thread = |track: Track| {
        let at = tracks.iter().position(|(known, _)| *known == track);
        // The number of the process would mean its main thread.
        at.map_or(0, |at| at as u32 + PROCESS + 1)
    };
    let zero_ns = first_ns(run);
    let ts = |ns: i64| ns.saturating_sub(zero_ns) as f64 / 1e3;
    let mut out = Events::begin(run);
    out.name_threads(run, &tracks, thread);
    run.events(&mut |event| match event {
        Event::Slice { track, name, category, start_ns, end_ns, detail, exact } => {
            out.push(&ChromeEvent {
                name: &name,
                cat: category,
                ph: "X",
                pid: PROCESS,
                tid: thread(track),
                ts: ts(start_ns),
                dur: Some(end_ns.saturating_sub(start_ns) as f64 / 1e3),
                s: None,
                args: exact_args(&detail, exact, &thread),
            })
        }
        Event::Instant { track, name, category, at_ns, detail } => out.push(&ChromeEvent {
            name: &name,
            cat: category,
            ph: "i",
            pid: PROCESS,
            tid: thread(track),
            ts: ts(at_ns),
            dur: None,
            s: Some(if track == Track::Blocks { "p" } else { "t" }),
            args: args(&detail),
        }),
        Event::Slack { at_ns, slack_ns } => out.push(&ChromeEvent {
            name: "slack (µs)",
            cat: "block",
            ph: "C",
            pid: PROCESS,
            tid: thread(Track::Blocks),
            ts: ts(at_ns),
            dur: None,
            s: None,
            args: Some(json!({ "slack": slack_ns as f64 / 1e3 })),
        }),
    });
    out.end()
}

/// The detail, and what [`crate::read`] needs.
fn exact_args(detail: &str, exact: Exact, thread: &impl Fn(Track) -> u32) -> Option<Value> {
    let mut args = args(detail);
    let mut add = |name: &str, value: Value| {
        let all = args.get_or_insert_with(|| Value::Object(Map::new()));
        all[name] = value;
    };
    match exact {
        Exact::Nothing => {}
        Exact::Block(block) => {
            let numbers = BlockNumbers::of(block, |index| thread(Track::Thread(index)));
            // Numbers and strings always have a JSON form.
            add("block", serde_json::to_value(numbers).unwrap_or_default());
        }
        Exact::Away(ns) => add("away_ns", ns.into()),
        Exact::Thread(tid) => add("thread", tid.into()),
        Exact::Interrupt(number) => add("interrupt", number.into()),
    }
    args
}

fn args(detail: &str) -> Option<Value> {
    (!detail.is_empty()).then(|| json!({ "detail": detail }))
}

/// Viewers expect no negative times.
fn first_ns(run: &impl Drawn) -> i64 {
    let mut first = i64::MAX;
    run.events(&mut |event| match event {
        Event::Slice { start_ns, .. } => first = first.min(start_ns),
        Event::Instant { at_ns, .. } | Event::Slack { at_ns, .. } => first = first.min(at_ns),
    });
    if first == i64::MAX { 0 } else { first }
}

/// The bytes so far.
struct Events {
    out: Vec<u8>,
    is_first: bool,
}

impl Events {
    fn begin(run: &impl Drawn) -> Events {
        let mut other: Map<String, Value> = Map::new();
        for (name, value) in run.facts() {
            match other.get_mut(name) {
                Some(Value::Array(all)) => all.push(value.into()),
                // Several of one name are a list.
                Some(before) => *before = json!([before.take(), value]),
                None => _ = other.insert(name.to_owned(), value.into()),
            }
        }
        // The format comes first, so that the beginning of the file says what it is.
        let format = other.remove("format").unwrap_or_default();
        let rest = Value::Object(other).to_string();
        let rest = rest.strip_prefix('{').unwrap_or("}");
        let head = format!("{{\"otherData\":{{\"format\":{format},{rest},\"traceEvents\":[\n");
        Events { out: head.into_bytes(), is_first: true }
    }

    fn push(&mut self, event: &impl Serialize) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.extend_from_slice(b",\n");
        }
        // Strings and numbers always have a JSON form, and memory takes every byte.
        let _ = serde_json::to_writer(&mut self.out, event);
    }

    fn name_threads(
        &mut self,
        run: &impl Drawn,
        tracks: &[(Track, String)],
        thread: impl Fn(Track) -> u32,
    ) {
        let meta = |name: &str, tid: u32, args: Value| json!({ "name": name, "ph": "M", "pid": PROCESS, "tid": tid, "ts": 0, "args": args });
        self.push(&meta("process_name", 0, json!({ "name": "hocket" })));
        for (rank, (track, name)) in tracks.iter().enumerate() {
            let tid = thread(*track);
            let mut args = json!({ "name": name });
            if let Some(thread) = run.thread(*track) {
                args["seat"] = serde_json::to_value(thread).unwrap_or_default();
            }
            match track {
                Track::Others(cpu) => args["others_on"] = (*cpu).into(),
                Track::Interrupts(cpu, _) => args["interrupts_on"] = (*cpu).into(),
                Track::Blocks | Track::Thread(_) => {}
            }
            self.push(&meta("thread_name", tid, args));
            self.push(&meta("thread_sort_index", tid, json!({ "sort_index": rank })));
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.out.extend_from_slice(b"\n]}\n");
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    fn parsed(run: &RunTrace) -> Value {
        let bytes = chrome_json(run);
        let text = String::from_utf8(bytes).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn named<'a>(all: &'a Value, name: &str) -> Vec<&'a Value> {
        all["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["name"] == name)
            .collect()
    }

    #[test]
    fn spans_come_back_with_thread_time_and_length() {
        let all = parsed(&run());
        let threads = named(&all, "thread_name");
        let names: Vec<&str> =
            threads.iter().map(|event| event["args"]["name"].as_str().unwrap()).collect();
        let workers = ["worker 0 (leader), CPU 0", "worker 1, CPU 4", "elsewhere, CPU 1"];
        assert_eq!(names, [&["blocks"][..], &workers, &["others on CPU 4"]].concat());
        let vocals = named(&all, "vocals: play");
        assert_eq!(vocals.len(), 3);
        assert_eq!((&vocals[1]["ts"], &vocals[1]["dur"]), (&json!(1030.0), &json!(570.0)));
        assert_eq!((&vocals[1]["tid"], &vocals[1]["ph"]), (&threads[2]["tid"], &json!("X")));
        let master = named(&all, "master <&\">");
        assert_eq!(master.len(), 3, "names are as they were");
    }

    #[test]
    fn what_it_is_and_why_it_was_late_is_said() {
        let run = run();
        assert!(chrome_json(&run).starts_with(b"{\"otherData\":{\"format\":\"hocket-trace/1\","));
        let all = parsed(&run);
        assert_eq!(all["otherData"]["session"], "Band </script>");
        assert_eq!(all["otherData"]["not seen here"], "moves of workers are not counted");
        let late = named(&all, "block 8 (late)");
        assert!(late[0]["args"]["detail"].as_str().unwrap().contains("preview ran for 90 µs"));
        let deadlines = named(&all, "deadline");
        assert_eq!((deadlines.len(), &deadlines[0]["s"]), (3, &json!("p")));
        assert_eq!(named(&all, "slack (µs)")[1]["args"]["slack"], -50.0);
    }

    #[test]
    fn times_are_never_negative_and_an_empty_run_is_valid() {
        let mut run = run();
        run.blocks[0].lanes[1].spans[0].start_ns = -70_000;
        run.blocks[0].lanes[1].awake_ns = -70_000;
        let all = parsed(&run);
        let mut times = all["traceEvents"].as_array().unwrap().iter().map(|e| e["ts"].as_f64());
        assert!(times.all(|ts| ts.unwrap() >= 0.0));
        run.blocks.clear();
        run.unit_names.clear();
        assert_eq!(named(&parsed(&run), "deadline").len(), 0);
    }
}
