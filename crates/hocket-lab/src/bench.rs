//! `hocket bench`: the same session under several policies, interleaved in each of several process starts.
//!
//! A start has rounds. In every round each variant has one turn, and so has a bare wake-up loop of
//! the same priority and period; the order is drawn anew for every round. All variants exist from
//! the start, each with its own engine and workers that sleep while others have their turn, so
//! that a turn begins without allocation. What drifts (frequency, neighbours, load) drifts through
//! all variants alike, and ratios are taken within rounds.
//!
//! An engine keeps its place in memory while the process lives, and two equal engines differ by where
//! theirs happens to be. So a run has several starts ([`BenchPlan::of_starts`], [`merge`]), and the first
//! variant has a twin in each: the same once more, whose difference from it is noise.

mod counting;
mod flight;
mod merge;
mod turn_noise;
mod seat;
mod turn;
mod wake;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_engine::{
    Couples, Engine, EngineError, MediaPool, NotReady, Policy, Seating, Settings as EngineSettings,
    Steer, Strategy, prepare_session, seats_of,
};
use hocket_machine::Topology;
use hocket_machine::smt::{self, SmtOff};
use hocket_plan::{Fusing, Session, SiblingPolicy};

use crate::disturb::{DisturbError, DisturbSpec, Disturbers, PreviewSource};
use crate::harness::TWIN;
use crate::record::{
    BenchRecord, Contained, DiskSilence, LostEvents, SessionFacts, Settings, Variant, WakeLoop,
};
use crate::stats::Rng;

pub use merge::merge;
pub use seat::seat_cpus;

/// How long the start waits until what plays from the disk is read ahead.
const FILL_PATIENCE: Duration = Duration::from_secs(20);

/// One of the things to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariantPlan {
    /// Schedule, sibling policy and wait.
    pub policy: Policy,
    /// Whether the schedule is chosen while it plays; the policy's own is not looked at then.
    pub auto: bool,
    /// Whether equal effects of two strips run as one.
    pub couples: Couples,
}

impl VariantPlan {
    /// The schedule's name, or `auto`.
    pub fn schedule_name(&self) -> &'static str {
        if self.auto { "auto" } else { self.policy.schedule.name() }
    }
}

impl std::fmt::Display for VariantPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Policy { sibling, wait, .. } = self.policy;
        write!(f, "{} / {} / {wait}", self.schedule_name(), sibling.name())?;
        if self.couples == Couples::Never { Ok(()) } else { f.write_str(" / lanes") }
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The variants; the first is the reference of all ratios.
    pub variants: Vec<VariantPlan>,
    /// Block length.
    pub frames: u32,
    /// Sample rate.
    pub rate_hz: u32,
    /// Workers; `None`: as many as each policy has seats for.
    pub workers: Option<usize>,
    /// SCHED_FIFO priority; `None`: ordinary threads.
    pub priority: Option<u8>,
    /// How seats are kept on which nobody works.
    pub seat_wait: Strategy,
    /// Process starts among which the rounds are dealt out.
    pub starts: usize,
    /// Measured blocks a variant.
    pub blocks: u64,
    /// Measured blocks a turn.
    pub blocks_per_round: u64,
    /// Blocks run and thrown away at the start of each turn.
    pub warm_up: u64,
    /// Where the order of the turns comes from.
    pub seed: u64,
    /// Foreign load.
    pub disturb: Vec<DisturbSpec>,
    /// Whether hardware counters count beside. That costs time when threads are switched.
    pub counters: bool,
    /// Whether they are also read around the parts of units, for counts by kind. That costs system calls inside blocks.
    pub counters_per_kind: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The session file as it was given, for the record.
    pub session_file: String,
    /// A digest of it, for the record.
    pub session_sha256: Option<String>,
    /// Equalisers that were added to the session's tracks, if so.
    pub fill: Option<usize>,
    /// Whether the variants play alone, without the twin and the wake-up loop: for what compares nothing.
    pub alone: bool,
}

/// What to measure it on.
pub struct BenchInput<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its audio.
    pub media: &'a MediaPool,
    /// The machine.
    pub topology: &'a Topology,
    /// What the preview disturber reads.
    pub preview: Option<PreviewSource>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The workers do not fit.
    #[error(
        "{0}; ask for fewer with --workers, or name a policy that uses siblings (all, pair-barrier)"
    )]
    Place(#[from] hocket_plan::place::PlaceError),
    /// The session cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] hocket_engine::control::prepare::PrepareError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A disturber does not start.
    #[error(transparent)]
    Disturb(#[from] DisturbError),
    /// `offline` beside other policies.
    #[error(
        "policy 'offline' takes the siblings from every other policy: measure it in a run of its own \
         and compare the two records"
    )]
    OfflineWithOthers,
    /// Nothing to compare.
    #[error("no variant to measure: name at least one schedule, policy and wait")]
    NoVariant,
}

/// How far a start is, for a progress bar; called between turns only.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Turns done.
    pub done: usize,
    /// Turns in all.
    pub of: usize,
}

/// One variant at work.
struct Running {
    engine: Engine,
    record: Variant,
    watched: flight::Watched,
    counting: Option<counting::Counting>,
}

