//! The workers as the planner sees them.

use crate::place::Seat;

/// Who works: the seat of each worker, the leader's first, and what siblings cost each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Team {
    /// One a worker; workers with the same core number share a core.
    pub seats: Vec<Seat>,
    /// The part of its own speed that is left to a worker while its sibling works too.
    pub pair_speed: f64,
}

impl Team {
    /// What is left to each of two busy siblings where nobody has measured it.
    ///
    /// Two threads on one core do 1.2 to 1.36 times the work of one on current CPUs with SMT (Zen 1
    /// 1.36, Zen 3 1.27 to 1.33 in published runs, soft real-time schedulability 1.3 in Osborne,
    /// Bakita and Anderson, ECRTS 2019); filters of audio use the units of a core well, so the lower
    /// end is assumed.
    pub const PAIR_SPEED_UNMEASURED: f64 = 0.6;

    /// Workers that are alike, each on a core of its own.
    pub fn alike(workers: usize) -> Team {
        let seat = |core| Seat { core, speed: 1.0 };
        Team::new((0..workers).map(seat).collect())
    }

    /// Workers on these seats, the leader's first.
    pub fn new(seats: Vec<Seat>) -> Team {
        Team { seats, pair_speed: Team::PAIR_SPEED_UNMEASURED }
    }

    /// How many they are.
    pub fn workers(&self) -> usize {
        self.seats.len()
    }

    /// The first `workers` of them.
    pub fn first(&self, workers: usize) -> Team {
        Team { seats: self.seats[..workers.min(self.seats.len())].to_vec(), ..self.clone() }
    }

    /// How many of the first workers have a core to themselves among the first.
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
