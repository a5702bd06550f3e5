//! `idle-cost`: what a waiting thread costs its sibling, and how fast it wakes up.

mod energy;
mod waiter;

use hocket_kernels::{Biquads, Correlation, Kernel};
use hocket_rt::Strategy;

use super::beside::undisturbed;
use crate::harness::timed::per_op;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Check, Design, Estimate, Experiment, Fault, Historic, Host, Metric, NamedRatio,
    NotMeasurable, Opened, Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence,
    Series, Size, Variant, contrast_sentences, ratios_sentence,
};
use energy::Energy;
use waiter::{Bell, Beside, Heard};

/// See [`About`].
pub struct IdleCost;

static ABOUT: About = About {
    id: "idle-cost",
    section: Section::Waiting,
    question: "What does a waiting thread cost its sibling, and how fast does it wake up?",
    origin: "the 2009 thesis on SMT in audio engines, 8.2.3, figure 50",
    method: "The observed thread, pinned, FIFO 20 where granted as the other, runs a chain of 32 filters over blocks of 64 frames, 100 blocks a piece. \
             After each piece it looks at the clock and advances a signal. On the other seat a thread waits for that \
             signal in one of hocket-rt's ways and looks at the clock when it is through. `empty`: nobody is \
             there; `idle-thread`: the loop of the thesis, 13 PAUSE instructions between two looks; `busy`: a thread \
             that runs the same filters and waits for nothing. The other seat is the observed one's sibling, \
             and in any case also a seat of another core, where waiting should cost nothing. `hybrid` spins for \
             20 µs and then blocks, so here it mostly blocks. `correlation`: the observed thread correlates two channels \
             instead, as in the thesis, beside nobody and beside the idle thread. Filters' output and correlations are checked.",
    limits: "Two kinds of work, in the first-level cache; how many frames the thesis correlated is not known. Waits of a piece, 100 blocks: a millisecond or so; what a way of waiting costs the one \
             who ends it (a system call where the waiter blocks) lies between two pieces and is not counted as \
             slow-down. Power is that of the whole package with all that runs on it.",
    metrics: &[
        Metric::less("time", "ns")
            .means("Time of one block of the observed thread, or of one pass of the correlation: the pieces' times, without signalling, divided by \
                    their number."),
        Metric::less("wake", "ns")
            .means("Median time from just before the signal to the waiter's look at the clock."),
        Metric::less("power", "W")
            .means("Energy of the first package in the turn by RAPL, divided by the turn's time."),
    ],
    parameters: &[
        Parameter::new("piece", &PIECE),
        Parameter::new("correlations", &CORRELATIONS),
        Parameter::new("pieces", &PIECES),
        Parameter::new("spin", &Strategy::USUAL_SPIN),
    ],
};

/// Blocks between two signals.
const PIECE: u64 = 100;
/// Passes of the correlation that take about as long.
const CORRELATIONS: u64 = 20_000;
/// Signals of a turn.
const PIECES: [u64; 2] = [12, 60];

