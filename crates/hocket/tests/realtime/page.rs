//! `hocket play --web` as a whole, in this process: while a browser watches and steers, the engine's blocks and the leader's
//! notes of them keep their promises.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use clap::Parser;
use hocket::cli::{Cli, Command};
use hocket::{Exit, Failure};
use serde_json::Value;

use crate::streamed::Stage;
use crate::{PATIENCE, alone, watching};

const TEST: &str = "a_page_that_is_watched_and_steers_leaves_no_trace_in_a_block";
const TOKEN: &str = "0123456789abcdef-page";
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Updates that are awaited.
const UPDATES: usize = 60;

/// Longer than any test. One file plays from the disk.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\nlength_s = 3600\n\n\
    [[track]]\nname = \"one\"\nclip = [{ file = \"b.wav\", loop = true }]\n[[track.effect]]\nkind = \"fdn\"\n\n\
    [[track]]\nname = \"two\"\nclip = [{ file = \"mono.wav\", loop = true }]\n";

/// What a browser asks for meanwhile, one after the other.
const COMMANDS: [(&str, &str); 8] = [
    ("/strip/one/volume", "[-3]"),
    ("/strip/two/mute", "[true]"),
    ("/strip/two/mute", "[false]"),
    ("/strip/one/solo", "[true]"),
    ("/strip/one/solo", "[false]"),
    ("/locate", "[100]"),
    ("/stop", ""),
    ("/play", ""),
];

/// The run, on a port of this computer that was free a moment ago.
fn play(session: &Path, token: &Path) -> (JoinHandle<Result<Exit, Failure>>, u16) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let web = format!("--web={port}");
    let [session, token] = [session, token].map(|path| path.to_str().unwrap());
    let play = ["hocket", "play", session, "--device", "virtual", "--priority", "0", &web];
    // `auto` would leave so little work to the leader alone.
    let line = play.into_iter().chain(["--web-token", token, "--schedule", "dataflow"]);
    let Command::Play(args) = Cli::parse_from(line).command else { panic!("another command") };
    (std::thread::spawn(move || hocket::play::run(&args)), port)
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn command(port: u16, path: &str, body: &str) {
    let mut stream = connect(port).unwrap();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
    let rest = format!("Authorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all((head + &rest).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
}

/// The next update.
fn update(events: &mut impl BufRead) -> Value {
    let (mut name, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the page has ended");
        match line.trim_end().split_once(": ") {
            Some(("event", event)) => name = event.into(),
            Some(("data", data)) if name == "now" => return serde_json::from_str(data).unwrap(),
            _ => {}
        }
    }
}

#[test]
fn a_page_that_is_watched_and_steers_leaves_no_trace_in_a_block() {
    let _alone = alone();
    watching::announce(TEST);
    let stage = Stage::new(SESSION);
    let token = stage.folder.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    watching::forget();
    let (run, port) = play(&stage.file, &token);
    let mut stream = loop {
        match connect(port) {
            Ok(stream) => break stream,
            Err(_) if !run.is_finished() => std::thread::sleep(LOOK_EVERY),
            Err(error) => panic!("{error}: {:?}", run.join()),
        }
    };
    let ask = format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut events = BufReader::new(stream);
    let mut commands = COMMANDS.into_iter().cycle();
    let (mut blocks, mut peak) = (0, 0.0f64);
    for number in 0..UPDATES {
        let now = update(&mut events);
        blocks = now["blocks"].as_u64().unwrap();
        peak = peak.max(now["peaks"][0]["peak"].as_f64().unwrap());
        if number % 5 == 4 {
            let (path, body) = commands.next().unwrap();
            command(port, path, body);
        }
    }
    command(port, "/play", "");
    // Two seconds before the end.
    command(port, "/locate", "[3598]");
    assert_eq!(run.join().unwrap(), Ok(Exit::Done));
    assert!(peak > 1.0e-3, "nothing was played");
    check(blocks);
}

/// Neither in blocks nor in the notes of them was the allocator or the system called, but at the engine's edges. This crate
/// is not optimised in tests, so it copies through the C library.
#[cfg(feature = "sentry")]
fn check(blocks: u64) {
    let (allocations, largest) = crate::sentry::take_allocations();
    assert_eq!(allocations, 0, "allocator called, largest size {largest} bytes");
    if watching::available().is_err() {
        return;
    }
    let report = watching::take_report();
    let forbidden: Vec<String> = report.forbidden.iter().map(ToString::to_string).collect();
    assert!(forbidden.is_empty(), "{}", forbidden.join(", "));
    assert_eq!((report.more_forbidden, report.cut_short), (0, 0), "{report:?}");
    // The leader's part of a block, and its notes of the block and of the period.
    assert!(blocks > 0 && report.blocks_watched >= 3 * blocks, "{blocks}: {report:?}");
}

/// RealtimeSanitizer has ended the process before, if there was something.
#[cfg(not(feature = "sentry"))]
fn check(blocks: u64) {
    assert!(blocks > 0);
}
