//! A session is edited while it plays; the same edits at the same frames give the same sound.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use hocket_engine::time::{
    LanePoint, LoopRange, Shape, TimeBase, TimedCommand, Transport, TransportCommand,
};
use hocket_engine::{
    Applied, Couples, Edit, EditError, Editor, EffectAt, Engine, LaneSpec, LaneTarget, Policy,
    Settings, Steer, VirtualDevice,
};
use hocket_plan::session::{
    Clip, Destination, Group, GroupId, Return, ReturnId, Send, Session, Strip, StripId, Tap, Track,
};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};

fn start(schedule: ScheduleKind, steer: Steer, workers: usize) -> (Engine, Editor) {
    start_with(schedule, steer, workers, Couples::Never)
}

fn start_with(
    schedule: ScheduleKind,
    steer: Steer,
    workers: usize,
    couples: Couples,
) -> (Engine, Editor) {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Hybrid };
    let settings = Settings { steer, couples, ..stage::settings(policy) };
    let seating = stage::seating(policy.sibling, workers);
    Editor::start(stage::session(), stage::media(), settings, seating).unwrap()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn part(&mut self) -> f32 {
        self.below(1001) as f32 / 1000.0
    }

    fn strip(&mut self, session: &Session) -> StripId {
        let ids = session.strip_ids();
        ids[self.below(ids.len())]
    }

    fn effect_at(&mut self, session: &Session) -> EffectAt {
        let strip = self.strip(session);
        EffectAt { strip, index: self.below(session.strip(strip).chain.len().max(1)) }
    }

    fn destination(&mut self, session: &Session) -> Destination {
        match self.below(session.groups.len() + 1) {
            0 => Destination::Master,
            group => Destination::Group(GroupId(group - 1)),
        }
    }

    /// Mostly possible, sometimes not; sessions stay small.
    fn edit(&mut self, session: &Session) -> Edit {
        let strip = self.strip(session);
        let at = self.effect_at(session);
        match self.below(22) {
            0..3 => Edit::Gain(strip, -40.0 + 44.0 * self.part()),
            3..5 => Edit::Pan(strip, 2.0 * self.part() - 1.0),
            5 => Edit::Mute(strip, self.below(3) == 0),
            6 => Edit::Solo(strip, self.below(4) == 0),
            7..10 => Edit::Param(at, self.below(6), -40.0 + 80.0 * self.part()),
            10..12 => Edit::Bypass(at, self.below(2) == 0),
            12 if session.strip(at.strip).chain.len() < 3 => {
                let kinds = hocket_dsp::kinds();
                Edit::InsertEffect(at, stage::effect(kinds[self.below(kinds.len())].name))
            }
            13 if unused_return(session).is_some() && self.below(2) == 0 => {
                Edit::RemoveReturn(unused_return(session).unwrap_or_default())
            }
            12 | 13 => Edit::RemoveEffect(at),
            14 if session.tracks.len() < 14 => Edit::AddTrack(Box::new(self.track(session))),
            14 => match self.below(3) {
                0 => Edit::RemoveGroup(self.below(session.groups.len().max(1))),
                1 => Edit::RemoveReturn(self.below(session.returns.len().max(1))),
                _ => Edit::RemoveTrack(self.below(session.tracks.len())),
            },
            15 if session.groups.len() < 4 => Edit::AddGroup(Box::new(Group {
                strip: plain("more"),
                output: self.destination(session),
            })),
            15 if session.returns.len() < 3 => Edit::AddReturn(Box::new(Return {
                strip: plain("hall"),
                output: Destination::Master,
            })),
            15..17 => Edit::Route(strip, self.destination(session)),
            20 => Edit::Automate(vec![(LaneTarget::Gain(strip), self.lane(-40.0, 6.0))]),
            21 => Edit::Automate(vec![
                (LaneTarget::Param(at, self.below(6)), self.lane(-40.0, 40.0)),
                (LaneTarget::Pan(strip), self.lane(-1.0, 1.0)),
                (LaneTarget::Mute(strip), self.lane(0.0, 0.6)),
                (LaneTarget::Bypass(at), self.lane(0.0, 1.0)),
            ]),
            17 | 18 => Edit::Send(strip, self.send(session)),
            _ => Edit::RemoveSend(strip, ReturnId(self.below(session.returns.len()))),
        }
    }

    /// A lane with points in the first minute; sometimes none, which removes one.
    fn lane(&mut self, from: f64, to: f64) -> Option<LaneSpec> {
        let count = self.below(6);
        let mut at: Vec<f64> = (0..count).map(|_| f64::from(self.part()) * 120.0).collect();
        at.sort_by(f64::total_cmp);
        let mut point = |at| {
            let shape = [Shape::Hold, Shape::Linear, Shape::Curve(3.0)][self.below(3)];
            LanePoint { at, value: from + (to - from) * f64::from(self.part()), shape }
        };
        let points: Vec<LanePoint> = at.into_iter().map(&mut point).collect();
        (count > 0).then(|| LaneSpec::new(TimeBase::Beats, points))
    }

    fn send(&mut self, session: &Session) -> Send {
        let tap = if self.below(2) == 0 { Tap::PreFader } else { Tap::PostFader };
        let to = ReturnId(self.below(session.returns.len()));
        Send { to, gain_db: -30.0 + 30.0 * self.part(), tap, feedback: false }
    }

    fn command(&mut self) -> TransportCommand {
        let frame = self.below(200_000) as i64;
        match self.below(9) {
            0..4 => TransportCommand::Locate(frame),
            4 | 5 => {
                let end = frame + 256 + self.below(5_000) as i64;
                TransportCommand::Loop(LoopRange::from_frames(frame, end).unwrap())
            }
            6 => TransportCommand::LoopOff,
            7 => TransportCommand::Stop,
            _ => TransportCommand::Play,
        }
    }

    fn track(&mut self, session: &Session) -> Track {
        let start_s = f64::from(self.part()) * 0.5;
        let clip = Clip { start_s, looped: true, ..stage::whole_file() };
        Track {
            strip: plain("added"),
            output: self.destination(session),
            clips: vec![clip],
            input: None,
            from: None,
            notes: Vec::new(),
        }
    }
}

