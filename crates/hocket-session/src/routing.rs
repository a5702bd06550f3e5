//! Names to strips, and cycles among them.

use std::collections::{HashMap, HashSet};

use hocket_plan::graph::{EffectFacts, GraphError, session_graph};
use hocket_plan::session::{Destination, GroupId, ReturnId, Strip, StripId};
use hocket_plan::{Effect, EffectCatalogue, ExtraOutput, Session};

use crate::Span;
use crate::fields::At;
use crate::mistakes::Mistakes;
use crate::suggest::{list, nearest};

/// The name that every output may use and no strip may have.
pub(crate) const MASTER: &str = "master";

/// All strips by name, and where they lead.
pub(crate) struct Names<'a> {
    mistakes: &'a Mistakes<'a>,
    strips: HashMap<String, (StripId, Span)>,
    groups: Vec<String>,
    returns: Vec<String>,
    /// Names of several strips: who uses one may mean any of them.
    ambiguous: HashSet<String>,
    /// A strip has no name that can be read, so an unknown name may be its own.
    incomplete: bool,
    /// Outputs and sends that the file mentions: from, to, where.
    links: Vec<(StripId, StripId, Span)>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(mistakes: &'a Mistakes<'a>) -> Names<'a> {
        Names {
            mistakes,
            strips: HashMap::new(),
            groups: Vec::new(),
            returns: Vec::new(),
            ambiguous: HashSet::new(),
            incomplete: false,
            links: Vec::new(),
        }
    }

    /// Adds a name; reports one that is taken and returns whether it was free.
    pub(crate) fn add(&mut self, name: &str, id: StripId, span: Span) -> bool {
        let taken = match self.strips.get(name) {
            Some((other, at)) => {
                let line = self.mistakes.source().line(at);
                format!("is already the name of the {} in line {line}", noun(*other))
            }
            None if name == MASTER => "is the name of the master".to_owned(),
            None => {
                match id {
                    StripId::Group(_) => self.groups.push(name.to_owned()),
                    StripId::Return(_) => self.returns.push(name.to_owned()),
                    _ => {}
                }
                self.strips.insert(name.to_owned(), (id, span));
                return true;
            }
        };
        let remedy = "names are unique among tracks, groups and returns: choose another one";
        self.mistakes.report(span, format!("'{name}' {taken}"), remedy);
        self.ambiguous.insert(name.to_owned());
        false
    }

    /// A strip is there whose name is missing or wrong.
    pub(crate) fn add_unnamed(&mut self) {
        self.incomplete = true;
    }

    /// Whether a wrong use of this name may come from a mistake that is reported already.
    fn is_unsure(&self, name: &str) -> bool {
        let may_be_lost = self.incomplete && !self.strips.contains_key(name);
        self.mistakes.count() > 0 && (self.ambiguous.contains(name) || may_be_lost)
    }

    /// Where an output leads.
    pub(crate) fn output(&mut self, from: StripId, to: Option<At<&str>>) -> Destination {
        let Some(to) = to else { return Destination::Master };
        let destination = match self.strips.get(to.value) {
            _ if to.value == MASTER => Destination::Master,
            Some((StripId::Group(index), _)) => Destination::Group(GroupId(*index)),
            found => {
                self.report_output(&to, found.map(|(id, _)| *id));
                return Destination::Master;
            }
        };
        self.links.push((from, destination.into(), to.span));
        destination
    }

    fn report_output(&self, to: &At<&str>, found: Option<StripId>) {
        if self.is_unsure(to.value) {
            return;
        }
        if self.mistakes.is_full() {
            return self.mistakes.report(to.span.clone(), "", "");
        }
        let known = self.groups.iter().map(String::as_str).chain([MASTER]);
        let remedy = match (found, nearest(to.value, known.clone())) {
            (Some(StripId::Return(_)), _) => {
                "returns are fed by sends: write output = \"master\" and a send to it".to_owned()
            }
            (None, Some(near)) => format!("did you mean '{near}'?"),
            _ => format!("an output goes to one of {}", list(known)),
        };
        let cause = match found {
            Some(id) => format!("the output goes to '{}', which is a {}", to.value, noun(id)),
            None => format!("the output goes to '{}', which does not exist", to.value),
        };
        self.mistakes.report(to.span.clone(), cause, remedy);
    }

    /// The return of this name.
    pub(crate) fn return_named(&self, name: &str) -> Option<usize> {
        match self.strips.get(name) {
            Some((StripId::Return(index), _)) => Some(*index),
            _ => None,
        }
    }

    /// The strip of this name, the master too; `what` it is for the reader.
    pub(crate) fn any(&self, name: At<&str>, what: &str) -> Option<StripId> {
        if name.value == MASTER {
            return Some(StripId::Master);
        }
        if let Some((id, _)) = self.strips.get(name.value) {
            return Some(*id);
        }
        if !self.is_unsure(name.value) && self.mistakes.is_full() {
            self.mistakes.report(name.span, "", "");
        } else if !self.is_unsure(name.value) {
            let mut known: Vec<&str> = self.strips.keys().map(String::as_str).collect();
            known.sort_unstable();
            let remedy = match nearest(name.value, known) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "name a track, a group, a return or \"master\"".to_owned(),
            };
            let cause = format!("the {what} '{}' does not exist", name.value);
            self.mistakes.report(name.span, cause, remedy);
        }
        None
    }

    /// The track whose events an effect receives.
    pub(crate) fn track(&self, name: At<&str>) -> Option<StripId> {
        let (value, span) = (name.value.to_owned(), name.span.clone());
        match self.any(name, "track")? {
            id @ StripId::Track(_) => Some(id),
            other => {
                let cause = format!("'{value}' is a {}, and only tracks have notes", noun(other));
                self.mistakes.report(span, cause, "name a track, or take events out");
                None
            }
        }
    }

    /// What an effect of a strip hears at its side chain.
    pub(crate) fn key(&mut self, of: StripId, name: At<&str>) -> Option<StripId> {
        let span = name.span.clone();
        let from = self.any(name, "strip")?;
        self.links.push((from, of, span));
        Some(from)
    }

    /// The strip from which tracks play an extra output.
    pub(crate) fn source(
        &mut self,
        name: At<&str>,
        readers: impl Iterator<Item = StripId>,
    ) -> Option<StripId> {
        let span = name.span.clone();
        let from = self.any(name, "strip")?;
        self.links.extend(readers.map(|reader| (from, reader, span.clone())));
        Some(from)
    }

    /// Where a send leads. One that feeds back closes no cycle.
    pub(crate) fn send(&mut self, from: StripId, to: At<&str>, feedback: bool) -> Option<ReturnId> {
        match self.strips.get(to.value) {
            Some((id @ StripId::Return(index), _)) => {
                if !feedback {
                    self.links.push((from, *id, to.span));
                }
                Some(ReturnId(*index))
            }
            found => {
                self.report_send(&to, found.map(|(id, _)| *id));
                None
            }
        }
    }

    fn report_send(&self, to: &At<&str>, found: Option<StripId>) {
        let found = found.or((to.value == MASTER).then_some(StripId::Master));
        if found.is_none() && self.is_unsure(to.value) || self.ambiguous.contains(to.value) {
            return;
        }
        if self.mistakes.is_full() {
            return self.mistakes.report(to.span.clone(), "", "");
        }
        let cause = match found {
            Some(id) => format!("the send goes to '{}', which is a {}", to.value, noun(id)),
            None => format!("the send goes to '{}', which does not exist", to.value),
        };
        let known = || self.returns.iter().map(String::as_str);
        let remedy = match nearest(to.value, known()) {
            _ if self.returns.is_empty() => {
                "the session has no returns: add [[return]] with a name".to_owned()
            }
            Some(near) if found.is_none() => format!("did you mean '{near}'?"),
            _ => format!("a send goes to one of the returns {}", list(known())),
        };
        self.mistakes.report(to.span.clone(), cause, remedy);
    }

    /// Reports strips that feed each other in a cycle, cycle by cycle.
    pub(crate) fn refuse_cycles(&self, session: &Session, catalogue: &dyn EffectCatalogue) {
        let mut opened: Option<Session> = None;
        for _ in 0..MOST_CYCLES {
            match session_graph(opened.as_ref().unwrap_or(session), &Free(catalogue)) {
                Ok(_) => return,
                Err(GraphError::Cycle { strips, names }) => {
                    self.report_cycle(&strips, &names);
                    // Without automation: its places would no longer be those of the sends that are left.
                    let rest = opened.get_or_insert_with(|| Session {
                        automation: Vec::new(),
                        ..session.clone()
                    });
                    strips.windows(2).for_each(|step| cut(rest, step[0], step[1]));
                }
                // Of a session with other mistakes the graph says little.
                Err(_) if self.mistakes.count() > 0 => return,
                Err(other) => {
                    let remedy = "make the session smaller or split it";
                    return self.mistakes.report(0..0, other.to_string(), remedy);
                }
            }
        }
    }

    /// The cycle at the first line of the file that is part of it.
    fn report_cycle(&self, strips: &[StripId], names: &[String]) {
        let steps: HashSet<(StripId, StripId)> =
            strips.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let links = self.links.iter().filter(|(from, to, _)| steps.contains(&(*from, *to)));
        let span = links.map(|(_, _, span)| span.clone()).min_by_key(|span| span.start);
        let cause = format!("the routing forms a cycle: {}", path(names));
        let remedy = "let one of these outputs go to \"master\", or take one of these sends, keys or extra outputs out; a send with \
                      feedback = true arrives a block later and may close a cycle";
        self.mistakes.report(span.unwrap_or(0..0), cause, remedy);
    }
}

