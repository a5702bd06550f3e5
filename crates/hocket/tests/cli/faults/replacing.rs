//! Fault 1: what an output may replace.

use super::{bench, record, through_shell};
use crate::support::{check_refused, files, one_track, run};

/// A command that names one file twice is refused before any work, and every file is as it was.
#[test]
fn fault_01_no_output_is_an_input_or_another_output() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::copy(record(), at("r.json")).unwrap();
    std::fs::hard_link(at("loop.flac"), at("hard.wav")).unwrap();
    std::os::unix::fs::symlink(at("r.json"), at("link.html")).unwrap();
    std::os::unix::fs::symlink(folder.path(), at("again")).unwrap();
    let before: Vec<_> =
        ["try.toml", "loop.flac", "r.json"].map(|name| std::fs::read(at(name)).unwrap()).into();
    let new = at("new.html");
    let new_again = at("again/new.html");
    let (deep, deep_again) = (at("x/new.html"), at("again/x/y/../new.html"));
    for args in [
        &["report", &at("r.json"), "-o", &at("r.json"), "--force"][..],
        &["report", &at("r.json"), "-o", &at("link.html"), "--force"],
        &["report", &at("r.json"), "-o", &new, "--svg", &new_again],
        &["render", &at("again/try.toml"), "-o", &at("loop.flac"), "--force"],
        &["render", &file, "-o", &at("hard.wav"), "--force"],
        &["bench", &file, "--record", &file, "--force"],
        &["bench", &file, "--record", &new, "--report", &new_again],
        &["bench", &file, "--record", &deep, "--report", &deep_again],
        &["tune", "--records", &new, "--output", &new_again],
        &["tune", "--records", &deep, "--output", &deep_again, "--force"],
        &["tune", "--from-records", "--records", &file, "--output", &at("again/try.toml")],
        &["lab", "report", "--records", &at("r.json"), "-o", &at("link.html"), "--force"],
        &["play", &file, "--length", "0.1", "--costs", &at("hard.wav")],
    ] {
        // A cost table is read first, and sound is none.
        let word = if args[0] == "play" { "cost table" } else { "nothing was changed" };
        check_refused(args, 2, &[word]);
    }
    for (name, bytes) in ["try.toml", "loop.flac", "r.json"].iter().zip(&before) {
        assert_eq!(&std::fs::read(at(name)).unwrap(), bytes, "{name}");
    }
    let names = ["again", "hard.wav", "link.html", "loop.flac", "r.json", "try.toml"];
    assert_eq!(files(folder.path()), names);
}

/// What Hocket wrote it may replace by the same kind of file; everything else needs `--force`.
#[test]
fn fault_01_only_own_files_are_replaced_without_force() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mine = b"my own notes".as_slice();
    let render = |name: &str| vec!["render".into(), file.clone(), "-o".into(), at(name)];
    let report = |more: &[&str]| {
        let args = ["report", record().to_str().unwrap()].into_iter().chain(more.iter().copied());
        args.map(String::from).collect::<Vec<_>>()
    };
    let lab_report = |more: &[&str]| {
        let records = crate::lab::measured().to_str().unwrap();
        let args = ["lab", "report", "--records", records].into_iter().chain(more.iter().copied());
        args.map(String::from).collect::<Vec<_>>()
    };
    for (name, args) in [
        ("a.wav", render("a.wav")),
        ("a.flac", render("a.flac")),
        ("a.html", report(&["-o", &at("a.html")])),
        ("a.svg", report(&["--svg", &at("a.svg")])),
        ("lab.html", lab_report(&["-o", &at("lab.html")])),
        ("aa.svg", lab_report(&["--pictures", &at("")])),
    ] {
        std::fs::write(at(name), mine).unwrap();
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        check_refused(&args, 2, &[name, "did not write", "--force"]);
        assert_eq!(std::fs::read(at(name)).unwrap(), mine);
        args.push("--force");
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let first = std::fs::read(at(name)).unwrap();
        args.pop();
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{name} twice: {}", ran.err);
        assert_eq!(std::fs::read(at(name)).unwrap(), first);
    }
    std::fs::write(at("r.json"), "{\"mine\": 1}").unwrap();
    check_refused(&["bench", &file, "--record", &at("r.json")], 2, &["--force"]);
    assert_eq!(std::fs::read(at("r.json")).unwrap(), b"{\"mine\": 1}");
    for more in [&["--force"][..], &[]] {
        let record = at("r.json");
        let mut all = vec!["--record", record.as_str()];
        all.extend(more);
        let ran = bench(&file, &all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    // An empty file, as mktemp makes it, holds nothing to lose.
    std::fs::write(at("empty.wav"), "").unwrap();
    assert_eq!(run(&["render", &file, "-o", &at("empty.wav")]).code, Some(0));
}

/// The same for commands that have outputs of their own kind. No plug-in and no record is needed to refuse.
#[test]
fn fault_01_no_command_writes_over_what_it_reads() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::hard_link(at("loop.flac"), at("hard.flac")).unwrap();
    std::os::unix::fs::symlink(at("try.toml"), at("again.toml")).unwrap();
    let before = ["try.toml", "loop.flac"].map(|name| std::fs::read(at(name)).unwrap());
    let loop_file = at("loop.flac");
    let plugin = ["plugin", "render", "clap:none", "-i", &loop_file, "--force", "-o"];
    let take = format!("one={}", at("hard.flac"));
    let one = at("one.wav");
    for (args, word) in [
        ([&plugin[..], &[&at("hard.flac")]].concat(), "this file is the input, too"),
        ([&plugin[..], &[&loop_file]].concat(), "this file is the input, too"),
        (vec!["session", "convert", &file, "-o", &file], "nothing was changed"),
        (vec!["session", "convert", &file, "-o", &at("again.toml")], "nothing was changed"),
        (vec!["play", &file, "--length", "0.1", "--take", &take], "a take never replaces a file"),
        (vec!["render", &file, "-o", &one, "--stems", &at("")], "this file is --output, too"),
    ] {
        check_refused(&args, 2, &[word]);
    }
    assert_eq!(["try.toml", "loop.flac"].map(|name| std::fs::read(at(name)).unwrap()), before);
    assert_eq!(files(folder.path()), ["again.toml", "hard.flac", "loop.flac", "try.toml"]);
}

