//! An executable model: what happens when workers run a schedule, one action at a time.
//!
//! Starting and finishing a unit are two actions, so units overlap; any worker that can act may be
//! chosen next, so every interleaving of a real machine is one of the model's. The model knows the
//! protocols (lists with barriers, countdowns with a set of offered units) and none of the rules:
//! it finds out what a schedule does.

use hocket_plan::compile::{Source, UnitInput};
use hocket_plan::{Schedule, ScheduleKind, Step, UnitGraph, UnitId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::broken::{Parts, remove_barrier};
use crate::random::{Case, Random, cases};

/// What a worker can do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Ends the unit that it runs.
    Finish(usize),
    /// Takes the next step of its list.
    Step(usize),
    /// Takes the next step of another worker's list, in place of that worker.
    Rescue(usize, usize),
    /// Leaves a barrier at which everybody is.
    Leave(usize),
    /// Takes the offered unit at this index.
    Take(usize, usize),
    /// Runs the successor that it kept for itself.
    Follow(usize),
}

impl Action {
    fn worker(self) -> usize {
        match self {
            Action::Finish(w)
            | Action::Step(w)
            | Action::Leave(w)
            | Action::Rescue(w, _)
            | Action::Take(w, _)
            | Action::Follow(w) => w,
        }
    }
}

/// How a run goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// A unit starts before this predecessor has finished.
    Early(UnitId),
    /// A unit starts again.
    Twice(UnitId),
    /// A unit with more finished predecessors than it waits for.
    Countdown(UnitId),
    /// Nobody can act and the block is not over.
    Stuck,
    /// The block is over and this unit has not run.
    Missed(UnitId),
}

#[derive(Default, Clone)]
struct Worker {
    place: usize,
    running: Option<UnitId>,
    kept: Option<UnitId>,
    at_barrier: bool,
    barriers: usize,
}

struct Model<'a> {
    units: &'a UnitGraph,
    schedule: &'a Schedule,
    workers: Vec<Worker>,
    /// How many workers have come to each barrier.
    arrived: Vec<usize>,
    offered: Vec<UnitId>,
    waiting: Vec<usize>,
    started: Vec<bool>,
    finished: Vec<bool>,
    buses: Vec<f32>,
}

/// Runs a block; `choose` picks one of the actions (never none) by its index.
/// Returns what the output's bus holds.
fn run(
    units: &UnitGraph,
    schedule: &Schedule,
    choose: &mut dyn FnMut(&[Action]) -> usize,
) -> Result<f32, Failure> {
    let mut model = Model::new(units, schedule);
    while !model.over() {
        let actions = model.actions();
        if actions.is_empty() {
            return Err(Failure::Stuck);
        }
        let action = actions[choose(&actions)];
        model.act(action)?;
    }
    match model.finished.iter().position(|finished| !finished) {
        Some(i) => Err(Failure::Missed(UnitId(i as u32))),
        None => Ok(model.buses[units.last().index()]),
    }
}

impl<'a> Model<'a> {
    fn new(units: &'a UnitGraph, schedule: &'a Schedule) -> Self {
        let count = units.units().len();
        let barriers = |list: &Vec<Step>| list.iter().filter(|s| **s == Step::Barrier).count();
        Model {
            units,
            schedule,
            workers: vec![Worker::default(); schedule.lists.len()],
            arrived: vec![0; schedule.lists.iter().map(barriers).max().unwrap_or(0)],
            offered: Vec::new(),
            waiting: units.units().iter().map(|unit| unit.predecessors.len()).collect(),
            started: vec![false; count],
            finished: vec![false; count],
            buses: vec![f32::NAN; count],
        }
    }

    /// With countdowns the block ends with the output; with lists when every list has ended.
    fn over(&self) -> bool {
        match self.schedule.kind {
            ScheduleKind::Dataflow | ScheduleKind::Steal | ScheduleKind::Critical => {
                self.finished[self.units.last().index()]
            }
            ScheduleKind::Serial | ScheduleKind::Lists => {
                (0..self.workers.len()).all(|w| self.list_ended(w))
            }
        }
    }

