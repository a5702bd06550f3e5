//! Each rule broken on purpose in random schedules, and refused by its own name.
//!
//! A breaking is real: it damages units or schedule the way a faulty planner would, and touches
//! nothing else, so the rule that answers is the rule that was broken. Where one damage breaks two
//! rules, the comment at the breaking says which one must answer and why.

use std::cell::Cell;
use std::collections::BTreeSet;

use hocket_plan::compile::{PartSize, Prices, Source, UnitInput};
use hocket_plan::{
    NodeId, Rule, Schedule, ScheduleKind, Step, Unit, UnitGraph, UnitId, VerifiedSchedule,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::random::{Case, Random, cases};

/// Units and schedule in pieces that can be damaged.
#[derive(Debug, Clone)]
pub struct Parts {
    pub units: Vec<Unit>,
    pub whole: UnitGraph,
    pub schedule: Schedule,
}

impl Parts {
    pub fn of(case: &Case) -> Parts {
        let graph = case.units();
        let schedule = case.schedule(&graph);
        Parts { units: graph.units().to_vec(), whole: graph, schedule }
    }

    pub fn graph(&self) -> UnitGraph {
        self.whole.with_units(self.units.clone())
    }

    pub fn verify(&self) -> Result<VerifiedSchedule, Rule> {
        VerifiedSchedule::verify(self.graph(), self.schedule.clone())
            .map_err(|violation| violation.rule)
    }

    /// Plans anew after the units have changed.
    fn replan(&mut self) {
        let workers = self.schedule.lists.len();
        self.schedule = Schedule::plan(self.schedule.kind, &self.graph(), workers);
    }

    fn ids(&self) -> Vec<UnitId> {
        (0..self.units.len()).map(|i| UnitId(i as u32)).collect()
    }

    fn unit(&mut self, id: UnitId) -> &mut Unit {
        &mut self.units[id.index()]
    }

    /// All pairs (predecessor, successor).
    fn edges(&self) -> Vec<(UnitId, UnitId)> {
        let of = |to: UnitId| {
            let before = self.units[to.index()].predecessors.iter();
            before.map(move |from| (*from, to)).collect::<Vec<_>>()
        };
        self.ids().into_iter().flat_map(of).collect()
    }

    /// Every place in the lists: worker, place, step.
    fn steps(&self) -> Vec<(usize, usize, Step)> {
        let lists = self.schedule.lists.iter().enumerate();
        lists
            .flat_map(|(worker, list)| {
                list.iter().enumerate().map(move |(place, step)| (worker, place, *step))
            })
            .collect()
    }

    /// Places of units in the lists.
    fn runs(&self) -> Vec<(usize, usize, Step)> {
        self.steps().into_iter().filter(|(_, _, step)| *step != Step::Barrier).collect()
    }

    /// The place of a unit in the lists.
    fn place_of(&self, id: UnitId) -> Option<(usize, usize)> {
        let found = self.steps().into_iter().find(|(_, _, step)| *step == Step::Run(id));
        found.map(|(worker, place, _)| (worker, place))
    }

    /// Removes one edge from both of its ends.
    fn cut(&mut self, from: UnitId, to: UnitId) {
        self.unit(from).successors.retain(|id| *id != to);
        self.unit(to).predecessors.retain(|id| *id != from);
    }
}

/// A way to break a rule; `None` where the case has nothing to break in this way.
type Breaking = fn(Parts, &mut Random) -> Option<Parts>;

/// The ways to break each rule; a new rule does not compile without its own.
fn breakings(rule: Rule) -> &'static [(&'static str, Breaking)] {
    match rule {
        Rule::R1InRange => &[
            ("a step names no unit", r1_step),
            ("an input names no unit", r1_input),
            ("a predecessor names no unit", r1_predecessor),
            ("a successor names no unit", r1_successor),
            ("a couple of one chain", r1_couple_alone),
            ("a chain in two couples", r1_couples_overlap),
            ("an input names no coupled chain", r1_coupled),
        ],
        Rule::R2Once => &[
            ("a step is lost", r2_lost),
            ("a step stands twice", r2_twice),
            ("a waiting unit is dealt as ready", r2_not_ready),
        ],
        Rule::R3OneWriter => &[
            ("a node in two units", r3_two_units),
            ("a node in no unit", r3_no_unit),
            ("a node twice in its unit", r3_twice),
            ("a node that does not exist", r3_unknown),
            ("a unit with neither nodes nor inputs", r3_empty),
            ("a part of a sum that is read at another gain", r3_part_gain),
            ("a part of a sum that is not read first", r3_part_second),
            ("a part of a sum that is read twice", r3_part_twice),
            ("a part of a sum with two readers", r3_part_shared),
        ],
        Rule::R4ReadsPredecessors => &[
            ("an edge is cut, its input stays", r4_cut),
            ("a chain reads one that nobody folded in", r4_folded),
            ("a unit reads itself", r4_self),
            ("a unit reads itself and is its own predecessor", r4_own_predecessor),
            ("a unit reads a stranger", r4_stranger),
            ("a chain reads the one that it is coupled with", r4_coupled),
        ],
        Rule::R5Order => &[
            ("two dependent units swapped", r5_swap),
            ("a barrier taken from every worker", r5_no_barrier),
            ("a cycle of units", r5_cycle),
        ],
        Rule::R6Barriers => &[
            ("one worker lacks a barrier", r6_missing),
            ("one worker has one barrier more", r6_extra),
            ("a barrier where nobody waits", r6_wrong_kind),
        ],
        Rule::R7Mirror => &[
            ("a successor is lost", r7_lost_successor),
            ("a predecessor is lost, with its inputs", r7_lost_predecessor),
            ("a successor stands twice", r7_twice),
            ("successors out of order", r7_unsorted),
            ("a successor too many", r7_extra_successor),
        ],
        Rule::R8Last => &[
            ("a unit that nobody reads", r8_cut_off),
            ("the output is an early unit", r8_early_output),
        ],
        Rule::R9Shape => &[
            ("no worker", r9_no_worker),
            ("no unit", r9_no_unit),
            ("serial with two workers", r9_two_serial),
            ("more workers than anybody has", r9_too_many),
        ],
    }
}

