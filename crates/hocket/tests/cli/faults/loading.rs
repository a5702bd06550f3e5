//! Fault 2: loading and waiting end with a signal, and loading asks for no memory that is not there.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::through_shell;
use crate::conformed::await_nameless;
use crate::support::{Ran, check_refused, files, hocket, one_track, run, session};

/// A session of `clips` clips at 1 kHz, each of its own file of `minutes`; `more` is added to each clip.
fn slow_to_convert(clips: usize, minutes: u32, more: &str) -> (tempfile::TempDir, String) {
    let list: Vec<_> = (0..clips).map(|i| format!("{{ file = \"{i}.wav\"{more} }}")).collect();
    let (folder, file) = session(&format!(
        "[session]\nsample_rate_hz = 48000\nresample = true\nlength_s = 0.5\n[[track]]\nname = \"a\"\n\
         clip = [{}]\n",
        list.join(", ")
    ));
    for i in 0..clips {
        eight_bit_mono(&folder.path().join(format!("{i}.wav")), 1000, 60_000 * minutes);
    }
    (folder, file)
}

/// A WAV file with a hole in place of its samples, which takes no room on the disk.
fn eight_bit_mono(path: &Path, rate_hz: u32, frames: u32) {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + frames).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    [rate_hz, rate_hz].iter().for_each(|rate| bytes.extend(rate.to_le_bytes()));
    bytes.extend(b"\x01\0\x08\0data");
    bytes.extend(frames.to_le_bytes());
    std::fs::write(path, &bytes).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(bytes.len() as u64 + u64::from(frames)).unwrap();
}

