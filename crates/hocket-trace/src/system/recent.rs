//! What every CPU did in the last seconds.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::{DEFERRED, Happened, KernelEvent};
use crate::switches::{Follow, Ran, Stretch, SwitchAt, Switches, Who};

/// Stretches of one CPU that are held: those of seconds on a busy CPU.
const HELD: usize = 1 << 15;

/// What the rest of the machine did around a block. Times are since the block's planned start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Threads outside the engine that ran, one entry per CPU.
    pub others: Vec<Switches>,
    /// Who woke whom, in order of CPUs and times. The engine's own threads are among them.
    pub wakes: Vec<WokenOn>,
    /// In order of CPUs and ends.
    pub interrupts: Vec<InterruptOn>,
}

/// A thread was woken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WokenOn {
    /// When.
    pub at_ns: i64,
    /// Where its waker ran.
    pub cpu: u32,
    /// Who, with the thread's number.
    pub woken: String,
    /// By whom, with the thread's number; `None`: by an interrupt.
    pub by: Option<String>,
}

/// An interrupt ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptOn {
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Where.
    pub cpu: u32,
    /// Which one; with [`DEFERRED`](super::DEFERRED) if it is work that an interrupt has put off.
    pub number: u32,
}

impl Surroundings {
    /// How many pieces it has.
    pub fn pieces(&self) -> usize {
        let ran = self.others.iter().map(|others| others.intervals.len()).sum::<usize>();
        ran + self.wakes.len() + self.interrupts.len()
    }
}

/// Holds what each CPU did, and forgets the oldest.
#[derive(Debug)]
pub struct Recent {
    start_ns: i64,
    cpus: BTreeMap<u32, OnCpu>,
}

#[derive(Debug)]
struct OnCpu {
    follow: Follow,
    /// Oldest first.
    held: VecDeque<Stretch>,
    /// Oldest first: when, who, by whom.
    wakes: VecDeque<(i64, i32, Option<i32>)>,
    /// By their ends, oldest first.
    interrupts: VecDeque<InterruptOn>,
    /// Since when an interrupt runs, and what it has put off.
    interrupted: [Option<i64>; 2],
}

impl Recent {
    /// For `cpus`, from `start_ns` on.
    pub fn new(cpus: &[u32], start_ns: i64) -> Recent {
        let mut recent = Recent { start_ns, cpus: BTreeMap::new() };
        for cpu in cpus {
            recent.cpu(*cpu);
        }
        recent
    }

    fn cpu(&mut self, cpu: u32) -> &mut OnCpu {
        let start_ns = self.start_ns;
        self.cpus.entry(cpu).or_insert_with(|| OnCpu {
            follow: Follow::new(start_ns),
            held: VecDeque::new(),
            wakes: VecDeque::new(),
            interrupts: VecDeque::new(),
            interrupted: [None; 2],
        })
    }

    /// Takes the next event in; of one CPU they come in order.
    pub fn add(&mut self, event: &KernelEvent) {
        let cpu = self.cpu(event.cpu);
        match event.what {
            Happened::Switch { in_tid, out_tid, preempted } => {
                let at_ns = event.at_ns;
                let stretch = cpu.follow.next(&SwitchAt { at_ns, in_tid, out_tid, preempted });
                cpu.hold(stretch);
            }
            Happened::Lost { after_ns, .. } => {
                // Ends of interrupts may be among what is missing.
                cpu.interrupted = [None; 2];
                let [known, missing] = cpu.follow.lose(after_ns, event.at_ns);
                cpu.hold(known);
                cpu.hold(missing);
            }
            Happened::Woken { tid, by } => {
                // A CPU that is idle wakes nobody up but in interrupts.
                let by = by.filter(|by| *by > 0);
                push(&mut cpu.wakes, (event.at_ns, tid, by));
            }
            Happened::Interrupt { number, is_deferred, begins } => {
                cpu.interrupt(event, number, is_deferred, begins);
            }
            _ => {}
        }
    }

