//! Executors on five graphs of 64-frame blocks: `cargo bench --bench executors -- [--help]`.
//!
//! Serial and parallel walk run on the same memory, in alternating blocks of one run. Efficiency =
//! (serial median / workers) / parallel median, with a bootstrap interval over stretches of the
//! run. `hot`: block after block. `paced`: a block each 1333 µs; every worker truly blocks in
//! between, as in real use. `--together` and `--random`: the serial walk, every fixed schedule and `auto` in
//! turns of one run.

use std::process::ExitCode;

use hocket_lab::executors::{Options, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` and `cargo bench` differ by this flag: without it, only prove that
    // every executor computes the same.
    let options = if args.iter().any(|arg| arg == "--bench") {
        Options::parse(&args)
    } else {
        Ok(Options::smoke())
    };
    match options {
        Ok(options) => run(&options),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
