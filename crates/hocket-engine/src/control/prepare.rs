//! Session -> units and one processor a node.

use std::sync::Arc;

use hocket_dsp::{Bypass, Fader, Processor, level::db_to_lin};
use hocket_plan::graph::{GraphError, audible, session_graph};
use hocket_plan::session::{Session, StripId};
use hocket_plan::{Effect, Fusing, Graph, NodeKind, UnitGraph};

use super::clip_player::ClipPlayer;
use super::media::MediaPool;
use crate::catalogue::BuiltinEffects;

/// What an engine needs: the units, and for every node the processor that does its work.
pub struct Prepared {
    /// The units.
    pub units: UnitGraph,
    /// By node; `None` for a node that only sums.
    pub processors: Vec<Option<Box<dyn Processor>>>,
    /// By node, for reports of contained samples.
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
    /// A clip whose audio was not loaded.
    #[error("track '{track}' plays media {media}, which was not loaded")]
    MissingMedia {
        /// The track's name.
        track: String,
        /// Index into the session's media.
        media: usize,
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
    let heard = audible(session);
    let strips = session.strip_ids();
    let heard = |id: StripId| strips.iter().position(|s| *s == id).is_none_or(|i| heard[i]);
    let mut processors = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        processors.push(match node.kind {
            NodeKind::Play(track) => Some(player(session, media, track, rate_hz)?),
            NodeKind::Effect { strip, index } => Some(effect(session, strip, index, rate_hz)?),
            NodeKind::Fader(strip) => Some(fader(session, strip, heard(strip), rate_hz)),
            NodeKind::Sum(_) | NodeKind::Custom(_) => None,
        });
    }
    prepared(&graph, processors, fusing)
}

fn prepared(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    fusing: Fusing,
) -> Result<Prepared, PrepareError> {
    let node_names = graph.nodes().iter().map(|node| node.name.clone()).collect();
    Ok(Prepared { units: UnitGraph::compile(graph, fusing)?, processors, node_names })
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
        let audio = media.get(clip.media).ok_or_else(|| PrepareError::MissingMedia {
            track: track.strip.name.clone(),
            media: clip.media.0,
        })?;
        clips.push((clip.clone(), Arc::clone(audio)));
    }
    Ok(Box::new(ClipPlayer::new(&clips, rate_hz)))
}

fn effect(
    session: &Session,
    strip: StripId,
    index: usize,
    rate_hz: u32,
) -> Result<Box<dyn Processor>, PrepareError> {
    let strip = session.strip(strip);
    let Effect { kind, values, bypass } = &strip.chain[index];
    let known = hocket_dsp::kind(kind).filter(|known| known.params.len() == values.len());
    let unknown = || PrepareError::UnknownEffect { strip: strip.name.clone(), kind: kind.clone() };
    let processor = (known.ok_or_else(unknown)?.build)(values, rate_hz);
    Ok(if *bypass { Box::new(Bypass::new(processor, rate_hz, true)) } else { processor })
}

fn fader(session: &Session, strip: StripId, heard: bool, rate_hz: u32) -> Box<dyn Processor> {
    let strip = session.strip(strip);
    Box::new(Fader::new(db_to_lin(strip.gain_db), strip.pan, !heard, rate_hz))
}

/// When the last clip ends, in frames at `rate_hz`; `None` where one loops for ever or is missing.
pub fn session_end_frames(session: &Session, media: &MediaPool, rate_hz: u32) -> Option<u64> {
    let mut end = 0;
    for track in &session.tracks {
        let clips: Option<Vec<_>> = track
            .clips
            .iter()
            .map(|clip| Some((clip.clone(), Arc::clone(media.get(clip.media)?))))
            .collect();
        end = end.max(ClipPlayer::new(&clips?, rate_hz).end()?);
    }
    Some(end)
}
