//! The project's own checks: who may depend on whom, where `unsafe` may stand, and which words
//! and paths no file may hold, and where links lead; and the C header, which is made of the sources of hocket-c.
//!
//! `cargo run -q -p xtask -- check` runs them all. Each finding is one line: place, what is wrong,
//! the rule's name, and what to do about it. Exit codes: 0 nothing found, 1 findings,
//! 2 bad usage, 3 a check could not run here.
#![forbid(unsafe_code)]

mod cli;
mod finding;
mod deps;
mod safety;
mod block_path;
mod words;
mod links;
mod header;
mod repo;
mod manifest;
mod tokens;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(cli::Command::Help) => {
            print!("{}", cli::HELP);
            ExitCode::SUCCESS
        }
        Ok(cli::Command::Header(root)) => write_header(&root),
        Ok(cli::Command::Site(root)) => gather_site(&root),
        Ok(cli::Command::Run { checks, root }) => run(&checks, &root),
        Err(message) => {
            eprintln!("xtask: {message}\n\n{}", cli::HELP);
            ExitCode::from(2)
        }
    }
}

fn write_header(root: &std::path::Path) -> ExitCode {
    match header::write(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask header: cannot run: {message}");
            ExitCode::from(3)
        }
    }
}

/// The pages of the site in `target/site/src`, where `book.toml` looks for them.
fn gather_site(root: &std::path::Path) -> ExitCode {
    let folder = root.join("target/site/src");
    match links::gather(root, &folder) {
        Ok(count) => {
            println!("xtask site: {count} files in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask site: cannot run: {message}");
            ExitCode::from(3)
        }
    }
}

/// Runs the checks in order, prints what they find and returns the worst outcome.
fn run(checks: &[cli::Check], root: &std::path::Path) -> ExitCode {
    let mut worst = 0;
    for check in checks {
        worst = worst.max(match check.run(root) {
            Ok(findings) => finding::report(check.name(), &findings),
            Err(message) => {
                eprintln!("xtask {}: cannot run: {message}", check.name());
                3
            }
        });
    }
    ExitCode::from(worst)
}
