//! Files in and out: nothing of the user's is overwritten, nothing is read without an end, nothing changes without a
//! word, and results that took time are kept.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;

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

/// A command that names one file twice is refused before any work, and every file is as it was.
#[test]
fn no_output_is_an_input_or_another_output() {
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
    for args in [
        &["report", &at("r.json"), "-o", &at("r.json"), "--force"][..],
        &["report", &at("r.json"), "-o", &at("link.html"), "--force"],
        &["report", &at("r.json"), "-o", &new, "--svg", &new_again],
        &["render", &at("again/try.toml"), "-o", &at("loop.flac"), "--force"],
        &["render", &file, "-o", &at("hard.wav"), "--force"],
        &["bench", &file, "--record", &file, "--force"],
        &["bench", &file, "--record", &new, "--report", &new_again],
        &["play", &file, "--length", "0.1", "--costs", &at("hard.wav")],
    ] {
        // A cost table is read first, and sound is none.
        let word = if args[0] == "play" { "cost table" } else { "nothing was changed" };
        check_refused(args, 2, &[word]);
    }
    for (name, bytes) in ["try.toml", "loop.flac", "r.json"].iter().zip(&before) {
        assert_eq!(&std::fs::read(at(name)).unwrap(), bytes, "{name}");
    }
    assert!(!Path::new(&new).exists());
}

/// What Hocket wrote it may replace by the same kind of file; everything else needs `--force`.
#[test]
fn only_own_files_are_replaced_without_force() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mine = b"my own notes".as_slice();
    let render = |name: &str| vec!["render".into(), file.clone(), "-o".into(), at(name)];
    let report = |more: &[&str]| {
        let args = ["report", record().to_str().unwrap()].into_iter().chain(more.iter().copied());
        args.map(String::from).collect::<Vec<_>>()
    };
    for (name, args) in [
        ("a.wav", render("a.wav")),
        ("a.flac", render("a.flac")),
        ("a.html", report(&["-o", &at("a.html")])),
        ("a.svg", report(&["--svg", &at("a.svg")])),
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

/// Rates beyond all reason are refused while the audio is still on the disk: a file that cannot be decoded is not even
/// looked at.
#[test]
fn every_number_is_checked_before_the_audio_is_loaded() {
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
fn only_what_is_played_is_converted() {
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
fn loading_listens_to_signals() {
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

/// Ten hours at 1 kHz would be 450 GB at 384 kHz: that is said before it is tried.
#[test]
fn memory_that_is_not_there_is_not_asked_for() {
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
            None if sent.elapsed() > Duration::from_secs(20) => {
                child.kill().unwrap();
                panic!("{what:?} goes on after {signal}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// What never ends, and what is no text, is refused at once wherever a file is read whole.
#[test]
fn every_file_that_is_read_whole_has_a_bound() {
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

/// Sessions and records come from standard input, from pipes and from process substitution as from files.
#[test]
fn sessions_and_records_are_read_from_pipes() {
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

/// The folder of the record disappears while a bench runs: the table is printed, and the record is somewhere else.
#[test]
fn a_record_that_cannot_be_written_is_kept_elsewhere() {
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
fn outputs_are_tried_before_the_work() {
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

/// What is done in another way than asked is said.
#[test]
fn nothing_is_changed_without_a_word() {
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
        println!("SKIPPED nothing_is_changed_without_a_word: --workers 2 needs two seats");
    }
    // Granted or not, and why not.
    said(&["render", &file, "-o", out, "--policy", "cookie"], &["policy cookie: "]);
    let ran =
        run(&["lab", "run", "aa", "wake", "--time", "1s", "--records", &format!("{out}.sqlite")]);
    assert!(ran.err.contains("--time 1s: the run took"), "{}", ran.err);
}

/// Hocket warns of fades that are longer than their clip, whatever ends the clip.
#[test]
fn fades_longer_than_their_clip_are_always_told() {
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
fn the_format_page_names_every_way_to_count_seats() {
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

/// The ending of the name is the format: WAV and FLAC are written, everything else is refused.
#[test]
fn the_ending_is_the_format() {
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
fn a_render_goes_to_standard_output_and_to_devices() {
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
fn a_render_ends_when_nothing_takes_its_output() {
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
fn the_bytes_of_a_render_are_those_of_any_other() {
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
fn parts_that_a_kill_left_are_removed_and_named() {
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
fn a_render_of_many_days_is_questioned_by_its_size() {
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
fn a_render_larger_than_the_disk_is_refused() {
    let Some(disk) = crate::bad_input::SmallDisk::mount() else {
        println!("SKIPPED a_render_larger_than_the_disk_is_refused: mounting needs root");
        return;
    };
    let (_folder, file) = one_track("");
    let out = disk.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--length", "30"];
    check_refused(&args, 3, &["7.9 MB", "free", "--force"]);
    assert_eq!(files(disk.path()), Vec::<String>::new());
}
