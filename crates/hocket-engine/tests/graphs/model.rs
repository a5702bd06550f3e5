//! Random graphs of every shape, and what they must sound like: a model that computes frame by frame and keeps all
//! of the past.

use std::collections::VecDeque;

use hocket_engine::host::Host;
use hocket_engine::time::{Event, EventKind, Midi1, Note, Pushed, Source};
use hocket_engine::{
    Block, ChannelMap, Edge, EventPorts, Graph, InputPort, Node, NodeId, NodeKind, NodeSource,
    Ports, Processor, RowsRef,
};

use super::FRAMES;
use super::shared_work::{Besides, Chunks, Voices};

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end.max(1)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn gain(&mut self) -> f32 {
        if self.one_in(3) { 1.0 } else { self.below(2000) as f32 / 1000.0 - 1.0 }
    }
}

/// What a node does with one frame of its rows. The main rows are then delayed by its latency.
fn work(number: usize, main: &mut [f32], side: &[f32], extra: &mut [f32]) {
    for (channel, sample) in main.iter_mut().enumerate() {
        let key = if side.is_empty() { 0.0 } else { side[channel % side.len()] };
        *sample = *sample * 0.75 + key * 0.5;
    }
    for (channel, sample) in extra.iter_mut().enumerate() {
        *sample = main[channel % main.len()] * 0.5 + (number + channel) as f32 * 0.001;
    }
}

/// What the host plays into input `number`.
fn played(number: u16, channel: usize, frame: usize) -> f32 {
    ((frame * 7 + channel * 3 + usize::from(number)) % 11) as f32 * 0.1 - 0.5
}

/// What the host hands over for input `number` at a frame.
fn handed_over(number: u16, frame: usize) -> Vec<EventKind> {
    let count = if (frame + usize::from(number)).is_multiple_of(7) { 2 } else { 0 };
    (0..count).map(|n| event(number.into(), frame + n)).collect()
}

/// An event that differs from its neighbours.
fn event(number: usize, frame: usize) -> EventKind {
    let key = (frame * 5 + number) % 128;
    match frame % 3 {
        0 => EventKind::Note(Note::on(-1, 0, key as i8, 0.5)),
        1 => EventKind::Midi(Midi1::new(&[0x80, key as u8, 0]).unwrap()),
        _ => EventKind::param(number as u32, frame as f64 / 8.0),
    }
}

/// What a voice sounds like after an event. The order of events is heard.
fn after(voice: f32, event: &EventKind) -> f32 {
    let heard = match event {
        EventKind::Note(note) => f32::from(note.key) + note.velocity as f32,
        EventKind::Midi(message) => -f32::from(message.bytes()[1]),
        EventKind::Param(change) => change.value as f32,
        other => panic!("nobody sends {other:?}"),
    };
    voice * 0.5 + heard * 0.01
}

/// What a source adds, so that there is sound without inputs: one impulse, then a pattern.
fn source(number: usize, frame: usize) -> f32 {
    if frame.is_multiple_of(9) { 1.0 / (number + 1) as f32 } else { 0.0 }
}

/// A node's processor, as an engine sees it.
struct Works {
    number: usize,
    is_source: bool,
    writes_events: bool,
    /// What events made it sound like.
    voice: f32,
    frame: usize,
    late: Vec<VecDeque<f32>>,
    besides: Besides,
    voices: Voices,
    chunks: Chunks,
}

impl Processor for Works {
    fn join(&mut self, host: &mut dyn Host) {
        if self.besides == Besides::Asks {
            self.chunks.join(host);
        }
    }

    fn answered(&mut self, answer: &[u8]) {
        self.chunks.answered(answer);
    }

    fn process(&mut self, block: &mut Block<'_>) {
        let channels = block.channels();
        let side_rows = block.more.as_ref().map_or(0, |more| more.side_chain.len());
        let extra_rows = block.more.as_ref().map_or(0, |more| more.extra.len());
        for i in 0..block.frames() {
            let mut main: Vec<f32> = (0..channels).map(|c| block.channel_mut(c)[i]).collect();
            let more = block.more.as_ref();
            let side: Vec<f32> =
                (0..side_rows).map(|c| more.unwrap().side_chain.row(c)[i]).collect();
            if let Some(key) = block.side_chain {
                assert_eq!((key.left[i], key.right[i]), (side[0], side[1.min(side_rows - 1)]));
            }
            let mut extra = vec![0.0; extra_rows];
            let now = block.received().iter().filter(|event| event.frame as usize == i);
            let received: Vec<EventKind> = now.map(|event| event.kind).collect();
            for kind in self.frame((&mut main, &side, &mut extra), &received) {
                assert_eq!(block.send(i as u32, kind), Pushed::Stored);
            }
            (0..channels).for_each(|c| block.channel_mut(c)[i] = main[c]);
            for (c, sample) in extra.into_iter().enumerate() {
                block.more.as_mut().unwrap().extra.row_mut(c)[i] = sample;
            }
        }
        match self.besides {
            Besides::Nothing => {}
            Besides::Spreads => self.voices.spread(block),
            Besides::Asks => self.chunks.ask(block),
        }
    }

