//! `hocket machine --verify`: who shares a core, by measurement.

use std::time::Duration;

use hocket_lab::experiments::siblings;
use hocket_lab::harness::Host;

use super::layout::{line, plural, prose};
use crate::failure::{Exit, Failure};
use crate::output;

/// The measurement takes about so long at most.
const VERIFY_LIMIT: Duration = Duration::from_secs(15);

/// The system's view, and the measured one beside it.
pub(super) fn verify() -> Result<Exit, Failure> {
    let host = Host::discover().map_err(Failure::not_possible)?;
    let mut out = String::from("As the system says\n");
    line(&mut out, &super::summary(&host.topology));
    output::print(&out);
    let found = siblings::verify(&host, VERIFY_LIMIT).map_err(Failure::not_possible)?;
    let mut out = String::from("As measured\n");
    for sentence in &found.sentences {
        prose(&mut out, 2, &sentence.text);
    }
    if found.left_out > 0 {
        let left = plural(found.left_out, "CPU");
        prose(
            &mut out,
            2,
            &format!(
                "{left} more were left out; `hocket lab run siblings --full` takes more time."
            ),
        );
    }
    output::print(&out);
    Ok(Exit::Done)
}
