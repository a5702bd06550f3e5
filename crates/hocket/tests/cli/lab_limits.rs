//! The lab's experiments where the machine lacks something: space, rights to a folder, ports, open files. The report says what
//! is missing and what helps, and nothing is left: no file, no listening socket, no process.

use std::process::Command;

use crate::support::Ran;

/// Namespaces of its own, so that mounts, ports and processes are those of the run alone. The script prepares them; then the
/// program runs, and what is left is counted.
const NAMESPACES: [&str; 8] = ["-r", "-m", "-n", "-p", "--fork", "--mount-proc", "sh", "-c"];
const AFTER: &str = "code=$?; set -- \"$1\" /proc/[0-9]*; echo \"left: $(($# - 1)) process, \
                     $(grep -c ' 0A ' /proc/net/tcp) listening, files [$(ls -A \"$1\")]\"; exit $code";
const NOTHING_LEFT: &str = "left: 1 process, 0 listening, files []";

/// Runs `hocket lab run WORDS` after the preparation, in which `$1` is an empty folder; `None` where namespaces are refused.
fn in_namespaces(name: &str, prepare: &str, words: &str) -> Option<Ran> {
    let probe = Command::new("unshare").args(NAMESPACES).arg("ip link set lo up").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("SKIPPED {name}: no namespaces of its own can be had here");
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
}

#[test]
fn without_ports_or_open_files_that_is_said_with_what_helps() {
    let name = "without_ports_or_open_files_that_is_said_with_what_helps";
    let ports = "echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range";
    for words in ["chat", "tcpstream"] {
        check(name, ports, words, 0, &["not measurable here", "ip_local_port_range"]);
    }
    for words in ["chat", "kernel"] {
        check(name, "ulimit -n 40", words, 0, &["not measurable here", "ulimit -n"]);
    }
}
