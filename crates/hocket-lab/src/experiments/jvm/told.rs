//! What the rows say, case by case, beside what the study found.

use super::design::{
    CLASSES, COUNTERS, KINDS, LOADED, LOCKS, MOST, SAME_NICE, STUDIED_LOCKS, name,
};
use super::{BASE_THREADS, KERNEL_THREADS, OWN, PRIORITIES};
use crate::experiments::calculators::case_7;
use crate::experiments::drawing::THREADS;
use crate::experiments::guest::{DRAW_CPU_TIME, INVOLUNTARY, TIME, VOLUNTARY, overhead};
use crate::harness::{NamedRatio, Results, Sentence, ratios_sentence};

pub(super) fn all(results: &Results) -> Vec<Sentence> {
    // The first variant is the picture by as many threads as CPUs.
    let first = results.designed().first().map_or("", |variant| variant.level("threads"));
    let Ok(all) = first.parse() else { return Vec::new() };
    let of = Of { results, all };
    let before = [of.kinds(), of.locks(), of.counters(), of.virtual_ones(), of.kits()];
    let cases = [of.case_1(), of.switches(), of.case_2(), of.case_3(), of.case_4(), of.case_5()];
    let more = [of.case_6(), of.case_7(), of.case_8(), of.case_8_on_one()];
    let locks = STUDIED_LOCKS.into_iter().map(|lock| of.case_9(lock));
    let last = [of.advantage(), of.scaling(), of.case_10(), of.case_10_on_one(), overhead(results)];
    let all = before.into_iter().chain(cases).chain(more).chain(locks).chain(last);
    all.flatten().collect()
}

/// The results, and as many threads as CPUs.
struct Of<'a> {
    results: &'a Results,
    all: usize,
}

fn picture(writing: &str, threads: usize) -> String {
    name::picture("platform", writing, threads)
}

fn on_one(writing: &str, threads: usize) -> String {
    name::on_one("platform", writing, threads)
}

fn time(label: impl Into<String>, reference: String, candidate: String) -> NamedRatio {
    NamedRatio::new(label, reference, candidate, TIME.name)
}

/// In time and in CPU time.
fn both(reference: &str, candidate: &str) -> [NamedRatio; 2] {
    [("time", TIME.name), ("CPU time", DRAW_CPU_TIME.name)]
        .map(|(label, metric)| NamedRatio::new(label, reference, candidate, metric))
}

