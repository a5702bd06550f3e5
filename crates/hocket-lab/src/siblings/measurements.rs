//! What was measured so far.

use std::collections::BTreeMap;

use super::{CpuPair, Figure, cpu_pair};

/// What both CPUs of a pair run. None of it leaves the core, and each keeps one group of units so
/// busy that a second thread on them cannot be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// Independent integer additions and shifts.
    Alu,
    /// Independent multiplications and additions of floating-point numbers.
    Fp,
    /// Reads all over the first-level data cache.
    L1,
    /// Loads and stores, as many an instruction as there are ports.
    LoadStore,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 4] = [Kernel::Alu, Kernel::Fp, Kernel::L1, Kernel::LoadStore];

    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Kernel::Alu => "integer units",
            Kernel::Fp => "floating-point units",
            Kernel::L1 => "first-level cache",
            Kernel::LoadStore => "load and store ports",
        }
    }
}

/// How much slower a pair runs a kernel side by side than beside unrelated CPUs: the larger
/// quotient of the two CPUs' times; 1.0 is no contention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// What both ran.
    pub kernel: Kernel,
    /// The quotient.
    pub ratio: Figure,
}

/// What is known of every pair. Figures of one pair may be recorded several times and are
/// combined.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    cpus: Vec<u32>,
    latencies: BTreeMap<CpuPair, Vec<Figure>>,
    contention: BTreeMap<CpuPair, Vec<Vec<Slowdown>>>,
}

impl Measurements {
    /// Nothing measured yet of these CPUs (the system's numbers, any order).
    pub fn new(cpus: &[u32]) -> Self {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        Measurements { cpus, ..Measurements::default() }
    }

    /// The CPUs, ascending.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Records the one-way hand-over latency of a pair in nanoseconds.
    pub fn record_latency(&mut self, pair: CpuPair, latency_ns: Figure) {
        self.latencies.entry(cpu_pair(pair.0, pair.1)).or_default().push(latency_ns);
    }

    /// Records one trial of a pair: a slowdown for every kernel that was run.
    pub fn record_contention(&mut self, pair: CpuPair, slowdowns: Vec<Slowdown>) {
        self.contention.entry(cpu_pair(pair.0, pair.1)).or_default().push(slowdowns);
    }

    /// The latency of a pair, all its measurements together, in nanoseconds.
    pub fn latency(&self, a: u32, b: u32) -> Option<Figure> {
        Figure::combined(self.latencies.get(&cpu_pair(a, b))?)
    }

    /// How many trials of contention a pair had.
    pub fn trials(&self, pair: CpuPair) -> usize {
        self.contention.get(&cpu_pair(pair.0, pair.1)).map_or(0, Vec::len)
    }

    /// The slowdowns of a pair, all its trials together; empty where none was made.
    pub fn slowdowns(&self, pair: CpuPair) -> Vec<Slowdown> {
        let Some(trials) = self.contention.get(&cpu_pair(pair.0, pair.1)) else {
            return Vec::new();
        };
        let of_kernel = |kernel: Kernel| {
            let all: Vec<Figure> =
                trials.iter().flatten().filter(|s| s.kernel == kernel).map(|s| s.ratio).collect();
            Figure::combined(&all).map(|ratio| Slowdown { kernel, ratio })
        };
        Kernel::ALL.into_iter().filter_map(of_kernel).collect()
    }

    /// The pairs of which contention was measured.
    pub fn tried(&self) -> impl Iterator<Item = CpuPair> + '_ {
        self.contention.keys().copied()
    }

    /// Every pair of the CPUs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = CpuPair> + '_ {
        let later = |at: usize| self.cpus[at + 1..].iter().copied();
        self.cpus.iter().enumerate().flat_map(move |(at, a)| later(at).map(|b| (*a, b)))
    }
}
