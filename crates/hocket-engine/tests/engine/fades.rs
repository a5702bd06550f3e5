//! Edits are heard as fades and never as clicks: measured with a sine, frame by frame.

use std::f64::consts::TAU;
use std::path::PathBuf;
use std::sync::Arc;

use hocket_engine::{Edit, Editor, EffectAt, Engine, MediaPool, StereoAudio};
use hocket_plan::session::{
    Clip, Destination, Group, GroupId, Media, MediaId, Return, ReturnId, Send, Strip, StripId, Tap,
    Track,
};
use hocket_plan::{ScheduleKind, Session};

use crate::stage::{self, FRAMES, RATE_HZ, policy};

/// Of the sine, per frame: a period of 400 frames.
const STEP: f64 = TAU / 400.0;
const LEVEL: f64 = 0.25;

fn strip(name: &str, effects: &[&str]) -> Strip {
    Strip {
        name: name.into(),
        chain: effects.iter().map(|kind| stage::effect(kind)).collect(),
        gain_db: 0.0,
        pan: 0.0,
        mute: false,
        solo: false,
        sends: Vec::new(),
    }
}

fn track(name: &str, effects: &[&str], output: Destination) -> Track {
    let clip = Clip { media: MediaId(0), looped: true, ..stage::whole_file() };
    Track { strip: strip(name, effects), output, clips: vec![clip], input: None, notes: Vec::new() }
}

/// Two tracks with a sine, two groups, a return.
fn session() -> Session {
    let group = |name: &str| Group { strip: strip(name, &[]), output: Destination::Master };
    Session {
        name: "sine".into(),
        sample_rate_hz: RATE_HZ,
        length_s: None,
        media: vec![Media { path: PathBuf::from("sine"), resample: false }],
        tracks: vec![
            track("one", &["gain"], Destination::Master),
            track("two", &[], Destination::Group(GroupId(0))),
        ],
        groups: vec![group("left bank"), group("right bank")],
        returns: vec![Return { strip: strip("hall", &[]), output: Destination::Master }],
        master: strip("master", &[]),
        ..Session::default()
    }
}

fn media() -> MediaPool {
    let row: Vec<f32> = (0..400).map(|i| (LEVEL * (i as f64 * STEP).sin()) as f32).collect();
    MediaPool::new(vec![Arc::new(StereoAudio::from_planar(&[row]))])
}

fn start() -> (Engine, Editor) {
    let policy = policy(ScheduleKind::Dataflow);
    let seating = stage::seating(policy.sibling, 2);
    Editor::start(session(), media(), stage::settings(policy), seating).unwrap()
}

/// How far a row is from any sine of that period, frame by frame: what a click adds. A smooth fade of the sine adds
/// little.
fn steps(row: &[f32]) -> f64 {
    let bend = 2.0 * STEP.cos();
    let three = row.windows(3).map(|three| {
        let [a, b, c] = [three[0], three[1], three[2]].map(f64::from);
        (c - bend * b + a).abs()
    });
    three.fold(0.0, f64::max)
}

fn send(gain_db: f32) -> Send {
    Send { to: ReturnId(0), gain_db, tap: Tap::PostFader, feedback: false }
}

/// The loudest step that edits make, each after some blocks, and the blocks that were heard.
fn heard(edits: &[Edit], blocks_between: usize) -> (f64, Vec<f32>) {
    let (mut engine, mut editor) = start();
    let mut row = Vec::new();
    let mut play = |engine: &mut Engine, blocks| {
        for _ in 0..blocks {
            engine.process(FRAMES);
            row.extend_from_slice(engine.output(FRAMES).left);
        }
    };
    play(&mut engine, 30);
    for edit in edits {
        editor.apply(edit.clone()).unwrap();
        play(&mut engine, blocks_between);
        assert!(editor.is_settled());
    }
    play(&mut engine, 40);
    (steps(&row), row)
}

/// -80 dB of full scale.
const SILENT: f64 = 1e-4;

