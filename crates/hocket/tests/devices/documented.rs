//! The commands of the pages that need a JACK server, as written, on a real one.
//!
//! `tests/cli/documented.rs` runs all others, and leaves these out because nobody starts a server there.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::jackd::{Mode, Server, send};
use super::{RATE_HZ, alone, hocket};

/// Lines of blocks in docs/live.md that play on JACK.
fn commands() -> Vec<String> {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/live.md");
    let page = std::fs::read_to_string(page).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("    hocket "));
    lines.filter(|line| line.contains("--device jack")).map(str::to_owned).collect()
}

/// What it says up to its latency, which it knows when its ports are there.
fn begin(messages: &mut impl BufRead) -> String {
    let mut told = String::new();
    while !told.contains("latency: out") {
        assert!(messages.read_line(&mut told).unwrap() > 0, "it has ended: {told}");
    }
    told
}

/// Each plays until Ctrl-C. Those that follow a transport or a clock wait for it, and end alike.
#[test]
fn every_command_of_the_page_for_jack_plays_on_a_server() {
    const TEST: &str = "every_command_of_the_page_for_jack_plays_on_a_server";
    let _alone = alone();
    let Some(server) = Server::start(TEST, RATE_HZ, 128, Mode::Usual) else { return };
    let commands = commands();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut play: Command = hocket(&server.name, &words);
        play.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        play.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = play.spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut told = begin(&mut messages);
        send(child.id(), "-INT");
        messages.read_to_string(&mut told).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(130), "`hocket {command}`: {told}");
        assert!(!told.contains("panicked"), "`hocket {command}`: {told}");
    }
}
