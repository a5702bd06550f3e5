//! Follows a leader whose thread belongs to a sound server, and seats the workers beside it.
//!
//! The server chose that thread's class, priority and CPUs, so the engine leaves them alone. In each block the leader
//! notes its thread and CPU (`leader/sighting.rs`). A control thread looks at that note, reads the class, and moves
//! the workers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_machine::Fact;
use hocket_machine::class::{self, ClassNow, Policy};
use hocket_machine::pin::{self, CpuSet, ThreadId};

use super::engine::Engine;
use super::protect::Protection;
use super::protector::{Protected, Protector};
use super::regular_thread::{NextLook, RegularThread};
use super::seating::Seating;
use super::threads_live::ThreadsLive;
use crate::leader::sighting::{Seen, Sighting};
use crate::worker::seat::{self, Rank, ThreadReport};

/// How many looks in a row must find a leader that may roam on another CPU before the workers move.
const SETTLED_LOOKS: u32 = 3;
/// How many looks pass until the follower checks that the workers still have what they obtained: some two seconds.
const CHECK_LOOKS: u32 = 50;

/// Why a leader cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Another [`Following`] of this engine lives.
    #[error("this engine follows its leader already; drop the earlier `Following` first")]
    Already,
    /// The system cannot start another thread.
    #[error("the thread that follows the leader cannot be started: {0}; close other programs")]
    Thread(#[from] std::io::Error),
}

/// A leader's thread that belongs to somebody else, as the system reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderReport {
    /// The kernel's thread id.
    pub tid: ThreadId,
    /// The CPU on which its last block began.
    pub cpu: u32,
    /// The CPUs that it may use.
    pub cpus: String,
    /// Its scheduling class.
    pub class: String,
    /// Whether that is a real-time class.
    pub real_time: bool,
}

/// What a [`Following`] sees and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowReport {
    /// The leader. `None`: no block has run yet.
    pub leader: Option<LeaderReport>,
    /// The CPU that the workers keep free for the leader. `None`: no block has run yet.
    pub kept_free: Option<u32>,
    /// Workers and guards: what each requested and obtained last.
    pub threads: Vec<ThreadReport>,
    /// How many times workers and guards took other seats or another class.
    pub reseated: u64,
    /// Whether threads wait as long as they do beside a pinned leader ([`Engine::enter`]). They do if all hold a
    /// real-time class and a CPU that the leader cannot use. Otherwise each wait soon blocks: see the crate's documentation,
    /// section Costs.
    pub waits_long: bool,
}

/// The workers follow the leader while this lives. A drop gives them back the seats and class of the start.
#[must_use = "the workers follow the leader only while this lives"]
pub struct Following {
    follower: Arc<Mutex<Follower>>,
    /// Dropped first.
    thread: Option<RegularThread>,
    protected: Protected,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following").field("report", &self.report()).finish_non_exhaustive()
    }
}