/// The most memory that a running child has had, or the process that loads for it, in MiB.
fn peak_mib(child: &Child) -> u64 {
    let process = crate::interrupted::start_of(child).unwrap_or(child.id());
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

/// Half a second of 100 minutes at 1 kHz, in a process that may not have the memory for all of it at 48 kHz.
#[test]
fn fault_02_only_what_is_played_is_converted() {
    let (folder, file) = slow_to_convert(1, 100, ", length_s = 0.5");
    let out = folder.path().join("out.wav");
    // All of it: 6 million frames become 288 million, 2.3 GB of stereo.
    let line = format!(
        "ulimit -v 2000000; \"$HOCKET\" render {file} -o {} --workers 1 --policy off",
        out.display()
    );
    let ran = through_shell(&line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(hocket_media::decode(&out).unwrap().frames(), 24_000);
}

/// Ctrl-C and SIGTERM end a command that is still loading: long before a conversion of many minutes is over.
#[test]
fn fault_02_loading_listens_to_signals() {
    let (folder, file) = slow_to_convert(12, 1, "");
    let before = files(folder.path());
    let out = folder.path().join("out.wav");
    let memory = ["--rate", "192000", "--disk-buffer", "0"];
    let render = ["render", &file, "-o", out.to_str().unwrap(), "--length", "60"];
    for (signal, command) in [
        ("-INT", &render[..]),
        ("-TERM", &render),
        ("-TERM", &["bench", &file]),
        ("-TERM", &["play", &file]),
    ] {
        let command = &[command, &memory].concat()[..];
        let child = hocket(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The first file alone becomes 92 MB.
        let begun = Instant::now();
        while peak_mib(&child) < 60 && begun.elapsed() < Duration::from_secs(600) {
            std::thread::sleep(Duration::from_millis(20));
        }
        ended_by(signal, child, command);
        assert_eq!(files(folder.path()), before);
    }
}

/// The same while files are decoded into temporary ones.
#[test]
fn fault_02_decoding_into_temporary_files_listens_to_signals() {
    let (folder, file) = slow_to_convert(12, 1, "");
    let before = files(folder.path());
    let out = folder.path().join("out.wav");
    for (signal, command) in [
        ("-INT", &["render", &file, "-o", out.to_str().unwrap(), "--length", "60"][..]),
        ("-TERM", &["bench", &file]),
        ("-TERM", &["play", &file]),
    ] {
        let command = &[command, &["--rate", "192000"]].concat()[..];
        let temporary = tempfile::tempdir().unwrap();
        let mut program = hocket(command);
        program.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = program.spawn().unwrap();
        await_nameless(&child, temporary.path());
        ended_by(signal, child, command);
        assert_eq!(files(temporary.path()), [""; 0], "{command:?}");
        assert_eq!(files(folder.path()), before);
    }
}

/// A strict check reads hours of audio, holds next to nothing of it, and ends with a signal.
#[test]
fn fault_02_a_strict_check_listens_to_signals_and_keeps_no_audio() {
    let clips: Vec<_> = (0..12).map(|i| format!("{{ file = \"{i}.wav\" }}")).collect();
    let (folder, file) = session(&format!(
        "[session]\nsample_rate_hz = 48000\n[[track]]\nname = \"a\"\nclip = [{}]\n",
        clips.join(", ")
    ));
    // A day each.
    (0..12).for_each(|i| {
        eight_bit_mono(&folder.path().join(format!("{i}.wav")), 48_000, 86_400 * 48_000)
    });
    for signal in ["-INT", "-TERM"] {
        let command = ["check", &file, "--strict"];
        let child = hocket(&command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        crate::interrupted::await_handler(&child);
        std::thread::sleep(Duration::from_millis(300));
        assert!(peak_mib(&child) < 400, "{} MiB", peak_mib(&child));
        ended_by(signal, child, &command);
    }
}

/// A pipe may have no other end, or bring nothing. A signal ends the wait for it, the first one already.
#[test]
fn fault_02_the_wait_for_a_pipe_listens_to_signals() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (pipe, page) = (at("pipe"), at("x.html"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let before = files(folder.path());
    for (command, has_handler) in [
        (&["trace", "--from", &pipe, "-o", &page][..], true),
        (&["trace", "--from", "-", "-o", &page], true),
        (&["play", &file, "--length", "1", "--headless", "--log", &pipe], true),
        (&["bench", &file, "--blocks", "20", "--baseline", &pipe], false),
    ] {
        let mut program = hocket(command);
        // Its standard input stays open until it has ended.
        program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = program.spawn().unwrap();
        if has_handler {
            crate::interrupted::await_handler(&child);
        }
        // So it has come to the pipe, as a rule. Before that, a signal ends it as well.
        std::thread::sleep(Duration::from_secs(2));
        ended_by("-TERM", child, command);
        assert_eq!(files(folder.path()), before, "{command:?}");
    }
}

/// The same for a project, whose audio files lie in a temporary folder meanwhile: it goes, too.
#[test]
fn fault_02_loading_a_project_listens_to_signals() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("song.dawproject").display().to_string();
    let audio = folder.path().join("minute.wav");
    // The least rate that projects may have.
    eight_bit_mono(&audio, 8000, 8000 * 60);
    slow_project(&project, &audio);
    let out = folder.path().join("out.wav");
    for command in [
        &["render", &project, "-o", out.to_str().unwrap(), "--rate", "192000"][..],
        &["bench", &project, "--rate", "192000"],
        &["play", &project, "--rate", "192000"],
    ] {
        let unpacked = tempfile::tempdir().unwrap();
        let mut program = hocket(command);
        program.env("TMPDIR", unpacked.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = program.spawn().unwrap();
        await_nameless(&child, unpacked.path());
        assert!(!files(unpacked.path()).is_empty(), "{command:?}: nothing is unpacked");
        // As `timeout` does it: to the program and to its group.
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success()
        );
        ended_by("-TERM", child, command);
        assert!(files(unpacked.path()).is_empty(), "{command:?}: {:?}", files(unpacked.path()));
        assert!(!out.exists());
    }
}

/// No signal is heard with `kill -9`: the next start removes the folder. That of a running process stays.
#[test]
fn fault_02_the_folder_of_a_killed_process_is_removed_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (project, audio, out) = (at("song.dawproject"), at("minute.wav"), at("out.wav"));
    eight_bit_mono(Path::new(&audio), 8000, 8000 * 60);
    slow_project(&project, Path::new(&audio));
    let temporary = tempfile::tempdir().unwrap();
    let start = || {
        let mut program = hocket(&["render", &project, "-o", &out, "--rate", "192000"]);
        program.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Killed(program.spawn().unwrap());
        let begun = Instant::now();
        while !has_locked_folder(temporary.path()) && begun.elapsed() < Duration::from_secs(600) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(has_locked_folder(temporary.path()), "{:?}", files(temporary.path()));
        assert!(running.0.try_wait().unwrap().is_none(), "it was to load for long");
        running
    };
    let next = || Ran::from(hocket(&["machine"]).env("TMPDIR", temporary.path()).output().unwrap());
    drop(start());
    let left = files(temporary.path());
    assert!(left.len() == 2 && left[0].starts_with("hocket-project-"), "{left:?}");
    assert_eq!(left[1], format!("{}.lock", left[0]));
    let ran = next();
    assert!(ran.err.contains("removed") && ran.err.contains(&left[0]), "{}", ran.err);
    assert_eq!(files(temporary.path()), [""; 0]);
    let running = start();
    let ran = next();
    let stays = files(temporary.path());
    drop(running);
    assert!(stays.len() == 2 && !ran.err.contains("removed"), "{stays:?} {}", ran.err);
}

/// A process that is killed when the test has done with it, or fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a folder is there whose lock says what it is: it does so once it is locked.
fn has_locked_folder(below: &Path) -> bool {
    let names = files(below);
    let mut folders = names.iter().filter_map(|name| name.strip_suffix(".lock"));
    folders.any(|name| {
        let text = std::fs::read_to_string(below.join(format!("{name}.lock")));
        text.is_ok_and(|text| text == "hocket scratch folder\n") && below.join(name).is_dir()
    })
}

/// Twelve tracks that play a minute of audio each, from files of their own.
fn slow_project(path: &str, audio: &Path) {
    use std::io::Write;
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let (mut tracks, mut lanes) = (String::new(), String::new());
    for i in 0..12 {
        zip.start_file(format!("{i}.wav"), stored).unwrap();
        zip.write_all(&std::fs::read(audio).unwrap()).unwrap();
        tracks += &format!(
            "<Track id=\"t{i}\" name=\"{i}\"><Channel id=\"c{i}\" destination=\"m\" role=\"regular\"/></Track>"
        );
        lanes += &format!(
            "<Lanes track=\"t{i}\"><Clips><Clip time=\"0\" duration=\"120\" contentTimeUnit=\"seconds\"><Audio \
             channels=\"1\" sampleRate=\"8000\" duration=\"60\"><File path=\"{i}.wav\"/></Audio></Clip></Clips></Lanes>"
        );
    }
    zip.start_file("project.xml", stored).unwrap();
    write!(
        zip,
        "<Project version=\"1.0\"><Transport><Tempo unit=\"bpm\" value=\"120\"/></Transport><Structure>{tracks}\
         <Track id=\"mt\" name=\"Master\"><Channel id=\"m\" role=\"master\"/></Track></Structure>\
         <Arrangement><Lanes timeUnit=\"beats\">{lanes}</Lanes></Arrangement></Project>"
    )
    .unwrap();
    zip.finish().unwrap();
}

/// Ten hours at 1 kHz would be 450 GB at 384 kHz: that is said before it is tried.
#[test]
fn fault_02_memory_that_is_not_there_is_not_asked_for() {
    let (folder, file) = slow_to_convert(1, 600, "");
    let out = folder.path().join("out.wav");
    // Otherwise a disk without room for the result would be told first.
    let length = ["--length", "36000", "--force"];
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--rate", "384000"];
    let words = ["try.toml:7:", "0.wav", "MiB of memory", "length_s"];
    check_refused(&[&args[..], &length, &["--disk-buffer", "0"]].concat(), 3, &words);
    assert!(!out.exists());
}

#[track_caller]
fn ended_by(signal: &str, mut child: Child, what: &[&str]) {
    use std::os::unix::process::ExitStatusExt;
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
    // The conversion would go on for minutes; the limit is only there to end a hang.
    let sent = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(
                    status.code() == Some(130) || status.signal().is_some(),
                    "{what:?} {status}"
                );
                return;
            }
            None if sent.elapsed() > Duration::from_secs(600) => {
                child.kill().unwrap();
                panic!("{what:?} goes on after {signal}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Ten hours at 1 kHz as in `fault_02`, at an input.
#[test]
fn fault_02_an_input_asks_for_no_memory_that_is_not_there() {
    let (folder, file) = session(
        "[session]\nlength_s = 0.1\n[[input]]\nname = \"mic\"\n[[track]]\nname = \"a\"\ninput = \"mic\"\n",
    );
    let long = folder.path().join("long.wav");
    eight_bit_mono(&long, 1000, 60_000 * 600);
    let feed = format!("mic={}", long.display());
    let out = folder.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--rate", "384000", "--input", &feed];
    let long = ["--length", "36000", "--force", "--disk-buffer", "0"];
    let words = ["--input mic=", "long.wav", "MiB of memory", "convert the file"];
    check_refused(&[&args[..], &long].concat(), 3, &words);
    // A tenth of a second of it fits.
    assert_eq!(run(&[&args[..], &["--disk-buffer", "0"]].concat()).code, Some(0));
}
