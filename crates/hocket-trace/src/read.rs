//! Reads a run from the trace events that [`chrome_json`](crate::write::chrome_json) wrote.
//!
//! Two traces that were made on other days, or on other machines, can so stand on one page. The file has an event on each
//! line, and the events of a block follow it. Nothing is repaired: a file that is cut, or that another program has written
//! anew, is refused with the line at which that shows.
//!
//! What does not come back: a unit has its name, but not the plan that it belongs to; of others on a CPU, the times of
//! which nothing was recorded.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::numbers::BlockNumbers;
use crate::run::{About, FORMAT, Kept, RunBlock, RunLane, RunTrace, Thread};
use crate::sched_text::{Lines, ReadError};
use crate::switches::{Ran, Switches};
use crate::system::{InterruptOn, WokenOn};
use crate::write::{AN_INTERRUPT, BY, WOKEN, kept};
use crate::{Doing, Misses, Span};

/// A block has some 30 bytes for each thread and a sentence or two, a remark has some 100.
const LONGEST_LINE: usize = 1 << 20;
/// As many as `hocket trace` keeps.
const MOST_SPANS: usize = 2_000_000;
/// As many as it plays.
const MOST_BLOCKS: usize = 1_000_000;
/// The time to find the critical path of a block grows with the square of their number.
const MOST_IN_A_BLOCK: usize = 20_000;
/// Longer times, and times that are further from the first block, are mistakes: 11 days.
const LONGEST_NS: i64 = 1_000_000_000_000_000;
/// Lines between two questions whether to stop.
const STOP_EVERY: u64 = 4096;
/// How the file begins, up to its version.
const BEGIN: &str = "{\"otherData\":{\"format\":\"hocket-trace/";

/// Whether a file with this beginning is such a trace, of whichever version.
pub fn is_own(beginning: &[u8]) -> bool {
    beginning.starts_with(BEGIN.as_bytes())
}

/// Reads a file to its end. `file`: its name, for the reader of the page.
///
/// Cost: linear in the text; memory for its events.
///
/// # Errors
/// [`ReadError`]: it is of a newer format, cut, or has a line that is not ours; or `stop` said true.
pub fn read(
    text: impl BufRead,
    file: String,
    stop: impl Fn() -> bool,
) -> Result<RunTrace, ReadError> {
    let mut lines = Lines::new(text, LONGEST_LINE);
    let mut reading: Option<Reading> = None;
    let mut has_ended = false;
    while let Some(line) = lines.next()? {
        let number = line.number;
        if number.is_multiple_of(STOP_EVERY) && stop() {
            return Err(ReadError::Stopped);
        }
        let said = match (line.is_cut, std::str::from_utf8(line.bytes)) {
            (true, _) => Err(format!("it has more than {LONGEST_LINE} bytes")),
            (_, Err(_)) => Err("it is no text".into()),
            (_, Ok(text)) => match &mut reading {
                None => {
                    reading = Some(Reading::begin(text, file.clone(), number)?);
                    Ok(())
                }
                Some(_) if has_ended && text.trim().is_empty() => Ok(()),
                Some(_) if has_ended => Err("it stands behind the end of the trace".into()),
                Some(_) if text == "]}" => {
                    has_ended = true;
                    Ok(())
                }
                Some(reading) => reading.line(text),
            },
        };
        if let Err(why) = said {
            // The last line of a file that was cut says nothing of what is wrong.
            let is_cut = !has_ended && lines.next()?.is_none();
            return Err(match is_cut {
                true => ReadError::Cut { line: number },
                false => ReadError::Line { line: number, why },
            });
        }
    }
    match reading {
        Some(reading) if has_ended => reading.finish(),
        // A reader that has to stop may have ended the text itself.
        _ if stop() => Err(ReadError::Stopped),
        _ => Err(ReadError::Cut { line: lines.number() }),
    }
}

/// The first line: `{"otherData":{...},"traceEvents":[`.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "otherData")]
    facts: Facts,
}

/// What the file says of the whole run.
#[derive(Deserialize)]
#[serde(transparent)]
struct Facts(Map<String, Value>);

