//! One message with place, cause and remedy; exit code 2 or 3; no panic; nothing left behind.

use crate::support::{Ran, check_refused, example, files, hocket, one_track, session};

fn refused_session(text: &str, words: &[&str]) {
    let (folder, file) = session(text);
    let out = folder.path().join("out.wav");
    check_refused(&["render", &file, "-o", out.to_str().unwrap()], 2, words);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    refused_session(
        "[[track]]\nname = \"a\"\ngian_db = 3\n",
        &["try.toml:3:1", "gian_db", "did you mean 'gain_db'"],
    );
}

#[test]
fn what_is_not_there_is_named_as_what_it_is() {
    let (folder, file) = one_track("");
    check_refused(&["report", "no/such/x.json"], 2, &["there is no folder no/such; give a record"]);
    check_refused(
        &["report", "no-such.json"],
        2,
        &["no-such.json: cannot be read: there is no such file"],
    );
    check_refused(&["lab", "report", "--records", "no/such.sqlite"], 2, &["there is no folder no"]);
    let (closed, out) = ("/dev/fd/777", folder.path().join("x.wav").display().to_string());
    let words = [closed, "file descriptor 777 is not open; ", "777< FILE"];
    check_refused(&["report", closed], 2, &words);
    check_refused(&["trace", "--from", closed, "-o", "x.html"], 2, &words);
    let words = [closed, "file descriptor 777 is not open", "777< FILE"];
    check_refused(&["render", closed, "-o", &out], 2, &words);
    let words = [closed, "file descriptor 777 is not open; ", "777> FILE"];
    check_refused(&["render", &file, "-o", closed], 3, &words);
}

#[test]
fn a_missing_audio_file_is_named_with_its_line() {
    refused_session(
        "[[track]]\nname = \"a\"\nclip = [{ file = \"gone.wav\" }]\n",
        &["try.toml:3", "gone.wav", "remedy"],
    );
}

#[test]
fn unreadable_audio_is_refused_at_the_clip() {
    let text = "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{ file = \"bad.wav\" }]\n";
    let (folder, file) = session(text);
    std::fs::write(folder.path().join("bad.wav"), b"RIFFxxxxWAVE nothing of use").unwrap();
    let out = folder.path().join("out.wav");
    check_refused(&["render", &file, "-o", out.to_str().unwrap()], 2, &["try.toml:5", "bad.wav"]);
    assert!(!out.exists());
}

#[test]
fn a_sample_rate_mismatch_is_refused_with_both_rates_where_the_session_says_so() {
    refused_session(
        "[session]\nresample = false\n[[track]]\nname = \"a\"\nclip = [{ file = \"loop.flac\" }]\n",
        &["try.toml:5", "44100 Hz", "48000 Hz", "resample = false", "--rate 44100"],
    );
}

#[test]
fn a_cycle_in_the_routing_is_shown() {
    refused_session(
        "[[track]]\nname = \"t\"\noutput = \"a\"\nclip = [{ file = \"loop.flac\" }]\n\
         [[group]]\nname = \"a\"\noutput = \"b\"\n[[group]]\nname = \"b\"\noutput = \"a\"\n",
        &["cycle", "try.toml:"],
    );
}

#[test]
fn a_send_to_nowhere_is_refused() {
    refused_session(
        "[[track]]\nname = \"t\"\nclip = [{ file = \"loop.flac\" }]\nsend = [{ to = \"hall\" }]\n",
        &["try.toml:4", "hall"],
    );
}

#[test]
fn block_lengths_out_of_range_are_refused() {
    let (_folder, file) = one_track("");
    for frames in ["0", "100000"] {
        check_refused(&["bench", &file, "--frames", frames], 2, &["frames", "1 to 8192"]);
        check_refused(&["render", &file, "-o", "x.wav", "--frames", frames], 2, &["1 to 8192"]);
    }
    check_refused(&["bench", &file, "--rate", "7"], 2, &["Hz"]);
}

#[test]
fn more_workers_than_seats_are_refused() {
    let (_folder, file) = one_track("");
    check_refused(&["bench", &file, "--workers", "100000"], 2, &["100000 workers", "seats"]);
    check_refused(&["bench", &file, "--workers", "0"], 2, &["worker"]);
}

