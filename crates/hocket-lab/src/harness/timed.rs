//! How many operations a measurement needs.

use std::time::Duration;

use hocket_machine::clock::monotonic_ns;

use super::Fault;

/// No calibration goes beyond this many operations.
const MOST_OPS: u64 = 1 << 40;

/// How many operations take about `target`.
///
/// `run` carries out so many operations and returns how long that took in nanoseconds. The number is
/// doubled until the time is well above what a clock or a wake-up costs, then set by the fastest of
/// three tries, because a disturbed one would promise too few. Done once for each process start; every
/// [`super::Sample`] states the number. Cost: about three times `target`.
///
/// # Errors
/// What `run` says.
pub fn calibrate(
    target: Duration,
    mut run: impl FnMut(u64) -> Result<u64, Fault>,
) -> Result<u64, Fault> {
    let target_ns = target.as_nanos().max(1) as f64;
    let mut ops = 1;
    while (run(ops)? as f64) < target_ns / 4.0 && ops < MOST_OPS {
        ops *= 2;
    }
    let mut fastest_ns = u64::MAX;
    for _ in 0..3 {
        fastest_ns = fastest_ns.min(run(ops)?);
    }
    let scaled = ops as f64 * target_ns / fastest_ns.max(1) as f64;
    Ok((scaled as u64).clamp(1, MOST_OPS))
}

/// Carries `work` out and returns how long it took in nanoseconds with what it returned. The result
/// goes through [`std::hint::black_box`], so that it is computed.
pub fn time<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let start = monotonic_ns();
    let result = std::hint::black_box(work());
    (monotonic_ns() - start, result)
}

/// Nanoseconds of one operation.
pub fn per_op(ns: u64, ops: u64) -> f64 {
    ns as f64 / ops.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_follows_the_target() {
        let ops = calibrate(Duration::from_micros(100), |ops| Ok(50 + 10 * ops)).unwrap();
        assert!((9_000..=10_000).contains(&ops), "{ops}");
        let fault = calibrate(Duration::from_micros(1), |_| Err(Fault::new("no")));
        assert_eq!(fault, Err(Fault::new("no")));
        assert_eq!(calibrate(Duration::from_nanos(1), |_| Ok(1_000_000)).unwrap(), 1);
    }
}
