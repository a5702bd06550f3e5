//! `wake`: how long until a sleeping worker runs.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_machine::class::Class;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_rt::{Signal, SpinCost, Strategy, Wait};

use super::beside::keep_busy;
use crate::harness::lateness::OpenLoop;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Check, Contrast, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened,
    Parameter, Quantiles, Relation, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    contrast_sentences,
};
use crate::numbers::quantity;

/// See [`About`].
pub struct Wake;

static ABOUT: About = About {
    id: "wake",
    section: Section::Waiting,
    question: "How long until a sleeping worker runs?",
    origin: "the 2009 thesis on SMT in audio engines: the start of a block",
    method: "One pinned thread waits for a signal in one of the ways that a worker can wait; another one, on a CPU of \
             its own, spins up to instants that are planned 500 µs apart and signals at each. Both are in the \
             ordinary class or in FIFO 50, and the waiting thread has its CPU for itself (idle) or shares it with one \
             that computes in the ordinary class (busy). `clock` is a thread that sleeps up to the planned \
             instants without anybody who signals. A signal that comes while the thread still sleeps counts from \
             its own instant, so a long delay shows in every signal that it covers. Every signal must be answered.",
    limits: "One waiting thread; waking many takes longer. A CPU that went into a deep sleep state takes longer to \
             come back after longer pauses than 500 µs. `clock` in the ordinary class has Linux's timer slack of 50 µs and in FIFO \
             none, so the two classes are not compared with it. In a virtual machine the host's scheduler is part of it.",
    metrics: &[
        Metric::less("lateness", "ns")
            .means("Median over a turn of the time from the signal (from the planned instant for `clock`) to \
                    the first instruction of the thread after its wait."),
        Metric::less("lateness-p99", "ns")
            .means("99 of 100 of these times of a turn are at most this; only of turns of 100 wake-ups or more, in \
                    a full run."),
        Metric::less("lateness-max", "ns").means("The longest of these times in a turn."),
    ],
    parameters: &[
        Parameter::new("period-ns", &PERIOD_NS),
        Parameter::new("wake-ups", &WAKES),
        Parameter::new("spin", &HYBRID_SPIN),
    ],
};

const PERIOD_NS: u64 = 500_000;
/// Wake-ups of a turn.
const WAKES: [u64; 2] = [30, 100];
/// Wake-ups of a turn from which on one in a hundred is one.
const ENOUGH_FOR_P99: u64 = 100;
const FIFO: u8 = 50;
/// Shorter than inside a block (`Settings::hybrid_spin`), where a thread spins through all but long waits. Here each signal comes
/// 500 µs after the last, so a longer spin would leave less of the sleep that the experiment is about. Part of the definition:
/// runs with another spin measured something else.
const HYBRID_SPIN: Duration = Duration::from_micros(50);
const CLOCK: &str = "clock";

impl Experiment for Wake {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let pair = [Relation::SameCache, Relation::Far, Relation::Siblings]
            .iter()
            .find_map(|relation| Some((*relation, host.pair(*relation)?)));
        let fifo = host.fifo(FIFO);
        for class in ["ordinary", "fifo"] {
            match &fifo {
                Err(why) if class == "fifo" => design.missing.push((class.into(), why.clone())),
                _ => add_class(&mut design, class, host.cpus[0], pair, size),
            }
        }
        for strategy in Strategy::ALL {
            if let Some(why) = strategy.missing() {
                design.missing.push((strategy.name().into(), why.into()));
            }
        }
        if pair.is_none() {
            design.missing.push((
                "all but clock".into(),
                "whoever signals needs a CPU of its own, and there is one".into(),
            ));
        }
        add_contrasts(&mut design);
        Ok(design.twinned())
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let cases =
            [("fifo", "idle"), ("fifo", "busy"), ("ordinary", "idle"), ("ordinary", "busy")];
        let told = cases.into_iter().filter_map(|(class, load)| times(results, class, load));
        let mut sentences: Vec<Sentence> = told.collect();
        sentences.extend(contrast_sentences(results));
        sentences
    }

    /// Of the best class that this system grants.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let name = |way: &str, class: &str| format!("{way} {class} idle");
        let pair = |class| {
            let [spin, futex] = ["spin", "futex"].map(|way| name(way, class));
            results.median(&futex, "lateness").and(results.median(&spin, "lateness"))?;
            Some(results.judged(&spin, &futex, "lateness"))
        };
        let judged = ["fifo", "ordinary"].into_iter().find_map(pair)?;
        let took = |variant: &str| Some(quantity(results.median(variant, "lateness")?, "ns"));
        let (spin, futex) = (took(&judged.reference)?, took(&judged.candidate)?);
        let todo = match (judged.is_shown(), judged.judgement.is_less()) {
            (true, false) => {
                "Let workers look for a moment before they sleep (`hybrid`, the default)"
            }
            (true, true) => "Let workers sleep at once (`futex`)",
            _ => "How workers wait is open, no difference shown",
        };
        let text = format!("{todo}: who sleeps runs {futex} after the signal, who looks {spin}.");
        Some(Sentence::about(text, &[judged]))
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let cost = SpinCost::measure();
        let wakes = size.of(WAKES);
        let setups: Vec<Setup> = design
            .variants
            .iter()
            .map(|v| Setup::of(v, host, &cost, wakes))
            .collect::<Result<_, _>>()?;
        Ok(Box::new(move |variant: usize| setups[variant].turn()))
    }
}

