//! Where the threads of an experiment are: one, two by relation, as many as there are cores and seats, too many.

use crate::harness::{Host, Relation, Size, Variant};

/// The factor that names a [`ThreadSpread`].
pub(super) const SPREAD: &str = "spread";

/// So many threads, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadSpread {
    /// `alone`, the relation of two, `4-threads`, `crowded`.
    pub name: String,
    /// One for each thread.
    pub cpus: Vec<u32>,
    /// Of two threads.
    pub relation: Option<Relation>,
    /// More threads than CPUs.
    pub crowded: bool,
}

/// With more threads than this a lock or a barrier only shows the scheduler.
const MOST_THREADS: usize = 128;

/// The spreads of this machine, fewest threads first. A quick run leaves out numbers of threads between two
/// and all.
pub(super) fn thread_spreads(host: &Host, size: Size) -> Vec<ThreadSpread> {
    let seats = host.cpus.len();
    let mut found = vec![ThreadSpread::of("alone", host.spread(1), None, false)];
    found.extend(host.pairs_by_relation().into_iter().map(|(relation, (a, b))| {
        ThreadSpread::of(relation.name(), vec![a, b], Some(relation), relation == Relation::SameCpu)
    }));
    let mut counts = size.pick(Vec::new(), vec![4, 8, 16, 32, 64]);
    counts.extend([host.one_per_core().len(), seats]);
    counts.retain(|n| (3..=seats.min(MOST_THREADS)).contains(n));
    counts.sort_unstable();
    counts.dedup();
    let all = |n: usize| ThreadSpread::of(format!("{n}-threads"), host.spread(n), None, false);
    found.extend(counts.into_iter().map(all));
    let many = (2 * seats).min(MOST_THREADS);
    if many > seats {
        found.push(ThreadSpread::of("crowded", host.spread(many), None, true));
    }
    found
}

impl ThreadSpread {
    fn of(
        name: impl Into<String>,
        cpus: Vec<u32>,
        relation: Option<Relation>,
        crowded: bool,
    ) -> ThreadSpread {
        ThreadSpread { name: name.into(), cpus, relation, crowded }
    }

    /// The variant `name` here, with its factors.
    pub(super) fn variant(&self, name: &str) -> Variant {
        let variant = Variant::new(format!("{name} {}", self.name))
            .with(SPREAD, &self.name)
            .with("threads", self.cpus.len())
            .on(&self.cpus, self.relation);
        variant.crowded_if(self.crowded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_by_relation_and_the_last_has_too_many() {
        let host = Host::described_with_smt();
        let names = |size| -> Vec<(String, usize)> {
            let of = |p: &ThreadSpread| (p.name.clone(), p.cpus.len());
            thread_spreads(&host, size).iter().map(of).collect()
        };
        let quick = ["alone", "same-cpu", "siblings", "same-cache", "4-threads", "crowded"];
        let quick: Vec<_> = quick.iter().map(|n| n.to_string()).zip([1, 2, 2, 2, 4, 8]).collect();
        assert_eq!(names(Size::Quick), quick);
        assert_eq!(names(Size::Full), quick);
        let two = &thread_spreads(&host, Size::Quick)[2];
        assert_eq!((two.cpus.as_slice(), two.relation), (&[0, 2][..], Some(Relation::Siblings)));
    }
}
