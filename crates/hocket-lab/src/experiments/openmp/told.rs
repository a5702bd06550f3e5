//! What the rows say, case by case, beside what the study found.

use super::{OWN, WAITS};
use crate::experiments::calculators::case_7;
use crate::experiments::drawing::THREADS;
use crate::experiments::guest::{DRAW_CPU_TIME, INVOLUNTARY, TIME, VOLUNTARY, overhead};
use crate::harness::{Historic, NamedRatio, Nearest, Results, Sentence, ratios_sentence};

/// The most threads of the study.
const MOST: usize = THREADS[THREADS.len() - 1];

pub(super) fn all(results: &Results) -> Vec<Sentence> {
    // The first variant is the static loop by as many threads as CPUs.
    let first = results.designed().first().map_or("", |variant| variant.level("threads"));
    let Ok(all) = first.parse() else { return Vec::new() };
    let of = Of { results, all };
    let loops = [of.loops(), of.waits(), of.own(), of.case_1(), of.switches(), of.case_7()];
    let more = [of.case_8("static"), of.case_8_on_one(), of.case_8("dynamic"), of.case_8("guided")];
    let last = [of.scaling(), of.case_10(), overhead(results)];
    loops.into_iter().chain(more).chain(last).flatten().collect()
}

/// The results, and as many threads as CPUs.
struct Of<'a> {
    results: &'a Results,
    all: usize,
}

fn free(loop_: &str, threads: usize) -> String {
    format!("{loop_} {threads}")
}

fn on_one(threads: usize) -> String {
    format!("static {threads} {}", super::ONE_CPU)
}

fn time(label: impl Into<String>, reference: String, candidate: String) -> NamedRatio {
    NamedRatio::new(label, reference, candidate, TIME.name)
}

