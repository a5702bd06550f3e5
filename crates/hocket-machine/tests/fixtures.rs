//! Small machines made for the purpose, so that the readers are tested where no real data is.

use std::path::{Path, PathBuf};

use hocket_machine::topology::{CacheType, KindOrigin, Source};
use hocket_machine::{CpuSet, Topology};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn read(name: &str) -> Topology {
    Topology::from_file(&fixture(name)).unwrap_or_else(|e| panic!("{e}"))
}

fn cpus(t: &Topology, seats: &[usize]) -> String {
    t.cpus_of(seats).to_string()
}

#[test]
fn a_hybrid_has_pairs_on_fast_cores_only() {
    let t = read("hybrid-2p4e.xml");
    assert_eq!((t.cores.len(), t.seats.len(), t.pairs.len()), (6, 8, 2));
    assert_eq!(
        t.kinds.iter().map(|k| k.name.as_str()).collect::<Vec<_>>(),
        ["IntelAtom", "IntelCore"]
    );
    assert_eq!((cpus(&t, &t.kinds[0].seats), t.kinds[1].max_mhz), ("4-7".into(), Some(4500)));
    assert!(t.pairs.iter().all(|p| t.cores[p.core].kind == 1));
    assert_eq!(t.sharing_cache(4, 2).map(|s| cpus(&t, s)), Some("4-7".into()));
    assert_eq!(t.siblings(0), [0, 1]);
    assert_eq!(t.siblings(5), [5]);
    assert!(t.notes.is_empty(), "{:?}", t.notes);
}

#[test]
fn four_threads_are_one_pair_of_neighbouring_seats() {
    let t = read("smt4-2c.xml");
    assert_eq!(t.pairs.len(), 2);
    assert_eq!(t.pairs[1].seats, [4, 5, 6, 7]);
    assert_eq!(cpus(&t, &t.pairs[1].seats), "1,3,5,7");
    assert_eq!(cpus(&t, &t.allowed_seats()), "0,4-7");
    assert_eq!(t.numa_nodes[0].seats.len(), 8, "a node without a mask takes its parent's CPUs");
    assert!(matches!(&t.source, Source::File { format_version, .. } if format_version == "3.0"));
    assert_eq!((t.kinds.len(), t.kinds[0].name.as_str()), (1, "core"));
}

#[test]
fn format_1_with_cpus_that_are_off_line() {
    let t = read("v1-offline.xml");
    assert_eq!((t.packages.len(), t.cores.len(), t.seats.len()), (2, 2, 4));
    let off = &t.seats[t.seat_of_cpu(3).expect("described")];
    assert!(!off.online && !off.allowed);
    assert_eq!(t.offline_or_hidden_cpus, [3, 4, 5]);
    assert_eq!(cpus(&t, &t.allowed_seats()), "0-1");
    assert_eq!(t.numa_nodes.iter().map(|n| n.memory_bytes).collect::<Vec<_>>(), [Some(1 << 29); 2]);
    assert_eq!((t.caches.len(), t.caches[0].cache_type), (1, CacheType::Unified));
    assert!(t.notes.is_empty(), "{:?}", t.notes);
}

/// A small virtual machine as hwloc 1.11 wrote it: the only memory node took the machine's place.
#[test]
fn format_1_with_a_memory_node_around_everything() {
    let t = read("v1-numa-root.xml");
    assert_eq!((t.packages.len(), t.cores.len(), t.seats.len(), t.pairs.len()), (2, 2, 3, 1));
    assert_eq!((t.numa_nodes.len(), t.numa_nodes[0].memory_bytes), (1, Some(3 << 29)));
    assert_eq!(t.numa_nodes[0].seats, [0, 1, 2]);
    assert_eq!(cpus(&t, &t.allowed_seats()), "0,2");
    assert_eq!(t.offline_or_hidden_cpus, [3]);
    assert_eq!(t.packages[1].model.as_deref(), Some("Some Virtual CPU"));
    assert!(t.notes.is_empty(), "{:?}", t.notes);
}

#[test]
fn format_1_with_a_system_around_the_machine() {
    let t = read("v1-system-root.xml");
    assert_eq!((t.packages.len(), t.cores.len(), t.seats.len(), t.pairs.len()), (1, 2, 4, 2));
    assert_eq!(t.numa_nodes.iter().map(|n| n.memory_bytes).collect::<Vec<_>>(), [Some(1 << 30); 2]);
    assert_eq!(cpus(&t, &t.allowed_seats()), "0-2", "the machine says which, not the system");
    assert_eq!(t.packages[0].model.as_deref(), Some("Some CPU"));
    assert!(t.notes.is_empty(), "{:?}", t.notes);
}

/// A kernel's files, written by hand: two cores of two threads, one CPU off line.
#[test]
fn kernel_files_of_a_small_machine() {
    let root = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
        std::fs::write(path, format!("{text}\n")).expect("writable");
    };
    write("sys/devices/system/cpu/online", "0-2");
    write("sys/devices/system/cpu/present", "0-3");
    write("sys/devices/system/cpu/possible", "0-127");
    for cpu in 0..4 {
        let base = format!("sys/devices/system/cpu/cpu{cpu}");
        write(&format!("{base}/online"), if cpu == 3 { "0" } else { "1" });
        write(&format!("{base}/topology/core_cpus_list"), ["0,2", "1", "0,2", "3"][cpu]);
        write(&format!("{base}/topology/package_cpus_list"), "0-2");
        write(&format!("{base}/topology/core_id"), &(cpu % 2).to_string());
        write(&format!("{base}/topology/physical_package_id"), "0");
        write(&format!("{base}/cpufreq/cpuinfo_max_freq"), "4000000");
        write(&format!("{base}/cache/index0/level"), "1");
        write(&format!("{base}/cache/index0/type"), "Data");
        write(&format!("{base}/cache/index0/size"), "32K");
        write(&format!("{base}/cache/index0/shared_cpu_list"), ["0,2", "1", "0,2", "3"][cpu]);
    }
    write("proc/cpuinfo", "processor : 0\nmodel name : Small One\nvendor_id : Somebody");
    write("proc/meminfo", "MemTotal:  2048 kB");
    let t = Topology::from_sysfs(root.path()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((t.packages.len(), t.cores.len(), t.seats.len(), t.pairs.len()), (1, 2, 3, 1));
    assert_eq!(t.offline_or_hidden_cpus, [3], "what is merely possible does not exist");
    assert_eq!(t.packages[0].model.as_deref(), Some("Small One"));
    assert_eq!(t.numa_nodes[0].memory_bytes, Some(2 << 20));
    assert_eq!(t.caches.len(), 2);
    assert_eq!(
        (t.kinds.len(), t.kinds[0].max_mhz, t.kinds[0].how),
        (1, Some(4000), KindOrigin::Reported)
    );
    assert!(!t.is_this_system);
}

#[test]
fn a_folder_without_cpus_is_an_error_with_a_remedy() {
    let root = tempfile::tempdir().expect("a folder");
    let error = Topology::from_sysfs(root.path()).expect_err("empty").to_string();
    assert!(error.contains("no CPU") && error.contains("--topology"), "{error}");
}

#[test]
fn the_set_of_cpus_is_serialised_as_a_list() {
    let set: CpuSet = "1,3-4".parse().expect("a list");
    assert_eq!(serde_json::to_value(&set).expect("serialisable"), serde_json::json!([1, 3, 4]));
}
