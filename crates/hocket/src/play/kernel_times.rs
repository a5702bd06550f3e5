//! What the kernel counts of the engine's threads, for those who look: how long they were awake, and how long somebody
//! kept them from a CPU. The threads notice nothing.

use hocket_engine::Engine;
use hocket_machine::noise::{ThreadCounters, ThreadSnapshot};
use hocket_machine::pin::ThreadId;

use super::live::Live;

/// Parts of the time between two looks. `None`: the kernel does not count it, or the thread is not known yet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct KernelTimes {
    /// On a CPU: in units, or in a wait that does not sleep.
    pub(super) awake: Option<f64>,
    /// Ready to run, and without a CPU.
    pub(super) put_aside: Option<f64>,
}

/// Reads the counters of all threads.
pub(super) struct KernelLooks {
    workers: Vec<ThreadId>,
    /// Those of the look before, the leader's first.
    last: Vec<Option<ThreadCounters>>,
}

impl KernelLooks {
    pub(super) fn new(engine: &Engine) -> KernelLooks {
        let workers = engine.reports().iter().map(|report| report.tid).collect();
        KernelLooks { workers, last: Vec::new() }
    }

    /// Since the call before, the leader first. Cost: some tens of microseconds for each thread.
    pub(super) fn take(&mut self, live: &Live) -> Vec<KernelTimes> {
        let threads = std::iter::once(live.leader()).chain(self.workers.iter().copied().map(Some));
        let now: Vec<_> = threads.map(|thread| counters(thread?)).collect();
        let before = std::mem::replace(&mut self.last, now);
        let pairs = self.last.iter().enumerate();
        pairs
            .map(|(at, now)| match (before.get(at), now) {
                (Some(Some(before)), Some(now)) => between(before, now),
                _ => KernelTimes::default(),
            })
            .collect()
    }
}

fn counters(thread: ThreadId) -> Option<ThreadCounters> {
    ThreadSnapshot::of(thread).0.value().cloned()
}

fn between(before: &ThreadCounters, now: &ThreadCounters) -> KernelTimes {
    let wall_ns = now.at_ns.saturating_sub(before.at_ns);
    // The kernel brings a running thread's counter up to date once per tick, so one look may see more than its own time.
    let part = |ns: u64| (wall_ns > 0).then(|| (ns as f64 / wall_ns as f64).min(1.0));
    let awake = now.cpu_ns.checked_sub(before.cpu_ns).and_then(part);
    let waited = before.waited_ns.value().zip(now.waited_ns.value());
    let put_aside = waited.and_then(|(before, now)| now.checked_sub(*before)).and_then(part);
    KernelTimes { awake, put_aside }
}

#[cfg(test)]
mod tests {
    use hocket_machine::Fact;

    use super::*;

    fn at(at_ns: u64, cpu_ns: u64, waited_ns: Fact<u64>) -> ThreadCounters {
        ThreadCounters {
            at_ns,
            cpu_ns,
            user_ns: 0,
            system_ns: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            minor_faults: 0,
            major_faults: 0,
            waited_ns,
            migrations: Fact::Value(0),
        }
    }

    #[test]
    fn parts_are_those_of_the_time_between() {
        let before = at(1_000, 500, Fact::Value(40));
        let now = at(2_000, 750, Fact::Value(140));
        let times = KernelTimes { awake: Some(0.25), put_aside: Some(0.1) };
        assert_eq!(between(&before, &now), times);
    }

    #[test]
    fn what_the_kernel_does_not_count_is_not_known() {
        let unknown = || Fact::Unknown("not kept".into());
        let times = between(&at(1_000, 500, unknown()), &at(2_000, 1_700, unknown()));
        assert_eq!(times, KernelTimes { awake: Some(1.0), put_aside: None });
        let none = KernelTimes::default();
        assert_eq!(between(&at(5, 5, unknown()), &at(5, 5, unknown())), none);
        assert_eq!(between(&at(5, 9, Fact::Value(9)), &at(6, 5, Fact::Value(5))), none);
    }

    #[test]
    fn a_thread_that_computes_is_awake() {
        let own = hocket_machine::pin::current_thread();
        let before = counters(own).expect("this thread");
        let mut sum = 0u64;
        while counters(own).is_some_and(|now| now.cpu_ns < before.cpu_ns + 20_000_000) {
            sum = (0..100_000u64).fold(sum, |sum, n| std::hint::black_box(sum ^ n));
        }
        let times = between(&before, &counters(own).expect("this thread"));
        assert!(times.awake.is_some_and(|part| part > 0.0), "{times:?}");
    }
}
