//! Plays a session and edits it at the same time.
//!
//! The editor keeps the session as a model. An edit changes the model, and the difference becomes an order
//! to the engine: changes of parameters for nodes that stay, or a new plan that shares the nodes that stay.
//! The leader carries it out between two blocks, without locks, allocations or frees. Then the editor
//! learns the frame. The same edits at the same frames give the same bits again.
//!
//! Nothing clicks: parameters are smoothed, and routes, sends, effects and strips that come or go fade
//! (`control/transition.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hocket_dsp::{Bypass, Change, Fader};
use hocket_plan::graph::{audible, session_graph, silent_by_solo};
use hocket_plan::session::{EventsOf, ReturnId, Send, SendAt, Session, Strip, StripId, Tap};
use hocket_plan::{Fusing, Graph, NodeId, NodeKind};

use super::adopt::Tapped;
use super::automation::LaneSpec;
use super::edit::{Edit, EditError, EffectAt, LaneTarget, Needs};
use super::engine::Engine;
use super::handle::Control;
use super::media::MediaPool;
use super::planner::Installation;
use super::prepare::{PrepareError, Workshop, parameter, prepared};
use super::seating::Seating;
use super::settings::Settings;
use super::start::EngineError;
use crate::block::node::NodeCell;
use crate::catalogue::Effects;
use crate::leader::order::Order;

/// An edit that the engine has carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The edit.
    pub edit: Edit,
    /// Frames since the session's start at which it took effect.
    pub frame: u64,
}

/// Why a session cannot be played and edited.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The session.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A session in the hands of a control thread, while an engine plays it.
///
/// Thread: control.
pub struct Editor {
    pub(super) session: Session,
    pub(super) media: MediaPool,
    pub(super) rate_hz: u32,
    pub(super) names: Names,
    /// The nodes of the engine's newest plan, by their purpose.
    pub(super) nodes: HashMap<Key, (NodeId, Option<Arc<NodeCell>>)>,
    /// Outputs behind the session's own, of an engine that was adopted.
    pub(super) tapped: Vec<Tapped>,
    /// Effects of such an engine that cannot be bypassed.
    pub(super) without_bypass: HashSet<Key>,
    /// How many graphs were sent.
    pub(super) graphs: u64,
    /// Edits that were sent, by the number of their order.
    pub(super) sent: Vec<(u64, Edit)>,
    pub(super) applied: Vec<Applied>,
    pub(super) fades: bool,
    /// Last: its drop waits for the main thread, which frees what the nodes above were.
    pub(super) control: Control,
}

/// The purpose of a node, which stays when its index changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Head(u64),
    /// A track that also plays an input has a head before its head.
    Player(u64),
    Notes(u64),
    Send(u64),
    Effect(u64),
    Fader(u64),
    Input(u16),
    /// What a take records of a track.
    TrackEvents(u64),
    /// What a take records of an input.
    InputEvents(usize),
    Custom(u32),
}

/// Nodes that no plan has yet, by their purpose.
pub(super) type NewNodes = Vec<(Key, NodeCell)>;

/// Names that stay when indices move.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    tracks: Vec<StripNames>,
    groups: Vec<StripNames>,
    returns: Vec<StripNames>,
    master: StripNames,
    next: u64,
}

#[derive(Debug, Clone, Default)]
struct StripNames {
    own: u64,
    effects: Vec<u64>,
    /// Each with the return that it feeds, by its present index.
    sends: Vec<(u64, ReturnId)>,
}

impl Editor {
    /// Starts an engine for the session; every effect can be bypassed without a click.
    ///
    /// # Errors
    /// [`EditorError`].
    pub fn start(
        session: Session,
        media: MediaPool,
        settings: Settings,
        seating: Seating,
    ) -> Result<(Engine, Editor), EditorError> {
        let rate_hz = settings.rate_hz;
        let graph = graph_of(&session, media.effects(), rate_hz).map_err(PrepareError::Graph)?;
        let workshop = Workshop::new(&session, &media, rate_hz);
        let processors: Result<Vec<_>, _> =
            graph.nodes().iter().map(|node| workshop.editable(node.kind, false)).collect();
        let mut prepared = prepared(&graph, processors?, Fusing::Chains)?;
        prepared.add_song(&session, media.effects(), rate_hz)?;
        let engine = Engine::start(prepared, settings, seating)?;
        let names = Names::of(&session);
        let control = engine.control();
        let cells = control.lock().nodes().to_vec();
        let keys = graph.nodes().iter().map(|node| names.key(node.kind));
        let ids = (0..).map(NodeId);
        let nodes = keys.zip(ids.zip(cells)).collect();
        let editor = Editor {
            session,
            media,
            rate_hz,
            names,
            nodes,
            tapped: Vec::new(),
            without_bypass: HashSet::new(),
            graphs: 0,
            sent: Vec::new(),
            applied: Vec::new(),
            fades: true,
            control,
        };
        Ok((engine, editor))
    }

