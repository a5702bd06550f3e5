//! `make soak`: plays a session for a long time while somebody edits it at random, a load computes beside it and two takes
//! are recorded, and then says whether anything of Hocket's failed.
//!
//! A machine that is late fails nothing: misses are reported by cause, and a disk that was too slow is named.
#![forbid(unsafe_code)]

mod counting;
mod edits;
mod memory;
mod origin;
mod record;
mod session;

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Parser;
use hocket_lab::provenance;
use serde_json::Value;

use edits::Edits;
use memory::Memory;
use origin::Origin;
use record::{Ended, Soak};
use session::Folder;

/// How much longer than the session a run may take, besides as long again, before it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Arguments.
#[derive(Debug, Parser)]
struct Args {
    /// How long the session plays: at most three hours, because the recordings are plain WAV files.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(5..=10_800))]
    seconds: u32,
    /// The program `hocket`.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Where the session and its takes go: a new folder. The takes need 1 MB for each second.
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Where the record is written as JSON.
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// The device.
    #[arg(long, default_value = "virtual")]
    device: String,
    /// What the random edits begin with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that compute beside the session.
    #[arg(long, default_value_t = 1)]
    load: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match soak(&args) {
        Ok(soak) => {
            print!("{}", soak.summary());
            match provenance::write(&args.record, &soak.json()) {
                Ok(()) => println!("record: {}", args.record.display()),
                Err(why) => {
                    eprintln!("soak: {why}");
                    return ExitCode::from(3);
                }
            }
            if soak.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("soak: {why}");
            ExitCode::from(3)
        }
    }
}

/// What came of it.
///
/// # Errors
/// It could not begin.
fn soak(args: &Args) -> Result<Soak, String> {
    provenance::check_place(&args.record, false)?;
    let origin = Origin::here()?;
    let folder = Folder::create(&args.folder)?;
    let playing = Playing::start(args, &folder)?;
    let mut edits = Edits::new(args.seed, &playing.socket);
    let mut memory = Memory::of(playing.child.0.id());
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        for _ in 0..args.load {
            scope.spawn(|| compute(&is_over));
        }
        let ended = playing.attend(args, &mut edits, &mut memory);
        // Relaxed: the flag publishes nothing.
        is_over.store(true, Relaxed);
        ended
    });
    // The last block may be longer than what is left to record.
    let most = u64::from(args.seconds) * u64::from(counting::RATE_HZ);
    let frames = ended.result["frames_played"].as_u64().unwrap_or(0).min(most);
    Ok(Soak {
        origin,
        device: args.device.clone(),
        seconds: args.seconds,
        seed: args.seed,
        load: args.load,
        memory: memory.growth(),
        transport_edits: edits.transport(),
        sent: edits.sent(),
        counted: counting::check(&folder.counted(), frames),
        master: counting::header(&folder.master(), frames),
        ended,
    })
}

/// Keeps a CPU busy, as an ordinary thread of another program would.
fn compute(is_over: &AtomicBool) {
    let mut row = [1.0f32; 4096];
    while !is_over.load(Relaxed) {
        for (place, value) in row.iter_mut().enumerate() {
            *value = (*value * 0.999 + place as f32).sqrt();
        }
        std::hint::black_box(&mut row);
    }
}

/// Ends the program when this value is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that plays.
struct Playing {
    child: Guard,
    socket: UdpSocket,
    /// What it prints, line by line.
    lines: Receiver<String>,
    messages: std::thread::JoinHandle<String>,
}

impl Playing {
    fn start(args: &Args, folder: &Folder) -> Result<Playing, String> {
        let mut command = Command::new(&args.program);
        command.arg("play").arg(folder.session());
        command.args(["--device", &args.device, "--connect", "no", "--headless", "--json"]);
        command.args(["--osc", "0", "--length", &args.seconds.to_string()]);
        command.arg("--take").arg(format!("master={}", folder.master().display()));
        command.env("HOCKET_PROFILE", "none").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let refused = |error| format!("{}: {error}", args.program.display());
        let mut child = Guard(command.spawn().map_err(refused)?);
        let (Some(out), Some(err)) = (child.0.stdout.take(), child.0.stderr.take()) else {
            return Err("the program has no output".into());
        };
        let mut err = BufReader::new(err);
        let mut said = String::new();
        let port = loop {
            match err.read_line(&mut said) {
                Ok(1..) => {}
                _ => return Err(format!("it does not begin to play:\n{said}")),
            }
            if let Some((_, port)) = said.trim_end().rsplit_once("listens for OSC on 127.0.0.1:") {
                break port.parse::<u16>().map_err(|error| error.to_string())?;
            }
        };
        let messages = std::thread::spawn(move || {
            // What is no text is the end of what can be told.
            let _ = err.read_to_string(&mut said);
            said
        });
        let (line, lines) = channel();
        std::thread::spawn(move || {
            for text in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = line.send(text);
            }
        });
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        socket.connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        Ok(Playing { child, socket, lines, messages })
    }

    /// Edits and looks until it ends.
    fn attend(mut self, args: &Args, edits: &mut Edits, memory: &mut Memory) -> Ended {
        let begun = Instant::now();
        let longest = 2 * Duration::from_secs(args.seconds.into()) + PATIENCE;
        let (mut last, mut looks, mut plays) = (String::new(), 0u64, false);
        let mut hung = false;
        loop {
            let wait = if plays { edits.pause() } else { Duration::from_millis(200) };
            match self.lines.recv_timeout(wait) {
                Ok(line) => {
                    looks += 1;
                    // The first line comes a second after the first block.
                    plays = true;
                    last = line;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if plays {
                // Loading is no part of how memory grows.
                memory.look();
                edits.next(&self.socket);
            }
            if begun.elapsed() > longest {
                hung = true;
                // It may have ended meanwhile.
                let _ = self.child.0.kill();
            }
        }
        let code = self.child.0.wait().ok().and_then(|status| status.code());
        let result = serde_json::from_str(&last).unwrap_or(Value::Null);
        let messages = self.messages.join().unwrap_or_default();
        Ended { code, result, messages, looks, hung }
    }
}
