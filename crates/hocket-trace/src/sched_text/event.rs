//! One line of a text.
//!
//! ```text
//!  perf 28196 [000] 14205.635339: sched:sched_switch: prev_comm=perf prev_pid=28196 ...     perf script
//!  perf-28196 [000] d..2. 14205.635339: sched_switch: prev_comm=perf prev_pid=28196 ...     ftrace
//!  perf-28196 [000] 14205.635339: sched_switch: perf:28196 [120] S ==> swapper/0:0 [120]    trace-cmd, perf with plug-ins
//! ```
//!
//! Names of threads may have spaces, colons and brackets. So the head is the first place that fits as a whole, and a field
//! after a name is searched from the end.

use super::Thread;
use super::notes::Bad;

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// An event of the scheduler.
    Event(Line<'a>),
    /// The tool says that events are missing.
    Lost { cpu: u32, events: u64 },
    /// An event of no interest here.
    Other,
    /// No event: headers, call chains, prose.
    Text,
    /// It is an event and cannot be read.
    Bad(Bad),
}

/// An event with its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub cpu: u32,
    pub at_ns: i64,
    /// Digits of the time behind its point.
    pub digits: usize,
    /// The thread that had the CPU. `None`: not known.
    pub tid: Option<i32>,
    /// Its process, where the text has a column for it.
    pub process: Option<i32>,
    /// Whether the text says what runs: a thread or an interrupt.
    pub has_flags: bool,
    pub in_interrupt: bool,
    pub what: What<'a>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What<'a> {
    Switch { out: Thread<'a>, into: Thread<'a>, preempted: bool, ended: bool },
    Woken { who: Thread<'a>, how: Woke },
    Moved { who: Thread<'a>, to: u32 },
    Forked { parent: Thread<'a>, child: Thread<'a> },
    Interrupt { number: i32, is_deferred: bool, begins: bool },
}

/// Which event says that a thread was woken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woke {
    /// The thread that wakes has the CPU.
    Waking,
    /// The CPU of the woken one may say it later.
    Wakeup,
    /// The first time.
    New,
}

/// Events that are read.
const KNOWN: [&str; 10] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_entry",
    "softirq_exit",
];

/// Reads a line.
///
/// Cost: linear in its length, but for lines full of brackets.
pub(super) fn parse(line: &str) -> Parsed<'_> {
    if let Some(lost) = lost_of_ftrace(line) {
        return lost;
    }
    let Some(head) = head(line) else {
        let is_event = line.split_whitespace().any(|word| {
            word.strip_suffix(':').is_some_and(|word| KNOWN.contains(&event_name(word)))
        });
        return if is_event { Parsed::Bad(Bad::Head) } else { Parsed::Text };
    };
    let (word, fields) = first_word(head.rest);
    let name = event_name(word.trim_end_matches(':'));
    if name == "PERF_RECORD_LOST" {
        let events = fields.strip_prefix("lost ").and_then(|number| number.trim().parse().ok());
        return events.map_or(Parsed::Other, |events| Parsed::Lost { cpu: head.cpu, events });
    }
    if !KNOWN.contains(&name) {
        return Parsed::Other;
    }
    match what(name, fields) {
        Some(what) => head.with(what),
        None => Parsed::Bad(Bad::Fields),
    }
}

/// `sched:sched_switch` of perf is `sched_switch` of ftrace.
fn event_name(word: &str) -> &str {
    word.rsplit(':').next().unwrap_or(word)
}

/// `CPU:1 [LOST 123 EVENTS]`; trace-cmd says `CPU:1 [123 EVENTS DROPPED]`.
fn lost_of_ftrace(line: &str) -> Option<Parsed<'_>> {
    let (cpu, rest) = line.trim_start().strip_prefix("CPU:")?.split_once(" [")?;
    let words = rest.trim_end().strip_suffix(']')?;
    let lost = words.strip_prefix("LOST ").and_then(|it| it.strip_suffix(" EVENTS"));
    let count = lost.or_else(|| words.strip_suffix(" EVENTS DROPPED"))?;
    // The tool may not know how many.
    Some(Parsed::Lost { cpu: cpu.parse().ok()?, events: count.parse().unwrap_or(1) })
}