/// A return that nobody sends to: it can go.
fn unused_return(session: &Session) -> Option<usize> {
    let ids = session.strip_ids();
    let sends: Vec<&Send> = ids.iter().flat_map(|id| &session.strip(*id).sends).collect();
    (0..session.returns.len()).find(|index| sends.iter().all(|send| send.to.0 != *index))
}

fn plain(name: &str) -> Strip {
    let chain = vec![stage::effect("eq")];
    let sends = Vec::new();
    Strip { name: name.into(), chain, gain_db: -9.0, pan: -0.2, mute: false, solo: false, sends }
}

/// Transport commands that were sent and have not been seen to take effect, oldest first.
type Sent = Mutex<VecDeque<TransportCommand>>;

/// A transport command and its block.
type Moved = Vec<(usize, TransportCommand)>;

/// Edits and moves the song until `count` edits were accepted and carried out, as fast as the engine takes them.
fn edit_at_random(editor: &mut Editor, count: usize, seed: u64, sent: &Sent) -> Vec<Applied> {
    let mut random = Random(seed);
    let mut accepted = 0;
    while accepted < count {
        let edit = random.edit(editor.session());
        match editor.apply(edit) {
            Ok(()) => accepted += 1,
            Err(EditError::Control(_)) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(_) => {}
        }
        if accepted % 8 == 0 && random.below(2) == 0 {
            let command = random.command();
            // Before it is sent: the leader may be quick.
            sent.lock().unwrap().push_back(command);
            let timed = TimedCommand { at_steady: 0, command };
            if editor.control().transport(timed).is_err() {
                sent.lock().unwrap().pop_back();
            }
        }
        if accepted % 16 == 0 {
            // Not more on their way than a person and a few controllers would have.
            while editor.applied().len() + 64 < accepted {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        }
    }
    while !editor.is_settled() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    editor.applied().to_vec()
}

/// The commands that explain where a block led. The rest waits, or would change nothing.
fn took_effect(before: &Transport, after: &Transport, sent: &Sent) -> Vec<TransportCommand> {
    let seen = |transport: &Transport| {
        (transport.position(), transport.is_playing(), transport.loop_range())
    };
    let mut sent = sent.lock().unwrap();
    let mut model = before.clone();
    for count in 0..=sent.len() {
        let mut next = model.clone();
        next.next_block(FRAMES as u32);
        if seen(&next) == seen(after) {
            return sent.drain(..count).collect();
        }
        sent.get(count).into_iter().for_each(|command| model.apply(*command));
    }
    panic!("{before:?} led to {after:?} with {sent:?}");
}

/// Plays the same edits at the same frames on one worker, without a clock.
fn replay(edits: &[Applied], moved: &[(usize, TransportCommand)], blocks: usize) -> Vec<u32> {
    let (mut engine, mut editor) = start(ScheduleKind::Serial, Steer::Fixed, 1);
    let all = edits;
    let mut edits = edits.iter().peekable();
    let mut moved = moved.iter().peekable();
    let mut bits = Vec::new();
    for block in 0..blocks {
        while let Some(next) = edits.next_if(|next| next.frame == (block * FRAMES) as u64) {
            editor.apply(next.edit.clone()).unwrap();
        }
        while let Some((_, command)) = moved.next_if(|(at, _)| *at == block) {
            engine.command(TimedCommand { at_steady: 0, command: *command }).unwrap();
        }
        engine.process(FRAMES);
        bits.extend(stage::bits(engine.output(FRAMES)));
    }
    assert!(edits.next().is_none(), "every edit fell on a block");
    assert!(editor.is_settled());
    assert_eq!(editor.applied().len(), all.len());
    let moved = editor.applied().iter().zip(all).find(|(replayed, live)| replayed != live);
    assert_eq!(moved, None, "an edit took effect at another frame than asked for");
    bits
}

/// Plays on a thread of its own until the edits are done; returns the sound, the edits, the song's moves and the blocks
/// that were late because of edits. The last number: blocks with couples.
fn play_and_edit(
    (schedule, steer, workers): (ScheduleKind, Steer, usize),
    edits: usize,
    couples: Couples,
) -> (Vec<u32>, Vec<Applied>, Moved, [u64; 3]) {
    let (mut engine, mut editor) = start_with(schedule, steer, workers, couples);
    let (done, sent) = (AtomicBool::new(false), Sent::default());
    let (mut bits, mut late, mut moved) = (Vec::new(), [0; 3], Moved::new());
    let (mut block, mut transport) = (0, engine.transport().clone());
    let applied = std::thread::scope(|scope| {
        let editing = scope.spawn(|| {
            let applied = edit_at_random(&mut editor, edits, 20_091_106, &sent);
            done.store(true, SeqCst);
            applied
        });
        let mut device = VirtualDevice::new(FRAMES as u32, RATE_HZ);
        device.run(&mut engine, u64::MAX, |times, engine| {
            bits.extend(stage::bits(engine.output(FRAMES)));
            let commands = took_effect(&transport, engine.transport(), &sent);
            moved.extend(commands.into_iter().map(|command| (block, command)));
            (block, transport) = (block + 1, engine.transport().clone());
            let by_edits = times.is_late() && times.slack_ns() + times.orders_ns as i64 >= 0;
            late[0] += u64::from(times.is_late());
            late[1] += u64::from(by_edits);
            let mut units = engine.schedule().units().units().iter();
            late[2] += u64::from(units.any(|unit| !unit.couples.is_empty()));
            !done.load(SeqCst)
        });
        editing.join().unwrap()
    });
    (bits, applied, moved, late)
}

/// How often edits of each kind took effect, by name.
fn kinds(edits: &[Applied], moved: &[(usize, TransportCommand)]) -> BTreeMap<String, usize> {
    let name = |debug: String| debug.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let edits = edits.iter().map(|applied| match &applied.edit {
        Edit::InsertEffect(_, effect) if effect.kind == "limiter" => "InsertLatency".to_owned(),
        edit => name(format!("{edit:?}")),
    });
    let moves = moved.iter().map(|(_, command)| name(format!("{command:?}")));
    let mut counts = BTreeMap::new();
    edits.chain(moves).for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

/// Those that 10,000 edits must contain.
const KINDS: [&str; 24] = [
    "AddGroup",
    "AddReturn",
    "AddTrack",
    "Automate",
    "Bypass",
    "Gain",
    "InsertEffect",
    "InsertLatency",
    "Locate",
    "Loop",
    "LoopOff",
    "Mute",
    "Pan",
    "Param",
    "Play",
    "RemoveEffect",
    "RemoveGroup",
    "RemoveReturn",
    "RemoveSend",
    "RemoveTrack",
    "Route",
    "Send",
    "Solo",
    "Stop",
];

/// The most edits of one test, where each costs more than usual (`check-tsan.sh`).
pub fn most_edits() -> usize {
    let most = std::env::var("HOCKET_TEST_EDITS").ok();
    most.map_or(usize::MAX, |most| most.parse().expect("HOCKET_TEST_EDITS: a number"))
}

fn check_against_replay(schedule: ScheduleKind, steer: Steer, workers: usize, edits: usize) {
    check_coupled_against_replay((schedule, steer, workers), edits, Couples::Never);
}

/// Returns how many blocks had couples. The replay has none.
fn check_coupled_against_replay(
    (schedule, steer, workers): (ScheduleKind, Steer, usize),
    edits: usize,
    couples: Couples,
) -> u64 {
    let edits = edits.min(most_edits());
    let how = (schedule, steer, workers);
    let (bits, applied, moved, late) = play_and_edit(how, edits, couples);
    assert_eq!(applied.len(), edits);
    let blocks = bits.len() / (2 * FRAMES);
    let expected = replay(&applied, &moved, blocks);
    let differs = bits.iter().zip(&expected).position(|(live, replayed)| live != replayed);
    assert_eq!(differs.map(|at| at / (2 * FRAMES)), None, "the first block that differs");
    assert!(bits.iter().any(|bits| *bits != 0));
    println!(
        "{schedule:?}, {workers} workers: {edits} edits in {blocks} blocks, replayed to the bit; \
         {} blocks late, {} of them in time but for edits",
        late[0], late[1]
    );
    let counts = kinds(&applied, &moved);
    println!("{counts:?}");
    let missing: Vec<_> = KINDS.iter().filter(|kind| !counts.contains_key(**kind)).collect();
    assert!(edits < 10_000 || missing.is_empty(), "never came up: {missing:?}");
    late[2]
}

#[test]
fn edits_of_strips_abreast_sound_as_replayed_one_by_one() {
    let _alone = stage::alone();
    let mut coupled = 0;
    for (schedule, steer, workers) in [
        (ScheduleKind::Serial, Steer::Fixed, 1),
        (ScheduleKind::Dataflow, Steer::Fixed, 2),
        (ScheduleKind::Critical, Steer::Costs, 2),
        (ScheduleKind::Critical, Steer::Auto, 2),
    ] {
        let how = (schedule, steer, workers);
        coupled += check_coupled_against_replay(how, 1500, Couples::Always);
    }
    assert!(coupled > 0 || most_edits() < 1500, "no block had a couple");
}

#[test]
fn ten_thousand_edits_while_playing_sound_as_replayed() {
    let _alone = stage::alone();
    check_against_replay(ScheduleKind::Dataflow, Steer::Fixed, 2, 10_000);
}

#[test]
fn edits_under_every_schedule_and_steering_sound_as_replayed() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        check_against_replay(kind, Steer::Fixed, 3, 300);
    }
    check_against_replay(ScheduleKind::Critical, Steer::Costs, 3, 600);
    check_against_replay(ScheduleKind::Critical, Steer::Auto, 3, 600);
}

