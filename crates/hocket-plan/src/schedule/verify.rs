//! The rules that every schedule obeys, and the only door into an engine.

use std::fmt;

use super::{Schedule, ScheduleKind, Step, Team};
use crate::compile::{Port, PortId, Source, Unit, UnitGraph, UnitId, UnitInput};
use crate::graph::NodeId;

/// What must hold so that a block can run a schedule without further checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// R1: every index is in range: steps, inputs, predecessors and successors name existing units; inputs name existing
    /// chains, ports, lines and rows, couples name two existing chains and no chain is in two couples, and each line belongs to one input. An event input names the line of the node that writes
    /// last in the chain that it reads.
    R1InRange,
    /// R2: every unit runs exactly once per block.
    R2Once,
    /// R3: every node belongs to exactly one chain of one unit and every chain has a node, so every
    /// chain has a bus and a bus has exactly one writer. A unit without a node is a part of a sum: it has
    /// inputs and one successor, which goes on with its bus, first and at a gain of 1. Or it is the end of the block,
    /// which has predecessors and nothing else, and of which there is one at most.
    R3OneWriter,
    /// R4: a chain reads only the buses of its unit's predecessors, and of chains folded into its unit
    /// before it; never its own, and never the one that it is coupled with.
    R4ReadsPredecessors,
    /// R5: a unit starts after all its predecessors have finished, whatever the timing.
    R5Order,
    /// R6: every worker passes the same number of barriers, so nobody waits for ever.
    R6Barriers,
    /// R7: predecessors and successors mirror each other, so every countdown reaches zero once.
    R7Mirror,
    /// R8: every unit is the last one or leads to it, so when it has run, all have. Each output of the graph is the own
    /// bus of a unit.
    R8Last,
    /// R9: there is at least one worker and one unit. `serial` has one worker, the others at most
    /// [`VerifiedSchedule::MAX_WORKERS`].
    R9Shape,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 9] = [
        Rule::R1InRange,
        Rule::R2Once,
        Rule::R3OneWriter,
        Rule::R4ReadsPredecessors,
        Rule::R5Order,
        Rule::R6Barriers,
        Rule::R7Mirror,
        Rule::R8Last,
        Rule::R9Shape,
    ];
}

/// A rule that a schedule breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Where and how.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.detail)
    }
}

impl std::error::Error for Violation {}

/// A schedule that obeys every [`Rule`]; only [`VerifiedSchedule::verify`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedSchedule {
    units: UnitGraph,
    schedule: Schedule,
    last: UnitId,
    barriers: usize,
}

impl VerifiedSchedule {
    /// The most workers a schedule may have.
    pub const MAX_WORKERS: usize = 512;

    /// Checks `schedule` for `units`.
    ///
    /// Cost: O(units + edges + steps).
    ///
    /// # Errors
    /// The first [`Violation`] found, rules in the order of [`Rule::ALL`] as far as they build on
    /// each other.
    pub fn verify(units: UnitGraph, schedule: Schedule) -> Result<VerifiedSchedule, Violation> {
        check_shape(&units, &schedule)?;
        check_links_in_range(&units)?;
        check_steps_in_range(&units, &schedule)?;
        check_writers(&units)?;
        check_couples(&units)?;
        check_reads(&units)?;
        check_mirror(&units)?;
        check_barriers(&schedule)?;
        check_once(&units, &schedule)?;
        check_order(&units, &schedule)?;
        let last = units.last();
        check_last(&units, last)?;
        check_rows(&units)?;
        let barriers = barrier_count(&schedule.lists[0]);
        Ok(VerifiedSchedule { units, schedule, last, barriers })
    }

    /// Plans, then checks.
    ///
    /// # Errors
    /// As [`VerifiedSchedule::verify`]; a planner's own output never fails (tested on random
    /// graphs).
    pub fn plan(
        kind: ScheduleKind,
        units: UnitGraph,
        workers: usize,
    ) -> Result<VerifiedSchedule, Violation> {
        Self::plan_for(kind, units, &Team::alike(workers.max(1)))
    }

    /// Plans for these workers, then checks.
    ///
    /// # Errors
    /// As [`VerifiedSchedule::plan`].
    pub fn plan_for(
        kind: ScheduleKind,
        units: UnitGraph,
        team: &Team,
    ) -> Result<VerifiedSchedule, Violation> {
        // A planner follows the links, so they are checked before it does.
        check_links_in_range(&units)?;
        check_planned_order(kind, &units)?;
        let schedule = Schedule::plan_for(kind, &units, team);
        Self::verify(units, schedule)
    }