// --- the head ---------------------------------------------------------------

/// What is in front of an event.
struct Head<'a> {
    cpu: u32,
    /// `None`: a time that no clock shows.
    at_ns: Option<i64>,
    digits: usize,
    tid: Option<i32>,
    process: Option<i32>,
    flags: &'a str,
    /// From the event on.
    rest: &'a str,
}

impl<'a> Head<'a> {
    fn with(&self, what: What<'a>) -> Parsed<'a> {
        let Some(at_ns) = self.at_ns else { return Parsed::Bad(Bad::Late) };
        Parsed::Event(Line {
            cpu: self.cpu,
            at_ns,
            digits: self.digits,
            tid: self.tid,
            process: self.process,
            has_flags: !self.flags.is_empty(),
            in_interrupt: in_interrupt(self.flags),
            what,
        })
    }
}

/// The third flag: an interrupt (h), what it has put off (s), both (H), or one that nothing masks (z, Z).
fn in_interrupt(flags: &str) -> bool {
    matches!(flags.as_bytes().get(2), Some(b'h' | b'H' | b's' | b'z' | b'Z'))
}

fn head(line: &str) -> Option<Head<'_>> {
    line.match_indices('[').find_map(|(at, _)| head_at(&line[..at], &line[at + 1..]))
}

/// `before` has the thread, `after` the CPU and all else.
fn head_at<'a>(before: &'a str, after: &'a str) -> Option<Head<'a>> {
    let (cpu, after) = after.split_once(']')?;
    if cpu.is_empty() || !is_number(cpu) {
        return None;
    }
    let (word, rest) = first_word(after);
    let (flags, time, rest) = match is_time(word) {
        true => ("", word, rest),
        false => {
            let (time, rest) = first_word(rest);
            (word, time, rest)
        }
    };
    let (at_ns, digits) = time_ns(time)?;
    let (tid, process) = thread_of(before)?;
    // perf may print how often, before the event.
    let (word, behind) = first_word(rest);
    let rest = if is_number(word) { behind } else { rest };
    let cpu = cpu.parse().unwrap_or(u32::MAX);
    Some(Head { cpu, at_ns, digits, tid, process, flags, rest })
}

/// `name 12`, `name 11/12`, `name-12`, `name-12 ( 11)`: the thread and its process. `name -1`: not known.
fn thread_of(before: &str) -> Option<(Option<i32>, Option<i32>)> {
    let before = before.trim_end();
    let (before, group) = match before.strip_suffix(')').and_then(|it| it.rsplit_once('(')) {
        Some((before, group)) => (before.trim_end(), group.trim().parse().ok()),
        None => (before, None),
    };
    let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let tid = before[digits.len()..].parse().ok();
    if digits.len() == before.len() {
        return None;
    }
    let Some(with_process) = digits.strip_suffix('/') else {
        let is_unknown = digits.ends_with(" -");
        return Some((tid.filter(|_| !is_unknown), group));
    };
    let rest = with_process.trim_end_matches(|c: char| c.is_ascii_digit());
    // A name that ends in a slash is no process.
    let process = with_process[rest.len()..].parse().ok();
    Some((tid, process.filter(|_| rest.ends_with(' '))))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    time_ns(word).is_some()
}

/// `14205.635339:` in nanoseconds, which is `None` if no clock shows it, and the digits behind the point.
fn time_ns(word: &str) -> Option<(Option<i64>, usize)> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    if !is_number(seconds) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    /// Some 70 years.
    const MOST_NS: i64 = i64::MAX / 4;
    let fraction_ns = fraction.parse::<i64>().ok()? * 10_i64.pow(9 - fraction.len() as u32);
    let at_ns = seconds.parse::<i64>().ok().and_then(|s| s.checked_mul(1_000_000_000));
    let at_ns = at_ns.and_then(|ns| ns.checked_add(fraction_ns)).filter(|ns| *ns < MOST_NS);
    Some((at_ns, fraction.len()))
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    (word, rest.trim_start())
}

// --- the fields -------------------------------------------------------------

