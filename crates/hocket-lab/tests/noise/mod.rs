//! A simulated machine, and what the lab would have measured on it.
//!
//! It has what a real one was seen to have: drift, a clock that moves between
//! bins 4 and 7.4 % apart, stalls of 20 ms in a turn of 50 ms, turns that resemble the one before,
//! starts that favour one variant. Every seed is fixed, so nothing here can flicker.
#![allow(dead_code, reason = "no test uses everything")]

use std::collections::BTreeMap;

use hocket_lab::harness::{
    Check, Design, ExperimentRun, FifoGrant, Host, Results, Rounds, Row, Sample, Size as Thorough,
    Variant,
};
use hocket_lab::stats::Rng;
use hocket_machine::Topology;

/// What disturbs a simulated machine. Relative figures: 0.01 is one per cent.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    pub name: &'static str,
    /// Deviation of one turn of one variant.
    pub own: f64,
    /// Its correlation with the variant's turn before.
    pub memory: f64,
    /// How much slower the machine becomes over a start, and a random walk's step a turn.
    pub drift: f64,
    pub walk: f64,
    /// The chance a turn that the clock moves to one of its bins.
    pub step: f64,
    /// The chance a turn of a stall.
    pub stall: f64,
    /// Deviation of a start's own advantage for one variant.
    pub start: f64,
    /// The same for all variants whose names begin with the same word: they run the same code.
    pub kin: f64,
}

pub const WHITE: Noise = Noise {
    name: "white",
    own: 0.01,
    memory: 0.0,
    drift: 0.0,
    walk: 0.0,
    step: 0.0,
    stall: 0.0,
    start: 0.0,
    kin: 0.0,
};

pub const NOISES: [Noise; 8] = [
    WHITE,
    Noise { name: "drift", drift: 0.3, walk: 0.003, ..WHITE },
    Noise { name: "clock steps", step: 0.1, ..WHITE },
    Noise { name: "stalls", stall: 0.1, ..WHITE },
    Noise { name: "AR(1) 0.5", memory: 0.5, ..WHITE },
    LONG_MEMORY,
    STARTS,
    Noise {
        name: "all",
        own: 0.006,
        memory: 0.4,
        drift: 0.1,
        walk: 0.002,
        step: 0.05,
        stall: 0.05,
        start: 0.003,
        ..WHITE
    },
];

/// Rounds that hardly renew themselves: 16 of them are worth fewer than two.
pub const LONG_MEMORY: Noise = Noise { name: "AR(1) 0.9", memory: 0.9, ..WHITE };

pub const STARTS: Noise = Noise { name: "starts", own: 0.005, start: 0.005, ..WHITE };

/// So rough that differences of several per cent come by chance: where a verdict also asks for so much.
pub const ROUGH: [Noise; 4] = [
    Noise { name: "rough", own: 0.08, ..WHITE },
    Noise { name: "rough AR(1) 0.5", own: 0.08, memory: 0.5, ..WHITE },
    Noise { name: "rough starts", own: 0.02, start: 0.05, ..WHITE },
    Noise {
        name: "rough all",
        own: 0.05,
        memory: 0.4,
        drift: 0.2,
        step: 0.05,
        stall: 0.1,
        start: 0.03,
        ..WHITE
    },
];

/// Places of the clock: slowness by bin.
const BINS: [f64; 3] = [1.0, 1.04, 1.074];

/// How much is measured: rounds a start, and the starts after which it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub rounds: u32,
    pub looks: [u32; 2],
    /// The half-width at which to stop.
    pub target: f64,
}

/// What `hocket lab run --quick` needs for a difference of 2 %: 5 starts of 16 rounds.
pub const QUICK: Size = Size { rounds: 16, looks: [3, 5], target: 0.007 };
/// What long memory needs.
pub const FULL: Size = Size { rounds: 32, looks: [3, 12], target: 0.005 };

impl Size {
    pub fn design_rounds(self) -> Rounds {
        Rounds { processes: self.looks[1], per_process: self.rounds, warm_up: 0 }
    }
}

/// A machine during one start.
pub struct Machine {
    noise: Noise,
    rng: Rng,
    turns: f64,
    turn: f64,
    walk: f64,
    bin: usize,
}

impl Machine {
    pub fn open(noise: Noise, turns: f64, seed: u64) -> Self {
        Machine { noise, rng: Rng::new(seed), turns, turn: 0.0, walk: 0.0, bin: 0 }
    }

    /// How slow the machine is in the next turn.
    fn slowness(&mut self) -> f64 {
        self.turn += 1.0;
        self.walk += self.noise.walk * self.rng.normal();
        if self.rng.unit() < self.noise.step {
            self.bin = self.rng.below(BINS.len());
        }
        let stall = if self.rng.unit() < self.noise.stall { 1.4 } else { 1.0 };
        BINS[self.bin] * (self.walk + self.noise.drift * self.turn / self.turns).exp() * stall
    }

    /// The rounds of one start, `[round][turn]`, by the true figure of each turn: each has a place of its own in memory,
    /// which holds for the whole start, and each round a new order.
    pub fn rounds(&mut self, rounds: u32, truth: &[f64]) -> Vec<Vec<f64>> {
        let (memory, fresh) = (self.noise.memory, (1.0 - self.noise.memory.powi(2)).sqrt());
        let place = |truth: &f64| truth * (self.noise.start * self.rng.normal()).exp();
        let places: Vec<f64> = truth.iter().map(place).collect();
        let mut own: Vec<f64> = truth.iter().map(|_| self.rng.normal()).collect();
        let mut order: Vec<usize> = (0..truth.len()).collect();
        let mut round = || {
            let mut figures = vec![0.0; truth.len()];
            self.rng.shuffle(&mut order);
            for turn in &order {
                own[*turn] = memory * own[*turn] + fresh * self.rng.normal();
                let noise = (self.noise.own * own[*turn]).exp();
                figures[*turn] = self.slowness() * places[*turn] * noise;
            }
            figures
        };
        (0..rounds).map(|_| round()).collect()
    }
}