    /// The units.
    pub fn units(&self) -> &UnitGraph {
        &self.units
    }

    /// How it runs.
    pub fn kind(&self) -> ScheduleKind {
        self.schedule.kind
    }

    /// Number of workers it was made for.
    pub fn workers(&self) -> usize {
        self.schedule.lists.len()
    }

    /// The list of one worker.
    pub fn list(&self, worker: usize) -> &[Step] {
        &self.schedule.lists[worker]
    }

    /// The unit with which the block ends.
    pub fn last(&self) -> UnitId {
        self.last
    }

    /// How many barriers every worker passes in a block.
    pub fn barriers(&self) -> usize {
        self.barriers
    }
}

/// `critical` walks units in their own order, predecessors first.
fn check_planned_order(kind: ScheduleKind, units: &UnitGraph) -> Result<(), Violation> {
    let early = |(i, unit): &(usize, &Unit)| unit.predecessors.iter().any(|p| p.index() >= *i);
    match units.units().iter().enumerate().find(early) {
        Some((i, unit)) if kind == ScheduleKind::Critical => {
            broken(Rule::R5Order, format!("unit {i} '{}' comes before its predecessors", unit.name))
        }
        _ => Ok(()),
    }
}

fn broken(rule: Rule, detail: String) -> Result<(), Violation> {
    Err(Violation { rule, detail })
}

fn check_shape(units: &UnitGraph, schedule: &Schedule) -> Result<(), Violation> {
    let workers = schedule.lists.len();
    if units.units().is_empty() || workers == 0 {
        return broken(Rule::R9Shape, format!("{} units, {workers} workers", units.units().len()));
    }
    if workers > VerifiedSchedule::MAX_WORKERS {
        return broken(Rule::R9Shape, format!("{workers} workers"));
    }
    if schedule.kind == ScheduleKind::Serial && workers != 1 {
        return broken(Rule::R9Shape, format!("serial with {workers} workers"));
    }
    Ok(())
}

fn check_links_in_range(units: &UnitGraph) -> Result<(), Violation> {
    let named = units.units().iter().flat_map(|unit| {
        let inputs = unit.all_inputs().filter_map(|input| input.from.unit());
        let around = unit.predecessors.iter().chain(&unit.successors).copied();
        inputs.chain(around)
    });
    all_in_range(named, units.units().len())
}

fn check_steps_in_range(units: &UnitGraph, schedule: &Schedule) -> Result<(), Violation> {
    let steps = schedule.lists.iter().flatten().filter_map(|step| match step {
        Step::Run(id) => Some(*id),
        Step::Barrier => None,
    });
    all_in_range(steps, units.units().len())
}

fn all_in_range(mut ids: impl Iterator<Item = UnitId>, count: usize) -> Result<(), Violation> {
    match ids.find(|id| id.index() >= count) {
        Some(id) => broken(Rule::R1InRange, format!("unit {} of {count}", id.0)),
        None => Ok(()),
    }
}

fn check_writers(units: &UnitGraph) -> Result<(), Violation> {
    let mut writers = vec![0u32; units.node_count()];
    for node in units.units().iter().flat_map(|unit| unit.all_nodes()) {
        match writers.get_mut(node.index()) {
            Some(count) => *count += 1,
            None => return broken(Rule::R3OneWriter, format!("node {} does not exist", node.0)),
        }
    }
    if let Some(node) = writers.iter().position(|count| *count != 1) {
        return broken(Rule::R3OneWriter, format!("node {node} in {} units", writers[node]));
    }
    let ends = units.units().iter().filter(|unit| unit.is_end()).count();
    let empty = |(i, unit): (usize, &Unit)| {
        let part = !unit.is_part() || is_sound_part(units, UnitId(i as u32));
        let alone = unit.predecessors.is_empty() || !unit.successors.is_empty();
        let end = !unit.is_end() || ends == 1 && !alone;
        !part || !end || unit.folded.iter().any(|chain| chain.nodes.is_empty())
    };
    match units.units().iter().enumerate().position(empty) {
        Some(i) => broken(Rule::R3OneWriter, format!("unit {i} has a chain without a node")),
        None => Ok(()),
    }
}

