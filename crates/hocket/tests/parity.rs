//! Parity: the same bits for every schedule, sibling policy, wait and worker count, over block
//! sizes and sample rates, on the example sessions and one with all that the format knows; and proof that the parallel path ran.
//!
//! Two grids. The full one crosses every schedule with the policies that seat workers differently, the
//! waits that differ in kind, all worker counts, block sizes and rates. The wide one takes in every
//! policy and every wait that this CPU has, each with a block size and rate in turn.
//!
//! Seats are described (cores of two seats), so that every policy has pairs to work with and four
//! workers run on any machine. Nothing here looks at time.

mod alike;
mod streamed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use hocket::load::{LoadedSession, load_session_for_seats};
use hocket_dsp::{Block, Processor};
use hocket_engine::time::{Event, EventKind, Midi1, Pushed, Source};
use hocket_engine::{
    Couples, Engine, Policy, Prepared, Seating, Settings, Steer, Strategy, prepare_session,
};
use hocket_plan::session::StripId;
use hocket_plan::{
    ChainCost, CostTable, Edge, Fusing, Graph, Node, NodeKind, ScheduleKind, Seat, Seats,
    SiblingPolicy,
};

const RATES_HZ: [u32; 3] = [44_100, 48_000, 96_000];
const FRAMES: [u32; 5] = [16, 64, 127, 441, 1024];
const WORKERS: std::ops::RangeInclusive<usize> = 1..=4;
/// Long enough for every effect's look-ahead and several blocks of the longest kind.
const TOTAL_FRAMES: usize = 2 * 1024 + 100;

/// Two cores of two seats for policies that use siblings, more for those that do not: room for
/// four workers in each, with pairs that matter.
fn seats(policy: SiblingPolicy) -> Seats {
    let spared = usize::from(policy.spares_a_core());
    let cores = if policy.uses_siblings() { 2 } else { 4 + spared };
    let seat = |seat: usize| Seat { core: seat / 2, speed: 1.0 };
    Seats { seats: (0..2 * cores).map(seat).collect() }
}

/// Automation, tempos, a loop, inputs, outputs, side chains and feedback, all within the first blocks.
const FORMAT_2: &str = "format-2.toml";
/// Notes, MIDI files, events of the host and instruments, all within the first blocks.
const NOTES: &str = "notes.toml";
/// Pairs of equal chains whose parameters and bypasses move, and chains that only look equal ([`alike`]).
const ALIKE: &str = "alike.toml";

fn load(name: &str, rate_hz: u32) -> LoadedSession {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = match name {
        FORMAT_2 | NOTES | ALIKE => here.join("tests/data").join(name),
        _ => here.join("../../sessions").join(name),
    };
    load_session_for_seats(&file, Some(rate_hz), 4).unwrap_or_else(|error| panic!("{error}"))
}

/// Policies whose workers sit or wait differently.
const SEATED: [SiblingPolicy; 5] = [
    SiblingPolicy::Off,
    SiblingPolicy::All,
    SiblingPolicy::ProcessAffinity,
    SiblingPolicy::IdleThread,
    SiblingPolicy::PairBarrier,
];
/// Waits that differ in kind: never blocks, blocks at once, blocks after a while.
const WAITS: [Strategy; 3] = [Strategy::Pause, Strategy::Futex, Strategy::Hybrid];

fn policies(siblings: &[SiblingPolicy], waits: &[Strategy]) -> Vec<Policy> {
    let mut all = Vec::new();
    for schedule in ScheduleKind::ALL {
        for sibling in siblings.iter().copied() {
            all.extend(waits.iter().map(|wait| Policy { schedule, sibling, wait: *wait }));
        }
    }
    all
}

fn start(session: &LoadedSession, policy: Policy, workers: usize) -> Engine {
    start_steered(session, policy, workers, None)
}

/// `steer`: `None` as the settings have it.
fn start_steered(
    session: &LoadedSession,
    policy: Policy,
    workers: usize,
    steer: Option<Steer>,
) -> Engine {
    start_coupled(session, policy, workers, steer, Couples::Never)
}

