//! One variant's turn: warm-up, blocks against the clock, what else happened meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::control::protect::Protection;
use hocket_engine::{BlockTimes, Engine, Entered, ThreadReport, VirtualDevice};

use super::seat::Map;
use super::turn_noise::TurnNoise;
use super::{BenchPlan, Running};
use crate::disturb::{Disturbers, Progress, SeatCpus};
use crate::record::{Disturber, RanOn, Round, ThreadGrant, Variant};

/// Where a turn stands in the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub round: u32,
    pub order: u32,
}

/// Runs one turn and keeps it if it came to its end; returns whether it did.
pub(super) fn measure(
    variant: &mut Running,
    plan: &BenchPlan,
    disturbers: &Disturbers,
    seats: &SeatCpus,
    at: At,
    stop: &AtomicBool,
) -> bool {
    let entered = variant.engine.enter();
    variant.watched.begin_turn();
    if variant.record.threads.is_empty() {
        variant.record.threads = grants(&entered, &variant.engine);
        note_refusals(&mut variant.record, &entered.others());
    }
    let counting = &mut variant.counting;
    counting.iter_mut().for_each(|it| it.begin_turn(&variant.engine, &entered.report));
    let mut device = VirtualDevice::new(plan.frames, plan.rate_hz);
    device.run(&mut variant.engine, plan.warm_up, |_, _| !stop.load(Relaxed));

    let mut round = empty_round(at, plan);
    let before = disturbers.progress();
    let wakes = total_wakes(&variant.engine);
    let ledger = TurnNoise::begin(&variant.engine);
    let Running { counting, engine, watched, .. } = &mut *variant;
    counting.iter_mut().for_each(|it| it.start(engine));
    let mut index = 0;
    device.run(engine, plan.blocks_per_round, |times, engine| {
        note(&mut round, times);
        watched.note(engine, times);
        index += 1;
        !stop.load(Relaxed)
    });
    let whole = index >= plan.blocks_per_round;
    let Running { counting, engine, .. } = &mut *variant;
    counting.iter_mut().for_each(|it| it.end_turn(engine, whole));
    round.noise = ledger.end();
    drop(entered);
    variant.watched.end_turn(&variant.engine, whole);
    if !whole {
        return false;
    }
    round.wakes = total_wakes(&variant.engine) - wakes;
    let map = Map::new(variant.engine.seating(), seats);
    credit(&mut variant.record, &map, &before, &disturbers.progress());
    variant.record.rounds.push(round);
    true
}

/// A policy that the system refuses leaves workers where they are, and nothing else: that is said.
fn note_refusals(record: &mut Variant, others: &Protection) {
    if let (Some(asked), false) = (&others.asked, others.is_complete()) {
        let why = others.refused.join("; ");
        record.effect_here.get_or_insert(format!("{asked}: not granted here: {why}"));
    }
}

fn total_wakes(engine: &Engine) -> u64 {
    engine.totals().iter().map(|worker| worker.wakes).sum()
}

fn empty_round(at: At, plan: &BenchPlan) -> Round {
    let column = || Vec::with_capacity(plan.blocks_per_round as usize);
    Round {
        start: 0,
        round: at.round,
        order: at.order,
        first_block: 0,
        wakes: 0,
        blocks: 0,
        noise: Default::default(),
        lateness_ns: column(),
        duration_ns: column(),
        slack_ns: column(),
        worker_awake_max_ns: column(),
        skipped_periods: Vec::with_capacity(plan.blocks_per_round as usize),
    }
}

fn note(round: &mut Round, times: &BlockTimes) {
    if round.lateness_ns.is_empty() {
        round.first_block = times.block;
    }
    round.blocks += 1;
    round.lateness_ns.push(times.lateness_ns as i64);
    round.duration_ns.push(times.duration_ns as i64);
    round.slack_ns.push(times.slack_ns());
    round.worker_awake_max_ns.push((times.lateness_ns + times.workers_awake_ns) as i64);
    round.skipped_periods.push(times.skipped);
}

/// What every thread of the variant asked for and got.
fn grants(entered: &Entered, engine: &Engine) -> Vec<ThreadGrant> {
    std::iter::once(&entered.report).chain(engine.reports()).map(grant).collect()
}

/// As a record has it.
pub(super) fn grant(report: &ThreadReport) -> ThreadGrant {
    ThreadGrant {
        thread: report.name.clone(),
        cpu_asked: report.cpu_asked,
        cpu_got: report.cpus_got.parse().ok(),
        class_asked: report.class_asked.clone(),
        class_got: report.class_got.clone(),
        why: report.why.clone(),
    }
}

/// Books what the disturbers got done in this turn.
fn credit(variant: &mut Variant, map: &Map, before: &[Progress], after: &[Progress]) {
    for (index, (before, after)) in before.iter().zip(after).enumerate() {
        if variant.disturbers.len() <= index {
            variant.disturbers.push(Disturber {
                name: after.name.clone(),
                unit: after.unit.into(),
                progress: Vec::new(),
                cpu_time_ns: 0,
                ran_on: None,
            });
        }
        let disturber = &mut variant.disturbers[index];
        let done_before: f64 = disturber.progress.iter().sum();
        let pieces = (after.pieces - before.pieces) as f64;
        let ran_on = map.ran_on(before, after).shares();
        disturber.ran_on = mean_share((disturber.ran_on, done_before), (ran_on, pieces));
        disturber.progress.push(pieces);
        disturber.cpu_time_ns += after.cpu_time_ns.saturating_sub(before.cpu_time_ns);
    }
}

/// Weighted mean of the shares so far and those of what came after.
pub(super) fn mean_share(
    (old, before): (Option<RanOn>, f64),
    (new, after): (Option<RanOn>, f64),
) -> Option<RanOn> {
    let (Some(a), Some(b)) = (old, new) else { return old.or(new) };
    let all = (before + after).max(f64::MIN_POSITIVE);
    let mean = |a: f64, b: f64| (a * before + b * after) / all;
    Some(RanOn {
        worker_seat: mean(a.worker_seat, b.worker_seat),
        sibling: mean(a.sibling, b.sibling),
        elsewhere: mean(a.elsewhere, b.elsewhere),
    })
}
