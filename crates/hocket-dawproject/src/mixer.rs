//! Channels become strips: tracks, groups, returns and the master, with their routes and sends.

use std::collections::{BTreeSet, HashMap, HashSet};

use hocket_plan::session::{
    Clip, ClipNote, Destination, EffectAt, Group, GroupId, NoteClip, NoteSource, Return, ReturnId,
    Send, SendAt, Session, Strip, StripId, Tap, Track,
};
use hocket_plan::{Effect, EffectCatalogue};
use hocket_time::TimeBase;

use crate::ImportError;
use crate::arrangement::Note;
use crate::automation::{Moved, Targets};
use crate::channels::{Channel, Channels, Role};
use crate::devices::{Chain, Devices, MAX_PARTS, too_many};
use crate::levels::{Quantity, fader_db};
use crate::media::MediaTable;
use crate::remarks::Remarks;
use crate::xml::{Element, Read, Xml, called, child, children, flag, head};

/// Cycles are looked for send by send; beyond this many steps a project is refused.
const MAX_SEARCH: usize = 50_000_000;

/// What a channel becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Strip(StripId),
    /// It has no sound of its own.
    Nothing,
}

/// A send that does something.
struct Tapped<'a> {
    element: Element<'a>,
    volume: Option<Element<'a>>,
    from: usize,
    to: usize,
    tap: Tap,
}

/// Makes strips of channels.
pub(crate) struct Mixer<'a, 'r> {
    pub xml: &'r Xml<'a>,
    pub channels: &'r Channels<'a>,
    pub catalogue: &'r dyn EffectCatalogue,
    pub stand_in: &'r [Effect],
    pub clips: HashMap<usize, Vec<Clip>>,
    pub notes: HashMap<usize, Vec<Note>>,
    /// Ids of parameters that points move.
    pub automated: HashSet<&'a str>,
    pub remarks: &'r mut Remarks,
    pub files: &'r mut MediaTable,
}

/// The session's strips, and what moves them.
pub(crate) struct Mixed<'a> {
    pub targets: Targets<'a>,
    /// How many devices are not played.
    pub replaced: usize,
    /// Strips, clips, effects and sends.
    parts: usize,
}

