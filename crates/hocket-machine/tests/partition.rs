//! Cpuset partitions: on a made-up tree what is asked of the kernel, and where HOCKET_TEST_WHOLE_MACHINE is set the
//! kernel's own answer, since a partition takes CPUs from everybody. What is moved is the process, so everything real is
//! one test.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use hocket_machine::CpuSet;
use hocket_machine::partition::{
    Cgroups, Holds, Partition, PartitionError, PartitionKind, PartitionState,
};
use hocket_machine::pin;

const MOUNT: &str = "sys/fs/cgroup";

/// A machine with a cpuset controller, whose kernel believes everything.
fn tree(controllers: &str, group: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let mount = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    put("proc/self/mountinfo", mount);
    put("proc/self/cgroup", &format!("0::{group}\n"));
    put(&format!("{MOUNT}/cgroup.controllers"), controllers);
    put(&format!("{MOUNT}/cgroup.subtree_control"), "cpu memory\n");
    put(&format!("{MOUNT}{group}/cgroup.procs"), "");
    folder
}

fn cpus(list: &str) -> CpuSet {
    list.parse().expect("a list")
}

fn create(tree: &Path, name: &str, holds: Holds) -> Result<Partition, PartitionError> {
    Partition::create_in(&Cgroups::at(tree), name, &cpus("2-3"), PartitionKind::Isolated, holds)
}

#[test]
fn the_kernel_is_asked_for_everything_and_given_it_back() {
    let tree = tree("cpuset cpu memory\n", "/user.slice/session-1.scope");
    let read = |path: &str| fs::read_to_string(tree.path().join(MOUNT).join(path)).expect("there");
    let partition = create(tree.path(), "band", Holds::Process).unwrap_or_else(|e| panic!("{e}"));
    let me = std::process::id();
    let group = format!("hocket-band-{me}");
    assert_eq!(read("cgroup.subtree_control"), "+cpuset");
    assert_eq!(read(&format!("{group}/cpuset.cpus")), "2-3");
    assert_eq!(partition.state(), Ok(PartitionState::Valid(PartitionKind::Isolated)));
    assert_eq!(partition.take_process(), Ok(pin::current_affinity().expect("readable")));
    assert_eq!(read(&format!("{group}/cgroup.procs")), me.to_string());
    let one = partition.take_thread(pin::current_thread());
    assert_eq!(one, Err(PartitionError::WholeProcessOnly));
    // An ordinary folder is not removed while it has files, which is how this tree differs from the kernel's.
    let error = partition.restore().expect_err("not empty");
    assert!(matches!(error, PartitionError::NotRemoved { .. }), "{error}");
    assert_eq!(read(&format!("{group}/cpuset.cpus.partition")), "member");
    assert_eq!(read("user.slice/session-1.scope/cgroup.procs"), me.to_string(), "moved home");
}

