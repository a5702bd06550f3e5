//! What a command does in another way than it was asked; each is said, with `--quiet`, too.

use std::path::Path;
use std::time::Duration;

use hocket_lab::bench::BenchPlan;
use hocket_lab::numbers::counted;
use hocket_lab::stats::MIN_ROUNDS;
use hocket_plan::session::Session;

use crate::cli::{BenchArgs, ScheduleArg, USUAL_STARTS, USUAL_TURN};
use crate::output::warn;

/// Whole turns make whole rounds, so a number of blocks may be rounded up. A turn has no more blocks than are measured, and a
/// process start has a turn at least. Few blocks are for a quick look, so only what somebody asked for is worth a word.
pub(crate) fn whole_turns(plan: &BenchPlan, asked: &BenchArgs) {
    if asked.blocks_per_round > plan.blocks_per_round && asked.blocks_per_round != USUAL_TURN {
        warn(format_args!(
            "--blocks-per-round {}: a turn has {} blocks, because --blocks measures no more",
            asked.blocks_per_round, plan.blocks_per_round
        ));
    }
    let rounds = plan.rounds();
    if plan.starts > rounds && asked.starts != USUAL_STARTS {
        warn(format_args!(
            "--starts {}: {} of the program, because each needs a turn; choose more --blocks or fewer \
             --blocks-per-round",
            asked.starts,
            counted(rounds, "start")
        ));
    }
    let measured = plan.rounds() as u64 * plan.blocks_per_round;
    if measured != asked.blocks {
        warn(format_args!(
            "--blocks {}: {measured} blocks are measured, whole turns of {}; choose a multiple, or set \
             --blocks-per-round",
            asked.blocks, plan.blocks_per_round
        ));
    }
}

/// The serial schedule has one worker, however many are asked for.
pub(crate) fn serial_workers(workers: Option<usize>, schedules: &[ScheduleArg]) {
    if let Some(workers) = workers.filter(|workers| *workers > 1)
        && schedules.contains(&ScheduleArg::Serial)
    {
        warn(format_args!(
            "--workers {workers}: the schedule serial runs on 1 worker; choose another schedule to use them"
        ));
    }
}

/// The length of blocks is part of the sound where a session feeds back.
pub(crate) fn feedback(session: &Session, frames: u32, rate_hz: u32) {
    let ids = session.strip_ids();
    if !ids.iter().any(|id| session.strip(*id).sends.iter().any(|send| send.feedback)) {
        return;
    }
    let ms = |frames: u32| f64::from(frames) * 1e3 / f64::from(rate_hz);
    match session.feedback_frames(rate_hz) {
        0 => warn(format_args!(
            "sends that feed back arrive one block later: {frames} frames, {:.1} ms; feedback_s in [session] makes \
             that alike for all block lengths",
            ms(frames)
        )),
        wanted if wanted < frames => warn(format_args!(
            "sends that feed back arrive {:.1} ms later and not {:.1}: a block has {frames} frames; choose --frames \
             {wanted} or less",
            ms(frames),
            ms(wanted)
        )),
        _ => {}
    }
}

/// What measures runs a session again and again, and takes never replace a file: it records none.
pub(crate) fn takes_left_out(file: &Path, session: &Session, what: &str) {
    let takes = match session.takes.iter().filter(|take| take.armed).count() {
        0 => return,
        1 => "its armed take is".into(),
        armed => format!("its {armed} armed takes are"),
    };
    warn(format_args!(
        "{}: {what} records nothing, so {takes} left out; use `hocket play` or `hocket render` to record",
        file.display()
    ));
}

/// Said before a run begins: it measures, and has too few rounds for a verdict.
pub(crate) fn too_short(asked: Duration, enough: Duration) {
    if asked < enough {
        warn(format_args!(
            "--time {asked:?}: this is too short to tell; about {:.0} s are enough for the {MIN_ROUNDS} rounds that a \
             verdict of each experiment needs",
            enough.as_secs_f64().ceil()
        ));
    }
}

/// Every experiment measures at least one round, however short the time is.
pub(crate) fn time_taken(asked: Option<Duration>, taken: Duration, remedy: &str) {
    if let Some(asked) = asked.filter(|asked| taken > asked.mul_f64(1.25)) {
        warn(format_args!(
            "--time {asked:?}: the run took {:.0} s, since every experiment measures at least one round of each \
             variant; {remedy}",
            taken.as_secs_f64()
        ));
    }
}
