//! `--record` replaces a record of Hocket and nothing else; the scripts' own tests, where there is a Python.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of its own for each test, with a file that is no record.
fn notes(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("notes.txt");
    std::fs::write(&path, "notes").unwrap();
    path
}

#[track_caller]
fn is_refused(ran: &Output) {
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    for word in ["notes.txt", "nothing was changed", "--force"] {
        assert!(said.contains(word), "no '{word}' in {said}");
    }
}

#[test]
fn the_programs_refuse_a_file_that_is_no_record() {
    let notes = notes("the_programs");
    let record = ["--record", notes.to_str().unwrap()];
    let comparison = Command::new(env!("CARGO_BIN_EXE_hocket-comparison")).args(record).output();
    is_refused(&comparison.unwrap());
    let mut checks = Command::new(env!("CARGO_BIN_EXE_cross-check"));
    is_refused(&checks.args(record).args(["--criterion", "/none"]).output().unwrap());
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "notes");
}

/// The shortest run there is, of the walks alone.
#[test]
fn a_record_is_replaced_by_the_next_one_and_other_files_with_force() {
    let notes = notes("a_record");
    let record = notes.with_file_name("record.json");
    std::fs::write(&record, "{\"format\": \"hocket-comparison/1\"}").unwrap();
    let run = |path: &PathBuf, more: &[&str]| {
        let cell = ["--graph", "light", "--mode", "hot", "--blocks", "4", "--rival", "rayon"];
        let mut program = Command::new(env!("CARGO_BIN_EXE_hocket-comparison"));
        let ran = program.args(cell).arg("--record").arg(path).args(more).output().unwrap();
        if ran.status.code() == Some(3) {
            let why = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            println!("SKIPPED a_record_is_replaced_by_the_next_one: {why}");
            return;
        }
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(std::fs::read_to_string(path).unwrap().contains("\"block_ns\""));
    };
    run(&record, &[]);
    run(&notes, &["--force"]);
}

#[test]
fn the_scripts_keep_their_records_by_the_same_rules() {
    let mut python = Command::new("python3");
    // Without bytecode: nothing is left in the sources.
    let found = ["-s", env!("CARGO_MANIFEST_DIR"), "-p", "test_records.py"];
    python.args(["-B", "-m", "unittest", "discover"]).args(found);
    match python.output() {
        Err(error) => println!("SKIPPED the_scripts_keep_their_records: python3: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
