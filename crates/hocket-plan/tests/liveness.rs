//! What depends on live input, in random graphs, against a search that looks at every path.

use hocket_plan::{Edge, EventPorts, Graph, InputPort, LiveCause, Node, NodeId, NodeKind, Ports};
use proptest::prelude::*;

/// A node to be made: whether it is an engine input, how far back its edges reach and whether they carry events.
#[derive(Debug, Clone)]
struct Recipe {
    is_input: bool,
    edges: Vec<(usize, bool)>,
}

/// Nodes, and feedback edges from any node to any other.
fn graphs() -> impl Strategy<Value = (Vec<Recipe>, Vec<(usize, usize)>)> {
    let edges = prop::collection::vec((0usize..100, any::<bool>()), 0..4);
    let node = (prop::bool::weighted(0.15), edges)
        .prop_map(|(is_input, edges)| Recipe { is_input, edges });
    (prop::collection::vec(node, 1..30), prop::collection::vec((0usize..100, 0usize..100), 0..6))
}

fn graph(nodes: &[Recipe], feedback: &[(usize, usize)]) -> Graph {
    let mut graph = Graph::default();
    let id = |index: usize| NodeId(index as u32);
    for (index, recipe) in nodes.iter().enumerate() {
        let kind = match recipe.is_input {
            true => NodeKind::Input(index as u16),
            false => NodeKind::Custom(index as u32),
        };
        let ports = Ports::STEREO.with_events(EventPorts::BOTH);
        let mut node = Node { ports, ..Node::new(format!("n{index}"), kind) };
        if !recipe.is_input && index > 0 {
            let edge = |(back, events): &(usize, bool)| {
                let from = id(index - 1 - back % index);
                if *events { Edge::events(from) } else { Edge::new(from, 0.5) }
            };
            node.inputs = recipe.edges.iter().map(edge).collect();
        }
        graph.add(node).expect("edges lead back");
    }
    for (from, to) in feedback {
        let (from, reader) = (id(from % nodes.len()), id(to % nodes.len()));
        graph.feed_back(Edge::new(from, 1.0), reader).expect("both exist");
    }
    graph
}

/// Whether any path leads from an engine input to this node, over edges and feedback edges: by trying all.
fn is_reached(graph: &Graph, node: NodeId, seen: &mut Vec<NodeId>) -> bool {
    if seen.contains(&node) {
        return false;
    }
    seen.push(node);
    let own = &graph.nodes()[node.index()];
    let back = graph.feedback().iter().filter(|back| back.reader == node);
    let mut sources: Vec<NodeId> = own.inputs.iter().map(|edge| edge.from).collect();
    sources.extend(back.map(|back| back.edge.from));
    matches!(own.kind, NodeKind::Input(_))
        || sources.into_iter().any(|from| is_reached(graph, from, seen))
}

fn check(graph: &Graph) {
    let liveness = graph.liveness();
    let mut live = 0;
    for (id, node) in (0..).map(NodeId).zip(graph.nodes()) {
        let expected = is_reached(graph, id, &mut Vec::new());
        let cause = liveness.of_node(id);
        assert_eq!(cause.is_some(), expected, "{id:?} of {graph:#?}");
        live += usize::from(expected);
        check_cause(graph, id, cause);
        for (place, edge) in node.inputs.iter().enumerate() {
            let brings = liveness.of_edge(id, place);
            let source = liveness.of_node(edge.from);
            assert_eq!(brings.is_some(), source.is_some());
            match (graph.nodes()[edge.from.index()].kind, edge.to) {
                (NodeKind::Input(number), InputPort::Events) => {
                    assert_eq!(brings, Some(LiveCause::InputEvents(number)));
                }
                _ => assert_eq!(brings, source),
            }
        }
        assert_eq!(liveness.of_edge(id, node.inputs.len()), None);
    }
    for (index, back) in graph.feedback().iter().enumerate() {
        let source = liveness.of_node(back.edge.from);
        let expected = source.map(|_| LiveCause::Feedback(back.edge.from));
        assert_eq!(liveness.of_feedback(index), expected);
    }
    assert_eq!(liveness.live_nodes(), live);
}

/// The cause is there, and is live itself.
fn check_cause(graph: &Graph, id: NodeId, cause: Option<LiveCause>) {
    match cause {
        Some(LiveCause::Input(number) | LiveCause::InputEvents(number)) => {
            let is = |node: &Node| node.kind == NodeKind::Input(number);
            assert!(graph.nodes().iter().any(is));
        }
        Some(LiveCause::Feedback(from)) => {
            assert!(graph.feedback().iter().any(|back| back.edge.from == from));
            assert!(is_reached(graph, from, &mut Vec::new()));
            // Without feedback nothing live reaches it.
            let mut within = Graph::default();
            graph.nodes().iter().for_each(|node| _ = within.add(node.clone()));
            assert!(!is_reached(&within, id, &mut Vec::new()), "{id:?}");
        }
        None => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn what_a_path_from_an_input_reaches_is_live((nodes, feedback) in graphs()) {
        check(&graph(&nodes, &feedback));
    }
}

#[test]
fn the_first_edge_says_why() {
    let mut graph = Graph::default();
    let both = Ports::STEREO.with_events(EventPorts::BOTH);
    let input = |number| Node { ports: both, ..Node::new("in", NodeKind::Input(number)) };
    let first = graph.add(input(7)).unwrap();
    let second = graph.add(input(3)).unwrap();
    let known = graph.add(Node::new("known", NodeKind::Play(0))).unwrap();
    let node = |inputs| Node { inputs, ports: both, ..Node::new("n", NodeKind::Custom(0)) };
    let sum = vec![Edge::new(known, 1.0), Edge::new(second, 1.0), Edge::new(first, 1.0)];
    let sum = graph.add(node(sum)).unwrap();
    let played = graph.add(node(vec![Edge::events(first), Edge::new(second, 1.0)])).unwrap();
    let behind = graph.add(node(vec![Edge::new(played, 0.0)])).unwrap();
    let alone = graph.add(node(vec![Edge::new(known, 1.0)])).unwrap();
    let last = graph.add(node(vec![Edge::new(alone, 1.0)])).unwrap();
    let liveness = graph.liveness();
    assert_eq!(liveness.of_node(first), Some(LiveCause::Input(7)));
    assert_eq!(liveness.of_node(known), None);
    assert_eq!(liveness.of_node(sum), Some(LiveCause::Input(3)));
    assert_eq!(liveness.of_node(played), Some(LiveCause::InputEvents(7)));
    assert_eq!(liveness.of_node(behind), Some(LiveCause::InputEvents(7)), "a gain of 0 may move");
    assert_eq!(liveness.of_node(alone), None);
    // A loop of what is known stays known; one that something live enters does not.
    graph.feed_back(Edge::new(last, 1.0), alone).unwrap();
    assert_eq!(graph.liveness().of_node(last), None);
    graph.feed_back(Edge::new(sum, 1.0), alone).unwrap();
    let liveness = graph.liveness();
    assert_eq!(liveness.of_node(alone), Some(LiveCause::Feedback(sum)));
    assert_eq!(liveness.of_node(last), Some(LiveCause::Feedback(sum)));
    assert_eq!(liveness.of_feedback(0), Some(LiveCause::Feedback(last)));
}
