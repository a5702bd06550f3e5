//! The machine as a whole: how many of what, siblings, kinds, caches, memory.

use std::collections::BTreeMap;

use hocket_machine::CpuSet;
use hocket_machine::topology::{Cache, CacheType, Kind, KindOrigin, NumaNode, Source, Topology};

use super::cores::{DRAWN, spaced};
use super::layout::{bytes, line, plural, prose};

pub(super) fn headline(t: &Topology) -> String {
    let mut parts = vec![plural(t.packages.len(), "package")];
    parts.push(match t.cores.len() {
        0 => "no word of cores".into(),
        cores => plural(cores, "core"),
    });
    parts.push(plural(t.seats.len(), "seat"));
    parts.push(plural(t.kinds.len(), "kind"));
    parts.join(", ")
}

pub(super) fn source(t: &Topology) -> String {
    match &t.source {
        Source::HwlocLive { version } => format!("Read through hwloc {version}."),
        Source::Sysfs { root } => format!("Read from the kernel's files below {root}."),
        Source::File { path, format_version } => {
            format!("Read from {path} (hwloc XML, format {format_version}).")
        }
    }
}

pub(super) fn siblings(out: &mut String, t: &Topology) {
    let text = match (t.cores.len(), t.pairs.len()) {
        (0, _) => "Siblings: the system does not say which seats share a core.".to_string(),
        (_, 0) => "Siblings: no SMT here: every core has one seat, and sibling policies change \
                   nothing."
            .into(),
        (cores, pairs) if cores == pairs => {
            format!("Siblings: each of the {cores} cores is a pair.")
        }
        (cores, pairs) => format!("Siblings: {pairs} of {cores} cores are pairs."),
    };
    out.push('\n');
    prose(out, 0, &text);
    let most = t.pairs.iter().map(|p| p.seats.len()).max().unwrap_or(0);
    if most > 2 {
        prose(
            out,
            2,
            &format!("A pair has up to {most} seats here; policies hold for all of them."),
        );
    }
}

pub(super) fn unusable(out: &mut String, t: &Topology) {
    let hidden: CpuSet = t.offline_or_hidden_cpus.iter().copied().collect();
    if !hidden.is_empty() {
        line(out, &format!("Off line or hidden: CPUs {hidden}"));
    }
    let refused: CpuSet =
        t.seats.iter().filter(|s| s.online && !s.allowed).map(|s| s.cpu).collect();
    if !refused.is_empty() {
        line(out, &format!("Not allowed to this process: CPUs {refused}"));
    }
}

pub(super) fn kinds(out: &mut String, t: &Topology) {
    if t.kinds.len() == 1 {
        return;
    }
    line(out, "\nKinds of core, fastest first");
    for kind in t.kinds.iter().rev() {
        kind_text(out, t, kind);
    }
}

fn kind_text(out: &mut String, t: &Topology, kind: &Kind) {
    let cores = t.cores.iter().filter(|c| c.kind == kind.index).count();
    let clock = kind.max_mhz.map_or(String::new(), |mhz| format!(", up to {mhz} MHz"));
    let how = match kind.how {
        KindOrigin::Reported => "reported",
        KindOrigin::Inferred => "inferred",
    };
    let size = format!("{}, {}", plural(cores, "core"), plural(kind.seats.len(), "seat"));
    prose(out, 2, &format!("{}: {size}{clock} ({how}: {})", kind.name, kind.reason));
}

pub(super) fn caches(out: &mut String, t: &Topology) {
    if t.caches.is_empty() {
        return;
    }
    let mut groups: BTreeMap<(u32, CacheType, Option<u64>, usize), usize> = BTreeMap::new();
    for Cache { level, cache_type, size_bytes, seats, .. } in &t.caches {
        *groups.entry((*level, *cache_type, *size_bytes, seats.len())).or_default() += 1;
    }
    line(out, "\nCaches");
    for ((level, cache_type, size, seats), count) in groups {
        let holds = match cache_type {
            CacheType::Data => "data",
            CacheType::Instruction => "instructions",
            CacheType::Unified => "both",
        };
        let size = size.map_or("size unknown".into(), bytes);
        let shared = plural(seats, "seat");
        line(out, &format!("  L{level} {holds:<13}{count:>4} x {size:<10} for {shared} each"));
    }
}

pub(super) fn memory(out: &mut String, t: &Topology) {
    line(out, "\nMemory");
    let mut groups: BTreeMap<(Option<u64>, usize), Vec<&NumaNode>> = BTreeMap::new();
    let many = t.numa_nodes.len() > DRAWN;
    for (place, node) in t.numa_nodes.iter().enumerate() {
        // Few nodes are shown one by one, many by what they have in common.
        let key = if many { (node.memory_bytes, node.seats.len()) } else { (None, place) };
        groups.entry(key).or_default().push(node);
    }
    for nodes in groups.values() {
        let numbers: CpuSet = nodes.iter().filter_map(|n| n.os_index).collect();
        let seats: Vec<usize> = nodes.iter().flat_map(|n| n.seats.iter().copied()).collect();
        let size = nodes[0].memory_bytes.map_or("size unknown".into(), bytes);
        let each = if nodes.len() > 1 { " each" } else { "" };
        let near = t.cpus_of(&seats);
        line(out, &format!("  node {numbers}: {size}{each}, near to CPUs {}", spaced(&near)));
    }
}

pub(super) fn notes(out: &mut String, t: &Topology) {
    if t.notes.is_empty() {
        return;
    }
    line(out, "\nNotes");
    for note in &t.notes {
        prose(out, 2, note);
    }
}
