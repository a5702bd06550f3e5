//! `hocket trace --from`: what perf, ftrace and trace-cmd have recorded.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{check_refused, hocket, run};

/// As `perf script` prints it. A name is hostile, and the last line is cut.
pub const PERF: &str = "\
          swapper     0 [000] 100.000000:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=engine next_pid=11 next_prio=20
           engine    11 [000] 100.000100:       sched:sched_waking: comm=<b>io</b> pid=12 prio=120 target_cpu=001
          swapper     0 [001] 100.000150:       sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=<b>io</b> next_pid=12 next_prio=120
           engine    11 [000] 100.000200:       sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=R ==> next_comm=a\u{1b}: [b] next_pid=13 next_prio=0
           a: [b]    13 [000] 100.000300:       sched:sched_switch: prev_comm=a\u{1b}: [b] prev_pid=13 prev_prio=0 prev_state=S ==> next_comm=engine next_pid=11 next_prio=20
        <b>io</b>    12 [001] 100.000350:       sched:sched_switch: prev_comm=<b>io</b> prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
           engine    11 [000] 100.000400:       sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=S ==> next_comm=swa";

#[test]
fn each_format_is_written_of_a_text_and_names_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("perf.txt"), PERF).unwrap();
    let mut files = Vec::new();
    for name in ["a.html", "a.txt", "a.json", "a.pftrace"] {
        let args = ["trace", "--from", &at("perf.txt"), "--threads", "engine,12", "-o", &at(name)];
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains("engine, 12 of perf.txt: 0.00 s, 2 CPUs, "), "{}", ran.out);
        assert!(ran.out.contains("had the CPU of engine (11) once: 0.10 ms"), "{}", ran.out);
        assert!(ran.out.contains("1 line left out, the first is line 7"), "{}", ran.out);
        assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
        files.push(String::from_utf8_lossy(&std::fs::read(at(name)).unwrap()).into_owned());
        assert!(files.last().unwrap().contains("hocket-threads/1"), "{name}");
    }
    assert!(files[0].contains("&lt;b&gt;io&lt;/b&gt; (12)"), "{}", files[0]);
    assert!(!files[0].contains("<b>") && !files[0].contains('\u{1b}'), "{}", files[0]);
    assert!(files[1].contains("  engine (11) woke <b>io</b> (12)"), "{}", files[1]);
    assert!(files[2].contains("\"woken\""), "{}", files[2]);
}

#[test]
fn standard_input_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let mut command = hocket(&["trace", "--from", "-", "-o", &file]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(PERF.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{out}");
    assert!(out.contains("all threads of standard input: 0.00 s, 2 CPUs, "), "{out}");
}

#[test]
fn a_file_that_is_none_is_refused_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let refused = |name: &str, bytes: &[u8], more: &[&str], words: &[&str]| {
        std::fs::write(at(name), bytes).unwrap();
        let args = ["trace", "--from", &at(name), "-o", &at("out.html")];
        check_refused(&[&args[..], more].concat(), 2, &[&[name][..], words].concat());
    };
    refused("perf.data", b"PERFILE2h\0\0", &[], &["perf script -i", "> trace.txt"]);
    refused("other.data", b"2ELIFREPh\0\0", &[], &["perf script -i", "> trace.txt"]);
    refused("trace.dat", b"\x17\x08\x44tracing6\0", &[], &["trace-cmd report -i"]);
    refused("empty", b"", &[], &["0 lines", "perf sched record"]);
    refused("perf.txt", PERF.as_bytes(), &["--threads", "jackd"], &["jackd", "engine (11)"]);
    let (from, out) = (at("perf.txt"), at("out.html"));
    let with = |more: &[&str], words: &[&str]| {
        let args = ["trace", "--from", &from, "-o", &out];
        check_refused(&[&args[..], more].concat(), 2, words);
    };
    with(&["--attach", "1"], &["--attach", "--from"]);
    with(&["song.toml"], &["SESSION", "--from"]);
    with(&["--length", "3"], &["--length", "--from"]);
    let args = ["trace", "--from", &at("none.txt"), "-o", &at("out.html")];
    check_refused(&args, 2, &["none.txt"]);
    check_refused(&["trace", "--threads", "a", "-o", &at("out.html")], 2, &["--from"]);
    let itself = ["trace", "--from", &at("perf.txt"), "--force", "-o", &at("perf.txt")];
    check_refused(&itself, 2, &["perf.txt"]);
    assert!(!std::path::Path::new(&at("out.html")).exists());
}