impl Experiment for IdleCost {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for relation in [Relation::Siblings, Relation::SameCache, Relation::Far] {
            if let Some(pair) = host.pair(relation) {
                add(&mut design, relation, pair);
                add_correlation(&mut design, relation, pair);
            }
        }
        if design.variants.is_empty() {
            return Err(NotMeasurable::new("a thread beside another needs two CPUs"));
        }
        if host.pair(Relation::Siblings).is_none() {
            let why =
                "no two usable CPUs share a core; what follows is the control, on another core";
            design.missing.push(("siblings".into(), why.into()));
        }
        let absent = |way: &Strategy| Some((way.to_string(), way.missing()?.to_string()));
        design.missing.extend(Strategy::ALL.iter().filter_map(absent));
        design.missing.extend(Energy::find().err().map(|why| ("power".to_string(), why)));
        Ok(design.twinned())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let turns = design.each(|variant| Turn::of(variant, host, size))?;
        Ok(Box::new(move |variant: usize| turns[variant].measure()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences = table(results);
        sentences.extend(correlation(results));
        sentences.extend(contrast_sentences(results));
        sentences
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let relations = Relation::ALL.iter().filter_map(|relation| plot(results, *relation));
        relations.collect()
    }

    fn historic(&self) -> Vec<Historic> {
        let label = "idle thread of 13 PAUSE on the sibling, Core i7 965, 2009";
        let figure = Historic::new(label, 3.0, "%", "time")
            .beside("correlation idle-thread siblings")
            .means("By how much a correlation was slower beside the idle thread, nearly.")
            .differs("A slow-down in percent; `time` is a time. The sentence about the correlation has ours.")
            .printed_in("bachelor thesis, HAW Hamburg, 2009, section 8.2.3, figure 50");
        vec![figure]
    }
}

/// All that can wait on the second CPU of a pair, compared with nobody.
fn add(design: &mut Design, relation: Relation, (own, other): (u32, u32)) {
    let ways = Strategy::here().map(|way| way.to_string());
    let names = ["empty".to_string()].into_iter().chain(ways);
    let variant = |name: String| {
        Variant::new(format!("{name} {relation}"))
            .with("beside", name)
            .with("relation", relation)
            .on(&[own, other], Some(relation))
    };
    design.group("time", names.chain(["idle-thread".into(), "busy".into()]).map(variant));
}

/// The work of the thesis, alone and beside its idle thread.
fn add_correlation(design: &mut Design, relation: Relation, (own, other): (u32, u32)) {
    let variant = |name| {
        Variant::new(correlating(name, relation))
            .with("beside", name)
            .with("work", CORRELATION)
            .with("relation", relation)
            .on(&[own, other], Some(relation))
    };
    design.group("time", ["empty", "idle-thread"].map(variant));
}

const CORRELATION: &str = "correlation";

fn correlating(beside: &str, relation: Relation) -> String {
    format!("{CORRELATION} {beside} {relation}")
}

/// What the idle thread costs the work of the thesis.
fn correlation(results: &Results) -> Option<Sentence> {
    let pair = |relation: Relation| {
        let of = |beside| correlating(beside, relation);
        NamedRatio::new(relation.name(), of("empty"), of("idle-thread"), "time")
    };
    let pairs = Relation::ALL.map(pair);
    let head = "what the idle thread of 2009 costs a correlation (then nearly +3 %, on a sibling)";
    ratios_sentence(results, head, &pairs)
}

/// One variant, ready to be measured.
struct Turn {
    own: Place,
    other: Place,
    beside: Beside,
    correlates: bool,
    pieces: u64,
}

enum Done {
    Worked { ns: u64, check: Check },
    Heard(Heard),
}

impl Turn {
    fn of(variant: &Variant, host: &Host, size: Size) -> Option<Turn> {
        let [own, other] = *variant.cpus.as_slice() else { return None };
        let beside = Beside::of(variant.level("beside"))?;
        let (own, other) = (undisturbed(host, own), undisturbed(host, other));
        let correlates = variant.level("work") == CORRELATION;
        Some(Turn { own, other, beside, correlates, pieces: size.of(PIECES) })
    }

    fn measure(&self) -> Result<Vec<Sample>, Fault> {
        let bell = Bell::default();
        let kernel: Box<dyn Kernel> = match self.correlates {
            true => Box::new(Correlation::new(1)),
            false => Box::new(Biquads::new(1)),
        };
        let mut team = TurnThreads::new().with(self.own.clone(), || self.work(kernel, &bell));
        if self.beside.is_somebody() {
            let wait = || Done::Heard(self.beside.listen(&bell, self.pieces));
            team = team.with(self.other.clone(), wait);
        }
        let energy = Energy::find().ok().and_then(|meter| meter.begin());
        let run = team.run()?;
        let power = energy.and_then(Energy::watts);
        self.samples(run.into_results(), power)
    }

    fn piece(&self) -> u64 {
        if self.correlates { CORRELATIONS } else { PIECE }
    }

