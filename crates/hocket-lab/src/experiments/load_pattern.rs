//! `load-pattern`: which thread runs what where and when, from a file.

mod perform;

use std::sync::OnceLock;

use crate::harness::{
    About, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Parameter, Plot,
    Results, Rounds, Sample, Section, Sentence, Size, Span, Variant,
};
use crate::patterns::{LoadPattern, PatternError};
use perform::Performance;

/// See [`About`].
pub struct LoadPatterns;

static ABOUT: About = About {
    id: "load-pattern",
    section: Section::Audio,
    question: "Which thread runs when, if several want the same seats?",
    origin: "the 2009 thesis on SMT in audio engines, 7.2.2 to 7.2.6: the prototype with which it found out",
    method: "A pattern says for each thread which kernel it runs, for how long, on which seat, in which class and from \
             when on. All begin together; each notes when it began and ended. The thesis' own examples are built \
             in; `hocket lab run load-pattern --pattern FILE` runs one from a file. docs/lab.md teaches the language. \
             Every kernel checks its result.",
    limits: "Begin and end of each thread, not what happened between: who was put aside for how long shows in how long \
             it took. The page of `hocket bench` shows every unit of the engine itself. The built-in patterns run filters, \
             the thesis correlated two channels: `correlation` in a file does that.",
    metrics: METRICS,
    parameters: &[Parameter::new("patterns", &BUILT_IN)],
};

/// Declares begin, end and work of so many threads.
macro_rules! of_threads {
    ($($n:literal)*) => {
        /// What is told of the thread of this number.
        const METRICS: &[Metric] = &[
            Metric::less("all", "ms")
                .means("From the first thread's beginning to the last one's end."),
            $(Metric::fact(concat!("begin-", $n), "ms")
                .means(concat!("When thread ", $n, " of the pattern began, after the first.")),
            Metric::less(concat!("time-", $n), "ms")
                .means(concat!("From there to the end of thread ", $n, " of the pattern.")),)*
        ];
    };
}
of_threads!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

/// The figures of the thesis as patterns, for the machines that have their seats, and `two-cores` to compare with.
const BUILT_IN: [(&str, &str); 6] = [
    ("one-cpu", include_str!("load_pattern/one_cpu.txt")),
    ("two-cores", include_str!("load_pattern/two_cores.txt")),
    ("pairs", include_str!("load_pattern/pairs.txt")),
    ("priorities", include_str!("load_pattern/priorities.txt")),
    ("gain", include_str!("load_pattern/gain.txt")),
    ("idle-thread", include_str!("load_pattern/idle_thread.txt")),
];

/// A pattern from the command line, in place of those that are built in.
static ASKED: OnceLock<String> = OnceLock::new();

/// From now on `load-pattern` runs this pattern; once a process.
///
/// # Errors
/// [`PatternError`], and nothing changes.
pub fn ask_for(text: &str) -> Result<(), PatternError> {
    LoadPattern::parse(text)?;
    // A second one in the same process is not asked for by anybody.
    let _ = ASKED.set(text.to_string());
    Ok(())
}

impl Experiment for LoadPatterns {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds =
            Rounds { processes: size.pick(1, 3), per_process: size.pick(10, 40), warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        let asked = ASKED.get().map(|text| ("asked", text.as_str()));
        let patterns = asked.map_or(BUILT_IN.to_vec(), |asked| vec![asked]);
        for (name, text) in patterns {
            let pattern = LoadPattern::parse(text).map_err(NotMeasurable::new)?;
            match Performance::possible(&pattern, host) {
                Err(why) => design.missing.push((name.into(), why)),
                Ok(_) => design.variants.push(Variant::new(name).with("pattern", text).crowded()),
            }
        }
        match design.variants.is_empty() {
            false => Ok(design),
            true => {
                let whys: Vec<&str> = design.missing.iter().map(|(_, why)| why.as_str()).collect();
                Err(NotMeasurable::new(whys.join("; ")))
            }
        }
    }

    fn turn_ms(&self) -> f64 {
        34.0
    }

