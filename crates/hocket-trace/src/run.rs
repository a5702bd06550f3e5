//! The traces of many blocks of one run, with what is known of them.
//!
//! Times here are on the system's monotonic clock, or since the planned start of a block. [`RunTrace::add`] takes blocks
//! in any order, and [`RunTrace::explain`] adds what is known of one. The module `write` turns it into files.

use serde::{Deserialize, Serialize};

use crate::cause::path::{Leg, What, way};
use crate::cause::{Evidence, Verdict};
use crate::switches::Switches;
use crate::system::{InterruptOn, Surroundings, WokenOn};
use crate::{BlockTrace, Misses, Span};

/// The name and version of what the files hold. Each format has it near its beginning.
pub const FORMAT: &str = "hocket-trace/1";

/// Which blocks were to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Every block.
    Every,
    /// Late blocks and their neighbours, or the worst block if none was late.
    OnMiss,
}

/// How it was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The version of Hocket.
    pub hocket: String,
    /// The session.
    pub session: String,
    /// Schedule, sibling policy and wait.
    pub policy: String,
    /// Frames per block. 0: not known, as in a file of another tool.
    pub frames: u32,
    /// Frames per second. 0: not known.
    pub rate_hz: u32,
    /// How long a block lasts.
    pub period_ns: u64,
    /// Which blocks were to be kept.
    pub kept: Kept,
    /// What it costs a thread to note a span. 0: not known.
    pub span_cost_ns: u64,
    /// The processor of the machine. Empty: not known.
    pub machine: String,
    /// The name of the file that it was read from. Empty: it was played just now.
    pub file: String,
}

/// One thread of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The name of its lanes, for example `worker 1`.
    pub name: String,
    /// The CPU to which it is pinned, if it is.
    pub cpu: Option<u32>,
    /// The other CPUs of its core.
    pub beside: Vec<u32>,
}

impl Thread {
    /// `worker 1, CPU 3`.
    pub fn title(&self) -> String {
        match self.cpu {
            Some(cpu) => format!("{}, CPU {cpu}", self.name),
            None => self.name.clone(),
        }
    }

    /// The first CPU of its core. Threads of one core have the same.
    fn core(&self) -> Option<u32> {
        self.cpu.map(|cpu| self.beside.iter().copied().fold(cpu, u32::min))
    }
}

/// What one thread did in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLane {
    /// Index into [`RunTrace::threads`].
    pub thread: usize,
    /// When it woke up, since the planned start.
    pub awake_ns: i64,
    /// When it had no more work in this block.
    pub finished_ns: i64,
    /// Ordered by time, without overlap.
    pub spans: Vec<Span>,
}

/// One block of a run. Its times are since its planned start, but for the start itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBlock {
    /// The number of the block since the start of the run.
    pub number: u64,
    /// The planned start, on the monotonic clock.
    pub start_ns: u64,
    /// When the leader woke up.
    pub awake_ns: i64,
    /// When the output was complete.
    pub finished_ns: i64,
    /// The deadline.
    pub deadline_ns: i64,
    /// Periods that passed without a block after it.
    pub skipped: u64,
    /// The number of the plan that was run. `None`: not known, as in a file of another tool.
    pub plan: Option<u64>,
    /// Index into [`RunTrace::unit_names`].
    pub names: usize,
    /// One lane per thread that came, the leader's first.
    pub lanes: Vec<RunLane>,
    /// Threads outside the engine that ran on the seats or beside them, one entry per CPU. Only for explained blocks.
    pub others: Vec<Switches>,
    /// Who woke whom on any CPU, where all were watched.
    pub wakes: Vec<WokenOn>,
    /// Interrupts on any CPU, where they were watched.
    pub interrupts: Vec<InterruptOn>,
    /// Why it was late, or took longer than usual.
    pub verdict: Option<Verdict>,
}

impl RunBlock {
    /// The time left before the deadline. Negative: the block was late.
    pub fn slack_ns(&self) -> i64 {
        self.deadline_ns.saturating_sub(self.finished_ns)
    }

