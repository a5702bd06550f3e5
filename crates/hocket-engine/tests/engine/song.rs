//! What a session says beside its strips: automation, tempos, the loop, inputs, outputs, side chains and feedback.

use std::sync::Arc;

use hocket_engine::session::{
    Automation, Destination, Input, InputId, LoopPoints, Output, Return, ReturnId, Send, SendAt,
    Strip, StripId, Tap, Track,
};
use hocket_engine::time::{LanePoint, LoopRange, Shape, TempoPoint, TimeBase};
use hocket_engine::{
    Edit, EditError, Editor, EffectAt, Engine, Fusing, LaneSpec, LaneTarget, MediaPool,
    PrepareError, StereoAudio, prepare_session,
};
use hocket_plan::session::{Clip, Media};
use hocket_plan::{Effect, Key, ScheduleKind, Session};

use crate::stage::{self, FRAMES, RATE_HZ, policy, whole_file};

/// Plays a constant for ever.
fn track(name: &str) -> Track {
    let clips = vec![Clip { looped: true, ..whole_file() }];
    Track {
        strip: Strip::new(name),
        output: Destination::Master,
        clips,
        input: None,
        from: None,
        notes: Vec::new(),
    }
}

fn session(tracks: Vec<Track>) -> Session {
    let media = vec![Media { path: "constant".into(), resample: false }];
    Session { media, tracks, sample_rate_hz: RATE_HZ, ..Session::default() }
}

const LEVEL: f32 = 0.25;

fn media() -> MediaPool {
    MediaPool::new(vec![Arc::new(StereoAudio::from_planar(&[vec![LEVEL; 64]]))])
}

fn engine(session: &Session, kind: ScheduleKind) -> Engine {
    let prepared = prepare_session(session, &media(), RATE_HZ, Fusing::Chains).unwrap();
    let workers = if kind == ScheduleKind::Serial { 1 } else { 2 };
    stage::engine(prepared, policy(kind), workers)
}

/// The left row of an output, block by block.
fn heard(engine: &mut Engine, output: usize, blocks: usize) -> Vec<f32> {
    let mut heard = Vec::new();
    for _ in 0..blocks {
        engine.process(FRAMES);
        heard.extend_from_slice(engine.output_rows(output, FRAMES).unwrap().row(0));
    }
    heard
}

/// Values that hold, at frames.
fn steps(points: &[(usize, f64)]) -> LaneSpec {
    let point = |(frame, value): &(usize, f64)| LanePoint {
        at: *frame as f64 / f64::from(RATE_HZ),
        value: *value,
        shape: Shape::Hold,
    };
    LaneSpec::new(TimeBase::Seconds, points.iter().map(point).collect::<Vec<_>>())
}

fn automated(mut session: Session, target: LaneTarget, lane: LaneSpec) -> Session {
    session.automation.push(Automation { target, lane });
    session
}

const TRACK: StripId = StripId::Track(0);

#[test]
fn a_lane_of_a_session_begins_without_a_ramp_and_again_after_a_reset() {
    let _alone = stage::alone();
    let lane = steps(&[(0, -200.0), (2 * FRAMES, 0.0)]);
    let session = automated(session(vec![track("a")]), LaneTarget::Gain(TRACK), lane);
    for kind in ScheduleKind::ALL {
        let mut engine = engine(&session, kind);
        let first = heard(&mut engine, 0, 40);
        assert!(first[..2 * FRAMES].iter().all(|sample| sample.abs() < 1e-9), "{kind:?}");
        assert_eq!(first.last(), Some(&LEVEL), "{kind:?}");
        engine.reset();
        assert_eq!(heard(&mut engine, 0, 40), first, "{kind:?}");
    }
}

