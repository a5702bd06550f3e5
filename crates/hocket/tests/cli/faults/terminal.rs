//! Fault 9: text from elsewhere does not drive the terminal, and memory that runs out is one line.

use hocket_lab::store::Store;

use super::through_shell;
use crate::support::{Ran, check_refused, example, hocket, one_track, run, session};

/// What may not reach a terminal: control characters but line breaks, and marks of direction.
fn acts(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn check_tame(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(acts), "{text:?}");
    }
}

const HOSTILE: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}txt.exe\u{9b}2J";

#[test]
fn fault_09_what_a_query_finds_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    drop(Store::open_or_create(&file).unwrap());
    let records = file.to_str().unwrap();
    let sql =
        "SELECT char(27) || '[31m' || char(8238) || char(155) || char(10) || 'x' AS \"a\u{1b}b\"";
    let ran = run(&["lab", "query", "--records", records, sql]);
    check_tame(&ran);
    assert!(ran.out.contains("\\u{1b}[31m\\u{202e}\\u{9b}\\nx"), "{}", ran.out);
    let ran = run(&["lab", "query", "--json", "--records", records, sql]);
    check_tame(&ran);
    let rows: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(rows[0]["a\u{1b}b"], "\u{1b}[31m\u{202e}\u{9b}\nx");
    // Rows for other programs are what they are, and a table is not.
    let long = "SELECT replace(hex(zeroblob(500000)), '0', 'a') AS long";
    let ran = run(&["lab", "query", "--csv", "--records", records, long]);
    assert!(ran.out.len() > 1_000_000, "{}", ran.out.len());
    let ran = run(&["lab", "query", "--records", records, long]);
    assert!(ran.out.len() < 1_000 && ran.out.contains("999800 characters left out"), "{}", ran.out);
    check_tame(&run(&["lab", "query", "--records", records, &format!("SELECT {HOSTILE}")]));
}

#[test]
fn fault_09_names_that_are_typed_are_escaped_where_they_are_refused() {
    for args in [
        vec!["lab", "explain", HOSTILE],
        vec!["lab", "run", HOSTILE],
        vec!["lab", "report", "--records", HOSTILE],
        vec!["lab", "report", "--fail-if", HOSTILE],
        vec!["report", HOSTILE],
        vec!["render", HOSTILE, "-o", "x.wav"],
        vec!["bench", "s.toml", "--policy", HOSTILE],
        vec!["play", "s.toml", "--device", HOSTILE],
        vec![HOSTILE],
    ] {
        let ran = run(&args);
        check_tame(&ran);
        assert!(ran.code != Some(0) && ran.err.contains("\\u{202e}txt"), "{args:?}\n{}", ran.err);
    }
}

