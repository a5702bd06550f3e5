//! Who feeds whom: the strips of a session by their places in one list, and an order for them.

use std::collections::BTreeSet;

use super::GraphError;
use super::from_session::silent_by_solo;
use crate::session::{Destination, ReturnId, Session, StripId, Tap};

/// Something that flows into a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Feed {
    /// Place of the strip that it comes from.
    pub(super) from: usize,
    /// Where it leaves that strip.
    pub(super) tap: Tap,
    /// Linear; 0 if it is silent.
    pub(super) gain_lin: f32,
    /// Leaves a strip before the fader while a solo elsewhere silences that strip.
    pub(super) is_silent: bool,
    /// Which send of that strip it is; `None` for its output.
    pub(super) send: Option<usize>,
}

/// Something that flows into a strip a block later.
pub(super) struct FedBack {
    pub(super) feed: Feed,
    /// Place of the strip into which it flows.
    pub(super) to: usize,
}

/// The strips of a session and what flows into each.
///
/// Both lists go by *place*: the index of a strip in [`Session::strip_ids`].
pub(super) struct Routing {
    pub(super) ids: Vec<StripId>,
    /// In the order tracks, groups, returns; of one strip its output before its sends.
    pub(super) feeds: Vec<Vec<Feed>>,
    /// Places of the strips that effects of each strip listen to, and from which a track plays an extra output.
    heard: Vec<Vec<usize>>,
    /// Sends that close cycles.
    pub(super) feedback: Vec<FedBack>,
}

impl Routing {
    /// Collects all outputs, sends, keys and extra outputs. Cost: O(strips + sends + effects).
    ///
    /// # Errors
    /// [`GraphError::UnknownStrip`] if one of them names a strip that does not exist.
    pub(super) fn new(session: &Session) -> Result<Routing, GraphError> {
        let ids = session.strip_ids();
        let none = || vec![Vec::new(); ids.len()];
        let (feeds, heard) = (none(), vec![Vec::new(); ids.len()]);
        let mut routing = Routing { feeds, heard, feedback: Vec::new(), ids: Vec::new() };
        let silent = silent_by_solo(session);
        for (from, id) in ids.iter().enumerate() {
            let strip = session.strip(*id);
            let unknown =
                |feeds: StripId| GraphError::UnknownStrip { strip: strip.name.clone(), feeds };
            let find = |to: StripId| place(session, to).ok_or_else(|| unknown(to));
            if let Some(to) = session.output(*id) {
                let (tap, gain_lin, is_silent) = (Tap::PostFader, 1.0, false);
                let feed = Feed { from, tap, gain_lin, is_silent, send: None };
                routing.feeds[find(to.into())?].push(feed);
            }
            for (index, send) in strip.sends.iter().enumerate() {
                let to = find(send.to.into())?;
                // Behind the fader there is nothing to silence.
                let is_silent = silent[from] && send.tap == Tap::PreFader;
                let gain_lin = if is_silent { 0.0 } else { db_to_lin(send.gain_db) };
                let feed = Feed { from, tap: send.tap, gain_lin, is_silent, send: Some(index) };
                match send.feedback {
                    true => routing.feedback.push(FedBack { feed, to }),
                    false => routing.feeds[to].push(feed),
                }
            }
            for key in strip.chain.iter().filter_map(|effect| effect.key) {
                routing.heard[from].push(find(key.from)?);
            }
            if let StripId::Track(track) = *id
                && let Some(output) = session.tracks[track].from
            {
                routing.heard[from].push(find(output.effect.strip)?);
            }
        }
        Ok(Routing { ids, ..routing })
    }

    /// Places such that each strip comes after everything that it hears; otherwise in list order.
    ///
    /// Cost: O(n log n) in strips plus feeds.
    ///
    /// # Errors
    /// [`GraphError::Cycle`].
    pub(super) fn order(&self, session: &Session) -> Result<Vec<usize>, GraphError> {
        let fed = self.fed();
        let places = 0..self.feeds.len();
        let mut waiting: Vec<usize> = places.map(|to| self.upstream(to).count()).collect();
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

    /// Places of what a strip hears in the same block.
    fn upstream(&self, to: usize) -> impl Iterator<Item = usize> {
        self.feeds[to].iter().map(|feed| feed.from).chain(self.heard[to].iter().copied())
    }

    /// The same from the other end: for each strip the places that hear it.
    fn fed(&self) -> Vec<Vec<usize>> {
        let mut fed = vec![Vec::new(); self.feeds.len()];
        for to in 0..self.feeds.len() {
            self.upstream(to).for_each(|from| fed[from].push(to));
        }
        fed
    }

    /// A cycle among the strips that never became ready, in the direction of the signal.
    fn cycle(&self, session: &Session, waiting: &[usize]) -> GraphError {
        // A strip that waits may only be behind the cycle. Walking upstream among those that
        // wait never ends, so it meets itself.
        let upstream = |i: usize| self.upstream(i).find(|from| waiting[*from] > 0);
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
