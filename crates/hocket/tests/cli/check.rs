//! `hocket check`, and what the other commands say of a session with several mistakes.

use crate::support::{Ran, example, files, one_track, run, session};

/// Four mistakes in four lines, and an audio file that is none.
const FOUR: &str = "[session]\nsample_rate_hz = 44100\n\n[[track]]\nname = \"one\"\npan = 4\ncolour = \"red\"\n\
                    [[track.clip]]\nfile = \"loop.flack\"\n[[track.clip]]\nfile = \"notes.txt\"\n";

#[track_caller]
fn names_all_four(ran: &Ran) {
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    for place in ["try.toml:6:7: ", "try.toml:7:1: ", "try.toml:9:8: ", "try.toml:11:8: "] {
        assert!(ran.err.contains(place), "{place} is missing in\n{}", ran.err);
    }
    assert_eq!(ran.err.matches("= remedy: ").count(), 4, "{}", ran.err);
    assert!(ran.err.contains("not an audio file that is known here"), "{}", ran.err);
}

#[test]
fn every_command_names_all_mistakes_of_a_session_and_writes_nothing() {
    let (folder, file) = session(FOUR);
    std::fs::write(folder.path().join("notes.txt"), "buy strings\n").unwrap();
    let out = folder.path().join("out.wav");
    let render = ["render", &file, "-o", out.to_str().unwrap()];
    for args in [
        &["check", &file][..],
        &["session", "check", &file],
        &["play", &file],
        &["bench", &file],
        &render,
    ] {
        names_all_four(&run(args));
    }
    assert_eq!(files(folder.path()), ["loop.flac", "notes.txt", "try.toml"]);
}

#[test]
fn a_session_without_mistakes_is_summed_up_and_nothing_is_rendered() {
    let band = example("band.toml");
    let ran = run(&["check", band.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "");
    for word in [
        "band.toml: ",
        "tracks",
        "audio files",
        "48000 Hz",
        "no mistakes",
        "of 44100 Hz converted to 48000 Hz",
    ] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
}

#[test]
fn each_of_several_sessions_is_checked() {
    let (_right_folder, right) = one_track("");
    let (_wrong_folder, wrong) = one_track("pan = 2");
    for order in [[&right, &wrong], [&wrong, &right]] {
        let ran = run(&["check", order[0], order[1]]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(
            ran.out.contains(": 1 track, 1 audio file at 44100 Hz: no mistakes"),
            "{}",
            ran.out
        );
        assert!(ran.err.contains("pan = 2 is out of range"), "{}", ran.err);
        assert!(ran.err.contains("1 of 2 sessions have mistakes"), "{}", ran.err);
    }
}

#[test]
fn what_is_probably_not_intended_is_a_warning() {
    let (_folder, file) = session(
        "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"one\"\n\
         clip = [{ file = \"loop.flac\", fade_in_s = 99 }]\n",
    );
    let ran = run(&["check", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning: ") && ran.err.contains("fades are longer"), "{}", ran.err);
}

/// The header of a FLAC file is whole, whatever is missing or wrong behind it.
#[test]
fn a_strict_check_reads_all_audio_to_its_end_and_names_every_damaged_file() {
    let track =
        |file: &str| format!("[[track]]\nname = \"{file}\"\nclip = [{{ file = \"{file}\" }}]\n");
    let all = ["loop.flac", "cut.flac", "bad.flac"].map(track).concat();
    let (folder, file) = session(&format!("[session]\nsample_rate_hz = 44100\n{all}"));
    let bytes = std::fs::read(example("audio/loop_mika.flac")).unwrap();
    std::fs::write(folder.path().join("cut.flac"), &bytes[..bytes.len() / 2]).unwrap();
    let mut bad = bytes.clone();
    let middle = bad.len() / 2;
    bad[middle..middle + 64].fill(0x55);
    std::fs::write(folder.path().join("bad.flac"), bad).unwrap();
    assert_eq!(run(&["check", &file]).code, Some(0));
    let ran = run(&["check", &file, "--strict"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    for words in ["try.toml:8:18: ", "cut.flac", "try.toml:11:18: ", "bad.flac", "damaged blocks: "]
    {
        assert!(ran.err.contains(words), "{words} is missing in\n{}", ran.err);
    }
    assert!(
        ran.err.matches("(frame ").count() >= 2 && !ran.err.contains("loop.flac"),
        "{}",
        ran.err
    );
    for name in ["cut.flac", "bad.flac"] {
        std::fs::write(folder.path().join(name), &bytes).unwrap();
    }
    let ran = run(&["check", &file, "--strict"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("no mistakes"), "{}", ran.out);
}

#[test]
fn a_rate_that_the_files_do_not_have_is_a_mistake_where_they_must_not_be_converted() {
    let (_folder, file) = one_track("");
    let refusing =
        std::fs::read_to_string(&file).unwrap().replace("44100", "44100\nresample = false");
    std::fs::write(&file, refusing).unwrap();
    assert_eq!(run(&["check", &file]).code, Some(0));
    let ran = run(&["check", &file, "--rate", "48000"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("this file has 44100 Hz, the session runs at 48000 Hz"),
        "{}",
        ran.err
    );
}

/// A loop of 0.02 s has 160 frames at the session's own rate, and 960 at 48 kHz.
#[test]
fn what_counts_frames_is_seen_at_the_rate_that_is_asked_for() {
    let text = "[session]\nsample_rate_hz = 8000\n[transport]\nloop_from = 0\nloop_to = 0.02\n[[track]]\n\
                name = \"one\"\nclip = [{ file = \"loop.flac\" }]\n";
    let (_folder, file) = session(text);
    let own = run(&["check", &file]);
    assert_eq!(own.code, Some(2));
    assert!(own.err.contains("try.toml:5:11: the loop is shorter than 256 frames"), "{}", own.err);
    let other = run(&["check", &file, "--rate", "48000"]);
    assert_eq!(other.code, Some(0), "{}", other.err);
    let (_folder, file) = session(&text.replace("8000", "48000"));
    assert_eq!(run(&["check", &file]).code, Some(0));
    assert_eq!(run(&["check", &file, "--rate", "8000"]).code, Some(2));
}
