//! The engine: starts the threads, runs blocks, tells what happened.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hocket_dsp::StereoRef;
use hocket_machine::clock::{TickRate, monotonic_ns, ticks};
use hocket_machine::float_mode::FlushDenormals;
use hocket_plan::schedule::Team;
use hocket_plan::{ScheduleKind, VerifiedSchedule, Violation};
use hocket_rt::{SpinCost, Strategy, Wait};
use hocket_trace::BlockTrace;

use super::autopilot::Autopilot;
use super::orders::{Inbox, rings};
use super::prepare::Prepared;
use super::protect::Protection;
use super::residence::Residence;
use super::seating::Seating;
use super::settings::{Settings, SettingsError, Steer};
use super::steering::{Control, Of, Progress};
use crate::block::leader::Leader;
use crate::block::runner::{Place, Runner, Waits};
use crate::block::times::{BlockTimes, WorkerTotals};
use crate::flight::{Crew, Frame};
use crate::watch::Watch;
use crate::worker::{self, Job, LeaderSeat, Role, Started, ThreadReport};

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The schedule breaks a rule.
    #[error("the schedule breaks rule {0}")]
    Schedule(#[from] Violation),
    /// The seating has fewer seats than the schedule has workers.
    #[error("the schedule is for {workers} workers, the seating for {seats}")]
    Seating {
        /// Workers of the schedule.
        workers: usize,
        /// Workers seated.
        seats: usize,
    },
    /// Not one processor a node.
    #[error("{processors} processors for {nodes} nodes")]
    Processors {
        /// Given.
        processors: usize,
        /// Needed.
        nodes: usize,
    },
    /// The system gives no more threads.
    #[error(
        "a worker thread cannot be started: {0}; close other programs or ask for fewer workers"
    )]
    Thread(#[from] std::io::Error),
}

/// Runs a session block by block.
///
/// Thread: built on a control thread; [`Engine::process`] on the leader, one at a time.
pub struct Engine {
    leader: Leader,
    threads: Vec<Started>,
    reports: Vec<ThreadReport>,
    settings: Settings,
    seating: Seating,
    rate: TickRate,
    block: u64,
    /// Frames since the start.
    position: u64,
    next_ns: u64,
    last: Last,
    inbox: Inbox,
    control: Control,
    progress: Arc<Progress>,
    autopilot: Option<Autopilot>,
    residence: Option<Residence>,
}

/// Where the last block lies in time.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    times: BlockTimes,
    awake_ticks: u64,
    /// When orders were carried out and the block itself began.
    begun_ticks: u64,
}

/// How far ahead a block may be announced.
const FURTHEST_NS: u64 = 1_000_000_000;

/// How a block is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// As the plan says; the block after it is planned for `next_ns` (0: not known).
    Plan { next_ns: u64 },
    /// By the leader, unit after unit.
    Serial,
}

impl Engine {
    /// Plans, verifies and starts: when this returns, every worker sits on its seat and waits.
    ///
    /// Thread: control; call it before the leader becomes a real-time thread.
    ///
    /// # Errors
    /// [`EngineError`]. Rights that are refused are no error: see [`Engine::reports`].
    pub fn start(
        prepared: Prepared,
        settings: Settings,
        seating: Seating,
    ) -> Result<Engine, EngineError> {
        settings.check()?;
        // Nothing is known of costs yet: the walk that cannot be wrong comes first.
        let kind = match settings.steer {
            Steer::Auto => ScheduleKind::Serial,
            Steer::Fixed | Steer::Costs => settings.policy.schedule,
        };
        let team = seating.team();
        let verified = VerifiedSchedule::plan_for(kind, prepared.units.clone(), &team)?;
        Self::start_verified(prepared, verified, settings, seating)
    }

