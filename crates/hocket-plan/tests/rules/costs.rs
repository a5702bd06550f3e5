//! What is done with costs: folding, prices, the critical plan, the choice of a schedule.

use std::collections::HashMap;

use hocket_plan::compile::{PartSize, Prices, Source, UnitInput};
use hocket_plan::schedule::{Overheads, Team, best};
use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeId, NodeKind, Schedule, ScheduleKind, Seat, Step, Unit,
    UnitGraph, UnitId, VerifiedSchedule,
};
use proptest::prelude::*;

use crate::random::{cases, couple_recipes, fusings, recipes, wide_recipes};

/// A walk through all chains with a number for a bus: the last bus, to the bit.
fn walk(units: &UnitGraph) -> u32 {
    // By unit: the buses of its chains, the own one last.
    let mut buses: Vec<Vec<f32>> = vec![Vec::new(); units.units().len()];
    let last_of = |buses: &Vec<f32>| *buses.last().expect("the unit's own chain");
    for (i, unit) in units.units().iter().enumerate() {
        let mut own: Vec<f32> = Vec::new();
        let chains = unit.folded.iter().map(|chain| (&chain.inputs, &chain.nodes));
        for (inputs, nodes) in chains.chain([(&unit.inputs, &unit.nodes)]) {
            let bus = |input: &UnitInput| match input.from {
                Source::Unit(from) => last_of(&buses[from.index()]),
                Source::Coupled(from, index) => buses[from.index()][index as usize],
                Source::Folded(index) => own[index as usize],
                Source::Port(_) => 0.5,
            };
            let sum = inputs.iter().fold(0.0f32, |sum, input| sum + input.gain_lin * bus(input));
            own.push(nodes.iter().fold(sum, |bus, node| (bus + 0.1 + node.0 as f32).sin()));
        }
        buses[i] = own;
    }
    last_of(&buses[units.last().index()]).to_bits()
}

/// Whether a unit goes on with a part of its sum.
fn cut_before(units: &UnitGraph, unit: &Unit) -> bool {
    unit.predecessors.iter().any(|from| units.units()[from.index()].is_part())
}

/// The keys of a chain's nodes.
fn keys(unit: &Unit, place: u32, key: &dyn Fn(NodeId) -> Option<u16>) -> Vec<Option<u16>> {
    let nodes = unit.folded.get(place as usize).map_or(&unit.nodes, |chain| &chain.nodes);
    nodes.iter().map(|node| key(*node)).collect()
}

fn makespan(units: &UnitGraph, workers: usize) -> f64 {
    // As if handing over were free: the bounds of theory.
    best(units, &Team::alike(workers), Overheads::NONE).expected
}

