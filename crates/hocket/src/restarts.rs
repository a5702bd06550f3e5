//! Plug-ins that ask to be made anew while they play (CLAP: `request_restart`).
//!
//! A control thread makes a new instance with the state of the old one. The leader hands it over between two blocks, and its
//! latency counts from then on. Of `play` that thread is one beside the leader, so no block waits for it. Of `render` it is
//! the leader between two blocks: so one that asks in a block is made anew before the next one, in each run.

use hocket_engine::{Control, Renewal};

use crate::output::{note, tell};

/// How often a plug-in is made anew in a run. One that asks again may ask for ever.
const MOST: u32 = 3;

/// Looks after those plug-ins.
pub(crate) struct Restarts {
    control: Control,
    /// By processor: the number of a node changes with edits.
    counts: Vec<(Renewal, u32)>,
}

impl Restarts {
    pub(crate) fn new(control: Control) -> Restarts {
        Restarts { control, counts: Vec::new() }
    }

    /// Does what plug-ins have asked for since the last look.
    ///
    /// Thread: control; for an engine that is offline, the leader between two blocks. Waits for plug-ins.
    pub(crate) fn look(&mut self) {
        for renewal in self.control.take_renewals() {
            self.restart(renewal);
        }
    }

    fn restart(&mut self, renewal: Renewal) {
        match self.count(&renewal) {
            1..=MOST => match self.control.renew(&renewal) {
                Ok(_) => {
                    let name = renewal.name();
                    note(format_args!("{name}: the plug-in asked to be made anew, and was"));
                }
                Err(why) => ignored(&why.to_string()),
            },
            count if count == MOST + 1 => {
                ignored(&format!("it was made anew {MOST} times and asks again"));
            }
            _ => {}
        }
    }

    /// How often it has asked.
    fn count(&mut self, renewal: &Renewal) -> u32 {
        let known = self.counts.iter().position(|(own, _)| own == renewal);
        let at = known.unwrap_or_else(|| {
            self.counts.push((renewal.clone(), 0));
            self.counts.len() - 1
        });
        let (_, count) = &mut self.counts[at];
        *count += 1;
        *count
    }
}

fn ignored(why: &str) {
    tell(format_args!("warning: a plug-in asks to be made anew, which is ignored: {why}"));
}
