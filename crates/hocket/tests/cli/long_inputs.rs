//! Long files at inputs (`--input`) and in front of a plug-in: they play from the disk, with the bits of files in memory.

use std::path::Path;
use std::process::Command;

use hocket_media::{WavFormat, decode};
use serde_json::Value;

use crate::conformed::{adpcm, noise, text};
use crate::long_files::{write_long, write_mp3};
use crate::plugins::Machine;
use crate::support::{Ran, check_refused, run, session};

/// Two channels and one, with the same file at both.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\nlength_s = 13\n[[input]]\nname = \"wide\"\n[[input]]\nname = \"narrow\"\n\
                       channels = 1\n[[track]]\nname = \"one\"\ninput = \"wide\"\n[[track]]\nname = \"two\"\ninput = \"narrow\"\n\
                       gain_db = -6\n";

fn render(file: &str, input: &Path, out: &Path, more: &[&str]) -> Ran {
    let [wide, narrow] = ["wide", "narrow"].map(|name| format!("{name}={}", text(input)));
    let args = ["render", file, "-v", "--force", "--format", "32f", "-o", text(out)];
    let ran = run(&[&args[..], &["--input", &wide, "--input", &narrow], more].concat());
    assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
    ran
}

#[test]
fn what_streams_into_an_input_has_the_bits_of_memory() {
    let (folder, file) = session(SESSION);
    let at = |name: &str| folder.path().join(name);
    noise(&at("as-it-is.wav"), 48_000, WavFormat::Pcm24);
    noise(&at("as-it-is.flac"), 48_000, WavFormat::Pcm16);
    noise(&at("other-rate.wav"), 44_100, WavFormat::Float32);
    noise(&at("odd-rate.wav"), 44_101, WavFormat::Pcm16);
    std::fs::write(at("mono.wav"), adpcm(48_000, 1_400, 7)).unwrap();
    let out = at("out.wav");
    let decoded = "plays from the disk, decoded into";
    for (name, how) in [
        ("as-it-is.wav", "plays from the disk: 15.00 s"),
        ("as-it-is.flac", "plays from the disk: 15.00 s"),
        ("other-rate.wav", decoded),
        ("odd-rate.wav", decoded),
        ("mono.wav", decoded),
    ] {
        let said = render(&file, &at(name), &out, &["--disk-buffer", "0"]).err;
        assert_eq!(said.matches("in memory: ").count(), 2, "{said}");
        let expected = std::fs::read(&out).unwrap();
        assert!(expected.iter().filter(|byte| **byte != 0).count() > 1_000_000, "{name}");
        for more in [&[][..], &["--frames", "37", "--workers", "2"], &["--strict"]] {
            let said = render(&file, &at(name), &out, more).err;
            let how = if name.ends_with(".flac") && more == ["--strict"] { decoded } else { how };
            assert_eq!(said.matches(how).count(), 2, "{said}");
            assert!(std::fs::read(&out).unwrap() == expected, "{name} {more:?}");
        }
    }
}

/// All of it would take 4 GB, and the process may have 2.
#[test]
fn of_three_hours_at_an_input_a_render_takes_what_it_plays() {
    let (folder, file) = session(&SESSION.replace("= 13", "= 0.3"));
    let at = |name: &str| folder.path().join(name);
    write_long(&at("long.wav"), &[(0, (0..40_000u32).map(|i| (i * 7) as u8).collect())]);
    let (out, feed) = (at("out.wav"), format!("wide={}", text(&at("long.wav"))));
    let ran = Command::new("bash")
        .args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hocket")])
        .args(["render", &file, "-v", "-o", text(&out), "--input", &feed, "--workers", "1"])
        .args(["--policy", "off"])
        .env("HOCKET_PROFILE", "none")
        .output()
        .unwrap();
    let ran = Ran::from(ran);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("10.30 s of 10800.00 s"), "{}", ran.err);
    assert!(decode(&out).unwrap().peak() > 0.01);
}

#[test]
fn damage_at_an_input_is_told_in_the_same_words_as_in_memory() {
    let (folder, file) = session(SESSION);
    let at = |name: &str| folder.path().join(name);
    let warnings = |more: &[&str]| -> Vec<String> {
        let said = render(&file, &at("a.mp3"), &at("out.wav"), more).err;
        said.lines().filter(|line| line.contains("warning: ")).map(str::to_owned).collect()
    };
    let feed = format!("wide={}", text(&at("a.mp3")));
    for (announced, word) in [(1500, "ends early"), (200, "behind the announced end")] {
        write_mp3(&at("a.mp3"), 1000, announced);
        let in_memory = warnings(&["--disk-buffer", "0"]);
        assert!(in_memory.len() == 2 && in_memory[0].contains(word), "{in_memory:?}");
        assert!(in_memory[0].contains("what can be read is played"), "{in_memory:?}");
        assert_eq!(warnings(&[]), in_memory);
        let refused = at("refused.wav");
        let strict = ["render", &file, "-o", text(&refused), "--strict", "--input", &feed];
        check_refused(&strict, 2, &["--input wide=", "a.mp3", word]);
    }
}