fn start_coupled(
    session: &LoadedSession,
    policy: Policy,
    workers: usize,
    steer: Option<Steer>,
    couples: Couples,
) -> Engine {
    let seats = seats(policy.sibling);
    let seating = Seating::described(&seats, policy.sibling, Some(workers)).unwrap();
    let prepared =
        prepare_session(&session.session, &session.media, session.rate_hz, Fusing::Chains).unwrap();
    let largest = *FRAMES.iter().max().unwrap();
    let settings = Settings { priority: None, ..Settings::new(largest, session.rate_hz, policy) };
    let (steer, seat_wait) = (steer.unwrap_or(settings.steer), policy.wait);
    let settings = Settings { steer, seat_wait, couples, ..settings };
    Engine::start(prepared, settings, seating).unwrap()
}

/// How many chains run abreast of another one.
fn couples_of(engine: &Engine) -> usize {
    engine.schedule().units().units().iter().map(|unit| unit.couples.len()).sum()
}

/// The bits of the first two rows of every output from the session's start, in blocks of this length.
fn play(engine: &mut Engine, frames: u32) -> Vec<u32> {
    engine.reset();
    let outputs = (0..).take_while(|output| engine.output_rows(*output, 1).is_some()).count();
    let mut bits = vec![Vec::with_capacity(2 * TOTAL_FRAMES); outputs];
    let mut begin = 0;
    while begin < TOTAL_FRAMES {
        let frames = (frames as usize).min(TOTAL_FRAMES - begin);
        write_inputs(engine, begin, frames);
        engine.process(frames);
        for (output, bits) in bits.iter_mut().enumerate() {
            let rows = engine.output_rows(output, frames).expect("it was there before");
            let rows = rows.row(0).iter().zip(rows.row(1));
            bits.extend(rows.flat_map(|(left, right)| [left.to_bits(), right.to_bits()]));
        }
        begin += frames;
    }
    bits.concat()
}

/// Another sound for each channel of each input, the same at each frame however time is cut.
fn write_inputs(engine: &mut Engine, begin: usize, frames: usize) {
    for number in 0.. {
        let Some(mut rows) = engine.input_mut(number, frames) else { return };
        for row in 0..rows.len() {
            let step = 0.01 * (1.0 + f64::from(number) + row as f64);
            let sound = |frame: usize| (0.3 * (frame as f64 * step).sin()) as f32;
            let samples = rows.row_mut(row).iter_mut().zip(begin..);
            samples.for_each(|(sample, frame)| *sample = sound(frame));
        }
        write_events(engine, number, begin, frames);
    }
}

/// Notes for inputs that take events, at the same frames however time is cut.
fn write_events(engine: &mut Engine, number: u16, begin: usize, frames: usize) {
    let Some(events) = engine.events_mut(number) else { return };
    for (at, bytes) in [
        (3, [0x90, 72, 90]),
        (700, [0x80, 72, 0]),
        (700, [0x90, 79, 127]),
        (900, [0xe0, 0, 96]),
        (1500, [0xb0, 123, 0]),
    ] {
        if (begin..begin + frames).contains(&at) {
            let message = Midi1::new(&bytes).expect("a message");
            let event = Event::new((at - begin) as u32, Source::LIVE, EventKind::Midi(message));
            assert_eq!(events.push(event), Pushed::Stored);
        }
    }
}

/// One reference for all block sizes: processors give the same bits however time is cut.
fn reference(session: &LoadedSession) -> Vec<u32> {
    let policy = Policy {
        schedule: ScheduleKind::Serial,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Futex,
    };
    let expected = play(&mut start(session, policy, 1), FRAMES[1]);
    assert!(expected.iter().any(|bits| *bits != 0), "the reference is silent");
    expected
}

/// Costs by which several workers pay: each unit takes a tenth of a millisecond.
fn dear(engine: &Engine) -> CostTable {
    let row = |chain: &str| ChainCost {
        chain: chain.into(),
        kind: 0,
        alone_ns: Some(100_000.0),
        shared_ns: None,
    };
    let units = engine.schedule().units().units().iter();
    let chains =
        units.flat_map(|unit| unit.folded.iter().map(|chain| &chain.name).chain([&unit.name]));
    let rows = chains.map(|chain| row(chain)).collect();
    let settings = engine.settings();
    let (frames, rate_hz) = (settings.frames, settings.rate_hz);
    CostTable { frames, rate_hz, machine: String::new(), rows }
}