fn all_edits() -> Vec<Edit> {
    let one = StripId::Track(0);
    let at = EffectAt { strip: one, index: 0 };
    vec![
        Edit::Route(one, Destination::Group(GroupId(1))),
        Edit::Route(one, Destination::Master),
        Edit::Send(one, send(-6.0)),
        Edit::Send(one, send(3.0)),
        Edit::Send(one, Send { tap: Tap::PreFader, ..send(0.0) }),
        Edit::RemoveSend(one, ReturnId(0)),
        Edit::InsertEffect(at, stage::effect("gain")),
        Edit::RemoveEffect(at),
        Edit::AddTrack(Box::new(track("three", &[], Destination::Group(GroupId(0))))),
        Edit::RemoveTrack(2),
        Edit::AddGroup(Box::new(Group { strip: strip("more", &[]), output: Destination::Master })),
        Edit::Route(StripId::Group(0), Destination::Group(GroupId(2))),
        Edit::Route(StripId::Group(0), Destination::Master),
        Edit::RemoveGroup(2),
        Edit::Bypass(at, true),
        // Its latency makes all others wait.
        Edit::InsertEffect(
            EffectAt { strip: StripId::Group(0), index: 0 },
            stage::effect("limiter"),
        ),
        Edit::RemoveTrack(1),
    ]
}

#[test]
fn no_edit_makes_a_step() {
    let _alone = stage::alone();
    let plain = heard(&[], 0).0;
    assert!(plain < SILENT / 10.0, "the sine itself: {plain}");
    for edit in all_edits().into_iter().enumerate().filter_map(|(at, edit)| {
        // Those that need what earlier ones made come together with them, below.
        (![3, 4, 5, 7, 9, 11, 12, 13].contains(&at)).then_some(edit)
    }) {
        let (step, _) = heard(std::slice::from_ref(&edit), 20);
        assert!(step < SILENT, "{edit:?}: a step of {step}");
    }
    let (step, _) = heard(&all_edits(), 20);
    assert!(step < SILENT, "one after the other: {step}");
}

#[test]
fn edits_during_a_fade_make_no_step_either_and_end_where_slow_ones_do() {
    let _alone = stage::alone();
    let (slow, calm) = heard(&all_edits(), 30);
    assert!(slow < SILENT);
    for between in [1, 2, 3, 5] {
        let (step, row) = heard(&all_edits(), between);
        // A fade that is turned round has a corner there, which bends the sine but makes no step.
        assert!(step < 10.0 * SILENT, "{between} blocks between two edits: {step}");
        let last = |row: &[f32]| row[row.len() - 400..].iter().fold(0.0f32, |a, b| a.max(b.abs()));
        assert!((last(&row) - last(&calm)).abs() < 1e-4, "{} {}", last(&row), last(&calm));
    }
}

#[test]
fn what_has_faded_out_is_gone_and_was_not_heard_to_go() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start();
    (0..10).for_each(|_| _ = engine.process(FRAMES));
    let plays = |engine: &Engine| {
        let units = engine.schedule().units().units().iter();
        let names = units.flat_map(|unit| {
            unit.folded.iter().map(|chain| chain.name.as_str()).chain([unit.name.as_str()])
        });
        names.filter(|name| name.starts_with("one:")).count()
    };
    editor.apply(Edit::RemoveTrack(0)).unwrap();
    engine.process(FRAMES);
    assert!(editor.is_settled());
    assert_eq!(plays(&engine), 1, "it fades out");
    for _ in 0..20 {
        engine.process(FRAMES);
        assert!(editor.is_settled());
    }
    assert_eq!(plays(&engine), 0, "and is gone");
    assert_eq!(editor.control().refused_fades(), 0);
}

/// As many edits as one block takes, and with the first of them what has faded out goes: a replay asks for that at another
/// time.
#[test]
fn what_goes_after_a_fade_takes_no_place_from_edits() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start();
    editor.apply(Edit::Route(StripId::Track(0), Destination::Group(GroupId(1)))).unwrap();
    (0..20).for_each(|_| _ = engine.process(FRAMES));
    assert_eq!(editor.take_applied().len(), 1);
    for edit in 0..32 {
        editor.apply(Edit::Gain(StripId::Track(edit % 2), -(edit as f32))).unwrap();
    }
    engine.process(FRAMES);
    assert!(editor.is_settled());
    let frames = editor.applied().iter().map(|applied| applied.frame);
    assert!(frames.eq([20 * FRAMES as u64; 32]));
}

#[test]
fn ways_that_turn_round_are_counted_where_they_cannot_fade() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start();
    let into = |group| Destination::Group(GroupId(group));
    editor.apply(Edit::Route(StripId::Group(0), into(1))).unwrap();
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert_eq!(editor.control().refused_fades(), 0);
    editor.apply(Edit::Route(StripId::Group(0), Destination::Master)).unwrap();
    // While one way fades out, the other direction closes a cycle.
    editor.apply(Edit::Route(StripId::Group(1), into(0))).unwrap();
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert!(editor.is_settled());
    assert_eq!(editor.control().refused_fades(), 1);
}
