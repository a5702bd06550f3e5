//! The sessions of the hosts.

use std::collections::{HashMap, HashSet};

use super::{CutOptions, Link, Part, SplitError, place};
use crate::graph::delays::arrivals;
use crate::graph::{EffectFacts, session_graph};
use crate::session::{
    Automation, Destination, EffectAt, EventsOf, Group, GroupId, Input, InputId, LaneTarget,
    MediaId, Output, OutputAt, ReturnId, Send, SendAt, Session, Strip, StripId, TakeFrom, TakeSpec,
    Tap, Track,
};

/// Where a moved strip is heard at host 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Leaving {
    /// Place of the strip.
    from: usize,
    tap: bool,
}

pub(super) struct Builder<'a> {
    session: &'a Session,
    /// By place.
    hosts: &'a [usize],
    options: &'a CutOptions<'a>,
    ids: Vec<StripId>,
    /// What leaves other hosts, in the order in which strips do, and the number of each.
    leaving: Vec<(StripId, Tap)>,
    numbers: HashMap<Leaving, usize>,
    /// How names of links begin.
    prefix: String,
}

/// Old places to new ones, of one host.
#[derive(Default)]
struct Places {
    strips: HashMap<StripId, StripId>,
    /// Sends that are there, or what stands for them.
    sends: HashMap<SendAt, SendAt>,
    media: HashMap<MediaId, MediaId>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        session: &'a Session,
        hosts: &'a [usize],
        options: &'a CutOptions<'a>,
    ) -> Builder<'a> {
        let ids = session.strip_ids();
        let (leaving, numbers) = (Vec::new(), HashMap::new());
        let prefix = prefix(session);
        let mut builder = Builder { session, hosts, options, ids, leaving, numbers, prefix };
        for id in builder.ids.clone() {
            if builder.host(id) == 0 {
                continue;
            }
            if session.output(id) == Some(Destination::Master) {
                builder.leaves(id, Tap::PostFader);
            }
            for send in &session.strip(id).sends {
                if builder.crosses(id, send) {
                    builder.leaves(id, send.tap);
                }
            }
        }
        builder
    }

    fn host(&self, id: StripId) -> usize {
        place(self.session, id).map_or(0, |place| self.hosts[place])
    }

    /// Whether a send leads from this strip to another host.
    fn crosses(&self, from: StripId, send: &Send) -> bool {
        self.host(from) != self.host(StripId::Return(send.to.0))
    }

    fn leaves(&mut self, id: StripId, tap: Tap) {
        let at = self.key(id, tap);
        if !self.numbers.contains_key(&at) {
            self.numbers.insert(at, self.leaving.len());
            self.leaving.push((id, tap));
        }
    }

    fn key(&self, id: StripId, tap: Tap) -> Leaving {
        let from = place(self.session, id).unwrap_or(usize::MAX);
        Leaving { from, tap: tap == Tap::PostFader }
    }

    fn link_name(&self, number: usize) -> String {
        format!("{}-{}", self.prefix, number + 1)
    }

    /// The input of host 0 that brings this.
    fn input(&self, id: StripId, tap: Tap) -> InputId {
        let number = self.numbers.get(&self.key(id, tap)).copied().unwrap_or(0);
        InputId(self.session.inputs.len() + number)
    }

    /// The sessions, and what the network carries between them.
    pub(super) fn build(
        self,
        facts: &dyn EffectFacts,
    ) -> Result<(Vec<Part>, Vec<Link>), SplitError> {
        let mut links: Vec<Link> = Vec::new();
        for (number, (id, tap)) in self.leaving.iter().enumerate() {
            let strip = &self.session.strip(*id).name;
            let at = if *tap == Tap::PreFader { " before its fader" } else { "" };
            links.push(Link {
                host: self.host(*id),
                name: self.link_name(number),
                carries: format!("'{strip}'{at}"),
                latency_frames: self.options.network_frames,
            });
        }
        let mut sessions = vec![Session::default()];
        for host in 1..self.options.hosts {
            let session = self.elsewhere(host);
            let graph = session_graph(&session, facts).map_err(SplitError::Graph)?;
            let arrivals = arrivals(&graph, &|_, _| false).outputs;
            let own = links.iter_mut().filter(|link| link.host == host);
            for (link, node) in own.zip(graph.outputs().iter().skip(1)) {
                let frames = arrivals[node.index()];
                link.latency_frames = link.latency_frames.saturating_add(frames);
            }
            sessions.push(session);
        }
        sessions[0] = self.host0(&links);
        session_graph(&sessions[0], facts).map_err(SplitError::Graph)?;
        let parts = sessions.into_iter().enumerate();
        Ok((parts.map(|(host, session)| self.part(host, session)).collect(), links))
    }

    fn part(&self, host: usize, session: Session) -> Part {
        let is_top = |id: &StripId| {
            matches!(id, StripId::Group(_))
                && self.session.output(*id) == Some(Destination::Master)
                && self.host(*id) == host
        };
        let tops = self.ids.iter().filter(|id| is_top(id));
        let groups = tops.map(|id| self.session.strip(*id).name.clone()).collect();
        let costs = self.hosts.iter().zip(self.options.costs).filter(|(own, _)| **own == host);
        Part { session, groups, cost: costs.map(|(_, cost)| cost).sum() }
    }

    /// What all hosts have alike.
    fn common(&self, host: usize) -> Session {
        let Session { name, sample_rate_hz, length_s, feedback_s, time, .. } = self.session;
        Session {
            name: format!("{name}, host {host}"),
            sample_rate_hz: *sample_rate_hz,
            length_s: *length_s,
            feedback_s: *feedback_s,
            time: time.clone(),
            ..Session::default()
        }
    }

    /// The session of a host other than 0.
    fn elsewhere(&self, host: usize) -> Session {
        let (mut session, mut places) = (self.common(host), Places::default());
        for id in self.ids.iter().filter(|id| self.host(**id) == host) {
            self.keep(*id, &mut session, &mut places);
        }
        for (number, (id, tap)) in self.leaving.iter().enumerate() {
            if let Some(from) = places.strips.get(id) {
                let name = self.link_name(number);
                session.outputs.push(Output { name, from: *from, tap: *tap });
            }
        }
        self.finish(session, places)
    }

    /// The session of host 0: what stays, and in the place of each strip that is gone what stands for it.
    fn host0(&self, links: &[Link]) -> Session {
        let (mut session, mut places) = (self.common(0), Places::default());
        session.inputs = self.session.inputs.clone();
        for Link { name, latency_frames, .. } in links {
            let (name, latency_frames) = (name.clone(), *latency_frames);
            session.inputs.push(Input { name, channels: 2, events: false, latency_frames });
        }
        let mut names: HashSet<String> =
            self.ids.iter().map(|id| self.session.strip(*id).name.clone()).collect();
        for id in &self.ids {
            match self.host(*id) {
                0 => self.keep(*id, &mut session, &mut places),
                _ => self.stand_in(*id, &mut session, &mut places, &mut names),
            }
        }
        session.outputs = self.session.outputs.clone();
        session.preview = self.session.preview;
        self.finish(session, places)
    }

    /// A strip as it is; places in it are still those of the whole.
    fn keep(&self, id: StripId, session: &mut Session, places: &mut Places) {
        let new = match id {
            StripId::Track(index) => {
                session.tracks.push(self.session.tracks[index].clone());
                StripId::Track(session.tracks.len() - 1)
            }
            StripId::Group(index) => {
                session.groups.push(self.session.groups[index].clone());
                StripId::Group(session.groups.len() - 1)
            }
            StripId::Return(index) => {
                session.returns.push(self.session.returns[index].clone());
                StripId::Return(session.returns.len() - 1)
            }
            StripId::Master => {
                session.master = self.session.master.clone();
                StripId::Master
            }
        };
        places.strips.insert(id, new);
        let crosses: Vec<bool> =
            self.session.strip(id).sends.iter().map(|send| self.crosses(id, send)).collect();
        let stays = crosses.iter().enumerate().filter(|(_, crosses)| !**crosses);
        for (new_index, (index, _)) in stays.enumerate() {
            let new = SendAt { strip: new, index: new_index };
            places.sends.insert(SendAt { strip: id, index }, new);
        }
        let mut crosses = crosses.into_iter();
        strip_mut(session, new).sends.retain(|_| !crosses.next().unwrap_or(false));
    }

    /// What host 0 has in the place of a moved strip: a group for its output, and for each send a muted strip that sends.
    fn stand_in(
        &self,
        id: StripId,
        session: &mut Session,
        places: &mut Places,
        names: &mut HashSet<String>,
    ) {
        let name = &self.session.strip(id).name;
        if self.session.output(id) == Some(Destination::Master) {
            let input = self.input(id, Tap::PostFader);
            self.fed(id, (Strip::new(name.clone()), input), session, names);
        }
        for (index, send) in self.session.strip(id).sends.iter().enumerate() {
            if !self.crosses(id, send) {
                continue;
            }
            let to = self.session.returns.get(send.to.0).map_or("", |to| &to.strip.name);
            let mut strip = Strip::new(unused(names, format!("{name} to {to}")));
            // Only the send is heard, and it takes from the strip before mute.
            strip.mute = true;
            strip.sends.push(Send { tap: Tap::PreFader, ..send.clone() });
            let new = self.fed(id, (strip, self.input(id, send.tap)), session, names);
            places.sends.insert(SendAt { strip: id, index }, SendAt { strip: new, index: 0 });
        }
    }

    /// A strip of the kind of a moved one, fed by an input. A group has a track for it, because only tracks play inputs.
    fn fed(
        &self,
        id: StripId,
        (strip, input): (Strip, InputId),
        session: &mut Session,
        names: &mut HashSet<String>,
    ) -> StripId {
        let track = |strip, output| Track {
            strip,
            output,
            clips: Vec::new(),
            input: Some(input),
            from: None,
            notes: Vec::new(),
        };
        if matches!(id, StripId::Track(_)) {
            session.tracks.push(track(strip, Destination::Master));
            return StripId::Track(session.tracks.len() - 1);
        }
        let feeder = Strip::new(unused(names, format!("{} from its host", strip.name)));
        // The number of the group in host 0's session, where places are translated later: see `finish`.
        let group = GroupId(NEW + session.groups.len());
        session.tracks.push(track(feeder, Destination::Group(group)));
        session.groups.push(Group { strip, output: Destination::Master });
        StripId::Group(session.groups.len() - 1)
    }

    /// Places of the whole become places of this session.
    fn finish(&self, mut session: Session, mut places: Places) -> Session {
        let group = |places: &Places, output: Destination| match output {
            Destination::Group(GroupId(new)) if new >= NEW => {
                Destination::Group(GroupId(new - NEW))
            }
            Destination::Group(old) => match places.strips.get(&StripId::Group(old.0)) {
                Some(StripId::Group(new)) => Destination::Group(GroupId(*new)),
                _ => Destination::Master,
            },
            Destination::Master => Destination::Master,
        };
        for track in &mut session.tracks {
            track.output = group(&places, track.output);
            if let Some(OutputAt { effect, .. }) = &mut track.from {
                effect.strip = places.strips.get(&effect.strip).copied().unwrap_or(effect.strip);
            }
            for clip in &mut track.clips {
                clip.media = medium(self.session, clip.media, &mut session.media, &mut places);
            }
        }
        if let Some(preview) = session.preview {
            session.preview = Some(medium(self.session, preview, &mut session.media, &mut places));
        }
        session.groups.iter_mut().for_each(|it| it.output = group(&places, it.output));
        session.returns.iter_mut().for_each(|it| it.output = group(&places, it.output));
        for id in session.strip_ids() {
            translate(strip_mut(&mut session, id), &places);
        }
        let outputs = std::mem::take(&mut session.outputs);
        // Those of other hosts have new places already; host 0's are still those of the whole.
        let is_new = !places.strips.contains_key(&StripId::Master);
        let translated = |output: Output| match is_new {
            true => Some(output),
            false => Some(Output { from: *places.strips.get(&output.from)?, ..output }),
        };
        session.outputs = outputs.into_iter().filter_map(translated).collect();
        session.automation =
            self.session.automation.iter().filter_map(|it| lane(it, &places)).collect();
        session.takes = self.session.takes.iter().filter_map(|it| take(it, &places)).collect();
        session
    }
}