/// What was compared so far.
#[derive(Default)]
struct Tally {
    cells: usize,
    parallel: usize,
    /// Parallel cells in which other workers than the leader ran units.
    shared: usize,
    /// Cells in which equal effects of two strips ran as one.
    coupled: usize,
    /// Cells that were to have such strips and had none.
    single: usize,
    /// Units that each worker ran, by kind of schedule and number of workers.
    ran: BTreeMap<(&'static str, usize), Vec<u64>>,
}

impl Tally {
    /// One engine, one cell a block size.
    fn check(
        &mut self,
        session: &LoadedSession,
        policy: Policy,
        workers: usize,
        block_sizes: &[u32],
        expected: &[u32],
    ) {
        let mut engine = start(session, policy, workers);
        let mut before = 0;
        for frames in block_sizes {
            let bits = play(&mut engine, *frames);
            let place = format!(
                "{}, {policy}, {workers} workers, {frames} frames, {} Hz",
                session.session.name, session.rate_hz
            );
            assert_eq!(first_difference(&bits, expected), None, "{place}");
            let elsewhere: u64 = engine.totals().iter().skip(1).map(|worker| worker.units).sum();
            let parallel = engine.schedule().workers() > 1;
            assert_eq!(parallel, policy.schedule != ScheduleKind::Serial && workers > 1, "{place}");
            let shared = elsewhere > before;
            before = elsewhere;
            assert!(
                shared || !parallel || policy.schedule != ScheduleKind::Lists,
                "{place}: alone"
            );
            self.cells += 1;
            self.parallel += usize::from(parallel);
            self.shared += usize::from(parallel && shared);
        }
        self.note_workers(policy, workers, &engine);
    }

    fn note_workers(&mut self, policy: Policy, workers: usize, engine: &Engine) {
        let ran = self.ran.entry((policy.schedule.name(), workers)).or_default();
        ran.resize(workers, 0);
        ran.iter_mut().zip(engine.totals()).for_each(|(ran, worker)| *ran += worker.units);
    }

    /// Plays on until every worker of each parallel kind has run units. A worker may come too late for any
    /// number of blocks; that it never comes is a fault. Ten minutes for each kind are only there to end a hang.
    fn see_every_worker(&mut self, session: &LoadedSession, expected: &[u32]) {
        // `lists` may leave a worker without units where there are fewer tracks than workers.
        let most = if session.session.tracks.len() < 3 { 2 } else { *WORKERS.end() };
        for schedule in ScheduleKind::ALL.into_iter().filter(|kind| *kind != ScheduleKind::Serial) {
            for workers in 2..=most {
                let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: WAITS[2] };
                let begun = Instant::now();
                while let Some(absent) = self.absent(schedule, workers) {
                    let place = format!("{}, {policy}", session.session.name);
                    assert!(
                        begun.elapsed() < Duration::from_secs(600),
                        "{place}: worker {absent} of {workers} ran nothing"
                    );
                    self.check(session, policy, workers, &FRAMES, expected);
                }
            }
        }
    }

    /// The first worker that has run nothing yet.
    fn absent(&self, schedule: ScheduleKind, workers: usize) -> Option<usize> {
        let Some(ran) = self.ran.get(&(schedule.name(), workers)) else { return Some(0) };
        ran.iter().position(|units| *units == 0)
    }

    /// `auto` chooses by measured times, so nobody knows how it walks which block; the bits are the same. Costs
    /// by which several workers pay are given to it before each block size, so it begins each with several.
    fn check_auto(&mut self, session: &LoadedSession, expected: &[u32]) {
        for (i, wait) in WAITS.into_iter().enumerate() {
            let policy = Policy { schedule: ScheduleKind::Serial, sibling: SEATED[i], wait };
            let mut engine = start_steered(session, policy, 2 + i, Some(Steer::Auto));
            for frames in FRAMES {
                engine.control().adopt_costs(&dear(&engine)).unwrap();
                engine.process(frames as usize);
                let name = &session.session.name;
                assert!(engine.schedule().workers() > 1, "{name}, auto, {wait}: serial");
                let bits = play(&mut engine, frames);
                let found = first_difference(&bits, expected);
                assert_eq!(found, None, "{name}, auto, {wait}, {frames} frames");
                self.cells += 1;
            }
        }
    }

