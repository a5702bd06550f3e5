//! Starts an engine: makes a plan, verifies it and starts the threads.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hocket_machine::clock::TickRate;
use hocket_plan::compile::{PartSize, Prices};
use hocket_plan::place::PlaceError;
use hocket_plan::schedule::Team;
use hocket_plan::{NodeId, ScheduleKind, SiblingPolicy, VerifiedSchedule, Violation};
use hocket_rt::{SpinCost, Strategy, Wait};
use hocket_time::{LaneError, LoopError, TempoError, TempoMap};

use super::automation::{FirstLanes, first_lanes};
use super::engine::{Engine, Last};
use super::handle::Control;
use super::main_thread::Services;
use super::memory_lock::SharedMemoryLock;
use super::orders::rings;
use super::planner::{Shared, cut_for};
use super::prepare::Prepared;
use super::protector::Protector;
use super::regular_thread::{NextLook, RegularThread};
use super::seating::Seating;
use super::settings::{Settings, SettingsError, Steer};
use super::threads_live::ThreadsLive;
use crate::block::leader::Leader;
use crate::block::runner::{LONGEST_NS, ORDINARY_NS, Place, Runner};
use crate::block::stamps::Noting;
use crate::block::times::period_ns;
use crate::block::waits::{ChosenWait, Early, StrategyWaits, Waits};
use crate::leader::block_estimates::BlockEstimates;
use crate::leader::process::{Chooser, SteadyLength};
use crate::leader::rest::Rest;
use crate::leader::sighting::LeaderNotes;
use crate::worker::life::{Job, Role};
use crate::worker::start as threads;

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The schedule breaks a rule.
    #[error("the schedule breaks rule {0}")]
    Schedule(#[from] Violation),
    /// A further sibling policy can place no worker.
    #[error("sibling policy {}: {why}", .policy.name())]
    Place {
        /// The policy.
        policy: SiblingPolicy,
        /// What is wrong with it here.
        why: PlaceError,
    },
    /// The seating has fewer seats than the schedule has workers.
    #[error("the schedule is for {workers} workers, the seating for {seats}")]
    Seating {
        /// Workers in the schedule.
        workers: usize,
        /// Seats for workers.
        seats: usize,
    },
    /// The number of processors differs from the number of nodes.
    #[error("{processors} processors for {nodes} nodes")]
    Processors {
        /// Processors given.
        processors: usize,
        /// Processors needed.
        nodes: usize,
    },
    /// The schedule was made for another graph.
    #[error("the schedule is for another graph: its ports, delay lines, inputs or outputs differ")]
    OtherGraph,
    /// The song's tempos or time signatures.
    #[error("the song's tempo map cannot be made: {0}")]
    Tempo(#[from] TempoError),
    /// The song's loop.
    #[error("the song's loop is not possible: {0}")]
    Loop(#[from] LoopError),
    /// An automation lane.
    #[error("the lane of parameter {param} of '{node}' cannot be made: {why}")]
    Lane {
        /// The node's name.
        node: String,
        /// The parameter.
        param: u16,
        /// What is wrong with the lane.
        why: LaneError,
    },
    /// The system cannot start another thread.
    #[error(
        "a worker thread cannot be started: {0}; close other programs or ask for fewer workers"
    )]
    Thread(#[from] std::io::Error),
}

impl Engine {
    /// Makes a plan, verifies it and starts the threads. When this returns, every worker waits on its seat.
    ///
    /// Thread: control; call it before the leader becomes a real-time thread.
    ///
    /// # Errors
    /// [`EngineError`]. A refused right is not an error: see [`Engine::reports`].
    pub fn start(
        prepared: Prepared,
        settings: Settings,
        seating: Seating,
    ) -> Result<Engine, EngineError> {
        settings.check()?;
        // No costs are known yet, so `auto` starts with the serial walk, which needs none.
        let kind = match settings.steer {
            Steer::Auto => ScheduleKind::Serial,
            Steer::Fixed | Steer::Costs => settings.policy.schedule,
        };
        let team = seating.team();
        let units = prepared.units.clone();
        let size = PartSize::unpriced(settings.frames);
        let units = cut_for(kind, team.workers(), units, &Prices::new(), size);
        let workers = if kind == ScheduleKind::Serial { 1 } else { team.workers() };
        let units = match settings.couples.are_made() {
            true => units.couple(&|node| abreast_key(&prepared, node), workers),
            false => units,
        };
        let verified = VerifiedSchedule::plan_for(kind, units, &team)?;
        Self::start_verified(prepared, verified, settings, seating)
    }

    /// Starts with the caller's schedule.
    ///
    /// # Errors
    /// Like [`Engine::start`].
    pub fn start_verified(
        prepared: Prepared,
        schedule: VerifiedSchedule,
        mut settings: Settings,
        seating: Seating,
    ) -> Result<Engine, EngineError> {
        settings.policy.sibling = seating.placement().policy;
        settings.check()?;
        let (workers, seats) = (schedule.workers(), seating.placement().workers.len());
        if workers > seats {
            return Err(EngineError::Seating { workers, seats });
        }
        let nodes = schedule.units().node_count();
        if prepared.processors.len() != nodes {
            return Err(EngineError::Processors { processors: prepared.processors.len(), nodes });
        }
        if !schedule.units().is_wired_like(&prepared.units) {
            return Err(EngineError::OtherGraph);
        }
        let seatings = seatings(&settings, &seating)?;
        // A steered engine may need all workers later, and so may one that changes its policy.
        let (workers, all) = match settings.steer {
            Steer::Fixed if seatings.len() == 1 => (workers, workers),
            _ => (seats, most_workers(&seatings)),
        };
        let jobs = jobs(&settings, &seatings, all);
        let guards = jobs.iter().filter(|job| job.role == Role::Guard).count();
        let spans = spans_a_block(&schedule);
        let (outbox, inbox) = rings();
        let command_places = outbox.places.clone();
        let progress = Arc::new(BlockEstimates::default());
        let map = Arc::new(prepared.time.map(settings.rate_hz)?);
        let repeat = prepared.time.loop_range(&map)?;
        let lanes = lanes(&prepared, &map)?;
        let services = Services::new(settings.main_thread, settings.frames);
        let wait = Arc::new(ChosenWait::new(settings.policy.wait));
        let noting = Arc::new(Noting::default());
        noting.spans.store(settings.spans, Relaxed);
        let seats = team(&seating, workers);
        let protector = Protector::new(seatings.clone(), all);
        let shared = Shared {
            progress: &progress,
            map: &map,
            services: &services,
            wait: &wait,
            noting: &noting,
        };
        let (plan, control) = Control::new(
            (prepared, lanes),
            schedule,
            &settings,
            seats,
            (outbox, &protector),
            shared,
        )?;
        let places = (0..all).map(|worker| place(&seatings, worker, all)).collect();
        let waits = waits(&settings, seating.is_pinned(), wait);
        let alone_is_serial = settings.alone_is_serial;
        let runner =
            Runner::new(plan, places, guards, waits, (spans, noting), alone_is_serial, map);
        let runner = Arc::new(runner);
        let threads = threads::start_all(&runner, &jobs)?;
        // After the workers have started, so that the lock covers their stacks too.
        let live = settings.priority.is_some() && seating.is_pinned();
        let memory_lock = live.then(SharedMemoryLock::claim);
        let reports: Vec<_> = threads.iter().map(|thread| thread.report.clone()).collect();
        let threads_live = ThreadsLive::new();
        protector.knows(reports.clone(), threads_live.clone(), Arc::clone(&runner.real_time));
        let steered = settings.steer != Steer::Fixed;
        let chooser = (settings.steer == Steer::Auto)
            .then(|| Chooser::new(settings.period().as_nanos() as u64));
        let length = SteadyLength::of(settings.frames as usize);
        let rest = Rest::new(settings.rate_hz);
        let mut engine = Engine {
            leader: Leader::new(runner, repeat, command_places),
            threads,
            reports,
            settings,
            seating,
            rate: TickRate::get(),
            block: 0,
            next_ns: 0,
            last: Last::default(),
            inbox,
            chooser,
            length,
            rest,
            control,
            progress,
            planner_thread: None,
            notes: LeaderNotes::new(Arc::default()),
            threads_live,
            protector,
            memory_lock,
            background: Arc::clone(services.background()),
            orders_before: 0,
        };
        // Last: if this thread cannot start, the drop of `engine` ends the others.
        if steered {
            let control = engine.control();
            let steer = move || {
                let mut planner = control.lock();
                planner.steer();
                NextLook::of(planner.progress.rests())
            };
            engine.planner_thread = Some(RegularThread::start("planner", steer)?);
        }
        Ok(engine)
    }
}

fn abreast_key(prepared: &Prepared, node: NodeId) -> Option<u16> {
    let processor = prepared.processors.get(node.index())?.as_ref()?;
    processor.abreast_key().map(|key| key.number())
}

fn lanes(prepared: &Prepared, map: &Arc<TempoMap>) -> Result<FirstLanes, EngineError> {
    let name = |node: NodeId| prepared.node_names.get(node.index()).cloned().unwrap_or_default();
    let failed = |(node, param, why)| EngineError::Lane { node: name(node), param, why };
    first_lanes(&prepared.lanes, map).map_err(failed)
}

/// The seating of each policy that the engine may follow, the first one first.
fn seatings(settings: &Settings, first: &Seating) -> Result<Vec<Seating>, EngineError> {
    let mut seatings = vec![first.clone()];
    for policy in settings.sibling_policies.iter().copied() {
        if seatings.iter().all(|seating| seating.placement().policy != policy) {
            let failed = |why| EngineError::Place { policy, why };
            seatings.push(first.under(policy).map_err(failed)?);
        }
    }
    Ok(seatings)
}

fn most_workers(seatings: &[Seating]) -> usize {
    seatings.iter().map(|seating| seating.placement().workers.len()).max().unwrap_or(0)
}

/// The threads that any of the policies needs.
fn jobs(settings: &Settings, seatings: &[Seating], workers: usize) -> Vec<Job> {
    let seating = &seatings[0];
    let worker = |index: usize| Job {
        name: format!("worker {index}"),
        role: Role::Worker,
        desk: index,
        cpu: seating.worker_cpu(index),
        priority: settings.priority,
    };
    // One policy at most has guards.
    let guards = seatings.iter().flat_map(|seating| &seating.placement().guards);
    let guarded = guards.filter(|guard| guard.worker < workers);
    let guard = |(place, guard): (usize, &hocket_plan::place::Guard)| Job {
        name: format!("guard of worker {}", guard.worker),
        role: Role::Guard,
        desk: workers + place,
        cpu: seating.cpu(guard.seat),
        priority: settings.priority,
    };
    (1..workers).map(worker).chain(guarded.enumerate().map(guard)).collect()
}

/// The seats of the first `workers`, and the kind of each seat.
fn team(seating: &Seating, workers: usize) -> (Team, Vec<usize>) {
    let kinds = (0..workers).map(|worker| seating.kind_of(worker)).collect();
    (seating.team_of(workers), kinds)
}

/// Room for the spans of a block, with spare room for a session that grows while it plays.
fn spans_a_block(schedule: &VerifiedSchedule) -> usize {
    schedule.units().units().len() * 2 + schedule.barriers() * 2 + 256
}

/// A worker's seat in relation to the first `workers`.
fn place(seatings: &[Seating], worker: usize, workers: usize) -> Place {
    let seating = &seatings[0];
    // One policy at most has partners.
    let partners = seatings.iter().filter_map(|seating| seating.placement().partners.get(worker));
    Place {
        partners: partners.flatten().copied().filter(|other| *other < workers).collect(),
        mates: (0..workers).filter(|other| seating.are_mates(worker, *other)).collect(),
        kind: seating.kind_of(worker),
    }
}

/// The early wake, if it is enabled and makes sense.
///
/// Only a real-time thread with a seat wakes on time. With `futex` no thread may spin.
fn early(strategy: Strategy, settings: &Settings, pinned: bool, cost: &SpinCost) -> Option<Early> {
    let sensible = pinned && settings.priority.is_some() && strategy != Strategy::Futex;
    let spin = settings.early_wake + settings.leader_lateness;
    let ns = settings.early_wake.as_nanos() as u64;
    (sensible && ns > 0).then(|| Early {
        ns,
        asleep: Wait::new(Strategy::Futex, cost, Duration::ZERO),
        awake: Wait::new(Strategy::Hybrid, cost, spin),
    })
}

/// A wait that spins and yields but never blocks.
fn never_blocking(cost: &SpinCost) -> Wait {
    Wait::new(Strategy::Pause, cost, Duration::ZERO).yielding_after(Strategy::USUAL_SPIN)
}

/// What a pass of a spin costs here. Measured once.
pub(super) fn spin_cost() -> &'static SpinCost {
    static COST: OnceLock<SpinCost> = OnceLock::new();
    COST.get_or_init(SpinCost::measure)
}

