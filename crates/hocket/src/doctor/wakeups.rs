//! How late a bare thread wakes up, as an ordinary one and with the class that Hocket's audio threads obtain here.
//!
//! Both take turns in one run, so that a load that comes and goes meets both.

use std::thread;
use std::time::Duration;

use hocket_engine::Settings;
use hocket_lab::stats::quantile_sorted;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_machine::rights::{self, Way};
use serde::Serialize;

/// 64 frames at 48 kHz.
const PERIOD_NS: u64 = 1_333_333;
const TURN: Duration = Duration::from_millis(250);
/// A turn begins with some wake-ups that do not count: the thread is new.
const SETTLE: usize = 4;

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WakeUps {
    /// As an ordinary thread.
    pub ordinary: Lateness,
    /// With the best class that was granted; `None` where that is an ordinary one, too.
    pub real_time: Option<Lateness>,
    /// The way in which it was granted.
    pub way: Way,
}

/// How late one kind of thread woke up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Lateness {
    /// How many wake-ups were measured.
    pub count: usize,
    /// The median in microseconds.
    pub median_us: f64,
    /// The 99th percentile in microseconds.
    pub p99_us: f64,
    /// The latest in microseconds.
    pub max_us: f64,
    /// How many came later than a period of 64 frames at 48 kHz.
    pub periods_missed: usize,
}

/// Measures for about `length`; `None` where no thread can be started, or where somebody `stops` it before the first turns.
pub(super) fn measure(length: Duration, stops: &dyn Fn() -> bool) -> Option<WakeUps> {
    let (mut ordinary, mut real_time) = (Vec::new(), Vec::new());
    let mut way = Way::None;
    for _ in 0..rounds(length) {
        if stops() {
            break;
        }
        ordinary.extend(turn(|| Way::None)?.1);
        let (granted, late) = turn(|| rights::obtain(Settings::PRIORITY).way)?;
        way = granted;
        real_time.extend(late);
    }
    let ordinary = Lateness::of(ordinary)?;
    let has_class = !matches!(way, Way::None | Way::Slice);
    Some(WakeUps { ordinary, real_time: Lateness::of(real_time).filter(|_| has_class), way })
}

fn rounds(length: Duration) -> u32 {
    (length.as_millis() / (2 * TURN.as_millis())).max(1) as u32
}

/// One thread's wake-ups, in nanoseconds after they were due. `class` obtains its class.
fn turn(class: fn() -> Way) -> Option<(Way, Vec<u64>)> {
    let body = move || {
        let way = class();
        (way, wake_ups())
    };
    thread::Builder::new().name("wake-ups".into()).spawn(body).ok()?.join().ok()
}

fn wake_ups() -> Vec<u64> {
    let count = (TURN.as_nanos() as u64 / PERIOD_NS) as usize;
    let mut late = Vec::with_capacity(count);
    let mut due = monotonic_ns();
    for _ in 0..count {
        due += PERIOD_NS;
        sleep_until_ns(due);
        let now = monotonic_ns();
        late.push(now.saturating_sub(due));
        // What one late wake-up takes from the next periods is not counted again.
        due += (now.saturating_sub(due) / PERIOD_NS) * PERIOD_NS;
    }
    late.split_off(SETTLE.min(late.len()))
}

impl Lateness {
    fn of(late_ns: Vec<u64>) -> Option<Lateness> {
        let mut late: Vec<f64> = late_ns.iter().map(|&ns| ns as f64 / 1000.0).collect();
        late.sort_by(f64::total_cmp);
        Some(Lateness {
            count: late.len(),
            median_us: quantile_sorted(&late, 0.5)?,
            p99_us: quantile_sorted(&late, 0.99)?,
            max_us: *late.last()?,
            periods_missed: late_ns.iter().filter(|&&ns| ns > PERIOD_NS).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_in_microseconds_and_later_than_a_period_is_counted() {
        let late = Lateness::of((1..=100).map(|us| us * 1000).chain([2 * PERIOD_NS]).collect());
        let late = late.expect("some");
        assert_eq!((late.count, late.periods_missed), (101, 1));
        assert_eq!(late.median_us, 51.0);
        assert!((late.max_us - 2666.666).abs() < 1.0);
        assert!(Lateness::of(Vec::new()).is_none());
    }

    #[test]
    fn both_kinds_have_as_many_wake_ups() {
        let measured = measure(Duration::from_millis(1), &|| false).expect("threads");
        if let Some(real_time) = &measured.real_time {
            assert_eq!(real_time.count, measured.ordinary.count);
        }
        assert!(measured.ordinary.count > 100);
        assert!(measure(Duration::from_secs(9), &|| true).is_none());
    }
}