    /// Whether it was finished after its deadline.
    pub fn is_late(&self) -> bool {
        Misses::of_block(self.slack_ns(), 0).late > 0
    }
}

/// A time in which the output waited for one thread, since the planned start of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// Index into [`RunTrace::threads`].
    pub thread: usize,
    /// The unit that ran. `None`: the thread did not run, although it was needed.
    pub unit: Option<u32>,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// Many blocks of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTrace {
    /// How it was played.
    pub about: About,
    /// The threads of the engine, workers first.
    pub threads: Vec<Thread>,
    /// The names of the units, one list for each plan that was played.
    pub unit_names: Vec<Vec<String>>,
    /// In order of their numbers.
    pub blocks: Vec<RunBlock>,
    /// Blocks that were played, kept or not.
    pub played: u64,
    /// The misses of all blocks that were played.
    pub misses: Misses,
    /// Blocks that were to be kept and are not, because there was no room for them.
    pub lost_blocks: u64,
    /// Spans for which there was no room.
    pub lost_spans: u64,
    /// Whether the user ended the run.
    pub interrupted: bool,
    /// What the system granted and refused, and what has no effect here, a sentence each.
    pub remarks: Vec<String>,
    /// What cannot be seen on this machine, a sentence each.
    pub limits: Vec<String>,
}

