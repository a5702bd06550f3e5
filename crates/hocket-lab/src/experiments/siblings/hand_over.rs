//! How long a cache line takes from one CPU to another.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_machine::clock::monotonic_ns;
use hocket_rt::Padded;

use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault, Sample, Size};

/// Round trips between two readings of the clock: long against a reading, short against a time slice.
const TRIPS: u64 = 100;

/// Stretches of a turn.
pub(super) const STRETCHES: [usize; 2] = [24, 60];

/// The first stretches bring the threads into step and are not counted.
const IGNORED: usize = 2;

/// One turn of a pair: a counter on one line that each thread may increment only every other time.
///
/// By compare-and-exchange, without a spin hint, as the figures were measured that the inference
/// compares with. The sample is the median over stretches of 100 round trips, halved.
///
/// # Errors
/// Where the threads cannot be pinned or started.
pub(crate) fn hand_over(metric: &str, pair: [u32; 2], size: Size) -> Result<Sample, Fault> {
    let stretches = size.of(STRETCHES);
    let ball = Padded::<AtomicU64>::default();
    let passes = stretches as u64 * TRIPS;
    let team = TurnThreads::new().with(Place::on(pair[0]), || timed(&ball, stretches)).with(
        Place::on(pair[1]),
        || {
            (0..passes).for_each(|pass| pass_on(&ball, 2 * pass + 1));
            Vec::new()
        },
    );
    let mut results = team.run()?.into_results();
    let one_way_ns = results.swap_remove(0).split_off(IGNORED);
    // Relaxed: the threads have been joined.
    let check = Check::equal("the number of hand-overs", ball.load(Relaxed), 2 * passes);
    Sample::median_of(metric, &one_way_ns, check).ok_or_else(|| Fault::new("no hand-over"))
}

/// Half of the round trip in nanoseconds, stretch by stretch.
fn timed(ball: &AtomicU64, stretches: usize) -> Vec<f64> {
    let stretch = |stretch: usize| {
        let first = stretch as u64 * TRIPS;
        let start_ns = monotonic_ns();
        (first..first + TRIPS).for_each(|trip| pass_on(ball, 2 * trip));
        (monotonic_ns() - start_ns) as f64 / (2 * TRIPS) as f64
    };
    (0..stretches).map(stretch).collect()
}

/// Waits until the counter is `at`, and increments it. Relaxed: nothing but the counter is handed over.
fn pass_on(ball: &AtomicU64, at: u64) {
    while ball.compare_exchange(at, at + 1, Relaxed, Relaxed).is_err() {}
}
