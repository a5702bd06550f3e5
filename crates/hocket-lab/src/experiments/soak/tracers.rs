//! The kernel's own tracers of latency: osnoise, timerlat and hwlat.
//!
//! Each runs in an [`Instance`] for a turn, with the settings that the system has. They watch all CPUs, with threads of the
//! kernel. What their lines say: the kernel's `Documentation/trace/osnoise-tracer.rst`, `timerlat-tracer.rst`,
//! `hwlat_detector.rst` and `ftrace.rst`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::hwlat;
use super::instance::{Instance, TRACEFS};
use super::tally::Tally;
use crate::harness::{Check, Fault, Sample};

/// How long a tracer runs in a turn: osnoise tells once a second, and hwlat too.
pub(super) const TRACED: [Duration; 2] =
    [Duration::from_millis(2_200), Duration::from_millis(5_200)];

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracer {
    /// A thread on each CPU reads the clock, and the kernel counts what interrupts it.
    OsNoise,
    /// A thread of real-time priority on each CPU sleeps up to planned instants.
    TimerLat,
    /// A thread that goes from CPU to CPU reads the clock with interrupts off.
    HwLat,
}

impl Tracer {
    pub(super) const ALL: [Tracer; 3] = [Tracer::OsNoise, Tracer::TimerLat, Tracer::HwLat];

    /// As the kernel names it, and as the variant is named.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tracer::OsNoise => "osnoise",
            Tracer::TimerLat => "timerlat",
            Tracer::HwLat => "hwlat",
        }
    }

    pub(super) fn named(name: &str) -> Option<Tracer> {
        Tracer::ALL.into_iter().find(|tracer| tracer.name() == name)
    }

    /// Why it cannot run here, if so.
    pub(super) fn refusal(self) -> Option<String> {
        let place = Path::new(TRACEFS).join("available_tracers");
        match fs::read_to_string(&place) {
            Err(error) => Some(format!("{}: {error}", place.display())),
            Ok(names) if names.split_whitespace().all(|name| name != self.name()) => Some(format!(
                "this kernel has no such tracer ({} does not name it)",
                place.display()
            )),
            Ok(_) => Instance::make().err(),
        }
    }

    /// One turn.
    ///
    /// # Errors
    /// In words: a file that cannot be written, or nothing that was traced.
    pub(super) fn turn(self, instance: &Instance, length: Duration) -> Result<Vec<Sample>, Fault> {
        instance.start(self.name()).map_err(Fault)?;
        std::thread::sleep(length);
        // While it runs, and it is stopped also if this fails.
        let settings = hwlat::Settings::read(Path::new(TRACEFS));
        let text = instance.stop().map_err(Fault)?;
        match self {
            Tracer::HwLat => Ok(settings.map_err(Fault)?.samples(lines(&text), length)),
            Tracer::OsNoise | Tracer::TimerLat => self
                .samples(&text)
                .ok_or_else(|| Fault(format!("{} told nothing in {length:?}", self.name()))),
        }
    }

    /// Of those whose threads write something in any case.
    fn samples(self, text: &str) -> Option<Vec<Sample>> {
        match self {
            // Without a line, there was no gap above its threshold: `hwlat.rs`.
            Tracer::HwLat => None,
            Tracer::OsNoise => Noise::sum(text).map(|noise| noise.samples()),
            Tracer::TimerLat => {
                let late_ns: Vec<u64> = lines(text).filter_map(thread_latency_ns).collect();
                let period_us =
                    setting(Path::new(TRACEFS), "osnoise/timerlat_period_us").unwrap_or(1_000);
                let watched_ns = late_ns.len() as u64 * period_us * 1_000;
                (!late_ns.is_empty()).then(|| apart(&late_ns, watched_ns))
            }
        }
    }
}

/// Wake-ups of which none delays the next.
fn apart(late_ns: &[u64], watched_ns: u64) -> Vec<Sample> {
    let mut tally = Tally::begin(false);
    for late_ns in late_ns {
        tally.note(*late_ns, None);
        tally.disturbance_is_over();
    }
    tally.watched_for(watched_ns).samples(None)
}

/// A number that the system has set.
pub(super) fn setting(tracefs: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(tracefs.join(file)).ok()?.trim().parse().ok()
}

/// What stands behind the time of each line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let told = text.lines().filter(|line| !line.starts_with('#'));
    told.filter_map(|line| line.split_once(": ").map(|(_, told)| told))
}

/// `#1     context thread timer_latency     11700 ns`. The line of the context `irq` is the first part of the same wake-up.
fn thread_latency_ns(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip(1);
    let of_thread = words.next()? == "context" && words.next()? == "thread";
    words.nth(1).filter(|_| of_thread)?.parse().ok()
}

/// By whose fault, in the order of the tracer's columns.
pub(super) const CAUSES: [(&str, &str); 5] = [
    ("noise-hardware", "hardware or host"),
    ("noise-nmi", "non-maskable interrupts"),
    ("noise-irq", "interrupts"),
    ("noise-softirq", "soft interrupts"),
    ("noise-thread", "other threads"),
];

/// Lines of osnoise together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Noise {
    lines: u64,
    runtime_us: u64,
    noise_us: u64,
    longest_us: u64,
    counts: [u64; 5],
}

impl Noise {
    /// `None`: no line.
    fn sum(text: &str) -> Option<Noise> {
        let mut all = Noise::default();
        for one in lines(text).filter_map(Noise::of) {
            all.lines += 1;
            all.runtime_us += one.runtime_us;
            all.noise_us += one.noise_us;
            all.longest_us = all.longest_us.max(one.longest_us);
            all.counts.iter_mut().zip(one.counts).for_each(|(all, one)| *all += one);
        }
        (all.lines > 0).then_some(all)
    }

