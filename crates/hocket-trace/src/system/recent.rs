//! What every CPU did in the last seconds.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::{Happened, KernelEvent};
use crate::switches::{Follow, Ran, Stretch, SwitchAt, Switches, Who};

/// Stretches of one CPU that are held: those of seconds on a busy CPU.
const HELD: usize = 1 << 15;

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
        self.cpus
            .entry(cpu)
            .or_insert_with(|| OnCpu { follow: Follow::new(start_ns), held: VecDeque::new() })
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
                let [known, missing] = cpu.follow.lose(after_ns, event.at_ns);
                cpu.hold(known);
                cpu.hold(missing);
            }
            _ => {}
        }
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

impl OnCpu {
    fn hold(&mut self, stretch: Stretch) {
        if stretch.start_ns == stretch.end_ns {
            return;
        }
        if self.held.len() == HELD {
            self.held.pop_front();
        }
        self.held.push_back(stretch);
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
}
