//! Where the engine's threads ran, and when they were woken up, as far as the records go back.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hocket_machine::switches::{Switch, Wake};

/// Records of one thread that are kept.
const KEPT: usize = 1 << 13;

/// Where some threads ran.
#[derive(Debug, Default)]
pub(super) struct Places {
    threads: BTreeMap<i32, Records>,
}

/// Of one thread, oldest first.
#[derive(Debug, Default)]
struct Records {
    /// When it got a CPU, and which one.
    ran: VecDeque<(u64, u32)>,
    /// When it left its CPU.
    left: VecDeque<u64>,
    /// When it was woken up, and by which thread; `None`: by an interrupt.
    woken: VecDeque<(u64, Option<i32>)>,
}

impl Places {
    /// Of these threads.
    pub(super) fn of(tids: impl Iterator<Item = i32>) -> Places {
        Places { threads: tids.map(|tid| (tid, Records::default())).collect() }
    }

    /// Takes over records, which are in order of time.
    pub(super) fn learn(&mut self, switches: &[Switch], wakes: &[Wake]) {
        for switch in switches {
            let mut of = |tid: Option<i32>, keeps: fn(&mut Records, &Switch)| {
                let records = tid.and_then(|tid| self.threads.get_mut(&tid));
                records.into_iter().for_each(|of| keeps(of, switch));
            };
            of(switch.out_tid, |of, switch| keep(&mut of.left, switch.at_ns, |at| *at));
            of(switch.in_tid, |of, switch| {
                keep(&mut of.ran, (switch.at_ns, switch.cpu), |ran| ran.0)
            });
        }
        for wake in wakes {
            let records = self.threads.get_mut(&wake.tid);
            let woken = (wake.at_ns, wake.by);
            records.into_iter().for_each(|of| keep(&mut of.woken, woken, |woken| woken.0));
        }
    }

    /// Which CPU a thread had, or got next, in each part of a window, in order. Empty: nothing is recorded.
    pub(super) fn in_window(&self, tid: i32, window: &Range<u64>) -> Vec<(Range<u64>, u32)> {
        let Some(Records { ran, left, .. }) = self.threads.get(&tid) else { return Vec::new() };
        let first = ran.partition_point(|(at, _)| *at <= window.start).saturating_sub(1);
        let mut parts = Vec::new();
        let mut start = window.start;
        for (index, (at, cpu)) in ran.iter().enumerate().skip(first) {
            if *at >= window.end {
                break;
            }
            let next = ran.get(index + 1).map(|(at, _)| *at).filter(|at| *at < window.end);
            let out = left.get(left.partition_point(|left| left <= at)).copied();
            let end = next.map_or(window.end, |next| out.map_or(next, |out| out.min(next)));
            if start < end {
                parts.push((start..end, *cpu));
                start = end;
            }
        }
        parts
    }

    /// When a thread was woken up that ran at a time. `None`: not recorded, or it never slept since it got its CPU the time before.
    /// A thread that is woken up before it has left its CPU does not get one anew. Also by which thread; `None`: by an
    /// interrupt.
    pub(super) fn woken_before(&self, tid: i32, time_ns: u64) -> Option<(u64, Option<i32>)> {
        let records = self.threads.get(&tid)?;
        let (ran_ns, _) = self.ran_before(tid, time_ns)?;
        let earlier = records.ran.partition_point(|(at, _)| *at < ran_ns);
        let since = earlier.checked_sub(1).map_or(0, |index| records.ran[index].0);
        let woken = records.woken.partition_point(|(at, _)| *at <= time_ns);
        let woken = records.woken[woken.checked_sub(1)?];
        (woken.0 >= since).then_some(woken)
    }