#[test]
fn fault_09_what_a_record_says_is_escaped() {
    let (folder, file) = one_track("");
    let record = folder.path().join("r.json");
    let record = record.to_str().unwrap();
    let bench = ["bench", &file, "--blocks", "20", "--policy", "off", "--disturb", "none"];
    let ran = run(&[&bench[..], &["--record", record]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    json["session"]["name"] = HOSTILE.into();
    json["variants"][0]["name"] = format!("{HOSTILE}\nHolds at 64 frames").into();
    json["partial"] = HOSTILE.into();
    std::fs::write(record, json.to_string()).unwrap();
    let ran = run(&["report", record]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    check_tame(&ran);
    assert!(ran.out.contains("\\u{1b}[31mred"), "{}", ran.out);
}

#[test]
fn fault_09_file_names_in_warnings_are_escaped() {
    let (folder, _) = session("");
    let file = folder.path().join(format!("{}.toml", HOSTILE.replace('/', "")));
    let text = "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\n\
                clip = [{ file = \"loop.flac\" }]\n[[track]]\nname = \"empty\"\n";
    std::fs::write(&file, text).unwrap();
    let out = folder.path().join("out.wav");
    let ran = run(&["render", file.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning"), "{}", ran.err);
    check_tame(&ran);
}

/// A name with line breaks begins no line, neither where it is refused nor where all went well.
#[test]
fn fault_09_a_name_with_line_breaks_is_a_part_of_a_line() {
    let (folder, _) = one_track("");
    let name = "a\nhocket: all is well\n";
    let at = |ending: &str| folder.path().join(format!("{name}{ending}")).display().to_string();
    let session = at(".toml");
    std::fs::rename(folder.path().join("try.toml"), &session).unwrap();
    let (out, take) = (at(".wav"), format!("master={}", at("take.wav")));
    for (args, code) in [
        (&["check", &session][..], 0),
        (&["render", &session, "-o", &out, "--length", "0.1"], 0),
        (&["play", &session, "--length", "0.1", "--take", &take], 0),
        (&["check", &at("none")], 2),
        (&["render", &session, "-o", &at(".mp3")], 2),
        (&["bench", &session, "--record", &session], 2),
        (&["report", &session], 2),
        (&["recover", &session], 2),
        (&[name], 2),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        let text = ran.out + &ran.err;
        assert!(text.contains("a\\nhocket: all is well\\n"), "{args:?}: {text}");
        assert!(!text.lines().any(|line| line.starts_with("hocket: all is well")), "{text}");
    }
}

#[test]
fn fault_09_a_key_of_a_megabyte_makes_a_short_message() {
    let key = "k".repeat(1 << 20);
    let (folder, file) = session(&format!("[[track]]\nname = \"a\"\n{key} = 3\n"));
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &file, "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.len() < 4_000, "{} bytes", ran.err.len());
    assert!(
        ran.err.contains("characters left out") && ran.err.contains("try.toml:3:1"),
        "{}",
        ran.err
    );
    let ran = run(&["lab", "explain", &"x".repeat(100_000)]);
    assert!(ran.code == Some(2) && ran.err.len() < 2_000, "{} bytes", ran.err.len());
}

/// Without room for what it has to keep, the program says so in one line and ends as where a thing is not possible.
#[test]
fn fault_09_memory_that_runs_out_is_one_line_and_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    drop(Store::open_or_create(&file).unwrap());
    // One text of 800 MB, which SQLite cannot make, and one of 120 MB, of which there are copies when it is printed.
    let all = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
               SELECT group_concat(printf('%0200d', i)) FROM n";
    for sql in [all, "SELECT hex(zeroblob(60000000))"] {
        let mut command = std::process::Command::new("prlimit");
        command.args(["--as=600000000", "--core=0", env!("CARGO_BIN_EXE_hocket"), "lab", "query"]);
        let Ok(output) = command.args(["--csv", "--records"]).arg(&file).arg(sql).output() else {
            println!(
                "SKIPPED fault_09_memory_that_runs_out_is_one_line_and_exit_code_3: there is no prlimit"
            );
            return;
        };
        let ran = Ran::from(output);
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        assert!(ran.err.contains("out of memory") && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

/// Rows are printed as they come: an answer may be larger than the memory, and ends when its reader goes away.
#[test]
fn fault_09_an_answer_of_any_length_is_printed_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    drop(Store::open_or_create(&file).unwrap());
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
               SELECT i, printf('%0200d', i) AS text FROM n";
    for (form, lines) in [("", "3001"), ("--csv", "3001"), ("--json", "12001")] {
        let ran = through_shell(&format!(
            "ulimit -v 600000; \"$HOCKET\" lab query {form} --records '{}' \"{sql}\" | head -n {lines} | wc -l; \
             echo ${{PIPESTATUS[0]}}",
            file.display()
        ));
        let said: Vec<&str> = ran.out.split_whitespace().collect();
        assert_eq!(said, [lines, "0"], "{form}: {}", ran.err);
        assert!(ran.err.is_empty(), "{form}: {}", ran.err);
    }
}

/// The colours of help are the program's own.
#[test]
fn fault_09_own_output_stays_as_it_is() {
    let ran: Ran =
        hocket(&["render", example("band.toml").to_str().unwrap()]).output().unwrap().into();
    assert!(ran.code == Some(2) && ran.err.contains("--output"), "{}", ran.err);
    check_refused(&["lab", "explain", "wakes"], 2, &["did you mean 'wake'"]);
}
