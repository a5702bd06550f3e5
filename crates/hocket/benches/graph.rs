//! What parts of a graph cost the block: `cargo bench -p hocket --bench graph -- [--rounds N] [--record FILE [--force]]`.
//!
//! On one thread, with the serial walk, but for one group of *taps*; blocks of 64 frames. Engines take turns in random order;
//! each turn gives the median of its blocks. Differences are printed with the 95 % interval of their median over the rounds.
//!
//! - *delay lines*: 1,000 sources and their mix. In one engine a late node beside them gives 998 edges a delay line, in the
//!   other no edge has one. A twin of the second engine says what this machine cannot tell apart. Bare loops copy as many
//!   rows into rings and sum out of them, and others sum the rows as they are: their difference is what the memory takes.
//! - *automation*: 64 tracks with and without lanes of 1,024 parameters, all on ramps, and all at rest. The processors
//!   ignore the values, so the difference is what the engine does. What a processor does with them comes on top; the record
//!   says so, too. `sessions/band.toml` takes turns with them: its block time is what the difference is compared with.
//! - *taps*: 64 tracks in 16 groups, with the master alone as output, and with every group as an output besides. A twin of
//!   the first engine says what this machine cannot tell apart. In a last one the host also copies what it reads there.
//!   The first three come once more with two seats and the schedule `dataflow`.
//! - *exchange*: the same graph as the first, with other delays, while it plays. One time is that of the leader's orders
//!   before the block ([`BlockTimes::orders_ns`]), another that of the block itself, in which delay lines are wound up anew. A
//!   block of the same graph, when all fades are over, is its reference. Plans are made on the same thread, and the first block
//!   after that finds cold caches: the exchange for the same graph shows how much that is.
//! - *trace*: `sessions/band.toml` without notes on what its thread does, with them, and with the copy that `hocket trace` makes
//!   of each block's notes. What then becomes of the copies is work of another thread; here it is not timed. One engine takes
//!   all turns, because two of the same kind differ by more than the notes cost. A second series of turns without says what
//!   this machine cannot tell apart. Ten engines, built one after the other, give ten results; the interval is over them.
//!
//! Nothing is judged. Without `--bench` all of it runs briefly, to see that it works.

#[path = "../../hocket-lab/benches/one_seat/mod.rs"]
mod one_seat;

use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use hocket::load::{load_session, topology};
use hocket_dsp::{Block, Processor, mix, rows};
use hocket_engine::time::{LanePoint, Shape, TimeBase};
use hocket_engine::{
    BlockTimes, Engine, FlightDrain, FlightRecorder, FlightSettings, GraphEditor, HandOver,
    LaneChange, LaneSpec, NodeSource, Policy, Prepared, ScheduleKind, Seat, Seating, Seats,
    Settings, SiblingPolicy, Spans, flight, prepare_session,
};
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::stats::{Rng, median, quantile_sorted};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind};
use one_seat::one_seat;
use serde_json::{Value, json};

const FRAMES: usize = 64;
const RATE_HZ: u32 = 48_000;
const SEED: u64 = 1;

const NODES: u32 = 1000;
/// Latencies of the late node, in frames.
const LATENCIES: [u32; 2] = [100, 200];
/// Blocks until all fades are over: two delays one after the other, each with up to 200 frames of waiting and 512 of the fade.
const FADED: usize = 24;

const TRACKS: u32 = 64;
/// Automated parameters of each track.
const LANES: u16 = 16;

