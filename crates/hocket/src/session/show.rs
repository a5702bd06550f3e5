//! A session as a tree for people.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use hocket_engine::Effects;
use hocket_engine::session::{
    Automation, Clip, Destination, Effect, LaneSpec, LoopPoints, NoteClip, NoteSource, OutputAt,
    SendAt, Session, StripId, Tap,
};
use hocket_engine::time::{Glide, TimeBase};
use hocket_engine::{
    EffectCatalogue, Fusing, Graph, LaneTarget, LiveCause, Liveness, NodeId, NodeKind,
};
use hocket_lab::numbers::counted;
use hocket_plan::UnitGraph;
use hocket_plan::graph::{EffectFacts, session_graph};

/// The tree, line by line. `name_of`: what people call a file.
pub(super) fn text(session: &Session, rate_hz: u32, name_of: &dyn Fn(&Path) -> String) -> String {
    let effects = crate::load::effects();
    let mut lanes: HashMap<StripId, Vec<&Automation>> = HashMap::new();
    for lane in &session.automation {
        lanes.entry(lane.target.strip()).or_default().push(lane);
    }
    let graph = session_graph(session, &effects.at(rate_hz)).unwrap_or_default();
    let live = Live::of(&graph);
    let mut tree =
        Tree { session, effects, rate_hz, name_of, lanes, graph: &graph, live, out: String::new() };
    tree.about();
    tree.time();
    tree.ports();
    for id in session.strip_ids() {
        tree.strip(id);
    }
    tree.latency();
    tree.liveness();
    tree.out
}

struct Tree<'a> {
    session: &'a Session,
    effects: Effects,
    rate_hz: u32,
    name_of: &'a dyn Fn(&Path) -> String,
    /// By strip.
    lanes: HashMap<StripId, Vec<&'a Automation>>,
    graph: &'a Graph,
    live: Live,
    out: String,
}

/// What depends on live input.
struct Live {
    liveness: Liveness,
    /// The last node of each strip.
    faders: HashMap<StripId, NodeId>,
}

impl Live {
    fn of(graph: &Graph) -> Live {
        let nodes = (0..).map(NodeId).zip(graph.nodes());
        let faders = nodes.filter_map(|(id, node)| match node.kind {
            NodeKind::Fader(strip) => Some((strip, id)),
            _ => None,
        });
        Live { liveness: graph.liveness(), faders: faders.collect() }
    }

    /// Why what a strip puts out depends on live input.
    fn of_strip(&self, strip: StripId) -> Option<LiveCause> {
        self.liveness.of_node(*self.faders.get(&strip)?)
    }
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn about(&mut self) {
        let Session { name, length_s, .. } = self.session;
        let length = length_s.map_or(String::new(), |length| format!(", {length} s"));
        self.line(0, &format!("session {name} at {} Hz{length}", self.rate_hz));
    }

    fn time(&mut self) {
        let time = &self.session.time;
        for tempo in &time.tempos {
            let glide =
                if tempo.glide == Glide::Linear { ", then in a line to the next" } else { "" };
            self.line(1, &format!("tempo {} at beat {}{glide}", tempo.bpm, tempo.beats));
        }
        for meter in &time.meters {
            let signature = meter.signature;
            let (numerator, denominator) = (signature.numerator, signature.denominator);
            self.line(1, &format!("meter {numerator}/{denominator} at beat {}", meter.beats));
        }
        if let Some(LoopPoints { base, from, to }) = time.repeat {
            self.line(1, &format!("loop from {from} to {to} {}", unit(base)));
        }
    }

    fn ports(&mut self) {
        for (number, input) in self.session.inputs.iter().enumerate() {
            let channels = match input.channels {
                1 => "mono".into(),
                2 => "stereo".into(),
                channels => format!("{channels} channels"),
            };
            let events = if input.events { ", with events" } else { "" };
            self.line(1, &format!("input {number}: {}, {channels}{events}", input.name));
        }
        self.line(1, "output 0: master");
        for (number, output) in (1..).zip(&self.session.outputs) {
            let from = self.name(output.from);
            self.line(
                1,
                &format!("output {number}: {}, from {from}{}", output.name, tap(output.tap)),
            );
        }
    }