    /// Starts with a schedule of the caller's own.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn start_verified(
        prepared: Prepared,
        schedule: VerifiedSchedule,
        settings: Settings,
        seating: Seating,
    ) -> Result<Engine, EngineError> {
        settings.check()?;
        let (workers, seats) = (schedule.workers(), seating.placement().workers.len());
        if workers > seats {
            return Err(EngineError::Seating { workers, seats });
        }
        let nodes = schedule.units().node_count();
        if prepared.processors.len() != nodes {
            return Err(EngineError::Processors { processors: prepared.processors.len(), nodes });
        }
        // Steered engines may need everybody later.
        let workers = if settings.steer == Steer::Fixed { workers } else { seats };
        let jobs = jobs(&settings, &seating, workers);
        let guards = jobs.iter().filter(|job| job.role == Role::Guard).count();
        let spans = if settings.spans { spans_a_block(&schedule) } else { 0 };
        let (outbox, inbox) = rings();
        let progress = Arc::new(Progress::default());
        let (plan, control) =
            Control::new(prepared, schedule, &settings, team(&seating, workers), outbox, &progress);
        let places = (0..workers).map(|worker| place(&seating, worker, workers)).collect();
        let waits = waits(&settings, seating.is_pinned());
        let (alone_is_serial, frames) = (settings.alone_is_serial, settings.frames as usize);
        let runner = Runner::new(plan, places, guards, waits, spans, alone_is_serial, frames);
        let runner = Arc::new(runner);
        let threads = worker::start_all(&runner, &jobs)?;
        // After the workers are there: their stacks are locked too.
        let live = settings.priority.is_some() && seating.is_pinned();
        let residence = live.then(Residence::claim);
        let reports = threads.iter().map(|thread| thread.report.clone()).collect();
        let steered = settings.steer != Steer::Fixed;
        let mut engine = Engine {
            leader: Leader::new(runner),
            threads,
            reports,
            settings,
            seating,
            rate: TickRate::get(),
            block: 0,
            position: 0,
            next_ns: 0,
            last: Last::default(),
            inbox,
            control,
            progress,
            autopilot: None,
            residence,
        };
        // Last: where it cannot be had, the engine ends its threads as it always does.
        if steered {
            engine.autopilot = Some(Autopilot::start(engine.control())?);
        }
        Ok(engine)
    }

    /// A handle for control threads: changes what is played, and reads what it costs.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Makes the calling thread the leader until the returned value is dropped: pinned, in the
    /// class asked for, and (policy `process-affinity`) the rest of the process moved.
    pub fn enter(&self) -> Entered {
        let own: Vec<_> = self.reports.iter().map(|report| report.tid).collect();
        let mut others = Protection::apply(&self.seating, &own);
        if others.asked.is_some() {
            self.settle_again(&mut others);
        }
        let cpu = self.seating.worker_cpu(0);
        let (seat, report) = worker::settle_leader("leader", cpu, self.settings.priority);
        Entered { report, _seat: seat, others }
    }

    /// What a policy did to the process may have moved workers off their seats or left pages to be copied
    /// (a process of its own watches over SMT): both are put right before the first block.
    fn settle_again(&self, others: &mut Protection) {
        for report in &self.reports {
            if let Err(error) = worker::keep_seat(report) {
                others.refused.push(format!("{}: {error}", report.name));
            }
        }
        if let Some(residence) = &self.residence {
            residence.renew();
        }
    }

    /// Processes one block that was planned for now.
    pub fn process(&mut self, frames: usize) -> BlockTimes {
        self.process_planned(frames, monotonic_ns())
    }

    /// Processes one block of `frames` frames (at most the settings') planned for `signaled_ns`.
    ///
    /// Thread: leader. No allocation, no lock; at most one system call, to wake workers.
    pub fn process_planned(&mut self, frames: usize, signaled_ns: u64) -> BlockTimes {
        let next_ns = std::mem::take(&mut self.next_ns);
        self.run(frames, signaled_ns, Walk::Plan { next_ns })
    }

    /// Says when the block after the coming one is planned, on the monotonic clock, so that workers
    /// can be awake by then. Holds for one block; a device that knows its period says it each time.
    ///
    /// A time more than a second ahead is not believed (another clock?): the workers then sleep until they
    /// are woken. A block that comes sooner than announced finds them asleep and begins without them.
    pub fn expect_next(&mut self, next_ns: u64) {
        let soon = next_ns.saturating_sub(monotonic_ns()) < FURTHEST_NS;
        self.next_ns = if soon { next_ns } else { 0 };
    }

    /// Processes one block in serial order on the calling thread, on the same memory.
    pub fn process_serial(&mut self, frames: usize) -> BlockTimes {
        self.run(frames, monotonic_ns(), Walk::Serial)
    }

    fn run(&mut self, frames: usize, signaled_ns: u64, walk: Walk) -> BlockTimes {
        let frames = frames.clamp(1, self.settings.frames as usize);
        let awake_ns = monotonic_ns();
        let awake_ticks = ticks();
        let orders;
        {
            let _float = FlushDenormals::enter();
            let _watch = Watch::begin();
            orders = self.inbox.carry_out(&mut self.leader, self.position);
            self.last.begun_ticks = ticks();
            match walk {
                Walk::Plan { next_ns } => self.leader.lead(frames, self.block, next_ns),
                Walk::Serial => self.leader.lead_serial(frames, self.block),
            }
        }
        let finished_ticks = ticks();
        self.last.awake_ticks = awake_ticks;
        self.last.times = BlockTimes {
            block: self.block,
            signaled_ns,
            lateness_ns: awake_ns.saturating_sub(signaled_ns),
            duration_ns: self.rate.ticks_to_ns(finished_ticks.wrapping_sub(awake_ticks)),
            deadline_ns: self.deadline_ns(frames),
            orders,
            orders_ns: self.rate.ticks_to_ns(self.last.begun_ticks.wrapping_sub(awake_ticks)),
            ..BlockTimes::default()
        };
        self.account_workers();
        let took = finished_ticks.wrapping_sub(self.last.begun_ticks);
        let whole = frames == self.settings.frames as usize;
        let alone = self.leader.runner().plan().workers() == 1;
        let of = if walk == Walk::Serial { Of::SerialWalk } else { Of::Plan { alone } };
        self.progress.note(of, orders, whole.then_some(took));
        self.block += 1;
        self.position += frames as u64;
        self.last.times
    }

    fn deadline_ns(&self, frames: usize) -> u64 {
        frames as u64 * 1_000_000_000 / u64::from(self.settings.rate_hz)
    }

    /// After the deadline-critical part: who came, and when.
    fn account_workers(&mut self) {
        let mut last_awake = self.last.awake_ticks;
        for desk in 0..self.leader.runner().plan().workers() {
            let stamps = self.leader.stamps(desk);
            if stamps.block == self.block {
                self.last.times.workers += 1;
                if desk > 0 {
                    last_awake = last_awake.max(stamps.awake);
                }
            }
        }
        self.last.times.workers_awake_ns =
            self.rate.ticks_to_ns(last_awake - self.last.awake_ticks);
    }

    /// The master's rows of the last block.
    pub fn output(&self, frames: usize) -> StereoRef<'_> {
        let output = self.leader.runner().plan().schedule.output().index();
        let unit = self.leader.unit(output);
        unit.rows(frames.min(self.settings.frames as usize))
    }

    /// Forgets all history: the next block is the session's first.
    pub fn reset(&mut self) {
        self.leader.reset();
        self.position = 0;
    }

    /// What the threads asked for and got; the leader's own report is in [`Entered`].
    pub fn reports(&self) -> &[ThreadReport] {
        &self.reports
    }

    /// Whether the memory of the process stays in memory while this engine lives; `None`: it was not asked
    /// for, because nobody plays live (described seats, or no priority).
    pub fn memory(&self) -> Option<&hocket_machine::memory::LockReport> {
        self.residence.as_ref().map(Residence::report)
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Who sits where.
    pub fn seating(&self) -> &Seating {
        &self.seating
    }

    /// The schedule it follows.
    pub fn schedule(&self) -> &VerifiedSchedule {
        &self.leader.runner().plan().schedule
    }

    /// Counts of each worker since the start, the leader first, then the guards.
    pub fn totals(&self) -> Vec<WorkerTotals> {
        (0..self.leader.runner().desks.len()).map(|desk| self.desk_totals(desk)).collect()
    }

    fn desk_totals(&self, desk: usize) -> WorkerTotals {
        let totals = self.leader.stamps(desk).totals;
        WorkerTotals {
            blocks: totals.blocks,
            units: totals.units,
            blocked: totals.blocked,
            yielded: totals.yielded,
            wakes: totals.wakes,
            spans_dropped: totals.spans_dropped,
            busy_ns: self.rate.ticks_to_ns(totals.busy_ticks),
        }
    }

    /// Nodes whose output was not finite, with the number of blocks in which that happened.
    pub fn contained(&self) -> Vec<(String, u64)> {
        let contained = self.leader.contained().filter(|(_, blocks)| *blocks > 0);
        contained.map(|(name, blocks)| (name.to_owned(), blocks)).collect()
    }

    /// What every thread did in the last block.
    ///
    /// Thread: leader, between blocks. Allocates: for every block of a live run there is
    /// [`crate::flight`].
    pub fn trace(&self) -> BlockTrace {
        let mut frame = Frame::for_engine(self);
        frame.fill(self, &self.last.times);
        let units = self.schedule().units().units().iter();
        frame.trace(&Crew::of(self), units.map(|unit| unit.name.clone()).collect(), &self.rate)
    }

    /// What the threads left behind.
    pub(crate) fn leader(&self) -> &Leader {
        &self.leader
    }

    /// When the leader was awake for the last block.
    pub(crate) fn awake_ticks(&self) -> u64 {
        self.last.awake_ticks
    }

    /// Workers, whether the plan needs them or not.
    pub(crate) fn worker_count(&self) -> usize {
        self.leader.runner().workers()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // First, or it would plan for an engine that is going.
        self.autopilot = None;
        worker::join_all(self.leader.runner(), &mut self.threads);
    }
}

