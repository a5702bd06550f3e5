//! Cycles of other audio servers, as their profilers write them, read into a [`RunTrace`].
//!
//! | server | the file |
//! |---|---|
//! | PipeWire | what `pw-profiler -J` prints (JSON), or `profiler.log` of `pw-profiler` |
//! | JACK2, built with `--profile` | `JackEngineProfiling.log` |
//!
//! A cycle of the server becomes a block, and a client a lane. On the lane of a client:
//!
//! - it is asleep until the server signals it,
//! - [`Doing::Wait`] is the time from the signal until it is awake,
//! - a unit of its name is the time until it has finished.
//!
//! `jack.rs`, `pipewire.rs` and `json.rs` read a line each; this module decides what the lines mean together. It reads the
//! file once, and keeps a bounded number of clients and spans, as a trace of Hocket's own does.

mod jack;
mod json;
mod pipewire;

use std::io::BufRead;

use crate::run::{About, Kept, RunBlock, RunLane, RunTrace, Thread};
use crate::sched_text::{FIRST_LINES, Lines, ReadError};
use crate::words::{counted, times};
use crate::{Doing, Misses, Span};

/// Spans that are kept.
const MOST_SPANS: usize = 2_000_000;
/// Cycles that are kept.
const MOST_CYCLES: usize = 500_000;
/// Cycles that are counted, seven hours of short ones: a stream that never ends has no last cycle.
const MOST_COUNTED: u64 = 20_000_000;
/// Clients that have a lane. PipeWire's profiler writes 64, JACK has room for 256.
const MOST_CLIENTS: usize = 256;
/// A line has some 100 bytes for each client.
const LONGEST_LINE: usize = 1 << 16;
/// Times of a cycle that are longer are mistakes: 1000 seconds.
const LONGEST_NS: i64 = 1_000_000_000_000;
/// Lines between two questions whether to stop.
const STOP_EVERY: u64 = 256;

/// A profiler and its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profiler {
    /// `JackEngineProfiling.log`.
    Jack,
    /// `profiler.log` of `pw-profiler`.
    PipeWire,
    /// What `pw-profiler -J` prints.
    PipeWireJson,
}

impl Profiler {
    /// By the first bytes of a file. `None`: it is of none of them.
    pub fn of(beginning: &[u8]) -> Option<Profiler> {
        let text = beginning.trim_ascii_start();
        if let Some(rest) = text.strip_prefix(b"[") {
            let rest = rest.trim_ascii_start();
            return (rest.is_empty() || rest.starts_with(b"{")).then_some(Profiler::PipeWireJson);
        }
        let line = beginning.split(|byte| *byte == b'\n').next()?;
        let first =
            line.split(|byte| *byte == b'\t').next().filter(|first| first.len() < line.len())?;
        let first = first.trim_ascii();
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        match first.iter().position(|byte| *byte == b'.') {
            _ if !first.first().is_some_and(u8::is_ascii_digit) => None,
            None => first.iter().all(is_digit).then_some(Profiler::Jack),
            Some(at) => first[at + 1..].iter().all(is_digit).then_some(Profiler::PipeWire),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Profiler::Jack => "JACK's profiler",
            Profiler::PipeWire | Profiler::PipeWireJson => "PipeWire's profiler",
        }
    }
}

/// What the file does not say of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// The version of Hocket.
    pub hocket: String,
    /// What is read.
    pub session: String,
}

/// Reads a file to its end, or until `stop` says true.
///
/// Times of JSON are those of the system's monotonic clock. The others have none, so the first cycle begins at 0.
///
/// A file without a cycle in its first 10,000 lines is not read on. 20 million cycles, 100 million lines and 16 GiB are read at
/// most.
///
/// Cost: linear in the text; bounded memory.
///
/// # Errors
/// [`ReadError`]: it cannot be read, it is too long or has too many cycles, or no line is a cycle.
pub fn read(
    text: impl BufRead,
    profiler: Profiler,
    named: Named,
    stop: impl Fn() -> bool,
) -> Result<RunTrace, ReadError> {
    let mut lines = Lines::new(text, LONGEST_LINE);
    let mut cycles = Cycles::default();
    let mut json = json::Json::default();
    while let Some(line) = lines.next()? {
        if line.number.is_multiple_of(STOP_EVERY) && stop() {
            break;
        }
        let text = String::from_utf8_lossy(line.bytes);
        let read = match profiler {
            _ if line.is_cut => None,
            Profiler::Jack => jack::line(&text).map(|cycle| cycles.row(cycle)),
            Profiler::PipeWire => pipewire::line(&text).map(|cycle| cycles.row(cycle)),
            Profiler::PipeWireJson => json.line(&text, &mut cycles),
        };
        if read.is_none() {
            cycles.leave_out(line.number);
        }
        if line.number >= FIRST_LINES && cycles.played == 0 {
            break;
        }
        if cycles.played > MOST_COUNTED {
            return Err(ReadError::TooManyCycles { cycles: MOST_COUNTED });
        }
    }
    json.end(&mut cycles);
    let mut run = cycles.finish(profiler, named, lines.number())?;
    run.limits.extend(json.limits());
    // A reader that has to stop may have ended the text itself.
    run.interrupted = stop();
    Ok(run)
}

