//! A rayon task a ready node: atomic countdowns say who is ready, and a task that makes successors
//! ready runs one of them itself and spawns the others.
//!
//! Why the rules of [`crate::cells`] hold, named for the SAFETY comments that rely on it:
//!
//! - **ONE-RUNNER**: a node without inputs is run by the task that the block spawns for it; another
//!   one by the task whose arrival takes its countdown to zero. There is one arrival an edge
//!   ([`Network::successors`]) and the countdown starts at the number of edges, so exactly one
//!   arrival does.
//! - **READ-AFTER-WRITE**: each input of a node has arrived (release) before the countdown reaches
//!   zero (acquire), and is not written again in this block (ONE-RUNNER).
//! - **CLOSED**: between blocks no task is alive: [`Countdowns::run`] borrows exclusively, and
//!   `rayon::scope` returns, or unwinds, only after all its tasks have ended.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use rayon::Scope;

use crate::cells::Cells;
use crate::network::{Network, Node, Row};

/// Scope, countdowns, one successor kept.
#[derive(Debug)]
pub struct Countdowns {
    shared: Shared,
    /// Nodes without inputs.
    sources: Box<[usize]>,
    output: usize,
    /// Whether the last block ended as it should; else some countdowns stand in the middle.
    whole: bool,
}

impl Countdowns {
    /// Over `network`'s memory.
    pub fn new(network: Network) -> Countdowns {
        let counts: Vec<usize> = network.nodes.iter().map(Node::input_count).collect();
        let sources = (0..counts.len()).filter(|node| counts[*node] == 0).collect();
        let output = network.output;
        let shared = Shared {
            successors: network.successors().into_boxed_slice(),
            countdowns: counts.iter().map(|count| Countdown::new(*count as u32)).collect(),
            cells: Cells::new(network.nodes),
        };
        Countdowns { shared, sources, output, whole: true }
    }

    /// Runs one block on the current rayon pool.
    pub fn run(&mut self) {
        if !std::mem::replace(&mut self.whole, false) {
            // A task panicked: ONE-RUNNER and READ-AFTER-WRITE hold from full countdowns only.
            self.shared.countdowns.iter_mut().for_each(Countdown::refill);
        }
        let shared = &self.shared;
        rayon::scope(|scope| {
            for source in &self.sources {
                scope.spawn(move |scope| shared.run_onward(scope, *source));
            }
        });
        self.whole = true;
    }

    /// The row of the graph's output.
    pub fn output_row(&self) -> &Row {
        self.row(self.output)
    }

    /// The row of a node, by its place in the [`Network`].
    pub fn row(&self, node: usize) -> &Row {
        // SAFETY: CLOSED: `self` is borrowed, so no block is under way and none begins before the
        // row is given back.
        unsafe { self.shared.cells.row(node) }
    }
}

/// What the tasks of a block share.
#[derive(Debug)]
struct Shared {
    cells: Cells,
    countdowns: Box<[Countdown]>,
    /// For each node those that read it, once an edge.
    successors: Box<[Box<[usize]>]>,
}

impl Shared {
    /// Runs a ready node, then one of the successors that it made ready, and so on; the others
    /// become tasks.
    fn run_onward<'scope>(&'scope self, scope: &Scope<'scope>, first: usize) {
        let mut next = Some(first);
        while let Some(node) = next.take() {
            // SAFETY: ONE-RUNNER: `node` has no inputs and this is the block's task for it, or an
            // arrival of this task took its countdown to zero. READ-AFTER-WRITE: so all its inputs
            // have arrived. Rows are held between blocks only (CLOSED).
            unsafe { self.cells.run(node) };
            for successor in &self.successors[node] {
                if !self.countdowns[*successor].arrive() {
                    continue;
                }
                if next.is_none() {
                    next = Some(*successor);
                } else {
                    scope.spawn(move |scope| self.run_onward(scope, *successor));
                }
            }
        }
    }
}

/// Inputs still to come. On lines of its own: a line shared by several would be fought over.
#[derive(Debug)]
#[repr(align(128))]
struct Countdown {
    /// Written by every predecessor; the last one's acquire meets the releases of the others.
    remaining: AtomicU32,
    initial: u32,
}

impl Countdown {
    fn new(initial: u32) -> Countdown {
        Countdown { remaining: AtomicU32::new(initial), initial }
    }

    /// One input is there; `true` for the arrival that completes them, after which the countdown
    /// is full again for the next block.
    #[inline]
    fn arrive(&self) -> bool {
        // Release half: publishes the row that this task wrote to whoever completes the inputs.
        // Acquire half: if that is us, we read the rows of every *other* input.
        let last = self.remaining.fetch_sub(1, AcqRel) == 1;
        if last {
            // Relaxed: the next arrival is in the next block, which the end of the scope and the
            // spawns after it order behind this.
            self.remaining.store(self.initial, Relaxed);
        }
        last
    }

    fn refill(&mut self) {
        *self.remaining.get_mut() = self.initial;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_arrivals_completes_and_refills() {
        let mut countdown = Countdown::new(3);
        for _ in 0..4 {
            assert_eq!([(); 3].map(|()| countdown.arrive()), [false, false, true]);
        }
        countdown.arrive();
        countdown.refill();
        assert_eq!([(); 3].map(|()| countdown.arrive()), [false, false, true]);
    }
}
