//! Files that play from the disk, takes, and recordings that were interrupted, as a user meets them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hocket_media::decode;
use serde_json::Value;

use crate::streamed::{Stage, every_kind_of_clip};
use crate::support::{check_refused, files, hocket, in_small_file_system, one_track, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn bits(path: &Path) -> Vec<Vec<u32>> {
    let channels = decode(path).unwrap().channels;
    channels.iter().map(|row| row.iter().map(|sample| sample.to_bits()).collect()).collect()
}

#[test]
fn a_render_from_the_disk_has_the_bytes_of_one_from_memory() {
    let stage = Stage::new(&every_kind_of_clip());
    let at = |name: &str| stage.folder.path().join(name);
    let render = |output: &Path, more: &[&str]| {
        let mut args = vec!["render", text(&stage.file), "-v", "--length", "3", "-o", text(output)];
        args.extend(more);
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    };
    let streamed = render(&at("streamed.wav"), &[]);
    let in_memory = render(&at("memory.wav"), &["--disk-buffer", "0"]);
    let small = render(&at("small.wav"), &["--disk-buffer", "2M", "--schedule", "steal"]);
    let bytes = |name| std::fs::read(at(name)).unwrap();
    assert!(bytes("streamed.wav") == bytes("memory.wav"), "streamed");
    assert!(bytes("small.wav") == bytes("memory.wav"), "with a small buffer");
    for said in [&streamed, &small] {
        assert!(said.contains("d.flac: plays from the disk"), "{said}");
        assert!(said.contains("9 streams, each "), "{said}");
    }
    assert!(in_memory.contains("d.flac: in memory"), "{in_memory}");
    assert!(!in_memory.contains("from the disk"), "{in_memory}");
}

#[test]
fn a_disk_buffer_that_is_too_small_is_refused_with_what_would_do() {
    let stage = Stage::new(&every_kind_of_clip());
    let output = stage.folder.path().join("out.wav");
    let args = ["render", text(&stage.file), "-o", text(&output), "--disk-buffer", "100K"];
    check_refused(&args, 2, &["--disk-buffer", "9 clips", "1M or more", "or 0 to decode"]);
    check_refused(&["play", text(&stage.file), "--disk-buffer", "100K"], 2, &["9 clips"]);
    check_refused(&["play", text(&stage.file), "--disk-buffer", "lots"], 2, &["not a size"]);
    assert!(!output.exists());
}

#[test]
fn playing_from_the_disk_is_told_beside_the_misses() {
    let stage = Stage::new(&every_kind_of_clip());
    let ran = run(&["play", text(&stage.file), "--length", "0.3", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let disk = |key: &str| told["disk"][key].as_u64().unwrap();
    assert!(disk("used_bytes") > 0 && disk("used_bytes") <= disk("buffer_bytes"), "{told:#}");
    let streams = told["disk"]["streams"].as_array().unwrap().iter();
    let silent: u64 = streams.map(|stream| stream["silent_frames"].as_u64().unwrap()).sum();
    assert_eq!(silent, disk("silent_frames"));
    let ran = run(&["play", text(&stage.file), "--length", "0.1"]);
    assert!(ran.out.contains("disk: 9 streams, each "), "{}", ran.out);
    let ran = run(&["play", text(&stage.file), "--length", "0.1", "--json", "--disk-buffer", "0"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["disk"], Value::Null);
}

#[test]
fn bench_plays_from_the_disk_with_memory_for_every_variant() {
    let stage = Stage::new(&every_kind_of_clip());
    let two = [
        "--schedule",
        "serial,dataflow",
        "--policy",
        "off",
        "--blocks",
        "40",
        "--blocks-per-round",
        "20",
    ];
    let mut args = vec!["bench", text(&stage.file), "--json", "-v"];
    args.extend(two);
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Of each of the two, and of the twin.
    assert!(ran.err.contains("27 streams, each "), "{}", ran.err);
    let record: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(record["disk"].is_array(), "{record:#}");
}

#[test]
fn a_take_of_the_master_is_what_a_render_writes() {
    let stage = Stage::new(&every_kind_of_clip());
    let at = |name: &str| stage.folder.path().join(name);
    let take = |bus: &str, name: &str| format!("{bus}={}", text(&at(name)));
    let (master, band, room) =
        (take("master", "mix.wav"), take("band", "band.flac"), take("room", "room.WAV"));
    // Not a whole number of blocks.
    let length = ["--length", "0.301", "--disk-buffer", "0"];
    let mut args = vec!["play", text(&stage.file), "--json"];
    for take in [&master, &band, &room] {
        args.extend(["--take", take.as_str()]);
    }
    args.extend(length);
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.err, ran.out);
    let render = at("render.wav");
    let mut args = vec!["render", text(&stage.file), "-o", text(&render), "--format", "32f"];
    args.extend(length);
    assert_eq!(run(&args).code, Some(0));
    assert!(bits(&at("mix.wav")) == bits(&render));
    assert!(bits(&at("room.WAV")) != bits(&render), "the return is not the mix");

    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let takes = told["takes"].as_array().unwrap();
    assert_eq!(takes.len(), 3);
    for take in takes {
        assert_eq!(take["frames"], 14_448, "{take:#}");
        assert_eq!((&take["whole"], &take["error"]), (&Value::Bool(true), &Value::Null));
    }
    assert_eq!(decode(&at("band.flac")).unwrap().frames(), 14_448);
}

#[test]
fn a_take_never_replaces_anything() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("mine.wav"), "mine").unwrap();
    std::fs::write(at("noted.wav.take.toml"), "notes").unwrap();
    std::os::unix::fs::symlink(at("nowhere"), at("link.wav")).unwrap();
    let before = files(folder.path());
    let refused = |takes: &[&str], words: &[&str]| {
        let mut args = vec!["play".to_owned(), file.clone(), "--length".into(), "0.1".into()];
        for take in takes {
            let (bus, name) = take.split_once('=').unwrap();
            args.extend(["--take".into(), format!("{bus}={}", text(&at(name)))]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check_refused(&args, 2, words);
    };
    refused(&["master=mine.wav"], &["mine.wav exists", "never replaces"]);
    refused(
        &["master=noted.wav"],
        &["noted.wav.take.toml exists", "a take that was deleted", "remove them"],
    );
    refused(&["master=link.wav"], &["link.wav exists"]);
    refused(&["master=loop.flac"], &["loop.flac exists"]);
    refused(&["master=a.wav", "one=a.wav"], &["--take", "name another file"]);
    refused(&["master=a.mp3"], &["the ending says the format"]);
    refused(&["nobody=a.wav"], &["no strip 'nobody'", "one"]);
    check_refused(&["play", &file, "--take", "a.wav"], 2, &["STRIP=FILE"]);
    let notes = at("a.wav.take.toml");
    let costs = ["--costs", text(&notes)];
    let take = format!("master={}", text(&at("a.wav")));
    let both = [&["play", &file, "--length", "0.1", "--take", &take][..], &costs].concat();
    check_refused(&both, 2, &["--take", "name another file"]);
    assert_eq!(files(folder.path()), before);
    assert_eq!(std::fs::read(at("mine.wav")).unwrap(), b"mine");

    // Nor does a render replace a take.
    assert_eq!(run(&["play", &file, "--length", "0.1", "--take", &take]).code, Some(0));
    let recorded = std::fs::read(at("a.wav")).unwrap();
    check_refused(&["render", &file, "-o", text(&at("a.wav"))], 2, &["a.wav", "--force"]);
    assert_eq!(std::fs::read(at("a.wav")).unwrap(), recorded);
}

/// What moves is recorded as it is rendered.
#[test]
fn a_take_hears_lanes_tempos_and_the_loop() {
    let song = "[session]\nsample_rate_hz = 44100\n[transport]\nloop_from = 0.05\nloop_to = 0.15\n\
                [[tempo]]\nbpm = 90\nglide = \"linear\"\n[[tempo]]\nat_beats = 1\nbpm = 180\n\
                [[track]]\nname = \"one\"\nclip = [{ file = \"loop.flac\" }]\n\
                [[track.automation]]\nparameter = \"gain_db\"\ntime = \"beats\"\npoints = [[0, -40], [0.3, 0]]\n";
    let (folder, file) = crate::support::session(song);
    let (take, render) = (folder.path().join("take.wav"), folder.path().join("render.wav"));
    let length = ["--length", "0.4"];
    let arg = format!("master={}", text(&take));
    let ran = run(&[&["play", &file, "--take", &arg][..], &length].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran =
        run(&[&["render", &file, "-o", text(&render), "--format", "32f"][..], &length].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(bits(&take) == bits(&render));
}

/// The shell lets no file grow beyond 64 KiB: the same failure as a full disk, at another place.
#[test]
fn a_disk_that_is_full_ends_the_take_and_is_told_with_exit_code_4() {
    let (folder, file) = one_track("");
    let take = folder.path().join("take.wav");
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let ran = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_hocket"), "play", &file, "--length", "1"])
        .args(["--take", &format!("master={}", text(&take))])
        // With this limit, JACK's library would leave its data base of all clients half made, and every later client would wait.
        .env("HOCKET_PROFILE", "none")
        .env("HOCKET_DEVICE", "virtual")
        .output()
        .unwrap();
    let ran = crate::support::Ran::from(ran);
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("it ended early"), "{}", ran.out);
    // What fits is a valid file.
    let kept = decode(&take).unwrap();
    assert!(kept.frames() > 0 && kept.warnings.is_empty(), "{:?}", kept.warnings);
}

/// A file system of 300 KiB in a namespace of its own. What fits is what a render has there, to the bit.
#[test]
fn a_full_file_system_ends_the_take_alone_and_what_was_written_is_intact() {
    const NAME: &str = "a_full_file_system_ends_the_take_alone_and_what_was_written_is_intact";
    let (folder, file) = one_track("");
    let (full, kept) = (folder.path().join("full"), folder.path().join("kept.wav"));
    let (render, log) = (folder.path().join("render.wav"), folder.path().join("log.jsonl"));
    std::fs::create_dir(&full).unwrap();
    let play = format!(
        "'{}' play '{file}' --length 4 --json --headless --take master='{full}/take.wav' --log '{log}'; code=$?; \
         cp '{full}/take.wav' '{kept}'; exit $code",
        env!("CARGO_BIN_EXE_hocket"),
        full = text(&full),
        kept = text(&kept),
        log = text(&log),
    );
    let Some(ran) = in_small_file_system(300, &full, &play) else {
        return println!("SKIPPED {NAME}: no mount in a namespace of its own here");
    };
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (told, looks) = lines.split_last().unwrap();
    let take = &told["takes"][0];
    let error = take["error"].as_str().unwrap();
    assert!(error.contains("take.wav") && error.contains("free some space"), "{error}");
    assert!(told["frames_played"].as_u64().unwrap() >= 176_400, "the song goes on");
    check_told_at_once(&ran.err, looks, &std::fs::read_to_string(&log).unwrap(), error);

    let args = ["render", &file, "-o", text(&render), "--format", "32f", "--length", "4"];
    assert_eq!(run(&args).code, Some(0));
    let (kept, render) = (bits(&kept), bits(&render));
    let frames = kept[0].len();
    assert_eq!(take["frames"], frames as u64);
    assert!(frames > 10_000 && frames < 176_400, "{frames}");
    for (kept, render) in kept.iter().zip(&render) {
        assert!(kept[..] == render[..frames]);
    }
}

/// A take that fails is reported while the session plays: on standard error, in the lines of each second, and in the log.
fn check_told_at_once(said: &str, looks: &[Value], log: &str, error: &str) {
    assert_eq!(said.matches("warning: take master: ended early: ").count(), 1, "{said}");
    let look = looks.last().expect("a line each second");
    let take = &look["takes"][0];
    assert_eq!((&take["error"], &take["writes"]), (&error.into(), &false.into()), "{look:#}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let takes: Vec<&Value> = lines.iter().filter(|line| line["event"] == "take").collect();
    let [take] = &takes[..] else { panic!("one event: {log}") };
    assert_eq!((&take["error"], &take["bus"]), (&error.into(), &"master".into()), "{take}");
    // The disk is full after 1 s.
    assert!(take["after_s"].as_f64().unwrap() < 3.5, "{take}");
}

/// The disk of the second take is full from the start. The same command works as soon as there is room.
#[test]
fn a_take_that_cannot_begin_leaves_nothing_of_the_others() {
    const NAME: &str = "a_take_that_cannot_begin_leaves_nothing_of_the_others";
    let (folder, file) = one_track("");
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    let play = format!(
        "cat /dev/zero >'{full}/all' 2>/dev/null; '{}' play '{file}' --length 0.1 --take master='{mix}' \
         --take one='{full}/one.wav'; code=$?; rm '{full}/all'; ls '{full}'; exit $code",
        env!("CARGO_BIN_EXE_hocket"),
        full = text(&full),
        mix = text(&folder.path().join("mix.wav")),
    );
    let Some(ran) = in_small_file_system(64, &full, &play) else {
        return println!("SKIPPED {NAME}: no mount in a namespace of its own here");
    };
    assert_eq!(ran.code, Some(3), "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("one.wav") && ran.err.contains("the disk is full"), "{}", ran.err);
    assert!(ran.err.contains("free some space"), "{}", ran.err);
    assert_eq!(ran.out, "", "files on the full disk");
    assert_eq!(files(folder.path()), ["full", "loop.flac", "try.toml"]);
}

#[test]
fn headless_lines_name_a_take_that_has_ended() {
    const NAME: &str = "headless_lines_name_a_take_that_has_ended";
    let (folder, file) = one_track("");
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    let play = format!(
        "'{}' play '{file}' --length 4 --headless --take master='{}/take.wav'",
        env!("CARGO_BIN_EXE_hocket"),
        text(&full),
    );
    let Some(ran) = in_small_file_system(300, &full, &play) else {
        return println!("SKIPPED {NAME}: no mount in a namespace of its own here");
    };
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    let mut lines = ran.out.lines().filter(|line| line.contains(" of 4.0 s, playing at bar "));
    assert!(lines.any(|line| line.contains("; take master: ended early: ")), "{}", ran.out);
}

#[test]
fn a_take_that_was_killed_is_recovered() {
    let (folder, file) = one_track("");
    let take = folder.path().join("take.wav");
    let mut child = hocket(&["play", &file, "--length", "600"])
        .args(["--take", &format!("master={}", text(&take))])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The program gives the system 256 KiB at a time, and states in the header what is on the disk.
    let begun = Instant::now();
    let len = || std::fs::metadata(&take).map_or(0, |there| there.len());
    while len() < 600_000 && begun.elapsed() < Duration::from_secs(600) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let bytes = len();
    assert!(bytes >= 600_000, "the take never grew");

    let ran = run(&["recover", text(&take)]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("take.wav: the header"), "{}", ran.out);
    let audio = decode(&take).unwrap();
    assert_eq!(audio.warnings, Vec::<String>::new());
    // Two channels of floats behind a header of less than a kilobyte.
    let frames = audio.frames() as u64;
    assert!(frames * 8 <= bytes && bytes - frames * 8 < 1_000, "{frames} frames, {bytes} bytes");
    let again = run(&["recover", text(&take)]);
    assert_eq!(again.code, Some(0));
    assert!(again.out.contains("the header is right"), "{}", again.out);
}

#[test]
fn what_is_no_recording_is_refused_and_the_others_are_recovered() {
    let (folder, file) = one_track("");
    let whole = folder.path().join("loop.flac");
    let missing = folder.path().join("missing.wav");
    check_refused(&["recover", text(&missing)], 2, &["missing.wav", "cannot be recovered"]);
    check_refused(&["recover", &file], 2, &["neither RIFF nor RF64 nor fLaC"]);
    let ran = run(&["recover", &file, text(&whole)]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.out.contains("loop.flac: the header is right"), "{}", ran.out);
}

#[test]
fn open_files_are_allowed_as_far_as_the_system_does_and_refused_beyond() {
    let stage = Stage::new(&every_kind_of_clip());
    let output = stage.folder.path().join("out.wav");
    let render = |limit: &str| {
        let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
        let ran = Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_hocket"), "render", text(&stage.file)])
            .args(["-o", text(&output), "--length", "0.1"])
            .env("HOCKET_PROFILE", "none")
            .output()
            .unwrap();
        crate::support::Ran::from(ran)
    };
    let refused = render("-n 200");
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    for word in ["9 clips", "265 open files", "200 are allowed", "--disk-buffer 0"] {
        assert!(refused.err.contains(word), "{word}: {}", refused.err);
    }
    assert_eq!(render("-Sn 40").code, Some(0));
}
