//! `jvm`: the study of 2006 on Java threads, on the JVM of today.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use hocket_files::ScratchFolder;
use hocket_kernels::mandelbrot::{View, Writing};

use super::drawing::{Drawing, THREADS, VIEW};
use super::guest::{CPU_TIME, OVERHEAD, TIME, overhead, samples};
use super::openmp::{checked, request};
use crate::guest::tools::{self, Jdk};
use crate::guest::{Stage, Turn};
use crate::harness::{
    About, Better, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened,
    Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant, contrast_sentences,
};

/// See [`About`].
pub struct Jvm;

static ABOUT: About = About {
    id: "jvm",
    section: Section::Programs,
    question: "How do the JVM's threads and locks compare?",
    origin: "a study of thread scaling of 2006, test cases 1 to 6 and 8 to 10, on Sun HotSpot 1.5 under Windows XP",
    method: "A Java program, which the lab compiles with the newest JDK that is installed (or that of JAVA_HOME), draws the \
             Mandelbrot set, row by row: 1016 by 718 pixels in a full run, half as wide and high in a quick one. Kinds: \
             `platform` threads, `virtual` threads (Java 21 and newer), parallel `stream`, and `fork-join`, in JOMP's place: a \
             piece of the picture for each thread, of which the one that asks draws the first, and then a join that waits busily. \
             A pixel is written `unlocked`; in a `synchronized` method \
             or under a `reentrant` lock, with a count; or under a lock of its own after counting in a synchronized method \
             (`pixel-locks`), an AtomicInteger (`atomic`), or a LongAdder (`adder`). `own` is the lab's own kernel. `counter` is one \
             counter that all threads increase. `start` is threads that are there at once: 100 in a quick run, 2000 in a full one. \
             `priorities` starts a thread of each priority from 1 to 10, in a JVM with -XX:ThreadPriorityPolicy=1, and reads its nice \
             value back. In that JVM, threads of priority 2, 5 and 8 draw beside no, one (in a full run), and as many `calculators` as they are themselves: threads of \
             the lab of nice value 0 that compute all the time. Two threads of one nice value come to it in two ways: by priority 3, and \
             in a JVM that was started with `nice -n 2` (`process-nice`). A full run starts such JVMs with the nice values 19, 10, 0, -5, \
             -10 and -20, for Windows' six classes of processes (`class`). The checksum of each picture must be that of the lab, and each count complete. The first two rounds of a \
             process start warm up.",
    limits: "A JVM compiles while it runs: two rounds are enough for the loop of the picture, and may not be for all of it. Garbage \
             collection and compiler threads are in the CPU time. Without the right to lower nice values, priorities above 5 have no effect, \
             and the figures show it. By default the JVM ignores priorities altogether.",
    metrics: METRICS,
    parameters: &[
        Parameter::new("views", &VIEWS),
        Parameter::new("threads", &THREADS),
        Parameter::new("increments", &INCREMENTS),
        Parameter::new("started", &STARTED),
    ],
};

/// Declares the nice values of these priorities.
macro_rules! of_priorities {
    ($($n:literal)*) => {
        const METRICS: &[Metric] = &[
            TIME,
            OVERHEAD,
            CPU_TIME,
            $(Metric {
                name: concat!("nice-", $n),
                unit: "",
                better: Better::Neither,
                definition: concat!("The nice value that the system reports for a thread of Java's priority ", $n, "."),
            },)*
            Metric {
                name: UNSET,
                unit: "",
                better: Better::Neither,
                definition: "The nice value that the system reports for a thread whose priority nobody set.",
            },
        ];
        const PRIORITIES: &[&str] = &[$(concat!("nice-", $n),)*];
    };
}
/// Of a thread as the JVM makes it.
const UNSET: &str = "nice-unset";

of_priorities!(1 2 3 4 5 6 7 8 9 10);

/// The program.
const SOURCE: &str = include_str!("../../../../guests/jvm/src/main/java/Guest.java");

/// Pictures of a quick and of a full run.
const VIEWS: [View; 2] = [View { width: 508, height: 359, step: VIEW.step * 2.0, ..VIEW }, VIEW];
/// Of all threads together.
const INCREMENTS: usize = 200_000;
/// Threads that are there at once.
const STARTED: [usize; 2] = [100, 2000];
/// Numbers of threads that a quick run takes from the study; a full one takes all.
const QUICK_THREADS: [usize; 3] = [1, 8, 512];
/// The first Java with virtual threads.
const VIRTUAL_FROM: u32 = 21;

/// Warnings of the JVM would stand among the answers, and a file of counters for other programs would stay behind where the
/// JVM is killed.
const OPTIONS: [&str; 5] = [
    "-Xmx512m",
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    "-XX:-UsePerfData",
];
/// Java's priorities as nice values.
const WITH_PRIORITIES: &str = "-XX:ThreadPriorityPolicy=1";

