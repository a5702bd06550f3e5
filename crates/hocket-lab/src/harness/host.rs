//! The machine as experiments see it: which CPUs may be used, how they are related, what is granted.

use hocket_machine::Topology;
use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet};
use serde::{Deserialize, Serialize};

use super::NotMeasurable;

/// How two CPUs are related, by what the system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// One and the same.
    SameCpu,
    /// Two seats of one core.
    Siblings,
    /// Two cores below one last-level cache.
    SameCache,
    /// Two cores that share no cache, or of which it is not known.
    Far,
}

impl Relation {
    /// All, nearest first.
    pub const ALL: [Relation; 4] =
        [Relation::SameCpu, Relation::Siblings, Relation::SameCache, Relation::Far];

    /// As in variant names: `same-cpu`, `siblings`, `same-cache`, `far`.
    pub fn name(self) -> &'static str {
        match self {
            Relation::SameCpu => "same-cpu",
            Relation::Siblings => "siblings",
            Relation::SameCache => "same-cache",
            Relation::Far => "far",
        }
    }
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether threads may have the first-in-first-out real-time class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum FifoGrant {
    /// Up to this priority.
    UpTo(u8),
    /// No, and why.
    Refused(String),
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Host {
    /// Packages, cores, seats, caches.
    pub topology: Topology,
    /// CPUs that this process may use, in ascending order; never empty.
    pub cpus: Vec<u32>,
    /// Whether FIFO is granted.
    pub fifo: FifoGrant,
}

impl Host {
    /// Of this machine. Thread: control; a helper thread comes and goes. Cost: milliseconds.
    ///
    /// # Errors
    /// Where topology or affinity cannot be read.
    pub fn discover() -> Result<Host, NotMeasurable> {
        let topology = Topology::discover().map_err(NotMeasurable::new)?;
        let allowed = pin::current_affinity().map_err(NotMeasurable::new)?;
        let online =
            |cpu: &u32| topology.seat_of_cpu(*cpu).is_none_or(|seat| topology.seats[seat].online);
        let cpus: Vec<u32> = allowed.iter().filter(online).collect();
        if cpus.is_empty() {
            return Err(NotMeasurable("this process may use no CPU that is on line".into()));
        }
        Ok(Host { topology, cpus, fifo: probe_fifo() })
    }

    /// How two CPUs are related.
    pub fn relation(&self, a: u32, b: u32) -> Relation {
        if a == b {
            return Relation::SameCpu;
        }
        let (Some(a), Some(b)) = (self.topology.seat_of_cpu(a), self.topology.seat_of_cpu(b))
        else {
            return Relation::Far;
        };
        let core = |seat: usize| self.topology.seats[seat].core;
        if core(a).is_some() && core(a) == core(b) {
            return Relation::Siblings;
        }
        let last = self.topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
        match self.topology.sharing_cache(a, last) {
            Some(seats) if seats.contains(&b) => Relation::SameCache,
            _ => Relation::Far,
        }
    }

    /// The first pair of usable CPUs that is so related; for [`Relation::SameCpu`] one CPU twice.
    pub fn pair(&self, relation: Relation) -> Option<(u32, u32)> {
        self.pairs().find(|(a, b)| self.relation(*a, *b) == relation)
    }

    /// One pair for each relation that this machine has, nearest first.
    pub fn pairs_by_relation(&self) -> Vec<(Relation, (u32, u32))> {
        Relation::ALL.iter().filter_map(|r| Some((*r, self.pair(*r)?))).collect()
    }

    /// Every pair of usable CPUs, `a <= b`, a CPU with itself included.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let after = |at: usize| self.cpus[at..].iter();
        self.cpus.iter().enumerate().flat_map(move |(at, a)| after(at).map(move |b| (*a, *b)))
    }

    /// The relations of this machine that have no pair among the usable CPUs, with why.
    pub fn absent_relations(&self) -> Vec<(Relation, String)> {
        let absent = |r: &&Relation| self.pair(**r).is_none();
        let why = |r: &Relation| match r {
            Relation::Siblings => "no two usable CPUs share a core".to_string(),
            Relation::SameCache => "no two usable cores share the last-level cache".to_string(),
            _ => "there is no such pair among the usable CPUs".to_string(),
        };
        Relation::ALL.iter().filter(absent).map(|r| (*r, why(r))).collect()
    }

    /// One usable CPU of each core, the first; what runs on them shares no core.
    pub fn one_per_core(&self) -> Vec<u32> {
        let core = |cpu: u32| self.topology.seats[self.topology.seat_of_cpu(cpu)?].core;
        let mut seen = Vec::new();
        self.cpus
            .iter()
            .copied()
            .filter(|cpu| match core(*cpu) {
                Some(core) if seen.contains(&core) => false,
                Some(core) => {
                    seen.push(core);
                    true
                }
                None => true,
            })
            .collect()
    }

    /// Usable CPUs that share a core, core by core; empty without SMT.
    pub fn sibling_pairs(&self) -> Vec<(u32, u32)> {
        self.pairs().filter(|(a, b)| self.relation(*a, *b) == Relation::Siblings).collect()
    }

    /// So many CPUs, distinct cores first, then their siblings, then round again.
    pub fn spread(&self, n: usize) -> Vec<u32> {
        let first = self.one_per_core();
        let rest = self.cpus.iter().filter(|cpu| !first.contains(cpu));
        let order: Vec<u32> = first.iter().chain(rest).copied().collect();
        order.iter().copied().cycle().take(n).collect()
    }

    /// So many CPUs, all seats of a core before the next core, then round again.
    pub fn packed(&self, n: usize) -> Vec<u32> {
        let cores = self.one_per_core();
        let on_the_core = |first: u32| {
            let shares = move |cpu: &&u32| {
                **cpu == first || self.relation(first, **cpu) == Relation::Siblings
            };
            self.cpus.iter().filter(shares).copied()
        };
        let order: Vec<u32> = cores.into_iter().flat_map(on_the_core).collect();
        order.iter().copied().cycle().take(n).collect()
    }

    /// FIFO at `priority`, or why not.
    ///
    /// # Errors
    /// The reason, with its remedy where there is one.
    pub fn fifo(&self, priority: u8) -> Result<Class, String> {
        match &self.fifo {
            FifoGrant::UpTo(highest) if priority <= *highest => Ok(Class::Fifo { priority }),
            FifoGrant::UpTo(highest) => {
                Err(format!("FIFO is granted up to priority {highest} only"))
            }
            FifoGrant::Refused(why) => Err(why.clone()),
        }
    }
}