/// # Leaders that belong to a sound server
impl Engine {
    /// Follows the leader wherever a sound server runs it: for the process callback of JACK, PipeWire or a plug-in
    /// host, whose thread is not yours to pin or to promote.
    ///
    /// Call this on a control thread, then give the engine to the callback. The callback calls [`Engine::process`]
    /// and nothing else. It must not call [`Engine::enter`].
    ///
    /// | the leader | the engine |
    /// |---|---|
    /// | its class, priority and CPUs | never changes them |
    /// | SCHED_FIFO or SCHED_RR with priority `p` | asks for SCHED_FIFO `p - 1` for the workers, at least 1 |
    /// | SCHED_DEADLINE | asks for SCHED_FIFO with [`Settings::priority`](crate::Settings::priority) |
    /// | an ordinary class (no rights, freewheeling) | makes the workers ordinary threads |
    /// | runs on the CPU of a worker | that worker, and those on its core, take the seats of worker 0's core |
    /// | held to one CPU, moved to another | the next look reseats the workers |
    /// | may use several CPUs | three looks in a row on another CPU reseat the workers |
    /// | is another thread | the next look begins anew |
    ///
    /// Workers never have a higher priority than the leader, but for priority 1, which they share. With
    /// [`Settings::priority`](crate::Settings::priority) `None` the workers' class stays as it is. The follower looks every 40 ms, and
    /// every 200 ms while the engine rests ([`Engine::rests`]). In each 50th look, after some 2 s, it also checks that each worker still has the CPU and class that it obtained, and asks again if not.
    ///
    /// Until the first look after the first block, workers have the seats and the class of the start, and every wait
    /// in a block soon blocks ([`FollowReport::waits_long`]). So a worker may share the leader's CPU for some blocks. Choose
    /// a [`Settings::priority`](crate::Settings::priority) below the server's: JACK's clients have 65 where its driver has 70.
    ///
    /// A leader that may use every CPU can meet a worker on one. Waits therefore stay short, unless the leader is
    /// held to CPUs without workers; see [`FollowReport::waits_long`]. A reseated worker may be inside a block: the
    /// system moves it, and the block takes some microseconds longer.
    ///
    /// # End
    /// First let the callback return without touching the engine, and wait until it has done so once. Then
    /// deactivate and close the client, because `jack_deactivate` may cancel the thread in the midst of a
    /// callback. Then drop the engine and the returned value, in any order.
    ///
    /// Thread: control; it allocates, calls the system and starts a thread. Cost for the leader: some nanoseconds per
    /// block, and one system call (`gettid`) in the first block of each thread.
    ///
    /// # Errors
    /// [`FollowError`]. A refused right is no error: see [`Following::report`].
    pub fn follow_leader(&self) -> Result<Following, FollowError> {
        let sighting = Arc::clone(self.notes.sighting());
        if !sighting.follow() {
            return Err(FollowError::Already);
        }
        let follower = Follower {
            sighting,
            live: self.threads_live.clone(),
            real_time: Arc::clone(&self.leader.runner().real_time),
            own_class: self.settings.priority.into(),
            at_start: self.reports.clone(),
            seating: self.seating.clone(),
            protector: Arc::clone(&self.protector),
            kept_free: KeptFree::default(),
            wanted: None,
            unchecked: 0,
            report: FollowReport {
                leader: None,
                kept_free: None,
                threads: self.reports.clone(),
                reseated: 0,
                waits_long: false,
            },
        };
        let follower = Arc::new(Mutex::new(follower));
        let protected = self.protector.follow();
        let mut following = Following { follower, thread: None, protected };
        let follower = Arc::clone(&following.follower);
        let progress = Arc::clone(&self.progress);
        let look = move || {
            lock(&follower).look();
            NextLook::of(progress.rests())
        };
        // If this thread cannot start, the drop of `following` leaves the leader.
        following.thread = Some(RegularThread::start("follower", look)?);
        Ok(following)
    }
}

impl Following {
    /// Looks at the leader now, instead of with the follower's next look.
    ///
    /// Thread: control. Cost: system calls, more if workers move.
    pub fn look(&self) -> FollowReport {
        let mut follower = lock(&self.follower);
        follower.look();
        follower.report.clone()
    }

    /// What the sibling policy requested, and what came of it. A policy that would move or mark a thread of the server is
    /// refused.
    ///
    /// Thread: control. Allocates.
    pub fn others(&self) -> Protection {
        self.protected.report()
    }

    /// What the last look found and did.
    ///
    /// Thread: control. Allocates, and waits for a look that is under way.
    pub fn report(&self) -> FollowReport {
        lock(&self.follower).report.clone()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.thread = None;
        lock(&self.follower).go_home();
    }
}

fn lock(follower: &Mutex<Follower>) -> MutexGuard<'_, Follower> {
    // A look that panicked left plain data; the next one begins with what the system reports.
    follower.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the follower's thread and the control threads share.
struct Follower {
    sighting: Arc<Sighting>,
    live: ThreadsLive,
    real_time: Arc<AtomicBool>,
    /// The class that the settings ask for.
    own_class: Rank,
    at_start: Vec<ThreadReport>,
    seating: Seating,
    protector: Arc<Protector>,
    kept_free: KeptFree,
    /// What the workers asked for last; `None`: what they had at the start.
    wanted: Option<Wanted>,
    /// Looks since the workers were checked.
    unchecked: u32,
    report: FollowReport,
}

/// Where workers sit, and in which class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    leader_cpu: Option<u32>,
    rank: Rank,
}

impl Follower {
    fn look(&mut self) {
        let Some(seen) = self.sighting.seen() else { return };
        let live = self.live.clone();
        live.while_live(|| match SeenLeader::find(seen) {
            Some(leader) => self.follow(&leader),
            None => self.lose(),
        });
    }

    /// The thread has ended. The next leader may have its mark.
    fn lose(&mut self) {
        self.sighting.lose();
        self.wait_long(false);
    }

    fn follow(&mut self, leader: &SeenLeader) {
        let leader_cpu = self.kept_free.look(leader.seen, &leader.cpus);
        let wanted = Wanted { leader_cpu, rank: self.rank_beside(&leader.class) };
        if self.wanted != Some(wanted) || self.is_disturbed() {
            self.reseat(wanted);
        }
        self.wait_long(self.may_wait_long(leader));
        self.report.leader = Some(leader.report());
        self.report.kept_free = leader_cpu;
    }

    fn rank_beside(&self, leader: &Fact<ClassNow>) -> Rank {
        match (self.own_class, leader.value()) {
            (Rank::Unchanged, _) | (_, None) => Rank::Unchanged,
            (own, Some(now)) => rank_beside(now, own),
        }
    }