impl Of<'_> {
    fn told(&self, head: &str, pairs: &[NamedRatio]) -> Option<Sentence> {
        ratios_sentence(self.results, head, pairs)
    }

    fn fixed(&self) -> String {
        free("static", self.all)
    }

    fn loops(&self) -> Option<Sentence> {
        let all = self.all;
        let pair = |loop_| time(loop_, self.fixed(), free(loop_, all));
        let head = format!("a picture by {all} threads, time against a static loop");
        self.told(&head, &["dynamic", "guided"].map(pair))
    }

    fn waits(&self) -> Option<Sentence> {
        let pair =
            |(wait, _): &(&str, _)| time(*wait, self.fixed(), format!("{} {wait}", self.fixed()));
        let head = "waiting at the end of the loop, time against libgomp's default";
        self.told(head, &WAITS[1..].iter().map(pair).collect::<Vec<_>>())
    }

    fn own(&self) -> Option<Sentence> {
        let pair = |n: usize| {
            let threads = if n == 1 { "one thread".into() } else { format!("{n} threads") };
            time(threads, free("static", n), free(OWN, n))
        };
        let head = "the lab's own kernel and threads, time against a static loop";
        self.told(head, &[1, self.all].map(pair))
    }

    fn case_1(&self) -> Option<Sentence> {
        let pair =
            |(label, metric)| NamedRatio::new(label, free("static", 1), self.fixed(), metric);
        let pairs = [("time", TIME.name), ("CPU time", DRAW_CPU_TIME.name)].map(pair);
        let head = format!(
            "case 1, {} threads against one (2006, two threads on two CPUs: half the time, the same CPU time)",
            self.all
        );
        self.told(&head, &pairs)
    }

    fn switches(&self) -> Option<Sentence> {
        let of = |label: String, variant: String| {
            let of = |metric| self.results.median(&variant, metric);
            let (voluntary, involuntary) = (of(VOLUNTARY.name)?, of(INVOLUNTARY.name)?);
            Some(format!("{label} {voluntary:.0} and {involuntary:.0}"))
        };
        let all = self.all;
        let told: Vec<String> = [
            of("one thread".into(), free("static", 1)),
            of(format!("{all} threads"), self.fixed()),
            of(format!("{all} threads on one CPU"), on_one(all)),
            of(format!("{MOST} threads"), free("static", MOST)),
            of(format!("{MOST} threads on one CPU"), on_one(MOST)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!(
            "case 1, context switches in the loop, voluntary and involuntary (2006: more on two CPUs): {}",
            told.join(", ")
        );
        (!told.is_empty()).then(|| Sentence::fact(text))
    }

    fn case_7(&self) -> Option<Sentence> {
        case_7(self.results, self.all, self.fixed(), &on_one(self.all))
    }

    fn case_8(&self, loop_: &str) -> Option<Sentence> {
        let all = self.all;
        let pair = |n: usize| time(n.to_string(), free(loop_, all), free(loop_, n));
        let head = format!(
            "case 8, {loop_} loop, time by the number of threads against {all} (2006: no change)"
        );
        self.told(&head, &self.more().map(pair).collect::<Vec<_>>())
    }

    fn case_8_on_one(&self) -> Option<Sentence> {
        let all = self.all;
        let pair = |n: usize| time(n.to_string(), on_one(all), on_one(n));
        let head = format!("case 8, static loop on one CPU, against {all} (2006: no change)");
        self.told(&head, &self.more().map(pair).collect::<Vec<_>>())
    }

    /// Numbers of threads above that of the CPUs.
    fn more(&self) -> impl Iterator<Item = usize> {
        let all = self.all;
        THREADS.into_iter().filter(move |threads| *threads > all)
    }

    fn scaling(&self) -> Option<Sentence> {
        let pair = |n: usize| time(format!("{n} threads"), on_one(n), free("static", n));
        let head = "case 8, time on all CPUs against one (2006, two CPUs: almost -50 %)";
        self.told(head, &[self.all, MOST].map(pair))
    }

    fn case_10(&self) -> Option<Sentence> {
        let spinning = format!("{} spinning", self.fixed());
        let pair = time("static loop", free(OWN, self.all), self.fixed());
        let busy = time("the same with a join that waits busily", free(OWN, self.all), spinning);
        let head = format!(
            "case 10, {} threads, time against own threads (2006, JOMP: no difference)",
            self.all
        );
        self.told(&head, &[pair, busy])
    }
}

/// What the study printed of these cases. Its ratios stand in the verdicts.
pub(super) fn historic() -> Vec<Historic> {
    let printed = |label, value| {
        let source = "study of 2006 on scaling Java threads (Sun HotSpot 1.5, Windows XP Professional 32 bit)";
        Historic::new(label, value, "times", TIME.name).differs(RATIO).printed_in(source)
    };
    vec![
        printed("case 1: two threads on two CPUs", 2.0)
            .means("Time of one thread divided by that of two, on two CPUs."),
        printed("case 8: 512 threads against few", 1.0).means(
            "Time of 512 threads without locks against that of two: no difference was found.",
        ),
        printed("case 10: JOMP against own threads", 1.0).means(
            "Time of a loop made parallel by JOMP's directives against that of own threads.",
        ),
    ]
}

const RATIO: &str = "The study prints no time, only this ratio, of Java threads on two CPUs.";

/// What of today is nearest: two threads, as in the study, and the ratio that it formed.
pub(super) fn nearest(old: &Historic) -> Vec<Nearest> {
    let (variant, from) = match old.label {
        "case 1: two threads on two CPUs" => (free("static", 1), free("static", 2)),
        "case 8: 512 threads against few" => (free("static", MOST), free("static", 2)),
        _ => (free("static", 2), free(OWN, 2)),
    };
    vec![Nearest::ratio(TIME.name, variant, from)]
}

#[cfg(test)]
mod tests {
    use super::super::design;
    use super::*;
    use crate::experiments::guest::measured;
    use crate::harness::{Size, Standing};

    #[test]
    fn cases_stand_beside_what_the_study_found() {
        let figures = [
            ("static 2", TIME.name, 10.0),
            ("static 1", TIME.name, 20.0),
            ("static 512", TIME.name, 10.0),
            ("static 2 one-cpu", TIME.name, 20.0),
            ("static 2 one-cpu calculator", TIME.name, 40.0),
            ("static 2 one-cpu calculator-apart", TIME.name, 20.0),
            ("own 2", TIME.name, 8.0),
            ("static 2", VOLUNTARY.name, 3.0),
            ("static 2", INVOLUNTARY.name, 1.0),
        ];
        let told = all(&measured(design(&[0, 1], Size::Full), &figures));
        let says = |words: &[&str]| {
            let found = told.iter().find(|it| words.iter().all(|words| it.text.contains(words)));
            assert!(found.is_some(), "{words:?} in {told:#?}");
            found.is_some_and(|it| it.standing == Standing::Shown)
        };
        assert!(says(&["case 1, 2 threads against one", "time -50.0 %"]));
        assert!(says(&["case 1, context switches", "2 threads 3 and 1"]));
        assert!(says(&["case 7", "all CPUs +100", "anywhere against none +100", "(not shown)"]));
        assert!(!says(&["case 8, static loop, time", "512 +0.0 %"]));
        assert!(says(&["case 8, time on all CPUs against one", "2 threads -50.0 %"]));
        assert!(says(&["case 10", "static loop +25.0 %"]));
    }

    #[test]
    fn results_of_nothing_say_nothing() {
        assert_eq!(all(&measured(design(&[0], Size::Quick), &[])), []);
    }
}
