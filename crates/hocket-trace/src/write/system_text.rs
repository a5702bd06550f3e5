//! What a system did, as text for people.

use std::fmt::Write;

use crate::system::interrupt_name;
use crate::system::{Did, FORMAT, InTheWay, Pairs, SystemTrace};
use crate::words::{self, counted};

/// Threads and pairs in a summary; the rest is counted.
const MOST: usize = 20;

/// The whole trace as text: the summary without its bounds, then each piece, with times in microseconds.
pub fn system_text(system: &SystemTrace) -> String {
    let mut out = format!("{FORMAT}, written by hocket {}\n", system.about.hocket);
    out += &summary(system, usize::MAX);
    out += "times: microseconds since the beginning: start, end, length\n";
    let titles: Vec<String> =
        system.threads.iter().map(|thread| one_line(&thread.title())).collect();
    let since = |ns: i64| us(ns.saturating_sub(system.about.start_ns));
    for piece in system.in_order() {
        let what = match piece.did {
            Did::Ran => format!("{} ran on CPU {}", titles[piece.thread as usize], piece.cpu),
            Did::Waited => {
                format!(
                    "{} was ready until CPU {} took it",
                    titles[piece.thread as usize], piece.cpu
                )
            }
            Did::Interrupted => format!("{} on CPU {}", interrupt_name(piece.thread), piece.cpu),
        };
        let times = [since(piece.start_ns), since(piece.end_ns()), us(i64::from(piece.length_ns))];
        let _ = writeln!(out, "{:>12} {:>12} {:>10}  {what}", times[0], times[1], times[2]);
    }
    if !system.wake_ups.is_empty() {
        out += "wake-ups: microseconds since the beginning\n";
    }
    for wake in &system.wake_ups {
        let by = wake.by.map_or("an interrupt", |by| &titles[by as usize]);
        let woken = &titles[wake.woken as usize];
        let _ = writeln!(out, "{:>12}  {by} woke {woken}", since(wake.at_ns));
    }
    out
}

/// What a terminal shows: the threads that ran longest, and the pairs that met longest.
pub fn system_summary(system: &SystemTrace) -> String {
    summary(system, MOST)
}

fn summary(system: &SystemTrace, most: usize) -> String {
    let seconds = system.length_ns() as f64 / 1e9;
    let mut out = format!(
        "{}: {seconds:.2} s, {}, {}; {}\n",
        one_line(&system.about.program),
        counted(system.cpus.len() as u64, "CPU"),
        counted(system.events, "event"),
        one_line(&system.about.ended)
    );
    out += &threads(system, most);
    out += &beside(system, most);
    out += &wakes(system, most);
    out += &in_the_way(system, most);
    let silent = system.cpus.iter().filter(|cpu| cpu.unknown_ns >= system.length_ns());
    let silent: Vec<String> = silent.map(|cpu| cpu.number.to_string()).collect();
    if !silent.is_empty() && system.length_ns() > 0 {
        let _ = writeln!(
            out,
            "not known: who ran on CPU {}; no thread came or left there during the trace",
            silent.join(", ")
        );
    }
    if system.lost > 0 {
        let _ = writeln!(
            out,
            "lost: {}, because records came faster than they were read; the time of those is in no sum",
            counted(system.lost, "record")
        );
    }
    if system.not_drawn > 0 {
        let until = system.drawn_until_ns.map(|ns| (ns - system.about.start_ns) as f64 / 1e9);
        let until = until.map_or(String::new(), |s| format!(" after {s:.2} s"));
        let _ = writeln!(
            out,
            "not drawn: {}{until}; the sums cover the whole time",
            counted(system.not_drawn, "piece")
        );
    }
    if system.lost_pairs > 0 {
        let _ = writeln!(
            out,
            "not counted: {} of further pairs",
            counted(system.lost_pairs, "meeting")
        );
    }
    for limit in &system.limits {
        let _ = writeln!(out, "not seen here: {}", one_line(limit));
    }
    out
}

fn threads(system: &SystemTrace, most: usize) -> String {
    let members = system.members();
    let length_ns = system.length_ns().max(1) as f64;
    let mut out = format!(
        "{:>9} {:>6} {:>7} {:>6} {:>9} {:>9} {:>10}  {}\n",
        "ran ms", "%", "woken", "moves", "preempted", "ready ms", "longest µs", "thread: its CPUs"
    );
    for index in members.iter().take(most) {
        let seen = &system.threads[*index as usize];
        let cpus: Vec<String> = seen
            .by_cpu
            .iter()
            .map(|(cpu, ns)| {
                format!("{cpu} ({:.0} %)", 100.0 * *ns as f64 / seen.ran_ns.max(1) as f64)
            })
            .collect();
        let interrupts = match seen.interrupts.count {
            0 => String::new(),
            count => format!("; {}, {} ms", counted(count, "interrupt"), ms(seen.interrupts.ns)),
        };
        let cpus = if cpus.is_empty() { "did not run".into() } else { cpus.join(", ") };
        let _ = writeln!(
            out,
            "{:>9} {:>6.1} {:>7} {:>6} {:>9} {:>9} {:>10}  {}: {cpus}{interrupts}",
            ms(seen.ran_ns),
            100.0 * seen.ran_ns as f64 / length_ns,
            seen.woken,
            seen.moves,
            seen.preempted,
            ms(seen.waited_ns),
            us(seen.longest_wait_ns),
            one_line(&seen.title())
        );
    }
    out + &more(members.len(), most, "thread")
}