    fn list_ended(&self, w: usize) -> bool {
        let worker = &self.workers[w];
        worker.running.is_none()
            && !worker.at_barrier
            && worker.place == self.schedule.lists[w].len()
    }

    fn actions(&self) -> Vec<Action> {
        (0..self.workers.len()).flat_map(|w| self.actions_of(w)).collect()
    }

    fn actions_of(&self, w: usize) -> Vec<Action> {
        let worker = &self.workers[w];
        if worker.running.is_some() {
            return vec![Action::Finish(w)];
        }
        if worker.at_barrier {
            let open = self.arrived[worker.barriers] == self.workers.len();
            return if open { vec![Action::Leave(w)] } else { Vec::new() };
        }
        if worker.kept.is_some() {
            return vec![Action::Follow(w)];
        }
        let own = self.next_of(w).map(|_| Action::Step(w));
        let rescues = (0..self.workers.len()).filter(|v| *v != w && self.may_rescue(*v));
        let rescues = rescues.map(|v| Action::Rescue(w, v));
        let offered = (0..self.offered.len()).map(|i| Action::Take(w, i));
        own.into_iter().chain(rescues).chain(offered).collect()
    }

    /// The next step of a list, if it can be taken: in `critical` a unit waits for its countdown.
    fn next_of(&self, w: usize) -> Option<Step> {
        let step = self.schedule.lists[w].get(self.workers[w].place).copied();
        step.filter(|step| match step {
            Step::Run(id) if self.schedule.kind == ScheduleKind::Critical => {
                self.waiting[id.index()] == 0
            }
            _ => true,
        })
    }

    /// In `critical` whoever is idle may take over for somebody who has not come.
    fn may_rescue(&self, w: usize) -> bool {
        self.schedule.kind == ScheduleKind::Critical && self.next_of(w).is_some()
    }

    fn act(&mut self, action: Action) -> Result<(), Failure> {
        match action {
            Action::Finish(w) => self.finish(w),
            Action::Step(w) => {
                let step = self.schedule.lists[w][self.workers[w].place];
                self.workers[w].place += 1;
                match step {
                    Step::Run(id) => self.start(w, id),
                    Step::Barrier => {
                        self.workers[w].at_barrier = true;
                        self.arrived[self.workers[w].barriers] += 1;
                        Ok(())
                    }
                }
            }
            Action::Rescue(w, other) => {
                let step = self.schedule.lists[other][self.workers[other].place];
                self.workers[other].place += 1;
                match step {
                    Step::Run(id) => self.start(w, id),
                    Step::Barrier => Ok(()),
                }
            }
            Action::Leave(w) => {
                self.workers[w].at_barrier = false;
                self.workers[w].barriers += 1;
                Ok(())
            }
            Action::Take(w, i) => {
                let id = self.offered.swap_remove(i);
                self.start(w, id)
            }
            Action::Follow(w) => match self.workers[w].kept.take() {
                Some(id) => self.start(w, id),
                None => Ok(()),
            },
        }
    }

    /// Reads the inputs as they are now; nobody may find an unfinished one.
    fn start(&mut self, w: usize, id: UnitId) -> Result<(), Failure> {
        if std::mem::replace(&mut self.started[id.index()], true) {
            return Err(Failure::Twice(id));
        }
        let unit = &self.units.units()[id.index()];
        let inputs = unit.inputs.iter().filter_map(unit_of);
        let mut reads = inputs.chain(unit.predecessors.iter().copied());
        if let Some(early) = reads.find(|from| !self.finished[from.index()]) {
            return Err(Failure::Early(early));
        }
        let sum = unit
            .inputs
            .iter()
            .filter_map(|input| Some((unit_of(input)?, input.gain_lin)))
            .fold(0.0f32, |sum, (from, gain)| sum + gain * self.buses[from.index()]);
        self.buses[id.index()] = (sum + 0.1 + unit.nodes[0].0 as f32).sin();
        self.workers[w].running = Some(id);
        Ok(())
    }

