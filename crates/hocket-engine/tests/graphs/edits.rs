//! Random sequences of edits, under every kind of schedule, with several thread counts and with blocks that are cut
//! anywhere:
//!
//! - every way to play gives the same bits,
//! - what is out of an edit's reach stays equal sample for sample,
//! - a node that stays goes on with its state, a new one begins, a removed one ends with its fade,
//! - once the fades have ended, all edges of each node arrive at one time, those for events as well.
//!
//! A sequence that fails is shrunk and kept in a file. What came up is counted and printed; a kind of edit that never
//! came up fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_engine::time::{Event, EventKind};
use hocket_engine::{
    Block, ChannelMap, Edge, EventPorts, Graph, GraphEditor, Node, NodeId, NodeKind, NodeSource,
    Ports, Processor, ScheduleKind, Settings, Steer,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::model::Random;
use super::{seating, settings};

/// The largest block. Edits take effect at multiples of it.
const FRAMES: usize = 128;
/// Blocks that a fade takes.
const FADE: usize = 512 / FRAMES;
/// Blocks that a change of a delay takes.
const CHANGE: usize = FADE + (LATENCY as usize).div_ceil(FRAMES);
/// Blocks after which all latent nodes have played what came before.
const SETTLED: usize = (LATENCY as usize).div_ceil(FRAMES) + 1;
/// All latencies of the nodes together.
const LATENCY: u32 = 743;
/// Nodes that a graph may have. The first one is the engine input.
const NODES: usize = 10;

/// Only to end a hang.
const HANGS: Duration = Duration::from_secs(600);

/// Another graph.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// Blocks since the one before.
    gap: usize,
    graph: u64,
    fades: bool,
}

#[derive(Debug, Clone)]
struct Case {
    exchanges: Vec<Exchange>,
    /// The exchange whose reach is examined.
    examined: usize,
    /// How blocks are cut.
    cuts: u64,
    /// How many workers each of [`PARALLEL`] has.
    workers: [usize; PARALLEL.len()],
}

/// The kinds of schedule that have workers.
const PARALLEL: [ScheduleKind; 4] =
    [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Lists, ScheduleKind::Critical];
/// The most workers of a way to play.
const WORKERS: usize = 4;

fn cases() -> impl Strategy<Value = Case> {
    let gap = prop_oneof![1 => Just(0usize), 3 => Just(1), 3 => 2..5usize, 1 => Just(CHANGE + SETTLED + 1)];
    // Few graphs, so that they come back.
    let exchange = (gap, 0..9u64, prop::bool::weighted(0.85));
    let exchange = exchange.prop_map(|(gap, graph, fades)| Exchange { gap, graph, fades });
    let exchanges = prop::collection::vec(exchange, 2..16);
    // Last, so that what was kept of earlier failures still means the same.
    let workers = prop::array::uniform4(1..=WORKERS);
    let case = (exchanges, 0..16usize, any::<u64>(), workers);
    case.prop_map(|(exchanges, examined, cuts, workers)| Case {
        exchanges,
        examined,
        cuts,
        workers,
    })
}

impl Case {
    /// The ways to play, besides [`PLAIN`].
    fn ways(&self) -> Vec<Way> {
        let parallel = (1..).zip(PARALLEL).zip(self.workers).map(|((salt, schedule), workers)| {
            let cuts = Some(self.cuts ^ salt);
            Way { schedule, workers, cuts, replans: schedule == ScheduleKind::Critical }
        });
        [Way { cuts: Some(self.cuts), ..PLAIN }].into_iter().chain(parallel).collect()
    }
}

/// A graph of this number. Each node reads 1, 2 or 4 times, and the gains of what it reads have the sum 1.
///
/// So where the input plays the number of each frame on the left, every node plays it too, late by its latency. The
/// right side is an ordinary sound, and it alone feeds back. Events bring the numbers that their senders played.
struct Drawn {
    graph: Graph,
    /// The number of each node, which is the same in all graphs.
    live: Vec<usize>,
}

