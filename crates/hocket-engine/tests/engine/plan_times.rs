//! What is heard depends on the edits and on their blocks, and on nothing else:
//!
//! - not on when control threads make plans: late, early, with what has faded out still there or gone,
//! - not on who plays, or on how blocks are cut,
//! - for a track that edits do not reach, not on them.
//!
//! And after all edits each output is as late as the slowest way to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{
    Applied, Edit, EditError, Editor, EffectAt, Effects, Engine, MediaPool, Settings, Steer,
};
use hocket_plan::graph::session_graph;
use hocket_plan::session::{
    Clip, Destination, Group, GroupId, Output, Return, ReturnId, Send, Strip, StripId, Tap, Track,
};
use hocket_plan::{ScheduleKind, Session};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::stage;

const FRAMES: usize = 128;
/// Blocks of a fade.
const FADE: usize = 4;
/// Orders that the leader carries out before one block.
const ORDERS: usize = 32;
/// The most edits before one block, so that they find room there.
const EDITS: usize = 12;

/// Tracks of the session, which stay because the host reads them. Those behind them come and go.
const TRACKS: usize = 3;
/// The most tracks.
const MOST_TRACKS: usize = 8;
/// The most workers.
const WORKERS: usize = 4;
/// The kinds of schedule that have workers.
const PARALLEL: [ScheduleKind; 4] =
    [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Lists, ScheduleKind::Critical];

/// When plans are made.
#[derive(Debug, Clone, Copy)]
enum Made {
    /// Right before their block. What has faded goes as soon as it can.
    Late,
    /// So many blocks ahead. Orders are always on their way, so what has faded is still there when the next plan is made.
    Ahead(usize),
    /// For so many blocks at once. What has faded goes between two such bursts.
    InBursts(usize),
}

/// Who plays.
#[derive(Debug, Clone)]
struct Way {
    schedule: ScheduleKind,
    workers: usize,
    /// The lengths of blocks, again and again, as far as a largest block has room for them. None: largest blocks.
    cuts: Vec<usize>,
}

impl Way {
    fn plain() -> Way {
        Way { schedule: ScheduleKind::Serial, workers: 1, cuts: Vec::new() }
    }
}

/// A sequence, and how it is played.
#[derive(Debug, Clone)]
struct Case {
    draws: Vec<Draw>,
    ways: Vec<Way>,
    /// From which draw on tracks are examined that are out of reach.
    examined: usize,
}

/// Each kind of schedule plays a sequence in whole blocks and in cut ones, with as many workers as is drawn for each.
fn cases() -> impl Strategy<Value = Case> {
    let workers = || prop::array::uniform4(1..=WORKERS);
    let cuts = prop::collection::vec(1..FRAMES, 1..6);
    let case = (draws(), workers(), workers(), cuts, 0..50usize);
    case.prop_map(|(draws, whole, cut, cuts, examined)| {
        let whole = PARALLEL.into_iter().zip(whole).map(|it| (it, Vec::new()));
        let cut = PARALLEL.into_iter().zip(cut).map(|it| (it, cuts.clone()));
        let serial = ((ScheduleKind::Serial, 1), cuts.clone());
        let ways = whole.chain(cut).chain([serial]);
        let ways = ways.map(|((schedule, workers), cuts)| Way { schedule, workers, cuts });
        Case { draws, ways: ways.collect(), examined }
    })
}

/// An edit or a command by numbers, which mean something in every session.
#[derive(Debug, Clone, Copy)]
struct Draw {
    /// Blocks since the edit before.
    gap: usize,
    kind: usize,
    a: usize,
    b: usize,
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let gap = prop_oneof![4 => Just(0usize), 3 => Just(1), 2 => 2..5usize, 1 => 5..8usize];
    let draw = (gap, 0..KINDS.len(), 0..8usize, 0..8usize);
    let draw = draw.prop_map(|(gap, kind, a, b)| Draw { gap, kind, a, b });
    prop::collection::vec(draw, 2..50)
}

