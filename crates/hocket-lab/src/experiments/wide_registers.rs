//! `wide-registers`: what a fill by the C library costs a thread that works once a period.

mod walk;

use hocket_machine::clock::sleep_until_ns;

use super::beside::undisturbed;
use crate::harness::lateness::OpenLoop;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Contrast, ContrastResult, Design, Estimate, Experiment, Fault, Host, Metric,
    NotMeasurable, Opened, Parameter, Plot, Results, Rounds, Sample, Section, Sentence, Series,
    Size, Variant, contrast_sentence,
};
use crate::numbers::{self, quantity};
use walk::{Fill, PIECES, Times, Walk, slow_ns};

/// See [`About`].
pub struct WideRegisters;

static ABOUT: About = About {
    id: "wide-registers",
    section: Section::Audio,
    question: "What does a fill of one row by the C library, with its wide registers, cost a thread that works once a \
               period?",
    origin: "blocks that took longer than the sum of their nodes. A. Fog, The microarchitecture of Intel, AMD and VIA \
             CPUs, on Skylake: the upper parts of the vector units are switched off 0.67 ms after the last use, and \
             work is slow while they warm up. T. Downs, Gathering Intel on Intel AVX-512 Transitions, \
             2020: the same measured, and the lower frequency with 512 bits",
    method: "A pinned thread, FIFO 20 where granted, works a block of 64 pieces as if it walked over light nodes: each \
             piece fills a row of 64 frames and filters another one by four scalar biquads. `library` fills by \
             `slice::fill`, its length hidden from the compiler, which is a call of the C library's memset; `narrow` by \
             hocket_dsp::rows, 16 bytes at once; `none` not at all. `paced` sleeps on the clock up to instants that \
             are planned 1333 µs apart, 64 frames at 48 kHz, before each block; `hot` works block after block. The \
             clock is read after each piece. The filled row must be zero and the filtered one what another way of \
             walking over it computes, bit by bit.",
    limits: "Which registers the C library takes is its choice, once a process, and not read back; what the CPU has is \
             told. Where it takes 512 bits, a lower frequency comes on top, and what that costs depends on the \
             package's other cores. Another thread on the same core that uses wide registers may keep them switched \
             on for both fills. Blocks of some 60 µs: a longer one loses a smaller part.",
    metrics: &[
        Metric::less("time", "ns")
            .means("Time of a block of 64 pieces, from the first reading of the clock to the last: the median \
                    over the blocks of a turn."),
        Metric::less("slow", "ns")
            .means("From a block's beginning to the end of the last piece that takes at least 1.25 times the \
                    median piece of the block's last quarter; 0 where there is none. By the medians of each \
                    piece over the blocks of a turn."),
        piece(
            "piece-1",
            "Time of a piece in the first eighth of a block: the mean of its pieces' medians.",
        ),
        piece("piece-2", "The same in the second eighth."),
        piece("piece-3", "The same in the third eighth."),
        piece("piece-4", "The same in the fourth eighth."),
        piece("piece-5", "The same in the fifth eighth."),
        piece("piece-6", "The same in the sixth eighth."),
        piece("piece-7", "The same in the seventh eighth."),
        piece("piece-8", "The same in the last eighth."),
    ],
    parameters: &[
        Parameter::new("period-ns", &PERIOD_NS),
        Parameter::new("paced", &PACED_BLOCKS),
        Parameter::new("hot", &HOT_BLOCKS),
    ],
};

const fn piece(name: &'static str, definition: &'static str) -> Metric {
    Metric::less(name, "ns").means(definition)
}

/// By place in the block.
const EIGHTHS: [&str; 8] =
    ["piece-1", "piece-2", "piece-3", "piece-4", "piece-5", "piece-6", "piece-7", "piece-8"];
/// 64 frames at 48 kHz.
const PERIOD_NS: u64 = 1_333_333;
/// Blocks of a turn, paced and back to back.
const PACED_BLOCKS: [usize; 2] = [15, 60];
const HOT_BLOCKS: [usize; 2] = [120, 480];
const PACED: &str = "paced";
const HOT: &str = "hot";

