//! Ctrl-C and SIGTERM while the lab measures what has processes, sockets and files of its own: nothing of it is left.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::lab_limits::{AFTER, NAMESPACES, NOTHING_LEFT, can_have_namespaces};
use crate::support::Ran;

const MEASURED: [&str; 6] = ["kernel", "chat", "tcpstream", "jvm", "openmp", "smt-load"];

/// At a time: most of a run is waiting until the experiment's turn has come.
const AT_A_TIME: usize = 3;

/// Starts a run of `$3`, whose first word is the experiment, awaits its first row, and sends the signal. Then it awaits the
/// end of the process that keeps guests, which ends by itself when the lab is gone; a minute only ends a hang. The shell
/// collects a child as soon as it ends, so a process without a folder in /proc has ended, too.
const SCRIPT: &str = r#"
    ip link set lo up; export TMPDIR="$1"
    "$0" lab run $3 --time "$5" --records "$2" & lab=$!
    lives() { [ -d /proc/$lab ] && ! grep -q '^State:.[ZX]' /proc/$lab/status; }
    asked="SELECT 'rows', count(*) FROM rows WHERE experiment = '${3%% *}'" records=$2
    begun() { "$0" lab query --csv "$asked" --records "$records" 2>&1; }
    while lives && ! begun | grep -q '^rows,[1-9]'; do sleep 0.1; done
    lives && echo "interrupted at [$(ls -A "$1")]" && kill -s "$4" $lab
    wait $lab; code=$?
    awaited=0
    set -- "$1" /proc/[0-9]*
    while [ $# -gt 2 ] && [ $awaited -lt 600 ]; do
        sleep 0.1; awaited=$((awaited + 1)); set -- "$1" /proc/[0-9]*
    done
    (exit $code)
"#;

/// Runs it with so much time; how it ended.
fn interrupted(experiment: &str, signal: &str, time: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("files");
    std::fs::create_dir(&made).unwrap();
    let mut command = Command::new("unshare");
    command
        .arg("--kill-child")
        .args(NAMESPACES)
        .arg(format!("{SCRIPT}{AFTER}"))
        .arg(env!("CARGO_BIN_EXE_hocket"));
    // The folder for files of the file server, where the temporary one is in memory.
    let words = match experiment {
        "smt-load" => format!("{experiment} --folder {}", made.display()),
        _ => experiment.to_owned(),
    };
    command.arg(&made).arg(folder.path().join("lab.sqlite")).args([&words, signal, time]);
    command.output().unwrap().into()
}

/// What is wrong, if anything is.
fn fault(experiment: &str, signal: &str) -> Option<String> {
    // How fast the machine is decides how soon the experiment is over: one that was, gets more time.
    for time in ["10s", "40s", "160s"] {
        let ran = interrupted(experiment, signal, time);
        let said = format!("{experiment}, {signal}: {:?}\n{}{}", ran.code, ran.out, ran.err);
        if said.contains("not measurable here") && !said.contains("interrupted at") {
            println!("SKIPPED {experiment}: it is not measurable here");
            return None;
        }
        if said.contains("interrupted at") && ran.code == Some(130) {
            return (!said.contains(NOTHING_LEFT) || said.contains("panicked")).then_some(said);
        }
        if ran.code != Some(0) {
            return Some(said);
        }
    }
    Some(format!("{experiment}, {signal}: over before the signal came, three times"))
}

#[test]
fn nothing_is_left_of_an_experiment_that_was_interrupted() {
    if !can_have_namespaces("nothing_is_left_of_an_experiment_that_was_interrupted") {
        return;
    }
    let all: Vec<(&str, &str)> =
        MEASURED.iter().flat_map(|it| [(*it, "INT"), (*it, "TERM")]).collect();
    let next = AtomicUsize::new(0);
    // Relaxed: the counter only shares out places in a list.
    let some = || {
        let mine = std::iter::from_fn(|| all.get(next.fetch_add(1, Relaxed)));
        mine.filter_map(|(experiment, signal)| fault(experiment, signal)).collect::<Vec<_>>()
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
