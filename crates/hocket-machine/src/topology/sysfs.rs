//! The kernel's own files into a [`Draft`]: for systems without the hwloc library, and to check it where it is there.
//!
//! Read are `sys/devices/system/cpu` and `sys/devices/system/node`, plus `proc/cpuinfo` for names and
//! `proc/meminfo` where the kernel knows no memory nodes. What a kernel is too old to tell is left out, never guessed:
//! a CPU without topology files becomes a seat without core and package.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cpuset::{CpuSet, MAX_CPUS};
use crate::kernel_files::{KernelFiles, field};

use super::draft::{CacheDraft, CoreDraft, Draft, NumaDraft, PackageDraft, SeatDraft};
use super::kinds::KindRow;
use super::{CacheType, TopologyError};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";
/// Who shares the core, by the newer and the older name.
const CORE_FILES: [&str; 2] = ["topology/core_cpus", "topology/thread_siblings"];
/// Who shares the package, by the newer and the older name.
const PACKAGE_FILES: [&str; 2] = ["topology/package_cpus", "topology/core_siblings"];

/// Reads the files below `root`.
pub(crate) fn read(root: &Path) -> Result<Draft, TopologyError> {
    let reader = Reader::new(root);
    let numbers = reader.files.numbered(CPU, "cpu");
    let (online, offline): (Vec<u32>, Vec<u32>) =
        numbers.into_iter().filter(|&cpu| cpu < MAX_CPUS).partition(|&cpu| reader.is_online(cpu));
    if online.is_empty() {
        return Err(no_cpus(root));
    }
    let mut draft = Draft::default();
    for &cpu in &online {
        draft.seats.insert(cpu, SeatDraft { allowed: true, online: true });
    }
    draft.hidden = reader.hidden(&offline, &draft.cpus());
    reader.cores(&mut draft);
    reader.packages(&mut draft);
    reader.caches(&mut draft);
    reader.memory(&mut draft);
    draft.kind_rows = reader.kind_rows(&draft.cpus());
    Ok(draft)
}

fn no_cpus(root: &Path) -> TopologyError {
    TopologyError {
        file: root.join(CPU).display().to_string(),
        place: None,
        cause: "the kernel's files list no CPU that is switched on".into(),
        remedy: "mount sysfs at /sys, or give a topology file with --topology FILE.xml".into(),
    }
}

struct Reader {
    files: KernelFiles,
    online: Option<CpuSet>,
    cpuinfo: CpuInfo,
}

/// # Which CPUs
impl Reader {
    fn new(root: &Path) -> Self {
        let files = KernelFiles::at(root);
        let online = files.cpu_list(&format!("{CPU}/online")).ok().filter(|set| !set.is_empty());
        let cpuinfo = CpuInfo::of(&files.text("proc/cpuinfo").unwrap_or_default());
        Self { files, online, cpuinfo }
    }

    fn is_online(&self, cpu: u32) -> bool {
        let own = self.files.number::<u32>(&format!("{CPU}/cpu{cpu}/online")).ok();
        let listed = self.online.as_ref().map(|set| set.contains(cpu));
        listed.unwrap_or_else(|| own != Some(0))
    }

    /// Present but not online; what is merely possible (room for hot-plugging) does not exist.
    fn hidden(&self, offline: &[u32], online: &CpuSet) -> CpuSet {
        let present = self.files.cpu_list(&format!("{CPU}/present")).unwrap_or_default();
        let off: CpuSet = offline.iter().copied().collect();
        let known =
            if present.is_empty() { off } else { present.union(&off.intersection(&present)) };
        known.difference(online)
    }

    /// The first of the files `names` (list, then mask) of a CPU that names the CPU itself, cut down to what is online.
    fn group(&self, cpu: u32, names: &[&str], online: &CpuSet) -> Option<CpuSet> {
        let read = |name: &&str| {
            let path = format!("{CPU}/cpu{cpu}/{name}");
            self.files.cpus(&format!("{path}_list"), &path).ok()
        };
        names
            .iter()
            .filter_map(read)
            .find(|set| set.contains(cpu))
            .map(|set| set.intersection(online))
    }
}

/// # Cores and packages
impl Reader {
    fn cores(&self, draft: &mut Draft) {
        for cpus in self.partition(draft, &CORE_FILES, "siblings") {
            let first = cpus.first().expect("a group holds its CPU");
            let os_index = self.topology_number(first, "core_id");
            draft.cores.push(CoreDraft { os_index, cpus: cpus.iter().collect() });
        }
    }

    fn packages(&self, draft: &mut Draft) {
        for cpus in self.partition(draft, &PACKAGE_FILES, "packages") {
            let first = cpus.first().expect("a group holds its CPU");
            let os_index = self.topology_number(first, "physical_package_id");
            let CpuNames { model, vendor, family, .. } = self.cpuinfo.of_cpu(first);
            draft.packages.push(PackageDraft {
                os_index,
                model,
                vendor,
                family,
                cpus: cpus.iter().collect(),
            });
        }
    }