/// One cycle. Times are since its beginning, in nanoseconds, each up to [`LONGEST_NS`].
#[derive(Debug, Clone, Default, PartialEq)]
struct Cycle {
    /// When the server was awake.
    awake_ns: i64,
    /// When all clients had finished, as the server says.
    finished_ns: i64,
    /// How long after the one before it began; `None`: not in the file.
    since_ns: Option<i64>,
    /// When the next one began; `None`: not in the file.
    length_ns: Option<i64>,
    /// How long it should take; `None`: not in the file.
    period_ns: Option<i64>,
    clients: Vec<Client>,
}

/// What a client did in a cycle.
#[derive(Debug, Clone, PartialEq)]
struct Client {
    name: String,
    signaled_ns: i64,
    awake_ns: i64,
    finished_ns: i64,
    /// Whether the times are those of this cycle: it has been through it.
    has_finished: bool,
}

/// What has been read so far.
#[derive(Default)]
struct Cycles {
    names: Vec<String>,
    blocks: Vec<RunBlock>,
    /// Of the same cycles; `None`: not in the file.
    lengths_ns: Vec<Option<i64>>,
    periods_ns: Vec<Option<i64>>,
    last_start_ns: u64,
    last_length_ns: u64,
    played: u64,
    spans: usize,
    /// Lines that are no cycle, and the first of them.
    left_out: Option<(u64, u64)>,
    unfinished: u64,
    without_lane: u64,
    frames: u32,
    rate_hz: u32,
    driver: String,
}

impl Cycles {
    fn leave_out(&mut self, line: u64) {
        self.left_out.get_or_insert((0, line)).0 += 1;
    }

    /// A cycle of a file without a clock.
    fn row(&mut self, cycle: Cycle) {
        let since_ns = match cycle.since_ns {
            _ if self.played == 0 => 0,
            Some(ns) => ns.unsigned_abs(),
            None => self.last_length_ns,
        };
        self.last_start_ns = self.last_start_ns.saturating_add(since_ns);
        self.last_length_ns = cycle.length_ns.unwrap_or(0).unsigned_abs();
        self.add(self.last_start_ns, &cycle);
    }

    fn add(&mut self, start_ns: u64, cycle: &Cycle) {
        let number = self.played;
        self.played += 1;
        if self.blocks.len() >= MOST_CYCLES || self.spans >= MOST_SPANS {
            return;
        }
        let lanes: Vec<RunLane> = cycle.clients.iter().filter_map(|it| self.lane(it)).collect();
        self.spans += lanes.iter().map(|lane| lane.spans.len()).sum::<usize>();
        // A server that did not end the cycle ended it with its last client.
        let last_ns = lanes.iter().map(|lane| lane.finished_ns).max().unwrap_or(0);
        let finished_ns = if cycle.finished_ns > 0 { cycle.finished_ns } else { last_ns };
        self.lengths_ns.push(cycle.length_ns);
        self.periods_ns.push(cycle.period_ns);
        self.blocks.push(RunBlock {
            number,
            start_ns,
            awake_ns: cycle.awake_ns.clamp(0, finished_ns.max(0)),
            finished_ns,
            deadline_ns: 0,
            skipped: 0,
            plan: None,
            names: 0,
            lanes,
            others: Vec::new(),
            wakes: Vec::new(),
            interrupts: Vec::new(),
            verdict: None,
        });
    }

    /// `None`: it has not finished, so its times may be those of another cycle.
    fn lane(&mut self, client: &Client) -> Option<RunLane> {
        let Client { signaled_ns, awake_ns, finished_ns, .. } = *client;
        let is_in_order = 0 <= signaled_ns && signaled_ns <= awake_ns && awake_ns <= finished_ns;
        if !client.has_finished || !is_in_order {
            self.unfinished += 1;
            return None;
        }
        let Some(thread) = self.client(&client.name) else {
            self.without_lane += 1;
            return None;
        };
        let span = |doing, start_ns, end_ns| Span { doing, start_ns, end_ns, away_ns: None };
        let spans = [
            span(Doing::Wait, signaled_ns, awake_ns),
            span(Doing::Unit(thread as u32), awake_ns, finished_ns),
        ];
        let spans = spans.into_iter().filter(|span| span.start_ns < span.end_ns).collect();
        Some(RunLane { thread, awake_ns: signaled_ns, finished_ns, spans })
    }

