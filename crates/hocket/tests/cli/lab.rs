//! `hocket lab`: what it refuses, what it keeps, and a short run from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::{check_refused, run};

/// A record file with one short run in it, measured once for all tests.
pub fn measured() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab.sqlite");
        let _ = std::fs::remove_file(&file);
        let args = [
            "lab",
            "run",
            "aa",
            "--time",
            "2s",
            "--seed",
            "7",
            "--records",
            file.to_str().unwrap(),
        ];
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        file
    })
}

fn lab(args: &[&str]) -> Vec<String> {
    let records = ["--records", measured().to_str().unwrap()];
    ["lab"].iter().chain(args).chain(&records).map(|arg| (*arg).to_string()).collect()
}

fn ran(args: &[&str]) -> crate::support::Ran {
    run(&lab(args).iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn refused(args: &[&str], code: i32, words: &[&str]) {
    check_refused(&lab(args).iter().map(String::as_str).collect::<Vec<_>>(), code, words);
}

/// What changes the whole machine is asked for by name, and never by a job file.
#[test]
fn settings_of_the_whole_machine_are_for_tuning_alone() {
    refused(&["run", "wake", "--system-wide"], 2, &["--system-wide", "tuning", "name it"]);
    refused(&["run", "--spec", "job.toml", "--system-wide"], 2, &["--system-wide", "--spec"]);
}

#[test]
fn a_run_is_kept_reported_exported_and_asked() {
    let short = ran(&["report"]);
    assert_eq!(short.code, Some(0), "{}", short.err);
    assert!(short.out.lines().count() < 24 && !short.out.contains("same (again)"), "{}", short.out);
    for word in ["Lab run 1", "What to do:", "--all"] {
        assert!(short.out.contains(word), "no '{word}' in\n{}", short.out);
    }
    let report = ran(&["report", "--all"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    for word in ["aa: How large", "same (again)", "Clock", "disturbed"] {
        assert!(report.out.contains(word), "no '{word}' in\n{}", report.out);
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("new/lab.html");
    assert_eq!(ran(&["report", "-o", page.to_str().unwrap()]).code, Some(0));
    assert!(std::fs::read_to_string(&page).unwrap().contains("The smallest difference"));
    let json: serde_json::Value =
        serde_json::from_str(&ran(&["report", "last", "--json"]).out).unwrap();
    assert_eq!(json["seed"], 7);
    assert_eq!(json["experiments"][0]["run"]["id"], "aa");
    assert!(json["meta"]["clock"]["check"]["monotonic_cost_ns"].as_f64().unwrap() > 0.0);
    let pictures = folder.path().join("pictures");
    let asked = ["report", "--pictures", pictures.to_str().unwrap()];
    let said = ran(&asked);
    assert!(said.code == Some(0) && said.out.starts_with("wrote "), "{}{}", said.out, said.err);
    assert!(std::fs::read_to_string(pictures.join("aa.svg")).unwrap().starts_with("<svg"));
    assert!(ran(&asked).out.starts_with("replaced "));
    std::fs::write(pictures.join("aa.svg"), "<svg/>").unwrap();
    refused(&asked, 2, &["aa.svg", "Hocket did not write", "nothing was changed", "--force"]);
    refused(&["report", "--pictures", page.to_str().unwrap()], 3, &["lab.html"]);
    let csv = ran(&["export"]).out;
    let rows: serde_json::Value =
        serde_json::from_str(&ran(&["export", "all", "--format", "json"]).out).unwrap();
    assert_eq!(csv.lines().count(), rows.as_array().unwrap().len() + 1);
    assert!(
        rows[0]["wall_ns"].as_i64().unwrap() > 0
            && csv.starts_with("uuid,started_at,host,run,experiment")
    );
    let asked = ran(&["query", "SELECT count(DISTINCT process) AS starts FROM rows", "--csv"]).out;
    assert_eq!(asked.lines().next(), Some("starts"));
    let none = ran(&["query", "SELECT process FROM rows WHERE 0"]).out;
    assert_eq!(none.lines().map(str::trim).collect::<Vec<_>>(), ["process", "0 rows"]);
    let none = ran(&["query", "SELECT process FROM rows WHERE 0", "--csv"]).out;
    assert_eq!(none.trim_end(), "process");
    let layouts = ran(&[
        "query",
        "SELECT environment_bytes, stack_frames, heap_bytes FROM processes",
        "--json",
    ])
    .out;
    assert!(serde_json::from_str::<serde_json::Value>(&layouts).unwrap()[0]["heap_bytes"].is_i64());
}

#[test]
fn conditions_decide_the_exit_code() {
    assert_eq!(ran(&["report", "--fail-if", "aa.compute > 1e9"]).code, Some(0));
    let failed =
        ran(&["report", "--fail-if", "aa.compute > 1e9", "--fail-if", "aa.compute[same] >= 0"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("holds for same"), "{}", failed.err);
    refused(&["report", "--fail-if", "aa.compete > 3"], 2, &["compete", "did you mean 'compute'"]);
    refused(
        &["report", "--fail-if", "wake.lateness > 3"],
        2,
        &["the run has no experiment 'wake'"],
    );
    refused(&["report", "--fail-if", "aa.compute[sam] > 3"], 2, &["did you mean 'same'"]);
    refused(&["report", "--fail-if", "fast"], 2, &["ID.METRIC > X"]);
}

#[test]
fn rows_are_exported_to_new_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/rows.csv");
    let file = file.to_str().unwrap();
    assert_eq!(ran(&["export", "-o", file]).code, Some(0));
    let rows = std::fs::read_to_string(file).unwrap();
    assert_eq!(rows, ran(&["export"]).out);
    for standard in ["-", "/dev/stdout"] {
        let piped = ran(&["export", "-o", standard]);
        assert_eq!((piped.code, &piped.out), (Some(0), &rows), "{}", piped.err);
    }
    refused(&["export", "--format", "json", "-o", file], 2, &["rows.csv", "there already"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), rows);
}

#[test]
fn unknown_names_are_told_with_their_neighbours() {
    check_refused(
        &["lab", "run", "fals-sharing"],
        2,
        &["fals-sharing", "did you mean 'false-sharing'"],
    );
    check_refused(&["lab", "explain", "sharing"], 2, &["did you mean 'false-sharing'"]);
    refused(&["report", "last~9"], 2, &["last~9", "runs 1 to 1"]);
    refused(&["query", "SELECT x FROM y"], 2, &["the query", "no such table", "experiments"]);
    refused(&["query", "DELETE FROM rows"], 2, &["the query"]);
}

#[test]
fn files_of_experiments_are_made_in_the_folder_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (nowhere, records) = (path("nowhere"), path("lab.sqlite"));
    let refused = |id: &str, words: &[&str]| {
        check_refused(&["lab", "run", id, "--folder", &nowhere, "--records", &records], 2, words);
    };
    refused("fileserver", &["--folder", "nowhere", "No such file"]);
    // Nobody can make a folder there, whoever runs this.
    let args = ["lab", "run", "fileserver", "--folder", "/sys", "--records", &records];
    check_refused(&args, 3, &["--folder", "/sys"]);
    refused("wake", &["--folder", "aim9, fileserver, smt-load"]);
    let files = path("files");
    std::fs::create_dir(&files).unwrap();
    let ran = run(&[
        "lab",
        "run",
        "fileserver",
        "--time",
        "3s",
        "--folder",
        &files,
        "--records",
        &records,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(crate::support::files(Path::new(&files)), [""; 0]);
    let rows = run(&["lab", "export", "--records", &records]).out;
    assert!(rows.contains("1999 clients-4") && rows.contains("latency-flush"), "{rows}");
}

#[test]
fn files_that_are_no_records_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    let text = "not a record file, but something that somebody may want to keep\n".repeat(20);
    std::fs::write(&notes, &text).unwrap();
    let file = notes.to_str().unwrap();
    for args in [["lab", "report", "--records", file], ["lab", "run", "--records", file]] {
        check_refused(&args, 2, &["notes.txt", "not a record file", "nothing was changed"]);
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), text);
    let gone = folder.path().join("gone.sqlite");
    check_refused(
        &["lab", "report", "--records", gone.to_str().unwrap()],
        2,
        &["gone.sqlite", "hocket lab run"],
    );
    assert!(!gone.exists());
    let inside = notes.join("lab.sqlite");
    check_refused(
        &["lab", "run", "aa", "--records", inside.to_str().unwrap()],
        3,
        &["notes.txt", "--records"],
    );
    check_refused(&["lab", "child"], 2, &["hocket lab run"]);
}

#[test]
fn historic_figures_are_quoted_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("pi.sqlite");
    let lab = |words: &[&str]| {
        let ran = run(&[&["lab"], words, &["--records", records.to_str().unwrap()]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    lab(&["run", "ping-pong", "--time", "2s"]);
    let text = lab(&["compare", "last", "historic"]);
    let old = hocket_lab::experiments::find("ping-pong").unwrap().historic();
    assert!(!old.is_empty());
    for figure in &old {
        assert!(text.contains(figure.label), "{}: {text}", figure.label);
        // Lines are broken, words are not.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let differs = figure.differs.unwrap_or("ping-pong");
        assert!(words(&text).contains(&words(differs)), "{differs}: {text}");
    }
    let rows: serde_json::Value =
        serde_json::from_str(&lab(&["compare", "last", "historic", "--json"])).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), old.len());
    assert!(rows.iter().all(|row| row["now"].is_null() != row["why_alone"].is_null()), "{rows:?}");
}

#[test]
fn runs_are_compared_where_their_figures_mean_the_same() {
    let same = ran(&["compare", "last", measured().to_str().unwrap()]);
    assert_eq!(same.code, Some(0), "{}", same.err);
    assert!(same.out.contains("not paired") && same.out.contains("+0.0 %"), "{}", same.out);
    refused(&["compare", "last", "historic"], 2, &["no figures", "lab explain"]);
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.sqlite");
    std::fs::copy(measured(), &other).unwrap();
    let change =
        |sql: &str| rusqlite::Connection::open(&other).unwrap().execute_batch(sql).unwrap();
    change("UPDATE experiments SET definition = 'another'");
    refused(
        &["compare", "last", other.to_str().unwrap()],
        2,
        &["mean different things", "another"],
    );
    change("UPDATE experiments SET experiment = 'gone'");
    refused(&["compare", "last", other.to_str().unwrap()], 2, &["no experiment in common", "gone"]);
}

/// The same run beside itself, and beside a copy in which every computation takes a hundred times as long.
#[test]
fn a_change_between_runs_decides_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let (base, other) = (folder.path().join("base.sqlite"), folder.path().join("other.sqlite"));
    std::fs::copy(measured(), &base).unwrap();
    // As of enough process starts, however many a busy machine had time for.
    let starts = "PRAGMA foreign_keys = OFF; UPDATE rows SET process = process * 4 + round % 4";
    rusqlite::Connection::open(&base).unwrap().execute_batch(starts).unwrap();
    std::fs::copy(&base, &other).unwrap();
    let change =
        |sql: &str| rusqlite::Connection::open(&other).unwrap().execute_batch(sql).unwrap();
    let (base, slower) = (base.to_str().unwrap(), other.to_str().unwrap());
    let code = |b: &str, fail_if: &str| {
        let ran = ran(&["compare", base, b, "--fail-if", fail_if]);
        (ran.code, ran.err)
    };
    assert_eq!(code(base, "aa.compute > 0%").0, Some(0));
    change("UPDATE rows SET value = value * 100 WHERE metric = 'compute'");
    let (ended, said) = code(slower, "aa.compute > 1000%");
    assert_eq!(ended, Some(1), "{said}");
    assert!(said.contains("aa.compute > 1000% holds for same: +9900 % ["), "{said}");
    assert_eq!(code(slower, "aa.compute[same] > 20000%").0, Some(0));
    assert_eq!(code(slower, "aa.compute < -50%").0, Some(0));
    assert_eq!(code(slower, "aa.memory > 1000%").0, Some(0));
    // Starts that differ by 1 %, and then by a tenth more: shown to be more than 5 %, and not more than 9.9 %.
    let known = "UPDATE rows SET value = 1000 + process % 4 * 10 WHERE metric = 'compute'";
    rusqlite::Connection::open(base).unwrap().execute_batch(known).unwrap();
    change(known);
    change("UPDATE rows SET value = value * 1.1 WHERE metric = 'compute'");
    assert_eq!(code(slower, "aa.compute[same] > 5%").0, Some(1));
    assert_eq!(code(slower, "aa.compute[same] > 9.9%").0, Some(0));
    let table = ran(&["compare", base, slower]).out;
    assert!(table.contains("larger") && table.contains("no difference shown"), "{table}");
    let refused_at = |b: &str, fail_if: &str, words: &[&str]| {
        refused(&["compare", base, b, "--fail-if", fail_if], 2, words);
    };
    refused_at(slower, "aa.compute > 5", &["ID.METRIC > X%"]);
    refused_at(slower, "aa.compete > 5%", &["compete", "did you mean 'compute'"]);
    refused_at(slower, "wake.lateness > 5%", &["both have 'wake'"]);
    refused_at(slower, "aa.compute[sam] > 5%", &["did you mean 'same'"]);
    refused_at("historic", "aa.compute > 5%", &["historic", "name a run"]);
    change("UPDATE runs SET host = host || '-'");
    refused_at(slower, "aa.compute > 5%", &["not comparable", "different machines"]);
    assert_eq!(ran(&["compare", base, slower]).code, Some(0), "without a gate they are only shown");
    change("UPDATE runs SET host = rtrim(host, '-')");
    let other_size =
        "UPDATE experiments SET size = CASE size WHEN 'full' THEN 'quick' ELSE 'full' END";
    change(other_size);
    refused_at(slower, "aa.compute > 5%", &["not comparable", "one run is", "full"]);
    change(other_size);
    change("DELETE FROM rows WHERE process > 1");
    refused_at(slower, "aa.compute > 5%", &["same cannot be judged", "3 process starts"]);
    change("UPDATE rows SET checked = 'failed', check_note = '7 is not 8' WHERE metric = 'memory'");
    refused_at(slower, "aa.compute > 5%", &["aa cannot be compared", "7 is not 8"]);
}

#[test]
fn the_catalogue_is_listed_and_explained() {
    let list = run(&["lab", "list"]);
    assert!(list.code == Some(0) && list.out.contains("false-sharing"), "{}", list.out);
    let all: serde_json::Value =
        serde_json::from_str(&run(&["lab", "list", "--json"]).out).unwrap();
    for about in all.as_array().unwrap() {
        let id = about["id"].as_str().unwrap();
        let told = run(&["lab", "explain", id]);
        assert_eq!(told.code, Some(0), "{id}");
        assert!(
            ["Method", "Limits", "Definition"].iter().all(|word| told.out.contains(word)),
            "{}",
            told.out
        );
    }
}

/// What comes with the documentation: all but the newest experiments, most with many tables.
#[test]
fn a_run_of_everything_is_told_on_one_screen_and_changes_are_percent_throughout() {
    let records = crate::support::root().join("docs/results/lab-quick-2cpu-vm.sqlite");
    let report = |more: &[&str]| {
        let ran = run(&[&["lab", "report", "--records", records.to_str().unwrap()], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let (short, all) = (report(&[]), report(&["--all"]));
    assert!(short.lines().count() <= 50, "{} lines:\n{short}", short.lines().count());
    assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
    for word in [
        "In plain words:",
        "* Give audio threads a real-time priority: ",
        "No advice that is sure: ",
        "Verdicts: ",
        "* false-sharing: ",
        "No difference shown: ",
        "Not measurable here: ",
        "What to do:",
    ] {
        assert!(short.contains(word), "no '{word}' in\n{short}");
    }
    assert!(all.lines().count() > 1000);
    // What stands beside an old figure in times has its unit.
    let is_beside = |line: &&str| line.matches(" times ").count() > 1;
    let in_times = all.lines().filter(|line| line.contains(" times ["));
    let mixed: Vec<&str> = in_times.filter(|line| !is_beside(line)).collect();
    assert!(mixed.is_empty() && all.contains(" % ["), "{mixed:#?}");
}

#[test]
fn the_list_says_how_long_runs_take() {
    let list = run(&["lab", "list"]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    for word in ["hocket lab run --full", "together", " min\n", "false-sharing"] {
        assert!(list.out.contains(word), "no '{word}' in\n{}", list.out);
    }
    let json: serde_json::Value =
        serde_json::from_str(&run(&["lab", "list", "--json"]).out).unwrap();
    let times = json.as_array().unwrap().iter().filter(|it| it["quick_s"].as_f64() > Some(1.0));
    assert!(times.count() > 15);
}