/// What is drawn, as often as it is here.
const KINDS: [&str; 23] = [
    "route",
    "route",
    "route",
    "route",
    "route of a group",
    "send",
    "send",
    "send removed or mute",
    "effect inserted",
    "effect removed",
    "effect bypassed",
    "track added or removed",
    "track removed",
    "group added",
    "group removed",
    "return added",
    "return removed",
    "latency inserted",
    "latency inserted",
    "gain",
    "locate",
    "loop",
    "play, stop or no loop",
];

/// From which kind on they are commands to the transport.
const COMMANDS: usize = 20;

impl Draw {
    /// At a frame of its block.
    fn command(self, block: usize) -> TimedCommand {
        let Draw { a, b, .. } = self;
        let from = (a * 311) as i64;
        let command = match (self.kind, b % 3) {
            (20, _) => TransportCommand::Locate(from + b as i64),
            (21, _) => {
                let range = LoopRange::from_frames(from, from + 256 + 100 * b as i64);
                TransportCommand::Loop(range.unwrap())
            }
            (_, 0) => TransportCommand::Play,
            (_, 1) => TransportCommand::Stop,
            _ => TransportCommand::LoopOff,
        };
        TimedCommand { at_steady: (block * FRAMES + (a * 17 + b) % FRAMES) as u64, command }
    }

    fn edit(self, session: &Session) -> Edit {
        let Draw { a, b, .. } = self;
        let strips = session.strip_ids();
        let strip = strips[a % strips.len()];
        let to = match b % (session.groups.len() + 1) {
            0 => Destination::Master,
            group => Destination::Group(GroupId(group - 1)),
        };
        let at = EffectAt { strip, index: b % session.strip(strip).chain.len().max(1) };
        match self.kind {
            0..4 => Edit::Route(strip, to),
            4 => Edit::Route(StripId::Group(a % session.groups.len().max(1)), to),
            5..7 => Edit::Send(strip, send(session, b)),
            7 => removed_send(session, a, b).unwrap_or(Edit::Mute(strip, b % 2 == 0)),
            8 => Edit::InsertEffect(at, stage::effect(["limiter", "gain"][b % 2])),
            9 => Edit::RemoveEffect(at),
            10 => Edit::Bypass(at, b % 2 == 0),
            11 if session.tracks.len() < MOST_TRACKS => Edit::AddTrack(Box::new(track(a, to))),
            11 | 12 => {
                let others = session.tracks.len() - TRACKS;
                Edit::RemoveTrack(TRACKS + a % others.max(1))
            }
            13 => Edit::AddGroup(Box::new(Group { strip: plain("more", &[]), output: to })),
            14 => Edit::RemoveGroup(unused_group(session, a)),
            15 => Edit::AddReturn(Box::new(hall())),
            16 => Edit::RemoveReturn(a % session.returns.len().max(1)),
            17 | 18 => Edit::InsertEffect(at, stage::effect("limiter")),
            _ => Edit::Gain(strip, -(b as f32)),
        }
    }
}

/// Which tracks of the session an edit changes, as they leave their faders. Routes, sends, groups and returns only change
/// what comes behind.
fn reach(edit: &Edit) -> [bool; TRACKS] {
    let strip = match edit {
        Edit::Gain(strip, _) | Edit::Mute(strip, _) => *strip,
        Edit::InsertEffect(at, _) | Edit::RemoveEffect(at) | Edit::Bypass(at, _) => at.strip,
        Edit::Route(..) | Edit::Send(..) | Edit::RemoveSend(..) => return NOTHING,
        Edit::AddTrack(_) | Edit::AddGroup(_) | Edit::AddReturn(_) => return NOTHING,
        Edit::RemoveTrack(_) | Edit::RemoveGroup(_) | Edit::RemoveReturn(_) => return NOTHING,
        _ => panic!("{edit:?} is not drawn"),
    };
    std::array::from_fn(|track| strip == StripId::Track(track))
}

const NOTHING: [bool; TRACKS] = [false; TRACKS];
/// What a command to the transport reaches.
const EVERYTHING: [bool; TRACKS] = [true; TRACKS];