proptest! {
    #[test]
    fn folding_keeps_nodes_order_and_sound(recipe in recipes(120), fusing in fusings(), limit in 0.0..3000.0f64) {
        let plain = UnitGraph::compile(&recipe.graph(), fusing).unwrap();
        let folded = plain.clone().fold(limit);
        prop_assert_eq!(walk(&folded), walk(&plain));
        prop_assert!((folded.total_cost() - plain.total_cost()).abs() < 1e-6 * plain.total_cost());
        for kind in ScheduleKind::ALL {
            let verified = VerifiedSchedule::plan(kind, folded.clone(), 3);
            prop_assert!(verified.is_ok(), "{:?}", verified.err());
        }
        for unit in folded.units() {
            prop_assert!(unit.folded.is_empty() || unit.cost <= limit);
        }
        // Nothing is left that could have been folded.
        for unit in folded.units() {
            if let [only] = unit.successors[..] {
                prop_assert!(unit.cost + folded.units()[only.index()].cost > limit);
            }
        }
    }

    #[test]
    fn sums_in_parts_keep_nodes_order_and_sound(
        recipe in wide_recipes(60), fusing in fusings(), inputs in 1..6usize, fold in any::<bool>(),
    ) {
        let plain = UnitGraph::compile(&recipe.graph(), fusing).unwrap();
        let whole = if fold { plain.clone().fold(300.0) } else { plain.clone() };
        let cut = whole.clone().cut_sums(&Prices::new(), PartSize { inputs, cost: 0.0 });
        prop_assert_eq!(walk(&cut), walk(&plain));
        for unit in cut.units().iter().filter(|unit| unit.folded.is_empty()) {
            let own = unit.inputs.len() - usize::from(cut_before(&cut, unit));
            prop_assert!(own < 2 * inputs, "{own}");
        }
        for (kind, workers) in [2, 3].into_iter().flat_map(|n| ScheduleKind::ALL.map(|kind| (kind, n))) {
            let verified = VerifiedSchedule::plan(kind, cut.clone(), workers);
            prop_assert!(verified.is_ok(), "{:?}", verified.err());
        }
        // What is folded later leaves the parts alone.
        let later = cut.clone().fold(1000.0);
        prop_assert_eq!(walk(&later), walk(&plain));
        prop_assert!(VerifiedSchedule::plan(ScheduleKind::Dataflow, later, 2).is_ok());
    }

    #[test]
    fn pairs_keep_nodes_order_and_sound(
        recipe in couple_recipes(60), fusing in fusings(), kinds in 1..4u32, fold in any::<bool>(), workers in 1..4usize,
    ) {
        let plain = UnitGraph::compile(&recipe.graph(), fusing).unwrap();
        let whole = if fold { plain.clone().fold(300.0) } else { plain.clone() };
        let whole = whole.cut_sums(&Prices::new(), PartSize { inputs: 3, cost: 0.0 });
        let key = |node: NodeId| (!node.0.is_multiple_of(3)).then_some((node.0 % kinds) as u16);
        let coupled = whole.clone().couple(&key, workers);
        prop_assert_eq!(walk(&coupled), walk(&plain));
        prop_assert!((coupled.total_cost() - whole.total_cost()).abs() < 1e-6 * whole.total_cost());
        for kind in ScheduleKind::ALL {
            let verified = VerifiedSchedule::plan(kind, coupled.clone(), workers);
            prop_assert!(verified.is_ok(), "{:?}", verified.err());
        }
        for unit in coupled.units() {
            for place in &unit.couples {
                prop_assert_eq!(keys(unit, *place, &key), keys(unit, place + 1, &key));
            }
        }
        if workers > 1 {
            let share = whole.total_cost() / workers as f64;
            let longest = whole.critical_path_cost().max(share) * (1.0 + 1e-9);
            prop_assert!(coupled.critical_path_cost() <= longest);
            let units = |graph: &UnitGraph| graph.units().iter().filter(|unit| !unit.nodes.is_empty()).count();
            prop_assert!(units(&coupled) == units(&whole) || units(&coupled) >= 3 * workers);
        }
        // What is folded or cut later leaves the couples alone.
        let later = coupled.clone().fold(1000.0).cut_sums(&Prices::new(), PartSize { inputs: 2, cost: 0.0 });
        prop_assert_eq!(walk(&later), walk(&plain));
        prop_assert!(VerifiedSchedule::plan(ScheduleKind::Dataflow, later, 2).is_ok());
    }

    #[test]
    fn prices_order_the_units_anew(recipe in recipes(120), fusing in fusings(), factor in 0.1..100.0f64) {
        let plain = UnitGraph::compile(&recipe.graph(), fusing).unwrap();
        let mut prices = Prices::new();
        for unit in plain.units().iter().step_by(2) {
            prices.set(unit.nodes[0], unit.cost * factor);
        }
        let priced = plain.clone().priced(&prices);
        let costs = |units: &UnitGraph| -> HashMap<NodeId, f64> {
            units.units().iter().map(|unit| (unit.nodes[0], unit.cost)).collect()
        };
        let before = costs(&plain);
        for (head, cost) in costs(&priced) {
            // Units without a price are scaled alike.
            let expected = (before[&head] * factor).max(1.0);
            prop_assert!((cost - expected).abs() < 1e-6 * expected, "{cost}, not {expected}");
        }
        prop_assert_eq!(walk(&priced), walk(&plain));
        prop_assert!(VerifiedSchedule::plan(ScheduleKind::Critical, priced, 4).is_ok());
    }

    /// Graham 1966: a list schedule is within 2 - 1/m of the best; no plan beats the longest path
    /// or the mean load.
    #[test]
    fn critical_is_within_grahams_bound(case in cases(120)) {
        let units = case.units();
        let workers = case.workers as f64;
        let floor = units.critical_path_cost().max(units.total_cost() / workers);
        let time = makespan(&units, case.workers);
        prop_assert!(time >= floor * (1.0 - 1e-9));
        prop_assert!(time <= units.total_cost() * (1.0 + 1e-9), "slower than the serial walk");
        let bound = units.total_cost() / workers + units.critical_path_cost() * (1.0 - 1.0 / workers);
        prop_assert!(time <= bound * 1.04, "{time} > {bound}");
    }

    #[test]
    fn a_chosen_schedule_obeys_the_rules(case in cases(80), pair_speed in 0.3..1.0f64, open in 0.0..1e4f64) {
        let units = case.units();
        let seats = (0..case.workers).map(|i| Seat { core: i % 3, speed: 1.0 - (i % 3) as f32 * 0.2 });
        let team = Team { pair_speed, ..Team::new(seats.collect()) };
        let overheads = Overheads { open, start: open / 2.0, hand_over: 10.0, unit: 1.0 };
        let choice = best(&units, &team, overheads);
        prop_assert!(choice.expected <= choice.serial);
        let verified = VerifiedSchedule::verify(units, choice.schedule);
        prop_assert!(verified.is_ok(), "{:?}", verified.err());
    }
}

