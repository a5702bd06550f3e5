//! How a worker walks its share of a block, one function per kind of schedule.

use std::sync::atomic::Ordering::Relaxed;

use hocket_machine::clock::ticks;
use hocket_plan::{ScheduleKind, Step, VerifiedSchedule};
use hocket_rt::{Signal, Steal, Waited};

use super::costs::Circumstance;
use super::part_counts::PartCounts;
use super::plan::Offered;
use super::probe::Nobody;
use super::runner::{Moment, Runner};
use super::spread::{Help, SpreadWork};
use super::stamps::What;
use crate::watch::edge;

/// Walks a worker's share of the block.
pub(crate) fn walk(runner: &Runner, worker: usize) {
    let armed = EndOnPanic;
    // Relaxed: `busy` is a hint, here and below.
    runner.desks[worker].busy.store(true, Relaxed);
    match runner.plan().schedule.kind() {
        ScheduleKind::Serial => {
            serial(runner, worker);
            // Guards wait for it.
            finish(runner, worker);
        }
        ScheduleKind::Lists => lists(runner, worker),
        ScheduleKind::Dataflow | ScheduleKind::Steal => until_finished(runner, worker),
        ScheduleKind::Critical => critical(runner, worker),
    }
    runner.desks[worker].busy.store(false, Relaxed);
    armed.disarm();
}

/// Runs the whole block on the leader, without other threads.
pub(crate) fn walk_alone(runner: &Runner) {
    let armed = EndOnPanic;
    serial(runner, 0);
    armed.disarm();
}

/// Runs all units in order of urgency, which is a topological order.
fn serial(runner: &Runner, worker: usize) {
    let frames = runner.params().frames;
    for unit in 0..runner.plan().units.len() {
        runner.plan().units.fetch(unit + 1);
        run(runner, worker, unit, frames);
    }
}

fn lists(runner: &Runner, worker: usize) {
    let frames = runner.params().frames;
    let steps = runner.plan().schedule.list(worker);
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Run(unit) => {
                if let Some(Step::Run(next)) = steps.get(place + 1) {
                    runner.plan().units.fetch(next.index());
                }
                run(runner, worker, unit.index(), frames);
                if *unit == runner.plan().schedule.last() {
                    finish(runner, worker);
                }
            }
            Step::Barrier => at_barrier(runner, worker),
        }
    }
}

fn at_barrier(runner: &Runner, worker: usize) {
    let (desk, phases) = (&runner.desks[worker], &runner.plan().phases);
    // Relaxed: a hint for partners. The barrier itself publishes the data.
    let mine = phases[worker].0.load(Relaxed).wrapping_add(1);
    phases[worker].0.store(mine, Relaxed);
    desk.busy.store(false, Relaxed);
    let mut waited = Waited::default();
    // In `lists` no unit advances `progress`, so nobody would wake a seat wait that blocks.
    if !runner.waits.on_seat.may_block() {
        // The partner has not reached this barrier yet. The difference wraps.
        let behind =
            |partner: usize| (phases[partner].0.load(Relaxed).wrapping_sub(mine) as i32) < 0;
        let seen = runner.progress.value();
        waited += keep_seat(runner, seen, || partners(runner, worker).any(behind));
    }
    let barrier = &runner.plan().barrier;
    let round = edge(|| barrier.arrive());
    while let Some(round) = &round {
        let offered = || spread(runner).is_offered();
        let (over, since) = edge(|| barrier.wait_until(round, runner.in_block(), offered));
        waited += since;
        if over {
            break;
        }
        note(runner, worker, What::Barrier, std::mem::take(&mut waited));
        help(runner, worker);
    }
    note(runner, worker, What::Barrier, waited);
    desk.busy.store(true, Relaxed);
}

/// The workers of this plan for which `worker` keeps its seat (policy `pair-barrier`). They share its core.
///
/// A worker that the plan does not need sleeps at `reserve` and reaches no barrier, so it does not count.
fn partners(runner: &Runner, worker: usize) -> impl Iterator<Item = usize> {
    let plan = runner.plan();
    let workers = if plan.paired { plan.workers() } else { 0 };
    let partners = runner.desks[worker].place.partners.iter().copied();
    partners.filter(move |partner| *partner < workers)
}

/// Keeps the calling worker's seat busy while `needed` returns true and `progress` equals `seen`.
///
/// The wait has a time limit, because the partner may need this CPU. In `lists`, `progress` does not move,
/// so only `needed` or the limit ends the wait.
fn keep_seat(runner: &Runner, seen: u32, needed: impl Fn() -> bool) -> Waited {
    let until = runner.seat_is_kept_until();
    let over = || !needed() || ticks() >= until;
    let waited = edge(|| runner.progress.wait_until(seen, &runner.waits.on_seat, over)).1;
    runner.pass(Moment::Kept);
    waited
}

