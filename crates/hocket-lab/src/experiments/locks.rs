//! `locks`: what a lock costs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hocket_kernels::locks::{Counter, LockKind};
use hocket_machine::clock::monotonic_ns;
use hocket_rt::Padded;

use super::places::{SPREAD, ThreadSpread, thread_spreads};
use super::words::{series, then_and_now, where_two_are};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Check, Contrast, Design, Estimate, Experiment, Fault, Historic, Host, Mark,
    Metric, NamedRatio, NotMeasurable, Opened, Parameter, Plot, Rank, Results, Rounds, Sample,
    Section, Sentence, Size, Variant, ratio_told, ratios_sentence,
};
use crate::numbers::{self, quantity};
use crate::stats;

/// See [`About`].
pub struct Locks;

static ABOUT: About = About {
    id: "locks",
    section: Section::Sharing,
    question: "What does a lock cost?",
    origin: "tecCHANNEL article of 2003 on Hyper-Threading: critical section, mutex, spin counts, interlocked increment",
    method: "The loop of 2003 under locks that spin, queue, sleep or, as `kernel`, make a system call to take it and one to release it: until they are stopped, threads increment a shared counter under the lock and a private \
             one beside it. Two readings of the private counters, while all threads are in the loop, give the passes \
             between. Threads are pinned: one alone, two in every relation that two CPUs have here, as many as there are \
             cores and seats, and twice as many as there are CPUs. In the end the shared counter must be the sum of \
             the private ones.",
    limits: "The threads do nothing but take the lock: the worst case. A lock that hardly ever changes hands is fast here \
             because one thread keeps it; `fairness` shows that. Twice as many threads as CPUs mostly show the \
             scheduler.",
    metrics: &[
        Metric::more("passes", "1/s")
            .means("Loop passes a second of all threads together; a pass increments a shared and a private counter."),
        Metric::more("fairness", "%")
            .means("Passes of the thread that has fewest, in percent of an equal share; 100 is fair."),
    ],
    parameters: &[Parameter::new("settling", &SETTLING), Parameter::new("counted", &COUNTED)],
};

/// Until all threads are in the loop: where each has a CPU, and where they share some, which takes time slices.
const SETTLING: [Duration; 2] = [Duration::from_micros(300), Duration::from_millis(1)];
/// Between the two readings: likewise.
const COUNTED: [[Duration; 2]; 2] = [
    [Duration::from_millis(3), Duration::from_millis(15)],
    [Duration::from_millis(14), Duration::from_millis(60)],
];
/// With what the others are compared: what programs in C use.
const REFERENCE: LockKind = LockKind::PthreadNormal;
/// SpinCountLoops of 2003: the passes with looks before blocking, as a ratio to those without.
const PASSES_2003: f64 = 19.0;