fn main() -> ExitCode {
    bench_exit("graph", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let rounds = command.value("--rounds").and_then(|rounds| rounds.parse().ok()).unwrap_or(200);
    let size = match command.measures() {
        true => Size { rounds, blocks: 40 },
        false => Size { rounds: 6, blocks: 2 },
    };
    let result = json!({
        "frames": FRAMES,
        "delay_lines": delay_lines(&size)?,
        "automation": automation(&size)?,
        "taps": taps(&size)?,
        "exchange": exchange(&size)?,
        "trace": trace(&size)?,
    });
    command.keep("hocket-graph-costs/1", result)
}

/// How much is measured.
struct Size {
    rounds: usize,
    /// Blocks of one turn.
    blocks: usize,
}

// --- delay lines --------------------------------------------------------------

fn delay_lines(size: &Size) -> Result<Value, String> {
    let mut engines = [late_mix(0)?, late_mix(0)?, late_mix(LATENCIES[0])?];
    let mut loops = [false, true].map(Loops::new);
    let [first, second, late] = engines.each_mut().map(walk);
    let [plain, rings] = loops.each_mut().map(Loops::walk);
    let [without, again, with, bare_without, bare_with] =
        turns([first, second, late, plain, rings], size);
    let edges = f64::from(NODES - 2);
    println!("delay lines on {edges} of {} edges, ns per edge", NODES - 1);
    let per_edge = |from: &[f64], to: &[f64]| differences(from, to, edges);
    Estimate::of(&per_edge(&without, &with)).print("with a line / without");
    Estimate::of(&per_edge(&without, &again)).print("without, a second engine");
    Estimate::of(&per_edge(&bare_without, &bare_with)).print("bare loops with rings / without");
    println!("  a block without takes {:.0} ns", middle(&without));
    Ok(json!({
        "edges": edges, "without_ns": without, "without_again_ns": again, "with_ns": with,
        "bare_without_ns": bare_without, "bare_with_ns": bare_with,
    }))
}

/// Two rows of a block, one after the other.
const ROWS: usize = 2 * FRAMES;
/// Blocks in a ring. What was written two blocks ago is read.
const RING: usize = 3;

/// Sums as many stereo rows as there are edges with a line, in the loops of `hocket_dsp` and nothing else.
struct Loops {
    sources: Vec<Box<[f32]>>,
    /// Whether the rows go through the rings.
    late: bool,
    rings: Vec<Box<[f32]>>,
    block: usize,
    sum: Box<[f32]>,
}

impl Loops {
    fn new(late: bool) -> Loops {
        let of = |frames: usize| (2..NODES).map(|_| vec![0.25; frames].into()).collect();
        let (sources, rings) = (of(ROWS), of(RING * ROWS));
        Loops { sources, late, rings, block: 0, sum: vec![0.0; ROWS].into() }
    }

    fn walk(&mut self) -> Walk<'_> {
        Box::new(|| {
            let start = Instant::now();
            self.run();
            start.elapsed().as_nanos() as f64
        })
    }

    fn run(&mut self) {
        let Loops { sources, late, rings, block, sum } = self;
        let slot = |block: usize| (block % RING) * ROWS..(block % RING + 1) * ROWS;
        if *late {
            for (ring, source) in rings.iter_mut().zip(&*sources) {
                rows::copy(&mut ring[slot(*block)], source);
            }
        }
        let (heard, rows) = if *late { (&*rings, slot(*block + 1)) } else { (&*sources, slot(0)) };
        mix::clear(sum);
        for four in heard.chunks(mix::AT_ONCE) {
            let mut scaled: [mix::Scaled<'_>; mix::AT_ONCE] = [(&[], 1.0); _];
            scaled.iter_mut().zip(four).for_each(|(to, from)| to.0 = &from[rows.clone()]);
            mix::accumulate(sum, &scaled[..four.len()], mix::Begin::Onward);
        }
        black_box(&mut self.sum);
        self.block += 1;
    }
}

/// 999 sources, the first with a latency, and their mix.
fn late_graph(latency_frames: u32) -> Graph {
    let mut graph = Graph::default();
    for id in 0..NODES - 1 {
        let latency_frames = if id == 0 { latency_frames } else { 0 };
        add(&mut graph, latency_frames, &[]);
    }
    let all: Vec<NodeId> = (0..NODES - 1).map(NodeId).collect();
    add(&mut graph, 0, &all);
    graph
}

fn late_mix(latency_frames: u32) -> Result<Engine, String> {
    engine(&late_graph(latency_frames))
}

// --- automation ---------------------------------------------------------------

/// What becomes of the values of lanes.
const VALUES: &str = "ignored by the processors";

fn automation(size: &Size) -> Result<Value, String> {
    let tracks = tracks();
    let mut engines = [engine(&tracks)?, engine(&tracks)?, engine(&tracks)?, band()?];
    automate(&engines[1], 0.0)?;
    automate(&engines[2], 1.0)?;
    let [without, at_rest, on_ramps, band] = turns(engines.each_mut().map(walk), size);
    let lanes = TRACKS * u32::from(LANES);
    println!(
        "{lanes} automation lanes, values {VALUES}, percent of the block time of `band` ({:.0} ns)",
        middle(&band)
    );
    for (what, with) in [("on ramps", &on_ramps), ("at rest", &at_rest)] {
        let more = differences(&without, with, 1.0);
        let shares: Vec<f64> =
            more.iter().zip(&band).map(|(more, band)| 100.0 * more / band).collect();
        Estimate::of(&shares).print(what);
        println!("  {:.1} ns per lane and block", middle(&more) / f64::from(lanes));
    }
    Ok(json!({
        "lanes": lanes, "values": VALUES,
        "without_ns": without, "at_rest_ns": at_rest, "on_ramps_ns": on_ramps, "band_ns": band,
    }))
}

/// Tracks, groups of eight, and a master.
fn tracks() -> Graph {
    grouped(8).0
}

/// Tracks, groups of so many, and a master; and the groups.
fn grouped(size: usize) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::default();
    let tracks: Vec<NodeId> = (0..TRACKS).map(|_| add(&mut graph, 0, &[])).collect();
    let groups: Vec<NodeId> = tracks.chunks(size).map(|from| add(&mut graph, 0, from)).collect();
    add(&mut graph, 0, &groups);
    (graph, groups)
}

