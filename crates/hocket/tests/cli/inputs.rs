//! Files at a session's inputs, takes that a session asks for, and notes.

use std::path::Path;

use hocket_media::decode;
use serde_json::{Value, json};

use crate::support::{check_refused, example, files, run, session};

/// A track that plays an input, and one that plays notes.
const SESSION: &str = "[session]\nsample_rate_hz = 44100\nlength_s = 0.3\n[[input]]\nname = \"mic\"\n\
                       [[input]]\nname = \"a=b\"\nchannels = 1\n[[track]]\nname = \"one\"\ninput = \"mic\"\n";
/// The same sound from a clip.
const CLIP: &str = "[session]\nsample_rate_hz = 44100\nlength_s = 0.3\n[[track]]\nname = \"one\"\n\
                    clip = [{ file = \"loop.flac\" }]\n";

fn bits(path: &Path) -> Vec<Vec<u32>> {
    let audio = decode(path).unwrap();
    audio.channels.iter().map(|row| row.iter().map(|sample| sample.to_bits()).collect()).collect()
}

fn render(file: &str, output: &Path, more: &[&str]) -> String {
    let fixed = ["render", file, "-o", output.to_str().unwrap(), "--format", "32f"];
    let ran = run(&[&fixed[..], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.err
}

#[test]
fn a_file_at_an_input_sounds_as_a_clip_of_it_does() {
    let (folder, file) = session(SESSION);
    let at = |name: &str| folder.path().join(name);
    let clip = at("clip.toml");
    std::fs::write(&clip, CLIP).unwrap();
    render(clip.to_str().unwrap(), &at("clip.wav"), &[]);
    let feed = format!("mic={}", at("loop.flac").display());
    let told = render(&file, &at("fed.wav"), &["--input", &feed]);
    assert!(told.contains("(a=b): they are silent"), "{told}");
    assert!(bits(&at("fed.wav")) == bits(&at("clip.wav")));
    // Blocks of another length, and by `play`: the same samples.
    render(&file, &at("small.wav"), &["--input", &feed, "--frames", "37"]);
    assert!(bits(&at("small.wav")) == bits(&at("clip.wav")));
    let take = format!("master={}", at("played.wav").display());
    let ran = run(&["play", &file, "--input", &feed, "--take", &take]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(bits(&at("played.wav")) == bits(&at("clip.wav")));

    let told = render(&file, &at("silent.wav"), &[]);
    assert!(told.contains("(mic, a=b): they are silent; --input NAME=FILE"), "{told}");
    assert!(bits(&at("silent.wav")).concat().iter().all(|sample| *sample == 0));
}

#[test]
fn a_take_of_an_input_on_the_command_line_names_what_records_it() {
    let (folder, file) = session(SESSION);
    let take = format!("mic={}", folder.path().join("x.wav").display());
    let words = ["'mic' is an input", "[[take]] with input = \"mic\"", "--take mic="];
    check_refused(&["play", &file, "--take", &take], 2, &words);
}

#[test]
fn a_wrong_input_is_refused() {
    let (folder, file) = session(SESSION);
    let out = folder.path().join("out.wav");
    let sound = folder.path().join("loop.flac").display().to_string();
    let before = files(folder.path());
    let refused = |inputs: &[&str], words: &[&str]| {
        let mut args = vec!["render", file.as_str(), "-o", out.to_str().unwrap()];
        inputs.iter().for_each(|input| args.extend(["--input", *input]));
        check_refused(&args, 2, words);
    };
    let named = |name: &str| format!("{name}={sound}");
    refused(&[&named("mike")], &["--input mike=", "no input 'mike'", "mic, a=b"]);
    refused(&[&named("mic"), &named("mic")], &["another file feeds the input 'mic'"]);
    refused(&["mic=nowhere.wav"], &["--input mic=nowhere.wav"]);
    refused(&[&format!("mic={}", folder.path().display())], &["this is a folder"]);
    refused(&[&format!("mic={file}")], &["--input mic="]);
    refused(&["mic"], &["NAME=FILE"]);
    let over = format!("mic={}", out.display());
    std::fs::copy(&sound, &out).unwrap();
    refused(&[&over], &["--output"]);
    std::fs::remove_file(&out).unwrap();
    assert_eq!(files(folder.path()), before);
    // The longest name that the session has: `a=b`, and not `a`.
    let told = run(&["render", &file, "-o", out.to_str().unwrap(), "--input", &named("a=b")]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.err.contains("no track plays the input 'a=b'"), "{}", told.err);
    let (_none, plain) = session(CLIP);
    check_refused(
        &["render", &plain, "-o", out.to_str().unwrap(), "--input", &named("mic")],
        2,
        &["the session has no inputs", "[[input]]"],
    );
}

#[test]
fn render_and_play_record_the_takes_of_a_session() {
    let takes = "\n[[take]]\nfrom = \"master\"\nfile = \"mix.wav\"\n[[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n\
                 [[take]]\nfrom = \"one\"\ntap = \"pre\"\nfile = \"pre.wav\"\n\
                 [[take]]\nfrom = \"one\"\nfile = \"not.wav\"\narmed = false\n[master]\ngain_db = -6\n";
    let (folder, file) = session(&format!("{SESSION}gain_db = -3\n{takes}"));
    let at = |name: &str| folder.path().join(name);
    let feed = format!("mic={}", at("loop.flac").display());
    for command in ["render", "play"] {
        let out = at("out.wav");
        let told = match command {
            "render" => render(&file, &out, &["--input", &feed]),
            _ => {
                let ran = run(&["play", &file, "--input", &feed]);
                assert_eq!(ran.code, Some(0), "{}", ran.err);
                ran.err + &ran.out
            }
        };
        assert!(told.contains("take master: "), "{told}");
        assert!(bits(&at("mix.wav")) == bits(&out), "{command}");
        let (mic, pre) = (bits(&at("mic.wav")), bits(&at("pre.wav")));
        assert!(mic == pre && mic != bits(&out), "{command}");
        assert!(!at("not.wav").exists());
        // A second run would replace them.
        check_refused(
            &[command, &file, "--input", &feed, "-o", at("again.wav").to_str().unwrap()]
                [..if command == "render" { 6 } else { 4 }],
            2,
            &["the session's [[take]] of master", "mix.wav exists", "never replaces"],
        );
        for name in ["mix", "mic", "pre"] {
            std::fs::remove_file(at(&format!("{name}.wav"))).unwrap();
            std::fs::remove_file(at(&format!("{name}.wav.take.toml"))).unwrap();
        }
    }
}

/// A service that starts again, with the takes of its session.
#[test]
fn runs_with_numbered_takes_begin_again_and_replace_nothing() {
    let takes = "\n[[take]]\nfrom = \"master\"\nfile = \"mix.wav\"\n\
                 [[take]]\nfrom = \"one\"\ntap = \"pre\"\nfile = \"pre.flac\"\n";
    let (folder, file) = session(&format!("{SESSION}{takes}"));
    let at = |name: &str| folder.path().join(name);
    let play = ["play", &file, "--length", "0.2", "--number-takes"];
    let begin_again = |number: &str| {
        let ran = run(&play);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for name in [format!("mix{number}.wav"), format!("pre{number}.flac")] {
            assert_eq!(hocket_media::decode(&at(&name)).unwrap().frames(), 8_820, "{name}");
            assert!(at(&format!("{name}.take.toml")).exists(), "{name}");
            assert!(ran.out.contains(&name), "{}", ran.out);
            assert_eq!(ran.err.contains(&name), !number.is_empty(), "{}", ran.err);
        }
    };
    begin_again("");
    let first = std::fs::read(at("mix.wav")).unwrap();
    begin_again("-2");
    // Of one take the notes alone are there.
    std::fs::write(at("pre-6.flac.take.toml"), "notes").unwrap();
    begin_again("-7");
    // What was deleted is not filled up: the newest run has the highest number.
    for name in ["mix-2.wav", "mix-2.wav.take.toml", "pre-2.flac", "pre-2.flac.take.toml"] {
        std::fs::remove_file(at(name)).unwrap();
    }
    begin_again("-8");
    assert!(std::fs::read(at("mix.wav")).unwrap() == first, "an earlier take was replaced");
    check_refused(&play[..4], 2, &["mix.wav exists", "--number-takes"]);
}

/// The limiter delays by 96 frames at 48 kHz. A take that is to be in the song's time leaves them out, and has as many frames all
/// the same: the song goes on for it.
#[test]
fn a_take_of_a_strip_is_late_as_a_render_is_and_in_time_where_the_session_asks_for_it() {
    let takes = "[[track.effect]]\nkind = \"limiter\"\n[[take]]\nfrom = \"one\"\nfile = \"late.wav\"\n\
                 [[take]]\nfrom = \"one\"\nfile = \"song.wav\"\nalign = \"song\"\n\
                 [[take]]\nfrom = \"master\"\nfile = \"later.wav\"\nalign = \"song\"\noffset_frames = 4\n";
    let (folder, file) = session(&format!("{CLIP}{takes}").replace("44100", "48000"));
    let at = |name: &str| folder.path().join(name);
    let frames = (0.3 * 48_000.0) as usize;
    for command in ["render", "play"] {
        let out = at("out.wav");
        let told = match command {
            "render" => render(&file, &out, &[]),
            _ => {
                let ran = run(&["play", &file]);
                assert_eq!(ran.code, Some(0), "{}", ran.err);
                ran.err + &ran.out
            }
        };
        let [late, song, later] = ["late.wav", "song.wav", "later.wav"].map(|name| bits(&at(name)));
        assert!(late == bits(&out), "{command}");
        for (channel, late) in late.iter().enumerate() {
            assert_eq!([song[channel].len(), later[channel].len()], [frames; 2], "{command}");
            assert!(song[channel][..frames - 96] == late[96..], "{command}");
            assert!(later[channel][..frames - 100] == late[100..], "{command}");
            let is_sound = |sample: &u32| *sample != 0;
            assert!(
                song[channel][frames - 96..].iter().any(is_sound),
                "{command}: the song goes on"
            );
        }
        let words = "song.wav: 14400 frames, 96 frames left out at its start to be in time with the song (effects 96)";
        assert!(told.contains(words), "{told}");
        assert!(told.contains("(effects 96, offset 4)"), "{told}");
        let notes = |name: &str| -> toml::Table {
            std::fs::read_to_string(at(&format!("{name}.take.toml"))).unwrap().parse().unwrap()
        };
        let (late, song) = (notes("late.wav"), notes("song.wav"));
        assert_eq!(late["latency_frames"].as_integer(), Some(96));
        assert!(!late.contains_key("dropped_frames"));
        assert_eq!(song["latency_frames"].as_integer(), Some(0));
        assert_eq!(song["dropped_frames"].as_integer(), Some(96));
        for name in ["late", "song", "later"] {
            std::fs::remove_file(at(&format!("{name}.wav"))).unwrap();
            std::fs::remove_file(at(&format!("{name}.wav.take.toml"))).unwrap();
        }
    }
}

#[test]
fn what_no_device_brings_has_no_latency() {
    let takes = "[[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n";
    let (folder, file) = session(&format!("{SESSION}{takes}"));
    let log = folder.path().join("log.jsonl");
    let ran = run(&["play", &file, "--json", "--log", log.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let aligned = &told["takes"][0]["aligned"];
    assert_eq!((&aligned["to"], &aligned["frames"]), (&json!("song"), &json!(0)), "{told:#}");
    assert_eq!((&aligned["out_frames"], &aligned["short_frames"]), (&Value::Null, &json!(0)));
    let log = std::fs::read_to_string(log).unwrap();
    let start: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&start["takes"][0]["bus"], &start["takes"][0]["aligned"]["frames"]),
        (&json!("mic"), &json!(0))
    );
}

#[test]
fn an_input_that_no_track_plays_is_recorded_and_shifts_no_other_take() {
    let takes = "[[input]]\nname = \"room\"\nchannels = 1\n[[take]]\ninput = \"room\"\nfile = \"room.wav\"\n\
                 [[take]]\nfrom = \"master\"\nfile = \"mix.wav\"\n[master]\ngain_db = -6\n";
    let (folder, file) = session(&format!("{CLIP}{takes}"));
    let at = |name: &str| folder.path().join(name);
    let feed = format!("room={}", at("loop.flac").display());
    let told = render(&file, &at("out.wav"), &["--input", &feed]);
    assert!(!told.contains("no track plays"), "{told}");
    assert!(bits(&at("mix.wav")) == bits(&at("out.wav")));
    let (room, brought) = (decode(&at("room.wav")).unwrap(), decode(&at("loop.flac")).unwrap());
    let frames = (0.3 * 44_100.0) as usize;
    assert_eq!((room.channels.len(), room.channels[0].len()), (1, frames));
    assert!(room.channels[0][..] == brought.channels[0][..frames]);
}

#[test]
fn an_input_of_many_channels_is_recorded_whole() {
    let takes = "[[input]]\nname = \"field\"\nchannels = 6\n[[take]]\ninput = \"field\"\nfile = \"field.wav\"\n";
    let (folder, file) = session(&format!("{CLIP}{takes}").replace("44100", "48000"));
    let at = |name: &str| folder.path().join(name);
    let brought =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/audio/wav24ext-48k-6ch.wav");
    let feed = format!("field={}", brought.display());
    render(&file, &at("out.wav"), &["--input", &feed]);
    let (field, brought) = (decode(&at("field.wav")).unwrap(), decode(&brought).unwrap());
    let frames = field.channels[0].len().min(brought.channels[0].len());
    assert!(field.channels.len() == 6 && brought.channels.len() == 6 && frames > 0);
    for (field, brought) in field.channels.iter().zip(&brought.channels) {
        assert!(field[..frames] == brought[..frames]);
        assert!(field[frames..].iter().all(|sample| *sample == 0.0));
    }
    let shown = run(&["session", "show", &file]);
    assert!(shown.out.contains("input 0: field, 6 channels"), "{}", shown.out);
}

#[test]
fn a_flac_take_of_too_many_channels_is_refused() {
    let takes = "[[input]]\nname = \"field\"\nchannels = 9\n\
                 [[take]]\ninput = \"field\"\nfile = \"field.flac\"\n";
    let (folder, file) = session(&format!("{CLIP}{takes}"));
    let before = files(folder.path());
    let out = folder.path().join("out.wav");
    let words = ["the session's [[take]] of field", "8 channels, not 9", "WAV (.wav)"];
    check_refused(&["render", &file, "-o", out.to_str().unwrap()], 2, &words);
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_take_before_the_fader_has_no_rows_of_a_side_chain() {
    let more = "[[track.effect]]\nkind = \"compressor\"\nratio = 2\nkey = \"two\"\n\
                [[track]]\nname = \"two\"\nclip = [{ file = \"loop.flac\" }]\n\
                [[take]]\nfrom = \"one\"\ntap = \"pre\"\nfile = \"pre.wav\"\n\
                [[take]]\nfrom = \"one\"\nfile = \"post.wav\"\n";
    let (folder, file) = session(&format!("{CLIP}{more}"));
    let at = |name: &str| folder.path().join(name);
    render(&file, &at("out.wav"), &[]);
    let pre = bits(&at("pre.wav"));
    assert_eq!(pre.len(), 2);
    assert!(pre == bits(&at("post.wav")), "the fader stands at 0 dB");
}

#[test]
fn a_take_with_a_name_that_is_too_long_leaves_nothing() {
    let (folder, file) = session(CLIP);
    let before = files(folder.path());
    let long = folder.path().join(format!("{}.wav", "x".repeat(246)));
    let take = format!("one={}", long.display());
    let first = format!("master={}", folder.path().join("a.wav").display());
    let args = ["play", &file, "--take", &first, "--take", &take];
    check_refused(&args, 2, &["--take one=", "260 bytes", "may have 255", "shorter"]);
    assert_eq!(files(folder.path()), before);
    // A take of notes has no manifest, so its own name may be as long as a name may be, and no longer.
    let long = folder.path().join(format!("{}.mid", "x".repeat(252)));
    let notes = example("notes.toml");
    let take = format!("bass={}", long.display());
    let args = ["play", notes.to_str().unwrap(), "--take", &first, "--take", &take];
    check_refused(&args, 2, &["--take bass=", "256 bytes", "may have 255", "shorter"]);
    assert_eq!(files(folder.path()), before);
}

#[test]
fn the_example_with_notes_sounds_and_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("notes.wav");
    let file = example("notes.toml");
    render(file.to_str().unwrap(), &out, &["--length", "4"]);
    let loud = decode(&out).unwrap().channels.concat().iter().any(|sample| sample.abs() > 0.05);
    assert!(loud);
    let shown = run(&["session", "show", file.to_str().unwrap()]);
    for line in [
        "  input 0: keyboard, mono, with events",
        "    notes: 15 notes from 4 to 20 beats",
        "    depends on live input: the input keyboard",
        "    depends on live input: events of the input keyboard",
    ] {
        assert!(shown.out.lines().any(|own| own == line), "no '{line}' in\n{}", shown.out);
    }
    let of_file =
        |line: &&str| line.contains("messages of") && line.contains("bass.mid from 8 to ");
    assert!(shown.out.lines().any(|line| of_file(&line)), "{}", shown.out);
    assert!(shown.out.contains("receives the notes of chords"), "{}", shown.out);
    assert!(shown.out.contains("  live: "), "{}", shown.out);
    let strips: Vec<&str> = shown.out.split("\n  track ").collect();
    let bass = strips.iter().find(|strip| strip.starts_with("bass")).unwrap();
    assert!(!bass.contains("live"), "a MIDI file is known ahead: {bass}");
}

/// More notes at once than a block has room for: the port of what is chased has room for 16,384.
const CROWD: u64 = 18_000;

fn crowded() -> (tempfile::TempDir, String) {
    let notes: String = (0..CROWD).map(|index| format!("[0, 1, {}], ", index % 128)).collect();
    session(&format!(
        "[session]\nformat = 2\nsample_rate_hz = 44100\nlength_s = 0.1\n[[track]]\nname = \"lead\"\n\
         [[track.notes]]\nnotes = [{notes}]\n[[track.effect]]\nkind = \"synth\"\n"
    ))
}

#[test]
fn events_that_find_no_room_are_counted_with_the_node_and_what_to_do() {
    let (folder, file) = crowded();
    let advice = ["lead", " lost ", "events", "use a smaller --frames, or fewer notes at a time"];
    let played = run(&["play", &file]);
    let record = folder.path().join("record.json");
    let measured = ["bench", &file, "--blocks", "4", "--blocks-per-round", "4", "--starts", "1"];
    let benched = run(&[&measured[..], &["--record", record.to_str().unwrap()]].concat());
    let rendered = run(&["render", &file, "-o", folder.path().join("a.wav").to_str().unwrap()]);
    for (ran, told) in
        [(&played, &played.out), (&benched, &benched.out), (&rendered, &rendered.err)]
    {
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        // A report breaks its lines anywhere.
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        advice.iter().for_each(|part| assert!(told.contains(part), "no '{part}' in\n{told}"));
    }
    let told: Value = serde_json::from_str(&run(&["play", &file, "--json"]).out).unwrap();
    assert!(told["lost_events"][0]["events"].as_u64().unwrap() >= CROWD - 16_384, "{told:#}");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    assert!(told["lost_events"][0]["events"].as_u64().unwrap() >= CROWD - 16_384);
    // Only then.
    let notes = example("notes.toml");
    let ran = run(&["play", notes.to_str().unwrap(), "--length", "0.1", "--json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["lost_events"], &told["thinned_out"]), (&json!([]), &json!([])));
}

#[test]
fn what_measures_records_no_takes_and_says_so() {
    let (folder, file) =
        session(&format!("{CLIP}\n[[take]]\nfrom = \"master\"\nfile = \"mix.wav\"\n"));
    let at = |name: &str| folder.path().join(name);
    let line = "records nothing, so its armed take is left out";
    let measured = ["bench", &file, "--blocks", "4", "--blocks-per-round", "4", "--starts", "1"];
    let benched = run(&measured);
    assert_eq!((benched.code, benched.err.matches(line).count()), (Some(0), 1), "{}", benched.err);

    // A job that renders, twice.
    let sessions = at("sessions");
    std::fs::create_dir(&sessions).unwrap();
    std::fs::copy(at("loop.flac"), sessions.join("loop.flac")).unwrap();
    std::fs::copy(&file, sessions.join("try.toml")).unwrap();
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    std::fs::write(at("hosts"), format!("here hostname={hostname}")).unwrap();
    let [hosts, plan, sessions_arg] =
        ["hosts", "plan", "sessions"].map(|name| at(name).display().to_string());
    let planned = run(&[
        "lab",
        "plan",
        "--hosts",
        &hosts,
        "--for",
        "slurm",
        "--output",
        &plan,
        "--renders",
        &sessions_arg,
    ]);
    assert_eq!(planned.code, Some(0), "{}", planned.err);
    let job = at("plan/jobs/here.toml").display().to_string();
    for records in ["first.sqlite", "second.sqlite"] {
        let records = at(records).display().to_string();
        let ran = run(&["lab", "run", "--spec", &job, "--records", &records]);
        assert_eq!((ran.code, ran.err.matches(line).count()), (Some(0), 1), "{}", ran.err);
    }
    assert_eq!(files(&sessions), ["loop.flac", "try.toml"]);
    assert!(!at("mix.wav").exists());
}
