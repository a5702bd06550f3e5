//! When a sibling policy makes its requests, and when it gives back what the system granted.
//!
//! It requests when a leader takes its seat, and gives everything back when the leader leaves. In between, a control thread
//! may change the policy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hocket_machine::pin::{self, ThreadId, current_thread};
use hocket_plan::SiblingPolicy;
use hocket_plan::schedule::Team;

use super::protect::{Granted, Protection};
use super::seating::Seating;
use super::threads_live::ThreadsLive;
use crate::worker::seat::{self, ThreadReport};

/// How long a change of the policy waits until the leader has taken the new plan over: more than the longest block takes.
const PATIENCE: Duration = Duration::from_millis(250);

/// Makes requests of the policies that an engine may follow, one at a time.
pub(crate) struct Protector {
    /// Those policies, the first one of the settings first.
    seatings: Vec<Seating>,
    /// Index of the present policy's seating. It changes under the lock of `state`.
    present: AtomicUsize,
    /// Workers, the leader among them, whether the present policy needs them or not.
    workers: usize,
    /// Workers and guards. Set when they have started.
    threads: OnceLock<Threads>,
    state: Mutex<State>,
}

struct Threads {
    /// What each obtained: workers, then guards.
    reports: Vec<ThreadReport>,
    live: ThreadsLive,
    /// Whether threads may wait for each other as long as real-time threads do ([`crate::block::runner::Runner::real_time`]).
    real_time: Arc<AtomicBool>,
}

struct State {
    leader: Option<Leader>,
    /// Counts leaders, so that none gives back what a later one was granted.
    leaders: u64,
    granted: Granted,
}

/// Who plays.
enum Leader {
    /// A thread of the process's own, and its report once it has its seat.
    Own(ThreadId, Option<ThreadReport>),
    /// A sound server's thread.
    Foreign,
}

/// A leader plays while this lives. A drop gives back what the policy was granted.
pub(super) struct Protected {
    protector: Arc<Protector>,
    leader: u64,
}

impl Protector {
    /// `seatings`: by policy, the first one is the present one. `workers`: of all of them.
    pub(super) fn new(seatings: Vec<Seating>, workers: usize) -> Arc<Protector> {
        let state = State { leader: None, leaders: 0, granted: Granted::default() };
        Arc::new(Protector {
            seatings,
            present: AtomicUsize::new(0),
            workers,
            threads: OnceLock::new(),
            state: Mutex::new(state),
        })
    }

    /// The threads have started. Called once.
    pub(super) fn knows(
        &self,
        reports: Vec<ThreadReport>,
        live: ThreadsLive,
        real_time: Arc<AtomicBool>,
    ) {
        let _ = self.threads.set(Threads { reports, live, real_time });
    }

    /// Whether the present policy needs a thread, by its place in the reports.
    pub(super) fn needs(&self, place: usize) -> bool {
        let placement = self.present().placement();
        // The leader has no report.
        let desk = place + 1;
        match desk < self.workers {
            true => desk < placement.workers.len(),
            false => !placement.guards.is_empty(),
        }
    }

    fn present(&self) -> &Seating {
        // Relaxed: the seatings were there before, and a control thread that reads the old place looks again.
        &self.seatings[self.present.load(Relaxed)]
    }

    /// The calling thread is about to take the leader's seat.
    pub(super) fn enter(self: &Arc<Self>) -> Protected {
        self.begin(Leader::Own(current_thread(), None))
    }

    /// A sound server's thread leads.
    pub(super) fn follow(self: &Arc<Self>) -> Protected {
        self.begin(Leader::Foreign)
    }

    fn begin(self: &Arc<Self>, leader: Leader) -> Protected {
        let mut state = self.state();
        state.leader = Some(leader);
        state.leaders += 1;
        state.granted = Granted::default();
        self.request(&mut state, false);
        Protected { protector: Arc::clone(self), leader: state.leaders }
    }

    /// The results of the present policy's requests.
    pub(super) fn protection(&self) -> Protection {
        self.state().granted.report.clone()
    }

    /// Why the present policy changes nothing here.
    pub(super) fn no_effect(&self) -> Option<String> {
        self.present().placement().no_effect.clone()
    }