    /// The session with all edits that were accepted.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The engine's handle.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Whether routes, sends, effects and strips that come or go fade from now on, over 512 frames, as they do at the
    /// start. Otherwise they change from one block to the next, and fades that run end.
    ///
    /// The setting is part of the edits: a replay sounds the same if it is made with the same one.
    pub fn fade_edits(&mut self, on: bool) {
        self.fades = on;
    }

    /// Sends an edit to the engine, which carries it out before its next block.
    ///
    /// # Errors
    /// [`EditError`]; nothing has changed then. After [`ControlError::Full`] a retry helps.
    ///
    /// [`ControlError::Full`]: super::handle::ControlError::Full
    pub fn apply(&mut self, edit: Edit) -> Result<(), EditError> {
        self.apply_with(edit, Vec::new())
    }

    /// The same with new nodes that are there already.
    pub(super) fn apply_with(&mut self, edit: Edit, made: NewNodes) -> Result<(), EditError> {
        self.match_done();
        let session = self.edited(&edit)?;
        let number = match (self.needs(&edit, &session), &edit) {
            (_, Edit::Automate(lanes)) => self.automate(lanes)?,
            (Needs::Changes, _) => {
                let changes = self.changes(&edit, &session);
                self.control.lock().send(Order { changes, ..Order::default() })?
            }
            (Needs::Plan, _) => self.replace(&edit, &session, made)?,
        };
        self.session = session;
        self.sent.push((number, edit));
        Ok(())
    }

    /// Edits that were carried out, in order, with their frames: all since the engine was started or
    /// [`Editor::take_applied`] was called.
    pub fn applied(&mut self) -> &[Applied] {
        self.match_done();
        &self.applied
    }

    /// The same, and forgets them. For sessions that are edited for days.
    pub fn take_applied(&mut self) -> Vec<Applied> {
        self.match_done();
        std::mem::take(&mut self.applied)
    }

    fn match_done(&mut self) {
        let done = self.control.lock().take_done();
        for (number, frame) in done {
            // Orders are carried out in the order in which they were sent; plans that the engine
            // steered by itself are no edits.
            if let Some(at) = self.sent.iter().position(|(sent, _)| *sent == number) {
                let (_, edit) = self.sent.remove(at);
                self.applied.push(Applied { edit, frame });
            }
        }
    }

    /// Whether every accepted edit has been carried out.
    pub fn is_settled(&mut self) -> bool {
        self.match_done();
        self.sent.is_empty()
    }

    /// Faders can do a solo, but for sends that leave strips before them.
    fn needs(&self, edit: &Edit, session: &Session) -> Needs {
        let is_solo = matches!(edit, Edit::Solo(..));
        let moves_sends = is_solo && silent_sends(&self.session) != silent_sends(session);
        if moves_sends { Needs::Plan } else { edit.needs() }
    }

    /// What an edit changes in nodes that stay.
    fn changes(&self, edit: &Edit, session: &Session) -> Vec<(Arc<NodeCell>, Change)> {
        let fader = |id: StripId, index, value| {
            let node = self.node(self.names.key(NodeKind::Fader(id)))?;
            Some((node, Change::Param { index, value }))
        };
        let effect = |at: EffectAt, index, value| {
            let kind = NodeKind::Effect { strip: at.strip, index: at.index };
            Some((self.node(self.names.key(kind))?, Change::Param { index, value }))
        };
        match edit {
            Edit::Gain(id, gain_db) => fader(*id, Fader::GAIN_DB, *gain_db).into_iter().collect(),
            Edit::Pan(id, pan) => fader(*id, Fader::PAN, *pan).into_iter().collect(),
            Edit::Param(at, index, value) => {
                effect(*at, *index as u16, *value).into_iter().collect()
            }
            Edit::Bypass(at, on) => {
                effect(*at, Bypass::PARAM, f32::from(*on)).into_iter().collect()
            }
            _ => self.mutes(session, &self.names),
        }
    }

    fn automate(&self, lanes: &[(LaneTarget, Option<LaneSpec>)]) -> Result<u64, EditError> {
        let change = |(target, lane): &(LaneTarget, Option<LaneSpec>)| {
            let (kind, param) = parameter(*target);
            Some((self.node(self.names.key(kind))?, param, lane.clone()))
        };
        let changes = lanes.iter().filter_map(change).collect();
        Ok(self.control.lock().automate(changes)?)
    }

    fn node(&self, key: Key) -> Option<Arc<NodeCell>> {
        self.nodes.get(&key)?.1.clone()
    }

