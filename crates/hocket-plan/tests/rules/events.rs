//! Event edges: they order, delay and hold together as other edges do, and a schedule that gets them wrong is refused.

use hocket_plan::compile::{EventLineId, PartSize, Prices, Source};
use hocket_plan::{
    Edge, EventPorts, Fusing, Graph, GraphError, Node, NodeId, NodeKind, Ports, Rule, Schedule,
    ScheduleKind, Unit, UnitGraph, UnitId, VerifiedSchedule,
};

use crate::random::Random;

fn node(name: &str, events: EventPorts, latency_frames: u32, inputs: Vec<Edge>) -> Node {
    let ports = Ports::STEREO.with_events(events);
    Node { ports, latency_frames, inputs, ..Node::new(name, NodeKind::Custom(0)) }
}

/// Sequencer, arpeggiator behind it, an effect that is late; a synthesizer that hears the last two; a fader.
fn band() -> Graph {
    let mut graph = Graph::default();
    let mut add = |name, events, late, inputs| graph.add(node(name, events, late, inputs)).unwrap();
    let sequencer = add("sequencer", EventPorts::OUTPUT, 0, vec![]);
    let arpeggiator = add("arpeggiator", EventPorts::BOTH, 0, vec![Edge::events(sequencer)]);
    let effect = add("effect", EventPorts::NONE, 64, vec![Edge::new(sequencer, 1.0)]);
    let inputs = vec![Edge::new(effect, 1.0), Edge::events(arpeggiator)];
    let synth = add("synth", EventPorts::INPUT, 0, inputs);
    add("fader", EventPorts::NONE, 0, vec![Edge::new(synth, 1.0)]);
    graph
}

fn unit<'a>(units: &'a UnitGraph, name: &str) -> &'a Unit {
    units.units().iter().find(|unit| unit.name.starts_with(name)).unwrap()
}

#[test]
fn an_event_edge_orders_and_waits_as_audio_does() {
    let units = UnitGraph::compile(&band(), Fusing::Chains).unwrap();
    let synth = unit(&units, "synth");
    assert_eq!(synth.name, "synth, fader", "what reads events begins a chain");
    let names: Vec<&str> = units.units().iter().map(|unit| unit.name.as_str()).collect();
    let place = |name: &str| names.iter().position(|own| *own == name).unwrap();
    let before = |name: &str| UnitId(place(name) as u32);
    let mut expected = vec![before("arpeggiator"), before("effect")];
    expected.sort_unstable();
    assert_eq!(synth.predecessors, expected);
    let [audio, events] = synth.inputs[..] else { panic!("{:?}", synth.inputs) };
    assert_eq!((audio.events, audio.line, events.line), (None, None, None));
    let line = units.event_lines()[events.events.unwrap().0 as usize];
    assert_eq!((line.from, line.reader, line.edge, line.frames), (NodeId(1), NodeId(3), 1, 64));
    assert_eq!(units.arrival_frames(NodeId(4)), 64);
    let first = unit(&units, "arpeggiator").inputs[0].events.unwrap();
    assert_eq!(units.event_lines()[first.0 as usize].frames, 0);
}

#[test]
fn every_kind_of_schedule_of_folded_units_with_events_obeys_the_rules() {
    for kind in ScheduleKind::ALL {
        for limit in [0.0, 1.5, 2.5, 100.0] {
            let units = UnitGraph::compile(&band(), Fusing::Chains).unwrap().fold(limit);
            let workers = if kind == ScheduleKind::Serial { 1 } else { 3 };
            let verified = VerifiedSchedule::plan(kind, units, workers);
            assert!(verified.is_ok(), "{kind:?}, {limit}: {verified:?}");
        }
    }
}

#[test]
fn an_event_edge_that_closes_a_cycle_is_refused_with_all_its_nodes() {
    let mut graph = band();
    let [sequencer, arpeggiator, synth] = [0, 1, 3].map(NodeId);
    let meter = graph.add(node("meter", EventPorts::BOTH, 0, vec![Edge::new(synth, 1.0)])).unwrap();
    let refused = graph.connect_events(meter, arpeggiator).unwrap_err();
    let names = ["arpeggiator", "synth", "meter", "arpeggiator"].map(String::from);
    let (source, reader) = (String::from("meter"), String::from("arpeggiator"));
    assert_eq!(refused, GraphError::EventCycle { source, reader, cycle: names.to_vec() });
    assert_eq!(
        refused.to_string(),
        "the event edge from 'meter' to 'arpeggiator' closes a cycle: arpeggiator -> synth -> meter -> arpeggiator; \
         remove one edge of it"
    );
    // Without a way from one to the other only the order is wrong.
    let beside = graph.add(node("beside", EventPorts::BOTH, 0, vec![])).unwrap();
    let refused = graph.connect_events(beside, arpeggiator).unwrap_err();
    let expected = "the event edge from 'beside' to 'arpeggiator' goes back: add 'arpeggiator' behind 'beside'";
    assert_eq!(refused.to_string(), expected);
    let feedback = graph.feed_back(Edge::events(sequencer), arpeggiator).unwrap_err();
    assert!(matches!(feedback, GraphError::EventFeedback { .. }), "{feedback}");
}