/// Proof that the calling thread is the leader; restores pinning and class when dropped.
#[must_use = "the calling thread is the leader only while this lives"]
pub struct Entered {
    /// What the leader asked for and got.
    pub report: ThreadReport,
    _seat: LeaderSeat,
    /// What became of the other threads of the process (policy `process-affinity`).
    pub others: Protection,
}

impl Entered {
    /// Gives back what a policy asked of the rest of the process and of the system, but not the seat
    /// and class of the leader's thread: for a leader whose thread has ended.
    ///
    /// Thread: control. Cost: system calls.
    pub fn outlive(self) {
        self._seat.forget();
    }
}

fn jobs(settings: &Settings, seating: &Seating, workers: usize) -> Vec<Job> {
    let placement = seating.placement();
    let worker = |index: usize| Job {
        name: format!("worker {index}"),
        role: Role::Worker,
        desk: index,
        cpu: seating.worker_cpu(index),
        priority: settings.priority,
    };
    let guarded = placement.guards.iter().filter(|guard| guard.worker < workers);
    let guard = |(place, guard): (usize, &hocket_plan::place::Guard)| Job {
        name: format!("guard of worker {}", guard.worker),
        role: Role::Guard,
        desk: workers + place,
        cpu: seating.cpu(guard.seat),
        priority: settings.priority,
    };
    (1..workers).map(worker).chain(guarded.enumerate().map(guard)).collect()
}