/// Gives every track lanes that go from 0 to `rise` in a day.
fn automate(engine: &Engine, rise: f64) -> Result<(), String> {
    let point = |at, value| LanePoint { at, value, shape: Shape::Linear };
    let lane = LaneSpec::new(TimeBase::Seconds, vec![point(0.0, 0.0), point(86_400.0, rise)]);
    let params = (0..TRACKS).flat_map(|node| (0..LANES).map(move |param| (NodeId(node), param)));
    let changes = params.map(|(node, param)| LaneChange { node, param, lane: Some(lane.clone()) });
    engine.control().automate(changes).map(|_| ()).map_err(|error| error.to_string())
}

fn band() -> Result<Engine, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/band.toml");
    let topology = topology().map_err(|failure| failure.to_string())?;
    let loaded = load_session(&path, Some(RATE_HZ), &topology).map_err(|why| why.to_string())?;
    let prepared = prepare_session(&loaded.session, &loaded.media, RATE_HZ, Fusing::Chains);
    let (seating, settings) = one_seat(FRAMES, RATE_HZ);
    let settings = Settings { spans: true, ..settings };
    Engine::start(prepared.map_err(|error| error.to_string())?, settings, seating)
        .map_err(|error| error.to_string())
}

// --- taps ---------------------------------------------------------------------

/// Groups that the host reads.
const TAPS: usize = 16;

fn taps(size: &Size) -> Result<Value, String> {
    let (plain, tapped) = tapped()?;
    let mut engines = [engine(&plain)?, engine(&plain)?, engine(&tapped)?, engine(&tapped)?];
    check_taps(&mut engines[2])?;
    let [first, second, with, read] = &mut engines;
    let walks = [walk(first), walk(second), walk(with), walk_and_read(read)];
    let [without, again, with, read] = turns(walks, size);
    println!("{TAPS} groups as outputs besides the master, ns per output");
    print_taps(&without, &again, &with);
    Estimate::of(&per_tap(&without, &read)).print("with outputs that the host copies / without");
    Ok(json!({
        "taps": TAPS, "without_ns": without, "without_again_ns": again, "with_ns": with, "read_ns": read,
        "two_seats_dataflow": taps_of_two_seats(&plain, &tapped, size)?,
    }))
}

