//! The workers as the planner sees them.

use crate::place::Seat;

/// Who works: the seat of each worker, the leader's first, and what siblings cost each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Team {
    /// One per worker; workers with the same core number share a core.
    pub seats: Vec<Seat>,
    /// A worker's speed while its sibling works too, relative to working alone.
    pub pair_speed: f64,
}

impl Team {
    /// The pair speed that planning assumes before it is measured.
    ///
    /// Two threads on one core do 1.2 to 1.36 times the work of one on current CPUs with SMT (Zen 1
    /// 1.36, Zen 3 1.27 to 1.33 in published runs, soft real-time schedulability 1.3 in Osborne,
    /// Bakita and Anderson, ECRTS 2019); audio filters use the units of a core well, so
    /// Hocket assumes the lower end.
    pub const PAIR_SPEED_UNMEASURED: f64 = 0.6;

    /// Equal workers, each alone on its core.
    pub fn alike(workers: usize) -> Team {
        let seat = |core| Seat { core, speed: 1.0 };
        Team::new((0..workers).map(seat).collect())
    }

    /// Workers on these seats, the leader's first.
    pub fn new(seats: Vec<Seat>) -> Team {
        Team { seats, pair_speed: Team::PAIR_SPEED_UNMEASURED }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.seats.len()
    }

    /// The first `workers` of them.
    pub fn first(&self, workers: usize) -> Team {
        Team { seats: self.seats[..workers.min(self.seats.len())].to_vec(), ..self.clone() }
    }

    /// How many of the first workers share their core with no other of them.
    pub(super) fn without_sharing(&self) -> usize {
        let shares =
            |i: &usize| self.seats[..*i].iter().any(|seat| seat.core == self.seats[*i].core);
        (0..self.seats.len()).find(shares).unwrap_or(self.seats.len())
    }

    /// Speed of a worker alone on its core, as a positive number.
    pub(super) fn speed(&self, worker: usize) -> f64 {
        f64::from(self.seats[worker].speed).max(0.01)
    }

    /// The other workers on a worker's core.
    pub(super) fn siblings(&self, worker: usize) -> impl Iterator<Item = usize> + '_ {
        let core = self.seats[worker].core;
        (0..self.seats.len())
            .filter(move |other| *other != worker && self.seats[*other].core == core)
    }
}
