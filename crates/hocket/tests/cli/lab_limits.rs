//! The lab's experiments where the machine lacks something: space, rights to a folder, ports, open files, processes, compilers.
//! The report says what is missing and what helps, and nothing is left: no file, no listening socket, no process.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Ran, files, hocket};

/// Namespaces of its own, so that mounts, ports and processes are those of the run alone. The script prepares them; then the
/// program runs, and what is left is counted.
pub const NAMESPACES: [&str; 8] = ["-r", "-m", "-n", "-p", "--fork", "--mount-proc", "sh", "-c"];
pub const AFTER: &str = "code=$?; set -- \"$1\" /proc/[0-9]*; echo \"left: $(($# - 1)) process, \
                     $(grep -c ' 0A ' /proc/net/tcp) listening, files [$(ls -A \"$1\")]\"; exit $code";
pub const NOTHING_LEFT: &str = "left: 1 process, 0 listening, files []";

/// Whether the system grants them; says of a test that it is skipped where it does not.
pub fn can_have_namespaces(name: &str) -> bool {
    let probe = Command::new("unshare").args(NAMESPACES).arg("ip link set lo up").output();
    let granted = probe.is_ok_and(|probe| probe.status.success());
    if !granted {
        println!("SKIPPED {name}: no namespaces of its own can be had here");
    }
    granted
}

/// Runs `hocket lab run WORDS` after the preparation, in which `$1` is an empty folder; `None` where namespaces are refused.
fn in_namespaces(name: &str, prepare: &str, words: &str) -> Option<Ran> {
    if !can_have_namespaces(name) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("files");
    std::fs::create_dir(&made).unwrap();
    let records = folder.path().join("lab.sqlite");
    let script = format!(
        "ip link set lo up; {prepare}; \"$0\" lab run {words} --time 2s --records \"$2\"; {AFTER}"
    );
    let mut command = Command::new("unshare");
    command.args(NAMESPACES).arg(script).arg(env!("CARGO_BIN_EXE_hocket"));
    Some(command.arg(&made).arg(records).output().unwrap().into())
}

fn check(name: &str, prepare: &str, words: &str, code: i32, told: &[&str]) {
    let Some(ran) = in_namespaces(name, prepare, words) else { return };
    let said = format!("{} {}", ran.out, ran.err);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, Some(code), "{words}: {said}");
    for word in told.iter().chain([&NOTHING_LEFT]) {
        assert!(said.contains(word), "{words}: '{word}' is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{words}: {said}");
}

#[test]
fn without_space_that_is_said_and_no_file_is_left() {
    let name = "without_space_that_is_said_and_no_file_is_left";
    let small = "mount -t tmpfs -o size=300k none \"$1\"; export TMPDIR=\"$1\"";
    // Of the file server nothing is left to measure; of the others what needs no files is measured.
    for (words, code) in
        [("fileserver --folder \"$1\"", 3), ("aim9 --folder \"$1\"", 0), ("kernel", 0)]
    {
        check(name, small, words, code, &["No space left on device", "TMPDIR"]);
    }
}

#[test]
fn a_folder_that_is_read_only_is_refused() {
    let name = "a_folder_that_is_read_only_is_refused";
    let read_only = "mount -t tmpfs -o ro none \"$1\"";
    for words in ["fileserver --folder \"$1\"", "aim9 --folder \"$1\""] {
        check(name, read_only, words, 3, &["Read-only file system", "--folder or TMPDIR"]);
    }
    let temporary = "mount -t tmpfs -o ro none \"$1\"; export TMPDIR=\"$1\"";
    for words in ["kernel", "openmp", "jvm", "smt-load"] {
        check(name, temporary, words, 0, &["not measurable here"]);
    }
}

#[test]
fn without_ports_or_open_files_that_is_said_with_what_helps() {
    let name = "without_ports_or_open_files_that_is_said_with_what_helps";
    let ports = "echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range";
    for words in ["chat", "tcpstream", "smt-load"] {
        check(name, ports, words, 0, &["not measurable here", "ip_local_port_range"]);
    }
    for words in ["chat", "kernel"] {
        check(name, "ulimit -n 40", words, 0, &["not measurable here", "ulimit -n"]);
    }
}

/// As another user, since the system does not count the processes of root. Its folders are its own.
fn with_few_processes(limit: u32, words: &str) -> (Ran, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    for path in [folder.path(), &temporary] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "prlimit"]);
    command.arg(format!("--nproc={limit}")).arg(env!("CARGO_BIN_EXE_hocket"));
    command.args(["lab", "run", words, "--time", "2s", "--records"]);
    command.arg(folder.path().join("lab.sqlite")).env("TMPDIR", &temporary);
    let ran = command.output().unwrap().into();
    (ran, files(&temporary))
}

/// A user that owns nothing.
const NOBODY: &str = "65534";

#[test]
fn where_processes_are_few_the_limit_is_named_and_nothing_panics() {
    let name = "where_processes_are_few_the_limit_is_named_and_nothing_panics";
    let mut probe = Command::new("setpriv");
    probe.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    let can_start = probe.arg(env!("CARGO_BIN_EXE_hocket")).arg("--version").output();
    if !can_start.is_ok_and(|ran| ran.status.success()) {
        println!("SKIPPED {name}: the program cannot be started as another user here");
        return;
    }
    // So few that no child can be listened to; that guests, rooms and children of children find none.
    for (limit, words) in [(3, "chat"), (12, "chat"), (12, "kernel"), (12, "openmp"), (12, "jvm")] {
        let (ran, left) = with_few_processes(limit, words);
        let said = format!("{} {}", ran.out, ran.err);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            matches!(ran.code, Some(0 | 3)),
            "{words}, {limit} processes: {:?} {said}",
            ran.code
        );
        assert!(!said.contains("panicked"), "{words}: {said}");
        let helps =
            ["ulimit -u", "ulimit -a", "not here: install"].iter().any(|it| said.contains(it));
        assert!(helps, "{words}, {limit} processes: nothing helps in: {said}");
        assert_eq!(left, [""; 0], "{words}, {limit} processes");
    }
}

/// What is not installed is named with what installs it; a kit that is named and not there, with its name.
#[test]
fn what_guests_need_is_named_where_it_is_not_here() {
    let empty = tempfile::tempdir().unwrap();
    let records = empty.path().join("lab.sqlite").display().to_string();
    let told = |words: &str, variable: &str, value: &str| {
        let mut command = hocket(&["lab", "run", words, "--time", "1s", "--records", &records]);
        let ran: Ran = command.env(variable, value).output().unwrap().into();
        assert_eq!(ran.code, Some(0), "{words}: {}{}", ran.out, ran.err);
        ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let without_gcc = told("openmp", "PATH", &empty.path().display().to_string());
    assert!(without_gcc.contains("not measurable here: not here: install gcc"), "{without_gcc}");
    let nowhere = told("jvm", "JAVA_HOME", "/nowhere");
    let words = "not measurable here: JAVA_HOME names /nowhere, where no JDK is";
    assert!(nowhere.contains(words) && nowhere.contains("correct it, or unset it"), "{nowhere}");
}