    fn name(&self, id: StripId) -> &str {
        &self.session.strip(id).name
    }

    fn strip(&mut self, id: StripId) {
        let strip = self.session.strip(id);
        let sort = match id {
            StripId::Track(_) => "track ",
            StripId::Group(_) => "group ",
            StripId::Return(_) => "return ",
            StripId::Master => "",
        };
        let mut head = format!("{sort}{}", strip.name);
        match self.session.output(id) {
            Some(Destination::Master) => head.push_str(" -> master"),
            Some(Destination::Group(group)) => {
                let _ = write!(head, " -> {}", self.name(StripId::Group(group.0)));
            }
            None => {}
        }
        let _ = write!(head, ", {} dB", strip.gain_db);
        if strip.pan != 0.0 {
            let _ = write!(head, ", pan {}", strip.pan);
        }
        for (is_on, word) in [(strip.mute, ", muted"), (strip.solo, ", soloed")] {
            head.push_str(if is_on { word } else { "" });
        }
        self.line(1, &head);
        if let StripId::Track(index) = id {
            self.sources(index);
        }
        for effect in &strip.chain {
            self.effect(effect);
        }
        for send in &strip.sends {
            let to = self.name(send.to.into());
            let later = if send.feedback { ", a block later" } else { "" };
            self.line(2, &format!("send to {to}, {} dB{}{later}", send.gain_db, tap(send.tap)));
        }
        for lane in self.lanes.remove(&id).unwrap_or_default() {
            self.lane(lane);
        }
        if let Some(cause) = self.live.of_strip(id) {
            let cause = self.cause(cause);
            self.line(2, &format!("depends on live input: {cause}"));
        }
    }

    fn cause(&self, cause: LiveCause) -> String {
        let input = |number: u16| {
            let input = self.session.inputs.get(usize::from(number));
            input.map_or("", |input| input.name.as_str())
        };
        match cause {
            LiveCause::Input(number) => format!("the input {}", input(number)),
            LiveCause::InputEvents(number) => format!("events of the input {}", input(number)),
            LiveCause::Feedback(from) => {
                let node = self.graph.nodes().get(from.index());
                format!("feedback from {}", node.map_or("", |node| node.name.as_str()))
            }
        }
    }

    /// How much of the graph can be rendered ahead.
    fn liveness(&mut self) {
        let nodes = (0..).map(NodeId).zip(self.graph.nodes());
        let live = |(id, node): (NodeId, &hocket_engine::Node)| {
            (0..node.inputs.len())
                .filter(|place| self.live.liveness.of_edge(id, *place).is_some())
                .count()
        };
        let edges: usize = nodes.map(live).sum();
        let (all_nodes, all_edges) = (self.graph.nodes().len(), self.graph.edge_count());
        let nodes = self.live.liveness.live_nodes();
        self.line(1, &format!("live: {nodes} of {all_nodes} nodes, {edges} of {all_edges} edges"));
    }

    fn sources(&mut self, track: usize) {
        let track = &self.session.tracks[track];
        for Clip { media, start_s, length_s, looped, .. } in &track.clips {
            let path = self.session.media.get(media.0).map(|media| (self.name_of)(&media.path));
            let length = length_s.map_or(String::new(), |length| format!(", {length} s"));
            let looped = if *looped { ", looped" } else { "" };
            let path = path.unwrap_or_default();
            self.line(2, &format!("clip {path} at {start_s} s{length}{looped}"));
        }
        for clip in &track.notes {
            self.notes(clip);
        }
        if let Some(input) = track.input.and_then(|input| self.session.inputs.get(input.0)) {
            self.line(2, &format!("input {}", input.name));
        }
        if let Some(OutputAt { effect, index }) = track.from {
            let strip = self.session.strip(effect.strip);
            let kind = strip.chain.get(effect.index).map_or("", |effect| &effect.kind);
            let outputs = self.effects.extra_outputs(kind);
            let output = outputs.get(index).map_or("", |output| &output.name);
            self.line(2, &format!("output {output} of {}: {kind}", strip.name));
        }
    }

