//! `hocket lab merge`.

use hocket_lab::numbers::counted;
use hocket_lab::store::{Definitions, merge};

use super::args::MergeArgs;
use super::failure;
use crate::failure::{Exit, Failure};
use crate::output::{print, tell};

/// Runs the command.
pub(super) fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let definitions = if args.mixed { Definitions::Mixed } else { Definitions::One };
    crate::files::remove_dead_parts_of(&args.out);
    let merged = merge(&args.out, &args.inputs, definitions).map_err(failure)?;
    crate::written::wrote(&args.out);
    for path in &merged.unended {
        tell(format_args!(
            "{}: its last run has not ended; if it is still measured, merge again when it has ended",
            path.display()
        ));
    }
    print(&format!(
        "{}: {}, {}; there twice: {}\n",
        args.out.display(),
        counted(merged.runs, "run"),
        counted(merged.rows as usize, "row"),
        counted(merged.duplicates, "run")
    ));
    Ok(Exit::Done)
}