/// Work of a priority: lower than that of the load, the same, and higher.
const LOADED: [u32; 3] = [2, 5, 8];
/// Windows' classes of processes as nice values, for full runs.
const CLASSES: [(&str, &str); 6] = [
    ("idle", "19"),
    ("below-normal", "10"),
    ("normal", "0"),
    ("above-normal", "-5"),
    ("high", "-10"),
    ("realtime", "-20"),
];
/// The priority whose nice value the other JVM has as a process.
const SAME_NICE: (u32, &str) = (3, "2");

/// What the lab draws itself.
const OWN: &str = "own";

impl Experiment for Jvm {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let jdk = Jdk::find()?;
        Ok(design(&jdk, host.cpus.len(), size))
    }

    fn open(&self, _: &Host, _: Size, _: &Design) -> Opened {
        Err(NotMeasurable::new("the guest was not built"))
    }

    fn prepare(
        &self,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<Option<ScratchFolder>, NotMeasurable> {
        let folder = tools::folder()?;
        Jdk::find()?.build(SOURCE, folder.path(), is_ending)?;
        Ok(Some(folder))
    }

    fn open_prepared(
        &self,
        host: &Host,
        size: Size,
        design: &Design,
        folder: Option<&Path>,
    ) -> Opened {
        let Some(folder) = folder else { return self.open(host, size, design) };
        let cpus = host.cpus.len();
        let mut troupe = Troupe::open(&Jdk::find()?, folder, cpus, size.of(VIEWS));
        let variants = design.variants.clone();
        Ok(Box::new(move |variant: usize| {
            let troupe = troupe.as_mut().map_err(|fault| fault.clone())?;
            troupe.turn(&variants[variant])
        }))
    }

    fn turn_ms(&self) -> f64 {
        40.0
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let others = [priorities(results), overhead(results)].into_iter().flatten();
        contrast_sentences(results).into_iter().chain(others).collect()
    }
}

fn design(jdk: &Jdk, cpus: usize, size: Size) -> Design {
    let rounds = Rounds { processes: size.pick(3, 5), per_process: size.pick(6, 30), warm_up: 2 };
    let mut design = Design::facts(Vec::new(), rounds);
    let all = cpus.max(2);
    let width = size.of(VIEWS).width;
    let picture = |kind: &str, writing: &str, threads: usize| {
        Variant::new(format!("{kind} {writing} {threads}"))
            .with("work", "picture")
            .with("jdk", &jdk.version)
            .with("kind", kind)
            .with("writing", writing)
            .with("threads", threads)
            .with("width", width)
            .crowded_if(threads > cpus)
    };
    let has_virtual = jdk.feature() >= VIRTUAL_FROM;
    // By as many threads as CPUs: the ways to share the picture out, then those to write a pixel.
    let mut variants = vec![picture("platform", "unlocked", all)];
    variants.extend(has_virtual.then(|| picture("virtual", "unlocked", all)));
    variants.extend(["stream", "fork-join", OWN].map(|kind| picture(kind, "unlocked", all)));
    let locks =
        ["synchronized", "reentrant", "pixel-locks", "pixel-locks-atomic", "pixel-locks-adder"];
    variants.extend(locks.map(|writing| picture("platform", writing, all)));
    variants.extend(has_virtual.then(|| picture("virtual", "synchronized", all)));
    let study = size.pick(&QUICK_THREADS[..], &THREADS);
    let others = study.iter().filter(|threads| **threads != all);
    variants.extend(others.map(|threads| picture("platform", "unlocked", *threads)));
    variants.push(picture("platform", "synchronized", THREADS[THREADS.len() - 1]));
    design.group(TIME.name, variants);
    let counter = |counter: &str| {
        Variant::new(format!("counter {counter} {all}"))
            .with("work", "counter")
            .with("jdk", &jdk.version)
            .with("counter", counter)
            .with("threads", all)
            .with("increments", INCREMENTS)
            .crowded_if(all > cpus)
    };
    design.group(TIME.name, ["atomic", "adder", "synchronized", "reentrant"].map(counter));
    let started = |kind: &str| {
        Variant::new(format!("start {kind}"))
            .with("work", "start")
            .with("jdk", &jdk.version)
            .with("kind", kind)
            .with("threads", size.of(STARTED))
            .crowded()
    };
    let kinds = [Some("platform"), has_virtual.then_some("virtual")];
    design.group(TIME.name, kinds.into_iter().flatten().map(started));
    let loaded = |name: String, calculators: usize| {
        let picture = picture("platform", "unlocked", all).with("calculators", calculators);
        Variant { name: format!("{name} calculators {calculators}"), ..picture }.crowded()
    };
    // The same priority as the load and no load comes first: the others are compared with it.
    let mut variants: Vec<Variant> = Vec::new();
    for priority in [LOADED[1], LOADED[0], LOADED[2]] {
        let calculators = size.pick(vec![0, all], vec![0, 1, all]);
        variants.extend(calculators.into_iter().map(|calculators| {
            loaded(format!("priority {priority}"), calculators).with("priority", priority)
        }));
    }
    design.group(TIME.name, variants);
    let (priority, nice) = SAME_NICE;
    let two_ways = [
        loaded(format!("priority {priority}"), all).with("priority", priority),
        loaded("process-nice".into(), all).with("process-nice", nice),
    ];
    design.group(TIME.name, two_ways);
    let priorities = Variant::new("priorities").with("work", "priorities");
    design.variants.push(priorities.with("jdk", &jdk.version));
    if size == Size::Full {
        design.variants.extend(CLASSES.map(|(class, nice)| {
            let variant = Variant::new(format!("class {class}")).with("work", "priorities");
            variant.with("jdk", &jdk.version).with("process-nice", nice)
        }));
    }
    if !has_virtual {
        let why = format!("this JDK is {}, and virtual threads came with Java 21", jdk.version);
        design.missing.push(("virtual".into(), why));
    }
    design.twinned()
}

