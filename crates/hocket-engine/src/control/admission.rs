//! Edits that are tried out before they are made: their processors are warmed up beside the audio, and their cost is compared
//! with what the running session leaves.

use std::fmt;
use std::sync::{Arc, Weak};

use hocket_plan::session::Session;
use hocket_plan::{Graph, NodeId};

use super::edit::{Edit, EditError, Needs, check_destinations};
use super::editor::{Editor, Key, Names, NewNodes};
use super::handle::{Control, ControlError};
use super::main_thread::Services;
use super::planner::Planner;
use super::prepare::Workshop;
use super::warm_up::{Beside, WarmCost, WarmUp};
use crate::block::node::NodeCell;
use crate::block::times::period_ns;

/// Of the measured blocks of a new processor, the part in which it may fail.
const FAILURES: f64 = 0.05;

/// What an edit needs, and what the running session leaves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// What the new processors take, in the order of their nodes.
    pub processors: Vec<WarmCost>,
    /// What 99 of 100 blocks of full length take at most, in nanoseconds. Until 48 blocks of a new plan have run, it is what
    /// blocks took before, and what edits that were admitted since were expected to add.
    pub block_ns: f64,
    /// By how much longer the planner expects a block to be, in nanoseconds, with new processors at [`WarmCost::high_ns`].
    /// Not simply their sum: another worker may have time for them.
    pub needed_ns: f64,
    /// What there is for a block, in nanoseconds.
    pub period_ns: f64,
}

impl Admission {
    /// What blocks leave of the period, in nanoseconds.
    pub fn headroom_ns(&self) -> f64 {
        (self.period_ns - self.block_ns).max(0.0)
    }

    /// The first new processor that failed in more than a twentieth of its blocks.
    pub fn failing(&self) -> Option<&WarmCost> {
        let fails = |cost: &&WarmCost| cost.failed as f64 > f64::from(cost.blocks) * FAILURES;
        self.processors.iter().find(fails)
    }

    /// Whether the edit can be made without making blocks late, as far as measurements tell.
    pub fn fits(&self) -> bool {
        self.needed_ns <= self.headroom_ns() && self.failing().is_none()
    }
}

impl fmt::Display for Admission {
    /// What it needs of what is free, for users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: f64| ns / 1e3;
        if let Some(WarmCost { failed, blocks, .. }) = self.failing() {
            write!(f, "it failed in {failed} of {blocks} blocks, or was late; ")?;
        }
        let (needed, free, period) = (self.needed_ns, self.headroom_ns(), self.period_ns);
        let (needed, free, period) = (us(needed), us(free), us(period));
        write!(f, "it needs {needed:.1} µs per block, and {free:.1} of {period:.1} µs are free")
    }
}

/// An edit that has been tried out. Its processors are warm; nobody hears them yet. A drop frees them.
pub struct Candidate {
    edit: Edit,
    /// New nodes.
    made: NewNodes,
    /// How many graphs the editor had sent when the names of its nodes were given.
    graphs: u64,
    admission: Admission,
    /// Last: its drop waits for the main thread, which frees what the nodes above were.
    _control: Control,
}

impl Candidate {
    /// The edit.
    pub fn edit(&self) -> &Edit {
        &self.edit
    }

    /// What it needs.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { edit, admission, .. } = self;
        f.debug_struct("Candidate")
            .field("edit", edit)
            .field("admission", admission)
            .finish_non_exhaustive()
    }
}