/// `None`: the fields are not those of the event.
fn what<'a>(name: &str, fields: &'a str) -> Option<What<'a>> {
    let woken = |how| Some(What::Woken { who: thread(fields)?.0, how });
    let interrupt = |key, is_deferred, begins| {
        let number = number_after(fields, key)?;
        Some(What::Interrupt { number, is_deferred, begins })
    };
    match name {
        "sched_switch" => switch(fields),
        "sched_waking" => woken(Woke::Waking),
        "sched_wakeup" => woken(Woke::Wakeup),
        "sched_wakeup_new" => woken(Woke::New),
        "sched_migrate_task" => {
            let (who, rest) = thread(fields)?;
            let to = u32::try_from(number_after(rest, "dest_cpu=")?).ok()?;
            Some(What::Moved { who, to })
        }
        "sched_process_fork" => {
            let (parent, child) = fields.split_once(" child_comm=")?;
            let (child, _) = named(child, " child_pid=")?;
            let (parent, _) = named(parent.strip_prefix("comm=")?, " pid=")?;
            Some(What::Forked { parent, child })
        }
        "irq_handler_entry" => interrupt("irq=", false, true),
        "irq_handler_exit" => interrupt("irq=", false, false),
        "softirq_entry" => interrupt("vec=", true, true),
        "softirq_exit" => interrupt("vec=", true, false),
        _ => None,
    }
}

fn switch(fields: &str) -> Option<What<'_>> {
    let (out, into) = fields.split_once(" ==> ")?;
    let (out, rest, into) = match (out.strip_prefix("prev_comm="), into.strip_prefix("next_comm="))
    {
        (Some(out), Some(into)) => {
            let (out, rest) = named(out, " prev_pid=")?;
            let (into, more) = named(into, " next_pid=")?;
            // Without it the line is cut, perhaps within the number before.
            number_after(more, "next_prio=")?;
            (out, rest.split_once("prev_state=")?.1, into)
        }
        _ => {
            let (out, rest) = short(out)?;
            (out, rest, short(into)?.0)
        }
    };
    let state = rest.trim();
    let preempted = state.starts_with('R');
    let ended = !preempted && state.contains(['X', 'Z', 'x']);
    (!state.is_empty()).then_some(What::Switch { out, into, preempted, ended })
}

/// `comm=NAME pid=12 prio=120 ...` or `NAME:12 [120] ...`, and what is behind the number.
fn thread(fields: &str) -> Option<(Thread<'_>, &str)> {
    let Some(named_fields) = fields.strip_prefix("comm=") else { return short(fields) };
    let (who, rest) = named(named_fields, " pid=")?;
    // As above: without it the number may be cut.
    number_after(rest, "prio=")?;
    Some((who, rest))
}

/// `NAME KEY12 ...`, and what is behind the number.
fn named<'a>(text: &'a str, key: &str) -> Option<(Thread<'a>, &'a str)> {
    let (name, rest) = text.rsplit_once(key)?;
    let (number, rest) = first_word(rest);
    Some((Thread { name: bounded(name), tid: tid(number)? }, rest))
}

/// `NAME:12 [120] ...`, and what is behind the priority.
fn short(text: &str) -> Option<(Thread<'_>, &str)> {
    let (who, rest) = text.rsplit_once(" [")?;
    let (name, number) = who.rsplit_once(':')?;
    let (priority, rest) = rest.split_once(']')?;
    priority.parse::<i32>().ok()?;
    Some((Thread { name: bounded(name.trim_start()), tid: tid(number)? }, rest))
}

/// A negative number is that of no thread.
fn tid(number: &str) -> Option<Option<i32>> {
    number.parse::<i32>().ok().map(|tid| Some(tid).filter(|tid| *tid >= 0))
}

fn number_after(text: &str, key: &str) -> Option<i32> {
    let word = text.split_whitespace().find_map(|word| word.strip_prefix(key))?;
    word.parse().ok()
}

/// The kernel's names have 15 bytes, those of its own workers up to 63.
fn bounded(name: &str) -> &str {
    const LONGEST: usize = 64;
    let mut end = name.len().min(LONGEST);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests;
