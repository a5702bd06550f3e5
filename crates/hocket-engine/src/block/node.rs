//! A node in a block: its processor, its events, and what happens when the processor panics or its output is
//! not finite.
//!
//! If a processor panics, the engine puts [`Silent`] in its place, and a control thread frees it later. If
//! its output is not finite, the engine resets it and silences that block (`bus.rs`). [`Contained`] reports
//! both to users.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hocket_dsp::{AbreastKey, Block, Processor, TimedChange, mix};
use hocket_time::Segments;

use super::fetch::Stretch;
use super::joined::Joined;
use super::lanes::{Automated, EVENTS_A_BLOCK, Lanes, MappedLane};
use super::now::Now;
use super::part_counts::OTHERS;
use super::work::Incoming;

/// A node whose output the engine silenced, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    /// The node's name.
    pub node: String,
    /// How many blocks had NaN or infinity. The engine reset and silenced the node for each of them.
    pub not_finite: u64,
    /// How often the processor said that it failed, as a plug-in may. It was silent there. A call of the processor is a
    /// block; only an effect that can be bypassed gets a block of more than 256 frames in pieces
    /// ([`Bypass`](hocket_dsp::Bypass)), and each piece counts.
    pub failed: u64,
    /// Whether it panicked. The node is silent from then on.
    pub panicked: bool,
    /// The message of its panic, as far as it is known: only [`Engine::contained`](crate::Engine::contained)
    /// knows it, because the payload belongs to the node.
    pub message: Option<String>,
}

impl fmt::Display for Contained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contained { node, not_finite, failed, panicked, message } = self;
        write!(f, "node '{node}'")?;
        if *not_finite > 0 {
            write!(f, " was silenced for {not_finite} blocks that were not finite")?;
        }
        if *failed > 0 {
            let also = if *not_finite > 0 { ", and" } else { "" };
            write!(f, "{also} failed to process {failed} blocks, in which it is silent")?;
        }
        if *panicked {
            let also = if *not_finite > 0 || *failed > 0 { ", then" } else { "" };
            write!(f, "{also} panicked and is silent")?;
        }
        message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

/// A node: its processor, the events for it, and what happened to it.
///
/// What every block accesses is in its first cache line.
#[repr(C)]
pub(crate) struct NodeState {
    /// Processes the bus in place. [`Silent`] replaces one that panicked.
    pub(super) processor: Box<dyn Processor>,
    /// Events for the next block. Between blocks it has up to [`EVENTS_A_BLOCK`] edits, all at frame 0. It has room for
    /// what lanes add, and never grows beyond.
    pub events: Vec<TimedChange>,
    /// Nearly all nodes have none.
    lanes: Option<Box<Lanes>>,
    /// How many blocks had samples that were not finite.
    pub not_finite: u64,
    /// Whether it keeps time, has lanes or gets answers. All others need no look at these.
    pub(super) has_more: bool,
    /// Whether its processor asks for the time.
    pub(super) keeps_time: bool,
    /// Answers of its background work. Nearly all nodes have none.
    answers: Option<Box<Incoming>>,
    /// Where the song was for what is late at the node, if it keeps time. Written in place: such a list is too long to be
    /// copied in each block.
    pub(super) late: Option<Box<Segments>>,
    /// The node keeps it until it is freed, because a block frees nothing.
    panicked: Option<Panicked>,
}

const _: () = assert!(std::mem::offset_of!(NodeState, keeps_time) < 64);

/// Lanes for a node in the place of those that it has, and room for its events.
pub(crate) struct LaneExchange {
    lanes: Option<Box<Lanes>>,
    events: Vec<TimedChange>,
}

impl LaneExchange {
    /// The lanes of a node from then on, one for each parameter; maybe none. Blocks have up to `frames` frames.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(lanes: Vec<(u16, Arc<MappedLane>)>, frames: usize) -> LaneExchange {
        let lanes = (!lanes.is_empty()).then(|| Box::new(Lanes::new(lanes, frames)));
        let room = lanes.as_ref().map_or(EVENTS_A_BLOCK, |lanes| lanes.most_events());
        LaneExchange { lanes, events: Vec::with_capacity(room) }
    }
}

/// What a processor's main side made for it, on its way to the processor and back.
pub(crate) struct Exchange {
    pub(crate) node: Arc<NodeCell>,
    /// `None` only while it is dropped.
    pub(crate) made: Option<Box<dyn Any + Send>>,
}

impl Drop for Exchange {
    /// What the processor no longer needs is freed where it was made.
    ///
    /// Thread: control.
    fn drop(&mut self) {
        if let (Some(made), Some(joined)) = (self.made.take(), &self.node.joined) {
            joined.disposal.free(made);
        }
    }
}

