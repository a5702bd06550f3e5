//! Plays a graph of the host's and edits it at the same time.
//!
//! What [`Editor`](super::editor::Editor) is for sessions, without a model of its own: the host says
//! which nodes of the new graph are nodes of the old one. Those keep their processors, with the very
//! state that they had.

use std::collections::HashSet;
use std::sync::Arc;

use hocket_dsp::{Change, Processor};
use hocket_plan::{Fusing, Graph, NodeId};

use super::automation::LaneChange;
use super::edit::EditError;
use super::editor::EditorError;
use super::engine::Engine;
use super::handle::{Control, ControlError};
use super::main_thread::StateFailure;
use super::planner::Installation;
use super::prepare::{PrepareError, Prepared, check_stereo};
use super::seating::Seating;
use super::settings::Settings;
use super::states::{RestoredStates, SavedState};
use crate::block::node::NodeCell;
use crate::leader::order::Order;

/// What does the work of a node in a graph that takes the place of another.
pub enum NodeSource {
    /// The node that had this id in the graph before, as it is, with the delay lines of its edges. Also for a node
    /// that only sums.
    Kept(NodeId),
    /// A processor that is new.
    New(Box<dyn Processor>),
    /// Nothing: the node is new and only sums.
    Sum,
}

/// When an edit of a graph took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedAt {
    /// Number of the edit: 0 for the first that was accepted.
    pub number: u64,
    /// Frames since the start.
    pub frame: u64,
}

/// A graph in the hands of a control thread, while an engine plays it.
///
/// Thread: control.
pub struct GraphEditor {
    /// By node of the newest graph.
    cells: Vec<Option<Arc<NodeCell>>>,
    /// By node of the newest graph: whether its processor works on stereo nodes alone. Kept here, because blocks have the
    /// processor.
    stereo: Vec<bool>,
    accepted: u64,
    /// Edits on their way, by the number of their order.
    sent: Vec<(u64, u64)>,
    applied: Vec<AppliedAt>,
    /// Last: its drop waits for the main thread, which frees what the nodes above were.
    control: Control,
}

impl GraphEditor {
    /// Starts an engine for the graph. `processors`: one for each node, `None` for one that only sums.
    ///
    /// # Errors
    /// [`EditorError`].
    pub fn start(
        graph: &Graph,
        processors: Vec<Option<Box<dyn Processor>>>,
        settings: Settings,
        seating: Seating,
    ) -> Result<(Engine, GraphEditor), EditorError> {
        let of = |it: &Option<Box<dyn Processor>>| it.as_ref().is_some_and(|it| it.is_stereo());
        let stereo = processors.iter().map(of).collect();
        let prepared = Prepared::from_graph(graph, processors, Fusing::Chains)?;
        let engine = Engine::start(prepared, settings, seating)?;
        let control = engine.control();
        let cells = control.lock().nodes().to_vec();
        let (sent, applied) = (Vec::new(), Vec::new());
        Ok((engine, GraphEditor { control, cells, stereo, accepted: 0, sent, applied }))
    }

    /// The engine's handle.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Sends a node's processor a change; it comes as an event at the start of the next block. Returns
    /// the number of the edit.
    ///
    /// # Errors
    /// [`EditError::NoNode`], [`EditError::NotANumber`], [`EditError::Control`]: nothing has changed
    /// then.
    pub fn change(&mut self, node: NodeId, change: Change) -> Result<u64, EditError> {
        let Change::Param { value, .. } = change;
        if !value.is_finite() {
            return Err(EditError::NotANumber(value));
        }
        self.match_done();
        let cell = self.cells.get(node.index()).cloned().flatten();
        let changes = vec![(cell.ok_or(EditError::NoNode(node))?, change)];
        let order = self.control.lock().send(Order { changes, ..Order::default() })?;
        Ok(self.accept(order))
    }

    /// Gives parameters automation lanes or removes them, all before the next block; see [`Control::automate`]. Returns
    /// the number of the edit.
    ///
    /// # Errors
    /// [`EditError::NoNode`], [`EditError::Control`]: nothing has changed then.
    pub fn automate(
        &mut self,
        changes: impl IntoIterator<Item = LaneChange>,
    ) -> Result<u64, EditError> {
        self.match_done();
        let order = self.control.automate(changes)?;
        Ok(self.accept(order))
    }

