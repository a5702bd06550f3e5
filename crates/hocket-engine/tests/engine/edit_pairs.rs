//! Every kind of edit during the fade of every other kind: the same bits under every kind of schedule, with several
//! thread counts and with blocks that are cut anywhere. `graphs/edits.rs` has random sequences, and what else must hold.

use std::sync::Arc;

use hocket_engine::time::{
    LanePoint, LoopRange, Shape, TempoMap, TimeBase, TimedCommand, TransportCommand,
};
use hocket_engine::{
    Edit, Editor, EffectAt, LaneSpec, LaneTarget, MediaPool, Policy, Settings, Steer,
};
use hocket_plan::session::{
    Clip, Destination, Group, GroupId, Return, ReturnId, Send, Strip, StripId, Tap, Track,
};
use hocket_plan::{ScheduleKind, Session, SiblingPolicy};
use hocket_rt::Strategy;

use crate::editing::most_edits;
use crate::stage::{self, RATE_HZ};

/// The largest block. A fade takes four of them.
const FRAMES: usize = 128;
/// Blocks before the first edit, between the two, and after the second one.
const BLOCKS: [usize; 3] = [3, 1, 7];

/// What somebody does while the session plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    RouteTrack,
    RouteGroup,
    AddSend,
    SendLevel,
    SendTap,
    SendBack,
    RemoveSend,
    InsertEffect,
    InsertLatency,
    RemoveEffect,
    RemoveLatency,
    Bypass,
    Param,
    Gain,
    Pan,
    Mute,
    Solo,
    AddTrack,
    RemoveTrack,
    AddGroup,
    RemoveGroup,
    AddReturn,
    RemoveReturn,
    Automate,
    Locate,
    Loop,
    LoopOff,
    Stop,
    Play,
    Tempo,
    /// A change from one block to the next, which ends the fades that run.
    AtOnce,
}

use Kind::*;

const KINDS: [Kind; 31] = [
    RouteTrack,
    RouteGroup,
    AddSend,
    SendLevel,
    SendTap,
    SendBack,
    RemoveSend,
    InsertEffect,
    InsertLatency,
    RemoveEffect,
    RemoveLatency,
    Bypass,
    Param,
    Gain,
    Pan,
    Mute,
    Solo,
    AddTrack,
    RemoveTrack,
    AddGroup,
    RemoveGroup,
    AddReturn,
    RemoveReturn,
    Automate,
    Locate,
    Loop,
    LoopOff,
    Stop,
    Play,
    Tempo,
    AtOnce,
];