    /// Whether a thread had a CPU at a time, as far as the records say. `false` for one that certainly ran: it was on a CPU that is
    /// not watched, or records are missing.
    pub(super) fn is_seen(&self, tid: i32, time_ns: u64) -> bool {
        let ran = self.ran_before(tid, time_ns);
        let left = self.threads.get(&tid).map(|of| &of.left);
        ran.zip(left).is_some_and(|((ran_ns, _), left)| {
            let left = &left.range(left.partition_point(|left| *left < ran_ns)..).next();
            left.is_none_or(|left| *left > time_ns)
        })
    }

    fn ran_before(&self, tid: i32, time_ns: u64) -> Option<(u64, u32)> {
        let ran = &self.threads.get(&tid)?.ran;
        let before = ran.partition_point(|(at, _)| *at <= time_ns);
        Some(ran[before.checked_sub(1)?])
    }
}

/// In order of time: a thread that moves between CPUs has records in several rings, which are emptied one after another.
fn keep<T>(records: &mut VecDeque<T>, record: T, at: impl Fn(&T) -> u64) {
    if records.len() >= KEPT {
        records.pop_front();
    }
    let later = records.iter().rev().take_while(|kept| at(kept) > at(&record)).count();
    records.insert(records.len() - later, record);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(at_ns: u64, cpu: u32, tid: i32) -> Switch {
        Switch { cpu, at_ns, in_tid: Some(tid), out_tid: None, preempted: false }
    }

    fn places() -> Places {
        let mut places = Places::of([7, 8].into_iter());
        let woken = |at_ns, tid| Wake { at_ns, tid, by: Some(3) };
        let switches = [ran(12, 0, 7), ran(15, 1, 9), ran(20, 1, 8), ran(32, 1, 7), ran(50, 0, 7)];
        places.learn(&switches, &[woken(10, 7), woken(30, 7), woken(31, 9)]);
        places
    }

    #[test]
    fn a_window_is_cut_where_the_thread_left_a_cpu_for_another_one() {
        let mut places = Places::of([7].into_iter());
        let left = |at_ns, cpu| Switch { out_tid: Some(7), ..ran(at_ns, cpu, 1) };
        // On CPU 0 from 10 to 20, on 1 from 30 to 40, on 0 from 45.
        places.learn(&[ran(10, 0, 7), left(20, 0), ran(30, 1, 7), left(40, 1), ran(45, 0, 7)], &[]);
        let of = |places: &Places, window: Range<u64>| places.in_window(7, &window);
        let parts = |window| of(&places, window);
        assert_eq!(parts(12..15), [(12..15, 0)]);
        assert_eq!(parts(15..35), [(15..20, 0), (20..35, 1)], "it waited for CPU 1 from 20 on");
        assert_eq!(parts(22..60), [(22..40, 1), (40..60, 0)]);
        assert_eq!(parts(22..29), [(22..29, 0)], "it had no other one");
        assert_eq!(parts(0..12), [(0..12, 0)]);
        assert_eq!(places.in_window(9, &(0..99)), [], "none of ours");
        assert_eq!(parts(0..5), [], "before all records");
        let seen = [9, 10, 15, 20, 25, 30, 99].map(|at| places.is_seen(7, at));
        assert_eq!(seen, [false, true, true, false, false, true, true]);
        // From another ring, which was emptied later.
        places.learn(&[ran(22, 3, 7), left(26, 3)], &[]);
        assert_eq!(of(&places, 22..60), [(22..26, 3), (26..40, 1), (40..60, 0)]);
        assert!(places.is_seen(7, 24));
    }

    #[test]
    fn a_wake_up_counts_for_the_stretch_that_it_began() {
        let places = places();
        let woken = [11, 12, 31, 32, 49].map(|at| Some(places.woken_before(7, at)?.0));
        assert_eq!(woken, [None, Some(10), Some(30), Some(30), Some(30)]);
        assert_eq!(places.woken_before(7, 49), Some((30, Some(3))));
        assert_eq!(places.woken_before(7, 50), None, "it was put aside, and came back by itself");
        assert_eq!(places.woken_before(8, 99), None, "not recorded");
    }
}
