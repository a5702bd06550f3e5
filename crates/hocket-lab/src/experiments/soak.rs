//! `soak`: how often a long run is late, and by whose fault.

mod hwlat;
mod instance;
mod smi;
mod tally;
mod tracers;
mod watched;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_machine::clock::{monotonic_ns, sleep_until_ns};

use super::beside::keep_busy;
use instance::Instance;
use smi::SmiCounter;
use tally::{Tally, Waited, Waiting};
use tracers::{CAUSES, TRACED, Tracer};
use watched::{Watched, hours, times};

use crate::harness::lateness::OpenLoop;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Parameter,
    Plot, Results, Rounds, Sample, Section, Sentence, Series, Size, Variant,
};
use crate::numbers::{count, quantity};

/// See [`About`].
pub struct Soak;

/// One metric for each limit, so that all of a run together are a histogram.
macro_rules! limits {
    ($($name:literal, $ns:literal);* $(;)?) => {
        /// What counts as late, and the metric that counts it.
        const LIMITS: &[(&str, u64)] = &[$(($name, $ns)),*];
        const METRICS: &[Metric] = &[
            $(Metric::less($name, "")
                .means("How many disturbances were later than this limit. Wake-ups that one stall delays are one disturbance: \
                        each was due before the thread had the last one. So is each pause of `watcher`. For `hwlat`: how \
                        many windows had a gap longer than this."),)*
            Metric::less("late", "")
                .means("How many wake-ups were more than 0.25 ms late; for `watcher` how many pauses were longer."),
            Metric::less("put-aside", "")
                .means("Of the disturbances later than 0.25 ms, those during which the thread waited for its CPU for more than \
                        half of the time, while other threads ran."),
            Metric::less("longest", "ns")
                .means("The latest wake-up of the turn, or the longest pause."),
            Metric::more("watched", "s")
                .means("How long the thread was watched; of a tracer of the kernel, all of its threads together."),
            Metric::less("noise", "%")
                .means("Of the time that `osnoise` watched CPUs, the share that its threads lost."),
            Metric::more("windows", "")
                .means("How many windows `hwlat` has watched. It tells of the longest gap of each."),
            Metric::less("gaps", "")
                .means("How many gaps above its threshold `hwlat` counted in all windows together."),
            Metric::less("threshold", "ns")
                .means("The system's `tracing_thresh` while `hwlat` ran. It tells of longer gaps only."),
            causes("noise-hardware"),
            causes("noise-nmi"),
            causes("noise-irq"),
            causes("noise-softirq"),
            causes("noise-thread"),
            Metric::less("smi", "")
                .means("How many system management interrupts the CPU of `watcher` had in the turn, as an Intel processor counts \
                        them."),
        ];
    };
}

const fn causes(name: &'static str) -> Metric {
    let definition = "How often the tracer `osnoise` saw this cause; hardware is what no part of the kernel explains, as a host.";
    Metric::less(name, "").means(definition)
}

limits! {
    "late-50us", 50_000;
    "late-100us", 100_000;
    "late-250us", 250_000;
    "late-500us", 500_000;
    "late-1ms", 1_000_000;
    "late-2ms", 2_000_000;
    "late-5ms", 5_000_000;
    "late-10ms", 10_000_000;
}

static ABOUT: About = About {
    id: "soak",
    section: Section::Audio,
    question: "How often is a long run late, and by whose fault?",
    origin: "what users of audio programs ask after a concert: the tail that a run of a minute does not show; the tracers osnoise, \
             timerlat and hwlat of Linux ask the same of a kernel, and are read where they are",
    method: "One thread sleeps up to instants that are planned 1.33 ms apart (64 frames at 48 kHz), pinned, in FIFO 50 or in the \
             ordinary class. It has its CPU for itself (rest) or shares it with a thread that computes in the ordinary class \
             (busy). `watcher` is a thread of the ordinary class that reads the clock without a pause, so it sees what is taken \
             from a CPU that never sleeps. Where the kernel has its tracers and root asks, `osnoise`, `timerlat` and `hwlat` run \
             as variants of their own, one at a time, on all CPUs, with the system's settings for them. They run in a tracing \
             instance that goes afterwards, also if the program alone is killed. `hwlat` tells of one gap a window, so its counts are \
             windows with a gap, above the system's threshold. Counts of all turns are added up. Wake-ups that one stall delays are one \
             disturbance. After each wake-up the thread reads how long it has waited for its CPU. So a \
             disturbance is somebody else's who ran there, or else it came from the timer, an interrupt or the host. `--time 8h` \
             watches for a night.",
    limits: "Bounds take disturbances as independent. Those that come in bursts happen less regularly than a bound allows for. A \
             program that runs once a day is seen by a run of a day. The figures are of this machine with what ran beside: the \
             ledger has it. A block of audio is late by what it computes, too: `hocket capacity` plays a session.",
    metrics: METRICS,
    parameters: &[
        Parameter::new("period-ns", &PERIOD_NS),
        Parameter::new("wake-ups", &WAKES),
        Parameter::new("traced", &TRACED),
    ],
};

