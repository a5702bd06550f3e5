//! Arguments, and what is said where one of them is no number or not a possible one.

use std::error::Error;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::{Command, CommandFactory, FromArgMatches};

use super::Cli;

/// The arguments of this process.
///
/// # Errors
/// Help, the version, or what is wrong: clap's own error.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = with_negative_numbers(Cli::command());
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// A value such as -1 belongs to its option, which then says what is possible. It is no option by itself.
fn with_negative_numbers(command: Command) -> Command {
    let of_option = |arg: clap::Arg| match arg.is_positional() || !arg.get_action().takes_values() {
        true => arg,
        false => arg.allow_negative_numbers(true),
    };
    command.mut_args(of_option).mut_subcommands(with_negative_numbers)
}

/// The refusal with a remedy in place of what the standard library or clap say of a number; `None` for all others.
pub fn with_remedy(error: &clap::Error) -> Option<String> {
    let cause = error.source()?;
    let said = cause.to_string();
    let remedy = remedy(cause, &said)?;
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Some(text.replacen(&format!(": {said}"), &format!(": {remedy}"), 1))
}

fn remedy(cause: &(dyn Error + 'static), said: &str) -> Option<String> {
    if cause.is::<ParseFloatError>() {
        return Some("write a number such as 12.5, without a unit".into());
    }
    if let Some(error) = cause.downcast_ref::<ParseIntError>() {
        let is_too_large =
            matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        return Some(match is_too_large {
            true => "it is larger than any number that is possible here".into(),
            false => "write a whole number such as 64, without a unit".into(),
        });
    }
    let (_, range) = said.split_once(" is not in ")?;
    let (least, most) = range.split_once("..=")?;
    // All that the type can hold says nothing of what is possible.
    let types = [u64::from(u32::MAX), i64::MAX as u64, u64::MAX].map(|most| most.to_string());
    if least == "0" && types.iter().any(|of_type| of_type == most) {
        return Some(match said.starts_with('-') {
            true => "choose 0 or more".into(),
            false => "it is larger than any number that is possible here".into(),
        });
    }
    let is_number = |text: &str| text.parse::<i128>().is_ok();
    (is_number(least) && is_number(most)).then(|| format!("choose {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        let words = ["hocket"].iter().chain(words);
        let error = with_negative_numbers(Cli::command()).try_get_matches_from(words).unwrap_err();
        with_remedy(&error).unwrap_or_else(|| error.to_string())
    }

    #[test]
    fn what_is_no_number_is_refused_with_an_example_of_one() {
        for (option, value, said) in [
            ("--length", "10s", "write a number such as 12.5, without a unit"),
            ("--length", "1,5", "write a number such as 12.5, without a unit"),
            ("--length", "", "write a number such as 12.5, without a unit"),
            ("--rate", "44.1k", "write a whole number such as 64, without a unit"),
            ("--rate", "-1", "choose 0 or more"),
            ("--frames", "9999999999", "it is larger than any number"),
            ("--frames", "99999999999999999999", "it is larger than any number"),
        ] {
            let told = refused(&["render", "a.toml", "-o", "a.wav", option, value]);
            assert!(
                told.starts_with(&format!("invalid value '{value}' for '{option} <")),
                "{told}"
            );
            assert!(told.contains(said), "{option} {value}: {told}");
        }
        let told = refused(&["bench", "a.toml", "--blocks", "0"]);
        assert!(told.contains("choose 1 to 10000000\n"), "{told}");
        let told = refused(&["lab", "run", "--time", "-1"]);
        assert!(told.contains("invalid value '-1' for '--time <TIME>'"), "{told}");
    }

    #[test]
    fn other_refusals_stay() {
        for words in [&["render"][..], &["play", "a.toml", "--lenght", "1"], &["--help"]] {
            let error = Cli::command().try_get_matches_from(["hocket"].iter().chain(words));
            assert_eq!(with_remedy(&error.unwrap_err()), None, "{words:?}");
        }
    }
}
