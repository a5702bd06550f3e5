//! The C examples, compiled with every warning an error and linked with the static library of this very
//! build, play the same bytes as the engine does from Rust.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hocket_engine::session::{Session, StripId};
use hocket_engine::{
    Edit, Editor, Effects, MediaPool, Policy, ScheduleKind, Seat, Seating, Seats, Settings,
    SiblingPolicy, StereoAudio, Strategy, Topology,
};
use tempfile::TempDir;

const FRAMES: usize = 64;
const BLOCKS: usize = 200;
/// What `cargo rustc -p hocket-c -- --print native-static-libs` lists on Linux.
const SYSTEM_LIBRARIES: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Whether there is such a program; says what is skipped where there is none.
fn has(compiler: &str, test: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED {test}: no {compiler} here");
    }
    found
}

/// Where the machine tells nothing of itself, no engine starts.
fn has_topology(test: &str) -> bool {
    let found = Topology::discover().is_ok();
    if !found {
        println!("SKIPPED {test}: no topology here");
    }
    found
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    told
}

/// Cargo builds the library for this test in the folder where the test itself stands.
fn static_library() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let library = exe.parent().unwrap().join("libhocket_c.a");
    assert!(library.exists(), "cargo built no {}", library.display());
    library
}

/// One of the examples.
fn compiled(program: &str, folder: &Path) -> PathBuf {
    compiled_from(&root().join("examples/c").join(program).with_extension("c"), folder)
}

fn compiled_from(source: &Path, folder: &Path) -> PathBuf {
    let binary = folder.join("program");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1"]).args(WARNINGS).arg("-I").arg(include());
    cc.arg("-o").arg(&binary).arg(source).arg(static_library()).args(SYSTEM_LIBRARIES);
    run(&mut cc);
    binary
}

