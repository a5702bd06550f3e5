//! Other clients that disturb: one that is slow, and one that hangs for good.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::jackd::{Mode, Server, send, wait_until};
use super::{PARTIES, Playing, RATE_HZ, alone, check, hocket};

/// Xruns that the log has so far.
fn logged(log: &Path) -> u64 {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    // The last line may be on its way.
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let xruns = lines.filter(|line| line["event"] == "xrun");
    xruns.map(|line| line["count"].as_u64().unwrap()).sum()
}

/// The server reports each xrun to every client. What it reports at the beginning and at the end of the play may reach the other
/// client alone; without that, both counts are the same.
#[test]
fn xruns_are_counted_as_another_client_counts_them() {
    const NAME: &str = "xruns_are_counted_as_another_client_counts_them";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let other = server.client("other", (1, 0), 0);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let before = other.xruns();
    let playing = Playing::start_with(&server, &["--log", log.to_str().unwrap()]);
    let first = other.xruns();
    for millis in [40, 0, 15, 0, 80, 0] {
        other.sleep_in_cycles(Duration::from_millis(millis));
        std::thread::sleep(Duration::from_millis(300));
    }
    let while_it_played = other.xruns() - first;
    wait_until("the reports", || logged(&log) >= while_it_played);
    send(playing.child.id(), "-INT");
    let told = playing.end(130, &[]);
    let counted: u64 = PARTIES.map(|who| told["xruns"][who].as_u64().unwrap()).iter().sum();
    // Each has a thread of its own for what is reported.
    wait_until("the other client's reports", || other.xruns() - before >= counted);
    let all = other.xruns() - before;
    println!("{NAME}: {counted}; the other client {while_it_played}, and {all} with both ends");
    assert!(while_it_played > 0 && counted >= while_it_played, "{counted} of {while_it_played}");
}

/// A program of others that plays, until this is dropped.
struct Metronome(Child);

/// What it plays on.
const PORT: &str = "stranger:120_bpm";

impl Metronome {
    /// `None`, and a line that says why: it is not installed.
    fn start(test: &str, server: &Server) -> Option<Metronome> {
        let mut command = Command::new("jack_metro");
        command.args(["--name", "stranger", "--bpm", "120"]);
        command.env("JACK_DEFAULT_SERVER", &server.name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Metronome(child)),
            Err(why) => {
                println!("SKIPPED {test}: no jack_metro: {why}");
                None
            }
        }
    }

    fn connect(&self, server: &Server, to: &str) {
        // Its port is there soon.
        wait_until(to, || server.tool("jack_connect", &[PORT, to]) == Some(true));
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server goes on without a client beside Hocket that is stopped and never goes on.
#[test]
fn a_client_that_hangs_beside_hocket_stops_neither_the_play_nor_its_end() {
    const NAME: &str = "a_client_that_hangs_beside_hocket_stops_neither_the_play_nor_its_end";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let Some(stranger) = Metronome::start(NAME, &server) else { return };
    stranger.connect(&server, "system:playback_1");
    let playing = Playing::start(&server);
    send(stranger.0.id(), "-STOP");
    let size = || std::fs::metadata(&playing.take).unwrap().len();
    let before = size();
    // Two seconds and more: stereo of at most four bytes.
    wait_until("the take", || size() > before + 2 * 8 * u64::from(RATE_HZ));
    let begun = Instant::now();
    send(playing.child.id(), "-INT");
    let told = playing.end(130, &[]);
    let took = begun.elapsed().as_secs_f64();
    println!("{NAME}: it ended after {took:.1} s, with xruns: {}", told["xruns"]);
    assert_eq!(told["device_ended"], Value::Null, "{told:#}");
}

/// Nothing reaches Hocket behind a client that hangs, so it ends as it does with a server that hangs.
#[test]
fn a_client_that_hangs_before_hocket_ends_the_play_and_says_so() {
    const NAME: &str = "a_client_that_hangs_before_hocket_ends_the_play_and_says_so";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let Some(stranger) = Metronome::start(NAME, &server) else { return };
    stranger.connect(&server, "system:playback_1");
    let folder = tempfile::tempdir().unwrap();
    let [session, take] = ["session.toml", "take.wav"].map(|name| folder.path().join(name));
    let text = "[session]\nsample_rate_hz = 48000\nlength_s = 600\n\n[[input]]\nname = \"mic\"\nchannels = 1\n\n\
                [[track]]\nname = \"heard\"\ninput = \"mic\"\n";
    std::fs::write(&session, text).unwrap();
    let arg = format!("master={}", take.display());
    let args = ["play", session.to_str().unwrap(), "--device", "jack", "--json", "--take", &arg];
    let mut command = hocket(&server.name, &[&args[..], &["--connect", "no"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    stranger.connect(&server, "hocket:mic_1");
    let size = || std::fs::metadata(&take).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 200_000);
    send(stranger.0.id(), "-STOP");
    let output = child.wait_with_output().unwrap();
    check(&output, 3, &["the JACK server", &server.name]);
    let told = super::json(&output);
    assert_eq!(told["takes"][0]["whole"], true, "{told:#}");
    println!("{NAME}: {}", told["device_ended"]);
}
