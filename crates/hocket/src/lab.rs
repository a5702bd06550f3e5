//! `hocket lab`: experiments, their records and what these show.

mod args;
mod names;
mod run;
mod guests;
mod list;
mod explain;
mod report;
mod pictures;
mod compare;
mod historic;
mod condition;
#[cfg(test)]
mod gate_noise;
mod rows;
mod plan;
mod part;
mod job;
mod merge;

pub use args::LabArgs;
pub(crate) use args::duration;
pub(crate) use job::RENDER_PREFIX;
pub(crate) use part::name_killed_in;
pub(crate) use run::measure_job;

use std::io::LineWriter;
use std::path::Path;

use hocket_files::StandardOutput;
use hocket_lab::store::{Store, StoreError};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::failure::{Exit, Failure};
use args::LabCommand;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &LabArgs) -> Result<Exit, Failure> {
    match &args.command {
        LabCommand::List(args) => list::run(args),
        LabCommand::Explain(args) => explain::run(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Report(args) => report::run(args),
        LabCommand::Compare(args) => compare::run(args),
        LabCommand::Export(args) => rows::export(args),
        LabCommand::Query(args) => rows::query(args),
        LabCommand::Plan(args) => plan::run(args),
        LabCommand::Merge(args) => merge::run(args),
        LabCommand::Child => child(),
    }
}

/// One process start of an experiment, told on standard output. It ends with its parent, and its guests end with it.
fn child() -> Result<Exit, Failure> {
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(Failure::not_possible)?;
    let (input, output) = (std::io::stdin().lock(), LineWriter::new(StandardOutput));
    hocket_lab::harness::child::serve(input, output).map_err(Failure::bad_input)?;
    Ok(Exit::Done)
}

/// Of a command that prints what it finds there.
pub(crate) fn open(path: &Path) -> Result<Store, Failure> {
    crate::files::check_prints("the record file", path)?;
    Store::open(path).map_err(failure)
}

/// Bad input, or not possible here.
pub(crate) fn failure(error: StoreError) -> Failure {
    match error.is_bad_input() {
        true => Failure::bad_input(error),
        false => Failure::not_possible(error),
    }
}