/// The ways of waiting of one class, without and with a load.
fn add_class(
    design: &mut Design,
    class: &str,
    alone: u32,
    pair: Option<(Relation, (u32, u32))>,
    size: Size,
) {
    let waits = Strategy::here().map(Strategy::name).filter(|_| pair.is_some());
    for wait in waits.chain([CLOCK]) {
        for load in ["idle", "busy"] {
            // A spin beside a load shows how the scheduler shares a CPU, not how anybody wakes up.
            let blocks = [CLOCK, "futex", "hybrid"].contains(&wait);
            if load == "busy" && !(blocks || size == Size::Full) {
                continue;
            }
            let variant = Variant::new(format!("{wait} {class} {load}"))
                .with("wait", wait)
                .with("class", class)
                .with("load", load);
            let variant = match pair {
                Some((relation, (a, b))) if wait != CLOCK => variant.on(&[a, b], Some(relation)),
                Some((_, (a, _))) => variant.on(&[a], None),
                None => variant.on(&[alone], None),
            };
            design.variants.push(variant.crowded_if(load == "busy"));
        }
    }
}

/// Every wait against blocking at once, and FIFO against the ordinary class.
fn add_contrasts(design: &mut Design) {
    let index = |wait: &str, class: &str, load: &str| {
        design.variants.iter().position(|v| {
            v.level("wait") == wait && v.level("class") == class && v.level("load") == load
        })
    };
    let mut contrasts = Vec::new();
    for (at, variant) in design.variants.iter().enumerate() {
        let (wait, class, load) =
            (variant.level("wait"), variant.level("class"), variant.level("load"));
        let reference = match (class, load) {
            // A sleep of the ordinary class is late by its timer slack, which says nothing about the class.
            ("fifo", _) if wait != CLOCK => index(wait, "ordinary", load),
            (_, "idle") if wait != "futex" && wait != CLOCK => index("futex", class, load),
            _ => None,
        };
        contrasts.extend(reference.map(|reference| Contrast::new(reference, at, "lateness")));
    }
    design.contrasts = contrasts;
}

/// How fast each way of waiting ends, all ways of a class in one sentence.
fn times(results: &Results, class: &str, load: &str) -> Option<Sentence> {
    let ways = Strategy::ALL.into_iter().map(Strategy::name).chain([CLOCK]);
    let one = |way: &str| {
        let variant = format!("{way} {class} {load}");
        let middle = quantity(results.median(&variant, "lateness")?, "ns");
        let late = results.median(&variant, "lateness-p99");
        let late =
            late.map_or(String::new(), |late| format!(" (99 of 100 {})", quantity(late, "ns")));
        Some(format!("{way} {middle}{late}"))
    };
    let ways: Vec<String> = ways.filter_map(one).collect();
    let beside = if load == "idle" { "its CPU to itself" } else { "a load on its CPU" };
    let text = format!("{class} class, {beside}: runs after: {}", ways.join(", "));
    (!ways.is_empty()).then(|| Sentence::fact(text))
}

/// One variant, ready to have its turns.
struct Setup {
    /// `None`: sleeps on the clock.
    wait: Option<Wait>,
    class: Option<Class>,
    busy: bool,
    cpus: Vec<u32>,
    wakes: u64,
}

impl Setup {
    fn of(
        variant: &Variant,
        host: &Host,
        cost: &SpinCost,
        wakes: u64,
    ) -> Result<Setup, NotMeasurable> {
        let wait = match variant.level("wait") {
            CLOCK => None,
            name => {
                let strategy: Strategy = name.parse().map_err(NotMeasurable::new)?;
                Some(Wait::new(strategy, cost, HYBRID_SPIN))
            }
        };
        let class = match variant.level("class") {
            "fifo" => Some(host.fifo(FIFO).map_err(NotMeasurable)?),
            _ => None,
        };
        Ok(Setup {
            wait,
            class,
            busy: variant.level("load") == "busy",
            cpus: variant.cpus.clone(),
            wakes,
        })
    }

