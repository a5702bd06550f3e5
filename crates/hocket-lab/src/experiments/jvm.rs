//! `jvm`: the study of 2006 on Java threads, on the JVM of today.

mod design;
mod troupe;
mod told;
mod then;

use std::path::Path;

use hocket_kernels::mandelbrot::View;

use super::drawing::{THREADS, VIEW};
use super::guest::{CPU_TIME, DRAW_CPU_TIME, INVOLUNTARY, OVERHEAD, TIME, VOLUNTARY};
use crate::guest::tools::{self, Jdk};
use crate::harness::{
    About, Design, Experiment, Fault, Historic, Host, Metric, Nearest, NotMeasurable, Opened,
    Parameter, Prepared, Results, Section, Sentence, Size,
};
use troupe::Troupe;

/// See [`About`].
pub struct Jvm;

static ABOUT: About = About {
    id: "jvm",
    section: Section::Programs,
    question: "How do the JVM's threads and locks compare?",
    origin: "a study of thread scaling of 2006, test cases 1 to 10, on Sun HotSpot 1.5 under Windows XP",
    method: "A Java program, which the lab compiles, runs with the newest JDK that is installed, and shortly with at most two older \
             ones (`jdk-17`); with JAVA_HOME, with that one alone. It draws the \
             Mandelbrot set, row by row: 1016 by 718 pixels in a full run, half as wide and high in a quick one. Kinds: \
             `platform` threads, `virtual` threads (Java 21 and newer), parallel `stream`, and `fork-join`, in JOMP's place: a \
             piece of the picture for each thread, of which the one that asks draws the first, and then a join that waits busily. \
             A pixel is written `unlocked`; in a `synchronized` method \
             or under a `reentrant` lock, with a count; or under a lock of its own after counting in a synchronized method \
             (`pixel-locks`), an AtomicInteger (`pixel-locks-atomic`), or a LongAdder (`pixel-locks-adder`). `own` is the lab's own \
             kernel. `one-cpu` is a JVM that was started on one CPU; each turn reads back that all its threads are confined to it. \
             `calculator` is a thread of the lab of nice value 0 that computes all the time, anywhere, and with `calculator-apart` on the other \
             CPUs. A full run has 1 to 512 threads, on one CPU and on all. `counter` is one \
             counter that all threads increase. `start` is threads that are there at once: 100 in a quick run, 2000 in a full one. \
             `priorities` starts a thread of each priority from 1 to 10, in a JVM with -XX:ThreadPriorityPolicy=1, and reads its nice \
             value back. In that JVM, threads of priority 2, 5 and 8 draw beside no, one, and as many calculators as they are themselves. \
             Two threads of one nice value come to it in two ways: by priority 3, and \
             in a JVM that was started with `nice -n 2` (`process-nice`). A full run starts such JVMs with the nice values 19, 10, 0, -5, \
             -10 and -20, for Windows' six classes of processes (`class`). The checksum of each picture must be that of the lab, and each \
             count complete. Each JVM draws in every way before the first round, and the first round of a process start warms up.",
    limits: "A JVM compiles while it runs, and may not be done when the rounds begin. Garbage \
             collection and compiler threads are in `cpu-time`, and counting switches is, too; `draw-cpu-time` is that of the drawing threads, where \
             the JVM knows it. Switches include those of starting threads. Without the right to lower nice values, priorities above 5 have no effect, \
             and the figures show it. By default the JVM ignores priorities altogether. JVMs of other programs' kits are found in \
             /usr/lib/jvm and in PATH only.",
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
            DRAW_CPU_TIME,
            VOLUNTARY,
            INVOLUNTARY,
            OVERHEAD,
            CPU_TIME,
            Metric::fact(KERNEL_THREADS, "")
                .means("How many more threads the system counts in the JVM for each thread of Java that is started."),
            Metric::fact(BASE_THREADS, "")
                .means("Threads that the system counts in the JVM before the program starts one, with that of the program."),
            $(Metric::fact(concat!("nice-", $n), "")
                .means(concat!("The nice value that the system reports for a thread of Java's priority ", $n, ".")),)*
            Metric::fact(UNSET, "")
                .means("The nice value that the system reports for a thread whose priority nobody set."),
        ];
        const PRIORITIES: &[&str] = &[$(concat!("nice-", $n),)*];
    };
}
/// Of a thread as the JVM makes it.
const UNSET: &str = "nice-unset";
/// Of case 2.
const KERNEL_THREADS: &str = "kernel-threads";
/// Of case 2, too.
const BASE_THREADS: &str = "base-threads";

of_priorities!(1 2 3 4 5 6 7 8 9 10);

/// The program.
const SOURCE: &str = include_str!("../../../../guests/jvm/src/main/java/Guest.java");

