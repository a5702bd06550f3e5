//! What works.

use hocket_engine::Misses;
use hocket_lab::record::{BenchRecord, Round};

use crate::support::{check_refused, example, one_track, root, run, runs_abreast, session};

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let ran = run(&["--help"]);
    assert_eq!(ran.code, Some(0));
    for word in ["demo", "machine", "bench", "play", "render", "report", "130 interrupted"] {
        assert!(ran.out.contains(word), "{word} is missing:\n{}", ran.out);
    }
    for command in ["bench", "capacity", "play", "render", "machine", "demo", "report"] {
        assert!(run(&[command, "--help"]).out.contains("Example"), "{command}");
    }
}

/// The lines of a help below a heading, up to the next one.
fn below<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.is_empty() || line.starts_with(' ')).collect()
}

#[test]
fn long_helps_gather_options_and_end_each_list_of_common_ones_alike() {
    for (command, headings) in [
        (
            "play",
            &["Sound device", "Workers", "Recording and log", "Remote control", "Plug-ins"][..],
        ),
        ("render", &["Workers", "Plug-ins", "DAWproject and MIDI files"]),
        ("bench", &["Measurement", "Workers", "Plug-ins"]),
        ("trace", &["Other programs and files", "Workers"]),
        ("doctor", &[]),
    ] {
        let help = run(&[command, "--help"]).out;
        let options = below(&help, "Options:");
        let names =
            options.iter().map(|line| line.trim_start()).filter(|line| line.starts_with('-'));
        let names: Vec<&str> = names.filter_map(|line| line.split([' ', ',']).next()).collect();
        assert!(names.ends_with(&["-q", "-v", "-h"]), "{command}: {names:?}");
        for heading in headings {
            let options = below(&help, &format!("{heading}:"));
            let is_one = |line: &&&str| line.trim_start().starts_with("--");
            assert!(options.iter().filter(is_one).count() > 0, "{command}: {heading} in\n{help}");
        }
    }
}

#[test]
fn renders_are_the_same_bytes_for_every_schedule_policy_wait_and_block_length() {
    let folder = tempfile::tempdir().unwrap();
    let session = example("band.toml");
    let mut first: Option<Vec<u8>> = None;
    for (index, more) in [
        &["--schedule", "serial", "--lanes", "off"][..],
        &["--schedule", "lists", "--wait", "futex"],
        &["--schedule", "dataflow", "--wait", "pause", "--policy", "off"],
        &["--policy", "pair-barrier", "--frames", "61"],
        &["--schedule", "auto", "--frames", "64"],
        &["--schedule", "serial", "--lanes", "auto"],
        &["--schedule", "auto", "--lanes", "auto", "--frames", "64"],
        &["--policy", "idle-thread", "--workers", "1", "--frames", "4096"],
    ]
    .iter()
    .enumerate()
    {
        let out = folder.path().join(format!("{index}.wav"));
        let mut args = vec!["render", session.to_str().unwrap(), "-o", out.to_str().unwrap()];
        args.extend(["--length", "0.5", "--format", "32f"]);
        args.extend(*more);
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let bytes = std::fs::read(&out).unwrap();
        assert!(bytes.len() > 150_000, "{} bytes", bytes.len());
        assert_eq!(first.get_or_insert_with(|| bytes.clone()), &bytes, "{more:?}");
    }
}

#[test]
fn feedback_sounds_alike_in_blocks_of_all_lengths_up_to_its_own() {
    let (folder, file) = session(
        "[session]\nformat = 2\nsample_rate_hz = 44100\nlength_s = 0.5\n\
         [[track]]\nname = \"a\"\nclip = [{ file = \"loop.flac\" }]\n[[track.send]]\nto = \"x\"\n\
         [[return]]\nname = \"x\"\n[[return.send]]\nto = \"y\"\ngain_db = -6\n\
         [[return]]\nname = \"y\"\n[[return.send]]\nto = \"x\"\nfeedback = true\ngain_db = -6\n",
    );
    let out = folder.path().join("out.wav");
    let render = |frames: &str| {
        let ran = run(&["render", &file, "-o", out.to_str().unwrap(), "--frames", frames]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (std::fs::read(&out).unwrap(), ran.err)
    };
    let (short, told) = render("64");
    assert!(told.contains("64 frames, 1.5 ms") && told.contains("feedback_s"), "{told}");
    assert_ne!(short, render("441").0, "one block later");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("length_s", "feedback_s = 0.01\nlength_s")).unwrap();
    let (short, told) = render("64");
    assert!(!told.contains("feed back"), "{told}");
    assert!(short == render("441").0 && short == render("100").0);
    let told = render("1024").1;
    assert!(told.contains("23.2 ms later and not 10.0") && told.contains("441"), "{told}");
}