#[test]
fn a_session_plays_the_same_bytes_from_c() {
    let test = "a_session_plays_the_same_bytes_from_c";
    if !has("cc", test) || !has_topology(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (binary, sound) = (compiled("embed", folder.path()), folder.path().join("sound.raw"));
    let session = root().join("sessions/best-case.toml");
    let expected = sound_from_rust(&session);
    for schedule in ["dataflow", "serial"] {
        let mut embed = Command::new(&binary);
        embed.arg(&session).arg(&sound).arg(BLOCKS.to_string()).arg(schedule);
        let told = run(&mut embed);
        assert!(told.contains("leader") && told.contains(schedule), "{told}");
        assert!(std::fs::read(&sound).unwrap() == expected, "{schedule} sounds different");
    }
}

#[test]
fn a_graph_of_callbacks_plays_from_c() {
    let test = "a_graph_of_callbacks_plays_from_c";
    if !has("cc", test) || !has_topology(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let told = run(&mut Command::new(compiled("graph", folder.path())));
    assert_eq!(told, "first right, after reset right, 0 processors left\n");
}

#[test]
fn a_processor_with_background_work_is_saved_and_restored_from_c() {
    let test = "a_processor_with_background_work_is_saved_and_restored_from_c";
    if !has("cc", test) || !has_topology(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let told = run(&mut Command::new(compiled("wavetable", folder.path())));
    let expected = "1 table from the background, a state of 8 bytes, the same bits\n";
    assert_eq!(told, expected);
}

/// Compiles and runs one of the programs in `tests/c`; returns what it said, `None` where it cannot run
/// here.
fn program(test: &str, name: &str, argument: Option<&Path>) -> Option<String> {
    if !has("cc", test) || !has_topology(test) {
        return None;
    }
    let folder = TempDir::new().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let binary = compiled_from(&source, folder.path());
    Some(run(Command::new(binary).args(argument)))
}

#[test]
fn a_hundred_thousand_edits_take_no_memory() {
    if !cfg!(target_env = "gnu") {
        return println!("SKIPPED a_hundred_thousand_edits_take_no_memory: no mallinfo2 here");
    }
    let session = root().join("sessions/best-case.toml");
    let told = program("a_hundred_thousand_edits_take_no_memory", "edits.c", Some(&session));
    assert!(told.is_none_or(|told| told == "memory stays\n"));
}

#[test]
fn an_engine_outlives_leaders_whose_threads_end_without_leaving() {
    let test = "an_engine_outlives_leaders_whose_threads_end_without_leaving";
    let told = program(test, "leader.c", None);
    assert!(told.is_none_or(|told| told == "stopped\n"));
}

#[test]
fn a_graph_of_callbacks_is_changed_while_it_plays() {
    let test = "a_graph_of_callbacks_is_changed_while_it_plays";
    let told = program(test, "live_graph.c", None);
    assert!(told.is_none_or(|told| told == "as expected\n"));
}

#[test]
fn a_studio_plays_from_c_sample_by_sample() {
    let told = program("a_studio_plays_from_c_sample_by_sample", "studio.c", None);
    assert!(told.is_none_or(|told| told == "every sample as expected\n"));
}

#[test]
fn a_session_is_recorded_from_c() {
    let test = "a_session_is_recorded_from_c";
    if !has("cc", test) || !has_topology(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (binary, take) = (compiled("take", folder.path()), folder.path().join("take.wav"));
    let session = root().join("sessions/best-case.toml");
    let mut record = Command::new(&binary);
    record.arg(&session).arg(&take).arg(BLOCKS.to_string());
    let told = run(&mut record);
    let frames = BLOCKS * FRAMES;
    assert!(told.contains(&format!("{frames} frames, 0 of them silent")), "{told}");
    let sound = hocket_media::decode(&take).unwrap().channels;
    assert_eq!((sound.len(), sound[0].len()), (2, frames));
    assert!(sound.iter().flatten().any(|sample| sample.abs() > 1e-3), "it is silent");
    // A recording replaces nothing.
    let again = record.output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists"), "{again:?}");
}

#[test]
fn lanes_and_spread_work_play_from_c_sample_by_sample() {
    let told = program("lanes_and_spread_work_play_from_c_sample_by_sample", "lanes.c", None);
    assert!(told.is_none_or(|told| told == "every sample as expected\n"));
}

#[test]
fn all_states_are_saved_and_restored_from_c() {
    let told = program("all_states_are_saved_and_restored_from_c", "states.c", None);
    assert!(told.is_none_or(|told| told == "2 states restored before the first block\n"));
}

/// The C text in `docs/embedding.md` comes from programs that are compiled and run here, so it is compiled too.
#[test]
fn the_c_text_of_the_documentation_is_that_of_programs() {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let sources = [
        "examples/c/embed.c",
        "examples/c/graph.c",
        "examples/c/take.c",
        "examples/c/wavetable.c",
        "crates/hocket-c/tests/c/lanes.c",
        "crates/hocket-c/tests/c/states.c",
        "crates/hocket-c/tests/c/studio.c",
    ];
    let sources = sources.map(|path| lines(&read(root().join(path))));
    let page = read(root().join("docs/embedding.md"));
    let blocks: Vec<&str> = page.split("```c\n").skip(1).collect();
    assert!(blocks.len() > 3, "the page has C text");
    for block in blocks {
        let block = lines(block.split("```").next().unwrap_or_default());
        let is_in = |source: &Vec<String>| source.windows(block.len()).any(|part| part == block);
        assert!(sources.iter().any(is_in), "no program has this text: {block:#?}");
    }
}

#[test]
fn errors_reach_a_c_program_with_place_and_remedy() {
    let test = "errors_reach_a_c_program_with_place_and_remedy";
    if !has("cc", test) || !has_topology(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let binary = compiled("embed", folder.path());
    let session = folder.path().join("wrong.toml");
    std::fs::write(&session, "[session]\nname = 7\n").unwrap();
    let output = Command::new(binary).arg(&session).args(["none.raw", "1"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("wrong.toml:2"), "{told}");
}

#[test]
fn the_header_is_c_and_cpp() {
    let test = "the_header_is_c_and_cpp";
    let header = include().join("hocket.h");
    for (compiler, language, standards) in [
        ("cc", "c", &["-std=c99", "-std=c11"][..]),
        ("c++", "c++", &["-std=c++11", "-std=c++17"][..]),
    ] {
        if !has(compiler, test) {
            continue;
        }
        for standard in standards {
            let mut check = Command::new(compiler);
            check.args(["-fsyntax-only", standard]).args(WARNINGS);
            run(check.args(["-x", language]).arg(&header));
        }
    }
}

/// The same session, the same change at the same block, walked by one worker.
fn sound_from_rust(path: &Path) -> Vec<u8> {
    let (session, media) = load(path);
    let policy = Policy {
        schedule: ScheduleKind::Serial,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let rate_hz = session.sample_rate_hz;
    let settings = Settings { priority: None, ..Settings::new(FRAMES as u32, rate_hz, policy) };
    let seats = Seats { seats: vec![Seat { core: 0, speed: 1.0 }] };
    let seating = Seating::described(&seats, policy.sibling, None).unwrap();
    let (mut engine, mut editor) = Editor::start(session, media, settings, seating).unwrap();
    let mut bytes = Vec::new();
    for block in 0..BLOCKS {
        if block == BLOCKS / 2 {
            editor.apply(Edit::Gain(StripId::Track(0), -30.0)).unwrap();
        }
        engine.process(FRAMES);
        let rows = engine.output(FRAMES);
        for (left, right) in rows.left.iter().zip(rows.right) {
            bytes.extend([left.to_ne_bytes(), right.to_ne_bytes()].concat());
        }
    }
    assert!(bytes.iter().any(|byte| *byte != 0), "the session is silent");
    bytes
}

fn load(path: &Path) -> (Session, MediaPool) {
    let topology = Topology::discover().unwrap();
    let options =
        hocket_session::LoadOptions::for_seats(hocket_engine::seats_of(&topology).0.seats.len());
    let catalogue = Effects::builtin();
    let session = hocket_session::load(path, &catalogue, &options).unwrap().session;
    let audio = session.media.iter().map(|media| {
        let file = hocket_media::decode(&media.path).unwrap();
        let audio = match file.sample_rate_hz == session.sample_rate_hz {
            true => file,
            false => hocket_media::resample(&file, session.sample_rate_hz),
        };
        Arc::new(StereoAudio::from_planar(&audio.channels))
    });
    let media = MediaPool::new(audio.collect());
    (session, media)
}
