//! The serial walk, and rayon's parallel iterator over the nodes of each level. Safe code: a level
//! is split off from the finished ones before it.

use rayon::prelude::*;

use crate::network::Network;

/// One node after the other on the calling thread: what every efficiency is relative to.
#[derive(Debug)]
pub struct Serial {
    network: Network,
}

impl Serial {
    /// Over `network`'s memory.
    pub fn new(network: Network) -> Serial {
        Serial { network }
    }

    /// Runs one block.
    pub fn run(&mut self) {
        let nodes = &mut self.network.nodes;
        for place in 0..nodes.len() {
            let (done, rest) = nodes.split_at_mut(place);
            rest[0].run(|from| done[from].row());
        }
    }

    /// The memory, between blocks.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// `par_iter_mut` over each level: a fork and a join a level.
#[derive(Debug)]
pub struct Levels {
    network: Network,
}

impl Levels {
    /// Over `network`'s memory.
    pub fn new(network: Network) -> Levels {
        Levels { network }
    }

    /// Runs one block on the current rayon pool.
    pub fn run(&mut self) {
        let Network { nodes, levels, .. } = &mut self.network;
        for level in levels {
            let (done, rest) = nodes.split_at_mut(level.start);
            let done = &*done;
            let level = &mut rest[..level.len()];
            level.par_iter_mut().for_each(|node| node.run(|from| done[from].row()));
        }
    }

    /// The memory, between blocks.
    pub fn network(&self) -> &Network {
        &self.network
    }
}