#[test]
fn what_cannot_play_at_an_input_is_refused_with_what_helps() {
    let (folder, file) = session(SESSION);
    let at = |name: &str| folder.path().join(name);
    let out = at("out.wav");
    std::fs::write(at("empty.wav"), []).unwrap();
    std::fs::write(at("text.wav"), "no sound at all").unwrap();
    std::fs::write(at("long.wav"), adpcm(48_000, 1_400, 7)).unwrap();
    // 10 TB when it is decoded.
    write_mp3(&at("endless.mp3"), 20, 1_200_000_000);
    let feed = |name: &str| format!("wide={}", text(&at(name)));
    let refused = |name: &str, more: &[&str], (code, words): (i32, &[&str])| {
        let input = feed(name);
        let args = ["render", &file, "-o", text(&out), "--input", &input];
        let named = format!("--input {input}: ");
        check_refused(&[&args[..], more].concat(), code, &[&[named.as_str()], words].concat());
        assert!(!out.exists());
    };
    refused("empty.wav", &[], (2, &["the file is empty"]));
    refused("text.wav", &[], (2, &["not an audio file"]));
    let too_long = ["more than 536870912 samples", "leave out --disk-buffer 0"];
    refused("endless.mp3", &["--disk-buffer", "0"], (2, &too_long));
    let endless = feed("endless.mp3");
    let play = ["play", &file, "--length", "0.1", "--input", &endless];
    check_refused(&play, 3, &["--input wide=", "are free", "TMPDIR", "cut the file"]);
    let limited = |folder: &Path, limit: &str| {
        let line = format!("{limit}exec \"$0\" \"$@\"");
        let ran = Command::new("bash")
            .args(["-c", &line, env!("CARGO_BIN_EXE_hocket"), "render", &file, "-o", text(&out)])
            .args(["--input", &feed("long.wav")])
            .env("HOCKET_PROFILE", "none")
            .env("TMPDIR", folder)
            .output()
            .unwrap();
        let ran = Ran::from(ran);
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        assert!(ran.err.contains("--input wide=") && ran.err.contains("set TMPDIR"), "{}", ran.err);
        ran.err
    };
    assert!(limited(&at("none"), "").contains("the folder does not exist"));
    assert!(limited(folder.path(), "ulimit -f 1000; ").contains("the largest size allowed"));
}

#[test]
fn play_reads_a_long_file_at_an_input_ahead() {
    let (folder, file) = session(SESSION);
    let sound = folder.path().join("sound.wav");
    noise(&sound, 44_100, WavFormat::Pcm16);
    let feed = format!("wide={}", text(&sound));
    let ran = run(&["play", &file, "--length", "0.2", "--input", &feed, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(told["disk"]["buffer_bytes"].as_u64().unwrap() > 0, "{told:#}");
    let ran = run(&["play", &file, "--length", "0.2", "--input", &feed, "--disk-buffer", "1000"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("--disk-buffer"), "{}", ran.err);
}

/// As it is, and decoded before.
#[test]
fn a_long_file_in_front_of_a_plug_in_plays_from_the_disk() {
    const NAME: &str = "a_long_file_in_front_of_a_plug_in_plays_from_the_disk";
    let Some(machine) = Machine::with_test_clap(NAME, "gain") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    noise(&at("a.wav"), 48_000, WavFormat::Pcm24);
    std::fs::write(at("b.wav"), adpcm(48_000, 1_400, 7)).unwrap();
    let plugin = "clap:test.hocket.gain";
    for (name, how) in
        [("a.wav", "plays from the disk: 15.00 s"), ("b.wav", "plays from the disk, decoded into")]
    {
        let (input, out) = (at(name), at("out.wav"));
        let render = ["plugin", "render", plugin, "-i", text(&input), "-o", text(&out)];
        let more = ["--format", "32f", "--force", "-v"];
        let ran = machine.run(&[&render[..], &more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains(how), "{}", ran.err);
        let (found, expected) = (decode(&out).unwrap(), decode(&input).unwrap());
        assert_eq!(found.frames(), expected.frames());
        for (channel, row) in found.channels.iter().enumerate() {
            let expected = &expected.channels[channel.min(expected.channels.len() - 1)];
            // Whatever its gain is, each sample has the same.
            let (loudest, _) =
                expected.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
            let gain = row[loudest] / expected[loudest];
            assert!(gain > 0.0);
            assert!(row.iter().zip(expected).all(|(a, b)| (a - gain * b).abs() < 1e-6), "{name}");
        }
    }
    std::fs::write(at("empty.wav"), []).unwrap();
    let (input, out) = (at("empty.wav"), at("none.wav"));
    let ran = machine.run(&["plugin", "render", plugin, "-i", text(&input), "-o", text(&out)]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let named = format!("{}: the file is empty", text(&input));
    assert_eq!(ran.err.matches(&named).count(), 1, "{}", ran.err);
}