impl Facts {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(all)) => {
                all.iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect()
            }
            _ => self.text(name).map(str::to_owned).into_iter().collect(),
        }
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, String> {
        let number = self.text(name).and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("`{name}` of otherData is no number, or missing"))
    }

    fn kept(&self) -> Result<Kept, String> {
        let said = self.text("kept");
        let known = [Kept::Every, Kept::OnMiss].into_iter().find(|it| said == Some(kept(*it)));
        known.ok_or_else(|| "`kept` of otherData does not say which blocks were kept".into())
    }

    fn about(&self, file: String) -> Result<About, String> {
        let text = |name| self.text(name).unwrap_or_default().to_owned();
        Ok(About {
            hocket: text("hocket"),
            session: text("session"),
            policy: text("policy"),
            frames: self.number("frames")?,
            rate_hz: self.number("rate_hz")?,
            period_ns: self.number("period_ns")?,
            kept: self.kept()?,
            span_cost_ns: self.number("span_cost_ns")?,
            machine: text("machine"),
            file,
        })
    }

    fn run(&self, file: String) -> Result<RunTrace, String> {
        let mut run = RunTrace::new(self.about(file)?, Vec::new());
        run.played = self.number("played")?;
        run.misses = Misses { late: self.number("late")?, skipped: self.number("skipped")? };
        run.lost_blocks = self.number("lost_blocks")?;
        run.lost_spans = self.number("lost_spans")?;
        run.interrupted = self.0.contains_key("interrupted");
        run.remarks = self.texts("note");
        run.limits = self.texts("not seen here");
        Ok(run)
    }
}

/// What of an event is read.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    tid: u32,
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Args,
}

#[derive(Deserialize, Default)]
struct Args {
    block: Option<BlockNumbers>,
    away_ns: Option<i64>,
    thread: Option<i32>,
    seat: Option<Thread>,
    others_on: Option<u32>,
    interrupts_on: Option<u32>,
    interrupt: Option<u32>,
    detail: Option<String>,
}

/// What the events of a `tid` are.
#[derive(Clone, Copy)]
enum Track {
    /// Of the thread with this index.
    Thread(usize),
    /// Of other threads on this CPU.
    Others(u32),
    /// Of interrupts on this CPU.
    Interrupts(u32),
}

/// What has been read so far.
struct Reading {
    run: RunTrace,
    tracks: BTreeMap<u32, Track>,
    /// The end of the last span of each.
    ends_ns: BTreeMap<u32, i64>,
    /// Indices of names.
    units: HashMap<String, u32>,
    names: Vec<String>,
    /// The monotonic time of the file's 0.
    zero_ns: Option<i64>,
    spans: usize,
    /// Spans of the block that came last.
    in_block: usize,
}