/// Added to the numbers of groups that stand for others, until places are translated.
const NEW: usize = usize::MAX / 2;

fn strip_mut(session: &mut Session, id: StripId) -> &mut Strip {
    match id {
        StripId::Track(index) => &mut session.tracks[index].strip,
        StripId::Group(index) => &mut session.groups[index].strip,
        StripId::Return(index) => &mut session.returns[index].strip,
        StripId::Master => &mut session.master,
    }
}

/// Audio files are numbered in the order in which clips name them.
fn medium(
    whole: &Session,
    old: MediaId,
    media: &mut Vec<crate::session::Media>,
    places: &mut Places,
) -> MediaId {
    *places.media.entry(old).or_insert_with(|| {
        media.extend(whole.media.get(old.0).cloned());
        MediaId(media.len().saturating_sub(1))
    })
}

fn translate(strip: &mut Strip, places: &Places) {
    for effect in &mut strip.chain {
        if let Some(key) = &mut effect.key {
            key.from = places.strips.get(&key.from).copied().unwrap_or(key.from);
        }
        effect.events = effect.events.map(|id| places.strips.get(&id).copied().unwrap_or(id));
    }
    for send in &mut strip.sends {
        if let Some(StripId::Return(new)) = places.strips.get(&StripId::Return(send.to.0)) {
            send.to = ReturnId(*new);
        }
    }
}

