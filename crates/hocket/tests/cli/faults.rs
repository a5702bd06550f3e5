//! What went wrong in users' hands, and must not come back: each test has the number of its fault.
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

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;
use hocket_lab::record::fixture::Shape;
use hocket_lab::store::Store;

use crate::support::{Ran, check_refused, example, files, hocket, one_track, root, run, session};

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

// 1. An input is its own output, silently.

/// A command that names one file twice is refused before any work, and every file is as it was.
#[test]
fn fault_01_no_output_is_an_input_or_another_output() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::copy(record(), at("r.json")).unwrap();
    std::fs::hard_link(at("loop.flac"), at("hard.wav")).unwrap();
    std::os::unix::fs::symlink(at("r.json"), at("link.html")).unwrap();
    std::os::unix::fs::symlink(folder.path(), at("again")).unwrap();
    let before: Vec<_> =
        ["try.toml", "loop.flac", "r.json"].map(|name| std::fs::read(at(name)).unwrap()).into();
    let new = at("new.html");
    let new_again = at("again/new.html");
    let (deep, deep_again) = (at("x/new.html"), at("again/x/y/../new.html"));
    for args in [
        &["report", &at("r.json"), "-o", &at("r.json"), "--force"][..],
        &["report", &at("r.json"), "-o", &at("link.html"), "--force"],
        &["report", &at("r.json"), "-o", &new, "--svg", &new_again],
        &["render", &at("again/try.toml"), "-o", &at("loop.flac"), "--force"],
        &["render", &file, "-o", &at("hard.wav"), "--force"],
        &["bench", &file, "--record", &file, "--force"],
        &["bench", &file, "--record", &new, "--report", &new_again],
        &["bench", &file, "--record", &deep, "--report", &deep_again],
        &["tune", "--records", &new, "--output", &new_again],
        &["tune", "--records", &deep, "--output", &deep_again, "--force"],
        &["tune", "--from-records", "--records", &file, "--output", &at("again/try.toml")],
        &["lab", "report", "--records", &at("r.json"), "-o", &at("link.html"), "--force"],
        &["play", &file, "--length", "0.1", "--costs", &at("hard.wav")],
    ] {
        // A cost table is read first, and sound is none.
        let word = if args[0] == "play" { "cost table" } else { "nothing was changed" };
        check_refused(args, 2, &[word]);
    }
    for (name, bytes) in ["try.toml", "loop.flac", "r.json"].iter().zip(&before) {
        assert_eq!(&std::fs::read(at(name)).unwrap(), bytes, "{name}");
    }
    let names = ["again", "hard.wav", "link.html", "loop.flac", "r.json", "try.toml"];
    assert_eq!(files(folder.path()), names);
}

/// What Hocket wrote it may replace by the same kind of file; everything else needs `--force`.
#[test]
fn fault_01_only_own_files_are_replaced_without_force() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mine = b"my own notes".as_slice();
    let render = |name: &str| vec!["render".into(), file.clone(), "-o".into(), at(name)];
    let report = |more: &[&str]| {
        let args = ["report", record().to_str().unwrap()].into_iter().chain(more.iter().copied());
        args.map(String::from).collect::<Vec<_>>()
    };
    let lab_report = |more: &[&str]| {
        let records = crate::lab::measured().to_str().unwrap();
        let args = ["lab", "report", "--records", records].into_iter().chain(more.iter().copied());
        args.map(String::from).collect::<Vec<_>>()
    };
    for (name, args) in [
        ("a.wav", render("a.wav")),
        ("a.flac", render("a.flac")),
        ("a.html", report(&["-o", &at("a.html")])),
        ("a.svg", report(&["--svg", &at("a.svg")])),
        ("lab.html", lab_report(&["-o", &at("lab.html")])),
        ("aa.svg", lab_report(&["--pictures", &at("")])),
    ] {
        std::fs::write(at(name), mine).unwrap();
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        check_refused(&args, 2, &[name, "did not write", "--force"]);
        assert_eq!(std::fs::read(at(name)).unwrap(), mine);
        args.push("--force");
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let first = std::fs::read(at(name)).unwrap();
        args.pop();
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{name} twice: {}", ran.err);
        assert_eq!(std::fs::read(at(name)).unwrap(), first);
    }
    std::fs::write(at("r.json"), "{\"mine\": 1}").unwrap();
    check_refused(&["bench", &file, "--record", &at("r.json")], 2, &["--force"]);
    assert_eq!(std::fs::read(at("r.json")).unwrap(), b"{\"mine\": 1}");
    for more in [&["--force"][..], &[]] {
        let record = at("r.json");
        let mut all = vec!["--record", record.as_str()];
        all.extend(more);
        let ran = bench(&file, &all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    // An empty file, as mktemp makes it, holds nothing to lose.
    std::fs::write(at("empty.wav"), "").unwrap();
    assert_eq!(run(&["render", &file, "-o", &at("empty.wav")]).code, Some(0));
}

/// The same for commands that have outputs of their own kind. No plug-in and no record is needed to refuse.
#[test]
fn fault_01_no_command_writes_over_what_it_reads() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::hard_link(at("loop.flac"), at("hard.flac")).unwrap();
    std::os::unix::fs::symlink(at("try.toml"), at("again.toml")).unwrap();
    let before = ["try.toml", "loop.flac"].map(|name| std::fs::read(at(name)).unwrap());
    let loop_file = at("loop.flac");
    let plugin = ["plugin", "render", "clap:none", "-i", &loop_file, "--force", "-o"];
    let take = format!("one={}", at("hard.flac"));
    let one = at("one.wav");
    for (args, word) in [
        ([&plugin[..], &[&at("hard.flac")]].concat(), "this file is the input, too"),
        ([&plugin[..], &[&loop_file]].concat(), "this file is the input, too"),
        (vec!["session", "convert", &file, "-o", &file], "nothing was changed"),
        (vec!["session", "convert", &file, "-o", &at("again.toml")], "nothing was changed"),
        (vec!["play", &file, "--length", "0.1", "--take", &take], "a take never replaces a file"),
        (vec!["render", &file, "-o", &one, "--stems", &at("")], "this file is --output, too"),
    ] {
        check_refused(&args, 2, &[word]);
    }
    assert_eq!(["try.toml", "loop.flac"].map(|name| std::fs::read(at(name)).unwrap()), before);
    assert_eq!(files(folder.path()), ["again.toml", "hard.flac", "loop.flac", "try.toml"]);
}

