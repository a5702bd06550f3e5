//! Session -> graph.

use super::{Edge, Graph, GraphError, Node, NodeId, NodeKind};
use crate::effect::Effect;
use crate::session::{Destination, ReturnId, Session, StripId, Tap};

/// What the graph needs to know of an effect, told by whoever will run it.
pub trait EffectFacts {
    /// Expected cost in floating-point operations a frame.
    fn cost(&self, effect: &Effect) -> f64;
    /// Latency in frames.
    fn latency_frames(&self, effect: &Effect) -> u32;
}

/// The cost of playing a clip, in floating-point operations a frame (read, gain, fade, two rows).
const PLAY_COST: f64 = 8.0;
/// The cost of a fader (smoothing, two multiplications a row).
const FADER_COST: f64 = 6.0;
/// The cost of one more input (multiply and add, two rows).
const INPUT_COST: f64 = 4.0;

/// Builds the graph of a session: a chain a strip, sums where strips meet, the master's fader last.
///
/// # Errors
/// [`GraphError::Cycle`] where strips feed each other in a circle, [`GraphError::Empty`] for a
/// session without tracks.
pub fn session_graph(session: &Session, facts: &dyn EffectFacts) -> Result<Graph, GraphError> {
    if session.tracks.is_empty() {
        return Err(GraphError::Empty);
    }
    let order = strip_order(session)?;
    let mut builder = Builder { session, facts, graph: Graph::default(), taps: Vec::new() };
    for strip in order {
        builder.add_strip(strip)?;
    }
    Ok(builder.graph)
}

/// Where a finished strip can be read.
struct Taps {
    strip: StripId,
    before_fader: NodeId,
    after_fader: NodeId,
}

struct Builder<'a> {
    session: &'a Session,
    facts: &'a dyn EffectFacts,
    graph: Graph,
    taps: Vec<Taps>,
}

impl Builder<'_> {
    fn add_strip(&mut self, id: StripId) -> Result<(), GraphError> {
        let strip = self.session.strip(id);
        let mut last = self.add_head(id)?;
        for (index, effect) in strip.chain.iter().enumerate() {
            last = self.graph.add(Node {
                name: format!("{}: {}", strip.name, effect.kind),
                kind: NodeKind::Effect { strip: id, index },
                inputs: vec![Edge { from: last, gain_lin: 1.0 }],
                cost: self.facts.cost(effect),
                latency_frames: self.facts.latency_frames(effect),
            })?;
        }
        let fader = self.graph.add(Node {
            name: format!("{}: fader", strip.name),
            kind: NodeKind::Fader(id),
            inputs: vec![Edge { from: last, gain_lin: 1.0 }],
            cost: FADER_COST,
            latency_frames: 0,
        })?;
        self.taps.push(Taps { strip: id, before_fader: last, after_fader: fader });
        Ok(())
    }

    /// The first node of a strip: a player for a track, a sum for everything else.
    fn add_head(&mut self, id: StripId) -> Result<NodeId, GraphError> {
        let name = &self.session.strip(id).name;
        let node = match id {
            StripId::Track(index) => Node {
                name: format!("{name}: play"),
                kind: NodeKind::Play(index),
                inputs: Vec::new(),
                cost: PLAY_COST * self.session.tracks[index].clips.len().max(1) as f64,
                latency_frames: 0,
            },
            _ => {
                let inputs = self.inputs_of(id);
                Node {
                    name: format!("{name}: sum"),
                    kind: NodeKind::Sum(id),
                    cost: INPUT_COST * inputs.len().max(1) as f64,
                    inputs,
                    latency_frames: 0,
                }
            }
        };
        self.graph.add(node)
    }

    /// What flows into a strip, in the order tracks, groups, returns.
    fn inputs_of(&self, id: StripId) -> Vec<Edge> {
        let mut inputs = Vec::new();
        for from in self.session.strip_ids() {
            let Some(taps) = self.taps.iter().find(|taps| taps.strip == from) else { continue };
            if feeds_directly(self.session, from, id) {
                inputs.push(Edge { from: taps.after_fader, gain_lin: 1.0 });
            }
            for send in &self.session.strip(from).sends {
                if StripId::from(send.to) == id {
                    let node = match send.tap {
                        Tap::PreFader => taps.before_fader,
                        Tap::PostFader => taps.after_fader,
                    };
                    inputs.push(Edge { from: node, gain_lin: db_to_lin(send.gain_db) });
                }
            }
        }
        inputs
    }
}