fn taps_of_two_seats(plain: &Graph, tapped: &Graph, size: &Size) -> Result<Value, String> {
    let mut engines = [shared(plain)?, shared(plain)?, shared(tapped)?];
    check_taps(&mut engines[2])?;
    let [without, again, with] = turns(engines.each_mut().map(walk_as_planned), size);
    println!("the same with two seats and `dataflow`, ns per output");
    print_taps(&without, &again, &with);
    Ok(json!({ "without_ns": without, "without_again_ns": again, "with_ns": with }))
}

fn print_taps(without: &[f64], again: &[f64], with: &[f64]) {
    Estimate::of(&per_tap(without, with)).print("with outputs / without");
    Estimate::of(&per_tap(without, again)).print("without, a second engine");
    println!("  a block without takes {:.0} ns", middle(without));
}

fn per_tap(without: &[f64], with: &[f64]) -> Vec<f64> {
    differences(without, with, TAPS as f64)
}

/// Tracks in groups with a master: once with the master alone as output, once with the groups besides.
fn tapped() -> Result<(Graph, Graph), String> {
    let (plain, groups) = grouped(TRACKS as usize / TAPS);
    let mut tapped = plain.clone();
    let master = plain.output().ok_or("the graph has no output")?;
    let outputs = [master].into_iter().chain(groups).collect();
    tapped.set_outputs(outputs).map_err(|error| error.to_string())?;
    Ok((plain, tapped))
}

/// Each group has four constant tracks.
fn check_taps(engine: &mut Engine) -> Result<(), String> {
    engine.process(FRAMES);
    let expected = 0.25 * TRACKS as f32 / TAPS as f32;
    let is_right = |output| {
        let rows = engine.output_rows(output, FRAMES);
        rows.is_some_and(|rows| rows.row(0) == [expected; FRAMES])
    };
    match (1..=TAPS).all(is_right) && engine.output_rows(TAPS + 1, FRAMES).is_none() {
        true => Ok(()),
        false => Err("an output does not have what its group has".into()),
    }
}

/// A block, and a copy of every output but the master, as a host's own output would be.
fn walk_and_read(engine: &mut Engine) -> Walk<'_> {
    let mut copies = vec![0.0; 2 * TAPS * FRAMES];
    Box::new(move || {
        let took = engine.process_serial(FRAMES).duration_ns as f64;
        let start = Instant::now();
        for (output, copy) in (1..).zip(copies.chunks_exact_mut(2 * FRAMES)) {
            let Some(from) = engine.output_rows(output, FRAMES) else { continue };
            for (row, copy) in copy.chunks_exact_mut(FRAMES).enumerate() {
                rows::copy(copy, from.row(row));
            }
        }
        black_box(&mut copies);
        took + start.elapsed().as_nanos() as f64
    })
}

// --- exchange -----------------------------------------------------------------

const EXCHANGES: [&str; 4] =
    ["the same graph", "other delays", "other delays again", "two exchanges before one block"];

/// What one kind of exchange took, in ns.
#[derive(Default)]
struct Exchanged {
    /// The leader's orders before the first block.
    orders: Vec<f64>,
    /// That block itself.
    first_block: Vec<f64>,
    /// A block of the same graph when all fades are over.
    ordinary_block: Vec<f64>,
}

impl Exchanged {
    fn note(&mut self, first: &BlockTimes, ordinary: &BlockTimes) {
        self.orders.push(first.orders_ns as f64);
        self.first_block.push(without_orders(first));
        self.ordinary_block.push(without_orders(ordinary));
    }

