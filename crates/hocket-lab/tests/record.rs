//! Records on disk: round trips, sizes, every refusal, and nothing left behind by a failure.

mod fixture;

use std::fs;
use std::path::Path;

use hocket_lab::record::{BenchRecord, FORMAT, RecordError, write_text_atomic};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn json(record: &BenchRecord) -> String {
    let mut text = Vec::new();
    record.write_json(&mut text).expect("memory does not fail");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// What reading `text` is refused with.
fn refusal(text: &str) -> RecordError {
    BenchRecord::parse(text.as_bytes(), Path::new("runs/a.json")).expect_err("must be refused")
}

#[test]
fn records_from_before_explanations_are_read() {
    let mut value: serde_json::Value =
        serde_json::from_str(&json(&fixture::example(1))).expect("JSON");
    let variants = value["variants"].as_array_mut().expect("variants");
    let removed = variants
        .iter_mut()
        .filter_map(|variant| variant.as_object_mut().expect("an object").remove("explained"));
    assert!(removed.count() > 0, "it has what records did not have then");
    let old = BenchRecord::parse(value.to_string().as_bytes(), Path::new("runs/old.json"));
    let old = old.expect("an old record");
    assert!(old.variants.iter().all(|variant| variant.explained.is_none()));
    let page = hocket_lab::report::html(&old) + &hocket_lab::report::text_table(&old);
    assert!(!page.contains("Why blocks were late"));
    let new = fixture::example(1);
    let late: Vec<u64> = new.variants.iter().map(|variant| variant.misses().late).collect();
    let told = new.variants.iter().filter_map(|variant| variant.explained.as_ref());
    let told: u64 = told.map(|explained| explained.causes.total() + explained.unexplained).sum();
    assert_eq!(told, late.iter().sum::<u64>());
    for text in [hocket_lab::report::html(&new), hocket_lab::report::text_table(&new)] {
        assert!(text.contains("Why blocks were late") && text.contains("4711)"));
    }
}

/// The first format had one process start and no twin, and 0 where nothing was known.
#[test]
fn records_of_one_start_are_read() {
    let mut record = fixture::example(1);
    record.variants.pop();
    let text = json(&record).replacen(FORMAT, "hocket-bench/1", 1);
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"start\":")).collect();
    let text = without.join("\n").replacen("\"starts\": 5,", "", 1);
    let old = BenchRecord::parse(text.as_bytes(), Path::new("runs/old.json")).expect("read");
    assert_eq!((old.settings.starts, old.format.as_str()), (1, "hocket-bench/1"));
    let rounds = || old.variants.iter().flat_map(|variant| &variant.rounds);
    assert!(rounds().count() > 0 && rounds().all(|round| round.start == 0));
    assert!(rounds().all(|round| round.noise.is_known()));
    assert!(hocket_lab::report::html(&old).contains("1 process start"));
}

#[test]
fn what_is_written_is_read_back() {
    let folder = folder();
    let file = folder.path().join("run.json");
    for record in [fixture::example(1), fixture::example_without_pairs(2)] {
        record.write_atomic(&file).expect("written");
        // Not assert_eq: nobody wants a megabyte of figures on the terminal.
        assert!(BenchRecord::read(&file).expect("read") == record);
    }
    assert_eq!(names_in(folder.path()), ["run.json"]);
}

#[test]
fn the_format_comes_first_and_a_column_is_one_line() {
    let record = fixture::example(1);
    let text = json(&record);
    assert!(text.starts_with("{\n  \"format\": \"hocket-bench/2\",\n"), "{}", &text[..80]);
    let columns =
        text.lines().filter(|line| line.trim_start().starts_with("\"duration_ns\": [")).count();
    let rounds: usize = record.variants.iter().map(|v| v.rounds.len()).sum();
    assert_eq!(columns, rounds);
    serde_json::from_str::<serde_json::Value>(&text).expect("well-formed");
}

#[test]
fn a_million_blocks_stay_reasonable() {
    let shape =
        fixture::Shape { seed: 3, pairs: true, rounds: 100, blocks_per_round: 2000, load: 0.3 };
    let record = shape.record();
    let blocks: u64 = record.variants.iter().map(|v| v.blocks()).sum();
    let text = json(&record);
    let per_block = text.len() as f64 / blocks as f64;
    assert_eq!(blocks, 1_200_000);
    assert!(per_block < 40.0, "{per_block:.1} bytes a block");
    assert!(BenchRecord::parse(text.as_bytes(), Path::new("x")).expect("read") == record);
}