// 2. Numbers are checked late, and loading does not end.

/// Rates beyond all reason are refused while the audio is still on the disk: a file that cannot be decoded is not even
/// looked at.
#[test]
fn fault_02_every_number_is_checked_before_the_audio_is_loaded() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nresample = true\n[[track]]\nname = \"a\"\n\
         clip = [{ file = \"cut.flac\" }]\n",
    );
    // Its header is right; that its end is missing shows when it is decoded.
    let whole = std::fs::read(example("audio/loop_mika.flac")).unwrap();
    std::fs::write(folder.path().join("cut.flac"), &whole[..whole.len() / 2]).unwrap();
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    for rate in ["7", "384001", "10000000", "4294967295"] {
        let words = ["384000 Hz", rate];
        check_refused(&["render", &file, "-o", out, "--strict", "--rate", rate], 2, &words);
        check_refused(&["bench", &file, "--strict", "--rate", rate], 2, &words);
        check_refused(&["play", &file, "--strict", "--rate", rate], 2, &words);
    }
    for (flag, wrong, word) in [
        ("--frames", "9000", "8192"),
        ("--workers", "5000", "5000 workers"),
        ("--length", "1e9", "86400"),
    ] {
        check_refused(&["render", &file, "-o", out, "--strict", flag, wrong], 2, &[word]);
        check_refused(&["play", &file, "--strict", flag, wrong], 2, &[word]);
    }
    check_refused(&["bench", &file, "--strict", "--frames", "9000"], 2, &["8192"]);
    check_refused(&["bench", &file, "--strict", "--workers", "5000"], 2, &["5000 workers"]);
    check_refused(&["bench", &file, "--strict", "--disturb", "disk"], 2, &["preview or compute"]);
    check_refused(&["render", &file, "-o", out, "--strict"], 2, &["cut.flac", " ends "]);
}

/// What would be unpacked is no project at all, and nobody gets to know that.
#[test]
fn fault_02_every_number_is_checked_before_a_project_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (project, out) = (at("song.dawproject"), at("out.wav"));
    std::fs::write(&project, "no archive").unwrap();
    check_refused(&["bench", &project], 2, &["song.dawproject"]);
    let everywhere = [("--frames", "9000", "8192"), ("--workers", "5000", "5000 workers")];
    for (flag, wrong, word) in everywhere {
        check_refused(&["render", &project, "-o", &out, flag, wrong], 2, &[word]);
        check_refused(&["play", &project, flag, wrong], 2, &[word]);
        check_refused(&["bench", &project, flag, wrong], 2, &[word]);
    }
    check_refused(&["play", &project, "--length", "1e9"], 2, &["86400"]);
    for (flag, wrong, word) in
        [("--length", "1e9", "86400"), ("--from", "-1", "0 to 1000000"), ("--to", "1e7", "--to 1")]
    {
        check_refused(&["render", &project, "-o", &out, flag, wrong], 2, &[word]);
    }
    check_refused(&["bench", &project, "--disturb", "disk"], 2, &["preview or compute"]);
    check_refused(&["bench", &project, "--disturb", "compute@cpu99999"], 2, &["CPU 99999"]);
    let plugin = ["plugin", "render", "clap:none", "-i", &project, "-o", &out, "--frames", "9000"];
    check_refused(&plugin, 2, &["8192"]);
    assert_eq!(files(folder.path()), ["song.dawproject"]);
}