fn beside(system: &SystemTrace, most: usize) -> String {
    let mut pairs: Vec<_> = system.beside.iter().collect();
    pairs.sort_by_key(|(_, beside)| std::cmp::Reverse((beside.one_core_ns, beside.elsewhere_ns)));
    let mut out = heading(&pairs, "ran at the same time:");
    for ((a, b), beside) in pairs.iter().take(most) {
        let [a, b] = [title(system, *a), title(system, *b)];
        let core = match beside.one_core_ns {
            0 => String::new(),
            ns => format!("{} ms on one core", ms(ns)),
        };
        let elsewhere = match beside.elsewhere_ns {
            0 => String::new(),
            ns => format!("{} ms on different cores", ms(ns)),
        };
        let comma = if core.is_empty() || elsewhere.is_empty() { "" } else { ", " };
        let _ = writeln!(out, "  {a} and {b}: {core}{comma}{elsewhere}");
    }
    out + &more(pairs.len(), most, "pair")
}

fn wakes(system: &SystemTrace, most: usize) -> String {
    let mut pairs: Vec<_> = system.wakes.iter().collect();
    pairs.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    let mut out = heading(&pairs, "wake-ups:");
    for ((by, woken), times) in pairs.iter().take(most) {
        let by = one_line(&system.waker(*by));
        let _ = writeln!(out, "  {by} woke {} {}", title(system, *woken), words::times(**times));
    }
    out + &more(pairs.len(), most, "pair")
}

fn in_the_way(system: &SystemTrace, most: usize) -> String {
    let pairs: &Pairs<InTheWay> = &system.in_the_way;
    let mut pairs: Vec<_> = pairs.iter().collect();
    pairs.sort_by_key(|(_, way)| std::cmp::Reverse(way.ns));
    let mut out = heading(&pairs, "in the way of a thread that was ready:");
    for ((waiting, running), way) in pairs.iter().take(most) {
        let (waiting, running) = (title(system, *waiting), title(system, *running));
        let _ = writeln!(
            out,
            "  {running} had the CPU of {waiting} {}: {} ms, at most {} µs",
            words::times(way.times),
            ms(way.ns),
            us(way.longest_ns)
        );
    }
    out + &more(pairs.len(), most, "pair")
}

fn heading<T>(pairs: &[T], text: &str) -> String {
    if pairs.is_empty() { String::new() } else { format!("{text}\n") }
}

fn more(all: usize, most: usize, what: &str) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("  and {}\n", counted(more as u64, &format!("more {what}"))),
    }
}

fn title(system: &SystemTrace, index: u32) -> String {
    one_line(&system.threads[index as usize].title())
}

/// A name must not look like a line of ours.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn us(ns: i64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

fn ms(ns: i64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::system::tests::system;

    #[test]
    fn everything_is_said() {
        let mut system = system();
        (system.lost, system.not_drawn) = (7, 3);
        let text = system_text(&system);
        for line in [
            "hocket-threads/1, written by hocket 0.1.0",
            "  browser (900) had the CPU of audio (101) once: 0.10 ms, at most 100.0 µs",
            "  audio (101) woke disk\u{fffd}io (102) once",
            "  audio (101) and disk\u{fffd}io (102): 0.10 ms on one core",
            "       150.0        250.0      100.0  browser (900) ran on CPU 0",
            "       150.0        250.0      100.0  audio (101) was ready until CPU 0 took it",
            "        90.0  audio (101) woke disk\u{fffd}io (102)",
            "not seen here: moves are not recorded",
            "not drawn: 3 pieces; the sums cover the whole time",
        ] {
            assert!(text.lines().any(|found| found == line), "'{line}' is missing:\n{text}");
        }
        assert!(text.contains("lost: 7 records, "), "{text}");
        let audio = text.lines().find(|line| line.contains("audio (101): 0 (100 %)")).unwrap();
        let numbers: Vec<&str> = audio.split_whitespace().take(7).collect();
        assert_eq!(numbers, ["0.30", "30.0", "0", "0", "1", "0.10", "100.0"]);
    }

    #[test]
    fn a_summary_has_bounds_and_nothing_is_a_summary_too() {
        let mut system = system();
        let first = system.threads[0].clone();
        for tid in 0..30 {
            system.threads.push(crate::system::ThreadSeen { tid: 1000 + tid, ..first.clone() });
        }
        assert!(system_summary(&system).contains("  and 12 more threads\n"));
        let nothing = system_summary(&SystemTrace::default());
        assert!(nothing.contains("0.00 s, 0 CPUs, 0 events"), "{nothing}");
    }
}