/// A processor that panicked, and its panic payload. Nobody calls the processor again.
struct Panicked {
    _processor: Box<dyn Processor>,
    payload: Box<dyn Any + Send>,
}

/// Replaces a processor that panicked, so that every other node goes on. A block without a panic needs no
/// check.
struct Silent;

impl Processor for Silent {
    fn process(&mut self, block: &mut Block<'_>) {
        (0..block.channels()).for_each(|channel| mix::clear(block.channel_mut(channel)));
    }

    fn reset(&mut self) {}

    fn rests(&self) -> bool {
        true
    }
}

impl NodeState {
    /// Calls the processor outside a block. A panic ends here, and the node is silent from then on.
    ///
    /// Thread: leader.
    pub(crate) fn call(&mut self, call: impl FnOnce(&mut dyn Processor)) {
        // Unwind safety: after a panic nobody calls the processor again. It is only freed.
        let called = catch_unwind(AssertUnwindSafe(|| call(&mut *self.processor)));
        if let Err(payload) = called {
            self.silence(payload);
        }
    }

    /// Hands the processor the answers of its background work.
    ///
    /// Thread: the node's worker, inside a block, or the leader between blocks. A panic goes to the caller.
    pub(super) fn deliver(&mut self) {
        if let Some(answers) = &mut self.answers {
            answers.deliver(&mut *self.processor);
        }
    }

    /// Exchanges the lanes. A lane that stays goes on; what a removed one set stays as it is.
    ///
    /// Thread: leader, between blocks. Cost: O(lanes); nothing is allocated or freed.
    pub(crate) fn exchange_lanes(&mut self, new: &mut LaneExchange) {
        // There is room for all edits of a block.
        self.events.iter().for_each(|event| new.events.push(*event));
        if let (Some(lanes), Some(before)) = (&mut new.lanes, &mut self.lanes) {
            lanes.go_on_from(before);
        }
        std::mem::swap(&mut self.lanes, &mut new.lanes);
        std::mem::swap(&mut self.events, &mut new.events);
        self.has_more = self.keeps_time || self.lanes.is_some() || self.answers.is_some();
    }

    /// Resets the processor, with the first values of its lanes as its settings: for a start from the beginning.
    ///
    /// Thread: control before it plays, or the leader between blocks.
    pub(super) fn reset(&mut self) {
        let (lanes, mut answers) = (self.lanes.take(), self.answers.take());
        self.call(|processor| {
            // They belong to what was before.
            answers.iter_mut().for_each(|answers| answers.end_generation(processor));
            let first = lanes.iter().flat_map(|lanes| lanes.first_values());
            first.for_each(|change| processor.preset(change));
            processor.reset();
        });
        (self.lanes, self.answers) = (lanes, answers);
    }

    /// Forgets events, where its lanes are, and what was counted: for a start from the beginning.
    ///
    /// Thread: leader, between blocks.
    pub(super) fn start_again(&mut self) {
        self.events.clear();
        self.not_finite = 0;
        if let Some(lanes) = &mut self.lanes {
            lanes.restart();
        }
    }

    /// Replaces the processor after a panic.
    ///
    /// Thread: leader or worker, also inside a block. It allocates nothing, because a box of an empty type
    /// needs no memory, and frees nothing.
    #[cold]
    pub(super) fn silence(&mut self, payload: Box<dyn Any + Send>) {
        // block-path: a box of an empty type allocates nothing.
        let processor = std::mem::replace(&mut self.processor, Box::new(Silent));
        self.panicked = Some(Panicked { _processor: processor, payload });
        self.events.clear();
    }

