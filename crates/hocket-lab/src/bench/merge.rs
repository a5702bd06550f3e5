//! The records of several process starts as one: nothing that any of them found is dropped.

use super::BenchPlan;
use super::flight::EXPLANATIONS;
use super::turn::mean_share;
use crate::once::added_up;
use crate::record::{
    BenchRecord, Contained, DiskSilence, Disturber, Explained, LostEvents, ThreadGrant, Variant,
};
use crate::stats;

/// One record of the starts that were measured, in their order; `None` for none.
///
/// `cut` is why the run ended early, such as `interrupted`. Facts of machine and clock are those of the first start.
pub fn merge(plan: &BenchPlan, starts: Vec<BenchRecord>, cut: Option<&str>) -> Option<BenchRecord> {
    let mut starts = starts.into_iter();
    let mut all = starts.next()?;
    for (start, next) in starts.enumerate() {
        append(&mut all, next, start as u32 + 1);
    }
    all.settings.starts = plan.of_starts().len();
    all.settings.rounds = plan.rounds();
    all.settings.blocks_per_variant = plan.blocks;
    all.settings.seed = plan.seed;
    all.command.clone_from(&plan.command);
    all.session.file.clone_from(&plan.session_file);
    all.session.content_sha256.clone_from(&plan.session_sha256);
    all.session.fill = plan.fill;
    let (done, of) = (turns(&all), plan.turns());
    if let Some(why) = cut.filter(|_| done < of) {
        all.partial = Some(format!("{why} after {done} of {of} turns"));
    }
    Some(all)
}

/// Turns that a record holds.
fn turns(record: &BenchRecord) -> usize {
    let of_variants: usize = record.variants.iter().map(|variant| variant.rounds.len()).sum();
    of_variants + record.wake_loop.rounds.len()
}

fn append(all: &mut BenchRecord, next: BenchRecord, start: u32) {
    let shift = Shift { start, rounds: rounds(all), turns: turns(all) as u32 };
    all.finished_at = next.finished_at;
    all.partial = all.partial.take().or(next.partial);
    all.clock.longest_gap_ns = all.clock.longest_gap_ns.max(next.clock.longest_gap_ns);
    for (variant, more) in all.variants.iter_mut().zip(next.variants) {
        shift.append(variant, more);
    }
    all.wake_loop.thread = all.wake_loop.thread.take().or(next.wake_loop.thread);
    for mut round in next.wake_loop.rounds {
        shift.place(&mut round.start, &mut round.round, &mut round.order);
        all.wake_loop.rounds.push(round);
    }
    all.contained = by_unit(all.contained.drain(..).chain(next.contained));
    all.disk = by_file(all.disk.drain(..).chain(next.disk));
    all.lost_events = by_node(all.lost_events.drain(..).chain(next.lost_events));
}

/// One past the highest number of a round.
fn rounds(record: &BenchRecord) -> u32 {
    let of_variants = record.variants.iter().flat_map(|variant| &variant.rounds).map(|r| r.round);
    let of_loop = record.wake_loop.rounds.iter().map(|round| round.round);
    of_variants.chain(of_loop).max().map_or(0, |last| last + 1)
}

/// Where a start stands in the whole run.
struct Shift {
    start: u32,
    rounds: u32,
    turns: u32,
}

impl Shift {
    fn place(&self, start: &mut u32, round: &mut u32, order: &mut u32) {
        *start = self.start;
        *round += self.rounds;
        *order += self.turns;
    }

    fn append(&self, all: &mut Variant, next: Variant) {
        all.effect_here = all.effect_here.take().or(next.effect_here);
        all.refused = all.refused.take().or(next.refused);
        self.threads(&mut all.threads, next.threads);
        for mut round in next.rounds {
            self.place(&mut round.start, &mut round.round, &mut round.order);
            all.rounds.push(round);
        }
        for more in next.disturbers {
            match all.disturbers.iter_mut().find(|it| it.name == more.name) {
                Some(disturber) => add(disturber, more),
                None => all.disturbers.push(more),
            }
        }
        if let Some(more) = next.counted {
            all.counted.get_or_insert_default().add(more);
        }
        self.explained(all, next.explained, next.worst);
        let median = stats::median(&all.duration_ns().map(|ns| ns as f64).collect::<Vec<_>>());
        let traces = all.ordinary.take().into_iter().chain(next.ordinary);
        let off = |ns: i64| (ns as f64 - median.unwrap_or(0.0)).abs();
        all.ordinary = traces.min_by(|a, b| off(a.duration_ns()).total_cmp(&off(b.duration_ns())));
    }

    /// A thread that got something else in a later start is named once more.
    fn threads(&self, all: &mut Vec<ThreadGrant>, next: Vec<ThreadGrant>) {
        let was_empty = all.is_empty();
        for mut thread in next {
            if !all.contains(&thread) {
                if !was_empty {
                    thread.thread = format!("{}, start {}", thread.thread, self.start + 1);
                }
                all.push(thread);
            }
        }
    }

    /// Adds up the causes, and keeps the block with the least slack with its explanation.
    fn explained(
        &self,
        all: &mut Variant,
        next: Option<Explained>,
        worst: Option<hocket_trace::BlockTrace>,
    ) {
        let slack = |trace: &hocket_trace::BlockTrace| trace.deadline_ns - trace.finished_ns;
        let is_worse = match (&all.worst, &worst) {
            (Some(before), Some(after)) => slack(after) < slack(before),
            (None, after) => after.is_some(),
            (Some(_), None) => false,
        };
        if is_worse {
            all.worst = worst;
        }
        let Some(mut next) = next else { return };
        // Each start numbers its blocks anew.
        for verdict in next.last.iter_mut().chain(&mut next.worst) {
            verdict.text = format!("process start {}: {}", self.start + 1, verdict.text);
        }
        let Some(explained) = &mut all.explained else {
            all.explained = Some(next);
            return;
        };
        explained.causes.add(&next.causes);
        explained.unexplained += next.unexplained;
        explained.last.append(&mut next.last);
        let too_many = explained.last.len().saturating_sub(EXPLANATIONS);
        explained.last.drain(..too_many);
        if is_worse {
            explained.worst = next.worst;
        }
        next.limits.retain(|limit| !explained.limits.contains(limit));
        explained.limits.append(&mut next.limits);
    }
}

fn add(disturber: &mut Disturber, more: Disturber) {
    let done = |disturber: &Disturber| disturber.progress.iter().sum::<f64>();
    disturber.ran_on = mean_share((disturber.ran_on, done(disturber)), (more.ran_on, done(&more)));
    disturber.progress.extend(more.progress);
    disturber.cpu_time_ns += more.cpu_time_ns;
}

/// Silence of the same file together.
pub(super) fn by_file(found: impl Iterator<Item = DiskSilence>) -> Vec<DiskSilence> {
    let add = |one: &mut DiskSilence, more: DiskSilence| one.silent_frames += more.silent_frames;
    added_up(found, |one, other| one.file == other.file, add)
}

/// What the same node lost together.
pub(super) fn by_node(found: impl Iterator<Item = LostEvents>) -> Vec<LostEvents> {
    let add = |one: &mut LostEvents, more: LostEvents| one.events += more.events;
    added_up(found, |one, other| one.node == other.node, add)
}

/// What was contained in the same unit together.
pub(super) fn by_unit(found: impl Iterator<Item = Contained>) -> Vec<Contained> {
    let add = |one: &mut Contained, more: Contained| {
        one.blocks += more.blocks;
        one.failed += more.failed;
        one.panic = one.panic.take().or(more.panic);
    };
    added_up(found, |one, other| one.unit == other.unit, add)
}
