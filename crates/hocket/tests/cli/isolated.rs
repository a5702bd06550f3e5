//! `--isolate`: plug-ins in processes of their own.

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::interrupted::{await_that, interrupt, kill, runs};
use crate::plugins::Machine;
use crate::support::{one_track, session};

const GAIN: &str = "clap:test.hocket.gain";
const OVERDRIVE: &str = "lv2:http://drobilla.net/plugins/mda/Overdrive";
/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(20);

/// A track with the test plug-in, whose gain a lane moves at half a second.
fn moved(gain: f32) -> (tempfile::TempDir, String) {
    one_track(&format!(
        "[[track.effect]]\nkind = \"{GAIN}\"\noutput_gain = 0.5\n\
         [[track.automation]]\neffect = \"{GAIN}\"\nparameter = \"output_gain\"\n\
         points = [[0, 0.5, \"hold\"], [0.5, {gain}, \"hold\"], [0.6, 0.5]]\n"
    ))
}

#[test]
fn a_render_has_the_same_bytes_with_isolation() {
    let test = "a_render_has_the_same_bytes_with_isolation";
    let Some(machine) = Machine::with_test_clap(test, "plain") else { return };
    let (_folder, session) = session(&format!(
        "[session]\nname = \"try\"\nsample_rate_hz = 44100\nlength_s = 2\n\n\
         [[track]]\nname = \"dry\"\nclip = [{{ file = \"loop.flac\", start_s = 0.1 }}]\n\
         [[track]]\nname = \"wet\"\nclip = [{{ file = \"loop.flac\" }}]\n\
         [[track.effect]]\nkind = \"{GAIN}\"\noutput_gain = 0.5\ndelay = 480\n\
         [[track.effect]]\nkind = \"{GAIN}\"\ndelay = 7\n\
         [[track.automation]]\neffect = 1\nparameter = \"output_gain\"\n\
         points = [[0, 0.5], [1, 2.0], [1.5, 0.25]]\n\n\
         [master]\n[[master.effect]]\nkind = \"{GAIN}\"\noutput_gain = 0.9\n"
    ));
    let output = machine.file("out.wav");
    let rendered = |more: &[&str]| {
        let args = ["render", &session, "-o", &output, "--format", "32f", "--frames", "300"];
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
        assert!(!ran.err.contains("warning"), "{more:?}: {}", ran.err);
        std::fs::read(&output).unwrap()
    };
    let together = rendered(&[]);
    assert!(rendered(&["--isolate"]) == together);
    for schedule in ["serial", "lists", "dataflow", "steal", "critical"] {
        assert!(rendered(&["--isolate", "--schedule", schedule]) == together, "{schedule}");
    }
    for name in [GAIN, "test.hocket.gain", "test gain"] {
        assert!(rendered(&[&format!("--isolate={name}")]) == together, "{name}");
    }
    assert!(rendered(&["--isolate", "--from", "0.5"]) == rendered(&["--from", "0.5"]));
}