impl RunTrace {
    /// A run without blocks.
    pub fn new(about: About, threads: Vec<Thread>) -> RunTrace {
        RunTrace {
            about,
            threads,
            unit_names: Vec::new(),
            blocks: Vec::new(),
            played: 0,
            misses: Misses::default(),
            lost_blocks: 0,
            lost_spans: 0,
            interrupted: false,
            remarks: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Adds a block that was planned for `start_ns` on the monotonic clock, unless it is there.
    ///
    /// Cost: that of its spans, if blocks come in order.
    pub fn add(&mut self, start_ns: u64, skipped: u64, trace: &BlockTrace) {
        let Err(at) = self.place(trace.block) else { return };
        let lane = |lane: &crate::Lane| RunLane {
            thread: self.thread(&lane.name, lane.cpu),
            awake_ns: lane.awake_ns,
            finished_ns: lane.finished_ns,
            spans: lane.spans.clone(),
        };
        let lanes = trace.lanes.iter().map(lane).collect();
        let block = RunBlock {
            number: trace.block,
            start_ns,
            awake_ns: trace.awake_ns,
            finished_ns: trace.finished_ns,
            deadline_ns: trace.deadline_ns,
            skipped,
            plan: trace.plan,
            names: self.names(&trace.unit_names),
            lanes,
            others: Vec::new(),
            wakes: Vec::new(),
            interrupts: Vec::new(),
            verdict: None,
        };
        self.blocks.insert(at, block);
    }

    /// Adds what is known of a block that is there.
    pub fn explain(&mut self, evidence: &Evidence, verdict: Option<&Verdict>) {
        let Ok(at) = self.place(evidence.trace.block) else { return };
        self.blocks[at].others = others(evidence);
        self.blocks[at].verdict = verdict.cloned();
    }

    /// Replaces what the rest of the machine did during a block that is there.
    pub fn surround(&mut self, number: u64, with: Surroundings) {
        if let Ok(at) = self.place(number) {
            let block = &mut self.blocks[at];
            (block.others, block.wakes, block.interrupts) =
                (with.others, with.wakes, with.interrupts);
        }
    }

    /// The planned start of the first block, on the monotonic clock.
    pub fn origin_ns(&self) -> u64 {
        self.blocks.first().map_or(0, |block| block.start_ns)
    }

    /// The plan of the block at this index, if the kept block before it ran another one.
    pub fn new_plan(&self, index: usize) -> Option<u64> {
        let before = self.blocks[index.checked_sub(1)?].plan?;
        self.blocks[index].plan.filter(|plan| *plan != before)
    }

    /// The number of spans of all blocks.
    pub fn spans(&self) -> usize {
        let lanes = self.blocks.iter().flat_map(|block| &block.lanes);
        lanes.map(|lane| lane.spans.len()).sum()
    }

    /// What the output of a block waited for, from the planned start to the end: its critical path. It is inferred from
    /// times, as [`crate::cause`] does.
    ///
    /// Cost: quadratic in the units of the block. It is for reports.
    pub fn awaited(&self, block: &RunBlock) -> Vec<Awaited> {
        let lane = |lane: &RunLane| crate::Lane {
            name: String::new(),
            cpu: None,
            awake_ns: lane.awake_ns,
            finished_ns: lane.finished_ns,
            spans: lane.spans.clone(),
        };
        let trace = BlockTrace {
            block: block.number,
            awake_ns: block.awake_ns,
            finished_ns: block.finished_ns,
            deadline_ns: block.deadline_ns,
            plan: block.plan,
            unit_names: Vec::new(),
            lanes: block.lanes.iter().map(lane).collect(),
        };
        let awaited = |leg: Leg| Awaited {
            thread: block.lanes.get(leg.lane).map_or(0, |lane| lane.thread),
            unit: match leg.what {
                What::Unit(unit) => Some(unit),
                What::Signal | What::Call | What::LeaderWake | What::Wake => None,
            },
            start_ns: leg.span.start,
            end_ns: leg.span.end,
        };
        way(&trace, 0, None).into_iter().rev().map(awaited).collect()
    }

    /// Which part of the threads' time in their blocks it took to note all spans, as [`About::span_cost_ns`] says.
    pub fn cost_share(&self) -> f64 {
        let lanes = self.blocks.iter().flat_map(|block| &block.lanes);
        let time = |lane: &RunLane| lane.finished_ns.saturating_sub(lane.awake_ns).max(0) as f64;
        let time_ns: f64 = lanes.map(time).sum();
        let cost_ns = self.spans() as f64 * self.about.span_cost_ns as f64;
        if time_ns > 0.0 { cost_ns / time_ns } else { 0.0 }
    }

    /// `64 frames at 48000 Hz`.
    pub fn frames(&self) -> String {
        match (self.about.frames, self.about.rate_hz) {
            (0, _) | (_, 0) => "frames not known".into(),
            (frames, rate_hz) => format!("{frames} frames at {rate_hz} Hz"),
        }
    }

    /// The cost of the notes in words.
    pub fn cost(&self) -> String {
        if self.about.span_cost_ns == 0 {
            return "not known".into();
        }
        let (each_ns, percent) = (self.about.span_cost_ns, 100.0 * self.cost_share());
        format!(
            "about {each_ns} ns per span, {percent:.2} % of the time of the threads in their blocks"
        )
    }

    /// The block with the least slack.
    pub fn worst(&self) -> Option<&RunBlock> {
        self.blocks.iter().min_by_key(|block| block.slack_ns())
    }

    /// The threads in the order in which they are drawn: those of one core next to each other, otherwise as they are.
    pub fn by_seat(&self) -> Vec<usize> {
        let place = |thread: usize| {
            let core = self.threads[thread].core();
            let mates =
                self.threads.iter().position(|other| core.is_some() && other.core() == core);
            (mates.unwrap_or(thread), thread)
        };
        let mut order: Vec<usize> = (0..self.threads.len()).collect();
        order.sort_by_key(|thread| place(*thread));
        order
    }

    fn place(&self, number: u64) -> Result<usize, usize> {
        self.blocks.binary_search_by_key(&number, |block| block.number)
    }

    fn thread(&mut self, name: &str, cpu: Option<u32>) -> usize {
        self.threads.iter().position(|thread| thread.name == name).unwrap_or_else(|| {
            self.threads.push(Thread { name: name.into(), cpu, beside: Vec::new() });
            self.threads.len() - 1
        })
    }

    fn names(&mut self, names: &[String]) -> usize {
        // The last plan is the likely one.
        self.unit_names.iter().rposition(|known| known == names).unwrap_or_else(|| {
            self.unit_names.push(names.to_vec());
            self.unit_names.len() - 1
        })
    }
}

/// Who ran on the seats and beside them, without the engine. A CPU may be the seat of one worker and beside another.
fn others(evidence: &Evidence) -> Vec<Switches> {
    let watched = evidence.seats.iter().flat_map(|seat| seat.own.iter().chain(&seat.siblings));
    let mut others: Vec<Switches> = Vec::new();
    for switches in watched {
        let of_others = switches.without(&evidence.engine_tids);
        let is_known = others.iter().any(|known| known.cpu == of_others.cpu);
        if !is_known && !of_others.intervals.is_empty() {
            others.push(of_others);
        }
    }
    others.sort_by_key(|switches| switches.cpu);
    others
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cause::{Cause, Seat};
    use crate::switches::Ran;
    use crate::{Doing, Lane};

    /// Block `number` of two workers on one core; `late_ns` behind its deadline.
    pub(crate) fn block(number: u64, late_ns: i64) -> BlockTrace {
        let span = |doing, start_ns, end_ns| Span { doing, start_ns, end_ns, away_ns: None };
        let lane = |name: &str, cpu, spans: Vec<Span>| Lane {
            name: name.into(),
            cpu: Some(cpu),
            awake_ns: spans[0].start_ns,
            finished_ns: spans[spans.len() - 1].end_ns,
            spans,
        };
        let finished_ns = 1_000_000 + late_ns;
        let lead = vec![
            span(Doing::Unit(0), 10_000, 300_000),
            span(Doing::Wait, 300_000, 600_500),
            span(Doing::Unit(2), 600_500, finished_ns),
        ];
        let help = vec![
            span(Doing::Barrier, 20_000, 30_000),
            span(Doing::Unit(1), 30_000, 600_000),
            span(Doing::Guard, 600_000, finished_ns - 1),
        ];
        BlockTrace {
            block: number,
            awake_ns: 10_000,
            finished_ns,
            deadline_ns: 1_000_000,
            plan: Some(4),
            unit_names: ["drums: play, eq", "vocals: play", "master <&\">"]
                .map(String::from)
                .into(),
            lanes: vec![lane("worker 0 (leader)", 0, lead), lane("worker 1", 4, help)],
        }
    }

    /// Three blocks, the second one late, because `preview` ran on the seat of worker 1.
    pub(crate) fn run() -> RunTrace {
        let thread = |name: &str, cpu: u32, beside: &[u32]| Thread {
            name: name.into(),
            cpu: Some(cpu),
            beside: beside.to_vec(),
        };
        let about = About {
            hocket: "0.1.0".into(),
            session: "Band </script>".into(),
            policy: "dataflow / all / hybrid".into(),
            frames: 48,
            rate_hz: 48_000,
            period_ns: 1_000_000,
            kept: Kept::Every,
            span_cost_ns: 20,
            machine: "a processor, 8 CPUs".into(),
            file: String::new(),
        };
        let threads = [
            thread("worker 0 (leader)", 0, &[4]),
            thread("elsewhere", 1, &[5]),
            thread("worker 1", 4, &[0]),
        ];
        let mut run = RunTrace::new(about, threads.to_vec());
        for (number, late_ns) in [(7, -100_000), (9, -200_000), (8, 50_000)] {
            // The late block takes the period behind it, too.
            let start_ns = 5_000_000_000 + (number + u64::from(number > 8)) * 1_000_000;
            run.add(start_ns, u64::from(late_ns > 0), &block(number, late_ns));
        }
        (run.played, run.misses) = (3, Misses { late: 1, skipped: 1 });
        run.remarks = vec!["worker 1: no real-time class: refused".into()];
        run.limits = vec!["moves of workers are not counted".into()];
        run.explain(&evidence(block(8, 50_000)), Some(&verdict()));
        run
    }

    fn verdict() -> Verdict {
        Verdict {
            block: 8,
            late_ns: 50_000,
            cause: Cause::SeatTaken,
            share_ns: 50_000,
            subject: "preview".into(),
            text: "block 8 came 50 µs too late: preview ran for 90 µs on the seat of worker 1"
                .into(),
            others: Vec::new(),
        }
    }

    fn evidence(trace: BlockTrace) -> Evidence {
        let ran =
            |tid, name: &str, start_ns, end_ns| Ran { tid, name: name.into(), start_ns, end_ns };
        let on = |cpu, intervals| Switches { cpu, intervals, unknown: Vec::new() };
        let taken =
            on(4, vec![ran(11, "worker 1", 0, 100_000), ran(99, "preview", 100_000, 190_000)]);
        let seat = |lane: &str, own: Switches, beside: Switches| Seat {
            lane: lane.into(),
            own: Some(own),
            siblings: vec![beside],
            ..Seat::default()
        };
        let lead = on(0, vec![ran(10, "worker 0", 0, 1_000_000)]);
        Evidence {
            trace,
            estimates_ns: Vec::new(),
            expected_ns: f64::NAN,
            signaled_ns: 0,
            engine_tids: vec![10, 11],
            seats: vec![
                seat("worker 0 (leader)", lead.clone(), taken.clone()),
                seat("worker 1", taken, lead),
            ],
        }
    }

    #[test]
    fn blocks_are_in_order_and_added_once() {
        let mut run = run();
        run.add(1, 0, &block(8, 0));
        let numbers: Vec<u64> = run.blocks.iter().map(|block| block.number).collect();
        assert_eq!(numbers, [7, 8, 9]);
        assert_eq!((run.origin_ns(), run.spans(), run.unit_names.len()), (5_007_000_000, 18, 1));
        assert_eq!(run.worst().map(|block| block.number), Some(8));
        assert!(run.blocks[1].is_late() && run.blocks[1].skipped == 1 && !run.blocks[0].is_late());
    }

    #[test]
    fn the_cost_is_that_of_the_spans_in_the_time_of_the_threads() {
        let mut run = run();
        // 18 spans of 20 ns. Leaders: 890, 1040 and 790 µs; workers: 880, 1030 and 780 µs, less a nanosecond each.
        let time_ns = (890_000 + 1_040_000 + 790_000 + 879_999 + 1_029_999 + 779_999) as f64;
        assert!((run.cost_share() - 360.0 / time_ns).abs() < 1e-9);
        run.blocks.clear();
        assert_eq!(run.cost_share(), 0.0);
    }

    #[test]
    fn the_output_waits_for_one_thing_at_any_time() {
        let run = run();
        let block = &run.blocks[1];
        let awaited = run.awaited(block);
        let units: Vec<_> = awaited.iter().filter_map(|it| Some((it.thread, it.unit?))).collect();
        assert_eq!(units, [(2, 1), (0, 2)], "vocals on worker 1, then master on the leader");
        let mut at = 0;
        for part in &awaited {
            assert!(part.start_ns == at && part.end_ns > at, "{awaited:?}");
            at = part.end_ns;
        }
        assert_eq!(at, block.finished_ns);
    }

    #[test]
    fn threads_of_one_core_are_next_to_each_other() {
        assert_eq!(run().by_seat(), [0, 2, 1]);
    }

    #[test]
    fn others_are_kept_once_per_cpu_and_without_the_engine() {
        let run = run();
        let [others] = &run.blocks[1].others[..] else { panic!("{:?}", run.blocks[1].others) };
        assert_eq!((others.cpu, others.intervals.len()), (4, 1));
        assert_eq!(others.intervals[0].name, "preview");
        assert!(run.blocks[0].others.is_empty() && run.blocks[0].verdict.is_none());
    }

    #[test]
    fn another_plan_has_other_names() {
        let mut run = run();
        let mut more = block(10, 0);
        more.unit_names.push("more".into());
        more.lanes[1].name = "guard of worker 0".into();
        run.add(1, 0, &more);
        assert_eq!((run.blocks[3].names, run.unit_names.len()), (1, 2));
        assert_eq!(run.threads[run.blocks[3].lanes[1].thread].name, "guard of worker 0");
    }
}