fn drawn(number: u64) -> Drawn {
    let mut random = Random::new(number + 41);
    let mut live: Vec<usize> = (1..NODES - 1).filter(|_| !random.one_in(4)).collect();
    (1..live.len()).for_each(|i| live.swap(i, random.below(i + 1)));
    live.insert(0, 0);
    live.push(NODES - 1);
    let mut graph = Graph::default();
    for (at, node) in live.iter().enumerate() {
        let kind = if *node == 0 { NodeKind::Input(0) } else { NodeKind::Custom(0) };
        let latency_frames = latency(*node);
        let gains = [&[1.0][..], &[0.75, 0.25], &[0.5, 0.5], &[0.25; 4]][random.below(4)];
        let reads = |gain: &f32| Edge::new(NodeId(random.below(at) as u32), *gain);
        let inputs = if at == 0 { Vec::new() } else { gains.iter().map(reads).collect() };
        let ports = Ports::STEREO.with_events(event_ports(*node));
        let node = Node { latency_frames, inputs, ports, ..Node::new(format!("n{node}"), kind) };
        graph.add(node).unwrap();
    }
    for _ in 0..random.below(4) {
        let (from, reader) = (random.below(live.len()), 1 + random.below(live.len() - 1));
        let right = ChannelMap::Range { from: 1, to: 1, count: 1 };
        let edge = Edge { map: right, ..Edge::new(NodeId(from as u32), 0.4) };
        graph.feed_back(edge, NodeId(reader as u32)).unwrap();
    }
    for reader in (0..live.len()).filter(|reader| event_ports(live[*reader]).input) {
        for from in (0..reader).filter(|from| event_ports(live[*from]).output) {
            if random.one_in(2) {
                graph.connect_events(NodeId(from as u32), NodeId(reader as u32)).unwrap();
            }
        }
    }
    graph.set_outputs((0..live.len() as u32).map(NodeId).collect()).unwrap();
    Drawn { graph, live }
}

/// The same in all graphs. Some nodes have none, since event ports end a chain of nodes.
fn event_ports(node: usize) -> EventPorts {
    match node {
        2 | 8 => EventPorts::OUTPUT,
        4 => EventPorts::BOTH,
        5 | 9 => EventPorts::INPUT,
        _ => EventPorts::NONE,
    }
}

fn latency(node: usize) -> u32 {
    [0, 0, 0, 0, 40, 0, 3, 0, 700, 0][node]
}

/// Over which kind of edge a node reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Audio,
    Feedback,
    Events,
}

impl Drawn {
    fn place(&self, node: usize) -> Option<usize> {
        self.live.iter().position(|live| *live == node)
    }

    /// What a node reads: the numbers of the sources and the gains, then those of feedback.
    fn reads(&self, node: usize) -> Vec<(usize, u32, Over)> {
        let Some(place) = self.place(node) else { return Vec::new() };
        let of = |edge: &Edge, over| (self.live[edge.from.index()], edge.gain_lin.to_bits(), over);
        let forward = |edge: &Edge| match edge.is_for_events() {
            true => of(edge, Over::Events),
            false => of(edge, Over::Audio),
        };
        let inputs = self.graph.nodes()[place].inputs.iter().map(forward);
        let feedback = self.graph.feedback().iter();
        let feedback = feedback.filter(|back| back.reader.index() == place);
        inputs.chain(feedback.map(|back| of(&back.edge, Over::Feedback))).collect()
    }

    /// When what the input plays leaves each node, by number.
    fn arrivals(&self) -> BTreeMap<usize, u32> {
        let mut at = BTreeMap::new();
        for (node, live) in self.graph.nodes().iter().zip(&self.live) {
            let before = node.inputs.iter().map(|edge| at[&self.live[edge.from.index()]]).max();
            at.insert(*live, before.unwrap_or(0) + node.latency_frames);
        }
        at
    }
}

/// How long a processor has run, what events it got, and whether it still exists.
#[derive(Debug, Default)]
struct Life {
    frames: AtomicU64,
    events: AtomicU64,
    /// Frames until behind the last event that came with another number than the sound.
    apart: AtomicU64,
}

