//! Topologies of real machines against what is known of them: every XML file, and every saved /sys.
//!
//! The data is not part of the project; where it is absent each test says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_machine::topology::{CacheType, KindOrigin};
use hocket_machine::{CpuSet, Topology};
use serde_json::Value;

/// The folder with the data, or a printed reason for skipping.
fn data(test: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("HOCKET_SHARED").map(PathBuf::from);
    let shared =
        shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = shared.join("data/hwloc");
    if folder.join("ground-truth.json").is_file() {
        return Some(folder);
    }
    println!("SKIPPED {test}: {} is absent (set HOCKET_SHARED)", folder.display());
    None
}

fn truths(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("ground-truth.json"))
        .expect("the ground truth is readable");
    serde_json::from_str(&text).expect("the ground truth is a JSON list")
}

fn count(truth: &Value, key: &str) -> usize {
    truth[key].as_u64().unwrap_or_else(|| panic!("{}: no {key}", truth["file"])) as usize
}

/// Collects what differs, so that one run shows everything.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        file: &str,
        what: &str,
        got: T,
        expected: T,
    ) {
        if got != expected {
            self.0.push(format!("{file}: {what}: got {got:?}, expected {expected:?}"));
        }
    }

    fn finish(self, checked: usize) {
        assert!(self.0.is_empty(), "\n{}\n", self.0.join("\n"));
        println!("{checked} machines checked");
    }
}

fn caches(topology: &Topology, level: u32) -> usize {
    let is_it = |c: &&hocket_machine::topology::Cache| {
        c.level == level && c.cache_type != CacheType::Instruction
    };
    topology.caches.iter().filter(is_it).count()
}

fn threads_per_core(topology: &Topology) -> BTreeMap<String, u64> {
    let mut histogram = BTreeMap::new();
    for core in &topology.cores {
        *histogram.entry(core.seats.len().to_string()).or_default() += 1;
    }
    histogram
}

fn expected_threads_per_core(truth: &Value) -> BTreeMap<String, u64> {
    let object = truth["threads_per_core"].as_object().expect("an object");
    object.iter().map(|(k, v)| (k.clone(), v.as_u64().expect("a count"))).collect()
}

/// The groups of CPUs that are of one kind.
fn kinds(topology: &Topology) -> BTreeSet<CpuSet> {
    topology.kinds.iter().map(|k| topology.cpus_of(&k.seats)).collect()
}

fn expected_kinds(truth: &Value, all: &CpuSet) -> BTreeSet<CpuSet> {
    let mask = |text: &Value| CpuSet::parse_mask(text.as_str().expect("a mask")).expect("a mask");
    if let Some(types) = truth["true_core_types"].as_object() {
        return types.values().map(mask).collect();
    }
    let groups: BTreeSet<CpuSet> =
        truth["cpukinds"].as_array().expect("a list").iter().map(|k| mask(&k["cpuset"])).collect();
    // One group or none says that the machine is of one kind, even where the group is not complete.
    if groups.len() < 2 { [all.clone()].into() } else { groups }
}

fn check_counts(diff: &mut Differences, file: &str, t: &Topology, truth: &Value) {
    diff.same(file, "packages", t.packages.len(), count(truth, "packages"));
    let with_seats = t.packages.iter().filter(|p| !p.seats.is_empty()).count();
    diff.same(file, "packages with seats", with_seats, count(truth, "packages_with_pus"));
    diff.same(file, "cores", t.cores.len(), count(truth, "cores"));
    diff.same(file, "seats", t.seats.len(), count(truth, "pus"));
    diff.same(file, "threads per core", threads_per_core(t), expected_threads_per_core(truth));
    diff.same(file, "SMT", t.has_smt(), truth["smt"].as_bool().expect("a flag"));
    diff.same(file, "pairs", t.pairs.len(), t.cores.iter().filter(|c| c.seats.len() > 1).count());
}

fn check_all(diff: &mut Differences, file: &str, t: &Topology, truth: &Value) {
    check_counts(diff, file, t, truth);
    diff.same(file, "memory nodes", t.numa_nodes.len(), count(truth, "numa_nodes"));
    diff.same(file, "allowed seats", t.allowed_seats().len(), count(truth, "pus_allowed"));
    diff.same(
        file,
        "hidden",
        t.offline_or_hidden_cpus.len(),
        count(truth, "pus_offline_or_hidden"),
    );
    diff.same(file, "L3", caches(t, 3), count(truth, "l3"));
    diff.same(file, "L2", caches(t, 2), count(truth, "l2"));
    let all = t.seats.iter().map(|s| s.cpu).collect();
    diff.same(file, "kinds", kinds(t), expected_kinds(truth, &all));
    check_links(t);
}

/// Every link leads back, every index is in range, everything is in order.
fn check_links(t: &Topology) {
    for (i, seat) in t.seats.iter().enumerate() {
        assert_eq!(seat.index, i);
        assert!(t.kinds[seat.kind].seats.contains(&i));
        assert!(seat.core.is_none_or(|c| t.cores[c].seats.contains(&i)));
        assert!(seat.package.is_none_or(|p| t.packages[p].seats.contains(&i)));
        assert!(seat.numa.is_none_or(|n| t.numa_nodes[n].seats.contains(&i)));
        assert_eq!(t.seat_of_cpu(seat.cpu), Some(i));
        assert!(t.siblings(i).contains(&i));
    }
    let of_kinds: usize = t.kinds.iter().map(|k| k.seats.len()).sum();
    assert_eq!(of_kinds, t.seats.len(), "each seat is of one kind");
    for core in &t.cores {
        assert!(core.seats.windows(2).all(|w| w[0] + 1 == w[1]), "the siblings are neighbours");
        assert!(core.package.is_none_or(|p| t.packages[p].cores.contains(&core.index)));
    }
}

