//! What is played: one variant, or two that stand one under the other.

use super::format::Format;
use crate::cli::{LanesArg, ScheduleArg, SiblingChoice, TraceArgs, WaitArg};
use crate::failure::Failure;

/// How a session is played. `None`: as the machine profile says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variant {
    pub schedule: Option<ScheduleArg>,
    pub policy: SiblingChoice,
    pub wait: Option<WaitArg>,
    pub lanes: LanesArg,
}

/// One variant, or two that differ in one thing.
///
/// # Errors
/// More than two, or two for a format that shows one: exit code 2.
pub(super) fn of(args: &TraceArgs, format: Format) -> Result<Vec<Variant>, Failure> {
    let lists = [
        ("--schedule", args.schedule.len()),
        ("--policy", args.policy.len()),
        ("--wait", args.wait.len()),
        ("--lanes", args.lanes.len()),
    ];
    if let Some((option, values)) = lists.into_iter().find(|(_, values)| *values > 2) {
        return Err(Failure::bad_input(format!(
            "{option} has {values} values, and a trace shows two; `hocket bench` compares more"
        )));
    }
    let mut twos = lists.into_iter().filter(|(_, values)| *values == 2).map(|(option, _)| option);
    if let (Some(one), Some(other)) = (twos.next(), twos.next()) {
        return Err(Failure::bad_input(format!(
            "{one} and {other} both have two values; two traces differ in one thing, or nobody knows what made the \
             difference: give one of them a single value"
        )));
    }
    let one = |at: usize| Variant {
        schedule: at_or_last(&args.schedule, at),
        // clap has a default for it, and for lanes.
        policy: at_or_last(&args.policy, at).unwrap_or(SiblingChoice::Auto),
        wait: at_or_last(&args.wait, at),
        lanes: at_or_last(&args.lanes, at).unwrap_or(LanesArg::Off),
    };
    match lists.into_iter().find(|(_, values)| *values == 2) {
        None => Ok(vec![one(0)]),
        Some((option, _)) if format != Format::Page => Err(Failure::bad_input(format!(
            "{option} has two values, and only a page shows two traces; name a file that ends in .html, or one value"
        ))),
        Some((option, _)) if one(0) == one(1) => Err(Failure::bad_input(format!(
            "{option} has the same value twice; name two that differ"
        ))),
        Some(_) => Ok(vec![one(0), one(1)]),
    }
}

fn at_or_last<T: Copy>(values: &[T], at: usize) -> Option<T> {
    values.get(at).or(values.last()).copied()
}
