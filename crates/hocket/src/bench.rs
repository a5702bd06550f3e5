//! `hocket bench`: checks what was asked for, measures it in several starts of this program, shows the result.

mod fill;
mod copies;
mod start;

use std::path::Path;

pub(crate) use start::{Start, preview};

use hocket_engine::{Couples, Policy, SeatSpeeds, Seating};
use hocket_lab::bench::{BenchPlan, VariantPlan};
use hocket_lab::disturb::{DisturbError, DisturbSpec, Load, Where};
use hocket_lab::record::BenchRecord;
use hocket_lab::report::{Baseline, Misfit, baseline_misfit};
use hocket_machine::Topology;
use hocket_plan::SiblingPolicy;
use hocket_plugins::isolate::Pace;

use crate::cli::{BenchArgs, Fill, MOST_BLOCKS, ScheduleArg, SiblingChoice, WaitArg};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::OpenedSession;
use crate::output::{bar, note, print, print_json, tell};
use crate::profile::Known;
use crate::written::{Parts, wrote};

/// Blocks thrown away at the start of each turn: caches, branch predictors and the workers' first
/// wake-ups settle within some tens.
const WARM_UP: u64 = 50;

/// A rate that every session may have, where a block length is checked before the session's own rate is known.
pub(crate) const ANY_RATE_HZ: u32 = 48_000;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    if let Some(parent) = args.start_of {
        return start::serve(args, parent);
    }
    check_waits("--wait", &args.wait)?;
    check_waits("--seat-wait", &[args.seat_wait])?;
    let topology = crate::load::topology()?;
    check_numbers(args, &topology)?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let project = args.project.with(args.strict);
    let mut opened = OpenedSession::open_as(&args.session, args.rate, &topology, project)?;
    let files = check_files(args, &opened)?;
    let mut plan = plan(args, &opened, &known, &topology)?;
    // A name that no plug-in has is refused now.
    let isolated = (Pace::RealTime, plan.frames, plan.priority);
    crate::plugin::isolated::set_up(&args.isolate, opened.session(), isolated)?;
    place(&mut plan.disturb, &topology);
    check_seats(&plan, &topology)?;
    // A pipe may keep it waiting, which Ctrl-C still ends by itself.
    let baselines = args.baseline.iter().map(BenchRecord::read);
    let baselines: Vec<_> = baselines.collect::<Result<_, _>>().map_err(Failure::bad_input)?;
    let stop = crate::interrupt::flag()?;
    let mut filled = args.clone();
    fill::fill(&mut filled, &plan, &mut opened, &stop)?;
    let args = &filled;
    plan.session_sha256 = content(args, &opened);
    plan.fill = match args.fill {
        Some(Fill::Effects(effects)) => Some(effects),
        _ => None,
    };
    check_baselines(args, &baselines, &plan, &topology)?;
    files.make_folders()?;
    crate::notes::whole_turns(&plan, args);
    crate::notes::serial_workers(args.workers, &args.schedule);
    crate::notes::takes_left_out(&args.session, opened.session(), "a benchmark");
    let mut parts = Parts::default();
    parts.end("checking");
    let Measured { record, failure } = measure(&plan, args, &opened, &stop)?;
    parts.end("measuring");
    print_result(&record, args.json)?;
    let gate = (!baselines.is_empty()).then(|| gate(&baselines, &record, args));
    write_results(&record, args.record.as_deref(), args.report.as_deref())?;
    parts.end("results");
    parts.tell();
    let ended = match failure {
        Some(failure) => Err(failure),
        None => Ok(exit(&record, args)),
    };
    match (ended, gate) {
        (Ok(Exit::Done), Some(gate)) => gate,
        (ended, Some(Err(why))) => {
            // The exit code is another one, but a gate that did not judge is no gate that passed.
            tell(why);
            ended
        }
        (ended, _) => ended,
    }
}