/// Runs units until the last unit has run.
fn until_finished(runner: &Runner, worker: usize) {
    let params = runner.params();
    loop {
        if let Some(unit) = next_unit(runner, worker) {
            run_onward(runner, worker, unit as usize, params.frames);
            continue;
        }
        if runner.finished.value() == params.finished_value {
            break;
        }
        // Read the value, then look once more, then wait. A unit that becomes ready after the second
        // look advances `progress` past `seen`, so the wait below returns at once.
        let seen = runner.progress.value();
        if let Some(unit) = next_unit(runner, worker) {
            run_onward(runner, worker, unit as usize, params.frames);
            continue;
        }
        if runner.finished.value() == params.finished_value {
            break;
        }
        idle(runner, worker, seen);
    }
}

/// Takes a unit that can start now.
#[inline]
fn next_unit(runner: &Runner, worker: usize) -> Option<u32> {
    match &runner.plan().offered {
        Offered::Nowhere | Offered::Lists { .. } => None,
        Offered::Sets { sets, .. } => sets.pop(worker).or_else(|| sets.steal(worker)),
        Offered::Deques { deques, .. } => {
            deques[worker].pop().or_else(|| steal(runner, worker, deques))
        }
    }
}

/// The unit that [`next_unit`] will probably return next, without taking it.
#[inline]
fn next_hint(runner: &Runner, worker: usize) -> Option<u32> {
    match &runner.plan().offered {
        Offered::Nowhere | Offered::Lists { .. } => None,
        Offered::Sets { sets, .. } => sets.first_hint(worker),
        Offered::Deques { deques, .. } => deques[worker].last_hint(),
    }
}

/// Takes the oldest unit of another worker. The search starts with the next neighbour.
fn steal(runner: &Runner, worker: usize, deques: &[hocket_rt::Deque]) -> Option<u32> {
    let workers = runner.plan().workers();
    for victim in (1..workers).map(|step| (worker + step) % workers) {
        loop {
            match deques[victim].steal() {
                Steal::Stolen(unit) => return Some(unit),
                Steal::Empty => break,
                // Another thread took this unit. There may be more.
                Steal::Retry => {}
            }
        }
    }
    None
}

/// No unit can start. Keeps the seat while a partner works (policy `pair-barrier`), then waits.
fn idle(runner: &Runner, worker: usize, seen: u32) {
    let desk = &runner.desks[worker];
    desk.busy.store(false, Relaxed);
    let busy = |other: usize| runner.desks[other].busy.load(Relaxed);
    let mut waited = keep_seat(runner, seen, || partners(runner, worker).any(busy));
    waited += or_spread(runner, &runner.progress, seen).1;
    note(runner, worker, What::Wait, waited);
    desk.busy.store(true, Relaxed);
    help(runner, worker);
}

/// Waits until `signal` has left `seen`, or work is spread that this worker could help with.
fn or_spread(runner: &Runner, signal: &Signal, seen: u32) -> (u32, Waited) {
    edge(|| signal.wait_until(seen, runner.in_block(), || spread(runner).is_offered()))
}

#[inline]
fn spread(runner: &Runner) -> &SpreadWork {
    &runner.now().spread
}

/// Takes passes of work that is spread, if there are any.
#[inline]
fn help(runner: &Runner, worker: usize) {
    if !spread(runner).is_offered() {
        return;
    }
    let busy = &runner.desks[worker].busy;
    // Relaxed: a hint, and its own writer's.
    let before = busy.swap(true, Relaxed);
    let Help { worked, woke } = spread(runner).help();
    if worked {
        note(runner, worker, What::Help, Waited::default());
    }
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.totals.wakes += u64::from(woke);
    busy.store(before, Relaxed);
}

/// Runs a unit, then one of the successors that it made ready, and so on. Offers the other successors.
fn run_onward(runner: &Runner, worker: usize, first: usize, frames: usize) {
    let plan = runner.plan();
    let mut next = Some(first);
    while let Some(unit) = next.take() {
        if let Some(likely) = next_hint(runner, worker) {
            plan.units.fetch(likely as usize);
        }
        let last = unit as u32 == plan.last;
        if last {
            runner.admit_nobody();
        }
        run(runner, worker, unit, frames);
        if last {
            return finish(runner, worker);
        }
        let mut offered = false;
        for successor in plan.successors.get(unit) {
            if plan.countdowns[*successor as usize].arrive() {
                offered |= made_ready(runner, worker, *successor, &mut next);
            }
        }
        if offered {
            advance(runner, worker);
        }
    }
}