impl Kind {
    /// Does it, to other strips the second time where the first time may have taken them away.
    fn act(self, editor: &mut Editor, second: bool) {
        let which = usize::from(second);
        let track = StripId::Track(which);
        let at = EffectAt { strip: track, index: 0 };
        let groups = editor.session().groups.len();
        let send =
            |gain_db| Send { to: ReturnId(0), gain_db, tap: Tap::PostFader, feedback: false };
        let edit = match self {
            RouteTrack => Edit::Route(track, Destination::Group(GroupId(1))),
            RouteGroup => match editor.session().output(StripId::Group(1)) {
                // While the way between the two fades out, the other direction closes a cycle.
                Some(Destination::Master) => {
                    Edit::Route(StripId::Group(0), Destination::Group(GroupId(1)))
                }
                _ => Edit::Route(StripId::Group(1), Destination::Master),
            },
            AddSend => Edit::Send(StripId::Track(2 + which), send(-6.0)),
            SendLevel => Edit::Send(track, send(-20.0)),
            SendTap => Edit::Send(track, Send { tap: Tap::PreFader, ..send(-9.0) }),
            SendBack => {
                let back = Send { to: ReturnId(0), feedback: true, ..send(-20.0) };
                Edit::Send(StripId::Return(which), back)
            }
            RemoveSend => Edit::RemoveSend(track, ReturnId(0)),
            InsertEffect => Edit::InsertEffect(at, stage::effect("gain")),
            InsertLatency => Edit::InsertEffect(at, stage::effect("limiter")),
            RemoveEffect => Edit::RemoveEffect(at),
            RemoveLatency => Edit::RemoveEffect(latent(editor.session())),
            Bypass => Edit::Bypass(at, true),
            Param => Edit::Param(EffectAt { strip: StripId::Track(2), index: 0 }, 0, -6.0),
            Gain => Edit::Gain(track, -20.0),
            Pan => Edit::Pan(track, 0.7),
            Mute => Edit::Mute(track, true),
            Solo => Edit::Solo(track, true),
            AddTrack => Edit::AddTrack(Box::new(new_track(7, Destination::Group(GroupId(0))))),
            RemoveTrack => Edit::RemoveTrack(editor.session().tracks.len() - 1),
            AddGroup => Edit::AddGroup(Box::new(group("more", Destination::Master))),
            RemoveGroup => Edit::RemoveGroup(groups - 1),
            AddReturn => Edit::AddReturn(Box::new(back("more"))),
            RemoveReturn => Edit::RemoveReturn(editor.session().returns.len() - 1),
            Automate => Edit::Automate(vec![
                (LaneTarget::Gain(track), Some(lane(-30.0, 0.0))),
                (LaneTarget::Bypass(at), Some(lane(0.0, 1.0))),
            ]),
            Locate => return transport(editor, TransportCommand::Locate(11_111)),
            Loop => {
                let range = LoopRange::from_frames(100, 100 + 300);
                return transport(editor, TransportCommand::Loop(range.unwrap()));
            }
            LoopOff => return transport(editor, TransportCommand::LoopOff),
            Stop => return transport(editor, TransportCommand::Stop),
            Play => return transport(editor, TransportCommand::Play),
            Tempo => {
                let map = TempoMap::constant(RATE_HZ, 91.0 + which as f64).unwrap();
                editor.control().set_tempo_map(map).unwrap();
                return;
            }
            AtOnce => {
                editor.fade_edits(false);
                editor.apply(Edit::Route(track, Destination::Master)).unwrap();
                return editor.fade_edits(true);
            }
        };
        editor.apply(edit).unwrap_or_else(|error| panic!("{self:?}, second: {second}: {error}"));
    }
}

fn transport(editor: &Editor, command: TransportCommand) {
    // In the midst of a block.
    editor.control().transport(TimedCommand { at_steady: 433, command }).unwrap();
}

fn lane(from: f64, to: f64) -> LaneSpec {
    let point = |(at, value)| LanePoint { at, value, shape: Shape::Linear };
    LaneSpec::new(TimeBase::Beats, [(0.0, from), (0.05, to)].map(point).to_vec())
}

/// A strip that begins with a latent effect.
fn latent(session: &Session) -> EffectAt {
    let ids = session.strip_ids();
    let is_latent = |id: &&StripId| {
        session.strip(**id).chain.first().is_some_and(|effect| effect.kind == "limiter")
    };
    EffectAt { strip: *ids.iter().rev().find(is_latent).expect("a limiter"), index: 0 }
}

fn strip(name: &str, effects: &[&str]) -> Strip {
    let chain = effects.iter().map(|kind| stage::effect(kind)).collect();
    let sends = Vec::new();
    Strip { name: name.into(), chain, gain_db: -3.0, pan: 0.1, mute: false, solo: false, sends }
}

fn new_track(number: usize, output: Destination) -> Track {
    let clip = Clip { start_s: number as f64 * 0.0007, looped: true, ..stage::whole_file() };
    let strip = strip("track", &["gain", "eq", "gain"]);
    Track { strip, output, clips: vec![clip], input: None, from: None, notes: Vec::new() }
}

fn group(name: &str, output: Destination) -> Group {
    Group { strip: strip(name, &[]), output }
}

fn back(name: &str) -> Return {
    Return { strip: strip(name, &["eq"]), output: Destination::Master }
}

/// Six tracks, groups and returns with and without users, two strips that are late.
fn session() -> Session {
    let into = |group| Destination::Group(GroupId(group));
    let outputs = [into(0), into(0), Destination::Master, into(1), into(0), Destination::Master];
    let mut tracks: Vec<Track> =
        outputs.into_iter().enumerate().map(|(number, to)| new_track(number, to)).collect();
    let send = Send { to: ReturnId(0), gain_db: -9.0, tap: Tap::PostFader, feedback: false };
    tracks[..2].iter_mut().for_each(|track| track.strip.sends.push(send.clone()));
    let mut groups = vec![
        group("one", Destination::Master),
        group("two", into(0)),
        group("three", Destination::Master),
        group("four", Destination::Master),
    ];
    groups[1].strip.chain.push(stage::effect("limiter"));
    let mut returns = vec![back("hall"), back("room"), back("echo"), back("spare")];
    returns[0].strip.chain.insert(0, stage::effect("limiter"));
    Session { tracks, groups, returns, master: strip("master", &[]), ..stage::session() }
}

