//! `thread-scaling`: how many threads are enough.

use std::time::Duration;

use hocket_kernels::ThreadGroup;
use hocket_kernels::mandelbrot::Writing;
use hocket_kernels::pauses::{BlockingShare, Paused, PausedRun, passes_for};

use super::drawing::{CPU_TIME, Drawing, LONG, SWITCHES, THREADS, TIME, VIEW};
use super::words::series;
use crate::harness::{
    About, Axis, Check, Contrast, ContrastResult, Design, Experiment, Fault, Historic, Host, Mark,
    Metric, NamedRatio, Nearest, NotMeasurable, Opened, Parameter, Plot, Results, Rounds, Sample,
    Section, Sentence, Size, Variant, ratios_sentence,
};

/// See [`About`].
pub struct ThreadScaling;

static ABOUT: About = About {
    id: "thread-scaling",
    section: Section::Threads,
    question: "How many threads are enough?",
    origin: "study of 2006 on Java threads, test cases 1 and 8, and its rule threads = CPUs / (1 - blocked share)",
    method: "Threads draw the Mandelbrot set in 1016 by 718 pixels without locks, row by row; the picture must be right. \
             In a full run they also draw it with so many iterations that one CPU takes about a second, with 1, 2 and 512 threads: \
             the work of the study, beside which the start of 512 threads is little. Then threads do pieces of integer work of half a millisecond and sleep after each, so that they are \
             blocked for 0, 25 or 50 % of their time; all together do the same number of pieces, whatever the number \
             of threads, and each kernel's result is checked. The knee is the fewest threads that are within 5 % of the \
             shortest time. Threads run wherever the scheduler puts them.",
    limits: "A sleep lasts longer than asked for, so the blocking share is measured with one thread and the rule is applied \
             to what was measured. The rule supposes that sleeps of some threads always meet the work of others; \
             where they do not, a few threads more help. Other kinds of blocking (disk, locks) have other lengths. The study \
             does not print how long its picture took: that it was long is inferred.",
    metrics: &[
        TIME,
        CPU_TIME,
        SWITCHES,
        Metric::less("piece", "us")
            .means("From the first thread's beginning to the last one's end, divided by the pieces of all threads."),
        Metric::fact("blocked", "%")
            .means("Time in sleeps in percent of the time in pieces and sleeps, of all threads."),
        Metric::more("speed-up", "times")
            .means("Time with one thread divided by time with two, round by round; computed from `time`."),
        Metric::less("relative-time", "times")
            .means("Time with 512 threads divided by time with two, round by round; computed from `time`."),
        Metric::less("threads", "")
            .means("The knee: the fewest threads within 5 % of the shortest time; computed from `piece`."),
    ],
    parameters: &[
        Parameter::new("piece", &PIECE),
        Parameter::new("pieces", &PIECES),
        Parameter::new("view", &VIEW),
        Parameter::new("long", &LONG),
    ],
};

/// How long a piece takes where nothing disturbs it.
const PIECE: Duration = Duration::from_micros(500);
/// Of all threads together; divisible by the small numbers of threads.
const PIECES: u64 = 60;
/// What is as good as the shortest time.
const AS_GOOD: f64 = 1.05;

