//! Hocket's side of the comparison with audio servers: voices of noise through 32 serial biquads,
//! all into one bus; a node a unit generator, or the filters as the one cascade that an equalizer here is.

use hocket_dsp::biquad::{BiquadCascade, Coefficients};
use hocket_dsp::{Block, Processor};
use hocket_engine::control::prepare::PrepareError;
use hocket_engine::{Engine, Prepared, Seating, Settings, cascade_kernel};
use hocket_lab::graphs::{BiquadLoad, GraphSpec};
use hocket_machine::Topology;
use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind, ScheduleKind};

use crate::setup::{POLICY, RATE_HZ};

/// Biquads of a voice.
pub const SECTIONS: usize = 32;

/// Floating-point operations a sample of a biquad, and of an addition with a gain.
const BIQUAD_COST: f64 = 9.0;
const SUM_COST: f64 = 2.0;

/// What a voice is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Voice {
    /// Noise and 32 filters, a node each, as unit generators of a server are.
    Nodes,
    /// Noise, and the 32 filters as one cascade (`hocket_dsp::biquad`), as an equalizer's are. The same
    /// filters in `f64`.
    Cascade,
}

/// Graph and processors of `voices` voices.
///
/// # Errors
/// None for a number of voices that fits into memory.
pub fn prepare(voices: usize, voice: Voice) -> Result<Prepared, PrepareError> {
    let kind = voice;
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    let mut ends = Vec::with_capacity(voices);
    for voice in 0..voices {
        let mut last = add(&mut graph, format!("noise {voice}"), &[], SUM_COST)?;
        processors.push(Some(Box::new(Noise::new(voice))));
        for (name, cost, filter) in filters(kind, voice) {
            last = add(&mut graph, name, &[last], cost)?;
            processors.push(Some(filter));
        }
        ends.push(last);
    }
    add(&mut graph, "bus".into(), &ends, SUM_COST * voices as f64)?;
    processors.push(None);
    Prepared::from_graph(&graph, processors, Fusing::Chains)
}

fn add(
    graph: &mut Graph,
    name: String,
    from: &[NodeId],
    cost: f64,
) -> Result<NodeId, PrepareError> {
    let inputs = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
    Ok(graph.add(Node {
        name,
        kind: NodeKind::Custom(0),
        inputs,
        cost,
        latency_frames: 0,
        ports: Default::default(),
    })?)
}

/// The filters of a voice as nodes: name, cost, processor.
fn filters(kind: Voice, voice: usize) -> Vec<(String, f64, Box<dyn Processor>)> {
    match kind {
        Voice::Nodes => (0..SECTIONS)
            .map(|section| {
                let filter: Box<dyn Processor> = Box::new(biquad());
                (format!("biquad {voice}.{section}"), BIQUAD_COST, filter)
            })
            .collect(),
        Voice::Cascade => {
            let cost = BIQUAD_COST * SECTIONS as f64;
            vec![(format!("biquads {voice}"), cost, Box::new(Cascade::new()))]
        }
    }
}

/// The 32 sections as one filter on the left row.
struct Cascade(BiquadCascade);

impl Cascade {
    fn new() -> Cascade {
        // The coefficients of the lab's section.
        let section = Coefficients { b0: 0.2, b1: 0.3, b2: 0.2, a1: -0.5, a2: 0.25 };
        Cascade(BiquadCascade::with_kernel(&[section; SECTIONS], cascade_kernel()))
    }
}

impl Processor for Cascade {
    fn process(&mut self, block: &mut Block<'_>) {
        self.0.process_mono(block.main.left);
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

/// One section, as in the lab's graphs.
fn biquad() -> BiquadLoad {
    GraphSpec { name: "voice", tracks: 1, nodes_a_track: 1, biquads: 1 }.load()
}

/// The engine with `voices` voices on `workers` workers: one is the serial schedule, without
/// threads beside the leader.
///
/// Thread: the leader-to-be.
///
/// # Errors
/// What could not be had here.
pub fn engine(voices: usize, voice: Voice, workers: usize, frames: u32) -> Result<Engine, String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let seating = Seating::here(&topology, POLICY.sibling, Some(workers))
        .map_err(|error| format!("{error}; ask for fewer with --workers"))?;
    let schedule = if workers == 1 { ScheduleKind::Serial } else { POLICY.schedule };
    let policy = hocket_engine::Policy { schedule, ..POLICY };
    let prepared = prepare(voices, voice).map_err(|error| error.to_string())?;
    Engine::start(prepared, Settings::new(frames, RATE_HZ, policy), seating)
        .map_err(|error| error.to_string())
}

/// White noise between -1 and 1 on the left row: Marsaglia's xorshift32, a sample a step
/// (Journal of Statistical Software 8(14), 2003).
struct Noise {
    seed: u32,
    state: u32,
}

impl Noise {
    /// A voice's own noise.
    fn new(voice: usize) -> Noise {
        // Odd times odd: never zero, which xorshift would keep.
        let seed = (voice as u32).wrapping_mul(2).wrapping_add(1).wrapping_mul(0x9E37_79B9);
        Noise { seed, state: seed }
    }
}

impl Processor for Noise {
    fn process(&mut self, block: &mut Block<'_>) {
        for sample in block.main.left.iter_mut() {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 17;
            self.state ^= self.state << 5;
            *sample = self.state as i32 as f32 / 2_147_483_648.0;
        }
    }

    fn reset(&mut self) {
        self.state = self.seed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Fuse, Setup};

    /// The left row of the bus after each of some blocks.
    fn bus(voices: usize, voice: Voice, workers: usize) -> Vec<f32> {
        let setup = Setup::unpinned(workers, Fuse::Hocket).unwrap();
        let prepared = prepare(voices, voice).unwrap();
        let mut engine = Engine::start(prepared, setup.settings(), setup.seating.clone()).unwrap();
        let block = |_| {
            engine.process(64);
            engine.output(64).left.to_vec()
        };
        (0..50).flat_map(block).collect()
    }

    #[test]
    fn a_voice_is_a_unit() {
        for (voice, nodes) in [(Voice::Nodes, SECTIONS + 1), (Voice::Cascade, 2)] {
            let prepared = prepare(7, voice).unwrap();
            assert_eq!(prepared.processors.len(), 7 * nodes + 1);
            assert_eq!(prepared.units.units().len(), 7 + 1);
        }
    }

    #[test]
    fn workers_do_not_change_the_sound_and_voices_do() {
        for voice in [Voice::Nodes, Voice::Cascade] {
            let one = bus(5, voice, 1);
            assert_eq!(one, bus(5, voice, 3));
            assert_ne!(one, bus(6, voice, 1));
            let power = one.iter().map(|s| s * s).sum::<f32>() / one.len() as f32;
            assert!((1e-6..10.0).contains(&power), "{power}");
        }
    }

    #[test]
    fn both_voices_sound_the_same() {
        let (nodes, cascade) = (bus(3, Voice::Nodes, 1), bus(3, Voice::Cascade, 1));
        let loudest = nodes.iter().fold(0.0f32, |most, sample| most.max(sample.abs()));
        for (a, b) in nodes.iter().zip(&cascade) {
            // f32 against f64 through 32 sections.
            assert!((a - b).abs() < 1e-4 * loudest, "{a} {b}");
        }
    }
}