/// One of the sends that are there.
fn removed_send(session: &Session, a: usize, b: usize) -> Option<Edit> {
    let has_some = |strip: &StripId| !session.strip(*strip).sends.is_empty();
    let strips: Vec<StripId> = session.strip_ids().into_iter().filter(has_some).collect();
    let strip = *strips.get(a % strips.len().max(1))?;
    let sends = &session.strip(strip).sends;
    Some(Edit::RemoveSend(strip, sends[b % sends.len()].to))
}

/// A group that nobody plays into, if there is one.
fn unused_group(session: &Session, a: usize) -> usize {
    let tracks = session.tracks.iter().map(|track| track.output);
    let groups = session.groups.iter().map(|group| group.output);
    let used: Vec<Destination> = tracks.chain(groups).collect();
    let is_unused = |group: &usize| !used.contains(&Destination::Group(GroupId(*group)));
    let unused: Vec<usize> = (0..session.groups.len()).filter(is_unused).collect();
    unused.get(a % unused.len().max(1)).copied().unwrap_or(a % session.groups.len().max(1))
}

fn send(session: &Session, number: usize) -> Send {
    let gain_db = [0.0, -6.0, f32::NEG_INFINITY, 3.0][number % 4];
    let tap = if number.is_multiple_of(3) { Tap::PreFader } else { Tap::PostFader };
    Send { to: ReturnId(number % session.returns.len().max(1)), gain_db, tap, feedback: false }
}

fn plain(name: &str, effects: &[&str]) -> Strip {
    let (name, sends) = (name.into(), Vec::new());
    let chain = effects.iter().map(|kind| stage::effect(kind)).collect();
    Strip { name, chain, gain_db: -3.0, pan: 0.1, mute: false, solo: false, sends }
}

fn track(number: usize, output: Destination) -> Track {
    let clip = Clip { start_s: number as f64 * 0.0007, looped: true, ..stage::whole_file() };
    Track {
        strip: plain("track", &["gain"]),
        output,
        clips: vec![clip],
        input: None,
        from: None,
        notes: Vec::new(),
    }
}

fn hall() -> Return {
    Return { strip: plain("hall", &["eq"]), output: Destination::Master }
}

fn session() -> Session {
    let into = |group| Destination::Group(GroupId(group));
    let group = |name, output| Group { strip: plain(name, &[]), output };
    let output = |track| Output {
        name: format!("track {track}"),
        from: StripId::Track(track),
        tap: Tap::PostFader,
    };
    Session {
        tracks: [Destination::Master, into(0), into(1), into(0), Destination::Master]
            .into_iter()
            .enumerate()
            .map(|(number, output)| track(number, output))
            .collect(),
        groups: vec![
            group("one", Destination::Master),
            group("two", into(0)),
            group("three", into(1)),
        ],
        returns: vec![hall()],
        master: plain("master", &[]),
        outputs: (0..TRACKS).map(output).collect(),
        ..stage::session()
    }
}

fn start(way: &Way) -> (Engine, Editor) {
    let policy = stage::policy(way.schedule);
    let settings = stage::settings(policy);
    let settings = Settings { frames: FRAMES as u32, steer: Steer::Fixed, ..settings };
    let media = MediaPool::new(vec![Arc::new(stage::audio(3_000))]);
    Editor::start(session(), media, settings, stage::seating(policy.sibling, way.workers)).unwrap()
}

/// The block of each edit.
fn blocks_of(draws: &[Draw]) -> Vec<usize> {
    let (mut block, mut count) = (1, 0);
    let mut next = |draw: &Draw| {
        if draw.gap > 0 || count == EDITS {
            (block, count) = (block + draw.gap.max(1), 0);
        }
        count += 1;
        block
    };
    draws.iter().map(&mut next).collect()
}

/// The outputs: the master, then the tracks.
const OUTPUTS: usize = 1 + TRACKS;

/// What a sequence gave.
struct Played {
    /// By largest block and output: left, then right, as bits.
    heard: Vec<[[Vec<u32>; 2]; OUTPUTS]>,
    applied: Vec<Applied>,
    /// What each draw reached; nothing, if it was refused.
    reach: Vec<[bool; TRACKS]>,
}

