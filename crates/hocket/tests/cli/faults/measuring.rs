//! Faults 4, 5, 10 and a part of 9: what is measured, where it is kept, and what is said about it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;
use hocket_lab::store::Store;

use crate::support::{Ran, check_refused, files, hocket, one_track, run};

// 4. A tune too short to tell recommends something.

/// Two seconds tell of no block length which way is the shortest. What is recommended names the turns and the
/// comparison that it rests on, and nothing stands for the rest.
#[test]
fn fault_04_a_tune_that_is_too_short_says_so_and_recommends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [profile, records] = ["m.toml", "r.sqlite"].map(|name| folder.path().join(name));
    let [output, records] = [&profile, &records].map(|path| path.display().to_string());
    let ran = run(&["tune", "--time", "2s", "--records", &records, "--output", &output]);
    if ran.code == Some(3) {
        println!("SKIPPED fault_04_a_tune_that_is_too_short: {}", ran.err);
        assert!(!profile.exists());
        return;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.starts_with("hocket: warning: --time 2s: this is too short to tell; about "));
    let told: toml::Table = std::fs::read_to_string(&profile).unwrap().parse().unwrap();
    let rows =
        |key: &str| told.get(key).and_then(|rows| rows.as_array()).cloned().unwrap_or_default();
    let (recommended, undecided) = (rows("blocks"), rows("undecided"));
    assert!(recommended.len() + undecided.len() > 0, "{told:#?}");
    for row in &undecided {
        let why = row["why"].as_str().unwrap();
        assert!(why.contains(" of each ") || why.contains("not measured in one round"), "{why}");
    }
    for row in &recommended {
        let alone = row["reasons"].to_string().contains("there is no other way here");
        assert!(alone || row["turns"].as_integer().unwrap() >= 6, "{row:#?}");
        assert!(alone || row["change_percent"].as_array().unwrap().len() == 2, "{row:#?}");
    }
}

// 5. A record that cannot be written loses a finished bench.

/// The folder of the record disappears while a bench runs: the table is printed, and the record is somewhere else.
#[test]
fn fault_05_a_record_that_cannot_be_written_is_kept_elsewhere() {
    let (session_folder, file) = one_track("");
    let gone = session_folder.path().join("out");
    std::fs::create_dir(&gone).unwrap();
    let here = tempfile::tempdir().unwrap();
    let record = gone.join("r.json");
    // It would go on for half an hour if nobody interrupted it.
    let mut command = hocket(&[
        "bench",
        &file,
        "--blocks",
        "1000000",
        "--blocks-per-round",
        "20",
        "--policy",
        "off",
        "--disturb",
        "none",
        "--record",
        record.to_str().unwrap(),
    ]);
    command.current_dir(here.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    crate::interrupted::await_start(&child);
    std::fs::remove_dir(&gone).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("bare wake-up loop"), "no table:\n{}", ran.out);
    let kept = files(here.path());
    assert!(kept.len() == 1 && ran.err.contains(&kept[0]), "{kept:?}\n{}", ran.err);
    let record = BenchRecord::read(here.path().join(&kept[0])).unwrap();
    assert!(record.partial.is_some());
}

#[test]
fn fault_05_a_page_is_written_also_where_the_record_cannot_be() {
    let (folder, file) = one_track("");
    let page = folder.path().join("page.html");
    let mut command = hocket(&["bench", &file, "--blocks", "20", "--blocks-per-round", "20"]);
    command.args(["--policy", "off", "--disturb", "none", "--record", "/dev/full", "--report"]);
    let ran = Ran::from(command.arg(&page).current_dir(folder.path()).output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("/dev/full") && ran.err.contains("instead"), "{}", ran.err);
    assert!(std::fs::read(&page).unwrap().starts_with(b"<!DOCTYPE html>"));
}

/// What cannot be written is found out before anything is played or measured.
#[test]
fn fault_05_outputs_are_tried_before_the_work() {
    let (folder, file) = one_track("");
    // Nobody may make files there, not even root.
    check_refused(
        &["play", &file, "--length", "86400", "--costs", "/proc/costs.toml"],
        3,
        &["cannot be written"],
    );
    check_refused(&["bench", &file, "--record", "/proc/r.json"], 3, &["cannot be written"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

// 9. Two lab runs share a file.

#[test]
fn fault_09_two_lab_runs_into_one_file_are_noticed_and_an_interrupted_one_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    let args = ["lab", "run", "aa", "--time", "10m", "--records", file.to_str().unwrap()];
    let mut child = hocket(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let rows = || {
        let store = Store::open(&file).ok()?;
        store.query("SELECT count(*) FROM rows").ok()?.rows[0][0].as_i64()
    };
    let start = Instant::now();
    while rows().unwrap_or(0) == 0 && start.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(100));
    }
    // A second run would add its turns to the same file at the same time.
    let second = ["lab", "run", "aa", "--time", "1s", "--records", file.to_str().unwrap()];
    check_refused(&second, 3, &["lab.sqlite", "another run is being written to it"]);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = Store::open(&file).unwrap().choose("last").unwrap();
    assert_eq!(run.experiments[0].end, "interrupted");
    assert!(run.ended_at.is_some() && rows().unwrap() > 0);
    let report = crate::support::run(&["lab", "report", "--records", file.to_str().unwrap()]);
    let head = report.out.lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(head.contains(", interrupted 20") && !head.contains(", ended "), "{head}");
}

// 10. A command of the pages does not run as written. Every other command of the pages: documented.rs.

/// A load beside the siblings of a core runs on machines without siblings, too, and the folder of a report is made.
#[test]
fn fault_10_a_bench_with_a_load_on_siblings_writes_its_report_into_a_new_folder() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        println!("SKIPPED fault_10_a_bench_with_a_load_on_siblings: it needs two CPUs");
        return;
    }
    let (folder, file) = one_track("");
    let args = ["bench", &file, "--policy", "off,idle-thread", "--disturb", "compute:4@siblings"];
    let more = ["--blocks", "20", "--blocks-per-round", "20", "--report", "out/band.html"];
    let ran: Ran =
        hocket(&[&args[..], &more].concat()).current_dir(folder.path()).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = std::fs::read_to_string(folder.path().join("out/band.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
}
