//! What a sibling policy requests of the system, and of threads outside the engine.
//!
//! A refusal is reported with the reason and what would help; the engine then plays without it. When it requests, and when
//! it gives everything back, is in `protector.rs`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_machine::cookie::{self, Cookie, CookieError, CookieGuard};
use hocket_machine::partition::{Holds, Partition, PartitionError, PartitionKind};
use hocket_machine::pin::{self, ConfinedProcess, CpuSet, ThreadId};
use hocket_machine::smt::{self, SmtOff};
use hocket_plan::{SeatId, SiblingPolicy};

use super::regular_thread::{NextLook, RegularThread};
use super::seating::Seating;

/// The results of a policy's requests.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// What the policy requests of the system, in words; `None`: nothing.
    pub asked: Option<String>,
    /// What the system reports as granted; `None`: nothing requested, or nothing granted.
    pub got: Option<String>,
    /// How many other threads are now on the requested CPUs, as the system reports.
    pub moved: usize,
    /// What could not be done, and why.
    pub refused: Vec<String>,
    moved_since: Arc<AtomicUsize>,
}

/// What the system granted a policy. Dropping this gives everything back.
#[derive(Debug, Default)]
pub(super) struct Granted {
    /// What was requested, and what came of it.
    pub(super) report: Protection,
    _held: Option<Held>,
}

/// Kept for its drop.
#[derive(Debug)]
#[allow(dead_code)]
enum Held {
    Confined(Confined),
    Cookies(CookieGuard),
    Partition(Partition),
    Smt(SmtOff),
}

/// The other threads of the process, and who looks for new ones: plug-ins and libraries start theirs when they like.
#[derive(Debug)]
#[allow(dead_code)]
struct Confined {
    /// Dropped first. `None`: it could not be started.
    looks: Option<RegularThread>,
    process: Arc<Mutex<ConfinedProcess>>,
}

/// How many looks of the [`RegularThread`] pass until it looks for new threads: about a second.
const LOOKS: u32 = 25;

impl Protection {
    /// How many threads have started since on other CPUs than the requested ones, and were moved there too. A look about once
    /// a second finds them.
    pub fn moved_since(&self) -> usize {
        // Relaxed: a count that publishes nothing.
        self.moved_since.load(Relaxed)
    }

    /// Whether the system granted the policy as requested.
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty()
    }

    /// What was requested and what came of it, in one line for people; `None`: nothing was requested.
    pub fn summary(&self) -> Option<String> {
        let asked = self.asked.as_ref()?;
        Some(match self.is_complete() {
            true => {
                let since = match self.moved_since() {
                    0 => String::new(),
                    1 => ", and one that started since".into(),
                    more => format!(", and {more} that started since"),
                };
                format!("{asked}: {}{since}", self.got.as_deref().unwrap_or("granted"))
            }
            false => format!("{asked}: not granted here: {}", self.refused.join("; ")),
        })
    }

    fn asking(what: String) -> Protection {
        Protection { asked: Some(what), ..Protection::default() }
    }

    fn refuse(mut self, why: impl std::fmt::Display) -> Granted {
        self.refused.push(why.to_string());
        Granted { report: self, _held: None }
    }

    fn hold(mut self, got: String, held: Held) -> Granted {
        self.got = Some(got);
        Granted { report: self, _held: Some(held) }
    }
}

impl Granted {
    /// Applies the seating's policy. `leader`: its thread, and whether that has its seat. `own`: those of workers and guards,
    /// in order.
    ///
    /// Thread: the leader's before its first block, or control. Cost: system calls, some for each thread of the process.
    pub(super) fn to(
        seating: &Seating,
        (leader, is_seated): (ThreadId, bool),
        own: &[ThreadId],
    ) -> Granted {
        if !seating.is_pinned() {
            return Granted::default();
        }
        match seating.placement().policy {
            SiblingPolicy::ProcessAffinity | SiblingPolicy::ReserveCore => {
                confined(seating, is_seated.then_some(leader), own)
            }
            SiblingPolicy::Cookie(_) => with_cookies(seating, leader, own),
            SiblingPolicy::Partition => partitioned(seating, leader, own),
            SiblingPolicy::Offline => without_smt(),
            SiblingPolicy::Off
            | SiblingPolicy::All
            | SiblingPolicy::IdleThread
            | SiblingPolicy::PairBarrier => Granted::default(),
        }
    }

    /// The same beside a leader whose thread belongs to a sound server. A policy that moves or marks threads of
    /// this process would do so to the server's threads, so it is refused. Thread: control.
    pub(super) fn beside_foreign(seating: &Seating) -> Granted {
        let policy = seating.placement().policy;
        match policy {
            SiblingPolicy::Offline if seating.is_pinned() => without_smt(),
            _ if policy.is_for_own_leader() && seating.is_pinned() => {
                let name = policy.name();
                Protection::asking(format!("sibling policy {name}")).refuse(format_args!(
                    "sibling policy {name} would move or mark threads of the sound server, so it is not applied; \
                     choose off, all, idle-thread, pair-barrier or offline"
                ))
            }
            _ => Granted::default(),
        }
    }
}

fn cpus_of(seating: &Seating, seats: Option<&Vec<SeatId>>) -> Option<CpuSet> {
    seats.and_then(|seats| seats.iter().map(|seat| seating.cpu(*seat)).collect())
}