/// A digest of the session file, of all that it names besides audio, which the record names by itself, and of what fills it.
/// `None` where it cannot be read again.
pub(crate) fn content(args: &BenchArgs, opened: &OpenedSession) -> Option<String> {
    let digest = hocket_lab::about::digest;
    let text = match opened.streamed_text() {
        Some(text) => hocket_lab::about::digest_of(text),
        None => digest(&args.session)?,
    };
    let media = &opened.session().media;
    let rest = opened.sources().filter(|path| media.iter().all(|media| media.path != *path));
    let rest: Vec<String> = rest.map(|path| digest(&path)).collect::<Option<_>>()?;
    let filled = args.fill.map(|fill| format!("{fill:?}")).unwrap_or_default();
    Some(if rest.is_empty() && filled.is_empty() {
        text
    } else {
        hocket_lab::about::digest_of(&(text + &rest.concat() + &filled))
    })
}

/// Refuses records that cannot be compared with, before anything is measured.
fn check_baselines(
    args: &BenchArgs,
    records: &[BenchRecord],
    plan: &BenchPlan,
    topology: &Topology,
) -> Result<(), Failure> {
    if records.is_empty() {
        return Ok(());
    }
    let machine = hocket_lab::about::machine(topology);
    match baseline_misfit(records, plan, &machine) {
        Some(misfit) => Err(not_judged(args, misfit)),
        None => Ok(()),
    }
}

fn not_judged(args: &BenchArgs, Misfit { at, why }: Misfit) -> Failure {
    let path = args.baseline.get(at).map(|path| path.display().to_string()).unwrap_or_default();
    Failure::bad_input(format!("--baseline {path}: {why}"))
}

/// Prints what changed, and says whether that is a failure.
fn gate(
    baselines: &[BenchRecord],
    record: &BenchRecord,
    args: &BenchArgs,
) -> Result<Exit, Failure> {
    let changes = Baseline::of(baselines, record).map_err(|misfit| not_judged(args, misfit))?;
    if !args.json {
        print(&changes.text());
    }
    if let Some(why) = changes.undecided() {
        return Err(not_judged(args, Misfit { at: 0, why }));
    }
    let slower = changes.slower(args.max_slower);
    slower.iter().for_each(tell);
    Ok(if slower.is_empty() { Exit::Done } else { Exit::Missed })
}

/// What can be refused without the session, so that no project is unpacked for it.
pub(crate) fn check_numbers(args: &BenchArgs, topology: &Topology) -> Result<(), Failure> {
    check_block(args.frames, args.rate.unwrap_or(ANY_RATE_HZ))?;
    if let Some(asked) = &args.disturb {
        check_cpus(&DisturbSpec::parse_list(asked).map_err(Failure::bad_input)?, topology)?;
    }
    let named = |choice: &SiblingChoice| match choice {
        SiblingChoice::Policy(policy) => Some(*policy),
        _ => None,
    };
    let mut policies = args.policy.iter().filter_map(named);
    policies.try_for_each(|policy| check_workers(args.workers, policy, topology))
}

/// More workers than the policy has seats for.
pub(crate) fn check_workers(
    workers: Option<usize>,
    policy: SiblingPolicy,
    topology: &Topology,
) -> Result<(), Failure> {
    let seats = Seating::here_with(topology, policy, workers, &SeatSpeeds::default());
    seats.map(drop).map_err(Failure::bad_input)
}

fn check_files(args: &BenchArgs, opened: &OpenedSession) -> Result<Files, Failure> {
    let mut files = Files::new(args.force);
    files.reads_session(&args.session, opened.sources());
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    args.baseline.iter().for_each(|path| files.reads("the baseline", path));
    files.prints()?;
    if let Some(path) = &args.record {
        files.writes("--record", path, Kind::Record)?;
    }
    if let Some(path) = &args.report {
        files.writes("--report", path, Kind::Page)?;
    }
    Ok(files)
}

/// Prints the result before anything is written, so that no full disk can take it away.
fn print_result(record: &BenchRecord, json: bool) -> Result<(), Failure> {
    if json {
        let mut json = Vec::new();
        record.write_json(&mut json).map_err(Failure::not_possible)?;
        print_json(&String::from_utf8_lossy(&json));
    } else {
        print(&hocket_lab::report::text_table(record));
    }
    Ok(())
}

/// Writes the record and the page, each also where the other one cannot be written.
///
/// # Errors
/// Of the record, else of the page.
pub(crate) fn write_results(
    record: &BenchRecord,
    record_path: Option<&Path>,
    page_path: Option<&Path>,
) -> Result<(), Failure> {
    let kept =
        record_path.map_or(Ok(()), |path| crate::keep::record(record, path).map(|()| wrote(path)));
    let page = page_path.map_or(Ok(()), |path| crate::report::write_page(record, path));
    if let (Err(_), Err(why)) = (&kept, &page) {
        tell(why);
    }
    kept.and(page)
}