/// All predecessors of `unit` have finished, the last one on this thread.
///
/// The first such unit becomes `next`. The others are offered. Returns whether this one was offered, so that
/// other workers must be notified.
#[inline]
fn made_ready(runner: &Runner, worker: usize, unit: u32, next: &mut Option<usize>) -> bool {
    let plan = runner.plan();
    plan.countdowns[unit as usize].reset();
    if next.is_none() {
        *next = Some(unit as usize);
        return false;
    }
    match &plan.offered {
        Offered::Sets { sets, .. } => sets.push(worker, unit),
        Offered::Deques { deques, .. } => deques[worker].push(unit),
        Offered::Nowhere | Offered::Lists { .. } => {}
    }
    true
}

/// Walks the worker's own list, and lists of workers that have not come, until the last unit has run.
///
/// If the next unit of one list cannot start, the worker goes on with its other lists. So the first
/// unfinished unit in the schedule's order can always start, whichever worker holds its list.
fn critical(runner: &Runner, worker: usize) {
    let mut held = Held::default();
    held.take(runner, worker);
    let done = runner.params().finished_value;
    loop {
        // Read, look, wait: see `until_finished`.
        let seen = runner.progress.value();
        let ran = held.lists().fold(false, |ran, list| go_on(runner, worker, list) | ran);
        if runner.finished.value() == done {
            return;
        }
        if !ran && !held.stand_in(runner) {
            await_progress(runner, worker, seen);
        }
    }
}

/// The lists that a worker walks in this block, one bit per list. There are as many bits as rule R9 of the
/// schedule allows workers.
#[derive(Default)]
struct Held([u64; VerifiedSchedule::MAX_WORKERS / 64]);

impl Held {
    /// Takes a list, unless another worker has it. Returns whether it took the list.
    fn take(&mut self, runner: &Runner, list: usize) -> bool {
        let Offered::Lists { claims, .. } = &runner.plan().offered else { return false };
        let taken = claims[list].0.take();
        self.0[list / 64] |= u64::from(taken) << (list % 64);
        taken
    }

    /// Takes the list of a worker that is overdue.
    #[cold]
    fn stand_in(&mut self, runner: &Runner) -> bool {
        runner.is_overdue() && free_list(runner).is_some_and(|list| self.take(runner, list))
    }

    #[inline]
    fn lists(&self) -> impl Iterator<Item = usize> {
        let words = self.0;
        (0..words.len()).flat_map(move |i| {
            let after = |word: &u64| Some(word & word.wrapping_sub(1));
            let rest = std::iter::successors(Some(words[i]), after).take_while(|word| *word != 0);
            rest.map(move |word| i * 64 + word.trailing_zeros() as usize)
        })
    }
}

/// Runs the units of a list until one cannot start yet. Returns whether it ran any.
fn go_on(runner: &Runner, worker: usize, list: usize) -> bool {
    let plan = runner.plan();
    let Offered::Lists { lists, places, .. } = &plan.offered else { return false };
    let frames = runner.params().frames;
    // Relaxed: only the worker that took the list reads its place. The leader resets it while nobody is
    // inside, and E4 publishes that.
    let first = places[list].0.load(Relaxed) as usize;
    let mut place = first;
    while let Some(unit) = lists[list].get(place) {
        if !plan.countdowns[*unit as usize].is_down() {
            break;
        }
        if let Some(next) = lists[list].get(place + 1) {
            plan.units.fetch(*next as usize);
        }
        if *unit == plan.last {
            runner.admit_nobody();
        }
        run(runner, worker, *unit as usize, frames);
        place += 1;
        tell(runner, worker, *unit);
    }
    places[list].0.store(place as u32, Relaxed);
    place > first
}

/// A unit of a list has run. Notifies units of other lists that wait for it.
#[inline]
fn tell(runner: &Runner, worker: usize, unit: u32) {
    let plan = runner.plan();
    if unit == plan.last {
        return finish(runner, worker);
    }
    let mut told = false;
    for successor in plan.successors.get(unit as usize) {
        told |= plan.countdowns[*successor as usize].arrive();
    }
    if told {
        advance(runner, worker);
    }
}

/// A list that no worker has taken.
fn free_list(runner: &Runner) -> Option<usize> {
    match &runner.plan().offered {
        Offered::Lists { claims, .. } => claims.iter().position(|claim| claim.0.is_free()),
        _ => None,
    }
}

/// Waits until `progress` leaves `seen`. While some list has no worker, it waits at most until it is time to
/// stand in.
#[cold]
fn await_progress(runner: &Runner, worker: usize, seen: u32) {
    if free_list(runner).is_none() {
        return idle(runner, worker, seen);
    }
    let until =
        || free_list(runner).is_none() || runner.is_overdue() || spread(runner).is_offered();
    let (_, waited) = edge(|| runner.progress.wait_until(seen, &runner.waits.stand_in, until));
    note(runner, worker, What::Wait, waited);
    help(runner, worker);
}

