//! Predicts how long fixed lists take, by simulating them.

use super::Team;
use crate::compile::{UnitGraph, UnitId};

/// What working together costs, in the measure of the units' costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overheads {
    /// To open and close a block for more than one worker.
    pub open: f64,
    /// How much later than the leader the others start.
    pub start: f64,
    /// From the end of a unit until another worker knows of it.
    pub hand_over: f64,
    /// Per unit: its stamps, its countdown.
    pub unit: f64,
}

impl Overheads {
    /// No overheads: for costs that are estimates in another unit than time.
    pub const NONE: Overheads = Overheads { open: 0.0, start: 0.0, hand_over: 0.0, unit: 0.0 };

    /// In nanoseconds, as measured on two CPUs of a virtual machine (the `executors` record in
    /// docs/results: a worker that spins at the gate starts 1 to 2 µs after the leader).
    pub const MEASURED_NS: Overheads =
        Overheads { open: 1000.0, start: 1500.0, hand_over: 250.0, unit: 25.0 };
}

/// Simulates fixed lists. Each worker runs its units in order, each as soon as its predecessors have
/// finished. Siblings that are busy at the same time run at the team's pair speed.
///
/// Returns when the last unit ends. Cost: O(units * workers + edges).
pub(super) fn makespan(
    units: &UnitGraph,
    lists: &[Vec<UnitId>],
    team: &Team,
    overheads: Overheads,
) -> f64 {
    Play::new(units, lists, team, overheads).run()
}

struct Play<'a> {
    units: &'a UnitGraph,
    lists: &'a [Vec<UnitId>],
    team: &'a Team,
    overheads: Overheads,
    workers: Vec<At>,
    /// Which worker ran each unit, and when it ended.
    ended: Vec<Option<(usize, f64)>>,
    now: f64,
}

/// Where a worker is in its list.
#[derive(Clone, Default)]
struct At {
    place: usize,
    /// Work left of the unit that it runs.
    left: Option<f64>,
}

impl<'a> Play<'a> {
    fn new(
        units: &'a UnitGraph,
        lists: &'a [Vec<UnitId>],
        team: &'a Team,
        overheads: Overheads,
    ) -> Play<'a> {
        let ended = vec![None; units.units().len()];
        let workers = vec![At::default(); lists.len()];
        // `ready_at` says which worker starts when.
        Play { units, lists, team, overheads, workers, ended, now: 0.0 }
    }

    fn run(mut self) -> f64 {
        loop {
            let next_start = self.start_all();
            let next_end = self.next_end();
            match (next_end, next_start) {
                (None, None) => return self.now,
                (Some((end, _)), Some(start)) if start < end => self.pass(start),
                (Some((end, worker)), _) => {
                    self.pass(end);
                    self.finish(worker);
                }
                (None, Some(start)) => self.now = start,
            }
        }
    }

    /// Starts the units that can start now. Returns when the next one can, of those that wait for a
    /// hand-over.
    fn start_all(&mut self) -> Option<f64> {
        let mut soonest: Option<f64> = None;
        for worker in 0..self.workers.len() {
            let at = &self.workers[worker];
            let Some(id) = self.lists[worker].get(at.place).filter(|_| at.left.is_none()) else {
                continue;
            };
            match self.ready_at(*id, worker) {
                Some(ready) if ready <= self.now => {
                    let cost = self.units.units()[id.index()].cost + self.overheads.unit;
                    self.workers[worker].left = Some(cost);
                }
                Some(ready) => soonest = Some(soonest.map_or(ready, |s| s.min(ready))),
                None => {}
            }
        }
        soonest
    }

    /// When the last predecessor is known to have ended; `None`: one has not.
    fn ready_at(&self, id: UnitId, worker: usize) -> Option<f64> {
        let mut ready = if worker == 0 { 0.0 } else { self.overheads.start };
        for before in &self.units.units()[id.index()].predecessors {
            let (by, end) = self.ended[before.index()]?;
            ready = ready.max(end + if by == worker { 0.0 } else { self.overheads.hand_over });
        }
        Some(ready)
    }

    /// How fast a worker is at this moment.
    fn speed(&self, worker: usize) -> f64 {
        let busy = |other: usize| self.workers.get(other).is_some_and(|at| at.left.is_some());
        let shared = self.team.siblings(worker).any(busy);
        self.team.speed(worker) * if shared { self.team.pair_speed } else { 1.0 }
    }

    fn next_end(&self) -> Option<(f64, usize)> {
        let end = |worker: usize| {
            let left = self.workers[worker].left?;
            Some((self.now + left / self.speed(worker), worker))
        };
        (0..self.workers.len()).filter_map(end).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Lets time go on to `then`.
    fn pass(&mut self, then: f64) {
        let done: Vec<f64> =
            (0..self.workers.len()).map(|w| (then - self.now) * self.speed(w)).collect();
        for (at, done) in self.workers.iter_mut().zip(done) {
            at.left = at.left.map(|left| left - done);
        }
        self.now = then;
    }

    fn finish(&mut self, worker: usize) {
        let id = self.lists[worker][self.workers[worker].place];
        self.ended[id.index()] = Some((worker, self.now));
        self.workers[worker] = At { place: self.workers[worker].place + 1, left: None };
    }
}
