//! Channels, ports, inputs, outputs, events, delays and feedback, against a model that knows nothing of blocks and
//! workers.

use hocket_engine::time::TempoMap;
use hocket_engine::{
    Block, Bypass, ChannelMap, Edge, EditError, Engine, Fusing, Graph, GraphEditor, InputPort,
    Kind, Node, NodeId, NodeKind, NodeSource, Ports, PrepareError, Prepared, Processor,
    RefusedFades, ScheduleKind, kind, kinds,
};

use super::model::{Case, Random, bits};
use super::{FRAMES, level, seating, settings, start};

/// The outputs of `frames` frames: by output, by row, all bits in a row. Blocks are cut at random, and now and then
/// a plan is made anew.
fn played(engine: &mut Engine, frames: usize, random: &mut Random) -> Vec<Vec<Vec<u32>>> {
    let rows = |output: usize, engine: &Engine| engine.output_rows(output, FRAMES).unwrap().len();
    let outputs = (0..).take_while(|output| engine.output_rows(*output, FRAMES).is_some()).count();
    let mut heard: Vec<Vec<Vec<u32>>> =
        (0..outputs).map(|output| vec![Vec::new(); rows(output, engine)]).collect();
    let mut frame = 0;
    while frame < frames {
        let whole = random.one_in(2);
        let block = if whole { FRAMES } else { 1 + random.below(FRAMES) }.min(frames - frame);
        if random.one_in(16) {
            _ = engine.control().replan();
        }
        Case::play_inputs(engine, frame, block);
        match random.one_in(5) {
            true => engine.process_serial(block),
            false => engine.process(block),
        };
        for (output, rows) in heard.iter_mut().enumerate() {
            let now = engine.output_rows(output, block).unwrap();
            rows.iter_mut().enumerate().for_each(|(row, heard)| heard.extend(bits(now, row)));
        }
        frame += block;
    }
    heard
}

fn check(case: &Case, schedule: (ScheduleKind, usize), fusing: Fusing, random: &mut Random) {
    let frames = 400;
    let prepared = Prepared::from_graph(&case.graph, case.processors(), fusing).unwrap();
    let mut engine = Engine::start(prepared, settings(schedule.0), seating(schedule.1)).unwrap();
    let heard = played(&mut engine, frames, random);
    let expected = case.expected(frames);
    assert_eq!(heard.len(), expected.len());
    for (output, (heard, expected)) in heard.iter().zip(&expected).enumerate() {
        let id = case.graph.outputs()[output];
        let ports = case.graph.nodes()[id.index()].ports;
        let side = ports.main..ports.main + ports.side_chain;
        for (row, (heard, expected)) in heard.iter().zip(expected).enumerate() {
            let expected: Vec<u32> = expected.iter().map(|sample| sample.to_bits()).collect();
            let at = heard.iter().zip(&expected).position(|(heard, expected)| heard != expected);
            if let Some(at) = at.filter(|_| !side.contains(&(row as u16))) {
                let (heard, expected) = (f32::from_bits(heard[at]), f32::from_bits(expected[at]));
                panic!(
                    "{schedule:?} {fusing:?}: output {output}, row {row}, frame {at}: {heard} and not \
                     {expected}\n{:#?}",
                    case.graph
                );
            }
        }
    }
    assert_eq!(engine.control().lost_events(), []);
    let latencies: Vec<u32> =
        case.graph.outputs().iter().map(|id| case.arrivals()[id.index()]).collect();
    assert_eq!(engine.output_latencies(), latencies);
}

/// How many graphs are drawn. Set `HOCKET_TEST_GRAPHS` to draw fewer, as ThreadSanitizer's run does.
fn graphs() -> u64 {
    let most = std::env::var("HOCKET_TEST_GRAPHS").ok();
    most.map_or(ALL_GRAPHS, |most| most.parse().expect("HOCKET_TEST_GRAPHS: a number"))
}

const ALL_GRAPHS: u64 = 120;