    fn finish(&mut self, w: usize) -> Result<(), Failure> {
        let Some(id) = self.workers[w].running.take() else { return Ok(()) };
        self.finished[id.index()] = true;
        for to in &self.units.units()[id.index()].successors {
            let left = self.waiting[to.index()].checked_sub(1).ok_or(Failure::Countdown(*to))?;
            self.waiting[to.index()] = left;
            if !self.schedule.kind.follows_readiness() {
                continue;
            }
            match (left, self.workers[w].kept) {
                (0, None) => self.workers[w].kept = Some(*to),
                (0, Some(_)) => self.offered.push(*to),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whose bus an input reads; the model's units have nothing folded into them.
fn unit_of(input: &UnitInput) -> Option<UnitId> {
    input.from.unit()
}

fn run_at_random(parts: &Parts, random: &mut Random) -> Result<f32, Failure> {
    run(&parts.graph(), &parts.schedule, &mut |actions| random.below(actions.len()))
}

/// Lets `slow` act only where nobody else can.
fn run_with_one_slow(parts: &Parts, slow: usize) -> Result<f32, Failure> {
    run(&parts.graph(), &parts.schedule, &mut |actions| {
        actions.iter().position(|action| action.worker() != slow).unwrap_or(0)
    })
}

/// One slow worker at a time, then a few random interleavings; the first failure.
///
/// For lists one slow worker is the worst case: if a unit can start before its predecessor, it
/// does so when the predecessor's worker is the slow one.
fn run_badly(parts: &Parts, random: &mut Random) -> Result<f32, Failure> {
    let mut last = Ok(0.0);
    for slow in 0..parts.schedule.lists.len() {
        last = run_with_one_slow(parts, slow);
        last?;
    }
    for _ in 0..8 {
        last = run_at_random(parts, random);
        last?;
    }
    last
}

/// The walk of the serial schedule: what every other one must give to the last bit.
fn serial_output(case: &Case) -> f32 {
    let parts = Parts::of(&Case { kind: ScheduleKind::Serial, workers: 1, ..case.clone() });
    run(&parts.graph(), &parts.schedule, &mut |_| 0).expect("serial runs")
}

fn check(cases_count: u32, strategy: impl Strategy<Value = Case>, test: impl Fn(Case)) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases_count));
    let outcome = runner.run(&strategy, |case| {
        test(case);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_verified_schedule_runs_every_unit_once_in_order_and_never_sticks() {
    check(400, cases(120), |case| {
        let parts = Parts::of(&case);
        assert!(parts.verify().is_ok());
        let output = run_badly(&parts, &mut Random(case.seed));
        let output = output.unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(output.to_bits(), serial_output(&case).to_bits());
    });
}

/// Changes lists the way a careless planner would: moves units about, drops barriers for all.
fn shuffle(parts: &mut Parts, random: &mut Random) {
    let lists = &mut parts.schedule.lists;
    for _ in 0..random.below(4) {
        let (from, to) = (random.below(lists.len()), random.below(lists.len()));
        let runs: Vec<usize> =
            (0..lists[from].len()).filter(|i| lists[from][*i] != Step::Barrier).collect();
        match random.pick(&runs) {
            Some(place) if random.below(3) > 0 => {
                let step = lists[from].remove(place);
                let place = random.below(lists[to].len() + 1);
                lists[to].insert(place, step);
            }
            _ => {
                let barriers = lists[0].iter().filter(|s| **s == Step::Barrier).count();
                let number = random.below(barriers.max(1));
                lists.iter_mut().for_each(|list| remove_barrier(list, number));
            }
        }
    }
}

/// The rules are neither too weak (an accepted schedule fails) nor too strong (a refused one
/// would never have failed).
#[test]
fn the_rules_accept_exactly_the_lists_that_cannot_fail() {
    let (accepted, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let small = (cases(24), 1..=4usize).prop_map(|(case, workers)| Case {
        kind: ScheduleKind::Lists,
        workers,
        ..case
    });
    check(3000, small, |case| {
        let mut random = Random(case.seed);
        let mut parts = Parts::of(&case);
        shuffle(&mut parts, &mut random);
        let outcome = run_badly(&parts, &mut random);
        let verdict = parts.verify();
        assert_eq!(verdict.is_ok(), outcome.is_ok(), "{verdict:?} but {outcome:?}");
        let count = if verdict.is_ok() { &accepted } else { &refused };
        count.set(count.get() + 1);
    });
    assert!(accepted.get() > 300 && refused.get() > 300, "{accepted:?} {refused:?}");
}

/// Runs a case that the rules refuse; the failure shows what the rule is for.
fn failure_of(parts: &Parts) -> Failure {
    assert!(parts.verify().is_err());
    run_badly(parts, &mut Random(1)).expect_err("a refused schedule fails")
}

/// 0 and 1 feed 2, one unit a node.
fn two_into_one(kind: ScheduleKind) -> Parts {
    use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind};
    let mut graph = Graph::default();
    for i in 0..3u32 {
        let froms = if i == 2 { 0..2 } else { 0..0 };
        graph
            .add(Node {
                name: format!("n{i}"),
                kind: NodeKind::Custom(i),
                inputs: froms.map(|f| Edge::new(NodeId(f), 1.0)).collect(),
                cost: 1.0,
                latency_frames: 0,
                ports: Default::default(),
            })
            .expect("inputs come before");
    }
    let units = UnitGraph::compile(&graph, Fusing::Chains).expect("not empty");
    let schedule = Schedule::plan(kind, &units, 2);
    Parts { units: units.units().to_vec(), whole: units, schedule }
}

#[test]
fn without_r2_a_unit_runs_twice() {
    let mut parts = two_into_one(ScheduleKind::Lists);
    parts.schedule.lists[1].push(Step::Run(UnitId(2)));
    assert_eq!(failure_of(&parts), Failure::Twice(UnitId(2)));
}

#[test]
fn without_r4_a_unit_reads_what_is_not_written() {
    let mut parts = two_into_one(ScheduleKind::Dataflow);
    parts.units[2].predecessors.retain(|id| *id != UnitId(1));
    parts.units[1].successors.clear();
    assert!(matches!(failure_of(&parts), Failure::Early(UnitId(1))));
}

#[test]
fn without_r5_a_unit_starts_early() {
    let mut parts = two_into_one(ScheduleKind::Lists);
    parts.schedule.lists.iter_mut().for_each(|list| remove_barrier(list, 0));
    assert!(matches!(failure_of(&parts), Failure::Early(_)));
}

#[test]
fn without_r6_workers_wait_for_ever() {
    for worker in 0..2 {
        let mut parts = two_into_one(ScheduleKind::Lists);
        remove_barrier(&mut parts.schedule.lists[worker], 0);
        let patient = run_with_one_slow(&parts, worker);
        assert!(matches!(patient, Err(Failure::Stuck | Failure::Early(_))), "{patient:?}");
        // Even with all units in order, whoever has the barrier never leaves it.
        let without_units = |list: &mut Vec<Step>| list.retain(|step| *step == Step::Barrier);
        parts.schedule.lists.iter_mut().for_each(without_units);
        assert_eq!(failure_of(&parts), Failure::Stuck);
    }
}

#[test]
fn without_r7_a_countdown_never_ends_or_ends_too_often() {
    let mut lost = two_into_one(ScheduleKind::Dataflow);
    lost.units[1].successors.clear();
    assert_eq!(failure_of(&lost), Failure::Stuck);

    let mut doubled = two_into_one(ScheduleKind::Dataflow);
    doubled.units[1].successors.push(UnitId(2));
    assert!(matches!(failure_of(&doubled), Failure::Countdown(_) | Failure::Early(_)));
}

#[test]
fn without_r8_the_block_ends_before_a_unit_has_run() {
    let mut parts = two_into_one(ScheduleKind::Dataflow);
    parts.units[2].predecessors.retain(|id| *id != UnitId(1));
    parts.units[2].inputs.retain(|input| input.from != Source::Unit(UnitId(1)));
    parts.units[1].successors.clear();
    assert!(matches!(run_with_one_slow(&parts, 1), Err(Failure::Missed(UnitId(1)))));
    assert!(matches!(failure_of(&parts), Failure::Missed(_)));
}

#[test]
fn in_a_cycle_nobody_can_start() {
    let mut parts = two_into_one(ScheduleKind::Dataflow);
    parts.units[2].successors.push(UnitId(2));
    parts.units[2].predecessors.push(UnitId(2));
    assert_eq!(failure_of(&parts), Failure::Stuck);
}
