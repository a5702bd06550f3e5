//! What an earlier run left: changes of the whole machine, and folders and parts of a killed run.
//!
//! SMT that was switched off, CPUs that were set apart and settings that were changed are put back however a run ends, by a process that waits for
//! its end. Only where that one was killed too is something left; then the next start says so, and
//! `hocket machine --restore` puts it back.
//!
//! A temporary folder goes with its run, unless that is killed. The next start removes it, and says so.
//!
//! A part of an output stays where its run was killed. The next command that writes the same output removes it. One that
//! writes anything else into the folder names it at its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hocket_files::{DeadPart, dead_parts_in, remove_dead_folders};
use hocket_lab::store::shared_on;
use hocket_machine::partition::Cgroups;
use hocket_machine::{changes, smt};

use crate::failure::Failure;
use crate::output::note;
use crate::written::readable;

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
    let settings = changes::left_behind()
        .map(|left| format!("settings of the machine were changed by {}", whose(&left)));
    smt.into_iter().chain(groups).chain(settings).collect()
}

/// Process 12, which is gone (/sys/..., /proc/... and 3 more).
fn whose(left: &changes::LeftBehind) -> String {
    let (named, rest) = left.before().split_at(left.before().len().min(MOST_SETTINGS));
    let named: Vec<String> = named.iter().map(|change| change.setting.to_string()).collect();
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("process {}, which is gone ({}{more})", left.process(), named.join(", "))
}

/// So many settings are named.
const MOST_SETTINGS: usize = 3;

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
    let on_disk = Path::new(hocket_files::ON_DISK);
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
        note(format_args!("removed {path}, which a killed run left unfinished"));
    }
}

/// Folders that outputs of this command are in, without links, and as the user names them.
static FOLDERS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// So many parts of a folder are named.
const MOST_NAMED: usize = 8;

/// This command writes into the folder: [`name_parts`] looks there. A folder that is yet to be made has no parts.
pub(crate) fn look_in(folder: &Path) {
    if let Ok(place) = folder.canonicalize() {
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        folders.entry(place).or_insert_with(|| folder.into());
    }
}

/// Names the parts of killed runs that lie beside the outputs of this command. It comes last, when the command has removed
/// those of its own outputs. The others stay, because only who wrote them knows what they are good for.
pub(crate) fn name_parts() {
    let folders = std::mem::take(&mut *FOLDERS.lock().unwrap_or_else(PoisonError::into_inner));
    for folder in folders.values() {
        let dead = dead_parts_in(folder);
        let kind = shared_on(folder);
        dead.iter().take(MOST_NAMED).for_each(|part| note(left(part, kind.as_deref())));
        if dead.len() > MOST_NAMED {
            let (more, folder) = (dead.len() - MOST_NAMED, folder.display());
            note(format_args!(
                "{folder}: {more} more parts of killed runs are in this folder; remove them"
            ));
        }
        crate::lab::name_killed_in(folder);
    }
}

/// What lies there, and what to do. `kind`: the file system, where other machines may write there.
fn left(part: &DeadPart, kind: Option<&str>) -> String {
    let (path, bytes) = (part.path.display(), readable(part.bytes));
    let name = part.target.file_name().unwrap_or_default().display();
    match kind {
        None => {
            format!(
                "{path}: a killed run left this part of {name} ({bytes}), and nobody writes it; remove it"
            )
        }
        Some(kind) => format!(
            "{path}: a run that was killed, or runs elsewhere on {kind}, left this part of {name} ({bytes}); remove it if \
             nobody writes it"
        ),
    }
}

fn said(change: &changes::Change) -> String {
    format!("{} says `{}` again", change.setting, change.value)
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
    if let Some(left) = changes::left_behind() {
        let said: Vec<String> = left.before().iter().map(said).collect();
        left.restore().map_err(Failure::not_possible)?;
        done.extend(said);
    }
    Ok(done)
}
