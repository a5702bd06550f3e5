//! The commands of the pages that need a JACK server, as written, on a real one.
//!
//! `tests/cli/documented.rs` runs all others, and leaves these out because nobody starts a server there.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, hocket, text};

/// Lines of blocks in docs/live.md that play on JACK.
fn commands() -> Vec<String> {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/live.md");
    let page = std::fs::read_to_string(page).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("    hocket "));
    lines.filter(|line| line.contains("--device jack")).map(str::to_owned).collect()
}

/// Until the ports of a client `hocket` are there; a second where JACK's own tools are not installed.
fn await_ports(server: &str) {
    let mut list = Command::new("jack_lsp");
    list.env("JACK_DEFAULT_SERVER", server).stdin(Stdio::null());
    wait_until("its ports", || match list.output() {
        Ok(told) => text(&told.stdout).contains("hocket:"),
        Err(_) => {
            std::thread::sleep(Duration::from_secs(1));
            true
        }
    });
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
        play.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = play.spawn().unwrap();
        await_ports(&server.name);
        send(child.id(), "-INT");
        let output = child.wait_with_output().unwrap();
        let told = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "`hocket {command}`: {told}");
        assert!(told.contains("jack") && !told.contains("panicked"), "`hocket {command}`: {told}");
    }
}
