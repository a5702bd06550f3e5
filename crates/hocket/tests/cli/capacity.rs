//! `hocket capacity`: how many channels hold, kept block length by block length. How many they are is the machine's business.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hocket_lab::channels::{CapacityRecord, SizeRecord, outside};
use hocket_lab::stats::poisson_most;

use crate::interrupted::{await_that, interrupt};
use crate::support::{Ran, check_refused, files, hocket, one_track, run, session};

/// At most three channels for a second.
const SHORT: [&str; 6] = ["--time", "1s", "--most-channels", "3", "--priority", "0"];

fn capacity(file: &str, more: &[&str]) -> Ran {
    run(&[&["capacity", file][..], &SHORT, more].concat())
}

fn read(path: &str) -> CapacityRecord {
    CapacityRecord::read(Path::new(path)).unwrap()
}

/// A session with a place for its record.
fn with_record() -> (tempfile::TempDir, String, String) {
    let (folder, file) = one_track("");
    let record = folder.path().join("c.json").display().to_string();
    (folder, file, record)
}

/// What every block length has, however fast the machine is.
fn check_size(size: &SizeRecord) {
    let found = &size.found;
    assert!(found.probes[0].channels == 1 && found.probes[0].blocks >= 10, "{found:?}");
    // A machine that is too busy for a single channel plays nothing for long.
    let is_overload = found.probes.iter().all(|probe| probe.load >= 1.0);
    assert!((usize::from(!is_overload)..=5).contains(&found.runs.len()), "{found:?}");
    for (attempt, run) in found.runs.iter().enumerate() {
        let played = &run.played;
        assert!((1..=3).contains(&played.channels) && played.turns >= 1, "{played:?}");
        assert!(played.played_s >= 0.999, "{played:?}");
        let period_s = f64::from(size.frames) / 44_100.0;
        let periods = (played.blocks + played.skipped) as f64;
        assert!((played.played_s - periods * period_s).abs() < 1e-6, "{played:?}");
        let most = 3600.0 * poisson_most(played.misses(), outside(attempt)) / played.played_s;
        let bound = run.at_most_an_hour.unwrap();
        assert!((bound / most - 1.0).abs() < 1e-9, "{run:?}");
        assert_eq!(run.held, played.misses() == 0, "{run:?}");
    }
}

#[test]
fn each_block_length_is_kept_and_a_later_call_goes_on_with_the_rest() {
    let (folder, file, record) = with_record();
    let plot = folder.path().join("c.svg").display().to_string();
    let first = capacity(&file, &["--frames", "256", "--record", &record]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.out.contains("256 frames") && first.out.contains("late blocks"), "{}", first.out);
    let kept = read(&record);
    assert_eq!(kept.sizes.len(), 1);
    check_size(&kept.sizes[0]);

    let more = ["--frames", "256,64", "--record", &record, "--plot", &plot];
    let second = capacity(&file, &more);
    assert_eq!(second.code, Some(0), "{}", second.err);
    assert!(
        second.err.contains("going on with") && !second.err.contains("256 frames: searching"),
        "{}",
        second.err
    );
    let both = read(&record);
    assert_eq!(both.sizes.iter().map(|size| size.frames).collect::<Vec<_>>(), [64, 256]);
    assert_eq!((&both.sizes[1], &both.started_at), (&kept.sizes[0], &kept.started_at));
    check_size(&both.sizes[0]);
    let svg = std::fs::read_to_string(&plot).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("data-from=\"hocket capacity\""), "{svg}");

    let third = capacity(&file, &[&more[..], &["--json"]].concat());
    assert!(third.code == Some(0) && third.err.contains("nothing is left"), "{}", third.err);
    let printed: CapacityRecord = serde_json::from_str(&third.out).unwrap();
    assert_eq!((printed.sizes, read(&record)), (both.sizes.clone(), both));
    assert_eq!(files(folder.path()), ["c.json", "c.svg", "loop.flac", "try.toml"]);
}

