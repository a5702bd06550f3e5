//! The block: what the leader and the workers share, and how one block goes by.
//!
//! ```text
//! leader                                     worker
//! write params, load ready sets
//! turnstile.open, gate.advance  ---------->  gate.wait_past, turnstile.enter
//! walk its share                             walk its share
//! output unit done (anybody): finished.advance, progress.advance
//! turnstile.close_and_wait      <----------  leave
//! ```
//!
//! A worker that wakes up late finds the turnstile closed (or does what is left to do): in
//! `dataflow` a block that is complete never waits for it. `lists` has barriers, so there every
//! worker must come.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use hocket_plan::{ScheduleKind, VerifiedSchedule};
use hocket_rt::{Barrier, Countdown, ReadySet, Signal, Turnstile, Wait};

use super::bus::Units;
use super::stamps::{Stamps, What};
use super::walk;
use crate::watch::{Watch, edge};

/// What the leader tells the workers about the block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    pub frames: usize,
    pub block: u64,
    /// Value of `finished` when the block is done.
    pub finished_value: u32,
    /// When the next block is planned, on the monotonic clock; 0: nobody knows.
    pub next_ns: u64,
}

/// How the threads of one engine wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub in_block: Wait,
    /// Keeps a seat busy; never blocks.
    pub on_seat: Wait,
    /// How long before a planned block a worker wakes itself, and how it then waits at the gate.
    pub early: Option<(u64, Wait)>,
    pub at_gate: Wait,
}

/// A worker's own line: notes, and hints for its partners.
#[repr(align(128))]
pub(crate) struct Desk {
    stamps: UnsafeCell<Stamps>,
    /// Whether the worker is at work; a hint for partners, publishes nothing.
    pub busy: AtomicBool,
    /// How many barriers the worker has reached; a hint for partners, publishes nothing.
    pub phases: AtomicU32,
    /// Workers on the same core.
    pub partners: Box<[usize]>,
}

/// Everything that leader, workers and guards share.
pub(crate) struct Runner {
    pub schedule: VerifiedSchedule,
    pub units: Units,
    pub countdowns: Box<[Countdown]>,
    pub ready: ReadySet,
    initial: Box<[Box<[u64]>]>,
    pub barrier: Barrier,
    /// Advances when a block opens (or the engine stops).
    pub gate: Signal,
    pub turnstile: Turnstile,
    /// Advances when units became ready or the block finished.
    pub progress: Signal,
    /// Advances when the output unit has run.
    pub finished: Signal,
    pub stopping: AtomicBool,
    params: UnsafeCell<Params>,
    /// Workers first, then guards.
    pub desks: Box<[Desk]>,
    pub waits: Waits,
}

// SAFETY: `params` is written by the leader while the turnstile is closed and read by those who
// entered (invariant CLOSED and the open/enter edge of the turnstile). `stamps` of a desk is
// touched by its own worker inside a block and by the leader when the block is closed (CLOSED).
unsafe impl Sync for Runner {}
// SAFETY: everything inside is `Send`; the cells hold plain data.
unsafe impl Send for Runner {}

impl Runner {
    pub(crate) fn new(
        schedule: VerifiedSchedule,
        units: Units,
        partners: &[Vec<usize>],
        guards: usize,
        waits: Waits,
        spans: bool,
    ) -> Runner {
        let workers = schedule.workers();
        let all = schedule.units().units();
        let countdowns = all.iter().map(|unit| Countdown::new(unit.predecessors.len() as u32));
        let ready = ReadySet::new(workers, units.len());
        let capacity = if spans { all.len() * 2 + schedule.barriers() * 2 + 16 } else { 0 };
        let desk = |index: usize| Desk {
            stamps: UnsafeCell::new(Stamps::new(capacity)),
            busy: AtomicBool::new(false),
            phases: AtomicU32::new(0),
            partners: partners.get(index).cloned().unwrap_or_default().into_boxed_slice(),
        };
        Runner {
            countdowns: countdowns.collect(),
            initial: initial_words(&schedule, ready.words()),
            ready,
            barrier: Barrier::new(workers as u32),
            gate: Signal::new(),
            turnstile: Turnstile::new(),
            progress: Signal::new(),
            finished: Signal::new(),
            stopping: AtomicBool::new(false),
            params: UnsafeCell::new(Params::default()),
            desks: (0..workers + guards).map(desk).collect(),
            schedule,
            units,
            waits,
        }
    }