    fn client(&mut self, name: &str) -> Option<usize> {
        let known = self.names.iter().position(|known| known == name);
        known.or_else(|| {
            (self.names.len() < MOST_CLIENTS).then(|| {
                self.names.push(name.into());
                self.names.len() - 1
            })
        })
    }

    fn finish(
        mut self,
        profiler: Profiler,
        named: Named,
        lines: u64,
    ) -> Result<RunTrace, ReadError> {
        if self.blocks.is_empty() {
            return Err(ReadError::NoCycles { lines, tool: profiler.words() });
        }
        let period_ns = self.period_ns();
        self.judge(period_ns);
        let driver = if self.driver.is_empty() {
            String::new()
        } else {
            format!(", driver {}", self.driver)
        };
        let about = About {
            hocket: named.hocket,
            session: named.session.clone(),
            policy: format!("{}{driver}", profiler.words()),
            frames: self.frames,
            rate_hz: self.rate_hz,
            period_ns: period_ns.unsigned_abs(),
            kept: Kept::Every,
            span_cost_ns: 0,
            machine: String::new(),
            file: named.session,
        };
        let thread = |name: &String| Thread { name: name.clone(), cpu: None, beside: Vec::new() };
        let mut run = RunTrace::new(about, self.names.iter().map(thread).collect());
        run.limits = self.limits(profiler);
        run.misses = self.blocks.iter().map(|it| Misses::of_block(it.slack_ns(), it.skipped)).sum();
        run.lost_blocks = self.played - self.blocks.len() as u64;
        run.played = self.played;
        (run.unit_names, run.blocks) = (vec![self.names], self.blocks);
        Ok(run)
    }

    /// The usual period: what the file says most often, or the middle distance of two cycles.
    fn period_ns(&self) -> i64 {
        let mut said: Vec<i64> = self.periods_ns.iter().flatten().copied().collect();
        if said.is_empty() {
            said = self.lengths_ns.iter().flatten().copied().collect();
        }
        said.sort_unstable();
        said.get(said.len() / 2).copied().unwrap_or(0)
    }

    /// Sets deadlines, and counts periods without a cycle.
    fn judge(&mut self, usual_ns: i64) {
        let next: Vec<u64> = self.blocks.iter().skip(1).map(|block| block.start_ns).collect();
        for (at, block) in self.blocks.iter_mut().enumerate() {
            let period_ns = self.periods_ns[at].unwrap_or(usual_ns).max(1);
            block.deadline_ns = period_ns;
            let to_next = next.get(at).map_or(0, |next| next.saturating_sub(block.start_ns) as i64);
            let length_ns = self.lengths_ns[at].unwrap_or(to_next);
            // Rounded: a cycle that is a little late skips none.
            let periods = length_ns.saturating_add(period_ns / 2) / period_ns;
            block.skipped = periods.saturating_sub(1).max(0).unsigned_abs();
        }
    }

    fn limits(&self, profiler: Profiler) -> Vec<String> {
        let mut limits =
            vec!["the file does not say on which CPU a client ran, or what else ran".to_owned()];
        if profiler != Profiler::PipeWireJson {
            limits.push("the file has no names of clients and no clock; clients have their numbers, and the first cycle begins at 0".into());
        }
        if profiler == Profiler::Jack {
            limits.push("the file does not say the period; the deadline is the middle distance of two cycles".into());
        }
        if profiler == Profiler::PipeWire {
            limits.push("profiler.log has 1.4 periods in place of each longer time, so its late cycles look alike; pw-profiler -J prints the true times".into());
        }
        if self.unfinished > 0 {
            limits.push(format!(
                "{} a client had not finished when the profiler looked; it has no span then",
                times(self.unfinished)
            ));
        }
        if self.without_lane > 0 {
            limits.push(format!("clients beyond {MOST_CLIENTS} have no lane"));
        }
        if let Some((count, first)) = self.left_out {
            let lines = counted(count, "line");
            limits.push(format!("{lines} left out that are no cycle; the first is line {first}"));
        }
        limits
    }
}

/// A time of so many microseconds; `None`: longer than any cycle.
fn ns_of_us(text: &str) -> Option<i64> {
    let us: f64 = text.trim().parse().ok()?;
    let ns = us * 1e3;
    (ns.abs() <= LONGEST_NS as f64).then_some(ns.round() as i64)
}

#[cfg(test)]
mod tests;