#[test]
fn impossible_edits_are_refused_and_change_nothing() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(ScheduleKind::Serial, Steer::Fixed, 1);
    let before = editor.session().clone();
    let nowhere = EffectAt { strip: StripId::Master, index: 7 };
    let eq = EffectAt { strip: StripId::Track(0), index: 0 };
    let refused = [
        Edit::Gain(StripId::Track(99), 0.0),
        Edit::Gain(StripId::Track(0), f32::NAN),
        Edit::Pan(StripId::Master, f32::INFINITY),
        Edit::Param(eq, 999, 0.0),
        Edit::Bypass(nowhere, true),
        Edit::RemoveEffect(nowhere),
        Edit::InsertEffect(nowhere, stage::effect("eq")),
        Edit::RemoveTrack(99),
        Edit::Route(StripId::Master, Destination::Master),
        Edit::Route(StripId::Track(0), Destination::Group(GroupId(99))),
        // The outer group into the inner one, which flows into it.
        Edit::Route(StripId::Group(0), Destination::Group(GroupId(1))),
        Edit::RemoveSend(StripId::Master, ReturnId(0)),
        Edit::Send(
            StripId::Track(0),
            Send { to: ReturnId(9), gain_db: 0.0, tap: Tap::PreFader, feedback: false },
        ),
    ];
    for edit in refused {
        let error = editor.apply(edit.clone()).expect_err(&format!("{edit:?}"));
        assert!(!error.to_string().is_empty());
        assert_eq!(editor.session(), &before, "{edit:?}");
    }
    engine.process(FRAMES);
    assert_eq!(editor.applied(), []);
}

