//! What is played here: a session with every effect, and small graphs of one's own processors.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_dsp::{Block, Processor};
use hocket_engine::{
    Control, Engine, MediaPool, Policy, Prepared, Seating, Settings, StereoAudio, prepare_session,
};
use hocket_plan::session::{
    Clip, ClipFade, Destination, Group, GroupId, Media, MediaId, Return, ReturnId, Send, Strip,
    Tap, Track,
};
use hocket_plan::{
    Edge, Effect, Fusing, Graph, Node, NodeId, NodeKind, ScheduleKind, Seat, Seats, Session,
    SiblingPolicy,
};
use hocket_rt::Strategy;

pub const RATE_HZ: u32 = 48_000;
pub const FRAMES: u32 = 64;

/// One test at a time: counts belong to the process, and threads of two engines would disturb each
/// other.
pub fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn policy(schedule: ScheduleKind, sibling: SiblingPolicy, wait: Strategy) -> Policy {
    Policy { schedule, sibling, wait }
}

/// Cores with two seats each.
pub fn paired_cores(cores: usize) -> Seats {
    Seats { seats: (0..cores * 2).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() }
}

/// Settings of an engine whose threads stay in the ordinary class.
pub fn ordinary(policy: Policy) -> Settings {
    Settings { priority: None, ..Settings::new(FRAMES, RATE_HZ, policy) }
}

/// Lets the largest block grow twice in a hundred blocks, each time shortly after another graph has come, so that something
/// still fades. `frames`: the largest block.
pub fn grow(control: &Control, block: usize, frames: &mut usize) {
    if block % 48 == 25 {
        *frames += 32;
        control.set_largest_block(*frames as u32).unwrap();
    }
}

/// An engine on seats that exist on paper.
pub fn described_engine(prepared: Prepared, policy: Policy, workers: usize) -> Engine {
    let spared = usize::from(policy.sibling.spares_a_core());
    let siblings = policy.sibling.uses_siblings();
    let seats = paired_cores(if siblings { workers.div_ceil(2) } else { workers + spared });
    let seating = Seating::described(&seats, policy.sibling, Some(workers)).unwrap();
    Engine::start(prepared, ordinary(policy), seating).unwrap()
}

/// A session with every kind of effect, two groups, two returns and clips that start, end, fade
/// and loop inside the first blocks.
pub fn session_of_everything() -> Prepared {
    let (session, pool) = everything();
    prepare_session(&session, &pool, RATE_HZ, Fusing::Chains).unwrap()
}

/// Tracks that are all alike: two equalisers each, and one of each other effect that runs abreast.
pub fn session_of_equals() -> Prepared {
    let (mut session, pool) = everything();
    let chain = ["eq", "eq", "compressor", "amp", "correlation"];
    let equals = |index| Track {
        output: Destination::Master,
        ..track(index, chain.map(default_effect).to_vec())
    };
    session.tracks = (0..12).map(equals).collect();
    prepare_session(&session, &pool, RATE_HZ, Fusing::Chains).unwrap()
}

/// The session and its audio.
pub fn everything() -> (Session, MediaPool) {
    let media = vec![Media { path: PathBuf::from("noise"), resample: false }];
    let kinds = hocket_dsp::kinds();
    let mut tracks: Vec<Track> = kinds
        .iter()
        .enumerate()
        .map(|(i, kind)| track(i, vec![default_effect(kind.name)]))
        .collect();
    let all = kinds.iter().map(|kind| Effect { bypass: true, ..default_effect(kind.name) });
    tracks.push(track(kinds.len(), all.collect()));
    let session = Session {
        name: "everything".into(),
        sample_rate_hz: RATE_HZ,
        length_s: None,
        media,
        tracks,
        groups: vec![
            group("band", vec![default_effect("compressor")], Destination::Master),
            group("drums", vec![], Destination::Group(GroupId(0))),
        ],
        returns: vec![back("room", "freeverb"), back("echo", "delay")],
        master: strip("master", vec![default_effect("limiter")]),
        ..Session::default()
    };
    let pool = MediaPool::new(vec![Arc::new(noise(2_048))]);
    (session, pool)
}