/// Independent units of these costs into one of no cost.
fn tracks(costs: &[f64]) -> UnitGraph {
    crate::compiled::star(costs)
}

fn run_count(schedule: &Schedule, worker: usize) -> usize {
    schedule.lists[worker].iter().filter(|step| matches!(step, Step::Run(_))).count()
}

#[test]
fn siblings_are_used_only_where_that_shortens_the_block() {
    let units = tracks(&[100.0; 16]);
    let seat = |core| Seat { core, speed: 1.0 };
    let team =
        |pair_speed| Team { pair_speed, ..Team::new(vec![seat(0), seat(1), seat(0), seat(1)]) };
    let worthwhile = Schedule::plan_for(ScheduleKind::Critical, &units, &team(0.65));
    assert!((0..4).all(|worker| run_count(&worthwhile, worker) >= 3), "{worthwhile:?}");
    let harmful = Schedule::plan_for(ScheduleKind::Critical, &units, &team(0.45));
    assert_eq!(harmful.lists.len(), 2, "left out, and not even woken: {harmful:?}");
}

#[test]
fn a_slow_seat_gets_less() {
    let units = tracks(&[100.0; 30]);
    let seat = |core, speed| Seat { core, speed };
    let team = Team::new(vec![seat(0, 1.0), seat(1, 0.5)]);
    let schedule = Schedule::plan_for(ScheduleKind::Critical, &units, &team);
    assert_eq!(run_count(&schedule, 0), 21, "20 of 30 tracks and the master: {schedule:?}");
}

#[test]
fn the_longest_path_goes_first() {
    let units = tracks(&[10.0, 500.0, 20.0]);
    let schedule = Schedule::plan(ScheduleKind::Critical, &units, 2);
    assert!(schedule.lists.iter().any(|list| list.first() == Some(&Step::Run(UnitId(0)))));
    assert_eq!(units.units()[0].cost, 500.0);
}

#[test]
fn nothing_slower_than_the_serial_walk_is_chosen() {
    let team = Team::alike(4);
    let choice = |cost| best(&tracks(&[cost; 64]), &team, Overheads::MEASURED_NS).schedule;
    let cheap = choice(1.0);
    assert_eq!((cheap.kind, cheap.lists.len()), (ScheduleKind::Serial, 1));
    let dear = choice(10_000.0);
    assert_eq!((dear.kind, dear.lists.len()), (ScheduleKind::Critical, 4));
}

#[test]
fn a_folded_unit_is_priced_chain_by_chain() {
    let units = tracks(&[100.0, 300.0]).fold(1000.0);
    let [all] = units.units() else { panic!("everything fits into one unit: {units:?}") };
    let mut prices = Prices::new();
    prices.set_unit(all, 4010.0);
    assert_eq!([0, 1, 2].map(|node| prices.get(NodeId(node))), [1000.0, 3000.0, 10.0].map(Some));
}

/// Equal voices into one sum that takes a tenth of the block.
fn voices(count: usize) -> UnitGraph {
    let mut graph = Graph::default();
    let mut add = |from: &[NodeId], cost: f64| {
        let inputs = from.iter().map(|from| Edge::new(*from, 0.7)).collect();
        let index = graph.nodes().len() as u32;
        let kind = NodeKind::Custom(index);
        graph
            .add(Node {
                name: format!("v{index}: work"),
                kind,
                inputs,
                cost,
                latency_frames: 3,
                ports: Default::default(),
            })
            .unwrap()
    };
    let all: Vec<NodeId> = (0..count).map(|_| add(&[], 36.0)).collect();
    add(&all, 4.0 * count as f64);
    UnitGraph::compile(&graph, Fusing::Chains).unwrap()
}