    fn reset(&mut self) {
        (self.frame, self.voice) = (0, 0.0);
        self.late.iter_mut().flatten().for_each(|sample| *sample = 0.0);
        self.voices.reset();
        self.chunks.reset();
    }
}

impl Works {
    fn of(number: usize, node: &Node, besides: Besides) -> Works {
        let late = vec![0.0; node.latency_frames as usize].into();
        let late = vec![late; usize::from(node.ports.main)];
        let is_input = matches!(node.kind, NodeKind::Input(_));
        let is_source = node.inputs.iter().all(Edge::is_for_events) && !is_input;
        let writes_events = node.ports.events.output && !is_input;
        let (voices, chunks) = (Voices::new(node.ports.main.into()), Chunks::default());
        let (voice, frame) = (0.0, 0);
        Works { number, is_source, writes_events, voice, frame, late, besides, voices, chunks }
    }

    /// What it does besides, of one frame, as one thread alone would.
    fn alone(&mut self, main: &mut [f32]) {
        match self.besides {
            Besides::Nothing => {}
            Besides::Spreads => self.voices.alone(main),
            Besides::Asks => self.chunks.alone(main),
        }
    }

    /// One frame of main channels, side chain and extra outputs. Returns what it sends.
    fn frame(
        &mut self,
        (main, side, extra): (&mut [f32], &[f32], &mut [f32]),
        received: &[EventKind],
    ) -> Vec<EventKind> {
        if self.is_source {
            main.iter_mut().for_each(|sample| *sample += source(self.number, self.frame));
        }
        self.voice = received.iter().fold(self.voice, after);
        main.iter_mut().for_each(|sample| *sample += self.voice);
        work(self.number, main, side, extra);
        for (sample, late) in main.iter_mut().zip(&mut self.late) {
            late.push_back(*sample);
            *sample = late.pop_front().unwrap_or(0.0);
        }
        let frame = self.frame;
        self.frame += 1;
        let own = self.writes_events && (frame + self.number).is_multiple_of(11);
        let sent = received.iter().take(1).copied().filter(|_| self.writes_events);
        sent.chain(own.then(|| event(self.number, frame))).collect()
    }
}

/// A graph with the processors that belong to it.
pub struct Case {
    pub graph: Graph,
    /// Whether the node only sums.
    sums: Vec<bool>,
    besides: Vec<Besides>,
}

impl Case {
    fn empty() -> Case {
        Case { graph: Graph::default(), sums: Vec::new(), besides: Vec::new() }
    }

    pub fn random(random: &mut Random) -> Case {
        let mut case = Case::empty();
        let count = 2 + random.below(24);
        for number in 0..count {
            let node = case.node(number, random);
            let deaf = node.ports.events == EventPorts::NONE;
            let may_sum = deaf || matches!(node.kind, NodeKind::Input(_));
            let sums = node.latency_frames == 0 && node.ports.extra == 0 && random.one_in(4);
            let sums = sums && may_sum;
            case.sums.push(sums);
            case.besides.push(Besides::Nothing);
            case.graph.add(node).unwrap();
        }
        for _ in 0..random.below(3) {
            let (from, reader) = (random.below(count), random.below(count));
            let edge = case.edge(from, &case.graph.nodes()[reader].clone(), random);
            if let Some(edge) = edge {
                case.graph
                    .feed_back(Edge { gain_lin: 0.3, ..edge }, NodeId(reader as u32))
                    .unwrap();
            }
        }
        if random.one_in(2) {
            let outputs = (0..1 + random.below(3)).map(|_| NodeId(random.below(count) as u32));
            let outputs = outputs.collect();
            case.graph.set_outputs(outputs).unwrap();
        }
        case
    }

