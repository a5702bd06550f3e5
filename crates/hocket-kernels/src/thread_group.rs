//! Threads that begin together.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How to start threads: how many, and what each does before it begins.
///
/// The caller's `settle` runs first in every thread, with the thread's number from 0; it is the place
/// to pin the thread or to ask for a scheduling class. Work begins when all have settled.
#[derive(Clone, Copy)]
pub struct ThreadGroup<'a> {
    threads: usize,
    settle: &'a (dyn Fn(usize) + Sync),
}

/// What a group's threads returned, in the order of their numbers, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished<R> {
    /// One for each thread.
    pub results: Vec<R>,
    /// From the first thread's beginning to the last one's end; without starting and joining them.
    pub elapsed: Duration,
}

impl<'a> ThreadGroup<'a> {
    /// So many threads (at least one), each settled by `settle`.
    pub fn new(threads: usize, settle: &'a (dyn Fn(usize) + Sync)) -> ThreadGroup<'a> {
        ThreadGroup { threads: threads.max(1), settle }
    }

    /// Threads that the system may put anywhere.
    pub fn anywhere(threads: usize) -> ThreadGroup<'static> {
        ThreadGroup::new(threads, &|_| {})
    }

    /// How many threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Starts the threads, lets each do `work` with its number, and joins them.
    ///
    /// # Errors
    /// What the system says when it has no more threads to give. Then nobody has begun.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<R: Send>(&self, work: impl Fn(usize) -> R + Sync) -> io::Result<Finished<R>> {
        self.run_beside(work, || {})
    }

    /// As [`run`](ThreadGroup::run), with `beside` run by the caller's thread once the others have begun.
    pub(crate) fn run_beside<R: Send>(
        &self,
        work: impl Fn(usize) -> R + Sync,
        beside: impl FnOnce(),
    ) -> io::Result<Finished<R>> {
        let gate = Gate::default();
        let timed = |number: usize| {
            (self.settle)(number);
            gate.pass().then(|| {
                let begun = Instant::now();
                let result = work(number);
                (begun, result, Instant::now())
            })
        };
        std::thread::scope(|scope| {
            let started: io::Result<Vec<_>> =
                (0..self.threads).map(|number| start(scope, number, &timed)).collect();
            // Nobody is left waiting at the gate, whatever happened.
            gate.open(if started.is_ok() { State::Go } else { State::GoHome }, self.threads);
            let started = started?;
            beside();
            Ok(finish(started.into_iter().filter_map(joined)))
        })
    }
}

fn start<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    number: usize,
    work: &'scope (impl Fn(usize) -> R + Sync),
) -> io::Result<ScopedJoinHandle<'scope, R>> {
    Builder::new().name(format!("group-{number}")).spawn_scoped(scope, move || work(number))
}

fn joined<R>(thread: ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn finish<R>(ends: impl Iterator<Item = (Instant, R, Instant)>) -> Finished<R> {
    let mut results = Vec::new();
    let mut span: Option<(Instant, Instant)> = None;
    for (begun, result, ended) in ends {
        results.push(result);
        let (first, last) = span.unwrap_or((begun, ended));
        span = Some((first.min(begun), last.max(ended)));
    }
    Finished { results, elapsed: span.map_or(Duration::ZERO, |(first, last)| last - first) }
}

/// Where threads wait until all are there.
#[derive(Default)]
struct Gate {
    inside: Mutex<(State, usize)>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Go,
    GoHome,
}

impl Gate {
    /// Waits until the gate opens; whether there is anything to do behind it.
    fn pass(&self) -> bool {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.1 += 1;
        self.changed.notify_all();
        let closed = |inside: &mut (State, usize)| inside.0 == State::Closed;
        let inside = self.changed.wait_while(inside, closed);
        inside.unwrap_or_else(PoisonError::into_inner).0 == State::Go
    }

    /// Opens the gate; to go on only once `threads` stand before it.
    fn open(&self, state: State, threads: usize) {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |inside: &mut (State, usize)| state == State::Go && inside.1 < threads;
        let inside = self.changed.wait_while(inside, missing);
        inside.unwrap_or_else(PoisonError::into_inner).0 = state;
        self.changed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn all_have_settled_before_anybody_begins() {
        let settled = AtomicUsize::new(0);
        let settle = |_: usize| {
            settled.fetch_add(1, SeqCst);
        };
        let finished =
            ThreadGroup::new(5, &settle).run(|number| (number, settled.load(SeqCst))).unwrap();
        assert_eq!(finished.results, [0, 1, 2, 3, 4].map(|number| (number, 5)));
    }

    #[test]
    fn no_thread_is_taken_for_one() {
        assert_eq!(ThreadGroup::anywhere(0).run(|number| number).unwrap().results, [0]);
    }
}