#[test]
fn a_wide_sum_in_parts_runs_beside_what_it_sums() {
    let whole = voices(600);
    let cut = whole.clone().cut_sums(&Prices::new(), PartSize::unpriced(64));
    assert_eq!(
        cut.units().len(),
        601 + 17,
        "600 inputs in 18 parts of 34, the unit's own among them"
    );
    assert!((cut.total_cost() - whole.total_cost()).abs() < 1e-6);
    assert!(
        cut.units().iter().all(|unit| unit.latency_frames
            == if unit.inputs.is_empty() || unit.is_part() { 3 } else { 6 })
    );
    for workers in [2, 4] {
        let efficiency =
            |units: &UnitGraph| units.total_cost() / workers as f64 / makespan(units, workers);
        assert!(efficiency(&whole) < 0.92, "{}", efficiency(&whole));
        assert!(efficiency(&cut) > 0.97, "{workers} workers: {}", efficiency(&cut));
        // What each is dealt at first, where units follow readiness: the inputs of every part in equal shares.
        let schedule = Schedule::plan(ScheduleKind::Dataflow, &cut, workers);
        let counts: Vec<usize> = (0..workers).map(|worker| run_count(&schedule, worker)).collect();
        assert_eq!(counts, vec![600 / workers; workers]);
    }
}

#[test]
fn parts_of_a_sum_have_fewer_inputs_in_longer_blocks() {
    let inputs = |frames| PartSize::unpriced(frames).inputs;
    assert_eq!([1, 64, 128, 512, 1024, 100_000].map(inputs), [32, 32, 16, 4, 4, 4]);
    let cut = voices(16).cut_sums(&Prices::new(), PartSize::unpriced(1024));
    assert_eq!(cut.units().iter().filter(|unit| unit.is_part()).count(), 3);
}

#[test]
fn a_sum_costs_what_its_parts_were_measured_to_cost() {
    let whole = voices(100);
    let cut = whole.clone().cut_sums(&Prices::new(), PartSize::unpriced(64));
    let measured: Vec<f64> =
        cut.units().iter().map(|unit| 10.0 * unit.inputs.len() as f64 + 5.0).collect();
    let mut prices = Prices::new();
    prices.set_all(&cut, &measured);
    let head = NodeId(100);
    // Parts of 34, 34 and 32 inputs, in all but the first one more: the part before.
    assert_eq!(prices.get(head), Some(345.0 + 355.0 + 335.0));
    assert_eq!(prices.input(head), Some(700.0 / 68.0));
    assert_eq!(prices.get(NodeId(0)), Some(5.0));
    assert!((prices.total() - measured.iter().sum::<f64>()).abs() < 1e-6);
    // Parts that would cost less than is asked for are not made.
    let size = PartSize { cost: 400.0, ..PartSize::unpriced(64) };
    let again = whole.clone().priced(&prices).cut_sums(&prices, size);
    assert_eq!(
        again.units().iter().filter(|unit| unit.is_part()).count(),
        1,
        "39 inputs at least, so 50 each"
    );
    let size = PartSize { cost: 600.0, ..PartSize::unpriced(64) };
    assert_eq!(whole.clone().priced(&prices).cut_sums(&prices, size), whole.priced(&prices));
}

/// Strips that play, go through an equaliser (key 1) or two and reach the master.
fn strips(chains: &[&[u32]], cost: f64) -> Graph {
    let mut graph = Graph::default();
    let (mut number, mut ends) = (0, Vec::new());
    for (strip, kinds) in chains.iter().enumerate() {
        let mut before = None;
        for kind in *kinds {
            let inputs = before.map(|from| Edge::new(from, 1.0)).into_iter().collect();
            let (name, kind) = (format!("strip {strip}: {kind}"), NodeKind::Custom(*kind));
            let (latency_frames, ports) = (0, Default::default());
            graph.add(Node { name, kind, inputs, cost, latency_frames, ports }).unwrap();
            before = Some(NodeId(number));
            number += 1;
        }
        ends.extend(before);
    }
    let inputs = ends.into_iter().map(|from| Edge::new(from, 1.0)).collect();
    let (name, kind, cost) = ("master: sum".into(), NodeKind::Custom(0), 1.0);
    graph
        .add(Node { name, kind, inputs, cost, latency_frames: 0, ports: Default::default() })
        .unwrap();
    graph
}

fn coupled(graph: &Graph, workers: usize) -> Vec<String> {
    let key = |node: NodeId| match graph.nodes()[node.index()].kind {
        NodeKind::Custom(kind) if kind > 0 => Some(kind as u16),
        _ => None,
    };
    let units = UnitGraph::compile(graph, Fusing::Chains).unwrap().couple(&key, workers);
    let couples = units.units().iter().filter(|unit| !unit.couples.is_empty());
    let mut titles: Vec<String> = couples.map(Unit::title).collect();
    titles.sort();
    titles
}

