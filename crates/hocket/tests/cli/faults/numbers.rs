//! Fault 2: numbers are checked before anything is loaded.

use crate::support::{check_refused, example, files, one_track, run, session};

/// Rates beyond all reason are refused while the audio is still on the disk: a file that cannot be decoded is not even
/// looked at.
#[test]
fn fault_02_every_number_is_checked_before_the_audio_is_loaded() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nresample = true\n[[track]]\nname = \"a\"\n\
         clip = [{ file = \"cut.flac\" }]\n",
    );
    // Its header is right; that its end is missing shows when it is decoded.
    let whole = std::fs::read(example("audio/loop_mika.flac")).unwrap();
    std::fs::write(folder.path().join("cut.flac"), &whole[..whole.len() / 2]).unwrap();
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    for rate in ["7", "384001", "10000000", "4294967295"] {
        let words = ["384000 Hz", rate];
        check_refused(&["render", &file, "-o", out, "--strict", "--rate", rate], 2, &words);
        check_refused(&["bench", &file, "--strict", "--rate", rate], 2, &words);
        check_refused(&["play", &file, "--strict", "--rate", rate], 2, &words);
    }
    for (flag, wrong, word) in [
        ("--frames", "9000", "8192"),
        ("--workers", "5000", "5000 workers"),
        ("--length", "1e9", "86400"),
    ] {
        check_refused(&["render", &file, "-o", out, "--strict", flag, wrong], 2, &[word]);
        check_refused(&["play", &file, "--strict", flag, wrong], 2, &[word]);
    }
    check_refused(&["bench", &file, "--strict", "--frames", "9000"], 2, &["8192"]);
    check_refused(&["bench", &file, "--strict", "--workers", "5000"], 2, &["5000 workers"]);
    check_refused(&["bench", &file, "--strict", "--disturb", "disk"], 2, &["preview or compute"]);
    check_refused(&["render", &file, "-o", out, "--strict"], 2, &["cut.flac", " ends "]);
}

/// What would be unpacked is no project at all, and nobody gets to know that.
#[test]
fn fault_02_every_number_is_checked_before_a_project_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (project, out) = (at("song.dawproject"), at("out.wav"));
    std::fs::write(&project, "no archive").unwrap();
    check_refused(&["bench", &project], 2, &["song.dawproject"]);
    let everywhere = [("--frames", "9000", "8192"), ("--workers", "5000", "5000 workers")];
    for (flag, wrong, word) in everywhere {
        check_refused(&["render", &project, "-o", &out, flag, wrong], 2, &[word]);
        check_refused(&["play", &project, flag, wrong], 2, &[word]);
        check_refused(&["bench", &project, flag, wrong], 2, &[word]);
    }
    check_refused(&["play", &project, "--length", "1e9"], 2, &["86400"]);
    for (flag, wrong, word) in
        [("--length", "1e9", "86400"), ("--from", "-1", "0 to 1000000"), ("--to", "1e7", "--to 1")]
    {
        check_refused(&["render", &project, "-o", &out, flag, wrong], 2, &[word]);
    }
    check_refused(&["bench", &project, "--disturb", "disk"], 2, &["preview or compute"]);
    check_refused(&["bench", &project, "--disturb", "compute@cpu99999"], 2, &["CPU 99999"]);
    let plugin = ["plugin", "render", "clap:none", "-i", &project, "-o", &out, "--frames", "9000"];
    check_refused(&plugin, 2, &["8192"]);
    assert_eq!(files(folder.path()), ["song.dawproject"]);
}

/// Whatever is refused after the place of a record was looked at.
#[test]
fn fault_02_what_is_refused_leaves_no_folder_behind() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, busy) = (at("new/folder/r.json"), at("loop.flac/r.html"));
    let bench = ["bench", &file, "--record", &record];
    check_refused(&[&bench[..], &["--report", &file]].concat(), 2, &["nothing was changed"]);
    check_refused(&[&bench[..], &["--report", &busy]].concat(), 3, &["--report", "loop.flac"]);
    check_refused(&[&bench[..], &["--disturb", "preview"]].concat(), 2, &["preview"]);
    let profile = at("new/m.toml");
    let tune = ["tune", "--from-records", "--records", &at("none.sqlite"), "--output", &profile];
    check_refused(&tune, 2, &["none.sqlite"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

/// A number of 300 digits is refused in one short line.
#[test]
fn fault_02_huge_and_tiny_numbers_are_refused_in_short() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let render = ["render", &file, "-o", out.to_str().unwrap()];
    for (option, said) in [
        ("--length=1e300", "--length 1e300: choose more than 0 and at most 86400 seconds"),
        ("--length=-1e-300", "--length -1e-300: choose more than 0"),
        ("--from=1e300", "--from 1e300: choose 0 to 1000000 seconds"),
        ("--from=4294967295:1", "--from 4294967295:1: it is later than 1000000 seconds"),
        ("--from=1:65535", "bar 1 has no beat 65535"),
    ] {
        let ran = run(&[&render[..], &[option]].concat());
        assert!(ran.code == Some(2) && ran.err.contains(said), "{option}: {}", ran.err);
        assert!(ran.err.len() < 300, "{}", ran.err);
    }
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}