/// The usual length of a turn, in nanoseconds.
pub const TURN_NS: f64 = 50e6;

/// A run of `design` in which `effect` is the true factor of every variant; twins have their original's. Its metrics are
/// those of the contrasts.
pub fn results(
    noise: Noise,
    id: &str,
    design: &Design,
    effect: impl Fn(&Variant) -> f64,
    seed: u64,
) -> Results {
    let mut metrics: Vec<&str> = design.contrasts.iter().map(|c| c.metric.as_str()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    measured(noise, id, design, &metrics, |variant| TURN_NS * effect(variant), seed)
}

/// The same with these metrics, each of which has `truth` as its true figure.
pub fn measured(
    noise: Noise,
    id: &str,
    design: &Design,
    metrics: &[&str],
    truth: impl Fn(&Variant) -> f64,
    seed: u64,
) -> Results {
    let mut rng = Rng::new(seed);
    let turns: Vec<(usize, String)> = (0..design.turns()).map(|turn| design.turn(turn)).collect();
    let figures: Vec<f64> =
        turns.iter().map(|(variant, _)| truth(&design.variants[*variant])).collect();
    let Rounds { processes, per_process, .. } = design.rounds;
    let mut rows = Vec::new();
    for process in 0..processes {
        let length = f64::from(per_process) * figures.len() as f64;
        let start = rng.next_u64();
        let favoured = favoured(noise, &turns, &figures, start);
        let mut machine = Machine::open(noise, length, start);
        for (round, figures) in (0..).zip(machine.rounds(per_process, &favoured)) {
            for ((_, name), value) in turns.iter().zip(figures) {
                rows.extend(metrics.iter().map(|metric| row(process, round, name, metric, value)));
            }
        }
    }
    let design = Some(design.clone());
    let run = ExperimentRun { design, ..ExperimentRun::new(id, Thorough::Quick) };
    Results { run, rows, seed, historic: Vec::new() }
}

/// The figures with what the start does for each kin.
fn favoured(noise: Noise, turns: &[(usize, String)], figures: &[f64], start: u64) -> Vec<f64> {
    let mut rng = Rng::new(!start);
    let mut known: BTreeMap<&str, f64> = BTreeMap::new();
    let first = |name: &str| name.split(' ').next().unwrap_or_default().to_string();
    let words: Vec<String> = turns.iter().map(|(_, name)| first(name)).collect();
    for word in &words {
        known.entry(word).or_insert_with(|| (noise.kin * rng.normal()).exp());
    }
    words.iter().zip(figures).map(|(word, figure)| figure * known[word.as_str()]).collect()
}

fn row(process: u32, round: u32, variant: &str, metric: &str, value: f64) -> Row {
    let sample = Sample::new(metric, value, 1, Check::Passed);
    Row { unit: "ns".into(), ..Row::new(variant, process, round, sample) }
}

/// `a` and so many others, all compared with it.
pub fn design(size: Size, others: usize) -> Design {
    let others = (0..others).map(|other| Variant::new(format!("b{other}")));
    let variants = std::iter::once(Variant::new("a")).chain(others).collect();
    Design::against_first(variants, "time", size.design_rounds())
}

/// A design without the variants that `keep` does not want, measured so often.
pub fn only(design: Design, rounds: Rounds, keep: impl Fn(&Variant) -> bool) -> Design {
    let kept: Vec<usize> =
        (0..design.variants.len()).filter(|at| keep(&design.variants[*at])).collect();
    let place = |at: &usize| kept.iter().position(|kept| kept == at);
    let contrasts = design.contrasts.iter().filter_map(|contrast| {
        let (reference, candidate) = (place(&contrast.reference)?, place(&contrast.candidate)?);
        Some(hocket_lab::harness::Contrast { reference, candidate, ..contrast.clone() })
    });
    Design {
        contrasts: contrasts.collect(),
        twins: design.twins.iter().filter_map(place).collect(),
        variants: kept.iter().map(|at| design.variants[*at].clone()).collect(),
        rounds,
        ..design
    }
}

/// So many of `n` are the most that 5 % give in all but one of 1000 cases.
pub fn tolerated(n: f64) -> f64 {
    0.05 * n + 3.09 * (n * 0.05 * 0.95).sqrt()
}

/// How many of the seeds below `runs` have it.
pub fn count(runs: u64, has: impl Fn(u64) -> bool) -> f64 {
    (0..runs).filter(|seed| has(*seed)).count() as f64
}

/// Of two cores with two seats each below one cache: CPUs 0 and 2, 1 and 3.
pub fn two_cores_with_smt() -> Host {
    let topology = Topology::from_xml(TWO_CORES, "two-cores.xml").expect("well-formed");
    Host { topology, cpus: vec![0, 1, 2, 3], fifo: FifoGrant::UpTo(60) }
}

const TWO_CORES: &str = r#"<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1">
<object type="NUMANode" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" local_memory="1024"/>
<object type="Package" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1">
<object type="L3Cache" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" cache_size="8388608" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
<object type="Core" os_index="0" cpuset="0x5" complete_cpuset="0x5" nodeset="0x1" complete_nodeset="0x1"><object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"/><object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x1" complete_nodeset="0x1"/></object>
<object type="Core" os_index="1" cpuset="0xa" complete_cpuset="0xa" nodeset="0x1" complete_nodeset="0x1"><object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"/><object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x1" complete_nodeset="0x1"/></object>
</object></object></object></topology>"#;
