//! The stress test finds what the tests' own plug-in does wrong. The process of its own is this test program, started for
//! `the_child` alone.

use std::path::Path;
use std::time::Duration;

use hocket_plugins::check::{ALL, Job, Level, Report, Supervisor, Verdict, exercise};
use hocket_plugins::{clap, lv2};

use crate::common::{bundle, test_clap, test_instrument};

/// The child. Its last two arguments say what to do; without them it has nothing to do.
#[test]
#[ignore = "only in the process that a check starts"]
fn the_child() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some([job, into]) = arguments.last_chunk() else { return };
    let Ok(job) = std::fs::read(job) else { return };
    let job: Job = serde_json::from_slice(&job).unwrap();
    exercise(&job, Err("not here".into()), Path::new(into)).unwrap();
}

fn supervisor(limit_s: u64) -> Supervisor {
    let arguments = ["--exact", "check::the_child", "--ignored", "--nocapture"];
    Supervisor {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).into(),
        limit: Duration::from_secs(limit_s),
        shows_output: false,
        pair: Err("no core has two threads".into()),
    }
}

/// What is found of the tests' plug-in in a file of this name.
fn checked(test: &str, name: &str, limit_s: u64) -> Option<Report> {
    Some(checked_as((&test_clap(test)?, "test.hocket.gain"), name, limit_s))
}

/// What is found of the tests' instrument in a file of this name.
fn checked_instrument(test: &str, name: &str) -> Option<Report> {
    Some(checked_as((&test_instrument(test)?, "test.hocket.instrument"), name, 60))
}

fn checked_as((file, id): (&Path, &str), name: &str, limit_s: u64) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(name);
    std::fs::copy(file, &library).unwrap();
    let plugin = clap::describe(&library, id).unwrap();
    supervisor(limit_s).check(&plugin, 7).unwrap()
}

/// The worst verdict of a check.
fn worst<'a>(report: &'a Report, check: &str) -> &'a Verdict {
    let of = report.verdicts.iter().filter(|verdict| verdict.check == check);
    of.max_by_key(|verdict| verdict.level).unwrap_or_else(|| panic!("no {check}: {report:#?}"))
}

/// Those whose verdict does not depend on how busy the machine is.
fn failed(report: &Report) -> Vec<&str> {
    let timeless = ALL.iter().filter(|check| **check != "timing");
    timeless.copied().filter(|check| worst(report, check).level == Level::Failed).collect()
}

#[test]
fn a_good_plug_in_passes_every_check() {
    let test = "a_good_plug_in_passes_every_check";
    let Some(report) = checked(test, "good.clap", 60) else { return };
    assert_eq!(failed(&report), [""; 0], "{report:#?}");
    for check in ["builds", "blocks", "parameters", "input", "reset", "state", "threads"] {
        assert_eq!(worst(&report, check).level, Level::Ok, "{report:#?}");
    }
    assert_eq!(worst(&report, "calls").level, Level::Unmeasured, "system calls alone");
    assert_eq!(worst(&report, "sibling").found, "no core has two threads");
    assert_eq!(report.beside_sibling, None);
    assert_eq!(report.timings.len(), 6);
    assert!(report.timings.iter().all(|timing| timing.median_us <= timing.worst_us));
}

/// Any two CPUs do for that: what shares a core is the caller's to know.
#[test]
fn a_plug_in_is_timed_beside_a_busy_sibling() {
    let test = "a_plug_in_is_timed_beside_a_busy_sibling";
    let Some(file) = test_clap(test) else { return };
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return println!("SKIPPED {test}: one CPU");
    }
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("good.clap");
    std::fs::copy(file, &library).unwrap();
    let plugin = clap::describe(&library, "test.hocket.gain").unwrap();
    let report = Supervisor { pair: Ok([0, 1]), ..supervisor(60) }.check(&plugin, 7).unwrap();
    let said = worst(&report, "sibling");
    let Some(beside) = &report.beside_sibling else {
        // A machine may have CPUs of other numbers only.
        return assert_eq!(said.level, Level::Unmeasured, "{report:#?}");
    };
    assert_eq!((said.level, said.found.clone()), (Level::Ok, beside.told()));
    assert_eq!((beside.cpus, beside.frames, beside.turns), ([0, 1], 256, 15));
    let [low, high] = beside.interval;
    assert!(0.0 < low && low <= beside.ratio && beside.ratio <= high, "{beside:?}");
    assert!(beside.alone_us > 0.0 && beside.beside_us > 0.0, "{beside:?}");
}

#[test]
fn a_crash_and_a_hang_are_results() {
    let test = "a_crash_and_a_hang_are_results";
    let Some(report) = checked(test, "segfaults.clap", 60) else { return };
    let crash = worst(&report, "blocks");
    assert_eq!(crash.found, "the plug-in crashed (signal 11)");
    assert_eq!(crash.at.as_deref(), Some("44100 Hz, block 64, seed 7"));
    assert_eq!(worst(&report, "builds").level, Level::Ok);
    assert_eq!(worst(&report, "parameters").level, Level::Failed, "each check has its own process");
    assert_eq!(worst(&report, "silence").level, Level::Unmeasured, "three are enough: {report:#?}");
    let report = checked(test, "stalls.clap", 2).unwrap();
    assert_eq!(worst(&report, "blocks").found, "the plug-in took too long");
}