impl Experiment for WideRegisters {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let registers = widest();
        for pace in [PACED, HOT] {
            for fill in Fill::ALL {
                let variant = Variant::new(name(fill, pace))
                    .with("fill", fill.name())
                    .with("pace", pace)
                    .with("registers", registers)
                    .on(&host.spread(1), None);
                design.variants.push(variant);
            }
        }
        for pace in [PACED, HOT] {
            add_contrast(&mut design, Fill::Narrow, Fill::Library, pace);
        }
        for pace in [PACED, HOT] {
            add_contrast(&mut design, Fill::None, Fill::Narrow, pace);
        }
        if registers == NARROW {
            let why = "the CPU has none, so that no fill can take them";
            design.missing.push(("a fill with registers of more than 128 bits".into(), why.into()));
        }
        Ok(design.twinned())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let turns = design.each(|variant| Turn::of(variant, host, size))?;
        Ok(Box::new(move |variant: usize| turns[variant].measure()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let contrasts = results.contrasts();
        let own = [PACED, HOT].into_iter().filter_map(|pace| cost(results, &contrasts, pace));
        let own = own.chain(beginning(results, &contrasts));
        own.chain(contrasts.iter().map(contrast_sentence)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        [PACED, HOT].into_iter().filter_map(|pace| plot(results, pace)).collect()
    }
}

const NARROW: &str = "128 bits";

/// The widest registers that the CPU has. That the library takes them is likely, not certain.
fn widest() -> &'static str {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "512 bits";
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return "256 bits";
        }
    }
    NARROW
}

fn name(fill: Fill, pace: &str) -> String {
    format!("{} {pace}", fill.name())
}

fn add_contrast(design: &mut Design, reference: Fill, candidate: Fill, pace: &str) {
    let at = |fill| design.index(&name(fill, pace));
    if let (Some(reference), Some(candidate)) = (at(reference), at(candidate)) {
        design.contrasts.push(Contrast::new(reference, candidate, "time"));
    }
}

/// One variant, ready to be measured.
struct Turn {
    place: Place,
    fill: Fill,
    paced: bool,
    blocks: usize,
}

impl Turn {
    fn of(variant: &Variant, host: &Host, size: Size) -> Option<Turn> {
        let fill = Fill::ALL.into_iter().find(|fill| fill.name() == variant.level("fill"))?;
        let paced = variant.level("pace") == PACED;
        let blocks = size.of(if paced { PACED_BLOCKS } else { HOT_BLOCKS });
        Some(Turn { place: undisturbed(host, *variant.cpus.first()?), fill, paced, blocks })
    }

    fn measure(&self) -> Result<Vec<Sample>, Fault> {
        let team = TurnThreads::new().with(self.place.clone(), || self.work());
        let times = team.run()?.into_results().pop();
        times.and_then(|times| samples(&times)).ok_or_else(|| Fault::new("no block was worked"))
    }

    fn work(&self) -> Times {
        let mut walk = Walk::new(self.fill);
        if !self.paced {
            return walk.blocks(self.blocks, |_| ());
        }
        let plan = OpenLoop { period_ns: PERIOD_NS, wakes: self.blocks as u64 };
        let mut plan = plan.plan();
        walk.blocks(self.blocks, |_| plan.next().map_or((), sleep_until_ns))
    }
}

fn samples(times: &Times) -> Option<Vec<Sample>> {
    let time = Sample::median_of("time", &times.blocks_ns(), times.check.clone())?;
    let pieces = times.pieces_ns();
    let of = |metric, value| Sample::new(metric, value, time.ops, times.check.clone());
    let mean = |pieces: &[f64]| pieces.iter().sum::<f64>() / pieces.len() as f64;
    let eighths = pieces.chunks_exact(PIECES / EIGHTHS.len()).map(mean);
    let eighths: Vec<Sample> =
        EIGHTHS.iter().zip(eighths).map(|(metric, value)| of(metric, value)).collect();
    let slow = of("slow", slow_ns(&pieces));
    Some([time, slow].into_iter().chain(eighths).collect())
}

