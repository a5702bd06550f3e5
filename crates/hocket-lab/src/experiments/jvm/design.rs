//! What is varied: the ten test cases of the study, locks, counters, and kits.

use super::{ALL_CPUS, INCREMENTS, MASK, ONE_CPU, OWN, STARTED, VIEWS, VIRTUAL_FROM};
use crate::experiments::calculators::{self, Place};
use crate::experiments::drawing::THREADS;
use crate::experiments::guest::TIME;
use crate::guest::tools::Jdk;
use crate::harness::{Contrast, Design, Rounds, Size, Variant};

/// The most threads of the study.
pub(super) const MOST: usize = THREADS[THREADS.len() - 1];

/// Ways to write a pixel, of which case 9 compares three.
pub(super) const LOCKS: [&str; 5] =
    ["synchronized", "pixel-locks", "pixel-locks-atomic", "reentrant", "pixel-locks-adder"];
/// Those of case 9.
pub(super) const STUDIED_LOCKS: [&str; 3] = ["synchronized", "pixel-locks", "pixel-locks-atomic"];
/// What a quick run has time for.
const QUICK_LOCKS: [&str; 2] = ["synchronized", "pixel-locks-atomic"];
/// Ways to count.
pub(super) const COUNTERS: [&str; 4] = ["atomic", "adder", "synchronized", "reentrant"];
/// Ways to share the picture out, beside platform threads.
pub(super) const KINDS: [&str; 4] = ["virtual", "stream", "fork-join", OWN];

/// Work of a priority: the same as that of the load, which comes first, lower and higher.
pub(super) const LOADED: [u32; 3] = [5, 2, 8];
/// Windows' classes of processes as nice values.
pub(super) const CLASSES: [(&str, &str); 6] = [
    ("idle", "19"),
    ("below-normal", "10"),
    ("normal", "0"),
    ("above-normal", "-5"),
    ("high", "-10"),
    ("realtime", "-20"),
];
/// The priority whose nice value the other JVM has as a process.
pub(super) const SAME_NICE: (u32, &str) = (3, "2");

/// Names of variants that findings ask for.
pub(super) mod name {
    use super::super::ONE_CPU;

    pub fn picture(kind: &str, writing: &str, threads: usize) -> String {
        format!("{kind} {writing} {threads}")
    }

    pub fn on_one(kind: &str, writing: &str, threads: usize) -> String {
        format!("{} {ONE_CPU}", picture(kind, writing, threads))
    }

    pub fn counter(kind: &str, counter: &str, threads: usize) -> String {
        format!("counter {kind} {counter} {threads}")
    }

    pub fn loaded(way: &str, calculators: usize) -> String {
        format!("{way} calculators {calculators}")
    }

    /// Of another kit than the newest.
    pub fn of_kit(variant: &str, feature: u32) -> String {
        format!("{variant} jdk-{feature}")
    }
}

/// As many threads as CPUs, and at least the study's two.
pub(super) fn all(cpus: usize) -> usize {
    cpus.max(2)
}

pub(super) fn design(kits: &[Jdk], cpus: &[u32], size: Size) -> Design {
    let rounds = Rounds { processes: size.pick(3, 5), per_process: size.pick(6, 30), warm_up: 1 };
    let mut design = Design::facts(Vec::new(), rounds);
    let of = Of { jdk: &kits[0], cpus, size, all: all(cpus.len()) };
    of.pictures(&mut design);
    of.on_one_cpu(&mut design);
    of.beside_calculators(&mut design);
    of.counters(&mut design);
    of.starts(&mut design);
    of.priorities(&mut design);
    for other in &kits[1..] {
        Of { jdk: other, ..of }.as_other_kit(&mut design);
    }
    if !of.has_virtual() {
        let why = format!("this JDK is {}, and virtual threads came with Java 21", of.jdk.version);
        design.missing.push(("virtual".into(), why));
    }
    design.twinned()
}

/// What all variants are made of.
#[derive(Clone, Copy)]
struct Of<'a> {
    jdk: &'a Jdk,
    cpus: &'a [u32],
    size: Size,
    all: usize,
}