#[test]
fn each_mistake_is_found_by_its_check() {
    let test = "each_mistake_is_found_by_its_check";
    let Some(report) = checked(test, "nan.clap", 60) else { return };
    assert_eq!(worst(&report, "blocks").found, "frame 0 of the output is no finite number");
    let report = checked(test, "allocates.clap", 60).unwrap();
    assert_eq!(failed(&report), ["calls"], "{report:#?}");
    let found = &worst(&report, "calls").found;
    assert!(found.ends_with("calloc 100 times, free 100 times"), "{found}");
    let report = checked(test, "forgets.clap", 60).unwrap();
    assert_eq!(failed(&report), ["state"], "{report:#?}");
    assert!(worst(&report, "state").found.starts_with("a restored instance sounds different"));
}

#[test]
fn extra_outputs_are_checked_as_well() {
    let test = "extra_outputs_are_checked_as_well";
    let Some(report) = checked(test, "outputs.clap", 60) else { return };
    assert_eq!(failed(&report), [""; 0], "{report:#?}");
    let found = &worst(&report, "builds").found;
    assert!(found.ends_with("frames; with its 2 extra outputs"), "{found}");
    for check in ["blocks", "parameters", "input", "reset", "state"] {
        assert_eq!(worst(&report, check).level, Level::Ok, "{report:#?}");
    }
    let report = checked(test, "outputs-kicks.clap", 60).unwrap();
    let found = &worst(&report, "blocks").found;
    assert_eq!(found, "frame 0 of the output 'Kick' is no finite number");
    let found = &worst(&report, "parameters").found;
    assert!(found.starts_with("the output 'Kick' is no finite number with"), "{found}");
    let report = checked(test, "outputs-counts.clap", 60).unwrap();
    assert_eq!(worst(&report, "blocks").level, Level::Warning, "{report:#?}");
    let found = &worst(&report, "blocks").found;
    assert!(found.starts_with("the output 'Click' depends on the block length"), "{found}");
}

/// What instruments take notes for, or are silent.
const WITH_NOTES: [&str; 7] =
    ["blocks", "silence", "reset", "events", "calls", "threads", "timing"];

#[test]
fn a_good_instrument_passes_every_check_and_sounds_in_it() {
    let test = "a_good_instrument_passes_every_check_and_sounds_in_it";
    let Some(report) = checked_instrument(test, "good.clap") else { return };
    assert_eq!(failed(&report), [""; 0], "{report:#?}");
    for check in ["builds", "blocks", "input", "silence", "reset", "events", "threads"] {
        assert_eq!(worst(&report, check).level, Level::Ok, "{report:#?}");
    }
    assert_eq!(worst(&report, "input").found, "it has no audio input");
    // Notes of the second before it have ended, and fade out.
    assert!(
        worst(&report, "silence").found.starts_with("it sounds on for up to 1 s"),
        "{report:#?}"
    );
    assert_eq!(worst(&report, "calls").level, Level::Unmeasured, "system calls alone");
    assert!(report.timings.iter().all(|timing| timing.held_notes == 8), "{report:#?}");
    let said: Vec<&str> = report.verdicts.iter().map(|verdict| verdict.found.as_str()).collect();
    assert!(!said.iter().any(|found| found.contains("nothing sounded")), "{said:#?}");
}

#[test]
fn mistakes_of_instruments_are_found_with_notes() {
    let test = "mistakes_of_instruments_are_found_with_notes";
    let Some(report) = checked_instrument(test, "runs.clap") else { return };
    let blocks = worst(&report, "blocks");
    assert_eq!(blocks.level, Level::Warning, "{report:#?}");
    assert!(blocks.found.starts_with("the output depends on the block length"), "{blocks:?}");
    let report = checked_instrument(test, "drifts.clap").unwrap();
    let reset = worst(&report, "reset");
    assert!(reset.found.starts_with("after a reset it does not play as a new one"), "{reset:?}");
    assert_eq!(worst(&report, "blocks").level, Level::Ok, "{report:#?}");
    let report = checked_instrument(test, "grows.clap").unwrap();
    assert_eq!(worst(&report, "calls").level, Level::Failed, "{report:#?}");
    let mut found = report.verdicts.iter().map(|verdict| verdict.found.as_str());
    assert!(
        found.any(|found| found == "it allocates while it plays: calloc 8 times, free 8 times"),
        "{report:#?}"
    );
    let report = checked_instrument(test, "lingers.clap").unwrap();
    assert_eq!(worst(&report, "silence").found, "it still sounds after 20 s of silence");
    assert_eq!(worst(&report, "events").level, Level::Warning, "{report:#?}");
}

#[test]
fn silence_is_no_success() {
    let Some(report) = checked_instrument("silence_is_no_success", "mute.clap") else { return };
    for check in WITH_NOTES {
        let of = report.verdicts.iter().filter(|verdict| verdict.check == check);
        assert!(of.clone().all(|verdict| verdict.level != Level::Ok), "{report:#?}");
        let says =
            |found: &str| found.starts_with("nothing sounded") || found == "no note made a sound";
        assert!(of.clone().any(|verdict| says(&verdict.found)), "{check}: {report:#?}");
    }
    assert_eq!(failed(&report), [""; 0], "{report:#?}");
}

#[test]
fn plug_ins_of_the_system_are_checked() {
    let test = "plug_ins_of_the_system_are_checked";
    let Some(mda) = bundle(test, "mda.lv2") else { return };
    for (name, blocks) in [("Overdrive", Level::Ok), ("EPiano", Level::Warning)] {
        let plugin = lv2::describe(&mda, &format!("http://drobilla.net/plugins/mda/{name}"));
        let report = supervisor(60).check(&plugin.unwrap(), 7).unwrap();
        assert_eq!(failed(&report), [""; 0], "{report:#?}");
        // Voices of the piano end only where a run ends.
        assert_eq!(worst(&report, "blocks").level, blocks, "{report:#?}");
    }
}
