//! Edits, lanes, plans that are exchanged and blocks that are announced leave no trace of the system either.

use hocket_engine::time::{
    LanePoint, LoopRange, Shape, TempoMap, TimeBase, TimedCommand, TransportCommand,
};
use hocket_engine::{
    Edit, Editor, EffectAt, Engine, LaneSpec, LaneTarget, Seating, Settings, Spans, Steer,
};
use hocket_machine::Topology;
use hocket_machine::clock::monotonic_ns;
use hocket_plan::session::{Destination, Group, GroupId, ReturnId, Send, StripId, Tap};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::{self, Watch};

const BLOCKS: usize = 200;
/// They follow each other while it plays.
const SIBLINGS: [SiblingPolicy; 4] =
    [SiblingPolicy::IdleThread, SiblingPolicy::PairBarrier, SiblingPolicy::Off, SiblingPolicy::All];

#[test]
fn edits_exchanges_and_announcements_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("edits_exchanges_and_announcements_leave_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        for steer in [Steer::Fixed, Steer::Costs, Steer::Auto] {
            let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
            let settings = Settings { steer, ..stage::ordinary(policy) };
            let seats = stage::paired_cores(3);
            let seating = Seating::described(&seats, policy.sibling, Some(3)).unwrap();
            check(settings, seating, &format!("{policy}, {steer:?}, described"));
        }
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
        let topology = Topology::discover().ok();
        let seating = topology.and_then(|it| Seating::here(&it, policy.sibling, None).ok());
        match seating {
            Some(seating) => {
                let settings = Settings::new(FRAMES, RATE_HZ, policy);
                check(settings, seating, &format!("{policy}, pinned"));
            }
            None => println!("SKIPPED edits on pinned seats: none here"),
        }
    }
}

fn check(settings: Settings, seating: Seating, what: &str) {
    let (session, pool) = stage::everything();
    let settings = Settings { sibling_policies: SIBLINGS.into(), ..settings };
    let (mut engine, mut editor) = Editor::start(session, pool, settings, seating).unwrap();
    let entered = engine.seating().is_pinned().then(|| engine.enter());
    watching::forget();
    let (mut orders, mut peak) = (0, 0.0f32);
    for block in 0..BLOCKS {
        change(&mut editor, &engine, block);
        reroute(&mut editor, &engine, block);
        if block % 9 == 4 {
            let policy = SIBLINGS[block / 9 % SIBLINGS.len()];
            engine.control().set_sibling_policy(policy).unwrap();
        }
        let _watch = Watch::begin();
        // On time, and every so often far too late for the block that follows.
        let ahead_ns = if block % 16 == 7 { 20_000_000 } else { 200_000 };
        engine.expect_next(monotonic_ns() + ahead_ns);
        orders += engine.process(FRAMES as usize).orders;
        let rows = engine.output(FRAMES as usize);
        peak = rows.left.iter().fold(peak, |peak, sample| peak.max(sample.abs()));
    }
    assert!(peak > 1.0e-3, "{what}: nothing was played");
    assert!(orders as usize > BLOCKS / 4, "{what}: {orders} orders");
    assert_eq!(engine.contained(), [], "{what}");
    assert_eq!(engine.control().thinned_out(), [], "{what}");
    watching::check_clean(what);
    drop(entered);
}