/// JVMs, and the picture as it must be.
struct Troupe {
    work: Stage,
    /// One that heeds priorities.
    priorities: Stage,
    /// One that is nice as a whole.
    nice: Stage,
    drawing: Drawing,
    view: View,
    java: Java,
}

/// How the JVMs are started.
struct Java {
    jdk: Jdk,
    folder: PathBuf,
    cpus: usize,
}

impl Java {
    fn command(&self, more: &[&str]) -> Vec<String> {
        // Those that it may use, whatever it finds out of a container's limits.
        let cpus = format!("-XX:ActiveProcessorCount={}", self.cpus);
        let options: Vec<&str> =
            OPTIONS.iter().copied().chain([cpus.as_str()]).chain(more.iter().copied()).collect();
        self.jdk.command(&options, &self.folder)
    }
}

impl Troupe {
    fn open(jdk: &Jdk, folder: &Path, cpus: usize, view: View) -> Result<Troupe, Fault> {
        let java = Java { jdk: jdk.clone(), folder: folder.into(), cpus };
        Ok(Troupe {
            work: Stage::open(&java.command(&[]))?,
            priorities: Stage::open(&java.command(&[WITH_PRIORITIES]))?,
            nice: Stage::open(&nicely(SAME_NICE.1, java.command(&[])))?,
            drawing: Drawing::of(view)?,
            view,
            java,
        })
    }

    fn turn(&mut self, variant: &Variant) -> Result<Vec<Sample>, Fault> {
        let asked = request(&self.view, &variant.factors);
        let name = &variant.name;
        match (variant.level("work"), variant.level("kind")) {
            ("picture", OWN) => self.own(variant),
            ("picture", _) => {
                let has = |factor: &str| !variant.level(factor).is_empty();
                let stage = match (has("priority"), has("process-nice")) {
                    (true, _) => &mut self.priorities,
                    (_, true) => &mut self.nice,
                    _ => &mut self.work,
                };
                let load = Calculators::start(variant.level("calculators").parse().unwrap_or(0));
                let turn = stage.turn(name, &asked);
                drop(load);
                let turn = counted(turn?);
                Ok(samples(&checked(turn, self.drawing.checksum())))
            }
            ("priorities", _) if variant.level("process-nice").is_empty() => {
                nice(&self.priorities.turn(name, &asked)?)
            }
            ("priorities", _) => {
                let jvm = self.java.command(&[WITH_PRIORITIES]);
                let mut stage = Stage::open(&nicely(variant.level("process-nice"), jvm))?;
                nice(&stage.turn(name, &asked)?)
            }
            _ => {
                let turn = self.work.turn(name, &asked)?;
                // What has a count and no checksum is right if the count is.
                Ok(samples(&counted(Turn { check: Check::Passed, ..turn })))
            }
        }
    }

    /// The same picture by this program.
    fn own(&self, variant: &Variant) -> Result<Vec<Sample>, Fault> {
        let threads = variant.level("threads").parse().map_err(Fault::new)?;
        let mut samples = self.drawing.turn(threads, Writing::Unlocked)?;
        samples.retain(|sample| ABOUT.metric(&sample.metric).is_some());
        Ok(samples)
    }
}

/// The command with another nice value; without the right to it the value stays, and the figures show it.
fn nicely(nice: &str, command: Vec<String>) -> Vec<String> {
    ["nice", "-n", nice].map(String::from).into_iter().chain(command).collect()
}