/// Runs one process start on the calling thread, which becomes the leader turn by turn.
///
/// Ends early when `stop` becomes true; the record then says so and holds every whole turn.
///
/// # Errors
/// [`BenchError`], before anything is measured.
pub fn run(
    plan: &BenchPlan,
    input: &BenchInput<'_>,
    stop: &AtomicBool,
    mut progress: impl FnMut(Progress),
) -> Result<BenchRecord, BenchError> {
    let started_at = crate::about::now();
    // For the whole run: a CPU that goes off line between turns would take its threads' seats away.
    let _smt_off = switch_smt_off(plan)?;
    let mut variants = start_variants(plan, input)?;
    // A disk that is too slow for this is silence that the record names.
    let _ = input.media.fill(FILL_PATIENCE);
    let seats = seat_cpus(input.topology);
    let disturbers = Disturbers::start(&plan.disturb, input.preview.as_ref(), &seats)?;
    let mut wake_loop = wake::WakeTurns::new(plan, &variants[0].engine);
    let rounds = plan.rounds();
    let turns = plan.turns();
    let mut rng = Rng::new(plan.seed);
    let mut done = 0;
    'rounds: for round in 0..rounds {
        // The last one is the wake-up loop's, where it has a turn.
        let mut order: Vec<usize> = (0..plan.turns_per_round()).collect();
        rng.shuffle(&mut order);
        for which in order {
            let at = turn::At { round: round as u32, order: done as u32 };
            let complete = match variants.get_mut(which) {
                Some(variant) => turn::measure(variant, plan, &disturbers, &seats, at, stop),
                None => wake_loop.measure(plan, at, stop),
            };
            if !complete {
                break 'rounds;
            }
            done += 1;
            progress(Progress { done, of: turns });
        }
    }
    let partial = partial_reason(done, turns, stop);
    let troubles = disturbers.troubles();
    drop(disturbers);
    let mut record = assemble(plan, input, variants, wake_loop.finish());
    record.started_at = started_at;
    record.finished_at = crate::about::now();
    record.partial = partial.or_else(|| troubles.first().cloned());
    Ok(record)
}

/// Policy `offline` switches SMT off for everybody, so it is measured by itself.
fn switch_smt_off(plan: &BenchPlan) -> Result<Option<SmtOff>, BenchError> {
    let offline = |variant: &VariantPlan| variant.policy.sibling == SiblingPolicy::Offline;
    if !plan.variants.iter().any(offline) {
        return Ok(None);
    }
    if !plan.variants.iter().all(offline) {
        return Err(BenchError::OfflineWithOthers);
    }
    // Where it is refused, each turn says so and why.
    Ok(smt::switch_off().ok())
}

fn partial_reason(done: usize, of: usize, stop: &AtomicBool) -> Option<String> {
    let why = if stop.load(Relaxed) { "interrupted" } else { "ended early" };
    (done < of).then(|| format!("{why} after {done} of {of} turns"))
}

impl BenchPlan {
    /// Rounds needed for the blocks asked for.
    pub fn rounds(&self) -> usize {
        self.blocks.div_ceil(self.blocks_per_round.max(1)).max(1) as usize
    }

    /// Turns in all.
    pub fn turns(&self) -> usize {
        self.rounds() * self.turns_per_round()
    }

    /// Those of the variants, of the twin and of the wake-up loop.
    fn turns_per_round(&self) -> usize {
        self.variants.len() + if self.alone { 0 } else { 2 }
    }

    /// What each process start does: its share of the rounds, in an order of its own. There are never more
    /// starts than rounds.
    pub fn of_starts(&self) -> Vec<BenchPlan> {
        let rounds = self.rounds();
        let starts = self.starts.clamp(1, rounds);
        let until = |start: usize| rounds * start / starts;
        let one = |start: usize| BenchPlan {
            starts: 1,
            blocks: (until(start + 1) - until(start)) as u64 * self.blocks_per_round,
            seed: self.seed.wrapping_add(start as u64),
            ..self.clone()
        };
        (0..starts).map(one).collect()
    }

    fn engine_settings(&self, variant: &VariantPlan) -> EngineSettings {
        let settings = EngineSettings::new(self.frames, self.rate_hz, variant.policy);
        let steer = if variant.auto { Steer::Auto } else { settings.steer };
        let (priority, seat_wait) = (self.priority, self.seat_wait);
        EngineSettings { priority, seat_wait, steer, couples: variant.couples, ..settings }
    }
}

fn start_variants(plan: &BenchPlan, input: &BenchInput<'_>) -> Result<Vec<Running>, BenchError> {
    if plan.variants.is_empty() {
        return Err(BenchError::NoVariant);
    }
    // Before anything is allocated for all of them: a seating that does not fit is a usage error.
    for variant in &plan.variants {
        Seating::here(input.topology, variant.policy.sibling, plan.workers)?;
    }
    let all = plan.variants.iter().map(|variant| start_variant(variant, plan, input));
    let mut all = all.collect::<Result<Vec<Running>, BenchError>>()?;
    if !plan.alone {
        let mut twin = start_variant(&plan.variants[0], plan, input)?;
        twin.record.twin = true;
        twin.record.name += TWIN;
        all.push(twin);
    }
    Ok(all)
}

