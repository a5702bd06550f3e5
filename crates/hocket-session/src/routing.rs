//! Names to strips, and circles among them.

use std::collections::{HashMap, HashSet};

use hocket_plan::graph::{EffectFacts, GraphError, session_graph};
use hocket_plan::session::{Destination, GroupId, ReturnId, StripId};
use hocket_plan::{Effect, Session};

use crate::Span;
use crate::error::SessionError;
use crate::fields::At;
use crate::source::Source;
use crate::suggest::{list, nearest};

/// The name that every output may use and no strip may have.
pub(crate) const MASTER: &str = "master";

/// All strips by name, and where they lead.
pub(crate) struct Names<'a> {
    source: &'a Source,
    strips: HashMap<String, (StripId, Span)>,
    groups: Vec<String>,
    returns: Vec<String>,
    /// Outputs and sends that the file mentions: from, to, where.
    links: Vec<(StripId, StripId, Span)>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(source: &'a Source) -> Names<'a> {
        let (strips, links) = (HashMap::new(), Vec::new());
        Names { source, strips, groups: Vec::new(), returns: Vec::new(), links }
    }

    /// Adds a name; refuses one that is taken.
    pub(crate) fn add(&mut self, name: &str, id: StripId, span: Span) -> Result<(), SessionError> {
        let taken = match self.strips.get(name) {
            Some((other, at)) => {
                format!(
                    "is already the name of the {} in line {}",
                    noun(*other),
                    self.source.line(at)
                )
            }
            None if name == MASTER => "is the name of the master".to_owned(),
            None => {
                match id {
                    StripId::Group(_) => self.groups.push(name.to_owned()),
                    StripId::Return(_) => self.returns.push(name.to_owned()),
                    _ => {}
                }
                self.strips.insert(name.to_owned(), (id, span));
                return Ok(());
            }
        };
        let remedy = "names are unique among tracks, groups and returns: choose another one";
        Err(self.source.error(span, format!("'{name}' {taken}"), remedy))
    }

    /// Where an output leads.
    pub(crate) fn output(
        &mut self,
        from: StripId,
        to: Option<At<&str>>,
    ) -> Result<Destination, SessionError> {
        let Some(to) = to else { return Ok(Destination::Master) };
        let destination = match self.strips.get(to.value) {
            _ if to.value == MASTER => Destination::Master,
            Some((StripId::Group(index), _)) => Destination::Group(GroupId(*index)),
            found => return Err(self.no_output(&to, found.map(|(id, _)| *id))),
        };
        self.links.push((from, destination.into(), to.span));
        Ok(destination)
    }

    fn no_output(&self, to: &At<&str>, found: Option<StripId>) -> SessionError {
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
        self.source.error(to.span.clone(), cause, remedy)
    }

    /// Where a send leads.
    pub(crate) fn send(&mut self, from: StripId, to: At<&str>) -> Result<ReturnId, SessionError> {
        match self.strips.get(to.value) {
            Some((id @ StripId::Return(index), _)) => {
                self.links.push((from, *id, to.span));
                Ok(ReturnId(*index))
            }
            found => Err(self.no_send(&to, found.map(|(id, _)| *id))),
        }
    }

    fn no_send(&self, to: &At<&str>, found: Option<StripId>) -> SessionError {
        let found = found.or((to.value == MASTER).then_some(StripId::Master));
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
        self.source.error(to.span.clone(), cause, remedy)
    }

    /// Refuses strips that feed each other in a circle.
    pub(crate) fn refuse_circle(&self, session: &Session) -> Result<(), SessionError> {
        match session_graph(session, &Free) {
            Ok(_) => Ok(()),
            Err(GraphError::Cycle { strips, names }) => Err(self.circle(&strips, &names)),
            Err(other) => {
                let remedy = "make the session smaller or split it";
                Err(self.source.error(0..0, other.to_string(), remedy))
            }
        }
    }

    /// The circle at the first line of the file that is part of it.
    fn circle(&self, strips: &[StripId], names: &[String]) -> SessionError {
        let steps: HashSet<(StripId, StripId)> =
            strips.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let links = self.links.iter().filter(|(from, to, _)| steps.contains(&(*from, *to)));
        let span = links.map(|(_, _, span)| span.clone()).min_by_key(|span| span.start);
        let cause = format!("the routing goes in a circle: {}", path(names));
        let remedy = "let one of these outputs go to \"master\", or take one of these sends out";
        self.source.error(span.unwrap_or(0..0), cause, remedy)
    }
}

/// How many strips of a circle are named.
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

/// The search for circles needs no costs.
struct Free;

impl EffectFacts for Free {
    fn cost(&self, _: &Effect) -> f64 {
        0.0
    }

    fn latency_frames(&self, _: &Effect) -> u32 {
        0
    }
}