/// Decibels to a linear factor; minus infinity gives exact silence.
fn db_to_lin(db: f32) -> f32 {
    if db == f32::NEG_INFINITY { 0.0 } else { 10f64.powf(f64::from(db) / 20.0) as f32 }
}

impl From<ReturnId> for StripId {
    fn from(id: ReturnId) -> Self {
        StripId::Return(id.0)
    }
}

impl From<Destination> for StripId {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Master => StripId::Master,
            Destination::Group(id) => StripId::Group(id.0),
        }
    }
}

fn feeds_directly(session: &Session, from: StripId, to: StripId) -> bool {
    session.output(from).map(StripId::from) == Some(to)
}

/// Every strip that `id` feeds, by its output and its sends.
fn successors(session: &Session, id: StripId) -> Vec<StripId> {
    let output = session.output(id).map(StripId::from);
    let sends = session.strip(id).sends.iter().map(|send| StripId::from(send.to));
    output.into_iter().chain(sends).collect()
}

/// Strips such that each comes after everything that feeds it; otherwise in session order.
fn strip_order(session: &Session) -> Result<Vec<StripId>, GraphError> {
    let ids = session.strip_ids();
    let mut waiting: Vec<usize> = vec![0; ids.len()];
    let place = |id: StripId| ids.iter().position(|other| *other == id).unwrap_or(ids.len() - 1);
    let next: Vec<Vec<usize>> =
        ids.iter().map(|id| successors(session, *id).into_iter().map(place).collect()).collect();
    next.iter().flatten().for_each(|to| waiting[*to] += 1);

    let mut order = Vec::with_capacity(ids.len());
    let mut ready: std::collections::BTreeSet<usize> =
        (0..ids.len()).filter(|i| waiting[*i] == 0).collect();
    while let Some(i) = ready.pop_first() {
        order.push(ids[i]);
        for to in &next[i] {
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                ready.insert(*to);
            }
        }
    }
    if order.len() == ids.len() { Ok(order) } else { Err(cycle(session, &ids, &next, &waiting)) }
}

/// Walks forward among the strips that never became ready until one repeats.
fn cycle(session: &Session, ids: &[StripId], next: &[Vec<usize>], waiting: &[usize]) -> GraphError {
    // A strip that waits may only stand behind the circle; walking backwards stays before it.
    let before = |i: usize| (0..ids.len()).find(|j| waiting[*j] > 0 && next[*j].contains(&i));
    let mut path: Vec<usize> = Vec::new();
    let mut at = (0..ids.len()).find(|i| waiting[*i] > 0);
    while let Some(i) = at {
        if let Some(first) = path.iter().position(|seen| *seen == i) {
            path.drain(..first);
            path.push(i);
            break;
        }
        path.push(i);
        at = before(i);
    }
    path.reverse();
    let strips: Vec<StripId> = path.iter().map(|i| ids[*i]).collect();
    let names = strips.iter().map(|id| session.strip(*id).name.clone()).collect();
    GraphError::Cycle { strips, names }
}

/// Which strips are heard, in the order of [`Session::strip_ids`].
///
/// Mute silences a strip. Where any track or group is soloed, a track or group is heard only if it
/// is soloed itself, flows into a soloed group, or (a group) carries a soloed strip. Returns and
/// the master are solo-safe.
pub fn audible(session: &Session) -> Vec<bool> {
    let soloed = |id: StripId| session.strip(id).solo;
    let ids = session.strip_ids();
    let any_solo = ids.iter().any(|id| is_solo_domain(*id) && soloed(*id));
    ids.iter()
        .map(|id| {
            let heard = !any_solo
                || !is_solo_domain(*id)
                || downstream(session, *id).into_iter().any(soloed)
                || ids.iter().any(|from| {
                    is_solo_domain(*from)
                        && soloed(*from)
                        && downstream(session, *from).contains(id)
                });
            heard && !session.strip(*id).mute
        })
        .collect()
}

fn is_solo_domain(id: StripId) -> bool {
    matches!(id, StripId::Track(_) | StripId::Group(_))
}

/// The strip itself and the groups it flows through; bounded, so a circle ends too.
fn downstream(session: &Session, id: StripId) -> Vec<StripId> {
    let mut path = vec![id];
    while let Some(next) = path.last().and_then(|last| session.output(*last)).map(StripId::from) {
        if next == StripId::Master || path.contains(&next) {
            break;
        }
        path.push(next);
    }
    path
}