/// The last unit has run, so the block is complete.
fn finish(runner: &Runner, worker: usize) {
    let woke = edge(|| runner.finished.advance());
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.totals.wakes += u64::from(woke);
    if runner.plan().schedule.kind().counts_down() {
        advance(runner, worker);
    }
}

fn advance(runner: &Runner, worker: usize) {
    let woke = edge(|| runner.progress.advance());
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.totals.wakes += u64::from(woke);
}

/// Waits until the last unit has run, on the leader or on a worker.
pub(crate) fn await_finish(runner: &Runner, worker: usize) {
    let done = runner.params().finished_value;
    let mut seen = runner.finished.value();
    while seen != done {
        let (value, waited) = or_spread(runner, &runner.finished, seen);
        note(runner, worker, What::Wait, waited);
        help(runner, worker);
        seen = value;
    }
}

fn run(runner: &Runner, worker: usize, unit: usize, frames: usize) {
    let plan = runner.plan();
    // SAFETY: the caller is this desk's worker inside a block.
    if let Some(counts) = unsafe { runner.stamps_mut(worker) }.take_due() {
        return run_counted(runner, worker, unit, frames, counts);
    }
    // SAFETY: every walk follows the verified schedule, and a worker walks a block once (ONCE).
    // - `serial` and `lists` run each unit once and in order (R2, R5).
    // - `dataflow` and `steal` run a unit that was offered, or whose countdown this worker took to zero.
    //   Only one of the two happens, and only once (R2, R7).
    // - `critical` runs the units of a list that it claimed, each once (R2), with the countdown at zero
    //   (R5, R7).
    // The plan is the leader's (ONE-PLAN): `runner.plan()` returns no other.
    unsafe { plan.units.run(unit, frames, runner.now(), &mut Nobody) };
    // SAFETY: the caller is this desk's worker inside a block.
    let ticks = unsafe { runner.stamps_mut(worker) }.end_span(What::Unit(unit as u32));
    let place = &runner.desks[worker].place;
    let busy = |mate: &usize| runner.desks[*mate].busy.load(Relaxed);
    let sibling_busy = place.mates.iter().any(busy);
    // Costs refer to full blocks. Much shorter blocks measure overheads rather than units.
    if frames * 4 >= plan.frames {
        // Most blocks are full, and a division takes as long as the rest of this function.
        let whole = match frames == plan.frames {
            true => ticks,
            false => ticks * plan.frames as u64 / frames as u64,
        };
        plan.costs.note(unit, Circumstance { kind: place.kind, sibling_busy }, whole);
    }
}

/// Runs a unit whose parts are counted. Its time is that of the readings, too, so it is no cost of the unit.
#[cold]
#[inline(never)]
fn run_counted(
    runner: &Runner,
    worker: usize,
    unit: usize,
    frames: usize,
    mut counts: Box<PartCounts>,
) {
    counts.begin_unit();
    // SAFETY: as in `run`, which was called for this unit and runs it no other way.
    unsafe { runner.plan().units.run(unit, frames, runner.now(), &mut *counts) };
    // SAFETY: the caller is this desk's worker inside a block.
    let stamps = unsafe { runner.stamps_mut(worker) };
    stamps.counts = Some(counts);
    stamps.end_span(What::Unit(unit as u32));
}

fn note(runner: &Runner, worker: usize, what: What, waited: Waited) {
    // SAFETY: the caller is this desk's worker inside a block.
    let stamps = unsafe { runner.stamps_mut(worker) };
    stamps.totals.blocked += u64::from(waited.blocked);
    stamps.totals.yielded += u64::from(waited.yielded);
    stamps.end_span(what);
}

/// Ends the process if the engine itself panics inside a block. (`bus.rs` catches the panic of a processor.)
///
/// The units of that thread would never finish, so all other threads would wait for ever. Real-time threads
/// that wait for ever can freeze the machine.
pub(super) struct EndOnPanic;

impl EndOnPanic {
    /// The watched code has returned.
    pub(super) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        // block-path: the process ends here.
        eprintln!(
            "hocket: the engine panicked inside a block and cannot go on; please report this"
        );
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_held_are_found_in_every_word() {
        let mut held = Held::default();
        assert_eq!(held.lists().count(), 0);
        (held.0[0], held.0[1], held.0[7]) = (1 | 1 << 63, 0b110, 1 << 63);
        assert!(held.lists().eq([0, 63, 65, 66, VerifiedSchedule::MAX_WORKERS - 1]));
    }
}