    /// What each CPU did during `window`, with times since its start. The threads in `tids` are not among those that ran.
    ///
    /// Cost: linear in what is held of the window.
    pub fn during(
        &self,
        window: &Range<i64>,
        tids: &[i32],
        name: impl Fn(i32) -> Option<String>,
    ) -> Surroundings {
        let title = |tid: i32| match name(tid) {
            Some(name) => format!("{name} ({tid})"),
            None => format!("thread {tid}"),
        };
        let mut found =
            Surroundings { others: self.others(window, tids, &name), ..Surroundings::default() };
        for (cpu, it) in &self.cpus {
            let first = it.wakes.partition_point(|wake| wake.0 < window.start);
            let wakes = it.wakes.range(first..).take_while(|wake| wake.0 < window.end);
            found.wakes.extend(wakes.map(|(at_ns, woken, by)| WokenOn {
                at_ns: at_ns - window.start,
                cpu: *cpu,
                woken: title(*woken),
                by: by.map(title),
            }));
            let first = it.interrupts.partition_point(|one| one.end_ns <= window.start);
            let inside = it.interrupts.range(first..).filter(|one| one.start_ns < window.end);
            found.interrupts.extend(inside.map(|one| InterruptOn {
                start_ns: one.start_ns.max(window.start) - window.start,
                end_ns: one.end_ns.min(window.end) - window.start,
                ..*one
            }));
        }
        found
    }

    /// Who ran on each CPU during `window`, without the threads in `tids`, with times since its start. CPUs on which nobody
    /// else ran are left out.
    pub fn others(
        &self,
        window: &Range<i64>,
        tids: &[i32],
        name: impl Fn(i32) -> Option<String>,
    ) -> Vec<Switches> {
        let on_cpu = |(cpu, it): (&u32, &OnCpu)| it.during(*cpu, window, &name).without(tids);
        let mut all: Vec<Switches> = self.cpus.iter().map(on_cpu).collect();
        all.retain(|switches| !switches.intervals.is_empty());
        all
    }
}

/// Forgets the oldest if there are too many.
fn push<T>(held: &mut VecDeque<T>, one: T) {
    if held.len() == HELD {
        held.pop_front();
    }
    held.push_back(one);
}

impl OnCpu {
    fn hold(&mut self, stretch: Stretch) {
        if stretch.start_ns == stretch.end_ns {
            return;
        }
        push(&mut self.held, stretch);
    }

    fn interrupt(&mut self, event: &KernelEvent, number: i32, is_deferred: bool, begins: bool) {
        let since = &mut self.interrupted[usize::from(is_deferred)];
        let end_ns = event.at_ns;
        if begins {
            *since = Some(end_ns);
            return;
        }
        let Some(start_ns) = since.take() else { return };
        let number = number.max(0) as u32 | if is_deferred { DEFERRED } else { 0 };
        push(&mut self.interrupts, InterruptOn { start_ns, end_ns, cpu: event.cpu, number });
    }

