//! What the tracer hwlat tells: the longest gap of each window.
//!
//! Once in a window, its thread reads the clock for a while with interrupts off. Then it writes one line if a gap was longer
//! than the system's threshold: the longest one, and how many there were (`kernel/trace/trace_hwlat.c`). So what can be
//! counted above a limit are windows with such a gap. A window with many is one, and short gaps behind a high threshold are
//! unknown.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::LIMITS;
use super::tracers::setting;
use crate::harness::{Check, Sample};

/// How much later than planned a window may begin: the kernel sleeps in steps of its timer, of at most 10 ms.
const STEP_US: u64 = 10_000;

/// How the system has set the tracer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// How long it looks in each window.
    pub(super) width_us: u64,
    pub(super) window_us: u64,
    /// Up to this length it tells of no gap.
    pub(super) threshold_us: u64,
}

impl Settings {
    /// Thread: control, while the tracer runs: where nobody set a threshold, it takes its own at its start.
    ///
    /// # Errors
    /// In words: the threshold cannot be read, so nobody knows what the figures leave out.
    pub(super) fn read(tracefs: &Path) -> Result<Settings, String> {
        let place = tracefs.join("tracing_thresh");
        let text =
            fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let threshold_us = text.trim().parse();
        Ok(Settings {
            width_us: setting(tracefs, "hwlat_detector/width").unwrap_or(500_000),
            window_us: setting(tracefs, "hwlat_detector/window").unwrap_or(1_000_000),
            threshold_us: threshold_us.map_err(|_| {
                format!("{} is no number of microseconds: {}", place.display(), text.trim())
            })?,
        })
    }

    /// How many windows are over after so long, at least.
    fn windows_in(&self, length: Duration) -> u64 {
        let length_us = length.as_micros() as u64;
        let after_first = length_us.checked_sub(self.width_us);
        after_first.map_or(0, |us| 1 + us / (self.window_us + STEP_US))
    }

    /// `lines`: what stands behind the time of each line.
    pub(super) fn samples<'a>(
        &self,
        lines: impl Iterator<Item = &'a str>,
        length: Duration,
    ) -> Vec<Sample> {
        let told: Vec<Window> = lines.filter_map(Window::of).collect();
        // In its mode `per-cpu`, the tracer has more of them.
        let windows = self.windows_in(length).max(told.len() as u64);
        let check = Check::None("nobody knows how many gaps there are".into());
        let sample = |metric: &str, value: f64| Sample::new(metric, value, windows, check.clone());
        let threshold_ns = self.threshold_us * 1_000;
        let above = |ns: u64| told.iter().filter(|window| window.longest_ns > ns).count();
        let known = LIMITS.iter().filter(|(_, limit_ns)| *limit_ns >= threshold_ns);
        let mut samples: Vec<Sample> =
            known.map(|(metric, limit_ns)| sample(metric, above(*limit_ns) as f64)).collect();
        let gaps: Option<u64> = told.iter().map(|window| window.gaps).sum();
        samples.extend(gaps.map(|gaps| sample("gaps", gaps as f64)));
        let longest_ns = told.iter().map(|window| window.longest_ns).max().unwrap_or(0);
        samples.push(sample("longest", longest_ns as f64));
        samples.push(sample("threshold", threshold_ns as f64));
        samples.push(sample("windows", windows as f64));
        samples.push(sample("watched", (windows * self.width_us) as f64 / 1e6));
        samples
    }
}

/// One line.
struct Window {
    longest_ns: u64,
    /// Of all lengths above the threshold. `None`: the kernel is older and does not count.
    gaps: Option<u64>,
}

