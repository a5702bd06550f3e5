//! DAWproject files in every command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_lab::record::BenchRecord;

use crate::plugins::Machine;
use crate::support::{check_refused, example, files, run, session, write_wav};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A project in a folder of its own.
fn project(xml: &str, audio: &[(&str, &Path)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("song.dawproject");
    let mut zip = ZipWriter::new(std::fs::File::create(&path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file("project.xml", stored).unwrap();
    zip.write_all(xml.as_bytes()).unwrap();
    for (name, file) in audio {
        zip.start_file(*name, stored).unwrap();
        zip.write_all(&std::fs::read(file).unwrap()).unwrap();
    }
    zip.finish().unwrap();
    (folder, path.display().to_string())
}

/// One track that plays `a.wav` from the start at 110 beats per minute, with these devices and points.
fn one_track(devices: &str, points: &str) -> String {
    format!(
        "<Project version=\"1.0\"><Transport><Tempo unit=\"bpm\" value=\"110\"/></Transport><Structure>\
         <Track id=\"t\" name=\"one\"><Channel id=\"c\" destination=\"m\" role=\"regular\"><Devices>{devices}</Devices>\
         <Volume unit=\"linear\" value=\"1\" id=\"v\"/></Channel></Track>\
         <Track id=\"mt\" name=\"Master\"><Channel id=\"m\" role=\"master\"/></Track></Structure>\
         <Arrangement><Lanes timeUnit=\"beats\"><Lanes track=\"t\"><Clips><Clip time=\"0\" duration=\"16\" \
         contentTimeUnit=\"seconds\"><Audio channels=\"1\" sampleRate=\"48000\" duration=\"8\"><File path=\"a.wav\"/></Audio>\
         </Clip></Clips>{points}</Lanes></Lanes></Arrangement></Project>"
    )
}

fn pulse() -> String {
    example("pulse.dawproject").display().to_string()
}

#[test]
fn a_converted_project_renders_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let direct = run(&["render", &pulse(), "-o", &at("direct.wav")]);
    assert_eq!(direct.code, Some(0), "{}", direct.err);
    let converted = run(&["session", "convert", &pulse(), "-o", &at("song.toml")]);
    assert_eq!(converted.code, Some(0), "{}", converted.err);
    assert!(converted.err.contains("Shimmer"), "{}", converted.err);
    assert_eq!(files(folder.path()), ["direct.wav", "song-audio", "song.toml"]);
    assert_eq!(files(&folder.path().join("song-audio")).len(), 4);
    // Nothing of it depends on where the project was, or on where the session is.
    let moved = folder.path().join("elsewhere");
    std::fs::create_dir(&moved).unwrap();
    for name in ["song.toml", "song-audio"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).unwrap();
    }
    let again = run(&["render", &at("elsewhere/song.toml"), "-o", &at("again.wav")]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("direct.wav").len() > 100_000 && bytes("direct.wav") == bytes("again.wav"));
    let checked = run(&["check", &at("elsewhere/song.toml")]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
}

#[test]
fn stand_ins_change_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let plain = run(&["render", &pulse(), "-o", &at("plain.wav"), "--length", "1"]);
    assert_eq!(plain.code, Some(0), "{}", plain.err);
    let heavy =
        run(&["render", &pulse(), "-o", &at("heavy.wav"), "--length", "1", "--stand-in", "30"]);
    assert_eq!(heavy.code, Some(0), "{}", heavy.err);
    assert!(heavy.err.contains("1 devices have stand-ins"), "{}", heavy.err);
    assert!(std::fs::read(at("plain.wav")).unwrap() == std::fs::read(at("heavy.wav")).unwrap());
    check_refused(
        &["render", &pulse(), "-o", &at("a.wav"), "--stand-in", "0"],
        2,
        &["more than 0"],
    );
}

/// Each process start of a bench opens the project anew. Twenty times the work shows through any noise.
#[test]
fn a_bench_measures_with_the_stand_ins() {
    let args = ["bench", &pulse(), "--blocks", "5", "--blocks-per-round", "1", "--json"];
    let more = ["--policy", "off", "--workers", "1", "--disturb", "none", "--stand-in", "1000"];
    let ran = run(&[&args[..], &more[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let record: BenchRecord = serde_json::from_str(&ran.out).unwrap();
    let rounds = record.variants.iter().flat_map(|variant| &variant.rounds);
    let least_ns = rounds.flat_map(|round| &round.duration_ns).min().unwrap();
    // A block without them takes some 50 µs.
    assert!(*least_ns > 200_000, "{least_ns} ns");
}

#[test]
fn a_bench_fills_the_session_and_says_with_how_much() {
    let args = ["bench", &pulse(), "--blocks", "10", "--blocks-per-round", "1", "--json"];
    let more = ["--policy", "off", "--schedule", "serial", "--disturb", "none", "--starts", "2"];
    let run_with = |fill: &str| run(&[&args[..], &more[..], &["--fill", fill]].concat());
    let bench = |fill: &str| {
        let ran = run_with(fill);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let record: BenchRecord = serde_json::from_str(&ran.out).unwrap();
        (record, ran.err)
    };
    let tried = run_with("50%");
    if tried.err.contains("as it is") {
        println!(
            "SKIPPED a_bench_fills_the_session: half of a period is too little here: {}",
            tried.err
        );
        return;
    }
    let record: BenchRecord = serde_json::from_str(&tried.out).unwrap();
    let said = tried.err;
    let told = said.split("filled with ").nth(1).unwrap_or_else(|| panic!("{said}"));
    let effects = told.split(' ').next().unwrap();
    let name = format!("filled with {effects} equaliser");
    assert!(record.session.name.contains(&name), "{}: {said}", record.session.name);
    let digest = |record: &BenchRecord| record.session.content_sha256.clone().unwrap();
    let (again, said) = bench(effects);
    assert_eq!(
        (again.session.name.as_str(), digest(&again)),
        (record.session.name.as_str(), digest(&record))
    );
    assert!(!said.contains("filling"), "{said}");
    let (other, _) = bench("1");
    assert!(digest(&other) != digest(&record) && other.session.name.contains("1 equaliser more"));
    check_refused(&[&args[..], &["--fill", "9ms"]].concat(), 2, &["--fill", "--frames"]);
    check_refused(&[&args[..], &["--fill", "full"]].concat(), 2, &["--fill", "85%"]);
}

#[test]
fn strict_refuses_what_does_not_play() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.wav").display().to_string();
    let words = [
        "CLAP plug-in 'Shimmer'",
        "2 notes of 'Keys'",
        "such as synth",
        "project.xml:",
        "--strict",
    ];
    check_refused(&["render", &pulse(), "-o", &out, "--strict"], 2, &words);
    check_refused(&["check", &pulse(), "--strict"], 2, &words);
    let toml = folder.path().join("a.toml").display().to_string();
    check_refused(&["session", "convert", &pulse(), "-o", &toml, "--strict"], 2, &words);
    assert!(files(folder.path()).is_empty(), "{:?}", files(folder.path()));
}

/// Everything of this project plays, and the schema wants to know the program that wrote it.
#[test]
fn a_strict_check_names_what_the_schema_does_not_allow() {
    let xml = one_track("", "").replace("a.wav", "a.flac");
    let beat = example("audio/bd_haus.flac");
    let (folder, path) = project(&xml, &[("a.flac", &beat)]);
    let ran = run(&["check", &path, "--strict"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    for words in [
        "project.xml:1:",
        "<Application> in <Project> is missing, which the format's schema requires",
        "not what the format's schema allows, as said above; leave out --strict",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let out = folder.path().join("a.wav").display().to_string();
    for command in [&["check", &path][..], &["render", &path, "-o", &out, "--strict"]] {
        let ran = run(command);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let application = "<Project version=\"1.0\"><Application name=\"a\" version=\"1\"/>";
    let right = xml.replace("<Project version=\"1.0\">", application);
    let (_folder, path) = project(&right, &[("a.flac", &beat)]);
    let ran = run(&["check", &path, "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn projects_are_checked_shown_and_played() {
    let ran = run(&["check", &pulse()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("4 tracks, 1 group, 1 return, 4 audio files at 44100 Hz"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("not all of this project plays"), "{}", ran.err);
    let ran = run(&["session", "show", &pulse()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("Drums") && ran.out.contains("compressor"), "{}", ran.out);
    let ran = run(&["play", &pulse(), "--length", "0.2", "--priority", "0", "--frames", "1024"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn convert_replaces_nothing_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    check_refused(&["session", "convert", &pulse(), "-o", "-"], 2, &["name a file"]);
    std::fs::create_dir(folder.path().join("song-audio")).unwrap();
    check_refused(&["session", "convert", &pulse(), "-o", &at("song.toml")], 2, &["song-audio"]);
    std::fs::write(folder.path().join("other.toml"), "mine").unwrap();
    check_refused(
        &["session", "convert", &pulse(), "-o", &at("other.toml")],
        2,
        &["nothing was changed"],
    );
    std::fs::write(folder.path().join("broken.dawproject"), "PK, no more").unwrap();
    check_refused(
        &["session", "convert", &at("broken.dawproject"), "-o", &at("new.toml")],
        2,
        &["damaged"],
    );
    assert_eq!(files(folder.path()), ["broken.dawproject", "other.toml", "song-audio"]);
    assert!(files(&folder.path().join("song-audio")).is_empty());
}

#[test]
fn unpacked_files_go_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.wav").display().to_string();
    let unpacked = folder.path().join("tmp");
    std::fs::create_dir(&unpacked).unwrap();
    let ran = crate::support::hocket(&["render", &pulse(), "-o", &out, "--length", "0.1"])
        .env("TMPDIR", &unpacked)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(files(&unpacked).is_empty(), "{:?}", files(&unpacked));
    let ran = crate::support::hocket(&["check", &pulse()])
        .env("TMPDIR", folder.path().join("nowhere"))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(3), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// The data beside the repository.
fn shared(test: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let data = std::env::var_os("HOCKET_SHARED").map_or(beside, PathBuf::from).join("data");
    if data.join("dawproject").is_dir() {
        return Some(data);
    }
    println!("SKIPPED {test}: no input data in {} (set HOCKET_SHARED)", data.display());
    None
}

#[test]
fn every_project_of_the_data_renders_or_is_refused() {
    let Some(data) = shared("every_project_of_the_data_renders_or_is_refused") else { return };
    let folder = tempfile::tempdir().unwrap();
    for group in ["real", "derived", "broken"] {
        for name in files(&data.join("dawproject").join(group)) {
            if !name.ends_with(".dawproject") {
                continue;
            }
            let path = data.join("dawproject").join(group).join(&name).display().to_string();
            let out = folder.path().join("out.wav").display().to_string();
            let ran = run(&["render", &path, "-o", &out, "--length", "0.5"]);
            assert!(!ran.err.contains("panicked"), "{name}: {}", ran.err);
            let draft = name.contains("0.1-json");
            match group {
                "broken" => assert!(matches!(ran.code, Some(0 | 2)), "{name}: {}", ran.err),
                _ => assert_eq!(ran.code, Some(if draft { 2 } else { 0 }), "{name}: {}", ran.err),
            }
            if name == "media-is-truncated-wav.dawproject" {
                assert!(ran.err.contains("ends early"), "{}", ran.err);
            }
        }
    }
    assert!(!Path::new("/tmp/duet-zip-slip.wav").exists());
}

#[test]
fn an_archive_that_inflates_to_much_takes_little_memory() {
    let Some(data) = shared("an_archive_that_inflates_to_much_takes_little_memory") else { return };
    let bomb = data.join("dawproject/broken/zip-bomb-400MB.dawproject");
    // 400 MiB of address space, into which the file does not fit as a whole.
    let command = format!("ulimit -v 409600; exec \"$0\" check '{}'", bomb.display());
    let ran = Command::new("sh")
        .args(["-c", &command, env!("CARGO_BIN_EXE_hocket")])
        .env("HOCKET_PROFILE", "none")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// The largest difference between a render's left side and another program's output.
fn difference(render: &Path, reference: &Path) -> f64 {
    let (got, wanted) = (decoded(render), decoded(reference));
    let count = wanted.channels[0].len();
    assert!(got.channels[0].len() >= count);
    let pairs = got.channels[0].iter().zip(&wanted.channels[0]);
    pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max)
}

fn decoded(path: &Path) -> hocket_media::Audio {
    hocket_media::decode(path).unwrap()
}

fn rendered(xml: &str, audio: &Path, length: &str) -> (tempfile::TempDir, PathBuf) {
    let (folder, path) = project(xml, &[("a.wav", audio)]);
    let out = folder.path().join("out.wav");
    let ran = run(&[
        "render",
        &path,
        "-o",
        &out.display().to_string(),
        "--format",
        "32f",
        "--length",
        length,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    (folder, out)
}

/// Cases of `references/manifest.json` that are taken from projects.
fn case(data: &Path, id: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(data.join("references/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    cases.iter().find(|case| case["id"] == id).unwrap().clone()
}

#[test]
fn a_bell_of_a_project_is_the_cookbooks() {
    let Some(data) = shared("a_bell_of_a_project_is_the_cookbooks") else { return };
    let case = case(&data, "sox-peak-900-q1-m9dB-impulse");
    assert_eq!(case["compare"], "formula");
    let devices = "<Equalizer deviceName=\"EQ\" deviceRole=\"audioFX\"><Band type=\"bell\" order=\"2\">\
        <Freq unit=\"semitones\" value=\"81.389058\"/><Gain unit=\"decibel\" value=\"-9\"/><Q unit=\"linear\" value=\"1\"/>\
        </Band></Equalizer>";
    let references = data.join("references");
    let input = references.join(case["inputs"][0].as_str().unwrap());
    let (_folder, out) = rendered(&one_track(devices, ""), &input, "0.17066666");
    let difference = difference(&out, &references.join(case["output"].as_str().unwrap()));
    println!("sox-peak-900-q1-m9dB-impulse: largest difference {difference:e}");
    assert!(difference <= case["tolerance"].as_f64().unwrap(), "{difference:e}");
}

#[test]
fn a_fader_of_a_project_follows_its_line_as_fast_as_faders_do() {
    let Some(data) = shared("a_fader_of_a_project_follows_its_line_as_fast_as_faders_do") else {
        return;
    };
    let case = case(&data, "csound-volume-automation-110bpm");
    assert_eq!(case["compare"], "formula");
    let points = "<Points unit=\"linear\"><Target parameter=\"v\"/>\
        <RealPoint value=\"1.000000\" interpolation=\"linear\" time=\"0\"/>\
        <RealPoint value=\"0.354813\" interpolation=\"linear\" time=\"1.5\"/>\
        <RealPoint value=\"0.707946\" interpolation=\"linear\" time=\"4\"/></Points>";
    let references = data.join("references");
    let input = references.join(case["inputs"][0].as_str().unwrap());
    let (_folder, out) = rendered(&one_track("", points), &input, "1");
    let difference = difference(&out, &references.join(case["output"].as_str().unwrap()));
    // A fader is 20 ms behind a lane that moves, so that no jump clicks.
    let steepest = (1.0 - 0.354_813) / (1.5 * 60.0 / 110.0);
    let bound = 0.021 * steepest * f64::from(decoded(&input).peak());
    println!(
        "csound-volume-automation-110bpm: largest difference {difference:e}, of which smoothing explains {bound:e}"
    );
    assert!(difference <= bound, "{difference:e} {bound:e}");
}

/// A loud wave between two quiet ones. The levels are far from the threshold, so that the first and the last sample that
/// reach it say it all: the gate opens with one, holds behind the other, and then closes.
#[test]
fn a_noise_gate_of_a_project_is_its_formula() {
    const RATE_HZ: u32 = 48_000;
    let (threshold_db, range_db, attack_s, release_s, hold_s) =
        (-30.0f64, -50.0, 0.005, 0.06, 0.02);
    let level = |n: usize| if (4800..12_000).contains(&n) { 0.5 } else { 0.01 };
    let wave = |n: usize| (std::f64::consts::TAU * 220.0 * n as f64 / f64::from(RATE_HZ)).sin();
    let samples: Vec<f32> = (0..28_800).map(|n| (level(n) * wave(n)) as f32).collect();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.wav");
    write_wav(&input, RATE_HZ, &samples);
    let device = format!(
        "<NoiseGate deviceName=\"Gate\" deviceRole=\"audioFX\"><Attack unit=\"seconds\" value=\"{attack_s}\"/>\
         <Range unit=\"decibel\" value=\"{range_db}\"/><Ratio unit=\"percent\" value=\"100\"/>\
         <Release unit=\"seconds\" value=\"{release_s}\"/><Threshold unit=\"decibel\" value=\"{threshold_db}\"/></NoiseGate>"
    );
    let (_folder, out) = rendered(&one_track(&device, ""), &input, "0.5");
    let out = decoded(&out);
    let reaches = |sample: &f32| 20.0 * f64::from(sample.abs()).log10() >= threshold_db;
    let first = samples.iter().position(reaches).unwrap() as f64;
    let last = samples.iter().rposition(reaches).unwrap() as f64;
    let frames = |seconds: f64| seconds * f64::from(RATE_HZ);
    let mut worst = 0.0f64;
    for n in 0..24_000 {
        let opened = ((n as f64 - first + 1.0) / frames(attack_s)).clamp(0.0, 1.0);
        let closed = ((n as f64 - last - frames(hold_s)) / frames(release_s)).clamp(0.0, 1.0);
        let gain = 10f64.powf(range_db * (1.0 - opened + closed) / 20.0);
        for row in &out.channels {
            worst = worst.max((f64::from(row[n]) - gain * f64::from(samples[n])).abs());
        }
    }
    println!("a noise gate: largest difference {worst:e}");
    assert!(worst <= 1e-6, "{worst:e}");
}

/// Renders a project directly and after `session convert`, with one worker and with two: all have the same bytes. Gives the
/// path of the direct render, and the text of the session.
#[track_caller]
fn rendered_in_all_ways(machine: &Machine, test: &str, path: &str) -> (String, String) {
    let (direct, toml, again) =
        (machine.file("direct.wav"), machine.file("song.toml"), machine.file("again.wav"));
    let converted = machine.run(&["session", "convert", path, "-o", &toml, "--strict"]);
    assert_eq!(converted.code, Some(0), "{}", converted.err);
    let render = |from: &str, to: &str, schedule: &str, workers: &str| {
        let args = ["render", from, "-o", to, "--format", "32f", "--schedule", schedule];
        machine.run(&[&args[..], &["--workers", workers]].concat())
    };
    let ran = render(path, &direct, "serial", "1");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let bytes = std::fs::read(&direct).unwrap();
    for (from, schedule, workers) in
        [(&toml[..], "serial", "1"), (path, "dataflow", "2"), (&toml, "dataflow", "2")]
    {
        let ran = render(from, &again, schedule, workers);
        if ran.code == Some(2) && ran.err.contains("seats") {
            println!("SKIPPED {test}: {schedule} with {workers} workers: {}", ran.err.trim());
            continue;
        }
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(bytes == std::fs::read(&again).unwrap(), "{from} {schedule}");
    }
    (direct, std::fs::read_to_string(toml).unwrap())
}

/// A track of notes for this instrument, two seconds long: a clip from the second beat on, and a loop in it.
fn piano(device: &str) -> String {
    format!(
        "<Project version=\"1.0\"><Transport><Tempo unit=\"bpm\" value=\"120\"/></Transport><Structure>\
         <Track id=\"t\" name=\"piano\"><Channel id=\"c\" destination=\"m\" role=\"regular\"><Devices>{device}</Devices>\
         </Channel></Track><Track id=\"mt\" name=\"Master\"><Channel id=\"m\" role=\"master\"/></Track></Structure>\
         <Arrangement><Lanes timeUnit=\"beats\"><Lanes track=\"t\"><Clips>\
         <Clip time=\"1\" duration=\"3\" loopStart=\"0\" loopEnd=\"2\"><Notes>\
         <Note time=\"1.25\" duration=\"4\" channel=\"0\" key=\"67\" vel=\"0.5\"/>\
         <Note time=\"0\" duration=\"0.5\" channel=\"0\" key=\"60\" vel=\"0.8\"/></Notes></Clip>\
         </Clips></Lanes></Lanes></Arrangement></Project>"
    )
}

#[test]
fn notes_of_a_project_play_an_instrument() {
    let test = "notes_of_a_project_play_an_instrument";
    let Some(machine) = Machine::with_mda(test) else { return };
    let epiano = "http://drobilla.net/plugins/mda/EPiano";
    let device = format!(
        "<Lv2Plugin deviceID=\"{epiano}\" deviceName=\"ePiano\" deviceRole=\"instrument\"/>"
    );
    let (_folder, path) = project(&piano(&device), &[]);
    let (direct, text) = rendered_in_all_ways(&machine, test, &path);
    assert!(
        text.contains("[1.0, 0.5, 60, 0.8]") && text.contains("[2.25, 0.75, 67, 0.5]"),
        "{text}"
    );
    // The first note comes at the second beat, and is heard at once.
    let audio = decoded(Path::new(&direct));
    assert_eq!((audio.sample_rate_hz, audio.frames()), (48_000, 96_000));
    let first = audio.channels[0].iter().position(|sample| *sample != 0.0);
    assert!(first.is_some_and(|first| (24_000..24_064).contains(&first)), "{first:?}");
    // A session with the same notes, written by hand, sounds the same.
    let (_folder, by_hand) = session(&format!(
        "[session]\nformat = 2\nname = \"by hand\"\nsample_rate_hz = 48000\nlength_s = 2\n[[tempo]]\nbpm = 120\n\
         [[track]]\nname = \"piano\"\n[[track.notes]]\n\
         notes = [[1, 0.5, 60, 0.8], [2.25, 0.75, 67, 0.5], [3, 0.5, 60, 0.8]]\n\
         [[track.effect]]\nkind = \"lv2:{epiano}\"\n"
    ));
    let out = machine.file("by-hand.wav");
    let ran = machine.run(&["render", &by_hand, "-o", &out, "--format", "32f"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::read(&out).unwrap() == std::fs::read(&direct).unwrap());
}

#[test]
fn notes_without_an_instrument_are_silent_and_play_after_an_edit() {
    let (folder, path) = project(&piano("<BuiltinDevice name=\"Synth\"/>"), &[]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let converted = run(&["session", "convert", &path, "-o", &at("song.toml")]);
    assert_eq!(converted.code, Some(0), "{}", converted.err);
    assert!(converted.err.contains("3 notes of 'piano'"), "{}", converted.err);
    let sound = |from: &str| {
        let ran = run(&["render", from, "-o", &at("out.wav")]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        decoded(Path::new(&at("out.wav"))).channels[0].iter().any(|sample| *sample != 0.0)
    };
    assert!(!sound(&path) && !sound(&at("song.toml")));
    let text = std::fs::read_to_string(at("song.toml")).unwrap();
    let last = text.find("\n]\n").unwrap() + 3;
    let edited =
        format!("{}\n[[track.effect]]\nkind = \"synth\"\n{}", &text[..last], &text[last..]);
    std::fs::write(at("song.toml"), &edited).unwrap();
    assert!(sound(&at("song.toml")), "{edited}");
}

/// The plug-in's kind, and its parameters: name in sessions, title, id.
fn equaliser(machine: &Machine, format: &str) -> (String, Vec<(String, String, u64)>) {
    let listed = machine.run(&["plugin", "list"]).out;
    // Folders of the system are looked at, too.
    let mut lines = listed.lines().filter(|line| line.starts_with(&format!("{format}:")));
    let line = lines.find(|line| line.contains("ZamEQ2")).unwrap_or_else(|| panic!("{listed}"));
    let kind = line.split(' ').next().unwrap().to_owned();
    let info = machine.run(&["plugin", "info", &kind, "--json"]).out;
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let params = info["params"].as_array().unwrap_or_else(|| panic!("{info}"));
    let of = |param: &serde_json::Value| {
        (text(&param["name"]), text(&param["title"]), param["id"].as_u64().unwrap())
    };
    (kind, params.iter().map(of).collect())
}

#[test]
fn parameters_of_real_plug_ins_are_carried_in_every_format() {
    let test = "parameters_of_real_plug_ins_are_carried_in_every_format";
    let tone = example("audio/elec_blip.flac");
    for (format, tag) in [("clap", "ClapPlugin"), ("vst3", "Vst3Plugin"), ("lv2", "Lv2Plugin")] {
        if format == "lv2" && hocket_plugins::lv2::available().is_err() {
            println!("SKIPPED {test}: no liblilv");
            continue;
        }
        let Some(machine) = Machine::with_zam_in(format, test, &["ZamEQ2"]) else { continue };
        let (kind, params) = equaliser(&machine, format);
        let of = |title: &str| params.iter().find(|param| param.1 == title).unwrap();
        let (boost, second, bandwidth, frequency) =
            (of("Boost/Cut 1"), of("Boost/Cut 2"), of("Bandwidth 1"), of("Frequency 1"));
        let one_track =
            |devices: &str, points: &str| one_track(devices, points).replace("a.wav", "a.flac");
        let device = |parameters: &str| {
            let id = kind.split_once(':').unwrap().1;
            format!(
                "<{tag} deviceID=\"{id}\" name=\"EQ\" deviceRole=\"audioFX\"><Parameters>{parameters}</Parameters></{tag}>"
            )
        };
        let all = format!(
            "<RealParameter parameterID=\"{}\" unit=\"linear\" value=\"12\"/>\
             <RealParameter name=\"Frequency 1\" unit=\"hertz\" value=\"900\"/>\
             <RealParameter parameterID=\"{}\" unit=\"normalized\" value=\"1\"/>\
             <RealParameter id=\"b2\" name=\"Boost/Cut 2\" parameterID=\"{}\" unit=\"normalized\" value=\"0\"/>",
            boost.2, bandwidth.2, second.2
        );
        let points = "<Points unit=\"normalized\"><Target parameter=\"b2\"/>\
            <RealPoint time=\"0\" value=\"1\" interpolation=\"linear\"/><RealPoint time=\"4\" value=\"0\"/></Points>";
        let (_folder, path) = project(&one_track(&device(&all), points), &[("a.flac", &tone)]);
        let (direct, text) = rendered_in_all_ways(&machine, test, &path);
        let expected =
            [(boost, "12.0"), (frequency, "900.0"), (bandwidth, "6.0"), (second, "-50.0")];
        for ((name, ..), value) in expected {
            assert!(text.contains(&format!("{name} = {value}\n")), "{name} = {value}: {text}");
        }
        assert!(text.contains("20.0") && text.contains("[[track.automation]]"), "{text}");
        let (_folder, plain) = project(&one_track(&device(""), ""), &[("a.flac", &tone)]);
        let out = machine.file("plain.wav");
        let ran = machine.run(&["render", &plain, "-o", &out, "--format", "32f"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(std::fs::read(&out).unwrap() != std::fs::read(&direct).unwrap(), "{format}");
        let unknown = device(
            "<RealParameter name=\"Warp\" parameterID=\"4999\" unit=\"linear\" value=\"1\"/>",
        );
        let (_folder, path) = project(&one_track(&unknown, ""), &[("a.flac", &tone)]);
        let refused = machine.run(&["check", &path, "--strict"]);
        assert_eq!(refused.code, Some(2), "{format}");
        assert!(
            refused.err.contains("the parameter 'Warp' of 'EQ' is left out"),
            "{}",
            refused.err
        );
    }
}

#[test]
fn stand_ins_for_what_is_no_project_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let band = example("best-case.toml").display().to_string();
    std::fs::write(at("song.mid"), b"MThd").unwrap();
    for path in [&band, &at("song.mid")] {
        let words = ["--stand-in", path.as_str(), "is no DAWproject file", "leave it out"];
        let with = |command: &[&str], more: &[&str]| {
            check_refused(&[command, &[path, "--stand-in", "5"], more].concat(), 2, &words);
        };
        with(&["render"], &["-o", &at("out.wav")]);
        with(&["play"], &["--length", "0.1"]);
        with(&["bench"], &["--blocks", "150"]);
        with(&["session", "convert"], &["-o", &at("out.toml")]);
    }
}

/// The folder into which they are unpacked is gone when somebody reads a message about them.
#[test]
fn files_of_a_project_are_called_by_their_place_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.wav");
    write_wav(&cut, 48_000, &[0.5; 48_000]);
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let xml = one_track("", "").replace("a.wav", "audio/a.wav");
    let (_folder, path) = project(&xml, &[("audio/a.wav", &cut)]);
    let name = format!("{path}: audio/a.wav");
    let out = folder.path().join("out.wav").display().to_string();
    let rendered = run(&["render", &path, "-o", &out, "--length", "1", "--verbose"]);
    assert_eq!(rendered.code, Some(0), "{}", rendered.err);
    let strict = run(&["render", &path, "-o", &out, "--length", "1", "--strict"]);
    assert_eq!(strict.code, Some(2), "{}", strict.err);
    for text in [&rendered.err, &strict.err] {
        assert!(text.contains(&name) && text.contains("export it again"), "{text}");
        assert!(!text.contains("hocket-project-"), "{text}");
    }
    let shown = run(&["session", "show", &path]);
    assert!(shown.out.contains(&format!("clip {name} at 0 s")), "{}", shown.out);
}