    fn open(&self, host: &Host, _: Size, design: &Design) -> Opened {
        let possible = |variant: &Variant| {
            let pattern =
                LoadPattern::parse(variant.level("pattern")).map_err(|e| e.to_string())?;
            Performance::possible(&pattern, host)
        };
        let all: Result<Vec<Performance>, String> = design.variants.iter().map(possible).collect();
        let all = all.map_err(NotMeasurable::new)?;
        Ok(Box::new(move |variant: usize| samples(&all[variant])))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        patterns(results).iter().map(|(name, pattern)| told(results, name, pattern)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        patterns(results).iter().map(|(name, pattern)| timeline(results, name, pattern)).collect()
    }
}

fn samples(performance: &Performance) -> Result<Vec<Sample>, Fault> {
    let threads = performance.perform()?;
    let first = threads.iter().map(|thread| thread.begin_ns).min().unwrap_or(0);
    let last = threads.iter().map(|thread| thread.end_ns).max().unwrap_or(0);
    let ms = |ns: u64| ns as f64 / 1e6;
    let all = threads.iter().map(|thread| thread.check.clone()).fold(Check::Passed, Check::and);
    let mut samples = vec![Sample::new("all", ms(last - first), 1, all)];
    for (number, thread) in threads.iter().enumerate() {
        let (begin, time) = (thread.begin_ns - first, thread.end_ns - thread.begin_ns);
        let check = || thread.check.clone();
        samples.push(Sample::new(&format!("begin-{number}"), ms(begin), 1, check()));
        samples.push(Sample::new(&format!("time-{number}"), ms(time), thread.passes, check()));
    }
    Ok(samples)
}

/// What was run, by variant, as the record keeps it.
fn patterns(results: &Results) -> Vec<(String, LoadPattern)> {
    let variants = results.designed();
    let read = |variant: &Variant| {
        let pattern = LoadPattern::parse(variant.level("pattern")).ok()?;
        Some((variant.name.clone(), pattern))
    };
    variants.iter().filter_map(read).collect()
}

fn told(results: &Results, name: &str, pattern: &LoadPattern) -> Sentence {
    let time = |(number, thread): (usize, &crate::patterns::LoadThread)| {
        let ms = results.median(name, &format!("time-{number}"))?;
        Some(format!("{} {ms:.2} ms", thread.name))
    };
    let times: Vec<String> = pattern.threads.iter().enumerate().filter_map(time).collect();
    Sentence::fact(format!("{name}: {}", times.join(", ")))
}

/// The median turn: a lane a thread.
fn timeline(results: &Results, name: &str, pattern: &LoadPattern) -> Plot {
    let span = |lane: usize| {
        let begin = results.median(name, &format!("begin-{lane}"))?;
        let time = results.median(name, &format!("time-{lane}"))?;
        let thread = &pattern.threads[lane];
        Some(Span {
            lane,
            from_ns: (begin * 1e6) as u64,
            to_ns: ((begin + time) * 1e6) as u64,
            label: thread.kernel.clone(),
        })
    };
    Plot::Timeline {
        title: format!("{name}: when each thread began and ended (medians)"),
        lanes: pattern.threads.iter().map(|thread| thread.name.clone()).collect(),
        spans: (0..pattern.threads.len()).filter_map(span).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_pattern_can_be_read() {
        for (name, text) in BUILT_IN {
            let pattern = LoadPattern::parse(text);
            assert!(pattern.is_ok(), "{name}: {pattern:?}");
        }
        let taught = include_str!("../../../../docs/lab.md");
        for text in [BUILT_IN[0].1, BUILT_IN[5].1] {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.for_each(|line| assert!(taught.contains(line), "docs/lab.md lacks: {line}"));
        }
        assert_eq!(METRICS.len(), 1 + 2 * LoadPattern::MOST_THREADS);
    }

    #[test]
    fn a_pattern_is_performed_and_told_as_a_timeline() {
        let host = Host::discover().unwrap();
        let text = "A: fp for 50 passes\nB: biquads for 1 ms from 1 ms with nice 5";
        let pattern = LoadPattern::parse(text).unwrap();
        let performance = Performance::possible(&pattern, &host).unwrap();
        let samples = samples(&performance).unwrap();
        assert_eq!(samples.len(), 5);
        assert!(samples.iter().all(|sample| sample.check == Check::Passed));
        let of = |metric: &str| samples.iter().find(|s| s.metric == metric).unwrap().value;
        // Which of them the machine lets begin first is its own business; how long B works at least is not.
        assert_eq!(of("begin-0").min(of("begin-1")), 0.0);
        assert!(of("time-1") >= 1.0);
    }

    #[test]
    fn seats_that_do_not_exist_are_told() {
        let host = Host::discover().unwrap();
        let pattern = LoadPattern::parse("A: fp for 1 passes on core 4000").unwrap();
        let refused = Performance::possible(&pattern, &host).err();
        assert!(refused.is_some_and(|why| why.contains("core 4000")));
    }
}