    fn print(&self, exchange: &str) {
        println!("  {exchange}");
        for (what, ns) in [
            ("the leader's orders", &self.orders),
            ("the first block after them", &self.first_block),
            ("an ordinary block", &self.ordinary_block),
        ] {
            let [p50, p99] = [0.5, 0.99].map(|part| quantile(ns, part) / 1e3);
            println!("    {what}: {p50:.1}, {p99:.1}");
        }
    }

    fn json(&self, exchange: &str) -> Value {
        let Exchanged { orders, first_block, ordinary_block } = self;
        json!({
            "exchange": exchange, "orders_ns": orders,
            "first_block_ns": first_block, "ordinary_block_ns": ordinary_block,
        })
    }
}

fn without_orders(times: &BlockTimes) -> f64 {
    times.duration_ns.saturating_sub(times.orders_ns) as f64
}

fn exchange(size: &Size) -> Result<Value, String> {
    let graph = late_graph(LATENCIES[0]);
    let (seating, settings) = one_seat(FRAMES, RATE_HZ);
    let started = GraphEditor::start(&graph, constants(&graph), settings, seating);
    let (mut engine, mut editor) = started.map_err(|error| error.to_string())?;
    let mut samples: [Exchanged; 4] = Default::default();
    let mut latency = 0;
    for round in 0..4 * (size.rounds + 2) {
        let exchange = round % 4;
        let before = latency;
        latency = if exchange == 0 { before } else { 1 - before };
        if exchange == 3 {
            replace(&mut editor, latency)?;
            latency = before;
        }
        replace(&mut editor, latency)?;
        let first = engine.process(FRAMES);
        if first.orders == 0 {
            return Err("an exchange did not come with its block".into());
        }
        let ordinary = settle(&mut engine, &mut editor)?;
        if round >= 8 {
            samples[exchange].note(&first, &ordinary);
        }
    }
    println!("an exchange of plans with {NODES} nodes: us at p50, p99");
    let rows = || EXCHANGES.iter().zip(&samples);
    rows().for_each(|(name, exchanged)| exchanged.print(name));
    Ok(rows().map(|(name, exchanged)| exchanged.json(name)).collect())
}

/// Plays until all fades are over, and then an ordinary block.
fn settle(engine: &mut Engine, editor: &mut GraphEditor) -> Result<BlockTimes, String> {
    (0..FADED).for_each(|_| _ = engine.process(FRAMES));
    // Takes back what was replaced, and goes on without what has faded.
    (0..2).for_each(|_| {
        editor.take_applied();
        engine.process(FRAMES);
    });
    // Warms the caches.
    engine.process(FRAMES);
    let ordinary = engine.process(FRAMES);
    // All sources arrive together: each frame of the mix is the sum of as many levels.
    if engine.output(FRAMES).left != [0.25 * (NODES - 1) as f32; FRAMES] {
        return Err("the sources do not arrive together".into());
    }
    Ok(ordinary)
}

fn replace(editor: &mut GraphEditor, latency: usize) -> Result<(), String> {
    let kept = (0..NODES).map(|id| NodeSource::Kept(NodeId(id))).collect();
    editor.replace(&late_graph(LATENCIES[latency]), kept).map(|_| ()).map_err(|why| why.to_string())
}

// --- trace --------------------------------------------------------------------

/// Engines that are built one after the other. Each has a layout of the memory of its own.
const TRACED: usize = 10;

/// Blocks between two collections; less than a recorder has room for.
const COLLECT_EVERY: u64 = 32;

/// Turns of one engine: the medians of its blocks, in ns.
struct Traced {
    spans: usize,
    without: Vec<f64>,
    again: Vec<f64>,
    noted: Vec<f64>,
    copied: Vec<f64>,
}

