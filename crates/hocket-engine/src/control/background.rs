//! Background work, and the threads that run it.
//!
//! Each processor with background work has a thread for it, so slow work holds up nobody else's. The thread takes requests
//! from a ring and puts answers into another one (`block/work.rs`). Between requests it sleeps at the signal of
//! `Attention`, which the leader advances after a block in which somebody sent one.
//!
//! Offline the threads sleep, and the leader runs all work before the next block (`leader/offline_work.rs`). So answers come with the block after the
//! request, however fast the machine is, whatever the schedule, and however many workers there are.
//!
//! A mutex per processor keeps both apart: it is never taken by a thread that plays live.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hocket_dsp::host::{BackgroundWork, WorkAnswers, WorkRefused, WorkRoom};
use hocket_rt::{Strategy, Wait};

use super::regular_thread::Beside;
use super::start::spin_cost;
use crate::block::work::{Attention, Incoming, Outgoing, Requests, WorkCounts, messages};

/// What was refused of the background work of a node, and whether it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWork {
    /// The node's name.
    pub node: String,
    /// Requests that were refused.
    pub requests: u64,
    /// Answers that were refused.
    pub answers: u64,
    /// Whether the work panicked. Every later request is refused.
    pub panicked: bool,
}

/// All background work of an engine.
pub(crate) struct Background {
    pub(crate) attention: Arc<Attention>,
    /// Where its threads and the main thread run.
    pub(super) beside: Beside,
    /// Whether the leader runs the work. Relaxed: a thread that runs work looks at it behind the mutex of that work, which the
    /// leader takes for the first time after it has set it.
    pub(crate) offline: AtomicBool,
    pub(crate) works: Mutex<Vec<Arc<Work>>>,
}

/// The background work of one processor.
pub(crate) struct Work {
    ends: Mutex<Ends>,
    /// Relaxed, as below: the signal's edge shows it (E1).
    ending: AtomicBool,
    /// Whether its thread has returned from the work for the last time.
    over: AtomicBool,
    counts: Arc<WorkCounts>,
}

/// What only the thread that runs the work has.
struct Ends {
    work: Box<dyn BackgroundWork>,
    requests: Incoming,
    answers: Outgoing,
}

/// The background work of a processor that lives, and its thread. A drop ends both without waiting.
pub(crate) struct WorkThread {
    background: Arc<Background>,
    work: Arc<Work>,
    /// `None` once it is joined.
    thread: Option<JoinHandle<()>>,
}

/// The background work of a processor that goes. Nobody else has it.
pub(super) struct EndedWork {
    _work: Arc<Work>,
}

impl Background {
    /// Thread: control, the one that starts the engine.
    pub(crate) fn new() -> Background {
        let attention = Arc::new(Attention::new());
        let (beside, offline) = (Beside::here(), AtomicBool::new(false));
        Background { attention, beside, offline, works: Mutex::default() }
    }

    /// Begins with the work of a node. Returns what the node gets: where it requests, and where answers arrive.
    pub(crate) fn begin(
        self: &Arc<Self>,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> std::io::Result<(Requests, Incoming, WorkThread)> {
        let generation = Arc::default();
        let message = || messages(room, &generation);
        let ((out, requests), (answers, incoming)) = (message(), message());
        let counts: Arc<WorkCounts> = Arc::default();
        let ends = Mutex::new(Ends { work, requests, answers });
        let ending = AtomicBool::new(false);
        let over = AtomicBool::new(false);
        let work = Arc::new(Work { ends, ending, over, counts: Arc::clone(&counts) });
        let (own, background) = (Arc::clone(&work), Arc::clone(self));
        let named = std::thread::Builder::new().name("background".into());
        let thread = Some(named.spawn(move || background.run(&own))?);
        lock(&self.works).push(Arc::clone(&work));
        let attention = Arc::clone(&self.attention);
        let requests = Requests { out: Some(out), counts, attention, generation };
        Ok((requests, incoming, WorkThread { background: Arc::clone(self), work, thread }))
    }

    /// Where a processor requests work that nobody does.
    pub(crate) fn refusing(&self, counts: &Arc<WorkCounts>) -> Requests {
        let (counts, attention) = (Arc::clone(counts), Arc::clone(&self.attention));
        Requests { out: None, counts, attention, generation: Arc::default() }
    }

    /// The life of a thread.
    fn run(&self, work: &Work) {
        self.beside.settle();
        let wait = asleep();
        loop {
            let seen = self.attention.signal.value();
            if work.ending.load(Relaxed) {
                work.over.store(true, Relaxed);
                self.attention.signal.advance();
                return;
            }
            // One request at a time, so that it sees soon when it should end.
            if !work.live(&self.offline) {
                self.attention.signal.wait_past(seen, &wait);
            }
        }
    }
}

impl WorkThread {
    /// Tells the work that it should return, and its thread that it ends. Waits for nothing.
    ///
    /// Thread: control. Cost: a system call.
    pub(super) fn ask_to_end(&self) {
        self.work.ending.store(true, Relaxed);
        self.background.attention.signal.advance();
    }