impl Life {
    /// Takes an event at a frame at which the sound has this number.
    fn hear(&self, event: &Event, number: f32, frame: usize) {
        let EventKind::Param(change) = event.kind else { return };
        self.events.fetch_add(1, Relaxed);
        if change.value != f64::from(number) {
            self.apart.store(frame as u64 + 1, Relaxed);
        }
    }
}

/// Passes the left side on, late by its latency. On the right it follows its input slowly and adds pulses, and events that
/// it gets are heard there. Now and then it sends the number that it plays.
struct Works {
    number: usize,
    life: Arc<Life>,
    frame: usize,
    level: f32,
    late: Vec<f32>,
}

impl Works {
    fn boxed(number: usize, life: &Arc<Life>) -> Box<dyn Processor> {
        let late = vec![0.0; latency(number) as usize];
        Box::new(Works { number, life: Arc::clone(life), frame: 0, level: 0.0, late })
    }
}

impl Processor for Works {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames();
        let mut received = block.received().iter().peekable();
        for i in 0..frames {
            while let Some(event) = received.next_if(|event| event.frame as usize == i) {
                self.life.hear(event, block.main.left[i], self.frame + i);
                self.level += 0.1;
            }
            let right = &mut block.main.right[i];
            let pulse = (self.frame + i).is_multiple_of(37 + self.number);
            self.level += 0.4 * (*right - self.level) + if pulse { 0.3 } else { 0.0 };
            *right = 0.5 * self.level;
            if !self.late.is_empty() {
                let place = (self.frame + i) % self.late.len();
                std::mem::swap(&mut self.late[place], &mut block.main.left[i]);
            }
            if block.events_out.is_some() && (self.frame + i).is_multiple_of(29 + self.number) {
                let plays = EventKind::param(0, block.main.left[i].into());
                _ = block.send(i as u32, plays);
            }
        }
        self.frame += frames;
        self.life.frames.fetch_add(frames as u64, Relaxed);
    }

    fn reset(&mut self) {
        (self.frame, self.level) = (0, 0.0);
        self.late.fill(0.0);
    }

    fn latency_frames(&self) -> u32 {
        latency(self.number)
    }
}

/// How a sequence is played.
#[derive(Debug, Clone, Copy)]
struct Way {
    schedule: ScheduleKind,
    workers: usize,
    /// Whether blocks are cut between two edits.
    cuts: Option<u64>,
    /// Whether plans are made anew from measured costs now and then.
    replans: bool,
}

const PLAIN: Way = Way { schedule: ScheduleKind::Serial, workers: 1, cuts: None, replans: false };

/// The block of each exchange, and how many blocks are played.
fn due(exchanges: &[Exchange]) -> (Vec<usize>, usize) {
    let mut block = 1;
    let due: Vec<usize> = exchanges
        .iter()
        .map(|exchange| {
            block += exchange.gap;
            block
        })
        .collect();
    let blocks = settled(&due, block) + 2;
    (due, blocks)
}

/// The block from which on nothing changes any more after the exchanges until `block`. Of several changes of one delay
/// each takes its time, one after the other, and a delay that becomes longer waits until its line is full.
fn settled(due: &[usize], block: usize) -> usize {
    let so_far = due.iter().take_while(|due| **due <= block);
    so_far.fold(0, |busy, due| busy.max(*due) + CHANGE) + SETTLED
}

/// What was heard, and what became of the processors.
#[derive(Default)]
struct Played {
    /// By block, then by the number of each node: left, then right, as bits.
    heard: Vec<BTreeMap<usize, Vec<u32>>>,
    /// How many fades were refused, after each exchange.
    refused: Vec<usize>,
    /// Events that came together with the sound, once the fades had ended.
    events: u64,
}

/// A processor: its node, when it joined and when its node was removed, in blocks.
struct Member {
    number: usize,
    life: Arc<Life>,
    joined: usize,
    removed: Option<usize>,
}

