//! How loud a render is, what brings it to a level, and dither.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hocket_media::{LevelMeter, Levels, NotMeasurable};

use crate::interrupted::{await_that, interrupt};
use crate::support::{check_refused, files, hocket, run, session};

/// Two tracks through a group, four seconds; far from silent and from full scale.
const LOUD: &str = "[session]\nsample_rate_hz = 44100\nlength_s = 4\n\
     [[track]]\nname = \"left\"\ngain_db = -9\npan = -0.6\noutput = \"sub\"\n\
     clip = [{ file = \"loop.flac\", loop = true }]\n\
     [[track]]\nname = \"late\"\ngain_db = -15\npan = 0.8\n\
     clip = [{ file = \"loop.flac\", start_s = 1.3, loop = true }]\n\
     [[group]]\nname = \"sub\"\ngain_db = -2\n";

fn rows(path: &Path) -> [Vec<f32>; 2] {
    hocket_media::decode(path).unwrap().channels.try_into().unwrap()
}

fn levels(path: &Path) -> Levels {
    let audio = hocket_media::decode(path).unwrap();
    let mut meter = LevelMeter::new(audio.sample_rate_hz).unwrap();
    meter.add(&audio.channels[0], &audio.channels[1]);
    meter.levels()
}

/// A render that works; what it tells.
#[track_caller]
fn rendered(session: &str, out: &Path, more: &[&str]) -> String {
    let args = ["render", session, "-o", out.to_str().unwrap()];
    let ran = run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
    ran.err
}

fn text(level: Result<f64, NotMeasurable>) -> String {
    format!("{:.1}", level.unwrap())
}

#[test]
fn a_render_tells_how_loud_it_is() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let told = rendered(&file, &out, &["--format", "32f"]);
    let Levels { loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs } =
        levels(&out);
    let line = format!(
        "hocket: loudness {} LUFS, range {} LU, true peak {} dBTP, sample peak {} dBFS, RMS {} dBFS\n",
        text(loudness_lufs),
        text(range_lu),
        text(true_peak_dbtp),
        text(sample_peak_dbfs),
        text(rms_dbfs)
    );
    assert!(told.contains(&line), "{told}\n{line}");
    assert_eq!(rendered(&file, &out, &["--quiet"]), "");
    let stems = folder.path().join("stems");
    let told = rendered(&file, &out, &["--format", "32f", "--stems", stems.to_str().unwrap()]);
    for path in [&out, &stems.join("left.wav"), &stems.join("late.wav"), &stems.join("sub.wav")] {
        let Levels { loudness_lufs, rms_dbfs, .. } = levels(path);
        let row = told.lines().find(|line| line.ends_with(path.to_str().unwrap()));
        let row = row.unwrap_or_else(|| panic!("no row for {}: {told}", path.display()));
        let row: Vec<&str> = row.split_whitespace().collect();
        assert_eq!((row[1], row[5]), (&*text(loudness_lufs), &*text(rms_dbfs)), "{row:?}");
    }
}

#[test]
fn what_cannot_be_measured_says_why() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let told = rendered(&file, &out, &["--length", "0.3"]);
    let words = ["loudness not measurable (shorter than 0.4 s)", "sample peak -"];
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
    let told = rendered(&file, &out, &["--length", "1"]);
    let words = ["loudness -", "range not measurable (shorter than 3 s)"];
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
    let (_folder, silent) = session(&LOUD.replace("[[track]]\n", "[[track]]\nmute = true\n"));
    let told = rendered(&silent, &out, &[]);
    assert!(told.contains("loudness and levels are not measurable: silent"), "{told}");
    for word in ["inf", "NaN", "dBFS"] {
        assert!(!told.contains(word), "{told}");
    }
}

