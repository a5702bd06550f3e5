//! The block: what the leader and the workers share, and how one block goes by.
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
//! A worker that wakes up late finds the turnstile closed, or does what is left to do: `dataflow`, `steal`
//! and `critical` never wait for a worker that has not come. `lists` has barriers, so every worker of its
//! plan must come. PROTOCOL.md argues each step.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_machine::clock::{TickRate, ticks};
use hocket_rt::{Signal, Turnstile, Wait};

use super::plan::Plan;
use super::stamps::{Stamps, What};
use super::walk;
use crate::watch::{Watch, edge};

/// A worker that is woken comes after 6 to 9 us (docs/results, executors); one that has not come after
/// twice that has something in its way.
const PATIENCE_NS: u64 = 15_000;

/// How long a thread that the system may keep from running spins and yields for another before it
/// blocks. The other one may need its CPU, and under a `SCHED_FIFO` leader only blocking gives that away.
/// Long against a wait in a block, short against what the kernel grants real-time threads (950 of 1000 ms).
pub(crate) const ORDINARY_NS: u64 = 100_000;

/// The least that threads wait for which all hold a real-time class and a seat; see [`Waits::longest_ns`].
pub(crate) const LONGEST_NS: u64 = 10_000_000;

/// What the leader tells the workers about the block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    pub frames: usize,
    pub block: u64,
    /// Value of `finished` when the block is done.
    pub finished_value: u32,
    /// When the next block is planned, on the monotonic clock; 0: nobody knows.
    pub next_ns: u64,
    /// When workers who have not come are not waited for any longer, in ticks.
    pub overdue: u64,
    /// Whether the leader walks without the plan's workers.
    pub alone: bool,
}

/// Many sleepers wake each other, a few at a time: the leader's own wake-up call then stays as short as for
/// a few (about 2 us a thread woken).
fn gate(workers: usize) -> Signal {
    if workers > 4 { Signal::with_fan_out(2) } else { Signal::new() }
}

/// How the threads of one engine wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    /// Inside a block, where all threads are real-time ones.
    pub real_time: Wait,
    /// Inside a block, elsewhere: blocks in the end.
    pub ordinary: Wait,
    /// Keeps a seat busy (where it does not block).
    pub on_seat: Wait,
    /// When threads block that all hold a real-time class and a seat. It is only there for what a seat cannot
    /// rule out: the system moved a thread, its class was taken away, two engines wait for each other's
    /// CPUs. Four periods, and 10 ms at least, so that no wait in a sound block ends in a sleep.
    pub longest_ns: u64,
    /// Until it is time to stand in for a worker that has not come; never blocks, since nobody would
    /// end that sleep.
    pub stand_in: Wait,
    /// Where blocks are announced, if workers wake themselves for them.
    pub early: Option<Early>,
    pub at_gate: Wait,
}

/// How a worker waits for a block that was announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Early {
    /// How long before the planned time it wakes itself.
    pub ns: u64,
    /// Until then: asleep, unless the gate moves sooner.
    pub asleep: Wait,
    /// From then on.
    pub awake: Wait,
}

/// A worker's own line: notes, and hints for others.
#[repr(align(128))]
pub(crate) struct Desk {
    stamps: UnsafeCell<Stamps>,
    /// Whether the worker is at work; a hint for others on the core, publishes nothing.
    pub busy: AtomicBool,
    pub place: Place,
}

/// Where a thread sits among the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// Workers on the same core that it keeps its seat for (policy `pair-barrier`), whether the plan
    /// needs them or not.
    pub partners: Box<[usize]>,
    /// All workers on the same core.
    pub mates: Box<[usize]>,
    /// Index of its seat's kind.
    pub kind: usize,
}