fn reads(from: UnitId) -> UnitInput {
    UnitInput::stereo(Source::Unit(from), 1.0)
}

fn r1_step(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let unknown = Step::Run(UnitId(parts.units.len() as u32));
    let (worker, place, _) = random.pick(&parts.runs())?;
    parts.schedule.lists[worker][place] = unknown;
    Some(parts)
}

fn r1_input(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let from = UnitId(parts.units.len() as u32 + random.below(1000) as u32);
    let id = random.pick(&parts.ids())?;
    parts.unit(id).inputs.push(reads(from));
    Some(parts)
}

fn r1_predecessor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    let unknown = UnitId(u32::MAX);
    parts.unit(to).predecessors.retain(|id| *id != from);
    parts.unit(to).predecessors.push(unknown);
    Some(parts)
}

fn r1_successor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let unknown = UnitId(parts.units.len() as u32);
    let id = random.pick(&parts.ids())?;
    parts.unit(id).successors.push(unknown);
    Some(parts)
}

fn r1_couple_alone(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let alone = parts.unit(id).folded.len() as u32;
    parts.unit(id).couples.push(alone);
    Some(parts)
}

/// Every two chains that wait for the same others in one unit, planned anew; and one of these units.
fn with_couples(mut parts: Parts, random: &mut Random) -> Option<(Parts, UnitId)> {
    parts.units = parts.graph().couple(&|_| Some(0), 1).units().to_vec();
    parts.replan();
    assert!(parts.verify().is_ok(), "nothing is broken yet");
    let coupled = |id: &UnitId| !parts.units[id.index()].couples.is_empty();
    let coupled: Vec<UnitId> = parts.ids().into_iter().filter(coupled).collect();
    let id = random.pick(&coupled)?;
    Some((parts, id))
}

fn r1_couples_overlap(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, id) = with_couples(parts, random)?;
    parts.unit(id).couples.push(0);
    Some(parts)
}

fn r1_coupled(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, from) = with_couples(parts, random)?;
    let to = random.pick(&parts.unit(from).successors.clone())?;
    let nobody = Source::Coupled(from, parts.unit(from).folded.len() as u32);
    parts.unit(to).inputs.push(UnitInput::stereo(nobody, 1.0));
    Some(parts)
}

fn r4_coupled(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, id) = with_couples(parts, random)?;
    parts.unit(id).inputs.push(UnitInput::stereo(Source::Folded(0), 1.0));
    Some(parts)
}

fn r2_lost(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (worker, place, _) = random.pick(&parts.runs())?;
    parts.schedule.lists[worker].remove(place);
    Some(parts)
}