fn play(exchanges: &[Exchange], blocks: usize, way: Way) -> Played {
    let Way { schedule, workers, cuts, replans } = way;
    let mut now = drawn(0);
    let mut members: Vec<Member> = Vec::new();
    let join = |members: &mut Vec<Member>, number, joined| {
        let life = Arc::default();
        let processor = Works::boxed(number, &life);
        members.push(Member { number, life, joined, removed: None });
        processor
    };
    let of = |node: &usize| (*node > 0).then(|| join(&mut members, *node, 0));
    let processors = now.live.iter().map(of).collect();
    let settings = Settings { frames: FRAMES as u32, steer: Steer::Fixed, ..settings(schedule) };
    let (mut engine, mut editor) =
        GraphEditor::start(&now.graph, processors, settings, seating(workers)).unwrap();
    let (due, _) = due(exchanges);
    let mut random = Random::new(cuts.unwrap_or(0) % 100_003);
    let mut played = Played::default();
    for block in 0..blocks {
        for (_, exchange) in due.iter().zip(exchanges).filter(|(due, _)| **due == block) {
            let next = drawn(exchange.graph);
            for member in members.iter_mut().filter(|member| member.removed.is_none()) {
                member.removed = next.place(member.number).is_none().then_some(block);
            }
            let source = |node: &usize| match now.place(*node) {
                Some(id) => NodeSource::Kept(NodeId(id as u32)),
                None => NodeSource::New(join(&mut members, *node, block)),
            };
            let sources = next.live.iter().map(source).collect();
            match exchange.fades {
                true => editor.replace(&next.graph, sources).unwrap(),
                false => editor.replace_at_once(&next.graph, sources).unwrap(),
            };
            played.refused.push(editor.control().refused_fades().total());
            now = next;
        }
        if replans && random.one_in(3) {
            _ = editor.control().replan();
        }
        let before = events_of(&members);
        played.heard.push(play_block(
            &mut engine,
            &now,
            block,
            cuts.is_some().then_some(&mut random),
        ));
        if block >= settled(&due, block) {
            check_events(&members, block, way);
            played.events += events_of(&members) - before;
        }
        editor.is_settled();
        check_lives(&members, (block + 1, settled(&due, block)), way);
    }
    let edits = editor.take_applied().into_iter().map(|applied| applied.frame as usize / FRAMES);
    assert!(edits.eq(due), "{way:?}: exchanges in other blocks than planned");
    played
}

/// Plays one largest block, in several parts if it is to be cut; one in three is not, so that whole blocks come up too.
fn play_block(
    engine: &mut hocket_engine::Engine,
    now: &Drawn,
    block: usize,
    mut cut: Option<&mut Random>,
) -> BTreeMap<usize, Vec<u32>> {
    let mut heard: BTreeMap<usize, [Vec<u32>; 2]> = BTreeMap::new();
    let mut done = 0;
    while done < FRAMES {
        let rest = FRAMES - done;
        let part = cut.as_mut().map_or(rest, |random| match random.below(3) {
            0 => rest,
            _ => 1 + random.below(rest),
        });
        let first = block * FRAMES + done;
        if let Some(mut rows) = engine.input_mut(0, part) {
            let number = |i: usize| (first + i) as f32;
            rows.row_mut(0).iter_mut().enumerate().for_each(|(i, x)| *x = number(i));
            let sound = |i: usize| ((first + i) * 7 % 13) as f32 * 0.1 - 0.5;
            rows.row_mut(1).iter_mut().enumerate().for_each(|(i, x)| *x = sound(i));
        }
        engine.process(part);
        for (output, number) in now.live.iter().enumerate() {
            let rows = engine.output_rows(output, part).unwrap();
            let sides = heard.entry(*number).or_default().iter_mut().enumerate();
            sides.for_each(|(row, heard)| heard.extend(rows.row(row).iter().map(|x| x.to_bits())));
        }
        done += part;
    }
    heard.into_iter().map(|(number, sides)| (number, sides.concat())).collect()
}

