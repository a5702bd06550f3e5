//! What the machine is made of: packages, cores, seats, pairs, kinds of core, caches and memory nodes.
//!
//! A topology comes from one of three places, all through the same checks:
//! 1. the hwloc library, loaded at run time and asked for its XML ([`Topology::discover`]);
//! 2. the kernel's own files, where the library is absent ([`Topology::from_sysfs`]);
//! 3. an XML file that hwloc's `lstopo` wrote on any machine ([`Topology::from_file`]).
//!
//! Everything is plain data, addressed by dense indices into the vectors of [`Topology`]. The order is fixed: seats are
//! sorted by package, core and CPU number, so the siblings of a core are neighbours and two readings of one machine
//! number it alike. Nothing here is decided *about* the machine except the kinds of core, where what the systems say is
//! incomplete; the rules are in the module `kinds`, and each kind says how it was found.

pub(crate) mod bitmap;
mod draft;
mod error;
mod hwloc;
mod kinds;
mod live;
mod sysfs;
mod xml;

use std::path::Path;

use serde::Serialize;

use crate::cpuset::CpuSet;
pub use error::TopologyError;

/// Where a topology was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Source {
    /// The hwloc library of this system.
    HwlocLive {
        /// The version of the library, such as `2.9.0`.
        version: String,
    },
    /// The kernel's files below `root`.
    Sysfs {
        /// `/` for this system.
        root: String,
    },
    /// An XML file.
    File {
        /// The file's name as it was given.
        path: String,
        /// The version of the XML format: `1`, `2.0`, `3.0`.
        format_version: String,
    },
}

/// One machine. See the module for how it is numbered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topology {
    /// Where this was read.
    pub source: Source,
    /// Whether these are the CPUs this process runs on, so that their numbers may be used to pin threads.
    pub is_this_system: bool,
    /// The processor packages (sockets). A package may have no seats, if this process is not shown them.
    pub packages: Vec<Package>,
    /// The cores. Empty where the system does not speak of cores.
    pub cores: Vec<Core>,
    /// The seats: logical CPUs, the places where a worker can sit.
    pub seats: Vec<Seat>,
    /// One entry for every core with two or more hardware threads.
    pub pairs: Vec<Pair>,
    /// The kinds of core, slowest first. Never empty.
    pub kinds: Vec<Kind>,
    /// The caches, by level, type and first seat.
    pub caches: Vec<Cache>,
    /// The memory nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// CPUs that exist but cannot be sat on, by the system's number: switched off, or hidden from this process.
    pub offline_or_hidden_cpus: Vec<u32>,
    /// What a reader ought to know: contradictions, corrections, missing facts.
    pub notes: Vec<String>,
}

/// A processor package (socket).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// The place in [`Topology::packages`].
    pub index: usize,
    /// The number the system gives it, if it does.
    pub os_index: Option<u32>,
    /// The model name, such as `AMD EPYC 7451 24-Core Processor`.
    pub model: Option<String>,
    /// The vendor, such as `GenuineIntel`.
    pub vendor: Option<String>,
    /// Its cores, by index.
    pub cores: Vec<usize>,
    /// Its seats, by index.
    pub seats: Vec<usize>,
}

/// A core: what the hardware threads of one pair share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Core {
    /// The place in [`Topology::cores`].
    pub index: usize,
    /// The number the system gives it, if it does; often unique only within its package.
    pub os_index: Option<u32>,
    /// Its package, by index.
    pub package: Option<usize>,
    /// Its kind, by index.
    pub kind: usize,
    /// Its seats, by index.
    pub seats: Vec<usize>,
}

/// A logical CPU: a place where one worker can sit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seat {
    /// The place in [`Topology::seats`].
    pub index: usize,
    /// The number the system gives it; what pinning uses.
    pub cpu: u32,
    /// Its core, by index; none where the system does not speak of cores.
    pub core: Option<usize>,
    /// Its package, by index.
    pub package: Option<usize>,
    /// Its memory node: the place in [`Topology::numa_nodes`] of the first node with this seat.
    pub numa: Option<usize>,
    /// Its kind, by index.
    pub kind: usize,
    /// Whether this process may run there now.
    pub allowed: bool,
    /// Whether it is switched on.
    pub online: bool,
}

/// The seats that share a core.
///
/// Nearly always two, hence the name; a core with four or eight hardware threads has all its seats in one entry, and
/// whatever is said of a pair (sibling policies, forced idling) holds for all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The core, by index.
    pub core: usize,
    /// Its seats, by index; at least two.
    pub seats: Vec<usize>,
}

/// Whether the system reported a kind, or Hocket concluded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KindOrigin {
    /// The system names these CPUs as one kind.
    Reported,
    /// The system's answer was corrected or was missing.
    Inferred,
}