fn r2_twice(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (_, _, step) = random.pick(&parts.runs())?;
    let worker = random.below(parts.schedule.lists.len());
    parts.schedule.lists[worker].push(step);
    Some(parts)
}

fn r2_not_ready(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    if !parts.schedule.kind.follows_readiness() {
        return None;
    }
    let (_, waiting) = random.pick(&parts.edges())?;
    parts.schedule.lists[0].push(Step::Run(waiting));
    Some(parts)
}

fn r3_two_units(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    let node = random.pick(&parts.unit(from).nodes.clone())?;
    parts.unit(to).nodes.push(node);
    Some(parts)
}

fn r3_no_unit(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    parts.unit(id).nodes.pop();
    Some(parts)
}

fn r3_twice(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let node = random.pick(&parts.unit(id).nodes.clone())?;
    parts.unit(id).nodes.push(node);
    Some(parts)
}

fn r3_unknown(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let unknown = NodeId(parts.whole.node_count() as u32);
    let id = random.pick(&parts.ids())?;
    parts.unit(id).nodes.push(unknown);
    Some(parts)
}

fn r3_empty(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    let nodes = std::mem::take(&mut parts.unit(from).nodes);
    parts.unit(from).inputs.clear();
    parts.unit(to).nodes.extend(nodes);
    Some(parts)
}

/// Every sum in parts of one input, planned anew; and one of the parts with the unit that goes on with it.
fn with_parts(mut parts: Parts, random: &mut Random) -> Option<(Parts, UnitId, UnitId)> {
    let size = PartSize { inputs: 1, cost: 0.0 };
    parts.units = parts.graph().cut_sums(&Prices::new(), size).units().to_vec();
    parts.replan();
    assert!(parts.verify().is_ok(), "nothing is broken yet");
    let own: Vec<UnitId> =
        parts.ids().into_iter().filter(|id| parts.units[id.index()].is_part()).collect();
    let part = random.pick(&own)?;
    let next = parts.units[part.index()].successors[0];
    Some((parts, part, next))
}

fn r3_part_gain(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, _, next) = with_parts(parts, random)?;
    parts.unit(next).inputs[0].gain_lin = 0.5;
    Some(parts)
}

fn r3_part_second(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, _, next) = with_parts(parts, random)?;
    parts.unit(next).inputs.swap(0, 1);
    Some(parts)
}

fn r3_part_twice(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, part, next) = with_parts(parts, random)?;
    parts.unit(next).inputs.push(reads(part));
    Some(parts)
}

fn r3_part_shared(parts: Parts, random: &mut Random) -> Option<Parts> {
    let (mut parts, part, next) = with_parts(parts, random)?;
    let behind = parts.unit(next).successors.first().copied()?;
    parts.unit(part).successors.push(behind);
    parts.unit(part).successors.sort_unstable();
    Some(parts)
}

fn r4_cut(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    parts.cut(from, to);
    parts.replan();
    // The cut unit may no longer lead to the output (R8); reading comes first, as a lost order is
    // worse than a lost unit.
    Some(parts)
}

fn r4_folded(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let unit = parts.unit(id);
    let nobody = Source::Folded(unit.folded.len() as u32);
    unit.inputs.push(UnitInput::stereo(nobody, 1.0));
    Some(parts)
}

fn r4_self(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    parts.unit(id).inputs.push(reads(id));
    Some(parts)
}

/// Also a cycle (R5); what is read comes before when it is run.
fn r4_own_predecessor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let unit = parts.unit(id);
    unit.inputs.push(reads(id));
    for links in [&mut unit.predecessors, &mut unit.successors] {
        links.push(id);
        links.sort_unstable();
    }
    Some(parts)
}

fn r4_stranger(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let known = parts.unit(id).predecessors.clone();
    let strangers: Vec<UnitId> =
        parts.ids().into_iter().filter(|other| *other != id && !known.contains(other)).collect();
    let from = random.pick(&strangers)?;
    parts.unit(id).inputs.push(reads(from));
    Some(parts)
}

fn r5_swap(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    if parts.schedule.kind.follows_readiness() {
        return None;
    }
    let (from, to) = random.pick(&parts.edges())?;
    let (from_at, to_at) = (parts.place_of(from)?, parts.place_of(to)?);
    // On two workers the countdown keeps the order.
    if parts.schedule.kind == ScheduleKind::Critical && from_at.0 != to_at.0 {
        return None;
    }
    parts.schedule.lists[from_at.0][from_at.1] = Step::Run(to);
    parts.schedule.lists[to_at.0][to_at.1] = Step::Run(from);
    Some(parts)
}