/// An edit, or a new plan from measured costs, before two blocks of three.
fn change(editor: &mut Editor, engine: &Engine, block: usize) {
    // Their CPU time is a system call, and nobody asks for it here.
    engine.control().set_spans(if block.is_multiple_of(3) { Spans::Off } else { Spans::Times });
    let tracks = editor.session().tracks.len();
    let edit = match block % 12 {
        0 | 4 => Edit::Gain(StripId::Track(block % tracks), -3.0 - block as f32 / 10.0),
        1 => Edit::Pan(StripId::Master, 0.25),
        3 => Edit::Mute(StripId::Track(block % tracks), block % 24 == 3),
        6 => Edit::AddTrack(Box::new(stage::track(tracks, vec![stage::default_effect("eq")]))),
        7 => Edit::Solo(StripId::Track(0), block % 24 == 7),
        9 => Edit::RemoveTrack(tracks - 1),
        5 | 8 => Edit::Automate(lanes(editor, block)),
        11 => {
            let map = TempoMap::constant(RATE_HZ, 60.0 + block as f64).unwrap();
            engine.control().set_tempo_map(map).unwrap();
            return;
        }
        // Its latency makes all others wait: delay lines come, become longer and go.
        10 => {
            let at = EffectAt { strip: StripId::Track(0), index: 0 };
            match block % 24 {
                10 => Edit::InsertEffect(at, stage::default_effect("limiter")),
                _ => Edit::RemoveEffect(at),
            }
        }
        2 => {
            // Refused as long as nothing has been measured.
            let _ = engine.control().replan();
            return;
        }
        _ => return,
    };
    editor.apply(edit).unwrap();
}

/// Routes and sends that change while others fade, groups that come and go, feedback, and a song that jumps and loops.
fn reroute(editor: &mut Editor, engine: &Engine, block: usize) {
    let (track, session) = (StripId::Track(1), editor.session());
    let last = GroupId(session.groups.len() - 1);
    let send = |to, gain_db, feedback| {
        let tap = [Tap::PreFader, Tap::PostFader][block / 10 % 2];
        Send { to: ReturnId(to), gain_db, tap, feedback }
    };
    let transport = |command| {
        // In the midst of the next blocks.
        let at_steady = (block * FRAMES as usize + 17) as u64;
        engine.control().transport(TimedCommand { at_steady, command }).unwrap();
    };
    let edit = match block % 10 {
        0 => Edit::Route(track, Destination::Group(GroupId(block / 10 % 2))),
        1 => Edit::Send(track, send(0, -6.0 - block as f32 / 20.0, false)),
        2 => Edit::RemoveSend(track, ReturnId(0)),
        3 => Edit::AddGroup(Box::new(Group {
            strip: stage::strip("more", vec![stage::default_effect("limiter")]),
            output: Destination::Group(GroupId(0)),
        })),
        4 => Edit::Route(track, Destination::Group(last)),
        5 => Edit::Route(track, Destination::Master),
        6 => Edit::RemoveGroup(last.0),
        7 => return transport(TransportCommand::Locate(block as i64 * 31)),
        8 if block % 20 == 8 => {
            let range = LoopRange::from_frames(block as i64 * 31, block as i64 * 31 + 300);
            return transport(TransportCommand::Loop(range.unwrap()));
        }
        8 => return transport(TransportCommand::LoopOff),
        _ if block % 20 == 9 => Edit::Send(StripId::Return(0), send(1, -20.0, true)),
        _ => Edit::RemoveSend(StripId::Return(0), ReturnId(1)),
    };
    editor.apply(edit.clone()).unwrap_or_else(|error| panic!("block {block}, {edit:?}: {error}"));
}

/// Lanes with a value at every frame, on sources and behind latencies, in the place of those before.
fn lanes(editor: &Editor, block: usize) -> Vec<(LaneTarget, Option<LaneSpec>)> {
    let point = |(at, value)| LanePoint { at, value, shape: Shape::Curve(2.0) };
    let lane = |from, to| {
        let points: Vec<LanePoint> = [(0.0, from), (1.0, to), (1.5, from)].map(point).into();
        Some(LaneSpec { grid_frames: 1, ..LaneSpec::new(TimeBase::Beats, points) })
    };
    let track = StripId::Track(block % editor.session().tracks.len());
    let removed = if block % 24 == 8 { None } else { lane(-1.0, 1.0) };
    let mut lanes = vec![
        (LaneTarget::Gain(StripId::Master), lane(-20.0, 0.0)),
        (LaneTarget::Mute(StripId::Group(0)), lane(0.0, 1.0)),
        (LaneTarget::Pan(track), removed),
        (LaneTarget::Gain(track), lane(-12.0, 0.0)),
    ];
    if !editor.session().strip(track).chain.is_empty() {
        lanes.push((LaneTarget::Bypass(EffectAt { strip: track, index: 0 }), lane(0.0, 1.0)));
    }
    lanes
}