#[test]
fn a_record_of_other_conditions_stays_unless_it_is_forced_away() {
    let (folder, file, record) = with_record();
    let ran = capacity(&file, &["--frames", "512", "--record", &record]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let before = std::fs::read(&record).unwrap();
    let goes_on = |more: &[&str], words: &[&str]| {
        let ran = capacity(&file, &[&["--frames", "64", "--record", &record], more].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        let words = ["c.json", "cannot go on", "--force"].iter().chain(words);
        for word in words {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
        assert_eq!(std::fs::read(&record).unwrap(), before);
    };
    goes_on(&["--workers", "1"], &["--workers was 'one per seat' and is '1'"]);
    goes_on(&["--rate", "48000"], &["the sample rate was '44100' and is '48000'"]);
    goes_on(&["--late-per-hour", "100"], &["--late-per-hour", "100 late blocks an hour"]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}gain_db = -3\n")).unwrap();
    goes_on(&[], &["the session was"]);
    let forced = capacity(&file, &["--frames", "256", "--record", &record, "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert_eq!(read(&record).sizes.iter().map(|size| size.frames).collect::<Vec<_>>(), [256]);
    drop(folder);
}

/// Copies of a strip are alike, so they run abreast. A run that continues the record needs the same `--lanes`.
#[test]
fn a_record_says_whether_its_channels_ran_abreast() {
    let (folder, file) = one_track("effect = [{ kind = \"eq\" }]");
    let record = folder.path().join("c.json").display().to_string();
    let args = ["--frames", "512", "--schedule", "serial", "--record", &record];
    let ran = capacity(&file, &[&args[..], &["--lanes", "auto"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let kept = read(&record);
    check_size(&kept.sizes[0]);
    assert_eq!(kept.conditions["--lanes"], "auto");
    let ran = capacity(&file, &args);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("--lanes was 'auto' and is 'off'"), "{}", ran.err);
    assert_eq!(read(&record), kept);
}

#[test]
fn what_a_second_does_not_show_is_missed() {
    let (_folder, file) = one_track("");
    // No run of a second shows less than ten thousand an hour.
    let ran = capacity(&file, &["--frames", "512", "--late-per-hour", "100"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("512 frames are not shown"), "{}", ran.err);
    assert!(
        ran.out.contains("late blocks an hour (95 %)") || ran.out.contains("held"),
        "{}",
        ran.out
    );
}

#[test]
fn ctrl_c_keeps_the_block_lengths_that_are_done() {
    let (_folder, file, record) = with_record();
    let args = ["capacity", &file, "--time", "3s", "--most-channels", "2", "--record", &record];
    let child = hocket(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let there = || Path::new(&record).exists().then_some(());
    await_that("no block length is done", Duration::from_millis(20), there);
    assert_eq!(interrupt(child), Some(130));
    let kept = read(&record);
    assert!((1..6).contains(&kept.sizes.len()), "{}", kept.sizes.len());
    assert_eq!(kept.sizes[0].frames, 32);
    let on = run(&[&args[..], &["--frames", "32"]].concat());
    assert!(on.code == Some(0) && on.err.contains("nothing is left"), "{}", on.err);
    assert!(on.out.contains("32 frames"), "{}", on.out);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let (folder, file, record) = with_record();
    let refused = |more: &[&str], words: &[&str]| {
        check_refused(&[&["capacity", &file], more].concat(), 2, words);
    };
    refused(&["--most-channels", "0"], &["--most-channels"]);
    refused(&["--frames", "0"], &["frames", "1 to 8192"]);
    refused(&["--frames", "64,9000"], &["8192"]);
    refused(&["--workers", "5000"], &["5000 workers"]);
    refused(&["--late-per-hour", "0"], &["above 0"]);
    refused(&["--late-per-hour", "-1"], &["above 0"]);
    refused(&["--time", "0.1s"], &["at least a second"]);
    refused(&["--disturb", "preview"], &["[preview]"]);
    refused(&["--record", "-"], &["no file", "--json"]);
    refused(&["--record", "/dev/null"], &["no file"]);
    refused(&["--record", &file], &["try.toml", "the session"]);
    std::fs::write(&record, "{\"format\":\"hocket-bench/2\"}").unwrap();
    refused(&["--record", &record], &["did not write", "--force"]);
    std::fs::write(&record, "{\"format\":\"hocket-capacity/9\"}").unwrap();
    refused(&["--record", &record], &["hocket-capacity/9", "--force"]);
    assert_eq!(files(folder.path()), ["c.json", "loop.flac", "try.toml"]);
    check_refused(&["capacity"], 2, &["SESSION"]);
    check_refused(&["capacity", "none.toml"], 2, &["none.toml"]);
    check_refused(&["bench", &file, "--copies", "2"], 2, &["--start-of"]);

    let (_folder, empty) = session("[session]\nname = \"empty\"\n");
    check_refused(&["capacity", &empty], 2, &["no track", "[[track]]"]);
    let (_folder, three) = one_track("count = 3\n");
    let few = ["capacity", &three, "--most-channels", "2"];
    check_refused(&few, 2, &["3 tracks", "give 3 or more"]);
}
