//! The block: what the leader and the workers share, and the steps of one block.
//!
//! ```text
//! leader                                     worker
//! write params, load ready sets
//! turnstile.open, gate.advance  ---------->  gate.wait_past, turnstile.enter, at most one walk
//! walk its share                             walk its share
//! output unit claimed (anybody): turnstile.close; done: finished.advance, progress.advance
//! turnstile.close_and_wait      <----------  leave
//! ```
//!
//! `dataflow`, `steal` and `critical` never wait for a worker that has not come. A worker that wakes late
//! finds the turnstile closed, or runs what is left. `lists` has barriers, so every worker of its plan must
//! come. PROTOCOL.md explains each step.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_machine::clock::{TickRate, ticks};
use hocket_rt::{Signal, Turnstile, Wait};
use hocket_time::TempoMap;

use super::now::Now;
use super::plan::Plan;
use super::spread::SpreadWork;
use super::stamps::{Noted, Noting, Stamps, What};
use super::waits::Waits;
use super::walk;
use crate::watch::{Watch, edge};

/// How long others wait before they stand in for a worker. A woken worker comes after 6 to 9 µs
/// (docs/results, executors). If it takes twice as long, something delays it.
const PATIENCE_NS: u64 = 15_000;

/// How long threads spin and yield before they block, unless all of them hold a real-time class.
///
/// The thread that it waits for may need its CPU. Under a `SCHED_FIFO` leader, only blocking frees it.
/// The time is long compared with a wait in a block, and short compared with the kernel's limit for
/// real-time threads (950 of 1000 ms).
pub(crate) const ORDINARY_NS: u64 = 100_000;

/// The least value of [`Waits::longest_ns`].
pub(crate) const LONGEST_NS: u64 = 10_000_000;

/// What the workers need to know of the block. The leader writes it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    pub frames: usize,
    pub block: u64,
    /// Value of `finished` when the block is done.
    pub finished_value: u32,
    /// The planned time of the next block, on the monotonic clock. 0: unknown.
    pub next_ns: u64,
    /// From this time on, others stand in for workers that have not come. In ticks.
    pub overdue: u64,
    /// Whether the leader walks the block without the plan's workers.
    pub alone: bool,
    /// What threads note of it.
    pub noted: Noted,
}

/// A signal for this many sleepers.
///
/// Many sleepers wake each other, so that the leader itself wakes only a few. Each thread that it wakes
/// costs it about 2 µs.
fn gate(workers: usize) -> Signal {
    if workers > 4 { Signal::with_fan_out(2) } else { Signal::new() }
}

/// What belongs to one worker, in cache lines of its own: its notes, and hints for other threads.
#[repr(align(128))]
pub(crate) struct Desk {
    stamps: UnsafeCell<Stamps>,
    /// Whether the worker is working. A hint for others on its core that publishes nothing.
    pub busy: AtomicBool,
    pub place: Place,
}

/// A thread's seat in relation to the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// Workers on the same core for which it keeps its seat (policy `pair-barrier`), including those that
    /// the plan does not need.
    pub partners: Box<[usize]>,
    /// All workers on the same core.
    pub mates: Box<[usize]>,
    /// Index of its seat's kind.
    pub kind: usize,
}

