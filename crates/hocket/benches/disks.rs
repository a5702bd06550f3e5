//! How large a session this machine can play from its disk, and how fast it opens one:
//!
//!     cargo bench -p hocket --bench disks -- streaming [--tracks 200] [--rate 96000] [--frames 64] [--seconds 60]
//!         [--files 200] [--buffer 256M] [--folder FOLDER] [--warm] [--record FILE [--force]]
//!     cargo bench -p hocket --bench disks -- opening [--tracks 1000] [--effects 5] [--runs 5] [--folder FOLDER]
//!         [--record FILE [--force]]
//!     cargo bench -p hocket --bench disks -- locate [--rate 96000] [--frames 64] [--seconds 60] [--rounds 200]
//!         [--folder FOLDER] [--warm] [--record FILE [--force]]
//!
//! - `streaming` writes as many stereo files of 24 bits as the session has tracks, or as `--files` says; the other
//!   tracks then play these by links. It takes them out of the system's cache (not with `--warm`), plays them with
//!   `hocket play`, and prints the misses and their causes, the silence for which the disk is to blame, and the memory
//!   of the program. The files of the defaults take 6.9 GB.
//! - `opening` prints how long `hocket play` loads and prepares a session of many tracks and effects.
//! - `locate` measures the time from a locate to the first sound, beside that of a plain read of as many bytes, and counts
//!   the silent frames behind a locate, a pre-roll and the turn of a loop (`disks/locate.rs`). The file leaves the
//!   system's cache before each; where it does not, the result says so.
//!
//! Nothing is judged. Without `--bench` all run on a small session, to see that they work.

#[path = "../../hocket-lab/benches/one_seat/mod.rs"]
mod one_seat;
#[path = "disks/locate.rs"]
mod locate;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use hocket::load::topology;
use hocket_lab::provenance;
use hocket_media::{WavFormat, WavLayout};
use serde_json::{Value, json};

type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().any(|arg| arg == "--bench") {
        false => rehearse(),
        true => run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("disks: {message}");
            ExitCode::from(3)
        }
    }
}

fn run(args: &[String]) -> Outcome {
    let options = Options { args };
    let record = options.text("--record").map(Path::new);
    let force = args.iter().any(|arg| arg == provenance::FORCE);
    record.map_or(Ok(()), |path| provenance::check_place(path, force))?;
    let measured = match args.iter().find(|arg| !arg.starts_with("--")).map(String::as_str) {
        Some("streaming") => streaming(&options, 200, 60),
        Some("opening") => opening(&options, 1000, 5),
        Some("locate") => locate(&options, 60, 200),
        _ => Err("say what to measure: streaming, opening, or locate".into()),
    }?;
    record.map_or(Ok(()), |path| save(path, &measured))
}

fn rehearse() -> Outcome {
    let none = Options { args: &[] };
    streaming(&none, 3, 11)?;
    opening(&none, 5, 1)?;
    locate(&none, 11, 2)?;
    Ok(())
}

fn save(path: &Path, measured: &Value) -> Outcome {
    let topology = topology().map_err(|failure| failure.to_string())?;
    let record = json!({
        "format": "hocket-disks/1",
        "hocket": hocket_lab::about::build(),
        "machine": hocket_lab::about::machine(&topology),
        "command": std::env::args().skip(1).collect::<Vec<_>>(),
        "measured": measured,
    });
    provenance::write(path, &record)
}

/// `--name VALUE`.
struct Options<'a> {
    args: &'a [String],
}

impl Options<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == name)?;
        self.args.get(at + 1).map(String::as_str)
    }

    fn number(&self, name: &str, usual: usize) -> Result<usize, String> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("{name} {text}: write a whole number above 0"))
    }

    fn folder(&self) -> Result<tempfile::TempDir, String> {
        let made = match self.text("--folder") {
            Some(folder) => tempfile::tempdir_in(folder),
            None => tempfile::tempdir(),
        };
        made.map_err(|error| format!("--folder: {error}; name a folder that can be written to"))
    }
}

/// Returns what it printed.
fn streaming(options: &Options<'_>, tracks: usize, seconds: usize) -> Result<Value, String> {
    let tracks = options.number("--tracks", tracks)?;
    let seconds = options.number("--seconds", seconds)?;
    let rate = options.number("--rate", 96_000)?;
    let files = options.number("--files", tracks)?.min(tracks);
    let folder = options.folder()?;
    for file in 0..files {
        write_file(&folder.path().join(format!("{file}.wav")), rate, seconds, file as u64)?;
    }
    if !options.args.iter().any(|arg| arg == "--warm") {
        for file in 0..files {
            leave_cache(&folder.path().join(format!("{file}.wav")))?;
        }
    }
    let session = folder.path().join("streaming.toml");
    let mut text = format!("[session]\nsample_rate_hz = {rate}\n");
    for track in 0..tracks {
        let file = format!("{track}.wav");
        if track >= files {
            let (from, to) = (format!("{}.wav", track % files), folder.path().join(&file));
            std::os::unix::fs::symlink(from, &to).map_err(|error| cannot(&to, &error))?;
        }
        let _ = write!(
            text,
            "\n[[track]]\nname = \"track {track}\"\ngain_db = -40\nclip = [{{ file = \"{file}\" }}]\n"
        );
    }
    write(&session, &text)?;
    let frames = options.number("--frames", 64)?.to_string();
    // The end of the files is played, too, and the rehearsal stays short.
    let length = if options.args.is_empty() { "0.2".into() } else { seconds.to_string() };
    let buffer = options.text("--buffer").unwrap_or("256M");
    let mut play = hocket(&session);
    play.args(["--frames", &frames, "--length", &length, "--disk-buffer", buffer, "--json"]);
    let (out, memory) = watched(play)?;
    let told: Value = serde_json::from_slice(&out).map_err(|error| format!("play: {error}"))?;
    println!("{tracks} stereo tracks at {rate} Hz, {frames} frames, {length} s, {files} files");
    for key in ["blocks", "late", "skipped", "causes", "disk"] {
        println!("  {key}: {}", told[key]);
    }
    for key in ["duration_ns", "deadline_ns"] {
        println!("  {key}: {}", told[key]);
    }
    println!("  memory of the program: {memory}");
    Ok(
        json!({ "streaming": told, "memory": memory, "files": files, "tracks": tracks, "rate_hz": rate }),
    )
}

