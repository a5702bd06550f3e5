//! Impulse responses in sessions: what is heard, and which files are refused.

use std::path::Path;

use crate::support::{check_refused, one_track, run, write_wav};

/// A track that plays `one.wav` through `file`. Returns its folder and the session.
fn session(file: &str, more: &str) -> (tempfile::TempDir, String) {
    let effect = format!("[[track.effect]]\nkind = \"convolution\"\nfile = \"{file}\"\n{more}\n");
    one_track(&effect)
}

/// A file of three channels.
fn write_three(path: &Path) {
    write_wav(path, 44_100, &[0.5; 300]);
    let mut bytes = std::fs::read(path).unwrap();
    bytes[22..24].copy_from_slice(&3_u16.to_le_bytes());
    bytes[28..32].copy_from_slice(&(44_100_u32 * 12).to_le_bytes());
    bytes[32..34].copy_from_slice(&12_u16.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

fn rendered(session: &str, more: &[&str]) -> Vec<Vec<f32>> {
    let out = format!("{session}.wav");
    let args = ["render", session, "-o", &out, "--format", "32f"];
    let ran = run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    hocket_media::decode(Path::new(&out)).unwrap().channels
}

/// What a track plays through no effect, and through a response of two impulses.
#[test]
fn a_response_is_heard_from_its_first_frame_at_each_schedule() {
    let (_folder, plain) = one_track("");
    let (folder, session) = session("echo.wav", "");
    let mut echo = vec![0.0; 5_000];
    (echo[0], echo[3_001]) = (0.5, 0.25);
    write_wav(&folder.path().join("echo.wav"), 44_100, &echo);
    let (plain, made) = (rendered(&plain, &[]), rendered(&session, &[]));
    for (plain, made) in plain.iter().zip(&made) {
        assert!(plain.iter().any(|sample| sample.abs() > 0.01));
        for (n, made) in made.iter().enumerate() {
            let late = n.checked_sub(3_001).map_or(0.0, |n| plain[n]);
            let expected = 0.5 * plain[n] + 0.25 * late;
            assert!((made - expected).abs() < 1e-6, "frame {n}: {made} for {expected}");
        }
    }
    let more = ["--workers", "2", "--schedule", "steal", "--frames", "37"];
    assert!(rendered(&session, &more) == made, "the same bits");
}

/// The level stays where the response's rate is another one.
#[test]
fn a_response_of_another_rate_sounds_as_loud() {
    let (folder, session) = crate::support::session(
        "[session]\nname = \"try\"\nsample_rate_hz = 44100\n\n[[track]]\nname = \"one\"\n\
         clip = [{ file = \"tone.wav\" }]\n[[track.effect]]\nkind = \"convolution\"\nfile = \"low.wav\"\n",
    );
    // A low pass at 2 kHz, which leaves what is below at its level.
    let pi = std::f64::consts::PI;
    let low: Vec<f32> = (-400..400)
        .map(|n: i32| {
            let x = f64::from(n) * pi / 24.0;
            let window = 0.5 + 0.5 * (f64::from(n) * pi / 400.0).cos();
            let sinc = if n == 0 { 1.0 } else { x.sin() / x };
            (sinc * window / 24.0) as f32
        })
        .collect();
    write_wav(&folder.path().join("low.wav"), 96_000, &low);
    // 351 Hz.
    let tone: Vec<f32> = (0..44_100).map(|n| 0.5 * (n as f32 * 0.05).sin()).collect();
    write_wav(&folder.path().join("tone.wav"), 44_100, &tone);
    let made = &rendered(&session, &[])[0];
    let peak = made[10_000..30_000].iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()));
    assert!((peak - 0.5).abs() < 0.005, "{peak}");
}

#[test]
fn what_is_no_response_is_refused_with_its_place() {
    let refused = |file: &str, write: &dyn Fn(&Path), words: &[&str]| {
        let (folder, session) = session(file, "");
        write(&folder.path().join(file));
        let words: Vec<&str> = words.iter().copied().chain([file, "try.toml:"]).collect();
        check_refused(&["check", &session], 2, &words);
        let out = format!("{session}.wav");
        check_refused(&["render", &session, "-o", &out], 2, &words);
        assert!(!Path::new(&out).exists());
    };
    refused("gone.wav", &|_| {}, &["does not exist"]);
    let text: &dyn Fn(&Path) = &|path| std::fs::write(path, "no sound at all").unwrap();
    refused("text.wav", text, &["no impulse response", "name an audio file"]);
    let silent: &dyn Fn(&Path) = &|path| write_wav(path, 44_100, &[0.0; 100]);
    refused("silent.wav", silent, &["it is silent"]);
    refused("three.wav", &write_three, &["has 1, 2 or 4 channels, and this has 3"]);
    let long: &dyn Fn(&Path) = &|path| write_wav(path, 8_000, &vec![0.5; 8_000 * 31]);
    refused("long.wav", long, &["it lasts 31.0 s, and an impulse response at most 30 s"]);
    let (_folder, nameless) = one_track("[[track.effect]]\nkind = \"convolution\"\n");
    check_refused(&["check", &nameless], 2, &["'file' is missing in [[track.effect]]"]);
    let (_folder, deaf) = one_track("[[track.effect]]\nkind = \"gain\"\nfile = \"a.wav\"\n");
    check_refused(&["check", &deaf], 2, &["plays no file", "soundfont", "convolution"]);
}