impl Window {
    /// `#1     inner/outer(us):   11/12    ts:... count:6`: the longest gap within and between two readings.
    fn of(line: &str) -> Option<Window> {
        let (_, told) = line.split_once("inner/outer(us):")?;
        let (inner, rest) = told.split_once('/')?;
        let mut words = rest.split_whitespace();
        let us = |gap: &str| gap.trim().parse::<u64>().ok();
        let longest_us = us(inner)?.max(us(words.next()?)?);
        let gaps = words.find_map(|word| word.strip_prefix("count:")?.parse().ok());
        Some(Window { longest_ns: longest_us * 1_000, gaps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::soak::tracers::lines;

    /// From the kernel's Documentation/trace/ftrace.rst.
    const HWLAT: &str = "\
# tracer: hwlat
#
# entries-in-buffer/entries-written: 13/13   #P:8
#
#                              _-----=> irqs-off
#                             / _----=> need-resched
#                            | / _---=> hardirq/softirq
#                            || / _--=> preempt-depth
#                            ||| /     delay
#           TASK-PID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |       |   ||||       |         |
           <...>-1729  [001] d...   678.473449: #1     inner/outer(us):   11/12    ts:1581527483.343962693 count:6
           <...>-1729  [004] d...   689.556542: #2     inner/outer(us):   16/9     ts:1581527494.889008092 count:1
           <...>-1729  [005] d...   714.756290: #3     inner/outer(us):   16/16    ts:1581527519.678961629 count:5
";
    /// Of older kernels, and with interrupts that cannot be masked.
    const OLDER: &str = "\
           <...>-3638  [003] d... 19501.283419: #6     inner/outer(us):    0/12    ts:1499801138.297435289 nmi-total:4 nmi-count:1
           <...>-5820  [001] d... 354016.973699: #1       inner/outer(us): 2152/1933    ts:1578801212.559595228
";

    const USUAL: Settings = Settings { width_us: 500_000, window_us: 1_000_000, threshold_us: 10 };

    fn told(settings: Settings, text: &str) -> impl Fn(&str) -> Option<f64> {
        let samples = settings.samples(lines(text), Duration::from_secs(4));
        move |metric| samples.iter().find(|it| it.metric == metric).map(|it| it.value)
    }

    #[test]
    fn windows_with_a_gap_are_counted_and_gaps_beside_them() {
        let of = told(USUAL, HWLAT);
        assert_eq!((of("late-50us"), of("longest")), (Some(0.0), Some(16_000.0)));
        assert_eq!((of("gaps"), of("windows"), of("watched")), (Some(12.0), Some(4.0), Some(2.0)));
        let of = told(USUAL, OLDER);
        assert_eq!((of("late-50us"), of("late-2ms")), (Some(1.0), Some(1.0)));
        assert_eq!((of("late-5ms"), of("longest")), (Some(0.0), Some(2_152_000.0)));
        assert_eq!(of("gaps"), None, "an interrupt's count is none of gaps");
    }

    #[test]
    fn no_line_is_no_gap() {
        let of = told(USUAL, "# tracer: hwlat\n#\n");
        assert_eq!((of("late-50us"), of("gaps"), of("longest")), (Some(0.0), Some(0.0), Some(0.0)));
        let odd = "x: #1 inner/outer(us): 12\nx: #2 inner/outer(us): a/b\nno colon";
        assert_eq!(told(USUAL, odd)("gaps"), Some(0.0));
    }

    #[test]
    fn what_lies_below_the_threshold_is_left_out() {
        let of = told(Settings { threshold_us: 100, ..USUAL }, OLDER);
        assert_eq!((of("late-50us"), of("late-100us")), (None, Some(1.0)));
        assert_eq!(of("threshold"), Some(100_000.0));
    }

    #[test]
    fn a_window_that_was_cut_off_is_none() {
        let after_ms = |ms| USUAL.windows_in(Duration::from_millis(ms));
        assert_eq!([400, 500, 1_400, 2_200, 5_200].map(after_ms), [0, 1, 1, 2, 5]);
    }

    #[test]
    fn settings_are_the_systems_and_an_unknown_threshold_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let why = Settings::read(root.path()).unwrap_err();
        assert!(why.contains("tracing_thresh: "), "{why}");
        fs::write(root.path().join("tracing_thresh"), "25\n").unwrap();
        fs::create_dir(root.path().join("hwlat_detector")).unwrap();
        fs::write(root.path().join("hwlat_detector/width"), "100000\n").unwrap();
        let read = Settings::read(root.path()).unwrap();
        assert_eq!((read.threshold_us, read.width_us, read.window_us), (25, 100_000, 1_000_000));
        fs::write(root.path().join("tracing_thresh"), "much\n").unwrap();
        let why = Settings::read(root.path()).unwrap_err();
        assert!(why.ends_with("tracing_thresh is no number of microseconds: much"), "{why}");
    }
}