/// Threads that compute until this is dropped; the study ran Windows' calculator.
struct Calculators {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Calculators {
    fn start(count: usize) -> Calculators {
        let end = Arc::new(AtomicBool::new(false));
        let calculate = || {
            let end = Arc::clone(&end);
            move || {
                let mut sum = 0_u64;
                // Relaxed: nothing is published with the flag.
                while !end.load(Relaxed) {
                    sum = (0..1000).fold(sum, |sum, n| black_box(sum.wrapping_mul(31) ^ n));
                }
            }
        };
        let start = |_| std::thread::Builder::new().spawn(calculate()).ok();
        let threads = (0..count).filter_map(start).collect();
        Calculators { end, threads }
    }
}

impl Drop for Calculators {
    fn drop(&mut self) {
        // Relaxed: as above.
        self.end.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The same with the check that all was counted.
fn counted(turn: Turn) -> Turn {
    let Some(count) = turn.answer.number("counted") else { return turn };
    let check = Check::equal("the count", count, turn.answer.ops as f64);
    Turn { check: turn.check.and(check), ..turn }
}

fn nice(turn: &Turn) -> Result<Vec<Sample>, Fault> {
    let read_back = || Check::None("it is what the system reports".into());
    let value = |metric: &&'static str| {
        let value = turn.answer.number(metric);
        let value = value.ok_or_else(|| Fault(format!("the guest does not tell {metric}")))?;
        Ok(Sample::new(metric, value, 1, read_back()))
    };
    PRIORITIES.iter().chain([&UNSET]).map(value).collect()
}

/// Which nice value each priority is.
fn priorities(results: &Results) -> Option<Sentence> {
    let of = |metric: &&'static str| results.median("priorities", metric);
    let all: Option<Vec<String>> =
        PRIORITIES.iter().map(|metric| of(metric).map(|nice| format!("{nice:.0}"))).collect();
    let text = format!("Java's priorities 1 to 10 are the nice values {}", all?.join(", "));
    Some(Sentence::fact(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_locks_and_numbers_of_threads_are_compared() {
        for (version, cpus) in [("25.0.3", 2), ("21", 8), ("17.0.15", 1)] {
            for size in [Size::Quick, Size::Full] {
                let design = design(&Jdk::described(version), cpus, size);
                assert_eq!(design.fault(), None, "{version}");
                let has_virtual = design.variants.iter().any(|it| it.level("kind") == "virtual");
                assert_eq!(has_virtual, design.missing.is_empty(), "{version}");
                assert!(design.index("platform synchronized 512").is_some());
                let all = cpus.max(2);
                for name in ["priority 2", "priority 8", "priority 3", "process-nice"] {
                    assert!(design.index(&format!("{name} calculators {all}")).is_some(), "{name}");
                }
            }
        }
    }

    #[test]
    fn calculators_end_when_they_are_dropped() {
        let load = Calculators::start(3);
        let end = Arc::clone(&load.end);
        assert_eq!((load.threads.len(), Arc::strong_count(&end)), (3, 5));
        drop(load);
        assert_eq!(Arc::strong_count(&end), 1);
    }

    #[test]
    fn a_quick_picture_shows_the_same_part_of_the_plane() {
        let [quick, full] = VIEWS;
        assert_eq!((quick.width * 2, quick.height * 2), (full.width, full.height));
        assert_eq!(quick.step * quick.width as f64, full.step * full.width as f64);
    }

    #[test]
    fn every_variant_is_right() {
        // Without a JDK there is nothing to test; a guest that does not compile is a fault.
        let jdk = match Jdk::find() {
            Ok(jdk) => jdk,
            Err(why) => {
                println!("SKIPPED every_variant_is_right: {why}");
                return;
            }
        };
        let folder = Jvm.prepare(&|| false).unwrap().unwrap();
        // So many threads once, and a JVM of its own for one class only.
        let quick = design(&jdk, 2, Size::Quick).variants.into_iter();
        let full = design(&jdk, 2, Size::Full).variants.into_iter();
        let variants = quick
            .filter(|variant| variant.name != "platform synchronized 512")
            .chain(full.filter(|variant| variant.name == "class idle"));
        let is_absent = |why: &Fault| {
            ["unable to create native thread", "no more threads"]
                .iter()
                .any(|words| why.0.contains(words))
        };
        let mut troupe = Troupe::open(&jdk, folder.path(), 2, VIEWS[0]).unwrap();
        for variant in variants {
            let samples = match troupe.turn(&variant) {
                Err(why) if is_absent(&why) => {
                    println!("SKIPPED {}: {why}", variant.name);
                    continue;
                }
                samples => samples.unwrap(),
            };
            let is_checked = variant.level("work") != "priorities";
            assert_eq!(samples[0].check == Check::Passed, is_checked, "{}", variant.name);
        }
    }
}