#[test]
fn graphs_of_every_shape_sound_as_the_model_says_under_every_schedule() {
    let mut seen = [0; 7];
    for seed in 0..graphs() {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let (graph, sizes) = (&case.graph, [1, 2, 3]);
        for kind in ScheduleKind::ALL {
            let workers = if kind == ScheduleKind::Serial { 1 } else { sizes[random.below(3)] };
            let fusing = if random.one_in(3) { Fusing::None } else { Fusing::Chains };
            check(&case, (kind, workers), fusing, &mut random);
        }
        let units = hocket_plan::UnitGraph::compile(graph, Fusing::Chains).unwrap();
        let has = |at: bool| usize::from(at);
        seen[0] += has(!units.lines().is_empty());
        seen[1] += has(!graph.feedback().is_empty());
        seen[2] += has(graph.outputs().len() > 1);
        seen[3] += has(graph.nodes().iter().any(|node| node.ports.rows() > 2));
        seen[4] += has(units.units().iter().any(hocket_plan::Unit::is_end));
        seen[5] += has(units.event_lines().iter().any(|line| line.frames == 0));
        seen[6] += has(units.event_lines().iter().any(|line| line.frames > 0));
    }
    println!("graphs with delays, feedback, several outputs, wide ports, several ends,");
    println!("events, events that wait: {seen:?}");
    if graphs() < ALL_GRAPHS {
        return println!("SKIPPED what has to come up: only {} graphs", graphs());
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?} of {ALL_GRAPHS}");
}

#[test]
fn what_stays_of_a_graph_goes_on_when_it_is_replaced_by_itself() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let (kind, workers) = (ScheduleKind::ALL[seed as usize % 5], 2);
        let workers = if kind == ScheduleKind::Serial { 1 } else { workers };
        let (mut engine, mut editor) =
            GraphEditor::start(&case.graph, case.processors(), settings(kind), seating(workers))
                .unwrap();
        let mut heard = vec![Vec::new(); case.graph.outputs().len()];
        for block in 0..20 {
            if block % 3 == 1 {
                let sources = case.kept();
                editor.replace_at_once(&case.graph, sources).unwrap();
            }
            Case::play_inputs(&mut engine, block * FRAMES, FRAMES);
            engine.process(FRAMES);
            for (output, heard) in heard.iter_mut().enumerate() {
                heard.extend(bits(engine.output_rows(output, FRAMES).unwrap(), 0));
            }
        }
        for (heard, expected) in heard.iter().zip(case.expected(20 * FRAMES)) {
            let expected: Vec<u32> = expected[0].iter().map(|sample| sample.to_bits()).collect();
            assert_eq!(*heard, expected, "seed {seed}, {kind:?}");
        }
    }
}

/// Says how many channels it has: main, side chain, extra.
struct Counts;

impl Processor for Counts {
    fn process(&mut self, block: &mut Block<'_>) {
        let channels = block.channels();
        let more =
            block.more.as_ref().map_or((0, 0), |more| (more.side_chain.len(), more.extra.len()));
        let count = (100 * channels + 10 * more.0 + more.1) as f32;
        (0..channels).for_each(|channel| block.channel_mut(channel).fill(count));
    }

    fn reset(&mut self) {}
}

#[test]
fn a_node_that_stays_may_have_other_ports_in_the_next_graph() {
    let ports = [
        Ports::STEREO,
        Ports { side_chain: 2, ..Ports::STEREO },
        Ports::of(1),
        Ports { side_chain: 1, extra: 3, ..Ports::of(6) },
        Ports::STEREO,
    ];
    let graph = |ports| {
        let mut graph = Graph::default();
        graph.add(Node { ports, ..Node::new("counts", NodeKind::Custom(0)) }).unwrap();
        graph
    };
    let (kind, processors) = (ScheduleKind::Serial, vec![Some(Box::new(Counts) as _)]);
    let (mut engine, mut editor) =
        GraphEditor::start(&graph(ports[0]), processors, settings(kind), seating(1)).unwrap();
    for ports in ports {
        editor.replace_at_once(&graph(ports), vec![NodeSource::Kept(NodeId(0))]).unwrap();
        engine.process(FRAMES);
        let heard = engine.output_rows(0, FRAMES).unwrap();
        assert_eq!(heard.len(), usize::from(ports.rows()));
        let expected = 100 * ports.main + 10 * ports.side_chain + ports.extra;
        assert_eq!(heard.row(0), [f32::from(expected); FRAMES]);
    }
}

