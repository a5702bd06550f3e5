//! What was found, in sentences and plots.

use super::contend::METRICS;
use super::evidence::Evidence;
use crate::harness::{Plot, Sentence};
use crate::siblings::{CpuPair, Inference, Level, Measurements, Relation, Slowdown};

/// More pairs than this are not told one by one.
const MOST_TOLD: usize = 3;

/// More pairs than this are not drawn with their slowdowns.
const MOST_DRAWN: usize = 24;

/// Who shares a core, beside what the system says, and the figures behind it.
pub(crate) fn sentences(evidence: &Evidence) -> Vec<Sentence> {
    let mut told = vec![answer(&evidence.inference), beside(evidence)];
    told.extend(open(&evidence.inference));
    told.extend(levels(&evidence.inference.levels));
    told.extend(slowest(&evidence.known));
    told
}

fn answer(inference: &Inference) -> Sentence {
    let [siblings, apart, unknown] = inference.counts();
    let n = inference.cpus.len();
    match (siblings, apart, unknown) {
        (1.., _, _) => {
            let cores: Vec<String> = inference.cores.iter().map(|core| listed(core)).collect();
            Sentence::fact(format!("of these {n} CPUs share a core: {}", cores.join("; ")))
        }
        (0, 1.., 0) => Sentence::fact(format!(
            "no two of these {n} CPUs share a core: no pair slows each other down or hands over as siblings do"
        )),
        (0, 1.., _) => Sentence::fact(format!(
            "no siblings found among these {n} CPUs; {apart} pairs are certainly apart, {unknown} unknown"
        )),
        _ => Sentence::not_shown(format!("unknown who shares a core among these {n} CPUs")),
    }
}

fn beside(evidence: &Evidence) -> Sentence {
    let view = &evidence.system;
    let text = &view.sentence;
    match view.agreed > 0 || view.hides_siblings || !view.disagreements.is_empty() {
        true => Sentence::fact(text),
        false => Sentence::not_shown(text),
    }
}

/// The pairs that remain unknown, each with why, or how many.
fn open(inference: &Inference) -> Vec<Sentence> {
    let unknown = inference.findings.iter().filter(|(_, f)| f.relation == Relation::Unknown);
    let mut told: Vec<Sentence> = unknown
        .map(|(pair, f)| {
            Sentence::not_shown(format!("CPUs {}: unknown: {}", named(*pair), f.reason.words()))
        })
        .collect();
    let more = told.len().saturating_sub(MOST_TOLD);
    told.truncate(MOST_TOLD);
    if more > 0 {
        told.push(Sentence::not_shown(format!("and {more} more pairs are unknown")));
    }
    told
}

fn levels(levels: &[Level]) -> Option<Sentence> {
    let one = |level: &Level| {
        let pairs =
            if level.pairs == 1 { "1 pair".into() } else { format!("{} pairs", level.pairs) };
        match level.high_ns - level.low_ns < 1.0 {
            true => format!("{:.0} ns ({pairs})", level.middle_ns),
            false => format!(
                "{:.0} ns ({:.0} to {:.0}, {pairs})",
                level.middle_ns, level.low_ns, level.high_ns
            ),
        }
    };
    let all: Vec<String> = levels.iter().map(one).collect();
    (!all.is_empty()).then(|| {
        Sentence::fact(format!("a cache line is handed over one way in {}", all.join(", ")))
    })
}

/// The pair that slows each other down most.
fn slowest(known: &Measurements) -> Option<Sentence> {
    let (pair, slowdowns) = by_slowdown(known).into_iter().next()?;
    let one = |s: &Slowdown| {
        format!("{} {:.2} +- {:.2}", s.kernel.words(), s.ratio.median, s.ratio.error)
    };
    let all: Vec<String> = slowdowns.iter().map(one).collect();
    let trials = known.trials(pair);
    Some(Sentence::fact(format!(
        "most contention: CPUs {} side by side need so many times as long as apart: {} ({trials} trials; two siblings: 1.2 to 2)",
        named(pair),
        all.join(", ")
    )))
}

/// The pairs that were tried, those that slow each other down most first.
fn by_slowdown(known: &Measurements) -> Vec<(CpuPair, Vec<Slowdown>)> {
    let mean =
        |of: &[Slowdown]| of.iter().map(|s| s.ratio.median).sum::<f64>() / of.len().max(1) as f64;
    let mut all: Vec<(CpuPair, Vec<Slowdown>)> =
        known.tried().map(|pair| (pair, known.slowdowns(pair))).collect();
    all.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
    all
}

/// Latencies of all pairs, ordered by topology, and the slowdowns of those that were tried.
pub(crate) fn plots(evidence: &Evidence) -> Vec<Plot> {
    let mut plots = vec![heat(evidence)];
    plots.extend(contention(&evidence.known));
    plots
}

fn heat(evidence: &Evidence) -> Plot {
    let Evidence { cpus, known, inference, .. } = evidence;
    let names: Vec<String> = cpus.iter().map(|cpu| format!("CPU {cpu}")).collect();
    let cell = |a: u32, b: u32| if a == b { None } else { Some(known.latency(a, b)?.median) };
    let row = |a: &u32| cpus.iter().map(|b| cell(*a, *b)).collect();
    let ends = |at: &usize| inference.relation(cpus[*at], cpus[at + 1]) != Relation::Siblings;
    let cores = !inference.cores.is_empty();
    let borders = (0..cpus.len().saturating_sub(1)).filter(|at| cores && ends(at)).collect();
    Plot::Heat {
        title: "One-way hand-over between CPUs, ordered by topology; lines after measured cores"
            .into(),
        unit: "ns".into(),
        rows: names.clone(),
        columns: names,
        cells: cpus.iter().map(row).collect(),
        borders,
    }
}

fn contention(known: &Measurements) -> Option<Plot> {
    let mut tried = by_slowdown(known);
    tried.truncate(MOST_DRAWN);
    let cell =
        |of: &[Slowdown], kernel| of.iter().find(|s| s.kernel == kernel).map(|s| s.ratio.median);
    let row = |(_, of): &(CpuPair, Vec<Slowdown>)| {
        METRICS.iter().map(|(kernel, _)| cell(of, *kernel)).collect()
    };
    (!tried.is_empty()).then(|| Plot::Heat {
        title: "Time side by side divided by time apart; 1 is no contention".into(),
        unit: String::new(),
        rows: tried.iter().map(|(pair, _)| format!("CPUs {}", named(*pair))).collect(),
        columns: METRICS.iter().map(|(kernel, _)| kernel.words().into()).collect(),
        cells: tried.iter().map(row).collect(),
        borders: Vec::new(),
    })
}

fn named(pair: CpuPair) -> String {
    format!("{} and {}", pair.0, pair.1)
}

fn listed(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}
