//! How a worker walks through its share of a block, one function a schedule.

use std::sync::atomic::Ordering::Relaxed;

use hocket_plan::{ScheduleKind, Step};
use hocket_rt::Waited;

use super::runner::Runner;
use super::stamps::What;
use crate::watch::edge;

/// A worker's share of the block.
pub(crate) fn walk(runner: &Runner, worker: usize) {
    let _end_on_panic = EndOnPanic;
    match runner.schedule.kind() {
        ScheduleKind::Serial => {
            serial(runner, worker);
            // For the guards.
            finish(runner, worker);
        }
        ScheduleKind::Lists => lists(runner, worker),
        ScheduleKind::Dataflow => dataflow(runner, worker),
    }
}

/// All units in order of urgency, which is a topological order.
pub(crate) fn serial(runner: &Runner, worker: usize) {
    let frames = runner.params().frames;
    for unit in 0..runner.units.len() {
        run(runner, worker, unit, frames);
    }
}

fn lists(runner: &Runner, worker: usize) {
    let frames = runner.params().frames;
    for step in runner.schedule.list(worker) {
        match step {
            Step::Run(unit) => {
                run(runner, worker, unit.index(), frames);
                if *unit == runner.schedule.output() {
                    finish(runner, worker);
                }
            }
            Step::Barrier => at_barrier(runner, worker),
        }
    }
}

fn at_barrier(runner: &Runner, worker: usize) {
    let desk = &runner.desks[worker];
    // Relaxed: a hint for partners; what they need to see is published by the barrier itself.
    let mine = desk.phases.load(Relaxed).wrapping_add(1);
    desk.phases.store(mine, Relaxed);
    let mut waited = Waited::default();
    if !desk.partners.is_empty() {
        // Behind, as a wrapping difference: the partner has not reached this barrier yet.
        let behind = |partner: &usize| {
            (runner.desks[*partner].phases.load(Relaxed).wrapping_sub(mine) as i32) < 0
        };
        let seen = runner.progress.value();
        waited += keep_seat(runner, seen, || desk.partners.iter().any(behind));
    }
    waited += edge(|| runner.barrier.wait(&runner.waits.in_block)).1;
    note(runner, worker, What::Barrier, waited);
}

/// Keeps the calling worker's seat busy while `needed` says so and `progress` is `seen`, without
/// blocking.
///
/// `progress` stands still in `lists`, so the wait ends by `needed` alone.
fn keep_seat(runner: &Runner, seen: u32, needed: impl Fn() -> bool) -> Waited {
    edge(|| runner.progress.wait_until(seen, &runner.waits.on_seat, || !needed())).1
}

/// Runs ready units until the output has run.
fn dataflow(runner: &Runner, worker: usize) {
    let params = runner.params();
    // Relaxed: `busy` is a hint for partners, here and below.
    runner.desks[worker].busy.store(true, Relaxed);
    loop {
        if let Some(unit) = next_ready(runner, worker) {
            run_onward(runner, worker, unit as usize, params.frames);
            continue;
        }
        if runner.finished.value() == params.finished_value {
            break;
        }
        // The value is read before looking once more: what became ready after the look has
        // advanced `progress` past `seen`, so the wait below returns at once.
        let seen = runner.progress.value();
        if let Some(unit) = next_ready(runner, worker) {
            run_onward(runner, worker, unit as usize, params.frames);
            continue;
        }
        if runner.finished.value() == params.finished_value {
            break;
        }
        idle(runner, worker, seen);
    }
    runner.desks[worker].busy.store(false, Relaxed);
}

#[inline]
fn next_ready(runner: &Runner, worker: usize) -> Option<u32> {
    runner.ready.pop(worker).or_else(|| runner.ready.steal(worker))
}

/// Nothing is ready: keeps the seat while a partner works (policy `pair-barrier`), then waits.
fn idle(runner: &Runner, worker: usize, seen: u32) {
    let desk = &runner.desks[worker];
    desk.busy.store(false, Relaxed);
    let partner_busy = || desk.partners.iter().any(|p| runner.desks[*p].busy.load(Relaxed));
    let mut waited = keep_seat(runner, seen, partner_busy);
    waited += edge(|| runner.progress.wait_past(seen, &runner.waits.in_block)).1;
    note(runner, worker, What::Wait, waited);
    desk.busy.store(true, Relaxed);
}

/// Runs a unit, then one of the successors that it made ready, and so on; the others are offered.
fn run_onward(runner: &Runner, worker: usize, first: usize, frames: usize) {
    let mut next = Some(first);
    while let Some(unit) = next.take() {
        run(runner, worker, unit, frames);
        let id = hocket_plan::UnitId(unit as u32);
        if id == runner.schedule.output() {
            return finish(runner, worker);
        }
        let mut offered = false;
        for successor in &runner.schedule.units().units()[unit].successors {
            if !runner.countdowns[successor.index()].arrive() {
                continue;
            }
            runner.countdowns[successor.index()].reset();
            if next.is_none() {
                next = Some(successor.index());
            } else {
                runner.ready.push(worker, successor.0);
                offered = true;
            }
        }
        if offered {
            advance(runner, worker);
        }
    }
}

/// The output has run: the block is complete.
fn finish(runner: &Runner, worker: usize) {
    let woke = edge(|| runner.finished.advance());
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.totals.wakes += u64::from(woke);
    if runner.is_dataflow() {
        advance(runner, worker);
    }
}

fn advance(runner: &Runner, worker: usize) {
    let woke = edge(|| runner.progress.advance());
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.totals.wakes += u64::from(woke);
}

/// The leader waits here until the output has run, wherever that happens.
pub(crate) fn await_finish(runner: &Runner, worker: usize) {
    let done = runner.params().finished_value;
    let mut seen = runner.finished.value();
    if seen == done {
        return;
    }
    while seen != done {
        let (value, waited) = edge(|| runner.finished.wait_past(seen, &runner.waits.in_block));
        note(runner, worker, What::Wait, waited);
        seen = value;
    }
}

fn run(runner: &Runner, worker: usize, unit: usize, frames: usize) {
    // SAFETY: every walk follows the verified schedule: `serial` and `lists` run what stands there
    // once and in order (R2, R5), `dataflow` runs a unit when it was in a ready set or when this
    // worker took its countdown to zero, both of which happen once (R2, R7).
    unsafe { runner.units.run(unit, frames) };
    // SAFETY: the caller is this desk's worker inside a block.
    unsafe { runner.stamps_mut(worker) }.end_span(What::Unit(unit as u32));
}

fn note(runner: &Runner, worker: usize, what: What, waited: Waited) {
    // SAFETY: the caller is this desk's worker inside a block.
    let stamps = unsafe { runner.stamps_mut(worker) };
    stamps.totals.blocked += u64::from(waited.blocked);
    stamps.totals.yielded += u64::from(waited.yielded);
    stamps.end_span(what);
}

/// Ends the process where a processor panics inside a block.
///
/// The units it would have run never finish, so everybody else would wait for ever; with a
/// real-time class that would take the machine with it.
struct EndOnPanic;

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("hocket: a processor panicked inside a block; the engine cannot go on");
            std::process::abort();
        }
    }
}
