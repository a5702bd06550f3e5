//! What control threads edit: a session or a graph. Also which edits took effect, and when.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_engine::{
    Change as NodeChange, Editor, GraphEditor, LaneChange, LaneSpec, NodeId, NodeSource,
    SavedState, Settings, StateFailure,
};

use crate::failure::Failure;
use crate::graph::{Graph, Played, Source};
use crate::services::Notice;

/// How many edits that took effect an engine remembers for `hocket_engine_applied`. If there are more, it
/// forgets the oldest.
pub const HOCKET_APPLIED_KEPT: u32 = 4096;

/// What `hocket_last_edit` returns if the calling thread has sent no edit.
pub const HOCKET_NO_EDIT: u64 = u64::MAX;

/// The number of the last edit that the calling thread sent to any engine. `HOCKET_NO_EDIT` before the first.
/// Each engine counts its accepted edits from 0. `hocket_engine_applied` reports at which frame an edit
/// took effect.
///
/// Thread: any but the leader. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_last_edit() -> u64 {
    LAST.try_with(Cell::get).unwrap_or(HOCKET_NO_EDIT)
}

thread_local! {
    static LAST: Cell<u64> = const { Cell::new(HOCKET_NO_EDIT) };
}

/// What an engine plays, as control threads edit it.
pub(crate) struct Editing {
    hand: Hand,
    accepted: u64,
    /// For a session: edits that took effect, in the order of their numbers.
    finished: u64,
    /// The number and frame of each.
    applied: VecDeque<(u64, u64)>,
}

pub(crate) enum Hand {
    Session(Box<Editor>),
    Graph(Box<GraphInHand>),
}

/// How one graph follows another.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    /// From one block to the next.
    AtOnce,
    /// Edges fade.
    Fades,
}

/// A graph, with the host's numbers for its nodes.
pub(crate) struct GraphInHand {
    editor: GraphEditor,
    played: Played,
    rate_hz: u32,
    /// The length of the longest block.
    frames: u32,
    version: u64,
    /// The parameters of each node that have lanes.
    lanes: HashMap<u32, BTreeSet<u32>>,
}

impl Editing {
    pub(crate) fn new(hand: Hand) -> Editing {
        Editing { hand, accepted: 0, finished: 0, applied: VecDeque::new() }
    }

    /// Sends an edit of the session.
    pub(crate) fn strips(
        &mut self,
        act: impl FnOnce(&mut Editor) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Hand::Session(editor) = &mut self.hand else {
            return Err(Failure::bad_input("an engine that plays a graph has no strips"));
        };
        act(editor)?;
        self.accept();
        Ok(())
    }

    /// Whether later edits of the session fade.
    pub(crate) fn fade_edits(&mut self, on: bool) -> Result<(), Failure> {
        match &mut self.hand {
            Hand::Session(editor) => editor.fade_edits(on),
            Hand::Graph(_) => {
                return Err(Failure::bad_input(
                    "an engine that plays a graph has no such setting: each exchange says whether it fades",
                ));
            }
        }
        Ok(())
    }

    /// Sends an edit of the graph.
    pub(crate) fn nodes(
        &mut self,
        act: impl FnOnce(&mut GraphInHand) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        act(self.graph()?)?;
        self.accept();
        Ok(())
    }

    /// Restores states, with the host's numbers. It is an edit if anything is handed over. Returns what stays out.
    pub(crate) fn restore_states(
        &mut self,
        states: Vec<SavedState>,
    ) -> Result<Vec<StateFailure>, Failure> {
        let (is_edit, failures) = self.graph()?.restore_states(states)?;
        if is_edit {
            self.accept();
        }
        Ok(failures)
    }

    /// The graph, for reading.
    pub(crate) fn graph(&mut self) -> Result<&mut GraphInHand, Failure> {
        match &mut self.hand {
            Hand::Graph(graph) => Ok(graph),
            Hand::Session(_) => {
                Err(Failure::bad_input("an engine that plays a session has no nodes to be set"))
            }
        }
    }

