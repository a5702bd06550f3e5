//! An editor for an engine that was started without one.

use std::collections::{HashMap, HashSet};

use hocket_plan::session::Session;
use hocket_plan::{Graph, NodeId, NodeKind};

use super::edit::{Edit, EditError};
use super::editor::{Editor, Key, Names, graph_of};
use super::handle::Control;
use super::media::MediaPool;

/// An output of an adopted engine that is none of the session's, such as one that a recording reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tapped {
    /// This node.
    Node(Key),
    /// What this node reads first: the end of a chain, in front of its fader.
    Before(Key),
}

/// Editors of engines that play.
impl Editor {
    /// Edits a session that an engine plays already, from [`prepare_session`](crate::prepare_session). Further outputs of its
    /// graph, behind the session's own, stay with their nodes. `rate_hz`: the engine's.
    ///
    /// Effects that the engine began with play on as they are: [`Edit::Bypass`] of one is refused, because it has no bypass
    /// that could be cross-faded. Nobody else may edit the graph. Changes of parameters through [`Control::change`] go on
    /// working, but the editor's session does not learn of them.
    ///
    /// Thread: control. Cost: O(nodes), and a copy of the session.
    ///
    /// # Errors
    /// [`EditError::OtherSession`], [`EditError::Graph`].
    pub fn adopt(
        control: &Control,
        session: Session,
        media: MediaPool,
        rate_hz: u32,
    ) -> Result<Editor, EditError> {
        let graph = graph_of(&session, media.effects(), rate_hz)?;
        let names = Names::of(&session);
        let keys: Vec<Key> = graph.nodes().iter().map(|node| names.key(node.kind)).collect();
        let (cells, tapped) = {
            let inner = control.lock();
            let kinds = |graph: &Graph| -> Vec<NodeKind> {
                graph.nodes().iter().map(|node| node.kind).collect()
            };
            let (own, all) = (graph.outputs(), inner.requested.outputs());
            if kinds(&graph) != kinds(&inner.requested) || !all.starts_with(&own) {
                return Err(EditError::OtherSession);
            }
            let cell = |place: &NodeId| inner.nodes()[place.index()].clone();
            let cells: Vec<_> = inner.places.iter().map(cell).collect();
            let tapped = all[own.len()..].iter().map(|id| tapped(&graph, &keys, *id));
            (cells, tapped.collect())
        };
        let is_effect = |node: &hocket_plan::Node| matches!(node.kind, NodeKind::Effect { .. });
        let effects = graph.nodes().iter().zip(&keys).filter(|(node, _)| is_effect(node));
        let without_bypass: HashSet<Key> = effects.map(|(_, key)| *key).collect();
        let nodes: HashMap<_, _> = keys.into_iter().zip((0..).map(NodeId).zip(cells)).collect();
        Ok(Editor {
            session,
            media,
            rate_hz,
            names,
            nodes,
            tapped,
            without_bypass,
            graphs: 0,
            sent: Vec::new(),
            applied: Vec::new(),
            fades: true,
            control: control.clone(),
        })
    }

    /// The graph of a session, with the outputs that were added to it.
    pub(super) fn graph_of(&self, session: &Session, names: &Names) -> Result<Graph, EditError> {
        let mut graph = graph_of(session, self.media.effects(), self.rate_hz)?;
        if self.tapped.is_empty() {
            return Ok(graph);
        }
        let keys: Vec<Key> = graph.nodes().iter().map(|node| names.key(node.kind)).collect();
        let place = |key: &Key| keys.iter().position(|own| own == key);
        let mut outputs = graph.outputs();
        for tapped in &self.tapped {
            let (key, is_before) = match tapped {
                Tapped::Node(key) => (key, false),
                Tapped::Before(key) => (key, true),
            };
            // Left out, it would shift those behind it.
            let missing = || EditError::Tapped;
            let place = place(key).ok_or_else(missing)?;
            let before = || graph.nodes()[place].inputs.first().map(|edge| edge.from);
            let node = if is_before { before() } else { Some(NodeId(place as u32)) };
            outputs.push(node.ok_or_else(missing)?);
        }
        graph.set_outputs(outputs)?;
        Ok(graph)
    }

    /// Refuses to bypass an effect that has no bypass.
    pub(super) fn check_bypass(&self, edit: &Edit) -> Result<(), EditError> {
        let Edit::Bypass(at, _) = edit else { return Ok(()) };
        let key = self.names.key(NodeKind::Effect { strip: at.strip, index: at.index });
        match self.without_bypass.contains(&key) {
            true => {
                let strip = self.session.strip(at.strip).name.clone();
                Err(EditError::NoBypass { strip, index: at.index })
            }
            false => Ok(()),
        }
    }
}

/// The end of a chain moves on with its chain.
fn tapped(graph: &Graph, keys: &[Key], id: NodeId) -> Tapped {
    let node = &graph.nodes()[id.index()];
    if matches!(node.kind, NodeKind::Fader(_) | NodeKind::Input(_)) {
        return Tapped::Node(keys[id.index()]);
    }
    let reads = |node: &hocket_plan::Node| {
        let first = node.inputs.first().map(|edge| edge.from);
        matches!(node.kind, NodeKind::Fader(_)) && first == Some(id)
    };
    match graph.nodes().iter().position(reads) {
        Some(fader) => Tapped::Before(keys[fader]),
        None => Tapped::Node(keys[id.index()]),
    }
}