/// The seats of the first workers, and the kind of each.
fn team(seating: &Seating, workers: usize) -> (Team, Vec<usize>) {
    let kinds = (0..workers).map(|worker| seating.kind_of(worker)).collect();
    (seating.team().first(workers), kinds)
}

/// Room for the spans of a block, and for those of a session that grows while it plays.
fn spans_a_block(schedule: &VerifiedSchedule) -> usize {
    schedule.units().units().len() * 2 + schedule.barriers() * 2 + 256
}

/// Where a worker sits among the first `workers`.
fn place(seating: &Seating, worker: usize, workers: usize) -> Place {
    let partners = seating.placement().partners[worker].iter().copied();
    Place {
        partners: partners.filter(|other| *other < workers).collect(),
        mates: (0..workers).filter(|other| seating.are_mates(worker, *other)).collect(),
        kind: seating.kind_of(worker),
    }
}

/// Only a thread on its own seat in a real-time class wakes when it asked to, and `futex` says
/// that nobody is to spin.
fn early(settings: &Settings, pinned: bool, cost: &SpinCost) -> Option<(u64, Wait)> {
    let sensible = pinned && settings.priority.is_some() && settings.policy.wait != Strategy::Futex;
    let spin = settings.early_wake + settings.leader_lateness;
    let early_ns = settings.early_wake.as_nanos() as u64;
    (sensible && early_ns > 0).then(|| (early_ns, Wait::new(Strategy::Hybrid, cost, spin)))
}

/// Waits for the settings. Threads without a seat of their own may sit on the CPU of the one they
/// wait for, and threads without a real-time class may be kept from running by anybody; so
/// whoever spins for them yields after a while.
fn waits(settings: &Settings, pinned: bool) -> Waits {
    static COST: OnceLock<SpinCost> = OnceLock::new();
    let cost = COST.get_or_init(SpinCost::measure);
    let mut in_block = Wait::new(settings.policy.wait, cost, settings.hybrid_spin);
    let mut on_seat = Wait::new(settings.seat_wait, cost, settings.hybrid_spin);
    if !pinned || settings.priority.is_none() {
        in_block = in_block.yielding_after(Duration::from_micros(20));
    }
    if !pinned {
        on_seat = on_seat.yielding_after(Duration::from_micros(20));
    }
    Waits {
        in_block,
        on_seat,
        early: early(settings, pinned, cost),
        at_gate: in_block.at_gate(settings.gate_spin),
    }
}
