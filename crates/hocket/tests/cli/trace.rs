//! `hocket trace`: each format can be read again, what is refused, what is kept, what an interruption leaves.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::from_text::PERF;
use crate::interrupted::{await_handler, interrupt};
use crate::support::{
    Ran, check_refused, example, files, hocket, one_track, run, runs_abreast, session, two_alike,
};

/// A file in the folder, as an argument.
fn at(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Traces so many blocks of the example session.
#[track_caller]
fn band(file: &str, blocks: &str) -> Ran {
    let session = example("band.toml");
    let ran = run(&["trace", session.to_str().unwrap(), "--blocks", blocks, "-o", file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

fn read(file: &str) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// The trace events of a file.
fn events(file: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(&read(file)).unwrap();
    assert_eq!(all["otherData"]["format"], "hocket-trace/1");
    all["traceEvents"].as_array().unwrap().clone()
}

fn of_category(events: &[Value], category: &str) -> usize {
    events.iter().filter(|event| event["cat"] == category && event["ph"] == "X").count()
}

#[test]
fn every_block_and_every_unit_is_in_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = at(&folder, "trace.json");
    let ran = band(&file, "30");
    assert!(ran.out.contains(": 30 blocks of 64 frames at 48000 Hz, "), "{}", ran.out);
    assert!(ran.out.contains("kept: 30 blocks, ") && ran.out.contains("misses: "), "{}", ran.out);
    assert!(ran.out.contains("cost of the notes: about "), "{}", ran.out);
    assert!(ran.err.contains("trace.json (") && ran.err.contains("ui.perfetto.dev"), "{}", ran.err);
    let events = events(&file);
    assert_eq!(of_category(&events, "block"), 30);
    let units = of_category(&events, "unit");
    assert!(units > 0 && units.is_multiple_of(30), "each unit runs once per block: {units}");
    let threads = events.iter().filter(|event| event["name"] == "thread_name");
    let names: Vec<&str> = threads.filter_map(|event| event["args"]["name"].as_str()).collect();
    assert!(names[0] == "blocks" && names[1].starts_with("worker 0 (leader)"), "{names:?}");
}

#[test]
fn the_ending_chooses_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let [page, text, perfetto, long] =
        ["a.html", "a.txt", "a.pftrace", "a.perfetto-trace"].map(|name| at(&folder, name));
    for file in [&page, &text, &perfetto, &long] {
        // The second time over its own file.
        band(file, "5");
        band(file, "5");
    }
    assert!(read(&page).starts_with("<!DOCTYPE html>") && read(&page).contains("hocket-trace/1"));
    let text = read(&text);
    assert!(text.starts_with("hocket-trace/1, written by hocket "), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("block ")).count(), 5);
    assert!(text.contains("  worker 0 (leader)"), "{text}");
    for file in [perfetto, long] {
        assert_eq!(std::fs::read(file).unwrap()[0], 0x0a, "a packet of a Perfetto trace");
    }
}

/// Reads a trace with the classes that Perfetto's own Python package has, and prints what it holds as JSON.
const READER: &str = r#"
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
tracks, names, categories, open_slices, slices, facts = {}, {}, {}, {}, [], {}
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
    for new in packet.interned_data.event_names:
        names[new.iid] = new.name
    for new in packet.interned_data.event_categories:
        categories[new.iid] = new.name
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    for note in event.debug_annotations:
        facts.setdefault(note.name, note.string_value)
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        about = [tracks[event.track_uuid], categories[event.category_iids[0]], names[event.name_iid]]
        open_slices.setdefault(event.track_uuid, []).append((about, packet.timestamp))
    elif event.type == TrackEvent.TYPE_SLICE_END:
        about, start = open_slices[event.track_uuid].pop()
        slices.append(about + [packet.timestamp - start, start])
print(json.dumps({"slices": slices, "open": sum(map(len, open_slices.values())), "facts": facts}))
"#;

/// One that has these classes: the one that is named, that of ci/setup.sh, or the usual one.
fn python() -> Option<String> {
    let of_setup = concat!(env!("CARGO_TARGET_TMPDIR"), "/../perfetto-python/bin/python");
    let named = std::env::var("HOCKET_PYTHON").ok();
    let import = "import perfetto.protos.perfetto.trace.perfetto_trace_pb2";
    let has = |python: &String| {
        let tried = Command::new(python).args(["-c", import]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    named.into_iter().chain([of_setup.into(), "python3".into()]).find(has)
}

#[track_caller]
fn as_google_reads(python: &str, file: &str) -> Value {
    let said = Command::new(python).args(["-c", READER, file]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

/// Track, category, name, begin after the first of all, and length, in nanoseconds.
type Slice = (String, String, String, i64, i64);

/// In order, with begins as distances from the first.
fn from_the_first(mut slices: Vec<Slice>) -> Vec<Slice> {
    let first = slices.iter().map(|slice| slice.3).min().unwrap_or(0);
    slices.iter_mut().for_each(|slice| slice.3 -= first);
    slices.sort();
    slices
}

fn slices_of_perfetto(said: &Value) -> Vec<Slice> {
    let slices = said["slices"].as_array().unwrap().iter().map(|slice| {
        let word = |at: usize| slice[at].as_str().unwrap().to_owned();
        let ns = |at: usize| slice[at].as_i64().unwrap();
        (word(0), word(1), word(2), ns(4), ns(3))
    });
    from_the_first(slices.collect())
}

fn slices_of_json(file: &str) -> Vec<Slice> {
    let all: Value = serde_json::from_str(&read(file)).unwrap();
    let events = all["traceEvents"].as_array().unwrap();
    let track = |tid: &Value| {
        let names = |event: &&Value| event["name"] == "thread_name" && event["tid"] == *tid;
        events.iter().find(names).unwrap()["args"]["name"].as_str().unwrap().to_owned()
    };
    let slices = events.iter().filter(|event| event["ph"] == "X").map(|event| {
        let word = |key: &str| event[key].as_str().unwrap().to_owned();
        let ns = |key: &str| (event[key].as_f64().unwrap() * 1e3).round() as i64;
        (track(&event["tid"]), word("cat"), word("name"), ns("ts"), ns("dur"))
    });
    from_the_first(slices.collect())
}

#[test]
fn googles_classes_read_the_threads_of_a_text_as_the_trace_events_say() {
    const TEST: &str = "googles_classes_read_the_threads_of_a_text_as_the_trace_events_say";
    let Some(python) = python() else {
        println!("SKIPPED {TEST}: no Python with the package perfetto; HOCKET_PYTHON names one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [perf, perfetto, json] = ["perf.txt", "a.pftrace", "a.json"].map(|name| at(&folder, name));
    std::fs::write(&perf, PERF).unwrap();
    for file in [&perfetto, &json] {
        let ran = run(&["trace", "--from", &perf, "-o", file]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let said = as_google_reads(&python, &perfetto);
    let format = &said["facts"]["format"];
    assert_eq!((&said["open"], format), (&0.into(), &"hocket-threads/1".into()));
    let slices = slices_of_json(&json);
    assert_eq!(slices_of_perfetto(&said), slices);
    // `a` had the CPU in between. The trace ends with the last event that is whole.
    let engine: Vec<(i64, i64)> = slices
        .iter()
        .filter(|slice| slice.0 == "engine (11)" && slice.2 == "CPU 0")
        .map(|slice| (slice.3, slice.4))
        .collect();
    assert_eq!(engine, [(0, 200_000), (300_000, 50_000)], "{slices:#?}");
    assert!(slices.iter().any(|slice| slice.2 == "<b>io</b> (12)"), "{slices:#?}");
}

#[test]
fn googles_classes_read_the_same_as_the_trace_events_say() {
    const TEST: &str = "googles_classes_read_the_same_as_the_trace_events_say";
    let Some(python) = python() else {
        println!("SKIPPED {TEST}: no Python with the package perfetto; HOCKET_PYTHON names one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = at(&folder, "trace.pftrace");
    band(&file, "20");
    let said = as_google_reads(&python, &file);
    assert_eq!((&said["open"], &said["facts"]["format"]), (&0.into(), &"hocket-trace/1".into()));
    let slices = said["slices"].as_array().unwrap();
    let of = |category: &str| slices.iter().filter(|slice| slice[1] == category).count();
    assert_eq!((of("block"), of("unit") % 20), (20, 0));
    assert!(of("unit") > 0 && slices.iter().all(|slice| slice[3].as_i64().unwrap() >= 0));
    let leads = |slice: &&Value| slice[0].as_str().unwrap().starts_with("worker 0 (leader)");
    assert!(slices.iter().any(|slice| leads(&slice) && slice[1] == "unit"));
}

/// A session whose period of 5 µs nobody keeps.
pub fn hopeless() -> (tempfile::TempDir, String) {
    session(
        "[session]\nname = \"hopeless\"\nsample_rate_hz = 44100\nresample = true\n\n[[track]]\nname = \"one\"\n\
         clip = [{ file = \"loop.flac\" }]\n",
    )
}

const HOPELESS: [&str; 7] = ["--frames", "1", "--rate", "192000", "--on-miss", "--length", "0.01"];

#[test]
fn late_blocks_are_kept_with_their_causes() {
    let (folder, session) = hopeless();
    let (json, text) = (at(&folder, "m.json"), at(&folder, "m.txt"));
    let ran = run(&[&["trace", &session, "-o", &json][..], &HOPELESS].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let events = events(&json);
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    let late = events.iter().filter(|event| event["name"].as_str().unwrap().ends_with(" (late)"));
    let why = |event: &Value| event["args"]["detail"].as_str().map(str::to_owned);
    let why: Vec<String> = late.filter_map(why).collect();
    assert!(!why.is_empty() && named("miss") >= why.len(), "{}", ran.out);
    assert!(why.iter().all(|why| why.contains(" too late: ")), "{why:?}");

    let ran =
        run(&[&["trace", &session, "-o", &text, "--max-misses", "0"][..], &HOPELESS].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.out.contains(" too late: ") && read(&text).contains("  why: block "),
        "{}",
        ran.out
    );
    assert!(
        read(&text).contains("kept: ") && read(&text).contains(": late blocks and their neighb")
    );
}

#[test]
fn a_run_without_misses_keeps_its_worst_block() {
    let (folder, session) = one_track("");
    let file = at(&folder, "calm.json");
    let args = ["trace", &session, "--on-miss", "--length", "0.5", "--frames", "4096", "-o", &file];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let blocks = of_category(&events(&file), "block");
    assert!(blocks > 0, "{}", ran.out);
    // A busy machine may have been late after all.
    if ran.out.contains("misses: 0\n") {
        assert!(blocks <= 3 && ran.out.contains("the least slack: "), "{}", ran.out);
    }
}

#[test]
fn a_load_beside_it_is_played_against() {
    let (folder, session) = one_track("");
    let file = at(&folder, "a.txt");
    let args = ["trace", &session, "--blocks", "20", "-o", &file, "--disturb"];
    let ran = run(&[&args[..], &["compute:1"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    check_refused(&[&args[..], &["noise"]].concat(), 2, &["noise"]);
    check_refused(&[&args[..], &["preview"]].concat(), 2, &["preview"]);
    check_refused(&[&args[..], &["compute@cpu9999"]].concat(), 2, &["CPU 9999"]);
}

#[test]
fn two_variants_are_played_and_stand_on_one_page() {
    let (folder, session) = one_track("");
    let file = at(&folder, "both.html");
    let args = ["trace", &session, "--blocks", "20", "--schedule", "lists,serial", "-o", &file];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for schedule in ["lists / off / ", "serial / off / "] {
        assert!(ran.out.contains(schedule), "{}", ran.out);
    }
    assert_eq!(ran.out.matches("kept: 20 blocks, ").count(), 2, "{}", ran.out);
    let page = read(&file);
    assert!(
        page.contains("Timeline A: lists / off / ") && page.contains("Timeline B: serial / off")
    );
    // The file is Hocket's, so the next run may replace it.
    let waits = ["trace", &session, "--blocks", "5", "--wait", "spin,futex", "-o", &file];
    let ran = run(&waits);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(read(&file).contains("Timeline B: dataflow / off / futex"), "{}", ran.out);
    let lanes = ["trace", &session, "--blocks", "5", "--lanes", "off,auto", "-o", &file];
    let ran = run(&lanes);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(" / lanes\n"), "{}", ran.out);
    assert!(read(&file).contains(" / lanes"), "{}", ran.out);
}

#[test]
fn a_trace_names_both_strips_of_a_unit() {
    let (folder, session) = two_alike();
    let file = at(&folder, "out.txt");
    let lanes = |lanes| {
        let args = ["trace", &session, "--blocks", "5", "--schedule", "serial", "--lanes", lanes];
        let ran = run(&[&args[..], &["-o", &file]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        read(&file)
    };
    let alone = lanes("off");
    assert!(alone.contains("one: play, eq") && !alone.contains(" | two: "), "{alone}");
    let abreast = lanes("auto");
    let both = ["one: play, eq, fader | two: play", "two: play, eq, fader | one: play"];
    let is_named = both.iter().any(|both| abreast.contains(both));
    assert_eq!(is_named, runs_abreast(), "{abreast}");
}

#[test]
fn what_cannot_be_traced_is_refused() {
    let (folder, session) = one_track("");
    let out = at(&folder, "out.txt");
    let with = |more: &[&str], code, words: &[&str]| {
        check_refused(&[&["trace", &session, "-o", &out][..], more].concat(), code, words);
    };
    with(&["--blocks", "0"], 2, &["--blocks"]);
    with(&["--blocks", "10", "--on-miss"], 2, &["--blocks", "--on-miss"]);
    with(&["--blocks", "10", "--length", "1"], 2, &["--blocks", "--length"]);
    with(&["--length", "0"], 2, &["--length 0"]);
    with(&["--length", "-1"], 2, &["--length -1"]);
    with(&["--frames", "0"], 2, &["0 frames"]);
    with(&["--workers", "1000"], 2, &["1000"]);
    with(&["--schedule", "fast"], 2, &["fast", "dataflow"]);
    let page = at(&folder, "out.html");
    let on_a_page = |more: &[&str], words: &[&str]| {
        check_refused(&[&["trace", &session, "-o", &page][..], more].concat(), 2, words);
    };
    with(&["--schedule", "lists,critical"], 2, &["only a page shows two", ".html"]);
    on_a_page(&["--schedule", "lists,critical,steal"], &["3 values", "hocket bench"]);
    on_a_page(&["--schedule", "lists,steal", "--wait", "spin,yield"], &["differ in one thing"]);
    on_a_page(&["--policy", "off,off"], &["--policy has the same value twice"]);
    check_refused(&["trace", &session], 2, &["--output"]);
    check_refused(&["trace", "gone.toml", "-o", &out], 2, &["gone.toml"]);
    for name in ["trace", "trace.wav", "-"] {
        let words = ["no format has this ending", ".html, .txt, .json, .pftrace"];
        check_refused(&["trace", &session, "-o", name], 2, &words);
    }
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"], "nothing was written");
}

/// Of each unit that took 20 µs or more, and of no other.
#[test]
fn the_cpu_time_of_long_units_is_noted_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = at(&folder, "trace.json");
    let session = example("band.toml");
    let args = ["trace", session.to_str().unwrap(), "--blocks", "30", "-o", &file];
    for asked in [true, false] {
        let ran = run(&[&args[..], if asked { &["--cpu-time"] } else { &[] }].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let events = events(&file);
        let spans = events.iter().filter(|event| event["ph"] == "X");
        let mut long = 0;
        for span in spans.filter(|span| ["unit", "wait"].contains(&span["cat"].as_str().unwrap())) {
            let detail = span["args"]["detail"].as_str().unwrap_or("");
            let us = span["dur"].as_f64().unwrap();
            // What lies at the limit may be rounded to either side.
            if us > 20.5 {
                long += 1;
                assert_eq!(detail.starts_with("without a CPU for "), asked, "{span}");
            } else if us < 19.5 {
                assert_eq!(detail, "", "{span}");
            }
            if let Some(away) = detail.strip_prefix("without a CPU for ") {
                let away: f64 = away.strip_suffix(" µs").unwrap().parse().unwrap();
                assert!(away <= us + 1.0, "{span}");
            }
        }
        assert!(long > 0, "nothing took long");
    }
}

#[test]
fn a_file_of_somebody_else_stays_unless_forced() {
    let (folder, session) = one_track("");
    for name in ["a.html", "a.txt", "a.json", "a.pftrace"] {
        let file = at(&folder, name);
        std::fs::write(&file, "mine\n").unwrap();
        let args = ["trace", &session, "--blocks", "2", "-o", &file];
        check_refused(&args, 2, &[name, "Hocket did not write", "--force"]);
        assert_eq!(read(&file), "mine\n");
        let ran = run(&[&args[..], &["--force"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_ne!(std::fs::read(&file).unwrap(), b"mine\n");
    }
    let input = at(&folder, "song.txt");
    std::fs::copy(&session, &input).unwrap();
    check_refused(
        &["trace", &input, "-o", &input, "--force"],
        2,
        &["this file is the session, too"],
    );
}

#[test]
fn what_cannot_be_written_is_kept_elsewhere() {
    let (folder, session) = one_track("");
    check_refused(&["trace", &session, "-o", "/proc/no/trace.txt"], 3, &["cannot be written"]);
    // A disk that is full only when the trace is written.
    let full = folder.path().join("full.txt");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let mut command = hocket(&["trace", &session, "--blocks", "3", "-o", "full.txt"]);
    let ran = Ran::from(command.current_dir(folder.path()).output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.err.contains("; the trace is in ") && ran.err.contains("hocket-trace-"),
        "{}",
        ran.err
    );
    let kept: Vec<String> = files(folder.path());
    let kept = kept.iter().find(|name| name.starts_with("hocket-trace-")).expect("a file");
    assert!(read(&at(&folder, kept)).contains("played: 3 blocks"));
}

/// What a run that would last for hours has kept when it is interrupted after this time; `None` where it was still
/// loading.
fn interrupted(session: &str, file: &str, after: Duration) -> Option<String> {
    let mut command = hocket(&["trace", session, "--length", "80000", "-o", file]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_handler(&child);
    std::thread::sleep(after);
    assert_eq!(interrupt(child), Some(130));
    Path::new(file).exists().then(|| read(file))
}

#[test]
fn ctrl_c_keeps_what_was_collected() {
    let (folder, session) = one_track("");
    let file = at(&folder, "long.txt");
    // How long loading takes is the machine's business: a busy one is given more time.
    for seconds in [1, 4, 16, 64] {
        let Some(text) = interrupted(&session, &file, Duration::from_secs(seconds)) else {
            continue;
        };
        assert!(text.contains(" blocks, interrupted; misses: "), "{text}");
        let blocks = text.lines().filter(|line| line.starts_with("block ")).count();
        assert!(text.contains(&format!("kept: {blocks} blocks")) && blocks > 0);
        return;
    }
    panic!("nothing was kept after a minute");
}

#[test]
fn names_of_the_session_stay_text() {
    let (folder, session) = session(
        "[session]\nname = \"</title><img src=x onerror=alert(1)>\"\nsample_rate_hz = 44100\n\n[[track]]\n\
         name = \"</script><script>alert(1)</script>\"\nclip = [{ file = \"loop.flac\" }]\n",
    );
    let page = at(&folder, "a.html");
    let ran = run(&["trace", &session, "--blocks", "3", "-o", &page]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = read(&page);
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn a_trace_that_waits_for_the_reader_of_its_pipe_ends_with_ctrl_c() {
    use std::io::BufRead;
    let (folder, session) = one_track("");
    let pipe = folder.path().join("pipe.html");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut command = hocket(&["trace", &session, "--length", "0.2", "-o", "pipe.html"]);
    command.current_dir(folder.path()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Its summary comes before the pipe is opened.
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    assert!(out.read_line(&mut String::new()).unwrap() > 0);
    assert_eq!(crate::interrupted::interrupt(child), Some(130));
    let kept = |name: &String| name.starts_with("hocket-trace-") && name.ends_with(".html");
    assert_eq!(crate::support::files(folder.path()).iter().filter(|name| kept(name)).count(), 1);
}