    fn notes(&mut self, clip: &NoteClip) {
        let (start, end, unit) = (clip.start, clip.end(), unit(clip.base));
        let what = match &clip.source {
            NoteSource::Written(notes) => counted(notes.len(), "note"),
            NoteSource::File(file) => {
                let messages = counted(file.messages.len(), "message");
                format!("{messages} of {}", file.path.display())
            }
        };
        self.line(2, &format!("notes: {what} from {start} to {end} {unit}"));
    }

    /// An effect with what differs from its defaults.
    fn effect(&mut self, effect: &Effect) {
        let params = self.effects.params(&effect.kind).unwrap_or_default();
        let mut text = effect.kind.clone();
        for (param, value) in params.iter().zip(&effect.values) {
            if *value != param.default {
                let _ = write!(text, ", {} {value}", param.name);
            }
        }
        if let Some(file) = &effect.file {
            let _ = write!(text, ", plays {}", (self.name_of)(file));
        }
        if effect.bypass {
            text.push_str(", bypassed");
        }
        if let Some(key) = effect.key {
            let _ = write!(text, ", hears {}{}", self.name(key.from), tap(key.tap));
        }
        if let Some(events) = effect.events {
            let _ = write!(text, ", receives the notes of {}", self.name(events));
        }
        match self.effects.at(self.rate_hz).latency_frames(effect) {
            0 => {}
            frames => _ = write!(text, ", latency {frames} frames"),
        }
        self.line(2, &text);
    }

    fn lane(&mut self, Automation { target, lane }: &Automation) {
        let LaneSpec { points, base, .. } = lane;
        let count = match points.len() {
            1 => "1 point".to_owned(),
            count => format!("{count} points"),
        };
        let ends = points.first().zip(points.last());
        let from_to = ends.map_or(String::new(), |(first, last)| {
            format!(" from {} to {} {}", first.at, last.at, unit(*base))
        });
        let what = self.target(*target);
        self.line(2, &format!("lane of {what}: {count}{from_to}"));
    }

    /// What a lane moves, in the words of the file.
    fn target(&self, target: LaneTarget) -> String {
        let strip = self.session.strip(target.strip());
        let kind = |index: usize| strip.chain.get(index).map_or("", |effect| &effect.kind);
        match target {
            LaneTarget::Gain(_) => "gain_db".into(),
            LaneTarget::Pan(_) => "pan".into(),
            LaneTarget::Mute(_) => "mute".into(),
            LaneTarget::Send(SendAt { index, .. }) => {
                let to = strip.sends.get(index).map_or("", |send| self.name(send.to.into()));
                format!("gain_db of the send to {to}")
            }
            LaneTarget::Bypass(at) => format!("bypass of {}", kind(at.index)),
            LaneTarget::Param(at, param) => {
                let params = self.effects.params(kind(at.index)).unwrap_or_default();
                let name = params.get(param).map_or("", |param| &*param.name);
                format!("{name} of {}", kind(at.index))
            }
        }
    }

    fn latency(&mut self) {
        let Ok(units) = UnitGraph::compile(self.graph, Fusing::Chains) else { return };
        let frames = units.units()[units.last().index()].latency_frames;
        let ms = 1e3 * f64::from(frames) / f64::from(self.rate_hz);
        self.line(1, &format!("latency {frames} frames ({ms:.1} ms)"));
    }
}

fn unit(base: TimeBase) -> &'static str {
    match base {
        TimeBase::Beats => "beats",
        TimeBase::Seconds => "s",
    }
}

fn tap(tap: Tap) -> &'static str {
    match tap {
        Tap::PreFader => ", before the fader",
        Tap::PostFader => "",
    }
}
