//! Session -> units and one processor per node.

use hocket_dsp::{Bypass, Fader, Processor, level::db_to_lin};
use hocket_plan::graph::{GraphError, audible, session_graph};
use hocket_plan::session::{Session, StripId};
use hocket_plan::{Effect, Fusing, Graph, NodeKind, UnitGraph};

use super::media::MediaPool;
use crate::block::clip_player::{ClipPlayer, last_end};
use crate::catalogue::BuiltinEffects;

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
    /// The number of processors differs from the number of nodes.
    #[error("{processors} processors for {nodes} nodes")]
    Processors {
        /// Given.
        processors: usize,
        /// Needed.
        nodes: usize,
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
    let graph = session_graph(session, &BuiltinEffects { rate_hz })?;
    let workshop = Workshop::new(session, media, rate_hz);
    let processors: Result<_, _> =
        graph.nodes().iter().map(|node| workshop.processor(node.kind)).collect();
    prepared(&graph, processors?, fusing)
}

/// Makes the processors of a session.
pub(super) struct Workshop<'a> {
    session: &'a Session,
    media: &'a MediaPool,
    rate_hz: u32,
    strips: Vec<StripId>,
    heard: Vec<bool>,
}

impl<'a> Workshop<'a> {
    pub(super) fn new(session: &'a Session, media: &'a MediaPool, rate_hz: u32) -> Workshop<'a> {
        let (strips, heard) = (session.strip_ids(), audible(session));
        Workshop { session, media, rate_hz, strips, heard }
    }

    /// The processor of a node; `None` for one that only sums.
    pub(super) fn processor(
        &self,
        kind: NodeKind,
    ) -> Result<Option<Box<dyn Processor>>, PrepareError> {
        let Workshop { session, media, rate_hz, .. } = *self;
        Ok(match kind {
            NodeKind::Play(track) => Some(player(session, media, track, rate_hz)?),
            NodeKind::Effect { strip, index } => {
                let effect = &session.strip(strip).chain[index];
                let processor = self.effect(strip, index)?;
                Some(match effect.bypass {
                    true => Box::new(Bypass::new(processor, rate_hz, true)),
                    false => processor,
                })
            }
            NodeKind::Fader(strip) => Some(fader(session, strip, self.heard(strip), rate_hz)),
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
        let bypassed = self.session.strip(strip).chain[index].bypass || fades_in;
        let processor = self.effect(strip, index)?;
        Ok(Some(Box::new(Bypass::new(processor, self.rate_hz, bypassed))))
    }

    fn heard(&self, id: StripId) -> bool {
        self.strips.iter().position(|strip| *strip == id).is_none_or(|i| self.heard[i])
    }

    fn effect(&self, strip: StripId, index: usize) -> Result<Box<dyn Processor>, PrepareError> {
        let strip = self.session.strip(strip);
        let Effect { kind, values, .. } = &strip.chain[index];
        let known = hocket_dsp::kind(kind).filter(|known| known.params.len() == values.len());
        let unknown =
            || PrepareError::UnknownEffect { strip: strip.name.clone(), kind: kind.clone() };
        Ok((known.ok_or_else(unknown)?.build)(values, self.rate_hz))
    }
}

pub(super) fn prepared(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    fusing: Fusing,
) -> Result<Prepared, PrepareError> {
    let node_names = graph.nodes().iter().map(|node| node.name.clone()).collect();
    let units = UnitGraph::compile(graph, fusing)?;
    Ok(Prepared { graph: graph.clone(), units, processors, node_names })
}

impl Prepared {
    /// For a graph that no session describes, such as a benchmark's.
    ///
    /// # Errors
    /// [`GraphError::Empty`].
    pub fn from_graph(
        graph: &Graph,
        processors: Vec<Option<Box<dyn Processor>>>,
        fusing: Fusing,
    ) -> Result<Prepared, PrepareError> {
        prepared(graph, processors, fusing)
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

fn fader(session: &Session, strip: StripId, heard: bool, rate_hz: u32) -> Box<dyn Processor> {
    let strip = session.strip(strip);
    Box::new(Fader::new(db_to_lin(strip.gain_db), strip.pan, !heard, rate_hz))
}

/// When the last clip ends, in frames at `rate_hz`; `None` if one loops for ever or is missing.
pub fn session_end_frames(session: &Session, media: &MediaPool, rate_hz: u32) -> Option<u64> {
    let clips = session.tracks.iter().flat_map(|track| &track.clips);
    let times: Option<Vec<_>> = clips.map(|clip| media.times(clip, rate_hz)).collect();
    last_end(times?.iter())
}