/// Joins two phases in which one worker's unit waits for another worker's.
fn r5_no_barrier(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    if parts.schedule.kind != ScheduleKind::Lists {
        return None;
    }
    let phase_of = |(worker, place): (usize, usize)| {
        let before = &parts.schedule.lists[worker][..place];
        before.iter().filter(|step| **step == Step::Barrier).count()
    };
    let across = |(from, to): (UnitId, UnitId)| {
        let (from, to) = (parts.place_of(from)?, parts.place_of(to)?);
        (from.0 != to.0 && phase_of(from) + 1 == phase_of(to)).then(|| phase_of(from))
    };
    let needed: Vec<usize> = parts.edges().into_iter().filter_map(across).collect();
    let barrier = random.pick(&needed)?;
    parts.schedule.lists.iter_mut().for_each(|list| remove_barrier(list, barrier));
    Some(parts)
}

/// The output feeds a unit that it needs itself, in step with all countdowns.
fn r5_cycle(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (_, waiting) = random.pick(&parts.edges())?;
    let output = parts.graph().last();
    parts.unit(output).successors.push(waiting);
    parts.unit(waiting).predecessors.push(output);
    parts.unit(waiting).predecessors.sort_unstable();
    Some(parts)
}

/// Takes the barrier with this number out of a list.
pub fn remove_barrier(list: &mut Vec<Step>, number: usize) {
    let mut places = (0..list.len()).filter(|place| list[*place] == Step::Barrier);
    if let Some(place) = places.nth(number) {
        list.remove(place);
    }
}

fn r6_missing(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    if parts.schedule.lists.len() < 2 {
        return None;
    }
    let barriers: Vec<_> =
        parts.steps().into_iter().filter(|(_, _, step)| *step == Step::Barrier).collect();
    let (worker, place, _) = random.pick(&barriers)?;
    parts.schedule.lists[worker].remove(place);
    Some(parts)
}

fn r6_extra(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    if parts.schedule.kind != ScheduleKind::Lists || parts.schedule.lists.len() < 2 {
        return None;
    }
    let worker = random.below(parts.schedule.lists.len());
    parts.schedule.lists[worker].push(Step::Barrier);
    Some(parts)
}

fn r6_wrong_kind(mut parts: Parts, _: &mut Random) -> Option<Parts> {
    if parts.schedule.kind == ScheduleKind::Lists {
        return None;
    }
    parts.schedule.lists.iter_mut().for_each(|list| list.push(Step::Barrier));
    Some(parts)
}

fn r7_lost_successor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    parts.unit(from).successors.retain(|id| *id != to);
    Some(parts)
}

fn r7_lost_predecessor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    parts.unit(to).predecessors.retain(|id| *id != from);
    // An input that stayed would break R4 as well, which answers first.
    parts.unit(to).inputs.retain(|input| input.from != Source::Unit(from));
    parts.replan();
    Some(parts)
}

fn r7_twice(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, to) = random.pick(&parts.edges())?;
    parts.unit(from).successors.push(to);
    parts.unit(from).successors.sort_unstable();
    Some(parts)
}

fn r7_unsorted(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let wide: Vec<UnitId> =
        parts.ids().into_iter().filter(|id| parts.units[id.index()].successors.len() > 1).collect();
    let id = random.pick(&wide)?;
    parts.unit(id).successors.reverse();
    Some(parts)
}

fn r7_extra_successor(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let id = random.pick(&parts.ids())?;
    let known = parts.unit(id).successors.clone();
    let later = parts.ids().into_iter().skip(id.index() + 1);
    let strangers: Vec<UnitId> = later.filter(|other| !known.contains(other)).collect();
    let stranger = random.pick(&strangers)?;
    parts.unit(id).successors.push(stranger);
    parts.unit(id).successors.sort_unstable();
    Some(parts)
}

fn r8_cut_off(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let (from, _) = random.pick(&parts.edges())?;
    for to in parts.unit(from).successors.clone() {
        parts.cut(from, to);
        parts.unit(to).inputs.retain(|input| input.from != Source::Unit(from));
    }
    parts.replan();
    Some(parts)
}