/// A reader of two sources, one of them late, so that the other one's edge waits.
fn reader_of(source: Ports) -> Graph {
    let mut graph = Graph::default();
    let node = |ports, latency_frames| Node {
        ports,
        latency_frames,
        ..Node::new("node", NodeKind::Custom(0))
    };
    let early = graph.add(node(source, 0)).unwrap();
    let late = graph.add(node(Ports::STEREO, 40)).unwrap();
    let inputs = vec![Edge::new(early, 1.0), Edge::new(late, 1.0)];
    graph.add(Node { inputs, ..node(Ports::STEREO, 0) }).unwrap();
    graph
}

#[test]
fn an_edge_that_waits_may_carry_other_channels_in_the_next_graph() {
    for fades in [false, true] {
        let (mono, stereo) = (reader_of(Ports::of(1)), reader_of(Ports::STEREO));
        let source = || Some(Box::new(Counts) as _);
        let kind = ScheduleKind::Dataflow;
        let (mut engine, mut editor) =
            GraphEditor::start(&mono, vec![source(), None, None], settings(kind), seating(2))
                .unwrap();
        for graph in [&stereo, &mono, &mono, &stereo, &stereo, &mono] {
            let kept = || (0..3).map(|id| NodeSource::Kept(NodeId(id))).collect();
            match fades {
                true => editor.replace(graph, kept()).unwrap(),
                false => editor.replace_at_once(graph, kept()).unwrap(),
            };
            for _ in 0..40 {
                engine.process(FRAMES);
                _ = editor.take_applied();
            }
            let expected = 100.0 * f32::from(graph.nodes()[0].ports.main);
            let heard = engine.output(FRAMES);
            assert_eq!(
                (heard.left, heard.right),
                (&[expected; FRAMES][..], &[expected; FRAMES][..])
            );
        }
    }
}

#[test]
fn what_the_host_played_is_not_lost_when_an_input_becomes_wider() {
    let graph = |wide| {
        let mut graph = Graph::default();
        let input = |ports| Node { ports, ..Node::new("input", NodeKind::Input(0)) };
        let heard = graph.add(input(Ports::STEREO)).unwrap();
        if wide {
            graph.add(input(Ports::of(6))).unwrap();
        }
        graph.set_outputs(vec![heard]).unwrap();
        graph
    };
    let kind = ScheduleKind::Serial;
    let (mut engine, mut editor) =
        GraphEditor::start(&graph(false), vec![None], settings(kind), seating(1)).unwrap();
    for block in 0..8 {
        let kept = NodeSource::Kept(NodeId(0));
        let sources = if block % 2 == 0 { vec![kept, NodeSource::Sum] } else { vec![kept] };
        editor.replace_at_once(&graph(block % 2 == 0), sources).unwrap();
        let mut rows = engine.input_mut(0, FRAMES).unwrap();
        (0..2).for_each(|row| rows.row_mut(row).fill(0.5));
        engine.process(FRAMES);
        assert_eq!(engine.output(FRAMES).right, [0.5; FRAMES], "block {block}");
    }
}

/// Puts out the other zero.
struct MinusZero;

impl Processor for MinusZero {
    fn process(&mut self, block: &mut Block<'_>) {
        (0..block.channels()).for_each(|channel| block.channel_mut(channel).fill(-0.0));
    }

    fn reset(&mut self) {}
}

#[test]
fn a_sum_in_parts_has_the_bits_of_the_whole_one_where_a_part_takes_nothing() {
    const SOURCES: u32 = 80;
    let mut graph = Graph::default();
    let node = |id: u32| Node::new(format!("n{id}"), NodeKind::Custom(id));
    (0..SOURCES).for_each(|id| _ = graph.add(node(id)).unwrap());
    let gain = |id| if id < 60 { 0.0 } else { 1.0 };
    let inputs = (0..SOURCES).map(|id| Edge::new(NodeId(id), gain(id))).collect();
    graph.add(Node { inputs, ..node(SOURCES) }).unwrap();
    for (kind, workers) in [(ScheduleKind::Serial, 1), (ScheduleKind::Critical, 2)] {
        let sources = (0..SOURCES).map(|_| Some(Box::new(MinusZero) as _));
        let processors = sources.chain([None]).collect();
        let (mut engine, editor) =
            GraphEditor::start(&graph, processors, settings(kind), seating(workers)).unwrap();
        engine.process(FRAMES);
        // What is cut depends on costs, so they are given.
        let mut costs = editor.control().cost_table("any");
        for row in &mut costs.rows {
            (row.alone_ns, row.shared_ns) = (Some(100_000.0), Some(100_000.0));
        }
        editor.control().adopt_costs(&costs).unwrap();
        engine.process(FRAMES);
        let is_cut = engine.schedule().units().units().iter().any(|unit| unit.is_part());
        assert_eq!(is_cut, kind == ScheduleKind::Critical);
        let heard = engine.output(FRAMES).left.iter().map(|sample| sample.to_bits());
        assert!(heard.eq([(-0.0f32).to_bits(); FRAMES]), "{kind:?}");
    }
}