/// Whether a unit without nodes is a part of the sum that its only successor goes on with.
fn is_sound_part(units: &UnitGraph, id: UnitId) -> bool {
    let part = &units.units()[id.index()];
    let [next] = part.successors[..] else { return false };
    let next = &units.units()[next.index()];
    let onward = UnitInput::onward(id, part.rows);
    let reads = next.all_inputs().filter(|input| input.from == onward.from).count();
    part.folded.is_empty()
        && !part.inputs.is_empty()
        && next.inputs.first() == Some(&onward)
        && reads == 1
}

/// Whether all couples are made of two chains.
fn check_couples(units: &UnitGraph) -> Result<(), Violation> {
    let apart =
        |couples: &[u32]| couples.windows(2).all(|two| two[0] < two[1] && two[1] - two[0] > 1);
    let is_wrong = |unit: &Unit| {
        let exist = unit.couples.iter().all(|place| (*place as usize) < unit.folded.len());
        !exist || !apart(&unit.couples)
    };
    match units.units().iter().position(is_wrong) {
        Some(i) => broken(
            Rule::R1InRange,
            format!("unit {i} has the couples {:?}", units.units()[i].couples),
        ),
        None => Ok(()),
    }
}

fn check_reads(units: &UnitGraph) -> Result<(), Violation> {
    for (i, unit) in units.units().iter().enumerate() {
        let folded = unit.folded.iter().map(|chain| &chain.inputs);
        for (place, inputs) in folded.chain([&unit.inputs]).enumerate() {
            let stray = inputs.iter().find(|input| !may_read(unit, i, place, input));
            if let Some(input) = stray {
                let detail = format!("unit {i} '{}' reads {:?}", unit.name, input.from);
                return broken(Rule::R4ReadsPredecessors, detail);
            }
        }
    }
    Ok(())
}

/// Whether the chain at `place` of unit `i` (the unit's own chain is the last) may read `input`.
fn may_read(unit: &Unit, i: usize, place: usize, input: &UnitInput) -> bool {
    match input.from {
        Source::Unit(from) | Source::Coupled(from, _) => {
            from.index() != i && unit.predecessors.binary_search(&from).is_ok()
        }
        Source::Folded(index) => {
            let coupled = unit.couples.contains(&index) && index as usize + 1 == place;
            (index as usize) < place && !coupled
        }
        // A port is written before the block begins; `check_rows` looks whether it exists.
        Source::Port(_) => true,
    }
}

/// Whether all rows, ports and lines that inputs name exist, each line belongs to one input, and outputs have buses.
fn check_rows(units: &UnitGraph) -> Result<(), Violation> {
    let mut lines = vec![0u32; units.lines().len()];
    let mut event_lines = vec![0u32; units.event_lines().len()];
    for (i, unit) in units.units().iter().enumerate() {
        let folded = unit.folded.iter().map(|chain| (&chain.inputs, chain.rows));
        for (inputs, rows) in folded.chain([(&unit.inputs, unit.rows)]) {
            for input in inputs {
                if !rows_exist(units, unit, rows, input) {
                    let detail = format!("unit {i} '{}': rows of {input:?}", unit.name);
                    return broken(Rule::R1InRange, detail);
                }
                // The check above found the line in range.
                input.line.into_iter().for_each(|line| lines[line.0 as usize] += 1);
                input.events.into_iter().for_each(|line| event_lines[line.0 as usize] += 1);
            }
        }
        if let Some(narrow) = narrow_node(units, unit) {
            let detail =
                format!("unit {i} '{}': node {} is wider than its bus", unit.name, narrow.0);
            return broken(Rule::R1InRange, detail);
        }
    }
    if let Some(line) = lines.iter().position(|count| *count != 1) {
        return broken(Rule::R1InRange, format!("line {line} in {} inputs", lines[line]));
    }
    if let Some(line) = event_lines.iter().position(|count| *count != 1) {
        let detail = format!("event line {line} in {} inputs", event_lines[line]);
        return broken(Rule::R1InRange, detail);
    }
    let fed_back = units.ports().iter().filter_map(|port| match port {
        Port::Feedback { from, .. } => Some(from),
        Port::Input { .. } => None,
    });
    match units.outputs().iter().chain(fed_back).find(|node| units.unit_of(**node).is_none()) {
        Some(node) => broken(
            Rule::R8Last,
            format!("node {} is heard outside and is no unit's own bus", node.0),
        ),
        None => Ok(()),
    }
}