/// A performance class of cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kind {
    /// The place in [`Topology::kinds`]: 0 is the slowest and most efficient, the last is the fastest.
    pub index: usize,
    /// `core` on a machine of one kind, else the maker's or the system's name, such as `IntelAtom`.
    pub name: String,
    /// The system's own ranking, where it gives one; larger is faster. Only the order means anything.
    pub efficiency: Option<i64>,
    /// The highest clock in MHz, where known.
    pub max_mhz: Option<u32>,
    /// The seats of this kind, by index.
    pub seats: Vec<usize>,
    /// Told or concluded.
    pub how: KindOrigin,
    /// The evidence, in words.
    pub reason: String,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheType {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// A cache and who shares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// What it holds.
    #[serde(rename = "type")]
    pub cache_type: CacheType,
    /// Its size, where known.
    pub size_bytes: Option<u64>,
    /// The length of its lines, where known.
    pub line_bytes: Option<u32>,
    /// The seats that share it, by index.
    pub seats: Vec<usize>,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NumaNode {
    /// The number the system gives it, if it does.
    pub os_index: Option<u32>,
    /// Its memory, where known.
    pub memory_bytes: Option<u64>,
    /// The seats that are near to it, by index. May be empty: some nodes have memory alone.
    pub seats: Vec<usize>,
}

/// # Ways to a topology
impl Topology {
    /// Reads the machine this process runs on: through hwloc, else from the kernel's files.
    ///
    /// `allowed` is what the main thread of the process may use at this moment, so ask before pinning it. Set
    /// `HOCKET_NO_HWLOC=1` to leave the library alone. Thread: control; a short-lived helper thread does the work, since
    /// the library moves its caller about. Cost: milliseconds.
    ///
    /// # Errors
    /// If neither the library nor the kernel's files tell of any CPU.
    pub fn discover() -> Result<Self, TopologyError> {
        live::discover()
    }

    /// Reads an hwloc XML file (formats 1, 2 and 3) of any machine.
    ///
    /// # Errors
    /// One message with file, line and column, cause and remedy, if the file cannot be read or understood.
    pub fn from_file(path: &Path) -> Result<Self, TopologyError> {
        let name = path.display().to_string();
        let text = xml::load(path)?;
        Self::from_xml(&text, &name)
    }

    /// Reads hwloc XML from memory; `name` stands for the file in messages.
    ///
    /// # Errors
    /// As [`Topology::from_file`].
    pub fn from_xml(text: &str, name: &str) -> Result<Self, TopologyError> {
        let read = xml::read(text, name)?;
        let source = Source::File { path: name.to_string(), format_version: read.format_version };
        Ok(read.draft.finish(source, false))
    }

    /// Reads the kernel's files below `root`: `/` for this system, else a folder with a saved `sys` (and `proc`).
    ///
    /// # Errors
    /// If there is no readable `sys/devices/system/cpu` with at least one CPU.
    pub fn from_sysfs(root: &Path) -> Result<Self, TopologyError> {
        let draft = sysfs::read(root)?;
        let source = Source::Sysfs { root: root.display().to_string() };
        Ok(draft.finish(source, root == Path::new("/")))
    }
}

/// # Questions that need more than one field
impl Topology {
    /// The seats that share a core with `seat`, itself included. A seat without a core is alone.
    pub fn siblings(&self, seat: usize) -> Vec<usize> {
        let core = self.seats.get(seat).and_then(|s| s.core);
        core.map_or_else(|| vec![seat], |core| self.cores[core].seats.clone())
    }

    /// Whether any core has more than one seat.
    pub fn has_smt(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The seats this process may use now, by index.
    pub fn allowed_seats(&self) -> Vec<usize> {
        self.seats.iter().filter(|s| s.allowed && s.online).map(|s| s.index).collect()
    }

    /// The CPU numbers of some seats, as pinning wants them. Indices that do not exist are left out.
    pub fn cpus_of(&self, seats: &[usize]) -> CpuSet {
        seats.iter().filter_map(|&s| self.seats.get(s)).map(|s| s.cpu).collect()
    }

    /// The seat with the system's CPU number `cpu`.
    pub fn seat_of_cpu(&self, cpu: u32) -> Option<usize> {
        self.seats.iter().find(|s| s.cpu == cpu).map(|s| s.index)
    }

    /// The seats that share the cache of `level` (data or unified) with `seat`, itself included.
    pub fn sharing_cache(&self, seat: usize, level: u32) -> Option<&[usize]> {
        let holds = |c: &&Cache| {
            c.level == level && c.cache_type != CacheType::Instruction && c.seats.contains(&seat)
        };
        self.caches.iter().find(holds).map(|c| c.seats.as_slice())
    }
}