    fn during(
        &self,
        cpu: u32,
        window: &Range<i64>,
        name: impl Fn(i32) -> Option<String>,
    ) -> Switches {
        let mut found = Switches { cpu, ..Switches::default() };
        let first = self.held.partition_point(|stretch| stretch.end_ns <= window.start);
        // What runs now has no end yet.
        let now = self.follow.clone().end(window.end);
        let until = self.held.range(first..).copied().chain([now]);
        for stretch in until.take_while(|stretch| stretch.start_ns < window.end) {
            let start_ns = stretch.start_ns.max(window.start) - window.start;
            let end_ns = stretch.end_ns.min(window.end) - window.start;
            match stretch.who {
                _ if start_ns >= end_ns => {}
                Who::Idle => {}
                Who::Unknown => found.unknown.push((start_ns, end_ns)),
                Who::Thread(tid) => {
                    let name = name(tid).unwrap_or_else(|| "another thread".into());
                    found.intervals.push(Ran { tid, name, start_ns, end_ns });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(cpu: u32, at_ns: i64, out: i32, into: i32) -> KernelEvent {
        let what = Happened::Switch { in_tid: Some(into), out_tid: Some(out), preempted: false };
        KernelEvent { at_ns, cpu, what }
    }

    #[test]
    fn others_are_found_in_a_window() {
        let mut recent = Recent::new(&[0, 1], 0);
        for event in [switch(0, 100, 7, 8), switch(1, 120, 9, 0), switch(0, 300, 8, 7)] {
            recent.add(&event);
        }
        let found = recent.others(&(50..400), &[7], |tid| Some(format!("t{tid}")));
        let spans: Vec<(u32, i32, i64, i64)> = found
            .iter()
            .flat_map(|of_cpu| {
                of_cpu.intervals.iter().map(|r| (of_cpu.cpu, r.tid, r.start_ns, r.end_ns))
            })
            .collect();
        assert_eq!(spans, [(0, 8, 50, 250), (1, 9, 0, 70)]);
    }

    #[test]
    fn what_is_missing_is_nobodys() {
        let mut recent = Recent::new(&[0], 0);
        recent.add(&switch(0, 100, 7, 8));
        let what = Happened::Lost { after_ns: 150, records: 3 };
        recent.add(&KernelEvent { at_ns: 200, cpu: 0, what });
        recent.add(&switch(0, 250, 9, 0));
        let found = recent.others(&(0..400), &[], |_| None);
        assert_eq!(found[0].unknown, [(150, 200)]);
        let spans: Vec<_> =
            found[0].intervals.iter().map(|r| (r.tid, r.start_ns, r.end_ns)).collect();
        assert_eq!(spans, [(7, 0, 100), (8, 100, 150), (9, 200, 250)]);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut recent = Recent::new(&[0], 0);
        for at in 0..HELD as i64 + 10 {
            recent.add(&switch(0, at + 1, 7, 7));
        }
        assert_eq!(recent.cpus[&0].held.len(), HELD);
        assert!(recent.others(&(0..5), &[], |_| None).is_empty());
    }

    #[test]
    fn wake_ups_and_interrupts_are_found_in_a_window() {
        let mut recent = Recent::new(&[0, 1], 0);
        let event = |at_ns, cpu, what| KernelEvent { at_ns, cpu, what };
        let woken = |at_ns, cpu, tid, by| event(at_ns, cpu, Happened::Woken { tid, by });
        let interrupt = |at_ns, number, is_deferred, begins| {
            event(at_ns, 0, Happened::Interrupt { number, is_deferred, begins })
        };
        for event in [
            woken(40, 1, 7, Some(9)),
            interrupt(45, 34, false, true),
            woken(55, 0, 7, Some(0)),
            interrupt(60, 34, false, false),
            interrupt(61, 1, true, true),
            // Its beginning was not seen.
            interrupt(62, 35, false, false),
            interrupt(500, 1, true, false),
            woken(70, 1, 8, Some(7)),
            woken(400, 1, 7, None),
        ] {
            recent.add(&event);
        }
        let found = recent.during(&(50..400), &[7], |tid| (tid == 7).then(|| "audio".into()));
        let wake = |at_ns, cpu, woken: &str, by: Option<&str>| {
            let (woken, by) = (woken.into(), by.map(Into::into));
            WokenOn { at_ns, cpu, woken, by }
        };
        let expected = [wake(5, 0, "audio (7)", None), wake(20, 1, "thread 8", Some("audio (7)"))];
        assert_eq!(found.wakes, expected);
        let on = |start_ns, end_ns, number| InterruptOn { start_ns, end_ns, cpu: 0, number };
        assert_eq!(found.interrupts, [on(0, 10, 34), on(11, 350, DEFERRED | 1)]);
        assert_eq!(found.pieces(), 4);
    }
}