/// No session has more cycles by mistake.
const MOST_CYCLES: usize = 10;

/// Takes a step of a cycle out of the session.
fn cut(session: &mut Session, from: StripId, to: StripId) {
    let output = match from {
        StripId::Track(index) => session.tracks.get_mut(index).map(|track| &mut track.output),
        StripId::Group(index) => session.groups.get_mut(index).map(|group| &mut group.output),
        StripId::Return(index) => session.returns.get_mut(index).map(|strip| &mut strip.output),
        StripId::Master => None,
    };
    if let Some(output) = output.filter(|output| StripId::from(**output) == to) {
        *output = Destination::Master;
    }
    if let Some(strip) = strip_mut(session, from) {
        strip.sends.retain(|send| send.feedback || StripId::from(send.to) != to);
    }
    if let StripId::Track(index) = to
        && let Some(track) = session.tracks.get_mut(index)
    {
        track.from = track.from.filter(|output| output.effect.strip != from);
    }
    if let Some(strip) = strip_mut(session, to) {
        for effect in &mut strip.chain {
            effect.key = effect.key.filter(|key| key.from != from);
        }
    }
}

fn strip_mut(session: &mut Session, id: StripId) -> Option<&mut Strip> {
    match id {
        StripId::Track(index) => session.tracks.get_mut(index).map(|track| &mut track.strip),
        StripId::Group(index) => session.groups.get_mut(index).map(|group| &mut group.strip),
        StripId::Return(index) => session.returns.get_mut(index).map(|back| &mut back.strip),
        StripId::Master => Some(&mut session.master),
    }
}

/// How many strips of a cycle are named.
const NAMED: usize = 12;

/// `a -> b -> a`; of a long way the first and the last steps.
fn path(names: &[String]) -> String {
    if names.len() <= NAMED {
        return names.join(" -> ");
    }
    let (first, last) = (&names[..NAMED / 2], &names[names.len() - NAMED / 2..]);
    let between = names.len() - NAMED;
    format!("{} -> ({between} more) -> {}", first.join(" -> "), last.join(" -> "))
}

fn noun(id: StripId) -> &'static str {
    match id {
        StripId::Track(_) => "track",
        StripId::Group(_) => "group",
        StripId::Return(_) => "return",
        StripId::Master => "master",
    }
}

/// The search for cycles needs no costs.
struct Free<'a>(&'a dyn EffectCatalogue);

impl EffectFacts for Free<'_> {
    fn cost(&self, _: &Effect) -> f64 {
        0.0
    }

    fn latency_frames(&self, _: &Effect) -> u32 {
        0
    }

    fn extra_outputs(&self, effect: &Effect) -> Vec<ExtraOutput> {
        self.0.extra_outputs(&effect.kind)
    }
}
