//! Fault 7: what is done in another way than asked is said.

use crate::support::{one_track, root, run, session};

/// What is done in another way than asked is said.
#[test]
fn fault_07_nothing_is_changed_without_a_word() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    let said = |args: &[&str], words: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        let text = ran.err + &ran.out;
        for word in words {
            assert!(text.contains(word), "{args:?} does not say '{word}':\n{text}");
        }
    };
    let turns =
        ["bench", &file, "--policy", "off", "--disturb", "none", "--blocks-per-round", "20"];
    let mut odd = turns.to_vec();
    odd.extend(["--blocks", "21"]);
    said(&odd, &["--blocks 21: 40 blocks are measured, whole turns of 20"]);
    odd.push("-q");
    said(&odd, &["warning: --blocks 21: 40 blocks are measured"]);
    let short = ["bench", &file, "--policy", "off", "--disturb", "none", "--blocks", "20"];
    let more = ["--starts", "2", "--blocks-per-round", "30"];
    let words =
        ["--starts 2: 1 start of the program", "--blocks-per-round 30: a turn has 20 blocks"];
    said(&[&short[..], &more].concat(), &words);
    let usual = run(&short).err;
    assert!(!usual.contains("--starts") && !usual.contains("--blocks-per-round"), "{usual}");
    let mut even = turns.to_vec();
    even.extend(["--blocks", "40"]);
    assert!(!run(&even).err.contains("--blocks"));
    let seats = run(&["machine", "--json"]).out;
    let seats: serde_json::Value = serde_json::from_str(&seats).unwrap();
    let usable = seats["seats"].as_array().unwrap().iter().filter(|seat| seat["allowed"] == true);
    if usable.count() > 1 {
        let serial = ["--schedule", "serial", "--workers", "2", "--policy", "all"];
        let word = "--workers 2: the schedule serial runs on 1 worker";
        for command in [
            &["render", &file, "-o", out][..],
            &["play", &file, "--length", "0.1"],
            &["bench", &file, "--blocks", "20", "--blocks-per-round", "20", "--disturb", "none"],
        ] {
            let args: Vec<_> = command.iter().chain(&serial).copied().collect();
            said(&args, &[word]);
            let quiet = run(&[&args[..], &["--quiet"]].concat());
            assert!(quiet.err.contains(&format!("warning: {word}")), "{args:?}: {}", quiet.err);
        }
    } else {
        println!("SKIPPED fault_07_nothing_is_changed_without_a_word: --workers 2 needs two seats");
    }
    // Granted or not, and why not.
    said(&["render", &file, "-o", out, "--policy", "cookie"], &["policy cookie: "]);
    let records = format!("{out}.sqlite");
    let ran = run(&["lab", "run", "aa", "wake", "-q", "--time", "1s", "--records", &records]);
    let place = |word: &str| ran.err.find(word).unwrap_or_else(|| panic!("{word}: {}", ran.err));
    let before = place("warning: --time 1s: this is too short to tell; about ");
    assert!(before < place("warning: --time 1s: the run took"), "{}", ran.err);
}

/// Hocket warns of fades that are longer than their clip, whatever ends the clip.
#[test]
fn fault_07_fades_longer_than_their_clip_are_always_told() {
    let fades = |more: &str| {
        let (_folder, file) = session(&format!(
            "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{{ file = \"loop.flac\"{more} }}]\n"
        ));
        let out = tempfile::tempdir().unwrap();
        let ran = run(&[
            "render",
            &file,
            "-o",
            out.path().join("x.wav").to_str().unwrap(),
            "--length",
            "0.1",
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err.contains("try.toml:5:") && ran.err.contains("fades are longer than the clip")
    };
    assert!(fades(", length_s = 0.1, fade_in_s = 0.1, fade_out_s = 0.1"));
    assert!(fades(", fade_in_s = 60"));
    assert!(fades(", length_s = 100, fade_in_s = 10, fade_out_s = 50"));
    assert!(!fades(", fade_in_s = 0.01, fade_out_s = 0.01"));
    assert!(!fades(", loop = true, fade_in_s = 60"));
}

/// `count = "seats * 2"` is as good as `x`, and the page of the format says so.
#[test]
fn fault_07_the_format_page_names_every_way_to_count_seats() {
    let page = std::fs::read_to_string(root().join("docs/session-format.md")).unwrap();
    let (folder, _) = one_track("");
    let file = folder.path().join("try.toml");
    for count in ["seats", "seats x 2", "seats * 2"] {
        let text = format!(
            "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\ncount = \"{count}\"\n\
             clip = [{{ file = \"loop.flac\" }}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let out = folder.path().join("out.wav");
        let ran = run(&[
            "render",
            file.to_str().unwrap(),
            "-o",
            out.to_str().unwrap(),
            "--length",
            "0.1",
        ]);
        assert!(
            ran.code == Some(0) && page.contains(&format!("\"{count}\"")),
            "{count}: {}",
            ran.err
        );
    }
}

/// Options of one device mean nothing to another one, and that is said.
#[test]
fn fault_07_options_of_another_device_are_named() {
    let (_folder, file) = one_track("");
    let play = ["play", &file, "--length", "0.05", "--device", "virtual"];
    let plain = run(&play);
    assert!(plain.code == Some(0) && !plain.err.contains("changes nothing"), "{}", plain.err);
    let more = ["--client", "band", "--connect", "no", "--periods", "3"];
    let ran = run(&[&play[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "--client changes nothing: only jack has it",
        "--connect changes nothing: only jack has it",
        "--periods changes nothing: only alsa has it",
    ] {
        assert!(ran.err.contains(line), "no '{line}' in\n{}", ran.err);
    }
}
