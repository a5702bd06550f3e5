//! The engine as control threads see it: what it holds, what it reports, who leads it.
//!
//! It is started in `start.rs`. The leader's part is in `leader/`: blocks in `process.rs`, accounts of them in `accounts.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_machine::clock::TickRate;
use hocket_plan::VerifiedSchedule;

use super::background::Background;
use super::follow::ThreadsLive;
use super::handle::Control;
use super::memory_lock::SharedMemoryLock;
use super::protect::Protection;
use super::regular_thread::RegularThread;
use super::seating::Seating;
use super::settings::Settings;
use crate::block::leader::Leader;
use crate::block::times::BlockTimes;
use crate::leader::block_estimates::BlockEstimates;
use crate::leader::inbox::Inbox;
use crate::leader::process::{Chooser, SteadyLength};
use crate::leader::rest::Rest;
use crate::leader::sighting::LeaderNotes;
use crate::worker::seat::{self, LeaderSeat, ThreadReport};
use crate::worker::start::{self, Started};

/// Runs a session block by block.
///
/// Thread: built on a control thread; [`Engine::process`] on the leader, one at a time.
pub struct Engine {
    pub(crate) leader: Leader,
    pub(crate) threads: Vec<Started>,
    pub(crate) reports: Vec<ThreadReport>,
    pub(crate) settings: Settings,
    pub(crate) seating: Seating,
    pub(crate) rate: TickRate,
    pub(crate) block: u64,
    pub(crate) next_ns: u64,
    pub(crate) last: Last,
    pub(crate) inbox: Inbox,
    /// `Some` under `auto`.
    pub(crate) chooser: Option<Chooser>,
    /// Of the blocks that are compared.
    pub(crate) length: SteadyLength,
    pub(crate) rest: Rest,
    pub(crate) control: Control,
    pub(crate) progress: Arc<BlockEstimates>,
    pub(crate) planner_thread: Option<RegularThread>,
    /// What the leader notes about its thread.
    pub(crate) notes: LeaderNotes,
    /// Whether the threads of `reports` exist.
    pub(crate) threads_live: ThreadsLive,
    pub(crate) memory_lock: Option<SharedMemoryLock>,
    /// Orders that took effect since the last block, because the host wanted more room.
    pub(crate) orders_before: u32,
    /// Background work of processors.
    pub(crate) background: Arc<Background>,
}

/// Where the last block lies in time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Last {
    pub(crate) times: BlockTimes,
    pub(crate) awake_ticks: u64,
    /// When orders were carried out and the block itself began.
    pub(crate) begun_ticks: u64,
}

impl Engine {
    /// A handle for control threads: changes the plan, and reads costs.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Makes the calling thread the leader until the returned value is dropped: pinned, in the
    /// class asked for, and (policy `process-affinity`) the rest of the process moved.
    ///
    /// For a thread of your own. For the real-time thread of a sound server there is [`Engine::follow_leader`].
    pub fn enter(&self) -> Entered {
        let own: Vec<_> = self.reports.iter().map(|report| report.tid).collect();
        let mut others = Protection::apply(&self.seating, &own);
        if others.asked.is_some() {
            self.settle_again(&mut others);
        }
        let cpu = self.seating.worker_cpu(0);
        let (own_seat, report) = seat::settle_leader("leader", cpu, self.settings.priority);
        let real_time = report.real_time && self.reports.iter().all(|report| report.real_time);
        let flag = RealTime::set(&self.leader.runner().real_time, real_time);
        Entered { report, _seat: own_seat, others, _real_time: flag }
    }

    /// What a policy did to the process may have moved workers off their seats or left pages to be copied
    /// (a process of its own watches over SMT): both are put right before the first block.
    fn settle_again(&self, others: &mut Protection) {
        for report in &self.reports {
            if let Err(error) = seat::keep_seat(report) {
                others.refused.push(format!("{}: {error}", report.name));
            }
        }
        if let Some(memory_lock) = &self.memory_lock {
            memory_lock.renew();
        }
    }

    /// What the threads requested and obtained; the leader's own report is in [`Entered`].
    pub fn reports(&self) -> &[ThreadReport] {
        &self.reports
    }

    /// Whether the memory of the process is locked while this engine lives; `None`: not requested, because
    /// nobody plays live (described seats, or no priority).
    pub fn memory(&self) -> Option<&hocket_machine::memory::LockReport> {
        self.memory_lock.as_ref().map(SharedMemoryLock::report)
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which thread sits where.
    pub fn seating(&self) -> &Seating {
        &self.seating
    }

    /// The schedule it follows.
    pub fn schedule(&self) -> &VerifiedSchedule {
        &self.leader.runner().plan().schedule
    }

    /// How many frames each output lags behind the sources and inputs, by output.
    pub fn output_latencies(&self) -> Vec<u32> {
        let units = self.leader.runner().plan().schedule.units();
        units.outputs().iter().map(|node| units.arrival_frames(*node)).collect()
    }

    /// What the threads noted.
    pub(crate) fn leader(&self) -> &Leader {
        &self.leader
    }

    /// When the leader woke for the last block.
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
        self.planner_thread = None;
        self.threads_live.end();
        start::join_all(self.leader.runner(), &mut self.threads);
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
    _real_time: RealTime,
}

/// Tells an engine's threads how they may wait for each other, while its leader has entered.
struct RealTime(Arc<AtomicBool>);

impl RealTime {
    fn set(flag: &Arc<AtomicBool>, real_time: bool) -> RealTime {
        // Relaxed, as below: a hint.
        flag.store(real_time, Relaxed);
        RealTime(Arc::clone(flag))
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
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
