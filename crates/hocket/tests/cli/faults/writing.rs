//! Fault 8: formats, pipes, what a kill leaves, renders of many days.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;

use super::{record, through_shell};
use crate::support::{check_refused, example, files, hocket, one_track, run, session};

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

/// Standard input and a pipe can be read once. A command that names one of them twice is refused before it reads anything.
#[test]
fn fault_08_one_stream_is_not_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.html").display().to_string();
    let bytes = std::fs::metadata(example("band.toml")).unwrap().len();
    for line in [
        "check - -",
        "check sessions/band.toml - /dev/stdin",
        "session check /dev/fd/0 -",
        "render - --profile - -o OUT",
        "play - --profile /dev/stdin",
        "bench - --baseline -",
        "split - --costs - --hosts 2 -o OUT",
        "trace --from - --from /dev/stdin -o OUT",
        "report - -",
    ] {
        let line = line.replace("OUT", &out);
        let ran =
            through_shell(&format!("(\"$HOCKET\" {line}; echo $?; wc -c) < sessions/band.toml"));
        assert_eq!(ran.out, format!("2\n{bytes}\n"), "{line}: {}", ran.err);
        let words = ["this is standard input", "only once", "name a file"];
        assert!(words.iter().all(|word| ran.err.contains(word)), "{line}: {}", ran.err);
    }
    // Nobody writes to the pipe, so who opens it waits for ever.
    let pipe = folder.path().join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    check_refused(&["check", &pipe, &pipe], 2, &["SESSION ", "this is one pipe", "only once"]);
    assert_eq!(files(folder.path()), ["pipe"]);
    let ran = through_shell("\"$HOCKET\" check sessions/band.toml sessions/band.toml /dev/null");
    assert!(!ran.err.contains("only once"), "{}", ran.err);
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

/// So for pages, pictures, records, profiles and sessions: an ending of another format is refused before any work, and so is a
/// name that leaves no room for the name of a part. An ending that says nothing is the user's choice.
#[test]
fn fault_08_no_name_says_another_format_and_none_is_too_long() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let long = |ending: &str| at(&format!("{}.{ending}", "a".repeat(240)));
    let record = record().to_str().unwrap();
    let report = ["report", record];
    let bench = ["bench", &file, "--policy", "off", "--disturb", "none"];
    let trace = ["trace", &file, "--length", "0.1"];
    for (args, option, wrong, right) in [
        (&report[..], "-o", "page.pdf", ".html or .htm"),
        (&report, "--svg", "picture.png", ".svg"),
        (&bench, "--record", "record.TOML", ".json"),
        (&bench, "--report", "page.json", ".html or .htm"),
        (&["session", "convert", &file], "-o", "new.json", ".toml"),
        (&["tune", "--time", "1m"], "--output", "profile.json", ".toml"),
        (&["capacity", &file], "--record", "record.csv", ".json"),
    ] {
        let path = at(wrong);
        let refused = [args, &[option, &path]].concat();
        check_refused(&refused, 2, &[wrong, "another format", right, "nothing was changed"]);
    }
    for (args, option, ending) in [
        (&["render", &file, "--length", "0.1"][..], "-o", "wav"),
        (&report, "-o", "html"),
        (&bench, "--record", "json"),
        (&trace, "-o", "html"),
        (&["session", "convert", &file], "-o", "toml"),
    ] {
        let path = long(ending);
        let refused = [args, &[option, &path]].concat();
        check_refused(&refused, 2, &["at most 235", "nothing was changed"]);
    }
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
    let longest = format!("{}.wav", "a".repeat(231));
    for args in [
        &["render", &file, "--length", "0.1", "-o", &at(&longest)][..],
        &["session", "convert", &file, "-o", &at("song.v2")],
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    assert_eq!(files(folder.path()), [longest.as_str(), "loop.flac", "song.v2", "try.toml"]);
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
    // Who ends a reader knows it.
    assert!(!ran.err.contains("pipe") && !ran.err.contains("cannot write"), "{}", ran.err);
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
            && begun.elapsed() < Duration::from_secs(600)
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

/// What a killed run left of another output is named by whatever command writes into the folder next. Nothing else is.
#[test]
fn fault_08_parts_of_other_outputs_are_named_and_stay() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name);
    let path = |name: &str| at(name).to_str().unwrap().to_owned();
    let dead = ".mix.wav.1234-0.part";
    let others = [".mine.part", ".mine.1234.part", "mine.wav.1234-0.part"];
    std::fs::write(at(dead), vec![0; 2_000]).unwrap();
    others.iter().for_each(|name| std::fs::write(at(name), "somebody's").unwrap());
    // This process writes it.
    let alive = hocket_files::OutputFile::create(&at("alive.wav")).unwrap();
    let living = alive.part().unwrap().to_owned();
    let (out, toml, left) = (path("out.wav"), path("new.toml"), path(dead));
    let render = ["render", &file, "-o", &out, "--length", "0.1"];
    for args in [&render[..], &["session", "convert", &file, "-o", &toml]] {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let named: Vec<&str> = ran.err.lines().filter(|line| line.contains(".part")).collect();
        let [line] = named[..] else { panic!("{args:?}: {}", ran.err) };
        let words = [left.as_str(), "this part of mix.wav (2 kB)", "remove it"];
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
        assert!(at(dead).exists() && living.exists());
    }
    assert!(others.iter().all(|name| at(name).exists()));
    let ran = run(&["render", &file, "-o", &path("mix.wav"), "--length", "0.1"]);
    assert!(ran.err.contains(&format!("removed {left}")), "{}", ran.err);
    assert!(!at(dead).exists() && living.exists());
    assert!(!run(&render).err.contains(".part"));
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

/// Where the arguments or the session say how long it is, a wrong part is refused before audio is loaded. So nothing is said of
/// the damaged file.
#[test]
fn fault_02_a_part_that_the_session_does_not_have_is_refused_before_loading() {
    let (folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nlength_s = 2\n[[track]]\nname = \"a\"\n\
         clip = [{ file = \"cut.flac\" }]\n",
    );
    let whole = std::fs::read(folder.path().join("loop.flac")).unwrap();
    let most = &whole[..whole.len() - 10];
    std::fs::write(folder.path().join("cut.flac"), most).unwrap();
    let out = folder.path().join("out.wav");
    let render =
        |args: &[&str]| run(&[&["render", &file, "-o", out.to_str().unwrap()], args].concat());
    let loads = render(&["--strict"]);
    assert!(loads.err.contains("cut.flac"), "{}", loads.err);
    for (args, why) in [
        (["--from", "3"].as_slice(), "the session ends before, after 2.000 s"),
        (&["--from", "3", "--strict"], "the session ends before, after 2.000 s"),
        (&["--to", "100000", "--strict"], "1.2 days"),
    ] {
        let ran = render(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(why) && !ran.err.contains("cut.flac"), "{args:?}: {}", ran.err);
    }
    assert!(!out.exists());
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

/// A file that may not grow further is an error like a full disk, and no end by a signal.
#[test]
fn fault_08_a_limit_of_file_sizes_is_told() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let line =
        format!("ulimit -f 100; exec \"$HOCKET\" render {file} -o {} --length 10", out.display());
    let ran = through_shell(&line);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.err.contains("largest size allowed") && ran.err.contains("ulimit -f"),
        "{}",
        ran.err
    );
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
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