#[test]
fn gains_that_are_no_numbers_and_maps_of_another_rate_are_refused() {
    let mut graph = Graph::default();
    let id = graph.add(Node::new("one", NodeKind::Custom(0))).unwrap();
    for gain_lin in [f32::NAN, f32::INFINITY] {
        let inputs = vec![Edge::new(id, gain_lin)];
        let node = Node { inputs, ..Node::new("two", NodeKind::Custom(0)) };
        assert!(graph.add(node).unwrap_err().to_string().contains("not finite"));
        assert!(graph.feed_back(Edge::new(id, gain_lin), id).is_err());
    }
    let kind = ScheduleKind::Serial;
    let (engine, _editor) =
        GraphEditor::start(&graph, vec![None], settings(kind), seating(1)).unwrap();
    let other = TempoMap::constant(44_100, 120.0).unwrap();
    let refused = engine.control().set_tempo_map(other).unwrap_err();
    assert!(refused.to_string().contains("44100 Hz"), "{refused}");
}

#[test]
fn delay_lines_that_are_too_large_together_are_refused_and_the_old_graph_plays_on() {
    let graph = |edges| {
        let mut graph = Graph::default();
        let latency_frames = Graph::MAX_DELAY;
        let node = || Node::new("node", NodeKind::Custom(0));
        let early = graph.add(node()).unwrap();
        let late = graph.add(Node { latency_frames, ..node() }).unwrap();
        let mut inputs = vec![Edge::new(early, 1.0); edges];
        inputs.push(Edge::new(late, 1.0));
        graph.add(Node { inputs, ..node() }).unwrap();
        graph
    };
    let (kind, too_many) = (ScheduleKind::Serial, graph(17));
    let none = || vec![None, None, None];
    let refused = GraphEditor::start(&too_many, none(), settings(kind), seating(1));
    let text = refused.err().unwrap().to_string();
    assert!(text.contains("544 MiB") && text.contains("at most 512 MiB"), "{text}");
    let (mut engine, mut editor) =
        GraphEditor::start(&graph(0), none(), settings(kind), seating(1)).unwrap();
    let kept = (0..3).map(|id| NodeSource::Kept(NodeId(id))).collect();
    let refused = editor.replace(&too_many, kept).unwrap_err();
    assert_eq!(refused.to_string(), text);
    engine.process(FRAMES);
    assert!(editor.is_settled() && editor.take_applied().is_empty());
}

/// Two sources and their reader, whose second edge leads to its main port or to its side chain.
fn pair_of(second: Ports, to: InputPort, output: u32) -> Graph {
    let mut graph = Graph::default();
    let node = |ports| Node { ports, ..Node::new("node", NodeKind::Custom(0)) };
    let ids = [Ports::STEREO, second].map(|ports| graph.add(node(ports)).unwrap());
    let side_chain = if to == InputPort::SideChain { 2 } else { 0 };
    let map = match second.main {
        1 => ChannelMap::Range { from: 0, to: 1, count: 1 },
        _ => ChannelMap::Straight,
    };
    let second = Edge { to, map, ..Edge::new(ids[1], 1.0) };
    let inputs = vec![Edge::new(ids[0], 1.0), second];
    graph.add(Node { inputs, ..node(Ports { side_chain, ..Ports::STEREO }) }).unwrap();
    graph.set_outputs(vec![NodeId(output)]).unwrap();
    graph
}