impl Reading {
    fn begin(text: &str, file: String, line: u64) -> Result<Reading, ReadError> {
        let version = text.strip_prefix(BEGIN).and_then(|rest| rest.split('"').next());
        let own = &FORMAT["hocket-trace/".len()..];
        if let Some(version) = version.filter(|version| *version != own) {
            return Err(ReadError::OtherVersion { format: format!("hocket-trace/{version}") });
        }
        let head = text.strip_suffix(",\"traceEvents\":[").map(|begin| format!("{begin}}}"));
        let head = head.ok_or(ReadError::Cut { line })?;
        let run = serde_json::from_str::<Head>(&head)
            .map_err(|why| said(&why))
            .and_then(|head| head.facts.run(file))
            .map_err(|why| ReadError::Line { line, why })?;
        Ok(Reading {
            run,
            tracks: BTreeMap::new(),
            ends_ns: BTreeMap::new(),
            units: HashMap::new(),
            names: Vec::new(),
            zero_ns: None,
            spans: 0,
            in_block: 0,
        })
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let text = text.strip_suffix(',').unwrap_or(text);
        let event: Event = serde_json::from_str(text)
            .map_err(|why| format!("it is no event as Hocket writes them: {}", said(&why)))?;
        match (&*event.ph, &*event.cat) {
            ("M", _) if event.name == "thread_name" => self.track(event),
            ("X", "block") => self.block(event),
            ("X", "other") => self.other(&event),
            ("X", "interrupt") => self.interrupt(&event),
            ("i", "woken") => self.wake(event),
            ("X", category) => match doing(category) {
                Some(doing) => self.span(&event, doing),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn track(&mut self, event: Event) -> Result<(), String> {
        let track = match (event.args.seat, event.args.others_on, event.args.interrupts_on) {
            (Some(seat), _, _) => {
                self.run.threads.push(seat);
                Track::Thread(self.run.threads.len() - 1)
            }
            (None, Some(cpu), _) => Track::Others(cpu),
            (None, None, Some(cpu)) => Track::Interrupts(cpu),
            (None, None, None) => return Ok(()),
        };
        match self.tracks.insert(event.tid, track) {
            None => Ok(()),
            Some(_) => Err(format!("the tid {} has two names", event.tid)),
        }
    }

    fn block(&mut self, event: Event) -> Result<(), String> {
        let Some(it) = event.args.block else {
            return Err(
                "this block has no numbers; a Hocket that could not read its traces again wrote it"
                    .into(),
            );
        };
        if let Some(last) = self.run.blocks.last()
            && (last.number >= it.number || last.start_ns > it.start_ns)
        {
            return Err(
                "this block has no greater number than the one before, or begins earlier".into()
            );
        }
        if self.run.blocks.len() >= MOST_BLOCKS {
            return Err(format!("there are more than {MOST_BLOCKS} blocks"));
        }
        let start_ns = i64::try_from(it.start_ns).map_err(|_| "the block begins too late")?;
        // The first block begins where its event does. Later ones may begin before theirs, which do not overlap.
        let zero_ns = match self.zero_ns {
            Some(zero_ns) => zero_ns,
            None => *self.zero_ns.insert(start_ns.saturating_sub(ns(event.ts)?)),
        };
        bounded(start_ns.saturating_sub(zero_ns))?;
        for time in [it.awake_ns, it.finished_ns, it.deadline_ns] {
            bounded(time)?;
        }
        let lanes: Result<Vec<RunLane>, String> =
            it.lanes.into_iter().map(|lane| self.lane(lane)).collect();
        self.in_block = 0;
        self.run.blocks.push(RunBlock {
            number: it.number,
            start_ns: it.start_ns,
            awake_ns: it.awake_ns,
            finished_ns: it.finished_ns,
            deadline_ns: it.deadline_ns,
            skipped: it.skipped,
            plan: it.plan,
            names: 0,
            lanes: lanes?,
            others: Vec::new(),
            wakes: Vec::new(),
            interrupts: Vec::new(),
            verdict: it.verdict,
        });
        Ok(())
    }

    fn lane(&self, (tid, awake_ns, finished_ns): (u32, i64, i64)) -> Result<RunLane, String> {
        let Some(Track::Thread(thread)) = self.tracks.get(&tid) else {
            return Err(format!(
                "the block has a lane of tid {tid}, which is no thread of the engine"
            ));
        };
        bounded(awake_ns)?;
        bounded(finished_ns)?;
        Ok(RunLane { thread: *thread, awake_ns, finished_ns, spans: Vec::new() })
    }

    fn span(&mut self, event: &Event, doing: Doing) -> Result<(), String> {
        let (start_ns, end_ns) = self.times(event)?;
        let doing = match doing {
            Doing::Unit(_) => Doing::Unit(self.unit(&event.name)),
            other => other,
        };
        let Some(Track::Thread(thread)) = self.tracks.get(&event.tid).copied() else {
            return Err(format!(
                "a span has the tid {}, which is no thread of the engine",
                event.tid
            ));
        };
        let lane = self.run.blocks.last_mut();
        let lane = lane.and_then(|block| block.lanes.iter_mut().find(|it| it.thread == thread));
        let lane =
            lane.ok_or("a span stands before its block, or its thread did not come to it")?;
        lane.spans.push(Span { doing, start_ns, end_ns, away_ns: event.args.away_ns });
        Ok(())
    }

    fn other(&mut self, event: &Event) -> Result<(), String> {
        let (start_ns, end_ns) = self.times(event)?;
        let (Some(Track::Others(cpu)), Some(tid)) =
            (self.tracks.get(&event.tid).copied(), event.args.thread)
        else {
            return Err(
                "it is of another thread, and does not say of which one on which CPU".into()
            );
        };
        let block = self.run.blocks.last_mut().ok_or("it stands before the first block")?;
        let ran = Ran { tid, name: event.name.clone().into_owned(), start_ns, end_ns };
        match block.others.iter_mut().find(|others| others.cpu == cpu) {
            Some(others) => others.intervals.push(ran),
            None => block.others.push(Switches { cpu, intervals: vec![ran], unknown: Vec::new() }),
        }
        Ok(())
    }

    fn interrupt(&mut self, event: &Event) -> Result<(), String> {
        let (start_ns, end_ns) = self.times(event)?;
        let (Some(Track::Interrupts(cpu)), Some(number)) =
            (self.tracks.get(&event.tid).copied(), event.args.interrupt)
        else {
            return Err("it is an interrupt, and does not say which one on which CPU".into());
        };
        let block = self.run.blocks.last_mut().ok_or("it stands before the first block")?;
        block.interrupts.push(InterruptOn { start_ns, end_ns, cpu, number });
        Ok(())
    }

    fn wake(&mut self, event: Event) -> Result<(), String> {
        self.count()?;
        let at_ns = self.since_block(ns(event.ts)?)?;
        let by = event.args.detail.as_deref().and_then(|detail| detail.strip_prefix(BY));
        let (Some(Track::Others(cpu)), Some(woken), Some(by)) =
            (self.tracks.get(&event.tid).copied(), event.name.strip_prefix(WOKEN), by)
        else {
            return Err("it is a wake-up, and does not say of whom, by whom or where".into());
        };
        let by = (by != AN_INTERRUPT).then(|| by.to_owned());
        let wake = WokenOn { at_ns, cpu, woken: woken.to_owned(), by };
        self.run.blocks.last_mut().ok_or("it stands before the first block")?.wakes.push(wake);
        Ok(())
    }

    /// Counts what a block has.
    fn count(&mut self) -> Result<(), String> {
        (self.spans, self.in_block) = (self.spans + 1, self.in_block + 1);
        if self.spans > MOST_SPANS {
            return Err(format!("there are more than {MOST_SPANS} spans"));
        }
        if self.in_block > MOST_IN_A_BLOCK {
            return Err(format!("this block has more than {MOST_IN_A_BLOCK} spans"));
        }
        Ok(())
    }

    /// A time of the file, since the planned start of the block that came last.
    fn since_block(&self, file_ns: i64) -> Result<i64, String> {
        let zero_ns = self.zero_ns.ok_or("a span stands before the first block")?;
        let block_ns = self.run.blocks.last().map_or(zero_ns, |block| block.start_ns as i64);
        bounded(zero_ns.saturating_add(file_ns).saturating_sub(block_ns))
    }

    /// When a span began and ended, since the planned start of its block.
    fn times(&mut self, event: &Event) -> Result<(i64, i64), String> {
        self.count()?;
        let took_ns = ns(event.dur)?;
        let zero_ns = self.zero_ns.ok_or("a span stands before the first block")?;
        let start_ns = zero_ns.saturating_add(ns(event.ts)?);
        let last_ns = self.ends_ns.entry(event.tid).or_insert(i64::MIN);
        if took_ns < 0 || start_ns < *last_ns {
            return Err("it begins before the one before it on its track ends".into());
        }
        *last_ns = start_ns.saturating_add(took_ns);
        let block_ns = self.run.blocks.last().map_or(zero_ns, |block| block.start_ns as i64);
        let start_ns = bounded(start_ns.saturating_sub(block_ns))?;
        Ok((start_ns, start_ns + took_ns))
    }

    fn unit(&mut self, name: &str) -> u32 {
        if let Some(known) = self.units.get(name) {
            return *known;
        }
        let index = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.units.insert(name.to_owned(), index);
        index
    }

    fn finish(mut self) -> Result<RunTrace, ReadError> {
        if self.run.blocks.is_empty() {
            return Err(ReadError::Line { line: 1, why: "the trace has no block".into() });
        }
        self.run.unit_names = vec![self.names];
        Ok(self.run)
    }
}

/// The doing of a category. Which unit it is, its name says.
fn doing(category: &str) -> Option<Doing> {
    Some(match category {
        "unit" => Doing::Unit(0),
        "barrier" => Doing::Barrier,
        "wait" => Doing::Wait,
        "help" => Doing::Help,
        "guard" => Doing::Guard,
        _ => return None,
    })
}

/// A time of so many microseconds.
fn ns(us: f64) -> Result<i64, String> {
    bounded((us * 1e3).round() as i64)
}

/// What is wrong, without the number of the line: JSON counts from the one that it was given.
fn said(why: &serde_json::Error) -> String {
    let text = why.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    format!("{what} (column {})", why.column())
}

fn bounded(ns: i64) -> Result<i64, String> {
    let is_sane = (-LONGEST_NS..=LONGEST_NS).contains(&ns);
    is_sane.then_some(ns).ok_or_else(|| "a time is more than 11 days".into())
}

#[cfg(test)]
mod tests;