/// Noise with a tail of numbers too small to be normal, from a linear congruence (Knuth's MMIX).
fn noise(frames: usize) -> StereoAudio {
    let mut state = 1u64;
    let mut row = || -> Vec<f32> {
        (0..frames)
            .map(|frame| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let sample = ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * 0.5;
                if frame > frames * 3 / 4 { sample * 1.0e-39 } else { sample }
            })
            .collect()
    };
    StereoAudio::from_planar(&[row(), row()])
}

pub fn default_effect(kind: &str) -> Effect {
    let known = hocket_dsp::kind(kind).unwrap();
    Effect::new(kind, known.defaults())
}

pub fn strip(name: &str, chain: Vec<Effect>) -> Strip {
    let sends = Vec::new();
    Strip { name: name.into(), chain, gain_db: -6.0, pan: 0.0, mute: false, solo: false, sends }
}

pub fn track(index: usize, chain: Vec<Effect>) -> Track {
    let mut strip = strip(&format!("track {index}"), chain);
    let tap = [Tap::PreFader, Tap::PostFader][index % 2];
    strip.sends.push(Send { to: ReturnId(index % 2), gain_db: -12.0, tap, feedback: false });
    strip.pan = index as f32 / 10.0 - 0.5;
    let outputs =
        [Destination::Master, Destination::Group(GroupId(0)), Destination::Group(GroupId(1))];
    Track {
        strip,
        output: outputs[index % 3],
        clips: clips(index),
        input: None,
        from: None,
        notes: Vec::new(),
    }
}

/// One that loops for ever, one that comes and goes in the midst of blocks.
fn clips(index: usize) -> Vec<Clip> {
    let looping = Clip {
        media: MediaId(0),
        start_s: index as f64 * 0.001,
        offset_s: 0.01,
        length_s: None,
        looped: true,
        gain_db: 0.0,
        fade_in_s: 0.005,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    };
    let passing = Clip {
        start_s: 0.0205,
        length_s: Some(0.0305),
        looped: false,
        fade_out_s: 0.01,
        ..looping.clone()
    };
    vec![looping, passing]
}

fn group(name: &str, chain: Vec<Effect>, output: Destination) -> Group {
    Group { strip: strip(name, chain), output }
}

fn back(name: &str, kind: &str) -> Return {
    Return { strip: strip(name, vec![default_effect(kind)]), output: Destination::Master }
}

/// A processor made of a function; counts nothing, keeps nothing.
pub struct Does<F>(pub F);

impl<F: FnMut(&mut Block<'_>) + std::marker::Send> Processor for Does<F> {
    fn process(&mut self, block: &mut Block<'_>) {
        (self.0)(block);
    }

    fn reset(&mut self) {}
}

/// Sources side by side, and their sum as the output.
pub fn side_by_side(sources: Vec<Box<dyn Processor>>) -> Prepared {
    let mut graph = Graph::default();
    let node = |index: usize, inputs: Vec<Edge>| Node {
        name: format!("node {index}"),
        kind: NodeKind::Custom(index as u32),
        inputs,
        cost: 100.0,
        latency_frames: 0,
        ports: Default::default(),
    };
    let mut add = |inputs| {
        let index = graph.nodes().len();
        graph.add(node(index, inputs)).unwrap()
    };
    let ids: Vec<NodeId> = sources.iter().map(|_| add(Vec::new())).collect();
    add(ids.iter().map(|from| Edge::new(*from, 1.0)).collect());
    let processors = sources.into_iter().map(Some).chain([None]).collect();
    Prepared::from_graph(&graph, processors, Fusing::None).unwrap()
}