    /// Sends a plan for the changed session.
    fn replace(
        &mut self,
        edit: &Edit,
        session: &Session,
        made: NewNodes,
    ) -> Result<u64, EditError> {
        let mut names = self.names.clone();
        names.edit(edit);
        let mut made: HashMap<Key, NodeCell> = made.into_iter().collect();
        let graph = self.graph_of(session, &names)?;
        let workshop = Workshop::new(session, &self.media, self.rate_hz);
        let (mut cells, mut nodes) = (Vec::new(), HashMap::new());
        let services = Arc::clone(&self.control.lock().services);
        let mut changes = self.mutes(session, &names);
        for (i, node) in graph.nodes().iter().enumerate() {
            let key = names.key(node.kind);
            let cell = match self.nodes.get(&key) {
                Some((_, cell)) => cell.clone(),
                None => {
                    let cell = match made.remove(&key) {
                        Some(cell) => Some(cell),
                        None => {
                            let made = workshop.editable(node.kind, true)?;
                            let join = |made| NodeCell::joining(node.name.clone(), made, &services);
                            made.map(join).transpose()?
                        }
                    };
                    let cell = cell.map(Arc::new);
                    changes.extend(fade_in(session, node.kind, cell.as_ref()));
                    cell
                }
            };
            nodes.insert(key, (NodeId(i as u32), cell.clone()));
            cells.push(cell);
        }
        if let Edit::Send(id, send) = edit {
            changes.extend(send_level(session, *id, send, |kind| nodes.get(&names.key(kind))));
        }
        let keys: Vec<Key> = graph.nodes().iter().map(|node| names.key(node.kind)).collect();
        let before = |id: NodeId| self.nodes.get(&keys[id.index()]).map(|(id, _)| *id);
        let new = Installation { graph, nodes: cells, changes, fades: self.fades };
        let number = self.control.lock().install(new, before)?;
        (self.names, self.nodes) = (names, nodes);
        self.graphs += 1;
        Ok(number)
    }

    /// Faders of strips that become audible or silent; `names` are those of `session`.
    fn mutes(&self, session: &Session, names: &Names) -> Vec<(Arc<NodeCell>, Change)> {
        let before = audible(&self.session);
        let old = self.session.strip_ids().into_iter().zip(before);
        let was: HashMap<Key, bool> =
            old.map(|(id, heard)| (self.names.key(NodeKind::Fader(id)), heard)).collect();
        let after = session.strip_ids().into_iter().zip(audible(session));
        let changed = after.filter_map(|(id, is)| {
            let key = names.key(NodeKind::Fader(id));
            let change = Change::Param { index: Fader::MUTE, value: f32::from(!is) };
            (*was.get(&key)? != is).then(|| Some((self.node(key)?, change)))?
        });
        changed.collect()
    }
}

/// The strips whose sends before the fader are silent for a solo elsewhere.
fn silent_sends(session: &Session) -> Vec<StripId> {
    let sends_early =
        |id: &StripId| session.strip(*id).sends.iter().any(|send| send.tap == Tap::PreFader);
    let silent = session.strip_ids().into_iter().zip(silent_by_solo(session));
    silent.filter_map(|(id, silent)| (silent && sends_early(&id)).then_some(id)).collect()
}

/// A new effect begins bypassed and is cross-faded in, unless it is to stay bypassed.
fn fade_in(
    session: &Session,
    kind: NodeKind,
    cell: Option<&Arc<NodeCell>>,
) -> Option<(Arc<NodeCell>, Change)> {
    let NodeKind::Effect { strip, index } = kind else { return None };
    let stays = session.strip(strip).chain[index].bypass;
    let change = Change::Param { index: Bypass::PARAM, value: 0.0 };
    cell.filter(|_| !stays).map(|cell| (Arc::clone(cell), change))
}

/// The new level of a send that has a node, because a lane moves it.
fn send_level<'a>(
    session: &Session,
    strip: StripId,
    send: &Send,
    node: impl Fn(NodeKind) -> Option<&'a (NodeId, Option<Arc<NodeCell>>)>,
) -> Option<(Arc<NodeCell>, Change)> {
    let index = session.strip(strip).sends.iter().position(|own| own.to == send.to)?;
    let (_, cell) = node(NodeKind::Send(SendAt { strip, index }))?;
    let change = Change::Param { index: Fader::GAIN_DB, value: send.gain_db };
    cell.clone().map(|cell| (cell, change))
}

pub(super) fn graph_of(
    session: &Session,
    effects: &Effects,
    rate_hz: u32,
) -> Result<Graph, hocket_plan::GraphError> {
    let mut graph = session_graph(session, &effects.at(rate_hz))?;
    graph.set_feedback_frames(session.feedback_frames(rate_hz))?;
    Ok(graph)
}