    /// Changes the policy; `None`: it is none of those that the engine may follow. `plan`: hands over a plan for these workers,
    /// with the kind of each seat. `is_taken`: whether the leader has taken it over.
    ///
    /// Marks and moves of the last policy end before the new plan begins, and those of the new one begin with it: under marks
    /// of the one, workers of the other would keep each other from running.
    ///
    /// Thread: control. Two threads that change it take turns.
    pub(super) fn change<E>(
        &self,
        policy: SiblingPolicy,
        plan: impl FnOnce((Team, Vec<usize>)) -> Result<(), E>,
        is_taken: impl Fn() -> bool,
    ) -> Result<Option<Protection>, E> {
        let is_it = |seating: &Seating| seating.placement().policy == policy;
        let Some(next) = self.seatings.iter().position(is_it) else { return Ok(None) };
        let mut state = self.state();
        // Relaxed: this lock orders it.
        if next == self.present.load(Relaxed) {
            return Ok(Some(state.granted.report.clone()));
        }
        let had_asked = state.granted.report.asked.is_some();
        state.granted = Granted::default();
        self.allow_long_waits(&state, false);
        let planned = plan(team(&self.seatings[next]));
        if planned.is_ok() {
            // Relaxed: as above.
            self.present.store(next, Relaxed);
            if state.leader.is_some() {
                await_that(is_taken);
            }
        }
        self.request(&mut state, had_asked);
        self.allow_long_waits(&state, true);
        planned.map(|()| Some(state.granted.report.clone()))
    }

    /// Makes the requests of the present policy. `had_asked`: the last one may have moved threads.
    fn request(&self, state: &mut State, had_asked: bool) {
        let (seating, Some(threads)) = (self.present(), self.threads.get()) else { return };
        let own: Vec<ThreadId> = threads.reports.iter().map(|report| report.tid).collect();
        threads.live.while_live(|| {
            state.granted = match &state.leader {
                None => Granted::default(),
                // One that has ended without a word. The system may use its number for another thread.
                Some(Leader::Own(leader, _)) if !pin::is_own_thread(*leader) => Granted::default(),
                Some(Leader::Foreign) => Granted::beside_foreign(seating),
                Some(Leader::Own(leader, report)) => {
                    let mut granted = Granted::to(seating, (*leader, report.is_some()), &own);
                    if had_asked || granted.report.asked.is_some() {
                        let seated = threads.reports.iter().chain(report);
                        keep_seats(seated, &mut granted.report);
                    }
                    granted
                }
            };
        });
    }

    /// Lets threads wait for each other as long as real-time threads do, if all that the policy needs are such threads. Beside a
    /// server's thread, its follower decides that.
    fn allow_long_waits(&self, state: &State, allow: bool) {
        let (Some(Leader::Own(_, leader)), Some(threads)) = (&state.leader, self.threads.get())
        else {
            return;
        };
        let is_real_time =
            |(place, report): (usize, &ThreadReport)| report.real_time || !self.needs(place);
        let leads = leader.as_ref().is_some_and(|report| report.real_time);
        let all = leads && threads.reports.iter().enumerate().all(is_real_time);
        // Relaxed: a hint. Either wait is right at any time.
        threads.real_time.store(allow && all, Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left a policy whose requests nobody knows to have been granted.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until it is so, or for [`PATIENCE`]: nobody may run blocks at present.
fn await_that(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The requests of this policy, or those of the last one, may have moved threads off their seats.
fn keep_seats<'a>(reports: impl Iterator<Item = &'a ThreadReport>, protection: &mut Protection) {
    for report in reports {
        if let Err(error) = seat::keep_seat(report) {
            protection.refused.push(format!("{}: {error}", report.name));
        }
    }
}

/// The workers of a seating, and the kind of each seat.
fn team(seating: &Seating) -> (Team, Vec<usize>) {
    let workers = seating.placement().workers.len();
    (seating.team(), (0..workers).map(|worker| seating.kind_of(worker)).collect())
}

impl Protected {
    /// The results of the present policy's requests.
    pub(super) fn report(&self) -> Protection {
        self.protector.protection()
    }

    /// Whether the policy makes any request.
    pub(super) fn has_asked(&self) -> bool {
        self.protector.state().granted.report.asked.is_some()
    }

    /// The leader has its seat. A control thread that changed the policy meanwhile knew nothing of that seat.
    pub(super) fn is_seated(&self, report: &ThreadReport) {
        let mut state = self.protector.state();
        let State { leader, leaders, granted } = &mut *state;
        let (true, Some(Leader::Own(_, seat))) = (*leaders == self.leader, leader) else { return };
        *seat = Some(report.clone());
        if report.why.is_none() {
            keep_seats(std::iter::once(report), &mut granted.report);
        }
        self.protector.allow_long_waits(&state, true);
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        let mut state = self.protector.state();
        if state.leaders == self.leader {
            self.protector.allow_long_waits(&state, false);
            state.leader = None;
            state.granted = Granted::default();
        }
    }
}
