//! Small sessions and engines to look at.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_dsp::{Block, Processor, StereoRef};
use hocket_engine::{
    Engine, MediaPool, Policy, Prepared, Seating, Settings, StereoAudio, prepare_session,
};
use hocket_plan::session::{
    Clip, ClipFade, Destination, Group, GroupId, Media, MediaId, Return, ReturnId, Send, Strip,
    Tap, Track,
};
use hocket_plan::{
    Edge, Effect, Fusing, Graph, Node, NodeKind, ScheduleKind, Seat, Seats, Session, SiblingPolicy,
};
use hocket_rt::Strategy;

pub const RATE_HZ: u32 = 48_000;
pub const FRAMES: usize = 64;

/// One engine at a time: threads and CPU sets are the process's.
pub fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn policy(schedule: ScheduleKind) -> Policy {
    Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Hybrid }
}

/// Settings whose threads stay in the ordinary class: seats are described, several threads may have
/// to share a CPU.
pub fn settings(policy: Policy) -> Settings {
    Settings { priority: None, ..Settings::new(FRAMES as u32, RATE_HZ, policy) }
}

pub fn seating(policy: SiblingPolicy, workers: usize) -> Seating {
    let cores = workers + usize::from(policy.spares_a_core());
    let seats =
        Seats { seats: (0..cores * 2).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() };
    Seating::described(&seats, policy, Some(workers)).unwrap()
}

/// Cores with two seats each.
pub fn paired(cores: usize) -> Seats {
    Seats { seats: (0..cores * 2).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() }
}

pub fn engine(prepared: Prepared, policy: Policy, workers: usize) -> Engine {
    Engine::start(prepared, settings(policy), seating(policy.sibling, workers)).unwrap()
}

/// Left, then right.
pub fn bits(rows: StereoRef<'_>) -> Vec<u32> {
    rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()).collect()
}

/// The output of `blocks` blocks.
pub fn play(engine: &mut Engine, blocks: usize) -> Vec<Vec<u32>> {
    let block = |_| {
        engine.process(FRAMES);
        bits(engine.output(FRAMES))
    };
    (0..blocks).map(block).collect()
}

/// One track for each kind of effect, two groups in a row, a return.
pub fn session() -> Session {
    let tracks = hocket_dsp::kinds().iter().enumerate().map(|(i, kind)| track(i, kind.name));
    Session {
        name: "behaviour".into(),
        sample_rate_hz: RATE_HZ,
        length_s: None,
        media: vec![Media { path: PathBuf::from("noise"), resample: false }],
        tracks: tracks.collect(),
        groups: vec![
            Group { strip: strip("outer", vec![]), output: Destination::Master },
            Group { strip: strip("inner", vec![]), output: Destination::Group(GroupId(0)) },
        ],
        returns: vec![Return {
            strip: strip("room", vec![effect("freeverb")]),
            output: Destination::Master,
        }],
        master: strip("master", vec![effect("limiter")]),
        ..Session::default()
    }
}

pub fn media() -> MediaPool {
    MediaPool::new(vec![Arc::new(audio(3_000))])
}

pub fn prepared() -> Prepared {
    prepare_session(&session(), &media(), RATE_HZ, Fusing::Chains).unwrap()
}

/// Distinct samples on both sides, so that a frame out of place shows.
pub fn audio(frames: usize) -> StereoAudio {
    let row = |seed: f64| -> Vec<f32> {
        (0..frames).map(|i| ((i as f64 + seed) * seed).sin() as f32 * 0.5).collect()
    };
    StereoAudio::from_planar(&[row(1.7), row(2.9)])
}

pub fn effect(kind: &str) -> Effect {
    let known = hocket_dsp::kind(kind).unwrap();
    Effect::new(kind, known.defaults())
}

fn strip(name: &str, chain: Vec<Effect>) -> Strip {
    let sends = Vec::new();
    Strip { name: name.into(), chain, gain_db: -6.0, pan: 0.1, mute: false, solo: false, sends }
}