const PERIOD_NS: u64 = 1_333_333;
/// Wake-ups of a turn: 0.2 and 4 seconds.
const WAKES: [u64; 2] = [150, 3_000];
const FIFO: u8 = 50;
/// From this limit on a disturbance gets a cause. A block of 64 frames that takes 4/5 of its period has so much room.
const ROOM: usize = 2;
/// Limits of sentences; the plot has all.
const TOLD: [usize; 3] = [ROOM, 4, 7];
const WATCHER: &str = "watcher";
/// Of less than this an hour's figure would be all guess.
const ADVISED_FROM_S: f64 = 60.0;

impl Experiment for Soak {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        // As many rounds as there is time for: a long run is what this is about.
        let rounds = Rounds { processes: size.pick(3, 6), per_process: 1_000_000, warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        let fifo = host.fifo(FIFO);
        for class in ["fifo", "ordinary"] {
            match &fifo {
                Err(why) if class == "fifo" => design.missing.push((class.into(), why.clone())),
                _ => {
                    design.variants.extend(["rest", "busy"].map(|load| sleeper(host, class, load)))
                }
            }
        }
        let on = &host.cpus[host.cpus.len() - 1..];
        design.variants.push(Variant::new(WATCHER).on(on, None));
        if let Err(why) = Waited::of_this_thread() {
            design.missing.push(("put-aside".into(), why));
        }
        for tracer in Tracer::ALL {
            match tracer.refusal() {
                // Its threads are beside those of others on purpose.
                None => design.variants.push(Variant::new(tracer.name()).crowded()),
                Some(why) => design.missing.push((tracer.name().into(), why)),
            }
        }
        if let Err(why) = SmiCounter::of(on[0]) {
            design.missing.push(("smi".into(), why));
        }
        Ok(design)
    }

