//! Plug-ins that ask to be made anew while they play (CLAP: `request_restart`).
//!
//! A control thread makes a new instance with the state of the old one. The leader hands it over between two blocks, and its
//! latency counts from then on. Of `play` that thread is one beside the leader, so no block waits for it. Of `render` it is
//! the leader between two blocks: so one that asks in a block is made anew before the next one, in each run.

use std::collections::HashMap;

use hocket_engine::{Control, Notice};
use hocket_plan::NodeId;

use crate::output::{note, tell};

/// How often a plug-in is made anew in a run. One that asks again may ask for ever.
const MOST: u32 = 3;

/// Looks after those plug-ins.
pub(crate) struct Restarts {
    control: Control,
    counts: HashMap<NodeId, u32>,
}

impl Restarts {
    pub(crate) fn new(control: Control) -> Restarts {
        Restarts { control, counts: HashMap::new() }
    }

    /// Does what plug-ins have asked for since the last look.
    ///
    /// Thread: control; for an engine that is offline, the leader between two blocks. Waits for plug-ins.
    pub(crate) fn look(&mut self) {
        for notice in self.control.take_notices() {
            if let Notice::Restart { node } = notice {
                self.restart(node);
            }
        }
    }

    fn restart(&mut self, node: NodeId) {
        let count = self.counts.entry(node).or_default();
        *count += 1;
        match *count {
            1..=MOST => match self.made_anew(node) {
                Ok(name) => {
                    note(format_args!("{name}: the plug-in asked to be made anew, and was"))
                }
                Err(why) => ignored(&why),
            },
            count if count == MOST + 1 => {
                ignored(&format!("it was made anew {MOST} times and asks again"));
            }
            _ => {}
        }
    }

    /// Returns the node's name.
    fn made_anew(&self, node: NodeId) -> Result<String, String> {
        let saved = self.control.save_states().map_err(|error| error.to_string())?;
        let failures = saved.failures.iter().map(ToString::to_string);
        let no_state = || failures.chain(["it has no state to go on with".into()]).next();
        let saved = saved.states.iter().find(|saved| saved.node == node);
        let saved = saved.ok_or_else(|| no_state().unwrap_or_default())?;
        self.control.load_state(node, &saved.state).map_err(|error| error.to_string())?;
        Ok(saved.name.clone())
    }
}

fn ignored(why: &str) {
    tell(format_args!("warning: a plug-in asks to be made anew, which is ignored: {why}"));
}