/// Translates the settings into waits.
///
/// A thread without a seat may occupy the CPU of the thread that it waits for. Any other thread may preempt
/// a thread without a real-time class. So in these cases a waiting thread yields after a while, and blocks in
/// the end.
fn waits(settings: &Settings, pinned: bool, chosen: Arc<ChosenWait>) -> Waits {
    let cost = spin_cost();
    let mut on_seat = Wait::new(settings.seat_wait, cost, hybrid_spin(settings, pinned));
    if !pinned {
        on_seat = on_seat.yielding_after(Strategy::USUAL_SPIN);
    }
    Waits {
        of: Strategy::ALL.map(|strategy| waits_of(strategy, settings, pinned)),
        chosen,
        on_seat,
        longest_ns: longest_ns(settings),
        asleep: Wait::new(Strategy::Futex, cost, Duration::ZERO),
        stand_in: if on_seat.may_block() { never_blocking(cost) } else { on_seat },
    }
}

/// The waits of one strategy. One that the CPU lacks is there and never chosen.
fn waits_of(strategy: Strategy, settings: &Settings, pinned: bool) -> StrategyWaits {
    let cost = spin_cost();
    let real_time = Wait::new(strategy, cost, hybrid_spin(settings, pinned));
    let mut ordinary = Wait::new(strategy, cost, short_spin(settings));
    if !pinned || settings.priority.is_none() {
        ordinary = ordinary.yielding_after(Strategy::USUAL_SPIN);
    }
    let longest = Duration::from_nanos(longest_ns(settings));
    StrategyWaits {
        // Without seats, even real-time threads may share a CPU.
        real_time: if pinned { real_time } else { ordinary }.blocking_after(longest),
        ordinary: ordinary.blocking_after(Duration::from_nanos(ORDINARY_NS)),
        early: early(strategy, settings, pinned, cost),
        at_gate: real_time.at_gate(settings.gate_spin),
    }
}

