//! Ports and channels: how wide a node's bus is, and which rows an edge connects.
//!
//! A node has one bus, and its ports are ranges of the bus's rows, in this order:
//!
//! | rows | port | the node |
//! |---|---|---|
//! | [`Ports::main`] | main input and main output | processes them in place |
//! | [`Ports::side_chain`] | a second input, such as a compressor's key | reads them |
//! | [`Ports::extra`] | further outputs, such as those of a drum machine | writes them |
//!
//! So there is one kind of memory and one kind of sum for any number of channels and ports. A stereo node, the
//! usual one, has two rows.
//!
//! Event ports have no rows. A node has one event input and one event output at most ([`EventPorts`]).

use super::{Edge, GraphError, Node};

/// How many channels each port of a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Channels that the node processes in place: 1 to [`Ports::MOST`].
    pub main: u16,
    /// Channels of the second input; 0 for none.
    pub side_chain: u16,
    /// Channels of further outputs; 0 for none.
    pub extra: u16,
    /// Whether it reads and writes events.
    pub events: EventPorts,
}

/// Whether a node reads events and whether it writes them: notes, MIDI, and changes of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventPorts {
    /// It reads what its event edges bring.
    pub input: bool,
    /// It writes events that others read.
    pub output: bool,
}

impl EventPorts {
    /// Neither: the usual node.
    pub const NONE: EventPorts = EventPorts { input: false, output: false };
    /// An instrument, for example.
    pub const INPUT: EventPorts = EventPorts { input: true, output: false };
    /// A sequencer, for example.
    pub const OUTPUT: EventPorts = EventPorts { input: false, output: true };
    /// An arpeggiator, for example.
    pub const BOTH: EventPorts = EventPorts { input: true, output: true };
}

impl Default for Ports {
    fn default() -> Ports {
        Ports::STEREO
    }
}

impl Ports {
    /// Two channels in and out.
    pub const STEREO: Ports = Ports::of(2);
    /// The most channels of a port.
    pub const MOST: u16 = 64;

    /// A node with `main` channels in and out.
    pub const fn of(main: u16) -> Ports {
        Ports { main, side_chain: 0, extra: 0, events: EventPorts::NONE }
    }

    /// The same channels with event ports.
    pub const fn with_events(self, events: EventPorts) -> Ports {
        Ports { events, ..self }
    }

    /// Whether it has two main channels and no others.
    #[inline]
    pub fn is_stereo(self) -> bool {
        (self.main, self.side_chain, self.extra) == (2, 0, 0)
    }

    /// Whether an effect that works on stereo nodes alone fits: it may have a key of up to two channels besides.
    pub fn fit_stereo(self) -> bool {
        self.main == 2 && self.side_chain <= 2 && self.extra == 0
    }

    /// Rows of the bus.
    pub fn rows(self) -> u16 {
        self.main + self.side_chain + self.extra
    }

    /// Channels that others can read: the main ones, then the extra ones.
    pub fn outputs(self) -> u16 {
        self.main + self.extra
    }

    pub(crate) fn are_possible(self) -> bool {
        let few = |channels: u16| channels <= Ports::MOST;
        self.main > 0 && few(self.main) && few(self.side_chain) && few(self.extra)
    }

    /// The row of an output channel.
    fn output_row(self, channel: u16) -> u16 {
        if channel < self.main { channel } else { channel + self.side_chain }
    }
}

/// The input port at which an edge arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum InputPort {
    /// The main channels.
    #[default]
    Main,
    /// The side chain.
    SideChain,
    /// The event input: the edge brings events and no channels ([`Edge::events`]).
    Events,
}

/// Which channels an edge carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChannelMap {
    /// Each main channel of the source to the channel of the same number. Both ports have equally many channels, or the
    /// source has one, which goes to all channels of the port.
    #[default]
    Straight,
    /// `count` channels of the source from channel `from` on (the main channels, then the extra ones), to the
    /// channels of the port from `to` on. Several edges make any other map.
    Range {
        /// First output channel of the source.
        from: u16,
        /// First channel of the port.
        to: u16,
        /// How many.
        count: u16,
    },
}

/// Rows of two buses that belong together: `count` rows from row `from` of the source's bus on, and from row `to` of the
/// reader's bus on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First row of the source.
    pub from: u16,
    /// First row of the reader.
    pub to: u16,
    /// How many.
    pub count: u16,
}

impl Span {
    /// The two rows of stereo buses.
    pub const STEREO: Span = Span::whole(2);
    /// No rows: what an event edge connects.
    pub const NONE: Span = Span::whole(0);

    /// All rows of two buses with `count` rows.
    pub const fn whole(count: u16) -> Span {
        Span { from: 0, to: 0, count }
    }
}

