//! Nodes that several threads share, in an order that the types do not know.
//!
//! A lock a node would be charged to the executor: an uncontended one costs about as much as the
//! smallest nodes do. Whoever runs a graph keeps two rules, named for the SAFETY comments that rely
//! on them:
//!
//! - **ONE-RUNNER**: a node is run at most once a block, by one thread.
//! - **READ-AFTER-WRITE**: the rows that a node reads were written in the same block, before it
//!   starts, and their writes are visible to its thread.

use std::cell::UnsafeCell;

use crate::network::{Node, Row};

/// The nodes of a graph, by their places in its [`crate::network::Network`].
#[derive(Debug)]
pub struct Cells(Box<[UnsafeCell<Node>]>);

// SAFETY: a `Node` is plain data, `Send` and `Sync` (the constant below holds the compiler to it).
// Who may touch which one at what time is in the contracts of the methods.
unsafe impl Sync for Cells {}

const _: () = {
    const fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Node>()
};

impl Cells {
    /// Of these nodes.
    pub fn new(nodes: Vec<Node>) -> Cells {
        Cells(nodes.into_iter().map(UnsafeCell::new).collect())
    }

    /// Runs one node.
    ///
    /// # Safety
    /// The caller is the one that ONE-RUNNER names for `node` in this block, and READ-AFTER-WRITE
    /// holds for what it reads. Nobody holds a row of [`Cells::row`].
    #[inline]
    pub unsafe fn run(&self, node: usize) {
        // SAFETY: not aliased: nobody else runs it (ONE-RUNNER), its readers start after it has
        // ended (READ-AFTER-WRITE), and rows are held outside of blocks only.
        let node = unsafe { &mut *self.0[node].get() };
        node.run(|from| {
            // SAFETY: READ-AFTER-WRITE for an input of `node`; other readers share. Never the node
            // itself: a graph has no cycles.
            unsafe { &*self.0[from].get() }.row()
        });
    }

    /// The row that a node left behind.
    ///
    /// # Safety
    /// No block is under way, and none begins while the row is held.
    pub unsafe fn row(&self, node: usize) -> &Row {
        // SAFETY: by contract nobody writes; other borrowers read too.
        unsafe { &*self.0[node].get() }.row()
    }
}
