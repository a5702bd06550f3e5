//! See `hocket --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use clap::error::Error;
use hocket::Exit;
use hocket::cli::Cli;
use hocket::output::tell;
use hocket_lab::foreign;
use hocket_machine::memory::EndWithoutMemory;

#[global_allocator]
static MEMORY: EndWithoutMemory = EndWithoutMemory {
    line: "hocket: out of memory: the system grants no more; end other programs, or ask for less at once\n",
    code: Exit::NotPossible.code() as i32,
};

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => hocket::cli::run(cli).unwrap_or_else(|failure| {
            tell(&failure);
            failure.exit
        }),
        Err(error) => refused(&error),
    };
    ExitCode::from(exit.code())
}

/// Help and most refusals are printed by clap, in colour. A refusal quotes what was typed: where that must not
/// be shown as it is, it goes the way of all messages.
fn refused(error: &Error) -> Exit {
    if !error.use_stderr() {
        return hocket::output::after_printing(error.print());
    }
    let typed: Vec<_> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if typed.iter().all(|word| foreign::plain(word) == *word) {
        error.exit();
    }
    let text = error.render().to_string();
    tell(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    Exit::BadInput
}