/// A crash shows that the plug-in has a process of its own: without one, it would take Hocket along.
#[test]
fn a_session_isolates_an_effect_by_itself() {
    let test = "a_session_isolates_an_effect_by_itself";
    let Some(machine) = Machine::with_test_clap(test, "trips") else { return };
    let (_folder, session) = one_track(&format!(
        "[[track.effect]]\nkind = \"{GAIN}\"\nisolate = true\n\
         [[track.automation]]\neffect = 1\nparameter = \"output_gain\"\n\
         points = [[0, 0.5, \"hold\"], [0.5, 3.5, \"hold\"], [0.6, 0.5]]\n"
    ));
    let output = machine.file("out.wav");
    let ran = machine.run(&["render", &session, "-o", &output, "--length", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = format!("warning: one: {GAIN}: the plug-in 'Test gain' crashed (signal 11)");
    assert!(ran.err.contains(&told), "{}", ran.err);
}

#[test]
fn lv2_plug_ins_have_the_same_bytes_with_isolation() {
    let test = "lv2_plug_ins_have_the_same_bytes_with_isolation";
    let Some(machine) = Machine::with_mda(test) else { return };
    let (_folder, session) =
        one_track(&format!("[[track.effect]]\nkind = \"{OVERDRIVE}\"\ndrive = 0.5\n"));
    let output = machine.file("out.wav");
    let rendered = |more: &[&str]| {
        let args = ["render", &session, "-o", &output, "--format", "32f"];
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
        std::fs::read(&output).unwrap()
    };
    assert!(rendered(&["--isolate=mda overdrive"]) == rendered(&[]));
}

#[test]
fn a_render_survives_a_crash_and_names_the_plug_in() {
    let test = "a_render_survives_a_crash_and_names_the_plug_in";
    let Some(machine) = Machine::with_test_clap(test, "trips") else { return };
    let (_folder, session) = moved(3.5);
    let output = machine.file("out.wav");
    let ran = machine.run(&["render", &session, "-o", &output, "--length", "1", "--isolate"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = format!(
        "warning: one: {GAIN}: the plug-in 'Test gain' crashed (signal 11); started again (1 of 3)"
    );
    assert!(ran.err.contains(&told), "{}", ran.err);
    // The block that crashed is several runs of the plug-in.
    let told = format!("warning: node 'one: {GAIN}' failed to process ");
    assert!(ran.err.contains(&told), "{}", ran.err);
}

#[test]
fn play_survives_what_plug_ins_do_and_names_them() {
    let test = "play_survives_what_plug_ins_do_and_names_them";
    let Some(machine) = Machine::with_test_clap(test, "trips") else { return };
    for (gain, told) in [
        (3.5, "'Test gain' crashed (signal 11)"),
        (3.125, "'Test gain' put out samples that are not finite"),
        (3.25, "'Test gain' gave no answer for 3 s"),
    ] {
        let (_folder, session) = moved(gain);
        let args = ["play", &session, "--length", "8", "--priority", "0", "--isolate", "--json"];
        let ran = machine.run(&[&args[..], &["--frames", "1024"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let told = format!("warning: one: {GAIN}: the plug-in {told}");
        assert!(ran.err.contains(&told), "{gain}: {}", ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["isolated"][0]["node"], format!("one: {GAIN}"), "{}", ran.out);
        assert!(json["isolated"][0]["late"].as_u64().unwrap() > 0, "{}", ran.out);
        assert!(json["frames_played"].as_u64().unwrap() >= 8 * 44_100, "{}", ran.out);
    }
}

#[test]
fn a_name_that_no_plug_in_has_is_refused() {
    let Some(machine) = Machine::with_test_clap("a_name_that_no_plug_in_has", "plain") else {
        return;
    };
    let (_folder, session) = moved(1.0);
    let output = machine.file("out.wav");
    for args in
        [&["play", &session][..], &["bench", &session], &["render", &session, "-o", &output]]
    {
        let ran = machine.run(&[args, &["--isolate=nobody"]].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        let told =
            format!("--isolate=nobody: no plug-in of the session is called so; it has {GAIN}");
        assert!(ran.err.contains(&told), "{}", ran.err);
    }
    let ran = machine.run(&["plugin", "isolated"]);
    assert!(ran.code == Some(2), "{:?} {}", ran.code, ran.err);
}

#[test]
fn a_bench_measures_isolated_plug_ins() {
    let test = "a_bench_measures_isolated_plug_ins";
    let Some(machine) = Machine::with_test_clap(test, "plain") else { return };
    let (_folder, session) = moved(1.0);
    let args = ["bench", &session, "--policy", "off", "--starts", "1", "--blocks", "20"];
    let more = ["--blocks-per-round", "20", "--disturb", "none", "--isolate=Test gain"];
    let ran = machine.run(&[&args[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// The processes of isolated plug-ins of this machine: those that have its folder in their environment.
fn plug_ins(machine: &Machine) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let folder = machine.file("");
    let is_plug_in = |process: &u32| {
        let read = |name: &str| {
            let bytes = std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        read("cmdline").contains("\0isolated\0") && read("environ").contains(&folder)
    };
    numbers.filter(is_plug_in).collect()
}

/// A run that plays for so many seconds, once a plug-in has its process.
fn playing(machine: &Machine, session: &str, seconds: &str) -> Child {
    let args = ["play", session, "--length", seconds, "--priority", "0", "--isolate"];
    let mut command = machine.command(&args);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("no plug-in has started", POLL, || plug_ins(machine).first().copied());
    child
}

#[track_caller]
fn check_none_left(machine: &Machine) {
    let none_runs = || plug_ins(machine).into_iter().all(|process| !runs(process));
    await_that("a plug-in's process goes on", POLL, || none_runs().then_some(()));
}

#[test]
fn no_process_is_left_behind() {
    let test = "no_process_is_left_behind";
    // The second one hangs in its first block.
    for name in ["plain", "stalls"] {
        let Some(machine) = Machine::with_test_clap(test, name) else { return };
        let (_folder, session) = moved(1.0);
        let mut child = playing(&machine, &session, "1");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        check_none_left(&machine);
        assert_eq!(interrupt(playing(&machine, &session, "3600")), Some(130));
        check_none_left(&machine);
        let mut child = playing(&machine, &session, "3600");
        kill("-KILL", child.id());
        child.wait().unwrap();
        check_none_left(&machine);
    }
}
