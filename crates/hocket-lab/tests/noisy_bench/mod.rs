//! Records that `hocket bench` might have written on a simulated machine.
//!
//! It has what makes real benches wrong: every engine of a process start is a little faster or
//! slower than its equals for the whole start (its place in memory), rounds resemble their neighbours, some are
//! disturbed, and the clock drifts.
#![allow(dead_code, reason = "no test uses everything")]

use hocket_lab::record::{BenchRecord, Round};
use hocket_lab::stats::Rng;

use crate::fixture;

/// What a simulated machine does. Relative figures: 0.01 is one per cent.
#[derive(Clone, Copy)]
pub struct Noise {
    pub name: &'static str,
    /// Of one engine in one start, normal.
    pub place: f64,
    /// How often such a place is four times as far off.
    pub far: f64,
    /// Of one engine in one round, and how much of it the next round keeps.
    pub own: f64,
    pub memory: f64,
    /// Of all engines in one round, kept as much.
    pub common: f64,
    /// How often a turn is disturbed and takes 1.5 times as long.
    pub stall: f64,
    /// From the first to the last round.
    pub drift: f64,
    /// Of all engines in all rounds of one run: clock, heat, neighbours.
    pub run: f64,
}

pub const PLACES: Noise = Noise {
    name: "places",
    place: 0.01,
    far: 0.0,
    own: 0.005,
    memory: 0.0,
    common: 0.02,
    stall: 0.02,
    drift: 0.0,
    run: 0.01,
};
pub const HEAVY: Noise = Noise { name: "heavy tails", far: 0.1, stall: 0.1, ..PLACES };
pub const ROUNDS_ONLY: Noise =
    Noise { name: "rounds only", place: 0.0, own: 0.02, memory: 0.5, ..PLACES };
pub const NOISES: [Noise; 4] = [
    PLACES,
    HEAVY,
    Noise { name: "memory, drift", place: 0.008, own: 0.01, memory: 0.8, drift: 0.2, ..PLACES },
    ROUNDS_ONLY,
];

pub const STARTS: usize = 5;
pub const ROUNDS: usize = 4;
/// The reference, four others, and the twin.
pub const ENGINES: usize = 6;

/// What is true of the engines. The twin has what the reference has.
#[derive(Clone, Copy)]
pub struct Truth {
    /// How long blocks take, against those of the reference.
    pub blocks: [f64; ENGINES],
    /// How much longer the longest few in a hundred take than that, against the reference.
    pub tails: [f64; ENGINES],
    /// How much the neighbours get done, against beside the reference.
    pub neighbours: [f64; ENGINES],
    /// What a block of the reference takes, in parts of its period.
    pub load: f64,
    /// Blocks of a turn. The one of a turn has no tail.
    pub blocks_per_turn: usize,
}

pub const EQUAL: Truth = Truth {
    blocks: [1.0; ENGINES],
    tails: [1.0; ENGINES],
    neighbours: [1.0; ENGINES],
    load: 0.3,
    blocks_per_turn: 1,
};

/// From a block's planned start to its deadline: 64 frames at 48 kHz.
const PERIOD_NS: f64 = 64.0 / 48_000.0 * 1e9;
/// How many blocks are of the tail, and how much longer they take.
const TAIL: f64 = 0.03;
const LONGER: f64 = 1.3;

/// One engine in one start.
struct Engine {
    place: f64,
    own: f64,
}

/// A record of as many starts and rounds as `hocket bench` takes by default; `effect` is the true ratio of the
/// first variant after the reference.
pub fn simulated(noise: Noise, effect: f64, seed: u64) -> BenchRecord {
    let mut truth = EQUAL;
    truth.blocks[1] = effect;
    record(noise, truth, seed)
}

