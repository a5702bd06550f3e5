//! What came of all turns of a variant together, in words and as rates.

use super::{LIMITS, ROOM, TOLD};
use crate::harness::{Estimate, Results};
use crate::numbers::{count, quantity};
use crate::stats::poisson_most;

const HOUR_S: f64 = 3_600.0;
/// Both ends of a 95 % interval, and the end of a bound.
const OUTSIDE_EACH: f64 = 0.025;
const OUTSIDE: f64 = 0.05;

/// See above.
pub(super) struct Watched {
    pub(super) s: f64,
    /// By limit; `None`: nobody could see what lies above it.
    pub(super) disturbances: Vec<Option<u64>>,
    late: u64,
    /// `None`: the kernel does not tell.
    put_aside: Option<u64>,
    longest_ns: f64,
    /// Of a tracer that tells of windows: then the figures above are windows with a gap.
    windows: Option<Windows>,
}

struct Windows {
    count: f64,
    /// `None`: the kernel does not count them.
    gaps: Option<u64>,
    threshold_ns: f64,
}

impl Watched {
    /// `None`: it had no turn.
    pub(super) fn of(results: &Results, variant: &str) -> Option<Watched> {
        let values = |metric: &str| results.values(variant, metric);
        let sum = |metric: &str| values(metric).iter().sum::<f64>();
        let longest = |metric: &str| values(metric).into_iter().fold(0.0, f64::max);
        let turns = values("watched").len();
        // A turn without the figure leaves a hole in the sum.
        let whole =
            |metric: &str| (values(metric).len() == turns).then(|| sum(metric).round() as u64);
        let windows = sum("windows").round();
        (sum("watched") > 0.0).then(|| Watched {
            s: sum("watched"),
            disturbances: LIMITS.iter().map(|(metric, _)| whole(metric)).collect(),
            late: sum("late") as u64,
            put_aside: whole("put-aside"),
            longest_ns: longest("longest"),
            windows: (windows > 0.0).then(|| Windows {
                count: windows,
                gaps: whole("gaps"),
                threshold_ns: longest("threshold"),
            }),
        })
    }

    /// How many disturbances an hour a mean of so many stands for; for windows with a gap, gaps an hour. `None`: windows
    /// without a gap would be so few that they bound nothing.
    ///
    /// If gaps come independently of each other, the share of windows without one is exp(-gaps a window).
    fn hourly(&self, mean: f64) -> Option<f64> {
        let an_hour = HOUR_S / self.s;
        let Some(Windows { count: windows, .. }) = self.windows else {
            return Some(mean * an_hour);
        };
        let share = mean / windows;
        (share < 1.0).then(|| -(-share).ln_1p() * windows * an_hour)
    }

    /// So many an hour, with Garwood's exact interval.
    pub(super) fn rate(&self, count: u64) -> Option<Estimate> {
        let low = match count {
            0 => 0.0,
            _ => poisson_most(count - 1, 1.0 - OUTSIDE_EACH),
        };
        let high = self.hourly(poisson_most(count, OUTSIDE_EACH));
        Some(Estimate { value: self.hourly(count as f64)?, low: self.hourly(low), high })
    }

    pub(super) fn at_most(&self, seen: u64) -> String {
        match self.hourly(poisson_most(seen, OUTSIDE)) {
            Some(most) if self.windows.is_some() => {
                format!("at most {} gaps an hour", count(most.ceil() as u64))
            }
            Some(most) => format!("at most {} an hour", count(most.ceil() as u64)),
            None => "too often for a bound".into(),
        }
    }

    pub(super) fn told(&self, variant: &str) -> String {
        let told = |at: usize| {
            let seen = self.disturbances[at]?;
            let limit = quantity(LIMITS[at].1 as f64, "ns");
            Some(format!("{limit} {} ({})", times(seen), self.at_most(seen)))
        };
        let limits: Vec<String> = TOLD.into_iter().filter_map(told).collect();
        let limits = match &self.windows {
            _ if limits.is_empty() => "no limit that it tells of".into(),
            Some(_) => format!("windows with a gap longer than {}", limits.join(", ")),
            None => format!("later than {}", limits.join(", ")),
        };
        format!(
            "{variant}, {}: {limits}{}{}",
            hours(self.s),
            self.windows.as_ref().map_or_else(|| self.cause_told(), Windows::told),
            self.longest_told(),
        )
    }

    /// Below the threshold of windows, nobody knows.
    fn longest_told(&self) -> String {
        match self.windows {
            Some(_) if self.longest_ns == 0.0 => String::new(),
            _ => format!("; the longest {}", quantity(self.longest_ns, "ns")),
        }
    }