    /// Every kind of port, in four branches beside each other, one for each of up to four workers: 1, 3, 6 and 64
    /// channels, extra outputs, side chains, channel ranges, event edges, inputs, feedback, latency, several outputs and
    /// taps. The sources spread their channels over the workers, and the ends have work done in the background.
    pub fn of_every_port() -> Case {
        let mut case = Case::empty();
        let mut taps = Vec::new();
        let ends = [1, 3, 6, 64].map(|channels| {
            let (source, middle, end) = case.add_branch(channels);
            taps.extend([source, middle]);
            Edge::new(end, 0.5)
        });
        let mix = case.add("mix", Ports::STEREO, ends.to_vec(), 0);
        case.graph.set_outputs([&[mix][..], &taps].concat()).unwrap();
        case
    }

    /// A source of so many channels, a node with all ports that it feeds, and a stereo end. Returns their ids.
    fn add_branch(&mut self, channels: u16) -> (NodeId, NodeId, NodeId) {
        let sends = EventPorts { input: false, output: true };
        let both = EventPorts { input: true, output: true };
        let ports = Ports { extra: 2, events: sends, ..Ports::of(channels) };
        let source = self.add("source", ports, Vec::new(), u32::from(channels % 4));
        self.besides[source.index()] = Besides::Spreads;
        let mut input = Node::new("input", NodeKind::Input(channels % 2));
        input.ports.events = sends;
        let input = self.add_node(input);
        let range = |from, to, count| ChannelMap::Range { from, to, count };
        let middle = vec![
            Edge { map: range(channels - 1, 2, 1), ..Edge::new(source, 0.75) },
            Edge { map: range(0, 4, 2), ..Edge::new(input, -0.5) },
            // The extra outputs follow the main channels.
            Edge { to: InputPort::SideChain, map: range(channels, 1, 2), ..Edge::new(source, 1.0) },
            Edge::events(input),
            Edge::events(source),
        ];
        let ports = Ports { side_chain: 3, extra: 1, events: both, ..Ports::of(6) };
        let middle = self.add("middle", ports, middle, 5);
        let end = vec![
            Edge { map: range(5, 0, 2), ..Edge::new(middle, 0.5) },
            Edge::new(input, 0.25),
            Edge::events(middle),
        ];
        let ports = Ports { events: both, ..Ports::STEREO };
        let end = self.add("end", ports, end, 0);
        let back = Edge { map: range(0, 1, 2), ..Edge::new(end, 0.3) };
        self.graph.feed_back(back, middle).unwrap();
        let end = self.add("asks", Ports::STEREO, vec![Edge::new(end, 1.0)], 0);
        self.besides[end.index()] = Besides::Asks;
        (source, middle, end)
    }

    fn add(&mut self, name: &str, ports: Ports, inputs: Vec<Edge>, latency_frames: u32) -> NodeId {
        let number = self.graph.nodes().len();
        let node = Node::new(format!("{name}{number}"), NodeKind::Custom(number as u32));
        self.add_node(Node { ports, inputs, latency_frames, ..node })
    }

    fn add_node(&mut self, node: Node) -> NodeId {
        self.sums.push(false);
        self.besides.push(Besides::Nothing);
        self.graph.add(node).unwrap()
    }

    fn node(&self, number: usize, random: &mut Random) -> Node {
        let main = [2, 2, 2, 1, 1, 3, 6][random.below(7)];
        let side_chain = [0, 0, 0, 0, 1, 2, 3][random.below(7)];
        let extra = [0, 0, 0, 0, 1, 4][random.below(6)];
        let mut node = Node::new(format!("n{number}"), NodeKind::Custom(number as u32));
        let events = EventPorts { input: random.one_in(3), output: random.one_in(3) };
        node.ports = Ports { main, side_chain, extra, events };
        node.cost = random.below(500) as f64;
        node.latency_frames = [0, 0, 0, 1, 5, 40][random.below(6)];
        if random.one_in(6) {
            node.kind = NodeKind::Input(random.below(2) as u16);
            return node;
        }
        let edges = if random.one_in(5) { 0 } else { 1 + random.below(4) };
        for _ in 0..edges.min(number * 4) {
            let back = 1 + random.below(3.min(number));
            let from = if random.one_in(3) { random.below(number) } else { number - back };
            node.inputs.extend(self.edge(from, &node, random));
        }
        self.add_event_edges(&mut node, random);
        node
    }

