//! What else runs while a primitive is measured, and where.

use super::primitive::Primitive;
use crate::experiments::jobs::shared_cores;
use crate::harness::{Host, Relation, Size};

/// At most so many processes do the same at once.
pub(in crate::experiments) const MOST_SEATS: usize = 8;

/// Where the processes of a primitive are, and who is beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Company {
    /// All on one CPU, nothing of ours beside.
    Alone,
    /// All on both seats of a core.
    BothSeats,
    /// All on two cores.
    TwoCores,
    /// All on one CPU, and its sibling computes.
    BusySibling,
    /// The same on every seat.
    EverySeat,
}

impl Company {
    pub(in crate::experiments) const ALL: [Company; 5] = [
        Company::Alone,
        Company::BothSeats,
        Company::TwoCores,
        Company::BusySibling,
        Company::EverySeat,
    ];

    pub(in crate::experiments) fn name(self) -> &'static str {
        match self {
            Company::Alone => "alone",
            Company::BothSeats => "both-seats",
            Company::TwoCores => "two-cores",
            Company::BusySibling => "busy-sibling",
            Company::EverySeat => "every-seat",
        }
    }

    pub(in crate::experiments) fn named(name: &str) -> Option<Company> {
        Company::ALL.into_iter().find(|company| company.name() == name)
    }

    /// What is said of it, against alone.
    pub(in crate::experiments) fn told(self) -> &'static str {
        match self {
            Company::Alone => "alone",
            Company::BothSeats => "on both seats of a core instead of one",
            Company::TwoCores => "on two cores instead of one",
            Company::BusySibling => "with a busy sibling",
            Company::EverySeat => "with the same on every seat",
        }
    }

    pub(in crate::experiments) fn relation(self) -> Option<Relation> {
        matches!(self, Company::BothSeats | Company::BusySibling).then_some(Relation::Siblings)
    }

    /// In which a primitive is measured, `Alone` first. A quick run has one of each kind in company.
    pub(super) fn of(primitive: Primitive, size: Size) -> Vec<Company> {
        let mut all = vec![Company::Alone];
        if primitive.has_partners() {
            all.extend([Company::BothSeats, Company::TwoCores]);
        }
        if size == Size::Full || primitive.is_typical() {
            all.extend([Company::BusySibling, Company::EverySeat]);
        }
        if primitive.runs_here() {
            // A thread of this program is no process on each seat, nor has it one beside it.
            all.retain(|company| !matches!(company, Company::BusySibling | Company::EverySeat));
        }
        if primitive.is_of_grid() {
            all.truncate(1);
        }
        // A ring on each seat would be hundreds of processes.
        if primitive.is_large() || primitive.is_ring() {
            all.retain(|company| *company != Company::EverySeat);
        }
        all
    }

    /// The CPUs that a variant names; `None` where there are none such.
    pub(in crate::experiments) fn cpus(self, host: &Host) -> Option<Vec<u32>> {
        let shared = shared_cores(host, 1).first().copied();
        match self {
            // The same CPU as with a busy sibling, where one exists.
            Company::Alone => Some(vec![shared.map_or_else(|| host.cpus[0], |core| core[0])]),
            Company::BothSeats | Company::BusySibling => shared.map(|core| core.to_vec()),
            Company::TwoCores => host.one_per_core().get(..2).map(<[u32]>::to_vec),
            Company::EverySeat => {
                let seats: Vec<u32> = host.cpus.iter().copied().take(MOST_SEATS).collect();
                (seats.len() > 1).then_some(seats)
            }
        }
    }

    /// Where each process may run, of a variant's CPUs, and the CPU that is kept busy.
    pub(in crate::experiments) fn places(self, cpus: &[u32]) -> (Vec<&[u32]>, Option<u32>) {
        match self {
            Company::Alone | Company::BothSeats | Company::TwoCores => (vec![cpus], None),
            Company::BusySibling => (vec![&cpus[..1]], cpus.last().copied()),
            Company::EverySeat => (cpus.chunks(1).collect(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_where_the_company_says() {
        let host = Host::described_with_smt();
        let of = |company: Company| company.cpus(&host).unwrap();
        assert_eq!((of(Company::Alone), of(Company::BothSeats)), (vec![0], vec![0, 2]));
        assert_eq!((of(Company::TwoCores), of(Company::EverySeat)), (vec![0, 1], vec![0, 1, 2, 3]));
        let places = |company: Company, cpus: &[u32]| {
            let (places, busy) = company.places(cpus);
            (places.into_iter().map(<[u32]>::to_vec).collect::<Vec<_>>(), busy)
        };
        assert_eq!(places(Company::BusySibling, &[0, 2]), (vec![vec![0]], Some(2)));
        assert_eq!(places(Company::EverySeat, &[0, 1]), (vec![vec![0], vec![1]], None));
        assert_eq!(places(Company::BothSeats, &[0, 2]), (vec![vec![0, 2]], None));
    }
}
