//! Session -> graph.

use std::collections::{HashMap, HashSet};

use super::routing::{FedBack, Feed, Routing, place};
use super::{ChannelMap, Edge, EventPorts, Graph, GraphError, Node, NodeId, NodeKind, Ports};
use crate::effect::{Effect, ExtraOutput, Key};
use crate::session::{
    EffectAt, EventsOf, InputId, LaneTarget, OutputAt, SendAt, Session, StripId, TakeFrom, Tap,
};

/// What the graph needs to know of an effect; its runner provides it.
pub trait EffectFacts {
    /// Expected cost in floating-point operations per frame.
    fn cost(&self, effect: &Effect) -> f64;
    /// Latency in frames.
    fn latency_frames(&self, effect: &Effect) -> u32;
    /// Whether it has an event input. None has unless the runner says so.
    fn has_event_input(&self, effect: &Effect) -> bool {
        let _ = effect;
        false
    }
    /// Whether it sends events to the effects behind it. None does unless the runner says so.
    fn has_event_output(&self, effect: &Effect) -> bool {
        let _ = effect;
        false
    }
    /// Its extra outputs, in the order of the extra channels of its node. None has any unless the runner says so.
    fn extra_outputs(&self, effect: &Effect) -> Vec<ExtraOutput> {
        let _ = effect;
        Vec::new()
    }
}

/// The cost of playing a clip, in floating-point operations per frame (read, gain, fade, two rows).
const PLAY_COST: f64 = 8.0;
/// The cost of a fader (smoothing, two multiplications per row).
const FADER_COST: f64 = 6.0;
/// The cost of one more input (multiply and add, two rows).
const INPUT_COST: f64 = 4.0;

/// Builds the graph of a session: one chain per strip, sums where strips meet, the master's fader last.
///
/// Output 0 is the master, and then come the session's outputs.
///
/// Cost: O(n log n) in strips plus effects plus sends.
///
/// # Errors
/// - [`GraphError::Cycle`]: strips feed each other in a cycle.
/// - [`GraphError::UnknownStrip`]: an output, a send or a key names no strip of the session.
/// - [`GraphError::NoInput`], [`GraphError::NoTakenInput`]: a track plays, or a take records, an input that the session
///   does not have.
/// - [`GraphError::NoTakenEvents`]: a take records the events of a track or an input that has none.
/// - [`GraphError::NoOutput`]: a track plays an extra output that no effect of the session has.
/// - [`GraphError::NoEvents`]: an effect receives the events of something that is no track of the session.
/// - [`GraphError::Ports`]: an input has no channels, or too many.
/// - [`GraphError::Channels`]: a track plays an input of more than two channels. Only takes can have these.
/// - [`GraphError::Empty`]: the session has no tracks.
/// - [`GraphError::TooLarge`]: more nodes than [`Graph::MAX_NODES`].
pub fn session_graph(session: &Session, facts: &dyn EffectFacts) -> Result<Graph, GraphError> {
    if session.tracks.is_empty() {
        return Err(GraphError::Empty);
    }
    let routing = Routing::new(session)?;
    let order = routing.order(session)?;
    let places = order.len();
    let automated = session.automation.iter().filter_map(|lane| match lane.target {
        LaneTarget::Send(at) => Some(at),
        _ => None,
    });
    let mut builder = Builder {
        session,
        facts,
        routing,
        automated: automated.collect(),
        graph: Graph::default(),
        taps: vec![None; places],
        sends: HashMap::new(),
        inputs: HashMap::new(),
        extra: HashMap::new(),
        notes: HashMap::new(),
    };
    builder.add_taken()?;
    for place in order {
        builder.add_strip(place)?;
    }
    builder.feed_back()?;
    builder.set_outputs()?;
    Ok(builder.graph)
}

/// The node from which others read a finished strip.
#[derive(Clone, Copy)]
struct Taps {
    head: NodeId,
    before_fader: NodeId,
    after_fader: NodeId,
}

impl Taps {
    fn at(self, tap: Tap) -> NodeId {
        match tap {
            Tap::PreFader => self.before_fader,
            Tap::PostFader => self.after_fader,
        }
    }
}

/// The effects of a chain whose events reach the effects behind them.
#[derive(Default)]
struct Senders {
    nodes: Vec<NodeId>,
    /// Whether one of them has taken in what the track plays, which then reaches those behind it no more.
    replace_track: bool,
}

impl Senders {
    /// Goes on behind an effect. One that receives events stands for all that came to it; one that receives none adds its own.
    fn pass(&mut self, node: NodeId, ports: EventPorts) {
        if !ports.output {
            return;
        }
        if ports.input {
            self.nodes.clear();
            self.replace_track = true;
        }
        self.nodes.push(node);
    }
}