#[test]
fn a_render_is_brought_to_a_level() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let check = |asked: &str, format: &str, found: fn(Levels) -> Result<f64, NotMeasurable>| {
        let told = rendered(&file, &out, &["--normalize", asked, "--format", format]);
        let (_, target) = asked.split_once('=').unwrap();
        let (found, target) = (found(levels(&out)).unwrap(), target.parse::<f64>().unwrap());
        assert!((found - target).abs() < 0.01, "{asked} at {format}: {found}");
        assert!(told.contains(&format!("normalized to {asked}: a gain of ")), "{told}");
        assert!(!told.contains("warning"), "{told}");
        assert_eq!(files(folder.path()), ["loop.flac", "out.wav", "try.toml"]);
    };
    check("lufs=-23", "32f", |levels| levels.loudness_lufs);
    check("lufs=-30.5", "24", |levels| levels.loudness_lufs);
    check("peak=-3", "24", |levels| levels.sample_peak_dbfs);
    check("true-peak=-1", "32f", |levels| levels.true_peak_dbtp);
    check("true-peak=-1", "16", |levels| levels.true_peak_dbtp);
}

#[test]
fn a_normalized_render_has_the_same_bytes_for_every_schedule_and_worker_count() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.flac");
    let mut first: Option<Vec<u8>> = None;
    for schedule in ["serial", "lists", "dataflow", "steal", "critical", "auto"] {
        for workers in ["1", "2", "3"] {
            let frames = if workers == "2" { "100" } else { "1024" };
            let more = ["--schedule", schedule, "--workers", workers, "--frames", frames];
            let asked = ["--normalize", "lufs=-20", "--format", "16", "--policy", "off", "--force"];
            let args = ["render", &file, "-o", out.to_str().unwrap()];
            let ran = run(&[&args[..], &more, &asked].concat());
            if ran.code == Some(2) && ran.err.contains("seats") {
                println!("SKIPPED {schedule} with {workers} workers: {}", ran.err.trim());
                continue;
            }
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let bytes = std::fs::read(&out).unwrap();
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{more:?}");
        }
    }
    assert!(first.is_some());
}

#[test]
fn stems_get_the_gain_of_the_mix() {
    let (folder, file) = session(LOUD);
    let at = |name: &str| folder.path().join(name);
    let names = ["left.wav", "late.wav", "sub.wav"];
    let stems = |name: &str, more: &[&str]| {
        let folder = at(name);
        let args = ["--stems", folder.to_str().unwrap(), "--format", "32f"];
        rendered(&file, &at("mix.wav"), &[&args[..], more].concat());
        let mix = rows(&at("mix.wav"));
        (mix, names.map(|stem| rows(&folder.join(stem))))
    };
    let (plain_mix, plain) = stems("plain", &[]);
    let (mix, normalized) = stems("normalized", &["--normalize", "peak=-1"]);
    let largest =
        |rows: &[Vec<f32>; 2]| rows.iter().flatten().fold(0f32, |most, x| most.max(x.abs()));
    let gain = largest(&mix) / largest(&plain_mix);
    assert!((largest(&mix) - 10f32.powf(-1.0 / 20.0)).abs() < 1e-5 && gain > 1.1, "{gain}");
    for (plain, normalized) in plain.iter().zip(&normalized) {
        assert!(largest(plain) > 0.01);
        for (x, y) in plain.iter().flatten().zip(normalized.iter().flatten()) {
            assert!((x * gain - y).abs() < 1e-6, "{x} {y}");
        }
    }
    assert_eq!(files(&at("normalized")), ["late.wav", "left.wav", "sub.wav"]);
}

#[test]
fn peaks_over_full_scale_give_one_warning_with_a_remedy_that_helps() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let told = rendered(&file, &out, &["--normalize", "lufs=-3"]);
    assert_eq!(told.matches("warning").count(), 1, "{told}");
    for word in ["with a gain of +", "the true peak of ", "out.wav is +", "samples are clipped"] {
        assert!(told.contains(word), "{told}");
    }
    let remedy = told.split("choose --normalize ").nth(1).unwrap().split(' ').next().unwrap();
    let told = rendered(&file, &out, &["--normalize", remedy]);
    assert!(!told.contains("warning"), "{remedy}: {told}");
    // Floats clip nothing, but players do.
    let told = rendered(&file, &out, &["--normalize", "lufs=-3", "--format", "32f"]);
    assert!(told.contains("warning: with a gain of +") && !told.contains("clipped"), "{told}");
}