/// Trying out.
impl Editor {
    /// Makes the processors that an edit needs and runs them beside the audio, with blocks of the engine's length and noise or
    /// chords as their input. Says what they take, and what the session leaves. [`Editor::admit`] makes the edit then. An edit
    /// that brings no processor needs nothing.
    ///
    /// The estimate takes a processor to cost on the workers what it costs here. Make the call on a thread that has the
    /// CPU for itself most of the time; a thread that is often put aside makes processors look expensive.
    ///
    /// Thread: control. Cost: as many blocks as `how` says; nothing waits for it.
    ///
    /// # Errors
    /// [`EditError`], as [`Editor::apply`]; [`EditError::Panicked`]; [`ControlError::NothingMeasured`] before some blocks
    /// have run.
    pub fn try_out(&mut self, edit: Edit, how: WarmUp) -> Result<Candidate, EditError> {
        let session = self.edited(&edit)?;
        let control = self.control.clone();
        let period_ns = {
            let inner = control.lock();
            period_ns(inner.frames as u64, inner.rate_hz) as f64
        };
        let (mut made, mut processors, mut needed_ns) = (Vec::new(), Vec::new(), 0.0);
        if edit.needs() == Needs::Plan {
            let trial = Trial::new(self, &edit, &session)?;
            (made, processors) = trial.made(self, &session, how)?;
            needed_ns = trial.needed_ns(self, &made, &processors)?;
        }
        let block_ns = control.lock().high_ns().ok_or(ControlError::NothingMeasured)?;
        let admission = Admission { processors, block_ns, needed_ns, period_ns };
        let graphs = self.graphs;
        Ok(Candidate { edit, made, graphs, admission, _control: control })
    }

    /// Makes an edit that was tried out, whatever came of it: ask [`Admission::fits`] first.
    ///
    /// # Errors
    /// [`EditError::Outdated`] if another edit changed the graph meanwhile; otherwise as [`Editor::apply`]. Nothing has
    /// changed then.
    pub fn admit(&mut self, candidate: Candidate) -> Result<(), EditError> {
        let Candidate { edit, made, graphs, admission, _control } = candidate;
        if graphs != self.graphs {
            return Err(EditError::Outdated);
        }
        let keys: Vec<Key> = made.iter().map(|(key, _)| *key).collect();
        self.apply_with(edit, made)?;
        let cells = keys.iter().map(|key| self.nodes.get(key)?.1.as_ref());
        let costs = cells.zip(&admission.processors);
        let costs = costs.filter_map(|(cell, cost)| Some((Arc::downgrade(cell?), cost.high_ns)));
        self.control.lock().load.admit(admission.needed_ns, costs);
        Ok(())
    }

    /// The session after an edit.
    pub(super) fn edited(&self, edit: &Edit) -> Result<Session, EditError> {
        self.check_bypass(edit)?;
        let mut session = self.session.clone();
        edit.apply(&mut session, self.media.effects())?;
        check_destinations(&session)?;
        Ok(session)
    }
}

/// The graph of an edit that is tried out.
struct Trial {
    graph: Graph,
    /// By node.
    keys: Vec<Key>,
}

impl Trial {
    fn new(editor: &Editor, edit: &Edit, session: &Session) -> Result<Trial, EditError> {
        let mut names: Names = editor.names.clone();
        names.edit(edit);
        let graph = editor.graph_of(session, &names)?;
        let keys = graph.nodes().iter().map(|node| names.key(node.kind)).collect();
        Ok(Trial { graph, keys })
    }

    /// New nodes, warmed up, and what they take.
    fn made(
        &self,
        editor: &Editor,
        session: &Session,
        how: WarmUp,
    ) -> Result<(NewNodes, Vec<WarmCost>), EditError> {
        let workshop = Workshop::new(session, &editor.media, editor.rate_hz);
        let (beside, services) = beside(&editor.control);
        let (mut made, mut costs) = (Vec::new(), Vec::new());
        for (node, key) in self.graph.nodes().iter().zip(&self.keys) {
            if editor.nodes.contains_key(key) {
                continue;
            }
            let Some(processor) = workshop.editable(node.kind, true)? else { continue };
            let mut cell = NodeCell::joining(node.name.clone(), processor, &services)?;
            let cost = beside.run(&mut cell, node.ports, how);
            costs.push(cost.ok_or_else(|| EditError::Panicked(node.name.clone()))?);
            made.push((*key, cell));
        }
        Ok((made, costs))
    }

    /// How much longer the planner expects a block to be.
    fn needed_ns(
        &self,
        editor: &Editor,
        made: &[(Key, NodeCell)],
        processors: &[WarmCost],
    ) -> Result<f64, EditError> {
        let cost = |key: &Key| {
            let place = made.iter().position(|(own, _)| own == key)?;
            Some(processors[place].high_ns)
        };
        let costs: Vec<Option<f64>> = self.keys.iter().map(cost).collect();
        let cell = |key: &Key| editor.nodes.get(key).and_then(|(_, cell)| cell.clone());
        let nodes: Vec<_> = self.keys.iter().map(cell).collect();
        let before = |id: NodeId| editor.nodes.get(&self.keys[id.index()]).map(|(id, _)| *id);
        let mut inner = editor.control.lock();
        let (with, without) = inner.compared(self.graph.clone(), &nodes, before, &costs)?;
        Ok((with - without).max(0.0))
    }
}

