//! See `hocket --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use hocket::cli::Cli;

fn main() -> ExitCode {
    let code = match hocket::cli::run(Cli::parse()) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            eprintln!("hocket: {failure}");
            failure.exit.code()
        }
    };
    ExitCode::from(code)
}