    /// Chains abreast: with one worker as many as possible, with several as many as leave work for all.
    fn check_couples(&mut self, session: &LoadedSession, expected: &[u32]) {
        for policy in policies(&[SiblingPolicy::All], &WAITS[2..]) {
            for workers in counts(policy) {
                let mut engine = start_coupled(session, policy, workers, None, Couples::Always);
                let is_coupled = couples_of(&engine) > 0;
                for frames in FRAMES {
                    let found = first_difference(&play(&mut engine, frames), expected);
                    let name = &session.session.name;
                    assert_eq!(
                        found, None,
                        "{name}, lanes, {policy}, {workers} workers, {frames} frames"
                    );
                    self.cells += 1;
                    self.coupled += usize::from(is_coupled);
                    self.single += usize::from(!is_coupled);
                }
            }
        }
        let policy =
            Policy { schedule: ScheduleKind::Serial, sibling: SiblingPolicy::All, wait: WAITS[2] };
        let mut engine = start_coupled(session, policy, 2, Some(Steer::Auto), Couples::Always);
        for frames in FRAMES {
            engine.control().adopt_costs(&dear(&engine)).unwrap();
            let found = first_difference(&play(&mut engine, frames), expected);
            assert_eq!(found, None, "{}, lanes, auto, {frames} frames", session.session.name);
            self.cells += 1;
        }
    }

    fn tell(&self, name: &str) {
        let Tally { cells, parallel, shared, coupled, ran, .. } = self;
        println!("{name}: in {coupled} cells strips ran abreast");
        println!(
            "{name}: {cells} cells are bit-identical; in {shared} of the {parallel} parallel ones \
             other workers than the leader ran units"
        );
        for ((kind, workers), units) in ran.iter().filter(|((_, workers), _)| *workers > 1) {
            println!("{name}: {kind} on {workers} workers: units by worker {units:?}");
        }
    }
}

/// Worker counts that make a difference.
fn counts(policy: Policy) -> std::ops::RangeInclusive<usize> {
    if policy.schedule == ScheduleKind::Serial { 1..=1 } else { WORKERS }
}

/// A worker that is alone waits for nobody but guards, so without them one wait stands for all.
fn waits_alone(policy: Policy) -> bool {
    let guarded = [SiblingPolicy::IdleThread, SiblingPolicy::PairBarrier];
    policy.wait == WAITS[0] || guarded.contains(&policy.sibling)
}

/// Under which one of all circumstances a policy of the wide grid is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Circumstances {
    /// Which of [`RATES_HZ`].
    turn: usize,
    workers: usize,
    frames: u32,
}

/// Circumstances for the policies of the wide grid, whose waits change fastest and whose schedules
/// change slowest: each counts at a pace of its own, so that none is tied to another.
fn spread(waits: &[Strategy]) -> impl Iterator<Item = Circumstances> {
    let waits = waits.len();
    (0..).map(move |i| Circumstances {
        turn: i % RATES_HZ.len(),
        workers: 2 + i / RATES_HZ.len() % 3,
        frames: FRAMES[(i / waits + i % waits) % FRAMES.len()],
    })
}

#[test]
fn the_wide_grid_ties_no_circumstance_to_another() {
    let waits: Vec<Strategy> = Strategy::here().collect();
    let wide = policies(&SiblingPolicy::ALL, &waits);
    let all: Vec<_> = wide.iter().zip(spread(&waits)).collect();
    for wait in &waits {
        let mut frames: Vec<u32> =
            all.iter().filter(|(p, _)| p.wait == *wait).map(|(_, c)| c.frames).collect();
        frames.sort_unstable();
        frames.dedup();
        assert_eq!(frames, FRAMES, "{wait}");
    }
    for sibling in SiblingPolicy::ALL {
        let own = all.iter().filter(|(p, _)| p.sibling == sibling);
        let mut met: Vec<_> = own.map(|(_, c)| (c.turn, c.workers)).collect();
        met.sort_unstable();
        met.dedup();
        assert_eq!(met.len(), RATES_HZ.len() * 3, "{} meets {met:?}", sibling.name());
    }
}

/// Both grids for one session.
fn check_grids(name: &str) {
    let mut tally = Tally::default();
    let waits: Vec<Strategy> = Strategy::here().collect();
    let wide = policies(&SiblingPolicy::ALL, &waits);
    for (turn, rate_hz) in RATES_HZ.into_iter().enumerate() {
        let session = load(name, rate_hz);
        let expected = reference(&session);
        for policy in policies(&SEATED, &WAITS) {
            for workers in counts(policy).filter(|workers| *workers > 1 || waits_alone(policy)) {
                tally.check(&session, policy, workers, &FRAMES, &expected);
            }
        }
        tally.see_every_worker(&session, &expected);
        tally.check_auto(&session, &expected);
        tally.check_couples(&session, &expected);
        for (policy, circumstances) in wide.iter().zip(spread(&waits)) {
            if circumstances.turn == turn {
                let Circumstances { workers, frames, .. } = circumstances;
                let workers = if policy.schedule == ScheduleKind::Serial { 1 } else { workers };
                tally.check(&session, *policy, workers, &[frames], &expected);
            }
        }
    }
    for missing in Strategy::ALL.into_iter().filter(|wait| !waits.contains(wait)) {
        println!("SKIPPED parity of wait {missing}: {}", missing.missing().unwrap_or_default());
    }
    tally.tell(name);
    // Sessions with strips that are alike, and so many that one worker has them two by two.
    let alike = ["best-case.toml", "band.toml"].contains(&name);
    assert!(tally.coupled > 0 || !alike, "no strips ran abreast");
}