/// The rows that `edge` connects, from a bus with ports `source` to one with ports `reader`; as few spans as possible.
///
/// # Errors
/// - [`GraphError::Channels`] if the edge names channels that are not there, or numbers that do not fit,
/// - [`GraphError::EventPorts`] if it is an event edge, and one of both nodes lacks the port.
pub(super) fn spans(edge: &Edge, source: &Node, reader: &Node) -> Result<Vec<Span>, GraphError> {
    let (first, width) = match edge.to {
        InputPort::Main => (0, reader.ports.main),
        InputPort::SideChain => (reader.ports.main, reader.ports.side_chain),
        InputPort::Events => return no_spans(source, reader),
    };
    let pairs: Vec<(u16, u16)> = match edge.map {
        ChannelMap::Straight if source.ports.main == width => (0..width).map(|c| (c, c)).collect(),
        ChannelMap::Straight if source.ports.main == 1 => (0..width).map(|c| (0, c)).collect(),
        ChannelMap::Range { from, to, count }
            if count > 0
                && u32::from(from) + u32::from(count) <= u32::from(source.ports.outputs())
                && u32::from(to) + u32::from(count) <= u32::from(width) =>
        {
            (0..count).map(|c| (from + c, to + c)).collect()
        }
        _ => return Err(do_not_fit(edge, source, reader, width)),
    };
    if pairs.is_empty() {
        return Err(do_not_fit(edge, source, reader, width));
    }
    let rows = pairs.into_iter().map(|(from, to)| (source.ports.output_row(from), first + to));
    Ok(joined(rows))
}

/// An event edge connects no rows.
fn no_spans(source: &Node, reader: &Node) -> Result<Vec<Span>, GraphError> {
    let (writes, reads) = (source.ports.events.output, reader.ports.events.input);
    let (source, reader) = (source.name.clone(), reader.name.clone());
    match writes && reads {
        true => Ok(Vec::new()),
        false => Err(GraphError::EventPorts { source, reader, writes, reads }),
    }
}

/// Neighbouring pairs of rows as spans.
fn joined(rows: impl Iterator<Item = (u16, u16)>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (from, to) in rows {
        match spans.last_mut() {
            Some(last) if (last.from + last.count, last.to + last.count) == (from, to) => {
                last.count += 1;
            }
            _ => spans.push(Span { from, to, count: 1 }),
        }
    }
    spans
}

fn do_not_fit(edge: &Edge, source: &Node, reader: &Node, width: u16) -> GraphError {
    GraphError::Channels {
        source: source.name.clone(),
        outputs: source.ports.outputs(),
        reader: reader.name.clone(),
        port: edge.to,
        inputs: width,
        map: edge.map,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, NodeKind};

    fn node(ports: Ports) -> Node {
        Node { ports, ..Node::new("n", NodeKind::Custom(0)) }
    }

    fn between(map: ChannelMap, to: InputPort, source: Ports, reader: Ports) -> Option<Vec<Span>> {
        let edge = Edge { map, to, ..Edge::new(NodeId(0), 1.0) };
        spans(&edge, &node(source), &node(reader)).ok()
    }

    #[test]
    fn straight_edges_connect_equal_ports_and_spread_mono() {
        let straight = |source, reader| {
            between(ChannelMap::Straight, InputPort::Main, Ports::of(source), Ports::of(reader))
        };
        assert_eq!(straight(2, 2), Some(vec![Span::STEREO]));
        assert_eq!(straight(64, 64), Some(vec![Span::whole(64)]));
        let spread = [Span { from: 0, to: 0, count: 1 }, Span { from: 0, to: 1, count: 1 }];
        assert_eq!(straight(1, 2), Some(spread.to_vec()));
        assert_eq!(straight(2, 1), None, "which of them?");
        assert_eq!(straight(2, 6), None);
    }

    #[test]
    fn ranges_reach_side_chains_and_extra_outputs_and_nothing_else() {
        let drums = Ports { side_chain: 1, extra: 4, ..Ports::STEREO };
        let range = |from, to, count, port| {
            between(ChannelMap::Range { from, to, count }, port, drums, drums)
        };
        let (main, side) = (InputPort::Main, InputPort::SideChain);
        assert_eq!(range(2, 0, 2, main), Some(vec![Span { from: 3, to: 0, count: 2 }]));
        let across = [Span { from: 1, to: 0, count: 1 }, Span { from: 3, to: 1, count: 1 }];
        assert_eq!(range(1, 0, 2, main), Some(across.to_vec()), "not the side chain between them");
        assert_eq!(range(0, 0, 1, side), Some(vec![Span { from: 0, to: 2, count: 1 }]));
        for (from, to, count, port) in
            [(5, 0, 2, main), (0, 1, 2, main), (0, 0, 0, main), (0, 0, 2, side), (0, 1, 1, side)]
        {
            assert_eq!(range(from, to, count, port), None, "{from} {to} {count}");
        }
        let most = ChannelMap::Range { from: u16::MAX, to: u16::MAX, count: u16::MAX };
        assert_eq!(between(most, main, drums, drums), None);
        let deaf = Ports::STEREO;
        assert_eq!(between(ChannelMap::Straight, side, deaf, deaf), None, "no such port");
    }

    #[test]
    fn event_edges_connect_no_rows_and_need_both_ports() {
        let kinds = [EventPorts::NONE, EventPorts::INPUT, EventPorts::OUTPUT, EventPorts::BOTH];
        for (source, reader) in kinds.iter().flat_map(|a| kinds.map(|b| (*a, b))) {
            let [from, to] = [source, reader].map(|events| Ports::STEREO.with_events(events));
            let fits = source.output && reader.input;
            let spans = between(ChannelMap::Straight, InputPort::Events, from, to);
            assert_eq!(spans, fits.then(Vec::new), "{source:?} {reader:?}");
        }
    }
}
