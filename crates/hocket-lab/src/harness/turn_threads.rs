//! Threads that begin a piece of work together.
//!
//! A turn that needs several threads makes a [`TurnThreads`], whose members are pinned, get their scheduling
//! class and are read back before anything is timed; then all begin at one planned instant. Threads are
//! made for a turn and end with it, so that nothing of one variant is left when the next has its turn.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hocket_machine::class::{self, Class};
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_machine::noise::{ThreadCounters, ThreadSnapshot};
use hocket_machine::pin;

use super::host::set_of;
use super::{Fault, layout, ledger};

/// Where a member runs and in which class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    cpus: Vec<u32>,
    class: Option<Class>,
}

impl Place {
    /// Pinned to one CPU, in the class of the process.
    pub fn on(cpu: u32) -> Place {
        Place { cpus: vec![cpu], class: None }
    }

    /// On any of these CPUs; none: wherever the scheduler likes.
    pub fn among(cpus: &[u32]) -> Place {
        Place { cpus: cpus.to_vec(), class: None }
    }

    /// Wherever the scheduler likes.
    pub fn anywhere() -> Place {
        Place::among(&[])
    }

    /// In this class.
    pub fn class(mut self, class: Class) -> Place {
        self.class = Some(class);
        self
    }
}

type Work<'a, R> = Box<dyn FnOnce() -> R + Send + 'a>;

/// Threads to be.
pub struct TurnThreads<'a, R> {
    members: Vec<(Place, Work<'a, R>)>,
}

impl<R> Default for TurnThreads<'_, R> {
    fn default() -> Self {
        TurnThreads { members: Vec::new() }
    }
}

impl<'a, R: Send> TurnThreads<'a, R> {
    /// Nobody yet.
    pub fn new() -> Self {
        TurnThreads::default()
    }

    /// With one more thread. Its work may borrow what outlives [`TurnThreads::run`].
    pub fn with(mut self, place: Place, work: impl FnOnce() -> R + Send + 'a) -> Self {
        self.members.push((place, Box::new(work)));
        self
    }

    /// Starts all, lets them begin together, waits for all.
    ///
    /// They begin at an instant that is set once every member stands ready: by spinning up to it where
    /// each has a CPU of its own, by sleeping up to it where they share. What they used of CPU time and
    /// switches goes into the ledger of the turn as well.
    ///
    /// # Errors
    /// A member that cannot be pinned or is refused its class, a thread that cannot be started, work
    /// that panics. Members that wait for one that panicked wait for ever; the run then ends the
    /// process start.
    pub fn run(self) -> Result<TurnThreadsRun<R>, Fault> {
        let n = self.members.len();
        let spin = have_cpus_of_their_own(&self.members);
        let gate = Gate::default();
        let joined: Vec<Result<MemberRun<R>, Fault>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(n);
            for (place, work) in self.members {
                let gate = &gate;
                let body = move || layout::shifted(|| member(&place, work, gate, n, spin));
                match std::thread::Builder::new()
                    .name("lab-member".into())
                    .spawn_scoped(scope, body)
                {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        gate.abort(format!("thread {} cannot be started: {error}", threads.len()));
                        break;
                    }
                }
            }
            gate.open_when_ready(n);
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| Err(told(&panic))))
                .collect()
        });
        if let Some(why) = gate.aborted() {
            return Err(Fault(why));
        }
        let members = joined.into_iter().collect::<Result<Vec<_>, _>>()?;
        members.iter().filter_map(|member| member.counters.as_ref()).for_each(ledger::note_thread);
        Ok(TurnThreadsRun { members })
    }
}

