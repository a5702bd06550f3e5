//! A session made in code, played into the program's own buffers and changed on the way.
//!
//! `cargo run --release -p hocket-engine --example embed`
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Arc;

use hocket_engine::session::{
    Clip, ClipFade, Destination, Media, MediaId, Session, Strip, StripId, Track,
};
use hocket_engine::{
    BlockTimes, Edit, Editor, Effect, MediaPool, Policy, ScheduleKind, Seating, Settings,
    SiblingPolicy, StereoAudio, Strategy, Topology,
};

const RATE_HZ: u32 = 48_000;
const FRAMES: usize = 64;

/// Plays half a second and hands each block to `each`.
pub fn play(mut each: impl FnMut(&[f32], &[f32], BlockTimes)) -> Result<(), Box<dyn Error>> {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
    let seating = Seating::here(&Topology::discover()?, policy.sibling, None)?;
    let (mut engine, mut editor) = Editor::start(session(), media(), settings, seating)?;

    let leader = engine.enter(); // this thread, until `leader` is dropped
    let (mut left, mut right) = ([0.0; FRAMES], [0.0; FRAMES]);
    for block in 0..375 {
        if block == 187 {
            editor.apply(Edit::Mute(StripId::Track(0), true))?; // as a rule on another thread
        }
        let times = engine.process(FRAMES);
        let output = engine.output(FRAMES);
        left.copy_from_slice(output.left);
        right.copy_from_slice(output.right);
        each(&left, &right, times);
    }
    println!("{}: CPU {}, {}", leader.report.name, leader.report.cpus_got, leader.report.class_got);
    println!("{:?}\n{:?}", editor.applied(), engine.control().standing());
    Ok(())
}

/// Two tracks through a compressor each.
fn session() -> Session {
    let compressor =
        hocket_engine::kind("compressor").map(|kind| Effect::new(kind.name, kind.defaults()));
    let track = |name: &str| Track {
        strip: strip(name, compressor.clone().into_iter().collect()),
        output: Destination::Master,
        clips: vec![looped(MediaId(0))],
        input: None,
        from: None,
        notes: Vec::new(),
    };
    Session {
        name: "embedded".into(),
        sample_rate_hz: RATE_HZ,
        length_s: None,
        media: vec![Media { path: "made in code".into(), resample: false }],
        tracks: vec![track("one"), track("two")],
        groups: vec![],
        returns: vec![],
        master: strip("master", vec![]),
        ..Session::default()
    }
}

fn strip(name: &str, chain: Vec<Effect>) -> Strip {
    let (mute, solo, sends) = (false, false, vec![]);
    Strip { name: name.into(), chain, gain_db: -6.0, pan: 0.0, mute, solo, sends }
}

fn looped(media: MediaId) -> Clip {
    Clip {
        media,
        start_s: 0.0,
        offset_s: 0.0,
        length_s: None,
        looped: true,
        gain_db: 0.0,
        fade_in_s: 0.0,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    }
}

/// One period of 480 Hz.
fn media() -> MediaPool {
    let wave = |i| (f64::from(i) * std::f64::consts::TAU / 100.0).sin() as f32 * 0.25;
    MediaPool::new(vec![Arc::new(StereoAudio::from_planar(&[(0..100).map(wave).collect()]))])
}

/// Prints the worst block.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut worst = BlockTimes::default();
    play(|_, _, times| worst = if times.duration_ns > worst.duration_ns { times } else { worst })?;
    println!("{worst:?}, slack {} ns", worst.slack_ns());
    Ok(())
}
