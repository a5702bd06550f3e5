//! Edits are heard as fades and never as clicks: measured with sines, frame by frame.

use std::f64::consts::TAU;
use std::path::PathBuf;
use std::sync::Arc;

use hocket_engine::{Edit, Editor, EffectAt, Engine, MediaPool, RefusedFades, StereoAudio};
use hocket_plan::session::{
    Clip, Destination, Group, GroupId, Media, MediaId, Return, ReturnId, Send, Strip, StripId, Tap,
    Track,
};
use hocket_plan::{Effect, ScheduleKind, Session};

use crate::clicks;
use crate::stage::{self, FRAMES, RATE_HZ, policy};

/// By the frames of its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sine(usize);

/// 120 Hz.
const LOW: Sine = Sine(400);
/// 1 kHz.
const HIGH: Sine = Sine(48);
/// -12 dB of full scale.
const LEVEL: f64 = 0.25;

impl Sine {
    /// Per frame.
    fn step(self) -> f64 {
        TAU / self.0 as f64
    }

    fn row(self, frames: usize) -> Vec<f32> {
        (0..frames).map(|i| (LEVEL * (i as f64 * self.step()).sin()) as f32).collect()
    }

    /// The loudest click, by all measures that fit the sine.
    fn loudest_click(self, row: &[f32]) -> f64 {
        let clicks = clicks::loudest(row);
        if self == LOW { clicks.max(bend(row)) } else { clicks }
    }
}

/// How far a row is from any low sine, frame by frame: what a click adds. A smooth fade of that sine adds little. One of
/// a higher sine adds more, since it bends more.
fn bend(row: &[f32]) -> f64 {
    let own = 2.0 * LOW.step().cos();
    let three = row.windows(3).map(|three| {
        let [a, b, c] = [three[0], three[1], three[2]].map(f64::from);
        (c - own * b + a).abs()
    });
    three.fold(0.0, f64::max)
}

fn track(name: &str, output: Destination) -> Track {
    let clip = Clip { media: MediaId(0), looped: true, ..stage::whole_file() };
    Track {
        strip: Strip::new(name),
        output,
        clips: vec![clip],
        input: None,
        from: None,
        notes: Vec::new(),
    }
}

/// An effect that is heard: with this parameter.
fn effect(kind: &str, param: &str, value: f32) -> Effect {
    let known = hocket_dsp::kind(kind).unwrap();
    let mut values = known.defaults();
    values[known.params.iter().position(|known| known.name == param).unwrap()] = value;
    Effect::new(kind, values)
}

fn quiet() -> Effect {
    effect("gain", "gain_db", -12.0)
}

/// Lifts the sine and turns its phase.
fn eq() -> Effect {
    effect("eq", "band1_gain_db", 9.0)
}

/// Twice as loud, below its ceiling, and late.
fn limiter() -> Effect {
    effect("limiter", "input_db", 6.0)
}

/// Two tracks with a sine, two groups, a return.
fn session() -> Session {
    let group = |name: &str| Group { strip: Strip::new(name), output: Destination::Master };
    Session {
        name: "sine".into(),
        sample_rate_hz: RATE_HZ,
        length_s: None,
        media: vec![Media { path: PathBuf::from("sine"), resample: false }],
        tracks: vec![
            track("one", Destination::Master),
            track("two", Destination::Group(GroupId(0))),
        ],
        groups: vec![group("left bank"), group("right bank")],
        returns: vec![Return { strip: Strip::new("hall"), output: Destination::Master }],
        master: Strip::new("master"),
        ..Session::default()
    }
}

fn start(sine: Sine) -> (Engine, Editor) {
    let policy = policy(ScheduleKind::Dataflow);
    let seating = stage::seating(policy.sibling, 2);
    // A whole number of periods, so that the loop is not heard.
    let audio = StereoAudio::from_planar(&[sine.row(sine.0)]);
    let media = MediaPool::new(vec![Arc::new(audio)]);
    Editor::start(session(), media, stage::settings(policy), seating).unwrap()
}