/// The last node changes places with a node of another unit.
fn r8_early_output(mut parts: Parts, random: &mut Random) -> Option<Parts> {
    let output = parts.graph().last();
    let (early, _) = random.pick(&parts.edges())?;
    let swapped = parts.unit(early).nodes[0];
    let last = NodeId(parts.whole.node_count() as u32 - 1);
    parts.unit(early).nodes[0] = last;
    let place = parts.unit(output).nodes.iter().position(|node| *node == last)?;
    parts.unit(output).nodes[place] = swapped;
    Some(parts)
}

fn r9_no_worker(mut parts: Parts, _: &mut Random) -> Option<Parts> {
    parts.schedule.lists.clear();
    Some(parts)
}

fn r9_no_unit(mut parts: Parts, _: &mut Random) -> Option<Parts> {
    parts.units.clear();
    parts.whole = UnitGraph::from_units(Vec::new(), 0);
    parts.schedule.lists.iter_mut().for_each(Vec::clear);
    Some(parts)
}

fn r9_too_many(mut parts: Parts, _: &mut Random) -> Option<Parts> {
    parts.schedule.lists.resize(VerifiedSchedule::MAX_WORKERS + 1, Vec::new());
    Some(parts)
}

fn r9_two_serial(mut parts: Parts, _: &mut Random) -> Option<Parts> {
    parts.schedule.kind = ScheduleKind::Serial;
    parts.schedule.lists.resize(parts.schedule.lists.len().max(2), Vec::new());
    Some(parts)
}

/// How often a way of breaking must have been possible for a test to count.
const AT_LEAST: usize = 100;

