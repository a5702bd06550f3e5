//! What a block keeps from spreading.

use std::fmt;

/// A node whose output the engine silenced, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    /// The node's name.
    pub node: String,
    /// Blocks that came out with NaN or infinity: the node was reset and silent for each of them.
    pub not_finite: u64,
    /// The message of its panic; the node is silent from then on. `None`: it never panicked.
    pub panic: Option<String>,
}

impl fmt::Display for Contained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contained { node, not_finite, panic } = self;
        write!(f, "node '{node}'")?;
        if *not_finite > 0 {
            write!(f, " was silenced for {not_finite} blocks that were not finite")?;
        }
        match panic {
            Some(message) if *not_finite > 0 => write!(f, ", then panicked: {message}"),
            Some(message) => write!(f, " panicked and is silent: {message}"),
            None => Ok(()),
        }
    }
}
