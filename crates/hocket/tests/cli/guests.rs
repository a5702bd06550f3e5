//! `hocket lab run --guest`: programs of the user's, those that answer and those that do not, and what is left of them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::interrupted::await_that;
use crate::support::{Ran, check_refused, hocket, root, run};

const POLL: Duration = Duration::from_millis(20);

/// A folder with a guest in it: a shell script that greets, notes its process and answers by `answer`, in which `$n` is
/// the round.
struct Played {
    folder: tempfile::TempDir,
}

/// What a round of a good one is answered by.
const GOOD: &str = r#"echo "{\"round\": $n, \"time_ns\": 1000, \"checksum\": \"c\"}""#;

impl Played {
    fn by(answer: &str) -> Played {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "echo $$ >> '{}'\necho '{{\"hocket-guest\": 1, \"variants\": [\"a\", \"b\"]}}'\nn=0\n\
             while read line; do\n{answer}\nn=$((n+1))\ndone\n",
            folder.path().join("started").display()
        );
        std::fs::write(folder.path().join("guest.sh"), script).unwrap();
        Played { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `lab run` of it; its records are in the folder, too.
    fn arguments(&self, time: &str) -> Vec<String> {
        let guest = format!("sh '{}'", self.path("guest.sh").display());
        let records = self.path("lab.sqlite").display().to_string();
        let all = ["lab", "run", "--guest", &guest, "--time", time, "--records", &records];
        all.map(String::from).to_vec()
    }

    fn run(&self) -> Ran {
        run(&self.arguments("2s").iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The guests that were started, by their processes.
    fn started(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.path("started")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn exported(&self) -> String {
        run(&["lab", "export", "--records", self.path("lab.sqlite").to_str().unwrap()]).out
    }
}

/// Also what has ended and was not waited for is gone.
fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|text| !text.contains(") Z ") && !text.contains(") X "))
}

#[track_caller]
fn await_their_end(played: &Played) {
    let started = played.started();
    assert!(!started.is_empty());
    await_that("a guest still lives", POLL, || {
        (!started.iter().any(|process| lives(*process))).then_some(())
    });
}

#[test]
fn variants_of_a_guest_are_compared_and_kept() {
    let played = Played::by(GOOD);
    let ran = played.run();
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let rows = played.exported();
    for word in ["guest", ",a,", ",b,", "a (again)", "overhead", "cpu-time"] {
        assert!(rows.contains(word), "no '{word}' in\n{rows}");
    }
    await_their_end(&played);
}

#[test]
fn what_a_guest_does_wrong_is_said() {
    for (answer, code, words) in [
        ("echo rubbish", 3, "answers nonsense"),
        ("echo out of ideas >&2; exit 3", 3, "out of ideas"),
        (r#"echo "{\"round\": $n, \"error\": \"too small\"}""#, 3, "too small"),
        ("sleep 100000", 3, "does not answer in time"),
        (r#"echo "{\"round\": $n, \"time_ns\": 9e15}""#, 3, "the answer came after"),
        (
            r#"echo "{\"round\": $n, \"time_ns\": 1, \"checksum\": \"$n\"}""#,
            1,
            "in the first round",
        ),
    ] {
        let played = Played::by(answer);
        let ran = played.run();
        assert_eq!(ran.code, Some(code), "{answer}\n{}{}", ran.out, ran.err);
        if code == 3 {
            let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains("every round failed:") && told.contains(words), "{told}");
            assert!(!told.contains("too few rounds") && !told.contains("Other programs"), "{told}");
        }
        let said = ran.out + &ran.err;
        assert!(said.contains(words) && !said.contains("panicked"), "{answer}\n{said}");
        await_their_end(&played);
    }
}

#[test]
fn programs_that_are_no_guests_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("lab.sqlite");
    let records = records.to_str().unwrap();
    let refused = |guest: &[&str], code, words: &[&str]| {
        check_refused(&[&["lab", "run"], guest, &["--records", records]].concat(), code, words);
    };
    refused(&["--guest", "/no/such/program"], 3, &["program cannot be started", "check its path"]);
    refused(&["--guest", "echo hello"], 3, &["no greeting", "hocket-guest"]);
    refused(&["--guest", "false"], 3, &["ended early"]);
    refused(&["--guest", ""], 2, &["--guest", "no command"]);
    refused(&["wake", "--guest", "true"], 2, &["`affinity` alone", "wake"]);
    refused(&["guest"], 2, &["needs a program", "--guest"]);
    refused(&["affinity", "--guest", "false"], 3, &["false failed (exit status: 1)"]);
    refused(&["affinity", "--guest", "/no/such/command"], 3, &["cannot be started"]);
    let rows = run(&["lab", "export", "--records", records]);
    assert!(!rows.out.contains("compute"), "{}", rows.out);
}

#[test]
fn any_command_is_measured_pinned_and_not() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        println!("SKIPPED any_command_is_measured_pinned_and_not: two CPUs are needed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("lab.sqlite");
    let records = records.to_str().unwrap();
    let command = "sh -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done'";
    let args = ["lab", "run", "affinity", "--guest", command, "--time", "3s", "--records", records];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let rows = run(&["lab", "export", "--records", records]).out;
    for word in ["affinity-guest", ",free,", ",pinned,", "cpu-time", "switches"] {
        assert!(rows.contains(word), "no '{word}' in\n{rows}");
    }
}

/// However the lab ends, its guests end.
#[test]
fn nothing_is_left_of_a_guest_whose_lab_was_interrupted_or_killed() {
    for signal in [Signal::INT, Signal::KILL] {
        // It never answers, and it has a child.
        let played = Played::by("sleep 100000 & echo $! >> \"$0.child\"; wait");
        let mut lab: Child = hocket(&[])
            .args(played.arguments("4s"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let child = || {
            let text = std::fs::read_to_string(played.path("guest.sh.child")).ok()?;
            text.lines().last()?.parse().ok()
        };
        let child: u32 = await_that("no round began", POLL, child);
        kill_process(Pid::from_child(&lab), signal).unwrap();
        let status = lab.wait().unwrap();
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
        }
        await_their_end(&played);
        await_that("the guest's child still lives", POLL, || (!lives(child)).then_some(()));
    }
}

/// Programs that take their time before anything is measured: a guest that does not greet, and a compiler.
#[test]
fn what_comes_before_measuring_is_interrupted_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let slow = folder.path().join("gcc");
    let script = format!("#!/bin/sh\necho $$ >> '{}'\nexec sleep 100000\n", started.display());
    std::fs::write(&slow, script).unwrap();
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.path().display());
    let guest = format!("'{}'", slow.display());
    let records = folder.path().join("lab.sqlite").display().to_string();
    for asked in [vec!["--guest", guest.as_str()], vec!["openmp"]] {
        let _ = std::fs::remove_file(&started);
        let mut lab: Child = hocket(&["lab", "run", "--time", "2s", "--records", &records])
            .args(&asked)
            .env("PATH", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let process = || std::fs::read_to_string(&started).ok()?.lines().next()?.parse().ok();
        let process: u32 = await_that("nothing was started", POLL, process);
        kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
        assert_eq!(lab.wait().unwrap().code(), Some(130), "{asked:?}");
        await_that("it still lives", POLL, || (!lives(process)).then_some(()));
    }
}

#[test]
fn the_example_in_python_is_that_of_the_page_and_runs() {
    let file = root().join("guests/python/guest.py");
    let text = std::fs::read_to_string(&file).unwrap();
    let page = std::fs::read_to_string(root().join("docs/lab.md")).unwrap();
    let indented: String = text
        .lines()
        .map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") })
        .collect();
    assert!(page.contains(&indented), "docs/lab.md does not quote {}", file.display());
    if !is_installed("python3") {
        println!("SKIPPED the_example_in_python_is_that_of_the_page_and_runs: no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("lab.sqlite");
    let guest = format!("python3 '{}'", file.display());
    let args =
        ["lab", "run", "--guest", &guest, "--time", "2s", "--records", records.to_str().unwrap()];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).exists())
}