fn trace(size: &Size) -> Result<Value, String> {
    let each = Size { rounds: size.rounds.div_ceil(4), blocks: size.blocks };
    let engines: Vec<Traced> = (0..TRACED).map(|_| traced(&each)).collect::<Result<_, _>>()?;
    let spans = engines[0].spans;
    let without: Vec<f64> = engines.iter().map(|of| middle(&of.without)).collect();
    println!(
        "{spans} notes on a block of `band`, percent of its time without ({:.0} ns), {TRACED} engines",
        middle(&without)
    );
    let print = |what: &str, with: fn(&Traced) -> &[f64]| {
        let more = |of: &Traced| middle(&differences(&of.without, with(of), 1.0));
        let shares: Vec<f64> =
            engines.iter().map(|of| 100.0 * more(of) / middle(&of.without)).collect();
        Estimate::of(&shares).print(what);
        let per_note: Vec<f64> = engines.iter().map(|of| more(of) / spans as f64).collect();
        Estimate::of(&per_note).print("  ns per note");
    };
    print("notes", |of| &of.noted);
    print("notes and their copy", |of| &of.copied);
    print("without, other turns", |of| &of.again);
    let json = |of: &Traced| {
        json!({
            "without_ns": of.without, "without_again_ns": of.again,
            "noted_ns": of.noted, "copied_ns": of.copied,
        })
    };
    Ok(json!({ "spans": spans, "engines": engines.iter().map(json).collect::<Vec<_>>() }))
}

/// The four ways take turns in one engine, so that they have the same memory.
fn traced(size: &Size) -> Result<Traced, String> {
    let mut engine = band()?;
    let every = FlightSettings { hand_over: HandOver::Every, ..FlightSettings::default() };
    let (mut recorder, mut drain) = flight::record(&engine, every);
    let spans = spans_of_a_block(&mut engine, &mut recorder, &mut drain)?;
    let control = engine.control();
    let cell = RefCell::new(engine);
    let way = |spans: Spans| -> Walk<'_> {
        let (cell, control) = (&cell, &control);
        Box::new(move || {
            control.set_spans(spans);
            black_box(cell.borrow_mut().process_serial(FRAMES)).duration_ns as f64
        })
    };
    let copied: Walk<'_> = Box::new(|| {
        control.set_spans(Spans::Times);
        walk_and_copy(&mut cell.borrow_mut(), &mut recorder, &mut drain)
    });
    let ways = [way(Spans::Off), way(Spans::Off), way(Spans::Times), copied];
    let [without, again, noted, copied] = turns(ways, size);
    if recorder.dropped() + recorder.spans_left_out() > 0 {
        return Err("a part of the notes was not copied".into());
    }
    Ok(Traced { spans, without, again, noted, copied })
}

fn spans_of_a_block(
    engine: &mut Engine,
    recorder: &mut FlightRecorder,
    drain: &mut FlightDrain,
) -> Result<usize, String> {
    let times = engine.process_serial(FRAMES);
    recorder.note(engine, &times);
    let flights = drain.collect();
    let lanes = flights.first().map(|flight| flight.evidence.trace.lanes.as_slice());
    let spans = lanes.unwrap_or_default().iter().map(|lane| lane.spans.len()).sum();
    if spans == 0 { Err("a block left no notes".into()) } else { Ok(spans) }
}

/// A block, and the copy of its notes, in ns.
fn walk_and_copy(
    engine: &mut Engine,
    recorder: &mut FlightRecorder,
    drain: &mut FlightDrain,
) -> f64 {
    let times = engine.process_serial(FRAMES);
    let start = Instant::now();
    recorder.note(engine, &times);
    let copied_ns = start.elapsed().as_nanos() as f64;
    // Elsewhere another thread collects. Here it is done now and then, in a block that the median leaves out.
    if times.block.is_multiple_of(COLLECT_EVERY) {
        black_box(drain.collect());
    }
    times.duration_ns as f64 + copied_ns
}

// --- engines ------------------------------------------------------------------

struct Constant;

impl Processor for Constant {
    fn process(&mut self, block: &mut Block<'_>) {
        rows::fill(block.main.left, 0.25);
    }

    fn reset(&mut self) {}
}

