//! Who feeds whom: the strips of a session by their places in one list, and an order for them.

use std::collections::BTreeSet;

use super::GraphError;
use crate::session::{Destination, ReturnId, Session, StripId, Tap};

/// Something that flows into a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Feed {
    /// Place of the strip that it comes from.
    pub(super) from: usize,
    /// Where it leaves that strip.
    pub(super) tap: Tap,
    /// Linear.
    pub(super) gain_lin: f32,
}

/// The strips of a session and what flows into each.
///
/// Both lists go by *place*: the index of a strip in [`Session::strip_ids`].
pub(super) struct Routing {
    pub(super) ids: Vec<StripId>,
    /// In the order tracks, groups, returns; of one strip its output before its sends.
    pub(super) feeds: Vec<Vec<Feed>>,
}

impl Routing {
    /// Collects all outputs and sends. Cost: O(strips + sends).
    ///
    /// # Errors
    /// [`GraphError::UnknownStrip`] if an output or a send names a strip that does not exist.
    pub(super) fn new(session: &Session) -> Result<Routing, GraphError> {
        let ids = session.strip_ids();
        let mut feeds: Vec<Vec<Feed>> = vec![Vec::new(); ids.len()];
        for (from, id) in ids.iter().enumerate() {
            let output = session.output(*id).map(|to| (to.into(), Tap::PostFader, 1.0));
            let sends = &session.strip(*id).sends;
            let sends =
                sends.iter().map(|send| (send.to.into(), send.tap, db_to_lin(send.gain_db)));
            for (to, tap, gain_lin) in output.into_iter().chain(sends) {
                let Some(place) = place(session, to) else {
                    let strip = session.strip(*id).name.clone();
                    return Err(GraphError::UnknownStrip { strip, feeds: to });
                };
                feeds[place].push(Feed { from, tap, gain_lin });
            }
        }
        Ok(Routing { ids, feeds })
    }

    /// Places such that each strip comes after everything that feeds it; otherwise in list order.
    ///
    /// Cost: O(n log n) in strips plus feeds.
    ///
    /// # Errors
    /// [`GraphError::Cycle`].
    pub(super) fn order(&self, session: &Session) -> Result<Vec<usize>, GraphError> {
        let fed = self.fed();
        let mut waiting: Vec<usize> = self.feeds.iter().map(Vec::len).collect();
        let mut ready: BTreeSet<usize> = (0..waiting.len()).filter(|i| waiting[*i] == 0).collect();
        let mut order = Vec::with_capacity(waiting.len());
        while let Some(i) = ready.pop_first() {
            order.push(i);
            for to in &fed[i] {
                waiting[*to] -= 1;
                if waiting[*to] == 0 {
                    ready.insert(*to);
                }
            }
        }
        if order.len() == waiting.len() { Ok(order) } else { Err(self.cycle(session, &waiting)) }
    }

    /// The same feeds from the other end: for each strip the places that it feeds.
    fn fed(&self) -> Vec<Vec<usize>> {
        let mut fed = vec![Vec::new(); self.feeds.len()];
        for (to, feeds) in self.feeds.iter().enumerate() {
            feeds.iter().for_each(|feed| fed[feed.from].push(to));
        }
        fed
    }

    /// A circle among the strips that never became ready, in the direction of the signal.
    fn cycle(&self, session: &Session, waiting: &[usize]) -> GraphError {
        // A strip that waits may only be behind the circle. Walking upstream among those that
        // wait never ends, so it meets itself.
        let upstream =
            |i: usize| self.feeds[i].iter().map(|feed| feed.from).find(|from| waiting[*from] > 0);
        let mut seen_at: Vec<Option<usize>> = vec![None; waiting.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut at = waiting.iter().position(|count| *count > 0);
        while let Some(i) = at {
            path.push(i);
            if let Some(first) = seen_at[i].replace(path.len() - 1) {
                path.drain(..first);
                break;
            }
            at = upstream(i);
        }
        path.reverse();
        let strips: Vec<StripId> = path.iter().map(|i| self.ids[*i]).collect();
        let names = strips.iter().map(|id| session.strip(*id).name.clone()).collect();
        GraphError::Cycle { strips, names }
    }
}

/// Place of a strip in [`Session::strip_ids`], or `None` if the session has no such strip.
pub(super) fn place(session: &Session, id: StripId) -> Option<usize> {
    let (tracks, groups, returns) =
        (session.tracks.len(), session.groups.len(), session.returns.len());
    match id {
        StripId::Track(i) => (i < tracks).then_some(i),
        StripId::Group(i) => (i < groups).then_some(tracks + i),
        StripId::Return(i) => (i < returns).then_some(tracks + groups + i),
        StripId::Master => Some(tracks + groups + returns),
    }
}

/// Decibels to a linear factor; minus infinity gives exact silence.
fn db_to_lin(db: f32) -> f32 {
    if db == f32::NEG_INFINITY { 0.0 } else { 10f64.powf(f64::from(db) / 20.0) as f32 }
}

impl From<ReturnId> for StripId {
    fn from(id: ReturnId) -> Self {
        StripId::Return(id.0)
    }
}

impl From<Destination> for StripId {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Master => StripId::Master,
            Destination::Group(id) => StripId::Group(id.0),
        }
    }
}