impl<'a> Mixer<'a, '_> {
    /// Fills in tracks, groups, returns and the master.
    pub(crate) fn mix(mut self, session: &mut Session) -> Result<Mixed<'a>, ImportError> {
        let master = self.master();
        let outputs = self.outputs(master)?;
        let sends = self.sends(master)?;
        let kinds = self.kinds(master, &outputs, &sends);
        // An output may become a send.
        let clips: usize = self.clips.values().map(Vec::len).sum();
        let parts = clips + sends.len() + outputs.len();
        let mut mixed = Mixed { targets: HashMap::new(), replaced: 0, parts };
        self.strips(&kinds, session, &mut mixed)?;
        self.connect(&kinds, &outputs, session);
        self.tap(&kinds, &outputs, &sends, session, &mut mixed)?;
        self.play(&kinds, session);
        if session.tracks.is_empty() {
            // A session has a track; a project may have returns and a master only.
            session.tracks.push(track(Strip::new("empty"), Destination::Master));
        }
        self.name(session);
        Ok(mixed)
    }

    fn channel(&self, index: usize) -> &Channel<'a> {
        &self.channels.all[index]
    }

    fn master(&self) -> Option<usize> {
        self.channels.all.iter().position(|channel| channel.role == Role::Master)
    }

    /// Where each channel's output goes; `None`: to the master.
    fn outputs(&mut self, master: Option<usize>) -> Read<Vec<Option<usize>>> {
        let mut outputs = Vec::with_capacity(self.channels.all.len());
        for (index, channel) in self.channels.all.iter().enumerate() {
            let named = channel.element.and_then(|element| element.attribute("destination"));
            let found = match named {
                None => channel.folder,
                Some(id) => match self.find(id) {
                    Some(found) if self.channels.all[found].role == Role::Vca => {
                        let name = called(&channel.owner);
                        let what = format!("the output of {name} to a VCA, which passes no sound,");
                        self.remarks.add_at(output_span(channel), what, "goes to the master");
                        None
                    }
                    Some(found) => Some(found),
                    None => {
                        let name = called(&channel.owner);
                        let what = format!("the output of {name} to a channel that is not there");
                        self.remarks.add_at(output_span(channel), what, "goes to the master");
                        None
                    }
                },
            };
            let is_master = |found: &usize| Some(*found) == master;
            let own = Some(index) == master;
            outputs.push(found.filter(|found| !is_master(found) && !own));
        }
        self.refuse_cycles(&outputs)?;
        Ok(outputs)
    }

    /// The channel with this id; some programs name the track instead.
    fn find(&self, id: &str) -> Option<usize> {
        let element = self.xml.by_id(id)?.id();
        let Channels { of_element, of_track, .. } = self.channels;
        of_element.get(&element).or_else(|| of_track.get(&element)).copied()
    }

    fn refuse_cycles(&self, outputs: &[Option<usize>]) -> Read<()> {
        // 0: not seen, 1: on the way, 2: leads to the master.
        let mut state = vec![0_u8; outputs.len()];
        for start in 0..outputs.len() {
            let mut way = Vec::new();
            let mut at = Some(start);
            while let Some(index) = at {
                match state[index] {
                    0 => {
                        state[index] = 1;
                        way.push(index);
                        at = outputs[index];
                    }
                    1 => return Err(self.cycle(&way, index)),
                    _ => break,
                }
            }
            way.into_iter().for_each(|index| state[index] = 2);
        }
        Ok(())
    }

    fn cycle(&self, way: &[usize], closes: usize) -> hocket_session::SessionError {
        let begin = way.iter().position(|index| *index == closes).unwrap_or(0);
        let mut names: Vec<String> =
            way[begin..].iter().take(8).map(|index| called(&self.channel(*index).owner)).collect();
        names.push(if way.len() - begin > 8 { "...".into() } else { names[0].clone() });
        let cause = format!("the outputs form a cycle: {}", names.join(" -> "));
        let remedy = "route one of them to the master, and export the project again";
        self.xml.text().error(output_span(self.channel(closes)), cause, remedy)
    }

    /// Sends that do something: those that are off, or silent and stay so, are left out.
    fn sends(&mut self, master: Option<usize>) -> Read<Vec<Tapped<'a>>> {
        let mut found = Vec::new();
        for (from, channel) in self.channels.all.iter().enumerate() {
            let Some(sends) = channel.element.and_then(|element| child(&element, "Sends")) else {
                continue;
            };
            for send in children(&sends, "Send") {
                let volume = child(&send, "Volume");
                let enable = child(&send, "Enable");
                let moves = |parameter: Option<Element<'a>>| {
                    parameter
                        .and_then(|parameter| parameter.attribute("id"))
                        .is_some_and(|id| self.automated.contains(id))
                };
                if enable.is_some_and(|enable| !flag(&enable, "value", true)) && !moves(enable) {
                    continue;
                }
                let silent = match volume {
                    Some(volume) => {
                        let value = self.xml.number_or_infinity(&volume, "value")?.unwrap_or(1.0);
                        Quantity::Level.convert(&volume).value(value) == f64::NEG_INFINITY
                    }
                    None => false,
                };
                if silent && !moves(volume) {
                    continue;
                }
                if Some(from) == master {
                    self.remarks.add(&send, "a send of the master", "is left out");
                    continue;
                }
                self.tell_of_send(&send, enable)?;
                let to = send.attribute("destination").and_then(|id| self.find(id));
                let to = to.filter(|to| Some(*to) != master);
                match to.filter(|to| self.channels.all[*to].role != Role::Vca) {
                    Some(to) => {
                        let tap = match send.attribute("type") {
                            Some("pre") => Tap::PreFader,
                            _ => Tap::PostFader,
                        };
                        found.push(Tapped { element: send, volume, from, to, tap });
                    }
                    None => {
                        let what =
                            format!("a send of {} that has no return", called(&channel.owner));
                        self.remarks.add(&send, what, "is left out");
                    }
                }
            }
        }
        Ok(found)
    }

    fn tell_of_send(&mut self, send: &Element<'a>, enable: Option<Element<'a>>) -> Read<()> {
        if let Some(pan) = child(send, "Pan") {
            let value = self.xml.number(&pan, "value")?;
            let place = value.map_or(0.0, |value| Quantity::Pan.convert(&pan).value(value));
            if place.abs() > 1e-6 {
                self.remarks.add(&pan, "the pan of a send", "is left out: sends go to the centre");
            }
        }
        let id = enable.and_then(|enable| enable.attribute("id"));
        if id.is_some_and(|id| self.automated.contains(id)) {
            self.remarks.add(send, "a send that is switched on and off", "stays on");
        }
        Ok(())
    }

    fn kinds(
        &mut self,
        master: Option<usize>,
        outputs: &[Option<usize>],
        sends: &[Tapped<'a>],
    ) -> Vec<Kind> {
        let fed: HashSet<usize> = outputs.iter().flatten().copied().collect();
        let tapped: HashSet<usize> = sends.iter().map(|send| send.to).collect();
        let (mut tracks, mut groups, mut returns) = (0.., 0.., 0..);
        let mut kinds = Vec::with_capacity(self.channels.all.len());
        for (index, channel) in self.channels.all.iter().enumerate() {
            let is_group =
                fed.contains(&index) || channel.is_folder || channel.role == Role::Submix;
            let kind = if Some(index) == master {
                Kind::Strip(StripId::Master)
            } else if channel.role == Role::Vca {
                let what = format!("the VCA {}", called(&channel.owner));
                self.remarks.add(
                    &channel.owner,
                    what,
                    "is left out, and so is what it does to levels",
                );
                Kind::Nothing
            } else if tapped.contains(&index) || channel.role == Role::Effect {
                Kind::Strip(StripId::Return(returns.next().unwrap_or(0)))
            } else if is_group || channel.role == Role::Master {
                Kind::Strip(StripId::Group(groups.next().unwrap_or(0)))
            } else {
                Kind::Strip(StripId::Track(tracks.next().unwrap_or(0)))
            };
            kinds.push(kind);
        }
        kinds
    }

    /// Strips without routes and sends.
    fn strips(
        &mut self,
        kinds: &[Kind],
        session: &mut Session,
        mixed: &mut Mixed<'a>,
    ) -> Result<(), ImportError> {
        let channels = self.channels;
        for (index, channel) in channels.all.iter().enumerate() {
            let Kind::Strip(id) = kinds[index] else { continue };
            let strip = self.strip(channel, id, mixed)?;
            mixed.parts += 1 + strip.chain.len();
            if mixed.parts > MAX_PARTS {
                return Err(too_many(self.xml, &channel.owner).into());
            }
            let output = Destination::Master;
            match id {
                StripId::Track(_) => {
                    session.tracks.push(track(strip, output));
                }
                StripId::Group(_) => session.groups.push(Group { strip, output }),
                StripId::Return(_) => session.returns.push(Return { strip, output }),
                StripId::Master => session.master = Strip { solo: false, ..strip },
            }
        }
        Ok(())
    }

    fn strip(
        &mut self,
        channel: &Channel<'a>,
        id: StripId,
        mixed: &mut Mixed<'a>,
    ) -> Result<Strip, ImportError> {
        let mut strip = Strip::new(channel.name.clone());
        if channel.is_off {
            self.remarks.add(
                &channel.owner,
                called(&channel.owner),
                "was switched off, and is muted",
            );
        }
        strip.mute = channel.is_off;
        let Some(element) = channel.element else { return Ok(strip) };
        strip.solo = flag(&element, "solo", false);
        if strip.solo && matches!(id, StripId::Return(_)) {
            let what = format!("the solo of {}", called(&channel.owner));
            self.remarks.add(&channel.owner, what, "silences nothing: returns are heard always");
        }
        if let Some(volume) = child(&element, "Volume") {
            strip.gain_db = self.level(&volume)?;
            moves(&mut mixed.targets, &volume, Moved::Gain(id));
        }
        if let Some(pan) = child(&element, "Pan") {
            let convert = Quantity::Pan.convert(&pan);
            let value = self.xml.number(&pan, "value")?;
            strip.pan = value.map_or(0.0, |value| convert.value(value).clamp(-1.0, 1.0) as f32);
            moves(&mut mixed.targets, &pan, Moved::Pan(id));
        }
        if let Some(mute) = child(&element, "Mute") {
            strip.mute |= flag(&mute, "value", false);
            if !channel.is_off {
                moves(&mut mixed.targets, &mute, Moved::Mute(id));
            }
        }
        let (xml, catalogue) = (self.xml, self.catalogue);
        let room = MAX_PARTS.saturating_sub(mixed.parts);
        let mut devices = Devices {
            xml,
            catalogue,
            remarks: &mut *self.remarks,
            files: &mut *self.files,
            stand_in: self.stand_in,
            room,
        };
        let Chain { effects, params, replaced } = devices.chain(&element)?;
        strip.chain = effects;
        mixed.replaced += replaced;
        for param in params {
            let at = EffectAt { strip: id, index: param.effect };
            let moved = match param.param {
                Some((index, quantity)) => Moved::Param(at, index, quantity),
                None => Moved::Enabled(at),
            };
            mixed.targets.entry(param.id).or_default().push(moved);
        }
        Ok(strip)
    }

    fn level(&mut self, volume: &Element<'a>) -> Read<f32> {
        let Some(value) = self.xml.number_or_infinity(volume, "value")? else { return Ok(0.0) };
        let (gain_db, is_louder) = fader_db(Quantity::Level.convert(volume).value(value));
        if is_louder {
            self.remarks.add(volume, "a level above +24 dB", "is held at +24 dB");
        }
        Ok(gain_db)
    }

    /// Outputs. A return takes sends only, so an output to one becomes a send behind the fader, at its full level, and
    /// the output itself goes into a muted group.
    fn connect(&mut self, kinds: &[Kind], outputs: &[Option<usize>], session: &mut Session) {
        let mut sink = None;
        for (index, output) in outputs.iter().enumerate() {
            let (Kind::Strip(from), Some(to)) = (kinds[index], output) else { continue };
            match kinds[*to] {
                Kind::Strip(StripId::Group(group)) => {
                    set_output(session, from, Destination::Group(GroupId(group)));
                }
                Kind::Strip(StripId::Return(to)) => {
                    let sink = *sink.get_or_insert_with(|| add_sink(session));
                    set_output(session, from, Destination::Group(sink));
                    let (to, tap) = (ReturnId(to), Tap::PostFader);
                    strip_mut(session, from).sends.push(Send {
                        to,
                        gain_db: 0.0,
                        tap,
                        feedback: false,
                    });
                }
                // A VCA passes no sound; a track is never fed.
                _ => {}
            }
        }
    }

    /// Sends. One that closes a cycle arrives a block later.
    fn tap(
        &mut self,
        kinds: &[Kind],
        outputs: &[Option<usize>],
        sends: &[Tapped<'a>],
        session: &mut Session,
        mixed: &mut Mixed<'a>,
    ) -> Read<()> {
        let mut routes = Routes::new(outputs);
        for send in sends {
            let (Kind::Strip(from), Kind::Strip(StripId::Return(to))) =
                (kinds[send.from], kinds[send.to])
            else {
                continue;
            };
            let Some(closes) = routes.reaches(send.to, send.from) else {
                let cause = "too many sends to look for cycles among them";
                return Err(self.xml.error(&send.element, cause, "split the project"));
            };
            if closes {
                let what = format!(
                    "a send of {} that closes a cycle",
                    called(&self.channel(send.from).owner)
                );
                self.remarks.add(&send.element, what, "arrives one block later");
            } else {
                routes.add(send.from, send.to);
            }
            let gain_db = match send.volume {
                Some(volume) => self.level(&volume)?,
                None => 0.0,
            };
            let strip = strip_mut(session, from);
            let at = SendAt { strip: from, index: strip.sends.len() };
            let tap = send.tap;
            strip.sends.push(Send { to: ReturnId(to), gain_db, tap, feedback: closes });
            if let Some(volume) = send.volume {
                moves(&mut mixed.targets, &volume, Moved::Send(at));
            }
        }
        Ok(())
    }

    /// Clips and notes. Only tracks have some, so a group or a return gets a track of its own for them.
    fn play(&mut self, kinds: &[Kind], session: &mut Session) {
        let mut clips = std::mem::take(&mut self.clips);
        let mut notes = std::mem::take(&mut self.notes);
        let with_some: BTreeSet<usize> = clips.keys().chain(notes.keys()).copied().collect();
        for channel in with_some {
            let Kind::Strip(id) = kinds[channel] else { continue };
            let played = match id {
                StripId::Track(index) => index,
                id => self.feeder(channel, id, session),
            };
            session.tracks[played].clips = clips.remove(&channel).unwrap_or_default();
            let Some(notes) = notes.remove(&channel) else { continue };
            self.tell_of_notes(channel, &notes, &strip_mut(session, id).chain);
            session.tracks[played].notes = note_clips(notes);
            if !matches!(id, StripId::Track(_)) {
                let chain = strip_mut(session, id).chain.iter_mut();
                for effect in chain.filter(|effect| self.catalogue.has_event_input(&effect.kind)) {
                    effect.events = Some(StripId::Track(played));
                }
            }
        }
    }

    /// The track with what a channel plays that is none.
    fn feeder(&self, channel: usize, id: StripId, session: &mut Session) -> usize {
        let mut strip = Strip::new(format!("{} clips", self.channel(channel).name));
        let output = match id {
            StripId::Group(index) => Destination::Group(GroupId(index)),
            StripId::Return(index) => {
                let (to, tap) = (ReturnId(index), Tap::PostFader);
                strip.sends.push(Send { to, gain_db: 0.0, tap, feedback: false });
                Destination::Group(sink_of(session))
            }
            StripId::Track(_) | StripId::Master => Destination::Master,
        };
        session.tracks.push(track(strip, output));
        session.tracks.len() - 1
    }

    fn tell_of_notes(&mut self, channel: usize, notes: &[Note], chain: &[Effect]) {
        let owner = self.channel(channel).owner;
        let some = |count: usize| {
            let notes = if count == 1 { "note" } else { "notes" };
            format!("{count} {notes} of {}", called(&owner))
        };
        if !chain.iter().any(|effect| self.catalogue.has_event_input(&effect.kind)) {
            let what = format!("{}:", some(notes.len()));
            self.remarks.add(&owner, what, NO_INSTRUMENT);
        }
    }

    /// Every strip gets a name that no other has.
    fn name(&self, session: &mut Session) {
        session.master.name = "master".to_owned();
        let mut used: HashSet<String> = HashSet::from(["master".to_owned()]);
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for id in session.strip_ids() {
            if id == StripId::Master {
                continue;
            }
            let (sort, number) = match id {
                StripId::Track(index) => ("track", index + 1),
                StripId::Group(index) => ("group", index + 1),
                StripId::Return(index) => ("return", index + 1),
                StripId::Master => ("master", 1),
            };
            let strip = strip_mut(session, id);
            let plain = match strip.name.trim() {
                "" => format!("{sort} {number}"),
                name => name.to_owned(),
            };
            let mut name = plain.clone();
            let next = numbers.entry(plain.clone()).or_insert(1);
            while !used.insert(name.clone()) {
                *next += 1;
                name = format!("{plain} {next}");
            }
            strip.name = name;
        }
    }
}

/// Why notes are silent, and what helps.
const NO_INSTRUMENT: &str = "silent, because no effect there plays notes; convert the project, and give the track one that does, such as synth";

fn track(strip: Strip, output: Destination) -> Track {
    Track { strip, output, clips: Vec::new(), input: None, from: None, notes: Vec::new() }
}

/// Notes in beats and those in seconds, each in the order of their times.
fn note_clips(mut notes: Vec<Note>) -> Vec<NoteClip> {
    notes.sort_by(|a, b| a.it.at.total_cmp(&b.it.at).then(a.it.key.cmp(&b.it.key)));
    let clip = |base: TimeBase| {
        let own = notes.iter().filter(|note| note.base == base).map(|note| note.it);
        let own: Vec<ClipNote> = own.collect();
        let source = NoteSource::Written(own.into());
        NoteClip { base, start: 0.0, length: None, chase: true, source }
    };
    let clips = [TimeBase::Beats, TimeBase::Seconds].into_iter().map(clip);
    clips.filter(|clip| !clip.is_empty()).collect()
}

fn output_span(channel: &Channel<'_>) -> std::ops::Range<usize> {
    let element = channel.element.unwrap_or(channel.owner);
    let named = element.attribute_node("destination");
    named.map_or(head(&element), |attribute| attribute.range())
}

fn moves<'a>(targets: &mut Targets<'a>, parameter: &Element<'a>, moved: Moved) {
    if let Some(id) = parameter.attribute("id") {
        targets.entry(id).or_default().push(moved);
    }
}

