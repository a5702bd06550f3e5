//! Session -> units and one processor per node.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use hocket_dsp::{Bypass, Fader, Processor, level::db_to_lin};
use hocket_plan::graph::{GraphError, audible};
use hocket_plan::session::{EffectAt, EventsOf, LaneTarget, SendAt, Session, SongTime, StripId};
use hocket_plan::{
    Effect, EffectCatalogue, Fusing, Graph, Node, NodeId, NodeKind, Ports, UnitGraph,
};
use hocket_time::{LaneError, LoopError, TempoError};

use super::automation::LaneChange;
use super::editor::graph_of;
use super::media::MediaPool;
use crate::block::clip_player::ClipPlayer;
use crate::block::clip_times::last_end;
use crate::block::event_relay::EventRelay;
use crate::block::note_player::{NotePlayer, last_note_end};
use crate::catalogue::{BuildError, Effects};

/// What an engine needs: the units, and for every node the processor that does its work.
pub struct Prepared {
    /// The graph.
    pub graph: Graph,
    /// Its units.
    pub units: UnitGraph,
    /// One per node; `None` for a node that only sums.
    pub processors: Vec<Option<Box<dyn Processor>>>,
    /// One per node, for reports of contained samples.
    pub node_names: Vec<String>,
    /// Tempos, time signatures and the loop from the first block on.
    pub time: SongTime,
    /// Automation from the first block on. Nodes begin with the first values of their lanes, without a ramp.
    pub lanes: Vec<LaneChange>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("units", &self.units.units().len()).finish()
    }
}

/// Why a session cannot be prepared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The routing.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An effect that the engine does not know; readers of session files check this earlier.
    #[error(
        "strip '{strip}' asks for effect '{kind}', which does not exist here or has other parameters"
    )]
    UnknownEffect {
        /// The strip's name.
        strip: String,
        /// The effect's kind.
        kind: String,
    },
    /// An effect that cannot be built, such as a plug-in that does not start.
    #[error("strip '{strip}': effect '{kind}' cannot be built: {why}")]
    Effect {
        /// The strip's name.
        strip: String,
        /// The effect's kind.
        kind: String,
        /// What its source says.
        why: String,
    },
    /// The number of processors differs from the number of nodes.
    #[error("{processors} processors for {nodes} nodes")]
    Processors {
        /// Given.
        processors: usize,
        /// Needed.
        nodes: usize,
    },
    /// A node with a processor that works on stereo nodes alone has other ports.
    #[error(
        "node '{node}' cannot have ports of {} main, {} side-chain and {} extra channels: its processor is stereo, as \
         Hocket's effects are; give the node two main channels and at most two of a side chain",
        .ports.main, .ports.side_chain, .ports.extra
    )]
    NotStereo {
        /// The node's name.
        node: String,
        /// Its ports.
        ports: Ports,
    },
    /// The tempos or time signatures.
    #[error("the tempo map cannot be made: {0}")]
    Tempo(#[from] TempoError),
    /// The loop.
    #[error("the loop is not possible: {0}")]
    Loop(#[from] LoopError),
    /// A lane whose target does not exist, or that moves what cannot move.
    #[error("automation of {0:?}: the session has nothing there that could move while it plays")]
    NoTarget(LaneTarget),
    /// A lane's points.
    #[error("automation of {target:?}: {why}")]
    Lane {
        /// What it moves.
        target: LaneTarget,
        /// What is wrong with it.
        why: LaneError,
    },
    /// A clip whose audio was not loaded.
    #[error("track '{track}' plays media {media}, which was not loaded")]
    MissingMedia {
        /// The track's name.
        track: String,
        /// Index into the session's media.
        media: usize,
    },
    /// A clip whose file cannot be opened to play from the disk.
    #[error("track '{track}': {why}")]
    Stream {
        /// The track's name.
        track: String,
        /// Why not, with the file's name.
        why: String,
    },
}

/// Builds graph, units and processors of a session for one sample rate.
///
/// Thread: control. Cost: allocates all memory that the processors will ever use.
///
/// # Errors
/// [`PrepareError`].
pub fn prepare_session(
    session: &Session,
    media: &MediaPool,
    rate_hz: u32,
    fusing: Fusing,
) -> Result<Prepared, PrepareError> {
    let graph = graph_of(session, media.effects(), rate_hz)?;
    let workshop = Workshop::new(session, media, rate_hz);
    let processors: Result<_, _> =
        graph.nodes().iter().map(|node| workshop.processor(node.kind)).collect();
    let mut prepared = prepared(&graph, processors?, fusing)?;
    prepared.add_song(session, media.effects(), rate_hz)?;
    Ok(prepared)
}

/// Makes the processors of a session.
pub(super) struct Workshop<'a> {
    session: &'a Session,
    media: &'a MediaPool,
    rate_hz: u32,
    heard: HashMap<StripId, bool>,
    /// Effects whose bypass a lane moves. Found once, and only where somebody asks: an edit does not.
    bypass_moves: OnceCell<HashSet<EffectAt>>,
}