/// Plays draws for so many blocks.
fn play(draws: &[Draw], blocks: usize, made: Made, way: &Way) -> Played {
    let (mut engine, mut editor) = start(way);
    let due = blocks_of(draws);
    let (mut heard, mut reached) = (Vec::new(), vec![NOTHING; draws.len()]);
    let (mut planned, mut faded) = (0, None);
    for block in 0..blocks {
        let until = match made {
            Made::Late => block + 1,
            Made::Ahead(ahead) => block + 1 + ahead,
            Made::InBursts(length) => block - block % length + length,
        };
        while planned < until {
            let edits = due.iter().zip(draws).zip(&mut reached);
            let mut sent = 0;
            for ((_, draw), reached) in edits.filter(|((due, _), _)| **due == planned) {
                if draw.kind >= COMMANDS {
                    editor.control().transport(draw.command(planned)).unwrap();
                    (sent, *reached) = (sent + 1, EVERYTHING);
                    note(draw, planned, made, way, &mut faded);
                    continue;
                }
                let edit = draw.edit(editor.session());
                let reach = reach(&edit);
                match editor.apply(edit) {
                    Ok(()) => {
                        (sent, *reached) = (sent + 1, reach);
                        note(draw, planned, made, way, &mut faded);
                    }
                    Err(EditError::Control(refused)) => panic!("{refused}"),
                    Err(_) => {}
                }
            }
            planned += 1;
            // What follows takes effect one block later.
            let is_last = !matches!(made, Made::Ahead(_)) && planned == until;
            for _ in sent..(if is_last { sent } else { ORDERS }) {
                editor.control().automate([]).unwrap();
            }
        }
        heard.push(play_block(&mut engine, &way.cuts));
        if matches!(made, Made::Late) {
            editor.is_settled();
        }
    }
    let applied = editor.take_applied();
    let frames = applied.iter().map(|applied| applied.frame as usize / FRAMES);
    assert!(frames.clone().all(|block| due.contains(&block)), "{made:?}, {way:?}: {applied:?}");
    check_latencies(&engine, editor.session(), made, way);
    count(made, way, editor.control().refused_fades().total());
    Played { heard, applied, reach: reached }
}

/// Each output is as late as the slowest way to it in the graph of the edited session, of which this knows nothing but the
/// nodes and their latencies.
fn check_latencies(engine: &Engine, session: &Session, made: Made, way: &Way) {
    let graph = session_graph(session, &Effects::builtin().at(stage::RATE_HZ)).unwrap();
    let mut late: Vec<u32> = Vec::new();
    for node in graph.nodes() {
        let slowest = node.inputs.iter().map(|edge| late[edge.from.index()]).max();
        late.push(slowest.unwrap_or(0) + node.latency_frames);
    }
    let expected: Vec<u32> = graph.outputs().iter().map(|id| late[id.index()]).collect();
    assert_eq!(engine.output_latencies(), expected, "{made:?}, {way:?}");
    if is_plain(made, way) {
        let differ = expected.iter().any(|late| *late != expected[0]);
        covered(|coverage| coverage.latencies += usize::from(differ));
    }
}

/// Plays one largest block, in parts of these lengths.
fn play_block(engine: &mut Engine, cuts: &[usize]) -> [[Vec<u32>; 2]; OUTPUTS] {
    let mut heard: [[Vec<u32>; 2]; OUTPUTS] = Default::default();
    let (mut done, mut cuts) = (0, cuts.iter().cycle());
    while done < FRAMES {
        let part = cuts.next().map_or(FRAMES, |cut| *cut).min(FRAMES - done);
        engine.process(part);
        for (output, sides) in heard.iter_mut().enumerate() {
            let rows = engine.output_rows(output, part).unwrap();
            let sides = sides.iter_mut().enumerate();
            sides.for_each(|(row, side)| side.extend(rows.row(row).iter().map(|x| x.to_bits())));
        }
        done += part;
    }
    heard
}