fn track(index: usize, kind: &str) -> Track {
    let mut strip = strip(kind, vec![effect(kind)]);
    strip.sends.push(Send {
        to: ReturnId(0),
        gain_db: -12.0,
        tap: Tap::PostFader,
        feedback: false,
    });
    let outputs =
        [Destination::Master, Destination::Group(GroupId(0)), Destination::Group(GroupId(1))];
    let clip = Clip { start_s: index as f64 * 0.0007, looped: true, ..whole_file() };
    Track {
        strip,
        output: outputs[index % 3],
        clips: vec![clip],
        input: None,
        from: None,
        notes: Vec::new(),
    }
}

/// The whole of the first file, once, at full level.
pub fn whole_file() -> Clip {
    Clip {
        media: MediaId(0),
        start_s: 0.0,
        offset_s: 0.0,
        length_s: None,
        looped: false,
        gain_db: 0.0,
        fade_in_s: 0.0,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    }
}

/// A processor made of a function.
pub struct Does<F>(pub F);

impl<F: FnMut(&mut Block<'_>) + std::marker::Send> Processor for Does<F> {
    fn process(&mut self, block: &mut Block<'_>) {
        (self.0)(block);
    }

    fn reset(&mut self) {}
}

/// `layers` rows of `width` units, each of which reads all of the row before; a last one sums up.
///
/// Every unit adds one to what it reads (scaled to stay small), so each output sample is known.
pub fn lattice(layers: usize, width: usize) -> (Prepared, f32) {
    let mut graph = Graph::default();
    let mut before: Vec<Edge> = Vec::new();
    for layer in 0..=layers {
        let row = if layer == layers { 1 } else { width };
        let gain_lin = 1.0 / width as f32;
        let ids: Vec<_> = (0..row)
            .map(|place| {
                let name = format!("{layer}: {place}");
                let kind = NodeKind::Custom(place as u32);
                let inputs = before.clone();
                graph
                    .add(Node {
                        name,
                        kind,
                        inputs,
                        cost: 10.0,
                        latency_frames: 0,
                        ports: Default::default(),
                    })
                    .unwrap()
            })
            .collect();
        before = ids.into_iter().map(|from| Edge::new(from, gain_lin)).collect();
    }
    let add_one = || -> Box<dyn Processor> {
        Box::new(Does(|block: &mut Block<'_>| {
            block.main.left.iter_mut().chain(&mut *block.main.right).for_each(|s| *s += 1.0);
        }))
    };
    let processors = graph.nodes().iter().map(|_| Some(add_one())).collect();
    let prepared = Prepared::from_graph(&graph, processors, Fusing::None).unwrap();
    (prepared, (layers + 1) as f32)
}

/// Voices that differ from each other and from sample to sample, summed at different gains.
pub fn voices(count: usize) -> Prepared {
    let mut graph = Graph::default();
    let mut add = |name: String, inputs: Vec<Edge>| {
        let kind = NodeKind::Custom(0);
        graph
            .add(Node {
                name,
                kind,
                inputs,
                cost: 30.0,
                latency_frames: 0,
                ports: Default::default(),
            })
            .unwrap()
    };
    let voices: Vec<_> = (0..count).map(|i| add(format!("voice {i}: noise"), vec![])).collect();
    let edge = |(i, from)| Edge::new(from, 0.3 + (i % 7) as f32 * 0.11);
    add("master: sum".into(), voices.into_iter().enumerate().map(edge).collect());
    let noise = |seed: usize| {
        let mut state = seed as u32 + 1;
        Does(move |block: &mut Block<'_>| {
            for sample in block.main.left.iter_mut().chain(&mut *block.main.right) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *sample = state as i32 as f32 * 2f32.powi(-31);
            }
        })
    };
    let voice = |i| -> Option<Box<dyn Processor>> { (i < count).then(|| Box::new(noise(i)) as _) };
    Prepared::from_graph(&graph, (0..=count).map(voice).collect(), Fusing::Chains).unwrap()
}
