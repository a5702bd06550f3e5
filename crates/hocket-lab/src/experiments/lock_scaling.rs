//! `lock-scaling`: what fine and coarse locks cost, by the number of threads.

use hocket_kernels::mandelbrot::Writing;

use super::drawing::{CPU_TIME, Drawing, RETRIES, SWITCHES, THREADS, TIME, VIEW};
use super::words::series;
use crate::harness::{
    About, Axis, Contrast, Design, Experiment, Historic, Host, Mark, Metric, NamedRatio, Nearest,
    NotMeasurable, Opened, Parameter, Plot, Results, Rounds, Section, Sentence, Size, Variant,
    ratios_sentence,
};

/// See [`About`].
pub struct LockScaling;

static ABOUT: About = About {
    id: "lock-scaling",
    section: Section::Sharing,
    question: "How does lock granularity scale?",
    origin: "study of 2006 on Java threads, test cases 8 and 9",
    method: "1, 2, 8, 32, 128 and 512 threads draw the Mandelbrot set in 1016 by 718 pixels with at most 32 iterations, row \
             by row; whoever is done takes the next row. Each pixel is written under nothing, under one lock with a \
             count, under a lock of its own after a count under one lock, after an atomic count, or after one that is read and exchanged again \
             until nobody came between. The picture and the count must be right. Threads run wherever the scheduler puts them, \
             and, as `one-cpu`, all on one CPU (without the atomic count, which differs in nothing there). With \
             HOCKET_LAB_PICTURES=FOLDER in the environment the picture is written there as mandelbrot.pgm.",
    limits: "Locks are the standard library's and not Java's monitors. No two threads write the same pixel, so a lock of a \
             pixel is never contended: what it costs is memory and the instructions. CPU time includes making 729488 \
             locks where there are so many.",
    metrics: &[
        TIME,
        CPU_TIME,
        SWITCHES,
        RETRIES,
        Metric::less("cpu-time-growth", "%")
            .means("CPU time with 512 threads against that with 2, round by round; computed from `cpu-time`."),
        Metric::more("speed-up", "times")
            .means("Time with one thread divided by time with two, round by round; computed from `time`."),
    ],
    parameters: &[Parameter::new("view", &VIEW)],
};

/// Numbers of threads in a quick run, which has no time for all.
const IN_QUICK: [usize; 4] = [1, 2, 32, 512];
/// The same on one CPU.
const ON_ONE_IN_QUICK: [usize; 2] = [1, 512];
/// What is drawn on one CPU: an atomic count differs in nothing there.
const ON_ONE_CPU: [Writing; 4] =
    [Writing::Unlocked, Writing::OneLock, Writing::PixelLocks, Writing::PixelLocksCasCounter];
/// The factor of those, and its level.
const ONE_CPU: &str = "one-cpu";

