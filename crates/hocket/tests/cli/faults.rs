//! What went wrong in users' hands, and must not come back: each test in `faults/` has the number of its fault.
//!
//! 1. An input was its own output, without a word.
//! 2. Numbers were checked after the audio was loaded; loading did not end with Ctrl-C, and took memory without a bound.
//! 3. Files were read whole without a bound.
//! 4. `tune` recommended the serial walk after two seconds, as if it had been found.
//! 5. A record that could not be written lost the table of a finished `bench`.
//! 6. AAC in MP4 played 1024 frames late; truncated files that other programs play were refused.
//! 7. Something was done in another way than asked, without a word.
//! 8. The ending of an output was not its format; pipes and devices did not work; parts of killed runs stayed; nobody
//!    asked before a render of days.
//! 9. Text from elsewhere drove the terminal; memory that ran out was a backtrace; two lab runs shared a file; an
//!    interrupted run was called ended.
//! 10. Commands of README.md did not run as written (`documented.rs` runs all of them).
//! 11. Headlines said more than their figures bear.

mod replacing;
mod marks;
mod meanwhile;
mod numbers;
mod loading;
mod reading;
mod measuring;
mod saying;
mod writing;
mod terminal;
mod headlines;

use std::path::Path;

use crate::support::{Ran, one_track, root, run};

/// A small record, measured once for all tests.
fn record() -> &'static Path {
    use std::sync::OnceLock;
    static FILE: OnceLock<std::path::PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let (_folder, file) = one_track("");
        let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files.json");
        let _ = std::fs::remove_file(&record);
        let ran = bench(&file, &["--record", record.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        record
    })
}

fn bench(session: &str, more: &[&str]) -> Ran {
    let mut args = vec!["bench", session, "--blocks", "20", "--blocks-per-round", "20"];
    args.extend(["--policy", "off", "--disturb", "none"]);
    args.extend(more);
    run(&args)
}

fn through_shell(line: &str) -> Ran {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", line]).env("HOCKET_PROFILE", "none").current_dir(root());
    command.env("HOCKET", env!("CARGO_BIN_EXE_hocket")).output().unwrap().into()
}