fn rows_exist(units: &UnitGraph, unit: &Unit, own: u16, input: &UnitInput) -> bool {
    let of_port = |port: &Port| match port {
        Port::Input { rows, .. } | Port::Feedback { rows, .. } => *rows,
    };
    let source = match input.from {
        Source::Unit(from) => Some(units.units()[from.index()].rows),
        Source::Folded(index) => unit.folded.get(index as usize).map(|chain| chain.rows),
        Source::Coupled(from, index) => {
            units.units()[from.index()].folded.get(index as usize).map(|chain| chain.rows)
        }
        Source::Port(PortId(port)) => units.ports().get(port as usize).map(of_port),
    };
    let reaches =
        |first: u16, rows: u16| u32::from(first) + u32::from(input.span.count) <= u32::from(rows);
    let line = input.line.is_none_or(|line| {
        let line = units.lines().get(line.0 as usize);
        line.is_some_and(|line| line.span == input.span)
    });
    line && event_line_exists(units, unit, input)
        && reaches(input.span.to, own)
        && source.is_some_and(|rows| reaches(input.span.from, rows))
}

/// Whether the line of an event input belongs to the node that the input reads.
fn event_line_exists(units: &UnitGraph, unit: &Unit, input: &UnitInput) -> bool {
    let Some(line) = input.events else { return true };
    let nodes = match input.from {
        Source::Unit(from) => Some(&units.units()[from.index()].nodes),
        Source::Folded(index) => unit.folded.get(index as usize).map(|chain| &chain.nodes),
        // Chains with events are never coupled.
        Source::Coupled(..) | Source::Port(_) => None,
    };
    let line = units.event_lines().get(line.0 as usize);
    let writer = line.map(|line| line.from);
    input.span.count == 0
        && writer.is_some()
        && nodes.and_then(|nodes| nodes.last()) == writer.as_ref()
}

/// A node of the unit that needs more rows than its chain has.
fn narrow_node(units: &UnitGraph, unit: &Unit) -> Option<NodeId> {
    let folded = unit.folded.iter().map(|chain| (&chain.nodes, chain.rows));
    let mut chains = folded.chain([(&unit.nodes, unit.rows)]);
    let wide = |node: &NodeId, rows| units.node_ports()[node.index()].rows() > rows;
    chains.find_map(|(nodes, rows)| nodes.iter().copied().find(|node| wide(node, rows)))
}

fn check_mirror(units: &UnitGraph) -> Result<(), Violation> {
    let all = units.units();
    for (i, unit) in all.iter().enumerate() {
        let id = UnitId(i as u32);
        let strictly_rising = |ids: &[UnitId]| ids.windows(2).all(|pair| pair[0] < pair[1]);
        let mirrored = strictly_rising(&unit.predecessors)
            && strictly_rising(&unit.successors)
            && unit
                .predecessors
                .iter()
                .all(|p| all[p.index()].successors.binary_search(&id).is_ok())
            && unit
                .successors
                .iter()
                .all(|s| all[s.index()].predecessors.binary_search(&id).is_ok());
        if !mirrored {
            return broken(
                Rule::R7Mirror,
                format!("the links of unit {i} '{}' do not match its neighbours'", unit.name),
            );
        }
    }
    Ok(())
}

fn barrier_count(list: &[Step]) -> usize {
    list.iter().filter(|step| **step == Step::Barrier).count()
}

fn check_barriers(schedule: &Schedule) -> Result<(), Violation> {
    let first = barrier_count(&schedule.lists[0]);
    for (worker, list) in schedule.lists.iter().enumerate() {
        let count = barrier_count(list);
        if count != first || (count > 0 && schedule.kind != ScheduleKind::Lists) {
            let detail = format!("worker {worker} passes {count}, worker 0 {first}");
            return broken(Rule::R6Barriers, detail);
        }
    }
    Ok(())
}

