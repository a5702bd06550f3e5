//! Checks on a running kernel whether the sibling policies do what they say.
//!
//! While a worker works, does a busy thread that is not the engine's run on the other seat of its
//! core? For each policy the probe plays some blocks, keeps such a thread on every CPU, and compares
//! when units ran with when the others ran, CPU by CPU. The answer is a share of time, and the
//! table in `expect.rs` says what it has to be.
//!
//! It is made for a small virtual machine, where it is the first process (`ci/smt-vm`): it needs real-time
//! rights, two seats a core and a machine to itself. Elsewhere `smt_probe check` shows what is possible.
#![forbid(unsafe_code)]

mod init;
mod check;
mod expect;
mod play;
mod strangers;
mod kernel;
mod switch;
mod suites;
mod stretch;
mod watch;
mod threads;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        policies if std::process::id() == 1 => init::run(policies),
        ["check", policies @ ..] => check::run(policies),
        ["switch-off"] => switch::serve(),
        ["strangers", cpus @ ..] => strangers::serve(cpus),
        _ => {
            eprintln!(
                "usage: smt_probe check; with no word it wants to be a machine's first process"
            );
            ExitCode::from(2)
        }
    }
}