#[test]
fn wrong_flags_name_what_is_possible() {
    let (_folder, file) = one_track("");
    check_refused(&["bench", &file, "--policy", "cookies"], 2, &["idle-thread"]);
    check_refused(&["bench", &file, "--disturb", "disk"], 2, &["preview or compute"]);
    check_refused(&["bench", &file, "--disturb", "preview"], 2, &["[preview]"]);
    check_refused(&["bench", &file, "--disturb", "compute@cpu9999"], 2, &["CPU 9999", "machine"]);
    check_refused(&["bench"], 2, &["SESSION"]);
    check_refused(&["machine", "--topology", &file], 2, &["try.toml"]);
    check_refused(&["report", &file], 2, &["try.toml"]);
}

#[test]
fn a_session_without_an_end_asks_for_a_length() {
    let text = "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{ file = \"loop.flac\", loop = true }]\n";
    let (folder, file) = session(text);
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    check_refused(&["render", &file, "-o", out], 2, &["length_s", "--length"]);
    for length in ["0", "-1", "nan", "inf", "1e9"] {
        let length = format!("--length={length}");
        check_refused(&["render", &file, "-o", out, &length], 2, &["length"]);
    }
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let (folder, file) = one_track("");
    let gone = folder.path().join("no/such/folder/out.wav");
    check_refused(&["render", &file, "-o", gone.to_str().unwrap()], 3, &["out.wav"]);
    for (option, name) in [("--record", "record.json"), ("--report", "page.html")] {
        let output = folder.path().join("loop.flac").join(name);
        check_refused(&["bench", &file, option, output.to_str().unwrap()], 3, &[name, "folder"]);
    }
    let folder_name = folder.path().to_str().unwrap();
    check_refused(&["bench", &file, "--report", folder_name], 2, &["folder"]);
    check_refused(&["render", &file, "-o", folder_name], 2, &["folder"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

/// A file system of 256 KiB, where mounting is allowed.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub fn mount() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "none"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }

    pub fn path(&self) -> &std::path::Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_leaves_nothing_under_the_final_name() {
    let Some(disk) = SmallDisk::mount() else {
        println!("SKIPPED a_full_disk_leaves_nothing_under_the_final_name: mounting needs root");
        return;
    };
    let (_folder, file) = one_track("");
    let out = disk.0.path().join("out.wav");
    check_refused(
        &["render", &file, "-o", out.to_str().unwrap(), "--length", "30", "--force"],
        3,
        &["out.wav", "space"],
    );
    assert_eq!(files(disk.0.path()), Vec::<String>::new());
    let record = disk.0.path().join("record.json");
    let session = example("worst-case-4.toml");
    let elsewhere = tempfile::tempdir().unwrap();
    let ran: Ran = hocket(&[
        "bench",
        session.to_str().unwrap(),
        "--blocks",
        "20000",
        "--blocks-per-round",
        "20000",
        "--frames",
        "1",
        "--disturb",
        "none",
        "--policy",
        "off",
        "--priority",
        "0",
        "--record",
        record.to_str().unwrap(),
    ])
    .current_dir(elsewhere.path())
    .output()
    .unwrap()
    .into();
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let kept = files(elsewhere.path());
    for word in ["record.json", "space", &kept[0]] {
        assert!(ran.err.contains(word), "'{word}' is missing:\n{}", ran.err);
    }
    assert_eq!(files(disk.0.path()), Vec::<String>::new());
}

#[test]
fn without_the_right_to_fifo_it_runs_and_says_so() {
    let (folder, file) = one_track("");
    let record = folder.path().join("record.json");
    let mut command = std::process::Command::new("prlimit");
    command.args([
        "--rtprio=0:0",
        "setpriv",
        "--reuid=65534",
        "--clear-groups",
        "--bounding-set=-all",
    ]);
    command.args([env!("CARGO_BIN_EXE_hocket"), "bench", &file, "--blocks", "40", "--json"]);
    // The program and the session must be reachable for another user.
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        _ => {
            println!(
                "SKIPPED without_the_right_to_fifo_it_runs_and_says_so: no setpriv, or its user cannot read the program"
            );
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let class = format!("SCHED_FIFO {}", hocket_engine::Settings::PRIORITY);
    assert!(text.contains(&class) && text.contains("RLIMIT_RTPRIO"), "{text}");
    assert!(!record.exists());
}
