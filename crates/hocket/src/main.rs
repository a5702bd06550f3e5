//! See `hocket --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::error::Error;
use hocket::Exit;
use hocket::cli;
use hocket::output::tell;
use hocket_lab::foreign;
use hocket_machine::memory::EndWithoutMemory;

#[global_allocator]
static MEMORY: EndWithoutMemory = EndWithoutMemory {
    line: "hocket: out of memory: the system grants no more; end other programs, or ask for less at once\n",
    code: Exit::NotPossible.code() as i32,
};

fn main() -> ExitCode {
    let exit = match cli::parse() {
        Ok(arguments) => cli::run(arguments).unwrap_or_else(|failure| {
            if !failure.message.is_empty() {
                tell(&failure);
            }
            failure.exit
        }),
        Err(error) => refused(&error),
    };
    ExitCode::from(exit.code())
}

/// Help and most refusals are printed by clap, in colour. A refusal quotes what was typed: where that must not
/// be shown as it is, it goes the way of all messages. So do refusals of numbers, which say what is possible.
fn refused(error: &Error) -> Exit {
    if !error.use_stderr() {
        return hocket::output::after_printing(error.print());
    }
    if let Some(text) = cli::with_remedy(error) {
        tell(text);
        return Exit::BadInput;
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