fn strip_mut(session: &mut Session, id: StripId) -> &mut Strip {
    match id {
        StripId::Track(index) => &mut session.tracks[index].strip,
        StripId::Group(index) => &mut session.groups[index].strip,
        StripId::Return(index) => &mut session.returns[index].strip,
        StripId::Master => &mut session.master,
    }
}

fn set_output(session: &mut Session, id: StripId, output: Destination) {
    match id {
        StripId::Track(index) => session.tracks[index].output = output,
        StripId::Group(index) => session.groups[index].output = output,
        StripId::Return(index) => session.returns[index].output = output,
        StripId::Master => {}
    }
}

/// The name of the group into which outputs go that are heard through sends.
const SINK: &str = "routed by sends";

fn add_sink(session: &mut Session) -> GroupId {
    let strip = Strip { mute: true, ..Strip::new(SINK) };
    session.groups.push(Group { strip, output: Destination::Master });
    GroupId(session.groups.len() - 1)
}

fn sink_of(session: &mut Session) -> GroupId {
    // Names are made unique only afterwards, so what is muted and has this name is the sink or does the same.
    let is_sink = |group: &Group| group.strip.mute && group.strip.name == SINK;
    match session.groups.iter().position(is_sink) {
        Some(index) => GroupId(index),
        None => add_sink(session),
    }
}

/// Which channel feeds which.
struct Routes {
    feeds: Vec<Vec<usize>>,
    work: usize,
}

impl Routes {
    fn new(outputs: &[Option<usize>]) -> Routes {
        let feeds = outputs.iter().map(|output| output.iter().copied().collect()).collect();
        Routes { feeds, work: 0 }
    }

    fn add(&mut self, from: usize, to: usize) {
        self.feeds[from].push(to);
    }

    /// Whether sound at `from` arrives at `to`; `None` where looking takes too long.
    fn reaches(&mut self, from: usize, to: usize) -> Option<bool> {
        let mut seen = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                return Some(true);
            }
            for next in &self.feeds[at] {
                self.work += 1;
                if seen.insert(*next) {
                    open.push(*next);
                }
            }
            if self.work > MAX_SEARCH {
                return None;
            }
        }
        Some(false)
    }
}