    /// The groups that the CPUs' files name. Each CPU goes to the first group that claims it.
    fn partition(&self, draft: &mut Draft, names: &[&str], what: &str) -> Vec<CpuSet> {
        let online = draft.cpus();
        let mut placed = CpuSet::new();
        let mut groups = Vec::new();
        let mut contradictions = 0;
        for cpu in online.iter() {
            let Some(claimed) = self.group(cpu, names, &online) else { continue };
            if placed.contains(cpu) {
                contradictions += usize::from(!groups.contains(&claimed));
                continue;
            }
            let group = claimed.difference(&placed);
            contradictions += usize::from(group != claimed);
            placed = placed.union(&group);
            groups.push(group);
        }
        if contradictions > 0 {
            draft.notes.push(format!(
                "the kernel's files on {what} contradict each other for {contradictions} CPUs"
            ));
        }
        groups
    }

    /// A number in the topology folder; kernels write -1 or 65535 for "not known".
    fn topology_number(&self, cpu: u32, name: &str) -> Option<u32> {
        let number: i64 = self.files.number(&format!("{CPU}/cpu{cpu}/topology/{name}")).ok()?;
        u32::try_from(number).ok().filter(|&n| n != u32::from(u16::MAX))
    }
}

/// # Caches and memory
impl Reader {
    /// Every CPU describes its caches; those that are shared are described once for each sharer.
    fn caches(&self, draft: &mut Draft) {
        let online = draft.cpus();
        let mut found: BTreeMap<(u32, CacheType, CpuSet), CacheDraft> = BTreeMap::new();
        for cpu in online.iter() {
            for index in self.files.numbered(&format!("{CPU}/cpu{cpu}/cache"), "index") {
                let folder = format!("{CPU}/cpu{cpu}/cache/index{index}");
                let sharers = self.cache_sharers(cpu, &folder, &online);
                if let Some(cache) = self.cache(&folder, &sharers) {
                    found.entry((cache.level, cache.cache_type, sharers)).or_insert(cache);
                }
            }
        }
        draft.caches = found.into_values().collect();
    }

    fn cache(&self, folder: &str, sharers: &CpuSet) -> Option<CacheDraft> {
        let cache_type = match self.files.text(&format!("{folder}/type")).ok()?.as_str() {
            "Data" => CacheType::Data,
            "Instruction" => CacheType::Instruction,
            _ => CacheType::Unified,
        };
        let size = self.files.text(&format!("{folder}/size")).ok();
        let line = self.files.number(&format!("{folder}/coherency_line_size")).ok();
        Some(CacheDraft {
            level: self.files.number(&format!("{folder}/level")).ok()?,
            cache_type,
            size_bytes: size.and_then(|s| parse_size(&s)),
            line_bytes: line.filter(|&l: &u32| l > 0),
            cpus: sharers.iter().collect(),
        })
    }

    /// Who shares a cache. Some kernels leave that empty; then it is at least the core, whose threads share everything.
    fn cache_sharers(&self, cpu: u32, folder: &str, online: &CpuSet) -> CpuSet {
        let list = format!("{folder}/shared_cpu_list");
        let named = self.files.cpus(&list, &format!("{folder}/shared_cpu_map")).unwrap_or_default();
        match named.contains(cpu) {
            true => named.intersection(online),
            false => self.group(cpu, &CORE_FILES, online).unwrap_or_else(|| CpuSet::single(cpu)),
        }
    }

    fn memory(&self, draft: &mut Draft) {
        let numbers = self.files.numbered(NODE, "node");
        draft.numa = numbers.iter().map(|&node| self.node(node, &draft.cpus())).collect();
        let claims: usize = draft.numa.iter().map(|n| n.cpus.len()).sum();
        if claims > draft.numa.iter().fold(CpuSet::new(), |all, n| all.union(&n.cpus)).len() {
            let count = draft.numa.len();
            draft.notes.push(format!(
                "{count} memory nodes claim the same CPUs, which cannot be; they count as one node"
            ));
            draft.numa.clear();
        }
        if draft.numa.is_empty() {
            let memory_bytes = self.meminfo("proc/meminfo", "MemTotal");
            draft.numa.push(NumaDraft { os_index: Some(0), memory_bytes, cpus: draft.cpus() });
        }
    }

    fn node(&self, node: u32, online: &CpuSet) -> NumaDraft {
        let path = |name: &str| format!("{NODE}/node{node}/{name}");
        let cpus = self.files.cpus(&path("cpulist"), &path("cpumap")).unwrap_or_default();
        let memory_bytes = self.meminfo(&path("meminfo"), &format!("Node {node} MemTotal"));
        NumaDraft { os_index: Some(node), memory_bytes, cpus: cpus.intersection(online) }
    }