impl<'a> Workshop<'a> {
    pub(super) fn new(session: &'a Session, media: &'a MediaPool, rate_hz: u32) -> Workshop<'a> {
        let heard = session.strip_ids().into_iter().zip(audible(session)).collect();
        Workshop { session, media, rate_hz, heard, bypass_moves: OnceCell::new() }
    }

    /// The processor of a node; `None` for one that only sums.
    pub(super) fn processor(
        &self,
        kind: NodeKind,
    ) -> Result<Option<Box<dyn Processor>>, PrepareError> {
        let Workshop { session, media, rate_hz, .. } = *self;
        Ok(match kind {
            NodeKind::Play(track) => Some(player(session, media, track, rate_hz)?),
            NodeKind::Notes(track) => Some(Box::new(NotePlayer::new(&session.tracks[track].notes))),
            NodeKind::Events(of) => Some(Box::new(relay(session, of))),
            NodeKind::Effect { strip, index } => {
                let effect = &session.strip(strip).chain[index];
                let processor = self.effect(strip, index)?;
                let moves = self.bypass_moves(EffectAt { strip, index });
                Some(match effect.bypass || moves {
                    true => self.bypass(processor, effect, effect.bypass),
                    false => processor,
                })
            }
            NodeKind::Fader(strip) => Some(fader(session, strip, self.heard(strip), rate_hz)),
            NodeKind::Send(at) => Some(send(session, at, rate_hz)),
            NodeKind::Sum(_) | NodeKind::Input(_) | NodeKind::Custom(_) => None,
        })
    }

    /// Like [`Workshop::processor`], ready for edits: every effect can be bypassed. An effect that joins
    /// later (`fades_in`) begins bypassed, so that it fades in.
    pub(super) fn editable(
        &self,
        kind: NodeKind,
        fades_in: bool,
    ) -> Result<Option<Box<dyn Processor>>, PrepareError> {
        let NodeKind::Effect { strip, index } = kind else { return self.processor(kind) };
        let effect = &self.session.strip(strip).chain[index];
        let processor = self.effect(strip, index)?;
        Ok(Some(self.bypass(processor, effect, effect.bypass || fades_in)))
    }

    fn heard(&self, id: StripId) -> bool {
        self.heard.get(&id).copied().unwrap_or(true)
    }

    fn bypass_moves(&self, at: EffectAt) -> bool {
        let find = || {
            let targets = self.session.automation.iter().map(|lane| lane.target);
            let effect = |target| match target {
                LaneTarget::Bypass(at) => Some(at),
                _ => None,
            };
            targets.filter_map(effect).collect()
        };
        self.bypass_moves.get_or_init(find).contains(&at)
    }

    fn effect(&self, strip: StripId, index: usize) -> Result<Box<dyn Processor>, PrepareError> {
        let strip = self.session.strip(strip);
        let effect = &strip.chain[index];
        let built = self.media.effects().build(effect, self.rate_hz);
        built.map_err(|error| {
            let (strip, kind) = (strip.name.clone(), effect.kind.clone());
            match error {
                BuildError::Unknown => PrepareError::UnknownEffect { strip, kind },
                BuildError::Failed(why) => PrepareError::Effect { strip, kind, why },
            }
        })
    }

    /// An effect that can be bypassed; one with an event input goes on hearing its notes, and one that sends events passes
    /// them while it is bypassed.
    fn bypass(
        &self,
        processor: Box<dyn Processor>,
        effect: &Effect,
        bypassed: bool,
    ) -> Box<dyn Processor> {
        let effects = self.media.effects();
        let mut bypass =
            Bypass::new(processor, self.rate_hz, bypassed).with_params(effect.values.len());
        if effects.has_event_input(&effect.kind) {
            bypass = bypass.with_event_input();
        }
        if effects.event_output(&effect.kind).sends(effect.send_events) {
            bypass = bypass.with_event_output();
        }
        Box::new(bypass)
    }
}

pub(super) fn prepared(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    fusing: Fusing,
) -> Result<Prepared, PrepareError> {
    for (node, processor) in graph.nodes().iter().zip(&processors) {
        check_stereo(node, processor.as_ref().is_some_and(|it| it.is_stereo()))?;
    }
    let node_names = graph.nodes().iter().map(|node| node.name.clone()).collect();
    let units = UnitGraph::compile(graph, fusing)?;
    let (time, lanes) = (SongTime::default(), Vec::new());
    Ok(Prepared { graph: graph.clone(), units, processors, node_names, time, lanes })
}

/// Refuses a node with other ports than its processor can have.
pub(super) fn check_stereo(node: &Node, is_stereo: bool) -> Result<(), PrepareError> {
    match is_stereo && !node.ports.fit_stereo() {
        true => Err(PrepareError::NotStereo { node: node.name.clone(), ports: node.ports }),
        false => Ok(()),
    }
}