fn send(gain_db: f32) -> Send {
    Send { to: ReturnId(0), gain_db, tap: Tap::PostFader, feedback: false }
}

/// A solo elsewhere silences it, although it leaves its strip before the fader.
fn early_send() -> Send {
    Send { tap: Tap::PreFader, ..send(0.0) }
}

/// What edits make of the sine.
struct Heard {
    /// The loudest click after the start and after each edit, before the next one.
    steps: Vec<f64>,
    row: Vec<f32>,
}

impl Heard {
    fn loudest(&self) -> f64 {
        self.steps.iter().copied().fold(0.0, f64::max)
    }
}

/// Makes edits, each after some blocks.
fn heard(sine: Sine, edits: &[Edit], blocks_between: usize) -> Heard {
    let (mut engine, mut editor) = start(sine);
    let mut heard = Heard { steps: Vec::new(), row: Vec::new() };
    let play = |engine: &mut Engine, blocks, heard: &mut Heard| {
        let from = heard.row.len().saturating_sub(clicks::BEFORE);
        for _ in 0..blocks {
            engine.process(FRAMES);
            heard.row.extend_from_slice(engine.output(FRAMES).left);
        }
        heard.steps.push(sine.loudest_click(&heard.row[from..]));
    };
    play(&mut engine, 30, &mut heard);
    for (number, edit) in edits.iter().enumerate() {
        editor.apply(edit.clone()).unwrap();
        let last = if number + 1 == edits.len() { 40 } else { 0 };
        play(&mut engine, blocks_between + last, &mut heard);
        assert!(editor.is_settled());
    }
    heard
}

/// -80 dB of full scale.
const SILENT: f64 = 1e-4;

fn all_edits() -> Vec<Edit> {
    let one = StripId::Track(0);
    let at = EffectAt { strip: one, index: 0 };
    let in_group = EffectAt { strip: StripId::Group(0), index: 0 };
    let plate = |gain_db| Send { to: ReturnId(1), ..send(gain_db) };
    vec![
        Edit::Route(one, Destination::Group(GroupId(1))),
        Edit::Route(one, Destination::Master),
        Edit::Send(one, send(-6.0)),
        Edit::Send(one, send(3.0)),
        Edit::Send(one, early_send()),
        Edit::RemoveSend(one, ReturnId(0)),
        Edit::AddReturn(Box::new(Return {
            strip: Strip { chain: vec![eq()], ..Strip::new("plate") },
            output: Destination::Master,
        })),
        Edit::Send(one, plate(-6.0)),
        Edit::Route(StripId::Return(1), Destination::Group(GroupId(1))),
        Edit::RemoveSend(one, ReturnId(1)),
        Edit::RemoveReturn(1),
        Edit::InsertEffect(at, quiet()),
        Edit::Bypass(at, true),
        Edit::Bypass(at, false),
        Edit::RemoveEffect(at),
        Edit::InsertEffect(at, eq()),
        Edit::Bypass(at, true),
        Edit::Bypass(at, false),
        // Before the other one, and then that one alone.
        Edit::InsertEffect(at, quiet()),
        Edit::RemoveEffect(EffectAt { index: 1, ..at }),
        Edit::RemoveEffect(at),
        Edit::AddTrack(Box::new(track("three", Destination::Group(GroupId(0))))),
        Edit::RemoveTrack(2),
        Edit::AddGroup(Box::new(Group { strip: Strip::new("more"), output: Destination::Master })),
        Edit::Route(StripId::Group(0), Destination::Group(GroupId(2))),
        Edit::Route(StripId::Group(0), Destination::Master),
        Edit::RemoveGroup(2),
        // Its latency makes all others wait.
        Edit::InsertEffect(in_group, limiter()),
        Edit::Bypass(in_group, true),
        Edit::Bypass(in_group, false),
        Edit::RemoveEffect(in_group),
        Edit::InsertEffect(at, limiter()),
        Edit::RemoveTrack(1),
    ]
}

