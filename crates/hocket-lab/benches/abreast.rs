//! What strips abreast are worth: `cargo bench --bench abreast -- [--blocks N] [--record FILE [--force]]`.
//!
//! Strips that write noise, each through four equalisers of four bands, or other effects that run abreast, and one master.
//! Two engines with one worker take turns, block by block, on one thread: one runs each strip by itself, the other two at a
//! time. Their outputs have the same bits, which is checked first. The ratio is the time of a block abreast as a part of the
//! one before it or behind it; its interval is that of a median by order statistics (95 %).
//!
//! Once with block directly after block, and once with a pause before each pair of blocks: a core that has not used its wide
//! registers for a time may be slow with them at first.

mod one_seat;

use std::process::ExitCode;
use std::time::Duration;

use hocket_dsp::{Block, Processor, kind};
use hocket_engine::{Couples, Engine, Prepared, Settings};
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind};
use one_seat::one_seat;
use serde_json::{Value, json};

const FRAMES: usize = 64;
const RATE_HZ: u32 = 48_000;
const STRIPS: u32 = 16;
const EFFECTS: u32 = 4;
/// The period of 64 frames.
const PAUSE: Duration = Duration::from_micros(1333);

fn main() -> ExitCode {
    bench_exit("abreast", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let blocks = command.value("--blocks").and_then(|blocks| blocks.parse().ok()).unwrap_or(3000);
    let blocks = if command.measures() { blocks } else { 10 };
    let effects = ["eq", "compressor", "amp", "correlation"];
    let found = effects.map(|effect| contest(effect, blocks)).concat();
    let result = json!({
        "frames": FRAMES, "strips": STRIPS, "effects_of_a_strip": EFFECTS, "contests": found,
    });
    command.keep("hocket-abreast/1", result)
}

/// Both ways of one effect, without and with pauses.
fn contest(effect: &str, blocks: usize) -> Vec<Value> {
    let mut alone = engine(effect, Couples::Never);
    let mut abreast = engine(effect, Couples::WhereTheyPay);
    let couples = abreast.schedule().units().units().iter().map(|unit| unit.couples.len());
    let couples: usize = couples.sum();
    println!("{STRIPS} strips with {EFFECTS} x {effect}, {couples} couples on this CPU");
    check(&mut alone, &mut abreast);
    let mut turn = |pause: Duration| {
        let samples = compare(&mut alone, &mut abreast, blocks, pause);
        let (alone_us, abreast_us): (Vec<f64>, Vec<f64>) = samples.into_iter().unzip();
        let pause_us = pause.as_micros() as u64;
        json!({
            "effect": effect, "couples": couples, "pause_us": pause_us, "alone_us": alone_us, "abreast_us": abreast_us,
        })
    };
    vec![turn(Duration::ZERO), turn(PAUSE)]
}

fn check(alone: &mut Engine, abreast: &mut Engine) {
    for block in 0..50 {
        let bits = [&mut *alone, &mut *abreast].map(|engine| {
            engine.process_serial(FRAMES);
            let rows = engine.output(FRAMES);
            rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()).collect::<Vec<u32>>()
        });
        assert!(bits[0] == bits[1], "block {block}");
        // Effects with latency begin with silence.
        assert!(block < 10 || bits[0].iter().any(|bits| *bits != 0), "silence in block {block}");
    }
}

/// The times of each pair of blocks in microseconds: by itself, abreast.
fn compare(
    alone: &mut Engine,
    abreast: &mut Engine,
    blocks: usize,
    pause: Duration,
) -> Vec<(f64, f64)> {
    let mut samples = Vec::with_capacity(blocks);
    for round in 0..blocks {
        std::thread::sleep(pause);
        let (one, both) = match round % 2 {
            0 => (walk_us(alone), walk_us(abreast)),
            _ => {
                let both = walk_us(abreast);
                (walk_us(alone), both)
            }
        };
        samples.push((one, both));
    }
    let mut ratios: Vec<f64> = samples.iter().map(|(one, both)| both / one).collect();
    let (mut one, mut both): (Vec<f64>, Vec<f64>) = samples.iter().copied().unzip();
    let (low, ratio, high) = median(&mut ratios);
    println!(
        "pause {pause:?}: by itself {:.1} us, abreast {:.1} us, ratio {ratio:.3} [{low:.3}, {high:.3}]",
        median(&mut one).1,
        median(&mut both).1,
    );
    samples
}

fn walk_us(engine: &mut Engine) -> f64 {
    engine.process_serial(FRAMES).duration_ns as f64 / 1000.0
}

/// The median between the bounds of its 95 % interval (order statistics, normal approximation).
fn median(samples: &mut [f64]) -> (f64, f64, f64) {
    samples.sort_by(f64::total_cmp);
    let (last, middle) = (samples.len() - 1, samples.len() / 2);
    let reach = (0.98 * (samples.len() as f64).sqrt()).ceil() as usize;
    (samples[middle.saturating_sub(reach)], samples[middle], samples[(middle + reach).min(last)])
}

struct Noise(u32);

impl Processor for Noise {
    fn process(&mut self, block: &mut Block<'_>) {
        for row in [&mut *block.main.left, &mut *block.main.right] {
            for sample in row {
                self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *sample = (self.0 >> 8) as f32 / 8_388_608.0 - 1.0;
            }
        }
    }

    fn reset(&mut self) {}
}

fn engine(effect: &str, couples: Couples) -> Engine {
    let (mut graph, mut processors) = (Graph::default(), Vec::new());
    let mut add = |name: String, from: &[NodeId], processor: Option<Box<dyn Processor>>| {
        let inputs = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
        let (kind, cost) = (NodeKind::Custom(processors.len() as u32), 100.0);
        processors.push(processor);
        let ports = Default::default();
        let node = Node { name, kind, inputs, cost, latency_frames: 0, ports };
        graph.add(node).expect("inputs come before")
    };
    let mut ends = Vec::new();
    for strip in 0..STRIPS {
        let mut last = add(format!("{strip}: noise"), &[], Some(Box::new(Noise(strip))));
        for place in 0..EFFECTS {
            let kind = kind(effect).expect("a kind of this name");
            let mut values = kind.defaults();
            if effect == "eq" {
                values.iter_mut().step_by(4).for_each(|shape| *shape = 1.0);
                let gains_db = values.iter_mut().skip(3).step_by(4);
                gains_db.for_each(|gain_db| *gain_db = place as f32 - 1.5);
            }
            last = add(format!("{strip}: {effect}"), &[last], Some((kind.build)(&values, RATE_HZ)));
        }
        ends.push(last);
    }
    add("master: sum".into(), &ends, None);
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).expect("a graph");
    let (seating, settings) = one_seat(FRAMES, RATE_HZ);
    Engine::start(prepared, Settings { couples, ..settings }, seating).expect("an engine")
}
