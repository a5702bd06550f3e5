//! What a reader has gathered before it is numbered: CPU numbers everywhere, no indices yet.
//!
//! Every reader fills a [`Draft`]; [`Draft::finish`] is the only way from there to a [`Topology`], so sorting,
//! numbering, the kinds of core and the checks are the same for all of them.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;

use super::kinds::{self, KindDraft, KindRow};
use super::{Cache, CacheType, Core, Kind, NumaNode, Package, Pair, Seat, Source, Topology};

/// Whether a CPU may be used and is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeatDraft {
    pub allowed: bool,
    pub online: bool,
}

/// A core: its CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CoreDraft {
    pub os_index: Option<u32>,
    pub cpus: Vec<u32>,
}

/// A package: its CPUs and what is written on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PackageDraft {
    pub os_index: Option<u32>,
    pub model: Option<String>,
    pub vendor: Option<String>,
    pub family: Option<u32>,
    pub cpus: Vec<u32>,
}

/// A cache: its CPUs and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheDraft {
    pub level: u32,
    pub cache_type: CacheType,
    pub size_bytes: Option<u64>,
    pub line_bytes: Option<u32>,
    pub cpus: Vec<u32>,
}

/// A memory node: its CPUs and memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumaDraft {
    pub os_index: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub cpus: CpuSet,
}

/// Everything a reader has found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub seats: BTreeMap<u32, SeatDraft>,
    pub cores: Vec<CoreDraft>,
    pub packages: Vec<PackageDraft>,
    pub caches: Vec<CacheDraft>,
    pub numa: Vec<NumaDraft>,
    pub kind_rows: Vec<KindRow>,
    pub hidden: CpuSet,
    pub notes: Vec<String>,
}

impl Draft {
    /// The CPUs that are seats.
    pub fn cpus(&self) -> CpuSet {
        self.seats.keys().copied().collect()
    }

    /// Numbers everything.
    pub fn finish(mut self, source: Source, is_this_system: bool) -> Topology {
        self.sort_groups();
        let kinds = kinds::classify(&mut self);
        let order = SeatOrder::of(&self);
        let mut topology = Topology {
            source,
            is_this_system,
            packages: self.packages.iter().enumerate().map(|(i, p)| order.package(i, p)).collect(),
            cores: self.cores.iter().enumerate().map(|(i, c)| order.core(i, c)).collect(),
            seats: order.seats(&self),
            pairs: Vec::new(),
            kinds: kinds.iter().enumerate().map(|(i, k)| order.kind(i, k)).collect(),
            caches: self.caches.iter().map(|c| order.cache(c)).collect(),
            numa_nodes: self.numa.iter().map(|n| order.numa(n)).collect(),
            offline_or_hidden_cpus: self.offline_or_hidden().iter().collect(),
            notes: self.notes,
        };
        link(&mut topology);
        topology
    }

    fn offline_or_hidden(&self) -> CpuSet {
        let off = self.seats.iter().filter(|(_, s)| !s.online).map(|(&cpu, _)| cpu);
        self.hidden.difference(&self.cpus()).iter().chain(off).collect()
    }

    /// Puts groups in the order of their first CPU; groups without CPUs come last, by their own number.
    fn sort_groups(&mut self) {
        for core in &mut self.cores {
            core.cpus.sort_unstable();
        }
        for package in &mut self.packages {
            package.cpus.sort_unstable();
        }
        for cache in &mut self.caches {
            cache.cpus.sort_unstable();
        }
        let first = |cpus: &[u32]| cpus.first().copied().unwrap_or(u32::MAX);
        self.cores.retain(|c| !c.cpus.is_empty());
        self.packages.sort_by_key(|p| (first(&p.cpus), p.os_index));
        let package_of = group_of(self.packages.iter().map(|p| p.cpus.as_slice()));
        self.cores.sort_by_key(|c| {
            let cpu = first(&c.cpus);
            (package_of.get(&cpu).copied().unwrap_or(usize::MAX), cpu)
        });
        self.caches.sort_by_key(|c| (c.level, c.cache_type, first(&c.cpus)));
        self.numa.sort_by_key(|n| n.os_index.unwrap_or(u32::MAX));
    }
}