/// How the two edits are played.
#[derive(Debug, Clone, Copy)]
struct Way {
    schedule: ScheduleKind,
    workers: usize,
    cut: bool,
}

/// What is heard, and how many fades were refused.
fn play(pair: [Kind; 2], way: Way) -> (Vec<u32>, usize) {
    let Way { schedule, workers, cut } = way;
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Hybrid };
    let settings =
        Settings { frames: FRAMES as u32, steer: Steer::Fixed, ..stage::settings(policy) };
    let media = MediaPool::new(vec![Arc::new(stage::audio(3_000))]);
    let seating = stage::seating(policy.sibling, workers);
    let (mut engine, mut editor) = Editor::start(session(), media, settings, seating).unwrap();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let parts: &[usize] = if cut { &[1, 63, 20, 44] } else { &[FRAMES] };
    for (number, blocks) in BLOCKS.into_iter().enumerate() {
        if let Some(kind) = number.checked_sub(1).map(|at| pair[at]) {
            kind.act(&mut editor, number == 2);
        }
        for _ in 0..blocks {
            for part in parts {
                engine.process(*part);
                let rows = engine.output(*part);
                left.extend(rows.left.iter().map(|sample| sample.to_bits()));
                right.extend(rows.right.iter().map(|sample| sample.to_bits()));
            }
            // What has faded out goes.
            editor.is_settled();
        }
    }
    assert!(editor.is_settled(), "{pair:?}, {way:?}");
    let applied = editor.take_applied();
    let frames: Vec<u64> = applied.iter().map(|applied| applied.frame / FRAMES as u64).collect();
    let due = [BLOCKS[0], BLOCKS[0] + BLOCKS[1]].map(|block| block as u64);
    assert!(frames.iter().all(|block| due.contains(block)), "{pair:?}: {applied:?}");
    left.extend(right);
    (left, editor.control().refused_fades().total())
}

#[test]
fn every_edit_during_the_fade_of_every_other_has_the_same_bits_whoever_plays_it() {
    let _alone = stage::alone();
    let way = |schedule, workers, cut| Way { schedule, workers, cut };
    let plain = way(ScheduleKind::Serial, 1, false);
    let ways = [
        way(ScheduleKind::Dataflow, 2, true),
        way(ScheduleKind::Serial, 1, true),
        way(ScheduleKind::Steal, 3, true),
        way(ScheduleKind::Lists, 2, false),
        way(ScheduleKind::Critical, 4, true),
    ];
    let all_pairs = KINDS.len() * KINDS.len();
    // Where edits cost more than usual, a part of the pairs.
    let step = all_pairs.div_ceil(most_edits());
    let (mut refused, mut sounds) = (Vec::new(), Vec::new());
    for number in (0..all_pairs).step_by(step) {
        let pair = [KINDS[number / KINDS.len()], KINDS[number % KINDS.len()]];
        let (expected, fades) = play(pair, plain);
        let way = ways[number % ways.len()];
        let (heard, same) = play(pair, way);
        let at = heard.iter().zip(&expected).position(|(heard, expected)| heard != expected);
        assert_eq!(at.map(|at| at % (heard.len() / 2)), None, "{pair:?}, {way:?}: the first frame");
        assert_eq!((same, heard.len()), (fades, expected.len()), "{pair:?}, {way:?}");
        refused.extend((fades > 0).then_some(pair));
        sounds.push(expected);
    }
    let all = sounds.len();
    sounds.sort_unstable();
    sounds.dedup();
    println!(
        "{} kinds of edits, {all} of {all_pairs} pairs of an edit and one during its fade, {} of them sound different; \
         fades refused in {refused:?}",
        KINDS.len(),
        sounds.len()
    );
    if all < all_pairs {
        return;
    }
    assert!(refused.contains(&[RouteGroup, RouteGroup]), "{refused:?}");
    // Some are no change, such as to play while it plays; the others are heard.
    assert!(sounds.len() > all / 3, "{} of {all}", sounds.len());
}
