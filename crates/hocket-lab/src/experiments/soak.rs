//! `soak`: how often a long run is late, and by whose fault.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_machine::clock::{monotonic_ns, sleep_until_ns};

use super::beside::keep_busy;
use crate::harness::lateness::OpenLoop;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Better, Check, Design, Estimate, Experiment, Fault, Host, Metric, NotMeasurable,
    Opened, Parameter, Plot, Results, Rounds, Sample, Section, Sentence, Series, Size, Variant,
};
use crate::numbers::{count, quantity};
use crate::stats::poisson_most;

/// See [`About`].
pub struct Soak;

/// One metric for each limit, so that all of a run together are a histogram.
macro_rules! limits {
    ($($name:literal, $ns:literal);* $(;)?) => {
        /// What counts as late, and the metric that counts it.
        const LIMITS: &[(&str, u64)] = &[$(($name, $ns)),*];
        const METRICS: &[Metric] = &[
            $(Metric {
                name: $name,
                unit: "",
                better: Better::Less,
                definition: "How many disturbances were later than this limit. Wake-ups that one stall delays are one disturbance: \
                             each was due before the thread had the last one. So is each pause of `watcher`.",
            },)*
            Metric {
                name: "late",
                unit: "",
                better: Better::Less,
                definition: "How many wake-ups were more than 0.25 ms late; for `watcher` how many pauses were longer.",
            },
            Metric {
                name: "put-aside",
                unit: "",
                better: Better::Less,
                definition: "Of the disturbances later than 0.25 ms, those during which the thread waited for its CPU for more than \
                             half of the time, while other threads ran.",
            },
            Metric {
                name: "longest",
                unit: "ns",
                better: Better::Less,
                definition: "The latest wake-up of the turn, or the longest pause.",
            },
            Metric {
                name: "watched",
                unit: "s",
                better: Better::More,
                definition: "How long the thread was watched.",
            },
        ];
    };
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
             timerlat and hwlat of Linux ask the same of a kernel",
    method: "One thread sleeps up to instants that are planned 1.33 ms apart (64 frames at 48 kHz), pinned, in FIFO 50 or in the \
             ordinary class. It has its CPU for itself (rest) or shares it with a thread that computes in the ordinary class \
             (busy). `watcher` is a thread of the ordinary class that reads the clock without a pause, so it sees what is taken \
             from a CPU that never sleeps. Counts of all turns are added up. Wake-ups that one stall delays are one \
             disturbance. After each wake-up the thread reads how long it has waited for its CPU. So a \
             disturbance is somebody else's who ran there, or else it came from the timer, an interrupt or the host. `--time 8h` \
             watches for a night.",
    limits: "Bounds take disturbances as independent. Those that come in bursts happen less regularly than a bound allows for. A \
             program that runs once a day is seen by a run of a day. The figures are of this machine with what ran beside: the \
             ledger has it. A block of audio is late by what it computes, too: `hocket capacity` plays a session.",
    metrics: METRICS,
    parameters: &[Parameter::new("period-ns", &PERIOD_NS), Parameter::new("wake-ups", &WAKES)],
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
const HOUR_S: f64 = 3_600.0;
/// Both ends of a 95 % interval, and the end of a bound.
const OUTSIDE_EACH: f64 = 0.025;
const OUTSIDE: f64 = 0.05;
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
        design.missing.extend(missing_here());
        Ok(design)
    }

    fn turn_ms(&self) -> f64 {
        202.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let setup = |variant: &Variant| Setup::of(variant, host, size.of(WAKES));
        let setups: Vec<Setup> =
            design.variants.iter().map(setup).collect::<Result<_, NotMeasurable>>()?;
        Ok(Box::new(move |variant: usize| setups[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let told = |variant: &Variant| Watched::of(results, &variant.name)?.told(&variant.name);
        results.designed().iter().filter_map(told).map(Sentence::fact).collect()
    }

    /// Of the best class that this system grants.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let class =
            |class: &str| Some((class.to_owned(), Watched::of(results, &format!("{class} rest"))?));
        let (class, watched) = ["fifo", "ordinary"].into_iter().find_map(class)?;
        (watched.s >= ADVISED_FROM_S).then(|| {
            let (limit, count) = (LIMITS[ROOM].1, watched.disturbances[ROOM]);
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
            let points = points.filter(|(_, count)| **count > 0);
            let points = points.map(|((_, ns), count)| (*ns as f64 / 1e3, watched.rate(*count)));
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

/// What others measure with, and why it is not here.
fn missing_here() -> Vec<(String, String)> {
    let tracers = std::fs::read_to_string("/sys/kernel/tracing/available_tracers");
    let of_kernel = ["osnoise", "timerlat", "hwlat"].map(|tracer| {
        let why = match &tracers {
            Ok(names) if names.split_whitespace().any(|name| name == tracer) => {
                format!("this kernel has the tracer, and `rtla {tracer}` reads it; Hocket does not")
            }
            Ok(_) => "this kernel has no such tracer".into(),
            Err(error) => format!("/sys/kernel/tracing/available_tracers: {error}"),
        };
        (tracer.to_owned(), why)
    });
    const MSR: &str = "/dev/cpu/0/msr";
    let smi = match File::open(MSR) {
        Ok(_) => {
            "`turbostat --show SMI` counts these interrupts on Intel's processors; Hocket does not"
                .into()
        }
        Err(error) => {
            format!("Intel's processors count these interrupts in a register; {MSR}: {error}")
        }
    };
    of_kernel.into_iter().chain([("smi".to_owned(), smi)]).collect()
}

// ---- what came of it ----------------------------------------------------------------------------------------------

/// All turns of a variant together.
struct Watched {
    s: f64,
    /// By limit.
    disturbances: Vec<u64>,
    late: u64,
    /// `None`: the kernel does not tell.
    put_aside: Option<u64>,
    longest_ns: f64,
}

impl Watched {
    /// `None`: it had no turn.
    fn of(results: &Results, variant: &str) -> Option<Watched> {
        let sum = |metric: &str| results.values(variant, metric).iter().sum::<f64>();
        let put_aside = results.values(variant, "put-aside");
        let s = sum("watched");
        (s > 0.0).then(|| Watched {
            s,
            disturbances: LIMITS.iter().map(|(metric, _)| sum(metric) as u64).collect(),
            late: sum("late") as u64,
            put_aside: (!put_aside.is_empty()).then(|| put_aside.iter().sum::<f64>() as u64),
            longest_ns: results.values(variant, "longest").into_iter().fold(0.0, f64::max),
        })
    }

    /// So many an hour, with Garwood's exact interval.
    fn rate(&self, count: u64) -> Estimate {
        let an_hour = HOUR_S / self.s;
        let low = match count {
            0 => 0.0,
            _ => poisson_most(count - 1, 1.0 - OUTSIDE_EACH),
        };
        let high = poisson_most(count, OUTSIDE_EACH);
        Estimate { value: count as f64, low: Some(low), high: Some(high) }.scaled(an_hour)
    }

    fn at_most(&self, seen: u64) -> String {
        let most = poisson_most(seen, OUTSIDE) * HOUR_S / self.s;
        format!("at most {} an hour", count(most.ceil() as u64))
    }

    fn told(&self, variant: &str) -> Option<String> {
        let told = |at: usize| {
            let (limit, seen) = (quantity(LIMITS[at].1 as f64, "ns"), self.disturbances[at]);
            format!("{limit} {} ({})", times(seen), self.at_most(seen))
        };
        let limits = format!("later than {}", TOLD.map(told).join(", "));
        let all = self.disturbances[ROOM];
        let cause = self.put_aside.filter(|_| all > 0).map_or(String::new(), |aside| {
            format!(
                "; of the {all} over {} ({} wake-ups), other threads ran in {aside}, and timer, interrupts or host held up {}",
                quantity(LIMITS[ROOM].1 as f64, "ns"),
                count(self.late),
                all.saturating_sub(aside),
            )
        });
        let longest = quantity(self.longest_ns, "ns");
        Some(format!("{variant}, {}: {limits}{cause}; the longest {longest}", hours(self.s)))
    }
}

fn times(count: u64) -> String {
    match count {
        0 => "never".into(),
        1 => "once".into(),
        _ => format!("{count} times"),
    }
}

fn hours(s: f64) -> String {
    match s {
        _ if s >= HOUR_S => format!("{:.1} hours", s / HOUR_S),
        _ if s >= 120.0 => format!("{:.0} minutes", s / 60.0),
        _ => format!("{s:.0} seconds"),
    }
}

// ---- a turn -------------------------------------------------------------------------------------------------------

/// One variant, ready to have its turns.
struct Setup {
    place: Place,
    cpu: u32,
    is_watcher: bool,
    is_busy: bool,
    wakes: u64,
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
        Ok(Setup { place, cpu, is_watcher, is_busy, wakes })
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
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

/// What a thread notes of itself in a turn.
#[derive(Debug)]
struct Tally {
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
    fn begin(knows_causes: bool) -> Tally {
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
    fn note(&mut self, late_ns: u64, waited_ns: Option<u64>) {
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

    fn disturbance_is_over(&mut self) {
        self.last_ns = 0;
    }

    fn end(mut self) -> Tally {
        self.watched_ns = monotonic_ns() - self.begun_ns;
        self
    }

    /// `wakes`: how many there had to be, where somebody knows.
    fn samples(&self, wakes: Option<u64>) -> Vec<Sample> {
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
struct Waited(File);

impl Waited {
    fn of_this_thread() -> Result<Waited, String> {
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
struct Waiting {
    waited: Option<Waited>,
    last_ns: u64,
}

impl Waiting {
    fn begin() -> Waiting {
        let waited = Waited::of_this_thread().ok();
        let last_ns = waited.as_ref().and_then(Waited::ns).unwrap_or(0);
        Waiting { waited, last_ns }
    }

    fn is_known(&self) -> bool {
        self.waited.is_some()
    }

    fn since_last_ns(&mut self) -> Option<u64> {
        let now_ns = self.waited.as_ref()?.ns()?;
        let last_ns = std::mem::replace(&mut self.last_ns, now_ns);
        now_ns.checked_sub(last_ns)
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

    #[test]
    fn every_variant_is_watched_as_long_as_it_says() {
        let host = Host::discover().unwrap();
        let design = Soak.design(&host, Size::Quick).unwrap();
        for variant in &design.variants {
            let setup = Setup::of(variant, &host, 20).unwrap();
            let samples = setup.turn().unwrap();
            let of = |metric: &str| samples.iter().find(|it| it.metric == metric).unwrap().value;
            assert!(of("watched") >= 19.0 * PERIOD_NS as f64 / 1e9, "{variant:?}");
            assert!(of("late-50us") >= of("late-10ms"), "{variant:?}");
            assert!(samples.iter().all(|it| !matches!(it.check, Check::Failed(_))), "{samples:?}");
        }
    }

    #[test]
    fn none_in_an_hour_may_be_three() {
        let watched = Watched {
            s: HOUR_S,
            disturbances: vec![2, 0, 0, 0, 0, 0, 0, 0],
            late: 0,
            put_aside: Some(0),
            longest_ns: 60e3,
        };
        assert_eq!(watched.at_most(0), "at most 3 an hour");
        let rate = watched.rate(2);
        // Garwood's interval of two: 0.242 to 7.225.
        assert!((rate.low.unwrap() - 0.242).abs() < 1e-3, "{rate:?}");
        assert!((rate.high.unwrap() - 7.225).abs() < 1e-3, "{rate:?}");
        // Many of them go by another formula: the normal one is near 4000 +- 1.96 times its root.
        let rate = watched.rate(4_000);
        assert!((rate.low.unwrap() - 3_877.0).abs() < 2.0, "{rate:?}");
        assert!((rate.high.unwrap() - 4_126.0).abs() < 2.0, "{rate:?}");
        let told = watched.told("fifo rest").unwrap();
        assert!(
            told.starts_with("fifo rest, 1.0 hours: later than 250 µs never (at most 3 an hour)"),
            "{told}"
        );
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