/// Everything that leader, workers and guards share.
pub(crate) struct Runner {
    /// What is run; another one only while no block is open (CLOSED).
    plan: UnsafeCell<Box<Plan>>,
    /// Advances when a block opens (or the engine stops).
    pub gate: Signal,
    /// Workers that the plan needs; a hint for those that it does not need, who wait at `reserve`.
    pub needed: AtomicU32,
    /// Advances when a plan needs more workers than the last (or the engine stops).
    pub reserve: Signal,
    pub turnstile: Turnstile,
    /// Advances when units became ready or the block finished.
    pub progress: Signal,
    /// Advances when the output unit has run.
    pub finished: Signal,
    pub stopping: AtomicBool,
    /// When the block after the one that was opened last is planned; a hint for workers who came too late
    /// to read `params`, publishes nothing.
    announced: AtomicU64,
    params: UnsafeCell<Params>,
    /// Workers first, then guards.
    pub desks: Box<[Desk]>,
    guards: usize,
    alone_is_serial: bool,
    /// The full length of a block, for which costs are noted.
    pub frames: usize,
    /// How long a worker is waited for before another stands in, in ticks.
    patience: u64,
    /// [`ORDINARY_NS`] in ticks.
    ordinary: u64,
    /// The same for real-time threads: [`Waits::longest_ns`].
    longest: u64,
    pub waits: Waits,
    /// Whether every thread holds a real-time class, the leader included; a hint, publishes nothing.
    /// Written by a leader that enters or goes, outside of blocks.
    pub real_time: Arc<AtomicBool>,
    #[cfg(test)]
    pub hold: std::sync::OnceLock<Hold>,
}

/// What a test does at a [`Moment`], on the thread that has come to it.
#[cfg(test)]
pub(crate) type Hold = Box<dyn Fn(&Runner, Moment) + Send + Sync>;

/// Where a thread stands in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Moment {
    /// The leader has opened the turnstile and not advanced the gate yet.
    Opened,
    /// The leader has walked its share, the output has run, the turnstile is not closed yet.
    Finished,
    /// A worker is about to enter.
    Awake(usize),
    /// It has asked to, and was let in or not.
    Entered(usize, bool),
    /// A guard no longer keeps its seat.
    Guarded(usize),
    /// A worker no longer keeps its seat for its partners.
    Kept,
}

// SAFETY: `params` and `plan` are written by the leader while the turnstile is closed and read by those
// who entered (invariant CLOSED and the open/enter edge of the turnstile). `stamps` of a desk is
// touched by its own worker inside a block and by the leader when the block is closed (CLOSED).
unsafe impl Sync for Runner {}
// SAFETY: everything inside is `Send`; the cells hold plain data and a plan, whose parts are.
unsafe impl Send for Runner {}

