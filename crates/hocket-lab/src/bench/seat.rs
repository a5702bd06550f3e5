//! CPUs by what they are to the workers.

use hocket_engine::{Seating, seats_of};
use hocket_machine::Topology;
use hocket_plan::SeatId;

use crate::disturb::{Progress, SeatCpus};
use crate::record::RanOn;

/// First seats of the usable cores, and the rest.
pub fn seat_cpus(topology: &Topology) -> SeatCpus {
    let (seats, cpus) = seats_of(topology);
    let mut out = SeatCpus::default();
    for (i, seat) in seats.seats.iter().enumerate() {
        let is_first = !seats.seats[..i].iter().any(|before| before.core == seat.core);
        if is_first { out.first.push(cpus[i]) } else { out.siblings.push(cpus[i]) }
    }
    out
}

/// Which CPUs workers of a seating sit on, and which are beside them.
pub(super) struct Map {
    workers: Vec<u32>,
    beside: Vec<u32>,
}

impl Map {
    pub(super) fn new(seating: &Seating, topology_seats: &SeatCpus) -> Map {
        let placed = &seating.placement().workers;
        let workers: Vec<u32> = placed.iter().filter_map(|seat| seating.cpu(*seat)).collect();
        let all = (0..topology_seats.first.len() + topology_seats.siblings.len()).map(SeatId);
        let taken_cores: Vec<SeatId> = placed.clone();
        let beside = all
            .filter(|seat| !placed.contains(seat) && seating.shares_core(*seat, &taken_cores))
            .filter_map(|seat| seating.cpu(seat))
            .collect();
        Map { workers, beside }
    }

    /// Shares of the pieces between two readings.
    pub(super) fn ran_on(&self, before: &Progress, after: &Progress) -> Counts {
        let old = |cpu: u32| {
            before.pieces_on.iter().find(|(c, _)| *c == cpu).map_or(0, |(_, pieces)| *pieces)
        };
        let mut counts = Counts::default();
        for (cpu, pieces) in &after.pieces_on {
            let new = pieces - old(*cpu);
            if self.workers.contains(cpu) {
                counts.worker_seat += new;
            } else if self.beside.contains(cpu) {
                counts.sibling += new;
            } else {
                counts.elsewhere += new;
            }
        }
        counts
    }
}

/// Pieces by where they were done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    worker_seat: u64,
    sibling: u64,
    elsewhere: u64,
}

impl Counts {
    pub(super) fn shares(&self) -> Option<RanOn> {
        let all = (self.worker_seat + self.sibling + self.elsewhere) as f64;
        (all > 0.0).then(|| RanOn {
            worker_seat: self.worker_seat as f64 / all,
            sibling: self.sibling as f64 / all,
            elsewhere: self.elsewhere as f64 / all,
        })
    }
}