#[test]
fn every_wait_renders_or_is_refused_with_the_reason() {
    let (folder, file) = one_track("");
    for wait in hocket_engine::Strategy::ALL {
        let out = folder.path().join(format!("{wait}.wav"));
        let out_arg = out.to_str().unwrap();
        let args = ["render", &file, "-o", out_arg, "--length", "0.1", "--wait", wait.name()];
        match wait.missing() {
            None => {
                let ran = run(&args);
                assert_eq!((ran.code, out.exists()), (Some(0), true), "{wait}: {}", ran.err);
            }
            Some(why) => {
                check_refused(&args, 3, &[wait.name(), why, "choose among spin, pause"]);
                assert!(!out.exists());
                check_refused(&["bench", &file, "--wait", wait.name()], 3, &[wait.name(), why]);
            }
        }
    }
}

#[test]
fn formats_and_lengths_are_as_asked_for() {
    let (folder, file) = one_track("");
    for (format, bytes_a_sample) in [("16", 2), ("24", 3), ("32f", 4)] {
        let out = folder.path().join("out.wav");
        let ran = run(&[
            "render",
            &file,
            "-o",
            out.to_str().unwrap(),
            "--format",
            format,
            "--length",
            "0.1",
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let audio = hocket_media::decode(&out).unwrap();
        assert_eq!((audio.frames(), audio.channels.len(), audio.sample_rate_hz), (4410, 2, 44_100));
        let size = std::fs::metadata(&out).unwrap().len();
        assert!((4410 * 2 * bytes_a_sample..4410 * 2 * bytes_a_sample + 200).contains(&size));
    }
}

#[test]
fn a_bench_compares_strips_alone_and_abreast() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json").to_str().unwrap().to_owned();
    let session = example("best-case.toml").to_str().unwrap().to_owned();
    let args =
        ["bench", &session, "--schedule", "serial", "--policy", "off", "--lanes", "off,auto"];
    let ran = run(&[&args[..], &["--blocks", "60", "--no-profile", "--record", &file]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(" / lanes"), "{}", ran.out);
    let record = BenchRecord::read(&file).unwrap();
    let own: Vec<_> = record.variants.iter().filter(|variant| !variant.twin).collect();
    assert_eq!(own.iter().map(|variant| variant.lanes).collect::<Vec<_>>(), [false, true]);
    // A unit of two strips has both names.
    let pairs = own.iter().map(|variant| format!("{:?}", variant.ordinary).contains(" | "));
    assert_eq!(pairs.collect::<Vec<_>>(), [false, runs_abreast()]);
}

#[test]
fn a_bench_leaves_a_record_that_can_be_read_and_reported() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ran = run(&[
        "bench",
        &file,
        "--blocks",
        "120",
        "--blocks-per-round",
        "20",
        "--seed",
        "7",
        "--disturb",
        "compute:1",
        "--record",
        &at("r.json"),
        "--report",
        &at("r.html"),
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for word in ["off", "pair-barrier", "bare wake-up loop", "p99.9"] {
        assert!(ran.out.contains(word), "{word}:\n{}", ran.out);
    }
    let record = BenchRecord::read(at("r.json")).unwrap();
    // Five policies, and the first one again.
    assert_eq!((record.variants.len(), record.settings.seed), (6, 7));
    assert_eq!((record.settings.starts, record.settings.rounds), (5, 6));
    assert!(record.variants[5].twin && record.variants[5].name.ends_with("(again)"));
    let starts = |rounds: &[Round]| rounds.iter().map(|round| round.start).collect::<Vec<u32>>();
    for variant in &record.variants {
        assert_eq!(variant.blocks(), 120, "{}", variant.name);
        assert_eq!(starts(&variant.rounds), [0, 1, 2, 3, 4, 4], "{}", variant.name);
        assert!(
            variant.worst.is_some() && variant.ordinary.is_some() && !variant.threads.is_empty()
        );
        // A busy machine may give the load no time beside threads of real-time class.
        let load = &variant.disturbers[0];
        assert_eq!(load.progress.len(), variant.rounds.len(), "one figure for each turn");
        assert!(load.cpu_time_ns > 0 || load.progress.iter().all(|work| *work == 0.0));
    }
    assert_eq!(record.wake_loop.lateness_ns().count(), 120);
    assert!(record.partial.is_none());

    let page = std::fs::read_to_string(at("r.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("deadline"));
    let ran = run(&["report", &at("r.json")]);
    assert!(ran.code == Some(0) && ran.out.contains("bare wake-up loop"));
    let ran = run(&["report", &at("r.json"), "-o", &at("again.html"), "--svg", &at("r.svg")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(at("again.html")).unwrap(), page);
    assert!(std::fs::read_to_string(at("r.svg")).unwrap().contains("<svg"));
}

/// One start is quick, and promises nothing.
#[test]
fn a_bench_of_one_start_says_that_it_shows_no_difference() {
    let (_folder, file) = one_track("");
    let mut args = vec!["bench", &file, "--blocks", "160", "--blocks-per-round", "20"];
    args.extend(["--schedule", "serial,dataflow", "--policy", "off", "--disturb", "none"]);
    args.extend(["--starts", "1"]);
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for words in ["1 process start", "too few starts", "--starts 5", "No difference in speed"] {
        assert!(ran.out.contains(words), "{words}:\n{}", ran.out);
    }
    check_refused(&["bench", &file, "--starts", "0"], 2, &["--starts", "1000"]);
    check_refused(&["bench", &file, "--start-of", "1"], 2, &["--start-of"]);
}

#[test]
fn misses_give_exit_code_1_only_where_asked_for() {
    let session = example("worst-case-8.toml");
    let session = session.to_str().unwrap();
    // One frame at 96 kHz is 10 µs: nobody can make that.
    let hopeless = [
        "bench",
        session,
        "--frames",
        "1",
        "--rate",
        "96000",
        "--blocks",
        "50",
        "--policy",
        "off",
        "--disturb",
        "none",
    ];
    assert_eq!(run(&hopeless).code, Some(0));
    let mut strict = hopeless.to_vec();
    strict.extend(["--max-misses", "0"]);
    assert_eq!(run(&strict).code, Some(1));
}

/// A period without a block is as silent as one with a late block: both count against the limit.
#[test]
fn a_skipped_period_is_a_miss_in_bench_as_in_play() {
    let session = example("worst-case-4.toml");
    // One frame at 192 kHz is 5 µs. Every block that is late costs its own period and a skipped one.
    let bench = ["bench", session.to_str().unwrap(), "--frames", "1", "--rate", "192000"];
    let mut args = bench.to_vec();
    args.extend(["--policy", "off", "--schedule", "serial", "--disturb", "none", "--json"]);
    args.extend(["--blocks", "50", "--blocks-per-round", "50", "--max-misses", "50"]);
    let ran = run(&args);
    let record: BenchRecord = serde_json::from_str(&ran.out).unwrap();
    let round = &record.variants[0].rounds[0];
    let late = round.slack_ns.iter().filter(|slack| **slack < 0).count() as u64;
    let skipped: u64 = round.skipped_periods.iter().sum();
    assert!(late <= 50 && late + skipped > 50, "{late} late, {skipped} skipped");
    assert_eq!(record.variants[0].misses(), Misses { late, skipped });
    assert_eq!(ran.code, Some(1), "{late} late and {skipped} skipped are more than 50 misses");
}

/// Beside a record whose blocks took a thousandth of the time everything is slower, however busy the machine is.
#[test]
fn a_baseline_decides_the_exit_code_of_bench() {
    let session = example("worst-case-4.toml");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let bench = ["bench", session.to_str().unwrap(), "--policy", "off", "--schedule", "serial"];
    let bench = [&bench[..], &["--disturb", "none", "--blocks", "20", "--blocks-per-round", "2"]];
    let with = |more: &[&str]| run(&[&bench.concat(), more].concat());
    let before = file("before.json");
    assert_eq!(with(&["--record", &before]).code, Some(0));
    let record = BenchRecord::read(&before).unwrap();
    for (name, factor, code) in [("slow.json", 1e3, 0), ("fast.json", 1e-3, 1)] {
        let mut other = record.clone();
        for round in other.variants.iter_mut().flat_map(|variant| &mut variant.rounds) {
            round.duration_ns.iter_mut().for_each(|ns| *ns = (*ns as f64 * factor) as i64 + 1);
        }
        other.write_atomic(file(name)).unwrap();
        let ran = with(&["--baseline", &file(name), "--max-slower", "50"]);
        assert_eq!(ran.code, Some(code), "{name}: {} {}", ran.out, ran.err);
        assert!(ran.out.contains("Against the run of "), "{}", ran.out);
        assert_eq!(ran.err.contains("against the baseline"), code == 1, "{}", ran.err);
    }
    // Refused before anything is measured.
    let refused = |file: &str, more: &[&str], words: [&str; 2]| {
        let ran = with(&[&["--baseline", file], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(words.iter().all(|words| ran.err.contains(words)), "{words:?}: {}", ran.err);
    };
    refused(&before, &["--frames", "128"], ["not comparable", "differ in frames"]);
    refused(&before, &["--starts", "2"], ["cannot be judged", "5 process"]);
    let few = ["bench", session.to_str().unwrap(), "--policy", "off", "--schedule", "serial"];
    let few = [&few[..], &["--disturb", "none", "--blocks", "10", "--blocks-per-round", "2"]];
    let few = [&few.concat()[..], &["--baseline", &before]].concat();
    check_refused(&few, 2, &["cannot be judged", "--blocks 10 is 5 rounds"]);
    refused(&before, &["--seat-wait", "yield"], ["not comparable", "differ in seat wait"]);
    refused(&before, &["--baseline", &before], ["not comparable", "named twice"]);
    let spoilt = |name: &str, spoil: fn(&mut BenchRecord)| {
        let mut other = record.clone();
        spoil(&mut other);
        other.write_atomic(file(name)).unwrap();
        file(name)
    };
    let partial = spoilt("partial.json", |it| it.partial = Some("interrupted".into()));
    refused(&partial, &[], ["not comparable", "not complete"]);
    let no_twin = spoilt("no-twin.json", |it| it.variants.retain(|variant| !variant.twin));
    refused(&no_twin, &[], ["cannot be judged", "measured twice"]);
    let other = spoilt("other.json", |it| it.session.content_sha256 = Some("0".into()));
    refused(&other, &[], ["not comparable", "the session's text"]);
    refused(&before, &["--fill", "2"], ["differ in --fill: none", "leave --fill out"]);
    let filled = spoilt("filled.json", |it| {
        (it.session.content_sha256, it.session.fill) = (Some("0".into()), Some(1));
    });
    refused(&filled, &["--fill", "2"], ["1 equaliser in the baseline, now 2", "give --fill 1"]);
    assert_eq!(with(&["--max-slower", "5"]).code, Some(2));
}

/// Which class the threads get is known only when they ask for it, and by then there may be too many misses as well.
#[test]
fn a_gate_that_does_not_judge_is_told_beside_misses() {
    let session = example("worst-case-4.toml");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json").display().to_string();
    let bench = ["bench", session.to_str().unwrap(), "--policy", "off", "--schedule", "serial"];
    let bench = [&bench[..], &["--disturb", "none", "--blocks", "20", "--blocks-per-round", "2"]];
    // Nobody makes a block in 5 µs.
    let bench = [&bench.concat()[..], &["--frames", "1", "--rate", "192000"]].concat();
    assert_eq!(run(&[&bench[..], &["--record", &file]].concat()).code, Some(0));
    let mut record = BenchRecord::read(&file).unwrap();
    let threads = record.variants.iter_mut().flat_map(|variant| &mut variant.threads);
    threads.for_each(|thread| thread.class_got = "SCHED_IDLE".into());
    record.write_atomic(&file).unwrap();
    for (more, code) in [(&["--max-misses", "0"][..], 1), (&[], 2)] {
        let ran = run(&[&bench[..], &["--baseline", &file], more].concat());
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.err.contains("not comparable: the two runs differ in class of"), "{}", ran.err);
    }
}

#[test]
fn the_machine_is_told_as_text_and_as_json() {
    let ran = run(&["machine"]);
    assert!(ran.code == Some(0) && ran.out.contains("real-time priority"), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&run(&["machine", "--json"]).out).unwrap();
    for array in ["packages", "cores", "seats", "pairs", "kinds", "caches", "numa_nodes"] {
        assert!(json[array].is_array(), "{array}");
    }
    let fixtures = root().join("crates/hocket-machine/tests/fixtures");
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            let ran = run(&["machine", "--topology", path.to_str().unwrap(), "--json"]);
            let json: serde_json::Value = serde_json::from_str(&ran.out)
                .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), ran.err));
            assert!(!json["seats"].as_array().unwrap().is_empty(), "{}", path.display());
        }
    }
}

#[test]
fn the_demo_leaves_record_and_report() {
    let folder = tempfile::tempdir().unwrap();
    let session = example("worst-case-4.toml");
    let ran = run(&[
        "demo",
        "--blocks",
        "60",
        "--session",
        session.to_str().unwrap(),
        "--out",
        folder.path().join("deep/out").to_str().unwrap(),
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let record = BenchRecord::read(folder.path().join("deep/out/record.json")).unwrap();
    assert!(record.settings.disturb.iter().any(|disturber| disturber.starts_with("preview")));
    assert!(folder.path().join("deep/out/report.html").is_file());
}
