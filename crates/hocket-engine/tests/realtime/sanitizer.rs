//! RealtimeSanitizer is awake: a process whose block allocates, locks or writes is ended.

use std::hint::black_box;
use std::io::Write;
use std::process::Command;

use hocket_dsp::Block;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};
use crate::watching::Watch;

/// Names the deed that a process of its own shall do; the variable is unset elsewhere.
const DEED: &str = "HOCKET_TEST_DEED";

fn do_deed(deed: &str) {
    match deed {
        "allocate" => drop(black_box(Vec::<u8>::with_capacity(black_box(4321)))),
        "write" => drop(std::io::stderr().write(b"from the block\n")),
        "yield" => std::thread::yield_now(),
        _ => {}
    }
}

/// Runs one block of a processor that does the deed, if there is one to do.
#[test]
fn a_deed_in_a_block() {
    let Ok(deed) = std::env::var(DEED) else { return };
    let source = Does(move |_: &mut Block<'_>| do_deed(&deed));
    let policy = stage::policy(ScheduleKind::Serial, SiblingPolicy::Off, Strategy::Pause);
    let prepared = stage::side_by_side(vec![Box::new(source)]);
    stage::described_engine(prepared, policy, 1).process(FRAMES as usize);
}

/// Does the deed where a host would, under the tests' own watch.
#[test]
fn a_deed_around_a_block() {
    let Ok(deed) = std::env::var(DEED) else { return };
    let _watch = Watch::begin();
    do_deed(&deed);
}

#[test]
fn the_sanitizer_ends_a_process_that_breaks_the_rules_in_a_block_or_around_it() {
    if option_env!("RTSAN_ENABLE").is_none() {
        let test = "the_sanitizer_ends_a_process_that_breaks_the_rules_in_a_block_or_around_it";
        return println!("SKIPPED {test}: built without RTSAN_ENABLE and the runtime library");
    }
    for place in ["in", "around"] {
        for deed in ["nothing", "allocate", "write", "yield"] {
            let test = format!("sanitizer::a_deed_{place}_a_block");
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &test, "--nocapture"])
                .env(DEED, deed)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            let ended = !output.status.success() && told.contains("RealtimeSanitizer");
            assert_eq!(ended, deed != "nothing", "{test}, {deed}: {:?} {told}", output.status);
        }
    }
}