/// The same of any truth.
pub fn record(noise: Noise, truth: Truth, seed: u64) -> BenchRecord {
    let mut rng = Rng::new(seed);
    // Of what happens within turns, so that it changes nothing else.
    let mut within = Rng::new(seed ^ 0x7a11);
    let rounds = STARTS * ROUNDS;
    let blocks_per_round = truth.blocks_per_turn as u64;
    let shape = fixture::Shape { seed, pairs: true, rounds, blocks_per_round, load: truth.load };
    let mut record = shape.record();
    record.variants.remove(5);
    let run = noise.run * Rng::new(!seed).normal();
    for start in 0..STARTS {
        let mut engines: Vec<Engine> =
            (0..ENGINES).map(|_| Engine { place: place(noise, &mut rng), own: 0.0 }).collect();
        let mut common = 0.0;
        for round in start * ROUNDS..(start + 1) * ROUNDS {
            common = next(common, noise.common, noise.memory, &mut rng);
            let drift = noise.drift * round as f64 / rounds as f64;
            for (index, engine) in engines.iter_mut().enumerate() {
                engine.own = next(engine.own, noise.own, noise.memory, &mut rng);
                let stall = if rng.unit() < noise.stall { 1.5 } else { 1.0 };
                let slow = (run + common + drift + engine.place + engine.own).exp() * stall;
                let level = truth.load * PERIOD_NS * truth.blocks[index] * slow;
                let turn = &mut record.variants[index].rounds[round];
                fill(turn, level, truth.tails[index], &mut within);
            }
        }
    }
    for (index, variant) in record.variants.iter_mut().enumerate() {
        for disturber in &mut variant.disturbers {
            disturber.progress = progress(noise, truth.neighbours[index], &mut within);
        }
        // The pictures of single blocks cost more than all the rest.
        (variant.ordinary, variant.worst, variant.explained) = (None, None, None);
    }
    record
}

/// The blocks of a turn.
fn fill(turn: &mut Round, level_ns: f64, tail: f64, rng: &mut Rng) {
    if turn.duration_ns.len() == 1 {
        return set(turn, level_ns);
    }
    let block = |_: &i64| {
        let long = if rng.unit() < TAIL { LONGER * tail * (0.1 * rng.normal()).exp() } else { 1.0 };
        (level_ns * long * (0.01 * rng.normal()).exp()) as i64
    };
    turn.duration_ns = turn.duration_ns.iter().map(block).collect();
    settle(turn);
}

/// What a neighbour of an engine got done in each round.
fn progress(noise: Noise, truth: f64, rng: &mut Rng) -> Vec<f64> {
    let start = |rng: &mut Rng| {
        let place = truth * (3.0 * place(noise, rng)).exp();
        (0..ROUNDS).map(|_| 40.0 * place * (0.05 * rng.normal()).exp()).collect::<Vec<f64>>()
    };
    (0..STARTS).flat_map(|_| start(rng)).collect()
}

fn place(noise: Noise, rng: &mut Rng) -> f64 {
    let far = if rng.unit() < noise.far { 4.0 } else { 1.0 };
    noise.place * far * rng.normal()
}

fn next(before: f64, size: f64, memory: f64, rng: &mut Rng) -> f64 {
    memory * before + (1.0 - memory * memory).sqrt() * size * rng.normal()
}

/// One block of a turn.
fn set(turn: &mut Round, ns: f64) {
    turn.duration_ns = vec![ns as i64];
    settle(turn);
}

/// What follows from how long the blocks took. Nobody wakes late.
fn settle(turn: &mut Round) {
    turn.lateness_ns.fill(0);
    turn.skipped_periods.fill(0);
    turn.slack_ns = turn.duration_ns.iter().map(|ns| PERIOD_NS as i64 - ns).collect();
}

/// The gate's runs: the reference and its twin, measured at a time of its own.
pub fn run_of(noise: Noise, slowdown: f64, seed: u64) -> BenchRecord {
    let mut record = simulated(noise, 1.0, seed);
    record.variants.drain(1..ENGINES - 1);
    record.started_at = format!("run {seed}");
    for round in record.variants.iter_mut().flat_map(|variant| &mut variant.rounds) {
        let ns = round.duration_ns[0] as f64 * slowdown;
        set(round, ns);
    }
    record
}

/// So many of `n` are the most that 5 % give in all but one of 1000 cases.
pub fn tolerated(n: f64) -> f64 {
    0.05 * n + 3.09 * (n * 0.05 * 0.95).sqrt()
}