/// A lane of this host. That of a send is where the send is.
fn lane(automation: &Automation, places: &Places) -> Option<Automation> {
    let strip = |id: StripId| places.strips.get(&id).copied();
    let effect = |at: EffectAt| Some(EffectAt { strip: strip(at.strip)?, ..at });
    let target = match automation.target {
        LaneTarget::Gain(id) => LaneTarget::Gain(strip(id)?),
        LaneTarget::Pan(id) => LaneTarget::Pan(strip(id)?),
        LaneTarget::Mute(id) => LaneTarget::Mute(strip(id)?),
        LaneTarget::Send(at) => LaneTarget::Send(*places.sends.get(&at)?),
        LaneTarget::Param(at, param) => LaneTarget::Param(effect(at)?, param),
        LaneTarget::Bypass(at) => LaneTarget::Bypass(effect(at)?),
    };
    Some(Automation { target, lane: automation.lane.clone() })
}

/// A take is recorded where its strip plays; that of an input, at host 0, which alone has inputs.
fn take(take: &TakeSpec, places: &Places) -> Option<TakeSpec> {
    let from = match take.from {
        TakeFrom::Strip(id, tap) => TakeFrom::Strip(*places.strips.get(&id)?, tap),
        TakeFrom::Input(input) => {
            places.strips.get(&StripId::Master)?;
            TakeFrom::Input(input)
        }
        TakeFrom::Events(EventsOf::Track(index)) => {
            match places.strips.get(&StripId::Track(index))? {
                StripId::Track(index) => TakeFrom::Events(EventsOf::Track(*index)),
                _ => return None,
            }
        }
        TakeFrom::Events(EventsOf::Input(input)) => {
            places.strips.get(&StripId::Master)?;
            TakeFrom::Events(EventsOf::Input(input))
        }
    };
    Some(TakeSpec { from, ..take.clone() })
}

/// This name, or with a number behind it.
fn unused(names: &mut HashSet<String>, name: String) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    all.find(|name| names.insert(name.clone())).unwrap_or(name)
}

/// How names of links begin, so that none is the name of a port that the session has.
fn prefix(session: &Session) -> String {
    let inputs = session.inputs.iter().map(|input| &input.name);
    let taken: Vec<&String> =
        inputs.chain(session.outputs.iter().map(|output| &output.name)).collect();
    let numbered = (2..).map(|number| format!("net{number}"));
    let mut all = std::iter::once("net".to_owned()).chain(numbered);
    let is_free =
        |prefix: &String| !taken.iter().any(|name| name.starts_with(&format!("{prefix}-")));
    all.find(is_free).unwrap_or_else(|| "net".into())
}
