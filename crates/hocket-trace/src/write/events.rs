//! A run as tracks with events on them, for formats that know nothing of blocks.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::run::{Kept, RunBlock, RunTrace, Thread};
use crate::switches::Switches;
use crate::system::{DEFERRED, InterruptOn, WokenOn, interrupt_name};
use crate::{Doing, Span};

/// Where events are drawn. Tracks are drawn in the order of [`tracks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Track {
    /// Blocks, deadlines and misses.
    Blocks,
    /// The thread with this index.
    Thread(usize),
    /// Threads outside the engine on this CPU; of a system all that are drawn there.
    Others(u32),
    /// Interrupts on this CPU; `true`: what they have put off.
    Interrupts(u32, bool),
}

/// What can be drawn: tracks with events on them.
pub(super) trait Drawn {
    /// Every track with its name, in the order in which they are drawn.
    fn tracks(&self) -> Vec<(Track, String)>;
    /// The thread whose track it is, if it is one of the engine's.
    fn thread(&self, _: Track) -> Option<&Thread> {
        None
    }
    /// What a reader needs to know, as names and values.
    fn facts(&self) -> Vec<(&'static str, String)>;
    /// Calls `each` with all events. Those of one track are in order of time.
    fn events<'a>(&'a self, each: &mut dyn FnMut(Event<'a>));
    /// The time of the first event, on the monotonic clock.
    fn origin_ns(&self) -> u64;
    /// Whether blocks are among it, which have a slack.
    fn has_blocks(&self) -> bool;
}

impl Drawn for RunTrace {
    fn tracks(&self) -> Vec<(Track, String)> {
        tracks(self)
    }

    fn thread(&self, track: Track) -> Option<&Thread> {
        match track {
            Track::Thread(index) => self.threads.get(index),
            _ => None,
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        facts(self)
    }

    fn events<'a>(&'a self, each: &mut dyn FnMut(Event<'a>)) {
        events(self, each);
    }

    fn origin_ns(&self) -> u64 {
        RunTrace::origin_ns(self)
    }

    fn has_blocks(&self) -> bool {
        true
    }
}

/// What happens on a track. Times are on the monotonic clock.
#[derive(Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// Something with a length. Slices of one track do not overlap.
    Slice {
        track: Track,
        name: Cow<'a, str>,
        category: &'static str,
        start_ns: i64,
        end_ns: i64,
        detail: Cow<'a, str>,
        exact: Exact<'a>,
    },
    /// Something without a length. On the track of the blocks it concerns all.
    Instant {
        track: Track,
        name: Cow<'a, str>,
        category: &'static str,
        at_ns: i64,
        detail: Cow<'a, str>,
    },
    /// The slack of a block, at its end.
    Slack { at_ns: i64, slack_ns: i64 },
}

/// What a slice says besides, for a format that Hocket reads again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Exact<'a> {
    /// Nothing.
    Nothing,
    /// It is this block.
    Block(&'a RunBlock),
    /// For so long of it the thread had no CPU.
    Away(i64),
    /// It is the thread with this number.
    Thread(i32),
    /// It is the interrupt with this number.
    Interrupt(u32),
}

/// Every track with its name, in the order in which they are drawn.
pub(super) fn tracks(run: &RunTrace) -> Vec<(Track, String)> {
    let blocks = std::iter::once((Track::Blocks, "blocks".to_owned()));
    let threads =
        run.by_seat().into_iter().map(|index| (Track::Thread(index), run.threads[index].title()));
    let all = || run.blocks.iter();
    let ran = all().flat_map(|block| &block.others).map(|others| others.cpu);
    let woke = all().flat_map(|block| &block.wakes).map(|wake| wake.cpu);
    let cpus: BTreeSet<u32> = ran.chain(woke).collect();
    let others = cpus.into_iter().map(|cpu| (Track::Others(cpu), format!("others on CPU {cpu}")));
    let interrupts = all().flat_map(|block| &block.interrupts);
    let interrupts: BTreeSet<(u32, bool)> =
        interrupts.map(|it| (it.cpu, it.number & DEFERRED != 0)).collect();
    let interrupts =
        interrupts.into_iter().map(|(cpu, is_deferred)| interrupt_track(cpu, is_deferred));
    blocks.chain(threads).chain(others).chain(interrupts).collect()
}

/// Work that interrupts put off has a track of its own, because interrupts interrupt it.
pub(super) fn interrupt_track(cpu: u32, is_deferred: bool) -> (Track, String) {
    let what = if is_deferred { "put off by interrupts" } else { "interrupts" };
    (Track::Interrupts(cpu, is_deferred), format!("{what} on CPU {cpu}"))
}

/// What a reader needs to know of the run, as names and values.
pub(super) fn facts(run: &RunTrace) -> Vec<(&'static str, String)> {
    let about = &run.about;
    let mut facts = vec![
        ("format", crate::run::FORMAT.to_owned()),
        ("hocket", about.hocket.clone()),
        ("session", about.session.clone()),
        ("policy", about.policy.clone()),
        ("frames", about.frames.to_string()),
        ("rate_hz", about.rate_hz.to_string()),
        ("period_ns", about.period_ns.to_string()),
        ("played", run.played.to_string()),
        ("misses", run.misses.to_string()),
        ("late", run.misses.late.to_string()),
        ("skipped", run.misses.skipped.to_string()),
        ("kept", kept(about.kept).to_owned()),
        ("lost_blocks", run.lost_blocks.to_string()),
        ("lost_spans", run.lost_spans.to_string()),
        ("span_cost_ns", about.span_cost_ns.to_string()),
    ];
    if !about.machine.is_empty() {
        facts.push(("machine", about.machine.clone()));
    }
    if run.interrupted {
        facts.push(("interrupted", "by the user".to_owned()));
    }
    facts.extend(run.remarks.iter().map(|remark| ("note", remark.clone())));
    facts.extend(run.limits.iter().map(|limit| ("not seen here", limit.clone())));
    facts
}

/// Which blocks were to be kept, in words.
pub(crate) fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Every => "every block",
        Kept::OnMiss => "late blocks and their neighbours, or the worst block if none was late",
    }
}