/// What blocks take, for edits that come before the last ones have been measured.
#[derive(Default)]
pub(super) struct Load {
    /// What 99 of 100 blocks of full length took at most when that was last known, in nanoseconds.
    high_ns: Option<f64>,
    /// By how much longer blocks were expected to be after edits that were admitted since then.
    admitted_ns: f64,
    /// New nodes of those edits, and what they were measured to cost beside the audio.
    unlearned: Vec<(Weak<NodeCell>, f64)>,
}

impl Load {
    fn admit(&mut self, needed_ns: f64, costs: impl Iterator<Item = (Weak<NodeCell>, f64)>) {
        self.admitted_ns += needed_ns;
        self.unlearned.extend(costs);
    }

    /// What a node costs that no price has in it yet.
    pub(super) fn unlearned_ns(&self, cell: &Option<Arc<NodeCell>>) -> Option<f64> {
        let cell = Arc::as_ptr(cell.as_ref()?);
        let found = self.unlearned.iter().find(|(own, _)| own.as_ptr() == cell)?;
        Some(found.1)
    }

    /// Blocks have another length from now on.
    pub(super) fn scale(&mut self, scale: f64) {
        self.high_ns = self.high_ns.map(|ns| ns * scale);
        self.admitted_ns *= scale;
        self.unlearned.iter_mut().for_each(|(_, ns)| *ns *= scale);
    }
}

impl Planner {
    /// Takes over what blocks of the present plan take. Where too few have run to rely on, what was known before stays.
    pub(super) fn follow_load(&mut self) {
        let Some((ticks, is_reliable)) = self.progress.high_ticks(self.present.number) else {
            return;
        };
        let high_ns = Some(ticks * self.ns_per_tick());
        if is_reliable {
            self.load = Load { high_ns, ..Load::default() };
        }
        self.load.high_ns = self.load.high_ns.or(high_ns);
    }

    /// What 99 of 100 blocks of full length take at most, in nanoseconds, with what was admitted and not measured yet;
    /// `None` before that is known.
    fn high_ns(&mut self) -> Option<f64> {
        self.follow_load();
        Some(self.load.high_ns? + self.load.admitted_ns)
    }
}

fn beside(control: &Control) -> (Beside, Arc<Services>) {
    let inner = control.lock();
    let services = Arc::clone(&inner.services);
    let (frames, rate_hz, map) = (inner.frames, inner.rate_hz, Arc::clone(&inner.map));
    (Beside { frames, rate_hz, map, background: Arc::clone(services.background()) }, services)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(failed: u64) -> WarmCost {
        WarmCost { node: "a: eq".into(), blocks: 200, median_ns: 3e3, high_ns: 4e3, failed }
    }

    fn admission(needed_ns: f64, failed: u64) -> Admission {
        let processors = vec![cost(failed)];
        Admission { processors, block_ns: 900e3, needed_ns, period_ns: 1_000e3 }
    }

    #[test]
    fn an_edit_fits_where_blocks_leave_as_much_as_it_needs() {
        assert!(admission(100e3, 10).fits());
        assert!(!admission(100.1e3, 0).fits());
        assert!(!admission(1.0, 11).fits());
        let full = Admission { block_ns: 2_000e3, ..admission(1.0, 0) };
        assert!(full.headroom_ns() == 0.0 && !full.fits());
    }

    #[test]
    fn users_are_told_what_it_needs_of_what_is_free() {
        let text = admission(120e3, 0).to_string();
        assert_eq!(text, "it needs 120.0 µs per block, and 100.0 of 1000.0 µs are free");
        let text = admission(1e3, 20).to_string();
        assert!(text.starts_with("it failed in 20 of 200 blocks, or was late; it needs"), "{text}");
    }
}