    /// Runs one block on the leader and whoever comes to help.
    ///
    /// Thread: leader. No allocation, no lock; one system call at most, to wake sleeping workers.
    pub(crate) fn lead(&self, frames: usize, block: u64, next_ns: u64) {
        let finished_value = self.finished.value().wrapping_add(1);
        // SAFETY: CLOSED: the last block was closed by this thread.
        unsafe { *self.params.get() = Params { frames, block, finished_value, next_ns } };
        if self.desks.len() == 1 {
            return self.lead_alone(block);
        }
        for (home, words) in self.initial.iter().enumerate() {
            self.ready.load(home, words);
        }
        self.turnstile.open();
        let woke = edge(|| self.gate.advance());
        // SAFETY: the leader's own desk, inside the block.
        let stamps = unsafe { self.stamps_mut(0) };
        stamps.begin(block);
        stamps.totals.wakes += u64::from(woke);
        walk::walk(self, 0);
        walk::await_finish(self, 0);
        stamps.finish();
        let waited = edge(|| self.turnstile.close_and_wait());
        stamps.totals.yielded += u64::from(waited.yielded);
    }

    /// Nobody to wake, nobody to wait for.
    fn lead_alone(&self, block: u64) {
        // SAFETY: the leader's own desk; nobody else exists.
        let stamps = unsafe { self.stamps_mut(0) };
        stamps.begin(block);
        walk::serial(self, 0);
        self.finished.advance();
        stamps.finish();
    }

    /// Runs one block in serial order on the calling thread, whatever the schedule says: the
    /// reference on the same memory.
    pub(crate) fn lead_serial(&self, frames: usize, block: u64) {
        let finished_value = self.finished.value().wrapping_add(1);
        // SAFETY: CLOSED.
        unsafe { *self.params.get() = Params { frames, block, finished_value, next_ns: 0 } };
        self.lead_alone(block);
    }

    /// One worker's share of one block, after it woke up; returns when the next is planned, 0
    /// where nobody knows.
    ///
    /// Thread: worker. No allocation, no lock; system calls only where it truly blocks.
    pub(crate) fn help(&self, worker: usize) -> u64 {
        let Some(_inside) = self.turnstile.enter() else { return 0 };
        let _watch = Watch::begin();
        let params = self.params();
        // SAFETY: its own desk, inside the block.
        let stamps = unsafe { self.stamps_mut(worker) };
        // Whoever was late for the last block may come in before its signal for this one, and once
        // more after it: the notes then go on.
        if stamps.block != params.block {
            stamps.begin(params.block);
        }
        walk::walk(self, worker);
        stamps.finish();
        params.next_ns
    }

    /// Keeps a seat busy until the block is finished.
    ///
    /// Thread: guard.
    pub(crate) fn guard(&self, desk: usize) {
        let Some(_inside) = self.turnstile.enter() else { return };
        let _watch = Watch::begin();
        let params = self.params();
        // SAFETY: its own desk, inside the block.
        let stamps = unsafe { self.stamps_mut(desk) };
        stamps.begin(params.block);
        let running = params.finished_value.wrapping_sub(1);
        let (_, waited) = edge(|| self.finished.wait_past(running, &self.waits.on_seat));
        stamps.totals.yielded += u64::from(waited.yielded);
        stamps.end_span(What::Guard);
        stamps.finish();
    }

    /// What the leader said about this block.
    #[inline]
    pub(crate) fn params(&self) -> Params {
        // SAFETY: callers are inside the block (or the leader), so the write happened before
        // (open/enter edge) and the next one comes after they left (CLOSED).
        unsafe { *self.params.get() }
    }

    /// A desk's notes.
    ///
    /// # Safety
    /// The caller is the desk's worker inside a block, or the leader while CLOSED holds; one
    /// reference at a time is used.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn stamps_mut(&self, desk: usize) -> &mut Stamps {
        // SAFETY: passed on to the caller.
        unsafe { &mut *self.desks[desk].stamps.get() }
    }

    /// Whether a wait may rely on nobody but the caller.
    pub(crate) fn is_dataflow(&self) -> bool {
        self.schedule.kind() == ScheduleKind::Dataflow
    }

    /// Asks workers and guards to end.
    pub(crate) fn stop(&self) {
        // Relaxed: the flag publishes nothing; `gate.advance` orders it before the wake-up.
        self.stopping.store(true, Relaxed);
        self.gate.advance();
    }
}

/// The ready sets at the start of a block, one bit a unit.
fn initial_words(schedule: &VerifiedSchedule, words: usize) -> Box<[Box<[u64]>]> {
    let home = |worker: usize| {
        let mut bits = vec![0u64; words];
        for step in schedule.list(worker) {
            if let hocket_plan::Step::Run(unit) = step {
                bits[unit.index() / 64] |= 1 << (unit.index() % 64);
            }
        }
        bits.into_boxed_slice()
    };
    (0..schedule.workers()).map(home).collect()
}
