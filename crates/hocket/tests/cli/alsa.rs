//! `hocket play --device alsa` on plug-ins of ALSA that need no card: `file` keeps what was played, `null` plays nowhere.
//! Neither has a clock, so nothing here is about time.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, example, hocket, one_track, root, session, write_wav};

const RATE_HZ: u32 = 48_000;

/// A folder with ALSA's settings for this test alone.
struct Alsa {
    folder: tempfile::TempDir,
}

impl Alsa {
    /// `None`: there is no libasound.
    fn new(test: &str) -> Option<Alsa> {
        if let Err(why) = crate::sentry::has_libasound() {
            println!("SKIPPED {test}: {why} (Debian: libasound2)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let kept = |name: &str, file: &str, infile: &str| {
            format!(
                "pcm.{name} {{\n  type file\n  slave {{ pcm {{ type null }} }}\n  file \"{file}\"\n  {infile}\n  \
                 format \"raw\"\n}}\n"
            )
        };
        // What comes in is kept as well, so each direction has a file of its own.
        let settings = "pcm.nowhere { type null }\n".to_string()
            + &kept("plays", &path("out.raw"), "")
            + &kept("records", "/dev/null", &format!("infile \"{}\"", path("in.raw")))
            + "pcm.kept {\n  type asym\n  playback.pcm plays\n  capture.pcm records\n}\n";
        std::fs::write(folder.path().join("alsa.conf"), settings).unwrap();
        std::fs::write(folder.path().join("in.raw"), []).unwrap();
        Some(Alsa { folder })
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = hocket(args);
        command.env("ALSA_CONFIG_PATH", self.path("alsa.conf"));
        command.env("JACK_DEFAULT_SERVER", "hocket-nobody");
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Two channels that were played.
    fn kept(&self) -> [Vec<f32>; 2] {
        let bytes = std::fs::read(self.path("out.raw")).unwrap();
        let samples: Vec<f32> =
            bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        [0, 1].map(|channel| samples[channel..].iter().step_by(2).copied().collect())
    }
}

fn rendered(args: &[&str]) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.wav").display().to_string();
    let rate = RATE_HZ.to_string();
    let ran = crate::support::run(
        &[&["render"][..], args, &["-o", &out, "--format", "32f", "--rate", &rate]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    hocket_media::decode(Path::new(&out)).unwrap().channels
}

#[track_caller]
fn json(ran: &Ran, code: i32) -> Value {
    assert_eq!(ran.code, Some(code), "{}\n{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// The file begins with the silence that fills the card's buffer but for one period; then comes every sample.
#[track_caller]
fn check_same_bits(kept: &[Vec<f32>], rendered: &[Vec<f32>], silence: usize) {
    for (channel, (kept, rendered)) in kept.iter().zip(rendered).enumerate() {
        assert!(kept.iter().take(silence).all(|sample| *sample == 0.0));
        let kept = &kept[silence..];
        assert!(kept.len() >= rendered.len(), "{} of {}", kept.len(), rendered.len());
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
        let place = kept.iter().zip(rendered).position(differs);
        assert_eq!(place, None, "channel {channel}, first frame that differs");
    }
    assert!(rendered.iter().flatten().any(|sample| *sample != 0.0));
}

#[test]
fn a_card_plays_what_render_writes() {
    let Some(alsa) = Alsa::new("a_card_plays_what_render_writes") else { return };
    let band = example("band.toml").display().to_string();
    for (frames, periods) in [("64", "2"), ("256", "3"), ("1024", "2")] {
        let _ = std::fs::remove_file(alsa.path("out.raw"));
        let play = ["play", &band, "--device", "alsa:kept", "--length", "1.5", "--json"];
        let ran = alsa.run(&[&play[..], &["--frames", frames, "--periods", periods]].concat());
        let told = json(&ran, 0);
        assert_eq!((&told["device"], &told["rate_hz"]), (&"alsa".into(), &RATE_HZ.into()));
        assert_eq!(told["frames"].to_string(), frames);
        assert_eq!(told["xruns"]["ours"], 0, "a file is never too late");
        let frames: u64 = frames.parse().unwrap();
        let silence = frames * (periods.parse::<u64>().unwrap() - 1);
        assert_eq!(told["latency"]["out_frames"], silence);
        let rendered = rendered(&[&band, "--length", "1.5"]);
        check_same_bits(&alsa.kept(), &rendered, silence as usize);
    }
}

#[test]
fn what_a_card_records_comes_into_the_session() {
    let Some(alsa) = Alsa::new("what_a_card_records_comes_into_the_session") else { return };
    // The same recording, once as the card's and once as a file at the input.
    let text = format!(
        "[session]\nname = \"try\"\nsample_rate_hz = {RATE_HZ}\nlength_s = 1\n\n[[input]]\nname = \"mic\"\n\n\
         [[track]]\nname = \"one\"\ninput = \"mic\"\n"
    );
    let (folder, file) = session(&text);
    let wav = folder.path().join("mic.wav").display().to_string();
    let snare = root().join("sessions/audio/drum_snare_hard.flac");
    let audio = hocket_media::decode(&snare).unwrap();
    // Behind the end of its file, the plug-in gives old samples again.
    let silence = vec![0.0; 2 * RATE_HZ as usize];
    let bytes: Vec<u8> = audio.channels[0]
        .iter()
        .chain(&silence)
        .flat_map(|sample| [*sample, *sample])
        .flat_map(f32::to_le_bytes)
        .collect();
    std::fs::write(alsa.path("in.raw"), bytes).unwrap();
    write_wav(Path::new(&wav), RATE_HZ, &audio.channels[0]);
    let play = ["play", &file, "--device", "alsa:kept", "--length", "1", "--frames", "256"];
    let told = json(&alsa.run(&[&play[..], &["--json"]].concat()), 0);
    assert_eq!(told["latency"]["in_frames"], 256);
    let arg = format!("mic={wav}");
    check_same_bits(&alsa.kept(), &rendered(&[&file, "--length", "1", "--input", &arg]), 256);
}

#[test]
fn null_plays_nowhere_and_ends() {
    let Some(alsa) = Alsa::new("null_plays_nowhere_and_ends") else { return };
    let (_folder, file) = one_track("");
    let play = ["play", &file, "--device", "alsa:nowhere", "--length", "0.5"];
    let told = json(&alsa.run(&[&play[..], &["--json"]].concat()), 0);
    assert!(told["frames_played"].as_u64().unwrap() >= u64::from(RATE_HZ) / 2);
    let ran = alsa.run(&[&play[..], &["-v"]].concat());
    assert!(ran.err.contains("main_1 -> nowhere:playback_1"), "{}", ran.err);
}

#[test]
fn what_is_not_there_is_refused_with_a_remedy() {
    let Some(alsa) = Alsa::new("what_is_not_there_is_refused_with_a_remedy") else { return };
    let (_folder, file) = one_track("");
    let refused = |more: &[&str], code: i32, words: &[&str]| {
        let ran = alsa.run(&[&["play", &file, "--length", "0.1"][..], more].concat());
        assert_eq!(ran.code, Some(code), "{more:?}: {}", ran.err);
        words.iter().for_each(|word| assert!(ran.err.contains(word), "{word}: {}", ran.err));
        assert!(!ran.err.contains("ALSA lib"), "the library's own words: {}", ran.err);
    };
    let gone = ["'gone' cannot be opened", "hocket devices"];
    refused(&["--device", "alsa:gone"], 3, &gone);
    refused(&["--device", "alsa"], 3, &["'default' cannot be opened"]);
    refused(&["--device", "alsa:kept", "--periods", "1"], 2, &["--periods"]);
}

#[test]
fn without_the_library_it_is_missing_and_says_so() {
    // The loader finds these first, and they are no libraries.
    let folder = tempfile::tempdir().unwrap();
    for name in ["libasound.so.2", "libasound.so"] {
        std::fs::write(folder.path().join(name), "no library").unwrap();
    }
    let (_session, file) = one_track("");
    let run = |args: &[&str]| -> Ran {
        let mut command = hocket(args);
        command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap().into()
    };
    let ran = run(&["play", &file, "--length", "0.1", "--device", "alsa"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("no ALSA library") && ran.err.contains("install it"), "{}", ran.err);
    let listed = run(&["devices"]);
    assert!(listed.out.contains("no ALSA library"), "{}", listed.out);
}