    fn meminfo(&self, path: &str, key: &str) -> Option<u64> {
        let text = self.files.text(path).ok()?;
        let kib: u64 = field(&text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    }
}

/// `32K`, `12288K`, `1M`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|&size| size > 0)
}

/// # Kinds
impl Reader {
    /// CPUs of which the kernel says the same, in rows; CPUs of which it says nothing are in no row.
    fn kind_rows(&self, online: &CpuSet) -> Vec<KindRow> {
        let types = self.core_types();
        let mut rows: Vec<KindRow> = Vec::new();
        for cpu in online.iter() {
            let signs = self.signs(cpu, &types);
            if signs == KindRow::default() {
                continue;
            }
            match rows
                .iter_mut()
                .find(|row| KindRow { cpus: CpuSet::new(), ..(*row).clone() } == signs)
            {
                Some(row) => {
                    row.cpus.insert(cpu);
                }
                None => rows.push(KindRow { cpus: CpuSet::single(cpu), ..signs }),
            }
        }
        rows
    }

    /// The performance-counter units of a hybrid Intel processor each list their CPUs.
    fn core_types(&self) -> Vec<(&'static str, CpuSet)> {
        let units = [
            ("cpu_core", "IntelCore"),
            ("cpu_atom", "IntelAtom"),
            ("cpu_lowpower", "IntelLowPower"),
        ];
        let list = |(unit, name)| {
            Some((name, self.files.cpu_list(&format!("sys/devices/{unit}/cpus")).ok()?))
        };
        units.into_iter().filter_map(list).collect()
    }

    fn signs(&self, cpu: u32, types: &[(&'static str, CpuSet)]) -> KindRow {
        let path = |name: &str| format!("{CPU}/cpu{cpu}/{name}");
        let mhz = |name: &str| {
            self.files.number::<u32>(&path(name)).ok().map(|khz| khz / 1000).filter(|&m| m > 0)
        };
        let nominal =
            || self.files.number::<u32>(&path("acpi_cppc/nominal_freq")).ok().filter(|&m| m > 0);
        KindRow {
            cpus: CpuSet::new(),
            efficiency: None,
            core_type: types
                .iter()
                .find(|(_, cpus)| cpus.contains(cpu))
                .map(|(name, _)| (*name).to_string()),
            part: self.part(cpu),
            capacity: self.files.number(&path("cpu_capacity")).ok().filter(|&c: &u32| c > 0),
            max_mhz: mhz("cpufreq/cpuinfo_max_freq"),
            base_mhz: mhz("cpufreq/base_frequency").or_else(nominal),
            order: 0,
        }
    }

    /// Implementer and part: bits 31..24 and 15..4 of the identification register.
    fn part(&self, cpu: u32) -> Option<(Option<String>, String)> {
        let text = self.files.text(&format!("{CPU}/cpu{cpu}/regs/identification/midr_el1")).ok();
        let register =
            text.and_then(|t| u64::from_str_radix(t.trim().trim_start_matches("0x"), 16).ok());
        let from_register = register.map(|midr| {
            (Some(format!("0x{:02x}", midr >> 24 & 0xff)), format!("0x{:03x}", midr >> 4 & 0xfff))
        });
        from_register.or_else(|| self.cpuinfo.of_cpu(cpu).part)
    }
}

/// The names in `/proc/cpuinfo`: those of each CPU, and those that stand outside any CPU's block.
#[derive(Default)]
struct CpuInfo {
    common: CpuNames,
    own: BTreeMap<u32, CpuNames>,
}

#[derive(Debug, Clone, Default)]
struct CpuNames {
    model: Option<String>,
    vendor: Option<String>,
    family: Option<u32>,
    part: Option<(Option<String>, String)>,
}

impl CpuInfo {
    fn of(text: &str) -> Self {
        let mut info = Self::default();
        for block in text.split("\n\n") {
            let names = CpuNames::of(block);
            match field(block, "processor").and_then(|n| n.parse().ok()) {
                Some(cpu) => drop(info.own.insert(cpu, names)),
                None => info.common = info.common.clone().or(names),
            }
        }
        info
    }

    fn of_cpu(&self, cpu: u32) -> CpuNames {
        self.own.get(&cpu).cloned().unwrap_or_default().or(self.common.clone())
    }
}

impl CpuNames {
    fn of(block: &str) -> Self {
        let text = |key: &str| field(block, key).filter(|v| !v.is_empty()).map(String::from);
        let part = text("CPU part").map(|part| (text("CPU implementer"), part));
        Self {
            // POWER says `cpu`; Itanium says `family` in words.
            model: text("model name").or_else(|| text("cpu")),
            vendor: text("vendor_id").or_else(|| text("vendor")),
            family: field(block, "cpu family").and_then(|f| f.parse().ok()),
            part,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            model: self.model.or(other.model),
            vendor: self.vendor.or(other.vendor),
            family: self.family.or(other.family),
            part: self.part.or(other.part),
        }
    }
}