/// The shell may have opened an input for standard output.
#[test]
fn fault_01_standard_output_is_no_input_either() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::copy(record(), at("r.json")).unwrap();
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/lab-quick-2cpu-vm.sqlite");
    std::fs::copy(lab, at("lab.sqlite")).unwrap();
    let names = ["try.toml", "loop.flac", "r.json", "lab.sqlite"];
    let before = names.map(|name| std::fs::read(at(name)).unwrap());
    let (audio, record, lab) = (at("loop.flac"), at("r.json"), at("lab.sqlite"));
    for line in [
        format!("render {file} -o - 1<> {audio}"),
        format!("render {file} -o /dev/stdout 1<> {audio}"),
        format!("render {file} -o - >> {file}"),
        format!("render - -o - < {file} >> {file}"),
        format!("session convert {file} -o - >> {file}"),
        format!("report {record} -o - 1<> {record}"),
        format!("report {record} -o - --force 1<> {record}"),
        // What is only printed would be added to them just so.
        format!("report {record} >> {record}"),
        format!("session show {file} >> {file}"),
        format!("check {file} >> {file}"),
        format!("play {file} --device virtual --length 0.1 --headless >> {audio}"),
        format!("bench {file} --blocks 1 --policy off >> {file}"),
        format!("trace {file} -o {} >> {file}", at("trace.html")),
        format!("lab query --records {lab} 'select 1' >> {lab}"),
        format!("lab export --records {lab} -o - >> {lab}"),
        format!("lab report --records {lab} --json >> {lab}"),
    ] {
        // The paths of a session from standard input begin where the command runs.
        let ran = through_shell(&format!("cd {} && \"$HOCKET\" {line}", at("")));
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.err);
        assert!(ran.err.contains("nothing was changed"), "{line}: {}", ran.err);
    }
    for (name, bytes) in names.iter().zip(&before) {
        assert!(&std::fs::read(at(name)).unwrap() == bytes, "{name}");
    }
    // Any other file takes what it gets.
    let ran =
        through_shell(&format!("\"$HOCKET\" render {file} -o - --length 0.1 > {}", at("a.wav")));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::read(at("a.wav")).unwrap().starts_with(b"RIFF"));
}

/// A link stays a link, and means its target whether that is there or not.
#[test]
fn fault_01_links_mean_their_targets() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
    link("page.html", "link.html");
    let ran = run(&["report", record().to_str().unwrap(), "-o", &at("link.html")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let is_link = |name: &str| folder.path().join(name).symlink_metadata().unwrap().is_symlink();
    assert!(is_link("link.html") && !is_link("page.html"));
    link("target", "link.json");
    let twice = ["bench", &file, "--record", &at("link.json"), "--report", &at("target")];
    check_refused(&twice, 2, &["this file is --record, too", "nothing was changed"]);
    // The part of a file lies beside the file, not beside the link.
    link("none/a.wav", "none.wav");
    check_refused(&["render", &file, "-o", &at("none.wav")], 3, &["there is no such folder"]);
    link("/proc/a.html", "proc.html");
    let report = ["report", record().to_str().unwrap(), "-o", &at("proc.html")];
    check_refused(&report, 3, &["cannot be written", "choose a folder"]);
    // Nobody may write to the folder of descriptors.
    let line = format!("report {} -o /dev/fd/9 9<> {}", record().display(), at("fd.html"));
    let ran = through_shell(&format!("\"$HOCKET\" {line}"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::read(at("fd.html")).unwrap().starts_with(b"<!DOCTYPE html>"));
}