    fn work(&self, mut kernel: Box<dyn Kernel>, bell: &Bell) -> Done {
        let mut ns = 0;
        for _ in 0..self.pieces {
            let (took, _) = crate::harness::timed::time(|| kernel.run(self.piece()));
            ns += took;
            bell.ring();
            bell.wait_until_heard(self.beside.answers());
        }
        bell.finish();
        Done::Worked { ns, check: Check::of(kernel.check()) }
    }

    fn samples(&self, done: Vec<Done>, power: Option<f64>) -> Result<Vec<Sample>, Fault> {
        let mut samples = Vec::new();
        let blocks = self.piece() * self.pieces;
        for done in done {
            match done {
                Done::Worked { ns, check } => {
                    samples.push(Sample::new("time", per_op(ns, blocks), blocks, check));
                }
                Done::Heard(heard) if self.beside.answers() => {
                    let expected = self.pieces as usize;
                    let check = Check::equal("signals heard", heard.latencies.len(), expected);
                    samples.extend(Sample::median_of("wake", &heard.latencies, check));
                }
                Done::Heard(_) => {}
            }
        }
        let unchecked = Check::None("read from the processor".into());
        samples.extend(power.map(|watts| Sample::new("power", watts, 1, unchecked)));
        match samples.is_empty() {
            true => Err(Fault::new("nobody worked")),
            false => Ok(samples),
        }
    }
}

/// One sentence a relation: every way, how fast it wakes up and what it costs.
fn table(results: &Results) -> Vec<Sentence> {
    let sentence = |relation: Relation| {
        let pair = |variant: &Variant| {
            let wakes = results.median(&variant.name, "wake");
            let wakes = wakes.map_or(String::new(), |ns| format!(" (wakes in {:.1} µs)", ns / 1e3));
            let label = format!("{}{wakes}", variant.level("beside"));
            NamedRatio::new(label, empty(relation), &variant.name, "time")
        };
        let pairs: Vec<NamedRatio> = of_relation(results, relation).map(pair).collect();
        ratios_sentence(results, &format!("{relation}: what waiting costs the other seat"), &pairs)
    };
    Relation::ALL.into_iter().filter_map(sentence).collect()
}

fn empty(relation: Relation) -> String {
    format!("empty {relation}")
}

fn of_relation(results: &Results, relation: Relation) -> impl Iterator<Item = &Variant> {
    let variants = results.designed();
    variants.iter().filter(move |variant| {
        variant.level("relation") == relation.name()
            && variant.level("beside") != "empty"
            && variant.level("work").is_empty()
    })
}

/// Cost against speed: the lower left corner is best.
fn plot(results: &Results, relation: Relation) -> Option<Plot> {
    let point = |variant: &Variant| {
        let wake = results.median(&variant.name, "wake")?;
        let cost = results.compare(&empty(relation), &variant.name, "time")?;
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let estimate = Estimate {
            value: percent(cost.ratio),
            low: cost.interval.map(|i| percent(i.low)),
            high: cost.interval.map(|i| percent(i.high)),
        };
        let name = variant.level("beside").to_string();
        Some(Series { name, points: vec![(wake / 1e3, estimate)] })
    };
    let series: Vec<Series> = of_relation(results, relation).filter_map(point).collect();
    (!series.is_empty()).then(|| Plot::Lines {
        title: format!("what waiting costs the other seat ({relation}), and how fast it ends"),
        x: Axis::log("time to wake up", "us"),
        y: Axis::linear("slow-down of the other seat", "%"),
        series,
        marks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_waiting_hears_every_signal() {
        let host = Host::discover().unwrap();
        let Ok(design) = IdleCost.design(&host, Size::Quick) else {
            println!("SKIPPED every_way_of_waiting_hears_every_signal: two CPUs are needed");
            return;
        };
        for variant in &design.variants {
            let turn = Turn { pieces: 3, ..Turn::of(variant, &host, Size::Quick).unwrap() };
            let samples = turn.measure().unwrap();
            assert!(samples.iter().all(|s| !matches!(s.check, Check::Failed(_))), "{samples:?}");
            let wakes = samples.iter().filter(|sample| sample.metric == "wake").count();
            assert_eq!(wakes == 1, turn.beside.answers(), "{}", variant.name);
        }
    }
}