/// What leader, workers and guards share.
pub(crate) struct Runner {
    /// The present plan. It changes only while no block is open (CLOSED).
    plan: UnsafeCell<Box<Plan>>,
    /// Advances when a block opens (or the engine stops).
    pub gate: Signal,
    /// How many workers the plan needs. A hint: the others wait at `reserve`.
    pub needed: AtomicU32,
    /// Whether the plan needs the guards. A hint: otherwise they wait at `reserve`.
    guarded: AtomicBool,
    /// Advances when a plan needs threads that the last one did not need (or the engine stops).
    pub reserve: Signal,
    pub turnstile: Turnstile,
    /// Advances when units are ready or the block is finished.
    pub progress: Signal,
    /// Advances when the output unit has run.
    pub finished: Signal,
    pub stopping: AtomicBool,
    /// The planned time of the next block. A hint, for workers that came too late to read `params`. It
    /// publishes nothing.
    announced: AtomicU64,
    params: UnsafeCell<Params>,
    /// Where the song is. It changes only while no block is open (CLOSED).
    now: UnsafeCell<Now>,
    /// Workers first, then guards.
    pub desks: Box<[Desk]>,
    guards: usize,
    alone_is_serial: bool,
    /// [`PATIENCE_NS`] in ticks.
    patience: u64,
    /// [`ORDINARY_NS`] in ticks.
    ordinary: u64,
    /// [`Waits::longest_ns`] in ticks.
    longest: u64,
    pub waits: Waits,
    noting: Arc<Noting>,
    /// Whether every thread holds a real-time class, the leader included. A hint that publishes nothing.
    /// A leader writes it between blocks, when it enters or leaves. So do the thread that follows a leader, and a control thread
    /// that changes the sibling policy.
    pub real_time: Arc<AtomicBool>,
    #[cfg(test)]
    pub hold: std::sync::OnceLock<Hold>,
}

/// What a test does at a [`Moment`], on the thread that reached it.
#[cfg(test)]
pub(crate) type Hold = Box<dyn Fn(&Runner, Moment) + Send + Sync>;

/// A point in a block that a thread has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Moment {
    /// The leader has opened the turnstile, and has not advanced the gate yet.
    Opened,
    /// The leader has walked its share, and the output has run. The turnstile is not closed yet.
    Finished,
    /// A worker is about to enter.
    Awake(usize),
    /// A worker has tried to enter. The flag says whether it succeeded.
    Entered(usize, bool),
    /// A guard begins to keep its seat.
    Guarding(usize),
    /// A guard no longer keeps its seat.
    Guarded(usize),
    /// A worker no longer keeps its seat for its partners.
    Kept,
}

// SAFETY: the leader writes `params`, `now` and `plan` while the turnstile is closed (CLOSED). Threads that
// entered read them (open/enter edge of the turnstile). Inside a block, only its own worker accesses the
// `stamps` of a desk. Between blocks, only the leader does (CLOSED).
unsafe impl Sync for Runner {}
// SAFETY: every field is `Send`. The cells hold plain data and a plan, whose parts are `Send`.
unsafe impl Send for Runner {}

