//! What has to stay together when a session is cut, and what cannot leave host 0.

use super::{Kept, place};
use crate::session::{Destination, Session, StripId};

/// Pieces of a session, each named by one of its groups.
///
/// Groups that go to the master are joined until nothing but outputs and sends leads from one piece to another, and those only
/// to host 0.
pub(super) struct Pieces {
    /// By place of the strip: the group through which it reaches the master. `None`: it is host 0's.
    home: Vec<Option<usize>>,
    /// By group: another one of its piece, up to the one that names it. The last entry stands for host 0.
    joined: Vec<usize>,
    /// By group: why it was joined with what was there before.
    why: Vec<Option<String>>,
}

impl Pieces {
    pub(super) fn of(session: &Session) -> Pieces {
        let home = session.strip_ids().into_iter().map(|id| home(session, id)).collect();
        let groups = session.groups.len();
        let mut pieces =
            Pieces { home, joined: (0..=groups).collect(), why: vec![None; groups + 1] };
        for id in session.strip_ids() {
            pieces.join_sends(session, id);
            pieces.join_listeners(session, id);
        }
        for output in &session.outputs {
            let why = format!("the output '{}' takes from it", output.name);
            pieces.pin(session, output.from, why);
        }
        pieces
    }

    fn host0(&self) -> usize {
        self.joined.len() - 1
    }

    fn home_of(&self, session: &Session, id: StripId) -> usize {
        place(session, id).and_then(|place| self.home[place]).unwrap_or(self.host0())
    }

    fn root(&self, mut group: usize) -> usize {
        while self.joined[group] != group {
            group = self.joined[group];
        }
        group
    }

    /// These two strips are of one host.
    fn join(&mut self, session: &Session, (a, b): (StripId, StripId), why: String) {
        let (a, b) = (self.home_of(session, a), self.home_of(session, b));
        self.join_groups(a, b, why);
    }

    fn pin(&mut self, session: &Session, id: StripId, why: String) {
        let (home, host0) = (self.home_of(session, id), self.host0());
        self.join_groups(home, host0, why);
    }

    fn join_groups(&mut self, a: usize, b: usize, why: String) {
        let (from, to) = (self.root(a).min(self.root(b)), self.root(a).max(self.root(b)));
        if from == to {
            return;
        }
        // The higher one names the piece, so host 0 names its own.
        self.joined[from] = to;
        for group in [a, b] {
            if self.why[group].is_none() {
                self.why[group] = Some(why.clone());
            }
        }
    }

    /// A return that goes to a group plays where the group does, and so does what feeds it. Another return is host 0's, to
    /// which a send can lead, but for one that feeds back: its block would be longer by the network.
    fn join_sends(&mut self, session: &Session, id: StripId) {
        let strip = session.strip(id);
        for send in &strip.sends {
            let to = StripId::Return(send.to.0);
            let is_host0s = self.home_of(session, to) == self.host0();
            if is_host0s && !send.feedback {
                continue;
            }
            let name = session.returns.get(send.to.0).map_or("", |to| &to.strip.name);
            let how = if send.feedback { "feeds back" } else { "sends" };
            self.join(session, (id, to), format!("'{}' {how} to '{name}'", strip.name));
        }
    }

    fn join_listeners(&mut self, session: &Session, id: StripId) {
        let strip = session.strip(id);
        for effect in &strip.chain {
            let (kind, own) = (&effect.kind, &strip.name);
            for from in effect.key.map(|key| key.from).into_iter().chain(effect.events) {
                let heard = &session.strip(from).name;
                let why = format!("the effect '{kind}' of '{own}' listens to '{heard}'");
                self.join(session, (id, from), why);
            }
        }
        let StripId::Track(index) = id else { return };
        if let Some(from) = session.tracks[index].from {
            let heard = &session.strip(from.effect.strip).name;
            let why = format!("'{}' plays an output of an effect of '{heard}'", strip.name);
            self.join(session, (id, from.effect.strip), why);
        }
        if let Some(input) = session.tracks[index].input {
            let input = session.inputs.get(input.0).map_or("", |input| &input.name);
            self.pin(session, id, format!("'{}' plays the input '{input}'", strip.name));
        }
    }

    /// The groups that name a piece which can leave host 0.
    pub(super) fn movable(&self) -> Vec<usize> {
        let is_home = |group: &usize| self.home.contains(&Some(*group));
        let names = |group: &usize| self.joined[*group] == *group;
        (0..self.host0()).filter(names).filter(is_home).collect()
    }

    /// The groups that go to the master and cannot leave host 0.
    pub(super) fn kept(&self, session: &Session) -> Vec<Kept> {
        let is_top = |group: &usize| session.groups[*group].output == Destination::Master;
        let stays = |group: &usize| self.root(*group) == self.host0();
        let groups = (0..self.host0()).filter(is_top).filter(stays);
        let kept = |group: usize| Kept {
            group: session.groups[group].strip.name.clone(),
            why: self.why[group].clone().unwrap_or_default(),
        };
        groups.map(kept).collect()
    }

    /// The host of each strip, by its place: the dearest piece first, each to the host with the least. No host stays without.
    pub(super) fn deal(&self, movable: &[usize], hosts: usize, costs: &[f64]) -> Vec<usize> {
        let piece = |place: usize| self.home[place].map_or(self.host0(), |group| self.root(group));
        let cost_of = |wanted: usize| -> f64 {
            let own = (0..self.home.len()).filter(|place| piece(*place) == wanted);
            own.map(|place| costs.get(place).copied().unwrap_or(0.0)).sum()
        };
        let mut sorted: Vec<(usize, f64)> =
            movable.iter().map(|group| (*group, cost_of(*group))).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut loads = vec![0.0; hosts];
        loads[0] = cost_of(self.host0());
        let mut empty = hosts - 1;
        let mut host_of = vec![0; self.joined.len()];
        for (done, (group, cost)) in sorted.iter().enumerate() {
            let is_short = sorted.len() - done <= empty;
            let has_none = |host: usize| host > 0 && !host_of.contains(&host);
            let open = (0..hosts).filter(|host| !is_short || has_none(*host));
            let least = open.min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
            if has_none(least) {
                empty -= 1;
            }
            host_of[*group] = least;
            loads[least] += cost;
        }
        (0..self.home.len()).map(|place| host_of[piece(place)]).collect()
    }
}

/// The group through which a strip reaches the master; for a return, the one through which it does if it goes to a group.
fn home(session: &Session, id: StripId) -> Option<usize> {
    let next = |id: &StripId| match session.output(*id)? {
        Destination::Group(group) => Some(StripId::Group(group.0)),
        Destination::Master => None,
    };
    let way = std::iter::successors(Some(id), next).take(session.groups.len() + 1);
    match way.last() {
        Some(StripId::Group(group)) => Some(group),
        _ => None,
    }
}
