//! `hocket recover`: completes recordings whose program was killed.

use std::io::ErrorKind;
use std::path::Path;

use hocket_disk::{RecoverError, Recovery};

use crate::cli::RecoverArgs;
use crate::failure::{Exit, Failure};
use crate::output::{print, tell};

/// Runs the command.
///
/// # Errors
/// None: Hocket prints what is wrong with a file and recovers the others. The exit code is that of the worst file.
pub fn run(args: &RecoverArgs) -> Result<Exit, Failure> {
    let exits: Vec<Exit> = args.files.iter().map(|path| recover(path)).collect();
    Ok(exits.into_iter().max_by_key(|exit| exit.code()).unwrap_or(Exit::Done))
}

fn recover(path: &Path) -> Exit {
    match hocket_disk::recover(path) {
        Ok(recovery) => {
            print(&format!("{}: {recovery}\n", path.display()));
            match recovery {
                Recovery::LeftAlone { .. } => Exit::NotPossible,
                Recovery::Intact { .. }
                | Recovery::Repaired { .. }
                | Recovery::IntactEvents { .. }
                | Recovery::RepairedEvents { .. } => Exit::Done,
            }
        }
        Err(error) => {
            tell(&error);
            exit(&error)
        }
    }
}

fn exit(error: &RecoverError) -> Exit {
    match error {
        RecoverError::Io { source, .. }
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) =>
        {
            Exit::BadInput
        }
        RecoverError::NotARecording { .. } => Exit::BadInput,
        RecoverError::Io { .. } | RecoverError::InUse { .. } | RecoverError::NoRoom { .. } => {
            Exit::NotPossible
        }
    }
}