#[test]
fn strips_with_the_same_effects_make_pairs() {
    let one = [&[0, 1, 0][..], &[0, 2], &[0, 1, 0], &[0, 0], &[0, 0], &[0, 1, 0]];
    assert_eq!(coupled(&strips(&one, 10.0), 1), ["strip 0: 0, 1, 0 | strip 2: 0, 1, 0"]);
    let none = [&[0, 1][..], &[0, 2], &[1, 0], &[0, 0], &[0, 0]];
    assert_eq!(coupled(&strips(&none, 10.0), 1), [""; 0]);
}

#[test]
fn enough_units_stay_for_every_worker() {
    let all = [&[0u32, 1][..]; 12];
    // The master is one, too.
    for (workers, couples) in [(1, 6), (2, 6), (3, 4), (4, 1), (5, 0), (8, 0)] {
        let found = coupled(&strips(&all, 10.0), workers);
        assert_eq!(found.len(), couples, "{workers} workers: {found:?}");
    }
}

#[test]
fn no_pair_makes_the_longest_path_longer_than_a_share_of_the_block() {
    // Two long strips and many short ones: the long ones together would take longer than half of all.
    let short = [&[0u32, 0][..]; 8];
    let long = [&[0u32, 1, 0, 0, 0, 0, 0, 0, 0, 0][..]; 2];
    let graph = strips(&[&long[..], &short[..]].concat(), 10.0);
    assert_eq!(coupled(&graph, 2), [""; 0]);
    assert_eq!(coupled(&graph, 1).len(), 1);
}

/// These strips and the master in one unit, with couples.
fn all_in_one(chains: &[&[u32]]) -> Unit {
    let graph = strips(chains, 10.0);
    let key = |node: NodeId| match graph.nodes()[node.index()].kind {
        NodeKind::Custom(kind) if kind > 0 => Some(kind as u16),
        _ => None,
    };
    let folded = UnitGraph::compile(&graph, Fusing::Chains).unwrap().fold(1e6);
    let folded = folded.couple(&key, 2);
    let [unit] = folded.units() else { panic!("all in one") };
    unit.clone()
}

#[test]
fn folded_chains_are_paired_where_they_stand() {
    let unit = all_in_one(&[&[0, 1], &[0, 1], &[0, 2], &[0, 1]]);
    assert_eq!((unit.folded.len(), &unit.couples[..]), (4, &[0][..]));
    assert_eq!(unit.title(), "master: sum (strip 0 | strip 1)");
}

#[test]
fn a_title_names_the_strips_of_all_couples_in_order() {
    let mut unit = all_in_one(&[&[0, 1], &[0, 1], &[0, 3], &[0, 2], &[0, 2], &[0, 0]]);
    assert_eq!(unit.couples, [0, 3]);
    assert_eq!(unit.title(), "master: sum (strip 0 | strip 1; strip 3 | strip 4)");
    // As if the last folded chain were coupled with the unit's own.
    unit.couples.push(5);
    let with_own = "strip 5: 0, 0 | master: sum (strip 0 | strip 1; strip 3 | strip 4)";
    assert_eq!(unit.title(), with_own);
    unit.couples = vec![5];
    assert_eq!(unit.title(), "strip 5: 0, 0 | master: sum");
    unit.couples.clear();
    assert_eq!(unit.title(), "master: sum");
}

#[test]
fn a_title_counts_couples_that_make_it_too_long() {
    let mut unit = all_in_one(&[&[0, 1][..]; 40]);
    let listed = "strip 0 | strip 1; strip 2 | strip 3; strip 4 | strip 5; strip 6 | strip 7; strip 8 | strip 9; \
                  strip 10 | strip 11";
    assert_eq!(unit.title(), format!("master: sum ({listed}; 14 couples more)"));
    unit.couples.truncate(7);
    assert_eq!(unit.title(), format!("master: sum ({listed}; 1 couple more)"));
    unit.couples.truncate(6);
    assert_eq!(unit.title(), format!("master: sum ({listed})"));
    // One couple is named in any case.
    let long = "a strip with a name that fills a table by itself, ".repeat(5);
    unit.folded[0].name = format!("{long}: 0, 1");
    assert_eq!(unit.title(), format!("master: sum ({long} | strip 1; 5 couples more)"));
}