/// Asks for falling priorities on a thread that ends afterwards.
fn probe_fifo() -> FifoGrant {
    let probe = || {
        let mut refusal = String::new();
        for priority in [99, 80, 60, 40, 20, 10, 1] {
            let report = class::request(Class::Fifo { priority });
            if report.granted {
                return FifoGrant::UpTo(priority);
            }
            let why = report.why.unwrap_or_else(|| "the system refuses".into());
            refusal = match report.remedy {
                Some(remedy) => format!("{why}; {remedy}"),
                None => why,
            };
        }
        FifoGrant::Refused(refusal)
    };
    let ended = std::thread::Builder::new().spawn(probe).map(std::thread::JoinHandle::join);
    match ended {
        Ok(Ok(grant)) => grant,
        _ => FifoGrant::Refused("no thread could be started to ask for it".into()),
    }
}

/// A set of one or more CPUs.
pub(super) fn set_of(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().collect()
}

#[cfg(test)]
impl Host {
    /// Of two cores with two seats each below one cache: CPUs 0 and 2, 1 and 3. For tests of what a machine with
    /// SMT is asked to do.
    pub(crate) fn described_with_smt() -> Host {
        let topology = Topology::from_xml(SMT, "smt.xml").expect("well-formed");
        Host { topology, cpus: vec![0, 1, 2, 3], fifo: FifoGrant::UpTo(60) }
    }
}

#[cfg(test)]
const SMT: &str = r#"<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1">
<object type="NUMANode" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" local_memory="1024"/>
<object type="Package" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1">
<object type="L3Cache" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" complete_nodeset="0x1" cache_size="8388608" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
<object type="Core" os_index="0" cpuset="0x5" complete_cpuset="0x5" nodeset="0x1" complete_nodeset="0x1"><object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"/><object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x1" complete_nodeset="0x1"/></object>
<object type="Core" os_index="1" cpuset="0xa" complete_cpuset="0xa" nodeset="0x1" complete_nodeset="0x1"><object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"/><object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x1" complete_nodeset="0x1"/></object>
</object></object></object></topology>"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_follow_cores_and_caches() {
        let host = Host::described_with_smt();
        assert_eq!(host.relation(0, 0), Relation::SameCpu);
        assert_eq!(host.relation(0, 2), Relation::Siblings);
        assert_eq!(host.relation(0, 1), Relation::SameCache);
        assert_eq!(host.relation(0, 77), Relation::Far);
        assert_eq!(host.pair(Relation::SameCache), Some((0, 1)));
        assert_eq!(host.sibling_pairs(), [(0, 2), (1, 3)]);
        assert_eq!(host.absent_relations().len(), 1);
    }

    #[test]
    fn threads_are_spread_over_cores_first() {
        let host = Host::described_with_smt();
        assert_eq!(host.one_per_core(), [0, 1]);
        assert_eq!(host.spread(6), [0, 1, 2, 3, 0, 1]);
        assert_eq!(host.packed(5), [0, 2, 1, 3, 0]);
    }

    #[test]
    fn fifo_is_refused_with_a_reason() {
        let mut host = Host::described_with_smt();
        assert!(host.fifo(60).is_ok());
        assert!(host.fifo(61).unwrap_err().contains("60"));
        host.fifo = FifoGrant::Refused("no right".into());
        assert_eq!(host.fifo(1).unwrap_err(), "no right");
    }
}
