//! Machine topology -> the plan's seats, and back from seats to CPUs.
//!
//! The plan does not know CPU numbers; the map from seats to CPUs stays here.

use std::collections::BTreeMap;

use hocket_machine::topology::Topology;
use hocket_plan::place::{PlaceError, capacity, place};
use hocket_plan::schedule::Team;
use hocket_plan::{Placement, Seat, SeatId, Seats, SiblingPolicy};

use crate::block::costs::KINDS;

/// Which worker sits where, with CPU numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Seating {
    seats: Seats,
    /// All seats, in the order in which workers take them. It is the same under every policy.
    order: Vec<SeatId>,
    placement: Placement,
    /// How many workers were requested; `None`: as many as the policy can place.
    requested: Option<usize>,
    /// One per seat; `None`: a described machine, nobody is pinned.
    cpus: Option<Vec<u32>>,
    pair_speed: f64,
}

/// Measured speeds of seats.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeatSpeeds {
    /// By CPU, 1 for the fastest seat alone. A CPU without an entry has the speed of its kind.
    pub by_cpu: BTreeMap<u32, f32>,
    /// A worker's speed while its sibling works too, relative to working alone, if measured.
    pub pair: Option<f64>,
}

impl SeatSpeeds {
    /// The usable speeds: nonsense from a damaged file must not reach the planner.
    fn of(&self, cpu: u32) -> Option<f32> {
        self.by_cpu.get(&cpu).copied().filter(|speed| speed.is_finite()).map(|s| s.clamp(0.05, 1.0))
    }

    fn pair(&self) -> f64 {
        let measured = self.pair.filter(|speed| speed.is_finite());
        measured.map_or(Team::PAIR_SPEED_UNMEASURED, |speed| speed.clamp(0.3, 1.0))
    }
}

impl Seating {
    /// On this machine: every thread is pinned to its seat's CPU. On another machine's topology nobody is
    /// pinned, as in [`Seating::described`].
    ///
    /// # Errors
    /// [`PlaceError`], like [`place`].
    pub fn here(
        topology: &Topology,
        policy: SiblingPolicy,
        workers: Option<usize>,
    ) -> Result<Seating, PlaceError> {
        Seating::here_with(topology, policy, workers, &SeatSpeeds::default())
    }

    /// The same, with measured speeds. Workers take the fastest seats first, and siblings of taken seats
    /// after all free cores.
    ///
    /// # Errors
    /// [`PlaceError`], like [`place`].
    pub fn here_with(
        topology: &Topology,
        policy: SiblingPolicy,
        workers: Option<usize>,
        speeds: &SeatSpeeds,
    ) -> Result<Seating, PlaceError> {
        let (mut seats, cpus) = seats_of(topology);
        for (seat, cpu) in seats.seats.iter_mut().zip(&cpus) {
            seat.speed = speeds.of(*cpu).unwrap_or(seat.speed);
        }
        let cpus = topology.is_this_system.then_some(cpus);
        Seating::of(seats, (policy, workers), cpus, speeds.pair())
    }

    fn of(
        seats: Seats,
        (policy, requested): (SiblingPolicy, Option<usize>),
        cpus: Option<Vec<u32>>,
        pair_speed: f64,
    ) -> Result<Seating, PlaceError> {
        let placement = place(&seats, policy, requested)?;
        let order = place(&seats, SiblingPolicy::All, None)?.workers;
        Ok(Seating { seats, order, placement, requested, cpus, pair_speed })
    }

    /// The same seats under another policy: with as many workers as were requested, or as that policy can place if those are
    /// fewer.
    ///
    /// # Errors
    /// [`PlaceError::Nobody`] if it can place no worker.
    pub fn under(&self, policy: SiblingPolicy) -> Result<Seating, PlaceError> {
        let workers = self.requested.map(|workers| workers.min(capacity(&self.seats, policy)));
        let placement = place(&self.seats, policy, workers)?;
        Ok(Seating { placement, ..self.clone() })
    }

    /// On described seats: nobody is pinned, and waits yield, because more workers may run than there
    /// are CPUs. The output is the same; the timing means nothing.
    ///
    /// # Errors
    /// [`PlaceError`], like [`place`].
    pub fn described(
        seats: &Seats,
        policy: SiblingPolicy,
        workers: Option<usize>,
    ) -> Result<Seating, PlaceError> {
        Seating::of(seats.clone(), (policy, workers), None, Team::PAIR_SPEED_UNMEASURED)
    }