/// Calls `each` with all events, block after block, and within a block track after track.
///
/// Cost: linear in the spans.
pub(super) fn events<'a>(run: &'a RunTrace, mut each: impl FnMut(Event<'a>)) {
    let mut ends = Ends::default();
    for (index, block) in run.blocks.iter().enumerate() {
        let start = Start { ns: block.start_ns as i64, ends: &mut ends };
        // The engine takes a new plan between two blocks.
        if let Some(plan) = run.new_plan(index) {
            each(start.instant(format!("plan {plan}").into(), "plan", 0, "".into()));
        }
        block_events(block, start, &mut each);
        for lane in &block.lanes {
            let track = Track::Thread(lane.thread);
            let mut start = Start { ns: block.start_ns as i64, ends: &mut ends };
            let asleep = start.slice(
                track,
                "asleep".into(),
                "asleep",
                (0, lane.awake_ns),
                "".into(),
                Exact::Nothing,
            );
            // A thread that was awake when the block was planned did not sleep in it.
            if matches!(&asleep, Event::Slice { start_ns, end_ns, .. } if start_ns < end_ns) {
                each(asleep);
            }
            for span in &lane.spans {
                let name = name(span, &run.unit_names[block.names]);
                let category = category(&span.doing);
                let detail = away(span).map_or("".into(), Cow::from);
                let exact = span.away_ns.map_or(Exact::Nothing, Exact::Away);
                let times = (span.start_ns, span.end_ns);
                each(start.slice(track, name, category, times, detail, exact));
            }
        }
        for others in &block.others {
            let start = Start { ns: block.start_ns as i64, ends: &mut ends };
            other_events(others, start, &mut each);
        }
        let mut start = Start { ns: block.start_ns as i64, ends: &mut ends };
        block.wakes.iter().for_each(|wake| each(start.wake(wake)));
        block.interrupts.iter().for_each(|one| each(start.interrupt(one)));
    }
}

fn block_events<'a>(block: &'a RunBlock, mut start: Start<'_>, each: &mut impl FnMut(Event<'a>)) {
    let number = block.number;
    let name = match block.is_late() {
        true => format!("block {number} (late)"),
        false => format!("block {number}"),
    };
    let detail = block.verdict.as_ref().map_or("", |verdict| &verdict.text);
    let times = (0, block.finished_ns);
    let exact = Exact::Block(block);
    each(start.slice(Track::Blocks, name.into(), "block", times, detail.into(), exact));
    each(start.instant("deadline".into(), "deadline", block.deadline_ns, "".into()));
    if block.is_late() {
        each(start.instant("miss".into(), "miss", block.finished_ns, detail.into()));
    }
    if block.skipped > 0 {
        let periods = if block.skipped == 1 { "period" } else { "periods" };
        let words = format!("{} {periods} skipped", block.skipped);
        each(start.instant("skipped".into(), "miss", block.finished_ns, words.into()));
    }
    each(Event::Slack { at_ns: start.at(block.finished_ns), slack_ns: block.slack_ns() });
}