fn start_variant(
    variant: &VariantPlan,
    plan: &BenchPlan,
    input: &BenchInput<'_>,
) -> Result<Running, BenchError> {
    let policy = variant.policy;
    let seating = Seating::here(input.topology, policy.sibling, plan.workers)?;
    let effect_here = seating.placement().no_effect.clone();
    let prepared = prepare_session(input.session, input.media, plan.rate_hz, Fusing::Chains)?;
    let engine = Engine::start(prepared, plan.engine_settings(variant), seating)?;
    let record = Variant {
        name: variant.to_string(),
        schedule: variant.schedule_name().into(),
        sibling: policy.sibling.name().into(),
        wait: policy.wait.name().into(),
        lanes: variant.couples != Couples::Never,
        twin: false,
        effect_here,
        refused: None,
        threads: Vec::new(),
        rounds: Vec::new(),
        disturbers: Vec::new(),
        ordinary: None,
        worst: None,
        explained: None,
        counted: None,
    };
    let watched = flight::Watched::new(plan, &engine);
    let counting =
        plan.counters.then(|| counting::Counting::new(plan.seed, plan.counters_per_kind));
    Ok(Running { engine, record, watched, counting })
}

fn assemble(
    plan: &BenchPlan,
    input: &BenchInput<'_>,
    variants: Vec<Running>,
    wake_loop: WakeLoop,
) -> BenchRecord {
    let workers = variants.iter().map(|v| v.engine.schedule().workers()).max().unwrap_or(1);
    let session = session_facts(plan, input, &variants[0].engine);
    let contained = contained(&variants);
    let lost_events = lost_events(&variants);
    let disk = disk_silence(input.media.not_ready());
    let memory = variants.iter().find_map(|variant| variant.engine.memory());
    let memory_lock = memory.and_then(|report| serde_json::to_value(report).ok());
    let memory_lock = memory_lock.unwrap_or_default();
    BenchRecord {
        format: crate::record::FORMAT.into(),
        hocket: crate::about::build(),
        command: plan.command.clone(),
        started_at: String::new(),
        finished_at: String::new(),
        partial: None,
        session,
        settings: Settings {
            frames: plan.frames,
            rate_hz: plan.rate_hz,
            workers,
            blocks_per_variant: plan.blocks,
            starts: 1,
            rounds: plan.rounds(),
            blocks_per_round: plan.blocks_per_round,
            warmup: plan.warm_up,
            seed: plan.seed,
            seat_wait: Some(plan.seat_wait.name().into()),
            disturb: plan.disturb.iter().map(ToString::to_string).collect(),
        },
        machine: crate::about::machine(input.topology),
        grants: crate::about::grants(),
        memory_lock,
        clock: crate::about::clock(),
        variants: variants.into_iter().map(Running::into_record).collect(),
        wake_loop,
        contained,
        disk,
        lost_events,
    }
}

impl Running {
    fn into_record(mut self) -> Variant {
        self.watched.tell(&mut self.record);
        self.record.counted = self.counting.map(counting::Counting::found);
        self.record
    }
}

fn session_facts(plan: &BenchPlan, input: &BenchInput<'_>, engine: &Engine) -> SessionFacts {
    let units = engine.schedule().units();
    SessionFacts {
        name: input.session.name.clone(),
        file: plan.session_file.clone(),
        content_sha256: plan.session_sha256.clone(),
        fill: plan.fill,
        tracks: input.session.tracks.len(),
        groups: input.session.groups.len(),
        returns: input.session.returns.len(),
        units: units.units().len(),
        edges: units.units().iter().map(|unit| unit.predecessors.len()).sum(),
        critical_path_units: units.critical_path().len(),
        media: crate::about::media(input.session),
    }
}

fn disk_silence(clips: Vec<NotReady>) -> Vec<DiskSilence> {
    let of_one = |clip: NotReady| {
        let gap = clip.gaps.into_iter().next();
        DiskSilence {
            file: clip.file,
            silent_frames: clip.frames,
            position: gap.as_ref().map(|gap| gap.position),
            cause: gap.map(|gap| gap.cause),
        }
    };
    merge::by_file(clips.into_iter().filter(|clip| clip.frames > 0).map(of_one))
}

fn contained(variants: &[Running]) -> Vec<Contained> {
    let all = variants.iter().flat_map(|variant| variant.engine.contained());
    merge::by_unit(all.map(|found| Contained {
        unit: found.node,
        blocks: found.not_finite,
        failed: found.failed,
        panic: found.message,
    }))
}

fn lost_events(variants: &[Running]) -> Vec<LostEvents> {
    let all = variants.iter().flat_map(|variant| variant.engine.control().lost_events());
    merge::by_node(all.map(|lost| LostEvents { node: lost.node, events: lost.events }))
}

/// The number of cores and of seats that may be used, for `--workers` and its errors.
pub fn usable(topology: &Topology) -> (usize, usize) {
    let (seats, _) = seats_of(topology);
    (seats.cores(), seats.seats.len())
}
