//! What an earlier run left changed for the whole machine: SMT switched off, CPUs set apart.
//!
//! Both are put back however a run ends, by a process that waits for its end. Only where that one was
//! killed too is something left; then the next start says so, and `hocket machine --restore` puts it back.

use hocket_machine::partition::Cgroups;
use hocket_machine::smt;

use crate::failure::Failure;

const REMEDY: &str = "`hocket machine --restore` puts it back";

/// One sentence for each thing that was left.
pub fn found() -> Vec<String> {
    let smt = smt::left_behind()
        .map(|left| format!("SMT was switched off by process {}, which is gone", left.process()));
    let groups = Cgroups::live().left_behind().into_iter();
    let groups = groups.map(|left| {
        let (path, process) = (left.path().display(), left.process());
        format!("CPUs are set apart in {path} by process {process}, which is gone")
    });
    smt.into_iter().chain(groups).collect()
}

/// Tells on standard error what was left and what helps.
pub fn warn() {
    for left in found() {
        crate::output::tell(format_args!("{left}: {REMEDY}"));
    }
}

/// Puts everything back; returns what was done, a sentence each.
///
/// # Errors
/// Where the system refuses, with what is still left.
pub fn restore() -> Result<Vec<String>, Failure> {
    let mut done = Vec::new();
    if let Some(left) = smt::left_behind() {
        let state = left.restore().map_err(Failure::not_possible)?;
        done.push(format!("SMT is {} again", state.control));
    }
    for left in Cgroups::live().left_behind() {
        let path = left.path().display().to_string();
        left.restore().map_err(Failure::not_possible)?;
        done.push(format!("{path} is gone, its CPUs are everybody's again"));
    }
    Ok(done)
}