/// More workers than seats are refused before anything is loaded for them.
pub(crate) fn check_seats(plan: &BenchPlan, topology: &Topology) -> Result<(), Failure> {
    let mut policies = plan.variants.iter().map(|variant| variant.policy.sibling);
    policies.try_for_each(|policy| check_workers(plan.workers, policy, topology))
}

fn exit(record: &BenchRecord, args: &BenchArgs) -> Exit {
    if record.partial.as_deref().is_some_and(|why| why.starts_with("interrupted")) {
        return Exit::Interrupted;
    }
    let worst = record.variants.iter().map(|variant| variant.misses().total()).max().unwrap_or(0);
    if args.max_misses.is_some_and(|most| worst > most) { Exit::Missed } else { Exit::Done }
}

/// The plan that the arguments ask for.
pub(crate) fn plan(
    args: &BenchArgs,
    opened: &OpenedSession,
    known: &Known,
    topology: &Topology,
) -> Result<BenchPlan, Failure> {
    let schedules = asked_or(&args.schedule, |asked| known.schedule_or(asked, args.frames));
    let waits = asked_or(&args.wait, |asked| known.wait_or(asked, args.frames));
    let mut variants = Vec::new();
    for schedule in &schedules {
        for sibling in &args.policy {
            let sibling = known.policy(*sibling, args.frames, topology, None);
            let waits =
                waits.iter().flat_map(|wait| args.lanes.iter().map(move |lanes| (wait, lanes)));
            for (wait, lanes) in waits {
                let policy = Policy { schedule: schedule.kind(), sibling, wait: *wait };
                let (auto, couples) = (*schedule == ScheduleArg::Auto, Couples::from(*lanes));
                let variant = VariantPlan { policy, auto, couples };
                if !variants.contains(&variant) {
                    variants.push(variant);
                }
            }
        }
    }
    let priority = (args.priority > 0).then_some(args.priority);
    check_block(args.frames, opened.rate_hz())?;
    let blocks_per_round = args.blocks_per_round.min(args.blocks);
    Ok(BenchPlan {
        seat_wait: args.seat_wait.into(),
        variants,
        frames: args.frames,
        rate_hz: opened.rate_hz(),
        workers: args.workers,
        priority,
        starts: usize::from(args.starts),
        blocks: possible_blocks(args.blocks, blocks_per_round),
        blocks_per_round,
        warm_up: WARM_UP,
        seed: args.seed.unwrap_or_else(seed_from_clock),
        disturb: disturbers(args.disturb.as_deref(), opened)?,
        counters: args.counters || args.counters_per_kind,
        counters_per_kind: args.counters_per_kind,
        command: command(),
        session_file: args.session.display().to_string(),
        session_sha256: None,
        fill: None,
        alone: args.copies.is_some(),
    })
}

/// One for each that was asked for, or the one that is used if nobody asks.
fn asked_or<A: Copy, T>(asked: &[A], resolve: impl Fn(Option<A>) -> T) -> Vec<T> {
    match asked {
        [] => vec![resolve(None)],
        _ => asked.iter().map(|one| resolve(Some(*one))).collect(),
    }
}

/// As it can be typed again: the program by its name, wherever it lies here.
pub(crate) fn command() -> Vec<String> {
    std::iter::once("hocket".to_owned()).chain(std::env::args().skip(1)).collect()
}

pub(crate) fn check_block(frames: u32, rate_hz: u32) -> Result<(), Failure> {
    let policy = Policy {
        schedule: hocket_plan::ScheduleKind::Serial,
        sibling: hocket_plan::SiblingPolicy::Off,
        wait: hocket_engine::Strategy::Hybrid,
    };
    let settings = hocket_engine::Settings::new(frames, rate_hz, policy);
    settings.check().map_err(Failure::bad_input)
}

/// Whole turns may be more than was asked for, but no more than can be asked for: a start of this program is asked like this one.
fn possible_blocks(asked: u64, a_turn: u64) -> u64 {
    let measured = asked.next_multiple_of(a_turn);
    if measured > MOST_BLOCKS { asked / a_turn * a_turn } else { asked }
}