/// Where it is freed: `block/tests.rs`.
#[test]
fn what_is_removed_leaves_session_and_plan() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(ScheduleKind::Dataflow, Steer::Fixed, 2);
    editor.apply(Edit::RemoveTrack(0)).unwrap();
    assert!(!editor.is_settled());
    for _ in 0..10 {
        engine.process(FRAMES);
        assert!(editor.is_settled());
    }
    let names: Vec<&str> = editor.session().tracks.iter().map(|t| t.strip.name.as_str()).collect();
    assert_eq!(names.len(), stage::session().tracks.len() - 1);
    assert!(!engine.schedule().units().units().iter().any(|unit| unit.name.starts_with("gain:")));
}

#[test]
fn groups_and_returns_go_when_nobody_uses_them() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = start(ScheduleKind::Dataflow, Steer::Fixed, 2);
    let group =
        |name| Edit::AddGroup(Box::new(Group { strip: plain(name), output: Destination::Master }));
    let back = |name| {
        Edit::AddReturn(Box::new(Return { strip: plain(name), output: Destination::Master }))
    };
    let (groups, returns) = (editor.session().groups.len(), editor.session().returns.len());
    for edit in [group("one"), group("two"), back("near"), back("far")] {
        editor.apply(edit).unwrap();
    }
    let track = StripId::Track(0);
    let to_two = Destination::Group(GroupId(groups + 1));
    let to_far =
        Send { to: ReturnId(returns + 1), gain_db: -6.0, tap: Tap::PostFader, feedback: false };
    editor.apply(Edit::Route(track, to_two)).unwrap();
    editor.apply(Edit::Send(track, to_far)).unwrap();
    let used = |result: Result<(), EditError>| matches!(result, Err(EditError::InUse { .. }));
    assert!(used(editor.apply(Edit::RemoveGroup(groups + 1))));
    assert!(used(editor.apply(Edit::RemoveReturn(returns + 1))));
    // Those before them go; what played through them still does.
    editor.apply(Edit::RemoveGroup(groups)).unwrap();
    editor.apply(Edit::RemoveReturn(returns)).unwrap();
    assert_eq!(editor.session().output(track), Some(Destination::Group(GroupId(groups))));
    assert_eq!(editor.session().tracks[0].strip.sends.last().unwrap().to, ReturnId(returns));
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert!(editor.is_settled());
    assert!(editor.apply(Edit::RemoveGroup(99)).is_err());
    assert_eq!(editor.take_applied().len(), 8);
    assert!(editor.applied().is_empty());
}