/// Returns what it printed.
fn opening(options: &Options<'_>, tracks: usize, runs: usize) -> Result<Value, String> {
    let tracks = options.number("--tracks", tracks)?;
    let effects = options.number("--effects", 5)?;
    let runs = options.number("--runs", runs)?;
    let folder = options.folder()?;
    write_file(&folder.path().join("clip.wav"), 48_000, 1, 1)?;
    let kinds = ["eq", "compressor", "gain", "delay", "pan"];
    let mut text = "[session]\nsample_rate_hz = 48000\n".to_owned();
    for track in 0..tracks {
        let _ = write!(
            text,
            "\n[[track]]\nname = \"track {track}\"\nclip = [{{ file = \"clip.wav\" }}]\n"
        );
        for kind in kinds.iter().cycle().take(effects) {
            let _ = write!(text, "[[track.effect]]\nkind = \"{kind}\"\n");
        }
    }
    let session = folder.path().join("opening.toml");
    write(&session, &text)?;
    let mut lines = Vec::new();
    for schedule in ["dataflow", "auto"] {
        println!("{tracks} tracks of {effects} effects, schedule {schedule}:");
        for _ in 0..runs {
            let mut play = hocket(&session);
            play.args(["--length", "0.01", "--schedule", schedule, "-v"]);
            let output = play.output().map_err(|error| error.to_string())?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let parts = said.lines().rfind(|line| line.contains(" in all: "));
            let parts = parts.ok_or_else(|| format!("hocket play failed:\n{said}"))?;
            println!("  {parts}");
            lines.push(json!({ "schedule": schedule, "said": parts.trim() }));
        }
    }
    Ok(json!({ "opening": lines, "tracks": tracks, "effects": effects }))
}

/// Returns what it printed, and every sample.
fn locate(options: &Options<'_>, seconds: usize, rounds: usize) -> Result<Value, String> {
    let seconds = options.number("--seconds", seconds)?.max(11);
    let rate_hz = options.number("--rate", 96_000)?;
    let folder = options.folder()?;
    let (file, session) = (folder.path().join("long.wav"), folder.path().join("locate.toml"));
    write_file(&file, rate_hz, seconds, 1)?;
    let text = format!(
        "[session]\nsample_rate_hz = {rate_hz}\n\n[[track]]\nname = \"long\"\nclip = [{{ file = \"long.wav\" }}]\n"
    );
    write(&session, &text)?;
    let size = locate::Size {
        session: &session,
        file: &file,
        rate_hz,
        frames: options.number("--frames", 64)?,
        seconds,
        rounds: options.number("--rounds", rounds)?,
        is_warm: options.args.iter().any(|arg| arg == "--warm"),
    };
    let measured = locate::locate(&size)?;
    Ok(json!({ "locate": measured, "seconds": seconds }))
}

fn hocket(session: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hocket"));
    command.arg("play").arg(session).env("HOCKET_PROFILE", "none");
    command
}

/// Runs it to its end; what it printed, and the most memory that it had.
fn watched(mut command: Command) -> Result<(Vec<u8>, String), String> {
    let printed = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let to = printed.reopen().map_err(|error| error.to_string())?;
    let mut child = command.stdout(Stdio::from(to)).spawn().map_err(|error| error.to_string())?;
    let mut memory = String::from("unknown");
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        memory = memory_of(&child).unwrap_or(memory);
        std::thread::sleep(Duration::from_millis(50));
    }
    let out = std::fs::read(printed.path()).map_err(|error| error.to_string())?;
    Ok((out, memory))
}

/// The most so far, and what is locked, as the kernel counts it.
fn memory_of(child: &Child) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let lines =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmLck"));
    let lines: Vec<String> =
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Noise in 24 bits, stereo.
fn write_file(path: &Path, rate: usize, seconds: usize, seed: u64) -> Outcome {
    let failed = |error| cannot(path, &error);
    let samples = WavFormat::Pcm24;
    let layout = WavLayout { samples, sample_rate_hz: rate as u32, channels: 2 };
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    file.write_all(&layout.header((rate * seconds) as u64)).map_err(failed)?;
    let mut state = seed;
    let mut second = vec![0u8; rate * 6];
    for _ in 0..seconds {
        for bytes in second.chunks_mut(8) {
            // Knuth's MMIX.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let random = state.rotate_left(32).to_le_bytes();
            bytes.copy_from_slice(&random[..bytes.len()]);
        }
        file.write_all(&second).map_err(failed)?;
    }
    let file = file.into_inner().map_err(|error| cannot(path, error.error()))?;
    file.sync_all().map_err(failed)
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> String {
    format!(
        "{}: {error}; name another folder with --folder, or write less with --files",
        path.display()
    )
}

/// What is read of the file next comes from the disk.
fn leave_cache(path: &Path) -> Outcome {
    let file = File::open(path).map_err(|error| cannot(path, &error))?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|error| cannot(path, &error.into()))
}
