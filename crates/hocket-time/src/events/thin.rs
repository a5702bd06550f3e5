//! Takes parameter changes on ramps out of a full buffer.

use super::event::{Event, EventKind};

/// Memory for thinning, allocated once.
#[derive(Debug, Clone)]
pub(super) struct Thinner {
    /// Parameter and place of every change.
    changes: Vec<(u32, u32)>,
    /// Which events go.
    goes: Vec<bool>,
}

impl Thinner {
    /// For buffers of up to `capacity` events.
    ///
    /// Thread: control; allocates.
    pub fn new(capacity: usize) -> Thinner {
        Thinner { changes: Vec::with_capacity(capacity), goes: Vec::with_capacity(capacity) }
    }

    /// Takes every second change on a ramp out, except the first and the last change of each parameter. Returns how
    /// many went.
    ///
    /// Thread: any. Cost: O(n log n) for n events; no allocation.
    pub fn thin(&mut self, events: &mut Vec<Event>) -> usize {
        self.changes.clear();
        let params = events.iter().enumerate();
        let changes = params.filter_map(|(n, event)| Some((event.kind.changes()?, n as u32)));
        self.changes.extend(changes);
        // Not stable, but in place; no two are equal.
        self.changes.sort_unstable();
        self.goes.clear();
        self.goes.resize(events.len(), false);
        for changes in self.changes.chunk_by(|a, b| a.0 == b.0) {
            let inner = changes.get(1..changes.len() - 1).unwrap_or(&[]);
            let places = inner.iter().map(|change| change.1 as usize);
            for place in places.filter(|place| on_ramp(&events[*place])).step_by(2) {
                self.goes[place] = true;
            }
        }
        let before = events.len();
        let mut goes = self.goes.iter();
        events.retain(|_| goes.next() == Some(&false));
        before - events.len()
    }
}

fn on_ramp(event: &Event) -> bool {
    matches!(event.kind, EventKind::Param(change) if change.on_ramp)
}