#[test]
fn sends_effects_and_switches_move() {
    let _alone = stage::alone();
    let mut plain = session(vec![track("a")]);
    let gain = Effect::new("gain", vec![0.0]);
    plain.tracks[0].strip.chain.push(gain);
    plain.tracks[0].strip.gain_db = f32::NEG_INFINITY;
    let send = Send { to: ReturnId(0), gain_db: -6.0, tap: Tap::PreFader, feedback: false };
    plain.tracks[0].strip.sends.push(send);
    plain.returns.push(Return { strip: Strip::new("r"), output: Destination::Master });
    let expected = heard(&mut engine(&plain, ScheduleKind::Serial), 0, 1);
    assert!((expected[0] - LEVEL * 10f32.powf(-0.3)).abs() < 1e-6, "{}", expected[0]);
    let at = EffectAt { strip: TRACK, index: 0 };
    let send = LaneTarget::Send(SendAt { strip: TRACK, index: 0 });
    let silent = |target, value| {
        let session = automated(plain.clone(), target, steps(&[(0, value)]));
        let heard = heard(&mut engine(&session, ScheduleKind::Dataflow), 0, 2);
        heard.iter().all(|sample| sample.abs() < 1e-9)
    };
    assert!(silent(send, -200.0));
    assert!(silent(LaneTarget::Param(at, 0), -96.0));
    assert!(silent(LaneTarget::Mute(StripId::Return(0)), 1.0));
    // At the value that the session has anyway, a lane changes no bit.
    let same = automated(plain.clone(), LaneTarget::Bypass(at), steps(&[(0, 0.0)]));
    assert_eq!(heard(&mut engine(&same, ScheduleKind::Dataflow), 0, 1), expected);
    let same = automated(plain.clone(), send, steps(&[(0, -6.0)]));
    let alike = heard(&mut engine(&same, ScheduleKind::Dataflow), 0, 1);
    assert!(alike.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn tempo_and_loop_are_those_of_the_session_also_after_a_reset() {
    let _alone = stage::alone();
    let mut session = session(vec![track("a")]);
    session.time.tempos = vec![TempoPoint::step(0.0, 60.0)];
    session.time.repeat = Some(LoopPoints { base: TimeBase::Beats, from: 0.5, to: 1.0 });
    let half = i64::from(RATE_HZ) / 2;
    let mut engine = engine(&session, ScheduleKind::Serial);
    let range = LoopRange::from_frames(half, 2 * half).unwrap();
    assert_eq!(engine.transport().loop_range(), Some(range));
    engine.reset();
    assert_eq!(engine.transport().loop_range(), Some(range));
    session.time.repeat = Some(LoopPoints { base: TimeBase::Beats, from: 0.5, to: 0.5001 });
    let refused = prepare_session(&session, &media(), RATE_HZ, Fusing::Chains).err().unwrap();
    assert!(matches!(refused, PrepareError::Loop(_)), "{refused}");
}

#[test]
fn what_a_lane_cannot_move_is_refused() {
    let refused = |target, lane| {
        let session = automated(session(vec![track("a")]), target, lane);
        prepare_session(&session, &media(), RATE_HZ, Fusing::Chains).err().unwrap()
    };
    let one = || steps(&[(0, 0.0)]);
    for target in [
        LaneTarget::Gain(StripId::Group(3)),
        LaneTarget::Send(SendAt { strip: TRACK, index: 0 }),
        LaneTarget::Bypass(EffectAt { strip: TRACK, index: 0 }),
        LaneTarget::Param(EffectAt { strip: TRACK, index: 0 }, 0),
        LaneTarget::Param(EffectAt { strip: StripId::Track(9), index: 0 }, 0),
    ] {
        assert_eq!(refused(target, one()), PrepareError::NoTarget(target));
    }
    let back = steps(&[(10, 0.0), (0, 0.0)]);
    assert!(matches!(refused(LaneTarget::Pan(TRACK), back), PrepareError::Lane { .. }));
}

#[test]
fn inputs_reach_their_tracks_and_outputs_have_their_strips() {
    let _alone = stage::alone();
    let mut session = session(vec![track("clip"), track("both"), track("live")]);
    session.inputs = vec![
        Input { name: "mono".into(), channels: 1, events: false, latency_frames: 0 },
        Input { name: "stereo".into(), channels: 2, events: false, latency_frames: 0 },
    ];
    session.tracks[1].input = Some(InputId(1));
    (session.tracks[2].input, session.tracks[2].clips) = (Some(InputId(0)), Vec::new());
    session.tracks[2].strip.gain_db = -200.0;
    session.outputs = [(1, Tap::PostFader), (2, Tap::PreFader), (2, Tap::PostFader)]
        .map(|(track, tap)| Output { name: "o".into(), from: StripId::Track(track), tap })
        .into();
    for kind in ScheduleKind::ALL {
        let mut engine = engine(&session, kind);
        engine.input_mut(0, FRAMES).unwrap().row_mut(0).fill(0.5);
        engine.input_mut(1, FRAMES).unwrap().row_mut(1).fill(0.125);
        engine.process(FRAMES);
        let sides = |output: usize| {
            let rows = engine.output_rows(output, FRAMES).unwrap();
            [rows.row(0)[FRAMES - 1], rows.row(1)[FRAMES - 1]]
        };
        assert_eq!(sides(1), [LEVEL, LEVEL + 0.125], "{kind:?}");
        assert_eq!(sides(2), [0.5, 0.5], "{kind:?}: both sides of a mono input");
        assert!(sides(3).iter().all(|sample| sample.abs() < 1e-9), "{kind:?}");
        let master = sides(0);
        assert!((master[0] - 2.0 * LEVEL).abs() < 1e-6, "{kind:?}: {master:?}");
        assert!(engine.output_rows(4, FRAMES).is_none());
    }
}

#[test]
fn a_compressor_obeys_its_key() {
    let _alone = stage::alone();
    let mut session = session(vec![track("loud"), track("ducked")]);
    let compressor = Effect { key: None, ..stage::effect("compressor") };
    session.tracks[1].strip.chain.push(compressor);
    session.outputs =
        vec![Output { name: "o".into(), from: StripId::Track(1), tap: Tap::PostFader }];
    let last = |session: &Session| {
        let heard = heard(&mut engine(session, ScheduleKind::Dataflow), 1, 200);
        heard[heard.len() - 1]
    };
    let alone = last(&session);
    let key = |tap| Some(Key { from: TRACK, tap });
    session.tracks[0].strip.gain_db = f32::NEG_INFINITY;
    session.tracks[1].strip.chain[0].key = key(Tap::PostFader);
    assert_eq!(last(&session), LEVEL, "it hears silence and does nothing");
    session.tracks[1].strip.chain[0].key = key(Tap::PreFader);
    assert_eq!(
        last(&session),
        alone,
        "it hears the same before the other fader as in its own track"
    );
    assert!(alone < LEVEL);
}

#[test]
fn feedback_arrives_one_largest_block_later() {
    let _alone = stage::alone();
    let mut session = session(vec![track("a")]);
    session.tracks[0].clips[0] = whole_file();
    session.tracks[0].strip.gain_db = f32::NEG_INFINITY;
    let send = |to, tap| Send { to: ReturnId(to), gain_db: 0.0, tap, feedback: false };
    session.tracks[0].strip.sends.push(send(0, Tap::PreFader));
    let back = |name: &str, to| {
        let mut strip = Strip::new(name);
        strip.sends.push(Send { feedback: name == "second", ..send(to, Tap::PostFader) });
        Return { strip, output: Destination::Master }
    };
    session.returns = vec![back("first", 1), back("second", 0)];
    session.returns[0].strip.sends[0].gain_db = -6.0;
    session.outputs =
        vec![Output { name: "o".into(), from: StripId::Return(0), tap: Tap::PostFader }];
    let around = 10f32.powf(-0.3);
    for kind in ScheduleKind::ALL {
        let heard = heard(&mut engine(&session, kind), 1, 5);
        for round in 0..5usize {
            let sound = heard[round * FRAMES];
            let expected = LEVEL * around.powi(round as i32);
            assert!((sound - expected).abs() < 1e-6, "{kind:?}, round {round}: {sound}");
        }
    }
}

#[test]
fn an_editor_keeps_the_lanes_of_its_session_with_their_strips() {
    let _alone = stage::alone();
    let mut session = session(vec![track("a"), track("b"), track("c")]);
    let lane = steps(&[(0, -200.0)]);
    let gain = LaneTarget::Gain;
    session = automated(session, gain(StripId::Track(0)), lane.clone());
    session = automated(session, gain(StripId::Track(2)), lane.clone());
    session.tracks[2].strip.chain.push(Effect {
        key: Some(Key { from: StripId::Track(1), tap: Tap::PostFader }),
        events: None,
        ..stage::effect("compressor")
    });
    let kind = policy(ScheduleKind::Serial);
    let seating = stage::seating(kind.sibling, 1);
    let (mut engine, mut editor) =
        Editor::start(session, media(), stage::settings(kind), seating).unwrap();
    let last = |heard: Vec<f32>| heard[heard.len() - 1];
    assert_eq!(last(heard(&mut engine, 0, 1)), LEVEL, "only b is heard");
    let refused = editor.apply(Edit::RemoveTrack(1));
    assert!(matches!(refused, Err(EditError::InUse { .. })), "{refused:?}: c listens to it");
    editor.apply(Edit::RemoveTrack(0)).unwrap();
    let targets: Vec<LaneTarget> =
        editor.session().automation.iter().map(|lane| lane.target).collect();
    assert_eq!(targets, [gain(StripId::Track(1))]);
    assert_eq!(last(heard(&mut engine, 0, 1)), LEVEL);
    editor
        .apply(Edit::Automate(vec![(gain(StripId::Track(1)), Some(steps(&[(0, 0.0)])))]))
        .unwrap();
    assert!(last(heard(&mut engine, 0, 200)) > 1.1 * LEVEL, "c is heard with its new lane");
    let send = LaneTarget::Send(SendAt { strip: TRACK, index: 0 });
    let refused = editor.apply(Edit::Automate(vec![(send, Some(lane))]));
    assert!(matches!(refused, Err(EditError::SendLane(_))), "{refused:?}");
}