/// What came up in all sequences.
#[derive(Default)]
struct Coverage {
    sequences: usize,
    refused: usize,
    /// How often each schedule was played by so many workers, and how often of these in cut blocks.
    ways: BTreeMap<(&'static str, usize), [usize; 2]>,
    /// Kinds of edits and commands; the same in blocks in which an earlier edit faded.
    kinds: BTreeMap<&'static str, [usize; 2]>,
    /// Sequences after which outputs had different latencies.
    latencies: usize,
    /// Blocks of tracks that were compared with a run without the edits that do not reach them.
    out_of_reach: usize,
}

static COVERAGE: Mutex<Option<Coverage>> = Mutex::new(None);

fn covered(note: impl FnOnce(&mut Coverage)) {
    let mut coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
    note(coverage.get_or_insert_default());
}

/// Whether this is how a sequence is played first.
fn is_plain(made: Made, way: &Way) -> bool {
    matches!(made, Made::Late) && way.schedule == ScheduleKind::Serial && way.cuts.is_empty()
}

/// Counts an edit or a command that was accepted. `faded`: the block of the edit before it.
fn note(draw: &Draw, block: usize, made: Made, way: &Way, faded: &mut Option<usize>) {
    if is_plain(made, way) {
        let fades = faded.is_some_and(|begun| (1..FADE).contains(&(block - begun)));
        covered(|coverage| {
            let counts = coverage.kinds.entry(KINDS[draw.kind]).or_default();
            (counts[0], counts[1]) = (counts[0] + 1, counts[1] + usize::from(fades));
        });
    }
    if draw.kind < COMMANDS {
        *faded = Some(block);
    }
}

/// Counts a sequence that was played.
fn count(made: Made, way: &Way, refused: usize) {
    covered(|coverage| {
        if is_plain(made, way) {
            (coverage.sequences, coverage.refused) =
                (coverage.sequences + 1, coverage.refused + refused);
        }
        let counts = coverage.ways.entry((way.schedule.name(), way.workers)).or_default();
        *counts = [counts[0] + 1, counts[1] + usize::from(!way.cuts.is_empty())];
    });
}

fn check(case: &Case) {
    let Case { draws, ways, .. } = case;
    let due = blocks_of(draws);
    let blocks = due.last().map_or(1, |last| last + 8);
    let expected = play(draws, blocks, Made::Late, &Way::plain());
    for made in [Made::Ahead(1), Made::Ahead(6), Made::InBursts(3), Made::InBursts(7)] {
        compare(&expected, &play(draws, blocks, made, &Way::plain()), &format!("{made:?}"));
    }
    for way in ways {
        compare(&expected, &play(draws, blocks, Made::Late, way), &format!("{way:?}"));
    }
    check_reach(case, &due, &expected);
}

fn compare(expected: &Played, played: &Played, what: &str) {
    assert_eq!(played.applied, expected.applied, "{what}: other edits, or at other frames");
    let mut both = played.heard.iter().zip(&expected.heard);
    let Some(block) = both.position(|(heard, expected)| heard != expected) else { return };
    let outputs = 0..OUTPUTS;
    let differ = outputs.filter(|it| played.heard[block][*it] != expected.heard[block][*it]);
    let differ: Vec<usize> = differ.collect();
    let edit = |it: &Applied| format!("\n  block {}: {:?}", it.frame as usize / FRAMES, it.edit);
    let edits: String = expected.applied.iter().map(edit).collect();
    panic!(
        "{what} differs from plans that are made late, in block {block}, outputs {differ:?}:{edits}"
    );
}

/// The same sequence without the examined draw and those after it: a track sounds the same until one of them reaches it.
fn check_reach(Case { draws, examined, ways }: &Case, due: &[usize], expected: &Played) {
    let examined = examined % draws.len();
    let blocks = expected.heard.len();
    let way = &ways[examined % ways.len()];
    let without = play(&draws[..examined], blocks, Made::Late, way);
    let mut compared = 0;
    for track in 0..TRACKS {
        let first = (examined..draws.len()).find(|draw| expected.reach[*draw][track]);
        let until = first.map_or(blocks, |draw| due[draw]);
        let heard = |played: &Played, block: usize| played.heard[block][1 + track].clone();
        let differs = |block: &usize| heard(expected, *block) != heard(&without, *block);
        let differs = (due[examined]..until).find(differs);
        assert_eq!(
            differs, None,
            "track {track} is out of reach of the draws {examined}.. until {until}"
        );
        compared += until - due[examined];
    }
    covered(|coverage| coverage.out_of_reach += compared);
}

/// How many sequences are drawn.
const CASES: u32 = 60;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/proptest-regressions/engine-plan-times.txt"
        )))),
        ..ProptestConfig::default()
    })]

    // Not a test by itself: the one below counts what came up.
    fn only_edits_are_heard(case in cases()) {
        check(&case);
    }
}