#[test]
fn single_threads_get_a_group_below_their_process() {
    let tree = tree("cpuset\n", "/");
    let partition = create(tree.path(), "band", Holds::Threads).unwrap_or_else(|e| panic!("{e}"));
    let kind = fs::read_to_string(partition.path().join("cgroup.type")).expect("there");
    assert_eq!(kind, "threaded");
    partition.take_thread(pin::current_thread()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(partition.threads(), Ok(vec![pin::current_thread()]));
}

#[test]
fn what_is_missing_is_named() {
    let bare = tempfile::tempdir().expect("a folder");
    let refused = |tree: &Path| create(tree, "band", Holds::Process).expect_err("refused");
    assert_eq!(refused(bare.path()), PartitionError::NoCgroups);
    let without = tree("cpu memory\n", "/");
    let place = "/sys/fs/cgroup".to_string();
    let error = PartitionError::NoController { place: place.clone(), version_1: false };
    assert_eq!(refused(without.path()), error);
    fs::write(without.path().join("proc/self/cgroup"), "3:cpuset:/\n0::/\n").expect("written");
    assert_eq!(refused(without.path()), PartitionError::NoController { place, version_1: true });
    let well = tree("cpuset\n", "/");
    for name in ["", "a/b", "..", "a b"] {
        let error = create(well.path(), name, Holds::Process).expect_err("refused");
        assert_eq!(error, PartitionError::BadName(name.into()));
    }
    let kind = PartitionKind::Root;
    let none = CpuSet::new();
    let error = Partition::create_in(&Cgroups::at(well.path()), "x", &none, kind, Holds::Process);
    assert_eq!(error.err(), Some(PartitionError::Empty));
}

#[test]
fn the_real_kernel() {
    if let Err(why) = Cgroups::live().may_partition(Holds::Process) {
        return println!("SKIPPED the_real_kernel: {why}");
    }
    if std::env::var_os("HOCKET_TEST_WHOLE_MACHINE").is_none() {
        return println!(
            "SKIPPED the_real_kernel: it takes CPUs from everybody (set HOCKET_TEST_WHOLE_MACHINE)"
        );
    }
    let before = pin::current_affinity().expect("readable");
    if before.len() < 2 {
        return println!("SKIPPED the_real_kernel: there is one CPU, and one must be left");
    }
    the_whole_process_moves(&before);
    single_threads_move(&before);
    the_kernel_says_why_not(&before);
    a_killed_process_leaves_no_group(&before);
}

fn last(cpus: &CpuSet) -> CpuSet {
    CpuSet::single(cpus.last().expect("some"))
}

fn the_whole_process_moves(before: &CpuSet) {
    for kind in [PartitionKind::Root, PartitionKind::Isolated] {
        let asked = last(before);
        let made = Partition::create("whole", &asked, kind, Holds::Process);
        let partition = made.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(partition.effective().value(), Some(&asked));
        assert_eq!(partition.take_process(), Ok(asked));
        let folder = partition.path().to_path_buf();
        partition.restore().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(pin::current_affinity().as_ref(), Ok(before));
        assert!(!folder.exists());
    }
}

fn single_threads_move(before: &CpuSet) {
    let asked = last(before);
    let kind = PartitionKind::Root;
    match Partition::create("threads", &asked, kind, Holds::Threads) {
        Ok(partition) => {
            let inside = std::thread::scope(|scope| {
                let thread = scope.spawn(|| partition.take_thread(pin::current_thread()));
                thread.join().expect("it ends")
            });
            assert_eq!(inside, Ok(asked.clone()));
            assert_eq!(pin::current_affinity(), Ok(before.difference(&asked)), "not for others");
            partition.restore().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(pin::current_affinity().as_ref(), Ok(before));
        }
        Err(why) => println!("SKIPPED single_threads_move: {why}"),
    }
}

fn the_kernel_says_why_not(before: &CpuSet) {
    let first = Partition::create("one", &last(before), PartitionKind::Root, Holds::Process);
    let first = first.unwrap_or_else(|e| panic!("{e}"));
    let second = Partition::create("two", &last(before), PartitionKind::Root, Holds::Process);
    let error = second.expect_err("the CPU is taken");
    println!("two partitions of one CPU: {error}");
    let far = CpuSet::single(hocket_machine::MAX_CPUS - 1);
    drop(first);
    let error = Partition::create("far", &far, PartitionKind::Root, Holds::Process);
    println!("a CPU that is not there: {}", error.expect_err("no such CPU"));
    assert!(our_groups().is_empty(), "{:?}", our_groups());
}

fn a_killed_process_leaves_no_group(before: &CpuSet) {
    let me = std::env::current_exe().expect("a path");
    let arguments = ["--exact", "--ignored", "--nocapture", "sets_apart_and_is_killed"];
    let output = Command::new(me)
        .args(arguments)
        .env("HOCKET_TEST_CPU", last(before).to_string())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("set apart"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // A minute and more is only there to end a hang.
    for _ in 0..12_000 {
        if our_groups().is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(our_groups().is_empty(), "{:?}", our_groups());
    assert!(Cgroups::live().left_behind().is_empty());
    assert_eq!(pin::current_affinity().as_ref(), Ok(before));
}

fn our_groups() -> Vec<String> {
    let place = Cgroups::live().may_partition(Holds::Process).expect("it was possible before");
    let names = fs::read_dir(place).expect("a folder").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("hocket-")).collect()
}

/// Run by [`a_killed_process_leaves_no_group`] only.
#[test]
#[ignore = "a helper process of a_killed_process_leaves_no_group"]
fn sets_apart_and_is_killed() {
    let Ok(list) = std::env::var("HOCKET_TEST_CPU") else { return };
    let made = Partition::create("killed", &cpus(&list), PartitionKind::Root, Holds::Process);
    let partition = made.unwrap_or_else(|e| panic!("{e}"));
    partition.take_process().unwrap_or_else(|e| panic!("{e}"));
    println!("set apart");
    // SAFETY: the kernel checks the number, which is this process's own.
    unsafe { libc::kill(std::process::id() as libc::pid_t, libc::SIGKILL) };
    std::io::stdin().read_to_end(&mut Vec::new()).expect("never reached");
}