impl Prepared {
    /// For a graph that no session describes, such as a benchmark's.
    ///
    /// # Errors
    /// [`GraphError::Empty`]; [`PrepareError::NotStereo`], for instance for a built-in effect on a mono node.
    pub fn from_graph(
        graph: &Graph,
        processors: Vec<Option<Box<dyn Processor>>>,
        fusing: Fusing,
    ) -> Result<Prepared, PrepareError> {
        prepared(graph, processors, fusing)
    }

    /// Adds what the session says of time, and its automation, to the session's own graph.
    ///
    /// # Errors
    /// [`PrepareError::Tempo`], [`PrepareError::Loop`], [`PrepareError::NoTarget`], [`PrepareError::Lane`].
    pub(super) fn add_song(
        &mut self,
        session: &Session,
        effects: &Effects,
        rate_hz: u32,
    ) -> Result<(), PrepareError> {
        let map = session.time.map(rate_hz)?;
        session.time.loop_range(&map)?;
        let nodes = (0..).map(NodeId).zip(self.graph.nodes());
        let nodes: HashMap<NodeKind, NodeId> = nodes.map(|(id, node)| (node.kind, id)).collect();
        for automation in &session.automation {
            let (target, lane) = (automation.target, &automation.lane);
            let no_target = PrepareError::NoTarget(target);
            let Some(&node) = nodes.get(&parameter(target).0) else { return Err(no_target) };
            let param = moved(session, effects, target).ok_or(no_target)?;
            lane.lane(&map).map_err(|why| PrepareError::Lane { target, why })?;
            self.lanes.push(LaneChange { node, param, lane: Some(lane.clone()) });
        }
        self.time = session.time.clone();
        Ok(())
    }
}

/// The parameter that a lane moves, of a node that is there; `None` for a parameter that is not there or cannot move.
fn moved(session: &Session, effects: &Effects, target: LaneTarget) -> Option<u16> {
    if let LaneTarget::Param(at, index) = target {
        let kind = &session.strip(at.strip).chain.get(at.index)?.kind;
        effects.param(kind, index).filter(|param| !param.fixed)?;
    }
    Some(parameter(target).1)
}

/// The node that a lane moves, and its parameter.
pub(super) fn parameter(target: LaneTarget) -> (NodeKind, u16) {
    let effect = |at: EffectAt| NodeKind::Effect { strip: at.strip, index: at.index };
    match target {
        LaneTarget::Gain(id) => (NodeKind::Fader(id), Fader::GAIN_DB),
        LaneTarget::Pan(id) => (NodeKind::Fader(id), Fader::PAN),
        LaneTarget::Mute(id) => (NodeKind::Fader(id), Fader::MUTE),
        LaneTarget::Send(at) => (NodeKind::Send(at), Fader::GAIN_DB),
        LaneTarget::Param(at, index) => (effect(at), index as u16),
        LaneTarget::Bypass(at) => (effect(at), Bypass::PARAM),
    }
}

fn player(
    session: &Session,
    media: &MediaPool,
    track: usize,
    rate_hz: u32,
) -> Result<Box<dyn Processor>, PrepareError> {
    let track = &session.tracks[track];
    let mut clips = Vec::with_capacity(track.clips.len());
    for clip in &track.clips {
        let playing = media.clip(clip, rate_hz).ok_or_else(|| PrepareError::MissingMedia {
            track: track.strip.name.clone(),
            media: clip.media.0,
        })?;
        let failed = |why| PrepareError::Stream { track: track.strip.name.clone(), why };
        clips.push(playing.map_err(failed)?);
    }
    Ok(Box::new(ClipPlayer::of(clips)))
}

fn relay(session: &Session, of: EventsOf) -> EventRelay {
    let notes = match of {
        EventsOf::Track(index) => &session.tracks[index].notes[..],
        EventsOf::Input(_) => &[],
    };
    EventRelay::new(NotePlayer::new(notes).events_per_jump())
}

fn fader(session: &Session, strip: StripId, heard: bool, rate_hz: u32) -> Box<dyn Processor> {
    let strip = session.strip(strip);
    Box::new(Fader::new(db_to_lin(strip.gain_db), strip.pan, !heard, rate_hz))
}

fn send(session: &Session, at: SendAt, rate_hz: u32) -> Box<dyn Processor> {
    let gain_db = session.strip(at.strip).sends[at.index].gain_db;
    Box::new(Fader::new(db_to_lin(gain_db), 0.0, false, rate_hz))
}

/// When the last clip and the last note end, in frames at `rate_hz`; `None` if a clip loops for ever or is missing, or if
/// the song loops.
pub fn session_end_frames(session: &Session, media: &MediaPool, rate_hz: u32) -> Option<u64> {
    if session.time.repeat.is_some() {
        return None;
    }
    let clips = session.tracks.iter().flat_map(|track| &track.clips);
    let times: Option<Vec<_>> = clips.map(|clip| media.times(clip, rate_hz)).collect();
    let clips_end = last_end(times?.iter())?;
    let map = session.time.map(rate_hz).ok()?;
    let notes = session.tracks.iter().map(|track| last_note_end(&track.notes, &map));
    Some(notes.fold(clips_end, u64::max))
}
