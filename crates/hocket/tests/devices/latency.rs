//! Other clients of the server read how late Hocket's ports are.

use std::process::Stdio;

use serde_json::json;

use super::jackd::sentry::CAPTURE;
use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, band, check, hocket, json};

/// The band has a limiter that looks ahead behind the master, and its drums are earlier.
#[test]
fn each_port_is_as_late_as_what_it_plays() {
    const NAME: &str = "each_port_is_as_late_as_what_it_plays";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let other = server.client("other", (4, 0), 0);
    let args = ["play", &band(), "--device", "jack", "--connect", "other", "--length", "600"];
    let mut command = hocket(&server.name, &[&args[..], &["--ports", "Drums", "--json"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("sound", || other.has_heard());
    let [main, drums] =
        ["in_1", "in_3"].map(|port| other.latency(&format!("other:{port}"), CAPTURE));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    check(&output, 130, &["effects add"]);
    let told = json(&output);
    let session_frames = told["latency"]["session_frames"].as_u64().unwrap() as u32;
    assert!(session_frames > 0 && drums[1] < session_frames, "{drums:?}, {told:#}");
    assert_eq!(main, [session_frames; 2]);
    assert_eq!(told["latency"]["port_frames"], json!(main));
}