impl Runner {
    /// `places`: one a worker; `spans`: how many spans of a block each thread keeps.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(
        plan: Plan,
        places: Vec<Place>,
        guards: usize,
        waits: Waits,
        spans: usize,
        alone_is_serial: bool,
        frames: usize,
    ) -> Runner {
        let desk = |place: Place| Desk {
            stamps: UnsafeCell::new(Stamps::new(spans)),
            busy: AtomicBool::new(false),
            place,
        };
        let guard_places = (0..guards).map(|_| Place::default());
        Runner {
            needed: AtomicU32::new(plan.workers() as u32),
            plan: UnsafeCell::new(Box::new(plan)),
            gate: gate(places.len()),
            reserve: gate(places.len()),
            turnstile: Turnstile::new(),
            progress: Signal::new(),
            finished: Signal::new(),
            stopping: AtomicBool::new(false),
            announced: AtomicU64::new(0),
            params: UnsafeCell::new(Params::default()),
            desks: places.into_iter().chain(guard_places).map(desk).collect(),
            guards,
            alone_is_serial,
            frames,
            patience: TickRate::get().ns_to_ticks(PATIENCE_NS),
            ordinary: TickRate::get().ns_to_ticks(ORDINARY_NS),
            longest: TickRate::get().ns_to_ticks(waits.longest_ns),
            waits,
            real_time: Arc::default(),
            #[cfg(test)]
            hold: std::sync::OnceLock::new(),
        }
    }

    /// The plan of this block.
    #[inline]
    pub(crate) fn plan(&self) -> &Plan {
        // SAFETY: callers are inside the block (or the leader), so the write happened before
        // (open/enter edge) and the next one comes after they left (CLOSED).
        unsafe { &*self.plan.get() }
    }

    /// How many workers there are, whether the plan needs them or not.
    pub(crate) fn workers(&self) -> usize {
        self.desks.len() - self.guards
    }

    /// Puts another plan in the place of this one, which is returned.
    ///
    /// Thread: leader. No allocation; a system call where workers are needed that were not before.
    ///
    /// # Safety
    /// CLOSED holds, and the caller holds no reference into the old plan.
    pub(crate) unsafe fn exchange(&self, plan: Box<Plan>) -> Box<Plan> {
        // SAFETY: CLOSED: nobody else looks at the plan now.
        let old = std::mem::replace(unsafe { &mut *self.plan.get() }, plan);
        let (before, now) = (old.workers() as u32, self.plan().workers() as u32);
        // Relaxed: a hint; whoever misses it is sent to `reserve` or back by the next block.
        self.needed.store(now, Relaxed);
        if now > before {
            let woke = edge(|| self.reserve.advance());
            self.note(0, |stamps| stamps.totals.wakes += u64::from(woke));
        }
        old
    }

    /// Runs one block on the leader and whoever comes to help.
    ///
    /// Thread: leader. No allocation, no lock. System calls: PROTOCOL.md, section of that name.
    pub(crate) fn lead(&self, frames: usize, block: u64, next_ns: u64) {
        // SAFETY: CLOSED: the last block was closed by this thread.
        unsafe { *self.params.get() = self.params_of(frames, block, next_ns) };
        if self.alone_is_serial && self.plan().workers() == 1 && self.guards == 0 {
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
            stamps.begin(block);
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

    /// Lets a desk's worker write into its notes; nobody holds them from one call to the next.
    ///
    /// Thread: the desk's own, inside a block (the leader: also when it has just closed it).
    #[inline]
    fn note<T>(&self, desk: usize, write: impl FnOnce(&mut Stamps) -> T) -> T {
        // SAFETY: called for the calling thread's own desk only, and `write` does not come back here.
        write(unsafe { self.stamps_mut(desk) })
    }

    /// The output is claimed, so no other unit is left: a worker that comes now would find nothing to
    /// do, and could only hold the leader up by being slow to leave.
    ///
    /// Thread: whoever has claimed the output, in `dataflow`, `steal` and `critical`.
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
        }
    }

    /// How to wait inside a block.
    #[inline]
    pub(crate) fn in_block(&self) -> &Wait {
        match self.is_real_time() {
            true => &self.waits.real_time,
            false => &self.waits.ordinary,
        }
    }

    #[inline]
    pub(crate) fn is_real_time(&self) -> bool {
        // Relaxed: either wait is right at any time.
        self.real_time.load(Relaxed)
    }

    /// When a thread stops keeping its seat and waits as others do, in ticks: the thread that it waits for may
    /// need this very CPU.
    pub(crate) fn seat_is_kept_until(&self) -> u64 {
        ticks() + if self.is_real_time() { self.longest } else { self.ordinary }
    }

    /// Whether who has not come by now is late.
    pub(crate) fn is_overdue(&self) -> bool {
        ticks() >= self.params().overdue
    }

    /// Nobody to wake, nobody to wait for.
    fn lead_alone(&self, block: u64) {
        self.note(0, |stamps| stamps.begin(block));
        walk::walk_alone(self);
        self.finished.advance();
        self.note(0, Stamps::finish);
    }

    /// Runs one block in serial order on the calling thread, whatever the schedule says: the
    /// reference on the same memory.
    pub(crate) fn lead_serial(&self, frames: usize, block: u64) {
        // SAFETY: CLOSED.
        unsafe { *self.params.get() = self.params_of(frames, block, 0) };
        self.lead_alone(block);
    }

    /// Runs one block in serial order on the calling thread, as [`Runner::lead_serial`]; guards keep their
    /// seats busy meanwhile, as in every block that the engine chooses to run so.
    ///
    /// Thread: leader. Cost: as [`Runner::lead`] where there are guards, otherwise nobody is woken.
    pub(crate) fn lead_without_workers(&self, frames: usize, block: u64) {
        if self.guards == 0 {
            return self.lead_serial(frames, block);
        }
        // SAFETY: CLOSED: the last block was closed by this thread.
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

    /// One worker's share of one block, after it woke up; returns when the next is planned, 0
    /// where nobody knows.
    ///
    /// Thread: worker. No allocation, no lock; system calls only where it truly blocks.
    pub(crate) fn help(&self, worker: usize) -> u64 {
        self.pass(Moment::Awake(worker));
        let entered = self.turnstile.enter();
        self.pass(Moment::Entered(worker, entered.is_some()));
        // Too late for this block; in time for the next where its time is known.
        // Relaxed: a hint; an old time ends the sleep at once.
        let Some(_inside) = entered else { return self.announced.load(Relaxed) };
        if worker >= self.plan().workers() || self.params().alone {
            return 0;
        }
        let _watch = Watch::begin();
        let params = self.params();
        if self.begins(worker, params.block) {
            walk::walk(self, worker);
            self.note(worker, Stamps::finish);
        }
        params.next_ns
    }

    /// Begins a desk's notes on a block; `false`: it has walked this block already (ONCE).
    ///
    /// A thread that comes in after the turnstile opened and before the gate moved finds the gate past
    /// what it saw when it is done, and comes in a second time.
    fn begins(&self, desk: usize, block: u64) -> bool {
        self.note(desk, |stamps| {
            let first = stamps.block != block;
            if first {
                stamps.begin(block);
            }
            first
        })
    }

    /// Keeps a seat busy until the block is finished.
    ///
    /// Thread: guard.
    pub(crate) fn guard(&self, desk: usize) {
        let Some(_inside) = self.turnstile.enter() else { return };
        let _watch = Watch::begin();
        let params = self.params();
        if !self.begins(desk, params.block) {
            return;
        }
        let running = params.finished_value.wrapping_sub(1);
        let (on_seat, until) = (&self.waits.on_seat, self.seat_is_kept_until());
        // A wait that blocks gives the seat up by itself, and the last unit wakes it.
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

    /// What the leader said about this block.
    #[inline]
    pub(crate) fn params(&self) -> Params {
        // SAFETY: callers are inside the block (or the leader), so the write happened before
        // (open/enter edge) and the next one comes after they left (CLOSED).
        unsafe { *self.params.get() }
    }

    /// A desk's notes, to look at.
    ///
    /// # Safety
    /// CLOSED holds for as long as the reference lives, and the leader writes none meanwhile.
    #[inline]
    pub(crate) unsafe fn stamps(&self, desk: usize) -> &Stamps {
        // SAFETY: passed on to the caller.
        unsafe { &*self.desks[desk].stamps.get() }
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

    /// A moment at which a test may hold the calling thread up; nothing elsewhere.
    #[inline(always)]
    pub(super) fn pass(&self, _moment: Moment) {
        #[cfg(test)]
        if let Some(hold) = self.hold.get() {
            hold(self, _moment);
        }
    }

    /// Asks workers and guards to end.
    pub(crate) fn stop(&self) {
        // Relaxed: the flag publishes nothing; the advances order it before the wake-ups.
        self.stopping.store(true, Relaxed);
        self.gate.advance();
        self.reserve.advance();
    }
}
