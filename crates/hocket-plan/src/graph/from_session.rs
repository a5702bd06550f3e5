//! Session -> graph.

use std::collections::HashSet;

use super::routing::{Feed, Routing, place};
use super::{Edge, Graph, GraphError, Node, NodeId, NodeKind};
use crate::effect::Effect;
use crate::session::{Session, StripId, Tap};

/// What the graph needs to know of an effect; its runner provides it.
pub trait EffectFacts {
    /// Expected cost in floating-point operations per frame.
    fn cost(&self, effect: &Effect) -> f64;
    /// Latency in frames.
    fn latency_frames(&self, effect: &Effect) -> u32;
}

/// The cost of playing a clip, in floating-point operations per frame (read, gain, fade, two rows).
const PLAY_COST: f64 = 8.0;
/// The cost of a fader (smoothing, two multiplications per row).
const FADER_COST: f64 = 6.0;
/// The cost of one more input (multiply and add, two rows).
const INPUT_COST: f64 = 4.0;

/// Builds the graph of a session: one chain per strip, sums where strips meet, the master's fader last.
///
/// Cost: O(n log n) in strips plus effects plus sends.
///
/// # Errors
/// - [`GraphError::Cycle`]: strips feed each other in a circle.
/// - [`GraphError::UnknownStrip`]: an output or a send leads nowhere.
/// - [`GraphError::Empty`]: the session has no tracks.
/// - [`GraphError::TooLarge`]: more nodes than [`Graph::MAX_NODES`].
pub fn session_graph(session: &Session, facts: &dyn EffectFacts) -> Result<Graph, GraphError> {
    if session.tracks.is_empty() {
        return Err(GraphError::Empty);
    }
    let routing = Routing::new(session)?;
    let order = routing.order(session)?;
    let taps = vec![None; order.len()];
    let mut builder = Builder { session, facts, routing, graph: Graph::default(), taps };
    for place in order {
        builder.add_strip(place)?;
    }
    Ok(builder.graph)
}

/// The node from which others read a finished strip.
#[derive(Clone, Copy)]
struct Taps {
    before_fader: NodeId,
    after_fader: NodeId,
}

struct Builder<'a> {
    session: &'a Session,
    facts: &'a dyn EffectFacts,
    routing: Routing,
    graph: Graph,
    /// By place; `None` until the strip is in the graph.
    taps: Vec<Option<Taps>>,
}

impl Builder<'_> {
    fn add_strip(&mut self, place: usize) -> Result<(), GraphError> {
        let id = self.routing.ids[place];
        let strip = self.session.strip(id);
        let mut last = self.add_head(place)?;
        for (index, effect) in strip.chain.iter().enumerate() {
            last = self.graph.add(Node {
                name: format!("{}: {}", strip.name, effect.kind),
                kind: NodeKind::Effect { strip: id, index },
                inputs: vec![Edge::new(last, 1.0)],
                cost: self.facts.cost(effect),
                latency_frames: self.facts.latency_frames(effect),
                ports: Default::default(),
            })?;
        }
        let fader = self.graph.add(Node {
            name: format!("{}: fader", strip.name),
            kind: NodeKind::Fader(id),
            inputs: vec![Edge::new(last, 1.0)],
            cost: FADER_COST,
            latency_frames: 0,
            ports: Default::default(),
        })?;
        self.taps[place] = Some(Taps { before_fader: last, after_fader: fader });
        Ok(())
    }

    /// The first node of a strip: a player for a track, a sum for everything else.
    fn add_head(&mut self, place: usize) -> Result<NodeId, GraphError> {
        let id = self.routing.ids[place];
        let name = &self.session.strip(id).name;
        let node = match id {
            StripId::Track(index) => Node {
                name: format!("{name}: play"),
                kind: NodeKind::Play(index),
                inputs: Vec::new(),
                cost: PLAY_COST * self.session.tracks[index].clips.len().max(1) as f64,
                latency_frames: 0,
                ports: Default::default(),
            },
            _ => {
                let inputs = self.inputs_of(place);
                Node {
                    name: format!("{name}: sum"),
                    kind: NodeKind::Sum(id),
                    cost: INPUT_COST * inputs.len().max(1) as f64,
                    inputs,
                    latency_frames: 0,
                    ports: Default::default(),
                }
            }
        };
        self.graph.add(node)
    }

    /// What flows into a strip, in the order tracks, groups, returns.
    fn inputs_of(&self, place: usize) -> Vec<Edge> {
        let edge = |feed: &Feed| {
            let taps = self.taps[feed.from]?;
            let from = match feed.tap {
                Tap::PreFader => taps.before_fader,
                Tap::PostFader => taps.after_fader,
            };
            Some(Edge::new(from, feed.gain_lin))
        };
        // Strips come in the order of the routing, so every feed has its taps by now.
        self.routing.feeds[place].iter().filter_map(edge).collect()
    }
}

/// Which strips are heard, in the order of [`Session::strip_ids`].
///
/// Mute silences a strip. Once any track or group is soloed, a track or group is heard only if it
/// is soloed, flows into a soloed group, or (a group) carries a soloed strip. Returns and the
/// master are solo-safe: always heard, and a solo on them silences nobody.
///
/// Cost: O(strips * nesting of groups).
pub fn audible(session: &Session) -> Vec<bool> {
    let ids = session.strip_ids();
    let soloed = |id: &StripId| is_solo_domain(*id) && session.strip(*id).solo;
    let carries_solo: HashSet<StripId> =
        ids.iter().copied().filter(soloed).flat_map(|id| downstream(session, id)).collect();
    let heard = |id: StripId| {
        carries_solo.is_empty()
            || !is_solo_domain(id)
            || carries_solo.contains(&id)
            || downstream(session, id).any(|through| soloed(&through))
    };
    ids.iter().map(|id| heard(*id) && !session.strip(*id).mute).collect()
}

fn is_solo_domain(id: StripId) -> bool {
    matches!(id, StripId::Track(_) | StripId::Group(_))
}

/// The strip itself and the groups it flows through; bounded, so a circle ends too.
fn downstream(session: &Session, id: StripId) -> impl Iterator<Item = StripId> {
    let next = |id: &StripId| session.output(*id).map(StripId::from);
    let group = |id: &StripId| *id != StripId::Master && place(session, *id).is_some();
    std::iter::successors(Some(id), move |id| next(id).filter(group)).take(session.groups.len() + 1)
}