impl Names {
    pub(super) fn of(session: &Session) -> Names {
        let mut names = Names::default();
        let mut strips = |count: usize, id: &dyn Fn(usize) -> StripId| -> Vec<StripNames> {
            (0..count).map(|i| names.fresh_strip(session.strip(id(i)))).collect()
        };
        let tracks = strips(session.tracks.len(), &StripId::Track);
        let groups = strips(session.groups.len(), &StripId::Group);
        let returns = strips(session.returns.len(), &StripId::Return);
        let master = names.fresh_strip(&session.master);
        Names { tracks, groups, returns, master, ..names }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn fresh_strip(&mut self, strip: &Strip) -> StripNames {
        let own = self.fresh();
        let effects = strip.chain.iter().map(|_| self.fresh()).collect();
        let sends = strip.sends.iter().map(|send| (self.fresh(), send.to)).collect();
        StripNames { own, effects, sends }
    }

    /// All strips.
    fn all_mut(&mut self) -> impl Iterator<Item = &mut StripNames> {
        let Names { tracks, groups, returns, master, .. } = self;
        tracks.iter_mut().chain(groups).chain(returns).chain([master])
    }

    fn strip(&self, id: StripId) -> Option<&StripNames> {
        match id {
            StripId::Track(i) => self.tracks.get(i),
            StripId::Group(i) => self.groups.get(i),
            StripId::Return(i) => self.returns.get(i),
            StripId::Master => Some(&self.master),
        }
    }

    fn strip_mut(&mut self, id: StripId) -> Option<&mut StripNames> {
        match id {
            StripId::Track(i) => self.tracks.get_mut(i),
            StripId::Group(i) => self.groups.get_mut(i),
            StripId::Return(i) => self.returns.get_mut(i),
            StripId::Master => Some(&mut self.master),
        }
    }

    /// Names are never 0, so a node that has none is never found.
    pub(super) fn key(&self, kind: NodeKind) -> Key {
        let own = |id: StripId| self.strip(id).map_or(0, |strip| strip.own);
        match kind {
            NodeKind::Play(track) => Key::Player(own(StripId::Track(track))),
            NodeKind::Notes(track) => Key::Notes(own(StripId::Track(track))),
            NodeKind::Sum(id) => Key::Head(own(id)),
            NodeKind::Fader(id) => Key::Fader(own(id)),
            NodeKind::Effect { strip, index } => {
                let effect = self.strip(strip).and_then(|strip| strip.effects.get(index));
                Key::Effect(effect.copied().unwrap_or(0))
            }
            NodeKind::Send(at) => {
                let send = self.strip(at.strip).and_then(|strip| strip.sends.get(at.index));
                Key::Send(send.map_or(0, |(name, _)| *name))
            }
            NodeKind::Input(number) => Key::Input(number),
            NodeKind::Events(EventsOf::Track(track)) => {
                Key::TrackEvents(own(StripId::Track(track)))
            }
            NodeKind::Events(EventsOf::Input(input)) => Key::InputEvents(input.0),
            NodeKind::Custom(number) => Key::Custom(number),
        }
    }

    /// Updates the names after an accepted edit.
    pub(super) fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::InsertEffect(at, _) => {
                let name = self.fresh();
                if let Some(strip) = self.strip_mut(at.strip) {
                    strip.effects.insert(at.index.min(strip.effects.len()), name);
                }
            }
            Edit::RemoveEffect(at) => {
                if let Some(strip) = self.strip_mut(at.strip) {
                    strip.effects.remove(at.index);
                }
            }
            Edit::AddTrack(track) => {
                let strip = self.fresh_strip(&track.strip);
                self.tracks.push(strip);
            }
            Edit::AddGroup(group) => {
                let strip = self.fresh_strip(&group.strip);
                self.groups.push(strip);
            }
            Edit::AddReturn(back) => {
                let strip = self.fresh_strip(&back.strip);
                self.returns.push(strip);
            }
            Edit::RemoveTrack(index) => {
                self.tracks.remove(*index);
            }
            Edit::RemoveGroup(index) => {
                self.groups.remove(*index);
            }
            Edit::RemoveReturn(index) => {
                self.returns.remove(*index);
                // Nobody sends to it any more.
                let sends = self.all_mut().flat_map(|strip| &mut strip.sends);
                sends.filter(|(_, to)| to.0 > *index).for_each(|(_, to)| to.0 -= 1);
            }
            Edit::Send(id, send) => {
                let name = self.fresh();
                if let Some(strip) = self.strip_mut(*id)
                    && strip.sends.iter().all(|(_, to)| *to != send.to)
                {
                    strip.sends.push((name, send.to));
                }
            }
            Edit::RemoveSend(id, to) => {
                if let Some(strip) = self.strip_mut(*id)
                    && let Some(place) = strip.sends.iter().position(|(_, own)| own == to)
                {
                    strip.sends.remove(place);
                }
            }
            _ => {}
        }
    }
}