    /// Event edges anywhere among the edges of a node that reads events.
    fn add_event_edges(&self, node: &mut Node, random: &mut Random) {
        let ids = (0..).map(NodeId).zip(self.graph.nodes());
        let writers: Vec<NodeId> =
            ids.filter(|(_, node)| node.ports.events.output).map(|(id, _)| id).collect();
        if node.ports.events.input && !writers.is_empty() {
            for _ in 0..random.below(4) {
                let edge = Edge::events(writers[random.below(writers.len())]);
                node.inputs.insert(random.below(node.inputs.len() + 1), edge);
            }
        }
    }

    /// An edge that fits, if there is one.
    fn edge(&self, from: usize, reader: &Node, random: &mut Random) -> Option<Edge> {
        let source = self.graph.nodes().get(from)?.ports;
        let side = reader.ports.side_chain > 0 && random.one_in(2);
        let (to, width) = match side {
            true => (InputPort::SideChain, reader.ports.side_chain),
            false => (InputPort::Main, reader.ports.main),
        };
        let edge = Edge { to, ..Edge::new(NodeId(from as u32), random.gain()) };
        if random.one_in(2) && (source.main == width || source.main == 1) {
            return Some(edge);
        }
        let count = 1 + random.below(usize::from(width.min(source.outputs()))) as u16;
        let first =
            |all: u16, random: &mut Random| random.below(usize::from(all - count) + 1) as u16;
        let (from, to) = (first(source.outputs(), random), first(width, random));
        Some(Edge { map: ChannelMap::Range { from, to, count }, ..edge })
    }

    pub fn processors(&self) -> Vec<Option<Box<dyn Processor>>> {
        let nodes = self.graph.nodes().iter().zip(&self.sums).enumerate();
        let works = |(number, (node, sums)): (usize, (&Node, &bool))| {
            let works = || Box::new(Works::of(number, node, self.besides[number]));
            (!sums).then(|| works() as Box<dyn Processor>)
        };
        nodes.map(works).collect()
    }

    /// All nodes as they are.
    pub fn kept(&self) -> Vec<NodeSource> {
        (0..self.sums.len()).map(|id| NodeSource::Kept(NodeId(id as u32))).collect()
    }

    /// Writes what the host plays from `frame` on, in a block of `frames`.
    pub fn play_inputs(engine: &mut hocket_engine::Engine, frame: usize, frames: usize) {
        for number in 0..2 {
            // The last frames first: a host need not sort.
            for i in (0..frames).rev() {
                let Some(events) = engine.events_mut(number) else { break };
                for kind in handed_over(number, frame + i) {
                    let event = Event::new(i as u32, Source::LIVE, kind);
                    assert_eq!(events.push(event), Pushed::Stored);
                }
            }
            let Some(mut rows) = engine.input_mut(number, frames) else { continue };
            for channel in 0..rows.len() {
                let row = rows.row_mut(channel).iter_mut();
                row.enumerate().for_each(|(i, x)| *x = played(number, channel, frame + i));
            }
        }
    }

    /// What each output must be: by output, by row, by frame.
    pub fn expected(&self, frames: usize) -> Vec<Vec<Vec<f32>>> {
        let nodes = self.graph.nodes();
        let works = nodes.iter().zip(&self.besides).enumerate();
        let works = works.map(|(number, (node, besides))| Works::of(number, node, *besides));
        let mut works: Vec<Works> = works.collect();
        let arrivals = self.arrivals();
        // By node, by row, by frame.
        let mut past: Vec<Vec<Vec<f32>>> =
            nodes.iter().map(|node| vec![Vec::new(); usize::from(node.ports.rows())]).collect();
        // By node, by frame.
        let mut sent: Vec<Vec<Vec<EventKind>>> = vec![Vec::new(); nodes.len()];
        for frame in 0..frames {
            for (number, node) in nodes.iter().enumerate() {
                let mut rows = self.sum(number, frame, &past, &arrivals);
                if let NodeKind::Input(input) = node.kind {
                    let heard = rows.iter_mut().take(usize::from(node.ports.main)).enumerate();
                    heard.for_each(|(c, sum)| sum.insert(0, (played(input, c, frame), 1.0)));
                }
                let mut rows: Vec<f32> = rows.iter().map(|terms| in_order(terms)).collect();
                let received = self.received(number, frame, &sent, &arrivals);
                let mut sends = Vec::new();
                if !self.sums[number] {
                    let (main, rest) = rows.split_at_mut(usize::from(node.ports.main));
                    let (side, extra) = rest.split_at_mut(usize::from(node.ports.side_chain));
                    sends = works[number].frame((&mut *main, side, extra), &received);
                    works[number].alone(main);
                }
                if let NodeKind::Input(input) = node.kind {
                    sends = handed_over(input, frame);
                }
                sent[number].push(sends);
                past[number].iter_mut().zip(rows).for_each(|(row, sample)| row.push(sample));
            }
        }
        self.graph.outputs().iter().map(|id| past[id.index()].clone()).collect()
    }