/// A synthesizer with 100 sources of audio and, if that is asked for, one of events.
fn wide(events: bool) -> UnitGraph {
    let mut graph = Graph::default();
    let ids: Vec<NodeId> = (0..100)
        .map(|_| graph.add(node("source", EventPorts::OUTPUT, 0, vec![])).unwrap())
        .collect();
    let edges = ids.iter().map(|id| Edge::new(*id, 1.0));
    let edges = edges.chain(events.then(|| Edge::events(ids[0]))).collect();
    graph.add(node("synth", EventPorts::INPUT, 0, edges)).unwrap();
    UnitGraph::compile(&graph, Fusing::Chains).unwrap()
}

#[test]
fn a_sum_whose_node_receives_events_stays_whole() {
    let parts = |units: UnitGraph| {
        let cut = units.cut_sums(&Prices::new(), PartSize { inputs: 10, cost: 0.0 });
        let parts = cut.units().iter().filter(|unit| unit.is_part()).count();
        assert!(VerifiedSchedule::plan(ScheduleKind::Critical, cut, 2).is_ok());
        parts
    };
    assert_eq!((parts(wide(false)), parts(wide(true))), (9, 0));
}

#[test]
fn random_event_edges_keep_every_schedule_within_the_rules() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut graph = Graph::default();
        for number in 0..2 + random.below(30) {
            let events = EventPorts { input: random.below(2) == 0, output: random.below(2) == 0 };
            let from = |random: &mut Random| NodeId(random.below(number) as u32);
            let audio = (0..random.below(3).min(number)).map(|_| Edge::new(from(&mut random), 1.0));
            let mut inputs: Vec<Edge> = audio.collect();
            for _ in 0..random.below(3).min(number) {
                let source = from(&mut random);
                let writes = graph.nodes()[source.index()].ports.events.output;
                inputs.extend((writes && events.input).then(|| Edge::events(source)));
            }
            graph.add(node("n", events, random.below(9) as u32, inputs)).unwrap();
        }
        let limit = random.below(6) as f64;
        let size = PartSize { inputs: 1, cost: 0.0 };
        let units = UnitGraph::compile(&graph, Fusing::Chains).unwrap();
        let lines = units.event_lines().len();
        let edges = graph.nodes().iter().flat_map(|node| &node.inputs);
        assert_eq!(lines, edges.filter(|edge| edge.is_for_events()).count());
        let units = units.fold(limit).cut_sums(&Prices::new(), size);
        for kind in ScheduleKind::ALL {
            let workers = if kind == ScheduleKind::Serial { 1 } else { 1 + random.below(4) };
            let verified = VerifiedSchedule::plan(kind, units.clone(), workers);
            assert!(verified.is_ok(), "seed {seed}, {kind:?}: {:?}", verified.err());
        }
    }
}

/// Which rule answers when the input of `reader` that brings events is damaged.
fn answer(damage: impl Fn(&mut Vec<Unit>, usize, usize)) -> Rule {
    let graph = UnitGraph::compile(&band(), Fusing::Chains).unwrap();
    let mut units = graph.units().to_vec();
    let reader = units.iter().position(|unit| unit.name.starts_with("synth")).unwrap();
    let input = units[reader].inputs.iter().position(|input| input.events.is_some()).unwrap();
    damage(&mut units, reader, input);
    let graph = graph.with_units(units);
    let schedule = Schedule::plan(ScheduleKind::Dataflow, &graph, 2);
    VerifiedSchedule::verify(graph, schedule).unwrap_err().rule
}

#[test]
fn damaged_event_inputs_are_refused() {
    let out_of_range = answer(|units, reader, input| {
        units[reader].inputs[input].events = Some(EventLineId(9));
    });
    let of_another_writer = answer(|units, reader, input| {
        units[reader].inputs[input].from = units[reader].inputs[1 - input].from;
    });
    let line_lost = answer(|units, reader, input| _ = units[reader].inputs.remove(input));
    let line_twice = answer(|units, reader, input| {
        let again = units[reader].inputs[input];
        units[reader].inputs.push(again);
    });
    let with_rows = answer(|units, reader, input| units[reader].inputs[input].span.count = 1);
    let range = [out_of_range, of_another_writer, line_lost, line_twice, with_rows];
    assert_eq!(range, [Rule::R1InRange; 5]);
    let no_predecessor = answer(|units, reader, input| {
        let Source::Unit(from) = units[reader].inputs[input].from else { panic!() };
        units[reader].predecessors.retain(|id| *id != from);
        let reader = UnitId(reader as u32);
        units[from.index()].successors.retain(|id| *id != reader);
    });
    assert_eq!(no_predecessor, Rule::R4ReadsPredecessors);
}