/// Whatever is refused after the place of a record was looked at.
#[test]
fn fault_02_what_is_refused_leaves_no_folder_behind() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, busy) = (at("new/folder/r.json"), at("loop.flac/r.html"));
    let bench = ["bench", &file, "--record", &record];
    check_refused(&[&bench[..], &["--report", &file]].concat(), 2, &["nothing was changed"]);
    check_refused(&[&bench[..], &["--report", &busy]].concat(), 3, &["--report", "loop.flac"]);
    check_refused(&[&bench[..], &["--disturb", "preview"]].concat(), 2, &["preview"]);
    let profile = at("new/m.toml");
    let tune = ["tune", "--from-records", "--records", &at("none.sqlite"), "--output", &profile];
    check_refused(&tune, 2, &["none.sqlite"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

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
    for (signal, command) in [
        ("-INT", &["render", &file, "-o", out.to_str().unwrap(), "--rate", "192000"][..]),
        ("-TERM", &["render", &file, "-o", out.to_str().unwrap(), "--rate", "192000"]),
        ("-TERM", &["bench", &file, "--rate", "192000"]),
        ("-TERM", &["play", &file, "--rate", "192000"]),
    ] {
        let child = hocket(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The first file alone becomes 92 MB.
        let begun = Instant::now();
        while peak_mib(&child) < 60 && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(20));
        }
        ended_by(signal, child, command);
        assert_eq!(files(folder.path()), before);
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
        let begun = Instant::now();
        while peak_mib(&child) < 60 && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(20));
        }
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
        while !has_locked_folder(temporary.path()) && begun.elapsed() < Duration::from_secs(60) {
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
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--rate", "384000"];
    check_refused(&args, 3, &["try.toml:7:", "0.wav", "MiB of memory", "length_s"]);
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
            None if sent.elapsed() > Duration::from_secs(120) => {
                child.kill().unwrap();
                panic!("{what:?} goes on after {signal}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A number of 300 digits is refused in one short line.
#[test]
fn fault_02_huge_and_tiny_numbers_are_refused_in_short() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let render = ["render", &file, "-o", out.to_str().unwrap()];
    for (option, said) in [
        ("--length=1e300", "--length 1e300: choose more than 0 and at most 86400 seconds"),
        ("--length=-1e-300", "--length -1e-300: choose more than 0"),
        ("--from=1e300", "--from 1e300: choose 0 to 1000000 seconds"),
        ("--from=4294967295:1", "--from 4294967295:1: it is later than 1000000 seconds"),
        ("--from=1:65535", "bar 1 has no beat 65535"),
    ] {
        let ran = run(&[&render[..], &[option]].concat());
        assert!(ran.code == Some(2) && ran.err.contains(said), "{option}: {}", ran.err);
        assert!(ran.err.len() < 300, "{}", ran.err);
    }
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

// 3. A file that never ends is read whole.

/// What never ends, and what is no text, is refused at once wherever a file is read whole.
#[test]
fn fault_03_every_file_that_is_read_whole_has_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (_one, file) = one_track("");
    let zero = "/dev/zero";
    let binary = ["/dev/zero", "binary"];
    for args in [
        &["report", zero][..],
        &["render", zero, "-o", &at("x.wav")],
        &["play", &file, "--profile", "/dev/zero"],
        &["lab", "run", "--spec", zero, "--records", &at("r.sqlite")],
        &["lab", "plan", "--hosts", zero, "--for", "slurm", "-o", &at("plan")],
        &["lab", "run", "load-pattern", "--pattern", zero, "--records", &at("r.sqlite")],
    ] {
        let words = if args.contains(&"--profile") { &binary[..1] } else { &binary[..] };
        check_refused(args, 2, words);
    }
    assert_eq!(files(folder.path()), Vec::<String>::new());
    let ran = through_shell("yes '[[track]]' | \"$HOCKET\" render - -o - | wc -c");
    assert!(ran.err.contains("larger than 16 MiB") && ran.out.trim() == "0", "{}", ran.err);
}

/// The same for files that are not text, and for commands that read several.
#[test]
fn fault_03_devices_and_folders_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["zero.dawproject", "zero.flac", "zero.sqlite"] {
        std::os::unix::fs::symlink("/dev/zero", at(name)).unwrap();
    }
    std::fs::create_dir(at("folder.toml")).unwrap();
    let (_one, file) = one_track("");
    let automation = example("automation.toml").display().to_string();
    let (fed, folder_file) = (format!("microphone={}", at("zero.flac")), at("folder.toml"));
    let out = at("x.wav");
    let before = files(folder.path());
    for args in [
        &["check", &at("zero.dawproject")][..],
        &["session", "show", &at("zero.dawproject")],
        &["session", "convert", &at("zero.dawproject"), "-o", &at("x.toml")],
        &["check", &folder_file],
        &["session", "show", &folder_file],
        &["recover", "/dev/zero"],
        &["recover", &folder_file],
        &["machine", "--topology", "/dev/zero"],
        &["play", &file, "--length", "0.1", "--costs", "/dev/zero"],
        &["render", &automation, "-o", &out, "--input", &fed, "--length", "0.1"],
        &["tune", "--from-records", "--records", &at("zero.sqlite"), "--output", &at("m.toml")],
        &["lab", "report", "--records", &at("zero.sqlite")],
        &["plugin", "check", "/dev/zero"],
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(!ran.err.is_empty() && !ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    }
    assert_eq!(files(folder.path()), before);
}

// 4. A tune too short to tell recommends something.

/// Two seconds tell of no block length which way is the shortest. What is recommended names the turns and the
/// comparison that it rests on, and nothing stands for the rest.
#[test]
fn fault_04_a_tune_that_is_too_short_says_so_and_recommends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [profile, records] = ["m.toml", "r.sqlite"].map(|name| folder.path().join(name));
    let [output, records] = [&profile, &records].map(|path| path.display().to_string());
    let ran = run(&["tune", "--time", "2s", "--records", &records, "--output", &output]);
    if ran.code == Some(3) {
        println!("SKIPPED fault_04_a_tune_that_is_too_short: {}", ran.err);
        assert!(!profile.exists());
        return;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: toml::Table = std::fs::read_to_string(&profile).unwrap().parse().unwrap();
    let rows =
        |key: &str| told.get(key).and_then(|rows| rows.as_array()).cloned().unwrap_or_default();
    let (recommended, undecided) = (rows("blocks"), rows("undecided"));
    assert!(recommended.len() + undecided.len() > 0, "{told:#?}");
    for row in &undecided {
        let why = row["why"].as_str().unwrap();
        assert!(
            why.contains(" turns of each ") || why.contains("not measured in one round"),
            "{why}"
        );
    }
    for row in &recommended {
        let alone = row["reasons"].to_string().contains("there is no other way here");
        assert!(alone || row["turns"].as_integer().unwrap() >= 6, "{row:#?}");
        assert!(alone || row["change_percent"].as_array().unwrap().len() == 2, "{row:#?}");
    }
}

// 5. A record that cannot be written loses a finished bench.

/// The folder of the record disappears while a bench runs: the table is printed, and the record is somewhere else.
#[test]
fn fault_05_a_record_that_cannot_be_written_is_kept_elsewhere() {
    let (session_folder, file) = one_track("");
    let gone = session_folder.path().join("out");
    std::fs::create_dir(&gone).unwrap();
    let here = tempfile::tempdir().unwrap();
    let record = gone.join("r.json");
    // It would go on for half an hour if nobody interrupted it.
    let mut command = hocket(&[
        "bench",
        &file,
        "--blocks",
        "1000000",
        "--blocks-per-round",
        "20",
        "--policy",
        "off",
        "--disturb",
        "none",
        "--record",
        record.to_str().unwrap(),
    ]);
    command.current_dir(here.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    crate::interrupted::await_start(&child);
    std::fs::remove_dir(&gone).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("bare wake-up loop"), "no table:\n{}", ran.out);
    let kept = files(here.path());
    assert!(kept.len() == 1 && ran.err.contains(&kept[0]), "{kept:?}\n{}", ran.err);
    let record = BenchRecord::read(here.path().join(&kept[0])).unwrap();
    assert!(record.partial.is_some());
}

/// What cannot be written is found out before anything is played or measured.
#[test]
fn fault_05_outputs_are_tried_before_the_work() {
    let (folder, file) = one_track("");
    // Nobody may make files there, not even root.
    check_refused(
        &["play", &file, "--length", "86400", "--costs", "/proc/costs.toml"],
        3,
        &["cannot be written"],
    );
    check_refused(&["bench", &file, "--record", "/proc/r.json"], 3, &["cannot be written"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

// 6. AAC in MP4 plays late and long, and truncated files are refused.

/// A mono file of 16 bits and so many frames at 44100 Hz.
fn aiff(frames: u32) -> Vec<u8> {
    let rate = [0x40, 0x0e, 0xac, 0x44, 0, 0, 0, 0, 0, 0];
    let comm = [&[0, 1][..], &frames.to_be_bytes(), &[0, 16], &rate].concat();
    let sound = [vec![0; 8], [0x20, 0].repeat(frames as usize)].concat();
    let chunk = |id: &[u8], body: &[u8]| [id, &(body.len() as u32).to_be_bytes(), body].concat();
    let body = [b"AIFF".to_vec(), chunk(b"COMM", &comm), chunk(b"SSND", &sound)].concat();
    chunk(b"FORM", &body)
}

/// What is left of a file is played, as other programs do, and the place where it ends is said; `--strict` refuses.
#[test]
fn fault_06_truncated_audio_is_played_with_a_warning_or_refused_where_asked_for() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{ file = \"cut.wav\" }]\n",
    );
    let (left, right) = (vec![0.25f32; 4410], vec![-0.25f32; 4410]);
    let cut = folder.path().join("cut.wav");
    let mut writer =
        hocket_media::WavWriter::create(&cut, 44_100, hocket_media::WavFormat::Pcm16).unwrap();
    writer.write(&left, &right).unwrap();
    writer.finish().unwrap();
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    let whole = run(&["render", &file, "-o", out, "--strict"]);
    assert_eq!(whole.code, Some(0), "{}", whole.err);
    std::fs::remove_file(out).unwrap();

    let pcm = std::fs::read(&cut).unwrap();
    // A stream that stops in the middle of a compressed file says so too.
    let flac = std::fs::read(example("audio/loop_mika.flac")).unwrap();
    let mp3 = std::fs::read(root().join("fuzz/corpus/audio/mp3-vbr-id3v2-cover.mp3")).unwrap();
    for bytes in [&pcm, &aiff(4410), &flac, &mp3] {
        std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        let words = ["try.toml:5:", "cut.wav", " ends ", "after ", "(frame ", "--strict"];
        for command in ["render", "play", "bench"] {
            let output = ["-o", out];
            let output = if command == "render" { &output[..] } else { &[] };
            check_refused(&[&[command, &file, "--strict"], output].concat(), 2, &words);
        }
        assert_eq!(files(folder.path()), ["cut.wav", "loop.flac", "try.toml"]);
        let ran = run(&["render", &file, "-o", out]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
        let played = hocket_media::decode(std::path::Path::new(out)).unwrap();
        assert!(played.frames() > 1000 && played.peak() > 0.01, "{} frames", played.frames());
        std::fs::remove_file(out).unwrap();
    }
}

/// The same for a file that plays at an input.
#[test]
fn fault_06_truncated_audio_at_an_input_is_said_or_refused() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nlength_s = 0.1\n[[input]]\nname = \"mic\"\n[[track]]\nname = \"a\"\n\
         input = \"mic\"\n",
    );
    let flac = std::fs::read(example("audio/loop_mika.flac")).unwrap();
    let cut = folder.path().join("cut.flac");
    std::fs::write(&cut, &flac[..flac.len() / 2]).unwrap();
    let feed = format!("mic={}", cut.display());
    let out = folder.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--input", &feed];
    check_refused(&[&args[..], &["--strict"]].concat(), 2, &["--input mic=", "cut.flac", " ends "]);
    let ran = run(&[&args[..], &["-q"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning: --input mic=") && ran.err.contains(" ends "), "{}", ran.err);
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
    check_refused(&args, 3, &["--input mic=", "long.wav", "MiB of memory", "convert the file"]);
}

/// What the encoder added before and after the recording does not play.
#[test]
fn fault_06_aac_in_mp4_plays_in_time_and_as_long_as_its_source() {
    let shared =
        std::env::var_os("HOCKET_SHARED").map_or_else(|| root().join("../shared"), Into::into);
    let formats = shared.join("data/audio/formats");
    let [aac, wav] =
        ["aac-44k1-stereo.m4a", "wav16-44k1-stereo.wav"].map(|name| formats.join(name));
    if !aac.is_file() {
        println!("SKIPPED fault_06_aac_in_mp4_plays_in_time: no input data (set HOCKET_SHARED)");
        return;
    }
    let (folder, file) = session(&format!(
        "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{{ file = {:?} }}]\n",
        aac.canonicalize().unwrap().display().to_string()
    ));
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &file, "-o", out.to_str().unwrap(), "--format", "32f", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let [played, source] = [&out, &wav].map(|path| hocket_media::decode(path).unwrap());
    assert_eq!(played.frames(), source.frames());
    // The fader's law changes the level, and no shift: in time, the two are alike.
    let alike = |late: usize| -> f64 {
        let pairs = played.channels[0][late..].iter().zip(&source.channels[0]).take(40_000);
        pairs.map(|(a, b)| f64::from(a * b)).sum()
    };
    assert!(alike(0) > 2.0 * alike(1024).abs(), "{} against {}", alike(0), alike(1024));
}

// 7. Something is done in another way than asked, without a word.

/// What is done in another way than asked is said.
#[test]
fn fault_07_nothing_is_changed_without_a_word() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    let said = |args: &[&str], words: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        let text = ran.err + &ran.out;
        for word in words {
            assert!(text.contains(word), "{args:?} does not say '{word}':\n{text}");
        }
    };
    let turns =
        ["bench", &file, "--policy", "off", "--disturb", "none", "--blocks-per-round", "20"];
    let mut odd = turns.to_vec();
    odd.extend(["--blocks", "21"]);
    said(&odd, &["--blocks 21: 40 blocks are measured, whole turns of 20"]);
    let mut even = turns.to_vec();
    even.extend(["--blocks", "40"]);
    assert!(!run(&even).err.contains("--blocks"));
    let seats = run(&["machine", "--json"]).out;
    let seats: serde_json::Value = serde_json::from_str(&seats).unwrap();
    let usable = seats["seats"].as_array().unwrap().iter().filter(|seat| seat["allowed"] == true);
    if usable.count() > 1 {
        let serial = ["--schedule", "serial", "--workers", "2", "--policy", "all"];
        let word = "--workers 2: the schedule serial runs on 1 worker";
        for command in [
            &["render", &file, "-o", out][..],
            &["play", &file, "--length", "0.1"],
            &["bench", &file, "--blocks", "20", "--blocks-per-round", "20", "--disturb", "none"],
        ] {
            let args: Vec<_> = command.iter().chain(&serial).copied().collect();
            said(&args, &[word]);
        }
    } else {
        println!("SKIPPED fault_07_nothing_is_changed_without_a_word: --workers 2 needs two seats");
    }
    // Granted or not, and why not.
    said(&["render", &file, "-o", out, "--policy", "cookie"], &["policy cookie: "]);
    let ran =
        run(&["lab", "run", "aa", "wake", "--time", "1s", "--records", &format!("{out}.sqlite")]);
    assert!(ran.err.contains("--time 1s: the run took"), "{}", ran.err);
}

/// Hocket warns of fades that are longer than their clip, whatever ends the clip.
#[test]
fn fault_07_fades_longer_than_their_clip_are_always_told() {
    let fades = |more: &str| {
        let (_folder, file) = session(&format!(
            "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\nclip = [{{ file = \"loop.flac\"{more} }}]\n"
        ));
        let out = tempfile::tempdir().unwrap();
        let ran = run(&[
            "render",
            &file,
            "-o",
            out.path().join("x.wav").to_str().unwrap(),
            "--length",
            "0.1",
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err.contains("try.toml:5:") && ran.err.contains("fades are longer than the clip")
    };
    assert!(fades(", length_s = 0.1, fade_in_s = 0.1, fade_out_s = 0.1"));
    assert!(fades(", fade_in_s = 60"));
    assert!(fades(", length_s = 100, fade_in_s = 10, fade_out_s = 50"));
    assert!(!fades(", fade_in_s = 0.01, fade_out_s = 0.01"));
    assert!(!fades(", loop = true, fade_in_s = 60"));
}

/// `count = "seats * 2"` is as good as `x`, and the page of the format says so.
#[test]
fn fault_07_the_format_page_names_every_way_to_count_seats() {
    let page = std::fs::read_to_string(root().join("docs/session-format.md")).unwrap();
    let (folder, _) = one_track("");
    let file = folder.path().join("try.toml");
    for count in ["seats", "seats x 2", "seats * 2"] {
        let text = format!(
            "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\ncount = \"{count}\"\n\
             clip = [{{ file = \"loop.flac\" }}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let out = folder.path().join("out.wav");
        let ran = run(&[
            "render",
            file.to_str().unwrap(),
            "-o",
            out.to_str().unwrap(),
            "--length",
            "0.1",
        ]);
        assert!(
            ran.code == Some(0) && page.contains(&format!("\"{count}\"")),
            "{count}: {}",
            ran.err
        );
    }
}

/// Options of one device mean nothing to another one, and that is said.
#[test]
fn fault_07_options_of_another_device_are_named() {
    let (_folder, file) = one_track("");
    let play = ["play", &file, "--length", "0.05", "--device", "virtual"];
    let plain = run(&play);
    assert!(plain.code == Some(0) && !plain.err.contains("changes nothing"), "{}", plain.err);
    let more = ["--client", "band", "--connect", "no", "--periods", "3"];
    let ran = run(&[&play[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "--client changes nothing: only jack has it",
        "--connect changes nothing: only jack has it",
        "--periods changes nothing: only alsa has it",
    ] {
        assert!(ran.err.contains(line), "no '{line}' in\n{}", ran.err);
    }
}

// 8. Formats, pipes, parts that a kill left, renders of many days.

/// Sessions and records come from standard input, from pipes and from process substitution as from files.
#[test]
fn fault_08_sessions_and_records_are_read_from_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let band = example("band.toml");
    let args = ["render", band.to_str().unwrap(), "-o", &at("file.wav"), "--length", "0.2"];
    assert_eq!(run(&args).code, Some(0));
    // Paths in a session from a pipe are relative to the current folder.
    for (name, line) in [
        ("stdin.wav", "\"$HOCKET\" render - --length 0.2 -o OUT < band.toml"),
        ("cat.wav", "cat band.toml | \"$HOCKET\" render /dev/stdin --length 0.2 -o OUT"),
        ("process.wav", "\"$HOCKET\" render <(cat band.toml) --length 0.2 -o OUT"),
    ] {
        let ran = through_shell(&format!("cd sessions; {}", line.replace("OUT", &at(name))));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        assert_eq!(std::fs::read(at(name)).unwrap(), std::fs::read(at("file.wav")).unwrap());
    }
    // Every process start of a bench needs the text again.
    for line in ["bench - SHORT < band.toml", "bench <(cat band.toml) SHORT"] {
        let short =
            "--blocks 60 --blocks-per-round 20 --starts 3 --policy off --disturb none --json";
        let ran =
            through_shell(&format!("cd sessions; \"$HOCKET\" {}", line.replace("SHORT", short)));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        let record: BenchRecord = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((record.settings.starts, record.session.tracks), (3, 24));
    }
    let table = run(&["report", record().to_str().unwrap()]).out;
    let ran = through_shell(&format!("\"$HOCKET\" report - < {}", record().display()));
    assert_eq!((ran.code, &ran.out), (Some(0), &table), "{}", ran.err);
    let ran = through_shell(&format!("\"$HOCKET\" report <(cat {})", record().display()));
    assert_eq!((ran.code, &ran.out), (Some(0), &table), "{}", ran.err);
    let ran = through_shell("echo '[[trakc]]' | \"$HOCKET\" render - -o x.wav");
    assert!(ran.code == Some(2) && ran.err.contains("-:1:"), "{}", ran.err);
}

/// The ending of the name is the format: WAV and FLAC are written, everything else is refused.
#[test]
fn fault_08_the_ending_is_the_format() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, magic) in [("a.wav", "RIFF"), ("a.WAVE", "RIFF"), ("a.flac", "fLaC")] {
        let ran = run(&["render", &file, "-o", &at(name), "--format", "16"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(std::fs::read(at(name)).unwrap().starts_with(magic.as_bytes()), "{name}");
    }
    let [wav, flac] =
        ["a.wav", "a.flac"].map(|name| hocket_media::decode(Path::new(&at(name))).unwrap());
    assert_eq!(wav.channels, flac.channels);
    for name in ["a.mp3", "a.ogg", "a", "a.wav.bak"] {
        check_refused(&["render", &file, "-o", &at(name)], 2, &[name, ".wav", ".flac"]);
    }
    let floats = ["render", &file, "-o", &at("b.flac"), "--format", "32f"];
    check_refused(&floats, 2, &["b.flac", "16 or 24 bits"]);
    let fast = ["render", &file, "-o", &at("b.flac"), "--rate", "192000"];
    check_refused(&fast, 2, &["b.flac", "96000 Hz"]);
    assert_eq!(files(folder.path()), ["a.WAVE", "a.flac", "a.wav", "loop.flac", "try.toml"]);
}

/// A render into a pipe has the bytes of the file's samples and a header that states their length.
#[test]
fn fault_08_a_render_goes_to_standard_output_and_to_devices() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &file, "-o", out.to_str().unwrap(), "--length", "0.2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let whole = std::fs::read(&out).unwrap();
    for name in ["-", "/dev/stdout"] {
        let piped = hocket(&["render", &file, "-o", name, "--length", "0.2"]).output().unwrap();
        let told = String::from_utf8_lossy(&piped.stderr).into_owned();
        assert_eq!(piped.status.code(), Some(0), "{told}");
        assert!(piped.stdout == whole && told.contains("times real time"), "{name}: {told}");
    }
    let null = run(&["render", &file, "-o", "/dev/null", "--length", "0.2"]);
    assert!(null.code == Some(0) && null.err.contains("times real time"), "{}", null.err);
    let line = format!(
        "\"$HOCKET\" render {file} -o >(cat > {}) --length 0.2; wait",
        folder.path().join("p.wav").display()
    );
    assert_eq!(through_shell(&line).code, Some(0));
}

/// Files are written beside the blocks. What goes wrong there ends the render, with the words of the writer.
#[test]
fn fault_08_a_render_ends_when_nothing_takes_its_output() {
    let (folder, file) = one_track("");
    let full = ["render", &file, "-o", "/dev/full", "--length", "600"];
    check_refused(
        &full,
        3,
        &["/dev/full: cannot write the file", "the disk is full", "free some space"],
    );
    let line = format!(
        "\"$HOCKET\" render {file} -o - --length 600 | head -c 100000 > /dev/null; exit ${{PIPESTATUS[0]}}"
    );
    let ran = through_shell(&line);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("-: cannot write the file: Broken pipe"), "{}", ran.err);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

/// The same bytes for every number of workers and every block, which need not fit into the pieces that are written.
#[test]
fn fault_08_the_bytes_of_a_render_are_those_of_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let session = example("band.toml");
    let render = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let args =
            ["render", session.to_str().unwrap(), "-o", out.to_str().unwrap(), "--length", "2.001"];
        let ran = run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        std::fs::read(out).unwrap()
    };
    for ending in ["wav", "flac"] {
        let usual = render(&format!("usual.{ending}"), &[]);
        for more in [["--frames", "8192"], ["--frames", "777"], ["--workers", "1"]] {
            let other = render(&format!("other.{ending}"), &more);
            assert!(other == usual, "{ending}, {more:?}");
        }
    }
}

/// What a killed render left is found by the next one of that name; what belongs to a running one stays.
#[test]
fn fault_08_parts_that_a_kill_left_are_removed_and_named() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    let parts = || {
        files(folder.path()).into_iter().filter(|name| name.ends_with(".part")).collect::<Vec<_>>()
    };
    let rendering = || {
        let args = ["render", &file, "-o", out, "--length", "80000", "--force"];
        let child = hocket(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let own = format!(".{}-0.part", child.id());
        while !parts().iter().any(|name| name.ends_with(&own))
            && begun.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    };
    let mut killed = rendering();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = parts();
    assert_eq!(left.len(), 1);
    let mut running = rendering();
    let of_running = parts();
    assert!(of_running.len() == 1 && of_running != left, "{of_running:?}");
    let ran = run(&["render", &file, "-o", out, "--length", "0.1"]);
    assert_eq!((ran.code, parts()), (Some(0), of_running), "{}", ran.err);
    running.kill().unwrap();
    running.wait().unwrap();
    let ran = run(&["render", &file, "-o", out, "--length", "0.1"]);
    assert!(ran.err.contains("removed") && ran.err.contains(".part"), "{}", ran.err);
    assert_eq!(files(folder.path()), ["loop.flac", "out.wav", "try.toml"]);
}

/// A million seconds are eleven days and 260 GB: nobody types that on purpose.
#[test]
fn fault_08_a_render_of_many_days_is_questioned_by_its_size() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nlength_s = 1000000\n[[track]]\nname = \"a\"\n\
         clip = [{ file = \"loop.flac\", loop = true }]\n",
    );
    let out = folder.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap()];
    check_refused(&args, 2, &["11.6 days", "264.6 GB", "--length", "--force"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

/// A disk without room for the render is seen before the first block.
#[test]
fn fault_08_a_render_larger_than_the_disk_is_refused() {
    let Some(disk) = crate::bad_input::SmallDisk::mount() else {
        println!("SKIPPED fault_08_a_render_larger_than_the_disk_is_refused: mounting needs root");
        return;
    };
    let (_folder, file) = one_track("");
    let out = disk.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--length", "30"];
    check_refused(&args, 3, &["7.9 MB", "free", "--force"]);
    assert_eq!(files(disk.path()), Vec::<String>::new());
}

/// A short part at the end of eleven days is eleven days of work.
#[test]
fn fault_08_a_part_that_is_days_away_is_questioned() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\n\
         clip = [{ file = \"loop.flac\", loop = true }]\n",
    );
    let out = folder.path().join("out.wav");
    let args =
        ["render", &file, "-o", out.to_str().unwrap(), "--from", "999999", "--length", "0.1"];
    check_refused(&args, 2, &["from the start of the session", "11.6 days", "--from", "--force"]);
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

// 9. Text from elsewhere drives the terminal; memory runs out; two lab runs share a file.

/// What may not reach a terminal: control characters but line breaks, and marks of direction.
fn acts(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn check_tame(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(acts), "{text:?}");
    }
}

const HOSTILE: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}txt.exe\u{9b}2J";

#[test]
fn fault_09_what_a_query_finds_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    drop(Store::open_or_create(&file).unwrap());
    let records = file.to_str().unwrap();
    let sql =
        "SELECT char(27) || '[31m' || char(8238) || char(155) || char(10) || 'x' AS \"a\u{1b}b\"";
    let ran = run(&["lab", "query", "--records", records, sql]);
    check_tame(&ran);
    assert!(ran.out.contains("\\u{1b}[31m\\u{202e}\\u{9b}\\nx"), "{}", ran.out);
    let ran = run(&["lab", "query", "--json", "--records", records, sql]);
    check_tame(&ran);
    let rows: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(rows[0]["a\u{1b}b"], "\u{1b}[31m\u{202e}\u{9b}\nx");
    // Rows for other programs are what they are, and a table is not.
    let long = "SELECT replace(hex(zeroblob(500000)), '0', 'a') AS long";
    let ran = run(&["lab", "query", "--csv", "--records", records, long]);
    assert!(ran.out.len() > 1_000_000, "{}", ran.out.len());
    let ran = run(&["lab", "query", "--records", records, long]);
    assert!(ran.out.len() < 1_000 && ran.out.contains("999800 characters left out"), "{}", ran.out);
    check_tame(&run(&["lab", "query", "--records", records, &format!("SELECT {HOSTILE}")]));
}

#[test]
fn fault_09_names_that_are_typed_are_escaped_where_they_are_refused() {
    for args in [
        vec!["lab", "explain", HOSTILE],
        vec!["lab", "run", HOSTILE],
        vec!["lab", "report", "--records", HOSTILE],
        vec!["lab", "report", "--fail-if", HOSTILE],
        vec!["report", HOSTILE],
        vec!["render", HOSTILE, "-o", "x.wav"],
        vec!["bench", "s.toml", "--policy", HOSTILE],
        vec!["play", "s.toml", "--device", HOSTILE],
        vec![HOSTILE],
    ] {
        let ran = run(&args);
        check_tame(&ran);
        assert!(ran.code != Some(0) && ran.err.contains("\\u{202e}txt"), "{args:?}\n{}", ran.err);
    }
}

#[test]
fn fault_09_what_a_record_says_is_escaped() {
    let (folder, file) = one_track("");
    let record = folder.path().join("r.json");
    let record = record.to_str().unwrap();
    let bench = ["bench", &file, "--blocks", "20", "--policy", "off", "--disturb", "none"];
    let ran = run(&[&bench[..], &["--record", record]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    json["session"]["name"] = HOSTILE.into();
    json["variants"][0]["name"] = format!("{HOSTILE}\nHolds at 64 frames").into();
    json["partial"] = HOSTILE.into();
    std::fs::write(record, json.to_string()).unwrap();
    let ran = run(&["report", record]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    check_tame(&ran);
    assert!(ran.out.contains("\\u{1b}[31mred"), "{}", ran.out);
}

#[test]
fn fault_09_file_names_in_warnings_are_escaped() {
    let (folder, _) = session("");
    let file = folder.path().join(format!("{}.toml", HOSTILE.replace('/', "")));
    let text = "[session]\nsample_rate_hz = 44100\n[[track]]\nname = \"a\"\n\
                clip = [{ file = \"loop.flac\" }]\n[[track]]\nname = \"empty\"\n";
    std::fs::write(&file, text).unwrap();
    let out = folder.path().join("out.wav");
    let ran = run(&["render", file.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning"), "{}", ran.err);
    check_tame(&ran);
}

#[test]
fn fault_09_a_key_of_a_megabyte_makes_a_short_message() {
    let key = "k".repeat(1 << 20);
    let (folder, file) = session(&format!("[[track]]\nname = \"a\"\n{key} = 3\n"));
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &file, "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.len() < 4_000, "{} bytes", ran.err.len());
    assert!(
        ran.err.contains("characters left out") && ran.err.contains("try.toml:3:1"),
        "{}",
        ran.err
    );
    let ran = run(&["lab", "explain", &"x".repeat(100_000)]);
    assert!(ran.code == Some(2) && ran.err.len() < 2_000, "{} bytes", ran.err.len());
}

/// Without room for what it has to keep, the program says so in one line and ends as where a thing is not possible.
#[test]
fn fault_09_memory_that_runs_out_is_one_line_and_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    drop(Store::open_or_create(&file).unwrap());
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
               SELECT printf('%0200d', i) FROM n";
    let mut command = std::process::Command::new("prlimit");
    command.args(["--as=600000000", "--core=0", env!("CARGO_BIN_EXE_hocket"), "lab", "query"]);
    let Ok(output) = command.args(["--csv", "--records"]).arg(&file).arg(sql).output() else {
        println!(
            "SKIPPED fault_09_memory_that_runs_out_is_one_line_and_exit_code_3: there is no prlimit"
        );
        return;
    };
    let ran = Ran::from(output);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("out of memory") && ran.err.lines().count() == 1, "{}", ran.err);
}

/// The colours of help are the program's own.
#[test]
fn fault_09_own_output_stays_as_it_is() {
    let ran: Ran =
        hocket(&["render", example("band.toml").to_str().unwrap()]).output().unwrap().into();
    assert!(ran.code == Some(2) && ran.err.contains("--output"), "{}", ran.err);
    check_refused(&["lab", "explain", "wakes"], 2, &["did you mean 'wake'"]);
}

#[test]
fn fault_09_two_lab_runs_into_one_file_are_noticed_and_an_interrupted_one_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.sqlite");
    let args = ["lab", "run", "aa", "--time", "10m", "--records", file.to_str().unwrap()];
    let mut child = hocket(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let rows = || {
        let store = Store::open(&file).ok()?;
        store.query("SELECT count(*) FROM rows").ok()?.rows[0][0].as_i64()
    };
    let start = Instant::now();
    while rows().unwrap_or(0) == 0 && start.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(100));
    }
    // A second run would add its turns to the same file at the same time.
    let second = ["lab", "run", "aa", "--time", "1s", "--records", file.to_str().unwrap()];
    check_refused(&second, 3, &["lab.sqlite", "another run is being written to it"]);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = Store::open(&file).unwrap().choose("last").unwrap();
    assert_eq!(run.experiments[0].end, "interrupted");
    assert!(run.ended_at.is_some() && rows().unwrap() > 0);
    let report = crate::support::run(&["lab", "report", "--records", file.to_str().unwrap()]);
    let head = report.out.lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(head.contains(", interrupted 20") && !head.contains(", ended "), "{head}");
}

// 10. A command of the pages does not run as written. Every other command of the pages: documented.rs.

/// A load beside the siblings of a core runs on machines without siblings, too, and the folder of a report is made.
#[test]
fn fault_10_a_bench_with_a_load_on_siblings_writes_its_report_into_a_new_folder() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        println!("SKIPPED fault_10_a_bench_with_a_load_on_siblings: it needs two CPUs");
        return;
    }
    let (folder, file) = one_track("");
    let args = ["bench", &file, "--policy", "off,idle-thread", "--disturb", "compute:4@siblings"];
    let more = ["--blocks", "20", "--blocks-per-round", "20", "--report", "out/band.html"];
    let ran: Ran =
        hocket(&[&args[..], &more].concat()).current_dir(folder.path()).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = std::fs::read_to_string(folder.path().join("out/band.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
}

// 11. A headline says more than its figures bear.

/// What `hocket report` prints first of an invented record of so many blocks, after a change of it.
fn headline(rounds: usize, blocks: u64, change: impl FnOnce(&mut BenchRecord)) -> String {
    let shape = Shape { seed: 3, pairs: true, rounds, blocks_per_round: blocks, load: 0.1 };
    let mut record = shape.record();
    change(&mut record);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    std::fs::write(&file, serde_json::to_string(&record).unwrap()).unwrap();
    let ran = run(&["report", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first blocks of the first variant, and wake-ups of the bare loop, long after the deadline.
fn make_late(record: &mut BenchRecord, blocks: usize, wake_ups: usize) {
    let rounds = record.variants[0].rounds.iter_mut();
    let times = rounds.flat_map(|round| round.lateness_ns.iter_mut().zip(&mut round.slack_ns));
    times.take(blocks).for_each(|(lateness, slack)| (*lateness, *slack) = (3_000_000, -2_000_000));
    let wakes = record.wake_loop.rounds.iter_mut().flat_map(|round| &mut round.lateness_ns);
    wakes.take(wake_ups).for_each(|lateness| *lateness = 3_000_000);
}

/// The bound of a short run is the one of its own blocks, and only where none was late.
#[test]
fn fault_11_the_bound_of_a_short_run_is_its_own() {
    let short = headline(2, 30, |_| {});
    assert!(
        short.contains("60 blocks of a variant are too few") && short.contains("6.0 %"),
        "{short}"
    );
    let late = headline(2, 30, |record| make_late(record, 1, 0));
    assert!(!late.contains("may be late (95 %)"), "{late}");
}

/// 999 of 1000 cases are a matter of a thousand wake-ups.
#[test]
fn fault_11_no_quantile_is_named_that_so_few_wake_ups_do_not_have() {
    let of = |rounds, blocks| headline(rounds, blocks, |record| make_late(record, 0, usize::MAX));
    assert!(!of(1, 100).contains("999 of 1000"));
    assert!(of(12, 100).contains("in 999 of 1000 cases"));
}

/// A loop that was late now and then is no excuse for a session that is late more often.
#[test]
fn fault_11_the_machine_is_not_blamed_for_more_than_its_loop_shows() {
    let told = headline(30, 30, |record| {
        record.variants.truncate(1);
        make_late(record, 50, 3);
    });
    assert!(told.contains("Misses at 64 frames: 50 of 900 blocks were late"), "{told}");
    assert!(told.contains("was late in 3 of 900") && !told.contains("No more misses"), "{told}");
}