    /// The frame at which what a source plays at frame 0 leaves each node: the longest path, found by relaxation.
    pub fn arrivals(&self) -> Vec<u32> {
        let nodes = self.graph.nodes();
        let mut at = vec![0; nodes.len()];
        for _ in 0..nodes.len() {
            for (number, node) in nodes.iter().enumerate() {
                let before = node.inputs.iter().map(|edge| at[edge.from.index()]).max();
                at[number] = before.unwrap_or(0) + node.latency_frames;
            }
        }
        at
    }

    /// What a node receives at a frame: edge by edge, each with what was sent so long ago that it arrives with the audio.
    fn received(
        &self,
        number: usize,
        frame: usize,
        sent: &[Vec<Vec<EventKind>>],
        arrivals: &[u32],
    ) -> Vec<EventKind> {
        let edges = &self.graph.nodes()[number].inputs;
        let at = |edge: &Edge| arrivals[edge.from.index()] as usize;
        let latest = edges.iter().map(at).max().unwrap_or(0);
        let events = edges.iter().filter(|edge| edge.is_for_events());
        let of = |edge: &Edge| {
            let then = frame.checked_sub(latest - at(edge))?;
            sent[edge.from.index()].get(then).cloned()
        };
        events.filter_map(of).flatten().collect()
    }

    /// The terms that each row of a node sums, in order.
    fn sum(
        &self,
        number: usize,
        frame: usize,
        past: &[Vec<Vec<f32>>],
        arrivals: &[u32],
    ) -> Vec<Vec<(f32, f32)>> {
        let node = &self.graph.nodes()[number];
        let mut rows = vec![Vec::new(); usize::from(node.ports.rows())];
        let latest = node.inputs.iter().map(|edge| arrivals[edge.from.index()]).max().unwrap_or(0);
        let direct =
            node.inputs.iter().map(|edge| (edge, (latest - arrivals[edge.from.index()]) as usize));
        let back = self.graph.feedback().iter().filter(|back| back.reader.index() == number);
        for (edge, delay) in direct.chain(back.map(|back| (&back.edge, FRAMES))) {
            for (from, to) in self.pairs(edge, node) {
                let heard = |at: usize| past[edge.from.index()][from].get(at).copied();
                let sample = frame.checked_sub(delay).and_then(heard).unwrap_or(0.0);
                rows[to].push((sample, edge.gain_lin));
            }
        }
        rows
    }

    /// Rows of the source and of the reader that an edge connects, channel by channel.
    fn pairs(&self, edge: &Edge, reader: &Node) -> Vec<(usize, usize)> {
        let source = self.graph.nodes()[edge.from.index()].ports;
        let (first, width) = match edge.to {
            InputPort::Main => (0, usize::from(reader.ports.main)),
            InputPort::SideChain => {
                (usize::from(reader.ports.main), usize::from(reader.ports.side_chain))
            }
            InputPort::Events => return Vec::new(),
        };
        let row = |channel: usize| match channel < usize::from(source.main) {
            true => channel,
            false => channel + usize::from(source.side_chain),
        };
        match edge.map {
            ChannelMap::Straight => (0..width)
                .map(|c| (if usize::from(source.main) == width { c } else { 0 }, first + c))
                .collect(),
            ChannelMap::Range { from, to, count } => (0..usize::from(count))
                .map(|c| (row(usize::from(from) + c), first + usize::from(to) + c))
                .collect(),
        }
    }
}

/// The sum of a row, as the engine makes it: the first term times its gain, then one after the other. A gain of 0 is no
/// term.
fn in_order(terms: &[(f32, f32)]) -> f32 {
    let mut sum = None;
    for (sample, gain) in terms.iter().filter(|(_, gain)| *gain != 0.0) {
        sum = Some(match sum {
            None => sample * gain,
            Some(before) => before + sample * gain,
        });
    }
    sum.unwrap_or(0.0)
}

/// Main and extra rows, bit by bit.
pub fn bits(rows: RowsRef<'_>, row: usize) -> Vec<u32> {
    rows.row(row).iter().map(|sample| sample.to_bits()).collect()
}
