//! A run as text for people.

use std::fmt::Write;

use super::events::{away, kept, name, woken_by};
use crate::Span;
use crate::run::{FORMAT, RunBlock, RunTrace};
use crate::system::interrupt_name;
use crate::words::counted;

/// The whole run as text, block after block and lane after lane, with times in microseconds.
///
/// Names are on one line each. A program that shows it on a terminal escapes what else acts there.
pub fn text(run: &RunTrace) -> String {
    let mut out = head(run);
    for (index, block) in run.blocks.iter().enumerate() {
        out.push('\n');
        if let Some(plan) = run.new_plan(index) {
            let _ = writeln!(out, "plan {plan} from here on");
        }
        out += &block_text(run, block);
    }
    out
}

fn head(run: &RunTrace) -> String {
    let about = &run.about;
    let mut out = format!("{FORMAT}, written by hocket {}\n", about.hocket);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name}: {}", one_line(&value));
    };
    let period = us(about.period_ns as i64);
    line("session", about.session.clone());
    line("policy", about.policy.clone());
    line("blocks", format!("{}, period {period} µs", run.frames()));
    if !about.machine.is_empty() {
        line("machine", about.machine.clone());
    }
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    let blocks = |n| counted(n, "block");
    line("played", format!("{}{interrupted}; misses: {}", blocks(run.played), run.misses));
    line("kept", format!("{}: {}", blocks(run.blocks.len() as u64), kept(about.kept)));
    if run.lost_blocks > 0 {
        line("not kept", format!("{} for which there was no room", blocks(run.lost_blocks)));
    }
    if run.lost_spans > 0 {
        let spans = counted(run.lost_spans, "span");
        line("not kept", format!("{spans} for which there was no room"));
    }
    line("cost of the notes", run.cost());
    run.remarks.iter().for_each(|remark| line("note", remark.clone()));
    run.limits.iter().for_each(|limit| line("not seen here", limit.clone()));
    for block in run.blocks.iter().filter(|block| block.is_late()) {
        if let Some(verdict) = &block.verdict {
            line("late", verdict.text.clone());
        }
    }
    out + "times: microseconds since the planned start of the block: start, end, length\n"
}

fn block_text(run: &RunTrace, block: &RunBlock) -> String {
    let since_first_ms = (block.start_ns - run.origin_ns()) as f64 / 1e6;
    let slack = block.slack_ns();
    let end = match slack < 0 {
        true => format!("LATE by {}", us(slack.saturating_neg())),
        false => format!("slack {}", us(slack)),
    };
    let mut out = format!(
        "block {}, {since_first_ms:.3} ms after the first: awake {}, finished {}, {end}\n",
        block.number,
        us(block.awake_ns),
        us(block.finished_ns)
    );
    if block.skipped > 0 {
        let _ = writeln!(out, "  periods skipped after it: {}", block.skipped);
    }
    if let Some(verdict) = &block.verdict {
        let _ = writeln!(out, "  why: {}", one_line(&verdict.text));
        verdict.others.iter().for_each(|share| {
            let _ = writeln!(out, "  also: {}", one_line(&share.text));
        });
    }
    for lane in &block.lanes {
        let title = one_line(&run.threads[lane.thread].title());
        let (awake, finished) = (us(lane.awake_ns), us(lane.finished_ns));
        let _ = writeln!(out, "  {title}: awake {awake}, finished {finished}");
        for span in &lane.spans {
            out += &span_line(span, &name(span, &run.unit_names[block.names]));
        }
    }
    for others in &block.others {
        let _ = writeln!(out, "  others on CPU {}:", others.cpu);
        for ran in &others.intervals {
            out += &times_line(ran.start_ns, ran.end_ns, &format!("{} ({})", ran.name, ran.tid));
        }
    }
    for wake in &block.wakes {
        let words = format!("woken on CPU {}: {}, {}", wake.cpu, wake.woken, woken_by(wake));
        let _ = writeln!(out, "  {:>9}  {}", us(wake.at_ns), one_line(&words));
    }
    for one in &block.interrupts {
        let words = format!("{} on CPU {}", interrupt_name(one.number), one.cpu);
        out += &times_line(one.start_ns, one.end_ns, &words);
    }
    out
}

fn span_line(span: &Span, name: &str) -> String {
    let words = match span.doing {
        crate::Doing::Unit(_) => name.to_owned(),
        _ => format!("({name})"),
    };
    let words = away(span).map_or(words.clone(), |away| format!("{words}, {away}"));
    times_line(span.start_ns, span.end_ns, &words)
}

fn times_line(start_ns: i64, end_ns: i64, words: &str) -> String {
    let times = [start_ns, end_ns, end_ns.saturating_sub(start_ns)].map(us);
    format!("    {:>9} {:>9} {:>9}  {}\n", times[0], times[1], times[2], one_line(words))
}

/// A name must not look like a line of ours.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn us(ns: i64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn everything_is_said() {
        let mut run = run();
        run.blocks[2].plan = Some(6);
        (run.lost_blocks, run.lost_spans, run.interrupted) = (3, 4, true);
        let text = text(&run);
        assert!(text.starts_with("hocket-trace/1, written by hocket 0.1.0\n"), "{text}");
        for line in [
            "session: Band </script>",
            "blocks: 48 frames at 48000 Hz, period 1000.0 µs",
            "played: 3 blocks, interrupted; misses: 2 (1 late block, 1 skipped period)",
            "kept: 3 blocks: every block",
            "not kept: 3 blocks for which there was no room",
            "not kept: 4 spans for which there was no room",
            "cost of the notes: about 20 ns per span, 0.01 % of the time of the threads in their blocks",
            "note: worker 1: no real-time class: refused",
            "not seen here: moves of workers are not counted",
            "late: block 8 came 50 µs too late: preview ran for 90 µs on the seat of worker 1",
            "block 7, 0.000 ms after the first: awake 10.0, finished 900.0, slack 100.0",
            "block 8, 1.000 ms after the first: awake 10.0, finished 1050.0, LATE by 50.0",
            "  periods skipped after it: 1",
            "plan 6 from here on",
            "  worker 1, CPU 4: awake 20.0, finished 1050.0",
            "         30.0     600.0     570.0  vocals: play",
            "        300.0     600.5     300.5  (wait)",
            "  others on CPU 4:",
            "        100.0     190.0      90.0  preview (99)",
        ] {
            assert!(text.lines().any(|found| found == line), "'{line}' is missing:\n{text}");
        }
    }

    #[test]
    fn a_name_stays_on_its_line() {
        let mut run = run();
        run.unit_names[0][1] = "vocals\nblock 99, 0 ms\u{1b}[31m".into();
        run.about.session = "a\r\nb".into();
        let text = text(&run);
        assert!(text.contains("vocals\u{fffd}block 99, 0 ms\u{fffd}[31m"));
        assert!(text.contains("session: a\u{fffd}\u{fffd}b\n"));
        assert_eq!(text.lines().filter(|line| line.starts_with("block ")).count(), 3);
    }
}