fn add(graph: &mut Graph, latency_frames: u32, from: &[NodeId]) -> NodeId {
    let inputs = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
    let index = graph.nodes().len() as u32;
    let node = Node::new(format!("n{index}"), NodeKind::Custom(index));
    graph.add(Node { inputs, latency_frames, ..node }).expect("inputs come before")
}

/// Nodes without inputs are constant.
fn engine(graph: &Graph) -> Result<Engine, String> {
    let prepared = Prepared::from_graph(graph, constants(graph), Fusing::Chains);
    start(prepared.map_err(|error| error.to_string())?)
}

fn constants(graph: &Graph) -> Vec<Option<Box<dyn Processor>>> {
    let processor = |node: &Node| -> Option<Box<dyn Processor>> {
        if node.inputs.is_empty() { Some(Box::new(Constant)) } else { None }
    };
    graph.nodes().iter().map(processor).collect()
}

/// As [`engine`], on two seats with the schedule `dataflow`. Nobody is pinned.
fn shared(graph: &Graph) -> Result<Engine, String> {
    let prepared = Prepared::from_graph(graph, constants(graph), Fusing::Chains);
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, SiblingPolicy::Off, None);
    let (_, settings) = one_seat(FRAMES, RATE_HZ);
    let policy = Policy { schedule: ScheduleKind::Dataflow, ..settings.policy };
    let settings = Settings { policy, ..settings };
    let prepared = prepared.map_err(|error| error.to_string())?;
    Engine::start(prepared, settings, seating.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())
}

fn start(prepared: Prepared) -> Result<Engine, String> {
    let (seating, settings) = one_seat(FRAMES, RATE_HZ);
    Engine::start(prepared, settings, seating).map_err(|error| error.to_string())
}

// --- turns --------------------------------------------------------------------

/// Does a block and returns what it took, in ns.
type Walk<'a> = Box<dyn FnMut() -> f64 + 'a>;

fn walk(engine: &mut Engine) -> Walk<'_> {
    Box::new(|| black_box(engine.process_serial(FRAMES)).duration_ns as f64)
}

/// As the schedule has it, with the workers.
fn walk_as_planned(engine: &mut Engine) -> Walk<'_> {
    Box::new(|| black_box(engine.process(FRAMES)).duration_ns as f64)
}

/// The median block time of each turn of each walk, in ns.
fn turns<const N: usize>(mut walks: [Walk<'_>; N], size: &Size) -> [Vec<f64>; N] {
    let mut rng = Rng::new(SEED);
    let mut ns = [const { Vec::new() }; N];
    for _ in 0..size.rounds {
        let mut order: Vec<usize> = (0..N).collect();
        rng.shuffle(&mut order);
        for which in order {
            ns[which].push(turn(&mut walks[which], size.blocks));
        }
    }
    ns
}

/// The first blocks warm the caches.
fn turn(walk: &mut Walk<'_>, blocks: usize) -> f64 {
    (0..blocks.div_ceil(10)).for_each(|_| _ = walk());
    let ns: Vec<f64> = (0..blocks).map(|_| walk()).collect();
    middle(&ns)
}

/// What the second takes more than the first, round by round, in parts of `share`.
fn differences(first: &[f64], second: &[f64], share: f64) -> Vec<f64> {
    first.iter().zip(second).map(|(first, second)| (second - first) / share).collect()
}

/// A median with the bounds of its 95 % interval (order statistics, normal approximation).
struct Estimate {
    low: f64,
    median: f64,
    high: f64,
}

impl Estimate {
    fn of(values: &[f64]) -> Estimate {
        let reach = 0.98 / (values.len() as f64).sqrt();
        let [low, median, high] =
            [0.5 - reach, 0.5, 0.5 + reach].map(|part| quantile(values, part));
        Estimate { low, median, high }
    }

    fn print(&self, what: &str) {
        println!("  {what}: {:.2} [{:.2}, {:.2}]", self.median, self.low, self.high);
    }
}

fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_sorted(&sorted, part).unwrap_or(f64::NAN)
}
