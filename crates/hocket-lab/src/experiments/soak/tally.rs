//! What a thread notes of itself in a turn, and how long it waited for its CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hocket_machine::clock::monotonic_ns;

use super::{LIMITS, PERIOD_NS, ROOM};
use crate::harness::{Check, Sample};

/// What a thread notes of itself in a turn.
#[derive(Debug)]
pub(super) struct Tally {
    begun_ns: u64,
    watched_ns: u64,
    noted: u64,
    /// Disturbances by limit.
    disturbances: Vec<u64>,
    /// The last wake-up, and the latest one of its disturbance.
    last_ns: u64,
    worst_ns: u64,
    late: u64,
    put_aside: Option<u64>,
    longest_ns: u64,
}

impl Tally {
    pub(super) fn begin(knows_causes: bool) -> Tally {
        Tally {
            begun_ns: monotonic_ns(),
            watched_ns: 0,
            noted: 0,
            disturbances: vec![0; LIMITS.len()],
            last_ns: 0,
            worst_ns: 0,
            late: 0,
            put_aside: knows_causes.then_some(0),
            longest_ns: 0,
        }
    }

    /// A wake-up that was so late, or a pause that was so long. `waited_ns`: how much of it the thread wanted its CPU.
    pub(super) fn note(&mut self, late_ns: u64, waited_ns: Option<u64>) {
        self.noted += 1;
        self.longest_ns = self.longest_ns.max(late_ns);
        self.late += u64::from(late_ns > LIMITS[ROOM].1);
        if self.last_ns < PERIOD_NS {
            // The last wake-up came before this one was due, so its stall has not delayed this one.
            self.worst_ns = 0;
        }
        let before_ns = self.worst_ns;
        let is_first = |limit_ns: u64| late_ns > limit_ns && before_ns <= limit_ns;
        for (count, (_, limit_ns)) in self.disturbances.iter_mut().zip(LIMITS) {
            *count += u64::from(is_first(*limit_ns));
        }
        let was_put_aside = waited_ns.is_some_and(|waited_ns| waited_ns > late_ns / 2);
        if let Some(put_aside) = &mut self.put_aside {
            *put_aside += u64::from(is_first(LIMITS[ROOM].1) && was_put_aside);
        }
        (self.last_ns, self.worst_ns) = (late_ns, before_ns.max(late_ns));
    }

    pub(super) fn disturbance_is_over(&mut self) {
        self.last_ns = 0;
    }

    /// Somebody else has watched for so long.
    pub(super) fn watched_for(self, watched_ns: u64) -> Tally {
        Tally { watched_ns, ..self }
    }

    pub(super) fn end(mut self) -> Tally {
        self.watched_ns = monotonic_ns() - self.begun_ns;
        self
    }

    /// `wakes`: how many there had to be, where somebody knows.
    pub(super) fn samples(&self, wakes: Option<u64>) -> Vec<Sample> {
        let check = match wakes {
            Some(wakes) => Check::equal("the number of wake-ups", self.noted, wakes),
            None => Check::None("nobody knows how many pauses there are".into()),
        };
        let sample =
            |metric: &str, value: f64| Sample::new(metric, value, self.noted, check.clone());
        let counts = LIMITS.iter().zip(&self.disturbances);
        let mut samples: Vec<Sample> =
            counts.map(|((metric, _), count)| sample(metric, *count as f64)).collect();
        samples.push(sample("late", self.late as f64));
        samples.extend(self.put_aside.map(|count| sample("put-aside", count as f64)));
        samples.push(sample("longest", self.longest_ns as f64));
        samples.push(sample("watched", self.watched_ns as f64 / 1e9));
        samples
    }
}

/// How long the calling thread has waited for its CPU, as the kernel counts it.
pub(super) struct Waited(File);

impl Waited {
    pub(super) fn of_this_thread() -> Result<Waited, String> {
        const PLACE: &str = "/proc/thread-self/schedstat";
        let file = File::open(PLACE).map_err(|error| format!("{PLACE}: {error}"))?;
        let waited = Waited(file);
        waited.ns().ok_or_else(|| format!("{PLACE} has no second number")).map(|_| waited)
    }

    /// Cost: one system call, some two microseconds.
    fn ns(&self) -> Option<u64> {
        let mut bytes = [0; 80];
        let count = self.0.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..count]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}

/// The same from one look to the next.
pub(super) struct Waiting {
    waited: Option<Waited>,
    last_ns: u64,
}

impl Waiting {
    pub(super) fn begin() -> Waiting {
        let waited = Waited::of_this_thread().ok();
        let last_ns = waited.as_ref().and_then(Waited::ns).unwrap_or(0);
        Waiting { waited, last_ns }
    }

    pub(super) fn is_known(&self) -> bool {
        self.waited.is_some()
    }

    pub(super) fn since_last_ns(&mut self) -> Option<u64> {
        let now_ns = self.waited.as_ref()?.ns()?;
        let last_ns = std::mem::replace(&mut self.last_ns, now_ns);
        now_ns.checked_sub(last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(late_us: &[u64]) -> Tally {
        let mut tally = Tally::begin(true);
        for us in late_us {
            // It waited for its CPU for two thirds of the first millisecond, and not at all in others.
            tally.note(us * 1_000, Some(if *us == 1_000 { 666_000 } else { 0 }));
        }
        tally.end()
    }

    #[test]
    fn late_wake_ups_one_after_another_are_one_disturbance() {
        // A stall of 3 ms delays three wake-ups; later one of 0.3 ms.
        let tally = tally(&[10, 3_000, 1_700, 400, 20, 300, 10]);
        assert_eq!(tally.disturbances, [2, 2, 2, 1, 1, 1, 0, 0]);
        assert_eq!((tally.late, tally.noted, tally.longest_ns), (4, 7, 3_000_000));
        assert_eq!(tally.put_aside, Some(0));
    }

    #[test]
    fn who_waited_for_a_cpu_was_put_aside() {
        assert_eq!(tally(&[1_000, 10, 2_000, 10, 1_000]).put_aside, Some(2));
        let mut unknown = Tally::begin(false);
        unknown.note(1_000_000, None);
        let metrics: Vec<String> =
            unknown.samples(Some(1)).into_iter().map(|it| it.metric).collect();
        assert!(!metrics.iter().any(|metric| metric == "put-aside"), "{metrics:?}");
    }

    #[test]
    fn each_pause_of_the_watcher_is_one_disturbance() {
        let mut tally = Tally::begin(true);
        for _ in 0..3 {
            tally.note(600_000, Some(0));
            tally.disturbance_is_over();
        }
        assert_eq!(tally.disturbances, [3, 3, 3, 3, 0, 0, 0, 0]);
    }
}