#[test]
fn neither_when_plans_are_made_nor_who_plays_is_heard_and_edits_reach_nothing_else() {
    let _alone = stage::alone();
    only_edits_are_heard();
    let coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap();
    let Coverage { sequences, refused, ways, kinds, latencies, out_of_reach } = coverage;
    println!("{sequences} sequences; kind: how often, how often while an edit before faded");
    kinds.iter().for_each(|(kind, [all, fading])| println!("  {kind}: {all}, {fading}"));
    println!("  schedule and workers: how often, how often in cut blocks");
    let ways_line = |((kind, workers), [all, cut]): (&(&str, usize), &[usize; 2])| {
        println!("  {kind}, {workers}: {all}, {cut}");
    };
    ways.iter().for_each(ways_line);
    println!("  fades refused: {refused}");
    println!("  sequences after which outputs had different latencies: {latencies}");
    println!("  blocks of tracks out of reach of edits: {out_of_reach}");
    if sequences < CASES as usize {
        return println!("SKIPPED what has to come up: only {sequences} sequences");
    }
    for kind in KINDS {
        let [all, fading] = kinds.get(kind).copied().unwrap_or_default();
        assert!(all > 0 && fading > 0, "{kind}: {all}, and {fading} while an edit faded");
    }
    let workers = |kind: ScheduleKind| (1..=WORKERS).map(move |workers| (kind, workers));
    let parallel = PARALLEL.into_iter().flat_map(workers);
    for (kind, workers) in parallel.chain([(ScheduleKind::Serial, 1)]) {
        let [all, cut] = ways.get(&(kind.name(), workers)).copied().unwrap_or_default();
        let whole = all - cut;
        assert!(whole > 0 && cut > 0, "{kind:?}, {workers} workers: {whole} whole, {cut} cut");
    }
    assert!(latencies > 0, "all outputs were always equally late");
    assert!(out_of_reach > 0, "every track was always in reach");
}

/// An edge that has faded out and closes a cycle with edges that leave later: whether it is still there must not
/// decide which of these fade.
#[test]
fn an_edge_that_has_faded_out_refuses_no_other_fade() {
    let _alone = stage::alone();
    let group = |from: usize, to: usize| Draw { gap: 0, kind: 4, a: from, b: to };
    let (into_one, into_two, into_three, to_master) = (1, 2, 3, 0);
    let later = |gap, draw: Draw| Draw { gap, ..draw };
    let draws = vec![
        group(1, to_master),
        group(2, to_master),
        later(5, group(0, into_two)),
        later(5, group(0, to_master)),
        group(1, into_one),
        later(1, group(1, to_master)),
        later(2, group(0, into_three)),
        later(2, group(0, to_master)),
        group(2, into_one),
        group(1, into_three),
        later(1, group(1, to_master)),
        group(2, into_two),
    ];
    let way = |schedule, workers, cuts| Way { schedule, workers, cuts };
    let ways = vec![
        way(ScheduleKind::Dataflow, 2, vec![50, 78]),
        way(ScheduleKind::Steal, 3, vec![1, 64]),
    ];
    check(&Case { draws, ways, examined: 0 });
}