impl Experiment for LockScaling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::few(size));
        for writing in Writing::ALL {
            for threads in
                THREADS.into_iter().filter(|n| size == Size::Full || IN_QUICK.contains(n))
            {
                let variant = Variant::new(name(writing, threads))
                    .with("writing", writing)
                    .with("threads", threads);
                let crowded = threads > host.cpus.len();
                design.variants.push(variant.crowded_if(crowded));
            }
        }
        for writing in ON_ONE_CPU {
            let counts = THREADS.into_iter();
            let counts = counts.filter(|n| size == Size::Full || ON_ONE_IN_QUICK.contains(n));
            for threads in counts {
                let variant = Variant::new(on_one(writing, threads))
                    .with("writing", writing)
                    .with("threads", threads)
                    .with(ONE_CPU, ONE_CPU)
                    .on(&host.cpus[..1], None);
                design.variants.push(variant.crowded_if(threads > 1));
            }
        }
        design.contrasts = contrasts(&design);
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        77.0
    }

    fn open(&self, _: &Host, _: Size, design: &Design) -> Opened {
        let drawing = Drawing::new().map_err(NotMeasurable::new)?;
        let of = |variant: &Variant| {
            let (threads, writing) = (variant.level("threads"), variant.level("writing"));
            Some((threads.parse().ok()?, writing.parse().ok()?, variant.cpus.first().copied()))
        };
        let turns: Vec<(usize, Writing, Option<u32>)> = design.each(of)?;
        Ok(Box::new(move |variant: usize| match turns[variant] {
            (threads, writing, None) => drawing.turn(threads, writing),
            (threads, writing, Some(cpu)) => drawing.turn_on(cpu, threads, writing),
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let locks = Writing::ALL.into_iter().filter(|w| *w != Writing::Unlocked);
        let costs = locks.filter_map(|writing| cost(results, writing));
        let growths = Writing::ALL.into_iter().filter_map(|writing| growth(results, writing));
        costs.chain(growths).chain(on_one_cpu(results)).chain(retries(results)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let lines = [("time", "Time of a picture"), ("cpu-time", "CPU time of a picture")];
        let lines = lines.into_iter().map(|(metric, title)| scaling(results, metric, title, "ms"));
        let switches = scaling(results, "switches", "Context switches of a picture", "");
        lines.chain([switches]).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }

    /// 512 threads against 2, and on one CPU against all. Growth and speed-up are computed, so no row holds them.
    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        let variant = old.variant.unwrap_or_default();
        let few = variant.replace("512-", "2-");
        vec![match old.unit {
            "times" => Nearest::ratio(TIME.name, format!("{variant} {ONE_CPU}"), variant),
            _ => Nearest::ratio(CPU_TIME.name, variant, few),
        }]
    }
}

fn name(writing: Writing, threads: usize) -> String {
    format!("{writing} {threads}-threads")
}

fn on_one(writing: Writing, threads: usize) -> String {
    format!("{} {ONE_CPU}", name(writing, threads))
}

/// Every lock against none with as many threads, then few threads against many.
fn contrasts(design: &Design) -> Vec<Contrast> {
    let index = |writing, threads| design.index(&name(writing, threads));
    let contrast = |a: Option<usize>, b: Option<usize>, metric| Some(Contrast::new(a?, b?, metric));
    let locked = Writing::ALL.into_iter().filter(|w| *w != Writing::Unlocked);
    let by_lock = locked.flat_map(|writing| THREADS.map(|threads| (writing, threads)));
    let by_lock = by_lock.filter_map(|(writing, threads)| {
        contrast(index(Writing::Unlocked, threads), index(writing, threads), TIME.name)
    });
    let by_number = Writing::ALL.into_iter().flat_map(|writing| {
        [
            contrast(index(writing, 1), index(writing, 2), TIME.name),
            contrast(index(writing, 2), index(writing, 512), TIME.name),
            contrast(index(writing, 2), index(writing, 512), CPU_TIME.name),
        ]
    });
    let on_one_cpu = ON_ONE_CPU.into_iter().filter_map(|writing| {
        let of = |threads| design.index(&on_one(writing, threads));
        contrast(of(1), of(512), TIME.name)
    });
    by_lock.chain(by_number.flatten()).chain(on_one_cpu).collect()
}

/// What a way of locking adds to the time, alone and with the others.
fn cost(results: &Results, writing: Writing) -> Option<Sentence> {
    let pairs = THREADS.map(|threads| {
        let (none, locked) = (name(Writing::Unlocked, threads), name(writing, threads));
        NamedRatio::new(threads.to_string(), none, locked, TIME.name)
    });
    let head = format!("{writing} against no lock, time by the number of threads");
    ratios_sentence(results, &head, &pairs)
}

/// 512 threads against 2, and 2 against 1.
fn growth(results: &Results, writing: Writing) -> Option<Sentence> {
    let pair = |label: &str, from, to, metric: &'static str| {
        NamedRatio::new(label, name(writing, from), name(writing, to), metric)
    };
    let pairs = [
        pair("CPU time of 512 threads against 2", 2, 512, CPU_TIME.name),
        pair("time of 512 against 2", 2, 512, TIME.name),
        pair("time of 2 against 1", 1, 2, TIME.name),
    ];
    let switches = results.median(&name(writing, 512), SWITCHES.name);
    let switches =
        switches.map_or(String::new(), |n| format!(", {n:.0} context switches with 512"));
    ratios_sentence(results, &format!("{writing}{switches}"), &pairs)
}

/// What 512 threads cost one CPU, by lock: in 2006 one lock made the time jump there, and locks of pixels did not.
fn on_one_cpu(results: &Results) -> Option<Sentence> {
    let pair = |writing: Writing| {
        NamedRatio::new(writing.to_string(), on_one(writing, 1), on_one(writing, 512), TIME.name)
    };
    let head = "all on one CPU, time of 512 threads against 1 (2006: one lock jumps, locks of pixels do not)";
    ratios_sentence(results, head, &ON_ONE_CPU.map(pair))
}

/// How often an exchange failed.
fn retries(results: &Results) -> Option<Sentence> {
    let writing = Writing::PixelLocksCasCounter;
    let of = |threads: usize| {
        let free = results.median(&name(writing, threads), RETRIES.name)?;
        let on_one = results.median(&on_one(writing, threads), RETRIES.name);
        let on_one = on_one.map_or(String::new(), |n| format!(" (on one CPU {n:.0})"));
        Some(format!("{free:.0} with {threads}{on_one}"))
    };
    let told: Vec<String> = THREADS.into_iter().filter_map(of).collect();
    let text = format!(
        "exchanges of the counter that failed, of 729488, by threads (2006: a few hundred): {}",
        told.join(", ")
    );
    (!told.is_empty()).then(|| Sentence::fact(text))
}

fn scaling(results: &Results, metric: &str, title: &str, unit: &str) -> Plot {
    let line = |writing: Writing| {
        let points = THREADS.map(|threads| (threads as f64, name(writing, threads)));
        series(results, writing.to_string(), metric, points)
    };
    Plot::Lines {
        title: title.into(),
        x: Axis::log("threads", ""),
        y: Axis::log(metric, unit),
        series: Writing::ALL.into_iter().map(line).filter(|s| !s.points.is_empty()).collect(),
        marks: vec![
            Mark { at: 2.0, label: "CPUs of 2006".into() },
            Mark { at: super::thread_scaling::cpus_of(results) as f64, label: "CPUs".into() },
        ],
    }
}

const SOURCE: &str =
    "study of 2006 on scaling Java threads, chapter 7.4 (Sun HotSpot 1.5, Windows XP, 2 CPUs)";

const fn of_2006(label: &'static str, value: f64, variant: &'static str) -> Historic {
    let figure = Historic::new(label, value, "%", "cpu-time-growth").beside(variant);
    figure.means(GROWTH).differs(NO_BASELINE).printed_in(SOURCE)
}

const GROWTH: &str =
    "Growth of the CPU time up to 512 threads, 1016 by 718 pixels of the Mandelbrot set, two CPUs.";
const NO_BASELINE: &str = "The text does not say against how many threads; here it is against 2, and the CPU time holds \
                           the start of 512 threads.";

static HISTORIC: [Historic; 4] = [
    of_2006("synchronized method", 20.0, "one-lock 512-threads"),
    of_2006("lock for each pixel", 18.0, "pixel-locks 512-threads"),
    of_2006("lock for each pixel, CAS counter", 5.0, "pixel-locks-cas-counter 512-threads"),
    Historic::new("lock for each pixel, 512 threads", 1.63, "times", "speed-up")
        .beside("pixel-locks 512-threads")
        .means("The scaling factor of two CPUs, which falls from almost 2 to this towards 512 threads.")
        .differs("The factor of Java's threads on two CPUs; today's is that of all CPUs here.")
        .printed_in(SOURCE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_2006_stand_beside_variants() {
        let of = |size| LockScaling.design(&Host::described_with_smt(), size).unwrap();
        let quick = of(Size::Quick);
        assert!(HISTORIC.iter().all(|old| quick.index(old.variant.unwrap()).is_some()));
        let design = of(Size::Full);
        assert_eq!((design.fault(), design.variants.len()), (None, 5 * 6 + 4 * 6));
        assert_eq!(design.contrasts.len(), 4 * 6 + 5 * 3 + 4);
        assert!(HISTORIC.iter().all(|old| design.index(old.variant.unwrap()).is_some()));
        let crowded = |variant: &&Variant| variant.crowded;
        assert_eq!(design.variants.iter().filter(crowded).count(), 5 * 4 + 4 * 5);
        assert!(quick.index("one-lock 512-threads one-cpu").is_some());
    }
}