    /// `1000000        190  99.98100       9     18      0   1007     18      1`
    fn of(line: &str) -> Option<Noise> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [runtime, noise, _available, longest, counts @ ..] = &words[..] else { return None };
        let number = |word: &&str| word.parse::<u64>().ok();
        let counts: Vec<u64> = counts.iter().filter_map(number).collect();
        Some(Noise {
            lines: 1,
            runtime_us: number(runtime)?,
            noise_us: number(noise)?,
            longest_us: number(longest)?,
            counts: counts.try_into().ok()?,
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let check = Check::None("nobody knows how much noise there is".into());
        let sample = |metric: &str, value| Sample::new(metric, value, self.lines, check.clone());
        let share = 100.0 * self.noise_us as f64 / self.runtime_us.max(1) as f64;
        let counts = CAUSES.iter().zip(self.counts);
        let counts = counts.map(|((metric, _), count)| sample(metric, count as f64));
        let figures = [
            sample("noise", share),
            sample("longest", self.longest_us as f64 * 1e3),
            sample("watched", self.runtime_us as f64 / 1e6),
        ];
        figures.into_iter().chain(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the kernel's Documentation/trace/osnoise-tracer.rst.
    const OSNOISE: &str = "\
# tracer: osnoise
#
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth                            MAX
#                              || /                                             SINGLE     Interference counters:
#                              ||||               RUNTIME      NOISE   % OF CPU  NOISE    +-----------------------------+
#           TASK-PID      CPU# ||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   ||||      |           |             |    |            |      |      |      |      |      |
           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1
           <...>-860     [001] ....    81.638154: 1000000        656  99.93440      74     23      0   1006     16      3
           <...>-861     [002] ....    81.638193: 1000000       5675  99.43250     202      6      0   1013     25     21
           <...>-862     [003] ....    81.638242: 1000000        125  99.98750      45      1      0   1011     23      0
";

    /// From the kernel's Documentation/trace/timerlat-tracer.rst, with the last line of its third example.
    const TIMERLAT: &str = "\
# tracer: timerlat
#
#                              _-----=> irqs-off
#                             / _----=> need-resched
#                            | / _---=> hardirq/softirq
#                            || / _--=> preempt-depth
#                            || /
#                            ||||             ACTIVATION
#         TASK-PID      CPU# ||||   TIMESTAMP    ID            CONTEXT                LATENCY
#            | |         |   ||||      |         |                  |                       |
        <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns
         <...>-867     [000] ....    54.029339: #1     context thread timer_latency     11700 ns
        <idle>-0       [001] dNh1    54.029346: #1     context    irq timer_latency      2833 ns
         <...>-868     [001] ....    54.029353: #1     context thread timer_latency      9820 ns
    timerlat/7-1001    [007] .......   200.203445: #29800 context thread timer_latency    859978 ns
    timerlat/7-1001    [007] ....1..   200.203446: <stack trace>
";

    fn value(samples: &[Sample], metric: &str) -> f64 {
        samples.iter().find(|it| it.metric == metric).unwrap_or_else(|| panic!("{metric}")).value
    }

    #[test]
    fn osnoise_says_how_much_and_by_whose_fault() {
        let samples = Tracer::OsNoise.samples(OSNOISE).unwrap();
        let of = |metric| value(&samples, metric);
        assert_eq!((of("watched"), of("longest")), (4.0, 202_000.0));
        assert!((of("noise") - 100.0 * 6_646.0 / 4e6).abs() < 1e-9);
        let counts = CAUSES.map(|(metric, _)| of(metric));
        assert_eq!(counts, [48.0, 0.0, 4_037.0, 82.0, 25.0]);
    }

    #[test]
    fn timerlat_is_a_histogram_of_its_threads() {
        let samples = Tracer::TimerLat.samples(TIMERLAT).unwrap();
        let of = |metric| value(&samples, metric);
        assert_eq!((of("late-500us"), of("late-1ms"), of("late")), (1.0, 0.0, 1.0));
        assert_eq!(of("longest"), 859_978.0);
        let period_us = setting(Path::new(TRACEFS), "osnoise/timerlat_period_us").unwrap_or(1_000);
        assert!((of("watched") - 3.0 * period_us as f64 / 1e6).abs() < 1e-9);
    }

    #[test]
    fn nothing_told_is_no_figure() {
        let empty = "# tracer: osnoise\n#\n";
        assert_eq!(Tracer::OsNoise.samples(empty), None);
        assert_eq!(Tracer::TimerLat.samples(empty), None);
        // Cut off in the middle, and of another tracer.
        for odd in ["x: 1000000 190 99.9", "x: 1 2 3 4 5 6 7 8", "no colon", "x: #1 context thread"]
        {
            assert_eq!(Noise::sum(odd), None, "{odd}");
            assert_eq!(Tracer::TimerLat.samples(odd), None, "{odd}");
        }
    }

    /// Where the kernel has them, they run for real.
    #[test]
    fn the_tracers_of_this_kernel_tell_something() {
        for tracer in Tracer::ALL {
            if let Some(why) = tracer.refusal() {
                println!(
                    "SKIPPED the_tracers_of_this_kernel_tell_something: {}: {why}",
                    tracer.name()
                );
                continue;
            }
            let instance = Instance::make().unwrap();
            let samples = tracer.turn(&instance, TRACED[0]).unwrap();
            assert!(value(&samples, "watched") > 0.0, "{samples:?}");
        }
    }
}