#[test]
fn a_page_is_written_like_a_record() {
    let folder = folder();
    let file = folder.path().join("page.html");
    write_text_atomic(&file, "old").expect("written");
    write_text_atomic(&file, "new").expect("written");
    assert_eq!(fs::read_to_string(&file).expect("read"), "new");
    let message = write_text_atomic(folder.path().join("no/page.html"), "").expect_err("no folder");
    assert!(message.to_string().contains("create the folder first"), "{message}");
    assert_eq!(names_in(folder.path()), ["page.html"]);
}

#[test]
fn a_relative_name_in_the_current_folder_is_written() {
    // The one test of this file that depends on the current folder; it only reads it.
    let name = format!("target-less-{}.json", std::process::id());
    fixture::example(1).write_atomic(&name).expect("written");
    assert!(fs::remove_file(&name).is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let folder = folder();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    fs::write(&real, "old").expect("written");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    fixture::example(1).write_atomic(&link).expect("written");
    assert!(link.is_symlink() && BenchRecord::read(&real).is_ok());
}

#[cfg(unix)]
#[test]
fn a_record_has_the_rights_of_an_ordinary_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let (record, plain) = (folder.path().join("run.json"), folder.path().join("plain"));
    fixture::example(1).write_atomic(&record).expect("written");
    fs::write(&plain, "").expect("written");
    let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode();
    assert_eq!(mode(&record), mode(&plain));
}

#[test]
fn a_missing_folder_is_named_with_a_remedy() {
    let folder = folder();
    let file = folder.path().join("none/run.json");
    let message = fixture::example(1).write_atomic(&file).expect_err("no folder").to_string();
    assert!(message.starts_with(&file.display().to_string()), "{message}");
    assert!(message.contains("create the folder first"), "{message}");
}

#[test]
fn a_folder_is_not_a_record_and_a_device_stays_one() {
    let folder = folder();
    let message =
        fixture::example(1).write_atomic(folder.path()).expect_err("a folder").to_string();
    assert!(message.contains("name a file inside it"), "{message}");
    assert!(folder.path().is_dir());
    if Path::new("/dev/null").exists() {
        fixture::example(1).write_atomic("/dev/null").expect("a device takes what it gets");
        assert!(!Path::new("/dev/null").is_file());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_refused() {
    // Even root may create nothing in /proc.
    let message = fixture::example(1).write_atomic("/proc/run.json").expect_err("proc").to_string();
    assert!(message.contains("not written"), "{message}");
}

/// Runs this test again in a process whose files may hold 64 KiB, which fails in the middle of
/// writing just as a full disk does.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_the_old_record_and_leaves_nothing() {
    const INNER: &str = "HOCKET_TEST_FULL_DISK";
    if let Some(folder) = std::env::var_os(INNER) {
        let file = Path::new(&folder).join("run.json");
        let message = fixture::example(1).write_atomic(&file).expect_err("full").to_string();
        assert!(message.contains("free some space"), "{message}");
        return;
    }
    let folder = folder();
    let file = folder.path().join("run.json");
    fixture::example(7).write_atomic(&file).expect("written");
    let this = std::env::current_exe().expect("this test's binary");
    let test = "a_full_disk_keeps_the_old_record_and_leaves_nothing";
    // `ulimit -f` counts blocks of 512 or 1024 bytes; a record has more than a megabyte.
    let status = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact \"$1\" >/dev/null"])
        .arg(this)
        .arg(test)
        .env(INNER, folder.path())
        .status();
    let Ok(status) = status else {
        println!("SKIPPED {test}: no shell to limit the size of files");
        return;
    };
    assert!(status.success());
    assert_eq!(names_in(folder.path()), ["run.json"]);
    assert!(BenchRecord::read(&file).expect("the old one") == fixture::example(7));
}

#[test]
fn an_absent_file_is_refused_with_its_name() {
    let message = BenchRecord::read("no/such.json").expect_err("absent").to_string();
    assert!(message.starts_with("no/such.json: cannot be read: "), "{message}");
}

