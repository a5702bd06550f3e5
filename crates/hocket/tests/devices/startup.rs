//! A server that ends before the first block, and a second signal to a play.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::jackd::{HANGS, Mode, Server, send};
use super::{Playing, RATE_HZ, alone, check, hocket, run};

/// It needs no file.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\n\n[[input]]\nname = \"mic\"\nchannels = 1\n\n\
                       [[track]]\nname = \"heard\"\ninput = \"mic\"\n";

/// Hocket is a client by then, and waits for its session.
#[test]
fn a_server_that_ends_while_the_session_loads_ends_the_play() {
    const NAME: &str = "a_server_that_ends_while_the_session_loads_ends_the_play";
    let _alone = alone();
    for signal in ["-TERM", "-KILL"] {
        let Some(mut server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
        let mut command = hocket(&server.name, &["play", "-", "--length", "600"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut said, mut told) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        while !told.contains("plays on jack") {
            assert!(said.read_line(&mut told).unwrap() > 0, "{told}");
        }
        server.end(signal);
        child.stdin.take().unwrap().write_all(SESSION.as_bytes()).unwrap();
        said.read_to_string(&mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{signal}: {told}");
        for word in ["the JACK server", &server.name, "has ended", "start it again"] {
            assert!(told.contains(word), "{signal}: nothing about '{word}': {told}");
        }
        assert!(!told.contains("panicked"), "{told}");
    }
}

/// The server stands still, so the end of the play waits for it. Who does not want to wait asks again.
#[test]
fn a_second_signal_ends_the_play_at_once() {
    const NAME: &str = "a_second_signal_ends_the_play_at_once";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let mut playing = Playing::start(&server);
    let process = playing.child.id();
    let ended = server.while_it_stands(|| {
        let begun = Instant::now();
        loop {
            if let Some(ended) = playing.child.try_wait().unwrap() {
                return ended;
            }
            assert!(begun.elapsed() < HANGS, "it does not end");
            // What comes within 0.3 s of the first one is the same request.
            send(process, "-INT");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(ended.code(), Some(130), "{ended}");
    check(&run(&server.name, &["recover", playing.take.to_str().unwrap()]), 0, &["take.wav"]);
    assert!(hocket_media::decode(&playing.take).unwrap().frames() > 0);
}
