//! A session cut into several, one for each host.
//!
//! Host 0 keeps the master, the returns and the tracks that go straight to the master. Whole groups go to the other hosts,
//! with all that flows into them. What a moved strip put into the master or a return arrives at host 0 as an engine input
//! that says how late it is ([`Input::latency_frames`](crate::session::Input::latency_frames)), so host 0 delays all else by as much.
//!
//! Parts, in reading order:
//!
//! - `pieces`: what has to stay together, and what cannot leave host 0
//! - `parts`: the sessions of the hosts
//!
//! Strips keep their order on every host. At host 0, whatever stands for a moved strip has that strip's place, so sums add in
//! the same order as before.

mod parts;
mod pieces;

use std::fmt;

use crate::graph::{EffectFacts, GraphError, NodeKind, session_graph};
use crate::session::{EventsOf, Session, StripId};
use parts::Builder;
use pieces::Pieces;

/// What the cut depends on beside the session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutOptions<'a> {
    /// How many hosts, host 0 counted.
    pub hosts: usize,
    /// How long sound is on its way: from the frame of the song that host 0 sends to another host, until what that host
    /// plays at this frame has come back.
    pub network_frames: u32,
    /// What each strip costs, in the order of [`Session::strip_ids`], in any unit.
    pub costs: &'a [f64],
}

/// A session cut into several.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// One for each host; the first one is host 0.
    pub parts: Vec<Part>,
    /// What the network carries, to host 0.
    pub links: Vec<Link>,
    /// Groups that could not leave host 0.
    pub kept: Vec<Kept>,
}

/// What one host plays.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its session.
    pub session: Session,
    /// The groups whose output goes to the master and that this host has.
    pub groups: Vec<String>,
    /// The sum of the costs of its strips.
    pub cost: f64,
}

/// Two channels from another host to host 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The host from which they come.
    pub host: usize,
    /// The output of that host's session, and the input of host 0's.
    pub name: String,
    /// What they carry, for people.
    pub carries: String,
    /// How late host 0 gets it.
    pub latency_frames: u32,
}

/// A group that could not leave host 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub group: String,
    /// Why.
    pub why: String,
}

/// Why a session cannot be cut.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitError {
    /// No group can leave host 0.
    Nothing {
        /// The groups that have to stay.
        kept: Vec<Kept>,
    },
    /// Fewer than two hosts, or more than there are groups for.
    Hosts {
        /// As asked for.
        hosts: usize,
        /// The most that there can be.
        most: usize,
        /// The groups that have to stay.
        kept: Vec<Kept>,
    },
    /// A solo silences strips of all hosts.
    Solo {
        /// The strip.
        strip: String,
    },
    /// A loop, which the hosts would repeat at different times.
    Loop,
    /// The session cannot be planned.
    Graph(GraphError),
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitError::Nothing { kept } => {
                f.write_str("no group can leave host 0")?;
                reasons(f, kept)?;
                f.write_str("; route tracks to a [[group]] that goes to the master")
            }
            SplitError::Hosts { hosts, most, kept } => {
                write!(f, "{hosts} hosts are not possible: host 0 and one for each group that can leave it are {most}")?;
                reasons(f, kept)?;
                match most {
                    2 => f.write_str("; ask for 2"),
                    _ => write!(f, "; ask for 2 to {most}"),
                }
            }
            SplitError::Solo { strip } => write!(
                f,
                "'{strip}' is soloed, and a solo silences strips of all hosts: take the solo out, and mute instead"
            ),
            SplitError::Loop => f.write_str(
                "the session has a loop, and hosts cannot jump at the same frame: take [transport] out",
            ),
            SplitError::Graph(error) => error.fmt(f),
        }
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, kept: &[Kept]) -> fmt::Result {
    kept.iter().try_for_each(|Kept { group, why }| write!(f, "; '{group}' stays, because {why}"))
}

impl std::error::Error for SplitError {}

/// Cuts a session into one for each host.
///
/// The hosts get about equal shares of the costs: the dearest piece first, each to the host with the least. A piece is a
/// group that goes to the master, with the groups that cannot be parted from it.
///
/// Thread: control. Cost: O(strips * log strips + sends + effects), and a graph for each host.
///
/// # Errors
/// [`SplitError`].
pub fn split(
    session: &Session,
    facts: &dyn EffectFacts,
    options: &CutOptions<'_>,
) -> Result<Cut, SplitError> {
    session_graph(session, facts).map_err(SplitError::Graph)?;
    refuse_whole(session)?;
    let pieces = Pieces::of(session);
    let kept = pieces.kept(session);
    let movable = pieces.movable();
    let most = movable.len() + 1;
    if movable.is_empty() {
        return Err(SplitError::Nothing { kept });
    }
    if !(2..=most).contains(&options.hosts) {
        return Err(SplitError::Hosts { hosts: options.hosts, most, kept });
    }
    let hosts = pieces.deal(&movable, options.hosts, options.costs);
    let (parts, links) = Builder::new(session, &hosts, options).build(facts)?;
    Ok(Cut { parts, links, kept })
}

/// What concerns all strips at once.
fn refuse_whole(session: &Session) -> Result<(), SplitError> {
    let solo = session.strip_ids().into_iter().map(|id| session.strip(id)).find(|strip| strip.solo);
    match solo {
        Some(strip) => Err(SplitError::Solo { strip: strip.name.clone() }),
        None if session.time.repeat.is_some() => Err(SplitError::Loop),
        None => Ok(()),
    }
}

/// What each strip is expected to cost, in the order of [`Session::strip_ids`], in floating-point operations per frame.
///
/// Cost: as [`session_graph`].
///
/// # Errors
/// As [`session_graph`].
pub fn expected_costs(session: &Session, facts: &dyn EffectFacts) -> Result<Vec<f64>, GraphError> {
    let ids = session.strip_ids();
    let mut costs = vec![0.0; ids.len()];
    for node in session_graph(session, facts)?.nodes() {
        let strip = match node.kind {
            NodeKind::Effect { strip, .. } | NodeKind::Fader(strip) | NodeKind::Sum(strip) => strip,
            NodeKind::Play(track)
            | NodeKind::Notes(track)
            | NodeKind::Events(EventsOf::Track(track)) => StripId::Track(track),
            NodeKind::Send(at) => at.strip,
            _ => continue,
        };
        if let Some(place) = place(session, strip) {
            costs[place] += node.cost;
        }
    }
    Ok(costs)
}

/// The index of a strip in [`Session::strip_ids`].
fn place(session: &Session, id: StripId) -> Option<usize> {
    let (tracks, groups) = (session.tracks.len(), session.groups.len());
    match id {
        StripId::Track(index) => (index < tracks).then_some(index),
        StripId::Group(index) => (index < groups).then_some(tracks + index),
        StripId::Return(index) => {
            (index < session.returns.len()).then_some(tracks + groups + index)
        }
        StripId::Master => Some(tracks + groups + session.returns.len()),
    }
}