/// `process-affinity`, `reserve-core`: all other threads of the process on these CPUs.
///
/// `seated`: a leader with a seat. One that takes its seat afterwards is moved there until then, and so are the threads that it
/// starts meanwhile.
fn confined(seating: &Seating, seated: Option<ThreadId>, own: &[ThreadId]) -> Granted {
    let Some(cpus) = cpus_of(seating, seating.placement().others.as_ref()) else {
        return Granted::default();
    };
    let mut asked = Protection::asking(format!("other threads of this process on CPUs {cpus}"));
    let except: Vec<ThreadId> = own.iter().copied().chain(seated).collect();
    match pin::confine_process(&cpus, &except) {
        Err(error) => asked.refuse(error),
        Ok(confined) => {
            asked.moved = confined.threads();
            asked.refused = confined.refused().iter().map(|(_, error)| error.to_string()).collect();
            let got = format!("{} threads on CPUs {}", asked.moved, confined.cpus());
            let process = Arc::new(Mutex::new(confined));
            let looks = look_for_new_threads(&process, &asked.moved_since);
            if let Err(error) = &looks {
                asked
                    .refused
                    .push(format!("threads that start later are not moved there: {error}"));
            }
            asked.hold(got, Held::Confined(Confined { looks: looks.ok(), process }))
        }
    }
}

/// Starts the thread that looks for new threads. It is one of those that stay on the CPUs.
fn look_for_new_threads(
    process: &Arc<Mutex<ConfinedProcess>>,
    moved_since: &Arc<AtomicUsize>,
) -> std::io::Result<RegularThread> {
    let (process, moved_since) = (Arc::clone(process), Arc::clone(moved_since));
    let mut looks = 0u32;
    RegularThread::start("confiner", move || {
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(LOOKS) {
            let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
            // Without a list of threads there is nothing to do. The next look may have one.
            moved_since.fetch_add(process.confine_newcomers().unwrap_or(0), Relaxed);
        }
        NextLook::Soon
    })
}

/// `cookie`: one for each group of workers. The leader is worker 0; the others follow in order.
fn with_cookies(seating: &Seating, leader: ThreadId, own: &[ThreadId]) -> Granted {
    let groups = &seating.placement().cookies;
    let asked = Protection::asking(match groups.len() {
        1 => "one core-scheduling cookie for all workers".into(),
        count => format!("{count} core-scheduling cookies"),
    });
    let thread = |worker: &usize| match worker {
        0 => Some(leader),
        _ => own.get(worker - 1).copied(),
    };
    let guard = CookieGuard::remember_of(leader).and_then(|mut guard| {
        own.iter().for_each(|thread| guard.also(*thread));
        let mut made = Vec::new();
        for group in groups {
            let threads: Vec<ThreadId> = group.iter().filter_map(thread).collect();
            made.push(one_cookie(&threads)?);
        }
        Ok((guard, made))
    });
    match guard {
        Err(error) => asked.refuse(error),
        Ok((guard, made)) => {
            let numbers: Vec<String> = made.iter().map(Cookie::to_string).collect();
            asked.hold(numbers.join(", "), Held::Cookies(guard))
        }
    }
}

/// Makes a cookie and gives it to all of `threads`, through a thread that ends: a cookie comes from a thread that has it.
fn one_cookie(threads: &[ThreadId]) -> Result<Cookie, CookieError> {
    let give = || -> Result<Cookie, CookieError> {
        let made = cookie::create(cookie::Scope::Thread)?;
        threads.iter().try_for_each(|thread| cookie::share_to(*thread).map(drop))?;
        Ok(made)
    };
    let refused = |why: String| CookieError::Refused(why);
    std::thread::scope(|scope| {
        let giver = std::thread::Builder::new().spawn_scoped(scope, give);
        let giver = giver.map_err(|error| refused(error.to_string()))?;
        giver
            .join()
            .unwrap_or_else(|_| Err(refused("the thread that gives cookies panicked".into())))
    })
}

/// `partition`: the workers' cores for the workers alone; if single threads are not possible, for the
/// whole process.
fn partitioned(seating: &Seating, leader: ThreadId, own: &[ThreadId]) -> Granted {
    let Some(cpus) = cpus_of(seating, seating.placement().partition.as_ref()) else {
        return Granted::default();
    };
    let asked = Protection::asking(format!("CPUs {cpus} in a cpuset partition"));
    match threads_in_partition(&cpus, own.iter().copied().chain([leader])) {
        Ok(partition) => {
            let got = format!("the workers alone on CPUs {cpus}");
            asked.hold(got, Held::Partition(partition))
        }
        Err(single) => match process_in_partition(&cpus) {
            Ok(partition) => {
                let got = format!("this process alone on CPUs {cpus}, not the workers: {single}");
                asked.hold(got, Held::Partition(partition))
            }
            Err(error) => asked.refuse(error),
        },
    }
}

fn threads_in_partition(
    cpus: &CpuSet,
    threads: impl IntoIterator<Item = ThreadId>,
) -> Result<Partition, PartitionError> {
    let partition = Partition::create("workers", cpus, PartitionKind::Root, Holds::Threads)?;
    threads.into_iter().try_for_each(|thread| partition.take_thread(thread).map(drop))?;
    Ok(partition)
}

fn process_in_partition(cpus: &CpuSet) -> Result<Partition, PartitionError> {
    let partition = Partition::create("process", cpus, PartitionKind::Root, Holds::Process)?;
    partition.take_process()?;
    Ok(partition)
}

/// `offline`: no siblings while this lives.
fn without_smt() -> Granted {
    let asked = Protection::asking("SMT switched off".into());
    match smt::state() {
        Ok(state) if state.control.is_off() => {
            let got = Some("SMT is off already".into());
            Granted { report: Protection { got, ..asked }, _held: None }
        }
        _ => match smt::switch_off() {
            Ok(off) => {
                let got = format!("SMT {}", off.now().control);
                asked.hold(got, Held::Smt(off))
            }
            Err(error) => asked.refuse(error),
        },
    }
}