/// The library's fill against the narrow one.
fn library_against_narrow<'r>(
    contrasts: &'r [ContrastResult],
    pace: &str,
) -> Option<&'r ContrastResult> {
    let (library, narrow) = (name(Fill::Library, pace), name(Fill::Narrow, pace));
    let is = |c: &&ContrastResult| c.candidate == library && c.reference == narrow;
    contrasts.iter().find(is)
}

/// What a block takes with each fill.
fn cost(results: &Results, contrasts: &[ContrastResult], pace: &str) -> Option<Sentence> {
    let time = |fill| Some(numbers::estimate(&results.estimate(&name(fill, pace), "time")?, "ns"));
    let head = if pace == PACED { "once a period" } else { "block after block" };
    let (library, narrow, none) = (time(Fill::Library)?, time(Fill::Narrow)?, time(Fill::None)?);
    let text = format!(
        "{head}, 64 pieces with fills by the library take {library}, narrow {narrow}, without fills \
         {none}; the CPU's widest registers have {}",
        results.design()?.variants.first()?.level("registers")
    );
    Some(Sentence::about(text, library_against_narrow(contrasts, pace)))
}

/// How long the slow beginning lasts, where there is one that narrow fills do not have.
fn beginning(results: &Results, contrasts: &[ContrastResult]) -> Option<Sentence> {
    let of = |fill, metric| results.median(&name(fill, PACED), metric);
    let (library, narrow) = (of(Fill::Library, "slow")?, of(Fill::Narrow, "slow")?);
    let (first, last) = (of(Fill::Library, EIGHTHS[0])?, of(Fill::Library, EIGHTHS[7])?);
    let beside = match narrow {
        0.0 => "none are with narrow ones".into(),
        until => format!("with narrow ones until {}", quantity(until, "ns")),
    };
    let differ = library_against_narrow(contrasts, PACED).filter(|ratio| ratio.is_shown())?;
    let text = format!(
        "once a period, pieces are slow until {} after a block's beginning with fills by the library, {beside}; one \
         takes {} in the first eighth and {} in the last",
        quantity(library, "ns"),
        quantity(first, "ns"),
        quantity(last, "ns")
    );
    (library > narrow).then(|| Sentence::about(text, [differ]))
}

/// How long a piece takes by its place in the block, a line for each fill.
fn plot(results: &Results, pace: &str) -> Option<Plot> {
    let place = |eighth: usize| (eighth as f64 + 0.5) * (PIECES / EIGHTHS.len()) as f64;
    let line = |fill: Fill| {
        let variant = name(fill, pace);
        let point = |(eighth, metric): (usize, &&str)| -> Option<(f64, Estimate)> {
            Some((place(eighth), results.estimate(&variant, metric)?))
        };
        Series {
            name: variant.clone(),
            points: EIGHTHS.iter().enumerate().filter_map(point).collect(),
        }
    };
    let series: Vec<Series> = Fill::ALL.into_iter().map(line).collect();
    let head = if pace == PACED { "once a period" } else { "block after block" };
    series.iter().any(|line| !line.points.is_empty()).then(|| Plot::Lines {
        title: format!("Time of a piece by its place in a block, {head}"),
        x: Axis::linear("pieces since the block's beginning", ""),
        y: Axis::linear("time of a piece", "ns"),
        series,
        marks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn one_turn_of_each_variant_computes_what_it_must() {
        let host = Host::discover().unwrap();
        let design = WideRegisters.design(&host, Size::Quick).unwrap();
        assert_eq!((design.fault(), design.variants.len(), design.contrasts.len()), (None, 6, 4));
        for variant in &design.variants {
            let Some(turn) = Turn::of(variant, &host, Size::Quick) else {
                panic!("{} has no turn", variant.name)
            };
            let samples = Turn { blocks: 3, ..turn }.measure().unwrap();
            assert_eq!(samples.len(), ABOUT.metrics.len());
            for (sample, metric) in samples.iter().zip(ABOUT.metrics) {
                assert_eq!((sample.metric.as_str(), &sample.check), (metric.name, &Check::Passed));
                assert!(sample.value > 0.0 || sample.metric == "slow", "{sample:?}");
            }
        }
    }
}