/// CPU number to the place of its group.
fn group_of<'a>(groups: impl Iterator<Item = &'a [u32]>) -> BTreeMap<u32, usize> {
    let members = |(i, cpus): (usize, &'a [u32])| cpus.iter().map(move |&cpu| (cpu, i));
    groups.enumerate().flat_map(members).collect()
}

/// The final numbering of the seats.
struct SeatOrder {
    seat_of: BTreeMap<u32, usize>,
    cpus: Vec<u32>,
}

impl SeatOrder {
    /// By package, core and CPU number; CPUs without a core or package come after those that have one.
    fn of(draft: &Draft) -> Self {
        let packages = group_of(draft.packages.iter().map(|p| p.cpus.as_slice()));
        let cores = group_of(draft.cores.iter().map(|c| c.cpus.as_slice()));
        let rank =
            |map: &BTreeMap<u32, usize>, cpu: u32| map.get(&cpu).copied().unwrap_or(usize::MAX);
        let mut cpus: Vec<u32> = draft.seats.keys().copied().collect();
        cpus.sort_by_key(|&cpu| (rank(&packages, cpu), rank(&cores, cpu), cpu));
        let seat_of = cpus.iter().enumerate().map(|(seat, &cpu)| (cpu, seat)).collect();
        Self { seat_of, cpus }
    }

    fn indices(&self, cpus: impl IntoIterator<Item = u32>) -> Vec<usize> {
        let seats = cpus.into_iter().filter_map(|cpu| self.seat_of.get(&cpu).copied());
        let mut seats: Vec<usize> = seats.collect();
        seats.sort_unstable();
        seats
    }

    /// The seats alone; [`link`] fills in what they belong to.
    fn seats(&self, draft: &Draft) -> Vec<Seat> {
        let seat = |(index, &cpu): (usize, &u32)| {
            let SeatDraft { allowed, online } = draft.seats[&cpu];
            Seat { index, cpu, core: None, package: None, numa: None, kind: 0, allowed, online }
        };
        self.cpus.iter().enumerate().map(seat).collect()
    }

    fn package(&self, index: usize, draft: &PackageDraft) -> Package {
        let PackageDraft { os_index, model, vendor, .. } = draft.clone();
        Package {
            index,
            os_index,
            model,
            vendor,
            cores: Vec::new(),
            seats: self.indices(draft.cpus.iter().copied()),
        }
    }

    fn core(&self, index: usize, draft: &CoreDraft) -> Core {
        let seats = self.indices(draft.cpus.iter().copied());
        Core { index, os_index: draft.os_index, package: None, kind: 0, seats }
    }

    fn kind(&self, index: usize, draft: &KindDraft) -> Kind {
        Kind {
            index,
            name: draft.name.clone(),
            efficiency: draft.efficiency,
            max_mhz: draft.max_mhz,
            seats: self.indices(draft.cpus.iter()),
            how: draft.how,
            reason: draft.reason.clone(),
        }
    }

    fn cache(&self, draft: &CacheDraft) -> Cache {
        let &CacheDraft { level, cache_type, size_bytes, line_bytes, .. } = draft;
        Cache {
            level,
            cache_type,
            size_bytes,
            line_bytes,
            seats: self.indices(draft.cpus.iter().copied()),
        }
    }

    fn numa(&self, draft: &NumaDraft) -> NumaNode {
        let &NumaDraft { os_index, memory_bytes, .. } = draft;
        NumaNode { os_index, memory_bytes, seats: self.indices(draft.cpus.iter()) }
    }
}

/// Fills in the links from the small to the large, and the pairs.
fn link(topology: &mut Topology) {
    let Topology { packages, cores, seats, pairs, kinds, numa_nodes, notes, .. } = topology;
    for package in packages.iter() {
        package.seats.iter().for_each(|&s| seats[s].package = Some(package.index));
    }
    for (index, node) in numa_nodes.iter().enumerate() {
        node.seats.iter().for_each(|&s| seats[s].numa = seats[s].numa.or(Some(index)));
    }
    for kind in kinds.iter() {
        kind.seats.iter().for_each(|&s| seats[s].kind = kind.index);
    }
    for core in cores.iter_mut() {
        core.seats.iter().for_each(|&s| seats[s].core = Some(core.index));
        let first = core.seats[0];
        core.package = seats[first].package;
        core.kind = seats[first].kind;
        if let Some(package) = core.package {
            packages[package].cores.push(core.index);
        }
    }
    pairs.extend(
        cores
            .iter()
            .filter(|c| c.seats.len() > 1)
            .map(|c| Pair { core: c.index, seats: c.seats.clone() }),
    );
    let torn = cores.iter().filter(|c| c.seats.iter().any(|&s| seats[s].kind != c.kind)).count();
    if torn > 0 {
        notes.push(format!("{torn} cores have seats of different kinds; such a core counts as the kind of its first seat"));
    }
}
