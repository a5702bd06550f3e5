//! Time that a spinning thread loses.

use std::time::Duration;

use hocket_machine::clock::monotonic_ns;

use super::{GAP, LOST};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault, Sample};

/// Shorter gaps are interrupts of the guest and its timer.
pub(super) const LEAST_GAP_NS: u64 = 50_000;

/// What a thread saw that read the clock all the time.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    readings: u64,
    longest_ns: u64,
    lost_ns: u64,
    backwards: u64,
}

/// One thread on `cpu` for `length`.
pub(super) fn turn(cpu: u32, length: Duration) -> Result<Vec<Sample>, Fault> {
    let length_ns = length.as_nanos() as u64;
    let run = TurnThreads::new().with(Place::on(cpu), || watch(length_ns)).run()?;
    let wall_ns = run.wall_ns().max(1);
    let seen = run.members[0].result;
    let check = Check::equal("the number of backward steps of the clock", seen.backwards, 0);
    let sample = |metric, value| Sample::new(metric, value, seen.readings, check.clone());
    Ok(vec![
        sample(GAP, seen.longest_ns as f64 / 1e3),
        sample(LOST, seen.lost_ns as f64 * 100.0 / wall_ns as f64),
    ])
}

fn watch(length_ns: u64) -> Seen {
    let mut seen = Seen::default();
    let start_ns = monotonic_ns();
    let mut last_ns = start_ns;
    while last_ns - start_ns < length_ns {
        let now_ns = monotonic_ns();
        let gap_ns = now_ns.saturating_sub(last_ns);
        seen.readings += 1;
        seen.backwards += u64::from(now_ns < last_ns);
        seen.longest_ns = seen.longest_ns.max(gap_ns);
        seen.lost_ns += if gap_ns > LEAST_GAP_NS { gap_ns } else { 0 };
        last_ns = last_ns.max(now_ns);
    }
    seen
}