    fn cause_told(&self) -> String {
        let all = self.disturbances[ROOM].filter(|all| *all > 0);
        let Some((all, aside)) = all.zip(self.put_aside) else { return String::new() };
        format!(
            "; of the {all} over {} ({} wake-ups), other threads ran in {aside}, and timer, interrupts or host held up {}",
            quantity(LIMITS[ROOM].1 as f64, "ns"),
            count(self.late),
            all.saturating_sub(aside),
        )
    }
}

impl Windows {
    fn told(&self) -> String {
        let threshold = quantity(self.threshold_ns, "ns");
        let gaps = self.gaps.map_or_else(String::new, |gaps| format!(" had {} gaps", count(gaps)));
        let left_out = LIMITS.iter().filter(|(_, ns)| (*ns as f64) < self.threshold_ns).count();
        let left_out = match left_out {
            0 => String::new(),
            _ => format!("; the {left_out} limits below it are left out"),
        };
        let windows = count(self.count as u64);
        format!(
            "; its {windows} windows{gaps} above {threshold}, the system's tracing_thresh{left_out}"
        )
    }
}

pub(super) fn times(count: u64) -> String {
    match count {
        0 => "never".into(),
        1 => "once".into(),
        _ => format!("{count} times"),
    }
}

pub(super) fn hours(s: f64) -> String {
    match s {
        _ if s >= HOUR_S => format!("{:.1} hours", s / HOUR_S),
        _ if s >= 120.0 => format!("{:.0} minutes", s / 60.0),
        _ => format!("{s:.0} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For an hour, with two disturbances above the first limit.
    fn an_hour() -> Watched {
        let disturbances = [2, 0, 0, 0, 0, 0, 0, 0].map(Some).to_vec();
        let (put_aside, longest_ns) = (Some(0), 60e3);
        Watched { s: HOUR_S, disturbances, late: 0, put_aside, longest_ns, windows: None }
    }

    #[test]
    fn none_in_an_hour_may_be_three() {
        let watched = an_hour();
        assert_eq!(watched.at_most(0), "at most 3 an hour");
        let rate = watched.rate(2).unwrap();
        // Garwood's interval of two: 0.242 to 7.225.
        assert!((rate.low.unwrap() - 0.242).abs() < 1e-3, "{rate:?}");
        assert!((rate.high.unwrap() - 7.225).abs() < 1e-3, "{rate:?}");
        // Many of them go by another formula: the normal one is near 4000 +- 1.96 times its root.
        let rate = watched.rate(4_000).unwrap();
        assert!((rate.low.unwrap() - 3_877.0).abs() < 2.0, "{rate:?}");
        assert!((rate.high.unwrap() - 4_126.0).abs() < 2.0, "{rate:?}");
        let told = watched.told("fifo rest");
        assert!(
            told.starts_with("fifo rest, 1.0 hours: later than 250 µs never (at most 3 an hour)"),
            "{told}"
        );
    }

    /// Of 7200 windows of half a second.
    fn windows(threshold_ns: f64) -> Watched {
        let windows = Windows { count: 7_200.0, gaps: Some(9_000), threshold_ns };
        Watched { windows: Some(windows), ..an_hour() }
    }

    #[test]
    fn windows_bound_gaps_until_nearly_all_have_one() {
        let watched = windows(10e3);
        assert_eq!(watched.at_most(0), "at most 3 gaps an hour");
        // Half of them: ln 2 gaps a window.
        let half = watched.rate(3_600).unwrap();
        assert!((half.value - 7_200.0 * 2f64.ln()).abs() < 1e-6, "{half:?}");
        assert!(half.low.unwrap() < half.value && half.value < half.high.unwrap());
        assert_eq!(watched.at_most(7_200), "too often for a bound");
        assert_eq!(watched.rate(7_200), None);
        let nearly = watched.rate(7_199).unwrap();
        assert!(nearly.low.is_some() && nearly.high.is_none(), "{nearly:?}");
    }

    #[test]
    fn a_sentence_says_what_a_threshold_hides() {
        let told = windows(10e3).told("hwlat");
        assert!(told.contains("windows with a gap longer than 250 µs never"), "{told}");
        assert!(told.contains("7200 windows had 9000 gaps above 10.0 µs"), "{told}");
        assert!(!told.contains("left out"), "{told}");
        let mut high = windows(500e3);
        high.disturbances[..3].fill(None);
        let told = high.told("hwlat");
        assert!(told.contains("windows with a gap longer than 1.00 ms never"), "{told}");
        assert!(told.contains("; the 3 limits below it are left out"), "{told}");
    }
}