/// Files that stream give the bits of files in memory: every schedule and worker count, and every clip. At two rates, where a
/// file of the other rate is converted beside them. Each rate has half of the policies with waits: what reads ahead knows none.
#[test]
fn a_session_that_streams_is_bit_identical_over_the_grid() {
    let siblings = [SiblingPolicy::All, SiblingPolicy::PairBarrier];
    let mut tally = Tally::default();
    for (turn, rate_hz) in [48_000, 44_100].into_iter().enumerate() {
        let stage = streamed::Stage::at(&streamed::every_kind_of_clip_at(rate_hz), rate_hz);
        let expected = reference(&stage.in_memory());
        let session = stage.streamed(hocket::load::streams::Wait::ForTheDisk);
        assert_eq!(session.rate_hz, rate_hz);
        for (at, sibling) in siblings.into_iter().enumerate() {
            let wait = WAITS[1 + (at + turn) % 2];
            for policy in policies(&[sibling], &[wait]) {
                for workers in counts(policy) {
                    tally.check(&session, policy, workers, &FRAMES, &expected);
                }
            }
        }
        if turn == 0 {
            tally.check_auto(&session, &expected);
        }
        let lost: u64 = session.media.not_ready().iter().map(|clip| clip.frames).sum();
        assert_eq!(lost, 0, "a render that waits loses nothing");
    }
    tally.tell("streamed");
    assert!(tally.shared > 0, "the leader was alone in every cell");
}

fn first_difference(a: &[u32], b: &[u32]) -> Option<usize> {
    if a.len() != b.len() {
        return Some(a.len().min(b.len()));
    }
    a.iter().zip(b).position(|(a, b)| a != b)
}

/// Unit `index` of a block: it waits inside until as many units as there are workers are inside too, so a
/// block comes to its end only where every worker runs one of them.
struct Meets {
    value: f32,
    workers: usize,
    inside: Arc<AtomicUsize>,
    blocks: usize,
}

impl Processor for Meets {
    fn process(&mut self, block: &mut Block<'_>) {
        self.inside.fetch_add(1, SeqCst);
        self.blocks += 1;
        let begun = Instant::now();
        while self.inside.load(SeqCst) < self.workers * self.blocks {
            assert!(begun.elapsed() < Duration::from_secs(600), "not every worker came");
            std::thread::yield_now();
        }
        block.main.left.fill(self.value);
        block.main.right.fill(-self.value);
    }

    fn reset(&mut self) {}
}

/// As many sources as workers, and their sum.
fn meeting(workers: usize) -> Prepared {
    let mut graph = Graph::default();
    let mut node = |name: String, inputs: Vec<Edge>| {
        let kind = NodeKind::Custom(graph.nodes().len() as u32);
        graph
            .add(Node {
                name,
                kind,
                inputs,
                cost: 1e6,
                latency_frames: 0,
                ports: Default::default(),
            })
            .unwrap()
    };
    let sources: Vec<_> = (0..workers).map(|i| node(format!("source {i}"), vec![])).collect();
    let edges = sources.into_iter().map(|from| Edge::new(from, 1.0)).collect();
    node("sum".into(), edges);
    let inside = Arc::new(AtomicUsize::new(0));
    let source = |i: usize| -> Option<Box<dyn Processor>> {
        let (value, inside) = (0.1 + i as f32 / 3.0, Arc::clone(&inside));
        Some(Box::new(Meets { value, workers, inside, blocks: 0 }))
    };
    let processors = (0..workers).map(source).chain([None]).collect();
    Prepared::from_graph(&graph, processors, Fusing::None).unwrap()
}