fn other_events<'a>(others: &'a Switches, mut start: Start<'_>, each: &mut impl FnMut(Event<'a>)) {
    let track = Track::Others(others.cpu);
    for ran in &others.intervals {
        let detail = format!("thread {}", ran.tid);
        let times = (ran.start_ns, ran.end_ns);
        let exact = Exact::Thread(ran.tid);
        each(start.slice(track, (&ran.name).into(), "other", times, detail.into(), exact));
    }
}

/// The name of what a thread did.
pub(super) fn name<'a>(span: &Span, unit_names: &'a [String]) -> Cow<'a, str> {
    match span.doing {
        Doing::Unit(unit) => match unit_names.get(unit as usize) {
            Some(name) => name.into(),
            None => format!("unit {unit}").into(),
        },
        _ => category(&span.doing).into(),
    }
}

/// What begins the name of a wake-up, and its detail. The number of a thread follows its name, so none is called as the third.
pub(crate) const WOKEN: &str = "woken: ";
pub(crate) const BY: &str = "by ";
pub(crate) const AN_INTERRUPT: &str = "an interrupt";

/// `by audio (4711)`.
pub(super) fn woken_by(wake: &WokenOn) -> String {
    format!("{BY}{}", wake.by.as_deref().unwrap_or(AN_INTERRUPT))
}

/// For how much of a span its thread had no CPU, in words, if that is known.
pub(super) fn away(span: &Span) -> Option<String> {
    span.away_ns.map(|ns| format!("without a CPU for {:.1} µs", ns as f64 / 1e3))
}

/// What kind of doing it is, in one word.
pub(super) fn category(doing: &Doing) -> &'static str {
    match doing {
        Doing::Unit(_) => "unit",
        Doing::Barrier => "barrier",
        Doing::Wait => "wait",
        Doing::Help => "help",
        Doing::Guard => "guard",
    }
}

/// Where the last slice of each track ends.
#[derive(Default)]
pub(super) struct Ends(Vec<(Track, i64)>);

impl Ends {
    pub(super) fn of(&mut self, track: Track) -> &mut i64 {
        let at = self.0.iter().position(|(known, _)| *known == track).unwrap_or_else(|| {
            self.0.push((track, i64::MIN));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// A block's planned start, from which its times count.
struct Start<'a> {
    ns: i64,
    ends: &'a mut Ends,
}

impl Start<'_> {
    fn at(&self, ns: i64) -> i64 {
        self.ns.saturating_add(ns)
    }

    /// Viewers refuse slices that overlap on one track. A thread that still works on one block when the next is planned
    /// begins to sleep later.
    fn slice<'a>(
        &mut self,
        track: Track,
        name: Cow<'a, str>,
        category: &'static str,
        (start_ns, end_ns): (i64, i64),
        detail: Cow<'a, str>,
        exact: Exact<'a>,
    ) -> Event<'a> {
        let (start_ns, end_ns) = (self.at(start_ns), self.at(end_ns));
        let last = self.ends.of(track);
        let start_ns = start_ns.max(*last);
        let end_ns = end_ns.max(start_ns);
        *last = end_ns;
        Event::Slice { track, name, category, start_ns, end_ns, detail, exact }
    }