impl Of<'_> {
    fn told(&self, head: &str, pairs: &[NamedRatio]) -> Option<Sentence> {
        ratios_sentence(self.results, head, pairs)
    }

    fn median(&self, variant: &str, metric: &str) -> Option<f64> {
        self.results.median(variant, metric)
    }

    fn kinds(&self) -> Option<Sentence> {
        let all = self.all;
        let head = format!("a picture by {all} threads, time against platform threads");
        let label =
            |kind: &str| if kind == OWN { "the lab's own kernel".into() } else { kind.to_owned() };
        let pair = |kind| {
            time(label(kind), picture("unlocked", all), name::picture(kind, "unlocked", all))
        };
        self.told(&head, &KINDS.map(pair))
    }

    fn locks(&self) -> Option<Sentence> {
        let all = self.all;
        let head = format!("a lock or a count for each pixel, {all} threads, time against none");
        let pair = |lock| time(lock, picture("unlocked", all), picture(lock, all));
        self.told(&head, &LOCKS.map(pair))
    }

    fn counters(&self) -> Option<Sentence> {
        let of = |way| name::counter("platform", way, self.all);
        let pair = |way| time(way, of(COUNTERS[0]), of(way));
        let head = format!("one counter, {} threads, time against an atomic one", self.all);
        self.told(&head, &[1, 2, 3].map(|at| pair(COUNTERS[at])))
    }

    fn virtual_ones(&self) -> Option<Sentence> {
        let counter = |way: &str| {
            let of = |kind| name::counter(kind, way, self.all);
            time(format!("{way} counter"), of("platform"), of("virtual"))
        };
        let of = |kind| name::picture(kind, "synchronized", self.all);
        let drawn = time("synchronized picture", of("platform"), of("virtual"));
        let starts = time("their start", "start platform".into(), "start virtual".into());
        let pairs: Vec<NamedRatio> =
            COUNTERS.into_iter().map(counter).chain([drawn, starts]).collect();
        self.told("virtual threads, time against platform threads", &pairs)
    }

    fn kits(&self) -> Option<Sentence> {
        let designed = self.results.designed();
        let newest = designed.first()?.level("jdk");
        let others = designed.iter().filter_map(|it| {
            let (reference, _) = it.name.split_once(" jdk-")?;
            let label = format!("{} {}", it.level("jdk"), it.level("writing"));
            Some(time(label, reference.into(), it.name.clone()))
        });
        let head = format!("other JDKs, time against {newest}");
        self.told(&head, &others.collect::<Vec<_>>())
    }

    fn case_1(&self) -> Option<Sentence> {
        let all = self.all;
        let head = format!(
            "case 1, {all} threads against one (2006, two threads on two CPUs: half the time, the same CPU time)"
        );
        self.told(&head, &both(&picture("unlocked", 1), &picture("unlocked", all)))
    }

    fn switches(&self) -> Option<Sentence> {
        let all = self.all;
        let of = |label: String, variant: String| {
            let of = |metric| self.median(&variant, metric);
            let (voluntary, involuntary) = (of(VOLUNTARY.name)?, of(INVOLUNTARY.name)?);
            Some(format!("{label} {voluntary:.0} and {involuntary:.0}"))
        };
        let told: Vec<String> = [
            of("one thread".into(), picture("unlocked", 1)),
            of(format!("{all} threads"), picture("unlocked", all)),
            of(format!("{all} threads on one CPU"), on_one("unlocked", all)),
            of(format!("{MOST} threads"), picture("unlocked", MOST)),
            of(format!("{MOST} threads on one CPU"), on_one("unlocked", MOST)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!(
            "case 1, context switches of the JVM for a picture, voluntary and involuntary (2006: more on two CPUs): {}",
            told.join(", ")
        );
        (!told.is_empty()).then(|| Sentence::fact(text))
    }

    fn case_2(&self) -> Option<Sentence> {
        let each = self.median("start platform", KERNEL_THREADS)?;
        let base = self.median("start platform", BASE_THREADS)?;
        let light = self.median("start virtual", KERNEL_THREADS);
        let light = light
            .map_or(String::new(), |each| format!(", {:.2} for a virtual thread", each.max(0.0)));
        Some(Sentence::fact(format!(
            "case 2, threads of the system (2006: one for each thread of Java, and 13 of the JVM): {each:.2} for a platform \
             thread{light}, and {base:.0} of the JVM"
        )))
    }

    /// The nice values of the priorities 1 to 10 in one variant.
    fn nice_values(&self, variant: &str) -> Option<Vec<String>> {
        let of = |metric: &&'static str| Some(format!("{:.0}", self.median(variant, metric)?));
        PRIORITIES.iter().map(of).collect()
    }

    fn case_3(&self) -> Option<Sentence> {
        let values = self.nice_values("priorities")?;
        let mut levels = values.clone();
        levels.dedup();
        let text = format!(
            "case 3, Java's priorities 1 to 10 are {} levels (2006: five of Windows): nice values {}",
            levels.len(),
            values.join(", ")
        );
        Some(Sentence::fact(text))
    }

    fn case_4(&self) -> Option<Sentence> {
        let class = |(class, nice): (&str, &str)| {
            let values = self.nice_values(&format!("class {class}"))?;
            let (first, last) = (values.first()?, values.last()?);
            Some(format!("{nice}: {first} to {last}"))
        };
        let classes: Vec<String> = CLASSES.into_iter().map(class).collect::<Option<_>>()?;
        let range = |told: &String| told.split_once(": ").map(|(_, range)| range.to_owned());
        let is_one = classes.windows(2).all(|two| range(&two[0]) == range(&two[1]));
        let alike =
            if is_one { " (the same in each: the JVM sets them as absolute values)" } else { "" };
        let text = format!(
            "case 4, nice values of Java's priorities 1 and 10 by that of the process (2006: each class of processes moves \
             the range): {}{alike}",
            classes.join("; ")
        );
        Some(Sentence::fact(text))
    }

    fn case_5(&self) -> Option<Sentence> {
        let (priority, nice) = SAME_NICE;
        let by_thread = name::loaded(&format!("priority {priority}"), self.all);
        let by_process = name::loaded("process-nice", self.all);
        let head = format!(
            "case 5, nice value {nice} of the process against priority {priority} of its threads (2006: equal)"
        );
        self.told(&head, &both(&by_thread, &by_process))
    }

    fn case_6(&self) -> Option<Sentence> {
        let all = self.all;
        let alone = name::loaded(&format!("priority {}", LOADED[0]), 0);
        let pair = |(priority, count): (u32, usize)| {
            let beside = name::loaded(&format!("priority {priority}"), count);
            time(format!("priority {priority} beside {count}"), alone.clone(), beside)
        };
        let counts = if all > 1 { vec![1, all] } else { vec![all] };
        let pairs = counts.iter().flat_map(|count| [2, 5, 8].map(|priority| (priority, *count)));
        let head = format!(
            "case 6, {all} threads beside calculators of nice value 0, time against priority {} alone (2006: below them \
             hardly any CPU time, above them as if alone)",
            LOADED[0]
        );
        self.told(&head, &pairs.map(pair).collect::<Vec<_>>())
    }

    fn case_7(&self) -> Option<Sentence> {
        case_7(self.results, self.all, picture("unlocked", self.all), &on_one("unlocked", self.all))
    }

    fn case_8(&self) -> Option<Sentence> {
        let all = self.all;
        let pair = |n: usize| time(n.to_string(), picture("unlocked", all), picture("unlocked", n));
        let head = format!("case 8, time by the number of threads against {all} (2006: no change)");
        self.told(&head, &self.more().map(pair).collect::<Vec<_>>())
    }

    fn case_8_on_one(&self) -> Option<Sentence> {
        let all = self.all;
        let pair = |n: usize| time(n.to_string(), on_one("unlocked", all), on_one("unlocked", n));
        let head = format!("case 8, the same on one CPU, against {all} (2006: no change)");
        self.told(&head, &self.more().map(pair).collect::<Vec<_>>())
    }

    /// Numbers of threads above that of the CPUs.
    fn more(&self) -> impl Iterator<Item = usize> {
        let all = self.all;
        THREADS.into_iter().filter(move |threads| *threads > all)
    }

    fn case_9(&self, lock: &str) -> Option<Sentence> {
        let all = self.all;
        let found = match lock {
            "synchronized" => "time and CPU time +20 %, on one CPU a jump",
            "pixel-locks" => "CPU time +18 %, on one CPU no change",
            _ => "time and CPU time +5 %, on one CPU no change",
        };
        let on_one_cpu = time("time on one CPU", on_one(lock, all), on_one(lock, MOST));
        let growth = both(&picture(lock, all), &picture(lock, MOST));
        let pairs: Vec<NamedRatio> = growth.into_iter().chain([on_one_cpu]).collect();
        self.told(&format!("case 9, {lock}, {MOST} threads against {all} (2006: {found})"), &pairs)
    }

    fn advantage(&self) -> Option<Sentence> {
        let of = |writing| picture(writing, MOST);
        let head = format!(
            "case 9, a lock for each pixel, {MOST} threads, atomic count against a synchronized one (2006: about 15 % less)"
        );
        self.told(&head, &both(&of("pixel-locks"), &of("pixel-locks-atomic")))
    }

    fn scaling(&self) -> Option<Sentence> {
        let pair = |lock: &str| time(lock, on_one(lock, MOST), picture(lock, MOST));
        let locks = ["unlocked"].into_iter().chain(STUDIED_LOCKS);
        let head = format!(
            "case 9, {MOST} threads, time on all CPUs against one (2006, two CPUs: -39 % with a lock for each pixel, almost \
             -50 % without)"
        );
        self.told(&head, &locks.map(pair).collect::<Vec<_>>())
    }

    fn case_10(&self) -> Option<Sentence> {
        let of = |kind, n| name::picture(kind, "unlocked", n);
        let pair = |n: usize| time(n.to_string(), of("platform", n), of("fork-join", n));
        self.told(JOMP, &self.numbers().map(pair).collect::<Vec<_>>())
    }

    fn case_10_on_one(&self) -> Option<Sentence> {
        let of = |kind, n| name::on_one(kind, "unlocked", n);
        let pair = |n: usize| time(n.to_string(), of("platform", n), of("fork-join", n));
        let head =
            "case 10, the same on one CPU, where the busy wait takes the CPU from the others";
        self.told(head, &self.numbers().map(pair).collect::<Vec<_>>())
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        let all = self.all;
        let is_new = !THREADS.contains(&all);
        is_new.then_some(all).into_iter().chain(THREADS)
    }
}

const JOMP: &str = "case 10, a static loop of fork-join tasks whose join waits busily, time against own threads by their number \
                    (2006, JOMP: no difference)";

#[cfg(test)]
mod tests {
    use super::super::design::design;
    use super::*;
    use crate::experiments::guest::measured;
    use crate::guest::tools::Jdk;
    use crate::harness::{Size, Standing};

    fn told(size: Size, figures: &[(&str, &'static str, f64)]) -> Vec<Sentence> {
        let kits = ["25.0.3", "17.0.15"].map(Jdk::described);
        all(&measured(design(&kits, &[0, 1], size), figures))
    }

    #[track_caller]
    fn says(sentences: &[Sentence], words: &[&str]) {
        let has = |it: &&Sentence| words.iter().all(|words| it.text.contains(words));
        let found = sentences.iter().find(has);
        let texts: Vec<&str> = sentences.iter().map(|it| it.text.as_str()).collect();
        assert!(found.is_some_and(|it| it.standing == Standing::Shown), "{words:?} in {texts:#?}");
    }

    #[test]
    fn cases_stand_beside_what_the_study_found() {
        let time = TIME.name;
        let cpu = DRAW_CPU_TIME.name;
        let mut figures = vec![
            ("platform unlocked 2", time, 10.0),
            ("platform unlocked 2", cpu, 20.0),
            ("platform unlocked 1", time, 20.0),
            ("platform unlocked 1", cpu, 20.0),
            ("platform unlocked 512", time, 11.0),
            ("platform unlocked 2 one-cpu", time, 20.0),
            ("platform unlocked 2 one-cpu calculator", time, 40.0),
            ("platform unlocked 512 one-cpu", time, 22.0),
            ("platform pixel-locks 2", cpu, 20.0),
            ("platform pixel-locks 512", cpu, 24.0),
            ("platform pixel-locks 512", time, 20.0),
            ("platform pixel-locks 512 one-cpu", time, 32.6),
            ("platform pixel-locks-atomic 512", cpu, 21.0),
            ("fork-join unlocked 2", time, 15.0),
            ("platform unlocked 2 jdk-17", time, 12.0),
            ("start platform", KERNEL_THREADS, 1.0),
            ("start platform", BASE_THREADS, 19.0),
            ("start virtual", KERNEL_THREADS, 0.02),
            ("platform unlocked 2", VOLUNTARY.name, 12.0),
            ("platform unlocked 2", INVOLUNTARY.name, 7.0),
        ];
        figures.extend(PRIORITIES.iter().map(|metric| ("priorities", *metric, 4.0)));
        let told = told(Size::Full, &figures);
        says(&told, &["case 1, 2 threads against one", "time -50.0 %", "CPU time +0.0 %"]);
        says(&told, &["case 1, context switches", "2 threads 12 and 7"]);
        says(&told, &["case 2", "1.00 for a platform thread, 0.02 for a virtual", "19 of the JVM"]);
        says(&told, &["case 3", "1 levels"]);
        says(&told, &["case 7", "against all CPUs +100", "anywhere against none +100"]);
        says(&told, &["case 9, pixel-locks, 512", "CPU time +20.0 %"]);
        says(&told, &["atomic count against", "CPU time -12.5 %"]);
        says(&told, &["2006, two CPUs: -39 %", "unlocked -50.0 %", "pixel-locks -38.7 %"]);
        says(&told, &["case 10", "2 +50.0 %"]);
        says(&told, &["other JDKs", "against 25.0.3", "17.0.15 unlocked +20.0 %"]);
        says(&told, &["platform threads: fork-join +50.0 %"]);
        assert!(!told.iter().any(|it| it.text.contains("case 5")), "nothing was measured for it");
    }

    #[test]
    fn results_of_nothing_say_nothing() {
        assert_eq!(told(Size::Quick, &[]), []);
    }
}