    /// Blocks may have so many frames soon: processors of the host have room for what comes in such a block.
    pub(crate) fn make_room_for(&mut self, frames: u32) {
        if let Hand::Graph(graph) = &mut self.hand
            && Settings::FRAMES.contains(&frames)
        {
            graph.make_room_for(frames);
        }
    }

    pub(crate) fn is_settled(&mut self) -> bool {
        self.collect();
        match &mut self.hand {
            Hand::Session(editor) => editor.is_settled() && editor.control().is_settled(),
            Hand::Graph(graph) => graph.editor.is_settled() && graph.editor.control().is_settled(),
        }
    }

    /// The number and frame of each edit that took effect since the last call.
    pub(crate) fn take_applied(&mut self) -> VecDeque<(u64, u64)> {
        self.collect();
        std::mem::take(&mut self.applied)
    }

    fn accept(&mut self) {
        let number = self.accepted;
        self.accepted += 1;
        // A thread that is ending will not ask for it.
        let _ = LAST.try_with(|last| last.set(number));
        // At each edit, so that a host that never asks does not fill the memory.
        self.collect();
    }

    fn collect(&mut self) {
        match &mut self.hand {
            Hand::Session(editor) => {
                // The leader carries out edits in the order in which they were accepted.
                for applied in editor.take_applied() {
                    self.applied.push_back((self.finished, applied.frame));
                    self.finished += 1;
                }
            }
            Hand::Graph(graph) => {
                let applied = graph.editor.take_applied();
                self.applied.extend(applied.into_iter().map(|edit| (edit.number, edit.frame)));
            }
        }
        let over = self.applied.len().saturating_sub(HOCKET_APPLIED_KEPT as usize);
        self.applied.drain(..over);
    }
}

impl GraphInHand {
    pub(crate) fn new(
        editor: GraphEditor,
        played: Played,
        (rate_hz, frames): (u32, u32),
    ) -> GraphInHand {
        let lanes = HashMap::new();
        GraphInHand { editor, played, rate_hz, frames, version: next_version(), lanes }
    }

    /// A copy that the host can change.
    pub(crate) fn copy(&self) -> Graph {
        self.played.copy(self.version)
    }

    pub(crate) fn change(&mut self, node: u32, param: u32, value: f32) -> Result<(), Failure> {
        let (id, index) = self.param(node, param)?;
        self.editor.change(id, NodeChange::Param { index, value })?;
        Ok(())
    }

    /// Gives parameters of nodes lanes, or removes them.
    pub(crate) fn automate(
        &mut self,
        lanes: Vec<(u32, u32, Option<LaneSpec>)>,
    ) -> Result<(), Failure> {
        let mut have = self.lanes.clone();
        let mut changes = Vec::new();
        for (number, index, lane) in lanes {
            let (node, param) = self.param(number, index)?;
            let of_node = have.entry(number).or_default();
            _ = if lane.is_some() { of_node.insert(index) } else { of_node.remove(&index) };
            changes.push(LaneChange { node, param, lane });
        }
        have.retain(|node, params| !params.is_empty() && self.played.has(*node));
        // Before the first block with the lanes. What fails below has made room for nothing.
        for (node, params) in &have {
            self.played.make_room(*node, params.len(), self.frames as usize);
        }
        self.editor.automate(changes)?;
        self.lanes = have;
        Ok(())
    }

    fn make_room_for(&mut self, frames: u32) {
        self.frames = self.frames.max(frames);
        for (node, params) in &self.lanes {
            self.played.make_room(*node, params.len(), self.frames as usize);
        }
    }