#[test]
fn no_edit_makes_a_step() {
    let _alone = stage::alone();
    for sine in [LOW, HIGH] {
        let plain = heard(sine, &[], 0).loudest();
        assert!(plain < SILENT / 10.0, "{sine:?} itself: {plain}");
        let all = all_edits();
        let one_after_the_other = heard(sine, &all, 20);
        for (edit, step) in all.iter().zip(&one_after_the_other.steps[1..]) {
            assert!(*step < SILENT, "{sine:?}, {edit:?}: a step of {step}");
        }
        // The others need what earlier ones made.
        let is_possible = |edit: &&Edit| start(sine).1.apply((*edit).clone()).is_ok();
        let (mut alone, mut loudest) = (0, one_after_the_other.loudest());
        for edit in all.iter().filter(is_possible) {
            let step = heard(sine, std::slice::from_ref(edit), 20).loudest();
            assert!(step < SILENT, "{sine:?}, {edit:?} alone: a step of {step}");
            (alone, loudest) = (alone + 1, loudest.max(step));
        }
        println!("{sine:?}: a step of {loudest:.2e} at most");
        assert!(alone >= 12, "{alone}");
    }
}

/// The detector knows no frequency, and hears what is just as loud as may not be.
#[test]
fn a_jump_is_found_at_its_height_whatever_the_sine() {
    for sine in [LOW, HIGH] {
        let plain = sine.row(2_000);
        let itself = clicks::loudest(&plain);
        assert!(itself < SILENT / 100.0, "{sine:?} itself: {itself}");
        for at in (10..1_990).step_by(7) {
            let mut row = plain.clone();
            row[at..].iter_mut().for_each(|sample| *sample += SILENT as f32);
            let found = clicks::loudest(&row);
            assert!((found - SILENT).abs() < SILENT / 20.0, "{sine:?}, frame {at}: {found}");
        }
        // From a peak on, so that the corner is at its sharpest.
        let straight = |i: usize| (i.saturating_sub(5 * sine.0 / 4) as f32 / 512.0).min(1.0);
        let fade = plain.iter().enumerate().map(|(i, sample)| sample * straight(i));
        let corner = clicks::loudest(&fade.collect::<Vec<f32>>());
        assert!(corner > 2.0 * SILENT, "{sine:?}: the corner of a straight fade: {corner}");
    }
}

/// Every edit is heard: with none of them the sound stays as it is.
#[test]
fn effects_that_come_go_and_are_bypassed_change_the_level() {
    let _alone = stage::alone();
    let at = EffectAt { strip: StripId::Track(0), index: 0 };
    for effect in [quiet(), eq(), limiter()] {
        let insert = Edit::InsertEffect(at, effect);
        let edits =
            [insert, Edit::Bypass(at, true), Edit::Bypass(at, false), Edit::RemoveEffect(at)];
        let levels: Vec<f32> =
            (0..=edits.len()).map(|count| last(&heard(LOW, &edits[..count], 30).row)).collect();
        let [plain, with, bypassed, back, removed] = levels[..] else { panic!("{levels:?}") };
        assert!((plain - with).abs() > 0.05, "{levels:?}");
        assert!([bypassed, removed].iter().all(|level| (level - plain).abs() < 1e-3), "{levels:?}");
        assert!((back - with).abs() < 1e-3, "{levels:?}");
    }
}

