//! What an earlier run left: changes of the whole machine, and folders of a killed run.
//!
//! SMT that was switched off and CPUs that were set apart are put back however a run ends, by a process that waits for
//! its end. Only where that one was killed too is something left; then the next start says so, and
//! `hocket machine --restore` puts it back.
//!
//! A temporary folder goes with its run, unless that is killed. The next start removes it, and says so.

use std::path::{Path, PathBuf};

use hocket_files::remove_dead_folders;
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

/// Tells on standard error what was left and what helps; removes temporary folders that nobody needs any more.
pub fn warn() {
    for left in found() {
        crate::output::tell(format_args!("{left}: {REMEDY}"));
    }
    let temporary = std::env::temp_dir();
    let prefixes = [
        crate::load::project::PREFIX,
        crate::lab::RENDER_PREFIX,
        hocket_lab::disturb::PREVIEW_PREFIX,
        hocket_lab::experiments::folder::FILES_PREFIX,
        hocket_lab::experiments::kernel::KERNEL_FILES_PREFIX,
        hocket_lab::guest::tools::BUILD_PREFIX,
    ];
    prefixes.iter().for_each(|prefix| remove_dead(&temporary, prefix));
    let on_disk = Path::new(hocket_lab::experiments::folder::ON_DISK);
    if on_disk != temporary {
        remove_dead(on_disk, hocket_lab::experiments::folder::FILES_PREFIX);
    }
}

/// Removes the folders of this prefix whose runs were killed, and says which.
pub(crate) fn remove_dead(below: &Path, prefix: &str) {
    tell_removed(remove_dead_folders(below, prefix));
}

/// Says what was removed.
pub(crate) fn tell_removed(removed: Vec<PathBuf>) {
    for path in removed {
        let path = path.display();
        crate::output::note(format_args!("removed {path}, which a killed run left unfinished"));
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
