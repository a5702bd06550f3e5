//! What the study printed, and what differs from today's figures. Its ratios stand in the verdicts, case by case.

use super::design::{MOST, name};
use super::{BASE_THREADS, KERNEL_THREADS};
use crate::experiments::guest::{DRAW_CPU_TIME, TIME};
use crate::harness::{Historic, Nearest};

const SOURCE: &str =
    "study of 2006 on scaling Java threads (Sun HotSpot 1.5, Windows XP Professional 32 bit)";

const RATIO: &str = "The study prints no time, only this ratio, and its machine had two CPUs.";
const OF_CPU_TIME: &str =
    "The study does not say against how many threads; today's are 512 against 2.";
const WINDOWS: &str = "Windows' base priorities count upwards from 1 to 31; nice values count downwards from 19 to -20.";
const BOUNDED: &str = "`start` stops long before any limit; `thread-limit` reads the limits.";
const ADVANTAGE: &str =
    "The study prints what is saved, of very many threads; today's is the change with 512.";
const OF_MANY: &str =
    "The factor of two CPUs over one, towards 512 threads; today's is that of all CPUs here.";

/// In the order of the study's cases.
pub(super) fn all() -> Vec<Historic> {
    let mut all = vec![
        ratio("case 1: two threads on two CPUs", 2.0, SPEED_UP),
        Historic::new("case 2: threads of the JVM itself", 13.0, "", BASE_THREADS)
            .beside("start platform")
            .means(BASE),
        Historic::new("case 2: most threads", 7146.0, "", KERNEL_THREADS)
            .means(UNTIL)
            .differs(BOUNDED),
    ];
    all.extend(BASE_PRIORITIES.iter().flat_map(|(lowest, highest, range)| {
        let of = |label, value, metric| {
            let figure = Historic::new(label, value, "", metric).differs(WINDOWS);
            figure.means("Base priority under Windows.")
        };
        [of(*lowest, range[0], "nice-1"), of(*highest, range[1], "nice-10")]
    }));
    all.extend([
        ratio("case 8: 512 threads against few", 1.0, SAME),
        growth("case 9: synchronized method", 20.0),
        growth("case 9: a lock for each pixel", 18.0),
        ratio("case 9: the same, 512 threads", 1.63, SCALING).differs(OF_MANY),
        growth("case 9: with an AtomicInteger", 5.0),
        growth("case 9: advantage of it", 15.0).means(LESS).differs(ADVANTAGE),
        ratio("case 10: JOMP against own threads", 1.0, JOMP),
    ]);
    all.into_iter().map(|figure| figure.printed_in(SOURCE)).collect()
}

/// A ratio of times.
fn ratio(label: &'static str, value: f64, definition: &'static str) -> Historic {
    Historic::new(label, value, "times", TIME.name).means(definition).differs(RATIO)
}

/// Of the CPU time, up to 512 threads.
fn growth(label: &'static str, value: f64) -> Historic {
    Historic::new(label, value, "%", DRAW_CPU_TIME.name).means(GROWTH).differs(OF_CPU_TIME)
}

/// What of today is nearest: two threads, as in the study, and the ratio that it formed.
pub(super) fn nearest(old: &Historic) -> Vec<Nearest> {
    let picture = |writing: &str, threads| name::picture("platform", writing, threads);
    let of = |metric, variant, from| vec![Nearest::ratio(metric, variant, from)];
    let growth = |lock: &str| of(DRAW_CPU_TIME.name, picture(lock, MOST), picture(lock, 2));
    match old.label {
        "case 1: two threads on two CPUs" => {
            of(TIME.name, picture("unlocked", 1), picture("unlocked", 2))
        }
        "case 8: 512 threads against few" => {
            of(TIME.name, picture("unlocked", MOST), picture("unlocked", 2))
        }
        "case 9: synchronized method" => growth("synchronized"),
        "case 9: a lock for each pixel" => growth("pixel-locks"),
        "case 9: with an AtomicInteger" => growth("pixel-locks-atomic"),
        "case 9: the same, 512 threads" => {
            let on_one = name::on_one("platform", "pixel-locks", MOST);
            of(TIME.name, on_one, picture("pixel-locks", MOST))
        }
        "case 9: advantage of it" => {
            let locked = picture("pixel-locks", MOST);
            of(DRAW_CPU_TIME.name, picture("pixel-locks-atomic", MOST), locked)
        }
        "case 10: JOMP against own threads" => {
            of(TIME.name, name::picture("fork-join", "unlocked", 2), picture("unlocked", 2))
        }
        priorities => nice_value(old.metric, priorities).into_iter().collect(),
    }
}

/// The nice value to show for the base priority of a class of processes.
fn nice_value(metric: &'static str, label: &str) -> Option<Nearest> {
    let (cases, rest) = label.split_once(": ")?;
    let (class, _) = rest.split_once(", ")?;
    let variant = match cases {
        "case 3 and 4" => "priorities".into(),
        "case 4" => format!("class {}", class.replace(' ', "-")),
        _ => return None,
    };
    Some(Nearest::of(metric, variant))
}

const SPEED_UP: &str = "Time of one thread divided by that of two, on two CPUs.";
const BASE: &str =
    "Threads of the JVM before the program starts one of its own, with that of `main`.";
const UNTIL: &str = "Threads until each further one led to an out-of-memory exception.";
const SAME: &str =
    "Time of 512 threads without locks against that of two: no difference was found.";
const GROWTH: &str = "Growth of the CPU time of a picture up to 512 threads, two CPUs.";
const SCALING: &str = "How much faster two CPUs are than one.";
const LESS: &str = "What a count without a lock saves with very many threads.";
const JOMP: &str = "Time of a loop made parallel by JOMP's directives against that of own threads.";

/// Lowest and highest of Java's priorities in each class of processes.
const BASE_PRIORITIES: [(&str, &str, [f64; 2]); 6] = [
    ("case 4: idle, lowest", "case 4: idle, highest", [2.0, 6.0]),
    ("case 4: below normal, lowest", "case 4: below normal, highest", [4.0, 8.0]),
    ("case 3 and 4: normal, lowest", "case 3 and 4: normal, highest", [6.0, 10.0]),
    ("case 4: above normal, lowest", "case 4: above normal, highest", [8.0, 12.0]),
    ("case 4: high, lowest", "case 4: high, highest", [11.0, 15.0]),
    ("case 4: realtime, lowest", "case 4: realtime, highest", [22.0, 26.0]),
];