#[test]
fn a_solo_silences_sends_that_leave_before_the_fader() {
    let _alone = stage::alone();
    let (one, two) = (StripId::Track(0), StripId::Track(1));
    let edits = [
        Edit::Send(one, early_send()),
        Edit::Mute(one, true),
        Edit::Solo(two, true),
        Edit::Solo(one, true),
        Edit::Solo(two, false),
        Edit::Solo(one, false),
    ];
    // In parts of one track: what the hall plays of the first, and the second.
    let expected = [2.0, 3.0, 2.0, 1.0, 2.0, 1.0, 2.0];
    for (count, expected) in expected.into_iter().enumerate() {
        let level = last(&heard(LOW, &edits[..count], 30).row) / LEVEL as f32;
        assert!((level - expected).abs() < 1e-3, "{:?}: {level}", &edits[..count]);
    }
    // The straight ramps of faders have corners, so the strip is muted before.
    for sine in [LOW, HIGH] {
        let edits = [Edit::Mute(one, true), edits[0].clone(), Edit::Solo(two, true)];
        let step = heard(sine, &edits, 20).steps[edits.len()];
        assert!(step < SILENT, "{sine:?}: a step of {step}");
    }
}

/// The level at the end.
fn last(row: &[f32]) -> f32 {
    row[row.len() - 400..].iter().fold(0.0f32, |a, b| a.max(b.abs()))
}

#[test]
fn edits_during_a_fade_make_no_step_either_and_end_where_slow_ones_do() {
    let _alone = stage::alone();
    let all = all_edits();
    for sine in [LOW, HIGH] {
        let calm = heard(sine, &all, 30);
        let mut loudest = calm.loudest();
        assert!(loudest < SILENT);
        for between in [1, 2, 3, 5] {
            let fast = heard(sine, &all, between);
            for (edit, step) in all.iter().zip(&fast.steps[1..]) {
                assert!(
                    *step < SILENT,
                    "{sine:?}, {between} blocks between two edits, {edit:?}: a step of {step}"
                );
            }
            loudest = loudest.max(fast.loudest());
            let (fast, calm) = (last(&fast.row), last(&calm.row));
            assert!((fast - calm).abs() < 1e-4, "{sine:?}: {fast} {calm}");
        }
        println!("{sine:?}: a step of {loudest:.2e} at most");
    }
}

/// A level that changes while it fades, up and down and at last to silence.
#[test]
fn a_fade_that_is_turned_round_makes_no_step() {
    let _alone = stage::alone();
    let one = StripId::Track(0);
    let edits: Vec<Edit> = [0.0, -40.0, 3.0, -6.0, 6.0]
        .map(|gain_db| Edit::Send(one, send(gain_db)))
        .into_iter()
        .chain([Edit::RemoveSend(one, ReturnId(0)), Edit::Send(one, send(0.0))])
        .collect();
    let edits = vec![edits; 4].concat();
    for (sine, between) in [LOW, HIGH].into_iter().flat_map(|sine| (1..8).map(move |n| (sine, n))) {
        let heard = heard(sine, &edits, between);
        let step = heard.loudest();
        assert!(step < SILENT, "{sine:?}, {between} blocks between two edits: a step of {step}");
        assert!((last(&heard.row) - 0.75).abs() < 1e-3, "{sine:?}: {}", last(&heard.row));
    }
}

#[test]
fn what_has_faded_out_is_gone_and_was_not_heard_to_go() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(LOW);
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
    assert_eq!(editor.control().refused_fades().total(), 0);
}

/// As many edits as one block takes, and with the first of them what has faded out goes: a replay asks for that at another
/// time.
#[test]
fn what_goes_after_a_fade_takes_no_place_from_edits() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(LOW);
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
    let (mut engine, mut editor) = start(LOW);
    let into = |group| Destination::Group(GroupId(group));
    editor.apply(Edit::Route(StripId::Group(0), into(1))).unwrap();
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert_eq!(editor.control().refused_fades().total(), 0);
    editor.apply(Edit::Route(StripId::Group(0), Destination::Master)).unwrap();
    // While one way fades out, the other direction closes a cycle.
    editor.apply(Edit::Route(StripId::Group(1), into(0))).unwrap();
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert!(editor.is_settled());
    let one_cycle = RefusedFades { cycles: 1, ..RefusedFades::default() };
    assert_eq!(editor.control().refused_fades(), one_cycle);
}