/// A node that stays runs in every block, a new one from its first block on. A removed one runs on until nothing fades and
/// no delay line changes any more: the plan without it comes then.
fn check_lives(members: &[Member], (blocks, done): (usize, usize), way: Way) {
    for Member { number, life, joined, removed } in members {
        let ran = life.frames.load(Relaxed) as usize;
        let stayed = (removed.unwrap_or(blocks) - joined) * FRAMES;
        let most = (removed.map_or(blocks, |_| blocks.min(done)) - joined) * FRAMES;
        assert!(
            (stayed..=most).contains(&ran),
            "{way:?}, after {blocks} blocks: node {number}, which joined in block {joined} and left in \
             {removed:?}, has run {ran} frames, not {stayed} to {most}"
        );
        let is_gone = || Arc::strong_count(life) == 1;
        if removed.is_some() && blocks > done {
            // The main thread frees it when it comes to it.
            let begun = Instant::now();
            while !is_gone() {
                assert!(begun.elapsed() < HANGS, "{way:?}: node {number} is not freed");
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        assert!(removed.is_some() || !is_gone(), "{way:?}: node {number} is freed too early");
    }
}

/// Events that the nodes of the graph have got.
fn events_of(members: &[Member]) -> u64 {
    let stay = members.iter().filter(|member| member.removed.is_none());
    stay.map(|member| member.life.events.load(Relaxed)).sum()
}

/// In a block in which nothing fades, events arrive together with the sound that their sender played with them.
fn check_events(members: &[Member], block: usize, way: Way) {
    for member in members.iter().filter(|member| member.removed.is_none()) {
        let begun = (block - member.joined) * FRAMES;
        let apart = member.life.apart.load(Relaxed);
        assert!(
            apart <= begun as u64,
            "{way:?}, block {block}: node {} got an event apart from its sound at its frame {}",
            member.number,
            apart - 1
        );
    }
}

/// Numbers of the nodes that an exchange cannot have changed: they, and all that leads to them, are as before.
fn out_of_reach(exchanges: &[Exchange], due: &[usize], examined: usize) -> BTreeSet<usize> {
    let graph =
        |exchange: usize| drawn(exchange.checked_sub(1).map_or(0, |at| exchanges[at].graph));
    let (before, after) = (graph(examined), graph(examined + 1));
    // What has been removed a short time ago is still heard.
    let fading = (0..examined).filter(|at| due[examined] - due[*at] <= FADE + 1).map(graph);
    let all: Vec<Drawn> = fading.chain([graph(examined), graph(examined + 1)]).collect();
    let stays = |node: usize| {
        let both = before.place(node).is_some() && after.place(node).is_some();
        both && before.reads(node) == after.reads(node)
    };
    let mut same: BTreeSet<usize> = (0..NODES).filter(|node| stays(*node)).collect();
    loop {
        let reached = |node: &usize| {
            let mut sources = all.iter().flat_map(|drawn| drawn.reads(*node));
            sources.any(|(from, ..)| !same.contains(&from))
        };
        let lost: Vec<usize> = same.iter().copied().filter(reached).collect();
        if lost.is_empty() {
            return same;
        }
        lost.iter().for_each(|node| _ = same.remove(node));
    }
}

fn check(case: &Case) {
    let exchanges = &case.exchanges;
    let (due, blocks) = due(exchanges);
    let expected = play(exchanges, blocks, PLAIN);
    for way in case.ways() {
        let played = play(exchanges, blocks, way);
        assert_eq!(played.refused, expected.refused, "{way:?}: other fades are refused");
        let differs = |block: &usize| played.heard[*block] != expected.heard[*block];
        assert_eq!((0..blocks).find(differs), None, "{way:?}: the first block that differs");
        let mut coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
        *coverage.ways.entry((way.schedule.name(), way.workers)).or_default() += 1;
    }
    check_arrivals(exchanges, &due, &expected);
    check_reach(case, &due, &expected);
    count(exchanges, &due, &expected);
}

/// Where no edge has faded for a while, each node plays the number of the frame, late by its latency. If two edges of a
/// node arrived at different times, it would play something between their numbers.
fn check_arrivals(exchanges: &[Exchange], due: &[usize], played: &Played) {
    for (block, heard) in played.heard.iter().enumerate() {
        let done = due.iter().take_while(|due| **due <= block).count();
        if block < settled(due, block) {
            continue;
        }
        let now = drawn(done.checked_sub(1).map_or(0, |last| exchanges[last].graph));
        for (node, late) in now.arrivals() {
            for (i, left) in heard[&node][..FRAMES].iter().enumerate() {
                let expected = (block * FRAMES + i) as f32 - late as f32;
                let left = f32::from_bits(*left);
                assert!(left == expected, "block {block}, node {node}: {left} and not {expected}");
            }
        }
        COVERAGE.lock().unwrap_or_else(PoisonError::into_inner).settled += 1;
    }
}

/// The same sequence without the examined exchange and those after it: what is out of reach sounds the same until the
/// next one.
fn check_reach(Case { exchanges, examined, cuts, .. }: &Case, due: &[usize], expected: &Played) {
    let examined = examined % exchanges.len();
    let next = due.get(examined + 1).copied().unwrap_or(due[examined] + 2 * FADE);
    let before = examined.checked_sub(1).map_or(0, |at| expected.refused[at]);
    // A fade that is refused ends another one, which may be out of reach.
    let is_soft = exchanges[examined].fades && expected.refused[examined] == before;
    if !is_soft || next == due[examined] {
        return;
    }
    let way = Way { cuts: Some(cuts ^ 4), ..PLAIN };
    let without = play(&exchanges[..examined], next, way);
    let same = out_of_reach(exchanges, due, examined);
    for block in due[examined]..next {
        for node in &same {
            let [heard, before] = [&expected.heard, &without.heard].map(|it| &it[block][node]);
            assert!(
                heard == before,
                "node {node} is out of reach of exchange {examined}, block {block}"
            );
        }
    }
    let mut coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
    coverage.out_of_reach += same.len();
    coverage.reaches += 1;
}

/// What came up in all sequences.
#[derive(Debug, Default)]
struct Coverage {
    sequences: usize,
    /// How often each schedule was played by so many workers, in cut blocks.
    ways: BTreeMap<(&'static str, usize), usize>,
    /// Kinds of changes; the same in blocks in which an earlier one faded.
    changes: BTreeMap<&'static str, [usize; 2]>,
    refused_fades: usize,
    /// Blocks in which every fan-in was checked, and events in them.
    settled: usize,
    events: u64,
    /// Exchanges whose reach was examined, and nodes that were out of it.
    reaches: usize,
    out_of_reach: usize,
}

static COVERAGE: Mutex<Coverage> = Mutex::new(Coverage {
    sequences: 0,
    ways: BTreeMap::new(),
    changes: BTreeMap::new(),
    refused_fades: 0,
    settled: 0,
    events: 0,
    reaches: 0,
    out_of_reach: 0,
});

const KINDS: [&str; 12] = [
    "at once",
    "edge added",
    "edge removed",
    "event edge added",
    "event edge removed",
    "feedback added",
    "feedback removed",
    "gain changed",
    "latency changed",
    "node added",
    "node removed",
    "node returned while it faded",
];

fn count(exchanges: &[Exchange], due: &[usize], played: &Played) {
    let mut coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
    coverage.sequences += 1;
    coverage.refused_fades += played.refused.last().copied().unwrap_or(0);
    coverage.events += played.events;
    let mut left: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        let before = drawn(at.checked_sub(1).map_or(0, |at| exchanges[at].graph));
        let after = drawn(exchange.graph);
        let faded = at.checked_sub(1).map_or(FADE, |last| due[at] - due[last]);
        for kind in kinds_of(&before, &after, exchange, (due[at], &mut left)) {
            let counts = coverage.changes.entry(kind).or_default();
            counts[0] += 1;
            counts[1] += usize::from((1..FADE).contains(&faded));
        }
    }
}

/// What an exchange changes. `left`: the block in which each node that is gone was removed.
fn kinds_of(
    before: &Drawn,
    after: &Drawn,
    exchange: &Exchange,
    (block, left): (usize, &mut BTreeMap<usize, usize>),
) -> BTreeSet<&'static str> {
    let mut kinds = BTreeSet::new();
    let mut note = |is: bool, kind| _ = is.then(|| kinds.insert(kind));
    note(!exchange.fades, "at once");
    for node in 0..NODES {
        let (was, is) = (before.place(node).is_some(), after.place(node).is_some());
        note(!was && is, "node added");
        note(was && !is, "node removed");
        if was && !is {
            left.insert(node, block);
        } else if !was && is {
            let faded = left.remove(&node).map_or(FADE, |left| block - left);
            note((1..FADE).contains(&faded), "node returned while it faded");
        }
        if !(was && is) {
            continue;
        }
        let (old, new) = (before.reads(node), after.reads(node));
        let sources = |reads: &[(usize, u32, Over)], over| -> BTreeSet<usize> {
            reads.iter().filter(|read| read.2 == over).map(|read| read.0).collect()
        };
        let [edges, feedback, events] = [Over::Audio, Over::Feedback, Over::Events]
            .map(|over| (sources(&old, over), sources(&new, over)));
        note(!edges.1.is_subset(&edges.0), "edge added");
        note(!edges.0.is_subset(&edges.1), "edge removed");
        note(!events.1.is_subset(&events.0), "event edge added");
        note(!events.0.is_subset(&events.1), "event edge removed");
        note(!feedback.1.is_subset(&feedback.0), "feedback added");
        note(!feedback.0.is_subset(&feedback.1), "feedback removed");
        let gains = |reads: &[(usize, u32, Over)]| -> Vec<(usize, u32)> {
            let audio = reads.iter().filter(|read| read.2 == Over::Audio);
            audio.map(|(from, gain, _)| (*from, *gain)).collect()
        };
        note(edges.0 == edges.1 && gains(&old) != gains(&new), "gain changed");
        note(before.arrivals()[&node] != after.arrivals()[&node], "latency changed");
    }
    kinds
}

/// How many sequences are drawn.
const CASES: u32 = 60;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/proptest-regressions/graphs-edits.txt"
        )))),
        ..ProptestConfig::default()
    })]

    // Not a test by itself: the one below counts what came up.
    fn edits_hold(case in cases()) {
        check(&case);
    }
}