    /// The placement over abstract seats.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Whether threads are pinned.
    pub fn is_pinned(&self) -> bool {
        self.cpus.is_some()
    }

    /// The CPU of a worker.
    pub fn worker_cpu(&self, worker: usize) -> Option<u32> {
        self.cpu(self.order[worker])
    }

    /// The other CPUs of a worker's core; empty if nobody is pinned.
    pub fn cpus_beside(&self, worker: usize) -> Vec<u32> {
        self.cpus_beside_seat(self.order[worker])
    }

    fn cpus_beside_seat(&self, seat: SeatId) -> Vec<u32> {
        let siblings = self.seats.siblings(seat);
        siblings.into_iter().filter_map(|seat| self.cpu(seat)).collect()
    }

    /// The other CPUs of each core with seats, by CPU; empty if nobody is pinned.
    pub(crate) fn cores(&self) -> BTreeMap<u32, Vec<u32>> {
        let cpus = self.cpus.iter().flatten().enumerate();
        cpus.map(|(seat, cpu)| (*cpu, self.cpus_beside_seat(SeatId(seat)))).collect()
    }

    /// The workers as the planner sees them, the leader first.
    pub fn team(&self) -> Team {
        self.team_of(self.placement.workers.len())
    }

    /// The same for this many workers, more than the policy has or fewer.
    pub(crate) fn team_of(&self, workers: usize) -> Team {
        let seats = self.order[..workers].iter().map(|seat| self.seats.seats[seat.0]);
        Team { pair_speed: self.pair_speed, ..Team::new(seats.collect()) }
    }

    /// Whether two workers share a core.
    pub(crate) fn are_mates(&self, a: usize, b: usize) -> bool {
        let core = |worker: usize| self.seats.seats[self.order[worker].0].core;
        a != b && core(a) == core(b)
    }

    /// Index of the kind of a worker's seat, fastest first. Costs distinguish a few kinds; slower ones
    /// count as the last of them.
    pub(crate) fn kind_of(&self, worker: usize) -> usize {
        let own = self.seats.seats[self.order[worker].0].speed;
        let mut faster: Vec<f32> =
            self.seats.seats.iter().map(|seat| seat.speed).filter(|speed| *speed > own).collect();
        faster.sort_by(f32::total_cmp);
        faster.dedup();
        faster.len().min(KINDS - 1)
    }

    /// Where a thread of this CPU sits while the leader is on `leader` instead of worker 0's seat: the two cores
    /// change places. So nobody else sits on `leader`, and workers of one core stay together.
    pub(crate) fn cpu_beside(&self, cpu: u32, leader: Option<u32>) -> u32 {
        let Some(there) = leader.and_then(|leader| self.seat_of(leader)) else { return cpu };
        let home = self.order[0];
        let core = |seat, other| {
            let siblings = self.seats.siblings(seat).into_iter().filter(move |it| *it != other);
            std::iter::once(seat).chain(siblings)
        };
        for pair in core(home, there).zip(core(there, home)) {
            match (self.cpu(pair.0), self.cpu(pair.1)) {
                (Some(a), Some(b)) if cpu == a => return b,
                (Some(a), Some(b)) if cpu == b => return a,
                _ => {}
            }
        }
        cpu
    }

    fn seat_of(&self, cpu: u32) -> Option<SeatId> {
        self.cpus.as_ref()?.iter().position(|own| *own == cpu).map(SeatId)
    }

    /// Whether a seat is on the same core as any of `others`.
    pub fn shares_core(&self, seat: SeatId, others: &[SeatId]) -> bool {
        others.iter().any(|other| self.seats.siblings(*other).contains(&seat))
    }

    /// The CPU of a seat.
    pub fn cpu(&self, seat: SeatId) -> Option<u32> {
        self.cpus.as_ref().map(|cpus| cpus[seat.0])
    }
}