impl Runner {
    /// `places` has one entry per worker. `spans` is for how many spans of a block each thread has room.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(
        plan: Plan,
        places: Vec<Place>,
        guards: usize,
        waits: Waits,
        (spans, noting): (usize, Arc<Noting>),
        alone_is_serial: bool,
        map: Arc<TempoMap>,
    ) -> Runner {
        let desk = |place: Place| Desk {
            stamps: UnsafeCell::new(Stamps::new(spans)),
            busy: AtomicBool::new(false),
            place,
        };
        let guard_places = (0..guards).map(|_| Place::default());
        let real_time = Arc::default();
        let in_ticks = |ns| TickRate::get().ns_to_ticks(ns);
        let (ordinary, longest) = (in_ticks(ORDINARY_NS), in_ticks(waits.longest_ns));
        let desks = places.len() + guards;
        let now = Now::new(map, SpreadWork::new(&real_time, (longest, ordinary), desks));
        Runner {
            needed: AtomicU32::new(plan.workers() as u32),
            guarded: AtomicBool::new(plan.guarded),
            plan: UnsafeCell::new(Box::new(plan)),
            gate: gate(places.len()),
            reserve: gate(places.len()),
            turnstile: Turnstile::new(),
            progress: Signal::new(),
            finished: Signal::new(),
            stopping: AtomicBool::new(false),
            announced: AtomicU64::new(0),
            params: UnsafeCell::new(Params::default()),
            now: UnsafeCell::new(now),
            desks: places.into_iter().chain(guard_places).map(desk).collect(),
            guards,
            alone_is_serial,
            patience: in_ticks(PATIENCE_NS),
            ordinary,
            longest,
            waits,
            noting,
            real_time,
            #[cfg(test)]
            hold: std::sync::OnceLock::new(),
        }
    }

    /// The plan of this block.
    #[inline]
    pub(crate) fn plan(&self) -> &Plan {
        // SAFETY: the caller is the leader or inside the block. The last write came before it entered
        // (open/enter edge), and the next one comes after it has left (CLOSED).
        unsafe { &*self.plan.get() }
    }

    /// Where the song is in this block.
    #[inline]
    pub(crate) fn now(&self) -> &Now {
        // SAFETY: as in `plan`.
        unsafe { &*self.now.get() }
    }

    /// The same between two blocks, for writing.
    ///
    /// # Safety
    /// CLOSED holds, the caller is the leader, and it holds no other reference.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn now_mut(&self) -> &mut Now {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.now.get() }
    }

    /// The calling thread is that of a desk.
    ///
    /// Thread: worker or guard, before it reports that it is ready. So no block has begun, and nobody writes `now`.
    pub(crate) fn sits_at(&self, desk: usize) {
        self.now().spread.sits_at(desk);
    }

    /// The number of workers, including those that the plan does not need.
    pub(crate) fn workers(&self) -> usize {
        self.desks.len() - self.guards
    }

    /// Whether the plan needs a desk's thread. A hint: the next block corrects a thread that reads an old value.
    ///
    /// Thread: any.
    pub(crate) fn needs(&self, desk: usize) -> bool {
        // Relaxed: the advance of `reserve` publishes both.
        match desk < self.workers() {
            true => desk < self.needed.load(Relaxed) as usize,
            false => self.guarded.load(Relaxed),
        }
    }

    /// Replaces the plan and returns the old one.
    ///
    /// Thread: leader. No allocation. One system call if the new plan needs threads that the old one did not need.
    ///
    /// # Safety
    /// CLOSED holds, and the caller holds no reference into the old plan.
    pub(crate) unsafe fn exchange(&self, plan: Box<Plan>) -> Box<Plan> {
        // SAFETY: CLOSED: nobody else reads the plan now.
        let old = std::mem::replace(unsafe { &mut *self.plan.get() }, plan);
        let now = self.plan();
        // Relaxed: hints. The next block corrects a thread that missed one: it goes to `reserve` or back.
        self.needed.store(now.workers() as u32, Relaxed);
        self.guarded.store(now.guarded, Relaxed);
        if now.workers() > old.workers() || (now.guarded && !old.guarded) {
            let woke = edge(|| self.reserve.advance());
            self.note(0, |stamps| stamps.totals.wakes += u64::from(woke));
        }
        old
    }

    /// Runs one block on the leader, together with the workers that come.
    ///
    /// Thread: leader. No allocation, no lock. For its system calls see PROTOCOL.md.
    pub(crate) fn lead(&self, frames: usize, block: u64, next_ns: u64) {
        // SAFETY: CLOSED: this thread closed the last block.
        unsafe { *self.params.get() = self.params_of(frames, block, next_ns) };
        if self.alone_is_serial && self.plan().workers() == 1 && !self.is_guarded() {
            return self.lead_alone(block);
        }
        let armed = walk::EndOnPanic;
        // Relaxed: a hint.
        self.announced.store(next_ns, Relaxed);
        self.plan().wind_up();
        self.turnstile.open();
        self.pass(Moment::Opened);
        let woke = edge(|| self.gate.advance());
        self.note(0, |stamps| {
            stamps.begin(block, self.params().noted);
            stamps.totals.wakes += u64::from(woke);
        });
        walk::walk(self, 0);
        walk::await_finish(self, 0);
        self.note(0, Stamps::finish);
        self.pass(Moment::Finished);
        let waited = edge(|| self.turnstile.close_and_wait());
        self.note(0, |stamps| stamps.totals.blocked += u64::from(waited.blocked));
        armed.disarm();
    }

    /// Lets a desk's worker write its notes. No reference to them outlives the call.
    ///
    /// Thread: the desk's own, inside a block. The leader may also call it just after it closed the block.
    #[inline]
    fn note<T>(&self, desk: usize, write: impl FnOnce(&mut Stamps) -> T) -> T {
        // SAFETY: every caller passes its own desk, and `write` does not call this function again.
        write(unsafe { self.stamps_mut(desk) })
    }

    /// Closes the turnstile once the output is claimed.
    ///
    /// No other unit is left, so a worker that comes now would find nothing to do. It could only delay the
    /// leader if it left slowly.
    ///
    /// Thread: the one that claimed the output, in `dataflow`, `steal` and `critical`.
    #[inline]
    pub(crate) fn admit_nobody(&self) {
        self.turnstile.close();
    }

    fn params_of(&self, frames: usize, block: u64, next_ns: u64) -> Params {
        let finished_value = self.finished.value().wrapping_add(1);
        Params {
            frames,
            block,
            finished_value,
            next_ns,
            overdue: ticks() + self.patience,
            alone: false,
            noted: self.noting.now(),
        }
    }

    /// How to wait inside a block.
    #[inline]
    pub(crate) fn in_block(&self) -> &Wait {
        let waits = self.waits.now();
        match self.is_real_time() {
            true => &waits.real_time,
            false => &waits.ordinary,
        }
    }

    #[inline]
    pub(crate) fn is_real_time(&self) -> bool {
        // Relaxed: either wait is right at any time.
        self.real_time.load(Relaxed)
    }

    /// How long a thread keeps its seat before it waits in the usual way: an end time in ticks.
    ///
    /// There is a limit, because the thread that it waits for may need this CPU.
    pub(crate) fn seat_is_kept_until(&self) -> u64 {
        ticks() + if self.is_real_time() { self.longest } else { self.ordinary }
    }

    /// Whether workers that have not come yet are overdue.
    pub(crate) fn is_overdue(&self) -> bool {
        ticks() >= self.params().overdue
    }

    /// Runs the block without other threads: wakes none and waits for none.
    fn lead_alone(&self, block: u64) {
        self.note(0, |stamps| stamps.begin(block, self.params().noted));
        walk::walk_alone(self);
        self.finished.advance();
        self.note(0, Stamps::finish);
    }

    /// Leaves one block out: nothing runs, and nobody is woken. What units put out stays as it is.
    ///
    /// Thread: leader.
    pub(crate) fn leave_out(&self, block: u64) {
        self.note(0, |stamps| stamps.begin(block, Noted::default()));
        self.note(0, Stamps::finish);
    }

    /// Runs one block in serial order on the calling thread, and ignores the schedule. It is the
    /// reference on the same memory.
    pub(crate) fn lead_serial(&self, frames: usize, block: u64) {
        // SAFETY: CLOSED.
        unsafe { *self.params.get() = self.params_of(frames, block, 0) };
        self.lead_alone(block);
    }

    /// Like [`Runner::lead_serial`], but guards keep their seats busy meanwhile.
    ///
    /// Thread: leader. Cost: with guards, that of [`Runner::lead`]. Without guards it wakes nobody.
    pub(crate) fn lead_without_workers(&self, frames: usize, block: u64) {
        if !self.is_guarded() {
            return self.lead_serial(frames, block);
        }
        // SAFETY: CLOSED: this thread closed the last block.
        unsafe { *self.params.get() = Params { alone: true, ..self.params_of(frames, block, 0) } };
        let armed = walk::EndOnPanic;
        self.turnstile.open();
        let woke = edge(|| self.gate.advance());
        self.note(0, |stamps| stamps.totals.wakes += u64::from(woke));
        self.lead_alone(block);
        let waited = edge(|| self.turnstile.close_and_wait());
        self.note(0, |stamps| stamps.totals.blocked += u64::from(waited.blocked));
        armed.disarm();
    }

    /// Runs one worker's share of one block, after the worker woke. Returns the planned time of the next
    /// block, or 0 if it is unknown.
    ///
    /// Thread: worker. No allocation, no lock. System calls only if it really blocks.
    pub(crate) fn help(&self, worker: usize) -> u64 {
        self.pass(Moment::Awake(worker));
        let entered = self.turnstile.enter();
        self.pass(Moment::Entered(worker, entered.is_some()));
        // Too late for this block. If the time of the next one is known, the worker is early for it.
        // Relaxed: a hint. An old time ends the sleep at once.
        let Some(_inside) = entered else { return self.announced.load(Relaxed) };
        if worker >= self.plan().workers() || self.params().alone {
            return 0;
        }
        let _watch = Watch::begin();
        let params = self.params();
        if self.begins(worker, &params) {
            walk::walk(self, worker);
            self.note(worker, Stamps::finish);
        }
        params.next_ns
    }

    /// Starts a desk's notes on a block. Returns `false` if the desk's thread has walked this block (ONCE).
    ///
    /// A thread may enter after the turnstile opened and before the gate moved. When it is done, it sees
    /// that the gate has moved, and enters the same block again.
    fn begins(&self, desk: usize, params: &Params) -> bool {
        self.note(desk, |stamps| {
            let first = stamps.block != params.block;
            if first {
                stamps.begin(params.block, params.noted);
            }
            first
        })
    }

    /// Keeps a guard's seat busy until the block is finished.
    ///
    /// Thread: guard.
    pub(crate) fn guard(&self, desk: usize) {
        let Some(_inside) = self.turnstile.enter() else { return };
        if !self.plan().guarded {
            return;
        }
        let _watch = Watch::begin();
        let params = self.params();
        if !self.begins(desk, &params) {
            return;
        }
        let running = params.finished_value.wrapping_sub(1);
        self.pass(Moment::Guarding(desk));
        let (on_seat, until) = (&self.waits.on_seat, self.seat_is_kept_until());
        // A wait that blocks needs no limit: it gives the seat up, and the last unit wakes it.
        let over = || !on_seat.may_block() && ticks() >= until;
        let (_, waited) = edge(|| self.finished.wait_until(running, on_seat, over));
        self.pass(Moment::Guarded(desk));
        self.note(desk, |stamps| {
            stamps.totals.yielded += u64::from(waited.yielded);
            stamps.totals.blocked += u64::from(waited.blocked);
            stamps.end_span(What::Guard);
            stamps.finish();
        });
    }

    /// Whether guards keep seats in blocks of the present plan.
    ///
    /// Thread: leader.
    fn is_guarded(&self) -> bool {
        self.guards > 0 && self.plan().guarded
    }

    /// The leader's parameters of this block.
    #[inline]
    pub(crate) fn params(&self) -> Params {
        // SAFETY: the caller is the leader or inside the block. The last write came before it entered
        // (open/enter edge), and the next one comes after it has left (CLOSED).
        unsafe { *self.params.get() }
    }

    /// A desk's notes, for reading.
    ///
    /// # Safety
    /// CLOSED holds as long as the reference lives, and the leader writes no notes in that time.
    #[inline]
    pub(crate) unsafe fn stamps(&self, desk: usize) -> &Stamps {
        // SAFETY: the caller's obligation.
        unsafe { &*self.desks[desk].stamps.get() }
    }

    /// A desk's notes, for writing.
    ///
    /// # Safety
    /// The caller is the desk's worker inside a block, or the leader while CLOSED holds. It uses one
    /// reference at a time.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn stamps_mut(&self, desk: usize) -> &mut Stamps {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.desks[desk].stamps.get() }
    }

    /// Lets a test delay the calling thread here. Other builds do nothing.
    #[inline(always)]
    pub(super) fn pass(&self, _moment: Moment) {
        #[cfg(test)]
        if let Some(hold) = self.hold.get() {
            hold(self, _moment);
        }
    }

    /// Asks workers and guards to end.
    pub(crate) fn stop(&self) {
        // Relaxed: the advances below publish the flag before they wake anybody.
        self.stopping.store(true, Relaxed);
        self.gate.advance();
        self.reserve.advance();
    }
}