impl Experiment for ThreadScaling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let cpus = host.cpus.len();
        let mut design = Design::facts(Vec::new(), Rounds::few(size));
        let mut add = |kind: &str, threads: usize| {
            let variant =
                Variant::new(name(kind, threads)).with("work", kind).with("threads", threads);
            design.variants.push(variant.crowded_if(threads > cpus));
        };
        drawing_threads(cpus).into_iter().for_each(|threads| add(DRAWING, threads));
        if size == Size::Full {
            LONG_THREADS.into_iter().for_each(|threads| add(LONG_DRAWING, threads));
        }
        for share in BlockingShare::ALL {
            blocking_threads(cpus).into_iter().for_each(|threads| add(&blocked(share), threads));
        }
        design.contrasts = contrasts(&design, cpus);
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        28.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let drawing = Drawing::new().map_err(NotMeasurable::new)?;
        let long = match size {
            Size::Full => Some(Drawing::long().map_err(NotMeasurable::new)?),
            Size::Quick => None,
        };
        let passes = passes_for(PIECE);
        let turns = design.each(Turn::of)?;
        Ok(Box::new(move |variant: usize| match turns[variant] {
            Turn { threads, work: Work::Picture } => drawing.turn(threads, Writing::Unlocked),
            Turn { threads, work: Work::LongPicture } => match &long {
                Some(long) => long.turn(threads, Writing::Unlocked),
                None => Err(Fault::new("only a full run draws long pictures")),
            },
            Turn { threads, work: Work::Pieces(share) } => pieces(threads, passes, share),
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let rules = BlockingShare::ALL.into_iter().filter_map(|share| rule(results, share));
        let pictures = [LONG_DRAWING, DRAWING].into_iter().filter_map(|kind| drawn(results, kind));
        pictures.chain(rules).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let marks = vec![Mark { at: cpus_of(results) as f64, label: "CPUs".into() }];
        let line = |kind: String, metric: &str| {
            series(results, kind.clone(), metric, points(results, &kind))
        };
        let lines = |title: &str, unit: &str, metric: &str, kinds: Vec<String>| Plot::Lines {
            title: title.into(),
            x: Axis::log("threads", ""),
            y: Axis::log(metric, unit),
            series: kinds.into_iter().map(|kind| line(kind, metric)).collect(),
            marks: marks.clone(),
        };
        let shares = BlockingShare::ALL.map(blocked).to_vec();
        vec![
            lines("Time of a piece by the number of threads", "us", "piece", shares),
            lines("Time of a picture by the number of threads", "ms", "time", vec![DRAWING.into()]),
            lines("CPU time of a picture", "ms", "cpu-time", vec![DRAWING.into()]),
        ]
    }

    fn historic(&self) -> Vec<Historic> {
        vec![RULE]
    }

    /// What the third thread is worth, where two CPUs have threads that are blocked for a quarter of their time.
    fn nearest(&self, _: &Historic) -> Vec<Nearest> {
        let blocked = blocked(BlockingShare::ALL[1]);
        vec![Nearest::ratio("piece", name(&blocked, 3), name(&blocked, 2))]
    }
}

const DRAWING: &str = "mandelbrot";
const LONG_DRAWING: &str = "long-mandelbrot";
const LONG_THREADS: [usize; 3] = [1, 2, 512];

fn blocked(share: BlockingShare) -> String {
    format!("blocked-{}", share.as_percent())
}

fn name(kind: &str, threads: usize) -> String {
    format!("{kind} {threads}-threads")
}

/// Those of the study, and those around the number of CPUs.
fn drawing_threads(cpus: usize) -> Vec<usize> {
    let mut threads = THREADS.to_vec();
    threads.extend([cpus, cpus + 1, 2 * cpus]);
    sorted(threads)
}

/// Around what the rule says for 0, 25 and 50 %.
fn blocking_threads(cpus: usize) -> Vec<usize> {
    let by_rule = BlockingShare::ALL.map(|share| share.threads_for(cpus).ceil() as usize);
    let mut threads = by_rule.to_vec();
    threads.extend([1, cpus + 1, cpus * 5 / 2, 3 * cpus]);
    sorted(threads)
}

fn sorted(mut threads: Vec<usize>) -> Vec<usize> {
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn contrasts(design: &Design, cpus: usize) -> Vec<Contrast> {
    let contrast = |kind: &str, from: usize, to: usize, metric: &str| {
        let (from, to) = (design.index(&name(kind, from))?, design.index(&name(kind, to))?);
        (from != to).then(|| Contrast::new(from, to, metric))
    };
    let drawn = [(1, 2, "time"), (2, 512, "time"), (2, 512, "cpu-time")];
    let kinds = [DRAWING, LONG_DRAWING].into_iter();
    let drawn = kinds.flat_map(|kind| drawn.map(|(a, b, metric)| contrast(kind, a, b, metric)));
    let by_rule = BlockingShare::ALL.into_iter().filter_map(|share| {
        let threads = share.threads_for(cpus).ceil() as usize;
        contrast(&blocked(share), cpus, threads, "piece")
    });
    drawn.flatten().chain(by_rule).collect()
}

/// What a variant stands for.
struct Turn {
    threads: usize,
    work: Work,
}

enum Work {
    Picture,
    LongPicture,
    Pieces(BlockingShare),
}

impl Turn {
    fn of(variant: &Variant) -> Option<Turn> {
        let work = match variant.level("work") {
            DRAWING => Work::Picture,
            LONG_DRAWING => Work::LongPicture,
            kind => {
                let named = |share: &BlockingShare| blocked(*share) == kind;
                Work::Pieces(BlockingShare::ALL.into_iter().find(named)?)
            }
        };
        Some(Turn { threads: variant.level("threads").parse().ok()?, work })
    }
}

/// All pieces by so many threads.
fn pieces(threads: usize, passes: u64, share: BlockingShare) -> Result<Vec<Sample>, Fault> {
    let paused = Paused::new(passes, PIECE, share);
    let each = (PIECES / threads as u64).max(1);
    let run = ThreadGroup::anywhere(threads).run(|_| paused.run(each)).map_err(Fault::new)?;
    let outcome: Result<Vec<PausedRun>, _> = run.results.into_iter().collect();
    let (check, runs) = match outcome {
        Ok(runs) => (Check::Passed, runs),
        Err(wrong) => (Check::Failed(wrong.to_string()), Vec::new()),
    };
    let all = each * threads as u64;
    let sum = |of: fn(&PausedRun) -> Duration| runs.iter().map(of).sum::<Duration>().as_secs_f64();
    let (computing, sleeping) = (sum(|run| run.computing), sum(|run| run.sleeping));
    let sample = |metric, value| Sample::new(metric, value, all, check.clone());
    Ok(vec![
        sample("piece", run.elapsed.as_secs_f64() * 1e6 / all as f64),
        sample("blocked", 100.0 * sleeping / (computing + sleeping).max(1e-9)),
    ])
}

/// Numbers of threads and variants of one kind of work, as the rows know them.
fn points(results: &Results, kind: &str) -> Vec<(f64, String)> {
    let variants = results.designed();
    let of_kind = variants.iter().filter(|variant| variant.level("work") == kind);
    of_kind.filter_map(|v| Some((v.level("threads").parse().ok()?, v.name.clone()))).collect()
}

/// As many CPUs as the design was made for: no variant with more threads is uncrowded.
pub(super) fn cpus_of(results: &Results) -> usize {
    let variants = results.designed();
    let own = variants.iter().filter(|variant| !variant.crowded);
    own.filter_map(|variant| variant.level("threads").parse().ok()).max().unwrap_or(1)
}

/// The fewest threads within 5 % of the shortest time.
fn knee(times: &[(f64, f64)]) -> Option<f64> {
    let shortest = times.iter().map(|(_, time)| *time).reduce(f64::min)?;
    let enough = times.iter().filter(|(_, time)| *time <= AS_GOOD * shortest);
    enough.map(|(threads, _)| *threads).reduce(f64::min)
}

fn knee_of(results: &Results, kind: &str, metric: &str) -> Option<f64> {
    let time =
        |(threads, variant): (f64, String)| Some((threads, results.median(&variant, metric)?));
    // Where one number of threads is missing, the knee may be there.
    let all: Option<Vec<_>> = points(results, kind).into_iter().map(time).collect();
    knee(&all?)
}

/// Pictures of a few milliseconds tell nothing of those of 2006: there the start of 512 threads was nothing.
fn drawn(results: &Results, kind: &str) -> Option<Sentence> {
    let pair = |label: &str, then: &str, (from, to), metric: &'static str| {
        let label = if kind == LONG_DRAWING {
            format!("{label} (2006, 2 CPUs: {then})")
        } else {
            label.into()
        };
        NamedRatio::new(label, name(kind, from), name(kind, to), metric)
    };
    let same = "no change measurable";
    let pairs = [
        pair("time of 2 threads against 1", "halved", (1, 2), TIME.name),
        pair("of 512 against 2", same, (2, 512), TIME.name),
        pair(
            "CPU time of 512 against 2, with the start of the threads",
            same,
            (2, 512),
            CPU_TIME.name,
        ),
    ];
    let switches = |threads| {
        let median = results.median(&name(kind, threads), SWITCHES.name);
        median.map_or("unknown".into(), |n| format!("{n:.0}"))
    };
    let head = format!(
        "{kind} without locks, {} CPUs, {} context switches with 512 threads and {} with 2",
        cpus_of(results),
        switches(512),
        switches(2)
    );
    ratios_sentence(results, &head, &pairs)
}

/// The rule, with the share that was measured, against the knee.
fn rule(results: &Results, share: BlockingShare) -> Option<Sentence> {
    let kind = blocked(share);
    let cpus = cpus_of(results);
    let measured = results.median(&name(&kind, 1), "blocked")?;
    let ruled = cpus as f64 / (1.0 - (measured / 100.0).min(0.99));
    let knee = knee_of(results, &kind, "piece")?;
    // A share of 50.4 % instead of 50 asks for no thread more.
    let whole = (ruled - 0.1).ceil();
    let judged = match knee - whole {
        difference if difference > 0.0 => format!("{difference:.0} more than the rule says"),
        difference if difference < 0.0 => format!("{:.0} fewer than the rule says", -difference),
        _ => "as the rule says".to_string(),
    };
    // Between the knee and the rule's number there may be nothing but noise. The knee is picked among all points.
    let all = points(results, &kind);
    let near = |threads: f64| all.iter().find(|point| point.0 >= threads);
    let (few, many) = (knee.min(whole), knee.max(whole));
    let pair = near(few).zip(near(many)).filter(|_| knee != whole);
    let ratio =
        pair.map(|(a, b)| results.judged_of(&a.1, &b.1, "piece", all.len() * (all.len() - 1) / 2));
    let shown = ratio.as_ref().is_some_and(ContrastResult::is_shown);
    let judged =
        if shown || knee == whole { judged } else { format!("{judged}, which is not shown") };
    let text = format!(
        "blocked for {} % of the time (measured {measured:.0} %): the rule says {cpus} / (1 - {:.2}) = {ruled:.2}, so {:.0} \
         threads; {knee:.0} are enough, {judged}",
        share.as_percent(),
        measured / 100.0,
        whole
    );
    Some(Sentence::about(text, &ratio))
}

/// By the study's rule.
const RULE: Historic =
    Historic::new("rule for two CPUs and threads blocked for 25 %", 3.0, "", "threads")
        .beside("blocked-25 3-threads")
        .means("2 / (1 - 0.25) = 2.66, rounded up.")
        .differs("Computed by the rule, not measured.")
        .printed_in("study of 2006 on scaling Java threads, chapters 7.2 and 7.3 (Sun HotSpot 1.5, Windows XP, 2 CPUs)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_the_fewest_threads_that_are_as_good() {
        let times = [(1.0, 100.0), (2.0, 51.0), (3.0, 49.0), (8.0, 50.0)];
        assert_eq!(knee(&times), Some(2.0));
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn numbers_of_threads_surround_what_the_rule_says() {
        assert_eq!(drawing_threads(2), [1, 2, 3, 4, 8, 32, 128, 512]);
        assert_eq!(blocking_threads(2), [1, 2, 3, 4, 5, 6]);
        assert_eq!(blocking_threads(1), [1, 2, 3]);
        let design = ThreadScaling.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        assert!(design.index("blocked-25 6-threads").is_some(), "4 / 0.75 = 5.33");
        assert!(design.index("long-mandelbrot 512-threads").is_none(), "it takes too long");
        let design = ThreadScaling.design(&Host::described_with_smt(), Size::Full).unwrap();
        assert_eq!(design.fault(), None);
        assert!(LONG_THREADS.iter().all(|n| design.index(&name(LONG_DRAWING, *n)).is_some()));
    }

    #[test]
    fn pieces_are_shared_out_and_checked() {
        let none = BlockingShare::ALL[0];
        let half = BlockingShare::ALL[2];
        let found = pieces(3, 10, half).unwrap();
        assert!(found.iter().all(|s| s.check == Check::Passed && s.ops == PIECES));
        assert_eq!(found[1].metric, "blocked");
        assert_eq!(pieces(1, 10, none).unwrap()[1].value, 0.0);
    }
}
