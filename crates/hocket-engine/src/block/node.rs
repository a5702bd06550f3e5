//! A node in a block: its processor, its events, and what happens when the processor panics or its output is
//! not finite.
//!
//! A processor that panics is replaced by [`Silent`] and freed later, on a control thread. A processor whose output
//! is not finite is reset and silent for that block (`bus.rs`). [`Contained`] is what users learn of both.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_dsp::{Block, Event, Processor, mix};

use super::fetch::Stretch;

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

/// How many changes of parameters a node takes in one block: as many as the leader carries out orders,
/// so that orders of one change each never find a node full.
pub(crate) const EVENTS_A_BLOCK: usize = 32;

/// A node: what processes its bus, and what it was told and did since.
pub(crate) struct NodeState {
    /// What processes the bus in place; [`Silent`] in the place of one that panicked.
    pub(super) processor: Box<dyn Processor>,
    /// For the next block; never grows past [`EVENTS_A_BLOCK`], which it has room for.
    pub events: Vec<Event>,
    /// How many blocks came out with samples that are not finite.
    pub not_finite: u64,
    /// Kept until the node is freed on a control thread: a block frees nothing.
    panicked: Option<Panicked>,
}

/// A processor that panicked, which is never called again, and what it panicked with.
struct Panicked {
    _processor: Box<dyn Processor>,
    payload: Box<dyn Any + Send>,
}

/// Takes the place of a processor that panicked: every other node goes on, and this one costs no
/// question in a block without a panic.
struct Silent;

impl Processor for Silent {
    fn process(&mut self, block: &mut Block<'_>) {
        mix::clear(block.main.left);
        mix::clear(block.main.right);
    }

    fn reset(&mut self) {}
}

impl NodeState {
    /// Calls the processor outside a block. A panic ends here, and the node is silent from then on.
    ///
    /// Thread: leader.
    pub(crate) fn call(&mut self, call: impl FnOnce(&mut dyn Processor)) {
        // Unwind safety: what a panic leaves behind is never called again, only freed.
        let called = catch_unwind(AssertUnwindSafe(|| call(&mut *self.processor)));
        if let Err(payload) = called {
            self.silence(payload);
        }
    }

    /// Thread: leader or worker, inside a block too: nothing is allocated (a box of nothing needs no
    /// memory) and nothing is freed.
    #[cold]
    pub(super) fn silence(&mut self, payload: Box<dyn Any + Send>) {
        // block-path: a box of nothing allocates nothing.
        let processor = std::mem::replace(&mut self.processor, Box::new(Silent));
        self.panicked = Some(Panicked { _processor: processor, payload });
        self.events.clear();
    }

    /// What became of it; `None`: nothing happened.
    ///
    /// Thread: control, or the leader where it has time; allocates.
    pub(crate) fn contained(&self, name: &str) -> Option<Contained> {
        let panic = self.panicked.as_ref().map(|panicked| message(&*panicked.payload));
        let happened = self.not_finite > 0 || panic.is_some();
        happened.then(|| Contained { node: name.to_owned(), not_finite: self.not_finite, panic })
    }
}

/// The text of a panic: `panic!` makes a `&str` or a `String`.
///
/// Thread: control; allocates.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// A node that several plans may share; it outlives all of them but the last.
///
/// What a block touches lies in the first cache line.
#[repr(C, align(64))]
pub(crate) struct NodeCell {
    pub(super) state: UnsafeCell<NodeState>,
    /// For reports.
    pub name: String,
    /// What control threads may know of the state: see [`NodeCell::show`].
    shown: AtomicU64,
    /// Where its processor lies: noted when it is made, because nobody but the node's worker may look
    /// inside later.
    pub(super) processor: Option<Stretch>,
}

// SAFETY: `NodeState` is `Send` (processors are, by their trait). Sharing is governed by ONE-WRITER,
// CLOSED and ONE-PLAN at the top of `bus.rs`.
unsafe impl Sync for NodeCell {}

impl NodeCell {
    /// A node that has not run.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(name: String, processor: Box<dyn Processor>) -> NodeCell {
        let events = Vec::with_capacity(EVENTS_A_BLOCK);
        let place = Stretch::of(&*processor);
        let state = NodeState { processor, events, not_finite: 0, panicked: None };
        let shown = AtomicU64::new(0);
        NodeCell { name, shown, processor: place, state: UnsafeCell::new(state) }
    }

    /// Lets control threads see what became of the node.
    ///
    /// Thread: the one that has `state`: the node's worker or the leader.
    pub(crate) fn show(&self, state: &NodeState) {
        let panicked = if state.panicked.is_some() { PANICKED } else { 0 };
        // Relaxed: a number that stands for itself.
        self.shown.store(state.not_finite | panicked, Relaxed);
    }

    /// In how many blocks its output was not finite, and whether it panicked.
    ///
    /// Thread: any.
    pub(crate) fn shown(&self) -> (u64, bool) {
        // Relaxed: as above.
        let shown = self.shown.load(Relaxed);
        (shown & !PANICKED, shown & PANICKED != 0)
    }

    /// The node's state, to look at.
    ///
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold, and changes none meanwhile.
    pub(crate) unsafe fn get(&self) -> &NodeState {
        // SAFETY: passed on to the caller.
        unsafe { &*self.state.get() }
    }

    /// The node's state.
    ///
    /// # Safety
    /// The caller is the worker that runs the node's unit (ONE-WRITER) in the leader's plan
    /// (ONE-PLAN), or the leader while CLOSED holds; one reference at a time is used.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get_mut(&self) -> &mut NodeState {
        // SAFETY: passed on to the caller.
        unsafe { &mut *self.state.get() }
    }
}

/// Beside the count in [`NodeCell::show`]: the processor panicked.
const PANICKED: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_node_is_shown_and_told() {
        let payloads: [(Box<dyn Any + Send>, &str); 3] = [
            (Box::new("a text"), "a text"),
            (Box::new(String::from("a string")), "a string"),
            (Box::new(7), "a panic without a message"),
        ];
        for (payload, message) in payloads {
            let cell = NodeCell::new("filter".into(), Box::new(Silent));
            assert_eq!(cell.shown(), (0, false));
            // SAFETY: the cell is in no plan, and this is the only reference.
            let state = unsafe { cell.get_mut() };
            assert_eq!(state.contained(&cell.name), None);
            state.not_finite = 3;
            cell.show(state);
            assert_eq!(cell.shown(), (3, false));
            let mut expected = Contained { node: "filter".into(), not_finite: 3, panic: None };
            assert_eq!(state.contained(&cell.name), Some(expected.clone()));
            state.silence(payload);
            cell.show(state);
            assert_eq!(cell.shown(), (3, true));
            expected.panic = Some(message.into());
            assert_eq!(state.contained(&cell.name), Some(expected));
        }
    }
}