#[test]
fn what_is_no_number_or_cannot_change_is_refused() {
    let _alone = stage::alone();
    let (_engine, mut editor) = start(ScheduleKind::Serial, Steer::Fixed, 1);
    let mut track = editor.session().tracks[0].clone();
    track.strip.pan = f32::NAN;
    assert_eq!(
        editor.apply(Edit::AddTrack(Box::new(track))).unwrap_err().to_string(),
        "NaN is not a level or position"
    );
    let at = EffectAt { strip: StripId::Track(0), index: 0 };
    for kind in hocket_dsp::kinds() {
        let Some(fixed) = kind.params.iter().position(|param| param.fixed) else { continue };
        editor.apply(Edit::InsertEffect(at, stage::effect(kind.name))).unwrap();
        let refused = editor.apply(Edit::Param(at, fixed, 0.5)).unwrap_err();
        assert!(refused.to_string().contains("while it plays"), "{refused}");
    }
}

/// More orders are on their way than one block carries out, so that plans are made long before they are used: what has
/// faded by then had not when the plan was made.
#[test]
fn edits_that_wait_for_their_block_sound_as_replayed() {
    let _alone = stage::alone();
    let seeds = (most_edits() / 100).min(30) as u64;
    for seed in 0..seeds {
        let (mut engine, mut editor) = start(ScheduleKind::Serial, Steer::Fixed, 1);
        let mut random = Random(seed);
        let mut bits = Vec::new();
        for _ in 0..12 {
            let burst = [1, 3, 40, 100][random.below(4)];
            let mut accepted = 0;
            while accepted < burst {
                let edit = random.edit(editor.session());
                accepted += usize::from(editor.apply(edit).is_ok());
            }
            for _ in 0..1 + random.below(12) {
                engine.process(FRAMES);
                bits.extend(stage::bits(engine.output(FRAMES)));
            }
        }
        for _ in 0..8 {
            engine.process(FRAMES);
            bits.extend(stage::bits(engine.output(FRAMES)));
        }
        assert!(editor.is_settled());
        let expected = replay(editor.applied(), &[], bits.len() / (2 * FRAMES));
        let differs = bits.iter().zip(&expected).position(|(live, replayed)| live != replayed);
        assert_eq!(
            differs.map(|at| at / (2 * FRAMES)),
            None,
            "seed {seed}: the first block that differs"
        );
    }
}