    /// In how many blocks the output was not finite, and whether the processor panicked.
    fn became(&self) -> (u64, bool) {
        (self.not_finite, self.panicked.is_some())
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

/// A node that several plans may share. It lives as long as the last of them.
///
/// The first cache line holds what a block accesses.
#[repr(C, align(64))]
pub(crate) struct NodeCell {
    pub(super) state: UnsafeCell<NodeState>,
    /// For reports.
    pub name: String,
    /// The number of its kind ([`Kinds`](crate::control::kinds::Kinds)), for counts by kind. Never changes while it plays.
    pub(crate) kind: u16,
    /// The part of the state that control threads may read, see [`NodeCell::show`].
    shown: AtomicU64,
    /// How many values of lanes were thinned out. Its worker and the leader write it, control threads read it.
    thinned: AtomicU64,
    /// How many events found no room. As `thinned`.
    lost_events: AtomicU64,
    /// Whether its processor asks for the time. Never changes.
    pub(super) keeps_time: bool,
    /// Whether blocks may be left out while everything is silent. Never changes.
    pub(super) rests: bool,
    /// What another node needs to have in common with it to run abreast. Never changes.
    pub(crate) abreast_key: Option<AbreastKey>,
    /// The most events that its processor sends besides where the song jumps. Never changes.
    pub(super) events_per_jump: usize,
    /// What its lanes are made of, for control threads only.
    pub automated: Mutex<Automated>,
    /// What its processor has beside it; `None` for one that has not joined an engine, as in tests.
    pub(crate) joined: Option<Joined>,
    /// The memory of its processor. The constructor notes it, because later only the node's worker may look
    /// inside.
    pub(super) processor: Option<Stretch>,
}

// SAFETY: `NodeState` is `Send` (processors are, by their trait). The invariants ONE-WRITER, CLOSED and
// ONE-PLAN, at the top of `bus.rs`, govern the sharing.
unsafe impl Sync for NodeCell {}

impl NodeCell {
    /// A node that has not run.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(name: String, processor: Box<dyn Processor>) -> NodeCell {
        let events = Vec::with_capacity(EVENTS_A_BLOCK);
        let (place, keeps_time) = (Stretch::of(&*processor), processor.keeps_time());
        let (rests, events_per_jump) = (processor.rests(), processor.events_per_jump());
        let abreast_key = processor.abreast_key();
        let (lanes, has_more) = (None, keeps_time);
        let (not_finite, answers, panicked) = (0, None, None);
        let late = keeps_time.then(|| Box::new(Segments::EMPTY));
        let state = NodeState {
            processor,
            events,
            lanes,
            not_finite,
            has_more,
            keeps_time,
            answers,
            late,
            panicked,
        };
        let [shown, thinned, lost_events] = [0; 3].map(AtomicU64::new);
        let (state, automated) = (UnsafeCell::new(state), Mutex::default());
        let (processor, joined) = (place, None);
        NodeCell {
            state,
            name,
            kind: OTHERS,
            shown,
            thinned,
            lost_events,
            keeps_time,
            rests,
            abreast_key,
            events_per_jump,
            automated,
            joined,
            processor,
        }
    }

    /// What its processor got when it joined. `answers`: of its background work.
    ///
    /// Thread: control, before it runs.
    pub(crate) fn has_joined(&mut self, joined: Joined, answers: Option<Incoming>) {
        let state = self.state.get_mut();
        state.answers = answers.map(Box::new);
        state.has_more |= state.answers.is_some();
        self.joined = Some(joined);
    }

    /// Runs the processor once, before any plan has the node. `false`: it has panicked, and the node is silent.
    ///
    /// Thread: control.
    pub(crate) fn run_alone(&mut self, block: &mut Block<'_>) -> bool {
        let state = self.state.get_mut();
        let mut answers = state.answers.take();
        state.call(|processor| {
            answers.iter_mut().for_each(|answers| answers.deliver(processor));
            processor.process(block);
        });
        state.answers = answers;
        state.panicked.is_none()
    }

    /// Forgets what [`NodeCell::run_alone`] left in it: it begins as if it had not run.
    ///
    /// Thread: control.
    pub(crate) fn begin_again(&mut self) {
        let state = self.state.get_mut();
        state.reset();
        state.start_again();
        let (not_finite, panicked) = state.became();
        self.forget_counts();
        // Relaxed: the number publishes nothing else.
        self.shown.store(not_finite | if panicked { PANICKED } else { 0 }, Relaxed);
    }

    /// Gives a node that has not run its lanes, and their first values as its settings.
    ///
    /// Thread: control.
    pub(crate) fn begin_with(&mut self, mut lanes: LaneExchange) {
        let state = self.state.get_mut();
        state.exchange_lanes(&mut lanes);
        state.reset();
    }

    /// Adds what the node's lanes say in a block to its events. `late`: how many frames what it hears is late.
    ///
    /// Thread: the node's worker, inside a block, which has `state`.
    pub(super) fn play_lanes(&self, state: &mut NodeState, now: &Now, late: u32) {
        let NodeState { lanes: Some(lanes), events, .. } = state else { return };
        let thinned = lanes.play(now, late, events);
        if thinned > 0 {
            // Relaxed: the number publishes nothing else.
            self.thinned.fetch_add(thinned, Relaxed);
        }
    }

    /// How many values of its lanes were thinned out since it joined or was reset.
    ///
    /// Thread: any.
    pub(crate) fn thinned(&self) -> u64 {
        // Relaxed: as above.
        self.thinned.load(Relaxed)
    }

    /// Counts events that found no room on their way to or from the node.
    ///
    /// Thread: the node's worker, inside a block.
    pub(super) fn lose_events(&self, count: u64) {
        if count > 0 {
            // Relaxed: the number publishes nothing else.
            self.lost_events.fetch_add(count, Relaxed);
        }
    }

    /// How many events found no room since the node joined or was reset: on its event edges, and inside its processor.
    ///
    /// Thread: any.
    pub(crate) fn lost_events(&self) -> u64 {
        let inside = self.joined.as_ref().and_then(Joined::events_lost);
        // Relaxed: as above.
        let inside = inside.map_or(0, |events| events.load(Relaxed));
        self.lost_events.load(Relaxed).saturating_add(inside)
    }

    /// Forgets what happened to the node and where its lanes are.
    ///
    /// Thread: the leader, between blocks, which has `state`.
    pub(super) fn start_again(&self, state: &mut NodeState) {
        state.start_again();
        self.forget_counts();
        self.show(state);
    }

    fn forget_counts(&self) {
        // Relaxed: as above.
        self.thinned.store(0, Relaxed);
        self.lost_events.store(0, Relaxed);
        let joined = self.joined.iter();
        let counts = joined.flat_map(|joined| [joined.failed(), joined.events_lost()]);
        counts.flatten().for_each(|count| count.store(0, Relaxed));
    }

    /// Shows control threads what happened to the node.
    ///
    /// Thread: the node's worker or the leader, which has `state`.
    pub(crate) fn show(&self, state: &NodeState) {
        let panicked = if state.panicked.is_some() { PANICKED } else { 0 };
        // Relaxed: the number publishes nothing else.
        self.shown.store(state.not_finite | panicked, Relaxed);
    }

    /// What happened to the node, but for the message of a panic. `None`: nothing.
    ///
    /// Thread: any; allocates.
    pub(crate) fn contained(&self) -> Option<Contained> {
        self.contained_of(self.shown())
    }

    /// The same with the message of its panic, for the thread that has `state`.
    ///
    /// Thread: the leader, if it has time; allocates.
    pub(crate) fn contained_in(&self, state: &NodeState) -> Option<Contained> {
        let contained = self.contained_of(state.became())?;
        let message = state.panicked.as_ref().map(|panicked| message(&*panicked.payload));
        Some(Contained { message, ..contained })
    }

    /// Thread: control; copies the name.
    fn contained_of(&self, (not_finite, panicked): (u64, bool)) -> Option<Contained> {
        let failed = self.failed();
        let happened = not_finite > 0 || failed > 0 || panicked;
        let node = || self.name.clone();
        happened.then(|| Contained { node: node(), not_finite, failed, panicked, message: None })
    }

    /// How often its processor said that it failed.
    pub(crate) fn failed(&self) -> u64 {
        let failed = self.joined.as_ref().and_then(Joined::failed);
        // Relaxed: the number publishes nothing else.
        failed.map_or(0, |failed| failed.load(Relaxed))
    }

    /// In how many blocks the output was not finite, and whether the processor panicked.
    ///
    /// Thread: any.
    pub(crate) fn shown(&self) -> (u64, bool) {
        // Relaxed: as above.
        let shown = self.shown.load(Relaxed);
        (shown & !PANICKED, shown & PANICKED != 0)
    }

    /// The node's state, for reading.
    ///
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold, and changes no node in that time.
    pub(crate) unsafe fn get(&self) -> &NodeState {
        // SAFETY: the caller's obligation.
        unsafe { &*self.state.get() }
    }

    /// The node's state, for writing.
    ///
    /// # Safety
    /// The caller is the worker that runs the node's unit (ONE-WRITER) in the leader's plan (ONE-PLAN), or the
    /// leader while CLOSED holds. It uses one reference at a time.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get_mut(&self) -> &mut NodeState {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.state.get() }
    }
}