#[test]
fn every_truncation_is_refused_without_panic() {
    let text = json(
        &fixture::Shape { seed: 1, pairs: true, rounds: 6, blocks_per_round: 3, load: 0.3 }
            .record(),
    );
    let step = text.len() / 997 + 1;
    for end in (0..text.trim_end().len()).step_by(step) {
        let error = refusal(&text[..end]);
        assert!(
            matches!(error, RecordError::Truncated { .. } | RecordError::Damaged { .. }),
            "{end}: {error}"
        );
    }
    let message = refusal(&text[..text.len() / 2]).to_string();
    assert!(message.starts_with("runs/a.json:") && message.contains("ends too early"), "{message}");
}

#[test]
fn damage_is_named_with_line_and_column() {
    let text = json(&fixture::example(1)).replacen("\"frames\": 64", "\"frames\": \"many\"", 1);
    let line = 1 + text.lines().position(|line| line.contains("many")).expect("edited");
    let message = refusal(&text).to_string();
    assert!(message.starts_with(&format!("runs/a.json:{line}:")), "{message}");
    assert!(message.contains("invalid type: string \"many\", expected u32"), "{message}");
}

#[test]
fn a_missing_field_is_named() {
    let text = json(&fixture::example(1)).replacen("\"clock\":", "\"clok\":", 1);
    assert!(refusal(&text).to_string().contains("missing field `clock`"));
}

#[test]
fn other_versions_and_other_json_are_told_apart() {
    let newer = json(&fixture::example(1)).replacen(FORMAT, "hocket-bench/3", 1);
    assert!(
        matches!(refusal(&newer), RecordError::OtherFormat { found, .. } if found == "hocket-bench/3")
    );
    assert!(matches!(refusal("{\"a\": 1}"), RecordError::NotARecord { .. }));
    assert!(matches!(refusal("[1, 2]"), RecordError::Damaged { .. }));
    assert!(matches!(refusal("not JSON"), RecordError::Damaged { .. }));
    assert!(matches!(refusal(""), RecordError::Truncated { .. }));
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let error = BenchRecord::parse(&[0xff, 0xfe, 0x00], Path::new("a")).expect_err("refused");
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
}

#[test]
fn columns_of_different_length_are_refused() {
    let mut record = fixture::example(1);
    record.variants[1].rounds[4].slack_ns.pop();
    let message = refusal(&json(&record)).to_string();
    assert!(message.contains("dataflow / all / hybrid"), "{message}");
    assert!(
        message.contains("round 4: slack_ns has 99 figures where duration_ns has 100"),
        "{message}"
    );
}

#[test]
fn a_period_of_zero_is_refused() {
    let mut record = fixture::example(1);
    record.settings.rate_hz = 0;
    assert!(matches!(refusal(&json(&record)), RecordError::Inconsistent { .. }));
}

#[test]
fn fields_of_a_later_writer_are_ignored_and_optional_ones_may_lack() {
    let text = json(&fixture::example(1)).replacen(
        "\"format\"",
        "\"later\": {\"a\": [1]},\n  \"format\"",
        1,
    );
    BenchRecord::parse(text.as_bytes(), Path::new("a")).expect("read");
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for key in ["machine", "grants", "partial", "contained"] {
        value.as_object_mut().expect("an object").remove(key);
    }
    BenchRecord::parse(value.to_string().as_bytes(), Path::new("a")).expect("read");
}

#[test]
fn what_is_not_a_number_stays_none() {
    let mut record = fixture::example(1);
    record.variants[0].rounds[0].noise.load = f64::NAN;
    record.variants[0].disturbers[0].progress[2] = f64::INFINITY;
    record.clock.read_cost_ns = f64::NAN;
    let read = BenchRecord::parse(json(&record).as_bytes(), Path::new("a")).expect("read");
    assert!(read.variants[0].rounds[0].noise.load.is_nan());
    assert!(read.variants[0].disturbers[0].progress[2].is_nan());
    assert!(read.clock.read_cost_ns.is_nan());
}

#[test]
fn times_add_up_in_every_block() {
    for variant in fixture::example(5).variants {
        for round in &variant.rounds {
            let slack_from_times = round.ready_ns().map(|ready| 1_333_333 - ready);
            assert!(slack_from_times.eq(round.slack_ns.iter().copied()));
        }
    }
}