    fn wake<'a>(&self, wake: &'a WokenOn) -> Event<'a> {
        Event::Instant {
            track: Track::Others(wake.cpu),
            name: format!("{WOKEN}{}", wake.woken).into(),
            category: "woken",
            at_ns: self.at(wake.at_ns),
            detail: woken_by(wake).into(),
        }
    }

    fn interrupt<'a>(&mut self, one: &InterruptOn) -> Event<'a> {
        let track = Track::Interrupts(one.cpu, one.number & DEFERRED != 0);
        let times = (one.start_ns, one.end_ns);
        let (name, exact) = (interrupt_name(one.number).into(), Exact::Interrupt(one.number));
        self.slice(track, name, "interrupt", times, "".into(), exact)
    }

    fn instant<'a>(
        &self,
        name: Cow<'a, str>,
        category: &'static str,
        at_ns: i64,
        detail: Cow<'a, str>,
    ) -> Event<'a> {
        let (track, at_ns) = (Track::Blocks, self.at(at_ns));
        Event::Instant { track, name, category, at_ns, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::{block, run};

    fn slices(run: &RunTrace) -> Vec<(Track, String, i64, i64)> {
        let mut all = Vec::new();
        events(run, |event| {
            if let Event::Slice { track, name, start_ns, end_ns, .. } = event {
                all.push((track, name.into_owned(), start_ns, end_ns));
            }
        });
        all
    }

    #[test]
    fn every_span_is_a_slice_at_its_time() {
        let run = run();
        let all = slices(&run);
        // Per block: itself, two times asleep, six spans; and what ran beside the late one.
        assert_eq!(all.len(), 3 * 9 + 1);
        let vocals = (Track::Thread(2), "vocals: play".into(), 5_008_030_000, 5_008_600_000);
        assert!(all.contains(&vocals), "{all:?}");
        let stranger = (Track::Others(4), "preview".into(), 5_008_100_000, 5_008_190_000);
        assert!(all.contains(&stranger), "{all:?}");
    }

    #[test]
    fn slices_of_a_track_do_not_overlap_even_where_blocks_do() {
        let mut run = run();
        run.blocks.clear();
        run.add(5_000_000_000, 0, &block(1, 700_000));
        run.add(5_001_000_000, 0, &block(2, 0));
        let mut last: std::collections::BTreeMap<Track, i64> = Default::default();
        for (track, name, start, end) in slices(&run) {
            let before = last.insert(track, end).unwrap_or(i64::MIN);
            assert!(before <= start && start <= end, "{track:?} {name}: {before} {start} {end}");
        }
    }

    #[test]
    fn who_was_awake_in_time_did_not_sleep() {
        let mut run = run();
        run.blocks.iter_mut().for_each(|block| block.lanes[0].awake_ns = -5_000);
        let sleepers = slices(&run).into_iter().filter(|slice| slice.1 == "asleep");
        assert!(sleepers.map(|slice| slice.0).eq([Track::Thread(2); 3]));
    }

    #[test]
    fn a_new_plan_is_an_instant_before_its_first_block() {
        let mut run = run();
        let plans = |run: &RunTrace| {
            let mut plans = Vec::new();
            events(run, |event| {
                if let Event::Instant { name, category: "plan", at_ns, .. } = event {
                    plans.push((name.into_owned(), at_ns));
                }
            });
            plans
        };
        assert_eq!(plans(&run), [], "the first plan is no new one");
        run.blocks[1].plan = Some(6);
        run.blocks[2].plan = Some(6);
        assert_eq!(plans(&run), [("plan 6".into(), 5_008_000_000)]);
        // Where it is not known, nothing is claimed.
        run.blocks[1].plan = None;
        assert_eq!(plans(&run), []);
    }

    #[test]
    fn a_miss_is_an_instant_with_its_cause() {
        let run = run();
        let mut misses = Vec::new();
        events(&run, |event| {
            if let Event::Instant { name, category: "miss", detail, .. } = event {
                misses.push((name.into_owned(), detail.into_owned()));
            }
        });
        assert_eq!(misses.len(), 2);
        assert!(misses[0].0 == "miss" && misses[0].1.contains("preview ran for 90 µs"));
        assert_eq!(misses[1], ("skipped".into(), "1 period skipped".into()));
    }

    #[test]
    fn who_woke_whom_and_interrupts_are_on_the_tracks_of_their_cpus() {
        let mut run = run();
        let wake = |by: Option<&str>| WokenOn {
            at_ns: 10_000,
            cpu: 1,
            woken: "audio (7)".into(),
            by: by.map(Into::into),
        };
        run.blocks[1].wakes = vec![wake(Some("ui (9)")), wake(None)];
        let on = |number, start_ns, end_ns| InterruptOn { start_ns, end_ns, cpu: 0, number };
        run.blocks[1].interrupts = vec![on(34, 0, 5_000), on(DEFERRED | 1, 1_000, 9_000)];
        let names: Vec<String> = tracks(&run).into_iter().map(|track| track.1).collect();
        let expected = ["others on CPU 1", "others on CPU 4", "interrupts on CPU 0"];
        assert!(names[4..].iter().zip(expected).all(|(name, it)| name == it), "{names:?}");
        assert_eq!(names.last().unwrap(), "put off by interrupts on CPU 0");
        let mut woken = Vec::new();
        events(&run, |event| {
            if let Event::Instant { track, name, category: "woken", at_ns, detail } = event {
                assert_eq!((track, at_ns), (Track::Others(1), 5_008_010_000));
                woken.push(format!("{name} {detail}"));
            }
        });
        assert_eq!(woken, ["woken: audio (7) by ui (9)", "woken: audio (7) by an interrupt"]);
        let all = slices(&run);
        let irq = (Track::Interrupts(0, false), "irq 34".into(), 5_008_000_000, 5_008_005_000);
        let later =
            (Track::Interrupts(0, true), "softirq TIMER".into(), 5_008_001_000, 5_008_009_000);
        assert!(all.contains(&irq) && all.contains(&later), "{all:?}");
    }
}