/// Pictures of a quick and of a full run.
const VIEWS: [View; 2] = [View { width: 508, height: 359, step: VIEW.step * 2.0, ..VIEW }, VIEW];
/// Of all threads together.
const INCREMENTS: usize = 200_000;
/// Threads that are there at once.
const STARTED: [usize; 2] = [100, 2000];
/// The first Java with virtual threads.
const VIRTUAL_FROM: u32 = 21;

/// The factor that says on which CPUs the JVM may run.
const MASK: &str = "mask";
/// On all that the lab may use.
const ALL_CPUS: &str = "all";
/// On the first of them.
const ONE_CPU: &str = "one-cpu";
/// What the lab draws itself.
const OWN: &str = "own";

impl Experiment for Jvm {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        Ok(design::design(&Jdk::all()?, &host.cpus, size))
    }

    fn open(&self, _: &Host, _: Size, _: &Design) -> Opened {
        Err(NotMeasurable::new("the guest was not built"))
    }

    fn prepare(&self, is_ending: &dyn Fn() -> bool) -> Prepared {
        let folder = tools::folder()?;
        // The newest compiler makes what all of them run.
        Jdk::all()?[0].build(SOURCE, folder.path(), is_ending)?;
        Ok(Some(folder))
    }

    fn open_in(&self, host: &Host, size: Size, design: &Design, folder: Option<&Path>) -> Opened {
        let Some(folder) = folder else { return self.open(host, size, design) };
        let view = size.of(VIEWS);
        // Without a JVM, each turn says why: a guest is allowed to fail.
        let mut troupe = Troupe::open(&Jdk::all()?, folder, &host.cpus, view, &design.variants);
        let variants = design.variants.clone();
        Ok(Box::new(move |variant: usize| {
            let troupe = troupe.as_mut().map_err(|fault: &mut Fault| fault.clone())?;
            troupe.turn(&variants[variant])
        }))
    }

    fn turn_ms(&self) -> f64 {
        60.0
    }

    /// A compiler, and JVMs of several kinds that draw once.
    fn start_ms(&self) -> f64 {
        6000.0
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        told::all(results)
    }

    fn historic(&self) -> Vec<Historic> {
        then::all()
    }

    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        then::nearest(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn a_quick_picture_shows_the_same_part_of_the_plane() {
        let [quick, full] = VIEWS;
        assert_eq!((quick.width * 2, quick.height * 2), (full.width, full.height));
        assert_eq!(quick.step * quick.width as f64, full.step * full.width as f64);
    }

    #[test]
    fn every_variant_is_right() {
        // Without a JDK there is nothing to test; a guest that does not compile is a fault.
        let kits = match Jdk::all() {
            Ok(kits) => kits,
            Err(why) => {
                println!("SKIPPED every_variant_is_right: {why}");
                return;
            }
        };
        let folder = Jvm.prepare(&|| false).unwrap().unwrap();
        let cpus = Host::discover().unwrap().cpus;
        // 512 threads once, and one class: each is a JVM of its own.
        let of = |size| design::design(&kits, &cpus, size).variants;
        let mut variants = of(Size::Quick);
        let is_new = |name: &str| !variants.iter().any(|it| it.name == name);
        let is_large = |name: &str| name.contains(" 512") || name.contains(" 128");
        let is_one_class = |name: &str| !name.starts_with("class") || name == "class idle";
        let more = of(Size::Full).into_iter();
        let more =
            more.filter(|it| is_new(&it.name) && !is_large(&it.name) && is_one_class(&it.name));
        let small = |it: crate::harness::Variant| match it.level("width").is_empty() {
            true => it,
            false => it.with("width", VIEWS[0].width),
        };
        let more: Vec<_> = more.map(small).collect();
        variants.retain(|it| !is_large(&it.name) || it.name == "platform unlocked 512");
        variants.extend(more);
        let is_absent = |why: &Fault| {
            ["unable to create native thread", "no more threads"]
                .iter()
                .any(|words| why.0.contains(words))
        };
        let mut troupe = Troupe::open(&kits, folder.path(), &cpus, VIEWS[0], &variants).unwrap();
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
            let has = |metric: &str| samples.iter().any(|it| it.metric == metric);
            let is_guest = variant.level("kind") != OWN && variant.level("work") == "picture";
            assert_eq!(has(VOLUNTARY.name), is_guest || variant.level("work") == "counter");
            let knows = ["platform", "fork-join"].contains(&variant.level("kind"));
            assert_eq!(has(DRAW_CPU_TIME.name), knows && variant.level("work") != "start");
            assert!(samples.iter().all(|it| ABOUT.metric(&it.metric).is_some()));
        }
    }
}