fn have_cpus_of_their_own<R>(members: &[(Place, Work<'_, R>)]) -> bool {
    let mut cpus: Vec<u32> = members.iter().filter_map(|(place, _)| single(place)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.len() == members.len()
}

fn single(place: &Place) -> Option<u32> {
    (place.cpus.len() == 1).then(|| place.cpus[0])
}

/// What came of it.
#[derive(Debug)]
pub struct TurnThreadsRun<R> {
    /// In the order in which they joined.
    pub members: Vec<MemberRun<R>>,
}

/// What came of one member.
#[derive(Debug)]
pub struct MemberRun<R> {
    /// What its work returned.
    pub result: R,
    /// CLOCK_MONOTONIC when its work began.
    pub started_ns: u64,
    /// And when it ended.
    pub finished_ns: u64,
    /// What it used between; `None` where the system does not count for threads.
    pub counters: Option<ThreadCounters>,
}

impl<R> MemberRun<R> {
    /// How long it worked.
    pub fn wall_ns(&self) -> u64 {
        self.finished_ns.saturating_sub(self.started_ns)
    }
}

impl<R> TurnThreadsRun<R> {
    /// From the first that began to the last that ended.
    pub fn wall_ns(&self) -> u64 {
        let first = self.members.iter().map(|m| m.started_ns).min().unwrap_or(0);
        let last = self.members.iter().map(|m| m.finished_ns).max().unwrap_or(0);
        last.saturating_sub(first)
    }

    /// CPU time of all members together; `None` where one is not counted.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.members.iter().map(|m| Some(m.counters.as_ref()?.cpu_ns)).sum()
    }

    /// What the members' work returned.
    pub fn into_results(self) -> Vec<R> {
        self.members.into_iter().map(|member| member.result).collect()
    }
}

/// One member from birth to end.
fn member<R>(
    place: &Place,
    work: Work<'_, R>,
    gate: &Gate,
    n: usize,
    spin: bool,
) -> Result<MemberRun<R>, Fault> {
    if let Err(fault) = settle(place) {
        gate.abort(fault.0.clone());
        return Err(fault);
    }
    let before = ThreadSnapshot::take();
    let start_ns = gate.wait_to_start().ok_or_else(|| Fault::new("the team did not start"))?;
    if spin {
        while monotonic_ns() < start_ns {
            std::hint::spin_loop();
        }
    } else {
        sleep_until_ns(start_ns);
    }
    let leaving = Leaving { gate, n };
    let started_ns = monotonic_ns();
    let result = work();
    let finished_ns = monotonic_ns();
    // Reading the counters takes a while and must not disturb those who still work.
    leaving.wait_for_all();
    let counters = ThreadSnapshot::take().since(&before).0.value().cloned();
    Ok(MemberRun { result, started_ns, finished_ns, counters })
}

/// Asks for place and class, and holds both against what the system reports.
fn settle(place: &Place) -> Result<(), Fault> {
    if !place.cpus.is_empty() {
        pin::pin_current_thread(&set_of(&place.cpus)).map_err(Fault::new)?;
    }
    let Some(class) = place.class else { return Ok(()) };
    let report = class::request(class);
    if report.granted { Ok(()) } else { Err(Fault(format!("scheduling class: {report}"))) }
}

/// Counts its member as done however the work ends, so that the others do not wait for a panic.
struct Leaving<'a> {
    gate: &'a Gate,
    n: usize,
}

impl Leaving<'_> {
    fn wait_for_all(self) {
        let (gate, n) = (self.gate, self.n);
        drop(self);
        gate.wait_for_finished(n);
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.gate.finished();
    }
}

fn told(panic: &Box<dyn std::any::Any + Send>) -> Fault {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Fault(format!("a thread panicked: {}", text.unwrap_or_else(|| "without a message".into())))
}

/// Where members wait for the start and, when done, for each other.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: usize,
    done: usize,
    start_ns: Option<u64>,
    aborted: Option<String>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn abort(&self, why: String) {
        self.lock().aborted.get_or_insert(why);
        self.changed.notify_all();
    }

    fn aborted(&self) -> Option<String> {
        self.lock().aborted.clone()
    }

    fn wait_to_start(&self) -> Option<u64> {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        while state.start_ns.is_none() && state.aborted.is_none() {
            state = self.wait(state);
        }
        if state.aborted.is_some() { None } else { state.start_ns }
    }

    /// Sets the start once all stand ready, far enough ahead for all to have woken up by then.
    fn open_when_ready(&self, n: usize) {
        let mut state = self.lock();
        while state.ready < n && state.aborted.is_none() {
            state = self.wait(state);
        }
        let ahead = Duration::from_micros(200) + Duration::from_micros(20) * n as u32;
        state.start_ns = Some(monotonic_ns() + ahead.as_nanos() as u64);
        drop(state);
        self.changed.notify_all();
    }

    fn finished(&self) {
        self.lock().done += 1;
        self.changed.notify_all();
    }

    fn wait_for_finished(&self, n: usize) {
        let mut state = self.lock();
        while state.done < n {
            state = self.wait(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_work_and_are_counted() {
        let cpu = pin::current_affinity().unwrap().first().unwrap();
        let base = [1, 2, 3];
        let team = (0..3).fold(TurnThreads::new(), |team, i| {
            let base = &base;
            team.with(Place::on(cpu), move || (base[i] * 10, pin::current_cpu()))
        });
        let run = team.run().unwrap();
        assert!(run.members.iter().all(|member| member.finished_ns >= member.started_ns));
        assert!(run.wall_ns() >= run.members[0].wall_ns());
        let results = run.into_results();
        assert_eq!(results.iter().map(|r| r.0).collect::<Vec<_>>(), [10, 20, 30]);
        assert!(results.iter().all(|r| r.1.is_none_or(|on| on == cpu)));
    }

    #[test]
    fn what_goes_wrong_is_a_fault() {
        let nowhere =
            TurnThreads::new().with(Place::on(16_000), || ()).with(Place::anywhere(), || ());
        assert!(nowhere.run().unwrap_err().0.contains("16000"));
        let panics = TurnThreads::new().with(Place::anywhere(), || assert_eq!(1, 2, "the sum"));
        assert!(panics.run().unwrap_err().0.contains("the sum"));
    }
}