    /// What processors reported since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        let notices = self.editor.control().take_notices().into_iter();
        notices.filter_map(|notice| Notice::of(notice, |id| self.played.number(id))).collect()
    }

    pub(crate) fn save_state(&self, node: u32) -> Result<Vec<u8>, Failure> {
        let id = self.id(node)?;
        self.editor.control().save_state(id).map_err(|failure| state_failure(node, failure))
    }

    pub(crate) fn load_state(&mut self, node: u32, state: &[u8]) -> Result<(), Failure> {
        let id = self.id(node)?;
        let loaded = self.editor.load_state(id, state);
        loaded.map(|_| ()).map_err(|failure| state_failure(node, failure))
    }

    /// The states of all processors, with the host's numbers, and what could not be saved.
    pub(crate) fn save_states(&self) -> Result<(Vec<SavedState>, Vec<StateFailure>), Failure> {
        let mut saved = self.editor.control().save_states()?;
        // All nodes of the graph have a number.
        for state in &mut saved.states {
            state.node = NodeId(self.played.number(state.node).unwrap_or(u32::MAX));
        }
        Ok((saved.states, saved.failures))
    }

    /// Restores states, with the host's numbers. Returns whether anything is handed over, and what stays out.
    fn restore_states(
        &mut self,
        mut states: Vec<SavedState>,
    ) -> Result<(bool, Vec<StateFailure>), Failure> {
        let mut numbers = HashMap::new();
        for (place, state) in (0..).zip(&mut states) {
            let number = state.node;
            // A number without a node gets one that no node of the engine has: its name decides.
            let id = self.played.id(number.0).unwrap_or(NodeId(u32::MAX - place));
            state.node = id;
            numbers.insert(id, number);
        }
        let mut restored = self.editor.restore_states(&states)?;
        for failure in &mut restored.failures {
            if let StateFailure::Gone { node, .. } = failure {
                *node = numbers.get(node).copied().unwrap_or(*node);
            }
        }
        Ok((restored.number.is_some(), restored.failures))
    }

    fn id(&self, node: u32) -> Result<NodeId, Failure> {
        let missing = || Failure::bad_input(format!("the graph has no node {node}"));
        self.played.id(node).ok_or_else(missing)
    }

    /// A parameter that can change while it plays.
    fn param(&self, node: u32, param: u32) -> Result<(NodeId, u16), Failure> {
        let id = self.id(node)?;
        let index = u16::try_from(param).map_err(|_| no_param(node, param))?;
        if let Some(kind) = self.played.kind(node) {
            let param = kind.params.get(param as usize).ok_or_else(|| no_param(node, param))?;
            if param.fixed {
                return Err(Failure::bad_input(format!(
                    "effect '{}': {} decides memory or latency and cannot change while it plays",
                    kind.name, param.name
                )));
            }
        }
        Ok((id, index))
    }

    pub(crate) fn exchange(&mut self, graph: Graph, change: Change) -> Result<(), Failure> {
        if graph.copy_of() != Some(self.version) {
            return Err(Failure::bad_input(
                "the graph is no copy of what the engine plays now (hocket_engine_graph): another \
                 edit came first, or it was made anew",
            ));
        }
        let laid_out = graph.laid_out(self.rate_hz)?;
        let source = |(node, source)| match source {
            Source::Sum => NodeSource::Sum,
            Source::New(processor) => NodeSource::New(processor),
            // It existed when the copy was made, and nobody has exchanged the graph since.
            Source::Kept => self.played.id(node).map_or(NodeSource::Sum, NodeSource::Kept),
        };
        let sources = laid_out.nodes.into_iter().map(source).collect();
        match change {
            Change::AtOnce => self.editor.replace_at_once(&laid_out.graph, sources)?,
            Change::Fades => self.editor.replace(&laid_out.graph, sources)?,
        };
        (self.played, self.version) = (laid_out.played, next_version());
        Ok(())
    }
}

/// With the host's number of the node.
fn state_failure(node: u32, failure: StateFailure) -> Failure {
    match failure {
        StateFailure::NoNode(_) => {
            Failure::bad_input(format!("node {node} has no state: it has no processor"))
        }
        StateFailure::Control(error) => error.into(),
        StateFailure::NoState(_) | StateFailure::Gone { .. } | StateFailure::Refused { .. } => {
            Failure::bad_input(failure)
        }
    }
}

fn no_param(node: u32, param: u32) -> Failure {
    Failure::bad_input(format!("node {node} has no parameter {param}"))
}

/// A number that no other graph of the process has.
fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the number publishes nothing.
    NEXT.fetch_add(1, Relaxed)
}
