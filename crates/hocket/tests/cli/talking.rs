//! What is said beside results: conversions, what was written, where the time went; less with -q, more with -v.

use crate::support::{check_refused, run, session};

/// The smallest session of the documentation, with a file of 44.1 kHz.
const SMALLEST: &str = "[[track]]\nname = \"drums\"\n\n[[track.clip]]\nfile = \"loop.flac\"\n";

#[test]
fn the_smallest_session_plays_a_file_of_44100_hz_and_says_so_in_one_line() {
    let (folder, file) = session(SMALLEST);
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &file, "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said: Vec<&str> = ran.err.lines().filter(|line| line.contains("44100 Hz")).collect();
    assert_eq!(
        said,
        [
            "hocket: 1 audio file of 44100 Hz converted to 48000 Hz; resample = false in [session] refuses that"
        ]
    );
    let decoded = |path| hocket_media::decode(path).unwrap();
    let (loop_file, out) = (decoded(&folder.path().join("loop.flac")), decoded(&out));
    assert_eq!(out.sample_rate_hz, 48_000);
    assert!((out.length_s() - loop_file.length_s()).abs() < 0.001 && out.peak() > 0.01);
}

#[test]
fn a_session_that_forbids_conversion_is_refused() {
    let (folder, file) = session(&format!("[session]\nresample = false\n{SMALLEST}"));
    let out = folder.path().join("out.wav");
    let words = ["try.toml:7:8", "this file has 44100 Hz", "resample = false"];
    check_refused(&["render", &file, "-o", out.to_str().unwrap()], 2, &words);
    assert!(!out.exists());
    // A session that allows it in so many words is read as before.
    std::fs::write(&file, format!("[session]\nresample = true\n{SMALLEST}")).unwrap();
    assert_eq!(run(&["render", &file, "-o", out.to_str().unwrap()]).code, Some(0));
}

#[test]
fn quiet_and_verbose_change_what_is_said_and_not_what_is_done() {
    let (folder, file) = session(SMALLEST);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let render = |name: &str, more: &[&str]| {
        // Integers would be clipped, and that is a warning.
        let args = ["render", &file, "-o", &at(name), "--format", "32f"];
        let ran = run(&[&args[..], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
        (ran.err, std::fs::read(at(name)).unwrap())
    };
    let (usual, bytes) = render("usual.wav", &[]);
    let (quiet, quiet_bytes) = render("quiet.wav", &["-q"]);
    let (verbose, verbose_bytes) = render("verbose.wav", &["--verbose"]);
    assert_eq!(quiet, "");
    assert!(bytes == quiet_bytes && bytes == verbose_bytes);
    let size = format!("wrote {} ({} kB, ", at("usual.wav"), bytes.len().div_ceil(1000));
    assert!(usual.contains(&size), "no '{size}' in\n{usual}");
    for part in [" s of audio, ", " times real time (loading ", " s, rendering "] {
        assert!(usual.contains(part), "no '{part}' in\n{usual}");
    }
    let detail = "loop.flac: in memory: 44100 Hz, channels: ";
    assert!(verbose.contains(detail) && !usual.contains(detail), "{verbose}");
    check_refused(&["render", &file, "-o", &at("x.wav"), "-q", "-v"], 2, &["--quiet", "--verbose"]);
}

#[test]
fn errors_and_warnings_are_said_quietly_too() {
    let (_folder, file) = session("[[track]]\nname = \"drums\"\n");
    let ran = run(&["--quiet", "check", &file]);
    assert!(ran.code == Some(0) && ran.err.contains("warning: "), "{}", ran.err);
    check_refused(&["-q", "check", "none.toml"], 2, &["none.toml", "cannot be read"]);
}

#[test]
fn every_written_file_is_said_with_its_size() {
    let (folder, file) = session(SMALLEST);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, page, picture, costs) = (at("r.json"), at("r.html"), at("r.svg"), at("c.toml"));
    let check = |args: &[&str], written: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for path in written {
            let wrote = format!("hocket: wrote {path} (");
            let lines: Vec<&str> =
                ran.err.lines().filter(|line| line.starts_with(&wrote)).collect();
            assert!(lines.len() == 1 && lines[0].ends_with(" s)"), "{path} in\n{}", ran.err);
        }
    };
    let bench = ["bench", &file, "--blocks", "20", "--policy", "off", "--record", &record];
    check(&[&bench[..], &["--report", &page]].concat(), &[&record, &page]);
    check(&["report", &record, "-o", &page, "--svg", &picture], &[&page, &picture]);
    check(&["play", &file, "--length", "0.2", "--costs", &costs], &[&costs]);
}