/// Breaks `rule` in this way in random cases until it has been refused often enough.
fn check_refused(rule: Rule, how: &str, breaking: Breaking) {
    let refused = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(1000));
    let outcome = runner.run(&cases(80), |case| {
        let parts = Parts::of(&case);
        prop_assert!(parts.verify().is_ok(), "whole before it is broken");
        if let Some(broken) = breaking(parts, &mut Random(case.seed)) {
            prop_assert_eq!(broken.verify().err(), Some(rule), "{}", how);
            refused.set(refused.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{rule:?}, {how}: {error}"));
    let refused = refused.get();
    assert!(refused >= AT_LEAST, "{rule:?}, {how}: only {refused} cases could be broken so");
}

fn check_rule(rule: Rule) {
    for (how, breaking) in breakings(rule) {
        check_refused(rule, how, *breaking);
    }
}

#[test]
fn r1_is_refused_when_broken() {
    check_rule(Rule::R1InRange);
}

#[test]
fn r2_is_refused_when_broken() {
    check_rule(Rule::R2Once);
}

#[test]
fn r3_is_refused_when_broken() {
    check_rule(Rule::R3OneWriter);
}

#[test]
fn r4_is_refused_when_broken() {
    check_rule(Rule::R4ReadsPredecessors);
}

#[test]
fn r5_is_refused_when_broken() {
    check_rule(Rule::R5Order);
}

#[test]
fn r6_is_refused_when_broken() {
    check_rule(Rule::R6Barriers);
}

#[test]
fn r7_is_refused_when_broken() {
    check_rule(Rule::R7Mirror);
}

#[test]
fn r8_is_refused_when_broken() {
    check_rule(Rule::R8Last);
}

#[test]
fn r9_is_refused_when_broken() {
    check_rule(Rule::R9Shape);
}

/// `breakings` matches every variant; here every variant is in the list, in its order, once.
#[test]
fn rule_list_is_complete_and_in_order() {
    let names: Vec<String> = Rule::ALL.iter().map(|rule| format!("{rule:?}")).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(name.starts_with(&format!("R{}", i + 1)), "{name} stands at {i}");
    }
    assert_eq!(Rule::ALL.iter().collect::<BTreeSet<_>>().len(), Rule::ALL.len());
    assert!(Rule::ALL.iter().all(|rule| !breakings(*rule).is_empty()));
}

#[test]
fn one_more_barrier_for_everybody_is_allowed() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(200));
    let outcome = runner.run(&cases(80), |case| {
        let mut parts = Parts::of(&Case { kind: ScheduleKind::Lists, ..case });
        parts.schedule.lists.iter_mut().for_each(|list| list.insert(0, Step::Barrier));
        prop_assert!(parts.verify().is_ok());
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn planning_broken_units_is_a_violation_and_no_panic() {
    for kind in ScheduleKind::ALL {
        let plan = |units, nodes| {
            let units = UnitGraph::from_units(units, nodes);
            VerifiedSchedule::plan(kind, units, 2).map_err(|violation| violation.rule)
        };
        assert_eq!(plan(Vec::new(), 0).err(), Some(Rule::R9Shape));
        assert_eq!(plan(vec![unit(&[0], &[7], &[])], 1).err(), Some(Rule::R1InRange));
        assert_eq!(plan(vec![unit(&[], &[], &[])], 0).err(), Some(Rule::R3OneWriter));
        // Reads itself: no worker could ever start it.
        let own_tail = plan(vec![unit(&[0], &[0], &[0])], 1).err();
        assert!(own_tail.is_some(), "{kind:?}");
    }
}

/// A graph orders its units so; units from elsewhere may stand otherwise.
#[test]
fn a_unit_before_its_predecessor_is_refused_by_the_planner_of_critical_only() {
    for kind in ScheduleKind::ALL {
        let units = vec![unit(&[0], &[], &[2]), unit(&[1], &[2], &[]), unit(&[2], &[0], &[1])];
        let planned = VerifiedSchedule::plan(kind, UnitGraph::from_units(units, 3), 2);
        let refused = "R5Order: unit 1 'alone: work' comes before its predecessors";
        let answer = planned.map_or_else(|violation| violation.to_string(), |_| String::new());
        assert_eq!(answer == refused, kind == ScheduleKind::Critical, "{kind:?}: {answer}");
    }
}

/// A sum of two with links to a unit behind the last is not cut: the rules refuse it.
#[test]
fn a_sum_with_links_to_nobody_stays_whole() {
    let nobody = UnitId(3);
    let damages: [fn(&mut [Unit], UnitId); 4] = [
        |_, _| {},
        |units, nobody| units[2].inputs.push(reads(nobody)),
        |units, nobody| units[2].predecessors.push(nobody),
        |units, nobody| units[0].successors.push(nobody),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut units =
            vec![unit(&[0], &[], &[2]), unit(&[1], &[], &[2]), unit(&[2], &[0, 1], &[])];
        units[2].inputs = vec![reads(UnitId(0)), reads(UnitId(1))];
        damage(&mut units, nobody);
        let size = PartSize { inputs: 1, cost: 0.0 };
        let cut = UnitGraph::from_units(units.clone(), 3).cut_sums(&Prices::new(), size);
        assert_eq!(cut.units() == units, number > 0, "damage {number}: {:?}", cut.units());
        if number == 0 {
            let in_parts = (0..4).filter(|id| cut.sums_in_parts(UnitId(*id)));
            let names = in_parts.map(|id| cut.units()[id as usize].name.as_str());
            assert_eq!(names.collect::<Vec<_>>(), ["alone: sum, part 1 of 2", "alone: work"]);
        }
    }
}

fn unit(nodes: &[u32], predecessors: &[u32], successors: &[u32]) -> Unit {
    let ids = |ids: &[u32]| ids.iter().map(|id| UnitId(*id)).collect();
    Unit {
        folded: Vec::new(),
        couples: Vec::new(),
        name: "alone: work".into(),
        nodes: nodes.iter().map(|node| NodeId(*node)).collect(),
        inputs: Vec::new(),
        rows: 2,
        predecessors: ids(predecessors),
        successors: ids(successors),
        cost: 1.0,
        rank: 1.0,
        latency_frames: 0,
    }
}

#[test]
fn accessors_of_nothing_do_not_panic() {
    let nothing = UnitGraph::from_units(Vec::new(), 0);
    assert_eq!(nothing.last(), UnitId(0));
    assert_eq!(nothing.critical_path(), Vec::new());
    assert_eq!(nothing.levels(), Vec::<usize>::new());
    assert_eq!(nothing.critical_path_cost(), 0.0);
}

#[test]
fn violation_names_rule_and_place() {
    let parts = Parts {
        units: vec![unit(&[0], &[], &[])],
        whole: UnitGraph::from_units(Vec::new(), 1),
        schedule: Schedule { kind: ScheduleKind::Serial, lists: vec![Vec::new()] },
    };
    let violation = VerifiedSchedule::verify(parts.graph(), parts.schedule).unwrap_err();
    assert_eq!(violation.to_string(), "R2Once: unit 0 'alone: work' is listed 0 times, not 1");
}
