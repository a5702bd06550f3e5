//! `hocket lab run --guest`: programs of the user's.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_lab::experiments::{affinity_guest, guest};
use hocket_lab::guest::words;
use hocket_lab::harness::{Budget, ExperimentRun, Fault};
use hocket_lab::store::RunRecord;

use super::args::RunArgs;
use crate::failure::Failure;
use crate::output::note;

/// The experiments that are asked for: with a program those that measure it, else those that need none.
pub(super) fn experiments(args: &RunArgs) -> Result<Vec<String>, Failure> {
    let ids = &args.ids;
    let Some(command) = &args.guest else {
        return match ids.iter().find(|id| [guest::ID, affinity_guest::ID].contains(&id.as_str())) {
            None => Ok(ids.clone()),
            Some(id) => {
                let example = match id.as_str() {
                    guest::ID => "hocket lab run --guest ./program",
                    _ => "hocket lab run affinity --guest ./program",
                };
                Err(Failure::bad_input(format!("{id} needs a program; name one: `{example}`")))
            }
        };
    };
    words::of(command).map_err(|why| Failure::bad_input(format!("--guest: {why}")))?;
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    match names.as_slice() {
        [] | [guest::ID] => Ok(vec![guest::ID.into()]),
        ["affinity" | affinity_guest::ID] => Ok(vec![affinity_guest::ID.into()]),
        _ => Err(Failure::bad_input(format!(
            "--guest is for `affinity` alone, or for no experiment, and these are named: {}",
            names.join(", ")
        ))),
    }
}

/// Starts the program once, so that what is wrong with it is said before anything is measured.
pub(super) fn ask_for(args: &RunArgs, budget: Budget, stop: &AtomicBool) -> Result<(), Failure> {
    let Some(command) = &args.guest else { return Ok(()) };
    let command =
        words::of(command).map_err(|why| Failure::bad_input(format!("--guest: {why}")))?;
    // Relaxed: nothing is published with the flag.
    let is_ending = || stop.load(Relaxed);
    let refused = |why: Fault| match is_ending() {
        true => Failure::interrupted(),
        false => Failure::not_possible(format!("--guest: {why}")),
    };
    if args.ids.iter().any(|id| id.starts_with("affinity")) {
        let once = affinity_guest::ask_for(command, &is_ending).map_err(refused)?;
        return check_time(once, budget);
    }
    guest::ask_for(command, &is_ending).map_err(refused)
}

/// What a program did wrong while it was measured. What was measured before is kept.
pub(super) fn check(args: &RunArgs, record: &RunRecord) -> Result<(), Failure> {
    let measured =
        |run: &&ExperimentRun| [guest::ID, affinity_guest::ID].contains(&run.id.as_str());
    let mut runs = record.experiments.iter().filter(measured);
    let wrong = |run: &ExperimentRun| {
        let refused = run.not_measurable.clone();
        refused.or_else(|| run.faults.first().map(|fault| format!("{}: {fault}", run.id)))
    };
    match args.guest.as_ref().and_then(|_| runs.find_map(wrong)) {
        Some(why) => Err(Failure::not_possible(format!(
            "--guest: {why}; what was measured before is kept, `hocket lab report --all` prints it"
        ))),
        None => Ok(()),
    }
}

/// A verdict needs rounds, and a round needs time.
fn check_time(once: Duration, budget: Budget) -> Result<(), Failure> {
    let (Budget::Each(given) | Budget::All(given)) = budget;
    let needed = once * affinity_guest::MOST_TURNS;
    let minutes = (needed.as_secs_f64() / 60.0 * 1.2).ceil().max(1.0);
    let seconds = once.as_secs_f64();
    // A process start waits twice as long as its time and a while longer; it needs a round of four turns.
    if once * 4 > given * 2 / 3 + Duration::from_secs(8) {
        return Err(Failure::bad_input(format!(
            "one run of the command took {seconds:.1} s, so there is no time for a round; give --time {minutes}m"
        )));
    }
    if needed > given {
        note(format_args!(
            "one run of the command took {seconds:.1} s; for a verdict give --time {minutes}m"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn asked(line: &str) -> Result<Vec<String>, Failure> {
        let words = words::of(line).unwrap();
        let cli = Cli::try_parse_from(words).unwrap();
        let Command::Lab(args) = cli.command else { panic!("another command") };
        let super::super::args::LabCommand::Run(args) = args.command else { panic!("another") };
        experiments(&args)
    }

    #[test]
    fn a_program_belongs_to_experiments_that_measure_one() {
        for (line, expected) in [
            ("hocket lab run wake pi", vec!["wake", "pi"]),
            ("hocket lab run --guest ./a", vec!["guest"]),
            ("hocket lab run guest --guest './a 1'", vec!["guest"]),
            ("hocket lab run affinity --guest xz", vec!["affinity-guest"]),
            ("hocket lab run affinity", vec!["affinity"]),
        ] {
            assert_eq!(asked(line).unwrap(), expected, "{line}");
        }
        for (line, words) in [
            ("hocket lab run guest", "needs a program"),
            ("hocket lab run affinity-guest wake", "hocket lab run affinity --guest"),
            ("hocket lab run wake --guest ./a", "for `affinity` alone"),
            ("hocket lab run --guest \"'a\"", "does not end"),
            ("hocket lab run --guest ''", "no command"),
        ] {
            let why = asked(line).unwrap_err();
            assert!(why.message.contains(words), "{line}: {why}");
        }
    }

    #[test]
    fn long_commands_need_time() {
        let second = Duration::from_secs(1);
        assert!(check_time(second, Budget::Each(second * 60)).is_ok());
        let refused = check_time(second * 60, Budget::Each(second * 8)).unwrap_err();
        assert!(refused.message.contains("give --time 29m"), "{refused}");
    }
}