#[test]
fn every_xml_file_gives_what_is_known_of_its_machine() {
    let Some(folder) = data("every_xml_file_gives_what_is_known_of_its_machine") else { return };
    let mut diff = Differences::default();
    let truths = truths(&folder);
    for truth in &truths {
        let file = truth["file"].as_str().expect("a name");
        let topology = Topology::from_file(&folder.join(file)).unwrap_or_else(|e| panic!("{e}"));
        assert!(!topology.is_this_system);
        check_all(&mut diff, file, &topology, truth);
        let model = truth["cpu_model"].as_str();
        let models = topology.packages.iter().find_map(|p| p.model.as_deref());
        diff.same(file, "model", model.and(models).map(str::trim), model.map(str::trim));
    }
    diff.finish(truths.len());
}

#[test]
fn format_3_files_give_the_same_machine_as_format_2() {
    let Some(folder) = data("format_3_files_give_the_same_machine_as_format_2") else { return };
    let pairs = [
        ("amd-zen5-ryzenai9-hx370-v3.xml", "amd-zen5-ryzenai9-hx370.xml"),
        ("arm-dgx-spark-gb10-v3.xml", "arm-dgx-spark-gb10-biglittle.xml"),
        ("intel-hybrid-i7-1370P-v3.xml", "intel-hybrid-i7-1370P-6P8E.xml"),
        ("intel-netburst-tulsa-4s2c2t-v3.xml", "intel-netburst-tulsa-4s2c2t-ht.xml"),
    ];
    let truths = truths(&folder);
    let mut diff = Differences::default();
    for (file, of) in pairs {
        let truth = truths.iter().find(|t| t["file"] == of).expect("a known machine");
        let topology =
            Topology::from_file(&folder.join("v3").join(file)).unwrap_or_else(|e| panic!("{e}"));
        check_all(&mut diff, file, &topology, truth);
    }
    diff.finish(pairs.len());
}

/// Whether the order of the kinds is slowest first, on machines where it is known.
#[test]
fn kinds_are_ordered_from_slow_to_fast() {
    let Some(folder) = data("kinds_are_ordered_from_slow_to_fast") else { return };
    let slowest = [
        ("arm-dgx-spark-gb10-biglittle.xml", 0, 10),
        ("v3/arm-dgx-spark-gb10-v3.xml", 0, 10),
        ("intel-hybrid-i7-1370P-6P8E.xml", 12, 8),
        ("v3/intel-hybrid-i7-1370P-v3.xml", 12, 8),
        ("amd-zen5-ryzenai9-hx370.xml", 4, 16),
        ("v3/amd-zen5-ryzenai9-hx370-v3.xml", 4, 16),
        ("fake-cpukinds-4pu.xml", 0, 2),
    ];
    for (file, cpu, seats) in slowest {
        let t = Topology::from_file(&folder.join(file)).unwrap_or_else(|e| panic!("{e}"));
        let kind = &t.kinds[0];
        assert!(kind.seats.contains(&t.seat_of_cpu(cpu).expect("a seat")), "{file}: {:?}", t.kinds);
        assert_eq!(kind.seats.len(), seats, "{file}");
    }
    let gb10 =
        Topology::from_file(&folder.join("arm-dgx-spark-gb10-biglittle.xml")).expect("readable");
    assert!(gb10.kinds.iter().all(|k| k.how == KindOrigin::Inferred));
}

/// What a saved /sys knows: no caches on POWER7 of that age, no core numbers on the smallest s390.
#[test]
fn saved_kernel_files_give_the_same_machine_as_hwloc() {
    let Some(folder) = data("saved_kernel_files_give_the_same_machine_as_hwloc") else { return };
    let mut diff = Differences::default();
    let mut checked = 0;
    for truth in truths(&folder) {
        let Some(archive) = truth["raw_sysfs"].as_str() else { continue };
        let Some((_guard, root)) = unpack(&folder.join(archive)) else { return };
        let topology = Topology::from_sysfs(&root).unwrap_or_else(|e| panic!("{e}"));
        check_links(&topology);
        check_sysfs(&mut diff, &topology, &truth);
        checked += 1;
    }
    diff.finish(checked);
}

fn check_sysfs(diff: &mut Differences, t: &Topology, truth: &Value) {
    let file = truth["file"].as_str().expect("a name");
    check_counts(diff, file, t, truth);
    diff.same(
        file,
        "hidden",
        t.offline_or_hidden_cpus.len(),
        count(truth, "pus_offline_or_hidden"),
    );
    diff.same(file, "memory nodes", t.numa_nodes.len(), count(truth, "numa_nodes"));
    diff.same(file, "L3", caches(t, 3), count(truth, "l3"));
    diff.same(file, "L2", caches(t, 2), count(truth, "l2"));
    let all = t.seats.iter().map(|s| s.cpu).collect();
    diff.same(file, "kinds", kinds(t), expected_kinds(truth, &all));
}

/// The archive in a folder of its own, and the root inside it.
fn unpack(archive: &Path) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    // Buses and huge pages are most of a dump and nothing is read from them.
    let unread = [
        "--exclude=*/sys/bus",
        "--exclude=*/pci*",
        "--exclude=hugepages*",
        "--exclude=device-tree",
    ];
    let status = Command::new("tar")
        .arg("xjf")
        .arg(archive)
        .args(unread)
        .arg("-C")
        .arg(folder.path())
        .status();
    if !status.as_ref().is_ok_and(|s| s.success()) {
        println!(
            "SKIPPED saved_kernel_files: tar cannot unpack {} ({status:?})",
            archive.display()
        );
        return None;
    }
    let entry = std::fs::read_dir(folder.path()).ok()?.flatten().next()?.path();
    Some((folder, entry))
}