#[test]
fn what_cannot_be_normalized_is_refused_and_writes_nothing() {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let check = |file: &str, more: &[&str], code: i32, words: &[&str]| {
        let args = ["render", file, "-o", out.to_str().unwrap()];
        check_refused(&[&args[..], more].concat(), code, words);
        assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
    };
    let short = ["--normalize", "lufs=-16", "--length", "0.2"];
    check(&file, &short, 3, &["lufs=-16", "shorter than 0.4 s", "true-peak=DB"]);
    for wrong in ["16", "lufs=1", "loud=-16", "peak=nan"] {
        check(&file, &["--normalize", wrong], 2, &[wrong, "--normalize"]);
    }
    let (_silent, silent) = session(&LOUD.replace("[[track]]\n", "[[track]]\nmute = true\n"));
    check(&silent, &["--normalize", "peak=-1"], 3, &["peak=-1", "silent", "without --normalize"]);
    check_refused(
        &["render", &file, "-o", "/dev/full", "--normalize", "peak=-1"],
        3,
        &["disk is full"],
    );
}

#[test]
fn a_stop_in_the_second_pass_leaves_nothing() {
    // On a busy machine the pass may be over before the signal comes.
    assert!((0..5).any(|_| is_stopped_in_the_second_pass()), "every pass was over first");
}

fn is_stopped_in_the_second_pass() -> bool {
    let (folder, file) = session(LOUD);
    let out = folder.path().join("out.wav");
    let mut command = hocket(&["render", &file, "-o", out.to_str().unwrap(), "--length", "600"]);
    command.args(["--normalize", "peak=-1"]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    // The part gets its first bytes when the gain is known.
    let has_begun = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
        let mut parts =
            entries.filter(|entry| entry.file_name().to_string_lossy().contains(".part"));
        parts.any(|part| part.metadata().is_ok_and(|there| there.len() > 0)).then_some(())
    };
    await_that("the second pass has not begun", Duration::from_millis(1), has_begun);
    let code = interrupt(child);
    if code == Some(0) {
        return false;
    }
    assert_eq!(code, Some(130));
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
    true
}

#[test]
fn sixteen_bits_are_dithered_with_the_same_bytes_each_time() {
    let (folder, file) = session(LOUD);
    let at = |name: &str| folder.path().join(name);
    let bytes = |more: &[&str]| {
        rendered(&file, &at("out.wav"), &[&["--format", "16"], more].concat());
        std::fs::read(at("out.wav")).unwrap()
    };
    let dithered = bytes(&[]);
    let whole = rows(&at("out.wav"));
    assert!(bytes(&["--schedule", "serial", "--frames", "100"]) == dithered);
    assert!(bytes(&["--dither", "tpdf"]) == dithered);
    let plain = bytes(&["--dither", "none"]);
    let rounded = rows(&at("out.wav"));
    assert!(plain != dithered);
    // Each sample is what rounding makes of it, or at most two steps beside.
    for (dithered, rounded) in whole.iter().flatten().zip(rounded.iter().flatten()) {
        assert!((dithered - rounded).abs() <= 2.0 / 32_768.0);
    }
    // A part has the samples of the whole.
    bytes(&["--from", "1", "--to", "2"]);
    for (part, whole) in rows(&at("out.wav")).iter().zip(&whole) {
        assert!(part[..] == whole[44_100..88_200]);
    }
    let out = at("out.wav");
    let wide = ["render", &file, "-o", out.to_str().unwrap(), "--dither", "tpdf"];
    check_refused(&wide, 2, &["--dither tpdf", "16 bits", "--format 16"]);
}