impl Of<'_> {
    fn has_virtual(&self) -> bool {
        self.jdk.feature() >= VIRTUAL_FROM
    }

    fn variant(&self, name: String, work: &str) -> Variant {
        Variant::new(name).with("work", work).with("jdk", &self.jdk.version)
    }

    fn picture(&self, kind: &str, writing: &str, threads: usize) -> Variant {
        self.variant(name::picture(kind, writing, threads), "picture")
            .with("kind", kind)
            .with("writing", writing)
            .with("threads", threads)
            .with("width", self.size.of(VIEWS).width)
            .with(MASK, ALL_CPUS)
            .with("case", cases(kind, writing, threads, self.all))
            .crowded_if(threads > self.cpus.len())
    }

    fn on_one(&self, kind: &str, writing: &str, threads: usize) -> Variant {
        let picture = self.picture(kind, writing, threads);
        let case = match (writing, threads == self.all) {
            ("unlocked", true) if kind == "platform" => "1, 7, 8",
            _ => picture.level("case"),
        };
        let case = case.to_owned();
        Variant { name: name::on_one(kind, writing, threads), ..picture }
            .with(MASK, ONE_CPU)
            .with("case", case)
            .on(&self.cpus[..1], None)
            .crowded_if(threads > 1)
    }

    /// Numbers of threads: those of the study, and as many as CPUs.
    fn threads(&self, quick: &[usize]) -> Vec<usize> {
        let studied = self.size.pick(quick, &THREADS).iter().copied();
        let others = studied.filter(|threads| *threads != self.all);
        [self.all].into_iter().chain(others).collect()
    }

    /// Cases 1, 8, 9 and 10 on all CPUs, and the other ways to draw and to lock.
    fn pictures(&self, design: &mut Design) {
        let (all, full) = (self.all, self.size == Size::Full);
        let mut variants = Vec::new();
        for threads in self.threads(&[1, MOST]) {
            variants.push(self.picture("platform", "unlocked", threads));
        }
        let kinds = KINDS.into_iter().filter(|kind| *kind != "virtual" || self.has_virtual());
        variants.extend(kinds.map(|kind| self.picture(kind, "unlocked", all)));
        let locks = if full { &LOCKS[..] } else { &QUICK_LOCKS };
        for lock in locks {
            let is_studied = STUDIED_LOCKS.contains(lock);
            let threads = if is_studied { self.threads(&[]) } else { vec![all] };
            variants.extend(threads.iter().map(|n| self.picture("platform", lock, *n)));
        }
        if full {
            let others = THREADS.into_iter().filter(|threads| *threads != all);
            variants.extend(others.map(|threads| self.picture("fork-join", "unlocked", threads)));
        }
        if full && self.has_virtual() {
            variants.push(self.picture("virtual", "synchronized", all));
        }
        design.group(TIME.name, variants);
    }

    /// Cases 7 to 10 on one CPU.
    fn on_one_cpu(&self, design: &mut Design) {
        let unlocked = self.threads(&[MOST]);
        let mut variants: Vec<Variant> =
            unlocked.iter().map(|n| self.on_one("platform", "unlocked", *n)).collect();
        if self.size == Size::Full {
            let others = STUDIED_LOCKS.map(|lock| ("platform", lock));
            for (kind, lock) in others.into_iter().chain([("fork-join", "unlocked")]) {
                variants.extend(self.threads(&[]).iter().map(|n| self.on_one(kind, lock, *n)));
            }
        }
        design.group(TIME.name, variants);
    }

    /// Case 7 beside a load: anywhere, and on the other CPUs.
    fn beside_calculators(&self, design: &mut Design) {
        let confined = self.on_one("platform", "unlocked", self.all);
        calculators::add_case_7(design, self.cpus.len(), &confined);
        if self.size == Size::Full {
            let free = self.picture("platform", "unlocked", self.all);
            design.variants.push(calculators::in_case_7(free, Place::Free));
        }
    }

    fn counters(&self, design: &mut Design) {
        let counter = |kind: &str, counter: &str| {
            self.variant(name::counter(kind, counter, self.all), "counter")
                .with("kind", kind)
                .with("counter", counter)
                .with("threads", self.all)
                .with("increments", INCREMENTS)
                .crowded_if(self.all > self.cpus.len())
        };
        let mut variants = Vec::new();
        for kind in ["platform", "virtual"] {
            let counters = match (kind, self.size) {
                ("virtual", _) if !self.has_virtual() => &[][..],
                ("virtual", Size::Quick) => &["synchronized"],
                (_, Size::Quick) => &COUNTERS[..3],
                _ => &COUNTERS,
            };
            variants.extend(counters.iter().map(|way| counter(kind, way)));
        }
        design.group(TIME.name, variants);
    }

    /// Case 2.
    fn starts(&self, design: &mut Design) {
        let started = |kind: &str| {
            self.variant(format!("start {kind}"), "start")
                .with("kind", kind)
                .with("threads", self.size.of(STARTED))
                .with("case", "2")
                .crowded()
        };
        let kinds = [Some("platform"), self.has_virtual().then_some("virtual")];
        design.group(TIME.name, kinds.into_iter().flatten().map(started));
    }

    /// Cases 3 to 6.
    fn priorities(&self, design: &mut Design) {
        let loaded = |way: String, count: usize, case: &str| {
            let picture = self.picture("platform", "unlocked", self.all).with("case", case);
            let variant = Variant { name: name::loaded(&way, count), ..picture };
            calculators::beside(variant, count, Place::Free)
        };
        let of = |priority: u32, count: usize, case: &str| {
            loaded(format!("priority {priority}"), count, case).with("priority", priority)
        };
        // The priority of the load without any comes first: the others are compared with it.
        let mut variants = Vec::new();
        for priority in LOADED {
            let counts = match self.size {
                Size::Full => vec![0, 1, self.all],
                Size::Quick if priority == LOADED[0] => vec![0, self.all],
                Size::Quick => vec![self.all],
            };
            variants.extend(counts.into_iter().map(|count| of(priority, count, "6")));
        }
        design.group(TIME.name, variants);
        let priorities =
            |name: String, case: &str| self.variant(name, "priorities").with("case", case);
        design.variants.push(priorities("priorities".into(), "3"));
        if self.size == Size::Quick {
            return;
        }
        let (priority, nice) = SAME_NICE;
        let by_process = loaded("process-nice".into(), self.all, "5").with("process-nice", nice);
        design.group(TIME.name, [of(priority, self.all, "5"), by_process]);
        design.variants.extend(CLASSES.map(|(class, nice)| {
            priorities(format!("class {class}"), "4").with("process-nice", nice)
        }));
    }

    /// What a run has time for with a kit that is not the newest.
    fn as_other_kit(&self, design: &mut Design) {
        let feature = self.jdk.feature();
        let locks =
            self.size.pick(&["unlocked"][..], &["unlocked", "synchronized", "pixel-locks-atomic"]);
        for lock in locks {
            let picture = self.picture("platform", lock, self.all).with("case", "");
            let reference = design.index(&picture.name);
            let variant = Variant { name: name::of_kit(&picture.name, feature), ..picture };
            design.variants.push(variant);
            let candidate = design.variants.len() - 1;
            design
                .contrasts
                .extend(reference.map(|reference| Contrast::new(reference, candidate, TIME.name)));
        }
    }
}

