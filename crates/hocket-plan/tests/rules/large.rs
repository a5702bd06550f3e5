//! Graphs far larger than any session: they compile, plan and verify.

use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeId, NodeKind, ScheduleKind, UnitGraph, VerifiedSchedule,
};

use crate::random::Random;

/// `count` nodes, each reading up to three of the `window` before it; the last reads every loose end.
fn graph(count: usize, window: usize) -> Graph {
    let mut random = Random(count as u64);
    let mut graph = Graph::default();
    let mut read = vec![false; count];
    for i in 0..count {
        let mut froms: Vec<usize> = match i {
            0 => Vec::new(),
            _ => (0..random.below(4)).map(|_| i - 1 - random.below(window.min(i))).collect(),
        };
        froms.iter().for_each(|from| read[*from] = true);
        if i + 1 == count {
            froms.extend((0..i).filter(|from| !read[*from]));
        }
        add(&mut graph, i, &froms);
    }
    graph
}

fn add(graph: &mut Graph, i: usize, froms: &[usize]) {
    let edge = |from: &usize| Edge::new(NodeId(*from as u32), 1.0);
    let node = Node {
        name: format!("n{i}: work"),
        kind: NodeKind::Custom(i as u32),
        inputs: froms.iter().map(edge).collect(),
        cost: (i % 97) as f64,
        latency_frames: 0,
        ports: Default::default(),
    };
    graph.add(node).expect("inputs come before");
}

fn check_plans(graph: &Graph, fusing: Fusing) {
    let units = UnitGraph::compile(graph, fusing).expect("not empty");
    assert!(units.critical_path_cost() <= units.total_cost());
    for kind in ScheduleKind::ALL {
        let plan = VerifiedSchedule::plan(kind, units.clone(), 8);
        plan.unwrap_or_else(|violation| panic!("{kind:?}: {violation}"));
    }
}

#[test]
fn ten_thousand_nodes_compile() {
    for window in [1, 5, 10_000] {
        check_plans(&graph(10_000, window), Fusing::Chains);
        check_plans(&graph(10_000, window), Fusing::None);
    }
}

#[test]
fn a_hundred_thousand_nodes_compile() {
    for window in [3, 100_000] {
        check_plans(&graph(100_000, window), Fusing::Chains);
    }
}

#[test]
fn a_hundred_thousand_nodes_in_one_chain_are_one_unit_or_as_many_levels() {
    let mut chain = Graph::default();
    (0..100_000usize).for_each(|i| add(&mut chain, i, i.checked_sub(1).as_slice()));
    assert_eq!(UnitGraph::compile(&chain, Fusing::Chains).expect("not empty").units().len(), 1);
    check_plans(&chain, Fusing::None);
}

#[test]
fn a_hundred_thousand_nodes_into_one_compile() {
    let mut star = Graph::default();
    (0..100_000).for_each(|i| add(&mut star, i, &[]));
    add(&mut star, 100_000, &(0..100_000).collect::<Vec<_>>());
    check_plans(&star, Fusing::Chains);
}