#[test]
fn edits_reach_what_they_change_and_nothing_else_whoever_plays_them() {
    edits_hold();
    let coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let Coverage { sequences, ways, changes, refused_fades, settled, events, .. } = &*coverage;
    let Coverage { reaches, out_of_reach, .. } = &*coverage;
    println!("{sequences} sequences of edits; kind: how often, how often while another one faded");
    changes.iter().for_each(|(kind, [all, fading])| println!("  {kind}: {all}, {fading}"));
    println!("  schedule and workers: how often, in cut blocks");
    ways.iter().for_each(|((kind, workers), count)| println!("  {kind}, {workers}: {count}"));
    println!("  fades refused: {refused_fades}");
    println!("  blocks in which every fan-in had one latency: {settled}, with {events} events");
    println!("  nodes out of the reach of {reaches} examined exchanges: {out_of_reach}");
    if *sequences < CASES as usize {
        return println!("SKIPPED what has to come up: only {sequences} sequences");
    }
    for kind in KINDS {
        let [all, fading] = changes.get(kind).copied().unwrap_or_default();
        assert!(all > 0 && fading > 0, "{kind}: {all}, and {fading} while another edit faded");
    }
    for (kind, workers) in PARALLEL.iter().flat_map(|kind| (1..=WORKERS).map(|w| (kind.name(), w)))
    {
        assert!(ways.contains_key(&(kind, workers)), "{kind} was never played by {workers}");
    }
    let counts = [*refused_fades, *settled, *events as usize, *reaches, *out_of_reach];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// A fade that is refused: the way turns round while the old one fades.
#[test]
fn refused_fades_are_the_same_for_everybody() {
    let exchange = |gap, graph| Exchange { gap, graph, fades: true };
    let mut refused = 0;
    for other in 1..9 {
        let exchanges = [exchange(6, other), exchange(1, (other + 1) % 9), exchange(1, other)];
        let (exchanges, workers) = (exchanges.to_vec(), [2, 3, 4, 3]);
        let case = Case { exchanges, examined: 0, cuts: other, workers };
        check(&case);
        let (_, blocks) = due(&case.exchanges);
        refused += play(&case.exchanges, blocks, PLAIN).refused[2];
    }
    assert!(refused > 0, "no fade was refused");
}