/// A wait that this CPU does not have would be measured under a name that is not its own.
pub(crate) fn check_waits(flag: &str, waits: &[WaitArg]) -> Result<(), Failure> {
    for wait in waits {
        let wait = hocket_engine::Strategy::from(*wait);
        if let Some(why) = wait.missing() {
            let here: Vec<_> = hocket_engine::Strategy::here().map(|wait| wait.name()).collect();
            return Err(Failure::not_possible(format!(
                "{flag} {wait}: not possible here: {why}; choose among {}",
                here.join(", ")
            )));
        }
    }
    Ok(())
}

pub(crate) fn disturbers(
    asked: Option<&str>,
    opened: &OpenedSession,
) -> Result<Vec<DisturbSpec>, Failure> {
    let has_preview = opened.session().preview.is_some();
    let usual = if has_preview { "preview" } else { "none" };
    let specs = DisturbSpec::parse_list(asked.unwrap_or(usual)).map_err(Failure::bad_input)?;
    match !has_preview && specs.iter().any(|spec| spec.load == Load::Preview) {
        true => Err(Failure::bad_input(DisturbError::NoPreviewFile)),
        false => Ok(specs),
    }
}

/// Without siblings, what is meant for them runs anywhere: it stays a load beside the engine, and the record names
/// it as what it is.
pub(crate) fn place(specs: &mut [DisturbSpec], topology: &Topology) {
    let cpus = hocket_lab::bench::seat_cpus(topology);
    for spec in specs.iter_mut().filter(|spec| spec.place == Where::Siblings) {
        if cpus.siblings.is_empty() {
            let asked = spec.to_string();
            spec.place = Where::Anywhere;
            note(format_args!(
                "disturber '{asked}': no two seats share a core here, so there are no siblings; \
                 it runs on any CPU instead, as '{spec}'"
            ));
        }
    }
}

/// A CPU that is not there is refused.
pub(crate) fn check_cpus(specs: &[DisturbSpec], topology: &Topology) -> Result<(), Failure> {
    let cpus = hocket_lab::bench::seat_cpus(topology);
    for spec in specs {
        if let Where::Cpu(cpu) = spec.place
            && !cpus.first.contains(&cpu)
            && !cpus.siblings.contains(&cpu)
        {
            return Err(Failure::bad_input(format!(
                "disturber '{spec}': CPU {cpu} is not there or not allowed to this process; \
                 `hocket machine` shows which are"
            )));
        }
    }
    Ok(())
}

fn seed_from_clock() -> u64 {
    hocket_machine::clock::monotonic_ns()
}

/// What a bench has come to.
pub(crate) struct Measured {
    /// Everything that was measured.
    pub(crate) record: BenchRecord,
    /// Why it ended early, if not by the user.
    pub(crate) failure: Option<Failure>,
}

/// Measures start after start with a progress bar; the terminal is touched between turns only.
///
/// # Errors
/// [`Failure`], where nothing at all was measured.
pub(crate) fn measure(
    plan: &BenchPlan,
    args: &BenchArgs,
    opened: &OpenedSession,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Measured, Failure> {
    let starts = plan.of_starts();
    let bar = bar(plan.turns() as u64, "measuring");
    let (mut records, mut cut, mut failure) = (Vec::new(), None, None);
    let mut before = 0;
    for (index, one) in starts.iter().enumerate() {
        let place = (index, starts.len());
        let start = start::Start { plan: one, args, text: opened.streamed_text(), place };
        let ended = start.run(stop, &bar, before);
        before += one.turns() as u64;
        records.extend(ended.record);
        match ended.failure {
            None => continue,
            Some(why) if why.exit == Exit::Interrupted => cut = Some(why.message),
            Some(why) => {
                cut = Some(format!("process start {} of {} ended early", index + 1, starts.len()));
                failure = Some(why);
            }
        }
        break;
    }
    bar.finish_and_clear();
    match hocket_lab::bench::merge(plan, records, cut.as_deref()) {
        Some(record) => Ok(Measured { record, failure }),
        None => Err(failure.unwrap_or(Failure {
            exit: Exit::Interrupted,
            message: "interrupted before anything was measured".into(),
        })),
    }
}