    /// Whether a worker lost its CPU or its class, for example because a service took it back.
    fn is_disturbed(&mut self) -> bool {
        self.unchecked += 1;
        if self.unchecked < CHECK_LOOKS {
            return false;
        }
        self.unchecked = 0;
        !self.report.threads.iter().all(seat::is_still)
    }

    fn reseat(&mut self, wanted: Wanted) {
        let places = self.at_start.iter().zip(&mut self.report.threads);
        for (home, now) in places {
            let beside = |cpu| self.seating.cpu_beside(cpu, wanted.leader_cpu);
            *now = seat::resettle(now, home.cpu_asked.map(beside), wanted.rank);
        }
        self.wanted = Some(wanted);
        self.unchecked = 0;
        self.report.reseated += 1;
    }

    /// Whether no thread can take a CPU from one that it waits for.
    fn may_wait_long(&self, leader: &SeenLeader) -> bool {
        let held = |thread: &ThreadReport| {
            let cpu = thread.cpu_asked.filter(|_| thread.why.is_none());
            thread.real_time && cpu.is_some_and(|cpu| !leader.cpus.contains(cpu))
        };
        let waits = |(place, thread)| held(thread) || !self.protector.needs(place);
        leader.is_real_time() && self.report.threads.iter().enumerate().all(waits)
    }

    fn wait_long(&mut self, long: bool) {
        self.report.waits_long = long;
        // Relaxed: a hint. Either wait is right at any time.
        self.real_time.store(long, Relaxed);
    }

    /// Gives the workers back what they had at the start.
    fn go_home(&mut self) {
        self.sighting.leave();
        let live = self.live.clone();
        live.while_live(|| {
            self.wait_long(false);
            if self.wanted.is_some() {
                self.reseat(Wanted { leader_cpu: None, rank: self.own_class });
            }
        });
    }
}

/// The class of threads beside a leader of this class. `own`: the one that the settings ask for.
fn rank_beside(leader: &ClassNow, own: Rank) -> Rank {
    match leader.policy {
        Policy::Fifo | Policy::RoundRobin => {
            Rank::RealTime(leader.priority.saturating_sub(1).max(1))
        }
        // It runs before every SCHED_FIFO thread.
        Policy::Deadline => own,
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Unknown(_) => Rank::Ordinary,
    }
}

/// The leader's thread, as a look finds it.
struct SeenLeader {
    seen: Seen,
    cpus: CpuSet,
    class: Fact<ClassNow>,
}

impl SeenLeader {
    /// `None`: the thread has ended.
    fn find(seen: Seen) -> Option<SeenLeader> {
        if !pin::is_own_thread(seen.thread) {
            return None;
        }
        let cpus = pin::affinity_of_thread(seen.thread).ok()?;
        Some(SeenLeader { seen, cpus, class: class::now_of(seen.thread) })
    }

    fn is_real_time(&self) -> bool {
        self.class.value().is_some_and(ClassNow::is_real_time)
    }

    fn report(&self) -> LeaderReport {
        LeaderReport {
            tid: self.seen.thread,
            cpu: self.seen.cpu,
            cpus: self.cpus.to_string(),
            class: self.class.to_string(),
            real_time: self.is_real_time(),
        }
    }
}

/// Which CPU the workers keep free, and when that changes.
///
/// A move costs the workers their warm caches, so a leader that roams must stay on another CPU for some looks.
#[derive(Debug, Default)]
struct KeptFree {
    cpu: Option<u32>,
    seen: Option<Seen>,
    /// Another CPU on which the leader was seen, and how many looks in a row.
    rival: Option<(u32, u32)>,
}

impl KeptFree {
    /// `cpus`: those that the leader may use.
    fn look(&mut self, seen: Seen, cpus: &CpuSet) -> Option<u32> {
        let before = self.seen.replace(seen);
        let is_known = before.is_some_and(|before| before.thread == seen.thread);
        let stays = is_known && self.cpu.is_some_and(|cpu| cpus.contains(cpu));
        match cpus.first().filter(|_| cpus.len() == 1) {
            Some(only) => self.take(only),
            None if !cpus.contains(seen.cpu) => {}
            None if !stays => self.take(seen.cpu),
            None if before != Some(seen) => self.compare(seen.cpu),
            None => {}
        }
        self.cpu
    }

    fn take(&mut self, cpu: u32) {
        (self.cpu, self.rival) = (Some(cpu), None);
    }

    fn compare(&mut self, cpu: u32) {
        let looks = match self.rival {
            _ if self.cpu == Some(cpu) => return self.rival = None,
            Some((rival, looks)) if rival == cpu => looks + 1,
            _ => 1,
        };
        match looks < SETTLED_LOOKS {
            true => self.rival = Some((cpu, looks)),
            false => self.take(cpu),
        }
    }
}

#[cfg(test)]
mod tests;
