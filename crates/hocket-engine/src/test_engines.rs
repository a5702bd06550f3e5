//! Small engines for the tests inside this crate.

use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use hocket_dsp::{Block, Processor};
use hocket_plan::schedule::Schedule;
use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeId, NodeKind, ScheduleKind, Seat, Seats, SiblingPolicy,
    VerifiedSchedule,
};
use hocket_rt::Strategy;

use crate::block::plan::Plan;
use crate::leader::order::Order;
use crate::{Engine, Policy, Prepared, Seating, Settings, Steer};

pub(crate) const FRAMES: usize = 64;

/// A processor made of a function.
pub(crate) struct Does<F>(pub F);

impl<F: FnMut(&mut Block<'_>) + Send> Processor for Does<F> {
    fn process(&mut self, block: &mut Block<'_>) {
        (self.0)(block);
    }

    fn reset(&mut self) {}
}

/// A processor that does this with each block.
pub(crate) fn does(deed: impl FnMut(&mut Block<'_>) + Send + 'static) -> Box<dyn Processor> {
    Box::new(Does(deed))
}

/// Sources side by side, and `output` on their sum.
pub(crate) fn side_by_side(
    sources: Vec<Box<dyn Processor>>,
    output: Option<Box<dyn Processor>>,
) -> Prepared {
    let mut graph = Graph::default();
    let mut add = |inputs| {
        let index = graph.nodes().len();
        graph.add(node(index, inputs)).unwrap()
    };
    let ids: Vec<NodeId> = sources.iter().map(|_| add(Vec::new())).collect();
    add(ids.iter().map(|from| Edge::new(*from, 1.0)).collect());
    let processors = sources.into_iter().map(Some).chain([output]).collect();
    Prepared::from_graph(&graph, processors, Fusing::None).unwrap()
}

/// A node with a processor of its own.
pub(crate) fn node(index: usize, inputs: Vec<Edge>) -> Node {
    let (name, kind) = (format!("node {index}"), NodeKind::Custom(index as u32));
    Node { name, kind, inputs, cost: 100.0, latency_frames: 0, ports: Default::default() }
}

/// Settings for threads of the ordinary class.
pub(crate) fn settings(kind: ScheduleKind, sibling: SiblingPolicy) -> Settings {
    let policy = Policy { schedule: kind, sibling, wait: Strategy::Hybrid };
    let settings = Settings::new(FRAMES as u32, 48_000, policy);
    Settings { priority: None, steer: Steer::Fixed, ..settings }
}

/// An engine on described seats, two to a core.
pub(crate) fn engine(prepared: Prepared, settings: Settings, workers: usize) -> Engine {
    let seating = seating(settings.policy.sibling, workers);
    Engine::start(prepared, settings, seating).unwrap()
}

/// Described seats, two to a core.
pub(crate) fn seating(sibling: SiblingPolicy, workers: usize) -> Seating {
    let cores = match sibling.uses_siblings() {
        true => workers.div_ceil(2),
        false => workers + 1,
    };
    let seat = |seat| Seat { core: seat / 2, speed: 1.0 };
    let seats = Seats { seats: (0..2 * cores).map(seat).collect() };
    Seating::described(&seats, sibling, Some(workers)).unwrap()
}

/// Has the engine go on with a plan of this kind for so many workers.
pub(crate) fn go_on_with(engine: &Engine, kind: ScheduleKind, workers: usize) {
    let control = engine.control();
    let mut planner = control.lock();
    let units = planner.base.clone();
    let schedule = Schedule::plan(kind, &units, workers);
    let verified = VerifiedSchedule::verify(units, schedule).unwrap();
    let plan = Plan::new(verified, &planner.cells, FRAMES);
    planner.send(Order { plan: Some(Box::new(plan)), ..Order::default() }).unwrap();
}

/// What `test` returns, on a thread of its own; fails if it never does.
///
/// The time only ends a wait that would not end: no machine is so busy that a few blocks take longer.
pub(crate) fn ends<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || _ = done.send(test()));
    match ended.recv_timeout(Duration::from_secs(120)) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("a block never ends"),
        Err(RecvTimeoutError::Disconnected) => {
            let panicked: Box<dyn Any + Send> = thread.join().unwrap_err();
            std::panic::resume_unwind(panicked)
        }
    }
}