#[test]
fn what_should_fade_and_cannot_is_counted_by_its_reason() {
    let main = || pair_of(Ports::STEREO, InputPort::Main, 2);
    let sources = || vec![Some(level(1.0)), Some(level(2.0)), None];
    let kind = ScheduleKind::Serial;
    let (mut engine, mut editor) =
        GraphEditor::start(&main(), sources(), settings(kind), seating(1)).unwrap();
    let kept = || (0..3).map(|id| NodeSource::Kept(NodeId(id))).collect();
    let mut expected = RefusedFades::default();
    for (graph, ports, outputs) in [
        (main(), 0, 0),
        // The reader gets a side chain, to which its second edge leads now.
        (pair_of(Ports::STEREO, InputPort::SideChain, 2), 1, 0),
        (main(), 1, 0),
        // The second source becomes mono, and its edge another one.
        (pair_of(Ports::of(1), InputPort::Main, 2), 1, 0),
        (main(), 1, 0),
        // The host reads another node.
        (pair_of(Ports::STEREO, InputPort::Main, 0), 0, 1),
    ] {
        editor.replace(&graph, kept()).unwrap();
        (0..20).for_each(|_| _ = engine.process(FRAMES));
        expected.ports += ports;
        expected.outputs += outputs;
        assert_eq!(editor.control().refused_fades(), expected);
    }
    // Who asks for no fade gets none.
    editor.replace_at_once(&main(), kept()).unwrap();
    assert_eq!(editor.control().refused_fades(), expected);
}

/// One node of these ports.
fn voice(ports: Ports) -> Graph {
    let mut graph = Graph::default();
    graph.add(Node { ports, ..Node::new("voice", NodeKind::Custom(0)) }).unwrap();
    graph
}

fn effect(kind: &Kind) -> Box<dyn Processor> {
    (kind.build)(&kind.defaults(), 48_000)
}

/// One channel, three, a wide key, or an extra output.
const NOT_STEREO: [Ports; 4] = [
    Ports::of(1),
    Ports::of(3),
    Ports { side_chain: 3, ..Ports::STEREO },
    Ports { extra: 1, ..Ports::STEREO },
];

#[test]
fn built_in_effects_are_refused_on_nodes_that_are_not_stereo() {
    let plays = |ports: Ports, processor: Box<dyn Processor>| {
        let (settings, seats) = (settings(ScheduleKind::Serial), seating(1));
        GraphEditor::start(&voice(ports), vec![Some(processor)], settings, seats).map(|_| ())
    };
    for kind in kinds() {
        for ports in NOT_STEREO {
            let bypassed = Box::new(Bypass::new(effect(kind), 48_000, true));
            for refused in [plays(ports, effect(kind)), plays(ports, bypassed)] {
                let text = refused.unwrap_err().to_string();
                assert!(text.contains("node 'voice' cannot have ports"), "{}: {text}", kind.name);
            }
        }
        for side_chain in 0..=2 {
            plays(Ports { side_chain, ..Ports::STEREO }, effect(kind)).unwrap();
        }
    }
    NOT_STEREO.into_iter().for_each(|ports| plays(ports, level(1.0)).unwrap());
}

#[test]
fn an_edit_that_takes_stereo_from_an_effect_is_refused_and_the_graph_plays_on() {
    let gain = || effect(kind("gain").unwrap());
    let stereo = voice(Ports::STEREO);
    let (mut engine, mut editor) = start(&stereo, vec![Some(gain())], (ScheduleKind::Serial, 1));
    let kept = || NodeSource::Kept(NodeId(0));
    for ports in NOT_STEREO {
        let expected = PrepareError::NotStereo { node: "voice".into(), ports };
        for source in [kept(), NodeSource::New(gain())] {
            let refused = editor.replace(&voice(ports), vec![source]);
            assert_eq!(refused, Err(EditError::Prepare(expected.clone())));
        }
    }
    assert_eq!(editor.replace(&stereo, vec![kept()]), Ok(0), "it has not been replaced");
    engine.process(FRAMES);
    assert_eq!(editor.take_applied().len(), 1);
    // A processor of the host in its place may have any ports.
    editor.replace(&voice(Ports::of(1)), vec![NodeSource::New(level(1.0))]).unwrap();
    editor.replace(&voice(Ports::of(3)), vec![kept()]).unwrap();
    engine.process(FRAMES);
    assert_eq!(engine.contained(), []);
}