/// Not by luck: no block of these can end without each of two, three and four workers.
#[test]
fn every_worker_takes_part_under_every_schedule_policy_and_wait() {
    const BLOCKS: u64 = 3;
    for policy in policies(&SEATED, &WAITS) {
        if policy.schedule == ScheduleKind::Serial {
            continue;
        }
        for workers in 2..=*WORKERS.end() {
            let seating =
                Seating::described(&seats(policy.sibling), policy.sibling, Some(workers)).unwrap();
            let settings = Settings { priority: None, ..Settings::new(64, 48_000, policy) };
            let settings = Settings { steer: Steer::Fixed, ..settings };
            let mut engine = Engine::start(meeting(workers), settings, seating).unwrap();
            let expected = (0..workers).fold(0.0, |sum: f32, i| sum + (0.1 + i as f32 / 3.0));
            for block in 0..BLOCKS {
                engine.process(64);
                let rows = engine.output(64);
                assert!(rows.left.iter().all(|sample| sample.to_bits() == expected.to_bits()));
                assert!(rows.right.iter().all(|sample| *sample == -expected), "block {block}");
            }
            for worker in engine.totals().iter().take(workers) {
                assert!(worker.units >= BLOCKS, "{policy}, {workers} workers: {worker:?}");
            }
        }
    }
}

#[test]
fn worst_case_4_is_bit_identical_over_the_grid() {
    check_grids("worst-case-4.toml");
}

#[test]
fn worst_case_8_is_bit_identical_over_the_grid() {
    check_grids("worst-case-8.toml");
}

#[test]
fn best_case_is_bit_identical_over_the_grid() {
    check_grids("best-case.toml");
}

/// Every part of the format is heard: without it, other bits come out.
#[test]
fn what_format_2_brings_is_heard() {
    let whole = load(FORMAT_2, 48_000);
    let expected = reference(&whole);
    let without = |change: &dyn Fn(&mut hocket_plan::Session)| {
        let mut session = load(FORMAT_2, 48_000);
        change(&mut session.session);
        reference(&session)
    };
    for lane in 0..whole.session.automation.len() {
        let target = whole.session.automation[lane].target;
        let bits = without(&|session| _ = session.automation.remove(lane));
        assert_ne!(bits, expected, "{target:?}");
    }
    let silent = |session: &mut hocket_plan::Session| session.tracks[2].input = None;
    assert_ne!(without(&silent), expected, "an input");
    assert_ne!(without(&|session| session.time.tempos.clear()), expected, "tempos");
    assert_ne!(without(&|session| session.time.repeat = None), expected, "the loop");
    let deaf = |session: &mut hocket_plan::Session| session.tracks[1].strip.chain[0].key = None;
    assert_ne!(without(&deaf), expected, "a side chain");
    for back in 0..2 {
        let bits = without(&|session| {
            session.returns[back].strip.sends.retain(|send| !send.feedback);
            session.automation.retain(|lane| lane.target.strip() != StripId::Return(back));
        });
        assert_ne!(bits, expected, "feedback of return {back}");
    }
}

#[test]
fn format_2_is_bit_identical_over_the_grid() {
    check_grids(FORMAT_2);
}

#[test]
fn notes_are_bit_identical_over_the_grid() {
    check_grids(NOTES);
}

/// Notes, MIDI files, events of the host and every way to an instrument are heard: without them, other bits come out.
#[test]
fn notes_are_heard() {
    let expected = reference(&load(NOTES, 48_000));
    let without = |change: &dyn Fn(&mut hocket_plan::Session)| {
        let mut session = load(NOTES, 48_000);
        change(&mut session.session);
        reference(&session)
    };
    for (track, clip) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        let bits = without(&|session| _ = session.tracks[track].notes.remove(clip));
        assert_ne!(bits, expected, "clip {clip} of track {track}");
    }
    assert_ne!(without(&|session| session.inputs[0].events = false), expected, "the host's events");
    let deaf = |session: &mut hocket_plan::Session| session.groups[0].strip.chain[0].events = None;
    assert_ne!(without(&deaf), expected, "a group that receives the notes of a track");
    let deaf = |session: &mut hocket_plan::Session| session.returns[0].strip.chain[1].events = None;
    assert_ne!(without(&deaf), expected, "a return that receives the notes of a track");
}

#[test]
fn room_is_bit_identical_over_the_grid() {
    check_grids("room.toml");
}

#[test]
fn band_is_bit_identical_over_the_grid() {
    check_grids("band.toml");
}