/// The seats of a machine that this process may use, and the CPU of each.
///
/// Speeds: kinds come slowest first; without measurements each faster kind counts a quarter more
/// than the one below, which only settles the order in which seats are taken.
pub fn seats_of(topology: &Topology) -> (Seats, Vec<u32>) {
    let fastest = topology.kinds.len().saturating_sub(1);
    let usable = topology.seats.iter().filter(|seat| seat.allowed && seat.online);
    let mut seats = Vec::new();
    let mut cpus = Vec::new();
    for seat in usable {
        let below = fastest.saturating_sub(seat.kind);
        // A machine without core objects has one core per seat, numbered after the real ones.
        let core = seat.core.unwrap_or(topology.cores.len() + seat.index);
        seats.push(Seat { core, speed: 0.8f32.powi(below as i32) });
        cpus.push(seat.cpu);
    }
    (Seats { seats }, cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores with these many seats each, and CPU numbers that differ from seat numbers.
    fn seating(cores: &[usize], policy: SiblingPolicy) -> Seating {
        let of = |(core, seats): (usize, &usize)| vec![Seat { core, speed: 1.0 }; *seats];
        let seats = Seats { seats: cores.iter().enumerate().flat_map(of).collect() };
        let cpus = Some((0..seats.seats.len() as u32).map(|seat| 10 + 3 * seat).collect());
        Seating::of(seats, (policy, None), cpus, 1.0).unwrap()
    }

    #[test]
    fn workers_keep_their_seats_under_another_policy() {
        let seating = seating(&[1, 2, 2, 1], SiblingPolicy::All);
        for policy in SiblingPolicy::ALL {
            let other = seating.under(policy).unwrap();
            assert_eq!(other.placement().policy, policy);
            let workers = 0..other.placement().workers.len();
            for worker in workers {
                assert_eq!(other.worker_cpu(worker), seating.worker_cpu(worker), "{policy:?}");
                assert_eq!(other.worker_cpu(worker), other.cpu(other.placement().workers[worker]));
            }
        }
    }

    #[test]
    fn another_policy_has_the_workers_that_were_requested_if_it_can() {
        let seats = Seats { seats: [0, 0, 1, 1].map(|core| Seat { core, speed: 1.0 }).to_vec() };
        let count = |from: SiblingPolicy, requested, to: SiblingPolicy| {
            let seating = Seating::described(&seats, from, requested).unwrap();
            seating.under(to).unwrap().placement().workers.len()
        };
        assert_eq!(count(SiblingPolicy::Off, None, SiblingPolicy::All), 4);
        assert_eq!(count(SiblingPolicy::Off, Some(2), SiblingPolicy::All), 2);
        assert_eq!(count(SiblingPolicy::All, Some(3), SiblingPolicy::Off), 2);
        assert_eq!(count(SiblingPolicy::All, None, SiblingPolicy::ReserveCore), 1);
    }

    #[test]
    fn nobody_sits_on_the_leaders_cpu_and_no_two_threads_on_one() {
        for cores in [&[1, 1][..], &[2, 2], &[1, 2, 2, 1], &[4, 1, 2]] {
            for policy in [SiblingPolicy::Off, SiblingPolicy::All, SiblingPolicy::IdleThread] {
                let seating = seating(cores, policy);
                let all = seating.cpus.clone().unwrap();
                for leader in all.iter().copied() {
                    let mut beside: Vec<u32> =
                        all.iter().map(|cpu| seating.cpu_beside(*cpu, Some(leader))).collect();
                    assert_eq!(beside[seating.placement.workers[0].0], leader);
                    beside.sort_unstable();
                    assert_eq!(beside, all, "{cores:?} {policy:?} leader on {leader}");
                }
            }
        }
    }

    #[test]
    fn workers_of_a_core_stay_together() {
        let seating = seating(&[2, 2, 2], SiblingPolicy::All);
        let core = |cpu: u32| (cpu - 10) / 6;
        for leader in seating.cpus.clone().unwrap() {
            for pair in [[10, 13], [16, 19], [22, 25]] {
                let [a, b] = pair.map(|cpu| seating.cpu_beside(cpu, Some(leader)));
                assert_eq!(core(a), core(b), "{pair:?} beside {leader}");
            }
        }
    }

    #[test]
    fn a_leader_elsewhere_moves_nobody() {
        let seating = seating(&[2, 2], SiblingPolicy::Off);
        for leader in [None, Some(99), seating.worker_cpu(0)] {
            for cpu in seating.cpus.clone().unwrap() {
                assert_eq!(seating.cpu_beside(cpu, leader), cpu);
            }
        }
    }
}