impl Drop for NodeCell {
    /// Hands the processor over to the main thread, which frees it.
    ///
    /// Thread: control. No plan has the node any more.
    fn drop(&mut self) {
        if let Some(joined) = self.joined.take() {
            let state = self.state.get_mut();
            let processor = std::mem::replace(&mut state.processor, Box::new(Silent));
            joined.leave(processor, state.panicked.take().map(|panicked| Box::new(panicked) as _));
        }
    }
}

/// The bit in [`NodeCell::show`] that says that the processor panicked. The other bits are the count.
const PANICKED: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_node_is_shown_and_reported() {
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
            assert_eq!(cell.contained(), None);
            state.not_finite = 3;
            cell.show(state);
            assert_eq!(cell.shown(), (3, false));
            let (node, not_finite, failed, panicked) = (String::from("filter"), 3, 0, false);
            let mut expected = Contained { node, not_finite, failed, panicked, message: None };
            assert_eq!(cell.contained(), Some(expected.clone()));
            state.silence(payload);
            cell.show(state);
            assert_eq!(cell.shown(), (3, true));
            expected.panicked = true;
            assert_eq!(cell.contained(), Some(expected.clone()));
            expected.message = Some(message.into());
            assert_eq!(cell.contained_in(state), Some(expected));
        }
    }
}
