//! The engine as control threads see it: what it holds, what it reports, who leads it.
//!
//! It is started in `start.rs`. The leader's part is in `leader/`: blocks in `process.rs`, accounts of them in `accounts.rs`.

use std::sync::Arc;

use hocket_machine::clock::TickRate;
use hocket_machine::pin;
use hocket_plan::VerifiedSchedule;

use super::background::Background;
use super::handle::Control;
use super::memory_lock::SharedMemoryLock;
use super::protect::Protection;
use super::protector::{Protected, Protector};
use super::regular_thread::RegularThread;
use super::seating::Seating;
use super::settings::Settings;
use super::threads_live::ThreadsLive;
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
    /// The sibling policy's requests to the system.
    pub(crate) protector: Arc<Protector>,
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
    /// Whether it was left out.
    pub(crate) left_out: bool,
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
        // First, because a policy may move this thread.
        let cpus = pin::current_affinity().ok();
        let protected = self.protector.enter();
        if let Some(memory_lock) = self.memory_lock.as_ref().filter(|_| protected.has_asked()) {
            // A process of its own watches over SMT, so its pages are to be copied.
            memory_lock.renew();
        }
        let cpu = self.seating.worker_cpu(0);
        let (own_seat, report) =
            seat::settle_leader_from(cpus, "leader", cpu, self.settings.priority);
        protected.is_seated(&report);
        Entered { report, _seat: own_seat, protected }
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

    /// Which thread sits where, and the sibling policy of the start. Workers keep their seats under every policy.
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
    protected: Protected,
}

impl Entered {
    /// What the sibling policy requested of the system and of the process's other threads, and what came of it.
    ///
    /// Thread: any but a leader inside a block: it takes a lock and allocates.
    pub fn others(&self) -> Protection {
        self.protected.report()
    }

    /// Gives back what a policy asked of the rest of the process and of the system, but not the seat
    /// and class of the leader's thread: for a leader whose thread has ended.
    ///
    /// Thread: control. Cost: system calls.
    pub fn outlive(self) {
        self._seat.forget();
    }
}