    fn place(&self, cpu: u32) -> Place {
        match self.class {
            Some(class) => Place::on(cpu).class(class),
            None => Place::on(cpu),
        }
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let late_ns = match &self.wait {
            Some(wait) => self.signalled(wait)?,
            None => self.by_clock()?,
        };
        let check = Check::equal("the number of answers", late_ns.len() as u64, self.wakes);
        samples(&late_ns, check).ok_or_else(|| Fault::new("nobody woke up"))
    }

    fn by_clock(&self) -> Result<Vec<f64>, Fault> {
        let plan = OpenLoop { period_ns: PERIOD_NS, wakes: self.wakes };
        let over = AtomicBool::new(false);
        let sleeper = || {
            let late = plan.run(sleep_until_ns);
            over.store(true, Relaxed);
            late
        };
        let team = TurnThreads::new().with(self.place(self.cpus[0]), sleeper);
        let mut results = self.beside(team, &over).run()?.into_results();
        Ok(results.swap_remove(0))
    }

    fn signalled(&self, wait: &Wait) -> Result<Vec<f64>, Fault> {
        let [sleeper_cpu, waker_cpu] = self.cpus[..] else {
            return Err(Fault::new("a variant without two CPUs"));
        };
        let signal = Signal::new();
        let over = AtomicBool::new(false);
        let answers = || {
            let answers = answer(&signal, wait, self.wakes);
            over.store(true, Relaxed);
            answers
        };
        let calls = || call(&signal, OpenLoop { period_ns: PERIOD_NS, wakes: self.wakes });
        let team = TurnThreads::new()
            .with(self.place(sleeper_cpu), answers)
            .with(self.place(waker_cpu), calls);
        let results = self.beside(team, &over).run()?.into_results();
        let late = |(awake, signalled): (&f64, &f64)| (awake - signalled).max(0.0);
        Ok(results[0].iter().zip(&results[1]).map(late).collect())
    }

    /// With a thread that computes on the sleeper's CPU until `over`, where the variant has one.
    fn beside<'a>(
        &self,
        team: TurnThreads<'a, Vec<f64>>,
        over: &'a AtomicBool,
    ) -> TurnThreads<'a, Vec<f64>> {
        if !self.busy {
            return team;
        }
        let compute = move || {
            keep_busy(over);
            Vec::new()
        };
        team.with(Place::on(self.cpus[0]), compute)
    }
}

/// When each signal was answered. A wait that returns after several signals answers all of them.
fn answer(signal: &Signal, wait: &Wait, wakes: u64) -> Vec<f64> {
    let mut awake_ns = Vec::with_capacity(wakes as usize);
    let mut seen = 0;
    while (awake_ns.len() as u64) < wakes {
        (seen, _) = signal.wait_past(seen, wait);
        let now = monotonic_ns() as f64;
        awake_ns.resize(seen as usize, now);
    }
    awake_ns
}

/// Signals at every planned instant; returns when it did.
fn call(signal: &Signal, plan: OpenLoop) -> Vec<f64> {
    let at = |planned: u64| {
        let mut now = monotonic_ns();
        while now < planned {
            std::hint::spin_loop();
            now = monotonic_ns();
        }
        signal.advance();
        now as f64
    };
    plan.plan().map(at).collect()
}

fn samples(late_ns: &[f64], check: Check) -> Option<Vec<Sample>> {
    let quantiles = Quantiles::of(late_ns)?;
    let of = |metric, value| Sample::new(metric, value, quantiles.n, check.clone());
    let median = Sample::median_of("lateness", late_ns, check.clone())?;
    let mut samples = vec![median, of("lateness-max", quantiles.max)];
    // Of fewer values it would be the longest one under another name.
    if quantiles.n >= ENOUGH_FOR_P99 {
        samples.push(of("lateness-p99", quantiles.p99));
    }
    Some(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_answered() {
        let host = Host::discover().unwrap();
        let design = Wake.design(&host, Size::Quick).unwrap();
        let cost = SpinCost::measure();
        for variant in design.variants.iter().filter(|v| v.level("class") == "ordinary") {
            let setup = Setup::of(variant, &host, &cost, 4).unwrap();
            let samples = setup.turn().unwrap();
            assert!(
                samples.iter().all(|s| s.check == Check::Passed && s.value >= 0.0),
                "{samples:?}"
            );
        }
    }
}
