//! What the scripts of `ci/` leave behind: records of `ci/note.sh`, and nothing else.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const EARLIER: &str = "an earlier record\n";

/// A script of `ci/` with this `main`; `$1` is the record.
struct Run {
    _folder: tempfile::TempDir,
    output: Output,
    record: String,
    left: Vec<String>,
}

fn run(main: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let [record, target, temporary] =
        ["record.txt", "target", "tmp"].map(|name| folder.path().join(name));
    fs::write(&record, EARLIER).unwrap();
    fs::create_dir(&temporary).unwrap();
    let script = format!(
        ". ci/lib.sh\n. ci/note.sh\n. ci/debian.sh\nrecord_file=$1\nmain() {{\n{main}\n}}\nrun_logged trial\n"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, "trial"]).arg(&record).current_dir(root);
    bash.env("CARGO_TARGET_DIR", &target).env("TMPDIR", &temporary);
    // These tests may themselves run in such a script.
    bash.env_remove("HOCKET_STAGE_TIMES").env_remove("KEEP");
    let output = bash.output().unwrap();
    let names = fs::read_dir(&temporary).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let (left, record) = (names.collect(), fs::read_to_string(&record).unwrap());
    Run { _folder: folder, output, record, left }
}

#[test]
fn a_record_tells_what_was_not_done() {
    let run = run("begin_record trial \"$record_file\"
        note_skip lintian 'not installed here'
        noted works 'a stage' true
        end_record");
    assert!(run.output.status.success(), "{:?}", run.output);
    assert!(run.record.starts_with("trial: commit "), "{}", run.record);
    assert!(run.record.contains("\nnot done: lintian: not installed here\n"), "{}", run.record);
    assert!(run.record.ends_with(" s: a stage\n"), "{}", run.record);
    let told = String::from_utf8_lossy(&run.output.stdout);
    assert!(told.contains("skipped: lintian: not installed here"), "{told}");
    assert_eq!(run.left, [""; 0]);
}

#[test]
fn a_failed_run_keeps_the_earlier_record_and_leaves_nothing() {
    for folder in ["", "new_folder"] {
        let run = run(&format!(
            "begin_record trial \"$record_file\"
            {folder}
            noted fails 'a stage' false
            end_record"
        ));
        assert_eq!(run.output.status.code(), Some(1), "{:?}", run.output);
        assert_eq!(run.record, EARLIER);
        assert_eq!(run.left, [""; 0]);
    }
}