impl Experiment for Locks {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds = Rounds { per_process: size.pick(40, 200), ..Rounds::usual(size) };
        let mut design = Design::facts(Vec::new(), rounds);
        let (kinds, absent) = kinds();
        for placement in thread_spreads(host, size) {
            add_spread(&mut design, &placement, &kinds);
        }
        design.missing.extend(absent);
        Ok(design.without_relations_of(host).twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let games = design.each(|variant| Game::of(variant, size))?;
        Ok(Box::new(move |variant: usize| games[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> =
            placements_of(results).iter().map(|placement| fastest(results, placement)).collect();
        sentences.extend(contention(results));
        sentences.extend(spin_counts(results));
        sentences.extend(ranking(results).map(|ranked| ranked.sentence()));
        sentences
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let mut plots: Vec<Plot> =
            then_and_now(results, "Loop passes a second, 2003 and now", "1/s")
                .into_iter()
                .collect();
        plots.push(scaling(results));
        // The picture joins what is not told apart; where that is everything, there is nothing to draw.
        plots.extend(ranking(results).filter(Ranked::is_shown).map(|ranked| ranked.plot()));
        plots
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }
}

/// The kinds that this machine has; the others with why.
fn kinds() -> (Vec<LockKind>, Vec<(String, String)>) {
    let (mut here, mut absent) = (Vec::new(), Vec::new());
    for kind in LockKind::ALL {
        match kind.counter() {
            Ok(_) => here.push(kind),
            Err(why) => absent.push((kind.to_string(), why.to_string())),
        }
    }
    (here, absent)
}

fn add_spread(design: &mut Design, placement: &ThreadSpread, kinds: &[LockKind]) {
    let first = design.variants.len();
    let variant = |kind: &LockKind| placement.variant(&kind.to_string()).with("lock", kind);
    design.variants.extend(kinds.iter().map(variant));
    let Some(reference) = kinds.iter().position(|kind| *kind == REFERENCE) else { return };
    let others = (0..kinds.len()).filter(|other| *other != reference);
    let contrast = |other| Contrast::new(first + reference, first + other, "passes");
    design.contrasts.extend(others.map(contrast));
}

/// One lock among threads on these CPUs.
struct Game {
    kind: LockKind,
    cpus: Vec<u32>,
    /// Before the first reading, so that all threads are in the loop.
    settling: Duration,
    /// Between the readings.
    counted: Duration,
}

impl Game {
    fn of(variant: &Variant, size: Size) -> Option<Game> {
        let kind = variant.level("lock").parse().ok()?;
        // Threads that share a CPU need a few time slices each.
        let (settling, counted) = match variant.crowded {
            true => (SETTLING[1], size.of(COUNTED[1])),
            false => (SETTLING[0], size.of(COUNTED[0])),
        };
        Some(Game { kind, cpus: variant.cpus.clone(), settling, counted })
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let counter = self.kind.counter().map_err(Fault::new)?;
        let own: Vec<Padded<AtomicU64>> = self.cpus.iter().map(|_| Padded::default()).collect();
        let stop = AtomicBool::new(false);
        let counted = std::thread::scope(|scope| {
            let (begun, begins) = channel();
            let keeper = scope.spawn(|| self.keep_time(begins, &own, &stop));
            let team = self.cpus.iter().zip(&own).fold(TurnThreads::new(), |team, (cpu, own)| {
                let (counter, stop, begun) = (&*counter, &stop, begun.clone());
                team.with(Place::on(*cpu), move || enter(counter, stop, own, &begun))
            });
            drop(begun);
            team.run()?;
            keeper.join().map_err(|_| Fault::new("the timekeeper panicked"))?.ok_or_else(not_begun)
        })?;
        // Relaxed: all threads were joined.
        let sum: u64 = own.iter().map(|own| own.load(Relaxed)).sum();
        let check = Check::equal("the shared counter", counter.value(), sum);
        Ok(counted.samples(check))
    }

    /// Reads the private counters twice, then stops the threads; `None` if they did not begin.
    fn keep_time(
        &self,
        begins: Receiver<()>,
        own: &[Padded<AtomicU64>],
        stop: &AtomicBool,
    ) -> Option<Counted> {
        begins.recv().ok()?;
        std::thread::sleep(self.settling);
        let before = Reading::take(own);
        std::thread::sleep(self.counted);
        let after = Reading::take(own);
        // Relaxed: a request that publishes nothing.
        stop.store(true, Relaxed);
        Some(after.since(&before))
    }
}

fn not_begun() -> Fault {
    Fault::new("the threads did not begin")
}

fn enter(
    counter: &dyn Counter,
    stop: &AtomicBool,
    own: &AtomicU64,
    begun: &std::sync::mpsc::Sender<()>,
) {
    // Only the first is waited for.
    let _ = begun.send(());
    counter.count_passes(stop, own);
}

/// The private counters at one moment.
struct Reading {
    at_ns: u64,
    passes: Vec<u64>,
}

impl Reading {
    fn take(own: &[Padded<AtomicU64>]) -> Reading {
        // Relaxed: each counter by itself; a few passes more or less do not matter.
        let passes = own.iter().map(|own| own.load(Relaxed)).collect();
        Reading { at_ns: monotonic_ns(), passes }
    }

    fn since(self, before: &Reading) -> Counted {
        let passes = self.passes.iter().zip(&before.passes).map(|(after, before)| after - before);
        Counted { ns: self.at_ns - before.at_ns, passes: passes.collect() }
    }
}

/// Passes of each thread in so much time.
struct Counted {
    ns: u64,
    passes: Vec<u64>,
}

impl Counted {
    fn samples(&self, check: Check) -> Vec<Sample> {
        let all: u64 = self.passes.iter().sum();
        let rate = all as f64 * 1e9 / self.ns.max(1) as f64;
        let mut samples = vec![Sample::new("passes", rate, all, check.clone())];
        if self.passes.len() > 1 {
            let fewest = *self.passes.iter().min().unwrap_or(&0);
            let share = 100.0 * (fewest * self.passes.len() as u64) as f64 / all.max(1) as f64;
            samples.push(Sample::new("fairness", share, all, check));
        }
        samples
    }
}

/// Where a variant's threads are. Records of before name the factor otherwise.
fn spread_of(variant: &Variant) -> &str {
    match variant.level(SPREAD) {
        "" => variant.level("placement"),
        spread => spread,
    }
}

/// A placement as the rows know it.
struct Measured {
    name: String,
    threads: f64,
    in_words: String,
}

fn placements_of(results: &Results) -> Vec<Measured> {
    let mut found: Vec<Measured> = Vec::new();
    for variant in results.designed() {
        let name = spread_of(variant);
        if found.iter().all(|known| known.name != name) {
            found.push(Measured::of(variant));
        }
    }
    found
}

impl Measured {
    fn of(variant: &Variant) -> Measured {
        let threads = variant.cpus.len();
        let in_words = match (variant.relation, threads, variant.crowded) {
            (Some(relation), ..) => format!("two threads {}", where_two_are(relation)),
            (None, 1, _) => "one thread".to_string(),
            (None, _, true) => format!("{threads} threads, more than CPUs"),
            (None, ..) => format!("{threads} threads"),
        };
        Measured { name: spread_of(variant).into(), threads: threads as f64, in_words }
    }

    fn variant(&self, kind: LockKind) -> String {
        format!("{kind} {}", self.name)
    }

    /// The kinds that were measured here with their passes, the fastest first.
    fn by_rate(&self, results: &Results) -> Vec<(LockKind, Estimate)> {
        let of = |kind: LockKind| Some((kind, results.estimate(&self.variant(kind), "passes")?));
        let mut all: Vec<_> = LockKind::ALL.into_iter().filter_map(of).collect();
        all.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        all
    }
}

/// The locks with most and with fewest passes. The two are picked among all, so their difference has to stand out
/// among all pairs.
fn fastest(results: &Results, placement: &Measured) -> Sentence {
    let ranked = placement.by_rate(results);
    let locks: Vec<_> = ranked.iter().filter(|(kind, _)| *kind != LockKind::Atomic).collect();
    let (Some((best, most)), Some((worst, fewest))) = (locks.first(), locks.last()) else {
        return Sentence::not_shown(format!("{}: too few rounds", placement.in_words));
    };
    let atomic = ranked.iter().find(|(kind, _)| *kind == LockKind::Atomic);
    let atomic = atomic.map_or(String::new(), |(_, e)| {
        format!("; without a lock, atomic, {}", quantity(e.value, "1/s"))
    });
    let head = format!(
        "{}: the highest median has {best} with {} passes{}, the lowest {worst} with {}{atomic}",
        placement.in_words,
        numbers::estimate(most, "1/s"),
        as_fast(results, placement, &ranked),
        quantity(fewest.value, "1/s")
    );
    let pairs = locks.len() * (locks.len() - 1) / 2;
    let against = |other: LockKind| {
        let (other, best) = (placement.variant(other), placement.variant(*best));
        results.judged_of(&other, &best, "passes", pairs)
    };
    let text = match *best == REFERENCE {
        true => head,
        false => {
            format!("{head}; {best} against {REFERENCE}: {}", ratio_told(&against(REFERENCE)))
        }
    };
    Sentence::about(text, &[against(*worst)])
}

/// Locks of which no difference to the first of `ranked` is shown.
fn as_fast(results: &Results, placement: &Measured, ranked: &[(LockKind, Estimate)]) -> String {
    let own = ranked.iter().filter(|(kind, _)| *kind != LockKind::Atomic);
    let mut own = own.map(|(kind, _)| *kind);
    let Some(best) = own.next() else { return String::new() };
    let of = ranked.len();
    let alike = |kind: &LockKind| {
        let (best, other) = (placement.variant(best), placement.variant(*kind));
        !results.judged_of(&best, &other, "passes", of * (of - 1) / 2).is_shown()
    };
    let names: Vec<String> = own.filter(alike).map(|kind| kind.to_string()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" (no difference shown to {})", names.join(", ")),
    }
}

/// What a second thread does to the most used lock.
fn contention(results: &Results) -> Option<Sentence> {
    let apart = |p: &&Measured| p.threads == 2.0 && p.name != "same-cpu";
    let all = placements_of(results);
    let two = all.iter().find(apart)?;
    let kinds = [LockKind::Atomic, REFERENCE, LockKind::StdMutex, LockKind::Mcs];
    let pairs = kinds.map(|kind| {
        NamedRatio::new(kind.to_string(), format!("{kind} alone"), two.variant(kind), "passes")
    });
    let head = format!("passes of {} together against one thread alone", two.in_words);
    ratios_sentence(results, &head, &pairs)
}

/// Whether the number of looks matters, as it did not in 2003.
fn spin_counts(results: &Results) -> Option<Sentence> {
    let all = placements_of(results);
    let two = all.iter().find(|p| p.threads == 2.0 && p.name != "same-cpu")?;
    let variant = |spins| two.variant(LockKind::SpinThenBlock(spins));
    let then = numbers::change(PASSES_2003);
    let of_2003 = format!("3000 looks against {REFERENCE} (2003: {then})");
    let pairs = [
        NamedRatio::new(
            "30000 looks against 300 (2003: no difference)",
            variant(300),
            variant(30_000),
            "passes",
        ),
        NamedRatio::new(of_2003, two.variant(REFERENCE), variant(3_000), "passes"),
    ];
    ratios_sentence(results, &format!("spin counts, {}", two.in_words), &pairs)
}

/// The locks ranked over all placements.
struct Ranked {
    kinds: Vec<LockKind>,
    ranks: stats::Ranks,
    /// The chance of such ranks among equal locks, by the placements and by the process starts: the larger one.
    p: f64,
}

/// Each placement is a case; within it the kind with most passes has rank 1. `None` with fewer than two of either.
fn ranking(results: &Results) -> Option<Ranked> {
    let placements = placements_of(results);
    let has_all = |kind: &LockKind| {
        placements.iter().all(|p| results.median(&p.variant(*kind), "passes").is_some())
    };
    let kinds: Vec<LockKind> = LockKind::ALL.into_iter().filter(has_all).collect();
    let case = |p: &Measured| -> Option<Vec<f64>> {
        kinds.iter().map(|kind| results.median(&p.variant(*kind), "passes").map(|m| -m)).collect()
    };
    let cases: Vec<Vec<f64>> = placements.iter().filter_map(case).collect();
    let ranks = stats::ranks(&cases)?;
    let by_start = ranks_of_starts(results, &placements, &kinds).map_or(1.0, |ranks| ranks.p);
    Some(Ranked { p: ranks.p.max(by_start), ranks, kinds })
}

/// Each process start is a case, by its mean ranks over all placements. What favours a lock in one start may favour it in
/// every placement, and then the placements agree although another start would rank otherwise.
fn ranks_of_starts(
    results: &Results,
    placements: &[Measured],
    kinds: &[LockKind],
) -> Option<stats::Ranks> {
    let passes = |kind: &LockKind, placement: &Measured| {
        let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for row in results.rows_of(&placement.variant(*kind), "passes") {
            starts.entry(row.process).or_default().push(-row.sample.value);
        }
        starts
    };
    // `[placement][kind]`, by start.
    let all: Vec<Vec<BTreeMap<u32, Vec<f64>>>> =
        placements.iter().map(|p| kinds.iter().map(|kind| passes(kind, p)).collect()).collect();
    let starts: BTreeSet<u32> = all.iter().flatten().flat_map(|it| it.keys().copied()).collect();
    let of_start = |start: &u32| {
        let figure = |it: &BTreeMap<u32, Vec<f64>>| {
            it.get(start).and_then(|own| stats::median(own)).unwrap_or(f64::NAN)
        };
        let cases: Vec<Vec<f64>> =
            all.iter().map(|placement| placement.iter().map(figure).collect()).collect();
        Some(stats::ranks(&cases)?.mean)
    };
    stats::ranks(&starts.iter().filter_map(of_start).collect::<Vec<_>>())
}

impl Ranked {
    fn is_shown(&self) -> bool {
        self.p <= 0.05
    }

    fn sentence(&self) -> Sentence {
        let ranks = &self.ranks;
        let mut order: Vec<usize> = (0..self.kinds.len()).collect();
        order.sort_by(|a, b| ranks.mean[*a].total_cmp(&ranks.mean[*b]));
        let named = |at: &usize| format!("{} {:.1}", self.kinds[*at], ranks.mean[*at]);
        let list: Vec<_> = order.iter().map(named).collect();
        let head = format!("mean rank over {} placements: {}", ranks.cases, list.join(", "));
        match self.is_shown() {
            true => Sentence::fact(format!(
                "{head}; ranks closer than {:.1} are not told apart",
                ranks.critical_difference
            )),
            false => Sentence::not_shown(format!(
                "{head}: no difference shown, such ranks come by chance too (p = {:.2})",
                self.p
            )),
        }
    }

    fn plot(&self) -> Plot {
        let rank =
            |(kind, mean): (&LockKind, &f64)| Rank { name: kind.to_string(), mean_rank: *mean };
        Plot::Ranks {
            title: format!("Mean rank over {} placements", self.ranks.cases),
            ranks: self.kinds.iter().zip(&self.ranks.mean).map(rank).collect(),
            critical_difference: self.ranks.critical_difference,
        }
    }
}

/// Passes by the number of threads, each on a CPU of its own while there are enough.
fn scaling(results: &Results) -> Plot {
    let placements = placements_of(results);
    // Of pairs the last: the farthest apart.
    let far = placements.iter().rfind(|p| p.threads == 2.0).map(|p| p.name.clone());
    let on_the_line = |p: &&Measured| p.threads != 2.0 || Some(&p.name) == far.as_ref();
    let line = |kind: LockKind| {
        let points = placements.iter().filter(on_the_line).map(|p| (p.threads, p.variant(kind)));
        series(results, kind.to_string(), "passes", points)
    };
    let seats = placements.iter().filter(|p| p.name != "crowded" && p.name != "same-cpu");
    let seats = seats.map(|p| p.threads).fold(1.0, f64::max);
    Plot::Lines {
        title: "Passes of all threads by their number".into(),
        x: Axis::log("threads", ""),
        y: Axis::log("passes", "1/s"),
        series: LockKind::ALL.into_iter().map(line).filter(|s| !s.points.is_empty()).collect(),
        marks: vec![Mark { at: seats, label: "seats".into() }],
    }
}

const fn siblings(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "1/s", "passes")
        .beside(variant)
        .means("Two threads on the two siblings of one core; passes of both.")
        .printed_in("tecCHANNEL 2003, Hyper-Threading: loop passes a second, Pentium 4 3.06 GHz, Windows XP")
}

const fn one_cpu(label: &'static str, value: f64, variant: &'static str) -> Historic {
    siblings(label, value, variant)
        .means("Two threads on the one CPU of the system; passes of both.")
        .differs("The system had one CPU; here two threads share one CPU of several.")
}

/// Beside each the nearest of today's locks: a critical section sleeps in the kernel when it is taken, as the normal
/// mutex of POSIX does; a mutex of Windows calls the kernel every time, as `kernel` does.
static HISTORIC: [Historic; 8] = [
    one_cpu(
        "critical section, beside POSIX's normal mutex, one CPU",
        9_765_164.0,
        "pthread-normal same-cpu",
    ),
    siblings(
        "critical section, beside POSIX's normal mutex, Hyper-Threading on",
        250_758.0,
        "pthread-normal siblings",
    ),
    one_cpu("mutex of Windows, beside `kernel`, one CPU", 678_163.0, "kernel same-cpu"),
    siblings("mutex of Windows, beside `kernel`, Hyper-Threading on", 247_137.0, "kernel siblings"),
    one_cpu("spin count, one CPU", 9_765_164.0, "spin-3000-then-block same-cpu"),
    siblings("spin count, Hyper-Threading on", 4_741_571.0, "spin-3000-then-block siblings"),
    one_cpu("interlocked increment, one CPU", 24_832_365.0, "atomic same-cpu"),
    siblings("interlocked increment, Hyper-Threading on", 11_765_580.0, "atomic siblings"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pass_is_lost_under_any_lock() {
        let host = Host::discover().unwrap();
        let short = Duration::from_millis(1);
        for kind in kinds().0 {
            for cpus in [host.spread(1), host.spread(2), vec![host.cpus[0]; 2]] {
                let game = Game { kind, cpus, settling: Duration::ZERO, counted: short };
                let samples = game.turn().unwrap();
                assert!(samples.iter().all(|s| s.check == Check::Passed), "{kind}");
            }
        }
    }

    #[test]
    fn a_machine_with_siblings_has_them_among_the_placements() {
        let design = Locks.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        let pair = &design.variants[design.index("mcs siblings").unwrap()];
        assert_eq!(pair.cpus, [0, 2]);
        let of_2003 = HISTORIC.iter().filter_map(|old| old.variant);
        for variant in of_2003 {
            assert!(design.index(variant).is_some(), "{variant}");
        }
    }

    #[test]
    fn findings_know_the_placements_of_a_design() {
        let design = Locks.design(&Host::described_with_smt(), Size::Quick).unwrap();
        let names: Vec<&str> = design.variants.iter().map(spread_of).collect();
        assert!(names.contains(&"alone") && names.contains(&"siblings") && !names.contains(&""));
        let before = Variant::new("mcs far").with("placement", "far");
        assert_eq!(spread_of(&before), "far");
    }

    #[test]
    fn the_least_favoured_thread_is_told() {
        let samples = Counted { ns: 1_000, passes: vec![10, 30] }.samples(Check::Passed);
        assert_eq!((samples[0].value, samples[1].value), (4e7, 50.0));
    }
}