/// Which cases of the study a picture belongs to.
fn cases(kind: &str, writing: &str, threads: usize, all: usize) -> &'static str {
    match (kind, writing) {
        ("platform", "unlocked") if threads == 1 || threads == all => "1, 8",
        ("platform", "unlocked") => "8",
        ("platform", lock) if STUDIED_LOCKS.contains(&lock) => "9",
        ("fork-join", _) => "10",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::calculators::{COUNT, PLACE};

    fn kits(versions: &[&str]) -> Vec<Jdk> {
        versions.iter().map(|version| Jdk::described(version)).collect()
    }

    #[test]
    fn designs_are_possible_whatever_kits_and_cpus_there_are() {
        for versions in [&["25.0.3", "17.0.15"][..], &["21"], &["17.0.15"], &["unknown"]] {
            for cpus in [1, 2, 8] {
                let cpus: Vec<u32> = (0..cpus).collect();
                for size in [Size::Quick, Size::Full] {
                    let design = design(&kits(versions), &cpus, size);
                    assert_eq!(design.fault(), None, "{versions:?}");
                    let is_virtual = |it: &Variant| it.level("kind") == "virtual";
                    let has_virtual = design.variants.iter().any(is_virtual);
                    let is_missing = design.missing.iter().any(|(what, _)| what == "virtual");
                    assert_ne!(has_virtual, is_missing, "{versions:?}");
                    let apart = design.variants.iter().any(|it| it.level(PLACE) == "the-others");
                    assert_eq!(apart, cpus.len() > 1);
                }
            }
        }
    }

    #[test]
    fn a_full_run_has_every_case_with_the_numbers_of_the_study() {
        let design = design(&kits(&["25.0.3", "17.0.15"]), &[0, 1], Size::Full);
        let has = |name: String| assert!(design.index(&name).is_some(), "{name}");
        for threads in THREADS {
            for (kind, writing) in [("platform", "unlocked"), ("fork-join", "unlocked")] {
                has(name::picture(kind, writing, threads));
                has(name::on_one(kind, writing, threads));
            }
            for lock in STUDIED_LOCKS {
                has(name::picture("platform", lock, threads));
                has(name::on_one("platform", lock, threads));
            }
        }
        for case in 1..=10 {
            let is_of =
                |it: &&Variant| it.level("case").split(", ").any(|it| it == case.to_string());
            assert!(design.variants.iter().any(|it| is_of(&it)), "case {case}");
        }
        for priority in [2, 5, 8] {
            for count in [0, 1, 2] {
                has(name::loaded(&format!("priority {priority}"), count));
            }
        }
        has(name::of_kit("platform synchronized 2", 17));
        has(name::counter("virtual", "adder", 2));
    }

    #[test]
    fn one_cpu_is_a_mask_and_calculators_are_beside_it() {
        let design = design(&kits(&["25.0.3"]), &[4, 6], Size::Quick);
        let of = |name: &str| &design.variants[design.index(name).unwrap()];
        let one = of("platform unlocked 2 one-cpu");
        assert_eq!((one.level(MASK), &one.cpus[..], one.level(COUNT)), (ONE_CPU, &[4][..], ""));
        let free = of("platform unlocked 2 one-cpu calculator");
        assert_eq!((free.level(PLACE), free.level("case")), ("all", "7"));
        let apart = of("platform unlocked 2 one-cpu calculator-apart");
        assert_eq!((apart.level(PLACE), apart.level(COUNT)), ("the-others", "1"));
    }

    /// A quick run of everything has some seconds for this one, of three process starts.
    #[test]
    fn a_quick_run_has_few_turns() {
        let turns = |size| design(&kits(&["25.0.3", "21", "17"]), &[0, 1], size).turns();
        assert!(turns(Size::Quick) <= 36, "{}", turns(Size::Quick));
        assert!(turns(Size::Full) <= 130, "{}", turns(Size::Full));
    }
}