    /// Whether the work has returned for the last time.
    pub(super) fn has_ended(&self) -> bool {
        self.work.over.load(Relaxed)
    }

    /// Ends the work: waits until it has returned for the last time. The drop of what this returns frees it.
    ///
    /// Thread: the engine's main thread.
    pub(super) fn join(mut self) -> EndedWork {
        self.ask_to_end();
        // A thread only panics in the work, which it contains.
        let _ = self.thread.take().map(JoinHandle::join);
        EndedWork { _work: Arc::clone(&self.work) }
    }
}

impl Drop for WorkThread {
    /// Without a join, as where a processor panics while it joins, the thread frees the work when it ends.
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.ask_to_end();
        }
        lock(&self.background.works).retain(|other| !Arc::ptr_eq(other, &self.work));
    }
}

impl WorkCounts {
    /// `None`: nothing was lost.
    pub(crate) fn lost(&self, node: &str) -> Option<LostWork> {
        // Relaxed: each number stands for itself.
        let (requests, answers) =
            (self.requests_refused.load(Relaxed), self.answers_refused.load(Relaxed));
        let panicked = self.ended.load(Relaxed);
        let lost = requests > 0 || answers > 0 || panicked;
        lost.then(|| LostWork { node: node.to_owned(), requests, answers, panicked })
    }
}

impl Work {
    /// Runs one request, unless the leader has to. Returns whether there was one.
    fn live(&self, offline: &AtomicBool) -> bool {
        let mut ends = lock(&self.ends);
        !offline.load(Relaxed) && self.run(&mut ends)
    }

    /// Runs one request. Returns whether there was one.
    ///
    /// Thread: leader, between blocks without a deadline.
    pub(crate) fn next(&self) -> bool {
        self.run(&mut lock(&self.ends))
    }

    fn run(&self, Ends { work, requests, answers }: &mut Ends) -> bool {
        if self.counts.ended.load(Relaxed) {
            return false;
        }
        requests.take(|request, generation| {
            let mut answers = Answers { answers, work: self, generation };
            // Unwind safety: after a panic nobody calls the work again. It is only freed.
            let ran = catch_unwind(AssertUnwindSafe(|| work.work(request, &mut answers)));
            if ran.is_err() {
                self.counts.ended.store(true, Relaxed);
            }
        })
    }
}

/// Where the work of one request answers.
struct Answers<'a> {
    answers: &'a mut Outgoing,
    work: &'a Work,
    /// The request's.
    generation: u64,
}

impl WorkAnswers for Answers<'_> {
    fn answer(&mut self, answer: &[u8]) -> Result<(), WorkRefused> {
        let sent = self.answers.send(answer, self.generation);
        if sent.is_err() {
            self.work.counts.answers_refused.fetch_add(1, Relaxed);
        }
        sent
    }

    fn is_ending(&self) -> bool {
        self.work.ending.load(Relaxed)
    }
}

/// How a thread beside the audio threads waits: it sleeps.
pub(super) fn asleep() -> Wait {
    Wait::new(Strategy::Futex, spin_cost(), Duration::ZERO)
}

/// Threads that panicked left plain data, or nothing that anybody calls again.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