fn check_once(units: &UnitGraph, schedule: &Schedule) -> Result<(), Violation> {
    let mut runs = vec![0u32; units.units().len()];
    for step in schedule.lists.iter().flatten() {
        if let Step::Run(id) = step {
            runs[id.index()] += 1;
        }
    }
    for (i, unit) in units.units().iter().enumerate() {
        // Else the worker that finishes the last of its predecessors runs the unit.
        let stands = !schedule.kind.follows_readiness() || unit.predecessors.is_empty();
        let expected = u32::from(stands);
        if runs[i] != expected {
            let detail =
                format!("unit {i} '{}' is listed {} times, not {expected}", unit.name, runs[i]);
            return broken(Rule::R2Once, detail);
        }
    }
    Ok(())
}

/// When a unit runs: between which barriers, on which worker, at which place of its list.
#[derive(Clone, Copy)]
struct When {
    phase: usize,
    worker: usize,
    place: usize,
}

fn check_order(units: &UnitGraph, schedule: &Schedule) -> Result<(), Violation> {
    match schedule.kind {
        // The countdowns keep the order at run time; here it is enough that they can all reach zero.
        ScheduleKind::Dataflow | ScheduleKind::Steal => check_acyclic(units, &[]),
        // A unit also waits for the one before it in its list.
        ScheduleKind::Critical => check_acyclic(units, &schedule.lists),
        ScheduleKind::Serial | ScheduleKind::Lists => check_lists_order(units, schedule),
    }
}

/// Whether all units can run if each waits for its predecessors and for its neighbour in `lists`.
fn check_acyclic(units: &UnitGraph, lists: &[Vec<Step>]) -> Result<(), Violation> {
    let mut waiting: Vec<usize> = units.units().iter().map(|u| u.predecessors.len()).collect();
    let next = next_in_list(units.units().len(), lists);
    next.iter().flatten().for_each(|id| waiting[id.index()] += 1);
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|i| waiting[*i] == 0).collect();
    let mut reached = 0;
    while let Some(i) = ready.pop() {
        reached += 1;
        for to in units.units()[i].successors.iter().chain(&next[i]) {
            waiting[to.index()] -= 1;
            if waiting[to.index()] == 0 {
                ready.push(to.index());
            }
        }
    }
    if reached == waiting.len() {
        return Ok(());
    }
    broken(Rule::R5Order, format!("{} units wait for each other", waiting.len() - reached))
}

/// The unit that follows each in its list.
fn next_in_list(count: usize, lists: &[Vec<Step>]) -> Vec<Option<UnitId>> {
    let mut next = vec![None; count];
    for pair in lists.iter().flat_map(|list| list.windows(2)) {
        if let [Step::Run(before), Step::Run(after)] = pair {
            next[before.index()] = Some(*after);
        }
    }
    next
}

fn check_lists_order(units: &UnitGraph, schedule: &Schedule) -> Result<(), Violation> {
    let when = whens(units, schedule);
    for (i, unit) in units.units().iter().enumerate() {
        for before in &unit.predecessors {
            let (a, b) = (when[before.index()], when[i]);
            let same_list = a.worker == b.worker && a.place < b.place;
            if a.phase >= b.phase && !same_list {
                let detail = format!("unit {i} '{}' may start before unit {}", unit.name, before.0);
                return broken(Rule::R5Order, detail);
            }
        }
    }
    Ok(())
}

fn whens(units: &UnitGraph, schedule: &Schedule) -> Vec<When> {
    let mut when = vec![When { phase: 0, worker: 0, place: 0 }; units.units().len()];
    for (worker, list) in schedule.lists.iter().enumerate() {
        let mut phase = 0;
        for (place, step) in list.iter().enumerate() {
            match step {
                Step::Run(id) => when[id.index()] = When { phase, worker, place },
                Step::Barrier => phase += 1,
            }
        }
    }
    when
}

fn check_last(units: &UnitGraph, last: UnitId) -> Result<(), Violation> {
    let mut leads = vec![false; units.units().len()];
    leads[last.index()] = true;
    let mut open = vec![last];
    while let Some(id) = open.pop() {
        for before in &units.units()[id.index()].predecessors {
            if !std::mem::replace(&mut leads[before.index()], true) {
                open.push(*before);
            }
        }
    }
    match leads.iter().position(|reached| !reached) {
        Some(i) => {
            let name = &units.units()[i].name;
            broken(Rule::R8Last, format!("unit {i} '{name}' does not lead to the end of the block"))
        }
        None => Ok(()),
    }
}