#[test]
fn of_our_own_traces_only_events_of_sessions_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (name, recorded) in [("perf.txt", PERF), ("pw.json", PIPEWIRE)] {
        std::fs::write(at(name), recorded).unwrap();
        for ending in ["html", "txt", "json", "pftrace"] {
            // two_traces.rs reads the others.
            if (name, ending) == ("pw.json", "json") {
                continue;
            }
            let own = at(&format!("own.{ending}"));
            let ran = run(&["trace", "--from", &at(name), "-o", &own]);
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let again = ["trace", "--from", &own, "-o", &at("again.html")];
            let which = match (ending, name) {
                ("html", _) => "a page that hocket trace wrote",
                (_, "perf.txt") => "a trace of format hocket-threads/1",
                _ => "a trace of format hocket-trace/1",
            };
            check_refused(&again, 2, &[&own, which, "ui.perfetto.dev", "-o trace.json"]);
        }
    }
    assert!(!std::path::Path::new(&at("again.html")).exists());
}

/// As `pw-profiler -J` prints it, with a late cycle.
pub const PIPEWIRE: &str = r#"[{ "type": "clock", "flags": 0, "id": 52, "rate": "1/48000", "duration": 64 },
{ "type": "driver", "id": 52, "name": "alsa_output", "prev": 0, "signal": 5000000000, "awake": 5000010000, "finish": 5001400000, "status": "finished" },
{ "type": "follower", "id": 80, "name": "<b>io</b>", "prev": 0, "signal": 5000012000, "awake": 5000030000, "finish": 5001390000, "status": "finished" },
{ } ]
"#;

/// As JACK's profiler writes it.
pub const JACK: &str = "1333 \t 410 \t4 \t 5 \t 25 \t 200 \t 20 \t 175 \t 3 \t\n";

#[test]
fn cycles_of_pipewire_and_jack_become_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (name, text, words) in [
        ("pw.json", PIPEWIRE, ["1 block of 64 frames at 48000 Hz", "misses: 1 (1 late block"]),
        ("jack.log", JACK, ["1 block of frames not known, JACK's profiler", "misses: 0"]),
    ] {
        std::fs::write(at(name), text).unwrap();
        for ending in ["html", "txt", "json", "pftrace"] {
            let out = at(&format!("{name}.{ending}"));
            let ran = run(&["trace", "--from", &at(name), "-o", &out]);
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            assert!(words.iter().all(|word| ran.out.contains(word)), "{}", ran.out);
            let bytes = std::fs::read(out).unwrap();
            let file = String::from_utf8_lossy(&bytes);
            assert!(
                file.contains("hocket-trace/1") && !(ending == "html" && file.contains("<b>io"))
            );
        }
    }
    let args = ["trace", "--from", &at("pw.json"), "--threads", "jalv", "-o", &at("a.txt")];
    check_refused(&args, 2, &["pw.json", "--threads"]);
}

/// What perf prints of a recording that it has made now, where it is installed and may record.
#[test]
fn what_perf_records_here_is_read() {
    const TEST: &str = "what_perf_records_here_is_read";
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("perf.data").display().to_string();
    let skipped = |why: &dyn std::fmt::Display| println!("SKIPPED {TEST}: {why}");
    let program = ["sh", "-c", "for i in 1 2 3; do sleep 0.01; done"];
    let record = Command::new("perf").args(["sched", "record", "-o", &data]).args(program).output();
    match record {
        Err(why) => return skipped(&format_args!("perf is not installed: {why}")),
        Ok(output) if !output.status.success() => {
            return skipped(&String::from_utf8_lossy(&output.stderr));
        }
        Ok(_) => {}
    }
    let text = folder.path().join("perf.txt");
    for columns in [&[][..], &["--ns", "-F", "comm,pid,tid,cpu,time,event,trace"]] {
        let script = Command::new("perf").args(["script", "-i", &data]).args(columns).output();
        let script = script.unwrap();
        if !script.status.success() {
            return skipped(&String::from_utf8_lossy(&script.stderr));
        }
        std::fs::write(&text, script.stdout).unwrap();
        let file = folder.path().join("a.txt").display().to_string();
        let from = text.display().to_string();
        let ran = run(&["trace", "--from", &from, "--threads", "sleep", "-o", &file]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let threads = ran.out.lines().filter(|line| line.contains("  sleep ("));
        assert!(threads.count() >= 3, "{}", ran.out);
        assert!(!ran.out.contains("left out"), "{}", ran.out);
    }
    check_refused(&["trace", "--from", &data, "-o", "a.html"], 2, &["perf script -i"]);
}