    /// Goes on with another graph. `sources`: one for each of its nodes. Returns the number of the edit.
    ///
    /// Edges that come, go or change their gain fade, over 512 frames from the block on at which the edit takes effect, if
    /// the node that reads stays with its ports. What is removed runs on for that time, with what feeds back to it. It
    /// leaves after it, when this editor is asked for something or the engine makes a new plan, and is then freed on the
    /// engine's main thread ([`hocket_dsp::host`]).
    ///
    /// From one block to the next change outputs, edges of a node whose ports change, and edges that leave where the old
    /// and the new ways together would make a cycle ([`Control::refused_fades`] counts these).
    ///
    /// The sound depends on the edits and on the blocks at which they take effect, and on nothing else.
    ///
    /// Cost: builds and verifies a plan.
    ///
    /// # Errors
    /// [`EditError::NoNode`] where a node is kept that is not there or is kept twice,
    /// [`EditError::Prepare`], [`EditError::Graph`], [`EditError::Thread`], [`EditError::Control`]. The old graph plays on,
    /// and new processors are freed.
    pub fn replace(&mut self, graph: &Graph, sources: Vec<NodeSource>) -> Result<u64, EditError> {
        self.go_on_with(graph, sources, true)
    }

    /// The same from one block to the next, without fades; those that run end. Only delays that change still fade from
    /// the old one to the new one.
    ///
    /// # Errors
    /// As [`GraphEditor::replace`].
    pub fn replace_at_once(
        &mut self,
        graph: &Graph,
        sources: Vec<NodeSource>,
    ) -> Result<u64, EditError> {
        self.go_on_with(graph, sources, false)
    }

    fn go_on_with(
        &mut self,
        graph: &Graph,
        sources: Vec<NodeSource>,
        fades: bool,
    ) -> Result<u64, EditError> {
        let (processors, nodes) = (sources.len(), graph.nodes().len());
        if processors != nodes {
            return Err(PrepareError::Processors { processors, nodes }.into());
        }
        self.match_done();
        let (mut cells, mut before, mut stereo) = (Vec::new(), Vec::new(), Vec::new());
        let mut kept = HashSet::new();
        let services = Arc::clone(&self.control.lock().services);
        for (node, source) in graph.nodes().iter().zip(sources) {
            let stays_stereo = self.stays_stereo(&source);
            check_stereo(node, stays_stereo)?;
            stereo.push(stays_stereo);
            let (cell, old) = match source {
                NodeSource::Sum => (None, None),
                NodeSource::Kept(old) if !kept.insert(old) => {
                    return Err(EditError::NoNode(old));
                }
                NodeSource::Kept(old) => {
                    let cell = self.cells.get(old.index()).ok_or(EditError::NoNode(old))?;
                    (cell.clone(), Some(old))
                }
                NodeSource::New(processor) => {
                    let cell = NodeCell::joining(node.name.clone(), processor, &services)?;
                    (Some(Arc::new(cell)), None)
                }
            };
            cells.push(cell);
            before.push(old);
        }
        let (nodes, changes) = (cells.clone(), Vec::new());
        let new = Installation { graph: graph.clone(), nodes, changes, fades };
        let order = self.control.lock().install(new, |id| before[id.index()])?;
        (self.cells, self.stereo) = (cells, stereo);
        Ok(self.accept(order))
    }

    /// Whether what does the work of a new node works on stereo nodes alone.
    fn stays_stereo(&self, source: &NodeSource) -> bool {
        match source {
            NodeSource::Sum => false,
            NodeSource::Kept(old) => self.stereo.get(old.index()).copied().unwrap_or(false),
            NodeSource::New(processor) => processor.is_stereo(),
        }
    }

    /// Has a node's processor go on with a state that was saved; see [`Control::load_state`]. Returns the number of the
    /// edit, so [`GraphEditor::take_applied`] says from which frame on.
    ///
    /// # Errors
    /// [`StateFailure`]: nothing has changed then.
    pub fn load_state(&mut self, node: NodeId, state: &[u8]) -> Result<u64, StateFailure> {
        self.match_done();
        let order = self.control.load_state(node, state)?;
        Ok(self.accept(order))
    }

    /// Has processors go on with states that were saved, all before one block; see [`Control::restore_states`].
    /// [`RestoredStates::number`] is the number of the edit.
    ///
    /// # Errors
    /// [`ControlError`]: nothing has changed then.
    pub fn restore_states(
        &mut self,
        states: &[SavedState],
    ) -> Result<RestoredStates, ControlError> {
        self.match_done();
        let restored = self.control.restore_states(states)?;
        let number = restored.number.map(|order| self.accept(order));
        Ok(RestoredStates { number, ..restored })
    }

    /// Edits that were carried out since the last call, in order, with their frames.
    pub fn take_applied(&mut self) -> Vec<AppliedAt> {
        self.match_done();
        std::mem::take(&mut self.applied)
    }

    /// Whether every accepted edit has been carried out.
    pub fn is_settled(&mut self) -> bool {
        self.match_done();
        self.sent.is_empty()
    }

    fn accept(&mut self, order: u64) -> u64 {
        let number = self.accepted;
        self.accepted += 1;
        self.sent.push((order, number));
        number
    }

    fn match_done(&mut self) {
        let done = self.control.lock().take_done();
        for (order, frame) in done {
            if let Some(at) = self.sent.iter().position(|(sent, _)| *sent == order) {
                let (_, number) = self.sent.remove(at);
                self.applied.push(AppliedAt { number, frame });
            }
        }
    }
}
