//! What strips abreast are worth: `cargo bench --bench abreast -- [--blocks N] [--record FILE [--force]]`.
//!
//! Strips that write noise, each through four equalisers of four bands, or other effects that run abreast, and one master.
//! Three engines with one worker take turns, block by block, on one thread: one runs each strip by itself, one two at a
//! time, and a bare one has the noise and the master alone. The outputs of the first two have the same bits, which is checked
//! first. A turn's ratio is the time of its block abreast as a part of that by itself; the ratio of the effects is the same
//! after the bare block's time was taken from both. Each interval is that of a median by order statistics (95 %).
//!
//! Once with block directly after block, and once with a pause before each turn: a core that has not used its wide
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
/// The orders in which the engines take turns: each comes behind each other one, at each place.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
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
    command.keep("hocket-abreast/2", result)
}

/// All three engines of one effect, without and with pauses.
fn contest(effect: &str, blocks: usize) -> Vec<Value> {
    let alone = engine(effect, EFFECTS, Couples::Never);
    let abreast = engine(effect, EFFECTS, Couples::WhereTheyPay);
    let bare = engine(effect, 0, Couples::Never);
    let couples = abreast.schedule().units().units().iter().map(|unit| unit.couples.len());
    let couples: usize = couples.sum();
    println!("{STRIPS} strips with {EFFECTS} x {effect}, {couples} couples on this CPU");
    let mut engines = [alone, abreast, bare];
    check(&mut engines);
    let mut turn = |pause: Duration| {
        let [alone_us, abreast_us, bare_us] = compare(&mut engines, blocks, pause);
        let pause_us = pause.as_micros() as u64;
        json!({
            "effect": effect, "couples": couples, "pause_us": pause_us, "alone_us": alone_us, "abreast_us": abreast_us,
            "bare_us": bare_us,
        })
    };
    vec![turn(Duration::ZERO), turn(PAUSE)]
}

fn check([alone, abreast, _]: &mut [Engine; 3]) {
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

/// The times of the blocks of each turn in microseconds: by itself, abreast, bare.
fn compare(engines: &mut [Engine; 3], turns: usize, pause: Duration) -> [Vec<f64>; 3] {
    let mut times: [Vec<f64>; 3] = std::array::from_fn(|_| Vec::with_capacity(turns));
    for turn in 0..turns {
        std::thread::sleep(pause);
        for which in ORDERS[turn % ORDERS.len()] {
            times[which].push(walk_us(&mut engines[which]));
        }
    }
    let [alone, abreast, bare] = &times;
    let of_turns = |ratio: fn(f64, f64, f64) -> f64| -> Vec<f64> {
        let blocks = alone.iter().zip(abreast).zip(bare);
        blocks.map(|((alone, abreast), bare)| ratio(*alone, *abreast, *bare)).collect()
    };
    let (low, ratio, high) = median(&mut of_turns(|alone, abreast, _| abreast / alone));
    let (least, effects, most) =
        median(&mut of_turns(|alone, abreast, bare| (abreast - bare) / (alone - bare)));
    let [alone, abreast, bare] = times.each_ref().map(|times| median(&mut times.clone()).1);
    println!(
        "pause {pause:?}: by itself {alone:.1} µs, abreast {abreast:.1} µs, bare {bare:.1} µs, ratio {ratio:.3} [{low:.3}, \
         {high:.3}], of the effects {effects:.3} [{least:.3}, {most:.3}]"
    );
    times
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

/// Strips with so many effects each.
fn engine(effect: &str, effects: u32, couples: Couples) -> Engine {
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
        for place in 0..effects {
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