/// See [`Waits::longest_ns`].
fn longest_ns(settings: &Settings) -> u64 {
    LONGEST_NS.max(4 * period_ns(settings.frames.into(), settings.rate_hz))
}

/// A thread that may hold up the one that it waits for spins shortly.
fn short_spin(settings: &Settings) -> Duration {
    settings.hybrid_spin.min(Strategy::USUAL_SPIN)
}

/// How long `hybrid` spins if all threads are real-time threads.
fn hybrid_spin(settings: &Settings, pinned: bool) -> Duration {
    match pinned {
        true => settings.hybrid_spin.min(Duration::from_nanos(longest_ns(settings))),
        false => short_spin(settings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::settings::Policy;
    use hocket_plan::SiblingPolicy;

    fn settings(wait: Strategy) -> Settings {
        let (schedule, sibling) = (ScheduleKind::Dataflow, SiblingPolicy::Off);
        Settings::new(64, 48_000, Policy { schedule, sibling, wait })
    }

    /// The waits of the strategy in the settings.
    fn of(settings: &Settings, pinned: bool) -> StrategyWaits {
        *waits(settings, pinned, Arc::new(ChosenWait::new(settings.policy.wait))).now()
    }

    /// How a worker waits between two blocks. It is text because waits cannot be compared.
    fn at_gate(wait: Strategy, change: impl Fn(&mut Settings)) -> String {
        let mut settings = settings(wait);
        change(&mut settings);
        format!("{:?}", of(&settings, true).at_gate)
    }

    #[test]
    fn gate_spin_governs_every_wait_at_the_gate_that_spins() {
        // So long that it is more passes than usual however long a pass takes: the machine may be busy as it is measured.
        let longer = Duration::from_secs(3600);
        for wait in Strategy::ALL {
            let usual = at_gate(wait, |_| {});
            let by_gate = at_gate(wait, |settings| settings.gate_spin = longer) != usual;
            let by_hybrid = at_gate(wait, |settings| settings.hybrid_spin = longer) != usual;
            assert_eq!((by_gate, by_hybrid), (wait != Strategy::Futex, false), "{wait}");
        }
    }

    /// A thread without a class or a seat may hold the CPU that the other one needs.
    #[test]
    fn every_wait_without_class_or_seat_blocks_and_sooner_than_with_both() {
        for wait in Strategy::ALL {
            let [seated, loose] = [true, false].map(|pinned| of(&settings(wait), pinned));
            let text = |wait: &Wait| format!("{wait:?}");
            for ordinary in [&seated.ordinary, &loose.ordinary, &loose.real_time] {
                assert!(ordinary.may_block(), "{wait}: {ordinary:?}");
            }
            // These two block anyway, after the spin that the test below looks at.
            if ![Strategy::Hybrid, Strategy::Futex].contains(&wait) {
                let limit = Duration::from_nanos(ORDINARY_NS);
                let soon = Wait::new(wait, spin_cost(), Duration::ZERO).blocking_after(limit);
                assert_eq!(text(&seated.ordinary), text(&soon), "{wait}");
                assert_ne!(text(&seated.real_time), text(&soon), "{wait}");
            }
        }
    }

    #[test]
    fn hybrid_spins_long_only_where_no_thread_can_hold_up_another() {
        let in_block = |spin, pinned| {
            let mut settings = settings(Strategy::Hybrid);
            settings.hybrid_spin = spin;
            let chosen = Arc::new(ChosenWait::new(settings.policy.wait));
            let waits = waits(&settings, pinned, chosen);
            let of = waits.now();
            [of.real_time, of.ordinary, waits.on_seat].map(|wait| format!("{wait:?}"))
        };
        let (usual, longer) = (Strategy::USUAL_SPIN, Duration::from_secs(3600));
        let (long, short) = (in_block(longer, true), in_block(usual, true));
        assert_ne!(long[0], short[0]);
        assert_eq!(long[1], short[1], "a thread without a real-time class");
        assert_eq!(in_block(longer, false), in_block(usual, false), "no seats");
        let (hour, longest) = (Duration::from_secs(3600), Duration::from_nanos(LONGEST_NS));
        assert_eq!(in_block(hour, true), in_block(longest, true), "every wait has a limit");
    }
}