struct Builder<'a> {
    session: &'a Session,
    facts: &'a dyn EffectFacts,
    routing: Routing,
    /// Sends whose level moves.
    automated: HashSet<SendAt>,
    graph: Graph,
    /// By place; `None` until the strip is in the graph.
    taps: Vec<Option<Taps>>,
    /// The nodes of those sends.
    sends: HashMap<SendAt, NodeId>,
    /// The nodes of inputs that tracks play or takes record.
    inputs: HashMap<usize, NodeId>,
    /// Effects with extra outputs.
    extra: HashMap<EffectAt, (NodeId, Vec<ExtraOutput>)>,
    /// The nodes of notes that effects receive, by track.
    notes: HashMap<usize, NodeId>,
}

impl Builder<'_> {
    /// The inputs and events that takes record, so that an input is recorded also where no track plays it, and notes where
    /// no effect receives them. They come first: the last node is the output.
    fn add_taken(&mut self) -> Result<(), GraphError> {
        let mut added = HashSet::new();
        for take in &self.session.takes {
            match take.from {
                TakeFrom::Input(input) => {
                    self.taken_input(input)?;
                }
                TakeFrom::Events(of) if added.insert(of) => self.add_events(of)?,
                TakeFrom::Events(_) | TakeFrom::Strip(..) => {}
            }
        }
        Ok(())
    }

    fn taken_input(&mut self, input: InputId) -> Result<NodeId, GraphError> {
        self.input(input, || GraphError::NoTakenInput { input: input.0 })
    }

    /// The node that a take of events records.
    fn add_events(&mut self, of: EventsOf) -> Result<(), GraphError> {
        let (inputs, name) = match of {
            EventsOf::Track(index) => {
                let Some(track) = self.session.tracks.get(index) else {
                    return Err(GraphError::NoTakenEvents { of });
                };
                (self.events_of(index)?, &track.strip.name)
            }
            EventsOf::Input(id) => {
                let node = self.taken_input(id)?;
                let input = &self.session.inputs[id.0];
                let edges = if input.events { vec![Edge::events(node)] } else { Vec::new() };
                (edges, &input.name)
            }
        };
        if inputs.is_empty() {
            return Err(GraphError::NoTakenEvents { of });
        }
        // A node has one channel at least; nobody hears this one.
        let ports = Ports::of(1).with_events(EventPorts::BOTH);
        let name = format!("{name}: events");
        self.graph.add(Node { ports, inputs, ..Node::new(name, NodeKind::Events(of)) })?;
        Ok(())
    }

    fn add_strip(&mut self, place: usize) -> Result<(), GraphError> {
        let id = self.routing.ids[place];
        let strip = self.session.strip(id);
        let head = self.add_head(place)?;
        let (mut last, mut senders) = (head, Senders::default());
        for (index, effect) in strip.chain.iter().enumerate() {
            let mut node = Node {
                name: format!("{}: {}", strip.name, effect.kind),
                kind: NodeKind::Effect { strip: id, index },
                inputs: vec![Edge::new(last, 1.0)],
                cost: self.facts.cost(effect),
                latency_frames: self.facts.latency_frames(effect),
                ports: Default::default(),
            };
            if self.facts.has_event_input(effect) {
                node.ports.events.input = true;
                node.inputs.extend(self.events(id, effect, &senders)?);
            }
            node.ports.events.output = self.facts.has_event_output(effect);
            let events = node.ports.events;
            let key = effect.key.and_then(|key| self.key(key));
            let extra = self.facts.extra_outputs(effect);
            node.ports.extra =
                extra.iter().fold(0, |sum: u16, output| sum.saturating_add(output.channels));
            last = self.graph.add_with_side_chain(node, key.into_iter().collect())?;
            senders.pass(last, events);
            if !extra.is_empty() {
                self.extra.insert(EffectAt { strip: id, index }, (last, extra));
            }
        }
        let fader = self.graph.add(Node {
            name: format!("{}: fader", strip.name),
            kind: NodeKind::Fader(id),
            inputs: vec![Edge::new(last, 1.0)],
            cost: FADER_COST,
            latency_frames: 0,
            ports: Default::default(),
        })?;
        self.taps[place] = Some(Taps { head, before_fader: last, after_fader: fader });
        self.add_sends(place)
    }

    /// What an effect receives: the notes of a track, then the events of the track's input. Where it names no track, what
    /// effects before it send comes behind these, or in their place.
    fn events(
        &mut self,
        own: StripId,
        effect: &Effect,
        before: &Senders,
    ) -> Result<Vec<Edge>, GraphError> {
        let mut edges = match (effect.events, own) {
            (Some(StripId::Track(index)), _) if index < self.session.tracks.len() => {
                return self.events_of(index);
            }
            (Some(from), _) => {
                let strip = self.session.strip(own).name.clone();
                return Err(GraphError::NoEvents { strip, from });
            }
            (None, StripId::Track(index)) if !before.replace_track => self.events_of(index)?,
            (None, _) => Vec::new(),
        };
        edges.extend(before.nodes.iter().copied().map(Edge::events));
        Ok(edges)
    }

    /// What a track plays for effects: its notes, then the events of its input.
    fn events_of(&mut self, index: usize) -> Result<Vec<Edge>, GraphError> {
        let track = &self.session.tracks[index];
        let mut edges = Vec::new();
        if !track.notes.is_empty() {
            edges.push(Edge::events(self.notes(index)?));
        }
        if let Some(input) = track.input {
            let node = self.played_input(index, input)?;
            if self.session.inputs[input.0].events {
                edges.push(Edge::events(node));
            }
        }
        Ok(edges)
    }

    /// The node of a track's notes, which the first effect that receives them adds.
    fn notes(&mut self, track: usize) -> Result<NodeId, GraphError> {
        if let Some(node) = self.notes.get(&track) {
            return Ok(*node);
        }
        let name = format!("{}: notes", self.session.tracks[track].strip.name);
        // A node has one channel at least; nobody hears this one.
        let ports = Ports::of(1).with_events(EventPorts::OUTPUT);
        let node = self.graph.add(Node { ports, ..Node::new(name, NodeKind::Notes(track)) })?;
        self.notes.insert(track, node);
        Ok(node)
    }

    /// What an effect hears at its side chain. The order of the strips puts it before the effect.
    fn key(&self, key: Key) -> Option<Edge> {
        let taps = self.taps[place(self.session, key.from)?]?;
        Some(Edge::new(taps.at(key.tap), 1.0))
    }

    /// A node for each send whose level moves.
    fn add_sends(&mut self, place: usize) -> Result<(), GraphError> {
        let strip = self.routing.ids[place];
        let Some(taps) = self.taps[place] else { return Ok(()) };
        for (index, send) in self.session.strip(strip).sends.iter().enumerate() {
            let at = SendAt { strip, index };
            if !self.automated.contains(&at) {
                continue;
            }
            let to = self.session.returns.get(send.to.0).map_or("", |to| &to.strip.name);
            let name = format!("{}: send to {to}", self.session.strip(strip).name);
            let inputs = vec![Edge::new(taps.at(send.tap), 1.0)];
            let kind = NodeKind::Send(at);
            let node =
                self.graph.add(Node { inputs, cost: FADER_COST, ..Node::new(name, kind) })?;
            self.sends.insert(at, node);
        }
        Ok(())
    }

    /// The first node of a strip: a player for a track, a sum for everything else. A track that plays an input or an extra
    /// output sums it with its clips.
    fn add_head(&mut self, place: usize) -> Result<NodeId, GraphError> {
        let id = self.routing.ids[place];
        let StripId::Track(index) = id else { return self.add_sum(place, self.inputs_of(place)) };
        let track = &self.session.tracks[index];
        let mut others = Vec::new();
        if let Some(input) = track.input {
            others.push(Edge::new(self.played_input(index, input)?, 1.0));
        }
        if let Some(from) = track.from {
            others.extend(self.extra_output(index, from)?);
        }
        if others.is_empty() {
            return self.add_player(index);
        }
        let player = match track.clips.is_empty() {
            true => None,
            false => Some(Edge::new(self.add_player(index)?, 1.0)),
        };
        self.add_sum(place, player.into_iter().chain(others).collect())
    }

    /// What brings an extra output to a track; one channel goes to both sides. The order of the strips puts the effect
    /// before the track.
    fn extra_output(&self, track: usize, from: OutputAt) -> Result<Vec<Edge>, GraphError> {
        let known = self.extra.get(&from.effect);
        let output =
            known.and_then(|(node, outputs)| Some((*node, outputs, outputs.get(from.index)?)));
        let Some((node, outputs, output)) = output else {
            let track = self.session.tracks[track].strip.name.clone();
            return Err(GraphError::NoOutput { track, from });
        };
        let before: u16 = outputs[..from.index].iter().map(|output| output.channels).sum();
        let first = self.graph.nodes()[node.index()].ports.main + before;
        let edge = |from, to, count| {
            let map = ChannelMap::Range { from, to, count };
            Edge { map, ..Edge::new(node, 1.0) }
        };
        Ok(match output.channels {
            1 => vec![edge(first, 0, 1), edge(first, 1, 1)],
            channels => vec![edge(first, 0, channels)],
        })
    }

    fn add_player(&mut self, track: usize) -> Result<NodeId, GraphError> {
        let clips = self.session.tracks[track].clips.len();
        let name = format!("{}: play", self.session.tracks[track].strip.name);
        let cost = PLAY_COST * clips.max(1) as f64;
        self.graph.add(Node { cost, ..Node::new(name, NodeKind::Play(track)) })
    }

    fn add_sum(&mut self, place: usize, inputs: Vec<Edge>) -> Result<NodeId, GraphError> {
        let id = self.routing.ids[place];
        let name = format!("{}: sum", self.session.strip(id).name);
        let cost = INPUT_COST * inputs.len().max(1) as f64;
        self.graph.add(Node { cost, inputs, ..Node::new(name, NodeKind::Sum(id)) })
    }

    /// The node of an engine input that a track plays.
    fn played_input(&mut self, track: usize, input: InputId) -> Result<NodeId, GraphError> {
        let track = &self.session.tracks[track].strip.name;
        self.input(input, || GraphError::NoInput { track: track.clone(), input: input.0 })
    }

    /// The node of an engine input, which the first take or track that has it adds.
    fn input(
        &mut self,
        InputId(number): InputId,
        missing: impl Fn() -> GraphError,
    ) -> Result<NodeId, GraphError> {
        if let Some(node) = self.inputs.get(&number) {
            return Ok(*node);
        }
        let input = self.session.inputs.get(number).ok_or_else(&missing)?;
        let name = format!("input {}", input.name);
        let kind = NodeKind::Input(u16::try_from(number).map_err(|_| missing())?);
        let events = if input.events { EventPorts::OUTPUT } else { EventPorts::NONE };
        let ports = Ports::of(input.channels).with_events(events);
        let latency_frames = input.latency_frames;
        let node = Node { ports, latency_frames, ..Node::new(name, kind) };
        let node = self.graph.add(node)?;
        self.inputs.insert(number, node);
        Ok(node)
    }

    /// What flows into a strip, in the order tracks, groups, returns.
    fn inputs_of(&self, place: usize) -> Vec<Edge> {
        // Strips come in the order of the routing, so every feed has its taps by now.
        self.routing.feeds[place].iter().filter_map(|feed| self.edge(feed)).collect()
    }

    fn edge(&self, feed: &Feed) -> Option<Edge> {
        let strip = self.routing.ids[feed.from];
        let node = feed.send.and_then(|index| self.sends.get(&SendAt { strip, index }));
        match node {
            Some(node) => Some(Edge::new(*node, if feed.is_silent { 0.0 } else { 1.0 })),
            None => Some(Edge::new(self.taps[feed.from]?.at(feed.tap), feed.gain_lin)),
        }
    }

    fn feed_back(&mut self) -> Result<(), GraphError> {
        let edge = |fed: &FedBack| Some((self.edge(&fed.feed)?, self.taps[fed.to]?.head));
        let edges: Vec<_> = self.routing.feedback.iter().filter_map(edge).collect();
        edges.into_iter().try_for_each(|(edge, reader)| self.graph.feed_back(edge, reader))
    }

    /// A session without outputs of its own has the last node, the master's fader.
    fn set_outputs(&mut self) -> Result<(), GraphError> {
        if self.session.outputs.is_empty() {
            return Ok(());
        }
        let mut outputs: Vec<NodeId> = self.graph.output().into_iter().collect();
        for output in &self.session.outputs {
            let taps = place(self.session, output.from).and_then(|place| self.taps[place]);
            let strip = || output.name.clone();
            let unknown = || GraphError::UnknownStrip { strip: strip(), feeds: output.from };
            outputs.push(taps.ok_or_else(unknown)?.at(output.tap));
        }
        self.graph.set_outputs(outputs)
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
    let ids = session.strip_ids().into_iter();
    let heard = |(id, silent): (StripId, bool)| !silent && !session.strip(id).mute;
    ids.zip(silent_by_solo(session)).map(heard).collect()
}

/// Which strips a solo elsewhere silences, in the order of [`Session::strip_ids`]. They send nothing, also not before their
/// faders; a mute leaves those sends alone.
///
/// Cost: O(strips * nesting of groups).
pub fn silent_by_solo(session: &Session) -> Vec<bool> {
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
    ids.into_iter().map(|id| !heard(id)).collect()
}

fn is_solo_domain(id: StripId) -> bool {
    matches!(id, StripId::Track(_) | StripId::Group(_))
}

/// The strip itself and the groups it flows through; bounded, so a cycle ends too.
fn downstream(session: &Session, id: StripId) -> impl Iterator<Item = StripId> {
    let next = |id: &StripId| session.output(*id).map(StripId::from);
    let group = |id: &StripId| *id != StripId::Master && place(session, *id).is_some();
    std::iter::successors(Some(id), move |id| next(id).filter(group)).take(session.groups.len() + 1)
}