    fn turn_ms(&self) -> f64 {
        202.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let observer = |variant: &Variant| Observer::of(variant, host, size);
        let observers: Vec<Observer> =
            design.variants.iter().map(observer).collect::<Result<_, NotMeasurable>>()?;
        Ok(Box::new(move |variant: usize| observers[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let told = |variant: &Variant| match variant.name.as_str() {
            name if Some(Tracer::OsNoise) == Tracer::named(name) => noise_told(results, name),
            name => Watched::of(results, name).map(|watched| watched.told(name)),
        };
        let watched = results.designed().iter().filter_map(told);
        watched.chain(interrupts_told(results)).map(Sentence::fact).collect()
    }

    /// Of the best class that this system grants.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let class =
            |class: &str| Some((class.to_owned(), Watched::of(results, &format!("{class} rest"))?));
        let (class, watched) = ["fifo", "ordinary"].into_iter().find_map(class)?;
        let count = watched.disturbances[ROOM]?;
        (watched.s >= ADVISED_FROM_S).then(|| {
            let limit = LIMITS[ROOM].1;
            Sentence::fact(format!(
                "How often this machine is late by itself: a thread of the class {class} was more than {} late {} in {}, so that is \
                 {} (95 %).",
                quantity(limit as f64, "ns"),
                times(count),
                hours(watched.s),
                watched.at_most(count),
            ))
        })
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let line = |variant: &Variant| {
            let watched = Watched::of(results, &variant.name)?;
            let points = LIMITS.iter().zip(&watched.disturbances);
            let points = points.filter_map(|((_, ns), count)| {
                let seen = count.filter(|count| *count > 0)?;
                Some((*ns as f64 / 1e3, watched.rate(seen)?))
            });
            Some(Series { name: variant.name.clone(), points: points.collect() })
        };
        let lines = results.designed().iter().filter_map(line);
        let series: Vec<Series> = lines.filter(|series| !series.points.is_empty()).collect();
        if series.is_empty() {
            return Vec::new();
        }
        vec![Plot::Lines {
            title: "how often disturbances are longer than a limit".into(),
            x: Axis::log("limit", "µs"),
            y: Axis::log("disturbances an hour", ""),
            series,
            marks: Vec::new(),
        }]
    }
}

fn sleeper(host: &Host, class: &str, load: &str) -> Variant {
    let variant = Variant::new(format!("{class} {load}")).with("class", class).with("load", load);
    variant.on(&host.cpus[..1], None).crowded_if(load == "busy")
}

// ---- what came of it ----------------------------------------------------------------------------------------------

/// What `osnoise` counts is no histogram.
fn noise_told(results: &Results, variant: &str) -> Option<String> {
    let of = |metric: &str| results.values(variant, metric);
    let sum = |metric: &str| of(metric).iter().sum::<f64>();
    let lost_s: f64 =
        of("noise").iter().zip(of("watched")).map(|(percent, s)| percent / 100.0 * s).sum();
    let watched_s = sum("watched");
    let longest = quantity(of("longest").into_iter().reduce(f64::max)?, "ns");
    let cause = |(metric, words): &(&str, &str)| format!("{words} {}", count(sum(metric) as u64));
    Some(format!(
        "{variant}, {} on all CPUs together: {:.3} % of the time lost, at most {longest} at once; causes counted: {}",
        hours(watched_s),
        100.0 * lost_s / watched_s.max(f64::MIN_POSITIVE),
        CAUSES.iter().map(cause).collect::<Vec<_>>().join(", "),
    ))
}

/// System management interrupts.
fn interrupts_told(results: &Results) -> Option<String> {
    let counts = results.values(WATCHER, "smi");
    let watched_s: f64 = results.values(WATCHER, "watched").iter().sum();
    let all = counts.iter().sum::<f64>() as u64;
    let told = || format!("system management interrupts in {}: {}", hours(watched_s), count(all));
    (!counts.is_empty()).then(told)
}

// ---- a turn -------------------------------------------------------------------------------------------------------

/// One variant, ready to have its turns.
enum Observer {
    /// A thread of this program.
    Thread(Setup),
    /// Threads of the kernel.
    Kernel { tracer: Tracer, instance: Instance, length: Duration },
}

impl Observer {
    fn of(variant: &Variant, host: &Host, size: Size) -> Result<Observer, NotMeasurable> {
        match Tracer::named(&variant.name) {
            None => Setup::of(variant, host, size.of(WAKES)).map(Observer::Thread),
            Some(tracer) => {
                let instance = Instance::make().map_err(NotMeasurable)?;
                Ok(Observer::Kernel { tracer, instance, length: size.of(TRACED) })
            }
        }
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        match self {
            Observer::Thread(setup) => setup.turn(),
            Observer::Kernel { tracer, instance, length } => tracer.turn(instance, *length),
        }
    }
}

/// A thread that watches.
struct Setup {
    place: Place,
    cpu: u32,
    is_watcher: bool,
    is_busy: bool,
    wakes: u64,
    /// Of the watcher, where the processor counts.
    smi: Option<SmiCounter>,
}

impl Setup {
    fn of(variant: &Variant, host: &Host, wakes: u64) -> Result<Setup, NotMeasurable> {
        let [cpu] = variant.cpus[..] else {
            return Err(NotMeasurable::new("a variant of another version"));
        };
        let place = match variant.level("class") {
            "fifo" => Place::on(cpu).class(host.fifo(FIFO).map_err(NotMeasurable)?),
            _ => Place::on(cpu),
        };
        let (is_watcher, is_busy) = (variant.name == WATCHER, variant.level("load") == "busy");
        let smi = if is_watcher { SmiCounter::of(cpu).ok() } else { None };
        Ok(Setup { place, cpu, is_watcher, is_busy, wakes, smi })
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let Some(smi) = &self.smi else { return self.watched() };
        let (watched, count) = smi.during(|| self.watched());
        let mut samples = watched?;
        let check = Check::None("nobody knows how many there are".into());
        samples.extend(count.map(|count| Sample::new("smi", count.into(), 1, check)));
        Ok(samples)
    }

    fn watched(&self) -> Result<Vec<Sample>, Fault> {
        let over = AtomicBool::new(false);
        let observe = || {
            let tally = if self.is_watcher { self.watch() } else { self.sleep() };
            // Relaxed: the flag publishes nothing.
            over.store(true, Relaxed);
            Some(tally)
        };
        let mut team = TurnThreads::new().with(self.place.clone(), observe);
        if self.is_busy {
            team = team.with(Place::on(self.cpu), || compute(&over));
        }
        let tally = team.run()?.into_results().swap_remove(0);
        let tally = tally.ok_or_else(|| Fault::new("nobody was watched"))?;
        Ok(tally.samples((!self.is_watcher).then_some(self.wakes)))
    }

    fn sleep(&self) -> Tally {
        let mut waited = Waiting::begin();
        let mut tally = Tally::begin(waited.is_known());
        let plan = OpenLoop { period_ns: PERIOD_NS, wakes: self.wakes };
        for planned_ns in plan.plan() {
            sleep_until_ns(planned_ns);
            let late_ns = monotonic_ns().saturating_sub(planned_ns);
            tally.note(late_ns, waited.since_last_ns());
        }
        tally.end()
    }

    /// Reads the clock until as much time has passed as a sleeper takes.
    fn watch(&self) -> Tally {
        let mut waited = Waiting::begin();
        let mut tally = Tally::begin(waited.is_known());
        let mut last_ns = monotonic_ns();
        let end_ns = last_ns + self.wakes * PERIOD_NS;
        while last_ns < end_ns {
            let now_ns = monotonic_ns();
            if now_ns - last_ns > LIMITS[0].1 {
                tally.note(now_ns - last_ns, waited.since_last_ns());
                tally.disturbance_is_over();
                // What the notes took is nobody's pause.
                last_ns = monotonic_ns();
            } else {
                last_ns = now_ns;
            }
        }
        tally.end()
    }
}

/// Keeps a CPU busy until the thread that is watched is done.
fn compute(over: &AtomicBool) -> Option<Tally> {
    keep_busy(over);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::guest::measured;

    #[test]
    fn every_variant_is_watched_as_long_as_it_says() {
        let host = Host::discover().unwrap();
        let design = Soak.design(&host, Size::Quick).unwrap();
        for variant in &design.variants {
            let Observer::Thread(setup) = Observer::of(variant, &host, Size::Quick).unwrap() else {
                continue;
            };
            let setup = Setup { wakes: 20, ..setup };
            let samples = setup.turn().unwrap();
            let of = |metric: &str| samples.iter().find(|it| it.metric == metric).unwrap().value;
            assert!(of("watched") >= 19.0 * PERIOD_NS as f64 / 1e9, "{variant:?}");
            assert!(of("late-50us") >= of("late-10ms"), "{variant:?}");
            assert!(samples.iter().all(|it| !matches!(it.check, Check::Failed(_))), "{samples:?}");
        }
    }

    #[test]
    fn what_the_kernel_counts_is_told() {
        let mut design = Soak.design(&Host::described_with_smt(), Size::Full).unwrap();
        design.variants.retain(|variant| Tracer::named(&variant.name).is_none());
        design.variants.push(Variant::new("osnoise"));
        let osnoise =
            [("watched", 4.0), ("noise", 0.166), ("longest", 202e3), ("noise-irq", 4_037.0)];
        let mut figures = osnoise.map(|(metric, value)| ("osnoise", metric, value)).to_vec();
        figures.extend([(WATCHER, "watched", 12.0), (WATCHER, "smi", 3.0)]);
        let findings = Soak.findings(&measured(design, &figures));
        let told = |of: &str| {
            findings
                .iter()
                .find(|it| it.text.starts_with(of))
                .unwrap_or_else(|| panic!("{findings:?}"))
        };
        let noise =
            &told("osnoise, 48 seconds on all CPUs together: 0.166 % of the time lost").text;
        assert!(noise.contains("at most 202 µs at once"), "{noise}");
        assert!(
            noise.contains("; causes counted: ") && noise.contains(" interrupts 48,"),
            "{noise}"
        );
        told("system management interrupts in 2 minutes: 36");
    }

    #[test]
    fn hwlat_is_told_by_windows() {
        let mut design = Soak.design(&Host::described_with_smt(), Size::Full).unwrap();
        design.variants.retain(|variant| Tracer::named(&variant.name).is_none());
        design.variants.push(Variant::new("hwlat"));
        let hwlat = [
            ("watched", 2.5),
            ("windows", 5.0),
            ("late-250us", 5.0),
            ("late-1ms", 1.0),
            ("gaps", 7.0),
            ("threshold", 100e3),
            ("longest", 2e6),
        ];
        let figures = hwlat.map(|(metric, value)| ("hwlat", metric, value));
        let results = measured(design, &figures);
        let findings = Soak.findings(&results);
        let told = findings.iter().find(|it| it.text.starts_with("hwlat, 30 seconds: "));
        let told = &told.unwrap_or_else(|| panic!("{findings:?}")).text;
        // Each window had such a gap.
        assert!(told.contains("longer than 250 µs 60 times (too often for a bound), "), "{told}");
        assert!(told.contains("1.00 ms 12 times (at most "), "{told}");
        assert!(told.contains("60 windows had 84 gaps above 100 µs"), "{told}");
        let plots = Soak.plots(&results);
        let [Plot::Lines { series, .. }] = &plots[..] else { panic!("{plots:?}") };
        let places: Vec<f64> = series[0].points.iter().map(|(limit_us, _)| *limit_us).collect();
        assert_eq!(places, [1_000.0], "what saturates is no rate");
    }

    #[test]
    fn a_minute_gives_advice_and_less_does_not() {
        let advised = |s: f64| {
            let design = Soak.design(&Host::described_with_smt(), Size::Full).unwrap();
            let name = design.variants[0].name.clone();
            let figures = [(name.as_str(), "watched", s), (name.as_str(), "late-250us", 1.0)];
            Soak.advice(&measured(design, &figures))
        };
        assert!(advised(2.0).is_none());
        let text = advised(60.0).unwrap().text;
        assert!(text.contains("an hour (95 %)"), "{text}");
    }
}
